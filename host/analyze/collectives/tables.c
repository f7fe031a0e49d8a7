/*
 * tables.c - the tables of collectives: columns of all tables, a row for each collective, optionally a row for each of
 * its ranks, and totals by type and size, by group, and by size alone.
 *
 *     matches --> struct collective_time each --> rows;  kind_row each --sort--> runs of one key: totals, quantiles
 *
 * Cost: O(n log n).
 */
#include <math.h>
#include <stdlib.h>

#include "analyze/collectives/collectives.h"
#include "analyze/statistics.h"
#include "analyze/table.h"
#include "base/error.h"
#include "base/shared.h"
#include "text/quantities.h"

/* ---- Tables: one row each ---- */

const struct table_spec collective_table_specs[SUTRA_COLLECTIVES_N_TABLES] = {
    [SUTRA_COLLECTIVES_ALL] = {"collectives", OF_JOB,
                               .columns = {TEXT("group"),
                                           TEXT("members"),
                                           INTEGER("number"),
                                           TEXT("type"),
                                           TEXT("dtype"),
                                           REAL("from_rank"),
                                           REAL("to_rank"),
                                           INTEGER("ranks"),
                                           INTEGER("group_size"),
                                           REAL("bytes"),
                                           TEXT("place"),
                                           REAL("arrival_us"),
                                           INTEGER("first_rank"),
                                           INTEGER("last_rank"),
                                           REAL("skew_us"),
                                           REAL("mean_wait_us"),
                                           REAL("transfer_us"),
                                           REAL("end_skew_us"),
                                           REAL("algorithm_gb_per_s"),
                                           REAL("bus_gb_per_s"),
                                           REAL("link_percent"),
                                           TEXT("library"),
                                           TEXT("phase")}},
    [SUTRA_COLLECTIVES_ARRIVALS] = {"collective_arrivals", OF_JOB,
                                    .columns = {TEXT("group"), TEXT("members"), INTEGER("number"), TEXT("type"),
                                                INTEGER("rank"), REAL("arrival_us"), REAL("wait_us"),
                                                REAL("duration_us"), REAL("end_us")}},
    [SUTRA_COLLECTIVES_KINDS] = {"collective_types", OF_JOB,
                                 .columns = {TEXT("type"),
                                             TEXT("dtype"),
                                             REAL("bytes"),
                                             TEXT("group"),
                                             TEXT("members"),
                                             INTEGER("group_size"),
                                             TEXT("place"),
                                             INTEGER("count"),
                                             REAL("transfer_us"),
                                             REAL("transfer_mean_us"),
                                             REAL("transfer_min_us"),
                                             REAL("transfer_median_us"),
                                             REAL("transfer_max_us"),
                                             REAL("skew_mean_us"),
                                             REAL("skew_max_us"),
                                             REAL("mean_wait_us"),
                                             REAL("end_skew_mean_us"),
                                             REAL("algorithm_gb_per_s"),
                                             REAL("bus_gb_per_s"),
                                             REAL("bus_max_gb_per_s"),
                                             REAL("link_percent")}},
    [SUTRA_COLLECTIVES_GROUPS] = {"collective_groups", OF_JOB,
                                  .columns = {TEXT("group"), TEXT("members"), INTEGER("group_size"), TEXT("place"),
                                              INTEGER("collectives"), INTEGER("messages"), REAL("bytes"),
                                              REAL("transfer_us"), REAL("mean_wait_us"), REAL("skew_max_us"),
                                              INTEGER("last_most_rank"), INTEGER("last_most")}},
    [SUTRA_COLLECTIVES_SIZES] = {"collective_sizes", OF_JOB,
                                 .columns = {TEXT("type"), TEXT("place"), REAL("from_bytes"), REAL("below_bytes"),
                                             INTEGER("count"), REAL("bus_min_gb_per_s"), REAL("bus_25_gb_per_s"),
                                             REAL("bus_median_gb_per_s"), REAL("bus_75_gb_per_s"),
                                             REAL("bus_max_gb_per_s"), REAL("link_percent")}},
    [SUTRA_COLLECTIVES_RANKS] = {"collective_ranks", OF_JOB,
                                 .columns = {INTEGER("rank"), INTEGER("host"), INTEGER("collectives"),
                                             REAL("in_collectives_us"), REAL("wait_us"), REAL("wait_caused_us"),
                                             REAL("waited_for_percent"), INTEGER("n_arrived_last"),
                                             INTEGER("n_arrived_first"), REAL("last_percent"), REAL("compute_us"),
                                             REAL("compute_over_median_us")}},
    [SUTRA_COLLECTIVES_CLOCKS] = {"collective_clocks", OF_JOB,
                                  .columns = {INTEGER("rank"), INTEGER("host"), INTEGER("reference"), REAL("ahead_us"),
                                              REAL("drift_ppm"), REAL("residual_us"), INTEGER("collectives"),
                                              TEXT("found_from"), INTEGER("set_right")}},
    [SUTRA_COLLECTIVES_HOSTS] = {"collective_hosts", OF_JOB,
                                 .columns = {INTEGER("host"), INTEGER("first_rank"), INTEGER("last_rank"),
                                             INTEGER("ranks"), REAL("ahead_us"), REAL("residual_us")}},
    [SUTRA_COLLECTIVES_CHECKS] = {"collective_errors", OF_JOB,
                                  .columns = {TEXT("severity"), TEXT("check"), INTEGER("hangs"), TEXT("group"),
                                              INTEGER("number"), TEXT("ranks"), INTEGER("first_rank"), REAL("first_us"),
                                              TEXT("text")}},
    [SUTRA_COLLECTIVES_EXCESS] = {"straggler_operators", OF_JOB,
                                  .columns = {TEXT("runs_on"), TEXT("phase"), TEXT("operator"), INTEGER("calls"),
                                              REAL("us"), INTEGER("median_calls"), REAL("median_us"),
                                              REAL("excess_us")}},
};

/* ---- Collectives and arrivals ---- */

/* A value that depends on start times, which logs do not record. */
static double timeline_us(const struct sutra_collectives *of, int64_t ns) {
    return of->calls.from_logs ? (double)NAN : microseconds(ns);
}

/* Adds a string of the calls. */
static void collective_table_string(const struct sutra_collectives *of, struct sutra_table *table, uint32_t string) {
    const struct strings *strings = &of->calls.strings;
    table_text(table, strings_text(strings, string), strings_length(strings, string));
}

/* The share of the links' peak that a bandwidth is, in percent; NaN: unknown. */
static double collective_link_percent(const struct sutra_collectives *of, enum collective_place place, double bus) {
    bool known = of->link_gb_per_s > 0 && (place == PLACE_INSIDE || of->options.link_gb_per_s > 0);
    return known ? 100 * bus / of->link_gb_per_s : (double)NAN;
}

/* Adds the ranks of a group as a short text. */
static void collective_table_members(const struct sutra_collectives *of, struct sutra_table *table, uint32_t group) {
    struct arena scratch = {0};
    struct rank_list list = {0};
    size_t n;
    const int64_t *ranks = collective_group_ranks(&of->calls, group, &scratch, &n);
    for (size_t i = 0; ranks && i < n; i++)
        rank_list_add(&list, ranks[i]);
    const char *text = rank_list_text(&list);
    table_text(table, text, list.length);
    table->failed |= !ranks;
    arena_free(&scratch);
}

/* Cache of the members of the latest group. */
struct group_text {
    uint32_t group;
    struct sutra_table text; /* one row, one column */
};

static void add_group(const struct sutra_collectives *of, struct group_text *kept, struct sutra_table *table,
                      uint32_t group) {
    static const struct column_spec column = TEXT("members");
    size_t length;
    if (kept->group != group || !kept->text.n_rows) {
        table_free(&kept->text);
        table_init(&kept->text, "members", &column, 1);
        collective_table_members(of, &kept->text, group);
        kept->group = group;
    }
    collective_table_string(of, table, of->calls.groups[group].name);
    table->failed |= kept->text.failed;
    if (table->failed)
        return;
    const char *text = table_get_text(&kept->text, 0, 0, &length);
    table_text(table, text, length);
}

static void add_arrivals(const struct sutra_collectives *of, const struct collective_match *match,
                         const struct collective_time *time, struct group_text *group, struct sutra_table *table) {
    struct job_collectives job = collectives_job(of);
    for (row_t i = 0; i < match->n; i++) {
        const struct collective_call *call = collective_match_call(&of->calls, &of->matches, match, i);
        int64_t start = job_time(&job, call, call->start_ns), end = job_time(&job, call, call->end_ns);
        add_group(of, group, table, match->group);
        table_integer(table, match->number);
        collective_table_string(of, table, call->what);
        table_integer(table, call->rank);
        table_real(table, timeline_us(of, moment_minus(start, of->first_ns)));
        table_real(table, microseconds(moment_minus(time->at.arrival_ns, start)));
        table_real(table, microseconds(moment_minus(call->end_ns, call->start_ns)));
        table_real(table, timeline_us(of, moment_minus(end, of->first_ns)));
    }
}

enum sutra_status collective_tables_make(struct sutra_collectives *of, struct sutra_error *error) {
    struct sutra_table *all = result_table_begin(&of->result, SUTRA_COLLECTIVES_ALL);
    struct sutra_table *arrivals =
        of->options.arrivals ? result_table_begin(&of->result, SUTRA_COLLECTIVES_ARRIVALS) : NULL;
    struct group_text group = {0};
    for (row_t i = 0; i < of->matches.n && !all->failed; i++) {
        const struct collective_match *match = &of->matches.list[i];
        struct collective_time time = collective_time_of(of, match);
        const struct collective_call *first = collective_match_call(&of->calls, &of->matches, match, 0);
        add_group(of, &group, all, match->group);
        table_integer(all, match->number);
        collective_table_string(of, all, first->what);
        collective_table_string(of, all, first->type);
        table_real(all, match->is_message && match->from >= 0 ? (double)match->from : (double)NAN);
        table_real(all, match->is_message && match->to >= 0 ? (double)match->to : (double)NAN);
        table_integer(all, match->n);
        table_integer(all, time.n_members);
        table_real(all, time.bytes == CALL_UNKNOWN ? (double)NAN : (double)time.bytes);
        table_words(all, collective_place_names[time.place]);
        table_real(all, timeline_us(of, moment_minus(time.at.arrival_ns, of->first_ns)));
        table_integer(all, collective_match_call(&of->calls, &of->matches, match, time.at.first)->rank);
        table_integer(all, collective_match_call(&of->calls, &of->matches, match, time.at.last)->rank);
        TABLE_REALS(all, microseconds(time.skew_ns), time.at.wait_ns / match->n / 1e3,
                    microseconds(time.at.transfer_ns), timeline_us(of, time.end_skew_ns), time.algorithm, time.bus,
                    collective_link_percent(of, time.place, time.bus));
        table_words(all, kernel_library_names[of->calls.groups[match->group].source.library]);
        table_words(all, kernel_phase_names[of->calls.groups[match->group].source.phase]);
        if (arrivals)
            add_arrivals(of, match, &time, &group, arrivals);
    }
    table_free(&group.text);
    return all->failed || (arrivals && arrivals->failed) ? error_memory(error) : SUTRA_OK;
}

/* ---- Totals ---- */

/* The keys and values of a collective. */
struct kind_row {
    uint32_t group, what, type;
    bool is_message;
    uint8_t kind, place, bits; /* of its bytes: 2^bits to twice that */
    row_t n;
    int64_t n_members, last_rank;
    int64_t bytes, transfer_ns, skew_ns, end_skew_ns;
    double wait_ns, algorithm, bus;
};

#define KIND_KEYS ASCENDING(what) ASCENDING(type) ASCENDING(bytes) ASCENDING(group)
#define SIZE_KEYS ASCENDING(kind) ASCENDING(place) ASCENDING(bits)

ORDER_BY(compare_kinds, struct kind_row, KIND_KEYS)
ORDER_BY(compare_sizes, struct kind_row, SIZE_KEYS)
ORDER_BY(compare_groups, struct kind_row, ASCENDING(group))
ORDER_BY(compare_by_kind, struct kind_row, KIND_KEYS ASCENDING(transfer_ns))
ORDER_BY(compare_by_group, struct kind_row, ASCENDING(group) ASCENDING(last_rank) KIND_KEYS ASCENDING(transfer_ns))
ORDER_BY(compare_by_size, struct kind_row, SIZE_KEYS ASCENDING(bus))

/* Totals of rows. */
struct kind_sums {
    uint64_t n, n_messages, n_timed;
    double bytes, transfer_ns, skew_ns, max_skew_ns, end_skew_ns, wait_ns, n_calls, bus, max_bus, algorithm;
};

static void add_row(struct kind_sums *sums, const struct kind_row *row) {
    sums->n++;
    sums->n_messages += row->is_message;
    sums->bytes += (double)MAX(row->bytes, 0);
    sums->transfer_ns += (double)row->transfer_ns;
    sums->skew_ns += (double)row->skew_ns;
    sums->max_skew_ns = fmax(sums->max_skew_ns, (double)row->skew_ns);
    sums->end_skew_ns += (double)row->end_skew_ns;
    sums->wait_ns += row->wait_ns;
    sums->n_calls += row->n;
    if (isnan(row->bus))
        return;
    sums->n_timed++;
    sums->bus += row->bus;
    sums->algorithm += row->algorithm;
    sums->max_bus = fmax(sums->max_bus, row->bus);
}

static double mean_or_none(double sum, uint64_t n) {
    return n > 0 ? sum / (double)n : (double)NAN;
}

/* ---- By type, size and group ---- */

static void add_kind(const struct sutra_collectives *of, const struct kind_row *rows, row_t n,
                     struct sutra_table *table) {
    struct kind_sums sums = {0};
    double lower_ns = (double)rows[lower_median_at(n)].transfer_ns,
           upper_ns = (double)rows[upper_median_at(n)].transfer_ns;
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
    TABLE_REALS(table, sums.transfer_ns / 1e3, sums.transfer_ns / n / 1e3, (double)rows[0].transfer_ns / 1e3,
                (upper_ns + lower_ns) / 2e3, (double)rows[n - 1].transfer_ns / 1e3, sums.skew_ns / n / 1e3,
                sums.max_skew_ns / 1e3, sums.wait_ns / sums.n_calls / 1e3,
                of->calls.from_logs ? (double)NAN : sums.end_skew_ns / n / 1e3,
                mean_or_none(sums.algorithm, sums.n_timed), bus, sums.n_timed ? sums.max_bus : (double)NAN,
                collective_link_percent(of, (enum collective_place)rows->place, bus));
}

/* ---- By group ---- */

/* Rows of one group are ordered by the rank that arrives last. */
static void add_group_totals(const struct sutra_collectives *of, const struct kind_row *rows, row_t n,
                             struct sutra_table *table) {
    struct kind_sums sums = {0};
    row_t max_last = 0;
    int64_t max_rank = CALL_UNKNOWN;
    for (row_t i = 0, run = 0; i < n; i++) {
        add_row(&sums, &rows[i]);
        run = i > 0 && rows[i].last_rank == rows[i - 1].last_rank ? run + 1 : 1;
        max_rank = run > max_last ? rows[i].last_rank : max_rank;
        max_last = MAX(run, max_last);
    }
    const struct collective_group *group = &of->calls.groups[rows->group];
    collective_table_string(of, table, group->name);
    collective_table_members(of, table, rows->group);
    table_integer(table, group->size);
    table_words(table, collective_place_names[of->places[rows->group]]);
    table_integer(table, (int64_t)(sums.n - sums.n_messages));
    table_integer(table, (int64_t)sums.n_messages);
    TABLE_REALS(table, sums.bytes, sums.transfer_ns / 1e3, sums.wait_ns / sums.n_calls / 1e3, sums.max_skew_ns / 1e3);
    table_integer(table, max_rank);
    table_integer(table, max_last);
}

/* ---- By size ---- */

static void add_size(const struct sutra_collectives *of, const struct kind_row *rows, row_t n, double *values,
                     struct sutra_table *table) {
    for (row_t i = 0; i < n; i++)
        values[i] = rows[i].bus;
    double median = quantile_of(values, n, 0.5);
    table_words(table, collective_kind_names[rows->kind]);
    table_words(table, collective_place_names[rows->place]);
    table_real(table, ldexp(1, rows->bits));
    table_real(table, ldexp(1, rows->bits + 1));
    table_integer(table, n);
    TABLE_REALS(table, values[0], quantile_of(values, n, 0.25), median, quantile_of(values, n, 0.75), values[n - 1],
                collective_link_percent(of, (enum collective_place)rows->place, median));
}

/* ---- All three ---- */

struct kind_order {
    double value;
    uint64_t row;
};

ORDER_BY(compare_descending, struct kind_order, DESCENDING(value) ASCENDING(row))

/* Sorts a table by a column, descending. */
static void sort_descending(struct sutra_table *table, uint32_t column, struct arena *arena) {
    struct kind_order *keys = arena_alloc(arena, table->n_rows, sizeof *keys);
    uint64_t *order = arena_alloc(arena, table->n_rows, sizeof *order);
    table->failed |= arena->failed;
    if (table->failed)
        return;
    for (uint64_t row = 0; row < table->n_rows; row++)
        keys[row] = (struct kind_order){table_get_real(table, column, row), row};
    qsort(keys, table->n_rows, sizeof *keys, compare_descending);
    for (uint64_t row = 0; row < table->n_rows; row++)
        order[row] = keys[row].row;
    table_reorder(table, order);
}

/* The end of the rows that are equal to rows[begin]. */
static row_t run_end(const struct kind_row *rows, row_t begin, row_t n, int (*compare)(const void *, const void *)) {
    row_t end = begin;
    while (end < n && compare(&rows[begin], &rows[end]) == 0)
        end++;
    return end;
}

enum sutra_status collective_kinds_make(struct sutra_collectives *of, struct sutra_error *error) {
    struct sutra_table *kinds = result_table_begin(&of->result, SUTRA_COLLECTIVES_KINDS);
    struct sutra_table *groups = result_table_begin(&of->result, SUTRA_COLLECTIVES_GROUPS);
    struct sutra_table *sizes = result_table_begin(&of->result, SUTRA_COLLECTIVES_SIZES);
    struct arena_mark mark = arena_mark(&of->arena);
    struct kind_row *rows = arena_alloc(&of->arena, of->matches.n, sizeof *rows);
    double *values = arena_alloc(&of->arena, of->matches.n, sizeof *values);
    row_t n = of->matches.n, n_fast = 0;
    TRY(arena_status(&of->arena, error));
    for (row_t i = 0; i < n; i++) {
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
    qsort(rows, n, sizeof *rows, compare_by_kind);
    for (row_t begin = 0, end; begin < n; begin = end) {
        end = run_end(rows, begin, n, compare_kinds);
        add_kind(of, rows + begin, end - begin, kinds);
    }
    qsort(rows, n, sizeof *rows, compare_by_group);
    for (row_t begin = 0, end; begin < n; begin = end) {
        end = run_end(rows, begin, n, compare_groups);
        add_group_totals(of, rows + begin, end - begin, groups);
    }
    for (row_t i = 0; i < n; i++)
        if (!isnan(rows[i].bus))
            rows[n_fast++] = rows[i];
    qsort(rows, n_fast, sizeof *rows, compare_by_size);
    for (row_t begin = 0, end; begin < n_fast; begin = end) {
        end = run_end(rows, begin, n_fast, compare_sizes);
        add_size(of, rows + begin, end - begin, values, sizes);
    }
    sort_descending(kinds, 8, &of->arena);
    sort_descending(groups, 7, &of->arena);
    arena_release(&of->arena, mark);
    return kinds->failed || groups->failed || sizes->failed ? error_memory(error) : SUTRA_OK;
}
