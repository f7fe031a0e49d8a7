/*
 * thread_pairs.c - comparing threads by how often each operator occurs in them.
 */
#include "legacy/thread_pairs.h"

#include <stdlib.h>
#include <string.h>

/* Most comparisons of counts. */
#define WORK_MAX ((uint64_t)1 << 26)

struct pairing {
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

static void compare(struct pairing *pairing, const struct call_tree *host) {
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
static void choose(struct pairing *pairing) {
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

static void write_order(const struct pairing *pairing, row_t *order) {
    row_t n = 0;
    for (row_t h = 0; h < pairing->n_host; h++)
        if (pairing->partner[h] != ROW_NONE)
            order[n++] = pairing->partner[h];
    for (row_t t = 0; t < pairing->n_threads; t++)
        if (!pairing->taken[t])
            order[n++] = t;
}

static bool allocate(struct pairing *pairing) {
    size_t n_pairs = (size_t)pairing->n_host * pairing->n_threads;
    pairing->host_counts = calloc((size_t)pairing->n_tokens + 1, sizeof *pairing->host_counts);
    pairing->counts = calloc((size_t)pairing->n_threads * pairing->n_tokens + 1, sizeof *pairing->counts);
    pairing->common = calloc(n_pairs + 1, sizeof *pairing->common);
    pairing->partner = malloc(((size_t)pairing->n_host + 1) * sizeof *pairing->partner);
    pairing->taken = calloc((size_t)pairing->n_threads + 1, 1);
    if (!pairing->host_counts || !pairing->counts || !pairing->common || !pairing->partner || !pairing->taken)
        return false;
    memset(pairing->partner, 0xff, ((size_t)pairing->n_host + 1) * sizeof *pairing->partner);
    return true;
}

bool thread_pairs(const struct call_tree *host, uint32_t thread_token, const uint32_t *token, const row_t *thread,
                  row_t n_entries, row_t n_threads, uint32_t n_tokens, row_t *order) {
    struct pairing pairing = {.n_threads = n_threads, .n_tokens = n_tokens};
    for (row_t t = 0; t < n_threads; t++)
        order[t] = t;
    if (!(pairing.host_thread = malloc(((size_t)host->n + 1) * sizeof *pairing.host_thread)))
        return false;
    pairing.n_host = list_host_threads(host, thread_token, pairing.host_thread);
    uint64_t n_pairs = (uint64_t)pairing.n_host * n_threads;
    bool little = n_pairs < WORK_MAX / 4096 && n_pairs * n_tokens <= WORK_MAX && n_threads > 1, ok = true;
    if (little && pairing.n_host > 0 && (ok = allocate(&pairing))) {
        for (row_t i = 0; i < n_entries; i++)
            if (thread[i] != ROW_NONE)
                pairing.counts[(size_t)thread[i] * n_tokens + token[i]]++;
        compare(&pairing, host);
        choose(&pairing);
        write_order(&pairing, order);
    }
    free(pairing.host_thread);
    free(pairing.host_counts);
    free(pairing.counts);
    free(pairing.common);
    free(pairing.partner);
    free(pairing.taken);
    return ok;
}
