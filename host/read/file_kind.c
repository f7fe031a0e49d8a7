/*
 * file_kind.c - implements file_kind.h: a table of first bytes, then databases, .et files, JSON and text; and heads of
 * traces, for which it decompresses, inspects and repairs the first bytes of a file.
 */
#include "read/file_kind.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "base/error.h"
#include "base/options.h"
#include "base/shared.h"
#include "read/device_trace.h"
#include "read/document.h"
#include "read/repair.h"
#include "read/source.h"
#include "text/numbers.h"
#include "text/strings.h"

#define DOWNLOAD   ": download the file itself"
#define RECOMPRESS ": decompress it, or compress it with gzip or zstd"
#define UNPACK     ": unpack it and use the trace in it"
#define AS_MEMORY  ": use 'sutra analyze memory FILE'"
#define AS_DUMP    ": use 'sutra analyze hang FILE'"
#define NEW_PICKLE ": write it with pickle.dump(..., protocol=4), and use 'sutra analyze memory FILE'"
#define TO_UTF_8   " FILE > UTF8.json'"
#define OTHER_TOOL ": pandas, polars and DuckDB read it; sutra reads the trace that it was made from"
#define CONVERT    ": convert it to a device trace with 'sutra convert REPORT -o TRACE.json.gz'"
#define EXPORT     ": export the report with " NSYS_EXPORT ", and use the REPORT.sqlite that it writes"

/* Bytes at an offset, after white space if `skips_space`. Of rows that begin equally, the longest is first. */
static const struct {
    const char *bytes;
    size_t size;
    size_t offset;
    bool skips_space;
    const char *name, *remedy;
} kinds[] = {
#define KIND(bytes, name, remedy)                                                                                      \
    { bytes, sizeof(bytes) - 1, 0, false, name, remedy }
#define TEXT(bytes, name, remedy)                                                                                      \
    { bytes, sizeof(bytes) - 1, 0, true, name, remedy }
    TEXT("version https://git-lfs", "a Git LFS pointer", ": run 'git lfs pull' in its repository"),
    TEXT("<!DOCTYPE", "a web page", DOWNLOAD),
    TEXT("<!doctype", "a web page", DOWNLOAD),
    TEXT("<html", "a web page", DOWNLOAD),
    TEXT("<HTML", "a web page", DOWNLOAD),
    TEXT("<?xml", "XML, possibly the error message of a server", DOWNLOAD),
    KIND("PK\003\004", "a zip archive", UNPACK),
    KIND("7z\xbc\xaf\x27\x1c", "a 7z archive", UNPACK),
    {"ustar", 5, 257, false, "a tar archive", ": unpack it with 'tar -xf FILE' and use the trace in it"},
    KIND("BZh", "a file compressed with bzip2", RECOMPRESS),
    KIND("\3757zXZ", "a file compressed with xz", RECOMPRESS),
    KIND("\x04\x22\x4d\x18", "a file compressed with lz4", RECOMPRESS),
    KIND("\x1f\x8b", "a file compressed twice", ": decompress it once"),
    KIND("\x28\xb5\x2f\xfd", "a file compressed twice", ": decompress it once"),
    KIND("\x80\x02", "a pickle, as of a memory snapshot", AS_MEMORY),
    KIND("\x80\x03", "a pickle, as of a memory snapshot", AS_MEMORY),
    KIND("\x80\x04", "a pickle, as of a memory snapshot", AS_MEMORY),
    KIND("\x80\x05", "a pickle, as of a memory snapshot", AS_MEMORY),
    KIND("(dp0\n", "a pickle of protocol 0", NEW_PICKLE),
    KIND("(dp1\n", "a pickle of protocol 0", NEW_PICKLE),
    KIND("(lp0\n", "a pickle of protocol 0", NEW_PICKLE),
    KIND("}q\0", "a pickle of protocol 1", NEW_PICKLE),
    KIND("]q\0", "a pickle of protocol 1", NEW_PICKLE),
    KIND("\xff\xfe\0\0", "text in UTF-32", ": convert it: 'iconv -f UTF-32 -t UTF-8" TO_UTF_8),
    KIND("\0\0\xfe\xff", "text in UTF-32", ": convert it: 'iconv -f UTF-32 -t UTF-8" TO_UTF_8),
    KIND("\xff\xfe", "text in UTF-16", ": convert it: 'iconv -f UTF-16 -t UTF-8" TO_UTF_8),
    KIND("\xfe\xff", "text in UTF-16", ": convert it: 'iconv -f UTF-16 -t UTF-8" TO_UTF_8),
    KIND("{\0", "text in UTF-16", ": convert it: 'iconv -f UTF-16LE -t UTF-8" TO_UTF_8),
    KIND("[\0", "text in UTF-16", ": convert it: 'iconv -f UTF-16LE -t UTF-8" TO_UTF_8),
    KIND("\0{", "text in UTF-16", ": convert it: 'iconv -f UTF-16BE -t UTF-8" TO_UTF_8),
    KIND("\0[", "text in UTF-16", ": convert it: 'iconv -f UTF-16BE -t UTF-8" TO_UTF_8),
    KIND("\xef\xbb\xbf", "a byte order mark", ": remove the first 3 bytes of the file"),
    KIND("ARROW1\0", "an Arrow file, as 'sutra columns' writes", OTHER_TOOL),
    KIND("\xff\xff\xff\xff", "an Arrow stream", OTHER_TOOL),
    KIND("FEA1", "a Feather file", OTHER_TOOL),
    KIND("PAR1", "a Parquet file", OTHER_TOOL),
    KIND("\x7f"
         "ELF",
         "a program", ""),
    KIND("%PDF", "a PDF document", ""),
#undef TEXT
#undef KIND
};

/* Databases are recognized by the names of their tables, in their first pages. */
#define SQLITE_MAGIC "SQLite format 3"
#define SQLITE_BYTES ((size_t)1 << 16)

static const struct {
    const char *table, *name;
} databases[] = {
    {"CUPTI_ACTIVITY_KIND_", "an Nsight Systems report (an SQLite database)"},
    {"NVTX_EVENTS", "an Nsight Systems report (an SQLite database)"},
    {"rocpd_api", "a rocmProfileData report (an SQLite database)"},
    {"rocpd_", "a rocpd report of ROCm's profiler (an SQLite database)"},
    {"", "an SQLite database, as Nsight Systems and ROCm's profiler export it"},
};

/* JSON and pickles are inspected up to this byte. */
#define JSON_BYTES ((size_t)1 << 18)

/* JSON lines are inspected up to this byte: about 40 records. */
#define LOG_BYTES ((size_t)1 << 14)

#define DUMP_NAME "a flight recorder dump"
#define DUMP_KEY  "pg_config"

/* Bytes after the start of a dump's entries that contain a field of the first entry, after its stack. */
#define ENTRY_BYTES ((size_t)1 << 14)

static size_t skip_spaces(const char *bytes, size_t size) {
    size_t at = 0;
    while (at < size && memchr(" \t\r\n", bytes[at], 4))
        at++;
    return at;
}

bool is_sqlite(const char *bytes, size_t size) {
    return size >= sizeof SQLITE_MAGIC && memcmp(bytes, SQLITE_MAGIC, sizeof SQLITE_MAGIC) == 0;
}

/* Reads a length of protobuf from the bytes; false: they end, or the length is above 28 bits. */
static bool read_length(const unsigned char **at, const unsigned char *end, size_t *length) {
    *length = 0;
    for (unsigned shift = 0; *at < end && shift < 28; shift += 7) {
        unsigned char byte = *(*at)++;
        *length |= (size_t)(byte & 0x7f) << shift;
        if (byte < 0x80)
            return true;
    }
    return false;
}

/* Whether the bytes begin with the length of a message and its first field: the version (a string), or an attribute
 * that begins with its name. Text that begins with a letter and a line break does not continue with such a field. */
static bool is_et(const unsigned char *bytes, size_t size) {
    const unsigned char *at = bytes, *end = bytes + size;
    size_t message, field, name;
    if (!read_length(&at, end, &message) || message < 4 || end - at < 4 || (*at != 0x0a && *at != 0x12))
        return false;
    const unsigned char *begin = at++;
    if (!read_length(&at, end, &field) || (size_t)(at - begin) + field > message)
        return false;
    const size_t rest = message - (size_t)(at - begin) - field;
    if (*begin == 0x0a) /* after the version, an attribute */
        return rest == 0 || ((size_t)(end - at) > field && at[field] == 0x12);
    return field > 2 && at < end && *at++ == 0x0a && read_length(&at, end, &name) && name > 0 && name <= field - 2;
}

/* ---- Truncated JSON ---- */

/* Times below this, the year 2001, do not count from 1970 but from the start of the machine, which is unknown. */
#define EARLIEST 1e9

struct head_text {
    const char *at, *end;
};

static bool is_at(const struct head_text *text, char c) {
    return text->at < text->end && *text->at == c;
}

static void skip_blanks(struct head_text *text) {
    while (text->at < text->end && memchr(" \t\r\n,:", *text->at, 6))
        text->at++;
}

/* Steps over a string and returns its raw bytes; false: truncated. */
static bool read_string(struct head_text *text, const char **bytes, size_t *length) {
    if (!is_at(text, '"'))
        return false;
    const char *begin = ++text->at;
    while (text->at < text->end && *text->at != '"')
        text->at += *text->at == '\\' ? 2 : 1;
    if (text->at >= text->end)
        return false;
    *bytes = begin;
    *length = (size_t)(text->at++ - begin);
    return true;
}

/* Steps over a value; false: truncated. */
static bool skip_value(struct head_text *text) {
    const char *bytes;
    size_t length, depth = 0;
    do {
        skip_blanks(text);
        if (text->at >= text->end)
            return false;
        if (*text->at == '"') {
            if (!read_string(text, &bytes, &length))
                return false;
            continue;
        }
        depth += *text->at == '{' || *text->at == '[';
        depth -= depth > 0 && (*text->at == '}' || *text->at == ']');
        bool single = *text->at != '{' && *text->at != '[' && *text->at != '}' && *text->at != ']';
        for (text->at++; single && text->at < text->end && !memchr(",]} \t\r\n", *text->at, 7);)
            text->at++;
    } while (depth > 0);
    return text->at < text->end;
}

/* The nonnegative integer at the text, or NOT_RECORDED. */
static int64_t integer_here(const struct head_text *text) {
    const char *at = text->at;
    int64_t value = 0;
    for (; at < text->end && is_digit(*at) && at - text->at < 18; at++)
        value = 10 * value + (*at - '0');
    return at > text->at && at < text->end && memchr(",]} \t\r\n", *at, 7) ? value : NOT_RECORDED;
}

/* The decimal number at the text, or 0. */
static double decimal_here(const struct head_text *text) {
    char digits[40];
    size_t left = (size_t)(text->end - text->at), n = MIN(left, sizeof digits - 1);
    memcpy(digits, text->at, n);
    digits[n] = 0;
    return strtod(digits + (*digits == '"'), NULL);
}

/* Steps over the key of an object's next member; false at the end. */
static bool next_member(struct head_text *text, const char **key, size_t *length) {
    skip_blanks(text);
    if (!read_string(text, key, length))
        return false;
    skip_blanks(text);
    return text->at < text->end;
}

/* Copies a string without escapes; a longer one is cut. */
static void copy_string(struct head_text text, char *copy, size_t size) {
    const char *bytes;
    size_t length;
    if (read_string(&text, &bytes, &length) && !memchr(bytes, '\\', length))
        snprintf(copy, size, "%.*s", (int)length, bytes);
}

static bool key_is(const char *key, size_t length, const char *name) {
    return length == strlen(name) && memcmp(key, name, length) == 0;
}

/* ---- JSON, JSON lines, traces ---- */

bool is_inspector_log(const char *bytes, size_t size) {
    enum { HEADER = 1, METADATA = 2, RECORD = 4 };
    const char *key;
    size_t length, end;
    size = MIN(size, LOG_BYTES);
    for (size_t at = 0; at < size; at = end + 1) {
        const char *newline = memchr(bytes + at, '\n', size - at);
        unsigned found = 0;
        end = newline ? (size_t)(newline - bytes) : size;
        struct head_text line = {bytes + at, bytes + end};
        skip_blanks(&line);
        if (!is_at(&line, '{'))
            continue;
        for (line.at++; found != (HEADER | METADATA | RECORD) && next_member(&line, &key, &length);) {
            if (is_at(&line, '{'))
                found |= key_is(key, length, "header")                                         ? HEADER
                         : key_is(key, length, "metadata")                                     ? METADATA
                         : key_is(key, length, "coll_perf") || key_is(key, length, "p2p_perf") ? RECORD
                                                                                               : 0;
            if (is_at(&line, '[') || !skip_value(&line)) /* arrays of traces are long */
                break;
        }
        if (found == (HEADER | METADATA | RECORD))
            return true;
    }
    return false;
}

bool may_be_json(const char *bytes, size_t size) {
    size_t at = skip_spaces(bytes, size);
    if (at == size || bytes[at] == '\xef')
        return true;
    bool is_utf_16 = at + 1 < size && bytes[at + 1] == 0;
    return !is_utf_16 && (bytes[at] == '[' || (bytes[at] == '{' && !is_inspector_log(bytes + at, size - at)));
}

bool may_be_trace(const char *bytes, size_t size) {
    return may_be_json(bytes, size) || is_sqlite(bytes, size);
}

/* ---- The head of a trace: members of the outermost object, up to the first event of a process ---- */

static void read_distributed_info(struct head_text text, struct trace_head *head) {
    const char *key;
    size_t length;
    if (!is_at(&text, '{'))
        return;
    for (text.at++; next_member(&text, &key, &length) && *text.at != '}';) {
        if (key_is(key, length, "rank"))
            head->rank = integer_here(&text);
        else if (key_is(key, length, "world_size"))
            head->world_size = integer_here(&text);
        if (!skip_value(&text))
            return;
    }
}

/* Reads ts and pid of an event. True: an event of the process itself, not of the GPU or the profiler. */
static bool read_event(struct head_text text, double *ts, int64_t *pid, struct trace_head *head) {
    static const char *const categories[] = {"cpu_op",  "Operator",        "cuda_runtime",
                                             "Runtime", "user_annotation", "python_function"};
    const char *key, *category = NULL;
    size_t length, category_length = 0;
    *pid = NOT_RECORDED;
    if (!is_at(&text, '{'))
        return false;
    for (text.at++; next_member(&text, &key, &length);) {
        struct head_text value = text;
        if (key_is(key, length, "pid")) {
            *pid = integer_here(&text);
            head->has_merged_pids |= text.end - text.at > 1 && text.at[0] == '"' && text.at[1] == '[';
        } else if (key_is(key, length, "ts"))
            *ts = decimal_here(&text);
        else if (key_is(key, length, "cat"))
            read_string(&value, &category, &category_length);
        if (!skip_value(&text))
            break;
    }
    for (size_t i = 0; i < sizeof categories / sizeof *categories && category; i++)
        if (key_is(category, category_length, categories[i]))
            return *pid != NOT_RECORDED;
    return false;
}

static void read_events(struct head_text text, double base, struct trace_head *head) {
    int64_t pid;
    double ts = 0;
    text.at++;
    for (skip_blanks(&text); is_at(&text, '{'); skip_blanks(&text)) {
        if (read_event(text, &ts, &pid, head)) {
            head->pid = pid;
            head->begin = base + ts / 1e6 < EARLIEST ? 0 : base + ts / 1e6;
            return;
        }
        if (!skip_value(&text))
            return;
    }
}

/* "2026-11-21 08:03:09", read as UTC. */
static double clock_here(struct head_text text) {
    const char *bytes;
    size_t length;
    char clock[20] = {0};
    struct tm tm = {0};
    if (!read_string(&text, &bytes, &length) || length < sizeof clock - 1)
        return 0;
    memcpy(clock, bytes, sizeof clock - 1);
    return strptime(clock, "%Y-%m-%d %H:%M:%S", &tm) ? (double)timegm(&tm) : 0;
}

void trace_head_inspect(const char *bytes, size_t size, struct trace_head *head) {
    struct head_text text = {bytes, bytes + size};
    const char *key;
    size_t length;
    double base = 0;
    head->side = SIDE_UNKNOWN;
    head->pid = head->rank = head->world_size = NOT_RECORDED;
    head->begin = 0;
    head->is_merged = head->has_merged_pids = head->is_dump = false;
    head->trace_id[0] = head->host_name[0] = 0;
    skip_blanks(&text);
    if (is_at(&text, '[')) { /* the events alone */
        struct head_text first = {text.at + 1, text.end};
        skip_blanks(&first);
        head->side = is_at(&first, '{') || is_at(&first, ']') ? SIDE_DEVICE : SIDE_UNKNOWN;
        read_events(text, base, head);
        return;
    }
    if (!is_at(&text, '{'))
        return;
    for (text.at++; next_member(&text, &key, &length);) {
        if (key_is(key, length, "nodes") && *text.at == '[') {
            head->side = SIDE_HOST;
            return;
        }
        if (key_is(key, length, "traceEvents") && *text.at == '[') {
            head->side = SIDE_DEVICE;
            read_events(text, base, head);
            return;
        }
        head->is_dump |= key_is(key, length, DUMP_KEY) && *text.at == '{';
        head->is_dump |= key_is(key, length, "entries") && *text.at == '[' &&
                         text_has(text.at, MIN((size_t)(text.end - text.at), ENTRY_BYTES), "\"profiling_name\"");
        if (key_is(key, length, "distributedInfo"))
            read_distributed_info(text, head);
        else if (key_is(key, length, "pid"))
            head->pid = integer_here(&text);
        else if (key_is(key, length, "time"))
            head->begin = clock_here(text);
        else if (key_is(key, length, "baseTimeNanoseconds"))
            base = decimal_here(&text) / 1e9;
        else if (key_is(key, length, "trace_id"))
            copy_string(text, head->trace_id, sizeof head->trace_id);
        else if (key_is(key, length, "host_name"))
            copy_string(text, head->host_name, sizeof head->host_name);
        else if (key_is(key, length, "mergedRanks"))
            head->is_merged = true;
        if (!skip_value(&text))
            return;
    }
}

/* ---- Kinds ---- */

/* Bytes of the nodes that are searched for durations: many nodes, since not all are linked. */
#define LINKED_BYTES ((size_t)1 << 20)

bool has_node_durations(const char *bytes, size_t size) {
    static const char *const marks[] = {"\"exclusive_dur\"", "\"dur\""};
    size_t n = MIN(size, LINKED_BYTES);
    return text_has(bytes, n, marks[0]) || text_has(bytes, n, marks[1]);
}

/* Whether a pickle is a dump of the flight recorder: it contains the name of a key of a dump, with its length (of one
 * byte, or of four). Names of functions in the stacks of a memory snapshot have other lengths. */
static bool is_dump_pickle(const char *bytes, size_t size) {
    size_t n = MIN(size, JSON_BYTES);
    return n > 0 && bytes[0] == '\x80' &&
           (memmem(bytes, n, "\x09" DUMP_KEY, sizeof DUMP_KEY) ||
            memmem(bytes, n, "\x09\0\0\0" DUMP_KEY, 3 + sizeof DUMP_KEY));
}

static struct file_kind kind_of_json(const char *bytes, size_t size) {
    struct trace_head head;
    trace_head_inspect(bytes, MIN(size, JSON_BYTES), &head);
    if (head.side == SIDE_DEVICE)
        return (struct file_kind){FILE_DEVICE_TRACE, "a device trace", ": use 'sutra analyze FILE'"};
    if (head.side == SIDE_HOST && has_node_durations(bytes, size))
        return (struct file_kind){FILE_LINKED_TRACE, "ET+ (a linked trace)", ": use the traces that were linked"};
    if (head.side == SIDE_HOST)
        return (struct file_kind){FILE_HOST_TRACE, "a host trace",
                                  ": link it: 'sutra link FILE DEVICE -o LINKED.json'"};
    if (head.is_dump)
        return (struct file_kind){FILE_DUMP, DUMP_NAME, AS_DUMP};
    if (text_has(bytes, MIN(size, JSON_BYTES), "\"segments\""))
        return (struct file_kind){FILE_SNAPSHOT, "a memory snapshot", AS_MEMORY};
    if (text_has(bytes, MIN(size, JSON_BYTES), "\"stringVal\":"))
        return (struct file_kind){FILE_ET_JSON, "JSON of 'sutra jsonize'",
                                  ": use the .et file from which it was written"};
    return (struct file_kind){FILE_JSON, "JSON of another kind", ""};
}

bool has_log_name(const char *path) {
    static const char *const endings[] = {".log", ".log.gz", ".log.zst", ".jsonl", ".jsonl.gz", ".jsonl.zst"};
    for (size_t i = 0; i < sizeof endings / sizeof *endings; i++)
        if (text_ends_in(path, endings[i]))
            return true;
    return false;
}

bool is_unexported_report(const char *path) {
    return text_ends_in(path, ".nsys-rep") || text_ends_in(path, ".qdrep") || text_ends_in(path, ".qdstrm");
}

struct file_kind file_kind(const char *path, const char *bytes, size_t size) {
    if (is_unexported_report(path) && !is_sqlite(bytes, size))
        return (struct file_kind){FILE_OTHER, "a report of Nsight Systems", EXPORT};
    if (is_dump_pickle(bytes, size))
        return (struct file_kind){FILE_DUMP, DUMP_NAME, AS_DUMP};
    size_t spaces = skip_spaces(bytes, size);
    for (size_t i = 0; i < sizeof kinds / sizeof *kinds; i++) {
        size_t at = kinds[i].skips_space ? spaces : kinds[i].offset;
        if (at <= size && size - at >= kinds[i].size && memcmp(bytes + at, kinds[i].bytes, kinds[i].size) == 0)
            return (struct file_kind){FILE_OTHER, kinds[i].name, kinds[i].remedy};
    }
    if (is_sqlite(bytes, size)) {
        size_t i = 0, n = MIN(size, SQLITE_BYTES);
        while (!text_has(bytes, n, databases[i].table))
            i++;
        return (struct file_kind){FILE_OTHER, databases[i].name, CONVERT};
    }
    if (is_et((const unsigned char *)bytes, size))
        return (struct file_kind){FILE_ET, "a Chakra .et file",
                                  ": use 'sutra info', 'sutra simulate' or 'sutra jsonize'"};
    if (size > 0 && bytes[0] == 0)
        return (struct file_kind){FILE_OTHER, "binary data that begins with a zero byte", ""};
    if (spaces == size)
        return (struct file_kind){FILE_OTHER, size ? "only white space" : "an empty file", ": copy or record it again"};
    if (is_inspector_log(bytes, size))
        return (struct file_kind){FILE_INSPECTOR_LOG, "an NCCL Inspector log",
                                  ": 'sutra analyze collectives' reads it"};
    if (may_be_json(bytes, size))
        return kind_of_json(bytes, size);
    bool is_text = true;
    for (size_t i = 0; i < size && i < 256; i++)
        is_text &= ((unsigned char)bytes[i] >= ' ' || memchr("\t\n\v\f\r\033", bytes[i], 6)) && bytes[i] != 0x7f;
    if (is_text)
        return (struct file_kind){FILE_OTHER, "text that does not begin with '{'", ""};
    return (struct file_kind){FILE_UNKNOWN, "binary data of an unknown format", ""};
}

/* Bytes of text that are inspected, and bytes of a compressed file that are decompressed: first few, which is enough
 * for most files, then more. */
#define HEAD_FIRST ((size_t)1 << 14)
#define HEAD_TEXT  ((size_t)1 << 18)

/* Typical compression ratio of traces. */
#define PACKED_RATIO 12

/* ---- Files ---- */

static bool is_head_complete(const struct trace_head *head) {
    return (head->side != SIDE_UNKNOWN && head->pid != NOT_RECORDED) || head->is_dump;
}

/* The format of an inspected file with n bytes of text. */
static enum file_format head_format(const char *path, const char *text, size_t n, const struct trace_head *head) {
    if (n == 0 && head->text_bytes > head->bytes) /* cannot be decompressed */
        return FILE_UNKNOWN;
    if (is_sqlite(text, n))
        return FILE_REPORT;
    if (head->side != SIDE_UNKNOWN)
        return head->side == SIDE_HOST ? FILE_HOST_TRACE : FILE_DEVICE_TRACE;
    const bool is_pickle = n > 0 && text[0] == '\x80' && !head->is_dump;
    return is_pickle && text_has(text, n, "segments") ? FILE_SNAPSHOT : file_kind(path, text, n).format;
}

/* Inspects the first bytes of a file; `text` has room for `most` bytes and padding. Returns the bytes of text. */
static size_t inspect_bytes(const char *bytes, size_t size, char *text, size_t most, struct trace_head *head) {
    const bool is_packed = is_gzip(bytes, size) || is_zstd(bytes, size);
    size_t n = size;
    if (is_packed)
        n = is_gzip(bytes, size) ? gzip_begin(bytes, size, text, most) : zstd_begin(bytes, size, text, most);
    else
        memcpy(text, bytes, n);
    memset(text + n, 0, SOURCE_PADDING);
    trace_head_inspect(text, n, head);
    head->is_dump |= is_dump_pickle(text, n);
    head->text_bytes = head->bytes * (is_packed ? PACKED_RATIO : 1);
    return n;
}

/* Repairs an inspected text, including its missing end, and inspects it again. False: out of memory. */
static bool inspect_repaired(const char *text, size_t n, struct trace_head *head) {
    struct text_repairs report = {.n_elements = 0};
    struct buffer repaired = {0};
    size_t failed_at;
    enum repair_result result = repair_text(text, n, &report, &repaired, &failed_at);
    if (result == REPAIR_DONE)
        trace_head_inspect(repaired.bytes, repaired.length, head);
    text_repairs_free(&report);
    buffer_free(&repaired);
    return result != REPAIR_NO_MEMORY;
}

static enum sutra_status read_head(const char *path, bool lenient, struct trace_head *head, struct sutra_error *error) {
    struct stat found;
    struct trace_head made = {0};
    bool standard = strcmp(path, "-") == 0;
    if ((standard ? fstat(STDIN_FILENO, &found) : stat(path, &found)) == 0 && !S_ISREG(found.st_mode))
        return error_file(error, SUTRA_NO_INPUT, path,
                          "is not a regular file and cannot be inspected before it is read");
    int file = standard ? STDIN_FILENO : open(path, O_RDONLY | O_CLOEXEC);
    if (file < 0 || fstat(file, &found)) {
        enum sutra_status status = error_os(error, SUTRA_NO_INPUT, path, errno, "");
        if (file >= 0 && !standard)
            close(file);
        return status;
    }
    made.bytes = file_stamp_of(&found).bytes;
    made.modified_ns = file_stamp_of(&found).modified_ns;
    char *bytes = malloc(HEAD_TEXT), *text = malloc(HEAD_TEXT + SOURCE_PADDING);
    bool ok = bytes && text;
    size_t n = 0, n_text = 0;
    for (size_t most = HEAD_FIRST; ok; most = HEAD_TEXT) {
        for (ssize_t got = 1; got != 0 && n<most; n += got> 0 ? (size_t)got : 0) {
            got = pread(file, bytes + n, most - n, (off_t)n);
            if (got < 0 && errno != EINTR)
                break;
        }
        n_text = inspect_bytes(bytes, n, text, most, &made);
        if (is_head_complete(&made) || most == HEAD_TEXT || (n < most && n_text < most))
            break;
    }
    if (ok && lenient && !is_sqlite(text, n_text) && !is_head_complete(&made))
        ok = inspect_repaired(text, n_text, &made);
    if (ok)
        made.format = head_format(path, text, n_text, &made);
    if (made.format == FILE_REPORT) /* a profiler's, whose processes only a scan of the tables finds */
        made.side = SIDE_DEVICE;
    free(bytes);
    free(text);
    if (!standard)
        close(file);
    TRY_ALLOC(ok, error);
    *head = made;
    return SUTRA_OK;
}

enum sutra_status trace_head_read(const char *path, bool lenient, struct trace_head *head, struct sutra_error *error) {
    char *file; /* of a report with several ranks, if the path names one of them */
    int64_t rank = NOT_RECORDED;
    TRY_ALLOC(rank_path_split(path, &file, &rank), error);
    enum sutra_status status = read_head(file ? file : path, lenient, head, error);
    if (!status && file)
        head->rank = rank;
    free(file);
    return status;
}

bool is_inspector_log_file(const char *path) {
    struct trace_head head = {.format = FILE_UNKNOWN};
    return strcmp(path, "-") != 0 && trace_head_read(path, false, &head, NULL) == SUTRA_OK &&
           head.format == FILE_INSPECTOR_LOG;
}

/* ---- Names ---- */

#define NUMBER_DIGITS 9

/* The number at `at`, after dots, dashes and the like. */
static int64_t number_after(const char *at) {
    at += strspn(at, "-_=. ");
    size_t n = strspn(at, "0123456789");
    return n > 0 && n <= NUMBER_DIGITS ? strtoll(at, NULL, 10) : NOT_RECORDED;
}

static int64_t number_after_word(const char *name, const char *word) {
    int64_t number = NOT_RECORDED;
    for (const char *at = name; *at; at++)
        if (strncasecmp(at, word, strlen(word)) == 0 && number_after(at + strlen(word)) != NOT_RECORDED)
            number = number_after(at + strlen(word));
    return number;
}

int64_t trace_name_rank(const char *path) {
    return number_after_word(path_file_name(path), "rank");
}

int64_t trace_name_number(const char *path) {
    const char *name = path_file_name(path);
    int64_t number = trace_name_rank(path);
    if (number == NOT_RECORDED)
        number = number_after_word(name, "worker");
    if (number != NOT_RECORDED)
        return number;
    /* The only number between separators. */
    for (const char *at = name; *at;) {
        size_t part = strcspn(at, "._-"), n = strspn(at, "0123456789");
        if (n == part && n > 0) {
            if (number != NOT_RECORDED || n > NUMBER_DIGITS)
                return NOT_RECORDED;
            number = strtoll(at, NULL, 10);
        }
        at += part + (at[part] != 0);
    }
    return number;
}

int64_t rank_number(const struct sutra_device_trace *trace, const char *path, size_t position,
                    enum sutra_rank_source *source) {
    const struct document *document = &trace->document;
    struct json_span place = document_rank(document);
    struct number number;
    if (place.at && field_number(document->source.bytes + place.at, &number) && !number_is_double(number) &&
        (int64_t)number.bits >= 0) {
        *source = SUTRA_RANK_INFO;
        return (int64_t)number.bits;
    }
    int64_t rank = trace_name_rank(path);
    *source = rank == NOT_RECORDED ? SUTRA_RANK_POSITION : SUTRA_RANK_NAME;
    return rank == NOT_RECORDED ? (int64_t)position : rank;
}
