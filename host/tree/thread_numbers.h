/*
 * thread_numbers.h - dense numbers for tids, in the order of first sight, so that stacks can stand in an array.
 */
#ifndef TREE_THREAD_NUMBERS_H
#define TREE_THREAD_NUMBERS_H

#include "columns/pair_table.h"

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

#endif
