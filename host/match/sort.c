/*
 * sort.c - stable sorting of rows by a 64-bit key or by a number; in come keys and rows, out go both in order.
 *
 * A radix sort from the lowest digit to the highest, over no more than the bits in which keys differ, in digits of at
 * most 11 bits; digits that are the same in all keys are skipped. On large tables each pass is shared out: every thread
 * counts and then moves a chunk of its own, and the places are laid out by digit and then by chunk,
 *
 *     | digit 0: chunk 0, chunk 1, ... | digit 1: chunk 0, chunk 1, ... | ...
 *
 * so the result is the same for any number of threads. Where most rows rise, as where a file has one block behind the
 * other, only those are sorted that stand behind a larger one, and then merged with the others.
 *
 * Numbers become keys whose order is theirs. Where integers beyond 2^53 meet doubles no 64-bit key holds both; then a
 * sort by the rest (see number.h) goes first.
 */
#include <stdlib.h>
#include <string.h>

#include "base/arena.h"
#include "base/error.h"
#include "match/steps.h"

#define DIGIT_BITS 11
#define CHUNK_ROWS 65536 /* fewest rows that are worth a second thread */

/* Fewer rows are inserted one by one, whatever their order. */
#define INSERTED_ROWS 32

struct radix {
    uint64_t *keys, *next_keys;
    row_t *rows, *next_rows;
    row_t n;
    size_t n_chunks;
    row_t *places; /* n_chunks times n_values: counts, then the next place of each digit */
    unsigned shift;
    uint64_t n_values; /* of a digit */
};

static void count_chunk(void *arg, size_t chunk) {
    const struct radix *radix = arg;
    row_t *counts = radix->places + chunk * radix->n_values;
    memset(counts, 0, radix->n_values * sizeof *counts);
    size_t end = part_start(radix->n, radix->n_chunks, chunk + 1);
    for (size_t i = part_start(radix->n, radix->n_chunks, chunk); i < end; i++)
        counts[radix->keys[i] >> radix->shift & (radix->n_values - 1)]++;
}

static void move_chunk(void *arg, size_t chunk) {
    const struct radix *radix = arg;
    row_t *places = radix->places + chunk * radix->n_values;
    size_t end = part_start(radix->n, radix->n_chunks, chunk + 1);
    for (size_t i = part_start(radix->n, radix->n_chunks, chunk); i < end; i++) {
        row_t place = places[radix->keys[i] >> radix->shift & (radix->n_values - 1)]++;
        radix->next_keys[place] = radix->keys[i];
        radix->next_rows[place] = radix->rows[i];
    }
}

/* Turns counts into places. */
static void lay_out(const struct radix *radix) {
    row_t place = 0;
    for (uint64_t value = 0; value < radix->n_values; value++)
        for (size_t chunk = 0; chunk < radix->n_chunks; chunk++) {
            row_t *count = &radix->places[chunk * radix->n_values + value];
            row_t next = place + *count;
            *count = place;
            place = next;
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
    lay_out(radix);
    run_chunks(pool, radix, move_chunk);
    uint64_t *keys = radix->keys;
    row_t *rows = radix->rows;
    radix->keys = radix->next_keys;
    radix->rows = radix->next_rows;
    radix->next_keys = keys;
    radix->next_rows = rows;
}

/* Puts few rows in their places one by one. */
static void insert_rows(const struct sort_keys_step *step) {
    uint64_t *keys = step->keys;
    for (row_t i = 1; i < step->n; i++) {
        uint64_t key = keys[i];
        row_t row = step->rows[i], place = i;
        for (; place > 0 && keys[place - 1] > key; place--) {
            keys[place] = keys[place - 1];
            step->rows[place] = step->rows[place - 1];
        }
        keys[place] = key;
        step->rows[place] = row;
    }
}

/* The bits in which keys differ. */
static uint64_t bits_to_sort(const uint64_t *keys, row_t n) {
    uint64_t differing = 0;
    for (row_t i = 1; i < n; i++)
        differing |= keys[i] ^ keys[i - 1];
    return differing;
}

static void sort_digits(struct pool *pool, struct radix *radix, uint64_t differing) {
    unsigned low = (unsigned)__builtin_ctzll(differing);
    unsigned span = 64 - (unsigned)__builtin_clzll(differing) - low;
    unsigned n_digits = (span + DIGIT_BITS - 1) / DIGIT_BITS;
    unsigned width = (span + n_digits - 1) / n_digits;
    radix->n_values = (uint64_t)1 << width;
    for (unsigned shift = low; shift < low + span; shift += width) {
        if (!(differing >> shift & (radix->n_values - 1)))
            continue;
        radix->shift = shift;
        sort_digit(pool, radix);
    }
}

static enum sutra_status sort_radix(struct pool *pool, struct sort_keys_step *step, struct sutra_error *error) {
    uint64_t differing = bits_to_sort(step->keys, step->n);
    struct arena arena = {0};
    row_t n = step->n;
    size_t n_chunks = pool && n / 2 >= CHUNK_ROWS ? pool_threads(pool) : 1;
    struct radix radix = {.keys = step->keys, .rows = step->rows, .n = n, .n_chunks = n_chunks};
    radix.next_keys = arena_take(&arena, n, sizeof *radix.next_keys);
    radix.next_rows = arena_take(&arena, n, sizeof *radix.next_rows);
    radix.places = arena_take(&arena, n_chunks << DIGIT_BITS, sizeof *radix.places);
    enum sutra_status status = arena.failed ? error_memory(error) : SUTRA_OK;
    if (!status && differing)
        sort_digits(pool, &radix, differing);
    if (radix.keys != step->keys) {
        memcpy(step->keys, radix.keys, n * sizeof *step->keys);
        memcpy(step->rows, radix.rows, n * sizeof *step->rows);
    }
    arena_free(&arena);
    return status;
}

/* ---- Rows that mostly rise ---- */

/* How many rows stand behind one with a larger key. */
static row_t count_late(const uint64_t *keys, row_t n) {
    uint64_t largest = 0;
    row_t n_late = 0;
    for (row_t i = 0; i < n; i++) {
        n_late += keys[i] < largest;
        largest = keys[i] < largest ? largest : keys[i];
    }
    return n_late;
}

/* Moves those to `late`; the others, which rise, close up. */
static void part_late(struct sort_keys_step *step, struct sort_keys_step *late) {
    uint64_t largest = 0;
    row_t n = 0;
    for (row_t i = 0; i < step->n; i++) {
        bool is_late = step->keys[i] < largest;
        struct sort_keys_step *to = is_late ? late : step;
        row_t *place = is_late ? &late->n : &n;
        largest = is_late ? largest : step->keys[i];
        to->keys[*place] = step->keys[i];
        to->rows[(*place)++] = step->rows[i];
    }
}

/* From the back. Of equal ones those that rose came first, for behind what a late one stands behind they are larger. */
static void merge_late(struct sort_keys_step *step, const struct sort_keys_step *late) {
    row_t n_rising = step->n - late->n, n_late = late->n;
    while (n_late) {
        row_t place = n_rising + n_late - 1;
        bool is_late = n_rising == 0 || step->keys[n_rising - 1] <= late->keys[n_late - 1];
        const struct sort_keys_step *from = is_late ? late : step;
        row_t last = is_late ? --n_late : --n_rising;
        step->keys[place] = from->keys[last];
        step->rows[place] = from->rows[last];
    }
}

static enum sutra_status sort_mostly_rising(struct pool *pool, struct sort_keys_step *step, row_t n_late,
                                            struct sutra_error *error) {
    struct arena arena = {0};
    struct sort_keys_step late = {.keys = arena_take(&arena, n_late, sizeof *late.keys),
                                  .rows = arena_take(&arena, n_late, sizeof *late.rows)};
    enum sutra_status status = arena_status(&arena, error);
    if (!status) {
        part_late(step, &late);
        status = count_late(late.keys, n_late) ? sort_radix(pool, &late, error) : SUTRA_OK;
        merge_late(step, &late);
    }
    arena_free(&arena);
    return status;
}

enum sutra_status cpu_sort_keys(void *pool, struct sort_keys_step *step, struct sutra_error *error) {
    if (step->n < INSERTED_ROWS) {
        insert_rows(step);
        return SUTRA_OK;
    }
    row_t n_late = count_late(step->keys, step->n);
    if (n_late == 0)
        return SUTRA_OK;
    return n_late <= step->n / 2 ? sort_mostly_rising(pool, step, n_late, error) : sort_radix(pool, step, error);
}

struct census {
    bool sorted, integers, doubles, large; /* large: an integer that a double may not hold */
};

static struct census take_census(struct number_column numbers, row_t n) {
    struct census census = {.sorted = true};
    for (row_t i = 0; i < n; i++) {
        struct number x = number_at(numbers, i);
        bool is_double = number_is_double(x);
        census.doubles |= is_double;
        census.integers |= !is_double;
        census.large |= !number_fits_double(x);
        census.sorted = census.sorted && (i == 0 || number_compare(number_at(numbers, i - 1), x) <= 0);
    }
    return census;
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
    struct sort_keys_step pairs = {NULL, step->order, step->n};
    for (row_t i = 0; i < step->n; i++)
        step->order[i] = i;
    struct census census = take_census(step->numbers, step->n);
    if (census.sorted)
        return SUTRA_OK;
    pairs.keys = reallocarray(NULL, step->n, sizeof *pairs.keys);
    if (!pairs.keys)
        return error_memory(error);
    enum sutra_status status = SUTRA_OK;
    if (census.doubles && census.large)
        status = sort_by(pool, number_rest_key, step->numbers, &pairs, error);
    if (!status)
        status = sort_by(pool, census.doubles ? number_whole_key : integer_key, step->numbers, &pairs, error);
    free(pairs.keys);
    return status;
}
