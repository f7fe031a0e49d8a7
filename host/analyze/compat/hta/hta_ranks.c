/*
 * hta_ranks.c - the HTA tables of many ranks, and of all ranks together.
 *
 * A rank keeps all tables except the tables of single launches, which only the visitor gets. With --compat, the tables
 * of several ranks wait for the first time of all ranks.
 */
#include <math.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>

#include "analyze/compat/hta/hta.h"
#include "analyze/compat/hta/hta_ranks.h"
#include "analyze/ranks.h"
#include "base/error.h"
#include "base/options.h"
#include "base/shared.h"
#include "facts/times.h"

/* ---- Partial results ---- */

static void encode_rules(const void *of, struct buffer *out) {
    const struct sutra_hta_options *options = of;
    encode_value(out, options->n_kernels);
    encode_value(out, options->kernel_delay_us);
    encode_value(out, options->last_step);
    encode_value(out, options->all_launches);
    encode_value(out, options->nanoseconds);
    encode_value(out, options->compat);
    encode_value(out, options->hta_version);
    encode_value(out, options->full_queue);
    encode_value(out, options->sequence_kernels);
    encode_text(out, options->sequences_of);
    encode_value(out, options->no_memory_launches);
    encode_value(out, options->kept_ratio);
    encode_value(out, options->n_annotations);
    encode_value(out, options->n_kept_annotations);
    for (size_t i = 0; i < options->n_kept_annotations; i++)
        encode_text(out, options->kept_annotations[i]);
}

/* Whether times are in the range of traces (facts/times.h), or `none`: differences of two fit 64 bits. */
static bool times_are_sound(const struct sutra_table *table, uint32_t column, int64_t none) {
    for (uint64_t row = 0; row < table->n_rows; row++) {
        int64_t ns = table_get_integer(table, column, row);
        if (!us_are_sound(us_of(ns)) && ns != none)
            return false;
    }
    return true;
}

/* The partial result of a rank, made with these complete options; a decoded one is the caller's to free, or NULL after
 * a failure. */
static void hta_codec(struct codec *codec, const struct sutra_hta_options *options, struct sutra_hta **tables) {
    const bool decodes = codec_decodes(codec);
    if (decodes && (!(*tables = calloc(1, sizeof **tables)) || !hta_result_init(&(*tables)->result))) {
        sutra_hta_free(*tables);
        *tables = NULL;
        codec_fail(codec, CODEC_NO_MEMORY);
        return;
    }
    struct sutra_hta *hta = *tables;
    if (decodes)
        hta->options = *options;
    codec_options(codec, encode_rules, &hta->options);
    codec_bool(codec, &hta->starts_real);
    codec_bool(codec, &hta->durs_real);
    hta->result.real_kinds = hta_real_kinds(&hta->options, hta->starts_real, hta->durs_real);
    for (size_t i = 0; i < sizeof hta->types / sizeof *hta->types; i++)
        for (int state = 0; state < N_STATES; state++) {
            codec_value(codec, &hta->types[i].length[state]);
            codec_value(codec, &hta->types[i].exact[state]);
            codec_bool(codec, &hta->types[i].seen[state]);
        }
    codec_value(codec, &hta->summary);
    codec_value(codec, &hta->base);
    codec_result(codec, &hta->result);
    if (decodes)
        hta_collectives_init(hta);
    codec_table(codec, &hta->collectives);
    codec_table(codec, &hta->spans);
    if (decodes && !codec->failure)
        codec_check(codec, us_are_sound(us_of(hta->base)) && times_are_sound(&hta->collectives, COLLECTIVE_START, 0) &&
                               times_are_sound(&hta->collectives, COLLECTIVE_DUR, 0) &&
                               times_are_sound(&hta->spans, SPAN_FIRST, INT64_MAX) &&
                               times_are_sound(&hta->spans, SPAN_LAST, INT64_MIN));
    queue_list_codec(codec, &hta->queues);
    if (codec->failure) {
        sutra_hta_free(hta);
        *tables = NULL;
    }
}

/* ---- One rank ---- */

struct hta_rank {
    struct sutra_hta_rank rank;
    struct sutra_hta_summary summary;
    struct sutra_hta *hta;                  /* without the tables of single launches */
    const struct sutra_device_trace *trace; /* during a visit */
};

struct sutra_hta_ranks {
    struct sutra_result result;
    struct rank_tasks tasks; /* whose results are struct hta_rank */
    struct sutra_hta_ranks_options options;
    struct sutra_hta_options rules; /* the complete options of each rank */
    struct arena arena;             /* of all members */
    struct sutra_hta_summary all;   /* of all ranks together */
    struct sutra_hta_sums sums;
    struct hta_stragglers stragglers;
    struct queue_list queues;
};

static struct sutra_hta *hta_at(const struct sutra_hta_ranks *ranks, size_t i) {
    const struct hta_rank *rank = task_result_of_rank(&ranks->tasks, i);
    return rank->hta;
}

/* Whether tables of one rank wait for all ranks: their times count from the first row of all ranks. */
static bool series_wait(const struct sutra_hta_ranks *ranks) {
    return ranks->rules.compat && ranks->tasks.n > 1;
}

/* Frees the tables that have a row for each launch, kernel or change. */
static void free_series(struct sutra_hta *hta) {
    for (int id = 0; id < SUTRA_HTA_N_TABLES; id++)
        if (hta->result.specs[id].scope == SERIES_OF_RANK)
            table_free(&hta->result.tables[id]);
}

static enum sutra_status visit_trace(void *arg, size_t number, struct sutra_context *context,
                                     struct sutra_error *error) {
    const struct sutra_hta_ranks *ranks = arg;
    const struct hta_rank *rank = task_result(&ranks->tasks, number);
    return ranks->options.visit_trace(ranks->options.arg, context, rank->trace, rank->hta, error);
}

static enum sutra_status analyze(void *arg, struct rank_run *run, size_t number, struct sutra_context *context,
                                 struct sutra_device_trace *trace, struct sutra_error *error) {
    const struct sutra_hta_ranks *ranks = arg;
    struct hta_rank *rank = task_result(&ranks->tasks, number);
    struct sutra_hta_options options = ranks->rules;
    options.rank = ranks->tasks.list[number].rank;
    enum sutra_status status = sutra_hta_run(context, trace, &options, &rank->hta, error);
    rank->trace = trace;
    if (!status && ranks->options.visit_trace)
        status = rank_run_visit(run, number, visit_trace, arg, error);
    rank->trace = NULL;
    sutra_device_trace_free(trace);
    return status;
}

static enum sutra_status visit(void *arg, size_t number, struct sutra_context *context, struct sutra_error *error) {
    const struct sutra_hta_ranks *ranks = arg;
    const struct hta_rank *rank = task_result(&ranks->tasks, number);
    if (series_wait(ranks))
        return SUTRA_OK;
    enum sutra_status status =
        ranks->options.visit ? ranks->options.visit(ranks->options.arg, context, rank->hta, error) : SUTRA_OK;
    free_series(rank->hta);
    return status;
}

static void rank_codec(void *arg, size_t number, struct codec *codec) {
    const struct sutra_hta_ranks *ranks = arg;
    struct hta_rank *rank = task_result(&ranks->tasks, number);
    struct sutra_hta_options options = ranks->rules;
    options.rank = ranks->tasks.list[number].rank;
    hta_codec(codec, &options, &rank->hta);
}

static void rank_free(void *result) {
    struct hta_rank *rank = result;
    sutra_hta_free(rank->hta);
}

/* ---- All ranks ---- */

static void add_sums(struct sutra_hta_summary *all, const struct sutra_hta_summary *one) {
    all->n_events += one->n_events;
    all->n_rows += one->n_rows;
    all->n_kernels += one->n_kernels;
    all->n_no_work += one->n_no_work;
    all->n_streams += one->n_streams;
    all->n_bad_times += one->n_bad_times;
    all->n_negative += one->n_negative;
    all->n_launches += one->n_launches;
    all->n_short += one->n_short;
    all->n_unlisted += one->n_unlisted;
    all->span_us += one->span_us;
    all->busy_us += one->busy_us;
    all->idle_us += one->idle_us;
    all->compute_us += one->compute_us;
    all->communication_us += one->communication_us;
    all->overlap_us += one->overlap_us;
    all->exposed_us += one->exposed_us;
    all->memory_us += one->memory_us;
    all->host_wait_us += one->host_wait_us;
    all->kernel_wait_us += one->kernel_wait_us;
    all->other_wait_us += one->other_wait_us;
    all->launch_us += one->launch_us;
    all->delay_median_us += one->n_launches ? one->delay_median_us * (double)one->n_launches : 0;
    all->n_steps = MAX(one->n_steps, all->n_steps);
}

/* Sums the summaries of all ranks. */
static void sum_ranks(struct sutra_hta_ranks *ranks) {
    struct sutra_hta_sums *sums = &ranks->sums;
    struct sutra_hta_summary *all = &ranks->all;
    const struct sutra_hta_rank *rank;
    *sums = (struct sutra_hta_sums){.size = sizeof *sums, .all = all};
    *all = (struct sutra_hta_summary){.size = sizeof *all};
    for (size_t i = 0; (rank = sutra_hta_ranks_get(ranks, i)); i++) {
        if (rank->reason) {
            sums->n_skipped++;
            continue;
        }
        add_sums(all, rank->summary);
        if (sums->n_ranks++ > 0 && rank->summary->queue_most <= all->queue_most)
            continue;
        sums->queue_rank = rank->rank;
        all->queue_most = rank->summary->queue_most;
        all->queue_mean = rank->summary->queue_mean;
        all->queue_stream = rank->summary->queue_stream;
    }
    if (all->n_launches > 0)
        all->delay_median_us /= (double)all->n_launches;
}

static void add_summary(struct sutra_table *table, const struct sutra_hta_rank *rank) {
    const struct sutra_hta_summary *summary = rank->summary;
    table_integer(table, rank->rank);
    table_file_name(table, rank->path);
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

bool hta_ranks_find_stragglers(const struct sutra_hta_ranks *ranks, const int64_t *only, size_t n_only,
                               struct hta_stragglers *stragglers, struct arena *arena) {
    const size_t n = ranks->tasks.n_analyzed;
    const struct sutra_hta **list = arena_alloc(arena, n, sizeof(void *));
    for (size_t i = 0; i < n && list; i++)
        list[i] = hta_at(ranks, i);
    return list && stragglers_collect(stragglers, list, n, only, n_only, arena) &&
           stragglers_choose_metric(stragglers, arena);
}

/* Both tables compare ranks; HTA has no table of lateness. */
static enum sutra_status join_stragglers(struct sutra_hta_ranks *ranks, int id, struct sutra_error *error) {
    bool metric = id == SUTRA_HTA_STRAGGLER_METRIC;
    ranks->result.reasons[id] =
        metric ? "no long collective is recorded on several ranks in the same step"
               : "no collective is recorded on several ranks: pass the traces of several ranks with communication "
                 "kernels";
    if (metric ? ranks->stragglers.n_metric == 0 : ranks->rules.compat)
        return SUTRA_OK;
    struct sutra_table *table = result_table_begin(&ranks->result, (uint32_t)id);
    bool ok = true;
    if (metric)
        stragglers_add_metric(&ranks->stragglers, table);
    else
        ok = lateness_add(&ranks->stragglers, table, &ranks->arena);
    ranks->result.made[id] = metric || table->n_rows > 0;
    return ok && !table->failed ? SUTRA_OK : error_memory(error);
}

static enum sutra_status join_table(struct sutra_hta_ranks *ranks, int id, struct sutra_error *error) {
    const size_t n = ranks->tasks.n_analyzed;
    if (id == SUTRA_HTA_STRAGGLERS || id == SUTRA_HTA_STRAGGLER_METRIC)
        return join_stragglers(ranks, id, error);
    bool any = id == SUTRA_HTA_RANKS;
    for (size_t i = 0; i < n && !any; i++)
        any = hta_at(ranks, i)->result.made[id];
    ranks->result.reasons[id] = n > 0 ? hta_at(ranks, 0)->result.reasons[id] : NULL;
    if (ranks->result.specs[id].scope != OF_JOB || !any)
        return SUTRA_OK;
    struct sutra_table *table = result_table_begin(&ranks->result, (uint32_t)id);
    table->verbatim = id != SUTRA_HTA_RANKS;
    if (id == SUTRA_HTA_TYPES || id == SUTRA_HTA_TYPES_MEMORY) { /* the times of each state on all ranks */
        struct interval_states all = {0};
        for (size_t i = 0; i < n; i++)
            for (int state = 0; state < N_STATES; state++) {
                const struct interval_states *types = &hta_at(ranks, i)->types[id == SUTRA_HTA_TYPES_MEMORY];
                all.length[state] += types->length[state];
                all.seen[state] |= types->seen[state];
            }
        hta_types_fill(table, &all);
    } else
        for (size_t i = 0; i < n; i++) {
            const struct hta_rank *rank = task_result_of_rank(&ranks->tasks, i);
            if (id == SUTRA_HTA_RANKS)
                add_summary(table, &rank->rank);
            else
                table_append(table, &rank->hta->result.tables[id]);
        }
    if (table->failed)
        return error_memory(error);
    bool of_names = id == SUTRA_HTA_KERNELS || id == SUTRA_HTA_KERNELS_MEMORY;
    return of_names ? hta_names_sort(table, &ranks->arena, error) : SUTRA_OK;
}

static void shift_column(struct sutra_table *table, uint32_t column, double us) {
    for (uint64_t row = 0; row < table->n_rows; row++) {
        char *at = table->columns[column].values.bytes + row * sizeof(double);
        if (table->columns[column].spec.kind == SUTRA_COLUMN_INTEGER)
            *(uint64_t *)(void *)at += (uint64_t)(int64_t)us; /* wraps around on invalid times */
        else
            *(double *)(void *)at += us;
    }
}

/* Visits the tables that have waited, with times since the first row of all ranks. */
static enum sutra_status visit_waiting(struct sutra_hta_ranks *ranks, struct sutra_context *context,
                                       struct sutra_error *error) {
    static const struct {
        enum sutra_hta_table table;
        uint32_t column;
    } times[] = {
        {SUTRA_HTA_QUEUE, 1}, {SUTRA_HTA_ANNOTATED, 1}, {SUTRA_HTA_ANNOTATED, 3}, {SUTRA_HTA_BANDWIDTH_SERIES, 0}};
    enum sutra_status status = SUTRA_OK;
    for (size_t i = 0; i < ranks->tasks.n_analyzed && !status; i++) {
        struct sutra_hta *hta = hta_at(ranks, i);
        for (size_t k = 0; k < sizeof times / sizeof *times; k++)
            shift_column(&hta->result.tables[times[k].table], times[k].column,
                         us_of(hta->base - ranks->stragglers.base_ns));
        if (ranks->options.visit)
            status = ranks->options.visit(ranks->options.arg, context, hta, error);
        free_series(hta);
    }
    return status;
}

static enum sutra_status merge(void *arg, struct sutra_context *context, struct sutra_error *error) {
    struct sutra_hta_ranks *ranks = arg;
    TRY_ALLOC(hta_result_init(&ranks->result), error);
    ranks->result.of_job = true;
    ranks->result.defects = ranks->tasks.defects;
    ranks->result.n_defects = ranks->tasks.n_defects;
    ranks->result.real_kinds = hta_real_kinds(&ranks->rules, false, false);
    for (size_t i = 0; i < ranks->tasks.n; i++) {
        const struct rank_task *task = &ranks->tasks.list[i];
        struct hta_rank *rank = task_result(&ranks->tasks, i);
        if (rank->hta)
            rank->summary = rank->hta->summary;
        rank->rank = (struct sutra_hta_rank){.path = task->path,
                                             .rank = task->rank,
                                             .source = task->source,
                                             .summary = &rank->summary,
                                             .reason = task->status ? task->error.message : NULL};
    }
    TRY_ALLOC(hta_ranks_find_stragglers(ranks, NULL, 0, &ranks->stragglers, &ranks->arena), error);
    /* The longest queues, in the time of the joined tables. */
    for (size_t i = 0; i < ranks->tasks.n_analyzed; i++) {
        const struct sutra_hta *hta = hta_at(ranks, i);
        int64_t later = series_wait(ranks) ? hta->base - ranks->stragglers.base_ns : 0;
        TRY_ALLOC(queue_list_join(&ranks->queues, &hta->queues, us_of(later)), error);
    }
    enum sutra_status status = SUTRA_OK;
    for (int id = 0; id < SUTRA_HTA_N_TABLES && !status; id++)
        status = join_table(ranks, id, error);
    sum_ranks(ranks);
    return !status && series_wait(ranks) ? visit_waiting(ranks, context, error) : status;
}

static const struct rank_analysis analysis = {
    .kind = {"hta", sizeof(struct sutra_hta_summary) << 32 | sizeof(struct queue_series) << 8 | SUTRA_HTA_N_TABLES},
    .result_size = sizeof(struct hta_rank),
    .analyze = analyze,
    .visit = visit,
    .visit_decoded = visit,
    .codec = rank_codec,
    .free = rank_free,
    .merge = merge};

/* ---- As the companion of another analysis ---- */

/* Default options; a selected step may be the last one. */
static struct sutra_hta_options companion_options(const struct rank_tasks *tasks, size_t number) {
    return (struct sutra_hta_options){.size = sizeof(struct sutra_hta_options),
                                      .rank = tasks->list[number].rank,
                                      .last_step = tasks->restriction.step != NULL,
                                      .only_joined = true};
}

static enum sutra_status companion_begin(const struct rank_tasks *tasks, size_t number, struct sutra_context *context,
                                         const struct sutra_device_trace *trace, bool in_background, void **of,
                                         struct sutra_error *error) {
    const struct sutra_hta_options options = companion_options(tasks, number);
    struct hta_making *making;
    TRY(hta_making_begin(context, trace, &options, in_background, &making, error));
    making->input.alone = tasks->n == 1;
    *of = making;
    return SUTRA_OK;
}

static void companion_codec(const struct rank_tasks *tasks, size_t number, struct codec *codec, void **result) {
    const struct sutra_hta_options given = companion_options(tasks, number);
    struct sutra_hta_options options;
    struct sutra_hta *hta = *result;
    codec_check(codec, hta_options_init(&given, &options, NULL) == SUTRA_OK);
    hta_codec(codec, &options, &hta);
    *result = hta;
}

static void companion_free(void *result) {
    sutra_hta_free(result);
}

static enum sutra_status companion_join(const struct rank_tasks *tasks, size_t offset, void **joined,
                                        struct sutra_error *error) {
    struct sutra_hta_ranks *made = calloc(1, sizeof *made);
    TRY_ALLOC(made, error);
    enum sutra_status status = hta_options_init(NULL, &made->rules, error);
    if (!status)
        status = rank_tasks_reuse(&made->tasks, &analysis, offsetof(struct hta_rank, hta), tasks, offset, error);
    if (!status)
        status = merge(made, NULL, error);
    if (status)
        sutra_hta_ranks_free(made);
    else
        *joined = made;
    return status;
}

static void companion_free_joined(void *joined) {
    sutra_hta_ranks_free(joined);
}

const struct sutra_companion *sutra_hta_companion(void) {
    static const struct sutra_companion companion = {.kind = &analysis.kind,
                                                     .begin = companion_begin,
                                                     .run = hta_making_do,
                                                     .end = hta_making_end,
                                                     .codec = companion_codec,
                                                     .free = companion_free,
                                                     .join = companion_join,
                                                     .free_joined = companion_free_joined};
    return &companion;
}

/* ---- Public functions ---- */

enum sutra_status sutra_hta_ranks_run(struct sutra_context *context, const char *const *paths, size_t n_paths,
                                      const struct sutra_hta_ranks_options *options, struct sutra_hta_ranks **ranks,
                                      struct sutra_error *error) {
    static const struct options_form form = OPTIONS_FORM(sutra_hta_ranks_options, arg);
    struct sutra_hta_ranks *made = calloc(1, sizeof *made);
    TRY_ALLOC(made, error);
    enum sutra_status status = options_copy(&form, options, &made->options, error);
    if (!status)
        status = hta_options_init(made->options.hta, &made->rules, error);
    if (!status)
        status = restriction_copy(made->options.restriction, &made->tasks.restriction, error);
    made->tasks.keeps_truncated = true;
    made->rules.last_step |= made->tasks.restriction.step != NULL;
    made->rules.only_joined |= !made->options.visit && !made->options.visit_trace && !context->plan;
    if (!status && context->plan && made->options.visit_trace) /* processes do not exchange traces */
        status = error_set(error, SUTRA_USAGE, "this analysis cannot run on several processes");
    if (!status)
        status = rank_tasks_run(&made->tasks, &analysis, context, paths, n_paths, made, error);
    if (status || made->tasks.is_combined_by_other_process) {
        sutra_hta_ranks_free(made);
        made = NULL;
    }
    if (!status)
        *ranks = made;
    return status;
}

void sutra_hta_ranks_free(struct sutra_hta_ranks *ranks) {
    if (!ranks)
        return;
    result_free(&ranks->result);
    strings_free(&ranks->stragglers.strings);
    queue_list_free(&ranks->queues);
    rank_tasks_free(&ranks->tasks);
    arena_free(&ranks->arena);
    free(ranks);
}

const struct sutra_hta_rank *sutra_hta_ranks_get(const struct sutra_hta_ranks *ranks, size_t i) {
    if (i >= ranks->tasks.n_selected)
        return NULL;
    const struct hta_rank *rank = task_result_of_rank(&ranks->tasks, i);
    return &rank->rank;
}

void sutra_hta_ranks_sum(const struct sutra_hta_ranks *ranks, struct sutra_hta_sums *sums) {
    report_give(sums, &ranks->sums, sizeof ranks->sums);
}

const struct sutra_hta *hta_ranks_of(const struct sutra_hta_ranks *ranks, size_t i) {
    return i < ranks->tasks.n ? hta_at(ranks, i) : NULL;
}

const struct hta_stragglers *hta_ranks_stragglers(const struct sutra_hta_ranks *ranks) {
    return &ranks->stragglers;
}

const struct queue_list *hta_ranks_queues(const struct sutra_hta_ranks *ranks) {
    return &ranks->queues;
}

const struct sutra_hta_options *sutra_hta_ranks_rules(const struct sutra_hta_ranks *ranks) {
    return &ranks->rules;
}
