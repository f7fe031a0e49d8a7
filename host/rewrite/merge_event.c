/*
 * merge_event.c - the bytes of an event with other numbers in some places, which the reader has noted.
 *
 * Ids get the rank's position in the upper bits of those that a double holds; integers that reach into these, and
 * texts, become texts with the position in front.
 */
#include "rewrite/merge_event.h"

#include <stdio.h>

#include "read/fields.h"
#include "text/decimal_shift.h"
#include "text/scan.h"
#include "write/trace_copy.h"

/* A value that changes. */
struct merge_change {
    enum event_value value;
    size_t at, end; /* its text */
};

static void write_integer(int64_t value, struct buffer *out) {
    char *to = buffer_reserve(out, NUMBER_TEXT_MAX);
    if (to)
        out->length += integer_format(value, to);
}

void merge_id_write(struct merge_ids ids, const char *text, size_t length, struct buffer *out) {
    char number[64];
    int64_t id;
    if (*text == '"') {
        buffer_append(out, number, (size_t)snprintf(number, sizeof number, "\"%u:", ids.position));
        buffer_append(out, text + 1, length - 1);
    } else if (!field_integer(text, &id) || id < 0) {
        buffer_append(out, text, length);
    } else if (id >> ids.bits != 0) {
        buffer_append(out, number, (size_t)snprintf(number, sizeof number, "\"%u:%lld\"", ids.position, (long long)id));
    } else {
        write_integer((int64_t)((uint64_t)ids.position << ids.bits) + id, out);
    }
}

static void write_moved(int64_t shift_ns, const char *text, size_t length, struct buffer *out) {
    char *to = buffer_reserve(out, length + DECIMAL_SHIFT_ROOM);
    if (to)
        out->length += decimal_shift(text, length, shift_ns, to);
}

/* Whether events of this phase share their "id" with others: flows, and what is not synchronous. */
static bool has_shared_id(uint8_t phase) {
    return phase && strchr("stfbneNOD", phase);
}

/* Where the value ends that begins at `at`, whatever it is. */
static size_t end_of_value(const struct document *document, size_t at) {
    struct json_walker walker = walk_from(&document->source, at);
    walk_value(&walker);
    return trim_end(document->source.bytes, walker.at);
}

/* Whether it can stand for an id or a time. */
static bool is_text_or_number(const char *value) {
    return *value == '"' || *value == '-' || (*value >= '0' && *value <= '9');
}

/* Which values of an event of this phase change, as a set of enum event_value. */
static unsigned changing(const struct merge_changes *changes, uint8_t phase) {
    return 1U << VALUE_PID | 1U << VALUE_CORRELATION | 1U << VALUE_WAIT_RECORD |
           (changes->shift_ns && phase != 'M' ? 1U << VALUE_TS : 0) | (has_shared_id(phase) ? 1U << VALUE_ID : 0);
}

/* Where the values of an event stand, as the reader noted it: of those that are far inside, by looking again. */
static void find_values(struct merge_changes *changes, row_t event, size_t *at) {
    const struct device_events *events = &changes->trace->events;
    bool far = false;
    for (int value = 0; value < EVENT_N_VALUES; value++) {
        uint16_t noted = events->places[event].at[value];
        at[value] = noted ? events->text[event] + noted : 0;
        far |= noted == VALUE_FAR;
    }
    if (!far)
        return;
    struct event_places places;
    event_find(changes->trace, event, &changes->learned, &places);
    for (int value = 0; value < EVENT_N_VALUES; value++)
        at[value] = places.field[event_value_fields[value]].at;
}

/* Lists the changes in the order of the text. */
static unsigned list_changes(const struct merge_changes *changes, row_t event, const size_t *at,
                             struct merge_change *list) {
    const struct document *document = &changes->trace->document;
    unsigned wanted = changing(changes, changes->trace->events.phase[event]), n = 0;
    for (int value = 0; value < EVENT_N_VALUES; value++) {
        bool fits = value == VALUE_PID || is_text_or_number(document->source.bytes + at[value]);
        if (!at[value] || !(wanted >> value & 1) || !fits)
            continue;
        unsigned i = n++;
        for (; i > 0 && list[i - 1].at > at[value]; i--)
            list[i] = list[i - 1];
        list[i] = (struct merge_change){(enum event_value)value, at[value], end_of_value(document, at[value])};
    }
    return n;
}

static void write_change(const struct merge_changes *changes, const struct merge_change *change, int64_t pid,
                         struct buffer *out) {
    const char *text = changes->trace->document.source.bytes + change->at;
    size_t length = change->end - change->at;
    if (change->value == VALUE_PID)
        write_integer(pid, out);
    else if (change->value != VALUE_TS)
        merge_id_write(changes->ids, text, length, out);
    else if (*text == '"')
        buffer_append(out, text, length);
    else
        write_moved(changes->shift_ns, text, length, out);
}

/* The process of an event that tells none stands in front of the rest. */
static size_t write_missing_pid(const char *bytes, size_t at, int64_t pid, struct buffer *out) {
    char text[48];
    size_t next = at + 1;
    while (bytes[next] == ' ' || bytes[next] == '\n' || bytes[next] == '\r' || bytes[next] == '\t')
        next++;
    const char *behind = bytes[next] == '}' ? "" : ", ";
    buffer_append(out, text, (size_t)snprintf(text, sizeof text, "{\"pid\": %lld%s", (long long)pid, behind));
    return at + 1;
}

void merge_event_write(struct merge_changes *changes, row_t event, int64_t pid, struct buffer *out) {
    const char *bytes = changes->trace->document.source.bytes;
    size_t from = changes->trace->events.text[event], end = trace_event_end(changes->trace, event);
    struct merge_change list[EVENT_N_VALUES];
    size_t at[EVENT_N_VALUES];
    find_values(changes, event, at);
    unsigned n = list_changes(changes, event, at, list);
    if (!at[VALUE_PID])
        from = write_missing_pid(bytes, from, pid, out);
    for (unsigned i = 0; i < n; i++) {
        buffer_append(out, bytes + from, list[i].at - from);
        write_change(changes, &list[i], pid, out);
        from = list[i].end;
    }
    buffer_append(out, bytes + from, end - from);
}
