/*
 * operators.c - sutra_operators_...(): making the tables of one trace.
 */
#include <stdlib.h>
#include <string.h>

#include "analyze/launches/arguments.h"
#include "analyze/operators/operator_tables.h"
#include "analyze/operators/operators.h"
#include "analyze/operators/rates.h"
#include "analyze/operators/tracelens_rates.h"
#include "analyze/operators/tracelens_sheets.h"
#include "base/error.h"
#include "base/options.h"
#include "columns/rows.h"

/*
 * The category of each charge: by the name of its launcher; else by that of the nearest operator around
 * it whose name is known, up to the first module, so that what a known operator launches through others counts as its
 * own; else by the name of the first piece of work. To the reference nothing around counts.
 */

static enum op_category by_name(const struct op_reading *reading, row_t host, enum op_table table) {
    uint32_t name = host_name(reading, host);
    return op_category_find(strings_text(reading->strings, name), strings_length(reading->strings, name), NULL, 0,
                            table);
}

static enum op_category by_work(const struct op_reading *reading, row_t charge, enum op_table table) {
    row_t first = reading->devices.event[reading->charges.device[reading->charges.first[charge]]];
    uint32_t name = host_name(reading, reading->charges.host[charge]), work = reading->events->name[first];
    return op_category_find(strings_text(reading->strings, name), strings_length(reading->strings, name),
                            strings_text(reading->strings, work), strings_length(reading->strings, work), table);
}

/* The search for what is known around launchers. What was passed on the way stays passed, so ways are cut short. */
struct known_search {
    const struct op_reading *reading;
    uint8_t *of_name;   /* the category of each name of operators, plus 1; 0: not yet looked up */
    uint8_t *is_module; /* of each name of functions of Python: 1 it is one, 2 it is none; 0: not yet looked up */
    row_t *above;       /* by row of hosts */
};

/* Whether a search ends here: at modules, and at operators with a known name. */
static bool is_known(const struct known_search *search, row_t row) {
    const struct op_reading *reading = search->reading;
    uint32_t name = host_name(reading, row);
    uint8_t *category = &search->of_name[name], *module = &search->is_module[name];
    switch (reading->hosts.kind[row]) {
    case HOST_OPERATOR:
        if (!*category)
            *category = (uint8_t)(by_name(reading, row, OP_TABLE_ALL) + 1);
        return *category != OP_OTHER + 1;
    case HOST_FRAME:
        if (!*module)
            *module = op_is_module(reading, row) ? 1 : 2;
        return *module == 1;
    default:
        return false;
    }
}

/* The row itself, or the innermost known one around it that has not ended when it begins. Rows come by rising start. */
static row_t find_known(const struct known_search *search, row_t row) {
    const struct host_rows *hosts = &search->reading->hosts;
    if (is_known(search, row))
        return row;
    row_t found = search->above[row];
    while (found != ROW_NONE && (hosts->stop[found] <= hosts->start[row] || !is_known(search, found)))
        found = search->above[found];
    op_way_cut(search->above, row, found);
    return found;
}

static enum sutra_status categorize_by_all(const struct op_reading *reading, struct arena *scratch, uint8_t *made,
                                           struct sutra_error *error) {
    const struct op_charges *charges = &reading->charges;
    const struct host_rows *hosts = &reading->hosts;
    struct arena_mark mark = arena_mark(scratch);
    const struct known_search search = {.reading = reading,
                                        .of_name = arena_zeros(scratch, reading->strings->n, sizeof *search.of_name),
                                        .is_module = arena_zeros(scratch, reading->strings->n, 1),
                                        .above = arena_take(scratch, hosts->n, sizeof *search.above)};
    enum sutra_status status = arena_status(scratch, error);
    if (!status && hosts->n)
        memcpy(search.above, hosts->parent, hosts->n * sizeof *search.above);
    for (row_t i = 0; i < charges->n && !status; i++) {
        row_t known = find_known(&search, charges->host[i]);
        bool found = known != ROW_NONE && hosts->kind[known] == HOST_OPERATOR;
        made[i] = found ? (uint8_t)(search.of_name[host_name(reading, known)] - 1)
                        : (uint8_t)by_work(reading, i, OP_TABLE_ALL);
    }
    arena_release(scratch, mark);
    return status;
}

enum sutra_status op_charges_categorize(const struct op_reading *reading, struct arena *arena, struct arena *scratch,
                                        uint8_t **categories, struct sutra_error *error) {
    const struct op_charges *charges = &reading->charges;
    uint8_t *made = arena_take(arena, charges->n, sizeof *made);
    enum sutra_status status = arena_status(arena, error);
    if (!status && !(reading->rules & READING_REFERENCE))
        status = categorize_by_all(reading, scratch, made, error);
    for (row_t i = 0; i < charges->n && !status && reading->rules & READING_REFERENCE; i++)
        made[i] = (uint8_t)by_work(reading, i, OP_TABLE_TRACELENS);
    *categories = made;
    return status;
}

/*
 * Charges and what is around them to numbers: in come rows of the host that are charged, out go the rows on
 * their ways in order.
 */

/* What is around a row that is there is there, too. */
static void add_ways(const struct op_reading *reading, const struct row_ranks *ranks) {
    for (row_t i = 0; i < reading->charges.n; i++)
        for (row_t row = reading->charges.host[i]; row != ROW_NONE && row_ranks_add(ranks, row);)
            row = reading->hosts.around[row];
}

static void list_ways(const struct op_reading *reading, const struct row_ranks *ranks, struct op_ways *ways) {
    row_ranks_list(ranks, ways->host);
    for (row_t way = 0; way < ways->n; way++) {
        row_t around = reading->hosts.around[ways->host[way]];
        ways->above[way] = around == ROW_NONE ? ROW_NONE : row_rank(ranks, around);
    }
    for (row_t i = 0; i < reading->charges.n; i++)
        ways->of_charge[i] = row_rank(ranks, reading->charges.host[i]);
}

/* By our rules; in the arena. O(hosts / 64 + ways + charges). */
static enum sutra_status op_ways_make(const struct op_reading *reading, struct arena *arena, struct arena *scratch,
                                      struct op_ways *ways, struct sutra_error *error) {
    struct arena_mark mark = arena_mark(scratch);
    struct row_ranks ranks = row_ranks_take(scratch, reading->hosts.n);
    enum sutra_status status = arena_status(scratch, error);
    if (!status) {
        add_ways(reading, &ranks);
        ways->n = row_ranks_count(&ranks);
        ways->host = arena_take(arena, ways->n, sizeof *ways->host);
        ways->above = arena_take(arena, ways->n, sizeof *ways->above);
        ways->of_charge = arena_take(arena, reading->charges.n, sizeof *ways->of_charge);
        status = arena_status(arena, error);
    }
    if (!status)
        list_ways(reading, &ranks, ways);
    arena_release(scratch, mark);
    return status;
}

struct op_table_spec {
    const char *name;
    struct column_spec columns[TABLE_COLUMNS_MAX]; /* up to one without a name */
};

#define TEXT    SUTRA_COLUMN_TEXT
#define REAL    SUTRA_COLUMN_REAL
#define INTEGER SUTRA_COLUMN_INTEGER

#define SUM_COLUMNS                                                                                                    \
    {"kernels", INTEGER}, {"device_us", REAL}, {"self_device_us", REAL}, {"total_device_us", REAL}, {                  \
        "percent", REAL                                                                                                \
    }

#define LAUNCH_COLUMNS                                                                                                 \
    {"operator", TEXT}, {"stream", TEXT}, {"grid", TEXT}, {"block", TEXT}, {"registers", REAL},                        \
        {"shared_memory", REAL}, {"occupancy_recorded_percent", REAL}, {"occupancy_percent", REAL},                    \
        {"occupancy_limit_percent", REAL}, {                                                                           \
        "waves", REAL                                                                                                  \
    }

static const struct op_table_spec specs[SUTRA_OPERATORS_N_TABLES] = {
    [SUTRA_TRACELENS_TIMELINE] = {"gpu_timeline", {{"type", TEXT}, {"time ms", REAL}, {"percent", REAL}}},
    [SUTRA_TRACELENS_OPS] = {"ops_summary",
                             {{"name", TEXT},
                              {"total_direct_kernel_time_sum", REAL},
                              {"total_subtree_kernel_time_sum", REAL},
                              {"total_direct_kernel_time_ms", REAL},
                              {"total_subtree_kernel_time_ms", REAL},
                              {"Count", INTEGER},
                              {"Categories", TEXT},
                              {"Percentage (%)", REAL},
                              {"Cumulative Percentage (%)", REAL}}},
    [SUTRA_TRACELENS_CATEGORIES] = {"ops_summary_by_category",
                                    {{"op category", TEXT},
                                     {"Count", INTEGER},
                                     {"total_direct_kernel_time_ms", REAL},
                                     {"Percentage (%)", REAL},
                                     {"Cumulative Percentage (%)", REAL}}},
    [SUTRA_TRACELENS_ARGUMENTS] = {"ops_unique_args",
                                   {{"name", TEXT},
                                    {"op category", TEXT},
                                    {"process_name", TEXT},
                                    {"process_label", TEXT},
                                    {"thread_name", TEXT},
                                    {"Input Dims", TEXT},
                                    {"Input type", TEXT},
                                    {"Input Strides", TEXT},
                                    {"Concrete Inputs", TEXT},
                                    {"operation_count", INTEGER},
                                    {"first_occurrence_time", REAL},
                                    {"total_direct_kernel_time_mean", REAL},
                                    {"total_subtree_kernel_time_mean", REAL},
                                    {"total_direct_kernel_time_median", REAL},
                                    {"total_subtree_kernel_time_median", REAL},
                                    {"total_direct_kernel_time_std", REAL},
                                    {"total_subtree_kernel_time_std", REAL},
                                    {"total_direct_kernel_time_min", REAL},
                                    {"total_subtree_kernel_time_min", REAL},
                                    {"total_direct_kernel_time_max", REAL},
                                    {"total_subtree_kernel_time_max", REAL},
                                    {"total_direct_kernel_time_sum", REAL},
                                    {"total_subtree_kernel_time_sum", REAL},
                                    {"ex_UID", INTEGER},
                                    {"kernel_details_summary", TEXT},
                                    {"trunc_kernel_details", TEXT},
                                    {"Percentage (%)", REAL},
                                    {"Cumulative Percentage (%)", REAL}}},
    [SUTRA_TRACELENS_OPS_BY_MODULE] = {"ops_summary_module",
                                       {{"name", TEXT},
                                        {"parent_module", TEXT},
                                        {"total_direct_kernel_time_sum", REAL},
                                        {"total_subtree_kernel_time_sum", REAL},
                                        {"total_subtree_kernel_time_count", INTEGER},
                                        {"total_direct_kernel_time_ms", REAL},
                                        {"Count", INTEGER},
                                        {"Categories", TEXT},
                                        {"call_stack_first", TEXT},
                                        {"Percentage (%)", REAL},
                                        {"Cumulative Percentage (%)", REAL}}},
    [SUTRA_TRACELENS_MODULES] = {"nn_modules",
                                 {{"UID", INTEGER},
                                  {"name", TEXT},
                                  {"parent_UID", REAL},
                                  {"kernels", INTEGER},
                                  {"GPU Time", REAL},
                                  {"nn Parent GPU Time", REAL},
                                  {"Non-nn.Module GPU Time", REAL}}},
    [SUTRA_TRACELENS_KERNEL_SUMMARY] = {"kernel_summary",
                                        {{"Parent op category", TEXT},
                                         {"Parent cpu_op", TEXT},
                                         {"Kernel name", TEXT},
                                         {"Kernel stream", TEXT},
                                         {"Kernel duration (µs)_sum", REAL},
                                         {"Kernel duration (µs)_count", INTEGER},
                                         {"Kernel duration (µs)_mean", REAL},
                                         {"Kernel duration (µs)_min", REAL},
                                         {"Kernel duration (µs)_max", REAL},
                                         {"Percent of kernels time (%)", REAL},
                                         {"Percent of total time (%)", REAL}}},
    [SUTRA_TRACELENS_KERNELS] = {"kernels",
                                 {{"UID", INTEGER},
                                  {"Kernel name", TEXT},
                                  {"Kernel t start", REAL},
                                  {"Kernel duration (µs)", REAL},
                                  {"Kernel stream", TEXT},
                                  {"Launcher UID", REAL},
                                  {"Launcher", TEXT},
                                  {"Grid", TEXT},
                                  {"Block", TEXT},
                                  {"Parent cpu_op UID", REAL},
                                  {"Parent cpu_op", TEXT},
                                  {"Input dims", TEXT},
                                  {"Input types", TEXT},
                                  {"Input strides", TEXT},
                                  {"Concrete Inputs", TEXT},
                                  {"kernel_file", TEXT},
                                  {"Parent cpu_op busy time (µs)", REAL},
                                  {"Parent cpu_op kernel count", REAL},
                                  {"Percent of Parent cpu_op busy time (%)", REAL},
                                  {"Parent op category", TEXT}}},
    [SUTRA_TRACELENS_SHORT_HISTOGRAM] = {"short_kernel_histogram",
                                         {{"bin_start", REAL}, {"bin_end", REAL}, {"count", INTEGER}}},
    [SUTRA_TRACELENS_SHORT_KERNELS] = {"short_kernels_summary", {{0}}}, /* columns depend on the trace */
    [SUTRA_TRACELENS_UNIFIED] = {"unified_perf_summary", {{0}}},
    [SUTRA_TRACELENS_GEMM] = {"GEMM", {{0}}},
    [SUTRA_TRACELENS_CONV_FWD] = {"CONV_fwd", {{0}}},
    [SUTRA_TRACELENS_CONV_BWD] = {"CONV_bwd", {{0}}},
    [SUTRA_TRACELENS_SDPA_FWD] = {"SDPA_fwd", {{0}}},
    [SUTRA_TRACELENS_SDPA_BWD] = {"SDPA_bwd", {{0}}},
    [SUTRA_TRACELENS_UNARY] = {"UnaryElementwise", {{0}}},
    [SUTRA_TRACELENS_BINARY] = {"BinaryElementwise", {{0}}},
    [SUTRA_TRACELENS_NORMALIZATION] = {"Normalization", {{0}}},
    [SUTRA_TRACELENS_REDUCE_FWD] = {"Reduce_fwd", {{0}}},
    [SUTRA_TRACELENS_REDUCE_BWD] = {"Reduce_bwd", {{0}}},
    [SUTRA_TRACELENS_RATES] = {"rates",
                               {{"name", TEXT},
                                {"UID_first", INTEGER},
                                {"GFLOPS_first", REAL},
                                {"Data Moved (MB)_first", REAL},
                                {"FLOPS/Byte_first", REAL},
                                {"TB/s_mean", REAL},
                                {"TFLOPS/s_mean", REAL},
                                {"Kernel Time (µs)_sum", REAL},
                                {"name_count", INTEGER}}},
    [SUTRA_OPERATORS_TIMELINE] = {"gpu_timeline",
                                  {{"rank", INTEGER}, {"type", TEXT}, {"time_us", REAL}, {"percent", REAL}}},
    [SUTRA_OPERATORS_BY_NAME] = {"operators",
                                 {{"rank", INTEGER},
                                  {"name", TEXT},
                                  {"kind", TEXT},
                                  {"category", TEXT},
                                  {"calls", INTEGER},
                                  {"host_us", REAL},
                                  {"host_self_us", REAL},
                                  SUM_COLUMNS}},
    [SUTRA_OPERATORS_BY_ARGUMENTS] = {"operators_by_arguments",
                                      {{"rank", INTEGER},
                                       {"name", TEXT},
                                       {"category", TEXT},
                                       {"input_dims", TEXT},
                                       {"input_types", TEXT},
                                       {"input_strides", TEXT},
                                       {"concrete_inputs", TEXT},
                                       {"calls", INTEGER},
                                       SUM_COLUMNS}},
    [SUTRA_OPERATORS_BY_CATEGORY] = {"operator_categories",
                                     {{"rank", INTEGER}, {"category", TEXT}, {"calls", INTEGER}, SUM_COLUMNS}},
    [SUTRA_OPERATORS_BY_MODULE] = {"modules",
                                   {{"rank", INTEGER},
                                    {"module", TEXT},
                                    {"kind", TEXT},
                                    {"parent", TEXT},
                                    {"calls", INTEGER},
                                    {"host_us", REAL},
                                    {"own_us", REAL},
                                    {"kernels", INTEGER},
                                    {"device_us", REAL},
                                    {"busy_us", REAL},
                                    {"backward_kernels", INTEGER},
                                    {"backward_device_us", REAL},
                                    {"backward_busy_us", REAL}}},
    [SUTRA_OPERATORS_BY_ANNOTATION] = {"annotations",
                                       {{"rank", INTEGER},
                                        {"annotation", TEXT},
                                        {"parent", TEXT},
                                        {"calls", INTEGER},
                                        {"host_us", REAL},
                                        {"own_us", REAL},
                                        {"kernels", INTEGER},
                                        {"device_us", REAL},
                                        {"busy_us", REAL}}},
    [SUTRA_OPERATORS_BY_PATH] = {"call_paths", {{"rank", INTEGER}, {"path", TEXT}, {"calls", INTEGER}, SUM_COLUMNS}},
    [SUTRA_OPERATORS_RATES] =
        {"rates",
         {{"rank", INTEGER},      {"name", TEXT},          {"category", TEXT},        {"input_dims", TEXT},
          {"input_types", TEXT},  {"input_strides", TEXT}, {"concrete_inputs", TEXT}, {"calls", INTEGER},
          {"kernels", INTEGER},   {"device_us", REAL},     {"self_device_us", REAL},  {"percent", REAL},
          {"gflops", REAL},       {"mbytes", REAL},        {"flops_per_byte", REAL},  {"tflops_per_s", REAL},
          {"tbytes_per_s", REAL}, {"unit", TEXT},          {"bound", TEXT},           {"roofline_percent", REAL},
          {"missing", TEXT}}},
    [SUTRA_OPERATORS_RATE_STEPS] = {"rate_steps",
                                    {{"rank", INTEGER},
                                     {"step", TEXT},
                                     {"time_us", REAL},
                                     {"tflops", REAL},
                                     {"tflops_per_s", REAL},
                                     {"device", TEXT},
                                     {"precision", TEXT},
                                     {"peak_tflops_per_s", REAL},
                                     {"mfu_percent", REAL},
                                     {"unknown_percent", REAL}}},
    [SUTRA_OPERATORS_PEAKS] =
        {"device_peaks",
         {{"rank", INTEGER}, {"device", TEXT}, {"unit", TEXT}, {"tflops_per_s", REAL}, {"tbytes_per_s", REAL}}},
    [SUTRA_KERNELS_BY_NAME] = {"kernels",
                               {{"rank", INTEGER},
                                {"name", TEXT},
                                {"class", TEXT},
                                {"kernels", INTEGER},
                                {"device_us", REAL},
                                {"percent", REAL},
                                {"mean_us", REAL},
                                {"min_us", REAL},
                                {"median_us", REAL},
                                {"max_us", REAL},
                                {"short_percent", REAL},
                                {"queue_delay_mean_us", REAL},
                                {"queue_delay_median_us", REAL},
                                {"configurations", INTEGER},
                                LAUNCH_COLUMNS,
                                {"full_name", TEXT}}},
    [SUTRA_KERNELS_BY_CONFIGURATION] = {"kernel_configurations",
                                        {{"rank", INTEGER},
                                         {"name", TEXT},
                                         {"kernels", INTEGER},
                                         {"device_us", REAL},
                                         {"percent", REAL},
                                         {"mean_us", REAL},
                                         {"queue_delay_mean_us", REAL},
                                         LAUNCH_COLUMNS}},
    [SUTRA_KERNELS_DURATIONS] = {"kernel_durations",
                                 {{"rank", INTEGER},
                                  {"from_us", REAL},
                                  {"below_us", REAL},
                                  {"kernels", INTEGER},
                                  {"percent", REAL},
                                  {"device_us", REAL},
                                  {"device_percent", REAL}}},
};

struct sutra_table *op_table_begin_with(struct sutra_operators *operators, enum sutra_operators_table id,
                                        const struct column_spec *columns, uint32_t n) {
    struct sutra_table *table = &operators->tables[id];
    table_init(table, specs[id].name, columns, n);
    table->verbatim = operators->options.compat;
    operators->made[id] = true;
    return table;
}

bool op_table_has_fixed_columns(enum sutra_operators_table id) {
    return specs[id].columns[0].name;
}

void op_table_init(struct sutra_table *table, enum sutra_operators_table id) {
    const struct op_table_spec *spec = &specs[id];
    uint32_t n = 0;
    while (n < TABLE_COLUMNS_MAX && spec->columns[n].name)
        n++;
    table_init(table, spec->name, spec->columns, n);
}

struct sutra_table *op_table_begin(struct sutra_operators *operators, enum sutra_operators_table id) {
    op_table_init(&operators->tables[id], id);
    operators->tables[id].verbatim = operators->options.compat;
    operators->made[id] = true;
    return &operators->tables[id];
}

void op_table_stream(const struct op_input *input, row_t device, struct sutra_table *table) {
    value_key stream = input->reading->events->stream[input->reading->devices.event[device]];
    char room[NUMBER_TEXT_MAX];
    size_t length = 0;
    const char *text = key_is_value(stream) ? values_text(&input->context->values, stream, room, &length) : "";
    table_text(table, text, length);
}

/* ---- Making them ---- */

/* Whether memory sufficed for all that was made. */
static enum sutra_status check_made(const struct sutra_operators *made, struct sutra_error *error) {
    bool failed = false;
    for (int id = 0; id < SUTRA_OPERATORS_N_TABLES; id++)
        failed |= made->tables[id].failed;
    return failed ? error_memory(error) : SUTRA_OK;
}

static enum sutra_status run_makers(op_maker *const *makers, size_t n, const struct op_input *input,
                                    struct arena *arena, struct sutra_operators *made, struct sutra_error *error) {
    enum sutra_status status = SUTRA_OK;
    for (size_t i = 0; i < n && !status; i++) {
        status = makers[i](input, arena, made, error);
        if (!status)
            status = check_made(made, error); /* later ones may read it */
    }
    return status;
}

static bool has_frames(const struct op_reading *reading) {
    for (uint32_t string = 0; string < reading->strings->n; string++)
        if (reading->roles[string].category & CATEGORY_PYTHON)
            return true;
    return false;
}

/* What lives while tables are made. */
struct op_work {
    struct op_input input;
    struct op_reading reading, framed;
    struct arena arena, scratch;
};

/* The reference leaves Python's functions out of all but the tables of modules. */
static enum sutra_status make_as_tracelens(struct op_work *work, const struct sutra_device_trace *trace,
                                           struct sutra_operators *made, struct sutra_error *error) {
    static op_maker *const makers[] = {tracelens_timeline,         tracelens_operators, tracelens_arguments,
                                       tracelens_module_operators, tracelens_modules,   tracelens_kernels,
                                       tracelens_unified,          tracelens_sheets,    tracelens_rates};
    struct op_input *input = &work->input;
    uint8_t *categories = NULL;
    enum sutra_status status = op_reading_make(input->context, trace, READING_REFERENCE | READING_NO_FRAMES,
                                               &work->arena, &work->scratch, &work->reading, error);
    made->n_untimed = work->reading.n_untimed;
    if (!status)
        op_reading_warn(input->context, &work->reading);
    if (!status && has_frames(&work->reading)) {
        status = op_reading_make(input->context, trace, READING_REFERENCE, &work->arena, &work->scratch, &work->framed,
                                 error);
        input->framed = &work->framed;
    }
    if (!status)
        status = op_charges_categorize(&work->reading, &work->arena, &work->scratch, &categories, error);
    if (status)
        return status;
    input->reading = &work->reading;
    input->categories = categories;
    input->integer_times = tracelens_has_integer_times(&work->reading);
    struct tracelens_models models = {0};
    status = tracelens_models_make(input, &work->arena, &models, error);
    input->models = &models;
    if (!status)
        status = run_makers(makers, sizeof makers / sizeof *makers, input, &work->scratch, made, error);
    tracelens_models_free(&models);
    input->models = NULL;
    return status;
}

/* ---- Ours ---- */

/* Tables that ask nothing new of the trace, each made by one thread with memory of its own: the longest first, which is
 * of kernels, then that of both, then those of operators. */
static op_maker *const makers[] = {operators_kernels,      operators_timeline,   operators_rates,
                                   operators_by_arguments, operators_by_name,    operators_by_annotation,
                                   operators_by_path,      operators_by_category};
enum { N_MAKERS = sizeof makers / sizeof *makers, N_OF_KERNELS = 1, N_OF_BOTH = 1 };

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

/* What tables of operators ask of the trace, on all threads. */
static enum sutra_status ask_of_operators(const struct op_input *input, const struct rates_work *rates,
                                          struct arena *scratch, struct sutra_operators *made,
                                          struct sutra_error *error) {
    static op_maker *const asking[] = {operators_by_module};
    const struct op_charges *charges = &input->reading->charges;
    const struct op_host_list lists[] = {{charges->host, charges->n}, {rates->hosts, rates->n_hosts}};
    enum sutra_status status = op_arguments_ask(input->context, input->reading, lists, scratch, error);
    return status ? status : run_makers(asking, 1, input, scratch, made, error);
}

/* Those of operators and those of kernels, both or one: first what asks of the trace, on all threads, then the tables,
 * one on each. */
static enum sutra_status make_tables(struct op_input *input, const struct op_reading *reading, struct arena *arena,
                                     struct arena *scratch, bool operators, bool kernels, struct sutra_operators *made,
                                     struct sutra_error *error) {
    struct rates_work rates = {0};
    size_t first = kernels ? 0 : N_OF_KERNELS, end = operators ? N_MAKERS : N_OF_KERNELS + N_OF_BOTH;
    struct maker_runs runs = {input, made, makers + first};
    uint8_t *categories = NULL;
    enum sutra_status status = op_charges_categorize(reading, arena, scratch, &categories, error);
    if (status)
        return status;
    input->reading = input->framed = reading;
    input->categories = categories;
    input->device_ticks = op_reading_device_time(reading);
    made->n_untimed = reading->n_untimed;
    if (operators)
        status = op_ways_make(reading, arena, scratch, &input->ways, error);
    if (!status && operators) {
        status = rates_begin(input, arena, &rates, error);
        input->rates = &rates;
    }
    if (!status && operators)
        status = ask_of_operators(input, &rates, scratch, made, error);
    if (!status && kernels)
        status = launch_kinds_ask(input->context, reading, error);
    if (!status)
        status = pool_try(input->context->pool, end - first, run_maker, &runs, error);
    rates_end(&rates);
    input->rates = NULL;
    return status ? status : check_made(made, error);
}

static enum sutra_status make_ours(struct op_work *work, const struct sutra_device_trace *trace,
                                   struct sutra_operators *made, struct sutra_error *error) {
    struct op_input *input = &work->input;
    struct op_reading *reading = &work->reading;
    enum sutra_status status = op_reading_make(input->context, trace, 0, &work->arena, &work->scratch, reading, error);
    if (status)
        return status;
    op_reading_warn(input->context, reading);
    return make_tables(input, reading, &work->arena, &work->scratch, !input->options.kernels, input->options.kernels,
                       made, error);
}

enum sutra_status operators_make_of(struct sutra_context *context, const struct op_reading *reading, int64_t rank,
                                    const char *peaks, struct arena *scratch, struct sutra_operators **operators,
                                    struct sutra_error *error) {
    struct sutra_operators *made = calloc(1, sizeof *made);
    struct arena arena = {0};
    if (!made)
        return error_memory(error);
    made->options = (struct sutra_operators_options){.size = sizeof made->options, .rank = rank, .peaks = peaks};
    struct op_input input = {.context = context, .options = made->options};
    enum sutra_status status = make_tables(&input, reading, &arena, scratch, true, true, made, error);
    arena_free(&arena);
    if (status)
        sutra_operators_free(made);
    else
        *operators = made;
    return status;
}

enum sutra_status op_options_take(const struct sutra_operators_options *given, struct sutra_operators_options *taken,
                                  struct sutra_error *error) {
    static const struct options_form form = OPTIONS_FORM(sutra_operators_options, kernels);
    return options_take(&form, given, taken, error);
}

enum sutra_status sutra_operators_run(struct sutra_context *context, const struct sutra_device_trace *trace,
                                      const struct sutra_operators_options *options, struct sutra_operators **operators,
                                      struct sutra_error *error) {
    struct sutra_operators_options taken;
    enum sutra_status status = op_options_take(options, &taken, error);
    if (status)
        return status;
    struct sutra_operators *made = calloc(1, sizeof *made);
    struct op_work work = {.input = {.context = context, .options = taken}};
    if (!made)
        return error_memory(error);
    made->options = taken;
    context_expect(context, trace->events.n);
    stage_begin(context, "analyze", trace->events.n);
    status = (taken.compat ? make_as_tracelens : make_ours)(&work, trace, made, error);
    stage_end(context);
    arena_free(&work.arena);
    arena_free(&work.scratch);
    if (status)
        sutra_operators_free(made);
    else
        *operators = made;
    return status;
}

void sutra_operators_free(struct sutra_operators *operators) {
    if (!operators)
        return;
    for (int id = 0; id < SUTRA_OPERATORS_N_TABLES; id++)
        table_free(&operators->tables[id]);
    arena_free(&operators->names);
    free(operators);
}

const struct sutra_table *sutra_operators_table(const struct sutra_operators *operators,
                                                enum sutra_operators_table id) {
    return operators->made[id] ? &operators->tables[id] : NULL;
}

int64_t sutra_operators_rank_of(const struct sutra_operators *operators) {
    return operators->options.rank;
}
