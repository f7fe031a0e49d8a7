/*
 * ways.c - charges and what is around them to numbers: in come rows of the host that are charged, out go the rows on
 * their ways in order.
 */
#include "analyze/operators/ways.h"

#include "columns/row_ranks.h"

/* What is around a row that is there is there, too. */
static void add_ways(const struct op_reading *reading, const struct row_ranks *ranks) {
    for (row_t i = 0; i < reading->charges.n; i++)
        for (row_t row = reading->charges.host[i]; row != ROW_NONE && row_ranks_add(ranks, row);)
            row = reading->hosts.around[row];
}

static void list_ways(const struct op_reading *reading, const struct row_ranks *ranks, struct op_ways *ways) {
    row_ranks_list(ranks, ways->host);
    for (row_t way = 0; way < ways->n; way++) {
        row_t around = reading->hosts.around[ways->host[way]];
        ways->above[way] = around == ROW_NONE ? ROW_NONE : row_rank(ranks, around);
    }
    for (row_t i = 0; i < reading->charges.n; i++)
        ways->of_charge[i] = row_rank(ranks, reading->charges.host[i]);
}

enum sutra_status op_ways_make(const struct op_reading *reading, struct arena *arena, struct arena *scratch,
                               struct op_ways *ways, struct sutra_error *error) {
    struct arena_mark mark = arena_mark(scratch);
    struct row_ranks ranks = row_ranks_take(scratch, reading->hosts.n);
    enum sutra_status status = arena_status(scratch, error);
    if (!status) {
        add_ways(reading, &ranks);
        ways->n = row_ranks_count(&ranks);
        ways->host = arena_take(arena, ways->n, sizeof *ways->host);
        ways->above = arena_take(arena, ways->n, sizeof *ways->above);
        ways->of_charge = arena_take(arena, reading->charges.n, sizeof *ways->of_charge);
        status = arena_status(arena, error);
    }
    if (!status)
        list_ways(reading, &ranks, ways);
    arena_release(scratch, mark);
    return status;
}
