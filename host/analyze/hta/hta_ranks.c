/*
 * hta_ranks.c - the tables of many ranks together.
 *
 * Each trace is a task: analyze, show to the visitor. What stays of a rank is small: all tables but those of single
 * launches.
 */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "analyze/hta/hta.h"
#include "analyze/rank_tasks.h"
#include "base/error.h"
#include "base/options.h"

/* One trace of the list. */
struct hta_analyzed {
    struct sutra_hta_rank rank;
    struct sutra_hta_summary summary;
    struct sutra_hta *hta; /* without the tables of single launches; NULL: left out */
};

struct sutra_hta_ranks {
    struct rank_tasks tasks; /* whose results are struct hta_analyzed */
    struct sutra_table tables[SUTRA_HTA_N_TABLES];
    bool made[SUTRA_HTA_N_TABLES];
    struct sutra_hta_summary all; /* of all ranks together */
    struct sutra_hta_sums sums;
};

/* What became of a trace by its number in the list, and by that in the order. */
static struct hta_analyzed *analyzed_of(const struct sutra_hta_ranks *ranks, size_t number) {
    return (struct hta_analyzed *)ranks->tasks.results + number;
}

static struct hta_analyzed *analyzed_at(const struct sutra_hta_ranks *ranks, size_t i) {
    return analyzed_of(ranks, ranks->tasks.order[i]);
}

/* What the tasks share. */
struct hta_work {
    struct sutra_hta_ranks_options options;
    struct sutra_hta_options of_each;
    struct sutra_hta_ranks *ranks;
};

/* ---- A task ---- */

static enum sutra_status visit(void *arg, size_t number, struct sutra_context *context, struct sutra_error *error) {
    struct hta_work *work = arg;
    return work->options.visit(work->options.arg, context, analyzed_of(work->ranks, number)->hta, error);
}

/* Frees the trace as soon as it is no longer needed. */
static enum sutra_status analyze(void *arg, struct rank_run *run, size_t number, struct sutra_context *context,
                                 struct sutra_device_trace *trace, struct sutra_error *error) {
    struct hta_work *work = arg;
    struct hta_analyzed *analyzed = analyzed_of(work->ranks, number);
    struct sutra_hta_options options = work->of_each;
    options.rank = work->ranks->tasks.list[number].rank;
    enum sutra_status status = sutra_hta_make(context, trace, &options, &analyzed->hta, error);
    sutra_device_trace_free(trace);
    if (status)
        return status;
    analyzed->summary = analyzed->hta->summary;
    if (work->options.visit)
        status = rank_run_visit(run, number, visit, work, error);
    table_free(&analyzed->hta->tables[SUTRA_HTA_LAUNCHES]);
    table_free(&analyzed->hta->tables[SUTRA_HTA_QUEUE]);
    return status;
}

/* ---- All of them together ---- */

static void add_summary(struct sutra_table *table, const struct sutra_hta_rank *rank) {
    const struct sutra_hta_summary *summary = rank->summary;
    table_integer(table, rank->rank);
    table_text(table, rank->path, strlen(rank->path));
    table_integer(table, (int64_t)summary->n_events);
    table_integer(table, (int64_t)summary->n_kernels);
    table_real(table, summary->first_us);
    table_real(table, summary->span_us);
    table_real(table, summary->idle_us);
    table_real(table, summary->compute_us);
    table_real(table, summary->communication_us);
    table_real(table, summary->exposed_us);
    table_real(table, summary->memory_us);
    table_integer(table, (int64_t)summary->n_launches);
}

/* The times of each state of all ranks together. */
static void add_types(struct sutra_hta_ranks *ranks, struct sutra_table *table, int which) {
    struct interval_states all = {0};
    for (size_t i = 0; i < ranks->tasks.n && analyzed_at(ranks, i)->hta; i++)
        for (int state = 0; state < N_STATES; state++) {
            all.length[state] += analyzed_at(ranks, i)->hta->types[which].length[state];
            all.seen[state] |= analyzed_at(ranks, i)->hta->types[which].seen[state];
        }
    hta_types_fill(table, &all);
}

/* The rows of all ranks, in the order of the ranks. */
static void add_rows(struct sutra_hta_ranks *ranks, struct sutra_table *table, int id) {
    for (size_t i = 0; i < ranks->tasks.n && analyzed_at(ranks, i)->hta; i++)
        table_append(table, &analyzed_at(ranks, i)->hta->tables[id]);
}

static bool any_made(const struct sutra_hta_ranks *ranks, int id) {
    for (size_t i = 0; i < ranks->tasks.n && analyzed_at(ranks, i)->hta; i++)
        if (analyzed_at(ranks, i)->hta->made[id])
            return true;
    return false;
}

static enum sutra_status join_table(struct sutra_hta_ranks *ranks, int id, const struct sutra_hta_options *options,
                                    struct arena *arena, struct sutra_error *error) {
    struct sutra_table *table = &ranks->tables[id];
    if (id == SUTRA_HTA_LAUNCHES || id == SUTRA_HTA_QUEUE || (id != SUTRA_HTA_RANKS && !any_made(ranks, id)))
        return SUTRA_OK;
    ranks->made[id] = true;
    hta_table_init(table, (enum sutra_hta_table)id, options, false, false);
    if (id == SUTRA_HTA_TYPES || id == SUTRA_HTA_TYPES_MEMORY)
        add_types(ranks, table, id == SUTRA_HTA_TYPES_MEMORY);
    else if (id != SUTRA_HTA_RANKS)
        add_rows(ranks, table, id);
    for (size_t i = 0; id == SUTRA_HTA_RANKS && i < ranks->tasks.n && analyzed_at(ranks, i)->hta; i++)
        add_summary(table, &analyzed_at(ranks, i)->rank);
    if (table->failed)
        return error_memory(error);
    return id == SUTRA_HTA_KERNELS || id == SUTRA_HTA_KERNELS_MEMORY ? hta_names_sort(table, arena, error) : SUTRA_OK;
}

/* What the tasks know of their traces, for those who ask for the ranks. */
static void name_ranks(struct sutra_hta_ranks *ranks) {
    for (size_t i = 0; i < ranks->tasks.n; i++) {
        const struct rank_task *task = &ranks->tasks.list[i];
        struct hta_analyzed *analyzed = analyzed_of(ranks, i);
        analyzed->rank = (struct sutra_hta_rank){.path = task->path,
                                                 .rank = task->rank,
                                                 .source = task->source,
                                                 .summary = &analyzed->summary,
                                                 .reason = task->status ? task->error.message : NULL};
    }
}

static enum sutra_status join_tables(struct sutra_hta_ranks *ranks, const struct sutra_hta_options *options,
                                     struct sutra_error *error) {
    enum sutra_status status = SUTRA_OK;
    for (int id = 0; id < SUTRA_HTA_N_TABLES && !status; id++)
        status = join_table(ranks, id, options, &ranks->tasks.arena, error);
    hta_ranks_add_up(ranks, &ranks->sums, &ranks->all);
    return status;
}

/* ---- The public functions ---- */

enum sutra_status sutra_hta_ranks_make(struct sutra_context *context, const char *const *paths, size_t n_paths,
                                       const struct sutra_hta_ranks_options *options, struct sutra_hta_ranks **ranks,
                                       struct sutra_error *error) {
    static const struct options_form form = OPTIONS_FORM(sutra_hta_ranks_options, arg);
    struct hta_work work;
    enum sutra_status status = options_take(&form, options, &work.options, error);
    if (!status)
        status = hta_options_take(work.options.hta, &work.of_each, error);
    if (status)
        return status;
    work.ranks = calloc(1, sizeof *work.ranks);
    if (!work.ranks)
        return error_memory(error);
    status =
        rank_tasks_run(&work.ranks->tasks, context, paths, n_paths, sizeof(struct hta_analyzed), analyze, &work, error);
    name_ranks(work.ranks);
    if (!status)
        status = join_tables(work.ranks, &work.of_each, error);
    if (status)
        sutra_hta_ranks_free(work.ranks);
    else
        *ranks = work.ranks;
    return status;
}

void sutra_hta_ranks_free(struct sutra_hta_ranks *ranks) {
    if (!ranks)
        return;
    for (size_t i = 0; i < ranks->tasks.n; i++)
        sutra_hta_free(analyzed_of(ranks, i)->hta);
    for (int id = 0; id < SUTRA_HTA_N_TABLES; id++)
        table_free(&ranks->tables[id]);
    rank_tasks_free(&ranks->tasks);
    free(ranks);
}

const struct sutra_hta_rank *sutra_hta_ranks_at(const struct sutra_hta_ranks *ranks, size_t i) {
    return i < ranks->tasks.n ? &analyzed_at(ranks, i)->rank : NULL;
}

const struct sutra_table *sutra_hta_ranks_table(const struct sutra_hta_ranks *ranks, enum sutra_hta_table id,
                                                const char **reason) {
    const char *first = analyzed_at(ranks, 0)->hta->reasons[id];
    if (reason)
        *reason = ranks->made[id] ? NULL : first ? first : "a table of one rank";
    return ranks->made[id] ? &ranks->tables[id] : NULL;
}

void sutra_hta_ranks_sum(const struct sutra_hta_ranks *ranks, struct sutra_hta_sums *sums) {
    report_give(sums, &ranks->sums, sizeof ranks->sums);
}
