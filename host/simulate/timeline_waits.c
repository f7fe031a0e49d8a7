/*
 * timeline_waits.c - finds when the CPU waits for the GPU, and which kernels wait for kernels of other streams.
 *
 * A synchronizing call waits for the last kernel of its stream, or of each stream. Calls that synchronize all streams
 * would make (calls x streams) pairs. But a kernel that an earlier call has waited for, and that let this call return
 * before a later call starts, needs no second mention. So the sweep visits a stream only while its last kernel is new.
 */
#include <math.h>
#include <string.h>

#include "base/shared.h"
#include "columns/column.h"
#include "columns/rows.h"
#include "simulate/timeline.h"

static row_t timeline_event_kernels(const struct timeline_work *work, const struct timeline_queues *queues,
                                    const struct timeline_deps *deps, uint32_t stream, double time,
                                    row_t kernels[EVENT_KERNELS_MAX]);
/* A kernel may end this much after the call that waited for it: their clocks differ. */
#define END_TOLERANCE_US 1.0

/* ---- Kernels in launch order ---- */

bool timeline_queue_kernels(const struct timeline_work *work, const struct timeline_order *ops,
                            struct timeline_queues *queues) {
    const struct timeline_kernels *kernels = &work->input->kernels;
    queues->first = arena_alloc(work->arena, (size_t)kernels->n_streams + 1, sizeof *queues->first);
    queues->queued = arena_alloc(work->arena, kernels->n, sizeof *queues->queued);
    queues->by_launch = arena_alloc(work->arena, kernels->n, sizeof *queues->by_launch);
    queues->launch_time = arena_alloc(work->arena, kernels->n, sizeof *queues->launch_time);
    queues->by_start = arena_alloc(work->arena, kernels->n, sizeof *queues->by_start);
    const double *launch_keys[] = {kernels->start, kernels->launch_start},
                 *start_keys[] = {kernels->end, kernels->start};
    if (work->arena->failed || !timeline_sort(work, kernels->n, launch_keys, 2, queues->by_launch) ||
        !timeline_sort(work, kernels->n, start_keys, 2, queues->by_start))
        return false;
    for (row_t i = 0; i < kernels->n; i++)
        queues->launch_time[i] = kernels->launch_start[queues->by_launch[i]];
    rows_bucket(queues->by_launch, kernels->n, kernels->stream, kernels->n_streams, queues->first, queues->queued);

    /* The operator that launched each kernel. */
    struct owner_queries queries = owner_queries_alloc(work->arena, kernels->n);
    if (work->arena->failed)
        return false;
    memcpy(queries.time, kernels->launch_start, kernels->n * sizeof *queries.time);
    memcpy(queries.thread, kernels->launch_thread, kernels->n * sizeof *queries.thread);
    queues->launch_op = queries.op;
    return timeline_find_owners(work, ops, &queries);
}

/* Position of the first of the kernels queued[low] .. queued[high - 1] that was launched at the time or later. */
static row_t launch_position(const struct timeline_kernels *kernels, const row_t *queued, row_t low, row_t high,
                             double time) {
    struct bisection at = {low, high};
    while (at.low < at.high)
        bisect(&at, kernels->launch_start[queued[bisect_middle(at)]] < time);
    return at.low;
}

static row_t queue_position(const struct timeline_work *work, const struct timeline_queues *queues, uint32_t stream,
                            double time) {
    return launch_position(&work->input->kernels, queues->queued, queues->first[stream], queues->first[stream + 1],
                           time);
}

/* The last kernel of the stream that was launched before the time, or ROW_NONE. */
static row_t timeline_last_launched(const struct timeline_work *work, const struct timeline_queues *queues,
                                    uint32_t stream, double time) {
    row_t position = queue_position(work, queues, stream, time);
    return position > queues->first[stream] ? queues->queued[position - 1] : ROW_NONE;
}

/* The first kernel of the stream that was launched at the time or later, or ROW_NONE. */
static row_t timeline_next_launched(const struct timeline_work *work, const struct timeline_queues *queues,
                                    uint32_t stream, double time) {
    row_t position = queue_position(work, queues, stream, time);
    return position < queues->first[stream + 1] ? queues->queued[position] : ROW_NONE;
}

/* ---- Waits ---- */

struct waits_making {
    const struct timeline_work *work;
    const struct timeline_queues *queues;
    const struct timeline_deps *deps;
    struct timeline_waits *waits;
    struct owner_queries owners; /* wait i has the queries 2 i and 2 i + 1 */
    uint64_t n_kernels, capacity;
};

static bool add_wait_kernel(struct waits_making *making, row_t kernel) {
    if (!arena_grow(making->work->arena, &making->waits->kernels, making->n_kernels, &making->capacity,
                    sizeof *making->waits->kernels))
        return false;
    making->waits->kernels[making->n_kernels++] = kernel;
    return true;
}

/* Ends the list of the kernels added since the last wait: the CPU waits for them from `at` on. */
static void add_wait(struct waits_making *making, double at, uint32_t thread) {
    const struct timeline_kernels *kernels = &making->work->input->kernels;
    struct timeline_waits *waits = making->waits;
    row_t i = waits->n++;
    double until = at, last_launch = -INFINITY;
    for (uint64_t k = waits->first[i]; k < making->n_kernels; k++) {
        until = fmax(until, kernels->end[waits->kernels[k]]);
        last_launch = fmax(last_launch, kernels->launch_start[waits->kernels[k]]);
    }
    waits->at[i] = at;
    waits->until[i] = until;
    waits->last_launch[i] = last_launch;
    waits->first[i + 1] = making->n_kernels;
    making->owners.time[2 * i] = at;
    making->owners.thread[2 * i] = thread;
    making->owners.time[2 * i + 1] = until;
    making->owners.thread[2 * i + 1] = THREAD_ALL;
}

/* Adds the kernel that a call for one stream waits for, if there is one. False: out of memory. */
static bool wait_for_stream(struct waits_making *making, row_t call) {
    const struct timeline_calls *calls = &making->work->input->calls;
    const struct timeline_kernels *kernels = &making->work->input->kernels;
    if (making->work->input->options.of_job) {
        /* For a rank of a job: the kernels that an event of the stream would represent. */
        row_t awaited[EVENT_KERNELS_MAX];
        row_t n = timeline_event_kernels(making->work, making->queues, making->deps, calls->stream[call],
                                         calls->before[call], awaited);
        for (row_t i = 0; i < n; i++)
            if (kernels->end[awaited[i]] <= calls->end[call] + END_TOLERANCE_US && !add_wait_kernel(making, awaited[i]))
                return false;
        return true;
    }
    if (calls->stream[call] >= kernels->n_streams)
        return true;
    row_t kernel = timeline_last_launched(making->work, making->queues, calls->stream[call], calls->before[call]);
    return kernel == ROW_NONE || kernels->end[kernel] > calls->end[call] + END_TOLERANCE_US ||
           add_wait_kernel(making, kernel);
}

/* The state of a sweep over calls that synchronize all streams. */
struct sync_sweep {
    row_t *last;          /* per stream: its last kernel so far */
    struct row_heap heap; /* kernels that no call has waited for, by their ends; some are no longer the last of their
                           * stream */
    row_t *recent;        /* kernels of waits that may not have ended yet */
    double *recent_until;
    row_t n_recent;
    row_t n_launched; /* number of by_launch[] passed */
};

static bool ends_before(const void *ends, row_t a, row_t b) {
    const double *end = ends;
    return end[a] < end[b];
}

/* A call that synchronizes all streams. False: out of memory. */
static bool wait_for_all(struct waits_making *making, struct sync_sweep *sweep, row_t call) {
    const struct timeline_calls *calls = &making->work->input->calls;
    const struct timeline_kernels *kernels = &making->work->input->kernels;
    double latest = calls->end[call] + END_TOLERANCE_US;
    uint64_t first_new;

    /* Kernels launched before the time are the last kernels of their streams. */
    for (; sweep->n_launched < kernels->n && making->queues->launch_time[sweep->n_launched] < calls->before[call];
         sweep->n_launched++) {
        row_t kernel = making->queues->by_launch[sweep->n_launched];
        sweep->last[kernels->stream[kernel]] = kernel;
        row_heap_push(&sweep->heap, kernel, ends_before, kernels->end);
    }

    /* Adds the kernels that an earlier call waits for and that this call may wait for, too. */
    row_t kept = 0;
    for (row_t i = 0; i < sweep->n_recent; i++) {
        row_t kernel = sweep->recent[i];
        if (sweep->recent_until[i] <= calls->start[call] || sweep->last[kernels->stream[kernel]] != kernel)
            continue;
        if (kernels->end[kernel] <= latest && !add_wait_kernel(making, kernel))
            return false;
        sweep->recent[kept] = kernel;
        sweep->recent_until[kept++] = sweep->recent_until[i];
    }
    sweep->n_recent = kept;
    first_new = making->n_kernels;
    while (sweep->heap.n && kernels->end[sweep->heap.rows[0]] <= latest) {
        row_t kernel = row_heap_pop(&sweep->heap, ends_before, kernels->end);
        if (sweep->last[kernels->stream[kernel]] == kernel && !add_wait_kernel(making, kernel))
            return false;
    }
    double until = calls->start[call];
    for (uint64_t k = making->waits->first[making->waits->n]; k < making->n_kernels; k++)
        until = fmax(until, kernels->end[making->waits->kernels[k]]);
    for (uint64_t k = first_new; k < making->n_kernels; k++) {
        sweep->recent[sweep->n_recent] = making->waits->kernels[k];
        sweep->recent_until[sweep->n_recent++] = until;
    }
    return true;
}

/* Synchronizing calls, in the order of the times up to which they wait. A call after the last operator delays
 * nothing. */
static bool wait_for_calls(struct waits_making *making, double last_end, struct timeline_report *report) {
    const struct timeline_work *work = making->work;
    const struct timeline_calls *calls = &work->input->calls;
    row_t *order = arena_alloc(work->arena, calls->n, sizeof *order);
    struct sync_sweep sweep = {
        .last = rows_none(work->arena, work->input->kernels.n_streams),
        .heap.rows = arena_alloc(work->arena, work->input->kernels.n, sizeof(row_t)),
        .recent = arena_alloc(work->arena, work->input->kernels.n, sizeof *sweep.recent),
        .recent_until = arena_alloc(work->arena, work->input->kernels.n, sizeof *sweep.recent_until),
    };
    const double *keys[] = {calls->before};
    if (work->arena->failed || !timeline_sort(work, calls->n, keys, 1, order))
        return false;
    for (row_t i = 0; i < calls->n; i++) {
        row_t call = order[i];
        if (!(calls->start[call] >= work->origin && calls->start[call] < last_end))
            continue;
        if (calls->stream[call] == STREAM_ANY ? !wait_for_all(making, &sweep, call) : !wait_for_stream(making, call))
            return false;
        bool waits = making->n_kernels > making->waits->first[making->waits->n];
        report->n_waits += waits;
        report->n_calls_without_kernel += !waits;
        if (waits)
            add_wait(making, calls->start[call], calls->thread[call]);
    }
    return true;
}

/* Whether the thread launched nothing between the end of the launch and the end of the kernel. */
static bool is_followed_by_none(const struct timeline_kernels *kernels, const uint32_t *thread, const row_t *first_of,
                                const row_t *launched, row_t kernel) {
    row_t first = first_of[thread[kernel]], end = first_of[thread[kernel] + 1];
    row_t next = launch_position(kernels, launched, first, end, nextafter(kernels->launch_end[kernel], INFINITY));
    return next == end || kernels->launch_start[launched[next]] >= kernels->end[kernel];
}

/* A memcpy blocks if its call ends after the memcpy. A memcpy from or to pageable memory also blocks, though its call
 * is short, if the operator continues after the memcpy and its thread launched nothing in between. */
static bool wait_for_copies(struct waits_making *making, struct timeline_report *report) {
    const struct timeline_work *work = making->work;
    const struct timeline_kernels *kernels = &work->input->kernels;
    const uint32_t n_threads = work->input->ops.n_threads;
    /* Kernels by their launching threads, in launch order; unknown threads have one number, too. */
    uint32_t *thread = arena_alloc(work->arena, kernels->n, sizeof *thread);
    row_t *first_of = arena_alloc(work->arena, (size_t)n_threads + 2, sizeof *first_of);
    row_t *launched = arena_alloc(work->arena, kernels->n, sizeof *launched);
    if (work->arena->failed)
        return false;
    for (row_t k = 0; k < kernels->n; k++)
        thread[k] = MIN(kernels->launch_thread[k], n_threads);
    rows_bucket(making->queues->by_launch, kernels->n, thread, n_threads + 1, first_of, launched);
    for (row_t k = 0; k < kernels->n; k++) {
        row_t op = making->queues->launch_op[k];
        double at = kernels->launch_start[k], end = kernels->end[k];
        if ((kernels->traits[k] & KERNEL_COPIES) && kernels->launch_end[k] >= end) {
            report->n_blocking_copies++;
        } else if ((kernels->traits[k] & KERNEL_PAGEABLE) && op != ROW_NONE && kernels->launch_end[k] < end &&
                   end <= work->input->ops.end[op] && is_followed_by_none(kernels, thread, first_of, launched, k)) {
            report->n_pageable_copies++;
            at = kernels->launch_end[k];
        } else {
            continue;
        }
        if (!add_wait_kernel(making, k))
            return false;
        add_wait(making, at, kernels->launch_thread[k]);
    }
    return true;
}

bool timeline_find_waits(const struct timeline_work *work, const struct timeline_order *ops,
                         const struct timeline_queues *queues, const struct timeline_deps *deps,
                         struct timeline_waits *waits, struct timeline_report *report) {
    size_t most = (size_t)work->input->calls.n + work->input->kernels.n;
    *waits = (struct timeline_waits){
        .at = arena_alloc(work->arena, most, sizeof *waits->at),
        .until = arena_alloc(work->arena, most, sizeof *waits->until),
        .last_launch = arena_alloc(work->arena, most, sizeof *waits->last_launch),
        .op_at = arena_alloc(work->arena, most, sizeof *waits->op_at),
        .op_until = arena_alloc(work->arena, most, sizeof *waits->op_until),
        .first = arena_zeros(work->arena, most + 1, sizeof *waits->first),
    };
    struct waits_making making = {.work = work, .queues = queues, .deps = deps, .waits = waits};
    making.owners = owner_queries_alloc(work->arena, (row_t)(2 * most));
    if (work->arena->failed || !wait_for_calls(&making, ops->last_end, report) || !wait_for_copies(&making, report))
        return false;
    making.owners.n = 2 * waits->n;
    if (!timeline_find_owners(work, ops, &making.owners))
        return false;
    for (row_t i = 0; i < waits->n; i++) {
        waits->op_at[i] = making.owners.op[2 * i];
        waits->op_until[i] = making.owners.op[2 * i + 1];
    }
    return true;
}

/*
 * ---- Kernels that wait for kernels of other streams ----
 *
 *     stream 7    [ a ] . record . . . . . . . . . . . .      an event represents the last kernel of the stream
 *     stream 20           wait . . record [ c ]               c waits for a
 *     stream 24                     wait . [ b ]              of a job: so does b, since stream 20 had no kernel
 *                                                             between its wait and its record
 *
 * Where the traces of a job do not record stream waits, guess them as libraries launch collectives: a collective waits
 * for the kernel launched before it, and a kernel launched after a wait call waits for the last collective.
 *
 * Cost: O(n log n); an event represents at most EVENT_KERNELS_MAX kernels, the last ones of as many streams.
 */

/* The maximum number of waits of a stream that are inspected for one event. */
#define STREAM_WAITS_MAX 256

bool timeline_is_earlier(const struct timeline_kernels *kernels, row_t a, row_t b) {
    if (kernels->start[a] != kernels->start[b])
        return kernels->start[a] < kernels->start[b];
    if (kernels->end[a] != kernels->end[b])
        return kernels->end[a] < kernels->end[b];
    return kernels->id[a] < kernels->id[b];
}

/* ---- Lists ---- */

/* Makes a kernel wait for another one. False: out of memory. */
static bool add_kernel_dep(const struct timeline_work *work, struct timeline_deps *deps, row_t kernel, row_t awaited) {
    if (deps->n >= ROW_LIMIT || !arena_grow(work->arena, &deps->list, deps->n, &deps->capacity, sizeof *deps->list))
        return false;
    deps->list[deps->n] = (struct kernel_dep){awaited, deps->first[kernel]};
    deps->first[kernel] = (row_t)deps->n++;
    return true;
}

static bool has_ended(const struct timeline_kernels *kernels, row_t awaited, row_t kernel) {
    return kernels->end[awaited] <= kernels->start[kernel] + EARLY_START_US &&
           timeline_is_earlier(kernels, awaited, kernel);
}

/* The same, if the times allow it. */
static bool apply_order(const struct timeline_work *work, struct timeline_deps *deps, row_t kernel, row_t awaited,
                        struct timeline_report *report) {
    if (!has_ended(&work->input->kernels, awaited, kernel))
        return true;
    report->n_orders++;
    return add_kernel_dep(work, deps, kernel, awaited);
}

/* ---- A rank alone ---- */

static bool apply_orders(const struct timeline_work *work, const struct timeline_queues *queues,
                         struct timeline_deps *deps, struct timeline_report *report) {
    const struct timeline_orders *orders = &work->input->orders;
    const uint32_t n_streams = work->input->kernels.n_streams;
    bool done = true;
    for (row_t o = 0; o < orders->n && done; o++) {
        if (orders->awaited[o] >= n_streams || orders->stream[o] >= n_streams)
            continue;
        row_t awaited = timeline_last_launched(work, queues, orders->awaited[o], orders->record_start[o]);
        row_t kernel = timeline_next_launched(work, queues, orders->stream[o], orders->call_start[o]);
        if (awaited != ROW_NONE && kernel != ROW_NONE)
            done = apply_order(work, deps, kernel, awaited, report);
    }
    return done;
}

/* ---- A rank of a job ---- */

/* Of one stream only the kernel launched last counts. */
static row_t merge_event_kernel(const struct timeline_kernels *kernels, row_t *list, row_t n, row_t kernel) {
    for (row_t i = 0; i < n; i++)
        if (kernels->stream[list[i]] == kernels->stream[kernel]) {
            if (kernels->launch_start[list[i]] < kernels->launch_start[kernel])
                list[i] = kernel;
            return n;
        }
    if (n < EVENT_KERNELS_MAX)
        list[n++] = kernel;
    return n;
}

static row_t timeline_event_kernels(const struct timeline_work *work, const struct timeline_queues *queues,
                                    const struct timeline_deps *deps, uint32_t stream, double time,
                                    row_t kernels[EVENT_KERNELS_MAX]) {
    const struct timeline_kernels *all = &work->input->kernels;
    row_t n = 0, last = stream < all->n_streams ? timeline_last_launched(work, queues, stream, time) : ROW_NONE;
    double since = last == ROW_NONE ? -INFINITY : all->launch_start[last];
    if (last != ROW_NONE)
        kernels[n++] = last;
    row_t at = stream < work->input->orders.n_streams ? deps->last_stream_wait[stream] : ROW_NONE;
    for (row_t n_inspected = 0; at != ROW_NONE && n_inspected < STREAM_WAITS_MAX;
         n_inspected++, at = deps->stream_waits[at].before) {
        if (deps->stream_waits[at].time <= since)
            break;
        if (deps->stream_waits[at].time < time)
            n = merge_event_kernel(all, kernels, n, deps->stream_waits[at].kernel);
    }
    return n;
}

/* Records that the stream waits for a kernel. */
static bool add_stream_wait(const struct timeline_work *work, struct timeline_deps *deps, uint32_t stream, double time,
                            row_t kernel) {
    if (deps->n_stream_waits >= ROW_LIMIT || !arena_grow(work->arena, &deps->stream_waits, deps->n_stream_waits,
                                                         &deps->stream_waits_capacity, sizeof *deps->stream_waits))
        return false;
    deps->stream_waits[deps->n_stream_waits] = (struct stream_wait){time, kernel, deps->last_stream_wait[stream]};
    deps->last_stream_wait[stream] = (row_t)deps->n_stream_waits++;
    return true;
}

/* Stream waits by the time of the call. */
static bool apply_job_orders(const struct timeline_work *work, const struct timeline_queues *queues,
                             struct timeline_deps *deps, struct timeline_report *report) {
    const struct timeline_orders *orders = &work->input->orders;
    row_t *order = arena_alloc(work->arena, orders->n, sizeof *order);
    deps->last_stream_wait = rows_none(work->arena, orders->n_streams);
    const double *keys[] = {orders->call_start};
    if (work->arena->failed || !timeline_sort(work, orders->n, keys, 1, order))
        return false;
    bool done = true;
    for (row_t i = 0; i < orders->n && done; i++) {
        row_t awaited[EVENT_KERNELS_MAX], o = order[i];
        const uint32_t stream = orders->stream[o];
        row_t n = timeline_event_kernels(work, queues, deps, orders->awaited[o], orders->record_start[o], awaited);
        row_t kernel = stream < work->input->kernels.n_streams
                           ? timeline_next_launched(work, queues, stream, orders->call_start[o])
                           : ROW_NONE;
        for (row_t k = 0; k < n && done; k++)
            done = add_stream_wait(work, deps, stream, orders->call_start[o], awaited[k]) &&
                   (kernel == ROW_NONE || apply_order(work, deps, kernel, awaited[k], report));
    }
    return done;
}

/* ---- A job whose traces do not record stream waits ---- */

static bool communicates(const struct timeline_kernels *kernels, row_t kernel) {
    return kernels->traits[kernel] & KERNEL_COMMUNICATES;
}

static bool may_wait(const struct timeline_kernels *kernels, row_t kernel, row_t awaited) {
    return awaited != ROW_NONE && kernels->stream[awaited] != kernels->stream[kernel] &&
           has_ended(kernels, awaited, kernel);
}

/* A collective waits for the last other kernel launched before it. */
static bool guess_before_collectives(const struct timeline_work *work, const struct timeline_queues *queues,
                                     struct timeline_deps *deps, struct timeline_report *report) {
    const struct timeline_kernels *kernels = &work->input->kernels;
    row_t last = ROW_NONE;
    bool done = true;
    for (row_t i = 0; i < kernels->n && done; i++) {
        row_t kernel = queues->by_launch[i];
        if (!communicates(kernels, kernel)) {
            last = kernel;
        } else if (may_wait(kernels, kernel, last)) {
            report->n_guessed++;
            done = add_kernel_dep(work, deps, kernel, last);
        }
    }
    return done;
}

/* The next kernel launched after a call that makes a stream wait, if it is no collective, waits for the last
 * collective. */
static bool guess_after_wait_calls(const struct timeline_work *work, const struct timeline_queues *queues,
                                   struct timeline_deps *deps, struct timeline_report *report) {
    const struct timeline_kernels *kernels = &work->input->kernels;
    const struct timeline_orders *orders = &work->input->orders;

    /* The last collective launched before each position of by_launch[]. */
    row_t *before = arena_alloc(work->arena, (size_t)kernels->n + 1, sizeof *before);
    if (!before)
        return false;
    before[0] = ROW_NONE;
    for (row_t i = 0; i < kernels->n; i++)
        before[i + 1] = communicates(kernels, queues->by_launch[i]) ? queues->by_launch[i] : before[i];

    bool done = true;
    for (row_t i = 0; i < orders->n_calls && done; i++) {
        row_t next = times_below(queues->launch_time, kernels->n, orders->calls[i]);
        if (next == kernels->n || communicates(kernels, queues->by_launch[next]) ||
            !may_wait(kernels, queues->by_launch[next], before[next]))
            continue;
        report->n_guessed++;
        done = add_kernel_dep(work, deps, queues->by_launch[next], before[next]);
    }
    return done;
}

bool timeline_find_deps(const struct timeline_work *work, const struct timeline_queues *queues,
                        struct timeline_deps *deps, struct timeline_report *report) {
    *deps = (struct timeline_deps){.first = rows_none(work->arena, work->input->kernels.n)};
    if (work->arena->failed)
        return false;
    if (!work->input->options.of_job)
        return apply_orders(work, queues, deps, report);
    if (!apply_job_orders(work, queues, deps, report))
        return false;
    return work->input->orders.recorded ||
           (guess_before_collectives(work, queues, deps, report) && guess_after_wait_calls(work, queues, deps, report));
}
