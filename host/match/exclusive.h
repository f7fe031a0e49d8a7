/*
 * exclusive.h - what the walk (exclusive.c) and the sweep (exclusive_sweep.c) for exclusive durations share.
 */
#ifndef MATCH_EXCLUSIVE_H
#define MATCH_EXCLUSIVE_H

#include "match/rules.h"
#include "match/steps.h"
#include "sutra/error.h"

/* Operators of one thread, in the order of (start, duration), and where their results go. */
struct exclusive_task {
    const struct cpu_ops *ops;
    const row_t *rows;
    row_t n;
    struct number_column exclusive;
    uint32_t looks_per_search; /* looks at an operator that take as long as searching the sweep's tree */
};

static inline struct number task_start(const struct exclusive_task *task, row_t i) {
    return number_at(task->ops->ts, task->rows[i]);
}

static inline struct number task_dur(const struct exclusive_task *task, row_t i) {
    return number_at(task->ops->dur, task->rows[i]);
}

static inline struct number task_end(const struct exclusive_task *task, row_t i) {
    return number_add(task_start(task, i), task_dur(task, i));
}

/* Writes a result, mended if it is below 0, and counts it if it was. */
static inline void task_settle(const struct exclusive_task *task, row_t row, struct number exclusive, uint64_t n_merged,
                               struct exclusive_anomalies *anomalies) {
    switch (exclusive_settle(&exclusive, number_at(task->ops->dur, row), n_merged)) {
    case EXCLUSIVE_EXACT:
        break;
    case EXCLUSIVE_ROUNDED:
        anomalies->n_rounded++;
        break;
    case EXCLUSIVE_REPLACED:
        anomalies->n_replaced++;
        if (row < anomalies->first_replaced)
            anomalies->first_replaced = row;
    }
    number_put(task->exclusive, row, exclusive);
}

/* Does positions [begin, end) of a task in O(n log^2 n), where no operator outside lies in one of them or holds one.
 * *applied is false, and nothing is done, where their times have no common fixed-point grid of 125 bits, or an end is
 * before its start. SUTRA_SYSTEM: out of memory.
 */
enum sutra_status exclusive_sweep(const struct exclusive_task *task, row_t begin, row_t end,
                                  struct exclusive_anomalies *anomalies, bool *applied);

#endif
