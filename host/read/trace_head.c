/*
 * trace_head.c - implements trace_head.h: decompresses, inspects and repairs the first bytes of a file.
 */
#include "read/trace_head.h"
#include "base/shared.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/error.h"
#include "base/options.h"
#include "read/document.h"
#include "read/repair.h"
#include "read/source.h"
#include "text/numbers.h"
#include "text/strings.h"

/* Bytes of text that are inspected, and bytes of a compressed file that are decompressed. */
#define HEAD_TEXT   ((size_t)1 << 18)
#define HEAD_PACKED HEAD_TEXT

/* Typical compression ratio of traces. */
#define PACKED_RATIO 12

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
