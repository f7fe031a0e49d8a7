/*
 * merge_event.c - rewrites the events of a rank, lists its processes, and writes the arrows of collectives (merge.h).
 *
 * An id gets the position of its rank in the upper bits of the 53 that a double holds. Integers that need these bits,
 * and strings, become strings that begin with the position.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/error.h"
#include "base/shared.h"
#include "facts/names.h"
#include "facts/times.h"
#include "read/document.h"
#include "rewrite/merge.h"
#include "text/doubles.h"
#include "text/strings.h"
#include "write/json_copy.h"
#include "write/text.h"

/*
 * Arrows connect the kernels of a collective on all ranks, from the rank that starts first to the rank that starts
 * last, for which all others wait; an arrow of a message leads from its sender to its receiver.
 *
 *     rank 0   [s===========]           rank 1   [s==]
 *     rank 1        [t======]           rank 2     [f=====]
 *     rank 2            [f==]
 *
 * Viewers bind the end of a flow to the slice that is open on its thread at its time. This time is therefore the start
 * of the slice; for a receiver that starts before its sender, it is the start of the sender.
 */

/* A kernel that an arrow goes through. */
struct arrow_stop {
    const struct merge_point *point;
    const struct collective_call *call;
};

/* Whether the call is the receiving side of a message, which is last regardless of its start. */
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

static void write_stop(const struct strings *strings, struct text_out *text, const struct arrow_stop *stop, int64_t ns,
                       uint32_t what, const char *phase, unsigned long long id) {
    out_format(text, ",\n{\"ph\": %s, \"id\": %llu, \"pid\": %lld, \"tid\": ", phase, id, (long long)stop->point->pid);
    buffer_append(&text->out, strings_text(strings, stop->point->tid), strings_length(strings, stop->point->tid));
    const char *sign = ns < 0 ? "-" : "";
    unsigned long long size = ns < 0 ? 0 - (unsigned long long)ns : (unsigned long long)ns;
    out_format(text, ", \"ts\": %s%llu.%03llu, \"cat\": \"collective\", \"name\": ", sign, size / 1000, size % 1000);
    out_string(text, strings_text(strings, what), strings_length(strings, what));
    out_add(text, "}");
}

/* Appends the arrows of a role. False: out of memory. */
static bool write_arrows(struct sutra_merged *merged, const struct merge_role *role, struct text_out *text) {
    struct arrow_stop *stops = malloc((role->calls.n + 1) * sizeof *stops);
    /* ids of arrows follow the ids of all ranks */
    unsigned long long first_id = (unsigned long long)merged->report.n_ranks << merge_id_bits(merged->report.n_ranks);
    for (row_t m = 0; m < role->matches.n && stops && !sink_failed(merged->sink); m++) {
        const struct collective_match *match = &role->matches.list[m];
        row_t n = 0;
        for (row_t i = 0; i < match->n; i++) {
            row_t call = role->matches.order[match->first + i];
            if (role->points[call].tid != STRING_NONE)
                stops[n++] = (struct arrow_stop){&role->points[call], &role->calls.list[call]};
        }
        if (n < 2)
            continue;
        qsort(stops, n, sizeof *stops, compare_stops);
        unsigned long long id = first_id + merged->report.n_collectives++;
        int64_t ns = INT64_MIN;
        for (row_t i = 0; i < n; i++) {
            const char *phase = i == 0 ? "\"s\"" : i + 1 < n ? "\"t\"" : "\"f\", \"bp\": \"e\"";
            ns = MAX(stops[i].point->ns, ns);
            write_stop(&role->calls.strings, text, &stops[i], ns, stops[0].call->what, phase, id);
        }
        out_step(text);
    }
    free(stops);
    return stops;
}

bool merge_arrows_write(struct sutra_merged *merged) {
    struct text_out text = {.sink = merged->sink, .n_pieces = merged->n_pieces};
    bool ok = true;
    for (size_t i = 0; i < merged->n_roles && ok && !merged->options.no_arrows; i++)
        ok = write_arrows(merged, &merged->roles[i], &text);
    out_add(&text, "\n]}\n");
    out_flush(&text);
    merged->n_pieces = text.n_pieces;
    ok &= !text.out.failed;
    buffer_free(&text.out);
    return ok;
}

/* ---- Lanes ---- */

/* Activities found on a lane. */
struct lane_activity {
    row_t first; /* first event that is kept and not metadata, or ROW_NONE */
    bool has_work, has_sync, on_cpu;
};

/* Whether metadata describe a process; merge_lanes_write() replaces them. */
static bool describes_process(const struct sutra_device_trace *trace, row_t event) {
    return text_compare(&trace->strings, trace->events.name[event], TEXT_BEGINS, "process_");
}

static bool is_metadatum(const struct sutra_device_trace *trace, row_t event) {
    return trace->events.phase[event] == 'M';
}

/* Numbers the pairs of pid and tid. False: out of memory. */
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

static void find_activities(const struct sutra_device_trace *trace, const struct string_roles *roles, uint8_t *kept,
                            const uint32_t *lane, struct lane_activity *activities) {
    const uint32_t cpu = CATEGORY_CPU_OP | CATEGORY_CALL | CATEGORY_ANNOTATION | CATEGORY_PYTHON;
    for (row_t event = 0; event < trace->events.n; event++) {
        kept[event] &= trace->document.source.bytes[trace->events.text[event]] == '{';
        if (!kept[event] || is_metadatum(trace, event))
            continue;
        struct lane_activity *here = &activities[lane[event]];
        uint32_t category = category_roles(&trace->events, roles, event);
        here->first = here->first == ROW_NONE ? event : here->first;
        here->has_work |= (category & (CATEGORY_WORK | CATEGORY_GPU_ANNOTATION)) != 0;
        here->has_sync |= (category & CATEGORY_SYNC) != 0;
        here->on_cpu |= (category & cpu) != 0;
    }
}

/* ---- Processes ---- */

static bool is_numbered(const struct merge_process *process) {
    return process->kind == MERGE_GPU && key_is_integer(process->pid) && key_is_integer(process->tid);
}

/* By kind; numbered GPU streams by device and stream, before other GPU lanes; then by first event. */
static int compare_processes(const void *left, const void *right) {
    const struct merge_process *a = left, *b = right;
    bool numbered = is_numbered(a);
    if (a->kind != b->kind)
        return a->kind < b->kind ? -1 : 1;
    if (numbered != is_numbered(b))
        return numbered ? -1 : 1;
    if (numbered && a->pid != b->pid)
        return a->pid < b->pid ? -1 : 1;
    if (numbered && a->tid != b->tid)
        return a->tid < b->tid ? -1 : 1;
    return (a->event > b->event) - (a->event < b->event);
}

/* Creates a process for each pid with lanes that are not on a GPU, and for each lane of a GPU. False: out of memory. */
static bool list_processes(const struct device_events *events, const struct lane_activity *activities,
                           struct merge_lanes *lanes) {
    struct pair_table known;
    bool ok = pair_table_init(&known);
    for (uint32_t i = 0; i < lanes->n_lanes && ok; i++) {
        const struct lane_activity *lane = &activities[i];
        row_t event = lane->first;
        lanes->process[i] = PAIR_NONE;
        lanes->on_gpu[i] = lane->has_work || (lane->has_sync && !lane->on_cpu);
        if (event == ROW_NONE)
            continue;
        struct pair_entry *entry =
            pair_table_insert(&known, (uint64_t)events->pid[event], lanes->on_gpu[i] ? i + 1 : 0);
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
        if (lane->on_cpu && !lanes->on_gpu[i])
            process->kind = MERGE_CPU;
        process->event = MIN(event, process->event);
        lanes->process[i] = entry->number;
    }
    pair_table_free(&known);
    return ok;
}

/* Sorts the processes; `position` is scratch memory for one number per process. */
static void sort_processes(struct merge_lanes *lanes, uint32_t *position) {
    qsort(lanes->processes, lanes->n_processes, sizeof *lanes->processes, compare_processes);
    const struct merge_process *gpu = NULL;
    for (uint32_t i = 0; i < lanes->n_processes; i++) {
        const struct merge_process *process = &lanes->processes[i];
        position[process->number] = i;
        lanes->n_of_cpu += process->kind == MERGE_CPU;
        if (process->kind != MERGE_GPU)
            continue;
        lanes->many_devices |= gpu && gpu->pid != process->pid;
        gpu = process;
    }
    for (uint32_t i = 0; i < lanes->n_lanes; i++)
        if (lanes->process[i] != PAIR_NONE)
            lanes->process[i] = position[lanes->process[i]];
}

enum sutra_status merge_lanes_find(const struct sutra_device_trace *trace, uint8_t *kept, struct arena *arena,
                                   struct merge_lanes *lanes, struct sutra_error *error) {
    *lanes = (struct merge_lanes){.lane = arena_alloc(arena, trace->events.n, sizeof *lanes->lane)};
    struct string_roles *roles = names_find(&trace->strings, READER_TREE, arena);
    TRY_ALLOC(roles && lanes->lane && number_lanes(&trace->events, lanes->lane, &lanes->n_lanes), error);
    lanes->process = arena_alloc(arena, lanes->n_lanes, sizeof *lanes->process);
    lanes->on_gpu = arena_alloc(arena, lanes->n_lanes, sizeof *lanes->on_gpu);
    lanes->processes = arena_alloc(arena, lanes->n_lanes, sizeof *lanes->processes);
    struct arena_mark mark = arena_mark(arena);
    struct lane_activity *activities = arena_zeros(arena, lanes->n_lanes, sizeof *activities);
    uint32_t *position = arena_alloc(arena, lanes->n_lanes, sizeof *position);
    TRY(arena_status(arena, error));
    for (uint32_t i = 0; i < lanes->n_lanes; i++)
        activities[i].first = ROW_NONE;
    find_activities(trace, roles, kept, lanes->lane, activities);
    TRY_ALLOC(list_processes(&trace->events, activities, lanes), error);
    sort_processes(lanes, position);
    /* metadata of CPU threads stay if the thread has events */
    for (row_t event = 0; event < trace->events.n; event++)
        if (kept[event] && is_metadatum(trace, event)) {
            uint32_t lane = lanes->lane[event];
            kept[event] = lanes->process[lane] != PAIR_NONE && !lanes->on_gpu[lane] && !describes_process(trace, event);
        }
    arena_release(arena, mark);
    if (lanes->n_processes >= MERGE_PROCESSES)
        return error_file(error, SUTRA_DATA, trace->document.source.name,
                          "%u processes and streams, more than the limit of %d per trace (--side gpu omits some)",
                          lanes->n_processes, MERGE_PROCESSES - 1);
    return SUTRA_OK;
}

/* ---- Names ---- */

/* Appends the text of a field, without the quotes of a string. Escapes stay, since the output is inside a string. */
static void write_value(const struct sutra_device_trace *trace, struct json_span place, struct buffer *out) {
    const char *text = trace->document.source.bytes + place.at;
    size_t length = 0;
    if (place.at && *text == '"')
        buffer_append(out, text + 1, place.end - place.at - 1);
    else if (place.at && number_scan(text, &length) != NUMBER_FORM_BAD)
        buffer_append(out, text, length);
    else
        buffer_append_text(out, "0");
}

static void write_stream(const struct sutra_device_trace *trace, struct json_span tid, struct buffer *out) {
    if (tid.at && trace->document.source.bytes[tid.at] != '"')
        buffer_append_text(out, "stream ");
    write_value(trace, tid, out);
}

static void write_name(const struct merge_lanes *lanes, const struct sutra_device_trace *trace,
                       const struct merge_process *process, const struct event_spans *places, struct buffer *out) {
    struct json_span pid = places->field[FIELD_PID];
    bool is_text = pid.at && trace->document.source.bytes[pid.at] == '"', has_pid = true;
    if (process->kind == MERGE_CPU) {
        buffer_append_text(out, "CPU");
        has_pid = lanes->n_of_cpu > 1;
    } else if (process->kind == MERGE_GPU) {
        buffer_append_text(out, "GPU");
        has_pid = lanes->many_devices;
    } else if (!is_text) {
        buffer_append_text(out, "process");
    }
    if (has_pid) {
        buffer_append_text(out, process->kind == MERGE_OTHER && is_text ? "" : " ");
        write_value(trace, pid, out);
    }
    if (process->kind == MERGE_GPU) {
        buffer_append_text(out, " ");
        write_stream(trace, places->field[FIELD_TID], out);
    }
}

/* Appends the beginning of a metadata event, up to its tid. */
static void begin_metadatum(const char *name, int64_t pid, struct buffer *out) {
    char text[128];
    buffer_append(out, text,
                  (size_t)snprintf(text, sizeof text, ",\n{\"ph\": \"M\", \"name\": \"%s\", \"pid\": %lld, \"tid\": ",
                                   name, (long long)pid));
}

static void write_process(const struct merge_lanes *lanes, const struct sutra_device_trace *trace, const char *rank,
                          uint32_t position, uint32_t number, struct buffer *out) {
    const struct merge_process *process = &lanes->processes[number];
    struct event_spans places;
    char text[400];
    int64_t pid = (int64_t)position * MERGE_PROCESSES + 1 + number;
    event_find(trace, process->event, NULL, &places);
    begin_metadatum("process_name", pid, out);
    buffer_append(out, text, (size_t)snprintf(text, sizeof text, "0, \"args\": {\"name\": \"%s: ", rank));
    write_name(lanes, trace, process, &places, out);
    buffer_append_text(out, "\"}}");
    begin_metadatum("process_sort_index", pid, out);
    buffer_append(out, text,
                  (size_t)snprintf(text, sizeof text, "0, \"args\": {\"sort_index\": %lld}}", (long long)pid));
    if (process->kind != MERGE_GPU)
        return;
    begin_metadatum("thread_name", pid, out);
    merge_tid_write(trace, places.field[FIELD_TID], out);
    buffer_append_text(out, ", \"args\": {\"name\": \"");
    write_stream(trace, places.field[FIELD_TID], out);
    buffer_append_text(out, "\"}}");
}

void merge_tid_write(const struct sutra_device_trace *trace, struct json_span tid, struct buffer *out) {
    const char *quote = tid.at && trace->document.source.bytes[tid.at] == '"' ? "\"" : "";
    buffer_append_text(out, quote);
    write_value(trace, tid, out);
    buffer_append_text(out, quote);
}

void merge_lanes_write(const struct merge_lanes *lanes, const struct sutra_device_trace *trace, const char *rank,
                       uint32_t position, struct buffer *out) {
    for (uint32_t i = 0; i < lanes->n_processes; i++)
        write_process(lanes, trace, rank, position, i, out);
}

/* ---- Events ---- */

/* A value that changes. */
struct merge_change {
    enum event_value value;
    size_t at, end; /* byte range in the input */
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

/* Finds the offsets of the values of an event, as the reader noted them; values at a large distance are searched. */
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
    struct event_spans places;
    event_find(changes->trace, event, &changes->learned, &places);
    for (int value = 0; value < EVENT_N_VALUES; value++)
        at[value] = places.field[event_value_fields[value]].at;
}

/* Lists the changes in the order of the text. */
static unsigned list_changes(const struct merge_changes *changes, row_t event, const size_t *at,
                             struct merge_change *list) {
    const struct source *source = &changes->trace->document.source;
    uint8_t phase = changes->trace->events.phase[event];
    bool has_shared_id = phase && strchr("stfbneNOD", phase); /* flows and asynchronous events */
    unsigned n = 0;
    for (int value = 0; value < EVENT_N_VALUES; value++) {
        const char *text = source->bytes + at[value];
        bool is_scalar = *text == '"' || *text == '-' || (*text >= '0' && *text <= '9');
        bool changes_value = value == VALUE_TS ? changes->shift_ns && phase != 'M'
                             : value == VALUE_ID
                                 ? has_shared_id
                                 : value == VALUE_PID || value == VALUE_CORRELATION || value == VALUE_WAIT_RECORD;
        if (!at[value] || !changes_value || (value != VALUE_PID && !is_scalar))
            continue;
        struct json_walker walker = walk_from(source, at[value]);
        walk_value(&walker);
        unsigned i = n++;
        for (; i > 0 && list[i - 1].at > at[value]; i--)
            list[i] = list[i - 1];
        list[i] = (struct merge_change){(enum event_value)value, at[value], trim_end(source->bytes, walker.at)};
    }
    return n;
}

static void write_change(const struct merge_changes *changes, const struct merge_change *change, int64_t pid,
                         struct buffer *out) {
    const char *text = changes->trace->document.source.bytes + change->at;
    size_t length = change->end - change->at;
    if (change->value == VALUE_PID) {
        write_integer(pid, out);
    } else if (change->value != VALUE_TS) {
        merge_id_write(changes->ids, text, length, out);
    } else {
        /* a number, or a string with a number, which stays a string */
        size_t quote = *text == '"' && length > 2, number = 0;
        if (number_scan(text + quote, &number) == NUMBER_FORM_BAD || number + 2 * quote != length) {
            buffer_append(out, text, length);
            return;
        }
        buffer_append(out, text, quote);
        char *to = buffer_reserve(out, number + DECIMAL_SHIFT_ROOM);
        if (to)
            out->length += decimal_shift(text + quote, number, changes->shift_ns, to);
        buffer_append(out, text, quote);
    }
}

void merge_event_write(struct merge_changes *changes, row_t event, int64_t pid, struct buffer *out) {
    const char *bytes = changes->trace->document.source.bytes;
    size_t from = changes->trace->events.text[event], end = trace_event_end(changes->trace, event);
    struct merge_change list[EVENT_N_VALUES];
    size_t at[EVENT_N_VALUES];
    find_values(changes, event, at);
    unsigned n = list_changes(changes, event, at, list);
    if (!at[VALUE_PID]) { /* an event without a pid gets one as its first member */
        char text[48];
        size_t next = ++from;
        while (bytes[next] == ' ' || bytes[next] == '\n' || bytes[next] == '\r' || bytes[next] == '\t')
            next++;
        const char *comma = bytes[next] == '}' ? "" : ", ";
        buffer_append(out, text, (size_t)snprintf(text, sizeof text, "{\"pid\": %lld%s", (long long)pid, comma));
    }
    for (unsigned i = 0; i < n; i++) {
        buffer_append(out, bytes + from, list[i].at - from);
        write_change(changes, &list[i], pid, out);
        from = list[i].end;
    }
    buffer_append(out, bytes + from, end - from);
}
