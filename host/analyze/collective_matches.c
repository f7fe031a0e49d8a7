/*
 * collective_matches.c - sorting collectives so that those of all ranks stand side by side.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "analyze/collective_calls.h"
#include "analyze/collective_matches.h"
#include "base/arena.h"
#include "base/error.h"
#include "base/shared.h"
#include "columns/column.h"
#include "columns/row.h"
#include "facts/collectives.h"

/*
 * Collectives of one group that tell no numbers: which are the same on all ranks, though some
 * ranks lost some.
 *
 *     rank 0   A B C A B C A B C            A B C A B C A B C
 *     rank 1   A B C A   C A B C     ->     A B C A . C A B C        numbers are the places
 *     rank 2         A B C A B C            . . . A B C A B C
 *
 * A sequence of all is grown rank by rank. A rank whose sequence is another one is laid beside it by the ends of
 * collectives, which are the same moment everywhere: the clocks' difference that most pairs of one token agree on says
 * which belong together. Where ends do not agree, tokens alone do it, by patience diff: those that stand once on both
 * sides are anchors, as far as their orders agree, and so on between them. What is left between anchors, as many on
 * both sides, is the same collective with another size or type.
 *
 * Cost: O(n) of ranks that are equal, else O(n log n).
 */

struct align_call {
    int64_t end_ns;
    uint32_t token;    /* what it is: type, data type and size */
    row_t number;      /* what comes out: its place among those of all ranks, from 0 */
    bool ends_at_once; /* with those of the other ranks */
};

/*
 * Laying sequences of collectives beside each other.
 */

/* Clocks are compared by so many calls of a rank; ends are one moment within the first span, and a clock runs away from
 * another by one in DRIFT_PART at most. */
#define N_SAMPLES  32
#define AGREE_NS   30000
#define NEAR_NS    100000
#define DRIFT_PART 10000

/* So deep anchors are looked for between anchors. */
#define DEEPEST 12

/* The sequence of all ranks so far. */
struct common_call {
    int64_t end_ns; /* by the first rank's clock, as far as that is known */
    uint32_t token;
    row_t id;
    bool ends_at_once;
};

struct aligning {
    struct arena *arena;
    struct common_call *common, *spare; /* from the heap */
    uint64_t capacity, spare_capacity;
    row_t n_common, n_ids;
};

/* One rank beside the common sequence: pair[i] is the place of its call i in that, or ROW_NONE. */
struct align_side {
    const struct common_call *common;
    const struct align_call *calls;
    row_t n_common, n;
    row_t *pair;
    bool *taken; /* by place in the common sequence */
};

static int64_t apart(int64_t a, int64_t b) {
    return moment_size(moment_minus(a, b));
}

/* ---- By time ---- */

/* A call by its token and end. */
struct timed_call {
    uint32_t token;
    row_t at;
    int64_t end_ns;
};

static int compare_integers(int64_t a, int64_t b) {
    return (a > b) - (a < b);
}

static int compare_timed(const void *left, const void *right) {
    const struct timed_call *a = left, *b = right;
    int order = compare_integers(a->token, b->token);
    order = order ? order : compare_integers(a->end_ns, b->end_ns);
    return order ? order : compare_integers(a->at, b->at);
}

static int compare_times(const void *left, const void *right) {
    const int64_t *a = left, *b = right;
    return compare_integers(*a, *b);
}

static struct timed_call *common_by_time(const struct align_side *side, struct arena *arena) {
    struct timed_call *timed = arena_take(arena, side->n_common, sizeof *timed);
    for (row_t i = 0; timed && i < side->n_common; i++)
        timed[i] = (struct timed_call){side->common[i].token, i, side->common[i].end_ns};
    if (timed)
        qsort(timed, side->n_common, sizeof *timed, compare_timed);
    return timed;
}

static struct timed_call *calls_by_time(const struct align_side *side, struct arena *arena) {
    struct timed_call *timed = arena_take(arena, side->n, sizeof *timed);
    for (row_t i = 0; timed && i < side->n; i++)
        timed[i] = (struct timed_call){side->calls[i].token, i, side->calls[i].end_ns};
    if (timed)
        qsort(timed, side->n, sizeof *timed, compare_timed);
    return timed;
}

/* The first call of this token. */
static row_t first_of(const struct timed_call *timed, row_t n, uint32_t token) {
    struct bisection at = {0, n};
    while (at.low < at.high)
        bisect(&at, timed[bisect_middle(at)].token < token);
    return at.low;
}

/* Differences of ends between samples of the rank and all that they may be. */
static row_t sample_differences(const struct align_side *side, const struct timed_call *timed, int64_t **differences,
                                row_t *n_samples, struct arena *arena) {
    uint64_t capacity = 0;
    row_t n = 0, step = side->n / N_SAMPLES + 1;
    *differences = NULL;
    *n_samples = 0;
    for (row_t i = step / 2; i < side->n; i += step) {
        const struct align_call *call = &side->calls[i];
        if (!call->ends_at_once)
            continue;
        ++*n_samples;
        for (row_t k = first_of(timed, side->n_common, call->token);
             k < side->n_common && timed[k].token == call->token; k++) {
            if (!arena_grow(arena, differences, n, &capacity, sizeof **differences))
                return 0;
            (*differences)[n++] = moment_minus(call->end_ns, timed[k].end_ns);
        }
    }
    return n;
}

/* What most of the differences agree on; false: too few do. */
static bool vote(int64_t *differences, row_t n, row_t n_samples, int64_t *offset) {
    row_t most = 0, begin = 0, best = 0;
    if (n == 0)
        return false;
    qsort(differences, n, sizeof *differences, compare_times);
    for (row_t end = 0; end < n; end++) {
        while (moment_minus(differences[end], differences[begin]) > AGREE_NS)
            begin++;
        row_t votes = end - begin + 1;
        bool nearer = moment_size(differences[begin]) < moment_size(differences[best]);
        if (votes < most || (votes == most && !nearer))
            continue;
        most = votes;
        best = begin;
    }
    *offset = differences[best + most / 2];
    return most >= 3 && most >= n_samples / 3;
}

/* Pairs calls of one token whose ends are nearest; both runs are by time. */
static void pair_run(const struct align_side *side, const struct timed_call *calls, row_t n,
                     const struct timed_call *common, row_t n_common, int64_t offset, int64_t middle) {
    row_t k = 0;
    for (row_t i = 0; i < n && k < n_common; i++) {
        int64_t end = moment_minus(calls[i].end_ns, offset);
        while (k + 1 < n_common && apart(common[k + 1].end_ns, end) <= apart(common[k].end_ns, end))
            k++;
        if (apart(common[k].end_ns, end) > NEAR_NS + apart(calls[i].end_ns, middle) / DRIFT_PART)
            continue;
        side->pair[calls[i].at] = common[k].at;
        side->taken[common[k].at] = true;
        k++;
    }
}

static bool pair_by_time(const struct align_side *side, struct arena *arena) {
    struct arena_mark mark = arena_mark(arena);
    struct timed_call *common = common_by_time(side, arena), *calls = calls_by_time(side, arena);
    int64_t *differences = NULL, offset = 0;
    row_t n_samples = 0, n = 0;
    if (common && calls)
        n = sample_differences(side, common, &differences, &n_samples, arena);
    bool known = n > 0 && vote(differences, n, n_samples, &offset);
    for (row_t begin = 0, end; known && begin < side->n; begin = end) {
        for (end = begin; end < side->n && calls[end].token == calls[begin].token;)
            end++;
        row_t from = first_of(common, side->n_common, calls[begin].token), to = from;
        while (to < side->n_common && common[to].token == calls[begin].token)
            to++;
        pair_run(side, calls + begin, end - begin, common + from, to - from, offset, side->calls[side->n / 2].end_ns);
    }
    arena_release(arena, mark);
    return known;
}

/* ---- By tokens ---- */

/* Ranges of both sides that are laid beside each other. */
struct align_span {
    row_t common, common_end, at, end;
    unsigned depth;
};

/* A token of a range: where it stands, and which of its kind it is. */
struct placed_token {
    uint32_t token, turn;
    row_t at;
};

/* Places of both sides that may belong together. */
struct anchor {
    row_t common, at;
};

ORDER_BY(compare_placed, struct placed_token, ASCENDING(token) ASCENDING(at))

static int compare_anchors(const void *left, const void *right) {
    const struct anchor *a = left, *b = right;
    return compare_integers(a->at, b->at);
}

static void sort_placed(struct placed_token *list, row_t n) {
    qsort(list, n, sizeof *list, compare_placed);
    for (row_t i = 1; i < n; i++)
        if (list[i].token == list[i - 1].token)
            list[i].turn = list[i - 1].turn + 1;
}

static bool is_single(const struct placed_token *list, row_t n, row_t i) {
    return list[i].turn == 0 && (i + 1 == n || list[i + 1].token != list[i].token);
}

/* Tokens that stand once on both sides; if there are none, the first with the first of its kind, and so on. */
static row_t meet_tokens(const struct placed_token *a, row_t n_a, const struct placed_token *b, row_t n_b, bool single,
                         struct anchor *anchors) {
    row_t n = 0;
    for (row_t i = 0, k = 0; i < n_a && k < n_b;) {
        int order = compare_integers(a[i].token, b[k].token);
        order = order ? order : compare_integers(a[i].turn, b[k].turn);
        if (order == 0 && (!single || (is_single(a, n_a, i) && is_single(b, n_b, k))))
            anchors[n++] = (struct anchor){a[i].at, b[k].at};
        i += order <= 0;
        k += order >= 0;
    }
    qsort(anchors, n, sizeof *anchors, compare_anchors);
    return n;
}

/* Keeps the longest part of the anchors that rises on both sides; they rise on the rank's already. */
static row_t keep_rising(struct anchor *anchors, row_t n, row_t *tails, row_t *before) {
    row_t n_tails = 0;
    for (row_t i = 0; i < n; i++) {
        struct bisection at = {0, n_tails};
        while (at.low < at.high)
            bisect(&at, anchors[tails[bisect_middle(at)]].common < anchors[i].common);
        before[i] = at.low ? tails[at.low - 1] : ROW_NONE;
        tails[at.low] = i;
        n_tails += at.low == n_tails;
    }
    row_t at = n_tails ? tails[n_tails - 1] : ROW_NONE;
    for (row_t k = n_tails; k-- > 0; at = before[at])
        tails[k] = at;
    for (row_t k = 0; k < n_tails; k++)
        anchors[k] = anchors[tails[k]];
    return n_tails;
}

static void pair_at(const struct align_side *side, row_t common, row_t at) {
    side->pair[at] = common;
    side->taken[common] = true;
}

/* Pairs what is equal at both ends of the ranges. */
static void trim(const struct align_side *side, struct align_span *span) {
    while (side->common && span->common < span->common_end && span->at < span->end &&
           side->common[span->common].token == side->calls[span->at].token)
        pair_at(side, span->common++, span->at++);
    while (side->common && span->common < span->common_end && span->at < span->end &&
           side->common[span->common_end - 1].token == side->calls[span->end - 1].token)
        pair_at(side, --span->common_end, --span->end);
}

/* Anchors of a range, which were paired. */
static row_t anchor_span(const struct align_side *side, const struct align_span *span, struct arena *arena,
                         struct anchor **anchors) {
    row_t n_a = span->common_end - span->common, n_b = span->end - span->at, least = n_a < n_b ? n_a : n_b;
    *anchors = arena_take(arena, least, sizeof **anchors);
    struct placed_token *a = arena_take(arena, n_a, sizeof *a), *b = arena_take(arena, n_b, sizeof *b);
    row_t *tails = arena_take(arena, least, sizeof *tails), *before = arena_take(arena, least, sizeof *before);
    if (arena->failed)
        return 0;
    for (row_t i = 0; i < n_a; i++)
        a[i] = (struct placed_token){side->common[span->common + i].token, 0, span->common + i};
    for (row_t i = 0; i < n_b; i++)
        b[i] = (struct placed_token){side->calls[span->at + i].token, 0, span->at + i};
    sort_placed(a, n_a);
    sort_placed(b, n_b);
    row_t n = meet_tokens(a, n_a, b, n_b, true, *anchors);
    if (n == 0)
        n = meet_tokens(a, n_a, b, n_b, false, *anchors);
    n = keep_rising(*anchors, n, tails, before);
    for (row_t i = 0; i < n; i++)
        pair_at(side, (*anchors)[i].common, (*anchors)[i].at);
    return n;
}

static void pair_by_tokens(const struct align_side *side, struct arena *arena) {
    struct arena_mark mark = arena_mark(arena);
    struct align_span *stack = NULL;
    uint64_t capacity = 0, n = 0;
    if (arena_grow(arena, &stack, n, &capacity, sizeof *stack))
        stack[n++] = (struct align_span){.common_end = side->n_common, .end = side->n};
    while (n > 0 && !arena->failed) {
        struct align_span span = stack[--n];
        struct anchor *anchors;
        trim(side, &span);
        if (span.common == span.common_end || span.at == span.end || span.depth == DEEPEST)
            continue;
        row_t n_anchors = anchor_span(side, &span, arena, &anchors);
        for (row_t i = 0; i <= n_anchors && n_anchors > 0; i++) {
            struct align_span between = {
                i ? anchors[i - 1].common + 1 : span.common, i < n_anchors ? anchors[i].common : span.common_end,
                i ? anchors[i - 1].at + 1 : span.at, i < n_anchors ? anchors[i].at : span.end, span.depth + 1};
            if (between.common < between.common_end && between.at < between.end &&
                arena_grow(arena, &stack, n, &capacity, sizeof *stack))
                stack[n++] = between;
        }
    }
    arena_release(arena, mark);
}

/* ---- What is left ---- */

/* Pairs what lies between two pairs if it is as much on both sides: the same collectives with other sizes. */
static void pair_between(const struct align_side *side, row_t common, row_t common_end, row_t at, row_t end) {
    row_t n = 0;
    for (row_t i = common; i < common_end; i++)
        n += !side->taken[i];
    if (n != end - at)
        return;
    for (row_t i = common; i < common_end; i++)
        if (!side->taken[i])
            pair_at(side, i, at++);
}

static void pair_leftovers(const struct align_side *side) {
    row_t after = 0; /* behind the last pair */
    for (row_t begin = 0, end; begin < side->n; begin = end) {
        for (end = begin; end < side->n && side->pair[end] == ROW_NONE;)
            end++;
        row_t next = end < side->n ? side->pair[end] : side->n_common;
        if (end > begin && after <= next)
            pair_between(side, after, next, begin, end);
        if (end < side->n)
            after = side->pair[end++] + 1;
    }
}

static bool is_equal(const struct align_side *side) {
    bool equal = side->n == side->n_common;
    for (row_t i = 0; i < side->n && equal; i++)
        equal = side->calls[i].token == side->common[i].token;
    return equal;
}

/* ---- All ranks ---- */

/* Puts the rank's calls that have no pair behind the pair of the call before them, and numbers all; returns how many
 * there are. */
static row_t merge_side(struct aligning *aligning, struct align_call *calls, const struct align_side *side) {
    struct common_call *merged = aligning->spare;
    row_t n = 0, at = 0, begin = 0;
    int64_t offset = 0;
    for (row_t i = 0; i <= side->n; i++) {
        row_t next = i < side->n ? side->pair[i] : side->n_common;
        if (next == ROW_NONE)
            continue;
        if (i < side->n && side->common) {
            offset = moment_minus(calls[i].end_ns, side->common[next].end_ns);
            calls[i].number = side->common[next].id;
        }
        for (row_t k = begin; k < i; k++) {
            calls[k].number = aligning->n_ids++;
            merged[n++] = (struct common_call){moment_minus(calls[k].end_ns, offset), calls[k].token, calls[k].number,
                                               calls[k].ends_at_once};
        }
        while (at < side->n_common && at <= next)
            merged[n++] = side->common[at++];
        begin = i + 1;
    }
    return n;
}

static bool lay_beside(struct aligning *aligning, struct align_call *calls, struct align_side *side) {
    struct arena *arena = aligning->arena;
    size_t n_all = (size_t)side->n_common + side->n;
    side->pair = rows_none(arena, side->n);
    side->taken = arena_zeros(arena, side->n_common, sizeof *side->taken);
    if (arena->failed || (n_all > aligning->spare_capacity &&
                          !column_resize(&aligning->spare, n_all + n_all / 2, sizeof *aligning->spare)))
        return false;
    aligning->spare_capacity = n_all > aligning->spare_capacity ? n_all + n_all / 2 : aligning->spare_capacity;
    if (!pair_by_time(side, arena))
        pair_by_tokens(side, arena);
    pair_leftovers(side);
    aligning->n_common = merge_side(aligning, calls, side);
    return !arena->failed;
}

static bool align_rank(struct aligning *aligning, struct align_call *calls, row_t n) {
    struct align_side side = {.common = aligning->common, .calls = calls, .n_common = aligning->n_common, .n = n};
    if (is_equal(&side)) {
        for (row_t i = 0; i < n; i++)
            calls[i].number = side.common[i].id;
        return true;
    }
    struct arena_mark mark = arena_mark(aligning->arena);
    bool done = lay_beside(aligning, calls, &side);
    arena_release(aligning->arena, mark);
    struct common_call *old = aligning->common;
    uint64_t capacity = aligning->capacity;
    aligning->common = aligning->spare;
    aligning->capacity = aligning->spare_capacity;
    aligning->spare = old;
    aligning->spare_capacity = capacity;
    return done;
}

/* Numbers the calls; those of rank i are calls[first[i]] to calls[first[i + 1]], in their order. False: out of
 * memory. */
static bool collectives_align(struct align_call *calls, const row_t *first, row_t n_ranks, struct arena *arena) {
    struct aligning aligning = {.arena = arena};
    struct arena_mark mark = arena_mark(arena);
    bool done = true;
    for (row_t rank = 0; rank < n_ranks && done; rank++)
        done = align_rank(&aligning, calls + first[rank], first[rank + 1] - first[rank]);
    row_t *places = arena_take(arena, aligning.n_ids, sizeof *places);
    done = done && places;
    for (row_t i = 0; i < aligning.n_common && done; i++)
        places[aligning.common[i].id] = i;
    for (row_t i = 0; done && i < first[n_ranks]; i++)
        calls[i].number = places[calls[i].number];
    arena_release(arena, mark);
    free(aligning.common);
    free(aligning.spare);
    return done;
}

/* What a row is sorted by. */
struct match_key {
    uint32_t group;
    row_t row, turn;
    int64_t from, to, number, rank, start_ns;
    bool is_message;
};

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
