/*
 * rules_cpu.c - what the host leaves the device waiting for: data, work of its own, launches, synchronisation.
 */
#include "analyze/overview/findings.h"

#include <stdio.h>
#include <stdlib.h>

#include "base/error.h"
#include "base/shared.h"
#include "match/steps.h"
#include "text/names.h"

static void add_frames_note(const struct findings_work *work, struct overview_finding *finding) {
    if (work->measures.has_frames)
        finding_add(finding, " (with_stack inflates CPU times.)");
}

/* ---- data_loading: idle inside of a data loader's ranges >= LOADING_PERCENT. Win: that. ---- */

#define LOADING_PERCENT 5

/* Whether ranges of loading have a name that contains a word. */
static bool loads_by(const struct findings_work *work, const char *word) {
    const struct host_rows *hosts = &work->reading->hosts;
    for (row_t row = 0; row < hosts->n; row++)
        if (hosts->kind[row] != HOST_CALL && overview_name(work->overview, row) & NAME_LOADS_BATCH &&
            text_compare(work->reading->strings, host_name(work->reading, row), TEXT_HAS, word))
            return true;
    return false;
}

/* Without steps, the first batch is left out: workers are started for it. */
static int64_t loading_ticks(const struct overview *overview) {
    row_t first = ROW_NONE;
    int64_t sum = 0;
    for (row_t i = 0; i < overview->n_rows; i++) {
        const struct overview_row *row = &overview->rows[i];
        if (row->kind != OVERVIEW_LOADING)
            continue;
        first = first == ROW_NONE ? row->gap : first;
        sum += overview->window.n_steps || row->gap != first ? row->end - row->begin : 0;
    }
    return sum;
}

enum sutra_status rule_data_loading(struct findings_work *work, struct sutra_error *error) {
    const struct measures *measures = &work->measures;
    int64_t ticks = loading_ticks(work->overview), busy = overview_busy(work->overview), most;
    uint32_t name;
    if (part_of_window(work, (double)ticks) < LOADING_PERCENT)
        return SUTRA_OK;
    enum sutra_status status = finding_frame(work, KIND(OVERVIEW_LOADING), &name, &most, error);
    if (status)
        return status;
    bool many = loads_by(work, "_MultiProcessing"), own = !many && loads_by(work, "_SingleProcess");
    double floor = (double)(measures->host_active > busy ? measures->host_active : busy) / measures->n_steps;
    struct overview_finding *finding = finding_say(
        work, FINDING_DATA_LOADING, (double)ticks, "Data loading: the GPU idles %s (%s) waiting for the DataLoader",
        finding_per_step(work, (double)ticks).text, finding_percent((double)ticks, measures->window).text);
    if (name != STRING_NONE && !text_compare(work->reading->strings, name, TEXT_HAS, "DataLoader"))
        finding_add(finding, ", mostly in %s", finding_name(work, name).text);
    finding_add(
        finding, ". %s. Lower bound without the wait: %s %s.",
        many  ? "The workers are too slow: raise num_workers or prefetch_factor, or simplify the transforms"
        : own ? "Batches are loaded in the training process: set num_workers >= 4, pin_memory and persistent_workers"
              : "Load batches in worker processes, in parallel with the step",
        finding_time(floor).text, work->overview->window.n_steps ? "per step" : "in total");
    finding_number(finding, "idle_us", (double)ticks / 1000 / measures->n_steps);
    finding_number(finding, "min_step_us", floor / 1000);
    return SUTRA_OK;
}

/* ---- cpu_preprocessing: few long gaps of the host. Win: their sum. ---- */

#define LONG_GAP_NS           5000000
#define LONG_GAP_PERCENT      10
#define LONG_GAP_HOST_PERCENT 80
#define PREPROCESSING_PERCENT 10

/* Whether no work was launched between two moments. */
static bool no_launch_within(const struct findings_work *work, int64_t from, int64_t to) {
    const struct measures *measures = &work->measures;
    const row_t *call = work->reading->devices.call;
    struct bisection at = {0, measures->n_launched};
    while (at.low < at.high)
        bisect(&at, work->reading->hosts.start[call[measures->launched[bisect_middle(at)]]] < from);
    return at.low == measures->n_launched || work->reading->hosts.start[call[measures->launched[at.low]]] >= to;
}

/* The host's part of a gap, if it is such a gap; 0. */
static int64_t long_gap(const struct findings_work *work, const struct overview_gap *gap, row_t *longest) {
    const struct overview_row *rows = work->overview->rows;
    int64_t host = 0, called = gap->begin;
    if (gap->end - gap->begin < LONG_GAP_NS ||
        part_of_window(work, (double)(gap->end - gap->begin)) < LONG_GAP_PERCENT || gap->device == ROW_NONE)
        return 0;
    if (work->overview->window.n_steps == 0 && gap->begin == work->overview->window.from)
        return 0; /* before the first work of a trace without steps, who knows what that is */
    *longest = ROW_NONE;
    for (row_t i = gap->first; i < gap->last; i++) {
        if (rows[i].kind != OVERVIEW_HOST)
            continue;
        host += rows[i].end - rows[i].begin;
        called = rows[i].end;
        if (*longest == ROW_NONE || rows[i].end - rows[i].begin > rows[*longest].end - rows[*longest].begin)
            *longest = i;
    }
    bool mostly = (double)host * 100 >= (double)(gap->end - gap->begin) * LONG_GAP_HOST_PERCENT;
    return mostly && no_launch_within(work, gap->begin, called) ? host : 0;
}

/* "59.3 ms of each 175 ms step"; of gaps that not all steps have, of all steps. */
static struct figure time_of_gaps(const struct findings_work *work, double ticks, row_t n_gaps) {
    double n_steps = work->measures.n_steps;
    struct figure figure;
    if (n_gaps >= n_steps)
        return finding_per_step(work, ticks);
    snprintf(figure.text, sizeof figure.text, "%.40s of the %.40s of %.0f steps", finding_time(ticks).text,
             finding_time(work->measures.window).text, n_steps);
    return figure;
}

enum sutra_status rule_cpu_preprocessing(struct findings_work *work, struct sutra_error *error) {
    const struct overview *overview = work->overview;
    const struct measures *measures = &work->measures;
    int64_t sum = 0, most = 0;
    row_t n = 0, frame = ROW_NONE;
    (void)error;
    for (row_t i = 0; i < overview->n_gaps; i++) {
        row_t longest;
        int64_t host = long_gap(work, &overview->gaps[i], &longest);
        if (host == 0)
            continue;
        sum += host;
        n++;
        if (host > most) {
            most = host;
            frame = overview->rows[longest].frame;
        }
    }
    if (part_of_window(work, (double)sum) < PREPROCESSING_PERCENT)
        return SUTRA_OK;
    work->preprocessing = sum;
    struct overview_finding *finding =
        finding_say(work, FINDING_CPU_PREPROCESSING, (double)sum,
                    "CPU work without launches: the GPU idles %s (%s) in %s", time_of_gaps(work, (double)sum, n).text,
                    finding_percent((double)sum, measures->window).text, counted_text(n, "gap", "gaps").text);
    if (n > 1)
        finding_add(finding, ", longest %s", finding_time((double)most).text);
    if (frame != ROW_NONE)
        finding_add(finding, ", in %s. Move this work to worker processes or to the GPU, or do it once.",
                    finding_name(work, host_name(work->reading, frame)).text);
    else
        finding_add(finding,
                    ". The trace does not record the code: profile with with_stack=True, then move the work to "
                    "worker processes or to the GPU, or do it once.");
    add_frames_note(work, finding);
    finding_number(finding, "gaps", n);
    finding_number(finding, "idle_us", (double)sum / 1000 / measures->n_steps);
    finding_number(finding, "longest_us", (double)most / 1000);
    return SUTRA_OK;
}

/* ---- host_bound: gaps of the host and launching >= HOST_PERCENT, and the queue runs empty or the host never rests;
 * not where graphs launch most. Win: the gaps. ---- */

#define HOST_PERCENT        10
#define EMPTY_PERCENT       30
#define HOST_ACTIVE_PERCENT 95
#define LEAST_LAUNCHES      10 /* fewer are no training */

static int64_t host_ticks(const struct findings_work *work) {
    return work->overview->ticks[OVERVIEW_HOST] + work->overview->ticks[OVERVIEW_LAUNCH] - work->preprocessing;
}

/* The middle one of the durations of kernels that were launched in the window. */
static enum sutra_status median_kernel(const struct findings_work *work, int64_t *median, struct sutra_error *error) {
    const struct device_rows *devices = &work->reading->devices;
    const struct overview_window *window = &work->overview->window;
    struct arena_mark mark = arena_mark(work->arena);
    uint64_t *keys = arena_take(work->arena, devices->n, sizeof *keys);
    row_t *rows = arena_take(work->arena, devices->n, sizeof *rows), n = 0;
    enum sutra_status status = arena_status(work->arena, error);
    for (row_t i = 0; i < devices->n && !status; i++)
        if (work->overview->classes[i] == OVERVIEW_COMPUTE && devices->start[i] >= window->from &&
            devices->start[i] < window->to) {
            keys[n] = (uint64_t)(devices->stop[i] - devices->start[i]);
            rows[n++] = i;
        }
    if (!status)
        status = cpu_sort_keys(NULL, &(struct sort_keys_step){keys, rows, n}, error);
    *median = status || n == 0 ? 0 : (int64_t)keys[n / 2];
    arena_release(work->arena, mark);
    return status;
}

static bool is_host_bound(const struct findings_work *work) {
    const struct measures *measures = &work->measures;
    bool empty = (double)measures->n_empty * 100 >= (double)measures->n_launches * EMPTY_PERCENT;
    bool restless = part_of_window(work, (double)measures->host_active) >= HOST_ACTIVE_PERCENT;
    return !work->silent_host && measures->n_launches >= LEAST_LAUNCHES &&
           part_of_window(work, (double)host_ticks(work)) >= HOST_PERCENT && (empty || restless) &&
           2 * (uint64_t)measures->n_graph < measures->n_kernels;
}

enum sutra_status rule_host_bound(struct findings_work *work, struct sutra_error *error) {
    const struct measures *measures = &work->measures;
    int64_t ticks = host_ticks(work), median, most;
    uint32_t name;
    if (!is_host_bound(work))
        return SUTRA_OK;
    enum sutra_status status = median_kernel(work, &median, error);
    if (!status)
        status = finding_frame(work, KIND(OVERVIEW_HOST), &name, &most, error);
    if (status)
        return status;
    double busy = (double)overview_busy(work->overview);
    struct overview_finding *finding = finding_say(
        work, FINDING_HOST_BOUND, (double)ticks,
        "Launch-bound: the GPU idles %s (%s) waiting for kernel launches. Use CUDA graphs (torch.compile with "
        "mode=\"reduce-overhead\") or larger batches. GPU busy %s; queue empty at %s of %s; one launch per %s, median "
        "kernel %s.",
        finding_per_step(work, (double)ticks).text, finding_percent((double)ticks, measures->window).text,
        finding_percent(busy, measures->window).text, finding_percent(measures->n_empty, measures->n_launches).text,
        counted_text(measures->n_launches, "launch", "launches").text,
        finding_time(measures->window / measures->n_launches).text, finding_time((double)median).text);
    add_frames_note(work, finding);
    finding_number(finding, "idle_us", (double)ticks / 1000 / measures->n_steps);
    finding_number(finding, "busy_percent", busy / measures->window * 100);
    finding_number(finding, "launches", measures->n_launches / measures->n_steps);
    finding_number(finding, "queue_empty_percent", (double)measures->n_empty / measures->n_launches * 100);
    finding_number(finding, "launch_interval_us", measures->window / measures->n_launches / 1000);
    finding_number(finding, "median_kernel_us", (double)median / 1000);
    return SUTRA_OK;
}

/* ---- small_kernels_optimizer: >= OPTIMIZER_KERNELS a step, their host time >= OPTIMIZER_HOST_PERCENT, idle in it >=
 * OPTIMIZER_IDLE_PERCENT. Win: that idle time; where the host is what is slow, all host time of it that it waits for:
 * queues run dry only later. ---- */

#define OPTIMIZER_KERNELS      200
#define OPTIMIZER_HOST_PERCENT 5
#define OPTIMIZER_IDLE_PERCENT 3

enum optimizer_part { OPTIMIZER_NOT, OPTIMIZER_ZERO_GRAD, OPTIMIZER_STEP };

static enum optimizer_part part_named(const struct strings *strings, uint32_t name) {
    if (text_compare(strings, name, TEXT_BEGINS, "Optimizer.step"))
        return OPTIMIZER_STEP;
    return text_compare(strings, name, TEXT_BEGINS, "Optimizer.zero_grad") ? OPTIMIZER_ZERO_GRAD : OPTIMIZER_NOT;
}

/* Marks rows of hosts that are parts of it, by names that are looked at once each; false: it has none. */
static bool mark_optimizer(const struct findings_work *work, uint8_t *names, uint8_t *marked) {
    const struct strings *strings = work->reading->strings;
    const struct host_rows *hosts = &work->reading->hosts;
    bool any = false;
    for (uint32_t name = 0; name < strings->n; name++) {
        names[name] = (uint8_t)part_named(strings, name);
        any |= names[name] != OPTIMIZER_NOT;
    }
    for (row_t row = 0; row < hosts->n && any; row++)
        marked[row] = hosts->kind[row] == HOST_CALL || hosts->kind[row] == HOST_FRAME
                          ? OPTIMIZER_NOT
                          : names[host_name(work->reading, row)];
    return any;
}

/* How many steps there are: those of the profiler, or of the optimizer. */
static double optimizer_steps(const struct findings_work *work, const uint8_t *marked) {
    double n = 0;
    if (work->overview->window.n_steps)
        return work->measures.n_steps;
    for (row_t row = 0; row < work->reading->hosts.n; row++)
        n += marked[row] == OPTIMIZER_STEP;
    return fmax(1, n);
}

static row_t kernels_launched_in(const struct findings_work *work, const struct spans *spans) {
    const struct measures *measures = &work->measures;
    const struct op_reading *reading = work->reading;
    row_t n = 0;
    for (row_t k = 0; k < measures->n_launched; k++)
        n += spans_hold(spans, reading->hosts.start[reading->devices.call[measures->launched[k]]]);
    return n;
}

enum sutra_status rule_small_kernels_optimizer(struct findings_work *work, struct sutra_error *error) {
    const struct host_rows *hosts = &work->reading->hosts;
    const struct measures *measures = &work->measures;
    struct arena_mark mark = arena_mark(work->arena);
    uint8_t *marked = arena_take(work->arena, hosts->n, 1);
    uint8_t *names = arena_take(work->arena, work->reading->strings->n, 1);
    struct spans spans = {0};
    enum sutra_status status = arena_status(work->arena, error);
    if (!status && mark_optimizer(work, names, marked))
        status = spans_of_hosts(work->overview, marked, work->arena, &spans, error);
    if (!status && spans.n) {
        double kernels = kernels_launched_in(work, &spans) / optimizer_steps(work, marked);
        double host = (double)spans_length(&spans), idle = (double)kind_clock_in(&measures->idle, &spans);
        double win = work->fired[FINDING_HOST_BOUND] ? fmax(idle, fmin(host, (double)host_ticks(work))) : idle;
        if (kernels >= OPTIMIZER_KERNELS && part_of_window(work, host) >= OPTIMIZER_HOST_PERCENT &&
            part_of_window(work, idle) >= OPTIMIZER_IDLE_PERCENT) {
            struct overview_finding *finding =
                finding_say(work, FINDING_SMALL_KERNELS_OPTIMIZER, win,
                            "Unfused optimizer: %.0f kernels per step take %s of CPU time, and the GPU idles %s of it. "
                            "Use fused=True or foreach=True, and zero_grad(set_to_none=True).",
                            kernels, finding_per_step(work, host).text, finding_time(idle / measures->n_steps).text);
            finding_number(finding, "kernels", kernels);
            finding_number(finding, "host_us", host / 1000 / measures->n_steps);
            finding_number(finding, "idle_us", idle / 1000 / measures->n_steps);
        }
    }
    arena_release(work->arena, mark);
    return status;
}

/* ---- ddp_buffers: idle while buffers are sent before the forward pass >= BUFFERS_PERCENT. Win: that. ---- */

#define BUFFERS_PERCENT 3

/* Marks unflattening below the forward pass of DistributedDataParallel: rows come behind those around them. */
static enum sutra_status mark_buffers(const struct findings_work *work, uint8_t *marked, struct sutra_error *error) {
    const struct host_rows *hosts = &work->reading->hosts;
    const struct strings *strings = work->reading->strings;
    uint32_t unflatten =
        strings_find(strings, "aten::unflatten_dense_tensors", strlen("aten::unflatten_dense_tensors"));
    uint8_t *below = arena_zeros(work->arena, hosts->n, 1);
    enum sutra_status status = arena_status(work->arena, error);
    if (status)
        return status;
    memset(marked, 0, hosts->n);
    for (row_t row = 0; row < hosts->n && unflatten != STRING_NONE; row++) {
        uint32_t name = host_name(work->reading, row);
        below[row] =
            (hosts->parent[row] != ROW_NONE && below[hosts->parent[row]]) ||
            (hosts->kind[row] != HOST_CALL && text_compare(strings, name, TEXT_HAS, "DistributedDataParallel.forward"));
        marked[row] = name == unflatten && below[row];
    }
    return SUTRA_OK;
}

enum sutra_status rule_ddp_buffers(struct findings_work *work, struct sutra_error *error) {
    const struct measures *measures = &work->measures;
    struct arena_mark mark = arena_mark(work->arena);
    uint8_t *marked = arena_take(work->arena, work->reading->hosts.n, 1);
    struct spans spans = {0};
    enum sutra_status status = arena_status(work->arena, error);
    if (!status)
        status = mark_buffers(work, marked, error);
    if (!status)
        status = spans_of_hosts(work->overview, marked, work->arena, &spans, error);
    double idle = status ? 0 : (double)kind_clock_in(&measures->idle, &spans);
    if (part_of_window(work, idle) >= BUFFERS_PERCENT) {
        struct overview_finding *finding = finding_say(
            work, FINDING_DDP_BUFFERS, idle,
            "DDP buffer broadcast: the GPU idles %s (%s) while DistributedDataParallel unpacks buffers before each "
            "forward pass. Set broadcast_buffers=False if ranks need not share buffers.",
            finding_per_step(work, idle).text, finding_percent(idle, measures->window).text);
        finding_number(finding, "idle_us", idle / 1000 / measures->n_steps);
    }
    arena_release(work->arena, mark);
    return status;
}

/* ---- sync: idle in calls that block, and until the host has launched anew behind them >= SYNC_PERCENT; not where
 * waiting for the host is twice that. Win: at most what neither the host nor the device needs. ---- */

#define SYNC_PERCENT 5

/* The outermost of the operators around a call that stand in one another, and a function of Python around them. */
struct sync_caller {
    uint32_t op, frame;
};

static struct sync_caller caller_of(const struct findings_work *work, row_t call) {
    const struct host_rows *hosts = &work->reading->hosts;
    struct sync_caller caller = {host_name(work->reading, call), STRING_NONE};
    row_t row = hosts->parent[call];
    for (int looks = 0; row != ROW_NONE && hosts->kind[row] == HOST_OPERATOR && looks < 100; looks++) {
        caller.op = host_name(work->reading, row);
        row = hosts->parent[row];
    }
    for (int looks = 0; row != ROW_NONE && hosts->kind[row] != HOST_FRAME && looks < 100; looks++)
        row = hosts->parent[row];
    if (row != ROW_NONE && hosts->kind[row] == HOST_FRAME)
        caller.frame = host_name(work->reading, row);
    return caller;
}

/* Which calls it were: by the operator that they stand in, the time that rows of waiting and behind it have. */
static enum sutra_status find_caller(const struct findings_work *work, struct sync_caller *most, row_t *n,
                                     struct sutra_error *error) {
    const struct overview *overview = work->overview;
    struct arena_mark mark = arena_mark(work->arena);
    int64_t *sums = arena_zeros(work->arena, work->reading->strings->n, sizeof *sums), best = 0;
    row_t *calls = arena_zeros(work->arena, work->reading->strings->n, sizeof *calls);
    enum sutra_status status = arena_status(work->arena, error);
    *most = (struct sync_caller){STRING_NONE, STRING_NONE};
    for (row_t i = 0; i < overview->n_rows && !status; i++) {
        const struct overview_row *row = &overview->rows[i];
        if ((row->kind != OVERVIEW_SYNC && row->kind != OVERVIEW_AFTER_SYNC) || row->wait == ROW_NONE)
            continue;
        struct sync_caller caller = caller_of(work, row->wait);
        calls[caller.op] += row->kind == OVERVIEW_AFTER_SYNC;
        sums[caller.op] += row->end - row->begin;
        if (sums[caller.op] > best) {
            best = sums[caller.op];
            *most = caller;
        }
    }
    *n = status || most->op == STRING_NONE ? 0 : calls[most->op];
    arena_release(work->arena, mark);
    return status;
}

enum sutra_status rule_sync(struct findings_work *work, struct sutra_error *error) {
    const struct overview *overview = work->overview;
    const struct measures *measures = &work->measures;
    double waits =
        (double)(overview->ticks[OVERVIEW_SYNC] + overview->ticks[OVERVIEW_AFTER_SYNC] - work->unexplained_waits);
    int64_t busy = overview_busy(overview), needed = measures->host_active > busy ? measures->host_active : busy;
    struct sync_caller caller;
    row_t n;
    if (part_of_window(work, waits) < SYNC_PERCENT ||
        (work->fired[FINDING_HOST_BOUND] && (double)host_ticks(work) >= 2 * waits))
        return SUTRA_OK;
    enum sutra_status status = find_caller(work, &caller, &n, error);
    if (status || caller.op == STRING_NONE)
        return status;
    double win = fmax(0, fmin(waits, measures->window - (double)needed));
    struct overview_finding *finding = finding_say(
        work, FINDING_SYNC, win,
        "Synchronization: the GPU idles %s (%s) because the CPU waits for it and launches new work only afterwards, "
        "mostly in %s",
        finding_per_step(work, waits).text, finding_percent(waits, measures->window).text,
        finding_name(work, caller.op).text);
    if (caller.frame != STRING_NONE)
        finding_add(finding, " in %s", finding_name(work, caller.frame).text);
    if (n / measures->n_steps >= 1)
        finding_add(finding, ", %s", finding_count(work, n).text);
    finding_add(finding, ". Read results later or less often: keep losses and conditions on the GPU, and copy with "
                         "non_blocking=True from and to pinned memory.");
    finding_number(finding, "idle_us", waits / 1000 / measures->n_steps);
    finding_number(finding, "waits", n / measures->n_steps);
    finding_number(finding, "min_step_us", (double)needed / 1000 / measures->n_steps);
    return SUTRA_OK;
}

/* ---- allocation: set-up that recurs from step to step >= ALLOCATION_PERCENT. Win: that. ---- */

#define ALLOCATION_PERCENT 5

enum sutra_status rule_allocation(struct findings_work *work, struct sutra_error *error) {
    const struct measures *measures = &work->measures;
    double ticks = (double)(work->overview->ticks[OVERVIEW_SET_UP] + work->overview->ticks[OVERVIEW_SLOW_LAUNCH]);
    uint32_t name;
    int64_t most;
    if (part_of_window(work, ticks) < ALLOCATION_PERCENT || !set_up_recurs(work->overview))
        return SUTRA_OK;
    enum sutra_status status =
        finding_frame(work, KIND(OVERVIEW_SET_UP) | KIND(OVERVIEW_SLOW_LAUNCH), &name, &most, error);
    if (status)
        return status;
    struct overview_finding *finding =
        finding_say(work, FINDING_ALLOCATION, ticks,
                    "Memory allocation in every step: the GPU idles %s (%s) in memory allocation or module loading",
                    finding_per_step(work, ticks).text, finding_percent(ticks, measures->window).text);
    if (name != STRING_NONE)
        finding_add(finding, ", mostly in %s", finding_name(work, name).text);
    finding_add(finding, ". Use the caching allocator (no empty_cache(), "
                         "PYTORCH_CUDA_ALLOC_CONF=expandable_segments:True) and constant shapes.");
    finding_number(finding, "idle_us", ticks / 1000 / measures->n_steps);
    return SUTRA_OK;
}
