/*
 * ledger.h - what work and operators under one key come to: counts, times, and how much they vary from step to step.
 *
 * Each step of each rank is a sample. Sums are exact; the spread is that of the time of the device in each sample,
 * taken with Welford's and Chan's formulas, so that samples that are equal have none.
 */
#ifndef COMPARE_LEDGER_H
#define COMPARE_LEDGER_H

#include <math.h>
#include <stdbool.h>

#include "columns/row.h"
#include "columns/tuples.h"
#include "match/intervals.h"

/* Of n values. */
struct spread {
    double n, mean, squares; /* the sum of squares of what they lie apart from the mean */
};

void spread_add(struct spread *spread, double value);
void spread_join(struct spread *spread, const struct spread *other);

/* The same with zeros up to n values; the variance of a sample's mean. NaN: there are not two values. */
double spread_error(const struct spread *spread, double n);

struct ledger_sum {
    uint64_t calls;        /* of operators; of work itself in a ledger of kernels */
    wide_t device;         /* nanoseconds of work */
    wide_t host;           /* of operators, without those that they call */
    struct spread samples; /* of the device's time, where there was any */
    uint64_t n_met;        /* calls of collectives that are known on several ranks, */
    wide_t wait;           /* and what they took longer than the shortest of them */
    row_t sample;          /* the one at hand, + 1, */
    wide_t device_now;     /* and the time in it */
};

struct ledger {
    struct tuples keys;
    struct ledger_sum *sums; /* by key */
    uint64_t capacity;
};

/* The sum of a key, TUPLE_NONE: out of memory. */
uint32_t ledger_take(struct ledger *ledger, struct tuple key);

/* Adds work of a sample; those of one sample come one after the other. */
void ledger_add(struct ledger *ledger, uint32_t key, row_t sample, int64_t ns);

/* When all samples were added. */
void ledger_close(struct ledger *ledger);

/* Adds a sum to that of a key. False: out of memory. */
bool ledger_join(struct ledger *ledger, struct tuple key, const struct ledger_sum *sum);

void ledger_free(struct ledger *ledger);

#endif
