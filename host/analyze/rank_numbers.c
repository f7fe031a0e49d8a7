/*
 * rank_numbers.c - implements rank_numbers.h.
 */
#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include <strings.h>

#include "analyze/rank_numbers.h"
#include "read/document.h"
#include "text/numbers.h"
#include "text/strings.h"

/* ---- The rank of a trace ---- */

#define RANK_DIGITS_MAX 9

bool rank_of_name(const char *path, int64_t *rank) {
    const char *name = path_file_name(path);
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
    const struct document *document = &trace->document;
    const struct document_member *info = document_find(document, "distributedInfo");
    struct json_span place = info ? document_member_of(document, info->value, "rank") : (struct json_span){0};
    struct number number;
    int64_t rank;
    if (place.at && field_number(document->source.bytes + place.at, &number) && !number_is_double(number) &&
        (int64_t)number.bits >= 0) {
        *source = SUTRA_RANK_INFO;
        return (int64_t)number.bits;
    }
    *source = SUTRA_RANK_NAME;
    if (rank_of_name(path, &rank))
        return rank;
    *source = SUTRA_RANK_POSITION;
    return (int64_t)position;
}

/* ---- Lists of ranks ---- */

static void end_run(struct rank_list *list) {
    size_t left = sizeof list->text - list->length;
    if (!list->any || list->cut)
        return;
    if (left < 50) {
        list->length += (size_t)snprintf(list->text + list->length, left, ", ...");
        list->cut = true;
        return;
    }
    list->length +=
        (size_t)snprintf(list->text + list->length, left, "%s%" PRId64, list->length ? ", " : "", list->first);
    left = sizeof list->text - list->length;
    if (list->last > list->first)
        list->length += (size_t)snprintf(list->text + list->length, left, "%s%" PRId64,
                                         list->last == list->first + 1 ? ", " : "-", list->last);
}

void rank_list_add_run(struct rank_list *list, int64_t first, int64_t last) {
    if (!list->any || (uint64_t)first - (uint64_t)list->last != 1) {
        end_run(list);
        list->any = true;
        list->first = first;
    }
    list->last = last;
}

void rank_list_add(struct rank_list *list, int64_t rank) {
    rank_list_add_run(list, rank, rank);
}

const char *rank_list_text(struct rank_list *list) {
    end_run(list);
    list->any = false;
    return list->text;
}
