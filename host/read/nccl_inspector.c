/*
 * nccl_inspector.c - implements nccl_inspector.h.
 *
 * Headers of consecutive lines are mostly equal: a header with the bytes of the previous one is not parsed again.
 */
#include "read/nccl_inspector.h"

#include <stdlib.h>
#include <string.h>

#include "base/error.h"
#include "columns/column.h"
#include "read/document.h"
#include "read/file_kind.h"
#include "read/json.h"
#include "text/numbers.h"

/* Major versions of the format. */
#define VERSION_MIN 4
#define VERSION_MAX 5

/* Fields of the objects of a line, in the order in which NCCL writes them. */
enum header_field { HEADER_ID, HEADER_NAME, HEADER_RANK, HEADER_N_RANKS, HEADER_N_NODES, N_HEADER_FIELDS };
static const char *const header_fields[N_HEADER_FIELDS] = {"id", "comm_name", "rank", "n_ranks", "nnodes"};
enum metadata_field { METADATA_VERSION, METADATA_HOST, METADATA_PID, N_METADATA_FIELDS };
static const char *const metadata_fields[N_METADATA_FIELDS] = {"inspector_output_format_version", "hostname", "pid"};
enum perf_field { PERF_TYPE, PERF_NUMBER, PERF_PEER, PERF_BYTES, PERF_DURATION, PERF_TIMING, N_PERF_FIELDS };
static const char *const coll_fields[N_PERF_FIELDS] = {
    "coll", "coll_sn", "", "coll_msg_size_bytes", "coll_exec_time_us", "coll_timing_source"};
static const char *const p2p_fields[N_PERF_FIELDS] = {
    "p2p", "p2p_sn", "p2p_peer", "p2p_msg_size_bytes", "p2p_exec_time_us", "p2p_timing_source"};

/* Values of a line; offset 0: missing. */
struct inspector_line {
    bool has_header, has_metadata, has_perf;
    bool is_message; /* "p2p_perf" */
    struct json_span metadata[N_METADATA_FIELDS], perf[N_PERF_FIELDS];
};

struct log_reader {
    struct inspector_log *log;
    const struct source *source;
    struct field_reader texts;
    struct tuples known; /* (id, host), (rank, n_ranks), pid, n_nodes: the number of a member */
    struct json_span last_header;
    struct inspector_member header; /* of last_header; id STRING_NONE: malformed */
    bool failed;                    /* out of memory */
};

static bool is_text(const struct log_reader *r, struct json_span place) {
    return place.at && r->source->bytes[place.at] == '"';
}

/* An integer in [min, max]; false: the value is missing or another one. */
static bool read_integer(const struct log_reader *r, struct json_span place, int64_t min, int64_t max, int64_t *value) {
    return place.at && field_integer(r->source->bytes + place.at, value) && *value >= min && *value <= max;
}

static uint32_t intern_text(struct log_reader *r, struct json_span place) {
    const uint32_t string = field_intern(&r->texts, place, &r->log->strings);
    r->failed |= string == STRING_NONE;
    return string;
}

/* Walks an object, and sets values[i] to the value of names[i]; the first name to compare is the one after the last
 * field. Returns the byte after the object. */
static size_t walk_fields(const struct log_reader *r, struct json_walker *walker, const char *const *names, size_t n,
                          struct json_span *values) {
    size_t end = walker->at, next = 0;
    for (bool more = walk_object(walker); more; more = walk_member_end(walker)) {
        const struct json_span key = walk_key(walker), value = walk_value(walker);
        end = walker->at + 1; /* after the closing bracket, if this is the last member */
        for (size_t i = 0; i < n; i++) {
            const size_t field = next + i < n ? next + i : next + i - n;
            if (place_is(r->source, key, names[field])) {
                values[field] = value;
                next = field + 1;
                break;
            }
        }
    }
    return end;
}

/* Walks "header", unless its bytes are the bytes of the previous header. */
static void walk_header(struct log_reader *r, struct json_walker *walker) {
    const char *text = r->source->bytes;
    const size_t at = walker->at, length = r->last_header.end - r->last_header.at;
    if (length > 0 && at + length <= r->source->size && memcmp(text + at, text + r->last_header.at, length) == 0) {
        walk_to(walker, at + length);
        return;
    }
    struct json_span fields[N_HEADER_FIELDS] = {{0}};
    struct inspector_member *header = &r->header;
    r->last_header = (struct json_span){at, walk_fields(r, walker, header_fields, N_HEADER_FIELDS, fields)};
    *header = (struct inspector_member){.id = STRING_NONE, .name = STRING_NONE};
    if (walker->expected) {
        r->last_header.end = at;
        return;
    }
    const struct json_span name = fields[HEADER_NAME];
    if (!is_text(r, fields[HEADER_ID]) || !read_integer(r, fields[HEADER_N_RANKS], 1, INT32_MAX, &header->n_ranks) ||
        !read_integer(r, fields[HEADER_RANK], 0, header->n_ranks - 1, &header->rank))
        return;
    if (!read_integer(r, fields[HEADER_N_NODES], 1, INT32_MAX, &header->n_nodes))
        header->n_nodes = 0;
    if (is_text(r, name) && name.end > name.at + 1 && !place_is(r->source, name, "unknown"))
        header->name = intern_text(r, name);
    header->id = intern_text(r, fields[HEADER_ID]);
}

/* The number of a member of the communicator in the header of the line; UINT32_MAX: out of memory. */
static uint32_t find_member(struct log_reader *r, const struct inspector_member *member) {
    struct inspector_log *log = r->log;
    const struct tuple key = {{(value_key)((uint64_t)member->id << 32 | member->host),
                               (value_key)((uint64_t)member->rank << 32 | (uint64_t)member->n_ranks),
                               (value_key)member->pid, (value_key)member->n_nodes}};
    const uint32_t number = tuples_number(&r->known, key);
    if (number == TUPLE_NONE || number < log->n_members)
        return number;
    if (!column_grow(&log->members, log->n_members, &log->members_capacity, sizeof *log->members))
        return UINT32_MAX;
    log->members[log->n_members++] = *member;
    return number;
}

/* Appends the record of the line from byte `at` to byte `end`. *is_record: false: the line is malformed. SUTRA_DATA:
 * unsupported version. */
static enum sutra_status read_line(struct log_reader *r, size_t at, size_t end, bool *is_record,
                                   struct sutra_error *error) {
    struct inspector_log *log = r->log;
    struct inspector_line line = {.has_perf = false};
    struct inspector_record record = {.peer = INSPECTOR_NO_PEER, .is_timed = true};
    const struct json_span *metadata = line.metadata, *perf = line.perf;
    const char *text = r->source->bytes;
    int64_t peer = INSPECTOR_NO_PEER, version;
    size_t length;
    *is_record = false;
    struct json_walker walker = walk_from(r->source, at);
    for (bool more = walk_object(&walker); more; more = walk_member_end(&walker)) {
        const struct json_span key = walk_key(&walker);
        const bool is_object = walk_char(&walker) == '{';
        if (is_object && place_is(r->source, key, "header")) {
            line.has_header = true;
            walk_header(r, &walker);
        } else if (is_object && place_is(r->source, key, "metadata")) {
            line.has_metadata = true;
            walk_fields(r, &walker, metadata_fields, N_METADATA_FIELDS, line.metadata);
        } else if (is_object && (place_is(r->source, key, "coll_perf") || place_is(r->source, key, "p2p_perf"))) {
            line.has_perf = true;
            line.is_message = text[key.at + 1] == 'p';
            walk_fields(r, &walker, line.is_message ? p2p_fields : coll_fields, N_PERF_FIELDS, line.perf);
        } else {
            walk_value(&walker);
        }
        if (walker.at >= end) /* the line ends before the object, or the text is malformed */
            return SUTRA_OK;
    }
    if (walker.expected || walker.at < end || !line.has_header || !line.has_metadata || !line.has_perf)
        return SUTRA_OK;

    const char *version_text = text + metadata[METADATA_VERSION].at + 1; /* "v4.0" */
    version_text += *version_text == 'v';
    const size_t n_digits = digit_run(version_text);
    if (!is_text(r, metadata[METADATA_VERSION]) || n_digits == 0 || n_digits > 9 ||
        !integer_parse(version_text, n_digits, &version))
        return SUTRA_OK;
    if (version < VERSION_MIN || version > VERSION_MAX)
        return source_error(r->source, error, metadata[METADATA_VERSION].at,
                            "NCCL Inspector format %lld is not supported (supported: %d and %d): %s",
                            (long long)version, VERSION_MIN, VERSION_MAX,
                            version < VERSION_MIN ? "record it with NCCL 2.28 or later" : "use a later sutra");
    struct inspector_member member = r->header;
    if (member.id == STRING_NONE || !is_text(r, metadata[METADATA_HOST]) || !is_text(r, perf[PERF_TYPE]) ||
        !read_integer(r, metadata[METADATA_PID], 0, INT64_MAX, &member.pid) ||
        !read_integer(r, perf[PERF_NUMBER], 0, INT64_MAX - 1, &record.number) ||
        !read_integer(r, perf[PERF_BYTES], 0, INT64_MAX, &record.bytes))
        return SUTRA_OK;
    if (line.is_message &&
        (!read_integer(r, perf[PERF_PEER], 0, member.n_ranks - 1, &peer) ||
         !(place_is(r->source, perf[PERF_TYPE], "Send") || place_is(r->source, perf[PERF_TYPE], "Recv"))))
        return SUTRA_OK;
    const char *duration = text + perf[PERF_DURATION].at;
    if (!perf[PERF_DURATION].at || number_scan(duration, &length) == NUMBER_FORM_BAD ||
        !decimal_ns(duration, length, &record.duration_ns) || record.duration_ns < 0)
        return SUTRA_OK;
    if (is_text(r, perf[PERF_TIMING]))
        record.is_timed = place_is(r->source, perf[PERF_TIMING], "kernel_gpu");
    member.host = intern_text(r, metadata[METADATA_HOST]);
    record.type = intern_text(r, perf[PERF_TYPE]);
    TRY_ALLOC(!r->failed && !r->texts.failed, error);
    record.peer = (int32_t)peer;
    record.member = find_member(r, &member);
    TRY_ALLOC(record.member != UINT32_MAX &&
                  column_grow(&log->records, log->n_records, &log->records_capacity, sizeof *log->records),
              error);
    log->records[log->n_records++] = record;
    *is_record = true;
    return SUTRA_OK;
}

enum sutra_status inspector_log_parse(struct inspector_log *log, const struct source *source,
                                      struct sutra_error *error) {
    struct log_reader reader = {.log = log, .source = source, .texts.source = source, .header.id = STRING_NONE};
    *log = (struct inspector_log){.n_records = 0};
    enum sutra_status status = strings_init(&log->strings) ? SUTRA_OK : error_memory(error);
    uint64_t n_lines = 0;
    for (size_t at = 0, end; at < source->size && !status; at = end + 1) {
        const char *newline = memchr(source->bytes + at, '\n', source->size - at);
        bool is_record;
        end = newline ? (size_t)(newline - source->bytes) : source->size;
        n_lines++;
        at = space_end(source->bytes, at);
        if (at >= end)
            continue; /* an empty line */
        /* A truncated line is not parsed: its object would continue in the next lines. */
        size_t last = end - 1;
        while (last > at && (unsigned char)source->bytes[last] <= ' ')
            last--;
        is_record = source->bytes[last] == '}';
        if (is_record)
            status = read_line(&reader, at, end, &is_record, error);
        if (!status && !is_record && log->n_malformed++ == 0)
            log->first_malformed = n_lines;
    }
    tuples_free(&reader.known);
    buffer_free(&reader.texts.scratch);
    if (status || log->n_records > 0)
        return status;
    if (log->n_malformed == 0)
        return error_file(error, SUTRA_DATA, source->name,
                          "no records: NCCL Inspector writes them at the end, or with "
                          "NCCL_INSPECTOR_DUMP_THREAD_INTERVAL_MICROSECONDS");
    if (is_inspector_log(source->bytes, source->size))
        return source_error(source, error, 0, "malformed NCCL Inspector log: no line is a complete record");
    return source_refuse(source, 0, "an NCCL Inspector log", "", error);
}

enum sutra_status inspector_log_read(struct inspector_log *log, const char *path, uint64_t most,
                                     struct sutra_error *error) {
    struct source source = {0};
    *log = (struct inspector_log){.n_records = 0};
    enum sutra_status status = source_open_any(&source, path, most, error);
    if (!status)
        status = inspector_log_parse(log, &source, error);
    source_close(&source);
    return status;
}

void inspector_log_free(struct inspector_log *log) {
    strings_free(&log->strings);
    free(log->members);
    free(log->records);
    *log = (struct inspector_log){.n_records = 0};
}
