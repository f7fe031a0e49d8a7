/*
 * lanes.c - items on lanes: which one stands before a moment and which behind it, and how many are under way.
 *
 * For the first, items are brought together by lane, where their times rise too, and each question is a binary search.
 * The second is a count for each lane.
 */
#include <stdlib.h>

#include "base/arena.h"
#include "base/bisect.h"
#include "base/error.h"
#include "match/cpu_steps.h"

/* Items by lane, stably: those of lane t are places start[t] .. start[t + 1] - 1. */
struct lane_index {
    row_t *start, *item;
};

static bool index_items(struct arena *arena, struct lane_index *index, const struct lane_items *items) {
    index->start = arena_zeros(arena, (size_t)items->n_lanes + 2, sizeof *index->start);
    index->item = arena_take(arena, items->n, sizeof *index->item);
    if (arena->failed)
        return false;
    row_t *next = index->start + 1; /* first the counts, then where the lane goes on, in the end where it ends */
    for (row_t k = 0; k < items->n; k++)
        next[items->lane[k] + 1]++;
    for (uint32_t t = 0; t < items->n_lanes; t++)
        next[t + 1] += next[t];
    for (row_t k = 0; k < items->n; k++)
        index->item[next[items->lane[k]]++] = k;
    return true;
}

static void find_neighbours(const struct lane_index *index, const struct lane_neighbours_step *step, row_t i) {
    row_t begin = index->start[step->lane[i]], end = index->start[step->lane[i] + 1];
    struct bisection at = {begin, end};
    while (at.low < at.high)
        bisect(&at, step->items->time[index->item[bisect_middle(at)]] <= step->time[i]);
    if (step->before)
        step->before[i] = at.low > begin ? index->item[at.low - 1] : ROW_NONE;
    if (step->after)
        step->after[i] = at.low < end ? index->item[at.low] : ROW_NONE;
}

enum sutra_status cpu_lane_neighbours(void *pool, struct lane_neighbours_step *step, struct sutra_error *error) {
    (void)pool;
    struct arena arena = {0};
    struct lane_index index;
    enum sutra_status status = index_items(&arena, &index, step->items) ? SUTRA_OK : error_memory(error);
    for (row_t i = 0; i < step->n && !status; i++)
        find_neighbours(&index, step, i);
    arena_free(&arena);
    return status;
}

enum sutra_status cpu_queue_lengths(void *pool, struct queue_lengths_step *step, struct sutra_error *error) {
    (void)pool;
    uint32_t *now = calloc((size_t)step->n_lanes + 1, sizeof *now);
    if (!now)
        return error_memory(error);
    for (row_t i = 0; i < step->n; i++)
        step->length[i] = now[step->lane[i]] += step->up[i] ? 1 : UINT32_MAX;
    free(now);
    return SUTRA_OK;
}
