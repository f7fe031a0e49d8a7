/*
 * lanes.c - items on lanes: which one stands before a moment and which behind it, and how many are under way.
 *
 * For the first, items are brought together by lane, where their times rise too, and each question is a binary search.
 * The second is a count for each lane.
 */
#include <stdlib.h>
#include <string.h>

#include "base/error.h"
#include "match/steps.h"

/* Items by lane, stably: those of lane t are places start[t] .. start[t + 1] - 1. */
struct lane_index {
    row_t *start, *item;
};

static bool index_items(struct lane_index *index, const struct lane_items *items) {
    index->start = calloc((size_t)items->n_lanes + 2, sizeof *index->start);
    index->item = malloc(((size_t)items->n + 1) * sizeof *index->item);
    if (!index->start || !index->item)
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

enum sutra_status cpu_lane_neighbours(const struct lane_items *items, const uint32_t *lane, const uint64_t *time,
                                      row_t n, row_t *before, row_t *after, struct sutra_error *error) {
    struct lane_index index = {NULL, NULL};
    enum sutra_status status = index_items(&index, items) ? SUTRA_OK : error_memory(error);
    for (row_t i = 0; i < n && !status; i++) {
        row_t begin = index.start[lane[i]], end = index.start[lane[i] + 1], low = begin, high = end;
        while (low < high) {
            row_t middle = low + (high - low) / 2;
            if (items->time[index.item[middle]] <= time[i])
                low = middle + 1;
            else
                high = middle;
        }
        if (before)
            before[i] = low > begin ? index.item[low - 1] : ROW_NONE;
        if (after)
            after[i] = low < end ? index.item[low] : ROW_NONE;
    }
    free(index.start);
    free(index.item);
    return status;
}

enum sutra_status cpu_queue_lengths(const uint32_t *lane, const uint8_t *up, row_t n, uint32_t n_lanes,
                                    uint32_t *length, struct sutra_error *error) {
    uint32_t *now = calloc((size_t)n_lanes + 1, sizeof *now);
    if (!now)
        return error_memory(error);
    for (row_t i = 0; i < n; i++)
        length[i] = now[lane[i]] += up[i] ? 1 : UINT32_MAX;
    free(now);
    return SUTRA_OK;
}
