/*
 * rank_clocks.c - implements rank_clocks.h.
 *
 * A collective that needs the data of all ranks ends everywhere at about the same time, no matter which rank arrived
 * last. So the ends on two ranks differ by their clocks: the median over all their collectives is the offset, and the
 * medians of the first and the last third show the drift.
 *
 *     difference of ends   |              . x .                offset: median of all
 *     of ranks 0 and 3     |      . x .           line         drift:  medians x of the first and the last third
 *                          +--------------------> time
 */
#include <math.h>
#include <stdlib.h>

#include "analyze/rank_clocks.h"
#include "base/error.h"
#include "base/shared.h"
#include "columns/rows.h"
#include "facts/collectives.h"

/* ---- Waits ---- */

int64_t job_time(const struct job_collectives *job, const struct collective_call *call, int64_t ns) {
    row_t i = rank_clock_index(job->clocks, job->n_clocks, call->rank);
    return job->clock_set[i] ? rank_clock_time(&job->clocks[i], ns) : ns;
}

struct collective_moments collective_moments_of(const struct job_collectives *job,
                                                const struct collective_match *match) {
    struct collective_moments moments = {.first_ns = INT64_MAX,
                                         .arrival_ns = INT64_MIN,
                                         .before_ns = INT64_MIN,
                                         .first_end_ns = INT64_MAX,
                                         .last_end_ns = INT64_MIN,
                                         .transfer_ns = INT64_MAX};
    for (row_t i = 0; i < match->n; i++) {
        const struct collective_call *call = collective_match_call(job->calls, job->matches, match, i);
        int64_t start = job_time(job, call, call->start_ns), end = job_time(job, call, call->end_ns);
        int64_t duration = moment_minus(call->end_ns, call->start_ns);
        if (start < moments.first_ns) {
            moments.first_ns = start;
            moments.first = i;
        }
        if (start > moments.arrival_ns) {
            moments.before_ns = moments.arrival_ns;
            moments.arrival_ns = start;
            moments.last = i;
        } else if (start > moments.before_ns) {
            moments.before_ns = start;
        }
        moments.first_end_ns = MIN(end, moments.first_end_ns);
        moments.last_end_ns = MAX(end, moments.last_end_ns);
        if (duration < moments.transfer_ns) {
            moments.transfer_ns = duration;
            moments.shortest = i;
        }
    }
    for (row_t i = 0; i < match->n; i++) {
        const struct collective_call *call = collective_match_call(job->calls, job->matches, match, i);
        moments.wait_ns += (double)moment_minus(moments.arrival_ns, job_time(job, call, call->start_ns));
    }
    return moments;
}

bool collective_synchronizes(const struct job_collectives *job, const struct collective_match *match,
                             const struct collective_moments *moments) {
    const struct collective_call *first = collective_match_call(job->calls, job->matches, match, 0);
    enum comm_kind kind = collective_kind_of(strings_text(&job->calls->strings, first->what));

    /* A kernel of sends and receives without more information may be an all-to-all: it is one if its ends agree. */
    bool waits = collective_ends_at_once(kind) || kind == COMM_ALL_TO_ALL_V || kind == COMM_MESSAGE;
    if (match->n <= 1 || match->is_message || !waits ||
        moment_size(moment_minus(moments->last_end_ns, moments->first_end_ns)) > ENDS_AGREE_NS)
        return false;
    for (row_t i = 0; i < match->n && job->windows; i++) {
        const struct collective_call *call = collective_match_call(job->calls, job->matches, match, i);
        const struct rank_window *window = &job->windows[rank_clock_index(job->clocks, job->n_clocks, call->rank)];
        if (call->start_ns < window->from_ns || call->start_ns >= window->to_ns)
            return false;
    }
    return true;
}

bool rank_waits_add(const struct job_collectives *job, const struct collective_match *match,
                    const struct collective_moments *moments, struct rank_waits *waits) {
    bool met = collective_synchronizes(job, match, moments);
    for (row_t i = 0; i < match->n; i++) {
        const struct collective_call *call = collective_match_call(job->calls, job->matches, match, i);
        struct rank_waits *of = &waits[rank_clock_index(job->clocks, job->n_clocks, call->rank)];
        of->in_ns += (double)moment_minus(call->end_ns, call->start_ns);
        if (!met)
            continue;
        of->n++;
        const int64_t start_ns = job_time(job, call, call->start_ns);
        of->own_wait_ns += (double)moment_minus(moments->arrival_ns, start_ns);
        of->late_ns += (double)moment_minus(start_ns, moments->first_ns);
        of->n_first += i == moments->first;
        if (i != moments->last)
            continue;
        of->n_last++;
        of->wait_caused_ns += moments->wait_ns / (match->n - 1);
        of->total_wait_caused_ns += moments->wait_ns;
    }
    return met;
}

row_t find_straggler_candidate(const struct rank_waits *waits, row_t n) {
    row_t max = 0;
    for (row_t i = 1; i < n; i++)
        max = waits[i].wait_caused_ns > waits[max].wait_caused_ns ? i : max;
    return max;
}

row_t find_late_ranks(const struct rank_waits *waits, row_t n, double span_ns, bool *late) {
    const double most = waits[find_straggler_candidate(waits, n)].wait_caused_ns;
    double total = 0, for_late = 0; /* of all ranks, as groups wait in parallel */
    row_t n_little = 0, n_long = 0, n_late = 0;
    for (row_t i = 0; i < n; i++) {
        const double caused = waits[i].wait_caused_ns;
        total += waits[i].total_wait_caused_ns;
        n_little += caused * STRAGGLER_TIMES <= most;
        n_long += caused * 100 >= span_ns * STRAGGLER_PERCENT;
    }
    const bool is_certain = most > 0 && n_little >= (n + 1) / 2;
    for (row_t i = 0; i < n; i++) {
        const double caused = waits[i].wait_caused_ns;
        late[i] = is_certain && caused * 100 >= span_ns * STRAGGLER_PERCENT &&
                  (n_long <= n / 2 || caused * STRAGGLER_TIMES > most);
        n_late += late[i];
        for_late += late[i] ? waits[i].total_wait_caused_ns : 0;
    }
    if (for_late * 2 >= total)
        return n_late;
    for (row_t i = 0; i < n; i++)
        late[i] = false;
    return 0;
}

row_t find_latest_ranks(const struct rank_waits *waits, row_t n, const bool *late, row_t rows[LATE_NAMED]) {
    row_t n_rows = 0;
    for (row_t i = 0; i < n; i++) {
        if (!late[i])
            continue;
        row_t at = n_rows < LATE_NAMED ? n_rows++ : LATE_NAMED;
        for (; at > 0 && waits[rows[at - 1]].wait_caused_ns < waits[i].wait_caused_ns; at--)
            if (at < LATE_NAMED)
                rows[at] = rows[at - 1];
        if (at < LATE_NAMED)
            rows[at] = i;
    }
    return n_rows;
}

/* ---- Differences of ends ---- */

/* The end of a collective on `rank` less the end on `from`. */
struct end_difference {
    row_t from, rank; /* indices of clocks */
    bool rough;
    int64_t at_ns; /* by the clock of `rank` */
    int64_t ns;
};

ORDER_BY(compare_ranks, struct rank_clock, ASCENDING(rank))
ORDER_BY(compare_differences, struct end_difference,
         ASCENDING(from) ASCENDING(rank) ASCENDING(rough) ASCENDING(at_ns) ASCENDING(ns))

row_t rank_clock_index(const struct rank_clock *clocks, row_t n, int64_t rank) {
    const struct rank_clock key = {.rank = rank};
    const struct rank_clock *found = bsearch(&key, clocks, n, sizeof *clocks, compare_ranks);
    return (row_t)(found - clocks);
}

/* A clock for each rank of the table, ascending; calls of a trace are consecutive. NULL: out of memory. */
static struct rank_clock *list_ranks(const struct collective_calls *calls, struct arena *arena, row_t *n) {
    struct rank_clock *clocks = NULL;
    uint64_t capacity = 0, n_runs = 0;
    *n = 0;
    for (uint64_t i = 0; i < calls->n; i++) {
        int64_t rank = calls->list[i].rank;
        if (i > 0 && rank == calls->list[i - 1].rank)
            continue;
        if (!arena_grow(arena, &clocks, n_runs, &capacity, sizeof *clocks))
            return NULL;
        clocks[n_runs++] = (struct rank_clock){.rank = rank, .reference = rank};
    }
    if (n_runs > 0)
        qsort(clocks, n_runs, sizeof *clocks, compare_ranks);
    for (uint64_t i = 0; i < n_runs; i++)
        if (i == 0 || clocks[i].rank != clocks[*n - 1].rank)
            clocks[(*n)++] = clocks[i];
    return clocks;
}

/* Whether the ends of a match relate the clocks of its ranks. *rough: they may differ, as ends of messages that wait
 * in a buffer. */
static bool relates_clocks(const struct collective_calls *calls, const struct collective_matches *matches,
                           const struct collective_match *match, bool *rough) {
    const struct collective_call *first = collective_match_call(calls, matches, match, 0);
    enum comm_kind kind = collective_kind_of(strings_text(&calls->strings, first->what));
    *rough = match->is_message || kind == COMM_ALL_TO_ALL_V;
    if (calls->from_logs || match->n < 2 || !(*rough || collective_ends_at_once(kind)))
        return false;
    for (row_t i = 1; i < match->n && !match->is_message; i++)
        if (collective_match_call(calls, matches, match, i)->what != first->what)
            return false;
    return true;
}

/* ---- A line through the differences of two ranks ---- */

/* A line needs this many differences, and drift must be this many times its uncertainty. */
#define LINE_POINTS 12
#define LINE_CLEAR  4

/* The accuracy of ends at best. */
#define END_NS 200

/* Factor by which paths over messages are worse than those over collectives. */
#define MESSAGE_COST 1e9

struct clock_edge {
    row_t from, rank, n;
    bool rough;
    int64_t at_ns, offset_ns, spread_ns, first_ns, last_ns;
    double drift, cost;
};

ORDER_BY(compare_edges, struct clock_edge, ASCENDING(from) ASCENDING(rank) ASCENDING(rough))

/* The drift between two moments. */
static int64_t drifted(double drift, int64_t to, int64_t from) {
    double ns = drift * (double)moment_minus(to, from);
    return fabs(ns) < 9e18 ? llround(ns) : 0;
}

/* The median deviation from the line, or of its absolute value; `scratch` has space for n. */
static int64_t median_deviation(const struct end_difference *points, row_t n, const struct clock_edge *line,
                                bool absolute, int64_t *scratch) {
    for (row_t i = 0; i < n; i++) {
        int64_t off = moment_minus(points[i].ns,
                                   moment_plus(drifted(line->drift, points[i].at_ns, line->at_ns), line->offset_ns));
        scratch[i] = absolute ? moment_size(off) : off;
    }
    qsort(scratch, n, sizeof *scratch, compare_int64s);
    return scratch[upper_median_at(n)];
}

/* Time from the first to the median point. */
static double time_to_median(const struct end_difference *points, row_t n) {
    return (double)moment_minus(points[upper_median_at(n)].at_ns, points[0].at_ns);
}

static struct clock_edge fit_line(const struct end_difference *points, row_t n, int64_t *scratch) {
    struct clock_edge line = {.from = points->from,
                              .rank = points->rank,
                              .n = n,
                              .rough = points->rough,
                              .at_ns = points->at_ns,
                              .first_ns = points->at_ns,
                              .last_ns = points[n - 1].at_ns};
    line.offset_ns = median_deviation(points, n, &line, false, scratch);

    /* Tilt the line if the last third clearly deviates more than the first one. */
    row_t third = n / 3;
    const struct end_difference *last = points + n - third;
    double distance = n < LINE_POINTS ? 0
                                      : (double)moment_minus(last->at_ns, points->at_ns) + time_to_median(last, third) -
                                            time_to_median(points, third);
    if (distance > 0) {
        double rise = (double)(median_deviation(last, third, &line, false, scratch) -
                               median_deviation(points, third, &line, false, scratch));
        struct clock_edge tilted = line;
        tilted.drift = rise / distance;
        tilted.offset_ns = moment_plus(tilted.offset_ns, median_deviation(points, n, &tilted, false, scratch));
        double spread = (double)median_deviation(points, n, &tilted, true, scratch);
        double uncertainty = 1.86 * sqrt(2.0 / third) * fmax(spread, END_NS); /* of a difference of medians */
        if (fabs(rise) > LINE_CLEAR * uncertainty)
            line = tilted;
    }
    line.spread_ns = median_deviation(points, n, &line, true, scratch);
    double spread = (double)line.spread_ns;
    line.cost = (spread * spread + (double)END_NS * END_NS) / n * (line.rough ? MESSAGE_COST : 1);
    return line;
}

/* The same edge from the other rank. */
static struct clock_edge reverse_edge(const struct clock_edge *edge) {
    struct clock_edge reversed = *edge;
    reversed.from = edge->rank;
    reversed.rank = edge->from;
    reversed.at_ns = moment_minus(edge->at_ns, edge->offset_ns);
    reversed.first_ns = moment_minus(edge->first_ns, edge->offset_ns);
    reversed.last_ns = moment_minus(edge->last_ns, edge->offset_ns);
    reversed.offset_ns = moment_minus(0, edge->offset_ns);
    reversed.drift = edge->drift < 1 ? -edge->drift / (1 - edge->drift) : 0;
    return reversed;
}

/* ---- Shortest paths from rank to rank ---- */

/* A path to a rank; paths to ranks that were reached by a shorter one stay in the list. */
struct clock_path {
    const struct clock_edge *last_edge;
    double cost;
};

struct clock_search {
    const struct clock_edge *edges;
    row_t *first_edge; /* by rank */
    struct clock_path *paths;
    row_t n_paths;
    struct row_heap heap;
    bool *reached;
};

static bool is_shorter(const void *arg, row_t a, row_t b) {
    const struct clock_path *paths = arg;
    return paths[a].cost != paths[b].cost ? paths[a].cost < paths[b].cost : a < b;
}

static void push_edges(struct clock_search *search, row_t from, double cost) {
    for (row_t i = search->first_edge[from]; search->edges && i < search->first_edge[from + 1]; i++) {
        const struct clock_edge *edge = &search->edges[i];
        if (search->reached[edge->rank])
            continue;
        search->paths[search->n_paths] = (struct clock_path){edge, cost + edge->cost};
        row_heap_push(&search->heap, search->n_paths++, is_shorter, search->paths);
    }
}

/* Sets the clock of a rank: an edge, after the clock of its origin. */
static void set_clock(const struct clock_edge *edge, const struct rank_clock *from, struct rank_clock *clock) {
    int64_t before = moment_minus(edge->at_ns, edge->offset_ns);
    clock->reference = from->reference;
    clock->at_ns = edge->at_ns;
    clock->offset_ns = moment_minus(edge->at_ns, rank_clock_time(from, before));
    clock->drift = 1 - (1 - edge->drift) * (1 - from->drift);
    clock->first_ns = edge->first_ns;
    clock->last_ns = edge->last_ns;
    clock->spread_ns = MAX(edge->spread_ns, from->spread_ns);
    clock->by_messages = edge->rough || from->by_messages;
    clock->n = edge->n;
}

/* Sets all clocks by the shortest path from the smallest rank that is connected. False: out of memory. */
static bool follow_shortest_paths(struct clock_edge *edges, row_t n_edges, struct rank_clock *clocks, row_t n,
                                  struct arena *arena) {
    struct clock_search search = {.edges = edges,
                                  .first_edge = arena_alloc(arena, (size_t)n + 1, sizeof *search.first_edge),
                                  .paths = arena_alloc(arena, n_edges, sizeof *search.paths),
                                  .heap.rows = arena_alloc(arena, n_edges, sizeof *search.heap.rows),
                                  .reached = arena_zeros(arena, n, sizeof *search.reached)};
    if (arena->failed)
        return false;
    if (n_edges > 0)
        qsort(edges, n_edges, sizeof *edges, compare_edges);
    for (row_t i = 0, edge = 0; i <= n; i++) {
        while (edge < n_edges && edges[edge].from < i)
            edge++;
        search.first_edge[i] = edge;
    }
    for (row_t start = 0; start < n; start++) {
        if (search.reached[start])
            continue;
        search.reached[start] = true;
        push_edges(&search, start, 0);
        while (search.heap.n > 0) {
            const struct clock_path path = search.paths[row_heap_pop(&search.heap, is_shorter, search.paths)];
            row_t rank = path.last_edge->rank;
            if (search.reached[rank])
                continue;
            search.reached[rank] = true;
            set_clock(path.last_edge, &clocks[path.last_edge->from], &clocks[rank]);
            push_edges(&search, rank, path.cost);
        }
    }
    return true;
}

enum sutra_status rank_clocks_find(const struct collective_calls *calls, const struct collective_matches *matches,
                                   struct arena *arena, struct rank_clock **clocks, row_t *n,
                                   struct sutra_error *error) {
    row_t n_ranks, capacity = 0, n_differences = 0, n_edges = 0;
    struct rank_clock *ranks = list_ranks(calls, arena, &n_ranks);
    struct arena_mark mark = arena_mark(arena);
    for (row_t i = 0; i < matches->n; i++)
        capacity += matches->list[i].n - 1;
    struct end_difference *differences = arena_alloc(arena, capacity, sizeof *differences);
    int64_t *scratch = arena_alloc(arena, capacity, sizeof *scratch);
    TRY(arena_status(arena, error));

    /* Differences of each collective to its smallest rank. */
    for (row_t m = 0; m < matches->n; m++) {
        const struct collective_match *match = &matches->list[m];
        const struct collective_call *first = collective_match_call(calls, matches, match, 0);
        bool rough;
        if (!relates_clocks(calls, matches, match, &rough))
            continue;
        row_t from = rank_clock_index(ranks, n_ranks, first->rank);
        for (row_t i = 1; i < match->n; i++) {
            const struct collective_call *call = collective_match_call(calls, matches, match, i);
            differences[n_differences++] =
                (struct end_difference){from, rank_clock_index(ranks, n_ranks, call->rank), rough, call->end_ns,
                                        moment_minus(call->end_ns, first->end_ns)};
        }
    }
    qsort(differences, n_differences, sizeof *differences, compare_differences);

    /* An edge between two ranks in each direction. */
    struct clock_edge *edges = NULL;
    uint64_t edge_capacity = 0;
    for (row_t begin = 0, end; begin < n_differences; begin = end) {
        const struct end_difference *first = &differences[begin];
        for (end = begin; end < n_differences && differences[end].from == first->from &&
                          differences[end].rank == first->rank && differences[end].rough == first->rough;)
            end++;
        TRY_ALLOC(arena_grow(arena, &edges, (uint64_t)n_edges + 1, &edge_capacity, sizeof *edges), error);
        edges[n_edges] = fit_line(first, end - begin, scratch);
        edges[n_edges + 1] = reverse_edge(&edges[n_edges]);
        n_edges += 2;
    }
    TRY_ALLOC(follow_shortest_paths(edges, n_edges, ranks, n_ranks, arena), error);
    arena_release(arena, mark);
    *clocks = ranks;
    *n = n_ranks;
    return SUTRA_OK;
}

/* ---- Corrected times ---- */

int64_t rank_clock_time(const struct rank_clock *clock, int64_t ns) {
    return moment_minus(moment_minus(ns, clock->offset_ns), drifted(clock->drift, ns, clock->at_ns));
}

bool rank_clock_is_off(const struct rank_clock *clock) {
    int64_t first = moment_size(moment_minus(clock->first_ns, rank_clock_time(clock, clock->first_ns)));
    int64_t last = moment_size(moment_minus(clock->last_ns, rank_clock_time(clock, clock->last_ns)));
    int64_t spread = MAX(clock->spread_ns, END_NS);
    return MAX(first, last) / RANK_CLOCK_CLEARLY > spread;
}

uint64_t rank_clocks_impossible(const struct collective_calls *calls, const struct collective_matches *matches,
                                const struct rank_clock *clocks, row_t n, int64_t tolerance_ns) {
    uint64_t n_impossible = 0;
    for (row_t i = 0; i < matches->n; i++) {
        const struct collective_match *match = &matches->list[i];
        int64_t last_start = INT64_MIN;
        bool rough;
        if (!relates_clocks(calls, matches, match, &rough) || rough)
            continue;
        for (row_t pass = 0; pass < 2; pass++)
            for (row_t k = 0; k < match->n; k++) {
                const struct collective_call *call = collective_match_call(calls, matches, match, k);
                const struct rank_clock *clock = clocks ? &clocks[rank_clock_index(clocks, n, call->rank)] : NULL;
                bool off = clock && rank_clock_is_off(clock);
                int64_t start = off ? rank_clock_time(clock, call->start_ns) : call->start_ns;
                int64_t end = off ? rank_clock_time(clock, call->end_ns) : call->end_ns;
                if (pass == 0)
                    last_start = MAX(start, last_start);
                else
                    n_impossible += moment_minus(last_start, end) > tolerance_ns;
            }
    }
    return n_impossible;
}

#define SET_TOLERANCE_NS 2000

bool *rank_clocks_set(const struct collective_calls *calls, const struct collective_matches *matches,
                      const struct rank_clock *clocks, row_t n, struct arena *arena, uint64_t n_impossible[2]) {
    uint64_t before = rank_clocks_impossible(calls, matches, NULL, 0, SET_TOLERANCE_NS);
    uint64_t after = rank_clocks_impossible(calls, matches, clocks, n, SET_TOLERANCE_NS);
    bool *set = arena_zeros(arena, n, sizeof *set);
    for (row_t i = 0; i < n && set && after <= before; i++)
        set[i] = rank_clock_is_off(&clocks[i]);
    if (n_impossible) {
        n_impossible[0] = before;
        n_impossible[1] = MIN(after, before);
    }
    return set;
}
