/*
 * nsys_kineto.c - writes a rank of a report as Kineto writes its traces, one event a line.
 *
 *     {"schemaVersion": 1, "baseTimeNanoseconds": 0, "distributedInfo": {"rank": 0, "world_size": 2}, "traceEvents": [
 *     {"ph": "X", "cat": "kernel", "name": "gemm", "pid": 0, "tid": 7, "ts": 30.5, "dur": 100, "args": {"device": 0, ...
 *
 * Times are microseconds with all digits of the nanoseconds. GPU activity has the device as pid and the stream as tid.
 * Steps become ProfilerStep#N, forward and backward operators become flows. Bytes of a collective become elements of
 * one byte. Threads write ranges of the events; O(events).
 */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/error.h"
#include "base/shared.h"
#include "read/nsys.h"
#include "text/numbers.h"
#include "text/strings.h"

#define PIECE_EVENTS ((size_t)1 << 15)

/* Bytes of an event, without its strings, at most: 25 numbers of at most 21 digits, and their keys. */
#define EVENT_BYTES 1200

struct encoded_name {
    size_t at, length; /* in the text of all names */
};

struct kineto_text {
    const struct nsys_report *report;
    const row_t *rows; /* events of the rank, in the order of the report */
    size_t n;
    struct buffer names; /* as JSON writes them */
    struct encoded_name *encoded;
    struct buffer *pieces;
};

/* ---- Values ---- */

static inline char *copy_text(char *to, const char *text, size_t n) {
    memcpy(to, text, n);
    return to + n;
}

/* A constant. */
#define COPY(to, text) copy_text(to, text, sizeof(text) - 1)

static inline char *write_integer(char *to, int64_t value) {
    uint64_t magnitude = value < 0 ? 0 - (uint64_t)value : (uint64_t)value;
    if (value < 0)
        *to++ = '-';
    return to + digits_write(magnitude, to);
}

/* Nanoseconds as microseconds. */
static char *write_us(char *to, int64_t ns) {
    uint64_t magnitude = ns < 0 ? 0 - (uint64_t)ns : (uint64_t)ns;
    unsigned fraction = (unsigned)(magnitude % 1000);
    if (ns < 0)
        *to++ = '-';
    to += digits_write(magnitude / 1000, to);
    if (!fraction)
        return to;
    *to++ = '.';
    *to++ = (char)('0' + fraction / 100);
    if (fraction % 100)
        *to++ = (char)('0' + fraction / 10 % 10);
    if (fraction % 10)
        *to++ = (char)('0' + fraction % 10);
    return to;
}

static char *write_name(const struct kineto_text *kineto, char *to, uint32_t name) {
    return copy_text(to, kineto->names.bytes + kineto->encoded[name].at, kineto->encoded[name].length);
}

/* A member of "args", with a comma unless it is the first one. */
#define MEMBER(to, key, value)                                                                                         \
    do {                                                                                                               \
        (to) = (to)[-1] == '{' ? COPY(to, "\"" key "\": ") : COPY(to, ", \"" key "\": ");                              \
        (to) = write_integer(to, value);                                                                               \
    } while (0)

/* The same, if the number is recorded. */
#define MEMBER_IF(to, key, value)                                                                                      \
    do {                                                                                                               \
        if ((value) != NSYS_NONE)                                                                                      \
            MEMBER(to, key, value);                                                                                    \
    } while (0)

static char *write_triple(char *to, const int32_t *values) {
    for (int i = 0; i < 3; i++) {
        to = i ? COPY(to, ", ") : to;
        to = write_integer(to, values[i]);
    }
    return to;
}

/* ---- Events ---- */

static char *write_collective(char *to, const struct nsys_collective *collective) {
    uint64_t n = (uint64_t)collective->bytes;
    uint64_t n_ranks = collective->group_size == NSYS_NONE ? 1 : (uint64_t)collective->group_size;
    to = COPY(to, ", \"Collective name\": \"");
    to = copy_text(to, collective->name, strlen(collective->name));
    *to++ = '"';
    if (collective->communicator != NSYS_NONE)
        to += sprintf(to, ", \"Process Group Name\": \"0x%" PRIx64 "\"", (uint64_t)collective->communicator);
    MEMBER_IF(to, "Group size", collective->group_size);
    to = COPY(to, ", \"dtype\": \"Byte\"");
    MEMBER(to, "In msg nelems", (int64_t)(strcmp(collective->name, "reducescatter") == 0 ? n * n_ranks : n));
    MEMBER(to, "Out msg nelems", (int64_t)(strcmp(collective->name, "allgather") == 0 ? n * n_ranks : n));
    return to;
}

static char *write_gpu(const struct nsys_report *report, char *to, const struct nsys_gpu *gpu, row_t event) {
    MEMBER(to, "device", gpu->device);
    MEMBER(to, "stream", report->events.tid[event]);
    MEMBER_IF(to, "correlation", report->events.correlation[event]);
    MEMBER_IF(to, "context", gpu->context);
    MEMBER_IF(to, "graph node id", gpu->graph_node);
    MEMBER_IF(to, "graph id", gpu->graph);
    if (gpu->form == NSYS_LAUNCH) {
        to = COPY(to, ", \"grid\": [");
        to = write_triple(to, gpu->grid);
        to = COPY(to, "], \"block\": [");
        to = write_triple(to, gpu->block);
        *to++ = ']';
    }
    if (gpu->registers >= 0)
        MEMBER(to, "registers per thread", gpu->registers);
    if (report->events.category[event] == NSYS_KERNEL)
        MEMBER_IF(to, "shared memory", gpu->bytes);
    else
        MEMBER_IF(to, "bytes", gpu->bytes);
    if (gpu->form == NSYS_WAIT) {
        MEMBER_IF(to, "wait_on_stream", gpu->wait_stream);
        MEMBER_IF(to, "wait_on_cuda_event_record_corr_id", gpu->wait_correlation);
    }
    return gpu->collective ? write_collective(to, &report->collectives[gpu->collective - 1]) : to;
}

static char *write_range(const struct kineto_text *kineto, char *to, const struct nsys_range *range) {
    const struct strings *names = &kineto->report->names;
    if (strings_length(names, range->domain)) {
        to = to[-1] == '{' ? COPY(to, "\"domain\": \"") : COPY(to, ", \"domain\": \"");
        to = write_name(kineto, to, range->domain);
        *to++ = '"';
    }
    MEMBER_IF(to, "Sequence number", range->sequence);
    MEMBER_IF(to, "Record function id", range->record);
    if (range->sizes != STRING_NONE) {
        to = to[-1] == '{' ? COPY(to, "\"Input Dims\": ") : COPY(to, ", \"Input Dims\": ");
        to = copy_text(to, strings_text(names, range->sizes), strings_length(names, range->sizes));
    }
    return to;
}

static int64_t pid_of(int64_t process) {
    return process >> 24 & 0xffffff;
}

static void write_event(const struct kineto_text *kineto, row_t event, struct buffer *out) {
    const struct nsys_report *report = kineto->report;
    const struct nsys_events *events = &report->events;
    const uint8_t category = events->category[event];
    const bool has_range = category == NSYS_CPU_OP || category == NSYS_ANNOTATION;
    const bool is_gpu = nsys_is_gpu(category) || category == NSYS_SYNC;
    const struct nsys_range *range = has_range ? &report->ranges[events->detail[event]] : NULL;
    const struct nsys_gpu *gpu = is_gpu ? &report->gpus[events->detail[event]] : NULL;
    const char *words = nsys_category_names[category];
    size_t n_strings = kineto->encoded[events->name[event]].length;
    if (range)
        n_strings += kineto->encoded[range->domain].length +
                     (range->sizes != STRING_NONE ? strings_length(&report->names, range->sizes) : 0);
    char *begin = buffer_reserve(out, EVENT_BYTES + n_strings), *to = begin;
    if (!begin)
        return;
    to = COPY(to, "{\"ph\": \"X\", \"cat\": \"");
    to = copy_text(to, words, strlen(words));
    to = COPY(to, "\", \"name\": \"");
    to = write_name(kineto, to, events->name[event]);
    to = COPY(to, "\", \"pid\": ");
    to = write_integer(to, gpu ? gpu->device : pid_of(events->process[event]));
    to = COPY(to, ", \"tid\": ");
    to = write_integer(to, events->tid[event]);
    to = COPY(to, ", \"ts\": ");
    to = write_us(to, events->start[event]);
    to = COPY(to, ", \"dur\": ");
    to = write_us(to, events->dur[event]);
    to = COPY(to, ", \"args\": {");
    if (gpu)
        to = write_gpu(report, to, gpu, event);
    else
        MEMBER_IF(to, "correlation", events->correlation[event]);
    if (range)
        to = write_range(kineto, to, range);
    to = COPY(to, "}},\n");
    out->length += (size_t)(to - begin);
}

static void write_piece(void *arg, size_t number) {
    const struct kineto_text *kineto = arg;
    size_t end = MIN((number + 1) * PIECE_EVENTS, kineto->n);
    for (size_t i = number * PIECE_EVENTS; i < end; i++)
        write_event(kineto, kineto->rows[i], &kineto->pieces[number]);
}

/* ---- Steps and flows ---- */

/* Whether the rank has an event of this name that begins at `start`. O(log n), and events of this start. */
static bool has_event(const struct kineto_text *kineto, uint32_t name, int64_t start) {
    const struct nsys_events *events = &kineto->report->events;
    size_t at = 0;
    BISECT(at, kineto->n, events->start[kineto->rows[at]] < start);
    for (; at < kineto->n && events->start[kineto->rows[at]] == start; at++)
        if (events->name[kineto->rows[at]] == name)
            return true;
    return false;
}

static void write_steps(const struct kineto_text *kineto, uint32_t rank, int64_t pid, struct buffer *out) {
    const struct nsys_report *report = kineto->report;
    for (row_t i = report->step_first[rank]; i < report->step_first[rank + 1]; i++) {
        const struct nsys_step *step = &report->steps[report->rank_steps[i]];
        char name[40];
        size_t n = (size_t)snprintf(name, sizeof name, "ProfilerStep#%" PRId64, step->step);
        uint32_t known = strings_find(&report->names, name, n);
        if (known != STRING_NONE && has_event(kineto, known, step->start))
            continue;
        char *begin = buffer_reserve(out, EVENT_BYTES), *to = begin;
        if (!begin)
            return;
        to += sprintf(to,
                      "{\"ph\": \"X\", \"cat\": \"user_annotation\", \"name\": \"%s\", \"pid\": %" PRId64
                      ", \"tid\": %" PRId64 ", \"ts\": ",
                      name, pid, step->tid);
        to = write_us(to, step->start);
        to = COPY(to, ", \"dur\": ");
        to = write_us(to, step->dur);
        to = COPY(to, ", \"args\": {}},\n");
        out->length += (size_t)(to - begin);
    }
}

static void write_flows(const struct kineto_text *kineto, struct buffer *out) {
    const struct nsys_report *report = kineto->report;
    const struct nsys_events *events = &report->events;
    uint64_t id = 0;
    for (size_t i = 0; i < kineto->n; i++) {
        row_t event = kineto->rows[i];
        if (events->category[event] != NSYS_CPU_OP || report->forward[events->detail[event]] == ROW_NONE)
            continue;
        const row_t ends[2] = {report->forward[events->detail[event]], event};
        char *begin = buffer_reserve(out, EVENT_BYTES), *to = begin;
        if (!begin)
            return;
        id++;
        for (int end = 0; end < 2; end++) {
            to += sprintf(to,
                          "{\"ph\": \"%c\", \"bp\": \"e\", \"id\": %" PRIu64
                          ", \"cat\": \"fwdbwd\", \"name\": \"fwdbwd\", \"pid\": %" PRId64 ", \"tid\": %" PRId64
                          ", \"ts\": ",
                          end ? 'f' : 's', id, pid_of(events->process[ends[end]]), events->tid[ends[end]]);
            to = write_us(to, events->start[ends[end]]);
            to = COPY(to, "},\n");
        }
        out->length += (size_t)(to - begin);
    }
}

/* ---- The trace ---- */

/* Encodes a name, unless it is encoded. False: out of memory. */
static bool encode_name(struct kineto_text *kineto, uint32_t name) {
    const struct strings *names = &kineto->report->names;
    size_t length = strings_length(names, name);
    if (kineto->encoded[name].length || !length)
        return true;
    char *to = buffer_reserve(&kineto->names, 6 * length + 64);
    if (!to)
        return false;
    size_t n = string_encode(strings_text(names, name), length, to);
    kineto->encoded[name] = (struct encoded_name){kineto->names.length, n};
    kineto->names.length += n;
    return true;
}

/* Encodes the names of the events. False: out of memory. */
static bool encode_names(struct kineto_text *kineto) {
    const struct nsys_report *report = kineto->report;
    const struct nsys_events *events = &report->events;
    kineto->encoded = calloc(report->names.n + 1, sizeof *kineto->encoded);
    bool ok = kineto->encoded && buffer_reserve(&kineto->names, 64);
    for (size_t i = 0; i < kineto->n && ok; i++) {
        row_t event = kineto->rows[i];
        ok = encode_name(kineto, events->name[event]);
        if (ok && (events->category[event] == NSYS_CPU_OP || events->category[event] == NSYS_ANNOTATION))
            ok = encode_name(kineto, report->ranges[events->detail[event]].domain);
    }
    return ok;
}

enum sutra_status nsys_write_kineto(const struct nsys_report *report, struct sutra_context *context, int64_t rank,
                                    struct buffer *text, struct sutra_error *error) {
    const uint32_t at = nsys_find_rank(report, rank);
    const row_t first = report->rank_first[at];
    struct kineto_text kineto = {
        .report = report, .rows = report->rank_events + first, .n = report->rank_first[at + 1] - first};
    char head[240];
    bool ok = encode_names(&kineto);
    size_t n_pieces = (kineto.n + PIECE_EVENTS - 1) / PIECE_EVENTS, n_bytes = 0;
    kineto.pieces = calloc(n_pieces + 1, sizeof *kineto.pieces);
    ok = ok && kineto.pieces;
    if (ok) {
        pool_run(context->pool, n_pieces, write_piece, &kineto);
        write_steps(&kineto, at, pid_of(report->ranks[at].process), &kineto.pieces[n_pieces]);
        write_flows(&kineto, &kineto.pieces[n_pieces]);
    }
    for (size_t i = 0; i <= n_pieces && ok; i++) {
        n_bytes += kineto.pieces[i].length;
        ok = !kineto.pieces[i].failed;
    }
    ok = ok && buffer_reserve(text, n_bytes + sizeof head + SOURCE_PADDING);
    if (ok) {
        int n = snprintf(head, sizeof head,
                         "{\"schemaVersion\": 1, \"baseTimeNanoseconds\": %" PRId64
                         ", \"distributedInfo\": {\"rank\": %" PRId64 ", \"world_size\": %" PRIu32
                         "}, \"traceEvents\": [\n",
                         report->utc_offset == NSYS_NONE ? 0 : report->utc_offset, rank, report->n_ranks);
        buffer_append(text, head, (size_t)n);
    }
    for (size_t i = 0; i <= n_pieces && kineto.pieces; i++) {
        if (ok)
            buffer_append(text, kineto.pieces[i].bytes, kineto.pieces[i].length);
        buffer_free(&kineto.pieces[i]);
    }
    if (ok) {
        text->length -= n_bytes ? 2 : 0; /* the last comma */
        buffer_append_text(text, "\n]}\n");
    }
    free(kineto.pieces);
    free(kineto.encoded);
    buffer_free(&kineto.names);
    return ok && !text->failed ? SUTRA_OK : error_memory(error);
}
