/*
 * ways.c - charges and what is around them to numbers: in come rows of the host that are charged, out go the rows on
 * their ways in order. A bit for each row of the host tells which those are; a row's number is how many bits stand
 * before its own.
 */
#include "analyze/operators/ways.h"

struct marked_rows {
    uint64_t *bits;
    row_t *before; /* by word of them: how many are set in those before it */
};

/* False: it is marked already. */
static bool mark_row(const struct marked_rows *marked, row_t row) {
    uint64_t bit = (uint64_t)1 << row % 64, *word = &marked->bits[row / 64];
    bool is_new = !(*word & bit);
    *word |= bit;
    return is_new;
}

static row_t number_of(const struct marked_rows *marked, row_t row) {
    uint64_t below = marked->bits[row / 64] & (((uint64_t)1 << row % 64) - 1);
    return marked->before[row / 64] + (row_t)__builtin_popcountll(below);
}

/* What is around a row that is marked is marked, too. */
static void mark_ways(const struct op_reading *reading, const struct marked_rows *marked) {
    for (row_t i = 0; i < reading->charges.n; i++)
        for (row_t row = reading->charges.host[i]; row != ROW_NONE && mark_row(marked, row);)
            row = reading->hosts.around[row];
}

/* Counts what is marked. */
static row_t number_rows(const struct marked_rows *marked, size_t n_words) {
    row_t n = 0;
    for (size_t word = 0; word < n_words; word++) {
        marked->before[word] = n;
        n += (row_t)__builtin_popcountll(marked->bits[word]);
    }
    return n;
}

static void list_ways(const struct op_reading *reading, const struct marked_rows *marked, size_t n_words,
                      struct op_ways *ways) {
    row_t n = 0;
    for (size_t word = 0; word < n_words; word++)
        for (uint64_t left = marked->bits[word]; left; left &= left - 1)
            ways->host[n++] = (row_t)(word * 64) + (row_t)__builtin_ctzll(left);
    for (row_t way = 0; way < n; way++) {
        row_t around = reading->hosts.around[ways->host[way]];
        ways->above[way] = around == ROW_NONE ? ROW_NONE : number_of(marked, around);
    }
    for (row_t i = 0; i < reading->charges.n; i++)
        ways->of_charge[i] = number_of(marked, reading->charges.host[i]);
}

enum sutra_status op_ways_make(const struct op_reading *reading, struct arena *arena, struct arena *scratch,
                               struct op_ways *ways, struct sutra_error *error) {
    struct arena_mark mark = arena_mark(scratch);
    size_t n_words = reading->hosts.n / 64 + 1;
    struct marked_rows marked = {.bits = arena_zeros(scratch, n_words, sizeof *marked.bits),
                                 .before = arena_take(scratch, n_words, sizeof *marked.before)};
    enum sutra_status status = arena_status(scratch, error);
    if (!status) {
        mark_ways(reading, &marked);
        ways->n = number_rows(&marked, n_words);
        ways->host = arena_take(arena, ways->n, sizeof *ways->host);
        ways->above = arena_take(arena, ways->n, sizeof *ways->above);
        ways->of_charge = arena_take(arena, reading->charges.n, sizeof *ways->of_charge);
        status = arena_status(arena, error);
    }
    if (!status)
        list_ways(reading, &marked, n_words, ways);
    arena_release(scratch, mark);
    return status;
}
