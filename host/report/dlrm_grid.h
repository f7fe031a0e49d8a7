/*
 * dlrm_grid.h - chart "dominating op breakdown" of a stream as a grid of cells.
 */
#ifndef REPORT_DLRM_GRID_H
#define REPORT_DLRM_GRID_H

#include "base/arena.h"
#include "report/chart.h"
#include "sutra/dlrm.h"

/* Cells of one chart. */
#define GRID_CELLS_MAX 48

struct dlrm_grid {
    struct grid grid;
    struct grid_group *groups;
    struct grid_cell *cells;
    struct grid_part *parts;
    uint64_t n_all_groups;
};

/* The first groups that have no more than GRID_CELLS_MAX cells together. The eight legends with most time have colours.
 * It lies in the arena. False: memory ran out. O(parts log parts). */
bool dlrm_grid_make(struct dlrm_grid *made, const struct sutra_dlrm *dlrm, const struct sutra_dlrm_report *report,
                    const struct sutra_dlrm_stream *stream, struct arena *arena);

/* A text with its length: it may hold a NUL. */
struct name dlrm_text_name(const struct sutra_dlrm *dlrm, uint32_t text);

/* The name of a group; labels, whose name begins with '#', are a group without one. */
struct name dlrm_group_label(const struct sutra_dlrm *dlrm, const struct sutra_dlrm_group *group);

#endif
