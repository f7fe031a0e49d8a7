/*
 * rewrites.c - operations that write traces: cut a time range, merge several ranks, repair a malformed trace.
 */
#include "core.h"

#include <stdlib.h>

/* texts[0] and numbers[0..4], in the order of the members. */
static struct sutra_selection job_selection(const struct job *job) {
    return (struct sutra_selection){
        .size = sizeof(struct sutra_selection),
        .step = job->texts[0],
        .from_us = job->numbers[0],
        .to_us = job->numbers[1],
        .min_us = job->numbers[2],
        .only = (enum sutra_only)job->numbers[3],
        .no_python = job->numbers[4] != 0,
    };
}

/* ---- Cuts ---- */

DEFINE_FREE(cut)

static const struct member cut_members[] = {
    COUNT(sutra_cut_report, n_events),      COUNT(sutra_cut_report, n_events_kept),
    COUNT(sutra_cut_report, n_operators),   COUNT(sutra_cut_report, n_operators_kept),
    COUNT(sutra_cut_report, n_work),        COUNT(sutra_cut_report, n_work_kept),
    COUNT(sutra_cut_report, n_arrow_ends),  COUNT(sutra_cut_report, n_arrow_ends_kept),
    COUNT(sutra_cut_report, n_broken_ends), COUNT(sutra_cut_report, n_nodes),
    COUNT(sutra_cut_report, n_nodes_kept),  {0},
};

static PyObject *cut_report(const void *thing) {
    struct sutra_cut_report report = {.size = sizeof report};
    sutra_cut_report(thing, &report);
    return dict_from_members(&report, cut_members);
}

static const struct kind cut_kind = {.name = "cut", .free = cut_release, .report = cut_report};

static enum sutra_status run_cut(struct job *job, struct sutra_context *context) {
    struct sutra_selection selection = job_selection(job);
    selection.overlap = job->numbers[5] != 0;
    const struct sutra_host_trace *host = job->things[1] ? job->things[1]->thing : NULL;
    RETURN_THING(job, sutra_cut_run(context, job->things[0]->thing, host, &selection, &made, &job->error), sutra_cut);
}

static enum sutra_status run_cut_write(struct job *job, struct sutra_context *context) {
    return sutra_cut_write(context, job->things[0]->thing, job->texts[0], &job->number, &job->error);
}

static enum sutra_status run_cut_write_host(struct job *job, struct sutra_context *context) {
    return sutra_cut_write_host(context, job->things[0]->thing, job->texts[0], &job->number, &job->error);
}

/* ---- Merged traces of several ranks ---- */

DEFINE_FREE(merged)

static enum sutra_status merged_columns(struct job *job, struct sutra_context *context, const void *thing,
                                        const struct sutra_columns_options *options) {
    (void)context;
    (void)options;
    return sutra_merged_arrow(thing, &job->stream, &job->error);
}

static const struct member merged_members[] = {
    COUNT(sutra_merge_report, n_ranks),       COUNT(sutra_merge_report, n_events),
    COUNT(sutra_merge_report, n_kept),        COUNT(sutra_merge_report, n_processes),
    COUNT(sutra_merge_report, n_collectives), COUNT(sutra_merge_report, n_skipped),
    COUNT(sutra_merge_report, n_bytes),       {0},
};

static PyObject *merged_report(const void *thing) {
    struct sutra_merge_report report = {.size = sizeof report};
    sutra_merged_report(thing, &report);
    return dict_from_members(&report, merged_members);
}

static const struct kind merged_kind = {
    .name = "merge", .free = merged_release, .columns = merged_columns, .report = merged_report};

/* Texts: step, output, paths. Numbers: selection, enum sutra_clocks, 1 to omit arrows. */
static enum sutra_status run_merge(struct job *job, struct sutra_context *context) {
    const struct sutra_selection selection = job_selection(job);
    const struct sutra_merge_options options = {
        .size = sizeof options,
        .selection = &selection,
        .clocks = (enum sutra_clocks)job->numbers[5],
        .no_arrows = job->numbers[6] != 0,
    };
    RETURN_THING(job,
                 sutra_merge(context, (const char *const *)job->texts + 2, job->n_texts - 2, &options, job->texts[1],
                             &made, &job->error),
                 sutra_merged);
}

/* ---- Repairs ---- */

DEFINE_FREE(repair)

static enum sutra_status repair_columns(struct job *job, struct sutra_context *context, const void *thing,
                                        const struct sutra_columns_options *options) {
    (void)context;
    (void)options;
    return sutra_repair_arrow(thing, &job->stream, &job->error);
}

static const struct member repair_members[] = {
    COUNT(sutra_repair_report, n_bytes),
    COUNT(sutra_repair_report, n_elements),
    COUNT(sutra_repair_report, n_repaired),
    COUNT(sutra_repair_report, n_skipped_bytes),
    {0},
};

/* "repaired": number of repairs by kind, without the kinds that did not occur. */
static PyObject *repair_report(const void *thing) {
    struct sutra_repair_report report = {.size = sizeof report};
    sutra_repair_report(thing, &report);
    PyObject *dict = dict_from_members(&report, repair_members), *repaired = PyDict_New();
    for (int i = 0; i < SUTRA_N_REPAIR_KINDS; i++)
        if (report.n[i])
            repaired = dict_add(repaired, sutra_repair_kind_name((enum sutra_repair_kind)i, true),
                                PyLong_FromUnsignedLongLong(report.n[i]));
    return dict_add(dict, "repaired", repaired);
}

static const struct kind repair_kind = {
    .name = "repair", .free = repair_release, .columns = repair_columns, .report = repair_report};

static enum sutra_status run_repair(struct job *job, struct sutra_context *context) {
    RETURN_THING(job, sutra_repair_read(context, job->texts[0], &made, &job->error), sutra_repair);
}

static enum sutra_status run_repair_write(struct job *job, struct sutra_context *context) {
    return sutra_repair_write(context, job->things[0]->thing, job->texts[0], &job->number, &job->error);
}

const struct operation rewrite_operations[] = {
    {"cut", {"device_trace", "?host_trace"}, 1, 6, RETURNS_THING, run_cut, &cut_kind},
    {"cut_write", {"cut"}, 1, 0, RETURNS_NUMBER, run_cut_write, NULL},
    {"cut_write_host", {"cut"}, 1, 0, RETURNS_NUMBER, run_cut_write_host, NULL},
    {"merge", {NULL}, 2, 7, RETURNS_THING, run_merge, &merged_kind},
    {"repair", {NULL}, 1, 0, RETURNS_THING, run_repair, &repair_kind},
    {"repair_write", {"repair"}, 1, 0, RETURNS_NUMBER, run_repair_write, NULL},
    {0},
};
