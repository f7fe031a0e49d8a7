/*
 * categories.c - the category of each launcher (launches.h).
 *
 * By the name of the launcher; else by the name of the nearest enclosing operator with a known name, up to the first
 * module, so that a known operator's launches through other operators have its category; else by the name of the
 * launcher's first GPU activity.
 *
 * Cost: O(launchers) in expectation, and a look-up per name.
 */
#include <string.h>

#include "analyze/launches/launches.h"
#include "base/error.h"
#include "facts/op_categories.h"

static enum op_category category_by_kernel(const struct launch_model *model, row_t attribution) {
    row_t device = model->attributions.device[model->attributions.first[attribution]],
          first = model->devices.event[device];
    if (model->devices.class[device] == DEVICE_COMMUNICATION)
        return OP_COMMUNICATION;
    uint32_t name = host_name(model, model->attributions.host[attribution]), kernel = model->events->name[first];
    return op_category_find(strings_text(model->strings, name), strings_length(model->strings, name),
                            strings_text(model->strings, kernel), strings_length(model->strings, kernel), OP_TABLE_ALL);
}

/* Caches of the search. Rows that a search has passed are cut from later paths. */
struct known_search {
    const struct launch_model *model;
    uint8_t *of_name;   /* by name of operators: category plus 1; 0: not classified yet */
    uint8_t *is_module; /* by name of Python functions: 1 a module, 2 no module; 0: not classified yet */
    row_t *above;       /* by row of hosts */
};

/* Whether a search ends at a row: at modules, and at operators with a known name. */
static bool is_known(const struct known_search *search, row_t row) {
    const struct launch_model *model = search->model;
    uint32_t name = host_name(model, row);
    uint8_t *category = &search->of_name[name], *module = &search->is_module[name];
    switch (model->hosts.kind[row]) {
    case HOST_OPERATOR:
        if (!*category)
            *category = (uint8_t)(op_category_find(strings_text(model->strings, name),
                                                   strings_length(model->strings, name), NULL, 0, OP_TABLE_ALL) +
                                  1);
        return *category != OP_OTHER + 1;
    case HOST_FRAME:
        if (!*module)
            *module = host_is_module(model, row) ? 1 : 2;
        return *module == 1;
    default:
        return false;
    }
}

enum sutra_status categorize_launchers(const struct launch_model *model, struct arena *arena, struct arena *scratch,
                                       uint8_t **categories, struct sutra_error *error) {
    const struct attribution_table *attributions = &model->attributions;
    const struct host_rows *hosts = &model->hosts;
    uint8_t *made = arena_alloc(arena, attributions->n, sizeof *made);
    if (arena->failed)
        return error_memory(error);
    *categories = made;
    struct arena_mark mark = arena_mark(scratch);
    const struct known_search search = {.model = model,
                                        .of_name = arena_zeros(scratch, model->strings->n, sizeof *search.of_name),
                                        .is_module = arena_zeros(scratch, model->strings->n, 1),
                                        .above = arena_alloc(scratch, hosts->n, sizeof *search.above)};
    if (scratch->failed)
        return error_memory(error);
    if (hosts->n)
        memcpy(search.above, hosts->parent, hosts->n * sizeof *search.above);
    for (row_t i = 0; i < attributions->n; i++) { /* launchers are ordered by start */
        /* the row itself, or the innermost enclosing known row that has not ended when it starts */
        row_t row = attributions->host[i], known = row;
        if (!is_known(&search, row)) {
            known = search.above[row];
            while (known != ROW_NONE && (hosts->stop[known] <= hosts->start[row] || !is_known(&search, known)))
                known = search.above[known];
            compress_path(search.above, row, known);
        }
        bool found = known != ROW_NONE && hosts->kind[known] == HOST_OPERATOR;
        made[i] =
            found ? (uint8_t)(search.of_name[host_name(model, known)] - 1) : (uint8_t)category_by_kernel(model, i);
    }
    arena_release(scratch, mark);
    return SUTRA_OK;
}
