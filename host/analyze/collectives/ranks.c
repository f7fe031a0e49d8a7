/*
 * ranks.c - what each rank waited, and was waited for; clocks of ranks and hosts; checks.
 *
 * A rank that comes last to a collective is waited for by all others, on average as long as they wait.
 */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "analyze/collectives/collectives.h"
#include "base/error.h"
#include "base/order.h"

static double microseconds(int64_t ns) {
    return (double)ns / 1e3;
}

/* ---- Sums ---- */

/* The traces of the ranks of the clocks; both are by rank. */
static void find_parts(struct sutra_collectives *of) {
    row_t place = 0;
    for (size_t i = 0; i < of->tasks.n; i++) {
        const struct collective_part *part = collective_part_at(of, i);
        while (place < of->n_clocks && of->clocks[place].rank < part->rank.rank)
            place++;
        if (part->taken && place < of->n_clocks && of->clocks[place].rank == part->rank.rank)
            of->parts[place] = part;
    }
}

static int64_t set_time(const struct sutra_collectives *of, row_t place, int64_t ns) {
    return of->clock_set[place] ? rank_clock_time(&of->clocks[place], ns) : ns;
}

/* When the job's work begins, and how long it takes, by the common clock. */
static void find_span(struct sutra_collectives *of) {
    int64_t first = INT64_MAX, last = INT64_MIN;
    for (row_t i = 0; i < of->n_clocks; i++) {
        const struct collective_part *part = of->parts[i];
        if (!part || part->first_ns > part->last_ns)
            continue;
        int64_t begin = set_time(of, i, part->first_ns), end = set_time(of, i, part->last_ns);
        first = begin < first ? begin : first;
        last = end > last ? end : last;
    }
    of->first_ns = first == INT64_MAX ? 0 : first;
    of->summary.span_us = first > last ? 0 : microseconds(moment_minus(last, first));
}

static void add_match(struct sutra_collectives *of, const struct job_collectives *job,
                      const struct collective_match *match) {
    struct collective_moments moments = collective_moments_of(job, match);
    struct sutra_collectives_summary *summary = &of->summary;
    summary->n_messages += match->is_message;
    summary->n_collectives += !match->is_message;
    summary->transfer_us += microseconds(moments.transfer_ns);
    if (rank_waits_add(job, match, &moments, of->sums))
        summary->wait_us += moments.wait_ns / 1e3;
}

/* ---- Tables ---- */

static int64_t host_of(const struct sutra_collectives *of, int64_t rank) {
    return of->ranks_per_host ? rank / of->ranks_per_host : CALL_UNKNOWN;
}

static void put_ranks(struct sutra_collectives *of, double median_compute_ns) {
    struct sutra_table *table = collective_table_begin(of, SUTRA_COLLECTIVES_RANKS);
    double span_us = of->summary.span_us;
    for (row_t i = 0; i < of->n_clocks; i++) {
        const struct rank_waits *sums = &of->sums[i];
        double compute_ns = of->parts[i] ? of->parts[i]->compute_ns : 0;
        table_integer(table, of->clocks[i].rank);
        table_integer(table, host_of(of, of->clocks[i].rank));
        table_integer(table, (int64_t)sums->n);
        table_real(table, sums->in_ns / 1e3);
        table_real(table, sums->waited_ns / 1e3);
        table_real(table, sums->waited_for_ns / 1e3);
        table_real(table, span_us > 0 ? sums->waited_for_ns / 10 / span_us : (double)NAN);
        table_integer(table, (int64_t)sums->n_last);
        table_integer(table, (int64_t)sums->n_first);
        table_real(table, sums->n ? 100.0 * (double)sums->n_last / (double)sums->n : (double)NAN);
        table_real(table, compute_ns / 1e3);
        table_real(table, (compute_ns - median_compute_ns) / 1e3);
    }
}

/* How far a clock is ahead where its collectives begin. */
static int64_t ahead_of(const struct rank_clock *clock) {
    return moment_minus(clock->first_ns, rank_clock_time(clock, clock->first_ns));
}

static void put_clocks(struct sutra_collectives *of) {
    struct sutra_table *table = collective_table_begin(of, SUTRA_COLLECTIVES_CLOCKS);
    for (row_t i = 0; i < of->n_clocks; i++) {
        const struct rank_clock *clock = &of->clocks[i];
        table_integer(table, clock->rank);
        table_integer(table, host_of(of, clock->rank));
        table_integer(table, clock->reference);
        table_real(table, microseconds(ahead_of(clock)));
        table_real(table, clock->drift * 1e6);
        table_real(table, microseconds(clock->spread_ns));
        table_integer(table, clock->n);
        table_words(table, clock->n == 0 ? "" : clock->by_messages ? "messages" : "collectives");
        table_integer(table, of->clock_set[i]);
    }
}

/* Clocks of a host, which is all that its ranks have: the median of them. */
static void put_host(struct sutra_collectives *of, row_t begin, row_t end, double *values, struct sutra_table *table) {
    double residual_us = 0;
    for (row_t i = begin; i < end; i++)
        values[i - begin] = microseconds(ahead_of(&of->clocks[i]));
    qsort(values, end - begin, sizeof *values, compare_doubles);
    double ahead_us = values[(end - begin) / 2];
    for (row_t i = begin; i < end; i++) {
        double apart_us = fabs(microseconds(ahead_of(&of->clocks[i])) - ahead_us);
        residual_us = fmax(residual_us, fmax(apart_us, microseconds(of->clocks[i].spread_ns)));
    }
    table_integer(table, host_of(of, of->clocks[begin].rank));
    table_integer(table, of->clocks[begin].rank);
    table_integer(table, of->clocks[end - 1].rank);
    table_integer(table, end - begin);
    table_real(table, ahead_us);
    table_real(table, residual_us);
}

static void put_hosts(struct sutra_collectives *of, double *values) {
    if (of->ranks_per_host == 0)
        return;
    struct sutra_table *table = collective_table_begin(of, SUTRA_COLLECTIVES_HOSTS);
    for (row_t begin = 0, end; begin < of->n_clocks; begin = end) {
        int64_t host = host_of(of, of->clocks[begin].rank);
        for (end = begin; end < of->n_clocks && host_of(of, of->clocks[end].rank) == host;)
            end++;
        put_host(of, begin, end, values, table);
    }
}

static void put_check(const struct sutra_collectives *of, struct sutra_table *table,
                      const struct collective_check *check) {
    table_words(table, check_severity_names[check->severity]);
    table_words(table, check->rule);
    table_integer(table, check->hangs);
    table_words(table, check->group);
    table_integer(table, check->number);
    table_words(table, check->ranks);
    table_integer(table, check->rank);
    bool placed = check->at_ns != CALL_UNKNOWN && check->rank != CALL_UNKNOWN;
    row_t place = placed ? rank_clock_place(of->clocks, of->n_clocks, check->rank) : 0;
    table_real(table,
               placed ? microseconds(moment_minus(set_time(of, place, check->at_ns), of->first_ns)) : (double)NAN);
    table_words(table, check->text);
}

/* Those of collectives, and traces that were left out. */
static void put_checks(struct sutra_collectives *of) {
    struct sutra_table *table = collective_table_begin(of, SUTRA_COLLECTIVES_CHECKS);
    for (size_t i = 0; i < of->tasks.n; i++) {
        const struct rank_task *task = &of->tasks.list[of->tasks.order[i]];
        if (task->status && !task->is_unwanted)
            put_check(of, table,
                      &(struct collective_check){.severity = CHECK_ERROR,
                                                 .rule = "skipped trace",
                                                 .group = "",
                                                 .number = CALL_UNKNOWN,
                                                 .ranks = "",
                                                 .rank = CALL_UNKNOWN,
                                                 .at_ns = CALL_UNKNOWN,
                                                 .text = task->error.message});
        of->summary.n_faults += task->status != SUTRA_OK;
    }
    for (int severity = CHECK_ERROR; severity >= CHECK_NOTE; severity--)
        for (uint64_t i = 0; i < of->checks.n; i++)
            if ((int)of->checks.list[i].severity == severity)
                put_check(of, table, &of->checks.list[i]);
    for (uint64_t i = 0; i < of->checks.n; i++)
        of->summary.n_faults += of->checks.list[i].severity == CHECK_ERROR;
    of->summary.n_checks = table->n_rows;
}

/* ---- All of them ---- */

static void sum_clocks(struct sutra_collectives *of, double *values) {
    double least = 0, most = 0;
    for (row_t i = 0; i < of->n_clocks; i++) {
        double ahead_us = microseconds(ahead_of(&of->clocks[i]));
        bool compared = of->clocks[i].reference == of->clocks[0].rank;
        least = compared ? fmin(least, ahead_us) : least;
        most = compared ? fmax(most, ahead_us) : most;
        values[i] = microseconds(of->clocks[i].spread_ns);
    }
    if (of->n_clocks > 0)
        qsort(values, of->n_clocks, sizeof *values, compare_doubles);
    of->summary.clocks_apart_us = most - least;
    of->summary.clock_residual_us = of->n_clocks > 0 ? values[of->n_clocks / 2] : 0;
}

enum sutra_status collective_ranks_make(struct sutra_collectives *of, struct sutra_error *error) {
    of->sums = arena_zeros(&of->arena, of->n_clocks, sizeof *of->sums);
    of->parts = arena_zeros(&of->arena, of->n_clocks, sizeof(struct collective_part *));
    double *values = arena_take(&of->arena, of->n_clocks, sizeof *values);
    if (of->arena.failed)
        return error_memory(error);
    find_parts(of);
    find_span(of);
    of->summary.n_calls = of->calls.n;
    of->summary.n_untold = of->calls.n_untold;
    struct job_collectives job = collectives_job(of);
    for (row_t i = 0; i < of->matches.n; i++)
        add_match(of, &job, &of->matches.list[i]);
    for (row_t i = 0; i < of->n_clocks; i++)
        values[i] = of->parts[i] ? of->parts[i]->compute_ns : 0;
    if (of->n_clocks > 0)
        qsort(values, of->n_clocks, sizeof *values, compare_doubles);
    put_ranks(of, of->n_clocks > 0 ? values[of->n_clocks / 2] : 0);
    sum_clocks(of, values);
    put_clocks(of);
    put_hosts(of, values);
    put_checks(of);
    return SUTRA_OK;
}
