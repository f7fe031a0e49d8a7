/*
 * simulate.c - `sutra simulate`: computes the times that a simulator would find for a job's .et files, and what-ifs.
 *
 *     .et files --> simulation with the changes, without them, with one more change each --> text or JSON, trace
 */
#include <inttypes.h>
#include <math.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/error.h"
#include "base/shared.h"
#include "cli/analyze/analysis.h"
#include "cli/command.h"
#include "cli/job.h"
#include "cli/pair.h"
#include "cli/paths.h"
#include "cli/progress.h"
#include "cli/simulate.h"
#include "job/job.h"
#include "sutra/simulate.h"
#include "sutra/sutra.h"
#include "text/quantities.h"
#include "write/json.h"

#define NODES_MAX 8

static const char *const works[] = {"processor", "computation", "communication"}; /* JSON */

double error_bound(const struct simulate_job *simulate, bool no_straggler, uint64_t ns, uint64_t reference_ns,
                   uint64_t job_ns) {
    if (simulate->options.gpu_streams)
        return !sutra_et_ranks_gpu_streams(simulate->ranks) ? (double)NAN : no_straggler ? 3 : 0.5;
    if (!simulate->reference || !job_ns)
        return (double)NAN;
    return 100 * fabs((double)ns - (double)reference_ns) / (double)job_ns + (no_straggler ? 3 : 1);
}

double summary_error(const struct simulate_job *simulate, int what_if) {
    if (what_if == WHAT_IF_NO_COMMUNICATION)
        return (double)NAN;
    const bool no_straggler = what_if == WHAT_IF_NO_STRAGGLER || simulate->options.no_straggler;
    return error_bound(simulate, no_straggler, simulate->what_if_ns[what_if], simulate->reference_what_if_ns[what_if],
                       sutra_simulation_time_ns(simulate->simulation));
}

/* ---- JSON ---- */

static void add_us(struct json_out *json, const char *name, uint64_t ns) {
    json_add_format(json, name, "%.3f", us_of(ns));
}

static void add_ranks(struct json_out *json, const struct sutra_simulation *simulation) {
    json_add_open(json, "ranks", '[');
    for (uint32_t i = 0; i < sutra_simulation_ranks(simulation); i++) {
        struct sutra_simulated_rank rank = rank_at(simulation, i);
        json_open_line(json);
        json_add_count(json, "rank", rank.rank);
        add_us(json, "time_us", rank.time_ns);
        json_add_count(json, "nodes", rank.n_nodes);
        json_add_count(json, "ran", rank.n_ran);
        add_us(json, "processor_us", rank.cpu_ns);
        add_us(json, "computation_us", rank.compute_ns);
        add_us(json, "communication_us", rank.comm_ns);
        add_us(json, "wait_us", rank.wait_ns);
        json_add_count(json, "collectives", rank.n_matched_collectives);
        json_add_count(json, "absent_dependencies", rank.n_absent);
        json_add_format(json, "gpu_slowness", "%.4f", rank.gpu_slowness);
        json_add_format(json, "processor_slowness", "%.4f", rank.cpu_slowness);
        json_close_line(json);
    }
    json_close_lines(json, ']');
    json_add_open(json, "waits", '[');
    for (uint64_t i = 0; i < sutra_simulation_n_waits(simulation); i++) {
        struct sutra_simulated_wait wait = wait_at(simulation, i);
        json_open_line(json);
        json_add_count(json, "rank", wait.rank);
        json_add_count(json, "for", wait.awaited);
        json_add_count(json, "times", wait.n);
        add_us(json, "us", wait.ns);
        json_close_line(json);
    }
    json_close_lines(json, ']');
}

static void add_collectives(struct json_out *json, const struct sutra_simulation *simulation) {
    json_add_open(json, "collectives", '[');
    for (uint64_t i = 0; i < sutra_simulation_n_collectives(simulation); i++) {
        struct sutra_simulated_collective collective = {.size = sizeof collective};
        sutra_simulation_collective(simulation, i, &collective);
        json_open_line(json);
        json_add_text(json, "name", collective.name);
        json_add_text(json, "kind", collective.kind);
        json_add_count(json, "ranks", collective.n_ranks);
        json_add_count(json, "bytes", collective.bytes);
        json_add_count(json, "last_rank", collective.last);
        add_us(json, "start_us", collective.start_ns);
        add_us(json, "transfer_us", collective.run_ns);
        add_us(json, "end_us", collective.end_ns);
        add_us(json, "wait_us", collective.wait_ns);
        json_close_line(json);
    }
    json_close_lines(json, ']');
    json_add_open(json, "network", '[');
    for (uint64_t i = 0; i < sutra_simulation_n_links(simulation); i++) {
        struct sutra_network_link link = link_at(simulation, i);
        json_open_line(json);
        json_add_text(json, "kind", link.kind);
        json_add_count(json, "ranks", link.n_ranks);
        json_add_count(json, "transfers", link.n_transfers);
        json_add_format(json, "alpha_us", "%.3f", link.alpha_us);
        if (isfinite(link.bytes_per_s))
            json_add_format(json, "gb_per_s", "%.3f", link.bytes_per_s / 1e9);
        json_add_format(json, "residual_us", "%.3f", link.residual_us);
        json_add_format(json, "fitted", "%s", link.is_fitted ? "true" : "false");
        json_close_line(json);
    }
    json_close_lines(json, ']');
}

static void add_what_ifs(struct json_out *json, const struct simulate_job *simulate) {
    static const char *const keys[N_WHAT_IFS] = {"no_straggler", "network_x2", "no_communication"};
    double end = us_of(sutra_simulation_time_ns(simulate->simulation));
    json_add_open(json, "what_if", '{');
    for (int what_if = 0; what_if < N_WHAT_IFS; what_if++) {
        double us = us_of(simulate->what_if_ns[what_if]), error = summary_error(simulate, what_if);
        json_key(json, keys[what_if], strlen(keys[what_if]));
        json_open_line(json);
        json_add_format(json, "time_us", "%.3f", us);
        json_add_format(json, "change_percent", "%.3f", end > 0 ? 100 * (us / end - 1) : 0);
        if (simulate->reference)
            add_us(json, "reference_time_us", simulate->reference_what_if_ns[what_if]);
        if (isnan(error))
            json_add_text(json, "error_percent", NULL);
        else
            json_add_format(json, "error_percent", "%.1f", error);
        json_close_line(json);
    }
    json_close_lines(json, '}');
}

static void add_names_and_path(struct json_out *json, const struct simulate_job *simulate) {
    const struct sutra_simulation *simulation = simulate->simulation;
    json_add_open(json, "names", '[');
    for (uint64_t i = 0; i < sutra_simulation_n_names(simulation); i++) {
        struct sutra_simulated_name name = name_at(simulation, i);
        json_open_line(json);
        json_add_text(json, "name", name.name);
        json_add_text(json, "work", works[name.work]);
        json_add_count(json, "nodes", name.n_nodes);
        add_us(json, "execution_us", name.run_ns);
        add_us(json, "path_us", name.path_ns);
        add_us(json, "wait_us", name.wait_ns);
        if (i < simulate->n_sensitivity)
            add_us(json, "time_if_free_us", name.free_ns);
        json_close_line(json);
    }
    json_close_lines(json, ']');
    json_add_open(json, "critical_path", '[');
    for (uint64_t i = 0; i < sutra_simulation_n_steps(simulation); i++) {
        struct sutra_simulated_step step = path_step_at(simulation, i);
        json_open_line(json);
        json_add_count(json, "rank", step.rank);
        json_add_count(json, "node", step.id);
        json_add_text(json, "name", step.name);
        json_add_text(json, "work", works[step.work]);
        add_us(json, "start_us", step.start_ns);
        add_us(json, "end_us", step.end_ns);
        json_close_line(json);
    }
    json_close_lines(json, ']');
}

/* Adds the layers of a job with another number of layers: the blocks, and the kernels of a block by name. */
static void add_layers(struct json_out *json, const struct simulate_job *simulate) {
    static const char *const passes[] = {"forward", "backward"};
    struct sutra_scaled_layers layers = {.size = sizeof layers};
    struct sutra_block_kernel kernel = {.size = sizeof kernel};
    if (!simulate->scaled || !sutra_et_ranks_layers(simulate->scaled, &layers))
        return;
    json_add_open(json, "layers", '{');
    json_add_count(json, "blocks", layers.n);
    json_add_count(json, "recorded_blocks", layers.n_recorded);
    json_add_count(json, "stages", layers.n_stages);
    for (int pass = 0; pass < 2; pass++) {
        json_add_open(json, passes[pass], '{');
        json_add_count(json, "kernels", pass ? layers.n_backward_kernels : layers.n_forward_kernels);
        json_add_count(json, "collectives", pass ? layers.n_backward_collectives : layers.n_forward_collectives);
        json_add_open(json, "names", '[');
        for (uint32_t i = 0; sutra_et_ranks_block_kernel(simulate->scaled, pass, i, &kernel); i++) {
            json_open_line(json);
            json_add_text(json, "name", kernel.name);
            json_add_count(json, "kernels", kernel.n);
            json_close_line(json);
        }
        json_close_lines(json, ']');
        json_close(json, '}');
    }
    json_close(json, '}');
}

static int print_json(const struct simulate_job *simulate) {
    struct text_out text = {.file = stdout};
    struct json_out json = {.text = &text, .indent = 2};
    json_open(&json, '{');
    add_us(&json, "time_us", sutra_simulation_time_ns(simulate->simulation));
    if (simulate->before)
        add_us(&json, "time_before_us", sutra_simulation_time_ns(simulate->before));
    if (simulate->before && simulate->reference) {
        add_us(&json, "reference_time_us", simulate->reference_ns);
        json_add_format(&json, "error_percent", "%.1f",
                        error_bound(simulate, simulate->options.no_straggler,
                                    sutra_simulation_time_ns(simulate->simulation), simulate->reference_ns,
                                    sutra_simulation_time_ns(simulate->before)));
    } else if (simulate->before && *simulate->no_reference) {
        json_add_text(&json, "error_percent", NULL);
    }
    if (simulate->interval.high_ns) {
        json_key(&json, "interval", strlen("interval"));
        json_open_line(&json);
        add_us(&json, "low_us", simulate->interval.low_ns);
        add_us(&json, "high_us", simulate->interval.high_ns);
        json_add_format(&json, "one_size", "%s", simulate->interval.has_one_size ? "true" : "false");
        json_add_format(&json, "assumes_ring", "%s", simulate->interval.assumes_ring ? "true" : "false");
        json_close_line(&json);
    }
    add_layers(&json, simulate);
    json_add_count(&json, "never_ran", sutra_simulation_n_deadlocked(simulate->simulation));
    add_ranks(&json, simulate->simulation);
    add_collectives(&json, simulate->simulation);
    if (simulate->what_ifs)
        add_what_ifs(&json, simulate);
    if (simulate->shows_pipeline)
        pipeline_add_json(&json, simulate->pipeline);
    add_names_and_path(&json, simulate);
    json_close(&json, '}');
    return json_finish(&json);
}

/* ---- Missing data ---- */

/* Warns about files with absent dependencies or without nodes, and about missing ranks and members of collectives. */
static void warn_missing_data(const struct sutra_simulation *simulation) {
    const uint32_t n_ranks = sutra_simulation_ranks(simulation);
    uint64_t n = sutra_simulation_n_collectives(simulation), n_lacking = 0, n_single = 0;
    for (uint32_t i = 0; i < n_ranks; i++) {
        struct sutra_simulated_rank rank = rank_at(simulation, i);
        if (rank.n_nodes == 0)
            message_warn("rank %" PRIu64 ": the file has no nodes", rank.rank);
        if (rank.n_absent)
            message_warn("rank %" PRIu64 ": %s on nodes that are not in the file, ignored; the time may be too short",
                         rank.rank, counted_text(rank.n_absent, "dependency", "dependencies").text);
    }
    /* Files are in any order; ranks of a job are 0, 1, ... */
    uint64_t last = 0;
    for (uint32_t i = 0; i < n_ranks; i++)
        last = MAX(rank_at(simulation, i).rank, last);
    if (n_ranks > 1 && last >= n_ranks)
        message_warn("%s of the ranks 0 to %" PRIu64 " have no file, and sutra does not simulate waits for these ranks",
                     count_text(last + 1 - n_ranks).text, last);
    for (uint64_t i = 0; i < n; i++) {
        struct sutra_simulated_collective collective = {.size = sizeof collective};
        sutra_simulation_collective(simulation, i, &collective);
        n_lacking += collective.n_told > collective.n_ranks;
        n_single += collective.n_told == 0 && collective.n_ranks == 1;
    }
    if (n_single)
        message_warn("%s of %s run on one rank only: the other members of the process group lack the collective, or "
                     "have no file",
                     count_text(n_single).text, counted_text(n, "collective", "collectives").text);
    if (n_lacking)
        message_warn(
            "%s of %s lack ranks, and sutra does not simulate waits for these ranks: what-ifs may be far off if the "
            "slowest rank is missing",
            count_text(n_lacking).text, counted_text(n, "collective", "collectives").text);
}

static void warn_deadlock(const struct sutra_simulation *simulation) {
    static const char *const whys[] = {
        [SUTRA_STUCK_DEPENDS] = "depends on",
        [SUTRA_STUCK_MEETS] = "waits to synchronize with",
        [SUTRA_STUCK_BEHIND] = "depends directly or indirectly on",
        [SUTRA_STUCK_HELD] = "waits for the resource used by",
        [SUTRA_STUCK_UNSENT] = NULL, /* the node itself */
    };
    struct sutra_deadlocked_node node = {.size = sizeof node};
    uint32_t n = 0;
    message_warn("deadlock: %s can never run:",
                 counted_text(sutra_simulation_n_deadlocked(simulation), "node", "nodes").text);
    for (; sutra_simulation_deadlocked(simulation, n, &node); n++) {
        if (n >= NODES_MAX)
            continue;
        if (node.why == SUTRA_STUCK_UNSENT)
            message_warn("rank %" PRIu64 ": node %" PRIu64 " (%s) waits for a message that no file sends", node.rank,
                         node.id, node.name);
        else if (node.rank == node.awaited_rank && node.id == node.awaited_id)
            message_warn("rank %" PRIu64 ": node %" PRIu64 " (%s) depends on itself", node.rank, node.id, node.name);
        else
            message_warn("rank %" PRIu64 ": node %" PRIu64 " (%s) %s node %" PRIu64 " (%s) of rank %" PRIu64, node.rank,
                         node.id, node.name, whys[node.why], node.awaited_id, node.awaited_name, node.awaited_rank);
    }
    if (n > NODES_MAX)
        message_warn("and %s more nodes", count_text(n - NODES_MAX).text);
}

/* ---- The command ---- */

static const struct stage_share stages[] = {
    {"read .et", 50, true}, {"simulate", 30, false}, {"sensitivity", 100, false}, {"write", 20, false}, {0}};

static const char *const cpus[] = {"one", "threads", NULL};
static const char *const formats[] = {"text", "json", NULL};
static const char *const overlaps[] = {"as-is", "comm", NULL};

static const char *const stragglers[] = {"as-is", "none", NULL};

static const struct option_row options[] = {
    {"gpu", 0, OPTION_CHOICE, "HOW", AT(simulate_job, gpu), .choices = faithful_gpus,
     .help = "run one kernel and one collective at a time per GPU, as ASTRA-sim does (one), or one node at a time per "
             "stream (streams) (default: as recorded in the files, else one)",
     .group = group_more},
    {"cpu", 0, OPTION_CHOICE, "HOW", AT(simulate_job, cpu), .choices = cpus,
     .help = "simulate one CPU per rank (one) or one per thread (threads) (default: one)", .group = group_more},
    {"scale", 's', OPTION_LIST, "WHAT:FACTOR", AT(simulate_job, scales),
     .help =
         "multiply the execution time of WHAT by FACTOR, such as 0.5 or 2x. WHAT is cpu, gpu, compute, comm, "
         "name=TEXT, name=~REGEX, op=TEXT, op=~REGEX (launched by an operator) or stream=N; the prefix rank=N: selects "
         "one rank; repeatable",
     .group = "What-ifs"},
    {"remove", 0, OPTION_LIST, "WHAT", AT(simulate_job, removals),
     .help = "estimate the time if WHAT took no time; repeatable", .group = "What-ifs"},
    {"no-launch-latency", 0, OPTION_FLAG, AT(simulate_job, options.no_launch_latency),
     .help = "estimate the time without launch latency", .group = group_more},
    {"overlap", 0, OPTION_CHOICE, "WHAT", AT(simulate_job, overlap), .choices = overlaps,
     .help = "estimate the time if all communication overlapped with compute (comm) (default: as-is)",
     .group = "What-ifs"},
    {"bandwidth", 0, OPTION_TEXT, "xN", AT(simulate_job, bandwidth),
     .help =
         "estimate the time with N times the network bandwidth: a linear fit of time over bytes gives the part of a "
         "job's collectives that scales; other communication takes 1/N of its execution time",
     .group = "What-ifs"},
    {"network", 0, OPTION_TEXT, "NETWORK", AT(simulate_job, options.network),
     .help =
         "estimate the time on another network, such as alpha=12us,beta=50GB/s: latency of a collective and bandwidth "
         "of each rank's link",
     .group = "What-ifs"},
    {"peaks", 0, OPTION_FILE, "FILE", AT(simulate_job, options.peaks),
     .help = "compute the time of kernels without a duration from num_ops and tensor_size with the peak rates in FILE, "
             "in files that record no matched collectives",
     .group = group_more},
    {"straggler", 0, OPTION_CHOICE, "WHAT", AT(simulate_job, straggler), .choices = stragglers,
     .help = "estimate the time if no rank computed more slowly than the median rank (none) (default: as-is)",
     .group = "What-ifs"},
    {"data-parallel", 0, OPTION_NUMBER, "N", AT(simulate_job, scale.data_parallel), .minimum = 1, .maximum = SCALE_MAX,
     .help = "estimate the time with N data-parallel replicas and the same batch per rank, with an interval",
     .group = "Changes of the job"},
    {"micro-batches", 0, OPTION_NUMBER, "N", AT(simulate_job, scale.micro_batches), .minimum = 1, .maximum = SCALE_MAX,
     .help = "estimate the time with N micro-batches per step and pipeline", .group = "Changes of the job"},
    {"layers", 0, OPTION_NUMBER, "N", AT(simulate_job, scale.layers), .minimum = 1, .maximum = SCALE_MAX,
     .help = "estimate the time with N repeated blocks of layers in the whole pipeline, a multiple of its stages",
     .group = "Changes of the job"},
    {"ranks-per-host", 0, OPTION_NUMBER, "N", AT(simulate_job, scale.ranks_per_host), .minimum = 1,
     .maximum = UINT32_MAX,
     .help = "let N consecutive ranks share a host, for --data-parallel (default: as recorded in the files, else 8)",
     .group = group_more},
    {"hop", 0, OPTION_TEXT, "US", AT(simulate_job, hop),
     .help = "assume US microseconds per hop of a collective, for --data-parallel, if the recorded collectives do not "
             "determine it (default: 0.6 on a host, 2.7 across hosts)",
     .group = group_more},
    {"what-if-summary", 0, OPTION_FLAG, AT(simulate_job, what_ifs),
     .help = "print the time without stragglers, with twice the bandwidth and without communication, with the largest "
             "errors of these estimates"},
    {"reference", 0, OPTION_FILE, "DIR", AT(simulate_job, reference_folder),
     .help = "simulate what-ifs of files with one resource per GPU also with the files of the job in DIR with a "
             "resource per stream, and print the largest error (default: with the records in the directory of the job)",
     .group = group_more},
    {"sensitivity", 0, OPTION_FLAG, AT(simulate_job, sensitivity),
     .help = "print for each of the ten longest names the time without its nodes", .group = group_more},
    {"alone", 0, OPTION_FLAG, AT(simulate_job, options.alone),
     .help = "simulate each rank alone, without waits for other ranks at collectives", .group = group_more},
    {"pipeline", 0, OPTION_FLAG, AT(simulate_job, shows_pipeline),
     .help = "print pipeline bubbles of each rank, and the time lost by unbalanced experts"},
    {"output", 'o', OPTION_FILE, "DIR", AT(simulate_job, tables_folder),
     .help = "write tables of bubbles, passes and experts and pipeline.html with charts into directory DIR",
     .group = group_more},
    {"table-format", 0, OPTION_CHOICE, "FORMAT", AT(simulate_job, table_format), .choices = table_formats,
     .help = "write tables as csv, as json arrays of rows, or as arrow files (default: csv)", .group = group_more},
    {"write", 'w', OPTION_FILE, "DIR", AT(simulate_job, folder),
     .help = "write the changed files to DIR, under their names, for other simulators"},
    {"trace", 't', OPTION_FILE, "OUT", AT(job, output),
     .help = "write the simulated times for Perfetto, and the measured times if the files record start times; in "
             "Perfetto's format if OUT ends in .pftrace, compressed if OUT ends in .gz or .zst"},
    {"force", 0, OPTION_FLAG, AT(job, options.force),
     .help = "replace existing files of --write, and read-only outputs", .group = group_more},
    JOB_ROW_INPUT,
    {"format", 'f', OPTION_CHOICE, "FORMAT", AT(simulate_job, format), .choices = formats,
     .help = "print human-readable text or json (default: text)"},
    JOB_ROW_QUIET,
    {0},
};

static int check(struct job *job) {
    struct simulate_job *simulate = (struct simulate_job *)job;
    struct sutra_simulate_options *how = &simulate->options;
    how->cpu_threads = simulate->cpu == 1;
    how->no_straggler = simulate->straggler == 1;
    for (size_t i = 0; i < simulate->scales.n; i++)
        simulate->changes[how->n_scales++] = simulate->scales.texts[i];
    if (simulate->overlap)
        simulate->changes[how->n_scales++] = "comm:0";
    how->scales = simulate->changes;
    how->removals = simulate->removals.texts;
    how->n_removals = simulate->removals.n;
    how->bandwidth = 1;
    const char *text = simulate->bandwidth;
    if (text) { /* "x2", "2x" or "2" */
        char *end;
        const bool leads = *text == 'x';
        how->bandwidth = strtod(text + leads, &end);
        bool valid = end != text + leads && how->bandwidth > 0 && how->bandwidth <= 1e6;
        if (!valid || (*end && (leads || strcmp(end, "x") != 0)))
            return message_fail(SUTRA_USAGE, "--bandwidth: '%s' is not a factor such as 2x", text);
    }
    const struct sutra_scale_options *scale = &simulate->scale;
    if (!scale->data_parallel && !scale->micro_batches && !scale->layers && (scale->ranks_per_host || simulate->hop))
        return message_fail(SUTRA_USAGE, "--%s needs --data-parallel", simulate->hop ? "hop" : "ranks-per-host");
    if (simulate->hop) {
        char *end;
        simulate->scale.hop_us = strtod(simulate->hop, &end);
        simulate->scale.has_hop = true;
        if (end == simulate->hop || *end || !(scale->hop_us >= 0 && scale->hop_us <= 1e9))
            return message_fail(SUTRA_USAGE, "--hop: '%s' is not a number of microseconds", simulate->hop);
    }
    if (simulate->tables_folder)
        TRY_CODE(path_check_format(simulate->tables_folder, ""));
    if (simulate->folder)
        TRY_CODE(path_check_format(simulate->folder, ""));
    TRY_CODE(paths_check_inputs(&simulate->reference_folder, 1));
    char *folder = (char *)simulate->reference_folder; /* struct operands has words of argv */
    if (folder)
        TRY_CODE(trace_list_add(&simulate->reference_files, &(const struct operands){1, &folder}, NAMES_ET));
    return job_list_inputs(job, NAMES_ET);
}

/* Determines the ranks of the files: by name if all names contain a rank and all ranks differ, else by order. Files of
 * a directory with the same rank may be from two jobs, such as rank.0.et and rank.0.et.gz: SUTRA_USAGE. */
static enum sutra_status number_ranks(struct simulate_job *simulate, struct sutra_error *error) {
    const struct job *job = &simulate->job;
    bool named = true, has_folder = false;
    TRY_ALLOC(simulate->numbers = calloc(job->n_inputs + 1, sizeof *simulate->numbers), error);
    for (unsigned i = 0; i < job->operands.n; i++)
        has_folder = has_folder || path_is_folder(job->operands.words[i]);
    for (size_t i = 0; i < job->n_inputs && named; i++) {
        const char *digits, *end;
        named = rank_digits(path_file_name(job->inputs[i]), &digits, &end);
        simulate->numbers[i] = named ? strtoull(digits, NULL, 10) : 0;
        for (size_t k = 0; k < i && named; k++) {
            named = simulate->numbers[k] != simulate->numbers[i];
            if (!named && has_folder)
                return error_file(error, SUTRA_USAGE, job->inputs[i],
                                  "%s is also rank %" PRIu64 "; pass one file per rank", job->inputs[k],
                                  simulate->numbers[i]);
        }
    }
    for (size_t i = 0; i < job->n_inputs && !named; i++)
        simulate->numbers[i] = i;
    return SUTRA_OK;
}

/* Reads the files of --reference, which must be of the same ranks, and made for a resource per stream. */
static enum sutra_status read_reference(struct simulate_job *simulate, struct sutra_error *error) {
    const struct trace_list *files = &simulate->reference_files;
    const char *folder = simulate->reference_folder;
    uint64_t *numbers = calloc(files->n + 1, sizeof *numbers);
    TRY_ALLOC(numbers, error);
    bool same = files->n == simulate->job.n_inputs;
    for (size_t i = 0; i < files->n && same; i++) {
        const char *digits, *end;
        numbers[i] = rank_digits(path_file_name(files->paths[i]), &digits, &end) ? strtoull(digits, NULL, 10) : i;
        same = numbers[i] == simulate->numbers[i];
    }
    enum sutra_status status =
        same ? sutra_et_ranks_read(simulate->job.context, (const char *const *)files->paths, numbers,
                                   (uint32_t)files->n, &simulate->reference, error)
             : error_file(error, SUTRA_USAGE, folder, "--reference needs files of the ranks that are simulated");
    if (!status && !sutra_et_ranks_gpu_streams(simulate->reference))
        status = error_file(error, SUTRA_USAGE, folder,
                            "--reference needs files for a resource per stream, as 'sutra link HOSTS DEVICES -o DIR "
                            "--format et' writes them");
    free(numbers);
    return status;
}

/* Makes the reference of what-ifs on files for one resource from the records of their job. Keeps the reason if that is
 * impossible. */
static enum sutra_status read_streams_of_job(struct simulate_job *simulate, struct sutra_error *error) {
    struct job *job = &simulate->job;
    struct sutra_error reason;
    enum sutra_status status = job_streams_read(job->context, job->inputs, simulate->numbers, (uint32_t)job->n_inputs,
                                                &simulate->reference, &reason);
    if (status == SUTRA_SYSTEM || status == SUTRA_CANCELLED)
        return error_copy(error, status, &reason);
    if (status)
        sutra_error_text(&reason, simulate->no_reference, sizeof simulate->no_reference);
    return SUTRA_OK;
}

/* The time of the job in the files for a resource per stream, with these changes. */
static enum sutra_status reference_time(const struct simulate_job *simulate, const struct sutra_simulate_options *how,
                                        uint64_t *ns, struct sutra_error *error) {
    struct sutra_simulate_options streams = *how;
    struct sutra_simulation *simulation = NULL;
    streams.gpu_streams = true;
    enum sutra_status status =
        sutra_simulate_ranks(simulate->job.context, simulate->reference, &streams, &simulation, error);
    *ns = status ? 0 : sutra_simulation_time_ns(simulation);
    sutra_simulation_free(simulation);
    return status;
}

/* Simulates the job with its changes, without them, and with each what-if in addition. */
static enum sutra_status run_simulations(struct simulate_job *simulate, struct sutra_error *error) {
    struct sutra_context *context = simulate->job.context;
    struct sutra_simulate_options *how = &simulate->options;
    how->gpu_streams =
        simulate->gpu == GPU_DEFAULT ? sutra_et_ranks_gpu_streams(simulate->ranks) : simulate->gpu == GPU_STREAMS;
    /* Where no node of communication has a duration, the network is no what-if: it sets the times of the job. */
    simulate->counts = rank_graphs_count(simulate->ranks->graphs, simulate->ranks->n);
    const struct node_counts *counts = &simulate->counts;
    const bool needs_network = simulate->ranks->lacks_matches && simulate->ranks->n > 1 && counts->n_unmatched == 0 &&
                               counts->n_untimed_collectives + counts->n_untimed_messages > 0;
    const struct sutra_simulate_options plain = {.size = sizeof plain,
                                                 .gpu_streams = how->gpu_streams,
                                                 .cpu_threads = how->cpu_threads,
                                                 .alone = how->alone,
                                                 .network = needs_network ? how->network : NULL,
                                                 .peaks = how->peaks};
    bool is_changed = how->n_scales || how->n_removals || how->no_launch_latency || simulate->bandwidth ||
                      (how->network && !needs_network) || how->no_straggler;
    const struct sutra_et_ranks *ranks = simulate->ranks;
    simulate->scale.network = how->network;
    if (simulate->scale.layers || simulate->scale.micro_batches || simulate->scale.data_parallel) {
        TRY(sutra_et_ranks_scale(context, simulate->ranks, &simulate->scale, &simulate->scaled, error));
        ranks = simulate->scaled;
        is_changed = true;
    }
    TRY(sutra_simulate_ranks(context, ranks, how, &simulate->simulation, error));
    if ((is_changed || simulate->what_ifs) && !how->gpu_streams && !simulate->reference)
        TRY(read_streams_of_job(simulate, error));
    if (simulate->scale.data_parallel)
        TRY(sutra_simulate_interval(context, ranks, how, &simulate->interval, error));
    if (is_changed)
        TRY(sutra_simulate_ranks(context, simulate->ranks, &plain, &simulate->before, error));
    if (simulate->scaled && sutra_simulation_n_deadlocked(simulate->simulation) &&
        !sutra_simulation_n_deadlocked(simulate->before))
        return error_set(error, SUTRA_DATA,
                         "the job cannot be edited: the changed job deadlocks, the recorded job does not");
    if (is_changed && simulate->reference)
        TRY(reference_time(simulate, how, &simulate->reference_ns, error));
    if (simulate->sensitivity)
        TRY(sutra_simulation_what_if(context, simulate->simulation, N_SENSITIVITY, error));
    for (int what_if = 0; what_if < N_WHAT_IFS && simulate->what_ifs; what_if++) {
        struct sutra_simulate_options more = *how;
        struct sutra_simulation *simulation = NULL;
        simulate->changes[how->n_scales] = "comm:0";
        more.no_straggler |= what_if == WHAT_IF_NO_STRAGGLER;
        more.bandwidth *= what_if == WHAT_IF_NETWORK ? 2 : 1;
        more.n_scales += what_if == WHAT_IF_NO_COMMUNICATION;
        TRY(sutra_simulate_ranks(context, ranks, &more, &simulation, error));
        simulate->what_if_ns[what_if] = sutra_simulation_time_ns(simulation);
        sutra_simulation_free(simulation);
        if (simulate->reference)
            TRY(reference_time(simulate, &more, &simulate->reference_what_if_ns[what_if], error));
    }
    return SUTRA_OK;
}

/* If the files contain a host trace and a device trace, reports the command that links them. */
static void recommend_link(const struct job *job, struct sutra_error *error) {
    const char *host = NULL, *device = NULL;
    for (size_t i = 0; i < job->n_inputs; i++)
        if (!host && job_is_trace(job, job->inputs[i], SUTRA_TRACE_HOST))
            host = job->inputs[i];
        else if (!device && job_is_trace(job, job->inputs[i], SUTRA_TRACE_DEVICE))
            device = job->inputs[i];
    if (host && device)
        error_file(error, SUTRA_DATA, host,
                   "expected an .et file, found a host trace; link it: 'sutra link %s %s -o rank.0.et'", host, device);
}

/* Reads the files, simulates them, and writes the files of the results. */
static enum sutra_status run_and_write(struct simulate_job *simulate, struct sutra_error *error) {
    struct job *job = &simulate->job;
    uint64_t n_nodes = 0;
    TRY(number_ranks(simulate, error));
    TRY(job_open(job, job->output, error));
    TRY(sutra_et_ranks_read(job->context, job->inputs, simulate->numbers, (uint32_t)job->n_inputs, &simulate->ranks,
                            error));
    if (simulate->reference_folder)
        TRY(read_reference(simulate, error));
    TRY(run_simulations(simulate, error));
    for (uint32_t i = 0; i < sutra_simulation_ranks(simulate->simulation); i++)
        n_nodes += rank_at(simulate->simulation, i).n_nodes;
    if (n_nodes == 0)
        return error_file(error, SUTRA_DATA, job->inputs[0], "no nodes to simulate: link or convert the trace again");
    if (job->output)
        TRY(sutra_simulation_write_trace(job->context, simulate->simulation, job->output, NULL, error));
    if (simulate->folder)
        TRY(write_changed(simulate, error));
    if (simulate->shows_pipeline || simulate->tables_folder)
        TRY(sutra_pipeline_run(job->context, simulate->simulation, &simulate->pipeline, error));
    return simulate->tables_folder
               ? pipeline_write(job->context, simulate->pipeline, job->operands.words[0], simulate->tables_folder,
                                (enum sutra_table_format)simulate->table_format, error)
               : SUTRA_OK;
}

static int simulate(struct job *job) {
    struct simulate_job *simulate = (struct simulate_job *)job;
    struct sutra_error error;
    if (run_and_write(simulate, &error)) {
        if (error.status == SUTRA_DATA && job->n_inputs > 1)
            recommend_link(job, &error);
        return job_fail(job, &error);
    }
    progress_clear(&job->watch.progress);

    if (simulate->sensitivity) {
        uint64_t n = sutra_simulation_n_names(simulate->simulation);
        simulate->n_sensitivity = MIN(n, N_SENSITIVITY);
    }
    int exit_code = SUTRA_OK;
    if (simulate->format)
        exit_code = print_json(simulate);
    else
        simulation_print(simulate);
    fflush(stdout);
    if (!job->quiet) {
        warn_missing_data(simulate->simulation);
        simulation_warn(simulate);
    }
    if (!job->quiet && *simulate->no_reference && job->n_inputs > 1 && simulate->ranks->records_gpu)
        message_warn("the error of the what-if is unknown: %s; link the job again (--relink), or name files for a "
                     "resource per stream (--reference DIR)",
                     simulate->no_reference);
    if (exit_code != SUTRA_OK || sutra_simulation_n_deadlocked(simulate->simulation) == 0)
        return exit_code;
    warn_deadlock(simulate->simulation);
    return SUTRA_DATA;
}

static void release(struct job *job) {
    struct simulate_job *simulate = (struct simulate_job *)job;
    sutra_pipeline_free(simulate->pipeline);
    sutra_simulation_free(simulate->simulation);
    sutra_simulation_free(simulate->before);
    sutra_et_ranks_free(simulate->scaled);
    sutra_et_ranks_free(simulate->ranks);
    sutra_et_ranks_free(simulate->reference);
    trace_list_free(&simulate->reference_files);
    free(simulate->numbers);
}

static const struct simulate_job defaults = {.job = {.device.choice = SUTRA_DEVICE_CPU, .stages = stages},
                                             .options.size = sizeof(struct sutra_simulate_options),
                                             .scale.size = sizeof(struct sutra_scale_options),
                                             .interval.size = sizeof(struct sutra_simulated_interval),
                                             .gpu = GPU_DEFAULT};

static const char *const synopses[] = {"FILE.et... [OPTIONS]", "DIR [OPTIONS]", NULL};
static const char *const description[] = {
    "Replays the nodes of Chakra files, as ASTRA-sim does for measured durations: a node starts when its dependencies "
    "have ended and its resource is free. Prints the end of each rank, the CPU and GPU time, and the critical path.",
    "Several files are the ranks of one job. A name such as job.N.et gives the rank, otherwise the order of the files. "
    "The ranks synchronize at their collectives, matched by process group and order. For a deadlock, sutra prints the "
    "chain of waiting nodes (exit code 65).",
    "Files of other tools, such as workload generators, record no matches, and run by ASTRA-sim's rules: receives occupy "
    "no resource, and sends end without their receivers. There --network sets the times of sends and collectives from "
    "their sizes, and receives wait for their messages; --peaks sets the times of kernels without a duration.",
    "DIR stands for the .et files in it, such as the files of 'sutra link HOSTS DEVICES -o DIR --format et'.",
    "--data-parallel, --micro-batches and --layers change the job itself, in the order layers, micro-batches, replicas; "
    "other what-ifs follow. They need files with a resource per stream. If the recorded job does not determine the "
    "answer, sutra prints the reason and no time (exit code 65).",
    "What-ifs (--scale to --straggler) change durations, and the output has the time with and without them. Launch "
    "latency is unchanged, except by --remove and --no-launch-latency. --write DIR writes the files with the changed "
    "durations, so that other simulators take the time of the what-if. Files of 'sutra link HOST DEVICE -o X.et' "
    "reproduce the measured time.",
    NULL,
};
static const struct example examples[] = {
    {"sutra simulate rank.0.et", "simulate a rank, and print its critical path"},
    {"sutra simulate rank.0.et --scale 'name=~gemm:0.5'", "estimate the time with GEMM kernels of twice the speed"},
    {"sutra simulate rank.*.et --bandwidth x2", "estimate the time of a job with twice the bandwidth"},
    {"sutra simulate linked", "simulate a linked job in this directory"},
    {"sutra simulate rank.*.et --what-if-summary", "estimate the cost of stragglers and communication"},
    {"sutra simulate linked --data-parallel 64 --ranks-per-host 8", "estimate the time with 64 replicas"},
    {"sutra simulate linked --micro-batches 16 --layers 48",
     "estimate the time of a deeper model with 16 micro-batches"},
    {"sutra simulate linked --pipeline -o report", "report the pipeline bubbles of each stage, as tables and a page"},
    {"sutra simulate rank.0.et --sensitivity", "find the operators and kernels that are worth optimizing"},
    {"sutra simulate rank.0.et --scale gpu:0.5 --write fast", "write the file of a GPU of twice the speed"},
    {"sutra simulate rank.0.et --trace simulated.json.gz", "write the simulated times for Perfetto"},
    {0},
};

const struct command simulate_command = {
    .name = "simulate",
    .called = "sutra simulate",
    .writes = ".json or .pftrace",
    .summary = "simulate Chakra .et files, and estimate what-ifs",
    COMMAND_TEXTS,
    .n_operands_min = 1,
    .n_operands_max = OPERANDS_ANY,
    .missing = "missing .et files",
    .size = sizeof(struct simulate_job),
    .defaults = &defaults,
    .check = check,
    .work = simulate,
    .release = release,
};
