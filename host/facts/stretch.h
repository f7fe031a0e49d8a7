/*
 * stretch.h - a stretch of a trace: of some of its steps, and of time from its first event on.
 *
 *     ProfilerStep#3     ProfilerStep#4     ProfilerStep#5
 *     |-----------------||-----------------||-------------|
 *     from                                                to     steps "3-5"
 */
#ifndef FACTS_STRETCH_H
#define FACTS_STRETCH_H

#include <stdbool.h>
#include <stdint.h>

#include "columns/strings.h"
#include "sutra/error.h"

/* What was asked for. */
struct stretch_wish {
    const char *steps;     /* a step's number, or those from one to another, "3-5"; NULL: all of time */
    double from_us, to_us; /* whole microseconds from the first start of the trace; 0: no border */
};

/* A moment counts at `from` or behind, and before `to`; nanoseconds. */
struct time_stretch {
    int64_t from, to;
    bool found;                    /* a step that was asked for */
    uint64_t n_steps;              /* that there are, */
    int64_t first_step, last_step; /* and their least and largest numbers */
};

static inline bool stretch_is_wanted(const struct stretch_wish *wish) {
    return wish->steps || wish->from_us > 0 || wish->to_us > 0;
}

static inline bool stretch_has(const struct time_stretch *stretch, int64_t moment) {
    return moment >= stretch->from && moment < stretch->to;
}

static inline struct time_stretch stretch_of_all(void) {
    return (struct time_stretch){.from = INT64_MIN, .to = INT64_MAX, .first_step = INT64_MAX, .last_step = INT64_MIN};
}

/* Whether a name is that of a step which is wanted: it contains "ProfilerStep#", and its number is behind that. Of
 * those that are not, the stretch notes the numbers. */
bool stretch_is_step(struct time_stretch *stretch, const struct strings *strings, uint32_t name,
                     const struct stretch_wish *wish);

/* Widens the stretch to hold a step. */
void stretch_add_step(struct time_stretch *stretch, int64_t start, int64_t stop);

/* Narrows it to the times that are wanted, when all steps were added; `first` is the first start of the trace.
 * SUTRA_DATA: there is no such step; the message says which there are. */
enum sutra_status stretch_settle(struct time_stretch *stretch, const struct stretch_wish *wish, int64_t first,
                                 struct sutra_error *error);

#endif
