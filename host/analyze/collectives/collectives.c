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
        return error_file(error, SUTRA_DATA, of->tasks.list[number].path,
                          "analyzed with other options: repeat the options of --shard");
    struct collective_part *part = collective_part_of(of, number);
    const int64_t rank = of->tasks.list[number].rank;
    return collective_part_restore(part, rank, reader) ? SUTRA_OK : error_memory(error);
}

static const struct rank_spool spool = {{"collectives", 0}, put, take};

static void name_ranks(struct sutra_collectives *of) {
    for (size_t i = 0; i < of->tasks.n; i++) {
        const struct rank_task *task = &of->tasks.list[i];
        collective_part_of(of, i)->rank =
            (struct sutra_collectives_rank){.path = task->path,
                                            .rank = task->rank,
                                            .source = task->source,
                                            .reason = task->status ? task->error.message : NULL};
        of->summary.n_ranks += !task->status;
        of->summary.n_skipped += task->status && !task->is_unwanted;
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
    enum sutra_status status = restriction_take(of->options.restriction, &of->tasks.restriction, error);
    of->options.restriction = NULL; /* the caller's */
    if (!status)
        status =
            rank_tasks_run(&of->tasks, context, paths, n_paths, sizeof(struct collective_part), take_part, of, error);
    return status || of->tasks.is_elsewhere ? status : collectives_join(of, context, error);
}

enum sutra_status sutra_collectives_run(struct sutra_context *context, const char *const *paths, size_t n_paths,
                                        const struct sutra_collectives_options *options,
                                        struct sutra_collectives **collectives, struct sutra_error *error) {
    static const struct options_form form = OPTIONS_FORM(sutra_collectives_options, link_gb_per_s);
    struct sutra_collectives_options taken;
    enum sutra_status status = options_take(&form, options, &taken, error);
    if (status)
        return status;
    if (taken.ranks_per_host > INT32_MAX || !(taken.link_gb_per_s >= 0))
        return error_set(error, SUTRA_USAGE,
                         "ranks per host must be at most 2147483647, and the link peak at least 0 GB/s");
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
    return i < collectives->tasks.n_wanted ? &collective_part_at(collectives, i)->rank : NULL;
}

void sutra_collectives_summary(const struct sutra_collectives *collectives, struct sutra_collectives_summary *summary) {
    report_give(summary, &collectives->summary, sizeof collectives->summary);
}

void sutra_collectives_straggler(const struct sutra_collectives *collectives,
                                 struct sutra_collectives_straggler *straggler) {
    report_give(straggler, &collectives->straggler, sizeof collectives->straggler);
}
