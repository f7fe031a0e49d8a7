/*
 * link.c - `sutra link`: links a host trace and a device trace into ET+. Also chakra_trace_link: the same work with
 * that program's name and command line.
 *
 *     arguments --check--> both traces --sutra_link--> linked trace --> ET+ or .et, summary, --stats
 *
 * link_job.c links the ranks of a job.
 */
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <strings.h>

#include "analyze/ranks.h"
#include "base/shared.h"
#include "cli/job.h"
#include "cli/link.h"
#include "cli/paths.h"
#include "cli/progress.h"
#include "sutra/link.h"
#include "sutra/sutra.h"
#include "text/names.h"
#include "text/quantities.h"

#define RANK_NONE UINT64_MAX

#define STAGES_LINK                                                                                                    \
    STAGES_READ("host trace", 19), STAGES_READ("device trace", 17), {"sort events", 3, false},                         \
        {"exclusive durations", 1, false}, {"order between threads", 1, false}, {"find parents", 2, false},            \
        {"link", 1, false}, {                                                                                          \
        "synchronization", 4, false                                                                                    \
    }

static const struct stage_share stages[] = {STAGES_LINK, {"write", 52, false}, {0}};
static const struct stage_share et_stages[] = {STAGES_LINK,
                                               {"read nodes", 23, false},
                                               {"order nodes", 3, false},
                                               {"make nodes", 5, false},
                                               {"measured times", 11, false},
                                               {"simulate", 5, false},
                                               {"write", 9, false},
                                               {0}};

static const char et_output[] = "Chakra files (.et)", jobs[] = "Jobs";

/* By enum sutra_match. */
const char *const match_names[] = {"auto", "ids", "names", NULL};
#define MATCH_DEFAULT (-1)

/* Longest text of --match-step. */
#define MATCH_STEP_MAX 100

static const char *const astra_choices[] = {"replay", "network", NULL};

#define ROWS_OF_CHAKRA_TRACE_LINK(heading)                                                                             \
    {"chakra-host-trace",                                                                                              \
     0,                                                                                                                \
     OPTION_FILE,                                                                                                      \
     "HOST",                                                                                                           \
     AT(pair_job, traces[HOST_TRACE]),                                                                                 \
     .help = "read the host trace (PyTorch's execution trace) from HOST: plain, gzip or zstd; - is standard input",    \
     .group = heading},                                                                                                \
        {"chakra-device-trace",                                                                                        \
         0,                                                                                                            \
         OPTION_FILE,                                                                                                  \
         "DEVICE",                                                                                                     \
         AT(pair_job, traces[DEVICE_TRACE]),                                                                           \
         .help = "read the device trace (Kineto trace) from DEVICE: plain, gzip or zstd; - is standard input",         \
         .group = heading},                                                                                            \
    {                                                                                                                  \
        "rank", 0, OPTION_NUMBER, "N", AT(link_job, rank),                                                             \
            .maximum = INT64_MAX,                                                                                      \
            .help = "accept the rank that recorded the traces, as chakra_trace_link requires; the output does not "    \
                    "depend on it",                                                                                    \
            .group = heading                                                                                           \
    }
#define ROWS_RULES                                                                                                     \
    {"no-sync", 0, OPTION_FLAG, AT(link_job, options.no_sync), .help = "omit synchronization dependencies"},           \
        JOB_ROW_MAX_OUTPUT(link_job, options.most_bytes, "ET+"), {                                                     \
        "strict", 0, OPTION_FLAG, AT(job, options.strict),                                                             \
            .help = "fail instead of repairing a trace with a warning, or if nothing matches", .group = group_more     \
    }

static const struct option_row options[] = {
    {"output-file", 'o', OPTION_FILE, "OUT", AT(job, output),
     .help = "write ET+ to OUT, or a Chakra file for simulators if OUT ends in .et; add .gz or .zst to compress; - is "
             "standard output"},
    {"plain", 0, OPTION_FLAG, AT(link_job, plain),
     .help = "write the .et file of 'sutra convert', without the measured times", .group = group_more},
    {"compat", 0, OPTION_FLAG, AT(link_job, output.what.compat), .help = "write the .et file of chakra_converter",
     .group = group_more},
    FAITHFUL_ROWS(link_job, ".et output", et_output),
    {"no-flops", 0, OPTION_FLAG, AT(link_job, output.what.no_work),
     .help = "omit the operations and bytes of kernels from .et output", .group = group_more},
    {"match", 0, OPTION_CHOICE, "HOW", AT(link_job, match), .choices = match_names,
     .help = "match operators by record-function ids (ids), by names and order (names), or by names if ids fail (auto) "
             "(default: auto; ids with --chakra-host-trace)"},
    {"match-step", 0, OPTION_TEXT, "STEP", AT(link_job, options.match_step),
     .help = "match by names with the operators of the profiler step STEP only, such as ProfilerStep#3 or 3",
     .group = group_more},
    {"window", 0, OPTION_TEXT, "WINDOW", AT(job, selection.window),
     .help =
         "of a run, link this profiling window: a number, a label, first or last, or all into DIR/window-N (default: "
         "the last of the windows with most ranks); 'sutra info RUN' lists them",
     .group = jobs},
    {"role", 0, OPTION_TEXT, "ROLE", AT(job, selection.role),
     .help = "of a run with several engines, link the traces of engine ROLE", .group = jobs},
    {"ranks", 0, OPTION_FILE, "TABLE", AT(link_job, table),
     .help = "read the ranks of a job from TABLE instead of directories; each line contains rank, host trace and "
             "device trace, separated by tabs",
     .group = jobs},
    {"format", 'f', OPTION_CHOICE, "FORMAT", AT(link_job, format), .choices = link_formats,
     .help = "write one file rank.N.FORMAT per rank of a job: json, json.gz, json.zst, et, et.gz, et.zst (default: "
             "json)",
     .group = jobs},
    {"astra", 0, OPTION_OPTIONAL, "HOW|DIR", AT(link_job, astra), .choices = astra_choices,
     .help = "write the .et files of a job for ASTRA-sim, with its configuration: collectives take their measured time "
             "(replay) or sizes of ASTRA-sim's fitted network model (network) (default: replay); of a pair of traces, "
             "write the configuration and two copies of OUT to DIR",
     .group = et_output},
    {"dry-run", 0, OPTION_FLAG, AT(link_job, dry_run),
     .help = "print the pairs of traces of a job as a table for --ranks, without linking", .group = jobs},
    {"relink", 0, OPTION_FLAG, AT(link_job, relink), .help = "also link the ranks of a job that are already linked",
     .group = jobs},
    {"memory", 0, OPTION_NUMBER, "BYTES", AT(link_job, memory), .maximum = UINT64_MAX,
     .help = "limit the estimated memory of concurrently linked ranks of a job to BYTES, for example 16G (default: no "
             "limit)",
     .group = jobs},
    {"shard", 0, OPTION_TEXT, "K/N", AT(link_job, shard),
     .help = "link every N-th rank of a job, beginning with the K-th; 'slurm' reads K/N from the variables of a Slurm "
             "array task",
     .group = jobs},
    {"combine", 0, OPTION_FLAG, AT(link_job, combine),
     .help = "combine the results of all shards of a job in OUT without reading traces, and write job.json",
     .group = jobs},
    ROWS_OF_CHAKRA_TRACE_LINK(group_more),
    PAIR_ROW_LOG_LEVEL,
    ROWS_RULES,
    JOB_ROWS_DEVICE,
    JOB_ROW_LENIENT,
    PAIR_ROWS_STATS,
    JOB_ROW_VERBOSE,
    {0},
};

static const struct option_row trace_link_options[] = {
    ROWS_OF_CHAKRA_TRACE_LINK(NULL),
    {"output-file", 'o', OPTION_FILE, "OUT", AT(job, output),
     .help = "write ET+ to OUT, compressed if it ends in .gz or .zst; - is standard output"},
    PAIR_ROW_LOG_LEVEL,
    ROWS_RULES,
    JOB_ROWS_DEVICE,
    JOB_ROW_LENIENT,
    PAIR_ROWS_STATS,
    JOB_ROW_VERBOSE,
    {0},
};

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
    X(n_gpu_memory_sets)                                                                                               \
    X(n_host_steps)                                                                                                    \
    X(n_gpu_unknown_launch)

#define SIZE(name) +sizeof(((struct sutra_link_report *)0)->name)
_Static_assert(sizeof(struct sutra_link_report) == sizeof(size_t) FIELDS(SIZE), "every field is listed");
#undef SIZE

/* Checks options that depend on the type of the output; `path`: the name of one output. */
static int check_output(struct link_job *link, const char *path) {
    struct job *job = &link->pair.job;
    struct link_output *output = &link->output;
    output->et = job->command == &link_command && path_ends_in(path, ".et");
    if ((link->plain || output->what.compat || faithful_is_requested(&link->faithful) || output->what.no_work) &&
        !output->et)
        return message_fail(SUTRA_USAGE,
                            "--plain, --compat, --gpu, --min-idle-us and --no-flops need an output that ends in .et");
    output->faithful = output->et && !link->plain && !output->what.compat;
    link->options.any_launch = output->faithful;
    job->stages = output->et ? et_stages : stages;
    if (link->astra.is_given && !output->faithful)
        return message_fail(SUTRA_USAGE, "--astra needs .et output, without --plain and --compat");
    if (link->astra.is_given && link->faithful.gpu == GPU_STREAMS)
        return message_fail(SUTRA_USAGE,
                            "--astra and --gpu streams exclude each other: ASTRA-sim simulates one GPU resource");
    TRY_CODE(faithful_check(&link->faithful));
    output->how = link->faithful.options;
    return SUTRA_OK;
}

/* Of three names without an option before them, the one after --astra is its directory. */
static void set_astra_folder(struct link_job *link) {
    struct operands *operands = &link->pair.job.operands;
    struct option_optional *astra = &link->astra;
    const unsigned n_traces = (unsigned)!link->pair.traces[HOST_TRACE] + (unsigned)!link->pair.traces[DEVICE_TRACE];
    if (!astra->is_given || astra->value || operands->n != n_traces + 1 || astra->at_operand >= operands->n)
        return;
    astra->value = operands->words[astra->at_operand];
    operands->n--;
    for (unsigned i = astra->at_operand; i < operands->n; i++)
        operands->words[i] = operands->words[i + 1];
}

/* --astra of a job is "replay" or "network", and of a pair a directory. */
static int check_astra(struct link_job *link) {
    const struct option_optional *astra = &link->astra;
    if (!astra->is_given)
        return SUTRA_OK;
    link->astra_network = link->is_job && astra->value && strcasecmp(astra->value, "network") == 0;
    if (link->is_job && astra->value && !link->astra_network && strcasecmp(astra->value, "replay") != 0)
        return message_fail(SUTRA_USAGE, "--astra: unknown value '%s'; use one of replay, network for a job",
                            astra->value);
    if (!link->is_job && astra->value && link->pair.job.output && path_ends_in(astra->value, ".et"))
        return message_fail(SUTRA_USAGE, "--astra: '%s' names a file; expected a directory", astra->value);
    if (!link->is_job && !astra->value)
        return message_fail(SUTRA_USAGE, "--astra needs a directory for a pair of traces: --astra DIR");
    return SUTRA_OK;
}

static int check(struct job *job) {
    struct link_job *link = (struct link_job *)job;
    const char *const *traces = link->pair.traces, *called = job->command->called;
    if (job->command == &trace_link_command && link->rank == RANK_NONE)
        return message_fail(SUTRA_USAGE, "the rank is missing (--rank N); see '%s --help'", called);
    set_astra_folder(link);
    const bool is_reference = job->command == &trace_link_command || traces[HOST_TRACE] || traces[DEVICE_TRACE];
    link->options.match = link->match != MATCH_DEFAULT ? (enum sutra_match)link->match
                          : is_reference               ? SUTRA_MATCH_IDS
                                                       : SUTRA_MATCH_AUTO;
    if (link->options.match_step && link->options.match == SUTRA_MATCH_IDS)
        return message_fail(SUTRA_USAGE, "--match-step needs --match names or --match auto");
    if (link->options.match_step && strlen(link->options.match_step) > MATCH_STEP_MAX)
        return message_fail(SUTRA_USAGE, "--match-step: expected the name or the number of a profiler step");
    TRY_CODE(pair_check_operands(&link->pair));
    link->is_job = link->table || link->combine || (traces[HOST_TRACE] && path_is_folder(traces[HOST_TRACE])) ||
                   (traces[DEVICE_TRACE] && path_is_folder(traces[DEVICE_TRACE]));
    TRY_CODE(check_astra(link));
    if (link->is_job && traces[HOST_TRACE] && !traces[DEVICE_TRACE] && path_is_folder(traces[HOST_TRACE]))
        link->pair.traces[DEVICE_TRACE] = traces[HOST_TRACE]; /* a run with both */
    if (link->is_job) {
        char name[RANK_FILE_MAX];
        rank_file_name(0, link_extensions[link->format], name);
        TRY_CODE(check_output(link, name));
        if (job->output)
            TRY_CODE(path_check_format(job->output, ""));
        return link_check_job(link);
    }
    if (job->plan)
        return message_fail(
            SUTRA_USAGE, "several processes can only link a job: name directories of traces; see 'sutra link --help'");

    const char *job_option = link->dry_run  ? "--dry-run"
                             : link->relink ? "--relink"
                             : link->memory ? "--memory"
                             : link->shard  ? "--shard"
                             : link->format ? "--format"
                                            : NULL;
    if (job_option && traces[HOST_TRACE])
        return message_fail(SUTRA_USAGE, "%s needs a job: %s is not a directory of traces", job_option,
                            traces[HOST_TRACE]);
    TRY_CODE(pair_check_named(&link->pair));
    if (!job->output)
        return message_fail(SUTRA_USAGE, "the output is missing (-o OUT); see '%s --help'", called);
    TRY_CODE(check_output(link, job->output));
    if (job->command == &link_command)
        TRY_CODE(path_check_format(job->output, ".json or .et"));
    return pair_check_files(&link->pair);
}

/* Recommends linking by names if few operators are linked; warns if no GPU operator is, or fails with --strict. */
static int check_matches(const struct link_job *link, const struct sutra_link_report *report) {
    const struct job *job = &link->pair.job;
    const char *const *traces = link->pair.traces;
    struct sutra_advice advice = {.size = sizeof advice};
    char text[700] = "these traces can be linked by operator names, with: ";
    size_t length = strlen(text);
    if (link->options.match == SUTRA_MATCH_IDS && 2 * report->n_host_linked < report->n_host_ops &&
        sutra_advise(job->context, link->pair.host, link->pair.device, &advice, NULL) == SUTRA_OK &&
        advice.linker != SUTRA_LINKER_IDS &&
        advice_command(&advice, traces[HOST_TRACE], traces[DEVICE_TRACE], job->output, text + length,
                       sizeof text - length))
        message_note(text);
    if (report->n_host_linked == 0 || report->n_gpu_nodes > 0 || report->n_gpu_ops == 0)
        return SUTRA_OK;
    snprintf(text, sizeof text,
             "none of %s GPU activities is linked: %s without a launch%s, %s without a CPU operator, %s without a host "
             "operator",
             count_text(report->n_gpu_ops).text, count_text(report->n_gpu_without_launch).text,
             report->n_gpu_unknown_launch ? " that chakra_trace_link knows" : "",
             count_text(report->n_gpu_without_parent).text, count_text(report->n_gpu_host_unmatched).text);
    if (job->options.strict)
        return message_fail(SUTRA_STRICT, "%s", text);
    message_warn("%s", text);
    return SUTRA_OK;
}

/* Rows by reason; the most frequent one with names: "... (aten::add 5, aten::mul 2)". */
enum { UNMATCHED_THREADS_ROW = 2, N_UNMATCHED_ROWS = 4, UNMATCHED_TEXT = 1200 };

static void unmatched_rows(const struct sutra_unmatched *unmatched, const char *const reasons[N_UNMATCHED_ROWS],
                           char text[UNMATCHED_TEXT], struct summary_row rows[N_UNMATCHED_ROWS]) {
    const uint64_t counts[N_UNMATCHED_ROWS] = {unmatched->n_before, unmatched->n_after, unmatched->n_of_threads,
                                               unmatched->n_between};
    const size_t n = sizeof unmatched->names / sizeof *unmatched->names;
    size_t most = 0;
    for (size_t i = 0; i < N_UNMATCHED_ROWS; i++) {
        rows[i] = (struct summary_row){counts[i], reasons[i], false};
        most = counts[i] > counts[most] ? i : most;
    }
    size_t length = (size_t)snprintf(text, UNMATCHED_TEXT, "%s", reasons[most]);
    if (most == UNMATCHED_THREADS_ROW && *unmatched->threads)
        length += (size_t)snprintf(text + length, UNMATCHED_TEXT - length, ": %s", unmatched->threads);
    for (size_t i = 0; i < n && unmatched->names[i].count; i++)
        length +=
            (size_t)snprintf(text + length, UNMATCHED_TEXT - length, "%s%s %s", i ? ", " : " (",
                             short_text(unmatched->names[i].name, 60).text, count_text(unmatched->names[i].count).text);
    if (unmatched->names[0].count)
        snprintf(text + length, UNMATCHED_TEXT - length, ")");
    rows[most].words = text;
}

/* Prints aligned lines on standard error; the first ones always, so that runs are easy to compare. */
static void print_summary(const struct link_job *link, const struct sutra_link_report *report,
                          const struct sutra_link_match *match) {
    const struct job *job = &link->pair.job;
    char unknown[CALL_NAMES_TEXT + 100];
    snprintf(unknown, sizeof unknown, "    unmatched: launched by calls that chakra_trace_link does not know: %s",
             call_names_text(link->linked->unknown_calls, link->linked->n_unknown_calls).text);
    static const char *const host_reasons[N_UNMATCHED_ROWS] = {
        "    unlinked: before the part that the device trace covers",
        "    unlinked: after the part that the device trace covers",
        "    unlinked: thread not in the device trace",
        "    unlinked: no operator of this name at this position",
    };
    static const char *const device_reasons[N_UNMATCHED_ROWS] = {
        "    without a host operator: before the host trace",
        "    without a host operator: after the host trace",
        "    without a host operator: thread not in the host trace",
        "    without a host operator of this name at this position",
    };
    char host_text[UNMATCHED_TEXT], device_text[UNMATCHED_TEXT];
    struct summary_row host[N_UNMATCHED_ROWS], device[N_UNMATCHED_ROWS];
    unmatched_rows(&match->host, host_reasons, host_text, host);
    unmatched_rows(&match->device, device_reasons, device_text, device);
    const struct summary_row rows[] = {
        {report->n_host_nodes, "nodes in the host trace", true},
        {report->n_host_ops, "  operators below the root", true},
        {report->n_host_linked,
         match->by_names ? "    linked to a device trace operator (by name)" : "    linked to a device trace operator",
         true},
        host[0],
        host[1],
        host[2],
        host[3],
        {report->n_host_without_rf, "    unlinked: no rf_id", false},
        {report->n_host_rf_zero, "    unlinked: rf_id is 0", false},
        {report->n_host_steps, "    unlinked: profiler step, which is no operator", false},
        {report->n_host_rf_unmatched - report->n_host_steps, "    unlinked: rf_id not in the device trace", false},
        {report->n_events, "events in the device trace", true},
        {report->n_cpu_ops, "  CPU operators", true},
        device[0],
        device[1],
        device[2],
        device[3],
        {report->n_gpu_ops, "  GPU activities", true},
        {report->n_gpu_with_parent, "    matched to a CPU operator", true},
        {report->n_gpu_host_unmatched,
         report->n_host_ops < report->n_host_nodes
             ? "      skipped: CPU operator not in the host trace, or not below its root"
             : "      skipped: CPU operator not in the host trace",
         false},
        {report->n_gpu_memory_sets, "    skipped: memset (not part of ET+)", false},
        {report->n_gpu_without_launch - report->n_gpu_unknown_launch, "    unmatched: no event with this correlation",
         false},
        {report->n_gpu_unknown_launch, unknown, false},
        {report->n_gpu_without_parent, "    unmatched: no CPU operator starts before the launch on its thread", false},
        {report->n_nodes, "nodes written", true},
        {report->n_gpu_nodes, "  GPU operators", true},
        {report->n_inter_thread, "  with a dependency on another thread", true},
        {report->n_sync, "  with synchronization dependencies", true},
        {report->n_exclusive_rounded, "exclusive durations below 0 by rounding, replaced by 0", false},
        {report->n_exclusive_replaced, "exclusive durations below 0, replaced by inclusive durations", false},
        {report->n_fields_dropped, "fields of the wrong type, ignored", false},
    };
    fprintf(stderr, "sutra: linked into %s\n", output_name(job->output));
    summary_print(rows, COUNT_OF(rows));
    run_figures_print(&job->figures);
}

static int run_link(struct job *job) {
    struct link_job *link = (struct link_job *)job;
    struct pair_job *pair = &link->pair;
    struct sutra_link_report report = {.size = sizeof report};
    struct sutra_link_match match = {.size = sizeof match};
    struct sutra_faithful_report faithful = {.size = sizeof faithful};
    struct sutra_error error;
    if (link->is_job)
        return link_ranks(link);
    if (pair_read(pair, &error) ||
        (link->output.faithful && restrict_to_complete_part(job->context, pair->device, &error)) ||
        sutra_link(job->context, pair->host, pair->device, &link->options, &link->linked, &error))
        return job_fail(job, &error);
    progress_clear(&job->watch.progress);
    pair->validity.defects[DEFECT_UNKNOWN_LAUNCH] = link->linked->found.defects[DEFECT_UNKNOWN_LAUNCH];
    sutra_linked_report(link->linked, &report);
    sutra_linked_match(link->linked, &match);
    if (job->log_level <= LOG_WARNING || job->options.strict)
        TRY_CODE(check_matches(link, &report));
    const struct linked_traces inputs_to_free = {link->linked, pair->host, pair->device};
    link->output.astra_folder = link->astra.value;
    if ((link->astra.value && folder_create(link->astra.value, &error)) ||
        link_output_write(job->context, &inputs_to_free, &link->output, NULL, job->output, &job->figures.output_bytes,
                          &faithful, &error))
        return job_fail(job, &error);
    job_measure_inputs(job);
    if (link->output.faithful && job->log_level <= LOG_WARNING)
        faithful_warn(&faithful);
    if (link->output.et && job->log_level <= LOG_WARNING && link_match_is_part(&match))
        message_warn("the host trace covers %s of %s of the device trace (%.0f %%): %s contains only this part",
                     time_text(match.covered_us).text, time_text(match.steps_us).text,
                     100 * match.covered_us / match.steps_us, output_name(job->output));
    if (job->log_level <= LOG_INFO) {
        const struct link_coverage coverage = coverage_of_link(&report, &match, &pair->validity);
        const bool has_summary = coverage.result != LINK_NOTHING || job->log_level <= LOG_DEBUG;
        if (has_summary)
            print_summary(link, &report, &match);
        if (has_summary && link->output.faithful)
            faithful_summary_print(&faithful);
        fprintf(stderr, "sutra: ");
        coverage_print(&coverage, output_name(job->output));
    }
    static const struct sutra_count no_call = {0};
    job->n_calls = link->linked->n_unknown_calls;
    job->calls = job->n_calls ? link->linked->unknown_calls : &no_call;
    job->match = &match;
    const struct named_count counts[] = {
#define COUNT(name) {#name, report.name},
        FIELDS(COUNT)
#undef COUNT
    };
    return job_write_stats(job, NULL, counts, COUNT_OF(counts), NULL, 0);
}

static void release(struct job *job) {
    sutra_linked_free(((struct link_job *)job)->linked);
    pair_release(&((struct link_job *)job)->pair);
    run_free(&((struct link_job *)job)->hosts);
}

static const struct link_job defaults = {
    .rank = RANK_NONE,
    .match = MATCH_DEFAULT,
    .n_shards = 1,
    .options.size = sizeof(struct sutra_link_options),
    .output.what.size = sizeof(struct sutra_convert_options),
    .faithful = {.gpu = GPU_DEFAULT, .options.size = sizeof(struct sutra_faithful_options)},
};

static const char *const synopses[] = {
    "HOST DEVICE -o OUT [OPTIONS]",
    "HOSTS DEVICES -o DIR [OPTIONS]",
    "RUN -o DIR [OPTIONS]",
    "--chakra-host-trace HOST --chakra-device-trace DEVICE --output-file OUT [OPTIONS]",
    NULL,
};
static const char *const description[] = {
    "Links the host trace HOST and the device trace DEVICE of one rank into ET+: the host trace with durations, "
    "dependencies, and a node for each GPU operator below the operator that launched it. ET+ is byte-identical to the "
    "output of chakra_trace_link (MLCommons Chakra) wherever chakra_trace_link succeeds.",
    "A summary on standard error counts linked, unmatched and skipped events. Its last line is the result: complete, "
    "partly linked with the cause, or nothing linked, without the counts unless --verbose is given. OUT is replaced "
    "atomically.",
    "An OUT that ends in .et is a Chakra file for simulators such as ASTRA-sim. Its nodes replay with the measured "
    "time: CPU work is one chain, waits for the GPU are dependencies, and kernels follow the work that they waited "
    "for. The summary reports the simulated and the measured time. 'sutra simulate' replays the file.",
    "Directories instead of files are a job: HOSTS contains the host traces of its ranks, DEVICES the device traces. "
    "Both may be the same directory. Traces are paired by the rank in the device trace, by the process id in both "
    "traces, and by numbers in file names. Files without a partner are reported and skipped.",
    "DIR receives one file per rank, job.json, and comm_groups.json for .et files. job.json reports results and "
    "problems across ranks. Ranks are linked again only if their traces or the options change, so an interrupted job "
    "continues. If a rank cannot be linked, sutra links the other ranks and exits with code 65, with 71, 73 or 74 if "
    "memory or the disk is the cause, or with 1 if --strict is the cause for each such rank.",
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
    {"sutra link run -o linked", "link the ranks of a run, whose directories contain both kinds of traces"},
    {"sutra link hosts devices -o job --format et --astra network", "write a job for ASTRA-sim's network model"},
    {"zcat host.json.gz | sutra link - device.json -o - --quiet | less", "link in a pipe"},
    {0},
};

/* Fields of the command under both names. */
#define LINK_WORK                                                                                                      \
    .summary = "link a host trace and a device trace into ET+", .size = sizeof(struct link_job),                       \
    .defaults = &defaults, .is_shared = true, .check = check, .work = run_link, .release = release

const struct command link_command = {
    .name = "link",
    .called = "sutra link",
    .synopses = synopses,
    .description = description,
    .options = options,
    .examples = examples,
    .n_operands_max = 3, /* two traces, and the directory of --astra */
    LINK_WORK,
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
    .synopses = trace_link_synopses,
    .description = trace_link_description,
    .options = trace_link_options,
    .examples = trace_link_examples,
    LINK_WORK,
};
