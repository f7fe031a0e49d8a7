/*
 * stream_sums.c - what each stream of a rank did in the window: computation, communication, copies; the busiest stream
 * first. Durations are added up, each cut at the window. O(n), and an order of the streams.
 */
#include "analyze/operators/tables.h"
#include "analyze/overview/overview_ranks.h"
#include "base/error.h"
#include "columns/pair_table.h"
#include "columns/values.h"

#define N_WORK_KINDS (OVERVIEW_COPY + 1)

/* By the number of a stream, in the order in which their work comes. */
struct stream_sums {
    uint32_t n;
    value_key *stream;
    row_t *works;
    int64_t (*ticks)[N_WORK_KINDS];
};

/* How much of a piece of work lies in the window. */
static int64_t ticks_inside(const struct overview *overview, row_t device) {
    const struct device_rows *devices = &overview->reading->devices;
    const struct overview_window *window = &overview->window;
    int64_t start = devices->start[device] > window->from ? devices->start[device] : window->from;
    int64_t stop = devices->stop[device] < window->to ? devices->stop[device] : window->to;
    return stop - start;
}

/* Adds a piece of work to those of its stream; false: out of memory. */
static bool add_work(const struct overview *overview, row_t device, struct pair_table *numbers,
                     struct stream_sums *sums) {
    const struct op_reading *reading = overview->reading;
    value_key stream = reading->events->stream[reading->devices.event[device]];
    int64_t ticks = ticks_inside(overview, device);
    if (ticks < 0 || !key_is_value(stream))
        return true;
    struct pair_entry *entry = pair_table_take(numbers, (uint64_t)stream, 0);
    if (!entry)
        return false;
    if (entry->number == PAIR_NONE) {
        sums->stream[sums->n] = stream;
        entry->number = sums->n++;
    }
    ticks_add(&sums->ticks[entry->number][overview->classes[device]], ticks);
    sums->works[entry->number]++;
    return true;
}

static enum sutra_status sum_streams(const struct overview *overview, struct arena *scratch, struct stream_sums *sums,
                                     struct sutra_error *error) {
    row_t n = overview->reading->devices.n;
    *sums = (struct stream_sums){.stream = arena_take(scratch, n, sizeof *sums->stream),
                                 .works = arena_zeros(scratch, n, sizeof *sums->works),
                                 .ticks = arena_zeros(scratch, n, sizeof *sums->ticks)};
    struct pair_table numbers = {0};
    bool ok = !scratch->failed && pair_table_init(&numbers);
    for (row_t i = 0; i < n && ok; i++)
        ok = add_work(overview, i, &numbers, sums);
    pair_table_free(&numbers);
    return ok ? SUTRA_OK : error_memory(error);
}

static double us_of(const struct stream_sums *sums, uint32_t stream) {
    double ticks = 0;
    for (int kind = 0; kind < N_WORK_KINDS; kind++)
        ticks += (double)sums->ticks[stream][kind];
    return ticks / 1000;
}

static void put_stream(const struct stream_sums *sums, uint32_t stream, int64_t rank, const struct values *values,
                       struct sutra_table *table) {
    char room[NUMBER_TEXT_MAX];
    size_t length;
    const char *text = values_text(values, sums->stream[stream], room, &length);
    table_integer(table, rank);
    table_text(table, text, length);
    table_integer(table, sums->works[stream]);
    for (int kind = 0; kind < N_WORK_KINDS; kind++)
        table_real(table, (double)sums->ticks[stream][kind] / 1000);
    table_real(table, us_of(sums, stream));
}

enum sutra_status overview_streams_add(const struct overview *overview, const struct values *values, int64_t rank,
                                       struct arena *scratch, struct sutra_table *table, struct sutra_error *error) {
    struct arena_mark mark = arena_mark(scratch);
    struct stream_sums sums;
    rank_overview_table(table, SUTRA_OVERVIEW_STREAMS);
    enum sutra_status status = sum_streams(overview, scratch, &sums, error);
    uint32_t *order = arena_take(scratch, status ? 0 : sums.n, sizeof *order);
    double *us = arena_take(scratch, status ? 0 : sums.n, sizeof *us);
    if (!status)
        status = arena_status(scratch, error);
    for (uint32_t i = 0; !status && i < sums.n; i++)
        us[i] = us_of(&sums, i);
    if (!status)
        status = op_groups_order(us, sums.n, scratch, order, error);
    for (uint32_t i = 0; !status && i < sums.n; i++)
        put_stream(&sums, order[i], rank, values, table);
    arena_release(scratch, mark);
    return status;
}
