/*
 * hta.c - sutra_hta_...(): making the tables of one trace.
 */
#include "analyze/hta/hta.h"

#include <stdlib.h>
#include <string.h>

#include "base/error.h"
#include "base/options.h"

enum sutra_status hta_options_take(const struct sutra_hta_options *given, struct sutra_hta_options *taken,
                                   struct sutra_error *error) {
    static const struct options_form form = OPTIONS_FORM(sutra_hta_options, nanoseconds);
    enum sutra_status status = options_take(&form, given, taken, error);
    if (!status && taken->n_kernels == 0)
        taken->n_kernels = 10;
    if (status)
        return status;
    if (taken->kernel_delay_us == 0)
        taken->kernel_delay_us = 30;
    if (taken->full_queue == 0)
        taken->full_queue = 1024;
    if (!taken->sequences_of)
        taken->sequences_of = "aten::";
    if (taken->sequence_kernels == 0)
        taken->sequence_kernels = 3;
    if ((unsigned)taken->edition < SUTRA_HTA_N_EDITIONS)
        return SUTRA_OK;
    return error_set(error, SUTRA_USAGE, "HTA has no edition of the number %d", (int)taken->edition);
}

/* What is on streams: work, and events that only stand there, as those of synchronisation. */
static void count_work(const struct hta_input *input, struct sutra_hta_summary *summary) {
    for (row_t i = 0; i < input->kernels.n; i++)
        summary->n_kernels += (input->rows.state[input->kernels.event[i]] & HTA_WORK) != 0;
    summary->n_no_work = input->kernels.n - summary->n_kernels;
}

static enum sutra_status make_input(struct hta_input *input, const struct sutra_device_trace *trace,
                                    struct arena *arena, struct sutra_hta *hta, struct sutra_error *error) {
    enum sutra_status status =
        hta_rows_make(input->context, &input->options, trace, arena, &input->rows, &hta->summary, error);
    if (!status)
        status = hta_iterations_make(&input->rows, &input->options, arena, &input->iterations, error);
    if (!status)
        status = hta_kernels_make(&input->rows, &input->options, input->engine, arena, &input->kernels, error);
    if (!status)
        status = hta_correlated_make(&input->rows, input->kernels.n, input->engine, arena, &input->correlated, error);
    if (!status)
        count_work(input, &hta->summary);
    hta->starts_real = input->rows.starts_real;
    hta->durs_real = input->rows.durs_real;
    hta->base = input->rows.base;
    return status;
}

static enum sutra_status make_tables(const struct hta_input *input, struct arena *arena, struct sutra_hta *hta,
                                     struct sutra_error *error) {
    static hta_metric *const metrics[] = {hta_busy,      hta_names,     hta_idle,      hta_launches,    hta_calls,
                                          hta_queue,     hta_bandwidth, hta_steps,     hta_annotations, hta_collectives,
                                          hta_annotated, hta_operators, hta_sequences, hta_busy_series};
    enum { N_METRICS = sizeof metrics / sizeof *metrics, N_JOINED = N_METRICS - 4 }; /* the last are of one rank */
    size_t n = input->options.only_joined ? N_JOINED : N_METRICS;
    enum sutra_status status = SUTRA_OK;
    for (size_t i = 0; i < n && !status; i++) {
        struct arena_mark mark = arena_mark(arena);
        status = metrics[i](input, arena, hta, error);
        if (!status)
            status = context_go_on(input->context, error);
        arena_release(arena, mark);
    }
    bool failed = hta->collectives.failed || hta->spans.failed;
    for (int id = 0; id < SUTRA_HTA_N_TABLES; id++)
        failed |= hta->tables[id].failed;
    if (!status && failed)
        status = error_memory(error);
    return status;
}

enum sutra_status sutra_hta_make(struct sutra_context *context, const struct sutra_device_trace *trace,
                                 const struct sutra_hta_options *options, struct sutra_hta **hta,
                                 struct sutra_error *error) {
    struct sutra_hta_options taken;
    enum sutra_status status = hta_options_take(options, &taken, error);
    if (status)
        return status;
    struct sutra_hta *made = calloc(1, sizeof *made);
    struct hta_input input = {.context = context, .engine = &context->engine};
    struct arena arena = {0};
    if (!made)
        return error_memory(error);
    made->options = input.options = taken;
    made->summary.size = sizeof made->summary;
    context_expect(context, trace->events.n);
    stage_begin(context, "analyze", trace->events.n);
    status = make_input(&input, trace, &arena, made, error);
    if (!status)
        status = make_tables(&input, &arena, made, error);
    stage_end(context);
    arena_free(&arena); /* the trace may go now */
    if (status)
        sutra_hta_free(made);
    else
        *hta = made;
    return status;
}

void sutra_hta_free(struct sutra_hta *hta) {
    if (!hta)
        return;
    for (int id = 0; id < SUTRA_HTA_N_TABLES; id++)
        table_free(&hta->tables[id]);
    free(hta->taken);
    table_free(&hta->collectives);
    table_free(&hta->spans);
    free(hta);
}

const struct sutra_table *sutra_hta_table(const struct sutra_hta *hta, enum sutra_hta_table id, const char **reason) {
    if (reason)
        *reason = hta->made[id] ? NULL : hta->reasons[id] ? hta->reasons[id] : "";
    return hta->made[id] ? &hta->tables[id] : NULL;
}

void sutra_hta_summary(const struct sutra_hta *hta, struct sutra_hta_summary *summary) {
    report_give(summary, &hta->summary, sizeof hta->summary);
}

int64_t sutra_hta_rank_of(const struct sutra_hta *hta) {
    return hta->options.rank;
}

bool hta_table_is_series(int id) {
    return id == SUTRA_HTA_LAUNCHES || id == SUTRA_HTA_QUEUE || id == SUTRA_HTA_ANNOTATED ||
           id == SUTRA_HTA_BANDWIDTH_SERIES || id == SUTRA_HTA_BUSY_SERIES;
}

bool hta_table_of_rank(int id) {
    return hta_table_is_series(id) || id == SUTRA_HTA_OPERATORS || id == SUTRA_HTA_SEQUENCES;
}

int64_t hta_duration(const struct hta_rows *rows) {
    int64_t first = INT64_MAX, last = INT64_MIN;
    for (row_t i = 0; i < rows->n; i++) {
        int64_t start = rows->start[rows->list[i]];
        first = start < first ? start : first;
        last = start > last ? start : last;
    }
    return rows->n ? last - first : 0;
}
