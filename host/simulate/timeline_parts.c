/*
 * timeline_parts.c - kernels that ran side by side, for a simulator whose GPU runs one at a time; in come the moments
 * at which kernels became ready and their ends, out go parts that do not overlap.
 *
 *     measured   stream 7   [ a                ]           each moment belongs to the kernel that ends first
 *                stream 8        [ b    ]
 *     parts                 [ a ][ b    ][ a   ]           parts below 2 us join the next part of their kernel
 *
 * Computation and communication have a resource each; communication of a job stays whole, since it meets that of other
 * ranks. One sweep with a heap of the running kernels.
 */
#include <math.h>
#include <string.h>

#include "columns/row_heap.h"
#include "simulate/timeline_stages.h"

/* Parts that are shorter are not worth a node. */
#define SHORTEST_PART_US 2.0

/* A stretch of time in which one kernel ran; those of a kernel are a list. */
struct gpu_stretch {
    double start, end;
    row_t after; /* the kernel that ran before, or ROW_NONE */
    row_t next;  /* of the same kernel, or ROW_NONE */
};

struct gpu_sharing {
    const struct timeline_kernels *kernels;
    const double *ready, *done;
    row_t *first, *last; /* per kernel: its stretches */
    struct gpu_stretch *stretches;
    row_t n_stretches;
    struct row_heap heap; /* positions in waiting[] of the kernels that have begun, by (end, position) */
    const row_t *waiting; /* kernels by the moment at which they are ready */
};

/* Of positions in waiting[]. */
static bool ends_before(const void *of, row_t a, row_t b) {
    const struct gpu_sharing *sharing = of;
    double end_a = sharing->done[sharing->waiting[a]], end_b = sharing->done[sharing->waiting[b]];
    return end_a != end_b ? end_a < end_b : a < b;
}

/* The kernel runs from `start` to `end`, after `before`. */
static void run_kernel(struct gpu_sharing *sharing, row_t kernel, row_t before, double start, double end) {
    row_t last = sharing->last[kernel];
    if (last != ROW_NONE && before == kernel) {
        sharing->stretches[last].end = end;
        return;
    }
    row_t made = sharing->n_stretches++;
    sharing->stretches[made] = (struct gpu_stretch){start, end, before, ROW_NONE};
    *(last == ROW_NONE ? &sharing->first[kernel] : &sharing->stretches[last].next) = made;
    sharing->last[kernel] = made;
}

/* Shares one resource out to n kernels. At each moment at which one begins or ends the next stretch begins, so there
 * are at most two for each. */
static void share_resource(struct gpu_sharing *sharing, row_t n, double origin) {
    double now = origin;
    row_t begun = 0, before = ROW_NONE;
    while (begun < n || sharing->heap.n) {
        if (!sharing->heap.n)
            now = fmax(now, sharing->ready[sharing->waiting[begun]]);
        while (begun < n && sharing->ready[sharing->waiting[begun]] <= now)
            row_heap_push(&sharing->heap, begun++, ends_before, sharing);
        row_t kernel = sharing->waiting[sharing->heap.rows[0]];
        double end = sharing->done[kernel];
        double until = begun < n ? fmin(end, sharing->ready[sharing->waiting[begun]]) : end;
        if ((before == kernel && sharing->last[kernel] != ROW_NONE) || until > now || end <= now)
            run_kernel(sharing, kernel, before, now, fmax(until, now));
        before = kernel;
        now = fmax(now, until);
        if (end <= now)
            row_heap_pop(&sharing->heap, ends_before, sharing);
        if (!sharing->heap.n)
            before = ROW_NONE;
    }
}

/* Each of n kernels is one stretch. */
static void leave_whole(struct gpu_sharing *sharing, row_t n) {
    for (row_t i = 0; i < n; i++)
        run_kernel(sharing, sharing->waiting[i], ROW_NONE, sharing->ready[sharing->waiting[i]],
                   sharing->done[sharing->waiting[i]]);
}

/* ---- From stretches to parts ---- */

/* The kernel that ran before a stretch, if it is another one, which was done by then; else ROW_NONE. There is no ring:
 * a kernel that waits for this one is not ready before this one is done, so that it cannot run before a stretch of
 * it. */
static row_t done_before(const struct gpu_sharing *sharing, row_t kernel, const struct gpu_stretch *stretch) {
    row_t other = stretch->after;
    bool is_done = other != ROW_NONE && other != kernel && sharing->done[other] <= stretch->start;
    return is_done ? other : ROW_NONE;
}

static void add_part(struct timeline_parts *parts, row_t kernel, const struct gpu_stretch *part, bool is_first) {
    row_t i = parts->n++;
    parts->kernel[i] = kernel;
    parts->start[i] = part->start;
    parts->end[i] = part->end;
    parts->after[i] = part->after;
    parts->is_first[i] = is_first;
    parts->is_last[i] = false;
}

/* The parts of a kernel: its stretches, where a short one gives its time to the next. */
static void make_parts(const struct gpu_sharing *sharing, row_t kernel, struct timeline_parts *parts) {
    struct gpu_stretch part = {.next = sharing->first[kernel]};
    bool is_first = true;
    double given = 0;
    while (part.next != ROW_NONE) {
        part = sharing->stretches[part.next];
        part.after = done_before(sharing, kernel, &part);
        part.start -= given;
        given = part.end - part.start;
        if (part.next != ROW_NONE && given < SHORTEST_PART_US)
            continue;
        add_part(parts, kernel, &part, is_first);
        is_first = false;
        given = 0;
    }
    parts->is_last[parts->n - 1] = true;
}

static bool take_parts(struct arena *arena, size_t most, struct timeline_parts *parts) {
    *parts = (struct timeline_parts){
        .kernel = arena_take(arena, most, sizeof *parts->kernel),
        .start = arena_take(arena, most, sizeof *parts->start),
        .end = arena_take(arena, most, sizeof *parts->end),
        .after = arena_take(arena, most, sizeof *parts->after),
        .is_first = arena_take(arena, most, sizeof *parts->is_first),
        .is_last = arena_take(arena, most, sizeof *parts->is_last),
    };
    return !arena->failed;
}

/* Kernels by the moment at which they are ready, of equal ones as by_start[] has them; those of one resource. */
static row_t pick_waiting(const struct timeline_kernels *kernels, const row_t *by_ready, bool communicates,
                          row_t *waiting) {
    row_t n = 0;
    for (row_t i = 0; i < kernels->n; i++)
        if (((kernels->traits[by_ready[i]] & KERNEL_COMMUNICATES) != 0) == communicates)
            waiting[n++] = by_ready[i];
    return n;
}

/* Rows in the order of `order` and, first, of rising keys. */
static bool sort_ordered(const struct timeline_work *work, const row_t *order, const double *key, row_t *sorted) {
    const row_t n = work->input->kernels.n;
    double *in_order = arena_take(work->arena, n, sizeof *in_order);
    if (work->arena->failed)
        return false;
    for (row_t i = 0; i < n; i++)
        in_order[i] = key[order[i]];
    const double *keys[] = {in_order};
    if (!timeline_sort(work, n, keys, 1, sorted))
        return false;
    for (row_t i = 0; i < n; i++)
        sorted[i] = order[sorted[i]];
    return true;
}

bool timeline_share_gpu(const struct timeline_work *work, const struct timeline_queues *queues,
                        const struct timeline_spans *spans, struct timeline_parts *parts) {
    const struct timeline_kernels *kernels = &work->input->kernels;
    const size_t n = kernels->n;
    struct gpu_sharing sharing = {
        .kernels = kernels,
        .ready = spans->ready,
        .done = spans->done,
        .first = arena_take(work->arena, n, sizeof(row_t)),
        .last = arena_take(work->arena, n, sizeof(row_t)),
        .stretches = arena_take(work->arena, 2 * n, sizeof(struct gpu_stretch)),
        .heap.rows = arena_take(work->arena, n, sizeof(row_t)),
    };
    row_t *sorted = arena_take(work->arena, n, sizeof *sorted), *waiting = arena_take(work->arena, n, sizeof *waiting);
    if (!take_parts(work->arena, 2 * n, parts) || !sort_ordered(work, queues->by_start, spans->ready, sorted))
        return false;
    memset(sharing.first, 0xff, n * sizeof *sharing.first);
    memset(sharing.last, 0xff, n * sizeof *sharing.last);
    sharing.waiting = waiting;
    share_resource(&sharing, pick_waiting(kernels, sorted, false, waiting), work->origin);
    const row_t n_communicating = pick_waiting(kernels, sorted, true, waiting);
    if (work->input->options.of_job)
        leave_whole(&sharing, n_communicating);
    else
        share_resource(&sharing, n_communicating, work->origin);
    if (!sort_ordered(work, queues->by_start, spans->done, sorted))
        return false;
    for (row_t i = 0; i < kernels->n; i++)
        make_parts(&sharing, sorted[i], parts);
    return true;
}
