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

/* ---- Joins ---- */

/* A join finds the last row of each wanted id. Ids are sorted stably, so the last of equal ids has the last position; a
 * wanted id is a binary search. O(n log n), 40 bytes per id and 16 per wanted id. */

struct join_columns {
    const value_key *ids;
    row_t n;
    struct id_range *range;
    struct pairs pairs; /* small keys, and rows */
    const value_key *wanted;
    row_t *found;
};

SHARED void find_id_range(const struct join_columns &c, row_t first) {
    struct id_range range = id_range_none();
    for (uint64_t row = first; row < c.n; row += SHARES)
        id_range_add(&range, c.ids[row]);
    id_range_merge(c.range, &range);
}

SHARED void set_small_key(const struct join_columns &c, row_t row) {
    id_to_small(c.range, c.ids[row], &c.pairs.keys[row]);
    c.pairs.rows[row] = row;
}

SHARED void find_last(const struct join_columns &c, row_t i) {
    struct bisection at = {0, c.n};
    uint64_t wanted;
    bool known = id_to_small(c.range, c.wanted[i], &wanted);
    while (at.low < at.high && known)
        bisect(&at, c.pairs.keys[bisect_middle(at)] <= wanted);
    bool found = at.low && c.pairs.keys[at.low - 1] == wanted;
    c.found[i] = found ? c.pairs.rows[at.low - 1] : ROW_NONE;
}

void gpu_join(struct gpu *gpu, struct join_step *step) {
    struct id_range range = id_range_none();
    gpu_enter(gpu, GPU_UP);
    struct join_columns c = {};
    value_key *ids = gpu_take<value_key>(gpu, step->n), *wanted = gpu_take<value_key>(gpu, step->n_wanted);
    c.ids = ids;
    c.wanted = wanted;
    c.n = step->n;
    c.range = gpu_up(gpu, &range, 1);
    size_t mark = gpu_mark(gpu);
    gpu_copy_up_ids(gpu, ids, step->keys, step->n);
    gpu_ready(gpu);
    gpu_release(gpu, mark);
    gpu_copy_up_ids(gpu, wanted, step->wanted, step->n_wanted);
    gpu_enter(gpu, GPU_SORT);
    c.pairs = pairs_take(gpu, step->n);
    c.found = gpu_take<row_t>(gpu, step->n_wanted);
    gpu_each_share<find_id_range>(gpu, step->n, c);
    gpu_each<set_small_key>(gpu, step->n, c);
    gpu_down(gpu, &range, c.range, 1);
    gpu_sort(gpu, &c.pairs, step->n, gpu->planning ? 64 : id_range_bits(&range));
    gpu_ready(gpu);
    gpu_enter(gpu, GPU_OTHER);
    gpu_each<find_last>(gpu, step->n_wanted, c);
    gpu_enter(gpu, GPU_DOWN);
    gpu_down(gpu, step->found, c.found, step->n_wanted);
}

/* ---- Sorting ---- */

enum number_finding { FOUND_DOUBLE = 1, FOUND_INTEGER = 2, FOUND_LARGE = 4, FOUND_DISORDER = 8 };

/* Properties of a column of numbers. The kind of the first number determines the kind of keys. */
struct number_findings {
    uint64_t min, max;  /* of all keys */
    uint64_t differing; /* bits in which some key differs from the first one */
    uint32_t found;     /* enum number_finding */
};

struct number_columns {
    struct number_column numbers;
    row_t n;
    struct pairs pairs;
    struct number_findings *findings;
    uint64_t min;   /* is subtracted from keys */
    unsigned shift; /* lowest bits, equal in all keys, that are dropped */
};

SHARED uint64_t key_of(const struct number_columns &c, row_t row) {
    struct number x = number_at(c.numbers, row);
    bool as_doubles = number_is_double(number_at(c.numbers, 0));
    return as_doubles ? number_whole_key(x) : integer_sort_key((int64_t)x.bits);
}

SHARED void inspect_numbers(const struct number_columns &c, row_t first) {
    struct number_findings findings = {UINT64_MAX, 0, 0, 0};
    uint64_t first_key = key_of(c, 0);
    for (uint64_t i = first; i < c.n; i += SHARES) {
        row_t row = (row_t)i;
        struct number x = number_at(c.numbers, row);
        uint64_t key = key_of(c, row);
        findings.min = key < findings.min ? key : findings.min;
        findings.max = key > findings.max ? key : findings.max;
        findings.differing |= key ^ first_key;
        findings.found |= number_is_double(x) ? FOUND_DOUBLE : FOUND_INTEGER;
        findings.found |= number_fits_double(x) ? 0 : FOUND_LARGE;
        findings.found |= row && number_below(x, number_at(c.numbers, row - 1)) ? FOUND_DISORDER : 0;
    }
    keep_min(&c.findings->min, findings.min);
    keep_max(&c.findings->max, findings.max);
    set_bits(&c.findings->differing, findings.differing);
    set_bits(&c.findings->found, findings.found);
}

SHARED void set_rest(const struct number_columns &c, row_t row) {
    c.pairs.keys[row] = number_rest_key(number_at(c.numbers, row));
    c.pairs.rows[row] = row;
}

/* After a sort by the rest. */
SHARED void set_whole(const struct number_columns &c, row_t i) {
    c.pairs.keys[i] = number_whole_key(number_at(c.numbers, c.pairs.rows[i]));
}

SHARED void set_key(const struct number_columns &c, row_t row) {
    c.pairs.keys[row] = (key_of(c, row) - c.min) >> c.shift;
    c.pairs.rows[row] = row;
}

struct identity {
    row_t *rows, n;
    size_t n_parts;
};

static void fill_identity_part(void *arg, size_t i) {
    const struct identity *identity = static_cast<const struct identity *>(arg);
    size_t end = part_offset(identity->n, identity->n_parts, i + 1);
    for (size_t row = part_offset(identity->n, identity->n_parts, i); row < end; row++)
        identity->rows[row] = (row_t)row;
}

/* Keys need few bits: times of a trace are close together, and doubles that count fractions of a microsecond have equal
 * lowest bits. */
void gpu_sort_numbers(struct gpu *gpu, struct sort_numbers_step *step) {
    struct number_findings findings = {UINT64_MAX, 0, 0, 0};
    row_t n = step->n;
    gpu_enter(gpu, GPU_UP);
    struct number_columns c = {};
    c.numbers = gpu_up_numbers(gpu, step->numbers, n);
    c.n = n;
    c.pairs = pairs_take(gpu, n);
    c.findings = gpu_up(gpu, &findings, 1);
    gpu_ready(gpu);
    gpu_enter(gpu, GPU_SORT);
    gpu_each_share<inspect_numbers>(gpu, n, c);
    gpu_down(gpu, &findings, c.findings, 1);
    uint32_t found = gpu->planning ? (uint32_t)FOUND_DISORDER : findings.found;
    bool mixed = found & FOUND_DOUBLE && found & FOUND_INTEGER;
    if (!(found & FOUND_DISORDER)) { /* nothing to copy back */
        struct identity identity = {step->order, gpu_idle(gpu) ? 0 : n, pool_threads(gpu->pool)};
        pool_run(gpu->pool, identity.n_parts, fill_identity_part, &identity);
        return;
    }
    if (mixed) {
        gpu_each<set_rest>(gpu, n, c);
        gpu_sort(gpu, &c.pairs, n, found & FOUND_LARGE ? 64 : 0);
        gpu_each<set_whole>(gpu, n, c);
        gpu_sort(gpu, &c.pairs, n, 64);
    } else {
        c.min = findings.min;
        c.shift = findings.differing ? (unsigned)__builtin_ctzll(findings.differing) : 0;
        gpu_each<set_key>(gpu, n, c);
        gpu_sort(gpu, &c.pairs, n, gpu->planning ? 64 : bits_of((findings.max - findings.min) >> c.shift));
    }
    gpu_enter(gpu, GPU_DOWN);
    gpu_down(gpu, step->order, c.pairs.rows, n);
}

struct key_range {
    uint64_t min, max;
};

struct key_columns {
    uint64_t *keys;
    row_t n;
    struct key_range *range;
    uint64_t added; /* to each key, modulo 2^64 */
};

SHARED void find_key_range(const struct key_columns &c, row_t first) {
    struct key_range range = {UINT64_MAX, 0};
    for (uint64_t row = first; row < c.n; row += SHARES) {
        range.min = c.keys[row] < range.min ? c.keys[row] : range.min;
        range.max = c.keys[row] > range.max ? c.keys[row] : range.max;
    }
    keep_min(&c.range->min, range.min);
    keep_max(&c.range->max, range.max);
}

SHARED void add_to_key(const struct key_columns &c, row_t row) {
    c.keys[row] += c.added;
}

/* Keys less the smallest need few bits, also around a power of two. */
void gpu_sort_keys(struct gpu *gpu, struct sort_keys_step *step) {
    struct key_range range = {UINT64_MAX, 0};
    gpu_enter(gpu, GPU_UP);
    struct pairs pairs = pairs_take(gpu, step->n);
    gpu_copy_up(gpu, pairs.keys, step->keys, step->n * sizeof *step->keys);
    gpu_copy_up(gpu, pairs.rows, step->rows, step->n * sizeof *step->rows);
    struct key_columns c = {pairs.keys, step->n, gpu_up(gpu, &range, 1), 0};
    gpu_ready(gpu);
    gpu_enter(gpu, GPU_SORT);
    gpu_each_share<find_key_range>(gpu, step->n, c);
    gpu_down(gpu, &range, c.range, 1);
    bool subtracts = bits_of(range.max - range.min) < bits_of(range.max ^ range.min);
    c.added = 0 - range.min;
    if (subtracts)
        gpu_each<add_to_key>(gpu, step->n, c);
    gpu_sort(gpu, &pairs, step->n, gpu->planning ? 64 : bits_of(range.max - range.min));
    c.keys = pairs.keys;
    c.added = range.min;
    if (subtracts)
        gpu_each<add_to_key>(gpu, step->n, c);
    gpu->remarks.overwriting = gpu_arrived(gpu);
    gpu_enter(gpu, GPU_DOWN);
    gpu_down(gpu, step->keys, pairs.keys, step->n);
    gpu_down(gpu, step->rows, pairs.rows, step->n);
}
