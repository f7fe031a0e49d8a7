/*
 * columns.c - `sutra columns`: writes the events or launches of a device trace, or the nodes of a host trace or of ET+,
 * as columns to an Arrow file.
 */
#include <inttypes.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>

#include "base/error.h"
#include "cli/command.h"
#include "cli/job.h"
#include "cli/paths.h"
#include "read/device_trace.h"
#include "read/host_trace.h"
#include "sutra/sutra.h"
#include "text/strings.h"

/* The rows of the file, in the order of `tables`. */
enum columns_table { TABLE_EVENTS, TABLE_NODES, TABLE_LAUNCHES };
static const char *const tables[] = {"events", "nodes", "launches", NULL};

#define RANK_ANY UINT64_MAX

struct columns_job {
    struct job job;
    int table; /* enum columns_table, or -1: by the kind of the trace */
    struct option_list names, args;
    uint64_t rank; /* of a run; RANK_ANY: not selected */
    struct sutra_device_trace *device;
    struct sutra_host_trace *host;
    struct sutra_profile *profile;
    struct sutra_correlation *launches;
};

static const struct stage_share stages_columns[] = {
    STAGES_READ("device trace", 70),
    STAGES_READ("host trace", 70),
    {"build profile", 20, false},
    {"correlate", 5, false},
    {"columns", 15, false},
    {"write", 15, false},
    {0},
};

static const struct option_row options[] = {
    {"output-file", 'o', OPTION_FILE, "OUT", AT(job, output),
     .help = "write to OUT, an Arrow file (.arrow); - is standard output"},
    {"table", 0, OPTION_CHOICE, "TABLE", AT(columns_job, table), .choices = tables,
     .help =
         "write events or launches of a device trace, or nodes of a host trace or ET+ (default: events or nodes, by "
         "the kind of TRACE)"},
    {"column", 'c', OPTION_LIST, "NAME", AT(columns_job, names),
     .help = "write only the columns that are named (default: all except ids as text)"},
    {"arg", 'a', OPTION_LIST, "NAME", AT(columns_job, args),
     .help = "add the member NAME of the events' args, or the attribute NAME of the nodes, as a column"},
    JOB_ROWS_RUN,
    {"rank", 0, OPTION_NUMBER, "N", AT(columns_job, rank), .maximum = INT64_MAX, .help = "of a run, write rank N"},
    JOB_ROW_FORCE,
    JOB_ROW_THREADS,
    JOB_ROW_LENIENT,
    JOB_ROW_INPUT,
    JOB_ROW_STATS,
    JOB_ROW_QUIET,
    {0},
};

static int check(struct job *job) {
    const char *out = job->output;
    if (!out)
        return message_fail(SUTRA_USAGE, "the output is missing: -o OUT.arrow");
    if (text_ends_in(out, ".parquet")) {
        int length = (int)(strlen(out) - strlen(".parquet"));
        return message_fail(SUTRA_USAGE,
                            "%s: sutra writes Arrow files: write %.*s.arrow, and convert it with "
                            "'python3 -m pysutra.parquet %.*s.arrow'",
                            out, length, out, length, out);
    }
    if (operands_are_run(&job->operands))
        job->n_inputs = 0;
    TRY_CODE(run_check_output(&job->operands, out));
    return job_spool_operand(job);
}

/* Replaces the directory of a run by the one trace that the options select. */
static int select_trace(struct columns_job *columns) {
    struct job *job = &columns->job;
    const struct run_inputs *run = &job->run;
    size_t n = 0;
    job->selection.needs_one_role = true;
    if (!job->selection.window)
        job->selection.window = "all";
    TRY_CODE(run_inputs_open(job, &job->operands, &job->selection, &job->run));
    for (const struct chosen_window *window = run->windows; window < run->windows + run->n; window++)
        for (size_t i = 0; i < window->n; i++)
            if (columns->rank == RANK_ANY || window->ranks[i] == (int64_t)columns->rank) {
                job->inputs = &window->paths[i];
                n++;
            }
    if (n == 0)
        return message_fail(SUTRA_DATA, "%s: no rank %" PRIu64 " in the selected windows: 'sutra info %s' lists them",
                            run->run.path, columns->rank, run->run.path);
    if (n > 1)
        return message_fail(SUTRA_DATA, "%s: %zu traces: select one with --window and --rank, or name it",
                            run->run.path, n);
    job->n_inputs = 1;
    return SUTRA_OK;
}

/* Reads the trace, and fills the stream with its rows. */
static enum sutra_status fill_stream(struct columns_job *columns, struct ArrowArrayStream *stream,
                                     struct sutra_error *error) {
    struct sutra_context *context = columns->job.context;
    const char *path = columns->job.inputs[0];
    const struct sutra_columns_options wanted = {.size = sizeof wanted,
                                                 .names = columns->names.n ? columns->names.texts : NULL,
                                                 .n_names = columns->names.n,
                                                 .args = columns->args.texts,
                                                 .n_args = columns->args.n};
    enum sutra_trace_kind kind = columns->table == TABLE_NODES ? SUTRA_TRACE_HOST : SUTRA_TRACE_DEVICE;
    if (columns->table < 0)
        TRY(sutra_trace_kind_of(context, path, &kind, error));
    if (kind == SUTRA_TRACE_HOST) {
        TRY(sutra_host_trace_read(context, path, &columns->host, error));
        return sutra_host_trace_arrow(context, columns->host, &wanted, stream, error);
    }
    context->keeps_processes = columns->table != TABLE_LAUNCHES;
    TRY(sutra_device_trace_read(context, path, &columns->device, error));
    if (columns->table != TABLE_LAUNCHES)
        return sutra_device_trace_arrow(context, columns->device, &wanted, stream, error);
    const struct sutra_correlation_options launches = {.size = sizeof launches, .kind = SUTRA_CORRELATION_AC2G};
    const struct sutra_profile_options profile = {.size = sizeof profile};
    TRY(sutra_profile_from_trace(context, columns->device, NULL, &profile, &columns->profile, error));
    TRY(sutra_correlation_find(context, columns->profile, &launches, &columns->launches, error));
    return sutra_correlation_arrow(context, columns->launches, &wanted, stream, error);
}

static int write_columns(struct job *job) {
    struct columns_job *columns = (struct columns_job *)job;
    struct ArrowArrayStream stream;
    struct sutra_error error;
    uint64_t n_rows = 0;
    if (operands_are_run(&job->operands))
        TRY_CODE(select_trace(columns));
    if (job_open(job, job->output, &error) || fill_stream(columns, &stream, &error) ||
        sutra_columns_write(job->context, &stream, job->output, &n_rows, &job->figures.output_bytes, &error))
        return job_fail(job, &error);
    /* A table without rows is a valid result, but rarely the expected one. */
    bool is_empty = columns->host ? host_trace_check_nodes(columns->host, &error) != SUTRA_OK
                                  : device_trace_check_events(columns->device, &error) != SUTRA_OK;
    if (is_empty && job->watch.warnings)
        message_warn("%s: %s", error.file, error.message);
    job_measure_inputs(job);
    if (!job->quiet && !path_is_stream(job->output)) {
        const struct summary_row rows[] = {{n_rows, "rows", true}};
        fprintf(stderr, "sutra: columns written to %s\n", job->output);
        summary_print(rows, COUNT_OF(rows));
        run_figures_print(&job->figures);
    }
    const struct named_count counts[] = {{"n_rows", n_rows}};
    return job_write_stats(job, NULL, counts, COUNT_OF(counts), NULL, 0);
}

static void release(struct job *job) {
    struct columns_job *columns = (struct columns_job *)job;
    sutra_correlation_free(columns->launches);
    sutra_profile_free(columns->profile);
    sutra_host_trace_free(columns->host);
    sutra_device_trace_free(columns->device);
}

static const struct columns_job columns_defaults = {.job = {.stages = stages_columns}, .table = -1, .rank = RANK_ANY};

static const char *const synopses[] = {"TRACE -o OUT.arrow [OPTIONS]",
                                       "RUN -o OUT.arrow [--role ROLE] [--window WINDOW] --rank N [OPTIONS]", NULL};
static const char *const description[] = {
    "Writes a trace as columns to an Arrow file, which pandas, polars, DuckDB and pyarrow open. Rows are in file order; "
    "rows of events and launches refer to events by their index in the trace.",
    "Events: ts, dur, name, category, phase, kind, pid, tid, stream, device, correlation, external_id, rf_id. Nodes: id, "
    "name, parent, rf_id. Launches: kind (launch or operator), from_event, to_event: GPU activities with their launch "
    "calls and operators.",
    "Of the directory of a run, --role, --window and --rank select the trace.",
    "Parquet: 'python3 -m pysutra.parquet OUT.arrow' converts the file.",
    NULL,
};
static const struct example examples[] = {
    {"sutra columns device.json.gz -o events.arrow", "write all events"},
    {"sutra columns device.json -c ts -c dur -c name -a grid -o kernels.arrow", "write three columns and an argument"},
    {"sutra columns device.json --table launches -o launches.arrow", "pair GPU activities with launches"},
    {"sutra columns host.json -o nodes.arrow", "write the nodes of a host trace"},
    {0},
};

const struct command columns_command = {
    .name = "columns",
    .called = "sutra columns",
    .writes = ".arrow",
    .summary = "write events, nodes or launches of a trace as an Arrow file",
    COMMAND_TEXTS,
    .n_operands_min = 1,
    .n_operands_max = 1,
    .missing = "the trace is missing",
    .size = sizeof(struct columns_job),
    .defaults = &columns_defaults,
    .check = check,
    .work = write_columns,
    .release = release,
};
