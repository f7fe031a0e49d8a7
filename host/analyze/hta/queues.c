/*
 * queues.c - how many kernels are queued on a stream: one more when a launch begins, one less when a kernel begins.
 *
 * Launches are calls of the reference's list (or all, if that is asked for) that are linked with a kernel. A kernel
 * with the correlation of some launch takes part; where several launches share one, the last of them queued the kernel.
 * (The reference has an assertion there, which fails.) Events by time, launches before kernels that begin at that
 * moment, else in the order of the table. The distribution is over events, not over time. O(n), sorts aside.
 */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "analyze/hta/hta.h"
#include "analyze/hta/queues.h"
#include "base/error.h"
#include "columns/hash_tables.h"
#include "facts/launches.h"

/* ---- Those that are kept ---- */

static bool comes_before(const struct queue_series *a, const struct queue_series *b) {
    if (a->longest != b->longest)
        return a->longest > b->longest;
    return a->rank != b->rank ? a->rank < b->rank : a->stream < b->stream;
}

/* Where a series goes; QUEUES_KEPT: nowhere. */
static uint32_t place_of(const struct queue_list *list, const struct queue_series *added) {
    uint32_t at = list->n;
    while (at > 0 && comes_before(added, &list->list[at - 1]))
        at--;
    return at;
}

/* Puts a series at its place, which is not nowhere. False: out of memory. */
static bool put_at(struct queue_list *list, uint32_t at, const struct queue_series *added) {
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
        uint32_t at = place_of(list, &series);
        series.begin_us += later_us;
        series.end_us += later_us;
        ok = at == QUEUES_KEPT || put_at(list, at, &series);
    }
    list->n_all += added->n_all;
    return ok;
}

void queue_list_free(struct queue_list *list) {
    free(list->list);
    *list = (struct queue_list){0};
}

/* ---- One rank ---- */

/* The most work that waited in a stream's queue. */
static double longest_of(const struct queue_times *times, row_t first, row_t end) {
    int64_t most = 0;
    for (row_t i = first; i < end; i++)
        most = times->length[i] > most ? times->length[i] : most;
    return (double)most;
}

/* Counts a length that held from `from` to `to`, in stretches from the beginning. */
static void add_length(struct queue_series *series, double length, double from, double to) {
    uint32_t first = (uint32_t)from, last = (uint32_t)to;
    first = first < QUEUE_STRETCHES ? first : QUEUE_STRETCHES - 1;
    last = last < QUEUE_STRETCHES ? last : QUEUE_STRETCHES - 1;
    for (uint32_t i = first; i <= last; i++) {
        series->mean[i] += length * ((to < i + 1 ? to : i + 1) - (from > i ? from : i));
        series->most[i] = length > series->most[i] ? length : series->most[i];
    }
}

static void add_lengths(struct queue_series *series, const struct queue_times *times, row_t first, row_t end) {
    memset(series->most, 0, sizeof series->most);
    memset(series->mean, 0, sizeof series->mean);
    double begin_us = series->begin_us, end_us = series->end_us;
    double scale = end_us > begin_us ? QUEUE_STRETCHES / (end_us - begin_us) : 0;
    for (row_t i = first; i < end; i++) {
        double from = us_of(times->ns[i]), to = i + 1 < end ? us_of(times->ns[i + 1]) : end_us;
        add_length(series, (double)times->length[i], (from - begin_us) * scale, (to - begin_us) * scale);
    }
}

bool queue_list_add(struct queue_list *list, int64_t rank, const struct queue_times *times) {
    struct queue_series series; /* whose stretches are only filled where it is kept: streams may be many */
    int64_t begin = INT64_MAX, last = INT64_MIN;
    bool ok = true;
    series.rank = rank;
    for (row_t i = 0; i < times->n; i++) {
        begin = times->ns[i] < begin ? times->ns[i] : begin;
        last = times->ns[i] > last ? times->ns[i] : last;
    }
    series.begin_us = us_of(begin);
    series.end_us = us_of(last);
    for (row_t first = 0, end; first < times->n && ok; first = end) {
        for (end = first + 1; end < times->n && times->lane[end] == times->lane[first];)
            end++;
        series.stream = times->streams[times->lane[first]];
        series.longest = longest_of(times, first, end);
        uint32_t at = place_of(list, &series);
        list->n_all++;
        if (at == QUEUES_KEPT)
            continue;
        add_lengths(&series, times, first, end);
        ok = put_at(list, at, &series);
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
        if (codec_decodes(codec) && !put_at(list, i, &series))
            codec_fail(codec, CODEC_NO_MEMORY);
    }
}

/*
 * The bandwidth of memory copies and sets while they run, by kind: each adds its own at its start and
 * takes it away at its end (a microsecond later at least).
 *
 * Kinds are "Memset" and the first eleven characters of a copy, "Memcpy HtoD". The moments when nothing runs are left
 * out. Bandwidths are added as doubles in the order of time, ends behind starts, else as in the table. O(n) for copies,
 * sorts aside, and a look at the text of each.
 */

struct bandwidth {
    struct strings kinds;
    row_t n;          /* copies; changes are those at starts, then those at ends */
    row_t *event;     /* of each copy */
    uint32_t *kind;   /* of each copy */
    double *gbps;     /* of each copy */
    uint64_t *keys;   /* of each change */
    row_t *order;     /* changes by time */
    double *levels;   /* those above 0, by time */
    uint32_t *groups; /* and their kinds */
    row_t n_levels;
    struct tuples lines; /* of the series: kinds, and in our way processes, which are devices */
    uint32_t *line;      /* of each copy */
};

static bool is_copy(const struct hta_input *input, row_t event) {
    return input->rows.state[event] & HTA_STREAM &&
           input->kernels.of_name[input->rows.events->name[event]] == KERNEL_MEMORY + 1;
}

static row_t count_copies(const struct hta_input *input) {
    row_t n = 0;
    for (row_t i = 0; i < input->rows.n; i++)
        n += is_copy(input, input->rows.list[i]);
    return n;
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

/* 0 where the event has none, and for infinities. */
static double gbps_of(struct number_column column, row_t event) {
    double gbps = number_as_double(number_at(column, event));
    return isfinite(gbps) ? gbps : 0;
}

/* When the copy begins or ends: what takes no time takes a microsecond. */
static int64_t time_of(const struct hta_rows *rows, row_t event, bool begins) {
    int64_t dur = rows->dur[event] == 0 ? NS_PER_US : rows->dur[event];
    return rows->start[event] + (begins ? 0 : dur);
}

/* Takes copy `i` of `n`; false: out of memory. */
static bool take_copy(struct bandwidth *bandwidth, const struct hta_rows *rows, struct number_column gbps, row_t i,
                      row_t n) {
    row_t event = bandwidth->event[i];
    uint32_t name = rows->events->name[event];
    bandwidth->kind[i] =
        kind_of(&bandwidth->kinds, strings_text(rows->strings, name), strings_length(rows->strings, name));
    bandwidth->gbps[i] = gbps_of(gbps, event);
    bandwidth->keys[i] = integer_sort_key(time_of(rows, event, true));
    bandwidth->keys[n + i] = integer_sort_key(time_of(rows, event, false));
    return bandwidth->kind[i] != STRING_NONE;
}

static enum sutra_status find_levels(struct bandwidth *bandwidth, const struct engine *engine, struct arena *arena,
                                     struct sutra_error *error) {
    row_t n = bandwidth->n;
    double *now = arena_zeros(arena, bandwidth->kinds.n, sizeof *now);
    if (!now)
        return error_memory(error);
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

static enum sutra_status add_rows(struct sutra_hta *hta, const struct engine *engine, struct bandwidth *bandwidth,
                                  struct arena *arena, struct sutra_error *error) {
    struct strings *kinds = &bandwidth->kinds;
    struct description *descriptions = arena_take(arena, kinds->n, sizeof *descriptions);
    uint32_t *order = arena_take(arena, kinds->n, sizeof *order);
    enum sutra_status status = arena->failed ? error_memory(error)
                                             : describe_reals(engine, arena, bandwidth->groups, bandwidth->levels,
                                                              bandwidth->n_levels, kinds->n, descriptions, error);
    if (status)
        return status;
    for (uint32_t i = 0; i < kinds->n; i++)
        order[i] = i;
    qsort_r(order, kinds->n, sizeof *order, compare_kinds, kinds);
    struct sutra_table *table = hta_table_begin(hta, SUTRA_HTA_BANDWIDTH);
    for (uint32_t i = 0; i < kinds->n; i++) {
        if (!(descriptions[order[i]].count > 0))
            continue;
        table_integer(table, hta->options.rank);
        table_text(table, strings_text(kinds, order[i]), strings_length(kinds, order[i]));
        table_describe(table, &descriptions[order[i]], 0);
    }
    return SUTRA_OK;
}

/* ---- The series ---- */

/* What a line of the series adds up to. */
struct bandwidth_line {
    double gbps;
    row_t running;
};

struct line_order {
    const struct bandwidth *bandwidth;
};

/* By name of the kind, then as the lines first occur. */
static int compare_lines(const void *left, const void *right, void *arg) {
    const struct line_order *order = arg;
    uint32_t a = *(const uint32_t *)left, b = *(const uint32_t *)right;
    const struct tuple *lines = order->bandwidth->lines.list;
    const struct strings *kinds = &order->bandwidth->kinds;
    int compared =
        strcmp(strings_text(kinds, (uint32_t)lines[a].part[0]), strings_text(kinds, (uint32_t)lines[b].part[0]));
    return compared ? compared : (a > b) - (a < b);
}

/* The changes of each line in the order of time, the lines by name. */
static enum sutra_status deal_changes(const struct bandwidth *bandwidth, struct arena *arena, uint32_t *lines,
                                      row_t **changes, struct sutra_error *error) {
    struct line_order order = {bandwidth};
    uint32_t n_lines = bandwidth->lines.n, *place = arena_take(arena, n_lines, sizeof *place);
    row_t *next = arena_zeros(arena, (size_t)n_lines + 2, sizeof *next), n = bandwidth->n;
    *changes = arena_take(arena, n, 2 * sizeof **changes);
    if (arena->failed || !bandwidth->line)
        return error_memory(error);
    for (uint32_t i = 0; i < n_lines; i++)
        lines[i] = i;
    qsort_r(lines, n_lines, sizeof *lines, compare_lines, &order);
    for (uint32_t i = 0; i < n_lines; i++)
        place[lines[i]] = i;
    for (row_t i = 0; i < n; i++)
        next[place[bandwidth->line[i]] + 1] += 2;
    for (uint32_t i = 0; i < n_lines; i++)
        next[i + 1] += next[i];
    for (row_t i = 0; i < 2 * n; i++) {
        row_t change = bandwidth->order[i], copy = change < n ? change : change - n;
        (*changes)[next[place[bandwidth->line[copy]]]++] = change;
    }
    return SUTRA_OK;
}

static void add_series_hta_bandwidth(struct sutra_hta *hta, const struct hta_input *input,
                                     const struct bandwidth *bandwidth, const row_t *changes,
                                     struct bandwidth_line *lines) {
    enum { PID = 1 };
    const struct device_events *events = input->rows.events;
    struct sutra_table *table = hta_table_begin(hta, SUTRA_HTA_BANDWIDTH_SERIES);
    row_t n = bandwidth->n;
    table_retype(table, PID, kind_of_ids(events->pid, bandwidth->event, n));
    for (row_t i = 0; i < 2 * n; i++) {
        row_t copy = changes[i] < n ? changes[i] : changes[i] - n;
        bool begins = changes[i] < n;
        struct bandwidth_line *line = &lines[bandwidth->line[copy]];
        line->gbps += begins ? bandwidth->gbps[copy] : -bandwidth->gbps[copy];
        line->running = begins ? line->running + 1 : line->running - 1;
        if (line->running == 0 && !input->options.compat)
            line->gbps = 0; /* without what is left of rounding */
        table_real(table, us_of(time_of(&input->rows, bandwidth->event[copy], begins)));
        table_id(table, &input->context->values, events->pid[bandwidth->event[copy]]);
        table_string(table, &bandwidth->kinds, bandwidth->kind[copy]);
        table_real(table, line->gbps);
    }
}

/* The reference mixes all devices. */
static enum sutra_status make_series(struct bandwidth *bandwidth, const struct hta_input *input, struct arena *arena,
                                     struct sutra_hta *hta, struct sutra_error *error) {
    row_t *changes;
    bandwidth->line = arena_take(arena, bandwidth->n, sizeof *bandwidth->line);
    for (row_t i = 0; i < bandwidth->n && bandwidth->line; i++) {
        value_key pid = input->options.compat ? 0 : input->rows.events->pid[bandwidth->event[i]];
        bandwidth->line[i] = tuples_number(&bandwidth->lines, (struct tuple){{bandwidth->kind[i], pid}});
        if (bandwidth->line[i] == TUPLE_NONE)
            return error_memory(error);
    }
    struct bandwidth_line *sums = arena_zeros(arena, bandwidth->lines.n, sizeof *sums);
    uint32_t *lines = arena_take(arena, bandwidth->lines.n, sizeof *lines);
    enum sutra_status status =
        arena->failed ? error_memory(error) : deal_changes(bandwidth, arena, lines, &changes, error);
    if (!status)
        add_series_hta_bandwidth(hta, input, bandwidth, changes, sums);
    return status;
}

static enum sutra_status take_copies(struct bandwidth *bandwidth, const struct hta_input *input, row_t n,
                                     struct sutra_error *error) {
    static const struct asked_field field = {"memory bandwidth (GB/s)", ASK_NUMBER, false};
    struct asked_column gbps;
    for (row_t i = 0; i < input->rows.n; i++)
        if (is_copy(input, input->rows.list[i]))
            bandwidth->event[bandwidth->n++] = input->rows.list[i];
    bool ok = strings_init(&bandwidth->kinds);
    enum sutra_status status =
        ok ? event_columns_ask(input->context, input->rows.trace, &field, 1, bandwidth->event, n, &gbps, error)
           : error_memory(error);
    for (row_t i = 0; i < n && !status; i++)
        if (!take_copy(bandwidth, &input->rows, gbps.number, i, n))
            status = error_memory(error);
    return status;
}

enum sutra_status hta_bandwidth(const struct hta_input *input, struct arena *arena, struct sutra_hta *hta,
                                struct sutra_error *error) {
    row_t n = count_copies(input);
    if (n == 0) {
        hta->reasons[SUTRA_HTA_BANDWIDTH] = hta->reasons[SUTRA_HTA_BANDWIDTH_SERIES] =
            "no memcpy or memset on a stream";
        return SUTRA_OK;
    }
    size_t n_changes = 2 * (size_t)n;
    struct bandwidth bandwidth = {.event = arena_take(arena, n, sizeof *bandwidth.event),
                                  .kind = arena_take(arena, n, sizeof *bandwidth.kind),
                                  .gbps = arena_take(arena, n, sizeof *bandwidth.gbps),
                                  .keys = arena_take(arena, n_changes, sizeof *bandwidth.keys),
                                  .order = arena_take(arena, n_changes, sizeof *bandwidth.order),
                                  .levels = arena_take(arena, n_changes, sizeof *bandwidth.levels),
                                  .groups = arena_take(arena, n_changes, sizeof *bandwidth.groups)};
    enum sutra_status status = arena->failed ? error_memory(error) : take_copies(&bandwidth, input, n, error);
    if (!status)
        status = find_levels(&bandwidth, input->engine, arena, error);
    if (!status)
        status = add_rows(hta, input->engine, &bandwidth, arena, error);
    if (!status && !input->options.only_joined)
        status = make_series(&bandwidth, input, arena, hta, error);
    tuples_free(&bandwidth.lines);
    strings_free(&bandwidth.kinds);
    return status;
}

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

static void add_series_hta_queue(struct sutra_hta *hta, const struct hta_input *input, const struct queue *queue,
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
        add_series_hta_queue(hta, input, queue, &times);
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
