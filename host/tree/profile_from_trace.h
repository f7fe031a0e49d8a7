/*
 * profile_from_trace.h - shared by the steps from an exported trace to a profile: readers of inputs, rows of the trace.
 */
#ifndef TREE_PROFILE_FROM_TRACE_H
#define TREE_PROFILE_FROM_TRACE_H

#include "base/arena.h"
#include "base/memory.h"
#include "read/document.h"
#include "tree/inputs.h"
#include "tree/profile.h"

/* The text, the encoder, and the first error. */
struct input_source {
    const struct document *document;
    struct sutra_inputs *inputs;
    struct buffer sizes; /* int64_t, of the current tensor: sizes, then strides */
    struct sutra_error *error;
    enum sutra_status status;
};

enum input_list { LIST_VALUES, LIST_TYPES, LIST_SHAPES, LIST_STRIDES, N_LISTS };

/* Arrays that are read in parallel; missing elements are absent. */
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

static inline bool source_is_array(const struct input_source *source, struct json_span place) {
    return place.at && *source_text(source, place.at) == '[';
}

void source_add_tag(struct input_source *source, enum sutra_input_tag tag);
void source_add_scalar(struct input_source *source, const char *text, size_t length);

/* Adds a tensor with the sizes and strides of two arrays. */
void source_add_tensor(struct input_source *source, struct sutra_tensor tensor, struct json_span shape,
                       struct json_span strides);

/* The role of an event of the trace, by its category. */
enum event_role {
    ROLE_NONE,
    ROLE_OPERATOR,
    ROLE_ANNOTATION,
    ROLE_PYTHON,
    ROLE_INSTANT,      /* memory */
    ROLE_CALL,         /* runtime or driver call on the host */
    ROLE_GPU_OPERATOR, /* kernel, memcpy, memset */
    ROLE_ON_DEVICE,    /* synchronization and annotations on the device */
    ROLE_LAUNCH_FLOW,  /* half of a launch-to-kernel flow */
    ROLE_AUTOGRAD_FLOW /* half of a forward-to-backward flow */
};

/* Columns by event of the trace; without a role, the other columns are not set. */
struct trace_rows {
    uint8_t *role;
    int64_t *start, *end;
    int64_t *index;       /* Ev Idx; negative: none */
    int64_t *sequence;    /* negative: none */
    int64_t *forward_tid; /* small number of the forward thread, or 0 */
    int64_t *bytes;
    uint64_t *memory;
    value_key *flow;  /* id of a flow, or KEY_ABSENT */
    uint32_t *thread; /* dense number of (pid, tid) */
    uint32_t n_threads;
    uint64_t n_dropped; /* fields of the wrong type */
    row_t n_untimed;    /* events skipped for their times */
};

/* The following steps need a profile with the trace's events. */

/* Finds parents of Kineto's events: by flow, correlation or external id. */
enum sutra_status find_kineto_parents(struct sutra_profile *profile, struct sutra_context *context,
                                      const struct trace_rows *rows, bool rocm, struct arena *arena,
                                      struct sutra_error *error);

/* Finds autograd's small numbers of threads, and the threads to fall back on; `by_host`: operators have numbers of the
 * host trace. */
enum sutra_status find_autograd_threads(struct sutra_profile *profile, const struct trace_rows *rows, bool by_host,
                                        struct sutra_error *error);

#endif
