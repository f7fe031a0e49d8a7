/*
 * ranks.c - the operator tables of many ranks. The joined tables have the rows of all ranks.
 */
#include <stddef.h>
#include <stdlib.h>

#include "analyze/launches/graphs.h"
#include "analyze/operators/operators.h"
#include "analyze/ranks.h"
#include "base/error.h"
#include "base/options.h"

/* ---- Partial results ---- */

static void encode_rules(const void *of, struct buffer *out) {
    const struct sutra_operators_options *options = of;
    encode_value(out, options->compat);
    encode_value(out, options->kernels);
    encode_text(out, options->peaks);
    encode_value(out, options->n_captures);
    for (size_t i = 0; i < options->n_captures; i++)
        encode_text(out, options->captures[i]);
}

void operators_codec(struct codec *codec, const struct sutra_operators_options *options,
                     struct sutra_operators **operators) {
    bool decodes = codec_decodes(codec);
    if (decodes) {
        *operators = operators_new(options);
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

/* ---- One rank ---- */

struct operators_rank {
    struct sutra_operators_rank rank;
    struct sutra_operators *operators;
};

struct sutra_operators_ranks {
    struct sutra_result result;
    struct rank_tasks tasks; /* whose results are struct operators_rank */
    struct sutra_operators_ranks_options options;
    struct sutra_operators_options rules; /* the complete options of each rank */
    struct graph_captures captures;
};

static struct sutra_operators_options options_of(const struct sutra_operators_ranks *ranks, size_t number) {
    struct sutra_operators_options options = ranks->rules;
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
    enum sutra_status status = operators_run_with(context, trace, &options, captures, &rank->operators, error);
    sutra_device_trace_free(trace);
    return status;
}

/* Shows the tables to the caller; then frees the tables that exist per rank only. */
static enum sutra_status visit(void *arg, size_t number, struct sutra_context *context, struct sutra_error *error) {
    const struct sutra_operators_ranks *ranks = arg;
    const struct operators_rank *rank = task_result(&ranks->tasks, number);
    rank->operators->is_of_job = ranks->tasks.n > 1;
    enum sutra_status status =
        ranks->options.visit ? ranks->options.visit(ranks->options.arg, context, rank->operators, error) : SUTRA_OK;
    for (int id = 0; id < SUTRA_OPERATORS_N_TABLES && !status; id++)
        if (operator_table_specs[id].scope == OF_RANK)
            table_free(&rank->operators->result.tables[id]);
    return status;
}

static void rank_codec(void *arg, size_t number, struct codec *codec) {
    const struct sutra_operators_ranks *ranks = arg;
    struct operators_rank *rank = task_result(&ranks->tasks, number);
    const struct sutra_operators_options options = options_of(ranks, number);
    bool has_tables = true; /* always */
    codec_options(codec, encode_rules, &options);
    codec_bool(codec, &has_tables);
    operators_codec(codec, &options, &rank->operators);
}

static void rank_free(void *result) {
    struct operators_rank *rank = result;
    sutra_operators_free(rank->operators);
}

/* ---- All ranks ---- */

static enum sutra_status merge(void *arg, struct sutra_context *context, struct sutra_error *error) {
    struct sutra_operators_ranks *ranks = arg;
    (void)context;
    if (!result_init(&ranks->result, operator_table_specs, SUTRA_OPERATORS_N_TABLES))
        return error_memory(error);
    ranks->result.of_job = true;
    ranks->result.defects = ranks->tasks.defects;
    ranks->result.n_defects = ranks->tasks.n_defects;
    ranks->result.verbatim = ranks->rules.compat;
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
    for (uint32_t id = 0; id < SUTRA_OPERATORS_N_TABLES; id++) {
        struct sutra_table *table = &ranks->result.tables[id];
        for (size_t i = 0; i < ranks->tasks.n_analyzed && operator_table_specs[id].scope == OF_JOB; i++) {
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

/* ---- Public functions ---- */

enum sutra_status sutra_operators_ranks_run(struct sutra_context *context, const char *const *paths, size_t n_paths,
                                            const struct sutra_operators_ranks_options *options,
                                            struct sutra_operators_ranks **ranks, struct sutra_error *error) {
    static const struct options_form form = OPTIONS_FORM(sutra_operators_ranks_options, arg);
    struct sutra_operators_ranks *made = calloc(1, sizeof *made);
    if (!made)
        return error_memory(error);
    enum sutra_status status = options_copy(&form, options, &made->options, error);
    if (!status)
        status = op_options_init(made->options.operators, &made->rules, error);
    if (!status)
        status = restriction_copy(made->options.restriction, &made->tasks.restriction, error);
    made->tasks.keeps_truncated = made->rules.compat;
    made->tasks.prefetch_columns = PREFETCH_IDS | (made->rules.kernels ? PREFETCH_LAUNCHES : PREFETCH_ARGUMENTS);
    if (!status && !made->rules.compat && rank_tasks_analyze(context))
        status = graph_captures_read(context, made->rules.captures, made->rules.n_captures, &made->captures, error);
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
    if (!made)
        return error_memory(error);
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
