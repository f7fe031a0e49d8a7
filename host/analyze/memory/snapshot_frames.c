/*
 * snapshot_frames.c - frames of memory snapshots: user frame, operator and stack of an allocation.
 *
 * Each list of frames is classified once, and each text once, regardless of the number of allocations that share it.
 */
#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "analyze/memory/snapshot.h"
#include "base/error.h"

enum frame_flag {
    FRAME_KNOWN = 1,
    FRAME_PYTHON = 2,    /* of a file name: Python source */
    FRAME_LIBRARY = 4,   /* of torch or the standard library */
    FRAME_OMITTED = 8,   /* of the interpreter or the dispatcher: not in stacks */
    FRAME_OPERATOR = 16, /* of a function name: at::_ops::NAME::call */
    FRAME_NODE = 32,     /* torch::autograd::NAME::apply */
    FRAME_EMPTY_CACHE = 64,
};

enum sutra_status snapshot_malformed(const struct snapshot *s, struct sutra_error *error, const char *format, ...) {
    char message[200];
    va_list arguments;
    va_start(arguments, format);
    vsnprintf(message, sizeof message, format, arguments);
    va_end(arguments);
    return error_file(error, SUTRA_DATA, s->source->name, "malformed memory snapshot: %s", message);
}

/* The result's name of a string of the input. */
uint32_t snapshot_copy_name(struct snapshot *s, uint32_t string) {
    if (!s->copied[string]) {
        const struct strings *strings = &s->objects->strings;
        uint32_t name = memory_name(s->memory, strings_text(strings, string), strings_length(strings, string));
        if (name == STRING_NONE)
            return STRING_NONE;
        s->copied[string] = name + 1;
    }
    return s->copied[string] - 1;
}

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
    static const char *const prefixes[] = {"torch::autograd::generated::", "torch::autograd::"};
    for (size_t i = 0; i < 2; i++) {
        size_t skip = strlen(prefixes[i]);
        if (!starts_with(text, n, prefixes[i]))
            continue;
        *name = text + skip;
        *length = word_length(*name, n - skip);
        if (*length && starts_with(*name + *length, n - skip - *length, "::apply("))
            return true;
    }
    return false;
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

struct snapshot_frame {
    uint32_t name, file; /* strings */
    int64_t line;
};

/* A text of a frame; absent or None: "". */
static bool frame_text(object_t object, uint32_t *string) {
    if (object_type(object) <= OBJECT_NONE)
        *string = WORD_N_KEYS;
    else
        *string = (uint32_t)object_payload(object);
    return object_type(object) <= OBJECT_NONE || object_type(object) == OBJECT_STRING;
}

static bool read_frame(struct snapshot *s, object_t object, struct snapshot_frame *frame) {
    if (object_type(object) != OBJECT_DICT)
        return false;
    frame->line = 0;
    object_t line = dict_get(s->objects, object, WORD_LINE);
    return frame_text(dict_get(s->objects, object, WORD_NAME), &frame->name) &&
           frame_text(dict_get(s->objects, object, WORD_FILENAME), &frame->file) &&
           (object_type(line) <= OBJECT_NONE || get_integer(s, line, &frame->line));
}

/* Flags of a frame's file and function; 0: malformed. */
static inline unsigned flags_of_frame(struct snapshot *s, object_t object) {
    struct snapshot_frame frame = {0};
    if (object_type(object) != OBJECT_DICT)
        return 0;
    uint8_t *flags = &s->frame_flags[object_payload(object)];
    if (!*flags && read_frame(s, object, &frame))
        *flags = classify_file(s, frame.file) | classify_name(s, frame.name);
    return *flags;
}

/* The last part of a path. */
static void append_file_name(const struct strings *strings, uint32_t file, struct buffer *text) {
    const char *path = strings_text(strings, file);
    size_t length = strings_length(strings, file);
    const char *slash = memrchr(path, '/', length);
    size_t skip = slash ? (size_t)(slash + 1 - path) : 0;
    buffer_append(text, path + skip, length - skip);
}

/* "file.py:12:function" */
static uint32_t name_frame(struct snapshot *s, const struct snapshot_frame *frame) {
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
    struct buffer text = {0};
    if (contains(file, file_length, "/torchinductor_"))
        buffer_append(&text, "<compiled>", 10);
    else
        append_file_name(&s->objects->strings, frame->file, &text);
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
    object_t user = OBJECT_ABSENT, python = OBJECT_ABSENT, node = OBJECT_ABSENT;
    for (uint32_t i = 0; i < n && !user; i++) {
        unsigned flags = flags_of_frame(s, items[i]);
        if (!flags)
            return snapshot_malformed(s, error, "a frame has no valid name, file name and line");
        if (flags & FRAME_NODE && !node)
            node = items[i];
        if (flags & FRAME_PYTHON && !python)
            python = items[i];
        if ((flags & (FRAME_PYTHON | FRAME_LIBRARY)) == FRAME_PYTHON)
            user = items[i];
    }
    struct snapshot_frame frame = {0};
    *found = s->non_python;
    if (!user && node) {
        const char *name = NULL;
        size_t length = 0;
        read_frame(s, node, &frame);
        node_of(strings_text(&s->objects->strings, frame.name), strings_length(&s->objects->strings, frame.name), &name,
                &length);
        *found = name_with_prefix(s, "<backward> ", name, length);
    } else if (user || python) {
        read_frame(s, user ? user : python, &frame);
        *found = name_frame(s, &frame);
    }
    return *found == STRING_NONE ? memory_name_error(s->memory, error) : SUTRA_OK;
}

/* The outermost operator below the innermost Python frame; else the autograd node; else "". */
static enum sutra_status find_operator(struct snapshot *s, object_t list, uint32_t *found, struct sutra_error *error) {
    const object_t *items = items_of(s->objects, list);
    const struct strings *strings = &s->objects->strings;
    uint32_t n = container_of(s->objects, list)->n;
    object_t outermost = OBJECT_ABSENT, node = OBJECT_ABSENT;
    for (uint32_t i = 0; i < n && !node; i++) {
        unsigned flags = flags_of_frame(s, items[i]);
        if (!flags)
            return snapshot_malformed(s, error, "a frame has no valid name, file name and line");
        if (flags & FRAME_PYTHON)
            break;
        outermost = flags & FRAME_OPERATOR ? items[i] : outermost;
        node = flags & FRAME_NODE ? items[i] : node;
    }
    *found = s->empty;
    if (outermost || node) {
        struct snapshot_frame frame = {0};
        const char *name = NULL;
        size_t length = 0;
        read_frame(s, outermost ? outermost : node, &frame);
        (outermost ? operator_of : node_of)(strings_text(strings, frame.name), strings_length(strings, frame.name),
                                            &name, &length);
        *found = name_with_prefix(s, outermost ? "aten::" : "", name, length);
    }
    return *found == STRING_NONE ? memory_name_error(s->memory, error) : SUTRA_OK;
}

/* Frames of an event or block: a list, or nothing. Fills the names of both; *list is its container. */
enum sutra_status snapshot_describe_frames(struct snapshot *s, object_t frames, uint32_t *frame,
                                           uint32_t *operator_name, uint32_t *list, struct sutra_error *error) {
    *frame = s->no_frames;
    *operator_name = s->empty;
    *list = LIST_EMPTY;
    if (object_type(frames) <= OBJECT_NONE)
        return SUTRA_OK;
    if (!is_list(frames))
        return snapshot_malformed(s, error, "\"frames\" is not a list");
    *list = first_equal_list(s->objects, (uint32_t)object_payload(frames));
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

/* Appends "file:line:function" of a frame, unless viewers omit the frame. False: a value is missing. */
static bool append_frame(struct snapshot *s, object_t object, struct buffer *text) {
    const struct strings *strings = &s->objects->strings;
    if (object_type(object) != OBJECT_DICT)
        return false;
    object_t name = dict_get(s->objects, object, WORD_NAME), file = dict_get(s->objects, object, WORD_FILENAME),
             line = dict_get(s->objects, object, WORD_LINE);
    char number[32] = "None";
    int64_t value;
    if (object_type(name) != OBJECT_STRING)
        return false;
    if (classify_name(s, (uint32_t)object_payload(name)) & FRAME_OMITTED)
        return true;
    if (object_type(file) != OBJECT_STRING)
        return false;
    if (classify_file(s, (uint32_t)object_payload(file)) & FRAME_OMITTED)
        return true;
    if (get_integer(s, line, &value))
        snprintf(number, sizeof number, "%" PRId64, value);
    else if (line != OBJECT_NONE)
        return false;
    buffer_append(text, ";", text->length > 0);
    append_file_name(strings, (uint32_t)object_payload(file), text);
    buffer_append(text, ":", 1);
    buffer_append(text, number, strlen(number));
    buffer_append(text, ":", 1);
    buffer_append(text, strings_text(strings, (uint32_t)object_payload(name)),
                  strings_length(strings, (uint32_t)object_payload(name)));
    return true;
}

enum sutra_status snapshot_name_stack(void *arg, uint32_t alloc, uint32_t *name, struct sutra_error *error) {
    struct snapshot *s = arg;
    uint32_t list = s->alloc_list[alloc];
    *name = s->allocs.frame[alloc];
    if (list == CONTAINER_NONE)
        return SUTRA_OK;
    *name = s->non_python;
    const struct container *container = &s->objects->containers[list];
    if (list == LIST_EMPTY || container->n == 0)
        return SUTRA_OK;
    struct list_facts *facts = &s->lists[list];
    if (!facts->stack) {
        struct buffer text = {0};
        bool is_valid = true;
        for (uint32_t i = container->n; i-- > 0 && is_valid && text.length < NAMES_FREE;)
            is_valid = append_frame(s, s->objects->items[container->first + i], &text);
        s->memory->names_are_full |= text.length >= NAMES_FREE;
        *name = text.failed || text.length >= NAMES_FREE
                    ? STRING_NONE
                    : memory_name(s->memory, text.length ? text.bytes : "", text.length);
        buffer_free(&text);
        if (!is_valid)
            return snapshot_malformed(s, error, "a frame has no valid name, file name and line");
        if (*name == STRING_NONE)
            return memory_name_error(s->memory, error);
        facts->stack = *name + 1;
    }
    *name = facts->stack - 1;
    return SUTRA_OK;
}

/* Whether torch.cuda.empty_cache() is among the frames of an event. */
enum sutra_status snapshot_is_empty_cache(struct snapshot *s, object_t frames, bool *found, struct sutra_error *error) {
    *found = false;
    if (object_type(frames) <= OBJECT_NONE)
        return SUTRA_OK;
    for (uint32_t i = 0; is_list(frames) && i < container_of(s->objects, frames)->n && !*found; i++) {
        unsigned flags = flags_of_frame(s, items_of(s->objects, frames)[i]);
        if (!flags)
            return snapshot_malformed(s, error, "a frame has no valid name, file name and line");
        *found = flags & FRAME_EMPTY_CACHE;
    }
    return is_list(frames) ? SUTRA_OK : snapshot_malformed(s, error, "\"frames\" is not a list");
}
