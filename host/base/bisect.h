/*
 * bisect.h - the first place at which something does not hold that holds at all places before it.
 *
 *     struct bisection at = {0, n};
 *     while (at.low < at.high)
 *         bisect(&at, keys[bisect_middle(at)] < wanted);
 *
 * at.low is then the first place whose key is not below `wanted`, or n. It takes as many looks as n has bits.
 */
#ifndef BASE_BISECT_H
#define BASE_BISECT_H

#include <stdbool.h>
#include <stdint.h>

#include "base/shared.h"

/* The place that is looked for is one of low..high. */
struct bisection {
    uint32_t low, high;
};

/* The place to look at, where low < high. */
SHARED uint32_t bisect_middle(struct bisection at) {
    return at.low + (at.high - at.low) / 2;
}

/* Goes on with the places behind the middle, where it holds there, or else with those up to it. */
SHARED void bisect(struct bisection *at, bool holds) {
    uint32_t middle = bisect_middle(*at);
    if (holds)
        at->low = middle + 1;
    else
        at->high = middle;
}

/* The place of an id among n rising ones, or n: ids mostly are close together, so that the search goes back from where
 * it would be if none were missing, by growing steps. O(log of how many are missing). */
static inline uint32_t rising_id_place(const uint64_t *ids, uint32_t n, uint64_t id) {
    if (n == 0 || id < ids[0])
        return n;
    uint32_t high = id - ids[0] < n ? (uint32_t)(id - ids[0]) : n - 1, low = high;
    for (uint32_t step = 1; ids[low] > id; step *= 2) {
        high = low;
        low -= step < low ? step : low;
    }
    struct bisection at = {low, high};
    while (at.low < at.high)
        bisect(&at, ids[bisect_middle(at)] < id);
    return ids[at.low] == id ? at.low : n;
}

#endif
