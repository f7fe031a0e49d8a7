/*
 * selection.h - selects events of a device trace by time, side and length.
 *
 *     device trace, struct sutra_selection (its rules are in sutra/rewrite.h) --> a byte for each event
 *
 * Cost: O(n) in expectation, and the length of the text of flow arrows, whose ids are read.
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

/* A moment t is inside if from <= t < to; nanoseconds. With steps "3-5":
 *
 *     ProfilerStep#3     ProfilerStep#4     ProfilerStep#5
 *     |-----------------||-----------------||-------------|
 *     from                                                to
 */
struct time_range {
    int64_t from, to;
};

/* Kinds of events. */
enum selected_kind {
    SELECTED_METADATA,
    SELECTED_ARROW,       /* an end of a flow arrow */
    SELECTED_WORK,        /* GPU activity and synchronization */
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
    row_t n_kept[SELECTED_N_KINDS]; /* events that are kept */
    row_t n_broken_arrows;          /* ends skipped because another end of the arrow is not kept */
    struct time_range range;
};

/* Whether it is an operator or an annotation of the host, which nodes of the host trace may represent. */
static inline bool selected_is_operation(const struct selection *selection, row_t event) {
    return selection->kind[event] == SELECTED_OPERATOR || selection->kind[event] == SELECTED_NOTE;
}

/* Makes the selection, in the arena. `fits` (by event; NULL: all) marks the GPU activity that may be kept. SUTRA_DATA:
 * there is no such step. SUTRA_SYSTEM: out of memory. */
enum sutra_status selection_make(struct sutra_context *context, const struct sutra_device_trace *trace,
                                 const struct sutra_selection *wish, const uint8_t *fits, struct arena *arena,
                                 struct selection *selection, struct sutra_error *error);

/* Copies the options of a caller. */
enum sutra_status selection_copy_options(const struct sutra_selection *given, struct sutra_selection *taken,
                                         struct sutra_error *error);

#endif
