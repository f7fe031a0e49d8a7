/*
 * steps.c - implements steps.h: the bounds of steps, and the parts of each.
 *
 * Cost: O(steps + rows + activities log steps), and O(activities log activities) to find repetitions.
 */
#include <stdlib.h>
#include <string.h>

#include "analyze/operators/operators.h"
#include "analyze/overview/steps.h"
#include "base/error.h"
#include "base/shared.h"
#include "match/steps.h"

/* ---- Spans and clocks ---- */

enum sutra_status spans_of_hosts(const struct overview *overview, const row_t *rows, row_t n_rows, struct arena *arena,
                                 struct spans *spans, struct sutra_error *error) {
    const struct host_rows *hosts = &overview->model->hosts;
    const struct overview_window *window = &overview->window;
    row_t n = 0;
    TRY(spans_reserve(n_rows, arena, spans, error));
    struct arena_mark mark = arena_mark(arena);
    row_t *sorted = arena_alloc(arena, n_rows, sizeof *sorted);
    uint64_t *keys = arena_alloc(arena, n_rows, sizeof *keys);
    TRY(arena_status(arena, error));
    for (row_t i = 0; i < n_rows; i++) {
        const row_t row = rows[i];
        if (hosts->stop[row] <= window->from || hosts->start[row] >= window->to)
            continue;
        keys[n] = integer_sort_key(hosts->start[row]);
        sorted[n++] = row;
    }
    TRY(cpu_sort_keys(NULL, &(struct sort_keys_step){keys, sorted, n}, error));

    /* Cut them at the window, and merge the overlapping ones. */
    for (row_t i = 0; i < n; i++)
        spans_append(spans, MAX(hosts->start[sorted[i]], window->from), MIN(hosts->stop[sorted[i]], window->to));
    arena_release(arena, mark);
    return SUTRA_OK;
}

enum sutra_status make_host_spans(const struct overview *overview, const uint8_t *marked, struct arena *arena,
                                  struct spans *spans, struct sutra_error *error) {
    const struct host_rows *hosts = &overview->model->hosts;
    row_t n_marked = 0, n = 0;
    for (row_t row = 0; row < hosts->n; row++)
        n_marked += marked[row];
    row_t *rows = arena_alloc(arena, n_marked, sizeof *rows);
    TRY(arena_status(arena, error));
    for (row_t row = 0; row < hosts->n; row++)
        if (marked[row])
            rows[n++] = row;
    return spans_of_hosts(overview, rows, n, arena, spans, error);
}

enum sutra_status spans_reserve(row_t n, struct arena *arena, struct spans *spans, struct sutra_error *error) {
    *spans =
        (struct spans){.begin = arena_alloc(arena, n, sizeof(int64_t)), .end = arena_alloc(arena, n, sizeof(int64_t))};
    return arena_status(arena, error);
}

enum sutra_status spans_of_kinds(const struct overview *overview, uint32_t kinds, struct arena *arena,
                                 struct spans *spans, struct sutra_error *error) {
    row_t n = 0;
    for (row_t i = 0; i < overview->n_rows; i++)
        n += kinds >> overview->rows[i].kind & 1;
    enum sutra_status status = spans_reserve(n, arena, spans, error);
    for (row_t i = 0; i < overview->n_rows && !status; i++)
        if (kinds >> overview->rows[i].kind & 1)
            spans_append(spans, overview->rows[i].begin, overview->rows[i].end);
    return status;
}

enum sutra_status spans_of_devices(const struct overview *overview, const uint8_t *marked, struct arena *arena,
                                   struct spans *spans, struct sutra_error *error) {
    const struct device_rows *devices = &overview->model->devices;
    row_t n = 0;
    for (row_t i = 0; i < devices->n; i++)
        n += marked[i];
    enum sutra_status status = spans_reserve(n, arena, spans, error);
    for (row_t k = 0; k < devices->n && !status; k++) {
        row_t i = devices->by_start[k];
        if (marked[i])
            spans_append(spans, MAX(devices->start[i], overview->window.from),
                         MIN(devices->stop[i], overview->window.to));
    }
    return status;
}

enum sutra_status spans_common(const struct spans *a, const struct spans *b, struct arena *arena, struct spans *spans,
                               struct sutra_error *error) {
    enum sutra_status status = spans_reserve(a->n + b->n, arena, spans, error);
    for (row_t i = 0, k = 0; i < a->n && k < b->n && !status;) {
        spans_append(spans, MAX(a->begin[i], b->begin[k]), MIN(a->end[i], b->end[k]));
        if (a->end[i] < b->end[k])
            i++;
        else
            k++;
    }
    return status;
}

enum sutra_status spans_without(const struct spans *a, const struct spans *b, struct arena *arena, struct spans *spans,
                                struct sutra_error *error) {
    enum sutra_status status = spans_reserve(a->n + b->n, arena, spans, error);
    for (row_t i = 0, k = 0; i < a->n && !status; i++) {
        int64_t begin = a->begin[i];
        while (k < b->n && b->end[k] <= begin)
            k++;
        for (row_t j = k; j < b->n && b->begin[j] < a->end[i]; j++) {
            spans_append(spans, begin, b->begin[j]);
            begin = MAX(begin, b->end[j]);
        }
        spans_append(spans, begin, a->end[i]);
    }
    return status;
}

enum sutra_status spans_union(const struct spans *a, const struct spans *b, struct arena *arena, struct spans *spans,
                              struct sutra_error *error) {
    enum sutra_status status = spans_reserve(a->n + b->n, arena, spans, error);
    for (row_t i = 0, k = 0; (i < a->n || k < b->n) && !status;) {
        const bool is_first = k == b->n || (i < a->n && a->begin[i] <= b->begin[k]);
        const struct spans *next = is_first ? a : b;
        const row_t at = is_first ? i++ : k++;
        spans_append(spans, next->begin[at], next->end[at]);
    }
    return status;
}

int64_t spans_length(const struct spans *spans) {
    int64_t sum = 0;
    for (row_t i = 0; i < spans->n; i++)
        sum += spans->end[i] - spans->begin[i];
    return sum;
}

bool spans_contain(const struct spans *spans, int64_t moment) {
    row_t n = count_up_to(spans->begin, spans->n, moment);
    return n && moment < spans->end[n - 1];
}

enum sutra_status kind_clock_make(const struct overview *overview, uint32_t kinds, struct arena *arena,
                                  struct kind_clock *clock, struct sutra_error *error) {
    int64_t sum = 0;
    row_t n = 0;
    for (row_t i = 0; i < overview->n_rows; i++)
        n += kinds >> overview->rows[i].kind & 1;
    *clock = (struct kind_clock){.begin = arena_alloc(arena, n, sizeof(int64_t)),
                                 .end = arena_alloc(arena, n, sizeof(int64_t)),
                                 .before = arena_alloc(arena, n, sizeof(int64_t))};
    TRY(arena_status(arena, error));
    for (row_t i = 0; i < overview->n_rows; i++) {
        const struct overview_row *row = &overview->rows[i];
        if (!(kinds >> row->kind & 1))
            continue;
        clock->begin[clock->n] = row->begin;
        clock->end[clock->n] = row->end;
        clock->before[clock->n++] = sum;
        sum += row->end - row->begin;
    }
    return SUTRA_OK;
}

static int64_t clock_until(const struct kind_clock *clock, int64_t moment) {
    row_t n = count_up_to(clock->begin, clock->n, moment);
    if (n == 0)
        return 0;
    int64_t end = MIN(clock->end[n - 1], moment);
    return clock->before[n - 1] + end - clock->begin[n - 1];
}

int64_t kind_clock_between(const struct kind_clock *clock, int64_t begin, int64_t end) {
    return end > begin ? clock_until(clock, end) - clock_until(clock, begin) : 0;
}

int64_t kind_clock_in(const struct kind_clock *clock, const struct spans *spans) {
    int64_t sum = 0;
    for (row_t i = 0; i < spans->n; i++)
        sum += kind_clock_between(clock, spans->begin[i], spans->end[i]);
    return sum;
}

#define RECURRING_STEPS 3
bool set_up_recurs(const struct overview *overview) {
    const struct overview_window *window = &overview->window;
    int64_t middle = window->from + (window->to - window->from) / 2, late = 0;
    for (row_t i = 0; i < overview->n_rows; i++) {
        const struct overview_row *row = &overview->rows[i];
        if (row->begin >= middle && KINDS_SET_UP >> row->kind & 1)
            late += row->end - row->begin;
    }
    return window->n_steps >= RECURRING_STEPS && (double)late * 3 >= (double)set_up_ticks(overview);
}

/* ---- Repetitions ----
 *
 * Steps of a trace without ProfilerStep: repetitions of the launched activities.
 *
 *     launched    a b c c d   a b c c d   a b c c d   e
 *                 ^           ^           ^               a: {b c c d} twice, all equal
 *                     ^ ^         ^ ^         ^ ^         c: {}, {d a b}, {}, ...: different
 *
 * Activities are in the order of launches. A name is a marker if it occurs at least MIN_OCCURRENCES times, over at
 * least half of the window, and the activities between two successive occurrences are the same, in any order, in nine
 * of ten cases. Markers with equal counts belong together. A layer of a model repeats, too, but more often than the
 * step: the smallest count that MIN_MARKERS markers have (or a quarter of all names, if fewer) decides. The first of
 * these markers begins the repetitions.
 *
 * Activities are compared by the sum of the hashes of their names; the most frequent sum is found by the majority vote
 * of Boyer and Moore. O(n log n).
 */

#define MIN_OCCURRENCES 3
#define MIN_MARKERS     3

struct launched_activity {
    int64_t time; /* of the launch */
    row_t device;
    uint32_t name;
};

/* A name: its occurrences, and the vote on the sum between them. */
struct marker {
    uint32_t n, n_same;
    row_t first, last;
    uint64_t sum;
    uint32_t votes;
    uint32_t name;
};

ORDER_BY(compare_launches, struct launched_activity, ASCENDING(time) ASCENDING(device))
ORDER_BY(compare_counts, struct marker, ASCENDING(n) ASCENDING(first))

static uint64_t hash_name(uint32_t name) {
    uint64_t value = (uint64_t)name + 1;
    value = (value ^ value >> 30) * 0xbf58476d1ce4e5b9;
    value = (value ^ value >> 27) * 0x94d049bb133111eb;
    return value ^ value >> 31;
}

/* Lists all activities by launch. */
static row_t list_launches(const struct launch_model *model, struct launched_activity *list) {
    const struct device_rows *devices = &model->devices;
    row_t n = 0;
    for (row_t i = 0; i < devices->n; i++) {
        row_t call = devices->call[i];
        if (devices->class[i] == DEVICE_NO_WORK)
            continue;
        list[n++] = (struct launched_activity){.time = call == ROW_NONE ? devices->start[i] : model->hosts.start[call],
                                               .device = i,
                                               .name = model->events->name[devices->event[i]]};
    }
    qsort(list, n, sizeof *list, compare_launches);
    return n;
}

/* Finds the times at which the repetitions begin; *n is 0 if nothing repeats. */
static enum sutra_status find_repetitions(const struct overview *overview, struct arena *scratch, int64_t **begin,
                                          row_t *n_begin, struct sutra_error *error) {
    const struct launch_model *model = overview->model;
    uint32_t n_strings = model->strings->n, n_names = 0;
    struct launched_activity *list = arena_alloc(scratch, model->devices.n, sizeof *list);
    uint64_t *sums = arena_alloc(scratch, (size_t)model->devices.n + 1, sizeof *sums); /* of all before an activity */
    uint32_t *marker_of = rows_none(scratch, n_strings);                               /* by name */
    struct marker *markers = arena_alloc(scratch, n_strings, sizeof *markers);
    *n_begin = 0;
    TRY(arena_status(scratch, error));

    /* Vote on the sum between occurrences of each name, then count the occurrences with the elected sum. */
    row_t n = list_launches(model, list);
    sums[0] = 0;
    for (row_t i = 0; i < n; i++)
        sums[i + 1] = sums[i] + hash_name(list[i].name);
    for (row_t i = 0; i < n; i++) {
        uint32_t *index = &marker_of[list[i].name];
        if (*index == ROW_NONE) {
            *index = n_names;
            markers[n_names++] = (struct marker){.first = i, .last = i, .name = list[i].name};
        }
        struct marker *marker = &markers[*index];
        if (marker->n++ > 0) {
            uint64_t sum = sums[i] - sums[marker->last];
            if (marker->votes == 0)
                marker->sum = sum;
            marker->votes += marker->sum == sum ? 1U : -1U;
        }
        marker->last = i;
    }
    for (uint32_t i = 0; i < n_names; i++)
        markers[i].last = ROW_NONE;
    for (row_t i = 0; i < n; i++) {
        struct marker *marker = &markers[marker_of[list[i].name]];
        if (marker->last != ROW_NONE)
            marker->n_same += sums[i] - sums[marker->last] == marker->sum;
        marker->last = i;
    }

    /* Keep the markers, and select the first of the smallest count that enough of them have. */
    uint32_t n_markers = 0, min_markers = MIN((n_names + 3) / 4, MIN_MARKERS);
    for (uint32_t i = 0; i < n_names; i++) {
        const struct marker *marker = &markers[i];
        if (marker->n >= MIN_OCCURRENCES && (uint64_t)marker->n_same * 10 >= ((uint64_t)marker->n - 1) * 9 &&
            list[marker->last].time - list[marker->first].time >= overview_length(overview) / 2)
            markers[n_markers++] = *marker;
    }
    if (n_markers > 1)
        qsort(markers, n_markers, sizeof *markers, compare_counts);
    const struct marker *selected = NULL;
    for (uint32_t first = 0, last; first < n_markers && !selected; first = last) {
        for (last = first; last < n_markers && markers[last].n == markers[first].n;)
            last++;
        if (last - first >= min_markers)
            selected = &markers[first];
    }
    if (!selected)
        return SUTRA_OK;
    *begin = arena_alloc(scratch, selected->n, sizeof **begin);
    TRY_ALLOC(*begin, error);
    for (row_t i = 0; i < n; i++)
        if (list[i].name == selected->name)
            (*begin)[(*n_begin)++] = list[i].time;
    return SUTRA_OK;
}

/* ---- Bounds ---- */

/* Appends a step, cut at the window, unless it is empty. */
static void append_step(const struct overview *overview, struct overview_steps *steps, uint32_t name, int64_t begin,
                        int64_t end) {
    const struct overview_window *window = &overview->window;
    begin = MAX(begin, window->from);
    end = MIN(end, window->to);
    if (begin < end)
        steps->list[steps->n++] = (struct overview_step){.name = name, .begin = begin, .end = end};
}

/* Appends steps from each time to the next, the last one to the end of the window. A step begins at its time on the
 * host, or when all activities of earlier steps have ended, if later. `hosts`, the rows with their names, may be
 * NULL. */
static enum sutra_status append_tiles(const struct overview *overview, int64_t *begin, const row_t *hosts, row_t n,
                                      struct arena *scratch, struct overview_steps *steps, struct sutra_error *error) {
    const struct launch_model *model = overview->model;
    const struct device_rows *devices = &model->devices;
    int64_t *done = arena_alloc(scratch, n, sizeof *done);
    TRY(arena_status(scratch, error));
    for (row_t i = 0; i < n; i++)
        done[i] = INT64_MIN;
    for (row_t k = 0; k < devices->n; k++) {
        row_t call = devices->call[k];
        row_t n_begun = count_up_to(begin, n, call == ROW_NONE ? devices->start[k] : model->hosts.start[call]);
        if (n_begun > 0 && devices->class[k] != DEVICE_NO_WORK && devices->stop[k] > done[n_begun - 1])
            done[n_begun - 1] = devices->stop[k];
    }
    for (row_t i = 1; i < n; i++) {
        done[i] = MAX(done[i], done[i - 1]);
        begin[i] = MAX(begin[i], done[i - 1]);
    }
    for (row_t i = 0; i < n; i++)
        append_step(overview, steps, hosts ? host_name(model, hosts[i]) : STRING_NONE, begin[i],
                    i + 1 < n ? begin[i + 1] : overview->window.to);
    return SUTRA_OK;
}

/* By start, equal ones by row. */
static int compare_starts(const void *left, const void *right, void *arg) {
    const struct host_rows *hosts = arg;
    row_t a = *(const row_t *)left, b = *(const row_t *)right;
    if (hosts->start[a] != hosts->start[b])
        return hosts->start[a] < hosts->start[b] ? -1 : 1;
    return (a > b) - (a < b);
}

/* Steps are the annotations of a name, with or without "#" and more after it. */
static enum sutra_status find_annotated_steps(const struct overview *overview, const char *annotation,
                                              struct arena *arena, struct arena *scratch, struct overview_steps *steps,
                                              struct sutra_error *error) {
    const struct launch_model *model = overview->model;
    const struct host_rows *hosts = &model->hosts;
    size_t length = strlen(annotation);
    row_t *rows = arena_alloc(scratch, hosts->n, sizeof *rows), n = 0;
    TRY(arena_status(scratch, error));
    for (row_t row = 0; row < hosts->n; row++) {
        uint32_t name = host_name(model, row);
        const char *text = strings_text(model->strings, name);
        size_t n_text = strings_length(model->strings, name);
        if (hosts->kind[row] != HOST_CALL && n_text >= length && memcmp(text, annotation, length) == 0 &&
            (n_text == length || text[length] == '#'))
            rows[n++] = row;
    }
    if (n > 1)
        qsort_r(rows, n, sizeof *rows, compare_starts, (void *)hosts);
    steps->source = STEPS_ANNOTATION;
    steps->list = arena_alloc(arena, n, sizeof *steps->list);
    TRY(arena_status(arena, error));
    int64_t last_end = INT64_MIN;
    for (row_t i = 0; i < n; i++) {
        if (hosts->start[rows[i]] < last_end) {
            steps->n_overlapping++;
            continue;
        }
        last_end = hosts->stop[rows[i]];
        append_step(overview, steps, host_name(model, rows[i]), hosts->start[rows[i]], last_end);
    }
    return SUTRA_OK;
}

/* Profiler steps, or else repetitions. */
static enum sutra_status find_recorded_steps(const struct overview *overview, struct arena *arena,
                                             struct arena *scratch, struct overview_steps *steps,
                                             struct sutra_error *error) {
    const struct overview_window *window = &overview->window;
    row_t n = window->n_steps;
    int64_t *begin = NULL;
    steps->source = n ? STEPS_PROFILER : STEPS_REPETITION;
    if (n) {
        begin = arena_alloc(scratch, n, sizeof *begin);
        for (row_t i = 0; i < n && begin; i++)
            begin[i] = overview->model->hosts.start[window->steps[i]];
    } else {
        TRY(find_repetitions(overview, scratch, &begin, &n, error));
    }
    steps->list = arena_alloc(arena, n, sizeof *steps->list);
    TRY_ALLOC(!scratch->failed && !arena->failed && (n == 0 || begin), error);
    return append_tiles(overview, begin, window->n_steps ? window->steps : NULL, n, scratch, steps, error);
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

enum sutra_status overview_steps_make(const struct overview *overview, const char *annotation, struct arena *arena,
                                      struct arena *scratch, struct overview_steps *steps, struct sutra_error *error) {
    const struct host_rows *hosts = &overview->model->hosts;
    const struct device_rows *devices = &overview->model->devices;
    struct arena_mark mark = arena_mark(scratch);
    *steps = (struct overview_steps){0};
    TRY(annotation ? find_annotated_steps(overview, annotation, arena, scratch, steps, error)
                   : find_recorded_steps(overview, arena, scratch, steps, error));

    /* The time of each kind of row in each step. */
    row_t first = 0;
    for (row_t i = 0; i < steps->n; i++) {
        struct overview_step *step = &steps->list[i];
        while (first < overview->n_rows && overview->rows[first].end <= step->begin)
            first++;
        for (row_t k = first; k < overview->n_rows && overview->rows[k].begin < step->end; k++) {
            const struct overview_row *row = &overview->rows[k];
            step->ticks[step_part_of((enum overview_kind)row->kind)] +=
                ticks_within(row->begin, row->end, step->begin, step->end);
        }
    }

    /* The host's time: the step without the spans in which a thread synchronizes or loads. */
    uint8_t *marked = arena_alloc(scratch, hosts->n, 1);
    struct spans spans;
    TRY_ALLOC(marked, error);
    for (row_t row = 0; row < hosts->n; row++)
        marked[row] = overview->blocks[row] || overview_name(overview, row) & NAME_LOADS_BATCH;
    TRY(make_host_spans(overview, marked, scratch, &spans, error));
    first = 0;
    for (row_t i = 0; i < steps->n; i++) {
        struct overview_step *step = &steps->list[i];
        step->host = step->end - step->begin;
        while (first < spans.n && spans.end[first] <= step->begin)
            first++;
        for (row_t k = first; k < spans.n && spans.begin[k] < step->end; k++)
            step->host -= ticks_within(spans.begin[k], spans.end[k], step->begin, step->end);
    }

    /* Activities that begin in the step. */
    row_t i = 0;
    for (row_t k = 0; k < devices->n && i < steps->n; k++) {
        int64_t start = devices->start[devices->by_start[k]];
        while (i < steps->n && steps->list[i].end <= start)
            i++;
        if (i < steps->n)
            steps->list[i].n_pieces += start >= steps->list[i].begin;
    }
    if (steps->n == 0)
        steps->source = STEPS_NONE;
    arena_release(scratch, mark);
    return SUTRA_OK;
}
