/*
 * modules.c - our tables of modules and annotations: how often they ran, how long on the host, and how long what they
 * launched ran on the device; for modules also what autograd launched for them, on whatever thread.
 *
 *     forward    nn.Module: Linear_3 | aten::addmm, sequence number 17 |           forward flow
 *     backward   autograd::engine::evaluate_function: AddmmBackward0, 17 | aten::mm --> Linear_3, backward
 *
 * Work below an operator of autograd's engine is that of the last operator outside of the engine with the same sequence
 * number that began before it, and so of the modules around that. O(n log n).
 */
#include <math.h>
#include <string.h>

#include "analyze/operators/operators.h"
#include "base/error.h"
#include "columns/column.h"
#include "columns/hash_tables.h"
#include "match/intervals.h"
#include "match/steps.h"

#define ENGINE_PREFIX "autograd::engine::evaluate_function"

/* Work that is launched for rows of hosts, in the order of these rows, so that that of a subtree is a range. */
struct work_list {
    const row_t *first; /* hosts.n + 1 places */
    int64_t *start, *stop;
    wide_t *up_to; /* the durations of all before each; n + 1 */
};

struct frame_table {
    const struct op_input *input;
    const struct op_reading *reading;
    row_t n, *host; /* modules or annotations, in pre-order */
    row_t *around;  /* of each: the innermost one around it that has not ended when it begins, or ROW_NONE */
    struct work_list forward, backward;
    wide_t *own;             /* of each: the durations of what runs in it and in none below, both ways */
    int64_t *busy[2];        /* of each: for how long work runs, forward and backward */
    struct op_groups groups; /* by name */
};

/* ---- Backward work ---- */

/* The last operator outside of the engine by sequence number, while rows are walked in order of their starts. */
struct engine_search {
    const struct op_reading *reading;
    const value_key *sequence; /* by event */
    row_t *engine;             /* by row of hosts: the operator of the engine around it (or it), or ROW_NONE */
    row_t *forward;            /* by row of hosts, of operators of the engine: the operator that they are for */
};

static enum sutra_status find_engine(struct engine_search *search, struct arena *arena, struct sutra_error *error) {
    const struct op_reading *reading = search->reading;
    uint8_t *marked = arena_take(arena, reading->hosts.n, sizeof *marked);
    search->engine = arena_take(arena, reading->hosts.n, sizeof *search->engine);
    enum sutra_status status = arena_status(arena, error);
    for (row_t row = 0; row < reading->hosts.n && !status; row++)
        marked[row] = reading->hosts.kind[row] == HOST_OPERATOR &&
                      text_compare(reading->strings, host_name(reading, row), TEXT_BEGINS, ENGINE_PREFIX);
    if (!status)
        status = op_reading_around(reading, marked, arena, search->engine, error);
    for (row_t row = 0; row < reading->hosts.n && !status; row++)
        if (marked[row])
            search->engine[row] = row;
    return status;
}

/* The sequence numbers of operators; those of other rows are not asked for. */
static enum sutra_status read_sequence(struct engine_search *search, struct sutra_context *context, row_t *rows,
                                       row_t *n, struct sutra_error *error) {
    static const struct asked_field field = {"Sequence number", ASK_INT, false};
    const struct op_reading *reading = search->reading;
    struct asked_column column;
    *n = 0;
    for (row_t row = 0; row < reading->hosts.n; row++)
        if (reading->hosts.kind[row] == HOST_OPERATOR)
            rows[(*n)++] = reading->hosts.event[row];
    enum sutra_status status = event_columns_ask(context, reading->trace, &field, 1, rows, *n, &column, error);
    search->sequence = column.key;
    return status;
}

/* Operators by start. */
static enum sutra_status sort_operators(const struct op_reading *reading, row_t *rows, row_t *n, struct arena *arena,
                                        struct sutra_error *error) {
    uint64_t *keys = arena_take(arena, reading->hosts.n, sizeof *keys);
    enum sutra_status status = arena_status(arena, error);
    *n = 0;
    for (row_t row = 0; row < reading->hosts.n && !status; row++)
        if (reading->hosts.kind[row] == HOST_OPERATOR) {
            keys[*n] = integer_sort_key(reading->hosts.start[row]);
            rows[(*n)++] = row;
        }
    return status ? status : cpu_sort_keys(NULL, &(struct sort_keys_step){keys, rows, *n}, error);
}

static enum sutra_status match_sequence(struct engine_search *search, const row_t *rows, row_t n,
                                        struct sutra_error *error) {
    const struct op_reading *reading = search->reading;
    struct pair_table last;
    bool ok = pair_table_init(&last);
    for (row_t i = 0; i < n && ok; i++) {
        value_key number = search->sequence[reading->hosts.event[rows[i]]];
        if (!key_is_integer(number) || number < 0)
            continue;
        if (search->engine[rows[i]] == rows[i]) {
            uint32_t forward = pair_table_find(&last, (uint64_t)number, 0);
            search->forward[rows[i]] = forward == PAIR_NONE ? ROW_NONE : forward;
        } else if (search->engine[rows[i]] == ROW_NONE) {
            struct pair_entry *entry = pair_table_take(&last, (uint64_t)number, 0);
            if ((ok = entry != NULL))
                entry->number = rows[i];
        }
    }
    pair_table_free(&last);
    return ok ? SUTRA_OK : error_memory(error);
}

static enum sutra_status find_forward(struct sutra_context *context, struct engine_search *search, struct arena *arena,
                                      struct sutra_error *error) {
    row_t n = 0, *rows = arena_take(arena, search->reading->hosts.n, sizeof *rows);
    search->forward = rows_none(arena, search->reading->hosts.n);
    enum sutra_status status = arena_status(arena, error);
    if (!status)
        status = find_engine(search, arena, error);
    if (!status)
        status = read_sequence(search, context, rows, &n, error);
    if (!status)
        status = sort_operators(search->reading, rows, &n, arena, error);
    return status ? status : match_sequence(search, rows, n, error);
}

/* ---- Work by row ---- */

/* Room for n pieces of work that are dealt out by `first`. */
static enum sutra_status work_take(const row_t *first, row_t n, struct arena *arena, struct work_list *list,
                                   struct sutra_error *error) {
    *list = (struct work_list){.first = first,
                               .start = arena_take(arena, n, sizeof(int64_t)),
                               .stop = arena_take(arena, n, sizeof(int64_t)),
                               .up_to = arena_take(arena, (size_t)n + 1, sizeof(wide_t))};
    return arena_status(arena, error);
}

static void add_up_work(struct work_list *list, row_t n) {
    list->up_to[0] = 0;
    for (row_t i = 0; i < n; i++)
        list->up_to[i + 1] = list->up_to[i] + (list->stop[i] - list->start[i]);
}

/* Work of the calls. */
static enum sutra_status list_forward(const struct op_reading *reading, struct arena *arena, struct work_list *list,
                                      struct sutra_error *error) {
    const struct call_links *links = &reading->links;
    enum sutra_status status = work_take(links->first, links->n, arena, list, error);
    if (status)
        return status;
    for (row_t i = 0; i < links->n; i++) {
        list->start[i] = reading->devices.start[links->device[i]];
        list->stop[i] = reading->devices.stop[links->device[i]];
    }
    add_up_work(list, links->n);
    return SUTRA_OK;
}

/* The operator that a piece of work is backward of, or ROW_NONE. */
static row_t forward_of(const struct engine_search *search, row_t device) {
    row_t call = search->reading->devices.call[device];
    row_t engine = call == ROW_NONE ? ROW_NONE : search->engine[call];
    return engine == ROW_NONE ? ROW_NONE : search->forward[engine];
}

/* Work that is backward of operators. */
static enum sutra_status list_backward(const struct engine_search *search, struct arena *arena, struct work_list *list,
                                       struct sutra_error *error) {
    const struct device_rows *devices = &search->reading->devices;
    row_t n_hosts = search->reading->hosts.n;
    row_t *first = arena_zeros(arena, (size_t)n_hosts + 2, sizeof *first);
    enum sutra_status status = work_take(first, devices->n, arena, list, error);
    if (status)
        return status;
    for (row_t i = 0; i < devices->n; i++) {
        row_t row = forward_of(search, i);
        if (row != ROW_NONE)
            first[row + 2]++;
    }
    for (row_t row = 0; row < n_hosts; row++)
        first[row + 2] += first[row + 1];
    for (row_t i = 0; i < devices->n; i++) {
        row_t row = forward_of(search, i);
        if (row == ROW_NONE)
            continue;
        row_t place = first[row + 1]++;
        list->start[place] = devices->start[i];
        list->stop[place] = devices->stop[i];
    }
    add_up_work(list, first[n_hosts]);
    return SUTRA_OK;
}

static enum sutra_status measure(struct frame_table *table, const struct work_list *list, struct arena *arena,
                                 int64_t **busy, struct sutra_error *error) {
    const struct op_reading *reading = table->reading;
    row_t *first = arena_take(arena, table->n, sizeof *first), *last = arena_take(arena, table->n, sizeof *last);
    *busy = arena_take(arena, table->n, sizeof **busy);
    enum sutra_status status = arena_status(arena, error);
    for (row_t i = 0; i < table->n && !status; i++) {
        first[i] = list->first[table->host[i]];
        last[i] = list->first[reading->hosts.end[table->host[i]]];
    }
    return status ? status
                  : range_cover(list->start, list->stop, list->first[reading->hosts.n], first, last, table->n, arena,
                                *busy, error);
}

/* ---- Rows ---- */

/* Frames are walked with a stack of those in whose subtrees the walk is. What has ended stays so, so the ways to it are
 * cut short for those who look later. */
static enum sutra_status find_around(struct frame_table *table, struct arena *arena, struct sutra_error *error) {
    const struct host_rows *hosts = &table->reading->hosts;
    row_t *below = arena_take(arena, table->n, sizeof *below), *above = arena_take(arena, table->n, sizeof *above);
    row_t top = ROW_NONE;
    table->around = arena_take(arena, table->n, sizeof *table->around);
    enum sutra_status status = arena_status(arena, error);
    for (row_t i = 0; i < table->n && !status; i++) {
        row_t row = table->host[i];
        while (top != ROW_NONE && hosts->end[table->host[top]] <= row)
            top = below[top];
        row_t found = top;
        while (found != ROW_NONE && hosts->stop[table->host[found]] <= hosts->start[row])
            found = above[found];
        op_way_cut(above, top, found);
        table->around[i] = above[i] = found;
        below[i] = top;
        top = i;
    }
    return status;
}

static enum sutra_status list_frames(struct frame_table *table, const uint8_t *marked, struct arena *arena,
                                     struct sutra_error *error) {
    const struct op_reading *reading = table->reading;
    row_t n = 0;
    for (row_t row = 0; row < reading->hosts.n; row++)
        n += marked[row];
    if (n == 0)
        return SUTRA_OK;
    struct tuple *keys = arena_zeros(arena, n, sizeof *keys);
    table->host = arena_take(arena, n, sizeof *table->host);
    enum sutra_status status = arena_status(arena, error);
    for (row_t row = 0; row < reading->hosts.n && !status; row++)
        if (marked[row]) {
            keys[table->n].part[0] = host_name(reading, row);
            table->host[table->n++] = row;
        }
    if (!status)
        status = find_around(table, arena, error);
    return status ? status : op_groups_make(keys, table->n, arena, &table->groups, error);
}

/* What the frames of one name come to. */
struct frame_sum {
    wide_t host, device[2], busy[2], own;
    uint64_t works[2];
    double time; /* device time of both, for the order */
};

static struct frame_sum add_up(const struct frame_table *table, uint32_t group, bool backward) {
    const struct host_rows *hosts = &table->reading->hosts;
    const struct work_list *lists[] = {&table->forward, &table->backward};
    struct frame_sum sum = {0};
    for (row_t i = table->groups.first[group]; i < table->groups.first[group + 1]; i++) {
        row_t frame = table->groups.member[i], host = table->host[frame];
        sum.host += hosts->stop[host] - hosts->start[host];
        sum.own += table->own[frame];
        for (int way = 0; way < 1 + backward; way++) {
            row_t first = lists[way]->first[host], last = lists[way]->first[hosts->end[host]];
            sum.works[way] += last - first;
            sum.device[way] += lists[way]->up_to[last] - lists[way]->up_to[first];
            sum.busy[way] += table->busy[way][frame];
        }
    }
    sum.time = (double)sum.device[0] + (double)sum.device[1];
    return sum;
}

/* The name around the first frame of a group; "" where there is none. */
static void put_parent(const struct frame_table *from, uint32_t group, struct sutra_table *table) {
    row_t around = from->around[from->groups.member[from->groups.first[group]]];
    if (around == ROW_NONE)
        table_text(table, "", 0);
    else
        table_string(table, from->reading->strings, host_name(from->reading, from->host[around]));
}

/* Durations that are in each frame and in none of those below it. */
static enum sutra_status find_own(struct frame_table *table, bool backward, struct arena *arena,
                                  struct sutra_error *error) {
    const struct work_list *lists[] = {&table->forward, &table->backward};
    table->own = arena_zeros(arena, table->n, sizeof *table->own);
    enum sutra_status status = arena_status(arena, error);
    for (row_t i = 0; i < table->n && !status; i++) {
        row_t host = table->host[i], end = table->reading->hosts.end[host], around = table->around[i];
        for (int way = 0; way < 1 + backward; way++) {
            wide_t device = lists[way]->up_to[lists[way]->first[end]] - lists[way]->up_to[lists[way]->first[host]];
            table->own[i] += device;
            if (around != ROW_NONE)
                table->own[around] -= device;
        }
    }
    return status;
}

/* What a module is: its name without "nn.Module: " and the number of the instance. */
static void put_kind(const struct frame_table *from, uint32_t group, struct sutra_table *table) {
    uint32_t name = host_name(from->reading, from->host[from->groups.member[from->groups.first[group]]]);
    const char *text = strings_text(from->reading->strings, name) + strlen(MODULE_PREFIX);
    size_t length = strings_length(from->reading->strings, name) - strlen(MODULE_PREFIX), cut = length;
    while (cut && text[cut - 1] >= '0' && text[cut - 1] <= '9')
        cut--;
    table_text(table, text, cut && cut < length && text[cut - 1] == '_' ? cut - 1 : length);
}

static void put_frames(const struct frame_table *from, uint32_t group, const struct frame_sum *sum, bool backward,
                       struct sutra_table *table) {
    const struct op_groups *groups = &from->groups;
    double per_us = from->reading->ticks_per_us;
    table_integer(table, from->input->options.rank);
    table_string(table, from->reading->strings,
                 host_name(from->reading, from->host[groups->member[groups->first[group]]]));
    if (backward)
        put_kind(from, group, table);
    put_parent(from, group, table);
    table_integer(table, groups->first[group + 1] - groups->first[group]);
    table_real(table, (double)sum->host / per_us);
    table_real(table, (double)sum->own / per_us);
    for (int way = 0; way < 1 + backward; way++) {
        table_integer(table, (int64_t)sum->works[way]);
        table_real(table, (double)sum->device[way] / per_us);
        table_real(table, (double)sum->busy[way] / per_us);
    }
}

static enum sutra_status write_frames(struct frame_table *from, bool backward, struct arena *arena,
                                      struct sutra_table *table, struct sutra_error *error) {
    uint32_t n = from->groups.n;
    struct frame_sum *sums = arena_take(arena, n, sizeof *sums);
    double *times = arena_take(arena, n, sizeof *times);
    uint32_t *order = arena_take(arena, n, sizeof *order);
    enum sutra_status status = arena_status(arena, error);
    if (!status)
        status = find_own(from, backward, arena, error);
    for (uint32_t g = 0; g < n && !status; g++)
        times[g] = (sums[g] = add_up(from, g, backward)).time;
    if (!status)
        status = op_groups_order(times, n, arena, order, error);
    for (uint32_t i = 0; i < n && !status; i++)
        put_frames(from, order[i], &sums[order[i]], backward, table);
    return status;
}

/* ---- The tables ---- */

static enum sutra_status make_modules(struct frame_table *from, const uint8_t *marked, struct arena *arena,
                                      struct sutra_operators *operators, struct sutra_error *error) {
    struct engine_search search = {.reading = from->reading};
    enum sutra_status status = list_frames(from, marked, arena, error);
    if (status || from->n == 0)
        return status;
    status = find_forward(from->input->context, &search, arena, error);
    if (!status)
        status = list_forward(from->reading, arena, &from->forward, error);
    if (!status)
        status = list_backward(&search, arena, &from->backward, error);
    if (!status)
        status = measure(from, &from->forward, arena, &from->busy[0], error);
    if (!status)
        status = measure(from, &from->backward, arena, &from->busy[1], error);
    return status ? status
                  : write_frames(from, true, arena, op_table_begin(operators, SUTRA_OPERATORS_BY_MODULE), error);
}

static enum sutra_status make_annotations(struct frame_table *from, const uint8_t *marked, struct arena *arena,
                                          struct sutra_operators *operators, struct sutra_error *error) {
    enum sutra_status status = list_frames(from, marked, arena, error);
    if (status || from->n == 0)
        return status;
    status = list_forward(from->reading, arena, &from->forward, error);
    if (!status)
        status = measure(from, &from->forward, arena, &from->busy[0], error);
    return status ? status
                  : write_frames(from, false, arena, op_table_begin(operators, SUTRA_OPERATORS_BY_ANNOTATION), error);
}

/* Makes the table of what is marked. */
static enum sutra_status make_marked(const struct op_input *input, struct arena *arena,
                                     struct sutra_operators *operators, bool modules, struct sutra_error *error) {
    const struct host_rows *hosts = &input->reading->hosts;
    struct frame_table from = {.input = input, .reading = input->reading};
    struct arena_mark mark = arena_mark(arena);
    uint8_t *marked = arena_take(arena, hosts->n, sizeof *marked);
    enum sutra_status status = arena_status(arena, error);
    if (!status && modules)
        op_modules_mark(input->reading, marked);
    for (row_t row = 0; row < hosts->n && !status && !modules; row++)
        marked[row] = hosts->kind[row] == HOST_ANNOTATION;
    if (!status)
        status = (modules ? make_modules : make_annotations)(&from, marked, arena, operators, error);
    arena_release(arena, mark);
    return status;
}

enum sutra_status operators_by_module(const struct op_input *input, struct arena *arena,
                                      struct sutra_operators *operators, struct sutra_error *error) {
    return make_marked(input, arena, operators, true, error);
}

enum sutra_status operators_by_annotation(const struct op_input *input, struct arena *arena,
                                          struct sutra_operators *operators, struct sutra_error *error) {
    return make_marked(input, arena, operators, false, error);
}
