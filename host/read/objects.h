/*
 * objects.h - the values of a pickle or a JSON text, in columns.
 */
#ifndef READ_OBJECTS_H
#define READ_OBJECTS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "columns/strings.h"
#include "read/source.h"

/*
 * No allocation per value, equal strings stored once.
 *
 *     object_t      64 bits: type in the low four, payload above (small integer, string id, container number)
 *     containers    first item, number of items; dicts also their shape
 *     items         elements of lists and tuples, values of dicts, one container after the other
 *     shapes        distinct sequences of dict keys; position of each known key (enum word), so that a lookup is O(1)
 *     shared lists  short lists with equal items share them: most stacks of a snapshot recur
 *
 *     [{"addr": 1, "size": 2}, {"addr": 3, "size": 4}]
 *         shape 0: addr size     items: 1 2 | 3 4 | dict 0, dict 1
 *
 * One thread at a time. Reading never recurses. Memory: 8 bytes per value, 20 per container.
 */

typedef uint64_t object_t;

enum object_type {
    OBJECT_ABSENT, /* not a value: dict_get() found no such key */
    OBJECT_NONE,
    OBJECT_BOOL,
    OBJECT_INTEGER, /* of 60 bits */
    OBJECT_WIDE,    /* of up to 128 bits */
    OBJECT_REAL,
    OBJECT_STRING,
    OBJECT_LIST,
    OBJECT_TUPLE,
    OBJECT_DICT,
    OBJECT_EVENT, /* on the stack of pickle_read(): an event that was delivered */
};

/* X(identifier, text): strings that memory snapshots and dumps of the flight recorder contain. The id of each is its
 * number in enum word. */
#define OBJECT_WORDS(X)                                                                                                \
    X(ACTION, "action")                                                                                                \
    X(ADDR, "addr")                                                                                                    \
    X(ADDRESS, "address")                                                                                              \
    X(ALLOCATOR_SETTINGS, "allocator_settings")                                                                        \
    X(BLOCKS, "blocks")                                                                                                \
    X(CATEGORY, "category")                                                                                            \
    X(COLLECTIVE_SEQ_ID, "collective_seq_id")                                                                          \
    X(DESC, "desc")                                                                                                    \
    X(DEVICE, "device")                                                                                                \
    X(DEVICE_FREE, "device_free")                                                                                      \
    X(DEVICE_TRACES, "device_traces")                                                                                  \
    X(ENTRIES, "entries")                                                                                              \
    X(EXTERNAL_ANNOTATIONS, "external_annotations")                                                                    \
    X(FILENAME, "filename")                                                                                            \
    X(FRAMES, "frames")                                                                                                \
    X(HISTORY, "history")                                                                                              \
    X(INPUT_DTYPES, "input_dtypes")                                                                                    \
    X(INPUT_SIZES, "input_sizes")                                                                                      \
    X(IS_P2P, "is_p2p")                                                                                                \
    X(LINE, "line")                                                                                                    \
    X(NAME, "name")                                                                                                    \
    X(OUTPUT_DTYPES, "output_dtypes")                                                                                  \
    X(OUTPUT_SIZES, "output_sizes")                                                                                    \
    X(P2P_SEQ_ID, "p2p_seq_id")                                                                                        \
    X(PG_CONFIG, "pg_config")                                                                                          \
    X(PG_ID, "pg_id")                                                                                                  \
    X(PG_NAME, "pg_name")                                                                                              \
    X(PROCESS_GROUP, "process_group")                                                                                  \
    X(PROFILING_NAME, "profiling_name")                                                                                \
    X(RANKS, "ranks")                                                                                                  \
    X(REAL_SIZE, "real_size")                                                                                          \
    X(RECORD_ID, "record_id")                                                                                          \
    X(REQUESTED_SIZE, "requested_size")                                                                                \
    X(RETIRED, "retired")                                                                                              \
    X(SEGMENT_POOL_ID, "segment_pool_id")                                                                              \
    X(SEGMENT_TYPE, "segment_type")                                                                                    \
    X(SEGMENTS, "segments")                                                                                            \
    X(SEQ_ID, "seq_id")                                                                                                \
    X(SIZE, "size")                                                                                                    \
    X(STAGE, "stage")                                                                                                  \
    X(STATE, "state")                                                                                                  \
    X(STREAM, "stream")                                                                                                \
    X(TIME_CREATED_NS, "time_created_ns")                                                                              \
    X(TIME_DISCOVERED_STARTED_NS, "time_discovered_started_ns")                                                        \
    X(TIME_US, "time_us")                                                                                              \
    X(TIMEOUT_MS, "timeout_ms")                                                                                        \
    X(TOTAL_SIZE, "total_size")                                                                                        \
    X(VERSION, "version")                                                                                              \
    X(N_KEYS, "") /* keys above, values below */                                                                       \
    X(ACTIVE_ALLOCATED, "active_allocated")                                                                            \
    X(ALLOC, "alloc")                                                                                                  \
    X(COMPLETED, "completed")                                                                                          \
    X(END, "END")                                                                                                      \
    X(FREE_COMPLETED, "free_completed")                                                                                \
    X(FREE_REQUESTED, "free_requested")                                                                                \
    X(INACTIVE, "inactive")                                                                                            \
    X(OOM, "oom")                                                                                                      \
    X(SEGMENT_ALLOC, "segment_alloc")                                                                                  \
    X(SEGMENT_FREE, "segment_free")                                                                                    \
    X(SEGMENT_MAP, "segment_map")                                                                                      \
    X(SEGMENT_UNMAP, "segment_unmap")                                                                                  \
    X(START, "START")                                                                                                  \
    X(STARTED, "started")

#define X(name, text) WORD_##name,
enum word { OBJECT_WORDS(X) N_WORDS };
#undef X

#define CONTAINER_NONE UINT32_MAX

struct container {
    uint64_t first; /* item */
    uint32_t n;
    uint32_t shape; /* of dicts, or SHAPE_PAIRS; of lists the capacity, or LIST_SHARED and the shared list */
};

#define LIST_SHARED ((uint32_t)1 << 31)
#define LIST_EVENTS (UINT32_MAX - 1) /* of a list without items: pickle_read() delivered them as events */

/* Items that any number of short lists have in common; they never change. */
struct shared_list {
    uint64_t first, at; /* item; offset of the opcodes that push the items, in a pickle */
    uint32_t n, length; /* items; bytes of these opcodes with APPENDS, or 0: the pickle contains no such bytes */
    uint32_t container; /* the first list with these items */
    uint32_t next;      /* the shared list that was read after this one the last time */
};

/* While a dict grows by parts, its items are keys and values in turn. objects_finish() gives it a shape. */
#define SHAPE_PAIRS UINT32_MAX

struct dict_shape {
    uint64_t first; /* key in shape_keys */
    uint32_t n;
    uint32_t position[WORD_N_KEYS]; /* of the last value with this key, plus 1; 0: absent */
};

struct wide_value {
    uint64_t low, high; /* an integer in two's complement, or the bits of a double in `low` */
};

#define RECENT_SHAPES 64

struct objects {
    struct strings strings;
    object_t *items, *shape_keys;
    struct container *containers;
    struct dict_shape *shapes;
    uint32_t *shape_slots; /* number + 1, or 0 */
    struct shared_list *shared_lists;
    uint64_t *list_slots; /* of shared lists: upper half of the hash, and number + 1, or 0 */
    struct wide_value *wide;
    uint64_t n_items, items_capacity, n_shape_keys, shape_keys_capacity, n_wide, wide_capacity;
    uint32_t n_containers, containers_capacity, n_shapes, shapes_capacity, n_shape_slots;
    uint64_t n_list_slots, n_shared_lists, shared_lists_capacity;
    uint32_t recent[RECENT_SHAPES]; /* shapes by a hash of length, first and last key */
    unsigned shape_turn;
    bool has_pairs, has_unshared; /* a list that shared its items has grown */
};

/* All return false, or OBJECT_ABSENT, when memory runs out. objects_free() is due in any case. */
bool objects_init(struct objects *objects);
/* Removes all values; the memory is used again for the next ones. */
bool objects_clear(struct objects *objects);
void objects_free(struct objects *objects);

object_t objects_wide(struct objects *objects, enum object_type type, uint64_t low, uint64_t high);

/* A new list, tuple or dict; items of a dict are keys and values in turn. */
object_t objects_list(struct objects *objects, enum object_type type, const object_t *items, size_t n);

object_t objects_dict(struct objects *objects, const object_t *pairs, size_t n_pairs);

/* For readers: */

/* Bytes that are not UTF-8 become U+FFFD, as Python's errors="replace" does. */
object_t objects_string(struct objects *objects, const char *bytes, size_t n);

/* A new container with room for n items; its number, or CONTAINER_NONE. */
uint32_t objects_container(struct objects *objects, size_t n);

/* Makes room for n more items. */
bool objects_reserve(struct objects *objects, size_t n);

/* The shape of a dict with these keys, new if none has them; SHAPE_PAIRS: out of memory. */
uint32_t objects_shape(struct objects *objects, const object_t *pairs, size_t n);

/* Add to a list or a dict: amortized O(n). */
bool objects_extend(struct objects *objects, object_t list, const object_t *items, size_t n);
bool objects_update(struct objects *objects, object_t dict, const object_t *pairs, size_t n_pairs);

/* Gives shapes to dicts that grew by parts; due once after reading, before dict_get(). */
bool objects_finish(struct objects *objects);

/* Reads JSON. SUTRA_DATA: malformed, with byte and line. Integers beyond 128 bits become about 2^127, reals
 * become text. */
enum sutra_status objects_read_json(struct objects *objects, const struct source *source, object_t *root,
                                    struct sutra_error *error);

static inline enum object_type object_type(object_t object) {
    return (enum object_type)(object & 15);
}

static inline uint64_t object_payload(object_t object) {
    return object >> 4;
}

static inline object_t object_make(enum object_type type, uint64_t payload) {
    return payload << 4 | type;
}

static inline int64_t object_small(object_t object) {
    return (int64_t)object >> 4;
}

/* An integer of 64 bits; false: anything else. */
static inline bool object_integer(const struct objects *objects, object_t object, int64_t *value) {
    if (object_type(object) == OBJECT_INTEGER) {
        *value = object_small(object);
        return true;
    }
    if (object_type(object) != OBJECT_WIDE)
        return false;
    const struct wide_value *wide = &objects->wide[object_payload(object)];
    *value = (int64_t)wide->low;
    return wide->high == (*value < 0 ? UINT64_MAX : 0);
}

static inline object_t objects_integer(struct objects *objects, int64_t value) {
    object_t small = object_make(OBJECT_INTEGER, (uint64_t)value);
    return object_small(small) == value
               ? small
               : objects_wide(objects, OBJECT_WIDE, (uint64_t)value, value < 0 ? UINT64_MAX : 0);
}

/* Type and payload together, so that objects of one kind are compared in one step. */
static inline object_t object_word(enum word word) {
    return object_make(OBJECT_STRING, word);
}

static inline const struct container *container_of(const struct objects *objects, object_t object) {
    return &objects->containers[object_payload(object)];
}

static inline const object_t *items_of(const struct objects *objects, object_t object) {
    return objects->items + container_of(objects, object)->first;
}

/* Sets the items of an empty list to the items of a shared list. */
static inline void share_list(struct objects *objects, uint32_t number, uint64_t shared) {
    const struct shared_list *from = &objects->shared_lists[shared];
    objects->containers[number] = (struct container){from->first, from->n, LIST_SHARED | (uint32_t)shared};
}

/* The first list with the items of a short list, or its own number. The first one may have grown since. */
static inline uint32_t first_equal_list(const struct objects *objects, uint32_t list) {
    uint32_t shape = objects->containers[list].shape;
    if (!(shape & LIST_SHARED))
        return list;
    uint32_t first = objects->shared_lists[shape & ~LIST_SHARED].container;
    return objects->containers[first].shape == shape ? first : list;
}

/* The value of a known key of a dict, or OBJECT_ABSENT. */
static inline object_t dict_get(const struct objects *objects, object_t dict, enum word key) {
    const struct container *container = container_of(objects, dict);
    uint32_t position = objects->shapes[container->shape].position[key];
    return position ? objects->items[container->first + position - 1] : OBJECT_ABSENT;
}

/* ---- Pickles that contain plain data only (pickle.c) ---- */

/* Whether a file may be a pickle of protocol 2 or later. */
static inline bool is_pickle(const char *bytes, size_t size) {
    return size > 0 && (unsigned char)bytes[0] == 0x80;
}

/*
 * Receives the events of a memory snapshot, while the pickle is read: dicts with the key "action" that are items of a
 * list. They become no objects, unless the loop for dicts cannot read them. A list of events has a number of
 * items, but no items (LIST_EVENTS).
 *
 * add() receives an event as values and their positions by key, as in struct dict_shape: the value of a key is
 * values[(position - 1) * stride]. It returns false if the event needs to be an object. Then, or if the pickle refers
 * to an event or a list of events a second time, `failed` is set, and all values are read again as objects.
 */
struct pickle_events {
    bool (*add)(void *arg, uint32_t list, const uint32_t *position, const object_t *values, size_t stride);
    void *arg;
    bool failed;
};

/* Reads a pickle of protocol 2 to 5. `events` may be NULL. *end is the offset of the byte after it. SUTRA_DATA:
 * malformed, truncated, or an opcode that is not allowed, with its byte offset; SUTRA_SYSTEM: out of memory.
 * O(size). */
enum sutra_status pickle_read(struct objects *objects, const struct source *source, struct pickle_events *events,
                              object_t *root, size_t *end, struct sutra_error *error);

#endif
