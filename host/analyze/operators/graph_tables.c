/*
 * graph_tables.c - tables of the kernels of CUDA and HIP graphs: by launch and method of attribution, and by operator,
 * module and method.
 *
 *     graph_kernels     cudaGraphLaunch   between   medium   5,049 kernels
 *     graph_operators   aten::mm   Linear   verified   exact   72 kernels
 *
 * Longest first. Unmatched kernels have a row of the first table only. O(n) in expectation, and a sort of the rows.
 */
#include <string.h>

#include "analyze/launches/graphs.h"
#include "analyze/operators/operators.h"
#include "base/error.h"
#include "columns/column.h"
#include "match/key_index.h"

/* Kernels of one key. */
struct graph_sum {
    row_t first; /* row of devices */
    int64_t n;
    wide_t ticks;
};

/* Sums the kernels of each launch name and method, or of each operator, module and method; order[] is by time. */
static enum sutra_status sum_kernels(const struct launch_model *model, bool by_operator, struct arena *arena,
                                     struct graph_sum **sums, uint32_t **order, uint32_t *n,
                                     struct sutra_error *error) {
    const struct graph_kernels *graphs = model->graphs;
    const struct device_rows *devices = &model->devices;
    struct tuples keys = {0};
    uint64_t capacity = 0;
    bool ok = true;
    for (row_t i = 0; i < devices->n && ok; i++) {
        uint8_t method = graphs->method[i];
        if (method == GRAPH_NONE || (by_operator && graphs->op[i] == STRING_NONE))
            continue;
        const struct tuple key = {{by_operator ? graphs->op[i] : model->hosts.name[devices->call[i]], method,
                                   by_operator ? graphs->module[i] : 0, 0}};
        uint32_t number = tuples_number(&keys, key);
        ok = number != TUPLE_NONE && arena_grow(arena, sums, number, &capacity, sizeof **sums);
        if (ok && number == *n)
            (*sums)[(*n)++] = (struct graph_sum){.first = i};
        if (ok) {
            (*sums)[number].n++;
            (*sums)[number].ticks += devices->stop[i] - devices->start[i];
        }
    }
    tuples_free(&keys);
    double *values = arena_alloc(arena, *n, sizeof *values);
    *order = arena_alloc(arena, *n, sizeof **order);
    if (!ok || arena->failed)
        return error_memory(error);
    for (uint32_t k = 0; k < *n; k++)
        values[k] = (double)(*sums)[k].ticks;
    return row_groups_order(values, *n, arena, *order, error);
}

enum sutra_status graph_table_add(const struct launch_model *model, int64_t rank, bool by_operator, struct arena *arena,
                                  struct sutra_table *table, struct sutra_error *error) {
    const struct graph_kernels *graphs = model->graphs;
    struct graph_sum *sums = NULL;
    uint32_t *order, n = 0;
    if (!graphs)
        return SUTRA_OK;
    struct arena_mark mark = arena_mark(arena);
    double all = (double)sum_device_time(model);
    TRY(sum_kernels(model, by_operator, arena, &sums, &order, &n, error));
    for (uint32_t k = 0; k < n; k++) {
        const struct graph_sum *sum = &sums[order[k]];
        uint8_t method = graphs->method[sum->first];
        table_integer(table, rank);
        table_string(table, model->strings,
                     by_operator ? graphs->op[sum->first] : model->hosts.name[model->devices.call[sum->first]]);
        if (by_operator && graphs->module[sum->first] != STRING_NONE)
            table_string(table, model->strings, graphs->module[sum->first]);
        else if (by_operator)
            table_words(table, "");
        table_words(table, graph_method_names[method]);
        table_words(table, graph_confidence_names[method]);
        table_integer(table, sum->n);
        table_real(table, (double)sum->ticks / model->ticks_per_us);
        table_real(table, all > 0 ? (double)sum->ticks / all * 100 : (double)NAN);
    }
    arena_release(arena, mark);
    return SUTRA_OK;
}

enum sutra_status operators_graphs(const struct op_input *input, struct arena *arena, struct sutra_operators *operators,
                                   struct sutra_error *error) {
    struct sutra_table *kernels = result_table_begin(&operators->result, SUTRA_OPERATORS_GRAPH_KERNELS);
    struct sutra_table *by_operator = result_table_begin(&operators->result, SUTRA_OPERATORS_GRAPH_OPERATORS);
    enum sutra_status status = graph_table_add(input->model, input->options.rank, false, arena, kernels, error);
    return status ? status : graph_table_add(input->model, input->options.rank, true, arena, by_operator, error);
}
