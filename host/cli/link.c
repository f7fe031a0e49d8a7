/*
 * link.c - `sutra link`: links a host trace and a device trace into ET+. Also chakra_trace_link: the same work with
 * that program's name and command line.
 *
 * First checks that need no input (arguments, writable output), then the library call, then summary and statistics.
 */
#include <inttypes.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "cli/job.h"
#include "cli/link.h"
#include "cli/link_job.h"
#include "cli/paths.h"
#include "sutra/link.h"
#include "sutra/sutra.h"
#include "text/quantities.h"

/*
 * Closing lines and --stats of `sutra link`.
 */

struct link_result {
    struct sutra_link_report report;
    const struct run_figures *figures;
};

/*
 * Prints the closing lines of `sutra link`, one count per line, and --stats:
 *
 *     sutra: linked into out.json
 *           12,345  nodes of the host trace, 12,000 of them operators
 *           ...
 *
 *     {"version": "0.1.0", "counts": {"n_host_nodes": 1, ...}, "seconds": {"read host": 0.1, ..., "total": 0.2},
 *      "input_bytes": 1, "output_bytes": 1, "peak_memory_bytes": 1, "peak_rss_bytes": 1, "threads": 2,
 *      "engine": "cuda", "device_seconds": {"up": 0.1, ...}}
 *
 * The first lines are always printed, so that runs are easy to compare. Lines on skipped or corrected nodes are printed
 * only if their count is not 0. "device_seconds" requires a CUDA device. "counts" has the fields of struct
 * sutra_link_report under their names.
 */

#define FIELDS(X)                                                                                                      \
    X(n_host_nodes)                                                                                                    \
    X(n_host_ops)                                                                                                      \
    X(n_host_linked)                                                                                                   \
    X(n_host_without_rf)                                                                                               \
    X(n_host_rf_unmatched)                                                                                             \
    X(n_events)                                                                                                        \
    X(n_cpu_ops)                                                                                                       \
    X(n_gpu_ops)                                                                                                       \
    X(n_gpu_with_parent)                                                                                               \
    X(n_gpu_without_launch)                                                                                            \
    X(n_gpu_without_parent)                                                                                            \
    X(n_gpu_host_unmatched)                                                                                            \
    X(n_gpu_nodes)                                                                                                     \
    X(n_nodes)                                                                                                         \
    X(n_inter_thread)                                                                                                  \
    X(n_sync)                                                                                                          \
    X(n_exclusive_rounded)                                                                                             \
    X(n_exclusive_replaced)                                                                                            \
    X(n_fields_dropped)                                                                                                \
    X(n_host_rf_zero)                                                                                                  \
    X(n_gpu_memory_sets)

#define SIZE(name) +sizeof(((struct sutra_link_report *)0)->name)
_Static_assert(sizeof(struct sutra_link_report) == sizeof(size_t) FIELDS(SIZE), "every field is listed");
#undef SIZE

/* Prints a few aligned lines on standard error. */
static void link_summary_print(const struct link_result *result) {
    const struct sutra_link_report *report = &result->report;
    const struct summary_row rows[] = {
        {report->n_host_nodes, "nodes in the host trace", true},
        {report->n_host_ops, "  operators below the root", true},
        {report->n_host_linked, "    linked to a device trace operator", true},
        {report->n_host_without_rf, "    unlinked: no rf_id", false},
        {report->n_host_rf_zero, "    unlinked: rf_id is 0", false},
        {report->n_host_rf_unmatched, "    unlinked: rf_id not in the device trace", false},
        {report->n_events, "events in the device trace", true},
        {report->n_cpu_ops, "  CPU operators", true},
        {report->n_gpu_ops, "  GPU activities", true},
        {report->n_gpu_with_parent, "    matched to a CPU operator", true},
        {report->n_gpu_host_unmatched, "      skipped: CPU operator not in the host trace", false},
        {report->n_gpu_memory_sets, "    skipped: memset (not part of ET+)", false},
        {report->n_gpu_without_launch, "    unmatched: no launch with this correlation", false},
        {report->n_gpu_without_parent, "    unmatched: no CPU operator starts before the launch", false},
        {report->n_nodes, "nodes written", true},
        {report->n_gpu_nodes, "  GPU operators", true},
        {report->n_inter_thread, "  with a dependency on another thread", true},
        {report->n_sync, "  with synchronization dependencies", true},
        {report->n_exclusive_rounded, "exclusive durations below 0 by rounding, replaced by 0", false},
        {report->n_exclusive_replaced, "exclusive durations below 0, replaced by inclusive durations", false},
        {report->n_fields_dropped, "fields of the wrong type, ignored", false},
    };
    fprintf(stderr, "sutra: linked into %s\n",
            path_is_stream(result->figures->output) ? "standard output" : result->figures->output);
    summary_print(rows, sizeof rows / sizeof *rows);
    run_figures_print(result->figures);
}

static void print_all(FILE *file, const void *data) {
    const struct link_result *result = data;
    const struct named_count counts[] = {
#define COUNT(name) {#name, result->report.name},
        FIELDS(COUNT)
#undef COUNT
    };
    run_counts_print_json(file, counts, sizeof counts / sizeof *counts, NULL, 0);
    run_figures_print_json(file, result->figures);
}

/* Writes one JSON object to a file; "-" is standard output. SUTRA_NO_OUTPUT, SUTRA_IO. */
static enum sutra_status link_stats_write(const struct link_result *result, const char *path) {
    return stats_write(path, print_all, result);
}

static const char ending[] = ".json", plus[] = "_plus.json";

/* The last ending in a text, or NULL. */
static const char *last_ending(const char *text) {
    const char *last = NULL;
    for (const char *at = text; (at = strstr(at, ending)); at++)
        last = at;
    return last;
}

char *plus_path(const char *host, bool everywhere) {
    const char *slash = strrchr(host, '/'), *from = host;
    char *path = malloc(strlen(host) * 2 + sizeof plus);
    if (!path)
        return NULL;
    const char *next = everywhere ? strstr(host, ending) : last_ending(slash ? slash : host);
    bool found = next != NULL;
    char *to = path;
    for (; next; next = everywhere ? strstr(from, ending) : NULL) {
        to = mempcpy(to, from, (size_t)(next - from));
        to = mempcpy(to, plus, sizeof plus - 1);
        from = next + sizeof ending - 1;
    }
    to = mempcpy(to, from, strlen(from));
    if (!found)
        to = mempcpy(to, plus, sizeof plus - 1);
    *to = 0;
    return path;
}

const char *const pair_log_levels[] = {"DEBUG", "INFO", "WARNING", "ERROR", "CRITICAL", NULL};

int pair_take_operands(struct pair_values *values, const struct operands *operands) {
    unsigned next = 0;
    if (!values->host && next < operands->n)
        values->host = operands->words[next++];
    if (!values->device && next < operands->n)
        values->device = operands->words[next++];
    if (next < operands->n)
        return message_fail(SUTRA_USAGE, "'%s' is one trace too many", operands->words[next]);
    return SUTRA_OK;
}

int pair_check_named(const struct pair_values *values, const struct command *command) {
    if (!values->host || !values->device)
        return message_fail(SUTRA_USAGE, "the %s trace is missing; see '%s --help'", values->host ? "device" : "host",
                            command->called);
    return SUTRA_OK;
}

int pair_check_flags(struct pair_values *values) {
    int exit_code = job_check_flags(&values->job);
    if (exit_code == SUTRA_OK && values->job.quiet && values->log_level < LOG_WARNING)
        values->log_level = LOG_WARNING;
    return exit_code;
}

int pair_check_files(const struct pair_values *values) {
    const char *output = values->job.output, *const inputs[] = {values->host, values->device};
    if (path_is_stream(values->host) && path_is_stream(values->device))
        return message_fail(SUTRA_USAGE, "only one of the traces can be standard input");
    if (paths_same(output, values->host) || paths_same(output, values->device))
        return message_fail(SUTRA_USAGE, "%s: output and input are the same file", output);
    return job_check_stats(values->job.stats, output, inputs, 2);
}

struct pair pair_start(const struct pair_values *values, bool notes) {
    return (struct pair){
        .values = values,
        .job = job_start(&values->job, values->log_level <= LOG_INFO, values->log_level <= LOG_WARNING, notes)};
}

/* Behind an error about the host trace, which the device trace may be. */
static void tell_if_swapped(const struct pair *pair, struct sutra_error *error) {
    size_t length = strlen(error->message);
    if (job_is_trace(&pair->job, pair->values->host, SUTRA_TRACE_DEVICE) &&
        job_is_trace(&pair->job, pair->values->device, SUTRA_TRACE_HOST))
        snprintf(error->message + length, sizeof error->message - length, "; swap the two files");
}

enum sutra_status pair_read(struct pair *pair, struct sutra_error *error) {
    const struct pair_values *values = pair->values;
    enum sutra_status status = job_open(&pair->job, values->job.output, error);
    if (!status)
        status = sutra_host_trace_read(pair->job.context, values->host, &pair->host, error);
    if (!status)
        status = sutra_device_trace_read(pair->job.context, values->device, &pair->device, error);
    if (status == SUTRA_DATA && !pair->host)
        tell_if_swapped(pair, error);
    return status;
}

void pair_measure(struct pair *pair) {
    job_measure_inputs(&pair->job, (const char *const[]){pair->values->host, pair->values->device}, 2);
}

void pair_end(struct pair *pair) {
    sutra_device_trace_free(pair->device);
    sutra_host_trace_free(pair->host);
    sutra_context_free(pair->job.context);
}

/*
 * Adds measured times to .et files, and prints simulated time, measured time and the changes.
 *
 *     sutra: 244.280 ms simulated, 244.278 ms measured
 *              623  nodes in the file
 *              ...
 */

const char *const faithful_gpus[] = {"one", "streams", NULL};

bool faithful_is_asked(const struct faithful_values *values) {
    return values->gpu == GPU_STREAMS || values->rest;
}

static bool read_rest(const char *text, double *us) {
    char *end;
    *us = strtod(text, &end);
    if (*us == 0) /* which would be the default */
        *us = 1e-9;
    return end > text && !*end;
}

int faithful_check(struct faithful_values *values) {
    if (values->rest && !read_rest(values->rest, &values->rest_us))
        return message_fail(SUTRA_USAGE, "--min-idle-us: '%s' is not a number of microseconds", values->rest);
    return SUTRA_OK;
}

struct sutra_faithful_options faithful_options(const struct faithful_values *values) {
    return (struct sutra_faithful_options){.size = sizeof(struct sutra_faithful_options),
                                           .rest_us = values->rest_us,
                                           .gpu_streams = values->gpu == GPU_STREAMS};
}

void faithful_summary_print(const struct sutra_faithful_report *report) {
    const struct summary_row rows[] = {
        {report->n_nodes, "nodes in the file", true},
        {report->n_rests, "  gaps without recorded work", false},
        {report->n_launch_cuts, "  second parts of operators split at a launch", false},
        {report->n_parts, "  parts of kernels that shared the GPU", false},
        {report->n_waits, "synchronizing calls with kernels to wait for", true},
        {report->n_calls_without_kernel, "synchronizing calls without kernels to wait for", false},
        {report->n_blocking_copies, "blocking memcpy calls", false},
        {report->n_pageable_copies, "blocking memcpy calls with pageable memory", false},
        {report->n_orders, "kernels that wait for another stream's event", false},
        {report->n_inferred, "kernels inferred to wait for a kernel of another stream that ended just before", false},
        {report->n_clocked, "kernels started by CPU time, because the cause of their wait is unknown", false},
        {report->n_works, "kernels with known operations and bytes", false},
        {report->n_late, "kernels that start late for an unknown reason", false},
    };
    fprintf(stderr, "sutra: %s simulated,", time_text(report->simulated_us).text);
    fprintf(stderr, " %s measured\n", time_text(report->measured_us).text);
    summary_print(rows, sizeof rows / sizeof *rows);
    if (report->n_late)
        fprintf(stderr, "                  late by %s in total\n", time_text(report->late_us).text);
}

void faithful_warn(const struct sutra_faithful_report *report) {
    if (report->n_never_ran)
        message_warn("%s of the file can never run: internal error, please report it",
                     counted_text(report->n_never_ran, "node", "nodes").text);
    if (!report->departs)
        return;
    struct figure simulated = time_text(report->simulated_us), measured = time_text(report->measured_us);
    message_warn("simulated time %s differs from measured time %s: first at node %" PRIu64 ", which starts %s off",
                 simulated.text, measured.text, report->departs_id, time_text(report->departs_us).text);
}

/*
 * Builds a command line as text.
 */

/* Text that grows up to a size; `full` once something had no room. */
struct advice_line {
    char *text;
    size_t length, size;
    bool full;
};

static void add(struct advice_line *line, const char *text, size_t length) {
    if (line->full || length >= line->size - line->length) {
        line->full = true;
        return;
    }
    memcpy(line->text + line->length, text, length);
    line->length += length;
    line->text[line->length] = 0;
}

/* A word as a shell reads it back, with a space before it. */
static void add_word(struct advice_line *line, const char *word) {
    static const char plain[] = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789-_./:,+=@%";
    add(line, " ", 1);
    if (*word && word[strspn(word, plain)] == 0) {
        add(line, word, strlen(word));
        return;
    }
    add(line, "'", 1);
    for (const char *quote; (quote = strchr(word, '\'')); word = quote + 1) {
        add(line, word, (size_t)(quote - word));
        add(line, "'\\''", 4);
    }
    add(line, word, strlen(word));
    add(line, "'", 1);
}

bool advice_command(const struct sutra_advice *advice, const char *host, const char *device, const char *output,
                    char *text, size_t size) {
    struct advice_line line = {.text = text, .size = size};
    bool by_names = advice->linker == SUTRA_LINKER_EXACT || advice->linker == SUTRA_LINKER_APPROXIMATE;
    if (advice->linker == SUTRA_LINKER_NONE)
        return false;
    add(&line, "sutra", 5);
    add_word(&line, by_names ? "link-legacy" : "link");
    add_word(&line, host);
    add_word(&line, device);
    if (by_names) {
        add_word(&line, "--annotation");
        add_word(&line, advice->annotation);
    }
    if (advice->linker == SUTRA_LINKER_EXACT)
        add_word(&line, "--exact-match");
    add_word(&line, "-o");
    add_word(&line, output ? output : "OUT");
    return !line.full;
}

#define RANK_NONE UINT64_MAX

#define STAGES_LINK                                                                                                    \
    STAGES_READ("host trace", 19), STAGES_READ("device trace", 17), {"sort events", 3, false},                         \
        {"exclusive durations", 1, false}, {"order between threads", 1, false}, {"find parents", 2, false},            \
        {"link", 1, false}, {                                                                                          \
        "synchronization", 4, false                                                                                    \
    }

static const struct stage_share stages[] = {STAGES_LINK, {"write", 52, false}, {0}};
static const struct stage_share stages_of_et[] = {STAGES_LINK,
                                                  {"read nodes", 23, false},
                                                  {"order nodes", 3, false},
                                                  {"make nodes", 5, false},
                                                  {"measured times", 11, false},
                                                  {"simulate", 5, false},
                                                  {"write", 9, false},
                                                  {0}};

#define AT(field) .offset = offsetof(struct link_values, field)

static const struct option_row options[] = {
    {"output-file", 'o', OPTION_FILE, "OUT", AT(pair.job.output),
     .help = "write ET+ to OUT, or a Chakra file for simulators if OUT ends in .et; add .gz or .zst to compress; - is "
             "standard output"},
    {"chakra-host-trace", 0, OPTION_FILE, "HOST", AT(pair.host),
     .help = "read the host trace (PyTorch's execution trace) from HOST: plain, gzip or zstd; - is standard input"},
    {"chakra-device-trace", 0, OPTION_FILE, "DEVICE", AT(pair.device),
     .help = "read the device trace (Kineto trace) from DEVICE: plain, gzip or zstd; - is standard input"},
    {"rank", 0, OPTION_NUMBER, "N", AT(rank), .maximum = INT64_MAX,
     .help = "accept the rank that recorded the traces, as chakra_trace_link requires; the output does not depend on "
             "it"},
    WHERE_ROWS(pair.job.where),
    {"no-sync", 0, OPTION_FLAG, AT(no_sync), .help = "omit synchronization dependencies"},
    {"hta-pandas3", 0, OPTION_FLAG, AT(hta_pandas3),
     .help = "find only the synchronization dependencies that chakra_trace_link finds with pandas 3"},
    PAIR_ROW_MAX_OUTPUT,
    {"plain", 0, OPTION_FLAG, AT(plain), .help = "write the .et file of 'sutra convert', without the measured times"},
    {"compat", 0, OPTION_FLAG, AT(compat), .help = "write the .et file of chakra_converter"},
    FAITHFUL_ROWS(how, ".et output"),
    {"no-flops", 0, OPTION_FLAG, AT(no_work), .help = "omit the operations and bytes of kernels from .et output"},
    {"ranks", 0, OPTION_FILE, "TABLE", AT(table),
     .help = "read the ranks of a job from TABLE instead of directories; each line contains rank, host trace and "
             "device trace, separated by tabs"},
    {"format", 'f', OPTION_CHOICE, "FORMAT", AT(format), .choices = link_formats,
     .help = "write one file rank.N.FORMAT per rank of a job: json, json.gz, json.zst, et, et.gz, et.zst (default: "
             "json)"},
    {"astra", 0, OPTION_FLAG, AT(astra),
     .help = "write the .et files of a job for ASTRA-sim: collectives match by ASTRA-sim's rules, and its "
             "configuration is added"},
    {"dry-run", 0, OPTION_FLAG, AT(dry_run),
     .help = "print the pairs of traces of a job as a table for --ranks, without linking"},
    {"relink", 0, OPTION_FLAG, AT(again), .help = "also link the ranks of a job that are already linked"},
    {"memory", 0, OPTION_NUMBER, "BYTES", AT(memory), .maximum = UINT64_MAX,
     .help = "limit the estimated memory of concurrently linked ranks of a job to BYTES, for example 16G (default: no "
             "limit)"},
    {"shard", 0, OPTION_TEXT, "K/N", AT(part),
     .help = "link every N-th rank of a job, beginning with the K-th; 'slurm' reads K/N from the variables of a Slurm "
             "array task"},
    {"combine", 0, OPTION_FILE, "DIR", AT(finish),
     .help = "combine the results of all shards of a job in DIR, and write its job.json"},
    {"strict", 0, OPTION_FLAG, AT(pair.job.strict),
     .help = "fail instead of repairing a trace with a warning, or if nothing matches"},
    {"lenient", 0, OPTION_FLAG, AT(pair.job.lenient),
     .help = "repair malformed JSON and ignore fields of the wrong type instead of failing"},
    PAIR_ROWS_STATS,
    {"verbose", 'v', OPTION_FLAG, AT(pair.job.verbose), .help = "print notes on each decision, as --log-level DEBUG"},
    PAIR_ROW_LOG_LEVEL,
    {0},
};

/* Whether a name says that the file is for simulators: it ends in .et, and a compression's ending may stand behind. */
static bool names_et(const char *path) {
    static const char *const packed[] = {".gz", ".zst"};
    size_t length = strlen(path);
    for (size_t i = 0; i < sizeof packed / sizeof *packed; i++) {
        size_t n = strlen(packed[i]);
        if (length > n && strcmp(path + length - n, packed[i]) == 0) {
            length -= n;
            break;
        }
    }
    return length > 3 && memcmp(path + length - 3, ".et", 3) == 0;
}

/* What goes with an output for simulators only; `path` is one of its names. */
static int check_output(struct link_values *values, const struct command *command, const char *path) {
    values->et = command == &link_command && names_et(path);
    if ((values->plain || values->compat || faithful_is_asked(&values->how) || values->no_work) && !values->et)
        return message_fail(SUTRA_USAGE,
                            "--plain, --compat, --gpu, --min-idle-us and --no-flops need an output that ends in .et");
    values->faithful = values->et && !values->plain && !values->compat;
    values->pair.job.stages = values->et ? stages_of_et : stages;
    if (values->astra && (!link_is_job(values) || !values->faithful))
        return message_fail(SUTRA_USAGE, "--astra needs a job with .et output, without --plain and --compat");
    if (values->astra && values->how.gpu == GPU_STREAMS)
        return message_fail(SUTRA_USAGE,
                            "--astra and --gpu streams exclude each other: ASTRA-sim simulates one GPU resource");
    return faithful_check(&values->how);
}

/* Options of a job say nothing about a pair. */
static int check_no_job(const struct link_values *values) {
    const char *of_job = values->dry_run  ? "--dry-run"
                         : values->again  ? "--relink"
                         : values->memory ? "--memory"
                         : values->part   ? "--shard"
                         : values->format ? "--format"
                                          : NULL;
    if (!of_job || !values->pair.host)
        return SUTRA_OK;
    return message_fail(SUTRA_USAGE, "%s needs a job: %s is not a directory of traces", of_job, values->pair.host);
}

static int check_values(struct link_values *values, const struct command *command) {
    int exit_code = pair_check_flags(&values->pair);
    if (exit_code == SUTRA_OK)
        exit_code = check_no_job(values);
    if (exit_code == SUTRA_OK && values->pair.job.verbose)
        values->pair.log_level = LOG_DEBUG;
    if (exit_code == SUTRA_OK)
        exit_code = pair_check_named(&values->pair, command);
    if (exit_code == SUTRA_OK && !values->pair.job.output)
        return message_fail(SUTRA_USAGE, "the output is missing (-o OUT); see '%s --help'", command->called);
    if (exit_code != SUTRA_OK)
        return exit_code;
    if ((exit_code = check_output(values, command, values->pair.job.output)) != SUTRA_OK)
        return exit_code;
    return pair_check_files(&values->pair);
}

/* What lives while two files are linked. */
struct link_job {
    const struct link_values *values;
    struct pair pair;
    struct sutra_linked *linked;
    struct link_result result;
    struct sutra_faithful_report faithful;
};

/* The command that links the pair by names; false if that does not fit either. */
static bool find_command(const struct link_job *job, char *text, size_t size) {
    struct sutra_advice advice = {.size = sizeof advice};
    return sutra_advise(job->pair.job.context, job->pair.host, job->pair.device, &advice, NULL) == SUTRA_OK &&
           advice.linker != SUTRA_LINKER_IDS &&
           advice_command(&advice, job->values->pair.host, job->values->pair.device, job->values->pair.job.output, text,
                          size);
}

/* Names the command that fits, where the library has said that few operators are linked. */
static void tell_command(const struct link_job *job) {
    char text[700] = "these traces can be linked by operator names, with: ";
    const struct sutra_link_report *report = &job->result.report;
    size_t length = strlen(text);
    if (2 * report->n_host_linked < report->n_host_ops && find_command(job, text + length, sizeof text - length))
        message_note(text);
}

/* Says that no GPU operator is linked, if so, which a person would not notice in the output. */
static int check_matches(const struct link_job *job, bool strict) {
    const struct sutra_link_report *report = &job->result.report;
    tell_command(job);
    if (report->n_host_linked == 0 || report->n_gpu_nodes > 0 || report->n_gpu_ops == 0)
        return SUTRA_OK;
    char text[640];
    snprintf(text, sizeof text,
             "none of %s GPU activities is linked: %s without a launch, %s without a CPU operator, %s without a host "
             "operator",
             count_text(report->n_gpu_ops).text, count_text(report->n_gpu_without_launch).text,
             count_text(report->n_gpu_without_parent).text, count_text(report->n_gpu_host_unmatched).text);
    if (strict)
        return message_fail(SUTRA_STRICT, "%s", text);
    message_warn("%s", text);
    return SUTRA_OK;
}

static enum sutra_status job_write(struct link_job *job, struct sutra_error *error) {
    const struct link_output output = link_output_of(job->values);
    const struct linked_traces spent = {job->linked, job->pair.host, job->pair.device};
    return link_output_write(job->pair.job.context, &spent, &output, NULL, job->values->pair.job.output,
                             &job->pair.job.figures.output_bytes, &job->faithful, error);
}

static enum sutra_status job_link(struct link_job *job, struct sutra_error *error) {
    const struct sutra_link_options link_options = link_options_of(job->values);
    enum sutra_status status = pair_read(&job->pair, error);
    if (!status)
        status =
            sutra_link(job->pair.job.context, job->pair.host, job->pair.device, &link_options, &job->linked, error);
    return status;
}

static int job_run(struct link_job *job) {
    const struct link_values *values = job->values;
    struct sutra_error error;
    enum sutra_status status = job_link(job, &error);
    progress_clear(&job->pair.job.watch.progress);
    if (status)
        return message_error(&error);
    sutra_linked_report(job->linked, &job->result.report);
    if (values->pair.log_level <= LOG_WARNING || values->pair.job.strict) {
        int matches = check_matches(job, values->pair.job.strict);
        if (matches != SUTRA_OK)
            return matches;
    }
    status = job_write(job, &error);
    progress_clear(&job->pair.job.watch.progress);
    if (status)
        return message_error(&error);
    pair_measure(&job->pair);
    job->result.figures = &job->pair.job.figures;
    if (values->faithful && values->pair.log_level <= LOG_WARNING)
        faithful_warn(&job->faithful);
    if (values->pair.log_level <= LOG_INFO)
        link_summary_print(&job->result);
    if (values->faithful && values->pair.log_level <= LOG_INFO)
        faithful_summary_print(&job->faithful);
    return values->pair.job.stats ? (int)link_stats_write(&job->result, values->pair.job.stats) : SUTRA_OK;
}

static int link_files(const struct link_values *values) {
    struct link_job job = {
        .values = values, .result.report.size = sizeof job.result.report, .faithful.size = sizeof job.faithful};
    job.pair = pair_start(&values->pair, values->pair.log_level <= LOG_DEBUG);
    int exit_code = job_run(&job);
    sutra_linked_free(job.linked);
    pair_end(&job.pair);
    return exit_code;
}

/* Reads the words; false: there is nothing more to do. */
static bool read_words(const struct command *command, int argc, char **argv, struct link_values *values,
                       int *exit_code) {
    struct operands operands;
    *values = (struct link_values){.rank = RANK_NONE, .pair.log_level = LOG_INFO, .how.gpu = GPU_UNSAID};
    if (!arguments_parse(command, argc, argv, values, &operands, exit_code))
        return false;
    if (command == &trace_link_command && values->rank == RANK_NONE)
        *exit_code = message_fail(SUTRA_USAGE, "the rank is missing (--rank N); see '%s --help'", command->called);
    else
        *exit_code = pair_take_operands(&values->pair, &operands);
    return *exit_code == SUTRA_OK;
}

static int link_job_words(struct link_values *values, const struct command *command, const struct job_team *team) {
    char name[RANK_FILE_MAX];
    rank_file_name(0, link_endings[values->format], name);
    int exit_code = check_output(values, command, name);
    return exit_code == SUTRA_OK ? link_whole_job(values, command, team) : exit_code;
}

int link_run_team(int argc, char **argv, const struct job_team *team) {
    struct link_values values;
    int exit_code;
    if (!read_words(&link_command, argc, argv, &values, &exit_code))
        return exit_code;
    if (!link_is_job(&values))
        return message_fail(
            SUTRA_USAGE, "several processes can only link a job: name directories of traces; see 'sutra link --help'");
    return link_job_words(&values, &link_command, team);
}

static int run(const struct command *command, int argc, char **argv) {
    struct link_values values;
    int exit_code;
    if (!read_words(command, argc, argv, &values, &exit_code))
        return exit_code;
    if (link_is_job(&values))
        return link_job_words(&values, command, NULL);
    if ((exit_code = check_values(&values, command)) != SUTRA_OK)
        return exit_code;
    return link_files(&values);
}

static const char *const synopses[] = {
    "HOST DEVICE -o OUT [OPTIONS]",
    "HOSTS DEVICES -o DIR [OPTIONS]",
    "--chakra-host-trace HOST --chakra-device-trace DEVICE --output-file OUT [OPTIONS]",
    NULL,
};
static const char *const description[] = {
    "Links the host trace HOST and the device trace DEVICE of one rank into ET+: the host trace with durations, "
    "dependencies, and a node for each GPU operator below the operator that launched it. ET+ is byte-identical to the "
    "output of chakra_trace_link (MLCommons Chakra) wherever chakra_trace_link succeeds.",
    "A summary on standard error counts linked, unmatched and skipped events. OUT is replaced atomically.",
    "An OUT that ends in .et is a Chakra file for simulators such as ASTRA-sim. Its nodes replay with the measured "
    "time: CPU work is one chain, waits for the GPU are dependencies, and kernels follow the work that they waited "
    "for. The summary reports the simulated and the measured time. 'sutra simulate' replays the file.",
    "Directories instead of files are a job: HOSTS contains the host traces of its ranks, DEVICES the device traces. "
    "Both may be the same directory. Traces are paired by the rank in the device trace, by the process id in both "
    "traces, and by numbers in file names. Files without a partner are reported and skipped.",
    "DIR receives one file per rank, job.json, and comm_groups.json for .et files. job.json reports results and "
    "problems across ranks. Ranks are linked again only if their traces or the options change, so an interrupted job "
    "continues. If a rank cannot be linked, sutra links the other ranks and exits with code 65, or with 71, 73 or 74 if "
    "memory or the disk is the cause.",
    "The .et files of a job synchronize ranks at collectives when they are simulated: clocks are aligned by the ends "
    "of collectives, and durations exclude waits for other ranks. The files are for a GPU with one resource per "
    "stream; --gpu one and --astra write files for a GPU with one resource.",
    NULL,
};
static const struct example examples[] = {
    {"sutra link host.json device.json -o linked.json", "link two traces"},
    {"sutra link host.json device.json -o trace.0.et", "write a Chakra file for simulators"},
    {"sutra link host.json.gz device.json.gz -o linked.json.zst --stats stats.json",
     "read and write compressed files, and write statistics"},
    {"sutra link hosts devices -o linked --format et", "link all ranks of a job"},
    {"zcat host.json.gz | sutra link - device.json -o - --quiet | less", "link in a pipe"},
    {0},
};

const struct command link_command = {
    .name = "link",
    .called = "sutra link",
    .summary = "link a host trace and a device trace into ET+",
    .synopses = synopses,
    .description = description,
    .options = options,
    .examples = examples,
    .n_operands_max = 2,
    .run = run,
};

static const char *const trace_link_synopses[] = {
    "--rank N --chakra-host-trace HOST --chakra-device-trace DEVICE --output-file OUT [OPTIONS]",
    NULL,
};
static const char *const trace_link_description[] = {
    "Runs 'sutra link' with the command line of chakra_trace_link of MLCommons Chakra. The first four options are "
    "required.",
    NULL,
};
static const struct example trace_link_examples[] = {
    {"chakra_trace_link --rank 0 --chakra-host-trace host.json --chakra-device-trace device.json --output-file "
     "out.json",
     "link two traces"},
    {0},
};

const struct command trace_link_command = {
    .name = "chakra_trace_link",
    .called = "chakra_trace_link",
    .summary = "link a host trace and a device trace into ET+",
    .synopses = trace_link_synopses,
    .description = trace_link_description,
    .options = options,
    .examples = trace_link_examples,
    .run = run,
};
