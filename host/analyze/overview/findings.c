/*
 * findings.c - implements findings.h: the list of rules, measurements and facts of a trace, guards, and the order of
 * findings.
 */
#include <string.h>

#include "analyze/overview/findings.h"

#include "base/error.h"
#include "base/shared.h"
#include "facts/names.h"
#include "match/steps.h"

/* ---- Rules ---- */

#define ADDRESS_OF_RULE(x) &rule_##x,
const struct finding_rule *const finding_rules[] = {FINDING_RULES(ADDRESS_OF_RULE)};
const uint32_t n_finding_rules = N_FINDING_RULES;
_Static_assert(N_FINDING_RULES <= FINDING_RULES_MOST, "a bit for each rule");

uint32_t finding_rule_number(const struct finding_rule *rule) {
    uint32_t number = 0;
    while (finding_rules[number] != rule)
        number++;
    return number;
}

const struct finding_rule *finding_rule_named(const char *name) {
    for (uint32_t i = 0; i < n_finding_rules; i++)
        if (strcmp(finding_rules[i]->name, name) == 0)
            return finding_rules[i];
    return NULL;
}

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
    TRY(arena_status(d->arena, error));
    for (row_t k = 0; k < devices->n; k++) {
        row_t i = devices->by_start[k], call = devices->call[i];
        if (call == ROW_NONE)
            continue;
        keys[n] = integer_sort_key(hosts->start[call]);
        launched[n++] = i;
    }
    TRY(cpu_sort_keys(NULL, &(struct sort_keys_step){keys, launched, n}, error));
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
    TRY_ALLOC(rows, error);
    for (row_t i = 0; i < list->n; i++)
        if (list->states[i] & any && (list->states[i] & needed) == needed)
            rows[n++] = list->rows[i];
    TRY(spans_of_hosts(d->overview, rows, n, d->arena, &spans, error));
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
    TRY(arena_status(arena, error));

    /* The median duration of launching calls, from which launches that wait for space are recognized. */
    int64_t median, long_call = INT64_MAX;
    for (row_t row = 0; row < hosts->n; row++) {
        launching[hosts->thread[row]] |= first[row] < first[row + 1];
        if (hosts->kind[row] == HOST_CALL && first[row] < first[row + 1])
            keys[n++] = (uint64_t)(hosts->stop[row] - hosts->start[row]);
    }
    TRY(median_of_keys(keys, rows, n, &median, error));
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
    TRY(kind_clock_make(overview, KINDS_BUSY, arena, &busy, error));
    TRY(measure_states(d, &list, inactive, HOST_LAUNCHING, NULL, &measures->host_active, NULL, error));
    TRY(measure_states(d, &list, inactive | HOST_WAITS, HOST_LAUNCHING, NULL, &measures->host_needed, NULL, error));
    TRY(measure_states(d, &list, HOST_BLOCKS | HOST_WAITS, 0, &busy, &ticks, &measures->blocked_on_device, error));
    TRY(measure_states(d, &list, HOST_BLOCKS, 0, NULL, &measures->blocking, NULL, error));
    TRY(measure_states(d, &list, HOST_LOADS, 0, NULL, &measures->loading, NULL, error));
    measures->host_active = overview_length(overview) - measures->host_active;
    measures->host_needed = overview_length(overview) - measures->host_needed;
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
    if (window->n_steps == 0 && d->steps->source == STEPS_ANNOTATION)
        n_steps = d->steps->n;
    *measures = (struct measures){.window = length > 0 ? (double)length : 1,
                                  .n_steps = n_steps ? n_steps : 1,
                                  .of_kernel = arena_zeros(d->arena, model->strings->n, sizeof(int64_t)),
                                  .of_operator = arena_zeros(d->arena, model->strings->n, sizeof(int64_t))};
    TRY(arena_status(d->arena, error));
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
    TRY(measure_launches(d, error));
    TRY(measure_host(d, error));
    return kind_clock_make(d->overview, KINDS_IDLE, d->arena, &measures->idle, error);
}

/* ---- Facts of a trace ---- */

static const struct {
    const char *word;
    enum comparison comparison;
    uint64_t fact;
    bool in_frames; /* also in names of Python functions */
} fact_words[] = {
    {"vllm", TEXT_HAS_IN_ANY_CASE, FACT_ENGINE | FACT_VLLM, true},
    {"sglang", TEXT_HAS_IN_ANY_CASE, FACT_ENGINE | FACT_SGLANG, true},
    {"xdit", TEXT_HAS_IN_ANY_CASE, FACT_ENGINE, true},
    {"megatron", TEXT_HAS_IN_ANY_CASE, FACT_MEGATRON, true},
    {"ColumnParallelLinear", TEXT_HAS, FACT_MEGATRON, true},
    {"LinearWithGradAccumulationAndAsyncCommunication", TEXT_HAS, FACT_MEGATRON, true},
    {"xfuser", TEXT_HAS_IN_ANY_CASE, FACT_ENGINE, true},
    {"Backward", TEXT_HAS, FACT_BACKWARD, false},
    {"autograd::engine", TEXT_HAS, FACT_BACKWARD, false},
    {"Optimizer", TEXT_HAS, FACT_OPTIMIZER, false},
    {"CompiledFunction", TEXT_HAS, FACT_COMPILED, false},
    {"Torch-Compiled Region", TEXT_HAS, FACT_COMPILED, false},
    {"moe", TEXT_HAS_IN_ANY_CASE, FACT_MOE, true},
    {"expert", TEXT_HAS_IN_ANY_CASE, FACT_MOE, true},
    {"router", TEXT_HAS_IN_ANY_CASE, FACT_MOE, true},
    {"dispatch", TEXT_HAS_IN_ANY_CASE, FACT_MOE, false},
    {"combine", TEXT_HAS_IN_ANY_CASE, FACT_MOE, false},
    {"embedding", TEXT_HAS_IN_ANY_CASE, FACT_EMBEDDING, true},
    {"fbgemm", TEXT_HAS_IN_ANY_CASE, FACT_EMBEDDING, true},
    {"sparse", TEXT_HAS_IN_ANY_CASE, FACT_EMBEDDING, true},
    {"splittbe", TEXT_HAS_IN_ANY_CASE, FACT_EMBEDDING, true},
    {"dlrm", TEXT_HAS_IN_ANY_CASE, FACT_EMBEDDING, true},
    {"fsdp", TEXT_HAS_IN_ANY_CASE, FACT_FSDP, true},
    {"fullyshard", TEXT_HAS_IN_ANY_CASE, FACT_FSDP, true},
    {"DistributedDataParallel", TEXT_HAS, FACT_DDP, true},
    {"_MultiProcessing", TEXT_HAS, FACT_WORKERS, true},
    {"_SingleProcess", TEXT_HAS, FACT_INLINE_LOADER, true},
};

enum sutra_status read_trace_facts(struct diagnosis *d, struct sutra_error *error) {
    const struct host_rows *hosts = &d->model->hosts;
    const struct strings *strings = d->model->strings;
    struct arena_mark mark = arena_mark(d->arena);
    enum { USED = 1, USED_BY_FRAME = 2, USED_BY_CALL = 4 };
    uint8_t *used = arena_zeros(d->arena, strings->n, 1);
    TRY(arena_status(d->arena, error));
    unsigned kinds = 0;
    for (row_t row = 0; row < hosts->n; row++) {
        const uint8_t kind = hosts->kind[row];
        used[host_name(d->model, row)] |= kind == HOST_FRAME ? USED_BY_FRAME : kind == HOST_CALL ? USED_BY_CALL : USED;
        kinds |= 1U << kind;
    }
    d->facts |= (kinds >> HOST_FRAME & 1 ? FACT_FRAMES : 0) | (kinds >> HOST_OPERATOR & 1 ? 0 : FACT_NO_OPERATORS);
    for (uint32_t string = 0; string < strings->n; string++) {
        if (!used[string])
            continue;
        if (used[string] & USED_BY_CALL && text_compare(strings, string, TEXT_BEGINS, "hip"))
            d->facts |= FACT_HIP;
        for (size_t i = 0; i < sizeof fact_words / sizeof *fact_words && used[string] & (USED | USED_BY_FRAME); i++) {
            if ((d->facts & fact_words[i].fact) == fact_words[i].fact)
                continue;
            if (used[string] & USED || fact_words[i].in_frames)
                if (text_compare(strings, string, fact_words[i].comparison, fact_words[i].word))
                    d->facts |= fact_words[i].fact;
        }
    }
    if (d->overview->device.kind == DEVICE_KIND_ROCM)
        d->facts |= FACT_HIP;
    d->facts |= !device_has_cuda_apis(d->overview->device.kind) ? FACT_OTHER_DEVICE
                : d->facts & FACT_HIP                           ? 0
                                                                : FACT_CUDA;
    arena_release(d->arena, mark);
    return SUTRA_OK;
}

/* ---- Guards ----
 *
 * Traces of something else than training steps: start-up, the edge of the trace, graphs whose kernels are not recorded,
 * gaps that the host does not cause. Guards crop the window, or suppress rules.
 */

#define STARTUP_PERCENT      20
#define STARTUP_IN_FIRST     90 /* percent of set-up in the first gap, which is then cropped */
#define EDGE_GAP_PERCENT     5
#define EDGE_WITHIN_PERCENT  2
#define EDGE_SHARE_PERCENT   50
#define UNRECORDED_PERCENT   10
#define DEVICE_SIDE_PERCENT  10
#define HOST_NOT_WHY_PERCENT 3

static int64_t ticks_of_gap(const struct overview *overview, const struct overview_gap *gap, uint32_t kinds) {
    int64_t sum = 0;
    for (row_t i = gap->first; i < gap->last; i++)
        if (kinds >> overview->rows[i].kind & 1)
            sum += overview->rows[i].end - overview->rows[i].begin;
    return sum;
}

static void crop(struct diagnosis *d, const struct finding_rule *guard, int64_t from) {
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
    crop(d, &rule_startup, gap->end);
    return percent_of_overview(overview, set_up_ticks(overview)) >= STARTUP_PERCENT;
}

static enum sutra_status report_startup(struct diagnosis *d, struct sutra_error *error) {
    uint32_t name = STRING_NONE;
    int64_t ticks = set_up_ticks(d->overview), max_ticks = 0;
    struct spans spans;
    TRY(find_main_frame(d, KINDS_SET_UP, &name, &max_ticks, error));
    TRY(spans_of_kinds(d->overview, KINDS_SET_UP, d->kept, &spans, error));
    struct overview_finding *finding = add_finding(
        d, &rule_startup, &spans, "Setup (module loading, memory allocation, graph capture) takes %s of the %s window",
        finding_percent((double)ticks, d->measures.window).text, brief_time_text(d->measures.window).text);
    if (name != STRING_NONE) {
        append_finding_text(finding, ", %s of it in %s", brief_time_text((double)max_ticks).text,
                            finding_name(d, name).text);
        copy_finding_name(d, name, finding->where.frame, sizeof finding->where.frame);
    }
    append_finding_text(finding, ". All other rules are suppressed.");
    set_finding_now(finding, "%s", finding_percent((double)ticks, d->measures.window).text);
    add_finding_number(finding, "set_up_us", (double)ticks / 1000);
    return SUTRA_OK;
}

const struct finding_rule rule_startup = {
    .name = "startup",
    .title = "Warm-up in the profile",
    .is_first = true,
    .metric = "of the window in setup",
    .after = "must fall below 20%",
    .remedies =
        {
            {.situation = "first_calls",
             .needs = FACT_FIRST_CALLS,
             .lines = {{"Run the model a few times before the recording starts: schedule(wait, warmup, active).",
                        "torch.profiler.schedule", PROFILER_PAGE, 0}},
             .metric = "of the window in first calls"},
            {.lines = {{"Profile after a warm-up: schedule(wait, warmup, active).", "torch.profiler.schedule",
                        PROFILER_PAGE, 0}}},
        },
};

/* ---- First calls ----
 *
 *     host    | torch.compile ............ launch |launch|   launch | cuBLAS is initialized launch |
 *     GPU                                       |triton_a||triton_b|                             |gemm|
 *     gaps    |<------ first call ------------->|                  |<------- first call -------->|
 *
 * A gap is due to a first call if it is long against the others and ends with the first kernel of a Triton function or
 * of a library; so is the gap before the first GPU activity of such a trace.
 */

#define FIRST_CALL_MEDIANS  100 /* of all gaps */
#define FIRST_CALLS_PERCENT 20
#define BEHIND_PERCENT      90 /* of the GPU activity that follows first calls: the window begins there */
#define KINDS_OF_CPU                                                                                                   \
    (KINDS_SET_UP | KIND(OVERVIEW_HOST) | KIND(OVERVIEW_LAUNCH) | KIND(OVERVIEW_SYNC) | KIND(OVERVIEW_AFTER_SYNC))

/* Marks the first kernel of each Triton function and of each library, by row of devices. */
static enum sutra_status mark_first_kernels(const struct diagnosis *d, uint8_t *is_first, struct sutra_error *error) {
    static const char *const libraries[] = {"cudnn", "convolve", "gemm", "cublas", "cutlass", "nccl"};
    enum { N_LIBRARIES = sizeof libraries / sizeof *libraries };
    const struct strings *strings = d->model->strings;
    const struct device_rows *devices = &d->model->devices;
    uint8_t *seen = arena_zeros(d->arena, strings->n, 1);
    bool has_library[N_LIBRARIES] = {false};
    TRY_ALLOC(seen, error);
    for (row_t k = 0; k < devices->n; k++) {
        const row_t i = devices->by_start[k];
        const uint32_t name = d->model->events->name[devices->event[i]];
        if (d->overview->classes[i] == OVERVIEW_COPY || seen[name])
            continue;
        seen[name] = 1;
        is_first[i] = text_compare(strings, name, TEXT_BEGINS, "triton_");
        for (int library = 0; library < N_LIBRARIES; library++) {
            if (!text_compare(strings, name, TEXT_HAS_IN_ANY_CASE, libraries[library]))
                continue;
            is_first[i] |= !has_library[library];
            has_library[library] = true;
        }
    }
    return SUTRA_OK;
}

/* Whether the time before the first GPU activity is spent in a function of the trace. */
static bool is_named_work(const struct overview *overview, const struct overview_gap *gap) {
    int64_t named = 0;
    for (row_t i = gap->first; i < gap->last; i++)
        if (overview->rows[i].frame != ROW_NONE)
            named += overview->rows[i].end - overview->rows[i].begin;
    return 2 * named > gap->end - gap->begin;
}

/* Finds the time of first calls; its end is the end of the last one. */
static enum sutra_status find_first_calls(const struct diagnosis *d, struct spans *spans, struct sutra_error *error) {
    const struct overview *overview = d->overview;
    const row_t n_gaps = overview->n_gaps;
    uint8_t *is_first = arena_zeros(d->arena, d->model->devices.n, 1);
    uint64_t *keys = arena_alloc(d->arena, n_gaps, sizeof *keys);
    row_t *rows = arena_zeros(d->arena, n_gaps, sizeof *rows); /* for the sort only */
    bool has_library = false;
    TRY(arena_status(d->arena, error));
    TRY(mark_first_kernels(d, is_first, error));
    for (row_t i = 0; i < n_gaps; i++)
        keys[i] = (uint64_t)(overview->gaps[i].end - overview->gaps[i].begin);
    TRY(cpu_sort_keys(NULL, &(struct sort_keys_step){keys, rows, n_gaps}, error));
    const int64_t median = n_gaps ? (int64_t)keys[lower_median_at(n_gaps)] : 0;
    TRY(spans_reserve(n_gaps, d->kept, spans, error));
    for (row_t i = 0; i < n_gaps; i++) {
        const struct overview_gap *gap = &overview->gaps[i];
        const bool before_all = gap->begin == overview->window.from && !is_named_work(overview, gap);
        const int64_t length = gap->end - gap->begin;
        if (gap->device == ROW_NONE || !(before_all || is_first[gap->device]) ||
            (double)length <= FIRST_CALL_MEDIANS * (double)median ||
            2 * ticks_of_gap(overview, gap, KINDS_OF_CPU) < length)
            continue;
        has_library |= is_first[gap->device];
        spans_append(spans, gap->begin, gap->end);
    }
    spans->n = has_library ? spans->n : 0;
    return SUTRA_OK;
}

/* Reports first calls in a trace without several steps. If most GPU activity follows them, crops the window to it. */
static enum sutra_status check_first_calls(struct diagnosis *d, struct sutra_error *error) {
    struct overview *overview = d->overview;
    struct spans spans, busy, busy_after;
    struct arena_mark mark = arena_mark(d->arena);
    if (overview->window.n_steps > 1)
        return SUTRA_OK;
    TRY(find_first_calls(d, &spans, error));
    const int64_t ticks = spans_length(&spans);
    if (percent_of_overview(overview, ticks) < FIRST_CALLS_PERCENT) {
        arena_release(d->arena, mark);
        return SUTRA_OK;
    }
    const double window = (double)overview_length(overview);
    const struct figure percent = finding_percent((double)ticks, window), time = brief_time_text((double)ticks),
                        whole = brief_time_text(window);
    int64_t end = spans.end[spans.n - 1];
    struct spans rest = {.n = 1, .begin = &end, .end = &overview->window.to};
    TRY(spans_of_kinds(overview, KINDS_BUSY, d->arena, &busy, error));
    TRY(spans_common(&busy, &rest, d->arena, &busy_after, error));
    const bool crops = (double)spans_length(&busy_after) * 100 >= (double)overview_busy(overview) * BEHIND_PERCENT;
    arena_release(d->arena, mark);
    if (crops)
        crop(d, &rule_startup, end);
    else
        d->first_calls = spans;
    struct overview_finding *finding = add_finding(
        d, &rule_startup, crops ? NULL : &spans,
        "First calls take %s of the %s window (%s): compilation, autotuning or initialization. %s", time.text,
        whole.text, percent.text, crops ? "The window begins after them." : "Other findings exclude this time.");
    if (d->facts & FACT_NO_OPERATORS)
        append_finding_text(finding, " No CPU operators are recorded (activities=[ProfilerActivity.CUDA] only).");
    claim_no_saving(finding);
    finding->facts |= FACT_FIRST_CALLS;
    set_finding_now(finding, "%s", percent.text);
    add_finding_number(finding, "first_calls_us", (double)ticks / 1000);
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
            add_finding(d, &rule_trace_edge, NULL,
                        "In the first %s the GPU still runs work that was launched before profiling began. This time "
                        "is excluded.",
                        brief_time_text((double)(gap.end - from)).text);
        add_finding_number(finding, "cropped_us", (double)(gap.end - from) / 1000);
        set_finding_now(finding, "%s", brief_time_text((double)(gap.end - from)).text);
        crop(d, &rule_trace_edge, gap.end);
        return;
    }
}

const struct finding_rule rule_trace_edge = {
    .name = "trace_edge",
    .title = "Trace start excluded",
    .position = 2,
    .metric = "of excluded trace",
    .after = "must go to 0",
    .remedies = {{.lines = {{"Start the profiler one step earlier to record this work.", "torch.profiler.schedule",
                             PROFILER_PAGE, 0}}}},
};

/* Reports idle time after launches of graphs whose kernels are missing; rules about idle time and kernels are
 * suppressed. */
static enum sutra_status check_unrecorded_graphs(struct diagnosis *d, int64_t *unrecorded, struct sutra_error *error) {
    const struct overview *overview = d->overview;
    struct spans spans;
    TRY(spans_reserve(overview->n_rows, d->kept, &spans, error));
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
        add_finding(d, &rule_unrecorded_graph, &spans,
                    "For %s of the window, after graph launches, the GPU looks idle but runs kernels that are not "
                    "recorded. Findings on idle time and communication rest on missing kernels.",
                    finding_percent((double)*unrecorded, (double)overview_length(overview)).text);
    claim_no_saving(finding);
    set_finding_now(finding, "%s", finding_percent((double)*unrecorded, (double)overview_length(overview)).text);
    add_finding_number(finding, "unrecorded_us", (double)*unrecorded / 1000);
    return SUTRA_OK;
}

const struct finding_rule rule_unrecorded_graph = {
    .name = "unrecorded_graph",
    .title = "Graph kernels not recorded",
    .is_first = true,
    .metric = "of the window without kernels",
    .after = "must go to 0",
    .remedies =
        {
            {.situation = "other_device",
             .needs = FACT_OTHER_DEVICE,
             .lines = {{"Record the kernels of graphs: profile without graphs.", NULL, PROFILER_PAGE, 0}},
             .metric = "of the window has no kernels"},
            {.lines = {{"Record the kernels of graphs: profile without graphs, or with a driver and profiler that "
                        "trace graph nodes.",
                        NULL, PROFILER_PAGE, 0}}},
        },
};

/* Reports idle time that the host does not cause. It suppresses the rule about launches if the host causes less, unless
 * one unit of the host has half of the host's time (rules_host.c). */
static enum sutra_status check_device_side(struct diagnosis *d, struct sutra_error *error) {
    const struct overview *overview = d->overview;
    int64_t unrecorded;
    struct spans spans;
    TRY(check_unrecorded_graphs(d, &unrecorded, error));
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
    TRY(spans_of_kinds(overview, KIND(OVERVIEW_QUEUED) | KIND(OVERVIEW_NOT_STARTED), d->kept, &spans, error));
    double length = (double)overview_length(overview);
    int64_t host = overview->ticks[OVERVIEW_HOST] + overview->ticks[OVERVIEW_LAUNCH];
    d->device_side = other;
    struct overview_finding *finding =
        add_finding(d, &rule_device_side, &spans,
                    "For %s of the window the next work is already launched, or the CPU waits for the GPU",
                    finding_percent((double)other, length).text);
    claim_no_saving(finding);
    if (percent_of_overview(overview, host) < HOST_NOT_WHY_PERCENT) {
        append_finding_text(finding, ": the CPU is not the cause.");
    } else {
        struct finding_where *where = &finding->where;
        TRY(find_host_places(d, KIND(OVERVIEW_HOST) | KIND(OVERVIEW_LAUNCH), NULL, where, error));
        append_finding_text(finding, ". The CPU causes another %s", finding_percent((double)host, length).text);
        append_finding_text(finding, where->n_units ? " (%s)." : ".", where->units[0].name);
    }
    set_finding_now(finding, "%s", finding_percent((double)other, length).text);
    add_finding_number(finding, "unexplained_us", (double)other / 1000);
    add_finding_number(finding, "host_percent", percent_of_overview(overview, host));
    return SUTRA_OK;
}

const struct finding_rule rule_device_side = {
    .name = "device_side",
    .title = "GPU idle time not caused by the CPU",
    .position = 1,
    .uses_launches = true,
    .metric = "of the window with launched work that does not run",
    .after = "must fall",
    .remedies = {{.lines = {{"Check dependencies between streams, and other processes on this GPU: the trace may lack "
                             "their work.",
                             NULL, NULL, 0}}}},
};

#define USE_A_GPU                                                                                                      \
    {                                                                                                                  \
        "If the model should run on a GPU, move the model and its inputs there, and record the activity of the "       \
        "device, too.",                                                                                                \
            "torch.nn.Module.to", PROFILER_PAGE, 0                                                                     \
    }

/* The only finding on a trace without GPU activity (verdict.c). Its evidence is the cause, which names what to do in
 * situations without a row. */
const struct finding_rule rule_no_kernels = {
    .name = "no_kernels",
    .title = "No GPU activity",
    .metric = "kernels listed by sutra info",
    .after = "must exceed 0",
    .remedies =
        {
            {.situation = "cpu_model", .needs = FACT_CPU_MODEL, .lines = {USE_A_GPU}, .metric = "", .after = ""},
            {.situation = "cpu_only",
             .needs = FACT_HOST_ONLY,
             .excludes = FACT_DEVICE_USED,
             .lines = {USE_A_GPU},
             .metric = "",
             .after = ""},
            {.situation = "host_only",
             .needs = FACT_HOST_ONLY,
             .lines = {{"Record the device too: add its activity, for example ProfilerActivity.CUDA, to the activities "
                        "of the profiler.",
                        "torch.profiler.profile", PROFILER_PAGE, 0}}},
            {.situation = "kernels_not_delivered",
             .needs = FACT_UNDELIVERED,
             .excludes = FACT_OTHER_DEVICE,
             .lines = {{"Check, in this order: the profiler stops after torch.cuda.synchronize(); the driver lets "
                        "users profile (containers need SYS_ADMIN); no second profiler is attached.",
                        "torch.profiler.profile", PROFILER_PAGE, 0}}},
        },
};

enum sutra_status apply_rules(struct diagnosis *d, struct sutra_error *error) {
    if (overview_busy(d->overview) == 0)
        return measure(d, error);
    d->is_startup = is_startup(d);
    if (d->is_startup) {
        TRY(measure(d, error));
        return report_startup(d, error);
    }
    TRY(check_first_calls(d, error));
    crop_trace_edge(d);
    TRY(check_device_side(d, error));
    TRY(measure(d, error));
    for (uint32_t i = 0; i < n_finding_rules; i++)
        if (finding_rules[i]->find)
            TRY(finding_rules[i]->find(d, error));
    return SUTRA_OK;
}

/* ---- Order ---- */

#define MIN_SAVING 3 /* percent: smaller savings are not shown, unless the rule has its own minimum */

/* If the GPU is less busy, findings about its kernels are sorted after the causes of idle time. */
#define OFTEN_IDLE_PERCENT 60

/* Whether a finding precedes another. Kernels count with a saving below `limit`. */
static bool precedes(const struct overview_finding *a, const struct overview_finding *b, double limit) {
    const bool is_earlier = finding_rule_number(a->rule) < finding_rule_number(b->rule);
    if (a->rule->is_first || b->rule->is_first)
        return a->rule->is_first && (!b->rule->is_first || is_earlier);
    if (isnan(a->saving_percent) || isnan(b->saving_percent))
        return isnan(a->saving_percent) && isnan(b->saving_percent) ? a->rule->position < b->rule->position
                                                                    : isnan(b->saving_percent);
    double saving_a = a->rule->scope == SCOPE_COMPUTE ? fmin(a->saving_percent, limit) : a->saving_percent;
    double saving_b = b->rule->scope == SCOPE_COMPUTE ? fmin(b->saving_percent, limit) : b->saving_percent;
    return saving_a != saving_b ? saving_a > saving_b : is_earlier;
}

bool finding_is_shown(const struct overview_finding *finding) {
    const double minimum = finding->rule->min_percent > 0 ? finding->rule->min_percent : MIN_SAVING;
    return isnan(finding->saving_percent) || finding->saving_percent >= minimum;
}

void sort_findings(struct overview_findings *findings, double busy_percent) {
    struct overview_finding *list = findings->list;
    double limit = INFINITY;
    for (unsigned i = 0; i < findings->n_all && busy_percent < OFTEN_IDLE_PERCENT; i++)
        if (list[i].rule->scope == SCOPE_IDLE && list[i].saving_percent < limit)
            limit = list[i].saving_percent;

    /* Findings that are not shown are sorted to the end. */
    findings->n = 0;
    for (unsigned i = 0; i < findings->n_all; i++) {
        findings->n += finding_is_shown(&list[i]);
        for (unsigned k = i; k > 0; k--) {
            bool shown = finding_is_shown(&list[k]), before = finding_is_shown(&list[k - 1]);
            if (shown == before ? !precedes(&list[k], &list[k - 1], limit) : before)
                break;
            struct overview_finding swapped = list[k];
            list[k] = list[k - 1];
            list[k - 1] = swapped;
        }
    }

    /* Of too many, one without a known cause is omitted first. */
    for (unsigned i = 0; i < FINDINGS_MOST && findings->n > FINDINGS_MOST; i++) {
        if (!list[i].rule->cause_is_unknown)
            continue;
        const struct overview_finding unknown = list[i];
        memmove(&list[i], &list[i + 1], (FINDINGS_MOST - i) * sizeof *list);
        list[FINDINGS_MOST] = unknown;
    }
    findings->n = MIN(findings->n, FINDINGS_MOST);
}
