/*
 * op_match.h - pairs the operators of a host trace with the operators of a device trace, for traces without common ids:
 * by names, by numbers where both traces record them, and by order per thread.
 *
 *     both traces --names in common--> pairs of threads --window--> operators of one run --tree_align--> pairs of rows
 *
 *     host threads      1        2               the host trace numbers threads from 1,
 *     device threads    4711     4720   4733     the device trace has ids of the system
 *
 * Rules:
 *
 *   - Two operators may be the same if their tokens are equal and no number contradicts. Numbers are the sequence
 *     numbers of autograd, and the numbers of collectives.
 *   - Sequence numbers count if at least half of a thread's numbers exist on the other side, as they are or all higher
 *     by one constant (another iteration of the same process).
 *   - Threads are paired one to one: by names with sequence numbers in common, then by names in common, then by order.
 *   - If one side has 1.5 times the operators of the other side, its operators are limited to one window, found on the
 *     pair of threads with the most operators. The matches of this pair limit all threads.
 *   - Operators that begin on one thread and end on another, such as gloo:all_reduce, are on different threads in the
 *     two traces. Operators whose name has no match on their thread are paired over all threads, in order, if both sides
 *     have the same number of them.
 *
 * Cost: O(n log n), O(n * threads) to pair threads, and tree_align.h.
 */
#ifndef ALIGN_OP_MATCH_H
#define ALIGN_OP_MATCH_H

#include <stdbool.h>
#include <stdint.h>

#include "base/arena.h"
#include "columns/numbers.h"
#include "columns/traces.h"
#include "context/context.h"

/* A token that matches no other. */
#define TOKEN_NONE UINT32_MAX

/* The operators of one trace, by start: a host trace by id, a device trace by time. Columns of n rows. */
struct op_side {
    row_t n;
    uint32_t *token; /* the number of the name, below n_tokens, or TOKEN_NONE */
    row_t *thread;   /* numbered in the order of their first operators */
    row_t n_threads;
    row_t *parent;         /* the enclosing operator of the same thread, or ROW_NONE */
    value_key *sequence;   /* sequence number; KEY_ABSENT: none */
    value_key *collective; /* number of a collective; KEY_ABSENT: none */
    row_t begin, end;      /* only rows from begin to end - 1 are matched */
};

/* Allocates the columns of n rows in the arena, without parents and numbers. All rows are matched. */
struct op_side op_side_alloc(struct arena *arena, row_t n);

/* Computes `parent` from the times of the events event[0..n): an operator that starts before the end of another one of
 * its thread is its child. Times with fractions are rounded, and so are their sums: ends may be that much earlier.
 * Without memory the arena fails. O(n). */
void op_side_nest(struct op_side *side, const struct device_events *events, const row_t *event, struct arena *arena);

struct op_match {
    row_t *device;        /* per host operator: the device operator, or ROW_NONE */
    row_t *host;          /* per device operator: the host operator, or ROW_NONE */
    row_t n;              /* pairs */
    double confidence;    /* pairs / operators from the first to the last pair of each thread, on the larger side */
    row_t n_positions;    /* windows that fit equally well; the first one is chosen. 0: no window was needed */
    bool has_numbers;     /* sequence numbers agree on a thread, */
    int64_t number_shift; /* after this constant is added to the numbers of the host trace, on the largest thread */
    row_t *host_partner;  /* per host thread: its device thread, or ROW_NONE */
    row_t *device_partner;
    bool limits_host; /* the window is in the host trace, which the device trace fits */
};

/* Fills *match; its columns are in the arena. Tokens are below n_tokens. SUTRA_SYSTEM: out of memory. */
enum sutra_status ops_match(struct sutra_context *context, const struct op_side *host, const struct op_side *device,
                            uint32_t n_tokens, struct arena *arena, struct op_match *match, struct sutra_error *error);

#endif
