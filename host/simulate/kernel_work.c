/*
 * kernel_work.c - for each kernel the nearest operator with a formula, for each such operator its work, and back.
 */
#include "simulate/kernel_work.h"

#include <math.h>

#include "base/error.h"
#include "facts/flops.h"

/* Operators that a task does. */
#define TASK_OPERATORS 256

/* The nearest operator above a slot, before it is looked for: no row, there are fewer. */
#define NEAREST_UNKNOWN (ROW_NONE - 1)

/* An operator that kernels are shared by. */
struct worker {
    row_t slot;
    uint64_t n_ops, n_bytes;
    uint64_t weight, given; /* of its kernels; of those that have their share */
};

struct work_search {
    const struct node_graph *graph;
    row_t *nearest; /* by slot: the slot itself or one above it; ROW_NONE */
    row_t *number;  /* by slot: its place among the workers */
    struct worker *workers;
    row_t n_workers;
    bool *no_memory; /* by task */
};

static const struct op_kind *kind_of(const struct node_graph *graph, row_t slot) {
    struct et_text name = graph->plus->nodes.name[graph->message[slot]];
    const struct op_kind *kind = op_kind_find(name.bytes, name.length, OP_TABLE_ALL);
    return kind && kind->formula != FORMULA_NONE ? kind : NULL;
}

static bool is_operator(const struct node_graph *graph, row_t slot) {
    return graph->message[slot] != ROW_NONE && !graph_is_gpu(graph, graph->message[slot]);
}

/* The nearest operator with a formula, from the slot on. Nodes on the way learn it, so that none is passed twice; until
 * then they say that there is none, which is so where a way leads back to itself. */
static row_t find_nearest(struct work_search *search, row_t slot) {
    const struct node_graph *graph = search->graph;
    row_t stop = slot, found = ROW_NONE;
    while (stop != ROW_NONE && found == ROW_NONE && search->nearest[stop] == NEAREST_UNKNOWN) {
        search->nearest[stop] = ROW_NONE;
        if (is_operator(graph, stop) && kind_of(graph, stop))
            found = stop;
        else
            stop = graph->under[stop];
    }
    if (stop != ROW_NONE && found == ROW_NONE)
        found = search->nearest[stop];
    for (row_t at = slot; at != stop; at = graph->under[at])
        search->nearest[at] = found;
    if (stop != ROW_NONE)
        search->nearest[stop] = found;
    return found;
}

/* Computation on the GPU. */
static bool is_kernel(const struct node_graph *graph, row_t slot) {
    return graph->kept[slot] && graph_is_gpu(graph, graph->message[slot]) &&
           graph_type(graph, graph->message[slot]) == ET_COMP;
}

/* What a kernel counts among those of its operator. */
static uint64_t weight_of(const struct node_graph *graph, row_t slot) {
    uint64_t duration_us = graph->plus->nodes.duration_us[graph->message[slot]];
    const uint64_t most = (uint64_t)1 << 40; /* twelve days: sums keep within 64 bits */
    return duration_us == 0 ? 1 : duration_us < most ? duration_us : most;
}

/* Numbers the operators of all kernels. */
static void find_workers(struct work_search *search) {
    const struct node_graph *graph = search->graph;
    for (row_t i = 0; i < graph->n_made; i++) {
        row_t kernel = graph->made[i];
        row_t slot = is_kernel(graph, kernel) ? find_nearest(search, graph->under[kernel]) : ROW_NONE;
        if (slot == ROW_NONE)
            continue;
        if (search->number[slot] == ROW_NONE) {
            search->number[slot] = search->n_workers;
            search->workers[search->n_workers++] = (struct worker){.slot = slot};
        }
        search->workers[search->number[slot]].weight += weight_of(graph, kernel);
    }
}

static struct input_text input_text_of(struct et_text text) {
    return text.length ? (struct input_text){text.bytes, text.length} : (struct input_text){NULL, 0};
}

static bool measure(const struct node_graph *graph, struct op_inputs_parser *parser, struct worker *worker) {
    const struct plus_nodes *nodes = &graph->plus->nodes;
    row_t row = graph->message[worker->slot];
    const struct op_input_texts texts = {.values = input_text_of(nodes->io[0][row]),
                                         .shapes = input_text_of(nodes->io[1][row]),
                                         .types = input_text_of(nodes->io[2][row])};
    struct op_inputs inputs;
    if (!op_inputs_parse(parser, &texts, &inputs))
        return false;
    struct op_flops found = op_flops_find(kind_of(graph, worker->slot), &inputs, FLOPS_OURS);
    if (!found.missing && found.bytes < 0x1p63 && found.flops < 0x1p63) { /* which NaN is not */
        worker->n_ops = (uint64_t)found.flops;
        worker->n_bytes = (uint64_t)found.bytes;
    }
    return true;
}

static void measure_part(void *arg, size_t task) {
    struct work_search *search = arg;
    struct op_inputs_parser parser = {0};
    size_t end = (task + 1) * TASK_OPERATORS < search->n_workers ? (task + 1) * TASK_OPERATORS : search->n_workers;
    for (size_t i = task * TASK_OPERATORS; i < end && !search->no_memory[task]; i++)
        search->no_memory[task] = !measure(search->graph, &parser, &search->workers[i]);
    op_inputs_parser_free(&parser);
}

static bool measure_workers(struct work_search *search, struct arena *scratch) {
    size_t n_tasks = ((size_t)search->n_workers + TASK_OPERATORS - 1) / TASK_OPERATORS;
    bool failed = false;
    search->no_memory = arena_zeros(scratch, n_tasks, sizeof *search->no_memory);
    if (!search->no_memory)
        return false;
    pool_run(search->graph->context->pool, n_tasks, measure_part, search);
    for (size_t task = 0; task < n_tasks; task++)
        failed |= search->no_memory[task];
    return !failed;
}

uint64_t work_share(uint64_t amount, uint64_t before, uint64_t own, uint64_t total) {
    uint64_t begin = (uint64_t)((unsigned __int128)amount * before / total);
    return (uint64_t)((unsigned __int128)amount * (before + own) / total) - begin;
}

static void share_out(struct work_search *search, struct kernel_work *work) {
    const struct node_graph *graph = search->graph;
    for (row_t i = 0; i < graph->n_made; i++) {
        row_t kernel = graph->made[i];
        row_t slot = is_kernel(graph, kernel) ? find_nearest(search, graph->under[kernel]) : ROW_NONE;
        if (slot == ROW_NONE)
            continue;
        struct worker *worker = &search->workers[search->number[slot]];
        uint64_t weight = weight_of(graph, kernel);
        uint64_t n_ops = work_share(worker->n_ops, worker->given, weight, worker->weight);
        work->n_bytes[kernel] = work_share(worker->n_bytes, worker->given, weight, worker->weight);
        work->n_ops[kernel] = n_ops ? n_ops : 1;
        work->n_known += work->n_bytes[kernel] > 0;
        worker->given += weight;
    }
}

enum sutra_status kernel_work_find(struct kernel_work *work, struct arena *arena, const struct node_graph *graph,
                                   struct sutra_error *error) {
    row_t n = graph->plus->nodes.n;
    struct arena scratch = {0};
    struct work_search search = {.graph = graph,
                                 .nearest = arena_take(&scratch, n, sizeof *search.nearest),
                                 .number = arena_take(&scratch, n, sizeof *search.number),
                                 .workers = arena_take(&scratch, graph->n_made, sizeof *search.workers)};
    *work = (struct kernel_work){.n_ops = arena_zeros(arena, n, sizeof *work->n_ops),
                                 .n_bytes = arena_zeros(arena, n, sizeof *work->n_bytes)};
    bool ok = !scratch.failed && !arena->failed;
    for (row_t slot = 0; ok && slot < n; slot++) {
        search.nearest[slot] = NEAREST_UNKNOWN;
        search.number[slot] = ROW_NONE;
    }
    if (ok)
        find_workers(&search);
    ok = ok && measure_workers(&search, &scratch);
    if (ok)
        share_out(&search, work);
    arena_free(&scratch);
    return ok ? SUTRA_OK : error_memory(error);
}
