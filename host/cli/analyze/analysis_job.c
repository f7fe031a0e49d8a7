/*
 * analysis_job.c - argument checks before an analysis, and its closing summary lines.
 */
#include "cli/analyze/analysis_job.h"

#include <string.h>

#include "cli/tool/figures.h"
#include "cli/tool/message.h"
#include "cli/tool/paths.h"
#include "cli/tool/report_place.h"
#include "text/number_text.h"

const struct stage_share analysis_stages[] = {
    {"analyze ranks", 90, false}, STAGES_READ("device trace", 55), {"analyze", 35, false}, {"write", 10, false}, {0}};

int analysis_values_check(const struct analysis_values *values, const struct operands *operands,
                          const struct command *command) {
    if (operands->n == 0)
        return message_fail(SUTRA_USAGE, "missing argument TRACE; see '%s --help'", command->called);
    if (job_check_flags(&values->job) != SUTRA_OK)
        return SUTRA_USAGE;
    if (values->open && (!values->job.output || values->no_report))
        return message_fail(SUTRA_USAGE, "--open needs --output and a report (no --no-report)");
    return SUTRA_OK;
}

/* "3", or "3-5". */
static bool read_range(const char *text, size_t length, struct sutra_rank_range *range) {
    const char *dash = memchr(text, '-', length);
    size_t first = dash ? (size_t)(dash - text) : length;
    if (!integer_parse(text, first, &range->first))
        return false;
    range->last = range->first;
    return !dash || (integer_parse(dash + 1, length - first - 1, &range->last) && range->first <= range->last);
}

static bool read_ranges(const struct word_list *words, struct analysis_part *part) {
    for (size_t i = 0; i < words->n; i++)
        for (const char *at = words->words[i], *end; at; at = *end ? end + 1 : NULL) {
            end = at + strcspn(at, ",");
            if (part->restriction.n_ranks == ANALYSIS_RANGES_MAX ||
                !read_range(at, (size_t)(end - at), &part->ranks[part->restriction.n_ranks++])) {
                message_fail(SUTRA_USAGE, "--rank '%s': expected ranks such as 0-3,8", words->words[i]);
                return false;
            }
        }
    return true;
}

int analysis_part_take(const struct part_values *values, struct analysis_part *part) {
    *part = (struct analysis_part){.restriction = {.size = sizeof part->restriction,
                                                   .step = values->step,
                                                   .from_us = (double)values->from_us,
                                                   .to_us = (double)values->to_us,
                                                   .name = values->name,
                                                   .stream = values->stream,
                                                   .category = values->category}};
    if (!read_ranges(&values->ranks, part))
        return SUTRA_USAGE;
    if (values->to_us && values->to_us <= values->from_us)
        return message_fail(SUTRA_USAGE, "--to-us must be after --from-us");
    part->restriction.ranks = part->ranks;
    return SUTRA_OK;
}

/* The same trace would count as two ranks. */
static int check_inputs_differ(const char *const *inputs, size_t n_inputs) {
    size_t earlier = 0, later = paths_find_twice(inputs, n_inputs, &earlier);
    if (later == SIZE_MAX)
        return message_fail(SUTRA_SYSTEM, "out of memory");
    if (later == n_inputs)
        return SUTRA_OK;
    return message_fail(SUTRA_USAGE, "%s: the same file as %s: pass each trace once", inputs[later], inputs[earlier]);
}

/* Whether an analysis writes files whose names end so, besides tables as JSON. */
static bool has_ending_of_results(const char *path) {
    static const char *const endings[] = {".csv", ".html", ".svg"};
    for (size_t i = 0; i < sizeof endings / sizeof *endings; i++)
        if (path_ends_in(path, endings[i]))
            return true;
    return false;
}

static int check_inputs_stay(const char *folder, const char *const *inputs, size_t n_inputs) {
    for (size_t i = 0; folder && i < n_inputs; i++)
        if (has_ending_of_results(inputs[i]) && path_lies_in(inputs[i], folder))
            return message_fail(SUTRA_USAGE, "%s: the results could overwrite this input; select another --output",
                                inputs[i]);
    return SUTRA_OK;
}

/* Checks that no input is named twice, and that neither the statistics, which can be written, nor the results overwrite
 * one; and begins the folder for the results. Returns
 * SUTRA_OK, or another exit code after it has said what is wrong. */
static int place_results(const struct analysis_values *values, const char *const *inputs, size_t n_inputs,
                         struct result_folder *results) {
    const char *stats = values->job.stats, *folder = values->job.output;
    struct sutra_error error;
    int exit_code = job_check_stats(stats, NULL, inputs, n_inputs);
    if (exit_code == SUTRA_OK && !values->may_meet)
        exit_code = check_inputs_differ(inputs, n_inputs);
    if (exit_code == SUTRA_OK)
        exit_code = check_inputs_stay(folder, inputs, n_inputs);
    if (exit_code != SUTRA_OK)
        return exit_code;
    if (stats && !values->job.force && sutra_output_check(stats, &error))
        return message_error(&error);
    *results =
        (struct result_folder){.target = folder, .inputs = inputs, .n_inputs = n_inputs, .force = values->job.force};
    return result_folder_begin(results);
}

int analysis_job_work(const struct analysis_values *values, const struct trace_list *traces,
                      struct result_folder *results, enum sutra_status (*work)(void *arg, struct sutra_error *error),
                      void *arg) {
    struct sutra_error error;
    int exit_code = place_results(values, (const char *const *)traces->paths, traces->n, results);
    if (exit_code != SUTRA_OK)
        return exit_code;
    if (work(arg, &error))
        exit_code = message_error(&error);
    int ended = result_folder_end(results, exit_code == SUTRA_OK);
    return exit_code == SUTRA_OK ? ended : exit_code;
}

struct job analysis_job_start(const struct analysis_values *values) {
    return job_start(&values->job, !values->job.quiet, true, values->job.verbose);
}

int analysis_job_close(const struct job *job, const char *page, void (*print)(FILE *file, const void *result),
                       const void *result) {
    const struct analysis_values *analysis = (const void *)job->values;
    const struct job_values *values = job->values;
    struct sutra_error error;
    if (values->output && sutra_report_link(job->context, values->output, &error))
        return message_error(&error);
    if (!values->quiet)
        fprintf(stderr, "%.3f s, %s peak memory\n", job->figures.seconds, bytes_text(job->figures.peak_memory).text);
    if (analysis->open)
        report_place_print(values->output, page);
    return values->stats ? (int)stats_write(values->stats, print, result) : SUTRA_OK;
}
