/*
 * queues.c - the queue length of each stream, and the bandwidth of memcpys, over time.
 *
 *     hta_queue()      kernels queued on a stream: one more when a launch starts, one less when its kernel starts
 *     hta_bandwidth()  GB/s of the running memcpys and memsets, by kind
 *
 * Launches are calls of HTA's list (with all_launches: any call) that are linked with a kernel. A kernel counts if some
 * launch has its correlation; if several launches share one, the last of them queued the kernel. (HTA has an assertion
 * there, which fails.) Changes are ordered by time, launches before kernels that start at that time, else as in the
 * table. The distribution is over changes, not over time. O(n), except for sorts.
 */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "analyze/compat/hta/hta.h"
#include "base/error.h"
#include "base/shared.h"
#include "columns/hash_tables.h"
#include "facts/launches.h"

/* ---- The series with the longest queues ---- */

/* The index for a series, by descending longest queue, rank and stream; QUEUES_KEPT: the series is not kept. */
static uint32_t index_for(const struct queue_list *list, const struct queue_series *added) {
    uint32_t at = list->n;
    for (; at > 0; at--) {
        const struct queue_series *other = &list->list[at - 1];
        bool precedes = added->longest != other->longest ? added->longest > other->longest
                        : added->rank != other->rank     ? added->rank < other->rank
                                                         : added->stream < other->stream;
        if (!precedes)
            break;
    }
    return at;
}

/* Inserts a series at an index below QUEUES_KEPT. False: out of memory. */
static bool insert_at(struct queue_list *list, uint32_t at, const struct queue_series *added) {
    if (!list->list && !(list->list = malloc(QUEUES_KEPT * sizeof *list->list)))
        return false;
    list->n += list->n < QUEUES_KEPT;
    memmove(&list->list[at + 1], &list->list[at], (list->n - 1 - at) * sizeof *list->list);
    list->list[at] = *added;
    return true;
}

bool queue_list_join(struct queue_list *list, const struct queue_list *added, double later_us) {
    bool ok = true;
    for (uint32_t i = 0; i < added->n && ok; i++) {
        struct queue_series series = added->list[i];
        uint32_t at = index_for(list, &series);
        series.begin_us += later_us;
        series.end_us += later_us;
        ok = at == QUEUES_KEPT || insert_at(list, at, &series);
    }
    list->n_all += added->n_all;
    return ok;
}

void queue_list_free(struct queue_list *list) {
    free(list->list);
    *list = (struct queue_list){0};
}

/* ---- The series of one rank ---- */

/* Adds a length that held from `from` to `to`, both in bins from the start. */
static void add_length(struct queue_series *series, double length, double from, double to) {
    uint32_t first = (uint32_t)from, last = (uint32_t)to;
    first = first < QUEUE_BINS ? first : QUEUE_BINS - 1;
    last = last < QUEUE_BINS ? last : QUEUE_BINS - 1;
    for (uint32_t i = first; i <= last; i++) {
        series->mean[i] += length * (MIN(to, i + 1) - MAX(from, i));
        series->most[i] = MAX(length, series->most[i]);
    }
}

bool queue_list_add(struct queue_list *list, int64_t rank, const struct queue_times *times) {
    struct queue_series series; /* bins are only filled for series that are kept: streams may be many */
    int64_t begin = INT64_MAX, last = INT64_MIN;
    bool ok = true;
    series.rank = rank;
    for (row_t i = 0; i < times->n; i++) {
        begin = MIN(times->ns[i], begin);
        last = MAX(times->ns[i], last);
    }
    double begin_us = us_of(begin), end_us = us_of(last);
    double scale = end_us > begin_us ? QUEUE_BINS / (end_us - begin_us) : 0;
    series.begin_us = begin_us;
    series.end_us = end_us;
    for (row_t first = 0, end; first < times->n && ok; first = end) {
        int64_t longest = 0;
        for (end = first; end < times->n && times->lane[end] == times->lane[first]; end++)
            longest = MAX(times->length[end], longest);
        series.stream = times->streams[times->lane[first]];
        series.longest = (double)longest;
        uint32_t at = index_for(list, &series);
        list->n_all++;
        if (at == QUEUES_KEPT)
            continue;
        memset(series.most, 0, sizeof series.most);
        memset(series.mean, 0, sizeof series.mean);
        for (row_t i = first; i < end; i++) {
            double from = us_of(times->ns[i]), to = i + 1 < end ? us_of(times->ns[i + 1]) : end_us;
            add_length(&series, (double)times->length[i], (from - begin_us) * scale, (to - begin_us) * scale);
        }
        ok = insert_at(list, at, &series);
    }
    return ok;
}

/* ---- Partial results ---- */

void queue_list_codec(struct codec *codec, struct queue_list *list) {
    uint32_t n = list->n;
    codec_value(codec, &list->n_all);
    codec_limited(codec, &n, QUEUES_KEPT);
    for (uint32_t i = 0; i < n && !codec->failure; i++) {
        struct queue_series series;
        if (!codec_decodes(codec))
            series = list->list[i];
        codec_value(codec, &series);
        if (codec_decodes(codec) && !insert_at(list, i, &series))
            codec_fail(codec, CODEC_NO_MEMORY);
    }
}

/*
 * ---- Bandwidth ----
 *
 * Each memcpy or memset adds its bandwidth at its start and subtracts it at its end (a microsecond later at least).
 * Kinds are "Memset" and the first eleven characters of a memcpy, "Memcpy HtoD". Times at which nothing runs are
 * skipped. Bandwidths are added as doubles in time order, ends after starts, else as in the table. O(n) for copies
 * and the text of each, except for sorts.
 */

struct bandwidth {
    struct strings kinds;
    row_t n;          /* copies: memcpys and memsets; 2 n changes, at their starts, then at their ends */
    row_t *event;     /* of each copy */
    uint32_t *kind;   /* of each copy */
    double *gbps;     /* of each copy */
    uint64_t *keys;   /* of each change */
    row_t *order;     /* changes by time */
    double *levels;   /* bandwidths above 0, by time */
    uint32_t *groups; /* and their kinds */
    row_t n_levels;
    struct tuples lines; /* of the series: kinds, and except in HTA processes, which are devices */
    uint32_t *line;      /* of each copy */
};

static bool is_copy(const struct hta_input *input, row_t event) {
    return input->rows.state[event] & HTA_STREAM &&
           input->kernels.of_name[input->rows.events->name[event]] == KERNEL_MEMORY + 1;
}

/* The number of the copy's kind; STRING_NONE: out of memory. */
static uint32_t kind_of(struct strings *kinds, const char *name, size_t length) {
    enum { KIND_CHARACTERS = 11 };
    if (length >= 6 && memcmp(name, "Memset", 6) == 0)
        return strings_intern(kinds, "Memset", 6);
    if (length < 6 || memcmp(name, "Memcpy", 6) != 0)
        return strings_intern(kinds, "Memcpy Unknown", 14);
    size_t end = 0;
    for (int i = 0; i < KIND_CHARACTERS && end < length; i++)
        do
            end++;
        while (end < length && ((unsigned char)name[end] & 0xc0) == 0x80);
    return strings_intern(kinds, name, end);
}

/* The start or the end of a copy; a duration of 0 is a microsecond. */
static int64_t time_of(const struct hta_rows *rows, row_t event, bool is_start) {
    int64_t dur = rows->dur[event] == 0 ? NS_PER_US : rows->dur[event];
    return rows->start[event] + (is_start ? 0 : dur);
}

static enum sutra_status find_levels(struct bandwidth *bandwidth, const struct engine *engine, struct arena *arena,
                                     struct sutra_error *error) {
    row_t n = bandwidth->n;
    double *now = arena_zeros(arena, bandwidth->kinds.n, sizeof *now);
    TRY(arena_status(arena, error));
    for (row_t i = 0; i < 2 * n; i++)
        bandwidth->order[i] = i;
    struct sort_keys_step step = {bandwidth->keys, bandwidth->order, 2 * n};
    enum sutra_status status = engine->sort_keys(engine->state, &step, error);
    for (row_t i = 0; i < 2 * n && !status; i++) {
        row_t change = bandwidth->order[i], copy = change < n ? change : change - n;
        uint32_t kind = bandwidth->kind[copy];
        now[kind] += change < n ? bandwidth->gbps[copy] : -bandwidth->gbps[copy];
        if (!(now[kind] > 0))
            continue;
        bandwidth->levels[bandwidth->n_levels] = now[kind];
        bandwidth->groups[bandwidth->n_levels++] = kind;
    }
    return status;
}

static int compare_kinds(const void *left, const void *right, void *arg) {
    const struct strings *kinds = arg;
    return strcmp(strings_text(kinds, *(const uint32_t *)left), strings_text(kinds, *(const uint32_t *)right));
}

static enum sutra_status add_bandwidths(struct sutra_hta *hta, const struct engine *engine, struct bandwidth *bandwidth,
                                        struct arena *arena, struct sutra_error *error) {
    struct strings *kinds = &bandwidth->kinds;
    struct description *descriptions = arena_alloc(arena, kinds->n, sizeof *descriptions);
    uint32_t *order = arena_alloc(arena, kinds->n, sizeof *order);
    TRY(arena_status(arena, error));
    TRY(describe_reals(engine, arena, bandwidth->groups, bandwidth->levels, bandwidth->n_levels, kinds->n, descriptions,
                       error));
    for (uint32_t i = 0; i < kinds->n; i++)
        order[i] = i;
    qsort_r(order, kinds->n, sizeof *order, compare_kinds, kinds);
    struct sutra_table *table = result_table_begin(&hta->result, SUTRA_HTA_BANDWIDTH);
    for (uint32_t i = 0; i < kinds->n; i++) {
        if (!(descriptions[order[i]].count > 0))
            continue;
        table_integer(table, hta->options.rank);
        table_text(table, strings_text(kinds, order[i]), strings_length(kinds, order[i]));
        table_describe(table, &descriptions[order[i]], 0);
    }
    return SUTRA_OK;
}

/* ---- The series of bandwidths ---- */
/* By name of the kind, then as the lines first occur. */
static int compare_lines(const void *left, const void *right, void *arg) {
    const struct bandwidth *bandwidth = arg;
    uint32_t a = *(const uint32_t *)left, b = *(const uint32_t *)right;
    const struct tuple *lines = bandwidth->lines.list;
    const struct strings *kinds = &bandwidth->kinds;
    int compared =
        strcmp(strings_text(kinds, (uint32_t)lines[a].part[0]), strings_text(kinds, (uint32_t)lines[b].part[0]));
    return compared ? compared : (a > b) - (a < b);
}

/* Orders the changes by line (the lines by name) and time. */
static enum sutra_status partition_changes(struct bandwidth *bandwidth, struct arena *arena, row_t **changes,
                                           struct sutra_error *error) {
    uint32_t n_lines = bandwidth->lines.n, *lines = arena_alloc(arena, n_lines, sizeof *lines);
    uint32_t *rank = arena_alloc(arena, n_lines, sizeof *rank);
    row_t *next = arena_zeros(arena, (size_t)n_lines + 2, sizeof *next), n = bandwidth->n;
    *changes = arena_alloc(arena, n, 2 * sizeof **changes);
    TRY(arena_status(arena, error));
    for (uint32_t i = 0; i < n_lines; i++)
        lines[i] = i;
    qsort_r(lines, n_lines, sizeof *lines, compare_lines, bandwidth);
    for (uint32_t i = 0; i < n_lines; i++)
        rank[lines[i]] = i;
    for (row_t i = 0; i < n; i++)
        next[rank[bandwidth->line[i]] + 1] += 2;
    for (uint32_t i = 0; i < n_lines; i++)
        next[i + 1] += next[i];
    for (row_t i = 0; i < 2 * n; i++) {
        row_t change = bandwidth->order[i], copy = change < n ? change : change - n;
        (*changes)[next[rank[bandwidth->line[copy]]]++] = change;
    }
    return SUTRA_OK;
}

/* HTA mixes all devices. */
static enum sutra_status make_series(struct bandwidth *bandwidth, const struct hta_input *input, struct arena *arena,
                                     struct sutra_hta *hta, struct sutra_error *error) {
    enum { PID = 1 };
    const struct device_events *events = input->rows.events;
    row_t *changes, n = bandwidth->n;
    bandwidth->line = arena_alloc(arena, bandwidth->n, sizeof *bandwidth->line);
    for (row_t i = 0; i < bandwidth->n && bandwidth->line; i++) {
        value_key pid = input->options.compat ? 0 : events->pid[bandwidth->event[i]];
        bandwidth->line[i] = tuples_number(&bandwidth->lines, (struct tuple){{bandwidth->kind[i], pid}});
        TRY_ALLOC(bandwidth->line[i] != TUPLE_NONE, error);
    }
    double *gbps = arena_zeros(arena, bandwidth->lines.n, sizeof *gbps); /* by line */
    row_t *n_running = arena_zeros(arena, bandwidth->lines.n, sizeof *n_running);
    TRY(arena->failed ? error_memory(error) : partition_changes(bandwidth, arena, &changes, error));
    struct sutra_table *table = result_table_begin(&hta->result, SUTRA_HTA_BANDWIDTH_SERIES);
    table_retype(table, PID, kind_of_ids(events->pid, bandwidth->event, n));
    for (row_t i = 0; i < 2 * n; i++) {
        bool is_start = changes[i] < n;
        row_t copy = is_start ? changes[i] : changes[i] - n;
        uint32_t line = bandwidth->line[copy];
        gbps[line] += is_start ? bandwidth->gbps[copy] : -bandwidth->gbps[copy];
        n_running[line] = is_start ? n_running[line] + 1 : n_running[line] - 1;
        if (n_running[line] == 0 && !input->options.compat)
            gbps[line] = 0; /* without the rounding error */
        table_real(table, us_of(time_of(&input->rows, bandwidth->event[copy], is_start)));
        table_id(table, &input->context->values, events->pid[bandwidth->event[copy]]);
        table_string(table, &bandwidth->kinds, bandwidth->kind[copy]);
        table_real(table, gbps[line]);
    }
    return SUTRA_OK;
}

/* Reads kind, bandwidth and times of n copies. */
static enum sutra_status read_copies(struct bandwidth *bandwidth, const struct hta_input *input, row_t n,
                                     struct sutra_error *error) {
    static const struct requested_field field = {"memory bandwidth (GB/s)", ASK_NUMBER, false};
    const struct hta_rows *rows = &input->rows;
    struct requested_column gbps;
    TRY_ALLOC(strings_init(&bandwidth->kinds), error);
    for (row_t i = 0; i < rows->n; i++)
        if (is_copy(input, rows->list[i]))
            bandwidth->event[bandwidth->n++] = rows->list[i];
    TRY(event_columns_request(input->context, rows->trace, &field, 1, bandwidth->event, n, &gbps, error));
    for (row_t i = 0; i < n; i++) {
        row_t event = bandwidth->event[i];
        uint32_t name = rows->events->name[event];
        double value = number_as_double(number_at(gbps.number, event));
        bandwidth->gbps[i] = isfinite(value) ? value : 0;
        bandwidth->keys[i] = integer_sort_key(time_of(rows, event, true));
        bandwidth->keys[n + i] = integer_sort_key(time_of(rows, event, false));
        bandwidth->kind[i] =
            kind_of(&bandwidth->kinds, strings_text(rows->strings, name), strings_length(rows->strings, name));
        TRY_ALLOC(bandwidth->kind[i] != STRING_NONE, error);
    }
    return SUTRA_OK;
}

enum sutra_status hta_bandwidth(const struct hta_input *input, struct arena *arena, struct sutra_hta *hta,
                                struct sutra_error *error) {
    row_t n = 0;
    for (row_t i = 0; i < input->rows.n; i++)
        n += is_copy(input, input->rows.list[i]);
    if (n == 0) {
        hta->result.reasons[SUTRA_HTA_BANDWIDTH] = hta->result.reasons[SUTRA_HTA_BANDWIDTH_SERIES] =
            "no memcpy or memset on a stream";
        return SUTRA_OK;
    }
    size_t n_changes = 2 * (size_t)n;
    struct bandwidth bandwidth = {.event = arena_alloc(arena, n, sizeof *bandwidth.event),
                                  .kind = arena_alloc(arena, n, sizeof *bandwidth.kind),
                                  .gbps = arena_alloc(arena, n, sizeof *bandwidth.gbps),
                                  .keys = arena_alloc(arena, n_changes, sizeof *bandwidth.keys),
                                  .order = arena_alloc(arena, n_changes, sizeof *bandwidth.order),
                                  .levels = arena_alloc(arena, n_changes, sizeof *bandwidth.levels),
                                  .groups = arena_alloc(arena, n_changes, sizeof *bandwidth.groups)};
    enum sutra_status status = arena->failed ? error_memory(error) : read_copies(&bandwidth, input, n, error);
    if (!status)
        status = find_levels(&bandwidth, input->engine, arena, error);
    if (!status)
        status = add_bandwidths(hta, input->engine, &bandwidth, arena, error);
    if (!status && !input->options.only_joined)
        status = make_series(&bandwidth, input, arena, hta, error);
    tuples_free(&bandwidth.lines);
    strings_free(&bandwidth.kinds);
    return status;
}

/* ---- Queue lengths ---- */

/* Changes of the length, changes by launches first; then ordered by stream and time. */
struct queue {
    row_t n;       /* changes */
    row_t *event;  /* launch or kernel */
    row_t *kernel; /* of the launch; the change is in its stream */
    uint64_t *time, *stream;
    uint8_t *up;
    struct queue_lengths series;
};

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

/* Collects the changes by launches in the order of the table, then the changes by kernels in the same order. */
static enum sutra_status collect_changes(struct queue *queue, const struct hta_input *input, struct arena *arena,
                                         struct sutra_error *error) {
    const struct hta_rows *rows = &input->rows;
    const struct hta_correlated *correlated = &input->correlated;
    struct arena_mark mark = arena_mark(arena);
    row_t *launch = arena_alloc(arena, rows->n, sizeof *launch), n = 0;
    row_t *group = arena_alloc(arena, rows->n, sizeof *group);
    row_t *last = arena_alloc(arena, correlated->n, sizeof *last); /* by group: its last launch, or ROW_NONE */
    value_key *keys = arena_alloc(arena, rows->n, sizeof *keys);
    TRY(arena_status(arena, error));
    for (row_t i = 0; i < rows->n; i++)
        if (is_launch(input, rows->list[i])) {
            launch[n] = rows->list[i];
            keys[n++] = rows->events->correlation[rows->list[i]];
        }
    TRY(hta_correlated_find(input, keys, n, group, error));
    memset(last, 0xff, (size_t)correlated->n * sizeof *last);
    for (row_t i = 0; i < n; i++)
        if (group[i] != ROW_NONE)
            last[group[i]] = i;
    for (row_t i = 0; i < n; i++)
        if (group[i] != ROW_NONE && last[group[i]] == i)
            for (row_t k = correlated->first[group[i]]; k < correlated->first[group[i] + 1]; k++)
                add_change(queue, rows, launch[i], correlated->event[k]);
    for (row_t i = 0; i < correlated->n; i++)
        if (last[correlated->group[i]] != ROW_NONE)
            add_change(queue, rows, correlated->in_table[i], correlated->in_table[i]);
    arena_release(arena, mark);
    return SUTRA_OK;
}

static void add_series(struct sutra_hta *hta, const struct hta_input *input, const struct queue *queue,
                       const struct queue_times *times) {
    enum { PID = 2, TID = 3 };
    const struct hta_rows *rows = &input->rows;
    const struct values *values = &input->context->values;
    struct sutra_table *table = result_table_begin(&hta->result, SUTRA_HTA_QUEUE);
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

/* ---- Time on a full queue ---- */
static void add_blocked_row(struct sutra_table *table, const struct sutra_hta *hta, int64_t stream, int64_t ns,
                            int64_t duration) {
    table_integer(table, hta->options.rank);
    table_integer(table, stream);
    table_real(table, us_of(ns));
    table_real(table, (double)ns / (double)duration);
}

/* The time that each stream's queue had full_queue entries or more: from such a change to the next. HTA keeps only the
 * last stream of a rank. */
static void add_blocked(struct sutra_hta *hta, const struct hta_rows *rows, const struct queue_times *times) {
    struct sutra_table *table = result_table_begin(&hta->result, SUTRA_HTA_BLOCKED);
    const uint32_t *lane = times->lane;
    int64_t ns = 0, last_ns = 0, last_stream = 0, first = INT64_MAX, latest = INT64_MIN;
    for (row_t i = 0; i < rows->n; i++) {
        int64_t start = rows->start[rows->list[i]];
        first = MIN(start, first);
        latest = MAX(start, latest);
    }
    int64_t duration = rows->n ? latest - first : 0; /* as HTA: from the first start of a row to the last start */
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

/* Fills all tables, and the series for charts. */
static enum sutra_status add_tables(struct sutra_hta *hta, const struct hta_input *input, const struct queue *queue,
                                    struct arena *arena, struct sutra_error *error) {
    const uint32_t *lane = queue->series.lane, n_streams = queue->series.n_lanes;
    row_t n = queue->n;
    int64_t *ns = arena_alloc(arena, n, sizeof *ns), *length = arena_alloc(arena, n, sizeof *length);
    int64_t *streams = arena_alloc(arena, n_streams, sizeof *streams);
    struct description *descriptions = arena_alloc(arena, n_streams, sizeof *descriptions);
    const struct queue_times times = {n, ns, length, lane, streams};
    TRY(arena_status(arena, error));
    for (row_t i = 0; i < n; i++) {
        row_t change = queue->series.change[i];
        ns[i] = input->rows.start[queue->event[change]];
        length[i] = (int32_t)queue->series.length[i]; /* below 0 if a kernel starts before its launch */
        streams[lane[i]] = input->rows.stream[queue->kernel[change]];
    }
    TRY_ALLOC(queue_list_add(&hta->queues, hta->options.rank, &times), error);
    if (!input->options.only_joined)
        add_series(hta, input, queue, &times);
    TRY(describe_integers(input->engine, arena, lane, length, n, n_streams, 1, descriptions, error));
    struct sutra_hta_summary *summary = &hta->summary;
    struct sutra_table *table = result_table_begin(&hta->result, SUTRA_HTA_QUEUE_SUMMARY);
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
    add_blocked(hta, &input->rows, &times);
    return SUTRA_OK;
}

enum sutra_status hta_queue(const struct hta_input *input, struct arena *arena, struct sutra_hta *hta,
                            struct sutra_error *error) {
    row_t n = 2 * input->correlated.n; /* a change by each kernel, and one by its launch */
    struct queue queue = {.event = arena_alloc(arena, n, sizeof(row_t)),
                          .kernel = arena_alloc(arena, n, sizeof(row_t)),
                          .time = arena_alloc(arena, n, sizeof(uint64_t)),
                          .stream = arena_alloc(arena, n, sizeof(uint64_t)),
                          .up = arena_alloc(arena, n, sizeof(uint8_t)),
                          .series = {.change = arena_alloc(arena, n, sizeof(row_t)),
                                     .lane = arena_alloc(arena, n, sizeof(uint32_t)),
                                     .length = arena_alloc(arena, n, sizeof(uint32_t))}};
    TRY(arena_status(arena, error));
    TRY(collect_changes(&queue, input, arena, error));
    const struct queue_changes changes = {queue.n, queue.time, queue.stream, queue.up};
    TRY(queues_measure(&changes, input->engine, arena, &queue.series, error));
    if (queue.n > 0)
        return add_tables(hta, input, &queue, arena, error);
    result_table_begin(&hta->result, SUTRA_HTA_BLOCKED);
    hta->result.reasons[SUTRA_HTA_QUEUE] = hta->result.reasons[SUTRA_HTA_QUEUE_SUMMARY] =
        "no kernel has the correlation of a launch";
    return SUTRA_OK;
}
