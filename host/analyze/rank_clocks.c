/*
 * rank_clocks.c - clocks of ranks from the ends of collectives.
 *
 * A collective that needs the data of all ends everywhere at about the same time, whoever came last. So the ends of two
 * ranks differ by their clocks: the median over all collectives of both says by how much, and the medians of their
 * first and last third how one clock runs away from the other.
 */
#include <math.h>
#include <stdlib.h>

#include "analyze/rank_clocks.h"
#include "base/error.h"
#include "columns/rows.h"
#include "facts/collectives.h"

int64_t job_time(const struct job_collectives *job, const struct collective_call *call, int64_t ns) {
    row_t place = rank_clock_place(job->clocks, job->n_clocks, call->rank);
    return job->clock_set[place] ? rank_clock_time(&job->clocks[place], ns) : ns;
}

/* ---- A match ---- */

static void add_arrival(struct collective_moments *moments, row_t i, int64_t start) {
    if (start < moments->first_ns) {
        moments->first_ns = start;
        moments->first = i;
    }
    if (start > moments->arrival_ns) {
        moments->before_ns = moments->arrival_ns;
        moments->arrival_ns = start;
        moments->last = i;
    } else if (start > moments->before_ns) {
        moments->before_ns = start;
    }
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
        int64_t end = job_time(job, call, call->end_ns), took = moment_minus(call->end_ns, call->start_ns);
        add_arrival(&moments, i, job_time(job, call, call->start_ns));
        moments.first_end_ns = end < moments.first_end_ns ? end : moments.first_end_ns;
        moments.last_end_ns = end > moments.last_end_ns ? end : moments.last_end_ns;
        if (took < moments.transfer_ns) {
            moments.transfer_ns = took;
            moments.shortest = i;
        }
    }
    for (row_t i = 0; i < match->n; i++) {
        const struct collective_call *call = collective_match_call(job->calls, job->matches, match, i);
        moments.wait_ns += (double)moment_minus(moments.arrival_ns, job_time(job, call, call->start_ns));
    }
    return moments;
}

static bool lies_in_windows(const struct job_collectives *job, const struct collective_match *match) {
    for (row_t i = 0; i < match->n && job->windows; i++) {
        const struct collective_call *call = collective_match_call(job->calls, job->matches, match, i);
        const struct rank_window *window = &job->windows[rank_clock_place(job->clocks, job->n_clocks, call->rank)];
        if (call->start_ns < window->from_ns || call->start_ns >= window->to_ns)
            return false;
    }
    return true;
}

/* Of a kernel of sends and receives that tells no more, an exchange of all is made; where their ends agree, it was
 * one. */
bool collective_is_met(const struct job_collectives *job, const struct collective_match *match,
                       const struct collective_moments *moments) {
    const struct collective_call *first = collective_match_call(job->calls, job->matches, match, 0);
    enum comm_kind kind = collective_kind_of(strings_text(&job->calls->strings, first->what));
    bool waits = collective_ends_at_once(kind) || kind == COMM_ALL_TO_ALL_V || kind == COMM_MESSAGE;
    return match->n > 1 && !match->is_message && waits &&
           moment_size(moment_minus(moments->last_end_ns, moments->first_end_ns)) <= ENDS_AGREE_NS &&
           lies_in_windows(job, match);
}

/* ---- Ranks ---- */

bool rank_waits_add(const struct job_collectives *job, const struct collective_match *match,
                    const struct collective_moments *moments, struct rank_waits *waits) {
    bool met = collective_is_met(job, match, moments);
    for (row_t i = 0; i < match->n; i++) {
        const struct collective_call *call = collective_match_call(job->calls, job->matches, match, i);
        struct rank_waits *of = &waits[rank_clock_place(job->clocks, job->n_clocks, call->rank)];
        of->in_ns += (double)moment_minus(call->end_ns, call->start_ns);
        if (!met)
            continue;
        of->n++;
        of->waited_ns += (double)moment_minus(moments->arrival_ns, job_time(job, call, call->start_ns));
        of->n_first += i == moments->first;
        if (i != moments->last)
            continue;
        of->n_last++;
        of->waited_for_ns += moments->wait_ns / (match->n - 1);
        of->held_ns += moments->wait_ns;
    }
    return met;
}

row_t rank_waits_most(const struct rank_waits *waits, row_t n) {
    row_t most = 0;
    for (row_t i = 1; i < n; i++)
        most = waits[i].waited_for_ns > waits[most].waited_for_ns ? i : most;
    return most;
}

/* Groups wait beside each other, so that what is waited for is added up over those who wait. Without an order: half of
 * all ranks are waited for at most a part of what the one is. */
bool rank_waits_hold_up(const struct rank_waits *waits, row_t n, row_t most, double span_ns) {
    double held = waits[most].waited_for_ns, all = 0;
    row_t n_little = 0;
    for (row_t i = 0; i < n; i++) {
        all += waits[i].held_ns;
        n_little += waits[i].waited_for_ns * HELD_UP_TIMES <= held;
    }
    return held > 0 && held * 100 >= span_ns * HELD_UP_PERCENT && waits[most].held_ns * 2 >= all &&
           n_little >= (n + 1) / 2;
}

/* A line is drawn through so many differences at least, and drift seen where it is so many times its own
 * uncertainty. */
#define LINE_POINTS 12
#define LINE_CLEAR  4

/* Ends agree within this at best; what is closer says no more. */
#define END_NS 200

/* Messages lead so much further astray than collectives. */
#define MESSAGE_COST 1e9

/* The end of a collective on `rank` less that on `from`. */
struct end_difference {
    row_t from, rank; /* places in the list of clocks */
    bool rough;
    int64_t at_ns; /* by the clock of `rank` */
    int64_t ns;
};

/* What two ranks' collectives say. */
struct clock_edge {
    row_t from, rank, n;
    bool rough;
    int64_t at_ns, offset_ns, spread_ns, first_ns, last_ns;
    double drift, cost;
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
    order = order ? order : compare_integers(a->rough, b->rough);
    order = order ? order : compare_integers(a->at_ns, b->at_ns);
    return order ? order : compare_integers(a->ns, b->ns);
}

static int compare_times(const void *left, const void *right) {
    const int64_t *a = left, *b = right;
    return compare_integers(*a, *b);
}

row_t rank_clock_place(const struct rank_clock *clocks, row_t n, int64_t rank) {
    const struct rank_clock key = {.rank = rank};
    const struct rank_clock *found = bsearch(&key, clocks, n, sizeof *clocks, compare_ranks);
    return (row_t)(found - clocks);
}

/* Ranks of the table; those of a trace follow each other. */
static struct rank_clock *list_ranks(const struct collective_calls *calls, struct arena *arena, row_t *n) {
    struct rank_clock *clocks = NULL;
    uint64_t capacity = 0, n_seen = 0;
    *n = 0;
    for (uint64_t i = 0; i < calls->n; i++) {
        int64_t rank = calls->list[i].rank;
        if (i > 0 && rank == calls->list[i - 1].rank)
            continue;
        if (!arena_grow(arena, &clocks, n_seen, &capacity, sizeof *clocks))
            return NULL;
        clocks[n_seen++] = (struct rank_clock){.rank = rank, .reference = rank};
    }
    if (n_seen > 0)
        qsort(clocks, n_seen, sizeof *clocks, compare_ranks);
    for (uint64_t i = 0; i < n_seen; i++)
        if (i == 0 || clocks[i].rank != clocks[*n - 1].rank)
            clocks[(*n)++] = clocks[i];
    return clocks;
}

/* ---- Differences ---- */

/* Whether all ranks of a match call the same kind. */
static bool is_of_one_kind(const struct collective_calls *calls, const struct collective_matches *matches,
                           const struct collective_match *match) {
    const struct collective_call *first = collective_match_call(calls, matches, match, 0);
    for (row_t i = 1; i < match->n; i++)
        if (collective_match_call(calls, matches, match, i)->what != first->what)
            return false;
    return true;
}

/* Whether the ends of a match tell something; *rough: they may lie apart, as those of messages that wait in a
 * buffer. */
static bool tells_clocks(const struct collective_calls *calls, const struct collective_matches *matches,
                         const struct collective_match *match, bool *rough) {
    const struct collective_call *first = collective_match_call(calls, matches, match, 0);
    enum comm_kind kind = collective_kind_of(strings_text(&calls->strings, first->what));
    *rough = match->is_message || kind == COMM_ALL_TO_ALL_V;
    return match->n >= 2 &&
           (match->is_message || ((*rough || collective_ends_at_once(kind)) && is_of_one_kind(calls, matches, match)));
}

/* Differences of one collective to its smallest rank. */
static row_t add_differences(const struct collective_calls *calls, const struct collective_matches *matches,
                             const struct collective_match *match, const struct rank_clock *clocks, row_t n_clocks,
                             struct end_difference *to) {
    const struct collective_call *first = collective_match_call(calls, matches, match, 0);
    bool rough;
    if (!tells_clocks(calls, matches, match, &rough))
        return 0;
    row_t from = rank_clock_place(clocks, n_clocks, first->rank);
    for (row_t i = 1; i < match->n; i++) {
        const struct collective_call *call = collective_match_call(calls, matches, match, i);
        to[i - 1] = (struct end_difference){from, rank_clock_place(clocks, n_clocks, call->rank), rough, call->end_ns,
                                            moment_minus(call->end_ns, first->end_ns)};
    }
    return match->n - 1;
}

/* ---- A line through the differences of two ranks ---- */

/* What drift makes of the time between two moments. */
static int64_t drifted(double drift, int64_t to, int64_t from) {
    double ns = drift * (double)moment_minus(to, from);
    return fabs(ns) < 9e18 ? llround(ns) : 0;
}

/* The median of what each departs from the line; `scratch` has room for them. */
static int64_t median_of(const struct end_difference *points, row_t n, const struct clock_edge *line, bool departures,
                         int64_t *scratch) {
    for (row_t i = 0; i < n; i++) {
        int64_t off = moment_minus(points[i].ns,
                                   moment_plus(drifted(line->drift, points[i].at_ns, line->at_ns), line->offset_ns));
        scratch[i] = departures ? moment_size(off) : off;
    }
    qsort(scratch, n, sizeof *scratch, compare_times);
    return scratch[n / 2];
}

static double time_of_third(const struct end_difference *points, row_t n) {
    return (double)moment_minus(points[n / 2].at_ns, points[0].at_ns);
}

/* How much further the last third is off than the first one, if that is clear. */
static void find_drift(const struct end_difference *points, row_t n, int64_t *scratch, struct clock_edge *line) {
    if (n < LINE_POINTS)
        return;
    row_t third = n / 3;
    const struct end_difference *last = points + n - third;
    double apart =
        (double)moment_minus(last->at_ns, points->at_ns) + time_of_third(last, third) - time_of_third(points, third);
    if (apart <= 0)
        return;
    double rise =
        (double)(median_of(last, third, line, false, scratch) - median_of(points, third, line, false, scratch));
    struct clock_edge tilted = *line;
    tilted.drift = rise / apart;
    tilted.offset_ns = moment_plus(tilted.offset_ns, median_of(points, n, &tilted, false, scratch));
    double spread = (double)median_of(points, n, &tilted, true, scratch);
    double unsure = 1.86 * sqrt(2.0 / third) * fmax(spread, END_NS); /* of a difference of medians, from their spread */
    if (fabs(rise) > LINE_CLEAR * unsure)
        *line = tilted;
}

static struct clock_edge draw_line(const struct end_difference *points, row_t n, int64_t *scratch) {
    struct clock_edge line = {.from = points->from,
                              .rank = points->rank,
                              .n = n,
                              .rough = points->rough,
                              .at_ns = points->at_ns,
                              .first_ns = points->at_ns,
                              .last_ns = points[n - 1].at_ns};
    line.offset_ns = median_of(points, n, &line, false, scratch);
    find_drift(points, n, scratch, &line);
    line.spread_ns = median_of(points, n, &line, true, scratch);
    double spread = (double)line.spread_ns;
    line.cost = (spread * spread + (double)END_NS * END_NS) / n * (line.rough ? MESSAGE_COST : 1);
    return line;
}

/* The same as the other rank sees it. */
static struct clock_edge turn_line(const struct clock_edge *line) {
    struct clock_edge turned = *line;
    turned.from = line->rank;
    turned.rank = line->from;
    turned.at_ns = moment_minus(line->at_ns, line->offset_ns);
    turned.first_ns = moment_minus(line->first_ns, line->offset_ns);
    turned.last_ns = moment_minus(line->last_ns, line->offset_ns);
    turned.offset_ns = moment_minus(0, line->offset_ns);
    turned.drift = line->drift < 1 ? -line->drift / (1 - line->drift) : 0;
    return turned;
}

/* An edge for each two ranks, and one the other way round; by the rank that they come from. */
static struct clock_edge *make_edges(const struct end_difference *differences, row_t n, int64_t *scratch,
                                     struct arena *arena, row_t *n_edges) {
    struct clock_edge *edges = NULL;
    uint64_t capacity = 0;
    *n_edges = 0;
    for (row_t begin = 0, end; begin < n; begin = end) {
        const struct end_difference *first = &differences[begin];
        for (end = begin; end < n && differences[end].from == first->from && differences[end].rank == first->rank &&
                          differences[end].rough == first->rough;)
            end++;
        if (!arena_grow(arena, &edges, (uint64_t)*n_edges + 1, &capacity, sizeof *edges))
            return NULL;
        edges[*n_edges] = draw_line(first, end - begin, scratch);
        edges[*n_edges + 1] = turn_line(&edges[*n_edges]);
        *n_edges += 2;
    }
    return edges;
}

/* ---- From rank to rank ---- */

static int compare_edges(const void *left, const void *right) {
    const struct clock_edge *a = left, *b = right;
    int order = compare_integers(a->from, b->from);
    order = order ? order : compare_integers(a->rank, b->rank);
    return order ? order : compare_integers(a->rough, b->rough);
}

/* A way that leads to a rank. */
struct clock_way {
    const struct clock_edge *edge; /* the last one */
    double cost;
};

static bool is_shorter(const void *ways, row_t a, row_t b) {
    const struct clock_way *of = ways;
    return of[a].cost != of[b].cost ? of[a].cost < of[b].cost : a < b;
}

/* What an edge adds to the clock that it comes from: lines, one after the other. */
static void follow_edge(const struct clock_edge *edge, const struct rank_clock *from, struct rank_clock *clock) {
    int64_t before = moment_minus(edge->at_ns, edge->offset_ns);
    clock->reference = from->reference;
    clock->at_ns = edge->at_ns;
    clock->offset_ns = moment_minus(edge->at_ns, rank_clock_time(from, before));
    clock->drift = 1 - (1 - edge->drift) * (1 - from->drift);
    clock->first_ns = edge->first_ns;
    clock->last_ns = edge->last_ns;
    clock->spread_ns = edge->spread_ns > from->spread_ns ? edge->spread_ns : from->spread_ns;
    clock->by_messages = edge->rough || from->by_messages;
    clock->n = edge->n;
}

/* What finds ways; ways that were found stay in a list, those of a rank that has a shorter one are passed over. */
struct way_search {
    const struct clock_edge *edges;
    const row_t *first_edge; /* by rank */
    struct clock_way *ways;
    row_t n_ways;
    struct row_heap heap;
    bool *reached;
};

static void push_edges(struct way_search *search, row_t from, double cost) {
    for (row_t i = search->first_edge[from]; search->edges && i < search->first_edge[from + 1]; i++) {
        const struct clock_edge *edge = &search->edges[i];
        if (search->reached[edge->rank])
            continue;
        search->ways[search->n_ways] = (struct clock_way){edge, cost + edge->cost};
        row_heap_push(&search->heap, search->n_ways++, is_shorter, search->ways);
    }
}

/* The surest way from each smallest rank to all that it is joined with. */
static void find_ways(struct way_search *search, struct rank_clock *clocks, row_t n) {
    for (row_t start = 0; start < n; start++) {
        if (search->reached[start])
            continue;
        search->reached[start] = true;
        push_edges(search, start, 0);
        while (search->heap.n > 0) {
            const struct clock_way *way = &search->ways[row_heap_pop(&search->heap, is_shorter, search->ways)];
            row_t rank = way->edge->rank;
            if (search->reached[rank])
                continue;
            search->reached[rank] = true;
            follow_edge(way->edge, &clocks[way->edge->from], &clocks[rank]);
            push_edges(search, rank, way->cost);
        }
    }
}

static void count_edges(const struct clock_edge *edges, row_t n_edges, row_t n, row_t *first_edge) {
    for (row_t i = 0, edge = 0; i <= n; i++) {
        while (edge < n_edges && edges[edge].from < i)
            edge++;
        first_edge[i] = edge;
    }
}

static bool follow_edges(struct clock_edge *edges, row_t n_edges, struct rank_clock *clocks, row_t n,
                         struct arena *arena) {
    row_t *first_edge = arena_take(arena, (size_t)n + 1, sizeof *first_edge);
    struct way_search search = {.edges = edges,
                                .first_edge = first_edge,
                                .ways = arena_take(arena, n_edges, sizeof *search.ways),
                                .heap.rows = arena_take(arena, n_edges, sizeof *search.heap.rows),
                                .reached = arena_zeros(arena, n, sizeof *search.reached)};
    if (arena->failed)
        return false;
    if (n_edges > 0)
        qsort(edges, n_edges, sizeof *edges, compare_edges);
    count_edges(edges, n_edges, n, first_edge);
    find_ways(&search, clocks, n);
    return true;
}

static row_t count_differences(const struct collective_matches *matches) {
    row_t n = 0;
    for (row_t i = 0; i < matches->n; i++)
        n += matches->list[i].n - 1;
    return n;
}

enum sutra_status rank_clocks_find(const struct collective_calls *calls, const struct collective_matches *matches,
                                   struct arena *arena, struct rank_clock **clocks, row_t *n,
                                   struct sutra_error *error) {
    row_t n_made, n_differences = 0, n_edges = 0, most = count_differences(matches);
    struct rank_clock *made = list_ranks(calls, arena, &n_made);
    struct arena_mark mark = arena_mark(arena);
    struct end_difference *differences = arena_take(arena, most, sizeof *differences);
    int64_t *scratch = arena_take(arena, most, sizeof *scratch);
    enum sutra_status status = arena_status(arena, error);
    if (!status) {
        for (row_t i = 0; i < matches->n; i++)
            n_differences +=
                add_differences(calls, matches, &matches->list[i], made, n_made, differences + n_differences);
        qsort(differences, n_differences, sizeof *differences, compare_differences);
        struct clock_edge *edges = make_edges(differences, n_differences, scratch, arena, &n_edges);
        if (!follow_edges(edges, n_edges, made, n_made, arena))
            status = error_memory(error);
    }
    arena_release(arena, mark);
    *clocks = made;
    *n = n_made;
    return status;
}

/* ---- Using them ---- */

int64_t rank_clock_time(const struct rank_clock *clock, int64_t ns) {
    return moment_minus(moment_minus(ns, clock->offset_ns), drifted(clock->drift, ns, clock->at_ns));
}

bool rank_clock_is_off(const struct rank_clock *clock) {
    int64_t first = moment_size(moment_minus(clock->first_ns, rank_clock_time(clock, clock->first_ns)));
    int64_t last = moment_size(moment_minus(clock->last_ns, rank_clock_time(clock, clock->last_ns)));
    int64_t spread = clock->spread_ns > END_NS ? clock->spread_ns : END_NS;
    return (first > last ? first : last) / RANK_CLOCK_CLEARLY > spread;
}

uint64_t rank_clocks_impossible(const struct collective_calls *calls, const struct collective_matches *matches,
                                const struct rank_clock *clocks, row_t n, int64_t tolerance_ns) {
    uint64_t n_impossible = 0;
    for (row_t i = 0; i < matches->n; i++) {
        const struct collective_match *match = &matches->list[i];
        int64_t last_start = INT64_MIN;
        bool rough;
        if (!tells_clocks(calls, matches, match, &rough) || rough)
            continue;
        for (row_t pass = 0; pass < 2; pass++)
            for (row_t k = 0; k < match->n; k++) {
                const struct collective_call *call = collective_match_call(calls, matches, match, k);
                const struct rank_clock *clock = clocks ? &clocks[rank_clock_place(clocks, n, call->rank)] : NULL;
                bool off = clock && rank_clock_is_off(clock);
                int64_t start = off ? rank_clock_time(clock, call->start_ns) : call->start_ns;
                int64_t end = off ? rank_clock_time(clock, call->end_ns) : call->end_ns;
                if (pass == 0)
                    last_start = start > last_start ? start : last_start;
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
        n_impossible[1] = after > before ? before : after;
    }
    return set;
}
