/*
 * calls.c - work by the call that started it.
 */
#include "analyze/operators/reading.h"
#include "base/error.h"
#include "columns/row_ranks.h"

enum sutra_status arrow_ids_ask(struct sutra_context *context, const struct sutra_device_trace *trace,
                                const row_t *arrows, row_t n, const value_key **ids, struct sutra_error *error) {
    static const struct asked_field field = {"id", ASK_KEY, true};
    struct asked_column column;
    enum sutra_status status = event_columns_ask(context, trace, &field, 1, arrows, n, &column, error);
    if (!status)
        *ids = column.key;
    return status;
}

enum sutra_status call_links_order(struct op_reading *reading, const row_t *call, const row_t *device, row_t n,
                                   struct arena *arena, struct sutra_error *error) {
    struct call_links *links = &reading->links;
    row_t n_hosts = reading->hosts.n;
    *links = (struct call_links){.first = arena_zeros(arena, (size_t)n_hosts + 2, sizeof *links->first),
                                 .device = arena_take(arena, n, sizeof *links->device)};
    enum sutra_status status = arena_status(arena, error);
    if (status)
        return status;
    for (row_t i = 0; i < n; i++)
        if (call[i] != ROW_NONE)
            links->first[call[i] + 2]++;
    for (row_t row = 0; row < n_hosts; row++)
        links->first[row + 2] += links->first[row + 1];
    for (row_t i = 0; i < n; i++)
        if (call[i] != ROW_NONE)
            links->device[links->first[call[i] + 1]++] = device ? device[i] : i;
    links->n = links->first[n_hosts];
    return SUTRA_OK;
}

enum sutra_status call_links_again(struct op_reading *reading, struct arena *arena, struct sutra_error *error) {
    return call_links_order(reading, reading->devices.call, NULL, reading->devices.n, arena, error);
}

/* Which rows those are of which events. */
static void find_rows(const struct op_reading *reading, const struct row_ranks *ranks, row_t *row_of) {
    const struct host_rows *hosts = &reading->hosts;
    for (row_t row = 0; row < hosts->n; row++)
        if (hosts->kind[row] == HOST_CALL && row_ranks_have(ranks, hosts->event[row]))
            row_of[row_rank(ranks, hosts->event[row])] = row;
}

enum sutra_status call_rows_find(const struct op_reading *reading, row_t *calls, row_t n, struct arena *scratch,
                                 struct sutra_error *error) {
    struct arena_mark mark = arena_mark(scratch);
    struct row_ranks ranks = row_ranks_take(scratch, reading->events->n);
    enum sutra_status status = arena_status(scratch, error);
    for (row_t i = 0; i < n && !status; i++)
        if (calls[i] != ROW_NONE)
            row_ranks_add(&ranks, calls[i]);
    row_t *row_of = status ? NULL : arena_take(scratch, row_ranks_count(&ranks), sizeof *row_of);
    if (!status)
        status = arena_status(scratch, error);
    if (!status)
        find_rows(reading, &ranks, row_of);
    for (row_t i = 0; i < n && !status; i++)
        if (calls[i] != ROW_NONE)
            calls[i] = row_of[row_rank(&ranks, calls[i])];
    arena_release(scratch, mark);
    return status;
}

enum sutra_status call_links_find(struct op_reading *reading, struct arena *arena, struct arena *scratch,
                                  struct sutra_error *error) {
    enum sutra_status status = call_rows_find(reading, reading->devices.call, reading->devices.n, scratch, error);
    return status ? status : call_links_again(reading, arena, error);
}
