/*
 * hta_lateness.c - how late each rank comes to collectives, and how long it waits in them, by durations alone.
 *
 *     rank 0        [ all-reduce ...........]      waits for the others all this time but the last's
 *     rank 1              [ all-reduce .....]
 *     rank 2                      [ ........]      comes last: late by the difference of the durations
 *
 * A collective ends on all of its ranks at about one time, so whoever comes late has the short kernel: clocks need not
 * agree. The k-th collective of a name on a stream in a step, of one group where the trace tells groups, is the same on
 * all ranks. Sending and receiving is left out: it ends for two at a time. O(k log k) for collectives.
 */
#include <stdlib.h>
#include <string.h>

#include "analyze/hta/hta_stragglers.h"

struct rank_lateness {
    int64_t rank;
    int64_t n, n_last, late_ns, most_ns, wait_ns;
};

static int compare_integers(int64_t a, int64_t b) {
    return (a > b) - (a < b);
}

/* What is the same on all ranks. */
static int compare_kinds(const struct rank_collective *a, const struct rank_collective *b) {
    int order = compare_integers(a->step, b->step);
    if (!order)
        order = compare_integers(a->stream, b->stream);
    if (!order)
        order = compare_integers(a->name, b->name);
    return order ? order : compare_integers(a->group, b->group);
}

static int compare_in_rank(const void *left, const void *right) {
    const struct rank_collective *a = left, *b = right;
    int order = compare_kinds(a, b);
    if (!order)
        order = compare_integers(a->rank, b->rank);
    if (!order)
        order = compare_integers(a->start_ns, b->start_ns);
    return order ? order : compare_integers(a->index, b->index);
}

static int compare_over_ranks(const void *left, const void *right) {
    const struct rank_collective *a = left, *b = right;
    int order = compare_kinds(a, b);
    if (!order)
        order = compare_integers((int64_t)a->place, (int64_t)b->place);
    return order ? order : compare_integers(a->rank, b->rank);
}

/* Leaves out what is for two, and numbers the rest of each kind on each rank. */
static uint64_t number_in_ranks(struct hta_stragglers *stragglers) {
    uint64_t n = 0;
    for (uint64_t i = 0; i < stragglers->n; i++)
        if (!strstr(strings_text(&stragglers->strings, stragglers->list[i].name), "SendRecv"))
            stragglers->list[n++] = stragglers->list[i];
    qsort(stragglers->list, n, sizeof *stragglers->list, compare_in_rank);
    for (uint64_t i = 0; i < n; i++) {
        struct rank_collective *one = &stragglers->list[i];
        bool first = i == 0 || compare_kinds(one - 1, one) != 0 || one[-1].rank != one->rank;
        one->place = first ? 0 : one[-1].place + 1;
    }
    return n;
}

static int compare_rank(const void *key, const void *lateness) {
    return compare_integers(*(const int64_t *)key, ((const struct rank_lateness *)lateness)->rank);
}

/* One collective on all its ranks. */
static void judge(const struct rank_collective *list, uint64_t n, struct rank_lateness *ranks, uint64_t n_ranks) {
    uint64_t shortest = 0, longest = 0;
    for (uint64_t i = 1; i < n; i++) {
        shortest = list[i].dur_ns < list[shortest].dur_ns ? i : shortest;
        longest = list[i].dur_ns > list[longest].dur_ns ? i : longest;
    }
    for (uint64_t i = 0; i < n; i++) {
        struct rank_lateness *of_rank = bsearch(&list[i].rank, ranks, n_ranks, sizeof *ranks, compare_rank);
        int64_t late_ns = list[longest].dur_ns - list[i].dur_ns;
        of_rank->n++;
        of_rank->n_last += i == shortest && late_ns > 0;
        of_rank->late_ns += late_ns;
        of_rank->most_ns = late_ns > of_rank->most_ns ? late_ns : of_rank->most_ns;
        of_rank->wait_ns += list[i].dur_ns - list[shortest].dur_ns;
    }
}

static int compare_lateness(const void *left, const void *right) {
    const struct rank_lateness *a = left, *b = right;
    return a->late_ns != b->late_ns ? -compare_integers(a->late_ns, b->late_ns) : compare_integers(a->rank, b->rank);
}

static int compare_numbers(const void *left, const void *right) {
    return compare_integers(*(const int64_t *)left, *(const int64_t *)right);
}

static int64_t marks_of(int64_t rank, const int64_t *ranks, const int64_t *marks, uint64_t n) {
    const int64_t *found = bsearch(&rank, ranks, n, sizeof *ranks, compare_numbers);
    return found ? marks[found - ranks] : 0;
}

static bool add_rows(const struct hta_stragglers *stragglers, struct sutra_table *table, struct rank_lateness *ranks,
                     uint64_t n_ranks, struct arena *arena) {
    enum { CANDIDATES = 2 };
    int64_t *of = arena_take(arena, stragglers->n_metric, sizeof *of);
    int64_t *marks = arena_take(arena, stragglers->n_metric, sizeof *marks);
    if (arena->failed)
        return false;
    uint64_t n_marked = stragglers_mark(stragglers, CANDIDATES, of, marks, arena);
    qsort(ranks, n_ranks, sizeof *ranks, compare_lateness);
    for (uint64_t i = 0; i < n_ranks; i++) {
        if (ranks[i].n == 0)
            continue;
        table_integer(table, ranks[i].rank);
        table_integer(table, ranks[i].n);
        table_integer(table, ranks[i].n_last);
        table_real(table, us_of(ranks[i].late_ns));
        table_real(table, us_of(ranks[i].most_ns));
        table_real(table, us_of(ranks[i].wait_ns));
        table_integer(table, marks_of(ranks[i].rank, of, marks, n_marked));
    }
    return true;
}

bool lateness_add(struct hta_stragglers *stragglers, struct sutra_table *table, struct arena *arena) {
    struct rank_lateness *ranks = arena_zeros(arena, stragglers->n, sizeof *ranks);
    uint64_t n_ranks = 0;
    if (!ranks)
        return false;
    for (uint64_t i = 0; i < stragglers->n; i++) /* ranks rise */
        if (n_ranks == 0 || ranks[n_ranks - 1].rank != stragglers->list[i].rank)
            ranks[n_ranks++].rank = stragglers->list[i].rank;
    uint64_t n = number_in_ranks(stragglers);
    qsort(stragglers->list, n, sizeof *stragglers->list, compare_over_ranks);
    for (uint64_t first = 0, end; first < n; first = end) {
        for (end = first + 1; end < n && compare_kinds(&stragglers->list[first], &stragglers->list[end]) == 0 &&
                              stragglers->list[end].place == stragglers->list[first].place;)
            end++;
        if (end - first > 1)
            judge(stragglers->list + first, end - first, ranks, n_ranks);
    }
    return add_rows(stragglers, table, ranks, n_ranks, arena);
}
