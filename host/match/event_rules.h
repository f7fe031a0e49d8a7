/*
 * event_rules.h - the rules of the event tree and of tensor ids for single elements, as every engine applies them.
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
#ifndef MATCH_EVENT_RULES_H
#define MATCH_EVENT_RULES_H

#include <stdbool.h>
#include <stdint.h>

#include "columns/number.h"
#include "columns/row.h"

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

#endif
