/*
 * hta_idle.c - what each stream waited for between its kernels.
 *
 * Kernels and copies (synchronisations are neither) of each stream by start; the gap before each counts for what it
 * waited for. The first of a stream has no gap; it makes the row "other", which every stream has.
 */
#include <math.h>
#include <stdlib.h>
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
    struct description *descriptions;
};

static void idle_free(struct idle *idle) {
    free(idle->number);
    free(idle->streams);
    free(idle->groups);
    free(idle->gaps);
    free(idle->seen);
    free(idle->descriptions);
}

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
static enum sutra_status number_streams(struct idle *idle, const struct sutra_hta *hta, struct sutra_error *error) {
    const struct hta_rows *rows = &hta->rows;
    const struct engine *engine = &hta->context->engine;
    row_t n_kernels = hta->kernels.n, n = 0;
    size_t room = (size_t)n_kernels + 1;
    value_key *keys = calloc(room, sizeof *keys), *wanted = malloc(room * sizeof *wanted);
    row_t *last = malloc(room * sizeof *last);
    uint32_t *of_last = malloc(room * sizeof *of_last); /* the number of the stream whose last kernel stands there */
    idle->number = malloc(room * sizeof *idle->number);
    idle->streams = malloc(room * sizeof *idle->streams);
    bool ok = keys && wanted && last && of_last && idle->number && idle->streams;
    enum sutra_status status = ok ? SUTRA_OK : error_memory(error);
    for (row_t i = 0; i < rows->n && !status; i++)
        if (rows->state[rows->list[i]] & ROW_WORK)
            keys[n++] = rows->stream[rows->list[i]];
    if (!status)
        status = engine->join(engine->state, keys, n, keys, n, last, error);
    if (!status)
        give_numbers(idle, keys, last, n, of_last);
    for (row_t i = 0; i < n_kernels && !status; i++)
        wanted[i] = rows->stream[hta->kernels.event[i]];
    if (!status)
        status = engine->join(engine->state, keys, n, wanted, n_kernels, last, error);
    for (row_t i = 0; i < n_kernels && !status; i++)
        idle->number[i] = rows->state[hta->kernels.event[i]] & ROW_WORK ? of_last[last[i]] : UINT32_MAX;
    free(of_last);
    free(last);
    free(wanted);
    free(keys);
    return status;
}

static void add_gap(struct idle *idle, const struct sutra_hta *hta, row_t kernel, int64_t last_end) {
    const struct hta_rows *rows = &hta->rows;
    row_t link = rows->link[hta->kernels.event[kernel]];
    bool has_launch = link != ROW_NONE && rows->state[link] & ROW_KEPT;
    int64_t start = hta->kernels.start[kernel];
    enum idle_cause cause = idle_cause_of(last_end, start, has_launch, has_launch ? rows->start[link] : 0,
                                          (int64_t)hta->options.kernel_delay_us * NS_PER_US);
    uint32_t group = idle->number[kernel] * IDLE_N_CAUSES + cause;
    idle->seen[group] = true;
    idle->groups[idle->n] = group;
    idle->gaps[idle->n++] = start - last_end;
}

/* Walks the kernels by start, with the last end of each stream. */
static enum sutra_status measure_gaps(struct idle *idle, const struct sutra_hta *hta, struct sutra_error *error) {
    row_t n = hta->kernels.n;
    size_t n_groups = (size_t)idle->n_streams * IDLE_N_CAUSES + 1;
    int64_t *last_end = malloc(n_groups * sizeof *last_end);
    idle->groups = malloc(((size_t)n + 1) * sizeof *idle->groups);
    idle->gaps = malloc(((size_t)n + 1) * sizeof *idle->gaps);
    idle->seen = calloc(n_groups, sizeof *idle->seen);
    idle->descriptions = malloc(n_groups * sizeof *idle->descriptions);
    bool ok = last_end && idle->groups && idle->gaps && idle->seen && idle->descriptions;
    for (row_t i = 0; i < n && ok; i++) {
        uint32_t stream = idle->number[i];
        if (stream == UINT32_MAX)
            continue;
        bool *other = &idle->seen[stream * IDLE_N_CAUSES + IDLE_OTHER];
        if (*other || idle->seen[stream * IDLE_N_CAUSES + IDLE_HOST_WAIT] ||
            idle->seen[stream * IDLE_N_CAUSES + IDLE_KERNEL_WAIT])
            add_gap(idle, hta, i, last_end[stream]);
        *other = true;
        last_end[stream] = hta->kernels.end[i];
    }
    free(last_end);
    return ok ? SUTRA_OK : error_memory(error);
}

static void add_rows(struct sutra_hta *hta, const struct idle *idle, const double *sums) {
    struct sutra_table *table = hta_table_begin(hta, SUTRA_HTA_IDLE);
    struct sutra_table *stats = hta_table_begin(hta, SUTRA_HTA_IDLE_STATS);
    for (uint32_t group = 0; group < idle->n_streams * IDLE_N_CAUSES; group++) {
        uint32_t stream = group / IDLE_N_CAUSES;
        const char *cause = cause_names[group % IDLE_N_CAUSES];
        const double *of_stream = sums + (size_t)stream * IDLE_N_CAUSES;
        double total = of_stream[IDLE_HOST_WAIT] + of_stream[IDLE_KERNEL_WAIT] + of_stream[IDLE_OTHER];
        if (!idle->seen[group])
            continue;
        table_integer(table, hta->options.rank);
        table_integer(table, idle->streams[stream]);
        table_text(table, cause, strlen(cause));
        table_real(table, rounded_to(sums[group], 2));
        table_real(table, total != 0 ? rounded_to(sums[group] / total, 2) : NAN);
        table_text(stats, cause, strlen(cause));
        table_integer(stats, hta->options.rank);
        table_integer(stats, idle->streams[stream]);
        table_describe(stats, &idle->descriptions[group], 2);
    }
}

/* Sums of gaps by group, and by cause into the summary. */
static enum sutra_status sum_up(struct sutra_hta *hta, const struct idle *idle, double *sums,
                                struct sutra_error *error) {
    uint32_t n_groups = idle->n_streams * IDLE_N_CAUSES;
    struct moments *moments = calloc((size_t)n_groups + 1, sizeof *moments);
    if (!moments)
        return error_memory(error);
    const struct engine *engine = &hta->context->engine;
    enum sutra_status status =
        engine->sums_by_key(engine->state, idle->groups, idle->gaps, idle->n, n_groups, moments, error);
    if (status) {
        free(moments);
        return status;
    }
    double by_cause[IDLE_N_CAUSES] = {0};
    for (uint32_t group = 0; group < n_groups; group++) {
        sums[group] = us_of_wide(moments[group].sum);
        by_cause[group % IDLE_N_CAUSES] += sums[group];
    }
    free(moments);
    hta->summary.n_streams = idle->n_streams;
    hta->summary.host_wait_us = by_cause[IDLE_HOST_WAIT];
    hta->summary.kernel_wait_us = by_cause[IDLE_KERNEL_WAIT];
    hta->summary.other_wait_us = by_cause[IDLE_OTHER];
    return SUTRA_OK;
}

enum sutra_status hta_idle(struct sutra_hta *hta, struct sutra_error *error) {
    struct idle idle = {0};
    double *sums = NULL;
    enum sutra_status status = number_streams(&idle, hta, error);
    if (!status)
        status = measure_gaps(&idle, hta, error);
    uint32_t n_groups = idle.n_streams * IDLE_N_CAUSES;
    if (!status)
        status = describe_integers(&hta->context->engine, idle.groups, idle.gaps, idle.n, n_groups, NS_PER_US,
                                   idle.descriptions, error);
    if (!status && !(sums = calloc((size_t)n_groups + 1, sizeof *sums)))
        status = error_memory(error);
    if (!status)
        status = sum_up(hta, &idle, sums, error);
    if (!status && idle.n_streams > 0)
        add_rows(hta, &idle, sums);
    else if (!status) {
        hta_table_missing(hta, SUTRA_HTA_IDLE, "no event on a stream has a category of kernels or copies");
        hta_table_missing(hta, SUTRA_HTA_IDLE_STATS, "no event on a stream has a category of kernels or copies");
    }
    free(sums);
    idle_free(&idle);
    return status;
}
