/*
 * nccl_finish.c - TraceLens' finished tables of collectives: columns of integers, and the nodes of ranks.
 *
 * A node is as many ranks as the first trace lists GPUs. O(bytes of the tables).
 */
#include <ctype.h>
#include <stdlib.h>
#include <string.h>

#include "analyze/collectives/nccl.h"

/* What the names of columns end with that PyTorch fills with integers. */
static const char *const integer_endings[] = {"Group size", "In msg nelems", "Out msg nelems", "stream",
                                              "total nelems communicated"};

static bool has_ending(const char *name, const char *ending) {
    size_t n = strlen(name), n_ending = strlen(ending);
    return n >= n_ending && strcmp(name + n - n_ending, ending) == 0;
}

static void make_integers(struct sutra_table *table) {
    for (uint32_t column = 0; column < table->n_columns; column++)
        for (size_t i = 0; i < sizeof integer_endings / sizeof *integer_endings; i++)
            if (has_ending(table->columns[column].spec.name, integer_endings[i]))
                table_make_integers(table, column);
}

static uint32_t column_named(const struct sutra_table *table, const char *name) {
    uint32_t column = 0;
    while (column < table->n_columns && strcmp(table->columns[column].spec.name, name) != 0)
        column++;
    return column;
}

static void add_node_ids(struct nccl_work *work, struct sutra_table *table, uint32_t ranks, int64_t per_node) {
    int64_t *nodes = arena_take(work->arena, table->n_rows, sizeof *nodes);
    table->failed |= !nodes;
    for (uint64_t row = 0; row < table->n_rows && nodes; row++)
        nodes[row] = table_get_integer(table, ranks, row) / per_node;
    if (nodes)
        table_add_integers(table, "node_id", nodes);
}

/* Whether the ranks of a list such as "[0, 1]" are on one node. */
static const char *span_of(const char *ranks, int64_t per_node) {
    int64_t node = -1;
    for (const char *at = ranks; *at;) {
        if (!isdigit((unsigned char)*at)) {
            at++;
            continue;
        }
        char *end;
        int64_t of = strtoll(at, &end, 10) / per_node;
        if (node >= 0 && node != of)
            return "inter_node";
        node = of;
        at = end;
    }
    return node < 0 ? "unknown" : "intra_node";
}

static void add_node_spans(struct nccl_work *work, struct sutra_table *table, uint32_t members, int64_t per_node) {
    const char **spans = arena_take(work->arena, table->n_rows, sizeof *spans);
    table->failed |= !spans;
    for (uint64_t row = 0; row < table->n_rows && spans; row++) {
        size_t length;
        spans[row] = span_of(table_get_text(table, members, row, &length), per_node);
    }
    if (spans)
        table_add_texts(table, "node_span", spans);
}

void nccl_finish(struct nccl_work *work) {
    struct sutra_collectives *of = work->of;
    int64_t per_node = (int64_t)of->options.ranks_per_host;
    if (!per_node && of->tasks.n)
        per_node = collective_part_of(of, 0)->n_devices;
    for (int id = SUTRA_COLLECTIVES_NCCL_LONG; id < SUTRA_COLLECTIVES_N_TABLES; id++) {
        struct sutra_table *table = &of->tables[id];
        if (!of->made[id] || table->failed)
            continue;
        make_integers(table);
        uint32_t rank = column_named(table, "rank"), members = column_named(table, "Process Group Ranks");
        if (per_node <= 0 || table->n_rows == 0)
            continue;
        if (rank < table->n_columns)
            add_node_ids(work, table, rank, per_node);
        if (members < table->n_columns - (rank < table->n_columns))
            add_node_spans(work, table, members, per_node);
    }
}
