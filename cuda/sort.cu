/*
 * sort.cu - sorts rows by number or by key, and joins ids. Input and output: columns in host memory.
 *
 * Rows that do not fit into GPU memory together are sorted in pieces of neighbouring rows, which the CPU merges.
 * O(n log n).
 */
#include <cstring>

#include "cuda/engine.h"
#include "cuda/gpu.h"
#include "cuda/table.h"

/* ---- Pieces ---- */

#define MIN_ROWS 256 /* minimum size of a piece */

struct piece_merge {
    struct number_column numbers; /* the order of the rows, unless they have keys */
    uint64_t *keys, *other_keys;  /* keys move with their rows; NULL: none */
    row_t *rows, *other_rows;
};

static bool precedes(const struct piece_merge *merge, row_t left, row_t right) {
    if (merge->keys)
        return merge->keys[left] <= merge->keys[right];
    return number_compare(number_at(merge->numbers, merge->rows[left]),
                          number_at(merge->numbers, merge->rows[right])) <= 0;
}

/* Merges sorted pieces of `piece` rows until one is left. The result is in rows, and in keys. */
static void merge_pieces(struct piece_merge *merge, row_t n, uint64_t piece) {
    for (uint64_t width = piece; width < n; width *= 2) {
        for (uint64_t begin = 0; begin < n; begin += 2 * width) {
            uint64_t middle = begin + width < n ? begin + width : n;
            uint64_t end = middle + width < n ? middle + width : n;
            row_t left = (row_t)begin, right = (row_t)middle;
            for (row_t to = (row_t)begin; to < end; to++) {
                bool from_left = right == end || (left < middle && precedes(merge, left, right));
                row_t from = from_left ? left++ : right++;
                merge->other_rows[to] = merge->rows[from];
                if (merge->keys)
                    merge->other_keys[to] = merge->keys[from];
            }
        }
        row_t *rows = merge->rows;
        uint64_t *keys = merge->keys;
        merge->rows = merge->other_rows;
        merge->other_rows = rows;
        merge->keys = merge->other_keys;
        merge->other_keys = keys;
    }
}

/* Sorts rows [begin, begin + n). */
typedef enum gpu_outcome sort_rows(struct gpu *gpu, void *step, row_t begin, row_t n);

/* Sorts one piece after the other and returns their size. */
static enum gpu_outcome sort_pieces(struct gpu *gpu, void *step, row_t n, sort_rows *sort, row_t *piece) {
    enum gpu_outcome outcome = GPU_TOO_SMALL;
    *piece = n;
    row_t begin = 0;
    while (begin < n) {
        outcome = sort(gpu, step, begin, n - begin < *piece ? n - begin : *piece);
        if (outcome == GPU_DONE)
            begin = n - begin < *piece ? n : begin + *piece;
        else if (outcome == GPU_TOO_SMALL && begin == 0 && *piece / 2 >= MIN_ROWS)
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

/* Sorts copies, so that keys and rows do not change on failure. */
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
    if (outcome == GPU_DONE && merge.keys && merge.other_keys) {
        merge_pieces(&merge, n, piece);
        memcpy(step->keys, merge.keys, n * sizeof *merge.keys);
        memcpy(step->rows, merge.rows, n * sizeof *merge.rows);
    }
    arena_free(&arena);
    return outcome;
}

/* ---- Sorted ids ---- */

#define EXTENT_ROWS 65536u /* kernel rows that find the extremes, each of a share of the keys */

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
        found.min = key < found.min ? key : found.min;
        found.max = key > found.max ? key : found.max;
    }
    keep_min(&c.extent->min, found.min);
    keep_max(&c.extent->max, found.max);
}

SHARED void set_key(const struct key_columns &c, row_t row) {
    c.pairs.keys[row] = integer_sort_key(c.keys[row]) - c.extent->min;
    c.pairs.rows[row] = row;
}

struct sorted_keys keys_sort(struct gpu *gpu, const value_key *keys, row_t n) {
    struct key_extent extent = {UINT64_MAX, 0};
    struct key_columns c = {keys, n, pairs_take(gpu, n), gpu_up(gpu, &extent, 1)};
    gpu_ready(gpu);
    gpu_each<find_extent>(gpu, n < EXTENT_ROWS ? n : EXTENT_ROWS, c);
    gpu_each<set_key>(gpu, n, c);
    gpu_down(gpu, &extent, c.extent, 1);
    gpu_sort(gpu, &c.pairs, n, gpu->planning ? 64 : bits_of(extent.max - extent.min));
    struct sorted_keys sorted = {c.pairs, c.extent};
    return sorted;
}

/* A join finds the last position of each wanted key. The keys are sorted stably, so the last of equal keys has the last
 * position; a wanted key is a binary search. O(n log n), 40 bytes per key and 12 per wanted key. */

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
    bool found = at.low && sorted_key(c.sorted, at.low - 1) == wanted;
    c.found[i] = found ? c.sorted.pairs.rows[at.low - 1] : ROW_NONE;
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

/* ---- Sorting ---- */

enum number_finding { FOUND_DOUBLE = 1, FOUND_INTEGER = 2, FOUND_LARGE = 4, FOUND_DISORDER = 8 };

struct number_columns {
    struct number_column numbers;
    struct pairs pairs;
    uint32_t *found; /* enum number_finding */
};

SHARED void inspect_number(const struct number_columns &c, row_t row) {
    struct number x = number_at(c.numbers, row);
    uint32_t found = number_is_double(x) ? FOUND_DOUBLE : FOUND_INTEGER;
    if (!number_fits_double(x))
        found |= FOUND_LARGE;
    if (row && number_below(x, number_at(c.numbers, row - 1)))
        found |= FOUND_DISORDER;
    set_bits(c.found, found);
    c.pairs.rows[row] = row;
}

SHARED void set_rest(const struct number_columns &c, row_t i) {
    c.pairs.keys[i] = number_rest_key(number_at(c.numbers, c.pairs.rows[i]));
}

SHARED void set_whole(const struct number_columns &c, row_t i) {
    c.pairs.keys[i] = number_whole_key(number_at(c.numbers, c.pairs.rows[i]));
}

SHARED void set_integer(const struct number_columns &c, row_t i) {
    c.pairs.keys[i] = integer_sort_key((int64_t)number_at(c.numbers, c.pairs.rows[i]).bits);
}

void gpu_sort_numbers(struct gpu *gpu, struct sort_numbers_step *step) {
    uint32_t found = 0;
    gpu_enter(gpu, GPU_UP);
    struct number_columns c = {gpu_up_numbers(gpu, step->numbers, step->n), pairs_take(gpu, step->n),
                               gpu_take_zeros<uint32_t>(gpu, 1)};
    gpu_ready(gpu);
    gpu_enter(gpu, GPU_SORT);
    gpu_each<inspect_number>(gpu, step->n, c);
    gpu_down(gpu, &found, c.found, 1);
    if (gpu->planning || (found & FOUND_DISORDER && found & FOUND_DOUBLE && found & FOUND_LARGE)) {
        gpu_each<set_rest>(gpu, step->n, c);
        gpu_sort(gpu, &c.pairs, step->n, 64);
    }
    if (found & FOUND_DISORDER) {
        if (found & FOUND_DOUBLE)
            gpu_each<set_whole>(gpu, step->n, c);
        else
            gpu_each<set_integer>(gpu, step->n, c);
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
