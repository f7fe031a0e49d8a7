/*
 * findings.c - guards, then rules, then order; and how findings are worded.
 */
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>

#include "analyze/overview/findings.h"
#include "base/error.h"
#include "match/steps.h"
#include "text/names.h"

/*
 * What several rules look at, taken once. O(n log n) for the order of launches, else O(n).
 */

/* A launch that takes this long, and as many medians, waited for room in a queue. */
#define LONG_LAUNCH_NS      50000
#define LONG_LAUNCH_MEDIANS 10
#define SHORT_COLLECTIVE_NS 50000

static int64_t within_window(const struct overview *overview, row_t device) {
    const struct device_rows *devices = &overview->reading->devices;
    const struct overview_window *window = &overview->window;
    int64_t from = devices->start[device] > window->from ? devices->start[device] : window->from;
    int64_t to = devices->stop[device] < window->to ? devices->stop[device] : window->to;
    return to > from ? to - from : 0;
}

static void sum_names(struct findings_work *work) {
    const struct op_reading *reading = work->reading;
    const struct device_rows *devices = &reading->devices;
    struct measures *measures = &work->measures;
    for (row_t i = 0; i < devices->n; i++) {
        int64_t ticks = within_window(work->overview, i);
        if (ticks == 0)
            continue;
        row_t launcher = devices->launcher[i];
        ticks_add(&measures->device_time, ticks);
        ticks_add(&measures->of_kernel[reading->events->name[devices->event[i]]], ticks);
        if (launcher != ROW_NONE)
            ticks_add(&measures->of_operator[host_name(reading, launcher)], ticks);
        if (work->overview->classes[i] == OVERVIEW_COMMUNICATION) {
            measures->n_collectives++;
            measures->n_short_collectives += devices->stop[i] - devices->start[i] < SHORT_COLLECTIVE_NS;
        }
    }
}

/* ---- Launches ---- */

/* By the start of the call, work of one call by its own start. */
static enum sutra_status order_launches(struct findings_work *work, struct sutra_error *error) {
    const struct device_rows *devices = &work->reading->devices;
    struct measures *measures = &work->measures;
    measures->launched = arena_take(work->arena, devices->n, sizeof *measures->launched);
    struct arena_mark mark = arena_mark(work->arena);
    uint64_t *keys = arena_take(work->arena, devices->n, sizeof *keys);
    enum sutra_status status = arena_status(work->arena, error);
    for (row_t k = 0; k < devices->n && !status; k++) {
        row_t i = devices->by_start[k], call = devices->call[i];
        if (call == ROW_NONE)
            continue;
        keys[measures->n_launched] = integer_sort_key(work->reading->hosts.start[call]);
        measures->launched[measures->n_launched++] = i;
    }
    if (!status)
        status = cpu_sort_keys(NULL, &(struct sort_keys_step){keys, measures->launched, measures->n_launched}, error);
    arena_release(work->arena, mark);
    return status;
}

static void count_launches(struct findings_work *work) {
    const struct op_reading *reading = work->reading;
    const struct device_rows *devices = &reading->devices;
    const struct overview_window *window = &work->overview->window;
    struct measures *measures = &work->measures;
    int64_t last_end = INT64_MIN;
    for (row_t k = 0; k < measures->n_launched; k++) {
        row_t i = measures->launched[k], call = devices->call[i];
        int64_t start = reading->hosts.start[call];
        bool graph = overview_name(work->overview, call) & NAME_LAUNCH_GRAPH;
        if (start >= window->from && start < window->to) {
            measures->n_launches++;
            measures->n_empty += last_end <= start;
            measures->n_kernels += work->overview->classes[i] != OVERVIEW_COPY;
            measures->n_graph += graph && work->overview->classes[i] != OVERVIEW_COPY;
            measures->n_graph_launches += graph && (k == 0 || devices->call[measures->launched[k - 1]] != call);
        }
        last_end = devices->stop[i] > last_end ? devices->stop[i] : last_end;
    }
}

/* ---- The host ---- */

/* The middle one of the lengths of calls that launched something. */
static enum sutra_status median_call(const struct findings_work *work, int64_t *median, struct sutra_error *error) {
    const struct host_rows *hosts = &work->reading->hosts;
    const row_t *first = work->reading->links.first;
    struct arena_mark mark = arena_mark(work->arena);
    uint64_t *keys = arena_take(work->arena, hosts->n, sizeof *keys);
    row_t *rows = arena_take(work->arena, hosts->n, sizeof *rows), n = 0;
    enum sutra_status status = arena_status(work->arena, error);
    for (row_t row = 0; row < hosts->n && !status; row++)
        if (hosts->kind[row] == HOST_CALL && first[row] < first[row + 1]) {
            keys[n] = (uint64_t)(hosts->stop[row] - hosts->start[row]);
            rows[n++] = row;
        }
    if (!status)
        status = cpu_sort_keys(NULL, &(struct sort_keys_step){keys, rows, n}, error);
    *median = status || n == 0 ? 0 : (int64_t)keys[n / 2];
    arena_release(work->arena, mark);
    return status;
}

/* Marks what blocks or loads on threads that launch, then what blocks on any, and launches that wait for room. */
static void mark_waits(const struct findings_work *work, int64_t long_call, uint8_t *launching, uint8_t *inactive,
                       uint8_t *blocked) {
    const struct overview *overview = work->overview;
    const struct host_rows *hosts = &work->reading->hosts;
    const row_t *first = work->reading->links.first;
    for (row_t row = 0; row < hosts->n; row++)
        launching[hosts->thread[row]] |= first[row] < first[row + 1];
    for (row_t row = 0; row < hosts->n; row++) {
        bool call = hosts->kind[row] == HOST_CALL;
        bool loads = !call && overview_name(overview, row) & NAME_LOADS_BATCH;
        bool waits = call && first[row] < first[row + 1] && hosts->stop[row] - hosts->start[row] > long_call;
        inactive[row] = launching[hosts->thread[row]] && (overview->blocks[row] || loads);
        blocked[row] = overview->blocks[row] || waits;
    }
}

static enum sutra_status measure_host(struct findings_work *work, struct sutra_error *error) {
    const struct host_rows *hosts = &work->reading->hosts;
    struct arena *arena = work->arena;
    struct measures *measures = &work->measures;
    struct arena_mark mark = arena_mark(arena);
    uint8_t *launching = arena_zeros(arena, hosts->n_threads, 1);
    uint8_t *inactive = arena_take(arena, hosts->n, 1), *blocked = arena_take(arena, hosts->n, 1);
    struct spans spans = {0}, waits = {0};
    struct kind_clock busy = {0};
    int64_t median = 0;
    enum sutra_status status = arena_status(arena, error);
    if (!status)
        status = median_call(work, &median, error);
    if (!status) {
        int64_t most = median < INT64_MAX / LONG_LAUNCH_MEDIANS ? median * LONG_LAUNCH_MEDIANS : INT64_MAX;
        mark_waits(work, most > LONG_LAUNCH_NS ? most : LONG_LAUNCH_NS, launching, inactive, blocked);
        status = spans_of_hosts(work->overview, inactive, arena, &spans, error);
    }
    if (!status)
        status = spans_of_hosts(work->overview, blocked, arena, &waits, error);
    if (!status)
        status = kind_clock_make(work->overview, KINDS_BUSY, arena, &busy, error);
    measures->host_active = overview_length(work->overview) - spans_length(&spans);
    measures->blocked_on_device = kind_clock_in(&busy, &waits);
    arena_release(arena, mark);
    return status;
}

static bool has_frames(const struct host_rows *hosts) {
    for (row_t row = 0; row < hosts->n; row++)
        if (hosts->kind[row] == HOST_FRAME)
            return true;
    return false;
}

/* Steps that a cut window still has. */
static row_t count_steps(const struct findings_work *work) {
    const struct overview_window *window = &work->overview->window;
    row_t n = 0;
    for (row_t i = 0; i < window->n_steps; i++)
        n += work->reading->hosts.stop[window->steps[i]] > window->from;
    return n;
}

/* measures.c */
static enum sutra_status measures_take(struct findings_work *work, struct sutra_error *error) {
    struct measures *measures = &work->measures;
    uint32_t n_strings = work->reading->strings->n;
    row_t n_steps = count_steps(work);
    int64_t window = overview_length(work->overview);
    *measures = (struct measures){.window = window > 0 ? (double)window : 1,
                                  .n_steps = n_steps ? n_steps : 1,
                                  .of_kernel = arena_zeros(work->arena, n_strings, sizeof(int64_t)),
                                  .of_operator = arena_zeros(work->arena, n_strings, sizeof(int64_t)),
                                  .has_frames = has_frames(&work->reading->hosts)};
    enum sutra_status status = arena_status(work->arena, error);
    if (!status) {
        sum_names(work);
        status = order_launches(work, error);
    }
    if (!status) {
        count_launches(work);
        status = measure_host(work, error);
    }
    return status ? status : kind_clock_make(work->overview, KINDS_IDLE, work->arena, &measures->idle, error);
}

/*
 * What is no training step: start-up, the edge of the trace, graphs whose kernels are not recorded, gaps
 * that the host has no part in. They cut the window, or have rules keep silent.
 */

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

/* guards.c: false: the only thing to be said is said. */
static enum sutra_status guards_apply(struct findings_work *work, bool *go_on, struct sutra_error *error) {
    *go_on = !is_startup(work->overview);
    if (!*go_on)
        return say_startup(work, error);
    cut_edge(work);
    look_at_device_side(work);
    return SUTRA_OK;
}

/* Less is not worth a sentence; layouts are told from where their own rule begins. */
#define LEAST_WIN 3

/* Where the device is idle more than the rest, what it computes comes second to why it waits. */
#define OFTEN_IDLE_PERCENT 60

/* Of names in sentences; of functions of Python the end tells which it is. */
#define NAME_COLUMNS 48

const char *const finding_names[N_FINDING_RULES] = {
    [FINDING_STARTUP] = "startup",
    [FINDING_UNRECORDED_GRAPH] = "unrecorded_graph",
    [FINDING_DEVICE_SIDE] = "device_side",
    [FINDING_DATA_LOADING] = "data_loading",
    [FINDING_CPU_PREPROCESSING] = "cpu_preprocessing",
    [FINDING_HOST_BOUND] = "host_bound",
    [FINDING_SMALL_KERNELS_OPTIMIZER] = "small_kernels_optimizer",
    [FINDING_EXPOSED_COMM] = "exposed_comm",
    [FINDING_STRAGGLER] = "straggler",
    [FINDING_SLOW_COLLECTIVE] = "slow_collective",
    [FINDING_COPIES] = "copies",
    [FINDING_SYNC] = "sync",
    [FINDING_ALLOCATION] = "allocation",
    [FINDING_FP32] = "fp32_no_tensor_cores",
    [FINDING_UNFUSED_ATTENTION] = "unfused_attention",
    [FINDING_ELEMENTWISE_FUSION] = "elementwise_fusion",
    [FINDING_LAYOUT] = "layout",
    [FINDING_DDP_BUFFERS] = "ddp_buffers",
    [FINDING_GEMM_BOUND] = "gemm_bound",
    [FINDING_TRACE_EDGE] = "trace_edge",
};

/* ---- Wording ---- */

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

struct figure finding_per_step(const struct findings_work *work, double ticks) {
    struct figure figure, part = finding_time(ticks / work->measures.n_steps),
                          whole = finding_time(work->measures.window / work->measures.n_steps);
    const char *each = work->measures.n_steps > 1 ? "each " : work->overview->window.n_steps ? "the " : "";
    const char *step = work->overview->window.n_steps ? " step" : "";
    snprintf(figure.text, sizeof figure.text, "%.40s of %s%.40s%s", part.text, each, whole.text, step);
    return figure;
}

struct figure finding_percent(double part, double whole) {
    struct figure figure;
    snprintf(figure.text, sizeof figure.text, "%.1f%%", whole > 0 ? part / whole * 100 : 0);
    return figure;
}

struct figure finding_count(const struct findings_work *work, double count) {
    struct figure figure;
    snprintf(figure.text, sizeof figure.text, "%.0f %s", count / work->measures.n_steps,
             work->overview->window.n_steps ? "per step" : "in total");
    return figure;
}

struct shortened finding_name(const struct findings_work *work, uint32_t string) {
    const char *name = strings_text(work->reading->strings, string);
    return strstr(name, ".py(") ? short_path(name, NAME_COLUMNS) : short_name(name, NAME_COLUMNS);
}

void finding_add(struct overview_finding *finding, const char *format, ...) {
    size_t length = strlen(finding->text);
    va_list arguments;
    va_start(arguments, format);
    vsnprintf(finding->text + length, sizeof finding->text - length, format, arguments);
    va_end(arguments);
}

struct overview_finding *finding_say(struct findings_work *work, enum finding_rule rule, double win, const char *format,
                                     ...) {
    struct overview_finding *finding = &work->findings->list[work->findings->n++];
    va_list arguments;
    *finding = (struct overview_finding){.rule = rule, .win = isnan(win) ? win : part_of_window(work, win)};
    va_start(arguments, format);
    vsnprintf(finding->text, sizeof finding->text, format, arguments);
    va_end(arguments);
    work->fired[rule] = true;
    return finding;
}

void finding_number(struct overview_finding *finding, const char *name, double value) {
    if (finding->n_numbers < FINDING_NUMBERS)
        finding->numbers[finding->n_numbers++] = (struct sutra_finding_number){name, value};
}

enum sutra_status finding_frame(struct findings_work *work, uint32_t kinds, uint32_t *name, int64_t *ticks,
                                struct sutra_error *error) {
    const struct overview *overview = work->overview;
    struct arena_mark mark = arena_mark(work->arena);
    int64_t *sums = arena_zeros(work->arena, work->reading->strings->n, sizeof *sums);
    enum sutra_status status = arena_status(work->arena, error);
    *name = STRING_NONE;
    *ticks = 0;
    for (row_t i = 0; i < overview->n_rows && !status; i++) {
        const struct overview_row *row = &overview->rows[i];
        if (!(kinds >> row->kind & 1) || row->frame == ROW_NONE)
            continue;
        uint32_t of = host_name(work->reading, row->frame);
        sums[of] += row->end - row->begin;
        if (sums[of] > *ticks) {
            *ticks = sums[of];
            *name = of;
        }
    }
    arena_release(work->arena, mark);
    return status;
}

/* ---- Order ---- */

static bool leaves_idle(enum finding_rule rule) {
    return rule == FINDING_DATA_LOADING || rule == FINDING_CPU_PREPROCESSING || rule == FINDING_HOST_BOUND;
}

static bool computes(enum finding_rule rule) {
    return rule == FINDING_FP32 || rule == FINDING_UNFUSED_ATTENTION || rule == FINDING_ELEMENTWISE_FUSION;
}

/* The least win of what leaves the device idle, which what it computes stands behind. */
static double limit_of(const struct overview_findings *findings, double busy_percent) {
    double limit = INFINITY;
    for (unsigned i = 0; i < findings->n && busy_percent < OFTEN_IDLE_PERCENT; i++)
        if (leaves_idle(findings->list[i].rule) && findings->list[i].win < limit)
            limit = findings->list[i].win;
    return limit;
}

/* Whether a finding stands before another; those without a win are last. */
static bool is_before(const struct overview_finding *a, const struct overview_finding *b, double limit) {
    double win_a = computes(a->rule) ? fmin(a->win, limit) : a->win;
    double win_b = computes(b->rule) ? fmin(b->win, limit) : b->win;
    if (isnan(a->win) || isnan(b->win))
        return isnan(a->win) && isnan(b->win) ? a->rule < b->rule : isnan(b->win);
    return win_a != win_b ? win_a > win_b : a->rule < b->rule;
}

void findings_order(struct overview_findings *findings, double busy_percent) {
    unsigned n = 0;
    for (unsigned i = 0; i < findings->n; i++) {
        const struct overview_finding *finding = &findings->list[i];
        if (isnan(finding->win) || finding->win >= LEAST_WIN || finding->rule == FINDING_LAYOUT)
            findings->list[n++] = *finding;
    }
    findings->n = n;
    double limit = limit_of(findings, busy_percent);
    for (unsigned i = 1; i < n; i++)
        for (unsigned k = i; k > 0 && is_before(&findings->list[k], &findings->list[k - 1], limit); k--) {
            struct overview_finding held = findings->list[k];
            findings->list[k] = findings->list[k - 1];
            findings->list[k - 1] = held;
        }
    findings->n = n < FINDINGS_MOST ? n : FINDINGS_MOST;
}

enum sutra_status findings_make(struct sutra_context *context, const struct op_reading *reading,
                                struct overview *overview, const struct collective_calls *calls, bool alone,
                                struct arena *scratch, struct overview_findings *findings, struct sutra_error *error) {
    static finding_look *const looks[] = {rule_data_loading,
                                          rule_cpu_preprocessing,
                                          rule_host_bound,
                                          rule_small_kernels_optimizer,
                                          rule_exposed_comm,
                                          rule_straggler,
                                          rule_slow_collective,
                                          rule_copies,
                                          rule_sync,
                                          rule_allocation,
                                          rule_fp32,
                                          rule_unfused_attention,
                                          rule_elementwise_fusion,
                                          rule_layout,
                                          rule_ddp_buffers,
                                          rule_gemm_bound};
    struct arena_mark mark = arena_mark(scratch);
    struct findings_work work = {.context = context,
                                 .reading = reading,
                                 .overview = overview,
                                 .calls = calls,
                                 .alone = alone,
                                 .arena = scratch,
                                 .findings = findings};
    bool go_on = overview_busy(overview) > 0;
    enum sutra_status status = SUTRA_OK;
    findings->n = 0;
    if (go_on)
        status = guards_apply(&work, &go_on, error);
    if (!status && go_on)
        status = measures_take(&work, error);
    for (size_t i = 0; i < sizeof looks / sizeof *looks && !status && go_on; i++)
        status = looks[i](&work, error);
    if (!status)
        findings_order(findings, overview_length(overview) > 0
                                     ? (double)overview_busy(overview) * 100 / (double)overview_length(overview)
                                     : 0);
    arena_release(scratch, mark);
    return status;
}
