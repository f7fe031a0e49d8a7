/*
 * snapshot_events.c - frames, steps, retries and out-of-memory events of a device of a memory snapshot.
 *
 * An allocation has a user frame, an operator and a stack. Each list of frames is classified once, and each text once,
 * regardless of the number of allocations that share it.
 */
#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "analyze/memory/snapshot.h"
#include "base/error.h"
#include "base/shared.h"
#include "facts/code_names.h"
#include "facts/profiler_steps.h"
#include "text/numbers.h"

/* ---- Frames ---- */

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

static bool contains(const char *text, size_t n, const char *part) {
    return memmem(text, n, part, strlen(part)) != NULL;
}

static bool starts_with(const char *text, size_t n, const char *part) {
    return n >= strlen(part) && memcmp(text, part, strlen(part)) == 0;
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
    if (starts_with(text, n, "<") || path_has_folder(text, n, "einops/") || path_has_folder(text, n, "opt_einsum/") ||
        memory_is_library_path(text, n))
        flags |= FRAME_LIBRARY;
    for (size_t i = 0; i < sizeof omitted / sizeof *omitted; i++)
        if (path_find(text, n, omitted[i]))
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

/* A text of a frame; absent or falsy: "". */
static bool frame_text(const struct snapshot *s, object_t object, uint32_t *string) {
    bool is_text = object_type(object) == OBJECT_STRING;
    *string = is_text ? (uint32_t)object_payload(object) : WORD_N_KEYS;
    return is_text || is_falsy(s, object);
}

static bool read_frame(struct snapshot *s, object_t object, struct snapshot_frame *frame) {
    if (object_type(object) != OBJECT_DICT)
        return false;
    frame->line = 0;
    object_t line = dict_get(s->objects, object, WORD_LINE);
    return frame_text(s, dict_get(s->objects, object, WORD_NAME), &frame->name) &&
           frame_text(s, dict_get(s->objects, object, WORD_FILENAME), &frame->file) &&
           (is_falsy(s, line) || get_integer(s, line, &frame->line));
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
    const char *name = path_file(path, length);
    buffer_append(text, name, (size_t)(path + length - name));
}

/* "file.py:12:function" */
static uint32_t name_frame(struct snapshot *s, const struct snapshot_frame *frame) {
    struct pair_entry *entry =
        pair_table_insert(&s->frames, (uint64_t)frame->name << 32 | frame->file, (uint32_t)frame->line & 0x7fffffff);
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
    if (path_find(file, file_length, "/torchinductor_"))
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

enum sutra_status snapshot_describe_frames(struct snapshot *s, uint32_t list, uint32_t *frame, uint32_t *operator_name,
                                           struct sutra_error *error) {
    *frame = s->no_frames;
    *operator_name = s->empty;
    if (s->objects->containers[list].n == 0)
        return SUTRA_OK;
    struct list_facts *facts = &s->lists[list];
    if (!facts->frame) {
        enum sutra_status status;
        object_t frames = object_make(OBJECT_LIST, list);
        if ((status = find_user_frame(s, frames, frame, error)) ||
            (status = find_operator(s, frames, operator_name, error)))
            return status;
        facts->frame = *frame + 1;
        facts->operator_name = *operator_name + 1;
    }
    *frame = facts->frame - 1;
    *operator_name = facts->operator_name - 1;
    return SUTRA_OK;
}

/* Appends "file:line:function" of a frame, or nothing if viewers omit the frame. False: a value is missing. */
static bool render_frame(struct snapshot *s, object_t object, struct buffer *text) {
    const struct strings *strings = &s->objects->strings;
    if (object_type(object) != OBJECT_DICT)
        return false;
    object_t name = dict_get(s->objects, object, WORD_NAME), file = dict_get(s->objects, object, WORD_FILENAME),
             line = dict_get(s->objects, object, WORD_LINE);
    char number[NUMBER_TEXT_MAX + 2] = ":None:";
    size_t length = 6;
    int64_t value;
    if (object_type(name) != OBJECT_STRING)
        return false;
    if (classify_name(s, (uint32_t)object_payload(name)) & FRAME_OMITTED)
        return true;
    if (object_type(file) != OBJECT_STRING)
        return false;
    if (classify_file(s, (uint32_t)object_payload(file)) & FRAME_OMITTED)
        return true;
    if (get_integer(s, line, &value)) {
        length = 1 + integer_format(value, number + 1);
        number[length++] = ':';
    } else if (line != OBJECT_NONE) {
        return false;
    }
    append_file_name(strings, (uint32_t)object_payload(file), text);
    buffer_append(text, number, length);
    buffer_append(text, strings_text(strings, (uint32_t)object_payload(name)),
                  strings_length(strings, (uint32_t)object_payload(name)));
    return true;
}

/* Appends the text of a frame, after ';' if it is not the first one. Most frames are in many stacks: their texts are
 * kept, as long as they are not too long. False: a value is missing, or out of memory. */
static bool append_frame(struct snapshot *s, object_t object, struct buffer *text) {
    uint32_t *kept = object_type(object) == OBJECT_DICT ? &s->frame_texts[object_payload(object)] : NULL;
    if (kept && *kept == 0 && s->texts.n_bytes < NAMES_FREE) {
        struct buffer rendered = {0};
        bool is_valid = render_frame(s, object, &rendered);
        uint32_t id = is_valid && !rendered.failed
                          ? strings_intern(&s->texts, rendered.length ? rendered.bytes : "", rendered.length)
                          : STRING_NONE;
        *kept = id == STRING_NONE ? 0 : id + 1;
        text->failed |= rendered.failed || (is_valid && id == STRING_NONE);
        buffer_free(&rendered);
        if (!is_valid)
            return false;
    }
    size_t before = text->length;
    if (kept && *kept) {
        size_t length = strings_length(&s->texts, *kept - 1);
        buffer_append(text, ";", before > 0 && length > 0);
        buffer_append(text, strings_text(&s->texts, *kept - 1), length);
        return true;
    }
    buffer_append(text, ";", before > 0);
    size_t begin = text->length;
    bool is_valid = render_frame(s, object, text);
    if (text->length == begin && !text->failed) /* omitted */
        text->length = before;
    return is_valid;
}

enum sutra_status snapshot_name_stack(void *arg, uint32_t alloc, uint32_t *name, struct sutra_error *error) {
    struct snapshot *s = arg;
    uint32_t list = s->trace->alloc_list[alloc];
    *name = s->trace->allocs.frame[alloc];
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

/* ---- Steps ---- */

struct snapshot_annotation {
    int64_t time_us;
    uint32_t row, name, before; /* `before`: the range of this name that is open around this one */
    bool is_start;
};

struct snapshot_range {
    int64_t start_us, end_us;
    uint32_t name, row;
};

ORDER_BY(compare_annotations, struct snapshot_annotation, ASCENDING(time_us) ASCENDING(row))

ORDER_BY(compare_starts, struct snapshot_range, ASCENDING(start_us) ASCENDING(row))

ORDER_BY(compare_range_ends, struct snapshot_range, ASCENDING(end_us))

static const char *step_number(const struct objects *objects, uint32_t name) {
    return profiler_step_number(strings_text(&objects->strings, name), strings_length(&objects->strings, name),
                                STEPS_MEMORY);
}

/* Steps are the annotations ProfilerStep#N; else ranges that end with the steps of the first optimizer. */
enum sutra_status snapshot_find_steps(struct snapshot *s, object_t annotations, int64_t number_of_device,
                                      struct memory_device *device, struct sutra_error *error) {
    const struct objects *o = s->objects;
    uint32_t n = is_list(annotations) ? container_of(o, annotations)->n : 0, n_kept = 0, n_ranges = 0;
    struct snapshot_annotation *list = arena_alloc(s->arena, n, sizeof *list);
    struct snapshot_range *ranges = arena_alloc(s->arena, n, sizeof *ranges);
    struct pair_table open = {0};
    if (!is_list(annotations) && !is_falsy(s, annotations))
        return snapshot_malformed(s, error, "\"external_annotations\" is not a list");
    s->n_annotations += n;
    if (s->n_annotations > s->source->size)
        return error_file(error, SUTRA_DATA, s->source->name,
                          "repeated annotations: more annotations of all devices than bytes in the file");
    TRY_ALLOC(list && ranges, error);
    for (uint32_t i = 0; i < n; i++) {
        object_t value = items_of(o, annotations)[i];
        if (object_type(value) != OBJECT_DICT)
            return snapshot_malformed(s, error, "annotation %" PRIu32 " is not a dict", i);
        object_t of = dict_get(o, value, WORD_DEVICE), stage = dict_get(o, value, WORD_STAGE),
                 name = dict_get(o, value, WORD_NAME);
        int64_t number = number_of_device;
        if (of && (!get_integer(s, of, &number) || number != number_of_device))
            continue;
        struct snapshot_annotation *kept = &list[n_kept];
        bool is_used = stage == object_word(WORD_START) || stage == object_word(WORD_END);
        if (!get_integer(s, dict_get(o, value, WORD_TIME_US), &kept->time_us) || kept->time_us > TIME_US_MAX ||
            kept->time_us < -TIME_US_MAX || !stage || (is_used && object_type(name) != OBJECT_STRING))
            return snapshot_malformed(s, error, "annotation %" PRIu32 " has no valid stage, name and time_us", i);
        kept->row = i;
        kept->name = (uint32_t)object_payload(name);
        kept->is_start = stage == object_word(WORD_START);
        n_kept += is_used;
    }
    if (n_kept)
        qsort(list, n_kept, sizeof *list, compare_annotations);
    if (n_kept && !pair_table_init(&open))
        return error_memory(error);
    for (uint32_t i = 0; i < n_kept; i++) {
        struct pair_entry *entry = pair_table_insert(&open, list[i].name, 0);
        if (!entry) {
            pair_table_free(&open);
            return error_memory(error);
        }
        if (list[i].is_start) {
            list[i].before = entry->number;
            entry->number = i;
        } else if (entry->number != PAIR_NONE) {
            const struct snapshot_annotation *start = &list[entry->number];
            ranges[n_ranges] = (struct snapshot_range){start->time_us, list[i].time_us, list[i].name, n_ranges};
            n_ranges++;
            entry->number = start->before;
        }
    }
    pair_table_free(&open);

    /* Keep ProfilerStep ranges if there are some, else the ranges of one optimizer. */
    uint32_t n_steps = 0, first = EVENT_NONE;
    for (uint32_t i = 0; i < n_ranges; i++) {
        const char *text = strings_text(&o->strings, ranges[i].name);
        n_steps += step_number(o, ranges[i].name) != NULL;
        if (strncmp(text, "Optimizer.step#", 15) == 0 &&
            (first == EVENT_NONE || ranges[i].start_us < ranges[first].start_us))
            first = i;
    }
    if (!n_steps && first == EVENT_NONE)
        return SUTRA_OK;
    uint32_t kept_name = n_steps ? STRING_NONE : ranges[first].name, n_of = 0;
    for (uint32_t i = 0; i < n_ranges; i++)
        if (n_steps ? step_number(o, ranges[i].name) != NULL : ranges[i].name == kept_name)
            ranges[n_of++] = ranges[i];
    qsort(ranges, n_of, sizeof *ranges, n_steps ? compare_starts : compare_range_ends);
    device->steps = arena_zeros(&s->memory->arena, n_of, sizeof *device->steps);
    device->step_source = n_steps ? memory_name(s->memory, "ProfilerStep", 12) : snapshot_copy_name(s, kept_name);
    TRY_ALLOC(device->steps, error);
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
        step->number = strtoll(step_number(o, ranges[i].name), NULL, 10);
        step->start_ns = ranges[i].start_us * 1000;
    }
    return SUTRA_OK;
}

/* ---- Frees of segments, out-of-memory events ---- */

static bool frees_segment(enum word action) {
    return action == WORD_SEGMENT_FREE || action == WORD_SEGMENT_UNMAP;
}

/* Consecutive frees of segments: of empty_cache(), or before an allocation that failed first (a retry). */
enum sutra_status snapshot_find_runs(struct snapshot *s, struct memory_device *device, struct sutra_error *error) {
    const struct segment_event *events = s->trace->segment_events;
    uint32_t n = s->trace->n_segment_events;
    device->runs = arena_zeros(&s->memory->arena, n, sizeof *device->runs);
    TRY(arena_status(&s->memory->arena, error));
    for (uint32_t i = 0, end; i < n; i = end) {
        end = i + 1;
        if (!frees_segment(events[i].action))
            continue;
        struct memory_run *run = &device->runs[device->n_runs++];

        /* Is torch.cuda.empty_cache() among the frames? Frees may share a list. */
        object_t frames = events[i].frames;
        if (!is_list(frames) && !is_falsy(s, frames))
            return snapshot_malformed(s, error, "\"frames\" is not a list");
        uint32_t list = is_list(frames) ? first_equal_list(s->objects, (uint32_t)object_payload(frames)) : LIST_EMPTY;
        bool is_requested = s->lists[list].empties_cache == 2;
        for (uint32_t k = 0; !s->lists[list].empties_cache && k < s->objects->containers[list].n && !is_requested;
             k++) {
            unsigned flags = flags_of_frame(s, s->objects->items[s->objects->containers[list].first + k]);
            if (!flags)
                return snapshot_malformed(s, error, "a frame has no valid name, file name and line");
            is_requested = flags & FRAME_EMPTY_CACHE;
        }
        s->lists[list].empties_cache = is_requested ? 2 : 1;
        uint32_t event = events[i].event;
        for (end = i; end < n && frees_segment(events[end].action) && events[end].event == event; end++, event++)
            run->bytes += events[end].size;
        bool is_retry = end < n && events[end].event == event; /* allocates a segment, or fails */
        run->kind = is_requested ? "empty_cache" : is_retry ? "retry" : "other";
        run->event = events[i].event;
        run->n_segments = end - i;
        device->n_empty_cache += is_requested;
        device->n_retries += !is_requested && is_retry;
    }
    return SUTRA_OK;
}

static int compare_names(const void *a, const void *b, void *names) {
    return memory_compare_names(names, *(const uint32_t *)a, *(const uint32_t *)b);
}

/* Live bytes by frame while events are repeated: a tree of maxima over frames in ascending order. */
struct frame_totals {
    struct peak_tree tree;
    uint32_t *names; /* of slots */
    uint32_t *slot;  /* of names */
    uint32_t *counts;
    int64_t *bytes, live_bytes;
    uint32_t n;
};

static void change_frame_total(struct frame_totals *h, uint32_t name, int64_t bytes, bool adds) {
    uint32_t slot = h->slot[name];
    h->counts[slot] += adds ? 1u : UINT32_MAX;
    h->bytes[slot] += adds ? bytes : -bytes;
    h->live_bytes += adds ? bytes : -bytes;
    peak_tree_set(&h->tree, slot, h->counts[slot] ? h->bytes[slot] : -1);
}

static enum sutra_status fill_oom(struct snapshot *s, const struct segment_event *event, struct memory_device *device,
                                  struct frame_totals *h, struct sutra_error *error) {
    struct memory_oom *oom = &device->ooms[device->n_ooms++];
    object_t free_value = event->free_value, frames = event->frames;
    uint32_t i = event->event;
    if (!is_list(frames) && !is_falsy(s, frames))
        return snapshot_malformed(s, error, "\"frames\" is not a list");
    if (free_value && (!get_integer(s, free_value, &oom->device_free) || llabs(oom->device_free) > (int64_t)1 << 60))
        return snapshot_malformed(s, error, "event %" PRIu32 " has no valid device_free", i);
    oom->event = i;
    oom->time_ns = device->time_ns[i + 1];
    oom->requested = event->size;
    oom->active = device->active[i + 1];
    oom->reserved = device->reserved[i + 1];
    oom->largest_free_block = i >= s->trace->last_change ? device->segments.largest_free_block : -1;
    oom->fits_unfragmented = oom->requested <= oom->reserved - oom->active + oom->device_free;
    oom->live_bytes = h->live_bytes;
    while (h->n && oom->n_frames < MEMORY_N_OOM_FRAMES) {
        uint32_t slot = peak_tree_find(&h->tree, 0, h->n);
        if (h->tree.values[slot] < 0)
            break;
        oom->largest_frames[oom->n_frames++] = (struct memory_group){h->names[slot], h->counts[slot], h->bytes[slot]};
        peak_tree_set(&h->tree, slot, -1);
    }
    for (uint32_t k = 0; k < oom->n_frames; k++)
        peak_tree_set(&h->tree, h->slot[oom->largest_frames[k].name], oom->largest_frames[k].bytes);
    uint32_t list = is_list(frames) ? first_equal_list(s->objects, (uint32_t)object_payload(frames)) : LIST_EMPTY;
    return snapshot_describe_frames(s, list, &oom->frame, &oom->operator_name, error);
}

/* Repeats the events to sum live bytes by frame at each out-of-memory event: O(log frames) for each event. */
enum sutra_status snapshot_find_ooms(struct snapshot *s, struct memory_device *device, struct sutra_error *error) {
    const struct memory_allocs *a = &s->trace->allocs;
    const struct segment_event *events = s->trace->segment_events;
    uint32_t n_ooms = 0, n_events = device->n_events;
    for (uint32_t i = 0; i < s->trace->n_segment_events; i++)
        n_ooms += events[i].action == WORD_OOM;
    if (!n_ooms)
        return SUTRA_OK;
    struct frame_totals h = {0};
    h.slot = arena_zeros(s->arena, s->memory->names.n, sizeof *h.slot);
    h.names = arena_alloc(s->arena, (size_t)a->n + 1, sizeof *h.names);
    device->ooms = arena_zeros(&s->memory->arena, n_ooms, sizeof *device->ooms);
    uint32_t *freed = arena_alloc(s->arena, n_events, sizeof *freed); /* allocation that an event frees */
    TRY_ALLOC(h.slot && h.names && device->ooms && freed, error);
    for (uint32_t i = 0; i < a->n; i++)
        if (!h.slot[a->frame[i]]++)
            h.names[h.n++] = a->frame[i];
    qsort_r(h.names, h.n, sizeof *h.names, compare_names, &s->memory->names);
    for (uint32_t i = 0; i < h.n; i++)
        h.slot[h.names[i]] = i;
    h.counts = arena_zeros(s->arena, h.n, sizeof *h.counts);
    h.bytes = arena_zeros(s->arena, h.n, sizeof *h.bytes);
    TRY_ALLOC(peak_tree_init(&h.tree, s->arena, h.n ? h.n : 1) && h.counts && h.bytes, error);

    memset(freed, 0xff, n_events * sizeof *freed);
    for (uint32_t i = 0; i < a->n; i++) {
        if (a->end[i] != EVENT_NONE)
            freed[a->end[i]] = i;
        if (a->begin[i] == 0)
            change_frame_total(&h, a->frame[i], a->size[i], true);
    }
    uint32_t next = 0; /* allocations are in the order of events; allocations before the recording are between them */
    for (uint32_t i = 0; i < n_events; i++) {
        enum sutra_status status;
        if (freed[i] != EVENT_NONE)
            change_frame_total(&h, a->frame[freed[i]], a->size[freed[i]], false);
        for (; events < s->trace->segment_events + s->trace->n_segment_events && events->event <= i; events++)
            if (events->action == WORD_OOM && (status = fill_oom(s, events, device, &h, error)))
                return status;
        while (next < a->n && a->begin[next] == 0)
            next++;
        if (next < a->n && a->begin[next] == i + 1) {
            change_frame_total(&h, a->frame[next], a->size[next], true);
            next++;
        }
    }
    return SUTRA_OK;
}
