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

#endif
