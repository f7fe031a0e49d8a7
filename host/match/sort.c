/*
 * sort.c - stable sorting of rows by a 64-bit key or by a number. Input: keys and rows. Output: both in order.
 *
 * A radix sort from the lowest digit to the highest, over the bits in which keys differ, in digits of at most 11 bits;
 * digits that are equal in all keys are skipped. For large tables each thread counts and then moves a chunk of its own.
 * Positions are assigned by digit and then by chunk,
 *
 *     | digit 0: chunk 0, chunk 1, ... | digit 1: chunk 0, chunk 1, ... | ...
 *
 * so the result is the same for any number of threads. If most rows ascend, as in a file of several sorted blocks, only
 * the late rows, which follow a larger one, are sorted and then merged with the others.
 *
 * Numbers are mapped to keys of the same order. No 64-bit key represents both integers beyond 2^53 and doubles; such
 * columns are first sorted by the rest (see columns/numbers.h).
 *
 * Cost: O(n) for each digit; O(n) if the rows are sorted.
 */
#include <stdlib.h>
#include <string.h>

#include "base/arena.h"
#include "base/error.h"
#include "base/shared.h"
#include "match/steps.h"

#define DIGIT_BITS     11
#define CHUNK_ROWS     65536 /* fewest rows for which a second thread pays off */
#define INSERTION_ROWS 32    /* fewer rows are sorted by insertion */

struct radix {
    uint64_t *keys, *next_keys;
    row_t *rows, *next_rows;
    row_t n;
    size_t n_chunks;
    row_t *positions; /* n_chunks times n_values: counts, then the next position of each digit */
    unsigned shift;
    uint64_t n_values; /* of a digit */
};

static void count_chunk(void *arg, size_t chunk) {
    const struct radix *radix = arg;
    row_t *counts = radix->positions + chunk * radix->n_values;
    memset(counts, 0, radix->n_values * sizeof *counts);
    size_t end = part_offset(radix->n, radix->n_chunks, chunk + 1);
    for (size_t i = part_offset(radix->n, radix->n_chunks, chunk); i < end; i++)
        counts[radix->keys[i] >> radix->shift & (radix->n_values - 1)]++;
}

static void move_chunk(void *arg, size_t chunk) {
    const struct radix *radix = arg;
    row_t *positions = radix->positions + chunk * radix->n_values;
    size_t end = part_offset(radix->n, radix->n_chunks, chunk + 1);
    for (size_t i = part_offset(radix->n, radix->n_chunks, chunk); i < end; i++) {
        row_t position = positions[radix->keys[i] >> radix->shift & (radix->n_values - 1)]++;
        radix->next_keys[position] = radix->keys[i];
        radix->next_rows[position] = radix->rows[i];
    }
}

static void run_chunks(struct pool *pool, struct radix *radix, void (*task)(void *arg, size_t chunk)) {
    if (radix->n_chunks == 1)
        task(radix, 0);
    else
        pool_run(pool, radix->n_chunks, task, radix);
}

static void sort_digit(struct pool *pool, struct radix *radix) {
    run_chunks(pool, radix, count_chunk);
    row_t position = 0; /* turn counts into positions */
    for (uint64_t value = 0; value < radix->n_values; value++)
        for (size_t chunk = 0; chunk < radix->n_chunks; chunk++) {
            row_t *count = &radix->positions[chunk * radix->n_values + value];
            row_t next = position + *count;
            *count = position;
            position = next;
        }
    run_chunks(pool, radix, move_chunk);
    uint64_t *keys = radix->keys;
    row_t *rows = radix->rows;
    radix->keys = radix->next_keys;
    radix->rows = radix->next_rows;
    radix->next_keys = keys;
    radix->next_rows = rows;
}

static enum sutra_status sort_radix(struct pool *pool, struct sort_keys_step *step, struct sutra_error *error) {
    row_t n = step->n;
    uint64_t differing = 0; /* the bits in which keys differ */
    for (row_t i = 1; i < n; i++)
        differing |= step->keys[i] ^ step->keys[i - 1];
    if (!differing)
        return SUTRA_OK;
    struct arena arena = {0};
    size_t n_chunks = pool && n / 2 >= CHUNK_ROWS ? pool_threads(pool) : 1;
    struct radix radix = {.keys = step->keys, .rows = step->rows, .n = n, .n_chunks = n_chunks};
    radix.next_keys = arena_alloc(&arena, n, sizeof *radix.next_keys);
    radix.next_rows = arena_alloc(&arena, n, sizeof *radix.next_rows);
    radix.positions = arena_alloc(&arena, n_chunks << DIGIT_BITS, sizeof *radix.positions);
    if (arena.failed) {
        arena_free(&arena);
        return error_memory(error);
    }
    unsigned low = (unsigned)__builtin_ctzll(differing);
    unsigned span = 64 - (unsigned)__builtin_clzll(differing) - low;
    unsigned n_digits = (span + DIGIT_BITS - 1) / DIGIT_BITS;
    unsigned width = (span + n_digits - 1) / n_digits;
    radix.n_values = (uint64_t)1 << width;
    for (unsigned shift = low; shift < low + span; shift += width) {
        if (!(differing >> shift & (radix.n_values - 1)))
            continue;
        radix.shift = shift;
        sort_digit(pool, &radix);
    }
    if (radix.keys != step->keys) {
        memcpy(step->keys, radix.keys, n * sizeof *step->keys);
        memcpy(step->rows, radix.rows, n * sizeof *step->rows);
    }
    arena_free(&arena);
    return SUTRA_OK;
}

/* Rows that follow one with a larger key. */
static row_t count_late(const uint64_t *keys, row_t n) {
    uint64_t largest = 0;
    row_t n_late = 0;
    for (row_t i = 0; i < n; i++) {
        n_late += keys[i] < largest;
        largest = MAX(keys[i], largest);
    }
    return n_late;
}

static enum sutra_status sort_mostly_sorted(struct pool *pool, struct sort_keys_step *step, row_t n_late,
                                            struct sutra_error *error) {
    struct arena arena = {0};
    struct sort_keys_step late = {.keys = arena_alloc(&arena, n_late, sizeof *late.keys),
                                  .rows = arena_alloc(&arena, n_late, sizeof *late.rows)};
    enum sutra_status status = arena_status(&arena, error);
    if (status) {
        arena_free(&arena);
        return status;
    }
    /* Move the late rows out; the others ascend. */
    uint64_t largest = 0;
    row_t n_ascending = 0;
    for (row_t i = 0; i < step->n; i++) {
        bool is_late = step->keys[i] < largest;
        struct sort_keys_step *to = is_late ? &late : step;
        row_t *position = is_late ? &late.n : &n_ascending;
        largest = is_late ? largest : step->keys[i];
        to->keys[*position] = step->keys[i];
        to->rows[(*position)++] = step->rows[i];
    }
    status = count_late(late.keys, n_late) ? sort_radix(pool, &late, error) : SUTRA_OK;

    /* Merge from the end. Of equal keys the ascending row precedes the late one: the late row follows a larger key,
     * after which ascending rows are larger, too. */
    while (n_late) {
        row_t position = n_ascending + n_late - 1;
        bool is_late = n_ascending == 0 || step->keys[n_ascending - 1] <= late.keys[n_late - 1];
        const struct sort_keys_step *from = is_late ? &late : step;
        row_t last = is_late ? --n_late : --n_ascending;
        step->keys[position] = from->keys[last];
        step->rows[position] = from->rows[last];
    }
    arena_free(&arena);
    return status;
}

enum sutra_status cpu_sort_keys(void *pool, struct sort_keys_step *step, struct sutra_error *error) {
    uint64_t *keys = step->keys;
    if (step->n < INSERTION_ROWS) {
        for (row_t i = 1; i < step->n; i++) {
            uint64_t key = keys[i];
            row_t row = step->rows[i], position = i;
            for (; position > 0 && keys[position - 1] > key; position--) {
                keys[position] = keys[position - 1];
                step->rows[position] = step->rows[position - 1];
            }
            keys[position] = key;
            step->rows[position] = row;
        }
        return SUTRA_OK;
    }
    row_t n_late = count_late(keys, step->n);
    if (n_late == 0)
        return SUTRA_OK;
    return n_late <= step->n / 2 ? sort_mostly_sorted(pool, step, n_late, error) : sort_radix(pool, step, error);
}

static uint64_t integer_key(struct number x) {
    return integer_sort_key((int64_t)x.bits);
}

static enum sutra_status sort_by(struct pool *pool, uint64_t (*key)(struct number x), struct number_column numbers,
                                 struct sort_keys_step *pairs, struct sutra_error *error) {
    for (row_t i = 0; i < pairs->n; i++)
        pairs->keys[i] = key(number_at(numbers, pairs->rows[i]));
    return cpu_sort_keys(pool, pairs, error);
}

enum sutra_status cpu_sort_numbers(void *pool, struct sort_numbers_step *step, struct sutra_error *error) {
    bool sorted = true, doubles = false, large = false; /* large: an integer that a double may not represent */
    for (row_t i = 0; i < step->n; i++) {
        struct number x = number_at(step->numbers, i);
        doubles |= number_is_double(x);
        large |= !number_fits_double(x);
        sorted = sorted && (i == 0 || number_compare(number_at(step->numbers, i - 1), x) <= 0);
        step->order[i] = i;
    }
    if (sorted)
        return SUTRA_OK;
    struct sort_keys_step pairs = {reallocarray(NULL, step->n, sizeof *pairs.keys), step->order, step->n};
    TRY_ALLOC(pairs.keys, error);
    enum sutra_status status = SUTRA_OK;
    if (doubles && large)
        status = sort_by(pool, number_rest_key, step->numbers, &pairs, error);
    if (!status)
        status = sort_by(pool, doubles ? number_whole_key : integer_key, step->numbers, &pairs, error);
    free(pairs.keys);
    return status;
}
