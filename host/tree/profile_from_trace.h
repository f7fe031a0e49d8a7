/*
 * profile_from_trace.h - what the steps from an exported trace to a profile share.
 */
#ifndef TREE_PROFILE_FROM_TRACE_H
#define TREE_PROFILE_FROM_TRACE_H

#include "base/arena.h"
#include "base/memory.h"
#include "read/document.h"
#include "tree/inputs.h"
#include "tree/profile.h"

/*
 * What readers of inputs share: stepping through arrays side by side, sizes, and encoding what is
 * found.
 */

/* The text, the encoder, and the first error. */
struct input_source {
    const struct document *document;
    struct sutra_inputs *inputs;
    struct buffer sizes; /* int64_t, of the tensor at hand: sizes, then strides */
    struct sutra_error *error;
    enum sutra_status status;
};

enum input_list { LIST_VALUES, LIST_TYPES, LIST_SHAPES, LIST_STRIDES, N_LISTS };

/* Arrays at the same element; one that is missing or too short gives absent places. */
struct input_lists {
    struct json_walker walker[N_LISTS];
    bool more[N_LISTS];
};

static inline const char *source_text(const struct input_source *source, size_t at) {
    return source->document->source.bytes + at;
}

static inline struct json_walker source_walk(const struct input_source *source, size_t at) {
    return walk_from(&source->document->source, at);
}

static inline bool source_is_array(const struct input_source *source, struct json_place place) {
    return place.at && *source_text(source, place.at) == '[';
}

void source_add_tag(struct input_source *source, enum sutra_input_tag tag);
void source_add_scalar(struct input_source *source, const char *text, size_t length);

/* Adds a tensor of which all but the sizes is known. */
void source_add_tensor(struct input_source *source, struct sutra_tensor tensor, struct json_place shape,
                       struct json_place strides);

/* What an event of the trace stands for, by its category. */
enum event_role {
    ROLE_NONE,
    ROLE_OPERATOR,
    ROLE_ANNOTATION,
    ROLE_PYTHON,
    ROLE_INSTANT,      /* memory */
    ROLE_CALL,         /* of the runtime or driver, on the host */
    ROLE_GPU_OPERATOR, /* kernel, copy, set */
    ROLE_ON_DEVICE,    /* synchronisation and annotations there */
    ROLE_LAUNCH_FLOW,  /* half of a flow from launch to kernel */
    ROLE_AUTOGRAD_FLOW /* half of a flow from forward to backward */
};

/* Columns by event of the trace; those without a role have nothing but that. */
struct trace_rows {
    uint8_t *role;
    int64_t *start, *end;
    int64_t *index;       /* Ev Idx, below 0: none */
    int64_t *sequence;    /* below 0: none */
    int64_t *forward_tid; /* small number of the forward thread, or 0 */
    int64_t *bytes;
    uint64_t *memory;
    value_key *flow;  /* id of a flow, or KEY_ABSENT */
    uint32_t *thread; /* dense number of (pid, tid) */
    uint32_t n_threads;
    uint64_t n_dropped; /* fields of a wrong type */
    row_t n_untimed;    /* events left out for their times */
};

/* The steps below take a profile to which the trace's events were appended. */

/* Parents of Kineto's events: by flow, by correlation, by external id. */
enum sutra_status take_parents(struct sutra_profile *profile, struct sutra_context *context,
                               const struct trace_rows *rows, bool rocm, struct sutra_error *error);

/* Autograd's small numbers of threads, and the threads to fall back on; `by_host`: operators have numbers of the host
 * trace. */
enum sutra_status take_threads(struct sutra_profile *profile, const struct trace_rows *rows, bool by_host,
                               struct sutra_error *error);

#endif
