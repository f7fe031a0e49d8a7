/*
 * idle_causes.c - attributes GPU idle time to its cause.
 *
 * Input: the intervals and gaps of one rank (overview.c), the host events, and which call launched which activity.
 * Output: overview->rows, in which each gap is replaced by consecutive intervals of one cause each.
 *
 *     GPU stream   kernel a |<------------- gap ------------->| kernel b
 *     CPU thread            | ... loading, sync | launch call |        |
 *     causes                | loading|sync|host | launch      | launch or not started
 *
 * The thread that launched the activity after the gap decides:
 *
 *     1. The launch call had returned before the gap began: QUEUED (stream dependency, CUDA graph or hardware).
 *     2. Before the launch call: LOADING, SYNC or SET_UP, as the thread is marked. Unmarked time is AFTER_SYNC if the
 *        gap began in a synchronizing call, else HOST.
 *     3. During the launch call: LAUNCH; SLOW_LAUNCH for a kernel launch longer than SLOW_CALL_NS, and for a cold memcpy
 *        call.
 *     4. From the return of the call to the activity: LAUNCH; NOT_STARTED if longer than NOT_STARTED_NS.
 *
 * A gap without a known launch is UNKNOWN. The gap after the last activity is AFTER.
 *
 * Cost: O(rows + marks + host events + gaps * log(marks)), then O(log(host events)) per interval for its enclosing
 * event.
 */
#include "analyze/overview/overview.h"
#include "base/error.h"
#include "base/shared.h"
#include "match/steps.h"

/* ---- Marks: when threads of the host load data, synchronize, or set something up ----
 *
 * A call synchronizes by its name, or if it launches a copy from the GPU and ends no sooner than the copy, as
 * copies to pageable memory do. A call is set-up by its name, or if it is long and nothing else is known of it:
 * the first call of any kind may create the context. The capture of a CUDA graph is set-up, too. Of nested calls the
 * outermost counts: rows of a thread are sorted by start.
 */

/* Marks of a thread do not overlap; thread t has list[first[t]] .. list[first[t + 1] - 1]. */
struct host_marks {
    struct host_mark {
        int64_t begin, end;
        row_t host;
        uint8_t kind; /* OVERVIEW_LOADING, OVERVIEW_SYNC, OVERVIEW_SET_UP */
    } * list;
    row_t *first;
    row_t n;
};

static enum sutra_status find_blocking_calls(struct overview *overview, struct arena *arena,
                                             struct sutra_error *error) {
    const struct launch_model *model = overview->model;
    const struct device_rows *devices = &model->devices;
    const struct host_rows *hosts = &model->hosts;
    overview->blocks = arena_alloc(arena, hosts->n, 1);
    TRY(arena_status(arena, error));
    for (row_t row = 0; row < hosts->n; row++)
        overview->blocks[row] = hosts->kind[row] == HOST_CALL && overview_name(overview, row) & NAME_BLOCKING;
    for (row_t i = 0; i < devices->n; i++) {
        row_t call = devices->call[i];
        if (call != ROW_NONE && overview->classes[i] == OVERVIEW_COPY && hosts->stop[call] >= devices->stop[i] &&
            name_roles(model->events, overview->roles, devices->event[i]) & NAME_FROM_DEVICE)
            overview->blocks[call] = 1;
    }
    return SUTRA_OK;
}

/* The kind of mark that a row makes; OVERVIEW_N_KINDS: none. */
static uint8_t mark_kind(const struct overview *overview, row_t row) {
    const struct host_rows *hosts = &overview->model->hosts;
    const row_t *first = overview->model->links.first;
    uint32_t roles = overview_name(overview, row), other = NAME_LAUNCH | NAME_RECORD_CALL | NAME_WAIT_CALL;
    if (hosts->kind[row] != HOST_CALL)
        return roles & NAME_LOADS_BATCH ? OVERVIEW_LOADING : OVERVIEW_N_KINDS;
    if (overview->blocks[row])
        return OVERVIEW_SYNC;
    bool slow = hosts->stop[row] - hosts->start[row] > SLOW_CALL_NS && first[row] == first[row + 1];
    return roles & NAME_SETS_UP || (slow && !(roles & other)) ? OVERVIEW_SET_UP : OVERVIEW_N_KINDS;
}

/* Appends a mark from a moment, or from the end of the last mark of the thread, to the end of a row. */
static void append_mark(const struct host_rows *hosts, int64_t begin, row_t row, uint8_t kind,
                        struct host_marks *marks) {
    row_t first = marks->first[hosts->thread[row]];
    if (marks->n > first && marks->list[marks->n - 1].end > begin)
        begin = marks->list[marks->n - 1].end;
    if (begin < hosts->stop[row])
        marks->list[marks->n++] = (struct host_mark){begin, hosts->stop[row], row, kind};
}

/* Flags next to the kind of a row. */
#define ROW_CAPTURES 64  /* begins the capture of a graph */
#define ROW_CAPTURED 128 /* ends it */

_Static_assert(OVERVIEW_N_KINDS < ROW_CAPTURES, "kinds fit below the flags");

/* Also fills overview->blocks, in the arena; marks are scratch. */
static enum sutra_status make_host_marks(struct overview *overview, struct arena *arena, struct arena *scratch,
                                         struct host_marks *marks, struct sutra_error *error) {
    const struct host_rows *hosts = &overview->model->hosts;
    TRY(find_blocking_calls(overview, arena, error));
    uint8_t *kinds = arena_alloc(scratch, hosts->n, 1);
    TRY(arena_status(scratch, error));
    row_t capacity = 0;
    for (row_t row = 0; row < hosts->n; row++) {
        uint32_t roles = hosts->kind[row] == HOST_CALL ? overview_name(overview, row) : 0;
        kinds[row] = mark_kind(overview, row);
        capacity += kinds[row] != OVERVIEW_N_KINDS || roles & NAME_CAPTURED;
        kinds[row] |=
            (uint8_t)((roles & NAME_CAPTURES ? ROW_CAPTURES : 0) | (roles & NAME_CAPTURED ? ROW_CAPTURED : 0));
    }
    *marks = (struct host_marks){.list = arena_alloc(scratch, capacity, sizeof *marks->list),
                                 .first = arena_zeros(scratch, (size_t)hosts->n_threads + 1, sizeof *marks->first)};
    TRY(arena_status(scratch, error));

    /* From the begin of a capture to its end, a thread has one mark only. */
    uint32_t thread = 0;
    row_t capture = ROW_NONE;
    for (row_t row = 0; row < hosts->n; row++) {
        uint8_t kind = kinds[row] & (ROW_CAPTURES - 1);
        if (thread < hosts->thread[row])
            capture = ROW_NONE;
        while (thread < hosts->thread[row])
            marks->first[++thread] = marks->n;
        if (kinds[row] & ROW_CAPTURED && capture != ROW_NONE) {
            append_mark(hosts, hosts->start[capture], row, OVERVIEW_SET_UP, marks);
            capture = ROW_NONE;
        } else if (kinds[row] & ROW_CAPTURES && capture == ROW_NONE) {
            capture = row;
        } else if (kind != OVERVIEW_N_KINDS && capture == ROW_NONE) {
            append_mark(hosts, hosts->start[row], row, kind, marks);
        }
    }
    while (thread < hosts->n_threads)
        marks->first[++thread] = marks->n;
    return SUTRA_OK;
}

/* ---- Cold calls ----
 *
 * The first memcpy call of a kind may set something up: it is long, and calls of its name are short otherwise. A third
 * one makes it a habit: then none is set-up.
 */

#define COLD_MEDIANS   10
#define COLD_MIN_CALLS 5
#define COLD_MOST      2

/* Whether a row is a long memcpy call that launches and does not block. */
static bool is_slow_copy_call(const struct overview *overview, row_t row) {
    const struct host_rows *hosts = &overview->model->hosts;
    const row_t *first = overview->model->links.first;
    if (hosts->stop[row] - hosts->start[row] <= SLOW_CALL_NS || hosts->kind[row] != HOST_CALL)
        return false;
    const uint32_t roles = overview_name(overview, row);
    return first[row] < first[row + 1] && !overview->blocks[row] && roles & NAME_COPY_CALL &&
           !(roles & NAME_LAUNCH_GRAPH);
}

enum sutra_status median_of_keys(uint64_t *keys, row_t *rows, row_t n, int64_t *median, struct sutra_error *error) {
    for (row_t i = 0; i < n; i++)
        rows[i] = i;
    enum sutra_status status = cpu_sort_keys(NULL, &(struct sort_keys_step){keys, rows, n}, error);
    *median = status || n == 0 ? 0 : (int64_t)keys[upper_median_at(n)];
    return status;
}

/* The median duration of the calls of a name. */
static enum sutra_status median_call(const struct overview *overview, uint32_t name, struct arena *scratch, row_t *n,
                                     int64_t *median, struct sutra_error *error) {
    const struct host_rows *hosts = &overview->model->hosts;
    struct arena_mark mark = arena_mark(scratch);
    *n = 0;
    for (row_t row = 0; row < hosts->n; row++)
        *n += hosts->kind[row] == HOST_CALL && hosts->name[row] == name;
    uint64_t *keys = arena_alloc(scratch, *n, sizeof *keys);
    row_t *rows = arena_alloc(scratch, *n, sizeof *rows), k = 0;
    TRY(arena_status(scratch, error));
    for (row_t row = 0; row < hosts->n; row++)
        if (hosts->kind[row] == HOST_CALL && hosts->name[row] == name)
            keys[k++] = (uint64_t)(hosts->stop[row] - hosts->start[row]);
    enum sutra_status status = median_of_keys(keys, rows, k, median, error);
    arena_release(scratch, mark);
    return status;
}

/* Names of memcpy calls in a trace. */
#define COPY_NAMES_MOST 16

/* Marks cold calls, by row of hosts; *cold is NULL if there are none. */
static enum sutra_status find_cold_calls(const struct overview *overview, struct arena *scratch, uint8_t **cold,
                                         struct sutra_error *error) {
    const struct host_rows *hosts = &overview->model->hosts;
    uint32_t names[COPY_NAMES_MOST];
    unsigned n_names = 0;
    *cold = NULL;
    for (row_t row = 0; row < hosts->n; row++) {
        unsigned i = 0;
        if (n_names == COPY_NAMES_MOST || !is_slow_copy_call(overview, row))
            continue;
        while (i < n_names && names[i] != hosts->name[row])
            i++;
        if (i == n_names)
            names[n_names++] = hosts->name[row];
    }
    for (unsigned i = 0; i < n_names; i++) {
        row_t n_calls, n_cold = 0, found[COLD_MOST];
        int64_t median;
        TRY(median_call(overview, names[i], scratch, &n_calls, &median, error));
        for (row_t row = 0; row < hosts->n && n_calls >= COLD_MIN_CALLS && n_cold <= COLD_MOST; row++) {
            if (hosts->name[row] != names[i] || !is_slow_copy_call(overview, row) ||
                (double)(hosts->stop[row] - hosts->start[row]) <= COLD_MEDIANS * (double)median)
                continue;
            if (n_cold < COLD_MOST)
                found[n_cold] = row;
            n_cold++;
        }
        if (n_cold == 0 || n_cold > COLD_MOST)
            continue;
        *cold = *cold ? *cold : arena_zeros(scratch, hosts->n, 1);
        TRY_ALLOC(*cold, error);
        for (row_t k = 0; k < n_cold; k++)
            (*cold)[found[k]] = 1;
    }
    return SUTRA_OK;
}

/* ---- Enclosing events ----
 *
 * The parent of an event is the nearest event of its thread that starts no later and ends no earlier. (In the launch
 * model a parent may end sooner, and would hide the ancestors of both.)
 *
 *     frame        |------------|                      ends inside the step: no parent of what follows
 *     step             |------------------------|      parent of preprocess
 *     preprocess          |---------------|
 *
 * An event that covers enough of an interval begins before the rest of the interval is too short. The search begins at
 * the last event that begins by then and goes up to the first that covers enough. For O(log n) steps, each row has a
 * jump far up: the sum of the next two jumps if these are of equal length, else its parent.
 */

/* Percent of an interval that its enclosing event covers. */
#define COVERED_PERCENT 70

struct host_ancestors {
    const struct host_rows *hosts;
    row_t *first;  /* by thread: its first row of hosts; n_threads + 1 */
    row_t *parent; /* ROW_NONE: none */
    row_t *jump;   /* an ancestor; the row itself if it has no parent */
};

static enum sutra_status make_host_ancestors(const struct host_rows *hosts, struct arena *arena,
                                             struct host_ancestors *ancestors, struct sutra_error *error) {
    row_t *depth = arena_alloc(arena, hosts->n, sizeof *depth), *jump = arena_alloc(arena, hosts->n, sizeof *jump),
          *parents = arena_alloc(arena, hosts->n, sizeof *parents);
    row_t *first = arena_zeros(arena, (size_t)hosts->n_threads + 1, sizeof *first);
    TRY(arena_status(arena, error));
    uint32_t thread = 0;
    row_t last = ROW_NONE; /* the top of a stack that the parents link: ends ascend downwards */
    for (row_t row = 0; row < hosts->n; row++) {
        while (thread < hosts->thread[row]) {
            first[++thread] = row;
            last = ROW_NONE;
        }
        while (last != ROW_NONE && hosts->stop[last] < hosts->stop[row])
            last = parents[last];
        const row_t parent = parents[row] = last;
        last = row;
        depth[row] = parent == ROW_NONE ? 0 : depth[parent] + 1;
        if (parent == ROW_NONE) {
            jump[row] = row;
            continue;
        }
        row_t far = jump[parent], farther = jump[far];
        jump[row] = depth[parent] - depth[far] == depth[far] - depth[farther] ? farther : parent;
    }
    while (thread < hosts->n_threads)
        first[++thread] = hosts->n;
    *ancestors = (struct host_ancestors){hosts, first, parents, jump};
    return SUTRA_OK;
}

static bool covers(const struct host_rows *hosts, row_t row, int64_t begin, int64_t end) {
    int64_t from = MAX(hosts->start[row], begin);
    int64_t to = MIN(hosts->stop[row], end);
    return (double)(to - from) * 100 >= (double)(end - begin) * COVERED_PERCENT;
}

struct moment {
    const int64_t *start;
    int64_t time;
};

static bool begins_by(const void *arg, row_t row) {
    const struct moment *moment = arg;
    return moment->start[row] <= moment->time;
}

/* The shortest event of a thread that covers at least COVERED_PERCENT of [begin, end), or ROW_NONE. *hint, any number
 * at first, makes the search short for intervals in order of time. */
static row_t find_covering_event(const struct host_ancestors *ancestors, uint32_t thread, int64_t begin, int64_t end,
                                 row_t *hint) {
    const struct host_rows *hosts = ancestors->hosts;
    row_t first = ancestors->first[thread];
    const int64_t uncovered = (int64_t)((double)(end - begin) * (100 - COVERED_PERCENT) / 100);
    const struct moment latest = {hosts->start, begin + uncovered};
    *hint = bisect_near(first, ancestors->first[thread + 1], *hint, begins_by, &latest);
    row_t row = *hint == first ? ROW_NONE : *hint - 1;
    while (row != ROW_NONE && !covers(hosts, row, begin, end)) {
        row_t far = ancestors->jump[row];
        row = far == row ? ROW_NONE : covers(hosts, far, begin, end) ? ancestors->parent[row] : far;
    }
    return row;
}

/* ---- Attribution ---- */

/* Intervals per gap, beyond one per mark that ends in the gap and one before it: the mark that outlasts the gap, the
 * time before the launch call, the call, and the time after it. */
#define EXTRA_INTERVALS_PER_GAP 5

/* Tasks for the thread pool in the second pass. */
#define ENCLOSING_EVENT_TASKS 16

struct idle_attribution {
    struct overview *overview;
    struct host_marks marks;
    struct host_ancestors ancestors;
    uint8_t *cold;                  /* by row of hosts: a cold memcpy call; NULL: there are none */
    struct overview_row *intervals; /* output */
    size_t n_intervals;
};

/* Appends [begin, end) with a cause, or extends the last interval if it has the same gap and cause. `blocking_call` is
 * the synchronizing call of a SYNC or AFTER_SYNC interval, else ROW_NONE. */
static void append_interval(struct idle_attribution *idle, row_t gap, int64_t begin, int64_t end, uint8_t cause,
                            row_t blocking_call) {
    if (begin >= end)
        return;
    struct overview_row *last = idle->n_intervals ? &idle->intervals[idle->n_intervals - 1] : NULL;
    if (last && last->gap == gap && last->kind == cause) {
        last->end = end;
        last->wait = blocking_call;
        return;
    }
    idle->intervals[idle->n_intervals++] = (struct overview_row){
        .begin = begin, .end = end, .gap = gap, .frame = ROW_NONE, .wait = blocking_call, .kind = cause};
}

/* Attributes [begin, end) to what a CPU thread did: its marks (loading, synchronizing call, set-up), and
 * `unmarked_cause` between them. */
static void attribute_thread_time(struct idle_attribution *idle, row_t gap, uint32_t thread, int64_t begin, int64_t end,
                                  uint8_t unmarked_cause) {
    const struct host_mark *marks = idle->marks.list;
    row_t end_mark = idle->marks.first[thread + 1], blocking_call = ROW_NONE;

    /* Marks of a thread do not overlap and are sorted. Binary search for the first one that ends at or after
     * `begin`. */
    struct bisection search = {idle->marks.first[thread], end_mark};
    while (search.low < search.high)
        bisect(&search, marks[bisect_middle(search)].end < begin);
    row_t mark = search.low;

    /* If the gap begins in a synchronizing call, the GPU ran dry because of it: the CPU has to catch up afterwards. */
    if (unmarked_cause == OVERVIEW_HOST && mark < end_mark && marks[mark].begin <= begin &&
        marks[mark].kind == OVERVIEW_SYNC) {
        unmarked_cause = OVERVIEW_AFTER_SYNC;
        blocking_call = marks[mark].host;
    }
    for (; mark < end_mark && marks[mark].begin < end; mark++) {
        int64_t from = CLAMP(marks[mark].begin, begin, end), to = CLAMP(marks[mark].end, begin, end);
        bool is_sync = marks[mark].kind == OVERVIEW_SYNC;
        append_interval(idle, gap, begin, from, unmarked_cause, blocking_call);
        if (is_sync && unmarked_cause == OVERVIEW_AFTER) /* no kernel follows, so nothing is delayed by the call */
            append_interval(idle, gap, from, to, OVERVIEW_AFTER, ROW_NONE);
        else
            append_interval(idle, gap, from, to, marks[mark].kind, is_sync ? marks[mark].host : ROW_NONE);
        begin = to;
    }
    append_interval(idle, gap, begin, end, unmarked_cause, blocking_call);
}

/* Attributes a gap that ends with a kernel, memcpy or memset, by the call that launched it. */
static void attribute_gap_before_work(struct idle_attribution *idle, row_t gap_row) {
    const struct overview *overview = idle->overview;
    const struct overview_gap *gap = &overview->gaps[gap_row];
    const struct host_rows *hosts = &overview->model->hosts;
    row_t call = gap->device == ROW_NONE ? ROW_NONE : overview->model->devices.call[gap->device];
    if (call == ROW_NONE || validity_has_device_clock(overview->model->trace->validity)) {
        append_interval(idle, gap_row, gap->begin, gap->end, OVERVIEW_UNKNOWN, ROW_NONE);
        return;
    }
    if (hosts->stop[call] <= gap->begin) {
        append_interval(idle, gap_row, gap->begin, gap->end, OVERVIEW_QUEUED, ROW_NONE);
        return;
    }
    int64_t call_begin = CLAMP(hosts->start[call], gap->begin, gap->end);
    int64_t call_end = CLAMP(hosts->stop[call], call_begin, gap->end);

    /* Memcpy calls and graph launches are slow for other reasons than code loading. */
    bool launches_kernel =
        overview->classes[gap->device] != OVERVIEW_COPY && !(overview_name(overview, call) & NAME_LAUNCH_GRAPH);
    bool is_slow = (launches_kernel && call_end - call_begin > SLOW_CALL_NS) || (idle->cold && idle->cold[call]);
    bool starts_late = gap->end - call_end > NOT_STARTED_NS;

    attribute_thread_time(idle, gap_row, gap->thread, gap->begin, call_begin, OVERVIEW_HOST);
    append_interval(idle, gap_row, call_begin, call_end, is_slow ? OVERVIEW_SLOW_LAUNCH : OVERVIEW_LAUNCH, ROW_NONE);
    append_interval(idle, gap_row, call_end, gap->end, starts_late ? OVERVIEW_NOT_STARTED : OVERVIEW_LAUNCH, ROW_NONE);
}

/* Attributes the gap after the last work to the thread of the profiler steps, or without steps to the thread of the
 * last launch. */
static void attribute_trailing_gap(struct idle_attribution *idle, row_t gap_row) {
    struct overview *overview = idle->overview;
    struct overview_gap *gap = &overview->gaps[gap_row];
    const struct overview_window *window = &overview->window;
    if (window->n_steps)
        gap->thread = overview->model->hosts.thread[window->steps[window->n_steps - 1]];
    else if (gap_row > 0)
        gap->thread = gap[-1].thread;
    if (gap->thread == THREAD_UNKNOWN)
        append_interval(idle, gap_row, gap->begin, gap->end, OVERVIEW_AFTER, ROW_NONE);
    else
        attribute_thread_time(idle, gap_row, gap->thread, gap->begin, gap->end, OVERVIEW_AFTER);
}

/* Thread pool task: finds for some of the idle intervals the shortest host event that covers most of it. The event of
 * a profiler step is no answer, since it covers everything. */
static void find_enclosing_events(void *arg, size_t task) {
    const struct idle_attribution *idle = arg;
    size_t first = part_offset(idle->n_intervals, ENCLOSING_EVENT_TASKS, task);
    size_t last = part_offset(idle->n_intervals, ENCLOSING_EVENT_TASKS, task + 1);
    row_t search_hint = 0;
    for (size_t i = first; i < last; i++) {
        struct overview_row *interval = &idle->intervals[i];
        uint32_t thread = interval->gap == ROW_NONE ? THREAD_UNKNOWN : idle->overview->gaps[interval->gap].thread;
        if (thread == THREAD_UNKNOWN)
            continue;
        row_t event = find_covering_event(&idle->ancestors, thread, interval->begin, interval->end, &search_hint);
        bool is_step = event != ROW_NONE && overview_name(idle->overview, event) & NAME_STEP;
        interval->frame = is_step ? ROW_NONE : event;
    }
}

enum sutra_status attribute_idle_time(struct sutra_context *context, struct overview *overview, struct arena *arena,
                                      struct arena *scratch, struct sutra_error *error) {
    struct idle_attribution idle = {.overview = overview};
    TRY(make_host_marks(overview, arena, scratch, &idle.marks, error));
    TRY(find_cold_calls(overview, scratch, &idle.cold, error));
    TRY(make_host_ancestors(&overview->model->hosts, scratch, &idle.ancestors, error));
    size_t capacity = overview->n_rows + 2 * (size_t)idle.marks.n + EXTRA_INTERVALS_PER_GAP * (size_t)overview->n_gaps;
    idle.intervals = arena_alloc(arena, capacity, sizeof *idle.intervals);
    TRY(arena_status(arena, error));

    for (row_t i = 0; i < overview->n_rows; i++) {
        const struct overview_row *row = &overview->rows[i];
        if (row->gap == ROW_NONE) {
            append_interval(&idle, ROW_NONE, row->begin, row->end, row->kind, ROW_NONE);
            continue;
        }
        struct overview_gap *gap = &overview->gaps[row->gap];
        gap->first = (row_t)idle.n_intervals;
        if (gap->end == overview->window.to && gap->device == ROW_NONE)
            attribute_trailing_gap(&idle, row->gap);
        else
            attribute_gap_before_work(&idle, row->gap);
        gap->last = (row_t)idle.n_intervals;
    }
    if (idle.n_intervals > ROW_LIMIT)
        return error_set(error, SUTRA_DATA,
                         "more than %u idle intervals: select fewer steps (--step, --from-us, --to-us)", ROW_LIMIT);
    pool_run(context->pool, ENCLOSING_EVENT_TASKS, find_enclosing_events, &idle);
    overview->rows = idle.intervals;
    overview->n_rows = (row_t)idle.n_intervals;
    return SUTRA_OK;
}
