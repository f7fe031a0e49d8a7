/*
 * threads.h - dense numbers for threads, in the order of first sight, so that what there is of each can stand in an
 * array.
 *
 *     tids       7  7  12  7  "main"  12
 *     numbers    0  0   1  0    2      1
 */
#ifndef FACTS_THREADS_H
#define FACTS_THREADS_H

#include "base/arena.h"
#include "columns/device_events.h"
#include "columns/pair_table.h"
#include "match/key_index.h"

/* ---- All at once ---- */

/* numbers[i] = that of the tid of event rows[i], below *n_threads. The index, the caller's to free, is from tids to the
 * first i. O(n) or O(n log n), as the index is built. */
enum sutra_status threads_number(const struct device_events *events, const row_t *rows, row_t n,
                                 const struct engine *engine, struct arena *scratch, struct key_index *first,
                                 uint32_t *numbers, uint32_t *n_threads, struct sutra_error *error);

/* ---- One after the other, while events are read ---- */

struct thread_numbers {
    struct pair_table table;
    uint32_t n;
    uint64_t last_id; /* of the last number that was asked for: neighbours mostly are of one thread */
    uint32_t last_process, last;
};

static inline bool thread_numbers_init(struct thread_numbers *threads) {
    *threads = (struct thread_numbers){.last = PAIR_NONE};
    return pair_table_init(&threads->table);
}

static inline void thread_numbers_free(struct thread_numbers *threads) {
    pair_table_free(&threads->table);
}

/* The number of a thread of a process, new if it was not seen before; PAIR_NONE: out of memory. */
static inline uint32_t thread_number(struct thread_numbers *threads, uint64_t id, uint32_t process) {
    if (threads->last != PAIR_NONE && threads->last_id == id && threads->last_process == process)
        return threads->last;
    struct pair_entry *entry = pair_table_take(&threads->table, id, process);
    if (!entry)
        return PAIR_NONE;
    if (entry->number == PAIR_NONE)
        entry->number = threads->n++;
    threads->last_id = id;
    threads->last_process = process;
    return threads->last = entry->number;
}

/* Threads of processes, by events. */
struct event_threads {
    struct thread_numbers processes, threads;
};

static inline bool event_threads_init(struct event_threads *numbers) {
    bool processes = thread_numbers_init(&numbers->processes), threads = thread_numbers_init(&numbers->threads);
    return processes && threads;
}

static inline void event_threads_free(struct event_threads *numbers) {
    thread_numbers_free(&numbers->processes);
    thread_numbers_free(&numbers->threads);
}

/* The number of the event's thread; PAIR_NONE: out of memory. */
static inline uint32_t event_thread(struct event_threads *numbers, const struct device_events *events, row_t event) {
    uint32_t process = thread_number(&numbers->processes, (uint64_t)events->pid[event], 0);
    return process == PAIR_NONE ? PAIR_NONE : thread_number(&numbers->threads, (uint64_t)events->tid[event], process);
}

#endif
