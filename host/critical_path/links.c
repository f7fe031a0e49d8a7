/*
 * links.c - ties rows of calls to the rows of the GPU that they caused; and where the reference ties what belongs to
 * nothing.
 */
#include "base/error.h"
#include "columns/column.h"
#include "critical_path/path_search.h"
#include "facts/correlation.h"

/* A correlation without a partner counts as row 0 in the reference, unless it is below 0. */
static row_t link_without_partner(const struct path_work *work, value_key key) {
    return is_correlation(key) && key >= 0 && !work->rules.extended ? 0 : ROW_NONE;
}

enum sutra_status links_find(struct path_work *work, struct path_rows *rows) {
    rows->link = arena_take(work->results, work->events->n, sizeof *rows->link);
    enum sutra_status status = work_taken(work);
    for (row_t i = 0; i < rows->n && !status; i++) {
        value_key key = work->events->correlation[rows->list[i]];
        if (!key_is_integer(key) && !work->rules.extended)
            return stop_crash(work, "event %u: its correlation is not an integer", rows->list[i]);
        rows->link[rows->list[i]] = link_without_partner(work, key);
    }
    if (!status)
        status = correlation_partners(work->events, rows->list, rows->n, rows->state, ROW_GPU, work->engine,
                                      &work->scratch, rows->link, work->error);
    return status;
}
