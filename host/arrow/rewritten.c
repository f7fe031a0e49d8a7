/*
 * rewritten.c - what was rewritten as columns: the ranks of a merged timeline, and the places that a repair mended.
 */
#include "sutra/merge.h"

#include "arrow/members.h"

enum sutra_status sutra_merged_arrow(const struct sutra_merged *merged, struct ArrowArrayStream *stream,
                                     struct sutra_error *error) {
    struct sutra_merge_report report = {.size = sizeof report};
    sutra_merged_report(merged, &report);
    struct batch batch = {.n_rows = report.n_ranks};
    const struct member_array array = {&batch, report.ranks, sizeof *report.ranks};
    MEMBER_COUNT(&array, sutra_merged_rank, rank, NULL);
    MEMBER_TEXT(&array, sutra_merged_rank, path);
    MEMBER_COUNT(&array, sutra_merged_rank, offset_ns, "ns");
    MEMBER_COUNT(&array, sutra_merged_rank, residual_ns, "ns");
    MEMBER_COUNT(&array, sutra_merged_rank, n_aligned, NULL);
    MEMBER_COUNT(&array, sutra_merged_rank, n_events, NULL);
    MEMBER_COUNT(&array, sutra_merged_rank, n_kept, NULL);
    return batch_stream(&batch, stream, error);
}

enum sutra_status sutra_repair_arrow(const struct sutra_repair *repair, struct ArrowArrayStream *stream,
                                     struct sutra_error *error) {
    struct sutra_repair_report report = {.size = sizeof report};
    const char *names[SUTRA_N_REPAIR_KINDS];
    for (int kind = 0; kind < SUTRA_N_REPAIR_KINDS; kind++)
        names[kind] = sutra_repair_kind_name((enum sutra_repair_kind)kind, false);
    sutra_repair_report(repair, &report);
    struct batch batch = {.n_rows = report.n_places};
    const struct member_array array = {&batch, report.places, sizeof *report.places};
    MEMBER_COUNT(&array, sutra_repair_site, offset, "bytes");
    member_word(&array, "kind", offsetof(struct sutra_repair_site, kind), names, SUTRA_N_REPAIR_KINDS);
    return batch_stream(&batch, stream, error);
}
