/*
 * operator_tables.c - our tables of operators: by name, by arguments, by category, by path of calls.
 *
 * By name all operators stand, with their time on the host; and calls outside of operators that work is charged to. The
 * other tables have those that work is charged to. Shares are of all device time, so what is missing to 100 % is
 * charged to nobody.
 */
#include <math.h>
#include <string.h>

#include "analyze/operators/operator_tables.h"
#include "analyze/operators/operators.h"
#include "base/error.h"
#include "columns/column.h"
#include "match/steps.h"

/*
 * Members that share a key, sums of them, and an order by falling value. O(n), and a sort of the groups.
 */

/* Deals members out to their groups, which are numbered. */
static enum sutra_status deal_out(row_t n, struct arena *arena, struct op_groups *groups, struct sutra_error *error) {
    groups->first = arena_zeros(arena, (size_t)groups->n + 2, sizeof *groups->first);
    groups->member = arena_take(arena, n, sizeof *groups->member);
    if (arena->failed)
        return error_memory(error);
    for (row_t i = 0; i < n; i++)
        groups->first[groups->of[i] + 2]++;
    for (uint32_t g = 0; g < groups->n; g++)
        groups->first[g + 2] += groups->first[g + 1];
    for (row_t i = 0; i < n; i++)
        groups->member[groups->first[groups->of[i] + 1]++] = i;
    return SUTRA_OK;
}

enum sutra_status op_groups_make(const struct tuple *keys, row_t n, struct arena *arena, struct op_groups *groups,
                                 struct sutra_error *error) {
    struct tuples numbers = {0};
    bool ok = true;
    *groups = (struct op_groups){.of = arena_take(arena, n, sizeof *groups->of)};
    for (row_t i = 0; i < n && groups->of && ok; i++)
        ok = (groups->of[i] = tuples_number(&numbers, keys[i])) != TUPLE_NONE;
    groups->n = numbers.n;
    tuples_free(&numbers);
    return ok ? deal_out(n, arena, groups, error) : error_memory(error);
}

enum sutra_status op_groups_number(const uint32_t *values, row_t n, uint32_t n_values, struct arena *arena,
                                   struct op_groups *groups, struct sutra_error *error) {
    uint32_t *group_of = rows_none(arena, n_values);
    *groups = (struct op_groups){.of = arena_take(arena, n, sizeof *groups->of)};
    enum sutra_status status = arena_status(arena, error);
    for (row_t i = 0; i < n && !status; i++) {
        uint32_t *group = &group_of[values[i]];
        if (*group == ROW_NONE)
            *group = groups->n++;
        groups->of[i] = *group;
    }
    return status ? status : deal_out(n, arena, groups, error);
}

enum sutra_status op_groups_order(const double *values, uint32_t n, struct arena *arena, uint32_t *order,
                                  struct sutra_error *error) {
    struct arena_mark mark = arena_mark(arena);
    uint64_t *keys = arena_take(arena, n, sizeof *keys);
    enum sutra_status status = arena_status(arena, error);
    for (uint32_t i = 0; i < n && !status; i++) {
        keys[i] = ~double_sort_key(values[i]);
        order[i] = i;
    }
    if (!status)
        status = cpu_sort_keys(NULL, &(struct sort_keys_step){keys, order, n}, error);
    arena_release(arena, mark);
    return status;
}

bool op_is_module(const struct op_reading *reading, row_t host) {
    return reading->hosts.kind[host] == HOST_FRAME &&
           text_compare(reading->strings, host_name(reading, host), TEXT_BEGINS, MODULE_PREFIX);
}

void op_modules_mark(const struct op_reading *reading, uint8_t *marked) {
    for (row_t row = 0; row < reading->hosts.n; row++)
        marked[row] = op_is_module(reading, row);
}

/*
 * Adding charges up. O(charges + work), and a sort of the groups.
 */

/* sums[group of charge i] takes in charge i; groups are those of `of`, below n_groups. */
static enum sutra_status charge_sums_make(const struct op_reading *reading, const uint32_t *of, uint32_t n_groups,
                                          struct arena *arena, struct charge_sum **sums, struct sutra_error *error) {
    const struct op_charges *charges = &reading->charges;
    struct charge_sum *made = arena_zeros(arena, n_groups, sizeof *made);
    enum sutra_status status = arena_status(arena, error);
    for (row_t i = 0; i < charges->n && !status; i++) {
        struct charge_sum *sum = &made[of[i]];
        int64_t direct = charges->direct[i];
        sum->least = sum->launchers == 0 || direct < sum->least ? direct : sum->least;
        sum->most = sum->launchers == 0 || direct > sum->most ? direct : sum->most;
        sum->launchers++;
        sum->works += charges->first[i + 1] - charges->first[i];
        sum->direct += direct;
        sum->subtree += charges->subtree[i];
        sum->device += charges->work[i];
    }
    *sums = made;
    return status;
}

/* order[] = groups by falling device time, equal ones by rising number. */
static enum sutra_status charge_sums_order(const struct charge_sum *sums, uint32_t n, struct arena *arena,
                                           uint32_t **order, struct sutra_error *error) {
    double *device = arena_take(arena, n, sizeof *device);
    *order = arena_take(arena, n, sizeof **order);
    enum sutra_status status = arena_status(arena, error);
    for (uint32_t i = 0; i < n && !status; i++)
        device[i] = (double)sums[i].device;
    return status ? status : op_groups_order(device, n, arena, *order, error);
}

wide_t op_reading_device_time(const struct op_reading *reading) {
    wide_t sum = 0;
    for (row_t i = 0; i < reading->devices.n; i++)
        sum += reading->devices.stop[i] - reading->devices.start[i];
    return sum;
}

/*
 * The device's time as a whole: our timeline, and where it is charged to.
 */

struct line {
    const char *name;
    wide_t ticks;
};

/* Sums of durations, by who they are charged to. */
struct charged_time {
    wide_t operators, calls, nobody;
};

static struct charged_time charged_time(const struct op_reading *reading) {
    const struct device_rows *devices = &reading->devices;
    struct charged_time sums = {0};
    for (row_t i = 0; i < devices->n; i++) {
        row_t launcher = devices->launcher[i];
        wide_t *sum = launcher == ROW_NONE                             ? &sums.nobody
                      : reading->hosts.kind[launcher] == HOST_OPERATOR ? &sums.operators
                                                                       : &sums.calls;
        *sum += devices->stop[i] - devices->start[i];
    }
    return sums;
}

static void put_lines(const struct op_input *input, const struct line *lines, size_t n, wide_t whole,
                      struct sutra_table *table) {
    for (size_t i = 0; i < n; i++) {
        table_integer(table, input->options.rank);
        table_text(table, lines[i].name, strlen(lines[i].name));
        table_real(table, (double)lines[i].ticks / input->reading->ticks_per_us);
        table_real(table, whole ? (double)lines[i].ticks / (double)whole * 100 : (double)NAN);
    }
}

enum sutra_status operators_timeline(const struct op_input *input, struct arena *arena,
                                     struct sutra_operators *operators, struct sutra_error *error) {
    struct timeline_times times;
    enum sutra_status status = timeline_measure(input->reading, NULL, &input->context->engine, arena, &times, error);
    if (status)
        return status;
    struct charged_time charged = charged_time(input->reading);
    const struct line lines[] = {{"compute", times.compute},
                                 {"exposed communication", times.exposed_communication},
                                 {"exposed memcpy", times.exposed_copies},
                                 {"busy", times.busy},
                                 {"idle", times.idle},
                                 {"total", times.total},
                                 {"communication", times.communication},
                                 {"memcpy", times.copies}};
    const struct line charges[] = {{"attributed to operators", charged.operators},
                                   {"attributed to calls", charged.calls},
                                   {"unattributed", charged.nobody},
                                   {"all GPU activity", input->device_ticks}};
    struct sutra_table *table = op_table_begin(operators, SUTRA_OPERATORS_TIMELINE);
    put_lines(input, lines, sizeof lines / sizeof *lines, times.total, table);
    put_lines(input, charges, sizeof charges / sizeof *charges, input->device_ticks, table);
    return SUTRA_OK;
}

/* Operators of a path that are shown; of longer ones the outer are left out. */
#define PATH_SHOWN 48

static double us_of(const struct op_reading *reading, wide_t ticks) {
    return (double)ticks / reading->ticks_per_us;
}

/* The columns that all tables end with. */
static void put_sum(const struct op_input *input, const struct charge_sum *sum, struct sutra_table *table) {
    table_integer(table, (int64_t)sum->works);
    table_real(table, us_of(input->reading, sum->device));
    table_real(table, us_of(input->reading, sum->direct));
    table_real(table, us_of(input->reading, sum->subtree));
    table_real(table, input->device_ticks ? (double)sum->device / (double)input->device_ticks * 100 : (double)NAN);
}

/* ---- By name ---- */

/* What the host did under a name. */
struct host_sum {
    row_t calls;
    wide_t total, self;
    enum host_kind kind;
    uint32_t name, category;
};

struct name_table {
    const struct op_input *input;
    uint32_t n;          /* groups: of each name operators are one, and calls another */
    uint32_t *of_name;   /* by name, operators and calls: the group, or ROW_NONE */
    uint32_t *of_charge; /* by charge */
    struct host_sum *hosts;
    struct charge_sum *sums;
};

static bool is_listed(const struct op_reading *reading, row_t host) {
    uint8_t kind = reading->hosts.kind[host];
    return kind == HOST_OPERATOR || (kind == HOST_CALL && reading->charges.of_host[host] != ROW_NONE);
}

/* Where the group of a row stands, which is one of its name. */
static uint32_t *group_of(const struct name_table *table, row_t row) {
    const struct op_reading *reading = table->input->reading;
    return &table->of_name[(size_t)host_name(reading, row) * 2 + (reading->hosts.kind[row] == HOST_CALL)];
}

/* Adds a row to its group; what an operator around it loses to it is the time that both run. */
static void add_host(struct name_table *table, row_t row, uint32_t group) {
    const struct host_rows *hosts = &table->input->reading->hosts;
    row_t around = table->input->reading->hosts.around[row];
    int64_t start = hosts->start[row], stop = hosts->stop[row];
    struct host_sum *sum = &table->hosts[group];
    sum->calls++;
    sum->total += stop - start;
    sum->self += stop - start;
    if (around != ROW_NONE) {
        int64_t end = hosts->stop[around] < stop ? hosts->stop[around] : stop;
        table->hosts[*group_of(table, around)].self -= end - start;
    }
}

/* Groups what is listed, and adds it up; what is around a row stands before it. */
static enum sutra_status group_hosts(struct name_table *table, struct arena *arena, struct sutra_error *error) {
    const struct op_reading *reading = table->input->reading;
    size_t most = (size_t)reading->strings->n * 2;
    table->of_charge = arena_take(arena, reading->charges.n, sizeof *table->of_charge);
    table->hosts = arena_take(arena, most, sizeof *table->hosts);
    table->of_name = rows_none(arena, most);
    enum sutra_status status = arena_status(arena, error);
    for (row_t row = 0; row < reading->hosts.n && !status; row++) {
        if (!is_listed(reading, row))
            continue;
        uint32_t *group = group_of(table, row);
        if (*group == ROW_NONE) {
            table->hosts[table->n] =
                (struct host_sum){.name = host_name(reading, row), .kind = (enum host_kind)reading->hosts.kind[row]};
            *group = table->n++;
        }
        add_host(table, row, *group);
    }
    for (row_t i = 0; i < reading->charges.n && !status; i++)
        table->of_charge[i] = *group_of(table, reading->charges.host[i]);
    return status;
}

/* The category that most of a name's device time is in would need a sum for each; the first one stands for all. */
static void find_categories(struct name_table *table) {
    const struct op_charges *charges = &table->input->reading->charges;
    for (uint32_t g = 0; g < table->n; g++)
        table->hosts[g].category = OP_N_CATEGORIES;
    for (row_t i = 0; i < charges->n; i++)
        if (table->hosts[table->of_charge[i]].category == OP_N_CATEGORIES)
            table->hosts[table->of_charge[i]].category = table->input->categories[i];
}

static void put_category(const struct name_table *from, const struct host_sum *sum, struct sutra_table *table) {
    const struct strings *strings = from->input->reading->strings;
    const char *category =
        op_category_names[sum->category < OP_N_CATEGORIES
                              ? sum->category
                              : op_category_find(strings_text(strings, sum->name), strings_length(strings, sum->name),
                                                 NULL, 0, OP_TABLE_ALL)];
    table_text(table, category, strlen(category));
}

static void put_name(const struct name_table *from, uint32_t group, struct sutra_table *table) {
    const struct host_sum *host = &from->hosts[group];
    const char *kind = host->kind == HOST_OPERATOR ? "operator" : "call";
    table_integer(table, from->input->options.rank);
    table_string(table, from->input->reading->strings, host->name);
    table_text(table, kind, strlen(kind));
    put_category(from, host, table);
    table_integer(table, host->calls);
    table_real(table, us_of(from->input->reading, host->total));
    table_real(table, us_of(from->input->reading, host->self));
    put_sum(from->input, &from->sums[group], table);
}

enum sutra_status operators_by_name(const struct op_input *input, struct arena *arena,
                                    struct sutra_operators *operators, struct sutra_error *error) {
    struct name_table from = {.input = input};
    struct arena_mark mark = arena_mark(arena);
    uint32_t *order = NULL;
    enum sutra_status status = group_hosts(&from, arena, error);
    if (!status)
        status = charge_sums_make(input->reading, from.of_charge, from.n, arena, &from.sums, error);
    if (!status)
        status = charge_sums_order(from.sums, from.n, arena, &order, error);
    if (!status) {
        struct sutra_table *table = op_table_begin(operators, SUTRA_OPERATORS_BY_NAME);
        find_categories(&from);
        for (uint32_t i = 0; i < from.n; i++)
            if (from.hosts[order[i]].calls || from.sums[order[i]].works)
                put_name(&from, order[i], table);
    }
    arena_release(arena, mark);
    return status;
}

/* ---- By a key of each charge ---- */

/* Writes what stands before the sums of a group, of which one charge is given. */
typedef void put_key(const struct op_input *input, const void *source, row_t charge, struct sutra_table *table);

static enum sutra_status write_groups(const struct op_input *input, const struct op_groups *groups, const void *source,
                                      put_key *put, struct arena *arena, struct sutra_table *table,
                                      struct sutra_error *error) {
    struct charge_sum *sums = NULL;
    uint32_t *order = NULL;
    enum sutra_status status = charge_sums_make(input->reading, groups->of, groups->n, arena, &sums, error);
    if (!status)
        status = charge_sums_order(sums, groups->n, arena, &order, error);
    for (uint32_t i = 0; !status && i < groups->n; i++) {
        const struct charge_sum *sum = &sums[order[i]];
        table_integer(table, input->options.rank);
        put(input, source, groups->member[groups->first[order[i]]], table);
        table_integer(table, sum->launchers);
        put_sum(input, sum, table);
    }
    return status;
}

static void put_charge_name(const struct op_input *input, row_t charge, struct sutra_table *table) {
    const char *category = op_category_names[input->categories[charge]];
    table_string(table, input->reading->strings, host_name(input->reading, input->reading->charges.host[charge]));
    table_text(table, category, strlen(category));
}

static void put_arguments(const struct op_input *input, const void *source, row_t charge, struct sutra_table *table) {
    const struct op_arguments *arguments = source;
    put_charge_name(input, charge, table);
    for (int k = 0; k < N_ARGUMENTS; k++)
        table_string(table, &arguments->texts, op_argument_text(arguments, (enum op_argument)k, charge));
}

enum sutra_status operators_by_arguments(const struct op_input *input, struct arena *arena,
                                         struct sutra_operators *operators, struct sutra_error *error) {
    const struct op_charges *charges = &input->reading->charges;
    struct op_arguments arguments = {0};
    struct arena_mark mark = arena_mark(arena);
    struct tuple *keys = arena_take(arena, charges->n, sizeof *keys);
    enum sutra_status status = arena_status(arena, error);
    if (!status)
        status = op_arguments_read(input->context, input->reading, charges->host, charges->n, arena, &arguments, error);
    for (row_t i = 0; i < charges->n && !status; i++)
        keys[i] =
            (struct tuple){{host_name(input->reading, charges->host[i]), input->categories[i], arguments.of[i], 0}};
    struct op_groups groups;
    if (!status)
        status = op_groups_make(keys, charges->n, arena, &groups, error);
    if (!status)
        status = write_groups(input, &groups, &arguments, put_arguments, arena,
                              op_table_begin(operators, SUTRA_OPERATORS_BY_ARGUMENTS), error);
    op_arguments_free(&arguments);
    arena_release(arena, mark);
    return status;
}

static void put_only_category(const struct op_input *input, const void *source, row_t charge,
                              struct sutra_table *table) {
    const char *category = op_category_names[input->categories[charge]];
    (void)source;
    table_text(table, category, strlen(category));
}

enum sutra_status operators_by_category(const struct op_input *input, struct arena *arena,
                                        struct sutra_operators *operators, struct sutra_error *error) {
    struct arena_mark mark = arena_mark(arena);
    row_t n = input->reading->charges.n;
    uint32_t *categories = arena_take(arena, n, sizeof *categories);
    struct op_groups groups;
    enum sutra_status status = arena_status(arena, error);
    for (row_t i = 0; i < n && !status; i++)
        categories[i] = input->categories[i];
    if (!status)
        status = op_groups_number(categories, n, OP_N_CATEGORIES, arena, &groups, error);
    if (!status)
        status = write_groups(input, &groups, NULL, put_only_category, arena,
                              op_table_begin(operators, SUTRA_OPERATORS_BY_CATEGORY), error);
    arena_release(arena, mark);
    return status;
}

/* ---- By path ---- */

/* Paths as numbers: each is a name below another path. */
struct call_paths {
    struct tuples steps; /* (path around it plus 1, or 0; name) */
    uint32_t *of_way;
};

static void put_path(const struct op_input *input, const void *source, row_t charge, struct sutra_table *table) {
    const struct call_paths *paths = source;
    uint32_t steps[PATH_SHOWN], n = 0;
    struct buffer text = {0};
    uint32_t at = paths->of_way[input->ways.of_charge[charge]] + 1;
    for (; at && n < PATH_SHOWN && paths->steps.list; at = (uint32_t)paths->steps.list[at - 1].part[0])
        steps[n++] = (uint32_t)paths->steps.list[at - 1].part[1];
    if (at)
        buffer_append(&text, "... / ", 6);
    while (n--) {
        buffer_append(&text, strings_text(input->reading->strings, steps[n]),
                      strings_length(input->reading->strings, steps[n]));
        buffer_append(&text, " / ", n ? 3 : 0);
    }
    table->failed |= text.failed;
    table_text(table, text.bytes, text.length);
    buffer_free(&text);
}

static enum sutra_status find_paths(const struct op_input *input, struct call_paths *paths, struct arena *arena,
                                    struct sutra_error *error) {
    const struct op_ways *ways = &input->ways;
    paths->of_way = arena_take(arena, ways->n, sizeof *paths->of_way);
    enum sutra_status status = arena_status(arena, error);
    for (row_t way = 0; way < ways->n && !status; way++) {
        row_t above = ways->above[way];
        struct tuple step = {{above == ROW_NONE ? 0 : (value_key)paths->of_way[above] + 1,
                              host_name(input->reading, ways->host[way]), 0, 0}};
        paths->of_way[way] = tuples_number(&paths->steps, step);
        status = paths->of_way[way] == TUPLE_NONE ? error_memory(error) : SUTRA_OK;
    }
    return status;
}

enum sutra_status operators_by_path(const struct op_input *input, struct arena *arena,
                                    struct sutra_operators *operators, struct sutra_error *error) {
    struct call_paths paths = {0};
    struct arena_mark mark = arena_mark(arena);
    const struct op_charges *charges = &input->reading->charges;
    uint32_t *path_of = arena_take(arena, charges->n, sizeof *path_of);
    struct op_groups groups;
    enum sutra_status status = arena_status(arena, error);
    if (!status)
        status = find_paths(input, &paths, arena, error);
    for (row_t i = 0; i < charges->n && !status; i++)
        path_of[i] = paths.of_way[input->ways.of_charge[i]];
    if (!status)
        status = op_groups_number(path_of, charges->n, paths.steps.n, arena, &groups, error);
    if (!status)
        status = write_groups(input, &groups, &paths, put_path, arena,
                              op_table_begin(operators, SUTRA_OPERATORS_BY_PATH), error);
    tuples_free(&paths.steps);
    arena_release(arena, mark);
    return status;
}
