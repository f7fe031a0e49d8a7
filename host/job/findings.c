/*
 * findings.c - what is wrong with a job: ranks that are not there, files that fit nowhere, collectives that differ or are
 * lost, messages without their other half, clocks.
 *
 * Profiles seldom begin and end at the same collective on all ranks. So a group's members are compared where all of them
 * have collectives; what lies before or behind is only told.
 */
#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "job/whole.h"

const char *const finding_severities[] = {
    [FINDING_NOTE] = "note", [FINDING_WARNING] = "warning", [FINDING_ERROR] = "error"};

/* So many numbers of a group are told where they differ. */
#define DIFFERENT_TOLD 3

/* A clock is told where it is off by more than this, and more than so many times its spread. */
#define CLOCK_NS    10000
#define CLOCK_TIMES 5

#define RANKS_TEXT 80

/* ---- Findings ---- */

static const char *keep_text(struct arena *arena, const char *text) {
    size_t size = strlen(text) + 1;
    char *kept = arena_take(arena, size, 1);
    return kept ? memcpy(kept, text, size) : NULL;
}

__attribute__((format(printf, 5, 6))) static void find(struct job_whole *whole, enum finding_severity severity,
                                                       const char *rule, const char *ranks, const char *format, ...) {
    char text[800];
    va_list words;
    va_start(words, format);
    vsnprintf(text, sizeof text, format, words);
    va_end(words);
    struct job_finding finding = {.severity = severity,
                                  .rule = rule,
                                  .ranks = keep_text(&whole->arena, ranks),
                                  .text = keep_text(&whole->arena, text)};
    if (!arena_grow(&whole->arena, &whole->findings, whole->n_findings, &whole->findings_capacity,
                    sizeof *whole->findings) ||
        !finding.ranks || !finding.text)
        return;
    whole->findings[whole->n_findings++] = finding;
    whole->n_errors += severity == FINDING_ERROR;
}

/* A list of ranks that is being told: "0-2, 7". */
struct ranks_text {
    char text[RANKS_TEXT];
    size_t length;
    int64_t first, last; /* of the run at hand */
    bool any, cut;
};

static void end_run(struct ranks_text *ranks) {
    size_t left = sizeof ranks->text - ranks->length;
    if (!ranks->any || ranks->cut)
        return;
    if (left < 50) {
        ranks->length += (size_t)snprintf(ranks->text + ranks->length, left, ", ...");
        ranks->cut = true;
        return;
    }
    ranks->length +=
        (size_t)snprintf(ranks->text + ranks->length, left, "%s%" PRId64, ranks->length ? ", " : "", ranks->first);
    left = sizeof ranks->text - ranks->length;
    if (ranks->last > ranks->first)
        ranks->length += (size_t)snprintf(ranks->text + ranks->length, left, "%s%" PRId64,
                                          ranks->last == ranks->first + 1 ? ", " : "-", ranks->last);
}

/* Ranks come in rising order. */
static void add_rank(struct ranks_text *ranks, int64_t rank) {
    if (ranks->any && rank == ranks->last + 1) {
        ranks->last = rank;
        return;
    }
    end_run(ranks);
    ranks->any = true;
    ranks->first = ranks->last = rank;
}

static const char *ranks_told(struct ranks_text *ranks) {
    end_run(ranks);
    return ranks->text;
}

/* ---- Ranks and files ---- */

static void find_missing(struct job_whole *whole) {
    struct ranks_text none = {0}, undone = {0};
    int64_t n_none = 0;
    size_t at = 0;
    for (int64_t rank = 0; rank < whole->world_size; rank++) {
        while (at < whole->n_ranks && whole->ranks[at].rank < rank)
            at++;
        bool planned = at < whole->n_ranks && whole->ranks[at].rank == rank;
        if (!planned)
            add_rank(&none, rank);
        n_none += !planned;
        if (planned && whole->ranks[at].state == RANK_MISSING)
            add_rank(&undone, rank);
    }
    if (n_none)
        find(whole, FINDING_ERROR, "missing rank", ranks_told(&none),
             "no pair of traces is there: %" PRId64 " of %" PRId64 " ranks", n_none, whole->world_size);
    if (whole->n_missing)
        find(whole, FINDING_ERROR, "not linked", ranks_told(&undone),
             "%zu %s not linked yet: the work was interrupted, or a part of it has not run; run it again",
             whole->n_missing, whole->n_missing == 1 ? "rank is" : "ranks are");
}

static void find_broken(struct job_whole *whole) {
    for (size_t i = 0; i < whole->n_ranks; i++) {
        struct ranks_text ranks = {0};
        if (whole->ranks[i].state != RANK_BROKEN)
            continue;
        add_rank(&ranks, whole->ranks[i].rank);
        find(whole, FINDING_ERROR, "broken rank", ranks_told(&ranks), "%.700s", whole->ranks[i].error);
    }
    for (size_t i = 0; i < whole->n_left; i++)
        find(whole, FINDING_WARNING, "left out", "", "%.400s: %.380s", whole->left[i].path, whole->left[i].why);
}

/* ---- Traces of another rank ---- */

static struct whole_rank *find_rank(const struct job_whole *whole, int64_t rank) {
    size_t low = 0, high = whole->n_ranks;
    while (low < high) {
        size_t middle = low + (high - low) / 2;
        if (whole->ranks[middle].rank < rank)
            low = middle + 1;
        else
            high = middle;
    }
    return low < whole->n_ranks && whole->ranks[low].rank == rank ? &whole->ranks[low] : NULL;
}

static int compare_ranks(const void *left, const void *right) {
    const int64_t *a = left, *b = right;
    return (*a > *b) - (*a < *b);
}

/* Counts collectives of groups that their rank is not in. */
static void count_foreign(struct job_whole *whole) {
    const struct collective_calls *calls = &whole->calls;
    int64_t **members = arena_take(&whole->arena, calls->n_groups, sizeof *members);
    size_t *n = arena_take(&whole->arena, calls->n_groups, sizeof *n);
    for (uint32_t i = 0; i < calls->n_groups && members && n; i++)
        members[i] = collective_group_ranks(calls, i, &whole->arena, &n[i]);
    for (uint64_t i = 0; i < calls->n && !whole->arena.failed; i++) {
        const struct collective_call *call = &calls->list[i];
        uint32_t group = call->group;
        struct whole_rank *rank = find_rank(whole, call->rank);
        if (n[group] == 0 || bsearch(&call->rank, members[group], n[group], sizeof **members, compare_ranks))
            continue;
        if (rank->n_foreign++ == 0)
            rank->foreign = group;
    }
}

static void find_foreign(struct job_whole *whole) {
    const struct collective_calls *calls = &whole->calls;
    count_foreign(whole);
    for (size_t i = 0; i < whole->n_ranks; i++) {
        struct ranks_text ranks = {0};
        const struct collective_group *group = &calls->groups[whole->ranks[i].foreign];
        if (whole->ranks[i].n_foreign == 0)
            continue;
        add_rank(&ranks, whole->ranks[i].rank);
        find(whole, FINDING_ERROR, "another rank's trace", ranks_told(&ranks),
             "%" PRIu64
             " of its collectives are of groups that it is not in, as %.60s of the ranks %.80s: is the device "
             "trace another rank's?",
             whole->ranks[i].n_foreign, strings_text(&calls->strings, group->name),
             strings_text(&calls->strings, group->members));
    }
}

/* ---- Collectives of a group ---- */

/* What a group's members have. */
struct group_look {
    struct job_whole *whole;
    uint32_t group;
    const struct collective_match *matches;
    row_t n_matches;
    int64_t *ranks; /* members whose traces are there */
    size_t n_ranks;
    int64_t *first, *last; /* numbers, by member */
    uint64_t *n_lost;      /* by member */
    int64_t *first_lost;
    int64_t begin, end; /* numbers that all have, those between them */
    uint64_t n_outside, n_different;
};

static const struct collective_call *call_at(const struct job_whole *whole, const struct collective_match *match,
                                             row_t i) {
    return &whole->calls.list[whole->matches.order[match->first + i]];
}

static size_t member_place(const struct group_look *look, int64_t rank) {
    size_t low = 0, high = look->n_ranks;
    while (low < high) {
        size_t middle = low + (high - low) / 2;
        if (look->ranks[middle] < rank)
            low = middle + 1;
        else
            high = middle;
    }
    return low < look->n_ranks && look->ranks[low] == rank ? low : SIZE_MAX;
}

/* Whether a rank's collectives can be compared with those of others. */
static bool is_done(const struct job_whole *whole, int64_t rank) {
    const struct whole_rank *found = find_rank(whole, rank);
    return found && found->state == RANK_DONE && found->n_foreign == 0;
}

/* Members that the group tells and that are there; where it tells none, those that have collectives of it. */
static void find_members(struct group_look *look) {
    struct job_whole *whole = look->whole;
    size_t n = 0;
    int64_t *told = collective_group_ranks(&whole->calls, look->group, &whole->arena, &n);
    look->ranks = told;
    for (size_t i = 0; told && i < n; i++)
        if (is_done(whole, told[i]))
            look->ranks[look->n_ranks++] = told[i];
    if (n > 0 || !told)
        return;
    const struct collective_match *match = look->matches;
    for (row_t i = 0; i < look->n_matches; i++)
        if (look->matches[i].n > match->n)
            match = &look->matches[i];
    look->ranks = arena_take(&whole->arena, match->n, sizeof *look->ranks);
    for (row_t i = 0; look->ranks && i < match->n; i++)
        look->ranks[look->n_ranks++] = call_at(whole, match, i)->rank;
}

static void find_range(struct group_look *look) {
    for (size_t i = 0; i < look->n_ranks; i++) {
        look->first[i] = INT64_MAX;
        look->last[i] = INT64_MIN;
    }
    for (row_t i = 0; i < look->n_matches; i++) {
        const struct collective_match *match = &look->matches[i];
        for (row_t k = 0; k < match->n; k++) {
            size_t place = member_place(look, call_at(look->whole, match, k)->rank);
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
static bool is_same(const struct job_whole *whole, const struct collective_call *a, const struct collective_call *b) {
    const char *what = strings_text(&whole->calls.strings, a->what);
    bool own_sizes = strstr(what, "alltoallv") || strstr(what, "all_to_allv") || strcmp(what, "gather") == 0 ||
                     strcmp(what, "scatter") == 0 || strstr(what, "coalesced");
    return a->what == b->what && a->type == b->type && (own_sizes || (a->n_in == b->n_in && a->n_out == b->n_out));
}

/* The call that most ranks agree with, by counting down: it is right where there is a majority. */
static const struct collective_call *most_common(const struct job_whole *whole, const struct collective_match *match) {
    const struct collective_call *kept = call_at(whole, match, 0);
    row_t n = 0;
    for (row_t i = 0; i < match->n; i++) {
        const struct collective_call *call = call_at(whole, match, i);
        if (n == 0)
            kept = call;
        if (is_same(whole, kept, call))
            n++;
        else
            n--;
    }
    return kept;
}

static void describe(const struct job_whole *whole, const struct collective_call *call, char *text, size_t size) {
    const struct strings *strings = &whole->calls.strings;
    snprintf(text, size, "%.40s of %" PRId64 " %.20s", strings_text(strings, call->what),
             call->n_in > call->n_out ? call->n_in : call->n_out, strings_text(strings, call->type));
}

static const char *group_name(const struct group_look *look) {
    const struct collective_calls *calls = &look->whole->calls;
    return strings_text(&calls->strings, calls->groups[look->group].name);
}

static void compare_match(struct group_look *look, const struct collective_match *match) {
    struct job_whole *whole = look->whole;
    const struct collective_call *most = most_common(whole, match), *other = NULL;
    struct ranks_text ranks = {0};
    char as_most[100], as_other[100];
    for (row_t i = 0; i < match->n; i++) {
        const struct collective_call *call = call_at(whole, match, i);
        if (is_same(whole, most, call))
            continue;
        other = other ? other : call;
        add_rank(&ranks, call->rank);
    }
    if (!other || look->n_different++ >= DIFFERENT_TOLD)
        return;
    describe(whole, most, as_most, sizeof as_most);
    describe(whole, other, as_other, sizeof as_other);
    find(whole, FINDING_ERROR, "different collective", ranks_told(&ranks),
         "group %.60s, number %" PRId64 ": %s, and %s on the other ranks", group_name(look), match->number, as_other,
         as_most);
}

/* Members that lack a collective that all others may have. Both lists are by rank. */
static void count_lost(struct group_look *look, const struct collective_match *match) {
    row_t at = 0;
    if (match->number < look->begin || match->number > look->end) {
        look->n_outside++;
        return;
    }
    for (size_t i = 0; i < look->n_ranks; i++) {
        while (at < match->n && call_at(look->whole, match, at)->rank < look->ranks[i])
            at++;
        if (at < match->n && call_at(look->whole, match, at)->rank == look->ranks[i])
            continue;
        if (look->n_lost[i]++ == 0)
            look->first_lost[i] = match->number;
    }
}

static void tell_lost(const struct group_look *look) {
    for (size_t i = 0; i < look->n_ranks; i++) {
        struct ranks_text ranks = {0};
        if (look->n_lost[i] == 0)
            continue;
        add_rank(&ranks, look->ranks[i]);
        find(look->whole, FINDING_ERROR, "lost collective", ranks_told(&ranks),
             "group %.60s: %" PRIu64 " of its collectives are on other ranks only, the first is number %" PRId64,
             group_name(look), look->n_lost[i], look->first_lost[i]);
    }
    if (look->n_different > DIFFERENT_TOLD)
        find(look->whole, FINDING_ERROR, "different collective", "", "group %.60s: %" PRIu64 " more such numbers",
             group_name(look), look->n_different - DIFFERENT_TOLD);
    if (look->n_outside)
        find(look->whole, look->whole->matches.by_order[look->group] ? FINDING_WARNING : FINDING_NOTE, "uneven profile",
             "", "group %.60s: %" PRIu64 " collectives are before or behind those that all ranks have",
             group_name(look), look->n_outside);
}

static void look_at_group(struct job_whole *whole, const struct collective_match *matches, row_t n) {
    struct group_look look = {.whole = whole, .group = matches->group, .matches = matches, .n_matches = n};
    struct arena *arena = &whole->arena;
    find_members(&look);
    look.first = arena_take(arena, look.n_ranks, sizeof *look.first);
    look.last = arena_take(arena, look.n_ranks, sizeof *look.last);
    look.n_lost = arena_zeros(arena, look.n_ranks, sizeof *look.n_lost);
    look.first_lost = arena_take(arena, look.n_ranks, sizeof *look.first_lost);
    if (arena->failed)
        return;
    find_range(&look);
    for (row_t i = 0; i < n; i++) {
        compare_match(&look, &matches[i]);
        count_lost(&look, &matches[i]);
    }
    tell_lost(&look);
}

/* ---- Messages ---- */

/* Messages of a sender to a receiver in a group. */
static void look_at_route(struct job_whole *whole, const struct collective_match *matches, row_t n) {
    uint64_t n_lonely = 0, n_different = 0;
    const struct collective_match *lonely = NULL, *different = NULL;
    struct ranks_text ranks = {0};
    if (!is_done(whole, matches->from) || !is_done(whole, matches->to))
        return;
    for (row_t i = 0; i < n; i++) {
        const struct collective_match *match = &matches[i];
        const struct collective_call *first = call_at(whole, match, 0);
        if (match->n == 1 || first->is_send == call_at(whole, match, 1)->is_send) {
            lonely = n_lonely++ ? lonely : match;
        } else if (first->n_in != call_at(whole, match, 1)->n_in || first->type != call_at(whole, match, 1)->type) {
            different = n_different++ ? different : match;
        }
    }
    add_rank(&ranks, matches->from < matches->to ? matches->from : matches->to);
    add_rank(&ranks, matches->from < matches->to ? matches->to : matches->from);
    const struct collective_calls *calls = &whole->calls;
    const char *group = strings_text(&calls->strings, calls->groups[matches->group].name), *told = ranks_told(&ranks);
    if (lonely)
        find(whole, FINDING_WARNING, "lonely message", told,
             "group %.60s: %" PRIu64 " sends or receives from rank %" PRId64 " to %" PRId64
             " are on one side only, the first is number %" PRId64,
             group, n_lonely, matches->from, matches->to, lonely->number);
    if (different)
        find(whole, FINDING_ERROR, "different message", told,
             "group %.60s: %" PRIu64 " messages from rank %" PRId64 " to %" PRId64
             " have another size or type where they arrive, the first is number %" PRId64,
             group, n_different, matches->from, matches->to, different->number);
}

static bool is_of_run(const struct collective_match *a, const struct collective_match *b) {
    return a->group == b->group && a->is_message == b->is_message && a->from == b->from && a->to == b->to;
}

static void find_in_groups(struct job_whole *whole) {
    const struct collective_match *list = whole->matches.list;
    for (row_t begin = 0, end; begin < whole->matches.n && !whole->arena.failed; begin = end) {
        for (end = begin; end < whole->matches.n && is_of_run(&list[begin], &list[end]);)
            end++;
        (list[begin].is_message ? look_at_route : look_at_group)(whole, list + begin, end - begin);
    }
    if (whole->calls.n_untold)
        find(whole, FINDING_NOTE, "untold collectives", "",
             "%" PRIu64 " kernels of collectives do not tell group, size and number, as those of older PyTorch",
             whole->calls.n_untold);
}

/* ---- Clocks ---- */

static void find_clocks(struct job_whole *whole) {
    struct ranks_text alone = {0};
    for (row_t i = 1; i < whole->n_hosts; i++) {
        const struct host_clock *host = &whole->hosts[i];
        struct ranks_text ranks = {0};
        if (llabs(host->offset_ns) <= CLOCK_NS || llabs(host->offset_ns) <= CLOCK_TIMES * host->spread_ns)
            continue;
        for (int64_t rank = host->first_rank; rank <= host->last_rank; rank++)
            add_rank(&ranks, rank);
        find(whole, FINDING_NOTE, "clock", ranks_told(&ranks),
             "the clock of host %" PRId64 " is %.1f us %s that of the first host, to within %.1f us", host->host,
             (double)llabs(host->offset_ns) / 1e3, host->offset_ns > 0 ? "ahead of" : "behind",
             (double)host->spread_ns / 1e3);
    }
    for (row_t i = 1; i < whole->n_clocks; i++)
        if (whole->clocks[i].reference != whole->clocks[0].rank)
            add_rank(&alone, whole->clocks[i].rank);
    if (alone.any)
        find(whole, FINDING_NOTE, "clock", ranks_told(&alone),
             "no collective joins these ranks with rank %" PRId64 ": their clocks are not compared",
             whole->clocks[0].rank);
}

/* The gravest first; of those, in the order in which they were found. */
static void sort_findings(struct job_whole *whole) {
    struct job_finding *sorted = arena_take(&whole->arena, whole->n_findings, sizeof *sorted);
    uint64_t n = 0;
    for (int severity = FINDING_ERROR; severity >= FINDING_NOTE && sorted; severity--)
        for (uint64_t i = 0; i < whole->n_findings; i++)
            if ((int)whole->findings[i].severity == severity)
                sorted[n++] = whole->findings[i];
    whole->findings = sorted;
}

void job_findings_find(struct job_whole *whole) {
    find_missing(whole);
    find_broken(whole);
    find_foreign(whole);
    find_in_groups(whole);
    find_clocks(whole);
    sort_findings(whole);
}
