/*
 * sort_pieces.cu - sorts where not all rows fit the GPU: pieces of neighbouring rows are sorted one after the other,
 * and merged on the CPU. O(n log n).
 */
#include <cstring>

#include "cuda/room.h"
#include "cuda/steps.h"

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
