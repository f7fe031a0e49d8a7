/*
 * collective_checks.c - the checks of collective_matches.h.
 *
 * Each group is checked by itself: the numbers that its members lack, the calls that differ under one number, and the
 * split sizes of its exchanges. Messages are checked by sender and receiver.
 */
#include "analyze/collective_matches.h"

#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/error.h"
#include "base/shared.h"
#include "facts/collectives.h"
#include "text/quantities.h"

const char *const check_severity_names[] = {
    [CHECK_NOTE] = "note", [CHECK_WARNING] = "warning", [CHECK_ERROR] = "error"};

/* Checks of one rule that are reported for a group; the others are counted. */
#define MAX_REPORTED 3

struct checker {
    const struct collective_calls *calls;
    const struct collective_matches *matches;
    const int64_t *ranks; /* with traces, ascending */
    size_t n_ranks;
    bool *foreign;     /* by index of these: the trace is another rank's */
    int64_t **members; /* of each group, as recorded; n_members 0: not recorded */
    size_t *n_members;
    struct arena *arena;
    struct collective_checks *checks;
};

/* ---- Reports ---- */

/* Appends a check, whose texts are copied. */
__attribute__((format(printf, 3, 4))) static void report(const struct checker *c, struct collective_check check,
                                                         const char *format, ...) {
    struct collective_checks *checks = c->checks;
    va_list arguments;
    va_start(arguments, format);
    check.text = arena_vformat(c->arena, format, arguments);
    va_end(arguments);
    check.ranks = arena_format(c->arena, "%s", check.ranks);
    check.group = arena_format(c->arena, "%s", check.group);
    if (arena_grow(c->arena, &checks->list, checks->n, &checks->capacity, sizeof *checks->list))
        checks->list[checks->n++] = check;
}

static const char *group_name(const struct checker *c, uint32_t group) {
    return strings_text(&c->calls->strings, c->calls->groups[group].name);
}

/* A check of a call of a group. */
static struct collective_check check_at(const struct checker *c, enum check_severity severity, const char *rule,
                                        const char *ranks, const struct collective_match *match,
                                        const struct collective_call *call) {
    return (struct collective_check){.severity = severity,
                                     .rule = rule,
                                     .group = group_name(c, match->group),
                                     .number = match->number,
                                     .ranks = ranks,
                                     .rank = call->rank,
                                     .at_ns = call->start_ns};
}

/* A check of a group, or of all (UINT32_MAX). */
static struct collective_check check_of(const struct checker *c, enum check_severity severity, const char *rule,
                                        const char *ranks, uint32_t group) {
    return (struct collective_check){.severity = severity,
                                     .rule = rule,
                                     .group = group == UINT32_MAX ? "" : group_name(c, group),
                                     .number = CALL_UNKNOWN,
                                     .ranks = ranks,
                                     .rank = CALL_UNKNOWN,
                                     .at_ns = CALL_UNKNOWN};
}

static const struct collective_call *call_at(const struct checker *c, const struct collective_match *match, row_t i) {
    return collective_match_call(c->calls, c->matches, match, i);
}

/* The first index of a rank in an ascending list, or SIZE_MAX. */
static size_t find_rank(const int64_t *ranks, size_t n, int64_t rank) {
    size_t i;
    BISECT(i, n, ranks[i] < rank);
    return i < n && ranks[i] == rank ? i : SIZE_MAX;
}

/* ---- Ranks ---- */

/* Reports traces with collectives of groups without their rank. */
static void check_foreign_traces(struct checker *c) {
    const struct collective_calls *calls = c->calls;
    uint64_t *n = arena_zeros(c->arena, c->n_ranks, sizeof *n);
    const struct collective_call **first = arena_alloc(c->arena, c->n_ranks, sizeof(void *));
    if (c->arena->failed)
        return;
    for (uint64_t i = 0; i < calls->n; i++) {
        const struct collective_call *call = &calls->list[i];
        size_t n_members = c->n_members[call->group];
        if (n_members == 0 || find_rank(c->members[call->group], n_members, call->rank) != SIZE_MAX)
            continue;
        size_t rank = find_rank(c->ranks, c->n_ranks, call->rank);
        if (rank != SIZE_MAX && n[rank]++ == 0)
            first[rank] = call;
    }
    for (size_t i = 0; i < c->n_ranks; i++) {
        struct rank_list ranks = {0};
        if (n[i] == 0)
            continue;
        c->foreign[i] = true;
        rank_list_add(&ranks, c->ranks[i]);
        struct collective_check check =
            check_of(c, CHECK_ERROR, "another rank's trace", rank_list_text(&ranks), first[i]->group);
        check.rank = first[i]->rank;
        check.at_ns = first[i]->start_ns;
        report(c, check,
               "%" PRIu64
               " of its collectives belong to groups without this rank, such as %.60s with ranks %.80s: check that the "
               "device trace is of this rank",
               n[i], check.group, strings_text(&calls->strings, calls->groups[first[i]->group].members));
    }
}

/* Reports members of groups without a trace. */
static void check_missing_ranks(const struct checker *c) {
    uint64_t n = 0, capacity = 0, n_missing = 0;
    int64_t *missing = NULL;
    struct rank_list ranks = {0};
    for (uint32_t group = 0; group < c->calls->n_groups; group++)
        for (size_t i = 0; i < c->n_members[group]; i++) {
            if (find_rank(c->ranks, c->n_ranks, c->members[group][i]) != SIZE_MAX)
                continue;
            if (!arena_grow(c->arena, &missing, n, &capacity, sizeof *missing))
                return;
            missing[n++] = c->members[group][i];
        }
    if (n == 0)
        return;
    qsort(missing, n, sizeof *missing, compare_int64s);
    for (uint64_t i = 0; i < n; i++)
        if (i == 0 || missing[i] != missing[i - 1]) {
            n_missing++;
            rank_list_add(&ranks, missing[i]);
        }
    report(c, check_of(c, CHECK_WARNING, "missing rank", rank_list_text(&ranks), UINT32_MAX),
           "%" PRIu64 " group %s%s%s missing: waits for these ranks and waits of these ranks are unknown", n_missing,
           n_missing == 1 ? "member's " : "members' ", c->calls->from_logs ? "log" : "trace",
           n_missing == 1 ? " is" : "s are");
}

/* ---- Collectives of a group ---- */

struct group_check {
    const struct checker *c;
    uint32_t group;
    const struct collective_match *matches;
    row_t n_matches;
    int64_t *ranks; /* members with traces */
    size_t n_ranks;
    uint64_t *n_lost; /* by member */
    const struct collective_match **first_lost;
    int64_t begin, end; /* range of numbers that all members recorded */
    uint64_t n_outside, n_different;
};

/* Whether a rank's collectives can be compared with other ranks. */
static bool is_usable(const struct checker *c, int64_t rank) {
    size_t i = find_rank(c->ranks, c->n_ranks, rank);
    return i != SIZE_MAX && !c->foreign[i];
}

/* Lists the members with traces: the recorded members of the group, else the ranks of its largest match. Then finds the
 * range of numbers that all of them recorded. */
static void find_members(struct group_check *g) {
    const struct checker *c = g->c;
    size_t n_members = c->n_members[g->group], capacity;
    const struct collective_match *largest = g->matches;
    for (row_t i = 0; i < g->n_matches; i++)
        if (g->matches[i].n > largest->n)
            largest = &g->matches[i];
    capacity = n_members > 0 ? n_members : largest->n;
    g->ranks = arena_alloc(c->arena, capacity, sizeof *g->ranks);
    int64_t *first = arena_alloc(c->arena, capacity, sizeof *first),
            *last = arena_alloc(c->arena, capacity, sizeof *last);
    g->n_lost = arena_zeros(c->arena, capacity, sizeof *g->n_lost);
    g->first_lost = arena_alloc(c->arena, capacity, sizeof(void *));
    if (c->arena->failed)
        return;
    for (size_t i = 0; i < capacity; i++) {
        int64_t rank = n_members > 0 ? c->members[g->group][i] : call_at(c, largest, (row_t)i)->rank;
        if (!is_usable(c, rank))
            continue;
        first[g->n_ranks] = INT64_MAX;
        last[g->n_ranks] = INT64_MIN;
        g->ranks[g->n_ranks++] = rank;
    }
    for (row_t i = 0; i < g->n_matches; i++) {
        const struct collective_match *match = &g->matches[i];
        for (row_t k = 0; k < match->n; k++) {
            size_t rank = find_rank(g->ranks, g->n_ranks, call_at(c, match, k)->rank);
            if (rank == SIZE_MAX)
                continue;
            first[rank] = MIN(match->number, first[rank]);
            last[rank] = MAX(match->number, last[rank]);
        }
    }
    g->begin = INT64_MIN;
    g->end = INT64_MAX;
    for (size_t i = 0; i < g->n_ranks; i++) {
        if (first[i] > last[i])
            continue; /* a member without collectives lacks all of them */
        g->begin = MAX(first[i], g->begin);
        g->end = MIN(last[i], g->end);
    }
}

/* Whether two calls are equal. Sizes of some kinds differ between ranks. */
static bool is_same(const struct checker *c, const struct collective_call *a, const struct collective_call *b) {
    if (a->what != b->what || a->type != b->type)
        return false;
    return (a->n_in == b->n_in && a->n_out == b->n_out) ||
           collective_sizes_differ(strings_text(&c->calls->strings, a->what));
}

/* The call of most ranks, by majority vote. */
static const struct collective_call *most_common(const struct checker *c, const struct collective_match *match) {
    const struct collective_call *kept = call_at(c, match, 0);
    row_t n = 0;
    for (row_t i = 0; i < match->n; i++) {
        const struct collective_call *call = call_at(c, match, i);
        if (n == 0)
            kept = call;
        if (is_same(c, kept, call))
            n++;
        else
            n--;
    }
    return kept;
}

static void describe(const struct checker *c, const struct collective_call *call, char *text, size_t size) {
    const struct strings *strings = &c->calls->strings;
    snprintf(text, size, "%.40s of %" PRId64 " %.20s", strings_text(strings, call->what), MAX(call->n_in, call->n_out),
             c->calls->from_logs ? "bytes" : strings_text(strings, call->type));
}

/* Whether a rank runs this collective at a neighboring number, and the collective of that number at this one. */
static bool is_swapped(const struct group_check *g, const struct collective_match *match,
                       const struct collective_call *common, const struct collective_call *other) {
    for (int side = 0; side < 2; side++) {
        const struct collective_match *neighbor = side ? match + 1 : match - 1;
        bool exists = side ? neighbor < g->matches + g->n_matches : match > g->matches;
        if (!exists || !is_same(g->c, most_common(g->c, neighbor), other))
            continue;
        for (row_t k = 0; k < neighbor->n; k++) {
            const struct collective_call *call = call_at(g->c, neighbor, k);
            if (call->rank == other->rank)
                return is_same(g->c, call, common);
        }
    }
    return false;
}

/* Reports a match whose calls differ. */
static void compare_calls(struct group_check *g, const struct collective_match *match) {
    const struct checker *c = g->c;
    const struct collective_call *common = most_common(c, match), *other = NULL;
    struct rank_list ranks = {0};
    char common_text[100], other_text[100];
    for (row_t i = 0; i < match->n; i++) {
        const struct collective_call *call = call_at(c, match, i);
        if (is_same(c, common, call))
            continue;
        other = other ? other : call;
        rank_list_add(&ranks, call->rank);
    }
    if (!other || g->n_different++ >= MAX_REPORTED)
        return;
    describe(c, common, common_text, sizeof common_text);
    describe(c, other, other_text, sizeof other_text);
    bool swapped = is_swapped(g, match, common, other);
    struct collective_check check = check_at(c, CHECK_ERROR, swapped ? "other order" : "different collective",
                                             rank_list_text(&ranks), match, other);
    check.hangs = true;
    report(c, check, "group %.60s, number %" PRId64 ": %s, but %s on the other ranks%s", check.group, match->number,
           other_text, common_text, swapped ? ", which run the two in the opposite order" : "");
}

/* Counts members that lack a collective in the range of all. Both lists ascend by rank. */
static void count_lost(struct group_check *g, const struct collective_match *match) {
    if (match->number < g->begin || match->number > g->end) {
        g->n_outside++;
        return;
    }
    for (size_t i = 0, k = 0; i < g->n_ranks; i++) {
        while (k < match->n && call_at(g->c, match, (row_t)k)->rank < g->ranks[i])
            k++;
        if (k < match->n && call_at(g->c, match, (row_t)k)->rank == g->ranks[i])
            continue;
        const struct untimed_call call = {g->ranks[i], g->group, match->what, match->number};
        if (!collective_is_untimed(g->c->calls, &call) && g->n_lost[i]++ == 0)
            g->first_lost[i] = match;
    }
}

/* ---- Split sizes ---- */

static int64_t *read_split(const struct checker *c, uint32_t string, size_t *n) {
    const struct strings *strings = &c->calls->strings;
    *n = 0;
    return string ? collective_list_read(strings_text(strings, string - 1), strings_length(strings, string - 1),
                                         c->arena, n)
                  : NULL;
}

/* Whether split sizes are unknown or add up to the total. */
static bool adds_up(const int64_t *parts, size_t n, int64_t total) {
    int64_t sum = 0;
    for (size_t i = 0; i < n; i++)
        if (__builtin_add_overflow(sum, parts[i], &sum))
            return total == CALL_UNKNOWN;
    return n == 0 || sum == total;
}

/* Compares the split sizes of senders and receivers. */
static void check_splits(const struct checker *c, const struct collective_match *match, uint64_t *n_bad) {
    struct arena *arena = c->arena;
    const int64_t *members = c->members[match->group];
    size_t n_members = c->n_members[match->group];
    int64_t **in = arena_alloc(arena, match->n, sizeof *in), **out = arena_alloc(arena, match->n, sizeof *out);
    size_t *n_in = arena_alloc(arena, match->n, sizeof *n_in), *n_out = arena_alloc(arena, match->n, sizeof *n_out);
    for (row_t i = 0; i < match->n && !arena->failed; i++) {
        const struct collective_call *call = call_at(c, match, i);
        in[i] = read_split(c, call->in_split, &n_in[i]);
        out[i] = read_split(c, call->out_split, &n_out[i]);
    }
    for (row_t i = 0; i < match->n && !arena->failed; i++) {
        const struct collective_call *call = call_at(c, match, i), *sender = NULL;
        size_t to = find_rank(members, n_members, call->rank);
        bool sums = adds_up(in[i], n_in[i], call->n_in) && adds_up(out[i], n_out[i], call->n_out);
        for (row_t k = 0; k < match->n && n_out[i] > 0 && sums && !sender; k++) {
            size_t from = find_rank(members, n_members, call_at(c, match, k)->rank);
            if (to < n_in[k] && from < n_out[i] && in[k][to] != out[i][from])
                sender = call_at(c, match, k);
        }
        if ((sums && !sender) || (*n_bad)++ >= MAX_REPORTED)
            continue;
        struct rank_list ranks = {0};
        rank_list_add(&ranks, call->rank);
        struct collective_check check = check_at(c, CHECK_ERROR, "split sizes", rank_list_text(&ranks), match, call);
        check.hangs = sender != NULL;
        if (sender)
            report(c, check,
                   "group %.60s, number %" PRId64 ": rank %" PRId64
                   " sends another size than this rank receives from it",
                   check.group, match->number, sender->rank);
        else
            report(c, check, "group %.60s, number %" PRId64 ": the split sizes do not add up to the total", check.group,
                   match->number);
    }
}

static void check_collectives(const struct checker *c, const struct collective_match *matches, row_t n) {
    struct group_check g = {.c = c, .group = matches->group, .matches = matches, .n_matches = n};
    const char *name = group_name(c, g.group);
    find_members(&g);
    if (c->arena->failed)
        return;
    for (row_t i = 0; i < n; i++) {
        compare_calls(&g, &matches[i]);
        count_lost(&g, &matches[i]);
    }
    const bool from_logs = c->calls->from_logs;
    const char *type = from_logs ? strings_text(&c->calls->strings, matches->what) : "";
    for (size_t i = 0; i < g.n_ranks; i++) {
        struct rank_list ranks = {0};
        if (g.n_lost[i] == 0)
            continue;
        rank_list_add(&ranks, g.ranks[i]);
        const struct collective_match *match = g.first_lost[i];
        report(c, check_at(c, CHECK_ERROR, "lost collective", rank_list_text(&ranks), match, call_at(c, match, 0)),
               "group %.60s: the rank lacks %" PRIu64 " of the other ranks' collectives, the first is %.40s%snumber "
               "%" PRId64 "%s",
               name, g.n_lost[i], type, from_logs ? " " : "", match->number,
               from_logs ? ": raise NCCL_INSPECTOR_DUMP_COLL_RING_SIZE" : "");
    }
    if (g.n_different > MAX_REPORTED)
        report(c, check_of(c, CHECK_ERROR, "different collective", "", g.group),
               "group %.60s: %" PRIu64 " more collectives differ between ranks", name, g.n_different - MAX_REPORTED);
    if (g.n_outside)
        report(c,
               check_of(c, c->matches->by_order[g.group] ? CHECK_WARNING : CHECK_NOTE, "uneven profile", "", g.group),
               "group %.60s: %" PRIu64 " collectives are before or after the range that all ranks recorded", name,
               g.n_outside);
    uint64_t n_bad = 0;
    for (row_t i = 0; i < n && n_bad <= MAX_REPORTED; i++) {
        const struct collective_call *first = call_at(c, &matches[i], 0);
        if (!first->in_split && !first->out_split)
            continue;
        struct arena_mark mark = arena_mark(c->arena);
        uint64_t n_before = n_bad;
        check_splits(c, &matches[i], &n_bad);
        if (n_bad == n_before) /* else a check was allocated after the mark */
            arena_release(c->arena, mark);
    }
}

/* ---- Messages ---- */

/* Messages of a sender to a receiver in a group. */
static void check_messages(const struct checker *c, const struct collective_match *matches, row_t n) {
    uint64_t n_unmatched = 0, n_different = 0;
    const struct collective_match *unmatched = NULL, *different = NULL;
    struct rank_list ranks = {0};
    if (!is_usable(c, matches->from) || !is_usable(c, matches->to))
        return;
    for (row_t i = 0; i < n; i++) {
        const struct collective_match *match = &matches[i];
        const struct collective_call *first = call_at(c, match, 0);
        if (match->n == 1 || first->is_send == call_at(c, match, 1)->is_send) {
            unmatched = n_unmatched++ ? unmatched : match;
        } else if (first->n_in != call_at(c, match, 1)->n_in || first->type != call_at(c, match, 1)->type) {
            different = n_different++ ? different : match;
        }
    }
    rank_list_add(&ranks, MIN(matches->from, matches->to));
    rank_list_add(&ranks, MAX(matches->from, matches->to));
    const char *group = group_name(c, matches->group), *rank_text = rank_list_text(&ranks);
    if (unmatched)
        report(c, check_at(c, CHECK_WARNING, "unmatched message", rank_text, unmatched, call_at(c, unmatched, 0)),
               "group %.60s: %" PRIu64 " sends or receives from rank %" PRId64 " to %" PRId64
               " have no counterpart, the first is number %" PRId64,
               group, n_unmatched, matches->from, matches->to, unmatched->number);
    if (different)
        report(c, check_at(c, CHECK_ERROR, "different message", rank_text, different, call_at(c, different, 0)),
               "group %.60s: %" PRIu64 " messages from rank %" PRId64 " to %" PRId64
               " differ in size or type between sender and receiver, the first is number %" PRId64,
               group, n_different, matches->from, matches->to, different->number);
}

static bool is_same_run(const struct collective_match *a, const struct collective_match *b) {
    return a->group == b->group && a->is_message == b->is_message && a->what == b->what && a->from == b->from &&
           a->to == b->to;
}

enum sutra_status collective_checks_find(const struct collective_calls *calls, const struct collective_matches *matches,
                                         const int64_t *ranks, size_t n_ranks, struct arena *arena,
                                         struct collective_checks *checks, struct sutra_error *error) {
    struct checker c = {.calls = calls,
                        .matches = matches,
                        .ranks = ranks,
                        .n_ranks = n_ranks,
                        .foreign = arena_zeros(arena, n_ranks, sizeof *c.foreign),
                        .members = arena_alloc(arena, calls->n_groups, sizeof *c.members),
                        .n_members = arena_alloc(arena, calls->n_groups, sizeof *c.n_members),
                        .arena = arena,
                        .checks = checks};
    *checks = (struct collective_checks){0};
    for (uint32_t i = 0; i < calls->n_groups && !arena->failed; i++)
        c.members[i] = collective_group_ranks(calls, i, arena, &c.n_members[i]);
    TRY(arena_status(arena, error));
    check_foreign_traces(&c);
    check_missing_ranks(&c);
    bool *has_collectives = arena_zeros(arena, calls->n_groups, 1);
    TRY(arena_status(arena, error));
    for (row_t i = 0; i < matches->n && calls->from_logs; i++)
        has_collectives[matches->list[i].group] |= !matches->list[i].is_message;
    for (uint32_t i = 0; i < calls->n_groups; i++) {
        const struct collective_group *group = &calls->groups[i];
        const int64_t n_members = (int64_t)c.n_members[i];
        if (has_collectives[i] && group->size > n_members) /* the ranks of members without records are unknown */
            report(&c, check_of(&c, CHECK_WARNING, "missing rank", "", i),
                   "group %.60s: %" PRId64 " of its %" PRId64 " ranks have no records", group_name(&c, i),
                   group->size - n_members, group->size);
        if (n_members != 0 && group->size != CALL_UNKNOWN && group->size != n_members && !calls->from_logs)
            report(&c, check_of(&c, CHECK_ERROR, "group size", "", i),
                   "group %.60s records a size of %" PRId64 ", but lists %zu members: %.80s", group_name(&c, i),
                   group->size, c.n_members[i], strings_text(&calls->strings, group->members));
    }
    for (row_t begin = 0, end; begin < matches->n && !arena->failed; begin = end) {
        for (end = begin; end < matches->n && is_same_run(&matches->list[begin], &matches->list[end]);)
            end++;
        (matches->list[begin].is_message ? check_messages : check_collectives)(&c, &matches->list[begin], end - begin);
    }
    uint64_t n_unrecorded = 0;
    for (row_t i = 1; i < matches->n && calls->from_logs; i++) {
        const struct collective_match *match = &matches->list[i];
        if (!match->is_message && is_same_run(match - 1, match))
            n_unrecorded += (uint64_t)match->number - (uint64_t)match[-1].number - 1;
    }
    if (n_unrecorded)
        report(&c, check_of(&c, CHECK_NOTE, "unrecorded collectives", "", UINT32_MAX),
               "no rank recorded %" PRIu64 " of the numbers of collectives: smaller than "
               "NCCL_INSPECTOR_DUMP_MIN_SIZE_BYTES (8,192 bytes), or lost in all ring buffers",
               n_unrecorded);
    if (matches->n_repeated)
        report(&c, check_of(&c, CHECK_WARNING, "repeated records", "", UINT32_MAX),
               "%" PRIu64 " records repeat a number of their rank: skipped; pass each log once",
               (uint64_t)matches->n_repeated);
    if (calls->n_untimed)
        report(&c, check_of(&c, CHECK_NOTE, "untimed records", "", UINT32_MAX),
               "%" PRIu64 " records have no time of the GPU (kernel_cpu or collective_cpu): skipped", calls->n_untimed);
    if (calls->n_untold)
        report(&c, check_of(&c, CHECK_NOTE, "unrecorded collectives", "", UINT32_MAX),
               "%" PRIu64
               " communication kernels have no group, size and number (older PyTorch versions do not record them)",
               calls->n_untold);
    return arena_status(arena, error);
}
