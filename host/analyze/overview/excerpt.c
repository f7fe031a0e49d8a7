/*
 * excerpt.c - the excerpt of a timeline that a finding's picture shows: threads, streams, and the marked time.
 *
 *     thread 7   | CompiledFunctionBackward ............ |      unit: outermost operator or annotation
 *                    [launch]         [launch]---.              runtime calls; the launch that ends the marked gap
 *     stream 20  [gemm]       ...marked...        '->[gemm]
 *
 * Input: the overview, a time range, and the intervals that the finding counts. Output: rows of the table `evidence`,
 * in lanes from top to bottom: for up to two threads a lane of units and a lane of calls, and up to three streams, most
 * active first. The first thread is the one that launched the activity after the longest marked interval; a second one
 * is included if it launches in the range.
 *
 * Adjacent events narrower than a pixel of the picture become one row; the pixel doubles until at most EXCERPT_ROWS
 * rows remain.
 *
 * Cost: O(n) for n events of the trace, to find the ones in the range; then O(m log m).
 */
#include <stdio.h>
#include <string.h>

#include "analyze/overview/verdict.h"
#include "base/error.h"
#include "columns/strings.h"

#define EXCERPT_PIXELS  600 /* width of the picture without labels */
#define EXCERPT_ROWS    180 /* a picture of this many events has less than 30 kB */
#define EXCERPT_THREADS 2
#define EXCERPT_STREAMS 3
#define EXCERPT_LANES   (2 * EXCERPT_THREADS + EXCERPT_STREAMS)
#define LANE_NONE       UINT32_MAX /* of marked intervals */
#define ARROW_DIVISOR   10         /* the activity after idle time starts within this part of the range */

/* The range of a finding. */
struct excerpt {
    int64_t rank;
    const char *rule;
    int64_t zero, from, to; /* ticks: the first event of the trace, the range */
    row_t step;             /* row of hosts: the step that contains the start of the range; ROW_NONE */
    struct spans marked;    /* intervals of the finding, by start */
    bool is_idle;           /* these are GPU idle time */
};

/* Kinds of rows in the table. */
enum excerpt_kind {
    EXCERPT_MARKED, /* time that the finding counts */
    EXCERPT_OPERATOR,
    EXCERPT_CALL,
    EXCERPT_SYNC,
    EXCERPT_COMPUTE,
    EXCERPT_COMMUNICATION,
    EXCERPT_COPY,
    EXCERPT_N_KINDS
};

static const char *const kind_names[EXCERPT_N_KINDS] = {"marked",  "operator",      "call",  "synchronizing call",
                                                        "compute", "communication", "memcpy"};

/* One event, or adjacent short ones. */
struct excerpt_event {
    int64_t start, stop;
    uint32_t lane;
    uint32_t name; /* string of the first one */
    row_t n;
    uint8_t kind;
};

struct excerpt_lanes {
    const struct overview *overview;
    const struct excerpt *excerpt;
    uint32_t n;
    char labels[EXCERPT_LANES][48];
    uint32_t threads[EXCERPT_THREADS], n_threads;
    value_key streams[EXCERPT_STREAMS];
    uint32_t n_streams;
    struct excerpt_event *events;
    row_t n_events;
};

static bool overlaps(const struct excerpt *excerpt, int64_t start, int64_t stop) {
    return start < excerpt->to && stop > excerpt->from;
}

/* ---- Lanes ---- */

/* The longest marked interval in the range, cut at the range; adjacent ones are one. */
static bool longest_mark(const struct excerpt *excerpt, int64_t *begin, int64_t *end) {
    int64_t from = 0, to = INT64_MIN;
    bool found = false;
    for (row_t i = 0; i < excerpt->marked.n; i++) {
        if (!overlaps(excerpt, excerpt->marked.begin[i], excerpt->marked.end[i]))
            continue;
        from = excerpt->marked.begin[i] > to ? MAX(excerpt->marked.begin[i], excerpt->from) : from;
        to = MIN(excerpt->marked.end[i], excerpt->to);
        if (found && to - from <= *end - *begin)
            continue;
        *begin = from;
        *end = to;
        found = true;
    }
    return found;
}

/* The activity at which the arrow ends, of known call: after idle time, the first one that starts when the longest
 * marked interval ends, or later; else the longest one that starts with the interval, as a collective does. O(n). */
static row_t arrow_target(const struct excerpt_lanes *lanes) {
    const struct device_rows *devices = &lanes->overview->model->devices;
    const struct host_rows *hosts = &lanes->overview->model->hosts;
    row_t target = ROW_NONE;
    int64_t begin = 0, end = 0;
    if (!longest_mark(lanes->excerpt, &begin, &end))
        return ROW_NONE;
    for (row_t k = 0; k < devices->n; k++) {
        const row_t i = devices->by_start[k], call = devices->call[i];
        if (call == ROW_NONE || devices->start[i] < begin || devices->start[i] >= lanes->excerpt->to)
            continue;
        if (lanes->excerpt->is_idle) {
            if (devices->start[i] > end + (lanes->excerpt->to - lanes->excerpt->from) / ARROW_DIVISOR)
                return ROW_NONE;
            if (devices->start[i] >= end && hosts->start[call] >= begin)
                return i;
        } else if (devices->start[i] == begin && (target == ROW_NONE || devices->stop[i] > devices->stop[target])) {
            target = i;
        }
    }
    return target;
}

/* Selects the threads: of the target's launch, then of most launches in the range, then of most launches of activities
 * that run in it. O(n). */
static enum sutra_status select_threads(struct excerpt_lanes *lanes, row_t target, struct arena *scratch,
                                        struct sutra_error *error) {
    const struct launch_model *model = lanes->overview->model;
    const struct host_rows *hosts = &model->hosts;
    const struct device_rows *devices = &model->devices;
    row_t *n_in_range = arena_zeros(scratch, hosts->n_threads, sizeof *n_in_range),
          *n_running = arena_zeros(scratch, hosts->n_threads, sizeof *n_running);
    TRY(arena_status(scratch, error));
    for (row_t i = 0; i < devices->n; i++) {
        row_t call = devices->call[i];
        if (call == ROW_NONE)
            continue;
        n_in_range[hosts->thread[call]] += overlaps(lanes->excerpt, hosts->start[call], hosts->stop[call]);
        n_running[hosts->thread[call]] += overlaps(lanes->excerpt, devices->start[i], devices->stop[i]);
    }
    if (target != ROW_NONE)
        lanes->threads[lanes->n_threads++] = hosts->thread[devices->call[target]];
    while (lanes->n_threads < EXCERPT_THREADS) {
        const row_t *n = n_in_range;
        uint32_t best = THREAD_UNKNOWN;
        for (int pass = 0; pass < 2 && best == THREAD_UNKNOWN; pass++, n = n_running)
            for (uint32_t thread = 0; thread < hosts->n_threads; thread++)
                if (n[thread] && (best == THREAD_UNKNOWN || n[thread] > n[best]) &&
                    !(lanes->n_threads && lanes->threads[0] == thread) && (pass == 0 || lanes->n_threads == 0))
                    best = thread;
        if (best == THREAD_UNKNOWN)
            break;
        lanes->threads[lanes->n_threads++] = best;
    }
    return SUTRA_OK;
}

/* Selects the streams that are busy for most of the range. O(n). */
static enum sutra_status select_streams(struct excerpt_lanes *lanes, struct arena *scratch, struct sutra_error *error) {
    const struct launch_model *model = lanes->overview->model;
    const struct device_rows *devices = &model->devices;
    const struct excerpt *excerpt = lanes->excerpt;
    struct tuples numbers = {0};
    value_key *keys = arena_alloc(scratch, devices->n, sizeof *keys);
    int64_t *ticks = arena_zeros(scratch, devices->n, sizeof *ticks);
    bool ok = !scratch->failed;
    for (row_t i = 0; i < devices->n && ok; i++) {
        value_key key = model->events->stream[devices->event[i]];
        if (!overlaps(excerpt, devices->start[i], devices->stop[i]) || !key_is_value(key))
            continue;
        const uint32_t number = tuples_number(&numbers, (struct tuple){{key}});
        ok = number != TUPLE_NONE;
        if (!ok)
            break;
        keys[number] = key;
        ticks[number] += MIN(devices->stop[i], excerpt->to) - MAX(devices->start[i], excerpt->from);
    }
    const uint32_t n = numbers.n;
    tuples_free(&numbers);
    TRY_ALLOC(ok, error);
    for (; lanes->n_streams < EXCERPT_STREAMS; lanes->n_streams++) {
        uint32_t best = 0;
        for (uint32_t i = 1; i < n; i++)
            best = ticks[i] > ticks[best] ? i : best;
        if (n == 0 || ticks[best] <= 0)
            break;
        lanes->streams[lanes->n_streams] = keys[best];
        ticks[best] = 0;
    }
    return SUTRA_OK;
}

/* Whether a row encloses the work of a step as a whole: its children are the units. */
static bool is_wrapper(const struct excerpt_lanes *lanes, row_t row) {
    const struct host_rows *hosts = &lanes->overview->model->hosts;
    const row_t step = lanes->excerpt->step;
    const uint32_t name = host_name(lanes->overview->model, row);
    return name_is_wrapper(strings_text(lanes->overview->model->strings, name)) ||
           (hosts->kind[row] == HOST_ANNOTATION && step != ROW_NONE &&
            (hosts->stop[row] - hosts->start[row]) * 10 >= (hosts->stop[step] - hosts->start[step]) * 9);
}

/* ---- Events ---- */

static void append_event(struct excerpt_lanes *lanes, uint32_t lane, int64_t start, int64_t stop, uint32_t name,
                         enum excerpt_kind kind) {
    start = MAX(start, lanes->excerpt->from);
    stop = MIN(stop, lanes->excerpt->to);
    lanes->events[lanes->n_events++] =
        (struct excerpt_event){.start = start, .stop = stop, .lane = lane, .name = name, .n = 1, .kind = (uint8_t)kind};
}

/* Collects marked intervals and the events of all lanes, in the order of lanes and starts. Units are the outermost
 * operators and annotations of a thread that are no wrappers. */
static enum sutra_status collect_events(struct excerpt_lanes *lanes, const struct values *values, struct arena *scratch,
                                        struct sutra_error *error) {
    const struct launch_model *model = lanes->overview->model;
    const struct host_rows *hosts = &model->hosts;
    const struct device_rows *devices = &model->devices;
    char room[NUMBER_TEXT_MAX];
    size_t length;
    const struct spans *marked = &lanes->excerpt->marked;
    lanes->events = arena_alloc(scratch, (size_t)marked->n + hosts->n + devices->n, sizeof *lanes->events);
    TRY(arena_status(scratch, error));
    for (row_t i = 0; i < marked->n; i++)
        if (overlaps(lanes->excerpt, marked->begin[i], marked->end[i]))
            append_event(lanes, LANE_NONE, marked->begin[i], marked->end[i], STRING_NONE, EXCERPT_MARKED);
    for (uint32_t t = 0; t < lanes->n_threads; t++) {
        for (int calls = 0; calls < 2; calls++, lanes->n++) {
            int64_t last = INT64_MIN;
            for (row_t row = 0; row < hosts->n; row++) {
                if (hosts->thread[row] != lanes->threads[t] ||
                    !overlaps(lanes->excerpt, hosts->start[row], hosts->stop[row]) || hosts->start[row] < last)
                    continue;
                bool is_unit = hosts->kind[row] == HOST_OPERATOR || hosts->kind[row] == HOST_ANNOTATION;
                if (calls ? hosts->kind[row] != HOST_CALL : !is_unit || is_wrapper(lanes, row))
                    continue;
                enum excerpt_kind kind = !calls                         ? EXCERPT_OPERATOR
                                         : lanes->overview->blocks[row] ? EXCERPT_SYNC
                                                                        : EXCERPT_CALL;
                append_event(lanes, lanes->n, hosts->start[row], hosts->stop[row], host_name(model, row), kind);
                last = hosts->stop[row];
            }
            row_t row = 0; /* a row of the thread, which has its id */
            while (row < hosts->n && hosts->thread[row] != lanes->threads[t])
                row++;
            const char *id = values_text(values, model->events->tid[hosts->event[row]], room, &length);
            snprintf(lanes->labels[lanes->n], sizeof lanes->labels[0], "thread %.*s", (int)MIN(length, 32), id);
        }
    }
    for (uint32_t s = 0; s < lanes->n_streams; s++, lanes->n++) {
        static const uint8_t kinds[] = {[OVERVIEW_COMPUTE] = EXCERPT_COMPUTE,
                                        [OVERVIEW_COMMUNICATION] = EXCERPT_COMMUNICATION,
                                        [OVERVIEW_COPY] = EXCERPT_COPY};
        const char *id = values_text(values, lanes->streams[s], room, &length);
        snprintf(lanes->labels[lanes->n], sizeof lanes->labels[0], "stream %.*s", (int)MIN(length, 32), id);
        for (row_t k = 0; k < devices->n; k++) {
            row_t i = devices->by_start[k], event = devices->event[i];
            if (model->events->stream[event] == lanes->streams[s] &&
                overlaps(lanes->excerpt, devices->start[i], devices->stop[i]))
                append_event(lanes, lanes->n, devices->start[i], devices->stop[i], model->events->name[event],
                             (enum excerpt_kind)kinds[lanes->overview->classes[i]]);
        }
    }
    return SUTRA_OK;
}

/* Merges adjacent events of a lane that are narrower than a pixel. A merged event has the kind of its longest one. */
static row_t merge_narrow(struct excerpt_event *events, row_t n, int64_t pixel) {
    row_t kept = 0;
    int64_t longest = 0;
    bool is_narrow = false;
    for (row_t i = 0; i < n; i++) {
        const struct excerpt_event event = events[i];
        struct excerpt_event *last = kept ? &events[kept - 1] : NULL;
        const int64_t length = event.stop - event.start;
        if (last && is_narrow && length < pixel && last->lane == event.lane && event.start - last->stop < pixel) {
            last->kind = length > longest ? event.kind : last->kind;
            longest = MAX(longest, length);
            last->stop = MAX(last->stop, event.stop);
            last->n += event.n;
            continue;
        }
        longest = length;
        is_narrow = length < pixel;
        events[kept++] = event;
    }
    return kept;
}

/* ---- The table ---- */

struct excerpt_row {
    const char *track;
    int64_t lane; /* -1: none */
    const char *kind;
    const char *text; /* instead of a name of the trace; NULL */
    int64_t start, stop;
    row_t n;
};

static void add_row(const struct excerpt_lanes *lanes, const struct excerpt_row *row, uint32_t name,
                    struct sutra_table *table) {
    const struct excerpt *excerpt = lanes->excerpt;
    table_integer(table, excerpt->rank);
    table_words(table, excerpt->rule);
    table_words(table, row->track);
    table_integer(table, row->lane);
    table_words(table, row->kind);
    if (row->text)
        table_words(table, row->text);
    else
        table_string(table, lanes->overview->model->strings, name);
    table_real(table, (double)(row->start - excerpt->zero) / 1000);
    table_real(table, (double)(row->stop - row->start) / 1000);
    table_integer(table, row->n);
}

enum sutra_status excerpt_add(const struct overview *overview, const struct values *values, int64_t rank,
                              const struct overview_finding *finding, struct arena *scratch, struct sutra_table *table,
                              struct sutra_error *error) {
    const struct launch_model *model = overview->model;
    const struct host_rows *hosts = &model->hosts;
    const struct overview_window *window = &overview->window;
    if (finding->range.from_us >= finding->range.to_us)
        return SUTRA_OK;
    struct excerpt excerpt = {.rank = rank,
                              .rule = finding->rule->name,
                              .zero = overview->first_event,
                              .step = ROW_NONE,
                              .marked = finding->spans,
                              .is_idle = finding->rule->marked == NULL};
    excerpt.from = excerpt.zero + finding->range.from_us * 1000;
    excerpt.to = excerpt.zero + finding->range.to_us * 1000;
    row_t i;
    BISECT(i, window->n_steps, hosts->start[window->steps[i]] <= excerpt.from);
    if (window->n_steps)
        excerpt.step = window->steps[i ? i - 1 : 0];

    struct excerpt_lanes lanes = {.overview = overview, .excerpt = &excerpt};
    struct arena_mark mark = arena_mark(scratch);
    const row_t target = arrow_target(&lanes);
    TRY(select_threads(&lanes, target, scratch, error));
    TRY(select_streams(&lanes, scratch, error));
    TRY(collect_events(&lanes, values, scratch, error));
    for (int64_t pixel = (excerpt.to - excerpt.from) / EXCERPT_PIXELS + 1;; pixel *= 2) {
        lanes.n_events = merge_narrow(lanes.events, lanes.n_events, pixel);
        if (lanes.n_events <= EXCERPT_ROWS || pixel > excerpt.to - excerpt.from)
            break;
    }
    if (lanes.n_events == 0) {
        arena_release(scratch, mark);
        return SUTRA_OK;
    }

    add_row(&lanes, &(struct excerpt_row){"", -1, "range", NULL, excerpt.from, excerpt.to, 1}, STRING_NONE, table);
    const row_t step = excerpt.step;
    if (step != ROW_NONE)
        add_row(&lanes, &(struct excerpt_row){"", -1, "step", NULL, hosts->start[step], hosts->stop[step], 1},
                host_name(model, step), table);
    if (finding->range_code)
        add_row(&lanes, &(struct excerpt_row){"", -1, "code", finding->range_code, excerpt.from, excerpt.from, 0},
                STRING_NONE, table);
    for (uint32_t lane = 0; lane < lanes.n; lane++) /* also without events */
        add_row(&lanes, &(struct excerpt_row){lanes.labels[lane], lane, "track", NULL, excerpt.from, excerpt.from, 0},
                STRING_NONE, table);
    for (row_t k = 0; k < lanes.n_events; k++) {
        const struct excerpt_event *event = &lanes.events[k];
        const bool has_lane = event->lane != LANE_NONE;
        add_row(&lanes,
                &(struct excerpt_row){has_lane ? lanes.labels[event->lane] : "", has_lane ? (int64_t)event->lane : -1,
                                      kind_names[event->kind], NULL, event->start, event->stop, event->n},
                event->name, table);
    }
    /* The arrow: from the lane of calls of the first thread to the lane of the target's stream. */
    const row_t call = target == ROW_NONE ? ROW_NONE : model->devices.call[target];
    for (uint32_t s = 0; s < lanes.n_streams && call != ROW_NONE; s++) {
        if (lanes.streams[s] != model->events->stream[model->devices.event[target]] ||
            !overlaps(&excerpt, hosts->start[call], hosts->stop[call]))
            continue;
        const uint32_t lane = 2 * lanes.n_threads + s;
        add_row(&lanes,
                &(struct excerpt_row){lanes.labels[1], 1, "arrow from", NULL, hosts->start[call], hosts->stop[call], 1},
                host_name(model, call), table);
        add_row(&lanes,
                &(struct excerpt_row){lanes.labels[lane], lane, "arrow to", NULL, model->devices.start[target],
                                      model->devices.stop[target], 1},
                model->events->name[model->devices.event[target]], table);
    }
    arena_release(scratch, mark);
    return SUTRA_OK;
}
