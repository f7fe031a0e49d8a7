/*
 * join.c - positions of keys; in come two columns of keys, out goes for each of the second the last position in the
 * first. An index of the first (see key_index.h) is asked once for each.
 */
#include "match/key_index.h"
#include "match/steps.h"

enum sutra_status cpu_join(struct pool *pool, const value_key *keys, row_t n, const value_key *wanted, row_t n_wanted,
                           row_t *found, struct sutra_error *error) {
    struct engine engine = engine_cpu(pool);
    struct key_index index = {0};
    enum sutra_status status = key_index_build(&index, &engine, keys, n, KEY_LAST, NULL, error);
    for (row_t i = 0; i < n_wanted && !status; i++)
        found[i] = key_index_find(&index, wanted[i]);
    key_index_free(&index);
    return status;
}
