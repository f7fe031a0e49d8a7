/*
 * overview_ranks.c - the overview of a job. Of each trace its findings, its sums and its collectives are kept;
 * together, the ranks give the findings of the job.
 */
#include <stdlib.h>
#include <string.h>

#include "analyze/launches/graphs.h"
#include "analyze/operators/operators.h"
#include "analyze/overview/findings.h"
#include "analyze/overview/overview.h"
#include "analyze/overview/steps.h"
#include "analyze/overview/verdict.h"
#include "analyze/ranks.h"
#include "analyze/table.h"
#include "base/error.h"
#include "base/options.h"
#include "base/threads.h"
#include "match/key_index.h"

/* A step as it is recorded on the CPU: from its start to its end, while the steps of the tables fill the window. */
struct recorded_step {
    int64_t number, ns;
};

struct rank_overview {
    struct sutra_result result;        /* up to SUTRA_OVERVIEW_STEPS */
    struct sutra_operators *operators; /* until all ranks are joined */
    void *of_companion;                /* its result, until then, too */
    const struct sutra_companion *companion;
    struct rank_verdict verdict;
    struct rank_collectives collectives;
    struct recorded_step *steps;
    uint64_t n_steps;
};

struct sutra_overview {
    struct sutra_result result;
    struct rank_tasks tasks; /* whose results are struct rank_overview */
    struct sutra_overview_options options;
    struct graph_captures captures;
    struct sutra_operators_ranks *operators;
    void *of_companion;
    struct job_verdict verdict; /* in the arena of the tasks */
};

/* ---- Tables: one row each ---- */

#define PART_COLUMNS                                                                                                   \
    REAL("compute_us"), REAL("exposed_communication_us"), REAL("exposed_copies_us"), REAL("idle_host_us"),             \
        REAL("idle_dataloader_us"), REAL("idle_sync_us"), REAL("idle_device_us"), REAL("idle_rest_us")

const struct table_spec overview_table_specs[SUTRA_OVERVIEW_N_TABLES] = {
    [SUTRA_OVERVIEW_RANKS] = {"overview_ranks", OF_JOB,
                              .columns = {INTEGER("rank"), TEXT("trace"), REAL("window_us"), INTEGER("steps"),
                                          REAL("busy_percent"), REAL("communication_us"), TEXT("device_kind"),
                                          TEXT("cause")}},
    [SUTRA_OVERVIEW_TIMELINE] = {"overview_timeline", OF_JOB,
                                 .columns = {INTEGER("rank"), TEXT("kind"), REAL("time_us"), REAL("percent")}},
    [SUTRA_OVERVIEW_OPERATORS] = {"overview_operators", OF_JOB,
                                  .columns = {INTEGER("rank"), TEXT("name"), REAL("device_us"), REAL("percent"),
                                              INTEGER("kernels")}},
    [SUTRA_OVERVIEW_KERNELS] = {"overview_kernels", OF_JOB,
                                .columns = {INTEGER("rank"), TEXT("name"), REAL("device_us"), REAL("percent"),
                                            INTEGER("kernels")}},
    [SUTRA_OVERVIEW_STREAMS] = {"overview_streams", OF_JOB,
                                .columns = {INTEGER("rank"), TEXT("stream"), INTEGER("kernels"), REAL("compute_us"),
                                            REAL("communication_us"), REAL("copies_us"), REAL("work_us"),
                                            REAL("priority")}},
    [SUTRA_OVERVIEW_GRAPHS] = {"overview_graphs", OF_JOB, .columns = {GRAPH_COLUMNS}},
    [SUTRA_OVERVIEW_STEPS] = {"steps", OF_JOB,
                              .columns = {INTEGER("rank"), TEXT("step"), REAL("start_us"), REAL("time_us"),
                                          PART_COLUMNS, REAL("idle_us"), REAL("host_us"), INTEGER("kernels")}},
    [SUTRA_OVERVIEW_STEP_RANKS] = {"step_ranks", OF_JOB,
                                   .columns = {INTEGER("rank"), INTEGER("steps"), REAL("mean_us"), REAL("spread_us"),
                                               REAL("fastest_us"), REAL("median_us"), REAL("slowest_us"), PART_COLUMNS,
                                               REAL("host_us"), TEXT("slowest_step"), TEXT("cause"), REAL("more_us")}},
    [SUTRA_OVERVIEW_STEP_INDICES] = {"step_indices", OF_JOB,
                                     .columns = {TEXT("step"), INTEGER("ranks"), REAL("mean_us"), REAL("spread_us"),
                                                 REAL("fastest_us"), REAL("median_us"), REAL("slowest_us"),
                                                 INTEGER("slowest_rank"), TEXT("cause"), REAL("more_us")}},
    [SUTRA_OVERVIEW_COLLECTIVE_WAITS] = {"collective_waits", OF_JOB,
                                         .columns = {INTEGER("rank"), INTEGER("collectives"), REAL("wait_us"),
                                                     REAL("wait_caused_us"), INTEGER("n_arrived_last"),
                                                     INTEGER("n_arrived_first")}},
    [SUTRA_OVERVIEW_EVIDENCE] = {"evidence", OF_JOB,
                                 .columns = {INTEGER("rank"), TEXT("rule"), TEXT("track"), INTEGER("lane"),
                                             TEXT("kind"), TEXT("name"), REAL("start_us"), REAL("duration_us"),
                                             INTEGER("events")}},
    [SUTRA_OVERVIEW_FINDINGS] = {"findings", OF_JOB, .columns = {TEXT("rule"), REAL("saving_percent"), TEXT("text")}},
};

/* ---- Partial results ---- */

static void encode_rules(const void *of, struct buffer *out) {
    const struct sutra_overview_options *options = of;
    const struct codec_kind none = {0}, *companion = options->companion ? options->companion->kind : &none;
    encode_value(out, options->tables);
    encode_text(out, companion->analysis);
    encode_value(out, companion->layout);
    encode_text(out, options->annotation);
    encode_text(out, options->peaks);
    encode_value(out, options->n_captures);
    for (size_t i = 0; i < options->n_captures; i++)
        encode_text(out, options->captures[i]);
}

static void where_codec(struct codec *codec, struct finding_where *where) {
    codec_value(codec, &where->phases);
    codec_limited(codec, &where->n_units, FINDING_UNITS);
    codec_value(codec, &where->n_names);
    codec_chars(codec, where->frame, sizeof where->frame);
    codec_value(codec, &where->n_code);
    for (unsigned i = 0; i < where->n_units && !codec->failure; i++) {
        codec_limited(codec, &where->units[i].phase, SUTRA_N_PHASES);
        codec_value(codec, &where->units[i].percent);
        codec_chars(codec, where->units[i].name, sizeof where->units[i].name);
    }
}

static void range_codec(struct codec *codec, struct finding_range *range) {
    codec_value(codec, &range->from_us);
    codec_value(codec, &range->to_us);
    codec_chars(codec, range->step, sizeof range->step);
    codec_limited(codec, &range->n_threads, FINDING_IDS);
    codec_limited(codec, &range->n_streams, FINDING_IDS);
    for (unsigned i = 0; i < FINDING_IDS; i++) {
        codec_chars(codec, range->threads[i], sizeof range->threads[i]);
        codec_chars(codec, range->streams[i], sizeof range->streams[i]);
    }
}

/* A rule is encoded as its number, NULL as the first one. */
static void rule_codec(struct codec *codec, const struct finding_rule **rule) {
    uint32_t number = codec_decodes(codec) || !*rule ? 0 : finding_rule_number(*rule);
    codec_limited(codec, &number, n_finding_rules - 1);
    if (codec_decodes(codec))
        *rule = finding_rules[number];
}

/* The intervals of findings are not encoded. */
static void finding_codec(struct codec *codec, struct overview_finding *finding, struct arena *arena) {
    rule_codec(codec, &finding->rule);
    codec_value(codec, &finding->saving_percent);
    codec_value(codec, &finding->uncapped);
    codec_value(codec, &finding->weight);
    codec_value(codec, &finding->facts);
    codec_value(codec, &finding->part_of);
    codec_limited(codec, &finding->limited_by, LIMIT_STRAGGLER);
    codec_chars(codec, finding->seen, sizeof finding->seen);
    codec_chars(codec, finding->subject, sizeof finding->subject);
    codec_chars(codec, finding->now, sizeof finding->now);
    where_codec(codec, &finding->where);
    range_codec(codec, &finding->range);
    codec_limited(codec, &finding->n_numbers, FINDING_NUMBERS);
    for (unsigned k = 0; k < finding->n_numbers && !codec->failure; k++) {
        codec_text_in(codec, &finding->numbers[k].name, arena);
        codec_value(codec, &finding->numbers[k].value);
    }
    if (codec_decodes(codec)) {
        finding->spans = (struct spans){.n = 0};
        finding->kernels = NULL;
        finding->range_code = NULL;
    }
}

static void verdict_codec(struct codec *codec, struct rank_verdict *verdict, struct arena *arena) {
    codec_limited(codec, &verdict->kind, SUTRA_VERDICT_CPU_MODEL);
    codec_value(codec, &verdict->window);
    codec_value(codec, &verdict->n_steps);
    codec_bool(codec, &verdict->has_steps);
    codec_bool(codec, &verdict->by_annotation);
    codec_value(codec, &verdict->busy);
    codec_value(codec, &verdict->communication);
    codec_value(codec, &verdict->host_needed);
    codec_value(codec, &verdict->off_core);
    codec_bool(codec, &verdict->device_side);
    codec_value(codec, &verdict->excluded);
    rule_codec(codec, &verdict->excluded_by);
    codec_chars(codec, verdict->no_activity, sizeof verdict->no_activity);
    codec_chars(codec, verdict->device, sizeof verdict->device);
    codec_chars(codec, verdict->slow_step, sizeof verdict->slow_step);
    codec_chars(codec, verdict->main_kernel, sizeof verdict->main_kernel);
    codec_limited(codec, &verdict->n_cpu_operators, CPU_OPERATORS_MOST);
    for (unsigned i = 0; i < verdict->n_cpu_operators && !codec->failure; i++) {
        struct cpu_operator *op = &verdict->cpu_operators[i];
        codec_chars(codec, op->name, sizeof op->name);
        codec_chars(codec, op->shapes, sizeof op->shapes);
        codec_value(codec, &op->self);
        codec_value(codec, &op->percent);
        codec_value(codec, &op->n_calls);
        codec_value(codec, &op->n_threads);
    }
    codec_array(codec, &verdict->atoms, &verdict->n_atoms, NULL);
    codec_array(codec, &verdict->codes, &verdict->n_codes, NULL);
    for (uint64_t i = 0; i < verdict->n_codes && codec_decodes(codec); i++)
        codec_check(codec, verdict->codes[i].rule < n_finding_rules && verdict->codes[i].via < N_CODE_VIAS &&
                               memchr(verdict->codes[i].name, 0, sizeof verdict->codes[i].name));
    codec_limited(codec, &verdict->n_suspects, SUSPECTS_MOST);
    for (unsigned i = 0; i < verdict->n_suspects && !codec->failure; i++) {
        rule_codec(codec, &verdict->suspects[i].rule);
        codec_value(codec, &verdict->suspects[i].apparent);
        codec_value(codec, &verdict->suspects[i].percent);
    }
    codec_value(codec, &verdict->not_judged);
    codec_limited(codec, &verdict->n_findings, FINDINGS_MOST);
    for (unsigned i = 0; i < verdict->n_findings && !codec->failure; i++)
        finding_codec(codec, &verdict->findings[i], arena);
    for (uint64_t i = 0; i < verdict->n_atoms && codec_decodes(codec); i++)
        codec_check(codec, verdict->atoms[i].part < SUTRA_N_PARTS && (verdict->atoms[i].rules >> n_finding_rules) == 0);
    if (codec_decodes(codec))
        codec_check(codec, verdict->n_steps >= 1 && (verdict->not_judged >> n_finding_rules) == 0);
}

static void rank_codec(void *arg, size_t number, struct codec *codec) {
    struct sutra_overview *overview = arg;
    struct rank_overview *rank = task_result(&overview->tasks, number);
    struct rank_collectives *collectives = &rank->collectives;
    const int64_t rank_number = overview->tasks.list[number].rank;
    const bool decodes = codec_decodes(codec);
    codec_options(codec, encode_rules, &overview->options);
    verdict_codec(codec, &rank->verdict, &overview->tasks.arena);
    codec_value(codec, &collectives->rank);
    codec_value(codec, &collectives->window);
    codec_value(codec, &collectives->n_steps);
    codec_value(codec, &collectives->first_ns);
    codec_value(codec, &collectives->link);
    codec_value(codec, &collectives->exposed_ns);
    codec_value(codec, &collectives->compute_ns);
    if (decodes)
        codec_check(codec, collectives->rank == rank_number &&
                               moments_are_sound(collectives->window.from_ns, collectives->window.to_ns));
    if (decodes && !collective_calls_init(&collectives->calls))
        codec_fail(codec, CODEC_NO_MEMORY);
    collective_calls_codec(codec, &collectives->calls, rank_number);
    if (overview->tasks.n > 1)
        operator_times_codec(codec, &collectives->operators);
    if (decodes && !result_init(&rank->result, overview_table_specs, SUTRA_OVERVIEW_N_TABLES)) {
        codec_fail(codec, CODEC_NO_MEMORY);
        return;
    }
    codec_result(codec, &rank->result);
    codec_array(codec, &rank->steps, &rank->n_steps, NULL);
    if (overview->options.tables) {
        const struct sutra_operators_options operators = {
            .size = sizeof operators, .rank = rank_number, .peaks = overview->options.peaks};
        operators_codec(codec, &own_operator_rules, &operators, &rank->operators);
    }
    rank->companion = overview->options.companion;
    if (rank->companion)
        rank->companion->codec(&overview->tasks, number, codec, &rank->of_companion);
}

static void rank_free(void *result) {
    struct rank_overview *rank = result;
    collective_calls_free(&rank->collectives.calls);
    operator_times_free(&rank->collectives.operators);
    rank_verdict_free(&rank->verdict);
    sutra_operators_free(rank->operators);
    if (rank->companion)
        rank->companion->free(rank->of_companion);
    result_free(&rank->result);
    free(rank->steps);
}

/* ---- Tables of one rank ---- */

static void add_timeline(const struct overview *overview, int64_t rank, struct sutra_table *table) {
    const int64_t *ticks = overview->ticks;
    const struct {
        const char *kind;
        int64_t ticks;
    } lines[] = {
        {"compute", ticks[OVERVIEW_COMPUTE]},
        {"exposed communication", ticks[OVERVIEW_COMMUNICATION]},
        {"exposed memcpy", ticks[OVERVIEW_COPY]},
        {"idle", overview_length(overview) - overview_busy(overview)},
        {"idle: host", ticks[OVERVIEW_HOST]},
        {"idle: launching", ticks[OVERVIEW_LAUNCH]},
        {"idle: data loading", ticks[OVERVIEW_LOADING]},
        {"idle: synchronizing", ticks[OVERVIEW_SYNC]},
        {"idle: after synchronizing", ticks[OVERVIEW_AFTER_SYNC]},
        {"idle: setup", ticks[OVERVIEW_SET_UP] + ticks[OVERVIEW_SLOW_LAUNCH]},
        {"idle: launched before", ticks[OVERVIEW_QUEUED] + ticks[OVERVIEW_NOT_STARTED]},
        {"idle: unknown launch", ticks[OVERVIEW_UNKNOWN]},
        {"idle: after the last activity", ticks[OVERVIEW_AFTER]},
    };
    double window = (double)overview_length(overview);
    for (size_t i = 0; i < sizeof lines / sizeof *lines; i++) {
        table_integer(table, rank);
        table_words(table, lines[i].kind);
        table_real(table, (double)lines[i].ticks / 1000);
        table_real(table, window > 0 ? (double)lines[i].ticks / window * 100 : (double)NAN);
    }
}

/* Sums the GPU activity of the window by kernel, or by the operator that launched it; longest first. */
static enum sutra_status add_names(const struct overview *overview, int64_t rank, enum sutra_overview_table id,
                                   struct arena *arena, struct sutra_table *table, struct sutra_error *error) {
    const struct launch_model *model = overview->model;
    const struct strings *strings = model->strings;
    const struct device_rows *devices = &model->devices;
    struct arena_mark mark = arena_mark(arena);
    int64_t *ticks = arena_zeros(arena, strings->n, sizeof *ticks);
    row_t *n_activities = arena_zeros(arena, strings->n, sizeof *n_activities);
    uint32_t *names = arena_alloc(arena, strings->n, sizeof *names),
             *order = arena_alloc(arena, strings->n, sizeof *order), n = 0;
    double *values = arena_alloc(arena, strings->n, sizeof *values), all = 0;
    TRY(arena_status(arena, error));
    for (row_t i = 0; i < devices->n; i++) {
        const int64_t length = devices->stop[i] - devices->start[i];
        uint32_t name =
            id == SUTRA_OVERVIEW_KERNELS ? model->events->name[devices->event[i]] : activity_operator(model, i);
        if (devices->start[i] < overview->window.from || devices->start[i] >= overview->window.to)
            continue;
        all += (double)length;
        if (name == STRING_NONE)
            continue;
        ticks_add(&ticks[name], length);
        n_activities[name]++;
    }
    for (uint32_t name = 0; name < strings->n; name++)
        if (n_activities[name]) {
            values[n] = (double)ticks[name];
            names[n++] = name;
        }
    TRY(row_groups_order(values, n, arena, order, error));
    for (uint32_t i = 0; i < n; i++) {
        uint32_t name = names[order[i]];
        table_integer(table, rank);
        table_string(table, strings, name);
        table_real(table, (double)ticks[name] / 1000);
        table_real(table, all > 0 ? (double)ticks[name] / all * 100 : (double)NAN);
        table_integer(table, n_activities[name]);
    }
    arena_release(arena, mark);
    return SUTRA_OK;
}

/* Lists the selected steps: profiler steps by their number; annotations by the number after "#", or their index. */
static enum sutra_status list_steps(const struct overview *overview, const struct overview_steps *steps,
                                    const char *selected, struct rank_overview *rank, struct sutra_error *error) {
    const struct host_rows *hosts = &overview->model->hosts;
    const struct strings *strings = overview->model->strings;
    const bool is_annotated = steps->source == STEPS_ANNOTATION;
    const row_t n = is_annotated ? steps->n : overview->window.n_steps;
    rank->steps = malloc(MAX(n, 1U) * sizeof *rank->steps);
    TRY_ALLOC(rank->steps, error);
    for (row_t i = 0; i < n; i++) {
        const row_t row = is_annotated ? ROW_NONE : overview->window.steps[i];
        const uint32_t name = is_annotated ? steps->list[i].name : host_name(overview->model, row);
        const char *text = strings_text(strings, name), *number = strchr(text, '#');
        if (!is_annotated && selected && !profiler_step_is_selected(number + 1, selected))
            continue;
        rank->steps[rank->n_steps++] = (struct recorded_step){
            .number = number && number[1] >= '0' && number[1] <= '9' ? strtoll(number + 1, NULL, 10) : (int64_t)i,
            .ns = is_annotated ? steps->list[i].end - steps->list[i].begin : hosts->stop[row] - hosts->start[row]};
    }
    return SUTRA_OK;
}

/* ---- One rank ---- */

/* Makes all but the tables of operators. */
static enum sutra_status make_rank(const struct sutra_overview *of, size_t number, struct sutra_context *context,
                                   const struct launch_model *model, struct arena *arena, struct arena *scratch,
                                   struct sutra_error *error) {
    const struct rank_task *task = &of->tasks.list[number];
    struct rank_overview *rank = task_result(&of->tasks, number);
    struct overview overview;
    struct overview_steps steps;
    TRY(overview_make(context, model, arena, scratch, &overview, error));
    if (restriction_is_part(&of->tasks.restriction))
        overview.device.n_lost = 0; /* their activities are not selected */
    /* Before the findings, which may crop the overview. */
    TRY(overview_steps_make(&overview, of->options.annotation, arena, scratch, &steps, error));
    TRY_ALLOC(result_init(&rank->result, overview_table_specs, SUTRA_OVERVIEW_N_TABLES), error);
    steps_table_add(result_table_begin(&rank->result, SUTRA_OVERVIEW_STEPS), task->rank, &overview, &steps);
    TRY(list_steps(&overview, &steps, of->tasks.restriction.step, rank, error));
    TRY(rank_collectives_read(context, &overview, task->rank, &rank->collectives, error));
    if (of->tasks.n > 1)
        TRY(operator_times_find(model, scratch, &rank->collectives.operators, error));
    TRY(find_findings(context, model, &overview, &steps, &rank->collectives.calls, of->tasks.n == 1, arena, scratch,
                      &rank->verdict, error));
    rank_collectives_crop(&overview, &rank->collectives);

    const double window = (double)overview_length(&overview), busy = (double)overview_busy(&overview);
    struct sutra_table *ranks = result_table_begin(&rank->result, SUTRA_OVERVIEW_RANKS);
    table_integer(ranks, task->rank);
    table_file_name(ranks, task->path);
    table_real(ranks, window / 1000);
    table_integer(ranks, overview.window.n_steps);
    table_real(ranks, window > 0 ? busy / window * 100 : (double)NAN);
    table_real(ranks, (double)overview.communication / 1000);
    table_words(ranks, device_kind_names[overview.device.kind]);
    table_words(ranks, no_activity_names[overview.device.cause]);
    struct sutra_table *timeline = result_table_begin(&rank->result, SUTRA_OVERVIEW_TIMELINE);
    if (overview.device.cause == HAS_ACTIVITY) /* else no share of idle time is known */
        add_timeline(&overview, task->rank, timeline);
    for (uint32_t id = SUTRA_OVERVIEW_OPERATORS; id <= SUTRA_OVERVIEW_KERNELS; id++)
        TRY(add_names(&overview, task->rank, (enum sutra_overview_table)id, scratch,
                      result_table_begin(&rank->result, id), error));
    TRY(overview_streams_add(context, &overview, task->rank, scratch,
                             result_table_begin(&rank->result, SUTRA_OVERVIEW_STREAMS), error));
    TRY(graph_table_add(model, task->rank, false, scratch, result_table_begin(&rank->result, SUTRA_OVERVIEW_GRAPHS),
                        error));
    struct sutra_table *evidence =
        of->options.tables ? result_table_begin(&rank->result, SUTRA_OVERVIEW_EVIDENCE) : NULL;
    for (unsigned i = 0; i < rank->verdict.n_findings && evidence; i++)
        TRY(excerpt_add(&overview, &context->values, task->rank, &rank->verdict.findings[i], scratch, evidence, error));
    return SUTRA_OK;
}

static enum sutra_status analyze(void *arg, struct rank_run *run, size_t number, struct sutra_context *context,
                                 struct sutra_device_trace *trace, struct sutra_error *error) {
    const struct sutra_overview *overview = arg;
    const int64_t rank_number = overview->tasks.list[number].rank;
    struct rank_overview *rank = task_result(&overview->tasks, number);
    const bool threads = pool_threads(context->pool) > 1;
    const struct sutra_companion *companion = rank->companion = overview->options.companion;
    struct background_call thread;
    void *making = NULL;
    (void)run;

    /* The companion's tables, on a thread of their own if the context has several. */
    if (companion) {
        enum sutra_status status = companion->begin(&overview->tasks, number, context, trace, threads, &making, error);
        if (status) {
            sutra_device_trace_free(trace);
            return status;
        }
        background_call_begin(&thread, threads, companion->run, making);
    }

    /* All other tables. */
    struct launch_model model;
    struct graph_kernels graphs = {.captures = NULL};
    struct arena arena = {0}, scratch = {0};
    stage_begin(context, "analyze", trace->events.n);
    enum sutra_status status = launch_model_build(context, trace, 0, &arena, &scratch, &model, error);
    if (!status) {
        launch_model_warn(context, &model);
        status = graph_kernels_find(context, &model, overview->captures.n ? &overview->captures : NULL, rank_number,
                                    &arena, &scratch, &graphs, error);
    }
    if (!status)
        status = make_rank(overview, number, context, &model, &arena, &scratch, error);
    stage_end(context);
    if (!status && overview->options.tables)
        status = graph_kernels_attach(&model, &graphs, &arena, &scratch, error);
    if (!status && overview->options.tables)
        status =
            operators_make_of(context, &model, rank_number, overview->options.peaks, &scratch, &rank->operators, error);
    graph_kernels_free(&graphs);
    arena_free(&arena);
    arena_free(&scratch);

    if (companion) {
        background_call_end(&thread);
        enum sutra_status ended = companion->end(making, &rank->of_companion, status ? NULL : error);
        status = status ? status : ended;
    }
    sutra_device_trace_free(trace);
    return status;
}

/* ---- All ranks ---- */

/* Makes the verdict on the job from those on its ranks, and the table of waits. */
static enum sutra_status join_verdicts(struct sutra_overview *overview, const struct chosen_window *window,
                                       struct arena *scratch, struct sutra_error *error) {
    const size_t n = overview->tasks.n_analyzed;
    struct rank_collectives **collectives = arena_alloc(scratch, n, sizeof(struct rank_collectives *));
    struct job_rank *ranks = arena_alloc(scratch, n, sizeof *ranks);
    struct job_findings found;
    struct sutra_table *waits = result_table_begin(&overview->result, SUTRA_OVERVIEW_COLLECTIVE_WAITS);
    TRY(arena_status(scratch, error));
    for (size_t i = 0; i < n; i++)
        collectives[i] = &((struct rank_overview *)task_result_of_rank(&overview->tasks, i))->collectives;
    TRY(find_job_stragglers(collectives, n, scratch, &found, waits, error));
    if (found.is_late && !restriction_is_part(&overview->tasks.restriction))
        TRY(name_late_operators(collectives, n, scratch, &found, error));
    for (size_t i = 0; i < n; i++) {
        const struct rank_overview *rank = task_result_of_rank(&overview->tasks, i);
        const struct rank_collectives *of = &rank->collectives;
        const bool is_exposed = of->exposed_ns > 0;
        const double wait = is_exposed ? fmin(of->wait_ns / of->exposed_ns, 1) : 0;
        const double stray = is_exposed ? (of->wait_ns - of->late_wait_ns) / of->exposed_ns : 0;
        ranks[i] = (struct job_rank){.rank = of->rank,
                                     .path = overview->tasks.list[overview->tasks.order[i]].path,
                                     .verdict = &rank->verdict,
                                     .wait = wait,
                                     .late = of->late_ns,
                                     .stray = fmin(fmax(stray, 0), wait),
                                     .is_late = of->is_late};
    }
    return job_verdict_make(ranks, n, &overview->tasks.validity, &found, window, &overview->tasks.arena,
                            &overview->verdict, error);
}

/* The events in the ranges of the job's findings, each of which is of one rank. */
static void add_evidence(const struct sutra_overview *overview, struct sutra_table *table) {
    for (size_t i = 0; i < overview->verdict.n_findings; i++) {
        const struct sutra_finding *finding = &overview->verdict.findings[i];
        for (size_t k = 0; k < overview->tasks.n_analyzed; k++) {
            const struct rank_overview *rank = task_result_of_rank(&overview->tasks, k);
            const struct sutra_table *events = &rank->result.tables[SUTRA_OVERVIEW_EVIDENCE];
            const uint32_t rule = table_column(events, "rule");
            size_t length;
            for (uint64_t row = 0; row < events->n_rows && rank->collectives.rank == finding->evidence.rank; row++)
                if (strcmp(table_get_text(events, rule, row, &length), finding->rule) == 0)
                    table_append_row(table, events, row);
        }
    }
}

static enum sutra_status merge(void *arg, struct sutra_context *context, struct sutra_error *error) {
    struct sutra_overview *overview = arg;
    struct sutra_result *result = &overview->result;
    struct arena scratch = {0};
    (void)context;
    TRY_ALLOC(result_init(result, overview_table_specs, SUTRA_OVERVIEW_N_TABLES), error);
    result->of_job = true;
    result->defects = overview->tasks.defects;
    result->n_defects = overview->tasks.n_defects;
    enum sutra_status status = join_verdicts(overview, context->window, &scratch, error);
    arena_free(&scratch);
    TRY(status);
    for (uint32_t id = 0; id <= SUTRA_OVERVIEW_STEPS; id++) {
        struct sutra_table *table = result_table_begin(result, id);
        for (size_t i = 0; i < overview->tasks.n_analyzed; i++) {
            const struct rank_overview *rank = task_result_of_rank(&overview->tasks, i);
            table_append(table, &rank->result.tables[id]);
        }
    }
    const struct sutra_table *steps = &result->tables[SUTRA_OVERVIEW_STEPS];
    if (!steps->failed) {
        step_ranks_add(result_table_begin(result, SUTRA_OVERVIEW_STEP_RANKS), steps);
        step_indices_add(result_table_begin(result, SUTRA_OVERVIEW_STEP_INDICES), steps);
    }
    struct sutra_table *findings = result_table_begin(result, SUTRA_OVERVIEW_FINDINGS);
    for (size_t i = 0; i < overview->verdict.n_findings; i++) {
        table_words(findings, overview->verdict.findings[i].rule);
        table_real(findings, overview->verdict.findings[i].saving_percent);
        table_words(findings, overview->verdict.findings[i].text);
    }
    if (overview->options.tables)
        add_evidence(overview, result_table_begin(result, SUTRA_OVERVIEW_EVIDENCE));
    TRY(result_status(result, error));
    if (overview->options.tables)
        TRY(operators_ranks_join(&overview->tasks, offsetof(struct rank_overview, operators), &overview->operators,
                                 error));
    return overview->options.companion
               ? overview->options.companion->join(&overview->tasks, offsetof(struct rank_overview, of_companion),
                                                   &overview->of_companion, error)
               : SUTRA_OK;
}

static const struct rank_analysis analysis = {
    .kind = {"overview", sizeof(struct rank_window) << 48 | sizeof(struct verdict_atom) << 40 |
                             sizeof(struct recorded_step) << 32 | FINDING_CODES << 24 | SUTRA_OPERATORS_N_TABLES << 16 |
                             SUTRA_OVERVIEW_N_TABLES << 8 | N_FINDING_RULES},
    .result_size = sizeof(struct rank_overview),
    .analyze = analyze,
    .codec = rank_codec,
    .free = rank_free,
    .merge = merge};

/* ---- Public functions ---- */

enum sutra_status sutra_overview_run(struct sutra_context *context, const char *const *paths, size_t n_paths,
                                     const struct sutra_overview_options *options, struct sutra_overview **overview,
                                     struct sutra_error *error) {
    static const struct options_form form = OPTIONS_FORM(sutra_overview_options, peaks);
    struct sutra_overview *made = calloc(1, sizeof *made);
    TRY_ALLOC(made, error);
    enum sutra_status status = options_copy(&form, options, &made->options, error);
    if (!status)
        status = restriction_copy(made->options.restriction, &made->tasks.restriction, error);
    made->tasks.prefetch_columns = made->options.tables ? PREFETCH_ALL : PREFETCH_IDS;
    if (!status && rank_tasks_analyze(context))
        status = graph_captures_read(context, made->options.captures, made->options.n_captures, &made->captures, error);
    if (!status)
        status = rank_tasks_run(&made->tasks, &analysis, context, paths, n_paths, made, error);
    graph_captures_free(&made->captures);
    made->captures.n = 0;
    if (status || made->tasks.is_combined_by_other_process) {
        sutra_overview_free(made);
        made = NULL;
    }
    if (!status)
        *overview = made;
    return status;
}

void sutra_overview_free(struct sutra_overview *overview) {
    if (!overview)
        return;
    result_free(&overview->result);
    sutra_operators_ranks_free(overview->operators);
    if (overview->options.companion)
        overview->options.companion->free_joined(overview->of_companion);
    rank_tasks_free(&overview->tasks);
    free(overview);
}

int sutra_overview_finding(const struct sutra_overview *overview, size_t i, struct sutra_finding *finding) {
    if (i >= overview->verdict.n_findings)
        return 0;
    *finding = overview->verdict.findings[i];
    return 1;
}

const struct sutra_verdict *sutra_overview_verdict(const struct sutra_overview *overview) {
    return &overview->verdict.verdict;
}

ORDER_BY(compare_recorded, struct recorded_step, ASCENDING(number) DESCENDING(ns))

enum sutra_status overview_step_times(const struct sutra_overview *overview, struct arena *arena, double **us,
                                      uint64_t *n, struct sutra_error *error) {
    uint64_t n_all = 0;
    *n = 0;
    for (size_t i = 0; i < overview->tasks.n_analyzed; i++)
        n_all += ((struct rank_overview *)task_result_of_rank(&overview->tasks, i))->n_steps;
    struct recorded_step *steps = arena_alloc(arena, n_all, sizeof *steps);
    *us = arena_alloc(arena, n_all, sizeof **us);
    TRY(arena_status(arena, error));
    n_all = 0;
    for (size_t i = 0; i < overview->tasks.n_analyzed; i++) {
        const struct rank_overview *rank = task_result_of_rank(&overview->tasks, i);
        if (rank->n_steps)
            memcpy(steps + n_all, rank->steps, rank->n_steps * sizeof *steps);
        n_all += rank->n_steps;
    }
    qsort(steps, n_all, sizeof *steps, compare_recorded);
    for (uint64_t i = 0; i < n_all; i++)
        if (i == 0 || steps[i].number != steps[i - 1].number)
            (*us)[(*n)++] = (double)steps[i].ns / 1000;
    return SUTRA_OK;
}

const struct sutra_operators_ranks *sutra_overview_operators(const struct sutra_overview *overview) {
    return overview->operators;
}

const void *sutra_overview_companion(const struct sutra_overview *overview) {
    return overview->of_companion;
}
