/*
 * merge_clocks.c - what is added to the times of each rank: the difference of what they count from, and what its host's
 * clock is off by.
 *
 * Ranks of a host have one clock, so they get one offset, the median of theirs, and stay as they are to each other.
 * Where theirs lie clearly further apart than the ends of collectives tell, they are of several hosts, or the traces
 * tell of the wrong ones: each then keeps its own. O(ranks log ranks).
 */
#include <stdlib.h>

#include "rewrite/merge.h"

static int64_t drift_over_half(const struct rank_clock *clock) {
    double ns = clock->drift * (double)(clock->last_ns - clock->first_ns) / 2;
    return (int64_t)(ns < 0 ? -ns : ns);
}

/* One offset for the whole of a rank's trace, that of the middle of its collectives: with another for each time the
 * durations of events, which stay, would no longer fit into each other. A clock that is not clearly off stays. */
static void set_clock(struct merge_rank *rank, const struct rank_clock *clock) {
    int64_t middle = clock->first_ns + (clock->last_ns - clock->first_ns) / 2;
    rank->n_aligned = clock->n;
    if (clock->n == 0)
        return;
    rank->offset_ns = rank_clock_is_off(clock) ? rank_clock_time(clock, middle) - middle : 0;
    rank->residual_ns = clock->spread_ns + drift_over_half(clock);
}

static int compare_offsets(const void *left, const void *right) {
    int64_t a = (*(struct merge_rank *const *)left)->offset_ns, b = (*(struct merge_rank *const *)right)->offset_ns;
    return (a > b) - (a < b);
}

/* Gives ranks of one host one offset; `ranks` has those whose clocks are known, and comes to be in another order. */
static void share_offset(struct merge_rank **ranks, size_t n) {
    int64_t apart = 0, residual = 0;
    if (n < 2)
        return;
    qsort(ranks, n, sizeof(struct merge_rank *), compare_offsets);
    int64_t median = ranks[(n - 1) / 2]->offset_ns;
    for (size_t i = 0; i < n; i++) {
        int64_t own = moment_size(moment_minus(ranks[i]->offset_ns, median));
        apart = own > apart ? own : apart;
        residual = ranks[i]->residual_ns > residual ? ranks[i]->residual_ns : residual;
    }
    if ((double)apart > RANK_CLOCK_CLEARLY * (double)residual)
        return;
    for (size_t i = 0; i < n; i++) {
        int64_t own = moment_size(moment_minus(ranks[i]->offset_ns, median));
        ranks[i]->residual_ns = own > ranks[i]->residual_ns ? own : ranks[i]->residual_ns;
        ranks[i]->offset_ns = median;
    }
}

/* How many ranks share a host, as the traces tell: those of a process that sees one GPU tell nothing. */
static int64_t ranks_of_host(const struct sutra_merged *merged, size_t n) {
    int64_t most = 1;
    for (size_t i = 0; i < n; i++) {
        int64_t told = merge_rank_at(merged, merged->tasks.order[i])->n_devices;
        most = told > most ? told : most;
    }
    return most;
}

static bool share_clocks(struct sutra_merged *merged, const struct rank_clock *clocks, row_t n_clocks, size_t n) {
    int64_t per_host = ranks_of_host(merged, n);
    struct merge_rank **of_host = arena_take(&merged->tasks.arena, n, sizeof(struct merge_rank *));
    for (size_t begin = 0, end; begin < n && of_host; begin = end) {
        int64_t host = merged->tasks.list[merged->tasks.order[begin]].rank / per_host;
        size_t n_known = 0;
        for (end = begin; end < n && merged->tasks.list[merged->tasks.order[end]].rank / per_host == host; end++) {
            struct merge_rank *rank = merge_rank_at(merged, merged->tasks.order[end]);
            int64_t number = merged->tasks.list[merged->tasks.order[end]].rank;
            if (rank->n_aligned > 0 &&
                clocks[rank_clock_place(clocks, n_clocks, number)].reference == clocks[0].reference)
                of_host[n_known++] = rank;
        }
        share_offset(of_host, n_known);
    }
    return of_host;
}

bool merge_clocks_set(struct sutra_merged *merged, const struct rank_clock *clocks, row_t n_clocks, size_t n) {
    merged->base_ns = merge_rank_at(merged, merged->tasks.order[0])->base_ns;
    for (size_t i = 0; i < n; i++) {
        size_t number = merged->tasks.order[i];
        struct merge_rank *rank = merge_rank_at(merged, number);
        rank->position = (uint32_t)i;
        if (n_clocks > 0 && rank->n_calls > 0)
            set_clock(rank, &clocks[rank_clock_place(clocks, n_clocks, merged->tasks.list[number].rank)]);
    }
    if (n_clocks > 0 && !share_clocks(merged, clocks, n_clocks, n))
        return false;
    for (size_t i = 0; i < n; i++) {
        struct merge_rank *rank = merge_rank_at(merged, merged->tasks.order[i]);
        if (__builtin_sub_overflow(rank->base_ns, merged->base_ns, &rank->shift_ns) ||
            __builtin_add_overflow(rank->shift_ns, rank->offset_ns, &rank->shift_ns))
            rank->shift_ns = rank->offset_ns = 0;
    }
    return true;
}
