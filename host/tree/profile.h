/*
 * profile.h - internals of struct sutra_profile: events in columns, in recorded order.
 *
 *     kind           enum sutra_event_kind
 *     scope          enum sutra_scope, of operators
 *     gpu            enum event_site
 *     flow_role      enum sutra_flow_role, of Kineto events
 *     name           number of a string
 *     start, end     nanoseconds; end: or EVENT_NO_END
 *     thread         dense number of the thread (of a Kineto event with a parent: the parent's)
 *     forward        dense number of the thread to fall back on, or THREAD_NONE
 *     tid            autograd's small number of the thread; 0: unknown
 *     forward_tid    likewise of the forward thread; 0: no backward operator
 *     sequence       negative: none
 *     flow           flow id, of Kineto events in flows
 *     parent         parent row by flow or link, or ROW_NONE
 *     event          index in the file's array
 *     index          "Ev Idx", or else `event`
 *     memory, bytes, device   of allocations: address, size, number of the device
 */
#ifndef TREE_PROFILE_H
#define TREE_PROFILE_H

#include "base/arena.h"
#include "base/memory.h"
#include "columns/strings.h"
#include "facts/times.h"
#include "match/call_tree.h"
#include "read/device_trace.h"
#include "read/document.h"
#include "read/event_fields.h"
#include "read/host_trace.h"
#include "sutra/profiler.h"
#include "write/text.h"

/* Where an event runs. EVENT_ON_DEVICE: synchronization and annotations on the device. */
enum event_site { EVENT_ON_HOST, EVENT_GPU_OPERATOR, EVENT_ON_DEVICE };

/* X(type, name) for each column. */
#define PROFILE_COLUMNS(X)                                                                                             \
    X(uint8_t, kind)                                                                                                   \
    X(uint8_t, scope)                                                                                                  \
    X(uint8_t, gpu)                                                                                                    \
    X(uint8_t, flow_role)                                                                                              \
    X(uint32_t, name)                                                                                                  \
    X(int64_t, start)                                                                                                  \
    X(int64_t, end)                                                                                                    \
    X(uint32_t, thread)                                                                                                \
    X(uint32_t, forward)                                                                                               \
    X(int64_t, tid)                                                                                                    \
    X(int64_t, forward_tid)                                                                                            \
    X(int64_t, sequence)                                                                                               \
    X(int64_t, flow)                                                                                                   \
    X(row_t, parent)                                                                                                   \
    X(row_t, event)                                                                                                    \
    X(int64_t, index)                                                                                                  \
    X(uint64_t, memory)                                                                                                \
    X(int64_t, bytes)                                                                                                  \
    X(uint32_t, device)

struct sutra_profile {
    row_t n, capacity;
#define X(type, name) type *name;
    PROFILE_COLUMNS(X)
#undef X
    uint32_t n_threads;
    const struct strings *strings; /* names: the trace's, or own_strings */
    struct strings own_strings;
    const struct sutra_device_trace *trace; /* its origin, or NULL */
    struct sutra_inputs *inputs;            /* per operator, in row order; NULL: not recorded */
    bool has_ids;                           /* inputs have addresses or ids of tensors and storages */
    row_t n_allocations;
    bool whole_us; /* all times are whole microseconds */
    struct sutra_profile_report report;
};

/* Creates a profile without events. NULL: out of memory. */
struct sutra_profile *profile_new(void);

/* Allocates capacity for n rows; false: out of memory. */
bool profile_reserve(struct sutra_profile *profile, row_t n);

/* Appends a row whose other columns are absent. The capacity must suffice. */
row_t profile_append(struct sutra_profile *profile, enum sutra_event_kind kind, row_t event);

/* Counts the kinds of events for the report. */
void profile_count(struct sutra_profile *profile);

/* Writes a thread's name in the file, as JSON. */
void write_thread_name(const struct sutra_profile *profile, row_t row, struct text_out *text);

static inline bool event_is_memory(uint8_t kind) {
    return kind == SUTRA_EVENT_ALLOCATION || kind == SUTRA_EVENT_OUT_OF_MEMORY;
}

/* ---- The steps from an exported trace to a profile ---- */

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

/*
 * ---- Internals of struct sutra_inputs (inputs.c): the inputs of operators in flat arrays ----
 *
 *     tags      Tensor Scalar End | ListBegin Tensor Tensor End Other End | End     three operators
 *     tensors   t0                              t1     t2
 *     sizes     8 16 16 1  |  ...                        t0: two sizes, two strides
 *     scalars   "1.0"                                    string ids
 *
 * A list and an operator have the same end tag. Only strided tensors have strides, after their sizes.
 */

struct sutra_inputs {
    enum sutra_torch_version torch_version;
    bool in_list;
    uint8_t *tags;
    uint64_t n_tags, tags_capacity;
    struct sutra_tensor *tensors;
    uint64_t n_tensors, tensors_capacity;
    int64_t *sizes;
    uint64_t n_sizes, sizes_capacity;
    uint32_t *scalars;
    uint64_t n_scalars, scalars_capacity;
    struct strings strings; /* names of dtypes, and scalars */
};

/* The number of a name of a dtype; STRING_NONE: out of memory. */
static inline uint32_t inputs_dtype(struct sutra_inputs *inputs, const char *name, size_t length) {
    return strings_intern(&inputs->strings, name, length);
}

/* ---- Inputs in the text of a trace ---- */

/* The text, the encoder, and the first error. */
struct input_source {
    const struct document *document;
    struct sutra_inputs *inputs;
    struct buffer sizes; /* int64_t, of the current tensor: sizes, then strides */
    struct sutra_error *error;
    enum sutra_status status;
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

/* Reads a 64-bit integer; false: the value is none. */
static inline bool source_integer(const struct input_source *source, struct json_span place, int64_t *value) {
    return place.at && field_integer(source_text(source, place.at), value);
}

void source_add_tag(struct input_source *source, enum sutra_input_tag tag);
void source_add_scalar(struct input_source *source, const char *text, size_t length);

/* Adds a tensor with the sizes and strides of two arrays. */
void source_add_tensor(struct input_source *source, struct sutra_tensor tensor, struct json_span shape,
                       struct json_span strides);

#endif
