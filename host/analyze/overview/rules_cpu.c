/*
 * rules_cpu.c - findings about idle time that the host causes: data loading, CPU work, launches, synchronization.
 *
 * Each section is a rule: the condition under which it fires, and its saving.
 */
#include "analyze/overview/findings.h"

#include <stdio.h>

#include "base/error.h"
#include "base/shared.h"

static void add_frames_note(const struct diagnosis *d, struct overview_finding *finding) {
    if (d->measures.has_frames)
        append_finding_text(finding, " (with_stack inflates CPU times.)");
}

/* ---- data_loading: idle in DataLoader ranges >= LOADING_PERCENT. Saving: this time. ---- */

#define LOADING_PERCENT 5

static enum sutra_status find_data_loading(struct diagnosis *d, struct sutra_error *error) {
    const struct measures *measures = &d->measures;
    const struct overview *overview = d->overview;
    row_t first_gap = ROW_NONE;
    struct spans spans;
    uint32_t name;
    int64_t max_ticks;
    TRY(spans_reserve(overview->n_rows, d->kept, &spans, error));

    /* Without steps, skip the first batch, for which workers are started. */
    for (row_t i = 0; i < overview->n_rows; i++) {
        const struct overview_row *row = &overview->rows[i];
        if (row->kind != OVERVIEW_LOADING)
            continue;
        first_gap = first_gap == ROW_NONE ? row->gap : first_gap;
        if (overview->window.n_steps || row->gap != first_gap)
            spans_append(&spans, row->begin, row->end);
    }
    double ticks = (double)spans_length(&spans);
    if (percent_of_window(d, ticks) < LOADING_PERCENT)
        return SUTRA_OK;
    TRY(find_main_frame(d, KIND(OVERVIEW_LOADING), &name, &max_ticks, error));
    bool names_loader = name == STRING_NONE || text_compare(d->model->strings, name, TEXT_HAS, "DataLoader");
    double floor = (double)MAX(measures->host_active, overview_busy(overview)) / measures->n_steps;
    struct overview_finding *finding =
        add_finding(d, &rule_data_loading, &spans, "%s; the GPU idles meanwhile, %s.",
                    d->facts & FACT_WORKERS         ? "The workers of the DataLoader are too slow"
                    : d->facts & FACT_INLINE_LOADER ? "Batches are loaded in the training process"
                                                    : "The step waits for the next batch",
                    finding_per_step(d, ticks).text);
    append_finding_text(finding, " The CPU or the GPU is active %s %s.", brief_time_text(floor).text,
                        overview->window.n_steps ? "of a step" : "in total");
    copy_finding_name(d, name, finding->where.frame, sizeof finding->where.frame);
    if (!names_loader)
        copy_finding_name(d, name, finding->subject, sizeof finding->subject);
    finding->facts |= names_loader ? FACT_UNNAMED : FACT_NAMED;
    set_finding_now(finding, "%s", brief_time_text(ticks / measures->n_steps).text);
    add_finding_number(finding, "idle_us", ticks / 1000 / measures->n_steps);
    add_finding_number(finding, "min_step_us", floor / 1000);
    return SUTRA_OK;
}

static struct suspect_percents measure_loading(const struct diagnosis *d) {
    return (struct suspect_percents){percent_of_window(d, (double)d->measures.loading),
                                     percent_of_window(d, (double)d->overview->ticks[OVERVIEW_LOADING])};
}

#define LOADER_PAGE TORCH_DOCS "data.html"

const struct finding_rule rule_data_loading = {
    .name = "data_loading",
    .title = "Data loading",
    .find = find_data_loading,
    .scope = SCOPE_IDLE,
    .uses_launches = true,
    .cpu = CPU_STAYS_BUSY,
    .fix = "batches were ready",
    .metric = "of idle time in the loader per step",
    .after = "must go to 0",
    .remedies =
        {
            {.situation = "worker_processes",
             .needs = FACT_WORKERS,
             .lines = {{"The workers are too slow: raise num_workers or prefetch_factor.",
                        "torch.utils.data.DataLoader", LOADER_PAGE, 0},
                       {"Make %s cheaper, or load ready-made batches.", NULL, TUNING_PAGE, FACT_UNNAMED}}},
            {.situation = "training_process",
             .needs = FACT_INLINE_LOADER,
             .lines = {{"Load in worker processes: DataLoader(num_workers=4 or more, pin_memory=True, "
                        "persistent_workers=True).",
                        "torch.utils.data.DataLoader", LOADER_PAGE, 0}}},
            {.situation = "other",
             .lines = {{"Load batches in parallel with the step, in worker processes.", "torch.utils.data.DataLoader",
                        LOADER_PAGE, 0}}},
        },
    .suspect = {.name = "data_loading",
                .text = "data loading (the loader runs %.0f%% of the time, the GPU idles %.1f%% there)",
                .min_apparent = 5,
                .measure = measure_loading,
                .position = 0},
};

/* ---- cpu_preprocessing: few long gaps of the host >= PREPROCESSING_PERCENT. Saving: their sum. ---- */

#define LONG_GAP_NS           5000000
#define LONG_GAP_PERCENT      10
#define LONG_GAP_HOST_PERCENT 80
#define PREPROCESSING_PERCENT 10

/* The host's time in a long gap that is mostly due to the host, and its longest row; 0: it is no such gap. */
static int64_t long_gap_ticks(const struct diagnosis *d, const struct overview_gap *gap, row_t *longest) {
    const struct overview_row *rows = d->overview->rows;
    const struct measures *measures = &d->measures;
    const struct launch_model *model = d->model;
    int64_t host = 0, launch = gap->begin, length = gap->end - gap->begin;
    if (length < LONG_GAP_NS || percent_of_window(d, (double)length) < LONG_GAP_PERCENT || gap->device == ROW_NONE)
        return 0;
    *longest = ROW_NONE;
    for (row_t i = gap->first; i < gap->last; i++) {
        if (rows[i].kind != OVERVIEW_HOST)
            continue;
        host += rows[i].end - rows[i].begin;
        launch = rows[i].end;
        if (*longest == ROW_NONE || rows[i].end - rows[i].begin > rows[*longest].end - rows[*longest].begin)
            *longest = i;
    }
    if ((double)host * 100 < (double)length * LONG_GAP_HOST_PERCENT)
        return 0;

    /* No activity was launched meanwhile. */
    row_t next = 0;
    BISECT(next, measures->n_launched, model->hosts.start[model->devices.call[measures->launched[next]]] < gap->begin);
    bool is_unknown =
        d->overview->window.n_steps == 0 && gap->begin == d->overview->window.from &&
        rows[*longest].frame == ROW_NONE; /* the time before the first activity of a trace without steps */
    bool has_launch =
        next < measures->n_launched && model->hosts.start[model->devices.call[measures->launched[next]]] < launch;
    return has_launch || is_unknown ? 0 : host;
}

/* "59.3 ms of each 175 ms step"; of all steps if some steps have no such gap. */
static struct figure time_of_gaps(const struct diagnosis *d, double ticks, row_t n_gaps) {
    double n_steps = d->measures.n_steps;
    struct figure figure;
    if (n_gaps >= n_steps)
        return finding_per_step(d, ticks);
    snprintf(figure.text, sizeof figure.text, "%.40s of the %.40s of %.0f steps", brief_time_text(ticks).text,
             brief_time_text(d->measures.window).text, n_steps);
    return figure;
}

static enum sutra_status find_cpu_preprocessing(struct diagnosis *d, struct sutra_error *error) {
    const struct overview *overview = d->overview;
    const struct measures *measures = &d->measures;
    int64_t max_ticks = 0;
    bool before_first = false;
    row_t n = 0, frame = ROW_NONE;
    struct spans spans;
    TRY(spans_reserve(overview->n_rows, d->kept, &spans, error));
    for (row_t i = 0; i < overview->n_gaps; i++) {
        const struct overview_gap *gap = &overview->gaps[i];
        row_t longest;
        int64_t host = long_gap_ticks(d, gap, &longest);
        if (host == 0)
            continue;
        for (row_t k = gap->first; k < gap->last; k++)
            if (overview->rows[k].kind == OVERVIEW_HOST)
                spans_append(&spans, overview->rows[k].begin, overview->rows[k].end);
        before_first |= overview->window.n_steps == 0 && gap->begin == overview->window.from;
        n++;
        if (host > max_ticks) {
            max_ticks = host;
            frame = overview->rows[longest].frame;
        }
    }
    double sum = (double)spans_length(&spans);
    if (percent_of_window(d, sum) < PREPROCESSING_PERCENT)
        return SUTRA_OK;
    d->preprocessing = spans;
    struct overview_finding *finding =
        add_finding(d, &rule_cpu_preprocessing, &spans, "The CPU launches nothing for %s, in %s",
                    time_of_gaps(d, sum, n).text, counted_text(n, "gap", "gaps").text);
    if (n > 1)
        append_finding_text(finding, ", longest %s", brief_time_text((double)max_ticks).text);
    if (before_first)
        append_finding_text(finding, ", before the first GPU activity: ignore if it happens once");
    append_finding_text(finding, ".");
    add_frames_note(d, finding);
    finding->facts |= frame == ROW_NONE ? FACT_UNNAMED : FACT_NAMED;
    if (frame != ROW_NONE) {
        copy_finding_name(d, host_name(d->model, frame), finding->where.frame, sizeof finding->where.frame);
        memcpy(finding->subject, finding->where.frame, sizeof finding->subject);
    }
    set_finding_now(finding, "%s", brief_time_text(sum / measures->n_steps).text);
    add_finding_number(finding, "gaps", n);
    add_finding_number(finding, "idle_us", sum / 1000 / measures->n_steps);
    add_finding_number(finding, "longest_us", (double)max_ticks / 1000);
    return SUTRA_OK;
}

const struct finding_rule rule_cpu_preprocessing = {
    .name = "cpu_preprocessing",
    .title = "CPU work without launches",
    .find = find_cpu_preprocessing,
    .scope = SCOPE_IDLE,
    .uses_launches = true,
    .cpu = CPU_IS_RELIEVED,
    .fix = "the CPU prepared its work in parallel",
    .metric = "of idle time without launches per step",
    .after = "must go to 0",
    .remedies =
        {
            {.situation = "named",
             .needs = FACT_NAMED,
             .lines = {{"Move %s to worker processes or to the GPU, or do it once.", NULL, TUNING_PAGE, 0}}},
            {.situation = "unnamed",
             .lines = {{"The trace does not record the code: profile with with_stack=True.", "torch.profiler.profile",
                        PROFILER_PAGE, 0},
                       {"Then move this work to worker processes or to the GPU, or do it once.", NULL, TUNING_PAGE,
                        0}}},
        },
};

/* ---- host_bound: gaps of the host and of launches >= HOST_PERCENT, the queue runs empty or the host is always active,
 * and graphs launch less than half of the kernels. Saving: the gaps. ---- */

#define HOST_PERCENT        10
#define EMPTY_PERCENT       30
#define HOST_ACTIVE_PERCENT 95
#define MIN_LAUNCHES        10 /* fewer are no training */

/* The median duration of kernels that start in the window. */
static enum sutra_status median_kernel(const struct diagnosis *d, int64_t *median, struct sutra_error *error) {
    const struct device_rows *devices = &d->model->devices;
    const struct overview_window *window = &d->overview->window;
    struct arena_mark mark = arena_mark(d->arena);
    uint64_t *keys = arena_alloc(d->arena, devices->n, sizeof *keys);
    row_t *rows = arena_alloc(d->arena, devices->n, sizeof *rows), n = 0;
    TRY(arena_status(d->arena, error));
    for (row_t i = 0; i < devices->n; i++)
        if (d->overview->classes[i] == OVERVIEW_COMPUTE && devices->start[i] >= window->from &&
            devices->start[i] < window->to)
            keys[n++] = (uint64_t)(devices->stop[i] - devices->start[i]);
    TRY(median_of_keys(keys, rows, n, median, error));
    arena_release(d->arena, mark);
    return SUTRA_OK;
}

#define UNIT_OF_HALF_PERCENT 50   /* the host is a cause next to the device if a unit has this share of its time */
#define ONE_SHOT_LAUNCHES    1000 /* fewer launches are one pass of inference */

static enum sutra_status find_host_bound(struct diagnosis *d, struct sutra_error *error) {
    const uint32_t kinds = KIND(OVERVIEW_HOST) | KIND(OVERVIEW_LAUNCH);
    const struct measures *measures = &d->measures;
    struct spans gaps;
    struct finding_where where = {.n_units = 0};
    int64_t median;
    TRY(spans_of_kinds(d->overview, kinds, d->kept, &gaps, error));
    TRY(spans_without(&gaps, &d->preprocessing, d->kept, &d->host, error));
    double ticks = (double)spans_length(&d->host);
    bool runs_empty = (double)measures->n_empty * 100 >= (double)measures->n_launches * EMPTY_PERCENT;
    bool always_active = percent_of_window(d, (double)measures->host_active) >= HOST_ACTIVE_PERCENT;
    if (d->host_suppressed || measures->n_launches < MIN_LAUNCHES || percent_of_window(d, ticks) < HOST_PERCENT ||
        !(runs_empty || always_active) || 2 * (uint64_t)measures->n_graph >= measures->n_kernels)
        return SUTRA_OK;
    TRY(find_host_places(d, kinds, &d->preprocessing, &where, error));
    TRY(median_kernel(d, &median, error));
    if (has_fired(d, &rule_device_side) && (where.n_units == 0 || where.units[0].percent < UNIT_OF_HALF_PERCENT))
        return SUTRA_OK;
    double busy = (double)overview_busy(d->overview), launches = measures->n_launches / measures->n_steps;
    struct overview_finding *finding = add_finding(
        d, &rule_host_bound, &d->host,
        "%s of %s%s find the queue empty. One launch comes every %s; the median kernel takes %s.",
        finding_percent(measures->n_empty, measures->n_launches).text,
        counted_text((uint64_t)llrint(launches), "launch", "launches").text,
        d->overview->window.n_steps ? " per step" : "", brief_time_text(measures->window / measures->n_launches).text,
        brief_time_text((double)median).text);
    add_frames_note(d, finding);
    finding->where = where;
    finding->facts |= (median > 2 * measures->median_call ? FACT_LONG_KERNELS : 0) |
                      (measures->n_graph_launches ? FACT_GRAPHS : 0) |
                      (measures->n_launches < ONE_SHOT_LAUNCHES ? FACT_FEW_LAUNCHES : 0);
    const bool is_engine = d->facts & FACT_ENGINE && !(d->facts & FACT_BACKWARD); /* which launches graphs */
    set_finding_now(finding, "%s", mean_count_text(is_engine ? (double)measures->n_graph_launches : launches).text);
    add_finding_number(finding, "idle_us", ticks / 1000 / measures->n_steps);
    add_finding_number(finding, "busy_percent", busy / measures->window * 100);
    add_finding_number(finding, "launches", launches);
    add_finding_number(finding, "queue_empty_percent", (double)measures->n_empty / measures->n_launches * 100);
    add_finding_number(finding, "launch_interval_us", measures->window / measures->n_launches / 1000);
    add_finding_number(finding, "median_kernel_us", (double)median / 1000);
    return SUTRA_OK;
}

static struct suspect_percents measure_short_kernels(const struct diagnosis *d) {
    const struct measures *measures = &d->measures;
    const bool is_known = measures->n_launches >= MIN_LAUNCHES && measures->n_kernels;
    return (struct suspect_percents){is_known ? (double)measures->n_short_kernels / measures->n_kernels * 100 : 0,
                                     percent_of_window(d, (double)spans_length(&d->host))};
}

#define GRAPHED_PAGE TORCH_DOCS "generated/torch.cuda.make_graphed_callables.html"
#define VLLM_PAGE    "docs.vllm.ai/en/latest/design/cuda_graphs/"
#define SGLANG_PAGE  "docs.sglang.ai"

const struct finding_rule rule_host_bound = {
    .name = "host_bound",
    .title = "Launch-bound",
    .title_if = {FACT_LONG_KERNELS, "CPU-bound"},
    .find = find_host_bound,
    .scope = SCOPE_IDLE,
    .uses_launches = true,
    .fix = "the CPU kept up",
    .metric = "launches per step",
    .after = "must fall",
    .remedies =
        {
            {.situation = "other_device",
             .needs = FACT_OTHER_DEVICE,
             .lines = {{"Launch fewer and larger kernels: torch.compile, or a larger batch.", "torch.compile",
                        COMPILE_PAGE, 0}}},
            {.situation = "engine",
             .needs = FACT_ENGINE | FACT_SGLANG,
             .excludes = FACT_BACKWARD,
             .lines = {{"Let the engine capture CUDA graphs: start SGLang without --disable-cuda-graph.",
                        "--disable-cuda-graph", SGLANG_PAGE, FACT_HIP},
                       {"Let the engine capture HIP graphs: start SGLang without --disable-cuda-graph.",
                        "--disable-cuda-graph", SGLANG_PAGE, FACT_CUDA},
                       {"Larger batches also keep the GPU busy.", NULL, SGLANG_PAGE, 0}},
             .metric = "graph launches",
             .after = "must rise"},
            {.situation = "engine",
             .needs = FACT_ENGINE | FACT_VLLM,
             .excludes = FACT_BACKWARD,
             .lines = {{"Let the engine capture CUDA graphs: enforce_eager=False, and "
                        "cudagraph_mode=FULL_AND_PIECEWISE (vLLM 0.11 or later).",
                        "cudagraph_mode", VLLM_PAGE, FACT_HIP},
                       {"Let the engine capture HIP graphs: enforce_eager=False, and "
                        "cudagraph_mode=FULL_AND_PIECEWISE (vLLM 0.11 or later).",
                        "cudagraph_mode", VLLM_PAGE, FACT_CUDA},
                       {"Larger batches also keep the GPU busy.", NULL, VLLM_PAGE, 0}},
             .metric = "graph launches",
             .after = "must rise"},
            {.situation = "engine",
             .needs = FACT_ENGINE,
             .excludes = FACT_BACKWARD,
             .lines = {{"Let the engine compile the model and capture CUDA graphs: "
                        "torch.compile(mode=\"reduce-overhead\").",
                        "torch.compile", COMPILE_PAGE, FACT_HIP},
                       {"Let the engine compile the model and capture HIP graphs: "
                        "torch.compile(mode=\"reduce-overhead\").",
                        "torch.compile", COMPILE_PAGE, FACT_CUDA},
                       {"Larger batches also keep the GPU busy.", NULL, TUNING_PAGE, 0}},
             .metric = "graph launches",
             .after = "must rise"},
            {.situation = "compiled",
             .needs = FACT_COMPILED,
             .excludes = FACT_GRAPHS,
             .lines = {{"The compiled graph runs kernel by kernel: use the Inductor backend, torch.compile(model).",
                        "torch.compile", COMPILE_PAGE, 0},
                       {"Then torch.compile(mode=\"reduce-overhead\"), which uses CUDA graphs (PyTorch 2.0 or later).",
                        "torch.compile", COMPILE_PAGE, FACT_HIP},
                       {"Then torch.compile(mode=\"reduce-overhead\"), which uses HIP graphs (PyTorch 2.0 or later).",
                        "torch.compile", COMPILE_PAGE, FACT_CUDA}}},
            {.situation = "graphs",
             .needs = FACT_GRAPHS,
             .lines = {{"Some kernels already run in graphs: capture the rest of the step, too.",
                        "torch.cuda.make_graphed_callables", GRAPHED_PAGE, 0},
                       {"Or use a larger batch.", NULL, TUNING_PAGE, 0}}},
            {.situation = "one_shot",
             .needs = FACT_FEW_LAUNCHES,
             .excludes = FACT_BACKWARD | FACT_OPTIMIZER,
             .lines = {{"One pass of inference: first use a larger batch, several items per pass.", NULL, TUNING_PAGE,
                        0},
                       {"Then torch.compile(mode=\"reduce-overhead\").", "torch.compile", COMPILE_PAGE, 0}},
             .metric = "launches per item"},
            {.situation = "eager",
             .lines = {{"Launch less often: torch.compile(mode=\"reduce-overhead\") uses CUDA graphs; or a larger "
                        "batch.",
                        "torch.compile", COMPILE_PAGE, FACT_HIP},
                       {"Launch less often: torch.compile(mode=\"reduce-overhead\") uses HIP graphs; or a larger "
                        "batch.",
                        "torch.compile", COMPILE_PAGE, FACT_CUDA},
                       {"Else capture parts of the model with torch.cuda.make_graphed_callables.",
                        "torch.cuda.make_graphed_callables", GRAPHED_PAGE, 0}}},
        },
    .suspect = {.name = "short_kernels",
                .text = "short kernels (%.0f%% take < 10 us, but the GPU waits for launches only %.1f%%)",
                .min_apparent = 40,
                .measure = measure_short_kernels,
                .position = 4},
};

/* ---- small_kernels_optimizer: its host time >= OPTIMIZER_HOST_PERCENT; and >= OPTIMIZER_KERNELS per step with idle
 * time >= OPTIMIZER_IDLE_PERCENT, or idle time >= GROUPING_IDLE_PERCENT (the CPU groups tensors). Saving: the idle
 * time. ---- */

#define OPTIMIZER_KERNELS      200
#define OPTIMIZER_HOST_PERCENT 5
#define OPTIMIZER_IDLE_PERCENT 3
#define GROUPING_IDLE_PERCENT  5

/* The optimizer's range and its operator with most CPU time. `kind_of_name`, by string: 0 if it is no range. */
static void find_optimizer_names(const struct diagnosis *d, const uint8_t *kind_of_name, uint32_t *range,
                                 uint32_t *op) {
    const struct host_rows *hosts = &d->model->hosts;
    int64_t longest_range = 0, longest_op = 0;
    for (row_t row = 0; row < hosts->n; row++) {
        const uint32_t name = host_name(d->model, row);
        const row_t parent = hosts->parent[row];
        const int64_t length = hosts->stop[row] - hosts->start[row];
        if (hosts->kind[row] != HOST_CALL && hosts->kind[row] != HOST_FRAME && kind_of_name[name] &&
            length > longest_range) {
            longest_range = length;
            *range = name;
        }
        if (hosts->kind[row] == HOST_OPERATOR && parent != ROW_NONE && kind_of_name[host_name(d->model, parent)] &&
            length > longest_op) {
            longest_op = length;
            *op = name;
        }
    }
}

/* The idle time of the GPU within host time, in the arena of the findings. */
static enum sutra_status find_idle_spans(const struct diagnosis *d, const struct spans *host, struct spans *idle_spans,
                                         struct sutra_error *error) {
    struct spans gaps;
    TRY(spans_of_kinds(d->overview, KINDS_IDLE, d->arena, &gaps, error));
    return spans_common(host, &gaps, d->kept, idle_spans, error);
}

static enum sutra_status find_small_kernels_optimizer(struct diagnosis *d, struct sutra_error *error) {
    const struct host_rows *hosts = &d->model->hosts;
    const struct measures *measures = &d->measures;
    const struct launch_model *model = d->model;
    const struct strings *strings = model->strings;
    struct arena_mark mark = arena_mark(d->arena);
    uint8_t *marked = arena_alloc(d->arena, hosts->n, 1);
    enum { OTHER, ZERO_GRAD, STEP };
    uint8_t *kind_of_name = arena_alloc(d->arena, strings->n, 1);
    TRY(arena_status(d->arena, error));

    /* Mark the ranges of the optimizer. */
    bool any = false;
    for (uint32_t name = 0; name < strings->n; name++) {
        kind_of_name[name] = text_compare(strings, name, TEXT_BEGINS, "Optimizer.step")        ? STEP
                             : text_compare(strings, name, TEXT_BEGINS, "Optimizer.zero_grad") ? ZERO_GRAD
                                                                                               : OTHER;
        any |= kind_of_name[name] != OTHER;
    }
    if (!any)
        return SUTRA_OK;
    double optimizer_steps = 0;
    for (row_t row = 0; row < hosts->n; row++) {
        bool is_range = hosts->kind[row] != HOST_CALL && hosts->kind[row] != HOST_FRAME;
        marked[row] = is_range ? kind_of_name[host_name(model, row)] : OTHER;
        optimizer_steps += marked[row] == STEP;
    }
    double steps = d->overview->window.n_steps ? measures->n_steps : fmax(1, optimizer_steps);
    struct spans spans, idle_spans;
    TRY(make_host_spans(d->overview, marked, d->arena, &spans, error));
    row_t n_launched = 0;
    for (row_t k = 0; k < measures->n_launched; k++)
        n_launched += spans_contain(&spans, hosts->start[model->devices.call[measures->launched[k]]]);
    double kernels = n_launched / steps, host = (double)spans_length(&spans);
    TRY(find_idle_spans(d, &spans, &idle_spans, error));
    double idle = (double)spans_length(&idle_spans), idle_percent = percent_of_window(d, idle);
    bool is_many = kernels >= OPTIMIZER_KERNELS && idle_percent >= OPTIMIZER_IDLE_PERCENT;
    if (percent_of_window(d, host) < OPTIMIZER_HOST_PERCENT || !(is_many || idle_percent >= GROUPING_IDLE_PERCENT))
        return SUTRA_OK;
    uint32_t range = STRING_NONE, op = STRING_NONE;
    find_optimizer_names(d, kind_of_name, &range, &op);
    struct overview_finding *finding =
        add_finding(d, &rule_small_kernels_optimizer, &idle_spans,
                    "%.0f kernels per step take %s of CPU time, and the GPU idles %s of it.", kernels,
                    brief_time_text(host / measures->n_steps).text, brief_time_text(idle / measures->n_steps).text);
    is_many = kernels >= OPTIMIZER_KERNELS;
    finding->facts |= is_many ? FACT_MANY_KERNELS : 0;
    if (range != STRING_NONE)
        copy_unit_name(d, range, finding->where.frame);
    if (is_many || op == STRING_NONE) { /* the class: "SGD" of Optimizer.step#SGD */
        const char *sharp = strchr(finding->where.frame, '#');
        memcpy(finding->subject, finding->where.frame, sizeof finding->subject);
        if (sharp)
            snprintf(finding->subject, sizeof finding->subject, "%s", sharp + 1);
    } else {
        copy_finding_name(d, op, finding->subject, sizeof finding->subject);
    }
    if (is_many)
        set_finding_now(finding, "%s", mean_count_text(kernels).text);
    else
        set_finding_now(finding, "%s", brief_time_text(host / measures->n_steps).text);
    add_finding_number(finding, "kernels", kernels);
    add_finding_number(finding, "host_us", host / 1000 / measures->n_steps);
    add_finding_number(finding, "idle_us", idle / 1000 / measures->n_steps);
    arena_release(d->arena, mark);
    return SUTRA_OK;
}

#define OPTIMIZER_PAGE TORCH_DOCS "optim.html"

const struct finding_rule rule_small_kernels_optimizer = {
    .name = "small_kernels_optimizer",
    .title = "Unfused optimizer",
    .find = find_small_kernels_optimizer,
    .uses_launches = true,
    .part_of = &rule_host_bound,
    .cpu = CPU_IS_RELIEVED,
    .fix = "the optimizer were fused",
    .metric = "of CPU time in the optimizer per step",
    .after = "must fall",
    .remedies =
        {
            {.situation = "many_kernels",
             .needs = FACT_MANY_KERNELS,
             .lines = {{"Update all parameters together: %s(..., fused=True), or foreach=True.", "torch.optim",
                        OPTIMIZER_PAGE, 0},
                       {"Call zero_grad(set_to_none=True).", "torch.optim.Optimizer.zero_grad", OPTIMIZER_PAGE, 0}},
             .metric = "kernels per step",
             .after = "must fall below 20"},
            {.situation = "host_grouping",
             .lines = {{"The CPU groups tensors before few kernels (%s): use fused=True.", "torch.optim",
                        OPTIMIZER_PAGE, 0},
                       {"Or compile the update: torch.compile(optimizer.step) (PyTorch 2.2 or later).", "torch.compile",
                        "docs.pytorch.org/tutorials/recipes/compiling_optimizer.html", 0}}},
        },
};

/* ---- ddp_buffers: idle while buffers are broadcast before the forward pass >= BUFFERS_PERCENT. Saving: this time. */

#define BUFFERS_PERCENT 3

static enum sutra_status find_ddp_buffers(struct diagnosis *d, struct sutra_error *error) {
    const struct measures *measures = &d->measures;
    const struct host_rows *hosts = &d->model->hosts;
    const struct strings *strings = d->model->strings;
    uint32_t unflatten =
        strings_find(strings, "aten::unflatten_dense_tensors", strlen("aten::unflatten_dense_tensors"));
    if (unflatten == STRING_NONE)
        return SUTRA_OK;
    struct arena_mark mark = arena_mark(d->arena);
    uint8_t *marked = arena_alloc(d->arena, hosts->n, 1), *in_forward = arena_zeros(d->arena, hosts->n, 1);
    TRY(arena_status(d->arena, error));

    /* Mark unflattening in the forward pass of DistributedDataParallel. */
    for (row_t row = 0; row < hosts->n; row++) {
        uint32_t name = host_name(d->model, row);
        in_forward[row] =
            (hosts->parent[row] != ROW_NONE && in_forward[hosts->parent[row]]) ||
            (hosts->kind[row] != HOST_CALL && text_compare(strings, name, TEXT_HAS, "DistributedDataParallel.forward"));
        marked[row] = name == unflatten && in_forward[row];
    }
    struct spans spans, idle_spans;
    TRY(make_host_spans(d->overview, marked, d->arena, &spans, error));
    TRY(find_idle_spans(d, &spans, &idle_spans, error));
    arena_release(d->arena, mark);
    double idle = (double)spans_length(&idle_spans);
    if (percent_of_window(d, idle) < BUFFERS_PERCENT)
        return SUTRA_OK;
    struct overview_finding *finding =
        add_finding(d, &rule_ddp_buffers, &idle_spans,
                    "The GPU idles %s while DistributedDataParallel unpacks buffers before each forward pass.",
                    finding_per_step(d, idle).text);
    copy_finding_name(d, unflatten, finding->where.frame, sizeof finding->where.frame);
    set_finding_now(finding, "%s", brief_time_text(idle / measures->n_steps).text);
    add_finding_number(finding, "idle_us", idle / 1000 / measures->n_steps);
    return SUTRA_OK;
}

const struct finding_rule rule_ddp_buffers = {
    .name = "ddp_buffers",
    .title = "DDP buffer broadcast",
    .find = find_ddp_buffers,
    .fix = "buffers were not broadcast",
    .metric = "of idle time in buffer broadcasts per step",
    .after = "must go to 0",
    .remedies = {{.lines = {{"Set broadcast_buffers=False if ranks need not share buffers.",
                             "torch.nn.parallel.DistributedDataParallel", DDP_PAGE, 0}}}},
};

/* ---- sync: idle in synchronizing calls, and until the next launch after them >= SYNC_PERCENT, and at least half of
 * the host gaps. Saving: at most the time that neither the host nor the GPU needs. ---- */

#define SYNC_PERCENT   5
#define MAX_SYNC_DEPTH 100 /* ancestors that are inspected */

/* The caller of a synchronizing call: its outermost enclosing operator, and the Python function that encloses this. */
struct sync_caller {
    uint32_t op, frame;
};

static struct sync_caller sync_caller_of(const struct diagnosis *d, row_t call) {
    const struct host_rows *hosts = &d->model->hosts;
    struct sync_caller caller = {host_name(d->model, call), STRING_NONE};
    row_t row = hosts->parent[call];
    for (int i = 0; row != ROW_NONE && hosts->kind[row] == HOST_OPERATOR && i < MAX_SYNC_DEPTH; i++) {
        caller.op = host_name(d->model, row);
        row = hosts->parent[row];
    }
    for (int i = 0; row != ROW_NONE && hosts->kind[row] != HOST_FRAME && i < MAX_SYNC_DEPTH; i++)
        row = hosts->parent[row];
    if (row != ROW_NONE && hosts->kind[row] == HOST_FRAME)
        caller.frame = host_name(d->model, row);
    return caller;
}

/* Finds the caller with most idle time in and after its synchronizing calls, and the number of idle intervals that
 * follow these. */
static enum sutra_status find_main_sync_caller(const struct diagnosis *d, struct sync_caller *main_caller, row_t *n,
                                               struct sutra_error *error) {
    const struct overview *overview = d->overview;
    struct arena_mark mark = arena_mark(d->arena);
    int64_t *sums = arena_zeros(d->arena, d->model->strings->n, sizeof *sums), max_ticks = 0;
    row_t *counts = arena_zeros(d->arena, d->model->strings->n, sizeof *counts);
    TRY(arena_status(d->arena, error));
    *main_caller = (struct sync_caller){STRING_NONE, STRING_NONE};
    for (row_t i = 0; i < overview->n_rows; i++) {
        const struct overview_row *row = &overview->rows[i];
        if ((row->kind != OVERVIEW_SYNC && row->kind != OVERVIEW_AFTER_SYNC) || row->wait == ROW_NONE)
            continue;
        struct sync_caller caller = sync_caller_of(d, row->wait);
        counts[caller.op] += row->kind == OVERVIEW_AFTER_SYNC;
        sums[caller.op] += row->end - row->begin;
        if (sums[caller.op] > max_ticks) {
            max_ticks = sums[caller.op];
            *main_caller = caller;
        }
    }
    *n = main_caller->op == STRING_NONE ? 0 : counts[main_caller->op];
    arena_release(d->arena, mark);
    return SUTRA_OK;
}

/* The kind of wait, by the name of its operator or call. */
static uint32_t sync_facts(const struct diagnosis *d, uint32_t op) {
    static const struct {
        const char *word;
        uint32_t fact;
    } words[] = {{"item", FACT_ITEM},         {"_local_scalar_dense", FACT_ITEM}, {"is_nonzero", FACT_ITEM},
                 {"nonzero", FACT_NONZERO},   {"masked_select", FACT_NONZERO},    {"unique", FACT_NONZERO},
                 {"copy_", FACT_FROM_DEVICE}, {"Memcpy", FACT_FROM_DEVICE},       {"aten::to", FACT_FROM_DEVICE}};
    for (size_t i = 0; i < sizeof words / sizeof *words; i++)
        if (text_compare(d->model->strings, op, TEXT_HAS, words[i].word))
            return words[i].fact;
    return 0;
}

/* Idle time in and after synchronizing calls, without calls in which no recorded activity runs. */
static double sync_ticks(const struct diagnosis *d) {
    const int64_t *ticks = d->overview->ticks;
    return (double)(ticks[OVERVIEW_SYNC] + ticks[OVERVIEW_AFTER_SYNC] - d->unexplained_sync);
}

static enum sutra_status find_sync(struct diagnosis *d, struct sutra_error *error) {
    const struct overview *overview = d->overview;
    const struct measures *measures = &d->measures;
    double waits = sync_ticks(d);
    int64_t busy = overview_busy(overview), needed = MAX(measures->host_active, busy);
    struct sync_caller caller;
    row_t n;
    if (percent_of_window(d, waits) < SYNC_PERCENT ||
        (has_fired(d, &rule_host_bound) && (double)spans_length(&d->host) >= 2 * waits))
        return SUTRA_OK;
    const uint32_t kinds = KIND(OVERVIEW_SYNC) | KIND(OVERVIEW_AFTER_SYNC);
    struct spans spans;
    struct finding_where where;
    TRY(find_main_sync_caller(d, &caller, &n, error));
    if (caller.op == STRING_NONE)
        return SUTRA_OK;
    TRY(spans_of_kinds(overview, kinds, d->kept, &spans, error));
    TRY(find_host_places(d, kinds, NULL, &where, error));
    struct overview_finding *finding =
        add_finding(d, &rule_sync, &spans,
                    "The GPU idles %s because the CPU waits for it and launches new work only afterwards, mostly in %s",
                    finding_per_step(d, waits).text, finding_name(d, caller.op).text);
    if (n / measures->n_steps >= 1)
        append_finding_text(finding, ", %s", finding_count(d, n).text);
    append_finding_text(finding, ".");
    set_finding_saving(d, finding, fmax(0, fmin(waits, measures->window - (double)needed)));
    finding->where = where;
    finding->facts |= sync_facts(d, caller.op);
    copy_finding_name(d, caller.frame != STRING_NONE ? caller.frame : caller.op, finding->where.frame,
                      sizeof finding->where.frame);
    copy_finding_name(d, caller.op, finding->subject, sizeof finding->subject);
    double per_step = n / measures->n_steps;
    set_finding_now(finding, "%s", mean_count_text(per_step).text); /* 0.5, not 0 */
    add_finding_number(finding, "idle_us", waits / 1000 / measures->n_steps);
    add_finding_number(finding, "waits", per_step);
    add_finding_number(finding, "min_step_us", (double)needed / 1000 / measures->n_steps);
    return SUTRA_OK;
}

static struct suspect_percents measure_sync(const struct diagnosis *d) {
    return (struct suspect_percents){percent_of_window(d, (double)d->measures.blocking),
                                     percent_of_window(d, sync_ticks(d))};
}

const struct finding_rule rule_sync = {
    .name = "sync",
    .title = "Synchronization",
    .find = find_sync,
    .uses_launches = true,
    .cpu = CPU_STAYS_BUSY,
    .fix = "the CPU did not wait for the GPU",
    .metric = "waits per step",
    .after = "must fall",
    .remedies =
        {
            {.situation = "item",
             .needs = FACT_ITEM,
             .lines = {{"%s reads a value of the GPU: keep losses and conditions on the GPU, and read them every N "
                        "steps.",
                        "torch.Tensor.item", TUNING_PAGE, 0}}},
            {.situation = "nonzero",
             .needs = FACT_NONZERO,
             .lines = {{"%s needs a size from the GPU: use torch.where with a fixed shape, or masks.", "torch.where",
                        TUNING_PAGE, 0}}},
            {.situation = "copy",
             .needs = FACT_FROM_DEVICE,
             .lines = {{"Copy results to pinned memory with non_blocking=True, and read them later (%s).",
                        "torch.Tensor.to", PINNED_PAGE, 0}}},
            {.situation = "call",
             .lines = {{"Remove %s from the step, or read results later or less often.", "torch.cuda.synchronize",
                        TUNING_PAGE, 0}}},
        },
    .suspect = {.name = "sync",
                .text = "sync (CPU %.0f%% in synchronizing calls, the GPU idles %.1f%% there)",
                .min_apparent = 20,
                .measure = measure_sync,
                .position = 1},
};

/* ---- allocation: set-up that recurs in every step >= ALLOCATION_PERCENT. Saving: this time. ---- */

#define ALLOCATION_PERCENT 5

static enum sutra_status find_allocation(struct diagnosis *d, struct sutra_error *error) {
    const struct measures *measures = &d->measures;
    double ticks = (double)set_up_ticks(d->overview);
    uint32_t name;
    int64_t max_ticks;
    struct spans spans;
    if (percent_of_window(d, ticks) < ALLOCATION_PERCENT || !set_up_recurs(d->overview))
        return SUTRA_OK;
    TRY(find_main_frame(d, KINDS_SET_UP, &name, &max_ticks, error));
    TRY(spans_of_kinds(d->overview, KINDS_SET_UP, d->kept, &spans, error));
    struct overview_finding *finding =
        add_finding(d, &rule_allocation, &spans, "The GPU idles %s in memory allocation or module loading%s%s.",
                    finding_per_step(d, ticks).text, name == STRING_NONE ? "" : ", mostly in ",
                    name == STRING_NONE ? "" : finding_name(d, name).text);
    copy_finding_name(d, name, finding->where.frame, sizeof finding->where.frame);
    set_finding_now(finding, "%s", brief_time_text(ticks / measures->n_steps).text);
    add_finding_number(finding, "idle_us", ticks / 1000 / measures->n_steps);
    return SUTRA_OK;
}

#define MEMORY_PAGE TORCH_DOCS "notes/cuda.html"
#define KEEP_CACHE                                                                                                     \
    {                                                                                                                  \
        "Keep memory in the caching allocator: no empty_cache() in the step, and constant shapes.",                    \
            "torch.cuda.empty_cache", MEMORY_PAGE, 0                                                                   \
    }

const struct finding_rule rule_allocation = {
    .name = "allocation",
    .title = "Memory allocation in every step",
    .find = find_allocation,
    .uses_launches = true,
    .cpu = CPU_IS_RELIEVED,
    .fix = "memory stayed allocated",
    .metric = "of idle time in setup per step",
    .after = "must go to 0",
    .remedies =
        {
            {.situation = "other_device",
             .needs = FACT_OTHER_DEVICE,
             .lines = {{"Keep allocations of a step: use constant shapes, so that the caching allocator returns the "
                        "same blocks.",
                        NULL, NULL, 0}},
             .metric = "calls per step"},
            {.situation = "hip", .needs = FACT_HIP, .lines = {KEEP_CACHE}},
            {.situation = "cuda",
             .lines = {KEEP_CACHE,
                       {"Against fragmentation set PYTORCH_CUDA_ALLOC_CONF=expandable_segments:True.",
                        "PYTORCH_CUDA_ALLOC_CONF", MEMORY_PAGE, 0}}},
        },
};
