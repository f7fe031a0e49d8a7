/*
 * rank_number.c - which rank a trace is of, from the trace, the file's name, or its place in the list.
 */
#include "analyze/rank_number.h"

#include <string.h>
#include <strings.h>

#include "read/fields.h"
#include "read/trace_head.h"

#define RANK_DIGITS_MAX 9

static bool rank_of_trace(const struct sutra_device_trace *trace, int64_t *rank) {
    const struct document *document = &trace->document;
    const struct document_member *info = document_find(document, "distributedInfo");
    struct json_place place = info ? document_member_of(document, info->value, "rank") : (struct json_place){0};
    struct number number;
    if (!place.at || !field_number(document->source.bytes + place.at, &number) || number_is_double(number) ||
        (int64_t)number.bits < 0)
        return false;
    *rank = (int64_t)number.bits;
    return true;
}

/* "rank3", "Rank-3", "rank_03": the last of them in the file's name. */
static bool rank_of_name(const char *path, int64_t *rank) {
    const char *slash = strrchr(path, '/'), *name = slash ? slash + 1 : path;
    bool found = false;
    for (const char *at = name; *at; at++) {
        if (strncasecmp(at, "rank", 4) != 0)
            continue;
        const char *digits = at + 4 + strspn(at + 4, "-_=. ");
        size_t n = strspn(digits, "0123456789");
        if (n == 0 || n > RANK_DIGITS_MAX)
            continue;
        *rank = 0;
        for (size_t i = 0; i < n; i++)
            *rank = *rank * 10 + (digits[i] - '0');
        found = true;
    }
    return found;
}

int64_t rank_number(const struct sutra_device_trace *trace, const char *path, size_t position,
                    enum sutra_rank_source *source) {
    int64_t rank = (int64_t)position;
    *source = SUTRA_RANK_POSITION;
    if (rank_of_trace(trace, &rank))
        *source = SUTRA_RANK_INFO;
    else if (rank_of_name(path, &rank))
        *source = SUTRA_RANK_NAME;
    return rank;
}

bool rank_number_of_file(const char *path, int64_t *rank) {
    struct trace_head head;
    if (trace_head_read(path, false, &head, NULL) || head.side != SIDE_DEVICE || head.rank < 0)
        return false;
    *rank = head.rank;
    return true;
}
