/*
 * straggler.c - see stragglers.h. O(n log n) in collectives.
 *
 * Straggler: the rank that holds the others up. Win: what the one that waits longest would not wait, were it as early
 * as the last of the others.
 */
#include "analyze/overview/straggler.h"
#include "analyze/collective_matches.h"
#include "base/error.h"
#include "facts/gpu_peaks.h"

/* It is told what the others would still wait, if less than this part of it is won. */
#define MOSTLY_WON 0.8

/* ---- Of one rank ---- */

enum sutra_status rank_collectives_take(struct sutra_context *context, const struct overview *overview, int64_t rank,
                                        struct rank_collectives *collectives, struct sutra_error *error) {
    const struct sutra_device_trace *trace = overview->reading->trace;
    collectives->rank = rank;
    rank_collectives_cut(overview, collectives);
    collectives->n_steps = overview->window.n_steps;
    collectives->link = device_link_of(&trace->document);
    if (!collective_calls_init(&collectives->calls))
        return error_memory(error);
    collectives->calls.keep_untold = true;
    return collective_calls_take(&collectives->calls, context, trace, rank, error);
}

void rank_collectives_cut(const struct overview *overview, struct rank_collectives *collectives) {
    int64_t base = trace_base_ns(overview->reading->trace);
    collectives->window = (struct rank_window){overview->window.from + base, overview->window.to + base};
}

/* ---- Of all ---- */

struct late_search {
    struct rank_collectives *const *ranks; /* by place among the clocks, as all that follows */
    struct job_collectives job;
    int64_t *waits, *won; /* ns: waited for the one that is blamed; of that, behind the last of the others */
    row_t blamed, n_late; /* collectives to which it is last */
    row_t first;          /* the match of the first of them */
};

static row_t place_of(const struct late_search *search, const struct collective_match *match, row_t i) {
    const struct job_collectives *job = &search->job;
    return rank_clock_place(job->clocks, job->n_clocks,
                            collective_match_call(job->calls, job->matches, match, i)->rank);
}

/* How long the others wait for the one that is blamed. */
static void sum_waits(struct late_search *search) {
    const struct job_collectives *job = &search->job;
    search->first = ROW_NONE;
    for (row_t m = 0; m < job->matches->n; m++) {
        const struct collective_match *match = &job->matches->list[m];
        struct collective_moments moments = collective_moments_of(job, match);
        if (!collective_is_met(job, match, &moments) || place_of(search, match, moments.last) != search->blamed)
            continue;
        search->n_late++;
        search->first = search->first == ROW_NONE ? m : search->first;
        for (row_t i = 0; i < match->n; i++) {
            const struct collective_call *call = collective_match_call(job->calls, job->matches, match, i);
            row_t place = place_of(search, match, i);
            ticks_add(&search->waits[place], moments.arrival_ns - job_time(job, call, call->start_ns));
            ticks_add(&search->won[place], moments.arrival_ns - moments.before_ns);
        }
    }
}

/* By how much later than the rank that waits longest the blamed one had begun its window, seen from their first
 * collective: the part of its lateness there that it did not make in the window. */
static int64_t late_before(const struct late_search *search, row_t waiting) {
    const struct job_collectives *job = &search->job;
    const struct collective_match *match = &job->matches->list[search->first];
    int64_t start[2] = {0, 0}, own[2] = {0, 0};
    const row_t of[2] = {search->blamed, waiting};
    for (row_t i = 0; i < match->n; i++) {
        const struct collective_call *call = collective_match_call(job->calls, job->matches, match, i);
        for (int k = 0; k < 2; k++)
            if (place_of(search, match, i) == of[k]) {
                start[k] = job_time(job, call, call->start_ns);
                own[k] = call->start_ns - search->ranks[of[k]]->window.from_ns;
            }
    }
    int64_t late = start[0] - start[1], in_window = own[0] - own[1];
    return in_window <= 0 ? late : late - in_window;
}

static double window_of(const struct rank_collectives *rank) {
    return (double)(rank->window.to_ns - rank->window.from_ns);
}

static void say_late(const struct late_search *search, row_t waiting, struct overview_finding *finding) {
    const struct rank_collectives *rank = search->ranks[search->blamed], *other = search->ranks[waiting];
    double steps = other->n_steps ? other->n_steps : 1, waits = (double)search->waits[waiting];
    double won = (double)search->won[waiting], window = window_of(other);
    int64_t before = late_before(search, waiting);
    *finding = (struct overview_finding){.rule = FINDING_STRAGGLER, .win = won / window * 100};
    finding_add(finding,
                "Straggler: rank %lld arrives last at %s that all ranks leave together, and rank %lld waits %s of %s"
                "%s%s for it (%s).",
                (long long)rank->rank, counted_text(search->n_late, "collective", "collectives").text,
                (long long)other->rank, finding_time(waits / steps).text,
                steps > 1        ? "each "
                : other->n_steps ? "the "
                                 : "",
                finding_time(window / steps).text, other->n_steps ? " step" : "", finding_percent(waits, window).text);
    if ((double)before >= 0.8 * waits)
        finding_add(finding,
                    " Rank %lld starts the step %s late: check what only this rank does before the step (logging, "
                    "evaluation, data loading).",
                    (long long)rank->rank, finding_time((double)before).text);
    else
        finding_add(finding,
                    " Compare its CPU and GPU work before them with rank %lld: more data, a slower GPU, extra work.",
                    (long long)other->rank);
    if (won < MOSTLY_WON * waits)
        finding_add(finding, " If rank %lld arrived with the second-latest rank, %s of wait would remain.",
                    (long long)rank->rank, finding_time((waits - won) / steps).text);
    finding_number(finding, "rank", (double)rank->rank);
    finding_number(finding, "waiting_rank", (double)other->rank);
    finding_number(finding, "wait_us", waits / 1000 / steps);
    finding_number(finding, "saving_us", won / 1000 / steps);
    finding_number(finding, "late_start_us", (double)before / 1000);
    finding_number(finding, "collectives", search->n_late);
}

static row_t longest_wait(const struct late_search *search) {
    row_t longest = 0;
    for (row_t i = 1; i < search->job.n_clocks; i++)
        longest = search->waits[i] > search->waits[longest] ? i : longest;
    return longest;
}

/* The shortest window: what holds the others up, does so for the rank that has least time. */
static double shortest_window(const struct late_search *search) {
    double shortest = window_of(search->ranks[0]);
    for (row_t i = 1; i < search->job.n_clocks; i++)
        shortest = fmin(shortest, window_of(search->ranks[i]));
    return shortest;
}

void waits_table_init(struct sutra_table *table) {
    static const struct column_spec columns[] = {
        {"rank", SUTRA_COLUMN_INTEGER},           {"collectives", SUTRA_COLUMN_INTEGER},
        {"wait_us", SUTRA_COLUMN_REAL},           {"wait_caused_us", SUTRA_COLUMN_REAL},
        {"n_arrived_last", SUTRA_COLUMN_INTEGER}, {"n_arrived_first", SUTRA_COLUMN_INTEGER}};
    table_init(table, "collective_waits", columns, sizeof columns / sizeof *columns);
}

static void put_waits(const struct job_collectives *job, const struct rank_waits *sums, struct sutra_table *table) {
    for (row_t i = 0; i < job->n_clocks && table; i++) {
        table_integer(table, job->clocks[i].rank);
        table_integer(table, (int64_t)sums[i].n);
        table_real(table, sums[i].waited_ns / 1000);
        table_real(table, sums[i].waited_for_ns / 1000);
        table_integer(table, (int64_t)sums[i].n_last);
        table_integer(table, (int64_t)sums[i].n_first);
    }
}

static enum sutra_status search_late(struct late_search *search, struct arena *scratch, struct job_findings *found,
                                     struct sutra_table *waits, struct sutra_error *error) {
    row_t n = search->job.n_clocks;
    struct rank_waits *sums = arena_zeros(scratch, n, sizeof *sums);
    search->waits = arena_zeros(scratch, n, sizeof *search->waits);
    search->won = arena_zeros(scratch, n, sizeof *search->won);
    enum sutra_status status = arena_status(scratch, error);
    if (status)
        return status;
    for (row_t m = 0; m < search->job.matches->n; m++) {
        const struct collective_match *match = &search->job.matches->list[m];
        struct collective_moments moments = collective_moments_of(&search->job, match);
        rank_waits_add(&search->job, match, &moments, sums);
    }
    put_waits(&search->job, sums, waits);
    search->blamed = rank_waits_most(sums, n);
    double span = shortest_window(search);
    found->is_late = span > 0 && rank_waits_hold_up(sums, n, search->blamed, span);
    if (!found->is_late)
        return SUTRA_OK;
    sum_waits(search);
    say_late(search, longest_wait(search), &found->late);
    for (row_t i = 0; i < n; i++)
        search->ranks[i]->wait_percent = (double)search->waits[i] / window_of(search->ranks[i]) * 100;
    return SUTRA_OK;
}

/* Whether a large collective is quick on the rank that came last to it. */
static bool links_are_used(const struct late_search *search) {
    const struct job_collectives *job = &search->job;
    double best = 0, link = 0;
    for (row_t i = 0; i < job->n_clocks; i++)
        link = fmax(link, search->ranks[i]->link);
    for (row_t m = 0; m < job->matches->n; m++) {
        const struct collective_match *match = &job->matches->list[m];
        struct collective_moments moments = collective_moments_of(job, match);
        best = fmax(best, large_collective_bandwidth(
                              job->calls, collective_match_call(job->calls, job->matches, match, moments.shortest)));
    }
    return link > 0 && best >= link * SLOW_LINK_PERCENT / 100;
}

/* The ranks of the clocks, and their windows; both are by rank, and clocks have some of the ranks. */
static enum sutra_status find_ranks(struct rank_collectives *const *ranks, size_t n, struct late_search *search,
                                    struct arena *scratch, struct sutra_error *error) {
    struct rank_collectives **list = arena_take(scratch, search->job.n_clocks, sizeof(struct rank_collectives *));
    struct rank_window *windows = arena_take(scratch, search->job.n_clocks, sizeof *windows);
    row_t place = 0;
    for (size_t i = 0; i < n && place < search->job.n_clocks && list && windows; i++) {
        if (ranks[i]->rank != search->job.clocks[place].rank)
            continue;
        list[place] = ranks[i];
        windows[place++] = ranks[i]->window;
    }
    search->ranks = list;
    search->job.windows = windows;
    return arena_status(scratch, error);
}

static enum sutra_status look_at_job(struct rank_collectives *const *ranks, size_t n,
                                     const struct collective_calls *calls, struct arena *scratch,
                                     struct job_findings *found, struct sutra_table *waits, struct sutra_error *error) {
    struct collective_matches matches;
    struct rank_clock *clocks = NULL;
    struct late_search search = {.job = {.calls = calls, .matches = &matches}};
    enum sutra_status status = collective_matches_find(calls, scratch, &matches, error);
    if (!status)
        status = rank_clocks_find(calls, &matches, scratch, &clocks, &search.job.n_clocks, error);
    if (status)
        return status;
    search.job.clocks = clocks;
    search.job.clock_set = rank_clocks_set(calls, &matches, clocks, search.job.n_clocks, scratch, NULL);
    status = search.job.clock_set ? find_ranks(ranks, n, &search, scratch, error) : error_memory(error);
    if (!status)
        status = search_late(&search, scratch, found, waits, error);
    if (!status)
        found->links_used = links_are_used(&search);
    return status;
}

enum sutra_status stragglers_find(struct rank_collectives *const *ranks, size_t n, struct arena *scratch,
                                  struct job_findings *found, struct sutra_table *waits, struct sutra_error *error) {
    struct collective_calls calls;
    struct arena_mark mark = arena_mark(scratch);
    bool ok = collective_calls_init(&calls);
    for (size_t i = 0; i < n && ok; i++)
        ok = collective_calls_append(&calls, &ranks[i]->calls);
    *found = (struct job_findings){.is_late = false};
    enum sutra_status status = ok ? SUTRA_OK : error_memory(error);
    if (!status && n > 1 && calls.n > 0)
        status = look_at_job(ranks, n, &calls, scratch, found, waits, error);
    collective_calls_free(&calls);
    arena_release(scratch, mark);
    return status;
}
