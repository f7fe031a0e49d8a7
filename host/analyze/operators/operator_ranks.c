/*
 * operator_ranks.c - the operator tables of many ranks. The joined tables have the rows of all ranks.
 */
#include <stddef.h>
#include <stdlib.h>

#include "analyze/launches/graphs.h"
#include "analyze/operators/operators.h"
#include "analyze/ranks.h"
#include "base/error.h"
#include "base/options.h"

/* ---- One rank ---- */

struct operators_rank {
    struct sutra_operators_rank rank;
    struct sutra_operators *operators;
};

struct sutra_operators_ranks {
    struct sutra_result result;
    struct rank_tasks tasks; /* whose results are struct operators_rank */
    struct sutra_operators_ranks_options options;
    const struct operator_rules *rules;
    struct sutra_operators_options each; /* the complete options of each rank */
    struct graph_captures captures;
};

static struct sutra_operators_options options_of(const struct sutra_operators_ranks *ranks, size_t number) {
    struct sutra_operators_options options = ranks->each;
    options.rank = ranks->tasks.list[number].rank;
    return options;
}

static enum sutra_status analyze(void *arg, struct rank_run *run, size_t number, struct sutra_context *context,
                                 struct sutra_device_trace *trace, struct sutra_error *error) {
    const struct sutra_operators_ranks *ranks = arg;
    struct operators_rank *rank = task_result(&ranks->tasks, number);
    const struct sutra_operators_options options = options_of(ranks, number);
    (void)run;
    const struct graph_captures *captures = ranks->captures.n ? &ranks->captures : NULL;
    enum sutra_status status = operators_run(context, trace, ranks->rules, &options, captures, &rank->operators, error);
    sutra_device_trace_free(trace);
    return status;
}

/* Shows the tables to the caller; then frees the tables that exist per rank only. */
static enum sutra_status visit(void *arg, size_t number, struct sutra_context *context, struct sutra_error *error) {
    const struct sutra_operators_ranks *ranks = arg;
    const struct operators_rank *rank = task_result(&ranks->tasks, number);
    rank->operators->is_of_job = ranks->tasks.n > 1;
    if (ranks->options.visit)
        TRY(ranks->options.visit(ranks->options.arg, context, rank->operators, error));
    for (uint32_t id = 0; id < ranks->rules->n_tables; id++)
        if (ranks->rules->specs[id].scope == OF_RANK)
            table_free(&rank->operators->result.tables[id]);
    return SUTRA_OK;
}

/* ---- Partial results ---- */

static void encode_rules(const void *of, struct buffer *out) {
    const struct sutra_operators_ranks *ranks = of;
    encode_text(out, ranks->rules->name);
    encode_value(out, ranks->each.kernels);
    encode_text(out, ranks->each.peaks);
    encode_value(out, ranks->each.n_captures);
    for (size_t i = 0; i < ranks->each.n_captures; i++)
        encode_text(out, ranks->each.captures[i]);
}

void operators_codec(struct codec *codec, const struct operator_rules *rules,
                     const struct sutra_operators_options *options, struct sutra_operators **operators) {
    bool decodes = codec_decodes(codec);
    if (decodes) {
        *operators = operators_new(rules, options);
        if (!*operators) {
            codec_fail(codec, CODEC_NO_MEMORY);
            return;
        }
    }
    codec_result(codec, &(*operators)->result);
    codec_value(codec, &(*operators)->n_untimed);
    if (decodes && codec->failure) {
        sutra_operators_free(*operators);
        *operators = NULL;
    }
}

static void rank_codec(void *arg, size_t number, struct codec *codec) {
    const struct sutra_operators_ranks *ranks = arg;
    struct operators_rank *rank = task_result(&ranks->tasks, number);
    const struct sutra_operators_options options = options_of(ranks, number);
    bool has_tables = true; /* always */
    codec_options(codec, encode_rules, ranks);
    codec_bool(codec, &has_tables);
    operators_codec(codec, ranks->rules, &options, &rank->operators);
}

static void rank_free(void *result) {
    struct operators_rank *rank = result;
    sutra_operators_free(rank->operators);
}

/* ---- All ranks ---- */

static enum sutra_status merge(void *arg, struct sutra_context *context, struct sutra_error *error) {
    struct sutra_operators_ranks *ranks = arg;
    (void)context;
    TRY_ALLOC(result_init(&ranks->result, ranks->rules->specs, ranks->rules->n_tables), error);
    ranks->result.of_job = true;
    ranks->result.defects = ranks->tasks.defects;
    ranks->result.n_defects = ranks->tasks.n_defects;
    ranks->result.verbatim = ranks->rules->is_foreign;
    for (size_t i = 0; i < ranks->tasks.n; i++) {
        const struct rank_task *task = &ranks->tasks.list[i];
        struct operators_rank *rank = task_result(&ranks->tasks, i);
        rank->rank = (struct sutra_operators_rank){.path = task->path,
                                                   .rank = task->rank,
                                                   .source = task->source,
                                                   .reason = task->status ? task->error.message : NULL,
                                                   .n_untimed = rank->operators ? rank->operators->n_untimed : 0};
    }
    /* The rows of all ranks, in the order of the ranks. The first rank's are moved, unless others hold them. */
    for (uint32_t id = 0; id < ranks->rules->n_tables; id++) {
        struct sutra_table *table = &ranks->result.tables[id];
        for (size_t i = 0; i < ranks->tasks.n_analyzed && ranks->rules->specs[id].scope == OF_JOB; i++) {
            const struct operators_rank *rank = task_result_of_rank(&ranks->tasks, i);
            struct sutra_result *result = &rank->operators->result;
            if (!result->made[id])
                continue;
            if (!ranks->result.made[id] && !result->tables[id].memory) {
                *table = result->tables[id];
                result->tables[id] = (struct sutra_table){0};
                result->made[id] = false;
            } else if (!ranks->result.made[id]) {
                result_table_begin(&ranks->result, id);
            }
            ranks->result.made[id] = true;
            table_append(table, &result->tables[id]);
        }
    }
    return result_status(&ranks->result, error);
}

static const struct rank_analysis analysis = {.kind = {"operators", SUTRA_OPERATORS_N_TABLES},
                                              .result_size = sizeof(struct operators_rank),
                                              .analyze = analyze,
                                              .visit = visit,
                                              .visit_decoded = visit,
                                              .codec = rank_codec,
                                              .free = rank_free,
                                              .merge = merge};

enum sutra_status operators_ranks_run(struct sutra_context *context, const char *const *paths, size_t n_paths,
                                      const struct operator_rules *rules,
                                      const struct sutra_operators_ranks_options *options,
                                      struct sutra_operators_ranks **ranks, struct sutra_error *error) {
    static const struct options_form form = OPTIONS_FORM(sutra_operators_ranks_options, arg);
    struct sutra_operators_ranks *made = calloc(1, sizeof *made);
    TRY_ALLOC(made, error);
    made->rules = rules;
    enum sutra_status status = options_copy(&form, options, &made->options, error);
    if (!status)
        status = op_options_init(rules->is_foreign ? NULL : made->options.operators, &made->each, error);
    if (!status)
        status = restriction_copy(made->options.restriction, &made->tasks.restriction, error);
    made->tasks.keeps_truncated = rules->is_foreign;
    made->tasks.prefetch_columns = PREFETCH_IDS | (made->each.kernels ? PREFETCH_LAUNCHES : PREFETCH_ARGUMENTS);
    if (!status && rank_tasks_analyze(context))
        status = graph_captures_read(context, made->each.captures, made->each.n_captures, &made->captures, error);
    if (!status)
        status = rank_tasks_run(&made->tasks, &analysis, context, paths, n_paths, made, error);
    graph_captures_free(&made->captures);
    made->captures.n = 0;
    if (status || made->tasks.is_combined_by_other_process) {
        sutra_operators_ranks_free(made);
        made = NULL;
    }
    if (!status)
        *ranks = made;
    return status;
}

enum sutra_status operators_ranks_join(const struct rank_tasks *tasks, size_t offset,
                                       struct sutra_operators_ranks **ranks, struct sutra_error *error) {
    struct sutra_operators_ranks *made = calloc(1, sizeof *made);
    TRY_ALLOC(made, error);
    made->rules = &own_operator_rules;
    enum sutra_status status =
        rank_tasks_reuse(&made->tasks, &analysis, offsetof(struct operators_rank, operators), tasks, offset, error);
    if (!status)
        status = merge(made, NULL, error);
    if (status)
        sutra_operators_ranks_free(made);
    else
        *ranks = made;
    return status;
}

/* ---- Public functions ---- */

enum sutra_status sutra_operators_ranks_run(struct sutra_context *context, const char *const *paths, size_t n_paths,
                                            const struct sutra_operators_ranks_options *options,
                                            struct sutra_operators_ranks **ranks, struct sutra_error *error) {
    return operators_ranks_run(context, paths, n_paths, &own_operator_rules, options, ranks, error);
}

void sutra_operators_ranks_free(struct sutra_operators_ranks *ranks) {
    if (!ranks)
        return;
    result_free(&ranks->result);
    rank_tasks_free(&ranks->tasks);
    free(ranks);
}

const struct sutra_operators_rank *sutra_operators_ranks_get(const struct sutra_operators_ranks *ranks, size_t i) {
    if (i >= ranks->tasks.n_selected)
        return NULL;
    const struct operators_rank *rank = task_result_of_rank(&ranks->tasks, i);
    return &rank->rank;
}
