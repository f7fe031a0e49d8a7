/*
 * lanes.cu - items on lanes: which one stands before a moment and which behind it, and how many are under way; as
 * match/lanes.c does it, with searches for all questions at once, and a scan along each lane. O(n log n); 40 bytes an
 * item, 24 a question, 45 a row that is counted.
 */
#include "cuda/groups.h"
#include "cuda/steps.h"

struct neighbour_columns {
    row_t *start, *item; /* by lane */
    const uint64_t *item_time;
    const uint32_t *lane;
    const uint64_t *time;
    row_t *before, *after;
};

SHARED void find_neighbours(const struct neighbour_columns &c, row_t i) {
    row_t begin = c.start[c.lane[i]], end = c.start[c.lane[i] + 1];
    struct bisection at = {begin, end};
    while (at.low < at.high)
        bisect(&at, c.item_time[c.item[bisect_middle(at)]] <= c.time[i]);
    c.before[i] = at.low > begin ? c.item[at.low - 1] : ROW_NONE;
    c.after[i] = at.low < end ? c.item[at.low] : ROW_NONE;
}

void gpu_lane_neighbours(struct gpu *gpu, struct lane_neighbours_step *step) {
    const struct lane_items *items = step->items;
    gpu_enter(gpu, GPU_UP);
    const uint32_t *item_lane = gpu_up(gpu, items->lane, items->n);
    struct neighbour_columns c = {};
    c.item_time = gpu_up(gpu, items->time, items->n);
    c.lane = gpu_up(gpu, step->lane, step->n);
    c.time = gpu_up(gpu, step->time, step->n);
    gpu_ready(gpu);
    gpu_enter(gpu, GPU_SORT);
    c.start = gpu_take<row_t>(gpu, (uint64_t)items->n_lanes + 1);
    c.item = gpu_take<row_t>(gpu, items->n);
    c.before = gpu_take<row_t>(gpu, step->n);
    c.after = gpu_take<row_t>(gpu, step->n);
    groups_fill(gpu, item_lane, items->n, items->n_lanes, c.item, c.start);
    gpu_enter(gpu, GPU_OTHER);
    gpu_each<find_neighbours>(gpu, step->n, c);
    gpu_enter(gpu, GPU_DOWN);
    if (step->before)
        gpu_down(gpu, step->before, c.before, step->n);
    if (step->after)
        gpu_down(gpu, step->after, c.after, step->n);
}

struct length_columns {
    const uint32_t *lane;
    const uint8_t *up;
    row_t *row, *start;
    struct frame_depth *depth; /* by place */
    uint32_t *length;
};

SHARED void put_change(const struct length_columns &c, row_t place) {
    row_t row = c.row[place];
    c.depth[place] = frame_depth_of(c.lane[row], c.up[row] != 0);
}

SHARED void put_length(const struct length_columns &c, row_t place) {
    c.length[c.row[place]] = (uint32_t)c.depth[place].sum;
}

void gpu_queue_lengths(struct gpu *gpu, struct queue_lengths_step *step) {
    row_t n = step->n;
    gpu_enter(gpu, GPU_UP);
    struct length_columns c = {};
    c.lane = gpu_up(gpu, step->lane, n);
    c.up = gpu_up(gpu, step->up, n);
    gpu_ready(gpu);
    gpu_enter(gpu, GPU_SORT);
    c.row = gpu_take<row_t>(gpu, n);
    c.start = gpu_take<row_t>(gpu, (uint64_t)step->n_lanes + 1);
    c.depth = gpu_take<struct frame_depth>(gpu, n);
    c.length = gpu_take<uint32_t>(gpu, n);
    groups_fill(gpu, c.lane, n, step->n_lanes, c.row, c.start);
    gpu_enter(gpu, GPU_OTHER);
    gpu_each<put_change>(gpu, n, c);
    gpu_scan_depths(gpu, c.depth, n);
    gpu_each<put_length>(gpu, n, c);
    gpu_enter(gpu, GPU_DOWN);
    gpu_down(gpu, step->length, c.length, n);
}
