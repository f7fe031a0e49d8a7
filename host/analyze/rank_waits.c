/*
 * rank_waits.c - see rank_waits.h.
 */
#include "analyze/rank_waits.h"

int64_t job_time(const struct job_collectives *job, const struct collective_call *call, int64_t ns) {
    row_t place = rank_clock_place(job->clocks, job->n_clocks, call->rank);
    return job->clock_set[place] ? rank_clock_time(&job->clocks[place], ns) : ns;
}

/* ---- A match ---- */

static void add_arrival(struct collective_moments *moments, row_t i, int64_t start) {
    if (start < moments->first_ns) {
        moments->first_ns = start;
        moments->first = i;
    }
    if (start > moments->arrival_ns) {
        moments->before_ns = moments->arrival_ns;
        moments->arrival_ns = start;
        moments->last = i;
    } else if (start > moments->before_ns) {
        moments->before_ns = start;
    }
}

struct collective_moments collective_moments_of(const struct job_collectives *job,
                                                const struct collective_match *match) {
    struct collective_moments moments = {.first_ns = INT64_MAX,
                                         .arrival_ns = INT64_MIN,
                                         .before_ns = INT64_MIN,
                                         .first_end_ns = INT64_MAX,
                                         .last_end_ns = INT64_MIN,
                                         .transfer_ns = INT64_MAX};
    for (row_t i = 0; i < match->n; i++) {
        const struct collective_call *call = collective_match_call(job->calls, job->matches, match, i);
        int64_t end = job_time(job, call, call->end_ns), took = moment_minus(call->end_ns, call->start_ns);
        add_arrival(&moments, i, job_time(job, call, call->start_ns));
        moments.first_end_ns = end < moments.first_end_ns ? end : moments.first_end_ns;
        moments.last_end_ns = end > moments.last_end_ns ? end : moments.last_end_ns;
        if (took < moments.transfer_ns) {
            moments.transfer_ns = took;
            moments.shortest = i;
        }
    }
    for (row_t i = 0; i < match->n; i++) {
        const struct collective_call *call = collective_match_call(job->calls, job->matches, match, i);
        moments.wait_ns += (double)moment_minus(moments.arrival_ns, job_time(job, call, call->start_ns));
    }
    return moments;
}

static bool lies_in_windows(const struct job_collectives *job, const struct collective_match *match) {
    for (row_t i = 0; i < match->n && job->windows; i++) {
        const struct collective_call *call = collective_match_call(job->calls, job->matches, match, i);
        const struct rank_window *window = &job->windows[rank_clock_place(job->clocks, job->n_clocks, call->rank)];
        if (call->start_ns < window->from_ns || call->start_ns >= window->to_ns)
            return false;
    }
    return true;
}

/* Of a kernel of sends and receives that tells no more, an exchange of all is made; where their ends agree, it was
 * one. */
bool collective_is_met(const struct job_collectives *job, const struct collective_match *match,
                       const struct collective_moments *moments) {
    const struct collective_call *first = collective_match_call(job->calls, job->matches, match, 0);
    enum comm_kind kind = collective_kind_of(strings_text(&job->calls->strings, first->what));
    bool waits = collective_ends_at_once(kind) || kind == COMM_ALL_TO_ALL_V || kind == COMM_MESSAGE;
    return match->n > 1 && !match->is_message && waits &&
           moment_size(moment_minus(moments->last_end_ns, moments->first_end_ns)) <= ENDS_AGREE_NS &&
           lies_in_windows(job, match);
}

/* ---- Ranks ---- */

bool rank_waits_add(const struct job_collectives *job, const struct collective_match *match,
                    const struct collective_moments *moments, struct rank_waits *waits) {
    bool met = collective_is_met(job, match, moments);
    for (row_t i = 0; i < match->n; i++) {
        const struct collective_call *call = collective_match_call(job->calls, job->matches, match, i);
        struct rank_waits *of = &waits[rank_clock_place(job->clocks, job->n_clocks, call->rank)];
        of->in_ns += (double)moment_minus(call->end_ns, call->start_ns);
        if (!met)
            continue;
        of->n++;
        of->waited_ns += (double)moment_minus(moments->arrival_ns, job_time(job, call, call->start_ns));
        of->n_first += i == moments->first;
        if (i != moments->last)
            continue;
        of->n_last++;
        of->waited_for_ns += moments->wait_ns / (match->n - 1);
        of->held_ns += moments->wait_ns;
    }
    return met;
}

row_t rank_waits_most(const struct rank_waits *waits, row_t n) {
    row_t most = 0;
    for (row_t i = 1; i < n; i++)
        most = waits[i].waited_for_ns > waits[most].waited_for_ns ? i : most;
    return most;
}

/* Groups wait beside each other, so that what is waited for is added up over those who wait. Without an order: half of
 * all ranks are waited for at most a part of what the one is. */
bool rank_waits_hold_up(const struct rank_waits *waits, row_t n, row_t most, double span_ns) {
    double held = waits[most].waited_for_ns, all = 0;
    row_t n_little = 0;
    for (row_t i = 0; i < n; i++) {
        all += waits[i].held_ns;
        n_little += waits[i].waited_for_ns * HELD_UP_TIMES <= held;
    }
    return held > 0 && held * 100 >= span_ns * HELD_UP_PERCENT && waits[most].held_ns * 2 >= all &&
           n_little >= (n + 1) / 2;
}
