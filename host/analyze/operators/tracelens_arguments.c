/*
 * tracelens_arguments.c - the reference's table of operators by name and arguments.
 */
#include <string.h>

#include "analyze/operators/operators.h"
#include "base/error.h"

struct argument_table {
    const struct op_input *input;
    const struct op_reading *reading;
    struct op_arguments arguments;
    struct thread_labels labels;
    struct op_groups groups;
    struct description *direct, *subtree; /* of each group */
    double *sum_us;
    row_t *first_member; /* of each group: the one with the smallest number of an event */
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

static enum sutra_status describe_groups(struct argument_table *table, struct arena *arena, struct sutra_error *error) {
    const struct op_charges *charges = &table->reading->charges;
    const struct engine *engine = &table->input->context->engine;
    const struct op_groups *groups = &table->groups;
    table->direct = arena_take(arena, groups->n, sizeof *table->direct);
    table->subtree = arena_take(arena, groups->n, sizeof *table->subtree);
    table->sum_us = arena_take(arena, groups->n, sizeof *table->sum_us);
    table->first_member = arena_take(arena, groups->n, sizeof *table->first_member);
    enum sutra_status status = arena_status(arena, error);
    if (!status)
        status = describe_integers(engine, arena, groups->of, charges->direct, charges->n, groups->n,
                                   table->reading->ticks_per_us, table->direct, error);
    if (!status)
        status = describe_integers(engine, arena, groups->of, charges->subtree, charges->n, groups->n,
                                   table->reading->ticks_per_us, table->subtree, error);
    for (uint32_t g = 0; g < groups->n && !status; g++)
        table->sum_us[g] = (double)op_group_sum(groups, g, charges->direct) / table->reading->ticks_per_us;
    return status;
}

static row_t event_of(const struct argument_table *table, row_t charge) {
    return table->reading->hosts.event[table->reading->charges.host[charge]];
}

static void find_first_members(struct argument_table *table) {
    const struct op_groups *groups = &table->groups;
    for (uint32_t g = 0; g < groups->n; g++) {
        row_t first = groups->member[groups->first[g]];
        for (row_t i = groups->first[g]; i < groups->first[g + 1]; i++)
            if (event_of(table, groups->member[i]) < event_of(table, first))
                first = groups->member[i];
        table->first_member[g] = first;
    }
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
    const struct description *direct = &from->direct[group], *subtree = &from->subtree[group];
    const double pairs[][2] = {{direct->mean, subtree->mean},
                               {direct->q50, subtree->q50},
                               {direct->std, subtree->std},
                               {direct->min, subtree->min},
                               {direct->max, subtree->max}};
    for (size_t i = 0; i < sizeof pairs / sizeof *pairs; i++) {
        table_real(table, pairs[i][0]);
        table_real(table, pairs[i][1]);
    }
    table_real(table, from->sum_us[group]);
    table_real(table, (double)op_group_sum(&from->groups, group, from->reading->charges.subtree) /
                          from->reading->ticks_per_us);
}

/* The first start of a group, from the first of all; groups are lists of charges by start. */
static double first_us(const struct argument_table *from, uint32_t group) {
    const struct op_charges *charges = &from->reading->charges;
    const int64_t *start = from->reading->hosts.start;
    row_t first = from->groups.member[from->groups.first[group]];
    return op_us(from->reading, start[charges->host[first]] - start[charges->host[0]]);
}

static void write_groups(struct argument_table *from, const uint32_t *order, struct sutra_table *table) {
    double all = 0, so_far = 0;
    for (uint32_t g = 0; g < from->groups.n; g++)
        all += from->sum_us[g];
    for (uint32_t i = 0; i < from->groups.n; i++) {
        uint32_t g = order[i];
        double share = from->sum_us[g] / all * 100;
        put_names(from, table, g);
        table_integer(table, from->groups.first[g + 1] - from->groups.first[g]);
        table_real(table, first_us(from, g));
        put_times(from, table, g);
        table_integer(table, event_of(from, from->first_member[g]));
        table_real(table, share);
        table_real(table, so_far += share);
    }
}

static int by_time_and_event(const void *left, const void *right, void *arg) {
    const struct argument_table *table = arg;
    uint32_t a = *(const uint32_t *)left, b = *(const uint32_t *)right;
    if (table->sum_us[a] != table->sum_us[b])
        return table->sum_us[a] > table->sum_us[b] ? -1 : 1;
    row_t event_a = event_of(table, table->first_member[a]), event_b = event_of(table, table->first_member[b]);
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
        status = describe_groups(&from, arena, error);
    uint32_t *order = arena_take(arena, from.groups.n, sizeof *order);
    if (!status && !(status = arena_status(arena, error))) {
        find_first_members(&from);
        for (uint32_t g = 0; g < from.groups.n; g++)
            order[g] = g;
        qsort_r(order, from.groups.n, sizeof *order, by_time_and_event, &from);
        write_groups(&from, order, op_table_begin(operators, SUTRA_TRACELENS_ARGUMENTS));
    }
    op_arguments_free(&from.arguments);
    thread_labels_free(&from.labels);
    arena_release(arena, mark);
    return status;
}
