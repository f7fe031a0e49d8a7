/*
 * steps.c - the bounds of steps, and the rows of the overview cut there, in order of time. O(steps + rows + work log
 * steps).
 */
#include <stdlib.h>
#include <string.h>

#include "analyze/operators/operators.h"
#include "analyze/overview/steps.h"
#include "base/error.h"
#include "base/shared.h"
#include "match/steps.h"

/* Marked rows within the window, not in order; keys to sort them by. */
static row_t list_rows(const struct overview *overview, const uint8_t *marked, row_t *rows, uint64_t *keys) {
    const struct host_rows *hosts = &overview->reading->hosts;
    const struct overview_window *window = &overview->window;
    row_t n = 0;
    for (row_t row = 0; row < hosts->n; row++) {
        if (!marked[row] || hosts->stop[row] <= window->from || hosts->start[row] >= window->to)
            continue;
        keys[n] = integer_sort_key(hosts->start[row]);
        rows[n++] = row;
    }
    return n;
}

static void join_rows(const struct overview *overview, const row_t *rows, row_t n, struct spans *spans) {
    const struct host_rows *hosts = &overview->reading->hosts;
    const struct overview_window *window = &overview->window;
    for (row_t i = 0; i < n; i++) {
        int64_t begin = hosts->start[rows[i]], end = hosts->stop[rows[i]];
        begin = begin < window->from ? window->from : begin;
        end = end > window->to ? window->to : end;
        int64_t *last = spans->n ? &spans->end[spans->n - 1] : NULL;
        if (last && begin <= *last) {
            *last = end > *last ? end : *last;
            continue;
        }
        spans->begin[spans->n] = begin;
        spans->end[spans->n++] = end;
    }
}

enum sutra_status spans_of_hosts(const struct overview *overview, const uint8_t *marked, struct arena *arena,
                                 struct spans *spans, struct sutra_error *error) {
    row_t n = 0;
    for (row_t row = 0; row < overview->reading->hosts.n; row++)
        n += marked[row];
    *spans =
        (struct spans){.begin = arena_take(arena, n, sizeof(int64_t)), .end = arena_take(arena, n, sizeof(int64_t))};
    struct arena_mark mark = arena_mark(arena);
    row_t *rows = arena_take(arena, n, sizeof *rows);
    uint64_t *keys = arena_take(arena, n, sizeof *keys);
    enum sutra_status status = arena_status(arena, error);
    row_t n_listed = status ? 0 : list_rows(overview, marked, rows, keys);
    if (!status)
        status = cpu_sort_keys(NULL, &(struct sort_keys_step){keys, rows, n_listed}, error);
    if (!status)
        join_rows(overview, rows, n_listed, spans);
    arena_release(arena, mark);
    return status;
}

int64_t spans_length(const struct spans *spans) {
    int64_t sum = 0;
    for (row_t i = 0; i < spans->n; i++)
        sum += spans->end[i] - spans->begin[i];
    return sum;
}

/* How many begin at a moment or before. */
static row_t place_of(const int64_t *begin, row_t n, int64_t moment) {
    struct bisection at = {0, n};
    while (at.low < at.high)
        bisect(&at, begin[bisect_middle(at)] <= moment);
    return at.low;
}

bool spans_hold(const struct spans *spans, int64_t moment) {
    row_t place = place_of(spans->begin, spans->n, moment);
    return place && moment < spans->end[place - 1];
}

enum sutra_status kind_clock_make(const struct overview *overview, uint32_t kinds, struct arena *arena,
                                  struct kind_clock *clock, struct sutra_error *error) {
    int64_t sum = 0;
    row_t n = 0;
    for (row_t i = 0; i < overview->n_rows; i++)
        n += kinds >> overview->rows[i].kind & 1;
    *clock = (struct kind_clock){.begin = arena_take(arena, n, sizeof(int64_t)),
                                 .end = arena_take(arena, n, sizeof(int64_t)),
                                 .before = arena_take(arena, n, sizeof(int64_t))};
    enum sutra_status status = arena_status(arena, error);
    for (row_t i = 0; i < overview->n_rows && !status; i++) {
        const struct overview_row *row = &overview->rows[i];
        if (!(kinds >> row->kind & 1))
            continue;
        clock->begin[clock->n] = row->begin;
        clock->end[clock->n] = row->end;
        clock->before[clock->n++] = sum;
        sum += row->end - row->begin;
    }
    return status;
}

static int64_t until(const struct kind_clock *clock, int64_t moment) {
    row_t place = place_of(clock->begin, clock->n, moment);
    if (place == 0)
        return 0;
    int64_t end = clock->end[place - 1] < moment ? clock->end[place - 1] : moment;
    return clock->before[place - 1] + end - clock->begin[place - 1];
}

int64_t kind_clock_between(const struct kind_clock *clock, int64_t begin, int64_t end) {
    return end > begin ? until(clock, end) - until(clock, begin) : 0;
}

int64_t kind_clock_in(const struct kind_clock *clock, const struct spans *spans) {
    int64_t sum = 0;
    for (row_t i = 0; i < spans->n; i++)
        sum += kind_clock_between(clock, spans->begin[i], spans->end[i]);
    return sum;
}

/*
 * Where the work of the device begins anew, in traces that tell no steps.
 *
 *     launched    a b c c d   a b c c d   a b c c d   e
 *                 ^           ^           ^               a: {b c c d} twice, all the same
 *                     ^ ^         ^ ^         ^ ^         c: {}, {d a b}, {}, ...: they differ
 *
 * Work is taken in order of launch. A name is a mark if it comes three times or more, over at least half of the window,
 * and what stands between two in turn is the same work, in any order, but for one in ten of them. Marks that come as
 * often as each other belong together; a layer of a model repeats, too, but more often than the step, so it is the
 * fewest times that count which three marks have, or a quarter of all names if that is less. The first of these marks
 * begins the repetitions.
 *
 * What stands between is compared by a sum of hashed names. O(n log n).
 */

#define OCCURRENCES_LEAST 3
#define MARKS_LEAST       3

/* Work, and when it was launched. */
struct launched_work {
    int64_t at;
    row_t device;
    uint32_t name;
};

/* What is known of a name: the sum of what most stretches between its occurrences hold, by Boyer's and Moore's vote. */
struct marking {
    uint32_t n, n_same;
    row_t first, last; /* places */
    uint64_t sum;
    uint32_t votes;
    uint32_t name;
};

struct repetition_search {
    row_t n;
    struct launched_work *work;
    uint64_t *sums;    /* of all work before a place */
    uint32_t *of_name; /* string to marking, or none */
    struct marking *markings;
    uint32_t n_names;
};

#define NO_MARKING UINT32_MAX

static uint64_t hash_of(uint64_t value) {
    value = (value ^ value >> 30) * 0xbf58476d1ce4e5b9;
    value = (value ^ value >> 27) * 0x94d049bb133111eb;
    return value ^ value >> 31;
}

ORDER_BY(by_launch, struct launched_work, ASCENDING(at) ASCENDING(device))

static bool take_work(const struct overview *overview, struct arena *scratch, struct repetition_search *search) {
    const struct op_reading *reading = overview->reading;
    const struct device_rows *devices = &reading->devices;
    search->work = arena_take(scratch, devices->n, sizeof *search->work);
    search->sums = arena_take(scratch, (size_t)devices->n + 1, sizeof *search->sums);
    search->of_name = arena_take(scratch, reading->strings->n, sizeof *search->of_name);
    search->markings = arena_take(scratch, reading->strings->n, sizeof *search->markings);
    if (scratch->failed)
        return false;
    for (row_t i = 0; i < devices->n; i++) {
        row_t call = devices->call[i];
        if (devices->class[i] == DEVICE_NO_WORK)
            continue;
        search->work[search->n++] =
            (struct launched_work){.at = call == ROW_NONE ? devices->start[i] : reading->hosts.start[call],
                                   .device = i,
                                   .name = reading->events->name[devices->event[i]]};
    }
    qsort(search->work, search->n, sizeof *search->work, by_launch);
    search->sums[0] = 0;
    for (row_t i = 0; i < search->n; i++)
        search->sums[i + 1] = search->sums[i] + hash_of((uint64_t)search->work[i].name + 1);
    for (uint32_t string = 0; string < reading->strings->n; string++)
        search->of_name[string] = NO_MARKING;
    return true;
}

static void vote(struct marking *marking, uint64_t sum) {
    if (marking->votes == 0)
        marking->sum = sum;
    if (marking->sum == sum)
        marking->votes++;
    else
        marking->votes--;
}

static struct marking *marking_of(struct repetition_search *search, row_t place) {
    uint32_t name = search->work[place].name;
    if (search->of_name[name] == NO_MARKING) {
        search->of_name[name] = search->n_names;
        search->markings[search->n_names++] = (struct marking){.first = place, .last = place, .name = name};
    }
    return &search->markings[search->of_name[name]];
}

/* Once to vote, once to count. */
static void compare_stretches(struct repetition_search *search) {
    for (row_t place = 0; place < search->n; place++) {
        struct marking *marking = marking_of(search, place);
        if (marking->n++ > 0)
            vote(marking, search->sums[place] - search->sums[marking->last]);
        marking->last = place;
    }
    for (uint32_t i = 0; i < search->n_names; i++)
        search->markings[i].last = ROW_NONE;
    for (row_t place = 0; place < search->n; place++) {
        struct marking *marking = marking_of(search, place);
        if (marking->last != ROW_NONE)
            marking->n_same += search->sums[place] - search->sums[marking->last] == marking->sum;
        marking->last = place;
    }
}

static bool is_mark(const struct overview *overview, const struct repetition_search *search,
                    const struct marking *marking) {
    int64_t covers = search->work[marking->last].at - search->work[marking->first].at;
    return marking->n >= OCCURRENCES_LEAST && (uint64_t)marking->n_same * 10 >= ((uint64_t)marking->n - 1) * 9 &&
           covers >= overview_length(overview) / 2;
}

ORDER_BY(by_count, struct marking, ASCENDING(n) ASCENDING(first))

/* The mark that begins repetitions; NULL: there is none. The markings are in no order of names any more. */
static const struct marking *choose(const struct overview *overview, struct repetition_search *search) {
    uint32_t n = 0, least = (search->n_names + 3) / 4;
    least = least < MARKS_LEAST ? least : MARKS_LEAST;
    for (uint32_t i = 0; i < search->n_names; i++)
        if (is_mark(overview, search, &search->markings[i]))
            search->markings[n++] = search->markings[i];
    if (n > 1)
        qsort(search->markings, n, sizeof *search->markings, by_count);
    for (uint32_t first = 0, last; first < n; first = last) {
        for (last = first; last < n && search->markings[last].n == search->markings[first].n;)
            last++;
        if (last - first >= least)
            return &search->markings[first];
    }
    return NULL;
}

static enum sutra_status repetitions_find(const struct overview *overview, struct arena *arena, struct arena *scratch,
                                          struct repetitions *repetitions, struct sutra_error *error) {
    struct repetition_search search = {0};
    *repetitions = (struct repetitions){0};
    if (!take_work(overview, scratch, &search))
        return error_memory(error);
    compare_stretches(&search);
    const struct marking *mark = choose(overview, &search);
    if (!mark)
        return SUTRA_OK;
    repetitions->begin = arena_take(arena, mark->n, sizeof *repetitions->begin);
    if (!repetitions->begin)
        return error_memory(error);
    for (row_t place = 0; place < search.n; place++)
        if (search.work[place].name == mark->name)
            repetitions->begin[repetitions->n++] = search.work[place].at;
    return SUTRA_OK;
}

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
