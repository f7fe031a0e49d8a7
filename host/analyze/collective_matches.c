/*
 * collective_matches.c - sorting collectives so that those of all ranks stand side by side.
 */
#include "analyze/collective_matches.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "analyze/collective_align.h"
#include "base/error.h"
#include "facts/collective_kind.h"

/* What a row is sorted by. */
struct match_key {
    uint32_t group;
    row_t row, turn;
    int64_t from, to, number, rank, start_ns;
    bool is_message;
};

static int compare_integers(int64_t a, int64_t b) {
    return (a > b) - (a < b);
}

static int compare_routes(const struct match_key *a, const struct match_key *b) {
    if (a->group != b->group)
        return a->group < b->group ? -1 : 1;
    if (a->is_message != b->is_message)
        return a->is_message ? 1 : -1;
    int order = compare_integers(a->from, b->from);
    return order ? order : compare_integers(a->to, b->to);
}

/* Those of a rank side by side, in their order on it. */
static int compare_on_ranks(const void *left, const void *right) {
    const struct match_key *a = left, *b = right;
    int order = compare_routes(a, b);
    order = order ? order : compare_integers(a->rank, b->rank);
    order = order ? order : compare_integers(a->start_ns, b->start_ns);
    return order ? order : compare_integers(a->row, b->row);
}

/* Those of a number side by side, by rank. */
static int compare_numbers(const void *left, const void *right) {
    const struct match_key *a = left, *b = right;
    int order = compare_routes(a, b);
    order = order ? order : compare_integers(a->number, b->number);
    order = order ? order : compare_integers(a->turn, b->turn);
    order = order ? order : compare_integers(a->rank, b->rank);
    return order ? order : compare_integers(a->row, b->row);
}

/* The other member of a group of two. */
static int64_t other_member(const struct collective_calls *calls, const struct collective_call *call) {
    long long ranks[2];
    const char *members = strings_text(&calls->strings, calls->groups[call->group].members);
    if (call->peer != CALL_UNKNOWN || sscanf(members, "[%lld, %lld]", &ranks[0], &ranks[1]) != 2 ||
        calls->groups[call->group].size != 2)
        return call->peer;
    return ranks[0] == call->rank ? ranks[1] : ranks[0];
}

static void fill_keys(const struct collective_calls *calls, struct match_key *keys) {
    for (row_t row = 0; row < calls->n; row++) {
        const struct collective_call *call = &calls->list[row];
        keys[row] = (struct match_key){.group = call->group,
                                       .row = row,
                                       .rank = call->rank,
                                       .start_ns = call->start_ns,
                                       .is_message = call->is_message};
        if (!call->is_message)
            continue;
        int64_t peer = other_member(calls, call);
        keys[row].from = call->is_send ? call->rank : peer;
        keys[row].to = call->is_send ? peer : call->rank;
    }
}

/* Whether a group's collectives, or messages, are numbered by their order: one does not tell its number, or each member
 * counts its messages for itself. */
static void find_unnumbered(const struct collective_calls *calls, bool *collectives, bool *messages) {
    for (uint64_t i = 0; i < calls->n_groups; i++)
        messages[i] = calls->groups[i].size != 2;
    for (uint64_t i = 0; i < calls->n; i++) {
        const struct collective_call *call = &calls->list[i];
        if (call->seq == CALL_UNKNOWN)
            *(call->is_message ? &messages[call->group] : &collectives[call->group]) = true;
    }
}

/* Those of a number on a rank side by side, in their order. */
static int compare_turns(const void *left, const void *right) {
    const struct match_key *a = left, *b = right;
    int order = compare_routes(a, b);
    order = order ? order : compare_integers(a->rank, b->rank);
    order = order ? order : compare_integers(a->number, b->number);
    order = order ? order : compare_integers(a->start_ns, b->start_ns);
    return order ? order : compare_integers(a->row, b->row);
}

/* Numbers those of one group or route by what they tell. */
static void number_by_seq(const struct collective_calls *calls, struct match_key *keys, row_t n) {
    for (row_t i = 0; i < n; i++)
        keys[i].number = calls->list[keys[i].row].seq;
    qsort(keys, n, sizeof *keys, compare_turns);
    for (row_t i = 1; i < n; i++)
        if (keys[i].rank == keys[i - 1].rank && keys[i].number == keys[i - 1].number)
            keys[i].turn = keys[i - 1].turn + 1;
}

/* ---- By order ---- */

/* What tells calls apart that have no number; sizes that are each rank's own do not. UINT32_MAX: out of memory. */
static uint32_t token_of(const struct collective_calls *calls, const struct collective_call *call,
                         struct pair_table *tokens) {
    bool sized = !collective_sizes_differ(strings_text(&calls->strings, call->what));
    int64_t n_in = call->is_message && call->n_out > call->n_in ? call->n_out : call->n_in;
    uint64_t parts[] = {(uint64_t)(call->is_message ? 0 : call->what) << 32 | call->type, sized ? (uint64_t)n_in : 0,
                        sized && !call->is_message ? (uint64_t)call->n_out : 0};
    uint32_t token = 0;
    for (size_t i = 0; i < sizeof parts / sizeof *parts; i++) {
        struct pair_entry *entry = pair_table_take(tokens, parts[i], token);
        if (!entry)
            return UINT32_MAX;
        if (entry->number == PAIR_NONE)
            entry->number = (uint32_t)tokens->n;
        token = entry->number;
    }
    return token;
}

/* Numbers those of one group or route, which are by rank and time, by their order. */
static bool number_by_order(const struct collective_calls *calls, struct match_key *keys, row_t n,
                            struct arena *arena) {
    struct arena_mark mark = arena_mark(arena);
    struct align_call *list = arena_take(arena, n, sizeof *list);
    row_t *first = arena_take(arena, (size_t)n + 1, sizeof *first), n_ranks = 0;
    struct pair_table tokens;
    bool done = pair_table_init(&tokens) && list && first;
    for (row_t i = 0; i < n && done; i++) {
        const struct collective_call *call = &calls->list[keys[i].row];
        list[i] = (struct align_call){
            .end_ns = call->end_ns,
            .token = token_of(calls, call, &tokens),
            .ends_at_once = collective_ends_at_once(collective_kind_of(strings_text(&calls->strings, call->what)))};
        done = list[i].token != UINT32_MAX;
        if (i == 0 || keys[i].rank != keys[i - 1].rank)
            first[n_ranks++] = i;
    }
    if (done) {
        first[n_ranks] = n;
        done = collectives_align(list, first, n_ranks, arena);
    }
    for (row_t i = 0; i < n && done; i++)
        keys[i].number = list[i].number;
    pair_table_free(&tokens);
    arena_release(arena, mark);
    return done;
}

/* Keys stand as compare_on_ranks() has them. False: out of memory. */
static bool number_keys(const struct collective_calls *calls, struct match_key *keys, const bool *collectives,
                        const bool *messages, struct arena *arena) {
    row_t n = (row_t)calls->n;
    bool done = true;
    for (row_t begin = 0, end; begin < n && done; begin = end) {
        for (end = begin; end < n && compare_routes(&keys[begin], &keys[end]) == 0;)
            end++;
        const struct match_key *key = &keys[begin];
        if (key->is_message ? messages[key->group] : collectives[key->group])
            done = number_by_order(calls, keys + begin, end - begin, arena);
        else
            number_by_seq(calls, keys + begin, end - begin);
    }
    return done;
}

static void fill_matches(const struct match_key *keys, row_t n, struct collective_matches *matches) {
    for (row_t i = 0; i < n; i++) {
        const struct match_key *key = &keys[i];
        matches->order[i] = key->row;
        if (i == 0 || compare_routes(key, key - 1) != 0 || key->number != key[-1].number || key->turn != key[-1].turn)
            matches->list[matches->n++] = (struct collective_match){.group = key->group,
                                                                    .first = i,
                                                                    .number = key->number,
                                                                    .turn = key->turn,
                                                                    .from = key->from,
                                                                    .to = key->to,
                                                                    .is_message = key->is_message};
        matches->list[matches->n - 1].n++;
    }
}

enum sutra_status collective_matches_find(const struct collective_calls *calls, struct arena *arena,
                                          struct collective_matches *matches, struct sutra_error *error) {
    row_t n = (row_t)calls->n;
    *matches = (struct collective_matches){.order = arena_take(arena, n, sizeof *matches->order),
                                           .list = arena_take(arena, n, sizeof *matches->list),
                                           .by_order = arena_zeros(arena, calls->n_groups, 1)};
    struct arena_mark mark = arena_mark(arena);
    bool *messages = arena_zeros(arena, calls->n_groups, 1);
    struct match_key *keys = arena_take(arena, n, sizeof *keys);
    enum sutra_status status = arena_status(arena, error);
    if (!status) {
        fill_keys(calls, keys);
        find_unnumbered(calls, matches->by_order, messages);
        qsort(keys, n, sizeof *keys, compare_on_ranks);
        if (!number_keys(calls, keys, matches->by_order, messages, arena))
            status = error_memory(error);
    }
    if (!status) {
        qsort(keys, n, sizeof *keys, compare_numbers);
        fill_matches(keys, n, matches);
    }
    arena_release(arena, mark);
    return status;
}
