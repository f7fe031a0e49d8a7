/*
 * overview.c - the parts of an overview, one after the other, and cutting off its beginning.
 */
#include <stdlib.h>

#include "analyze/launches/busy.h"
#include "analyze/operators/operators.h"
#include "analyze/overview/overview.h"
#include "analyze/overview/ranks.h"
#include "base/error.h"
#include "columns/hash_tables.h"
#include "columns/strings.h"

/*
 * From when to when an overview looks: from the start of the first step of the profiler to the end of the
 * last one, or to that of the last work that was launched in them. Without steps, all of the trace. O(n).
 */

static bool is_step(const struct overview *overview, row_t host) {
    return overview->reading->hosts.kind[host] != HOST_CALL && overview_name(overview, host) & NAME_STEP;
}

static void widen(struct overview_window *window, bool first, int64_t start, int64_t stop) {
    window->from = first || start < window->from ? start : window->from;
    window->to = first || stop > window->to ? stop : window->to;
}

static void take_all(const struct op_reading *reading, struct overview_window *window) {
    const struct host_rows *hosts = &reading->hosts;
    const struct device_rows *devices = &reading->devices;
    for (row_t row = 0; row < hosts->n; row++)
        widen(window, row == 0, hosts->start[row], hosts->stop[row]);
    for (row_t i = 0; i < devices->n; i++)
        widen(window, hosts->n + i == 0, devices->start[i], devices->stop[i]);
}

static void take_steps(const struct op_reading *reading, struct overview_window *window) {
    const struct host_rows *hosts = &reading->hosts;
    const struct device_rows *devices = &reading->devices;
    for (row_t i = 0; i < window->n_steps; i++)
        widen(window, i == 0, hosts->start[window->steps[i]], hosts->stop[window->steps[i]]);
    int64_t last = window->to;
    for (row_t i = 0; i < devices->n; i++) {
        row_t call = devices->call[i];
        if (call != ROW_NONE && hosts->start[call] >= window->from && hosts->start[call] < last)
            window->to = devices->stop[i] > window->to ? devices->stop[i] : window->to;
    }
}

static int compare_starts(const void *left, const void *right, void *arg) {
    const struct host_rows *hosts = arg;
    row_t a = *(const row_t *)left, b = *(const row_t *)right;
    if (hosts->start[a] != hosts->start[b])
        return hosts->start[a] < hosts->start[b] ? -1 : 1;
    return (a > b) - (a < b);
}

/* By start; a step that is told twice, as an annotation and as an operator, counts once. */
static void order_steps(const struct overview *overview, struct overview_window *window) {
    const struct op_reading *reading = overview->reading;
    const struct host_rows *hosts = &reading->hosts;
    row_t n = 0;
    if (window->n_steps > 1)
        qsort_r(window->steps, window->n_steps, sizeof *window->steps, compare_starts, (void *)hosts);
    for (row_t i = 0; i < window->n_steps; i++) {
        row_t step = window->steps[i], before = n ? window->steps[n - 1] : ROW_NONE;
        if (n && hosts->start[step] < hosts->stop[before] && host_name(reading, step) == host_name(reading, before))
            continue;
        window->steps[n++] = step;
    }
    window->n_steps = n;
}

/* window.c */
static enum sutra_status overview_window_find(struct overview *overview, struct arena *arena,
                                              struct sutra_error *error) {
    struct overview_window *window = &overview->window;
    uint64_t capacity = 0;
    for (row_t row = 0; row < overview->reading->hosts.n; row++)
        if (is_step(overview, row) &&
            arena_grow(arena, &window->steps, window->n_steps, &capacity, sizeof *window->steps))
            window->steps[window->n_steps++] = row;
    if (arena->failed)
        return error_memory(error);
    order_steps(overview, window);
    if (window->n_steps)
        take_steps(overview->reading, window);
    else
        take_all(overview->reading, window);
    return SUTRA_OK;
}

/*
 * What the device did, moment by moment: the work of each class merged, and a walk over all three at
 * once.
 *
 *     compute        [=====]        [==]                 computation hides communication, and both hide copies
 *     communication      [========]
 *     copies         [=]                    [==]
 *     rows           [compute)[com.)[c.)gap[copy)
 *
 * O(n) on work in order of time.
 */

_Static_assert((int)OVERVIEW_COPY + 1 == (int)DEVICE_N_CLASSES, "the first kinds are the classes");

static uint8_t kind_of(const struct overview *overview, row_t device) {
    static const uint8_t kinds[] = {[DEVICE_COMPUTE] = OVERVIEW_COMPUTE,
                                    [DEVICE_COMMUNICATION] = OVERVIEW_COMMUNICATION,
                                    [DEVICE_COPY] = OVERVIEW_COPY};
    const struct op_reading *reading = overview->reading;
    row_t event = reading->devices.event[device];
    uint8_t kind = kinds[reading->devices.class[device]];
    if (kind != OVERVIEW_COMPUTE)
        return kind;
    if (category_roles(reading->events, reading->roles, event) & CATEGORY_SET)
        return OVERVIEW_COPY;
    bool talks = name_roles(reading->events, overview->roles, event) & NAME_COLLECTIVE;
    return talks ? OVERVIEW_COMMUNICATION : OVERVIEW_COMPUTE;
}

/* ---- The walk ---- */

struct stretch_walk {
    struct overview *overview;
    const struct merged *merged;
    row_t at[DEVICE_N_CLASSES]; /* the group of each that has not ended */
    row_t device;               /* place among work by start */
};

/* What runs at a moment, and until when nothing changes: *next. */
static uint8_t look(struct stretch_walk *walk, int64_t moment, int64_t *next) {
    const struct merged *merged = walk->merged;
    uint8_t kind = OVERVIEW_AFTER;
    *next = walk->overview->window.to;
    for (int k = DEVICE_N_CLASSES - 1; k >= 0; k--) {
        row_t *at = &walk->at[k];
        while (*at < merged->first[k + 1] && merged->end[*at] <= moment)
            (*at)++;
        if (*at == merged->first[k + 1])
            continue;
        bool runs = merged->start[*at] <= moment;
        int64_t changes = runs ? merged->end[*at] : merged->start[*at];
        *next = changes < *next ? changes : *next;
        kind = runs ? (uint8_t)k : kind;
    }
    return kind;
}

/* The first work that begins at a moment, rather one whose launch is known; ROW_NONE. */
static row_t begins_at(struct stretch_walk *walk, int64_t moment) {
    const struct device_rows *devices = &walk->overview->reading->devices;
    row_t found = ROW_NONE;
    for (; walk->device < devices->n; walk->device++) {
        row_t i = devices->by_start[walk->device];
        if (devices->start[i] > moment)
            break;
        bool counts = devices->start[i] == moment && devices->stop[i] > moment;
        if (counts && (found == ROW_NONE || devices->call[found] == ROW_NONE))
            found = i;
    }
    return found;
}

static void put_gap(struct stretch_walk *walk, int64_t begin, int64_t end) {
    struct overview *overview = walk->overview;
    row_t device = begins_at(walk, end);
    row_t call = device == ROW_NONE ? ROW_NONE : overview->reading->devices.call[device];
    overview->gaps[overview->n_gaps++] =
        (struct overview_gap){.begin = begin,
                              .end = end,
                              .device = device,
                              .thread = call == ROW_NONE ? THREAD_UNKNOWN : overview->reading->hosts.thread[call],
                              .first = overview->n_rows,
                              .last = overview->n_rows + 1};
}

static void put_row(struct stretch_walk *walk, int64_t begin, int64_t end, uint8_t kind) {
    struct overview *overview = walk->overview;
    if (!overview->rows)
        return;
    struct overview_row *last = overview->n_rows ? &overview->rows[overview->n_rows - 1] : NULL;
    if (last && last->kind == kind && kind != OVERVIEW_AFTER) {
        last->end = end;
        return;
    }
    bool idle = kind == OVERVIEW_AFTER;
    if (idle)
        put_gap(walk, begin, end);
    overview->rows[overview->n_rows++] = (struct overview_row){.begin = begin,
                                                               .end = end,
                                                               .gap = idle ? overview->n_gaps - 1 : ROW_NONE,
                                                               .frame = ROW_NONE,
                                                               .wait = ROW_NONE,
                                                               .kind = kind};
}

static void walk_all(struct stretch_walk *walk) {
    const struct overview_window *window = &walk->overview->window;
    int64_t next;
    for (int k = 0; k < DEVICE_N_CLASSES; k++)
        walk->at[k] = walk->merged->first[k];
    for (int64_t moment = window->from; moment < window->to; moment = next) {
        uint8_t kind = look(walk, moment, &next);
        put_row(walk, moment, next, kind);
    }
}

/* Each row ends at a bound of a group, or the window's. */
static enum sutra_status make_rows(struct overview *overview, const struct merged *merged, struct arena *arena,
                                   struct sutra_error *error) {
    struct stretch_walk walk = {.overview = overview, .merged = merged};
    overview->rows = arena_take(arena, 2 * (size_t)merged->n + 1, sizeof *overview->rows);
    overview->gaps = arena_take(arena, (size_t)merged->n + 1, sizeof *overview->gaps);
    enum sutra_status status = arena_status(arena, error);
    if (status)
        return status;
    for (int k = 0; k < DEVICE_N_CLASSES; k++) {
        int64_t length = (int64_t)cpu_merged_length(merged, (uint32_t)k);
        overview->communication = k == OVERVIEW_COMMUNICATION ? length : overview->communication;
        overview->copies = k == OVERVIEW_COPY ? length : overview->copies;
    }
    walk_all(&walk);
    return SUTRA_OK;
}

/* stretches.c: rows of work; a gap where there is none has one row of kind OVERVIEW_AFTER. */
static enum sutra_status overview_stretches_make(struct sutra_context *context, struct overview *overview,
                                                 struct arena *arena, struct arena *scratch,
                                                 struct sutra_error *error) {
    const struct device_rows *devices = &overview->reading->devices;
    struct merged merged = {0};
    overview->classes = arena_take(arena, devices->n, 1);
    enum sutra_status status = arena_status(arena, error);
    for (row_t i = 0; i < devices->n && !status; i++)
        overview->classes[i] = kind_of(overview, i);
    if (status)
        return status;
    status = merge_busy_intervals(overview->reading, overview->classes, NULL, overview->window.from,
                                  overview->window.to, &context->engine, scratch, &merged, error);
    if (!status)
        status = make_rows(overview, &merged, arena, error);
    merged_free(&merged);
    return status;
}

/*
 * What each stream of a rank did in the window: computation, communication, copies; the busiest stream
 * first. Durations are added up, each cut at the window. O(n), and an order of the streams.
 */

#define STREAM_SUMS_N_WORK_KINDS (OVERVIEW_COPY + 1)

/* By the number of a stream, in the order in which their work comes. */
struct stream_sums {
    uint32_t n;
    value_key *stream;
    row_t *works;
    int64_t (*ticks)[STREAM_SUMS_N_WORK_KINDS];
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
    for (int kind = 0; kind < STREAM_SUMS_N_WORK_KINDS; kind++)
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
    for (int kind = 0; kind < STREAM_SUMS_N_WORK_KINDS; kind++)
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
