/*
 * ranks.c - the overview of a job: each trace is a task, of which its findings, its sums and its collectives
 * stay; then what all say together.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "analyze/hta/hta.h"
#include "analyze/hta/ranks.h"
#include "analyze/operators/ranks.h"
#include "analyze/overview/ranks.h"
#include "analyze/overview/steps.h"
#include "analyze/ranks.h"
#include "analyze/table.h"
#include "base/error.h"
#include "base/options.h"
#include "base/threads.h"

/*
 * What is kept of a rank's overview as bytes, and back.
 */

void rank_overview_table(struct sutra_table *table, enum sutra_overview_table id) {
    if (id == SUTRA_OVERVIEW_STEPS) {
        steps_table_init(table);
        return;
    }
    static const struct {
        const char *name;
        struct column_spec columns[7];
        uint32_t n;
    } specs[SUTRA_OVERVIEW_N_TABLES] = {
        [SUTRA_OVERVIEW_RANKS] = {"overview_ranks",
                                  {{"rank", SUTRA_COLUMN_INTEGER},
                                   {"trace", SUTRA_COLUMN_TEXT},
                                   {"window_us", SUTRA_COLUMN_REAL},
                                   {"steps", SUTRA_COLUMN_INTEGER},
                                   {"busy_percent", SUTRA_COLUMN_REAL},
                                   {"communication_us", SUTRA_COLUMN_REAL}},
                                  6},
        [SUTRA_OVERVIEW_TIMELINE] = {"overview_timeline",
                                     {{"rank", SUTRA_COLUMN_INTEGER},
                                      {"kind", SUTRA_COLUMN_TEXT},
                                      {"time_us", SUTRA_COLUMN_REAL},
                                      {"percent", SUTRA_COLUMN_REAL}},
                                     4},
        [SUTRA_OVERVIEW_OPERATORS] = {"overview_operators",
                                      {{"rank", SUTRA_COLUMN_INTEGER},
                                       {"name", SUTRA_COLUMN_TEXT},
                                       {"device_us", SUTRA_COLUMN_REAL},
                                       {"percent", SUTRA_COLUMN_REAL},
                                       {"kernels", SUTRA_COLUMN_INTEGER}},
                                      5},
        [SUTRA_OVERVIEW_KERNELS] = {"overview_kernels",
                                    {{"rank", SUTRA_COLUMN_INTEGER},
                                     {"name", SUTRA_COLUMN_TEXT},
                                     {"device_us", SUTRA_COLUMN_REAL},
                                     {"percent", SUTRA_COLUMN_REAL},
                                     {"kernels", SUTRA_COLUMN_INTEGER}},
                                    5},
        [SUTRA_OVERVIEW_STREAMS] = {"overview_streams",
                                    {{"rank", SUTRA_COLUMN_INTEGER},
                                     {"stream", SUTRA_COLUMN_TEXT},
                                     {"kernels", SUTRA_COLUMN_INTEGER},
                                     {"compute_us", SUTRA_COLUMN_REAL},
                                     {"communication_us", SUTRA_COLUMN_REAL},
                                     {"copies_us", SUTRA_COLUMN_REAL},
                                     {"work_us", SUTRA_COLUMN_REAL}},
                                    7},
    };
    table_init(table, specs[id].name, specs[id].columns, specs[id].n);
}

static void rank_overview_free(struct rank_overview *rank) {
    collective_calls_free(&rank->collectives.calls);
    sutra_operators_free(rank->operators);
    sutra_hta_free(rank->hta);
    for (int id = 0; id < SUTRA_OVERVIEW_N_TABLES; id++)
        table_free(&rank->tables[id]);
    *rank = (struct rank_overview){.made = false};
}

struct sutra_overview {
    struct rank_tasks tasks; /* whose results are struct rank_overview */
    struct sutra_overview_options options;
    struct sutra_operators_ranks *operators;
    struct sutra_hta_ranks *hta;
    struct sutra_table tables[SUTRA_OVERVIEW_N_TABLES];
    struct overview_findings findings;
};

static struct rank_overview *rank_of(const struct sutra_overview *overview, size_t number) {
    return (struct rank_overview *)overview->tasks.results + number;
}

/* ---- Partial results ---- */

static void encode_rules(const void *of, struct buffer *out) {
    const struct sutra_overview_options *options = of;
    encode_value(out, options->tables);
    encode_text(out, options->annotation);
    encode_text(out, options->peaks);
}

static void findings_codec(struct codec *codec, struct overview_findings *findings, struct arena *arena) {
    codec_limited(codec, &findings->n, FINDINGS_MOST);
    for (unsigned i = 0; i < findings->n && !codec->failure; i++) {
        struct overview_finding *finding = &findings->list[i];
        codec_limited(codec, &finding->rule, N_FINDING_RULES - 1);
        codec_value(codec, &finding->win);
        codec_chars(codec, finding->text, sizeof finding->text);
        codec_limited(codec, &finding->n_numbers, FINDING_NUMBERS);
        for (unsigned k = 0; k < finding->n_numbers && !codec->failure; k++) {
            codec_text_in(codec, &finding->numbers[k].name, arena);
            codec_value(codec, &finding->numbers[k].value);
        }
    }
}

static void collectives_codec(struct codec *codec, struct rank_collectives *collectives, int64_t rank) {
    codec_value(codec, &collectives->rank);
    codec_value(codec, &collectives->window);
    codec_value(codec, &collectives->n_steps);
    codec_value(codec, &collectives->link);
    if (codec_decodes(codec)) {
        codec_check(codec, collectives->rank == rank &&
                               moments_are_sound(collectives->window.from_ns, collectives->window.to_ns));
        if (!collective_calls_init(&collectives->calls))
            codec_fail(codec, CODEC_NO_MEMORY);
    }
    collective_calls_codec(codec, &collectives->calls, rank);
}

static void rank_codec(void *arg, size_t number, struct codec *codec) {
    struct sutra_overview *overview = arg;
    struct rank_overview *rank = rank_of(overview, number);
    const int64_t rank_number = overview->tasks.list[number].rank;
    codec_options(codec, encode_rules, &overview->options);
    codec_value(codec, &rank->busy_percent);
    codec_value(codec, &rank->exposed_percent);
    findings_codec(codec, &rank->findings, &overview->tasks.arena);
    collectives_codec(codec, &rank->collectives, rank_number);
    for (int id = 0; id <= SUTRA_OVERVIEW_STEPS; id++) {
        if (codec_decodes(codec))
            rank_overview_table(&rank->tables[id], (enum sutra_overview_table)id);
        codec_table(codec, &rank->tables[id]);
    }
    if (overview->options.tables) {
        const struct sutra_hta_options given = overview_hta_options(&overview->tasks, rank_number);
        const struct sutra_operators_options operators = {
            .size = sizeof operators, .rank = rank_number, .peaks = overview->options.peaks};
        struct sutra_hta_options hta;
        codec_check(codec, hta_options_take(&given, &hta, NULL) == SUTRA_OK);
        operators_codec(codec, &operators, &rank->operators);
        hta_codec(codec, &hta, &rank->hta);
    }
}

/* ---- Tables ---- */

static void put_words(struct sutra_table *table, const char *words) {
    table_text(table, words, strlen(words));
}

static void put_rank(const struct overview *overview, const struct rank_task *task, struct sutra_table *table) {
    double window = (double)overview_length(overview);
    rank_overview_table(table, SUTRA_OVERVIEW_RANKS);
    table_integer(table, task->rank);
    table_file_name(table, task->path);
    table_real(table, window / 1000);
    table_integer(table, overview->window.n_steps);
    table_real(table, window > 0 ? (double)overview_busy(overview) / window * 100 : (double)NAN);
    table_real(table, (double)overview->communication / 1000);
}

static void put_timeline(const struct overview *overview, int64_t rank, struct sutra_table *table) {
    const int64_t *ticks = overview->ticks;
    const struct {
        const char *what;
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
    rank_overview_table(table, SUTRA_OVERVIEW_TIMELINE);
    for (size_t i = 0; i < sizeof lines / sizeof *lines; i++) {
        table_integer(table, rank);
        put_words(table, lines[i].what);
        table_real(table, (double)lines[i].ticks / 1000);
        table_real(table, window > 0 ? (double)lines[i].ticks / window * 100 : (double)NAN);
    }
}

/* Sums of work by a name, of the work itself or of its launcher. */
struct name_sums {
    int64_t *ticks;
    row_t *works;
    double all;
};

static uint32_t name_of(const struct op_reading *reading, row_t device, bool of_operators) {
    row_t launcher = reading->devices.launcher[device];
    if (!of_operators)
        return reading->events->name[reading->devices.event[device]];
    return launcher == ROW_NONE ? STRING_NONE : host_name(reading, launcher);
}

static struct name_sums sum_names(const struct overview *overview, bool of_operators, struct arena *arena) {
    const struct op_reading *reading = overview->reading;
    const struct device_rows *devices = &reading->devices;
    struct name_sums sums = {arena_zeros(arena, reading->strings->n, sizeof *sums.ticks),
                             arena_zeros(arena, reading->strings->n, sizeof *sums.works), 0};
    for (row_t i = 0; i < devices->n && !arena->failed; i++) {
        uint32_t name = name_of(reading, i, of_operators);
        if (devices->start[i] < overview->window.from || devices->start[i] >= overview->window.to)
            continue;
        sums.all += (double)(devices->stop[i] - devices->start[i]);
        if (name == STRING_NONE)
            continue;
        ticks_add(&sums.ticks[name], devices->stop[i] - devices->start[i]);
        sums.works[name]++;
    }
    return sums;
}

static enum sutra_status put_names(const struct overview *overview, int64_t rank, enum sutra_overview_table id,
                                   struct arena *arena, struct sutra_table *table, struct sutra_error *error) {
    const struct strings *strings = overview->reading->strings;
    struct arena_mark mark = arena_mark(arena);
    struct name_sums sums = sum_names(overview, id == SUTRA_OVERVIEW_OPERATORS, arena);
    uint32_t *names = arena_take(arena, strings->n, sizeof *names),
             *order = arena_take(arena, strings->n, sizeof *order);
    double *values = arena_take(arena, strings->n, sizeof *values);
    enum sutra_status status = arena_status(arena, error);
    uint32_t n = 0;
    rank_overview_table(table, id);
    for (uint32_t name = 0; name < strings->n && !status; name++)
        if (sums.works[name]) {
            values[n] = (double)sums.ticks[name];
            names[n++] = name;
        }
    if (!status)
        status = op_groups_order(values, n, arena, order, error);
    for (uint32_t i = 0; i < n && !status; i++) {
        uint32_t name = names[order[i]];
        table_integer(table, rank);
        table_string(table, strings, name);
        table_real(table, (double)sums.ticks[name] / 1000);
        table_real(table, sums.all > 0 ? (double)sums.ticks[name] / sums.all * 100 : (double)NAN);
        table_integer(table, sums.works[name]);
    }
    arena_release(arena, mark);
    return status;
}

/* ---- One rank ---- */

static enum sutra_status put_steps(const struct overview *overview, const char *annotation, int64_t rank,
                                   struct arena *arena, struct arena *scratch, struct sutra_table *table,
                                   struct sutra_error *error) {
    struct overview_steps steps;
    enum sutra_status status = overview_steps_make(overview, annotation, arena, scratch, &steps, error);
    rank_overview_table(table, SUTRA_OVERVIEW_STEPS);
    if (!status)
        steps_table_add(table, rank, overview, &steps);
    return status;
}

static enum sutra_status make_rank(struct sutra_context *context, const struct op_reading *reading,
                                   const struct sutra_overview_options *options, const struct rank_task *task,
                                   bool alone, struct arena *arena, struct arena *scratch, struct rank_overview *rank,
                                   struct sutra_error *error) {
    struct overview overview;
    enum sutra_status status = overview_make(context, reading, arena, scratch, &overview, error);
    if (!status) /* before the findings, which may cut the overview */
        status = put_steps(&overview, options->annotation, task->rank, arena, scratch,
                           &rank->tables[SUTRA_OVERVIEW_STEPS], error);
    if (!status)
        status = rank_collectives_take(context, &overview, task->rank, &rank->collectives, error);
    if (!status)
        status = findings_make(context, reading, &overview, &rank->collectives.calls, alone, scratch, &rank->findings,
                               error);
    rank->made = !status;
    if (status)
        return status;
    rank_collectives_cut(&overview, &rank->collectives);
    put_rank(&overview, task, &rank->tables[SUTRA_OVERVIEW_RANKS]);
    put_timeline(&overview, task->rank, &rank->tables[SUTRA_OVERVIEW_TIMELINE]);
    double window = (double)overview_length(&overview);
    rank->busy_percent = window > 0 ? (double)overview_busy(&overview) / window * 100 : 0;
    rank->exposed_percent = window > 0 ? (double)overview.ticks[OVERVIEW_COMMUNICATION] / window * 100 : 0;
    for (int id = SUTRA_OVERVIEW_OPERATORS; id <= SUTRA_OVERVIEW_KERNELS && !status; id++)
        status = put_names(&overview, task->rank, (enum sutra_overview_table)id, scratch, &rank->tables[id], error);
    if (!status)
        status = overview_streams_add(&overview, &context->values, task->rank, scratch,
                                      &rank->tables[SUTRA_OVERVIEW_STREAMS], error);
    return status;
}

/* The tables of HTA, of the same trace, on a thread of their own where the context has more than one. */
struct hta_beside {
    struct hta_making making;
    struct aside thread;
    bool begun;
};

static enum sutra_status begin_hta(const struct sutra_overview *overview, const struct rank_task *task,
                                   struct sutra_context *context, const struct sutra_device_trace *trace,
                                   struct hta_beside *beside, struct sutra_error *error) {
    const struct sutra_hta_options options = overview_hta_options(&overview->tasks, task->rank);
    bool threads = pool_threads(context->pool) > 1;
    enum sutra_status status = hta_making_begin(&beside->making, context, trace, &options, threads, error);
    beside->begun = !status;
    beside->making.input.alone = overview->tasks.n == 1;
    if (!status)
        aside_begin(&beside->thread, threads, hta_making_do, &beside->making);
    return status;
}

/* Waits for it in any case; of a rank that failed before, nothing is kept. */
static enum sutra_status end_hta(struct hta_beside *beside, enum sutra_status before, struct sutra_hta **hta,
                                 struct sutra_error *error) {
    if (!beside->begun)
        return before;
    aside_end(&beside->thread);
    enum sutra_status status = hta_making_end(&beside->making, hta, before ? NULL : error);
    return before ? before : status;
}

/* ---- From one process to another ---- */

static void put(void *arg, size_t number, struct codec *codec) {
    rank_codec(arg, number, codec);
    rank_overview_free(rank_of(arg, number));
}

static enum sutra_status take(void *arg, struct rank_run *run, size_t number, struct codec *codec,
                              struct sutra_error *error) {
    struct rank_overview *rank = rank_of(arg, number);
    (void)run;
    (void)error;
    rank_codec(arg, number, codec);
    rank->made = !codec->failure;
    if (!rank->made)
        rank_overview_free(rank);
    return SUTRA_OK;
}

static const struct rank_codec partial_result = {
    {"overview", sizeof(struct rank_window) << 48 | SUTRA_OPERATORS_N_TABLES << 24 | SUTRA_HTA_N_TABLES << 16 |
                     SUTRA_OVERVIEW_N_TABLES << 8 | N_FINDING_RULES},
    put,
    take};

/* What all tables but those of HTA rest on, and these tables. */
static enum sutra_status make_own(struct sutra_overview *overview, size_t number, struct sutra_context *context,
                                  const struct sutra_device_trace *trace, struct sutra_error *error) {
    const struct rank_task *task = &overview->tasks.list[number];
    struct rank_overview *rank = rank_of(overview, number);
    struct op_reading reading;
    struct arena arena = {0}, scratch = {0};
    stage_begin(context, "analyze", trace->events.n);
    enum sutra_status status = op_reading_make(context, trace, 0, &arena, &scratch, &reading, error);
    if (!status)
        op_reading_warn(context, &reading);
    if (!status)
        status = make_rank(context, &reading, &overview->options, task, overview->tasks.n == 1, &arena, &scratch, rank,
                           error);
    stage_end(context);
    if (!status && overview->options.tables)
        status = operators_make_of(context, &reading, task->rank, overview->options.peaks, &scratch, &rank->operators,
                                   error);
    arena_free(&arena);
    arena_free(&scratch);
    return status;
}

static enum sutra_status analyze(void *arg, struct rank_run *run, size_t number, struct sutra_context *context,
                                 struct sutra_device_trace *trace, struct sutra_error *error) {
    struct sutra_overview *overview = arg;
    struct hta_beside hta = {.begun = false};
    enum sutra_status status = SUTRA_OK;
    (void)run;
    if (overview->options.tables)
        status = begin_hta(overview, &overview->tasks.list[number], context, trace, &hta, error);
    if (!status)
        status = make_own(overview, number, context, trace, error);
    status = end_hta(&hta, status, &rank_of(overview, number)->hta, error);
    sutra_device_trace_free(trace);
    return status;
}

/* ---- All ranks ---- */

/* Of a trace alone, what its own finding says that it waits. */
static void wait_alone(struct rank_overview *rank) {
    for (unsigned k = 0; k < rank->findings.n; k++)
        if (rank->findings.list[k].rule == FINDING_STRAGGLER)
            rank->collectives.wait_percent = rank->findings.list[k].win;
}

/* What of exposed communication is waiting for the rank that is late is won with that. */
static void take_wait_off(const struct rank_overview *rank, struct overview_finding *finding) {
    double wait = rank->collectives.wait_percent, exposed = rank->exposed_percent;
    if (!(wait > 0 && exposed > 0) ||
        (finding->rule != FINDING_EXPOSED_COMM && finding->rule != FINDING_SLOW_COLLECTIVE))
        return;
    finding->win *= fmax(0, 1 - wait / exposed);
    finding_number(finding, "wait_percent", wait);
    if (finding->rule == FINDING_EXPOSED_COMM)
        finding_add(finding, " Straggler wait is %s of it and vanishes with the straggler.",
                    wait < exposed ? finding_percent(wait, exposed).text : "all");
}

/* The findings of one rule: of the rank that it holds for most, and of how many. */
static void join_rule(struct sutra_overview *overview, enum finding_rule rule) {
    const struct overview_finding *most = NULL;
    const struct rank_overview *of = NULL;
    size_t n = 0, n_ranks = 0;
    for (size_t i = 0; i < overview->tasks.n; i++) {
        struct rank_overview *rank = rank_of(overview, overview->tasks.order[i]);
        n_ranks += rank->made;
        for (unsigned k = 0; k < rank->findings.n && rank->made; k++) {
            struct overview_finding *finding = &rank->findings.list[k];
            if (finding->rule != rule)
                continue;
            take_wait_off(rank, finding);
            n++;
            if (most && !(finding->win > most->win))
                continue;
            most = finding;
            of = rank;
        }
    }
    if (!most)
        return;
    struct overview_finding *joined = &overview->findings.list[overview->findings.n++];
    *joined = *most;
    if (n_ranks < 2)
        return;
    *joined->text = 0;
    if (n > 1)
        finding_add(joined, "Rank %lld and %s: %s", (long long)of->collectives.rank,
                    counted_text(n - 1, "other rank", "other ranks").text, most->text);
    else
        finding_add(joined, "Rank %lld: %s", (long long)of->collectives.rank, most->text);
    finding_number(joined, "ranks", (double)n);
}

static enum sutra_status join_ranks(struct sutra_overview *overview, struct sutra_error *error) {
    struct arena scratch = {0};
    struct rank_collectives **ranks = arena_take(&scratch, overview->tasks.n, sizeof(struct rank_collectives *));
    struct job_findings found = {.is_late = false};
    double busy = 0;
    size_t n = 0;
    enum sutra_status status = arena_status(&scratch, error);
    waits_table_init(&overview->tables[SUTRA_OVERVIEW_COLLECTIVE_WAITS]);
    for (size_t i = 0; i < overview->tasks.n && !status; i++) {
        struct rank_overview *rank = rank_of(overview, overview->tasks.order[i]);
        if (rank->made) {
            busy += rank->busy_percent;
            ranks[n++] = &rank->collectives;
            wait_alone(rank);
        }
    }
    if (!status)
        status = stragglers_find(ranks, n, &scratch, &found, &overview->tables[SUTRA_OVERVIEW_COLLECTIVE_WAITS], error);
    for (int rule = 0; rule < N_FINDING_RULES && !status; rule++)
        if (rule != FINDING_SLOW_COLLECTIVE || !found.links_used)
            join_rule(overview, (enum finding_rule)rule);
    if (!status && found.is_late)
        overview->findings.list[overview->findings.n++] = found.late;
    findings_order(&overview->findings, n ? busy / (double)n : 0);
    arena_free(&scratch);
    return status;
}

static void put_findings_overview_ranks(const struct overview_findings *findings, struct sutra_table *table) {
    static const struct column_spec columns[] = {
        {"rule", SUTRA_COLUMN_TEXT}, {"saving_percent", SUTRA_COLUMN_REAL}, {"text", SUTRA_COLUMN_TEXT}};
    table_init(table, "findings", columns, sizeof columns / sizeof *columns);
    for (unsigned i = 0; i < findings->n; i++) {
        put_words(table, finding_names[findings->list[i].rule]);
        table_real(table, findings->list[i].win);
        put_words(table, findings->list[i].text);
    }
}

/* Hands the tables of all ranks over to their owners. */
static enum sutra_status join_tables(struct sutra_overview *overview, struct sutra_error *error) {
    size_t n = overview->tasks.n;
    struct sutra_operators **operators = calloc(n, sizeof(struct sutra_operators *));
    struct sutra_hta **hta = calloc(n, sizeof(struct sutra_hta *));
    enum sutra_status status = operators && hta ? SUTRA_OK : error_memory(error);
    for (size_t i = 0; i < n && !status; i++) {
        operators[i] = rank_of(overview, i)->operators;
        hta[i] = rank_of(overview, i)->hta;
        rank_of(overview, i)->operators = NULL;
        rank_of(overview, i)->hta = NULL;
    }
    if (!status)
        status = operators_ranks_join(&overview->tasks, operators, &overview->operators, error);
    if (!status)
        status = hta_ranks_join(&overview->tasks, hta, &overview->hta, error);
    for (size_t i = 0; i < n && operators && hta; i++) { /* those that were not taken */
        sutra_operators_free(operators[i]);
        sutra_hta_free(hta[i]);
    }
    free(operators);
    free(hta);
    return status;
}

static enum sutra_status join_table(struct sutra_overview *overview, int id, struct sutra_error *error) {
    const struct sutra_table *steps = &overview->tables[SUTRA_OVERVIEW_STEPS];
    struct sutra_table *table = &overview->tables[id];
    if (id == SUTRA_OVERVIEW_STEP_RANKS)
        step_ranks_table(table, steps);
    if (id == SUTRA_OVERVIEW_FINDINGS)
        put_findings_overview_ranks(&overview->findings, table);
    if (id == SUTRA_OVERVIEW_STEP_INDICES)
        step_places_table(table, steps);
    if (id <= SUTRA_OVERVIEW_STEPS)
        rank_overview_table(table, (enum sutra_overview_table)id);
    for (size_t i = 0; i < overview->tasks.n && id <= SUTRA_OVERVIEW_STEPS; i++) {
        const struct rank_overview *rank = rank_of(overview, overview->tasks.order[i]);
        if (rank->made)
            table_append(table, &rank->tables[id]);
    }
    return table->failed ? error_memory(error) : SUTRA_OK;
}

enum sutra_status sutra_overview_run(struct sutra_context *context, const char *const *paths, size_t n_paths,
                                     const struct sutra_overview_options *options, struct sutra_overview **overview,
                                     struct sutra_error *error) {
    static const struct options_form form = OPTIONS_FORM(sutra_overview_options, peaks);
    struct sutra_overview_options taken;
    enum sutra_status status = options_take(&form, options, &taken, error);
    if (status)
        return status;
    struct sutra_overview *made = calloc(1, sizeof *made);
    if (!made)
        return error_memory(error);
    made->options = taken;
    made->tasks.codec = &partial_result;
    status = restriction_take(taken.restriction, &made->tasks.restriction, error);
    made->tasks.ahead = taken.tables ? AHEAD_ALL : AHEAD_IDS;
    if (!status)
        status =
            rank_tasks_run(&made->tasks, context, paths, n_paths, sizeof(struct rank_overview), analyze, made, error);
    if (!status && made->tasks.is_elsewhere) {
        sutra_overview_free(made);
        *overview = NULL;
        return SUTRA_OK;
    }
    if (!status)
        status = join_ranks(made, error);
    for (int id = 0; id < SUTRA_OVERVIEW_N_TABLES && !status; id++)
        status = join_table(made, id, error);
    if (!status && taken.tables)
        status = join_tables(made, error);
    if (status)
        sutra_overview_free(made);
    else
        *overview = made;
    return status;
}

void sutra_overview_free(struct sutra_overview *overview) {
    if (!overview)
        return;
    for (size_t i = 0; i < overview->tasks.n; i++)
        rank_overview_free(rank_of(overview, i));
    for (int id = 0; id < SUTRA_OVERVIEW_N_TABLES; id++)
        table_free(&overview->tables[id]);
    sutra_operators_ranks_free(overview->operators);
    sutra_hta_ranks_free(overview->hta);
    rank_tasks_free(&overview->tasks);
    free(overview);
}

int sutra_overview_finding(const struct sutra_overview *overview, size_t i, struct sutra_finding *finding) {
    if (i >= overview->findings.n)
        return 0;
    const struct overview_finding *found = &overview->findings.list[i];
    *finding = (struct sutra_finding){.rule = finding_names[found->rule],
                                      .saving_percent = found->win,
                                      .text = found->text,
                                      .numbers = found->numbers,
                                      .n_numbers = found->n_numbers};
    return 1;
}

const struct sutra_table *sutra_overview_table(const struct sutra_overview *overview, enum sutra_overview_table id) {
    return &overview->tables[id];
}

const struct sutra_operators_ranks *sutra_overview_operators(const struct sutra_overview *overview) {
    return overview->operators;
}

const struct sutra_hta_ranks *sutra_overview_hta(const struct sutra_overview *overview) {
    return overview->hta;
}
