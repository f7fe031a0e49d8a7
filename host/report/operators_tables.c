/*
 * operators_tables.c - sums tables over ranks. O(rows), plus a sort of the sums.
 */
#include "report/operators_tables.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "columns/column.h"
#include "columns/strings.h"
#include "columns/tuples.h"
#include "report/figure.h"

struct summed_row {
    uint32_t name, group;
    uint64_t count;
    double value;
    uint32_t number; /* of first sight */
};

struct rank_sums {
    struct strings texts;
    struct tuples keys;
    struct summed_row *rows;
    uint64_t capacity;
};

static bool find_column(const struct sutra_table *table, const char *name, uint32_t *column) {
    for (*column = 0; name && *column < table->n_columns; ++*column)
        if (strcmp(table->columns[*column].spec.name, name) == 0)
            return true;
    return false;
}

static uint32_t name_of(struct rank_sums *summing, const struct sutra_table *from, uint32_t column, const char *prefix,
                        uint64_t row) {
    size_t length, n = prefix ? strlen(prefix) : 0;
    const char *text = table_get_text(from, column, row, &length);
    bool begins = n < length && memcmp(text, prefix ? prefix : "", n) == 0;
    return begins ? strings_intern(&summing->texts, text + n, length - n)
                  : strings_intern(&summing->texts, text, length);
}

static uint32_t text_of(struct rank_sums *summing, const struct sutra_table *from, uint32_t column, bool there,
                        uint64_t row) {
    size_t length = 0;
    const char *text = there ? table_get_text(from, column, row, &length) : "";
    return strings_intern(&summing->texts, text, length);
}

static bool add_row(struct rank_sums *summing, uint32_t name, uint32_t group, uint64_t count, double value) {
    uint32_t n_known = summing->keys.n, number = tuples_number(&summing->keys, (struct tuple){{name, group, 0, 0}});
    if (name == STRING_NONE || group == STRING_NONE || number == TUPLE_NONE ||
        !column_grow(&summing->rows, number, &summing->capacity, sizeof *summing->rows))
        return false;
    struct summed_row *row = &summing->rows[number];
    if (number == n_known)
        *row = (struct summed_row){name, group, 0, 0, number};
    row->count += count;
    row->value += isfinite(value) ? value : 0;
    return true;
}

static int by_value(const void *left, const void *right) {
    const struct summed_row *a = left, *b = right;
    if (a->value != b->value)
        return a->value > b->value ? -1 : 1;
    return a->number < b->number ? -1 : a->number > b->number;
}

static void put_text(struct sutra_table *table, const struct strings *texts, uint32_t text) {
    table_text(table, strings_text(texts, text), strings_length(texts, text));
}

static void put_rows(const struct rank_sums *summing, struct sutra_table *table) {
    double all = 0;
    for (uint32_t i = 0; i < summing->keys.n; i++)
        all += summing->rows[i].value;
    for (uint32_t i = 0; i < summing->keys.n; i++) {
        const struct summed_row *row = &summing->rows[i];
        put_text(table, &summing->texts, row->name);
        put_text(table, &summing->texts, row->group);
        table_integer(table, (int64_t)row->count);
        table_real(table, row->value);
        table_real(table, all > 0 ? row->value / all * 100 : 0);
    }
}

void summed_table(struct sutra_table *table, const char *name, const struct sutra_table *from,
                  const struct summed_columns *columns) {
    static const struct column_spec specs[] = {{"name", SUTRA_COLUMN_TEXT},
                                               {"group", SUTRA_COLUMN_TEXT},
                                               {"count", SUTRA_COLUMN_INTEGER},
                                               {"device_us", SUTRA_COLUMN_REAL},
                                               {"share_pctg", SUTRA_COLUMN_REAL}};
    struct rank_sums summing = {0};
    uint32_t name_at, group_at, count_at, value_at;
    table_init(table, name, specs, sizeof specs / sizeof *specs);
    bool grouped = find_column(from, columns->group, &group_at), counted = find_column(from, columns->count, &count_at);
    bool ok = find_column(from, columns->name, &name_at) && find_column(from, columns->value, &value_at) &&
              strings_init(&summing.texts);
    for (uint64_t row = 0; row < from->n_rows && ok; row++)
        ok = add_row(&summing, name_of(&summing, from, name_at, columns->prefix, row),
                     text_of(&summing, from, group_at, grouped, row),
                     counted ? (uint64_t)table_get_integer(from, count_at, row) : 1,
                     table_get_real(from, value_at, row));
    if (ok && summing.keys.n)
        qsort(summing.rows, summing.keys.n, sizeof *summing.rows, by_value);
    if (ok)
        put_rows(&summing, table);
    table->failed |= !ok;
    strings_free(&summing.texts);
    tuples_free(&summing.keys);
    free(summing.rows);
}

void summed_cut(struct sutra_table *table, uint64_t n) {
    struct sutra_table made;
    double value = 0, share = 0;
    int64_t count = 0;
    if (table->n_rows <= n)
        return;
    table_init_like(&made, table);
    for (uint64_t row = 0; row < n; row++)
        table_append_row(&made, table, row);
    for (uint64_t row = n; row < table->n_rows; row++) {
        count += table_get_integer(table, SUMMED_COUNT, row);
        value += table_get_real(table, SUMMED_VALUE, row);
        share += table_get_real(table, SUMMED_SHARE, row);
    }
    table_text(&made, "(others)", 8);
    table_text(&made, "(others)", 8);
    table_integer(&made, count);
    table_real(&made, value);
    table_real(&made, share);
    made.failed |= table->failed;
    table_free(table);
    *table = made;
}

/* ---- Durations ---- */

struct bin {
    double from_us, below_us, device_us;
    int64_t kernels;
};

/* Puts the bin among those before it, by its end; `n` are there. */
static uint64_t add_bin(struct bin *bins, uint64_t n, struct bin bin) {
    uint64_t at = n;
    while (at > 0 && bins[at - 1].below_us > bin.below_us)
        at--;
    if (at > 0 && bins[at - 1].below_us >= bin.below_us) {
        bins[at - 1].kernels += bin.kernels;
        bins[at - 1].device_us += bin.device_us;
        return n;
    }
    if (n == DURATION_BINS_MOST)
        return n;
    memmove(bins + at + 1, bins + at, (n - at) * sizeof *bins);
    bins[at] = bin;
    return n + 1;
}

/* What is shorter than a kernel can be is one bin: clocks tell durations of 0 there. */
#define SHORTEST_US 1

static uint64_t sum_bins(const struct sutra_table *durations, struct bin *bins) {
    enum { RANK, FROM, BELOW, KERNELS, PERCENT, TIME };
    uint64_t n = 0;
    for (uint64_t row = 0; row < durations->n_rows; row++) {
        struct bin bin = {table_get_real(durations, FROM, row), table_get_real(durations, BELOW, row),
                          table_get_real(durations, TIME, row), table_get_integer(durations, KERNELS, row)};
        if (bin.below_us <= SHORTEST_US) {
            bin.from_us = 0;
            bin.below_us = SHORTEST_US;
        }
        n = add_bin(bins, n, bin);
    }
    return n;
}

static void put_bin(const struct bin *bin, const struct bin *all, struct sutra_table *table) {
    char takes[2 * sizeof(struct shown) + 8];
    if (bin->from_us > 0)
        snprintf(takes, sizeof takes, "%s to %s", shown_figure(bin->from_us, UNIT_US).text,
                 shown_figure(bin->below_us, UNIT_US).text);
    else
        snprintf(takes, sizeof takes, "below %s", shown_figure(bin->below_us, UNIT_US).text);
    table_words(table, takes);
    table_integer(table, bin->kernels);
    table_real(table, all->kernels > 0 ? (double)bin->kernels / (double)all->kernels * 100 : (double)NAN);
    table_real(table, bin->device_us);
    table_real(table, all->device_us > 0 ? bin->device_us / all->device_us * 100 : (double)NAN);
}

void durations_table(struct sutra_table *table, const struct sutra_table *durations) {
    static const struct column_spec specs[] = {{"takes", SUTRA_COLUMN_TEXT},
                                               {"kernels", SUTRA_COLUMN_INTEGER},
                                               {"percent", SUTRA_COLUMN_REAL},
                                               {"device_us", SUTRA_COLUMN_REAL},
                                               {"device_percent", SUTRA_COLUMN_REAL}};
    struct bin bins[DURATION_BINS_MOST], all = {0};
    uint64_t n = sum_bins(durations, bins);
    table_init(table, "durations", specs, sizeof specs / sizeof *specs);
    for (uint64_t i = 0; i < n; i++) {
        all.kernels += bins[i].kernels;
        all.device_us += bins[i].device_us;
    }
    for (uint64_t i = 0; i < n; i++)
        put_bin(&bins[i], &all, table);
}

/* ---- The timeline ---- */

#define LINES_MOST 32

void lines_table(struct sutra_table *table, const struct sutra_table *timeline) {
    static const struct column_spec specs[] = {
        {"type", SUTRA_COLUMN_TEXT}, {"time_us", SUTRA_COLUMN_REAL}, {"share_pctg", SUTRA_COLUMN_REAL}};
    enum { RANK, TYPE, TIME };
    double sums[LINES_MOST] = {0}, wholes[2] = {0};
    uint64_t n = 0;
    bool charges = false;
    table_init(table, "timeline", specs, sizeof specs / sizeof *specs);
    while (n < timeline->n_rows && n < LINES_MOST &&
           table_get_integer(timeline, RANK, n) == table_get_integer(timeline, RANK, 0))
        n++;
    for (uint64_t row = 0; n > 0 && row < timeline->n_rows; row++)
        sums[row % n] += table_get_real(timeline, TIME, row);
    for (uint64_t i = 0; i < n; i++) {
        size_t length;
        const char *type = table_get_text(timeline, TYPE, i, &length);
        if (strcmp(type, "total") == 0)
            wholes[0] = sums[i];
        if (strcmp(type, "all GPU activity") == 0)
            wholes[1] = sums[i];
    }
    for (uint64_t i = 0; i < n; i++) {
        size_t length;
        const char *type = table_get_text(timeline, TYPE, i, &length);
        table_text(table, type, length);
        table_real(table, sums[i]);
        table_real(table, wholes[charges] > 0 ? sums[i] / wholes[charges] * 100 : (double)NAN);
        charges |= strcmp(type, "memcpy") == 0; /* the last line that is a share of the whole time */
    }
}

double lines_us(const struct sutra_table *lines, const char *type) {
    size_t length;
    for (uint64_t row = 0; row < lines->n_rows; row++)
        if (strcmp(table_get_text(lines, LINE_TYPE, row, &length), type) == 0)
            return table_get_real(lines, LINE_TIME, row);
    return 0;
}
