/*
 * snapshot.c - the devices of a CUDA memory snapshot: events, allocations, segments, steps, frames.
 *
 * Input: the values of torch.cuda.memory._dump_snapshot(): "segments" (the state at the end, with blocks), and
 * "device_traces" (events of each device: alloc, free_requested, free_completed, segment_alloc, ..., oom).
 * An event finds the allocation of its address in a hash table. Allocations without an alloc event come from frees and
 * from blocks: they were made before the recording. Reserved bytes are known at the end (the segments), so that the
 * state at the start follows from the events.
 *
 * Frames are classified once per list, and texts once per string: O(size of the input).
 */
#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "analyze/memory/memory.h"
#include "base/error.h"
#include "columns/pair_table.h"
#include "read/objects.h"
#include "read/pickle.h"

#define DEVICES_MAX    1024
#define LIST_EMPTY     0 /* container without items */
#define NAMES_PER_BYTE 64
#define NAMES_FREE     ((uint64_t)64 << 20)
#define TIME_US_MAX    (INT64_MAX / 1000 - 1)

enum frame_flag {
    FRAME_KNOWN = 1,
    FRAME_PYTHON = 2,    /* of a file name: Python source */
    FRAME_LIBRARY = 4,   /* of torch or the standard library */
    FRAME_OMITTED = 8,   /* of the interpreter or the dispatcher: not in stacks */
    FRAME_OPERATOR = 16, /* of a function name: at::_ops::NAME::call */
    FRAME_NODE = 32,     /* torch::autograd::NAME::apply */
    FRAME_EMPTY_CACHE = 64,
};

/* What is known of a list of frames. Names are those of the result, plus 1; 0: not known yet. */
struct list_facts {
    uint32_t frame, operator_name, stack;
};

struct snapshot {
    struct sutra_memory *memory;
    struct objects *objects;
    const struct source *source;
    struct arena *arena;
    uint8_t *file_flags, *name_flags; /* by string */
    struct list_facts *lists;         /* by container */
    struct pair_table frames;         /* name of (function, file, line): first = function and file, second = line */
    uint32_t *copied;                 /* result's name of a string, plus 1 */
    uint32_t before, no_frames, non_python, unknown, empty;
    struct memory_allocs allocs;
    uint32_t *alloc_list; /* container of the frames, or CONTAINER_NONE */
    uint32_t allocs_capacity;
};

/* One event of the device that is read, as columns. */
struct events {
    object_t *action, *frames;
    int64_t *size;
    uint32_t n;
};

static enum sutra_status malformed(const struct snapshot *s, struct sutra_error *error, const char *format, ...)
    __attribute__((format(printf, 3, 4)));

static enum sutra_status malformed(const struct snapshot *s, struct sutra_error *error, const char *format, ...) {
    char message[200];
    va_list arguments;
    va_start(arguments, format);
    vsnprintf(message, sizeof message, format, arguments);
    va_end(arguments);
    return error_file(error, SUTRA_DATA, s->source->name, "malformed memory snapshot: %s", message);
}

/* ---- Values ---- */

static bool is_list(object_t object) {
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

/* A size that may be added to others: sums are checked before (check_sizes()). */
static inline bool get_size(const struct snapshot *s, object_t object, int64_t *value) {
    return get_integer(s, object, value) && *value >= 0;
}

/* The result's name of a string of the input. */
static uint32_t copy_name(struct snapshot *s, uint32_t string) {
    if (!s->copied[string]) {
        const struct strings *strings = &s->objects->strings;
        uint32_t name = memory_name(s->memory, strings_text(strings, string), strings_length(strings, string));
        if (name == STRING_NONE)
            return STRING_NONE;
        s->copied[string] = name + 1;
    }
    return s->copied[string] - 1;
}

/* ---- Frames ---- */

static bool contains(const char *text, size_t n, const char *part) {
    return memmem(text, n, part, strlen(part)) != NULL;
}

static bool starts_with(const char *text, size_t n, const char *part) {
    return n >= strlen(part) && memcmp(text, part, strlen(part)) == 0;
}

/* A directory "torch/" of the path, for instance. */
static bool has_folder(const char *text, size_t n, const char *folder) {
    size_t length = strlen(folder);
    for (const char *at = text; (at = memmem(at, n - (size_t)(at - text), folder, length)); at++)
        if (at == text || at[-1] == '/')
            return true;
    return false;
}

/* ".../lib/python3.12/" that no directory of installed packages follows. */
static bool is_standard_library(const char *text, size_t n) {
    static const char begin[] = "/lib/python3";
    const char *end = text + n;
    for (const char *at = text; (at = memmem(at, (size_t)(end - at), begin, sizeof begin - 1));) {
        at += sizeof begin - 1;
        const char *slash = memchr(at, '/', (size_t)(end - at));
        if (!slash)
            return false;
        size_t rest = (size_t)(end - slash - 1);
        if (!starts_with(slash + 1, rest, "site-packages") && !starts_with(slash + 1, rest, "dist-packages"))
            return true;
    }
    return false;
}

static uint8_t classify_file(struct snapshot *s, uint32_t string) {
    static const char *const omitted[] = {"core/boxing",
                                          "/Register",
                                          "/Redispatch",
                                          "pythonrun.c",
                                          "Modules/main.c",
                                          "Objects/call.c",
                                          "Objects/methodobject.c",
                                          "pycore_ceval.h",
                                          "ceval.c",
                                          "cpython/abstract.h"};
    if (s->file_flags[string])
        return s->file_flags[string];
    const char *text = strings_text(&s->objects->strings, string);
    size_t n = strings_length(&s->objects->strings, string);
    unsigned flags = FRAME_KNOWN;
    if (starts_with(text, n, "<") || (n >= 3 && memcmp(text + n - 3, ".py", 3) == 0))
        flags |= FRAME_PYTHON;
    if (starts_with(text, n, "<") || has_folder(text, n, "torch/") || has_folder(text, n, "einops/") ||
        has_folder(text, n, "opt_einsum/") || is_standard_library(text, n))
        flags |= FRAME_LIBRARY;
    for (size_t i = 0; i < sizeof omitted / sizeof *omitted; i++)
        if (contains(text, n, omitted[i]))
            flags |= FRAME_OMITTED;
    return s->file_flags[string] = (uint8_t)flags;
}

/* The length of an identifier. */
static size_t word_length(const char *text, size_t n) {
    size_t length = 0;
    while (length < n && (text[length] == '_' || (text[length] >= '0' && text[length] <= '9') ||
                          ((text[length] | 0x20) >= 'a' && (text[length] | 0x20) <= 'z')))
        length++;
    return length;
}

/* NAME of "at::_ops::NAME::call(..." or "...::redispatch(..."; false: another name. */
static bool operator_of(const char *text, size_t n, const char **name, size_t *length) {
    static const char begin[] = "at::_ops::";
    if (!starts_with(text, n, begin))
        return false;
    *name = text + sizeof begin - 1;
    *length = word_length(*name, n - (sizeof begin - 1));
    size_t rest = n - (sizeof begin - 1) - *length;
    return *length &&
           (starts_with(*name + *length, rest, "::call(") || starts_with(*name + *length, rest, "::redispatch("));
}

/* NAME of "torch::autograd::NAME::apply(..." or "torch::autograd::generated::NAME::apply(...". */
static bool node_of(const char *text, size_t n, const char **name, size_t *length) {
    static const char begin[] = "torch::autograd::", generated[] = "generated::";
    if (!starts_with(text, n, begin))
        return false;
    *name = text + sizeof begin - 1;
    n -= sizeof begin - 1;
    if (starts_with(*name, n, generated)) {
        *name += sizeof generated - 1;
        n -= sizeof generated - 1;
    }
    *length = word_length(*name, n);
    return *length && starts_with(*name + *length, n - *length, "::apply(");
}

static uint8_t classify_name(struct snapshot *s, uint32_t string) {
    static const char *const omitted[] = {"unwind::unwind",    "CapturedTraceback::gather",
                                          "gather_with_cpp",   "_start",
                                          "__libc_start_main", "PyEval_",
                                          "PyObject_",         "PyFunction_"};
    if (s->name_flags[string])
        return s->name_flags[string];
    const char *text = strings_text(&s->objects->strings, string), *name;
    size_t n = strings_length(&s->objects->strings, string), length;
    unsigned flags = FRAME_KNOWN;
    for (size_t i = 0; i < sizeof omitted / sizeof *omitted; i++)
        if (contains(text, n, omitted[i]))
            flags |= FRAME_OMITTED;
    if (operator_of(text, n, &name, &length))
        flags |= FRAME_OPERATOR;
    if (node_of(text, n, &name, &length))
        flags |= FRAME_NODE;
    if (contains(text, n, "emptyCache") || (n == 11 && memcmp(text, "empty_cache", 11) == 0))
        flags |= FRAME_EMPTY_CACHE;
    return s->name_flags[string] = (uint8_t)flags;
}

struct frame {
    uint32_t name, file; /* strings */
    int64_t line;
    object_t line_value; /* as it is in the file */
};

/* A text of a frame; absent or None: "". */
static bool frame_text(object_t object, uint32_t *string) {
    if (object_type(object) <= OBJECT_NONE)
        *string = WORD_N_KEYS;
    else
        *string = (uint32_t)object_payload(object);
    return object_type(object) <= OBJECT_NONE || object_type(object) == OBJECT_STRING;
}

static bool read_frame(struct snapshot *s, object_t object, struct frame *frame) {
    if (object_type(object) != OBJECT_DICT)
        return false;
    frame->line = 0;
    frame->line_value = dict_get(s->objects, object, WORD_LINE);
    return frame_text(dict_get(s->objects, object, WORD_NAME), &frame->name) &&
           frame_text(dict_get(s->objects, object, WORD_FILENAME), &frame->file) &&
           (object_type(frame->line_value) <= OBJECT_NONE || get_integer(s, frame->line_value, &frame->line));
}

/* "file.py:12:function" */
static uint32_t name_frame(struct snapshot *s, const struct frame *frame) {
    struct pair_entry *entry =
        pair_table_take(&s->frames, (uint64_t)frame->name << 32 | frame->file, (uint32_t)frame->line & 0x7fffffff);
    bool is_short = frame->line >= 0 && frame->line <= 0x7fffffff;
    if (!entry)
        return STRING_NONE;
    if (is_short && entry->number != PAIR_NONE)
        return entry->number;
    const char *file = strings_text(&s->objects->strings, frame->file);
    const char *name = strings_text(&s->objects->strings, frame->name);
    size_t file_length = strings_length(&s->objects->strings, frame->file);
    size_t name_length = strings_length(&s->objects->strings, frame->name);
    const char *slash = memrchr(file, '/', file_length);
    size_t skip = slash ? (size_t)(slash + 1 - file) : 0;
    struct buffer text = {0};
    if (contains(file, file_length, "/torchinductor_"))
        buffer_append(&text, "<compiled>", 10);
    else
        buffer_append(&text, file + skip, file_length - skip);
    char line[32];
    buffer_append(&text, line, (size_t)snprintf(line, sizeof line, ":%" PRId64 ":", frame->line));
    buffer_append(&text, name, name_length);
    uint32_t number = text.failed ? STRING_NONE : memory_name(s->memory, text.bytes, text.length);
    buffer_free(&text);
    if (is_short)
        entry->number = number;
    return number;
}

/* A name of the result: prefix and text. */
static uint32_t name_with_prefix(struct snapshot *s, const char *prefix, const char *text, size_t n) {
    struct buffer buffer = {0};
    buffer_append(&buffer, prefix, strlen(prefix));
    buffer_append(&buffer, text, n);
    uint32_t name = buffer.failed ? STRING_NONE : memory_name(s->memory, buffer.bytes, buffer.length);
    buffer_free(&buffer);
    return name;
}

/* The innermost Python frame outside of torch and the standard library; else the autograd node; else the innermost
 * Python frame. */
static enum sutra_status find_user_frame(struct snapshot *s, object_t list, uint32_t *found,
                                         struct sutra_error *error) {
    const object_t *items = items_of(s->objects, list);
    uint32_t n = container_of(s->objects, list)->n;
    struct frame frame, python = {.name = STRING_NONE}, node = {.name = STRING_NONE};
    *found = s->non_python;
    for (uint32_t i = 0; i < n; i++) {
        if (!read_frame(s, items[i], &frame))
            return malformed(s, error, "a frame has no valid name, file name and line");
        uint8_t flags = classify_file(s, frame.file);
        if (node.name == STRING_NONE && classify_name(s, frame.name) & FRAME_NODE)
            node = frame;
        if (!(flags & FRAME_PYTHON))
            continue;
        if (python.name == STRING_NONE)
            python = frame;
        if (flags & FRAME_LIBRARY)
            continue;
        *found = name_frame(s, &frame);
        return *found == STRING_NONE ? memory_name_error(s->memory, error) : SUTRA_OK;
    }
    if (node.name != STRING_NONE) {
        const char *name;
        size_t length;
        node_of(strings_text(&s->objects->strings, node.name), strings_length(&s->objects->strings, node.name), &name,
                &length);
        *found = name_with_prefix(s, "<backward> ", name, length);
    } else if (python.name != STRING_NONE) {
        *found = name_frame(s, &python);
    }
    return *found == STRING_NONE ? memory_name_error(s->memory, error) : SUTRA_OK;
}

/* The outermost operator below the innermost Python frame; else the autograd node; else "". */
static enum sutra_status find_operator(struct snapshot *s, object_t list, uint32_t *found, struct sutra_error *error) {
    const object_t *items = items_of(s->objects, list);
    const struct strings *strings = &s->objects->strings;
    uint32_t n = container_of(s->objects, list)->n;
    struct frame frame;
    const char *name = NULL, *node;
    size_t length = 0, node_length;
    bool is_operator = false;
    for (uint32_t i = 0; i < n; i++) {
        if (!read_frame(s, items[i], &frame))
            return malformed(s, error, "a frame has no valid name, file name and line");
        if (classify_file(s, frame.file) & FRAME_PYTHON)
            break;
        uint8_t flags = classify_name(s, frame.name);
        if (flags & FRAME_OPERATOR)
            is_operator =
                operator_of(strings_text(strings, frame.name), strings_length(strings, frame.name), &name, &length);
        if (flags & FRAME_NODE) {
            node_of(strings_text(strings, frame.name), strings_length(strings, frame.name), &node, &node_length);
            if (!name) {
                name = node;
                length = node_length;
            }
            break;
        }
    }
    *found = name ? name_with_prefix(s, is_operator ? "aten::" : "", name, length) : s->empty;
    return *found == STRING_NONE ? memory_name_error(s->memory, error) : SUTRA_OK;
}

/* Frames of an event or block: a list, or nothing. Fills the names of both; *list is its container. */
static enum sutra_status describe_frames(struct snapshot *s, object_t frames, uint32_t *frame, uint32_t *operator_name,
                                         uint32_t *list, struct sutra_error *error) {
    *frame = s->no_frames;
    *operator_name = s->empty;
    *list = LIST_EMPTY;
    if (object_type(frames) <= OBJECT_NONE)
        return SUTRA_OK;
    if (!is_list(frames))
        return malformed(s, error, "\"frames\" is not a list");
    *list = (uint32_t)object_payload(frames);
    if (container_of(s->objects, frames)->n == 0)
        return SUTRA_OK;
    struct list_facts *facts = &s->lists[*list];
    if (!facts->frame) {
        enum sutra_status status = find_user_frame(s, frames, frame, error);
        if (!status)
            status = find_operator(s, frames, operator_name, error);
        if (status)
            return status;
        facts->frame = *frame + 1;
        facts->operator_name = *operator_name + 1;
    }
    *frame = facts->frame - 1;
    *operator_name = facts->operator_name - 1;
    return SUTRA_OK;
}

/* The line of a frame in a stack, as Python prints the value. */
static void append_line(struct snapshot *s, object_t object, struct buffer *text) {
    char number[48];
    int64_t value;
    if (get_integer(s, object, &value))
        buffer_append(text, number, (size_t)snprintf(number, sizeof number, "%" PRId64, value));
    else
        buffer_append(text, "None", 4);
}

/* "outermost;...;innermost" of the frames that viewers show, each "file:line:function". */
static uint32_t name_stack(void *arg, uint32_t alloc) {
    struct snapshot *s = arg;
    uint32_t list = s->alloc_list[alloc];
    if (list == CONTAINER_NONE)
        return s->allocs.frame[alloc];
    struct list_facts *facts = &s->lists[list];
    if (facts->stack)
        return facts->stack - 1;
    const struct container *container = &s->objects->containers[list];
    const struct strings *strings = &s->objects->strings;
    struct buffer text = {0};
    bool is_first = true;
    for (uint32_t i = container->n; i-- > 0 && text.length < NAMES_FREE;) {
        struct frame frame;
        if (!read_frame(s, s->objects->items[container->first + i], &frame))
            continue; /* inside of the innermost user frame, and never shown */
        if ((classify_file(s, frame.file) | classify_name(s, frame.name)) & FRAME_OMITTED)
            continue;
        const char *file = strings_text(strings, frame.file);
        size_t length = strings_length(strings, frame.file);
        const char *slash = memrchr(file, '/', length);
        size_t skip = slash ? (size_t)(slash + 1 - file) : 0;
        buffer_append(&text, ";", !is_first);
        buffer_append(&text, file + skip, length - skip);
        buffer_append(&text, ":", 1);
        append_line(s, frame.line_value, &text);
        buffer_append(&text, ":", 1);
        buffer_append(&text, strings_text(strings, frame.name), strings_length(strings, frame.name));
        is_first = false;
    }
    s->memory->names_are_full |= text.length >= NAMES_FREE;
    uint32_t name = text.failed || text.length >= NAMES_FREE ? STRING_NONE
                    : container->n == 0                      ? s->non_python
                                                             : memory_name(s->memory, text.bytes, text.length);
    buffer_free(&text);
    if (name != STRING_NONE)
        facts->stack = name + 1;
    return name;
}

/* ---- Checks ---- */

/* Types of the top-level lists, the number of their elements, and sizes: so many bytes that each sum fits 63 bits. */
static enum sutra_status check_input(const struct snapshot *s, object_t segments, object_t traces,
                                     struct sutra_error *error) {
    const struct objects *o = s->objects;
    uint64_t n_elements = 0;
    int64_t total = 0;
    for (uint32_t i = 0; i < container_of(o, traces)->n; i++) {
        object_t trace = items_of(o, traces)[i];
        if (!is_list(trace))
            return malformed(s, error, "\"device_traces\" contains a value that is not a list");
        n_elements += container_of(o, trace)->n;
    }
    for (uint32_t i = 0; i < container_of(o, segments)->n; i++) {
        object_t segment = items_of(o, segments)[i];
        object_t blocks = object_type(segment) == OBJECT_DICT ? dict_get(o, segment, WORD_BLOCKS) : OBJECT_ABSENT;
        if (!is_list(blocks))
            return malformed(s, error, "segment %" PRIu32 " has no list \"blocks\"", i);
        n_elements += container_of(o, blocks)->n;
    }
    if (n_elements > s->source->size)
        return error_file(error, SUTRA_DATA, s->source->name,
                          "repeated lists: more events and blocks than bytes in the file");
    if (n_elements >= EVENT_NONE / 2)
        return error_file(error, SUTRA_DATA, s->source->name, "more than %" PRIu32 " events and blocks",
                          EVENT_NONE / 2);
    for (uint32_t i = 0; i < container_of(o, traces)->n; i++) {
        object_t trace = items_of(o, traces)[i];
        const object_t *events = items_of(o, trace);
        for (uint32_t k = 0, n = container_of(o, trace)->n; k < n; k++) {
            static const enum word fields[] = {WORD_ADDR, WORD_SIZE, WORD_TIME_US};
            if (object_type(events[k]) != OBJECT_DICT)
                return malformed(s, error, "event %" PRIu32 " is not a dict", k);
            for (size_t f = 0; f < 3; f++) {
                object_t value = dict_get(o, events[k], fields[f]);
                uint64_t number = 0;
                if (value && !get_unsigned(s, value, &number))
                    return error_file(error, SUTRA_DATA, s->source->name,
                                      "event %" PRIu32 ": %s is not an unsigned 64-bit integer", k,
                                      strings_text(&o->strings, fields[f]));
                if (fields[f] == WORD_SIZE &&
                    (number > INT64_MAX || __builtin_add_overflow(total, (int64_t)number, &total)))
                    return malformed(s, error, "sizes up to event %" PRIu32 " sum to more than 2^63 bytes", k);
                if (fields[f] == WORD_TIME_US && number > TIME_US_MAX)
                    return malformed(s, error, "event %" PRIu32 ": time_us is after the year 2262", k);
            }
        }
    }
    for (uint32_t i = 0; i < container_of(o, segments)->n; i++) {
        object_t segment = items_of(o, segments)[i], blocks = dict_get(o, segment, WORD_BLOCKS);
        int64_t size;
        if (!get_size(s, dict_get(o, segment, WORD_TOTAL_SIZE), &size) || __builtin_add_overflow(total, size, &total))
            return malformed(s, error, "segment %" PRIu32 " has no valid total_size", i);
        for (uint32_t k = 0; k < container_of(o, blocks)->n; k++) {
            object_t block = items_of(o, blocks)[k];
            if (object_type(block) != OBJECT_DICT || object_type(dict_get(o, block, WORD_STATE)) != OBJECT_STRING ||
                !get_size(s, dict_get(o, block, WORD_SIZE), &size) || __builtin_add_overflow(total, size, &total))
                return malformed(s, error, "block %" PRIu32 " of segment %" PRIu32 " has no valid state and size", k,
                                 i);
        }
    }
    return SUTRA_OK;
}

/* The first element of the list "history" of a block, or OBJECT_ABSENT. */
static object_t block_history(const struct snapshot *s, object_t block) {
    object_t history = dict_get(s->objects, block, WORD_HISTORY);
    if (!is_list(history) || container_of(s->objects, history)->n == 0)
        return OBJECT_ABSENT;
    object_t first = items_of(s->objects, history)[0];
    return object_type(first) == OBJECT_DICT ? first : OBJECT_ABSENT;
}

static bool block_requested(const struct snapshot *s, object_t block, int64_t *size) {
    object_t value = dict_get(s->objects, block, WORD_REQUESTED_SIZE), history;
    if (!value && (history = block_history(s, block)))
        value = dict_get(s->objects, history, WORD_REAL_SIZE);
    if (!value)
        value = dict_get(s->objects, block, WORD_SIZE);
    return get_size(s, value, size) && *size <= (int64_t)1 << 60;
}

static object_t block_frames(const struct snapshot *s, object_t block) {
    object_t frames = dict_get(s->objects, block, WORD_FRAMES), history;
    if (!frames && (history = block_history(s, block)))
        return (frames = dict_get(s->objects, history, WORD_FRAMES)) == OBJECT_NONE ? OBJECT_ABSENT : frames;
    return frames;
}

/* ---- Segments ---- */

static enum sutra_status add_segment(const struct snapshot *s, object_t segment, struct memory_segments *state,
                                     struct sutra_error *error) {
    const struct objects *o = s->objects;
    object_t blocks = dict_get(o, segment, WORD_BLOCKS);
    const object_t *items = items_of(o, blocks);
    uint32_t n = container_of(o, blocks)->n;
    int64_t total = 0, size = 0, requested, inactive = 0;
    bool is_busy = false;
    get_size(s, dict_get(o, segment, WORD_TOTAL_SIZE), &total);
    state->n_segments++;
    state->reserved += total;
    state->largest_segment = total > state->largest_segment ? total : state->largest_segment;
    for (uint32_t i = 0; i < n; i++) {
        object_t of = dict_get(o, items[i], WORD_STATE);
        get_size(s, dict_get(o, items[i], WORD_SIZE), &size);
        is_busy |= of != object_word(WORD_INACTIVE);
        if (of == object_word(WORD_ACTIVE_ALLOCATED)) {
            if (!block_requested(s, items[i], &requested) ||
                __builtin_add_overflow(state->requested, requested, &state->requested))
                return malformed(s, error, "a block has no valid requested_size");
            state->allocated += size;
            state->internal += size - requested;
        } else if (of == object_word(WORD_INACTIVE)) {
            inactive += size;
            state->largest_free_block = size > state->largest_free_block ? size : state->largest_free_block;
        } else {
            state->pending_free += size;
        }
    }
    state->inactive += inactive;
    state->inactive_split += is_busy ? inactive : 0;
    state->releasable += is_busy ? 0 : total;
    return SUTRA_OK;
}

struct segment_key {
    struct memory_segment_group group;
    const struct strings *names;
    uint32_t segment;
};

static int compare_segment_keys(const void *a, const void *b) {
    const struct segment_key *x = a, *y = b;
    const struct memory_segment_group *p = &x->group, *q = &y->group;
    if (p->stream != q->stream)
        return p->stream < q->stream ? -1 : 1;
    int order = memory_compare_names(x->names, p->type, q->type);
    for (size_t i = 0; i < 2 && !order; i++)
        order = (p->pool[i] > q->pool[i]) - (p->pool[i] < q->pool[i]);
    return order ? order : (x->segment > y->segment) - (x->segment < y->segment);
}

static int compare_segments(const void *a, const void *b) {
    const struct memory_segment *x = a, *y = b;
    return x->address != y->address ? (x->address < y->address ? -1 : 1) : (x->size > y->size) - (x->size < y->size);
}

/* State of all segments of a device, and by stream, type and pool. */
static enum sutra_status read_segments(struct snapshot *s, const object_t *segments, uint32_t n,
                                       struct memory_device *device, struct sutra_error *error) {
    const struct objects *o = s->objects;
    struct segment_key *keys = arena_zeros(s->arena, n, sizeof *keys);
    device->segment_list = arena_take(&s->memory->arena, n, sizeof *device->segment_list);
    device->segment_groups = arena_take(&s->memory->arena, n, sizeof *device->segment_groups);
    if (!keys || !device->segment_list || !device->segment_groups)
        return error_memory(error);
    for (uint32_t i = 0; i < n; i++) {
        object_t stream = dict_get(o, segments[i], WORD_STREAM), type = dict_get(o, segments[i], WORD_SEGMENT_TYPE),
                 pool = dict_get(o, segments[i], WORD_SEGMENT_POOL_ID);
        struct memory_segment_group *group = &keys[i].group;
        bool is_valid = (!stream || get_integer(s, stream, &group->stream)) &&
                        (!type || object_type(type) == OBJECT_STRING) &&
                        (!pool || (is_list(pool) && container_of(o, pool)->n >= 2 &&
                                   get_integer(s, items_of(o, pool)[0], &group->pool[0]) &&
                                   get_integer(s, items_of(o, pool)[1], &group->pool[1])));
        if (!is_valid)
            return malformed(s, error, "segment %" PRIu32 " has no valid stream, type and pool", i);
        group->type = type ? copy_name(s, (uint32_t)object_payload(type)) : s->empty;
        if (group->type == STRING_NONE)
            return memory_name_error(s->memory, error);
        keys[i].names = &s->memory->names;
        keys[i].segment = i;
        enum sutra_status status = add_segment(s, segments[i], &device->segments, error);
        if (status)
            return status;
        struct memory_segment *listed = &device->segment_list[i];
        listed->address = UINT64_MAX;
        get_unsigned(s, dict_get(o, segments[i], WORD_ADDRESS), &listed->address);
        get_size(s, dict_get(o, segments[i], WORD_TOTAL_SIZE), &listed->size);
    }
    if (n) {
        qsort(keys, n, sizeof *keys, compare_segment_keys);
        qsort(device->segment_list, n, sizeof *device->segment_list, compare_segments);
    }
    for (uint32_t i = 0; i < n; i++) {
        const struct memory_segment_group *last =
            device->n_segment_groups ? &device->segment_groups[device->n_segment_groups - 1] : NULL;
        if (!last || last->stream != keys[i].group.stream || last->type != keys[i].group.type ||
            last->pool[0] != keys[i].group.pool[0] || last->pool[1] != keys[i].group.pool[1])
            device->segment_groups[device->n_segment_groups++] = keys[i].group;
        enum sutra_status status = add_segment(s, segments[keys[i].segment],
                                               &device->segment_groups[device->n_segment_groups - 1].state, error);
        if (status)
            return status;
        uint32_t at = device->n_segment_list;
        if (!at || compare_segments(&device->segment_list[at - 1], &device->segment_list[i]))
            device->segment_list[device->n_segment_list++] = device->segment_list[i];
    }
    return SUTRA_OK;
}

/* ---- Allocations ---- */

static enum sutra_status reserve_allocs(struct snapshot *s, uint32_t n, struct sutra_error *error) {
    struct memory_allocs *a = &s->allocs;
    *a = (struct memory_allocs){0};
#define COLUMN(name) !(a->name = arena_take(s->arena, n, sizeof *a->name))
    if (COLUMN(size) || COLUMN(begin) || COLUMN(end) || COLUMN(request) || COLUMN(frame) || COLUMN(operator_name) ||
        COLUMN(category) || COLUMN(before) || !(s->alloc_list = arena_take(s->arena, n, sizeof *s->alloc_list)))
        return error_memory(error);
#undef COLUMN
    return SUTRA_OK;
}

/* Adds an allocation that was made before the recording. */
static uint32_t add_before(struct snapshot *s, int64_t size) {
    struct memory_allocs *a = &s->allocs;
    uint32_t row = a->n++;
    a->size[row] = size;
    a->begin[row] = 0;
    a->end[row] = a->request[row] = EVENT_NONE;
    a->frame[row] = s->before;
    a->operator_name[row] = s->empty;
    a->category[row] = s->unknown;
    a->before[row] = 1;
    s->alloc_list[row] = CONTAINER_NONE;
    return row;
}

static enum sutra_status read_category(struct snapshot *s, object_t value, uint32_t *category,
                                       struct sutra_error *error) {
    *category = s->unknown;
    if (object_type(value) <= OBJECT_NONE || value == object_word(WORD_N_KEYS))
        return SUTRA_OK;
    if (object_type(value) != OBJECT_STRING)
        return malformed(s, error, "\"category\" is not text");
    *category = copy_name(s, (uint32_t)object_payload(value));
    return *category == STRING_NONE ? memory_name_error(s->memory, error) : SUTRA_OK;
}

/* Makes allocations of the events. `live` maps the address of each live one to its row; addresses that are absent have
 * the second part 1. */
static enum sutra_status match_events(struct snapshot *s, const object_t *list, struct events *events,
                                      struct memory_device *device, struct pair_table *live,
                                      struct sutra_error *error) {
    struct memory_allocs *a = &s->allocs;
    for (uint32_t i = 0; i < events->n; i++) {
        object_t event = list[i], action = dict_get(s->objects, event, WORD_ACTION),
                 address_value = dict_get(s->objects, event, WORD_ADDR),
                 size_value = dict_get(s->objects, event, WORD_SIZE);
        uint64_t address = 0, size = 0;
        if (object_type(action) != OBJECT_STRING)
            return malformed(s, error, "event %" PRIu32 " has no \"action\"", i);
        get_unsigned(s, address_value, &address);
        get_unsigned(s, size_value, &size);
        events->action[i] = action;
        events->frames[i] = dict_get(s->objects, event, WORD_FRAMES);
        events->size[i] = (int64_t)size;
        bool is_alloc = action == object_word(WORD_ALLOC), is_request = action == object_word(WORD_FREE_REQUESTED);
        if (!is_alloc && !is_request && action != object_word(WORD_FREE_COMPLETED)) {
            if (!size_value && (action == object_word(WORD_OOM) || (action >= object_word(WORD_SEGMENT_ALLOC) &&
                                                                    action <= object_word(WORD_SEGMENT_UNMAP))))
                return malformed(s, error, "event %" PRIu32 " has no \"size\"", i);
            continue;
        }
        struct pair_entry *entry = pair_table_take(live, address, !address_value);
        if (!entry)
            return error_memory(error);
        uint32_t row = entry->number;
        if (is_alloc) {
            if (row != PAIR_NONE) { /* its free was not recorded */
                a->end[row] = i;
                a->request[row] = a->request[row] == EVENT_NONE ? i : a->request[row];
                device->n_lost_frees++;
            }
            entry->number = row = a->n++;
            a->size[row] = (int64_t)size;
            a->begin[row] = i + 1;
            a->end[row] = a->request[row] = EVENT_NONE;
            a->before[row] = 0;
            enum sutra_status status = describe_frames(s, events->frames[i], &a->frame[row], &a->operator_name[row],
                                                       &s->alloc_list[row], error);
            if (!status)
                status = read_category(s, dict_get(s->objects, event, WORD_CATEGORY), &a->category[row], error);
            if (status)
                return status;
            continue;
        }
        if (row == PAIR_NONE) {
            row = add_before(s, (int64_t)size);
            entry->number = row;
        }
        a->request[row] = a->request[row] == EVENT_NONE ? i : a->request[row];
        if (!is_request) {
            a->end[row] = i;
            entry->number = PAIR_NONE;
        }
    }
    return SUTRA_OK;
}

/* Adds live blocks that no event allocates, and counts live allocations without a block. */
static enum sutra_status match_blocks(struct snapshot *s, const object_t *segments, uint32_t n,
                                      struct memory_device *device, struct pair_table *live,
                                      struct sutra_error *error) {
    const struct objects *o = s->objects;
    struct memory_allocs *a = &s->allocs;
    uint32_t n_matched = 0, n_live = 0, n_of_events = a->n;
    uint8_t *is_matched = arena_zeros(s->arena, n_of_events, 1);
    if (!is_matched)
        return error_memory(error);
    for (uint32_t i = 0; i < n_of_events; i++)
        n_live += a->end[i] == EVENT_NONE;
    for (uint32_t i = 0; i < n; i++) {
        object_t blocks = dict_get(o, segments[i], WORD_BLOCKS), value = dict_get(o, segments[i], WORD_ADDRESS);
        uint64_t address = 0;
        if (value && !get_unsigned(s, value, &address))
            return malformed(s, error, "a segment has no valid address");
        for (uint32_t k = 0; k < container_of(o, blocks)->n; k++) {
            object_t block = items_of(o, blocks)[k];
            int64_t size = 0;
            value = dict_get(o, block, WORD_ADDR);
            value = value ? value : dict_get(o, block, WORD_ADDRESS);
            if (value && !get_unsigned(s, value, &address))
                return malformed(s, error, "a block has no valid address");
            if (dict_get(o, block, WORD_STATE) == object_word(WORD_ACTIVE_ALLOCATED)) {
                uint32_t row = pair_table_find(live, address, 0), frame;
                if (row != PAIR_NONE) {
                    n_matched += !is_matched[row];
                    is_matched[row] = 1;
                } else {
                    object_t frames = block_frames(s, block);
                    block_requested(s, block, &size);
                    row = add_before(s, size);
                    enum sutra_status status =
                        describe_frames(s, frames, &frame, &a->operator_name[row], &s->alloc_list[row], error);
                    if (!status)
                        status = read_category(s, dict_get(o, block, WORD_CATEGORY), &a->category[row], error);
                    if (status)
                        return status;
                    if (is_list(frames) && container_of(o, frames)->n)
                        a->frame[row] = frame;
                    if (frames == OBJECT_NONE)
                        s->alloc_list[row] = CONTAINER_NONE;
                }
            }
            get_size(s, dict_get(o, block, WORD_SIZE), &size);
            address += (uint64_t)size;
        }
    }
    device->n_without_block = n ? n_live - n_matched : 0;
    return SUTRA_OK;
}

/* ---- Points ---- */

static enum sutra_status make_points(struct snapshot *s, const struct events *events, struct memory_device *device,
                                     uint32_t **segment_allocs, struct sutra_error *error) {
    const struct memory_allocs *a = &s->allocs;
    uint32_t n = events->n;
    struct arena *arena = &s->memory->arena;
    device->n_events = n;
    device->allocated = arena_zeros(arena, (size_t)n + 1, sizeof *device->allocated);
    device->active = arena_zeros(arena, (size_t)n + 1, sizeof *device->active);
    device->reserved = arena_zeros(arena, (size_t)n + 1, sizeof *device->reserved);
    uint32_t *counts = *segment_allocs = arena_take(s->arena, (size_t)n + 1, sizeof *counts);
    if (!device->allocated || !device->active || !device->reserved || !counts)
        return error_memory(error);
    for (uint32_t i = 0; i < a->n; i++) {
        device->allocated[a->begin[i]] += a->size[i];
        device->active[a->begin[i]] += a->size[i];
        if (a->request[i] != EVENT_NONE)
            device->allocated[a->request[i] + 1] -= a->size[i];
        if (a->end[i] != EVENT_NONE)
            device->active[a->end[i] + 1] -= a->size[i];
    }
    counts[0] = 0;
    int64_t reserved = device->segments.reserved;
    for (uint32_t i = 0; i < n; i++) {
        object_t action = events->action[i];
        bool allocates = action == object_word(WORD_SEGMENT_ALLOC) || action == object_word(WORD_SEGMENT_MAP);
        bool frees = action == object_word(WORD_SEGMENT_FREE) || action == object_word(WORD_SEGMENT_UNMAP);
        counts[i + 1] = counts[i] + allocates;
        if (allocates) {
            device->n_segment_allocs++;
            device->segment_alloc_bytes += events->size[i];
            device->reserved[i + 1] = events->size[i];
        } else if (frees) {
            device->n_segment_frees++;
            device->segment_free_bytes += events->size[i];
            device->reserved[i + 1] = -events->size[i];
        }
        reserved -= device->reserved[i + 1];
    }
    device->reserved[0] = reserved;
    device->is_negative = reserved < 0;
    for (uint32_t i = 0; i < n; i++) {
        device->allocated[i + 1] += device->allocated[i];
        device->active[i + 1] += device->active[i];
        device->reserved[i + 1] += device->reserved[i];
    }
    return SUTRA_OK;
}

/* ---- Steps ---- */

struct annotation {
    int64_t time_us;
    uint32_t row, name, before; /* `before`: the range of this name that is open around this one */
    bool is_start;
};

struct range {
    int64_t start_us, end_us;
    uint32_t name, row;
};

static int compare_annotations(const void *a, const void *b) {
    const struct annotation *x = a, *y = b;
    return x->time_us != y->time_us ? (x->time_us < y->time_us ? -1 : 1) : (x->row > y->row) - (x->row < y->row);
}

static int compare_starts(const void *a, const void *b) {
    const struct range *x = a, *y = b;
    return x->start_us != y->start_us ? (x->start_us < y->start_us ? -1 : 1) : (x->row > y->row) - (x->row < y->row);
}

static int compare_range_ends(const void *a, const void *b) {
    const struct range *x = a, *y = b;
    return (x->end_us > y->end_us) - (x->end_us < y->end_us);
}

/* N of "ProfilerStep#N". */
static bool step_number(const char *text, size_t n, int64_t *number) {
    static const char begin[] = "ProfilerStep#";
    if (!starts_with(text, n, begin) || n == sizeof begin - 1 || n > sizeof begin - 1 + 18)
        return false;
    *number = 0;
    for (size_t i = sizeof begin - 1; i < n; i++) {
        if (text[i] < '0' || text[i] > '9')
            return false;
        *number = 10 * *number + text[i] - '0';
    }
    return true;
}

/* Steps are the annotations ProfilerStep#N; else what ends with each first-named optimizer's step. */
static enum sutra_status find_steps(struct snapshot *s, object_t annotations, int64_t number_of_device,
                                    struct memory_device *device, struct sutra_error *error) {
    const struct objects *o = s->objects;
    uint32_t n = object_type(annotations) <= OBJECT_NONE ? 0 : container_of(o, annotations)->n, n_kept = 0,
             n_ranges = 0;
    struct annotation *list = arena_take(s->arena, n, sizeof *list);
    struct range *ranges = arena_take(s->arena, n, sizeof *ranges);
    struct pair_table open = {0};
    if (!list || !ranges)
        return error_memory(error);
    for (uint32_t i = 0; i < n; i++) {
        object_t value = items_of(o, annotations)[i];
        if (object_type(value) != OBJECT_DICT)
            return malformed(s, error, "annotation %" PRIu32 " is not a dict", i);
        object_t of = dict_get(o, value, WORD_DEVICE), stage = dict_get(o, value, WORD_STAGE),
                 name = dict_get(o, value, WORD_NAME);
        int64_t number = number_of_device;
        if (of && (!get_integer(s, of, &number) || number != number_of_device))
            continue;
        struct annotation *kept = &list[n_kept++];
        if (!get_integer(s, dict_get(o, value, WORD_TIME_US), &kept->time_us) || kept->time_us > TIME_US_MAX ||
            kept->time_us < -TIME_US_MAX || !stage || object_type(name) != OBJECT_STRING)
            return malformed(s, error, "annotation %" PRIu32 " has no valid stage, name and time_us", i);
        kept->row = i;
        kept->name = (uint32_t)object_payload(name);
        kept->is_start = stage == object_word(WORD_START);
        if (!kept->is_start && stage != object_word(WORD_END))
            n_kept--;
    }
    if (n_kept)
        qsort(list, n_kept, sizeof *list, compare_annotations);
    if (n_kept && !pair_table_init(&open))
        return error_memory(error);
    for (uint32_t i = 0; i < n_kept; i++) {
        struct pair_entry *entry = pair_table_take(&open, list[i].name, 0);
        if (!entry) {
            pair_table_free(&open);
            return error_memory(error);
        }
        if (list[i].is_start) {
            list[i].before = entry->number;
            entry->number = i;
        } else if (entry->number != PAIR_NONE) {
            const struct annotation *start = &list[entry->number];
            ranges[n_ranges] = (struct range){start->time_us, list[i].time_us, list[i].name, n_ranges};
            n_ranges++;
            entry->number = start->before;
        }
    }
    pair_table_free(&open);

    /* Keep ProfilerStep ranges if there are some, else those of one optimizer. */
    uint32_t n_steps = 0, first = EVENT_NONE;
    int64_t number;
    for (uint32_t i = 0; i < n_ranges; i++) {
        const char *text = strings_text(&o->strings, ranges[i].name);
        size_t length = strings_length(&o->strings, ranges[i].name);
        n_steps += step_number(text, length, &number);
        if (starts_with(text, length, "Optimizer.step#") &&
            (first == EVENT_NONE || ranges[i].start_us < ranges[first].start_us))
            first = i;
    }
    if (!n_steps && first == EVENT_NONE)
        return SUTRA_OK;
    uint32_t kept_name = n_steps ? STRING_NONE : ranges[first].name, n_of = 0;
    for (uint32_t i = 0; i < n_ranges; i++) {
        bool is_step = step_number(strings_text(&o->strings, ranges[i].name),
                                   strings_length(&o->strings, ranges[i].name), &number);
        if (n_steps ? is_step : ranges[i].name == kept_name)
            ranges[n_of++] = ranges[i];
    }
    qsort(ranges, n_of, sizeof *ranges, n_steps ? compare_starts : compare_range_ends);
    device->steps = arena_zeros(&s->memory->arena, n_of, sizeof *device->steps);
    device->step_source = n_steps ? memory_name(s->memory, "ProfilerStep", 12) : copy_name(s, kept_name);
    if (!device->steps)
        return error_memory(error);
    if (device->step_source == STRING_NONE)
        return memory_name_error(s->memory, error);
    device->n_steps = n_of;
    for (uint32_t i = 0; i < n_of; i++) {
        struct memory_step *step = &device->steps[i];
        step->number = i;
        step->start_ns = i ? step[-1].end_ns : device->time_ns[0];
        step->end_ns = ranges[i].end_us * 1000 + 1000;
        if (!n_steps)
            continue;
        step_number(strings_text(&o->strings, ranges[i].name), strings_length(&o->strings, ranges[i].name),
                    &step->number);
        step->start_ns = ranges[i].start_us * 1000;
    }
    return SUTRA_OK;
}

/* ---- Frees of segments, out-of-memory events ---- */

static bool frees_segment(object_t action) {
    return action == object_word(WORD_SEGMENT_FREE) || action == object_word(WORD_SEGMENT_UNMAP);
}

/* Whether torch.cuda.empty_cache() is among the frames of an event. */
static enum sutra_status is_empty_cache(struct snapshot *s, object_t frames, bool *found, struct sutra_error *error) {
    *found = false;
    if (object_type(frames) <= OBJECT_NONE)
        return SUTRA_OK;
    for (uint32_t i = 0; is_list(frames) && i < container_of(s->objects, frames)->n && !*found; i++) {
        struct frame frame;
        if (!read_frame(s, items_of(s->objects, frames)[i], &frame))
            return malformed(s, error, "a frame has no valid name, file name and line");
        *found = classify_name(s, frame.name) & FRAME_EMPTY_CACHE;
    }
    return is_list(frames) ? SUTRA_OK : malformed(s, error, "\"frames\" is not a list");
}

/* Consecutive frees of segments: of empty_cache(), or before an allocation that failed first (a retry). */
static enum sutra_status find_runs(struct snapshot *s, const struct events *events, struct memory_device *device,
                                   struct sutra_error *error) {
    uint32_t n_runs = 0, n = events->n;
    for (uint32_t i = 0; i < n; i++)
        n_runs += frees_segment(events->action[i]) && (!i || !frees_segment(events->action[i - 1]));
    device->runs = arena_zeros(&s->memory->arena, n_runs, sizeof *device->runs);
    if (!device->runs)
        return error_memory(error);
    for (uint32_t i = 0, end; i < n; i = end) {
        end = i + 1;
        if (!frees_segment(events->action[i]))
            continue;
        struct memory_run *run = &device->runs[device->n_runs++];
        bool is_requested;
        enum sutra_status status = is_empty_cache(s, events->frames[i], &is_requested, error);
        if (status)
            return status;
        for (end = i; end < n && frees_segment(events->action[end]); end++)
            run->bytes += events->size[end];
        object_t next = end < n ? events->action[end] : OBJECT_ABSENT;
        bool is_retry = next == object_word(WORD_SEGMENT_ALLOC) || next == object_word(WORD_SEGMENT_MAP) ||
                        next == object_word(WORD_OOM);
        run->kind = is_requested ? "empty_cache" : is_retry ? "retry" : "other";
        run->event = i;
        run->n_segments = end - i;
        device->n_empty_cache += is_requested;
        device->n_retries += !is_requested && is_retry;
    }
    return SUTRA_OK;
}

struct named_id {
    const struct strings *names;
    uint32_t name;
};

static int compare_ids(const void *a, const void *b) {
    const struct named_id *x = a, *y = b;
    return memory_compare_names(x->names, x->name, y->name);
}

/* Live bytes by frame while events are repeated: a tree of maxima over frames in ascending order. */
struct memory_holders {
    struct max_tree tree;
    struct named_id *ids; /* of slots */
    uint32_t *slot;       /* of names */
    uint32_t *counts;
    int64_t *bytes, live_bytes;
    uint32_t n;
};

static void change_holder(struct memory_holders *h, uint32_t name, int64_t bytes, bool adds) {
    uint32_t slot = h->slot[name];
    h->counts[slot] += adds ? 1u : UINT32_MAX;
    h->bytes[slot] += adds ? bytes : -bytes;
    h->live_bytes += adds ? bytes : -bytes;
    max_tree_set(&h->tree, slot, h->counts[slot] ? h->bytes[slot] : -1);
}

static enum sutra_status init_holders(struct snapshot *s, struct memory_holders *h, struct sutra_error *error) {
    const struct memory_allocs *a = &s->allocs;
    uint32_t n_names = s->memory->names.n;
    h->slot = arena_zeros(s->arena, n_names, sizeof *h->slot);
    h->ids = arena_take(s->arena, (size_t)a->n + 1, sizeof *h->ids);
    if (!h->slot || !h->ids)
        return error_memory(error);
    for (uint32_t i = 0; i < a->n; i++)
        if (!h->slot[a->frame[i]]++)
            h->ids[h->n++] = (struct named_id){&s->memory->names, a->frame[i]};
    if (h->n)
        qsort(h->ids, h->n, sizeof *h->ids, compare_ids);
    for (uint32_t i = 0; i < h->n; i++)
        h->slot[h->ids[i].name] = i;
    h->counts = arena_zeros(s->arena, h->n, sizeof *h->counts);
    h->bytes = arena_zeros(s->arena, h->n, sizeof *h->bytes);
    if (!max_tree_init(&h->tree, s->arena, h->n ? h->n : 1) || !h->counts || !h->bytes)
        return error_memory(error);
    return SUTRA_OK;
}

static enum sutra_status fill_oom(struct snapshot *s, const object_t *list, const struct events *events, uint32_t i,
                                  struct memory_device *device, struct memory_holders *h, bool is_last,
                                  struct sutra_error *error) {
    struct memory_oom *oom = &device->ooms[device->n_ooms++];
    object_t free_value = dict_get(s->objects, list[i], WORD_DEVICE_FREE);
    uint32_t unused;
    free_value = free_value ? free_value : dict_get(s->objects, list[i], WORD_ADDR);
    if (free_value && (!get_integer(s, free_value, &oom->device_free) || llabs(oom->device_free) > (int64_t)1 << 60))
        return malformed(s, error, "event %" PRIu32 " has no valid device_free", i);
    oom->event = i;
    oom->time_ns = device->time_ns[i + 1];
    oom->requested = events->size[i];
    oom->active = device->active[i + 1];
    oom->reserved = device->reserved[i + 1];
    oom->largest_free_block = is_last ? device->segments.largest_free_block : -1;
    oom->fits_unfragmented = oom->requested <= oom->reserved - oom->active + oom->device_free;
    oom->live_bytes = h->live_bytes;
    while (h->n && oom->n_holders < MEMORY_N_HOLDERS) {
        uint32_t slot = max_tree_find(&h->tree, 0, h->n);
        if (h->tree.values[slot] < 0)
            break;
        oom->holders[oom->n_holders++] = (struct memory_group){h->ids[slot].name, h->counts[slot], h->bytes[slot]};
        max_tree_set(&h->tree, slot, -1);
    }
    for (uint32_t k = 0; k < oom->n_holders; k++)
        max_tree_set(&h->tree, h->slot[oom->holders[k].name], oom->holders[k].bytes);
    return describe_frames(s, events->frames[i], &oom->frame, &oom->operator_name, &unused, error);
}

/* Repeats the events to know the holders at each out-of-memory event: O(log frames) for each event. */
static enum sutra_status find_ooms(struct snapshot *s, const object_t *list, const struct events *events,
                                   struct memory_device *device, struct sutra_error *error) {
    const struct memory_allocs *a = &s->allocs;
    uint32_t n_ooms = 0, last_change = 0;
    for (uint32_t i = 0; i < events->n; i++) {
        object_t action = events->action[i];
        n_ooms += action == object_word(WORD_OOM);
        if (action == object_word(WORD_ALLOC) || action == object_word(WORD_FREE_COMPLETED) ||
            action == object_word(WORD_SEGMENT_ALLOC) || action == object_word(WORD_SEGMENT_MAP) ||
            frees_segment(action))
            last_change = i;
    }
    if (!n_ooms)
        return SUTRA_OK;
    struct memory_holders h = {0};
    enum sutra_status status = init_holders(s, &h, error);
    device->ooms = arena_zeros(&s->memory->arena, n_ooms, sizeof *device->ooms);
    uint32_t *freed = arena_take(s->arena, events->n, sizeof *freed); /* allocation that an event frees */
    if (!status && (!device->ooms || !freed))
        status = error_memory(error);
    if (status)
        return status;
    memset(freed, 0xff, events->n * sizeof *freed);
    for (uint32_t i = 0; i < a->n; i++) {
        if (a->end[i] != EVENT_NONE)
            freed[a->end[i]] = i;
        if (a->begin[i] == 0)
            change_holder(&h, a->frame[i], a->size[i], true);
    }
    uint32_t next = 0; /* allocations are in the order of events, among those of before */
    for (uint32_t i = 0; i < events->n && !status; i++) {
        if (freed[i] != EVENT_NONE)
            change_holder(&h, a->frame[freed[i]], a->size[freed[i]], false);
        if (events->action[i] == object_word(WORD_OOM))
            status = fill_oom(s, list, events, i, device, &h, i >= last_change, error);
        if (events->action[i] != object_word(WORD_ALLOC))
            continue;
        while (a->begin[next] != i + 1)
            next++;
        change_holder(&h, a->frame[next], a->size[next], true);
    }
    return status;
}

/* ---- Devices ---- */

static enum sutra_status read_device(struct snapshot *s, object_t trace, const object_t *segments, uint32_t n_segments,
                                     object_t annotations, uint32_t number, struct memory_device *device,
                                     struct sutra_error *error) {
    const struct objects *o = s->objects;
    const object_t *list = trace ? items_of(o, trace) : NULL;
    struct events events = {.n = trace ? container_of(o, trace)->n : 0};
    uint32_t n = events.n, n_blocks = 0, *segment_allocs;
    snprintf(device->name, sizeof device->name, "cuda:%" PRIu32, number);
    device->step_source = STRING_NONE;
    for (uint32_t i = 0; i < n_segments; i++)
        n_blocks += container_of(o, dict_get(o, segments[i], WORD_BLOCKS))->n;
    events.action = arena_take(s->arena, n, sizeof *events.action);
    events.frames = arena_take(s->arena, n, sizeof *events.frames);
    events.size = arena_take(s->arena, n, sizeof *events.size);
    device->time_ns = arena_zeros(&s->memory->arena, (size_t)n + 1, sizeof *device->time_ns);
    if (!events.action || !events.frames || !events.size || !device->time_ns)
        return error_memory(error);
    device->has_time = n > 0;
    for (uint32_t i = 0; i < n; i++) {
        uint64_t time_us = 0;
        object_t value = dict_get(o, list[i], WORD_TIME_US);
        device->has_time &= value != OBJECT_ABSENT;
        get_unsigned(s, value, &time_us);
        device->time_ns[i + 1] = (int64_t)time_us * 1000;
    }
    for (uint32_t i = 0; i < n && !device->has_time; i++)
        device->time_ns[i + 1] = (int64_t)i * 1000;
    device->time_ns[0] = n ? device->time_ns[1] : 0;

    struct pair_table live = {0};
    enum sutra_status status = reserve_allocs(s, n + n_blocks, error);
    if (!status && !pair_table_init(&live))
        status = error_memory(error);
    if (!status)
        status = match_events(s, list, &events, device, &live, error);
    if (!status)
        status = read_segments(s, segments, n_segments, device, error);
    if (!status)
        status = match_blocks(s, segments, n_segments, device, &live, error);
    pair_table_free(&live);
    if (!status)
        status = make_points(s, &events, device, &segment_allocs, error);
    if (!status && device->has_time)
        status = find_steps(s, annotations, number, device, error);
    if (!status)
        status = find_runs(s, &events, device, error);
    if (!status)
        status = find_ooms(s, list, &events, device, error);
    if (status)
        return status;
    struct memory_facts facts = {&s->allocs, segment_allocs, name_stack, s};
    return memory_summarize(s->memory, device, &facts, s->arena, error);
}

static bool add_setting(struct snapshot *s, object_t key, object_t value, struct text_out *text, bool is_first) {
    const struct strings *strings = &s->objects->strings;
    int64_t number = 0;
    double real;
    if (object_type(value) == OBJECT_DICT)
        return false;
    out_add(text, is_first ? "" : ", ");
    if (object_type(key) == OBJECT_STRING) {
        out_string(text, strings_text(strings, (uint32_t)object_payload(key)),
                   strings_length(strings, (uint32_t)object_payload(key)));
    } else {
        get_integer(s, key, &number);
        out_format(text, "\"%" PRId64 "\"", number);
    }
    out_add(text, ": ");
    switch (object_type(value)) {
    case OBJECT_STRING:
        out_string(text, strings_text(strings, (uint32_t)object_payload(value)),
                   strings_length(strings, (uint32_t)object_payload(value)));
        break;
    case OBJECT_BOOL:
        out_add(text, object_payload(value) ? "true" : "false");
        break;
    case OBJECT_INTEGER:
    case OBJECT_WIDE:
        get_integer(s, value, &number);
        out_integer(text, number);
        break;
    case OBJECT_REAL:
        memcpy(&real, &s->objects->wide[object_payload(value)].low, sizeof real);
        if (real - real == 0) {
            out_number(text, real);
            break;
        }
        __attribute__((fallthrough));
    default:
        out_add(text, is_list(value) ? "[]" : "null");
    }
    return true;
}

static void read_settings(struct snapshot *s, object_t settings, struct memory_input *input) {
    if (object_type(settings) != OBJECT_DICT)
        return;
    const struct container *container = container_of(s->objects, settings);
    const struct shape *shape = &s->objects->shapes[container->shape];
    struct text_out text = {0};
    bool is_first = true;
    for (uint32_t i = 0; i < container->n; i++)
        if (add_setting(s, s->objects->shape_keys[shape->first + i], s->objects->items[container->first + i], &text,
                        is_first))
            is_first = false;
    input->settings = text.out;
}

/* Segments of each device, one device after the other; counts[d] is where those of device d begin. */
static enum sutra_status sort_segments(const struct snapshot *s, object_t segments, object_t *sorted, uint32_t *counts,
                                       struct sutra_error *error) {
    uint32_t n = container_of(s->objects, segments)->n;
    for (unsigned pass = 0; pass < 2; pass++) {
        for (uint32_t i = 0; i < n; i++) {
            object_t segment = items_of(s->objects, segments)[i], value = dict_get(s->objects, segment, WORD_DEVICE);
            int64_t device = 0;
            if (value && (!get_integer(s, value, &device) || device < 0 || device >= DEVICES_MAX))
                return malformed(s, error, "segment %" PRIu32 ": device is not a number from 0 to %d", i,
                                 DEVICES_MAX - 1);
            if (pass)
                sorted[counts[device]++] = segment;
            else
                counts[device + 2]++;
        }
        for (uint32_t d = 0; d < DEVICES_MAX && !pass; d++)
            counts[d + 2] += counts[d + 1];
        counts += !pass;
    }
    return SUTRA_OK;
}

static enum sutra_status read_devices(struct snapshot *s, object_t root, struct memory_input *input,
                                      struct sutra_error *error) {
    const struct objects *o = s->objects;
    object_t segments = root, traces = OBJECT_NONE, annotations = OBJECT_NONE;
    if (object_type(root) == OBJECT_DICT) {
        segments = dict_get(o, root, WORD_SEGMENTS);
        traces = dict_get(o, root, WORD_DEVICE_TRACES);
        annotations = dict_get(o, root, WORD_EXTERNAL_ANNOTATIONS);
        read_settings(s, dict_get(o, root, WORD_ALLOCATOR_SETTINGS), input);
    }
    object_t empty = objects_list(s->objects, OBJECT_LIST, NULL, 0);
    if (!empty)
        return error_memory(error);
    segments = object_type(segments) <= OBJECT_NONE ? empty : segments;
    traces = object_type(traces) <= OBJECT_NONE ? empty : traces;
    if (!is_list(segments) || !is_list(traces) || (object_type(annotations) > OBJECT_NONE && !is_list(annotations)))
        return malformed(s, error, "segments, device_traces and external_annotations are not lists");
    enum sutra_status status = check_input(s, segments, traces, error);
    if (status)
        return status;
    uint32_t n_traces = container_of(o, traces)->n, n_segments = container_of(o, segments)->n;
    object_t *sorted = arena_take(s->arena, n_segments, sizeof *sorted);
    uint32_t *counts = arena_zeros(s->arena, DEVICES_MAX + 2, sizeof *counts);
    if (!sorted || !counts)
        return error_memory(error);
    if ((status = sort_segments(s, segments, sorted, counts, error)))
        return status;
    for (uint32_t d = DEVICES_MAX; d < n_traces; d++)
        if (container_of(o, items_of(o, traces)[d])->n)
            return malformed(s, error, "more than %d devices", DEVICES_MAX);
    for (uint32_t pass = 0; pass < 2 && !status; pass++) {
        uint32_t n = 0;
        for (uint32_t d = 0; d < DEVICES_MAX && !status; d++) {
            object_t trace = d < n_traces ? items_of(o, traces)[d] : OBJECT_ABSENT;
            uint32_t n_own = counts[d + 1] - counts[d];
            if (!n_own && (!trace || !container_of(o, trace)->n))
                continue;
            struct arena_mark mark = arena_mark(s->arena);
            if (pass)
                status = read_device(s, trace, sorted + counts[d], n_own, annotations, d, &input->devices[n], error);
            arena_release(s->arena, mark);
            n++;
        }
        if (!pass && !(input->devices = arena_zeros(&s->memory->arena, n, sizeof *input->devices)))
            return error_memory(error);
        input->n_devices = n;
    }
    if (!status && !input->n_devices)
        return error_file(error, SUTRA_DATA, s->source->name, "empty memory snapshot: no segments and no events");
    return status;
}

static bool init_snapshot(struct snapshot *s) {
    uint32_t n_strings = s->objects->strings.n;
    static const char before[] = "<before recording>", none[] = "<no frames>", other[] = "<non-python>",
                      unknown[] = "unknown";
    s->file_flags = arena_zeros(s->arena, n_strings, 1);
    s->name_flags = arena_zeros(s->arena, n_strings, 1);
    s->copied = arena_zeros(s->arena, n_strings, sizeof *s->copied);
    s->lists = arena_zeros(s->arena, s->objects->n_containers, sizeof *s->lists);
    s->before = memory_name(s->memory, before, sizeof before - 1);
    s->no_frames = memory_name(s->memory, none, sizeof none - 1);
    s->non_python = memory_name(s->memory, other, sizeof other - 1);
    s->unknown = memory_name(s->memory, unknown, sizeof unknown - 1);
    s->empty = memory_name(s->memory, "", 0);
    return s->empty != STRING_NONE && !s->arena->failed && pair_table_init(&s->frames);
}

enum sutra_status memory_read_snapshot(struct sutra_context *context, struct sutra_memory *memory,
                                       struct memory_input *input, const struct source *source,
                                       struct sutra_error *error) {
    struct arena arena = {0};
    struct objects objects;
    struct snapshot s = {.memory = memory, .objects = &objects, .source = source, .arena = &arena};
    object_t root = OBJECT_ABSENT;
    size_t end = source->size;
    enum sutra_status status = objects_init(&objects) ? SUTRA_OK : error_memory(error);
    stage_begin(context, "parse snapshot", 0);
    if (!status)
        status = is_pickle(source->bytes, source->size) ? pickle_read(&objects, source, &root, &end, error)
                                                        : objects_read_json(&objects, source, &root, error);
    if (!status) {
        object_t first = is_list(root) && container_of(&objects, root)->n ? items_of(&objects, root)[0] : OBJECT_ABSENT;
        bool is_segments = object_type(first) == OBJECT_DICT && dict_get(&objects, first, WORD_BLOCKS);
        bool is_snapshot = object_type(root) == OBJECT_DICT && dict_get(&objects, root, WORD_SEGMENTS);
        if (!is_segments && !is_snapshot)
            status =
                error_file(error, SUTRA_DATA, source->name,
                           "neither a memory snapshot (key \"segments\") nor a Kineto trace (key \"traceEvents\")");
    }
    stage_begin(context, "analyze memory", 0);
    memory->names_limit = memory->names.n_bytes + NAMES_PER_BYTE * source->size + NAMES_FREE;
    input->is_snapshot = true;
    if (!status && !init_snapshot(&s))
        status = error_memory(error);
    if (!status)
        status = error_name_file(error, read_devices(&s, root, input, error), source->name);
    size_t rest = end;
    while (!status && rest < source->size && !source->bytes[rest])
        rest++;
    if (!status && rest < source->size) {
        char text[100];
        int n = snprintf(text, sizeof text, "%zu bytes after the end of the pickle: ignored", source->size - end);
        char *kept = arena_take(&memory->arena, (size_t)n + 1, 1);
        if (kept)
            input->warning = memcpy(kept, text, (size_t)n + 1);
        context_warn(context, "%s: %s", source->name, text);
    }
    pair_table_free(&s.frames);
    objects_free(&objects);
    arena_free(&arena);
    stage_end(context);
    return status;
}
