/*
 * info.c - `sutra info`: prints the contents of a trace or an .et file and the number of linkable events, or the
 * command that links a pair of traces, as text or JSON.
 */
#include <inttypes.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>

#include "cli/command.h"
#include "cli/job.h"
#include "cli/pair.h"
#include "cli/paths.h"
#include "cli/progress.h"
#include "cli/terminal.h"
#include "facts/processes.h"
#include "facts/validity.h"
#include "link/link.h"
#include "read/device_trace.h"
#include "read/file_kind.h"
#include "read/host_trace.h"
#include "read/nccl_inspector.h"
#include "read/source.h"
#include "sutra/nsys.h"
#include "text/quantities.h"
#include "write/json.h"

#define WORDS_COLUMN 18   /* after a number */
#define GROUP_WIDTH  12   /* of the name of a process group */
#define COMMAND_MAX  9000 /* two file names and an annotation */

struct info_job {
    struct job job;
    bool json, full;
    struct sutra_host_trace *host;
    struct sutra_device_trace *device;
    struct sutra_et *et;
    struct sutra_nsys *report;
};

static const struct option_row options[] = {
    {"json", 'j', OPTION_FLAG, AT(info_job, json), .help = "print one JSON object"},
    {"full", 0, OPTION_FLAG, AT(info_job, full),
     .help = "scan all traces of a run with more than 2,000 for GPU activity"},
    JOB_ROW_THREADS,
    {"strict", 0, OPTION_FLAG, AT(job, options.strict), .help = "fail if a directory of a run cannot be read",
     .group = group_more},
    JOB_ROW_LENIENT,
    JOB_ROW_INPUT,
    JOB_ROW_QUIET,
    {0},
};

/* ---- Rows of counts, as text or, if `json` is not NULL, as members of an object ---- */

struct info_row {
    const char *name;  /* in JSON */
    const char *words; /* in text; NULL: only in JSON */
    uint64_t count;
};

static void print_head(struct json_out *json, const char *path, const char *kind) {
    if (json) {
        json_open(json, '{');
        json_add_text(json, "file", path);
        json_add_text(json, "kind", kind);
    } else {
        printf("%s: %s trace\n", short_path(path, screen_columns() - (unsigned)strlen(kind) - 8).text, kind);
    }
}

static void print_schema(struct json_out *json, const char *schema) {
    if (json)
        json_add_text(json, "schema", schema);
    else
        printf("  schema %s\n", *schema ? short_text(schema, screen_columns() - 9).text : "not recorded");
}

static void print_rows(struct json_out *json, const struct info_row *rows, size_t n) {
    for (size_t i = 0; i < n; i++)
        if (json)
            json_add_count(json, rows[i].name, rows[i].count);
        else if (rows[i].words)
            printf("%16s  %s\n", count_text(rows[i].count).text, rows[i].words);
}

/* The defects of a trace, or of a pair. */
static void print_defects(struct json_out *json, const struct trace_validity *validity) {
    if (json) {
        json_add_defects(json, validity);
        return;
    }
    for (int kind = 0; kind < N_DEFECTS; kind++)
        if (validity->defects[kind].count)
            printf("%16s  %s\n", count_text(validity->defects[kind].count).text,
                   defect_row(validity, (enum trace_defect_kind)kind).text);
}

/* ---- A pair of traces: the command that links it ---- */

static void print_advice(const struct sutra_advice *advice, const struct trace_validity *validity,
                         const char *command) {
    printf("%16s  host nodes with a record-function id\n", count_text(advice->n_host_rf).text);
    if (advice->n_host_rf_zero && !advice->n_host_rf)
        printf("%16s    with record-function id 0 (not linkable)\n", count_text(advice->n_host_rf_zero).text);
    printf("%16s  device trace operators with a record-function id\n", count_text(advice->n_device_rf).text);
    if (advice->n_device_rf_zero && !advice->n_device_rf)
        printf("%16s    with record-function id 0 (not linkable)\n", count_text(advice->n_device_rf_zero).text);
    printf("%16s  host nodes with an id in common with the device trace\n", count_text(advice->n_common_rf).text);
    if (advice->n_matched)
        printf("%16s  of %s host operators match by name (confidence %.1f %%)\n", count_text(advice->n_matched).text,
               count_text(advice->n_host_ops).text, 100 * advice->confidence);
    if (advice->linker == SUTRA_LINKER_NAMES && advice->n_positions > 1)
        printf("%16s  steps fit equally well: the first one is used\n", count_text(advice->n_positions).text);
    print_defects(NULL, validity);
    if (*advice->cause)
        wrapped_print(advice->cause, printf("%s:", advice->misfit ? "warning" : "cause"), 2);
    if (advice->linker == SUTRA_LINKER_NONE)
        printf("these traces cannot be linked: they have no ids in common,\n  and too few operators match by name\n");
    else
        printf("to link them%s:\n  %s\n", advice->misfit ? " despite the warning" : "", command);
    if (advice->linker == SUTRA_LINKER_NAMES)
        printf("for the older format of ET+: 'sutra link-legacy' in place of 'sutra link'\n");
}

static void add_advice(struct json_out *json, const struct sutra_advice *advice, const char *command) {
    static const char *const matches[] = {NULL, "ids", "names"};
    json_open(json, '{');
    json_add_text(json, "linker", advice->linker == SUTRA_LINKER_NONE ? "none" : "link");
    json_add_text(json, "match", matches[advice->linker]);
    json_add_text(json, "command", command);
    json_add_count(json, "host_rf_ids", advice->n_host_rf);
    json_add_count(json, "device_rf_ids", advice->n_device_rf);
    json_add_count(json, "common_rf_ids", advice->n_common_rf);
    json_add_count(json, "host_rf_zeros", advice->n_host_rf_zero);
    json_add_count(json, "device_rf_zeros", advice->n_device_rf_zero);
    json_add_format(json, "fits", "%s", advice->misfit ? "false" : "true");
    json_add_text(json, "cause", advice->cause);
    json_add_count(json, "host_ops", advice->n_host_ops);
    json_add_count(json, "matched", advice->n_matched);
    json_add_real(json, "confidence", 6, advice->confidence);
    json_add_count(json, "positions", advice->n_positions);
}

/* ---- An .et file ---- */

static void print_traffic(const struct sutra_et_info *info) {
    if (info->n_traffic > 0)
        printf("%16s  %s\n", "communications", "type, process group, bytes");
    for (uint64_t i = 0; i < info->n_traffic; i++) {
        const struct sutra_et_traffic *row = &info->traffic[i];
        printf("%16s  %s, %s%s, %s", count_text(row->count).text, row->type, *row->group ? "group " : "all ranks",
               short_text(row->group, GROUP_WIDTH).text, bytes_text(row->bytes).text);
        if (row->bytes_least != row->bytes_most)
            printf(" (%s to %s each)", bytes_text(row->bytes_least).text, bytes_text(row->bytes_most).text);
        printf("\n");
    }
}

static void add_traffic(struct json_out *json, const struct sutra_et_info *info) {
    json_add_open(json, "communication", '[');
    for (uint64_t i = 0; i < info->n_traffic; i++) {
        const struct sutra_et_traffic *row = &info->traffic[i];
        json_open_line(json);
        json_add_text(json, "type", row->type);
        json_add_text(json, "group", row->group);
        json_add_count(json, "count", row->count);
        json_add_count(json, "bytes", row->bytes);
        json_add_count(json, "bytes_least", row->bytes_least);
        json_add_count(json, "bytes_most", row->bytes_most);
        json_close_line(json);
    }
    json_close(json, ']');
}

static void print_et(struct json_out *json, const char *path, const struct sutra_et_info *info) {
    const uint64_t *types = info->n_of_type;
    const struct info_row counts[] = {
        {"bytes", "bytes", info->n_bytes},
        {"nodes", "nodes", info->n_nodes},
        {"cpu", "  on the CPU", info->n_cpu},
        {"gpu", "  on the GPU", info->n_gpu},
        {"computation", "  computation", types[4]},
        {"collectives", "  collectives", types[7]},
        {"sends", "  sends", types[5]},
        {"receives", "  receives", types[6]},
        {"memory", "  loads and stores", types[2] + types[3]},
        {"metadata", "  metadata", types[1]},
        {"others", "  without a known type", types[0] + types[SUTRA_ET_OTHER]},
        {"control_dependencies", "control dependencies", info->n_ctrl},
        {"data_dependencies", "data dependencies", info->n_data},
        {"absent", "  on absent nodes", info->n_absent},
        {"cyclic", "nodes in or after a dependency cycle", info->n_cyclic},
        {"levels", "nodes in the longest dependency chain", info->n_levels},
        {"width", "nodes in the widest level of dependencies", info->width},
    };
    const struct info_row times[] = {
        {"us_least", "us: shortest duration", info->us_least},
        {"us_most", "us: longest duration", info->us_most},
        {"us_total", "us: total duration", info->us_total},
        {"critical_us", "us: longest dependency chain by duration", info->critical_us},
    };
    print_head(json, path, json ? "et" : "Chakra");
    print_schema(json, info->schema);
    print_rows(json, counts, COUNT_OF(counts));
    print_rows(json, times, COUNT_OF(times));
    if (json)
        add_traffic(json, info);
    else
        print_traffic(info);
}

/* ---- A trace ---- */

static void print_host(struct json_out *json, const char *path, const struct sutra_host_summary *summary,
                       const struct trace_validity *validity) {
    const struct info_row rows[] = {
        {"bytes", "bytes of JSON", summary->n_bytes},
        {"nodes", "nodes", summary->n_nodes},
        {"roots", "roots (nodes with id 1)", summary->n_roots},
        {"rf_ids", summary->linked ? "nodes with a record-function id" : "nodes with a record-function id (linkable)",
         summary->n_rf_ids},
        {"timed", "nodes with a duration from linking", summary->n_timed},
        {"gpu_nodes", "  GPU operators", summary->n_gpu_nodes},
    };
    print_head(json, path, !summary->linked ? "host" : json ? "ET+" : "linked (ET+)");
    print_schema(json, summary->schema);
    print_rows(json, rows, COUNT_OF(rows) - (summary->linked ? 0 : 2));
    print_defects(json, validity);
}

static void print_device(struct json_out *json, const char *path, const struct sutra_device_summary *summary,
                         const struct trace_validity *validity) {
    char unknown[CALL_NAMES_TEXT + 100];
    snprintf(unknown, sizeof unknown, "    launched by calls that chakra_trace_link does not know: %s",
             call_names_text(summary->unknown_calls, summary->n_unknown_calls).text);
    const struct info_row rows[] = {
        {"bytes", "bytes of JSON", summary->n_bytes},
        {"events", "events", summary->n_events},
        {"cpu_ops", "  CPU operators", summary->n_cpu_ops},
        {"rf_ids", "    with a record-function id (linkable)", summary->n_rf_ids},
        {"rf_zeros", "    with record-function id 0 (not linkable)", summary->n_rf_zero},
        {"launches", "  launches", summary->n_launches},
        {"gpu_ops", "  GPU activities", summary->n_gpu_ops},
        {"correlations", "    with the correlation of a launch (linkable)", summary->n_correlations},
        {"unknown_launches", summary->n_unknown_launches ? unknown : NULL, summary->n_unknown_launches},
        {"memory_sets", "    memset (not part of ET+)", summary->n_memory_sets},
        {"arrows", "  flow events", summary->n_arrows},
        {"others", "  other events", summary->n_others},
        {"threads", "threads", summary->n_threads},
        {"streams", "streams", summary->n_streams},
        {"steps", "profiler steps", summary->n_steps},
    };
    print_head(json, path, "device");
    if (json)
        json_add_text(json, "device_kind", summary->device_kind);
    else
        printf("%16s  device kind\n", summary->device_kind);
    print_rows(json, rows, COUNT_OF(rows));
    print_defects(json, validity);
    if (json) {
        json_add_counts(json, "unknown_calls", summary->unknown_calls, summary->n_unknown_calls);
        json_add_real(json, "ts_begin_us", 17, summary->ts_begin);
        json_add_real(json, "ts_end_us", 17, summary->ts_end);
    } else {
        printf("%14.6f s  from %.3f to %.3f microseconds\n", (summary->ts_end - summary->ts_begin) / 1e6,
               summary->ts_begin, summary->ts_end);
    }
    for (uint64_t i = 0; i < summary->n_facts; i++) {
        const struct sutra_trace_fact *fact = &summary->facts[i];
        if (json)
            json_add_text(json, fact->name, fact->text);
        else
            printf("%16s  %s\n", fact->words, short_text(fact->text, screen_columns() - WORDS_COLUMN).text);
    }
    if (json)
        json_add_open(json, "categories", '{');
    else
        printf("%16s  %s\n", "events", "category");
    for (uint64_t i = 0; i < summary->n_categories; i++) {
        const struct sutra_count *category = &summary->categories[i];
        if (json) {
            json_cstring_key(json, category->name);
            json_format(json, "%" PRIu64, category->count);
        } else {
            printf("%16s  %s\n", count_text(category->count).text,
                   *category->name ? short_text(category->name, screen_columns() - WORDS_COLUMN).text : "(none)");
        }
    }
    if (json)
        json_close_lines(json, '}');
}

/* The processes of a trace with several, and the path that selects a rank. */
static void print_processes(struct json_out *json, const char *path, const struct trace_processes *processes) {
    if (json)
        json_add_open(json, "processes", '[');
    else if (processes->n_ranks > 1)
        printf("%16s  ranks in this trace (processes with launches)\n", count_text(processes->n_ranks).text);
    else
        printf("%16s  processes in this trace, %s\n", count_text(processes->n).text,
               processes->n_ranks ? "one with launches" : "none with launches");
    for (uint32_t i = 0; i < processes->n; i++) {
        const struct trace_process *process = &processes->list[i];
        if (json) {
            json_open_line(json);
            if (process->rank >= 0)
                json_add_format(json, "rank", "%" PRId64, process->rank);
            else
                json_add_text(json, "rank", NULL);
            json_add_text(json, "pid", process->pid);
            json_add_text(json, "name", process->name);
            json_add_count(json, "cpu_ops", process->n_operators);
            json_add_count(json, "launches", process->n_launches);
            json_add_count(json, "gpu_activities", process->n_activities);
            json_close_line(json);
            continue;
        }
        if (process->rank >= 0)
            printf("%16" PRId64 "    pid ", process->rank);
        else
            printf("%16s    pid ", "-");
        printf("%s%s", short_text(process->pid, 30).text, *process->name ? ", " : "");
        printf("%s: %s, ", short_text(process->name, 20).text,
               counted_text(process->n_operators, "CPU operator", "CPU operators").text);
        printf("%s, ", counted_text(process->n_launches, "launch", "launches").text);
        puts(counted_text(process->n_activities, "GPU activity", "GPU activities").text);
    }
    if (json)
        json_close_lines(json, ']');
    else if (processes->n_ranks > 1 && !processes->n_shared)
        printf("%" PRIu32 " ranks: to select one, append its number to the path: %s/rank%" PRId64 "\n",
               processes->n_ranks, path_file_name(path), processes->list[0].rank);
}

/* ---- The command ---- */

static int check(struct job *job) {
    if (operands_are_run(&job->operands)) {
        job->n_inputs = 0;
        return SUTRA_OK;
    }
    if (job->operands.n > 2)
        return message_fail(SUTRA_USAGE, "expected a trace, a pair of traces, or the directories of a run");
    return job->operands.n == 1 ? job_spool_operand(job) : SUTRA_OK;
}

static enum sutra_status show_pair(struct info_job *info, struct json_out *json, struct sutra_error *error) {
    struct job *job = &info->job;
    struct sutra_advice advice = {.size = sizeof advice};
    char command[COMMAND_MAX] = "";
    if (sutra_host_trace_read(job->context, job->inputs[0], &info->host, error))
        return explain_swapped_pair(job, job->inputs[0], job->inputs[1], error);
    TRY(sutra_device_trace_read(job->context, job->inputs[1], &info->device, error));
    TRY(sutra_advise(job->context, info->host, info->device, &advice, error));
    progress_clear(&job->watch.progress);
    advice_command(&advice, job->inputs[0], job->inputs[1], NULL, command, sizeof command);
    struct trace_validity both = *info->host->validity;
    validity_add(&both, info->device->validity);
    if (json) {
        add_advice(json, &advice, command);
        print_defects(json, &both);
    } else {
        print_advice(&advice, &both, command);
    }
    return SUTRA_OK;
}

static enum sutra_status show_et(struct info_job *info, struct json_out *json, struct sutra_error *error) {
    struct job *job = &info->job;
    struct sutra_et_info summary = {.size = sizeof summary};
    TRY(sutra_et_read(job->context, job->inputs[0], NULL, &info->et, error));
    TRY(sutra_et_info(job->context, info->et, &summary, error));
    progress_clear(&job->watch.progress);
    print_et(json, job->inputs[0], &summary);
    return SUTRA_OK;
}

/* A profiler's database with all of its ranks. */
static enum sutra_status show_report(struct info_job *info, struct json_out *json, struct sutra_error *error) {
    static const struct stage_share report_stages[] = {{"read report", 1, false}, {0}};
    struct job *job = &info->job;
    const struct sutra_nsys_options reading = {.size = sizeof reading, .no_tables = true};
    struct sutra_nsys_info found = {.size = sizeof found};
    struct sutra_nsys_rank rank;
    job->watch.progress.stages = report_stages;
    TRY(sutra_nsys_read(job->context, job->inputs[0], &reading, &info->report, error));
    progress_clear(&job->watch.progress);
    sutra_nsys_info(info->report, &found);
    const struct info_row rows[] = {
        {"events", "events", found.n_events},
        {"kernels", "  kernels", found.n_kernels},
        {"calls", "  CUDA or HIP calls", found.n_calls},
        {"ranges", "  NVTX ranges", found.n_ranges},
        {"steps", "steps", found.n_steps},
        {"forward_backward", "pairs of forward and backward operators", found.n_forward_backward},
    };
    if (json) {
        json_open(json, '{');
        json_add_text(json, "file", job->inputs[0]);
        json_add_text(json, "kind", found.kind);
        json_add_open(json, "ranks", '[');
    } else {
        printf("%s: report of %s\n", short_path(job->inputs[0], screen_columns() - 30).text,
               strcmp(found.kind, "nsys") == 0  ? "Nsight Systems"
               : strcmp(found.kind, "rpd") == 0 ? "rocmProfileData"
                                                : "rocprofv3 (rocpd)");
        print_rows(NULL, rows, COUNT_OF(rows));
        printf("%16s  ranks\n", count_text(found.n_ranks).text);
    }
    for (uint32_t i = 0; sutra_nsys_rank(info->report, i, &rank); i++) {
        if (json) {
            json_open_line(json);
            json_add_format(json, "rank", "%" PRId64, rank.rank);
            json_add_format(json, "pid", "%" PRId64, rank.pid);
            json_add_open(json, "devices", '[');
        } else {
            printf("%16" PRId64 "    process %" PRId64 ", GPU", rank.rank, rank.pid);
        }
        for (uint32_t k = 0; k < rank.n_devices; k++)
            if (json)
                json_format(json, "%" PRId64, rank.devices[k]);
            else
                printf(" %" PRId64, rank.devices[k]);
        if (json) {
            json_close(json, ']');
            json_close_line(json);
        } else {
            puts("");
        }
    }
    if (json) {
        json_close_lines(json, ']');
        print_rows(json, rows, COUNT_OF(rows));
        if (found.has_utc)
            json_add_format(json, "utc_offset_ns", "%" PRId64, found.utc_offset_ns);
        else
            json_add_text(json, "utc_offset_ns", NULL);
        json_add_open(json, "skipped", '{');
    }
    const char *reason;
    uint64_t count;
    for (uint32_t i = 0; sutra_nsys_skipped(info->report, i, &reason, &count); i++)
        if (json && count)
            json_add_count(json, reason, count);
        else if (count)
            printf("%16s  skipped: %s\n", count_text(count).text, reason);
    if (json)
        json_close_lines(json, '}');
    else if (found.n_ranks > 1)
        printf("to select a rank, append its number to the path: %s/rank0\n", path_file_name(job->inputs[0]));
    return SUTRA_OK;
}

static enum sutra_status show_trace(struct info_job *info, struct json_out *json, struct sutra_error *error) {
    static const struct stage_share host_stages[] = {STAGES_READ("host trace", 1), {0}},
                                    device_stages[] = {STAGES_READ("device trace", 1), {0}};
    struct job *job = &info->job;
    const char *path = job->inputs[0];
    enum sutra_trace_kind kind;
    TRY(sutra_trace_kind_of(job->context, path, &kind, error));
    job->watch.progress.stages = kind == SUTRA_TRACE_HOST ? host_stages : device_stages;
    if (kind == SUTRA_TRACE_HOST) {
        struct sutra_host_summary summary = {.size = sizeof summary};
        TRY(sutra_host_trace_read(job->context, path, &info->host, error));
        progress_clear(&job->watch.progress);
        sutra_host_trace_summary(info->host, &summary);
        print_host(json, path, &summary, info->host->validity);
        if (job->watch.warnings && host_trace_check_nodes(info->host, error))
            message_warn("%s: %s", path, error->message);
        return SUTRA_OK;
    }
    struct sutra_device_summary summary = {.size = sizeof summary};
    job->context->keeps_processes = true;
    TRY(sutra_device_trace_read(job->context, path, &info->device, error));
    TRY(sutra_device_trace_summary(job->context, info->device, &summary, error));
    progress_clear(&job->watch.progress);
    print_device(json, path, &summary, info->device->validity);
    if (info->device->processes)
        print_processes(json, path, info->device->processes);
    if (job->watch.warnings && (device_trace_check_events(info->device, error) ||
                                (info->device->processes && info->device->processes->n_shared &&
                                 processes_refuse(info->device->processes, &info->device->document.source, error))))
        message_warn("%s: %s", path, error->message);
    return SUTRA_OK;
}

/* A log of NCCL Inspector. */
static enum sutra_status show_log(const struct info_job *info, struct json_out *json, struct sutra_error *error) {
    const char *path = info->job.inputs[0];
    struct inspector_log log;
    uint64_t n_messages = 0, n_untimed = 0;
    const enum sutra_status status = inspector_log_read(&log, path, info->job.options.most_input_bytes, error);
    for (uint64_t i = 0; i < log.n_records; i++) {
        n_messages += log.records[i].peer != INSPECTOR_NO_PEER;
        n_untimed += !log.records[i].is_timed;
    }
    const struct info_row rows[] = {
        {"records", "records", log.n_records},
        {"collectives", "  collectives", log.n_records - n_messages},
        {"messages", "  sends and receives", n_messages},
        {"untimed", "  without GPU time", n_untimed},
        {"members", "ranks of communicators", log.n_members},
        {"malformed", "malformed lines", log.n_malformed},
    };
    inspector_log_free(&log);
    TRY(status);
    if (json) {
        json_open(json, '{');
        json_add_text(json, "file", path);
        json_add_text(json, "kind", "inspector");
    } else {
        printf("%s: an NCCL Inspector log\n", short_path(path, screen_columns() - 24).text);
    }
    print_rows(json, rows, COUNT_OF(rows));
    if (!json)
        puts("'sutra analyze collectives' reads it, with the logs of the other processes");
    return SUTRA_OK;
}

/* Shows a pair of traces, or one file by its kind. */
static enum sutra_status show_inputs(struct info_job *info, struct json_out *json, struct sutra_error *error) {
    struct job *job = &info->job;
    const char *path = job->inputs[0];
    bool is_et = false, is_report = false;
    struct stat found;
    TRY(job_open(job, NULL, error));
    if (operands_are_run(&job->operands))
        return info_run_show(job, info->full, json, error);
    if (job->n_inputs == 2)
        return show_pair(info, json, error);
    if (!path_is_stream(path) && stat(path, &found)) /* FILE/rankN */
        return show_trace(info, json, error);
    if (is_inspector_log_file(path))
        return show_log(info, json, error);
    TRY(sutra_is_nsys(path, &is_report, error));
    if (is_report)
        return show_report(info, json, error);
    TRY(sutra_is_et(job->context, path, &is_et, error));
    return (is_et ? show_et : show_trace)(info, json, error);
}

static int show(struct job *job) {
    struct info_job *info = (struct info_job *)job;
    struct text_out text = {.file = stdout};
    struct json_out document = {.text = &text, .indent = 2}, *json = info->json ? &document : NULL;
    struct sutra_error error;
    if (show_inputs(info, json, &error))
        return job_fail(job, &error);
    if (!json)
        return SUTRA_OK;
    json_close(json, '}');
    return json_finish(json);
}

static void release(struct job *job) {
    struct info_job *info = (struct info_job *)job;
    sutra_device_trace_free(info->device);
    sutra_host_trace_free(info->host);
    sutra_et_free(info->et);
    sutra_nsys_free(info->report);
}

static const char *const synopses[] = {"FILE [OPTIONS]", "HOST DEVICE [OPTIONS]", "RUN... [OPTIONS]", NULL};
static const char *const description[] = {
    "Reads and checks all of FILE, a host trace or a device trace: plain, gzip or zstd. Prints its contents, and how "
    "many nodes or events can be linked.",
    "For a Chakra file (.et, detected by content), prints nodes by type, dependencies, durations, the longest chains "
    "of dependencies, and communication by type and group.",
    "For a device trace with several ranks, prints its processes. FILE/rankN is the device trace of rank N.",
    "For a report of Nsight Systems, rocprofv3 or rocmProfileData (an SQLite database), prints events, ranks with their GPUs, and "
    "skipped data. REPORT/rankN is the device trace of rank N.",
    "With two files, a host trace and a device trace, recommends the command that links them, and prints the reason.",
    "For the directory of a run, lists roles, profiling windows and ranks, the source of the ranks, and the files that are "
    "no traces of ranks, with the reasons.",
    NULL,
};
static const struct example examples[] = {
    {"sutra info device.json.gz", "summarize a device trace"},
    {"sutra info job.0.et", "summarize a Chakra file"},
    {"sutra info report.sqlite", "list the ranks of an exported report of Nsight Systems"},
    {"sutra info host.json device.json", "recommend the command that links two traces"},
    {"sutra info run/", "list the profiling windows and ranks of a run"},
    {"sutra info device.json --json | jq .categories", "count events by category, for a script"},
    {0},
};

const struct command info_command = {
    .name = "info",
    .called = "sutra info",
    .summary = "summarize a trace or a run, or recommend the link command for a pair",
    COMMAND_TEXTS,
    .n_operands_min = 1,
    .n_operands_max = OPERANDS_ANY,
    .missing = "the trace is missing",
    .size = sizeof(struct info_job),
    .check = check,
    .work = show,
    .release = release,
};
