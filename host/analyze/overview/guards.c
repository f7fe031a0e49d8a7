/*
 * guards.c - what is no training step: start-up, the edge of the trace, graphs whose kernels are not recorded, gaps
 * that the host has no part in. They cut the window, or have rules keep silent.
 */
#include "analyze/overview/findings.h"

#define STARTUP_PERCENT     20
#define STARTUP_IN_FIRST    90 /* percent of it in the first gap: that is cut off */
#define RECURRING_STEPS     3
#define EDGE_GAP_PERCENT    5
#define EDGE_WITHIN_PERCENT 2
#define EDGE_SHARE_PERCENT  50
#define UNRECORDED_PERCENT  10
#define DEVICE_SIDE_PERCENT 10

static int64_t ticks_of_gap(const struct overview *overview, const struct overview_gap *gap, uint32_t kinds) {
    int64_t sum = 0;
    for (row_t i = gap->first; i < gap->last; i++)
        if (kinds >> overview->rows[i].kind & 1)
            sum += overview->rows[i].end - overview->rows[i].begin;
    return sum;
}

static double percent(const struct overview *overview, int64_t ticks) {
    int64_t window = overview_length(overview);
    return window > 0 ? (double)ticks * 100 / (double)window : 0;
}

static int64_t startup_ticks(const struct overview *overview) {
    return overview->ticks[OVERVIEW_SET_UP] + overview->ticks[OVERVIEW_SLOW_LAUNCH];
}

static enum sutra_status say_startup(struct findings_work *work, struct sutra_error *error) {
    const struct overview *overview = work->overview;
    uint32_t kinds = KIND(OVERVIEW_SET_UP) | KIND(OVERVIEW_SLOW_LAUNCH), name = STRING_NONE;
    int64_t ticks = startup_ticks(overview), most = 0;
    work->measures.window = (double)overview_length(overview);
    work->measures.n_steps = 1;
    enum sutra_status status = finding_frame(work, kinds, &name, &most, error);
    if (status)
        return status;
    struct overview_finding *finding = finding_say(
        work, FINDING_STARTUP, (double)ticks,
        "Warm-up in the profile: %s of the %s window is setup (module loading, memory allocation, graph capture)",
        finding_percent((double)ticks, work->measures.window).text, finding_time(work->measures.window).text);
    if (name != STRING_NONE)
        finding_add(finding, ", %s of it in %s", finding_time((double)most).text, finding_name(work, name).text);
    finding_add(finding, ". Profile after a warm-up: schedule(wait, warmup, active). All other rules are suppressed.");
    finding_number(finding, "set_up_us", (double)ticks / 1000);
    return SUTRA_OK;
}

bool set_up_recurs(const struct overview *overview) {
    const struct overview_window *window = &overview->window;
    int64_t middle = window->from + (window->to - window->from) / 2, late = 0;
    for (row_t i = 0; i < overview->n_rows; i++) {
        const struct overview_row *row = &overview->rows[i];
        if (row->begin >= middle && (row->kind == OVERVIEW_SET_UP || row->kind == OVERVIEW_SLOW_LAUNCH))
            late += row->end - row->begin;
    }
    return window->n_steps >= RECURRING_STEPS && (double)late * 3 >= (double)startup_ticks(overview);
}

/* Cuts off what one gap before the first work has of it. */
static bool is_startup(struct overview *overview) {
    int64_t ticks = startup_ticks(overview);
    if (percent(overview, ticks) < STARTUP_PERCENT || set_up_recurs(overview))
        return false;
    uint32_t kinds = KIND(OVERVIEW_SET_UP) | KIND(OVERVIEW_SLOW_LAUNCH);
    const struct overview_gap *gap = overview->gaps;
    bool first = overview->n_gaps && gap->begin == overview->window.from && gap->end < overview->window.to &&
                 (double)ticks_of_gap(overview, gap, kinds) * 100 >= (double)ticks * STARTUP_IN_FIRST;
    if (!first)
        return true;
    overview_crop(overview, gap->end);
    return percent(overview, startup_ticks(overview)) >= STARTUP_PERCENT;
}

static void cut_edge(struct findings_work *work) {
    struct overview *overview = work->overview;
    const struct overview_window *window = &overview->window;
    for (row_t i = 0; i < overview->n_gaps; i++) {
        const struct overview_gap gap = overview->gaps[i];
        if (percent(overview, gap.begin - window->from) > EDGE_WITHIN_PERCENT)
            return;
        int64_t waits = ticks_of_gap(overview, &gap, KIND(OVERVIEW_NOT_STARTED));
        if (percent(overview, gap.end - gap.begin) < EDGE_GAP_PERCENT ||
            (double)waits * 100 < (double)(gap.end - gap.begin) * EDGE_SHARE_PERCENT || gap.device == ROW_NONE)
            continue;
        struct overview_finding *finding =
            finding_say(work, FINDING_TRACE_EDGE, (double)NAN,
                        "Trace start excluded: in the first %s the GPU still runs work that was launched before "
                        "profiling began. Start the profiler one step earlier to record this work.",
                        finding_time((double)(gap.end - window->from)).text);
        finding_number(finding, "cropped_us", (double)(gap.end - window->from) / 1000);
        overview_crop(overview, gap.end);
        return;
    }
}

static bool is_of_graph(const struct overview *overview, const struct overview_gap *gap) {
    row_t call = gap->device == ROW_NONE ? ROW_NONE : overview->reading->devices.call[gap->device];
    return call != ROW_NONE && overview_name(overview, call) & NAME_LAUNCH_GRAPH;
}

/* Waiting calls in which nothing that the trace holds runs for long: the device does something else. */
static int64_t long_waits(const struct overview *overview) {
    int64_t sum = 0;
    for (row_t i = 0; i < overview->n_rows; i++) {
        const struct overview_row *row = &overview->rows[i];
        if (row->kind == OVERVIEW_SYNC && row->end - row->begin > NOT_STARTED_NS)
            sum += row->end - row->begin;
    }
    return sum;
}

static void look_at_device_side(struct findings_work *work) {
    const struct overview *overview = work->overview;
    int64_t unrecorded = 0;
    for (row_t i = 0; i < overview->n_gaps; i++)
        if (is_of_graph(overview, &overview->gaps[i]))
            unrecorded += ticks_of_gap(overview, &overview->gaps[i], KIND(OVERVIEW_QUEUED));
    work->unexplained_waits = long_waits(overview);
    int64_t other =
        overview->ticks[OVERVIEW_QUEUED] + overview->ticks[OVERVIEW_NOT_STARTED] - unrecorded + work->unexplained_waits;
    if (percent(overview, unrecorded) >= UNRECORDED_PERCENT) {
        work->silent_host = work->silent_device = true;
        struct overview_finding *finding = finding_say(
            work, FINDING_UNRECORDED_GRAPH, (double)NAN,
            "CUDA graph kernels not recorded: %s of the window, after graph launches, looks idle but is not. Profile "
            "without CUDA graphs, or with a driver and CUPTI that trace graph nodes.",
            finding_percent((double)unrecorded, (double)overview_length(overview)).text);
        finding_number(finding, "unrecorded_us", (double)unrecorded / 1000);
    }
    if (percent(overview, other) >= DEVICE_SIDE_PERCENT) {
        work->silent_host = true;
        struct overview_finding *finding = finding_say(
            work, FINDING_DEVICE_SIDE, (double)NAN,
            "GPU idle time not caused by the CPU: for %s of the window the next work is already launched, or the CPU "
            "waits for the GPU. Check dependencies between streams, and other processes on this GPU: the trace may "
            "lack their work.",
            finding_percent((double)other, (double)overview_length(overview)).text);
        finding_number(finding, "unexplained_us", (double)other / 1000);
    }
}

enum sutra_status guards_apply(struct findings_work *work, bool *go_on, struct sutra_error *error) {
    *go_on = !is_startup(work->overview);
    if (!*go_on)
        return say_startup(work, error);
    cut_edge(work);
    look_at_device_side(work);
    return SUTRA_OK;
}
