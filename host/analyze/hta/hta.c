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
    if (taken->n_annotations == 0)
        taken->n_annotations = 1000;
    if (taken->kept_ratio == 0)
        taken->kept_ratio = 0.8;
    if (!(taken->kept_ratio > 0 && taken->kept_ratio <= 1))
        return error_set(error, SUTRA_USAGE, "kept_ratio %g is not between 0 and 1", taken->kept_ratio);
    if ((unsigned)taken->hta_version < SUTRA_HTA_N_VERSIONS)
        return SUTRA_OK;
    return error_set(error, SUTRA_USAGE, "unknown HTA version %d (supported: 0.5, 0.6)", (int)taken->hta_version);
}

/* What is on streams: work, and events that only stand there, as those of synchronisation. */
static void count_work(const struct hta_input *input, struct sutra_hta_summary *summary) {
    for (row_t i = 0; i < input->kernels.n; i++)
        summary->n_kernels += (input->rows.state[input->kernels.event[i]] & HTA_WORK) != 0;
    summary->n_no_work = input->kernels.n - summary->n_kernels;
}

static enum sutra_status make_input(struct hta_making *making) {
    struct hta_input *input = &making->input;
    struct sutra_hta *hta = making->made;
    struct arena *arena = &making->arena;
    struct sutra_error *error = &making->error;
    enum sutra_status status = hta_rows_make(input, making->trace, arena, &input->rows, &hta->summary, error);
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
    hta->warnings[0] = input->rows.warning;
    return status;
}

/* ---- Metrics ---- */

/* Of which each writes what is its own, the longest first. The first are of one rank; the last asks the trace for
 * texts, while nobody reads others. */
static hta_metric *const metrics[] = {hta_operators, hta_annotated,  hta_sequences, hta_busy_series, hta_ranges,
                                      hta_row_table, hta_queue,      hta_bandwidth, hta_calls,       hta_launches,
                                      hta_busy,      hta_steps,      hta_idle,      hta_spans,       hta_annotations,
                                      hta_names,     hta_collectives};
enum { N_OF_RANK = 6, N_METRICS = sizeof metrics / sizeof *metrics, ASKING = N_METRICS - 1 };

struct metric_runs {
    struct hta_making *making;
    struct pool *pool;
    hta_metric *const *metrics;
};

/* With memory of its own where several are made at once. */
static enum sutra_status run_metric(void *arg, size_t i, struct sutra_error *error) {
    const struct metric_runs *runs = arg;
    struct hta_making *making = runs->making;
    struct arena own = {0}, *arena = runs->pool ? &own : &making->arena;
    struct arena_mark mark = arena_mark(arena);
    enum sutra_status status = context_go_on(making->input.context, error);
    if (!status)
        status = runs->metrics[i](&making->input, arena, making->made, error);
    arena_release(arena, mark);
    arena_free(&own);
    return status;
}

/* Those from `first` to `end`, on all threads of a pool, or NULL: one after the other. */
static enum sutra_status run_metrics(struct hta_making *making, struct pool *pool, size_t first, size_t end) {
    struct metric_runs runs = {making, pool, metrics + first};
    return pool_try(pool, end - first, run_metric, &runs, &making->error);
}

/* ---- The work on a trace ---- */

static enum sutra_status check_tables(const struct sutra_hta *hta, struct sutra_error *error) {
    bool failed = hta->collectives.failed || hta->spans.failed;
    for (int id = 0; id < SUTRA_HTA_N_TABLES; id++)
        failed |= hta->tables[id].failed;
    return failed ? error_memory(error) : SUTRA_OK;
}

enum sutra_status hta_making_begin(struct hta_making *making, struct sutra_context *context,
                                   const struct sutra_device_trace *trace, const struct sutra_hta_options *options,
                                   bool beside, struct sutra_error *error) {
    *making =
        (struct hta_making){.trace = trace, .beside = beside, .engine = beside ? engine_cpu(NULL) : context->engine};
    enum sutra_status status = hta_options_take(options, &making->input.options, error);
    if (status)
        return status;
    if (!(making->made = calloc(1, sizeof *making->made)))
        return error_memory(error);
    making->input.context = context;
    making->input.engine = &making->engine;
    if (making->engine.concurrent /* the CPU's */ && pool_threads(context->pool) > 1)
        making->pool = context->pool;
    making->made->options = making->input.options;
    making->made->summary.size = sizeof making->made->summary;
    hta_collectives_init(making->made);
    return SUTRA_OK;
}

void hta_making_do(void *arg) {
    struct hta_making *making = arg;
    making->status = make_input(making);
    if (!making->status && making->beside)
        making->status = run_metrics(making, NULL, N_OF_RANK, ASKING);
}

enum sutra_status hta_making_end(struct hta_making *making, struct sutra_hta **hta, struct sutra_error *error) {
    enum sutra_status status = making->status;
    size_t first = making->input.options.only_joined ? N_OF_RANK : 0;
    if (!status && making->beside)
        status = run_metrics(making, NULL, ASKING, N_METRICS);
    if (!status)
        status = run_metrics(making, making->pool, first, making->beside ? N_OF_RANK : N_METRICS);
    if (!status)
        status = check_tables(making->made, &making->error);
    for (size_t i = 0; i < sizeof making->made->warnings / sizeof *making->made->warnings; i++)
        if (making->made->warnings[i])
            context_warn(making->input.context, "%s", making->made->warnings[i]);
    arena_free(&making->arena); /* the trace may go now */
    if (status)
        sutra_hta_free(making->made);
    else
        *hta = making->made;
    return error_hand_on(error, status, &making->error);
}

enum sutra_status sutra_hta_run(struct sutra_context *context, const struct sutra_device_trace *trace,
                                const struct sutra_hta_options *options, struct sutra_hta **hta,
                                struct sutra_error *error) {
    struct hta_making making;
    context_expect(context, trace->events.n); /* which chooses the engine */
    enum sutra_status status = hta_making_begin(&making, context, trace, options, false, error);
    if (status)
        return status;
    stage_begin(context, "analyze", trace->events.n);
    hta_making_do(&making);
    status = hta_making_end(&making, hta, error);
    stage_end(context);
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
    queue_list_free(&hta->queues);
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
           id == SUTRA_HTA_BANDWIDTH_SERIES || id == SUTRA_HTA_BUSY_SERIES || id == SUTRA_HTA_RANGES ||
           id == SUTRA_HTA_COUNTERS || id == SUTRA_HTA_ROWS;
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
