/*
 * op_match.c - implements op_match.h.
 *
 * Threads: for each key (a name, or a name with its sequence number), the threads of both sides that have it, with
 * counts. A pair of threads has the sum of the smaller counts in common. The best pair of the remaining threads is
 * chosen first.
 *
 * Window: keys of 12 consecutive operators of the smaller side are looked up in the larger side. Each occurrence votes
 * for a diagonal (position in the larger side minus position in the smaller side), rare keys first. The equal runs of
 * the diagonals with the most votes are then counted.
 *
 *     smaller      a b c d                 runs of the smaller side occur at positions 1, 6 and 11 of the larger side:
 *     larger     x a b c d y a b c d y a b c d      the first one is chosen
 */
#include "align/op_match.h"

#include <float.h>
#include <stdlib.h>
#include <string.h>

#include "align/tree_align.h"
#include "base/error.h"
#include "base/shared.h"
#include "columns/hash_tables.h"
#include "columns/rows.h"

/* ---- Sides ---- */

struct op_side op_side_alloc(struct arena *arena, row_t n) {
    struct op_side side = {.n = n,
                           .token = arena_alloc(arena, n, sizeof(uint32_t)),
                           .thread = arena_alloc(arena, n, sizeof(row_t)),
                           .parent = rows_none(arena, n),
                           .sequence = arena_alloc(arena, n, sizeof(value_key)),
                           .collective = arena_alloc(arena, n, sizeof(value_key)),
                           .end = n};
    for (row_t i = 0; i < n && !arena->failed; i++)
        side.sequence[i] = side.collective[i] = KEY_ABSENT;
    return side;
}

void op_side_nest(struct op_side *side, const struct device_events *events, const row_t *event, struct arena *arena) {
    struct arena_mark mark = arena_mark(arena);
    row_t *top = rows_none(arena, side->n_threads);
    for (row_t i = 0; i < side->n && !arena->failed; i++) {
        row_t above = top[side->thread[i]];
        for (; above != ROW_NONE; above = side->parent[above]) {
            struct number end = number_add(number_at(events->ts, event[above]), number_at(events->dur, event[above]));
            if (number_is_double(end))
                end = number_double(number_as_double(end) * (1 - 2 * DBL_EPSILON));
            if (number_compare(end, number_at(events->ts, event[i])) > 0)
                break;
        }
        side->parent[i] = above;
        top[side->thread[i]] = i;
    }
    arena_release(arena, mark);
}

/* ---- One side, by thread ---- */

struct op_threads {
    const struct op_side *side;
    row_t *first;      /* per thread, and one more: its first entry in `rows` */
    row_t *rows;       /* operators in [begin, end) by thread, each ascending */
    value_key *number; /* per row: the sequence number that counts, or the number of a collective; KEY_ABSENT: none */
    row_t begin, end;  /* the window */
};

static row_t thread_size(const struct op_threads *threads, row_t thread) {
    return threads->first[thread + 1] - threads->first[thread];
}

static struct op_threads list_threads(const struct op_side *side, struct arena *arena) {
    struct op_threads threads = {.side = side,
                                 .first = arena_alloc(arena, (size_t)side->n_threads + 1, sizeof(row_t)),
                                 .rows = arena_alloc(arena, side->n, sizeof(row_t)),
                                 .number = arena_alloc(arena, side->n, sizeof(value_key)),
                                 .begin = side->begin,
                                 .end = side->end};
    struct arena_mark mark = arena_mark(arena);
    const row_t n = side->end - side->begin;
    row_t *all = arena_alloc(arena, n, sizeof *all);
    if (arena->failed)
        return threads;
    for (row_t i = 0; i < n; i++)
        all[i] = side->begin + i;
    rows_bucket(all, n, side->thread, side->n_threads, threads.first, threads.rows);
    arena_release(arena, mark);
    memcpy(threads.number, side->collective, side->n * sizeof *threads.number);
    return threads;
}

/* ---- Pairs of threads ---- */

/* Threads of a side that are compared: the largest ones. */
#define THREADS_MAX 1024

struct thread_pair {
    uint64_t n_strong, n_common; /* names with sequence numbers, and names, that both threads have */
    row_t difference;            /* of their numbers of operators */
    row_t host, device;
};

static int compare_pairs(const void *left, const void *right) {
    const struct thread_pair *a = left, *b = right;
    if (a->n_strong != b->n_strong)
        return a->n_strong > b->n_strong ? -1 : 1;
    if (a->n_common != b->n_common)
        return a->n_common > b->n_common ? -1 : 1;
    if (a->difference != b->difference)
        return a->difference < b->difference ? -1 : 1;
    if (a->host != b->host)
        return a->host < b->host ? -1 : 1;
    return (a->device > b->device) - (a->device < b->device);
}

/* The threads to compare: all, or the largest ones, ascending. */
static row_t *choose_threads(const struct op_threads *threads, struct arena *arena, row_t *n) {
    row_t n_threads = threads->side->n_threads, *chosen = arena_alloc(arena, n_threads, sizeof *chosen);
    row_t min_size = 0,
          n_smallest = n_threads; /* threads of the smallest size that is compared: the first n_smallest ones */
    *n = 0;
    if (!chosen)
        return NULL;
    for (row_t t = 0; t < n_threads; t++)
        chosen[t] = thread_size(threads, t);
    if (n_threads > THREADS_MAX) {
        rows_sort(chosen, n_threads);
        min_size = chosen[n_threads - THREADS_MAX];
        for (row_t t = n_threads - THREADS_MAX; t < n_threads && chosen[t] == min_size; t++)
            n_smallest = t - (n_threads - THREADS_MAX) + 1;
    }
    for (row_t t = 0; t < n_threads; t++)
        if (thread_size(threads, t) > min_size ||
            (thread_size(threads, t) == min_size && n_smallest > 0 && n_smallest--))
            chosen[(*n)++] = t;
    return chosen;
}

/* Rows by key: the ones of key k are rows[first[k]] .. */
struct keyed_rows {
    row_t *first;
    row_t *rows;
};

/* Sorts the rows of the chosen threads by key, and replaces each row by the index of its thread among the chosen ones.
 * Without memory the arena fails. */
static struct keyed_rows sort_by_key(const struct op_threads *threads, const row_t *chosen, row_t n_chosen,
                                     const uint32_t *key, uint32_t n_keys, struct arena *arena) {
    const struct op_side *side = threads->side;
    struct keyed_rows sorted = {.first = arena_alloc(arena, (size_t)n_keys + 1, sizeof(row_t)),
                                .rows = arena_alloc(arena, side->n, sizeof(row_t))};
    struct arena_mark mark = arena_mark(arena);
    row_t *rows = arena_alloc(arena, side->n, sizeof *rows), n = 0;
    row_t *index = arena_alloc(arena, side->n_threads, sizeof *index); /* by thread */
    if (arena->failed)
        return sorted;
    for (row_t c = 0; c < n_chosen; c++) {
        index[chosen[c]] = c;
        for (row_t i = threads->first[chosen[c]]; i < threads->first[chosen[c] + 1]; i++)
            if (key[threads->rows[i]] != TOKEN_NONE)
                rows[n++] = threads->rows[i];
    }
    rows_bucket(rows, n, key, n_keys, sorted.first, sorted.rows);
    for (row_t i = 0; i < n; i++)
        sorted.rows[i] = index[side->thread[sorted.rows[i]]];
    arena_release(arena, mark);
    return sorted;
}

/* Adds the number of equal keys of each pair of chosen threads to common[host * n_device + device]. */
static void count_common(const struct keyed_rows *host, const struct keyed_rows *device, uint32_t n_keys,
                         row_t n_device, uint32_t *common) {
    for (uint32_t k = 0; k < n_keys; k++)
        for (row_t i = host->first[k], next; i < host->first[k + 1]; i = next) {
            for (next = i; next < host->first[k + 1] && host->rows[next] == host->rows[i];)
                next++;
            for (row_t j = device->first[k], end; j < device->first[k + 1]; j = end) {
                for (end = j; end < device->first[k + 1] && device->rows[end] == device->rows[j];)
                    end++;
                common[(size_t)host->rows[i] * n_device + device->rows[j]] += MIN(next - i, end - j);
            }
        }
}

/* Numbers the (token, sequence number) of both sides; TOKEN_NONE: no sequence number. False: out of memory. */
static bool number_keys(const struct op_side *side, struct pair_table *table, uint32_t *key) {
    for (row_t i = 0; i < side->n; i++) {
        key[i] = TOKEN_NONE;
        if (side->sequence[i] == KEY_ABSENT || side->token[i] == TOKEN_NONE)
            continue;
        struct pair_entry *entry = pair_table_insert(table, (uint64_t)side->sequence[i], side->token[i]);
        if (!entry)
            return false;
        if (entry->number == PAIR_NONE)
            entry->number = table->n - 1;
        key[i] = entry->number;
    }
    return true;
}

/* Lists pairs of threads in the arena, the best first, each thread once. Without memory the arena fails. */
static struct thread_pair *pair_threads(const struct op_threads *host, const struct op_threads *device,
                                        uint32_t n_tokens, struct arena *arena, row_t *n) {
    row_t n_host, n_device, n_pairs = 0;
    *n = 0;
    row_t *host_threads = choose_threads(host, arena, &n_host);
    row_t *device_threads = choose_threads(device, arena, &n_device);
    if (arena->failed)
        return NULL;
    struct thread_pair *pairs = arena_alloc(arena, (size_t)n_host * n_device, sizeof *pairs);
    struct arena_mark mark = arena_mark(arena);
    uint32_t *common = arena_zeros(arena, (size_t)n_host * n_device, sizeof *common);
    uint32_t *strong = arena_zeros(arena, (size_t)n_host * n_device, sizeof *strong);
    uint32_t *host_key = arena_alloc(arena, host->side->n, sizeof *host_key);
    uint32_t *device_key = arena_alloc(arena, device->side->n, sizeof *device_key);
    struct pair_table table;
    if (arena->failed || !pair_table_init(&table)) {
        arena->failed = true;
        return NULL;
    }
    struct keyed_rows a = sort_by_key(host, host_threads, n_host, host->side->token, n_tokens, arena);
    struct keyed_rows b = sort_by_key(device, device_threads, n_device, device->side->token, n_tokens, arena);
    if (!arena->failed)
        count_common(&a, &b, n_tokens, n_device, common);
    arena->failed |= !number_keys(host->side, &table, host_key) || !number_keys(device->side, &table, device_key);
    if (table.n && !arena->failed) {
        a = sort_by_key(host, host_threads, n_host, host_key, table.n, arena);
        b = sort_by_key(device, device_threads, n_device, device_key, table.n, arena);
        if (!arena->failed)
            count_common(&a, &b, table.n, n_device, strong);
    }
    pair_table_free(&table);
    for (row_t h = 0; h < n_host && !arena->failed; h++)
        for (row_t d = 0; d < n_device; d++) {
            size_t at = (size_t)h * n_device + d;
            row_t size_a = thread_size(host, host_threads[h]), size_b = thread_size(device, device_threads[d]);
            if (common[at])
                pairs[n_pairs++] =
                    (struct thread_pair){strong[at], common[at], size_a > size_b ? size_a - size_b : size_b - size_a,
                                         host_threads[h], device_threads[d]};
        }
    uint8_t *used_host = arena_zeros(arena, host->side->n_threads, 1);
    uint8_t *used_device = arena_zeros(arena, device->side->n_threads, 1);
    if (!arena->failed) {
        qsort(pairs, n_pairs, sizeof *pairs, compare_pairs);
        for (row_t i = 0; i < n_pairs; i++) {
            if (used_host[pairs[i].host] || used_device[pairs[i].device])
                continue;
            used_host[pairs[i].host] = used_device[pairs[i].device] = 1;
            pairs[(*n)++] = pairs[i];
        }
    }
    arena_release(arena, mark);
    return pairs;
}

/* ---- Sequence numbers ---- */

/* Differences that are counted to find the constant. */
#define VOTES_MAX 65536

/* The different (token, sequence number) of a thread. */
static bool list_numbers(const struct op_threads *threads, row_t thread, struct pair_table *table) {
    const struct op_side *side = threads->side;
    if (!pair_table_init(table))
        return false;
    for (row_t i = threads->first[thread]; i < threads->first[thread + 1]; i++) {
        row_t row = threads->rows[i];
        if (side->sequence[row] != KEY_ABSENT && side->token[row] != TOKEN_NONE &&
            !pair_table_insert(table, (uint64_t)side->sequence[row], side->token[row]))
            return false;
    }
    return true;
}

static row_t count_shifted(const struct pair_table *host, const struct pair_table *device, int64_t shift) {
    row_t n = 0;
    for (uint32_t i = 0; i < host->n; i++)
        n += pair_table_seek(device, host->entries[i].first + (uint64_t)shift, host->entries[i].second) != NULL;
    return n;
}

static int compare_shifts(const void *left, const void *right) {
    int64_t a = *(const int64_t *)left, b = *(const int64_t *)right;
    return (a > b) - (a < b);
}

/* The most frequent difference between a sequence number of the device and one of the host of the same token, of tokens
 * that are rare on the device; the smallest one of equal ones. Without memory the arena fails. O(n log n). */
static int64_t find_shift(const struct pair_table *host, const struct pair_table *device, uint32_t n_tokens,
                          struct arena *arena) {
    struct arena_mark mark = arena_mark(arena);
    row_t *first = arena_alloc(arena, (size_t)n_tokens + 1, sizeof *first); /* of a token's entries of the device */
    row_t *entry = arena_alloc(arena, device->n, sizeof *entry);
    uint32_t *token_of = arena_alloc(arena, device->n, sizeof *token_of);
    int64_t *shifts = arena_alloc(arena, VOTES_MAX, sizeof *shifts), best = 0;
    row_t n = 0, n_best = 0;
    for (row_t i = 0; i < device->n && !arena->failed; i++)
        token_of[i] = device->entries[i].second;
    if (!arena->failed)
        rows_bucket(NULL, device->n, token_of, n_tokens, first, entry);

    /* Tokens with up to 1, 2, 4, ... entries, until there are enough differences. */
    for (row_t low = 0, high = 1; n < VOTES_MAX && low < device->n && !arena->failed; low = high, high *= 2)
        for (row_t i = 0; i < host->n; i++) {
            uint32_t token = host->entries[i].second;
            row_t n_entries = first[token + 1] - first[token];
            if (n_entries <= low || n_entries > high || n + n_entries > VOTES_MAX)
                continue;
            for (row_t k = first[token]; k < first[token + 1]; k++)
                shifts[n++] = (int64_t)(device->entries[entry[k]].first - host->entries[i].first);
        }
    if (!arena->failed)
        qsort(shifts, n, sizeof *shifts, compare_shifts);
    for (row_t i = 0, end; i < n && !arena->failed; i = end) {
        for (end = i; end < n && shifts[end] == shifts[i];)
            end++;
        bool is_smaller = llabs(shifts[i]) < llabs(best);
        if (end - i > n_best || (end - i == n_best && is_smaller)) {
            n_best = end - i;
            best = shifts[i];
        }
    }
    arena_release(arena, mark);
    return best;
}

/* Copies the sequence numbers of a pair of threads that count to the columns `number`; *shift: the constant. Returns
 * whether they count. Without memory the arena fails. */
static bool settle_numbers(struct op_threads *host, struct op_threads *device, const struct thread_pair *pair,
                           uint32_t n_tokens, struct arena *arena, int64_t *shift) {
    struct pair_table a, b = {0};
    bool listed = list_numbers(host, pair->host, &a) && list_numbers(device, pair->device, &b);
    arena->failed |= !listed;
    const row_t n = listed ? MIN(a.n, b.n) : 0;
    bool counts = false;
    *shift = 0;
    if (n) {
        counts = 2 * (uint64_t)count_shifted(&a, &b, 0) >= n;
        if (!counts) {
            *shift = find_shift(&a, &b, n_tokens, arena);
            counts = 2 * (uint64_t)count_shifted(&a, &b, *shift) >= n;
        }
    }
    pair_table_free(&a);
    pair_table_free(&b);
    for (int i = 0; i < 2 && counts && !arena->failed; i++) {
        struct op_threads *threads = i ? device : host;
        const row_t thread = i ? pair->device : pair->host;
        for (row_t at = threads->first[thread]; at < threads->first[thread + 1]; at++) {
            row_t row = threads->rows[at];
            value_key sequence = threads->side->sequence[row];
            if (sequence != KEY_ABSENT && threads->side->collective[row] == KEY_ABSENT)
                threads->number[row] = i ? sequence : (int64_t)((uint64_t)sequence + (uint64_t)*shift);
        }
    }
    return counts;
}

/* ---- The window ---- */

/* Consecutive operators of a key. */
#define RUN 12

/* A side has a window if it has more than SIZE_RATIO times the operators of the other side. */
#define SIZE_RATIO 1.5

/* Diagonals with at least this share of the best one's equal runs fit equally well. */
#define EQUAL_SHARE 0.97

/* Diagonals whose equal runs are counted. */
#define CANDIDATES_MAX 256

/* The keys of n operators each, from all positions of a thread at which so many follow. */
static uint64_t *make_run_keys(const struct op_threads *threads, row_t thread, row_t n, struct arena *arena) {
    const row_t *rows = threads->rows + threads->first[thread], n_rows = thread_size(threads, thread);
    uint64_t *keys = arena_alloc(arena, n_rows, sizeof *keys);
    for (row_t i = 0; keys && i + n <= n_rows; i++) {
        uint64_t hash = n;
        for (row_t k = i; k < i + n; k++)
            hash = hash_pair(hash ^ (uint64_t)threads->number[rows[k]], threads->side->token[rows[k]], 0);
        keys[i] = hash;
    }
    return keys;
}

struct diagonal {
    uint32_t n_votes;
    row_t position; /* of the larger side's operator on the diagonal, minus the smaller side's, plus the smaller size */
};

static int compare_diagonals(const void *left, const void *right) {
    const struct diagonal *a = left, *b = right;
    if (a->n_votes != b->n_votes)
        return a->n_votes > b->n_votes ? -1 : 1;
    return (a->position > b->position) - (a->position < b->position);
}

/* Finds the window of the smaller side's thread in the larger side's: positions from *first to *end - 1. Returns the
 * number of windows that fit equally well, 0 if none fits. Without memory the arena fails. */
static row_t find_window(const struct op_threads *smaller, row_t small_thread, const struct op_threads *larger,
                         row_t large_thread, struct arena *arena, row_t *first, row_t *end) {
    const row_t n_a = thread_size(smaller, small_thread), n_b = thread_size(larger, large_thread), run = MIN(RUN, n_a);
    const row_t n_keys_a = n_a - run + 1, n_keys_b = n_b - run + 1;
    struct arena_mark mark = arena_mark(arena);
    uint64_t *a = make_run_keys(smaller, small_thread, run, arena),
             *b = make_run_keys(larger, large_thread, run, arena);
    uint32_t *number_b = arena_alloc(arena, n_keys_b, sizeof *number_b);
    row_t *at = arena_alloc(arena, n_keys_b, sizeof *at);
    uint32_t *votes = arena_zeros(arena, (size_t)n_a + n_b, sizeof *votes);
    struct diagonal *diagonals = arena_alloc(arena, (size_t)n_a + n_b, sizeof *diagonals);
    struct pair_table keys = {0};
    row_t n_positions = 0, n_diagonals = 0;
    *first = 0;
    *end = n_b;
    arena->failed |= !pair_table_init(&keys);
    for (row_t i = 0; i < n_keys_b && !arena->failed; i++) {
        struct pair_entry *entry = pair_table_insert(&keys, b[i], 0);
        if (!entry) {
            arena->failed = true;
            break;
        }
        if (entry->number == PAIR_NONE)
            entry->number = keys.n - 1;
        number_b[i] = entry->number;
    }
    row_t *start = arena_alloc(arena, (size_t)keys.n + 1, sizeof *start); /* of a key's positions in `at` */
    if (arena->failed)
        goto end;
    rows_bucket(NULL, n_keys_b, number_b, keys.n, start, at);

    /* Votes of keys that occur 1, 2, 4, ... times, until there are enough. */
    const uint64_t enough = 8 * ((uint64_t)n_a + n_b);
    uint64_t n_votes = 0;
    for (row_t low = 0, high = 1; n_votes < enough && low < n_keys_b; low = high, high *= 2)
        for (row_t i = 0; i < n_keys_a && n_votes < enough; i++) {
            uint32_t number = pair_table_find(&keys, a[i], 0);
            row_t n = number == PAIR_NONE ? 0 : start[number + 1] - start[number];
            if (n <= low || n > high)
                continue;
            for (row_t k = start[number]; k < start[number + 1]; k++)
                votes[at[k] + n_a - i]++;
            n_votes += n;
        }
    for (row_t d = 0; d < n_a + n_b; d++)
        if (votes[d])
            diagonals[n_diagonals++] = (struct diagonal){votes[d], d};
    qsort(diagonals, n_diagonals, sizeof *diagonals, compare_diagonals);
    n_diagonals = MIN(n_diagonals, CANDIDATES_MAX);

    /* Count the equal runs of the best ones. */
    uint32_t most = 0;
    for (row_t d = 0; d < n_diagonals; d++) {
        struct diagonal *diagonal = &diagonals[d];
        diagonal->n_votes = 0;
        for (row_t i = diagonal->position < n_a ? n_a - diagonal->position : 0; i < n_keys_a; i++) {
            row_t k = i + diagonal->position - n_a;
            if (k >= n_keys_b)
                break;
            diagonal->n_votes += a[i] == b[k];
        }
        most = MAX(most, diagonal->n_votes);
    }
    row_t best = UINT32_MAX;
    for (row_t d = 0; d < n_diagonals; d++)
        if (diagonals[d].n_votes >= EQUAL_SHARE * most && diagonals[d].position < best)
            best = diagonals[d].position;
    if (!most)
        goto end;
    n_positions = 1;
    for (row_t d = 0; d < n_diagonals; d++)
        n_positions += diagonals[d].n_votes >= EQUAL_SHARE * most && diagonals[d].position - best >= MAX(n_a / 2, 1);
    /* Operators may be missing: allow for some more, unless they would be of a neighbor that fits as well. */
    const row_t slack = n_positions > 1 ? 0 : n_a / 20 + 4;
    *first = best > n_a + slack ? best - n_a - slack : 0;
    *end = (uint64_t)best + slack < n_b ? best + slack : n_b;
end:
    pair_table_free(&keys);
    arena_release(arena, mark);
    return n_positions;
}

/* Limits the larger side to the window of the pair of threads with the most operators, which becomes the first pair. */
static void choose_window(struct op_threads *host, struct op_threads *device, struct thread_pair *pairs, row_t n,
                          struct arena *arena, struct op_match *match) {
    struct thread_pair *main = NULL;
    row_t most = 0;
    for (row_t i = 0; i < n; i++) {
        row_t size = MIN(thread_size(host, pairs[i].host), thread_size(device, pairs[i].device));
        if (size > most) {
            most = size;
            main = &pairs[i];
        }
    }
    if (!main)
        return;
    const struct thread_pair largest = *main;
    *main = pairs[0];
    pairs[0] = largest;
    main = pairs;
    const row_t n_host = thread_size(host, main->host), n_device = thread_size(device, main->device);
    bool is_host = n_host > SIZE_RATIO * n_device;
    if (!is_host && !(n_device > SIZE_RATIO * n_host))
        return;
    struct op_threads *larger = is_host ? host : device;
    row_t thread = is_host ? main->host : main->device, first, end;
    const row_t *rows = larger->rows + larger->first[thread];
    match->n_positions =
        find_window(is_host ? device : host, is_host ? main->device : main->host, larger, thread, arena, &first, &end);
    if (first > 0)
        larger->begin = rows[first - 1] + 1;
    if (end < thread_size(larger, thread))
        larger->end = rows[end];
}

/* ---- Matching ---- */

/* A thread's operators in the window. */
struct thread_ops {
    const row_t *rows;
    struct call_tree tree;
};

/* Builds the call tree of a thread, in the arena. `none` replaces TOKEN_NONE: another token per side, so that these
 * operators match none. `position` is scratch per row of the side. */
static struct thread_ops build_tree(const struct op_threads *threads, row_t thread, uint32_t none, row_t *position,
                                    struct arena *arena) {
    const struct op_side *side = threads->side;
    const row_t *rows = threads->rows + threads->first[thread];
    row_t low = 0, n = thread_size(threads, thread);
    while (n && rows[n - 1] >= threads->end)
        n--;
    while (low < n && rows[low] < threads->begin)
        low++;
    rows += low;
    n -= low;
    struct thread_ops ops = {.rows = rows, .tree = call_tree_take(arena, n)};
    struct call_tree *tree = &ops.tree;
    tree->number = arena_alloc(arena, n, sizeof *tree->number);
    if (arena->failed)
        return ops;
    for (row_t i = 0; i < n; i++) {
        row_t parent = side->parent[rows[i]];
        position[rows[i]] = i;
        tree->token[i] = side->token[rows[i]] == TOKEN_NONE ? none : side->token[rows[i]];
        tree->number[i] = threads->number[rows[i]];
        tree->parent[i] = ROW_NONE;
        if (parent != ROW_NONE && parent >= rows[0] && parent < rows[i] && side->thread[parent] == thread)
            tree->parent[i] = position[parent];
    }
    call_tree_finish(tree);
    return ops;
}

static void add_pair(struct op_match *match, row_t host, row_t device) {
    match->device[host] = device;
    match->host[device] = host;
    match->n++;
}

/* Limits a side with a window, for the other threads, to the matched operators of its largest thread (positions from
 * first to last), since the window allows for more: the few last operators of the previous forward pass may precede the
 * whole previous backward pass. Operators of other threads next to the first and the last match count if the other side
 * has such ones (next to its positions low and high). */
static void narrow(struct op_threads *threads, const struct thread_ops *ops, row_t first, row_t last,
                   const struct op_threads *other, const struct thread_ops *other_ops, row_t low, row_t high) {
    const bool has_before = other_ops->rows[low] - other->begin > low;
    const bool has_after = other->end - other_ops->rows[high] > other_ops->tree.n - high;
    if (threads->begin > threads->side->begin && !(has_before && first == 0))
        threads->begin = has_before ? ops->rows[first - 1] + 1 : ops->rows[first];
    if (threads->end < threads->side->end && !(has_after && last + 1 == ops->tree.n))
        threads->end = has_after ? ops->rows[last + 1] : ops->rows[last] + 1;
}

/* Matches the operators of all pairs of threads, the largest pair first. */
static enum sutra_status match_threads(struct sutra_context *context, struct op_threads *host,
                                       struct op_threads *device, const struct thread_pair *pairs, row_t n,
                                       struct arena *arena, struct op_match *match, struct sutra_error *error) {
    uint64_t n_spanned[2] = {0};
    row_t *host_position = arena_alloc(arena, host->side->n, sizeof *host_position);
    row_t *device_position = arena_alloc(arena, device->side->n, sizeof *device_position);
    for (row_t p = 0; p < n && !arena->failed; p++) {
        struct arena_mark mark = arena_mark(arena);
        struct thread_ops a = build_tree(host, pairs[p].host, TOKEN_NONE, host_position, arena);
        struct thread_ops b = build_tree(device, pairs[p].device, TOKEN_NONE - 1, device_position, arena);
        row_t *found = arena_alloc(arena, a.tree.n, sizeof *found);
        TRY(arena_status(arena, error));
        TRY(tree_align(&a.tree, &b.tree, context->pool, found, error));
        row_t low = ROW_NONE, high = 0;
        for (row_t i = 0; i < a.tree.n; i++) {
            if (found[i] == ROW_NONE)
                continue;
            add_pair(match, a.rows[i], b.rows[found[i]]);
            low = low == ROW_NONE ? i : low;
            high = i;
        }
        if (low != ROW_NONE) {
            n_spanned[0] += high - low + 1;
            n_spanned[1] += found[high] - found[low] + 1;
            if (p == 0) {
                narrow(host, &a, low, high, device, &b, found[low], found[high]);
                narrow(device, &b, found[low], found[high], host, &a, low, high);
            }
        }
        arena_release(arena, mark);
    }
    const uint64_t most = MAX(n_spanned[0], n_spanned[1]);
    match->confidence = most ? (double)match->n / (double)most : 0;
    return arena_status(arena, error);
}

/* Lists the unmatched operators of a window whose name no operator of their thread is matched under, by token. */
static struct keyed_rows list_leftovers(const struct op_threads *threads, const row_t *partner, uint32_t n_tokens,
                                        struct arena *arena) {
    const struct op_side *side = threads->side;
    struct keyed_rows left = {.first = arena_alloc(arena, (size_t)n_tokens + 1, sizeof(row_t)),
                              .rows = arena_alloc(arena, side->n, sizeof(row_t))};
    row_t *rows = arena_alloc(arena, side->n, sizeof *rows), n = 0;
    struct pair_table matched; /* of names by thread */
    if (arena->failed || !pair_table_init(&matched)) {
        arena->failed = true;
        return left;
    }
    for (row_t i = threads->begin; i < threads->end && !arena->failed; i++)
        if (partner[i] != ROW_NONE)
            arena->failed = !pair_table_insert(&matched, side->thread[i], side->token[i]);
    for (row_t i = threads->begin; i < threads->end && !arena->failed; i++)
        if (partner[i] == ROW_NONE && side->token[i] != TOKEN_NONE &&
            !pair_table_seek(&matched, side->thread[i], side->token[i]))
            rows[n++] = i;
    if (!arena->failed)
        rows_bucket(rows, n, side->token, n_tokens, left.first, left.rows);
    pair_table_free(&matched);
    return left;
}

static void match_leftovers(const struct op_threads *host, const struct op_threads *device, uint32_t n_tokens,
                            struct arena *arena, struct op_match *match) {
    struct keyed_rows a = list_leftovers(host, match->device, n_tokens, arena);
    struct keyed_rows b = list_leftovers(device, match->host, n_tokens, arena);
    for (uint32_t t = 0; t < n_tokens && !arena->failed; t++) {
        row_t n = a.first[t + 1] - a.first[t];
        if (n != b.first[t + 1] - b.first[t])
            continue;
        for (row_t i = 0; i < n; i++) {
            const row_t row_a = a.rows[a.first[t] + i], row_b = b.rows[b.first[t] + i];
            const value_key number_a = host->number[row_a], number_b = device->number[row_b];
            if (number_a == number_b || number_a == KEY_ABSENT || number_b == KEY_ABSENT)
                add_pair(match, row_a, row_b);
        }
    }
}

enum sutra_status ops_match(struct sutra_context *context, const struct op_side *host_side,
                            const struct op_side *device_side, uint32_t n_tokens, struct arena *arena,
                            struct op_match *match, struct sutra_error *error) {
    *match = (struct op_match){.device = rows_none(arena, host_side->n),
                               .host = rows_none(arena, device_side->n),
                               .host_partner = rows_none(arena, host_side->n_threads),
                               .device_partner = rows_none(arena, device_side->n_threads)};
    struct arena_mark mark = arena_mark(arena);
    struct op_threads host = list_threads(host_side, arena), device = list_threads(device_side, arena);
    TRY(arena_status(arena, error));
    row_t n = 0, largest = 0;
    struct thread_pair *pairs = pair_threads(&host, &device, n_tokens, arena, &n);
    TRY(arena_status(arena, error));
    for (row_t i = 0; i < n; i++) {
        int64_t shift;
        match->host_partner[pairs[i].host] = pairs[i].device;
        match->device_partner[pairs[i].device] = pairs[i].host;
        if (settle_numbers(&host, &device, &pairs[i], n_tokens, arena, &shift) &&
            thread_size(&host, pairs[i].host) > largest) {
            largest = thread_size(&host, pairs[i].host);
            match->has_numbers = true;
            match->number_shift = shift;
        }
    }
    TRY(arena_status(arena, error));
    choose_window(&host, &device, pairs, n, arena, match);
    TRY(arena_status(arena, error));
    TRY(match_threads(context, &host, &device, pairs, n, arena, match, error));
    match_leftovers(&host, &device, n_tokens, arena, match);
    TRY(arena_status(arena, error));
    match->limits_host = host.begin > host_side->begin || host.end < host_side->end;
    arena_release(arena, mark);
    return SUTRA_OK;
}
