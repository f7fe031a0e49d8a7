/*
 * selection.h - which events of a device trace are kept: by time, side, length.
 *
 *     device trace, struct sutra_selection (sutra/rewrite.h, where the rules stand) --> a byte for each event
 *
 * Cost: O(n) in expectation, and the length of arrows' text, of which ids are read.
 */
#ifndef FACTS_SELECTION_H
#define FACTS_SELECTION_H

#include <stdbool.h>
#include <stdint.h>

#include "base/arena.h"
#include "columns/strings.h"
#include "context/context.h"
#include "read/device_trace.h"
#include "sutra/error.h"
#include "sutra/rewrite.h"

/*
 * A stretch of a trace: of some of its steps, and of time from its first event on.
 *
 *     ProfilerStep#3     ProfilerStep#4     ProfilerStep#5
 *     |-----------------||-----------------||-------------|
 *     from                                                to     steps "3-5"
 */

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

/* What an event is to a selection. */
enum selected_kind {
    SELECTED_METADATA,
    SELECTED_ARROW,       /* an end of it */
    SELECTED_WORK,        /* of the device, and what it waits for */
    SELECTED_DEVICE_NOTE, /* an annotation on a stream */
    SELECTED_OPERATOR,
    SELECTED_CALL,
    SELECTED_NOTE, /* an annotation of the host */
    SELECTED_PYTHON,
    SELECTED_OTHER,
    SELECTED_N_KINDS
};

struct selection {
    uint8_t *kept;                  /* by event: 1 or 0 */
    uint8_t *kind;                  /* by event: enum selected_kind */
    row_t n[SELECTED_N_KINDS];      /* events of each kind */
    row_t n_kept[SELECTED_N_KINDS]; /* and those of them that are kept */
    row_t n_broken_arrows;          /* ends that are left out for another end of theirs */
    struct time_stretch stretch;    /* what is kept of time */
};

/* Whether it stands for an operation of the host, which nodes of the host trace may be: an operator or an
 * annotation. */
static inline bool selected_is_operation(const struct selection *selection, row_t event) {
    return selection->kind[event] == SELECTED_OPERATOR || selection->kind[event] == SELECTED_NOTE;
}

/* Makes the selection, in the arena. `fits` (by event; NULL: all) says which events on devices may stay at all.
 * SUTRA_DATA: there is no such step. SUTRA_SYSTEM: out of memory. */
enum sutra_status selection_make(struct sutra_context *context, const struct sutra_device_trace *trace,
                                 const struct sutra_selection *wish, const uint8_t *fits, struct arena *arena,
                                 struct selection *selection, struct sutra_error *error);

/* Takes over what a caller set. */
enum sutra_status selection_take(const struct sutra_selection *given, struct sutra_selection *taken,
                                 struct sutra_error *error);

#endif
