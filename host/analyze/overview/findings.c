/*
 * findings.c - implements findings.h: measurements, guards, the order of findings, and their wording.
 */
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>

#include "analyze/overview/findings.h"

#include "base/error.h"
#include "base/shared.h"
#include "match/steps.h"
#include "text/names.h"

/* ---- Rules ---- */

enum finding_scope { SCOPE_GUARD, SCOPE_STEP, SCOPE_IDLE, SCOPE_COMPUTE };

#define GUARD_NAME(id, name)                 [FINDING_##id] = name,
#define RULE_NAME(id, name, scope, function) [FINDING_##id] = name,
const char *const finding_names[N_FINDING_RULES] = {FINDING_RULES(GUARD_NAME, RULE_NAME)};

#define GUARD_ROW(id, name)                 [FINDING_##id] = {SCOPE_GUARD, NULL},
#define RULE_ROW(id, name, scope, function) [FINDING_##id] = {scope, function},
static const struct {
    enum finding_scope scope;
    finding_rule_function *apply;
} rules[N_FINDING_RULES] = {FINDING_RULES(GUARD_ROW, RULE_ROW)};

/* ---- Measurements ---- */

/* A launch that takes at least this long, and this many medians, waits for space in a queue. */
#define LONG_LAUNCH_NS      50000
#define LONG_LAUNCH_MEDIANS 10
#define SHORT_COLLECTIVE_NS 50000

enum sutra_status median_of_keys(uint64_t *keys, row_t *rows, row_t n, int64_t *median, struct sutra_error *error) {
    for (row_t i = 0; i < n; i++)
        rows[i] = i;
    enum sutra_status status = cpu_sort_keys(NULL, &(struct sort_keys_step){keys, rows, n}, error);
    *median = status || n == 0 ? 0 : (int64_t)keys[n / 2];
    return status;
}

/* Lists the launched activities by the start of the call, and counts them. */
static enum sutra_status measure_launches(struct diagnosis *d, struct sutra_error *error) {
    const struct host_rows *hosts = &d->model->hosts;
    const struct device_rows *devices = &d->model->devices;
    const struct overview_window *window = &d->overview->window;
    struct measures *measures = &d->measures;
    row_t *launched = measures->launched = arena_alloc(d->arena, devices->n, sizeof *launched), n = 0;
    struct arena_mark mark = arena_mark(d->arena);
    uint64_t *keys = arena_alloc(d->arena, devices->n, sizeof *keys);
    if (d->arena->failed)
        return error_memory(error);
    for (row_t k = 0; k < devices->n; k++) {
        row_t i = devices->by_start[k], call = devices->call[i];
        if (call == ROW_NONE)
            continue;
        keys[n] = integer_sort_key(hosts->start[call]);
        launched[n++] = i;
    }
    enum sutra_status status = cpu_sort_keys(NULL, &(struct sort_keys_step){keys, launched, n}, error);
    if (status)
        return status;
    arena_release(d->arena, mark);
    measures->n_launched = n;

    int64_t last_end = INT64_MIN;
    for (row_t k = 0; k < n; k++) {
        row_t i = launched[k], call = devices->call[i];
        int64_t start = hosts->start[call];
        bool is_graph = overview_name(d->overview, call) & NAME_LAUNCH_GRAPH;
        bool is_kernel = d->overview->classes[i] != OVERVIEW_COPY;
        if (start >= window->from && start < window->to) {
            measures->n_launches++;
            measures->n_empty += last_end <= start;
            measures->n_kernels += is_kernel;
            measures->n_graph += is_graph && is_kernel;
            measures->n_graph_launches += is_graph && (k == 0 || devices->call[launched[k - 1]] != call);
        }
        last_end = MAX(devices->stop[i], last_end);
    }
    return SUTRA_OK;
}

/* Measures when the host is active, and when it waits for the GPU. */
static enum sutra_status measure_host(struct diagnosis *d, struct sutra_error *error) {
    const struct overview *overview = d->overview;
    const struct host_rows *hosts = &d->model->hosts;
    const row_t *first = d->model->links.first;
    struct arena *arena = d->arena;
    struct arena_mark mark = arena_mark(arena);
    uint8_t *launching = arena_zeros(arena, hosts->n_threads, 1);
    uint8_t *inactive = arena_alloc(arena, hosts->n, 1), *blocked = arena_alloc(arena, hosts->n, 1);
    uint64_t *keys = arena_alloc(arena, hosts->n, sizeof *keys);
    row_t *rows = arena_alloc(arena, hosts->n, sizeof *rows), n = 0;
    if (arena->failed)
        return error_memory(error);

    /* The median duration of launching calls, from which launches that wait for space are recognized. */
    int64_t median, long_call = INT64_MAX;
    for (row_t row = 0; row < hosts->n; row++) {
        launching[hosts->thread[row]] |= first[row] < first[row + 1];
        if (hosts->kind[row] == HOST_CALL && first[row] < first[row + 1])
            keys[n++] = (uint64_t)(hosts->stop[row] - hosts->start[row]);
    }
    enum sutra_status status = median_of_keys(keys, rows, n, &median, error);
    if (status)
        return status;
    if (median < INT64_MAX / LONG_LAUNCH_MEDIANS)
        long_call = MAX(median * LONG_LAUNCH_MEDIANS, LONG_LAUNCH_NS);

    /* A launching thread that synchronizes or loads is inactive; a thread that synchronizes, or whose launch waits for
     * space, is blocked. */
    for (row_t row = 0; row < hosts->n; row++) {
        bool call = hosts->kind[row] == HOST_CALL;
        bool loads = !call && overview_name(overview, row) & NAME_LOADS_BATCH;
        bool waits = call && first[row] < first[row + 1] && hosts->stop[row] - hosts->start[row] > long_call;
        inactive[row] = launching[hosts->thread[row]] && (overview->blocks[row] || loads);
        blocked[row] = overview->blocks[row] || waits;
    }
    struct spans inactive_spans, blocked_spans;
    struct kind_clock busy;
    status = make_host_spans(overview, inactive, arena, &inactive_spans, error);
    if (!status)
        status = make_host_spans(overview, blocked, arena, &blocked_spans, error);
    if (!status)
        status = kind_clock_make(overview, KINDS_BUSY, arena, &busy, error);
    if (status)
        return status;
    d->measures.host_active = overview_length(overview) - spans_length(&inactive_spans);
    d->measures.blocked_on_device = kind_clock_in(&busy, &blocked_spans);
    arena_release(arena, mark);
    return SUTRA_OK;
}

static enum sutra_status measure(struct diagnosis *d, struct sutra_error *error) {
    const struct launch_model *model = d->model;
    const struct host_rows *hosts = &model->hosts;
    const struct device_rows *devices = &model->devices;
    const struct overview_window *window = &d->overview->window;
    struct measures *measures = &d->measures;
    int64_t length = overview_length(d->overview);
    row_t n_steps = 0; /* a cropped window has fewer */
    for (row_t i = 0; i < window->n_steps; i++)
        n_steps += hosts->stop[window->steps[i]] > window->from;
    *measures = (struct measures){.window = length > 0 ? (double)length : 1,
                                  .n_steps = n_steps ? n_steps : 1,
                                  .of_kernel = arena_zeros(d->arena, model->strings->n, sizeof(int64_t)),
                                  .of_operator = arena_zeros(d->arena, model->strings->n, sizeof(int64_t))};
    if (d->arena->failed)
        return error_memory(error);
    for (row_t row = 0; row < hosts->n && !measures->has_frames; row++)
        measures->has_frames = hosts->kind[row] == HOST_FRAME;
    for (row_t i = 0; i < devices->n; i++) {
        int64_t ticks = ticks_within(devices->start[i], devices->stop[i], window->from, window->to);
        if (ticks == 0)
            continue;
        row_t launcher = devices->launcher[i];
        ticks_add(&measures->device_time, ticks);
        ticks_add(&measures->of_kernel[model->events->name[devices->event[i]]], ticks);
        if (launcher != ROW_NONE)
            ticks_add(&measures->of_operator[host_name(model, launcher)], ticks);
        if (d->overview->classes[i] == OVERVIEW_COMMUNICATION) {
            measures->n_collectives++;
            measures->n_short_collectives += devices->stop[i] - devices->start[i] < SHORT_COLLECTIVE_NS;
        }
    }
    enum sutra_status status = measure_launches(d, error);
    if (!status)
        status = measure_host(d, error);
    return status ? status : kind_clock_make(d->overview, KINDS_IDLE, d->arena, &measures->idle, error);
}

/* ---- Guards ----
 *
 * Traces of something else than training steps: start-up, the edge of the trace, graphs whose kernels are not recorded,
 * gaps that the host does not cause. Guards crop the window, or suppress rules.
 */

#define STARTUP_PERCENT     20
#define STARTUP_IN_FIRST    90 /* percent of set-up in the first gap, which is then cropped */
#define RECURRING_STEPS     3
#define EDGE_GAP_PERCENT    5
#define EDGE_WITHIN_PERCENT 2
#define EDGE_SHARE_PERCENT  50
#define UNRECORDED_PERCENT  10
#define DEVICE_SIDE_PERCENT 10

#define KINDS_SET_UP (KIND(OVERVIEW_SET_UP) | KIND(OVERVIEW_SLOW_LAUNCH))

static int64_t ticks_of_gap(const struct overview *overview, const struct overview_gap *gap, uint32_t kinds) {
    int64_t sum = 0;
    for (row_t i = gap->first; i < gap->last; i++)
        if (kinds >> overview->rows[i].kind & 1)
            sum += overview->rows[i].end - overview->rows[i].begin;
    return sum;
}

static double percent_of_overview(const struct overview *overview, int64_t ticks) {
    int64_t window = overview_length(overview);
    return window > 0 ? (double)ticks * 100 / (double)window : 0;
}

static int64_t set_up_ticks(const struct overview *overview) {
    return overview->ticks[OVERVIEW_SET_UP] + overview->ticks[OVERVIEW_SLOW_LAUNCH];
}

bool set_up_recurs(const struct overview *overview) {
    const struct overview_window *window = &overview->window;
    int64_t middle = window->from + (window->to - window->from) / 2, late = 0;
    for (row_t i = 0; i < overview->n_rows; i++) {
        const struct overview_row *row = &overview->rows[i];
        if (row->begin >= middle && KINDS_SET_UP >> row->kind & 1)
            late += row->end - row->begin;
    }
    return window->n_steps >= RECURRING_STEPS && (double)late * 3 >= (double)set_up_ticks(overview);
}

/* Whether the trace is mostly start-up. If most of the set-up is in the gap before the first activity, crops the gap
 * and checks again. */
static bool is_startup(struct overview *overview) {
    int64_t ticks = set_up_ticks(overview);
    if (percent_of_overview(overview, ticks) < STARTUP_PERCENT || set_up_recurs(overview))
        return false;
    const struct overview_gap *gap = overview->gaps;
    bool first = overview->n_gaps && gap->begin == overview->window.from && gap->end < overview->window.to &&
                 (double)ticks_of_gap(overview, gap, KINDS_SET_UP) * 100 >= (double)ticks * STARTUP_IN_FIRST;
    if (!first)
        return true;
    overview_crop(overview, gap->end);
    return percent_of_overview(overview, set_up_ticks(overview)) >= STARTUP_PERCENT;
}

static enum sutra_status report_startup(struct diagnosis *d, struct sutra_error *error) {
    uint32_t name = STRING_NONE;
    int64_t ticks = set_up_ticks(d->overview), max_ticks = 0;
    d->measures.window = (double)overview_length(d->overview);
    d->measures.n_steps = 1;
    enum sutra_status status = find_main_frame(d, KINDS_SET_UP, &name, &max_ticks, error);
    if (status)
        return status;
    struct overview_finding *finding = add_finding(
        d, FINDING_STARTUP, (double)ticks,
        "Warm-up in the profile: %s of the %s window is setup (module loading, memory allocation, graph capture)",
        finding_percent((double)ticks, d->measures.window).text, finding_time(d->measures.window).text);
    if (name != STRING_NONE)
        append_finding_text(finding, ", %s of it in %s", finding_time((double)max_ticks).text,
                            finding_name(d, name).text);
    append_finding_text(finding,
                        ". Profile after a warm-up: schedule(wait, warmup, active). All other rules are suppressed.");
    add_finding_number(finding, "set_up_us", (double)ticks / 1000);
    return SUTRA_OK;
}

/* Crops a long gap near the start of the window in which the GPU runs work from before the trace. */
static void crop_trace_edge(struct diagnosis *d) {
    struct overview *overview = d->overview;
    int64_t from = overview->window.from;
    for (row_t i = 0; i < overview->n_gaps; i++) {
        const struct overview_gap gap = overview->gaps[i];
        if (percent_of_overview(overview, gap.begin - from) > EDGE_WITHIN_PERCENT)
            return;
        int64_t waits = ticks_of_gap(overview, &gap, KIND(OVERVIEW_NOT_STARTED));
        if (percent_of_overview(overview, gap.end - gap.begin) < EDGE_GAP_PERCENT ||
            (double)waits * 100 < (double)(gap.end - gap.begin) * EDGE_SHARE_PERCENT || gap.device == ROW_NONE)
            continue;
        struct overview_finding *finding =
            add_finding(d, FINDING_TRACE_EDGE, (double)NAN,
                        "Trace start excluded: in the first %s the GPU still runs work that was launched before "
                        "profiling began. Start the profiler one step earlier to record this work.",
                        finding_time((double)(gap.end - from)).text);
        add_finding_number(finding, "cropped_us", (double)(gap.end - from) / 1000);
        overview_crop(overview, gap.end);
        return;
    }
}

/* Reports idle time that the host does not cause, and suppresses rules about the host. */
static void check_device_side(struct diagnosis *d) {
    const struct overview *overview = d->overview;
    int64_t unrecorded = 0; /* after graph launches */
    for (row_t i = 0; i < overview->n_gaps; i++) {
        const struct overview_gap *gap = &overview->gaps[i];
        row_t call = gap->device == ROW_NONE ? ROW_NONE : d->model->devices.call[gap->device];
        if (call != ROW_NONE && overview_name(overview, call) & NAME_LAUNCH_GRAPH)
            unrecorded += ticks_of_gap(overview, gap, KIND(OVERVIEW_QUEUED));
    }
    /* A long synchronizing call without any activity: the GPU runs something that the trace does not record. */
    for (row_t i = 0; i < overview->n_rows; i++) {
        const struct overview_row *row = &overview->rows[i];
        if (row->kind == OVERVIEW_SYNC && row->end - row->begin > NOT_STARTED_NS)
            d->unexplained_sync += row->end - row->begin;
    }
    int64_t other =
        overview->ticks[OVERVIEW_QUEUED] + overview->ticks[OVERVIEW_NOT_STARTED] - unrecorded + d->unexplained_sync;
    if (percent_of_overview(overview, unrecorded) >= UNRECORDED_PERCENT) {
        d->host_suppressed = true;
        struct overview_finding *finding = add_finding(
            d, FINDING_UNRECORDED_GRAPH, (double)NAN,
            "CUDA graph kernels not recorded: %s of the window, after graph launches, looks idle but is not. Profile "
            "without CUDA graphs, or with a driver and CUPTI that trace graph nodes.",
            finding_percent((double)unrecorded, (double)overview_length(overview)).text);
        add_finding_number(finding, "unrecorded_us", (double)unrecorded / 1000);
    }
    if (percent_of_overview(overview, other) >= DEVICE_SIDE_PERCENT) {
        d->host_suppressed = true;
        struct overview_finding *finding = add_finding(
            d, FINDING_DEVICE_SIDE, (double)NAN,
            "GPU idle time not caused by the CPU: for %s of the window the next work is already launched, or the CPU "
            "waits for the GPU. Check dependencies between streams, and other processes on this GPU: the trace may "
            "lack their work.",
            finding_percent((double)other, (double)overview_length(overview)).text);
        add_finding_number(finding, "unexplained_us", (double)other / 1000);
    }
}

/* ---- Wording ---- */

/* Of names in sentences; of Python functions the end is shown. */
#define NAME_COLUMNS 48

struct figure finding_time(double ticks) {
    static const char *const units[] = {"us", "ms", "s"};
    struct figure figure;
    double value = ticks / 1000;
    int unit = 0;
    for (; value >= 999.5 && unit < 2; value /= 1000)
        unit++;
    int digits = value >= 99.95 ? 0 : value >= 9.995 ? 1 : 2;
    snprintf(figure.text, sizeof figure.text, "%.*f %s", value <= 0 ? 0 : digits, value, units[unit]);
    return figure;
}

struct figure finding_per_step(const struct diagnosis *d, double ticks) {
    struct figure figure, part = finding_time(ticks / d->measures.n_steps),
                          whole = finding_time(d->measures.window / d->measures.n_steps);
    const char *each = d->measures.n_steps > 1 ? "each " : d->overview->window.n_steps ? "the " : "";
    const char *step = d->overview->window.n_steps ? " step" : "";
    snprintf(figure.text, sizeof figure.text, "%.40s of %s%.40s%s", part.text, each, whole.text, step);
    return figure;
}

struct figure finding_percent(double part, double whole) {
    struct figure figure;
    snprintf(figure.text, sizeof figure.text, "%.1f%%", whole > 0 ? part / whole * 100 : 0);
    return figure;
}

struct figure finding_count(const struct diagnosis *d, double count) {
    struct figure figure;
    snprintf(figure.text, sizeof figure.text, "%.0f %s", count / d->measures.n_steps,
             d->overview->window.n_steps ? "per step" : "in total");
    return figure;
}

struct shortened finding_name(const struct diagnosis *d, uint32_t string) {
    const char *name = strings_text(d->model->strings, string);
    return strstr(name, ".py(") ? short_path(name, NAME_COLUMNS) : short_name(name, NAME_COLUMNS);
}

void append_finding_text(struct overview_finding *finding, const char *format, ...) {
    size_t length = strlen(finding->text);
    va_list arguments;
    va_start(arguments, format);
    vsnprintf(finding->text + length, sizeof finding->text - length, format, arguments);
    va_end(arguments);
}

struct overview_finding *add_finding(struct diagnosis *d, enum finding_rule rule, double saving, const char *format,
                                     ...) {
    struct overview_finding *finding = &d->findings->list[d->findings->n++];
    va_list arguments;
    *finding = (struct overview_finding){.rule = rule, .win = isnan(saving) ? saving : percent_of_window(d, saving)};
    va_start(arguments, format);
    vsnprintf(finding->text, sizeof finding->text, format, arguments);
    va_end(arguments);
    d->fired[rule] = true;
    return finding;
}

void add_finding_number(struct overview_finding *finding, const char *name, double value) {
    if (finding->n_numbers < FINDING_NUMBERS)
        finding->numbers[finding->n_numbers++] = (struct sutra_finding_number){name, value};
}

enum sutra_status find_main_frame(const struct diagnosis *d, uint32_t kinds, uint32_t *name, int64_t *ticks,
                                  struct sutra_error *error) {
    const struct overview *overview = d->overview;
    struct arena_mark mark = arena_mark(d->arena);
    int64_t *sums = arena_zeros(d->arena, d->model->strings->n, sizeof *sums);
    if (!sums)
        return error_memory(error);
    *name = STRING_NONE;
    *ticks = 0;
    for (row_t i = 0; i < overview->n_rows; i++) {
        const struct overview_row *row = &overview->rows[i];
        if (!(kinds >> row->kind & 1) || row->frame == ROW_NONE)
            continue;
        uint32_t of = host_name(d->model, row->frame);
        sums[of] += row->end - row->begin;
        if (sums[of] > *ticks) {
            *ticks = sums[of];
            *name = of;
        }
    }
    arena_release(d->arena, mark);
    return SUTRA_OK;
}

/* ---- Order ---- */

/* Smaller savings are dropped, except savings of layouts, whose rule has a lower threshold. */
#define MIN_SAVING 3

/* If the GPU is less busy, findings about its kernels are sorted after the causes of idle time. */
#define OFTEN_IDLE_PERCENT 60

/* Whether a finding precedes another. Kernels count with a saving of at most `limit`. */
static bool precedes(const struct overview_finding *a, const struct overview_finding *b, double limit) {
    double saving_a = rules[a->rule].scope == SCOPE_COMPUTE ? fmin(a->win, limit) : a->win;
    double saving_b = rules[b->rule].scope == SCOPE_COMPUTE ? fmin(b->win, limit) : b->win;
    if (isnan(a->win) || isnan(b->win))
        return isnan(a->win) && isnan(b->win) ? a->rule < b->rule : isnan(b->win);
    return saving_a != saving_b ? saving_a > saving_b : a->rule < b->rule;
}

void sort_findings(struct overview_findings *findings, double busy_percent) {
    struct overview_finding *list = findings->list;
    double limit = INFINITY;
    unsigned n = 0;
    for (unsigned i = 0; i < findings->n; i++)
        if (isnan(list[i].win) || list[i].win >= MIN_SAVING || list[i].rule == FINDING_LAYOUT)
            list[n++] = list[i];
    for (unsigned i = 0; i < n && busy_percent < OFTEN_IDLE_PERCENT; i++)
        if (rules[list[i].rule].scope == SCOPE_IDLE && list[i].win < limit)
            limit = list[i].win;
    for (unsigned i = 1; i < n; i++)
        for (unsigned k = i; k > 0 && precedes(&list[k], &list[k - 1], limit); k--) {
            struct overview_finding swapped = list[k];
            list[k] = list[k - 1];
            list[k - 1] = swapped;
        }
    findings->n = MIN(n, FINDINGS_MOST);
}

enum sutra_status find_findings(struct sutra_context *context, const struct launch_model *model,
                                struct overview *overview, const struct collective_calls *calls, bool alone,
                                struct arena *scratch, struct overview_findings *findings, struct sutra_error *error) {
    struct arena_mark mark = arena_mark(scratch);
    struct diagnosis d = {.context = context,
                          .model = model,
                          .overview = overview,
                          .calls = calls,
                          .alone = alone,
                          .arena = scratch,
                          .findings = findings};
    enum sutra_status status = SUTRA_OK;
    findings->n = 0;
    if (overview_busy(overview) == 0)
        return SUTRA_OK;
    if (is_startup(overview)) {
        status = report_startup(&d, error);
    } else {
        crop_trace_edge(&d);
        check_device_side(&d);
        status = measure(&d, error);
        for (int rule = 0; rule < N_FINDING_RULES && !status; rule++)
            if (rules[rule].apply)
                status = rules[rule].apply(&d, error);
    }
    if (!status)
        sort_findings(findings, percent_of_overview(overview, overview_busy(overview)));
    arena_release(scratch, mark);
    return status;
}
