/*
 * operators.c - makes the tables of operators and kernels of one trace: names and columns of all tables, categories and
 * call paths of launchers, and the run of all makers.
 */
#include <stdlib.h>
#include <string.h>

#include "analyze/launches/arguments.h"
#include "analyze/launches/graphs.h"
#include "analyze/operators/operators.h"
#include "analyze/operators/rates.h"
#include "analyze/operators/tracelens_rates.h"
#include "analyze/operators/tracelens_sheets.h"
#include "base/error.h"
#include "base/options.h"
#include "columns/rows.h"

/* ---- Call paths of launchers, see operators.h. O(hosts / 64 + ways + launchers). ---- */

static enum sutra_status op_ways_make(const struct launch_model *model, struct arena *arena, struct arena *scratch,
                                      struct op_ways *ways, struct sutra_error *error) {
    const struct attribution_table *attributions = &model->attributions;
    const row_t *enclosing = model->hosts.around;
    struct arena_mark mark = arena_mark(scratch);
    struct row_ranks ranks = row_ranks_alloc(scratch, model->hosts.n);
    if (scratch->failed)
        return error_memory(error);
    for (row_t i = 0; i < attributions->n; i++) /* enclosing rows of a row in the set are in the set, too */
        for (row_t row = attributions->host[i]; row != ROW_NONE && row_ranks_add(&ranks, row);)
            row = enclosing[row];
    ways->n = row_ranks_count(&ranks);
    ways->host = arena_alloc(arena, ways->n, sizeof *ways->host);
    ways->above = arena_alloc(arena, ways->n, sizeof *ways->above);
    ways->of_launcher = arena_alloc(arena, attributions->n, sizeof *ways->of_launcher);
    if (arena->failed)
        return error_memory(error);
    row_ranks_list(&ranks, ways->host);
    for (row_t way = 0; way < ways->n; way++) {
        row_t row = enclosing[ways->host[way]];
        ways->above[way] = row == ROW_NONE ? ROW_NONE : row_rank(&ranks, row);
    }
    for (row_t i = 0; i < attributions->n; i++)
        ways->of_launcher[i] = row_rank(&ranks, attributions->host[i]);
    arena_release(scratch, mark);
    return SUTRA_OK;
}

/* ---- Tables: one row each ---- */

#define SUM_COLUMNS                                                                                                    \
    INTEGER("kernels"), REAL("device_us"), REAL("self_device_us"), REAL("total_device_us"), REAL("percent")

#define LAUNCH_COLUMNS                                                                                                 \
    TEXT("operator"), TEXT("stream"), TEXT("grid"), TEXT("block"), REAL("registers"), REAL("shared_memory"),           \
        REAL("occupancy_recorded_percent"), REAL("occupancy_percent"), REAL("occupancy_limit_percent"), REAL("waves"), \
        TEXT("limiting_factors")

const struct table_spec operator_table_specs[SUTRA_OPERATORS_N_TABLES] = {
    [SUTRA_TRACELENS_TIMELINE] = {"gpu_timeline", OF_RANK, .columns = {TEXT("type"), REAL("time ms"), REAL("percent")}},
    [SUTRA_TRACELENS_OPS] = {"ops_summary", OF_RANK,
                             .columns = {TEXT("name"), REAL("total_direct_kernel_time_sum"),
                                         REAL("total_subtree_kernel_time_sum"), REAL("total_direct_kernel_time_ms"),
                                         REAL("total_subtree_kernel_time_ms"), INTEGER("Count"), TEXT("Categories"),
                                         REAL("Percentage (%)"), REAL("Cumulative Percentage (%)")}},
    [SUTRA_TRACELENS_CATEGORIES] = {"ops_summary_by_category", OF_RANK,
                                    .columns = {TEXT("op category"), INTEGER("Count"),
                                                REAL("total_direct_kernel_time_ms"), REAL("Percentage (%)"),
                                                REAL("Cumulative Percentage (%)")}},
    [SUTRA_TRACELENS_ARGUMENTS] = {"ops_unique_args", OF_RANK,
                                   .columns = {TEXT("name"),
                                               TEXT("op category"),
                                               TEXT("process_name"),
                                               TEXT("process_label"),
                                               TEXT("thread_name"),
                                               TEXT("Input Dims"),
                                               TEXT("Input type"),
                                               TEXT("Input Strides"),
                                               TEXT("Concrete Inputs"),
                                               INTEGER("operation_count"),
                                               REAL("first_occurrence_time"),
                                               REAL("total_direct_kernel_time_mean"),
                                               REAL("total_subtree_kernel_time_mean"),
                                               REAL("total_direct_kernel_time_median"),
                                               REAL("total_subtree_kernel_time_median"),
                                               REAL("total_direct_kernel_time_std"),
                                               REAL("total_subtree_kernel_time_std"),
                                               REAL("total_direct_kernel_time_min"),
                                               REAL("total_subtree_kernel_time_min"),
                                               REAL("total_direct_kernel_time_max"),
                                               REAL("total_subtree_kernel_time_max"),
                                               REAL("total_direct_kernel_time_sum"),
                                               REAL("total_subtree_kernel_time_sum"),
                                               INTEGER("ex_UID"),
                                               TEXT("kernel_details_summary"),
                                               TEXT("trunc_kernel_details"),
                                               REAL("Percentage (%)"),
                                               REAL("Cumulative Percentage (%)")}},
    [SUTRA_TRACELENS_OPS_BY_MODULE] =
        {"ops_summary_module", OF_RANK,
         .columns = {TEXT("name"), TEXT("parent_module"), REAL("total_direct_kernel_time_sum"),
                     REAL("total_subtree_kernel_time_sum"), INTEGER("total_subtree_kernel_time_count"),
                     REAL("total_direct_kernel_time_ms"), INTEGER("Count"), TEXT("Categories"),
                     TEXT("call_stack_first"), REAL("Percentage (%)"), REAL("Cumulative Percentage (%)")}},
    [SUTRA_TRACELENS_MODULES] = {"nn_modules", OF_RANK,
                                 .columns = {INTEGER("UID"), TEXT("name"), REAL("parent_UID"), INTEGER("kernels"),
                                             REAL("GPU Time"), REAL("nn Parent GPU Time"),
                                             REAL("Non-nn.Module GPU Time")}},
    [SUTRA_TRACELENS_KERNEL_SUMMARY] =
        {"kernel_summary", OF_RANK,
         .columns = {TEXT("Parent op category"), TEXT("Parent cpu_op"), TEXT("Kernel name"), TEXT("Kernel stream"),
                     REAL("Kernel duration (µs)_sum"), INTEGER("Kernel duration (µs)_count"),
                     REAL("Kernel duration (µs)_mean"), REAL("Kernel duration (µs)_min"),
                     REAL("Kernel duration (µs)_max"), REAL("Percent of kernels time (%)"),
                     REAL("Percent of total time (%)")}},
    [SUTRA_TRACELENS_KERNELS] = {"kernels", OF_RANK,
                                 .columns = {INTEGER("UID"),
                                             TEXT("Kernel name"),
                                             REAL("Kernel t start"),
                                             REAL("Kernel duration (µs)"),
                                             TEXT("Kernel stream"),
                                             REAL("Launcher UID"),
                                             TEXT("Launcher"),
                                             TEXT("Grid"),
                                             TEXT("Block"),
                                             REAL("Parent cpu_op UID"),
                                             TEXT("Parent cpu_op"),
                                             TEXT("Input dims"),
                                             TEXT("Input types"),
                                             TEXT("Input strides"),
                                             TEXT("Concrete Inputs"),
                                             TEXT("kernel_file"),
                                             REAL("Parent cpu_op busy time (µs)"),
                                             REAL("Parent cpu_op kernel count"),
                                             REAL("Percent of Parent cpu_op busy time (%)"),
                                             TEXT("Parent op category")}},
    [SUTRA_TRACELENS_SHORT_HISTOGRAM] = {"short_kernel_histogram", OF_RANK,
                                         .columns = {REAL("bin_start"), REAL("bin_end"), INTEGER("count")}},
    [SUTRA_TRACELENS_SHORT_KERNELS] = {"short_kernels_summary", OF_RANK,
                                       .columns = {{0}}}, /* columns depend on the trace */
    [SUTRA_TRACELENS_UNIFIED] = {"unified_perf_summary", OF_RANK, .columns = {{0}}},
    [SUTRA_TRACELENS_GEMM] = {"GEMM", OF_RANK, .columns = {{0}}},
    [SUTRA_TRACELENS_CONV_FWD] = {"CONV_fwd", OF_RANK, .columns = {{0}}},
    [SUTRA_TRACELENS_CONV_BWD] = {"CONV_bwd", OF_RANK, .columns = {{0}}},
    [SUTRA_TRACELENS_SDPA_FWD] = {"SDPA_fwd", OF_RANK, .columns = {{0}}},
    [SUTRA_TRACELENS_SDPA_BWD] = {"SDPA_bwd", OF_RANK, .columns = {{0}}},
    [SUTRA_TRACELENS_UNARY] = {"UnaryElementwise", OF_RANK, .columns = {{0}}},
    [SUTRA_TRACELENS_BINARY] = {"BinaryElementwise", OF_RANK, .columns = {{0}}},
    [SUTRA_TRACELENS_NORMALIZATION] = {"Normalization", OF_RANK, .columns = {{0}}},
    [SUTRA_TRACELENS_REDUCE_FWD] = {"Reduce_fwd", OF_RANK, .columns = {{0}}},
    [SUTRA_TRACELENS_REDUCE_BWD] = {"Reduce_bwd", OF_RANK, .columns = {{0}}},
    [SUTRA_TRACELENS_RATES] = {"rates", OF_RANK,
                               .columns = {TEXT("name"), INTEGER("UID_first"), REAL("GFLOPS_first"),
                                           REAL("Data Moved (MB)_first"), REAL("FLOPS/Byte_first"), REAL("TB/s_mean"),
                                           REAL("TFLOPS/s_mean"), REAL("Kernel Time (µs)_sum"), INTEGER("name_count")}},
    [SUTRA_OPERATORS_TIMELINE] = {"gpu_timeline", OF_JOB,
                                  .columns = {INTEGER("rank"), TEXT("type"), REAL("time_us"), REAL("percent")}},
    [SUTRA_OPERATORS_BY_NAME] = {"operators", OF_JOB,
                                 .columns = {INTEGER("rank"), TEXT("name"), TEXT("kind"), TEXT("category"),
                                             INTEGER("calls"), REAL("host_us"), REAL("host_self_us"), SUM_COLUMNS}},
    [SUTRA_OPERATORS_BY_ARGUMENTS] = {"operators_by_arguments", OF_JOB,
                                      .columns = {INTEGER("rank"), TEXT("name"), TEXT("category"), TEXT("input_dims"),
                                                  TEXT("input_types"), TEXT("input_strides"), TEXT("concrete_inputs"),
                                                  INTEGER("calls"), SUM_COLUMNS}},
    [SUTRA_OPERATORS_BY_CATEGORY] = {"operator_categories", OF_JOB,
                                     .columns = {INTEGER("rank"), TEXT("category"), INTEGER("calls"), SUM_COLUMNS}},
    [SUTRA_OPERATORS_BY_MODULE] = {"modules", OF_JOB,
                                   .columns = {INTEGER("rank"), TEXT("module"), TEXT("kind"), TEXT("parent"),
                                               INTEGER("calls"), REAL("host_us"), REAL("own_us"), INTEGER("kernels"),
                                               REAL("device_us"), REAL("busy_us"), INTEGER("backward_kernels"),
                                               REAL("backward_device_us"), REAL("backward_busy_us")}},
    [SUTRA_OPERATORS_BY_ANNOTATION] = {"annotations", OF_JOB,
                                       .columns = {INTEGER("rank"), TEXT("annotation"), TEXT("parent"),
                                                   INTEGER("calls"), REAL("host_us"), REAL("own_us"),
                                                   INTEGER("kernels"), REAL("device_us"), REAL("busy_us")}},
    [SUTRA_OPERATORS_BY_PATH] = {"call_paths", OF_JOB,
                                 .columns = {INTEGER("rank"), TEXT("path"), INTEGER("calls"), SUM_COLUMNS}},
    [SUTRA_OPERATORS_RATES] =
        {"rates", OF_JOB,
         .columns = {INTEGER("rank"),      TEXT("name"),          TEXT("category"),        TEXT("input_dims"),
                     TEXT("input_types"),  TEXT("input_strides"), TEXT("concrete_inputs"), INTEGER("calls"),
                     INTEGER("kernels"),   REAL("device_us"),     REAL("self_device_us"),  REAL("percent"),
                     REAL("gflops"),       REAL("mbytes"),        REAL("flops_per_byte"),  REAL("tflops_per_s"),
                     REAL("tbytes_per_s"), TEXT("unit"),          TEXT("bound"),           REAL("roofline_percent"),
                     TEXT("missing")}},
    [SUTRA_OPERATORS_RATE_STEPS] = {"rate_steps", OF_JOB,
                                    .columns = {INTEGER("rank"), TEXT("step"), REAL("time_us"), REAL("tflops"),
                                                REAL("tflops_per_s"), TEXT("device"), TEXT("precision"),
                                                REAL("peak_tflops_per_s"), REAL("mfu_percent"),
                                                REAL("unknown_percent")}},
    [SUTRA_OPERATORS_PEAKS] = {"device_peaks", OF_JOB,
                               .columns = {INTEGER("rank"), TEXT("device"), TEXT("unit"), REAL("tflops_per_s"),
                                           REAL("tbytes_per_s")}},
    [SUTRA_OPERATORS_GRAPH_KERNELS] = {"graph_kernels", OF_JOB, .columns = {GRAPH_COLUMNS}},
    [SUTRA_OPERATORS_GRAPH_OPERATORS] = {"graph_operators", OF_JOB,
                                         .columns = {INTEGER("rank"), TEXT("operator"), TEXT("module"), TEXT("method"),
                                                     TEXT("confidence"), INTEGER("kernels"), REAL("device_us"),
                                                     REAL("percent")}},
    [SUTRA_OPERATORS_COMMUNICATION] = {"communication", OF_JOB,
                                       .columns = {INTEGER("rank"), TEXT("library"), TEXT("collective"), TEXT("phase"),
                                                   TEXT("group"), INTEGER("fused"), INTEGER("kernels"),
                                                   REAL("device_us"), REAL("exposed_us")}},
    [SUTRA_OPERATORS_COUNTERS] = {"counters", OF_JOB,
                                  .columns = {INTEGER("rank"), TEXT("device"), TEXT("counter"), TEXT("kernel"),
                                              TEXT("step"), INTEGER("samples"), REAL("mean"), REAL("min"),
                                              REAL("max")}},
    [SUTRA_OPERATORS_TRITON] = {"triton", OF_JOB,
                                .columns = {INTEGER("rank"), TEXT("kernel"), TEXT("source_operators"), REAL("xnumel"),
                                            REAL("rnumel"), INTEGER("calls"), INTEGER("kernels"), REAL("device_us"),
                                            REAL("gflops"), REAL("mbytes"), TEXT("kernel_hash"), TEXT("kernel_file"),
                                            TEXT("kernel_kwargs"), TEXT("missing")}},
    [SUTRA_KERNELS_BY_NAME] = {"kernels", OF_JOB,
                               .columns = {INTEGER("rank"), TEXT("name"), TEXT("class"), INTEGER("kernels"),
                                           REAL("device_us"), REAL("percent"), REAL("mean_us"), REAL("min_us"),
                                           REAL("median_us"), REAL("max_us"), REAL("short_percent"),
                                           REAL("queue_delay_mean_us"), REAL("queue_delay_median_us"),
                                           INTEGER("configurations"), LAUNCH_COLUMNS, TEXT("full_name")}},
    [SUTRA_KERNELS_BY_CONFIGURATION] = {"kernel_configurations", OF_JOB,
                                        .columns = {INTEGER("rank"), TEXT("name"), INTEGER("kernels"),
                                                    REAL("device_us"), REAL("percent"), REAL("mean_us"),
                                                    REAL("queue_delay_mean_us"), LAUNCH_COLUMNS}},
    [SUTRA_KERNELS_DURATIONS] = {"kernel_durations", OF_JOB,
                                 .columns = {INTEGER("rank"), REAL("from_us"), REAL("below_us"), INTEGER("kernels"),
                                             REAL("percent"), REAL("device_us"), REAL("device_percent")}},
};

struct sutra_operators *operators_new(const struct sutra_operators_options *options) {
    struct sutra_operators *operators = calloc(1, sizeof *operators);
    if (!operators || !result_init(&operators->result, operator_table_specs, SUTRA_OPERATORS_N_TABLES)) {
        free(operators);
        return NULL;
    }
    operators->result.verbatim = options->compat;
    operators->options = *options;
    return operators;
}

void op_table_stream(const struct op_input *input, row_t device, struct sutra_table *table) {
    value_key stream = input->model->events->stream[input->model->devices.event[device]];
    char number[NUMBER_TEXT_MAX];
    size_t length = 0;
    const char *text = key_is_value(stream) ? values_text(&input->context->values, stream, number, &length) : "";
    table_text(table, text, length);
}

/* ---- The run of all makers ---- */

/* Memory while tables are made. */
struct op_work {
    struct op_input input;
    struct launch_model model, with_frames;
    const struct graph_captures *captures;
    struct graph_kernels graphs;
    struct arena arena, scratch;
};

/* TraceLens ignores Python functions except in the tables of modules. */
static enum sutra_status make_as_tracelens(struct op_work *work, const struct sutra_device_trace *trace,
                                           struct sutra_operators *made, struct sutra_error *error) {
    static op_maker *const makers[] = {tracelens_timeline,         tracelens_operators, tracelens_arguments,
                                       tracelens_module_operators, tracelens_modules,   tracelens_kernels,
                                       tracelens_unified,          tracelens_sheets,    tracelens_rates};
    struct op_input *input = &work->input;
    struct launch_model *model = &work->model;
    uint8_t *categories = NULL;
    bool has_frames = false;
    enum sutra_status status = launch_model_build(input->context, trace, LAUNCHES_TRACELENS | LAUNCHES_NO_FRAMES,
                                                  &work->arena, &work->scratch, model, error);
    made->n_untimed = model->n_untimed;
    if (status)
        return status;
    launch_model_warn(input->context, model);
    for (uint32_t string = 0; string < model->strings->n && !has_frames; string++)
        has_frames = model->roles[string].category & CATEGORY_PYTHON;
    if (has_frames) {
        status = launch_model_build(input->context, trace, LAUNCHES_TRACELENS, &work->arena, &work->scratch,
                                    &work->with_frames, error);
        input->with_frames = &work->with_frames;
    }
    if (!status)
        status = categorize_launchers(model, &work->arena, &work->scratch, &categories, error);
    if (status)
        return status;
    input->model = model;
    input->categories = categories;
    input->integer_times = tracelens_has_integer_times(model);
    struct tracelens_models models = {0};
    status = tracelens_models_make(input, &work->arena, &models, error);
    input->models = &models;
    for (size_t i = 0; i < sizeof makers / sizeof *makers && !status; i++) {
        status = makers[i](input, &work->scratch, made, error);
        if (!status)
            status = result_status(&made->result, error); /* later makers may read the table */
    }
    tracelens_models_free(&models);
    input->models = NULL;
    return status;
}

/* Makers that request nothing of the trace, each run by one thread with its own memory, the longest first: of tables of
 * kernels, of both, then of operators. */
static op_maker *const makers[] = {operators_kernels,       operators_timeline,     operators_graphs,
                                   operators_rates,         operators_by_arguments, operators_by_name,
                                   operators_by_annotation, operators_by_path,      operators_by_category};
enum { N_MAKERS = sizeof makers / sizeof *makers, N_OF_KERNELS = 1, N_OF_BOTH = 2 };

struct maker_runs {
    const struct op_input *input;
    struct sutra_operators *made;
    op_maker *const *makers;
};

static enum sutra_status run_maker(void *arg, size_t i, struct sutra_error *error) {
    const struct maker_runs *runs = arg;
    struct arena arena = {0};
    enum sutra_status status = runs->makers[i](runs->input, &arena, runs->made, error);
    arena_free(&arena);
    return status;
}

/* Makes tables of operators, of kernels, or both: first requests columns of the trace, on all threads, then runs one
 * maker per thread. */
static enum sutra_status make_tables(struct op_input *input, const struct launch_model *model, struct arena *arena,
                                     struct arena *scratch, bool operators, bool kernels, struct sutra_operators *made,
                                     struct sutra_error *error) {
    struct rates_work rates = {0};
    size_t first = kernels ? 0 : N_OF_KERNELS, end = operators ? N_MAKERS : N_OF_KERNELS + N_OF_BOTH;
    struct maker_runs runs = {input, made, makers + first};
    uint8_t *categories = NULL;
    enum sutra_status status = categorize_launchers(model, arena, scratch, &categories, error);
    if (status)
        return status;
    input->model = input->with_frames = model;
    input->categories = categories;
    input->device_ticks = op_reading_device_time(model);
    made->n_untimed = model->n_untimed;
    if (operators) {
        if ((status = op_ways_make(model, arena, scratch, &input->ways, error)))
            return status;
        status = rates_begin(input, arena, &rates, error);
        input->rates = &rates;
    }
    if (!status && operators) {
        const struct op_host_list lists[] = {{model->attributions.host, model->attributions.n},
                                             {rates.hosts, rates.n_hosts}};
        status = op_arguments_ask(input->context, model, lists, scratch, error);
    }
    if (!status && operators)
        status = operators_by_module(input, scratch, made, error);
    if (!status && operators)
        status = operators_triton(input, scratch, made, error);
    if (!status && operators)
        status = operators_communication(input, scratch, made, error);
    if (!status && operators)
        status = operators_counters(input, scratch, made, error);
    if (!status && kernels)
        status = launch_configs_preread(input->context, model, error);
    if (!status)
        status = pool_try(input->context->pool, end - first, run_maker, &runs, error);
    rates_end(&rates);
    input->rates = NULL;
    return status ? status : result_status(&made->result, error);
}

static enum sutra_status make_as_sutra(struct op_work *work, const struct sutra_device_trace *trace,
                                       struct sutra_operators *made, struct sutra_error *error) {
    struct op_input *input = &work->input;
    struct launch_model *model = &work->model;
    enum sutra_status status = launch_model_build(input->context, trace, 0, &work->arena, &work->scratch, model, error);
    if (status)
        return status;
    launch_model_warn(input->context, model);
    status = graph_kernels_find(input->context, model, work->captures, input->options.rank, &work->arena,
                                &work->scratch, &work->graphs, error);
    if (!status)
        status = graph_kernels_attach(model, &work->graphs, &work->arena, &work->scratch, error);
    if (status)
        return status;
    return make_tables(input, model, &work->arena, &work->scratch, !input->options.kernels, input->options.kernels,
                       made, error);
}

enum sutra_status operators_make_of(struct sutra_context *context, const struct launch_model *model, int64_t rank,
                                    const char *peaks, struct arena *scratch, struct sutra_operators **operators,
                                    struct sutra_error *error) {
    const struct sutra_operators_options options = {.size = sizeof options, .rank = rank, .peaks = peaks};
    struct op_input input = {.context = context, .options = options};
    struct sutra_operators *made = operators_new(&options);
    struct arena arena = {0};
    if (!made)
        return error_memory(error);
    enum sutra_status status = make_tables(&input, model, &arena, scratch, true, true, made, error);
    arena_free(&arena);
    if (status)
        sutra_operators_free(made);
    else
        *operators = made;
    return status;
}

enum sutra_status op_options_init(const struct sutra_operators_options *given, struct sutra_operators_options *taken,
                                  struct sutra_error *error) {
    static const struct options_form form = OPTIONS_FORM(sutra_operators_options, kernels);
    return options_copy(&form, given, taken, error);
}

enum sutra_status operators_run_with(struct sutra_context *context, const struct sutra_device_trace *trace,
                                     const struct sutra_operators_options *options,
                                     const struct graph_captures *captures, struct sutra_operators **operators,
                                     struct sutra_error *error) {
    struct sutra_operators *made = operators_new(options);
    struct op_work work = {.input = {.context = context, .options = *options}, .captures = captures};
    if (!made)
        return error_memory(error);
    context_expect(context, trace->events.n);
    stage_begin(context, "analyze", trace->events.n);
    enum sutra_status status = (options->compat ? make_as_tracelens : make_as_sutra)(&work, trace, made, error);
    stage_end(context);
    graph_kernels_free(&work.graphs);
    arena_free(&work.arena);
    arena_free(&work.scratch);
    if (status)
        sutra_operators_free(made);
    else
        *operators = made;
    return status;
}

enum sutra_status sutra_operators_run(struct sutra_context *context, const struct sutra_device_trace *trace,
                                      const struct sutra_operators_options *options, struct sutra_operators **operators,
                                      struct sutra_error *error) {
    struct sutra_operators_options taken;
    struct graph_captures captures = {.n = 0};
    enum sutra_status status = op_options_init(options, &taken, error);
    if (!status && !taken.compat)
        status = graph_captures_read(context, taken.captures, taken.n_captures, &captures, error);
    if (!status)
        status = operators_run_with(context, trace, &taken, captures.n ? &captures : NULL, operators, error);
    graph_captures_free(&captures);
    return status;
}

void sutra_operators_free(struct sutra_operators *operators) {
    if (!operators)
        return;
    result_free(&operators->result);
    free(operators);
}

int64_t sutra_operators_rank_of(const struct sutra_operators *operators) {
    return operators->options.rank;
}

bool sutra_operators_is_of_job(const struct sutra_operators *operators) {
    return operators->is_of_job;
}
