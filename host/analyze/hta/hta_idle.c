/*
 * hta_idle.c - what each stream waited for between its kernels.
 *
 * Kernels and copies (synchronisations are neither) of each stream by start; the gap before each counts for what it
 * waited for. The first of a stream has no gap; it makes the row "other", which every stream has.
 */
#include <math.h>
#include <string.h>

#include "analyze/hta/hta.h"
#include "analyze/hta/hta_rules.h"
#include "base/error.h"

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

static void add_rows(struct sutra_hta *hta, const struct idle *idle, const struct moments *moments,
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
    add_rows(hta, idle, moments, descriptions);
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
