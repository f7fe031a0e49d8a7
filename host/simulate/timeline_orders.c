/*
 * timeline_orders.c - which kernels wait for kernels of other streams: in come the streams' queues and what streams
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
#include <math.h>
#include <string.h>

#include "simulate/timeline_stages.h"

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
static row_t add_kernel(const struct timeline_kernels *kernels, row_t *list, row_t n, row_t kernel) {
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

row_t timeline_event_kernels(const struct timeline_work *work, const struct timeline_queues *queues,
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
            n = add_kernel(all, kernels, n, held->carried[at].kernel);
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
