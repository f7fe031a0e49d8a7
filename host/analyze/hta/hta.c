/*
 * hta.c - sutra_hta_...(): making the tables of one trace.
 */
#include "analyze/hta/hta.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/error.h"
#include "base/options.h"

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
    double scale = decimals == 1 ? 10 : 100;
    return rint(value * scale) / scale;
}

enum sutra_status hta_options_take(const struct sutra_hta_options *given, struct sutra_hta_options *taken,
                                   struct sutra_error *error) {
    static const struct options_form form = OPTIONS_FORM(sutra_hta_options, nanoseconds);
    enum sutra_status status = options_take(&form, given, taken, error);
    if (!status && taken->n_kernels == 0)
        taken->n_kernels = 10;
    if (!status && taken->kernel_delay_us == 0)
        taken->kernel_delay_us = 30;
    return status;
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
        status = hta_kernels_make(&input->rows, input->engine, arena, &input->kernels, error);
    if (!status)
        status = hta_correlated_make(&input->rows, input->kernels.n, input->engine, arena, &input->correlated, error);
    if (!status)
        count_work(input, &hta->summary);
    hta->starts_real = input->rows.starts_real;
    hta->durs_real = input->rows.durs_real;
    return status;
}

static enum sutra_status make_tables(const struct hta_input *input, struct arena *arena, struct sutra_hta *hta,
                                     struct sutra_error *error) {
    static hta_metric *const metrics[] = {hta_busy,  hta_names, hta_idle,     hta_launches,
                                          hta_calls, hta_queue, hta_bandwidth};
    enum sutra_status status = SUTRA_OK;
    for (size_t i = 0; i < sizeof metrics / sizeof *metrics && !status; i++) {
        struct arena_mark mark = arena_mark(arena);
        status = metrics[i](input, arena, hta, error);
        arena_release(arena, mark);
    }
    for (int id = 0; id < SUTRA_HTA_N_TABLES && !status; id++)
        if (hta->tables[id].failed)
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
