/*
 * queues.c - the engine sorts the changes and counts them on each stream.
 */
#include "facts/queues.h"

enum sutra_status queues_measure(const struct queue_changes *changes, const struct engine *engine,
                                 struct arena *scratch, row_t *order, uint32_t *length, struct sutra_error *error) {
    struct arena_mark mark = arena_mark(scratch);
    uint64_t *keys = arena_take(scratch, changes->n, sizeof *keys);
    uint32_t *lane = arena_take(scratch, changes->n, sizeof *lane);
    uint8_t *up = arena_take(scratch, changes->n, sizeof *up);
    enum sutra_status status = arena_status(scratch, error);
    for (row_t i = 0; i < changes->n && !status; i++) {
        keys[i] = changes->time[i];
        order[i] = i;
    }
    if (!status)
        status = engine->sort_keys(engine->state, &(struct sort_keys_step){keys, order, changes->n}, error);
    for (row_t i = 0; i < changes->n && !status; i++) {
        up[i] = order[i] < changes->n_launches;
        lane[i] = changes->lane[order[i]];
    }
    struct queue_lengths_step step = {lane, up, changes->n, changes->n_lanes, length};
    if (!status)
        status = engine->queue_lengths(engine->state, &step, error);
    arena_release(scratch, mark);
    return status;
}
