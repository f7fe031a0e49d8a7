/*
 * rules_cpu.c - findings about idle time that the host causes: data loading, CPU work, launches, synchronization.
 *
 * Each section is a rule: the condition under which it fires, and its saving.
 */
#include "analyze/overview/findings.h"

#include <stdio.h>
#include <stdlib.h>

#include "base/error.h"
#include "base/shared.h"
#include "text/names.h"

static void add_frames_note(const struct diagnosis *d, struct overview_finding *finding) {
    if (d->measures.has_frames)
        append_finding_text(finding, " (with_stack inflates CPU times.)");
}

/* ---- data_loading: idle in DataLoader ranges >= LOADING_PERCENT. Saving: this time. ---- */

#define LOADING_PERCENT 5

/* Whether the name of a DataLoader range contains a word. */
static bool has_loader(const struct diagnosis *d, const char *word) {
    const struct host_rows *hosts = &d->model->hosts;
    for (row_t row = 0; row < hosts->n; row++)
        if (hosts->kind[row] != HOST_CALL && overview_name(d->overview, row) & NAME_LOADS_BATCH &&
            text_compare(d->model->strings, host_name(d->model, row), TEXT_HAS, word))
            return true;
    return false;
}

enum sutra_status rule_data_loading(struct diagnosis *d, struct sutra_error *error) {
    const struct measures *measures = &d->measures;
    const struct overview *overview = d->overview;
    int64_t ticks = 0, busy = overview_busy(overview), max_ticks;
    row_t first_gap = ROW_NONE;
    uint32_t name;

    /* Without steps, skip the first batch, for which workers are started. */
    for (row_t i = 0; i < overview->n_rows; i++) {
        const struct overview_row *row = &overview->rows[i];
        if (row->kind != OVERVIEW_LOADING)
            continue;
        first_gap = first_gap == ROW_NONE ? row->gap : first_gap;
        ticks += overview->window.n_steps || row->gap != first_gap ? row->end - row->begin : 0;
    }
    if (percent_of_window(d, (double)ticks) < LOADING_PERCENT)
        return SUTRA_OK;
    enum sutra_status status = find_main_frame(d, KIND(OVERVIEW_LOADING), &name, &max_ticks, error);
    if (status)
        return status;
    bool workers = has_loader(d, "_MultiProcessing"), inline_loader = !workers && has_loader(d, "_SingleProcess");
    double floor = (double)MAX(measures->host_active, busy) / measures->n_steps;
    struct overview_finding *finding = add_finding(
        d, FINDING_DATA_LOADING, (double)ticks, "Data loading: the GPU idles %s (%s) waiting for the DataLoader",
        finding_per_step(d, (double)ticks).text, finding_percent((double)ticks, measures->window).text);
    if (name != STRING_NONE && !text_compare(d->model->strings, name, TEXT_HAS, "DataLoader"))
        append_finding_text(finding, ", mostly in %s", finding_name(d, name).text);
    append_finding_text(
        finding, ". %s. Lower bound without the wait: %s %s.",
        workers ? "The workers are too slow: raise num_workers or prefetch_factor, or simplify the transforms"
        : inline_loader
            ? "Batches are loaded in the training process: set num_workers >= 4, pin_memory and persistent_workers"
            : "Load batches in worker processes, in parallel with the step",
        finding_time(floor).text, d->overview->window.n_steps ? "per step" : "in total");
    add_finding_number(finding, "idle_us", (double)ticks / 1000 / measures->n_steps);
    add_finding_number(finding, "min_step_us", floor / 1000);
    return SUTRA_OK;
}

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
    if (d->overview->window.n_steps == 0 && gap->begin == d->overview->window.from)
        return 0; /* without steps, the cause of the time before the first activity is unknown */
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
    struct bisection next = {0, measures->n_launched};
    while (next.low < next.high)
        bisect(&next, model->hosts.start[model->devices.call[measures->launched[bisect_middle(next)]]] < gap->begin);
    bool has_launch = next.low < measures->n_launched &&
                      model->hosts.start[model->devices.call[measures->launched[next.low]]] < launch;
    return has_launch ? 0 : host;
}

/* "59.3 ms of each 175 ms step"; of all steps if some steps have no such gap. */
static struct figure time_of_gaps(const struct diagnosis *d, double ticks, row_t n_gaps) {
    double n_steps = d->measures.n_steps;
    struct figure figure;
    if (n_gaps >= n_steps)
        return finding_per_step(d, ticks);
    snprintf(figure.text, sizeof figure.text, "%.40s of the %.40s of %.0f steps", finding_time(ticks).text,
             finding_time(d->measures.window).text, n_steps);
    return figure;
}

enum sutra_status rule_cpu_preprocessing(struct diagnosis *d, struct sutra_error *error) {
    const struct overview *overview = d->overview;
    const struct measures *measures = &d->measures;
    int64_t sum = 0, max_ticks = 0;
    row_t n = 0, frame = ROW_NONE;
    (void)error;
    for (row_t i = 0; i < overview->n_gaps; i++) {
        row_t longest;
        int64_t host = long_gap_ticks(d, &overview->gaps[i], &longest);
        if (host == 0)
            continue;
        sum += host;
        n++;
        if (host > max_ticks) {
            max_ticks = host;
            frame = overview->rows[longest].frame;
        }
    }
    if (percent_of_window(d, (double)sum) < PREPROCESSING_PERCENT)
        return SUTRA_OK;
    d->preprocessing = sum;
    struct overview_finding *finding =
        add_finding(d, FINDING_CPU_PREPROCESSING, (double)sum, "CPU work without launches: the GPU idles %s (%s) in %s",
                    time_of_gaps(d, (double)sum, n).text, finding_percent((double)sum, measures->window).text,
                    counted_text(n, "gap", "gaps").text);
    if (n > 1)
        append_finding_text(finding, ", longest %s", finding_time((double)max_ticks).text);
    if (frame != ROW_NONE)
        append_finding_text(finding, ", in %s. Move this work to worker processes or to the GPU, or do it once.",
                            finding_name(d, host_name(d->model, frame)).text);
    else
        append_finding_text(finding,
                            ". The trace does not record the code: profile with with_stack=True, then move the work to "
                            "worker processes or to the GPU, or do it once.");
    add_frames_note(d, finding);
    add_finding_number(finding, "gaps", n);
    add_finding_number(finding, "idle_us", (double)sum / 1000 / measures->n_steps);
    add_finding_number(finding, "longest_us", (double)max_ticks / 1000);
    return SUTRA_OK;
}

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
    if (d->arena->failed)
        return error_memory(error);
    for (row_t i = 0; i < devices->n; i++)
        if (d->overview->classes[i] == OVERVIEW_COMPUTE && devices->start[i] >= window->from &&
            devices->start[i] < window->to)
            keys[n++] = (uint64_t)(devices->stop[i] - devices->start[i]);
    enum sutra_status status = median_of_keys(keys, rows, n, median, error);
    arena_release(d->arena, mark);
    return status;
}

enum sutra_status rule_host_bound(struct diagnosis *d, struct sutra_error *error) {
    const struct measures *measures = &d->measures;
    int64_t ticks = host_gap_ticks(d), median;
    bool runs_empty = (double)measures->n_empty * 100 >= (double)measures->n_launches * EMPTY_PERCENT;
    bool always_active = percent_of_window(d, (double)measures->host_active) >= HOST_ACTIVE_PERCENT;
    if (d->host_suppressed || measures->n_launches < MIN_LAUNCHES ||
        percent_of_window(d, (double)ticks) < HOST_PERCENT || !(runs_empty || always_active) ||
        2 * (uint64_t)measures->n_graph >= measures->n_kernels)
        return SUTRA_OK;
    enum sutra_status status = median_kernel(d, &median, error);
    if (status)
        return status;
    double busy = (double)overview_busy(d->overview);
    struct overview_finding *finding = add_finding(
        d, FINDING_HOST_BOUND, (double)ticks,
        "Launch-bound: the GPU idles %s (%s) waiting for kernel launches. Use CUDA graphs (torch.compile with "
        "mode=\"reduce-overhead\") or larger batches. GPU busy %s; queue empty at %s of %s; one launch per %s, median "
        "kernel %s.",
        finding_per_step(d, (double)ticks).text, finding_percent((double)ticks, measures->window).text,
        finding_percent(busy, measures->window).text, finding_percent(measures->n_empty, measures->n_launches).text,
        counted_text(measures->n_launches, "launch", "launches").text,
        finding_time(measures->window / measures->n_launches).text, finding_time((double)median).text);
    add_frames_note(d, finding);
    add_finding_number(finding, "idle_us", (double)ticks / 1000 / measures->n_steps);
    add_finding_number(finding, "busy_percent", busy / measures->window * 100);
    add_finding_number(finding, "launches", measures->n_launches / measures->n_steps);
    add_finding_number(finding, "queue_empty_percent", (double)measures->n_empty / measures->n_launches * 100);
    add_finding_number(finding, "launch_interval_us", measures->window / measures->n_launches / 1000);
    add_finding_number(finding, "median_kernel_us", (double)median / 1000);
    return SUTRA_OK;
}

/* ---- small_kernels_optimizer: >= OPTIMIZER_KERNELS per step, their host time >= OPTIMIZER_HOST_PERCENT, idle in it >=
 * OPTIMIZER_IDLE_PERCENT. Saving: this idle time. If the rule host_bound fired: all of this host time for which the GPU
 * waits, as the queue runs empty only later. ---- */

#define OPTIMIZER_KERNELS      200
#define OPTIMIZER_HOST_PERCENT 5
#define OPTIMIZER_IDLE_PERCENT 3

enum sutra_status rule_small_kernels_optimizer(struct diagnosis *d, struct sutra_error *error) {
    const struct host_rows *hosts = &d->model->hosts;
    const struct measures *measures = &d->measures;
    const struct launch_model *model = d->model;
    const struct strings *strings = model->strings;
    struct arena_mark mark = arena_mark(d->arena);
    uint8_t *marked = arena_alloc(d->arena, hosts->n, 1);
    enum { OTHER, ZERO_GRAD, STEP };
    uint8_t *kind_of_name = arena_alloc(d->arena, strings->n, 1);
    if (d->arena->failed)
        return error_memory(error);

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
    struct spans spans;
    enum sutra_status status = make_host_spans(d->overview, marked, d->arena, &spans, error);
    if (status)
        return status;
    row_t n_launched = 0;
    for (row_t k = 0; k < measures->n_launched; k++)
        n_launched += spans_contain(&spans, hosts->start[model->devices.call[measures->launched[k]]]);
    double kernels = n_launched / steps, host = (double)spans_length(&spans);
    double idle = (double)kind_clock_in(&measures->idle, &spans);
    double saving = d->fired[FINDING_HOST_BOUND] ? fmax(idle, fmin(host, (double)host_gap_ticks(d))) : idle;
    arena_release(d->arena, mark);
    if (kernels < OPTIMIZER_KERNELS || percent_of_window(d, host) < OPTIMIZER_HOST_PERCENT ||
        percent_of_window(d, idle) < OPTIMIZER_IDLE_PERCENT)
        return SUTRA_OK;
    struct overview_finding *finding =
        add_finding(d, FINDING_SMALL_KERNELS_OPTIMIZER, saving,
                    "Unfused optimizer: %.0f kernels per step take %s of CPU time, and the GPU idles %s of it. "
                    "Use fused=True or foreach=True, and zero_grad(set_to_none=True).",
                    kernels, finding_per_step(d, host).text, finding_time(idle / measures->n_steps).text);
    add_finding_number(finding, "kernels", kernels);
    add_finding_number(finding, "host_us", host / 1000 / measures->n_steps);
    add_finding_number(finding, "idle_us", idle / 1000 / measures->n_steps);
    return SUTRA_OK;
}

/* ---- ddp_buffers: idle while buffers are broadcast before the forward pass >= BUFFERS_PERCENT. Saving: this time. */

#define BUFFERS_PERCENT 3

enum sutra_status rule_ddp_buffers(struct diagnosis *d, struct sutra_error *error) {
    const struct measures *measures = &d->measures;
    const struct host_rows *hosts = &d->model->hosts;
    const struct strings *strings = d->model->strings;
    uint32_t unflatten =
        strings_find(strings, "aten::unflatten_dense_tensors", strlen("aten::unflatten_dense_tensors"));
    if (unflatten == STRING_NONE)
        return SUTRA_OK;
    struct arena_mark mark = arena_mark(d->arena);
    uint8_t *marked = arena_alloc(d->arena, hosts->n, 1), *in_forward = arena_zeros(d->arena, hosts->n, 1);
    if (d->arena->failed)
        return error_memory(error);

    /* Mark unflattening in the forward pass of DistributedDataParallel. */
    for (row_t row = 0; row < hosts->n; row++) {
        uint32_t name = host_name(d->model, row);
        in_forward[row] =
            (hosts->parent[row] != ROW_NONE && in_forward[hosts->parent[row]]) ||
            (hosts->kind[row] != HOST_CALL && text_compare(strings, name, TEXT_HAS, "DistributedDataParallel.forward"));
        marked[row] = name == unflatten && in_forward[row];
    }
    struct spans spans;
    enum sutra_status status = make_host_spans(d->overview, marked, d->arena, &spans, error);
    if (status)
        return status;
    double idle = (double)kind_clock_in(&measures->idle, &spans);
    arena_release(d->arena, mark);
    if (percent_of_window(d, idle) < BUFFERS_PERCENT)
        return SUTRA_OK;
    struct overview_finding *finding = add_finding(
        d, FINDING_DDP_BUFFERS, idle,
        "DDP buffer broadcast: the GPU idles %s (%s) while DistributedDataParallel unpacks buffers before each "
        "forward pass. Set broadcast_buffers=False if ranks need not share buffers.",
        finding_per_step(d, idle).text, finding_percent(idle, measures->window).text);
    add_finding_number(finding, "idle_us", idle / 1000 / measures->n_steps);
    return SUTRA_OK;
}

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
    if (d->arena->failed)
        return error_memory(error);
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

enum sutra_status rule_sync(struct diagnosis *d, struct sutra_error *error) {
    const struct overview *overview = d->overview;
    const struct measures *measures = &d->measures;
    double waits =
        (double)(overview->ticks[OVERVIEW_SYNC] + overview->ticks[OVERVIEW_AFTER_SYNC] - d->unexplained_sync);
    int64_t busy = overview_busy(overview), needed = MAX(measures->host_active, busy);
    struct sync_caller caller;
    row_t n;
    if (percent_of_window(d, waits) < SYNC_PERCENT ||
        (d->fired[FINDING_HOST_BOUND] && (double)host_gap_ticks(d) >= 2 * waits))
        return SUTRA_OK;
    enum sutra_status status = find_main_sync_caller(d, &caller, &n, error);
    if (status || caller.op == STRING_NONE)
        return status;
    double saving = fmax(0, fmin(waits, measures->window - (double)needed));
    struct overview_finding *finding = add_finding(
        d, FINDING_SYNC, saving,
        "Synchronization: the GPU idles %s (%s) because the CPU waits for it and launches new work only afterwards, "
        "mostly in %s",
        finding_per_step(d, waits).text, finding_percent(waits, measures->window).text,
        finding_name(d, caller.op).text);
    if (caller.frame != STRING_NONE)
        append_finding_text(finding, " in %s", finding_name(d, caller.frame).text);
    if (n / measures->n_steps >= 1)
        append_finding_text(finding, ", %s", finding_count(d, n).text);
    append_finding_text(finding,
                        ". Read results later or less often: keep losses and conditions on the GPU, and copy with "
                        "non_blocking=True from and to pinned memory.");
    add_finding_number(finding, "idle_us", waits / 1000 / measures->n_steps);
    add_finding_number(finding, "waits", n / measures->n_steps);
    add_finding_number(finding, "min_step_us", (double)needed / 1000 / measures->n_steps);
    return SUTRA_OK;
}

/* ---- allocation: set-up that recurs in every step >= ALLOCATION_PERCENT. Saving: this time. ---- */

#define ALLOCATION_PERCENT 5

enum sutra_status rule_allocation(struct diagnosis *d, struct sutra_error *error) {
    const struct measures *measures = &d->measures;
    double ticks = (double)(d->overview->ticks[OVERVIEW_SET_UP] + d->overview->ticks[OVERVIEW_SLOW_LAUNCH]);
    uint32_t name;
    int64_t max_ticks;
    if (percent_of_window(d, ticks) < ALLOCATION_PERCENT || !set_up_recurs(d->overview))
        return SUTRA_OK;
    enum sutra_status status =
        find_main_frame(d, KIND(OVERVIEW_SET_UP) | KIND(OVERVIEW_SLOW_LAUNCH), &name, &max_ticks, error);
    if (status)
        return status;
    struct overview_finding *finding =
        add_finding(d, FINDING_ALLOCATION, ticks,
                    "Memory allocation in every step: the GPU idles %s (%s) in memory allocation or module loading",
                    finding_per_step(d, ticks).text, finding_percent(ticks, measures->window).text);
    if (name != STRING_NONE)
        append_finding_text(finding, ", mostly in %s", finding_name(d, name).text);
    append_finding_text(finding, ". Use the caching allocator (no empty_cache(), "
                                 "PYTORCH_CUDA_ALLOC_CONF=expandable_segments:True) and constant shapes.");
    add_finding_number(finding, "idle_us", ticks / 1000 / measures->n_steps);
    return SUTRA_OK;
}
