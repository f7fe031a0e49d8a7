/*
 * diff_page.h - terminal report of `sutra diff`: the faster side, the difference, and the operators and kernels that
 * cause it.
 */
#ifndef CLI_DIFF_PAGE_H
#define CLI_DIFF_PAGE_H

#include "cli/diff_gate.h"

/* The sides as people named them, and the folder of the tables or NULL. */
struct diff_page_names {
    const char *sides[2], *folder;
};

void diff_page_print(const struct sutra_diff *diff, const struct diff_page_names *names, const struct diff_gate *gate);

/* The step time and the kernels that changed most, for a comment on a pull request. */
void diff_markdown_print(const struct sutra_diff *diff, const struct diff_page_names *names,
                         const struct diff_gate *gate);

/* Both sides, the decision of the gate, and all tables with the rows that their JSON files have. SUTRA_IO: standard
 * output cannot be written. */
enum sutra_status diff_json_print(struct sutra_context *context, const struct sutra_diff *diff,
                                  const struct diff_page_names *names, const struct diff_gate *gate,
                                  struct sutra_error *error);

#endif
