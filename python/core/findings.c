/*
 * findings.c - operations: overviews with findings, collectives with stragglers, and differences between two jobs.
 */
#include "core.h"

#include <stdlib.h>

/* ---- Overviews ---- */

DEFINE_FREE(overview)

/* The overview, its operators and its HTA results; the last two only if the overview was computed for a page. */
static const struct sutra_result *overview_result(const void *thing, size_t i) {
    return i == 0   ? SUTRA_RESULT(thing)
           : i == 1 ? SUTRA_RESULT(sutra_overview_operators(thing))
           : i == 2 ? SUTRA_RESULT(sutra_overview_companion(thing))
                    : NULL;
}

static PyObject *finding_numbers(const struct sutra_finding *finding) {
    PyObject *numbers = PyDict_New();
    for (size_t i = 0; i < finding->n_numbers; i++)
        numbers = dict_add(numbers, finding->numbers[i].name, PyFloat_FromDouble(finding->numbers[i].value));
    return numbers;
}

static PyObject *overview_report(const void *thing) {
    struct sutra_finding finding;
    struct sutra_error error;
    char *text = NULL;
    size_t length = 0;
    PyObject *list = PyList_New(0);
    for (size_t i = 0; list && sutra_overview_finding(thing, i, &finding); i++)
        list = list_add(list, Py_BuildValue("(sdNN)", finding.rule, finding.saving_percent, str_from_utf8(finding.text),
                                            finding_numbers(&finding)));
    PyObject *report = dict_add(PyDict_New(), "findings", list);
    if (!sutra_overview_json(thing, &text, &length, &error)) {
        report = dict_add(report, "json", PyUnicode_DecodeASCII(text, (Py_ssize_t)length, NULL));
        free(text);
        if (!sutra_overview_markdown(thing, 0, &text, &length, &error)) {
            report = dict_add(report, "markdown", PyUnicode_DecodeUTF8(text, (Py_ssize_t)length, "surrogatepass"));
            free(text);
            return report;
        }
    }
    Py_XDECREF(report);
    return PyErr_NoMemory();
}

static const struct kind overview_kind = {
    .name = "overview", .free = overview_release, .result = overview_result, .report = overview_report};

/* Texts: restriction, annotation, peaks, capture traces, paths. Numbers: 1 if a page will be written, number of capture
 * traces, restriction. */
static enum sutra_status run_overview(struct job *job, struct sutra_context *context) {
    enum { ANNOTATION = RESTRICTION_TEXTS, PEAKS, CAPTURES };
    const struct sutra_restriction *restriction = job_restriction(job, 2);
    const size_t n_captures = (size_t)job->numbers[1];
    const char *const *paths = (const char *const *)job->texts + CAPTURES + n_captures;
    if (!restriction)
        return SUTRA_SYSTEM;
    const struct sutra_overview_options options = {.size = sizeof options,
                                                   .annotation = job->texts[ANNOTATION],
                                                   .peaks = job->texts[PEAKS],
                                                   .tables = job->numbers[0] != 0,
                                                   .companion = job->numbers[0] != 0 ? sutra_hta_companion() : NULL,
                                                   .restriction = restriction,
                                                   .captures = (const char *const *)job->texts + CAPTURES,
                                                   .n_captures = n_captures};
    RETURN_THING(job,
                 sutra_overview_run(context, paths, job->n_texts - CAPTURES - n_captures, &options, &made, &job->error),
                 sutra_overview);
}

static enum sutra_status run_overview_page(struct job *job, struct sutra_context *context) {
    const struct sutra_overview *overview = job->things[0]->thing;
    if (!sutra_overview_operators(overview))
        return job_fail(job, SUTRA_USAGE, "this overview has no HTML page; compute it with page=True");
    return sutra_report_write_overview(context, overview, job->texts[0], &job->number, &job->error);
}

/* ---- Collectives ---- */

DEFINE_FREE(collectives)
DEFINE_FREE(tracelens_collectives)

static bool collectives_rank(const void *thing, size_t i, struct rank_entry *rank) {
    const struct sutra_collectives_rank *at = sutra_collectives_at(thing, i);
    if (at)
        *rank = (struct rank_entry){at->path, at->rank, at->reason};
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
    COUNT(sutra_collectives_summary, n_untimed),
    {0},
};

/* The straggler as a dict, or None. */
static PyObject *straggler_dict(const void *thing) {
    struct sutra_collectives_straggler straggler = {.size = sizeof straggler};
    sutra_collectives_straggler(thing, &straggler);
    if (straggler.rank < 0)
        Py_RETURN_NONE;
    PyObject *dict = dict_add(PyDict_New(), "rank", PyLong_FromLongLong(straggler.rank));
    dict = dict_add(dict, "wait_caused_us", PyFloat_FromDouble(straggler.wait_caused_us));
    dict = dict_add(dict, "n_last", PyLong_FromUnsignedLongLong(straggler.n_last));
    dict = dict_add(dict, "on_host", PyBool_FromLong(straggler.on_host));
    dict = dict_add(dict, "phase", str_from_utf8(straggler.phase));
    dict = dict_add(dict, "operator", str_from_utf8(straggler.operator_name));
    dict = dict_add(dict, "excess_us", PyFloat_FromDouble(straggler.excess_us));
    return dict_add(dict, "sentence", str_from_utf8(straggler.sentence));
}

static PyObject *collectives_report(const void *thing) {
    struct sutra_collectives_summary summary = {.size = sizeof summary};
    sutra_collectives_summary(thing, &summary);
    return dict_add(dict_from_members(&summary, collectives_members), "straggler", straggler_dict(thing));
}

static const struct kind collectives_kind = {.name = "collectives",
                                             .free = collectives_release,
                                             .result = own_result,
                                             .report = collectives_report,
                                             .rank = collectives_rank};

static bool tracelens_rank(const void *thing, size_t i, struct rank_entry *rank) {
    const struct sutra_collectives_rank *at = sutra_tracelens_collectives_get(thing, i);
    if (at)
        *rank = (struct rank_entry){at->path, at->rank, at->reason};
    return at != NULL;
}

/* The same keys as of collectives; TraceLens has no totals and no straggler. */
static PyObject *tracelens_report(const void *thing) {
    struct sutra_collectives_summary summary = {.size = sizeof summary};
    const struct sutra_collectives_rank *rank;
    for (size_t i = 0; (rank = sutra_tracelens_collectives_get(thing, i)); i++)
        ++*(rank->reason ? &summary.n_skipped : &summary.n_ranks);
    return dict_add(dict_from_members(&summary, collectives_members), "straggler", Py_BuildValue(""));
}

static const struct kind tracelens_kind = {.name = "tracelens_collectives",
                                           .free = tracelens_collectives_release,
                                           .result = own_result,
                                           .report = tracelens_report,
                                           .rank = tracelens_rank};

static struct sutra_collectives_options job_collectives_options(struct job *job) {
    return (struct sutra_collectives_options){
        .size = sizeof(struct sutra_collectives_options),
        .arrivals = job->numbers[0] != 0,
        .ranks_per_host = (uint64_t)job->numbers[1],
        .link_gb_per_s = job->numbers[2],
        .restriction = job_restriction(job, 3),
    };
}

static enum sutra_status run_collectives(struct job *job, struct sutra_context *context) {
    const struct sutra_collectives_options options = job_collectives_options(job);
    if (!options.restriction)
        return SUTRA_SYSTEM;
    RETURN_THING(job,
                 sutra_collectives_run(context, (const char *const *)job->texts + RESTRICTION_TEXTS,
                                       job->n_texts - RESTRICTION_TEXTS, &options, &made, &job->error),
                 sutra_collectives);
}

static enum sutra_status run_tracelens_collectives(struct job *job, struct sutra_context *context) {
    const struct sutra_collectives_options options = job_collectives_options(job);
    if (!options.restriction)
        return SUTRA_SYSTEM;
    RETURN_THING(job,
                 sutra_tracelens_collectives_run(context, (const char *const *)job->texts + RESTRICTION_TEXTS,
                                                 job->n_texts - RESTRICTION_TEXTS, &options, &made, &job->error),
                 sutra_tracelens_collectives);
}

static enum sutra_status run_collectives_page(struct job *job, struct sutra_context *context) {
    return sutra_report_write_collectives(context, job->things[0]->thing, job->texts[0], &job->number, &job->error);
}

/* ---- Differences ---- */

DEFINE_FREE(diff)
DEFINE_FREE(hta_compare)

static PyObject *diff_report(const void *thing) {
    struct sutra_diff_summary summary = {.size = sizeof summary};
    sutra_diff_summary(thing, &summary);
    PyObject *dict =
        dict_add(PyDict_New(), "n_ranks",
                 Py_BuildValue("(KK)", (unsigned long long)summary.n_ranks[0], (unsigned long long)summary.n_ranks[1]));
    dict =
        dict_add(dict, "n_steps",
                 Py_BuildValue("(KK)", (unsigned long long)summary.n_steps[0], (unsigned long long)summary.n_steps[1]));
    dict =
        dict_add(dict, "has_steps",
                 Py_BuildValue("(NN)", PyBool_FromLong(summary.has_steps[0]), PyBool_FromLong(summary.has_steps[1])));
    dict = dict_add(dict, "step_us", Py_BuildValue("(dd)", summary.step_us[0], summary.step_us[1]));
    dict = dict_add(dict, "device_us", Py_BuildValue("(dd)", summary.device_us[0], summary.device_us[1]));
    dict = dict_add(dict, "outside_us", Py_BuildValue("(dd)", summary.outside_us[0], summary.outside_us[1]));
    dict = dict_add(dict, "step_error_us", PyFloat_FromDouble(summary.step_error_us));
    dict = dict_add(dict, "device_error_us", PyFloat_FromDouble(summary.device_error_us));
    return dict_add(dict, "sentence", str_from_utf8(summary.sentence));
}

static const struct kind diff_kind = {
    .name = "diff", .free = diff_release, .result = own_result, .report = diff_report};
static const struct kind hta_compare_kind = {.name = "hta_compare", .free = hta_compare_release, .result = own_result};

#define DIFF_TEXTS   5
#define DIFF_NUMBERS 4

/* Texts: step of A, step of B, name, stream, category, pairs of renames, files of A, files of B.
 * Numbers: start and end of the time range, number of renames, number of files of A, ranks. */
static enum sutra_status run_diff(struct job *job, struct sutra_context *context) {
    size_t n_renames = (size_t)job->numbers[2], n_a = (size_t)job->numbers[3], first = DIFF_TEXTS + 2 * n_renames;
    if (first > job->n_texts || n_a > job->n_texts - first)
        return job_fail(job, SUTRA_USAGE, "internal error: too few texts");
    struct sutra_rename *renames = job_ranks(job, DIFF_NUMBERS) ? calloc(n_renames + 1, sizeof *renames) : NULL;
    if (!renames)
        return job_fail(job, SUTRA_SYSTEM, "out of memory");
    for (size_t i = 0; i < n_renames; i++)
        renames[i] = (struct sutra_rename){job->texts[DIFF_TEXTS + 2 * i], job->texts[DIFF_TEXTS + 2 * i + 1]};
    const struct sutra_diff_options options = {
        .size = sizeof options,
        .renames = renames,
        .n_renames = n_renames,
        .ranks = job->ranks,
        .n_ranks = job->n_ranks,
        .step = {job->texts[0], job->texts[1]},
        .from_us = job->numbers[0],
        .to_us = job->numbers[1],
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

/* Texts: step of A, step of B, files of A, files of B. Numbers: number of files of A, ranks. */
static enum sutra_status run_hta_compare(struct job *job, struct sutra_context *context) {
    enum { FIRST = 2 };
    size_t n_a = (size_t)job->numbers[0];
    if (n_a > job->n_texts - FIRST)
        return job_fail(job, SUTRA_USAGE, "internal error: too few texts");
    if (!job_ranks(job, 1))
        return job_fail(job, SUTRA_SYSTEM, "out of memory");
    const struct sutra_hta_compare_options options = {
        .size = sizeof options, .ranks = job->ranks, .n_ranks = job->n_ranks, .step = {job->texts[0], job->texts[1]}};
    const char *const *paths = (const char *const *)job->texts + FIRST;
    struct sutra_hta_compare *made = NULL;
    enum sutra_status status;
    if (job->things[0] && job->things[1])
        status = sutra_hta_compare_run_of(context, job->things[0]->thing, job->things[1]->thing, &options, &made,
                                          &job->error);
    else
        status = sutra_hta_compare_run(context, paths, n_a, paths + n_a, job->n_texts - FIRST - n_a, &options, &made,
                                       &job->error);
    job->thing = made;
    return status;
}

static enum sutra_status run_diff_page(struct job *job, struct sutra_context *context) {
    return sutra_report_write_diff(context, job->things[0]->thing, job->texts[0], job->texts[1], job->texts[2],
                                   &job->number, &job->error);
}

const struct operation finding_operations[] = {
    {"overview", {NULL}, RESTRICTION_TEXTS + 2, 2 + RESTRICTION_NUMBERS, RETURNS_THING, run_overview, &overview_kind},
    {"overview_page", {"overview"}, 1, 0, RETURNS_NUMBER, run_overview_page, NULL},
    {"collectives",
     {NULL},
     RESTRICTION_TEXTS,
     3 + RESTRICTION_NUMBERS,
     RETURNS_THING,
     run_collectives,
     &collectives_kind},
    {"tracelens_collectives",
     {NULL},
     RESTRICTION_TEXTS,
     3 + RESTRICTION_NUMBERS,
     RETURNS_THING,
     run_tracelens_collectives,
     &tracelens_kind},
    {"collectives_page", {"collectives"}, 1, 0, RETURNS_NUMBER, run_collectives_page, NULL},
    {"diff", {"?device_trace", "?device_trace"}, DIFF_TEXTS, DIFF_NUMBERS, RETURNS_THING, run_diff, &diff_kind},
    {"hta_compare", {"?device_trace", "?device_trace"}, 2, 1, RETURNS_THING, run_hta_compare, &hta_compare_kind},
    {"diff_page", {"diff"}, 3, 0, RETURNS_NUMBER, run_diff_page, NULL},
    {0},
};
