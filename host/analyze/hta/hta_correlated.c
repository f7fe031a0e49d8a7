/*
 * hta_correlated.c - kernels by correlation: a launch of a graph has many, and damaged traces have anything.
 *
 * Groups are numbered by the last kernel that has the correlation. O(n).
 */
#include <stdlib.h>
#include <string.h>

#include "analyze/hta/hta.h"
#include "base/error.h"

static enum sutra_status make_columns(struct hta_correlated *made, row_t n, struct sutra_error *error) {
    made->in_table = calloc((size_t)n + 1, sizeof *made->in_table);
    made->event = malloc(((size_t)n + 1) * sizeof *made->event);
    made->first = calloc((size_t)n + 2, sizeof *made->first);
    made->keys = malloc(((size_t)n + 1) * sizeof *made->keys);
    made->group = malloc(((size_t)n + 1) * sizeof *made->group);
    return made->in_table && made->event && made->first && made->keys && made->group ? SUTRA_OK : error_memory(error);
}

/* The kernels that have a correlation, in the order of the table. */
static void gather(const struct hta_rows *rows, struct hta_correlated *made) {
    for (row_t i = 0; i < rows->n; i++) {
        row_t event = rows->list[i];
        if (!(rows->state[event] & ROW_STREAM) || !is_correlation(rows->events->correlation[event]))
            continue;
        made->in_table[made->n] = event;
        made->keys[made->n++] = rows->events->correlation[event];
    }
}

enum sutra_status hta_correlated_make(struct sutra_hta *hta, struct sutra_error *error) {
    const struct engine *engine = &hta->context->engine;
    struct hta_correlated *made = &hta->correlated;
    enum sutra_status status = make_columns(made, hta->kernels.n, error);
    if (!status) {
        gather(&hta->rows, made);
        status = engine->join(engine->state, made->keys, made->n, made->keys, made->n, made->group, error);
    }
    made->n_groups = made->n; /* those whose last kernel stands elsewhere are empty */
    row_t *next = made->first ? made->first + 1 : NULL;
    for (row_t i = 0; i < made->n && !status; i++)
        next[made->group[i] + 1]++;
    for (row_t g = 0; g < made->n && !status; g++)
        next[g + 1] += next[g];
    for (row_t i = 0; i < made->n && !status; i++)
        made->event[next[made->group[i]]++] = made->in_table[i];
    return status;
}

enum sutra_status hta_correlated_find(const struct sutra_hta *hta, const value_key *keys, row_t n, row_t *groups,
                                      struct sutra_error *error) {
    const struct engine *engine = &hta->context->engine;
    const struct hta_correlated *made = &hta->correlated;
    return engine->join(engine->state, made->keys, made->n, keys, n, groups, error);
}

void hta_correlated_free(struct hta_correlated *correlated) {
    free(correlated->in_table);
    free(correlated->event);
    free(correlated->first);
    free(correlated->keys);
    free(correlated->group);
    *correlated = (struct hta_correlated){0};
}
