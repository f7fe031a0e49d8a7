/*
 * ranks.c - the operator tables of many ranks. The joined tables have the rows of all ranks.
 */
#include <stdlib.h>

#include "analyze/operators/ranks.h"
#include "base/error.h"
#include "base/options.h"

/* ---- Partial results ---- */

static void encode_rules(const void *of, struct buffer *out) {
    const struct sutra_operators_options *options = of;
    encode_value(out, options->compat);
    encode_value(out, options->kernels);
    encode_text(out, options->peaks);
}

/* Sets up a table with the encoded columns, as they depend on the trace. Their names are in the result's arena. */
static void columns_codec(struct codec *codec, struct sutra_operators *operators, enum sutra_operators_table id) {
    struct sutra_table *table = &operators->tables[id];
    uint32_t n = table->n_columns;
    codec_value(codec, &n);
    if (codec_decodes(codec)) {
        codec_check(codec, n <= (uint64_t)(codec->end - codec->at) / sizeof(uint64_t));
        n = codec->failure ? 0 : n;
    }
    struct column_spec *columns = arena_zeros(&operators->names, (size_t)n + 1, sizeof *columns);
    for (uint32_t i = 0; i < n && columns; i++) {
        if (!codec_decodes(codec))
            columns[i] = table->columns[i].spec;
        codec_text_in(codec, &columns[i].name, &operators->names);
        codec_limited(codec, &columns[i].kind, SUTRA_COLUMN_TEXT);
    }
    if (!columns)
        codec_fail(codec, CODEC_NO_MEMORY);
    if (codec_decodes(codec))
        op_table_begin_with(operators, id, columns, columns ? n : 0);
}

void operators_codec(struct codec *codec, const struct sutra_operators_options *options,
                     struct sutra_operators **operators) {
    bool decodes = codec_decodes(codec);
    if (decodes) {
        *operators = calloc(1, sizeof **operators);
        if (!*operators) {
            codec_fail(codec, CODEC_NO_MEMORY);
            return;
        }
        (*operators)->options = *options;
    }
    for (int id = 0; id < SUTRA_OPERATORS_N_TABLES && !codec->failure; id++) {
        bool made = (*operators)->made[id];
        codec_bool(codec, &made);
        if (!made)
            continue;
        if (!op_table_has_fixed_columns((enum sutra_operators_table)id))
            columns_codec(codec, *operators, (enum sutra_operators_table)id);
        else if (decodes)
            op_table_begin(*operators, (enum sutra_operators_table)id);
        codec_table(codec, &(*operators)->tables[id]);
    }
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
    struct rank_tasks tasks; /* whose results are struct operators_rank */
    struct sutra_operators_ranks_options options;
    struct sutra_operators_options rules; /* the complete options of each rank */
    struct sutra_table tables[SUTRA_OPERATORS_N_TABLES];
    bool made[SUTRA_OPERATORS_N_TABLES];
};

/* Whether a table exists for all ranks together, not for each rank only. */
static bool is_joined(int id) {
    return id > SUTRA_TRACELENS_RATES;
}

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
    enum sutra_status status = sutra_operators_run(context, trace, &options, &rank->operators, error);
    sutra_device_trace_free(trace);
    return status;
}

/* Shows the tables to the caller; then frees the tables that exist per rank only. */
static enum sutra_status visit(void *arg, size_t number, struct sutra_context *context, struct sutra_error *error) {
    const struct sutra_operators_ranks *ranks = arg;
    const struct operators_rank *rank = task_result(&ranks->tasks, number);
    enum sutra_status status =
        ranks->options.visit ? ranks->options.visit(ranks->options.arg, context, rank->operators, error) : SUTRA_OK;
    for (int id = 0; id < SUTRA_OPERATORS_N_TABLES && !status; id++)
        if (!is_joined(id))
            table_free(&rank->operators->tables[id]);
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
    for (int id = 0; id < SUTRA_OPERATORS_N_TABLES; id++) {
        struct sutra_table *table = &ranks->tables[id];
        for (size_t i = 0; i < ranks->tasks.n_analyzed && is_joined(id); i++) {
            const struct operators_rank *rank = task_result_of_rank(&ranks->tasks, i);
            struct sutra_operators *operators = rank->operators;
            if (!operators->made[id])
                continue;
            if (!ranks->made[id] && !operators->tables[id].memory) {
                *table = operators->tables[id];
                operators->tables[id] = (struct sutra_table){0};
                operators->made[id] = false;
            } else if (!ranks->made[id]) {
                op_table_init(table, (enum sutra_operators_table)id);
                table->verbatim = operators->tables[id].verbatim;
            }
            ranks->made[id] = true;
            table_append(table, &operators->tables[id]);
        }
        if (table->failed)
            return error_memory(error);
    }
    return SUTRA_OK;
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
    enum sutra_status status = options_take(&form, options, &made->options, error);
    if (!status)
        status = op_options_take(made->options.operators, &made->rules, error);
    if (!status)
        status = restriction_take(made->options.restriction, &made->tasks.restriction, error);
    made->tasks.ahead = AHEAD_IDS | (made->rules.kernels ? AHEAD_LAUNCHES : AHEAD_ARGUMENTS);
    if (!status)
        status = rank_tasks_run(&made->tasks, &analysis, context, paths, n_paths, made, error);
    if (status || made->tasks.is_elsewhere) {
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
    enum sutra_status status = rank_tasks_reuse(&made->tasks, tasks, &analysis, error);
    for (size_t i = 0; i < made->tasks.n; i++) {
        struct operators_rank *rank = task_result(&made->tasks, i);
        struct sutra_operators **from = (void *)((char *)task_result(tasks, i) + offset);
        rank->operators = *from;
        *from = NULL;
    }
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
    for (int id = 0; id < SUTRA_OPERATORS_N_TABLES; id++)
        table_free(&ranks->tables[id]);
    rank_tasks_free(&ranks->tasks);
    free(ranks);
}

const struct sutra_operators_rank *sutra_operators_ranks_get(const struct sutra_operators_ranks *ranks, size_t i) {
    if (i >= ranks->tasks.n_selected)
        return NULL;
    const struct operators_rank *rank = task_result_of_rank(&ranks->tasks, i);
    return &rank->rank;
}

const struct sutra_table *sutra_operators_ranks_table(const struct sutra_operators_ranks *ranks,
                                                      enum sutra_operators_table id) {
    return ranks->made[id] ? &ranks->tables[id] : NULL;
}
