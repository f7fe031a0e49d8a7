/*
 * queues.c - the engine sorts the changes and counts them on each stream.
 */
#include "facts/queues.h"

/* Sorts the changes stably by a column. */
static enum sutra_status sort_by(const uint64_t *column, uint64_t *keys, row_t n, const struct engine *engine,
                                 row_t *change, struct sutra_error *error) {
    for (row_t i = 0; i < n; i++)
        keys[i] = column[change[i]];
    return engine->sort_keys(engine->state, &(struct sort_keys_step){keys, change, n}, error);
}

enum sutra_status queues_measure(const struct queue_changes *changes, const struct engine *engine,
                                 struct arena *scratch, struct queue_lengths *series, struct sutra_error *error) {
    struct arena_mark mark = arena_mark(scratch);
    row_t n = changes->n;
    uint64_t *keys = arena_take(scratch, n, sizeof *keys);
    uint8_t *up = arena_take(scratch, n, sizeof *up);
    enum sutra_status status = arena_status(scratch, error);
    for (row_t i = 0; i < n; i++)
        series->change[i] = i;
    if (!status)
        status = sort_by(changes->time, keys, n, engine, series->change, error);
    if (!status)
        status = sort_by(changes->stream, keys, n, engine, series->change, error);
    series->n_lanes = 0;
    for (row_t i = 0; i < n && !status; i++) {
        series->n_lanes += i == 0 || keys[i] != keys[i - 1];
        series->lane[i] = series->n_lanes - 1;
        up[i] = changes->up[series->change[i]];
    }
    struct queue_lengths_step step = {series->lane, up, n, series->n_lanes, series->length};
    if (!status)
        status = engine->queue_lengths(engine->state, &step, error);
    arena_release(scratch, mark);
    return status;
}
