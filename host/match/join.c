/*
 * join.c - positions of keys; in come two columns of keys, out goes for each of the second the last position in the
 * first. An index of the first (see key_index.h) is asked once for each.
 */
#include "match/cpu_steps.h"
#include "match/key_index.h"

enum sutra_status cpu_join(void *pool, struct join_step *step, struct sutra_error *error) {
    struct engine engine = engine_cpu(pool);
    struct key_index index = {0};
    enum sutra_status status = key_index_build(&index, &engine, step->keys, step->n, KEY_LAST, NULL, error);
    for (row_t i = 0; i < step->n_wanted && !status; i++)
        step->found[i] = key_index_find(&index, step->wanted[i]);
    key_index_free(&index);
    return status;
}
