/*
 * timeline_waits.c - where the processor waits for the GPU; in come kernels and the calls that wait, out go pairs of
 * moments with the kernels that end the wait.
 *
 * A call waits for the last kernel of its stream, or of each stream. Calls that wait for all streams would make
 * (calls x streams) pairs; but a kernel for which such a call has waited, and which let it go on before a later call
 * begins, needs not be named again. So streams are looked at only while their last kernel is news.
 */
#include <math.h>
#include <string.h>

#include "columns/rows.h"
#include "simulate/timeline.h"

static row_t timeline_event_kernels(const struct timeline_work *work, const struct timeline_queues *queues,
                                    const struct timeline_held *held, uint32_t stream, double time,
                                    row_t kernels[EVENT_KERNELS_MAX]);
/* A kernel may end so much after the call that waited for it: their clocks are read by different hands. */
#define END_TOLERANCE_US 1.0

/* ---- Kernels in the order of their launches ---- */

/* Which operator launched each kernel. */
static bool find_launch_ops(const struct timeline_work *work, const struct timeline_order *ops,
                            struct timeline_queues *queues) {
    const struct timeline_kernels *kernels = &work->input->kernels;
    struct owner_queries queries = owner_queries_take(work->arena, kernels->n);
    if (work->arena->failed)
        return false;
    memcpy(queries.time, kernels->launch_start, kernels->n * sizeof *queries.time);
    memcpy(queries.thread, kernels->launch_thread, kernels->n * sizeof *queries.thread);
    queues->launch_op = queries.op;
    return timeline_find_owners(work, ops, &queries);
}

bool timeline_queue_kernels(const struct timeline_work *work, const struct timeline_order *ops,
                            struct timeline_queues *queues) {
    const struct timeline_kernels *kernels = &work->input->kernels;
    queues->first = arena_take(work->arena, (size_t)kernels->n_streams + 1, sizeof *queues->first);
    queues->queued = arena_take(work->arena, kernels->n, sizeof *queues->queued);
    queues->by_launch = arena_take(work->arena, kernels->n, sizeof *queues->by_launch);
    queues->launch_time = arena_take(work->arena, kernels->n, sizeof *queues->launch_time);
    queues->by_start = arena_take(work->arena, kernels->n, sizeof *queues->by_start);
    const double *launch_keys[] = {kernels->start, kernels->launch_start},
                 *start_keys[] = {kernels->end, kernels->start};
    if (work->arena->failed || !timeline_sort(work, kernels->n, launch_keys, 2, queues->by_launch) ||
        !timeline_sort(work, kernels->n, start_keys, 2, queues->by_start))
        return false;
    for (row_t i = 0; i < kernels->n; i++)
        queues->launch_time[i] = kernels->launch_start[queues->by_launch[i]];
    rows_bucket(queues->by_launch, kernels->n, kernels->stream, kernels->n_streams, queues->first, queues->queued);
    return find_launch_ops(work, ops, queues);
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

/* The first one that was launched at that time or later. */
static row_t timeline_next_launched(const struct timeline_work *work, const struct timeline_queues *queues,
                                    uint32_t stream, double time) {
    row_t position = queue_position(work, queues, stream, time);
    return position < queues->first[stream + 1] ? queues->queued[position] : ROW_NONE;
}

/* ---- Waits ---- */

struct waits_making {
    const struct timeline_work *work;
    const struct timeline_queues *queues;
    const struct timeline_held *held;
    struct timeline_waits *waits;
    struct owner_queries owners; /* wait i asks twice, at 2 i and 2 i + 1 */
    uint64_t n_kernels, capacity;
};

static bool add_kernel_timeline_waits(struct waits_making *making, row_t kernel) {
    if (making->n_kernels == making->capacity) {
        uint64_t capacity = making->capacity * 2 + 64;
        row_t *kernels = arena_take(making->work->arena, capacity, sizeof *kernels);
        if (!kernels)
            return false;
        if (making->n_kernels)
            memcpy(kernels, making->waits->kernels, making->n_kernels * sizeof *kernels);
        making->waits->kernels = kernels;
        making->capacity = capacity;
    }
    making->waits->kernels[making->n_kernels++] = kernel;
    return true;
}

/* Ends the list of the kernels added since the last wait: the processor waits for them from `at` on. */
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

/* The same of a job: what an event of the stream would stand for. */
static bool wait_for_event(struct waits_making *making, row_t call) {
    const struct timeline_calls *calls = &making->work->input->calls;
    const double *end = making->work->input->kernels.end;
    row_t awaited[EVENT_KERNELS_MAX];
    row_t n = timeline_event_kernels(making->work, making->queues, making->held, calls->stream[call],
                                     calls->before[call], awaited);
    bool done = true;
    for (row_t i = 0; i < n && done; i++)
        done = end[awaited[i]] > calls->end[call] + END_TOLERANCE_US || add_kernel_timeline_waits(making, awaited[i]);
    return done;
}

/* Adds the kernel that a call for one stream waits for, if there is one. False: out of memory. */
static bool wait_for_stream(struct waits_making *making, row_t call) {
    const struct timeline_calls *calls = &making->work->input->calls;
    const struct timeline_kernels *kernels = &making->work->input->kernels;
    if (making->work->input->options.of_job)
        return wait_for_event(making, call);
    if (calls->stream[call] >= kernels->n_streams)
        return true;
    row_t kernel = timeline_last_launched(making->work, making->queues, calls->stream[call], calls->before[call]);
    return kernel == ROW_NONE || kernels->end[kernel] > calls->end[call] + END_TOLERANCE_US ||
           add_kernel_timeline_waits(making, kernel);
}

/* Streams whose last kernel is news, as a sweep over calls that wait for all streams has it. */
struct news {
    row_t *last;          /* per stream: its last kernel so far */
    struct row_heap heap; /* kernels that no call has waited for, by their ends; some are no longer the last ones */
    row_t *recent;        /* kernels that calls wait for which may not yet have gone on */
    double *recent_until;
    row_t n_recent;
    row_t n_launched; /* of by_launch[] */
};

static bool ends_before(const void *ends, row_t a, row_t b) {
    const double *end = ends;
    return end[a] < end[b];
}

/* Kernels launched before the time are the last ones of their streams. */
static void news_advance(struct news *news, const struct waits_making *making, double time) {
    const struct timeline_kernels *kernels = &making->work->input->kernels;
    for (; news->n_launched < kernels->n && making->queues->launch_time[news->n_launched] < time; news->n_launched++) {
        row_t kernel = making->queues->by_launch[news->n_launched];
        news->last[kernels->stream[kernel]] = kernel;
        row_heap_push(&news->heap, kernel, ends_before, kernels->end);
    }
}

/* Adds the kernels that an earlier call waits for, and that this one may have to wait for, too. */
static bool wait_for_recent(struct waits_making *making, struct news *news, double start, double latest) {
    const struct timeline_kernels *kernels = &making->work->input->kernels;
    row_t kept = 0;
    for (row_t i = 0; i < news->n_recent; i++) {
        row_t kernel = news->recent[i];
        if (news->recent_until[i] <= start || news->last[kernels->stream[kernel]] != kernel)
            continue;
        if (kernels->end[kernel] <= latest && !add_kernel_timeline_waits(making, kernel))
            return false;
        news->recent[kept] = kernel;
        news->recent_until[kept++] = news->recent_until[i];
    }
    news->n_recent = kept;
    return true;
}

/* A call that waits for all streams. False: out of memory. */
static bool wait_for_all(struct waits_making *making, struct news *news, row_t call) {
    const struct timeline_calls *calls = &making->work->input->calls;
    const struct timeline_kernels *kernels = &making->work->input->kernels;
    double latest = calls->end[call] + END_TOLERANCE_US;
    uint64_t first_new;
    news_advance(news, making, calls->before[call]);
    if (!wait_for_recent(making, news, calls->start[call], latest))
        return false;
    first_new = making->n_kernels;
    while (news->heap.n && kernels->end[news->heap.rows[0]] <= latest) {
        row_t kernel = row_heap_pop(&news->heap, ends_before, kernels->end);
        if (news->last[kernels->stream[kernel]] == kernel && !add_kernel_timeline_waits(making, kernel))
            return false;
    }
    double until = calls->start[call];
    for (uint64_t k = making->waits->first[making->waits->n]; k < making->n_kernels; k++)
        until = fmax(until, kernels->end[making->waits->kernels[k]]);
    for (uint64_t k = first_new; k < making->n_kernels; k++) {
        news->recent[news->n_recent] = making->waits->kernels[k];
        news->recent_until[news->n_recent++] = until;
    }
    return true;
}

static struct news take_news(struct arena *arena, const struct timeline_kernels *kernels) {
    struct news news = {
        .last = arena_take(arena, kernels->n_streams, sizeof *news.last),
        .heap.rows = arena_take(arena, kernels->n, sizeof(row_t)),
        .recent = arena_take(arena, kernels->n, sizeof *news.recent),
        .recent_until = arena_take(arena, kernels->n, sizeof *news.recent_until),
    };
    if (!arena->failed)
        memset(news.last, 0xff, kernels->n_streams * sizeof *news.last);
    return news;
}

/* Synchronising calls, in the order of what they wait for. A call after the last operator has nothing behind it that it
 * could hold up. */
static bool wait_for_calls(struct waits_making *making, double last_end, struct timeline_report *report) {
    const struct timeline_work *work = making->work;
    const struct timeline_calls *calls = &work->input->calls;
    row_t *order = arena_take(work->arena, calls->n, sizeof *order);
    struct news news = take_news(work->arena, &work->input->kernels);
    const double *keys[] = {calls->before};
    if (work->arena->failed || !timeline_sort(work, calls->n, keys, 1, order))
        return false;
    for (row_t i = 0; i < calls->n; i++) {
        row_t call = order[i];
        if (!(calls->start[call] >= work->origin && calls->start[call] < last_end)) {
            report->n_calls_outside++;
            continue;
        }
        if (calls->stream[call] == STREAM_ANY ? !wait_for_all(making, &news, call) : !wait_for_stream(making, call))
            return false;
        bool waits = making->n_kernels > making->waits->first[making->waits->n];
        report->n_waits += waits;
        report->n_calls_without_kernel += !waits;
        if (waits)
            add_wait(making, calls->start[call], calls->thread[call]);
    }
    return true;
}

/* Kernels by the threads that launched them, in the order of their launches. */
struct thread_launches {
    uint32_t *thread; /* per kernel: with the unknown ones numbered, too */
    row_t *first, *launched;
};

static bool sort_by_thread(const struct timeline_work *work, const struct timeline_queues *queues,
                           struct thread_launches *launches) {
    const struct timeline_kernels *kernels = &work->input->kernels;
    const uint32_t n_threads = work->input->ops.n_threads;
    launches->thread = arena_take(work->arena, kernels->n, sizeof *launches->thread);
    launches->first = arena_take(work->arena, (size_t)n_threads + 2, sizeof *launches->first);
    launches->launched = arena_take(work->arena, kernels->n, sizeof *launches->launched);
    if (work->arena->failed)
        return false;
    for (row_t k = 0; k < kernels->n; k++)
        launches->thread[k] = kernels->launch_thread[k] < n_threads ? kernels->launch_thread[k] : n_threads;
    rows_bucket(queues->by_launch, kernels->n, launches->thread, n_threads + 1, launches->first, launches->launched);
    return true;
}

/* Whether the kernel's thread launched nothing between the end of its launch and its own end. */
static bool is_followed_by_none(const struct timeline_kernels *kernels, const struct thread_launches *launches,
                                row_t kernel) {
    row_t first = launches->first[launches->thread[kernel]], end = launches->first[launches->thread[kernel] + 1];
    row_t next =
        launch_position(kernels, launches->launched, first, end, nextafter(kernels->launch_end[kernel], INFINITY));
    return next == end || kernels->launch_start[launches->launched[next]] >= kernels->end[kernel];
}

/* Copies block where the call ends after the copy; from or to pageable memory they block, too, though the call looks
 * short, if the operator goes on after the copy and nothing was launched in between. */
static bool wait_for_copies(struct waits_making *making, struct timeline_report *report) {
    const struct timeline_work *work = making->work;
    const struct timeline_kernels *kernels = &work->input->kernels;
    struct thread_launches launches;
    if (!sort_by_thread(work, making->queues, &launches))
        return false;
    for (row_t k = 0; k < kernels->n; k++) {
        row_t op = making->queues->launch_op[k];
        double at = kernels->launch_start[k], end = kernels->end[k];
        if ((kernels->traits[k] & KERNEL_COPIES) && kernels->launch_end[k] >= end) {
            report->n_blocking_copies++;
        } else if ((kernels->traits[k] & KERNEL_PAGEABLE) && op != ROW_NONE && kernels->launch_end[k] < end &&
                   end <= work->input->ops.end[op] && is_followed_by_none(kernels, &launches, k)) {
            report->n_pageable_copies++;
            at = kernels->launch_end[k];
        } else {
            continue;
        }
        if (!add_kernel_timeline_waits(making, k))
            return false;
        add_wait(making, at, kernels->launch_thread[k]);
    }
    return true;
}

bool timeline_find_waits(const struct timeline_work *work, const struct timeline_order *ops,
                         const struct timeline_queues *queues, const struct timeline_held *held,
                         struct timeline_waits *waits, struct timeline_report *report) {
    size_t most = (size_t)work->input->calls.n + work->input->kernels.n;
    *waits = (struct timeline_waits){
        .at = arena_take(work->arena, most, sizeof *waits->at),
        .until = arena_take(work->arena, most, sizeof *waits->until),
        .last_launch = arena_take(work->arena, most, sizeof *waits->last_launch),
        .op_at = arena_take(work->arena, most, sizeof *waits->op_at),
        .op_until = arena_take(work->arena, most, sizeof *waits->op_until),
        .first = arena_zeros(work->arena, most + 1, sizeof *waits->first),
    };
    struct waits_making making = {.work = work, .queues = queues, .held = held, .waits = waits};
    making.owners = owner_queries_take(work->arena, (row_t)(2 * most));
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
 * Which kernels wait for kernels of other streams: in come the streams' queues and what streams
 * were told, out go, for each kernel, those that it waits for.
 *
 *     stream 7    [ a ] . record . . . . . . . . . . . .      an event stands for the stream's last kernel
 *     stream 20           wait . . record [ c ]               c waits for a
 *     stream 24                     wait . [ b ]              of a job: and so does b, since stream 20 had no kernel
 *                                                             between its wait and its record
 *
 * Where a trace of a job does not tell such orders they are guessed: as libraries launch them, a collective waits for
 * what was launched before it, and a kernel behind a call that tells a stream to wait waits for the last collective.
 *
 * Cost: O(n log n); an event stands for at most EVENT_KERNELS_MAX kernels, the last ones of as many streams.
 */

/* Waits of a stream that are looked at for one event. */
#define CARRIED_LOOKED_AT 256

bool timeline_is_earlier(const struct timeline_kernels *kernels, row_t a, row_t b) {
    if (kernels->start[a] != kernels->start[b])
        return kernels->start[a] < kernels->start[b];
    if (kernels->end[a] != kernels->end[b])
        return kernels->end[a] < kernels->end[b];
    return kernels->id[a] < kernels->id[b];
}

/* ---- Lists ---- */

/* Lets a kernel wait for another one. False: out of memory. */
static bool hold(const struct timeline_work *work, struct timeline_held *held, row_t kernel, row_t awaited) {
    if (held->n >= ROW_LIMIT || !arena_grow(work->arena, &held->list, held->n, &held->capacity, sizeof *held->list))
        return false;
    held->list[held->n] = (struct held_kernel){awaited, held->first[kernel]};
    held->first[kernel] = (row_t)held->n++;
    return true;
}

static bool has_ended(const struct timeline_kernels *kernels, row_t awaited, row_t kernel) {
    return kernels->end[awaited] <= kernels->start[kernel] + EARLY_START_US &&
           timeline_is_earlier(kernels, awaited, kernel);
}

/* The same if times allow it. */
static bool obey(const struct timeline_work *work, struct timeline_held *held, row_t kernel, row_t awaited,
                 struct timeline_report *report) {
    if (!has_ended(&work->input->kernels, awaited, kernel)) {
        report->n_orders_against_time++;
        return true;
    }
    report->n_orders++;
    return hold(work, held, kernel, awaited);
}

/* ---- A rank alone ---- */

static bool obey_orders(const struct timeline_work *work, const struct timeline_queues *queues,
                        struct timeline_held *held, struct timeline_report *report) {
    const struct timeline_orders *orders = &work->input->orders;
    const uint32_t n_streams = work->input->kernels.n_streams;
    bool done = true;
    for (row_t o = 0; o < orders->n && done; o++) {
        if (orders->awaited[o] >= n_streams || orders->stream[o] >= n_streams)
            continue;
        row_t awaited = timeline_last_launched(work, queues, orders->awaited[o], orders->record_start[o]);
        row_t kernel = timeline_next_launched(work, queues, orders->stream[o], orders->call_start[o]);
        if (awaited != ROW_NONE && kernel != ROW_NONE)
            done = obey(work, held, kernel, awaited, report);
    }
    return done;
}

/* ---- A rank of a job ---- */

/* Of one stream only the kernel that was launched last counts. */
static row_t add_kernel_timeline_orders(const struct timeline_kernels *kernels, row_t *list, row_t n, row_t kernel) {
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
                                    const struct timeline_held *held, uint32_t stream, double time,
                                    row_t kernels[EVENT_KERNELS_MAX]) {
    const struct timeline_kernels *all = &work->input->kernels;
    row_t n = 0, last = stream < all->n_streams ? timeline_last_launched(work, queues, stream, time) : ROW_NONE;
    double since = last == ROW_NONE ? -INFINITY : all->launch_start[last];
    if (last != ROW_NONE)
        kernels[n++] = last;
    row_t at = stream < work->input->orders.n_streams ? held->last_carried[stream] : ROW_NONE;
    for (row_t looked = 0; at != ROW_NONE && looked < CARRIED_LOOKED_AT; looked++, at = held->carried[at].before) {
        if (held->carried[at].time <= since)
            break;
        if (held->carried[at].time < time)
            n = add_kernel_timeline_orders(all, kernels, n, held->carried[at].kernel);
    }
    return n;
}

/* The stream has been told to wait for a kernel. */
static bool carry(const struct timeline_work *work, struct timeline_held *held, uint32_t stream, double time,
                  row_t kernel) {
    if (held->n_carried >= ROW_LIMIT ||
        !arena_grow(work->arena, &held->carried, held->n_carried, &held->carried_capacity, sizeof *held->carried))
        return false;
    held->carried[held->n_carried] = (struct carried_wait){time, kernel, held->last_carried[stream]};
    held->last_carried[stream] = (row_t)held->n_carried++;
    return true;
}

/* Orders by the time at which they were given. */
static bool follow_orders(const struct timeline_work *work, const struct timeline_queues *queues,
                          struct timeline_held *held, struct timeline_report *report) {
    const struct timeline_orders *orders = &work->input->orders;
    row_t *order = arena_take(work->arena, orders->n, sizeof *order);
    held->last_carried = arena_take(work->arena, orders->n_streams, sizeof *held->last_carried);
    const double *keys[] = {orders->call_start};
    if (work->arena->failed || !timeline_sort(work, orders->n, keys, 1, order))
        return false;
    memset(held->last_carried, 0xff, orders->n_streams * sizeof *held->last_carried);
    bool done = true;
    for (row_t i = 0; i < orders->n && done; i++) {
        row_t awaited[EVENT_KERNELS_MAX], o = order[i];
        const uint32_t stream = orders->stream[o];
        row_t n = timeline_event_kernels(work, queues, held, orders->awaited[o], orders->record_start[o], awaited);
        row_t kernel = stream < work->input->kernels.n_streams
                           ? timeline_next_launched(work, queues, stream, orders->call_start[o])
                           : ROW_NONE;
        for (row_t k = 0; k < n && done; k++)
            done = carry(work, held, stream, orders->call_start[o], awaited[k]) &&
                   (kernel == ROW_NONE || obey(work, held, kernel, awaited[k], report));
    }
    return done;
}

/* ---- A job whose traces tell no orders ---- */

static bool communicates(const struct timeline_kernels *kernels, row_t kernel) {
    return kernels->traits[kernel] & KERNEL_COMMUNICATES;
}

static bool may_wait(const struct timeline_kernels *kernels, row_t kernel, row_t awaited) {
    return awaited != ROW_NONE && kernels->stream[awaited] != kernels->stream[kernel] &&
           has_ended(kernels, awaited, kernel);
}

/* A collective waits for the last other kernel that was launched before it. */
static bool guess_before_collectives(const struct timeline_work *work, const struct timeline_queues *queues,
                                     struct timeline_held *held, struct timeline_report *report) {
    const struct timeline_kernels *kernels = &work->input->kernels;
    row_t last = ROW_NONE;
    bool done = true;
    for (row_t i = 0; i < kernels->n && done; i++) {
        row_t kernel = queues->by_launch[i];
        if (!communicates(kernels, kernel)) {
            last = kernel;
        } else if (may_wait(kernels, kernel, last)) {
            report->n_guessed++;
            done = hold(work, held, kernel, last);
        }
    }
    return done;
}

/* The last collective launched before each position of by_launch[]. */
static row_t *list_collectives(const struct timeline_work *work, const struct timeline_queues *queues) {
    const struct timeline_kernels *kernels = &work->input->kernels;
    row_t *before = arena_take(work->arena, (size_t)kernels->n + 1, sizeof *before);
    if (!before)
        return NULL;
    before[0] = ROW_NONE;
    for (row_t i = 0; i < kernels->n; i++)
        before[i + 1] = communicates(kernels, queues->by_launch[i]) ? queues->by_launch[i] : before[i];
    return before;
}

/* What is launched next behind a call that tells a stream to wait, if it is no collective, waits for the last one. */
static bool guess_behind_calls(const struct timeline_work *work, const struct timeline_queues *queues,
                               struct timeline_held *held, struct timeline_report *report) {
    const struct timeline_kernels *kernels = &work->input->kernels;
    const struct timeline_orders *orders = &work->input->orders;
    const row_t *before = list_collectives(work, queues);
    bool done = before != NULL;
    for (row_t i = 0; i < orders->n_calls && done; i++) {
        row_t next = times_below(queues->launch_time, kernels->n, orders->calls[i]);
        if (next == kernels->n || communicates(kernels, queues->by_launch[next]) ||
            !may_wait(kernels, queues->by_launch[next], before[next]))
            continue;
        report->n_guessed++;
        done = hold(work, held, queues->by_launch[next], before[next]);
    }
    return done;
}

bool timeline_find_held(const struct timeline_work *work, const struct timeline_queues *queues,
                        struct timeline_held *held, struct timeline_report *report) {
    const row_t n = work->input->kernels.n;
    *held = (struct timeline_held){.first = arena_take(work->arena, n, sizeof *held->first)};
    if (work->arena->failed)
        return false;
    memset(held->first, 0xff, n * sizeof *held->first);
    if (!work->input->options.of_job)
        return obey_orders(work, queues, held, report);
    bool done = follow_orders(work, queues, held, report);
    if (done && !work->input->orders.told)
        done = guess_before_collectives(work, queues, held, report) && guess_behind_calls(work, queues, held, report);
    return done;
}
