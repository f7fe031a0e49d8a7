/*
 * busy.c - what the GPU was busy with: kernels of all streams merged, by type.
 *
 * Temporal breakdown: from the first start to the last end; what no kernel covers is idle, what compute kernels cover
 * is compute time, the rest (communication, copies and synchronisation that nothing hides) is non-compute time.
 * Overlap: how much of communication runs while something is computed. Types: for how long which types ran together.
 */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "analyze/hta/hta.h"
#include "base/error.h"
#include "base/shared.h"
#include "columns/hash_tables.h"

/*
 * Which share of its time each device works, over the time of the trace: a number for each of so
 * many equal stretches.
 *
 *     kernels     [a ][ b ]        [c]  [ d  ]        of all streams of the device, merged
 *     stretches  |------|------|------|------|
 *     busy          90 %   30 %   40 %   80 %         from the beginning of each stretch
 *
 * O(n), the engine's merging of intervals, and the stretches.
 */

#define N_STRETCHES 500

struct busy_series {
    const struct hta_input *input;
    struct tuples devices;      /* by pid, as they first occur in time */
    row_t *first;               /* a kernel of each, whose pid it is */
    int64_t begin, end, length; /* of all kernels, and of a stretch */
};

/* The kernels, copies and sets, with their devices, in the order of their starts. */
struct device_work {
    int64_t *start, *end;
    uint32_t *device;
    row_t n;
};

static enum sutra_status gather(struct busy_series *series, struct device_work *work, struct arena *arena,
                                struct sutra_error *error) {
    const struct hta_kernels *kernels = &series->input->kernels;
    const struct hta_rows *rows = &series->input->rows;
    work->start = arena_take(arena, kernels->n, sizeof *work->start);
    work->end = arena_take(arena, kernels->n, sizeof *work->end);
    work->device = arena_take(arena, kernels->n, sizeof *work->device);
    series->first = arena_take(arena, kernels->n, sizeof *series->first);
    if (arena->failed)
        return error_memory(error);
    for (row_t i = 0; i < kernels->n; i++) {
        row_t event = kernels->event[i], n_devices = series->devices.n;
        if (!(rows->state[event] & HTA_WORK) || kernels->end[i] < kernels->start[i])
            continue;
        uint32_t device = tuples_number(&series->devices, (struct tuple){{rows->events->pid[event]}});
        if (device == TUPLE_NONE)
            return error_memory(error);
        if (device == n_devices)
            series->first[device] = event;
        series->end = work->n == 0 || kernels->end[i] > series->end ? kernels->end[i] : series->end;
        work->start[work->n] = kernels->start[i];
        work->end[work->n] = kernels->end[i];
        work->device[work->n++] = device;
    }
    series->begin = work->n ? work->start[0] : 0;
    return SUTRA_OK;
}

/* What of the device's merged intervals lies in each stretch. */
static void measure(const struct busy_series *series, const struct merged *merged, uint32_t device, int64_t *busy) {
    for (row_t i = merged->first[device]; i < merged->first[device + 1]; i++) {
        int64_t at = merged->start[i] - series->begin, end = merged->end[i] - series->begin;
        while (at < end) {
            int64_t stretch = at / series->length, next = (stretch + 1) * series->length;
            busy[stretch] += (end < next ? end : next) - at;
            at = next;
        }
    }
}

static void add_rows_hta_busy_series(const struct busy_series *series, const struct merged *merged, int64_t *busy,
                                     struct sutra_hta *hta) {
    enum { PID = 1 };
    const value_key *pids = series->input->rows.events->pid;
    struct sutra_table *table = hta_table_begin(hta, SUTRA_HTA_BUSY_SERIES);
    table_retype(table, PID, kind_of_ids(pids, series->first, series->devices.n));
    for (uint32_t device = 0; device < series->devices.n; device++) {
        for (int i = 0; i < N_STRETCHES; i++)
            busy[i] = 0;
        measure(series, merged, device, busy);
        for (int i = 0; i < N_STRETCHES && series->begin + i * series->length < series->end; i++) {
            table_real(table, us_of(series->begin + i * series->length));
            table_id(table, &series->input->context->values, pids[series->first[device]]);
            table_real(table, 100 * (double)busy[i] / (double)series->length);
        }
    }
}

static enum sutra_status make_series(struct busy_series *series, struct arena *arena, struct sutra_hta *hta,
                                     struct sutra_error *error) {
    const struct engine *engine = series->input->engine;
    struct device_work work = {0};
    struct merged merged = {0};
    enum sutra_status status = gather(series, &work, arena, error);
    int64_t *busy = arena_take(arena, N_STRETCHES, sizeof *busy);
    if (!status && !busy)
        status = error_memory(error);
    series->length = (series->end - series->begin + N_STRETCHES - 1) / N_STRETCHES;
    if (status || series->length == 0) {
        hta->reasons[SUTRA_HTA_BUSY_SERIES] = "all kernels have a duration of 0";
        return status;
    }
    struct merge_intervals_step step = {work.start, work.end, work.device, work.n, series->devices.n, &merged};
    status = engine->merge_intervals(engine->state, &step, error);
    if (!status)
        add_rows_hta_busy_series(series, &merged, busy, hta);
    merged_free(&merged);
    return status;
}

enum sutra_status hta_busy_series(const struct hta_input *input, struct arena *arena, struct sutra_hta *hta,
                                  struct sutra_error *error) {
    struct busy_series series = {.input = input};
    enum sutra_status status = make_series(&series, arena, hta, error);
    tuples_free(&series.devices);
    return status;
}

/*
 * What each stream waited for between its kernels.
 *
 * Kernels and copies (synchronisations are neither) of each stream by start; the gap before each counts for what it
 * waited for. The first of a stream has no gap; it makes the row "other", which every stream has.
 */

static const char *const cause_names[IDLE_N_CAUSES] = {"host_wait", "kernel_wait", "other"};

/* Streams in the order in which the table first has them, and the gaps. */
struct idle {
    uint32_t *number; /* of the stream of each kernel of hta_kernels, or UINT32_MAX */
    int64_t *streams; /* by number */
    uint32_t n_streams;
    uint32_t *groups; /* of each gap: IDLE_N_CAUSES * stream + cause */
    int64_t *gaps;
    row_t n;
    bool *seen; /* of each group: there is a gap, or the first kernel of the stream */
};

/* Numbers the streams keys[0..n) as they first occur; last[i] is the last place of that stream, where of_last[] then
 * has the number. */
static void give_numbers(struct idle *idle, const value_key *keys, const row_t *last, row_t n, uint32_t *of_last) {
    memset(of_last, 0xff, (size_t)n * sizeof *of_last);
    for (row_t i = 0; i < n; i++) {
        if (of_last[last[i]] != UINT32_MAX)
            continue;
        of_last[last[i]] = idle->n_streams;
        idle->streams[idle->n_streams++] = keys[i];
    }
}

/* Streams are numbered in the order of the table, and then looked up for the kernels by start. */
static enum sutra_status number_streams(struct idle *idle, const struct hta_input *input, struct arena *arena,
                                        struct sutra_error *error) {
    const struct hta_rows *rows = &input->rows;
    const struct engine *engine = input->engine;
    row_t n_kernels = input->kernels.n, n = 0;
    struct arena_mark mark = arena_mark(arena);
    value_key *keys = arena_take(arena, n_kernels, sizeof *keys);
    value_key *wanted = arena_take(arena, n_kernels, sizeof *wanted);
    row_t *last = arena_take(arena, n_kernels, sizeof *last);
    uint32_t *of_last = arena_take(arena, n_kernels, sizeof *of_last); /* see give_numbers() */
    enum sutra_status status = arena_status(arena, error);
    for (row_t i = 0; i < rows->n && !status; i++)
        if (rows->state[rows->list[i]] & HTA_WORK)
            keys[n++] = rows->stream[rows->list[i]];
    if (!status)
        status = engine->join(engine->state, &(struct join_step){keys, n, keys, n, last}, error);
    if (!status)
        give_numbers(idle, keys, last, n, of_last);
    for (row_t i = 0; i < n_kernels && !status; i++)
        wanted[i] = rows->stream[input->kernels.event[i]];
    if (!status)
        status = engine->join(engine->state, &(struct join_step){keys, n, wanted, n_kernels, last}, error);
    for (row_t i = 0; i < n_kernels && !status; i++)
        idle->number[i] = rows->state[input->kernels.event[i]] & HTA_WORK ? of_last[last[i]] : UINT32_MAX;
    arena_release(arena, mark);
    return status;
}

static void add_gap(struct idle *idle, const struct hta_input *input, row_t kernel, int64_t last_end) {
    const struct hta_rows *rows = &input->rows;
    row_t link = rows->link[input->kernels.event[kernel]];
    bool has_launch = link != ROW_NONE && rows->state[link] & HTA_KEPT;
    int64_t start = input->kernels.start[kernel];
    enum idle_cause cause = idle_cause_of(last_end, start, has_launch, has_launch ? rows->start[link] : 0,
                                          (int64_t)input->options.kernel_delay_us * NS_PER_US);
    uint32_t group = idle->number[kernel] * IDLE_N_CAUSES + cause;
    idle->seen[group] = true;
    idle->groups[idle->n] = group;
    idle->gaps[idle->n++] = start - last_end;
}

/* Walks the kernels by start, with the last end of each stream. */
static void measure_gaps(struct idle *idle, const struct hta_input *input, int64_t *last_end) {
    for (row_t i = 0; i < input->kernels.n; i++) {
        uint32_t stream = idle->number[i];
        if (stream == UINT32_MAX)
            continue;
        bool *seen = &idle->seen[stream * IDLE_N_CAUSES];
        if (seen[IDLE_OTHER] || seen[IDLE_HOST_WAIT] || seen[IDLE_KERNEL_WAIT])
            add_gap(idle, input, i, last_end[stream]);
        seen[IDLE_OTHER] = true;
        last_end[stream] = input->kernels.end[i];
    }
}

static void add_rows_hta_idle(struct sutra_hta *hta, const struct idle *idle, const struct moments *moments,
                              const struct description *descriptions) {
    struct sutra_table *table = hta_table_begin(hta, SUTRA_HTA_IDLE);
    struct sutra_table *stats = hta_table_begin(hta, SUTRA_HTA_IDLE_STATS);
    for (uint32_t group = 0; group < idle->n_streams * IDLE_N_CAUSES; group++) {
        const char *cause = cause_names[group % IDLE_N_CAUSES];
        const struct moments *of_stream = &moments[group / IDLE_N_CAUSES * IDLE_N_CAUSES];
        double us = us_of_wide(moments[group].sum);
        double total = us_of_wide(of_stream[IDLE_HOST_WAIT].sum) + us_of_wide(of_stream[IDLE_KERNEL_WAIT].sum) +
                       us_of_wide(of_stream[IDLE_OTHER].sum);
        if (!idle->seen[group])
            continue;
        table_integer(table, hta->options.rank);
        table_integer(table, idle->streams[group / IDLE_N_CAUSES]);
        table_text(table, cause, strlen(cause));
        table_real(table, rounded_to(us, 2));
        table_real(table, total != 0 ? rounded_to(us / total, 2) : NAN);
        table_text(stats, cause, strlen(cause));
        table_integer(stats, hta->options.rank);
        table_integer(stats, idle->streams[group / IDLE_N_CAUSES]);
        table_describe(stats, &descriptions[group], 2);
    }
}

/* Sums of gaps by cause. */
static void sum_up(struct sutra_hta_summary *summary, const struct idle *idle, const struct moments *moments) {
    double by_cause[IDLE_N_CAUSES] = {0};
    for (uint32_t group = 0; group < idle->n_streams * IDLE_N_CAUSES; group++)
        by_cause[group % IDLE_N_CAUSES] += us_of_wide(moments[group].sum);
    summary->n_streams = idle->n_streams;
    summary->host_wait_us = by_cause[IDLE_HOST_WAIT];
    summary->kernel_wait_us = by_cause[IDLE_KERNEL_WAIT];
    summary->other_wait_us = by_cause[IDLE_OTHER];
}

/* From numbered streams to the tables. */
static enum sutra_status describe_gaps(struct idle *idle, const struct hta_input *input, struct arena *arena,
                                       struct sutra_hta *hta, struct sutra_error *error) {
    const struct engine *engine = input->engine;
    uint32_t n_groups = idle->n_streams * IDLE_N_CAUSES;
    int64_t *last_end = arena_take(arena, idle->n_streams, sizeof *last_end);
    struct description *descriptions = arena_take(arena, n_groups, sizeof *descriptions);
    struct moments *moments = arena_zeros(arena, n_groups, sizeof *moments);
    idle->seen = arena_zeros(arena, n_groups, sizeof *idle->seen);
    if (arena->failed)
        return error_memory(error);
    measure_gaps(idle, input, last_end);
    struct sums_by_key_step sums = {idle->groups, idle->gaps, idle->n, n_groups, moments};
    enum sutra_status status =
        describe_integers(engine, arena, idle->groups, idle->gaps, idle->n, n_groups, NS_PER_US, descriptions, error);
    if (!status)
        status = engine->sums_by_key(engine->state, &sums, error);
    if (status)
        return status;
    sum_up(&hta->summary, idle, moments);
    add_rows_hta_idle(hta, idle, moments, descriptions);
    return SUTRA_OK;
}

enum sutra_status hta_idle(const struct hta_input *input, struct arena *arena, struct sutra_hta *hta,
                           struct sutra_error *error) {
    row_t n = input->kernels.n;
    struct idle idle = {.number = arena_take(arena, n, sizeof *idle.number),
                        .streams = arena_take(arena, n, sizeof *idle.streams),
                        .groups = arena_take(arena, n, sizeof *idle.groups),
                        .gaps = arena_take(arena, n, sizeof *idle.gaps)};
    enum sutra_status status = arena->failed ? error_memory(error) : number_streams(&idle, input, arena, error);
    if (status)
        return status;
    if (idle.n_streams == 0) {
        hta->reasons[SUTRA_HTA_IDLE] = hta->reasons[SUTRA_HTA_IDLE_STATS] = "no kernel, memcpy or memset on a stream";
        return SUTRA_OK;
    }
    return describe_gaps(&idle, input, arena, hta, error);
}

#define BIT(type) (1 << (type))

_Static_assert(KERNEL_COMPUTATION == 0 && KERNEL_COMMUNICATION == 1 && KERNEL_MEMORY == 2,
               "segments that states count");

/* 100 * part / whole; NaN where the whole is 0. */
static double share(double part, double whole) {
    return whole != 0 ? rounded_to(100 * (part / whole), 2) : NAN;
}

static void add_temporal(struct sutra_hta *hta) {
    struct sutra_hta_summary *summary = &hta->summary;
    struct sutra_table *table = hta_table_begin(hta, SUTRA_HTA_TEMPORAL);
    double other = summary->span_us - summary->compute_us - summary->idle_us;
    table_integer(table, hta->options.rank);
    table_number(table, summary->idle_us);
    table_number(table, summary->compute_us);
    table_number(table, other);
    table_number(table, summary->span_us);
    table_real(table, share(summary->idle_us, summary->span_us));
    table_real(table, share(summary->compute_us, summary->span_us));
    table_real(table, share(other, summary->span_us));
}

static void measure_span(struct sutra_hta_summary *summary, const struct merged *all, int64_t base) {
    summary->first_us = us_of(base + all->start[0]);
    summary->span_us = us_of(all->end[all->n - 1] - all->start[0]);
    summary->busy_us = us_of_wide(cpu_merged_length(all, 0));
    summary->idle_us = summary->span_us - summary->busy_us;
}

static enum sutra_status measure_types(const struct engine *engine, const struct merged *types, struct sutra_hta *hta,
                                       struct sutra_error *error) {
    struct sutra_hta_summary *summary = &hta->summary;
    int64_t unit = hta_unit(&hta->options);
    const wide_t *without_memory = hta->types[0].exact, *with_memory = hta->types[1].exact;
    struct interval_states_step two = {types, 2, unit, &hta->types[0]}, three = {types, 3, unit, &hta->types[1]};
    enum sutra_status status = engine->interval_states(engine->state, &two, error);
    if (!status)
        status = engine->interval_states(engine->state, &three, error);
    if (status)
        return status;
    summary->compute_us = us_of_wide(cpu_merged_length(types, KERNEL_COMPUTATION));
    summary->communication_us = us_of_wide(cpu_merged_length(types, KERNEL_COMMUNICATION));
    summary->overlap_us = us_of_wide(without_memory[BIT(KERNEL_COMPUTATION) | BIT(KERNEL_COMMUNICATION)]);
    summary->exposed_us = us_of_wide(with_memory[BIT(KERNEL_COMMUNICATION)]);
    summary->memory_us =
        us_of_wide(with_memory[BIT(KERNEL_MEMORY)] + with_memory[BIT(KERNEL_MEMORY) | BIT(KERNEL_COMMUNICATION)]);
    return SUTRA_OK;
}

/* By state: the types whose bits are set. */
static const char *const state_names[N_STATES] = {
    "",
    "COMPUTATION",
    "COMMUNICATION",
    "COMPUTATION overlapping COMMUNICATION",
    "MEMORY",
    "COMPUTATION overlapping MEMORY",
    "COMMUNICATION overlapping MEMORY",
    "COMPUTATION overlapping COMMUNICATION overlapping MEMORY",
};

struct type_row {
    const char *name;
    double us;
};

/* The longest first, then by name. */
ORDER_BY(compare_types, struct type_row, DESCENDING(us) ASCENDING_TEXT(name))

void hta_types_fill(struct sutra_table *table, const struct interval_states *states) {
    struct type_row rows[N_STATES];
    size_t n = 0;
    double total = 0;
    for (int state = 1; state < N_STATES; state++) {
        if (!states->seen[state])
            continue;
        rows[n].name = state_names[state];
        rows[n].us = us_of_wide(states->length[state]);
        total += rows[n++].us;
    }
    qsort(rows, n, sizeof *rows, compare_types);
    for (size_t i = 0; i < n; i++) {
        table_text(table, rows[i].name, strlen(rows[i].name));
        table_number(table, rows[i].us);
        table_real(table, total != 0 ? rounded_to(rows[i].us / total * 100, 1) : NAN);
    }
}

static void add_overlap(struct sutra_hta *hta) {
    struct sutra_table *table = hta_table_begin(hta, SUTRA_HTA_OVERLAP);
    table_integer(table, hta->options.rank);
    table_real(table, share(hta->summary.overlap_us, hta->summary.communication_us));
}

enum sutra_status hta_busy(const struct hta_input *input, struct arena *arena, struct sutra_hta *hta,
                           struct sutra_error *error) {
    const struct hta_kernels *kernels = &input->kernels;
    const struct engine *engine = input->engine;
    struct merged all = {0}, types = {0};
    (void)arena;
    struct merge_intervals_step to_all = {kernels->start, kernels->end, NULL, kernels->n, 1, &all};
    struct merge_intervals_step to_types = {kernels->start, kernels->end,   kernels->type,
                                            kernels->n,     KERNEL_N_TYPES, &types};
    enum sutra_status status = engine->merge_intervals(engine->state, &to_all, error);
    if (!status)
        status = engine->merge_intervals(engine->state, &to_types, error);
    if (!status)
        status = measure_types(engine, &types, hta, error);
    if (!status && kernels->n > 0) {
        measure_span(&hta->summary, &all, input->rows.base);
        add_temporal(hta);
    } else if (!status) {
        hta->reasons[SUTRA_HTA_TEMPORAL] = "no event has a stream";
    }
    if (!status) {
        hta_types_fill(hta_table_begin(hta, SUTRA_HTA_TYPES), &hta->types[0]);
        hta_types_fill(hta_table_begin(hta, SUTRA_HTA_TYPES_MEMORY), &hta->types[1]);
        add_overlap(hta);
    }
    merged_free(&all);
    merged_free(&types);
    return status;
}
