/*
 * analyses.c - operations: HTA, operators, the DLRM notebook, GPU memory and hangs, and their HTML pages.
 */
#include "core.h"

#include <stdlib.h>

DEFINE_FREE(hta)
DEFINE_FREE(hta_ranks)
DEFINE_FREE(operators)
DEFINE_FREE(operators_ranks)
DEFINE_FREE(dlrm)
DEFINE_FREE(memory)
DEFINE_FREE(hang)

/* ---- Holistic Trace Analysis ---- */

static const struct kind hta_kind = {.name = "hta", .free = hta_release, .result = own_result};

/* Options of one rank. Numbers: in the order of the members below, the last one is the number of kept annotations.
 * Texts from first_text on: the operator of sequences, the kept annotations. */
#define HTA_NUMBERS 16
static struct sutra_hta_options job_hta_options(const struct job *job, size_t first_text) {
    char *const *texts = job->texts + first_text;
    size_t n_texts = job->n_texts - first_text - 1, n_kept = (size_t)job->numbers[HTA_NUMBERS - 1];
    const double *numbers = job->numbers;
    return (struct sutra_hta_options){
        .size = sizeof(struct sutra_hta_options),
        .rank = (int64_t)numbers[0],
        .n_kernels = (uint64_t)numbers[1],
        .kernel_delay_us = (uint64_t)numbers[2],
        .last_step = numbers[3] != 0,
        .all_launches = numbers[4] != 0,
        .nanoseconds = numbers[5] != 0,
        .compat = numbers[6] != 0,
        .hta_version = (enum sutra_hta_version)numbers[7],
        .full_queue = (uint64_t)numbers[8],
        .sequence_kernels = (uint64_t)numbers[9],
        .sequences_of = texts[0],
        .kept_ratio = numbers[10],
        .n_annotations = (uint64_t)numbers[11],
        .rows = numbers[12] != 0,
        .short_names = numbers[13] != 0,
        .no_memory_launches = numbers[14] != 0,
        .kept_annotations = (const char *const *)texts + 1,
        .n_kept_annotations = n_kept < n_texts ? n_kept : n_texts,
    };
}

static enum sutra_status run_hta(struct job *job, struct sutra_context *context) {
    const struct sutra_hta_options options = job_hta_options(job, 0);
    RETURN_THING(job, sutra_hta_run(context, job->things[0]->thing, &options, &made, &job->error), sutra_hta);
}

static bool hta_ranks_rank(const void *thing, size_t i, struct rank_entry *rank) {
    const struct sutra_hta_rank *at = sutra_hta_ranks_get(thing, i);
    if (at)
        *rank = (struct rank_entry){at->path, at->rank, at->reason};
    return at != NULL;
}

static const struct kind hta_ranks_kind = {
    .name = "hta_ranks", .free = hta_ranks_release, .result = own_result, .rank = hta_ranks_rank};

static enum sutra_status run_hta_ranks(struct job *job, struct sutra_context *context) {
    const struct sutra_hta_options hta = job_hta_options(job, RESTRICTION_TEXTS);
    size_t paths = RESTRICTION_TEXTS + 1 + hta.n_kept_annotations;
    const struct sutra_restriction *restriction = job_restriction(job, HTA_NUMBERS);
    if (!restriction)
        return SUTRA_SYSTEM;
    const struct sutra_hta_ranks_options options = {.size = sizeof options, .hta = &hta, .restriction = restriction};
    RETURN_THING(job,
                 sutra_hta_ranks_run(context, (const char *const *)job->texts + paths, job->n_texts - paths, &options,
                                     &made, &job->error),
                 sutra_hta_ranks);
}

static enum sutra_status run_hta_page(struct job *job, struct sutra_context *context) {
    return sutra_report_write_hta(context, job->things[0]->thing, job->texts[0], &job->number, &job->error);
}

static enum sutra_status run_hta_list(struct job *job, struct sutra_context *context) {
    return sutra_hta_ranks_write_list(context, job->things[0]->thing, (enum sutra_hta_list)job->numbers[0],
                                      job->texts[0], &job->number, &job->error);
}

/* Numbers: number of candidates, 1 for all steps, the step numbers otherwise. */
static enum sutra_status run_hta_stragglers(struct job *job, struct sutra_context *context) {
    enum { CANDIDATES, ALL_STEPS, STEPS };
    size_t n = job->n_numbers - STEPS;
    int64_t *steps = malloc((n ? n : 1) * sizeof *steps);
    if (!steps)
        return job_fail(job, SUTRA_SYSTEM, "out of memory");
    for (size_t i = 0; i < n; i++)
        steps[i] = (int64_t)job->numbers[STEPS + i];
    enum sutra_status status =
        sutra_hta_ranks_write_stragglers(context, job->things[0]->thing, job->numbers[ALL_STEPS] != 0 ? NULL : steps, n,
                                         (uint64_t)job->numbers[CANDIDATES], job->texts[0], &job->number, &job->error);
    free(steps);
    return status;
}

static enum sutra_status run_hta_counters(struct job *job, struct sutra_context *context) {
    return sutra_hta_write_counters(context, job->things[0]->thing, job->things[1]->thing, (unsigned)job->numbers[0],
                                    job->texts[0], &job->number, &job->error);
}

/* ---- Operators and kernels ---- */

static bool operators_ranks_rank(const void *thing, size_t i, struct rank_entry *rank) {
    const struct sutra_operators_rank *at = sutra_operators_ranks_get(thing, i);
    if (at)
        *rank = (struct rank_entry){at->path, at->rank, at->reason};
    return at != NULL;
}

static const struct kind operators_kind = {.name = "operators", .free = operators_release, .result = own_result};
static const struct kind operators_ranks_kind = {
    .name = "operators_ranks", .free = operators_ranks_release, .result = own_result, .rank = operators_ranks_rank};

static enum sutra_status run_tracelens(struct job *job, struct sutra_context *context) {
    RETURN_THING(job, sutra_tracelens_run(context, job->things[0]->thing, 0, &made, &job->error), sutra_operators);
}

/* Texts: restriction, peaks, capture traces, paths. Numbers: kernels, number of capture traces, restriction. */
#define OPERATORS_NUMBERS 2
static enum sutra_status run_operators_ranks(struct job *job, struct sutra_context *context) {
    enum { PEAKS = RESTRICTION_TEXTS, CAPTURES };
    const size_t n_captures = (size_t)job->numbers[1];
    const char *const *texts = (const char *const *)job->texts, *const *paths = texts + CAPTURES + n_captures;
    const struct sutra_operators_options each = {.size = sizeof each,
                                                 .kernels = job->numbers[0] != 0,
                                                 .peaks = job->texts[PEAKS],
                                                 .captures = texts + CAPTURES,
                                                 .n_captures = n_captures};
    const struct sutra_operators_ranks_options options = {
        .size = sizeof options, .operators = &each, .restriction = job_restriction(job, OPERATORS_NUMBERS)};
    if (!options.restriction)
        return SUTRA_SYSTEM;
    RETURN_THING(
        job,
        sutra_operators_ranks_run(context, paths, job->n_texts - CAPTURES - n_captures, &options, &made, &job->error),
        sutra_operators_ranks);
}

static enum sutra_status run_operators_page(struct job *job, struct sutra_context *context) {
    return sutra_report_write_operators(context, job->things[0]->thing, job->texts[0], &job->number, &job->error);
}

/* ---- The DLRM notebook ---- */

static const struct member dlrm_members[] = {
    COUNT(sutra_dlrm_report, iters),      COUNT(sutra_dlrm_report, batch),      COUNT(sutra_dlrm_report, n_events),
    COUNT(sutra_dlrm_report, n_launches), REAL(sutra_dlrm_report, executed_us), REAL(sutra_dlrm_report, attributed_us),
    REAL(sutra_dlrm_report, host_us),     REAL(sutra_dlrm_report, qps),         REAL(sutra_dlrm_report, span_us),
    REAL(sutra_dlrm_report, idle_us),     REAL(sutra_dlrm_report, overlap_us),  {0},
};

static PyObject *dlrm_report(const void *thing) {
    struct sutra_dlrm_report report = {.size = sizeof report};
    sutra_dlrm_report(thing, &report);
    return dict_from_members(&report, dlrm_members);
}

/* numbers[1]: enum sutra_dlrm_columns. */
static enum sutra_status dlrm_columns(struct job *job, struct sutra_context *context, const void *thing,
                                      const struct sutra_columns_options *options) {
    (void)context;
    (void)options;
    return sutra_dlrm_arrow(thing, (enum sutra_dlrm_columns)job->numbers[1], &job->stream, &job->error);
}

static const struct kind dlrm_kind = {
    .name = "dlrm", .free = dlrm_release, .columns = dlrm_columns, .report = dlrm_report};

static enum sutra_status run_dlrm(struct job *job, struct sutra_context *context) {
    const struct sutra_dlrm_options options = {
        .size = sizeof options,
        .compat = job->numbers[0] != 0,
        .iters = (uint64_t)job->numbers[1],
        .skip_iters = (uint64_t)job->numbers[2],
        .batch = (uint64_t)job->numbers[3],
        .module_marker = job->texts[0],
    };
    RETURN_THING(job, sutra_dlrm_analyze(context, job->things[0]->thing, &options, &made, &job->error), sutra_dlrm);
}

static enum sutra_status run_dlrm_page(struct job *job, struct sutra_context *context) {
    return sutra_report_write_dlrm(context, job->things[0]->thing, job->texts[0], job->texts[1], &job->number,
                                   &job->error);
}

/* ---- GPU memory ---- */

static PyObject *memory_report(const void *thing) {
    struct sutra_memory_finding finding;
    PyObject *list = PyList_New(0);
    for (size_t i = 0; list && sutra_memory_finding(thing, i, &finding); i++) {
        PyObject *bytes = finding.bytes < 0 ? Py_BuildValue("") : PyLong_FromLongLong(finding.bytes);
        list = list_add(list, Py_BuildValue("(sNNN)", finding.rule, str_from_utf8(finding.device), bytes,
                                            str_from_utf8(finding.text)));
    }
    return dict_add(PyDict_New(), "findings", list);
}

static const struct kind memory_kind = {
    .name = "memory", .free = memory_release, .result = own_result, .report = memory_report};

/* Texts: the inputs to compare with, then the inputs. Numbers: rows of each list of the JSON; inputs to compare with. */
static enum sutra_status run_memory(struct job *job, struct sutra_context *context) {
    const char *const *paths = (const char *const *)job->texts;
    const size_t n_against = (size_t)job->numbers[1];
    const struct sutra_memory_options options = {.size = sizeof options,
                                                 .n_top = (uint64_t)job->numbers[0],
                                                 .tables = true,
                                                 .against_paths = paths,
                                                 .n_against = n_against};
    RETURN_THING(job,
                 sutra_memory_run(context, paths + n_against, job->n_texts - n_against, &options, &made, &job->error),
                 sutra_memory);
}

static enum sutra_status run_memory_json(struct job *job, struct sutra_context *context) {
    return sutra_memory_write_json(context, job->things[0]->thing, job->texts[0], &job->number, &job->error);
}

static enum sutra_status run_memory_page(struct job *job, struct sutra_context *context) {
    return sutra_report_write_memory(context, job->things[0]->thing, job->texts[0], &job->number, &job->error);
}

/* ---- Hangs ---- */

static PyObject *hang_report(const void *thing) {
    struct sutra_hang_finding finding;
    PyObject *list = PyList_New(0);
    for (size_t i = 0; list && sutra_hang_finding(thing, i, &finding); i++) {
        PyObject *ranks = PyList_New(0);
        for (size_t k = 0; ranks && k < finding.n_ranks; k++)
            ranks = list_add(ranks, PyLong_FromLongLong(finding.ranks[k]));
        list = list_add(list, Py_BuildValue("(sssNNNNN)", finding.cause, finding.confidence, finding.title, ranks,
                                            str_from_utf8(finding.seen), str_from_utf8(finding.where),
                                            str_from_utf8(finding.remedy), str_from_utf8(finding.check)));
    }
    return dict_add(PyDict_New(), "findings", list);
}

static const struct kind hang_kind = {
    .name = "hang", .free = hang_release, .result = own_result, .report = hang_report};

/* Texts: the dumps. Numbers: 1 for the table of operations. */
static enum sutra_status run_hang(struct job *job, struct sutra_context *context) {
    const struct sutra_hang_options options = {.size = sizeof options, .operations = job->numbers[0] != 0};
    RETURN_THING(job,
                 sutra_hang_run(context, (const char *const *)job->texts, job->n_texts, &options, &made, &job->error),
                 sutra_hang);
}

static enum sutra_status run_hang_json(struct job *job, struct sutra_context *context) {
    return sutra_hang_write_json(context, job->things[0]->thing, job->texts[0], &job->number, &job->error);
}

static enum sutra_status run_hang_page(struct job *job, struct sutra_context *context) {
    return sutra_report_write_hang(context, job->things[0]->thing, job->texts[0], &job->number, &job->error);
}

const struct operation analysis_operations[] = {
    {"hta", {"device_trace"}, 1, HTA_NUMBERS, RETURNS_THING, run_hta, &hta_kind},
    {"hta_ranks",
     {NULL},
     RESTRICTION_TEXTS + 1,
     HTA_NUMBERS + RESTRICTION_NUMBERS,
     RETURNS_THING,
     run_hta_ranks,
     &hta_ranks_kind},
    {"hta_page", {"hta_ranks"}, 1, 0, RETURNS_NUMBER, run_hta_page, NULL},
    {"hta_list", {"hta_ranks"}, 1, 1, RETURNS_NUMBER, run_hta_list, NULL},
    {"hta_stragglers", {"hta_ranks"}, 1, 2, RETURNS_NUMBER, run_hta_stragglers, NULL},
    {"hta_counters", {"device_trace", "hta"}, 1, 1, RETURNS_NUMBER, run_hta_counters, NULL},
    {"tracelens", {"device_trace"}, 0, 0, RETURNS_THING, run_tracelens, &operators_kind},
    {"operators_ranks",
     {NULL},
     RESTRICTION_TEXTS + 1,
     OPERATORS_NUMBERS + RESTRICTION_NUMBERS,
     RETURNS_THING,
     run_operators_ranks,
     &operators_ranks_kind},
    {"operators_page", {"operators_ranks"}, 1, 0, RETURNS_NUMBER, run_operators_page, NULL},
    {"dlrm", {"device_trace"}, 1, 4, RETURNS_THING, run_dlrm, &dlrm_kind},
    {"dlrm_page", {"dlrm"}, 2, 0, RETURNS_NUMBER, run_dlrm_page, NULL},
    {"memory", {NULL}, 0, 2, RETURNS_THING, run_memory, &memory_kind},
    {"memory_json", {"memory"}, 1, 0, RETURNS_NUMBER, run_memory_json, NULL},
    {"memory_page", {"memory"}, 1, 0, RETURNS_NUMBER, run_memory_page, NULL},
    {"hang", {NULL}, 0, 1, RETURNS_THING, run_hang, &hang_kind},
    {"hang_json", {"hang"}, 1, 0, RETURNS_NUMBER, run_hang_json, NULL},
    {"hang_page", {"hang"}, 1, 0, RETURNS_NUMBER, run_hang_page, NULL},
    {0},
};
