/*
 * stretches.c - what the device did, moment by moment: the work of each class merged, and a walk over all three at
 * once.
 *
 *     compute        [=====]        [==]                 computation hides communication, and both hide copies
 *     communication      [========]
 *     copies         [=]                    [==]
 *     rows           [compute)[com.)[c.)gap[copy)
 *
 * O(n) on work in order of time.
 */
#include "analyze/overview/overview.h"

#include "base/error.h"

#define N_WORK_KINDS 3

/* Work by start, cut at the window. */
struct work_intervals {
    row_t n;
    int64_t *start, *end;
    uint32_t *class;
};

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

static struct work_intervals take_intervals(const struct overview *overview, struct arena *scratch) {
    const struct device_rows *devices = &overview->reading->devices;
    const struct overview_window *window = &overview->window;
    struct work_intervals work = {.start = arena_take(scratch, devices->n, sizeof(int64_t)),
                                  .end = arena_take(scratch, devices->n, sizeof(int64_t)),
                                  .class = arena_take(scratch, devices->n, sizeof(uint32_t))};
    for (row_t k = 0; k < devices->n && !scratch->failed; k++) {
        row_t i = devices->by_start[k];
        int64_t start = devices->start[i] > window->from ? devices->start[i] : window->from;
        int64_t end = devices->stop[i] < window->to ? devices->stop[i] : window->to;
        if (start >= end)
            continue;
        work.start[work.n] = start;
        work.end[work.n] = end;
        work.class[work.n++] = overview->classes[i];
    }
    return work;
}

/* ---- The walk ---- */

struct stretch_walk {
    struct overview *overview;
    const struct merged *merged;
    row_t at[N_WORK_KINDS]; /* the group of each that has not ended */
    row_t device;           /* place among work by start */
};

/* What runs at a moment, and until when nothing changes: *next. */
static uint8_t look(struct stretch_walk *walk, int64_t moment, int64_t *next) {
    const struct merged *merged = walk->merged;
    uint8_t kind = OVERVIEW_AFTER;
    *next = walk->overview->window.to;
    for (int k = N_WORK_KINDS - 1; k >= 0; k--) {
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
    for (int k = 0; k < N_WORK_KINDS; k++)
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
    for (int k = 0; k < N_WORK_KINDS; k++) {
        int64_t length = (int64_t)cpu_merged_length(merged, (uint32_t)k);
        overview->communication = k == OVERVIEW_COMMUNICATION ? length : overview->communication;
        overview->copies = k == OVERVIEW_COPY ? length : overview->copies;
    }
    walk_all(&walk);
    return SUTRA_OK;
}

enum sutra_status overview_stretches_make(struct sutra_context *context, struct overview *overview, struct arena *arena,
                                          struct arena *scratch, struct sutra_error *error) {
    const struct device_rows *devices = &overview->reading->devices;
    const struct engine *engine = &context->engine;
    struct merged merged = {0};
    overview->classes = arena_take(arena, devices->n, 1);
    enum sutra_status status = arena_status(arena, error);
    for (row_t i = 0; i < devices->n && !status; i++)
        overview->classes[i] = kind_of(overview, i);
    if (status)
        return status;
    struct work_intervals work = take_intervals(overview, scratch);
    struct merge_intervals_step merge = {work.start, work.end, work.class, work.n, N_WORK_KINDS, &merged};
    status = arena_status(scratch, error);
    if (!status)
        status = engine->merge_intervals(engine->state, &merge, error);
    if (!status)
        status = make_rows(overview, &merged, arena, error);
    merged_free(&merged);
    return status;
}
