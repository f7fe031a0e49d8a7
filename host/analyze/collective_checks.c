/*
 * collective_checks.c - group by group, what its members have in common, and what not.
 */
#include "analyze/collective_checks.h"

#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "analyze/ranks.h"
#include "base/error.h"
#include "base/shared.h"
#include "facts/collectives.h"

const char *const check_severity_names[] = {
    [CHECK_NOTE] = "note", [CHECK_WARNING] = "warning", [CHECK_ERROR] = "error"};

/* So many numbers of a group are told where they differ. */
#define DIFFERENT_TOLD 3

struct checking {
    const struct collective_calls *calls;
    const struct collective_matches *matches;
    const int64_t *ranks; /* whose traces are there */
    size_t n_ranks;
    bool *foreign;     /* by place among them: its trace is another rank's */
    int64_t **members; /* of each group, as it tells them; n_members 0: it does not */
    size_t *n_members;
    struct arena *arena;
    struct collective_checks *checks;
};

/* ---- Checks ---- */

static const char *keep_text(struct arena *arena, const char *text) {
    size_t size = strlen(text) + 1;
    char *kept = arena_take(arena, size, 1);
    return kept ? memcpy(kept, text, size) : "";
}

/* Adds a check, whose texts are copied. */
__attribute__((format(printf, 3, 4))) static void find(const struct checking *checking, struct collective_check check,
                                                       const char *format, ...) {
    struct collective_checks *checks = checking->checks;
    char text[800];
    va_list words;
    va_start(words, format);
    vsnprintf(text, sizeof text, format, words);
    va_end(words);
    check.text = keep_text(checking->arena, text);
    check.ranks = keep_text(checking->arena, check.ranks);
    check.group = keep_text(checking->arena, check.group);
    if (arena_grow(checking->arena, &checks->list, checks->n, &checks->capacity, sizeof *checks->list))
        checks->list[checks->n++] = check;
}

static const char *group_name(const struct checking *checking, uint32_t group) {
    return strings_text(&checking->calls->strings, checking->calls->groups[group].name);
}

/* Where something is: a call of a group. */
static struct collective_check check_at(const struct checking *checking, enum check_severity severity, const char *rule,
                                        const char *ranks, const struct collective_match *match,
                                        const struct collective_call *call) {
    return (struct collective_check){.severity = severity,
                                     .rule = rule,
                                     .group = group_name(checking, match->group),
                                     .number = match->number,
                                     .ranks = ranks,
                                     .rank = call->rank,
                                     .at_ns = call->start_ns};
}

/* Something of a group as a whole. */
static struct collective_check check_of(const struct checking *checking, enum check_severity severity, const char *rule,
                                        const char *ranks, uint32_t group) {
    return (struct collective_check){.severity = severity,
                                     .rule = rule,
                                     .group = group == UINT32_MAX ? "" : group_name(checking, group),
                                     .number = CALL_UNKNOWN,
                                     .ranks = ranks,
                                     .rank = CALL_UNKNOWN,
                                     .at_ns = CALL_UNKNOWN};
}

static const struct collective_call *call_at(const struct checking *checking, const struct collective_match *match,
                                             row_t i) {
    return collective_match_call(checking->calls, checking->matches, match, i);
}

/* The place of a rank in a rising list, or SIZE_MAX. */
static size_t place_in(const int64_t *ranks, size_t n, int64_t rank) {
    size_t low = 0, high = n;
    while (low < high) {
        size_t middle = low + (high - low) / 2;
        if (ranks[middle] < rank)
            low = middle + 1;
        else
            high = middle;
    }
    return low < n && ranks[low] == rank ? low : SIZE_MAX;
}

/* ---- Traces of another rank, and of none ---- */

static bool take_members(struct checking *checking) {
    const struct collective_calls *calls = checking->calls;
    checking->members = arena_take(checking->arena, calls->n_groups, sizeof *checking->members);
    checking->n_members = arena_take(checking->arena, calls->n_groups, sizeof *checking->n_members);
    checking->foreign = arena_zeros(checking->arena, checking->n_ranks, sizeof *checking->foreign);
    for (uint32_t i = 0; i < calls->n_groups && !checking->arena->failed; i++)
        checking->members[i] = collective_group_ranks(calls, i, checking->arena, &checking->n_members[i]);
    return !checking->arena->failed;
}

/* Collectives of groups that their rank is not in. */
static void find_foreign(struct checking *checking) {
    const struct collective_calls *calls = checking->calls;
    uint64_t *n = arena_zeros(checking->arena, checking->n_ranks, sizeof *n);
    const struct collective_call **first = arena_take(checking->arena, checking->n_ranks, sizeof(void *));
    for (uint64_t i = 0; i < calls->n && n && first; i++) {
        const struct collective_call *call = &calls->list[i];
        size_t n_members = checking->n_members[call->group];
        if (n_members == 0 || place_in(checking->members[call->group], n_members, call->rank) != SIZE_MAX)
            continue;
        size_t place = place_in(checking->ranks, checking->n_ranks, call->rank);
        if (place != SIZE_MAX && n[place]++ == 0)
            first[place] = call;
    }
    for (size_t i = 0; i < checking->n_ranks && n && first; i++) {
        struct rank_list ranks = {0};
        if (n[i] == 0)
            continue;
        checking->foreign[i] = true;
        rank_list_add(&ranks, checking->ranks[i]);
        struct collective_check check =
            check_of(checking, CHECK_ERROR, "another rank's trace", rank_list_text(&ranks), first[i]->group);
        check.rank = first[i]->rank;
        check.at_ns = first[i]->start_ns;
        find(checking, check,
             "%" PRIu64
             " of its collectives belong to groups without this rank, such as %.60s with ranks %.80s: check that the "
             "device trace is of this rank",
             n[i], check.group, strings_text(&calls->strings, calls->groups[first[i]->group].members));
    }
}

/* Members of groups whose traces are not there. */
static void find_missing(const struct checking *checking) {
    uint64_t n = 0, capacity = 0, n_missing = 0;
    int64_t *missing = NULL;
    struct rank_list ranks = {0};
    for (uint32_t group = 0; group < checking->calls->n_groups; group++)
        for (size_t i = 0; i < checking->n_members[group]; i++) {
            if (place_in(checking->ranks, checking->n_ranks, checking->members[group][i]) != SIZE_MAX)
                continue;
            if (!arena_grow(checking->arena, &missing, n, &capacity, sizeof *missing))
                return;
            missing[n++] = checking->members[group][i];
        }
    if (n > 0)
        qsort(missing, n, sizeof *missing, compare_int64s);
    for (uint64_t i = 0; i < n; i++) {
        bool is_new = i == 0 || missing[i] != missing[i - 1];
        n_missing += is_new;
        if (is_new)
            rank_list_add(&ranks, missing[i]);
    }
    if (n > 0)
        find(checking, check_of(checking, CHECK_WARNING, "missing rank", rank_list_text(&ranks), UINT32_MAX),
             "%" PRIu64 " %s missing: waits for these ranks and waits of these ranks are unknown", n_missing,
             n_missing == 1 ? "group member's trace is" : "group members' traces are");
}

static void find_sizes(const struct checking *checking) {
    for (uint32_t i = 0; i < checking->calls->n_groups; i++) {
        const struct collective_group *group = &checking->calls->groups[i];
        if (checking->n_members[i] == 0 || group->size == CALL_UNKNOWN ||
            group->size == (int64_t)checking->n_members[i])
            continue;
        find(checking, check_of(checking, CHECK_ERROR, "group size", "", i),
             "group %.60s records a size of %" PRId64 ", but lists %zu members: %.80s", group_name(checking, i),
             group->size, checking->n_members[i], strings_text(&checking->calls->strings, group->members));
    }
}

/* ---- Collectives of a group ---- */

/* What a group's members have. */
struct group_look {
    const struct checking *checking;
    uint32_t group;
    const struct collective_match *matches;
    row_t n_matches;
    int64_t *ranks; /* members whose traces are there */
    size_t n_ranks;
    int64_t *first, *last; /* numbers, by member */
    uint64_t *n_lost;      /* by member */
    const struct collective_match **first_lost;
    int64_t begin, end; /* numbers that all have, those between them */
    uint64_t n_outside, n_different;
};

/* Whether a rank's collectives can be compared with those of others. */
static bool is_usable(const struct checking *checking, int64_t rank) {
    size_t place = place_in(checking->ranks, checking->n_ranks, rank);
    return place != SIZE_MAX && !checking->foreign[place];
}

/* Members that the group tells and that are there; where it tells none, those that have collectives of it. */
static void find_members(struct group_look *look) {
    const struct checking *checking = look->checking;
    size_t n = checking->n_members[look->group], most;
    const struct collective_match *match = look->matches;
    for (row_t i = 0; i < look->n_matches; i++)
        if (look->matches[i].n > match->n)
            match = &look->matches[i];
    most = n > 0 ? n : match->n;
    look->ranks = arena_take(checking->arena, most, sizeof *look->ranks);
    for (size_t i = 0; look->ranks && i < most; i++) {
        int64_t rank = n > 0 ? checking->members[look->group][i] : call_at(checking, match, (row_t)i)->rank;
        if (is_usable(checking, rank))
            look->ranks[look->n_ranks++] = rank;
    }
}

static void find_range(struct group_look *look) {
    for (size_t i = 0; i < look->n_ranks; i++) {
        look->first[i] = INT64_MAX;
        look->last[i] = INT64_MIN;
    }
    for (row_t i = 0; i < look->n_matches; i++) {
        const struct collective_match *match = &look->matches[i];
        for (row_t k = 0; k < match->n; k++) {
            size_t place = place_in(look->ranks, look->n_ranks, call_at(look->checking, match, k)->rank);
            if (place == SIZE_MAX)
                continue;
            look->first[place] = match->number < look->first[place] ? match->number : look->first[place];
            look->last[place] = match->number > look->last[place] ? match->number : look->last[place];
        }
    }
    look->begin = INT64_MIN;
    look->end = INT64_MAX;
    for (size_t i = 0; i < look->n_ranks; i++) {
        if (look->first[i] > look->last[i])
            continue; /* it has none, which is told for itself */
        look->begin = look->first[i] > look->begin ? look->first[i] : look->begin;
        look->end = look->last[i] < look->end ? look->last[i] : look->end;
    }
}

/* Whether both ranks do the same. Sizes of some kinds are each rank's own. */
static bool is_same(const struct checking *checking, const struct collective_call *a, const struct collective_call *b) {
    if (a->what != b->what || a->type != b->type)
        return false;
    return (a->n_in == b->n_in && a->n_out == b->n_out) ||
           collective_sizes_differ(strings_text(&checking->calls->strings, a->what));
}

/* The call that most ranks agree with, by counting down: it is right where there is a majority. */
static const struct collective_call *most_common(const struct checking *checking,
                                                 const struct collective_match *match) {
    const struct collective_call *kept = call_at(checking, match, 0);
    row_t n = 0;
    for (row_t i = 0; i < match->n; i++) {
        const struct collective_call *call = call_at(checking, match, i);
        if (n == 0)
            kept = call;
        if (is_same(checking, kept, call))
            n++;
        else
            n--;
    }
    return kept;
}

static void describe(const struct checking *checking, const struct collective_call *call, char *text, size_t size) {
    const struct strings *strings = &checking->calls->strings;
    snprintf(text, size, "%.40s of %" PRId64 " %.20s", strings_text(strings, call->what),
             call->n_in > call->n_out ? call->n_in : call->n_out, strings_text(strings, call->type));
}

/* Whether a rank does at this number what the others do at one of its neighbours, and the other way round. */
static bool is_swapped(const struct group_look *look, const struct collective_match *match,
                       const struct collective_call *most, const struct collective_call *other) {
    const struct collective_match *around[] = {match - 1, match + 1};
    for (size_t i = 0; i < 2; i++) {
        bool there = i ? around[i] < look->matches + look->n_matches : match > look->matches;
        if (!there || !is_same(look->checking, most_common(look->checking, around[i]), other))
            continue;
        for (row_t k = 0; k < around[i]->n; k++) {
            const struct collective_call *call = call_at(look->checking, around[i], k);
            if (call->rank == other->rank)
                return is_same(look->checking, call, most);
        }
    }
    return false;
}

static void compare_match(struct group_look *look, const struct collective_match *match) {
    const struct checking *checking = look->checking;
    const struct collective_call *most = most_common(checking, match), *other = NULL;
    struct rank_list ranks = {0};
    char as_most[100], as_other[100];
    for (row_t i = 0; i < match->n; i++) {
        const struct collective_call *call = call_at(checking, match, i);
        if (is_same(checking, most, call))
            continue;
        other = other ? other : call;
        rank_list_add(&ranks, call->rank);
    }
    if (!other || look->n_different++ >= DIFFERENT_TOLD)
        return;
    describe(checking, most, as_most, sizeof as_most);
    describe(checking, other, as_other, sizeof as_other);
    bool swapped = is_swapped(look, match, most, other);
    struct collective_check check = check_at(checking, CHECK_ERROR, swapped ? "other order" : "different collective",
                                             rank_list_text(&ranks), match, other);
    check.hangs = true;
    find(checking, check, "group %.60s, number %" PRId64 ": %s, but %s on the other ranks%s", check.group,
         match->number, as_other, as_most, swapped ? ", which run the two in the opposite order" : "");
}

/* Members that lack a collective that all others may have. Both lists are by rank. */
static void count_lost(struct group_look *look, const struct collective_match *match) {
    row_t at = 0;
    if (match->number < look->begin || match->number > look->end) {
        look->n_outside++;
        return;
    }
    for (size_t i = 0; i < look->n_ranks; i++) {
        while (at < match->n && call_at(look->checking, match, at)->rank < look->ranks[i])
            at++;
        if (at < match->n && call_at(look->checking, match, at)->rank == look->ranks[i])
            continue;
        if (look->n_lost[i]++ == 0)
            look->first_lost[i] = match;
    }
}

static void tell_lost(const struct group_look *look) {
    const struct checking *checking = look->checking;
    for (size_t i = 0; i < look->n_ranks; i++) {
        struct rank_list ranks = {0};
        if (look->n_lost[i] == 0)
            continue;
        rank_list_add(&ranks, look->ranks[i]);
        const struct collective_match *match = look->first_lost[i];
        find(checking,
             check_at(checking, CHECK_ERROR, "lost collective", rank_list_text(&ranks), match,
                      call_at(checking, match, 0)),
             "group %.60s: the rank lacks %" PRIu64 " of the other ranks' collectives, the first is number %" PRId64,
             group_name(checking, look->group), look->n_lost[i], match->number);
    }
    if (look->n_different > DIFFERENT_TOLD)
        find(checking, check_of(checking, CHECK_ERROR, "different collective", "", look->group),
             "group %.60s: %" PRIu64 " more collectives differ between ranks", group_name(checking, look->group),
             look->n_different - DIFFERENT_TOLD);
    if (look->n_outside)
        find(checking,
             check_of(checking, checking->matches->by_order[look->group] ? CHECK_WARNING : CHECK_NOTE, "uneven profile",
                      "", look->group),
             "group %.60s: %" PRIu64 " collectives are before or after the range that all ranks recorded",
             group_name(checking, look->group), look->n_outside);
}

/* ---- Parts of exchanges ---- */

/* What each rank sends to each other must be what that receives from it. */
struct exchange {
    int64_t **in, **out; /* by place in the match; NULL: not told */
    size_t *n_in, *n_out;
};

static int64_t *read_parts(const struct checking *checking, uint32_t string, size_t *n) {
    const struct strings *strings = &checking->calls->strings;
    *n = 0;
    return string ? collective_list_read(strings_text(strings, string - 1), strings_length(strings, string - 1),
                                         checking->arena, n)
                  : NULL;
}

static int64_t sum_of(const int64_t *parts, size_t n) {
    int64_t sum = 0;
    for (size_t i = 0; i < n; i++)
        if (__builtin_add_overflow(sum, parts[i], &sum))
            return CALL_UNKNOWN;
    return sum;
}

static void find_parts(const struct checking *checking, const struct collective_match *match, const int64_t *members,
                       size_t n_members, uint64_t *n_bad) {
    struct arena *arena = checking->arena;
    struct exchange parts = {
        arena_take(arena, match->n, sizeof *parts.in), arena_take(arena, match->n, sizeof *parts.out),
        arena_take(arena, match->n, sizeof *parts.n_in), arena_take(arena, match->n, sizeof *parts.n_out)};
    for (row_t i = 0; i < match->n && !arena->failed; i++) {
        const struct collective_call *call = call_at(checking, match, i);
        parts.in[i] = read_parts(checking, call->in_split, &parts.n_in[i]);
        parts.out[i] = read_parts(checking, call->out_split, &parts.n_out[i]);
    }
    for (row_t i = 0; i < match->n && !arena->failed; i++) {
        const struct collective_call *call = call_at(checking, match, i), *other = NULL;
        size_t to = place_in(members, n_members, call->rank);
        bool sums = (parts.n_in[i] == 0 || sum_of(parts.in[i], parts.n_in[i]) == call->n_in) &&
                    (parts.n_out[i] == 0 || sum_of(parts.out[i], parts.n_out[i]) == call->n_out);
        for (row_t k = 0; k < match->n && parts.n_out[i] > 0 && sums && !other; k++) {
            size_t from = place_in(members, n_members, call_at(checking, match, k)->rank);
            if (to < parts.n_in[k] && from < parts.n_out[i] && parts.in[k][to] != parts.out[i][from])
                other = call_at(checking, match, k);
        }
        if ((sums && !other) || (*n_bad)++ >= DIFFERENT_TOLD)
            continue;
        struct rank_list ranks = {0};
        rank_list_add(&ranks, call->rank);
        struct collective_check check =
            check_at(checking, CHECK_ERROR, "split sizes", rank_list_text(&ranks), match, call);
        check.hangs = other != NULL;
        if (other)
            find(checking, check,
                 "group %.60s, number %" PRId64 ": rank %" PRId64 " sends another size than this rank receives from it",
                 check.group, match->number, other->rank);
        else
            find(checking, check, "group %.60s, number %" PRId64 ": the split sizes do not add up to the total",
                 check.group, match->number);
    }
}

static void find_exchanges(const struct group_look *look) {
    const struct checking *checking = look->checking;
    uint64_t n_bad = 0;
    for (row_t i = 0; i < look->n_matches && n_bad <= DIFFERENT_TOLD; i++) {
        const struct collective_match *match = &look->matches[i];
        const struct collective_call *first = call_at(checking, match, 0);
        struct arena_mark mark = arena_mark(checking->arena);
        uint64_t before = n_bad;
        if (!first->in_split && !first->out_split)
            continue;
        find_parts(checking, match, checking->members[look->group], checking->n_members[look->group], &n_bad);
        if (n_bad == before) /* what was found lies behind the mark */
            arena_release(checking->arena, mark);
    }
}

static void look_at_group(const struct checking *checking, const struct collective_match *matches, row_t n) {
    struct group_look look = {.checking = checking, .group = matches->group, .matches = matches, .n_matches = n};
    struct arena *arena = checking->arena;
    find_members(&look);
    look.first = arena_take(arena, look.n_ranks, sizeof *look.first);
    look.last = arena_take(arena, look.n_ranks, sizeof *look.last);
    look.n_lost = arena_zeros(arena, look.n_ranks, sizeof *look.n_lost);
    look.first_lost = arena_take(arena, look.n_ranks, sizeof(void *));
    if (arena->failed)
        return;
    find_range(&look);
    for (row_t i = 0; i < n; i++) {
        compare_match(&look, &matches[i]);
        count_lost(&look, &matches[i]);
    }
    tell_lost(&look);
    find_exchanges(&look);
}

/* ---- Messages ---- */

/* Messages of a sender to a receiver in a group. */
static void look_at_route(const struct checking *checking, const struct collective_match *matches, row_t n) {
    uint64_t n_lonely = 0, n_different = 0;
    const struct collective_match *lonely = NULL, *different = NULL;
    struct rank_list ranks = {0};
    if (!is_usable(checking, matches->from) || !is_usable(checking, matches->to))
        return;
    for (row_t i = 0; i < n; i++) {
        const struct collective_match *match = &matches[i];
        const struct collective_call *first = call_at(checking, match, 0);
        if (match->n == 1 || first->is_send == call_at(checking, match, 1)->is_send) {
            lonely = n_lonely++ ? lonely : match;
        } else if (first->n_in != call_at(checking, match, 1)->n_in ||
                   first->type != call_at(checking, match, 1)->type) {
            different = n_different++ ? different : match;
        }
    }
    rank_list_add(&ranks, matches->from < matches->to ? matches->from : matches->to);
    rank_list_add(&ranks, matches->from < matches->to ? matches->to : matches->from);
    const char *group = group_name(checking, matches->group), *told = rank_list_text(&ranks);
    if (lonely)
        find(checking,
             check_at(checking, CHECK_WARNING, "unmatched message", told, lonely, call_at(checking, lonely, 0)),
             "group %.60s: %" PRIu64 " sends or receives from rank %" PRId64 " to %" PRId64
             " have no counterpart, the first is number %" PRId64,
             group, n_lonely, matches->from, matches->to, lonely->number);
    if (different)
        find(checking,
             check_at(checking, CHECK_ERROR, "different message", told, different, call_at(checking, different, 0)),
             "group %.60s: %" PRIu64 " messages from rank %" PRId64 " to %" PRId64
             " differ in size or type between sender and receiver, the first is number %" PRId64,
             group, n_different, matches->from, matches->to, different->number);
}

static bool is_of_run(const struct collective_match *a, const struct collective_match *b) {
    return a->group == b->group && a->is_message == b->is_message && a->from == b->from && a->to == b->to;
}

static void find_in_groups(const struct checking *checking) {
    const struct collective_match *list = checking->matches->list;
    for (row_t begin = 0, end; begin < checking->matches->n && !checking->arena->failed; begin = end) {
        for (end = begin; end < checking->matches->n && is_of_run(&list[begin], &list[end]);)
            end++;
        (list[begin].is_message ? look_at_route : look_at_group)(checking, list + begin, end - begin);
    }
    if (checking->calls->n_untold)
        find(checking, check_of(checking, CHECK_NOTE, "unrecorded collectives", "", UINT32_MAX),
             "%" PRIu64
             " communication kernels have no group, size and number (older PyTorch versions do not record them)",
             checking->calls->n_untold);
}

enum sutra_status collective_checks_find(const struct collective_calls *calls, const struct collective_matches *matches,
                                         const int64_t *ranks, size_t n_ranks, struct arena *arena,
                                         struct collective_checks *checks, struct sutra_error *error) {
    struct checking checking = {
        .calls = calls, .matches = matches, .ranks = ranks, .n_ranks = n_ranks, .arena = arena, .checks = checks};
    *checks = (struct collective_checks){0};
    if (take_members(&checking)) {
        find_foreign(&checking);
        find_missing(&checking);
        find_sizes(&checking);
        find_in_groups(&checking);
    }
    return arena_status(arena, error);
}
