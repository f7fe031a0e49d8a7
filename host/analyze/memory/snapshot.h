/*
 * snapshot.h - the state of reading one memory snapshot, for snapshot.c and snapshot_events.c.
 */
#ifndef ANALYZE_MEMORY_SNAPSHOT_H
#define ANALYZE_MEMORY_SNAPSHOT_H

#include <string.h>

#include "analyze/memory/memory.h"
#include "columns/hash_tables.h"
#include "read/objects.h"

#define LIST_EMPTY  0 /* container without items */
#define NAMES_FREE  ((uint64_t)64 << 20)
#define TIME_US_MAX (INT64_MAX / 1000 - 1)

/* Cached facts of a list of frames; 0: not computed yet. */
struct list_facts {
    uint32_t frame, operator_name, stack; /* names of the result plus 1 */
    uint32_t empties_cache;               /* whether it calls empty_cache(), plus 1 */
};

/* An event as numbers. */
struct snapshot_event {
    uint64_t address, time_us;
    int64_t size;
    object_t frames, free_value; /* `free_value`: "device_free", else "addr" */
    uint32_t category;           /* string; "": none */
    uint8_t action;              /* enum word; WORD_N_KEYS: another text */
    bool has_address, has_size, has_time;
};

/* An event of segments or an out-of-memory event. */
struct segment_event {
    uint32_t event;
    uint8_t action;
    int64_t size;
    object_t frames, free_value;
};

/* The events of a device: points relative to the state before the first event, and allocations. */
struct snapshot_trace {
    struct arena *points_arena, *arena; /* of the result; until the input is read */
    uint32_t list, n, n_lost_frees;
    uint32_t last_change; /* last event that changes active or reserved bytes */
    uint64_t capacity, alloc_capacity, segment_capacity;
    int64_t *time_ns, *allocated, *active, *reserved; /* n + 1 points */
    int64_t total_size;                               /* of all events */
    bool has_time;                                    /* of all events */
    struct memory_allocs allocs;                      /* `category`: strings; `frame` and `operator_name` are not set */
    uint32_t *alloc_list; /* container of the frames; CONTAINER_NONE: before the recording */
    struct segment_event *segment_events;
    uint32_t n_segment_events;
    struct pair_table live; /* from the address of a live allocation to its row; absent addresses: second part 1 */
};

struct snapshot {
    struct sutra_memory *memory;
    struct objects *objects;
    const struct source *source;
    struct arena *arena;
    uint8_t *file_flags, *name_flags; /* by string */
    uint8_t *frame_flags;             /* by container */
    struct list_facts *lists;         /* by container */
    uint32_t *frame_texts;            /* by container: text of a frame in `texts`, plus 1 */
    struct strings texts;
    struct pair_table frames; /* name of (function, file, line): first = function and file, second = line */
    uint32_t *copied;         /* result's name of a string, plus 1 */
    uint32_t before, no_frames, non_python, unknown, empty;
    int64_t total_size;           /* of segments, blocks and events so far */
    uint64_t n_annotations;       /* so far: each device reads all of them */
    struct snapshot_trace *trace; /* of the device that is read */
    struct event_stream *stream;  /* or NULL */
};

static inline bool is_list(object_t object) {
    return object_type(object) == OBJECT_LIST || object_type(object) == OBJECT_TUPLE;
}

/* An integer of 64 bits; false: anything else. */
static inline bool get_integer(const struct snapshot *s, object_t object, int64_t *value) {
    return object_integer(s->objects, object, value);
}

/* An unsigned integer of 64 bits. */
static inline bool get_unsigned(const struct snapshot *s, object_t object, uint64_t *value) {
    if (object_type(object) == OBJECT_INTEGER) {
        *value = (uint64_t)object_small(object);
        return object_small(object) >= 0;
    }
    if (object_type(object) != OBJECT_WIDE)
        return false;
    *value = s->objects->wide[object_payload(object)].low;
    return s->objects->wide[object_payload(object)].high == 0;
}

/* Values that Python treats as false, and absent ones. */
static inline bool is_falsy(const struct snapshot *s, object_t object) {
    double real;
    switch (object_type(object)) {
    case OBJECT_ABSENT:
    case OBJECT_NONE:
        return true;
    case OBJECT_BOOL:
    case OBJECT_INTEGER:
        return object_payload(object) == 0;
    case OBJECT_STRING:
        return object == object_word(WORD_N_KEYS);
    case OBJECT_REAL:
        memcpy(&real, &s->objects->wide[object_payload(object)].low, sizeof real);
        return real == 0;
    case OBJECT_LIST:
    case OBJECT_TUPLE:
    case OBJECT_DICT:
        return container_of(s->objects, object)->n == 0;
    default:
        return false;
    }
}

/* SUTRA_DATA, with the file. */
__attribute__((format(printf, 3, 4))) enum sutra_status
snapshot_malformed(const struct snapshot *s, struct sutra_error *error, const char *format, ...);

/* The result's name of a string of the input; STRING_NONE as memory_name(). */
static inline uint32_t snapshot_copy_name(struct snapshot *s, uint32_t string) {
    return memory_copy_name(s->memory, &s->objects->strings, string, s->copied);
}

/* Prepares a trace for n events; more are possible. Free with trace_free(). */
enum sutra_status trace_begin(struct snapshot_trace *trace, struct arena *points_arena, struct arena *arena, uint32_t n,
                              struct sutra_error *error);
void trace_free(struct snapshot_trace *trace);

/* Reads event number i of a trace: values by key as in struct pickle_events. SUTRA_DATA: malformed. */
enum sutra_status decode_event(const struct snapshot *s, uint32_t i, const uint32_t *position, const object_t *values,
                               size_t stride, struct snapshot_event *event, struct sutra_error *error);

/* Appends an event: matches it with the allocation of its address. O(1). */
enum sutra_status trace_add_event(const struct snapshot *s, struct snapshot_trace *trace,
                                  const struct snapshot_event *event, struct sutra_error *error);

/* Adds an allocation that was made before the recording; its row, or EVENT_NONE: out of memory. */
uint32_t trace_add_before(struct snapshot_trace *trace, int64_t size);

/*
 * Traces of the events that pickle_read() delivers. A second thread appends them, while the first one reads on:
 *
 *     pickle_read()  -->  decode_event()  -->  batches of events  -->  trace_add_event()
 *     first thread                             ring                    second thread
 */
struct event_stream;
struct event_stream *stream_begin(const struct snapshot *s, bool has_threads, struct pickle_events *events);

/* Waits for the second thread. Sets `failed` of the events if not all of them were added. */
void stream_end(struct event_stream *stream);

/* Whether all lists of events are items of "device_traces" of the root, and in their order. */
bool stream_matches(struct event_stream *stream, object_t root);

/* The traces of these lists, one after the other. */
struct snapshot_trace *stream_next_trace(struct event_stream *stream);

/* Frees the traces, with all memory of the arenas since stream_begin(). */
void stream_drop_traces(struct event_stream *stream);
void stream_free(struct event_stream *stream);

/* The frame and operator of a list of frames, by the container. */
enum sutra_status snapshot_describe_frames(struct snapshot *s, uint32_t list, uint32_t *frame, uint32_t *operator_name,
                                           struct sutra_error *error);

/* The stack of an allocation: "outermost;...;innermost", each "file:line:function". `arg` is the snapshot. */
enum sutra_status snapshot_name_stack(void *arg, uint32_t alloc, uint32_t *name, struct sutra_error *error);

/* Fill steps, runs of freed segments, and out-of-memory events of a device. */
enum sutra_status snapshot_find_steps(struct snapshot *s, object_t annotations, int64_t number_of_device,
                                      struct memory_device *device, struct sutra_error *error);
enum sutra_status snapshot_find_runs(struct snapshot *s, struct memory_device *device, struct sutra_error *error);
enum sutra_status snapshot_find_ooms(struct snapshot *s, struct memory_device *device, struct sutra_error *error);

#endif
