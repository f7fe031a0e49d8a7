/*
 * ranks.c - the tables of many ranks together.
 *
 * Each trace is a task: analyze, show to the visitor. What stays of a rank is small: all tables but those of single
 * launches.
 */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "analyze/hta/hta.h"
#include "analyze/hta/ranks.h"
#include "analyze/hta/stragglers.h"
#include "analyze/ranks.h"
#include "base/error.h"
#include "base/options.h"
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

/* Copies the decoded reasons, which are in the bytes of the file, into one block of the result. */
static void keep_reasons(struct codec *codec, struct sutra_hta *hta) {
    size_t length = 0, at = 0;
    for (int id = 0; id < SUTRA_HTA_N_TABLES; id++)
        length += hta->reasons[id] ? strlen(hta->reasons[id]) + 1 : 0;
    hta->taken = malloc(length + 1);
    if (!hta->taken)
        codec_fail(codec, CODEC_NO_MEMORY);
    for (int id = 0; id < SUTRA_HTA_N_TABLES && hta->taken; id++) {
        size_t n = hta->reasons[id] ? strlen(hta->reasons[id]) + 1 : 0;
        if (n)
            hta->reasons[id] = memcpy(hta->taken + at, hta->reasons[id], n);
        at += n;
    }
}

static void fields_codec(struct codec *codec, struct sutra_hta *hta) {
    bool decodes = codec_decodes(codec);
    codec_options(codec, encode_rules, &hta->options);
    codec_bool(codec, &hta->starts_real);
    codec_bool(codec, &hta->durs_real);
    for (size_t i = 0; i < sizeof hta->types / sizeof *hta->types; i++)
        for (int state = 0; state < N_STATES; state++) {
            codec_value(codec, &hta->types[i].length[state]);
            codec_value(codec, &hta->types[i].exact[state]);
            codec_bool(codec, &hta->types[i].seen[state]);
        }
    codec_value(codec, &hta->summary);
    codec_value(codec, &hta->base);
    bool made[SUTRA_HTA_N_TABLES];
    for (int id = 0; id < SUTRA_HTA_N_TABLES; id++) {
        made[id] = hta->made[id];
        codec_bool(codec, &made[id]);
    }
    for (int id = 0; id < SUTRA_HTA_N_TABLES; id++) {
        codec_text(codec, &hta->reasons[id]);
        if (made[id] && decodes)
            hta_table_begin(hta, (enum sutra_hta_table)id);
        if (made[id])
            codec_table(codec, &hta->tables[id]);
    }
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
    if (decodes)
        keep_reasons(codec, hta);
}

void hta_codec(struct codec *codec, const struct sutra_hta_options *options, struct sutra_hta **hta) {
    if (codec_decodes(codec)) {
        *hta = calloc(1, sizeof **hta);
        if (!*hta) {
            codec_fail(codec, CODEC_NO_MEMORY);
            return;
        }
        (*hta)->options = *options;
    }
    fields_codec(codec, *hta);
    if (codec->failure) {
        sutra_hta_free(*hta);
        *hta = NULL;
    }
}

/*
 * The figures of all ranks together.
 */

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
    all->n_steps = one->n_steps > all->n_steps ? one->n_steps : all->n_steps;
}

static void add_rank(struct sutra_hta_sums *sums, struct sutra_hta_summary *all, const struct sutra_hta_rank *rank) {
    const struct sutra_hta_summary *one = rank->summary;
    add_sums(all, one);
    if (sums->n_ranks++ > 0 && one->queue_most <= all->queue_most)
        return;
    sums->queue_rank = rank->rank;
    all->queue_most = one->queue_most;
    all->queue_mean = one->queue_mean;
    all->queue_stream = one->queue_stream;
}

/* The figures of all ranks; sums->all becomes `all`. */
static void hta_ranks_add_up(const struct sutra_hta_ranks *ranks, struct sutra_hta_sums *sums,
                             struct sutra_hta_summary *all) {
    const struct sutra_hta_rank *rank;
    *sums = (struct sutra_hta_sums){.size = sizeof *sums, .all = all};
    *all = (struct sutra_hta_summary){.size = sizeof *all};
    for (size_t i = 0; (rank = sutra_hta_ranks_get(ranks, i)); i++)
        if (rank->reason)
            sums->n_skipped++;
        else
            add_rank(sums, all, rank);
    if (all->n_launches > 0)
        all->delay_median_us /= (double)all->n_launches;
}

/* One trace of the list. */
struct hta_analyzed {
    struct sutra_hta_rank rank;
    struct sutra_hta_summary summary;
    struct sutra_hta *hta;                  /* without the tables of single launches; NULL: left out */
    const struct sutra_device_trace *trace; /* while it is visited */
};

struct sutra_hta_ranks {
    struct rank_tasks own;          /* those of sutra_hta_ranks_run(), */
    const struct rank_tasks *tasks; /* or another's, which live longer */
    struct hta_analyzed *analyzed;  /* by number */
    struct arena arena;             /* of what else lives as long */
    struct sutra_table tables[SUTRA_HTA_N_TABLES];
    bool made[SUTRA_HTA_N_TABLES];
    struct sutra_hta_summary all; /* of all ranks together */
    struct sutra_hta_sums sums;
    struct hta_stragglers stragglers;
    struct queue_list queues;
    struct sutra_hta_options rules;
};

/* What became of a trace by its number in the list, and by that in the order. */
static struct hta_analyzed *analyzed_of(const struct sutra_hta_ranks *ranks, size_t number) {
    return ranks->analyzed + number;
}

static struct hta_analyzed *analyzed_at(const struct sutra_hta_ranks *ranks, size_t i) {
    return analyzed_of(ranks, ranks->tasks->order[i]);
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

static enum sutra_status visit_trace(void *arg, size_t number, struct sutra_context *context,
                                     struct sutra_error *error) {
    struct hta_work *work = arg;
    const struct hta_analyzed *analyzed = analyzed_of(work->ranks, number);
    return work->options.visit_trace(work->options.arg, context, analyzed->trace, analyzed->hta, error);
}

/* Whether tables of one rank wait until all ranks are there, whose times then count from the first row of all. */
static bool series_wait(const struct sutra_hta_ranks *ranks) {
    return ranks->rules.compat && ranks->tasks->n > 1;
}

/* Gives back the tables that have a row for each launch, kernel or change. */
static void free_series(struct sutra_hta *hta) {
    for (int id = 0; id < SUTRA_HTA_N_TABLES; id++)
        if (hta_table_is_series(id))
            table_free(&hta->tables[id]);
}

/* What is done about a rank when it is analyzed. */
static enum sutra_status show(struct hta_work *work, struct rank_run *run, size_t number, struct sutra_error *error) {
    struct hta_analyzed *analyzed = analyzed_of(work->ranks, number);
    enum sutra_status status = SUTRA_OK;
    analyzed->summary = analyzed->hta->summary;
    if (work->options.visit && !series_wait(work->ranks))
        status = rank_run_visit(run, number, visit, work, error);
    if (!series_wait(work->ranks))
        free_series(analyzed->hta);
    return status;
}

static void rank_codec(void *arg, size_t number, struct codec *codec) {
    struct hta_work *work = arg;
    struct sutra_hta_options options = work->of_each;
    options.rank = work->ranks->own.list[number].rank;
    hta_codec(codec, &options, &analyzed_of(work->ranks, number)->hta);
}

static void put(void *arg, size_t number, struct codec *codec) {
    struct hta_work *work = arg;
    rank_codec(arg, number, codec);
    sutra_hta_free(analyzed_of(work->ranks, number)->hta);
    analyzed_of(work->ranks, number)->hta = NULL;
}

static enum sutra_status take(void *arg, struct rank_run *run, size_t number, struct codec *codec,
                              struct sutra_error *error) {
    rank_codec(arg, number, codec);
    return codec->failure ? SUTRA_OK : show(arg, run, number, error);
}

static const struct rank_codec partial_result = {
    {"hta", sizeof(struct sutra_hta_summary) << 32 | sizeof(struct queue_series) << 8 | SUTRA_HTA_N_TABLES}, put, take};

/* Frees the trace as soon as it is no longer needed. */
static enum sutra_status analyze(void *arg, struct rank_run *run, size_t number, struct sutra_context *context,
                                 struct sutra_device_trace *trace, struct sutra_error *error) {
    struct hta_work *work = arg;
    struct hta_analyzed *analyzed = analyzed_of(work->ranks, number);
    struct sutra_hta_options options = work->of_each;
    options.rank = work->ranks->tasks->list[number].rank;
    enum sutra_status status = sutra_hta_run(context, trace, &options, &analyzed->hta, error);
    analyzed->trace = trace;
    if (!status && work->options.visit_trace)
        status = rank_run_visit(run, number, visit_trace, work, error);
    analyzed->trace = NULL;
    sutra_device_trace_free(trace);
    return status || rank_run_is_shared(run) ? status : show(work, run, number, error);
}

/* ---- Tables that have waited ---- */

static void shift_column(struct sutra_table *table, uint32_t column, double us) {
    for (uint64_t row = 0; row < table->n_rows; row++) {
        char *at = table->columns[column].values.bytes + row * sizeof(double);
        if (table->columns[column].spec.kind == SUTRA_COLUMN_INTEGER)
            *(uint64_t *)(void *)at += (uint64_t)(int64_t)us; /* wraps around on invalid times */
        else
            *(double *)(void *)at += us;
    }
}

static void shift_times(struct sutra_hta *hta, int64_t ns) {
    static const struct {
        enum sutra_hta_table table;
        uint32_t column;
    } times[] = {
        {SUTRA_HTA_QUEUE, 1}, {SUTRA_HTA_ANNOTATED, 1}, {SUTRA_HTA_ANNOTATED, 3}, {SUTRA_HTA_BANDWIDTH_SERIES, 0}};
    for (size_t i = 0; i < sizeof times / sizeof *times; i++)
        shift_column(&hta->tables[times[i].table], times[i].column, us_of(ns));
}

static enum sutra_status visit_waiting(struct sutra_hta_ranks *ranks, const struct hta_work *work,
                                       struct sutra_context *context, struct sutra_error *error) {
    enum sutra_status status = SUTRA_OK;
    struct sutra_hta *hta;
    for (size_t i = 0; i < ranks->tasks->n && !status && (hta = analyzed_at(ranks, i)->hta); i++) {
        shift_times(hta, hta->base - ranks->stragglers.base_ns);
        if (work->options.visit)
            status = work->options.visit(work->options.arg, context, hta, error);
        free_series(hta);
    }
    return status;
}

/* ---- All of them together ---- */

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

/* The times of each state of all ranks together. */
static void add_types(struct sutra_hta_ranks *ranks, struct sutra_table *table, int which) {
    struct interval_states all = {0};
    for (size_t i = 0; i < ranks->tasks->n && analyzed_at(ranks, i)->hta; i++)
        for (int state = 0; state < N_STATES; state++) {
            all.length[state] += analyzed_at(ranks, i)->hta->types[which].length[state];
            all.seen[state] |= analyzed_at(ranks, i)->hta->types[which].seen[state];
        }
    hta_types_fill(table, &all);
}

/* The rows of all ranks, in the order of the ranks. */
static void add_rows(struct sutra_hta_ranks *ranks, struct sutra_table *table, int id) {
    for (size_t i = 0; i < ranks->tasks->n && analyzed_at(ranks, i)->hta; i++)
        table_append(table, &analyzed_at(ranks, i)->hta->tables[id]);
}

static bool any_made(const struct sutra_hta_ranks *ranks, int id) {
    for (size_t i = 0; i < ranks->tasks->n && analyzed_at(ranks, i)->hta; i++)
        if (analyzed_at(ranks, i)->hta->made[id])
            return true;
    return false;
}

bool hta_ranks_find_stragglers(const struct sutra_hta_ranks *ranks, const int64_t *only, size_t n_only,
                               struct hta_stragglers *stragglers, struct arena *arena) {
    const struct sutra_hta **list = arena_take(arena, ranks->tasks->n, sizeof(void *));
    size_t n = 0;
    for (; n < ranks->tasks->n && list && analyzed_at(ranks, n)->hta; n++)
        list[n] = analyzed_at(ranks, n)->hta;
    return list && stragglers_take(stragglers, list, n, only, n_only, arena) && stragglers_choose(stragglers, arena);
}

static enum sutra_status take_stragglers(struct sutra_hta_ranks *ranks, struct sutra_error *error) {
    bool ok = hta_ranks_find_stragglers(ranks, NULL, 0, &ranks->stragglers, &ranks->arena);
    return ok ? SUTRA_OK : error_memory(error);
}

/* The longest queues, by the clock that the tables of all ranks have. */
static enum sutra_status take_queues(struct sutra_hta_ranks *ranks, struct sutra_error *error) {
    const struct sutra_hta *hta;
    bool ok = true;
    for (size_t i = 0; i < ranks->tasks->n && ok && (hta = analyzed_at(ranks, i)->hta); i++) {
        int64_t later = series_wait(ranks) ? hta->base - ranks->stragglers.base_ns : 0;
        ok = queue_list_join(&ranks->queues, &hta->queues, us_of(later));
    }
    return ok ? SUTRA_OK : error_memory(error);
}

/* Both tables compare ranks; the reference has no table of lateness. */
static enum sutra_status join_stragglers(struct sutra_hta_ranks *ranks, int id, const struct sutra_hta_options *options,
                                         struct sutra_error *error) {
    struct sutra_table *table = &ranks->tables[id];
    bool metric = id == SUTRA_HTA_STRAGGLER_METRIC;
    if (metric ? ranks->stragglers.n_metric == 0 : options->compat)
        return SUTRA_OK;
    hta_table_init(table, (enum sutra_hta_table)id, options, false, false);
    bool ok = true;
    if (metric)
        stragglers_add_metric(&ranks->stragglers, table);
    else
        ok = lateness_add(&ranks->stragglers, table, &ranks->arena);
    ranks->made[id] = metric || table->n_rows > 0;
    return ok && !table->failed ? SUTRA_OK : error_memory(error);
}

static enum sutra_status join_table(struct sutra_hta_ranks *ranks, int id, const struct sutra_hta_options *options,
                                    struct arena *arena, struct sutra_error *error) {
    struct sutra_table *table = &ranks->tables[id];
    if (id == SUTRA_HTA_STRAGGLERS || id == SUTRA_HTA_STRAGGLER_METRIC)
        return join_stragglers(ranks, id, options, error);
    if (hta_table_of_rank(id) || (id != SUTRA_HTA_RANKS && !any_made(ranks, id)))
        return SUTRA_OK;
    ranks->made[id] = true;
    hta_table_init(table, (enum sutra_hta_table)id, options, false, false);
    if (id == SUTRA_HTA_TYPES || id == SUTRA_HTA_TYPES_MEMORY)
        add_types(ranks, table, id == SUTRA_HTA_TYPES_MEMORY);
    else if (id != SUTRA_HTA_RANKS)
        add_rows(ranks, table, id);
    for (size_t i = 0; id == SUTRA_HTA_RANKS && i < ranks->tasks->n && analyzed_at(ranks, i)->hta; i++)
        add_summary(table, &analyzed_at(ranks, i)->rank);
    if (table->failed)
        return error_memory(error);
    bool of_names = id == SUTRA_HTA_KERNELS || id == SUTRA_HTA_KERNELS_MEMORY;
    return of_names ? hta_names_sort(table, arena, error) : SUTRA_OK;
}

/* What the tasks know of their traces, for those who ask for the ranks. */
static void name_ranks(struct sutra_hta_ranks *ranks) {
    for (size_t i = 0; i < ranks->tasks->n; i++) {
        const struct rank_task *task = &ranks->tasks->list[i];
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
    enum sutra_status status = take_stragglers(ranks, error);
    if (!status)
        status = take_queues(ranks, error);
    for (int id = 0; id < SUTRA_HTA_N_TABLES && !status; id++)
        status = join_table(ranks, id, options, &ranks->arena, error);
    hta_ranks_add_up(ranks, &ranks->sums, &ranks->all);
    return status;
}

/* ---- The public functions ---- */

/* Room for the results comes before the tasks begin. */
static enum sutra_status ranks_begin(size_t n, const struct sutra_hta_options *rules, struct sutra_hta_ranks **ranks,
                                     struct sutra_error *error) {
    struct sutra_hta_ranks *made = calloc(1, sizeof *made);
    if (made)
        made->analyzed = calloc(n ? n : 1, sizeof *made->analyzed);
    if (!made || !made->analyzed) {
        free(made);
        return error_memory(error);
    }
    made->tasks = &made->own;
    made->rules = *rules;
    *ranks = made;
    return SUTRA_OK;
}

enum sutra_status sutra_hta_ranks_run(struct sutra_context *context, const char *const *paths, size_t n_paths,
                                      const struct sutra_hta_ranks_options *options, struct sutra_hta_ranks **ranks,
                                      struct sutra_error *error) {
    static const struct options_form form = OPTIONS_FORM(sutra_hta_ranks_options, arg);
    struct hta_work work = {.of_each = {.rank = 0}};
    struct sutra_restriction restriction = {.step = NULL};
    enum sutra_status status = options_take(&form, options, &work.options, error);
    if (!status)
        status = hta_options_take(work.options.hta, &work.of_each, error);
    if (!status)
        status = restriction_take(work.options.restriction, &restriction, error);
    work.of_each.last_step |= restriction.step != NULL;
    work.of_each.only_joined |= !work.options.visit && !work.options.visit_trace && !context->team;
    if (!status)
        status = ranks_begin(n_paths, &work.of_each, &work.ranks, error);
    if (status)
        return status;
    work.ranks->own.restriction = restriction;
    work.ranks->own.codec =
        work.options.visit_trace ? NULL : &partial_result; /* traces do not go from one process to another */
    status = rank_tasks_run(&work.ranks->own, context, paths, n_paths, 0, analyze, &work, error);
    if (!status && work.ranks->own.is_elsewhere) {
        sutra_hta_ranks_free(work.ranks);
        *ranks = NULL;
        return SUTRA_OK;
    }
    name_ranks(work.ranks);
    if (!status)
        status = join_tables(work.ranks, &work.of_each, error);
    if (!status && series_wait(work.ranks))
        status = visit_waiting(work.ranks, &work, context, error);
    if (status)
        sutra_hta_ranks_free(work.ranks);
    else
        *ranks = work.ranks;
    return status;
}

enum sutra_status hta_ranks_join(const struct rank_tasks *tasks, struct sutra_hta **hta, struct sutra_hta_ranks **ranks,
                                 struct sutra_error *error) {
    struct sutra_hta_options rules;
    struct sutra_hta_ranks *made;
    enum sutra_status status = hta_options_take(NULL, &rules, error);
    if (!status)
        status = ranks_begin(tasks->n, &rules, &made, error);
    if (status)
        return status;
    made->tasks = tasks;
    for (size_t i = 0; i < tasks->n; i++) {
        made->analyzed[i].hta = hta[i];
        made->analyzed[i].summary = hta[i] ? hta[i]->summary : (struct sutra_hta_summary){0};
        hta[i] = NULL;
    }
    name_ranks(made);
    status = join_tables(made, &rules, error);
    if (status)
        sutra_hta_ranks_free(made);
    else
        *ranks = made;
    return status;
}

void sutra_hta_ranks_free(struct sutra_hta_ranks *ranks) {
    if (!ranks)
        return;
    for (size_t i = 0; i < ranks->tasks->n; i++)
        sutra_hta_free(analyzed_of(ranks, i)->hta);
    for (int id = 0; id < SUTRA_HTA_N_TABLES; id++)
        table_free(&ranks->tables[id]);
    strings_free(&ranks->stragglers.strings);
    queue_list_free(&ranks->queues);
    rank_tasks_free(&ranks->own);
    arena_free(&ranks->arena);
    free(ranks->analyzed);
    free(ranks);
}

const struct sutra_hta_rank *sutra_hta_ranks_get(const struct sutra_hta_ranks *ranks, size_t i) {
    return i < ranks->tasks->n_wanted ? &analyzed_at(ranks, i)->rank : NULL;
}

const struct sutra_table *sutra_hta_ranks_table(const struct sutra_hta_ranks *ranks, enum sutra_hta_table id,
                                                const char **reason) {
    const char *first = analyzed_at(ranks, 0)->hta->reasons[id];
    if (id == SUTRA_HTA_STRAGGLERS)
        first =
            "no collective is recorded on several ranks: pass the traces of several ranks with communication kernels";
    if (id == SUTRA_HTA_STRAGGLER_METRIC)
        first = "no long collective is recorded on several ranks in the same step";
    if (reason)
        *reason = ranks->made[id] ? NULL : first ? first : "this table exists per rank only";
    return ranks->made[id] ? &ranks->tables[id] : NULL;
}

void sutra_hta_ranks_sum(const struct sutra_hta_ranks *ranks, struct sutra_hta_sums *sums) {
    report_give(sums, &ranks->sums, sizeof ranks->sums);
}

const struct sutra_hta *hta_ranks_of(const struct sutra_hta_ranks *ranks, size_t i) {
    return i < ranks->tasks->n ? analyzed_at(ranks, i)->hta : NULL;
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
