/*
 * graph_align.c - aligns the kernels of a graph launch with the dispatches of a captured segment; see graphs.h.
 *
 * A dispatch and a kernel agree if the names are equal, if the dispatch has no name, or if both are a memcpy or both a
 * memset. The first alignment that finds a dispatch for each kernel is the result:
 *
 *     in order       the i-th dispatch and the i-th kernel agree, and there are as many of both
 *     forward scan   names are recorded: each kernel takes the next dispatch that agrees, others are skipped
 *     by stream      names are recorded: a queue of kernels for each stream
 *
 *     dispatches   a  b  x  c  d          queues   stream 7   b  d      each dispatch takes the head that agrees; of
 *                  8  7  -  8  7                   stream 8   a  c      several heads the one with the longest run of
 *                                                                       agreement from here
 *
 * The next dispatch that agrees is found by binary search among the positions of a symbol; the run of agreement by
 * binary search with hashes of prefixes, which only decide between streams.
 *
 * Cost: O(n log n) for n kernels, times the number of streams by stream. The number of skipped dispatches is free.
 */
#include <string.h>

#include "analyze/launches/graphs.h"
#include "base/error.h"
#include "base/shared.h"
#include "match/steps.h"

#define HASH_BASE 0x9e3779b97f4a7c15U

enum sutra_status graph_segment_index(struct graph_segment *segment, struct arena *arena, struct arena *scratch,
                                      struct sutra_error *error) {
    row_t n = segment->n;
    struct arena_mark mark = arena_mark(scratch);
    uint64_t *sorted = arena_alloc(arena, n, sizeof *sorted);
    uint64_t *prefix = arena_alloc(arena, (size_t)n + 1, sizeof *prefix);
    row_t *rows = arena_alloc(scratch, n, sizeof *rows);
    TRY_ALLOC(!arena->failed && !scratch->failed, error);
    segment->is_named = true;
    prefix[0] = 0;
    for (row_t i = 0; i < n; i++) {
        sorted[i] = (uint64_t)segment->symbol[i] << 32 | i;
        prefix[i + 1] = prefix[i] * HASH_BASE + segment->symbol[i] + 1;
        rows[i] = i;
        segment->is_named &= segment->symbol[i] != GRAPH_UNNAMED;
    }
    segment->sorted = sorted;
    segment->prefix = prefix;
    enum sutra_status status = cpu_sort_keys(NULL, &(struct sort_keys_step){sorted, rows, n}, error);
    arena_release(scratch, mark);
    return status;
}

static bool agree(uint32_t symbol, const struct graph_kernel *kernel) {
    switch (symbol) {
    case GRAPH_UNNAMED:
        return true;
    case GRAPH_COPY:
        return kernel->copies;
    case GRAPH_SET:
        return kernel->sets;
    default:
        return symbol == kernel->symbol;
    }
}

/* The first dispatch with a symbol from an index on, or ROW_NONE. */
static row_t next_of_symbol(const struct graph_segment *segment, uint32_t symbol, row_t from) {
    uint64_t key = (uint64_t)symbol << 32 | from;
    row_t i = 0;
    BISECT(i, segment->n, segment->sorted[i] < key);
    return i < segment->n && segment->sorted[i] >> 32 == symbol ? (row_t)segment->sorted[i] : ROW_NONE;
}

/* The first dispatch of a named segment that agrees with a kernel from an index on, or ROW_NONE. */
static row_t next_agreeing(const struct graph_segment *segment, const struct graph_kernel *kernel, row_t from) {
    row_t next = ROW_NONE;
    if (kernel->symbol != GRAPH_NO_SYMBOL)
        next = next_of_symbol(segment, kernel->symbol, from);
    if (kernel->copies)
        next = MIN(next, next_of_symbol(segment, GRAPH_COPY, from));
    if (kernel->sets)
        next = MIN(next, next_of_symbol(segment, GRAPH_SET, from));
    return next;
}

static bool align_in_order(const struct graph_segment *segment, const struct graph_kernel *kernels, row_t n,
                           row_t *match) {
    if (segment->n != n)
        return false;
    for (row_t i = 0; i < n; i++) {
        if (!agree(segment->symbol[i], &kernels[i]))
            return false;
        match[i] = i;
    }
    return true;
}

static bool align_by_scan(const struct graph_segment *segment, const struct graph_kernel *kernels, row_t n,
                          row_t *match) {
    row_t from = 0;
    for (row_t i = 0; i < n; i++) {
        match[i] = next_agreeing(segment, &kernels[i], from);
        if (match[i] == ROW_NONE)
            return false;
        from = match[i] + 1;
    }
    return true;
}

/* The kernels of one stream, as a range of a list. */
struct stream_queue {
    value_key stream;
    row_t first, end; /* the first one is the head */
    row_t next;       /* the first dispatch that agrees with the head */
};

/* Kernels by stream, with hashes of their symbols and powers of the hash's base. */
struct stream_queues {
    struct stream_queue list[GRAPH_STREAMS_MAX];
    uint32_t n;
    row_t *kernel;
    uint64_t *prefix, *power;
};

/* False: too many streams, or out of memory. */
static bool make_queues(const struct graph_kernel *kernels, row_t n, struct arena *scratch,
                        struct stream_queues *queues) {
    uint8_t *queue_of = arena_alloc(scratch, n, sizeof *queue_of);
    queues->n = 0;
    queues->kernel = arena_alloc(scratch, n, sizeof *queues->kernel);
    queues->prefix = arena_alloc(scratch, (size_t)n + 1, sizeof *queues->prefix);
    queues->power = arena_alloc(scratch, (size_t)n + 1, sizeof *queues->power);
    if (scratch->failed)
        return false;
    for (row_t i = 0; i < n; i++) {
        uint32_t q = 0;
        while (q < queues->n && queues->list[q].stream != kernels[i].stream)
            q++;
        if (q == GRAPH_STREAMS_MAX)
            return false;
        if (q == queues->n)
            queues->list[queues->n++] = (struct stream_queue){.stream = kernels[i].stream};
        queues->list[q].end++; /* the length */
        queue_of[i] = (uint8_t)q;
    }
    row_t at = 0;
    for (uint32_t q = 0; q < queues->n; q++) {
        row_t length = queues->list[q].end;
        queues->list[q].first = queues->list[q].end = at;
        at += length;
    }
    for (row_t i = 0; i < n; i++)
        queues->kernel[queues->list[queue_of[i]].end++] = i;
    queues->prefix[0] = 0;
    queues->power[0] = 1;
    for (row_t i = 0; i < n; i++) {
        const struct graph_kernel *kernel = &kernels[queues->kernel[i]];
        uint32_t symbol = kernel->copies ? (uint32_t)GRAPH_COPY : kernel->sets ? (uint32_t)GRAPH_SET : kernel->symbol;
        queues->prefix[i + 1] = queues->prefix[i] * HASH_BASE + symbol + 1;
        queues->power[i + 1] = queues->power[i] * HASH_BASE;
    }
    return true;
}

/* The number of dispatches from an index on that agree with the kernels of a queue from its head on. */
static row_t run_of_agreement(const struct graph_segment *segment, const struct stream_queues *queues,
                              const struct stream_queue *queue, row_t from) {
    row_t longest = MIN(segment->n - from, queue->end - queue->first), at = queue->first, length = 0;
    BISECT(length, longest,
           segment->prefix[from + length + 1] - segment->prefix[from] * queues->power[length + 1] ==
               queues->prefix[at + length + 1] - queues->prefix[at] * queues->power[length + 1]);
    return length;
}

static bool align_by_stream(const struct graph_segment *segment, const struct graph_kernel *kernels, row_t n,
                            struct arena *scratch, row_t *match) {
    struct stream_queues queues;
    if (!make_queues(kernels, n, scratch, &queues))
        return false;
    /* each stream by itself aligns with the dispatches, or all streams together do not either: a cheap check first */
    for (uint32_t q = 0; q < queues.n; q++)
        for (row_t k = queues.list[q].first, next = 0; k < queues.list[q].end; k++, next++)
            if ((next = next_agreeing(segment, &kernels[queues.kernel[k]], next)) == ROW_NONE)
                return false;
    row_t from = 0;
    for (row_t n_matched = 0;; n_matched++) {
        /* the next dispatch that agrees with any head; a head without one cannot be matched any more */
        row_t dispatch = ROW_NONE;
        for (uint32_t q = 0; q < queues.n; q++) {
            struct stream_queue *queue = &queues.list[q];
            if (queue->first == queue->end)
                continue;
            if (n_matched == 0 || queue->next < from)
                queue->next = next_agreeing(segment, &kernels[queues.kernel[queue->first]], from);
            if (queue->next == ROW_NONE)
                return false;
            dispatch = MIN(dispatch, queue->next);
        }
        if (dispatch == ROW_NONE)
            return n_matched == n;

        /* the head that takes it */
        struct stream_queue *taker = NULL;
        row_t longest = 0;
        for (uint32_t q = 0; q < queues.n; q++) {
            struct stream_queue *queue = &queues.list[q];
            if (queue->first == queue->end || queue->next != dispatch)
                continue;
            row_t run = run_of_agreement(segment, &queues, queue, dispatch);
            if (taker && run <= longest)
                continue;
            taker = queue;
            longest = run;
        }
        if (!taker)
            return false;
        match[queues.kernel[taker->first++]] = dispatch;
        taker->next = 0; /* of the new head */
        from = dispatch + 1;
    }
}

enum graph_method graph_align(const struct graph_segment *segment, const struct graph_kernel *kernels, row_t n,
                              struct arena *scratch, row_t *match) {
    if (align_in_order(segment, kernels, n, match))
        return segment->is_named ? GRAPH_VERIFIED : GRAPH_COUNTED;
    if (!segment->is_named || segment->n < n)
        return GRAPH_UNMATCHED;
    if (align_by_scan(segment, kernels, n, match))
        return GRAPH_VERIFIED;
    struct arena_mark mark = arena_mark(scratch);
    bool found = align_by_stream(segment, kernels, n, scratch, match);
    if (scratch->failed)
        return GRAPH_NONE;
    arena_release(scratch, mark);
    return found ? GRAPH_STREAMS : GRAPH_UNMATCHED;
}
