/*
 * hta_specs.c - names and columns of the tables, and values that several of them have.
 */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "analyze/hta/hta.h"
#include "text/number_text.h"

/* Kinds of columns; starts and durations are integers or real numbers as the trace has them. */
enum column_source { COLUMN_INTEGER, COLUMN_REAL, COLUMN_TEXT, COLUMN_START, COLUMN_DUR, COLUMN_TIME, COLUMN_WHOLE };

struct table_spec {
    const char *name;
    const char *group; /* see table.h */
    uint32_t n_index;
    struct {
        const char *name; /* NULL: there are no more columns */
        enum column_source source;
    } columns[TABLE_COLUMNS_MAX];
};

#define DESCRIPTION_COLUMNS                                                                                            \
    {"count", COLUMN_REAL}, {"mean", COLUMN_REAL}, {"std", COLUMN_REAL}, {"min", COLUMN_REAL}, {"25%", COLUMN_REAL},   \
        {"50%", COLUMN_REAL}, {"75%", COLUMN_REAL}, {                                                                  \
        "max", COLUMN_REAL                                                                                             \
    }
#define TYPE_COLUMNS                                                                                                   \
    {"kernel_type", COLUMN_TEXT}, {"sum", COLUMN_WHOLE}, {                                                             \
        "percentage", COLUMN_REAL                                                                                      \
    }
#define NAME_COLUMNS                                                                                                   \
    {"name", COLUMN_TEXT}, {"sum (us)", COLUMN_DUR}, {"max (us)", COLUMN_DUR}, {"min (us)", COLUMN_DUR},               \
        {"stddev", COLUMN_REAL}, {"mean (us)", COLUMN_REAL}, {"kernel_type", COLUMN_TEXT}, {                           \
        "rank", COLUMN_INTEGER                                                                                         \
    }

/* An event of the trace. */
#define EVENT_COLUMNS                                                                                                  \
    {"index", COLUMN_INTEGER}, {"ts", COLUMN_START}, {"dur", COLUMN_DUR}, {"end", COLUMN_TIME},                        \
        {"pid", COLUMN_INTEGER}, {"tid", COLUMN_INTEGER}, {"stream", COLUMN_INTEGER}, {"correlation", COLUMN_INTEGER}, \
        {"index_correlation", COLUMN_INTEGER}, {"s_cat", COLUMN_TEXT}, {                                               \
        "s_name", COLUMN_TEXT                                                                                          \
    }

#define ANNOTATION_COLUMNS                                                                                             \
    {"name", COLUMN_TEXT}, {"sum (us)", COLUMN_DUR}, {"max (us)", COLUMN_DUR}, {"min (us)", COLUMN_DUR},               \
        {"stddev", COLUMN_REAL}, {"mean (us)", COLUMN_REAL}, {                                                         \
        "rank", COLUMN_INTEGER                                                                                         \
    }

static const struct table_spec specs[SUTRA_HTA_N_TABLES] = {
    [SUTRA_HTA_TEMPORAL] = {"temporal_breakdown", .columns = {{"rank", COLUMN_INTEGER},
                                                              {"idle_time(us)", COLUMN_TIME},
                                                              {"compute_time(us)", COLUMN_TIME},
                                                              {"non_compute_time(us)", COLUMN_TIME},
                                                              {"kernel_time(us)", COLUMN_TIME},
                                                              {"idle_time_pctg", COLUMN_REAL},
                                                              {"compute_time_pctg", COLUMN_REAL},
                                                              {"non_compute_time_pctg", COLUMN_REAL}}},
    [SUTRA_HTA_TYPES] = {"gpu_kernel_breakdown.types", .columns = {TYPE_COLUMNS}},
    [SUTRA_HTA_KERNELS] = {"gpu_kernel_breakdown.kernels", .columns = {NAME_COLUMNS}},
    [SUTRA_HTA_TYPES_MEMORY] = {"gpu_kernel_breakdown_mem.types", .columns = {TYPE_COLUMNS}},
    [SUTRA_HTA_KERNELS_MEMORY] = {"gpu_kernel_breakdown_mem.kernels", .columns = {NAME_COLUMNS}},
    [SUTRA_HTA_IDLE] = {"idle_time_breakdown.rows", .columns = {{"rank", COLUMN_INTEGER},
                                                                {"stream", COLUMN_INTEGER},
                                                                {"idle_category", COLUMN_TEXT},
                                                                {"idle_time", COLUMN_REAL},
                                                                {"idle_time_ratio", COLUMN_REAL}}},
    [SUTRA_HTA_IDLE_STATS] = {"idle_time_breakdown.stats", .columns = {{"idle_category", COLUMN_TEXT},
                                                                       {"rank", COLUMN_INTEGER},
                                                                       {"stream", COLUMN_INTEGER},
                                                                       DESCRIPTION_COLUMNS}},
    [SUTRA_HTA_OVERLAP] = {"comm_comp_overlap",
                           .columns = {{"rank", COLUMN_INTEGER}, {"comp_comm_overlap_pctg", COLUMN_REAL}}},
    [SUTRA_HTA_QUEUE_SUMMARY] = {"queue_length_summary",
                                 "queue_length",
                                 2,
                                 {{"rank", COLUMN_INTEGER}, {"stream", COLUMN_INTEGER}, DESCRIPTION_COLUMNS}},
    [SUTRA_HTA_BANDWIDTH] = {"memory_bw_summary",
                             "memory_bw_gbps",
                             2,
                             {{"rank", COLUMN_INTEGER}, {"name", COLUMN_TEXT}, DESCRIPTION_COLUMNS}},
    [SUTRA_HTA_LAUNCHES] = {"cuda_kernel_launch_stats", .columns = {{"correlation", COLUMN_INTEGER},
                                                                    {"cpu_duration", COLUMN_DUR},
                                                                    {"gpu_duration", COLUMN_DUR},
                                                                    {"launch_delay", COLUMN_TIME}}},
    [SUTRA_HTA_QUEUE] = {"queue_length_time_series", .columns = {{"index", COLUMN_INTEGER},
                                                                 {"ts", COLUMN_START},
                                                                 {"pid", COLUMN_INTEGER},
                                                                 {"tid", COLUMN_INTEGER},
                                                                 {"stream", COLUMN_INTEGER},
                                                                 {"queue_length", COLUMN_INTEGER}}},
    [SUTRA_HTA_RANKS] = {"rank_summary", .columns = {{"rank", COLUMN_INTEGER},
                                                     {"file", COLUMN_TEXT},
                                                     {"events", COLUMN_INTEGER},
                                                     {"kernels", COLUMN_INTEGER},
                                                     {"first_us", COLUMN_REAL},
                                                     {"kernel_time_us", COLUMN_REAL},
                                                     {"idle_us", COLUMN_REAL},
                                                     {"compute_us", COLUMN_REAL},
                                                     {"communication_us", COLUMN_REAL},
                                                     {"exposed_communication_us", COLUMN_REAL},
                                                     {"exposed_memory_us", COLUMN_REAL},
                                                     {"launches", COLUMN_INTEGER}}},
    [SUTRA_HTA_LAUNCH_CALLS] = {"launch_calls", .columns = {{"rank", COLUMN_INTEGER},
                                                            {"name", COLUMN_TEXT},
                                                            {"calls", COLUMN_INTEGER},
                                                            {"kernels", COLUMN_INTEGER},
                                                            {"cpu_duration", COLUMN_TIME},
                                                            {"gpu_duration", COLUMN_TIME},
                                                            {"shorter_kernels", COLUMN_INTEGER},
                                                            {"delay_mean", COLUMN_REAL},
                                                            {"delay_50%", COLUMN_REAL},
                                                            {"delay_max", COLUMN_REAL}}},
    [SUTRA_HTA_STEPS] = {"profiler_steps", .columns = {{"rank", COLUMN_INTEGER},
                                                       {"step", COLUMN_INTEGER},
                                                       {"ts", COLUMN_START},
                                                       {"dur", COLUMN_DUR},
                                                       {"kernels", COLUMN_INTEGER},
                                                       {"kernel_sum_us", COLUMN_TIME},
                                                       {"busy_us", COLUMN_TIME},
                                                       {"compute_us", COLUMN_TIME},
                                                       {"communication_us", COLUMN_TIME},
                                                       {"exposed_communication_us", COLUMN_TIME}}},
    [SUTRA_HTA_GPU_ANNOTATIONS] = {"gpu_user_annotation_breakdown", .columns = {ANNOTATION_COLUMNS}},
    [SUTRA_HTA_ANNOTATIONS] = {"user_annotation_breakdown", .columns = {ANNOTATION_COLUMNS}},
    [SUTRA_HTA_ANNOTATED] = {"gpu_kernels_with_user_annotations",
                             .columns = {EVENT_COLUMNS, {"s_user_annotation", COLUMN_TEXT}}},
    [SUTRA_HTA_OPERATORS] = {"aten_op_kernels_and_delay", .columns = {{"aten_op_name", COLUMN_TEXT},
                                                                      {"kernel_sequence", COLUMN_TEXT},
                                                                      {"occurrence_count", COLUMN_INTEGER},
                                                                      {"avg_aten_op_launch_delay", COLUMN_REAL},
                                                                      {"avg_runtime_delay", COLUMN_REAL}}},
    [SUTRA_HTA_SEQUENCES] = {"frequent_cuda_kernel_sequences", .columns = {{"pattern", COLUMN_TEXT},
                                                                           {"count", COLUMN_INTEGER},
                                                                           {"GPU kernel duration (us)", COLUMN_TIME},
                                                                           {"CPU op duration (us)", COLUMN_TIME}}},
    [SUTRA_HTA_BANDWIDTH_SERIES] = {"memory_bw_time_series", .columns = {{"ts", COLUMN_REAL},
                                                                         {"pid", COLUMN_INTEGER},
                                                                         {"name", COLUMN_TEXT},
                                                                         {"memory_bw_gbps", COLUMN_REAL}}},
    [SUTRA_HTA_BLOCKED] = {"time_spent_blocked_on_full_queue",
                           .columns = {{"rank", COLUMN_INTEGER},
                                       {"stream", COLUMN_INTEGER},
                                       {"duration_at_max_queue_length", COLUMN_REAL},
                                       {"relative_duration_at_max_queue_length", COLUMN_REAL}}},
    [SUTRA_HTA_LAUNCH_HISTOGRAM] = {"cuda_kernel_launch_histogram", .columns = {{"rank", COLUMN_INTEGER},
                                                                                {"kind", COLUMN_TEXT},
                                                                                {"from_us", COLUMN_INTEGER},
                                                                                {"to_us", COLUMN_INTEGER},
                                                                                {"launches", COLUMN_INTEGER},
                                                                                {"sum_us", COLUMN_TIME}}},
    [SUTRA_HTA_BUSY_SERIES] = {"gpu_busy_time_series",
                               .columns = {{"ts", COLUMN_REAL}, {"pid", COLUMN_INTEGER}, {"busy_pctg", COLUMN_REAL}}},
    [SUTRA_HTA_RANGES] = {"cuda_profiler_ranges", .columns = {{"index", COLUMN_INTEGER},
                                                              {"index_runtime", COLUMN_INTEGER},
                                                              {"operator", COLUMN_INTEGER},
                                                              {"operator_name", COLUMN_TEXT}}},
    [SUTRA_HTA_COUNTERS] = {"cuda_profiler_counters", .columns = {{"counter", COLUMN_TEXT}}},
    [SUTRA_HTA_ROWS] = {"rows", .columns = {EVENT_COLUMNS, {"iteration", COLUMN_INTEGER}}},
    [SUTRA_HTA_STRAGGLERS] = {"potential_stragglers", .columns = {{"rank", COLUMN_INTEGER},
                                                                  {"collectives", COLUMN_INTEGER},
                                                                  {"n_arrived_last", COLUMN_INTEGER},
                                                                  {"late_us", COLUMN_REAL},
                                                                  {"max_late_us", COLUMN_REAL},
                                                                  {"wait_us", COLUMN_REAL},
                                                                  {"marks", COLUMN_INTEGER}}},
    [SUTRA_HTA_STRAGGLER_METRIC] = {"potential_stragglers.metric", .columns = {{"rank", COLUMN_INTEGER},
                                                                               {"stream", COLUMN_INTEGER},
                                                                               {"iteration", COLUMN_INTEGER},
                                                                               {"name", COLUMN_TEXT},
                                                                               {"index", COLUMN_INTEGER},
                                                                               {"ts", COLUMN_REAL},
                                                                               {"dur", COLUMN_REAL},
                                                                               {"normalized_start_time", COLUMN_REAL},
                                                                               {"duration", COLUMN_REAL}}},
};

void hta_table_init(struct sutra_table *table, enum sutra_hta_table id, const struct sutra_hta_options *options,
                    bool starts_real, bool durs_real) {
    const bool real[] = {[COLUMN_INTEGER] = false,
                         [COLUMN_REAL] = true,
                         [COLUMN_START] = starts_real,
                         [COLUMN_DUR] = durs_real,
                         [COLUMN_TIME] = starts_real || durs_real,
                         [COLUMN_WHOLE] = options->nanoseconds,
                         [COLUMN_TEXT] = false};
    const struct table_spec *spec = &specs[id];
    struct column_spec columns[TABLE_COLUMNS_MAX];
    uint32_t n = 0;
    for (; n < TABLE_COLUMNS_MAX && spec->columns[n].name; n++) {
        enum column_source source = spec->columns[n].source;
        columns[n].name = spec->columns[n].name;
        columns[n].kind = source == COLUMN_TEXT ? SUTRA_COLUMN_TEXT
                          : real[source]        ? SUTRA_COLUMN_REAL
                                                : SUTRA_COLUMN_INTEGER;
    }
    table_init(table, spec->name, columns, n);
    table->group = spec->group;
    table->n_index = spec->n_index;
    table->verbatim = id != SUTRA_HTA_RANKS;
}

struct sutra_table *hta_table_begin(struct sutra_hta *hta, enum sutra_hta_table id) {
    hta_table_init(&hta->tables[id], id, &hta->options, hta->starts_real, hta->durs_real);
    hta->made[id] = true;
    return &hta->tables[id];
}

void table_describe(struct sutra_table *table, const struct description *description, int decimals) {
    const double values[DESCRIPTION_N] = {description->count, description->mean, description->std, description->min,
                                          description->q25,   description->q50,  description->q75, description->max};
    for (int i = 0; i < DESCRIPTION_N; i++)
        table_real(table, decimals ? rounded_to(values[i], decimals) : values[i]);
}

int64_t hta_unit(const struct sutra_hta_options *options) {
    return options->nanoseconds ? 1 : NS_PER_US;
}

double rounded_to(double value, int decimals) {
    double scale = decimals == 1 ? 10 : decimals == 2 ? 100 : 1000;
    return rint(value * scale) / scale;
}

/* pandas keeps ids as they are: where one of a column is no integer, the column is of text. */
enum sutra_column_kind kind_of_ids(const value_key *ids, const row_t *events, row_t n) {
    for (row_t i = 0; i < n; i++)
        if (ids[events[i]] >= KEY_VALUES && !key_is_integer(ids[events[i]]))
            return SUTRA_COLUMN_TEXT;
    return SUTRA_COLUMN_INTEGER;
}

void table_id(struct sutra_table *table, const struct values *values, value_key id) {
    char room[NUMBER_TEXT_MAX];
    size_t length;
    if (table->failed)
        return;
    if (table->columns[table->next_column].spec.kind == SUTRA_COLUMN_INTEGER) {
        table_integer(table, column_key(id));
        return;
    }
    const char *text = values_text(values, id >= KEY_VALUES ? id : column_key(id), room, &length);
    table_text(table, text, length);
}
