/*
 * tracelens_operators.c - TraceLens' tables of operators (by name and arguments, by name, by category, by kind of
 * module), of modules, and the timeline.
 */
#include <math.h>
#include <string.h>

#include "analyze/compat/tracelens/tracelens.h"
#include "analyze/launches/launches.h"
#include "analyze/table.h"
#include "base/error.h"
#include "match/intervals.h"
#include "match/key_index.h"
#include "text/strings.h"

/* ---- By name and arguments ---- */

struct argument_table {
    const struct tracelens_input *input;
    const struct launch_model *model;
    struct op_arguments arguments;
    struct thread_labels labels;
    struct row_groups groups;
    struct value_stats *direct, *subtree; /* of each group, in microseconds */
};

/* Groups launchers by name, category, thread and arguments. */
static enum sutra_status group_launchers(struct argument_table *table, struct arena *arena, struct sutra_error *error) {
    const struct launch_model *model = table->model;
    const struct attribution_table *attributions = &model->attributions;
    struct tuples names = {0}, threads = {0};
    struct tuple *keys = arena_zeros(arena, attributions->n, sizeof *keys);
    enum sutra_status status = arena_status(arena, error);
    for (row_t i = 0; i < attributions->n && !status; i++) {
        uint32_t thread = model->hosts.thread[attributions->host[i]];
        uint32_t *const labels[] = {table->labels.process, table->labels.label, table->labels.thread};
        uint32_t where =
            tuples_number(&threads, (struct tuple){{labels[0][thread], labels[1][thread], labels[2][thread], 0}});
        uint32_t name = tuples_number(
            &names, (struct tuple){{host_name(model, attributions->host[i]), table->input->categories[i], where, 0}});
        keys[i] = (struct tuple){{name, table->arguments.of[i], 0, 0}};
        if (where == TUPLE_NONE || name == TUPLE_NONE)
            status = error_memory(error);
    }
    tuples_free(&names);
    tuples_free(&threads);
    return status ? status : row_groups_make(keys, attributions->n, arena, &table->groups, error);
}

/* Statistics of a column of the launchers for each group. */
static enum sutra_status describe_groups(const struct argument_table *table, const int64_t *ticks, struct arena *arena,
                                         struct value_stats **stats, struct sutra_error *error) {
    const struct row_groups *groups = &table->groups;
    *stats = arena_alloc(arena, groups->n, sizeof **stats);
    double *values = arena_alloc(arena, (size_t)table->model->attributions.n * 2, sizeof *values);
    enum group_order order = pandas_group_order(groups->of, table->model->attributions.n, NULL);
    TRY(arena_status(arena, error));
    for (uint32_t g = 0; g < groups->n; g++) {
        row_t n = groups->first[g + 1] - groups->first[g];
        for (row_t i = 0; i < n; i++)
            values[i] = launch_model_us(table->model, ticks[groups->member[groups->first[g] + i]]);
        (*stats)[g] = pandas_stats(values, n, order, values + n);
    }
    return SUTRA_OK;
}

static row_t event_of(const struct argument_table *table, row_t attribution) {
    return table->model->hosts.event[table->model->attributions.host[attribution]];
}

/* The event of a group's first member, by start. */
static row_t first_event(const struct argument_table *table, uint32_t group) {
    return event_of(table, table->groups.member[table->groups.first[group]]);
}

static void add_argument_group(const struct argument_table *from, uint32_t group, struct sutra_table *table) {
    const struct launch_model *model = from->model;
    row_t attribution = from->groups.member[from->groups.first[group]], host = model->attributions.host[attribution];
    uint32_t thread = model->hosts.thread[host];
    const struct value_stats *direct = &from->direct[group], *subtree = &from->subtree[group];
    const double pairs[][2] = {{direct->mean, subtree->mean}, {direct->median, subtree->median},
                               {direct->std, subtree->std},   {direct->min, subtree->min},
                               {direct->max, subtree->max},   {direct->sum, subtree->sum}};
    table_string(table, model->strings, host_name(model, host));
    table_words(table, op_category_names[from->input->categories[attribution]]);
    table_string(table, &from->labels.texts, from->labels.process[thread]);
    table_string(table, &from->labels.texts, from->labels.label[thread]);
    table_string(table, &from->labels.texts, from->labels.thread[thread]);
    for (int k = 0; k < N_ARGUMENTS; k++)
        table_string(table, &from->arguments.texts,
                     op_argument_text(&from->arguments, (enum op_argument)k, attribution));
    table_integer(table, from->groups.first[group + 1] - from->groups.first[group]);
    /* launchers are ordered by start */
    table_number(table,
                 launch_model_us(model, model->hosts.start[host] - model->hosts.start[model->attributions.host[0]]));
    for (size_t i = 0; i < sizeof pairs / sizeof *pairs; i++) {
        table_number(table, pairs[i][0]);
        table_number(table, pairs[i][1]);
    }
    table_integer(table, first_event(from, group));
}

static int by_time_and_event(const void *left, const void *right, void *arg) {
    const struct argument_table *table = arg;
    uint32_t a = *(const uint32_t *)left, b = *(const uint32_t *)right;
    if (table->direct[a].sum != table->direct[b].sum)
        return table->direct[a].sum > table->direct[b].sum ? -1 : 1;
    row_t event_a = first_event(table, a), event_b = first_event(table, b);
    return (event_a > event_b) - (event_a < event_b);
}

enum sutra_status tracelens_arguments(const struct tracelens_input *input, struct arena *arena,
                                      struct sutra_operators *operators, struct sutra_error *error) {
    static const char *const times[] = {"total_direct_kernel_time_min",
                                        "total_subtree_kernel_time_min",
                                        "total_direct_kernel_time_max",
                                        "total_subtree_kernel_time_max",
                                        "total_direct_kernel_time_sum",
                                        "total_subtree_kernel_time_sum",
                                        NULL};
    static const char *const starts[] = {"first_occurrence_time", NULL};
    const struct attribution_table *attributions = &input->model->attributions;
    struct argument_table from = {.input = input, .model = input->model};
    struct arena_mark mark = arena_mark(arena);
    enum sutra_status status = op_arguments_read(input->context, input->model, attributions->host, attributions->n,
                                                 arena, &from.arguments, error);
    if (!status)
        status = thread_labels_read(input->context, input->model, arena, &from.labels, error);
    if (!status)
        status = group_launchers(&from, arena, error);
    if (!status)
        status = describe_groups(&from, attributions->direct, arena, &from.direct, error);
    if (!status)
        status = describe_groups(&from, attributions->subtree, arena, &from.subtree, error);
    uint32_t n = from.groups.n, *order = arena_alloc(arena, n, sizeof *order);
    double *values = arena_alloc(arena, n, sizeof *values), so_far = 0;
    if (!status && !(status = arena_status(arena, error))) {
        const struct kernel_lists lists = {attributions->first, attributions->device};
        struct sutra_table *table = result_table_begin(&operators->result, SUTRA_TRACELENS_ARGUMENTS);
        bool integers = true;
        for (row_t i = 0; i < attributions->n; i++)
            integers &= !number_is_double(number_at(input->model->events->ts, event_of(&from, i)));
        if (integers)
            tracelens_retype_integers(table, starts);
        if (input->integer_times)
            tracelens_retype_integers(table, times);
        for (uint32_t g = 0; g < n; g++)
            order[g] = g;
        qsort_r(order, n, sizeof *order, by_time_and_event, &from);
        for (uint32_t i = 0; i < n; i++)
            values[i] = from.direct[order[i]].sum;
        double all_us = numpy_sum(values, n);
        for (uint32_t i = 0; i < n; i++) {
            row_t first = from.groups.first[order[i]], n_members = from.groups.first[order[i] + 1] - first;
            double share = from.direct[order[i]].sum / all_us * 100;
            add_argument_group(&from, order[i], table);
            tracelens_details_write(input, &lists, from.groups.member + first, n_members, arena, table);
            table_real(table, share);
            table_real(table, so_far += share);
        }
    }
    op_arguments_free(&from.arguments);
    thread_labels_free(&from.labels);
    arena_release(arena, mark);
    return status;
}

/* ---- Modules: each nn.Module in an outermost nn.Module that launches GPU activity ---- */

struct module_walk {
    const struct launch_model *model;
    row_t n;
    row_t *host, *enclosing; /* modules in pre-order, and for all hosts the innermost enclosing module */
    row_t *n_children;       /* by host: modules directly below it */
    int64_t *busy;           /* of each module */
    int64_t *own;            /* of each: busy time of activity that is in no module below it */
};

/* Measures the busy time of activity that is in a module and in no module below it. */
static enum sutra_status measure_own(struct module_walk *walk, struct arena *arena, struct sutra_error *error) {
    const struct launch_model *model = walk->model;
    const struct device_rows *devices = &model->devices;
    row_t n = model->links.n;
    int64_t *start = arena_alloc(arena, n, sizeof *start), *stop = arena_alloc(arena, n, sizeof *stop);
    row_t *first = arena_zeros(arena, (size_t)model->hosts.n + 2, sizeof *first);
    row_t *begin = arena_alloc(arena, walk->n, sizeof *begin), *end = arena_alloc(arena, walk->n, sizeof *end);
    TRY(arena_status(arena, error));
    for (row_t row = 0; row < model->hosts.n; row++)
        if (walk->enclosing[row] != ROW_NONE)
            first[walk->enclosing[row] + 2] += model->links.first[row + 1] - model->links.first[row];
    for (row_t row = 0; row < model->hosts.n; row++)
        first[row + 2] += first[row + 1];
    for (row_t row = 0; row < model->hosts.n; row++) {
        row_t module = walk->enclosing[row];
        for (row_t i = model->links.first[row]; module != ROW_NONE && i < model->links.first[row + 1]; i++) {
            row_t device = model->links.device[i], at = first[module + 1]++;
            start[at] = devices->start[device];
            stop[at] = devices->stop[device];
        }
    }
    for (row_t i = 0; i < walk->n; i++) {
        begin[i] = first[walk->host[i]];
        end[i] = first[walk->host[i] + 1];
    }
    return range_cover(start, stop, first[model->hosts.n], begin, end, walk->n, arena, walk->own, error);
}

enum sutra_status tracelens_modules(const struct tracelens_input *input, struct arena *arena,
                                    struct sutra_operators *operators, struct sutra_error *error) {
    const struct launch_model *model = input->with_frames;
    struct module_walk walk = {.model = model};
    struct arena_mark mark = arena_mark(arena);
    if (!model)
        return SUTRA_OK;
    row_t n_hosts = model->hosts.n;
    uint8_t *is_module = arena_alloc(arena, n_hosts, sizeof *is_module);
    double *us_of = arena_alloc(arena, n_hosts, sizeof *us_of);
    walk.host = arena_alloc(arena, n_hosts, sizeof *walk.host);
    walk.enclosing = arena_alloc(arena, n_hosts, sizeof *walk.enclosing);
    walk.n_children = arena_zeros(arena, n_hosts, sizeof *walk.n_children);
    TRY(arena_status(arena, error));
    mark_modules(model, is_module);
    find_enclosing(model, is_module, walk.enclosing);
    for (row_t row = 0; row < n_hosts; row++) {
        if (!is_module[row])
            continue;
        walk.host[walk.n++] = row;
        if (walk.enclosing[row] != ROW_NONE)
            walk.n_children[walk.enclosing[row]]++;
    }
    walk.busy = arena_alloc(arena, walk.n, sizeof *walk.busy);
    walk.own = arena_alloc(arena, walk.n, sizeof *walk.own);
    TRY(arena_status(arena, error));
    TRY(launch_model_busy_time(model, walk.host, walk.n, arena, walk.busy, error));
    TRY(measure_own(&walk, arena, error));

    struct sutra_table *table = result_table_begin(&operators->result, SUTRA_TRACELENS_MODULES);
    bool has_work = false; /* of the outermost module */
    for (row_t i = 0; i < walk.n; i++) {
        row_t host = walk.host[i], parent = walk.enclosing[host];
        row_t n_below = model->links.first[model->hosts.end[host]] - model->links.first[host];
        if (parent == ROW_NONE)
            has_work = n_below > 0;
        if (!has_work)
            continue;
        us_of[host] = launch_model_us(model, walk.busy[i]);
        table_integer(table, model->hosts.event[host]);
        table_string(table, model->strings, host_name(model, host));
        table_real(table, parent == ROW_NONE ? (double)NAN : (double)model->hosts.event[parent]);
        table_integer(table, n_below);
        table_real(table, us_of[host]);
        table_real(table, parent == ROW_NONE ? (double)NAN : us_of[parent]);
        table_real(table, walk.n_children[host] && walk.own[i] ? launch_model_us(model, walk.own[i]) : (double)NAN);
    }
    arena_release(arena, mark);
    return SUTRA_OK;
}

/* ---- The timeline ---- */

enum sutra_status tracelens_timeline(const struct tracelens_input *input, struct arena *arena,
                                     struct sutra_operators *operators, struct sutra_error *error) {
    const struct launch_model *model = input->model;
    struct busy_times times;
    struct arena_mark mark = arena_mark(arena);
    uint8_t *linked = arena_alloc(arena, model->devices.n, sizeof *linked);
    TRY(arena_status(arena, error));
    for (row_t i = 0; i < model->devices.n; i++)
        linked[i] = model->devices.call[i] != ROW_NONE;
    TRY(measure_busy_times(model, linked, &input->context->engine, arena, &times, error));
    arena_release(arena, mark);
    const struct {
        const char *name;
        int64_t ticks;
    } lines[] = {{"computation_time", times.compute},
                 {"exposed_comm_time", times.exposed_communication},
                 {"exposed_memcpy_time", times.exposed_copies},
                 {"busy_time", times.busy},
                 {"idle_time", times.idle},
                 {"total_time", times.total},
                 {"total_comm_time", times.communication},
                 {"total_memcpy_time", times.copies}};
    struct sutra_table *table = result_table_begin(&operators->result, SUTRA_TRACELENS_TIMELINE);
    for (size_t i = 0; i < sizeof lines / sizeof *lines; i++) {
        table_words(table, lines[i].name);
        table_real(table, launch_model_us(model, lines[i].ticks) / 1e3);
        table_real(table, launch_model_us(model, lines[i].ticks) / launch_model_us(model, times.total) * 100);
    }
    return SUTRA_OK;
}

/* ---- By name, by category, by name and module ---- */

/* Categories of a group as Python prints a sorted list of them. */
static void table_categories(struct sutra_table *table, const struct row_groups *groups, uint32_t group,
                             const uint8_t *categories, struct buffer *text) {
    bool has[OP_N_CATEGORIES] = {false};
    const char *names[OP_N_CATEGORIES] = {NULL};
    int n = 0;
    for (row_t i = groups->first[group]; i < groups->first[group + 1]; i++)
        has[categories[groups->member[i]]] = true;
    for (int category = 0; category < OP_N_CATEGORIES; category++) {
        int at = n;
        if (!has[category])
            continue;
        for (; at > 0 && strcmp(names[at - 1], op_category_names[category]) > 0; at--)
            names[at] = names[at - 1];
        names[at] = op_category_names[category];
        n++;
    }
    text->length = 0;
    for (int i = 0; i < n; i++) {
        buffer_append(text, i ? ", '" : "['", i ? 3 : 2);
        buffer_append(text, names[i], strlen(names[i]));
        buffer_append_text(text, "'");
    }
    buffer_append_text(text, "]");
    table->failed |= text->failed;
    table_text(table, text->bytes, text->length);
}

/* Groups by descending direct time, equal ones by label, and the running total of their shares. */
struct ranked_groups {
    struct row_groups groups;
    double *self_device_us, *total_device_us;
    const char **label;
    uint32_t *order;
    double all_ms, so_far;
};

/* The text by which groups with equal times are sorted, from the key of a member. */
typedef const char *group_label(const struct launch_model *model, const struct tuple *key);

static const char *name_label(const struct launch_model *model, const struct tuple *key) {
    return strings_text(model->strings, (uint32_t)key->part[0]);
}

static const char *category_label(const struct launch_model *model, const struct tuple *key) {
    (void)model;
    return op_category_names[key->part[0]];
}

static int by_time_and_label(const void *left, const void *right, void *arg) {
    const struct ranked_groups *ranked = arg;
    uint32_t a = *(const uint32_t *)left, b = *(const uint32_t *)right;
    if (ranked->self_device_us[a] != ranked->self_device_us[b])
        return ranked->self_device_us[a] > ranked->self_device_us[b] ? -1 : 1;
    int order = strcmp(ranked->label[a], ranked->label[b]);
    return order ? order : (a > b) - (a < b);
}

static int by_label(const void *left, const void *right, void *arg) {
    const struct ranked_groups *ranked = arg;
    uint32_t a = *(const uint32_t *)left, b = *(const uint32_t *)right;
    int order = strcmp(ranked->label[a], ranked->label[b]);
    return order ? order : (a > b) - (a < b);
}

/* Totals of a column of the launchers for each group, whose keys pandas sorts. */
static void sum_groups(const struct launch_model *model, const struct row_groups *groups, const int64_t *ticks,
                       enum group_order order, double *values, double *sums) {
    for (uint32_t g = 0; g < groups->n; g++) {
        row_t n = groups->first[g + 1] - groups->first[g];
        for (row_t i = 0; i < n; i++)
            values[i] = launch_model_us(model, ticks[groups->member[groups->first[g] + i]]);
        sums[g] = pandas_sum(values, n, order);
    }
}

static enum sutra_status rank_groups(const struct launch_model *model, const struct tuple *keys, group_label *label,
                                     struct arena *arena, struct ranked_groups *ranked, struct sutra_error *error) {
    const struct attribution_table *attributions = &model->attributions;
    TRY(row_groups_make(keys, attributions->n, arena, &ranked->groups, error));
    uint32_t n = ranked->groups.n, *rank = arena_alloc(arena, n, sizeof *rank);
    double *values = arena_alloc(arena, attributions->n, sizeof *values);
    ranked->self_device_us = arena_alloc(arena, n, sizeof *ranked->self_device_us);
    ranked->total_device_us = arena_alloc(arena, n, sizeof *ranked->total_device_us);
    ranked->label = arena_alloc(arena, n, sizeof *ranked->label);
    ranked->order = arena_alloc(arena, n, sizeof *ranked->order);
    TRY(arena_status(arena, error));
    if (n == 0)
        return SUTRA_OK;
    for (uint32_t g = 0; g < n; g++) {
        ranked->order[g] = g;
        ranked->label[g] = label(model, &keys[ranked->groups.member[ranked->groups.first[g]]]);
    }
    qsort_r(ranked->order, n, sizeof *ranked->order, by_label, ranked);
    for (uint32_t i = 0; i < n; i++)
        rank[ranked->order[i]] = i;
    enum group_order order = pandas_group_order(ranked->groups.of, attributions->n, rank);
    sum_groups(model, &ranked->groups, attributions->direct, order, values, ranked->self_device_us);
    sum_groups(model, &ranked->groups, attributions->subtree, order, values, ranked->total_device_us);
    qsort_r(ranked->order, n, sizeof *ranked->order, by_time_and_label, ranked);
    for (uint32_t i = 0; i < n; i++)
        values[i] = ranked->self_device_us[ranked->order[i]] / 1e3;
    ranked->all_ms = numpy_sum(values, n);
    ranked->so_far = 0;
    return SUTRA_OK;
}

/* The share of a group, and of all groups up to it. */
static void table_shares(struct sutra_table *table, struct ranked_groups *ranked, uint32_t group) {
    double share = ranked->self_device_us[group] / 1e3 / ranked->all_ms * 100;
    table_real(table, share);
    table_real(table, ranked->so_far += share);
}

static row_t count_of(const struct row_groups *groups, uint32_t group) {
    return groups->first[group + 1] - groups->first[group];
}

static enum sutra_status add_names(const struct tracelens_input *input, struct arena *arena, struct sutra_table *table,
                                   const struct tuple *keys, struct sutra_error *error) {
    const struct launch_model *model = input->model;
    struct ranked_groups ranked;
    struct buffer text = {0};
    enum sutra_status status = rank_groups(model, keys, name_label, arena, &ranked, error);
    for (uint32_t i = 0; !status && i < ranked.groups.n; i++) {
        uint32_t g = ranked.order[i];
        double total_device_us = ranked.total_device_us[g];
        table_string(table, model->strings, (uint32_t)keys[ranked.groups.member[ranked.groups.first[g]]].part[0]);
        table_number(table, ranked.self_device_us[g]);
        table_number(table, total_device_us);
        table_real(table, ranked.self_device_us[g] / 1e3);
        table_real(table, total_device_us / 1e3);
        table_integer(table, count_of(&ranked.groups, g));
        table_categories(table, &ranked.groups, g, input->categories, &text);
        table_shares(table, &ranked, g);
    }
    buffer_free(&text);
    return status;
}

static enum sutra_status add_categories(const struct tracelens_input *input, struct arena *arena,
                                        struct sutra_table *table, const struct tuple *keys,
                                        struct sutra_error *error) {
    struct ranked_groups ranked;
    TRY(rank_groups(input->model, keys, category_label, arena, &ranked, error));
    for (uint32_t i = 0; i < ranked.groups.n; i++) {
        uint32_t g = ranked.order[i];
        table_words(table, op_category_names[input->categories[ranked.groups.member[ranked.groups.first[g]]]]);
        table_integer(table, count_of(&ranked.groups, g));
        table_real(table, ranked.self_device_us[g] / 1e3);
        table_shares(table, &ranked, g);
    }
    return SUTRA_OK;
}

enum sutra_status tracelens_operators(const struct tracelens_input *input, struct arena *arena,
                                      struct sutra_operators *operators, struct sutra_error *error) {
    static const char *const times[] = {"total_direct_kernel_time_sum", "total_subtree_kernel_time_sum", NULL};
    const struct launch_model *model = input->model;
    struct arena_mark mark = arena_mark(arena);
    struct tuple *names = arena_zeros(arena, model->attributions.n, sizeof *names);
    struct tuple *categories = arena_zeros(arena, model->attributions.n, sizeof *categories);
    TRY(arena_status(arena, error));
    for (row_t i = 0; i < model->attributions.n; i++) {
        names[i].part[0] = host_name(model, model->attributions.host[i]);
        categories[i].part[0] = input->categories[i];
    }
    struct sutra_table *table = result_table_begin(&operators->result, SUTRA_TRACELENS_OPS);
    if (input->integer_times)
        tracelens_retype_integers(table, times);
    TRY(add_names(input, arena, table, names, error));
    TRY(add_categories(input, arena, result_table_begin(&operators->result, SUTRA_TRACELENS_CATEGORIES), categories,
                       error));
    arena_release(arena, mark);
    return SUTRA_OK;
}

/* ---- By name and kind of module ---- */

/* A module's name without the numbers of instances: without each "_" that digits follow, and the digits. */
static uint32_t kind_of_module(const struct launch_model *model, uint32_t name, struct strings *kinds,
                               struct buffer *text) {
    const char *from = strings_text(model->strings, name);
    text->length = 0;
    for (; *from; from++) {
        size_t n = 1;
        while (*from == '_' && from[n] >= '0' && from[n] <= '9')
            n++;
        if (n > 1)
            from += n - 1;
        else
            buffer_append(text, from, 1);
    }
    return text->failed ? STRING_NONE : strings_intern(kinds, text->bytes, text->length);
}

/* The launcher and its enclosing modules, the innermost first, as Python prints a list. */
static void table_stack(struct sutra_table *table, const struct launch_model *model, const row_t *enclosing, row_t host,
                        struct buffer *text) {
    text->length = 0;
    for (; host != ROW_NONE; host = enclosing[host]) {
        uint32_t name = host_name(model, host);
        char *to = buffer_reserve(text, strings_length(model->strings, name) * 4 + 8);
        if (!to)
            break;
        size_t n = text->length ? 2 : 1;
        memcpy(to, text->length ? ", " : "[", n);
        text->length +=
            n + string_repr(strings_text(model->strings, name), strings_length(model->strings, name), to + n);
    }
    buffer_append_text(text, "]");
    table->failed |= text->failed;
    table_text(table, text->bytes, text->length);
}

enum sutra_status tracelens_module_operators(const struct tracelens_input *input, struct arena *arena,
                                             struct sutra_operators *operators, struct sutra_error *error) {
    const struct launch_model *model = input->with_frames;
    struct strings kinds = {0}; /* of modules; 0: none */
    struct buffer text = {0};
    struct ranked_groups ranked;
    struct arena_mark mark = arena_mark(arena);
    if (!model)
        return SUTRA_OK;
    const struct attribution_table *attributions = &model->attributions;
    uint8_t *is_module = arena_alloc(arena, model->hosts.n, sizeof *is_module);
    row_t *enclosing = arena_alloc(arena, model->hosts.n, sizeof *enclosing); /* by host: the innermost module */
    struct tuple *keys = arena_zeros(arena, attributions->n, sizeof *keys);   /* by launcher: name and kind */
    TRY(arena_status(arena, error));
    mark_modules(model, is_module);
    find_enclosing(model, is_module, enclosing);
    const uint8_t *categories = tracelens_categories(model, arena);
    enum sutra_status status = arena_status(arena, error);
    if (!status && (!strings_init(&kinds) || strings_intern(&kinds, "NA", 2) == STRING_NONE))
        status = error_memory(error);
    for (row_t i = 0; i < attributions->n && !status; i++) {
        row_t host = attributions->host[i], module = enclosing[host];
        uint32_t kind = module == ROW_NONE ? 0 : kind_of_module(model, host_name(model, module), &kinds, &text);
        keys[i] = (struct tuple){{host_name(model, host), kind, 0, 0}};
        status = kind == STRING_NONE ? error_memory(error) : SUTRA_OK;
    }
    struct sutra_table *table = status ? NULL : result_table_begin(&operators->result, SUTRA_TRACELENS_OPS_BY_MODULE);
    if (!status)
        status = rank_groups(model, keys, name_label, arena, &ranked, error);
    for (uint32_t i = 0; !status && i < ranked.groups.n; i++) {
        uint32_t g = ranked.order[i];
        row_t first = ranked.groups.member[ranked.groups.first[g]];
        table_string(table, model->strings, (uint32_t)keys[first].part[0]);
        table_string(table, &kinds, (uint32_t)keys[first].part[1]);
        table_real(table, ranked.self_device_us[g]);
        table_real(table, ranked.total_device_us[g]);
        table_integer(table, count_of(&ranked.groups, g));
        table_real(table, ranked.self_device_us[g] / 1e3);
        table_integer(table, count_of(&ranked.groups, g));
        table_categories(table, &ranked.groups, g, categories, &text);
        table_stack(table, model, enclosing, attributions->host[first], &text);
        table_shares(table, &ranked, g);
    }
    buffer_free(&text);
    strings_free(&kinds);
    arena_release(arena, mark);
    return status;
}
