/*
 * rank_list.h - a list of ranks as people write it: "0-2, 7"; cut off with "..." where it is long.
 *
 *     struct rank_list list = {0};
 *     rank_list_add(&list, 0), rank_list_add(&list, 1) ... in rising order
 *     printf("%s", rank_list_text(&list));
 */
#ifndef ANALYZE_RANK_LIST_H
#define ANALYZE_RANK_LIST_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define RANK_LIST_TEXT 80

struct rank_list {
    char text[RANK_LIST_TEXT];
    size_t length;
    int64_t first, last; /* of the run at hand */
    bool any, cut;
};

/* Ranks come in rising order. */
void rank_list_add(struct rank_list *list, int64_t rank);

/* Adds all ranks from `first` to `last`. O(1). */
void rank_list_add_run(struct rank_list *list, int64_t first, int64_t last);

/* Ends the list; the text is in it. */
const char *rank_list_text(struct rank_list *list);

#endif
