/*
 * kinds.c - collectives added up: by type and size in each group, by group, and how fast each size is.
 *
 *     each collective --> key and values --sort by key, then by value--> runs of one key: sums, medians, quartiles
 *
 * Cost: O(n log n).
 */
#include <math.h>
#include <stdlib.h>

#include "analyze/collectives/collectives.h"
#include "analyze/describe.h"
#include "base/error.h"

/* A collective, as much of it as is added up. */
struct kind_row {
    uint32_t group, what, type;
    bool is_message;
    uint8_t kind, place, bits; /* of its bytes: 2^bits up to twice that */
    row_t n;
    int64_t n_members, last_rank;
    int64_t bytes, transfer_ns, skew_ns, end_skew_ns;
    double wait_ns, algorithm, bus;
};

static int compare(double a, double b) {
    return (a > b) - (a < b);
}

static int compare_numbers(int64_t a, int64_t b) {
    return (a > b) - (a < b);
}

static int compare_kinds(const void *left, const void *right) {
    const struct kind_row *a = left, *b = right;
    int order = compare_numbers(a->what, b->what);
    order = order ? order : compare_numbers(a->type, b->type);
    order = order ? order : compare_numbers(a->bytes, b->bytes);
    return order ? order : compare_numbers(a->group, b->group);
}

static int compare_by_kind(const void *left, const void *right) {
    const struct kind_row *a = left, *b = right;
    int order = compare_kinds(a, b);
    return order ? order : compare_numbers(a->transfer_ns, b->transfer_ns);
}

static int compare_by_group(const void *left, const void *right) {
    const struct kind_row *a = left, *b = right;
    int order = compare_numbers(a->group, b->group);
    order = order ? order : compare_numbers(a->last_rank, b->last_rank);
    return order ? order : compare_by_kind(left, right);
}

static int compare_sizes(const struct kind_row *a, const struct kind_row *b) {
    int order = a->kind - b->kind;
    order = order ? order : a->place - b->place;
    return order ? order : a->bits - b->bits;
}

static int compare_by_size(const void *left, const void *right) {
    const struct kind_row *a = left, *b = right;
    int order = compare_sizes(a, b);
    return order ? order : compare(a->bus, b->bus);
}

static struct kind_row *take_rows(const struct sutra_collectives *of, struct arena *arena) {
    struct kind_row *rows = arena_take(arena, of->matches.n, sizeof *rows);
    for (row_t i = 0; i < of->matches.n && rows; i++) {
        const struct collective_match *match = &of->matches.list[i];
        const struct collective_call *first = collective_match_call(&of->calls, &of->matches, match, 0);
        struct collective_time time = collective_time_of(of, match);
        rows[i] = (struct kind_row){
            .group = match->group,
            .what = first->what,
            .type = first->type,
            .is_message = match->is_message,
            .kind = (uint8_t)time.kind,
            .place = (uint8_t)time.place,
            .bits = time.bytes > 0 ? (uint8_t)(63 - __builtin_clzll((unsigned long long)time.bytes)) : 0,
            .n = match->n,
            .n_members = time.n_members,
            .last_rank = collective_match_call(&of->calls, &of->matches, match, time.at.last)->rank,
            .bytes = time.bytes,
            .transfer_ns = time.at.transfer_ns,
            .skew_ns = time.skew_ns,
            .end_skew_ns = time.end_skew_ns,
            .wait_ns = time.at.wait_ns,
            .algorithm = time.algorithm,
            .bus = time.bus};
    }
    return rows;
}

/* What rows have together. */
struct kind_sums {
    uint64_t n, n_messages, n_timed;
    double bytes, transfer_ns, skew_ns, most_skew_ns, end_skew_ns, wait_ns, n_calls, bus, most_bus, algorithm;
};

static void add_row(struct kind_sums *sums, const struct kind_row *row) {
    sums->n++;
    sums->n_messages += row->is_message;
    sums->bytes += row->bytes > 0 ? (double)row->bytes : 0;
    sums->transfer_ns += (double)row->transfer_ns;
    sums->skew_ns += (double)row->skew_ns;
    sums->most_skew_ns = fmax(sums->most_skew_ns, (double)row->skew_ns);
    sums->end_skew_ns += (double)row->end_skew_ns;
    sums->wait_ns += row->wait_ns;
    sums->n_calls += row->n;
    if (isnan(row->bus))
        return;
    sums->n_timed++;
    sums->bus += row->bus;
    sums->algorithm += row->algorithm;
    sums->most_bus = fmax(sums->most_bus, row->bus);
}

static double mean_or_none(double sum, uint64_t n) {
    return n > 0 ? sum / (double)n : (double)NAN;
}

/* ---- By type, size and group ---- */

static void put_kind(const struct sutra_collectives *of, const struct kind_row *rows, row_t n,
                     struct sutra_table *table) {
    struct kind_sums sums = {0};
    row_t above = n / 2, below = (n - 1) / 2; /* the middle */
    for (row_t i = 0; i < n; i++)
        add_row(&sums, &rows[i]);
    double bus = mean_or_none(sums.bus, sums.n_timed);
    collective_table_string(of, table, rows->what);
    collective_table_string(of, table, rows->type);
    table_real(table, rows->bytes == CALL_UNKNOWN ? (double)NAN : (double)rows->bytes);
    collective_table_string(of, table, of->calls.groups[rows->group].name);
    collective_table_members(of, table, rows->group);
    table_integer(table, rows->n_members);
    table_words(table, collective_place_names[rows->place]);
    table_integer(table, n);
    table_real(table, sums.transfer_ns / 1e3);
    table_real(table, sums.transfer_ns / n / 1e3);
    table_real(table, (double)rows[0].transfer_ns / 1e3);
    table_real(table, ((double)rows[above].transfer_ns + (double)rows[below].transfer_ns) / 2e3);
    table_real(table, (double)rows[n - 1].transfer_ns / 1e3);
    table_real(table, sums.skew_ns / n / 1e3);
    table_real(table, sums.most_skew_ns / 1e3);
    table_real(table, sums.wait_ns / sums.n_calls / 1e3);
    table_real(table, sums.end_skew_ns / n / 1e3);
    table_real(table, mean_or_none(sums.algorithm, sums.n_timed));
    table_real(table, bus);
    table_real(table, sums.n_timed ? sums.most_bus : (double)NAN);
    table_real(table, collective_link_percent(of, (enum collective_place)rows->place, bus));
}

/* ---- By group ---- */

/* Rows of one group are by the rank that came last. */
static void put_group(const struct sutra_collectives *of, const struct kind_row *rows, row_t n,
                      struct sutra_table *table) {
    struct kind_sums sums = {0};
    row_t most = 0;
    int64_t most_rank = CALL_UNKNOWN;
    for (row_t i = 0, run = 0; i < n; i++) {
        add_row(&sums, &rows[i]);
        run = i > 0 && rows[i].last_rank == rows[i - 1].last_rank ? run + 1 : 1;
        most_rank = run > most ? rows[i].last_rank : most_rank;
        most = run > most ? run : most;
    }
    const struct collective_group *group = &of->calls.groups[rows->group];
    collective_table_string(of, table, group->name);
    collective_table_members(of, table, rows->group);
    table_integer(table, group->size);
    table_words(table, collective_place_names[of->places[rows->group]]);
    table_integer(table, (int64_t)(sums.n - sums.n_messages));
    table_integer(table, (int64_t)sums.n_messages);
    table_real(table, sums.bytes);
    table_real(table, sums.transfer_ns / 1e3);
    table_real(table, sums.wait_ns / sums.n_calls / 1e3);
    table_real(table, sums.most_skew_ns / 1e3);
    table_integer(table, most_rank);
    table_integer(table, most);
}

/* ---- By size ---- */

static void put_size(const struct sutra_collectives *of, const struct kind_row *rows, row_t n, double *values,
                     struct sutra_table *table) {
    for (row_t i = 0; i < n; i++)
        values[i] = rows[i].bus;
    double median = quantile_of(values, n, 0.5);
    table_words(table, collective_kind_names[rows->kind]);
    table_words(table, collective_place_names[rows->place]);
    table_real(table, ldexp(1, rows->bits));
    table_real(table, ldexp(1, rows->bits + 1));
    table_integer(table, n);
    table_real(table, values[0]);
    table_real(table, quantile_of(values, n, 0.25));
    table_real(table, median);
    table_real(table, quantile_of(values, n, 0.75));
    table_real(table, values[n - 1]);
    table_real(table, collective_link_percent(of, (enum collective_place)rows->place, median));
}

/* ---- All three ---- */

/* The rows with the largest values of a column first. */
struct kind_order {
    double value;
    uint64_t row;
};

static int compare_falling(const void *left, const void *right) {
    const struct kind_order *a = left, *b = right;
    int order = compare(b->value, a->value);
    return order ? order : compare_numbers((int64_t)a->row, (int64_t)b->row);
}

static void sort_falling(struct sutra_table *table, uint32_t column, struct arena *arena) {
    struct kind_order *keys = arena_take(arena, table->n_rows, sizeof *keys);
    uint64_t *order = arena_take(arena, table->n_rows, sizeof *order);
    table->failed |= arena->failed;
    if (table->failed)
        return;
    for (uint64_t row = 0; row < table->n_rows; row++)
        keys[row] = (struct kind_order){table_get_real(table, column, row), row};
    qsort(keys, table->n_rows, sizeof *keys, compare_falling);
    for (uint64_t row = 0; row < table->n_rows; row++)
        order[row] = keys[row].row;
    table_reorder(table, order);
}

static row_t run_end(const struct kind_row *rows, row_t begin, row_t n,
                     int (*order)(const struct kind_row *a, const struct kind_row *b)) {
    row_t end = begin;
    while (end < n && order(&rows[begin], &rows[end]) == 0)
        end++;
    return end;
}

static int same_kind(const struct kind_row *a, const struct kind_row *b) {
    return compare_kinds(a, b);
}

static int same_group(const struct kind_row *a, const struct kind_row *b) {
    return compare_numbers(a->group, b->group);
}

enum sutra_status collective_kinds_make(struct sutra_collectives *of, struct sutra_error *error) {
    struct sutra_table *kinds = collective_table_begin(of, SUTRA_COLLECTIVES_KINDS);
    struct sutra_table *groups = collective_table_begin(of, SUTRA_COLLECTIVES_GROUPS);
    struct sutra_table *sizes = collective_table_begin(of, SUTRA_COLLECTIVES_SIZES);
    struct arena_mark mark = arena_mark(&of->arena);
    struct kind_row *rows = take_rows(of, &of->arena);
    double *values = arena_take(&of->arena, of->matches.n, sizeof *values);
    row_t n = of->matches.n, n_fast = 0;
    if (of->arena.failed)
        return error_memory(error);
    qsort(rows, n, sizeof *rows, compare_by_kind);
    for (row_t begin = 0, end; begin < n; begin = end) {
        end = run_end(rows, begin, n, same_kind);
        put_kind(of, rows + begin, end - begin, kinds);
    }
    qsort(rows, n, sizeof *rows, compare_by_group);
    for (row_t begin = 0, end; begin < n; begin = end) {
        end = run_end(rows, begin, n, same_group);
        put_group(of, rows + begin, end - begin, groups);
    }
    for (row_t i = 0; i < n; i++)
        if (!isnan(rows[i].bus))
            rows[n_fast++] = rows[i];
    qsort(rows, n_fast, sizeof *rows, compare_by_size);
    for (row_t begin = 0, end; begin < n_fast; begin = end) {
        end = run_end(rows, begin, n_fast, compare_sizes);
        put_size(of, rows + begin, end - begin, values, sizes);
    }
    sort_falling(kinds, 8, &of->arena);
    sort_falling(groups, 7, &of->arena);
    arena_release(&of->arena, mark);
    return kinds->failed || groups->failed || sizes->failed ? error_memory(error) : SUTRA_OK;
}
