/*
 * evidence.c - the time range that represents a finding, for `sutra cut --overlap` and for pictures.
 *
 *     steps        |  1           |  2              |  3       |      the step with the median amount of the finding
 *     intervals      [=]   [==]      [=] [====]  [=]   [=]            its intervals, merged across short gaps
 *     range                            [.......]                      the longest of them, with a margin
 *
 * Times are whole microseconds after the first event of the trace. The range is limited to MAX_RANGE_NS around the end
 * of the interval, where the launch is that ends a gap.
 *
 * Cost: O(intervals + steps log steps + activities).
 */
#include <stdlib.h>
#include <string.h>

#include "analyze/overview/verdict.h"
#include "base/error.h"
#include "base/shared.h"
#include "columns/strings.h"

#define MERGED_GAP_NS  50000
#define MIN_RANGE_NS   100000
#define MARGIN_DIVISOR 10

/* A step, or the whole window without steps. */
struct evidence_step {
    int64_t begin, end, amount;
    row_t index; /* of the window's steps; ROW_NONE */
};

ORDER_BY(compare_amounts, struct evidence_step, ASCENDING(amount) ASCENDING(begin))

/* Selects the earliest step with the median amount of the intervals. */
static enum sutra_status select_step(const struct diagnosis *d, const struct spans *spans, struct evidence_step *step,
                                     struct sutra_error *error) {
    const struct overview_window *window = &d->overview->window;
    const struct host_rows *hosts = &d->model->hosts;
    struct arena_mark mark = arena_mark(d->arena);
    struct evidence_step *steps = arena_alloc(d->arena, (size_t)window->n_steps + 1, sizeof *steps);
    row_t n = 0, next = 0;
    TRY_ALLOC(steps, error);
    for (row_t i = 0; i < window->n_steps; i++) {
        if (hosts->stop[window->steps[i]] <= window->from)
            continue;
        int64_t begin = MAX(hosts->start[window->steps[i]], window->from);
        int64_t end = i + 1 < window->n_steps ? hosts->start[window->steps[i + 1]] : window->to;
        steps[n++] = (struct evidence_step){begin, end, 0, i};
    }
    if (n == 0)
        steps[n++] = (struct evidence_step){window->from, window->to, 0, ROW_NONE};
    for (row_t i = 0; i < n; i++) {
        while (next < spans->n && spans->end[next] <= steps[i].begin)
            next++;
        for (row_t k = next; k < spans->n && spans->begin[k] < steps[i].end; k++)
            steps[i].amount += ticks_within(spans->begin[k], spans->end[k], steps[i].begin, steps[i].end);
    }
    if (n > 1)
        qsort(steps, n, sizeof *steps, compare_amounts);
    row_t first = (row_t)lower_median_at(n);
    const int64_t median = steps[first].amount;
    while (first > 0 && steps[first - 1].amount == median)
        first--;
    *step = steps[first];
    arena_release(d->arena, mark);
    return SUTRA_OK;
}

/* ---- Threads and streams of a range ---- */

/* Names the ids with most time, at most FINDING_IDS; `ticks` by index of `ids`. */
static unsigned name_ids(const struct values *values, const value_key *ids, const int64_t *ticks, uint32_t n,
                         char names[FINDING_IDS][24]) {
    uint32_t selected[FINDING_IDS];
    unsigned n_selected = 0;
    for (uint32_t i = 0; i < n; i++) {
        unsigned k = MIN(n_selected, FINDING_IDS - 1);
        if (ticks[i] <= 0 || (n_selected == FINDING_IDS && ticks[selected[k]] >= ticks[i]))
            continue;
        k = n_selected < FINDING_IDS ? n_selected++ : k;
        for (; k > 0 && ticks[selected[k - 1]] < ticks[i]; k--)
            selected[k] = selected[k - 1];
        selected[k] = i;
    }
    for (unsigned i = 0; i < n_selected; i++) {
        char room[NUMBER_TEXT_MAX];
        size_t length;
        const char *text = values_text(values, ids[selected[i]], room, &length);
        snprintf(names[i], sizeof names[i], "%.*s", (int)MIN(length, sizeof names[i] - 1), text);
    }
    return n_selected;
}

static enum sutra_status find_ids(const struct diagnosis *d, int64_t from, int64_t to, struct finding_range *range,
                                  struct sutra_error *error) {
    const struct launch_model *model = d->model;
    const struct device_rows *devices = &model->devices;
    const struct host_rows *hosts = &model->hosts;
    const struct values *values = &d->context->values;
    struct arena_mark mark = arena_mark(d->arena);
    value_key *streams = arena_alloc(d->arena, devices->n, sizeof *streams),
              *threads = arena_zeros(d->arena, hosts->n_threads, sizeof *threads);
    int64_t *stream_ticks = arena_zeros(d->arena, devices->n, sizeof *stream_ticks),
            *thread_ticks = arena_zeros(d->arena, hosts->n_threads, sizeof *thread_ticks);
    struct tuples numbers = {0};
    bool ok = !d->arena->failed;
    for (row_t k = 0; k < devices->n && ok && devices->start[devices->by_start[k]] < to; k++) {
        const row_t i = devices->by_start[k], call = devices->call[i];
        const value_key stream = model->events->stream[devices->event[i]];
        const int64_t ticks = ticks_within(devices->start[i], devices->stop[i], from, to);
        if (call != ROW_NONE && ticks_within(hosts->start[call], hosts->stop[call], from, to)) {
            thread_ticks[hosts->thread[call]] += hosts->stop[call] - hosts->start[call];
            threads[hosts->thread[call]] = model->events->tid[hosts->event[call]];
        }
        if (ticks == 0 || !key_is_value(stream))
            continue;
        const uint32_t number = tuples_number(&numbers, (struct tuple){{stream}});
        ok = number != TUPLE_NONE;
        if (!ok)
            break;
        streams[number] = stream;
        stream_ticks[number] += ticks;
    }
    const uint32_t n = numbers.n;
    tuples_free(&numbers);
    TRY_ALLOC(ok, error);
    range->n_streams = name_ids(values, streams, stream_ticks, n, range->streams);
    range->n_threads = name_ids(values, threads, thread_ticks, hosts->n_threads, range->threads);
    arena_release(d->arena, mark);
    return SUTRA_OK;
}

/* ---- The range ---- */

enum sutra_status find_evidence(const struct diagnosis *d, struct overview_finding *finding,
                                struct sutra_error *error) {
    const struct spans *spans = &finding->spans;
    struct evidence_step step;
    if (spans->n == 0)
        return SUTRA_OK;
    TRY(select_step(d, spans, &step, error));

    /* The longest interval of the step. */
    int64_t longest_begin = 0, longest_end = 0, begin = 0, end = INT64_MIN;
    for (row_t i = 0; i < spans->n; i++) {
        int64_t from = MAX(spans->begin[i], step.begin), to = MIN(spans->end[i], step.end);
        if (from >= to)
            continue;
        begin = end == INT64_MIN || from - end > MERGED_GAP_NS ? from : begin;
        end = to;
        if (end - begin > longest_end - longest_begin) {
            longest_begin = begin;
            longest_end = end;
        }
    }
    if (longest_begin == longest_end)
        return SUTRA_OK;

    /* Its margin, and its limit. */
    const int64_t length = longest_end - longest_begin, first = d->overview->first_event;
    const int64_t margin = MAX(length / MARGIN_DIVISOR, (MIN_RANGE_NS - length) / 2);
    int64_t from = longest_begin - margin, to = longest_end + margin;
    if (to - from > MAX_RANGE_NS) {
        from = longest_end - MAX_RANGE_NS / 2;
        to = longest_end + MAX_RANGE_NS / 2;
    }
    finding->range.from_us = MAX(from - first, 0) / 1000;
    finding->range.to_us = (to - first + 999) / 1000;
    if (step.index != ROW_NONE)
        copy_finding_name(d, host_name(d->model, d->overview->window.steps[step.index]), finding->range.step,
                          sizeof finding->range.step);
    return find_ids(d, from, to, &finding->range, error);
}
