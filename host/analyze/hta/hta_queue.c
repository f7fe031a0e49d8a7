/*
 * hta_queue.c - how many kernels are queued on a stream: one more when a launch begins, one less when a kernel begins.
 *
 * Launches are calls of the reference's list (or all, if that is asked for) that are linked with a kernel. A kernel
 * with the correlation of some launch takes part; where several launches share one, the last of them queued the kernel.
 * (The reference has an assertion there, which fails.) Events by time, launches before kernels that begin at that
 * moment, else in the order of the table. The distribution is over events, not over time. O(n), sorts aside.
 */
#include <string.h>

#include "analyze/hta/hta.h"
#include "base/error.h"
#include "facts/queues.h"

/* Changes of the length, those by launches first; and then in order, stream by stream. */
struct queue {
    row_t n;       /* changes */
    row_t *event;  /* launch or kernel */
    row_t *kernel; /* its kernel, whose stream it is */
    uint64_t *time, *stream;
    uint8_t *up;
    struct queue_lengths series;
};

/* Room for n changes. */
static struct queue queue_new(row_t n, struct arena *arena) {
    return (struct queue){.event = arena_take(arena, n, sizeof(row_t)),
                          .kernel = arena_take(arena, n, sizeof(row_t)),
                          .time = arena_take(arena, n, sizeof(uint64_t)),
                          .stream = arena_take(arena, n, sizeof(uint64_t)),
                          .up = arena_take(arena, n, sizeof(uint8_t)),
                          .series = {.change = arena_take(arena, n, sizeof(row_t)),
                                     .lane = arena_take(arena, n, sizeof(uint32_t)),
                                     .length = arena_take(arena, n, sizeof(uint32_t))}};
}

static bool is_launch(const struct hta_input *input, row_t event) {
    const struct hta_rows *rows = &input->rows;
    row_t link = rows->link[event];
    if (link == ROW_NONE || link == 0 || !is_correlation(rows->events->correlation[event]))
        return false;
    if (input->options.all_launches)
        return !(rows->state[event] & (HTA_STREAM | HTA_GPU)) && rows->state[link] & HTA_WORK;
    return name_roles(rows->events, rows->queue_roles, event) & NAME_LAUNCH;
}

static void add_change(struct queue *queue, const struct hta_rows *rows, row_t event, row_t kernel) {
    row_t i = queue->n++;
    queue->event[i] = event;
    queue->kernel[i] = kernel;
    queue->time[i] = integer_sort_key(rows->start[event]);
    queue->stream[i] = integer_sort_key(rows->stream[kernel]);
    queue->up[i] = event != kernel;
}

/* The launches and, of each group of kernels, the last. */
struct queue_launches {
    row_t n;
    row_t *event, *group;
    row_t *of_group; /* place of the last launch, or ROW_NONE */
};

static enum sutra_status find_launches(const struct hta_input *input, value_key *keys, struct queue_launches *launches,
                                       struct sutra_error *error) {
    const struct hta_rows *rows = &input->rows;
    for (row_t i = 0; i < rows->n; i++)
        if (is_launch(input, rows->list[i])) {
            launches->event[launches->n] = rows->list[i];
            keys[launches->n++] = rows->events->correlation[rows->list[i]];
        }
    enum sutra_status status = hta_correlated_find(input, keys, launches->n, launches->group, error);
    memset(launches->of_group, 0xff, (size_t)input->correlated.n * sizeof *launches->of_group);
    for (row_t i = 0; i < launches->n && !status; i++)
        if (launches->group[i] != ROW_NONE)
            launches->of_group[launches->group[i]] = i;
    return status;
}

/* Changes by launches in the order of the table, then those by kernels in that order. */
static void add_changes(struct queue *queue, const struct hta_input *input, const struct queue_launches *launches) {
    const struct hta_correlated *correlated = &input->correlated;
    for (row_t i = 0; i < launches->n; i++) {
        row_t group = launches->group[i];
        if (group == ROW_NONE || launches->of_group[group] != i)
            continue;
        for (row_t k = correlated->first[group]; k < correlated->first[group + 1]; k++)
            add_change(queue, &input->rows, launches->event[i], correlated->event[k]);
    }
    for (row_t i = 0; i < correlated->n; i++)
        if (launches->of_group[correlated->group[i]] != ROW_NONE)
            add_change(queue, &input->rows, correlated->in_table[i], correlated->in_table[i]);
}

static enum sutra_status gather(struct queue *queue, const struct hta_input *input, struct arena *arena,
                                struct sutra_error *error) {
    row_t n = input->rows.n;
    struct arena_mark mark = arena_mark(arena);
    struct queue_launches launches = {
        .event = arena_take(arena, n, sizeof *launches.event),
        .group = arena_take(arena, n, sizeof *launches.group),
        .of_group = arena_take(arena, input->correlated.n, sizeof *launches.of_group),
    };
    value_key *keys = arena_take(arena, n, sizeof *keys);
    enum sutra_status status = arena->failed ? error_memory(error) : find_launches(input, keys, &launches, error);
    if (!status)
        add_changes(queue, input, &launches);
    arena_release(arena, mark);
    return status;
}

/* The length behind each change, and when it was. */
static void list_times(const struct hta_rows *rows, const struct queue *queue, int64_t *ns, int64_t *length) {
    for (row_t i = 0; i < queue->n; i++) {
        ns[i] = rows->start[queue->event[queue->series.change[i]]];
        length[i] = (int32_t)queue->series.length[i]; /* below 0 where kernels begin before their launches */
    }
}

static void add_series(struct sutra_hta *hta, const struct hta_input *input, const struct queue *queue,
                       const struct queue_times *times) {
    enum { PID = 2, TID = 3 };
    const struct hta_rows *rows = &input->rows;
    const struct values *values = &input->context->values;
    struct sutra_table *table = hta_table_begin(hta, SUTRA_HTA_QUEUE);
    table_retype(table, PID, kind_of_ids(rows->events->pid, queue->kernel, queue->n));
    table_retype(table, TID, kind_of_ids(rows->events->tid, queue->kernel, queue->n));
    for (row_t i = 0; i < queue->n; i++) {
        row_t change = queue->series.change[i], kernel = queue->kernel[change];
        table_integer(table, queue->event[change]);
        table_number(table, us_of(times->ns[i]));
        table_id(table, values, rows->events->pid[kernel]);
        table_id(table, values, rows->events->tid[kernel]);
        table_integer(table, rows->stream[kernel]);
        table_integer(table, times->length[i]);
    }
}

/* streams[s] = the stream of lane s. */
static void list_streams(const struct hta_rows *rows, const struct queue *queue, int64_t *streams) {
    for (row_t i = 0; i < queue->n; i++)
        streams[queue->series.lane[i]] = rows->stream[queue->kernel[queue->series.change[i]]];
}

static void add_summary(struct sutra_hta *hta, const struct description *descriptions, const int64_t *streams,
                        uint32_t n_streams) {
    struct sutra_hta_summary *summary = &hta->summary;
    struct sutra_table *table = hta_table_begin(hta, SUTRA_HTA_QUEUE_SUMMARY);
    for (uint32_t s = 0; s < n_streams; s++) {
        table_integer(table, hta->options.rank);
        table_integer(table, streams[s]);
        table_describe(table, &descriptions[s], 0);
        if (s > 0 && descriptions[s].max <= (double)summary->queue_most)
            continue;
        summary->queue_most = (int64_t)descriptions[s].max;
        summary->queue_mean = descriptions[s].mean;
        summary->queue_stream = streams[s];
    }
}

/* ---- Time on a full queue ---- */

static void add_blocked_row(struct sutra_table *table, const struct sutra_hta *hta, int64_t stream, int64_t ns,
                            int64_t duration) {
    table_integer(table, hta->options.rank);
    table_integer(table, stream);
    table_real(table, us_of(ns));
    table_real(table, (double)ns / (double)duration);
}

/* How long each stream's queue held as many as it can, or more: from such a change to the next. The reference keeps
 * only the last stream of a rank. */
static void add_blocked(struct sutra_hta *hta, const struct hta_rows *rows, const struct queue_times *times) {
    struct sutra_table *table = hta_table_begin(hta, SUTRA_HTA_BLOCKED);
    const uint32_t *lane = times->lane;
    int64_t duration = hta_duration(rows), ns = 0, last_ns = 0, last_stream = 0;
    bool full = false, any = false;
    for (row_t i = 0; i < times->n; i++) {
        bool last = i + 1 == times->n || lane[i + 1] != lane[i];
        if (times->length[i] >= (int64_t)hta->options.full_queue) {
            full = true;
            ns += last ? 0 : times->ns[i + 1] - times->ns[i];
        }
        if (!last)
            continue;
        if (full && !hta->options.compat)
            add_blocked_row(table, hta, times->streams[lane[i]], ns, duration);
        if (full) {
            any = true;
            last_ns = ns;
            last_stream = times->streams[lane[i]];
        }
        full = false;
        ns = 0;
    }
    if (any && hta->options.compat)
        add_blocked_row(table, hta, last_stream, last_ns, duration);
}

/* All tables, and what charts show of them. */
static enum sutra_status add_tables(struct sutra_hta *hta, const struct hta_input *input, const struct queue *queue,
                                    struct arena *arena, struct sutra_error *error) {
    const uint32_t *lane = queue->series.lane, n_streams = queue->series.n_lanes;
    row_t n = queue->n;
    int64_t *ns = arena_take(arena, n, sizeof *ns), *length = arena_take(arena, n, sizeof *length);
    int64_t *streams = arena_take(arena, n_streams, sizeof *streams);
    struct description *descriptions = arena_take(arena, n_streams, sizeof *descriptions);
    const struct queue_times times = {n, ns, length, lane, streams};
    if (arena->failed)
        return error_memory(error);
    list_times(&input->rows, queue, ns, length);
    list_streams(&input->rows, queue, streams);
    if (!queue_list_add(&hta->queues, hta->options.rank, &times))
        return error_memory(error);
    if (!input->options.only_joined)
        add_series(hta, input, queue, &times);
    enum sutra_status status =
        describe_integers(input->engine, arena, lane, length, n, n_streams, 1, descriptions, error);
    if (status)
        return status;
    add_summary(hta, descriptions, streams, n_streams);
    add_blocked(hta, &input->rows, &times);
    return SUTRA_OK;
}

enum sutra_status hta_queue(const struct hta_input *input, struct arena *arena, struct sutra_hta *hta,
                            struct sutra_error *error) {
    row_t n = 2 * input->correlated.n; /* a change by each kernel, and one by its launch */
    struct queue queue = queue_new(n, arena);
    enum sutra_status status = arena->failed ? error_memory(error) : gather(&queue, input, arena, error);
    const struct queue_changes changes = {queue.n, queue.time, queue.stream, queue.up};
    if (!status)
        status = queues_measure(&changes, input->engine, arena, &queue.series, error);
    if (status)
        return status;
    if (queue.n > 0)
        return add_tables(hta, input, &queue, arena, error);
    hta_table_begin(hta, SUTRA_HTA_BLOCKED);
    hta->reasons[SUTRA_HTA_QUEUE] = hta->reasons[SUTRA_HTA_QUEUE_SUMMARY] = "no kernel has the correlation of a launch";
    return SUTRA_OK;
}
