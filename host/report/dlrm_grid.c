/*
 * dlrm_grid.c - draws the chart "dominating op breakdown" of a stream as a grid of cells.
 */
#include "report/dlrm_grid.h"

#include <stdlib.h>

#include "analyze/dlrm/dlrm.h"

/* A legend and the sum of its shares. */
struct weight {
    uint32_t legend;
    double share;
};

static int compare_legends(const void *left, const void *right) {
    const struct weight *a = left, *b = right;
    return (a->legend > b->legend) - (a->legend < b->legend);
}

static int compare_shares(const void *left, const void *right) {
    const struct weight *a = left, *b = right;
    if (a->share != b->share)
        return a->share > b->share ? -1 : 1;
    return compare_legends(left, right);
}

/* Adds up the weights of each legend; returns how many legends there are. */
static uint64_t sum_weights(struct weight *weights, uint64_t n) {
    uint64_t n_legends = 0;
    if (n > 0)
        qsort(weights, n, sizeof *weights, compare_legends);
    for (uint64_t i = 0; i < n; i++)
        if (n_legends > 0 && weights[n_legends - 1].legend == weights[i].legend)
            weights[n_legends - 1].share += weights[i].share;
        else
            weights[n_legends++] = weights[i];
    if (n_legends > 0)
        qsort(weights, n_legends, sizeof *weights, compare_shares);
    return n_legends;
}

/* The shares of the groups that are shown, which lie one after the other. */
struct column_span {
    uint64_t n_groups, n_cells, first_share, n_shares;
};

static struct column_span span_of(const struct sutra_dlrm_report *report, const struct sutra_dlrm_stream *stream) {
    struct column_span span = {0};
    for (uint64_t i = 0; i < stream->n_groups; i++) {
        const struct sutra_dlrm_group *group = &report->groups[stream->first_group + i];
        if (span.n_cells + group->n_variants > GRID_CELLS_MAX)
            break;
        for (uint64_t k = 0; k < group->n_variants; k++) {
            const struct sutra_dlrm_variant *variant = &report->variants[group->first_variant + k];
            if (span.n_cells++ == 0)
                span.first_share = variant->first_share;
            span.n_shares += variant->n_shares;
        }
        span.n_groups++;
    }
    return span;
}

struct name dlrm_text_name(const struct sutra_dlrm *dlrm, uint32_t text) {
    return (struct name){strings_text(&dlrm->texts, text), strings_length(&dlrm->texts, text), false};
}

/* What each share weighs: its time, as if all bars of a group took the same; nothing in the group of labels. */
static void weigh(struct weight *weights, const struct sutra_dlrm *dlrm, const struct sutra_dlrm_report *report,
                  const struct sutra_dlrm_group *groups, uint64_t n_groups) {
    for (uint64_t i = 0; i < n_groups; i++) {
        double us = dlrm_text_name(dlrm, groups[i].name).length > 0 ? groups[i].us / (double)groups[i].n_variants : 0;
        for (uint64_t k = 0; k < groups[i].n_variants; k++) {
            const struct sutra_dlrm_variant *variant = &report->variants[groups[i].first_variant + k];
            for (uint64_t share = 0; share < variant->n_shares; share++) {
                const struct sutra_dlrm_share *from = &report->shares[variant->first_share + share];
                *weights++ = (struct weight){from->legend, from->share * us};
            }
        }
    }
}

static void fill_parts(struct dlrm_grid *made, const struct sutra_dlrm *dlrm, const struct sutra_dlrm_share *shares,
                       uint64_t n, struct weight *weights) {
    uint64_t n_legends = sum_weights(weights, n);
    for (uint64_t i = 0; i < n; i++) {
        uint64_t place = 0;
        struct name name = dlrm_text_name(dlrm, shares[i].name);
        while (place < COLOUR_SHADES - 1 && place < n_legends && weights[place].legend != shares[i].legend)
            place++;
        int colour = (int)colour_of_work(name.bytes, name.length);
        made->parts[i] = (struct grid_part){name, dlrm_text_name(dlrm, shares[i].legend), shares[i].share,
                                            colour == COLOUR_COMPUTE ? COLOUR_SHADE + (int)place : colour};
    }
}

struct name dlrm_group_label(const struct sutra_dlrm *dlrm, const struct sutra_dlrm_group *group) {
    struct name name = dlrm_text_name(dlrm, group->name);
    return name.length > 0 ? name : name_of("labels (## ...)");
}

static void fill_groups(struct dlrm_grid *made, const struct sutra_dlrm *dlrm, const struct sutra_dlrm_report *report,
                        const struct sutra_dlrm_stream *stream, const struct column_span *span) {
    uint64_t n_cells = 0, n_parts = 0;
    for (uint64_t i = 0; i < span->n_groups; i++) {
        const struct sutra_dlrm_group *group = &report->groups[stream->first_group + i];
        made->groups[i] =
            (struct grid_group){dlrm_group_label(dlrm, group), group->us, &made->cells[n_cells], group->n_variants};
        for (uint64_t k = 0; k < group->n_variants; k++) {
            uint64_t n = report->variants[group->first_variant + k].n_shares;
            made->cells[n_cells++] = (struct grid_cell){&made->parts[n_parts], n};
            n_parts += n;
        }
    }
}

bool dlrm_grid_make(struct dlrm_grid *made, const struct sutra_dlrm *dlrm, const struct sutra_dlrm_report *report,
                    const struct sutra_dlrm_stream *stream, struct arena *arena) {
    struct column_span span = span_of(report, stream);
    struct weight *weights = arena_take(arena, span.n_shares, sizeof *weights);
    *made = (struct dlrm_grid){.groups = arena_take(arena, span.n_groups, sizeof *made->groups),
                               .cells = arena_take(arena, span.n_cells, sizeof *made->cells),
                               .parts = arena_take(arena, span.n_shares, sizeof *made->parts),
                               .n_all_groups = stream->n_groups};
    if (arena->failed)
        return false;
    weigh(weights, dlrm, report, report->groups + stream->first_group, span.n_groups);
    fill_parts(made, dlrm, report->shares + span.first_share, span.n_shares, weights);
    fill_groups(made, dlrm, report, stream, &span);
    made->grid = (struct grid){made->groups, span.n_groups};
    return true;
}
