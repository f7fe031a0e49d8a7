/*
 * match_table.h - tables of CPU operators for tests of the matching steps: explicit or random.
 */
#ifndef TESTS_MATCH_TABLE_H
#define TESTS_MATCH_TABLE_H

#include <stdlib.h>

#include "generate/random.h"
#include "match/steps.h"

#define TABLE_OPS 256

struct table {
    struct cpu_ops ops; /* points into the arrays below, which table_add() fills */
    uint64_t ts_bits[TABLE_OPS], dur_bits[TABLE_OPS];
    uint8_t ts_kind[TABLE_OPS], dur_kind[TABLE_OPS], coalesced[TABLE_OPS];
    uint32_t thread[TABLE_OPS];
    value_key external[TABLE_OPS];
};

static inline void table_clear(struct table *table) {
    table->ops = (struct cpu_ops){
        .ts = {table->ts_bits, table->ts_kind},
        .dur = {table->dur_bits, table->dur_kind},
        .thread = table->thread,
        .external = table->external,
        .coalesced = table->coalesced,
    };
}

static inline row_t table_add(struct table *table, uint32_t thread, struct number ts, struct number dur) {
    row_t row = table->ops.n++;
    number_set(table->ops.ts, row, ts);
    number_set(table->ops.dur, row, dur);
    table->thread[row] = thread;
    table->external[row] = -1;
    table->coalesced[row] = 0;
    if (thread >= table->ops.n_threads)
        table->ops.n_threads = thread + 1;
    return row;
}

static inline struct number integer(int64_t value) {
    return number_integer(value);
}

static inline struct number real(double value) {
    return number_double(value);
}

static inline struct number boolean(bool value) {
    return (struct number){value, NUMBER_BOOLEAN};
}

/* A stable insertion sort of numbers, too plain to be wrong. */
static inline void sort_plainly(struct number *numbers, row_t n) {
    for (row_t i = 1; i < n; i++) {
        struct number x = numbers[i];
        row_t j = i;
        for (; j && number_compare(numbers[j - 1], x) > 0; j--)
            numbers[j] = numbers[j - 1];
        numbers[j] = x;
    }
}

#endif
