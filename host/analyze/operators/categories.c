/*
 * categories.c - the category of each charge: by the name of its launcher; else by that of the nearest operator around
 * it whose name is known, up to the first module, so that what a known operator launches through others counts as its
 * own; else by the name of the first piece of work. To the reference nothing around counts.
 */
#include "analyze/operators/tables.h"

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

/* Marks modules, and operators with a known name. of_name[] = the category of each name of operators, plus 1. */
static void mark_known(const struct op_reading *reading, uint8_t *of_name, uint8_t *marked) {
    op_modules_mark(reading, marked);
    for (row_t row = 0; row < reading->hosts.n; row++) {
        if (reading->hosts.kind[row] != HOST_OPERATOR)
            continue;
        uint8_t *known = &of_name[host_name(reading, row)];
        if (!*known)
            *known = (uint8_t)(by_name(reading, row, OP_TABLE_ALL) + 1);
        marked[row] = *known != OP_OTHER + 1;
    }
}

static enum sutra_status categorize_by_all(const struct op_reading *reading, struct arena *scratch, uint8_t *made,
                                           struct sutra_error *error) {
    const struct op_charges *charges = &reading->charges;
    struct arena_mark mark = arena_mark(scratch);
    uint8_t *marked = arena_take(scratch, reading->hosts.n, sizeof *marked);
    uint8_t *of_name = arena_zeros(scratch, reading->strings->n, sizeof *of_name);
    row_t *around = arena_take(scratch, reading->hosts.n, sizeof *around);
    enum sutra_status status = arena_status(scratch, error);
    if (!status) {
        mark_known(reading, of_name, marked);
        status = op_reading_around(reading, marked, scratch, around, error);
    }
    for (row_t i = 0; i < charges->n && !status; i++) {
        row_t host = charges->host[i], known = marked[host] ? host : around[host];
        bool found = known != ROW_NONE && reading->hosts.kind[known] == HOST_OPERATOR;
        made[i] =
            found ? (uint8_t)(of_name[host_name(reading, known)] - 1) : (uint8_t)by_work(reading, i, OP_TABLE_ALL);
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
