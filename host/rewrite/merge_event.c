/*
 * merge_event.c - the bytes of an event with other numbers in some places, which the reader has noted.
 *
 * Ids get the rank's position in the upper bits of those that a double holds; integers that reach into these, and
 * texts, become texts with the position in front.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/error.h"
#include "facts/names.h"
#include "facts/times.h"
#include "read/document.h"
#include "rewrite/merge.h"
#include "rewrite/merge_event.h"
#include "text/doubles.h"
#include "text/strings.h"
#include "write/json_copy.h"
#include "write/text.h"

/*
 * What the ranks of a collective do is joined by arrows, from the rank that comes first to the next
 * one, up to the last, for which all have waited; a message goes from its sender to its receiver.
 *
 *     rank 0   [s===========]           rank 1   [s==]
 *     rank 1        [t======]           rank 2     [f=====]
 *     rank 2            [f==]
 *
 * Viewers bind a flow's end to the slice that is open on its thread at its time, so it is that slice's start, or, for
 * who receives a message earlier than it was sent, the start of the sending.
 */

/* Behind the ids of all ranks. */
static unsigned long long first_id(const struct sutra_merged *merged) {
    return (unsigned long long)merged->report.n_ranks << merge_id_bits(merged->report.n_ranks);
}

/* A kernel that an arrow goes through. */
struct arrow_stop {
    const struct merge_point *point;
    const struct collective_call *call;
};

/* Whether it comes behind others whenever it began. */
static bool receives(const struct collective_call *call) {
    return call->is_message && !call->is_send;
}

static int compare_stops(const void *left, const void *right) {
    const struct arrow_stop *a = left, *b = right;
    if (receives(a->call) != receives(b->call))
        return receives(a->call) ? 1 : -1;
    if (a->point->ns != b->point->ns)
        return a->point->ns < b->point->ns ? -1 : 1;
    return (a->point->pid > b->point->pid) - (a->point->pid < b->point->pid);
}

static row_t list_stops(const struct sutra_merged *merged, const struct collective_match *match,
                        struct arrow_stop *stops) {
    row_t n = 0;
    for (row_t i = 0; i < match->n; i++) {
        row_t call = merged->matches.order[match->first + i];
        const struct merge_point *point = &merged->points[call];
        if (point->tid != STRING_NONE)
            stops[n++] = (struct arrow_stop){point, &merged->calls.list[call]};
    }
    qsort(stops, n, sizeof *stops, compare_stops);
    return n;
}

static void write_stop(const struct sutra_merged *merged, struct text_out *text, const struct arrow_stop *stop,
                       int64_t ns, uint32_t what, const char *phase, unsigned long long id) {
    const struct strings *strings = &merged->calls.strings;
    out_format(text, ",\n{\"ph\": %s, \"id\": %llu, \"pid\": %lld, \"tid\": ", phase, id, (long long)stop->point->pid);
    buffer_append(&text->out, strings_text(strings, stop->point->tid), strings_length(strings, stop->point->tid));
    const char *sign = ns < 0 ? "-" : "";
    unsigned long long size = ns < 0 ? 0 - (unsigned long long)ns : (unsigned long long)ns;
    out_format(text, ", \"ts\": %s%llu.%03llu, \"cat\": \"collective\", \"name\": ", sign, size / 1000, size % 1000);
    out_string(text, strings_text(strings, what), strings_length(strings, what));
    out_add(text, "}");
}

static void write_arrow(const struct sutra_merged *merged, struct text_out *text, const struct arrow_stop *stops,
                        row_t n, unsigned long long id) {
    int64_t ns = INT64_MIN;
    for (row_t i = 0; i < n; i++) {
        const char *phase = i == 0 ? "\"s\"" : i + 1 < n ? "\"t\"" : "\"f\", \"bp\": \"e\"";
        ns = stops[i].point->ns > ns ? stops[i].point->ns : ns;
        write_stop(merged, text, &stops[i], ns, stops[0].call->what, phase, id);
    }
    out_step(text);
}

bool merge_arrows_write(struct sutra_merged *merged) {
    struct text_out text = {.sink = merged->sink, .n_pieces = merged->n_pieces};
    struct arrow_stop *stops = malloc((merged->calls.n + 1) * sizeof *stops);
    row_t n_matches = merged->options.no_arrows ? 0 : merged->matches.n;
    for (row_t i = 0; i < n_matches && stops && !sink_failed(merged->sink); i++) {
        const struct collective_match *match = &merged->matches.list[i];
        row_t n = list_stops(merged, match, stops);
        if (n >= 2)
            write_arrow(merged, &text, stops, n, first_id(merged) + merged->report.n_collectives++);
    }
    out_add(&text, "\n]}\n");
    out_flush(&text);
    merged->n_pieces = text.n_pieces;
    bool ok = stops && !text.out.failed;
    buffer_free(&text.out);
    free(stops);
    return ok;
}

/*
 * From pids and tids to processes of a timeline.
 */

/* What is seen of a lane. */
struct merge_lane_seen {
    row_t first; /* an event that stays and is no metadatum, or ROW_NONE */
    bool works, waits, on_cpu;
};

static bool is_on_gpu(const struct merge_lane_seen *lane) {
    return lane->works || (lane->waits && !lane->on_cpu);
}

/* Whether a metadatum says what is said anew: of processes. */
static bool is_of_process(const struct sutra_device_trace *trace, row_t event) {
    return text_compare(&trace->strings, trace->events.name[event], TEXT_BEGINS, "process_");
}

static bool is_metadatum(const struct sutra_device_trace *trace, row_t event) {
    return trace->events.phase[event] == 'M';
}

static bool is_object(const struct sutra_device_trace *trace, row_t event) {
    return trace->document.source.bytes[trace->events.text[event]] == '{';
}

/* ---- Lanes ---- */

/* Numbers pids, and tids with these. False: out of memory. */
static bool number_lanes(const struct device_events *events, uint32_t *lane, uint32_t *n_lanes) {
    struct event_threads lanes;
    bool ok = event_threads_init(&lanes);
    for (row_t event = 0; event < events->n && ok; event++) {
        lane[event] = event_thread(&lanes, events, event);
        ok = lane[event] != PAIR_NONE;
    }
    *n_lanes = lanes.threads.n;
    event_threads_free(&lanes);
    return ok;
}

static void look_at_lanes(const struct sutra_device_trace *trace, const struct string_roles *roles, uint8_t *kept,
                          const uint32_t *lane, struct merge_lane_seen *seen) {
    const uint32_t cpu = CATEGORY_CPU_OP | CATEGORY_CALL | CATEGORY_ANNOTATION | CATEGORY_PYTHON;
    for (row_t event = 0; event < trace->events.n; event++) {
        kept[event] &= is_object(trace, event);
        if (!kept[event] || is_metadatum(trace, event))
            continue;
        struct merge_lane_seen *here = &seen[lane[event]];
        uint32_t category = category_roles(&trace->events, roles, event);
        here->first = here->first == ROW_NONE ? event : here->first;
        here->works |= (category & (CATEGORY_WORK | CATEGORY_GPU_ANNOTATION)) != 0;
        here->waits |= (category & CATEGORY_SYNC) != 0;
        here->on_cpu |= (category & cpu) != 0;
    }
}

/* ---- Processes ---- */

static int compare_keys(value_key a, value_key b) {
    return (a > b) - (a < b);
}

static bool is_numbered(const struct merge_process *process) {
    return process->kind == MERGE_GPU && key_is_integer(process->pid) && key_is_integer(process->tid);
}

static int compare_processes(const void *left, const void *right) {
    const struct merge_process *a = left, *b = right;
    if (a->kind != b->kind)
        return a->kind < b->kind ? -1 : 1;
    if (is_numbered(a) != is_numbered(b))
        return is_numbered(a) ? -1 : 1;
    int order = is_numbered(a) ? compare_keys(a->pid, b->pid) : 0;
    order = order || !is_numbered(a) ? order : compare_keys(a->tid, b->tid);
    return order ? order : (a->event > b->event) - (a->event < b->event);
}

/* Makes a process of each pid that has lanes of no GPU, and of each lane of a GPU. False: out of memory. */
static bool list_processes(const struct device_events *events, const struct merge_lane_seen *seen,
                           struct merge_lanes *lanes) {
    struct pair_table known;
    bool ok = pair_table_init(&known);
    for (uint32_t i = 0; i < lanes->n_lanes && ok; i++) {
        row_t event = seen[i].first;
        lanes->process[i] = PAIR_NONE;
        lanes->on_gpu[i] = is_on_gpu(&seen[i]);
        if (event == ROW_NONE)
            continue;
        struct pair_entry *entry = pair_table_take(&known, (uint64_t)events->pid[event], lanes->on_gpu[i] ? i + 1 : 0);
        ok = entry != NULL;
        if (!ok)
            break;
        if (entry->number == PAIR_NONE) {
            entry->number = lanes->n_processes++;
            lanes->processes[entry->number] =
                (struct merge_process){lanes->on_gpu[i] ? MERGE_GPU : MERGE_OTHER, events->pid[event],
                                       events->tid[event], event, entry->number};
        }
        struct merge_process *process = &lanes->processes[entry->number];
        if (seen[i].on_cpu && !lanes->on_gpu[i])
            process->kind = MERGE_CPU;
        process->event = event < process->event ? event : process->event;
        lanes->process[i] = entry->number;
    }
    pair_table_free(&known);
    return ok;
}

/* Puts processes in order; `place` has room for where each comes to stand. */
static void order_processes(struct merge_lanes *lanes, uint32_t *place) {
    qsort(lanes->processes, lanes->n_processes, sizeof *lanes->processes, compare_processes);
    const struct merge_process *gpu = NULL;
    for (uint32_t i = 0; i < lanes->n_processes; i++) {
        const struct merge_process *process = &lanes->processes[i];
        place[process->number] = i;
        lanes->n_of_cpu += process->kind == MERGE_CPU;
        if (process->kind != MERGE_GPU)
            continue;
        lanes->many_devices |= gpu && gpu->pid != process->pid;
        gpu = process;
    }
    for (uint32_t i = 0; i < lanes->n_lanes; i++)
        if (lanes->process[i] != PAIR_NONE)
            lanes->process[i] = place[lanes->process[i]];
}

/* Of metadata those of threads on the CPU stay that are there, and what tells about such a process otherwise. */
static void keep_metadata(const struct sutra_device_trace *trace, const struct merge_lanes *lanes, uint8_t *kept) {
    for (row_t event = 0; event < trace->events.n; event++)
        if (kept[event] && is_metadatum(trace, event)) {
            uint32_t lane = lanes->lane[event];
            kept[event] = lanes->process[lane] != PAIR_NONE && !lanes->on_gpu[lane] && !is_of_process(trace, event);
        }
}

enum sutra_status merge_lanes_find(const struct sutra_device_trace *trace, uint8_t *kept, struct arena *arena,
                                   struct merge_lanes *lanes, struct sutra_error *error) {
    *lanes = (struct merge_lanes){.lane = arena_take(arena, trace->events.n, sizeof *lanes->lane)};
    struct string_roles *roles = names_find(&trace->strings, READER_TREE, arena);
    if (!roles || !lanes->lane || !number_lanes(&trace->events, lanes->lane, &lanes->n_lanes))
        return error_memory(error);
    lanes->process = arena_take(arena, lanes->n_lanes, sizeof *lanes->process);
    lanes->on_gpu = arena_take(arena, lanes->n_lanes, sizeof *lanes->on_gpu);
    lanes->processes = arena_take(arena, lanes->n_lanes, sizeof *lanes->processes);
    struct arena_mark mark = arena_mark(arena);
    struct merge_lane_seen *seen = arena_zeros(arena, lanes->n_lanes, sizeof *seen);
    uint32_t *place = arena_take(arena, lanes->n_lanes, sizeof *place);
    enum sutra_status status = arena_status(arena, error);
    for (uint32_t i = 0; i < lanes->n_lanes && !status; i++)
        seen[i].first = ROW_NONE;
    if (!status) {
        look_at_lanes(trace, roles, kept, lanes->lane, seen);
        status = list_processes(&trace->events, seen, lanes) ? SUTRA_OK : error_memory(error);
    }
    if (!status) {
        order_processes(lanes, place);
        keep_metadata(trace, lanes, kept);
    }
    if (!status && lanes->n_processes >= MERGE_PROCESSES)
        status = error_file(error, SUTRA_DATA, trace->document.source.name,
                            "%u processes and streams, more than the limit of %d per trace (--side gpu omits some)",
                            lanes->n_processes, MERGE_PROCESSES - 1);
    arena_release(arena, mark);
    return status;
}

/* ---- Names ---- */

/* Appends the text of a field, a string's without its quotes; escapes stay, as this becomes a part of a string. */
static void write_value(const struct sutra_device_trace *trace, struct json_place place, struct buffer *out) {
    const char *text = trace->document.source.bytes + place.at;
    size_t length = 0;
    if (place.at && *text == '"')
        buffer_append(out, text + 1, place.end - place.at - 1);
    else if (place.at && number_scan(text, &length) != NUMBER_FORM_BAD)
        buffer_append(out, text, length);
    else
        buffer_append(out, "0", 1);
}

static void write_text(const char *text, struct buffer *out) {
    buffer_append(out, text, strlen(text));
}

static void write_stream(const struct sutra_device_trace *trace, struct json_place tid, struct buffer *out) {
    if (tid.at && trace->document.source.bytes[tid.at] != '"')
        write_text("stream ", out);
    write_value(trace, tid, out);
}

static void write_name(const struct merge_lanes *lanes, const struct sutra_device_trace *trace,
                       const struct merge_process *process, const struct event_places *places, struct buffer *out) {
    struct json_place pid = places->field[FIELD_PID];
    bool is_text = pid.at && trace->document.source.bytes[pid.at] == '"', tells_pid = true;
    if (process->kind == MERGE_CPU) {
        write_text("CPU", out);
        tells_pid = lanes->n_of_cpu > 1;
    } else if (process->kind == MERGE_GPU) {
        write_text("GPU", out);
        tells_pid = lanes->many_devices;
    } else if (!is_text) {
        write_text("process", out);
    }
    if (tells_pid) {
        write_text(process->kind == MERGE_OTHER && is_text ? "" : " ", out);
        write_value(trace, pid, out);
    }
    if (process->kind == MERGE_GPU) {
        write_text(" ", out);
        write_stream(trace, places->field[FIELD_TID], out);
    }
}

/* The begin of a metadatum up to its argument. */
static void begin_metadatum(const char *name, int64_t pid, struct buffer *out) {
    char text[128];
    buffer_append(out, text,
                  (size_t)snprintf(text, sizeof text, ",\n{\"ph\": \"M\", \"name\": \"%s\", \"pid\": %lld, \"tid\": ",
                                   name, (long long)pid));
}

static void write_process(const struct merge_lanes *lanes, const struct sutra_device_trace *trace, int64_t rank,
                          uint32_t position, uint32_t number, struct buffer *out) {
    const struct merge_process *process = &lanes->processes[number];
    struct event_places places;
    char text[96];
    int64_t pid = (int64_t)position * MERGE_PROCESSES + 1 + number;
    event_find(trace, process->event, NULL, &places);
    begin_metadatum("process_name", pid, out);
    buffer_append(out, text,
                  (size_t)snprintf(text, sizeof text, "0, \"args\": {\"name\": \"rank %lld: ", (long long)rank));
    write_name(lanes, trace, process, &places, out);
    write_text("\"}}", out);
    begin_metadatum("process_sort_index", pid, out);
    buffer_append(out, text,
                  (size_t)snprintf(text, sizeof text, "0, \"args\": {\"sort_index\": %lld}}", (long long)pid));
    if (process->kind != MERGE_GPU)
        return;
    begin_metadatum("thread_name", pid, out);
    merge_tid_write(trace, places.field[FIELD_TID], out);
    write_text(", \"args\": {\"name\": \"", out);
    write_stream(trace, places.field[FIELD_TID], out);
    write_text("\"}}", out);
}

void merge_tid_write(const struct sutra_device_trace *trace, struct json_place tid, struct buffer *out) {
    const char *quote = tid.at && trace->document.source.bytes[tid.at] == '"' ? "\"" : "";
    write_text(quote, out);
    write_value(trace, tid, out);
    write_text(quote, out);
}

void merge_lanes_write(const struct merge_lanes *lanes, const struct sutra_device_trace *trace, int64_t rank,
                       uint32_t position, struct buffer *out) {
    for (uint32_t i = 0; i < lanes->n_processes; i++)
        write_process(lanes, trace, rank, position, i, out);
}

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
