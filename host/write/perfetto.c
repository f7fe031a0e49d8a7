/*
 * perfetto.c - implements perfetto_write() of sink.h. Source of the format: protos/perfetto/trace of Perfetto.
 *
 *     events --mark--> sort by (track, start, longest first) --place--> slices nest on lanes --encode--> packets
 *
 * A process, a thread or stream, and each series of a counter is a track. Perfetto nests the slices of a track, so
 * slices that overlap without nesting go to further lanes: tracks of the same name, which the viewer shows as one.
 *
 *     stream 7   |--- a ---|                lane 0   |--- a ---|
 *                      |--- b ---|          lane 1         |--- b ---|
 *
 * A packet begins a slice, ends it, or is an instant or a value of a counter. The packets of a lane, in the order of
 * time, are cut into sequences that are encoded in parallel. A sequence has its own interned texts, its default track,
 * and a clock that counts from the packet before, so most packets need two bytes for their time.
 *
 * Memory: 32 bytes per event, 8 per packet, and the columns of the reader.
 */
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "base/arena.h"
#include "base/error.h"
#include "base/shared.h"
#include "columns/hash_tables.h"
#include "columns/strings.h"
#include "read/device_trace.h"
#include "read/document.h"
#include "sutra/trace.h"
#include "text/numbers.h"
#include "text/strings.h"
#include "write/protobuf.h"
#include "write/sink.h"

/* Fields of Perfetto's messages. */
enum { TRACE_PACKET = 1 };
enum {
    PACKET_CLOCK_SNAPSHOT = 6,
    PACKET_TIMESTAMP = 8,
    PACKET_SEQUENCE_ID = 10,
    PACKET_TRACK_EVENT = 11,
    PACKET_INTERNED_DATA = 12,
    PACKET_SEQUENCE_FLAGS = 13,
    PACKET_DEFAULTS = 59,
    PACKET_TRACK_DESCRIPTOR = 60,
};
enum { FLAG_STATE_CLEARED = 1 };
enum { SNAPSHOT_CLOCKS = 1, CLOCK_ID = 1, CLOCK_TIMESTAMP = 2, CLOCK_IS_INCREMENTAL = 3 };
enum { ID_OF_BOOT_CLOCK = 6, ID_OF_SEQUENCE_CLOCK = 64 };
enum { DEFAULTS_TRACK_EVENT = 11, DEFAULTS_CLOCK_ID = 58, TRACK_EVENT_DEFAULTS_UUID = 11 };
enum {
    DESCRIPTOR_UUID = 1,
    DESCRIPTOR_NAME = 2,
    DESCRIPTOR_PARENT = 5,
    DESCRIPTOR_COUNTER = 8,
    DESCRIPTOR_CHILD_ORDERING = 11,
    DESCRIPTOR_SIBLING_RANK = 12,
};
enum { ORDERED_BY_RANK = 3 };
enum {
    EVENT_CATEGORY_IDS = 3,
    EVENT_ANNOTATIONS = 4,
    EVENT_TYPE = 9,
    EVENT_NAME_ID = 10,
    EVENT_COUNTER_VALUE = 30,
    EVENT_REAL_COUNTER_VALUE = 44,
    EVENT_FLOW_IDS = 47,
    EVENT_ENDING_FLOW_IDS = 48,
};
enum { TYPE_SLICE_BEGIN = 1, TYPE_SLICE_END = 2, TYPE_INSTANT = 3, TYPE_COUNTER = 4 };
enum {
    ANNOTATION_NAME_ID = 1,
    ANNOTATION_BOOL = 2,
    ANNOTATION_INTEGER = 4,
    ANNOTATION_REAL = 5,
    ANNOTATION_TEXT_ID = 17,
};
enum { INTERNED_ID = 1, INTERNED_TEXT = 2 };

/* Uses of an interned text, and the field of each in InternedData. */
enum text_use { TEXT_CATEGORY, TEXT_EVENT, TEXT_KEY, TEXT_VALUE, N_TEXT_USES };
static const unsigned interned_field[N_TEXT_USES] = {1, 2, 3, 29};

#define LANES_MAX     16
#define START_ROWS    ((row_t)1 << 14) /* events whose times a task finds */
#define PIECE_PACKETS ((uint64_t)1 << 16)

enum mark_kind { MARK_NONE, MARK_SLICE, MARK_BEGIN, MARK_END, MARK_INSTANT, MARK_COUNTER, MARK_FLOW, MARK_FLOW_END };

/* An event on its track, or one series of a counter event. */
struct timeline_mark {
    int64_t start;     /* ns */
    uint64_t duration; /* ns; of a counter the offset of its value in the text */
    uint32_t track;
    row_t event;
    uint32_t first_flow; /* of a slice: its first flow, plus 1 */
    uint8_t kind;        /* enum mark_kind */
    uint8_t lane;        /* of its track */
};

struct track {
    const char *name;
    uint32_t parent; /* a track, or NO_TRACK */
    int64_t rank;    /* among the tracks with the same parent */
    bool is_counter, has_name;
    uint32_t n_lanes;
    uint64_t first_uuid; /* of its lanes */
};

#define NO_TRACK UINT32_MAX

/* A flow that begins, continues or ends in a slice. */
struct flow {
    uint64_t id;
    uint32_t next; /* of the same slice, plus 1 */
    bool ends;
};

/* Packets of one lane that one task encodes. */
struct sequence {
    uint64_t first, n; /* in `packets` */
    uint64_t track_uuid;
};

struct timeline_writer {
    struct sutra_context *context;
    struct sutra_device_trace *trace;
    struct arena arena;
    struct pair_table track_of; /* (pid, 0), (tid, process + 1), (name and series, process + 1 + half) */
    struct strings texts;       /* names of the series of counters, ids of flows */
    struct track *tracks;
    int64_t *starts; /* by event, ns */
    struct timeline_mark *marks;
    row_t *order;      /* marks by track and time */
    uint64_t *packets; /* twice the number of a mark, plus 1: the slice ends */
    struct flow *flows;
    struct sequence *sequences;
    uint64_t n_marks, marks_capacity, n_flows, flows_capacity, n_packets, n_sequences, sequences_capacity,
        tracks_capacity;
    uint64_t n_lanes;
    uint32_t n_tracks;
    uint64_t n_shortened, n_skipped, n_unbound;
    bool failed; /* out of memory */
};

/* ---- Tracks ---- */

static uint32_t track_numbered(struct timeline_writer *w, uint64_t first, uint32_t second, uint32_t parent) {
    struct pair_entry *entry = pair_table_insert(&w->track_of, first, second);
    if (!entry)
        return NO_TRACK;
    if (entry->number == PAIR_NONE) {
        if (!arena_grow(&w->arena, &w->tracks, w->n_tracks, &w->tracks_capacity, sizeof *w->tracks))
            return NO_TRACK;
        entry->number = w->n_tracks++;
        w->tracks[entry->number] = (struct track){.parent = parent};
    }
    return entry->number;
}

/* A process (`parent` is NO_TRACK), or a thread of one. A new track is named by its id: "thread 7". */
static uint32_t track_of_id(struct timeline_writer *w, const char *kind, value_key id, uint32_t parent) {
    uint32_t n = w->n_tracks, track = track_numbered(w, (uint64_t)id, parent + 1, parent);
    if (track == n && n < w->n_tracks) {
        char room[NUMBER_TEXT_MAX];
        size_t length = 0;
        const char *text = key_is_value(id) ? values_text(&w->context->values, id, room, &length) : "";
        w->tracks[track].name = arena_format(&w->arena, "%s %.*s", kind, (int)length, text);
    }
    return track;
}

/* "Name" or, with several series, "Name series". */
static uint32_t counter_track(struct timeline_writer *w, uint32_t process, uint32_t name, const char *series,
                              size_t length) {
    uint32_t number = strings_intern(&w->texts, series, length), n = w->n_tracks;
    if (number == STRING_NONE)
        return NO_TRACK;
    uint32_t track = track_numbered(w, (uint64_t)name << 32 | number, (process + 1) | (uint32_t)1 << 31, process);
    if (track == n && n < w->n_tracks) {
        w->tracks[track].is_counter = true;
        w->tracks[track].name = arena_format(&w->arena, "%s%s%.*s", strings_text(&w->trace->strings, name),
                                             length ? " " : "", (int)length, series);
    }
    return track;
}

/* Names and ranks from metadata: process_name, process_labels, thread_name and the sort indices. */
static void read_metadata(struct timeline_writer *w, row_t event, uint32_t process, uint32_t thread) {
    const struct device_events *events = &w->trace->events;
    const struct document *document = &w->trace->document;
    const char *name = strings_text(&w->trace->strings, events->name[event]);
    struct event_spans spans;
    event_find(w->trace, event, NULL, &spans);
    size_t args = spans.field[FIELD_ARGS].at;
    if (!args || document->source.bytes[args] != '{')
        return;
    bool is_sort = strstr(name, "_sort_index"), is_label = strcmp(name, "process_labels") == 0;
    bool of_process = strncmp(name, "process_", 8) == 0;
    struct track *track = &w->tracks[of_process ? process : thread];
    struct json_span value = document_member_of(document, args, is_sort ? "sort_index" : is_label ? "labels" : "name");
    if (!value.at || (!of_process && strncmp(name, "thread_", 7) != 0))
        return;
    const char *text = document->source.bytes + value.at;
    if (is_sort) {
        int64_t rank;
        if (field_integer(text, &rank))
            track->rank = MAX(MIN(rank, INT32_MAX), INT32_MIN);
        return;
    }
    if (*text != '"')
        return;
    size_t raw = value.end - value.at - 1;
    char *decoded = malloc(raw + 1);
    if (!decoded) {
        w->failed = true;
        return;
    }
    size_t length = string_decode(text + 1, raw, decoded);
    while (length && decoded[length - 1] == ' ')
        length--;
    if (length && (is_label || !of_process || !track->has_name)) {
        bool extends = is_label && track->name; /* "python" and "GPU 0" */
        track->name =
            arena_format(&w->arena, "%s%s%.*s", extends ? track->name : "", extends ? " " : "", (int)length, decoded);
        track->has_name = true;
    }
    free(decoded);
}

/* ---- Marks ---- */

static bool add_mark(struct timeline_writer *w, struct timeline_mark mark) {
    if (mark.track == NO_TRACK || w->n_marks >= ROW_LIMIT ||
        !arena_grow(&w->arena, &w->marks, w->n_marks, &w->marks_capacity, sizeof *w->marks))
        return false;
    w->marks[w->n_marks++] = mark;
    return true;
}

/* A mark per numeric member of the arguments. */
static bool add_counter(struct timeline_writer *w, row_t event, int64_t start, uint32_t process) {
    const struct device_events *events = &w->trace->events;
    const struct source *source = &w->trace->document.source;
    struct event_spans spans;
    event_find(w->trace, event, NULL, &spans);
    size_t args = spans.field[FIELD_ARGS].at;
    if (!args || source->bytes[args] != '{')
        return true;
    struct json_walker walker = walk_from(source, args);
    for (bool more = walk_object(&walker); more; more = walk_member_end(&walker)) {
        struct json_span key = walk_key(&walker);
        char c = walk_char(&walker);
        struct json_span value = walk_value(&walker);
        if (walker.expected)
            break;
        if (c != '-' && (c < '0' || c > '9'))
            continue;
        uint32_t track =
            counter_track(w, process, events->name[event], source->bytes + key.at + 1, key.end - key.at - 1);
        if (!add_mark(w, (struct timeline_mark){start, value.at, track, event, 0, MARK_COUNTER, 0}))
            return false;
    }
    return true;
}

/* Time of the event in ns. */
static int64_t start_of(const struct timeline_writer *w, row_t event, struct event_forms *learned) {
    const struct device_events *events = &w->trace->events;
    const char *text = w->trace->document.source.bytes;
    size_t at = events->places[event].at[VALUE_TS];
    if (at == VALUE_FAR) {
        struct event_spans spans;
        event_find(w->trace, event, learned, &spans);
        at = spans.field[FIELD_TS].at;
    } else if (at) {
        at += events->text[event];
    }
    int64_t ns;
    size_t length;
    if (at && number_scan(text + at, &length) != NUMBER_FORM_BAD && decimal_ns(text + at, length, &ns))
        return ns;
    return (int64_t)(number_as_double(number_at(events->ts, event)) * NS_PER_US);
}

/* Finds the times of a range of events, which threads do in parallel. */
static void find_starts(void *arg, size_t number) {
    struct timeline_writer *w = arg;
    const row_t n = w->trace->events.n, first = (row_t)(number * START_ROWS), end = MIN(n, first + START_ROWS);
    struct event_forms learned = {0};
    for (row_t event = first; event < end; event++)
        w->starts[event] = start_of(w, event, &learned);
    event_forms_free(&learned);
}

/* The kind of mark of an event, by its phase. */
static const uint8_t mark_kinds[UINT8_MAX + 1] = {
    ['X'] = MARK_SLICE,   ['b'] = MARK_BEGIN,   ['e'] = MARK_END,  ['i'] = MARK_INSTANT, ['I'] = MARK_INSTANT,
    ['n'] = MARK_INSTANT, ['C'] = MARK_COUNTER, ['s'] = MARK_FLOW, ['t'] = MARK_FLOW,    ['f'] = MARK_FLOW_END};

static bool make_marks(struct timeline_writer *w) {
    const struct device_events *events = &w->trace->events;
    value_key last_pid = KEY_ABSENT, last_tid = KEY_ABSENT;
    uint32_t process = NO_TRACK, thread = NO_TRACK;
    w->marks_capacity = events->n;
    w->marks = arena_alloc(&w->arena, events->n, sizeof *w->marks);
    w->starts = arena_alloc(&w->arena, events->n, sizeof *w->starts);
    bool ok = w->marks && w->starts;
    if (ok)
        pool_run(w->context->pool, events->n / START_ROWS + 1, find_starts, w);
    for (row_t event = 0; event < events->n && ok; event++) {
        if (process == NO_TRACK || events->pid[event] != last_pid || events->tid[event] != last_tid) {
            last_pid = events->pid[event];
            last_tid = events->tid[event];
            process = track_of_id(w, "process", last_pid, NO_TRACK);
            thread = process == NO_TRACK ? NO_TRACK : track_of_id(w, "thread", last_tid, process);
            if (thread == NO_TRACK)
                return false;
        }
        if (events->phase[event] == 'M')
            read_metadata(w, event, process, thread);
        if (events->phase[event] == 'M' || events->phase[event] == PHASE_END)
            continue;
        const uint8_t kind = mark_kinds[events->phase[event]];
        if (kind == MARK_NONE || !(events->flags[event] & EVENT_HAS_TS)) {
            w->n_skipped++;
            continue;
        }
        int64_t start = w->starts[event];
        double us = kind == MARK_SLICE ? number_as_double(number_at(events->dur, event)) : 0;
        uint64_t duration = us > 0 && us < 9e15 ? (uint64_t)(us * NS_PER_US + 0.5) : 0;
        ok = kind == MARK_COUNTER ? add_counter(w, event, start, process)
                                  : add_mark(w, (struct timeline_mark){start, duration, thread, event, 0, kind, 0});
    }
    return ok && !w->failed;
}

/* By track and start. At equal starts: ends, then slices from the longest to the shortest, then all others. */
static enum sutra_status sort_marks(struct timeline_writer *w, struct sutra_error *error) {
    row_t n = (row_t)w->n_marks;
    uint64_t *keys = arena_alloc(&w->arena, n, sizeof *keys);
    w->order = arena_alloc(&w->arena, n, sizeof *w->order);
    TRY(arena_status(&w->arena, error));
    for (row_t i = 0; i < n; i++)
        w->order[i] = i;
    for (int pass = 0; pass < 3; pass++) {
        for (row_t i = 0; i < n; i++) {
            const struct timeline_mark *mark = &w->marks[w->order[i]];
            uint64_t inner = mark->kind == MARK_END     ? 0
                             : mark->kind == MARK_BEGIN ? 1
                             : mark->kind == MARK_SLICE ? UINT64_MAX - 1 - mark->duration
                                                        : UINT64_MAX;
            keys[i] = pass == 0 ? inner : pass == 1 ? (uint64_t)mark->start ^ (uint64_t)1 << 63 : mark->track;
        }
        const struct engine *engine = &w->context->engine;
        TRY(engine->sort_keys(engine->state, &(struct sort_keys_step){keys, w->order, n}, error));
    }
    return SUTRA_OK;
}

/* ---- Lanes and flows ---- */

/* Open slices of one lane, outermost first. */
struct open_slices {
    uint32_t *marks;
    uint64_t n, capacity;
};

static int64_t end_of(const struct timeline_mark *mark) {
    return mark->kind == MARK_BEGIN ? INT64_MAX : mark->start + (int64_t)mark->duration;
}

/* Identifies a flow by its category and the text of its id. */
static uint64_t flow_id(struct timeline_writer *w, row_t event) {
    const struct device_events *events = &w->trace->events;
    const struct source *source = &w->trace->document.source;
    const size_t offset = events->places[event].at[VALUE_ID];
    const char *text = source->bytes + events->text[event] + offset;
    size_t length = offset && offset != VALUE_FAR ? digit_run(text) : 0;
    if (!length || text[length] == '.') { /* not an integer, which most ids are */
        struct event_spans spans;
        event_find(w->trace, event, NULL, &spans);
        struct json_span place = spans.field[FIELD_ID];
        text = source->bytes + place.at;
        length = place.at ? event_place_length(source->bytes, place) : 0;
    }
    uint32_t id = strings_intern(&w->texts, text, length);
    w->failed |= id == STRING_NONE;
    return (uint64_t)(events->category[event] + 1) << 32 | id;
}

/* Binds a flow to the innermost slice that is open at its time. */
static bool bind_flow(struct timeline_writer *w, const struct timeline_mark *mark, struct open_slices *lanes,
                      uint32_t n_lanes) {
    uint32_t slice = UINT32_MAX;
    for (uint32_t lane = 0; lane < n_lanes; lane++) {
        struct open_slices *open = &lanes[lane];
        while (open->n && end_of(&w->marks[open->marks[open->n - 1]]) < mark->start)
            open->n--;
        if (open->n && (slice == UINT32_MAX || w->marks[open->marks[open->n - 1]].start > w->marks[slice].start))
            slice = open->marks[open->n - 1];
    }
    if (slice == UINT32_MAX) {
        w->n_unbound++;
        return true;
    }
    if (!arena_grow(&w->arena, &w->flows, w->n_flows, &w->flows_capacity, sizeof *w->flows))
        return false;
    w->flows[w->n_flows++] =
        (struct flow){flow_id(w, mark->event), w->marks[slice].first_flow, mark->kind == MARK_FLOW_END};
    w->marks[slice].first_flow = (uint32_t)w->n_flows;
    return true;
}

/* Chooses the lanes of the marks of one track, order[first..end), and binds its flows. */
static bool place_marks(struct timeline_writer *w, row_t first, row_t end, struct open_slices lanes[LANES_MAX]) {
    struct track *track = &w->tracks[w->marks[w->order[first]].track];
    track->n_lanes = 1;
    for (uint32_t lane = 0; lane < LANES_MAX; lane++)
        lanes[lane].n = 0;
    for (row_t i = first; i < end; i++) {
        struct timeline_mark *mark = &w->marks[w->order[i]];
        if (mark->kind == MARK_FLOW || mark->kind == MARK_FLOW_END) {
            if (!bind_flow(w, mark, lanes, track->n_lanes))
                return false;
        } else if (mark->kind == MARK_END && lanes[0].n) {
            lanes[0].n--;
        } else if (mark->kind == MARK_SLICE || mark->kind == MARK_BEGIN) {
            uint32_t lane = 0;
            for (; lane < LANES_MAX && mark->kind == MARK_SLICE; lane++) {
                struct open_slices *open = &lanes[lane];
                while (open->n && end_of(&w->marks[open->marks[open->n - 1]]) <= mark->start)
                    open->n--;
                if (!open->n || end_of(mark) <= end_of(&w->marks[open->marks[open->n - 1]]))
                    break;
            }
            if (lane == LANES_MAX) { /* it ends with its parent */
                lane--;
                mark->duration = (uint64_t)(end_of(&w->marks[lanes[lane].marks[lanes[lane].n - 1]]) - mark->start);
                w->n_shortened++;
            }
            if (!arena_grow(&w->arena, &lanes[lane].marks, lanes[lane].n, &lanes[lane].capacity, sizeof(uint32_t)))
                return false;
            lanes[lane].marks[lanes[lane].n++] = w->order[i];
            mark->lane = (uint8_t)lane;
            track->n_lanes = MAX(track->n_lanes, lane + 1);
        }
    }
    return true;
}

/* Ends the slices that are open until `time`. */
static void end_slices(struct timeline_writer *w, struct open_slices *open, int64_t time) {
    while (open->n && end_of(&w->marks[open->marks[open->n - 1]]) <= time)
        w->packets[w->n_packets++] = (uint64_t)open->marks[--open->n] * 2 + 1;
}

/* Lists the packets of one lane in the order of time, and cuts them into sequences. */
static bool list_packets(struct timeline_writer *w, row_t first, row_t end, uint32_t lane, struct open_slices *open) {
    uint64_t from = w->n_packets, uuid = w->tracks[w->marks[w->order[first]].track].first_uuid + lane;
    open->n = 0;
    for (row_t i = first; i < end; i++) {
        const struct timeline_mark *mark = &w->marks[w->order[i]];
        if (mark->lane != lane || mark->kind == MARK_FLOW || mark->kind == MARK_FLOW_END)
            continue;
        end_slices(w, open, mark->start);
        if (mark->kind == MARK_END) {
            if (open->n) { /* ends the slice at the time of this event */
                struct timeline_mark *begun = &w->marks[open->marks[open->n - 1]];
                begun->kind = MARK_SLICE;
                begun->duration = (uint64_t)(mark->start - begun->start);
                end_slices(w, open, mark->start);
            }
            continue;
        }
        w->packets[w->n_packets++] = (uint64_t)w->order[i] * 2;
        if (mark->kind == MARK_SLICE || mark->kind == MARK_BEGIN)
            open->marks[open->n++] = w->order[i];
    }
    end_slices(w, open, INT64_MAX - 1);
    for (; from < w->n_packets; from += PIECE_PACKETS) {
        if (!arena_grow(&w->arena, &w->sequences, w->n_sequences, &w->sequences_capacity, sizeof *w->sequences))
            return false;
        uint64_t n = MIN(PIECE_PACKETS, w->n_packets - from);
        w->sequences[w->n_sequences++] = (struct sequence){from, n, uuid};
    }
    return true;
}

static bool place_all(struct timeline_writer *w) {
    struct open_slices lanes[LANES_MAX] = {0};
    row_t n = (row_t)w->n_marks;
    w->packets = arena_alloc(&w->arena, n, 2 * sizeof *w->packets);
    if (!w->packets)
        return false;
    for (row_t first = 0, end; first < n; first = end) {
        uint32_t track = w->marks[w->order[first]].track;
        for (end = first + 1; end < n && w->marks[w->order[end]].track == track;)
            end++;
        if (!place_marks(w, first, end, lanes))
            return false;
        w->tracks[track].first_uuid = 1 + w->n_tracks + w->n_lanes;
        w->n_lanes += w->tracks[track].n_lanes;
        for (uint32_t lane = 0; lane < w->tracks[track].n_lanes; lane++)
            if (!list_packets(w, first, end, lane, &lanes[lane]))
                return false;
    }
    return true;
}

/* ---- Packets ---- */

static void append_packet(struct buffer *out, const struct buffer *packet) {
    proto_bytes(out, TRACE_PACKET, packet->bytes, packet->length);
    out->failed |= packet->failed;
}

/* Piece 0: the descriptors of all tracks. Process i has the uuid i + 1; the lanes of threads and counters follow. */
static void write_descriptors(const struct timeline_writer *w, struct buffer *out) {
    struct buffer packet = {0}, message = {0};
    for (uint32_t number = 0; number < w->n_tracks; number++) {
        const struct track *track = &w->tracks[number];
        bool is_process = track->parent == NO_TRACK;
        for (uint32_t lane = 0; lane < (is_process ? 1 : track->n_lanes); lane++) {
            message.length = packet.length = 0;
            proto_number(&message, DESCRIPTOR_UUID, is_process ? number + 1 : track->first_uuid + lane);
            proto_bytes(&message, DESCRIPTOR_NAME, track->name, strlen(track->name));
            proto_number(&message, DESCRIPTOR_SIBLING_RANK, (uint64_t)track->rank);
            if (is_process)
                proto_number(&message, DESCRIPTOR_CHILD_ORDERING, ORDERED_BY_RANK);
            else
                proto_number(&message, DESCRIPTOR_PARENT, track->parent + 1);
            if (track->is_counter)
                proto_bytes(&message, DESCRIPTOR_COUNTER, "", 0);
            proto_number(&packet, PACKET_SEQUENCE_ID, 1);
            proto_bytes(&packet, PACKET_TRACK_DESCRIPTOR, message.bytes, message.length);
            packet.failed |= message.failed;
            append_packet(out, &packet);
        }
    }
    buffer_free(&packet);
    buffer_free(&message);
}

/* State of a task that encodes one sequence. */
struct encoder {
    const struct timeline_writer *writer;
    uint8_t *names;       /* by string of the trace: bits of enum text_use that the sequence has defined */
    struct strings texts; /* keys and values of arguments; id = number + 1 */
    uint8_t *uses;        /* the same bits, by text */
    uint64_t uses_capacity;
    struct buffer packet, event, annotation, interned, decoded;
    bool failed;
};

/* Adds the definition of a text to the packet's interned data, unless `uses` says that the sequence has it. */
static void define_text(struct encoder *e, uint8_t *uses, enum text_use use, uint64_t id, const char *bytes, size_t n) {
    struct buffer *text = &e->annotation;
    if (*uses >> use & 1)
        return;
    *uses |= (uint8_t)(1u << use);
    text->length = 0;
    proto_number(text, INTERNED_ID, id);
    proto_bytes(text, INTERNED_TEXT, bytes, n);
    proto_bytes(&e->interned, interned_field[use], text->bytes, text->length);
}

/* The id of a name or category. */
static uint64_t name_id(struct encoder *e, enum text_use use, uint32_t string) {
    const struct strings *strings = &e->writer->trace->strings;
    define_text(e, &e->names[string], use, string + 1, strings_text(strings, string), strings_length(strings, string));
    return string + 1;
}

/* The id of a key or a value of an argument. */
static uint64_t text_id(struct encoder *e, enum text_use use, const char *bytes, size_t n) {
    uint32_t number = strings_intern(&e->texts, bytes, n);
    if (number != STRING_NONE && number >= e->uses_capacity) {
        uint64_t capacity = 2 * e->uses_capacity + 256;
        uint8_t *larger = realloc(e->uses, capacity);
        if (larger) {
            memset(larger + e->uses_capacity, 0, capacity - e->uses_capacity);
            e->uses = larger;
            e->uses_capacity = capacity;
        }
    }
    if (number >= e->uses_capacity) {
        e->failed = true;
        return 0;
    }
    define_text(e, &e->uses[number], use, number + 1, bytes, n);
    return number + 1;
}

/* The id of a string of the JSON text. */
static uint64_t string_id(struct encoder *e, enum text_use use, struct json_span place) {
    const char *raw = e->writer->trace->document.source.bytes + place.at + 1;
    size_t n = place.end - place.at - 1;
    if (!memchr(raw, '\\', n))
        return text_id(e, use, raw, n);
    e->decoded.length = 0;
    char *to = buffer_reserve(&e->decoded, n + 64);
    return to ? text_id(e, use, to, string_decode(raw, n, to)) : 0;
}

/* Adds the JSON number at `text` as an integer or, if it does not fit 64 bits, as a real. */
static void append_json_number(struct buffer *out, unsigned integer_field, unsigned real_field, const char *text) {
    int64_t integer;
    if (field_integer(text, &integer)) {
        proto_number(out, integer_field, (uint64_t)integer);
        return;
    }
    size_t length;
    number_scan(text, &length);
    double real = double_parse(text, length);
    uint64_t bits;
    memcpy(&bits, &real, sizeof bits);
    proto_fixed64(out, real_field, bits);
}

/* An argument: key and value at the walker, which steps over both. */
static void append_annotation(struct encoder *e, struct json_walker *walker, struct json_span key) {
    const char *text = walker->text + walker->at;
    const char c = *text;
    struct json_span value = walk_value(walker);
    if (walker->expected)
        return;
    const bool is_number = c == '-' || is_digit(c), is_truth = c == 't' || c == 'f';
    const uint64_t key_id = string_id(e, TEXT_KEY, key);
    uint64_t text_value = 0;
    if (c == '"') {
        text_value = string_id(e, TEXT_VALUE, value);
    } else if (!is_number && !is_truth) { /* a list, an object, null: the JSON text */
        size_t end =
            c == '[' || c == '{' ? brackets_end(walker->source, value.at).at : scalar_end(walker->source, value.at).at;
        text_value = text_id(e, TEXT_VALUE, text, end - value.at);
    }
    struct buffer *out = &e->annotation; /* from here on: text_id() uses it, too */
    out->length = 0;
    proto_number(out, ANNOTATION_NAME_ID, key_id);
    if (is_number)
        append_json_number(out, ANNOTATION_INTEGER, ANNOTATION_REAL, text);
    else if (is_truth)
        proto_number(out, ANNOTATION_BOOL, c == 't');
    else
        proto_number(out, ANNOTATION_TEXT_ID, text_value);
    proto_bytes(&e->event, EVENT_ANNOTATIONS, out->bytes, out->length);
}

/* The members of the object at the walker. */
static void append_arguments(struct encoder *e, struct json_walker walker) {
    for (bool more = walk_object(&walker); more; more = walk_member_end(&walker)) {
        struct json_span key = walk_key(&walker);
        if (!key.at)
            return;
        append_annotation(e, &walker, key);
    }
}

/* Name, category, flows and arguments of an event. */
static void append_event(struct encoder *e, const struct timeline_mark *mark) {
    const struct timeline_writer *w = e->writer;
    const struct device_events *events = &w->trace->events;
    const struct strings *strings = &w->trace->strings;
    uint32_t name = events->name[mark->event], category = events->category[mark->event];
    if (category != STRING_NONE && strings_length(strings, category))
        proto_number(&e->event, EVENT_CATEGORY_IDS, name_id(e, TEXT_CATEGORY, category));
    if (name != STRING_NONE)
        proto_number(&e->event, EVENT_NAME_ID, name_id(e, TEXT_EVENT, name));
    for (uint32_t flow = mark->first_flow; flow; flow = w->flows[flow - 1].next)
        proto_fixed64(&e->event, w->flows[flow - 1].ends ? EVENT_ENDING_FLOW_IDS : EVENT_FLOW_IDS,
                      w->flows[flow - 1].id);
    struct json_walker walker = walk_from(&w->trace->document.source, events->text[mark->event]);
    for (bool more = walk_char(&walker) == '{' && walk_object(&walker); more; more = walk_member_end(&walker)) {
        struct json_span key = walk_key(&walker);
        if (!key.at)
            return;
        if (walk_char(&walker) == '{' && place_is(walker.source, key, "args")) {
            append_arguments(e, walk_from(walker.source, walker.at));
            return;
        }
        walk_value(&walker);
    }
}

static void append_clock(struct buffer *snapshot, uint64_t id, uint64_t time, bool is_incremental) {
    struct buffer clock = {0};
    proto_number(&clock, CLOCK_ID, id);
    proto_number(&clock, CLOCK_TIMESTAMP, time);
    if (is_incremental)
        proto_number(&clock, CLOCK_IS_INCREMENTAL, 1);
    proto_bytes(snapshot, SNAPSHOT_CLOCKS, clock.bytes, clock.length);
    snapshot->failed |= clock.failed;
    buffer_free(&clock);
}

/* The first packet of a sequence: its clock and its track. */
static void begin_sequence(struct encoder *e, uint64_t id, uint64_t track_uuid, uint64_t time, struct buffer *out) {
    struct buffer *message = &e->event, *packet = &e->packet;
    packet->length = message->length = 0;
    proto_number(packet, PACKET_SEQUENCE_ID, id);
    proto_number(packet, PACKET_SEQUENCE_FLAGS, FLAG_STATE_CLEARED);
    append_clock(message, ID_OF_SEQUENCE_CLOCK, time, true);
    append_clock(message, ID_OF_BOOT_CLOCK, time, false);
    proto_bytes(packet, PACKET_CLOCK_SNAPSHOT, message->bytes, message->length);
    message->length = 0;
    proto_number(message, TRACK_EVENT_DEFAULTS_UUID, track_uuid);
    e->annotation.length = 0;
    proto_bytes(&e->annotation, DEFAULTS_TRACK_EVENT, message->bytes, message->length);
    proto_number(&e->annotation, DEFAULTS_CLOCK_ID, ID_OF_SEQUENCE_CLOCK);
    proto_bytes(packet, PACKET_DEFAULTS, e->annotation.bytes, e->annotation.length);
    append_packet(out, packet);
}

static void encode_sequence(const struct timeline_writer *w, uint64_t number, struct buffer *out) {
    const struct sequence *sequence = &w->sequences[number];
    struct encoder e = {.writer = w};
    int64_t now = 0;
    e.names = calloc((size_t)w->trace->strings.n + 1, 1);
    e.failed = !strings_init(&e.texts) || !e.names;
    for (uint64_t i = 0; i < sequence->n && !e.failed; i++) {
        uint64_t code = w->packets[sequence->first + i];
        const struct timeline_mark *mark = &w->marks[code / 2];
        int64_t time = code % 2 ? end_of(mark) : mark->start;
        if (i == 0) {
            begin_sequence(&e, number + 2, sequence->track_uuid, (uint64_t)time, out);
            now = time;
        }
        e.packet.length = e.event.length = e.interned.length = 0;
        proto_number(&e.event, EVENT_TYPE,
                     code % 2                     ? TYPE_SLICE_END
                     : mark->kind == MARK_COUNTER ? TYPE_COUNTER
                     : mark->kind == MARK_INSTANT ? TYPE_INSTANT
                                                  : TYPE_SLICE_BEGIN);
        if (code % 2 == 0 && mark->kind == MARK_COUNTER)
            append_json_number(&e.event, EVENT_COUNTER_VALUE, EVENT_REAL_COUNTER_VALUE,
                               w->trace->document.source.bytes + mark->duration);
        else if (code % 2 == 0)
            append_event(&e, mark);
        proto_number(&e.packet, PACKET_TIMESTAMP, (uint64_t)(time - now));
        proto_number(&e.packet, PACKET_SEQUENCE_ID, number + 2);
        if (e.interned.length)
            proto_bytes(&e.packet, PACKET_INTERNED_DATA, e.interned.bytes, e.interned.length);
        proto_bytes(&e.packet, PACKET_TRACK_EVENT, e.event.bytes, e.event.length);
        append_packet(out, &e.packet);
        now = time;
    }
    out->failed |=
        e.failed || e.packet.failed || e.event.failed || e.annotation.failed || e.interned.failed || e.decoded.failed;
    strings_free(&e.texts);
    free(e.uses);
    free(e.names);
    buffer_free(&e.packet);
    buffer_free(&e.event);
    buffer_free(&e.annotation);
    buffer_free(&e.interned);
    buffer_free(&e.decoded);
}

static void fill_piece(const void *arg, size_t number, struct buffer *out) {
    const struct timeline_writer *w = arg;
    if (number == 0)
        write_descriptors(w, out);
    else
        encode_sequence(w, number - 1, out);
}

/* Times before 0 do not exist in the format: then all move. */
static void move_to_zero(struct timeline_writer *w) {
    int64_t first = 0;
    for (uint64_t i = 0; i < w->n_marks; i++)
        first = MIN(first, w->marks[i].start);
    for (uint64_t i = 0; i < w->n_marks && first < 0; i++)
        w->marks[i].start -= first;
}

enum sutra_status perfetto_write(struct sutra_context *context, const char *json, const char *path, struct sink *to,
                                 struct sutra_error *error) {
    struct timeline_writer w = {.context = context};
    const bool lenient = context->options.lenient, keep_offsets = context->keep_offsets;
    const unsigned prefetch_columns = context->prefetch_columns;
    void (*const warning)(void *, const char *) = context->options.warning;
    context->options.lenient = context->keep_offsets = context->keeps_processes = true;
    context->options.warning = NULL; /* the readers of the inputs have warned */
    context->prefetch_columns = PREFETCH_NOTHING;
    enum sutra_status status = sutra_device_trace_read(context, json, &w.trace, error);
    context->options.lenient = lenient;
    context->keep_offsets = keep_offsets;
    context->options.warning = warning;
    context->keeps_processes = false;
    context->prefetch_columns = prefetch_columns;
    if (status == SUTRA_DATA)
        return error_file(error, SUTRA_USAGE, path,
                          "the output is no timeline, and only timelines have the format .pftrace (traces of cut, "
                          "merge and simulate; of tree, correlate and critical-path with --format chrome)");
    if (status)
        return status;
    stage_begin(context, "write", w.trace->events.n);
    bool ok = pair_table_init(&w.track_of) && strings_init(&w.texts) && make_marks(&w);
    if (ok)
        move_to_zero(&w);
    status = ok ? sort_marks(&w, error) : error_memory(error);
    if (!status)
        status = place_all(&w) && !w.arena.failed
                     ? pieces_write_to(context, to, w.n_sequences + 1, fill_piece, &w, error)
                     : error_memory(error);
    stage_end(context);
    if (!status && w.n_skipped + w.n_unbound + w.n_shortened)
        context_warn(context,
                     "%s: %" PRIu64 " events without a time or of other kinds and %" PRIu64
                     " arrows outside of slices are skipped; %" PRIu64
                     " slices overlap too many others and are shortened",
                     path, w.n_skipped, w.n_unbound, w.n_shortened);
    sutra_device_trace_free(w.trace);
    pair_table_free(&w.track_of);
    strings_free(&w.texts);
    arena_free(&w.arena);
    return status;
}
