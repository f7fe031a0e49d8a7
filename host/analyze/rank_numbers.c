/*
 * rank_numbers.c - implements rank_numbers.h.
 */
#include <inttypes.h>
#include <stdio.h>

#include "analyze/rank_numbers.h"
#include "read/document.h"
#include "read/trace_head.h"
#include "text/numbers.h"

/* ---- The rank of a trace ---- */

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
