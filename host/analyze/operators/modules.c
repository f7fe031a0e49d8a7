/*
 * modules.c - our tables of modules and annotations: calls, time on the host, and durations of the GPU activity below;
 * for modules also of the GPU activity that autograd launched for them, on any thread.
 *
 *     forward    nn.Module: Linear_3 | aten::addmm, sequence number 17 |           forward flow
 *     backward   autograd::engine::evaluate_function: AddmmBackward0, 17 | aten::mm --> Linear_3, backward
 *
 * GPU activity below an operator of autograd's engine belongs to the last operator outside of the engine with the same
 * sequence number that started before, and to the modules that enclose it. O(n log n).
 */
#include <string.h>

#include "analyze/operators/operators.h"
#include "base/error.h"
#include "columns/column.h"
#include "columns/hash_tables.h"
#include "match/intervals.h"
#include "match/key_index.h"
#include "match/steps.h"

#define ENGINE_PREFIX "autograd::engine::evaluate_function"

/* GPU activity of rows of hosts, in the order of these rows, so that the activity of a subtree is a range. */
struct work_list {
    const row_t *first; /* hosts.n + 1 offsets */
    int64_t *start, *stop;
    wide_t *up_to; /* total duration before each; n + 1 */
};

struct frame_table {
    const struct op_input *input;
    const struct launch_model *model;
    row_t n, *host;   /* modules or annotations, in pre-order */
    row_t *enclosing; /* of each: the innermost enclosing one that has not ended when it starts, or ROW_NONE */
    struct work_list forward, backward;
    int64_t *busy[2];         /* of each: busy time, forward and backward */
    struct row_groups groups; /* by name */
};

/* ---- Backward GPU activity ---- */

enum sutra_status find_forward_operators(struct sutra_context *context, const struct launch_model *model,
                                         struct arena *arena, row_t **forward_of, struct sutra_error *error) {
    static const struct requested_field field = {"Sequence number", ASK_INT, false};
    const struct host_rows *hosts = &model->hosts;
    row_t n = 0, *forward = *forward_of = rows_none(arena, hosts->n);
    bool has_engine = false;
    struct arena_mark mark = arena_mark(arena);
    row_t *engine = arena_alloc(arena, hosts->n, sizeof *engine); /* the innermost one that encloses a row, or is it */
    uint8_t *is_engine = arena_alloc(arena, hosts->n, sizeof *is_engine);
    row_t *rows = arena_alloc(arena, hosts->n, sizeof *rows), *events = arena_alloc(arena, hosts->n, sizeof *events);
    uint64_t *keys = arena_alloc(arena, hosts->n, sizeof *keys);
    struct requested_column sequence;
    TRY(arena_status(arena, error));
    for (row_t row = 0; row < hosts->n; row++) {
        bool is_operator = hosts->kind[row] == HOST_OPERATOR;
        is_engine[row] = is_operator && text_compare(model->strings, host_name(model, row), TEXT_BEGINS, ENGINE_PREFIX);
        has_engine |= is_engine[row];
        if (!is_operator)
            continue;
        events[n] = hosts->event[row];
        keys[n] = integer_sort_key(hosts->start[row]);
        rows[n++] = row;
    }
    if (!has_engine) {
        arena_release(arena, mark);
        return SUTRA_OK;
    }
    TRY(find_marked_ancestors(model, is_engine, arena, engine, error));
    TRY(event_columns_request(context, model->trace, &field, 1, events, n, &sequence, error));
    TRY(cpu_sort_keys(NULL, &(struct sort_keys_step){keys, rows, n}, error));

    /* walk the operators by start, with the last operator outside of the engine by sequence number */
    struct pair_table last;
    bool ok = pair_table_init(&last);
    for (row_t i = 0; i < n && ok; i++) {
        value_key number = sequence.key[hosts->event[rows[i]]];
        if (!key_is_integer(number) || number < 0)
            continue;
        if (is_engine[rows[i]]) {
            uint32_t operator= pair_table_find(&last, (uint64_t)number, 0);
            forward[rows[i]] = operator== PAIR_NONE ? ROW_NONE : operator;
        } else if (engine[rows[i]] == ROW_NONE) {
            struct pair_entry *entry = pair_table_insert(&last, (uint64_t)number, 0);
            if ((ok = entry != NULL))
                entry->number = rows[i];
        }
    }
    pair_table_free(&last);
    for (row_t row = 0; row < hosts->n; row++)
        if (!is_engine[row] && engine[row] != ROW_NONE)
            forward[row] = forward[engine[row]];
    arena_release(arena, mark);
    return ok ? SUTRA_OK : error_memory(error);
}

/* ---- GPU activity by row ---- */

/* Memory for n activities that `first` partitions. */
static enum sutra_status activity_list_init(const row_t *first, row_t n, struct arena *arena, struct work_list *list,
                                            struct sutra_error *error) {
    *list = (struct work_list){.first = first,
                               .start = arena_alloc(arena, n, sizeof(int64_t)),
                               .stop = arena_alloc(arena, n, sizeof(int64_t)),
                               .up_to = arena_alloc(arena, (size_t)n + 1, sizeof(wide_t))};
    return arena_status(arena, error);
}

static void add_up_durations(struct work_list *list, row_t n) {
    list->up_to[0] = 0;
    for (row_t i = 0; i < n; i++)
        list->up_to[i + 1] = list->up_to[i] + (list->stop[i] - list->start[i]);
}

/* GPU activity of the calls. */
static enum sutra_status list_forward(const struct launch_model *model, struct arena *arena, struct work_list *list,
                                      struct sutra_error *error) {
    const struct launch_links *links = &model->links;
    TRY(activity_list_init(links->first, links->n, arena, list, error));
    for (row_t i = 0; i < links->n; i++) {
        list->start[i] = model->devices.start[links->device[i]];
        list->stop[i] = model->devices.stop[links->device[i]];
    }
    add_up_durations(list, links->n);
    return SUTRA_OK;
}

/* GPU activity that is backward of operators: `forward` by row of hosts, the operator. */
static enum sutra_status list_backward(const struct launch_model *model, const row_t *forward, struct arena *arena,
                                       struct work_list *list, struct sutra_error *error) {
    const struct device_rows *devices = &model->devices;
    row_t n_hosts = model->hosts.n;
    row_t *first = arena_zeros(arena, (size_t)n_hosts + 2, sizeof *first);
    TRY(activity_list_init(first, devices->n, arena, list, error));
    for (row_t i = 0; i < devices->n; i++)
        if (devices->call[i] != ROW_NONE && forward[devices->call[i]] != ROW_NONE)
            first[forward[devices->call[i]] + 2]++;
    for (row_t row = 0; row < n_hosts; row++)
        first[row + 2] += first[row + 1];
    for (row_t i = 0; i < devices->n; i++) {
        if (devices->call[i] == ROW_NONE || forward[devices->call[i]] == ROW_NONE)
            continue;
        row_t at = first[forward[devices->call[i]] + 1]++;
        list->start[at] = devices->start[i];
        list->stop[at] = devices->stop[i];
    }
    add_up_durations(list, first[n_hosts]);
    return SUTRA_OK;
}

static enum sutra_status measure(struct frame_table *table, const struct work_list *list, struct arena *arena,
                                 int64_t **busy, struct sutra_error *error) {
    const struct launch_model *model = table->model;
    row_t *first = arena_alloc(arena, table->n, sizeof *first), *last = arena_alloc(arena, table->n, sizeof *last);
    *busy = arena_alloc(arena, table->n, sizeof **busy);
    TRY(arena_status(arena, error));
    for (row_t i = 0; i < table->n; i++) {
        first[i] = list->first[table->host[i]];
        last[i] = list->first[model->hosts.end[table->host[i]]];
    }
    return range_cover(list->start, list->stop, list->first[model->hosts.n], first, last, table->n, arena, *busy,
                       error);
}

/* ---- Rows ---- */

static enum sutra_status list_frames(struct frame_table *table, const uint8_t *marked, struct arena *arena,
                                     struct sutra_error *error) {
    const struct launch_model *model = table->model;
    const struct host_rows *hosts = &model->hosts;
    row_t n = 0, top = ROW_NONE;
    for (row_t row = 0; row < hosts->n; row++)
        n += marked[row];
    if (n == 0)
        return SUTRA_OK;
    struct tuple *keys = arena_zeros(arena, n, sizeof *keys);
    row_t *below = arena_alloc(arena, n, sizeof *below), *above = arena_alloc(arena, n, sizeof *above);
    table->host = arena_alloc(arena, n, sizeof *table->host);
    table->enclosing = arena_alloc(arena, n, sizeof *table->enclosing);
    TRY(arena_status(arena, error));
    for (row_t row = 0; row < hosts->n; row++)
        if (marked[row]) {
            keys[table->n].part[0] = host_name(model, row);
            table->host[table->n++] = row;
        }
    /* a stack of the frames whose subtrees contain the row; frames that have ended are cut from later paths */
    for (row_t i = 0; i < n; i++) {
        row_t row = table->host[i];
        while (top != ROW_NONE && hosts->end[table->host[top]] <= row)
            top = below[top];
        row_t found = top;
        while (found != ROW_NONE && hosts->stop[table->host[found]] <= hosts->start[row])
            found = above[found];
        compress_path(above, top, found);
        table->enclosing[i] = above[i] = found;
        below[i] = top;
        top = i;
    }
    return row_groups_make(keys, n, arena, &table->groups, error);
}

/* Totals of the frames of one name. */
struct frame_sum {
    wide_t host, device[2], busy[2], own;
    uint64_t works[2];
    double time; /* device time of both, for the order */
};

static void add_frame_row(const struct frame_table *from, uint32_t group, const struct frame_sum *sum, bool backward,
                          struct sutra_table *table) {
    const struct strings *strings = from->model->strings;
    row_t first = from->groups.member[from->groups.first[group]], parent = from->enclosing[first];
    uint32_t name = host_name(from->model, from->host[first]);
    const struct row_groups *groups = &from->groups;
    double per_us = from->model->ticks_per_us;
    table_integer(table, from->input->options.rank);
    table_string(table, strings, name);
    if (backward) { /* the kind of module: its name without "nn.Module: " and the number of the instance */
        const char *text = strings_text(strings, name) + strlen(MODULE_PREFIX);
        size_t length = strings_length(strings, name) - strlen(MODULE_PREFIX), cut = length;
        while (cut && text[cut - 1] >= '0' && text[cut - 1] <= '9')
            cut--;
        table_text(table, text, cut && cut < length && text[cut - 1] == '_' ? cut - 1 : length);
    }
    if (parent == ROW_NONE)
        table_text(table, "", 0);
    else
        table_string(table, strings, host_name(from->model, from->host[parent]));
    table_integer(table, groups->first[group + 1] - groups->first[group]);
    table_real(table, (double)sum->host / per_us);
    table_real(table, (double)sum->own / per_us);
    for (int way = 0; way < 1 + backward; way++) {
        table_integer(table, (int64_t)sum->works[way]);
        table_real(table, (double)sum->device[way] / per_us);
        table_real(table, (double)sum->busy[way] / per_us);
    }
}

static enum sutra_status add_frames(const struct frame_table *from, bool backward, struct arena *arena,
                                    struct sutra_table *table, struct sutra_error *error) {
    const struct row_groups *groups = &from->groups;
    const struct host_rows *hosts = &from->model->hosts;
    const struct work_list *lists[] = {&from->forward, &from->backward};
    wide_t *own = arena_zeros(arena, from->n, sizeof *own); /* of each frame: durations in it and in none below */
    uint32_t n = from->groups.n;
    struct frame_sum *sums = arena_alloc(arena, n, sizeof *sums);
    double *times = arena_alloc(arena, n, sizeof *times);
    uint32_t *order = arena_alloc(arena, n, sizeof *order);
    TRY(arena_status(arena, error));
    for (row_t i = 0; i < from->n; i++)
        for (int way = 0; way < 1 + backward; way++) {
            row_t host = from->host[i], end = hosts->end[host], parent = from->enclosing[i];
            wide_t device = lists[way]->up_to[lists[way]->first[end]] - lists[way]->up_to[lists[way]->first[host]];
            own[i] += device;
            if (parent != ROW_NONE)
                own[parent] -= device;
        }
    for (uint32_t g = 0; g < n; g++) {
        struct frame_sum sum = {0};
        for (row_t i = groups->first[g]; i < groups->first[g + 1]; i++) {
            row_t frame = groups->member[i], host = from->host[frame];
            sum.host += host_ticks(hosts, host);
            sum.own += own[frame];
            for (int way = 0; way < 1 + backward; way++) {
                row_t first = lists[way]->first[host], last = lists[way]->first[hosts->end[host]];
                sum.works[way] += last - first;
                sum.device[way] += lists[way]->up_to[last] - lists[way]->up_to[first];
                sum.busy[way] += from->busy[way][frame];
            }
        }
        sums[g] = sum;
        times[g] = (double)sum.device[0] + (double)sum.device[1];
    }
    TRY(row_groups_order(times, n, arena, order, error));
    for (uint32_t i = 0; i < n; i++)
        add_frame_row(from, order[i], &sums[order[i]], backward, table);
    return SUTRA_OK;
}

/* ---- The tables ---- */

static enum sutra_status make_table(const struct op_input *input, struct arena *arena,
                                    struct sutra_operators *operators, bool modules, struct sutra_error *error) {
    const struct host_rows *hosts = &input->model->hosts;
    struct frame_table from = {.input = input, .model = input->model};
    row_t *forward = NULL;
    struct arena_mark mark = arena_mark(arena);
    uint8_t *marked = arena_alloc(arena, hosts->n, sizeof *marked);
    TRY(arena_status(arena, error));
    if (modules)
        mark_modules(input->model, marked);
    for (row_t row = 0; row < hosts->n && !modules; row++)
        marked[row] = hosts->kind[row] == HOST_ANNOTATION;
    TRY(list_frames(&from, marked, arena, error));
    if (from.n) {
        if (modules)
            TRY(find_forward_operators(input->context, input->model, arena, &forward, error));
        TRY(list_forward(input->model, arena, &from.forward, error));
        TRY(measure(&from, &from.forward, arena, &from.busy[0], error));
        if (modules) {
            TRY(list_backward(input->model, forward, arena, &from.backward, error));
            TRY(measure(&from, &from.backward, arena, &from.busy[1], error));
        }
        const uint32_t id = modules ? SUTRA_OPERATORS_BY_MODULE : SUTRA_OPERATORS_BY_ANNOTATION;
        TRY(add_frames(&from, modules, arena, result_table_begin(&operators->result, id), error));
    }
    arena_release(arena, mark);
    return SUTRA_OK;
}

enum sutra_status operators_by_module(const struct op_input *input, struct arena *arena,
                                      struct sutra_operators *operators, struct sutra_error *error) {
    return make_table(input, arena, operators, true, error);
}

enum sutra_status operators_by_annotation(const struct op_input *input, struct arena *arena,
                                          struct sutra_operators *operators, struct sutra_error *error) {
    return make_table(input, arena, operators, false, error);
}
