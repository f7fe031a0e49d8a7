/*
 * idle.c - what held up the work that ends a gap.
 *
 *     work     ==|a                              b|====
 *     launch     |               |l0    l1|       |
 *                |-- the thread --|- call -|- way -|
 *
 * Before its launch call, a gap is what the thread did: marks of it, or anything else. O(n) beside O(log n) for a gap.
 *
 * A gap has a row for each mark in it, one before each and one behind the last, and two for the call and its way. As
 * gaps lie apart, and marks of a thread do, a gap has at most as many marks as end in it, and one more.
 */
#include "analyze/overview/overview.h"
#include "base/bisect.h"
#include "base/error.h"

/* Rows of a gap beside those of marks that end in it: two of the mark that goes on behind it, one before the call, two
 * from there. */
#define GAP_ROWS 5

struct idle_work {
    struct overview *overview;
    struct host_marks marks;
    struct host_ways ways;
    struct overview_row *rows; /* what is made */
    size_t n;
    row_t gap;
};

/* Whether the last row is of this gap and kind. */
static bool goes_on(const struct idle_work *work, uint8_t kind) {
    return work->n > 0 && work->rows[work->n - 1].gap == work->gap && work->rows[work->n - 1].kind == kind;
}

/* Adds a row of the gap; one that goes on with the same joins it. */
static void put(struct idle_work *work, int64_t begin, int64_t end, uint8_t kind) {
    if (begin >= end)
        return;
    if (goes_on(work, kind))
        work->rows[work->n - 1].end = end;
    else
        work->rows[work->n++] = (struct overview_row){begin, end, work->gap, ROW_NONE, ROW_NONE, kind};
}

/* The first mark of a thread that ends behind a moment. */
static row_t first_mark(const struct host_marks *marks, uint32_t thread, int64_t moment) {
    struct bisection at = {marks->first[thread], marks->first[thread + 1]};
    while (at.low < at.high)
        bisect(&at, marks->list[bisect_middle(at)].end < moment);
    return at.low;
}

/* Adds one that waits for a call, or starts anew behind it. */
static void put_wait(struct idle_work *work, int64_t begin, int64_t end, uint8_t kind, row_t call) {
    put(work, begin, end, kind);
    if (begin < end)
        work->rows[work->n - 1].wait = call;
}

/* What the thread did from the beginning of a gap; `rest` where it did nothing that has a mark. */
static void put_thread(struct idle_work *work, uint32_t thread, int64_t begin, int64_t end, uint8_t rest) {
    const struct host_marks *marks = &work->marks;
    row_t i = first_mark(marks, thread, begin), waited = ROW_NONE;
    if (rest == OVERVIEW_HOST && i < marks->first[thread + 1] && marks->list[i].begin <= begin &&
        marks->list[i].kind == OVERVIEW_SYNC) {
        rest = OVERVIEW_AFTER_SYNC;
        waited = marks->list[i].host;
    }
    for (; i < marks->first[thread + 1] && marks->list[i].begin < end; i++) {
        const struct host_mark *mark = &marks->list[i];
        int64_t from = mark->begin > begin ? mark->begin : begin, to = mark->end < end ? mark->end : end;
        bool waits = mark->kind == OVERVIEW_SYNC;
        put_wait(work, begin, from, rest, waited);
        if (waits && rest == OVERVIEW_AFTER) /* nothing comes behind it */
            put(work, from, to, rest);
        else
            put_wait(work, from, to, mark->kind, waits ? mark->host : ROW_NONE);
        begin = to;
    }
    put_wait(work, begin, end, rest, waited);
}

static bool is_kernel_launch(const struct overview *overview, row_t device, row_t call) {
    return overview->classes[device] != OVERVIEW_COPY && !(overview_name(overview, call) & NAME_LAUNCH_GRAPH);
}

static int64_t within(int64_t moment, int64_t least, int64_t most) {
    return moment < least ? least : moment > most ? most : moment;
}

static void split(struct idle_work *work, const struct overview_gap *gap) {
    const struct overview *overview = work->overview;
    const struct host_rows *hosts = &overview->reading->hosts;
    row_t call = gap->device == ROW_NONE ? ROW_NONE : overview->reading->devices.call[gap->device];
    if (call == ROW_NONE) {
        put(work, gap->begin, gap->end, OVERVIEW_UNKNOWN);
        return;
    }
    if (hosts->stop[call] <= gap->begin) {
        put(work, gap->begin, gap->end, OVERVIEW_QUEUED);
        return;
    }
    int64_t called = within(hosts->start[call], gap->begin, gap->end);
    int64_t returned = within(hosts->stop[call], called, gap->end);
    bool slow = returned - called > SLOW_CALL_NS && is_kernel_launch(overview, gap->device, call);
    put_thread(work, gap->thread, gap->begin, called, OVERVIEW_HOST);
    put(work, called, returned, slow ? OVERVIEW_SLOW_LAUNCH : OVERVIEW_LAUNCH);
    put(work, returned, gap->end, gap->end - returned > NOT_STARTED_NS ? OVERVIEW_NOT_STARTED : OVERVIEW_LAUNCH);
}

/* Behind the last work: what the thread of the steps does, else that of the last launch. */
static void split_last(struct idle_work *work, struct overview_gap *gap) {
    const struct overview *overview = work->overview;
    const struct overview_window *window = &overview->window;
    const struct host_rows *hosts = &overview->reading->hosts;
    if (window->n_steps)
        gap->thread = hosts->thread[window->steps[window->n_steps - 1]];
    else if (gap != overview->gaps)
        gap->thread = gap[-1].thread;
    if (gap->thread == THREAD_UNKNOWN)
        put(work, gap->begin, gap->end, OVERVIEW_AFTER);
    else
        put_thread(work, gap->thread, gap->begin, gap->end, OVERVIEW_AFTER);
}

static void name_row(const struct idle_work *work, struct overview_row *row, row_t *near) {
    uint32_t thread = work->overview->gaps[row->gap].thread;
    if (thread == THREAD_UNKNOWN)
        return;
    row->frame = host_covering(&work->ways, thread, row->begin, row->end, near);
    if (row->frame != ROW_NONE && overview_name(work->overview, row->frame) & NAME_STEP)
        row->frame = ROW_NONE;
}

static void split_all(struct idle_work *work) {
    struct overview *overview = work->overview;
    for (row_t i = 0; i < overview->n_rows; i++) {
        const struct overview_row *row = &overview->rows[i];
        work->gap = row->gap;
        if (row->gap == ROW_NONE) {
            put(work, row->begin, row->end, row->kind);
            continue;
        }
        struct overview_gap *gap = &overview->gaps[row->gap];
        gap->first = (row_t)work->n;
        if (gap->end == overview->window.to && gap->device == ROW_NONE)
            split_last(work, gap);
        else
            split(work, gap);
        gap->last = (row_t)work->n;
    }
}

/* Parts of the rows that threads take one by one. */
#define NAMED_PARTS 16

static void name_part(void *arg, size_t part) {
    const struct idle_work *work = arg;
    row_t near = ROW_NONE;
    for (size_t i = part_start(work->n, NAMED_PARTS, part); i < part_start(work->n, NAMED_PARTS, part + 1); i++)
        if (work->rows[i].gap != ROW_NONE)
            name_row(work, &work->rows[i], &near);
}

enum sutra_status overview_idle_attribute(struct sutra_context *context, struct overview *overview, struct arena *arena,
                                          struct arena *scratch, struct sutra_error *error) {
    struct idle_work work = {.overview = overview};
    enum sutra_status status = host_marks_make(overview, arena, scratch, &work.marks, error);
    if (!status)
        status = host_ways_make(&overview->reading->hosts, scratch, &work.ways, error);
    if (status)
        return status;
    size_t most = overview->n_rows + 2 * (size_t)work.marks.n + GAP_ROWS * (size_t)overview->n_gaps;
    work.rows = arena_take(arena, most, sizeof *work.rows);
    if (!work.rows)
        return error_memory(error);
    split_all(&work);
    if (work.n > ROW_LIMIT)
        return error_set(error, SUTRA_DATA, "more than %u stretches of time", ROW_LIMIT);
    pool_run(context->pool, NAMED_PARTS, name_part, &work);
    overview->rows = work.rows;
    overview->n_rows = (row_t)work.n;
    return SUTRA_OK;
}
