/*
 * diff.c - implements sutra/diff.h: reads both sides concurrently, trace by trace, and compares them.
 *
 * Each trace is reduced to a struct part. Traces of one side are read in parallel, and their parts are joined in the
 * order of the ranks, so that results do not depend on threads.
 */
#include "compare/diff.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "analyze/ranks.h"
#include "base/error.h"
#include "base/options.h"
#include "text/quantities.h"

/* ---- Traces ---- */

/* Reduces a trace of a side. */
static enum sutra_status make_part(struct sutra_context *context, const struct sutra_device_trace *trace, int side,
                                   int64_t rank, const struct sutra_diff_options *options, struct part *part,
                                   struct sutra_error *error) {
    const struct part_options part_options = {.side = side, .rank = rank, .diff = *options};
    return part_init(part) ? part_make(context, trace, &part_options, part, error) : error_memory(error);
}

static void free_part(void *part) {
    part_free(part);
}

static enum sutra_status read_trace(void *arg, struct rank_run *run, size_t number, struct sutra_context *context,
                                    struct sutra_device_trace *trace, struct sutra_error *error) {
    const struct diff_side *side = arg;
    const struct rank_task *task = &side->tasks.list[number];
    (void)run;
    enum sutra_status status =
        make_part(context, trace, side->side, task->rank, side->options, task_result(&side->tasks, number), error);
    error_name_file(error, status, task->path);
    sutra_device_trace_free(trace);
    return status;
}

static const struct rank_analysis part_analysis = {
    .result_size = sizeof(struct part), .analyze = read_trace, .free = free_part};

static enum sutra_status read_side(struct sutra_context *context, struct diff_side *side, struct sutra_error *error) {
    side->tasks.names_traces = true;
    enum sutra_status status =
        rank_tasks_run(&side->tasks, side->analysis, context, side->paths, side->n_paths, side, error);
    if (status == SUTRA_DATA && error && side->tasks.n_selected == 0)
        error_name_file(error, status, side->side ? "B" : "A");
    return status;
}

/* ---- Reading both sides concurrently ---- */

static void keep_warning(void *arg, const char *message) {
    struct diff_side *model = arg;
    buffer_append(&model->warnings, message, strlen(message) + 1);
}

static void read_alone(void *arg, size_t side) {
    struct diff_side *model = (struct diff_side *)arg + side;
    const struct sutra_context_options *of_all = &model->context->options;
    const struct sutra_context_options options = {.size = sizeof options,
                                                  .n_threads = model->n_threads,
                                                  .device = SUTRA_DEVICE_CPU,
                                                  .strict = of_all->strict,
                                                  .lenient = of_all->lenient,
                                                  .most_input_bytes = of_all->most_input_bytes,
                                                  .warning = keep_warning,
                                                  .arg = model};
    struct sutra_context *context = NULL;
    model->status = sutra_context_create(&options, &context, &model->error);
    if (model->status)
        return;
    pool_follow(context->pool, model->context->pool);
    context_share_device(context, model->context);
    context->window = model->context->window;
    model->status = read_side(context, model, &model->error);
    sutra_context_free(context);
}

/* Reads the sides sequentially with one thread. */
enum sutra_status diff_sides_read(struct sutra_context *context, struct diff_side sides[2], struct sutra_error *error) {
    sides[1].side = 1;
    if (pool_threads(context->pool) > 1) {
        unsigned n_threads = pool_threads(context->pool);
        for (unsigned side = 0; side < 2; side++) {
            sides[side].context = context;
            sides[side].n_threads = (n_threads + side) / 2;
        }
        stage_begin(context, "analyze ranks", sides[0].n_paths + sides[1].n_paths);
        pool_run(context->pool, 2, read_alone, sides);
        stage_end(context);
        enum sutra_status status = SUTRA_OK;
        for (int side = 0; side < 2; side++) {
            if (!status) {
                /* Report the side's warnings, and its error. */
                const struct buffer *lines = &sides[side].warnings;
                for (size_t at = 0; at < lines->length; at += strlen(lines->bytes + at) + 1)
                    context_warn(context, "%s", lines->bytes + at);
                status = sides[side].status || !lines->failed
                             ? error_copy(error, sides[side].status, &sides[side].error)
                             : error_memory(error);
            }
            buffer_free(&sides[side].warnings);
        }
        return status;
    }
    for (int side = 0; side < 2; side++)
        TRY(read_side(context, &sides[side], error));
    return SUTRA_OK;
}

/* ---- Comparison ---- */

static enum sutra_status join(struct part *whole, struct part *part, int side, struct sutra_diff *diff,
                              struct sutra_error *error) {
    enum sutra_status status = part_join(whole, part, side, error);
    part_free(part);
    diff->summary.n_ranks[side]++;
    return status;
}

static enum sutra_status compare_parts(struct diff_side sides[2], struct sutra_diff *diff, struct sutra_error *error) {
    struct part whole;
    enum sutra_status status = part_init(&whole) ? SUTRA_OK : error_memory(error);
    for (int side = 0; side < 2 && !status; side++) {
        for (size_t i = 0; i < sides[side].tasks.n_analyzed && !status; i++)
            status = join(&whole, task_result_of_rank(&sides[side].tasks, i), side, diff, error);
        if (!status)
            status = collective_waits_find(&whole, side, error);
    }
    if (!status)
        status = diff_tables_make(&whole, diff, error);
    part_free(&whole);
    return status;
}

static enum sutra_status compare_pair(struct part sides[2], struct sutra_diff *diff, struct sutra_error *error) {
    struct part whole;
    enum sutra_status status = part_init(&whole) ? SUTRA_OK : error_memory(error);
    for (int side = 0; side < 2 && !status; side++)
        status = join(&whole, &sides[side], side, diff, error);
    if (!status)
        status = diff_tables_make(&whole, diff, error);
    part_free(&whole);
    return status;
}

/* ---- Public functions ---- */

void diff_publish_defects(struct sutra_result *result, struct diff_defects *defects, int side,
                          const struct trace_validity *validity) {
    defects->validity[side] = *validity;
    result->defects = defects->list;
    for (int kind = 0; kind < N_DEFECTS; kind++) {
        if (!validity->defects[kind].count)
            continue;
        const struct defect_text text = defect_message(validity, (enum trace_defect_kind)kind, side ? "B" : "A");
        defects->list[result->n_defects++] =
            defect_publish(&defects->validity[side].defects[kind], (enum trace_defect_kind)kind, text.text);
    }
}

static void publish_side(struct sutra_diff *diff, int side, const struct trace_validity *validity) {
    diff->summary.reliable[side] = !validity_has_damaged_times(validity) && !validity_has_device_clock(validity);
    diff_publish_defects(&diff->result, &diff->defects, side, validity);
}

/* Allocates the result; `taken` becomes the effective options. */
static enum sutra_status begin_diff(const struct sutra_diff_options *options, struct sutra_diff_options *taken,
                                    struct sutra_diff **made, struct sutra_error *error) {
    static const struct options_form form = OPTIONS_FORM(sutra_diff_options, category);
    TRY(options_copy(&form, options, taken, error));
    *made = calloc(1, sizeof **made);
    if (!*made || !result_init(&(*made)->result, diff_table_specs, SUTRA_DIFF_N_TABLES)) {
        free(*made);
        *made = NULL;
        return error_memory(error);
    }
    (*made)->result.of_job = true;
    (*made)->summary.size = sizeof(*made)->summary;
    return SUTRA_OK;
}

static enum sutra_status finish_diff(enum sutra_status status, struct sutra_diff *made, struct sutra_diff **diff) {
    if (status) {
        sutra_diff_free(made);
        return status;
    }
    *diff = made;
    struct sutra_diff_summary *summary = &made->summary;
    const double percent = (summary->step_us[1] / summary->step_us[0] - 1) * 100;
    const char *step = summary->has_steps[1] ? "a step takes" : "the trace takes";
    const struct figure time = time_text(summary->step_us[1]);
    if (fabs(percent) < UNCHANGED_PERCENT)
        snprintf(summary->sentence, sizeof summary->sentence, "B is as fast as A: %s %.32s", step, time.text);
    else
        snprintf(summary->sentence, sizeof summary->sentence, "B is %s: %s %.32s instead of %.32s, %.32s",
                 percent > 0 ? "slower" : "faster", step, time.text, time_text(summary->step_us[0]).text,
                 change_text(percent).text);
    return status;
}

enum sutra_status sutra_diff_run(struct sutra_context *context, const char *const *paths_a, size_t n_a,
                                 const char *const *paths_b, size_t n_b, const struct sutra_diff_options *options,
                                 struct sutra_diff **diff, struct sutra_error *error) {
    struct sutra_diff_options taken;
    struct sutra_diff *made = NULL;
    TRY(begin_diff(options, &taken, &made, error));
    struct diff_side sides[2] = {{.paths = paths_a, .n_paths = n_a}, {.paths = paths_b, .n_paths = n_b}};
    for (int side = 0; side < 2; side++) {
        sides[side].analysis = &part_analysis;
        sides[side].options = &taken;
        sides[side].tasks.restriction.ranks = taken.ranks;
        sides[side].tasks.restriction.n_ranks = taken.n_ranks;
        sides[side].tasks.prefetch_columns = PREFETCH_IDS | PREFETCH_ARGUMENTS;
    }
    enum sutra_status status = diff_sides_read(context, sides, error);
    if (!status)
        status = compare_parts(sides, made, error);
    for (int side = 0; side < 2; side++) {
        if (!status)
            publish_side(made, side, &sides[side].tasks.validity);
        rank_tasks_free(&sides[side].tasks);
    }
    return finish_diff(status, made, diff);
}

enum sutra_status sutra_diff_run_of(struct sutra_context *context, const struct sutra_device_trace *a,
                                    const struct sutra_device_trace *b, const struct sutra_diff_options *options,
                                    struct sutra_diff **diff, struct sutra_error *error) {
    const struct sutra_device_trace *const traces[2] = {a, b};
    struct part parts[2] = {{.texts.n = 0}, {.texts.n = 0}};
    struct sutra_diff_options taken;
    struct sutra_diff *made = NULL;
    TRY(begin_diff(options, &taken, &made, error));
    enum sutra_status status = SUTRA_OK;
    for (int side = 0; side < 2 && !status; side++)
        status = make_part(context, traces[side], side, 0, &taken, &parts[side], error);
    if (!status)
        status = compare_pair(parts, made, error);
    for (int side = 0; side < 2; side++) {
        if (!status)
            publish_side(made, side, traces[side]->validity);
        part_free(&parts[side]);
    }
    return finish_diff(status, made, diff);
}

void sutra_diff_free(struct sutra_diff *diff) {
    if (!diff)
        return;
    result_free(&diff->result);
    free(diff);
}

void sutra_diff_summary(const struct sutra_diff *diff, struct sutra_diff_summary *summary) {
    report_give(summary, &diff->summary, sizeof diff->summary);
}
