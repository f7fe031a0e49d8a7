/*
 * tracelens_arguments.c - the reference's table of operators by name and arguments.
 */
#include <string.h>

#include "analyze/operators/tracelens_details.h"
#include "analyze/pandas_stats.h"
#include "base/error.h"

struct argument_table {
    const struct op_input *input;
    const struct op_reading *reading;
    struct op_arguments arguments;
    struct thread_labels labels;
    struct op_groups groups;
    struct value_stats *direct, *subtree; /* of each group, in microseconds */
};

/* ---- Groups ---- */

/* A number for what a charge is called and where it runs; the arguments get another. */
static enum sutra_status group_charges(struct argument_table *table, struct arena *arena, struct sutra_error *error) {
    const struct op_reading *reading = table->reading;
    const struct op_charges *charges = &reading->charges;
    struct tuples names = {0}, threads = {0};
    struct tuple *keys = arena_zeros(arena, charges->n, sizeof *keys);
    enum sutra_status status = arena_status(arena, error);
    for (row_t i = 0; i < charges->n && !status; i++) {
        uint32_t thread = reading->hosts.thread[charges->host[i]];
        uint32_t *const labels[] = {table->labels.process, table->labels.label, table->labels.thread};
        uint32_t where =
            tuples_number(&threads, (struct tuple){{labels[0][thread], labels[1][thread], labels[2][thread], 0}});
        uint32_t name = tuples_number(
            &names, (struct tuple){{host_name(reading, charges->host[i]), table->input->categories[i], where, 0}});
        keys[i] = (struct tuple){{name, table->arguments.of[i], 0, 0}};
        if (where == TUPLE_NONE || name == TUPLE_NONE)
            status = error_memory(error);
    }
    tuples_free(&names);
    tuples_free(&threads);
    return status ? status : op_groups_make(keys, charges->n, arena, &table->groups, error);
}

/* Statistics of a column of the charges for each group. */
static enum sutra_status describe_groups(const struct argument_table *table, const int64_t *ticks, struct arena *arena,
                                         struct value_stats **stats, struct sutra_error *error) {
    const struct op_groups *groups = &table->groups;
    *stats = arena_take(arena, groups->n, sizeof **stats);
    double *values = arena_take(arena, (size_t)table->reading->charges.n * 2, sizeof *values);
    enum group_order order = pandas_group_order(groups->of, table->reading->charges.n, NULL);
    enum sutra_status status = arena_status(arena, error);
    for (uint32_t g = 0; g < groups->n && !status; g++) {
        row_t n = groups->first[g + 1] - groups->first[g];
        for (row_t i = 0; i < n; i++)
            values[i] = op_us(table->reading, ticks[groups->member[groups->first[g] + i]]);
        (*stats)[g] = pandas_stats(values, n, order, values + n);
    }
    return status;
}

static row_t event_of(const struct argument_table *table, row_t charge) {
    return table->reading->hosts.event[table->reading->charges.host[charge]];
}

/* The event of a group's first member, by start. */
static row_t first_event(const struct argument_table *table, uint32_t group) {
    return event_of(table, table->groups.member[table->groups.first[group]]);
}

/* ---- Rows ---- */

static void put_names(struct argument_table *from, struct sutra_table *table, uint32_t group) {
    row_t charge = from->groups.member[from->groups.first[group]];
    row_t host = from->reading->charges.host[charge];
    uint32_t thread = from->reading->hosts.thread[host];
    const char *category = op_category_names[from->input->categories[charge]];
    table_string(table, from->reading->strings, host_name(from->reading, host));
    table_text(table, category, strlen(category));
    table_string(table, &from->labels.texts, from->labels.process[thread]);
    table_string(table, &from->labels.texts, from->labels.label[thread]);
    table_string(table, &from->labels.texts, from->labels.thread[thread]);
    for (int k = 0; k < N_ARGUMENTS; k++)
        table_string(table, &from->arguments.texts, op_argument_text(&from->arguments, (enum op_argument)k, charge));
}

static void put_times(struct argument_table *from, struct sutra_table *table, uint32_t group) {
    const struct value_stats *direct = &from->direct[group], *subtree = &from->subtree[group];
    const double pairs[][2] = {{direct->mean, subtree->mean}, {direct->median, subtree->median},
                               {direct->std, subtree->std},   {direct->min, subtree->min},
                               {direct->max, subtree->max},   {direct->sum, subtree->sum}};
    for (size_t i = 0; i < sizeof pairs / sizeof *pairs; i++) {
        table_number(table, pairs[i][0]);
        table_number(table, pairs[i][1]);
    }
}

/* The first start of a group, from the first of all; groups are lists of charges by start. */
static double first_us(const struct argument_table *from, uint32_t group) {
    const struct op_charges *charges = &from->reading->charges;
    const int64_t *start = from->reading->hosts.start;
    row_t first = from->groups.member[from->groups.first[group]];
    return op_us(from->reading, start[charges->host[first]] - start[charges->host[0]]);
}

/* The sum of all groups' times, in the order of the rows. */
static double total_us(const struct argument_table *from, const uint32_t *order, double *values) {
    for (uint32_t i = 0; i < from->groups.n; i++)
        values[i] = from->direct[order[i]].sum;
    return numpy_sum(values, from->groups.n);
}

static void write_groups(struct argument_table *from, const uint32_t *order, double all_us, struct arena *arena,
                         struct sutra_table *table) {
    const struct kernel_lists lists = {from->reading->charges.first, from->reading->charges.device};
    double so_far = 0;
    for (uint32_t i = 0; i < from->groups.n; i++) {
        uint32_t g = order[i];
        row_t n = from->groups.first[g + 1] - from->groups.first[g];
        double share = from->direct[g].sum / all_us * 100;
        put_names(from, table, g);
        table_integer(table, n);
        table_number(table, first_us(from, g));
        put_times(from, table, g);
        table_integer(table, first_event(from, g));
        tracelens_details_write(from->input, &lists, from->groups.member + from->groups.first[g], n, arena, table);
        table_real(table, share);
        table_real(table, so_far += share);
    }
}

/* Columns that hold integers where all times are integers. */
static struct sutra_table *begin_table(const struct argument_table *from, struct sutra_operators *operators) {
    static const char *const times[] = {"total_direct_kernel_time_min",
                                        "total_subtree_kernel_time_min",
                                        "total_direct_kernel_time_max",
                                        "total_subtree_kernel_time_max",
                                        "total_direct_kernel_time_sum",
                                        "total_subtree_kernel_time_sum",
                                        NULL};
    static const char *const starts[] = {"first_occurrence_time", NULL};
    const struct op_reading *reading = from->reading;
    struct sutra_table *table = op_table_begin(operators, SUTRA_TRACELENS_ARGUMENTS);
    bool integers = true;
    for (row_t i = 0; i < reading->charges.n; i++)
        integers &= !number_is_double(number_at(reading->events->ts, event_of(from, i)));
    if (integers)
        tracelens_retype_integers(table, starts);
    if (from->input->integer_times)
        tracelens_retype_integers(table, times);
    return table;
}

static int by_time_and_event(const void *left, const void *right, void *arg) {
    const struct argument_table *table = arg;
    uint32_t a = *(const uint32_t *)left, b = *(const uint32_t *)right;
    if (table->direct[a].sum != table->direct[b].sum)
        return table->direct[a].sum > table->direct[b].sum ? -1 : 1;
    row_t event_a = first_event(table, a), event_b = first_event(table, b);
    return (event_a > event_b) - (event_a < event_b);
}

enum sutra_status tracelens_arguments(const struct op_input *input, struct arena *arena,
                                      struct sutra_operators *operators, struct sutra_error *error) {
    const struct op_charges *charges = &input->reading->charges;
    struct argument_table from = {.input = input, .reading = input->reading};
    struct arena_mark mark = arena_mark(arena);
    enum sutra_status status =
        op_arguments_read(input->context, input->reading, charges->host, charges->n, arena, &from.arguments, error);
    if (!status)
        status = thread_labels_read(input->context, input->reading, arena, &from.labels, error);
    if (!status)
        status = group_charges(&from, arena, error);
    if (!status)
        status = describe_groups(&from, charges->direct, arena, &from.direct, error);
    if (!status)
        status = describe_groups(&from, charges->subtree, arena, &from.subtree, error);
    uint32_t *order = arena_take(arena, from.groups.n, sizeof *order);
    double *values = arena_take(arena, from.groups.n, sizeof *values);
    if (!status && !(status = arena_status(arena, error))) {
        for (uint32_t g = 0; g < from.groups.n; g++)
            order[g] = g;
        qsort_r(order, from.groups.n, sizeof *order, by_time_and_event, &from);
        write_groups(&from, order, total_us(&from, order, values), arena, begin_table(&from, operators));
    }
    op_arguments_free(&from.arguments);
    thread_labels_free(&from.labels);
    arena_release(arena, mark);
    return status;
}
