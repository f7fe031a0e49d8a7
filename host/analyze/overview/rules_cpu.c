/*
 * rules_cpu.c - findings about idle time that certain calls of the host cause: data loading, the optimizer, buffers of
 * DistributedDataParallel, synchronization, memory allocation. Idle time of the host itself: rules_host.c.
 *
 * Each section is a rule: the condition under which it fires, and its saving.
 */
#include "analyze/overview/findings.h"

#include <stdio.h>
#include <string.h>

#include "analyze/launches/arguments.h"
#include "base/error.h"
#include "base/shared.h"

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

#define KINDS_SYNC (KIND(OVERVIEW_SYNC) | KIND(OVERVIEW_AFTER_SYNC))

/* Idle time in and after synchronizing calls, without first calls and calls in which no recorded activity runs. */
static double sync_ticks(const struct diagnosis *d) {
    const struct overview *overview = d->overview;
    int64_t sum = 0;
    for (row_t i = 0; i < overview->n_rows; i++) {
        const struct overview_row *row = &overview->rows[i];
        if (KINDS_SYNC >> row->kind & 1 && !spans_contain(&d->first_calls, row->begin))
            sum += row->end - row->begin;
    }
    return (double)(sum - d->unexplained_sync);
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
    struct spans all, spans;
    struct finding_where where = {.n_units = 0};
    TRY(find_main_sync_caller(d, &caller, &n, error));
    if (caller.op == STRING_NONE)
        return SUTRA_OK;
    TRY(spans_of_kinds(overview, KINDS_SYNC, d->kept, &all, error));
    TRY(spans_without(&all, &d->first_calls, d->kept, &spans, error));
    TRY(find_host_places(d, KINDS_SYNC, &spans, &where, error));
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
                        NULL, NULL, 0}}},
            {.situation = "hip", .needs = FACT_HIP, .lines = {KEEP_CACHE}},
            {.situation = "cuda",
             .lines = {KEEP_CACHE,
                       {"Against fragmentation set PYTORCH_CUDA_ALLOC_CONF=expandable_segments:True.",
                        "PYTORCH_CUDA_ALLOC_CONF", MEMORY_PAGE, 0}}},
        },
};

/* ---- eval_mode_missing: inference with batch norm in training mode. In training mode a module adds 1 to the counter
 * num_batches_tracked, an integer, right before each aten::batch_norm. No saving. ---- */

/* Whether a kernel of batch norm in training mode runs. */
static bool has_training_kernels(const struct diagnosis *d) {
    static const char *const words[] = {"bn_fw_tr", "batch_norm_collect_statistics", "BatchNormFwdTrain"};
    for (uint32_t name = 0; name < d->model->strings->n && d->measures.of_kernel; name++)
        for (size_t i = 0; i < sizeof words / sizeof *words && d->measures.of_kernel[name] > 0; i++)
            if (text_compare(d->model->strings, name, TEXT_HAS, words[i]))
                return true;
    return false;
}

/* Counts the batch norms outside of operators, and lists the additions that directly precede one on its thread. */
static void count_batch_norms(const struct diagnosis *d, row_t *n, row_t *additions, row_t *n_additions) {
    const struct host_rows *hosts = &d->model->hosts;
    const struct strings *strings = d->model->strings;
    const uint32_t norm = strings_find(strings, "aten::batch_norm", strlen("aten::batch_norm"));
    row_t last = ROW_NONE; /* the last operator outside of operators of this thread */
    *n = *n_additions = 0;
    for (row_t row = 0; row < hosts->n && norm != STRING_NONE; row++) {
        if (hosts->kind[row] != HOST_OPERATOR || hosts->around[row] != ROW_NONE)
            continue;
        if (host_name(d->model, row) == norm) {
            (*n)++;
            if (last != ROW_NONE && hosts->thread[last] == hosts->thread[row] &&
                text_compare(strings, host_name(d->model, last), TEXT_BEGINS, "aten::add"))
                additions[(*n_additions)++] = last;
        }
        last = row;
    }
}

enum sutra_status find_eval_mode_missing(struct diagnosis *d, struct sutra_error *error) {
    const struct host_rows *hosts = &d->model->hosts;
    struct arena_mark mark = arena_mark(d->arena);
    row_t *additions = arena_alloc(d->arena, hosts->n, sizeof *additions), n, n_additions;
    struct op_arguments arguments = {0};
    TRY_ALLOC(additions, error);
    count_batch_norms(d, &n, additions, &n_additions);
    if (d->facts & (FACT_BACKWARD | FACT_OPTIMIZER) || n == 0 || 2 * (uint64_t)n_additions <= n) {
        arena_release(d->arena, mark);
        return SUTRA_OK;
    }

    /* Without types, kernels decide: the sum of a residual connection may precede a batch norm, too. */
    const bool trains = has_training_kernels(d);
    enum sutra_status status =
        op_arguments_read(d->context, d->model, additions, n_additions, d->arena, &arguments, error);
    row_t n_integers = 0;
    for (row_t i = 0; i < n_additions && !status; i++) {
        const char *types = strings_text(&arguments.texts, op_argument_text(&arguments, ARGUMENT_TYPES, i));
        n_integers += *types ? strstr(types, "long") != NULL : trains;
    }
    op_arguments_free(&arguments);
    arena_release(d->arena, mark);
    if (status || 2 * (uint64_t)n_integers <= n)
        return status;
    struct overview_finding *finding =
        add_finding(d, &rule_eval_mode_missing, NULL,
                    "%s of %s update num_batches_tracked, as in training, and the trace has no backward pass.",
                    count_text(n_integers).text, counted_text(n, "batch norm", "batch norms").text);
    set_finding_now(finding, "%s", count_text(n_integers).text);
    add_finding_number(finding, "batch_norms", n);
    add_finding_number(finding, "in_training_mode", n_integers);
    return SUTRA_OK;
}

const struct finding_rule rule_eval_mode_missing = {
    .name = "eval_mode_missing",
    .title = "Inference in training mode",
    .find = find_eval_mode_missing,
    .position = 3,
    .metric = "batch norms in training mode",
    .after = "must go to 0",
    .remedies = {{.lines = {{"Call model.eval() before inference, and use torch.inference_mode().",
                             "torch.nn.Module.eval", TORCH_DOCS "generated/torch.nn.Module.html", 0}}}},
};
