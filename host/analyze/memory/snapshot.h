/*
 * snapshot.h - the state of reading one memory snapshot, for snapshot.c and snapshot_events.c.
 */
#ifndef ANALYZE_MEMORY_SNAPSHOT_H
#define ANALYZE_MEMORY_SNAPSHOT_H

#include "analyze/memory/memory.h"
#include "columns/hash_tables.h"
#include "read/pickle.h"

#define LIST_EMPTY  0 /* container without items */
#define NAMES_FREE  ((uint64_t)64 << 20)
#define TIME_US_MAX (INT64_MAX / 1000 - 1)

/* Cached names of a list of frames: name of the result plus 1; 0: not computed yet. */
struct list_facts {
    uint32_t frame, operator_name, stack;
};

struct snapshot {
    struct sutra_memory *memory;
    struct objects *objects;
    const struct source *source;
    struct arena *arena;
    uint8_t *file_flags, *name_flags; /* by string */
    uint8_t *frame_flags;             /* by container */
    struct list_facts *lists;         /* by container */
    struct pair_table frames;         /* name of (function, file, line): first = function and file, second = line */
    uint32_t *copied;                 /* result's name of a string, plus 1 */
    uint32_t before, no_frames, non_python, unknown, empty;
    int64_t total_size; /* of segments, blocks and events so far */
    struct memory_allocs allocs;
    uint32_t *alloc_list; /* container of the frames, or CONTAINER_NONE */
};

/* The events of the device that is read. */
struct snapshot_events {
    const object_t *list; /* dicts */
    uint8_t *action;      /* enum word; other text: WORD_N_KEYS, or a number from N_WORDS on */
    uint32_t n;
};

static inline bool is_list(object_t object) {
    return object_type(object) == OBJECT_LIST || object_type(object) == OBJECT_TUPLE;
}

/* An integer of 64 bits; false: anything else. */
static inline bool get_integer(const struct snapshot *s, object_t object, int64_t *value) {
    if (object_type(object) == OBJECT_INTEGER) {
        *value = object_small(object);
        return true;
    }
    if (object_type(object) != OBJECT_WIDE)
        return false;
    const struct wide_value *wide = &s->objects->wide[object_payload(object)];
    *value = (int64_t)wide->low;
    return wide->high == (*value < 0 ? UINT64_MAX : 0);
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

/* Size of an event that match_events() checked; 0: none. */
static inline int64_t size_of_event(const struct snapshot *s, const struct snapshot_events *events, uint32_t i) {
    uint64_t size = 0;
    get_unsigned(s, dict_get(s->objects, events->list[i], WORD_SIZE), &size);
    return (int64_t)size;
}

/* A size that may be added to others: check_input() checked the sum. */
static inline bool get_size(const struct snapshot *s, object_t object, int64_t *value) {
    return get_integer(s, object, value) && *value >= 0;
}

/* SUTRA_DATA, with the file. */
__attribute__((format(printf, 3, 4))) enum sutra_status
snapshot_malformed(const struct snapshot *s, struct sutra_error *error, const char *format, ...);

/* The result's name of a string of the input; STRING_NONE as memory_name(). */
static inline uint32_t snapshot_copy_name(struct snapshot *s, uint32_t string) {
    return memory_copy_name(s->memory, &s->objects->strings, string, s->copied);
}

/* The frame and operator of a list of frames, which may be absent; *list is its container. */
enum sutra_status snapshot_describe_frames(struct snapshot *s, object_t frames, uint32_t *frame,
                                           uint32_t *operator_name, uint32_t *list, struct sutra_error *error);

/* The stack of an allocation: "outermost;...;innermost", each "file:line:function". `arg` is the snapshot. */
enum sutra_status snapshot_name_stack(void *arg, uint32_t alloc, uint32_t *name, struct sutra_error *error);

/* Fill steps, runs of freed segments, and out-of-memory events of a device. */
enum sutra_status snapshot_find_steps(struct snapshot *s, object_t annotations, int64_t number_of_device,
                                      struct memory_device *device, struct sutra_error *error);
enum sutra_status snapshot_find_runs(struct snapshot *s, const struct snapshot_events *events,
                                     struct memory_device *device, struct sutra_error *error);
enum sutra_status snapshot_find_ooms(struct snapshot *s, const struct snapshot_events *events,
                                     struct memory_device *device, struct sutra_error *error);

#endif
