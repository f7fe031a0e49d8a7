/*
 * trace_head.c - looking at the beginning of a trace: members of the outermost object one after the other, up to the
 * first event of a process.
 */
#include "read/trace_head.h"

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
#include "read/repair.h"
#include "read/source.h"
#include "text/numbers.h"

/* Text that is looked at, and bytes of a compressed file that it is made of. */
#define HEAD_TEXT   ((size_t)1 << 18)
#define HEAD_PACKED HEAD_TEXT

/* JSON of decimals shrinks to about so much of its size. */
#define PACKED_RATIO 12

/* Seconds below this, the year 2001, do not count from 1970 but from the start of a machine: what they count from is
 * missing. */
#define EARLIEST 1e9

/* ---- JSON that may end anywhere ---- */

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

/* A string's bytes as they are; the text is behind it then. Nothing is told of one that the text ends in. */
static bool take_string(struct head_text *text, const char **bytes, size_t *length) {
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

/* Behind a value; false where the text ends in it. */
static bool skip_value(struct head_text *text) {
    const char *bytes;
    size_t length, depth = 0;
    do {
        skip_blanks(text);
        if (text->at >= text->end)
            return false;
        if (*text->at == '"') {
            if (!take_string(text, &bytes, &length))
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

/* An integer from 0 on that stands there whole, or NOT_TOLD; the text stays. */
static int64_t integer_here(const struct head_text *text) {
    const char *at = text->at;
    int64_t value = 0;
    for (; at < text->end && is_digit(*at) && at - text->at < 18; at++)
        value = 10 * value + (*at - '0');
    return at > text->at && at < text->end && memchr(",]} \t\r\n", *at, 7) ? value : NOT_TOLD;
}

/* A decimal number; 0 where there is none. */
static double decimal_here(const struct head_text *text) {
    char digits[40];
    size_t left = (size_t)(text->end - text->at), n = left < sizeof digits - 1 ? left : sizeof digits - 1;
    memcpy(digits, text->at, n);
    digits[n] = 0;
    return *digits == '"' ? 0 : strtod(digits, NULL);
}

/* The next member of an object, whose opening bracket or last member is passed; false at its end. */
static bool next_member(struct head_text *text, const char **key, size_t *length) {
    skip_blanks(text);
    if (!take_string(text, key, length))
        return false;
    skip_blanks(text);
    return text->at < text->end;
}

static bool key_is(const char *key, size_t length, const char *name) {
    return length == strlen(name) && memcmp(key, name, length) == 0;
}

/* ---- Members that tell something ---- */

static void look_at_info(struct head_text text, struct trace_head *head) {
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

/* Events of the process itself, not of the GPU or of the profiler. */
static bool is_of_process(const char *category, size_t length) {
    return key_is(category, length, "cpu_op") || key_is(category, length, "Operator") ||
           key_is(category, length, "cuda_runtime") || key_is(category, length, "Runtime") ||
           key_is(category, length, "user_annotation") || key_is(category, length, "python_function");
}

/* Whether the event tells the process. */
static bool look_at_event(struct head_text text, double *ts, int64_t *pid) {
    const char *key, *category = NULL;
    size_t length, category_length = 0;
    *pid = NOT_TOLD;
    if (!is_at(&text, '{'))
        return false;
    for (text.at++; next_member(&text, &key, &length);) {
        struct head_text value = text;
        if (key_is(key, length, "pid"))
            *pid = integer_here(&text);
        else if (key_is(key, length, "ts"))
            *ts = decimal_here(&text);
        else if (key_is(key, length, "cat"))
            take_string(&value, &category, &category_length);
        if (!skip_value(&text))
            break;
    }
    return category && is_of_process(category, category_length) && *pid != NOT_TOLD;
}

static void look_at_events(struct head_text text, double base, struct trace_head *head) {
    int64_t pid;
    double ts = 0;
    text.at++;
    for (skip_blanks(&text); is_at(&text, '{'); skip_blanks(&text)) {
        if (look_at_event(text, &ts, &pid)) {
            head->pid = pid;
            head->begin = base + ts / 1e6 < EARLIEST ? 0 : base + ts / 1e6;
            return;
        }
        if (!skip_value(&text))
            return;
    }
}

/* "2026-11-21 08:03:09" as if its zone were UTC. */
static double clock_here(struct head_text text) {
    const char *bytes;
    size_t length;
    char clock[20] = {0};
    struct tm tm = {0};
    if (!take_string(&text, &bytes, &length) || length < sizeof clock - 1)
        return 0;
    memcpy(clock, bytes, sizeof clock - 1);
    return strptime(clock, "%Y-%m-%d %H:%M:%S", &tm) ? (double)timegm(&tm) : 0;
}

void trace_head_look(const char *bytes, size_t size, struct trace_head *head) {
    struct head_text text = {bytes, bytes + size};
    const char *key;
    size_t length;
    double base = 0;
    head->side = SIDE_UNKNOWN;
    head->pid = head->rank = head->world_size = NOT_TOLD;
    head->begin = 0;
    skip_blanks(&text);
    if (!is_at(&text, '{'))
        return;
    for (text.at++; next_member(&text, &key, &length);) {
        if (key_is(key, length, "nodes") && *text.at == '[') {
            head->side = SIDE_HOST;
            return;
        }
        if (key_is(key, length, "traceEvents") && *text.at == '[') {
            head->side = SIDE_DEVICE;
            look_at_events(text, base, head);
            return;
        }
        if (key_is(key, length, "distributedInfo"))
            look_at_info(text, head);
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

/* As many bytes as there are, up to n. */
static size_t read_begin(int file, char *to, size_t n) {
    size_t done = 0;
    while (done < n) {
        ssize_t got = read(file, to + done, n - done);
        if (got <= 0 && (got == 0 || errno != EINTR))
            break;
        done += got > 0 ? (size_t)got : 0;
    }
    return done;
}

/* The text of a head, `n` bytes that SOURCE_PADDING zeros follow, once more as it is when it is mended. Its end, which
 * is missing, is part of that. */
static bool look_at_mended(const char *text, size_t n, struct trace_head *head) {
    struct mend_report report = {.n_elements = 0};
    struct buffer mended = {0};
    size_t failed_at;
    enum mend_result result = mend_text(text, n, &report, &mended, &failed_at);
    if (result == MEND_DONE)
        trace_head_look(mended.bytes, mended.length, head);
    mend_report_free(&report);
    buffer_free(&mended);
    return result != MEND_MEMORY;
}

/* False: out of memory. */
static bool look_at_bytes(const char *bytes, size_t size, char *text, bool lenient, struct trace_head *head) {
    bool is_packed = is_gzip(bytes, size) || is_zstd(bytes, size);
    size_t n = size;
    if (is_packed)
        n = is_gzip(bytes, size) ? gzip_begin(bytes, size, text, HEAD_TEXT) : zstd_begin(bytes, size, text, HEAD_TEXT);
    else
        memcpy(text, bytes, size);
    memset(text + n, 0, SOURCE_PADDING);
    trace_head_look(text, n, head);
    head->text_bytes = head->bytes * (is_packed ? PACKED_RATIO : 1);
    bool is_told = head->side != SIDE_UNKNOWN && head->pid != NOT_TOLD;
    return !lenient || is_told || look_at_mended(text, n, head);
}

enum sutra_status trace_head_read(const char *path, bool lenient, struct trace_head *head, struct sutra_error *error) {
    struct stat found;
    struct trace_head made = {0};
    if (stat(path, &found) == 0 && !S_ISREG(found.st_mode))
        return error_file(error, SUTRA_NO_INPUT, path,
                          "is not a regular file and cannot be inspected before it is read");
    int file = open(path, O_RDONLY | O_CLOEXEC);
    if (file < 0 || fstat(file, &found)) {
        enum sutra_status status = error_file(error, SUTRA_NO_INPUT, path, "%s", strerror(errno));
        if (file >= 0)
            close(file);
        return status;
    }
    made.bytes = file_stamp_of(&found).bytes;
    made.modified_ns = file_stamp_of(&found).modified_ns;
    char *bytes = malloc(HEAD_PACKED), *text = malloc(HEAD_TEXT + SOURCE_PADDING);
    bool ok = bytes && text && look_at_bytes(bytes, read_begin(file, bytes, HEAD_PACKED), text, lenient, &made);
    free(bytes);
    free(text);
    close(file);
    if (!ok)
        return error_memory(error);
    *head = made;
    return SUTRA_OK;
}

/* ---- Names ---- */

#define NUMBER_DIGITS 9

/* The number at `at`, behind dots, dashes and the like. */
static int64_t number_behind(const char *at) {
    at += strspn(at, "-_=. ");
    size_t n = strspn(at, "0123456789");
    return n > 0 && n <= NUMBER_DIGITS ? strtoll(at, NULL, 10) : NOT_TOLD;
}

static int64_t number_behind_word(const char *name, const char *word) {
    int64_t number = NOT_TOLD;
    for (const char *at = name; *at; at++)
        if (strncasecmp(at, word, strlen(word)) == 0 && number_behind(at + strlen(word)) != NOT_TOLD)
            number = number_behind(at + strlen(word));
    return number;
}

/* The only number that stands for itself. */
static int64_t number_alone(const char *name) {
    int64_t number = NOT_TOLD;
    for (const char *at = name; *at;) {
        size_t part = strcspn(at, "._-"), n = strspn(at, "0123456789");
        if (n == part && n > 0) {
            if (number != NOT_TOLD || n > NUMBER_DIGITS)
                return NOT_TOLD;
            number = strtoll(at, NULL, 10);
        }
        at += part + (at[part] != 0);
    }
    return number;
}

int64_t trace_name_number(const char *path) {
    const char *slash = strrchr(path, '/'), *name = slash ? slash + 1 : path;
    int64_t number = number_behind_word(name, "rank");
    if (number == NOT_TOLD)
        number = number_behind_word(name, "worker");
    return number == NOT_TOLD ? number_alone(name) : number;
}
