/*
 * hta.c - analyzes one trace as HTA does: names and columns of all tables, the lists next to them, the trace with
 * counters, and the run of all metrics.
 *
 *     sutra_hta_run():  trace --> rows, kernels (rows.c) --> metrics[], in parallel --> tables of struct sutra_hta
 *
 * Cost: O(n log n) for n events; each metric states its own.
 */
#include <inttypes.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "analyze/compat/hta/hta.h"
#include "analyze/compat/hta/hta_ranks.h"
#include "base/error.h"
#include "base/options.h"
#include "text/numbers.h"
#include "write/json_copy.h"
#include "write/text.h"

/* ---- Tables: one row each ---- */

/* Columns that are integers or real numbers: as the trace has its times, or as the options have nanoseconds. */
enum { START = SUTRA_COLUMN_TEXT + 1, DUR, TIME, WHOLE };

#define COLUMN(name, kind)                                                                                             \
    { name, kind }

#define DESCRIPTION_COLUMNS                                                                                            \
    REAL("count"), REAL("mean"), REAL("std"), REAL("min"), REAL("25%"), REAL("50%"), REAL("75%"), REAL("max")
#define TYPE_COLUMNS TEXT("kernel_type"), COLUMN("sum", WHOLE), REAL("percentage")
#define NAME_COLUMNS                                                                                                   \
    TEXT("name"), COLUMN("sum (us)", DUR), COLUMN("max (us)", DUR), COLUMN("min (us)", DUR), REAL("stddev"),           \
        REAL("mean (us)"), TEXT("kernel_type"), INTEGER("rank")

/* An event of the trace. */
#define EVENT_COLUMNS                                                                                                  \
    INTEGER("index"), COLUMN("ts", START), COLUMN("dur", DUR), COLUMN("end", TIME), INTEGER("pid"), INTEGER("tid"),    \
        INTEGER("stream"), INTEGER("correlation"), INTEGER("index_correlation"), TEXT("s_cat"), TEXT("s_name")

#define ANNOTATION_COLUMNS                                                                                             \
    TEXT("name"), COLUMN("sum (us)", DUR), COLUMN("max (us)", DUR), COLUMN("min (us)", DUR), REAL("stddev"),           \
        REAL("mean (us)"), INTEGER("rank")

static const struct table_spec specs[SUTRA_HTA_N_TABLES] = {
    [SUTRA_HTA_TEMPORAL] = {"temporal_breakdown", OF_JOB,
                            .columns = {INTEGER("rank"), COLUMN("idle_time(us)", TIME),
                                        COLUMN("compute_time(us)", TIME), COLUMN("non_compute_time(us)", TIME),
                                        COLUMN("kernel_time(us)", TIME), REAL("idle_time_pctg"),
                                        REAL("compute_time_pctg"), REAL("non_compute_time_pctg")}},
    [SUTRA_HTA_TYPES] = {"gpu_kernel_breakdown.types", OF_JOB, .columns = {TYPE_COLUMNS}},
    [SUTRA_HTA_KERNELS] = {"gpu_kernel_breakdown.kernels", OF_JOB, .columns = {NAME_COLUMNS}},
    [SUTRA_HTA_TYPES_MEMORY] = {"gpu_kernel_breakdown_mem.types", OF_JOB, .columns = {TYPE_COLUMNS}},
    [SUTRA_HTA_KERNELS_MEMORY] = {"gpu_kernel_breakdown_mem.kernels", OF_JOB, .columns = {NAME_COLUMNS}},
    [SUTRA_HTA_IDLE] = {"idle_time_breakdown.rows", OF_JOB,
                        .columns = {INTEGER("rank"), INTEGER("stream"), TEXT("idle_category"), REAL("idle_time"),
                                    REAL("idle_time_ratio")}},
    [SUTRA_HTA_IDLE_STATS] = {"idle_time_breakdown.stats", OF_JOB,
                              .columns = {TEXT("idle_category"), INTEGER("rank"), INTEGER("stream"),
                                          DESCRIPTION_COLUMNS}},
    [SUTRA_HTA_OVERLAP] = {"comm_comp_overlap", OF_JOB, .columns = {INTEGER("rank"), REAL("comp_comm_overlap_pctg")}},
    [SUTRA_HTA_QUEUE_SUMMARY] = {"queue_length_summary", OF_JOB,
                                 .columns = {INTEGER("rank"), INTEGER("stream"), DESCRIPTION_COLUMNS}, "queue_length",
                                 2},
    [SUTRA_HTA_BANDWIDTH] = {"memory_bw_summary", OF_JOB,
                             .columns = {INTEGER("rank"), TEXT("name"), DESCRIPTION_COLUMNS}, "memory_bw_gbps", 2},
    [SUTRA_HTA_LAUNCHES] = {"cuda_kernel_launch_stats", SERIES_OF_RANK,
                            .columns = {INTEGER("correlation"), COLUMN("cpu_duration", DUR),
                                        COLUMN("gpu_duration", DUR), COLUMN("launch_delay", TIME)}},
    [SUTRA_HTA_QUEUE] = {"queue_length_time_series", SERIES_OF_RANK,
                         .columns = {INTEGER("index"), COLUMN("ts", START), INTEGER("pid"), INTEGER("tid"),
                                     INTEGER("stream"), INTEGER("queue_length")}},
    [SUTRA_HTA_RANKS] = {"rank_summary", OF_JOB,
                         .columns = {INTEGER("rank"), TEXT("file"), INTEGER("events"), INTEGER("kernels"),
                                     REAL("first_us"), REAL("kernel_time_us"), REAL("idle_us"), REAL("compute_us"),
                                     REAL("communication_us"), REAL("exposed_communication_us"),
                                     REAL("exposed_memory_us"), INTEGER("launches")}},
    [SUTRA_HTA_LAUNCH_CALLS] = {"launch_calls", OF_JOB,
                                .columns = {INTEGER("rank"), TEXT("name"), INTEGER("calls"), INTEGER("kernels"),
                                            COLUMN("cpu_duration", TIME), COLUMN("gpu_duration", TIME),
                                            INTEGER("shorter_kernels"), REAL("delay_mean"), REAL("delay_50%"),
                                            REAL("delay_max")}},
    [SUTRA_HTA_STEPS] = {"profiler_steps", OF_JOB,
                         .columns = {INTEGER("rank"), INTEGER("step"), COLUMN("ts", START), COLUMN("dur", DUR),
                                     INTEGER("kernels"), COLUMN("kernel_sum_us", TIME), COLUMN("busy_us", TIME),
                                     COLUMN("compute_us", TIME), COLUMN("communication_us", TIME),
                                     COLUMN("exposed_communication_us", TIME)}},
    [SUTRA_HTA_GPU_ANNOTATIONS] = {"gpu_user_annotation_breakdown", OF_JOB, .columns = {ANNOTATION_COLUMNS}},
    [SUTRA_HTA_ANNOTATIONS] = {"user_annotation_breakdown", OF_JOB, .columns = {ANNOTATION_COLUMNS}},
    [SUTRA_HTA_ANNOTATED] = {"gpu_kernels_with_user_annotations", SERIES_OF_RANK,
                             .columns = {EVENT_COLUMNS, TEXT("s_user_annotation")}},
    [SUTRA_HTA_OPERATORS] = {"aten_op_kernels_and_delay", OF_RANK,
                             .columns = {TEXT("aten_op_name"), TEXT("kernel_sequence"), INTEGER("occurrence_count"),
                                         REAL("avg_aten_op_launch_delay"), REAL("avg_runtime_delay")}},
    [SUTRA_HTA_SEQUENCES] = {"frequent_cuda_kernel_sequences", OF_RANK,
                             .columns = {TEXT("pattern"), INTEGER("count"), COLUMN("GPU kernel duration (us)", TIME),
                                         COLUMN("CPU op duration (us)", TIME)}},
    [SUTRA_HTA_BANDWIDTH_SERIES] = {"memory_bw_time_series", SERIES_OF_RANK,
                                    .columns = {REAL("ts"), INTEGER("pid"), TEXT("name"), REAL("memory_bw_gbps")}},
    [SUTRA_HTA_BLOCKED] = {"time_spent_blocked_on_full_queue", OF_JOB,
                           .columns = {INTEGER("rank"), INTEGER("stream"), REAL("duration_at_max_queue_length"),
                                       REAL("relative_duration_at_max_queue_length")}},
    [SUTRA_HTA_LAUNCH_HISTOGRAM] = {"cuda_kernel_launch_histogram", OF_JOB,
                                    .columns = {INTEGER("rank"), TEXT("kind"), INTEGER("from_us"), INTEGER("to_us"),
                                                INTEGER("launches"), COLUMN("sum_us", TIME)}},
    [SUTRA_HTA_BUSY_SERIES] = {"gpu_busy_time_series", SERIES_OF_RANK,
                               .columns = {REAL("ts"), INTEGER("pid"), REAL("busy_pctg")}},
    [SUTRA_HTA_RANGES] = {"cuda_profiler_ranges", SERIES_OF_RANK,
                          .columns = {INTEGER("index"), INTEGER("index_runtime"), INTEGER("operator"),
                                      TEXT("operator_name")}},
    [SUTRA_HTA_COUNTERS] = {"cuda_profiler_counters", SERIES_OF_RANK, .columns = {TEXT("counter")}},
    [SUTRA_HTA_ROWS] = {"rows", SERIES_OF_RANK, .columns = {EVENT_COLUMNS, INTEGER("iteration")}},
    [SUTRA_HTA_STRAGGLERS] = {"potential_stragglers", OF_JOB,
                              .columns = {INTEGER("rank"), INTEGER("collectives"), INTEGER("n_arrived_last"),
                                          REAL("late_us"), REAL("max_late_us"), REAL("wait_us"), INTEGER("marks")}},
    [SUTRA_HTA_STRAGGLER_METRIC] = {"potential_stragglers.metric", OF_JOB,
                                    .columns = {INTEGER("rank"), INTEGER("stream"), INTEGER("iteration"), TEXT("name"),
                                                INTEGER("index"), REAL("ts"), REAL("dur"),
                                                REAL("normalized_start_time"), REAL("duration")}},
};

bool hta_result_init(struct sutra_result *result) {
    bool ok = result_init(result, specs, SUTRA_HTA_N_TABLES);
    result->verbatim = true;
    return ok;
}

uint32_t hta_real_kinds(const struct sutra_hta_options *options, bool starts_real, bool durs_real) {
    return (uint32_t)starts_real << START | (uint32_t)durs_real << DUR | (uint32_t)(starts_real || durs_real) << TIME |
           (uint32_t)options->nanoseconds << WHOLE;
}

/* ---- Lists: profiler steps, potential stragglers, and the options of all tables ---- */
static void out_list(struct text_out *text, const int64_t *numbers, uint64_t n) {
    out_add(text, "[");
    for (uint64_t i = 0; i < n; i++) {
        out_add(text, i ? ", " : "");
        out_integer(text, numbers[i]);
    }
    out_add(text, "]");
}

static bool write_steps(const void *ranks, struct text_out *text) {
    const struct hta_stragglers *stragglers = hta_ranks_stragglers(ranks);
    out_list(text, stragglers->steps, stragglers->n_steps);
    out_add(text, "\n");
    return true;
}

/* A list per number of candidates; null where HTA fails. */
static bool write_stragglers(const void *ranks, struct text_out *text) {
    enum { MAX_CANDIDATES = 3 };
    const struct hta_stragglers *stragglers = hta_ranks_stragglers(ranks);
    struct arena arena = {0};
    int64_t list[MAX_CANDIDATES];
    for (uint64_t n = 1; n <= MAX_CANDIDATES; n++) {
        uint64_t n_listed = stragglers_list(stragglers, n, list, &arena);
        out_format(text, "%s \"num_candidates=%d\": ", n > 1 ? ",\n" : "{\n", (int)n);
        if (n_listed)
            out_list(text, list, n_listed);
        else
            out_add(text, "null");
    }
    out_add(text, "\n}\n");
    bool ok = !arena.failed;
    arena_free(&arena);
    return ok;
}

/* The list for one number of candidates, of the requested steps only. */
struct straggler_request {
    const struct sutra_hta_ranks *ranks;
    const int64_t *steps;
    size_t n_steps;
    uint64_t n_candidates;
};

static bool write_requested(const void *of, struct text_out *text) {
    const struct straggler_request *request = of;
    struct hta_stragglers stragglers = {0};
    struct arena arena = {0};
    bool ok = hta_ranks_find_stragglers(request->ranks, request->steps, request->n_steps, &stragglers, &arena);
    int64_t *list = ok ? arena_alloc(&arena, stragglers.n_metric, sizeof *list) : NULL;
    uint64_t n = list ? stragglers_list(&stragglers, request->n_candidates, list, &arena) : 0;
    if (n)
        out_list(text, list, n);
    else
        out_add(text, "null");
    out_add(text, "\n");
    ok = ok && !arena.failed;
    strings_free(&stragglers.strings);
    arena_free(&arena);
    return ok;
}

enum sutra_status sutra_hta_ranks_write_stragglers(struct sutra_context *context, const struct sutra_hta_ranks *ranks,
                                                   const int64_t *steps, size_t n_steps, uint64_t n_candidates,
                                                   const char *path, uint64_t *n_bytes, struct sutra_error *error) {
    const struct straggler_request request = {ranks, steps, n_steps, n_candidates};
    return text_file_write(context, path, write_requested, &request, n_bytes, error);
}

static bool write_rules(const void *ranks, struct text_out *text) {
    const struct sutra_hta_options *rules = sutra_hta_ranks_rules(ranks);
    out_format(text, "{\n \"hta_version\": \"%s\",\n", sutra_hta_version_name(rules->hta_version));
    out_format(text, " \"compat\": %s,\n", rules->compat ? "true" : "false");
    out_format(text, " \"last_step\": %s,\n", rules->last_step ? "true" : "false");
    out_format(text, " \"all_launches\": %s,\n", rules->all_launches ? "true" : "false");
    out_format(text, " \"nanoseconds\": %s,\n", rules->nanoseconds ? "true" : "false");
    out_format(text, " \"kernels\": %" PRIu64 ",\n", rules->n_kernels);
    out_format(text, " \"kernel_delay_us\": %" PRIu64 ",\n", rules->kernel_delay_us);
    out_format(text, " \"full_queue\": %" PRIu64 ",\n \"sequences_of\": ", rules->full_queue);
    out_string(text, rules->sequences_of, strlen(rules->sequences_of));
    out_format(text, ",\n \"sequence_kernels\": %" PRIu64 "\n}\n", rules->sequence_kernels);
    return true;
}

enum sutra_status sutra_hta_ranks_write_list(struct sutra_context *context, const struct sutra_hta_ranks *ranks,
                                             enum sutra_hta_list list, const char *path, uint64_t *n_bytes,
                                             struct sutra_error *error) {
    static bool (*const writers[])(const void *, struct text_out *) = {[SUTRA_HTA_LIST_STEPS] = write_steps,
                                                                       [SUTRA_HTA_LIST_STRAGGLERS] = write_stragglers,
                                                                       [SUTRA_HTA_LIST_RULES] = write_rules};
    return text_file_write(context, path, writers[list], ranks, n_bytes, error);
}

/*
 * ---- The trace with counters ----
 *
 * A copy of the trace that shows in Perfetto the queue length of each stream, the bandwidth of each kind of memcpy, and
 * the share of busy time of each device.
 *
 *     {"pid": 0, "ts": 1700, "args": {"Queue Length": 3}, "ph": "C", "name": "Queue Length", "id": 7}
 *
 * The file's bytes are copied unchanged; counters follow the last event, in HTA's format. One pass over the bytes and
 * the tables.
 */
/* A table whose rows become counters: from a column of microseconds since `base`. */
struct counter_kind {
    enum sutra_hta_counters bit;
    enum sutra_hta_table table;
    uint32_t ts, pid, value;
    int name, id;       /* columns; NO_COLUMN: the counter is named `called`, and has no id */
    const char *called; /* also the key of its value */
};

#define NO_COLUMN (-1)

static const struct counter_kind kinds[] = {
    {SUTRA_HTA_COUNTERS_QUEUE, SUTRA_HTA_QUEUE, 1, 2, 5, NO_COLUMN, 4, "Queue Length"},
    {SUTRA_HTA_COUNTERS_BANDWIDTH, SUTRA_HTA_BANDWIDTH_SERIES, 0, 1, 3, 2, NO_COLUMN, "Memcpy BW"},
    {SUTRA_HTA_COUNTERS_BUSY, SUTRA_HTA_BUSY_SERIES, 0, 1, 2, NO_COLUMN, NO_COLUMN, "GPU busy, %"},
};

struct counted_trace {
    const struct sutra_device_trace *trace;
    const struct sutra_hta *hta;
    unsigned counters;
};

static void out_cell(struct text_out *text, const struct sutra_table *table, uint32_t column, uint64_t row) {
    size_t length;
    if (table->columns[column].spec.kind == SUTRA_COLUMN_TEXT) {
        const char *bytes = table_get_text(table, column, row, &length);
        out_string(text, bytes, length);
    } else if (table->columns[column].spec.kind == SUTRA_COLUMN_INTEGER) {
        out_integer(text, table_get_integer(table, column, row));
    } else {
        out_number(text, table_get_real(table, column, row));
    }
}

static void write_counter(struct text_out *text, const struct counter_kind *kind, const struct sutra_table *table,
                          int64_t base_ns, uint64_t row) {
    /* microseconds on the trace's own clock, with nanoseconds as decimals where they are not 0 */
    int64_t ns = base_ns + llrint(table_get_real(table, kind->ts, row) * NS_PER_US);
    int64_t whole = ns / NS_PER_US, rest = ns % NS_PER_US;
    if (rest < 0) {
        whole--;
        rest += NS_PER_US;
    }
    out_add(text, ",\n{\"pid\": ");
    out_cell(text, table, kind->pid, row);
    out_add(text, ", \"ts\": ");
    out_integer(text, whole);
    if (rest)
        out_format(text, ".%03d", (int)rest);
    out_format(text, ", \"args\": {\"%s\": ", kind->called);
    out_cell(text, table, kind->value, row);
    out_add(text, "}, \"ph\": \"C\", \"name\": ");
    if (kind->name == NO_COLUMN)
        out_format(text, "\"%s\"", kind->called);
    else
        out_cell(text, table, (uint32_t)kind->name, row);
    if (kind->id != NO_COLUMN) {
        out_add(text, ", \"id\": ");
        out_cell(text, table, (uint32_t)kind->id, row);
    }
    out_add(text, "}");
    out_step(text);
}

static bool write_trace(const void *of, struct text_out *text) {
    const struct counted_trace *counted = of;
    const struct sutra_device_trace *trace = counted->trace;
    size_t from = 0;
    if (trace->events.n > 0)
        trace_copy_to(trace, text, &from, trace_events_end(trace));
    for (size_t i = 0; trace->events.n > 0 && i < sizeof kinds / sizeof *kinds; i++) {
        const struct sutra_table *table = sutra_result_table(&counted->hta->result, kinds[i].table, NULL);
        if (!(counted->counters & kinds[i].bit))
            continue;
        for (uint64_t row = 0; table && row < table->n_rows; row++)
            write_counter(text, &kinds[i], table, counted->hta->base, row);
    }
    trace_copy_to(trace, text, &from, trace->document.source.size);
    return true;
}

enum sutra_status sutra_hta_write_counters(struct sutra_context *context, const struct sutra_device_trace *trace,
                                           const struct sutra_hta *hta, unsigned counters, const char *path,
                                           uint64_t *n_bytes, struct sutra_error *error) {
    const struct counted_trace counted = {trace, hta, counters};
    return text_file_write(context, path, write_trace, &counted, n_bytes, error);
}

/* ---- The run of one trace ---- */

enum sutra_status hta_options_init(const struct sutra_hta_options *given, struct sutra_hta_options *taken,
                                   struct sutra_error *error) {
    static const struct options_form form = OPTIONS_FORM(sutra_hta_options, nanoseconds);
    TRY(options_copy(&form, given, taken, error));
    if (taken->n_kernels == 0)
        taken->n_kernels = 10;
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

/* The metrics, the longest first, so that threads finish at about the same time. The first N_OF_RANK only make tables
 * that are not of the job. The last asks the trace for texts, which no other thread may do meanwhile. */
static hta_metric *const metrics[] = {hta_operators, hta_annotated,  hta_sequences, hta_busy_series, hta_ranges,
                                      hta_row_table, hta_queue,      hta_bandwidth, hta_calls,       hta_launches,
                                      hta_busy,      hta_steps,      hta_idle,      hta_spans,       hta_annotations,
                                      hta_names,     hta_collectives};
enum { N_OF_RANK = 6, N_METRICS = sizeof metrics / sizeof *metrics, ASKING = N_METRICS - 1 };

/* Concurrent metrics allocate from an arena of their own. */
static enum sutra_status run_metric(void *arg, size_t i, struct sutra_error *error) {
    struct hta_making *making = arg;
    struct arena own = {0}, *arena = making->concurrent ? &own : &making->arena;
    struct arena_mark mark = arena_mark(arena);
    enum sutra_status status = context_check_cancelled(making->input.context, error);
    if (!status)
        status = metrics[making->first_metric + i](&making->input, arena, making->made, error);
    arena_release(arena, mark);
    arena_free(&own);
    return status;
}

/* Runs metrics[first..end) on all threads of a pool, or one after the other (NULL). */
static enum sutra_status run_metrics(struct hta_making *making, struct pool *pool, size_t first, size_t end) {
    making->concurrent = pool != NULL;
    making->first_metric = first;
    return pool_try(pool, end - first, run_metric, making, &making->error);
}

enum sutra_status hta_making_begin(struct sutra_context *context, const struct sutra_device_trace *trace,
                                   const struct sutra_hta_options *options, bool in_background, struct hta_making **of,
                                   struct sutra_error *error) {
    struct sutra_hta_options taken;
    TRY(hta_options_init(options, &taken, error));
    struct hta_making *making = calloc(1, sizeof *making);
    struct sutra_hta *made = calloc(1, sizeof *made);
    if (!making || !made || !hta_result_init(&made->result)) {
        sutra_hta_free(made);
        free(making);
        return error_memory(error);
    }
    *making = (struct hta_making){.input.options = taken,
                                  .trace = trace,
                                  .in_background = in_background,
                                  .engine = in_background ? engine_cpu(NULL) : context->engine,
                                  .made = made};
    making->input.context = context;
    making->input.engine = &making->engine;
    if (making->engine.concurrent /* the CPU's */ && pool_threads(context->pool) > 1)
        making->pool = context->pool;
    made->options = taken;
    made->summary.size = sizeof made->summary;
    hta_collectives_init(made);
    *of = making;
    return SUTRA_OK;
}

static enum sutra_status run_all(struct hta_making *making) {
    struct hta_input *input = &making->input;
    struct sutra_hta *hta = making->made;
    struct arena *arena = &making->arena;
    struct sutra_error *error = &making->error;
    TRY(hta_rows_make(input, making->trace, arena, &input->rows, &hta->summary, error));
    hta->starts_real = input->rows.starts_real;
    hta->durs_real = input->rows.durs_real;
    hta->result.real_kinds = hta_real_kinds(&hta->options, hta->starts_real, hta->durs_real);
    hta->base = input->rows.base;
    hta->warnings[0] = input->rows.warning;
    TRY(hta_iterations_make(&input->rows, &input->options, arena, &input->iterations, error));
    TRY(hta_kernels_make(&input->rows, &input->options, input->engine, arena, &input->kernels, error));
    TRY(hta_correlated_make(&input->rows, input->kernels.n, input->engine, arena, &input->correlated, error));
    /* rows with a stream are kernels, memcpys and memsets, or synchronizations */
    for (row_t i = 0; i < input->kernels.n; i++)
        hta->summary.n_kernels += (input->rows.state[input->kernels.event[i]] & HTA_WORK) != 0;
    hta->summary.n_no_work = input->kernels.n - hta->summary.n_kernels;
    return making->in_background ? run_metrics(making, NULL, N_OF_RANK, ASKING) : SUTRA_OK;
}

void hta_making_do(void *of) {
    struct hta_making *making = of;
    making->status = run_all(making);
}

enum sutra_status hta_making_end(void *of, void **hta, struct sutra_error *error) {
    struct hta_making *making = of;
    struct sutra_hta *made = making->made;
    enum sutra_status status = making->status;
    size_t first = making->input.options.only_joined ? N_OF_RANK : 0;
    if (!status && making->in_background)
        status = run_metrics(making, NULL, ASKING, N_METRICS);
    if (!status)
        status = run_metrics(making, making->pool, first, making->in_background ? N_OF_RANK : N_METRICS);
    if (!status && (made->collectives.failed || made->spans.failed))
        status = error_memory(&making->error);
    if (!status)
        status = result_status(&made->result, &making->error);
    for (size_t i = 0; i < sizeof made->warnings / sizeof *made->warnings; i++)
        if (made->warnings[i])
            context_warn(making->input.context, "%s", made->warnings[i]);
    arena_free(&making->arena); /* the trace may go now */
    if (status)
        sutra_hta_free(made);
    else
        *hta = made;
    error_copy(error, status, &making->error);
    free(making);
    return status;
}

enum sutra_status sutra_hta_run(struct sutra_context *context, const struct sutra_device_trace *trace,
                                const struct sutra_hta_options *options, struct sutra_hta **hta,
                                struct sutra_error *error) {
    struct hta_making *making;
    void *made = NULL;
    context_choose_engine(context, NO_MATCHING);
    TRY(hta_making_begin(context, trace, options, false, &making, error));
    stage_begin(context, "analyze", trace->events.n);
    hta_making_do(making);
    enum sutra_status status = hta_making_end(making, &made, error);
    stage_end(context);
    if (!status)
        *hta = made;
    return status;
}

void sutra_hta_free(struct sutra_hta *hta) {
    if (!hta)
        return;
    result_free(&hta->result);
    table_free(&hta->collectives);
    table_free(&hta->spans);
    queue_list_free(&hta->queues);
    free(hta);
}

void sutra_hta_summary(const struct sutra_hta *hta, struct sutra_hta_summary *summary) {
    report_give(summary, &hta->summary, sizeof hta->summary);
}

int64_t sutra_hta_rank_of(const struct sutra_hta *hta) {
    return hta->options.rank;
}
