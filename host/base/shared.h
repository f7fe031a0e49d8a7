/*
 * shared.h - functions that the CPU and the CUDA engine both compile (SHARED), minimum and maximum, binary search,
 * medians, comparison for qsort().
 */
#ifndef BASE_SHARED_H
#define BASE_SHARED_H

#include <stdbool.h>
#include <stdint.h>
#include <string.h>

#ifdef __CUDACC__
#define SHARED static inline __host__ __device__
#else
#define SHARED static inline
#endif

/* The smaller and the larger of two numbers in their common type; the second one if they are equal or not ordered. Each
 * argument is evaluated once. */
#define MIN(a, b)                                                                                                      \
    __extension__({                                                                                                    \
        __typeof__(0 ? (a) : (b)) min_a = (a), min_b = (b);                                                            \
        min_a < min_b ? min_a : min_b;                                                                                 \
    })
#define MAX(a, b)                                                                                                      \
    __extension__({                                                                                                    \
        __typeof__(0 ? (a) : (b)) max_a = (a), max_b = (b);                                                            \
        max_a > max_b ? max_a : max_b;                                                                                 \
    })

/* The number nearest to x in [low, high]; `low` if low > high. */
#define CLAMP(x, low, high)                                                                                            \
    __extension__({                                                                                                    \
        __typeof__(0 ? (x) : 0 ? (low) : (high)) clamp_x = (x), clamp_low = (low), clamp_high = (high);                \
        clamp_x<clamp_low ? clamp_low : clamp_x> clamp_high ? clamp_high : clamp_x;                                    \
    })

/*
 * ---- Binary search: the first index for which a condition is false that is true for all smaller indices ----
 *
 *     struct bisection at = {0, n};
 *     while (at.low < at.high)
 *         bisect(&at, keys[bisect_middle(at)] < wanted);
 *
 * Then at.low is the first index whose key is at least `wanted`, or n. O(log n).
 */

/* The result is one of low..high. */
struct bisection {
    uint32_t low, high;
};

/* The index to check, if low < high. */
SHARED uint32_t bisect_middle(struct bisection at) {
    return at.low + (at.high - at.low) / 2;
}

/* Continues after the middle, if the condition is true there, or else up to the middle. */
SHARED void bisect(struct bisection *at, bool holds) {
    uint32_t middle = bisect_middle(*at);
    if (holds)
        at->low = middle + 1;
    else
        at->high = middle;
}

/* The same for an index of any unsigned type: sets the variable `i` to the first index below n for which `holds`, an
 * expression in i, is false; n: none. */
#define BISECT(i, n, holds)                                                                                            \
    do {                                                                                                               \
        __typeof__(i) bisect_low = 0, bisect_high = (n);                                                               \
        while (bisect_low < bisect_high) {                                                                             \
            (i) = bisect_low + (bisect_high - bisect_low) / 2;                                                         \
            if (holds)                                                                                                 \
                bisect_low = (i) + 1;                                                                                  \
            else                                                                                                       \
                bisect_high = (i);                                                                                     \
        }                                                                                                              \
        (i) = bisect_low;                                                                                              \
    } while (0)

/* The number of ascending values that are at most `limit`. O(log n). */
static inline uint32_t count_up_to(const int64_t *values, uint32_t n, int64_t limit) {
    struct bisection at = {0, n};
    while (at.low < at.high)
        bisect(&at, values[bisect_middle(at)] <= limit);
    return at.low;
}

/* The first index in [low, high) for which `before` is false, or high. The search begins at `near`, which may be any
 * number, and doubles its steps until it has passed the index. */
static inline uint32_t bisect_near(uint32_t low, uint32_t high, uint32_t near,
                                   bool (*before)(const void *arg, uint32_t index), const void *arg) {
    uint64_t step = 1, from = near < low ? low : near > high ? high : near;
    if (from < high && before(arg, (uint32_t)from)) {
        for (low = (uint32_t)from + 1; low + step <= high && before(arg, (uint32_t)(low + step - 1)); step *= 2)
            low += (uint32_t)step;
        high = low + step <= high ? (uint32_t)(low + step - 1) : high;
    } else {
        for (high = (uint32_t)from; high - (uint64_t)low >= step && !before(arg, (uint32_t)(high - step)); step *= 2)
            high -= (uint32_t)step;
        low = high - (uint64_t)low >= step ? (uint32_t)(high - step + 1) : low;
    }
    struct bisection at = {low, high};
    while (at.low < at.high)
        bisect(&at, before(arg, bisect_middle(at)));
    return at.low;
}

/* The index of an id among n ascending ids, or n. Most ids are consecutive, so the search steps back, by growing steps,
 * from the index that the id has if none is missing. O(log of the number of missing ids). */
static inline uint32_t find_ascending_id(const uint64_t *ids, uint32_t n, uint64_t id) {
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

/* ---- Medians of n > 0 sorted values: one of two middle values, by its index, or their mean, as numpy's ---- */

static inline uint64_t lower_median_at(uint64_t n) {
    return (n - 1) / 2;
}

static inline uint64_t upper_median_at(uint64_t n) {
    return n / 2;
}

static inline double mean_median(const double *sorted, uint64_t n) {
    double lower = sorted[lower_median_at(n)], upper = sorted[upper_median_at(n)];
    return n % 2 ? upper : (upper + lower) / 2;
}

/*
 * Comparison functions for qsort() and bsearch() on arrays of plain numbers, ascending.
 */

/* NaN is equal to every number, so arrays with NaN have no defined order. */
static inline int compare_doubles(const void *left, const void *right) {
    double a = *(const double *)left, b = *(const double *)right;
    return (a > b) - (a < b);
}

static inline int compare_int64s(const void *left, const void *right) {
    int64_t a = *(const int64_t *)left, b = *(const int64_t *)right;
    return (a > b) - (a < b);
}

static inline int compare_uint32s(const void *left, const void *right) {
    uint32_t a = *(const uint32_t *)left, b = *(const uint32_t *)right;
    return (a > b) - (a < b);
}

static inline int compare_uint64s(const void *left, const void *right) {
    uint64_t a = *(const uint64_t *)left, b = *(const uint64_t *)right;
    return (a > b) - (a < b);
}

/* The same for pointers to C strings, in byte order. */
static inline int compare_strings(const void *left, const void *right) {
    return strcmp(*(const char *const *)left, *(const char *const *)right);
}

/* Defines a comparison function for qsort() and bsearch() on structs, by fields in order of importance:
 *
 *     ORDER_BY(compare_lateness, struct rank_lateness, DESCENDING(late_ns) ASCENDING(rank))
 *
 * orders by late_ns, largest first, then by rank. */
#define ORDER_BY(name, type, keys)                                                                                     \
    static int name(const void *left, const void *right) {                                                             \
        const type *a = left, *b = right;                                                                              \
        keys return 0;                                                                                                 \
    }

/* A key of ORDER_BY(): a number or a string in the struct, or in a struct inside it, such as span.start. */
#define ASCENDING(field)                                                                                               \
    if (a->field < b->field)                                                                                           \
        return -1;                                                                                                     \
    if (a->field > b->field)                                                                                           \
        return 1;
#define DESCENDING(field)                                                                                              \
    if (a->field > b->field)                                                                                           \
        return -1;                                                                                                     \
    if (a->field < b->field)                                                                                           \
        return 1;
#define ASCENDING_TEXT(field)                                                                                          \
    if (strcmp(a->field, b->field) != 0)                                                                               \
        return strcmp(a->field, b->field);

#endif
