/*
 * hta.c - sutra_hta_...(): making the tables of one trace.
 */
#include <inttypes.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "analyze/hta/hta.h"
#include "analyze/hta/ranks.h"
#include "base/error.h"
#include "base/options.h"
#include "text/numbers.h"
#include "write/json_copy.h"
#include "write/text.h"

/*
 * Names and columns of the tables, and values that several of them have.
 */

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

/*
 * What the reference gives as lists: the profiler's steps, and the ranks that may be stragglers; and by
 * which rules all tables were made.
 */

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

/* A list for each number of candidates; null where the reference fails. */
static bool write_stragglers(const void *ranks, struct text_out *text) {
    enum { CANDIDATES_MOST = 3 };
    const struct hta_stragglers *stragglers = hta_ranks_stragglers(ranks);
    struct arena arena = {0};
    int64_t list[CANDIDATES_MOST];
    for (uint64_t n = 1; n <= CANDIDATES_MOST; n++) {
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

/* The list for one number of candidates, of requested steps only. */
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
    int64_t *list = ok ? arena_take(&arena, stragglers.n_metric, sizeof *list) : NULL;
    uint64_t n = list ? stragglers_list(&stragglers, request->n_candidates, list, &arena) : 0;
    if (n)
        out_list(text, list, n);
    else
        out_add(text, "null");
    out_add(text, "\n");
    ok = !arena.failed;
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
 * The trace once more, with what changes over time as counters, to open in Perfetto: the length of
 * each stream's queue, the bandwidth of each kind of copy, and the share of time that each device works.
 *
 *     {"pid": 0, "ts": 1700, "args": {"Queue Length": 3}, "ph": "C", "name": "Queue Length", "id": 7}
 *
 * The file's bytes are copied as they are; counters stand behind the last event, those of queues and copies as the
 * reference writes them. One pass over the bytes and the tables.
 */

/* A table whose rows become counters: from a column of microseconds since `base`. */
struct counter_kind {
    enum sutra_hta_counters bit;
    enum sutra_hta_table table;
    uint32_t ts, pid, value;
    int name, id;       /* columns too; NO_COLUMN: the counter is called `called`, and has no id */
    const char *called; /* and so is its value */
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

/* A moment on the trace's own clock; microseconds, with nanoseconds behind the point where there are any. */
static void out_moment(struct text_out *text, int64_t base_ns, double us) {
    int64_t ns = base_ns + llrint(us * NS_PER_US), whole = ns / NS_PER_US, rest = ns % NS_PER_US;
    if (rest < 0) {
        whole--;
        rest += NS_PER_US;
    }
    out_integer(text, whole);
    if (rest)
        out_format(text, ".%03d", (int)rest);
}

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
    out_add(text, ",\n{\"pid\": ");
    out_cell(text, table, kind->pid, row);
    out_add(text, ", \"ts\": ");
    out_moment(text, base_ns, table_get_real(table, kind->ts, row));
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
        const struct sutra_table *table = sutra_hta_table(counted->hta, kinds[i].table, NULL);
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
