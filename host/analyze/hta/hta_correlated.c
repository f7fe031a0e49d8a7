/*
 * hta_correlated.c - kernels by correlation: a launch of a graph has many, and damaged traces have anything.
 *
 * Groups are numbered by the last kernel that has the correlation. O(n).
 */
#include "analyze/hta/hta.h"
#include "base/error.h"

/* The kernels that have a correlation, in the order of the table. */
static void gather(const struct hta_rows *rows, struct hta_correlated *made) {
    for (row_t i = 0; i < rows->n; i++) {
        row_t event = rows->list[i];
        if (!(rows->state[event] & HTA_STREAM) || !is_correlation(rows->events->correlation[event]))
            continue;
        made->in_table[made->n] = event;
        made->keys[made->n++] = rows->events->correlation[event];
    }
}

/* Deals the kernels out to their groups. */
static void deal(struct hta_correlated *made) {
    row_t *next = made->first + 1; /* the place of the next kernel of each group, until all are dealt out */
    made->n_groups = made->n;      /* those whose last kernel stands elsewhere are empty */
    for (row_t i = 0; i < made->n; i++)
        next[made->group[i] + 1]++;
    for (row_t g = 0; g < made->n; g++)
        next[g + 1] += next[g];
    for (row_t i = 0; i < made->n; i++)
        made->event[next[made->group[i]]++] = made->in_table[i];
}

enum sutra_status hta_correlated_make(const struct hta_rows *rows, row_t n_kernels, const struct engine *engine,
                                      struct arena *arena, struct hta_correlated *correlated,
                                      struct sutra_error *error) {
    *correlated = (struct hta_correlated){
        .event = arena_take(arena, n_kernels, sizeof *correlated->event),
        .first = arena_zeros(arena, (size_t)n_kernels + 2, sizeof *correlated->first),
        .in_table = arena_take(arena, n_kernels, sizeof *correlated->in_table),
        .group = arena_take(arena, n_kernels, sizeof *correlated->group),
        .keys = arena_take(arena, n_kernels, sizeof *correlated->keys),
    };
    if (arena->failed)
        return error_memory(error);
    gather(rows, correlated);
    struct join_step step = {correlated->keys, correlated->n, correlated->keys, correlated->n, correlated->group};
    enum sutra_status status = engine->join(engine->state, &step, error);
    if (!status)
        deal(correlated);
    return status;
}

enum sutra_status hta_correlated_find(const struct hta_input *input, const value_key *keys, row_t n, row_t *groups,
                                      struct sutra_error *error) {
    const struct hta_correlated *made = &input->correlated;
    return input->engine->join(input->engine->state, &(struct join_step){made->keys, made->n, keys, n, groups}, error);
}
