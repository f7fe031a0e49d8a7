/*
 * info.c - `sutra info`: prints the contents of a trace or an .et file and the number of linkable events, or the
 * command that links a pair of traces, as text or JSON.
 */
#include <inttypes.h>
#include <math.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdio.h>
#include <sys/stat.h>

#include "cli/command.h"
#include "cli/job.h"
#include "cli/link.h"
#include "cli/paths.h"
#include "cli/progress.h"
#include "cli/terminal.h"
#include "text/quantities.h"
#include "write/json.h"

#define WORDS_COLUMN 18   /* after a number */
#define GROUP_WIDTH  12   /* of the name of a process group */
#define COMMAND_MAX  9000 /* two file names and an annotation */

struct info_job {
    struct job job;
    bool json;
    struct sutra_host_trace *host;
    struct sutra_device_trace *device;
    struct sutra_et *et;
};

static const struct option_row options[] = {
    {"json", 'j', OPTION_FLAG, AT(info_job, json), .help = "print one JSON object"},
    JOB_ROW_THREADS,
    JOB_ROW_LENIENT,
    JOB_ROW_INPUT,
    JOB_ROW_QUIET("print no progress and no warnings"),
    {0},
};

/* ---- A pair of traces: the command that links it ---- */

static const char *const linkers[] = {"none", "link", "link-legacy --exact-match", "link-legacy"};

static void print_reason(const struct sutra_advice *advice) {
    printf("%16s  host nodes with a record-function id\n", count_text(advice->n_host_rf).text);
    if (advice->n_host_rf_zero && !advice->n_host_rf)
        printf("%16s    with record-function id 0 (not linkable)\n", count_text(advice->n_host_rf_zero).text);
    printf("%16s  device trace operators with a record-function id\n", count_text(advice->n_device_rf).text);
    if (advice->n_device_rf_zero && !advice->n_device_rf)
        printf("%16s    with record-function id 0 (not linkable)\n", count_text(advice->n_device_rf_zero).text);
    printf("%16s  host nodes with an id in common with the device trace\n", count_text(advice->n_common_rf).text);
    if (advice->linker == SUTRA_LINKER_IDS || advice->linker == SUTRA_LINKER_NONE)
        return;
    printf("%16s  of %s host operators match by name and %s\n", count_text(advice->n_matched).text,
           count_text(advice->n_host_ops).text,
           advice->linker == SUTRA_LINKER_EXACT ? "position, one to one" : "position in the call tree");
    printf("%16s  GPU operators are linked by this match\n", count_text(advice->n_gpu_nodes).text);
}

static void print_text(const struct sutra_advice *advice, const char *command) {
    print_reason(advice);
    if (*advice->cause)
        wrapped_print(advice->cause, printf("%s:", advice->misfit ? "warning" : "cause"), 2);
    if (advice->linker == SUTRA_LINKER_NONE)
        printf("these traces cannot be linked: they have no ids in common,\n  and too few operators match by name\n");
    else
        printf("to link them%s:\n  %s\n", advice->misfit ? " despite the warning" : "", command);
}

static void print_json(const struct sutra_advice *advice, const char *command) {
    printf("{\n  \"linker\": \"%s\",\n  \"command\": ", linkers[advice->linker]);
    json_string_print(stdout, command);
    printf(",\n  \"annotation\": ");
    json_string_print(stdout, advice->annotation);
    printf(",\n  \"host_rf_ids\": %" PRIu64 ",\n  \"device_rf_ids\": %" PRIu64 ",\n  \"common_rf_ids\": %" PRIu64,
           advice->n_host_rf, advice->n_device_rf, advice->n_common_rf);
    printf(",\n  \"host_rf_zeros\": %" PRIu64 ",\n  \"device_rf_zeros\": %" PRIu64 ",\n  \"fits\": %s,\n  \"cause\": ",
           advice->n_host_rf_zero, advice->n_device_rf_zero, advice->misfit ? "false" : "true");
    json_string_print(stdout, advice->cause);
    printf(",\n  \"host_ops\": %" PRIu64 ",\n  \"matched\": %" PRIu64 ",\n  \"gpu_nodes\": %" PRIu64 "\n}\n",
           advice->n_host_ops, advice->n_matched, advice->n_gpu_nodes);
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

static void print_traffic_json(const struct sutra_et_info *info) {
    printf(",\n  \"communication\": [");
    for (uint64_t i = 0; i < info->n_traffic; i++) {
        const struct sutra_et_traffic *row = &info->traffic[i];
        printf("%s\n    {\"type\": \"%s\", \"group\": ", i ? "," : "", row->type);
        json_string_print(stdout, row->group);
        printf(", \"count\": %" PRIu64 ", \"bytes\": %" PRIu64 ", \"bytes_least\": %" PRIu64
               ", \"bytes_most\": %" PRIu64 "}",
               row->count, row->bytes, row->bytes_least, row->bytes_most);
    }
    printf("%s]", info->n_traffic ? "\n  " : "");
}

static void print_info(const char *path, const struct sutra_et_info *info, bool json) {
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
    info_head_print(path, json ? "et" : "Chakra", json);
    info_schema_print(info->schema, json);
    info_rows_print(counts, COUNT_OF(counts), json);
    info_rows_print(times, COUNT_OF(times), json);
    (json ? print_traffic_json : print_traffic)(info);
    if (json)
        printf("\n}\n");
}

/* ---- A trace ---- */

static void print_host(const char *path, const struct sutra_host_summary *summary, bool json) {
    const struct info_row rows[] = {
        {"bytes", "bytes of JSON", summary->n_bytes},
        {"nodes", "nodes", summary->n_nodes},
        {"roots", "roots (nodes with id 1)", summary->n_roots},
        {"rf_ids", summary->linked ? "nodes with a record-function id" : "nodes with a record-function id (linkable)",
         summary->n_rf_ids},
        {"timed", "nodes with a duration from linking", summary->n_timed},
        {"gpu_nodes", "  GPU operators", summary->n_gpu_nodes},
    };
    info_head_print(path, !summary->linked ? "host" : json ? "ET+" : "linked (ET+)", json);
    info_schema_print(summary->schema, json);
    info_rows_print(rows, COUNT_OF(rows) - (summary->linked ? 0 : 2), json);
    if (json)
        printf("\n}\n");
}

static void print_categories(const struct sutra_device_summary *summary, bool json) {
    if (json)
        printf(",\n  \"categories\": {");
    else
        printf("%16s  %s\n", "events", "category");
    for (uint64_t i = 0; i < summary->n_categories; i++) {
        const struct sutra_count *category = &summary->categories[i];
        if (json) {
            printf("%s\n    ", i ? "," : "");
            json_string_print(stdout, category->name);
            printf(": %" PRIu64, category->count);
        } else {
            printf("%16s  %s\n", count_text(category->count).text,
                   *category->name ? short_text(category->name, screen_columns() - WORDS_COLUMN).text : "(none)");
        }
    }
    if (json)
        printf("\n  }");
}

/* JSON has no infinities. */
static void print_json_real(const char *name, double value) {
    if (isfinite(value))
        printf(",\n  \"%s\": %.17g", name, value);
    else
        printf(",\n  \"%s\": null", name);
}

static void print_device(const char *path, const struct sutra_device_summary *summary, bool json) {
    const struct info_row rows[] = {
        {"bytes", "bytes of JSON", summary->n_bytes},
        {"events", "events", summary->n_events},
        {"cpu_ops", "  CPU operators", summary->n_cpu_ops},
        {"rf_ids", "    with a record-function id (linkable)", summary->n_rf_ids},
        {"rf_zeros", "    with record-function id 0 (not linkable)", summary->n_rf_zero},
        {"launches", "  launches", summary->n_launches},
        {"gpu_ops", "  GPU activities", summary->n_gpu_ops},
        {"correlations", "    with the correlation of a launch (linkable)", summary->n_correlations},
        {"memory_sets", "    memset (not part of ET+)", summary->n_memory_sets},
        {"arrows", "  flow events", summary->n_arrows},
        {"others", "  other events", summary->n_others},
        {"threads", "threads", summary->n_threads},
        {"streams", "streams", summary->n_streams},
        {"steps", "profiler steps", summary->n_steps},
    };
    info_head_print(path, "device", json);
    info_rows_print(rows, COUNT_OF(rows), json);
    if (json) {
        print_json_real("ts_begin_us", summary->ts_begin);
        print_json_real("ts_end_us", summary->ts_end);
    } else {
        printf("%14.6f s  from %.3f to %.3f microseconds\n", (summary->ts_end - summary->ts_begin) / 1e6,
               summary->ts_begin, summary->ts_end);
    }
    for (uint64_t i = 0; i < summary->n_facts; i++) {
        const struct sutra_trace_fact *fact = &summary->facts[i];
        if (json) {
            printf(",\n  \"%s\": ", fact->name);
            json_string_print(stdout, fact->text);
        } else
            printf("%16s  %s\n", fact->words, short_text(fact->text, screen_columns() - WORDS_COLUMN).text);
    }
    print_categories(summary, json);
    if (json)
        printf("\n}\n");
}

/* ---- The command ---- */

/* The kind of a trace is detected before it is read, so a file is opened twice. */
static int check(struct job *job) {
    for (unsigned i = 0; i < job->operands.n; i++) {
        struct stat found;
        const char *path = job->operands.words[i];
        if (path_is_stream(path) || (stat(path, &found) == 0 && S_ISFIFO(found.st_mode)))
            return message_fail(SUTRA_USAGE, "%s: expected a file, found a pipe: info reads a trace twice", path);
    }
    return SUTRA_OK;
}

static enum sutra_status show_pair(struct info_job *info, struct sutra_error *error) {
    struct job *job = &info->job;
    struct sutra_advice advice = {.size = sizeof advice};
    char command[COMMAND_MAX] = "";
    enum sutra_status status = sutra_host_trace_read(job->context, job->inputs[0], &info->host, error);
    if (!status)
        status = sutra_device_trace_read(job->context, job->inputs[1], &info->device, error);
    if (!status)
        status = sutra_advise(job->context, info->host, info->device, &advice, error);
    if (status)
        return status;
    progress_clear(&job->watch.progress);
    advice_command(&advice, job->inputs[0], job->inputs[1], NULL, command, sizeof command);
    (info->json ? print_json : print_text)(&advice, command);
    return SUTRA_OK;
}

static enum sutra_status show_et(struct info_job *info, struct sutra_error *error) {
    struct job *job = &info->job;
    struct sutra_et_info summary = {.size = sizeof summary};
    enum sutra_status status = sutra_et_read(job->context, job->inputs[0], NULL, &info->et, error);
    if (!status)
        status = sutra_et_info(job->context, info->et, &summary, error);
    if (status)
        return status;
    progress_clear(&job->watch.progress);
    print_info(job->inputs[0], &summary, info->json);
    return SUTRA_OK;
}

static enum sutra_status show_trace(struct info_job *info, struct sutra_error *error) {
    static const struct stage_share host_stages[] = {STAGES_READ("host trace", 1), {0}},
                                    device_stages[] = {STAGES_READ("device trace", 1), {0}};
    struct job *job = &info->job;
    const char *path = job->inputs[0];
    enum sutra_trace_kind kind;
    enum sutra_status status = sutra_trace_kind_of(job->context, path, &kind, error);
    if (status)
        return status;
    job->watch.progress.stages = kind == SUTRA_TRACE_HOST ? host_stages : device_stages;
    if (kind == SUTRA_TRACE_HOST) {
        struct sutra_host_summary summary = {.size = sizeof summary};
        if ((status = sutra_host_trace_read(job->context, path, &info->host, error)))
            return status;
        progress_clear(&job->watch.progress);
        sutra_host_trace_summary(info->host, &summary);
        print_host(path, &summary, info->json);
        return SUTRA_OK;
    }
    struct sutra_device_summary summary = {.size = sizeof summary};
    if ((status = sutra_device_trace_read(job->context, path, &info->device, error)) ||
        (status = sutra_device_trace_summary(job->context, info->device, &summary, error)))
        return status;
    progress_clear(&job->watch.progress);
    print_device(path, &summary, info->json);
    return SUTRA_OK;
}

static int show(struct job *job) {
    struct info_job *info = (struct info_job *)job;
    struct sutra_error error;
    bool is_et = false;
    enum sutra_status status = job_open(job, NULL, &error);
    if (!status && job->n_inputs == 2)
        status = show_pair(info, &error);
    else if (!status && !(status = sutra_is_et(job->context, job->inputs[0], &is_et, &error)))
        status = (is_et ? show_et : show_trace)(info, &error);
    return status ? job_fail(job, &error) : SUTRA_OK;
}

static void release(struct job *job) {
    struct info_job *info = (struct info_job *)job;
    sutra_device_trace_free(info->device);
    sutra_host_trace_free(info->host);
    sutra_et_free(info->et);
}

static const char *const synopses[] = {"FILE [OPTIONS]", "HOST DEVICE [OPTIONS]", NULL};
static const char *const description[] = {
    "Reads and checks all of FILE, a host trace or a device trace: plain, gzip or zstd. Prints its contents, and how "
    "many nodes or events can be linked.",
    "For a Chakra file (.et, detected by content), prints nodes by type, dependencies, durations, the longest chains "
    "of dependencies, and communication by type and group.",
    "With two files, a host trace and a device trace, recommends the command that links them, and prints the reason.",
    NULL,
};
static const struct example examples[] = {
    {"sutra info device.json.gz", "summarize a device trace"},
    {"sutra info job.0.et", "summarize a Chakra file"},
    {"sutra info host.json device.json", "recommend the command that links two traces"},
    {"sutra info device.json --json | jq .categories", "count events by category, for a script"},
    {0},
};

const struct command info_command = {
    .name = "info",
    .called = "sutra info",
    .summary = "summarize a trace, or recommend the link command for a pair",
    .synopses = synopses,
    .description = description,
    .options = options,
    .examples = examples,
    .n_operands_min = 1,
    .n_operands_max = 2,
    .missing = "the trace is missing",
    .size = sizeof(struct info_job),
    .check = check,
    .work = show,
    .release = release,
};
