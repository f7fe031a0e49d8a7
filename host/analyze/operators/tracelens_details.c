/*
 * tracelens_details.c - lists of kernels as TraceLens summarizes and Python prints them.
 *
 * Numbers are numpy's: sums are pairwise, deviations have ddof 0, and repr() prints the type's name.
 */
#include "analyze/operators/tracelens_details.h"

#include <math.h>

#include "analyze/pandas_stats.h"
#include "text/number_text.h"
#include "text/string_text.h"
#include "text/utf8.h"

/* Characters of a name that the short form keeps. */
#define NAME_KEPT 64

/* A position in the lists of a group. */
struct kernel_entry {
    const struct op_reading *reading;
    row_t event, position;
    bool integers; /* all durations are */
    struct value_stats stats;
};

/* ---- Text ---- */

static void append_words(struct buffer *text, const char *words) {
    buffer_append(text, words, strlen(words));
}

static void append_repr(struct buffer *text, const char *string, size_t length) {
    char *to = buffer_reserve(text, length * 4 + 2);
    if (to)
        text->length += string_repr(string, length, to);
}

static void append_number(struct buffer *text, const char *key, double value, bool integer) {
    char number[NUMBER_TEXT_MAX];
    append_words(text, key);
    append_words(text, integer ? "np.int64(" : "np.float64(");
    buffer_append(text, number, integer ? integer_format((int64_t)value, number) : double_format(value, number));
    append_words(text, ")");
}

static void append_stream(const struct op_input *input, row_t event, struct buffer *text) {
    value_key stream = input->reading->events->stream[event];
    char room[NUMBER_TEXT_MAX];
    size_t length;
    if (!key_is_value(stream)) {
        append_words(text, "None");
        return;
    }
    const char *value = values_text(&input->context->values, stream, room, &length);
    if (!key_is_integer(stream) && values_at(&input->context->values, stream).type == VALUES_STRING)
        append_repr(text, value, length);
    else
        buffer_append(text, value, length);
}

/* The bytes of the first characters of a name. */
static size_t kept_length(const char *name, size_t length) {
    const char *at = name;
    uint32_t code_point;
    for (int i = 0; i < NAME_KEPT && at < name + length; i++)
        at = utf8_read(at, &code_point);
    return (size_t)(at - name);
}

static void append_name(const struct kernel_entry *entry, bool short_form, struct buffer *text, struct buffer *name) {
    const struct strings *strings = entry->reading->strings;
    uint32_t string = entry->reading->events->name[entry->event];
    const char *full = strings_text(strings, string);
    size_t length = strings_length(strings, string), kept = short_form ? kept_length(full, length) : length;
    name->length = 0;
    buffer_append(name, full, kept);
    if (kept < length)
        append_words(name, "...");
    append_words(text, "{'name': ");
    append_repr(text, name->bytes, name->length);
    append_words(text, ", 'stream': ");
}

static void append_entry(const struct op_input *input, const struct kernel_entry *entry, bool short_form,
                         struct buffer *text, struct buffer *name) {
    const struct value_stats *stats = &entry->stats;
    char count[NUMBER_TEXT_MAX];
    append_name(entry, short_form, text, name);
    append_stream(input, entry->event, text);
    if (short_form) {
        append_number(text, ", 'mean_duration_us': ", rint(stats->mean * 100) / 100, false);
    } else {
        append_words(text, ", 'count': ");
        buffer_append(text, count, integer_format((int64_t)stats->n, count));
        append_number(text, ", 'total_duration_us': ", stats->sum, entry->integers);
        append_number(text, ", 'mean_duration_us': ", stats->mean, false);
        append_number(text, ", 'median_duration_us': ", stats->median, false);
        append_number(text, ", 'std_dev_duration_us': ", stats->std, false);
        append_number(text, ", 'min_duration_us': ", stats->min, entry->integers);
        append_number(text, ", 'max_duration_us': ", stats->max, entry->integers);
    }
    append_words(text, "}");
}

static void write_list(const struct op_input *input, const struct kernel_entry *entries, row_t n, bool short_form,
                       struct sutra_table *table) {
    struct buffer text = {0}, name = {0};
    append_words(&text, "[");
    for (row_t i = 0; i < n; i++) {
        append_words(&text, i ? ", " : "");
        append_entry(input, &entries[i], short_form, &text, &name);
    }
    append_words(&text, "]");
    table->failed |= text.failed | name.failed;
    table_text(table, text.bytes, text.length);
    buffer_free(&text);
    buffer_free(&name);
}

/* ---- Entries ---- */

static row_t length_of(const struct kernel_lists *lists, row_t member) {
    return lists->first[member + 1] - lists->first[member];
}

/* The entry at a position, of n events with as many kernels. */
static struct kernel_entry make_entry(const struct op_input *input, const struct kernel_lists *lists,
                                      const row_t *members, row_t n, row_t position, double *values) {
    const struct op_reading *reading = input->reading;
    struct kernel_entry entry = {
        .reading = reading,
        .event = reading->devices.event[lists->device[lists->first[members[0]] + position]],
        .position = position,
        .integers = true,
    };
    for (row_t i = 0; i < n; i++) {
        row_t device = lists->device[lists->first[members[i]] + position];
        values[i] = op_dur_us(reading, device);
        entry.integers &= !number_is_double(number_at(reading->events->dur, reading->devices.event[device]));
    }
    entry.stats = numpy_stats(values, n, values + n);
    return entry;
}

static int compare_entries(const void *left, const void *right) {
    const struct kernel_entry *a = left, *b = right;
    const struct strings *strings = a->reading->strings;
    uint32_t name_a = a->reading->events->name[a->event], name_b = b->reading->events->name[b->event];
    if (a->stats.sum != b->stats.sum)
        return a->stats.sum < b->stats.sum ? -1 : 1;
    int order = strcmp(strings_text(strings, name_a), strings_text(strings, name_b));
    return order ? order : (a->position > b->position) - (a->position < b->position);
}

/* Members whose lists are as long as the template, which is the first that is not empty. */
static row_t choose_members(const struct kernel_lists *lists, const row_t *members, row_t n, row_t *chosen) {
    row_t n_chosen = 0;
    for (row_t i = 0; i < n; i++)
        if (length_of(lists, members[i]) == length_of(lists, n_chosen ? chosen[0] : members[i]) &&
            length_of(lists, members[i]))
            chosen[n_chosen++] = members[i];
    return n_chosen;
}

void tracelens_details_write(const struct op_input *input, const struct kernel_lists *lists, const row_t *members,
                             row_t n, struct arena *arena, struct sutra_table *table) {
    struct arena_mark mark = arena_mark(arena);
    row_t *chosen = arena_take(arena, n, sizeof *chosen);
    row_t n_chosen = chosen ? choose_members(lists, members, n, chosen) : 0;
    row_t n_entries = n_chosen ? length_of(lists, chosen[0]) : 0;
    struct kernel_entry *entries = arena_take(arena, n_entries, sizeof *entries);
    double *values = arena_take(arena, (size_t)n_chosen * 2, sizeof *values);
    table->failed |= arena->failed;
    if (!table->failed) {
        for (row_t i = 0; i < n_entries; i++)
            entries[i] = make_entry(input, lists, chosen, n_chosen, i, values);
        if (n_entries)
            qsort(entries, n_entries, sizeof *entries, compare_entries);
        write_list(input, entries, n_entries, false, table);
        if (n_entries)
            write_list(input, entries, n_entries, true, table);
        else
            table_text(table, "", 0);
    }
    arena_release(arena, mark);
}

/* ---- Integers ---- */

bool tracelens_has_integer_times(const struct op_reading *reading) {
    const struct device_rows *devices = &reading->devices;
    for (row_t i = 0; i < devices->n; i++)
        if (devices->class[i] != DEVICE_NO_WORK &&
            (number_is_double(number_at(reading->events->ts, devices->event[i])) ||
             number_is_double(number_at(reading->events->dur, devices->event[i]))))
            return false;
    return true;
}

void tracelens_retype_integers(struct sutra_table *table, const char *const *names) {
    for (; *names; names++)
        for (uint32_t i = 0; i < table->n_columns; i++)
            if (strcmp(table->columns[i].spec.name, *names) == 0)
                table_retype(table, i, SUTRA_COLUMN_INTEGER);
}
