/*
 * times.c - one collective on all its ranks: who came when, who waited how long, how long it took, how fast it was.
 *
 *     rank 0  |-- waits ----|== transfer ==|
 *     rank 1       |- waits |==============|          the last to come waits for nobody, so the shortest duration is the
 *     rank 2                |==============|          transfer
 */
#include <math.h>

#include "analyze/collectives/collectives.h"

const char *const collective_place_names[] = {
    [PLACE_UNKNOWN] = "", [PLACE_INSIDE] = "inside", [PLACE_BETWEEN] = "between"};

static int64_t common_time(const struct sutra_collectives *of, const struct collective_call *call, int64_t ns) {
    row_t place = rank_clock_place(of->clocks, of->n_clocks, call->rank);
    return of->clock_set[place] ? rank_clock_time(&of->clocks[place], ns) : ns;
}

int64_t collective_begun(const struct sutra_collectives *of, const struct collective_call *call) {
    return common_time(of, call, call->start_ns);
}

int64_t collective_ended(const struct sutra_collectives *of, const struct collective_call *call) {
    return common_time(of, call, call->end_ns);
}

/* ---- Places ---- */

static enum collective_place place_of(const struct sutra_collectives *of, int64_t a, int64_t b) {
    if (of->ranks_per_host == 0)
        return PLACE_UNKNOWN;
    return a / of->ranks_per_host == b / of->ranks_per_host ? PLACE_INSIDE : PLACE_BETWEEN;
}

bool collective_places_find(struct sutra_collectives *of) {
    of->places = arena_zeros(&of->arena, of->calls.n_groups, sizeof *of->places);
    for (uint32_t i = 0; i < of->calls.n_groups && !of->arena.failed; i++) {
        struct arena_mark mark = arena_mark(&of->arena);
        size_t n;
        const int64_t *ranks = collective_group_ranks(&of->calls, i, &of->arena, &n);
        if (ranks && n > 0)
            of->places[i] = place_of(of, ranks[0], ranks[n - 1]);
        arena_release(&of->arena, mark);
    }
    return !of->arena.failed;
}

/* ---- Times ---- */

static int64_t larger(int64_t a, int64_t b) {
    return a > b ? a : b;
}

static int64_t bytes_of(const struct sutra_collectives *of, const struct collective_match *match, enum comm_kind kind,
                        int64_t n_members) {
    int64_t n_in = CALL_UNKNOWN, n_out = CALL_UNKNOWN, bytes;
    const struct collective_call *first = collective_match_call(&of->calls, &of->matches, match, 0);
    for (row_t i = 0; i < match->n; i++) {
        const struct collective_call *call = collective_match_call(&of->calls, &of->matches, match, i);
        n_in = larger(n_in, call->n_in);
        n_out = larger(n_out, call->n_out);
    }
    unsigned size = collective_type_bytes(strings_text(&of->calls.strings, first->type));
    int64_t n = collective_elements(kind, n_in, n_out, n_members);
    return size == 0 || n < 0 || __builtin_mul_overflow(n, (int64_t)size, &bytes) ? CALL_UNKNOWN : bytes;
}

static void find_moments(const struct sutra_collectives *of, const struct collective_match *match,
                         struct collective_time *time) {
    int64_t first_ns = INT64_MAX, first_end = INT64_MAX, last_end = INT64_MIN;
    time->arrival_ns = INT64_MIN;
    time->transfer_ns = INT64_MAX;
    for (row_t i = 0; i < match->n; i++) {
        const struct collective_call *call = collective_match_call(&of->calls, &of->matches, match, i);
        int64_t start = collective_begun(of, call), end = collective_ended(of, call),
                took = moment_minus(call->end_ns, call->start_ns);
        if (start < first_ns) {
            first_ns = start;
            time->first = i;
        }
        if (start > time->arrival_ns) {
            time->arrival_ns = start;
            time->last = i;
        }
        first_end = end < first_end ? end : first_end;
        last_end = end > last_end ? end : last_end;
        time->transfer_ns = took < time->transfer_ns ? took : time->transfer_ns;
    }
    for (row_t i = 0; i < match->n; i++)
        time->wait_ns += (double)moment_minus(
            time->arrival_ns, collective_begun(of, collective_match_call(&of->calls, &of->matches, match, i)));
    time->skew_ns = moment_minus(time->arrival_ns, first_ns);
    time->end_skew_ns = moment_minus(last_end, first_end);
}

struct collective_time collective_time_of(const struct sutra_collectives *of, const struct collective_match *match) {
    const struct collective_call *first = collective_match_call(&of->calls, &of->matches, match, 0);
    const struct collective_group *group = &of->calls.groups[match->group];
    struct collective_time time = {.kind = collective_kind_of(strings_text(&of->calls.strings, first->what)),
                                   .n_members = match->is_message ? 2
                                                : group->size > 0 ? group->size
                                                                  : match->n,
                                   .place = of->places[match->group],
                                   .algorithm = (double)NAN,
                                   .bus = (double)NAN};
    if (match->is_message)
        time.place = match->from < 0 || match->to < 0 ? PLACE_UNKNOWN : place_of(of, match->from, match->to);
    time.bytes = bytes_of(of, match, time.kind, time.n_members);
    find_moments(of, match, &time);
    if (time.bytes != CALL_UNKNOWN && time.transfer_ns > 0 && !isnan(collective_bus_share(time.kind, 2))) {
        time.algorithm = (double)time.bytes / (double)time.transfer_ns; /* bytes a ns are GB a second */
        time.bus = time.algorithm * collective_bus_share(time.kind, time.n_members);
    }
    return time;
}

bool collective_is_met(const struct collective_time *time, const struct collective_match *match) {
    return match->n > 1 && !match->is_message &&
           (collective_ends_at_once(time->kind) || time->kind == COMM_ALL_TO_ALL_V);
}
