/*
 * ranks.c - the traces of many ranks, and their overheads together.
 *
 * Each trace is a task: analyze, show to the visitor, free. What stays of a rank are its figures and the samples of its
 * overheads, eight bytes each.
 */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "analyze/dlrm/overheads.h"
#include "analyze/dlrm/write.h"
#include "analyze/ranks.h"
#include "analyze/table.h"
#include "base/error.h"
#include "base/options.h"
#include "write/json.h"
#include "write/text.h"

/*
 * The overheads of several traces together.
 */

struct dlrm_shared {
    struct arena arena; /* of all that follows */
    struct strings texts;
    struct sutra_dlrm_overhead *list; /* T1, then T4 and the operators in the order of first sight; without shapes */
    uint64_t n;
    struct dlrm_launches launches; /* the longest list of each operator */
};

/*
 * The overheads of several traces together: samples of one kind and operator, whatever their shapes,
 * are one list, in the order of the traces; of the launches of an operator the longest list counts, the first of equal
 * ones. Steps of optimizers have no list: the original's model handles them apart. O(samples).
 */

/* What stands for the shapes in a file whose form knows shapes. */
#define NO_SHAPES "(((-1,),), ((-1,),))"

struct sharing {
    struct dlrm_shared *shared;
    const struct dlrm_raw_part *parts;
    size_t n_parts;
    struct tuples rows; /* (kind, name) */
    struct arena scratch;
    uint32_t *row;  /* of each group of each part, one part's behind the other's */
    double *us;     /* by row */
    uint64_t *next; /* per row: where its next sample goes */
};

static uint32_t share_text(struct dlrm_shared *shared, const struct dlrm_raw *raw, uint32_t text) {
    return strings_intern(&shared->texts, strings_text(&raw->texts, text), strings_length(&raw->texts, text));
}

static bool number_rows(struct sharing *sharing) {
    uint64_t n_groups = 0, at = 0;
    for (size_t i = 0; i < sharing->n_parts; i++)
        n_groups += sharing->parts[i].raw->n_groups;
    sharing->row = arena_take(&sharing->scratch, n_groups, sizeof *sharing->row);
    bool ok = sharing->row != NULL;
    for (size_t i = 0; i < sharing->n_parts && ok; i++) {
        const struct dlrm_raw *raw = sharing->parts[i].raw;
        for (uint64_t group = 0; group < raw->n_groups && ok; group++) {
            uint32_t name = share_text(sharing->shared, raw, raw->groups[group].name);
            uint32_t row = tuples_number(&sharing->rows, (struct tuple){{raw->groups[group].kind, name}});
            ok = name != STRING_NONE && row != TUPLE_NONE;
            sharing->row[at++] = row;
        }
    }
    return ok;
}

/* Counts the samples of each row, and puts them together. */
static bool gather(struct sharing *sharing) {
    struct dlrm_shared *shared = sharing->shared;
    uint64_t n = 0, at = 0;
    shared->list = arena_zeros(&shared->arena, sharing->rows.n, sizeof *shared->list);
    sharing->next = arena_take(&sharing->scratch, sharing->rows.n, sizeof *sharing->next);
    if (!shared->list || !sharing->next)
        return false;
    for (size_t i = 0; i < sharing->n_parts; i++)
        for (uint64_t group = 0; group < sharing->parts[i].raw->n_groups; group++)
            shared->list[sharing->row[at++]].n += sharing->parts[i].raw->groups[group].n;
    for (uint32_t row = 0; row < sharing->rows.n; n += shared->list[row++].n)
        sharing->next[row] = n;
    sharing->us = arena_take(&sharing->scratch, n, sizeof *sharing->us);
    at = 0;
    for (size_t i = 0; i < sharing->n_parts && sharing->us; i++) {
        const struct dlrm_raw *raw = sharing->parts[i].raw;
        const double *us = raw->us;
        for (uint64_t group = 0; group < raw->n_groups; us += raw->groups[group++].n) {
            uint64_t *next = &sharing->next[sharing->row[at++]];
            memcpy(sharing->us + *next, us, raw->groups[group].n * sizeof *us);
            *next += raw->groups[group].n;
        }
    }
    return sharing->us != NULL;
}

static void measure(struct sharing *sharing) {
    struct dlrm_shared *shared = sharing->shared;
    double *us = sharing->us;
    for (; shared->n < sharing->rows.n; shared->n++) {
        const value_key *key = sharing->rows.list[shared->n].part;
        struct sutra_dlrm_overhead *row = &shared->list[shared->n];
        row->kind = (enum sutra_dlrm_overhead_kind)key[0];
        row->name = row->kind == SUTRA_T1 ? SUTRA_DLRM_NONE : (uint32_t)key[1];
        row->shapes = SUTRA_DLRM_NONE;
        dlrm_mean_of(us, row->n, &row->mean_us, &row->std_us);
        us += row->n;
    }
}

/* ---- Launches ---- */

/* The longest list so far, of the trace with this number. */
struct longest_launches {
    size_t part;
    const struct dlrm_launch_list *list;
};

static bool copy_launches(struct dlrm_shared *shared, const struct dlrm_raw *raw, const struct dlrm_launch_list *from,
                          uint32_t name) {
    struct dlrm_launches *launches = &shared->launches;
    struct dlrm_launch_list list = {.name = name, .first = launches->n_names, .n = from->n};
    bool ok = arena_grow(&shared->arena, &launches->lists, launches->n_lists, &launches->lists_capacity,
                         sizeof *launches->lists);
    for (uint64_t i = 0; i < from->n && ok; i++) {
        uint32_t launch = share_text(shared, raw, raw->launches.names[from->first + i]);
        ok = launch != STRING_NONE && arena_grow(&shared->arena, &launches->names, launches->n_names,
                                                 &launches->names_capacity, sizeof *launches->names);
        if (ok)
            launches->names[launches->n_names++] = launch;
    }
    if (ok)
        launches->lists[launches->n_lists++] = list;
    return ok;
}

static bool find_longest(struct sharing *sharing, struct tuples *names, struct longest_launches **longest) {
    uint64_t capacity = 0;
    for (size_t i = 0; i < sharing->n_parts; i++) {
        const struct dlrm_launches *launches = &sharing->parts[i].raw->launches;
        for (uint64_t j = 0; j < launches->n_lists; j++) {
            uint32_t name = share_text(sharing->shared, sharing->parts[i].raw, launches->lists[j].name);
            if (name == STRING_NONE)
                return false;
            if (strstr(strings_text(&sharing->shared->texts, name), "Optimizer"))
                continue;
            uint32_t n = names->n, number = tuples_number(names, (struct tuple){{name}});
            if (number == TUPLE_NONE || !arena_grow(&sharing->scratch, longest, number, &capacity, sizeof **longest))
                return false;
            if (number == n || launches->lists[j].n > (*longest)[number].list->n)
                (*longest)[number] = (struct longest_launches){i, &launches->lists[j]};
        }
    }
    return true;
}

static bool share_launches(struct sharing *sharing) {
    struct tuples names = {0};
    struct longest_launches *longest = NULL;
    bool ok = find_longest(sharing, &names, &longest);
    for (uint32_t i = 0; i < names.n && ok; i++)
        ok = copy_launches(sharing->shared, sharing->parts[longest[i].part].raw, longest[i].list,
                           (uint32_t)names.list[i].part[0]);
    tuples_free(&names);
    return ok;
}

/* dlrm_shared_free() is due in any case. */
static enum sutra_status dlrm_shared_make(struct dlrm_shared *shared, const struct dlrm_raw_part *parts, size_t n,
                                          struct sutra_error *error) {
    struct sharing sharing = {.shared = shared, .parts = parts, .n_parts = n};
    *shared = (struct dlrm_shared){0};
    bool ok = strings_init(&shared->texts) && number_rows(&sharing) && gather(&sharing);
    if (ok)
        measure(&sharing);
    ok = ok && share_launches(&sharing);
    tuples_free(&sharing.rows);
    arena_free(&sharing.scratch);
    return ok ? SUTRA_OK : error_memory(error);
}

static void dlrm_shared_free(struct dlrm_shared *shared) {
    strings_free(&shared->texts);
    arena_free(&shared->arena);
}

/* ---- The file ---- */

static void add_text(struct json_out *json, const struct strings *texts, uint32_t text, bool key) {
    (key ? json_key : json_string)(json, strings_text(texts, text), strings_length(texts, text));
}

static void add_row(const struct dlrm_shared *shared, struct json_out *json, const struct sutra_dlrm_overhead *row) {
    bool of_operator = row->kind != SUTRA_T1 && row->kind != SUTRA_T4;
    if (row->kind != SUTRA_T1)
        add_text(json, &shared->texts, row->name, true);
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

static void add_kind(const struct dlrm_shared *shared, struct json_out *json, int kind) {
    const char name[] = {'t', (char)('1' + kind)};
    json_key(json, name, sizeof name);
    if (kind != SUTRA_T1)
        json_open(json, '{');
    for (uint64_t i = 0; i < shared->n; i++)
        if ((int)shared->list[i].kind == kind)
            add_row(shared, json, &shared->list[i]);
    if (kind != SUTRA_T1)
        json_close(json, '}');
}

static void add_launches(const struct dlrm_shared *shared, struct json_out *json) {
    json_name(json, "launches");
    json_open(json, '{');
    for (uint64_t i = 0; i < shared->launches.n_lists; i++) {
        const struct dlrm_launch_list *list = &shared->launches.lists[i];
        add_text(json, &shared->texts, list->name, true);
        json_open(json, '[');
        for (uint64_t j = 0; j < list->n; j++)
            add_text(json, &shared->texts, shared->launches.names[list->first + j], false);
        json_close(json, ']');
    }
    json_close(json, '}');
}

/* Appends a struct dlrm_shared in the form of the overheads by shape of one trace. */
static bool dlrm_shared_write(const void *of, struct text_out *out) {
    struct json_out json = {.text = out, .indent = 1};
    json_open(&json, '{');
    for (int kind = 0; kind < SUTRA_N_OVERHEADS; kind++)
        add_kind(of, &json, kind);
    add_launches(of, &json);
    json_close(&json, '}');
    return true;
}

/*
 * The samples of a rank's overheads as bytes, for another process that joins those of all ranks. O(n).
 */

static bool groups_are_sound(const struct dlrm_raw *raw) {
    uint64_t left = raw->n;
    for (uint64_t i = 0; i < raw->n_groups; i++) {
        const struct dlrm_raw_group *group = &raw->groups[i];
        if ((unsigned)group->kind >= SUTRA_N_OVERHEADS || group->name >= raw->texts.n ||
            group->shapes >= raw->texts.n || group->n > left)
            return false;
        left -= group->n;
    }
    return true;
}

static bool launches_are_sound(const struct dlrm_raw *raw) {
    const struct dlrm_launches *launches = &raw->launches;
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
    codec_check(codec, groups_are_sound(raw) && launches_are_sound(raw));
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
    struct dlrm_shared shared;
};

static void compute_means(struct dlrm_rank *rank) {
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
}

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
    rank->place = number;
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
        status = dlrm_raw_take(dlrm, &rank->raw, error);
    if (!status) {
        rank->report = dlrm->report;
        clear_pointers(&rank->report);
        compute_means(rank);
        rank->dlrm = dlrm; /* visited in each shard: the visitor's files are made of the analysis */
        status = rank_run_visit(run, number, visit, ranks, error);
        rank->dlrm = NULL;
    }
    sutra_dlrm_free(dlrm);
    sutra_device_trace_free(trace);
    return status;
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

/* Whether decoded bytes are bools. */
static bool report_is_sound(const struct sutra_dlrm_report *report) {
    const bool *const flags[] = {&report->compat, &report->trimmed, &report->tolerant, &report->has_streams};
    bool sound = true;
    for (size_t i = 0; i < sizeof flags / sizeof *flags; i++)
        sound &= *(const unsigned char *)flags[i] <= 1;
    return sound;
}

static void rank_codec(void *arg, size_t number, struct codec *codec) {
    struct sutra_dlrm_ranks *ranks = arg;
    struct dlrm_rank *rank = task_result(&ranks->tasks, number);
    codec_options(codec, encode_rules, &ranks->rules);
    codec_value(codec, &rank->report);
    codec_value(codec, &rank->rank.overhead_us);
    clear_pointers(&rank->report);
    codec_check(codec, report_is_sound(&rank->report));
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
    ranks->parts = arena_take(&ranks->tasks.arena, n, sizeof *ranks->parts);
    if (!ranks->parts)
        return error_memory(error);
    for (size_t i = 0; i < n; i++) {
        const struct dlrm_rank *rank = task_result_of_rank(&ranks->tasks, i);
        ranks->parts[i] = (struct dlrm_raw_part){.raw = &rank->raw, .batch = rank->report.batch};
    }
    return dlrm_shared_make(&ranks->shared, ranks->parts, n, error);
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
    if (!made)
        return error_memory(error);
    enum sutra_status status = options_take(&form, options, &made->options, error);
    if (!status)
        status = dlrm_options_take(made->options.dlrm, &made->rules, error);
    if (!status)
        status = restriction_take(made->options.restriction, &made->tasks.restriction, error);
    if (!status)
        status = rank_tasks_run(&made->tasks, &analysis, context, paths, n_paths, made, error);
    if (status || made->tasks.is_elsewhere) {
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
    dlrm_shared_free(&ranks->shared);
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
    for (size_t i = 0; i < ranks->tasks.n_analyzed; i++) {
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
    struct dlrm_raw_part *parts = arena_take(&arena, ranks->tasks.n_analyzed, sizeof *parts);
    if (!parts)
        return error_memory(error);
    for (size_t i = 0; i < ranks->tasks.n_analyzed; i++) {
        parts[i] = ranks->parts[i];
        parts[i].model = model;
        parts[i].model_length = model ? strlen(model) : 0;
        if (parts[i].model_length == 0)
            parts[i].model = dlrm_model_of(sutra_dlrm_ranks_get(ranks, i)->path, &parts[i].model_length);
    }
    enum sutra_status status =
        text_file_write_in(context, folder, "overheads_merged_raw.csv", dlrm_raw_write,
                           &(struct dlrm_raw_table){parts, ranks->tasks.n_analyzed}, n_bytes, error);
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
