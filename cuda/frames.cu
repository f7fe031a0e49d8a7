/*
 * frames.cu - which frame an end closes, and which frame is around a beginning; in come the tokens of all threads, out
 * goes a token for each.
 *
 * A scan tells how deep the stack is at each token. Sorted by thread and level, tokens take turns:
 *
 *     tokens   (  (  )  (  (  )  )  )      level 1   ( . . . . . . )     an end belongs to the beginning before it
 *     level    1  2  2  2  3  3  2  1      level 2   . ( ) ( . . ) .     around a beginning is the last one of the
 *                                          level 3   . . . . ( ) . .     level above it that comes earlier
 *
 * Ends that close nothing are of level 0. O(n log n), 50 bytes a token.
 */
#include "cuda/bits.h"
#include "cuda/steps.h"

struct frame_columns {
    row_t n;
    uint32_t n_threads;
    const row_t *thread_start;
    const uint8_t *begins;
    struct frame_depth *depth;
    struct pairs pairs; /* keys: thread and level */
    unsigned level_bits;
    row_t *partner;
};

SHARED uint32_t thread_of(const struct frame_columns &c, row_t token) {
    struct bisection at = {0, c.n_threads};
    while (at.low < at.high)
        bisect(&at, c.thread_start[bisect_middle(at) + 1] <= token);
    return at.low;
}

SHARED void put_depth(const struct frame_columns &c, row_t token) {
    c.depth[token] = frame_depth_of(thread_of(c, token), c.begins[token] != 0);
}

SHARED void put_level(const struct frame_columns &c, row_t token) {
    uint32_t thread = c.depth[token].thread, level = 0;
    if (c.begins[token])
        level = frame_depth_open(&c.depth[token]);
    else if (token > c.thread_start[thread])
        level = frame_depth_open(&c.depth[token - 1]);
    c.pairs.keys[token] = (uint64_t)thread << c.level_bits | level;
    c.pairs.rows[token] = token;
}

/* The last token of a thread and level before another one, which is there. */
SHARED row_t last_before(const struct frame_columns &c, uint64_t key, row_t token) {
    struct bisection at = {0, c.n};
    while (at.low < at.high) {
        row_t middle = bisect_middle(at);
        uint64_t found = c.pairs.keys[middle];
        bisect(&at, found < key || (found == key && c.pairs.rows[middle] < token));
    }
    return c.pairs.rows[at.low - 1];
}

SHARED void put_partner(const struct frame_columns &c, row_t place) {
    row_t token = c.pairs.rows[place], partner = ROW_NONE;
    uint64_t key = c.pairs.keys[place], level = key & (((uint64_t)1 << c.level_bits) - 1);
    if (!c.begins[token] && level)
        partner = c.pairs.rows[place - 1];
    else if (level > 1)
        partner = last_before(c, key - 1, token);
    c.partner[token] = partner;
}

void gpu_match_frames(struct gpu *gpu, struct match_frames_step *step) {
    const struct frame_tokens *tokens = step->tokens;
    row_t n = tokens->n;
    gpu_enter(gpu, GPU_UP);
    struct frame_columns c = {};
    c.n = n;
    c.n_threads = tokens->n_threads;
    c.level_bits = bits_of(n);
    c.thread_start = gpu_up(gpu, tokens->thread_start, (uint64_t)tokens->n_threads + 1);
    c.begins = gpu_up(gpu, tokens->begins, n);
    gpu_ready(gpu);
    gpu_enter(gpu, GPU_OTHER);
    c.depth = gpu_take<struct frame_depth>(gpu, n);
    c.pairs = pairs_take(gpu, n);
    c.partner = gpu_take<row_t>(gpu, n);
    gpu_each<put_depth>(gpu, n, c);
    gpu_scan_depths(gpu, c.depth, n);
    gpu_each<put_level>(gpu, n, c);
    gpu_sort(gpu, &c.pairs, n, c.level_bits + bits_of(c.n_threads));
    gpu_each<put_partner>(gpu, n, c);
    gpu_enter(gpu, GPU_DOWN);
    gpu_down(gpu, step->partner, c.partner, n);
}
