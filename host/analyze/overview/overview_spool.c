/*
 * overview_spool.c - what is kept of a rank's overview as bytes, and back.
 */
#include <stdio.h>
#include <string.h>

#include "analyze/hta/hta_ranks.h"
#include "analyze/operators/operators_ranks.h"
#include "analyze/overview/overview_ranks.h"
#include "analyze/overview/steps.h"
#include "base/error.h"

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

static void put_options(const struct sutra_overview_options *options, struct buffer *out) {
    spool_put(out, options->tables);
    spool_put_text(out, options->annotation);
    spool_put_text(out, options->peaks);
}

static void put_findings(const struct overview_findings *findings, struct buffer *out) {
    spool_put(out, findings->n);
    for (unsigned i = 0; i < findings->n; i++) {
        const struct overview_finding *finding = &findings->list[i];
        spool_put(out, finding->rule);
        spool_put(out, finding->win);
        spool_put_text(out, finding->text);
        spool_put(out, finding->n_numbers);
        for (unsigned k = 0; k < finding->n_numbers; k++) {
            spool_put_text(out, finding->numbers[k].name);
            spool_put(out, finding->numbers[k].value);
        }
    }
}

static void put_collectives(const struct rank_collectives *collectives, struct buffer *out) {
    spool_put(out, collectives->rank);
    spool_put(out, collectives->window);
    spool_put(out, collectives->n_steps);
    spool_put(out, collectives->link);
    collective_calls_put(&collectives->calls, out);
}

void rank_overview_free(struct rank_overview *rank) {
    collective_calls_free(&rank->collectives.calls);
    sutra_operators_free(rank->operators);
    sutra_hta_free(rank->hta);
    for (int id = 0; id < SUTRA_OVERVIEW_N_TABLES; id++)
        table_free(&rank->tables[id]);
    *rank = (struct rank_overview){.made = false};
}

void rank_overview_put(const struct rank_overview *rank, const struct sutra_overview_options *options,
                       struct buffer *out) {
    put_options(options, out);
    spool_put(out, rank->busy_percent);
    spool_put(out, rank->exposed_percent);
    put_findings(&rank->findings, out);
    put_collectives(&rank->collectives, out);
    for (int id = 0; id <= SUTRA_OVERVIEW_STEPS; id++)
        spool_put_table(out, &rank->tables[id]);
    if (options->tables) {
        operators_put(rank->operators, out);
        hta_put(rank->hta, out);
    }
}

/* The text in the arena, which lives as long as the findings; "" where there is none. */
static const char *take_word(struct spool_reader *reader, struct arena *arena) {
    const char *text = spool_take_text(reader);
    size_t size = text ? strlen(text) + 1 : 1;
    char *kept = arena_take(arena, size, 1);
    return kept && text ? memcpy(kept, text, size) : "";
}

static void take_finding(struct spool_reader *reader, struct overview_finding *finding, struct arena *arena) {
    finding->rule = (enum finding_rule)spool_take_limited(reader, N_FINDING_RULES - 1);
    spool_take(reader, finding->win);
    snprintf(finding->text, sizeof finding->text, "%s", take_word(reader, arena));
    finding->n_numbers = spool_take_limited(reader, FINDING_NUMBERS);
    for (unsigned k = 0; k < finding->n_numbers && !reader->failed; k++) {
        finding->numbers[k].name = take_word(reader, arena);
        spool_take(reader, finding->numbers[k].value);
    }
}

static bool take_collectives(struct spool_reader *reader, int64_t rank, struct rank_collectives *collectives) {
    spool_take(reader, collectives->rank);
    spool_take(reader, collectives->window);
    spool_take(reader, collectives->n_steps);
    spool_take(reader, collectives->link);
    reader->failed |=
        collectives->rank != rank || !moments_are_sound(collectives->window.from_ns, collectives->window.to_ns);
    return collective_calls_init(&collectives->calls) && collective_calls_restore(&collectives->calls, rank, reader);
}

/* The tables of the overview itself. */
static bool take_own(struct spool_reader *reader, int64_t number, struct rank_overview *rank, struct arena *arena) {
    spool_take(reader, rank->busy_percent);
    spool_take(reader, rank->exposed_percent);
    const uint32_t n = spool_take_limited(reader, FINDINGS_MOST);
    for (; rank->findings.n < n && !reader->failed; rank->findings.n++)
        take_finding(reader, &rank->findings.list[rank->findings.n], arena);
    bool done = take_collectives(reader, number, &rank->collectives) && !arena->failed;
    for (int id = 0; id <= SUTRA_OVERVIEW_STEPS && done && !reader->failed; id++) {
        rank_overview_table(&rank->tables[id], (enum sutra_overview_table)id);
        spool_take_table(reader, &rank->tables[id]);
        done = !rank->tables[id].failed;
    }
    return done;
}

static enum sutra_status take_tables(struct rank_overview *rank, const char *peaks, const struct rank_tasks *tasks,
                                     const struct rank_task *task, struct spool_reader *reader,
                                     struct sutra_error *error) {
    const struct sutra_hta_options given = overview_hta_options(tasks, task->rank);
    const struct sutra_operators_options operators = {.size = sizeof operators, .rank = task->rank, .peaks = peaks};
    struct sutra_hta_options hta;
    bool failed;
    rank->operators = operators_restore(&operators, reader, &failed);
    if (!rank->operators)
        return failed ? error_memory(error) : SUTRA_OK;
    enum sutra_status status = hta_options_take(&given, &hta, error);
    if (!status)
        status = hta_take(&hta, task->path, reader, &rank->hta, error);
    reader->failed |= !rank->hta;
    return status;
}

enum sutra_status rank_overview_restore(struct rank_overview *rank, const struct sutra_overview_options *options,
                                        struct rank_tasks *tasks, size_t number, struct spool_reader *reader,
                                        struct sutra_error *error) {
    const struct rank_task *task = &tasks->list[number];
    struct buffer wanted = {0};
    put_options(options, &wanted);
    enum sutra_status status = spool_take_options(reader, &wanted, task->path, error);
    if (!status && !take_own(reader, task->rank, rank, &tasks->arena))
        status = error_memory(error);
    if (!status && options->tables && !reader->failed)
        status = take_tables(rank, options->peaks, tasks, task, reader, error);
    rank->made = !status && !reader->failed;
    if (!rank->made)
        rank_overview_free(rank);
    return status;
}
