/*
 * trace_head.c - implements trace_head.h: walks the members of the outermost object, up to the first event of a
 * process.
 */
#include "read/trace_head.h"
#include "base/shared.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "base/error.h"
#include "base/options.h"
#include "read/document.h"
#include "read/file_kind.h"
#include "read/repair.h"
#include "read/source.h"
#include "text/numbers.h"
#include "text/strings.h"

/* Bytes of text that are inspected, and bytes of a compressed file that are decompressed. */
#define HEAD_TEXT   ((size_t)1 << 18)
#define HEAD_PACKED HEAD_TEXT

/* Typical compression ratio of traces. */
#define PACKED_RATIO 12

/* Times below this, the year 2001, do not count from 1970 but from the start of the machine, which is unknown. */
#define EARLIEST 1e9

/* ---- Truncated JSON ---- */

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

static bool key_is(const char *key, size_t length, const char *name) {
    return length == strlen(name) && memcmp(key, name, length) == 0;
}

/* ---- Members ---- */

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
static bool read_event(struct head_text text, double *ts, int64_t *pid) {
    static const char *const categories[] = {"cpu_op",  "Operator",        "cuda_runtime",
                                             "Runtime", "user_annotation", "python_function"};
    const char *key, *category = NULL;
    size_t length, category_length = 0;
    *pid = NOT_RECORDED;
    if (!is_at(&text, '{'))
        return false;
    for (text.at++; next_member(&text, &key, &length);) {
        struct head_text value = text;
        if (key_is(key, length, "pid"))
            *pid = integer_here(&text);
        else if (key_is(key, length, "ts"))
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
        if (read_event(text, &ts, &pid)) {
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
        if (key_is(key, length, "distributedInfo"))
            read_distributed_info(text, head);
        else if (key_is(key, length, "pid"))
            head->pid = integer_here(&text);
        else if (key_is(key, length, "time"))
            head->begin = clock_here(text);
        else if (key_is(key, length, "baseTimeNanoseconds"))
            base = decimal_here(&text) / 1e9;
        if (!skip_value(&text))
            return;
    }
}

/* ---- Files ---- */

/* Inspects the first bytes of a file; `text` has room for HEAD_TEXT and padding. False: out of memory. */
static bool inspect_bytes(const char *bytes, size_t size, char *text, bool lenient, struct trace_head *head) {
    bool is_packed = is_gzip(bytes, size) || is_zstd(bytes, size);
    size_t n = size;
    if (is_packed)
        n = is_gzip(bytes, size) ? gzip_begin(bytes, size, text, HEAD_TEXT) : zstd_begin(bytes, size, text, HEAD_TEXT);
    else
        memcpy(text, bytes, size);
    memset(text + n, 0, SOURCE_PADDING);
    trace_head_inspect(text, n, head);
    head->text_bytes = head->bytes * (is_packed ? PACKED_RATIO : 1);
    if (is_sqlite(text, n)) { /* a profiler's report, whose processes only a scan of the tables finds */
        head->side = SIDE_DEVICE;
        return true;
    }
    if (!lenient || (head->side != SIDE_UNKNOWN && head->pid != NOT_RECORDED))
        return true;
    /* Repair the text, including its missing end. */
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
    char *bytes = malloc(HEAD_PACKED), *text = malloc(HEAD_TEXT + SOURCE_PADDING);
    size_t n = 0;
    for (ssize_t got = 1; bytes && got != 0 && n<HEAD_PACKED; n += got> 0 ? (size_t)got : 0) {
        got = pread(file, bytes + n, HEAD_PACKED - n, (off_t)n);
        if (got < 0 && errno != EINTR)
            break;
    }
    bool ok = bytes && text && inspect_bytes(bytes, n, text, lenient, &made);
    free(bytes);
    free(text);
    if (!standard)
        close(file);
    if (!ok)
        return error_memory(error);
    *head = made;
    return SUTRA_OK;
}

enum sutra_status trace_head_read(const char *path, bool lenient, struct trace_head *head, struct sutra_error *error) {
    char *file; /* of a report with several ranks, if the path names one of them */
    int64_t rank = NOT_RECORDED;
    if (!rank_path_split(path, &file, &rank))
        return error_memory(error);
    enum sutra_status status = read_head(file ? file : path, lenient, head, error);
    if (!status && file)
        head->rank = rank;
    free(file);
    return status;
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
