/*
 * hta_annotations.c - how long the user's annotations lasted, by name: those on the host, and Kineto's copies of them
 * on streams, which last from the first to the last kernel that was launched in them.
 *
 * Annotations within others count in full, so that sums of several names say nothing. O(n), and a sort of the names.
 */
#include "analyze/hta/hta.h"
#include "base/error.h"

static enum sutra_status break_down(const struct hta_input *input, uint32_t category, enum sutra_hta_table id,
                                    const char *reason, struct arena *arena, struct sutra_hta *hta,
                                    struct sutra_error *error) {
    const struct hta_rows *rows = &input->rows;
    struct moments *by_name = arena_zeros(arena, rows->strings->n, sizeof *by_name);
    row_t n = 0;
    if (!by_name)
        return error_memory(error);
    for (row_t i = 0; i < rows->n; i++) {
        row_t event = rows->list[i];
        if (!(category_roles(rows->events, rows->roles, event) & category))
            continue;
        moments_add(&by_name[rows->events->name[event]], rows->dur[event]);
        n++;
    }
    if (n == 0) {
        hta->reasons[id] = reason;
        return SUTRA_OK;
    }
    return hta_names_fill(input, hta_table_begin(hta, id), by_name, arena, error);
}

enum sutra_status hta_annotations(const struct hta_input *input, struct arena *arena, struct sutra_hta *hta,
                                  struct sutra_error *error) {
    enum sutra_status status =
        break_down(input, CATEGORY_GPU_ANNOTATION, SUTRA_HTA_GPU_ANNOTATIONS,
                   "no event has the category gpu_user_annotation: this PyTorch version does not record it, or no "
                   "record_function() launched a kernel",
                   arena, hta, error);
    if (status)
        return status;
    return break_down(input, CATEGORY_ANNOTATION, SUTRA_HTA_ANNOTATIONS,
                      "no event has the category user_annotation: annotate code with record_function()", arena, hta,
                      error);
}
