/*
 * rank_list.c - writing lists of ranks.
 */
#include "analyze/rank_list.h"

#include <inttypes.h>
#include <stdio.h>

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
