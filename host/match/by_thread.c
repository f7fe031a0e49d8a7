/*
 * by_thread.c - rows of operators brought together by thread; in come the threads' numbers, out goes a counting sort
 * of the rows, stable. Two passes over the operators.
 */
#include <string.h>

#include "match/cpu_steps.h"

void cpu_rows_by_thread(const struct cpu_ops *ops, const row_t *order, row_t *start, row_t *rows) {
    memset(start, 0, ((size_t)ops->n_threads + 1) * sizeof *start);
    for (row_t i = 0; i < ops->n; i++)
        start[ops->thread[i] + 1]++;
    for (uint32_t t = 0; t < ops->n_threads; t++)
        start[t + 1] += start[t];
    /* start[t] runs on to the start of t + 1 while rows are placed, and is moved back after. */
    for (row_t i = 0; i < ops->n; i++) {
        row_t row = order ? order[i] : i;
        rows[start[ops->thread[row]]++] = row;
    }
    memmove(start + 1, start, (size_t)ops->n_threads * sizeof *start);
    start[0] = 0;
}
