/*
 * rows.h - the operators of each thread as frames of a call stack: where they begin and end, in order, and what is
 * around them.
 */
#ifndef CRITICAL_PATH_ROWS_H
#define CRITICAL_PATH_ROWS_H

#include "critical_path/path.h"

/* Tokens thread_start[t] .. thread_start[t + 1] - 1 are of thread t. */
struct frames {
    row_t n;
    uint32_t n_threads;
    row_t *thread_start;
    uint8_t *begins; /* 1: the operator begins; 0: it ends */
    row_t *event;    /* the operator */
    row_t *above;    /* the operator around it, or ROW_NONE */
};

/* In come rows sorted by (thread's rank, start), longer ones first. Rows that are no operators are frames, too, but are
 * left out of the result, which is in the scratch arena. */
enum sutra_status frames_find(struct path_work *work, const struct path_rows *rows, const row_t *row,
                              const uint32_t *thread, row_t n, struct frames *frames);

#endif
