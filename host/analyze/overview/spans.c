/*
 * spans.c - see spans.h.
 */
#include "analyze/overview/spans.h"

#include "base/bisect.h"
#include "base/error.h"
#include "match/cpu_steps.h"

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
