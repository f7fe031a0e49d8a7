/*
 * events.c - the events of a device trace as columns. Ids and times are not copied; their columns hold a reference to
 * the trace.
 */
#include <stdlib.h>
#include <string.h>

#include "arrow/makers.h"
#include "base/error.h"
#include "base/shared.h"
#include "columns/column.h"
#include "link/link.h"
#include "read/device_trace.h"

struct event_source {
    struct sutra_context *context;
    const struct sutra_device_trace *trace;
    struct column_owner owner;
};

static void leave_trace(void *trace) {
    device_trace_unref(trace);
}

/* ---- Ids ---- */

enum id_column { ID_PID, ID_TID, ID_STREAM, ID_CORRELATION, ID_EXTERNAL, ID_RF };

static const value_key *ids_of(const struct device_events *events, uint32_t which) {
    switch (which) {
    case ID_PID:
        return events->pid;
    case ID_TID:
        return events->tid;
    case ID_STREAM:
        return events->stream;
    case ID_CORRELATION:
        return events->correlation;
    case ID_EXTERNAL:
        return events->external;
    default:
        return events->rf;
    }
}

static void make_ids(const void *of, const struct column_maker *maker, struct batch *batch) {
    const struct event_source *source = of;
    bool minus_one = maker->which == ID_CORRELATION || maker->which == ID_EXTERNAL;
    batch_keys(batch, maker->name, ids_of(&source->trace->events, maker->which), minus_one ? -1 : KEY_ABSENT,
               &source->owner);
}

static void make_id_texts(const void *of, const struct column_maker *maker, struct batch *batch) {
    const struct event_source *source = of;
    batch_key_texts(batch, maker->name, ids_of(&source->trace->events, maker->which), &source->context->values);
}

/* An absent tid is 0, with a flag. */
static void make_tid(const void *of, const struct column_maker *maker, struct batch *batch) {
    const struct event_source *source = of;
    const struct device_events *events = &source->trace->events;
    struct batch_values values = values_held(events->tid, &source->owner);
    values.valid = valid_new(batch->n_rows);
    for (row_t i = 0; i < events->n && !values.valid.failed; i++)
        valid_append(&values.valid, i, events->flags[i] & EVENT_HAS_TID && key_is_integer(events->tid[i]));
    batch_values(batch, maker->name, "l", NULL, values);
}

/* ---- Times, names and other fields ---- */

static void make_time(const void *of, const struct column_maker *maker, struct batch *batch) {
    const struct event_source *source = of;
    const struct device_events *events = &source->trace->events;
    uint8_t *is_present = column_new(events->n, sizeof *is_present);
    batch->failed |= !is_present;
    for (row_t i = 0; i < events->n && is_present; i++)
        is_present[i] = (events->flags[i] & maker->which) != 0;
    if (is_present)
        batch_numbers(batch, maker->name, "us", maker->which == EVENT_HAS_TS ? events->ts : events->dur, is_present, 1,
                      &source->owner);
    free(is_present);
}

static void make_category(const void *of, const struct column_maker *maker, struct batch *batch) {
    const struct event_source *source = of;
    const struct strings *strings = &source->trace->strings;
    batch_strings_but(batch, maker->name, source->trace->events.category, strings, strings_find(strings, "", 0));
}

/* Names that exist and are strings. */
static void make_name(const void *of, const struct column_maker *maker, struct batch *batch) {
    const struct event_source *source = of;
    const struct device_events *events = &source->trace->events;
    uint32_t *names = column_new(events->n, sizeof *names);
    for (row_t i = 0; i < events->n && names; i++) {
        uint16_t flags = events->flags[i] & (EVENT_HAS_NAME | EVENT_NAME_NO_STRING);
        names[i] = flags == EVENT_HAS_NAME ? events->name[i] : STRING_NONE;
    }
    batch_strings(batch, maker->name, names, &source->trace->strings);
    free(names);
}

static void make_phase(const void *of, const struct column_maker *maker, struct batch *batch) {
    const struct event_source *source = of;
    const struct device_events *events = &source->trace->events;
    struct text_list texts = {0};
    struct valid_rows valid = valid_new(events->n);
    int8_t *numbers = column_new(events->n, sizeof *numbers);
    uint8_t number_of[256] = {0}; /* number in the dictionary + 1 */
    for (row_t i = 0; i < events->n && numbers && !valid.failed; i++) {
        uint8_t phase = events->phase[i];
        bool plain = phase > PHASE_END;
        valid_append(&valid, i, plain);
        if (plain && !number_of[phase]) {
            text_list_add(&texts, (const char *)&phase, 1);
            number_of[phase] = (uint8_t)texts.n;
        }
        numbers[i] = (int8_t)(plain ? number_of[phase] - 1 : 0);
    }
    batch_dictionary(batch, maker->name, numbers, true, &texts, valid);
}

static void make_kind(const void *of, const struct column_maker *maker, struct batch *batch) {
    static const char *const words[SUTRA_N_CLASSES] = {
        [SUTRA_CLASS_OTHER] = "other",
        [SUTRA_CLASS_CPU_OPERATOR] = "cpu_operator",
        [SUTRA_CLASS_LAUNCH] = "launch",
        [SUTRA_CLASS_GPU_OPERATOR] = "gpu_operator",
        [SUTRA_CLASS_LAUNCH_FLOW] = "launch_flow",
        [SUTRA_CLASS_MEMORY_SET] = "memory_set",
    };
    static const uint8_t class_of[] = {
        [EVENT_OTHER] = SUTRA_CLASS_OTHER,
        [EVENT_CPU_OP] = SUTRA_CLASS_CPU_OPERATOR,
        [EVENT_LAUNCH] = SUTRA_CLASS_LAUNCH,
        [EVENT_GPU_OP] = SUTRA_CLASS_GPU_OPERATOR,
        [EVENT_LAUNCH_FLOW] = SUTRA_CLASS_LAUNCH_FLOW,
        [EVENT_MEMORY_SET] = SUTRA_CLASS_MEMORY_SET,
    };
    const struct event_source *source = of;
    const struct device_events *events = &source->trace->events;
    struct arena arena = {0};
    struct string_roles *roles = names_find(&source->trace->strings, READER_LINKER, &arena);
    uint8_t *numbers = arena_alloc(&arena, events->n, sizeof *numbers);
    for (row_t i = 0; i < events->n && !arena.failed; i++)
        numbers[i] = class_of[event_classify(events, roles, i)];
    batch_words(batch, maker->name, arena.failed ? NULL : numbers, words, SUTRA_N_CLASSES);
    arena_free(&arena);
}

/* Devices of events with a stream; null for other events. */
static void make_device(const void *of, const struct column_maker *maker, struct batch *batch) {
    const struct event_source *source = of;
    const struct device_events *events = &source->trace->events;
    struct field_reader fields = {.source = &source->trace->document.source, .values = &source->context->values};
    struct event_forms learned = {0};
    value_key *keys = column_new(events->n, sizeof *keys);
    struct batch_values values = {.data = keys, .valid = valid_new(events->n)};
    for (row_t i = 0; i < events->n && keys && !values.valid.failed && !fields.failed; i++) {
        bool is_there = events->device[i] != DEVICE_ABSENT && events->stream[i] != KEY_ABSENT;
        value_key key = is_there ? events->device[i] : KEY_ABSENT;
        if (key == DEVICE_OTHER) { /* only the event's text has the device */
            struct event_spans places = {0};
            event_find(source->trace, i, &learned, &places);
            key = field_key(&fields, places.field[FIELD_DEVICE]);
        }
        if (key_is_integer(key))
            keys[i] = key;
        valid_append(&values.valid, i, key_is_integer(key));
    }
    batch->failed |= fields.failed;
    event_forms_free(&learned);
    buffer_free(&fields.scratch);
    batch_values(batch, maker->name, "l", NULL, values);
}

static const struct column_maker makers[] = {
    {"ts", make_time, EVENT_HAS_TS, false},
    {"dur", make_time, EVENT_HAS_DUR, false},
    {"name", make_name, 0, false},
    {"category", make_category, 0, false},
    {"phase", make_phase, 0, false},
    {"kind", make_kind, 0, false},
    {"pid", make_ids, ID_PID, false},
    {"tid", make_tid, 0, false},
    {"stream", make_ids, ID_STREAM, false},
    {"device", make_device, 0, false},
    {"correlation", make_ids, ID_CORRELATION, false},
    {"external_id", make_ids, ID_EXTERNAL, false},
    {"rf_id", make_ids, ID_RF, false},
    {"pid_text", make_id_texts, ID_PID, true},
    {"tid_text", make_id_texts, ID_TID, true},
    {"stream_text", make_id_texts, ID_STREAM, true},
    {"correlation_text", make_id_texts, ID_CORRELATION, true},
    {"external_id_text", make_id_texts, ID_EXTERNAL, true},
    {"rf_id_text", make_id_texts, ID_RF, true},
};

/* Members of args, ASK_MAX at a time. */
static enum sutra_status make_args(const void *of, const struct sutra_columns_options *options, struct batch *batch,
                                   struct sutra_error *error) {
    const struct event_source *source = of;
    struct requested_field fields[ASK_MAX];
    struct requested_column columns[ASK_MAX];
    for (size_t first = 0; first < options->n_args; first += ASK_MAX) {
        size_t n = MIN(options->n_args - first, ASK_MAX);
        for (size_t i = 0; i < n; i++)
            fields[i] = (struct requested_field){options->args[first + i], ASK_PLACE, false};
        TRY(event_columns_request(source->context, source->trace, fields, n, NULL, source->trace->events.n, columns,
                                  error));
        for (size_t i = 0; i < n; i++)
            batch_places(batch, fields[i].name, &source->trace->document, columns[i].place);
    }
    return SUTRA_OK;
}

enum sutra_status sutra_device_trace_arrow(struct sutra_context *context, const struct sutra_device_trace *trace,
                                           const struct sutra_columns_options *options, struct ArrowArrayStream *stream,
                                           struct sutra_error *error) {
    static const struct column_set set = COLUMN_SET(makers, make_args);
    struct batch batch = {.n_rows = trace->events.n};
    struct sutra_device_trace *owner = (struct sutra_device_trace *)trace;
    struct event_source source = {context, trace, {owner, &owner->holders, leave_trace}};
    stage_begin(context, "columns", trace->events.n);
    enum sutra_status status = columns_stream(context->pool, &set, &source, options, &batch, stream, error);
    stage_end(context);
    return status;
}
