/*
 * rules.h - the linking rules for single elements, which all engines share.
 *
 * A rule maps the numbers of one or two operators to one decision. Each engine has its own walks, sweeps and searches;
 * the rules are written once, here. All functions cost O(1), except counts of begun operators and the engine's callback
 * of parent_of(), and compile for CPU and CUDA.
 */
#ifndef MATCH_RULES_H
#define MATCH_RULES_H

#include <stdbool.h>
#include <stdint.h>

#include "base/shared.h"
#include "columns/numbers.h"

/* number_compare() < 0, with the common case first. */
SHARED bool number_below(struct number x, struct number y) {
    if (number_is_double(x) && number_is_double(y))
        return number_as_double(x) < number_as_double(y);
    return number_compare(x, y) < 0;
}

/* NaN is neither negative nor above a limit. */
SHARED bool number_is_negative(struct number x) {
    return number_is_double(x) ? number_as_double(x) < 0 : (int64_t)x.bits < 0;
}

SHARED bool number_is_above(struct number x, int64_t limit) {
    double d = number_as_double(x);
    return d == d && number_compare(x, number_integer(limit)) > 0;
}

/* ---- Exclusive durations ---- */

/* An operator that contains no other and is in no other: its duration is negative, or its end is no number because
 * start and duration are opposite infinities. */
SHARED bool op_is_solitary(struct number dur, struct number end) {
    double e = number_as_double(end);
    return number_is_negative(dur) || e != e;
}

/* Whether an operator that comes later in the order of (start, duration) lies inside an earlier one. */
SHARED bool op_contains(struct number end, struct number later_end) {
    return !number_below(end, later_end);
}

/* The range of binary digits of a finite double other than 0: it is a multiple of 2^lowest, and its magnitude is below
 * 2^above. */
struct binary_digits {
    int lowest, above;
};

SHARED struct binary_digits binary_digits_of(double value) {
    uint64_t bits = number_double(value).bits, hidden = (uint64_t)1 << 52, mantissa = bits & (hidden - 1);
    int exponent = (int)(bits >> 52 & 0x7ff);
    if (exponent)
        mantissa |= hidden;
    else
        exponent = 1;
    /* The last digit is a power of two, so that its own exponent counts the zeros after it. */
    double last = (double)(int64_t)(mantissa & (0 - mantissa));
    int zeros = (int)(number_double(last).bits >> 52) - 1023;
    struct binary_digits digits = {exponent - 1075 + zeros, exponent - 1022};
    return digits;
}

/* A duration less intervals that come in the order of their starts. Intervals that touch or overlap merge; only the
 * last merged interval is still open, all before it are subtracted already. Zero-initialise all but `rest`. */
struct remaining {
    struct number rest;       /* the remaining duration */
    struct number start, end; /* the open interval, if n_merged > 0 */
    uint64_t n_merged;        /* merged intervals, the open one included */
};

SHARED void remaining_close(struct remaining *left) {
    if (left->n_merged)
        left->rest = number_subtract(left->rest, number_subtract(left->end, left->start));
}

SHARED void remaining_subtract(struct remaining *left, struct number start, struct number end) {
    if (left->n_merged && !number_below(left->end, start)) {
        if (number_below(left->end, end))
            left->end = end;
        return;
    }
    remaining_close(left);
    left->start = start;
    left->end = end;
    left->n_merged++;
}

/* Maximum rounding error of a merged interval, in microseconds. */
#define EXCLUSIVE_ROUNDING 1e-6

enum exclusive_verdict { EXCLUSIVE_EXACT, EXCLUSIVE_ROUNDED, EXCLUSIVE_REPLACED };

/* Repairs an exclusive duration below 0: 0 if rounding explains it, else the duration clipped at 0. A 0 has the type of
 * the difference. */
SHARED enum exclusive_verdict exclusive_repair(struct number *exclusive, struct number dur, uint64_t n_merged) {
    if (!number_is_negative(*exclusive))
        return EXCLUSIVE_EXACT;
    bool rounded = number_as_double(*exclusive) >= -EXCLUSIVE_ROUNDING * (double)n_merged;
    struct number zero = number_is_double(*exclusive) ? number_double(0) : number_integer(0);
    *exclusive = rounded || number_is_negative(dur) ? zero : dur;
    return rounded ? EXCLUSIVE_ROUNDED : EXCLUSIVE_REPLACED;
}

/* ---- Order between threads ---- */

/* Whether `ts - last_ts - last_dur > gap`, where last_ts <= ts. The first difference of integers may need all of 64
 * bits without a sign. */
SHARED bool group_begins(struct number ts, struct number last_ts, struct number last_dur, int64_t gap) {
    if (number_is_double(ts) || number_is_double(last_ts)) {
        struct number idle = number_subtract(number_subtract(ts, last_ts), last_dur);
        return number_is_above(idle, gap);
    }
    uint64_t between = ts.bits - last_ts.bits;
    if (number_is_double(last_dur))
        return number_is_above(number_double((double)between - number_as_double(last_dur)), gap);
    int64_t limit = gap + (int64_t)last_dur.bits;
    return limit < 0 || between > (uint64_t)limit;
}

/* Of the operators of one start, the candidates for groups of other threads: the first operator of the lowest thread
 * and that of the next thread, or ROW_NONE. */
struct start_choice {
    row_t best, second;
    uint32_t best_thread, second_thread;
};

SHARED struct start_choice start_choice_none(void) {
    struct start_choice none = {ROW_NONE, ROW_NONE, UINT32_MAX, UINT32_MAX};
    return none;
}

/* Adds an operator of the same start; rows come in ascending order. */
SHARED void start_choice_add(struct start_choice *choice, row_t row, uint32_t thread) {
    if (choice->best == ROW_NONE || thread < choice->best_thread) {
        choice->second = choice->best;
        choice->second_thread = choice->best_thread;
        choice->best = row;
        choice->best_thread = thread;
    } else if (thread != choice->best_thread && (choice->second == ROW_NONE || thread < choice->second_thread)) {
        choice->second = row;
        choice->second_thread = thread;
    }
}

/* The operator for a group on `thread`, or ROW_NONE if all are of that thread. */
SHARED row_t start_choice_for(const struct start_choice *choice, uint32_t thread) {
    return choice->best_thread != thread ? choice->best : choice->second;
}

/* The operators that have begun so far, as far as any thread may need them: the choice at the latest start and, for the
 * thread that is alone at that start, the choice at the latest start that has another thread. */
struct begun {
    struct start_choice latest, under;
};

/* The operators that have begun after both; all starts of `later` follow all starts of `earlier`. Associative; an empty
 * value is neutral. */
SHARED struct begun begun_merge(const struct begun *earlier, const struct begun *later) {
    if (later->latest.best == ROW_NONE)
        return *earlier;
    struct begun merged = *later;
    if (merged.under.best == ROW_NONE)
        merged.under = start_choice_for(&earlier->latest, merged.latest.best_thread) != ROW_NONE ? earlier->latest
                                                                                                 : earlier->under;
    return merged;
}

SHARED row_t begun_for(const struct begun *begun, uint32_t thread) {
    row_t row = start_choice_for(&begun->latest, thread);
    return row != ROW_NONE ? row : start_choice_for(&begun->under, thread);
}

/* ---- Parents ---- */

SHARED bool op_begins_before(struct number ts, struct number launch_ts) {
    return number_below(ts, launch_ts);
}

/* The number of operators, of n with ascending starts, that begin before a moment. */
SHARED row_t count_begun(struct number_column ts, row_t n, struct number moment) {
    struct bisection at = {0, n};
    while (at.low < at.high)
        bisect(&at, op_begins_before(number_at(ts, bisect_middle(at)), moment));
    return at.low;
}

/* The same for operators that begin before or at a moment. */
SHARED row_t count_begun_by(struct number_column ts, row_t n, struct number moment) {
    struct bisection at = {0, n};
    while (at.low < at.high)
        bisect(&at, number_compare(number_at(ts, bisect_middle(at)), moment) <= 0);
    return at.low;
}

/* Whether an operator has not ended at a moment. */
SHARED bool op_ends_after(struct number end, struct number at) {
    return number_below(at, end);
}

/* The search of trace_link begins with a start of 0, so it finds only operators that start later. */
SHARED bool op_start_counts(struct number ts) {
    return number_below(number_integer(0), ts);
}

/* Whether a marker that follows the operators below `before` is later than operator `op`. */
SHARED bool marker_is_later(row_t before, row_t op) {
    return op == ROW_NONE || before > op;
}

/* Whether (external, row) comes before (wanted, bound) in the index of a thread's operators by external id. */
SHARED bool external_before(value_key external, row_t row, value_key wanted, row_t bound) {
    return external != wanted ? external < wanted : row < bound;
}

/* The external id of all markers. */
#define MARKER_EXTERNAL ((value_key)-1)

/* A GPU operator whose parent is searched, and the markers on the launch's thread before the launch. */
struct parent_query {
    value_key external;
    bool nccl;       /* skips coalesced operators */
    row_t n_markers; /* 0: none is on that thread before the launch */
    row_t before;    /* else: the last one follows the operators below this row */
    row_t n_ops;     /* total; marker k counts as row n_ops + k */
};

/*
 * The parent: the last operator or marker of the thread before the launch that has the same external id, or else the
 * last one at all; ROW_NONE if there is none. find() is the engine's search for such an operator: with the external id
 * if `same_external` is set, skipping coalesced operators if `skip_coalesced` is.
 */
SHARED row_t parent_of(const struct parent_query *query,
                       row_t (*find)(void *search, bool same_external, bool skip_coalesced), void *search) {
    for (int same = 1; same >= 0; same--) {
        row_t op = find(search, same != 0, query->nccl);
        bool marked = query->n_markers && (!same || query->external == MARKER_EXTERNAL);
        if (marked && marker_is_later(query->before, op))
            return query->n_ops + query->n_markers - 1;
        if (op != ROW_NONE)
            return op;
    }
    return ROW_NONE;
}

/* ---- Frames ---- */

/* The depth of a stack after a run of tokens: each beginning adds one, each end subtracts one, except ends without an
 * open frame. Without tokens all is 0. */
struct frame_depth {
    uint32_t thread; /* of the last token: runs of different threads do not add up */
    int32_t sum;     /* beginnings less ends */
    int32_t min_sum; /* the smallest sum of a prefix, at most 0: minus the number of ends without an open frame */
};

SHARED struct frame_depth frame_depth_of(uint32_t thread, bool begins) {
    struct frame_depth depth = {thread, begins ? 1 : -1, begins ? 0 : -1};
    return depth;
}

SHARED struct frame_depth frame_depth_merge(const struct frame_depth *earlier, const struct frame_depth *later) {
    struct frame_depth merged = *later;
    if (earlier->thread == later->thread) {
        int32_t min_sum = earlier->sum + later->min_sum;
        merged.sum = earlier->sum + later->sum;
        merged.min_sum = min_sum < earlier->min_sum ? min_sum : earlier->min_sum;
    }
    return merged;
}

/* The number of open frames. */
SHARED uint32_t frame_depth_open(const struct frame_depth *depth) {
    return (uint32_t)(depth->sum - depth->min_sum);
}

#endif
