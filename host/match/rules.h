/*
 * rules.h - the linking rules for single elements, as every engine applies them.
 *
 * In come the numbers of one or two operators, out goes one decision. How elements are brought together (walks, sweeps,
 * searches) is the engine's business; what is decided about them is written here once. All functions cost O(1), but for
 * counts of what has begun and what an engine gives parent_of(), and compile for CPU and CUDA alike.
 */
#ifndef MATCH_RULES_H
#define MATCH_RULES_H

#include <stdbool.h>
#include <stdint.h>

#include "base/shared.h"
#include "columns/numbers.h"
#include "columns/row.h"

/*
 * The rules of the event tree and of tensor ids for single elements, as every engine applies them.
 *
 * PyTorch finds parents by replay: it walks events by start, keeps a heap of ends and a stack for each thread, and pops
 * what has ended before it pushes what begins. What that replay decides can be said without it.
 *
 * 1. A stack is only looked at when an event of its thread begins, or one that falls back on it. So it need not be
 *    popped before; no heap is needed, and threads meet only where an event falls back on another thread.
 * 2. Popping an event takes all above it along. So an event leaves its stack when the first of the events from it down
 *    to the bottom ends: it *closes* at the smaller of its own end and the closing of the event below it. A missing end
 *    is never. On a stack closings fall from bottom to top, so the events that are gone are those on top.
 * 3. Hence, among the events of a thread in order of start that enter the stack at all (those of some length or without
 *    an end):
 *
 *        below(x)  = the last y before x with closing(y) >= start(x)
 *        closing(x) = min(own end or never, closing(below(x)))
 *
 *    `below` is a search for the previous element that is not smaller, over closings. Closings are the only fixed point
 *    of the two lines (by induction over the order), so they can be found from closing = own end by repeating both
 *    lines for all events at once until nothing changes: after k rounds the first k overlaps of a thread are right.
 *    Where events nest, one round changes nothing; only those that overlap partly cost more.
 * 4. An event with below(x) has it as parent. One without is at the bottom of its stack. When that is popped, its own
 *    parent (if it fell back on another thread and found one) is left as the thread's top, though it is no event of
 *    this thread, and nothing ever pops it. So the first bottom event of a thread that enters the stack and finds a
 *    parent elsewhere gives this parent to all later bottom events of the thread: the thread is *adopted* from then on.
 * 5. A bottom event of a thread that is not adopted yet falls back on its forward thread: it takes the last y of that
 *    thread before x with closing(y) >= start(x); without one, what adopted that thread, if that was before x. So
 *    only moments of adoption depend on each other, at most one for each thread: settle them in order of time.
 *
 * A CPU thread does all this in one walk (event_tree.c); tests/test_event_tree.c does it as written here.
 */

/* An end that is missing, and a closing that never comes. Other times are below 2^62 in magnitude. */
#define EVENT_NO_END INT64_MIN
#define EVENT_OPEN   INT64_MAX

/* No thread to fall back on. */
#define THREAD_NONE UINT32_MAX

/* Whether the event becomes the top of its thread's stack; others are over as soon as they begin. */
SHARED bool event_enters(int64_t start, int64_t end) {
    return end > start || end == EVENT_NO_END;
}

/* When an event closes that stands on one that closes at `below` (EVENT_OPEN at the bottom). */
SHARED int64_t event_closing(int64_t end, int64_t below) {
    return end == EVENT_NO_END || end > below ? below : end;
}

/* Whether an event has left its stack when another begins. */
SHARED bool event_is_gone(int64_t closing, int64_t start) {
    return closing < start;
}

/*
 * Tensor ids. Storages are numbered in the order of first sight. Each input joins its storage with the first storage of
 * its tensor; of such a pair (a, b) with a < b, taken in the order of pairs, b gets the group of a unless it has one,
 * and a gets a new one unless it has one. When a's pairs come, all pairs that could give a number to a have come. So:
 *
 *        leader(b) = the smallest a < b that b is paired with, else b
 *        group(b)  = number of b among the storages that lead themselves, if leader(b) = b; else group(leader(b))
 *
 * That is a minimum for each storage, a count, and jumps along leaders, in any order; nothing need be sorted.
 */

/* The leader of the larger storage of a pair, given the one that it had. */
SHARED uint32_t storage_leader(uint32_t leader, uint32_t smaller) {
    return smaller < leader ? smaller : leader;
}

/* number_compare() < 0, with the common case first. */
SHARED bool number_below(struct number x, struct number y) {
    if (number_is_double(x) && number_is_double(y))
        return number_as_double(x) < number_as_double(y);
    return number_compare(x, y) < 0;
}

/* Also of NaN, which is neither below 0 nor above a limit. */
SHARED bool number_is_negative(struct number x) {
    return number_is_double(x) ? number_as_double(x) < 0 : (int64_t)x.bits < 0;
}

SHARED bool number_is_above(struct number x, int64_t limit) {
    double d = number_as_double(x);
    return d == d && number_compare(x, number_integer(limit)) > 0;
}

/* ---- Exclusive durations ---- */

/* An operator that contains nothing and lies in nothing: its duration is negative, or its end is no number because
 * start and duration are opposite infinities. */
SHARED bool op_is_solitary(struct number dur, struct number end) {
    double e = number_as_double(end);
    return number_is_negative(dur) || e != e;
}

/* Whether an operator that comes later in the order of (start, duration) lies inside an earlier one. */
SHARED bool op_contains(struct number end, struct number later_end) {
    return !number_below(end, later_end);
}

/* Where the binary digits of a finite double other than 0 lie: it is a multiple of 2^lowest, and its magnitude is below
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
    /* The last digit is a power of two, so that its own exponent counts the zeros behind it. */
    double last = (double)(int64_t)(mantissa & (0 - mantissa));
    int zeros = (int)(number_double(last).bits >> 52) - 1023;
    struct binary_digits digits = {exponent - 1075 + zeros, exponent - 1022};
    return digits;
}

/* A duration from which intervals are taken away that come in the order of their starts. Those that touch or overlap
 * merge; only the last merged interval is still open, all before it are subtracted already. Zero-initialise all but
 * `rest`. */
struct remaining {
    struct number rest;       /* what is left of the duration */
    struct number start, end; /* the open interval, where n_merged > 0 */
    uint64_t n_merged;        /* merged intervals, the open one included */
};

SHARED void remaining_close(struct remaining *left) {
    if (left->n_merged)
        left->rest = number_subtract(left->rest, number_subtract(left->end, left->start));
}

SHARED void remaining_take(struct remaining *left, struct number start, struct number end) {
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

/* Most that each merged interval may lack in precision, in microseconds. */
#define EXCLUSIVE_ROUNDING 1e-6

enum exclusive_verdict { EXCLUSIVE_EXACT, EXCLUSIVE_ROUNDED, EXCLUSIVE_REPLACED };

/* Mends an exclusive duration below 0: 0 if rounding explains it, else the duration clipped at 0. A 0 is of the kind
 * that the subtraction gave. */
SHARED enum exclusive_verdict exclusive_settle(struct number *exclusive, struct number dur, uint64_t n_merged) {
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

/* The operators of one start, of which a group of another thread may take one: the first operator of the lowest thread
 * and that of the next thread, or ROW_NONE. */
struct start_choice {
    row_t best, second;
    uint32_t best_thread, second_thread;
};

SHARED struct start_choice start_choice_none(void) {
    struct start_choice none = {ROW_NONE, ROW_NONE, UINT32_MAX, UINT32_MAX};
    return none;
}

/* Adds an operator of the same start; rows come in rising order. */
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

/* The choice among the operators of two choices; the rows of `later` come behind those of `earlier`. */
SHARED struct start_choice start_choice_merge(const struct start_choice *earlier, const struct start_choice *later) {
    struct start_choice merged = *earlier;
    if (later->best != ROW_NONE)
        start_choice_add(&merged, later->best, later->best_thread);
    if (later->second != ROW_NONE)
        start_choice_add(&merged, later->second, later->second_thread);
    return merged;
}

/* The operator that a group on `thread` takes, or ROW_NONE if all are its own. */
SHARED row_t start_choice_for(const struct start_choice *choice, uint32_t thread) {
    return choice->best_thread != thread ? choice->best : choice->second;
}

/* All that has begun so far, as far as any thread may ask for it: the choice at the latest start and, for the thread
 * that is alone at that start, the choice at the latest start which has another thread. */
struct begun {
    struct start_choice latest, under;
};

/* What has begun after both; all starts of `later` are behind those of `earlier`. Associative; what holds nothing
 * changes nothing. */
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

/* How many of n operators, whose starts rise, begin before a moment. */
SHARED row_t count_begun(struct number_column ts, row_t n, struct number moment) {
    struct bisection at = {0, n};
    while (at.low < at.high)
        bisect(&at, op_begins_before(number_at(ts, bisect_middle(at)), moment));
    return at.low;
}

/* The same with those that begin at that moment. */
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

/* The older linker's search begins with a start of 0, so an operator must start later to be found. */
SHARED bool op_start_counts(struct number ts) {
    return number_below(number_integer(0), ts);
}

/* Whether a marker that stands behind the operators below `before` comes later than one of them. */
SHARED bool marker_is_later(row_t before, row_t op) {
    return op == ROW_NONE || before > op;
}

/* Whether (external, row) comes before (wanted, bound) in the index of a thread's operators by external id. */
SHARED bool external_before(value_key external, row_t row, value_key wanted, row_t bound) {
    return external != wanted ? external < wanted : row < bound;
}

/* The external id of all markers. */
#define MARKER_EXTERNAL ((value_key)-1)

/* A GPU operator that looks for its parent, and the markers that stand on the launch's thread before the launch. */
struct parent_query {
    value_key external;
    bool nccl;       /* passes over operators that are coalesced */
    row_t n_markers; /* which stand behind all operators; 0: there are none there */
    row_t before;    /* where there are: the last one stands behind the operators below this */
    row_t n_ops;     /* in all: marker k counts as row n_ops + k */
};

/*
 * The parent: the last operator or marker of the thread before the launch that has the same external id, or else the
 * last one at all; ROW_NONE if there is none. find() is the engine's search for such an operator, with the external id
 * where `same` is set, and passing over those that are coalesced where `plain` is.
 */
SHARED row_t parent_of(const struct parent_query *query, row_t (*find)(void *search, bool same, bool plain),
                       void *search) {
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

/* How deep a stack is after a run of tokens: each beginning adds one, each end takes one away, but for ends where
 * nothing is open. Before any token, and of no token, all is 0. */
struct frame_depth {
    uint32_t thread; /* of the last token: runs of different threads do not add up */
    int32_t sum;     /* beginnings less ends */
    int32_t least;   /* the least such sum, from 0 on down: as many ends as that closed nothing */
};

SHARED struct frame_depth frame_depth_of(uint32_t thread, bool begins) {
    struct frame_depth depth = {thread, begins ? 1 : -1, begins ? 0 : -1};
    return depth;
}

SHARED struct frame_depth frame_depth_merge(const struct frame_depth *earlier, const struct frame_depth *later) {
    struct frame_depth merged = *later;
    if (earlier->thread == later->thread) {
        int32_t least = earlier->sum + later->least;
        merged.sum = earlier->sum + later->sum;
        merged.least = least < earlier->least ? least : earlier->least;
    }
    return merged;
}

/* Frames that are open. */
SHARED uint32_t frame_depth_open(const struct frame_depth *depth) {
    return (uint32_t)(depth->sum - depth->least);
}

#endif
