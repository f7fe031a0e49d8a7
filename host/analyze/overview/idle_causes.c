/*
 * idle_causes.c - what held up the work that ends a gap.
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
#include "base/error.h"
#include "base/shared.h"

/*
 * When the threads of the host load data, wait for the device, or set something up.
 *
 * A call blocks if its name says so, and if it copies from the device and ends no sooner than the copy does, as copies
 * to memory that is not pinned do. A call sets up if its name says so, and if it does nothing else that is known and
 * takes long: creating a context hides in whatever call comes first. So does a thread that captures a graph. Of calls
 * in each other the outermost counts, as rows of a thread come by start. O(n).
 */

static bool copies_from_device(const struct overview *overview, row_t device) {
    const struct op_reading *reading = overview->reading;
    return overview->classes[device] == OVERVIEW_COPY &&
           name_roles(reading->events, overview->roles, reading->devices.event[device]) & NAME_FROM_DEVICE;
}

static enum sutra_status find_blocking(struct overview *overview, struct arena *arena, struct sutra_error *error) {
    const struct device_rows *devices = &overview->reading->devices;
    const struct host_rows *hosts = &overview->reading->hosts;
    overview->blocks = arena_take(arena, hosts->n, 1);
    if (!overview->blocks)
        return error_memory(error);
    for (row_t row = 0; row < hosts->n; row++)
        overview->blocks[row] = hosts->kind[row] == HOST_CALL && overview_name(overview, row) & NAME_BLOCKING;
    for (row_t i = 0; i < devices->n; i++) {
        row_t call = devices->call[i];
        if (call != ROW_NONE && copies_from_device(overview, i) && hosts->stop[call] >= devices->stop[i])
            overview->blocks[call] = 1;
    }
    return SUTRA_OK;
}

static uint8_t mark_of(const struct overview *overview, row_t row) {
    const struct host_rows *hosts = &overview->reading->hosts;
    const row_t *first = overview->reading->links.first;
    uint32_t roles = overview_name(overview, row), other = NAME_LAUNCH | NAME_RECORD_CALL | NAME_WAIT_CALL;
    if (hosts->kind[row] != HOST_CALL)
        return roles & NAME_LOADS_BATCH ? OVERVIEW_LOADING : OVERVIEW_N_KINDS;
    if (overview->blocks[row])
        return OVERVIEW_SYNC;
    bool slow = hosts->stop[row] - hosts->start[row] > SLOW_CALL_NS && first[row] == first[row + 1];
    return roles & NAME_SETS_UP || (slow && !(roles & other)) ? OVERVIEW_SET_UP : OVERVIEW_N_KINDS;
}

/* Adds a mark from a moment to the end of a row, as far as the last one leaves room. */
static void put_mark(const struct host_rows *hosts, int64_t begin, row_t row, uint8_t kind, struct host_marks *marks) {
    row_t first = marks->first[hosts->thread[row]];
    if (marks->n > first && marks->list[marks->n - 1].end > begin)
        begin = marks->list[marks->n - 1].end;
    if (begin < hosts->stop[row])
        marks->list[marks->n++] = (struct host_mark){begin, hosts->stop[row], row, kind};
}

/* What a row is besides its kind. */
#define ROW_CAPTURES 64
#define ROW_CAPTURED 128

_Static_assert(OVERVIEW_N_KINDS < ROW_CAPTURES, "kinds fit below the flags");

/* The kind of each row, and whether it begins or ends the capture of a graph; returns how many can make a mark. */
static row_t find_kinds(const struct overview *overview, uint8_t *kinds) {
    const struct host_rows *hosts = &overview->reading->hosts;
    row_t n = 0;
    for (row_t row = 0; row < hosts->n; row++) {
        uint32_t roles = hosts->kind[row] == HOST_CALL ? overview_name(overview, row) : 0;
        kinds[row] = mark_of(overview, row);
        n += kinds[row] != OVERVIEW_N_KINDS || roles & NAME_CAPTURED;
        kinds[row] |=
            (uint8_t)((roles & NAME_CAPTURES ? ROW_CAPTURES : 0) | (roles & NAME_CAPTURED ? ROW_CAPTURED : 0));
    }
    return n;
}

/* A row's mark, if it has one; from where the thread captures a graph to where it has one, only that. */
static void take_row(const struct host_rows *hosts, row_t row, uint8_t kind, row_t *captures,
                     struct host_marks *marks) {
    uint8_t plain = kind & (ROW_CAPTURES - 1);
    if (kind & ROW_CAPTURED && *captures != ROW_NONE) {
        put_mark(hosts, hosts->start[*captures], row, OVERVIEW_SET_UP, marks);
        *captures = ROW_NONE;
    } else if (kind & ROW_CAPTURES && *captures == ROW_NONE) {
        *captures = row;
    } else if (plain != OVERVIEW_N_KINDS && *captures == ROW_NONE) {
        put_mark(hosts, hosts->start[row], row, plain, marks);
    }
}

/* Also fills overview->blocks, in the arena; marks are scratch. */
static enum sutra_status host_marks_make(struct overview *overview, struct arena *arena, struct arena *scratch,
                                         struct host_marks *marks, struct sutra_error *error) {
    const struct host_rows *hosts = &overview->reading->hosts;
    enum sutra_status status = find_blocking(overview, arena, error);
    uint8_t *kinds = arena_take(scratch, hosts->n, 1);
    row_t n = kinds && !status ? find_kinds(overview, kinds) : 0;
    *marks = (struct host_marks){.list = arena_take(scratch, n, sizeof *marks->list),
                                 .first = arena_zeros(scratch, (size_t)hosts->n_threads + 1, sizeof *marks->first)};
    if (!status)
        status = kinds ? arena_status(scratch, error) : error_memory(error);
    uint32_t thread = 0;
    row_t captures = ROW_NONE;
    for (row_t row = 0; row < hosts->n && !status; row++) {
        if (thread < hosts->thread[row])
            captures = ROW_NONE;
        while (thread < hosts->thread[row])
            marks->first[++thread] = marks->n;
        take_row(hosts, row, kinds[row], &captures, marks);
    }
    while (thread < hosts->n_threads && !status)
        marks->first[++thread] = marks->n;
    return status;
}

/*
 * The shortest event of a thread that covers most of a stretch of time.
 *
 * What covers more than half of a stretch covers its middle. So it is found among the last event that begins before the
 * middle and those above that, of which the lowest that covers enough is the shortest. To find it in O(log n) steps,
 * each row knows one far above itself: of two jumps of equal length in a row the sum, else its parent.
 */

static enum sutra_status host_ways_make(const struct host_rows *hosts, struct arena *arena, struct host_ways *ways,
                                        struct sutra_error *error) {
    row_t *depth = arena_take(arena, hosts->n, sizeof *depth);
    *ways = (struct host_ways){.hosts = hosts,
                               .first = arena_zeros(arena, (size_t)hosts->n_threads + 1, sizeof *ways->first),
                               .jump = arena_take(arena, hosts->n, sizeof *ways->jump)};
    enum sutra_status status = arena_status(arena, error);
    if (status)
        return status;
    uint32_t thread = 0;
    for (row_t row = 0; row < hosts->n; row++) {
        row_t above = hosts->parent[row];
        while (thread < hosts->thread[row])
            ways->first[++thread] = row;
        depth[row] = above == ROW_NONE ? 0 : depth[above] + 1;
        if (above == ROW_NONE) {
            ways->jump[row] = row;
            continue;
        }
        row_t far = ways->jump[above], farther = ways->jump[far];
        ways->jump[row] = depth[above] - depth[far] == depth[far] - depth[farther] ? farther : above;
    }
    while (thread < hosts->n_threads)
        ways->first[++thread] = hosts->n;
    return SUTRA_OK;
}

static bool covers(const struct host_rows *hosts, row_t row, int64_t begin, int64_t end) {
    int64_t from = hosts->start[row] > begin ? hosts->start[row] : begin;
    int64_t to = hosts->stop[row] < end ? hosts->stop[row] : end;
    return (double)(to - from) * 100 >= (double)(end - begin) * COVERED_PERCENT;
}

struct moment {
    const int64_t *start;
    int64_t at;
};

static bool begins_by(const void *of, row_t row) {
    const struct moment *moment = of;
    return moment->start[row] <= moment->at;
}

static row_t host_covering(const struct host_ways *ways, uint32_t thread, int64_t begin, int64_t end, row_t *near) {
    const struct host_rows *hosts = ways->hosts;
    row_t first = ways->first[thread];
    const struct moment middle = {hosts->start, begin + (end - begin) / 2};
    row_t behind = bisect_near(first, ways->first[thread + 1], *near, begins_by, &middle);
    row_t row = behind == first ? ROW_NONE : behind - 1;
    *near = behind;
    while (row != ROW_NONE && !covers(hosts, row, begin, end)) {
        row_t far = ways->jump[row];
        row = far == row ? ROW_NONE : covers(hosts, far, begin, end) ? hosts->parent[row] : far;
    }
    return row;
}

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
    row_t near = 0;
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
        return error_set(error, SUTRA_DATA,
                         "more than %u idle intervals: select fewer steps (--step, --from-us, --to-us)", ROW_LIMIT);
    pool_run(context->pool, NAMED_PARTS, name_part, &work);
    overview->rows = work.rows;
    overview->n_rows = (row_t)work.n;
    return SUTRA_OK;
}
