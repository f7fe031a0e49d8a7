/*
 * file_kind.c - the table of first bytes.
 */
#include "read/file_kind.h"

#include <string.h>

#define DOWNLOAD   ": download the file itself"
#define RECOMPRESS ": decompress it, or compress it with gzip or zstd"
#define ET_NAME    "a Chakra .et file"
#define ET_REMEDY  ": use 'sutra info', 'sutra simulate' or 'sutra jsonize'"
#define RECORD     ": record a JSON trace with torch.profiler and export_chrome_trace()"

/* Bytes before the text of a kind with `skips_space` may be white space. */
static const struct {
    const char *bytes;
    size_t size;
    bool skips_space;
    struct file_kind kind;
} kinds[] = {
#define KIND(bytes, skips_space, name, remedy)                                                                         \
    {                                                                                                                  \
        bytes, sizeof(bytes) - 1, skips_space, {                                                                       \
            name, remedy, false                                                                                        \
        }                                                                                                              \
    }
    KIND("version https://git-lfs", true, "a Git LFS pointer", ": run 'git lfs pull' in its repository"),
    KIND("<!DOCTYPE", true, "a web page", DOWNLOAD),
    KIND("<!doctype", true, "a web page", DOWNLOAD),
    KIND("<html", true, "a web page", DOWNLOAD),
    KIND("<HTML", true, "a web page", DOWNLOAD),
    KIND("<?xml", true, "XML, possibly the error message of a server", DOWNLOAD),
    KIND("PK\003\004", false, "a zip archive", ": unpack it and use the trace in it"),
    KIND("BZh", false, "a file compressed with bzip2", RECOMPRESS),
    KIND("\3757zXZ", false, "a file compressed with xz", RECOMPRESS),
    KIND("\x7f"
         "ELF",
         false, "a program", ""),
    KIND("%PDF", false, "a PDF document", ""),
#undef KIND
};

/* Databases are told apart by their tables' names, which are in their first pages. */
#define SQLITE_MAGIC "SQLite format 3"
#define SQLITE_LOOK  ((size_t)1 << 16)

static const struct {
    const char *table;
    struct file_kind kind;
} databases[] = {
    {"CUPTI_ACTIVITY_KIND_", {"an Nsight Systems report (an SQLite database)", RECORD, false}},
    {"NVTX_EVENTS", {"an Nsight Systems report (an SQLite database)", RECORD, false}},
    {"rocpd_", {"a rocpd report of ROCm's profiler (an SQLite database)", RECORD, false}},
    {"", {"an SQLite database, as Nsight Systems and ROCm's profiler export it", RECORD, false}},
};

static size_t skip_spaces(const char *bytes, size_t size) {
    size_t at = 0;
    while (at < size && memchr(" \t\r\n", bytes[at], 4))
        at++;
    return at;
}

bool may_be_json(const char *bytes, size_t size) {
    size_t at = skip_spaces(bytes, size);
    return at == size || bytes[at] == '{' || bytes[at] == '[' || bytes[at] == '\xef';
}

static struct file_kind database_kind(const char *bytes, size_t size) {
    size_t i = 0;
    while (!memmem(bytes, size < SQLITE_LOOK ? size : SQLITE_LOOK, databases[i].table, strlen(databases[i].table)))
        i++;
    return databases[i].kind;
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
 * that begins with its name. A text that begins with a letter and a line break has no such field behind it. */
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

static bool is_text(const char *bytes, size_t size) {
    size_t n = size < 256 ? size : 256;
    for (size_t i = 0; i < n; i++)
        if (((unsigned char)bytes[i] < ' ' && !memchr("\t\n\v\f\r\033", bytes[i], 6)) || bytes[i] == 0x7f)
            return false;
    return n > 0;
}

struct file_kind file_kind(const char *bytes, size_t size) {
    size_t spaces = skip_spaces(bytes, size);
    for (size_t i = 0; i < sizeof kinds / sizeof *kinds; i++) {
        size_t at = kinds[i].skips_space ? spaces : 0;
        if (size - at >= kinds[i].size && memcmp(bytes + at, kinds[i].bytes, kinds[i].size) == 0)
            return kinds[i].kind;
    }
    if (size >= sizeof SQLITE_MAGIC && memcmp(bytes, SQLITE_MAGIC, sizeof SQLITE_MAGIC) == 0)
        return database_kind(bytes, size);
    if (is_et((const unsigned char *)bytes, size))
        return (struct file_kind){ET_NAME, ET_REMEDY, true};
    if (size > 0 && bytes[0] == 0)
        return (struct file_kind){"binary data that begins with a zero byte", "", false};
    if (spaces < size && is_text(bytes, size))
        return (struct file_kind){"text that does not begin with '{'",
                                  ": use the JSON file of torch.profiler or of ExecutionTraceObserver", false};
    return (struct file_kind){NULL, "", false};
}
