/*
 * collectives.c - from traces of all ranks to tables: each trace is a task that keeps what its collectives tell; the
 * rest is one rank's work after another in their order, so that nothing depends on threads.
 */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "analyze/collectives/collectives.h"
#include "analyze/collectives/nccl.h"
#include "base/error.h"
#include "base/options.h"

/* ---- Tables ---- */

#define INTEGER SUTRA_COLUMN_INTEGER
#define REAL    SUTRA_COLUMN_REAL
#define TEXT    SUTRA_COLUMN_TEXT

struct collective_table_spec {
    const char *name;
    struct column_spec columns[TABLE_COLUMNS_MAX]; /* up to one without a name */
};

/* Of ours; those of TraceLens have columns of ranks. */
static const struct collective_table_spec specs[] = {
    [SUTRA_COLLECTIVES_ALL] = {"collectives",
                               {{"group", TEXT},
                                {"members", TEXT},
                                {"number", INTEGER},
                                {"type", TEXT},
                                {"dtype", TEXT},
                                {"from_rank", REAL},
                                {"to_rank", REAL},
                                {"ranks", INTEGER},
                                {"group_size", INTEGER},
                                {"bytes", REAL},
                                {"place", TEXT},
                                {"arrival_us", REAL},
                                {"first_rank", INTEGER},
                                {"last_rank", INTEGER},
                                {"skew_us", REAL},
                                {"mean_wait_us", REAL},
                                {"transfer_us", REAL},
                                {"end_skew_us", REAL},
                                {"algorithm_gb_per_s", REAL},
                                {"bus_gb_per_s", REAL},
                                {"link_percent", REAL}}},
    [SUTRA_COLLECTIVES_ARRIVALS] = {"collective_arrivals",
                                    {{"group", TEXT},
                                     {"members", TEXT},
                                     {"number", INTEGER},
                                     {"type", TEXT},
                                     {"rank", INTEGER},
                                     {"arrival_us", REAL},
                                     {"wait_us", REAL},
                                     {"duration_us", REAL},
                                     {"end_us", REAL}}},
    [SUTRA_COLLECTIVES_KINDS] = {"collective_types",
                                 {{"type", TEXT},
                                  {"dtype", TEXT},
                                  {"bytes", REAL},
                                  {"group", TEXT},
                                  {"members", TEXT},
                                  {"group_size", INTEGER},
                                  {"place", TEXT},
                                  {"count", INTEGER},
                                  {"transfer_us", REAL},
                                  {"transfer_mean_us", REAL},
                                  {"transfer_min_us", REAL},
                                  {"transfer_median_us", REAL},
                                  {"transfer_max_us", REAL},
                                  {"skew_mean_us", REAL},
                                  {"skew_max_us", REAL},
                                  {"mean_wait_us", REAL},
                                  {"end_skew_mean_us", REAL},
                                  {"algorithm_gb_per_s", REAL},
                                  {"bus_gb_per_s", REAL},
                                  {"bus_max_gb_per_s", REAL},
                                  {"link_percent", REAL}}},
    [SUTRA_COLLECTIVES_GROUPS] = {"collective_groups",
                                  {{"group", TEXT},
                                   {"members", TEXT},
                                   {"group_size", INTEGER},
                                   {"place", TEXT},
                                   {"collectives", INTEGER},
                                   {"messages", INTEGER},
                                   {"bytes", REAL},
                                   {"transfer_us", REAL},
                                   {"mean_wait_us", REAL},
                                   {"skew_max_us", REAL},
                                   {"last_most_rank", INTEGER},
                                   {"last_most", INTEGER}}},
    [SUTRA_COLLECTIVES_SIZES] = {"collective_sizes",
                                 {{"type", TEXT},
                                  {"place", TEXT},
                                  {"from_bytes", REAL},
                                  {"below_bytes", REAL},
                                  {"count", INTEGER},
                                  {"bus_min_gb_per_s", REAL},
                                  {"bus_25_gb_per_s", REAL},
                                  {"bus_median_gb_per_s", REAL},
                                  {"bus_75_gb_per_s", REAL},
                                  {"bus_max_gb_per_s", REAL},
                                  {"link_percent", REAL}}},
    [SUTRA_COLLECTIVES_RANKS] = {"collective_ranks",
                                 {{"rank", INTEGER},
                                  {"host", INTEGER},
                                  {"collectives", INTEGER},
                                  {"in_collectives_us", REAL},
                                  {"waited_us", REAL},
                                  {"waited_for_us", REAL},
                                  {"waited_for_percent", REAL},
                                  {"times_last", INTEGER},
                                  {"times_first", INTEGER},
                                  {"last_percent", REAL},
                                  {"compute_us", REAL},
                                  {"compute_over_median_us", REAL}}},
    [SUTRA_COLLECTIVES_CLOCKS] = {"collective_clocks",
                                  {{"rank", INTEGER},
                                   {"host", INTEGER},
                                   {"reference", INTEGER},
                                   {"ahead_us", REAL},
                                   {"drift_ppm", REAL},
                                   {"residual_us", REAL},
                                   {"collectives", INTEGER},
                                   {"found_from", TEXT},
                                   {"set_right", INTEGER}}},
    [SUTRA_COLLECTIVES_HOSTS] = {"collective_hosts",
                                 {{"host", INTEGER},
                                  {"first_rank", INTEGER},
                                  {"last_rank", INTEGER},
                                  {"ranks", INTEGER},
                                  {"ahead_us", REAL},
                                  {"residual_us", REAL}}},
    [SUTRA_COLLECTIVES_CHECKS] = {"collective_checks",
                                  {{"severity", TEXT},
                                   {"check", TEXT},
                                   {"hangs", INTEGER},
                                   {"group", TEXT},
                                   {"number", INTEGER},
                                   {"ranks", TEXT},
                                   {"first_rank", INTEGER},
                                   {"first_us", REAL},
                                   {"text", TEXT}}},
    [SUTRA_COLLECTIVES_EXCESS] = {"straggler_operators",
                                  {{"runs_on", TEXT},
                                   {"phase", TEXT},
                                   {"operator", TEXT},
                                   {"calls", INTEGER},
                                   {"us", REAL},
                                   {"median_calls", INTEGER},
                                   {"median_us", REAL},
                                   {"excess_us", REAL}}},
};

struct sutra_table *collective_table_begin(struct sutra_collectives *of, enum sutra_collectives_table id) {
    uint32_t n = 0;
    while (n < TABLE_COLUMNS_MAX && specs[id].columns[n].name)
        n++;
    table_init(&of->tables[id], specs[id].name, specs[id].columns, n);
    of->made[id] = true;
    return &of->tables[id];
}

void collective_table_string(const struct sutra_collectives *of, struct sutra_table *table, uint32_t string) {
    const struct strings *strings = &of->calls.strings;
    table_text(table, strings_text(strings, string), strings_length(strings, string));
}

/* ---- Ranks together ---- */

/* Joins what the traces tell, each given back as soon as it is taken over. */
static enum sutra_status join_parts(struct sutra_collectives *of, struct sutra_error *error) {
    for (size_t i = 0; i < of->tasks.n; i++) {
        struct collective_part *part = collective_part_at(of, i);
        if (!part->taken)
            continue;
        if (!collective_calls_append(&of->calls, &part->calls))
            return error_memory(error);
        collective_calls_free(&part->calls);
        of->first_ns = part->first_ns < of->first_ns ? part->first_ns : of->first_ns;
        of->link_gb_per_s = part->link_gb_per_s > 0 ? part->link_gb_per_s : of->link_gb_per_s;
        int64_t n = part->n_devices; /* a process that sees one device only does not tell how many there are */
        of->ranks_per_host = n > of->ranks_per_host && (n > 1 || of->tasks.n == 1) ? n : of->ranks_per_host;
    }
    if (of->options.ranks_per_host)
        of->ranks_per_host = (int64_t)of->options.ranks_per_host;
    if (of->options.link_gb_per_s > 0)
        of->link_gb_per_s = of->options.link_gb_per_s;
    return SUTRA_OK;
}

static bool set_clocks(struct sutra_collectives *of) {
    uint64_t n_impossible[2];
    of->clock_set = rank_clocks_set(&of->calls, &of->matches, of->clocks, of->n_clocks, &of->arena, n_impossible);
    of->summary.n_impossible = n_impossible[0];
    of->summary.n_impossible_aligned = n_impossible[1];
    for (row_t i = 0; i < of->n_clocks && of->clock_set; i++)
        of->summary.n_clocks_set += of->clock_set[i];
    return of->clock_set;
}

static enum sutra_status find_checks(struct sutra_collectives *of, struct sutra_error *error) {
    int64_t *ranks = arena_take(&of->arena, of->tasks.n, sizeof *ranks);
    size_t n = 0;
    for (size_t i = 0; i < of->tasks.n && ranks; i++)
        if (collective_part_at(of, i)->taken)
            ranks[n++] = of->tasks.list[of->tasks.order[i]].rank;
    return ranks ? collective_checks_find(&of->calls, &of->matches, ranks, n, &of->arena, &of->checks, error)
                 : error_memory(error);
}

static enum sutra_status analyze_all(struct sutra_collectives *of, struct sutra_context *context,
                                     struct sutra_error *error) {
    enum sutra_status status = join_parts(of, error);
    if (!status)
        status = collective_matches_find(&of->calls, &of->arena, &of->matches, error);
    if (!status)
        status = rank_clocks_find(&of->calls, &of->matches, &of->arena, &of->clocks, &of->n_clocks, error);
    if (!status && !(set_clocks(of) && collective_places_find(of)))
        status = error_memory(error);
    if (!status)
        status = find_checks(of, error);
    if (!status)
        status = collective_ranks_make(of, error);
    if (!status)
        status = collective_tables_make(of, error);
    if (!status)
        status = collective_kinds_make(of, error);
    if (!status)
        status = collective_straggler_find(of, context, error);
    return status;
}

/* ---- Making them ---- */

static enum sutra_status take_part(void *arg, struct rank_run *run, size_t number, struct sutra_context *context,
                                   struct sutra_device_trace *trace, struct sutra_error *error) {
    struct sutra_collectives *of = arg;
    (void)run;
    enum sutra_status status = collective_part_take(collective_part_of(of, number), context, trace,
                                                    of->tasks.list[number].rank, of->options.compat, error);
    sutra_device_trace_free(trace);
    return status;
}

/* What is found depends on no other option. */
static void put(void *arg, size_t number, struct buffer *out) {
    struct sutra_collectives *of = arg;
    struct collective_part *part = collective_part_of(of, number);
    spool_put(out, of->options.compat);
    collective_part_put(part, out);
    collective_part_free(part);
}

static enum sutra_status take(void *arg, struct rank_run *run, size_t number, struct sutra_context *context,
                              struct spool_reader *reader, struct sutra_error *error) {
    struct sutra_collectives *of = arg;
    (void)run;
    (void)context;
    if (spool_take_bool(reader) != of->options.compat)
        return error_file(error, SUTRA_DATA, of->tasks.list[number].path, "was analyzed with other options");
    return collective_part_restore(collective_part_of(of, number), reader) ? SUTRA_OK : error_memory(error);
}

static const struct rank_spool spool = {put, take};

static void name_ranks(struct sutra_collectives *of) {
    for (size_t i = 0; i < of->tasks.n; i++) {
        const struct rank_task *task = &of->tasks.list[i];
        collective_part_of(of, i)->rank =
            (struct sutra_collectives_rank){.path = task->path,
                                            .rank = task->rank,
                                            .source = task->source,
                                            .reason = task->status ? task->error.message : NULL};
        of->summary.n_ranks += !task->status;
        of->summary.n_left_out += task->status != SUTRA_OK;
    }
}

enum sutra_status collectives_join(struct sutra_collectives *of, struct sutra_context *context,
                                   struct sutra_error *error) {
    of->first_ns = INT64_MAX;
    name_ranks(of);
    enum sutra_status status = of->options.compat ? nccl_tables_make(of, error) : analyze_all(of, context, error);
    for (int id = 0; id < SUTRA_COLLECTIVES_N_TABLES && !status; id++)
        if (of->tables[id].failed)
            status = error_memory(error);
    return status ? status : arena_status(&of->arena, error);
}

static enum sutra_status make(struct sutra_collectives *of, struct sutra_context *context, const char *const *paths,
                              size_t n_paths, struct sutra_error *error) {
    if (!collective_calls_init(&of->calls))
        return error_memory(error);
    of->tasks.spool = &spool;
    enum sutra_status status =
        rank_tasks_run(&of->tasks, context, paths, n_paths, sizeof(struct collective_part), take_part, of, error);
    return status || of->tasks.is_elsewhere ? status : collectives_join(of, context, error);
}

enum sutra_status sutra_collectives_make(struct sutra_context *context, const char *const *paths, size_t n_paths,
                                         const struct sutra_collectives_options *options,
                                         struct sutra_collectives **collectives, struct sutra_error *error) {
    static const struct options_form form = OPTIONS_FORM(sutra_collectives_options, link_gb_per_s);
    struct sutra_collectives_options taken;
    enum sutra_status status = options_take(&form, options, &taken, error);
    if (status)
        return status;
    if (taken.ranks_per_host > INT32_MAX || !(taken.link_gb_per_s >= 0))
        return error_set(error, SUTRA_USAGE, "no such number of ranks of a host, or rate of a link");
    struct sutra_collectives *made = calloc(1, sizeof *made);
    if (!made)
        return error_memory(error);
    made->options = taken;
    status = make(made, context, paths, n_paths, error);
    bool is_here = !status && !made->tasks.is_elsewhere;
    if (!status)
        *collectives = is_here ? made : NULL;
    if (!is_here)
        sutra_collectives_free(made);
    return status;
}

void sutra_collectives_free(struct sutra_collectives *collectives) {
    if (!collectives)
        return;
    for (size_t i = 0; collectives->tasks.results && i < collectives->tasks.n; i++)
        collective_part_free(collective_part_of(collectives, i));
    for (int id = 0; id < SUTRA_COLLECTIVES_N_TABLES; id++)
        table_free(&collectives->tables[id]);
    collective_calls_free(&collectives->calls);
    arena_free(&collectives->arena);
    rank_tasks_free(&collectives->tasks);
    free(collectives);
}

/* ---- What was made ---- */

const struct sutra_table *sutra_collectives_table(const struct sutra_collectives *collectives,
                                                  enum sutra_collectives_table id) {
    return collectives->made[id] ? &collectives->tables[id] : NULL;
}

const struct sutra_collectives_rank *sutra_collectives_at(const struct sutra_collectives *collectives, size_t i) {
    return i < collectives->tasks.n ? &collective_part_at(collectives, i)->rank : NULL;
}

void sutra_collectives_summary(const struct sutra_collectives *collectives, struct sutra_collectives_summary *summary) {
    report_give(summary, &collectives->summary, sizeof collectives->summary);
}

void sutra_collectives_straggler(const struct sutra_collectives *collectives,
                                 struct sutra_collectives_straggler *straggler) {
    report_give(straggler, &collectives->straggler, sizeof collectives->straggler);
}
