/*
 * overview.c - the parts of an overview, one after the other, and cutting off its beginning.
 */
#include "analyze/overview/overview.h"

static void mark_names(const struct op_reading *reading, struct string_roles *roles) {
    const struct strings *strings = reading->strings;
    for (uint32_t string = 0; string < strings->n; string++)
        if (device_is_collective(strings_text(strings, string), strings_length(strings, string)))
            roles[string].name |= NAME_COLLECTIVE;
    names_mark(strings, roles, TEXT_HAS, "DtoH", NAME_FROM_DEVICE);
    names_mark(strings, roles, TEXT_HAS, "StreamBeginCapture", NAME_CAPTURES);
    names_mark(strings, roles, TEXT_HAS, "StreamEndCapture", NAME_CAPTURED);
    names_keep_numbered_steps(strings, roles);
}

static void sum_rows(struct overview *overview) {
    for (int kind = 0; kind < OVERVIEW_N_KINDS; kind++)
        overview->ticks[kind] = 0;
    for (row_t i = 0; i < overview->n_rows; i++)
        overview->ticks[overview->rows[i].kind] += overview->rows[i].end - overview->rows[i].begin;
}

enum sutra_status overview_make(struct sutra_context *context, const struct op_reading *reading, struct arena *arena,
                                struct arena *scratch, struct overview *overview, struct sutra_error *error) {
    *overview = (struct overview){.reading = reading, .roles = names_find(reading->strings, READER_OVERVIEW, arena)};
    struct arena_mark mark = arena_mark(scratch);
    enum sutra_status status = arena_status(arena, error);
    if (!status)
        mark_names(reading, overview->roles);
    if (!status)
        status = overview_window_find(overview, arena, error);
    if (!status)
        status = overview_stretches_make(context, overview, arena, scratch, error);
    if (!status)
        status = overview_idle_attribute(context, overview, arena, scratch, error);
    if (!status)
        sum_rows(overview);
    arena_release(scratch, mark);
    return status;
}

void overview_crop(struct overview *overview, int64_t from) {
    struct overview_window *window = &overview->window;
    row_t n_rows = 0, n_gaps = 0;
    window->from = from < window->to ? from : window->to;
    for (row_t i = 0; i < overview->n_gaps; i++)
        overview->gaps[i].first = overview->gaps[i].last = ROW_NONE;
    for (row_t i = 0; i < overview->n_rows; i++) {
        struct overview_row row = overview->rows[i];
        if (row.end <= window->from)
            continue;
        row.begin = row.begin < window->from ? window->from : row.begin;
        if (row.gap != ROW_NONE) {
            struct overview_gap *gap = &overview->gaps[row.gap];
            gap->first = gap->first == ROW_NONE ? n_rows : gap->first;
            gap->last = n_rows + 1;
        }
        overview->rows[n_rows++] = row;
    }
    overview->n_rows = n_rows;
    row_t n_lost = 0;
    for (row_t i = 0; i < overview->n_gaps; i++) {
        struct overview_gap gap = overview->gaps[i];
        n_lost += gap.first == ROW_NONE;
        if (gap.first == ROW_NONE)
            continue;
        gap.begin = gap.begin < window->from ? window->from : gap.begin;
        overview->gaps[n_gaps++] = gap;
    }
    for (row_t i = 0; i < n_rows; i++) /* gaps are lost at the beginning only */
        if (overview->rows[i].gap != ROW_NONE)
            overview->rows[i].gap -= n_lost;
    overview->n_gaps = n_gaps;
    sum_rows(overview);
}
