/*
 * sort.cu - rows sorted by number or by key, as the engine's callers ask for it: columns in host memory, up, sorted,
 * and down again.
 */
#include <cstring>

#include "cuda/engine.h"
#include "cuda/gpu.h"
#include "cuda/sort.h"

/*
 * Sorts where not all rows fit the GPU: pieces of neighbouring rows are sorted one after the other,
 * and merged on the CPU. O(n log n).
 */

#define LEAST_ROWS 256 /* pieces are not cut below this */

/* ---- Merging ---- */

/* What merging compares and moves. */
struct piece_merge {
    struct number_column numbers; /* of the rows to be merged, or */
    uint64_t *keys, *other_keys;  /* keys that move with their rows */
    row_t *rows, *other_rows;
};

static bool comes_first(const struct piece_merge *merge, row_t left, row_t right) {
    if (merge->keys)
        return merge->keys[left] <= merge->keys[right];
    return number_compare(number_at(merge->numbers, merge->rows[left]),
                          number_at(merge->numbers, merge->rows[right])) <= 0;
}

static void take(struct piece_merge *merge, row_t to, row_t from) {
    merge->other_rows[to] = merge->rows[from];
    if (merge->keys)
        merge->other_keys[to] = merge->keys[from];
}

static void merge_neighbours(struct piece_merge *merge, row_t begin, row_t middle, row_t end) {
    row_t left = begin, right = middle;
    for (row_t to = begin; to < end; to++)
        take(merge, to, right == end || (left < middle && comes_first(merge, left, right)) ? left++ : right++);
}

/* Merges sorted pieces of `piece` rows until one is left. The result is in rows, and in keys. */
static void merge_pieces(struct piece_merge *merge, row_t n, uint64_t piece) {
    for (uint64_t width = piece; width < n; width *= 2) {
        for (uint64_t begin = 0; begin < n; begin += 2 * width) {
            uint64_t middle = begin + width < n ? begin + width : n;
            uint64_t end = middle + width < n ? middle + width : n;
            merge_neighbours(merge, (row_t)begin, (row_t)middle, (row_t)end);
        }
        row_t *rows = merge->rows;
        uint64_t *keys = merge->keys;
        merge->rows = merge->other_rows;
        merge->other_rows = rows;
        merge->keys = merge->other_keys;
        merge->other_keys = keys;
    }
}

/* ---- Sorting ---- */

/* Sorts rows [begin, begin + n). */
typedef enum gpu_outcome sort_rows(struct gpu *gpu, void *step, row_t begin, row_t n);

/* Sorts piece after piece and says how large they are. */
static enum gpu_outcome sort_pieces(struct gpu *gpu, void *step, row_t n, sort_rows *sort, row_t *piece) {
    enum gpu_outcome outcome = GPU_TOO_SMALL;
    *piece = n;
    row_t begin = 0;
    while (begin < n) {
        outcome = sort(gpu, step, begin, n - begin < *piece ? n - begin : *piece);
        if (outcome == GPU_DONE)
            begin = n - begin < *piece ? n : begin + *piece;
        else if (outcome == GPU_TOO_SMALL && begin == 0 && *piece / 2 >= LEAST_ROWS)
            *piece /= 2;
        else
            break;
    }
    return outcome;
}

static enum gpu_outcome sort_numbers_piece(struct gpu *gpu, void *arg, row_t begin, row_t n) {
    const struct sort_numbers_step *whole = static_cast<const struct sort_numbers_step *>(arg);
    struct sort_numbers_step step = {
        {whole->numbers.bits + begin, whole->numbers.kind + begin}, n, whole->order + begin};
    enum gpu_outcome outcome = gpu_run<gpu_sort_numbers>(gpu, &step);
    for (row_t i = 0; i < n && outcome == GPU_DONE; i++)
        step.order[i] += begin;
    return outcome;
}

enum gpu_outcome pieces_sort_numbers(struct gpu *gpu, struct sort_numbers_step *step) {
    struct arena arena = {};
    row_t *other = room_for<row_t>(&arena, step->n), piece;
    if (!other)
        return GPU_NO_MEMORY;
    enum gpu_outcome outcome = sort_pieces(gpu, step, step->n, sort_numbers_piece, &piece);
    if (outcome == GPU_DONE) {
        struct piece_merge merge = {step->numbers, NULL, NULL, step->order, other};
        merge_pieces(&merge, step->n, piece);
        if (merge.rows != step->order)
            memcpy(step->order, merge.rows, step->n * sizeof *step->order);
    }
    arena_free(&arena);
    return outcome;
}

static enum gpu_outcome sort_keys_piece(struct gpu *gpu, void *arg, row_t begin, row_t n) {
    const struct piece_merge *merge = static_cast<const struct piece_merge *>(arg);
    struct sort_keys_step step = {merge->keys + begin, merge->rows + begin, n};
    return gpu_run<gpu_sort_keys>(gpu, &step);
}

/* Works on copies, so that a failure leaves keys and rows as they were. */
enum gpu_outcome pieces_sort_keys(struct gpu *gpu, struct sort_keys_step *step) {
    struct arena arena = {};
    row_t n = step->n, piece;
    struct piece_merge merge = {{NULL, NULL},
                                room_for<uint64_t>(&arena, n),
                                room_for<uint64_t>(&arena, n),
                                room_for<row_t>(&arena, n),
                                room_for<row_t>(&arena, n)};
    enum gpu_outcome outcome = GPU_NO_MEMORY;
    if (!arena.failed) {
        memcpy(merge.keys, step->keys, n * sizeof *merge.keys);
        memcpy(merge.rows, step->rows, n * sizeof *merge.rows);
        outcome = sort_pieces(gpu, &merge, n, sort_keys_piece, &piece);
    }
    gpu->remarks.overwriting = false;
    if (outcome == GPU_DONE) {
        merge_pieces(&merge, n, piece);
        memcpy(step->keys, merge.keys, n * sizeof *merge.keys);
        memcpy(step->rows, merge.rows, n * sizeof *merge.rows);
    }
    arena_free(&arena);
    return outcome;
}

#define EXTENT_ROWS 65536u /* rows that share out the keys to find the extremes */

struct key_columns {
    const value_key *keys;
    row_t n;
    struct pairs pairs;
    struct key_extent *extent;
};

SHARED void find_extent(const struct key_columns &c, row_t first) {
    struct key_extent found = {UINT64_MAX, 0};
    for (uint64_t row = first; row < c.n; row += EXTENT_ROWS) {
        uint64_t key = integer_sort_key(c.keys[row]);
        found.least = key < found.least ? key : found.least;
        found.most = key > found.most ? key : found.most;
    }
    keep_least(&c.extent->least, found.least);
    keep_most(&c.extent->most, found.most);
}

SHARED void put_key(const struct key_columns &c, row_t row) {
    c.pairs.keys[row] = integer_sort_key(c.keys[row]) - c.extent->least;
    c.pairs.rows[row] = row;
}

struct sorted_keys keys_sort(struct gpu *gpu, const value_key *keys, row_t n) {
    struct key_extent extent = {UINT64_MAX, 0};
    struct key_columns c = {keys, n, pairs_take(gpu, n), gpu_up(gpu, &extent, 1)};
    gpu_ready(gpu);
    gpu_each<find_extent>(gpu, n < EXTENT_ROWS ? n : EXTENT_ROWS, c);
    gpu_each<put_key>(gpu, n, c);
    gpu_down(gpu, &extent, c.extent, 1);
    gpu_sort(gpu, &c.pairs, n, gpu->planning ? 64 : bits_of(extent.most - extent.least));
    struct sorted_keys sorted = {c.pairs, c.extent};
    return sorted;
}

/*
 * The last position of each wanted key; in come two columns of keys, out go positions of the first.
 *
 * The keys are sorted once, stably, so that of equal keys the last position is the last place; each wanted key is
 * searched there. O(n log n), 40 bytes a key and 12 a wanted one.
 */

struct join_columns {
    struct sorted_keys sorted;
    row_t n;
    const value_key *wanted;
    row_t *found;
};

SHARED void find_last(const struct join_columns &c, row_t i) {
    struct bisection at = {0, c.n};
    value_key wanted = c.wanted[i];
    while (at.low < at.high)
        bisect(&at, sorted_key(c.sorted, bisect_middle(at)) <= wanted);
    bool there = at.low && sorted_key(c.sorted, at.low - 1) == wanted;
    c.found[i] = there ? c.sorted.pairs.rows[at.low - 1] : ROW_NONE;
}

void gpu_join(struct gpu *gpu, struct join_step *step) {
    gpu_enter(gpu, GPU_UP);
    const value_key *keys = gpu_up(gpu, step->keys, step->n);
    gpu_ready(gpu);
    const value_key *wanted = gpu_up(gpu, step->wanted, step->n_wanted);
    gpu_enter(gpu, GPU_SORT);
    struct join_columns c = {keys_sort(gpu, keys, step->n), step->n, wanted, gpu_take<row_t>(gpu, step->n_wanted)};
    gpu_ready(gpu);
    gpu_enter(gpu, GPU_OTHER);
    gpu_each<find_last>(gpu, step->n_wanted, c);
    gpu_enter(gpu, GPU_DOWN);
    gpu_down(gpu, step->found, c.found, step->n_wanted);
}

enum number_finding { FOUND_DOUBLE = 1, FOUND_INTEGER = 2, FOUND_LARGE = 4, FOUND_DISORDER = 8 };

struct number_columns {
    struct number_column numbers;
    struct pairs pairs;
    uint32_t *found; /* enum number_finding */
};

SHARED void look_at(const struct number_columns &c, row_t row) {
    struct number x = number_at(c.numbers, row);
    uint32_t found = number_is_double(x) ? FOUND_DOUBLE : FOUND_INTEGER;
    if (!number_fits_double(x))
        found |= FOUND_LARGE;
    if (row && number_below(x, number_at(c.numbers, row - 1)))
        found |= FOUND_DISORDER;
    set_bits(c.found, found);
    c.pairs.rows[row] = row;
}

SHARED void put_rest(const struct number_columns &c, row_t i) {
    c.pairs.keys[i] = number_rest_key(number_at(c.numbers, c.pairs.rows[i]));
}

SHARED void put_whole(const struct number_columns &c, row_t i) {
    c.pairs.keys[i] = number_whole_key(number_at(c.numbers, c.pairs.rows[i]));
}

SHARED void put_integer(const struct number_columns &c, row_t i) {
    c.pairs.keys[i] = integer_sort_key((int64_t)number_at(c.numbers, c.pairs.rows[i]).bits);
}

void gpu_sort_numbers(struct gpu *gpu, struct sort_numbers_step *step) {
    uint32_t found = 0;
    gpu_enter(gpu, GPU_UP);
    struct number_columns c = {gpu_up_numbers(gpu, step->numbers, step->n), pairs_take(gpu, step->n),
                               gpu_take_zeros<uint32_t>(gpu, 1)};
    gpu_ready(gpu);
    gpu_enter(gpu, GPU_SORT);
    gpu_each<look_at>(gpu, step->n, c);
    gpu_down(gpu, &found, c.found, 1);
    if (gpu->planning || (found & FOUND_DISORDER && found & FOUND_DOUBLE && found & FOUND_LARGE)) {
        gpu_each<put_rest>(gpu, step->n, c);
        gpu_sort(gpu, &c.pairs, step->n, 64);
    }
    if (found & FOUND_DISORDER) {
        if (found & FOUND_DOUBLE)
            gpu_each<put_whole>(gpu, step->n, c);
        else
            gpu_each<put_integer>(gpu, step->n, c);
        gpu_sort(gpu, &c.pairs, step->n, 64);
    }
    gpu_enter(gpu, GPU_DOWN);
    gpu_down(gpu, step->order, c.pairs.rows, step->n);
}

void gpu_sort_keys(struct gpu *gpu, struct sort_keys_step *step) {
    struct pairs pairs = pairs_take(gpu, step->n);
    gpu_enter(gpu, GPU_UP);
    gpu_copy_up(gpu, pairs.keys, step->keys, step->n * sizeof *step->keys);
    gpu_copy_up(gpu, pairs.rows, step->rows, step->n * sizeof *step->rows);
    gpu_ready(gpu);
    gpu_enter(gpu, GPU_SORT);
    gpu_sort(gpu, &pairs, step->n, 64);
    gpu->remarks.overwriting = gpu_arrived(gpu);
    gpu_enter(gpu, GPU_DOWN);
    gpu_down(gpu, step->keys, pairs.keys, step->n);
    gpu_down(gpu, step->rows, pairs.rows, step->n);
}
