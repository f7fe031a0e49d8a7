/*
 * collective_waits.c - how long ranks waited in collectives; in come the calls of all ranks of a side, out go sums of
 * its ledger of collectives.
 *
 * Of a collective on several ranks the one that came last waits for nobody: what the others took longer they waited.
 * That needs no common clock. Cost: O(n log n) in calls.
 */
#include <string.h>

#include "analyze/collective_matches.h"
#include "base/error.h"
#include "compare/part.h"

static int64_t duration_of(const struct collective_call *call) {
    return moment_minus(call->end_ns, call->start_ns);
}

/* The sum that the call is part of, or NULL. */
static struct ledger_sum *sum_of(const struct part *whole, int side, const struct collective_call *call) {
    const struct collective_calls *calls = &whole->sides[side].calls;
    const struct ledger *ledger = &whole->sides[side].ledgers[LEDGER_COLLECTIVES];
    const uint32_t names[] = {call->what, call->type};
    uint32_t texts[2];
    for (int i = 0; i < 2; i++)
        texts[i] = strings_find(&whole->texts, strings_text(&calls->strings, names[i]),
                                strings_length(&calls->strings, names[i]));
    const int64_t n = call->n_in > call->n_out ? call->n_in : call->n_out;
    const uint32_t number =
        tuples_find(&ledger->keys, (struct tuple){{texts[0], texts[1], n, calls->groups[call->group].size}});
    return number == TUPLE_NONE ? NULL : &ledger->sums[number];
}

static void add_waits(const struct part *whole, int side, const struct collective_matches *matches,
                      const struct collective_match *match) {
    const struct collective_calls *calls = &whole->sides[side].calls;
    int64_t shortest = INT64_MAX;
    for (row_t i = 0; i < match->n; i++) {
        const int64_t took = duration_of(collective_match_call(calls, matches, match, i));
        shortest = took < shortest ? took : shortest;
    }
    for (row_t i = 0; i < match->n; i++) {
        const struct collective_call *call = collective_match_call(calls, matches, match, i);
        struct ledger_sum *sum = sum_of(whole, side, call);
        if (!sum)
            continue;
        sum->n_met++;
        sum->wait += moment_minus(duration_of(call), shortest);
    }
}

enum sutra_status collective_waits_find(struct part *whole, int side, struct sutra_error *error) {
    const struct collective_calls *calls = &whole->sides[side].calls;
    struct arena arena = {0};
    struct collective_matches matches;
    enum sutra_status status = calls->n ? collective_matches_find(calls, &arena, &matches, error) : SUTRA_OK;
    for (row_t m = 0; calls->n && !status && m < matches.n; m++)
        if (matches.list[m].n > 1)
            add_waits(whole, side, &matches, &matches.list[m]);
    arena_free(&arena);
    return status;
}
