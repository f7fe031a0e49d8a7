/*
 * straggler.c - implements the part of verdict.h about the straggler of a job.
 *
 * Saving: the wait of the rank that waits longest, if the straggler arrived with the second-latest rank.
 *
 * Cost: O(n log n) in collectives.
 */
#include "analyze/collective_matches.h"
#include "analyze/overview/verdict.h"
#include "base/error.h"
#include "facts/gpu_peaks.h"

/* The finding reports the remaining wait if less than this part of the wait is saved. */
#define MOSTLY_SAVED 0.8

/* ---- One rank ---- */

enum sutra_status rank_collectives_read(struct sutra_context *context, const struct overview *overview, int64_t rank,
                                        struct rank_collectives *collectives, struct sutra_error *error) {
    const struct sutra_device_trace *trace = overview->model->trace;
    collectives->rank = rank;
    rank_collectives_crop(overview, collectives);
    collectives->n_steps = overview->window.n_steps;
    collectives->first_ns = overview->first_event + trace_base_ns(trace);
    collectives->link = device_link_of(&trace->document);
    TRY_ALLOC(collective_calls_init(&collectives->calls), error);
    collectives->calls.keep_unrecorded = true;
    return collective_calls_read(&collectives->calls, context, trace, rank, error);
}

void rank_collectives_crop(const struct overview *overview, struct rank_collectives *collectives) {
    int64_t base = trace_base_ns(overview->model->trace);
    collectives->window = (struct rank_window){overview->window.from + base, overview->window.to + base};
}

static double window_ns(const struct rank_collectives *rank) {
    return (double)(rank->window.to_ns - rank->window.from_ns);
}

/* ---- All ranks ---- */

/* The index, among the ranks of the job, of a call of a match. */
static row_t rank_index(const struct job_collectives *job, const struct collective_match *match, row_t i) {
    return rank_clock_index(job->clocks, job->n_clocks,
                            collective_match_call(job->calls, job->matches, match, i)->rank);
}

/* By how much the straggler started its window later than a waiting rank, seen from the first collective to which it
 * arrives last: its lateness there, without the part that it acquired in the window. */
static int64_t late_start_ns(const struct job_collectives *job, struct rank_collectives *const *ranks,
                             const struct collective_match *match, row_t straggler, row_t waiting) {
    int64_t start[2] = {0, 0}, since_window[2] = {0, 0};
    const row_t of[2] = {straggler, waiting};
    for (row_t i = 0; i < match->n; i++) {
        const struct collective_call *call = collective_match_call(job->calls, job->matches, match, i);
        for (int k = 0; k < 2; k++)
            if (rank_index(job, match, i) == of[k]) {
                start[k] = job_time(job, call, call->start_ns);
                since_window[k] = call->start_ns - ranks[of[k]]->window.from_ns;
            }
    }
    int64_t late = start[0] - start[1], in_window = since_window[0] - since_window[1];
    return in_window <= 0 ? late : late - in_window;
}

/* The range of a collective on a rank, with a margin, for the trace of this rank. */
static struct finding_range range_of_call(const struct rank_collectives *rank, const struct collective_call *call) {
    const int64_t length = call->end_ns - call->start_ns, tenth = length / 10, missing = (100000 - length) / 2;
    const int64_t margin = MAX(tenth, missing), end = call->end_ns + margin;
    const int64_t start = MAX(call->start_ns - margin, end - MAX_RANGE_NS);
    const int64_t from = MAX(start - rank->first_ns, 0);
    return (struct finding_range){.from_us = from / 1000, .to_us = (end - rank->first_ns + 999) / 1000};
}

/* The collective in which the waiting rank waits longest for the straggler. */
static struct finding_range range_of_longest_wait(const struct job_collectives *job,
                                                  struct rank_collectives *const *ranks, row_t straggler,
                                                  row_t waiting) {
    const struct collective_call *longest = NULL;
    int64_t longest_ns = 0;
    for (row_t m = 0; m < job->matches->n; m++) {
        const struct collective_match *match = &job->matches->list[m];
        struct collective_moments moments = collective_moments_of(job, match);
        if (!collective_synchronizes(job, match, &moments) || rank_index(job, match, moments.last) != straggler)
            continue;
        for (row_t i = 0; i < match->n; i++) {
            const struct collective_call *call = collective_match_call(job->calls, job->matches, match, i);
            const int64_t wait = moments.arrival_ns - job_time(job, call, call->start_ns);
            if (rank_index(job, match, i) != waiting || wait <= longest_ns)
                continue;
            longest = call;
            longest_ns = wait;
        }
    }
    return longest ? range_of_call(ranks[waiting], longest) : (struct finding_range){.from_us = 0};
}

/* Measures the waits for a straggler, and makes the finding. `ranks` are the job's. */
static enum sutra_status report_straggler(const struct job_collectives *job, struct rank_collectives *const *ranks,
                                          row_t straggler, struct arena *scratch, struct job_findings *found,
                                          struct sutra_error *error) {
    struct overview_finding *finding = &found->late;
    int64_t *waits_ns = arena_zeros(scratch, job->n_clocks, sizeof *waits_ns);
    int64_t *savings_ns = arena_zeros(scratch, job->n_clocks, sizeof *savings_ns);
    const struct collective_match *first = NULL;
    row_t n_last = 0, waiting = 0;
    TRY(arena_status(scratch, error));
    for (row_t m = 0; m < job->matches->n; m++) {
        const struct collective_match *match = &job->matches->list[m];
        struct collective_moments moments = collective_moments_of(job, match);
        if (!collective_synchronizes(job, match, &moments) || rank_index(job, match, moments.last) != straggler)
            continue;
        n_last++;
        first = first ? first : match;
        for (row_t i = 0; i < match->n; i++) {
            const struct collective_call *call = collective_match_call(job->calls, job->matches, match, i);
            row_t rank = rank_index(job, match, i);
            ticks_add(&waits_ns[rank], moments.arrival_ns - job_time(job, call, call->start_ns));
            ticks_add(&savings_ns[rank], moments.arrival_ns - moments.before_ns);
        }
    }
    for (row_t i = 0; i < job->n_clocks; i++) {
        ranks[i]->wait_percent = (double)waits_ns[i] / window_ns(ranks[i]) * 100;
        waiting = waits_ns[i] > waits_ns[waiting] ? i : waiting;
    }

    const struct rank_collectives *rank = ranks[straggler], *other = ranks[waiting];
    found->straggler = rank->rank;
    found->waiting = other->rank;
    double steps = other->n_steps ? other->n_steps : 1, window = window_ns(other);
    double waits = (double)waits_ns[waiting], saving = (double)savings_ns[waiting];
    int64_t late_start = first ? late_start_ns(job, ranks, first, straggler, waiting) : 0;
    *finding = (struct overview_finding){.rule = &rule_straggler, .saving_percent = saving / window * 100};
    finding->uncapped = finding->saving_percent;
    finding->weight = 1;
    append_finding_text(finding, "Rank %lld arrives last at %s; rank %lld waits %s for it, %s of its step.",
                        (long long)rank->rank, counted_text(n_last, "collective", "collectives").text,
                        (long long)other->rank, brief_time_text(waits / steps).text,
                        finding_percent(waits, window).text);
    if (saving < MOSTLY_SAVED * waits)
        append_finding_text(finding, " With rank %lld on time, %s of wait for the second-latest rank remains.",
                            (long long)rank->rank, brief_time_text((waits - saving) / steps).text);
    if ((double)late_start >= 0.8 * waits) {
        finding->facts |= FACT_NAMED;
        snprintf(finding->where.frame, sizeof finding->where.frame, "Rank %lld begins the step %.20s late",
                 (long long)rank->rank, brief_time_text((double)late_start).text);
    } else {
        snprintf(finding->where.frame, sizeof finding->where.frame, "Rank %lld, within the step",
                 (long long)rank->rank);
    }
    finding->range = range_of_longest_wait(job, ranks, straggler, waiting);
    set_finding_now(finding, "%s", brief_time_text(waits / steps).text);
    add_finding_number(finding, "rank", (double)rank->rank);
    add_finding_number(finding, "waiting_rank", (double)other->rank);
    add_finding_number(finding, "wait_us", waits / 1000 / steps);
    add_finding_number(finding, "saving_us", saving / 1000 / steps);
    add_finding_number(finding, "late_start_us", (double)late_start / 1000);
    add_finding_number(finding, "collectives", n_last);
    return SUTRA_OK;
}

/* Whether a large collective uses the links, on the rank that arrived last at it. */
static bool links_are_used(const struct job_collectives *job, struct rank_collectives *const *ranks) {
    double bandwidth = 0, link = 0;
    for (row_t i = 0; i < job->n_clocks; i++)
        link = fmax(link, ranks[i]->link);
    for (row_t m = 0; m < job->matches->n; m++) {
        const struct collective_match *match = &job->matches->list[m];
        struct collective_moments moments = collective_moments_of(job, match);
        const struct collective_call *call = collective_match_call(job->calls, job->matches, match, moments.shortest);
        bandwidth = fmax(bandwidth, large_collective_bandwidth(job->calls, call));
    }
    return link > 0 && bandwidth >= link * SLOW_LINK_PERCENT / 100;
}

static enum sutra_status inspect_job(struct rank_collectives *const *all_ranks, size_t n_all,
                                     const struct collective_calls *calls, struct arena *scratch,
                                     struct job_findings *found, struct sutra_table *waits_table,
                                     struct sutra_error *error) {
    struct collective_matches matches;
    struct rank_clock *clocks = NULL;
    row_t n = 0, next = 0;
    TRY(collective_matches_find(calls, scratch, &matches, error));
    TRY(rank_clocks_find(calls, &matches, scratch, &clocks, &n, error));

    /* The ranks that have clocks: both lists ascend. */
    struct rank_collectives **ranks = arena_alloc(scratch, n, sizeof(struct rank_collectives *));
    struct rank_window *windows = arena_alloc(scratch, n, sizeof *windows);
    struct rank_waits *waits = arena_zeros(scratch, n, sizeof *waits);
    const bool *clock_set = rank_clocks_set(calls, &matches, clocks, n, scratch, NULL);
    TRY(arena_status(scratch, error));
    for (size_t i = 0; i < n_all && next < n; i++) {
        if (all_ranks[i]->rank != clocks[next].rank)
            continue;
        ranks[next] = all_ranks[i];
        windows[next++] = all_ranks[i]->window;
    }
    const struct job_collectives job = {.calls = calls,
                                        .matches = &matches,
                                        .clocks = clocks,
                                        .clock_set = clock_set,
                                        .n_clocks = n,
                                        .windows = windows};

    for (row_t m = 0; m < matches.n; m++) {
        struct collective_moments moments = collective_moments_of(&job, &matches.list[m]);
        rank_waits_add(&job, &matches.list[m], &moments, waits);
    }
    double shortest_window = INFINITY;
    for (row_t i = 0; i < n; i++) {
        shortest_window = fmin(shortest_window, window_ns(ranks[i]));
        if (!waits_table)
            continue;
        table_integer(waits_table, clocks[i].rank);
        table_integer(waits_table, (int64_t)waits[i].n);
        table_real(waits_table, waits[i].own_wait_ns / 1000);
        table_real(waits_table, waits[i].wait_caused_ns / 1000);
        table_integer(waits_table, (int64_t)waits[i].n_last);
        table_integer(waits_table, (int64_t)waits[i].n_first);
    }
    row_t straggler = find_straggler_candidate(waits, n);
    found->is_late = shortest_window > 0 && is_straggler(waits, n, straggler, shortest_window);
    if (found->is_late)
        TRY(report_straggler(&job, ranks, straggler, scratch, found, error));
    found->links_used = links_are_used(&job, ranks);
    return SUTRA_OK;
}

enum sutra_status find_job_straggler(struct rank_collectives *const *ranks, size_t n, struct arena *scratch,
                                     struct job_findings *found, struct sutra_table *waits, struct sutra_error *error) {
    struct collective_calls calls;
    struct arena_mark mark = arena_mark(scratch);
    bool ok = collective_calls_init(&calls);
    for (size_t i = 0; i < n && ok; i++)
        ok = collective_calls_append(&calls, &ranks[i]->calls);
    *found = (struct job_findings){.is_late = false};
    enum sutra_status status = ok ? SUTRA_OK : error_memory(error);
    if (!status && n > 1 && calls.n > 0)
        status = inspect_job(ranks, n, &calls, scratch, found, waits, error);
    collective_calls_free(&calls);
    arena_release(scratch, mark);
    return status;
}
