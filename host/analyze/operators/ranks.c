/*
 * ranks.c - the tables of many ranks together: each trace is a task, whose tables are shown to the visitor;
 * what stays of a rank are its tables.
 */
#include <stdlib.h>

#include "analyze/operators/ranks.h"
#include "base/error.h"
#include "base/options.h"

/* One trace of the list. */
struct ops_analyzed {
    struct sutra_operators_rank rank;
    struct sutra_operators *operators; /* NULL: left out */
};

struct sutra_operators_ranks {
    struct rank_tasks own;          /* those of sutra_operators_ranks_run(), */
    const struct rank_tasks *tasks; /* or another's, which live longer */
    struct ops_analyzed *analyzed;  /* by number */
    struct sutra_table tables[SUTRA_OPERATORS_N_TABLES];
    bool made[SUTRA_OPERATORS_N_TABLES];
};

/* What the tasks share. */
struct ops_work {
    struct sutra_operators_ranks_options options;
    struct sutra_operators_options of_each;
    struct sutra_operators_ranks *ranks;
};

static struct ops_analyzed *analyzed_of(const struct sutra_operators_ranks *ranks, size_t number) {
    return ranks->analyzed + number;
}

static struct ops_analyzed *analyzed_at(const struct sutra_operators_ranks *ranks, size_t i) {
    return analyzed_of(ranks, ranks->tasks->order[i]);
}

static bool is_of_all(int id) {
    return id > SUTRA_TRACELENS_RATES;
}

static enum sutra_status visit(void *arg, size_t number, struct sutra_context *context, struct sutra_error *error) {
    struct ops_work *work = arg;
    return work->options.visit(work->options.arg, context, analyzed_of(work->ranks, number)->operators, error);
}

/* What is done about a rank when it is analyzed. */
static enum sutra_status show(struct ops_work *work, struct rank_run *run, size_t number, struct sutra_error *error) {
    struct sutra_operators *operators = analyzed_of(work->ranks, number)->operators;
    enum sutra_status status = work->options.visit ? rank_run_visit(run, number, visit, work, error) : SUTRA_OK;
    for (int id = 0; id < SUTRA_OPERATORS_N_TABLES && !status; id++)
        if (!is_of_all(id))
            table_free(&operators->tables[id]);
    return status;
}

/* ---- From one process to another ---- */

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

static void rank_codec(void *arg, size_t number, struct codec *codec) {
    struct ops_work *work = arg;
    struct sutra_operators_options options = work->of_each;
    bool has_tables = true; /* always */
    options.rank = work->ranks->own.list[number].rank;
    codec_options(codec, encode_rules, &options);
    codec_bool(codec, &has_tables);
    operators_codec(codec, &options, &analyzed_of(work->ranks, number)->operators);
}

static void put(void *arg, size_t number, struct codec *codec) {
    struct ops_work *work = arg;
    rank_codec(arg, number, codec);
    sutra_operators_free(analyzed_of(work->ranks, number)->operators);
    analyzed_of(work->ranks, number)->operators = NULL;
}

static enum sutra_status take(void *arg, struct rank_run *run, size_t number, struct codec *codec,
                              struct sutra_error *error) {
    rank_codec(arg, number, codec);
    return codec->failure ? SUTRA_OK : show(arg, run, number, error);
}

static const struct rank_codec partial_result = {{"operators", SUTRA_OPERATORS_N_TABLES}, put, take};

/* Frees the trace as soon as it is no longer needed. */
static enum sutra_status analyze(void *arg, struct rank_run *run, size_t number, struct sutra_context *context,
                                 struct sutra_device_trace *trace, struct sutra_error *error) {
    struct ops_work *work = arg;
    struct ops_analyzed *analyzed = analyzed_of(work->ranks, number);
    struct sutra_operators_options options = work->of_each;
    options.rank = work->ranks->own.list[number].rank;
    enum sutra_status status = sutra_operators_run(context, trace, &options, &analyzed->operators, error);
    sutra_device_trace_free(trace);
    return status || rank_run_is_shared(run) ? status : show(work, run, number, error);
}

/* The rows of all ranks, in the order of the ranks. Those of the first stay where they are, unless others hold them. */
static enum sutra_status join_table(struct sutra_operators_ranks *ranks, int id, struct sutra_error *error) {
    struct sutra_table *table = &ranks->tables[id];
    for (size_t i = 0; i < ranks->tasks->n; i++) {
        struct sutra_operators *operators = analyzed_at(ranks, i)->operators;
        if (!operators || !operators->made[id])
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
    return table->failed ? error_memory(error) : SUTRA_OK;
}

/* What the tasks know of their traces, for those who ask for the ranks. */
static void name_ranks(struct sutra_operators_ranks *ranks) {
    for (size_t i = 0; i < ranks->tasks->n; i++) {
        const struct rank_task *task = &ranks->tasks->list[i];
        struct ops_analyzed *analyzed = analyzed_of(ranks, i);
        analyzed->rank =
            (struct sutra_operators_rank){.path = task->path,
                                          .rank = task->rank,
                                          .source = task->source,
                                          .reason = task->status ? task->error.message : NULL,
                                          .n_untimed = analyzed->operators ? analyzed->operators->n_untimed : 0};
    }
}

static enum sutra_status join_all(struct sutra_operators_ranks *ranks, struct sutra_error *error) {
    enum sutra_status status = SUTRA_OK;
    name_ranks(ranks);
    for (int id = 0; id < SUTRA_OPERATORS_N_TABLES && !status; id++)
        if (is_of_all(id))
            status = join_table(ranks, id, error);
    return status;
}

/* Room for the results comes before the tasks begin. */
static enum sutra_status ranks_begin(size_t n, struct sutra_operators_ranks **ranks, struct sutra_error *error) {
    struct sutra_operators_ranks *made = calloc(1, sizeof *made);
    if (made)
        made->analyzed = calloc(n ? n : 1, sizeof *made->analyzed);
    if (!made || !made->analyzed) {
        free(made);
        return error_memory(error);
    }
    made->tasks = &made->own;
    *ranks = made;
    return SUTRA_OK;
}

enum sutra_status sutra_operators_ranks_run(struct sutra_context *context, const char *const *paths, size_t n_paths,
                                            const struct sutra_operators_ranks_options *options,
                                            struct sutra_operators_ranks **ranks, struct sutra_error *error) {
    static const struct options_form form = OPTIONS_FORM(sutra_operators_ranks_options, arg);
    struct ops_work work;
    struct sutra_restriction restriction;
    enum sutra_status status = options_take(&form, options, &work.options, error);
    if (!status)
        status = op_options_take(work.options.operators, &work.of_each, error);
    if (!status)
        status = restriction_take(work.options.restriction, &restriction, error);
    if (!status)
        status = ranks_begin(n_paths, &work.ranks, error);
    if (status)
        return status;
    work.ranks->own.codec = &partial_result;
    work.ranks->own.restriction = restriction;
    work.ranks->own.ahead = AHEAD_IDS | (work.of_each.kernels ? AHEAD_LAUNCHES : AHEAD_ARGUMENTS);
    status = rank_tasks_run(&work.ranks->own, context, paths, n_paths, 0, analyze, &work, error);
    if (!status && work.ranks->own.is_elsewhere) {
        sutra_operators_ranks_free(work.ranks);
        *ranks = NULL;
        return SUTRA_OK;
    }
    if (!status)
        status = join_all(work.ranks, error);
    if (status)
        sutra_operators_ranks_free(work.ranks);
    else
        *ranks = work.ranks;
    return status;
}

enum sutra_status operators_ranks_join(const struct rank_tasks *tasks, struct sutra_operators **operators,
                                       struct sutra_operators_ranks **ranks, struct sutra_error *error) {
    struct sutra_operators_ranks *made;
    enum sutra_status status = ranks_begin(tasks->n, &made, error);
    if (status)
        return status;
    made->tasks = tasks;
    for (size_t i = 0; i < tasks->n; i++) {
        made->analyzed[i].operators = operators[i];
        operators[i] = NULL;
    }
    status = join_all(made, error);
    if (status)
        sutra_operators_ranks_free(made);
    else
        *ranks = made;
    return status;
}

void sutra_operators_ranks_free(struct sutra_operators_ranks *ranks) {
    if (!ranks)
        return;
    for (size_t i = 0; i < ranks->tasks->n; i++)
        sutra_operators_free(analyzed_of(ranks, i)->operators);
    for (int id = 0; id < SUTRA_OPERATORS_N_TABLES; id++)
        table_free(&ranks->tables[id]);
    rank_tasks_free(&ranks->own);
    free(ranks->analyzed);
    free(ranks);
}

const struct sutra_operators_rank *sutra_operators_ranks_get(const struct sutra_operators_ranks *ranks, size_t i) {
    return i < ranks->tasks->n_wanted ? &analyzed_at(ranks, i)->rank : NULL;
}

const struct sutra_table *sutra_operators_ranks_table(const struct sutra_operators_ranks *ranks,
                                                      enum sutra_operators_table id) {
    return ranks->made[id] ? &ranks->tables[id] : NULL;
}
