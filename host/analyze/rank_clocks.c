/*
 * rank_clocks.c - clocks of ranks from the ends of collectives.
 *
 * A collective that needs the data of all ends everywhere at about the same time, whoever came last. So the ends of two
 * ranks differ by their clocks: the median over all collectives of both says by how much.
 *
 *     differences to the smallest rank of each collective --median--> edges between ranks --breadth first--> offsets
 */
#include <stdlib.h>
#include <string.h>

#include "analyze/collective_matches.h"
#include "base/error.h"

/* The end of a collective on `rank` less that on `from`. */
struct end_difference {
    row_t from, rank; /* places in the list of clocks */
    int64_t ns;
};

/* What two ranks' collectives say. */
struct clock_edge {
    row_t from, rank, n;
    int64_t offset_ns, spread_ns;
};

static int compare_integers(int64_t a, int64_t b) {
    return (a > b) - (a < b);
}

static int compare_ranks(const void *left, const void *right) {
    const struct rank_clock *a = left, *b = right;
    return compare_integers(a->rank, b->rank);
}

static int compare_differences(const void *left, const void *right) {
    const struct end_difference *a = left, *b = right;
    int order = compare_integers(a->from, b->from);
    order = order ? order : compare_integers(a->rank, b->rank);
    return order ? order : compare_integers(a->ns, b->ns);
}

static int compare_times(const void *left, const void *right) {
    const int64_t *a = left, *b = right;
    return compare_integers(*a, *b);
}

/* Whether no rank ends before all have begun. */
static bool ends_at_once(const char *what) {
    static const char *const beginnings[] = {"allreduce",       "all_reduce",     "allgather",
                                             "_allgather",      "all_gather",     "reducescatter",
                                             "_reduce_scatter", "reduce_scatter", "barrier"};
    for (size_t i = 0; i < sizeof beginnings / sizeof *beginnings; i++)
        if (strncmp(what, beginnings[i], strlen(beginnings[i])) == 0)
            return true;
    return strcmp(what, "all_to_all") == 0 || strcmp(what, "alltoall") == 0;
}

static row_t place_of(const struct rank_clock *clocks, row_t n, int64_t rank) {
    const struct rank_clock key = {.rank = rank};
    const struct rank_clock *found = bsearch(&key, clocks, n, sizeof *clocks, compare_ranks);
    return (row_t)(found - clocks);
}

static row_t list_ranks(const struct collective_calls *calls, struct rank_clock *clocks) {
    row_t n = 0;
    for (uint64_t i = 0; i < calls->n; i++)
        clocks[i] = (struct rank_clock){.rank = calls->list[i].rank};
    qsort(clocks, calls->n, sizeof *clocks, compare_ranks);
    for (uint64_t i = 0; i < calls->n; i++)
        if (i == 0 || clocks[i].rank != clocks[n - 1].rank)
            clocks[n++] = clocks[i];
    return n;
}

/* Differences of one collective. A rank that is there twice was not matched well. */
static row_t add_differences(const struct collective_calls *calls, const struct collective_matches *matches,
                             const struct collective_match *match, const struct rank_clock *clocks, row_t n_clocks,
                             struct end_difference *to) {
    const row_t *rows = matches->order + match->first;
    const struct collective_call *first = &calls->list[rows[0]];
    row_t n = 0, from = place_of(clocks, n_clocks, first->rank);
    if (match->is_message || match->n < 2)
        return 0;
    for (row_t i = 1; i < match->n; i++) {
        const struct collective_call *call = &calls->list[rows[i]];
        if (call->what != first->what || call->rank == calls->list[rows[i - 1]].rank)
            return 0;
    }
    if (!ends_at_once(strings_text(&calls->strings, first->what)))
        return 0;
    for (row_t i = 1; i < match->n; i++) {
        const struct collective_call *call = &calls->list[rows[i]];
        to[n++] = (struct end_difference){from, place_of(clocks, n_clocks, call->rank), call->end_ns - first->end_ns};
    }
    return n;
}

/* The median of what each difference departs from the edge's offset; `scratch` has room for them. */
static int64_t median_departure(const struct end_difference *differences, row_t n, int64_t offset, int64_t *scratch) {
    for (row_t i = 0; i < n; i++)
        scratch[i] = llabs(differences[i].ns - offset);
    qsort(scratch, n, sizeof *scratch, compare_times);
    return scratch[n / 2];
}

/* An edge for each two ranks, and one the other way round. */
static row_t make_edges(const struct end_difference *differences, row_t n, int64_t *scratch, struct clock_edge *edges) {
    row_t n_edges = 0;
    for (row_t begin = 0, end; begin < n; begin = end) {
        const struct end_difference *first = &differences[begin];
        for (end = begin; end < n && differences[end].from == first->from && differences[end].rank == first->rank;)
            end++;
        int64_t offset = differences[begin + (end - begin) / 2].ns;
        int64_t spread = median_departure(first, end - begin, offset, scratch);
        edges[n_edges++] = (struct clock_edge){first->from, first->rank, end - begin, offset, spread};
        edges[n_edges++] = (struct clock_edge){first->rank, first->from, end - begin, -offset, spread};
    }
    return n_edges;
}

static int compare_edges(const void *left, const void *right) {
    const struct clock_edge *a = left, *b = right;
    int order = compare_integers(a->from, b->from);
    order = order ? order : compare_integers(b->n, a->n); /* the surest first */
    return order ? order : compare_integers(a->rank, b->rank);
}

/* Breadth first from the smallest rank. */
static void follow_edges(const struct clock_edge *edges, row_t n_edges, struct rank_clock *clocks, row_t n,
                         row_t *queue, row_t *first_edge) {
    for (row_t i = 0, edge = 0; i <= n; i++) {
        while (edge < n_edges && edges[edge].from < i)
            edge++;
        first_edge[i] = edge;
    }
    row_t n_queue = 0;
    queue[n_queue++] = 0;
    for (row_t at = 0; at < n_queue; at++) {
        row_t from = queue[at];
        for (row_t edge = first_edge[from]; edge < first_edge[from + 1]; edge++) {
            struct rank_clock *clock = &clocks[edges[edge].rank];
            if (clock->n > 0 || edges[edge].rank == 0)
                continue;
            clock->offset_ns = clocks[from].offset_ns + edges[edge].offset_ns;
            clock->spread_ns =
                edges[edge].spread_ns > clocks[from].spread_ns ? edges[edge].spread_ns : clocks[from].spread_ns;
            clock->n = edges[edge].n;
            queue[n_queue++] = edges[edge].rank;
        }
    }
}

enum sutra_status rank_clocks_find(const struct collective_calls *calls, const struct collective_matches *matches,
                                   struct arena *arena, struct rank_clock **clocks, row_t *n,
                                   struct sutra_error *error) {
    struct rank_clock *made = arena_take(arena, calls->n, sizeof *made);
    struct arena_mark mark = arena_mark(arena);
    struct end_difference *differences = arena_take(arena, calls->n, sizeof *differences);
    struct clock_edge *edges = arena_take(arena, 2 * calls->n, sizeof *edges);
    int64_t *scratch = arena_take(arena, calls->n, sizeof *scratch);
    row_t *queue = arena_take(arena, calls->n, sizeof *queue);
    row_t *first_edge = arena_take(arena, calls->n + 2, sizeof *first_edge);
    enum sutra_status status = arena_status(arena, error);
    row_t n_made = status || calls->n == 0 ? 0 : list_ranks(calls, made), n_differences = 0;
    for (row_t i = 0; i < matches->n && n_made > 0; i++)
        n_differences += add_differences(calls, matches, &matches->list[i], made, n_made, differences + n_differences);
    if (n_made > 0) {
        qsort(differences, n_differences, sizeof *differences, compare_differences);
        row_t n_edges = make_edges(differences, n_differences, scratch, edges);
        qsort(edges, n_edges, sizeof *edges, compare_edges);
        follow_edges(edges, n_edges, made, n_made, queue, first_edge);
    }
    arena_release(arena, mark);
    *clocks = made;
    *n = n_made;
    return status;
}
