/*
 * findings.c - operations: why it is slow, who waited for whom, and what changed between two jobs.
 */
#include "core.h"

#include <stdlib.h>

/* ---- Overviews ---- */

static void overview_release(void *thing) {
    sutra_overview_free(thing);
}

/* Its own tables, those of operators, and those of HTA; the last two only for a page. */
static const struct sutra_result *overview_result(const void *thing, size_t i) {
    return i == 0   ? SUTRA_RESULT(thing)
           : i == 1 ? SUTRA_RESULT(sutra_overview_operators(thing))
           : i == 2 ? SUTRA_RESULT(sutra_overview_hta(thing))
                    : NULL;
}

static PyObject *numbers_of(const struct sutra_finding *finding) {
    PyObject *numbers = PyDict_New();
    for (size_t i = 0; i < finding->n_numbers; i++)
        numbers = dict_put(numbers, finding->numbers[i].name, PyFloat_FromDouble(finding->numbers[i].value));
    return numbers;
}

static PyObject *overview_report(const void *thing) {
    struct sutra_finding finding;
    PyObject *list = PyList_New(0);
    for (size_t i = 0; list && sutra_overview_finding(thing, i, &finding); i++)
        list = list_add(list, Py_BuildValue("(sdNN)", finding.rule, finding.saving_percent, text_of(finding.text),
                                            numbers_of(&finding)));
    return dict_put(PyDict_New(), "findings", list);
}

static const struct kind overview_kind = {
    .name = "overview", .free = overview_release, .result = overview_result, .report = overview_report};

/* Texts: those of the part, annotation, peaks, paths; numbers: whether there is a page, those of the part. */
static enum sutra_status run_overview(struct job *job, struct sutra_context *context) {
    enum { ANNOTATION = PART_TEXTS, PEAKS, PATHS };
    const struct sutra_restriction *part = job_part(job, 1);
    if (!part)
        return SUTRA_SYSTEM;
    const struct sutra_overview_options options = {.size = sizeof options,
                                                   .annotation = job->texts[ANNOTATION],
                                                   .peaks = job->texts[PEAKS],
                                                   .tables = job->numbers[0] != 0,
                                                   .restriction = part};
    GIVE(job,
         sutra_overview_run(context, (const char *const *)job->texts + PATHS, job->n_texts - PATHS, &options, &made,
                            &job->error),
         sutra_overview);
}

static enum sutra_status run_overview_page(struct job *job, struct sutra_context *context) {
    const struct sutra_overview *overview = job->things[0]->thing;
    if (!sutra_overview_operators(overview))
        return job_fail(job, SUTRA_USAGE, "this overview has no HTML page; compute it with page=True");
    return sutra_report_write_overview(context, overview, job->texts[0], &job->number, &job->error);
}

/* ---- Collectives ---- */

static void collectives_release(void *thing) {
    sutra_collectives_free(thing);
}

static bool collectives_rank(const void *thing, size_t i, struct told_rank *rank) {
    const struct sutra_collectives_rank *at = sutra_collectives_at(thing, i);
    if (at)
        *rank = (struct told_rank){at->path, at->rank, at->reason};
    return at != NULL;
}

static const struct member collectives_members[] = {
    COUNT(sutra_collectives_summary, n_ranks),
    COUNT(sutra_collectives_summary, n_skipped),
    COUNT(sutra_collectives_summary, n_collectives),
    COUNT(sutra_collectives_summary, n_messages),
    COUNT(sutra_collectives_summary, n_calls),
    COUNT(sutra_collectives_summary, n_untold),
    REAL(sutra_collectives_summary, span_us),
    REAL(sutra_collectives_summary, wait_us),
    REAL(sutra_collectives_summary, transfer_us),
    COUNT(sutra_collectives_summary, n_impossible),
    COUNT(sutra_collectives_summary, n_impossible_aligned),
    COUNT(sutra_collectives_summary, n_clocks_set),
    REAL(sutra_collectives_summary, clocks_apart_us),
    REAL(sutra_collectives_summary, clock_residual_us),
    COUNT(sutra_collectives_summary, n_checks),
    COUNT(sutra_collectives_summary, n_faults),
    {0},
};

/* The rank that holds the others up, or None. */
static PyObject *straggler_of(const void *thing) {
    struct sutra_collectives_straggler straggler = {.size = sizeof straggler};
    sutra_collectives_straggler(thing, &straggler);
    if (straggler.rank < 0)
        Py_RETURN_NONE;
    PyObject *dict = dict_put(PyDict_New(), "rank", PyLong_FromLongLong(straggler.rank));
    dict = dict_put(dict, "wait_caused_us", PyFloat_FromDouble(straggler.wait_caused_us));
    dict = dict_put(dict, "n_last", PyLong_FromUnsignedLongLong(straggler.n_last));
    dict = dict_put(dict, "on_host", PyBool_FromLong(straggler.on_host));
    dict = dict_put(dict, "phase", text_of(straggler.phase));
    dict = dict_put(dict, "operator", text_of(straggler.operator_name));
    dict = dict_put(dict, "excess_us", PyFloat_FromDouble(straggler.excess_us));
    return dict_put(dict, "sentence", text_of(straggler.sentence));
}

static PyObject *collectives_report(const void *thing) {
    struct sutra_collectives_summary summary = {.size = sizeof summary};
    sutra_collectives_summary(thing, &summary);
    return dict_put(members_of(&summary, collectives_members), "straggler", straggler_of(thing));
}

static const struct kind collectives_kind = {.name = "collectives",
                                             .free = collectives_release,
                                             .result = own_result,
                                             .report = collectives_report,
                                             .rank = collectives_rank};

static enum sutra_status run_collectives(struct job *job, struct sutra_context *context) {
    const struct sutra_collectives_options options = {
        .size = sizeof options,
        .compat = job->numbers[0] != 0,
        .arrivals = job->numbers[1] != 0,
        .ranks_per_host = (uint64_t)job->numbers[2],
        .link_gb_per_s = job->numbers[3],
        .restriction = job_part(job, 4),
    };
    if (!options.restriction)
        return SUTRA_SYSTEM;
    GIVE(job,
         sutra_collectives_run(context, (const char *const *)job->texts + PART_TEXTS, job->n_texts - PART_TEXTS,
                               &options, &made, &job->error),
         sutra_collectives);
}

static enum sutra_status run_collectives_page(struct job *job, struct sutra_context *context) {
    return sutra_report_write_collectives(context, job->things[0]->thing, job->texts[0], &job->number, &job->error);
}

/* ---- Differences ---- */

static void diff_release(void *thing) {
    sutra_diff_free(thing);
}

static PyObject *diff_report(const void *thing) {
    struct sutra_diff_summary summary = {.size = sizeof summary};
    sutra_diff_summary(thing, &summary);
    PyObject *dict =
        dict_put(PyDict_New(), "n_ranks",
                 Py_BuildValue("(KK)", (unsigned long long)summary.n_ranks[0], (unsigned long long)summary.n_ranks[1]));
    dict =
        dict_put(dict, "n_steps",
                 Py_BuildValue("(KK)", (unsigned long long)summary.n_steps[0], (unsigned long long)summary.n_steps[1]));
    dict =
        dict_put(dict, "has_steps",
                 Py_BuildValue("(NN)", PyBool_FromLong(summary.has_steps[0]), PyBool_FromLong(summary.has_steps[1])));
    dict = dict_put(dict, "step_us", Py_BuildValue("(dd)", summary.step_us[0], summary.step_us[1]));
    dict = dict_put(dict, "device_us", Py_BuildValue("(dd)", summary.device_us[0], summary.device_us[1]));
    dict = dict_put(dict, "outside_us", Py_BuildValue("(dd)", summary.outside_us[0], summary.outside_us[1]));
    dict = dict_put(dict, "step_error_us", PyFloat_FromDouble(summary.step_error_us));
    return dict_put(dict, "device_error_us", PyFloat_FromDouble(summary.device_error_us));
}

static const struct kind diff_kind = {
    .name = "diff", .free = diff_release, .result = own_result, .report = diff_report};

#define DIFF_TEXTS   5
#define DIFF_NUMBERS 5

/* Texts: step of A, step of B, name, stream, category, then pairs of renames, then, of files, those of A and of B. Numbers:
 * compat, from, to, how many renames, how many files of A, then the ranks. */
static enum sutra_status run_diff(struct job *job, struct sutra_context *context) {
    size_t n_renames = (size_t)job->numbers[3], n_a = (size_t)job->numbers[4], first = DIFF_TEXTS + 2 * n_renames;
    if (first > job->n_texts || n_a > job->n_texts - first)
        return job_fail(job, SUTRA_USAGE, "internal error: too few texts");
    struct sutra_rename *renames = job_ranks(job, DIFF_NUMBERS) ? calloc(n_renames + 1, sizeof *renames) : NULL;
    if (!renames)
        return job_fail(job, SUTRA_SYSTEM, "out of memory");
    for (size_t i = 0; i < n_renames; i++)
        renames[i] = (struct sutra_rename){job->texts[DIFF_TEXTS + 2 * i], job->texts[DIFF_TEXTS + 2 * i + 1]};
    const struct sutra_diff_options options = {
        .size = sizeof options,
        .compat = job->numbers[0] != 0,
        .renames = renames,
        .n_renames = n_renames,
        .ranks = job->ranks,
        .n_ranks = job->n_ranks,
        .step = {job->texts[0], job->texts[1]},
        .from_us = job->numbers[1],
        .to_us = job->numbers[2],
        .name = job->texts[2],
        .stream = job->texts[3],
        .category = job->texts[4],
    };
    const char *const *paths = (const char *const *)job->texts + first;
    struct sutra_diff *made = NULL;
    enum sutra_status status;
    if (job->things[0] && job->things[1])
        status = sutra_diff_run_of(context, job->things[0]->thing, job->things[1]->thing, &options, &made, &job->error);
    else
        status =
            sutra_diff_run(context, paths, n_a, paths + n_a, job->n_texts - first - n_a, &options, &made, &job->error);
    job->thing = made;
    free(renames);
    return status;
}

static enum sutra_status run_diff_page(struct job *job, struct sutra_context *context) {
    return sutra_report_write_diff(context, job->things[0]->thing, job->texts[0], job->texts[1], job->texts[2],
                                   &job->number, &job->error);
}

const struct operation finding_operations[] = {
    {"overview", {NULL}, PART_TEXTS + 3, 1 + PART_NUMBERS, GIVES_THING, run_overview, &overview_kind},
    {"overview_page", {"overview"}, 1, 0, GIVES_NUMBER, run_overview_page, NULL},
    {"collectives", {NULL}, PART_TEXTS + 1, 4 + PART_NUMBERS, GIVES_THING, run_collectives, &collectives_kind},
    {"collectives_page", {"collectives"}, 1, 0, GIVES_NUMBER, run_collectives_page, NULL},
    {"diff", {"?device_trace", "?device_trace"}, DIFF_TEXTS, DIFF_NUMBERS, GIVES_THING, run_diff, &diff_kind},
    {"diff_page", {"diff"}, 3, 0, GIVES_NUMBER, run_diff_page, NULL},
    {0},
};
