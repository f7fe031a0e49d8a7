/*
 * hta_kernels.c - the rows with a stream as columns, sorted by start; their types, one look at each name.
 */
#include "analyze/hta/hta.h"
#include "base/error.h"

static row_t count_kernels(const struct hta_rows *rows) {
    row_t n = 0;
    for (row_t i = 0; i < rows->n; i++)
        n += (rows->state[rows->list[i]] & HTA_STREAM) != 0;
    return n;
}

/* The events of the kernels by rising start. */
static enum sutra_status sort_kernels(const struct hta_rows *rows, const struct engine *engine, uint64_t *keys,
                                      struct hta_kernels *kernels, struct sutra_error *error) {
    for (row_t i = 0; i < rows->n; i++) {
        row_t event = rows->list[i];
        if (!(rows->state[event] & HTA_STREAM))
            continue;
        keys[kernels->n] = integer_sort_key(rows->start[event]);
        kernels->event[kernels->n++] = event;
    }
    return engine->sort_keys(engine->state, &(struct sort_keys_step){keys, kernels->event, kernels->n}, error);
}

static enum kernel_type type_of(const struct hta_rows *rows, const struct sutra_hta_options *options, uint32_t name) {
    const char *text = strings_text(rows->strings, name);
    size_t length = strings_length(rows->strings, name);
    bool newer = options->hta_version == SUTRA_HTA_VERSION_0_6;
    return newer ? kernel_type_of_0_6(text, length, options->compat) : kernel_type_of(text, length);
}

static void fill_columns(const struct hta_rows *rows, const struct sutra_hta_options *options,
                         struct hta_kernels *kernels) {
    uint8_t *types = kernels->of_name;
    for (row_t i = 0; i < kernels->n; i++) {
        row_t event = kernels->event[i];
        uint32_t name = rows->events->name[event];
        if (!types[name])
            types[name] = (uint8_t)(1 + type_of(rows, options, name));
        kernels->start[i] = rows->start[event];
        kernels->end[i] = rows->start[event] + rows->dur[event];
        kernels->type[i] = types[name] - 1u;
    }
}

enum sutra_status hta_kernels_make(const struct hta_rows *rows, const struct sutra_hta_options *options,
                                   const struct engine *engine, struct arena *arena, struct hta_kernels *kernels,
                                   struct sutra_error *error) {
    row_t n = count_kernels(rows);
    *kernels = (struct hta_kernels){.event = arena_take(arena, n, sizeof *kernels->event),
                                    .start = arena_take(arena, n, sizeof *kernels->start),
                                    .end = arena_take(arena, n, sizeof *kernels->end),
                                    .type = arena_take(arena, n, sizeof *kernels->type),
                                    .of_name = arena_zeros(arena, rows->strings->n, sizeof *kernels->of_name)};
    struct arena_mark mark = arena_mark(arena);
    uint64_t *keys = arena_take(arena, n, sizeof *keys);
    enum sutra_status status = arena->failed ? error_memory(error) : sort_kernels(rows, engine, keys, kernels, error);
    if (!status)
        fill_columns(rows, options, kernels);
    arena_release(arena, mark);
    return status;
}
