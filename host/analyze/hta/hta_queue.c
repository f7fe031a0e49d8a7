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

/* Changes of the length, those by launches first. */
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

/* Room for n changes. */
static struct queue queue_new(row_t n, struct arena *arena) {
    return (struct queue){.event = arena_take(arena, n, sizeof(row_t)),
                          .kernel = arena_take(arena, n, sizeof(row_t)),
                          .start = arena_take(arena, n, sizeof(int64_t)),
                          .stream = arena_take(arena, n, sizeof(uint32_t)),
                          .length = arena_take(arena, n, sizeof(int64_t)),
                          .order = arena_take(arena, n, sizeof(row_t)),
                          .streams = arena_take(arena, n, sizeof(int64_t))};
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
    queue->event[queue->n] = event;
    queue->kernel[queue->n] = kernel;
    queue->start[queue->n++] = rows->start[event];
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

/* Orders the changes by stream and time, and numbers the streams, which rise. */
static enum sutra_status sort_changes(struct queue *queue, const struct hta_rows *rows, const struct engine *engine,
                                      uint64_t *keys, struct sutra_error *error) {
    for (row_t i = 0; i < queue->n; i++) {
        keys[i] = integer_sort_key(queue->start[i]);
        queue->order[i] = i;
    }
    struct sort_keys_step step = {keys, queue->order, queue->n};
    enum sutra_status status = engine->sort_keys(engine->state, &step, error);
    for (row_t i = 0; i < queue->n && !status; i++)
        keys[i] = integer_sort_key(rows->stream[queue->kernel[queue->order[i]]]);
    if (!status)
        status = engine->sort_keys(engine->state, &(struct sort_keys_step){keys, queue->order, queue->n}, error);
    for (row_t i = 0; i < queue->n && !status; i++) {
        int64_t stream = rows->stream[queue->kernel[queue->order[i]]];
        if (i == 0 || stream != queue->streams[queue->n_streams - 1])
            queue->streams[queue->n_streams++] = stream;
        queue->stream[i] = queue->n_streams - 1;
    }
    return status;
}

static void add_series(struct sutra_hta *hta, const struct hta_rows *rows, struct queue *queue) {
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

static enum sutra_status add_summary(struct sutra_hta *hta, const struct engine *engine, const struct queue *queue,
                                     struct arena *arena, struct sutra_error *error) {
    struct sutra_hta_summary *summary = &hta->summary;
    struct description *descriptions = arena_take(arena, queue->n_streams, sizeof *descriptions);
    enum sutra_status status = arena->failed ? error_memory(error)
                                             : describe_integers(engine, arena, queue->stream, queue->length, queue->n,
                                                                 queue->n_streams, 1, descriptions, error);
    if (status)
        return status;
    struct sutra_table *table = hta_table_begin(hta, SUTRA_HTA_QUEUE_SUMMARY);
    for (uint32_t s = 0; s < queue->n_streams; s++) {
        table_integer(table, hta->options.rank);
        table_integer(table, queue->streams[s]);
        table_describe(table, &descriptions[s], 0);
        if (s > 0 && descriptions[s].max <= (double)summary->queue_most)
            continue;
        summary->queue_most = (int64_t)descriptions[s].max;
        summary->queue_mean = descriptions[s].mean;
        summary->queue_stream = queue->streams[s];
    }
    return SUTRA_OK;
}

enum sutra_status hta_queue(const struct hta_input *input, struct arena *arena, struct sutra_hta *hta,
                            struct sutra_error *error) {
    row_t n = 2 * input->correlated.n; /* a change by each kernel, and one by its launch */
    struct queue queue = queue_new(n, arena);
    uint64_t *keys = arena_take(arena, n, sizeof *keys);
    enum sutra_status status = arena->failed ? error_memory(error) : gather(&queue, input, arena, error);
    if (!status)
        status = sort_changes(&queue, &input->rows, input->engine, keys, error);
    if (status)
        return status;
    if (queue.n == 0) {
        hta->reasons[SUTRA_HTA_QUEUE] = hta->reasons[SUTRA_HTA_QUEUE_SUMMARY] =
            "no kernel has the correlation of a launch";
        return SUTRA_OK;
    }
    add_series(hta, &input->rows, &queue);
    return add_summary(hta, input->engine, &queue, arena, error);
}
