/*
 * tracelens_operators.c - the reference's tables of what was launched: by name, by category, by kind of module, and how
 * the device's time went.
 */
#include <string.h>

#include "analyze/operators/timeline.h"
#include "analyze/operators/tracelens_details.h"
#include "analyze/pandas_stats.h"
#include "base/error.h"
#include "text/string_text.h"

/* ---- The timeline ---- */

enum sutra_status tracelens_timeline(const struct op_input *input, struct arena *arena,
                                     struct sutra_operators *operators, struct sutra_error *error) {
    const struct op_reading *reading = input->reading;
    struct timeline_times times;
    struct arena_mark mark = arena_mark(arena);
    uint8_t *linked = arena_take(arena, reading->devices.n, sizeof *linked);
    enum sutra_status status = arena_status(arena, error);
    for (row_t i = 0; i < reading->devices.n && !status; i++)
        linked[i] = reading->devices.call[i] != ROW_NONE;
    if (!status)
        status = timeline_measure(reading, linked, &input->context->engine, arena, &times, error);
    arena_release(arena, mark);
    if (status)
        return status;
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
    struct sutra_table *table = op_table_begin(operators, SUTRA_TRACELENS_TIMELINE);
    for (size_t i = 0; i < sizeof lines / sizeof *lines; i++) {
        table_text(table, lines[i].name, strlen(lines[i].name));
        table_real(table, op_us(reading, lines[i].ticks) / 1e3);
        table_real(table, op_us(reading, lines[i].ticks) / op_us(reading, times.total) * 100);
    }
    return SUTRA_OK;
}

/* ---- By name, by category, by name and module ---- */

/* Categories of a group as Python prints a sorted list of them. */
static void table_categories(struct sutra_table *table, const struct op_groups *groups, uint32_t group,
                             const uint8_t *categories, struct buffer *text) {
    bool seen[OP_N_CATEGORIES] = {false};
    const char *names[OP_N_CATEGORIES] = {NULL};
    int n = 0;
    for (row_t i = groups->first[group]; i < groups->first[group + 1]; i++)
        seen[categories[groups->member[i]]] = true;
    for (int category = 0; category < OP_N_CATEGORIES; category++) {
        int at = n;
        if (!seen[category])
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
        buffer_append(text, "'", 1);
    }
    buffer_append(text, "]", 1);
    table->failed |= text->failed;
    table_text(table, text->bytes, text->length);
}

/* Groups by descending direct time, equal ones by label, and the running total of their shares. */
struct ranked_groups {
    struct op_groups groups;
    double *self_device_us, *total_device_us;
    const char **label;
    uint32_t *order;
    double all_ms, so_far;
};

/* What groups with equal times are sorted by, from the key of a member. */
typedef const char *group_label(const struct op_reading *reading, const struct tuple *key);

static const char *name_label(const struct op_reading *reading, const struct tuple *key) {
    return strings_text(reading->strings, (uint32_t)key->part[0]);
}

static const char *category_label(const struct op_reading *reading, const struct tuple *key) {
    (void)reading;
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

/* Sums of a column of the charges for each group, whose keys pandas sorts. */
static void add_up(const struct op_reading *reading, const struct op_groups *groups, const int64_t *ticks,
                   enum group_order order, double *values, double *sums) {
    for (uint32_t g = 0; g < groups->n; g++) {
        row_t n = groups->first[g + 1] - groups->first[g];
        for (row_t i = 0; i < n; i++)
            values[i] = op_us(reading, ticks[groups->member[groups->first[g] + i]]);
        sums[g] = pandas_sum(values, n, order);
    }
}

static enum sutra_status rank_groups(const struct op_reading *reading, const struct tuple *keys, group_label *label,
                                     struct arena *arena, struct ranked_groups *ranked, struct sutra_error *error) {
    const struct op_charges *charges = &reading->charges;
    enum sutra_status status = op_groups_make(keys, charges->n, arena, &ranked->groups, error);
    if (status)
        return status;
    uint32_t n = ranked->groups.n, *rank = arena_take(arena, n, sizeof *rank);
    double *values = arena_take(arena, charges->n, sizeof *values);
    ranked->self_device_us = arena_take(arena, n, sizeof *ranked->self_device_us);
    ranked->total_device_us = arena_take(arena, n, sizeof *ranked->total_device_us);
    ranked->label = arena_take(arena, n, sizeof *ranked->label);
    ranked->order = arena_take(arena, n, sizeof *ranked->order);
    if ((status = arena_status(arena, error)) || n == 0)
        return status;
    for (uint32_t g = 0; g < n; g++) {
        ranked->order[g] = g;
        ranked->label[g] = label(reading, &keys[ranked->groups.member[ranked->groups.first[g]]]);
    }
    qsort_r(ranked->order, n, sizeof *ranked->order, by_label, ranked);
    for (uint32_t i = 0; i < n; i++)
        rank[ranked->order[i]] = i;
    enum group_order order = pandas_group_order(ranked->groups.of, charges->n, rank);
    add_up(reading, &ranked->groups, charges->direct, order, values, ranked->self_device_us);
    add_up(reading, &ranked->groups, charges->subtree, order, values, ranked->total_device_us);
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

static row_t count_of(const struct op_groups *groups, uint32_t group) {
    return groups->first[group + 1] - groups->first[group];
}

static enum sutra_status write_names(const struct op_input *input, struct arena *arena, struct sutra_table *table,
                                     const struct tuple *keys, struct sutra_error *error) {
    const struct op_reading *reading = input->reading;
    struct ranked_groups ranked;
    struct buffer text = {0};
    enum sutra_status status = rank_groups(reading, keys, name_label, arena, &ranked, error);
    for (uint32_t i = 0; !status && i < ranked.groups.n; i++) {
        uint32_t g = ranked.order[i];
        double total_device_us = ranked.total_device_us[g];
        table_string(table, reading->strings, (uint32_t)keys[ranked.groups.member[ranked.groups.first[g]]].part[0]);
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

static enum sutra_status write_categories(const struct op_input *input, struct arena *arena, struct sutra_table *table,
                                          const struct tuple *keys, struct sutra_error *error) {
    struct ranked_groups ranked;
    enum sutra_status status = rank_groups(input->reading, keys, category_label, arena, &ranked, error);
    for (uint32_t i = 0; !status && i < ranked.groups.n; i++) {
        uint32_t g = ranked.order[i];
        const char *name = op_category_names[input->categories[ranked.groups.member[ranked.groups.first[g]]]];
        table_text(table, name, strlen(name));
        table_integer(table, count_of(&ranked.groups, g));
        table_real(table, ranked.self_device_us[g] / 1e3);
        table_shares(table, &ranked, g);
    }
    return status;
}

enum sutra_status tracelens_operators(const struct op_input *input, struct arena *arena,
                                      struct sutra_operators *operators, struct sutra_error *error) {
    static const char *const times[] = {"total_direct_kernel_time_sum", "total_subtree_kernel_time_sum", NULL};
    const struct op_reading *reading = input->reading;
    struct arena_mark mark = arena_mark(arena);
    struct tuple *names = arena_zeros(arena, reading->charges.n, sizeof *names);
    struct tuple *categories = arena_zeros(arena, reading->charges.n, sizeof *categories);
    enum sutra_status status = arena_status(arena, error);
    for (row_t i = 0; i < reading->charges.n && !status; i++) {
        names[i].part[0] = host_name(reading, reading->charges.host[i]);
        categories[i].part[0] = input->categories[i];
    }
    struct sutra_table *table = op_table_begin(operators, SUTRA_TRACELENS_OPS);
    if (input->integer_times)
        tracelens_retype_integers(table, times);
    if (!status)
        status = write_names(input, arena, table, names, error);
    if (!status)
        status =
            write_categories(input, arena, op_table_begin(operators, SUTRA_TRACELENS_CATEGORIES), categories, error);
    arena_release(arena, mark);
    return status;
}

/* ---- By name and kind of module ---- */

/* A module's name without the numbers of instances: every "_" with digits behind it is gone. */
static uint32_t kind_of_module(const struct op_reading *reading, uint32_t name, struct strings *kinds,
                               struct buffer *text) {
    const char *from = strings_text(reading->strings, name);
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

/* The launcher and the modules around it, the innermost first, as Python prints a list. */
static void table_stack(struct sutra_table *table, const struct op_reading *reading, const row_t *around, row_t host,
                        struct buffer *text) {
    text->length = 0;
    for (; host != ROW_NONE; host = around[host]) {
        uint32_t name = host_name(reading, host);
        char *to = buffer_reserve(text, strings_length(reading->strings, name) * 4 + 8);
        if (!to)
            break;
        size_t n = text->length ? 2 : 1;
        memcpy(to, text->length ? ", " : "[", n);
        text->length +=
            n + string_repr(strings_text(reading->strings, name), strings_length(reading->strings, name), to + n);
    }
    buffer_append(text, "]", 1);
    table->failed |= text->failed;
    table_text(table, text->bytes, text->length);
}

struct module_rows {
    row_t *around;        /* of each host: the innermost module around it */
    struct strings kinds; /* of modules; 0 is that of none */
    struct tuple *keys;   /* of each charge: its name and kind */
};

static enum sutra_status find_modules(const struct op_reading *reading, struct arena *arena, struct module_rows *rows,
                                      struct sutra_error *error) {
    const struct op_charges *charges = &reading->charges;
    struct buffer text = {0};
    uint8_t *marked = arena_take(arena, reading->hosts.n, sizeof *marked);
    rows->around = arena_take(arena, reading->hosts.n, sizeof *rows->around);
    rows->keys = arena_zeros(arena, charges->n, sizeof *rows->keys);
    bool ok = !arena->failed && strings_init(&rows->kinds) && strings_intern(&rows->kinds, "NA", 2) != STRING_NONE;
    if (!ok)
        return error_memory(error);
    op_modules_mark(reading, marked);
    enum sutra_status status = op_reading_around(reading, marked, arena, rows->around, error);
    for (row_t i = 0; i < charges->n && !status; i++) {
        row_t host = charges->host[i], module = rows->around[host];
        uint32_t kind =
            module == ROW_NONE ? 0 : kind_of_module(reading, host_name(reading, module), &rows->kinds, &text);
        rows->keys[i] = (struct tuple){{host_name(reading, host), kind, 0, 0}};
        status = kind == STRING_NONE ? error_memory(error) : SUTRA_OK;
    }
    buffer_free(&text);
    return status;
}

static enum sutra_status write_modules(const struct op_reading *reading, const uint8_t *categories,
                                       const struct module_rows *rows, struct arena *arena, struct sutra_table *table,
                                       struct sutra_error *error) {
    struct ranked_groups ranked;
    struct buffer text = {0};
    enum sutra_status status = rank_groups(reading, rows->keys, name_label, arena, &ranked, error);
    for (uint32_t i = 0; !status && i < ranked.groups.n; i++) {
        uint32_t g = ranked.order[i];
        row_t first = ranked.groups.member[ranked.groups.first[g]];
        table_string(table, reading->strings, (uint32_t)rows->keys[first].part[0]);
        table_string(table, &rows->kinds, (uint32_t)rows->keys[first].part[1]);
        table_real(table, ranked.self_device_us[g]);
        table_real(table, ranked.total_device_us[g]);
        table_integer(table, count_of(&ranked.groups, g));
        table_real(table, ranked.self_device_us[g] / 1e3);
        table_integer(table, count_of(&ranked.groups, g));
        table_categories(table, &ranked.groups, g, categories, &text);
        table_stack(table, reading, rows->around, reading->charges.host[first], &text);
        table_shares(table, &ranked, g);
    }
    buffer_free(&text);
    return status;
}

enum sutra_status tracelens_module_operators(const struct op_input *input, struct arena *arena,
                                             struct sutra_operators *operators, struct sutra_error *error) {
    const struct op_reading *reading = input->framed;
    struct module_rows rows = {0};
    struct arena_mark mark = arena_mark(arena);
    uint8_t *categories;
    if (!reading)
        return SUTRA_OK;
    enum sutra_status status = op_charges_categorize(reading, arena, arena, &categories, error);
    if (!status)
        status = find_modules(reading, arena, &rows, error);
    if (!status)
        status = write_modules(reading, categories, &rows, arena,
                               op_table_begin(operators, SUTRA_TRACELENS_OPS_BY_MODULE), error);
    strings_free(&rows.kinds);
    arena_release(arena, mark);
    return status;
}
