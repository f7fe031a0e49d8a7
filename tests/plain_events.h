/*
 * plain_events.h - compares the rows of a device trace with rows from a parse of each event alone, without learned
 * layouts.
 */
#ifndef TESTS_PLAIN_EVENTS_H
#define TESTS_PLAIN_EVENTS_H

#include <stdlib.h>
#include <string.h>

#include "context/context.h"
#include "read/device_trace.h"
#include "read/event_columns.h"

static inline bool plain_number(const char *bytes, struct json_span place, struct number found, bool is_there) {
    struct number number = number_integer(0);
    bool expected = place.at && field_time(bytes + place.at, &number);
    return expected == is_there && number.bits == found.bits && number.kind == found.kind;
}

static inline bool plain_key(struct field_reader *reader, struct json_span place, value_key absent, value_key found) {
    bool is_nan = place.at && reader->source->bytes[place.at] == 'N'; /* which is equal to none */
    return is_nan || (place.at ? field_key(reader, place) : absent) == found;
}

static inline bool plain_string(struct field_reader *reader, const struct strings *strings, struct json_span place,
                                bool may_be_other, uint32_t found) {
    size_t length = 0;
    const char *text = "";
    if (place.at && reader->source->bytes[place.at] != '"' && !may_be_other)
        return found == STRING_NONE;
    if (place.at && reader->source->bytes[place.at] == '"')
        text = field_string(reader, place, &length);
    return found != STRING_NONE && strings_length(strings, found) == length &&
           memcmp(strings_text(strings, found), text, length) == 0;
}

static inline uint16_t plain_device(struct field_reader *reader, struct json_span place) {
    const char *text = reader->source->bytes + place.at;
    if (!place.at)
        return DEVICE_ABSENT;
    value_key key = field_key(reader, place);
    bool as_integer = (*text == '-' || (*text >= '0' && *text <= '9')) && strcspn(text, ".eE") >= strcspn(text, ",}] ");
    return as_integer && key >= 0 && key < DEVICE_ABSENT ? (uint16_t)key : DEVICE_OTHER;
}

static inline uint8_t plain_phase(const char *bytes, struct json_span place) {
    const char *text = bytes + place.at;
    if (!place.at)
        return 0;
    return *text == '"' && place.end == place.at + 2 && text[1] > PHASE_END && text[1] < 0x7f ? (uint8_t)text[1]
                                                                                              : PHASE_OTHER;
}

/* Whether the recorded offsets, if requested, are the offsets of the fields. */
static inline bool plain_places(const struct device_events *events, row_t row, const struct json_span *field) {
    for (int value = 0; value < EVENT_N_VALUES && events->keep_offsets; value++) {
        size_t at = field[event_value_fields[value]].at, from = at ? at - events->text[row] : 0;
        if (events->places[row].at[value] != (from < VALUE_FAR ? from : VALUE_FAR))
            return false;
    }
    return true;
}

/* The first difference, or NULL. */
static inline const char *plain_difference(struct sutra_context *context, const struct sutra_device_trace *trace,
                                           row_t row) {
    const struct device_events *events = &trace->events;
    const char *bytes = trace->document.source.bytes;
    struct field_reader reader = {.source = &trace->document.source, .values = &context->values};
    struct event_spans places;
    event_find(trace, row, NULL, &places);
    const struct json_span *field = places.field;
    uint16_t flags = events->flags[row];
    const uint8_t phase = plain_phase(bytes, field[FIELD_PHASE]);
    if (phase == 'E') /* has only a time and a thread (test_begin_end.c) */
        return events->phase[row] == PHASE_END && strings_length(&trace->strings, events->name[row]) == 0 &&
                       strings_length(&trace->strings, events->category[row]) == 0 && events->correlation[row] == -1 &&
                       events->external[row] == -1 && events->rf[row] == KEY_NULL
                   ? NULL
                   : "E event";
    value_key external = -1, tid = field[FIELD_TID].at ? field_key(&reader, field[FIELD_TID]) : 0;
    if (field[FIELD_EXTERNAL].at)
        field_int(&reader, field[FIELD_EXTERNAL], &external);
    const char *what = NULL;
    size_t collective = field[FIELD_COLLECTIVE_NAME].at;
    bool has_collective = collective && bytes[collective] == '"' && bytes[collective + 1] != '"';
    if (has_collective != ((flags & EVENT_HAS_COLLECTIVE) != 0))
        what = "Collective name";
    if (!plain_number(bytes, field[FIELD_TS], number_at(events->ts, row), flags & EVENT_HAS_TS))
        what = "ts";
    if (phase != 'B' && !plain_number(bytes, field[FIELD_DUR], number_at(events->dur, row), flags & EVENT_HAS_DUR))
        what = "dur";
    if (!plain_string(&reader, &trace->strings, field[FIELD_NAME], true, events->name[row]))
        what = "name";
    bool is_npu = !field[FIELD_CATEGORY].at && events->category[row] != STRING_NONE &&
                  strings_length(&trace->strings, events->category[row]) > 0; /* set by the reader, as the stream */
    if (!is_npu && !plain_string(&reader, &trace->strings, field[FIELD_CATEGORY], false, events->category[row]))
        what = "cat";
    if (!plain_key(&reader, field[FIELD_PID], KEY_ABSENT, events->pid[row]))
        what = "pid";
    if (bytes[field[FIELD_TID].at] != 'N' && events->tid[row] != (tid == KEY_UNHASHABLE ? 0 : tid))
        what = "tid";
    if (events->external[row] != external)
        what = "External id";
    if (!plain_key(&reader, field[FIELD_RF], KEY_NULL, events->rf[row]))
        what = "Record function id";
    if (!plain_key(&reader, field[FIELD_CORRELATION], -1, events->correlation[row]))
        what = "correlation";
    if (!is_npu && !plain_key(&reader, field[FIELD_STREAM], KEY_ABSENT, events->stream[row]))
        what = "stream";
    if (events->device[row] != plain_device(&reader, field[FIELD_DEVICE]))
        what = "device";
    if (events->phase[row] != (phase == 'B' ? 'X' : phase))
        what = "ph";
    if (!plain_places(events, row, field))
        what = "places";
    size_t id = field[FIELD_ID].at, name = field[FIELD_NAME].at, stream = field[FIELD_STREAM].at;
    bool waits = field[FIELD_WAIT_STREAM].at || field[FIELD_WAIT_RECORD].at;
    if (!!(flags & EVENT_HAS_ID) != (id && bytes[id] != 'n') || !!(flags & EVENT_HAS_NAME) != !!name ||
        !!(flags & EVENT_NAME_NO_STRING) != (name && bytes[name] != '"') ||
        !!(flags & EVENT_HAS_TID) != !!field[FIELD_TID].at || !!(flags & EVENT_HAS_WAIT) != waits ||
        ((flags & EVENT_STREAM_INTEGER) && !(stream && strchr("0123456789", bytes[stream]))))
        what = "flags";
    buffer_free(&reader.scratch);
    return what;
}

/* Whether the columns that were read ahead equal the columns of a plain walk. */
static inline bool plain_ahead(struct sutra_context *context, const struct sutra_device_trace *trace) {
    enum { N_FIELDS = 3 };
    static const struct requested_field fields[N_FIELDS] = {
        {"id", ASK_KEY, true}, {"args", ASK_ARGUMENTS, true}, {"args", ASK_LAUNCH, true}};
    const struct device_events *events = &trace->events;
    struct requested_column ahead[N_FIELDS], walked[N_FIELDS];
    value_key *id = malloc(((size_t)events->n + 1) * sizeof *id);
    uint32_t *arguments = malloc(((size_t)events->n + 1) * sizeof *arguments);
    uint32_t *launches = malloc(((size_t)events->n + 1) * sizeof *launches);
    bool ok = id && arguments && launches &&
              !event_columns_request(context, trace, fields, N_FIELDS, NULL, events->n, ahead, NULL);
    if (ok) {
        memcpy(id, ahead[0].key, events->n * sizeof *id);
        memcpy(arguments, ahead[1].string, events->n * sizeof *arguments);
        memcpy(launches, ahead[2].string, events->n * sizeof *launches);
        event_columns_forget(trace->columns);
        ok = !event_columns_request(context, trace, fields, N_FIELDS, NULL, events->n, walked, NULL);
    }
    for (row_t row = 0; row < events->n && ok; row++) {
        struct event_spans places;
        event_find(trace, row, NULL, &places);
        bool is_nan = trace->document.source.bytes[places.field[FIELD_ID].at] == 'N'; /* which is equal to none */
        ok = arguments[row] == walked[1].string[row] && launches[row] == walked[2].string[row] &&
             (is_nan || id[row] == walked[0].key[row]);
    }
    free(id);
    free(arguments);
    free(launches);
    return ok;
}

#endif
