/*
 * details.c - lists of kernels as TraceLens summarizes and Python prints them (tracelens.h), and columns of integers.
 *
 * Numbers are numpy's: sums are pairwise, deviations have ddof 0, and repr() prints the type's name.
 */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "analyze/compat/tracelens/tracelens.h"
#include "text/numbers.h"
#include "text/strings.h"

/* Characters of a name in the short form. */
#define SHORT_NAME_LENGTH 64

/* A position in the lists of a group. */
struct kernel_entry {
    const struct launch_model *model;
    row_t event, position;
    bool integers; /* all durations are */
    struct value_stats stats;
};

static void append_repr(struct buffer *text, const char *string, size_t length) {
    char *to = buffer_reserve(text, length * 4 + 2);
    if (to)
        text->length += string_repr(string, length, to);
}

static void append_number(struct buffer *text, const char *key, double value, bool integer) {
    char number[NUMBER_TEXT_MAX];
    buffer_append_text(text, key);
    buffer_append_text(text, integer ? "np.int64(" : "np.float64(");
    buffer_append(text, number, integer ? integer_format((int64_t)value, number) : double_format(value, number));
    buffer_append_text(text, ")");
}

static void append_entry(const struct tracelens_input *input, const struct kernel_entry *entry, bool short_form,
                         struct buffer *text, struct buffer *name) {
    const struct value_stats *stats = &entry->stats;
    const struct strings *strings = entry->model->strings;
    uint32_t string = entry->model->events->name[entry->event];
    const char *full = strings_text(strings, string), *end = full + strings_length(strings, string), *cut = full;
    value_key stream = input->model->events->stream[entry->event];
    char number[NUMBER_TEXT_MAX];
    size_t length;

    /* {'name': '...', 'stream': 7 */
    uint32_t code_point;
    for (int i = 0; i < SHORT_NAME_LENGTH && cut < end; i++)
        cut = utf8_read(cut, &code_point);
    if (!short_form)
        cut = end;
    name->length = 0;
    buffer_append(name, full, (size_t)(cut - full));
    if (cut < end)
        buffer_append_text(name, "...");
    buffer_append_text(text, "{'name': ");
    append_repr(text, name->bytes, name->length);
    buffer_append_text(text, ", 'stream': ");
    const char *value = key_is_value(stream) ? values_text(&input->context->values, stream, number, &length) : "None";
    if (!key_is_value(stream))
        buffer_append_text(text, value);
    else if (!key_is_integer(stream) && values_at(&input->context->values, stream).type == VALUES_STRING)
        append_repr(text, value, length);
    else
        buffer_append(text, value, length);
    if (short_form) {
        append_number(text, ", 'mean_duration_us': ", rint(stats->mean * 100) / 100, false);
    } else {
        buffer_append_text(text, ", 'count': ");
        buffer_append(text, number, integer_format((int64_t)stats->n, number));
        append_number(text, ", 'total_duration_us': ", stats->sum, entry->integers);
        append_number(text, ", 'mean_duration_us': ", stats->mean, false);
        append_number(text, ", 'median_duration_us': ", stats->median, false);
        append_number(text, ", 'std_dev_duration_us': ", stats->std, false);
        append_number(text, ", 'min_duration_us': ", stats->min, entry->integers);
        append_number(text, ", 'max_duration_us': ", stats->max, entry->integers);
    }
    buffer_append_text(text, "}");
}

static void add_list(const struct tracelens_input *input, const struct kernel_entry *entries, row_t n, bool short_form,
                     struct sutra_table *table) {
    struct buffer text = {0}, name = {0};
    buffer_append_text(&text, "[");
    for (row_t i = 0; i < n; i++) {
        buffer_append_text(&text, i ? ", " : "");
        append_entry(input, &entries[i], short_form, &text, &name);
    }
    buffer_append_text(&text, "]");
    table->failed |= text.failed | name.failed;
    table_text(table, text.bytes, text.length);
    buffer_free(&text);
    buffer_free(&name);
}

static row_t length_of(const struct kernel_lists *lists, row_t member) {
    return lists->first[member + 1] - lists->first[member];
}

static int compare_entries(const void *left, const void *right) {
    const struct kernel_entry *a = left, *b = right;
    const struct strings *strings = a->model->strings;
    uint32_t name_a = a->model->events->name[a->event], name_b = b->model->events->name[b->event];
    if (a->stats.sum != b->stats.sum)
        return a->stats.sum < b->stats.sum ? -1 : 1;
    int order = strcmp(strings_text(strings, name_a), strings_text(strings, name_b));
    return order ? order : (a->position > b->position) - (a->position < b->position);
}

void tracelens_details_write(const struct tracelens_input *input, const struct kernel_lists *lists,
                             const row_t *members, row_t n, struct arena *arena, struct sutra_table *table) {
    struct arena_mark mark = arena_mark(arena);
    const struct launch_model *model = input->model;
    row_t *chosen = arena_alloc(arena, n, sizeof *chosen), n_chosen = 0;
    table->failed |= !chosen;
    /* members whose lists are as long as the template, the first list that is not empty */
    for (row_t i = 0; i < n && chosen; i++)
        if (length_of(lists, members[i]) == length_of(lists, n_chosen ? chosen[0] : members[i]) &&
            length_of(lists, members[i]))
            chosen[n_chosen++] = members[i];
    row_t n_entries = n_chosen ? length_of(lists, chosen[0]) : 0;
    struct kernel_entry *entries = arena_alloc(arena, n_entries, sizeof *entries);
    double *values = arena_alloc(arena, (size_t)n_chosen * 2, sizeof *values);
    table->failed |= arena->failed;
    if (!table->failed) {
        for (row_t position = 0; position < n_entries; position++) {
            row_t event = model->devices.event[lists->device[lists->first[chosen[0]] + position]];
            bool integers = true;
            for (row_t i = 0; i < n_chosen; i++) {
                row_t device = lists->device[lists->first[chosen[i]] + position];
                values[i] = kernel_us(model, device);
                integers &= !number_is_double(number_at(model->events->dur, model->devices.event[device]));
            }
            entries[position] = (struct kernel_entry){.model = model,
                                                      .event = event,
                                                      .position = position,
                                                      .integers = integers,
                                                      .stats = numpy_stats(values, n_chosen, values + n_chosen)};
        }
        if (n_entries)
            qsort(entries, n_entries, sizeof *entries, compare_entries);
        add_list(input, entries, n_entries, false, table);
        if (n_entries)
            add_list(input, entries, n_entries, true, table);
        else
            table_text(table, "", 0);
    }
    arena_release(arena, mark);
}

/* ---- Columns of integers ---- */

bool tracelens_has_integer_times(const struct launch_model *model) {
    const struct device_rows *devices = &model->devices;
    for (row_t i = 0; i < devices->n; i++)
        if (devices->class[i] != DEVICE_NO_WORK && (number_is_double(number_at(model->events->ts, devices->event[i])) ||
                                                    number_is_double(number_at(model->events->dur, devices->event[i]))))
            return false;
    return true;
}

void tracelens_retype_integers(struct sutra_table *table, const char *const *names) {
    for (; *names; names++)
        for (uint32_t i = 0; i < table->n_columns; i++)
            if (strcmp(table->columns[i].spec.name, *names) == 0)
                table_retype(table, i, SUTRA_COLUMN_INTEGER);
}
