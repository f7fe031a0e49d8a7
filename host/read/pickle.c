/*
 * pickle.c - reads pickles (objects.h).
 *
 * A pickle is a program for a stack machine. This reader knows the opcodes that build lists, tuples, dicts, strings
 * and numbers, and refuses all others by name: nothing of a pickle is executed, imported or called.
 *
 *     input    PROTO 4 | EMPTY_DICT | MEMOIZE | MARK | SHORT_BINUNICODE "size" | BININT1 8 | SETITEMS | STOP
 *     stack    {}        {}          {} (        {} ( "size"                     {} ( "size" 8  {"size": 8}
 *
 * Each opcode is one case of one switch; containers are numbers on the stack, so nesting costs no recursion.
 * Memory is proportional to the input: each opcode adds a bounded number of values.
 */
#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/error.h"
#include "base/shared.h"
#include "columns/column.h"
#include "columns/hash_tables.h"
#include "read/objects.h"
#include "text/strings.h"

#define INTEGER_BYTES_MAX 16

/* Opcodes that run code, or that belong to types which memory snapshots do not contain. */
static const char *const refused[256] = {
    ['c'] = "GLOBAL",      [0x93] = "STACK_GLOBAL", ['R'] = "REDUCE",
    ['b'] = "BUILD",       ['i'] = "INST",          ['o'] = "OBJ",
    [0x81] = "NEWOBJ",     [0x92] = "NEWOBJ_EX",    [0x82] = "EXT1",
    [0x83] = "EXT2",       [0x84] = "EXT4",         ['P'] = "PERSID",
    ['Q'] = "BINPERSID",   [0x97] = "NEXT_BUFFER",  [0x98] = "READONLY_BUFFER",
    [0x96] = "BYTEARRAY8", [0x8f] = "EMPTY_SET",    [0x90] = "ADDITEMS",
    [0x91] = "FROZENSET",  ['0'] = "POP",           ['1'] = "POP_MARK",
    ['2'] = "DUP",         ['F'] = "FLOAT",         ['I'] = "INT",
    ['L'] = "LONG",        ['S'] = "STRING",        ['V'] = "UNICODE",
    ['p'] = "PUT",         ['g'] = "GET",
};

/*
 * The lists of frames of a snapshot repeat in the same order, step by step. So these lists are expected: the list that
 * followed the last two lists the last time, the list that followed the last one, and the last list that began with the
 * same opcodes. If the opcodes of one of them are the next bytes of the pickle, and no entry of the memo has changed,
 * then its items are the same, and the opcodes are skipped.
 */
#define N_EXPECTED     8192
#define PREFIX_LONG    96 /* bytes of the first opcodes */
#define PREFIX_SHORT   32
#define PREFETCH_BYTES 2048 /* the CPU does not read ahead across pages */

struct list_history {
    uint64_t begin, end;           /* the opcodes that push the items of the list that is read */
    uint32_t last, before_last;    /* shared lists */
    uint32_t expected[N_EXPECTED]; /* shared list, by a hash of the last two */
    uint32_t latest[N_EXPECTED];   /* shared list, by hashes of its first opcodes: the last one that was read */
};

struct machine {
    object_t *stack;
    uint32_t *memo;  /* codes of strings and containers; 0: not set */
    uint64_t *marks; /* heights of the stack */
    uint64_t n, capacity, n_marks, marks_capacity;
    uint64_t n_memo, memo_end, memo_capacity; /* entries that are set; slots after memo_end are not set */
    struct pair_table sparse;                 /* other values, and indices far beyond the number of entries: */
    object_t *sparse_values;                  /* position in sparse_values */
    uint64_t n_sparse, sparse_capacity;
    bool is_overwritten; /* an entry of the memo has changed */
    bool aliases;        /* an expected list becomes another name of the list with the same items */
    bool has_aliases;
    uint32_t dict_shape; /* of the last dict that read_dict() read */
    struct list_history lists;

    struct pickle_events *events;      /* or NULL */
    uint32_t event_list;               /* the last list of events */
    uint64_t event_marks, n_delivered; /* marks while a list of events is read; height of its delivered items */
    bool restarts;                     /* the values are to be read again, without events */
};

/* Indices that the column `memo` has room for: pickles number their entries without gaps. */
#define DENSE_MEMO(n_entries) (2 * (n_entries) + 1024)

static bool enlarge(void *column, uint64_t *capacity, uint64_t wanted) {
    wanted = MAX(wanted, 2 * *capacity);
    wanted = MAX(wanted, 1024);
    if (!column_resize(column, wanted, sizeof(uint64_t)))
        return false;
    *capacity = wanted;
    return true;
}

/* A string or a container as 32 bits: payload and type, plus 1. 0: another type, or a large number. */
static inline uint32_t memo_code(object_t value) {
    uint32_t type = (uint32_t)object_type(value) - OBJECT_STRING;
    return type < 4 && object_payload(value) < UINT32_MAX >> 2 ? (uint32_t)(object_payload(value) << 2 | type) + 1 : 0;
}

static object_t recall_sparse(const struct machine *machine, uint64_t slot) {
    uint32_t number = machine->n_sparse ? pair_table_find(&machine->sparse, slot, 0) : PAIR_NONE;
    return number == PAIR_NONE ? OBJECT_ABSENT : machine->sparse_values[number];
}

/* The value of a memo entry, or OBJECT_ABSENT. */
static inline object_t recall(const struct machine *machine, uint64_t slot) {
    uint32_t code = slot < machine->memo_end ? machine->memo[slot] : 0;
    if (!code)
        return recall_sparse(machine, slot);
    return object_make(OBJECT_STRING + ((code - 1) & 3), (code - 1) >> 2);
}

static bool store_sparse(struct machine *machine, uint64_t slot, object_t value) {
    if (!machine->sparse.entries && !pair_table_init(&machine->sparse))
        return false;
    struct pair_entry *entry = pair_table_insert(&machine->sparse, slot, 0);
    if (!entry)
        return false;
    if (entry->number == PAIR_NONE) {
        if (machine->n_sparse == machine->sparse_capacity &&
            !enlarge(&machine->sparse_values, &machine->sparse_capacity, machine->n_sparse + 1))
            return false;
        entry->number = (uint32_t)machine->n_sparse++;
    }
    machine->sparse_values[entry->number] = value;
    return true;
}

/* Sets a memo entry that is counted already. */
static bool store(struct machine *m, uint64_t slot, object_t value) {
    uint32_t code = memo_code(value);
    if (slot >= m->memo_end) {
        if (!code || slot >= DENSE_MEMO(m->n_memo))
            return store_sparse(m, slot, value);
        if (slot >= m->memo_capacity) {
            uint64_t capacity = MAX(slot + 1, 2 * m->memo_capacity);
            if (!column_resize(&m->memo, capacity, sizeof *m->memo))
                return false;
            m->memo_capacity = capacity;
        }
        memset(m->memo + m->memo_end, 0, (slot - m->memo_end) * sizeof *m->memo);
        m->memo_end = slot + 1;
    }
    m->memo[slot] = code;
    return code || store_sparse(m, slot, value);
}

static bool memoize(struct machine *machine, uint64_t slot, object_t value) {
    bool is_set = recall(machine, slot) != OBJECT_ABSENT;
    machine->is_overwritten |= is_set;
    machine->n_memo += !is_set;
    return store(machine, slot, value);
}

static inline uint32_t *expected_list(struct list_history *lists) {
    return &lists->expected[(lists->last * 31 ^ lists->before_last) % N_EXPECTED];
}

/* The last list that began with the `prefix` bytes at `at`. */
static inline uint32_t *latest_list(struct list_history *lists, const struct source *source, size_t at, size_t prefix) {
    return &lists->latest[hash_bytes(source->bytes + at, MIN(prefix, source->size - at), 0) % N_EXPECTED];
}

/* A list with these items follows the last one. */
static inline void note_list(struct list_history *lists, struct objects *objects, uint32_t shared) {
    *expected_list(lists) = shared;
    objects->shared_lists[lists->last].next = shared;
    lists->before_last = lists->last;
    lists->last = shared;
}

#define SHARED_NONE UINT32_MAX

/* The expected list, a shared list, whose opcodes are at `at`; or SHARED_NONE. */
static inline uint32_t match_expected(struct machine *m, struct objects *objects, const struct source *source,
                                      size_t at) {
    if (!objects->n_shared_lists || m->is_overwritten)
        return SHARED_NONE;
    __builtin_prefetch(source->bytes + at + PREFETCH_BYTES);
    uint32_t candidates[4] = {*expected_list(&m->lists), objects->shared_lists[m->lists.last].next};
    for (size_t i = 0; i < 4; i++) {
        if (i >= 2)
            candidates[i] = *latest_list(&m->lists, source, at, i == 2 ? PREFIX_LONG : PREFIX_SHORT);
        const struct shared_list *shared = &objects->shared_lists[candidates[i]];
        if (shared->length && shared->length <= source->size - at &&
            memcmp(source->bytes + at, source->bytes + shared->at, shared->length) == 0) {
            note_list(&m->lists, objects, candidates[i]);
            return candidates[i];
        }
    }
    return SHARED_NONE;
}

__attribute__((format(printf, 4, 5))) static enum sutra_status
refuse(const struct source *source, uint64_t at, struct sutra_error *error, const char *format, ...) {
    char message[256];
    va_list arguments;
    va_start(arguments, format);
    vsnprintf(message, sizeof message, format, arguments);
    va_end(arguments);
    error_file(error, SUTRA_DATA, source->name, "%s", message);
    if (error)
        error->offset = at;
    return SUTRA_DATA;
}

/* A number of n bytes, 1 to 8. Reads 8: sources have padding. */
static inline uint64_t little_endian(const unsigned char *bytes, size_t n) {
    uint64_t value;
    memcpy(&value, bytes, sizeof value);
#if __BYTE_ORDER__ == __ORDER_BIG_ENDIAN__
    value = __builtin_bswap64(value);
#endif
    return n ? value & UINT64_MAX >> (64 - 8 * n) : 0;
}

/* LONG1 and LONG4. */
static object_t read_long(struct objects *objects, const unsigned char *bytes, size_t n) {
    uint64_t sign = n && bytes[n - 1] >> 7 ? UINT64_MAX : 0;
    uint64_t low = little_endian(bytes, MIN(n, 8)), high = n > 8 ? little_endian(bytes + 8, n - 8) : sign;
    if (n < 8)
        low |= sign << 8 * n;
    else if (n > 8 && n < 16)
        high |= sign << 8 * (n - 8);
    bool fits = high == ((int64_t)low < 0 ? UINT64_MAX : 0);
    return fits ? objects_integer(objects, (int64_t)low) : objects_wide(objects, OBJECT_WIDE, low, high);
}

/* Reads an empty or an expected list of a dict; moves *at to the next opcode. OBJECT_ABSENT: another list, or out of
 * memory; nothing has changed. */
static inline object_t read_known_list(struct machine *m, struct objects *objects, const struct source *source,
                                       size_t *at) {
    const unsigned char *text = (const unsigned char *)source->bytes + *at;
    size_t length = 2;
    uint32_t shared = SHARED_NONE, number = CONTAINER_NONE;
    if (text[1] != 0x94)
        return OBJECT_ABSENT;
    if (text[2] == '(') {
        if ((text[3] != 'h' && text[3] != 'j') || (shared = match_expected(m, objects, source, *at + 3)) == SHARED_NONE)
            return OBJECT_ABSENT;
        length = 3 + objects->shared_lists[shared].length;
        number = objects->shared_lists[shared].container;
        if (!m->aliases || objects->containers[number].shape != (LIST_SHARED | shared))
            number = CONTAINER_NONE;
        else
            m->has_aliases = true;
    }
    if (number == CONTAINER_NONE) {
        if ((number = objects_container(objects, 0)) == CONTAINER_NONE)
            return OBJECT_ABSENT;
        if (shared != SHARED_NONE)
            share_list(objects, number, shared);
    }
    object_t list = object_make(OBJECT_LIST, number);
    if (!memoize(m, m->n_memo, list))
        return OBJECT_ABSENT;
    *at += length;
    return list;
}

/* Whether a list has no items yet. Nothing may refer to a list before its events are delivered. */
static inline bool is_empty_list(const struct objects *objects, object_t value) {
    return object_type(value) == OBJECT_LIST && container_of(objects, value)->n == 0;
}

/* A value of the memo, an integer or a constant; moves *at to the next opcode. OBJECT_ABSENT: another opcode. */
static inline object_t read_plain(const struct machine *m, const struct objects *objects, const unsigned char *text,
                                  size_t *at) {
    const unsigned char *bytes = text + *at;
    object_t value;
    switch (bytes[0]) {
    case 'h': /* BINGET */
        value = recall(m, bytes[1]);
        if (!value || is_empty_list(objects, value))
            return OBJECT_ABSENT;
        *at += 2;
        return value;
    case 'j': /* LONG_BINGET */
        value = recall(m, little_endian(bytes + 1, 4));
        if (!value || is_empty_list(objects, value))
            return OBJECT_ABSENT;
        *at += 5;
        return value;
    case 'K': /* BININT1 */
        *at += 2;
        return object_make(OBJECT_INTEGER, bytes[1]);
    case 'M': /* BININT2 */
        *at += 3;
        return object_make(OBJECT_INTEGER, little_endian(bytes + 1, 2));
    case 'J': /* BININT */
        *at += 5;
        return object_make(OBJECT_INTEGER, (uint64_t)(int64_t)(int32_t)(uint32_t)little_endian(bytes + 1, 4));
    case 0x8a: /* LONG1 */
        if (bytes[1] - 1u >= 7)
            return OBJECT_ABSENT;
        *at += 2u + bytes[1];
        unsigned unused = 64 - 8u * bytes[1];
        return object_make(OBJECT_INTEGER, (uint64_t)((int64_t)(little_endian(bytes + 2, 8) << unused) >> unused));
    case 'N': /* NONE */
        *at += 1;
        return OBJECT_NONE;
    case 0x88: /* NEWTRUE */
    case 0x89: /* NEWFALSE */
        *at += 1;
        return object_make(OBJECT_BOOL, bytes[0] == 0x88);
    default:
        return OBJECT_ABSENT;
    }
}

/* ---- Events ---- */

/* Whether the dicts above the last mark are items of a list of events, or may be. */
static inline bool may_deliver(const struct machine *m, const struct objects *objects) {
    if (!m->events || !m->n_marks || !m->marks[m->n_marks - 1])
        return false;
    if (m->event_marks)
        return m->event_marks == m->n_marks;
    object_t list = m->stack[m->marks[m->n_marks - 1] - 1];
    if (object_type(list) != OBJECT_LIST)
        return false;
    const struct container *container = container_of(objects, list);
    return container->shape == LIST_EVENTS ||
           (container->n == 0 && container->first < m->memo_end && m->memo[container->first] == memo_code(list));
}

/* Delivers dicts on the stack from n_delivered to `end`. False: another value, or the event needs to be an object. */
static bool deliver_dicts(struct machine *m, const struct objects *objects, uint64_t end) {
    for (; m->n_delivered < end; m->n_delivered++) {
        object_t dict = m->stack[m->n_delivered];
        if (object_type(dict) != OBJECT_DICT || container_of(objects, dict)->shape == SHAPE_PAIRS)
            return false;
        const struct container *container = container_of(objects, dict);
        const uint32_t *position = objects->shapes[container->shape].position;
        if (!position[WORD_ACTION] ||
            !m->events->add(m->events->arg, m->event_list, position, objects->items + container->first, 1))
            return false;
    }
    return true;
}

/* Delivers the dict on top of the stack, an item of the list below the last mark, and the dicts before it. */
static bool deliver(struct machine *m, struct objects *objects, const uint32_t *position, const object_t *pairs) {
    if (m->event_marks != m->n_marks) {
        m->n_delivered = m->marks[m->n_marks - 1];
        m->event_marks = m->n_marks;
        uint32_t number = (uint32_t)object_payload(m->stack[m->n_delivered - 1]);
        struct container *list = &objects->containers[number];
        if (list->shape != LIST_EVENTS) { /* no other value may contain the list */
            list->shape = LIST_EVENTS;
            m->memo[list->first] = 0;
            m->event_list = number;
        } else if (number != m->event_list) {
            return false;
        }
    }
    if (!deliver_dicts(m, objects, m->n - 1) || !m->events->add(m->events->arg, m->event_list, position, pairs + 1, 2))
        return false;
    m->stack[m->n_delivered++] = object_make(OBJECT_EVENT, 0);
    return true;
}

/* APPEND and APPENDS: whether the last n values, which are above the stack, complete items of a list of events. Sets
 * `restarts` if values are not events. */
static bool append_events(struct machine *m, struct objects *objects, uint64_t n, bool is_marked) {
    bool is_open = is_marked && m->event_marks && m->event_marks == m->n_marks + 1;
    object_t list = m->stack[m->n - 1];
    if (object_type(list) != OBJECT_LIST || container_of(objects, list)->shape != LIST_EVENTS)
        return false;
    struct container *container = &objects->containers[object_payload(list)];
    if (!is_open)
        m->n_delivered = m->n;
    m->restarts = object_payload(list) != m->event_list || (m->event_marks && !is_open) ||
                  container->n + n >= UINT32_MAX / 2 || !deliver_dicts(m, objects, m->n + n);
    container->n += (uint32_t)n;
    m->event_marks = 0;
    return true;
}

#define DICT_PAIRS 24 /* pairs that read_dict() reads; the switch reads the others */
#define PAIR_BYTES 32 /* of the opcodes of a key and a value, and 8 bytes more that little_endian() reads */

/* Reads a dict after its EMPTY_DICT, MEMOIZE and MARK in one loop: keys from the memo, plain values and expected lists.
 * Stops before any other opcode, with the stack as the switch leaves it. Moves *at to the next opcode. False: out of
 * memory. */
static bool read_dict(struct machine *m, struct objects *objects, const struct source *source, size_t *at) {
    const unsigned char *text = (const unsigned char *)source->bytes;
    uint32_t number = objects_container(objects, 0), n = 0;
    object_t dict = object_make(OBJECT_DICT, number), value;
    uint64_t slot = m->n_memo;
    bool delivers = may_deliver(m, objects) && !recall(m, slot); /* an event needs no memo entry */
    m->n_memo += delivers;
    if (number == CONTAINER_NONE || (!delivers && !memoize(m, slot, dict)) ||
        (m->capacity - m->n < 2 * DICT_PAIRS + 2 && !enlarge(&m->stack, &m->capacity, m->n + 2 * DICT_PAIRS + 2)) ||
        (m->n_marks == m->marks_capacity && !enlarge(&m->marks, &m->marks_capacity, m->n_marks + 1)))
        return false;
    m->stack[m->n++] = dict;
    object_t *pairs = m->stack + m->n;
    const object_t *keys = objects->shape_keys + objects->shapes[m->dict_shape].first;
    uint32_t n_keys = objects->shapes[m->dict_shape].n;
    bool is_expected = true, has_key = false;
    size_t next = *at;
    while (source->size - next > PAIR_BYTES) {
        if (text[next] == 'u') { /* SETITEMS */
            uint32_t shape = is_expected && n == n_keys ? m->dict_shape : objects_shape(objects, pairs, n);
            if (shape == SHAPE_PAIRS)
                return false;
            m->dict_shape = shape;
            *at = next + 1;
            if (delivers && objects->shapes[shape].position[WORD_ACTION]) {
                objects->n_containers -= number + 1 == objects->n_containers;
                m->restarts = !deliver(m, objects, objects->shapes[shape].position, pairs);
                return !m->restarts;
            }
            if (!objects_reserve(objects, n) || (delivers && !store(m, slot, dict)))
                return false;
            object_t *items = objects->items + objects->n_items;
            objects->containers[number] = (struct container){objects->n_items, n, shape};
            objects->n_items += n;
            for (uint32_t i = 0; i < n; i++)
                items[i] = pairs[2 * i + 1];
            return true;
        }
        bool is_short = text[next] == 'h'; /* BINGET, else LONG_BINGET */
        if (n == DICT_PAIRS || (!is_short && text[next] != 'j') ||
            object_type(value = recall(m, is_short ? text[next + 1] : little_endian(text + next + 1, 4))) !=
                OBJECT_STRING)
            break;
        next += is_short ? 2 : 5;
        pairs[2 * n] = value;
        is_expected = is_expected && n < n_keys && keys[n] == value;
        value = text[next] == ']' ? read_known_list(m, objects, source, &next) : read_plain(m, objects, text, &next);
        if (!value) {
            has_key = true;
            break;
        }
        pairs[2 * n++ + 1] = value;
    }
    m->marks[m->n_marks++] = m->n;
    m->n += 2 * n + has_key;
    *at = next;
    return !delivers || store(m, slot, dict);
}

static bool keys_are_valid(const object_t *pairs, size_t n) {
    for (size_t i = 0; i < n; i++) {
        enum object_type type = object_type(pairs[2 * i]);
        if (type != OBJECT_STRING && type != OBJECT_INTEGER && type != OBJECT_WIDE)
            return false;
    }
    return true;
}

static enum sutra_status run(struct machine *m, struct objects *objects, const struct source *source, object_t *root,
                             size_t *end, struct sutra_error *error) {
    const unsigned char *text = (const unsigned char *)source->bytes;
    size_t size = source->size, at = 0;
    if (size < 2 || text[0] != 0x80 || text[1] < 2 || text[1] > 5)
        return error_file(error, SUTRA_DATA, source->name, "not a pickle of protocol 2 to 5");

/* The stack above the last mark has at least n values. */
#define NEED_VALUES(count)                                                                                             \
    if (m->n < (m->n_marks ? m->marks[m->n_marks - 1] : 0) + (count))                                                  \
    return refuse(source, at, error, "pickle stack underflow")
#define NEED_BYTES(count)                                                                                              \
    if (size - next < (count))                                                                                         \
    return refuse(source, at, error, "truncated pickle")
#define RESTART                                                                                                        \
    do {                                                                                                               \
        m->restarts = true;                                                                                            \
        return SUTRA_DATA;                                                                                             \
    } while (0)
#define PUSH(value)                                                                                                    \
    do {                                                                                                               \
        object_t pushed = value;                                                                                       \
        if (!pushed)                                                                                                   \
            return error_memory(error);                                                                                \
        m->stack[m->n++] = pushed;                                                                                     \
    } while (0)

    for (;;) {
        size_t next = at + 1, n = 0, first;
        object_t value;
        if (at >= size)
            return refuse(source, at, error, "truncated pickle");
        if (m->n == m->capacity && !enlarge(&m->stack, &m->capacity, m->n + 1))
            return error_memory(error);
        unsigned char opcode = text[at];
        switch (opcode) {
        case 0x80: /* PROTO */
            NEED_BYTES(1);
            if (text[next] > 5)
                return refuse(source, at, error, "pickle protocol %u is unknown (supported: 2 to 5)", text[next]);
            next++;
            break;
        case 0x95: /* FRAME */
            NEED_BYTES(8);
            next += 8;
            break;
        case '}': /* EMPTY_DICT */
            if (text[next] == 0x94 && text[next + 1] == '(' && size - next > 2) {
                next += 2;
                if (!read_dict(m, objects, source, &next)) {
                    if (m->restarts)
                        return SUTRA_DATA;
                    return error_memory(error);
                }
                break;
            }
            __attribute__((fallthrough));
        case ']': /* EMPTY_LIST, most often with MEMOIZE */
            value = opcode == '}' ? objects_dict(objects, NULL, 0) : objects_list(objects, OBJECT_LIST, NULL, 0);
            PUSH(value);
            if (next < size && text[next] == 0x94) {
                next++;
                objects->containers[object_payload(value)].first = m->n_memo; /* for may_deliver(), while it is empty */
                TRY_ALLOC(memoize(m, m->n_memo, value), error);
            }
            break;
        case ')': /* EMPTY_TUPLE */
            PUSH(objects_list(objects, OBJECT_TUPLE, NULL, 0));
            break;
        case '(': /* MARK */
            if (m->n_marks == m->marks_capacity && !enlarge(&m->marks, &m->marks_capacity, m->n_marks + 1))
                return error_memory(error);
            if ((text[next] == 'h' || text[next] == 'j') && m->n) {
                value = m->stack[m->n - 1];
                uint32_t shared =
                    is_empty_list(objects, value) ? match_expected(m, objects, source, next) : SHARED_NONE;
                if (shared != SHARED_NONE) {
                    share_list(objects, (uint32_t)object_payload(value), shared);
                    next += objects->shared_lists[shared].length;
                    break;
                }
                m->lists.begin = next;
            }
            m->marks[m->n_marks++] = m->n;
            break;

        case 'r': /* LONG_BINPUT */
            n = 3;
            __attribute__((fallthrough));
        case 'q': /* BINPUT */
            n++;
            NEED_BYTES(n);
            first = little_endian(text + next, n);
            next += n;
            if (m->n == 0)
                return refuse(source, at, error, "pickle stack underflow");
            if (m->event_list != CONTAINER_NONE && /* entries of events are not set */
                (first < m->n_memo || object_type(m->stack[m->n - 1]) == OBJECT_EVENT))
                RESTART;
            TRY_ALLOC(memoize(m, first, m->stack[m->n - 1]), error);
            break;
        case 0x94: /* MEMOIZE */
            if (m->n == 0)
                return refuse(source, at, error, "pickle stack underflow");
            if (object_type(m->stack[m->n - 1]) == OBJECT_EVENT)
                RESTART;
            TRY_ALLOC(memoize(m, m->n_memo, m->stack[m->n - 1]), error);
            break;
        case 'j': /* LONG_BINGET */
        case 'h': /* BINGET: with LONG_BINGET most opcodes of a snapshot, many in a row or before an integer */
            NEED_BYTES(opcode == 'j' ? 4u : 1u);
            object_t *to = m->stack + m->n, *stack_end = m->stack + m->capacity;
            next = at;
            do {
                if (opcode == 'h' || opcode == 'j') {
                    size_t length = 2;
                    first = text[next + 1];
                    if (opcode == 'j') { /* a branch, so that the next opcode does not wait for this one */
                        first = little_endian(text + next + 1, 4);
                        length = 5;
                    }
                    object_t known = recall(m, first);
                    if (m->events && (known ? is_empty_list(objects, known) : m->event_list != CONTAINER_NONE))
                        RESTART; /* without a value, it may be an event */
                    if (!known)
                        return refuse(source, next, error, "pickle memo %zu is not set", first);
                    *to++ = known;
                    next += length;
                } else if (opcode == 0x8a && text[next + 1] - 1u < 7) { /* LONG1 */
                    unsigned unused = 64 - 8u * text[next + 1];
                    *to++ = object_make(OBJECT_INTEGER,
                                        (uint64_t)((int64_t)(little_endian(text + next + 2, 8) << unused) >> unused));
                    next += 2u + text[next + 1];
                } else if (opcode == 'K') { /* BININT1 */
                    *to++ = object_make(OBJECT_INTEGER, text[next + 1]);
                    next += 2;
                } else if (opcode == 'J') { /* BININT */
                    *to++ = object_make(OBJECT_INTEGER, (uint64_t)(int32_t)little_endian(text + next + 1, 4));
                    next += 5;
                } else {
                    break;
                }
                opcode = text[next];
            } while (to < stack_end && size - next >= 9);
            m->n = (uint64_t)(to - m->stack);
            if (m->lists.begin == at)
                m->lists.end = next;
            break;

        case 0x8d: /* BINUNICODE8 */
        case 0x8e: /* BINBYTES8 */
            n = 4;
            __attribute__((fallthrough));
        case 'X': /* BINUNICODE */
        case 'B': /* BINBYTES */
        case 'T': /* BINSTRING */
            n += 3;
            __attribute__((fallthrough));
        case 0x8c: /* SHORT_BINUNICODE */
        case 'C':  /* SHORT_BINBYTES */
        case 'U':  /* SHORT_BINSTRING */
            n++;
            NEED_BYTES(n);
            first = next + n;
            n = little_endian(text + next, n);
            next = first;
            NEED_BYTES(n);
            next += n;
            PUSH(objects_string(objects, source->bytes + first, n));
            break;

        case 'K': /* BININT1 */
            NEED_BYTES(1);
            m->stack[m->n++] = object_make(OBJECT_INTEGER, text[next++]);
            break;
        case 'M': /* BININT2 */
            NEED_BYTES(2);
            m->stack[m->n++] = object_make(OBJECT_INTEGER, little_endian(text + next, 2));
            next += 2;
            break;
        case 'J': /* BININT */
            NEED_BYTES(4);
            m->stack[m->n++] =
                object_make(OBJECT_INTEGER, (uint64_t)(int64_t)(int32_t)(uint32_t)little_endian(text + next, 4));
            next += 4;
            break;
        case 0x8b: /* LONG4 */
            n = 3;
            __attribute__((fallthrough));
        case 0x8a: /* LONG1 */
            n++;
            NEED_BYTES(n);
            first = next + n;
            n = little_endian(text + next, n);
            next = first;
            if (n > INTEGER_BYTES_MAX)
                return refuse(source, at, error, "pickle integer of %zu bytes is too long (maximum: %d)", n,
                              INTEGER_BYTES_MAX);
            NEED_BYTES(n);
            next += n;
            PUSH(read_long(objects, text + first, n));
            break;
        case 'G': /* BINFLOAT */
            NEED_BYTES(8);
            PUSH(objects_wide(objects, OBJECT_REAL, __builtin_bswap64(little_endian(text + next, 8)), 0));
            next += 8;
            break;
        case 'N': /* NONE */
            m->stack[m->n++] = OBJECT_NONE;
            break;
        case 0x88: /* NEWTRUE */
        case 0x89: /* NEWFALSE */
            m->stack[m->n++] = object_make(OBJECT_BOOL, opcode == 0x88);
            break;

        case 0x85: /* TUPLE1 */
        case 0x86: /* TUPLE2 */
        case 0x87: /* TUPLE3 */
            n = opcode - 0x84u;
            NEED_VALUES(n);
            m->n -= n;
            if (m->event_marks && m->n < m->n_delivered)
                RESTART;
            PUSH(objects_list(objects, OBJECT_TUPLE, m->stack + m->n, n));
            break;
        case 'a': /* APPEND */
            NEED_VALUES(1);
            value = m->stack[--m->n];
            if (m->event_marks && m->n < m->n_delivered)
                RESTART;
            if (m->n && append_events(m, objects, 1, false)) {
                if (m->restarts)
                    return SUTRA_DATA;
                break;
            }
            if (m->n == 0 || object_type(m->stack[m->n - 1]) != OBJECT_LIST)
                return refuse(source, at, error, "pickle: APPEND without a list");
            TRY_ALLOC(objects_extend(objects, m->stack[m->n - 1], &value, 1), error);
            break;
        case 's': /* SETITEM */
            NEED_VALUES(2);
            m->n -= 2;
            if (m->event_marks && m->n <= m->n_delivered)
                RESTART;
            if (!keys_are_valid(m->stack + m->n, 1))
                return refuse(source, at, error, "pickle: dict key is neither text nor integer");
            if (m->n == 0 || object_type(m->stack[m->n - 1]) != OBJECT_DICT)
                return refuse(source, at, error, "pickle: SETITEM without a dict");
            TRY_ALLOC(objects_update(objects, m->stack[m->n - 1], m->stack + m->n, 1), error);
            break;

        case 't': /* TUPLE */
        case 'l': /* LIST */
        case 'd': /* DICT */
        case 'e': /* APPENDS */
        case 'u': /* SETITEMS */
            if (m->n_marks == 0 || m->marks[m->n_marks - 1] > m->n)
                return refuse(source, at, error, "pickle stack underflow");
            first = m->marks[--m->n_marks];
            n = m->n - first;
            m->n = first;
            if (opcode == 'e' && first && append_events(m, objects, n, true)) {
                if (m->restarts)
                    return SUTRA_DATA;
                break;
            }
            if (m->event_marks && (m->event_marks > m->n_marks || m->n <= m->n_delivered))
                RESTART;
            if ((opcode == 'd' || opcode == 'u') && n % 2)
                return refuse(source, at, error, "pickle: odd number of dict items");
            if ((opcode == 'd' || opcode == 'u') && !keys_are_valid(m->stack + first, n / 2))
                return refuse(source, at, error, "pickle: dict key is neither text nor integer");
            if (opcode == 't' || opcode == 'l') {
                value = objects_list(objects, opcode == 't' ? OBJECT_TUPLE : OBJECT_LIST, m->stack + first, n);
            } else if (opcode == 'd') {
                value = objects_dict(objects, m->stack + first, n / 2);
            } else {
                if (first == 0 || object_type(m->stack[first - 1]) != (opcode == 'e' ? OBJECT_LIST : OBJECT_DICT))
                    return refuse(source, at, error, "pickle: %s",
                                  opcode == 'e' ? "APPENDS without a list" : "SETITEMS without a dict");
                value = m->stack[--m->n];
                TRY_ALLOC(opcode == 'e' ? objects_extend(objects, value, m->stack + first, n)
                                        : objects_update(objects, value, m->stack + first, n / 2),
                          error);
                uint32_t shape = opcode == 'e' ? container_of(objects, value)->shape : 0;
                if (shape & LIST_SHARED) {
                    struct shared_list *shared = &objects->shared_lists[shape & ~LIST_SHARED];
                    if (!shared->length && m->lists.end == at && next - m->lists.begin < UINT32_MAX) {
                        shared->at = m->lists.begin;
                        shared->length = (uint32_t)(next - m->lists.begin);
                    }
                    if (shared->length) {
                        *latest_list(&m->lists, source, shared->at, PREFIX_LONG) = shape & ~LIST_SHARED;
                        *latest_list(&m->lists, source, shared->at, PREFIX_SHORT) = shape & ~LIST_SHARED;
                    }
                    note_list(&m->lists, objects, shape & ~LIST_SHARED);
                }
            }
            if (!value || (m->n == m->capacity && !enlarge(&m->stack, &m->capacity, m->n + 1)))
                return error_memory(error);
            m->stack[m->n++] = value;
            break;
        case '.': /* STOP */
            if (m->n != 1 || m->n_marks)
                return refuse(source, at, error, "pickle: STOP with %" PRIu64 " values on the stack", m->n);
            *root = m->stack[0];
            *end = next;
            return objects_finish(objects) ? SUTRA_OK : error_memory(error);
        default:
            return refused[opcode] ? refuse(source, at, error, "pickle opcode %s is not allowed", refused[opcode])
                                   : refuse(source, at, error, "unknown pickle opcode 0x%02x", opcode);
        }
        at = next;
    }
}

enum sutra_status pickle_read(struct objects *objects, const struct source *source, struct pickle_events *events,
                              object_t *root, size_t *end, struct sutra_error *error) {
    for (bool is_first = true;; is_first = false) {
        struct machine machine = {
            .aliases = is_first, .events = is_first ? events : NULL, .event_list = CONTAINER_NONE};
        enum sutra_status status = run(&machine, objects, source, root, end, error);
        free(machine.stack);
        free(machine.marks);
        free(machine.memo);
        free(machine.sparse_values);
        pair_table_free(&machine.sparse);
        /* A list has grown that may have other names, or a dict after it was delivered. */
        bool has_changed = !status && ((machine.has_aliases && objects->has_unshared) ||
                                       (machine.event_list != CONTAINER_NONE && objects->has_pairs));
        if (!machine.restarts && !has_changed)
            return status;
        if (events)
            events->failed = true;
        objects_free(objects);
        TRY_ALLOC(objects_init(objects), error);
    }
}
