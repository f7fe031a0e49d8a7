/*
 * thread_pairs.c - comparing threads by how often each operator occurs in them.
 */
#include "legacy/thread_pairs.h"

#include <string.h>

#include "columns/column.h"

/* Most comparisons of counts. */
#define WORK_MAX ((uint64_t)1 << 26)

struct thread_pairing {
    row_t n_host, n_threads;
    uint32_t n_tokens;
    uint32_t *host_counts, *counts; /* of one host thread; of each device thread */
    uint64_t *common;               /* per host and device thread */
    row_t *host_thread;             /* positions in the host's tree */
    row_t *partner;                 /* per host thread */
    uint8_t *taken;
};

static row_t list_host_threads(const struct call_tree *host, uint32_t thread_token, row_t *list) {
    row_t n = 0;
    for (row_t i = 1; i < host->n; i = host->last[i] + 1)
        if (host->token[i] == thread_token)
            list[n++] = i;
    return n;
}

static void compare(struct thread_pairing *pairing, const struct call_tree *host) {
    for (row_t h = 0; h < pairing->n_host; h++) {
        memset(pairing->host_counts, 0, pairing->n_tokens * sizeof *pairing->host_counts);
        for (row_t i = pairing->host_thread[h]; i <= host->last[pairing->host_thread[h]]; i++)
            pairing->host_counts[host->token[i]]++;
        for (row_t t = 0; t < pairing->n_threads; t++) {
            const uint32_t *counts = pairing->counts + (size_t)t * pairing->n_tokens;
            uint64_t common = 0;
            for (uint32_t k = 0; k < pairing->n_tokens; k++)
                common += counts[k] < pairing->host_counts[k] ? counts[k] : pairing->host_counts[k];
            pairing->common[(size_t)h * pairing->n_threads + t] = common;
        }
    }
}

/* The best pair of all that are left, again and again; the first among equals. */
static void choose(struct thread_pairing *pairing) {
    row_t rounds = pairing->n_host < pairing->n_threads ? pairing->n_host : pairing->n_threads;
    for (; rounds > 0; rounds--) {
        row_t best_host = ROW_NONE, best = 0;
        for (row_t h = 0; h < pairing->n_host; h++)
            for (row_t t = 0; t < pairing->n_threads; t++) {
                if (pairing->partner[h] != ROW_NONE || pairing->taken[t])
                    continue;
                bool better =
                    best_host == ROW_NONE || pairing->common[(size_t)h * pairing->n_threads + t] >
                                                 pairing->common[(size_t)best_host * pairing->n_threads + best];
                if (better) {
                    best_host = h;
                    best = t;
                }
            }
        pairing->partner[best_host] = best;
        pairing->taken[best] = 1;
    }
}

static void write_order(const struct thread_pairing *pairing, row_t *order) {
    row_t n = 0;
    for (row_t h = 0; h < pairing->n_host; h++)
        if (pairing->partner[h] != ROW_NONE)
            order[n++] = pairing->partner[h];
    for (row_t t = 0; t < pairing->n_threads; t++)
        if (!pairing->taken[t])
            order[n++] = t;
}

/* Pairs threads where that is little work. */
static void pair_threads(struct thread_pairing *pairing, const struct call_tree *host, const uint32_t *token,
                         const row_t *thread, row_t n_entries, struct arena *arena, row_t *order) {
    size_t n_tokens = pairing->n_tokens, n_threads = pairing->n_threads;
    pairing->host_counts = arena_take(arena, n_tokens, sizeof *pairing->host_counts);
    pairing->counts = arena_zeros(arena, n_threads * n_tokens, sizeof *pairing->counts);
    pairing->common = arena_take(arena, pairing->n_host * n_threads, sizeof *pairing->common);
    pairing->partner = rows_none(arena, pairing->n_host);
    pairing->taken = arena_zeros(arena, n_threads, 1);
    if (arena->failed)
        return;
    for (row_t i = 0; i < n_entries; i++)
        if (thread[i] != ROW_NONE)
            pairing->counts[thread[i] * n_tokens + token[i]]++;
    compare(pairing, host);
    choose(pairing);
    write_order(pairing, order);
}

void thread_pairs(const struct call_tree *host, uint32_t thread_token, const uint32_t *token, const row_t *thread,
                  row_t n_entries, row_t n_threads, uint32_t n_tokens, struct arena *arena, row_t *order) {
    struct arena_mark mark = arena_mark(arena);
    struct thread_pairing pairing = {.n_threads = n_threads, .n_tokens = n_tokens};
    for (row_t t = 0; t < n_threads; t++)
        order[t] = t;
    pairing.host_thread = arena_take(arena, host->n, sizeof *pairing.host_thread);
    pairing.n_host = pairing.host_thread ? list_host_threads(host, thread_token, pairing.host_thread) : 0;
    uint64_t n_pairs = (uint64_t)pairing.n_host * n_threads;
    if (pairing.n_host > 0 && n_threads > 1 && n_pairs < WORK_MAX / 4096 && n_pairs * n_tokens <= WORK_MAX)
        pair_threads(&pairing, host, token, thread, n_entries, arena, order);
    arena_release(arena, mark);
}
