/*
 * compare.c - HTA's TraceDiff: counts and durations by name of event in one rank and step of each side, on the CPU, on
 * the GPU, and on both.
 *
 *     trace --names_sum()--> sums by name --+
 *                                           +-- compare_table() --> tables --> lists of changed names
 *     trace --names_sum()--> sums by name --+
 *
 * A CPU event belongs to the step in which it starts, a GPU event to the step of its launch. Durations of the CPU
 * include the children of operators. As in pandas, all numbers of a side are real if a name is missing there.
 * O(events), and a sort of the names.
 */
#include <stdlib.h>

#include "analyze/compat/hta/hta.h"
#include "base/error.h"
#include "base/options.h"
#include "columns/column.h"
#include "compare/diff.h"
#include "text/numbers.h"
#include "write/json.h"
#include "write/text.h"

#define COMPARE_COLUMNS(first)                                                                                         \
    {                                                                                                                  \
        TEXT(first), INTEGER("control_counts"), INTEGER("control_total_duration"), INTEGER("test_counts"),             \
            INTEGER("test_total_duration"), INTEGER("diff_counts"), INTEGER("diff_duration"),                          \
            TEXT("counts_change_categories")                                                                           \
    }

static const struct table_spec specs[SUTRA_HTA_COMPARE_N_TABLES] = {
    [SUTRA_HTA_COMPARE_ALL] = {"hta_compare_all", OF_JOB, .columns = COMPARE_COLUMNS("name")},
    [SUTRA_HTA_COMPARE_ALL_SHORT] = {"hta_compare_all_short", OF_JOB, .columns = COMPARE_COLUMNS("short_name")},
    [SUTRA_HTA_COMPARE_CPU] = {"hta_compare_cpu", OF_JOB, .columns = COMPARE_COLUMNS("name")},
    [SUTRA_HTA_COMPARE_CPU_SHORT] = {"hta_compare_cpu_short", OF_JOB, .columns = COMPARE_COLUMNS("short_name")},
    [SUTRA_HTA_COMPARE_GPU] = {"hta_compare_gpu", OF_JOB, .columns = COMPARE_COLUMNS("name")},
    [SUTRA_HTA_COMPARE_GPU_SHORT] = {"hta_compare_gpu_short", OF_JOB, .columns = COMPARE_COLUMNS("short_name")},
};

struct sutra_hta_compare {
    struct sutra_result result;
    struct diff_defects defects;
};

/* ---- One side ---- */

enum { HTA_ON_HOST, HTA_ON_DEVICE };

struct hta_name_sum {
    uint64_t count[2]; /* on the CPU, on the GPU */
    wide_t ns[2];
};

struct hta_names {
    struct strings names;
    struct hta_name_sum *sums; /* by name */
    bool durs_real;
};

/* The requested step, or the lowest step number of an event's name; ITERATION_NONE: no such step. */
static int64_t choose_step(const struct hta_rows *rows, const struct hta_iterations *iterations, const char *step) {
    int64_t chosen = ITERATION_NONE, wanted = ITERATION_NONE;
    if (step && !integer_parse(step, strlen(step), &wanted))
        return ITERATION_NONE;
    for (row_t i = 0; i < rows->n && iterations->of_name; i++) {
        int64_t number = iterations->of_name[rows->events->name[rows->list[i]]];
        bool fits = number != ITERATION_NONE && (!step || number == wanted);
        if (fits && (chosen == ITERATION_NONE || number < chosen))
            chosen = number;
    }
    return chosen;
}

/* Sums the events of the step. SUTRA_DATA: the trace has no such step. */
static enum sutra_status sum_names(struct sutra_context *context, const struct sutra_device_trace *trace,
                                   const char *step, struct arena *arena, struct hta_names *names,
                                   struct sutra_error *error) {
    const struct sutra_hta_options options = {.size = sizeof options, .compat = true};
    struct hta_iterations iterations = {0};
    struct hta_rows rows;
    struct hta_name_sum *sums = arena_zeros(arena, trace->strings.n, sizeof *sums);
    TRY(arena_status(arena, error));
    TRY(hta_rows_make_all(context, &options, trace, arena, &rows, error));
    TRY(hta_iterations_make(&rows, &options, arena, &iterations, error));
    int64_t chosen = choose_step(&rows, &iterations, step);
    if (chosen == ITERATION_NONE) {
        if (step)
            return error_set(error, SUTRA_DATA, "no event " STEP_NAME "#%.100s", step);
        return error_set(error, SUTRA_DATA, "no event " STEP_NAME "#N: HTA compares profiler steps");
    }
    for (row_t i = 0; i < rows.n; i++)
        if (iterations.of_event[rows.list[i]] == chosen) {
            struct hta_name_sum *sum = &sums[rows.events->name[rows.list[i]]];
            int where = rows.state[rows.list[i]] & HTA_STREAM ? HTA_ON_DEVICE : HTA_ON_HOST;
            sum->count[where]++;
            sum->ns[where] += rows.dur[rows.list[i]];
        }
    names->durs_real = rows.durs_real;
    /* Keep the names that have a sum, in the order of the trace. */
    uint64_t capacity = 0;
    bool ok = strings_init(&names->names);
    for (uint32_t string = 0; string < rows.strings->n && ok; string++) {
        if (!sums[string].count[0] && !sums[string].count[1])
            continue;
        uint32_t name =
            strings_intern(&names->names, strings_text(rows.strings, string), strings_length(rows.strings, string));
        ok = name != STRING_NONE && column_grow(&names->sums, name, &capacity, sizeof *names->sums);
        if (ok)
            names->sums[name] = sums[string];
    }
    return ok ? SUTRA_OK : error_memory(error);
}

/* The same for one side. The caller frees the names, also after a failure. */
static enum sutra_status names_sum(struct sutra_context *context, const struct sutra_device_trace *trace,
                                   const char *step, struct hta_names *names, struct sutra_error *error) {
    struct arena arena = {0};
    context_choose_engine(context, NO_MATCHING);
    stage_begin(context, "analyze", trace->events.n);
    enum sutra_status status = sum_names(context, trace, step, &arena, names, error);
    stage_end(context);
    arena_free(&arena);
    return status;
}

static void names_free(void *of) {
    struct hta_names *names = of;
    strings_free(&names->names);
    free(names->sums);
}

static enum sutra_status read_trace(void *arg, struct rank_run *run, size_t number, struct sutra_context *context,
                                    struct sutra_device_trace *trace, struct sutra_error *error) {
    const struct diff_side *side = arg;
    const struct sutra_hta_compare_options *options = side->options;
    (void)run;
    enum sutra_status status =
        names_sum(context, trace, options->step[side->side], task_result(&side->tasks, number), error);
    if (status)
        error_name_file(error, status, side->tasks.list[number].path);
    sutra_device_trace_free(trace);
    return status;
}

static const struct rank_analysis names_analysis = {
    .result_size = sizeof(struct hta_names), .analyze = read_trace, .free = names_free};

/* ---- Both sides ---- */

struct hta_pair {
    uint64_t count[2]; /* of A and B */
    wide_t ns[2];
};

struct hta_join {
    bool of[2];     /* whether the table has events of the CPU, of the GPU */
    bool shortened; /* names are short names */
    struct strings names;
    struct hta_pair *pairs; /* by name */
    uint64_t capacity;
    uint32_t *order;
    bool missing[2]; /* a name */
};

static bool add_name(struct hta_join *join, const char *name, size_t length, int side, const struct hta_name_sum *sum) {
    uint32_t n_known = join->names.n, number = strings_intern(&join->names, name, length);
    if (number == STRING_NONE || !column_grow(&join->pairs, number, &join->capacity, sizeof *join->pairs))
        return false;
    if (number == n_known)
        join->pairs[number] = (struct hta_pair){0};
    for (int where = 0; where < 2; where++) {
        join->pairs[number].count[side] += join->of[where] ? sum->count[where] : 0;
        join->pairs[number].ns[side] += join->of[where] ? sum->ns[where] : 0;
    }
    return true;
}

static bool add_side(struct hta_join *join, const struct hta_names *names, int side) {
    struct buffer shortened = {0};
    bool ok = true;
    for (uint32_t name = 0; name < names->names.n && ok; name++) {
        const struct hta_name_sum *sum = &names->sums[name];
        const char *text = strings_text(&names->names, name);
        size_t length = strings_length(&names->names, name);
        if (!(join->of[0] && sum->count[0]) && !(join->of[1] && sum->count[1]))
            continue;
        if (join->shortened)
            hta_short_name(text, length, &shortened);
        else
            shortened.length = 0;
        ok = !shortened.failed && add_name(join, join->shortened && shortened.bytes ? shortened.bytes : text,
                                           join->shortened ? shortened.length : length, side, sum);
    }
    buffer_free(&shortened);
    return ok;
}

/* Names of A first, then names of B only, both in code point order. */
static int compare_pairs(const void *left, const void *right, void *arg) {
    const struct hta_join *join = arg;
    uint32_t a = *(const uint32_t *)left, b = *(const uint32_t *)right;
    bool only_b = !join->pairs[a].count[0], other_only_b = !join->pairs[b].count[0];
    if (only_b != other_only_b)
        return only_b ? 1 : -1;
    return strcmp(strings_text(&join->names, a), strings_text(&join->names, b));
}

static bool sort_pairs(struct hta_join *join) {
    join->order = calloc((size_t)join->names.n + 1, sizeof *join->order);
    for (uint32_t i = 0; i < join->names.n && join->order; i++) {
        join->order[i] = i;
        for (int side = 0; side < 2; side++)
            join->missing[side] |= !join->pairs[i].count[side];
    }
    if (join->order)
        qsort_r(join->order, join->names.n, sizeof *join->order, compare_pairs, join);
    return join->order;
}

static void add_us(struct sutra_table *table, wide_t ns) {
    table_number(table, (double)ns / NS_PER_US);
}

/* compare_traces: names of A in order, then names of B only. */
static enum sutra_status compare_table(const struct hta_names *const sides[2], enum sutra_hta_compare_table id,
                                       struct sutra_table *table, struct sutra_error *error) {
    struct hta_join join = {
        .of = {id < SUTRA_HTA_COMPARE_GPU, id < SUTRA_HTA_COMPARE_CPU || id >= SUTRA_HTA_COMPARE_GPU},
        .shortened = (id - SUTRA_HTA_COMPARE_ALL) % 2};
    bool ok =
        strings_init(&join.names) && add_side(&join, sides[0], 0) && add_side(&join, sides[1], 1) && sort_pairs(&join);
    if (ok) {
        /* Columns of a side are real if a name is missing or its durations are real. */
        for (uint32_t side = 0; side < 2; side++) {
            bool missing = join.missing[side];
            table_retype(table, 1 + 2 * side, missing ? SUTRA_COLUMN_REAL : SUTRA_COLUMN_INTEGER);
            table_retype(table, 2 + 2 * side,
                         missing || sides[side]->durs_real ? SUTRA_COLUMN_REAL : SUTRA_COLUMN_INTEGER);
        }
        bool missing = join.missing[0] || join.missing[1];
        table_retype(table, 5, missing ? SUTRA_COLUMN_REAL : SUTRA_COLUMN_INTEGER);
        table_retype(table, 6,
                     missing || sides[0]->durs_real || sides[1]->durs_real ? SUTRA_COLUMN_REAL : SUTRA_COLUMN_INTEGER);
    }
    for (uint32_t i = 0; i < join.names.n && ok; i++) {
        const struct hta_pair *pair = &join.pairs[join.order[i]];
        int64_t more = (int64_t)pair->count[1] - (int64_t)pair->count[0];
        table_text(table, strings_text(&join.names, join.order[i]), strings_length(&join.names, join.order[i]));
        for (int side = 0; side < 2; side++) {
            table_integer(table, (int64_t)pair->count[side]);
            add_us(table, pair->ns[side]);
        }
        table_integer(table, more);
        add_us(table, pair->ns[1] - pair->ns[0]);
        table_text(table, more > 0 ? "+" : more < 0 ? "-" : "=", 1);
    }
    strings_free(&join.names);
    free(join.pairs);
    free(join.order);
    return ok && !table->failed ? SUTRA_OK : error_memory(error);
}

/* ---- Changes ---- */

enum { COMPARE_NAME, COMPARE_CONTROL, COMPARE_TEST = 3 };

static bool write_changes(const void *of, struct text_out *text) {
    static const char *const changes[] = {"added", "deleted", "increased", "decreased", "unchanged"};
    const struct sutra_table *table = of;
    struct json_out json = {.text = text, .indent = 1};
    json_open(&json, '{');
    for (int change = 0; change < (int)(sizeof changes / sizeof *changes); change++) {
        json_add_open(&json, changes[change], '[');
        for (uint64_t row = 0; row < table->n_rows; row++) {
            size_t length;
            const char *name = table_get_text(table, COMPARE_NAME, row, &length);
            double control = table_get_real(table, COMPARE_CONTROL, row);
            double test = table_get_real(table, COMPARE_TEST, row);
            double more = test - control;
            const bool is[] = {control == 0 && test > 0, control > 0 && test == 0, control > 0 && more > 0,
                               test > 0 && more<0, test> 0 && more == 0};
            if (is[change])
                json_string(&json, name, length);
        }
        json_close(&json, ']');
        out_step(text);
    }
    json_close(&json, '}');
    out_add(text, "\n");
    return true;
}

enum sutra_status sutra_hta_compare_write_changes(struct sutra_context *context,
                                                  const struct sutra_hta_compare *compare,
                                                  enum sutra_hta_compare_table id, const char *path, uint64_t *n_bytes,
                                                  struct sutra_error *error) {
    const struct sutra_table *table = sutra_result_table(&compare->result, id, NULL);
    if (!table)
        return error_set(error, SUTRA_USAGE, "there is no table number %u", (unsigned)id);
    return text_file_write(context, path, write_changes, table, n_bytes, error);
}

/* ---- The comparison ---- */

static enum sutra_status compare_names(const struct hta_names *const sides[2],
                                       const struct trace_validity *const validity[2],
                                       struct sutra_hta_compare **compare, struct sutra_error *error) {
    struct sutra_hta_compare *made = calloc(1, sizeof *made);
    if (!made || !result_init(&made->result, specs, SUTRA_HTA_COMPARE_N_TABLES)) {
        free(made);
        return error_memory(error);
    }
    made->result.of_job = true;
    made->result.verbatim = true;
    enum sutra_status status = SUTRA_OK;
    for (uint32_t id = 0; id < SUTRA_HTA_COMPARE_N_TABLES && !status; id++)
        status = compare_table(sides, (enum sutra_hta_compare_table)id, result_table_begin(&made->result, id), error);
    for (int side = 0; side < 2; side++)
        diff_publish_defects(&made->result, &made->defects, side, validity[side]);
    if (status)
        sutra_hta_compare_free(made);
    else
        *compare = made;
    return status;
}

static const struct options_form form = OPTIONS_FORM(sutra_hta_compare_options, step);

enum sutra_status sutra_hta_compare_run(struct sutra_context *context, const char *const *paths_a, size_t n_a,
                                        const char *const *paths_b, size_t n_b,
                                        const struct sutra_hta_compare_options *options,
                                        struct sutra_hta_compare **compare, struct sutra_error *error) {
    struct sutra_hta_compare_options taken;
    TRY(options_copy(&form, options, &taken, error));
    struct diff_side sides[2] = {{.paths = paths_a, .n_paths = n_a}, {.paths = paths_b, .n_paths = n_b}};
    for (int side = 0; side < 2; side++) {
        sides[side].analysis = &names_analysis;
        sides[side].options = &taken;
        sides[side].tasks.restriction.ranks = taken.ranks;
        sides[side].tasks.restriction.n_ranks = taken.n_ranks;
        sides[side].tasks.keeps_truncated = true;
    }
    enum sutra_status status = diff_sides_read(context, sides, error);
    if (!status) /* the lowest ranks */
        status = compare_names((const struct hta_names *[2]){task_result_of_rank(&sides[0].tasks, 0),
                                                             task_result_of_rank(&sides[1].tasks, 0)},
                               (const struct trace_validity *[2]){&sides[0].tasks.validity, &sides[1].tasks.validity},
                               compare, error);
    for (int side = 0; side < 2; side++)
        rank_tasks_free(&sides[side].tasks);
    return status;
}

enum sutra_status sutra_hta_compare_run_of(struct sutra_context *context, const struct sutra_device_trace *a,
                                           const struct sutra_device_trace *b,
                                           const struct sutra_hta_compare_options *options,
                                           struct sutra_hta_compare **compare, struct sutra_error *error) {
    struct sutra_hta_compare_options taken;
    struct hta_names names[2] = {{.durs_real = false}, {.durs_real = false}};
    TRY(options_copy(&form, options, &taken, error));
    enum sutra_status status = names_sum(context, a, taken.step[0], &names[0], error);
    if (!status)
        status = names_sum(context, b, taken.step[1], &names[1], error);
    if (!status)
        status = compare_names((const struct hta_names *[2]){&names[0], &names[1]},
                               (const struct trace_validity *[2]){a->validity, b->validity}, compare, error);
    names_free(&names[0]);
    names_free(&names[1]);
    return status;
}

void sutra_hta_compare_free(struct sutra_hta_compare *compare) {
    if (!compare)
        return;
    result_free(&compare->result);
    free(compare);
}
