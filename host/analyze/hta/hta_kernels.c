/*
 * hta_kernels.c - the rows with a stream as columns, sorted by start; their types, one look at each name.
 */
#include <stdlib.h>

#include "analyze/hta/hta.h"
#include "base/error.h"

static enum sutra_status make_columns(struct hta_kernels *kernels, row_t n, struct sutra_error *error) {
    kernels->event = malloc(((size_t)n + 1) * sizeof *kernels->event);
    kernels->start = malloc(((size_t)n + 1) * sizeof *kernels->start);
    kernels->end = malloc(((size_t)n + 1) * sizeof *kernels->end);
    kernels->type = malloc(((size_t)n + 1) * sizeof *kernels->type);
    return kernels->event && kernels->start && kernels->end && kernels->type ? SUTRA_OK : error_memory(error);
}

static row_t count_kernels(const struct hta_rows *rows) {
    row_t n = 0;
    for (row_t i = 0; i < rows->n; i++)
        n += (rows->state[rows->list[i]] & ROW_STREAM) != 0;
    return n;
}

/* The events of the kernels by rising start. */
static enum sutra_status sort_kernels(struct sutra_hta *hta, struct sutra_error *error) {
    const struct hta_rows *rows = &hta->rows;
    struct hta_kernels *kernels = &hta->kernels;
    const struct engine *engine = &hta->context->engine;
    uint64_t *keys = malloc(((size_t)count_kernels(rows) + 1) * sizeof *keys);
    if (!keys)
        return error_memory(error);
    for (row_t i = 0; i < rows->n; i++) {
        row_t event = rows->list[i];
        if (!(rows->state[event] & ROW_STREAM))
            continue;
        keys[kernels->n] = integer_sort_key(rows->start[event]);
        kernels->event[kernels->n++] = event;
    }
    enum sutra_status status = engine->sort_keys(engine->state, keys, kernels->event, kernels->n, error);
    free(keys);
    return status;
}

enum sutra_status hta_kernels_make(struct sutra_hta *hta, struct sutra_error *error) {
    const struct hta_rows *rows = &hta->rows;
    struct hta_kernels *kernels = &hta->kernels;
    uint8_t *types = kernels->of_name = calloc((size_t)rows->strings->n + 1, 1);
    enum sutra_status status = types ? SUTRA_OK : error_memory(error);
    if (!status)
        status = make_columns(kernels, count_kernels(rows), error);
    if (!status)
        status = sort_kernels(hta, error);
    for (row_t i = 0; i < kernels->n && !status; i++) {
        row_t event = kernels->event[i];
        uint32_t name = rows->events->name[event];
        if (!types[name])
            types[name] =
                (uint8_t)(1 + kernel_type_of(strings_text(rows->strings, name), strings_length(rows->strings, name)));
        kernels->start[i] = rows->start[event];
        kernels->end[i] = rows->start[event] + rows->dur[event];
        kernels->type[i] = types[name] - 1u;
    }
    hta->summary.n_kernels = kernels->n;
    return status;
}

void hta_kernels_free(struct hta_kernels *kernels) {
    free(kernels->event);
    free(kernels->start);
    free(kernels->end);
    free(kernels->type);
    free(kernels->of_name);
    *kernels = (struct hta_kernels){0};
}
