/*
 * pickle.c - implements pickle.h.
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
#include "read/pickle.h"

#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/error.h"
#include "columns/column.h"
#include "columns/pair_table.h"

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

struct machine {
    object_t *stack, *memo;
    uint64_t *marks; /* heights of the stack */
    uint64_t n, capacity, n_marks, marks_capacity;
    uint64_t n_memo, memo_capacity; /* entries that are set, and slots, zeros where not set */
    struct pair_table sparse;       /* of indices far beyond the number of entries: position in sparse_values */
    object_t *sparse_values;
    uint64_t n_sparse, sparse_capacity;
};

/* Indices that the column `memo` has room for: pickles number their entries without gaps. */
#define DENSE_MEMO(n_entries) (2 * (n_entries) + 1024)

static bool enlarge(void *column, uint64_t *capacity, uint64_t wanted) {
    wanted = wanted < 2 * *capacity ? 2 * *capacity : wanted;
    wanted = wanted < 1024 ? 1024 : wanted;
    if (!column_resize(column, wanted, sizeof(uint64_t)))
        return false;
    *capacity = wanted;
    return true;
}

static bool memoize_sparse(struct machine *machine, uint64_t slot, object_t value) {
    if (!machine->sparse.entries && !pair_table_init(&machine->sparse))
        return false;
    struct pair_entry *entry = pair_table_take(&machine->sparse, slot, 0);
    if (!entry)
        return false;
    if (entry->number == PAIR_NONE) {
        if (machine->n_sparse == machine->sparse_capacity &&
            !enlarge(&machine->sparse_values, &machine->sparse_capacity, machine->n_sparse + 1))
            return false;
        entry->number = (uint32_t)machine->n_sparse++;
        machine->n_memo++;
    }
    machine->sparse_values[entry->number] = value;
    return true;
}

static object_t recall_sparse(const struct machine *machine, uint64_t slot) {
    uint32_t number = machine->n_sparse ? pair_table_find(&machine->sparse, slot, 0) : PAIR_NONE;
    return number == PAIR_NONE ? OBJECT_ABSENT : machine->sparse_values[number];
}

static bool memoize(struct machine *machine, uint64_t slot, object_t value) {
    uint64_t capacity = machine->memo_capacity;
    if (slot >= capacity && (slot >= DENSE_MEMO(machine->n_memo) || machine->n_sparse))
        return memoize_sparse(machine, slot, value);
    if (slot >= capacity) {
        if (!enlarge(&machine->memo, &machine->memo_capacity, slot + 1))
            return false;
        memset(machine->memo + capacity, 0, (machine->memo_capacity - capacity) * sizeof(object_t));
    }
    machine->n_memo += machine->memo[slot] == OBJECT_ABSENT;
    machine->memo[slot] = value;
    return true;
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
    uint64_t low = little_endian(bytes, n < 8 ? n : 8), high = n > 8 ? little_endian(bytes + 8, n - 8) : sign;
    if (n < 8)
        low |= sign << 8 * n;
    else if (n > 8 && n < 16)
        high |= sign << 8 * (n - 8);
    bool fits = high == ((int64_t)low < 0 ? UINT64_MAX : 0);
    return fits ? objects_integer(objects, (int64_t)low) : objects_wide(objects, OBJECT_WIDE, low, high);
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
            PUSH(objects_dict(objects, NULL, 0));
            break;
        case ']': /* EMPTY_LIST */
            PUSH(objects_list(objects, OBJECT_LIST, NULL, 0));
            break;
        case ')': /* EMPTY_TUPLE */
            PUSH(objects_list(objects, OBJECT_TUPLE, NULL, 0));
            break;
        case '(': /* MARK */
            if (m->n_marks == m->marks_capacity && !enlarge(&m->marks, &m->marks_capacity, m->n_marks + 1))
                return error_memory(error);
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
            if (!memoize(m, first, m->stack[m->n - 1]))
                return error_memory(error);
            break;
        case 0x94: /* MEMOIZE */
            if (m->n == 0)
                return refuse(source, at, error, "pickle stack underflow");
            if (!memoize(m, m->n_memo, m->stack[m->n - 1]))
                return error_memory(error);
            break;
        case 'j': /* LONG_BINGET */
        case 'h': /* BINGET: with LONG_BINGET most opcodes of a snapshot, and many in a row */
            NEED_BYTES(opcode == 'j' ? 4u : 1u);
            const object_t *memo = m->memo;
            uint64_t n_memo = m->memo_capacity;
            object_t *to = m->stack + m->n, *stack_end = m->stack + m->capacity;
            do {
                first = text[at] == 'j' ? little_endian(text + at + 1, 4) : text[at + 1];
                value = first < n_memo ? memo[first] : recall_sparse(m, first);
                if (!value)
                    return refuse(source, at, error, "pickle memo %zu is not set", first);
                *to++ = value;
                at += text[at] == 'j' ? 5 : 2;
            } while (to < stack_end && at + 5 <= size && (text[at] == 'j' || text[at] == 'h'));
            m->n = (uint64_t)(to - m->stack);
            next = at;
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
            PUSH(objects_list(objects, OBJECT_TUPLE, m->stack + m->n, n));
            break;
        case 'a': /* APPEND */
            NEED_VALUES(1);
            value = m->stack[--m->n];
            if (m->n == 0 || object_type(m->stack[m->n - 1]) != OBJECT_LIST)
                return refuse(source, at, error, "pickle: APPEND without a list");
            if (!objects_extend(objects, m->stack[m->n - 1], &value, 1))
                return error_memory(error);
            break;
        case 's': /* SETITEM */
            NEED_VALUES(2);
            m->n -= 2;
            if (!keys_are_valid(m->stack + m->n, 1))
                return refuse(source, at, error, "pickle: dict key is neither text nor integer");
            if (m->n == 0 || object_type(m->stack[m->n - 1]) != OBJECT_DICT)
                return refuse(source, at, error, "pickle: SETITEM without a dict");
            if (!objects_update(objects, m->stack[m->n - 1], m->stack + m->n, 1))
                return error_memory(error);
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
                if (!(opcode == 'e' ? objects_extend(objects, value, m->stack + first, n)
                                    : objects_update(objects, value, m->stack + first, n / 2)))
                    return error_memory(error);
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

enum sutra_status pickle_read(struct objects *objects, const struct source *source, object_t *root, size_t *end,
                              struct sutra_error *error) {
    struct machine machine = {0};
    enum sutra_status status = run(&machine, objects, source, root, end, error);
    free(machine.stack);
    free(machine.marks);
    free(machine.memo);
    free(machine.sparse_values);
    pair_table_free(&machine.sparse);
    return status;
}
