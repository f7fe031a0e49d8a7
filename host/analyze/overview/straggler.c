/*
 * straggler.c - implements the part of verdict.h about the stragglers of a job.
 *
 * Saving: the wait that vanishes on the rank that waits longest, if the stragglers arrived with the latest other rank:
 *
 *     rank 0  |-- waits ----------|====|
 *     rank 2         |-- waits ---|====|      the latest other rank
 *     rank 5              |-waits-|====|      a straggler
 *     rank 6                      |====|      a straggler
 *                    |<- saving ->|
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
    for (row_t i = 0; i < overview->model->devices.n; i++)
        if (overview->classes[i] == OVERVIEW_COMPUTE)
            collectives->compute_ns += (double)(overview->model->devices.stop[i] - overview->model->devices.start[i]);
    TRY_ALLOC(collective_calls_init(&collectives->calls), error);
    collectives->calls.keep_unrecorded = true;
    return collective_calls_read(&collectives->calls, context, trace, rank, error);
}

void rank_collectives_crop(const struct overview *overview, struct rank_collectives *collectives) {
    int64_t base = trace_base_ns(overview->model->trace);
    collectives->window = (struct rank_window){overview->window.from + base, overview->window.to + base};
    collectives->exposed_ns = (double)overview->ticks[OVERVIEW_COMMUNICATION];
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

/* Measures the waits for stragglers, and makes the finding. `ranks` are the job's; `late` is by index. */
static enum sutra_status report_stragglers(const struct job_collectives *job, struct rank_collectives *const *ranks,
                                           const struct rank_waits *waits, const bool *late, struct arena *scratch,
                                           struct job_findings *found, struct sutra_error *error) {
    struct overview_finding *finding = &found->late;
    double *savings_ns = arena_zeros(scratch, job->n_clocks, sizeof *savings_ns);
    const struct collective_call **longest = arena_zeros(scratch, job->n_clocks, sizeof(struct collective_call *));
    int64_t *longest_ns = arena_zeros(scratch, job->n_clocks, sizeof *longest_ns);
    const struct collective_match *first = NULL; /* at which the latest rank arrives last */
    const row_t latest = found->latest[0];
    row_t n_last = 0, n_of_late = 0, waiting = ROW_NONE;
    TRY(arena_status(scratch, error));
    for (row_t m = 0; m < job->matches->n; m++) {
        const struct collective_match *match = &job->matches->list[m];
        struct collective_moments moments = collective_moments_of(job, match);
        const row_t last = rank_index(job, match, moments.last);
        int64_t before_ns = INT64_MIN; /* the arrival of the latest other rank */
        bool any_late = false;
        if (!collective_synchronizes(job, match, &moments))
            continue;
        for (row_t i = 0; i < match->n; i++) {
            const struct collective_call *call = collective_match_call(job->calls, job->matches, match, i);
            if (late[rank_index(job, match, i)])
                any_late = true;
            else
                before_ns = MAX(before_ns, job_time(job, call, call->start_ns));
        }
        n_of_late += any_late;
        if (!late[last])
            continue;
        n_last++;
        first = first || last != latest ? first : match;
        for (row_t i = 0; i < match->n; i++) {
            const struct collective_call *call = collective_match_call(job->calls, job->matches, match, i);
            const int64_t start_ns = job_time(job, call, call->start_ns), wait = moments.arrival_ns - start_ns;
            const row_t rank = rank_index(job, match, i);
            ranks[rank]->late_wait_ns += (double)wait;
            savings_ns[rank] += before_ns == INT64_MIN ? 0 : (double)(moments.arrival_ns - MAX(start_ns, before_ns));
            if (wait > longest_ns[rank]) {
                longest_ns[rank] = wait;
                longest[rank] = call;
            }
        }
    }
    double min_us = INFINITY, max_us = 0, step_us = 0; /* waits of the other ranks, and the job's step */
    for (row_t i = 0; i < job->n_clocks; i++) {
        const double steps = ranks[i]->n_steps ? ranks[i]->n_steps : 1, wait_us = waits[i].own_wait_ns / 1e3 / steps;
        step_us = fmax(step_us, window_ns(ranks[i]) / 1e3 / steps);
        if (late[i])
            continue;
        waiting = waiting == ROW_NONE || ranks[i]->late_wait_ns > ranks[waiting]->late_wait_ns ? i : waiting;
        min_us = fmin(min_us, wait_us);
        max_us = fmax(max_us, wait_us);
    }

    /* At most half of the ranks are late, so a rank waits. */
    const struct rank_collectives *rank = ranks[latest], *other = ranks[waiting];
    found->waiting = other->rank;
    double steps = other->n_steps ? other->n_steps : 1, window = window_ns(other);
    double wait = other->late_wait_ns, saving = savings_ns[waiting];
    int64_t late_start = first ? late_start_ns(job, ranks, first, latest, waiting) : 0;
    *finding = (struct overview_finding){.rule = &rule_straggler, .saving_percent = saving / window * 100};
    finding->uncapped = finding->saving_percent;
    finding->weight = 1;
    if (found->n_late == 1) {
        append_finding_text(finding, "Rank %lld arrives last at %s; rank %lld waits %s for it, %s of its step.",
                            (long long)rank->rank, counted_text(n_last, "collective", "collectives").text,
                            (long long)other->rank, brief_time_text(wait / steps).text,
                            finding_percent(wait, window).text);
    } else {
        struct figure names = ranks_text(found->late_ranks, found->n_late), from = brief_time_text(min_us * 1e3),
                      to = brief_time_text(max_us * 1e3);
        const char *unit = strchr(from.text, ' '), *unit_to = strchr(to.text, ' ');
        const bool is_range = strcmp(from.text, to.text) != 0, same_unit = unit && unit_to && !strcmp(unit, unit_to);
        *names.text = 'R';
        finding->facts |= FACT_SEVERAL_RANKS;
        append_finding_text(finding, "%s arrive last at %s of %s; the other ranks wait %.*s%s%s of the %s step.",
                            names.text, count_text(n_last).text,
                            counted_text(n_of_late, "collective", "collectives").text,
                            !is_range   ? 0
                            : same_unit ? (int)(unit - from.text)
                                        : (int)strlen(from.text),
                            from.text, is_range ? " to " : "", to.text, brief_time_text(step_us * 1e3).text);
    }
    if (saving < MOSTLY_SAVED * wait) {
        struct figure names = ranks_text(found->late_ranks, found->n_late);
        append_finding_text(finding, " With %s on time, %s of wait for the %s rank remains.", names.text,
                            brief_time_text((wait - saving) / steps).text,
                            found->n_late == 1 ? "second-latest" : "latest other");
    }
    append_finding_text(finding, " Mean per rank: %s of waiting and %s of transfer.",
                        brief_time_text(found->wait_us * 1e3).text, brief_time_text(found->transfer_us * 1e3).text);
    if (found->n_late == 1 && (double)late_start >= 0.8 * wait) {
        finding->facts |= FACT_NAMED;
        snprintf(finding->where.frame, sizeof finding->where.frame, "Rank %lld begins the step %.20s late",
                 (long long)rank->rank, brief_time_text((double)late_start).text);
    } else {
        struct figure names = ranks_text(found->late_ranks, found->n_late);
        *names.text = 'R';
        snprintf(finding->where.frame, sizeof finding->where.frame, "%s, within the step", names.text);
    }
    if (longest[waiting])
        finding->range = range_of_call(other, longest[waiting]);
    set_finding_now(finding, "%s", brief_time_text(wait / steps).text);
    add_finding_number(finding, "rank", (double)rank->rank);
    add_finding_number(finding, "late_ranks", (double)found->n_late);
    add_finding_number(finding, "waiting_rank", (double)other->rank);
    add_finding_number(finding, "wait_us", found->wait_us);
    add_finding_number(finding, "transfer_us", found->transfer_us);
    add_finding_number(finding, "longest_wait_us", wait / 1000 / steps);
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
    size_t *indices = arena_alloc(scratch, n, sizeof *indices);
    struct rank_window *windows = arena_alloc(scratch, n, sizeof *windows);
    struct rank_waits *waits = arena_zeros(scratch, n, sizeof *waits);
    bool *late = arena_zeros(scratch, n, sizeof *late);
    const bool *clock_set = rank_clocks_set(calls, &matches, clocks, n, scratch, NULL);
    TRY(arena_status(scratch, error));
    for (size_t i = 0; i < n_all && next < n; i++) {
        if (all_ranks[i]->rank != clocks[next].rank)
            continue;
        ranks[next] = all_ranks[i];
        indices[next] = i;
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
    double longest_window = 0;
    for (row_t i = 0; i < n; i++) {
        const double steps = ranks[i]->n_steps ? ranks[i]->n_steps : 1, wait = waits[i].own_wait_ns;
        longest_window = fmax(longest_window, window_ns(ranks[i]));
        ranks[i]->wait_ns = wait;
        ranks[i]->late_ns = waits[i].late_ns;
        found->wait_us += wait / 1e3 / steps / n;
        found->transfer_us += fmax(ranks[i]->exposed_ns - wait, 0) / 1e3 / steps / n;
        if (!waits_table)
            continue;
        table_integer(waits_table, clocks[i].rank);
        table_integer(waits_table, (int64_t)waits[i].n);
        table_real(waits_table, waits[i].own_wait_ns / 1000);
        table_real(waits_table, waits[i].wait_caused_ns / 1000);
        table_integer(waits_table, (int64_t)waits[i].n_last);
        table_integer(waits_table, (int64_t)waits[i].n_first);
    }
    found->n_late = longest_window > 0 ? find_late_ranks(waits, n, longest_window, late) : 0;
    found->is_late = found->n_late > 0;
    if (found->is_late) {
        size_t n_late = 0;
        found->n_latest = find_latest_ranks(waits, n, late, found->latest);
        for (row_t i = 0; i < n; i++) {
            ranks[i]->is_late = late[i];
            if (late[i])
                found->late_ranks[n_late++] = ranks[i]->rank;
        }
        TRY(report_stragglers(&job, ranks, waits, late, scratch, found, error));
        for (row_t k = 0; k < found->n_latest; k++) {
            found->latest_wait_us[k] = waits[found->latest[k]].wait_caused_ns / 1e3;
            found->latest[k] = (row_t)indices[found->latest[k]];
        }
    }
    found->links_used = links_are_used(&job, ranks);
    return SUTRA_OK;
}

enum sutra_status find_job_stragglers(struct rank_collectives *const *ranks, size_t n, struct arena *arena,
                                      struct job_findings *found, struct sutra_table *waits,
                                      struct sutra_error *error) {
    struct collective_calls calls;
    bool ok = collective_calls_init(&calls);
    *found = (struct job_findings){.late_ranks = arena_alloc(arena, n, sizeof *found->late_ranks)};
    struct arena_mark mark = arena_mark(arena);
    for (size_t i = 0; i < n && ok; i++) {
        ranks[i]->wait_ns = ranks[i]->late_wait_ns = ranks[i]->late_ns = 0;
        ranks[i]->is_late = false;
        ok = collective_calls_append(&calls, &ranks[i]->calls);
    }
    enum sutra_status status = ok && !arena->failed ? SUTRA_OK : error_memory(error);
    if (!status && n > 1 && calls.n > 0)
        status = inspect_job(ranks, n, &calls, arena, found, waits, error);
    collective_calls_free(&calls);
    arena_release(arena, mark);
    return status;
}

/* ---- The operators of stragglers ---- */

enum sutra_status name_late_operators(struct rank_collectives *const *ranks, size_t n, struct arena *scratch,
                                      struct job_findings *found, struct sutra_error *error) {
    struct arena_mark mark = arena_mark(scratch);
    double *compute_ns = arena_alloc(scratch, n, sizeof *compute_ns), *values = arena_alloc(scratch, n, sizeof *values);
    bool *late = arena_alloc(scratch, n, sizeof *late);
    char *frame = found->late.where.frame, text[FINDING_FRAME] = "";
    TRY(arena_status(scratch, error));
    for (size_t i = 0; i < n; i++) {
        compute_ns[i] = ranks[i]->calls.n > 0 ? ranks[i]->compute_ns : (double)NAN;
        late[i] = ranks[i]->is_late;
    }
    unsigned n_named = 0;
    const row_t median = find_median_rank(compute_ns, late, (row_t)n, values);
    arena_release(scratch, mark);
    for (row_t k = 0; k < found->n_latest && median != ROW_NONE && !(found->late.facts & FACT_NAMED); k++) {
        const struct rank_collectives *rank = ranks[found->latest[k]];
        const double steps = rank->n_steps ? rank->n_steps : 1;
        struct rank_excess excess;
        size_t length = strlen(text);
        TRY(rank_excess_find(&rank->operators, &ranks[median]->operators, found->latest_wait_us[k], &excess, NULL,
                             error));
        if (!*excess.phase)
            continue;
        snprintf(text + length, sizeof text - length, "%s %lld's %s takes %.20s longer in %.60s (%s)",
                 n_named++ ? "; rank" : "Rank", (long long)rank->rank, excess.on_host ? "CPU" : "GPU",
                 brief_time_text(excess.us * 1e3 / steps).text, short_location(excess.operator_name, 60).text,
                 excess.phase);
    }
    if (n_named == 1) {
        snprintf(frame, FINDING_FRAME, "%.*s than on rank %lld", FINDING_FRAME - 32, text,
                 (long long)ranks[median]->rank);
    } else if (n_named > 1) {
        *text = 'r';
        snprintf(frame, FINDING_FRAME, "Compared with rank %lld: %.*s", (long long)ranks[median]->rank,
                 FINDING_FRAME - 48, text);
    }
    return SUTRA_OK;
}
