/*
 * busy.c - GPU busy time: by type, over time, and the idle time of each stream.
 *
 *     hta_busy()         all streams merged: idle, compute and non-compute time; overlap; combinations of types
 *     hta_busy_series()  the share of busy time of each device, over time
 *     hta_idle()         the gaps between the kernels of each stream, by cause
 *
 * Temporal breakdown: from the first start to the last end. Time without a kernel is idle, time with a compute kernel
 * is compute time, the rest (exposed communication, memcpys and synchronization) is non-compute time. Overlap: the
 * share of communication that runs in parallel with compute kernels. Cost: O(n) and the engine's merge of intervals.
 */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "analyze/compat/hta/hta.h"
#include "base/error.h"
#include "base/shared.h"
#include "columns/hash_tables.h"

/*
 * ---- Busy time of each device over time: the share in each of N_BINS equal bins ----
 *
 *     kernels     [a ][ b ]        [c]  [ d  ]        of all streams of the device, merged
 *     bins       |------|------|------|------|
 *     busy          90 %   30 %   40 %   80 %         at the start of each bin
 */

#define N_BINS 500

static enum sutra_status make_series(const struct hta_input *input, struct tuples *devices, struct arena *arena,
                                     struct sutra_hta *hta, struct sutra_error *error) {
    enum { PID = 1 };
    const struct hta_kernels *kernels = &input->kernels;
    const struct hta_rows *rows = &input->rows;
    const value_key *pids = rows->events->pid;
    int64_t *start = arena_alloc(arena, kernels->n, sizeof *start), *end = arena_alloc(arena, kernels->n, sizeof *end);
    uint32_t *device_of = arena_alloc(arena, kernels->n, sizeof *device_of);
    row_t *first = arena_alloc(arena, kernels->n, sizeof *first); /* by device: a kernel, whose pid it has */
    int64_t *busy = arena_alloc(arena, N_BINS, sizeof *busy), last_end = 0;
    row_t n = 0;
    TRY(arena_status(arena, error));

    /* kernels, memcpys and memsets with their devices, by start; devices are numbered as they first occur in time */
    for (row_t i = 0; i < kernels->n; i++) {
        row_t event = kernels->event[i], n_devices = devices->n;
        if (!(rows->state[event] & HTA_WORK) || kernels->end[i] < kernels->start[i])
            continue;
        uint32_t device = tuples_number(devices, (struct tuple){{pids[event]}});
        TRY_ALLOC(device != TUPLE_NONE, error);
        if (device == n_devices)
            first[device] = event;
        last_end = n == 0 || kernels->end[i] > last_end ? kernels->end[i] : last_end;
        start[n] = kernels->start[i];
        end[n] = kernels->end[i];
        device_of[n++] = device;
    }
    int64_t begin = n ? start[0] : 0, length = (last_end - begin + N_BINS - 1) / N_BINS;
    if (length == 0) {
        hta->result.reasons[SUTRA_HTA_BUSY_SERIES] = "all kernels have a duration of 0";
        return SUTRA_OK;
    }
    struct merged merged = {0};
    struct merge_intervals_step step = {start, end, device_of, n, devices->n, &merged};
    TRY(input->engine->merge_intervals(input->engine->state, &step, error));

    struct sutra_table *table = result_table_begin(&hta->result, SUTRA_HTA_BUSY_SERIES);
    table_retype(table, PID, kind_of_ids(pids, first, devices->n));
    for (uint32_t device = 0; device < devices->n; device++) {
        memset(busy, 0, N_BINS * sizeof *busy);
        for (row_t i = merged.first[device]; i < merged.first[device + 1]; i++)
            for (int64_t at = merged.start[i] - begin, to = merged.end[i] - begin, next; at < to; at = next) {
                next = (at / length + 1) * length;
                busy[at / length] += MIN(to, next) - at;
            }
        for (int i = 0; i < N_BINS && begin + i * length < last_end; i++) {
            table_real(table, us_of(begin + i * length));
            table_id(table, &input->context->values, pids[first[device]]);
            table_real(table, 100 * (double)busy[i] / (double)length);
        }
    }
    merged_free(&merged);
    return SUTRA_OK;
}

enum sutra_status hta_busy_series(const struct hta_input *input, struct arena *arena, struct sutra_hta *hta,
                                  struct sutra_error *error) {
    struct tuples devices = {0};
    enum sutra_status status = make_series(input, &devices, arena, hta, error);
    tuples_free(&devices);
    return status;
}

/*
 * ---- Idle time of each stream ----
 *
 * Kernels, memcpys and memsets of each stream by start; each gap counts for its cause. The first kernel of a stream has
 * no gap; it makes the row "other", which every stream has.
 */

static const char *const cause_names[IDLE_N_CAUSES] = {"host_wait", "kernel_wait", "other"};

/* Streams in the order of the table, and gaps. */
struct idle {
    uint32_t *number; /* of the stream of each kernel of hta_kernels, or UINT32_MAX */
    int64_t *streams; /* by number */
    uint32_t n_streams;
    uint32_t *groups; /* of each gap: IDLE_N_CAUSES * stream + cause */
    int64_t *gaps;
    row_t n;
    bool *in_table; /* of each group: there is a gap, or the first kernel of the stream */
};

/* Numbers the streams in the order of the table, then finds the number of each kernel's stream. */
static enum sutra_status number_streams(struct idle *idle, const struct hta_input *input, struct arena *arena,
                                        struct sutra_error *error) {
    const struct hta_rows *rows = &input->rows;
    const struct engine *engine = input->engine;
    row_t n_kernels = input->kernels.n, n = 0;
    struct arena_mark mark = arena_mark(arena);
    value_key *keys = arena_alloc(arena, n_kernels, sizeof *keys);
    value_key *wanted = arena_alloc(arena, n_kernels, sizeof *wanted);
    row_t *last = arena_alloc(arena, n_kernels, sizeof *last);
    uint32_t *of_last = arena_alloc(arena, n_kernels, sizeof *of_last); /* by last row of a stream: its number */
    TRY(arena_status(arena, error));
    for (row_t i = 0; i < rows->n; i++)
        if (rows->state[rows->list[i]] & HTA_WORK)
            keys[n++] = rows->stream[rows->list[i]];
    TRY(engine->join(engine->state, &(struct join_step){keys, n, keys, n, last}, error));
    memset(of_last, 0xff, (size_t)n * sizeof *of_last);
    for (row_t i = 0; i < n; i++) {
        if (of_last[last[i]] != UINT32_MAX)
            continue;
        of_last[last[i]] = idle->n_streams;
        idle->streams[idle->n_streams++] = keys[i];
    }
    for (row_t i = 0; i < n_kernels; i++)
        wanted[i] = rows->stream[input->kernels.event[i]];
    TRY(engine->join(engine->state, &(struct join_step){keys, n, wanted, n_kernels, last}, error));
    for (row_t i = 0; i < n_kernels; i++)
        idle->number[i] = rows->state[input->kernels.event[i]] & HTA_WORK ? of_last[last[i]] : UINT32_MAX;
    arena_release(arena, mark);
    return SUTRA_OK;
}

/* Walks the kernels by start; last_end: scratch, the last end of each stream. */
static void measure_gaps(struct idle *idle, const struct hta_input *input, int64_t *last_end) {
    const struct hta_rows *rows = &input->rows;
    for (row_t i = 0; i < input->kernels.n; i++) {
        uint32_t stream = idle->number[i];
        if (stream == UINT32_MAX)
            continue;
        bool *in_table = &idle->in_table[stream * IDLE_N_CAUSES];
        if (in_table[IDLE_OTHER] || in_table[IDLE_HOST_WAIT] || in_table[IDLE_KERNEL_WAIT]) {
            row_t link = rows->link[input->kernels.event[i]];
            bool has_launch = link != ROW_NONE && rows->state[link] & HTA_KEPT;
            int64_t start = input->kernels.start[i];
            enum idle_cause cause =
                idle_cause_of(last_end[stream], start, has_launch, has_launch ? rows->start[link] : 0,
                              (int64_t)input->options.kernel_delay_us * NS_PER_US);
            in_table[cause] = true;
            idle->groups[idle->n] = stream * IDLE_N_CAUSES + cause;
            idle->gaps[idle->n++] = start - last_end[stream];
        }
        in_table[IDLE_OTHER] = true;
        last_end[stream] = input->kernels.end[i];
    }
}

static void add_idle_rows(struct sutra_hta *hta, const struct idle *idle, const struct moments *moments,
                          const struct description *descriptions) {
    struct sutra_table *table = result_table_begin(&hta->result, SUTRA_HTA_IDLE);
    struct sutra_table *stats = result_table_begin(&hta->result, SUTRA_HTA_IDLE_STATS);
    for (uint32_t group = 0; group < idle->n_streams * IDLE_N_CAUSES; group++) {
        const char *cause = cause_names[group % IDLE_N_CAUSES];
        const struct moments *of_stream = &moments[group / IDLE_N_CAUSES * IDLE_N_CAUSES];
        double us = us_of_wide(moments[group].sum);
        double total = us_of_wide(of_stream[IDLE_HOST_WAIT].sum) + us_of_wide(of_stream[IDLE_KERNEL_WAIT].sum) +
                       us_of_wide(of_stream[IDLE_OTHER].sum);
        if (!idle->in_table[group])
            continue;
        table_integer(table, hta->options.rank);
        table_integer(table, idle->streams[group / IDLE_N_CAUSES]);
        table_words(table, cause);
        table_real(table, rounded_to(us, 2));
        table_real(table, total != 0 ? rounded_to(us / total, 2) : NAN);
        table_words(stats, cause);
        table_integer(stats, hta->options.rank);
        table_integer(stats, idle->streams[group / IDLE_N_CAUSES]);
        table_describe(stats, &descriptions[group], 2);
    }
}

enum sutra_status hta_idle(const struct hta_input *input, struct arena *arena, struct sutra_hta *hta,
                           struct sutra_error *error) {
    const struct engine *engine = input->engine;
    row_t n = input->kernels.n;
    struct idle idle = {.number = arena_alloc(arena, n, sizeof *idle.number),
                        .streams = arena_alloc(arena, n, sizeof *idle.streams),
                        .groups = arena_alloc(arena, n, sizeof *idle.groups),
                        .gaps = arena_alloc(arena, n, sizeof *idle.gaps)};
    TRY(arena->failed ? error_memory(error) : number_streams(&idle, input, arena, error));
    if (idle.n_streams == 0) {
        hta->result.reasons[SUTRA_HTA_IDLE] = hta->result.reasons[SUTRA_HTA_IDLE_STATS] =
            "no kernel, memcpy or memset on a stream";
        return SUTRA_OK;
    }
    uint32_t n_groups = idle.n_streams * IDLE_N_CAUSES;
    int64_t *last_end = arena_alloc(arena, idle.n_streams, sizeof *last_end);
    struct description *descriptions = arena_alloc(arena, n_groups, sizeof *descriptions);
    struct moments *moments = arena_zeros(arena, n_groups, sizeof *moments);
    idle.in_table = arena_zeros(arena, n_groups, sizeof *idle.in_table);
    TRY(arena_status(arena, error));
    measure_gaps(&idle, input, last_end);
    TRY(describe_integers(engine, arena, idle.groups, idle.gaps, idle.n, n_groups, NS_PER_US, descriptions, error));
    struct sums_by_key_step sums = {idle.groups, idle.gaps, idle.n, n_groups, moments};
    TRY(engine->sums_by_key(engine->state, &sums, error));
    double by_cause[IDLE_N_CAUSES] = {0};
    for (uint32_t group = 0; group < n_groups; group++)
        by_cause[group % IDLE_N_CAUSES] += us_of_wide(moments[group].sum);
    hta->summary.n_streams = idle.n_streams;
    hta->summary.host_wait_us = by_cause[IDLE_HOST_WAIT];
    hta->summary.kernel_wait_us = by_cause[IDLE_KERNEL_WAIT];
    hta->summary.other_wait_us = by_cause[IDLE_OTHER];
    add_idle_rows(hta, &idle, moments, descriptions);
    return SUTRA_OK;
}

/* ---- Busy time by type ---- */

#define BIT(type) (1 << (type))

_Static_assert(KERNEL_COMPUTATION == 0 && KERNEL_COMMUNICATION == 1 && KERNEL_MEMORY == 2,
               "segments that states count");

/* 100 * part / whole; NaN where the whole is 0. */
static double share(double part, double whole) {
    return whole != 0 ? rounded_to(100 * (part / whole), 2) : NAN;
}

static enum sutra_status measure_types(const struct engine *engine, const struct merged *types, struct sutra_hta *hta,
                                       struct sutra_error *error) {
    struct sutra_hta_summary *summary = &hta->summary;
    int64_t unit = hta->options.nanoseconds ? 1 : NS_PER_US; /* in which HTA adds up durations */
    const wide_t *without_memory = hta->types[0].exact, *with_memory = hta->types[1].exact;
    struct interval_states_step two = {types, 2, unit, &hta->types[0]}, three = {types, 3, unit, &hta->types[1]};
    TRY(engine->interval_states(engine->state, &two, error));
    TRY(engine->interval_states(engine->state, &three, error));
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
        table_words(table, rows[i].name);
        table_number(table, rows[i].us);
        table_real(table, total != 0 ? rounded_to(rows[i].us / total * 100, 1) : NAN);
    }
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
    struct sutra_hta_summary *summary = &hta->summary;
    if (!status && kernels->n > 0) {
        summary->first_us = us_of(input->rows.base + all.start[0]);
        summary->span_us = us_of(all.end[all.n - 1] - all.start[0]);
        summary->busy_us = us_of_wide(cpu_merged_length(&all, 0));
        summary->idle_us = summary->span_us - summary->busy_us;
        double other = summary->span_us - summary->compute_us - summary->idle_us;
        struct sutra_table *table = result_table_begin(&hta->result, SUTRA_HTA_TEMPORAL);
        table_integer(table, hta->options.rank);
        table_number(table, summary->idle_us);
        table_number(table, summary->compute_us);
        table_number(table, other);
        table_number(table, summary->span_us);
        table_real(table, share(summary->idle_us, summary->span_us));
        table_real(table, share(summary->compute_us, summary->span_us));
        table_real(table, share(other, summary->span_us));
    } else if (!status) {
        hta->result.reasons[SUTRA_HTA_TEMPORAL] = "no event has a stream";
    }
    if (!status) {
        hta_types_fill(result_table_begin(&hta->result, SUTRA_HTA_TYPES), &hta->types[0]);
        hta_types_fill(result_table_begin(&hta->result, SUTRA_HTA_TYPES_MEMORY), &hta->types[1]);
        struct sutra_table *table = result_table_begin(&hta->result, SUTRA_HTA_OVERLAP);
        table_integer(table, hta->options.rank);
        table_real(table, share(summary->overlap_us, summary->communication_us));
    }
    merged_free(&all);
    merged_free(&types);
    return status;
}
