/*
 * times.h - start times and durations of events, exact and as in HTA's table of events, and numbers of threads.
 *
 * pandas keeps a column of numbers in one type. If one start of a trace is missing or has a fraction, HTA rounds all
 * times to whole microseconds, starts up and ends down:
 *
 *     file      ts 10.2, dur 3.5      [10.2 ....... 13.7]
 *     whole     start 11, dur 2         [11 ... 13]
 */
#ifndef FACTS_TIMES_H
#define FACTS_TIMES_H

#include <math.h>

#include "base/arena.h"
#include "columns/hash_tables.h"
#include "columns/traces.h"
#include "facts/names.h"
#include "match/key_index.h"
#include "read/device_trace.h"
#include "text/numbers.h"

/* ---- Exact times in nanoseconds. Where doubles of microseconds are too coarse, the text of the file is read again. */

/* Doubles from here on are whole: adding it rounds as llrint() does. */
#define ROUNDS_DOUBLE 0x1p52

/* Times of a larger magnitude (some 95 years from 1970) are invalid: the sum of two fits 64 bits as nanoseconds. False
 * for NaN. */
#define SOUND_US_MAX 3e15
static inline bool us_are_sound(double us) {
    return fabs(us) <= SOUND_US_MAX;
}

struct exact_times {
    const struct json_span *text; /* by event: the position of the start; NULL: doubles are exact enough */
};

/* Finds the text of coarse starts, of events whose category has a role; `roles` NULL: of all. O(n), and the length of
 * the events with coarse starts. */
enum sutra_status exact_times_find(struct sutra_context *context, const struct sutra_device_trace *trace,
                                   const struct string_roles *roles, struct arena *scratch, struct exact_times *times,
                                   struct sutra_error *error);

/* Whether an event has a start and a duration (0 if missing) that is not negative, and neither is too large. */
static inline bool exact_time_is_known(const struct device_events *events, row_t event) {
    double dur = number_as_double(number_at(events->dur, event));
    return events->flags[event] & EVENT_HAS_TS && us_are_sound(number_as_double(number_at(events->ts, event))) &&
           us_are_sound(dur) && dur >= 0;
}

/* The same for our analyses, which skip events that validity.h marks. */
static inline bool time_is_usable(const struct device_events *events, row_t event) {
    return exact_time_is_known(events, event) && !(events->flags[event] & EVENT_UNUSABLE);
}

/* A range of time in microseconds, without events at first. */
struct us_range {
    double begin, end; /* 0 without events */
    row_t n;
};

static inline void us_range_add(struct us_range *range, const struct device_events *events, row_t event) {
    const double begin = number_as_double(number_at(events->ts, event));
    const double end = begin + number_as_double(number_at(events->dur, event));
    const bool is_first = range->n++ == 0;
    range->begin = is_first || begin < range->begin ? begin : range->begin;
    range->end = is_first || end > range->end ? end : range->end;
}

/* Sound microseconds as nanoseconds, rounded half to even. */
static inline int64_t ns_of_us(struct number us) {
    if (!number_is_double(us))
        return (int64_t)us.bits * NS_PER_US;
    double value = number_as_double(us);
    int64_t whole = (int64_t)value;
    whole -= (double)whole > value;
    return whole * NS_PER_US + (int64_t)((value - (double)whole) * NS_PER_US + ROUNDS_DOUBLE - ROUNDS_DOUBLE);
}

/* The start of an event whose time is known; from the text if times->text is set. */
int64_t exact_start_of_text(const struct sutra_device_trace *trace, const struct exact_times *times, row_t event);
static inline int64_t exact_start_ns(const struct sutra_device_trace *trace, const struct exact_times *times,
                                     row_t event) {
    return times->text ? exact_start_of_text(trace, times, event) : ns_of_us(number_at(trace->events.ts, event));
}

/*
 * Dense numbers for threads, in the order of first occurrence, as indices of arrays.
 *
 *     tids       7  7  12  7  "main"  12
 *     numbers    0  0   1  0    2      1
 */

/* All threads of a list of events: numbers[i] = number of the tid of event rows[i], below *n_threads. The index, which
 * the caller frees, maps tids to their first i. O(n) or O(n log n), as the index is built. */
enum sutra_status threads_number(const struct device_events *events, const row_t *rows, row_t n,
                                 const struct engine *engine, struct arena *scratch, struct key_index *first,
                                 uint32_t *numbers, uint32_t *n_threads, struct sutra_error *error);

/* Numbers assigned one by one. */
struct thread_numbers {
    struct pair_table table;
    uint32_t n;
    uint64_t last_id; /* of the last request: neighbouring events mostly have the same thread */
    uint32_t last_process, last;
};

static inline bool thread_numbers_init(struct thread_numbers *threads) {
    *threads = (struct thread_numbers){.last = PAIR_NONE};
    return pair_table_init(&threads->table);
}

static inline void thread_numbers_free(struct thread_numbers *threads) {
    pair_table_free(&threads->table);
}

/* The number of a thread of a process, new at its first occurrence; PAIR_NONE: out of memory. */
static inline uint32_t thread_number(struct thread_numbers *threads, uint64_t id, uint32_t process) {
    if (threads->last != PAIR_NONE && threads->last_id == id && threads->last_process == process)
        return threads->last;
    struct pair_entry *entry = pair_table_insert(&threads->table, id, process);
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

/* Properties of the time columns of a trace. */
struct time_column_properties {
    bool start_missing, start_real; /* an event has no start; a start is written as a real number */
    bool dur_missing, dur_real;     /* the same for durations */
};

/* O(n). */
struct time_column_properties times_inspect(const struct device_events *events);

/* Whether HTA rounds the times of such a trace. */
static inline bool times_are_rounded(struct time_column_properties forms) {
    return forms.start_missing || forms.start_real;
}

struct time_rules {
    bool whole;                /* rounded */
    double max_start, max_dur; /* times of a larger magnitude are invalid */
    bool skips_unusable;       /* without unusable events and with corrected ends (validity.h) */
};

enum time_state { TIME_KNOWN, TIME_NO_DURATION, TIME_NO_START, TIME_TOO_LARGE };

struct event_time {
    struct number start, dur; /* microseconds */
};

/* Reads an event's time; *time is set for TIME_KNOWN. O(1). */
enum time_state time_read(const struct device_events *events, row_t event, const struct time_rules *rules,
                          struct event_time *time);

/* Subtracts the earliest of the starts of rows[0..n) from them; returns it, or 0 without rows. */
int64_t times_shift(int64_t *start, const row_t *rows, row_t n);

#endif
