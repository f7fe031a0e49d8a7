/*
 * ledger.c - sums by key. O(1) for each piece of work.
 */
#include "compare/ledger.h"

#include <stdlib.h>

#include "columns/column.h"

void spread_add(struct spread *spread, double value) {
    double apart = value - spread->mean;
    spread->n++;
    spread->mean += apart / spread->n;
    spread->squares += apart * (value - spread->mean);
}

void spread_join(struct spread *spread, const struct spread *other) {
    double n = spread->n + other->n, apart = other->mean - spread->mean;
    if (other->n == 0)
        return;
    spread->squares += other->squares + apart * apart * spread->n * other->n / n;
    spread->mean += apart * other->n / n;
    spread->n = n;
}

double spread_error(const struct spread *spread, double n) {
    struct spread all = *spread;
    spread_join(&all, &(struct spread){.n = n - spread->n});
    return n > 1 ? all.squares / (n - 1) / n : (double)NAN;
}

uint32_t ledger_take(struct ledger *ledger, struct tuple key) {
    uint32_t n_known = ledger->keys.n, number = tuples_number(&ledger->keys, key);
    if (number == TUPLE_NONE || !column_grow(&ledger->sums, number, &ledger->capacity, sizeof *ledger->sums))
        return TUPLE_NONE;
    if (number == n_known)
        ledger->sums[number] = (struct ledger_sum){0};
    return number;
}

/* The sample at hand is whole. */
static void flush(struct ledger_sum *sum) {
    if (sum->sample)
        spread_add(&sum->samples, (double)sum->device_now);
    sum->sample = 0;
    sum->device_now = 0;
}

void ledger_add(struct ledger *ledger, uint32_t key, row_t sample, int64_t ns) {
    struct ledger_sum *sum = &ledger->sums[key];
    if (sum->sample != sample + 1)
        flush(sum);
    sum->sample = sample + 1;
    sum->device_now += ns;
    sum->device += ns;
}

void ledger_close(struct ledger *ledger) {
    for (uint32_t key = 0; key < ledger->keys.n; key++)
        flush(&ledger->sums[key]);
}

bool ledger_join(struct ledger *ledger, struct tuple key, const struct ledger_sum *sum) {
    uint32_t number = ledger_take(ledger, key);
    if (number == TUPLE_NONE)
        return false;
    struct ledger_sum *to = &ledger->sums[number];
    to->calls += sum->calls;
    to->device += sum->device;
    to->host += sum->host;
    to->n_met += sum->n_met;
    to->wait += sum->wait;
    spread_join(&to->samples, &sum->samples);
    return true;
}

void ledger_free(struct ledger *ledger) {
    tuples_free(&ledger->keys);
    free(ledger->sums);
    *ledger = (struct ledger){0};
}
