/*
 * operator_tables.c - our tables of operators: by name, by arguments, by category, by call path; the timeline; graphs.
 *
 * The table by name lists all operators, with their time on the host, and calls outside of operators that launch GPU
 * activity. The other tables list launchers. Shares are of all device time: the difference to 100 % is not attributed.
 */
#include <math.h>
#include <string.h>

#include "analyze/launches/arguments.h"
#include "analyze/launches/graphs.h"
#include "analyze/launches/launches.h"
#include "analyze/operators/operators.h"
#include "base/error.h"
#include "base/shared.h"
#include "columns/column.h"
#include "match/key_index.h"
#include "match/steps.h"

/* ---- Totals of launchers. O(launchers + activities), and a sort of the groups. ---- */

/* Ticks. */
struct launcher_sum {
    row_t launchers;        /* operators and calls */
    uint64_t works;         /* GPU activities */
    wide_t device;          /* total of their durations */
    wide_t direct, subtree; /* self and total device time of the launchers */
};

/* sums[of[i]] is the total of the launchers i; of[i] < n_groups. */
static enum sutra_status sum_launchers(const struct launch_model *model, const uint32_t *of, uint32_t n_groups,
                                       struct arena *arena, struct launcher_sum **sums, struct sutra_error *error) {
    const struct attribution_table *attributions = &model->attributions;
    struct launcher_sum *made = arena_zeros(arena, n_groups, sizeof *made);
    TRY(arena_status(arena, error));
    for (row_t i = 0; i < attributions->n; i++) {
        struct launcher_sum *sum = &made[of[i]];
        sum->launchers++;
        sum->works += attributions->first[i + 1] - attributions->first[i];
        sum->direct += attributions->direct[i];
        sum->subtree += attributions->subtree[i];
        sum->device += attributions->work[i];
    }
    *sums = made;
    return SUTRA_OK;
}

/* order[] = groups by descending device time, then ascending number. */
static enum sutra_status order_by_device_time(const struct launcher_sum *sums, uint32_t n, struct arena *arena,
                                              uint32_t **order, struct sutra_error *error) {
    double *device = arena_alloc(arena, n, sizeof *device);
    *order = arena_alloc(arena, n, sizeof **order);
    TRY(arena_status(arena, error));
    for (uint32_t i = 0; i < n; i++)
        device[i] = (double)sums[i].device;
    return row_groups_order(device, n, arena, *order, error);
}

wide_t sum_device_time(const struct launch_model *model) {
    wide_t sum = 0;
    for (row_t i = 0; i < model->devices.n; i++)
        sum += model->devices.stop[i] - model->devices.start[i];
    return sum;
}

/* ---- The timeline of the device, and the attribution of its time ---- */

struct line {
    const char *name;
    wide_t ticks;
};

static void add_lines(const struct op_input *input, const struct line *lines, size_t n, wide_t total,
                      struct sutra_table *table) {
    for (size_t i = 0; i < n; i++) {
        table_integer(table, input->options.rank);
        table_text(table, lines[i].name, strlen(lines[i].name));
        table_real(table, (double)lines[i].ticks / input->model->ticks_per_us);
        table_real(table, total ? (double)lines[i].ticks / (double)total * 100 : (double)NAN);
    }
}

enum sutra_status operators_timeline(const struct op_input *input, struct arena *arena,
                                     struct sutra_operators *operators, struct sutra_error *error) {
    const struct launch_model *model = input->model;
    const struct device_rows *devices = &model->devices;
    struct busy_times times;
    wide_t by_operators = 0, by_calls = 0, unattributed = 0;
    TRY(measure_busy_times(model, NULL, &input->context->engine, arena, &times, error));
    for (row_t i = 0; i < devices->n; i++) {
        row_t launcher = devices->launcher[i];
        wide_t *sum = launcher == ROW_NONE                           ? &unattributed
                      : model->hosts.kind[launcher] == HOST_OPERATOR ? &by_operators
                                                                     : &by_calls;
        *sum += devices->stop[i] - devices->start[i];
    }
    const struct line lines[] = {{"compute", times.compute},
                                 {"exposed communication", times.exposed_communication},
                                 {"exposed memcpy", times.exposed_copies},
                                 {"busy", times.busy},
                                 {"idle", times.idle},
                                 {"total", times.total},
                                 {"communication", times.communication},
                                 {"memcpy", times.copies}};
    const struct line attribution[] = {{"attributed to operators", by_operators},
                                       {"attributed to calls", by_calls},
                                       {"unattributed", unattributed},
                                       {"all GPU activity", input->device_ticks}};
    struct sutra_table *table = result_table_begin(&operators->result, SUTRA_OPERATORS_TIMELINE);
    add_lines(input, lines, sizeof lines / sizeof *lines, times.total, table);
    add_lines(input, attribution, sizeof attribution / sizeof *attribution, input->device_ticks, table);
    return SUTRA_OK;
}

/* Operators of a path that are shown; longer paths are shown without the outer ones. */
#define PATH_SHOWN 48

static double us_of(const struct launch_model *model, wide_t ticks) {
    return (double)ticks / model->ticks_per_us;
}

/* The columns that all tables end with. */
static void add_sum(const struct op_input *input, const struct launcher_sum *sum, struct sutra_table *table) {
    table_integer(table, (int64_t)sum->works);
    TABLE_REALS(table, us_of(input->model, sum->device), us_of(input->model, sum->direct),
                us_of(input->model, sum->subtree),
                input->device_ticks ? (double)sum->device / (double)input->device_ticks * 100 : (double)NAN);
}

/* ---- By name ---- */

/* Totals of a name on the host. */
struct host_sum {
    row_t calls;
    wide_t total, self;
    enum host_kind kind;
    uint32_t name, category;
};

struct name_table {
    const struct op_input *input;
    uint32_t n;            /* groups: one of the operators with a name, another of the calls */
    uint32_t *of_name;     /* by name, operators and calls: the group, or ROW_NONE */
    uint32_t *of_launcher; /* by launcher */
    struct host_sum *hosts;
    struct launcher_sum *sums;
};

/* The group of a row, which is one of the two of its name. */
static uint32_t *group_of(const struct name_table *table, row_t row) {
    const struct launch_model *model = table->input->model;
    return &table->of_name[(size_t)host_name(model, row) * 2 + (model->hosts.kind[row] == HOST_CALL)];
}

/* Groups and adds up operators, and calls that are launchers; enclosing rows precede the rows inside. */
static enum sutra_status group_hosts(struct name_table *table, struct arena *arena, struct sutra_error *error) {
    const struct launch_model *model = table->input->model;
    const struct host_rows *hosts = &model->hosts;
    const struct attribution_table *attributions = &model->attributions;
    size_t capacity = (size_t)model->strings->n * 2;
    table->of_launcher = arena_alloc(arena, attributions->n, sizeof *table->of_launcher);
    table->hosts = arena_alloc(arena, capacity, sizeof *table->hosts);
    table->of_name = rows_none(arena, capacity);
    TRY(arena_status(arena, error));
    for (row_t row = 0; row < hosts->n; row++) {
        row_t enclosing = hosts->around[row];
        int64_t start = hosts->start[row], stop = hosts->stop[row];
        bool is_call = hosts->kind[row] == HOST_CALL && attributions->of_host[row] != ROW_NONE;
        if (hosts->kind[row] != HOST_OPERATOR && !is_call)
            continue;
        uint32_t *group = group_of(table, row);
        if (*group == ROW_NONE) {
            table->hosts[table->n] = (struct host_sum){
                .name = host_name(model, row), .kind = (enum host_kind)hosts->kind[row], .category = OP_N_CATEGORIES};
            *group = table->n++;
        }
        struct host_sum *sum = &table->hosts[*group];
        sum->calls++;
        sum->total += host_ticks(hosts, row);
        sum->self += host_ticks(hosts, row);
        if (enclosing != ROW_NONE &&
            host_ticks(hosts, row)) { /* not self time of the enclosing operator: the time in which both run */
            int64_t end = MIN(hosts->stop[enclosing], stop);
            table->hosts[*group_of(table, enclosing)].self -= end - start;
        }
    }
    /* the category of a name is the category of its first launcher */
    for (row_t i = 0; i < attributions->n; i++) {
        table->of_launcher[i] = *group_of(table, attributions->host[i]);
        struct host_sum *sum = &table->hosts[table->of_launcher[i]];
        if (sum->category == OP_N_CATEGORIES)
            sum->category = table->input->categories[i];
    }
    return SUTRA_OK;
}

static void add_name(const struct name_table *from, uint32_t group, struct sutra_table *table) {
    const struct strings *strings = from->input->model->strings;
    const struct host_sum *host = &from->hosts[group];
    const char *kind = host->kind == HOST_OPERATOR ? "operator" : "call";
    uint32_t category = host->category;
    if (category == OP_N_CATEGORIES)
        category = op_category_find(strings_text(strings, host->name), strings_length(strings, host->name), NULL, 0,
                                    OP_TABLE_ALL);
    table_integer(table, from->input->options.rank);
    table_string(table, from->input->model->strings, host->name);
    table_text(table, kind, strlen(kind));
    table_text(table, op_category_names[category], strlen(op_category_names[category]));
    table_integer(table, host->calls);
    table_real(table, us_of(from->input->model, host->total));
    table_real(table, us_of(from->input->model, host->self));
    add_sum(from->input, &from->sums[group], table);
}

enum sutra_status operators_by_name(const struct op_input *input, struct arena *arena,
                                    struct sutra_operators *operators, struct sutra_error *error) {
    struct name_table from = {.input = input};
    struct arena_mark mark = arena_mark(arena);
    uint32_t *order = NULL;
    TRY(group_hosts(&from, arena, error));
    TRY(sum_launchers(input->model, from.of_launcher, from.n, arena, &from.sums, error));
    TRY(order_by_device_time(from.sums, from.n, arena, &order, error));
    struct sutra_table *table = result_table_begin(&operators->result, SUTRA_OPERATORS_BY_NAME);
    for (uint32_t i = 0; i < from.n; i++)
        if (from.hosts[order[i]].calls || from.sums[order[i]].works)
            add_name(&from, order[i], table);
    arena_release(arena, mark);
    return SUTRA_OK;
}

/* ---- By a key of each launcher ---- */

/* Adds the columns before the sums of a group, which contains the launcher `attribution`. */
typedef void add_key(const struct op_input *input, const void *source, row_t attribution, struct sutra_table *table);

static enum sutra_status add_groups(const struct op_input *input, const struct row_groups *groups, const void *source,
                                    add_key *add, struct arena *arena, struct sutra_table *table,
                                    struct sutra_error *error) {
    struct launcher_sum *sums = NULL;
    uint32_t *order = NULL;
    TRY(sum_launchers(input->model, groups->of, groups->n, arena, &sums, error));
    TRY(order_by_device_time(sums, groups->n, arena, &order, error));
    for (uint32_t i = 0; i < groups->n; i++) {
        const struct launcher_sum *sum = &sums[order[i]];
        table_integer(table, input->options.rank);
        add(input, source, groups->member[groups->first[order[i]]], table);
        table_integer(table, sum->launchers);
        add_sum(input, sum, table);
    }
    return SUTRA_OK;
}

static void add_arguments(const struct op_input *input, const void *source, row_t attribution,
                          struct sutra_table *table) {
    const struct op_arguments *arguments = source;
    const char *category = op_category_names[input->categories[attribution]];
    table_string(table, input->model->strings, host_name(input->model, input->model->attributions.host[attribution]));
    table_text(table, category, strlen(category));
    for (int k = 0; k < N_ARGUMENTS; k++)
        table_string(table, &arguments->texts, op_argument_text(arguments, (enum op_argument)k, attribution));
}

enum sutra_status operators_by_arguments(const struct op_input *input, struct arena *arena,
                                         struct sutra_operators *operators, struct sutra_error *error) {
    const struct attribution_table *attributions = &input->model->attributions;
    struct op_arguments arguments = {0};
    struct arena_mark mark = arena_mark(arena);
    struct tuple *keys = arena_alloc(arena, attributions->n, sizeof *keys);
    enum sutra_status status = arena_status(arena, error);
    if (!status)
        status = op_arguments_read(input->context, input->model, attributions->host, attributions->n, arena, &arguments,
                                   error);
    for (row_t i = 0; i < attributions->n && !status; i++)
        keys[i] =
            (struct tuple){{host_name(input->model, attributions->host[i]), input->categories[i], arguments.of[i], 0}};
    struct row_groups groups;
    if (!status)
        status = row_groups_make(keys, attributions->n, arena, &groups, error);
    if (!status)
        status = add_groups(input, &groups, &arguments, add_arguments, arena,
                            result_table_begin(&operators->result, SUTRA_OPERATORS_BY_ARGUMENTS), error);
    op_arguments_free(&arguments);
    arena_release(arena, mark);
    return status;
}

static void add_category(const struct op_input *input, const void *source, row_t attribution,
                         struct sutra_table *table) {
    const char *category = op_category_names[input->categories[attribution]];
    (void)source;
    table_text(table, category, strlen(category));
}

enum sutra_status operators_by_category(const struct op_input *input, struct arena *arena,
                                        struct sutra_operators *operators, struct sutra_error *error) {
    struct arena_mark mark = arena_mark(arena);
    row_t n = input->model->attributions.n;
    uint32_t *categories = arena_alloc(arena, n, sizeof *categories);
    struct row_groups groups;
    TRY(arena_status(arena, error));
    for (row_t i = 0; i < n; i++)
        categories[i] = input->categories[i];
    TRY(row_groups_number(categories, n, OP_N_CATEGORIES, arena, &groups, error));
    TRY(add_groups(input, &groups, NULL, add_category, arena,
                   result_table_begin(&operators->result, SUTRA_OPERATORS_BY_CATEGORY), error));
    arena_release(arena, mark);
    return SUTRA_OK;
}

/* ---- By path ---- */

/* Call paths of equal names as numbers: each is a name and the number of its caller. */
struct path_numbers {
    struct tuples steps; /* (path of the caller plus 1, or 0; name) */
    uint32_t *of_path;   /* by call path */
};

static void add_path(const struct op_input *input, const void *source, row_t attribution, struct sutra_table *table) {
    const struct path_numbers *numbers = source;
    uint32_t steps[PATH_SHOWN], n = 0;
    struct buffer text = {0};
    uint32_t at = numbers->of_path[input->paths.of_launcher[attribution]] + 1;
    for (; at && n < PATH_SHOWN && numbers->steps.list; at = (uint32_t)numbers->steps.list[at - 1].part[0])
        steps[n++] = (uint32_t)numbers->steps.list[at - 1].part[1];
    if (at)
        buffer_append_text(&text, "... / ");
    while (n--) {
        buffer_append(&text, strings_text(input->model->strings, steps[n]),
                      strings_length(input->model->strings, steps[n]));
        buffer_append(&text, " / ", n ? 3 : 0);
    }
    table->failed |= text.failed;
    table_text(table, text.bytes, text.length);
    buffer_free(&text);
}

enum sutra_status operators_by_path(const struct op_input *input, struct arena *arena,
                                    struct sutra_operators *operators, struct sutra_error *error) {
    const struct call_paths *paths = &input->paths;
    row_t n = input->model->attributions.n;
    struct arena_mark mark = arena_mark(arena);
    struct path_numbers numbers = {.of_path = arena_alloc(arena, paths->n, sizeof *numbers.of_path)};
    uint32_t *path_of = arena_alloc(arena, n, sizeof *path_of);
    struct row_groups groups;
    enum sutra_status status = arena_status(arena, error);
    for (row_t path = 0; path < paths->n && !status; path++) {
        row_t above = paths->above[path];
        struct tuple step = {{above == ROW_NONE ? 0 : (value_key)numbers.of_path[above] + 1,
                              host_name(input->model, paths->host[path]), 0, 0}};
        numbers.of_path[path] = tuples_number(&numbers.steps, step);
        status = numbers.of_path[path] == TUPLE_NONE ? error_memory(error) : SUTRA_OK;
    }
    for (row_t i = 0; i < n && !status; i++)
        path_of[i] = numbers.of_path[paths->of_launcher[i]];
    if (!status)
        status = row_groups_number(path_of, n, numbers.steps.n, arena, &groups, error);
    if (!status)
        status = add_groups(input, &groups, &numbers, add_path, arena,
                            result_table_begin(&operators->result, SUTRA_OPERATORS_BY_PATH), error);
    tuples_free(&numbers.steps);
    arena_release(arena, mark);
    return status;
}

/*
 * ---- Kernels of CUDA and HIP graphs: by launch and method of attribution; by operator, module and method ----
 *
 *     graph_kernels     cudaGraphLaunch   between   medium   5,049 kernels
 *     graph_operators   aten::mm   Linear   verified   exact   72 kernels
 *
 * Longest first. Unmatched kernels have a row of the first table only. O(n) in expectation, and a sort of the rows.
 */

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
    TRY_ALLOC(ok && !arena->failed, error);
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
    TRY(graph_table_add(input->model, input->options.rank, false, arena, kernels, error));
    return graph_table_add(input->model, input->options.rank, true, arena, by_operator, error);
}
