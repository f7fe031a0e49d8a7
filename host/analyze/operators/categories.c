/*
 * categories.c - the category of each charge: by the name of its launcher; else by that of the nearest operator around
 * it whose name is known, up to the first module, so that what a known operator launches through others counts as its
 * own; else by the name of the first piece of work. To the reference nothing around counts.
 */
#include "analyze/operators/tables.h"

#include <string.h>

static enum op_category by_name(const struct op_reading *reading, row_t host, enum op_table table) {
    uint32_t name = host_name(reading, host);
    return op_category_find(strings_text(reading->strings, name), strings_length(reading->strings, name), NULL, 0,
                            table);
}

static enum op_category by_work(const struct op_reading *reading, row_t charge, enum op_table table) {
    row_t first = reading->devices.event[reading->charges.device[reading->charges.first[charge]]];
    uint32_t name = host_name(reading, reading->charges.host[charge]), work = reading->events->name[first];
    return op_category_find(strings_text(reading->strings, name), strings_length(reading->strings, name),
                            strings_text(reading->strings, work), strings_length(reading->strings, work), table);
}

/* The search for what is known around launchers. What was passed on the way stays passed, so ways are cut short. */
struct known_search {
    const struct op_reading *reading;
    uint8_t *of_name;   /* the category of each name of operators, plus 1; 0: not yet looked up */
    uint8_t *is_module; /* of each name of functions of Python: 1 it is one, 2 it is none; 0: not yet looked up */
    row_t *above;       /* by row of hosts */
};

/* Whether a search ends here: at modules, and at operators with a known name. */
static bool is_known(const struct known_search *search, row_t row) {
    const struct op_reading *reading = search->reading;
    uint32_t name = host_name(reading, row);
    uint8_t *category = &search->of_name[name], *module = &search->is_module[name];
    switch (reading->hosts.kind[row]) {
    case HOST_OPERATOR:
        if (!*category)
            *category = (uint8_t)(by_name(reading, row, OP_TABLE_ALL) + 1);
        return *category != OP_OTHER + 1;
    case HOST_FRAME:
        if (!*module)
            *module = op_is_module(reading, row) ? 1 : 2;
        return *module == 1;
    default:
        return false;
    }
}

/* The row itself, or the innermost known one around it that has not ended when it begins. Rows come by rising start. */
static row_t find_known(const struct known_search *search, row_t row) {
    const struct host_rows *hosts = &search->reading->hosts;
    if (is_known(search, row))
        return row;
    row_t found = search->above[row];
    while (found != ROW_NONE && (hosts->stop[found] <= hosts->start[row] || !is_known(search, found)))
        found = search->above[found];
    op_way_cut(search->above, row, found);
    return found;
}

static enum sutra_status categorize_by_all(const struct op_reading *reading, struct arena *scratch, uint8_t *made,
                                           struct sutra_error *error) {
    const struct op_charges *charges = &reading->charges;
    const struct host_rows *hosts = &reading->hosts;
    struct arena_mark mark = arena_mark(scratch);
    const struct known_search search = {.reading = reading,
                                        .of_name = arena_zeros(scratch, reading->strings->n, sizeof *search.of_name),
                                        .is_module = arena_zeros(scratch, reading->strings->n, 1),
                                        .above = arena_take(scratch, hosts->n, sizeof *search.above)};
    enum sutra_status status = arena_status(scratch, error);
    if (!status && hosts->n)
        memcpy(search.above, hosts->parent, hosts->n * sizeof *search.above);
    for (row_t i = 0; i < charges->n && !status; i++) {
        row_t known = find_known(&search, charges->host[i]);
        bool found = known != ROW_NONE && hosts->kind[known] == HOST_OPERATOR;
        made[i] = found ? (uint8_t)(search.of_name[host_name(reading, known)] - 1)
                        : (uint8_t)by_work(reading, i, OP_TABLE_ALL);
    }
    arena_release(scratch, mark);
    return status;
}

enum sutra_status op_charges_categorize(const struct op_reading *reading, struct arena *arena, struct arena *scratch,
                                        uint8_t **categories, struct sutra_error *error) {
    const struct op_charges *charges = &reading->charges;
    uint8_t *made = arena_take(arena, charges->n, sizeof *made);
    enum sutra_status status = arena_status(arena, error);
    if (!status && !(reading->rules & READING_REFERENCE))
        status = categorize_by_all(reading, scratch, made, error);
    for (row_t i = 0; i < charges->n && !status && reading->rules & READING_REFERENCE; i++)
        made[i] = (uint8_t)by_work(reading, i, OP_TABLE_TRACELENS);
    *categories = made;
    return status;
}
