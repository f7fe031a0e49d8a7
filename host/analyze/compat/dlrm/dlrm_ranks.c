/*
 * dlrm_ranks.c - the traces of many ranks, and their overheads merged.
 *
 * A rank keeps its figures and the samples of its overheads, eight bytes each. Merged, samples of one kind and operator
 * are one list, regardless of shapes and in the order of the traces. Of the launches of an operator the longest list
 * counts, the first of equal ones; optimizer steps have no list: the notebook's model handles them separately.
 * O(samples).
 */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "analyze/compat/dlrm/overheads.h"
#include "analyze/compat/dlrm/write.h"
#include "analyze/ranks.h"
#include "analyze/table.h"
#include "base/error.h"
#include "base/options.h"
#include "write/json.h"
#include "write/text.h"

/* ---- Merged overheads ---- */

struct dlrm_merged {
    struct arena arena; /* of all members */
    struct strings texts;
    struct sutra_dlrm_overhead *list; /* T1, then T4 and the operators in the order of first appearance; no shapes */
    uint64_t n;
    struct dlrm_launches launches; /* the longest list of each operator */
};

/* A text of one rank as a text of all. */
static uint32_t merge_text(struct dlrm_merged *merged, const struct dlrm_raw *raw, uint32_t text) {
    return strings_intern(&merged->texts, strings_text(&raw->texts, text), strings_length(&raw->texts, text));
}

/* Numbers rows by (kind, name), then measures the samples of each row. */
static bool merge_samples(struct dlrm_merged *merged, const struct dlrm_raw_part *parts, size_t n_parts,
                          struct tuples *rows, struct arena *scratch) {
    uint64_t n_groups = 0, n_samples = 0, at = 0;
    for (size_t i = 0; i < n_parts; i++)
        n_groups += parts[i].raw->n_groups;
    uint32_t *row_of = arena_alloc(scratch, n_groups, sizeof *row_of); /* the groups of all parts */
    for (size_t i = 0; i < n_parts && row_of; i++)
        for (uint64_t group = 0; group < parts[i].raw->n_groups; group++) {
            const struct dlrm_raw *raw = parts[i].raw;
            uint32_t name = merge_text(merged, raw, raw->groups[group].name);
            uint32_t row = tuples_number(rows, (struct tuple){{raw->groups[group].kind, name}});
            if (name == STRING_NONE || row == TUPLE_NONE)
                return false;
            row_of[at++] = row;
        }

    /* Gather the samples by row. */
    merged->list = arena_zeros(&merged->arena, rows->n, sizeof *merged->list);
    uint64_t *next = arena_alloc(scratch, rows->n, sizeof *next); /* by row: where its next sample goes */
    if (!row_of || !merged->list || !next)
        return false;
    at = 0;
    for (size_t i = 0; i < n_parts; i++)
        for (uint64_t group = 0; group < parts[i].raw->n_groups; group++)
            merged->list[row_of[at++]].n += parts[i].raw->groups[group].n;
    for (uint32_t row = 0; row < rows->n; n_samples += merged->list[row++].n)
        next[row] = n_samples;
    double *us = arena_alloc(scratch, n_samples, sizeof *us);
    at = 0;
    for (size_t i = 0; i < n_parts && us; i++) {
        const struct dlrm_raw *raw = parts[i].raw;
        const double *from = raw->us;
        for (uint64_t group = 0; group < raw->n_groups; from += raw->groups[group++].n) {
            uint64_t *to = &next[row_of[at++]];
            memcpy(us + *to, from, raw->groups[group].n * sizeof *us);
            *to += raw->groups[group].n;
        }
    }

    for (; us && merged->n < rows->n; merged->n++) {
        const value_key *key = rows->list[merged->n].part;
        struct sutra_dlrm_overhead *row = &merged->list[merged->n];
        row->kind = (enum sutra_dlrm_overhead_kind)key[0];
        row->name = row->kind == SUTRA_T1 ? SUTRA_DLRM_NONE : (uint32_t)key[1];
        row->shapes = SUTRA_DLRM_NONE;
        dlrm_mean_of(us, row->n, &row->mean_us, &row->std_us);
        us += row->n;
    }
    return us != NULL;
}

/* Finds the longest list of each name, then copies these lists. */
static bool merge_launches(struct dlrm_merged *merged, const struct dlrm_raw_part *parts, size_t n_parts,
                           struct tuples *names, struct arena *scratch) {
    struct dlrm_launches *launches = &merged->launches;
    struct {
        const struct dlrm_raw *raw;
        const struct dlrm_launch_list *list;
    } *longest = NULL; /* by name */
    uint64_t capacity = 0;
    for (size_t i = 0; i < n_parts; i++) {
        const struct dlrm_raw *raw = parts[i].raw;
        for (uint64_t j = 0; j < raw->launches.n_lists; j++) {
            const struct dlrm_launch_list *list = &raw->launches.lists[j];
            uint32_t name = merge_text(merged, raw, list->name);
            if (name == STRING_NONE)
                return false;
            if (strstr(strings_text(&merged->texts, name), "Optimizer"))
                continue;
            uint32_t n = names->n, number = tuples_number(names, (struct tuple){{name}});
            if (number == TUPLE_NONE || !arena_grow(scratch, &longest, number, &capacity, sizeof *longest))
                return false;
            if (number < n && list->n <= longest[number].list->n)
                continue;
            longest[number].raw = raw;
            longest[number].list = list;
        }
    }
    for (uint32_t i = 0; i < names->n; i++) {
        const struct dlrm_raw *raw = longest[i].raw;
        const struct dlrm_launch_list *from = longest[i].list;
        if (!arena_grow(&merged->arena, &launches->lists, launches->n_lists, &launches->lists_capacity,
                        sizeof *launches->lists))
            return false;
        launches->lists[launches->n_lists++] = (struct dlrm_launch_list){
            .name = (uint32_t)names->list[i].part[0], .first = launches->n_names, .n = from->n};
        for (uint64_t j = 0; j < from->n; j++) {
            uint32_t launch = merge_text(merged, raw, raw->launches.names[from->first + j]);
            if (launch == STRING_NONE || !arena_grow(&merged->arena, &launches->names, launches->n_names,
                                                     &launches->names_capacity, sizeof *launches->names))
                return false;
            launches->names[launches->n_names++] = launch;
        }
    }
    return true;
}

/* The caller frees the texts and the arena in any case. */
static enum sutra_status dlrm_merge(struct dlrm_merged *merged, const struct dlrm_raw_part *parts, size_t n,
                                    struct sutra_error *error) {
    struct tuples rows = {0}, names = {0};
    struct arena scratch = {0};
    *merged = (struct dlrm_merged){0};
    bool ok = strings_init(&merged->texts) && merge_samples(merged, parts, n, &rows, &scratch) &&
              merge_launches(merged, parts, n, &names, &scratch);
    tuples_free(&rows);
    tuples_free(&names);
    arena_free(&scratch);
    return ok ? SUTRA_OK : error_memory(error);
}

/* ---- Partial results ---- */

/* Whether numbers of texts, samples and launches are in range. */
static bool raw_is_sound(const struct dlrm_raw *raw) {
    const struct dlrm_launches *launches = &raw->launches;
    uint64_t n_left = raw->n;
    for (uint64_t i = 0; i < raw->n_groups; i++) {
        const struct dlrm_raw_group *group = &raw->groups[i];
        if ((unsigned)group->kind >= SUTRA_N_OVERHEADS || group->name >= raw->texts.n ||
            group->shapes >= raw->texts.n || group->n > n_left)
            return false;
        n_left -= group->n;
    }
    for (uint64_t i = 0; i < launches->n_lists; i++) {
        const struct dlrm_launch_list *list = &launches->lists[i];
        if (list->name >= raw->texts.n || list->first > launches->n_names || list->n > launches->n_names - list->first)
            return false;
    }
    for (uint64_t i = 0; i < launches->n_names; i++)
        if (launches->names[i] >= raw->texts.n)
            return false;
    return true;
}

void dlrm_raw_codec(struct codec *codec, struct dlrm_raw *raw) {
    codec_bool(codec, &raw->has_fractions);
    if (codec_decodes(codec) && !strings_init(&raw->texts))
        codec_fail(codec, CODEC_NO_MEMORY);
    codec_strings(codec, &raw->texts);
    codec_array(codec, &raw->groups, &raw->n_groups, &raw->arena);
    codec_array(codec, &raw->us, &raw->n, &raw->arena);
    codec_array(codec, &raw->launches.lists, &raw->launches.n_lists, &raw->arena);
    codec_array(codec, &raw->launches.names, &raw->launches.n_names, &raw->arena);
    codec_check(codec, raw_is_sound(raw));
}

static void encode_rules(const void *of, struct buffer *out) {
    const struct sutra_dlrm_options *options = of;
    encode_value(out, options->compat);
    encode_text(out, options->module_marker);
    encode_value(out, options->trim);
    encode_value(out, options->iters);
    encode_value(out, options->skip_iters);
    encode_value(out, options->from);
    encode_value(out, options->to);
    encode_value(out, options->batch);
    encode_value(out, options->iteration_us);
}

/* ---- One rank ---- */

struct dlrm_rank {
    struct sutra_dlrm_rank rank;
    struct sutra_dlrm_report report;
    struct dlrm_raw raw;
    const struct sutra_dlrm *dlrm; /* during a visit; NULL: another process has analyzed the trace */
};

struct sutra_dlrm_ranks {
    struct rank_tasks tasks; /* whose results are struct dlrm_rank */
    struct sutra_dlrm_ranks_options options;
    struct sutra_dlrm_options rules; /* the complete options of each rank */
    struct dlrm_raw_part *parts;     /* of the analyzed ranks, without a model */
    struct dlrm_merged merged;
};

/* Pointers of a report end with the analysis or the process. */
static void clear_pointers(struct sutra_dlrm_report *report) {
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

/* Copies what the task records. */
static void name_rank(struct sutra_dlrm_ranks *ranks, size_t number) {
    const struct rank_task *task = &ranks->tasks.list[number];
    struct dlrm_rank *of = task_result(&ranks->tasks, number);
    struct sutra_dlrm_rank *rank = &of->rank;
    rank->path = task->path;
    rank->place = task->place;
    rank->rank = task->rank;
    rank->source = task->source;
    rank->report = &of->report;
    rank->reason = task->status ? task->error.message : NULL;
}

static enum sutra_status visit(void *arg, size_t number, struct sutra_context *context, struct sutra_error *error) {
    struct sutra_dlrm_ranks *ranks = arg;
    const struct dlrm_rank *rank = task_result(&ranks->tasks, number);
    if (!ranks->options.visit)
        return SUTRA_OK;
    name_rank(ranks, number);
    return ranks->options.visit(ranks->options.arg, context, rank->dlrm, &rank->rank, error);
}

static enum sutra_status analyze(void *arg, struct rank_run *run, size_t number, struct sutra_context *context,
                                 struct sutra_device_trace *trace, struct sutra_error *error) {
    struct sutra_dlrm_ranks *ranks = arg;
    struct dlrm_rank *rank = task_result(&ranks->tasks, number);
    struct sutra_dlrm *dlrm = NULL;
    enum sutra_status status = sutra_dlrm_analyze(context, trace, &ranks->rules, &dlrm, error);
    if (!status)
        status = dlrm_raw_make(dlrm, &rank->raw, error);
    if (!status) {
        double sum[SUTRA_N_OVERHEADS] = {0}, n[SUTRA_N_OVERHEADS] = {0};
        const double *us = rank->raw.us;
        for (uint64_t i = 0; i < rank->raw.n_groups; us += rank->raw.groups[i++].n) {
            const struct dlrm_raw_group *group = &rank->raw.groups[i];
            n[group->kind] += (double)group->n;
            for (uint64_t j = 0; j < group->n; j++)
                sum[group->kind] += us[j];
        }
        for (int kind = 0; kind < SUTRA_N_OVERHEADS; kind++)
            rank->rank.overhead_us[kind] = n[kind] > 0 ? sum[kind] / n[kind] : NAN;
        rank->report = dlrm->report;
        clear_pointers(&rank->report);
        rank->dlrm = dlrm; /* visited in each shard: the visitor's files are made of the analysis */
        status = rank_run_visit(run, number, visit, ranks, error);
        rank->dlrm = NULL;
    }
    sutra_dlrm_free(dlrm);
    sutra_device_trace_free(trace);
    return status;
}

static void rank_codec(void *arg, size_t number, struct codec *codec) {
    struct sutra_dlrm_ranks *ranks = arg;
    struct dlrm_rank *rank = task_result(&ranks->tasks, number);
    const struct sutra_dlrm_report *report = &rank->report;
    const bool *const flags[] = {&report->compat, &report->trimmed, &report->tolerant, &report->has_streams};
    codec_options(codec, encode_rules, &ranks->rules);
    codec_value(codec, &rank->report);
    for (size_t i = 0; i < sizeof flags / sizeof *flags; i++) /* whether decoded bytes are bools */
        codec_check(codec, *(const unsigned char *)flags[i] <= 1);
    codec_value(codec, &rank->rank.overhead_us);
    clear_pointers(&rank->report);
    dlrm_raw_codec(codec, &rank->raw);
}

static void rank_free(void *result) {
    struct dlrm_rank *rank = result;
    dlrm_raw_free(&rank->raw);
}

/* ---- All ranks ---- */

static enum sutra_status merge(void *arg, struct sutra_context *context, struct sutra_error *error) {
    struct sutra_dlrm_ranks *ranks = arg;
    const size_t n = ranks->tasks.n_analyzed;
    (void)context;
    for (size_t i = 0; i < ranks->tasks.n; i++)
        name_rank(ranks, i);
    ranks->parts = arena_alloc(&ranks->tasks.arena, n, sizeof *ranks->parts);
    TRY(arena_status(&ranks->tasks.arena, error));
    for (size_t i = 0; i < n; i++) {
        const struct dlrm_rank *rank = task_result_of_rank(&ranks->tasks, i);
        ranks->parts[i] = (struct dlrm_raw_part){.raw = &rank->raw, .batch = rank->report.batch};
    }
    return dlrm_merge(&ranks->merged, ranks->parts, n, error);
}

static const struct rank_analysis analysis = {.kind = {"dlrm", sizeof(struct sutra_dlrm_report)},
                                              .result_size = sizeof(struct dlrm_rank),
                                              .analyze = analyze,
                                              .visit_decoded = visit,
                                              .codec = rank_codec,
                                              .free = rank_free,
                                              .merge = merge};

/* ---- Public functions ---- */

enum sutra_status sutra_dlrm_ranks_run(struct sutra_context *context, const char *const *paths, size_t n_paths,
                                       const struct sutra_dlrm_ranks_options *options, struct sutra_dlrm_ranks **ranks,
                                       struct sutra_error *error) {
    static const struct options_form form = OPTIONS_FORM(sutra_dlrm_ranks_options, arg);
    struct sutra_dlrm_ranks *made = calloc(1, sizeof *made);
    TRY_ALLOC(made, error);
    enum sutra_status status = options_copy(&form, options, &made->options, error);
    if (!status)
        status = dlrm_options_take(made->options.dlrm, &made->rules, error);
    if (!status)
        status = restriction_copy(made->options.restriction, &made->tasks.restriction, error);
    made->tasks.keeps_truncated = true;
    if (!status)
        status = rank_tasks_run(&made->tasks, &analysis, context, paths, n_paths, made, error);
    if (status || made->tasks.is_combined_by_other_process) {
        sutra_dlrm_ranks_free(made);
        made = NULL;
    }
    if (!status)
        *ranks = made;
    return status;
}

void sutra_dlrm_ranks_free(struct sutra_dlrm_ranks *ranks) {
    if (!ranks)
        return;
    strings_free(&ranks->merged.texts);
    arena_free(&ranks->merged.arena);
    rank_tasks_free(&ranks->tasks);
    free(ranks);
}

const struct sutra_dlrm_rank *sutra_dlrm_ranks_get(const struct sutra_dlrm_ranks *ranks, size_t i) {
    if (i >= ranks->tasks.n_selected)
        return NULL;
    const struct dlrm_rank *rank = task_result_of_rank(&ranks->tasks, i);
    return &rank->rank;
}

const struct sutra_dlrm_overhead *sutra_dlrm_ranks_overheads(const struct sutra_dlrm_ranks *ranks, uint64_t *n) {
    *n = ranks->merged.n;
    return ranks->merged.list;
}

const char *sutra_dlrm_ranks_text(const struct sutra_dlrm_ranks *ranks, uint32_t text) {
    return text < ranks->merged.texts.n ? strings_text(&ranks->merged.texts, text) : "";
}

/* ---- Files ---- */

/* The shapes of merged overheads, in a file whose format has shapes. */
#define NO_SHAPES "(((-1,),), ((-1,),))"

static void add_text(struct json_out *json, const struct strings *texts, uint32_t text, bool key) {
    (key ? json_key : json_string)(json, strings_text(texts, text), strings_length(texts, text));
}

static void add_row(const struct dlrm_merged *merged, struct json_out *json, const struct sutra_dlrm_overhead *row) {
    bool of_operator = row->kind != SUTRA_T1 && row->kind != SUTRA_T4;
    if (row->kind != SUTRA_T1)
        add_text(json, &merged->texts, row->name, true);
    if (of_operator) {
        json_open(json, '{');
        json_name(json, NO_SHAPES);
    }
    json_open(json, '[');
    json_double(json, row->mean_us);
    json_double(json, row->std_us);
    json_integer(json, (int64_t)row->n);
    json_close(json, ']');
    if (of_operator)
        json_close(json, '}');
}

/* Appends a struct dlrm_merged in the format of one trace's overheads by shape. */
static bool dlrm_merged_write(const void *of, struct text_out *out) {
    const struct dlrm_merged *merged = of;
    struct json_out json = {.text = out, .indent = 1};
    json_open(&json, '{');
    for (int kind = 0; kind < SUTRA_N_OVERHEADS; kind++) {
        const char name[] = {'t', (char)('1' + kind)};
        json_key(&json, name, sizeof name);
        if (kind != SUTRA_T1)
            json_open(&json, '{');
        for (uint64_t i = 0; i < merged->n; i++)
            if ((int)merged->list[i].kind == kind)
                add_row(merged, &json, &merged->list[i]);
        if (kind != SUTRA_T1)
            json_close(&json, '}');
    }
    json_add_open(&json, "launches", '{');
    for (uint64_t i = 0; i < merged->launches.n_lists; i++) {
        const struct dlrm_launch_list *list = &merged->launches.lists[i];
        add_text(&json, &merged->texts, list->name, true);
        json_open(&json, '[');
        for (uint64_t j = 0; j < list->n; j++)
            add_text(&json, &merged->texts, merged->launches.names[list->first + j], false);
        json_close(&json, ']');
    }
    json_close(&json, '}');
    json_close(&json, '}');
    return true;
}

static enum sutra_status write_table(struct sutra_context *context, const struct sutra_dlrm_ranks *ranks,
                                     const char *directory, uint64_t *n_bytes, struct sutra_error *error) {
    static const struct column_spec columns[] = {
        INTEGER("rank"),  TEXT("trace"),  INTEGER("iterations"), REAL("qps"),    REAL("host(us)"), REAL("busy(us)"),
        REAL("idle(us)"), REAL("t1(us)"), REAL("t2(us)"),        REAL("t3(us)"), REAL("t4(us)"),   REAL("t5(us)"),
    };
    struct sutra_table table;
    table_init(&table, "ranks", columns, sizeof columns / sizeof *columns);
    for (size_t i = 0; i < ranks->tasks.n_analyzed; i++) {
        const struct sutra_dlrm_rank *rank = sutra_dlrm_ranks_get(ranks, i);
        table_integer(&table, rank->rank);
        table_file_name(&table, rank->path);
        table_integer(&table, (int64_t)rank->report->iters);
        table_real(&table, rank->report->qps);
        table_real(&table, rank->report->host_us);
        table_real(&table, rank->report->has_streams ? rank->report->union_us : NAN);
        table_real(&table, rank->report->has_streams ? rank->report->idle_us : NAN);
        for (int kind = 0; kind < SUTRA_N_OVERHEADS; kind++)
            table_real(&table, rank->overhead_us[kind]);
    }
    enum sutra_status status =
        table.failed ? error_memory(error)
                     : text_file_write_in(context, directory, "ranks.csv", table_write_csv, &table, n_bytes, error);
    table_free(&table);
    return status;
}

static enum sutra_status write_raw(struct sutra_context *context, const struct sutra_dlrm_ranks *ranks,
                                   const char *directory, const char *model, uint64_t *n_bytes,
                                   struct sutra_error *error) {
    struct arena arena = {0};
    struct dlrm_raw_part *parts = arena_alloc(&arena, ranks->tasks.n_analyzed, sizeof *parts);
    TRY(arena_status(&arena, error));
    for (size_t i = 0; i < ranks->tasks.n_analyzed; i++) {
        parts[i] = ranks->parts[i];
        parts[i].model = model;
        parts[i].model_length = model ? strlen(model) : 0;
        if (parts[i].model_length == 0)
            parts[i].model = dlrm_model_of(sutra_dlrm_ranks_get(ranks, i)->path, &parts[i].model_length);
    }
    enum sutra_status status =
        text_file_write_in(context, directory, "overheads_merged_raw.csv", dlrm_raw_write,
                           &(struct dlrm_raw_table){parts, ranks->tasks.n_analyzed}, n_bytes, error);
    arena_free(&arena);
    return status;
}

enum sutra_status sutra_dlrm_ranks_write(struct sutra_context *context, const struct sutra_dlrm_ranks *ranks,
                                         const char *folder, const char *model, uint64_t *n_bytes,
                                         struct sutra_error *error) {
    uint64_t n_written = 0;
    stage_begin(context, "write", 0);
    enum sutra_status status = text_file_write_in(context, folder, "overheads_merged.json", dlrm_merged_write,
                                                  &ranks->merged, &n_written, error);
    if (!status)
        status = write_raw(context, ranks, folder, model, &n_written, error);
    if (!status)
        status = write_table(context, ranks, folder, &n_written, error);
    stage_end(context);
    if (!status && n_bytes)
        *n_bytes = n_written;
    return status;
}
