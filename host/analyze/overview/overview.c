/*
 * overview.c - implements overview.h except for the causes of idle time (idle_causes.c): the window, the intervals of
 * GPU activity and gaps, the table of streams, and cropping.
 */

#include "analyze/overview/overview.h"
#include "analyze/launches/launches.h"
#include "analyze/operators/operators.h"
#include "base/error.h"
#include "base/shared.h"
#include "columns/hash_tables.h"
#include "columns/strings.h"
#include "match/key_index.h"

/* ---- Window ---- */

static void widen(struct overview_window *window, bool first, int64_t start, int64_t stop) {
    window->from = first || start < window->from ? start : window->from;
    window->to = first || stop > window->to ? stop : window->to;
}

/* The window is from the start of the first profiler step to the end of the last one, or of the last activity that was
 * launched in them. Without steps, it is the trace. O(n). */
static enum sutra_status find_window(struct overview *overview, struct arena *arena, struct sutra_error *error) {
    const struct launch_model *model = overview->model;
    const struct host_rows *hosts = &model->hosts;
    const struct device_rows *devices = &model->devices;
    struct overview_window *window = &overview->window;
    const struct step_rows rows = host_step_rows(model, ~(1u << HOST_CALL));
    struct profiler_steps steps;
    TRY_ALLOC(profiler_steps_find(&rows, STEPS_OVERVIEW, arena, &steps), error);
    window->steps = steps.row;
    window->n_steps = steps.n;
    if (window->n_steps == 0) {
        for (row_t row = 0; row < hosts->n; row++)
            widen(window, row == 0, hosts->start[row], hosts->stop[row]);
        for (row_t i = 0; i < devices->n; i++)
            widen(window, hosts->n + i == 0, devices->start[i], devices->stop[i]);
        return SUTRA_OK;
    }
    for (row_t i = 0; i < window->n_steps; i++)
        widen(window, i == 0, hosts->start[window->steps[i]], hosts->stop[window->steps[i]]);
    int64_t last_end = window->to;
    for (row_t i = 0; i < devices->n; i++) {
        row_t call = devices->call[i];
        if (call != ROW_NONE && hosts->start[call] >= window->from && hosts->start[call] < last_end)
            window->to = MAX(devices->stop[i], window->to);
    }
    return SUTRA_OK;
}

/* ---- Intervals and gaps ----
 *
 * The merged intervals of the three classes are walked simultaneously. Compute hides communication, and both hide
 * memcpy:
 *
 *     compute        [=====]        [==]
 *     communication      [========]
 *     memcpy         [=]                    [==]
 *     rows           [compute)[com.)[c.)gap[copy)
 */

_Static_assert((int)OVERVIEW_COPY + 1 == (int)DEVICE_N_CLASSES, "the first kinds are the classes of activities");

static uint8_t class_of(const struct overview *overview, row_t device) {
    static const uint8_t kinds[] = {[DEVICE_COMPUTE] = OVERVIEW_COMPUTE,
                                    [DEVICE_COMMUNICATION] = OVERVIEW_COMMUNICATION,
                                    [DEVICE_COPY] = OVERVIEW_COPY};
    const struct launch_model *model = overview->model;
    row_t event = model->devices.event[device];
    uint8_t kind = kinds[model->devices.class[device]];
    if (kind != OVERVIEW_COMPUTE)
        return kind;
    return category_roles(model->events, model->roles, event) & CATEGORY_SET ? OVERVIEW_COPY : OVERVIEW_COMPUTE;
}

/* Makes a row for each interval; an interval without activity has a gap and a row of kind OVERVIEW_AFTER. */
static void make_rows(struct overview *overview, const struct merged *merged) {
    const struct device_rows *devices = &overview->model->devices;
    row_t next[DEVICE_N_CLASSES], k = 0; /* first group of a class, first activity by start, that are not over */
    int64_t end;
    for (int class = 0; class < DEVICE_N_CLASSES; class ++)
        next[class] = merged->first[class];
    for (int64_t begin = overview->window.from; begin < overview->window.to; begin = end) {
        uint8_t kind = OVERVIEW_AFTER;
        end = overview->window.to;
        for (int class = DEVICE_N_CLASSES - 1; class >= 0; class --) {
            row_t *group = &next[class];
            while (*group < merged->first[class + 1] && merged->end[*group] <= begin)
                (*group)++;
            if (*group == merged->first[class + 1])
                continue;
            bool runs = merged->start[*group] <= begin;
            int64_t change = runs ? merged->end[*group] : merged->start[*group];
            end = MIN(change, end);
            kind = runs ? (uint8_t) class : kind;
        }
        struct overview_row *last = overview->n_rows ? &overview->rows[overview->n_rows - 1] : NULL;
        if (last && last->kind == kind && kind != OVERVIEW_AFTER) {
            last->end = end;
            continue;
        }
        row_t gap = ROW_NONE;
        if (kind == OVERVIEW_AFTER) {
            /* The activity that ends the gap: the first that begins then, preferably with a known call. */
            row_t device = ROW_NONE;
            for (; k < devices->n && devices->start[devices->by_start[k]] <= end; k++) {
                row_t i = devices->by_start[k];
                bool counts = devices->start[i] == end && devices->stop[i] > end;
                if (counts && (device == ROW_NONE || devices->call[device] == ROW_NONE))
                    device = i;
            }
            row_t call = device == ROW_NONE ? ROW_NONE : devices->call[device];
            gap = overview->n_gaps++;
            overview->gaps[gap] =
                (struct overview_gap){.begin = begin,
                                      .end = end,
                                      .device = device,
                                      .thread = call == ROW_NONE ? THREAD_UNKNOWN : overview->model->hosts.thread[call],
                                      .first = overview->n_rows,
                                      .last = overview->n_rows + 1};
        }
        overview->rows[overview->n_rows++] = (struct overview_row){
            .begin = begin, .end = end, .gap = gap, .frame = ROW_NONE, .wait = ROW_NONE, .kind = kind};
    }
}

static enum sutra_status find_gaps(struct sutra_context *context, struct overview *overview, struct arena *arena,
                                   struct arena *scratch, struct sutra_error *error) {
    const struct device_rows *devices = &overview->model->devices;
    struct merged merged = {0};
    overview->classes = arena_alloc(arena, devices->n, 1);
    TRY(arena_status(arena, error));
    for (row_t i = 0; i < devices->n; i++)
        overview->classes[i] = class_of(overview, i);
    TRY(merge_busy_intervals(overview->model, overview->classes, NULL, overview->window.from, overview->window.to,
                             &context->engine, scratch, &merged, error));
    overview->rows = arena_alloc(arena, 2 * (size_t)merged.n + 1, sizeof *overview->rows);
    overview->gaps = arena_alloc(arena, (size_t)merged.n + 1, sizeof *overview->gaps);
    enum sutra_status status = arena_status(arena, error);
    if (!status) {
        overview->communication = (int64_t)cpu_merged_length(&merged, OVERVIEW_COMMUNICATION);
        overview->copies = (int64_t)cpu_merged_length(&merged, OVERVIEW_COPY);
        make_rows(overview, &merged);
    }
    merged_free(&merged);
    return status;
}

/* ---- Streams ----
 *
 * Durations of the activities of each stream by class, cut at the window; the busiest stream first. O(n), and a sort of
 * the streams.
 */

enum sutra_status overview_streams_add(struct sutra_context *context, const struct overview *overview, int64_t rank,
                                       struct arena *scratch, struct sutra_table *table, struct sutra_error *error) {
    static const struct requested_field field = {"priority", ASK_NUMBER, false};
    const struct launch_model *model = overview->model;
    const struct device_rows *devices = &model->devices;
    struct arena_mark mark = arena_mark(scratch);

    /* By index of a stream, in the order of first activities. */
    value_key *stream = arena_alloc(scratch, devices->n, sizeof *stream);
    row_t *n_activities = arena_zeros(scratch, devices->n, sizeof *n_activities);
    row_t *first =
        arena_alloc(scratch, devices->n, sizeof *first); /* event of the first kernel, which has a priority */
    int64_t(*ticks)[DEVICE_N_CLASSES] = arena_zeros(scratch, devices->n, sizeof *ticks);
    struct tuples numbers = {0};
    bool ok = !scratch->failed;
    for (row_t i = 0; i < devices->n && ok; i++) {
        value_key key = model->events->stream[devices->event[i]];
        int64_t start = MAX(devices->start[i], overview->window.from);
        int64_t stop = MIN(devices->stop[i], overview->window.to);
        if (stop < start || !key_is_value(key))
            continue;
        const uint32_t number = tuples_number(&numbers, (struct tuple){{key}});
        ok = number != TUPLE_NONE;
        if (!ok)
            break;
        stream[number] = key;
        if (n_activities[number]++ == 0)
            first[number] = devices->event[i];
        ticks_add(&ticks[number][overview->classes[i]], stop - start);
    }
    const uint32_t n = numbers.n;
    tuples_free(&numbers);
    uint32_t *order = arena_alloc(scratch, n, sizeof *order);
    double *total_us = arena_zeros(scratch, n, sizeof *total_us);
    TRY_ALLOC(ok && !scratch->failed, error);

    for (uint32_t i = 0; i < n; i++) {
        for (int class = 0; class < DEVICE_N_CLASSES; class ++)
            total_us[i] += (double)ticks[i][class];
        total_us[i] /= 1000;
    }
    struct requested_column priorities;
    TRY(row_groups_order(total_us, n, scratch, order, error));
    if (n)
        TRY(event_columns_request(context, model->trace, &field, 1, first, n, &priorities, error));
    for (uint32_t k = 0; k < n; k++) {
        uint32_t i = order[k];
        char text_buffer[NUMBER_TEXT_MAX];
        size_t length;
        const char *text = values_text(&context->values, stream[i], text_buffer, &length);
        table_integer(table, rank);
        table_text(table, text, length);
        table_integer(table, n_activities[i]);
        for (int class = 0; class < DEVICE_N_CLASSES; class ++)
            table_real(table, (double)ticks[i][class] / 1000);
        table_real(table, total_us[i]);
        table_real(table, number_as_double(number_at(priorities.number, first[i])));
    }
    arena_release(scratch, mark);
    return SUTRA_OK;
}

/* ---- The overview ---- */

static void sum_rows(struct overview *overview) {
    for (int kind = 0; kind < OVERVIEW_N_KINDS; kind++)
        overview->ticks[kind] = 0;
    for (row_t i = 0; i < overview->n_rows; i++)
        overview->ticks[overview->rows[i].kind] += overview->rows[i].end - overview->rows[i].begin;
}

/* The start of the first event, also if a restriction skips it; 0: there is none. O(n). */
static int64_t find_first_event(const struct launch_model *model) {
    int64_t first = INT64_MAX;
    for (row_t row = 0; row < model->hosts.n; row++)
        first = MIN(first, model->hosts.start[row]);
    for (row_t i = 0; i < model->devices.n; i++)
        first = MIN(first, model->devices.start[i]);
    return first == INT64_MAX ? 0 : first - model->trace->skipped_ns;
}

enum sutra_status overview_make(struct sutra_context *context, const struct launch_model *model, struct arena *arena,
                                struct arena *scratch, struct overview *overview, struct sutra_error *error) {
    const struct strings *strings = model->strings;
    struct string_roles *roles = names_find(strings, READER_OVERVIEW, arena);
    *overview = (struct overview){.model = model, .first_event = find_first_event(model), .roles = roles};
    TRY_ALLOC(roles, error);
    names_mark(strings, roles, TEXT_HAS, "DtoH", NAME_FROM_DEVICE);
    names_mark(strings, roles, TEXT_HAS, "StreamBeginCapture", NAME_CAPTURES);
    names_mark(strings, roles, TEXT_HAS, "StreamEndCapture", NAME_CAPTURED);
    names_mark(strings, roles, TEXT_HAS, "emcpy", NAME_COPY_CALL);
    names_keep_numbered_steps(strings, roles);

    struct arena_mark mark = arena_mark(scratch);
    TRY(device_summary_find(context, model->trace, scratch, &overview->device, error));
    TRY(find_window(overview, arena, error));
    TRY(find_gaps(context, overview, arena, scratch, error));
    TRY(attribute_idle_time(context, overview, arena, scratch, error));
    sum_rows(overview);
    arena_release(scratch, mark);
    return SUTRA_OK;
}

/* The time in the window in which activities of a class run, overlapped or not. */
static int64_t class_ticks(const struct overview *overview, uint8_t class) {
    const struct device_rows *devices = &overview->model->devices;
    int64_t sum = 0, last_end = overview->window.from;
    for (row_t k = 0; k < devices->n; k++) {
        row_t i = devices->by_start[k];
        if (overview->classes[i] != class)
            continue;
        int64_t begin = MAX(devices->start[i], last_end), end = MIN(devices->stop[i], overview->window.to);
        sum += MAX(end - begin, 0);
        last_end = MAX(last_end, end);
    }
    return sum;
}

void overview_crop(struct overview *overview, int64_t from) {
    struct overview_window *window = &overview->window;
    row_t n_rows = 0, n_gaps = 0;
    window->from = MIN(from, window->to);
    overview->communication = class_ticks(overview, OVERVIEW_COMMUNICATION);
    overview->copies = class_ticks(overview, OVERVIEW_COPY);
    for (row_t i = 0; i < overview->n_gaps; i++)
        overview->gaps[i].first = overview->gaps[i].last = ROW_NONE;
    for (row_t i = 0; i < overview->n_rows; i++) {
        struct overview_row row = overview->rows[i];
        if (row.end <= window->from)
            continue;
        row.begin = MAX(row.begin, window->from);
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
        gap.begin = MAX(gap.begin, window->from);
        overview->gaps[n_gaps++] = gap;
    }
    for (row_t i = 0; i < n_rows; i++) /* only the first gaps are lost */
        if (overview->rows[i].gap != ROW_NONE)
            overview->rows[i].gap -= n_lost;
    overview->n_gaps = n_gaps;
    sum_rows(overview);
}
