/*
 * tracelens.c - makes TraceLens' tables of one trace: names and columns of all tables, and the run of all makers. Ranks
 * and results are structs of analyze/operators/.
 */
#include "analyze/compat/tracelens/tracelens.h"
#include "base/error.h"

/* Of the kernels of an operator, without and with its child operators. */
#define BOTH_TIMES(ending) REAL("total_direct_kernel_time" ending), REAL("total_subtree_kernel_time" ending)

static const struct table_spec specs[SUTRA_TRACELENS_N_TABLES] = {
    [SUTRA_TRACELENS_TIMELINE] = {"gpu_timeline", OF_RANK, .columns = {TEXT("type"), REAL("time ms"), REAL("percent")}},
    [SUTRA_TRACELENS_OPS] = {"ops_summary", OF_RANK,
                             .columns = {TEXT("name"), BOTH_TIMES("_sum"), BOTH_TIMES("_ms"), INTEGER("Count"),
                                         TEXT("Categories"), REAL("Percentage (%)"),
                                         REAL("Cumulative Percentage (%)")}},
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
                                               BOTH_TIMES("_mean"),
                                               BOTH_TIMES("_median"),
                                               BOTH_TIMES("_std"),
                                               BOTH_TIMES("_min"),
                                               BOTH_TIMES("_max"),
                                               BOTH_TIMES("_sum"),
                                               INTEGER("ex_UID"),
                                               TEXT("kernel_details_summary"),
                                               TEXT("trunc_kernel_details"),
                                               REAL("Percentage (%)"),
                                               REAL("Cumulative Percentage (%)")}},
    [SUTRA_TRACELENS_OPS_BY_MODULE] = {"ops_summary_module", OF_RANK,
                                       .columns = {TEXT("name"), TEXT("parent_module"), BOTH_TIMES("_sum"),
                                                   INTEGER("total_subtree_kernel_time_count"),
                                                   REAL("total_direct_kernel_time_ms"), INTEGER("Count"),
                                                   TEXT("Categories"), TEXT("call_stack_first"), REAL("Percentage (%)"),
                                                   REAL("Cumulative Percentage (%)")}},
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
};

/* TraceLens ignores Python functions except in the tables of modules. */
static enum sutra_status make_tables(struct tracelens_input *input, const struct sutra_device_trace *trace,
                                     struct tracelens_models *models, struct arena *arena, struct arena *scratch,
                                     struct sutra_operators *made, struct sutra_error *error) {
    static tracelens_maker *const makers[] = {tracelens_timeline,         tracelens_operators, tracelens_arguments,
                                              tracelens_module_operators, tracelens_modules,   tracelens_kernels,
                                              tracelens_unified,          tracelens_sheets,    tracelens_rates};
    struct launch_model *model = arena_alloc(arena, 2, sizeof *model), *with_frames = model + 1;
    row_t n_skipped;
    bool has_frames = false;
    TRY(arena_status(arena, error));
    TRY(tracelens_model_build(input->context, trace, false, arena, scratch, model, &input->n_skipped, error));
    made->n_untimed = model->n_untimed;
    launch_model_warn(input->context, model);
    for (uint32_t string = 0; string < model->strings->n && !has_frames; string++)
        has_frames = model->roles[string].category & CATEGORY_PYTHON;
    if (has_frames) {
        TRY(tracelens_model_build(input->context, trace, true, arena, scratch, with_frames, &n_skipped, error));
        input->with_frames = with_frames;
    }
    input->model = model;
    input->categories = tracelens_categories(model, arena);
    TRY(arena_status(arena, error));
    input->integer_times = tracelens_has_integer_times(model);
    TRY(tracelens_models_make(input, arena, models, error));
    input->models = models;
    for (size_t i = 0; i < sizeof makers / sizeof *makers; i++) {
        TRY(makers[i](input, scratch, made, error));
        TRY(result_status(&made->result, error)); /* later makers may read the table */
    }
    return SUTRA_OK;
}

static enum sutra_status make(struct sutra_context *context, const struct sutra_device_trace *trace,
                              const struct graph_captures *captures, struct sutra_operators *made,
                              struct sutra_error *error) {
    struct tracelens_input input = {.context = context};
    struct tracelens_models models = {0};
    struct arena arena = {0}, scratch = {0};
    (void)captures;
    enum sutra_status status = make_tables(&input, trace, &models, &arena, &scratch, made, error);
    tracelens_models_free(&models);
    arena_free(&arena);
    arena_free(&scratch);
    return status;
}

static const struct operator_rules rules = {
    .name = "TraceLens", .specs = specs, .n_tables = SUTRA_TRACELENS_N_TABLES, .is_foreign = true, .make = make};

/* ---- Public functions ---- */

enum sutra_status sutra_tracelens_run(struct sutra_context *context, const struct sutra_device_trace *trace,
                                      int64_t rank, struct sutra_operators **operators, struct sutra_error *error) {
    const struct sutra_operators_options options = {.size = sizeof options, .rank = rank};
    return operators_run(context, trace, &rules, &options, NULL, operators, error);
}

enum sutra_status sutra_tracelens_ranks_run(struct sutra_context *context, const char *const *paths, size_t n_paths,
                                            const struct sutra_operators_ranks_options *options,
                                            struct sutra_operators_ranks **ranks, struct sutra_error *error) {
    return operators_ranks_run(context, paths, n_paths, &rules, options, ranks, error);
}
