/*
 * times.c - one collective on all its ranks: who came when, who waited how long, how long it took, how fast it was.
 */
#include <math.h>

#include "analyze/collectives/collectives.h"

const char *const collective_place_names[] = {
    [PLACE_UNKNOWN] = "", [PLACE_INSIDE] = "inside", [PLACE_BETWEEN] = "between"};

struct job_collectives collectives_job(const struct sutra_collectives *of) {
    return (struct job_collectives){.calls = &of->calls,
                                    .matches = &of->matches,
                                    .clocks = of->clocks,
                                    .clock_set = of->clock_set,
                                    .n_clocks = of->n_clocks};
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
    struct job_collectives job = collectives_job(of);
    time.at = collective_moments_of(&job, match);
    time.skew_ns = moment_minus(time.at.arrival_ns, time.at.first_ns);
    time.end_skew_ns = moment_minus(time.at.last_end_ns, time.at.first_end_ns);
    if (time.bytes != CALL_UNKNOWN && time.at.transfer_ns > 0 && !isnan(collective_bus_share(time.kind, 2))) {
        time.algorithm = (double)time.bytes / (double)time.at.transfer_ns; /* bytes a ns are GB a second */
        time.bus = time.algorithm * collective_bus_share(time.kind, time.n_members);
    }
    return time;
}
