/*
 * dlrm_ranks.c - the traces of many ranks, and their overheads together.
 *
 * Each trace is a task: analyze, show to the visitor, free. What stays of a rank are its figures and the samples of its
 * overheads, eight bytes each.
 */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "analyze/dlrm/dlrm_shared.h"
#include "analyze/dlrm/dlrm_write.h"
#include "analyze/rank_tasks.h"
#include "analyze/table.h"
#include "base/error.h"
#include "base/options.h"
#include "write/text_file.h"

/* One trace of the list. */
struct dlrm_analyzed {
    struct sutra_dlrm_rank rank;
    struct sutra_dlrm_report report;
    struct dlrm_raw raw;
};

struct sutra_dlrm_ranks {
    struct rank_tasks tasks;     /* whose results are struct dlrm_analyzed */
    size_t n_analyzed;           /* those that were not left out, which are the first ones by rank */
    struct dlrm_raw_part *parts; /* of these, by rank; without a model */
    struct dlrm_shared shared;
};

/* What became of a trace by its number in the list, and by that in the order. */
static struct dlrm_analyzed *analyzed_of(const struct sutra_dlrm_ranks *ranks, size_t number) {
    return (struct dlrm_analyzed *)ranks->tasks.results + number;
}

static struct dlrm_analyzed *analyzed_at(const struct sutra_dlrm_ranks *ranks, size_t i) {
    return analyzed_of(ranks, ranks->tasks.order[i]);
}

/* What the tasks share. */
struct dlrm_ranks_work {
    struct sutra_dlrm_ranks_options options;
    struct sutra_dlrm_options of_each;
    struct sutra_dlrm_ranks *ranks;
};

/* ---- A task ---- */

/* What a visitor is shown. */
struct showing {
    const struct dlrm_ranks_work *work;
    const struct sutra_dlrm *dlrm;
};

static enum sutra_status visit(void *arg, size_t number, struct sutra_context *context, struct sutra_error *error) {
    const struct showing *showing = arg;
    const struct sutra_dlrm_ranks_options *options = &showing->work->options;
    return options->visit(options->arg, context, showing->dlrm, &analyzed_of(showing->work->ranks, number)->rank,
                          error);
}

static void take_means(struct dlrm_analyzed *analyzed) {
    double sum[SUTRA_N_OVERHEADS] = {0}, n[SUTRA_N_OVERHEADS] = {0};
    const double *us = analyzed->raw.us;
    for (uint64_t i = 0; i < analyzed->raw.n_groups; us += analyzed->raw.groups[i++].n) {
        const struct dlrm_raw_group *group = &analyzed->raw.groups[i];
        n[group->kind] += (double)group->n;
        for (uint64_t j = 0; j < group->n; j++)
            sum[group->kind] += us[j];
    }
    for (int kind = 0; kind < SUTRA_N_OVERHEADS; kind++)
        analyzed->rank.overhead_us[kind] = n[kind] > 0 ? sum[kind] / n[kind] : NAN;
}

/* What figures point to goes with the analysis. */
static void keep_figures(struct sutra_dlrm_report *report) {
    report->marker = NULL;
    report->streams = NULL;
    report->rows = NULL;
    report->by_time = NULL;
    report->dominating = NULL;
    report->parts = NULL;
    report->groups = NULL;
    report->variants = NULL;
    report->shares = NULL;
    report->overheads = NULL;
    report->overheads_by_shape = NULL;
}

/* What the tasks know of a trace. */
static void name_rank(struct sutra_dlrm_ranks *ranks, size_t number) {
    const struct rank_task *task = &ranks->tasks.list[number];
    struct dlrm_analyzed *analyzed = analyzed_of(ranks, number);
    struct sutra_dlrm_rank *rank = &analyzed->rank;
    rank->path = task->path;
    rank->place = number;
    rank->rank = task->rank;
    rank->source = task->source;
    rank->report = &analyzed->report;
    rank->reason = task->status ? task->error.message : NULL;
}

static enum sutra_status analyze(void *arg, struct rank_run *run, size_t number, struct sutra_context *context,
                                 struct sutra_device_trace *trace, struct sutra_error *error) {
    struct dlrm_ranks_work *work = arg;
    struct dlrm_analyzed *analyzed = analyzed_of(work->ranks, number);
    struct sutra_dlrm *dlrm = NULL;
    enum sutra_status status = sutra_dlrm_analyze(context, trace, &work->of_each, &dlrm, error);
    if (!status)
        status = dlrm_raw_take(dlrm, &analyzed->raw, error);
    if (!status) {
        name_rank(work->ranks, number);
        analyzed->report = dlrm->report;
        keep_figures(&analyzed->report);
        take_means(analyzed);
    }
    if (!status && work->options.visit) /* where ranks are shared, too: here is what its files are made of */
        status = rank_run_visit(run, number, visit, &(struct showing){work, dlrm}, error);
    sutra_dlrm_free(dlrm);
    sutra_device_trace_free(trace);
    return status;
}

/* ---- From one process to another ---- */

static void put_options(const struct sutra_dlrm_options *options, struct buffer *out) {
    spool_put(out, options->compat);
    spool_put_text(out, options->module_marker);
    spool_put(out, options->trim);
    spool_put(out, options->iters);
    spool_put(out, options->skip_iters);
    spool_put(out, options->from);
    spool_put(out, options->to);
    spool_put(out, options->batch);
    spool_put(out, options->iteration_us);
}

static void put(void *arg, size_t number, struct buffer *out) {
    struct dlrm_ranks_work *work = arg;
    struct dlrm_analyzed *analyzed = analyzed_of(work->ranks, number);
    put_options(&work->of_each, out);
    spool_put(out, analyzed->report);
    spool_put(out, analyzed->rank.overhead_us);
    dlrm_raw_put(&analyzed->raw, out);
    dlrm_raw_free(&analyzed->raw);
    analyzed->raw = (struct dlrm_raw){.n = 0};
}

/* Whether what is to be a bool is one. */
static bool report_is_sound(const struct sutra_dlrm_report *report) {
    const bool *const flags[] = {&report->compat, &report->trimmed, &report->tolerant, &report->has_streams};
    bool sound = true;
    for (size_t i = 0; i < sizeof flags / sizeof *flags; i++)
        sound &= *(const unsigned char *)flags[i] <= 1;
    return sound;
}

static enum sutra_status take(void *arg, struct rank_run *run, size_t number, struct sutra_context *context,
                              struct spool_reader *reader, struct sutra_error *error) {
    struct dlrm_ranks_work *work = arg;
    struct dlrm_analyzed *analyzed = analyzed_of(work->ranks, number);
    struct buffer wanted = {0};
    (void)context;
    put_options(&work->of_each, &wanted);
    enum sutra_status status = spool_take_options(reader, &wanted, work->ranks->tasks.list[number].path, error);
    if (status)
        return status;
    spool_take(reader, analyzed->report);
    spool_take(reader, analyzed->rank.overhead_us);
    keep_figures(&analyzed->report);
    reader->failed |= !report_is_sound(&analyzed->report);
    if (!dlrm_raw_restore(&analyzed->raw, reader))
        return error_memory(error);
    if (reader->failed)
        return SUTRA_OK; /* who reads the file says that it is damaged */
    name_rank(work->ranks, number);
    return work->options.visit ? rank_run_visit(run, number, visit, &(struct showing){work, NULL}, error) : SUTRA_OK;
}

static const struct rank_spool spool = {{"dlrm", sizeof(struct sutra_dlrm_report)}, put, take};

/* ---- All of them together ---- */

static enum sutra_status share(struct sutra_dlrm_ranks *ranks, struct sutra_error *error) {
    for (size_t i = 0; i < ranks->tasks.n; i++)
        ranks->n_analyzed += !ranks->tasks.list[i].status;
    ranks->parts = arena_take(&ranks->tasks.arena, ranks->n_analyzed, sizeof *ranks->parts);
    if (!ranks->parts)
        return error_memory(error);
    for (size_t i = 0; i < ranks->n_analyzed; i++) {
        const struct dlrm_analyzed *analyzed = analyzed_at(ranks, i);
        ranks->parts[i] = (struct dlrm_raw_part){.raw = &analyzed->raw, .batch = analyzed->report.batch};
    }
    return dlrm_shared_make(&ranks->shared, ranks->parts, ranks->n_analyzed, error);
}

/* ---- The public functions ---- */

enum sutra_status sutra_dlrm_ranks_run(struct sutra_context *context, const char *const *paths, size_t n_paths,
                                       const struct sutra_dlrm_ranks_options *options, struct sutra_dlrm_ranks **ranks,
                                       struct sutra_error *error) {
    static const struct options_form form = OPTIONS_FORM(sutra_dlrm_ranks_options, arg);
    struct dlrm_ranks_work work;
    enum sutra_status status = options_take(&form, options, &work.options, error);
    if (!status)
        status = dlrm_options_take(work.options.dlrm, &work.of_each, error);
    if (status)
        return status;
    work.ranks = calloc(1, sizeof *work.ranks);
    if (!work.ranks)
        return error_memory(error);
    work.ranks->tasks.spool = &spool;
    status = restriction_take(work.options.restriction, &work.ranks->tasks.restriction, error);
    if (!status)
        status = rank_tasks_run(&work.ranks->tasks, context, paths, n_paths, sizeof(struct dlrm_analyzed), analyze,
                                &work, error);
    if (!status && work.ranks->tasks.is_elsewhere) {
        sutra_dlrm_ranks_free(work.ranks);
        *ranks = NULL;
        return SUTRA_OK;
    }
    for (size_t i = 0; i < work.ranks->tasks.n; i++)
        name_rank(work.ranks, i);
    if (!status)
        status = share(work.ranks, error);
    if (status)
        sutra_dlrm_ranks_free(work.ranks);
    else
        *ranks = work.ranks;
    return status;
}

void sutra_dlrm_ranks_free(struct sutra_dlrm_ranks *ranks) {
    if (!ranks)
        return;
    for (size_t i = 0; i < ranks->tasks.n; i++)
        dlrm_raw_free(&analyzed_of(ranks, i)->raw);
    dlrm_shared_free(&ranks->shared);
    rank_tasks_free(&ranks->tasks);
    free(ranks);
}

const struct sutra_dlrm_rank *sutra_dlrm_ranks_get(const struct sutra_dlrm_ranks *ranks, size_t i) {
    return i < ranks->tasks.n_wanted ? &analyzed_at(ranks, i)->rank : NULL;
}

const struct sutra_dlrm_overhead *sutra_dlrm_ranks_overheads(const struct sutra_dlrm_ranks *ranks, uint64_t *n) {
    *n = ranks->shared.n;
    return ranks->shared.list;
}

const char *sutra_dlrm_ranks_text(const struct sutra_dlrm_ranks *ranks, uint32_t text) {
    return text < ranks->shared.texts.n ? strings_text(&ranks->shared.texts, text) : "";
}

/* ---- Files ---- */

static void fill_table(const struct sutra_dlrm_ranks *ranks, struct sutra_table *table) {
    static const struct column_spec columns[] = {
        {"rank", SUTRA_COLUMN_INTEGER},  {"trace", SUTRA_COLUMN_TEXT},    {"iterations", SUTRA_COLUMN_INTEGER},
        {"qps", SUTRA_COLUMN_REAL},      {"host(us)", SUTRA_COLUMN_REAL}, {"busy(us)", SUTRA_COLUMN_REAL},
        {"idle(us)", SUTRA_COLUMN_REAL}, {"t1(us)", SUTRA_COLUMN_REAL},   {"t2(us)", SUTRA_COLUMN_REAL},
        {"t3(us)", SUTRA_COLUMN_REAL},   {"t4(us)", SUTRA_COLUMN_REAL},   {"t5(us)", SUTRA_COLUMN_REAL},
    };
    table_init(table, "ranks", columns, sizeof columns / sizeof *columns);
    for (size_t i = 0; i < ranks->n_analyzed; i++) {
        const struct sutra_dlrm_rank *rank = sutra_dlrm_ranks_get(ranks, i);
        table_integer(table, rank->rank);
        table_file_name(table, rank->path);
        table_integer(table, (int64_t)rank->report->iters);
        table_real(table, rank->report->qps);
        table_real(table, rank->report->host_us);
        table_real(table, rank->report->has_streams ? rank->report->union_us : NAN);
        table_real(table, rank->report->has_streams ? rank->report->idle_us : NAN);
        for (int kind = 0; kind < SUTRA_N_OVERHEADS; kind++)
            table_real(table, rank->overhead_us[kind]);
    }
}

static enum sutra_status write_table(struct sutra_context *context, const struct sutra_dlrm_ranks *ranks,
                                     const char *folder, uint64_t *n_bytes, struct sutra_error *error) {
    struct sutra_table table;
    fill_table(ranks, &table);
    enum sutra_status status =
        table.failed ? error_memory(error)
                     : text_file_write_in(context, folder, "ranks.csv", table_write_csv, &table, n_bytes, error);
    table_free(&table);
    return status;
}

static enum sutra_status write_raw(struct sutra_context *context, const struct sutra_dlrm_ranks *ranks,
                                   const char *folder, const char *model, uint64_t *n_bytes,
                                   struct sutra_error *error) {
    struct arena arena = {0};
    struct dlrm_raw_part *parts = arena_take(&arena, ranks->n_analyzed, sizeof *parts);
    if (!parts)
        return error_memory(error);
    for (size_t i = 0; i < ranks->n_analyzed; i++) {
        parts[i] = ranks->parts[i];
        parts[i].model = model;
        parts[i].model_length = model ? strlen(model) : 0;
        if (parts[i].model_length == 0)
            parts[i].model = dlrm_model_of(sutra_dlrm_ranks_get(ranks, i)->path, &parts[i].model_length);
    }
    enum sutra_status status = text_file_write_in(context, folder, "overheads_merged_raw.csv", dlrm_raw_write,
                                                  &(struct dlrm_raw_table){parts, ranks->n_analyzed}, n_bytes, error);
    arena_free(&arena);
    return status;
}

enum sutra_status sutra_dlrm_ranks_write(struct sutra_context *context, const struct sutra_dlrm_ranks *ranks,
                                         const char *folder, const char *model, uint64_t *n_bytes,
                                         struct sutra_error *error) {
    uint64_t n_written = 0;
    stage_begin(context, "write", 0);
    enum sutra_status status = text_file_write_in(context, folder, "overheads_merged.json", dlrm_shared_write,
                                                  &ranks->shared, &n_written, error);
    if (!status)
        status = write_raw(context, ranks, folder, model, &n_written, error);
    if (!status)
        status = write_table(context, ranks, folder, &n_written, error);
    stage_end(context);
    if (!status && n_bytes)
        *n_bytes = n_written;
    return status;
}
