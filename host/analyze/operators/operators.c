/*
 * operators.c - makes the tables of operators and kernels of one trace: names and columns of all tables, call paths of
 * launchers, and the run of all makers.
 */
#include <stdlib.h>
#include <string.h>

#include "analyze/launches/arguments.h"
#include "analyze/launches/graphs.h"
#include "analyze/operators/operators.h"
#include "base/error.h"
#include "base/options.h"
#include "columns/rows.h"

/* ---- Call paths of launchers, see operators.h. O(hosts / 64 + paths + launchers). ---- */

static enum sutra_status find_call_paths(const struct launch_model *model, struct arena *arena, struct arena *scratch,
                                         struct call_paths *paths, struct sutra_error *error) {
    const struct attribution_table *attributions = &model->attributions;
    const row_t *enclosing = model->hosts.around;
    struct arena_mark mark = arena_mark(scratch);
    struct row_ranks ranks = row_ranks_alloc(scratch, model->hosts.n);
    TRY(arena_status(scratch, error));
    for (row_t i = 0; i < attributions->n; i++) /* enclosing rows of a row in the set are in the set, too */
        for (row_t row = attributions->host[i]; row != ROW_NONE && row_ranks_add(&ranks, row);)
            row = enclosing[row];
    paths->n = row_ranks_count(&ranks);
    paths->host = arena_alloc(arena, paths->n, sizeof *paths->host);
    paths->above = arena_alloc(arena, paths->n, sizeof *paths->above);
    paths->of_launcher = arena_alloc(arena, attributions->n, sizeof *paths->of_launcher);
    TRY(arena_status(arena, error));
    row_ranks_list(&ranks, paths->host);
    for (row_t path = 0; path < paths->n; path++) {
        row_t row = enclosing[paths->host[path]];
        paths->above[path] = row == ROW_NONE ? ROW_NONE : row_rank(&ranks, row);
    }
    for (row_t i = 0; i < attributions->n; i++)
        paths->of_launcher[i] = row_rank(&ranks, attributions->host[i]);
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

static const struct table_spec specs[SUTRA_OPERATORS_N_TABLES] = {
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

struct sutra_operators *operators_new(const struct operator_rules *rules,
                                      const struct sutra_operators_options *options) {
    struct sutra_operators *operators = calloc(1, sizeof *operators);
    if (!operators || !result_init(&operators->result, rules->specs, rules->n_tables)) {
        free(operators);
        return NULL;
    }
    operators->result.verbatim = rules->is_foreign;
    operators->options = *options;
    return operators;
}

void table_stream(struct sutra_context *context, const struct launch_model *model, row_t device,
                  struct sutra_table *table) {
    value_key stream = model->events->stream[model->devices.event[device]];
    char number[NUMBER_TEXT_MAX];
    size_t length = 0;
    const char *text = key_is_value(stream) ? values_text(&context->values, stream, number, &length) : "";
    table_text(table, text, length);
}

/* ---- The run of all makers ---- */

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

/* Makes the tables of operators that request columns of the trace, and requests the columns of the other ones. `rates`
 * needs rates_end() in any case. */
static enum sutra_status make_operators(struct op_input *input, struct rates_run *rates, struct arena *arena,
                                        struct arena *scratch, struct sutra_operators *made,
                                        struct sutra_error *error) {
    const struct attribution_table *attributions = &input->model->attributions;
    TRY(find_call_paths(input->model, arena, scratch, &input->paths, error));
    TRY(rates_begin(input, arena, rates, error));
    input->rates = rates;
    const struct op_host_list lists[] = {{attributions->host, attributions->n}, {rates->hosts, rates->n_hosts}};
    TRY(op_arguments_ask(input->context, input->model, lists, scratch, error));
    TRY(operators_by_module(input, scratch, made, error));
    TRY(operators_triton(input, scratch, made, error));
    TRY(operators_communication(input, scratch, made, error));
    return operators_counters(input, scratch, made, error);
}

/* Makes tables of operators, of kernels, or both: first requests columns of the trace, on all threads, then runs one
 * maker per thread. */
static enum sutra_status make_tables(struct op_input *input, const struct launch_model *model, struct arena *arena,
                                     struct arena *scratch, bool operators, bool kernels, struct sutra_operators *made,
                                     struct sutra_error *error) {
    struct rates_run rates = {0};
    size_t first = kernels ? 0 : N_OF_KERNELS, end = operators ? N_MAKERS : N_OF_KERNELS + N_OF_BOTH;
    struct maker_runs runs = {input, made, makers + first};
    uint8_t *categories = NULL;
    TRY(categorize_launchers(model, arena, scratch, &categories, error));
    input->model = model;
    input->categories = categories;
    input->device_ticks = sum_device_time(model);
    made->n_untimed = model->n_untimed;
    enum sutra_status status = operators ? make_operators(input, &rates, arena, scratch, made, error) : SUTRA_OK;
    if (!status && kernels)
        status = launch_configs_preread(input->context, model, error);
    if (!status)
        status = pool_try(input->context->pool, end - first, run_maker, &runs, error);
    rates_end(&rates);
    input->rates = NULL;
    return status ? status : result_status(&made->result, error);
}

static enum sutra_status make(struct sutra_context *context, const struct sutra_device_trace *trace,
                              const struct graph_captures *captures, struct sutra_operators *made,
                              struct sutra_error *error) {
    struct op_input input = {.context = context, .options = made->options};
    struct launch_model model;
    struct graph_kernels graphs = {0};
    struct arena arena = {0}, scratch = {0};
    enum sutra_status status = launch_model_build(context, trace, 0, &arena, &scratch, &model, error);
    if (!status) {
        launch_model_warn(context, &model);
        status = graph_kernels_find(context, &model, captures, input.options.rank, &arena, &scratch, &graphs, error);
    }
    if (!status)
        status = graph_kernels_attach(&model, &graphs, &arena, &scratch, error);
    if (!status)
        status =
            make_tables(&input, &model, &arena, &scratch, !input.options.kernels, input.options.kernels, made, error);
    graph_kernels_free(&graphs);
    arena_free(&arena);
    arena_free(&scratch);
    return status;
}

const struct operator_rules own_operator_rules = {
    .name = "sutra", .specs = specs, .n_tables = SUTRA_OPERATORS_N_TABLES, .make = make};

enum sutra_status operators_make_of(struct sutra_context *context, const struct launch_model *model, int64_t rank,
                                    const char *peaks, struct arena *scratch, struct sutra_operators **operators,
                                    struct sutra_error *error) {
    const struct sutra_operators_options options = {.size = sizeof options, .rank = rank, .peaks = peaks};
    struct op_input input = {.context = context, .options = options};
    struct sutra_operators *made = operators_new(&own_operator_rules, &options);
    struct arena arena = {0};
    TRY_ALLOC(made, error);
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

enum sutra_status operators_run(struct sutra_context *context, const struct sutra_device_trace *trace,
                                const struct operator_rules *rules, const struct sutra_operators_options *options,
                                const struct graph_captures *captures, struct sutra_operators **operators,
                                struct sutra_error *error) {
    struct sutra_operators *made = operators_new(rules, options);
    TRY_ALLOC(made, error);
    context_choose_engine(context, NO_MATCHING);
    stage_begin(context, "analyze", trace->events.n);
    enum sutra_status status = rules->make(context, trace, captures, made, error);
    stage_end(context);
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
    TRY(op_options_init(options, &taken, error));
    enum sutra_status status = graph_captures_read(context, taken.captures, taken.n_captures, &captures, error);
    if (!status)
        status =
            operators_run(context, trace, &own_operator_rules, &taken, captures.n ? &captures : NULL, operators, error);
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
