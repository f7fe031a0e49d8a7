/*
 * et_plus_legacy.c - completes nodes of link-legacy (et_plus_nodes.h).
 *
 * Input: the nodes as et_plus_read() reads them; this file walks their texts again for "ts", "dur" and "args". CPU
 * operators are visited by start:
 *
 *     a |--------------|    exclusive: a less the union of b and c, as far as they are inside a
 *     b |---|               its parent is a, although both start together
 *     c            |-----|  ends after a: durations of old traces are rounded
 *
 * Cost: O(n log n).
 */
#include <math.h>
#include <stdlib.h>

#include "base/error.h"
#include "base/shared.h"
#include "match/key_index.h"
#include "match/steps.h"
#include "simulate/communication.h"
#include "simulate/et_plus_nodes.h"
#include "simulate/node_graph.h"

/* Ancestors without times between an operator and the operator that contains it. */
#define UNTIMED_LEVELS 64

/* All attributes, as faults and as flags. */
#define ATTRIBUTE_FAULTS ((ET_PLUS_BIT(ET_PLUS_OP_SCHEMA + 1) - 1) & ~(ET_PLUS_BIT(ET_PLUS_FIRST_NUMBER) - 1))
#define ATTRIBUTE_NULLS  ((uint32_t)ET_PLUS_NULL * (((uint32_t)1 << (ET_PLUS_N_NUMBERS + 1)) - 1))

/* A CPU operator with times. PyTorch numbers rf_ids by start, more exactly than times of old traces. */
struct legacy_op {
    double start, dur;
    int64_t rf_id;
    row_t row;
    struct number ts_number, dur_number;
};

ORDER_BY(compare_legacy_ops, struct legacy_op, ASCENDING(start) ASCENDING(rf_id) DESCENDING(dur) ASCENDING(row))

/* These operators by start, without the process and threads. */
struct timed_ops {
    struct cpu_ops cpu;
    row_t *row;
    row_t *op_of_row; /* per row of the nodes, or ROW_NONE */
};

bool et_plus_is_legacy(const struct et_plus_nodes *nodes, bool compat) {
    for (row_t row = 0; row < nodes->n; row++)
        if (nodes->flags[row] & ET_PLUS_IS_LEGACY &&
            (!compat || nodes->flags[row] & (ET_PLUS_IS_GPU | ET_PLUS_HAS_OLD_PARENT)))
            return true;
    return false;
}

static void walk_row(struct et_plus_reader *reader, const struct et_plus_nodes *nodes, row_t row,
                     struct et_plus_spans *spans) {
    struct json_walker walker = walk_from(reader->source, nodes->text[row]);
    et_plus_spans_walk(reader, &walker, spans);
}

static bool read_time(const struct et_plus_reader *reader, const struct et_plus_spans *spans, enum et_plus_field field,
                      struct number *number) {
    return spans->span[field].at && field_number(reader->source->bytes + spans->span[field].at, number) &&
           isfinite(number_as_double(*number));
}

/* Reads the times of CPU operators and sorts the operators. An operator without valid times has a fault. */
static enum sutra_status read_ops(struct timed_ops *ops, struct et_plus_reader *reader, struct et_plus_nodes *nodes,
                                  struct sutra_context *context, struct arena *arena, struct sutra_error *error) {
    const row_t n = nodes->n;
    const int64_t *tids = nodes->number[ET_PLUS_TID - ET_PLUS_FIRST_NUMBER];
    const int64_t *rf_ids = nodes->number[0]; /* ET_PLUS_FIRST_NUMBER */
    struct legacy_op *started = arena_alloc(arena, n, sizeof *started);
    value_key *threads = arena_alloc(arena, n, sizeof *threads);
    row_t *numbers = arena_alloc(arena, n, sizeof *numbers);
    *ops = (struct timed_ops){.cpu = {.ts = numbers_alloc(arena, n), .dur = numbers_alloc(arena, n)},
                              .row = arena_alloc(arena, n, sizeof *ops->row),
                              .op_of_row = rows_none(arena, n)};
    TRY(arena_status(arena, error));

    row_t n_ops = 0;
    for (row_t row = 0; row < n; row++) {
        struct et_plus_spans spans;
        struct number start, duration;
        if ((nodes->flags[row] & (ET_PLUS_IS_LEGACY | ET_PLUS_IS_GPU)) != ET_PLUS_IS_LEGACY ||
            graph_is_frame(nodes->name[row]))
            continue;
        walk_row(reader, nodes, row, &spans);
        bool starts = read_time(reader, &spans, ET_PLUS_TS, &start);
        bool lasts = read_time(reader, &spans, ET_PLUS_DUR, &duration) && number_as_double(duration) >= 0;
        nodes->faults[row] |= (starts ? 0 : ET_PLUS_BIT(ET_PLUS_TS)) | (lasts ? 0 : ET_PLUS_BIT(ET_PLUS_DUR));
        if (starts && lasts)
            started[n_ops++] = (struct legacy_op){.start = number_as_double(start),
                                                  .dur = number_as_double(duration),
                                                  .rf_id = rf_ids[row],
                                                  .row = row,
                                                  .ts_number = start,
                                                  .dur_number = duration};
    }
    qsort(started, n_ops, sizeof *started, compare_legacy_ops);
    for (row_t op = 0; op < n_ops; op++) {
        const row_t row = started[op].row;
        number_set(ops->cpu.ts, op, started[op].ts_number);
        number_set(ops->cpu.dur, op, started[op].dur_number);
        ops->row[op] = row;
        ops->op_of_row[row] = op;
        threads[op] = key_is_integer(tids[row]) ? tids[row] : KEY_NULL;
    }

    struct key_index first = {0};
    enum sutra_status status = key_index_build(&first, &context->engine, threads, n_ops, KEY_FIRST, NULL, error);
    if (!status) {
        ops->cpu.n = n_ops;
        ops->cpu.n_threads = key_index_number(&first, threads, n_ops, numbers);
        ops->cpu.thread = numbers;
    }
    key_index_free(&first);
    return status;
}

/* The operator that contains an operator, or ROW_NONE: the nearest ancestor with times, if it is on the same thread. */
static row_t containing_op(const struct timed_ops *ops, const struct et_plus_nodes *nodes, const struct key_index *ids,
                           row_t op) {
    row_t row = ops->row[op];
    for (int level = 0; level < UNTIMED_LEVELS; level++) {
        const row_t above = nodes->parent[row] == KEY_ABSENT ? ROW_NONE : key_index_find(ids, nodes->parent[row]);
        if (above == ROW_NONE || above == row)
            return ROW_NONE;
        const row_t found = ops->op_of_row[above];
        if (found != ROW_NONE)
            return found != op && ops->cpu.thread[found] == ops->cpu.thread[op] ? found : ROW_NONE;
        row = above;
    }
    return ROW_NONE;
}

/* Sets durations to exclusive durations. */
static enum sutra_status set_durations(const struct timed_ops *ops, struct et_plus_nodes *nodes,
                                       const struct key_index *ids, struct arena *arena, struct sutra_error *error) {
    const row_t n = ops->cpu.n;
    double *covered = arena_zeros(arena, n, sizeof *covered); /* microseconds in which children run */
    double *until = arena_alloc(arena, n, sizeof *until);     /* the last end of children */
    TRY(arena_status(arena, error));
    for (row_t op = 0; op < n; op++)
        until[op] = -INFINITY;
    for (row_t op = 0; op < n; op++) {
        const row_t above = containing_op(ops, nodes, ids, op);
        if (above == ROW_NONE)
            continue;
        const double start = number_as_double(number_at(ops->cpu.ts, op));
        const double dur = number_as_double(number_at(ops->cpu.dur, op)), end = start + dur;
        const double above_start = number_as_double(number_at(ops->cpu.ts, above));
        const double above_end = above_start + number_as_double(number_at(ops->cpu.dur, above));
        const double outside = fmax(0, fmax(above_start, until[above]) - start) + fmax(0, end - above_end);
        covered[above] += fmax(0, dur - outside);
        until[above] = fmax(until[above], end);
    }
    for (row_t op = 0; op < n; op++) {
        const double dur = number_as_double(number_at(ops->cpu.dur, op));
        const bool fits = truncate_double(fmax(0, dur - covered[op]), &nodes->duration_us[ops->row[op]]);
        nodes->faults[ops->row[op]] |= fits ? 0 : ET_PLUS_BIT(ET_PLUS_DUR);
    }
    return SUTRA_OK;
}

/* Sets the dependencies between threads by the rule of `sutra link`. */
static enum sutra_status set_thread_order(const struct timed_ops *ops, struct et_plus_nodes *nodes,
                                          struct sutra_context *context, struct arena *arena,
                                          struct sutra_error *error) {
    row_t *before = arena_alloc(arena, ops->cpu.n, sizeof *before);
    TRY(arena_status(arena, error));
    struct thread_order_step step = {&ops->cpu, LINK_GROUP_GAP_US, before};
    enum sutra_status status = context->engine.thread_order(context->engine.state, &step, error);
    for (row_t op = 0; op < ops->cpu.n && !status; op++) {
        value_key *inter = &nodes->inter[ops->row[op]];
        const value_key id = before[op] == ROW_NONE ? KEY_NULL : nodes->key[ops->row[before[op]]];
        if (*inter == KEY_NULL && id != 0)
            *inter = id;
    }
    return status;
}

/* Reads a GPU node below its parent. */
static void read_gpu_node(struct et_plus_reader *reader, struct et_plus_nodes *nodes, row_t row, row_t above,
                          const struct document *document) {
    struct et_plus_spans spans;
    struct et_plus_node node;
    walk_row(reader, nodes, row, &spans);
    const struct json_span args = spans.span[ET_PLUS_ARGS];
    spans.span[ET_PLUS_EXCLUSIVE_DUR] = spans.span[ET_PLUS_DUR];
    if (args.at) {
        struct json_span group = document_member_of(document, args.at, "Process Group Name");
        spans.span[ET_PLUS_STREAM] = document_member_of(document, args.at, "stream");
        if (kernel_is_collective(nodes->name[row]) && group.at && reader->source->bytes[group.at] == '"')
            spans.span[ET_PLUS_PG_NAME] = group;
    }
    et_plus_node_fields(reader, &spans, &node);
    et_plus_set_fault(&node, ET_PLUS_DUR, node.faults & ET_PLUS_BIT(ET_PLUS_EXCLUSIVE_DUR));
    et_plus_set_fault(&node, ET_PLUS_EXCLUSIVE_DUR, false);
    if (!spans.span[ET_PLUS_STREAM].at)
        node.flags |= ET_PLUS_NO_STREAM;
    node.start_us = 0;
    node.start = node.end = NAN;
    for (int i = 0; i < ET_PLUS_N_NUMBERS; i++)
        node.number[i] = nodes->number[i][above];
    node.op_schema = nodes->op_schema[above];
    if (kernel_is_collective(node.name) && node.pg_name.length == 0)
        node.pg_name = nodes->pg_name[above];
    et_plus_node_attributes(reader, &spans, &node);
    node.faults = (node.faults & ~ATTRIBUTE_FAULTS) | (nodes->faults[above] & ATTRIBUTE_FAULTS);
    node.flags = (node.flags & ~(ATTRIBUTE_NULLS | ET_PLUS_HAS_OLD_PARENT)) | (nodes->flags[above] & ATTRIBUTE_NULLS);
    et_plus_nodes_set(nodes, row, &node);
}

static enum sutra_status complete(struct et_plus_trace *trace, struct sutra_context *context,
                                  struct et_plus_reader *reader, const struct key_index *ids, struct arena *arena,
                                  row_t *n_gpu, struct sutra_error *error) {
    struct et_plus_nodes *nodes = &trace->nodes;
    struct timed_ops ops;
    TRY(read_ops(&ops, reader, nodes, context, arena, error));
    TRY(set_durations(&ops, nodes, ids, arena, error));
    TRY(set_thread_order(&ops, nodes, context, arena, error));

    bool has_gpu = false;
    *n_gpu = 0;
    for (row_t row = 0; row < nodes->n; row++) {
        if ((nodes->flags[row] & (ET_PLUS_IS_LEGACY | ET_PLUS_IS_GPU)) != (ET_PLUS_IS_LEGACY | ET_PLUS_IS_GPU))
            continue;
        const row_t above = nodes->parent[row] == KEY_ABSENT ? ROW_NONE : key_index_find(ids, nodes->parent[row]);
        has_gpu = true;
        if (above == ROW_NONE || nodes->flags[above] & ET_PLUS_IS_GPU)
            continue; /* counted and skipped by the graph */
        read_gpu_node(reader, nodes, row, above, trace->document);
        ++*n_gpu;
    }
    if (has_gpu && !*n_gpu)
        return error_file(error, SUTRA_DATA, trace->document->source.name,
                          "ET+ of link-legacy: no GPU operator is below a CPU operator; link the traces with 'sutra "
                          "link HOST DEVICE -o OUT --match names'");
    return et_plus_reader_failed(reader) ? error_memory(error) : SUTRA_OK;
}

enum sutra_status et_plus_legacy_complete(struct et_plus_trace *trace, struct sutra_context *context, row_t *n_gpu,
                                          struct sutra_error *error) {
    struct key_index ids = {0};
    struct arena arena = {0};
    struct field_reader fields = {.source = &trace->document->source, .values = &context->values};
    struct et_plus_reader reader = {.source = fields.source, .store = &trace->stores[0], .fields = &fields};
    enum sutra_status status =
        key_index_build(&ids, &context->engine, trace->nodes.key, trace->nodes.n, KEY_LAST, NULL, error);
    if (!status)
        status = complete(trace, context, &reader, &ids, &arena, n_gpu, error);
    key_index_free(&ids);
    arena_free(&arena);
    et_plus_reader_end(&reader);
    buffer_free(&fields.scratch);
    return status;
}
