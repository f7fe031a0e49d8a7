/*
 * steps.c - the bounds of steps, and the rows of the overview cut there, in order of time. O(steps + rows + work log
 * steps).
 */
#include "analyze/overview/steps.h"

#include <string.h>

#include "analyze/operators/tables.h"
#include "analyze/overview/spans.h"
#include "base/bisect.h"
#include "base/error.h"

/* ---- Bounds ---- */

/* Takes a step, cut at the window; an empty one is none. */
static void add_step(const struct overview *overview, struct overview_steps *steps, uint32_t name, int64_t begin,
                     int64_t end) {
    const struct overview_window *window = &overview->window;
    begin = begin < window->from ? window->from : begin;
    end = end > window->to ? window->to : end;
    if (begin < end)
        steps->list[steps->n++] = (struct overview_step){.name = name, .begin = begin, .end = end};
}

/* Moments of the host at which steps begin, by time; each becomes that at which the work of all steps before is done,
 * if that is later. */
static void wait_for_work(const struct overview *overview, int64_t *begin, row_t n, int64_t *done) {
    const struct op_reading *reading = overview->reading;
    const struct device_rows *devices = &reading->devices;
    for (row_t i = 0; i < n; i++)
        done[i] = INT64_MIN;
    for (row_t k = 0; k < devices->n; k++) {
        row_t call = devices->call[k];
        int64_t launched = call == ROW_NONE ? devices->start[k] : reading->hosts.start[call];
        struct bisection at = {0, n};
        while (at.low < at.high)
            bisect(&at, begin[bisect_middle(at)] <= launched);
        if (at.low > 0 && devices->class[k] != DEVICE_NO_WORK && devices->stop[k] > done[at.low - 1])
            done[at.low - 1] = devices->stop[k];
    }
    for (row_t i = 1; i < n; i++) {
        done[i] = done[i] > done[i - 1] ? done[i] : done[i - 1];
        begin[i] = begin[i] > done[i - 1] ? begin[i] : done[i - 1];
    }
}

/* Steps from each moment to the next, the last one to the end of the window; `names` may be NULL. */
static enum sutra_status take_tiles(const struct overview *overview, int64_t *begin, const row_t *named, row_t n,
                                    struct arena *scratch, struct overview_steps *steps, struct sutra_error *error) {
    int64_t *done = arena_take(scratch, n, sizeof *done);
    enum sutra_status status = arena_status(scratch, error);
    if (status)
        return status;
    wait_for_work(overview, begin, n, done);
    for (row_t i = 0; i < n; i++)
        add_step(overview, steps, named ? host_name(overview->reading, named[i]) : STRING_NONE, begin[i],
                 i + 1 < n ? begin[i + 1] : overview->window.to);
    return SUTRA_OK;
}

static enum sutra_status take_profiler_steps(const struct overview *overview, struct arena *scratch,
                                             struct overview_steps *steps, struct sutra_error *error) {
    const struct overview_window *window = &overview->window;
    int64_t *begin = arena_take(scratch, window->n_steps, sizeof *begin);
    enum sutra_status status = arena_status(scratch, error);
    steps->source = STEPS_PROFILER;
    for (row_t i = 0; i < window->n_steps && !status; i++)
        begin[i] = overview->reading->hosts.start[window->steps[i]];
    return status ? status : take_tiles(overview, begin, window->steps, window->n_steps, scratch, steps, error);
}

static bool is_called(const struct strings *strings, uint32_t string, const char *name) {
    size_t length = strlen(name), all = strings_length(strings, string);
    const char *text = strings_text(strings, string);
    return all >= length && memcmp(text, name, length) == 0 && (all == length || text[length] == '#');
}

/* Rows of hosts that are annotations of a name, in rows[]. */
static row_t find_annotations(const struct op_reading *reading, const char *name, row_t *rows) {
    const struct host_rows *hosts = &reading->hosts;
    row_t n = 0;
    for (row_t row = 0; row < hosts->n; row++)
        if (hosts->kind[row] != HOST_CALL && is_called(reading->strings, host_name(reading, row), name))
            rows[n++] = row;
    return n;
}

static int by_start(const void *left, const void *right, void *arg) {
    const struct host_rows *hosts = arg;
    row_t a = *(const row_t *)left, b = *(const row_t *)right;
    if (hosts->start[a] != hosts->start[b])
        return hosts->start[a] < hosts->start[b] ? -1 : 1;
    return (a > b) - (a < b);
}

static void take_annotations(const struct overview *overview, const row_t *rows, row_t n,
                             struct overview_steps *steps) {
    const struct host_rows *hosts = &overview->reading->hosts;
    int64_t until = INT64_MIN;
    steps->source = STEPS_ANNOTATION;
    for (row_t i = 0; i < n; i++) {
        if (hosts->start[rows[i]] < until) {
            steps->n_overlapping++;
            continue;
        }
        until = hosts->stop[rows[i]];
        add_step(overview, steps, host_name(overview->reading, rows[i]), hosts->start[rows[i]], until);
    }
}

static enum sutra_status take_list(struct overview_steps *steps, row_t n, struct arena *arena,
                                   struct sutra_error *error) {
    steps->list = arena_take(arena, n, sizeof *steps->list);
    return arena_status(arena, error);
}

static enum sutra_status find_bounds(const struct overview *overview, const char *annotation, struct arena *arena,
                                     struct arena *scratch, struct overview_steps *steps, struct sutra_error *error) {
    struct repetitions repetitions;
    enum sutra_status status;
    if (annotation) {
        row_t *rows = arena_take(scratch, overview->reading->hosts.n, sizeof *rows);
        if ((status = arena_status(scratch, error)))
            return status;
        row_t n = find_annotations(overview->reading, annotation, rows);
        if (!(status = take_list(steps, n, arena, error))) {
            qsort_r(rows, n, sizeof *rows, by_start, (void *)&overview->reading->hosts);
            take_annotations(overview, rows, n, steps);
        }
        return status;
    }
    if (overview->window.n_steps) {
        if (!(status = take_list(steps, overview->window.n_steps, arena, error)))
            status = take_profiler_steps(overview, scratch, steps, error);
        return status;
    }
    status = repetitions_find(overview, scratch, scratch, &repetitions, error);
    steps->source = STEPS_REPETITION;
    if (!status && !(status = take_list(steps, repetitions.n, arena, error)))
        status = take_tiles(overview, repetitions.begin, NULL, repetitions.n, scratch, steps, error);
    return status;
}

/* ---- Parts ---- */

enum step_part step_part_of(enum overview_kind kind) {
    static const uint8_t parts[OVERVIEW_N_KINDS] = {
        [OVERVIEW_COMPUTE] = STEP_COMPUTE,
        [OVERVIEW_COMMUNICATION] = STEP_COMMUNICATION,
        [OVERVIEW_COPY] = STEP_COPIES,
        [OVERVIEW_QUEUED] = STEP_WAIT_DEVICE,
        [OVERVIEW_NOT_STARTED] = STEP_WAIT_DEVICE,
        [OVERVIEW_SLOW_LAUNCH] = STEP_WAIT_HOST,
        [OVERVIEW_LAUNCH] = STEP_WAIT_HOST,
        [OVERVIEW_LOADING] = STEP_WAIT_DATA,
        [OVERVIEW_SYNC] = STEP_WAIT_SYNC,
        [OVERVIEW_SET_UP] = STEP_WAIT_HOST,
        [OVERVIEW_AFTER_SYNC] = STEP_WAIT_SYNC,
        [OVERVIEW_HOST] = STEP_WAIT_HOST,
        [OVERVIEW_UNKNOWN] = STEP_IDLE_REST,
        [OVERVIEW_AFTER] = STEP_IDLE_REST,
    };
    return (enum step_part)parts[kind];
}

/* What of begin..end lies in the step. */
static int64_t within(const struct overview_step *step, int64_t begin, int64_t end) {
    begin = begin < step->begin ? step->begin : begin;
    end = end > step->end ? step->end : end;
    return end > begin ? end - begin : 0;
}

static void split(const struct overview *overview, struct overview_steps *steps) {
    row_t at = 0;
    for (row_t i = 0; i < steps->n; i++) {
        struct overview_step *step = &steps->list[i];
        while (at < overview->n_rows && overview->rows[at].end <= step->begin)
            at++;
        for (row_t row = at; row < overview->n_rows && overview->rows[row].begin < step->end; row++)
            step->ticks[step_part_of((enum overview_kind)overview->rows[row].kind)] +=
                within(step, overview->rows[row].begin, overview->rows[row].end);
    }
}

/* The host's time is what it neither waits nor loads. */
static enum sutra_status split_host(const struct overview *overview, struct arena *scratch,
                                    struct overview_steps *steps, struct sutra_error *error) {
    const struct host_rows *hosts = &overview->reading->hosts;
    uint8_t *marked = arena_take(scratch, hosts->n, 1);
    struct spans spans;
    row_t at = 0;
    enum sutra_status status = arena_status(scratch, error);
    for (row_t row = 0; row < hosts->n && !status; row++)
        marked[row] = overview->blocks[row] || overview_name(overview, row) & NAME_LOADS_BATCH;
    if (!status)
        status = spans_of_hosts(overview, marked, scratch, &spans, error);
    for (row_t i = 0; i < steps->n && !status; i++) {
        struct overview_step *step = &steps->list[i];
        step->host = step->end - step->begin;
        while (at < spans.n && spans.end[at] <= step->begin)
            at++;
        for (row_t span = at; span < spans.n && spans.begin[span] < step->end; span++)
            step->host -= within(step, spans.begin[span], spans.end[span]);
    }
    return status;
}

static void count_pieces(const struct overview *overview, struct overview_steps *steps) {
    const struct device_rows *devices = &overview->reading->devices;
    row_t step = 0;
    for (row_t k = 0; k < devices->n && steps->n; k++) {
        int64_t start = devices->start[devices->by_start[k]];
        while (step < steps->n && steps->list[step].end <= start)
            step++;
        if (step == steps->n)
            break;
        steps->list[step].n_pieces += start >= steps->list[step].begin;
    }
}

enum sutra_status overview_steps_make(const struct overview *overview, const char *annotation, struct arena *arena,
                                      struct arena *scratch, struct overview_steps *steps, struct sutra_error *error) {
    struct arena_mark mark = arena_mark(scratch);
    *steps = (struct overview_steps){0};
    enum sutra_status status = find_bounds(overview, annotation, arena, scratch, steps, error);
    if (!status)
        split(overview, steps);
    if (!status)
        status = split_host(overview, scratch, steps, error);
    if (!status)
        count_pieces(overview, steps);
    if (steps->n == 0)
        steps->source = STEPS_NONE;
    arena_release(scratch, mark);
    return status;
}
