/*
 * selection_rows.c - converts command-line options to a selection.
 */
#include "cli/rewrite/selection_rows.h"

const char *const selection_sides[] = {"all", "gpu", "cpu", "communication", NULL};

struct sutra_selection selection_of(const struct selection_values *values) {
    return (struct sutra_selection){.size = sizeof(struct sutra_selection),
                                    .step = values->step,
                                    .from_us = (double)values->from_us,
                                    .to_us = (double)values->to_us,
                                    .min_us = (double)values->min_us,
                                    .only = (enum sutra_only)values->only,
                                    .no_python = values->no_python};
}

bool selection_is_asked(const struct selection_values *values) {
    return values->step || values->from_us || values->to_us || values->min_us || values->only || values->no_python;
}
