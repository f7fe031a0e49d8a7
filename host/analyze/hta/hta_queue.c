/*
 * hta_queue.c - how many kernels are queued on a stream: one more when a launch begins, one less when a kernel begins.
 *
 * Launches are calls of the reference's list (or all, if that is asked for) that are linked with a kernel. A kernel
 * with the correlation of some launch takes part; where several launches share one, the last of them queued the kernel.
 * (The reference has an assertion there, which fails.) Events by time, launches before kernels that begin at that
 * moment, else in the order of the table. The distribution is over events, not over time. O(n), sorts aside.
 */
#include <stdlib.h>
#include <string.h>

#include "analyze/hta/hta.h"
#include "base/error.h"

/* Changes of the length: those of kernel i and, in the first half, that of its launch. */
struct queue {
    row_t n;        /* changes */
    row_t *event;   /* launch or kernel */
    row_t *kernel;  /* its kernel, whose stream it is */
    int64_t *start; /* when */
    uint32_t *stream;
    int64_t *length; /* after the change, in order of time */
    row_t *order;    /* changes by stream, those of each by time */
    int64_t *streams;
    uint32_t n_streams;
};

static void queue_free(struct queue *queue) {
    free(queue->event);
    free(queue->kernel);
    free(queue->start);
    free(queue->stream);
    free(queue->length);
    free(queue->order);
    free(queue->streams);
}

static enum sutra_status queue_init(struct queue *queue, row_t n, struct sutra_error *error) {
    size_t room = (size_t)n + 1;
    queue->event = malloc(room * sizeof *queue->event);
    queue->kernel = malloc(room * sizeof *queue->kernel);
    queue->start = malloc(room * sizeof *queue->start);
    queue->stream = malloc(room * sizeof *queue->stream);
    queue->length = malloc(room * sizeof *queue->length);
    queue->order = malloc(room * sizeof *queue->order);
    queue->streams = malloc(room * sizeof *queue->streams);
    bool ok = queue->event && queue->kernel && queue->start && queue->stream && queue->length && queue->order &&
              queue->streams;
    return ok ? SUTRA_OK : error_memory(error);
}

static bool is_launch(const struct sutra_hta *hta, row_t event) {
    const struct hta_rows *rows = &hta->rows;
    row_t link = rows->link[event];
    if (link == ROW_NONE || link == 0 || !is_correlation(rows->events->correlation[event]))
        return false;
    if (hta->options.all_launches)
        return !(rows->state[event] & (ROW_STREAM | ROW_GPU)) && rows->state[link] & ROW_WORK;
    return rows->launches[rows->events->name[event]] & LAUNCH_QUEUE;
}

static void add_change(struct queue *queue, const struct hta_rows *rows, row_t event, row_t kernel) {
    queue->event[queue->n] = event;
    queue->kernel[queue->n] = kernel;
    queue->start[queue->n++] = rows->start[event];
}

/* The launches and, of each group of kernels, the last. */
struct launches {
    row_t n;
    row_t *event, *group;
    value_key *keys;
    row_t *of_group; /* place of the last launch, or ROW_NONE */
};

static void launches_free(struct launches *launches) {
    free(launches->event);
    free(launches->group);
    free(launches->keys);
    free(launches->of_group);
}

static enum sutra_status find_launches(struct launches *launches, const struct sutra_hta *hta,
                                       struct sutra_error *error) {
    const struct hta_rows *rows = &hta->rows;
    size_t room = (size_t)rows->n + 1;
    launches->event = malloc(room * sizeof *launches->event);
    launches->group = malloc(room * sizeof *launches->group);
    launches->keys = calloc(room, sizeof *launches->keys);
    launches->of_group = malloc(((size_t)hta->correlated.n + 1) * sizeof *launches->of_group);
    if (!launches->event || !launches->group || !launches->keys || !launches->of_group)
        return error_memory(error);
    for (row_t i = 0; i < rows->n; i++)
        if (is_launch(hta, rows->list[i])) {
            launches->event[launches->n] = rows->list[i];
            launches->keys[launches->n++] = rows->events->correlation[rows->list[i]];
        }
    enum sutra_status status = hta_correlated_find(hta, launches->keys, launches->n, launches->group, error);
    memset(launches->of_group, 0xff, (size_t)hta->correlated.n * sizeof *launches->of_group);
    for (row_t i = 0; i < launches->n && !status; i++)
        if (launches->group[i] != ROW_NONE)
            launches->of_group[launches->group[i]] = i;
    return status;
}

/* Changes by launches in the order of the table, then those by kernels in that order. */
static enum sutra_status gather(struct queue *queue, const struct sutra_hta *hta, const struct launches *launches,
                                struct sutra_error *error) {
    const struct hta_correlated *correlated = &hta->correlated;
    enum sutra_status status = queue_init(queue, 2 * correlated->n, error);
    if (status)
        return status;
    for (row_t i = 0; i < launches->n; i++) {
        row_t group = launches->group[i];
        if (group == ROW_NONE || launches->of_group[group] != i)
            continue;
        for (row_t k = correlated->first[group]; k < correlated->first[group + 1]; k++)
            add_change(queue, &hta->rows, launches->event[i], correlated->event[k]);
    }
    for (row_t i = 0; i < correlated->n; i++)
        if (launches->of_group[correlated->group[i]] != ROW_NONE)
            add_change(queue, &hta->rows, correlated->in_table[i], correlated->in_table[i]);
    return SUTRA_OK;
}

/* Orders the changes by stream and time, and numbers the streams, which rise. */
static enum sutra_status sort_changes(struct queue *queue, const struct hta_rows *rows, const struct engine *engine,
                                      struct sutra_error *error) {
    uint64_t *keys = malloc(((size_t)queue->n + 1) * sizeof *keys);
    if (!keys)
        return error_memory(error);
    for (row_t i = 0; i < queue->n; i++) {
        keys[i] = integer_sort_key(queue->start[i]);
        queue->order[i] = i;
    }
    enum sutra_status status = engine->sort_keys(engine->state, keys, queue->order, queue->n, error);
    for (row_t i = 0; i < queue->n && !status; i++)
        keys[i] = integer_sort_key(rows->stream[queue->kernel[queue->order[i]]]);
    if (!status)
        status = engine->sort_keys(engine->state, keys, queue->order, queue->n, error);
    for (row_t i = 0; i < queue->n && !status; i++) {
        int64_t stream = rows->stream[queue->kernel[queue->order[i]]];
        if (i == 0 || stream != queue->streams[queue->n_streams - 1])
            queue->streams[queue->n_streams++] = stream;
        queue->stream[i] = queue->n_streams - 1;
    }
    free(keys);
    return status;
}

static void add_series(struct sutra_hta *hta, struct queue *queue) {
    const struct hta_rows *rows = &hta->rows;
    struct sutra_table *table = hta_table_begin(hta, SUTRA_HTA_QUEUE);
    int64_t length = 0;
    for (row_t i = 0; i < queue->n; i++) {
        row_t change = queue->order[i], event = queue->event[change], kernel = queue->kernel[change];
        if (i == 0 || queue->stream[i] != queue->stream[i - 1])
            length = 0;
        length += event == kernel ? -1 : 1;
        queue->length[i] = length;
        table_integer(table, event);
        table_number(table, us_of(rows->start[event]));
        table_integer(table, column_key(rows->events->pid[kernel]));
        table_integer(table, column_key(rows->events->tid[kernel]));
        table_integer(table, rows->stream[kernel]);
        table_integer(table, length);
    }
}

static enum sutra_status add_summary(struct sutra_hta *hta, const struct queue *queue, struct sutra_error *error) {
    struct sutra_hta_summary *summary = &hta->summary;
    struct description *descriptions = malloc(((size_t)queue->n_streams + 1) * sizeof *descriptions);
    if (!descriptions)
        return error_memory(error);
    enum sutra_status status = describe_integers(&hta->context->engine, queue->stream, queue->length, queue->n,
                                                 queue->n_streams, 1, descriptions, error);
    struct sutra_table *table = status ? NULL : hta_table_begin(hta, SUTRA_HTA_QUEUE_SUMMARY);
    for (uint32_t s = 0; s < queue->n_streams && !status; s++) {
        table_integer(table, hta->options.rank);
        table_integer(table, queue->streams[s]);
        table_describe(table, &descriptions[s], 0);
        if (s > 0 && descriptions[s].max <= (double)summary->queue_most)
            continue;
        summary->queue_most = (int64_t)descriptions[s].max;
        summary->queue_mean = descriptions[s].mean;
        summary->queue_stream = queue->streams[s];
    }
    free(descriptions);
    return status;
}

enum sutra_status hta_queue(struct sutra_hta *hta, struct sutra_error *error) {
    struct launches launches = {0};
    struct queue queue = {0};
    enum sutra_status status = find_launches(&launches, hta, error);
    if (!status)
        status = gather(&queue, hta, &launches, error);
    if (!status)
        status = sort_changes(&queue, &hta->rows, &hta->context->engine, error);
    if (!status && queue.n > 0) {
        add_series(hta, &queue);
        status = add_summary(hta, &queue, error);
    } else if (!status) {
        hta_table_missing(hta, SUTRA_HTA_QUEUE, "no kernel has the correlation of a launch");
        hta_table_missing(hta, SUTRA_HTA_QUEUE_SUMMARY, "no kernel has the correlation of a launch");
    }
    launches_free(&launches);
    queue_free(&queue);
    return status;
}
