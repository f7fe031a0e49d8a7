/*
 * findings.c - implements findings.h: measurements, guards, the order of findings, and their wording.
 */
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>

#include "analyze/overview/findings.h"

#include "analyze/overview/remedies.h"
#include "analyze/overview/verdict.h"
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
#define SHORT_KERNEL_NS     10000

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

    /* Launched in the window; or before a cropped start, but run in the window. */
    int64_t last_end = INT64_MIN;
    for (row_t k = 0; k < n; k++) {
        row_t i = launched[k], call = devices->call[i];
        int64_t start = hosts->start[call];
        bool is_before = d->excluded && start < window->from && devices->start[i] >= window->from;
        if (is_before || (start >= window->from && start < window->to)) {
            measures->n_launches++;
            measures->n_empty += last_end <= start;
            measures->n_graph_launches += overview_name(d->overview, call) & NAME_LAUNCH_GRAPH &&
                                          (k == 0 || devices->call[launched[k - 1]] != call);
        }
        last_end = MAX(devices->stop[i], last_end);
    }
    return SUTRA_OK;
}

/* What a row of the host is to the measurements of the host. */
enum host_state {
    HOST_BLOCKS = 1,    /* a synchronizing call */
    HOST_LOADS = 2,     /* loads data */
    HOST_WAITS = 4,     /* a launch call that a full queue blocks */
    HOST_LAUNCHING = 8, /* its thread launches */
};

/* Rows with a state, few. */
struct host_states {
    row_t n;
    row_t *rows;
    uint8_t *states;
};

/* The time in the window in which any row has one of the states, and all of `needed`; its part in `clock`. */
static enum sutra_status measure_states(const struct diagnosis *d, const struct host_states *list, uint8_t any,
                                        uint8_t needed, const struct kind_clock *clock, int64_t *ticks,
                                        int64_t *ticks_of_clock, struct sutra_error *error) {
    struct arena_mark mark = arena_mark(d->arena);
    row_t *rows = arena_alloc(d->arena, list->n, sizeof *rows), n = 0;
    struct spans spans;
    if (!rows)
        return error_memory(error);
    for (row_t i = 0; i < list->n; i++)
        if (list->states[i] & any && (list->states[i] & needed) == needed)
            rows[n++] = list->rows[i];
    enum sutra_status status = spans_of_hosts(d->overview, rows, n, d->arena, &spans, error);
    if (status)
        return status;
    *ticks = spans_length(&spans);
    if (clock)
        *ticks_of_clock = kind_clock_in(clock, &spans);
    arena_release(d->arena, mark);
    return SUTRA_OK;
}

/* Measures when the host is active, and when it waits for the GPU. */
static enum sutra_status measure_host(struct diagnosis *d, struct sutra_error *error) {
    const struct overview *overview = d->overview;
    const struct host_rows *hosts = &d->model->hosts;
    const row_t *first = d->model->links.first;
    struct measures *measures = &d->measures;
    struct arena *arena = d->arena;
    struct arena_mark mark = arena_mark(arena);
    uint8_t *launching = arena_zeros(arena, hosts->n_threads, 1);
    struct host_states list = {.rows = arena_alloc(arena, hosts->n, sizeof *list.rows),
                               .states = arena_alloc(arena, hosts->n, 1)};
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
    measures->median_call = median;
    if (median < INT64_MAX / LONG_LAUNCH_MEDIANS)
        long_call = MAX(median * LONG_LAUNCH_MEDIANS, LONG_LAUNCH_NS);

    for (row_t row = 0; row < hosts->n; row++) {
        bool call = hosts->kind[row] == HOST_CALL;
        bool loads = !call && overview_name(overview, row) & NAME_LOADS_BATCH;
        bool waits = call && hosts->stop[row] - hosts->start[row] > long_call && first[row] < first[row + 1];
        if (!overview->blocks[row] && !loads && !waits)
            continue;
        list.rows[list.n] = row;
        list.states[list.n++] =
            (uint8_t)((overview->blocks[row] ? HOST_BLOCKS : 0) | (loads ? HOST_LOADS : 0) | (waits ? HOST_WAITS : 0) |
                      (launching[hosts->thread[row]] ? HOST_LAUNCHING : 0));
    }

    /* A launching thread that synchronizes or loads is inactive; a thread that synchronizes, or whose launch waits for
     * space, is blocked. */
    const uint8_t inactive = HOST_BLOCKS | HOST_LOADS;
    int64_t ticks;
    struct kind_clock busy;
    status = kind_clock_make(overview, KINDS_BUSY, arena, &busy, error);
    if (!status)
        status = measure_states(d, &list, inactive, HOST_LAUNCHING, NULL, &measures->host_active, NULL, error);
    if (!status)
        status =
            measure_states(d, &list, inactive | HOST_WAITS, HOST_LAUNCHING, NULL, &measures->host_needed, NULL, error);
    if (!status)
        status =
            measure_states(d, &list, HOST_BLOCKS | HOST_WAITS, 0, &busy, &ticks, &measures->blocked_on_device, error);
    if (!status)
        status = measure_states(d, &list, HOST_BLOCKS, 0, NULL, &measures->blocking, NULL, error);
    if (!status)
        status = measure_states(d, &list, HOST_LOADS, 0, NULL, &measures->loading, NULL, error);
    measures->host_active = overview_length(overview) - measures->host_active;
    measures->host_needed = overview_length(overview) - measures->host_needed;
    arena_release(arena, mark);
    return status;
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
    if (window->n_steps == 0 && d->steps->source == STEPS_ANNOTATION)
        n_steps = d->steps->n;
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
        row_t launcher = devices->launcher[i], call = devices->call[i];
        if (d->overview->classes[i] != OVERVIEW_COPY) {
            measures->n_kernels++;
            measures->n_short_kernels += devices->stop[i] - devices->start[i] < SHORT_KERNEL_NS;
            measures->n_graph += call != ROW_NONE && overview_name(d->overview, call) & NAME_LAUNCH_GRAPH;
        }
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

#define STARTUP_PERCENT      20
#define STARTUP_IN_FIRST     90 /* percent of set-up in the first gap, which is then cropped */
#define RECURRING_STEPS      3
#define EDGE_GAP_PERCENT     5
#define EDGE_WITHIN_PERCENT  2
#define EDGE_SHARE_PERCENT   50
#define UNRECORDED_PERCENT   10
#define DEVICE_SIDE_PERCENT  10
#define HOST_NOT_WHY_PERCENT 3

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

static void crop(struct diagnosis *d, enum finding_rule guard, int64_t from) {
    d->excluded += from - d->overview->window.from;
    d->excluded_by = guard;
    overview_crop(d->overview, from);
}

/* Whether the trace is mostly start-up. If most of the set-up is in the gap before the first activity, crops the gap
 * and checks again. */
static bool is_startup(struct diagnosis *d) {
    struct overview *overview = d->overview;
    int64_t ticks = set_up_ticks(overview);
    if (percent_of_overview(overview, ticks) < STARTUP_PERCENT || set_up_recurs(overview))
        return false;
    const struct overview_gap *gap = overview->gaps;
    bool first = overview->n_gaps && gap->begin == overview->window.from && gap->end < overview->window.to &&
                 (double)ticks_of_gap(overview, gap, KINDS_SET_UP) * 100 >= (double)ticks * STARTUP_IN_FIRST;
    if (!first)
        return true;
    crop(d, FINDING_STARTUP, gap->end);
    return percent_of_overview(overview, set_up_ticks(overview)) >= STARTUP_PERCENT;
}

static enum sutra_status report_startup(struct diagnosis *d, struct sutra_error *error) {
    uint32_t name = STRING_NONE;
    int64_t ticks = set_up_ticks(d->overview), max_ticks = 0;
    struct spans spans;
    enum sutra_status status = find_main_frame(d, KINDS_SET_UP, &name, &max_ticks, error);
    if (!status)
        status = spans_of_kinds(d->overview, KINDS_SET_UP, d->kept, &spans, error);
    if (status)
        return status;
    struct overview_finding *finding =
        add_finding(d, FINDING_STARTUP, &spans,
                    "Setup (module loading, memory allocation, graph capture) takes %s of the %s window",
                    finding_percent((double)ticks, d->measures.window).text, finding_time(d->measures.window).text);
    if (name != STRING_NONE) {
        append_finding_text(finding, ", %s of it in %s", finding_time((double)max_ticks).text,
                            finding_name(d, name).text);
        copy_finding_name(d, name, finding->where.frame, sizeof finding->where.frame);
    }
    append_finding_text(finding, ". All other rules are suppressed.");
    set_finding_now(finding, "%s", finding_percent((double)ticks, d->measures.window).text);
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
            add_finding(d, FINDING_TRACE_EDGE, NULL,
                        "In the first %s the GPU still runs work that was launched before profiling began. This time "
                        "is excluded.",
                        finding_time((double)(gap.end - from)).text);
        add_finding_number(finding, "cropped_us", (double)(gap.end - from) / 1000);
        set_finding_now(finding, "%s", finding_time((double)(gap.end - from)).text);
        crop(d, FINDING_TRACE_EDGE, gap.end);
        return;
    }
}

/* Reports idle time after launches of graphs whose kernels are missing; rules about idle time and kernels are
 * suppressed. */
static enum sutra_status check_unrecorded_graphs(struct diagnosis *d, int64_t *unrecorded, struct sutra_error *error) {
    const struct overview *overview = d->overview;
    struct spans spans;
    enum sutra_status status = spans_reserve(overview->n_rows, d->kept, &spans, error);
    if (status)
        return status;
    for (row_t i = 0; i < overview->n_rows; i++) {
        const struct overview_row *row = &overview->rows[i];
        if (row->kind != OVERVIEW_QUEUED)
            continue;
        const struct overview_gap *gap = &overview->gaps[row->gap];
        row_t call = gap->device == ROW_NONE ? ROW_NONE : d->model->devices.call[gap->device];
        if (call != ROW_NONE && overview_name(overview, call) & NAME_LAUNCH_GRAPH)
            spans_append(&spans, row->begin, row->end);
    }
    *unrecorded = spans_length(&spans);
    if (percent_of_overview(overview, *unrecorded) < UNRECORDED_PERCENT)
        return SUTRA_OK;
    d->host_suppressed = d->kernels_suppressed = true;
    struct overview_finding *finding =
        add_finding(d, FINDING_UNRECORDED_GRAPH, &spans,
                    "For %s of the window, after graph launches, the GPU looks idle but runs kernels that are not "
                    "recorded. Findings on idle time and communication rest on missing kernels.",
                    finding_percent((double)*unrecorded, (double)overview_length(overview)).text);
    claim_no_saving(finding);
    set_finding_now(finding, "%s", finding_percent((double)*unrecorded, (double)overview_length(overview)).text);
    add_finding_number(finding, "unrecorded_us", (double)*unrecorded / 1000);
    return SUTRA_OK;
}

/* Reports idle time that the host does not cause, and suppresses the rule about launches unless one unit of the host
 * has half of the host's time (rules_cpu.c). */
static enum sutra_status check_device_side(struct diagnosis *d, struct sutra_error *error) {
    const struct overview *overview = d->overview;
    int64_t unrecorded;
    struct spans spans;
    enum sutra_status status = check_unrecorded_graphs(d, &unrecorded, error);
    if (status)
        return status;
    /* A long synchronizing call without any activity: the GPU runs something that the trace does not record. */
    for (row_t i = 0; i < overview->n_rows; i++) {
        const struct overview_row *row = &overview->rows[i];
        if (row->kind == OVERVIEW_SYNC && row->end - row->begin > NOT_STARTED_NS)
            d->unexplained_sync += row->end - row->begin;
    }
    int64_t other =
        overview->ticks[OVERVIEW_QUEUED] + overview->ticks[OVERVIEW_NOT_STARTED] - unrecorded + d->unexplained_sync;
    if (percent_of_overview(overview, other) < DEVICE_SIDE_PERCENT)
        return SUTRA_OK;
    status = spans_of_kinds(overview, KIND(OVERVIEW_QUEUED) | KIND(OVERVIEW_NOT_STARTED), d->kept, &spans, error);
    if (status)
        return status;
    double length = (double)overview_length(overview);
    int64_t host = overview->ticks[OVERVIEW_HOST] + overview->ticks[OVERVIEW_LAUNCH];
    struct overview_finding *finding =
        add_finding(d, FINDING_DEVICE_SIDE, &spans,
                    "For %s of the window the next work is already launched, or the CPU waits for the GPU",
                    finding_percent((double)other, length).text);
    claim_no_saving(finding);
    if (percent_of_overview(overview, host) < HOST_NOT_WHY_PERCENT) {
        append_finding_text(finding, ": the CPU is not the cause.");
    } else {
        struct finding_where *where = &finding->where;
        status = find_host_places(d, KIND(OVERVIEW_HOST) | KIND(OVERVIEW_LAUNCH), NULL, where, error);
        append_finding_text(finding, ": of this the CPU is not the cause; another %s is",
                            finding_percent((double)host, length).text);
        append_finding_text(finding, where->n_units ? " (%s)." : ".", where->units[0].name);
    }
    set_finding_now(finding, "%s", finding_percent((double)other, length).text);
    add_finding_number(finding, "unexplained_us", (double)other / 1000);
    add_finding_number(finding, "host_percent", percent_of_overview(overview, host));
    return status;
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

void copy_finding_name(const struct diagnosis *d, uint32_t string, char *name, size_t size) {
    const char *text = string == STRING_NONE ? "" : strings_text(d->model->strings, string);
    const unsigned columns = (unsigned)MIN(size - 1, 96);
    struct shortened shortened = strstr(text, ".py(") ? short_path(text, columns) : short_name(text, columns);
    snprintf(name, size, "%s", shortened.text);
}

void append_finding_text(struct overview_finding *finding, const char *format, ...) {
    size_t length = strlen(finding->seen);
    va_list arguments;
    va_start(arguments, format);
    vsnprintf(finding->seen + length, sizeof finding->seen - length, format, arguments);
    va_end(arguments);
}

struct overview_finding *add_finding(struct diagnosis *d, enum finding_rule rule, const struct spans *spans,
                                     const char *format, ...) {
    struct overview_finding *finding = &d->findings->list[d->findings->n_all++];
    va_list arguments;
    *finding = (struct overview_finding){.rule = rule, .saving_percent = (double)NAN, .uncapped = (double)NAN};
    if (spans) {
        finding->spans = *spans;
        finding->weight = 1;
        finding->saving_percent = finding->uncapped = percent_of_window(d, (double)spans_length(spans));
    }
    va_start(arguments, format);
    vsnprintf(finding->seen, sizeof finding->seen, format, arguments);
    va_end(arguments);
    d->fired[rule] = true;
    return finding;
}

void set_finding_saving(const struct diagnosis *d, struct overview_finding *finding, double ticks) {
    double length = (double)spans_length(&finding->spans);
    finding->weight = length > 0 ? CLAMP(ticks / length, 0.0, 1.0) : 0;
    finding->saving_percent = finding->uncapped = percent_of_window(d, ticks);
}

void claim_no_saving(struct overview_finding *finding) {
    finding->weight = 0;
    finding->saving_percent = finding->uncapped = (double)NAN;
}

void set_finding_now(struct overview_finding *finding, const char *format, ...) {
    va_list arguments;
    va_start(arguments, format);
    vsnprintf(finding->now, sizeof finding->now, format, arguments);
    va_end(arguments);
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

/* Smaller savings are dropped; layouts have a lower threshold. */
#define MIN_SAVING        3
#define MIN_LAYOUT_SAVING 0.5

/* If the GPU is less busy, findings about its kernels are sorted after the causes of idle time. */
#define OFTEN_IDLE_PERCENT 60

static bool is_first(enum finding_rule rule) {
    return rule == FINDING_STARTUP || rule == FINDING_UNRECORDED_GRAPH;
}

/* The position of rules without a saving. */
static int last_position(enum finding_rule rule) {
    return rule == FINDING_GEMM_BOUND ? 0 : rule == FINDING_DEVICE_SIDE ? 1 : 2;
}

/* Whether a finding precedes another. Kernels count with a saving below `limit`. */
static bool precedes(const struct overview_finding *a, const struct overview_finding *b, double limit) {
    if (is_first(a->rule) != is_first(b->rule))
        return is_first(a->rule);
    if (is_first(a->rule))
        return a->rule < b->rule;
    if (isnan(a->saving_percent) || isnan(b->saving_percent))
        return isnan(a->saving_percent) && isnan(b->saving_percent) ? last_position(a->rule) < last_position(b->rule)
                                                                    : isnan(b->saving_percent);
    double saving_a = rules[a->rule].scope == SCOPE_COMPUTE ? fmin(a->saving_percent, limit) : a->saving_percent;
    double saving_b = rules[b->rule].scope == SCOPE_COMPUTE ? fmin(b->saving_percent, limit) : b->saving_percent;
    return saving_a != saving_b ? saving_a > saving_b : a->rule < b->rule;
}

static bool is_shown(const struct overview_finding *finding) {
    double minimum = finding->rule == FINDING_LAYOUT ? MIN_LAYOUT_SAVING : MIN_SAVING;
    return isnan(finding->saving_percent) || finding->saving_percent >= minimum;
}

void sort_findings(struct overview_findings *findings, double busy_percent) {
    struct overview_finding *list = findings->list;
    double limit = INFINITY;
    for (unsigned i = 0; i < findings->n_all && busy_percent < OFTEN_IDLE_PERCENT; i++)
        if (rules[list[i].rule].scope == SCOPE_IDLE && list[i].saving_percent < limit)
            limit = list[i].saving_percent;

    /* Findings that are not shown are sorted to the end. */
    findings->n = 0;
    for (unsigned i = 0; i < findings->n_all; i++) {
        findings->n += is_shown(&list[i]);
        for (unsigned k = i; k > 0; k--) {
            bool shown = is_shown(&list[k]), before = is_shown(&list[k - 1]);
            if (shown == before ? !precedes(&list[k], &list[k - 1], limit) : before)
                break;
            struct overview_finding swapped = list[k];
            list[k] = list[k - 1];
            list[k - 1] = swapped;
        }
    }
    findings->n = MIN(findings->n, FINDINGS_MOST);
}

/* ---- Verdict ---- */

/* A finding is a part of an earlier one if at least this percentage of its intervals is in the intervals of the earlier
 * one. */
#define PART_PERCENT 80

/* Marks findings whose time is in the time of an earlier one; an optimizer always is in the time of its launches. */
static enum sutra_status find_parts(struct diagnosis *d, struct sutra_error *error) {
    struct overview_finding *list = d->findings->list;
    for (unsigned i = 1; i < d->findings->n; i++)
        for (unsigned k = 0; k < i; k++) {
            struct spans common;
            struct arena_mark mark = arena_mark(d->arena);
            if (isnan(list[i].saving_percent) || isnan(list[k].saving_percent))
                continue;
            enum sutra_status status = spans_common(&list[i].spans, &list[k].spans, d->arena, &common, error);
            if (status)
                return status;
            bool is_launch = list[i].rule == FINDING_SMALL_KERNELS_OPTIMIZER && list[k].rule == FINDING_HOST_BOUND;
            if (is_launch || (double)spans_length(&common) * 100 >= (double)spans_length(&list[i].spans) * PART_PERCENT)
                list[i].part_of |= 1U << list[k].rule;
            arena_release(d->arena, mark);
        }
    return SUTRA_OK;
}

/* Adds to the evidence why a faster kernel saves less than its time. */
static void explain_limit(const struct diagnosis *d, struct overview_finding *finding) {
    if (finding->limited_by != LIMIT_HOST_WAITS)
        return;
    append_finding_text(finding,
                        " The CPU waits for the GPU only %s of the step, so faster kernels save at most that "
                        "(uncapped: %.1f%%).",
                        finding_percent((double)d->measures.blocked_on_device, d->measures.window).text,
                        finding->uncapped);
}

static enum sutra_status apply_rules(struct diagnosis *d, struct sutra_error *error) {
    enum sutra_status status = SUTRA_OK;
    if (overview_busy(d->overview) == 0)
        return measure(d, error);
    if (is_startup(d)) {
        status = measure(d, error);
        return status ? status : report_startup(d, error);
    }
    crop_trace_edge(d);
    status = check_device_side(d, error);
    if (!status)
        status = measure(d, error);
    for (int rule = 0; rule < N_FINDING_RULES && !status; rule++)
        if (rules[rule].apply)
            status = rules[rule].apply(d, error);
    return status;
}

/* Whether a rule rests on data that defects of the trace damage: all rules rest on the times of GPU activities, and
 * those about idle time and synchronization on the time from launches to activities. The start-up of a program, and
 * kernels of graphs that are missing, are seen nevertheless. */
static bool rests_on_damage(const struct trace_validity *validity, enum finding_rule rule) {
    bool uses_launches = rules[rule].scope == SCOPE_IDLE || rule == FINDING_DEVICE_SIDE ||
                         rule == FINDING_SMALL_KERNELS_OPTIMIZER || rule == FINDING_SYNC || rule == FINDING_ALLOCATION;
    return !is_first(rule) &&
           (validity_has_damaged_times(validity) || (uses_launches && validity_has_device_clock(validity)));
}

/* Drops findings that rest on damaged data; returns their rules. */
static uint32_t drop_damaged_findings(struct diagnosis *d) {
    struct overview_findings *findings = d->findings;
    uint32_t dropped = 0;
    unsigned n_all = findings->n_all;
    findings->n_all = 0;
    for (unsigned i = 0; i < n_all; i++) {
        if (rests_on_damage(d->model->trace->validity, findings->list[i].rule))
            dropped |= is_shown(&findings->list[i]) ? 1U << findings->list[i].rule : 0;
        else
            findings->list[findings->n_all++] = findings->list[i];
    }
    return dropped;
}

/* The verdict on a trace without GPU activity, and the cause as the only finding: without a statement on the GPU. */
#define MIN_LAUNCH_CALLS 10
static void make_verdict_without_activity(struct diagnosis *d, struct rank_verdict *verdict) {
    const struct device_summary *device = &d->overview->device;
    const struct no_activity_text cause = no_activity_message(device);
    bool was_used = device->n_launches >= MIN_LAUNCH_CALLS && device->cause != HOST_ONLY;
    if (device->cause != HAS_ACTIVITY && device->cause != FILE_TRUNCATED) {
        d->measures.window = 1;
        struct overview_finding *finding = add_finding(d, FINDING_NO_KERNELS, NULL, "%s.", cause.text);
        add_finding_number(finding, "launches", device->n_launches);
        set_finding_now(finding, "0");
        d->facts |= device->cause == HOST_ONLY               ? FACT_HOST_ONLY
                    : device->cause == KERNELS_NOT_DELIVERED ? FACT_UNDELIVERED
                                                             : 0;
        select_remedy(d, finding);
        verdict->findings[verdict->n_findings++] = *finding;
    }
    memcpy(verdict->no_activity, cause.text, sizeof cause.text);
    verdict->kind = was_used ? SUTRA_VERDICT_NO_GPU_ACTIVITY : SUTRA_VERDICT_CPU_ONLY;
    verdict->window = overview_length(d->overview);
    verdict->has_steps = d->overview->window.n_steps > 0;
    verdict->n_steps = verdict->has_steps ? d->overview->window.n_steps : 1;
}

/* Warns about launches without an activity, and crops the window to the first launch that has one. */
static void crop_dropped_activities(struct diagnosis *d) {
    const struct device_summary *device = &d->overview->device;
    int64_t start = d->overview->window.from;
    context_warn(d->context,
                 "%s of %s have no kernel: activities were dropped, from %s to %s after the start of the window; the "
                 "time before the first launch with a kernel is skipped",
                 count_text(device->n_lost).text, counted_text(device->n_launches, "launch", "launches").text,
                 finding_time((double)(device->lost_from - start)).text,
                 finding_time((double)(device->lost_to - start)).text);
    if (device->first_kept != INT64_MAX && device->lost_from < device->first_kept && device->first_kept > start)
        overview_crop(d->overview, device->first_kept);
}

enum sutra_status find_findings(struct sutra_context *context, const struct launch_model *model,
                                struct overview *overview, const struct overview_steps *steps,
                                const struct collective_calls *calls, bool alone, struct arena *arena,
                                struct arena *scratch, struct rank_verdict *verdict, struct sutra_error *error) {
    struct arena_mark mark = arena_mark(scratch);
    struct overview_findings *findings = arena_zeros(scratch, 1, sizeof *findings);
    struct diagnosis d = {.context = context,
                          .model = model,
                          .overview = overview,
                          .steps = steps,
                          .calls = calls,
                          .alone = alone,
                          .kept = arena,
                          .arena = scratch,
                          .findings = findings};
    *verdict = (struct rank_verdict){.kind = SUTRA_VERDICT_STEPS};
    if (!findings)
        return error_memory(error);
    if (model->devices.n == 0) {
        make_verdict_without_activity(&d, verdict);
        arena_release(scratch, mark);
        return SUTRA_OK;
    }
    if (device_has_dropped(&overview->device))
        crop_dropped_activities(&d);
    int64_t window = MAX(overview_length(overview), 1);
    d.measures = (struct measures){.window = (double)window, .n_steps = 1};
    enum sutra_status status = read_trace_facts(&d, error);
    if (!status)
        status = apply_rules(&d, error);
    verdict->not_judged = status ? 0 : drop_damaged_findings(&d);
    if (!status) {
        sort_findings(findings, percent_of_overview(overview, overview_busy(overview)));
        status = find_parts(&d, error);
    }
    for (unsigned i = 0; i < findings->n && !status; i++) {
        explain_limit(&d, &findings->list[i]);
        select_remedy(&d, &findings->list[i]);
        status = find_evidence(&d, &findings->list[i], error);
    }
    if (!status)
        status = rank_verdict_make(&d, verdict, error);
    arena_release(scratch, mark);
    return status;
}
