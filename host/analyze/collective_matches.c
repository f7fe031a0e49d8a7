/*
 * collective_matches.c - implements collective_matches.h.
 *
 * Keys of all calls are sorted by group, or by sender and receiver, and numbered: by the recorded number, or else by
 * order. Calls with equal numbers are a match.
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
#include "columns/numbers.h"
#include "facts/collectives.h"

/*
 * Alignment of collectives without numbers: which are the same on all ranks, though some ranks lost some.
 *
 *     rank 0   A B C A B C A B C            A B C A B C A B C
 *     rank 1   A B C A   C A B C     ->     A B C A . C A B C        numbers are the columns
 *     rank 2         A B C A B C            . . . A B C A B C
 *
 * A common sequence grows rank by rank. A rank whose sequence differs is aligned by the ends of collectives, which are
 * simultaneous on all ranks: the difference of clocks that most pairs of one token agree on. If ends do not agree,
 * tokens alone decide, by patience diff: tokens that occur once on both sides are anchors, as far as their orders
 * agree, and so on between them. Equally many calls between two anchors are the same collectives with another size or
 * type.
 *
 * Cost: O(n) for ranks that are equal, else O(n log n).
 */

/* Clocks are compared by at most about so many calls of a rank. Ends are simultaneous within AGREE_NS; the drift of a
 * clock is at most one in DRIFT_PART. */
#define N_SAMPLES  32
#define AGREE_NS   30000
#define NEAR_NS    100000
#define DRIFT_PART 10000

/* Nesting of anchors between anchors. */
#define MAX_ANCHOR_DEPTH 12

struct align_call {
    int64_t end_ns;
    uint32_t token;    /* kind, data type and size */
    row_t number;      /* output: index in the common sequence */
    bool ends_at_once; /* on all ranks */
};

/* A call of the common sequence. */
struct common_call {
    int64_t end_ns; /* by the first rank's clock, as far as known */
    uint32_t token;
    row_t id;
    bool ends_at_once;
};

struct alignment {
    struct arena *arena;
    struct common_call *common, *spare; /* from the heap */
    uint64_t capacity, spare_capacity;
    row_t n_common, n_ids;
};

/* A rank next to the common sequence. */
struct align_side {
    const struct common_call *common;
    const struct align_call *calls;
    row_t n_common, n;
    row_t *pair;  /* by call: index in the common sequence, or ROW_NONE */
    bool *paired; /* by index in the common sequence */
};

static void pair_calls(const struct align_side *side, row_t common, row_t call) {
    side->pair[call] = common;
    side->paired[common] = true;
}

/* ---- By time ---- */

struct timed_call {
    uint32_t token;
    row_t index;
    int64_t end_ns;
};

ORDER_BY(compare_timed, struct timed_call, ASCENDING(token) ASCENDING(end_ns) ASCENDING(index))

static int64_t distance(int64_t a, int64_t b) {
    return moment_size(moment_minus(a, b));
}

/* The first call of a token. */
static row_t first_of_token(const struct timed_call *timed, row_t n, uint32_t token) {
    row_t i = 0;
    BISECT(i, n, timed[i].token < token);
    return i;
}

/* Finds the offset of the rank's clock on which most pairs of samples and common calls of the same token agree. False:
 * too few agree, or out of memory. */
static bool find_offset(const struct align_side *side, const struct timed_call *common, struct arena *arena,
                        int64_t *offset) {
    uint64_t capacity = 0;
    int64_t *differences = NULL;
    row_t n = 0, n_samples = 0, step = side->n / N_SAMPLES + 1;
    for (row_t i = step / 2; i < side->n; i += step) {
        const struct align_call *call = &side->calls[i];
        if (!call->ends_at_once)
            continue;
        n_samples++;
        for (row_t k = first_of_token(common, side->n_common, call->token);
             k < side->n_common && common[k].token == call->token; k++) {
            if (!arena_grow(arena, &differences, n, &capacity, sizeof *differences))
                return false;
            differences[n++] = moment_minus(call->end_ns, common[k].end_ns);
        }
    }
    if (n == 0)
        return false;

    /* The largest number of differences within AGREE_NS; of equal ones the smallest offset. */
    row_t max_votes = 0, begin = 0, best = 0;
    qsort(differences, n, sizeof *differences, compare_int64s);
    for (row_t end = 0; end < n; end++) {
        while (moment_minus(differences[end], differences[begin]) > AGREE_NS)
            begin++;
        row_t votes = end - begin + 1;
        bool nearer = moment_size(differences[begin]) < moment_size(differences[best]);
        if (votes < max_votes || (votes == max_votes && !nearer))
            continue;
        max_votes = votes;
        best = begin;
    }
    *offset = differences[best + upper_median_at(max_votes)];
    return max_votes >= 3 && max_votes >= n_samples / 3;
}

/* Pairs calls of one token with the nearest ends. Both runs are by time. */
static void pair_nearest(const struct align_side *side, const struct timed_call *calls, row_t n,
                         const struct timed_call *common, row_t n_common, int64_t offset, int64_t middle_ns) {
    row_t k = 0;
    for (row_t i = 0; i < n && k < n_common; i++) {
        int64_t end = moment_minus(calls[i].end_ns, offset);
        while (k + 1 < n_common && distance(common[k + 1].end_ns, end) <= distance(common[k].end_ns, end))
            k++;
        if (distance(common[k].end_ns, end) > NEAR_NS + distance(calls[i].end_ns, middle_ns) / DRIFT_PART)
            continue;
        pair_calls(side, common[k].index, calls[i].index);
        k++;
    }
}

/* False: ends do not agree. */
static bool pair_by_time(const struct align_side *side, struct arena *arena) {
    struct arena_mark mark = arena_mark(arena);
    struct timed_call *common = arena_alloc(arena, side->n_common, sizeof *common);
    struct timed_call *calls = arena_alloc(arena, side->n, sizeof *calls);
    if (arena->failed)
        return false;
    for (row_t i = 0; i < side->n_common; i++)
        common[i] = (struct timed_call){side->common[i].token, i, side->common[i].end_ns};
    for (row_t i = 0; i < side->n; i++)
        calls[i] = (struct timed_call){side->calls[i].token, i, side->calls[i].end_ns};
    qsort(common, side->n_common, sizeof *common, compare_timed);
    qsort(calls, side->n, sizeof *calls, compare_timed);
    int64_t offset;
    bool known = find_offset(side, common, arena, &offset);
    for (row_t begin = 0, end; known && begin < side->n; begin = end) {
        uint32_t token = calls[begin].token;
        for (end = begin; end < side->n && calls[end].token == token;)
            end++;
        row_t from = first_of_token(common, side->n_common, token), to = from;
        while (to < side->n_common && common[to].token == token)
            to++;
        pair_nearest(side, calls + begin, end - begin, common + from, to - from, offset,
                     side->calls[side->n / 2].end_ns);
    }
    arena_release(arena, mark);
    return known;
}

/* ---- By tokens ---- */

/* Ranges of both sides that are aligned with each other. */
struct align_span {
    row_t common, common_end, call, call_end;
    unsigned depth;
};

/* A token of a range, and its occurrence. */
struct indexed_token {
    uint32_t token, occurrence;
    row_t index;
};

struct anchor {
    row_t common, call;
};

ORDER_BY(compare_tokens, struct indexed_token, ASCENDING(token) ASCENDING(index))
ORDER_BY(compare_anchors, struct anchor, ASCENDING(call))

static void sort_tokens(struct indexed_token *list, row_t n) {
    qsort(list, n, sizeof *list, compare_tokens);
    for (row_t i = 1; i < n; i++)
        if (list[i].token == list[i - 1].token)
            list[i].occurrence = list[i - 1].occurrence + 1;
}

static bool is_unique(const struct indexed_token *list, row_t n, row_t i) {
    return list[i].occurrence == 0 && (i + 1 == n || list[i + 1].token != list[i].token);
}

/* Anchors: tokens that are unique on both sides; or else equal occurrences of a token. By call. */
static row_t match_tokens(const struct indexed_token *a, row_t n_a, const struct indexed_token *b, row_t n_b,
                          bool unique, struct anchor *anchors) {
    row_t n = 0;
    for (row_t i = 0, k = 0; i < n_a && k < n_b;) {
        uint64_t key_a = (uint64_t)a[i].token << 32 | a[i].occurrence;
        uint64_t key_b = (uint64_t)b[k].token << 32 | b[k].occurrence;
        if (key_a == key_b && (!unique || (is_unique(a, n_a, i) && is_unique(b, n_b, k))))
            anchors[n++] = (struct anchor){a[i].index, b[k].index};
        i += key_a <= key_b;
        k += key_a >= key_b;
    }
    qsort(anchors, n, sizeof *anchors, compare_anchors);
    return n;
}

/* Keeps the longest subsequence of anchors that ascends on both sides; they ascend by call. */
static row_t keep_ascending(struct anchor *anchors, row_t n, row_t *tails, row_t *previous) {
    row_t n_tails = 0;
    for (row_t i = 0; i < n; i++) {
        row_t at = 0;
        BISECT(at, n_tails, anchors[tails[at]].common < anchors[i].common);
        previous[i] = at ? tails[at - 1] : ROW_NONE;
        tails[at] = i;
        n_tails += at == n_tails;
    }
    row_t i = n_tails ? tails[n_tails - 1] : ROW_NONE;
    for (row_t k = n_tails; k-- > 0; i = previous[i])
        tails[k] = i;
    for (row_t k = 0; k < n_tails; k++)
        anchors[k] = anchors[tails[k]];
    return n_tails;
}

/* Finds and pairs the anchors of a range. */
static row_t find_anchors(const struct align_side *side, const struct align_span *span, struct arena *arena,
                          struct anchor **anchors) {
    row_t n_a = span->common_end - span->common, n_b = span->call_end - span->call, min = MIN(n_a, n_b);
    *anchors = arena_alloc(arena, min, sizeof **anchors);
    struct indexed_token *a = arena_alloc(arena, n_a, sizeof *a), *b = arena_alloc(arena, n_b, sizeof *b);
    row_t *tails = arena_alloc(arena, min, sizeof *tails), *previous = arena_alloc(arena, min, sizeof *previous);
    if (arena->failed)
        return 0;
    for (row_t i = 0; i < n_a; i++)
        a[i] = (struct indexed_token){side->common[span->common + i].token, 0, span->common + i};
    for (row_t i = 0; i < n_b; i++)
        b[i] = (struct indexed_token){side->calls[span->call + i].token, 0, span->call + i};
    sort_tokens(a, n_a);
    sort_tokens(b, n_b);
    row_t n = match_tokens(a, n_a, b, n_b, true, *anchors);
    if (n == 0)
        n = match_tokens(a, n_a, b, n_b, false, *anchors);
    n = keep_ascending(*anchors, n, tails, previous);
    for (row_t i = 0; i < n; i++)
        pair_calls(side, (*anchors)[i].common, (*anchors)[i].call);
    return n;
}

static void pair_by_tokens(const struct align_side *side, struct arena *arena) {
    struct arena_mark mark = arena_mark(arena);
    struct align_span *stack = NULL;
    uint64_t capacity = 0, n = 0;
    if (arena_grow(arena, &stack, n, &capacity, sizeof *stack))
        stack[n++] = (struct align_span){.common_end = side->n_common, .call_end = side->n};
    while (n > 0 && !arena->failed) {
        struct align_span span = stack[--n];
        /* Pair equal calls at both ends of the ranges. */
        while (side->common && span.common < span.common_end && span.call < span.call_end &&
               side->common[span.common].token == side->calls[span.call].token)
            pair_calls(side, span.common++, span.call++);
        while (side->common && span.common < span.common_end && span.call < span.call_end &&
               side->common[span.common_end - 1].token == side->calls[span.call_end - 1].token)
            pair_calls(side, --span.common_end, --span.call_end);
        if (span.common == span.common_end || span.call == span.call_end || span.depth == MAX_ANCHOR_DEPTH)
            continue;
        struct anchor *anchors;
        row_t n_anchors = find_anchors(side, &span, arena, &anchors);
        for (row_t i = 0; i <= n_anchors && n_anchors > 0; i++) {
            struct align_span between = {i ? anchors[i - 1].common + 1 : span.common,
                                         i < n_anchors ? anchors[i].common : span.common_end,
                                         i ? anchors[i - 1].call + 1 : span.call,
                                         i < n_anchors ? anchors[i].call : span.call_end, span.depth + 1};
            if (between.common < between.common_end && between.call < between.call_end &&
                arena_grow(arena, &stack, n, &capacity, sizeof *stack))
                stack[n++] = between;
        }
    }
    arena_release(arena, mark);
}

/* Pairs calls between two pairs if both sides have equally many: the same collectives with other sizes. */
static void pair_leftovers(const struct align_side *side) {
    row_t after = 0; /* the last pair */
    for (row_t begin = 0, end; begin < side->n; begin = end) {
        for (end = begin; end < side->n && side->pair[end] == ROW_NONE;)
            end++;
        row_t next = end < side->n ? side->pair[end] : side->n_common, n_unpaired = 0, call = begin;
        if (end > begin) {
            for (row_t i = after; i < next; i++)
                n_unpaired += !side->paired[i];
            for (row_t i = after; i < next && n_unpaired == end - begin; i++)
                if (!side->paired[i])
                    pair_calls(side, i, call++);
        }
        if (end < side->n)
            after = side->pair[end++] + 1;
    }
}

/* ---- All ranks ---- */

/* Merges a rank into the common sequence: unpaired calls follow the pair of the call before them. Numbers its calls by
 * the ids of the sequence, and returns the new length. */
static row_t merge_rank(struct alignment *alignment, struct align_call *calls, const struct align_side *side) {
    struct common_call *merged = alignment->spare;
    row_t n = 0, next_common = 0, begin = 0;
    int64_t offset = 0;
    for (row_t i = 0; i <= side->n; i++) {
        row_t pair = i < side->n ? side->pair[i] : side->n_common;
        if (pair == ROW_NONE)
            continue;
        if (i < side->n && side->common) {
            offset = moment_minus(calls[i].end_ns, side->common[pair].end_ns);
            calls[i].number = side->common[pair].id;
        }
        for (row_t k = begin; k < i; k++) {
            calls[k].number = alignment->n_ids++;
            merged[n++] = (struct common_call){moment_minus(calls[k].end_ns, offset), calls[k].token, calls[k].number,
                                               calls[k].ends_at_once};
        }
        while (side->common && next_common < side->n_common && next_common <= pair)
            merged[n++] = side->common[next_common++];
        begin = i + 1;
    }
    return n;
}

/* Aligns a rank with the common sequence. False: out of memory. */
static bool align_rank(struct alignment *alignment, struct align_call *calls, row_t n) {
    struct arena *arena = alignment->arena;
    struct align_side side = {.common = alignment->common, .calls = calls, .n_common = alignment->n_common, .n = n};
    bool equal = n == side.n_common;
    for (row_t i = 0; i < n && equal; i++)
        equal = calls[i].token == side.common[i].token;
    for (row_t i = 0; i < n && equal; i++)
        calls[i].number = side.common[i].id;
    if (equal)
        return true;

    struct arena_mark mark = arena_mark(arena);
    uint64_t capacity = (uint64_t)side.n_common + n;
    side.pair = rows_none(arena, n);
    side.paired = arena_zeros(arena, side.n_common, sizeof *side.paired);
    if (arena->failed)
        return false;
    if (capacity > alignment->spare_capacity) {
        capacity += capacity / 2;
        if (!column_resize(&alignment->spare, capacity, sizeof *alignment->spare))
            return false;
        alignment->spare_capacity = capacity;
    }
    if (!pair_by_time(&side, arena))
        pair_by_tokens(&side, arena);
    pair_leftovers(&side);
    alignment->n_common = merge_rank(alignment, calls, &side);
    arena_release(arena, mark);

    struct common_call *old = alignment->common;
    capacity = alignment->capacity;
    alignment->common = alignment->spare;
    alignment->capacity = alignment->spare_capacity;
    alignment->spare = old;
    alignment->spare_capacity = capacity;
    return !arena->failed;
}

/* Numbers the calls; the calls of rank i are calls[first[i]] .. calls[first[i + 1] - 1], in order. False: out of
 * memory. */
static bool align_ranks(struct align_call *calls, const row_t *first, row_t n_ranks, struct arena *arena) {
    struct alignment alignment = {.arena = arena};
    struct arena_mark mark = arena_mark(arena);
    bool ok = true;
    for (row_t rank = 0; rank < n_ranks && ok; rank++)
        ok = align_rank(&alignment, calls + first[rank], first[rank + 1] - first[rank]);
    row_t *index_of_id = arena_alloc(arena, alignment.n_ids, sizeof *index_of_id);
    ok = ok && index_of_id;
    for (row_t i = 0; i < alignment.n_common && ok; i++)
        index_of_id[alignment.common[i].id] = i;
    for (row_t i = 0; ok && i < first[n_ranks]; i++)
        calls[i].number = index_of_id[calls[i].number];
    arena_release(arena, mark);
    free(alignment.common);
    free(alignment.spare);
    return ok;
}

/* ---- Matches ---- */

struct match_key {
    uint32_t group, what; /* `what`: see struct collective_match */
    row_t row, turn;
    int64_t from, to, number, rank, start_ns;
    bool is_message, is_unmatched;
};

#define ROUTE ASCENDING(group) ASCENDING(is_message) ASCENDING(what) ASCENDING(from) ASCENDING(to)

ORDER_BY(compare_routes, struct match_key, ROUTE)
ORDER_BY(compare_starts, struct match_key, ROUTE ASCENDING(rank) ASCENDING(start_ns) ASCENDING(row))
ORDER_BY(compare_turns, struct match_key, ROUTE ASCENDING(rank) ASCENDING(number) ASCENDING(start_ns) ASCENDING(row))
ORDER_BY(compare_numbers, struct match_key, ROUTE ASCENDING(number) ASCENDING(turn) ASCENDING(rank) ASCENDING(row))

/* The peer of a message; if it is not recorded, the other member of a group of two. */
static int64_t find_peer(const struct collective_calls *calls, const struct collective_call *call) {
    long long ranks[2];
    const char *members = strings_text(&calls->strings, calls->groups[call->group].members);
    if (call->peer != CALL_UNKNOWN || sscanf(members, "[%lld, %lld]", &ranks[0], &ranks[1]) != 2 ||
        calls->groups[call->group].size != 2)
        return call->peer;
    return ranks[0] == call->rank ? ranks[1] : ranks[0];
}

/* An id of kind, type and size of a call; without sizes that differ between ranks. UINT32_MAX: out of memory. */
static uint32_t make_token(const struct collective_calls *calls, const struct collective_call *call,
                           struct pair_table *tokens) {
    bool sized = !collective_sizes_differ(strings_text(&calls->strings, call->what));
    int64_t n_in = call->is_message && call->n_out > call->n_in ? call->n_out : call->n_in;
    uint64_t parts[] = {(uint64_t)(call->is_message ? 0 : call->what) << 32 | call->type, sized ? (uint64_t)n_in : 0,
                        sized && !call->is_message ? (uint64_t)call->n_out : 0};
    uint32_t token = 0;
    for (size_t i = 0; i < sizeof parts / sizeof *parts; i++) {
        struct pair_entry *entry = pair_table_insert(tokens, parts[i], token);
        if (!entry)
            return UINT32_MAX;
        if (entry->number == PAIR_NONE)
            entry->number = (uint32_t)tokens->n;
        token = entry->number;
    }
    return token;
}

/* Numbers the keys of kernels without a group and sizes, sorted by rank and start, by their index on each rank. Returns
 * whether every rank has the same number of them; otherwise the ranks' kernels are not the same collectives. */
static bool number_by_index(struct match_key *keys, row_t n, row_t n_ranks) {
    row_t n_found = 0, n_of_first = 0, begin = 0;
    for (row_t i = 0; i <= n; i++) {
        if (i < n && keys[i].rank == keys[begin].rank) {
            keys[i].number = i - begin;
            continue;
        }
        n_of_first = n_found++ == 0 ? i - begin : n_of_first;
        if (i - begin != n_of_first)
            return false;
        begin = i;
        if (i < n)
            keys[i].number = 0;
    }
    return n_found == n_ranks;
}

/* Numbers the keys of one group by "Comms Id", in the order in which ids first occur. False: out of memory. */
static bool number_by_comms_id(const struct collective_calls *calls, struct match_key *keys, row_t n) {
    struct pair_table ids;
    bool ok = pair_table_init(&ids);
    for (row_t i = 0; i < n && ok; i++) {
        struct pair_entry *entry = pair_table_insert(&ids, calls->list[keys[i].row].comms_id, 0);
        ok = entry;
        if (ok && entry->number == PAIR_NONE)
            entry->number = (uint32_t)ids.n;
        if (ok)
            keys[i].number = entry->number - 1;
    }
    pair_table_free(&ids);
    return ok;
}

/* Counts the ranks that have calls. False: out of memory. */
static bool count_ranks(const struct collective_calls *calls, row_t *n) {
    struct pair_table ranks;
    bool ok = pair_table_init(&ranks);
    for (uint64_t i = 0; i < calls->n && ok; i++)
        if (i == 0 || calls->list[i].rank != calls->list[i - 1].rank)
            ok = pair_table_note(&ranks, (uint64_t)calls->list[i].rank, 0, 1);
    *n = ok ? (row_t)ranks.n : 0;
    pair_table_free(&ranks);
    return ok;
}

/* Whether kernels of a group are matched by their index alone: of another library than NCCL, without a group. */
static bool is_matched_by_index(const struct collective_calls *calls, const struct collective_group *group) {
    return group->source.library != LIBRARY_NCCL && strings_length(&calls->strings, group->name) == 0 &&
           strings_length(&calls->strings, group->members) == 0;
}

/* Numbers the keys of one group or route, sorted by rank and start, by their order. False: out of memory. */
static bool number_by_order(const struct collective_calls *calls, struct match_key *keys, row_t n,
                            struct arena *arena) {
    struct arena_mark mark = arena_mark(arena);
    struct align_call *list = arena_alloc(arena, n, sizeof *list);
    row_t *first = arena_alloc(arena, (size_t)n + 1, sizeof *first), n_ranks = 0;
    struct pair_table tokens;
    bool ok = pair_table_init(&tokens) && list && first;
    for (row_t i = 0; i < n && ok; i++) {
        const struct collective_call *call = &calls->list[keys[i].row];
        list[i] = (struct align_call){
            .end_ns = call->end_ns,
            .token = make_token(calls, call, &tokens),
            .ends_at_once = collective_ends_at_once(collective_kind_of(strings_text(&calls->strings, call->what)))};
        ok = list[i].token != UINT32_MAX;
        if (i == 0 || keys[i].rank != keys[i - 1].rank)
            first[n_ranks++] = i;
    }
    if (ok) {
        first[n_ranks] = n;
        ok = align_ranks(list, first, n_ranks, arena);
    }
    for (row_t i = 0; i < n && ok; i++)
        keys[i].number = list[i].number;
    pair_table_free(&tokens);
    arena_release(arena, mark);
    return ok;
}

/* A call of a match. */
struct match_row {
    int64_t rank;
    row_t row;
    bool is_send;
};

ORDER_BY(compare_match_rows, struct match_row, ASCENDING(rank) DESCENDING(is_send) ASCENDING(row))

/* Matches the calls of logs, which all have numbers: calls of one match are found by a hash table and sorted by rank.
 * O(n + matches * log matches + n log ranks). */
static enum sutra_status match_logs(const struct collective_calls *calls, struct tuples *known, struct arena *arena,
                                    struct collective_matches *matches, struct sutra_error *error) {
    const row_t n = (row_t)calls->n;
    uint32_t *match_of = arena_alloc(arena, n, sizeof *match_of);
    struct match_row *rows = arena_alloc(arena, n, sizeof *rows);
    TRY(arena_status(arena, error));
    for (row_t i = 0; i < n; i++) {
        const struct collective_call *call = &calls->list[i];
        const uint32_t what = call->is_message ? 0 : call->what;
        const int64_t from = call->is_send ? call->rank : call->peer, to = call->is_send ? call->peer : call->rank;
        match_of[i] = tuples_number(
            known, (struct tuple){{(value_key)((uint64_t)call->group << 32 | what), call->is_message ? from : INT64_MIN,
                                   call->is_message ? to : INT64_MIN, call->seq}});
        TRY_ALLOC(match_of[i] != TUPLE_NONE, error);
    }
    struct match_key *keys = arena_zeros(arena, known->n, sizeof *keys);
    row_t *next = arena_zeros(arena, (size_t)known->n + 1, sizeof *next); /* by match: end of its rows so far */
    TRY(arena_status(arena, error));
    for (uint32_t i = 0; i < known->n; i++) {
        const value_key *part = known->list[i].part;
        const bool is_message = part[1] != INT64_MIN;
        keys[i] = (struct match_key){.group = (uint32_t)((uint64_t)part[0] >> 32),
                                     .what = (uint32_t)part[0],
                                     .row = i,
                                     .from = is_message ? part[1] : 0,
                                     .to = is_message ? part[2] : 0,
                                     .number = part[3],
                                     .is_message = is_message};
    }
    for (row_t i = 0; i < n; i++)
        next[match_of[i] + 1]++;
    for (uint32_t i = 0; i < known->n; i++)
        next[i + 1] += next[i];
    for (row_t i = 0; i < n; i++)
        rows[next[match_of[i]]++] = (struct match_row){calls->list[i].rank, i, calls->list[i].is_send};
    if (known->n > 0)
        qsort(keys, known->n, sizeof *keys, compare_numbers);
    for (uint32_t i = 0; i < known->n; i++) {
        const struct match_key *key = &keys[i];
        const row_t begin = key->row > 0 ? next[key->row - 1] : 0, end = next[key->row];
        struct collective_match *match = &matches->list[i];
        *match = (struct collective_match){.group = key->group,
                                           .what = key->what,
                                           .first = i > 0 ? match[-1].first + match[-1].n : 0,
                                           .number = key->number,
                                           .from = key->from,
                                           .to = key->to,
                                           .is_message = key->is_message};
        qsort(rows + begin, end - begin, sizeof *rows, compare_match_rows);
        for (row_t k = begin; k < end; k++) {
            if (k > begin && rows[k].rank == rows[k - 1].rank && rows[k].is_send == rows[k - 1].is_send)
                matches->n_repeated++;
            else
                matches->order[match->first + match->n++] = rows[k].row;
        }
    }
    matches->n = known->n;
    return SUTRA_OK;
}

enum sutra_status collective_matches_find(const struct collective_calls *calls, struct arena *arena,
                                          struct collective_matches *matches, struct sutra_error *error) {
    row_t n = (row_t)calls->n;
    *matches = (struct collective_matches){.order = arena_alloc(arena, n, sizeof *matches->order),
                                           .list = arena_alloc(arena, n, sizeof *matches->list),
                                           .by_order = arena_zeros(arena, calls->n_groups, 1)};
    struct arena_mark mark = arena_mark(arena);
    if (calls->from_logs) {
        struct tuples known = {.n = 0};
        TRY(arena_status(arena, error));
        const enum sutra_status status = match_logs(calls, &known, arena, matches, error);
        tuples_free(&known);
        arena_release(arena, mark);
        return status;
    }
    bool *messages_by_order = arena_zeros(arena, calls->n_groups, 1);
    bool *lacks_comms_id = arena_zeros(arena, calls->n_groups, 1);
    row_t n_ranks = 0, n_kept = 0;
    struct match_key *keys = arena_alloc(arena, n, sizeof *keys);
    TRY_ALLOC(!arena->failed && count_ranks(calls, &n_ranks), error);

    /* A group is numbered by order if a call lacks a number; its messages also if there are more than two members, as
     * each member counts for itself. */
    for (uint64_t i = 0; i < calls->n_groups; i++)
        messages_by_order[i] = calls->groups[i].size != 2;
    for (row_t row = 0; row < n; row++) {
        const struct collective_call *call = &calls->list[row];
        keys[row] = (struct match_key){.group = call->group,
                                       .row = row,
                                       .rank = call->rank,
                                       .start_ns = call->start_ns,
                                       .is_message = call->is_message};
        lacks_comms_id[call->group] |= call->comms_id == 0 && !call->is_message;
        if (call->seq == CALL_UNKNOWN)
            *(call->is_message ? &messages_by_order[call->group] : &matches->by_order[call->group]) = true;
        if (!call->is_message)
            continue;
        int64_t peer = find_peer(calls, call);
        keys[row].from = call->is_send ? call->rank : peer;
        keys[row].to = call->is_send ? peer : call->rank;
    }
    qsort(keys, n, sizeof *keys, compare_starts);
    for (row_t begin = 0, end; begin < n; begin = end) {
        for (end = begin; end < n && compare_routes(&keys[begin], &keys[end]) == 0;)
            end++;
        const struct match_key *key = &keys[begin];
        bool by_comms_id = !key->is_message && !lacks_comms_id[key->group];
        if (is_matched_by_index(calls, &calls->groups[key->group])) {
            bool is_same = number_by_index(keys + begin, end - begin, n_ranks);
            for (row_t i = begin; i < end; i++)
                keys[i].is_unmatched = !is_same;
            continue;
        }
        if (!by_comms_id && (key->is_message ? messages_by_order[key->group] : matches->by_order[key->group])) {
            TRY_ALLOC(number_by_order(calls, keys + begin, end - begin, arena), error);
            continue;
        }
        for (row_t i = begin; i < end && !by_comms_id; i++)
            keys[i].number = calls->list[keys[i].row].seq;
        if (by_comms_id && !number_by_comms_id(calls, keys + begin, end - begin))
            return error_memory(error);
        matches->by_order[key->group] &= !by_comms_id;
        qsort(keys + begin, end - begin, sizeof *keys, compare_turns);
        for (row_t i = begin + 1; i < end; i++)
            if (keys[i].rank == keys[i - 1].rank && keys[i].number == keys[i - 1].number)
                keys[i].turn = keys[i - 1].turn + 1;
    }

    for (row_t i = 0; i < n; i++)
        if (!keys[i].is_unmatched)
            keys[n_kept++] = keys[i];
    n = n_kept;
    qsort(keys, n, sizeof *keys, compare_numbers);
    for (row_t i = 0; i < n; i++) {
        const struct match_key *key = &keys[i];
        matches->order[i] = key->row;
        if (i == 0 || compare_routes(key, key - 1) != 0 || key->number != key[-1].number || key->turn != key[-1].turn)
            matches->list[matches->n++] = (struct collective_match){.group = key->group,
                                                                    .first = i,
                                                                    .number = key->number,
                                                                    .what = key->what,
                                                                    .turn = key->turn,
                                                                    .from = key->from,
                                                                    .to = key->to,
                                                                    .is_message = key->is_message};
        matches->list[matches->n - 1].n++;
    }
    arena_release(arena, mark);
    return SUTRA_OK;
}
