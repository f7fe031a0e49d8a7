/*
 * threads.c - numbers for all tids at once, through the engine's index.
 */
#include "facts/threads.h"

enum sutra_status threads_number(const struct device_events *events, const row_t *rows, row_t n,
                                 const struct engine *engine, struct arena *scratch, struct key_index *first,
                                 uint32_t *numbers, uint32_t *n_threads, struct sutra_error *error) {
    struct arena_mark mark = arena_mark(scratch);
    value_key *tids = arena_take(scratch, n, sizeof *tids);
    enum sutra_status status = arena_status(scratch, error);
    for (row_t i = 0; i < n && !status; i++)
        tids[i] = events->tid[rows[i]];
    if (!status)
        status = key_index_build(first, engine, tids, n, KEY_FIRST, NULL, error);
    if (!status)
        *n_threads = key_index_number(first, tids, n, numbers);
    arena_release(scratch, mark);
    return status;
}
