/*
 * call_tree.h - the steps `event_parents` and `tensor_groups`: their rules, which all engines share (as rules.h), and
 * their inputs, as plain arrays of the caller.
 */
#ifndef MATCH_CALL_TREE_H
#define MATCH_CALL_TREE_H

#include <stdbool.h>
#include <stdint.h>

#include "base/shared.h"
#include "columns/numbers.h"

/*
 * The rules of the call tree and of tensor ids.
 *
 * PyTorch finds parents by replay: it walks events by start, keeps a heap of ends and a stack for each thread, and pops
 * ended events before it pushes the next one. The result of the replay can be computed without it:
 *
 * 1. A stack is only read when an event of its thread begins, or an event that falls back on the thread. So it need not
 *    be popped earlier; no heap is needed, and threads interact only if an event falls back on another thread.
 * 2. Popping an event pops all above it. So an event leaves its stack when the first of the events from it down to the
 *    bottom ends: it *closes* at the smaller of its own end and the closing of the event below it. A missing end is
 *    never. On a stack closings descend from bottom to top, so the closed events are on top.
 * 3. Hence, among the events of a thread in order of start that enter the stack at all (events of some length or
 *    without an end):
 *
 *        below(x)  = the last y before x with closing(y) >= start(x)
 *        closing(x) = min(own end or never, closing(below(x)))
 *
 *    `below` is a search for the previous element that is not smaller, over closings. Closings are the only fixed point
 *    of the two lines (by induction over the order), so they can be found from closing = own end by repeating both
 *    lines for all events simultaneously until nothing changes: after k rounds the first k overlaps of a thread are
 *    right. If events nest, one round changes nothing; only partial overlaps cost more.
 * 4. An event with below(x) has it as parent. An event without is at the bottom of its stack. When it is popped, its
 *    own parent (if it fell back on another thread and found one) remains as the thread's top, although it is not an
 *    event of this thread, and is never popped. So the first bottom event of a thread that enters the stack and finds a
 *    parent elsewhere gives this parent to all later bottom events of the thread: the thread is *adopted* from then on.
 * 5. A bottom event of a thread that is not adopted yet falls back on its forward thread: its parent is the last y of
 *    that thread before x with closing(y) >= start(x); without one, the event that adopted that thread, if before x. So
 *    only adoptions depend on each other, at most one for each thread: settle them in order of time.
 *
 * A CPU thread does all this in one walk (call_tree.c); tests/test_event_tree.c does it as written here.
 */

/* A missing end, and a closing that never comes. Other times are below 2^62 in magnitude. */
#define EVENT_NO_END INT64_MIN
#define EVENT_OPEN   INT64_MAX

/* No forward thread. */
#define THREAD_NONE UINT32_MAX

/* Whether the event becomes the top of its thread's stack; others end when they begin. */
SHARED bool event_enters(int64_t start, int64_t end) {
    return end > start || end == EVENT_NO_END;
}

/* The closing of an event on top of one that closes at `below` (EVENT_OPEN at the bottom). */
SHARED int64_t event_closing(int64_t end, int64_t below) {
    return end == EVENT_NO_END || end > below ? below : end;
}

/* Whether an event has left its stack when another begins. */
SHARED bool event_is_gone(int64_t closing, int64_t start) {
    return closing < start;
}

/*
 * Tensor ids. Storages are numbered in the order of first occurrence. Each input joins its storage with the first
 * storage of its tensor. Of such a pair (a, b) with a < b, in the order of pairs, b gets the group of a unless it has
 * one, and a gets a new one unless it has one. All pairs that could give a number to a precede the pairs of a. So:
 *
 *        leader(b) = the smallest a < b that b is paired with, else b
 *        group(b)  = number of b among the storages that lead themselves, if leader(b) = b; else group(leader(b))
 *
 * That is a minimum for each storage, a count, and jumps along leaders, in any order, without a sort.
 */

/* The leader of the larger storage of a pair, given its previous leader. */
SHARED uint32_t storage_leader(uint32_t leader, uint32_t smaller) {
    return smaller < leader ? smaller : leader;
}

/*
 * Events sorted by start, ties in the order of recording.
 *
 *   row       0       1       ...  n-1
 *   start     nanoseconds, ascending (except neighbours that the caller keeps apart)
 *   end       nanoseconds, or EVENT_NO_END
 *   thread    number of its thread, below n_threads
 *   forward   forward thread, below n_threads, or THREAD_NONE; NULL: no event has one
 *   placed    1: has its parent already and is skipped; NULL: no event has one
 */
struct tree_events {
    row_t n;
    uint32_t n_threads;
    const int64_t *start, *end;
    const uint32_t *thread, *forward;
    const uint8_t *placed;
};

/* Events of storages, in order of time. */
enum storage_use {
    STORAGE_INPUT,     /* a tensor is an operator's input */
    STORAGE_ALLOCATED, /* memory is allocated */
    STORAGE_FREED,     /* memory is freed: its number ends here */
};

/*
 *   row       0       1       ...  n-1
 *   tensor    address of the tensor of an input; only compared for equality
 *   storage   address of the storage or of the memory
 *   device    number of the storage's device; NULL: addresses alone identify storages
 *   use       enum storage_use
 */
struct storage_uses {
    row_t n;
    const uint64_t *tensor, *storage;
    const uint32_t *device;
    const uint8_t *use;
};

#define STORAGE_NONE UINT32_MAX

#endif
