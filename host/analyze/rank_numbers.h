/*
 * rank_numbers.h - the number of a rank: where a trace has it, and lists of numbers in messages.
 */
#ifndef ANALYZE_RANK_NUMBERS_H
#define ANALYZE_RANK_NUMBERS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "read/device_trace.h"
#include "sutra/trace.h"

/* The rank of a trace: "rank" of its "distributedInfo", else the number after the last "rank" of the file name, else
 * `position`. */
int64_t rank_number(const struct sutra_device_trace *trace, const char *path, size_t position,
                    enum sutra_rank_source *source);

/*
 * A list of ranks for messages: "0-2, 7"; a long one ends with "...".
 *
 *     struct rank_list list = {0};
 *     rank_list_add(&list, 0), rank_list_add(&list, 1) ... in ascending order
 *     printf("%s", rank_list_text(&list));
 */

#define RANK_LIST_TEXT 80

struct rank_list {
    char text[RANK_LIST_TEXT];
    size_t length;
    int64_t first, last; /* of the current run */
    bool any, cut;
};

/* Ranks are added in ascending order. */
void rank_list_add(struct rank_list *list, int64_t rank);

/* Adds all ranks from `first` to `last`. O(1). */
void rank_list_add_run(struct rank_list *list, int64_t first, int64_t last);

/* Ends the list; the text is in it. */
const char *rank_list_text(struct rank_list *list);

#endif
