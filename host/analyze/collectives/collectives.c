/*
 * collectives.c - from traces of all ranks to tables of collectives: the part of each trace, waits and clocks of all
 * ranks, times of each collective, and the run.
 *
 *     traces, in parallel --> struct collective_part --merge--> calls --> matches, clocks --> waits, checks, tables
 *
 * Parts are merged one rank after another in rank order, so that results do not depend on threads.
 */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "analyze/collective_calls.h"
#include "analyze/collectives/collectives.h"
#include "base/error.h"
#include "base/options.h"
#include "base/shared.h"
#include "facts/gpu_peaks.h"
#include "facts/kernel_class.h"
#include "facts/names.h"
#include "facts/times.h"

/* ---- The part of one trace: its collectives, and the compute time of its GPU ---- */

static enum sutra_status sum_activity(struct collective_part *part, const struct sutra_device_trace *trace,
                                      struct sutra_error *error) {
    const struct device_events *events = &trace->events;
    const struct strings *strings = &trace->strings;
    struct arena scratch = {0};
    struct string_roles *roles = names_find(strings, READER_TREE, &scratch);
    struct kernel_kinds kinds = kernel_kinds_begin(events, strings, roles, &scratch);
    enum sutra_status status = arena_status(&scratch, error);
    int64_t base_ns = trace_base_ns(trace);
    part->first_ns = INT64_MAX;
    part->last_ns = INT64_MIN;
    for (row_t i = 0; i < events->n && !status; i++) {
        uint32_t category = category_roles(events, roles, i);
        int64_t start_ns = base_ns, end_ns;
        enum device_class class = category & CATEGORY_WORK ? kernel_class_of_event(&kinds, i) : DEVICE_NO_WORK;
        if (class == DEVICE_NO_WORK)
            continue;
        if (!event_moments(events, i, base_ns, &start_ns, &end_ns))
            continue;
        part->first_ns = MIN(start_ns, part->first_ns);
        part->last_ns = MAX(end_ns, part->last_ns);
        if (class == DEVICE_COMPUTE && !(category & CATEGORY_SET))
            part->compute_ns += (double)moment_minus(end_ns, start_ns);
    }
    arena_free(&scratch);
    return status;
}

enum sutra_status collective_part_read(struct collective_part *part, struct sutra_context *context,
                                       const struct sutra_device_trace *trace, int64_t rank,
                                       struct sutra_error *error) {
    part->n_devices = trace_device_count(&trace->document);
    part->link_gb_per_s = device_link_of(&trace->document) / 1e9;
    TRY_ALLOC(collective_calls_init(&part->calls), error);
    part->calls.keep_unrecorded = true;
    TRY(collective_calls_read(&part->calls, context, trace, rank, error));
    return sum_activity(part, trace, error);
}

struct collective_part *collective_part_of(const struct sutra_collectives *of, size_t number) {
    return task_result(&of->tasks, number);
}

static struct collective_part *collective_part_at(const struct sutra_collectives *of, size_t i) {
    return task_result_of_rank(&of->tasks, i);
}

/*
 * ---- Waits of each rank, clocks of ranks and hosts, checks ----
 *
 * Each rank waits from its arrival until the last rank arrives. The last rank causes the mean wait of the others.
 */

static int64_t set_time(const struct sutra_collectives *of, row_t place, int64_t ns) {
    return of->clock_set[place] ? rank_clock_time(&of->clocks[place], ns) : ns;
}

/* ---- Tables ---- */

static int64_t host_of(const struct sutra_collectives *of, int64_t rank) {
    if (of->ranks_per_host)
        return rank / of->ranks_per_host;
    size_t i;
    BISECT(i, of->logs.n_ranks, of->logs.ranks[i].rank < rank);
    return i < of->logs.n_ranks && of->logs.ranks[i].rank == rank ? of->logs.hosts[i] : CALL_UNKNOWN;
}

static void add_ranks(struct sutra_collectives *of, double median_compute_ns) {
    struct sutra_table *table = result_table_begin(&of->result, SUTRA_COLLECTIVES_RANKS);
    double span_us = of->summary.span_us;
    for (row_t i = 0; i < of->n_clocks; i++) {
        const struct rank_waits *sums = &of->sums[i];
        double compute_ns = of->parts[i] ? of->parts[i]->compute_ns : of->calls.from_logs ? (double)NAN : 0;
        TABLE_INTEGERS(table, of->clocks[i].rank, host_of(of, of->clocks[i].rank), (int64_t)sums->n);
        TABLE_REALS(table, sums->in_ns / 1e3, sums->own_wait_ns / 1e3, sums->wait_caused_ns / 1e3,
                    span_us > 0 ? sums->wait_caused_ns / 10 / span_us : (double)NAN);
        table_integer(table, (int64_t)sums->n_last);
        table_integer(table, (int64_t)sums->n_first);
        table_real(table, sums->n ? 100.0 * (double)sums->n_last / (double)sums->n : (double)NAN);
        table_real(table, compute_ns / 1e3);
        table_real(table, (compute_ns - median_compute_ns) / 1e3);
    }
}

/* How far a clock is ahead where its collectives start. */
static int64_t ahead_of(const struct rank_clock *clock) {
    return moment_minus(clock->first_ns, rank_clock_time(clock, clock->first_ns));
}

static void add_clocks(struct sutra_collectives *of) {
    struct sutra_table *table = result_table_begin(&of->result, SUTRA_COLLECTIVES_CLOCKS);
    for (row_t i = 0; i < of->n_clocks; i++) {
        const struct rank_clock *clock = &of->clocks[i];
        TABLE_INTEGERS(table, clock->rank, host_of(of, clock->rank), clock->reference);
        TABLE_REALS(table, microseconds(ahead_of(clock)), clock->drift * 1e6, microseconds(clock->spread_ns));
        table_integer(table, clock->n);
        table_words(table, clock->n == 0 ? "" : clock->by_messages ? "messages" : "collectives");
        table_integer(table, of->clock_set[i]);
    }
}

/* All ranks of a host have its clock: the median of theirs. */
static void add_hosts(struct sutra_collectives *of, double *values) {
    if (of->ranks_per_host == 0)
        return;
    struct sutra_table *table = result_table_begin(&of->result, SUTRA_COLLECTIVES_HOSTS);
    for (row_t begin = 0, end; begin < of->n_clocks; begin = end) {
        int64_t host = host_of(of, of->clocks[begin].rank);
        double residual_us = 0;
        for (end = begin; end < of->n_clocks && host_of(of, of->clocks[end].rank) == host; end++)
            values[end - begin] = microseconds(ahead_of(&of->clocks[end]));
        qsort(values, end - begin, sizeof *values, compare_doubles);
        double ahead_us = values[upper_median_at(end - begin)];
        for (row_t i = begin; i < end; i++) {
            double apart_us = fabs(microseconds(ahead_of(&of->clocks[i])) - ahead_us);
            residual_us = fmax(residual_us, fmax(apart_us, microseconds(of->clocks[i].spread_ns)));
        }
        TABLE_INTEGERS(table, host, of->clocks[begin].rank, of->clocks[end - 1].rank, end - begin);
        table_real(table, ahead_us);
        table_real(table, residual_us);
    }
}

static void add_check(const struct sutra_collectives *of, struct sutra_table *table,
                      const struct collective_check *check) {
    table_words(table, check_severity_names[check->severity]);
    table_words(table, check->rule);
    table_integer(table, check->hangs);
    table_words(table, check->group);
    table_integer(table, check->number);
    table_words(table, check->ranks);
    table_integer(table, check->rank);
    bool placed = check->at_ns != CALL_UNKNOWN && check->rank != CALL_UNKNOWN && !of->calls.from_logs;
    row_t place = placed ? rank_clock_index(of->clocks, of->n_clocks, check->rank) : 0;
    table_real(table,
               placed ? microseconds(moment_minus(set_time(of, place, check->at_ns), of->first_ns)) : (double)NAN);
    table_words(table, check->text);
}

static void add_skipped(const struct sutra_collectives *of, struct sutra_table *table, const char *rule,
                        const char *reason) {
    add_check(of, table,
              &(struct collective_check){.severity = CHECK_ERROR,
                                         .rule = rule,
                                         .group = "",
                                         .number = CALL_UNKNOWN,
                                         .ranks = "",
                                         .rank = CALL_UNKNOWN,
                                         .at_ns = CALL_UNKNOWN,
                                         .text = reason});
}

/* Adds skipped traces or logs, then checks of collectives by severity. */
static void add_checks(struct sutra_collectives *of) {
    struct sutra_table *table = result_table_begin(&of->result, SUTRA_COLLECTIVES_CHECKS);
    for (size_t i = 0; i < of->tasks.n; i++) {
        const struct rank_task *task = &of->tasks.list[of->tasks.order[i]];
        if (task->status && !task->is_unselected)
            add_skipped(of, table, "skipped trace", task->error.message);
        of->summary.n_faults += task->status != SUTRA_OK;
    }
    for (size_t i = 0; i < of->logs.n_skipped; i++)
        add_skipped(of, table, "skipped log", of->logs.ranks[of->logs.n_ranks + i].reason);
    of->summary.n_faults += of->logs.n_skipped;
    for (int severity = CHECK_ERROR; severity >= CHECK_NOTE; severity--)
        for (uint64_t i = 0; i < of->checks.n; i++)
            if ((int)of->checks.list[i].severity == severity)
                add_check(of, table, &of->checks.list[i]);
    for (uint64_t i = 0; i < of->checks.n; i++)
        of->summary.n_faults += of->checks.list[i].severity == CHECK_ERROR;
    of->summary.n_checks = table->n_rows;
}

static enum sutra_status collective_ranks_make(struct sutra_collectives *of, struct sutra_error *error) {
    of->sums = arena_zeros(&of->arena, of->n_clocks, sizeof *of->sums);
    of->parts = arena_zeros(&of->arena, of->n_clocks, sizeof(struct collective_part *));
    double *values = arena_alloc(&of->arena, of->n_clocks, sizeof *values);
    TRY(arena_status(&of->arena, error));
    /* Of the job's GPU activity, by the common clock; as recorded if no rank has a clock. */
    int64_t first = INT64_MAX, last = INT64_MIN;
    row_t clock = 0;
    for (size_t i = 0; i < of->tasks.n_analyzed; i++) { /* traces and clocks are both ordered by rank */
        const struct collective_part *part = collective_part_at(of, i);
        while (clock < of->n_clocks && of->clocks[clock].rank < part->rank.rank)
            clock++;
        bool has_clock = clock < of->n_clocks && of->clocks[clock].rank == part->rank.rank;
        if (has_clock)
            of->parts[clock] = part;
        if (part->first_ns > part->last_ns || (of->n_clocks > 0 && !has_clock))
            continue;
        int64_t begin = has_clock ? set_time(of, clock, part->first_ns) : part->first_ns;
        int64_t end = has_clock ? set_time(of, clock, part->last_ns) : part->last_ns;
        first = MIN(begin, first);
        last = MAX(end, last);
    }
    of->first_ns = first == INT64_MAX ? 0 : first;
    of->summary.span_us = first > last ? 0 : microseconds(moment_minus(last, first));
    struct sutra_collectives_summary *summary = &of->summary;
    summary->n_calls = of->calls.n;
    summary->n_untold = of->calls.n_untold;
    struct job_collectives job = collectives_job(of);
    for (row_t i = 0; i < of->matches.n; i++) {
        const struct collective_match *match = &of->matches.list[i];
        struct collective_moments moments = collective_moments_of(&job, match);
        summary->n_messages += match->is_message;
        summary->n_collectives += !match->is_message;
        summary->transfer_us += microseconds(moments.transfer_ns);
        if (rank_waits_add(&job, match, &moments, of->sums))
            summary->wait_us += moments.wait_ns / 1e3;
    }
    if (of->calls.from_logs && of->n_clocks > 0) {
        for (row_t i = 0; i < of->n_clocks; i++)
            values[i] = of->sums[i].in_ns;
        qsort(values, of->n_clocks, sizeof *values, compare_doubles);
        summary->span_us = values[upper_median_at(of->n_clocks)] / 1e3;
    }
    for (row_t i = 0; i < of->n_clocks; i++)
        values[i] = of->parts[i] ? of->parts[i]->compute_ns : 0;
    if (of->n_clocks > 0)
        qsort(values, of->n_clocks, sizeof *values, compare_doubles);
    add_ranks(of, of->n_clocks > 0 ? values[upper_median_at(of->n_clocks)] : 0);

    double min_ahead_us = 0, max_ahead_us = 0;
    for (row_t i = 0; i < of->n_clocks; i++) {
        double ahead_us = microseconds(ahead_of(&of->clocks[i]));
        bool compared = of->clocks[i].reference == of->clocks[0].rank;
        min_ahead_us = compared ? fmin(min_ahead_us, ahead_us) : min_ahead_us;
        max_ahead_us = compared ? fmax(max_ahead_us, ahead_us) : max_ahead_us;
        values[i] = microseconds(of->clocks[i].spread_ns);
    }
    if (of->n_clocks > 0)
        qsort(values, of->n_clocks, sizeof *values, compare_doubles);
    summary->clocks_apart_us = max_ahead_us - min_ahead_us;
    summary->clock_residual_us = of->n_clocks > 0 ? values[upper_median_at(of->n_clocks)] : 0;
    if (!of->calls.from_logs) {
        add_clocks(of);
        add_hosts(of, values);
    }
    add_checks(of);
    return SUTRA_OK;
}

/* ---- Times of each collective: arrivals, waits, transfer time, bandwidth ---- */

const char *const collective_place_names[] = {
    [PLACE_UNKNOWN] = "", [PLACE_INSIDE] = "inside", [PLACE_BETWEEN] = "between"};

struct job_collectives collectives_job(const struct sutra_collectives *of) {
    return (struct job_collectives){.calls = &of->calls,
                                    .matches = &of->matches,
                                    .clocks = of->clocks,
                                    .clock_set = of->clock_set,
                                    .n_clocks = of->n_clocks};
}

static enum collective_place place_of(const struct sutra_collectives *of, int64_t a, int64_t b) {
    const int64_t host_a = host_of(of, a), host_b = host_of(of, b);
    if (host_a == CALL_UNKNOWN || host_b == CALL_UNKNOWN)
        return PLACE_UNKNOWN;
    return host_a == host_b ? PLACE_INSIDE : PLACE_BETWEEN;
}

struct collective_time collective_time_of(const struct sutra_collectives *of, const struct collective_match *match) {
    const struct collective_call *first = collective_match_call(&of->calls, &of->matches, match, 0);
    const struct collective_group *group = &of->calls.groups[match->group];
    struct collective_time time = {.kind = collective_kind_of(strings_text(&of->calls.strings, first->what)),
                                   .n_members = match->is_message ? 2
                                                : group->size > 0 ? group->size
                                                                  : match->n,
                                   .place = of->places[match->group],
                                   .algorithm = (double)NAN,
                                   .bus = (double)NAN};
    if (match->is_message)
        time.place = match->from < 0 || match->to < 0 ? PLACE_UNKNOWN : place_of(of, match->from, match->to);
    int64_t n_in = CALL_UNKNOWN, n_out = CALL_UNKNOWN, bytes;
    for (row_t i = 0; i < match->n; i++) {
        const struct collective_call *call = collective_match_call(&of->calls, &of->matches, match, i);
        n_in = MAX(call->n_in, n_in);
        n_out = MAX(call->n_out, n_out);
    }
    const bool from_logs = of->calls.from_logs; /* whose sizes are bytes */
    unsigned size = from_logs ? 1 : collective_type_bytes(strings_text(&of->calls.strings, first->type));
    int64_t n = from_logs ? n_in : collective_elements(time.kind, n_in, n_out, time.n_members);
    bool unknown = size == 0 || n < 0 || __builtin_mul_overflow(n, (int64_t)size, &bytes);
    time.bytes = unknown ? CALL_UNKNOWN : bytes;
    struct job_collectives job = collectives_job(of);
    time.at = collective_moments_of(&job, match);
    time.skew_ns = moment_minus(time.at.arrival_ns, time.at.first_ns);
    time.end_skew_ns = moment_minus(time.at.last_end_ns, time.at.first_end_ns);
    if (time.bytes != CALL_UNKNOWN && time.at.transfer_ns > 0 && !isnan(collective_bus_share(time.kind, 2))) {
        time.algorithm = (double)time.bytes / (double)time.at.transfer_ns; /* bytes a ns are GB a second */
        time.bus = time.algorithm * collective_bus_share(time.kind, time.n_members);
    }
    return time;
}

/* ---- Merging the parts ---- */

static enum sutra_status analyze_all(struct sutra_collectives *of, struct sutra_context *context,
                                     struct sutra_error *error) {
    /* join the calls of all parts, and find the shape of the job */
    for (size_t i = 0; i < of->tasks.n_analyzed; i++) {
        struct collective_part *part = collective_part_at(of, i);
        TRY_ALLOC(collective_calls_append(&of->calls, &part->calls), error);
        collective_calls_free(&part->calls);
        of->link_gb_per_s = part->link_gb_per_s > 0 ? part->link_gb_per_s : of->link_gb_per_s;
        int64_t n = part->n_devices; /* a process that sees one device does not know the number of devices */
        of->ranks_per_host = n > of->ranks_per_host && (n > 1 || of->tasks.n == 1) ? n : of->ranks_per_host;
    }
    if (of->options.ranks_per_host)
        of->ranks_per_host = (int64_t)of->options.ranks_per_host;
    if (of->options.link_gb_per_s > 0)
        of->link_gb_per_s = of->options.link_gb_per_s;
    TRY(collective_matches_find(&of->calls, &of->arena, &of->matches, error));
    TRY(rank_clocks_find(&of->calls, &of->matches, &of->arena, &of->clocks, &of->n_clocks, error));
    uint64_t n_impossible[2];
    of->clock_set = rank_clocks_set(&of->calls, &of->matches, of->clocks, of->n_clocks, &of->arena, n_impossible);
    TRY_ALLOC(of->clock_set, error);
    of->summary.n_impossible = n_impossible[0];
    of->summary.n_impossible_aligned = n_impossible[1];
    for (row_t i = 0; i < of->n_clocks; i++)
        of->summary.n_clocks_set += of->clock_set[i];

    /* whether each group is inside a host */
    of->places = arena_zeros(&of->arena, of->calls.n_groups, sizeof *of->places);
    if (of->logs.places && !of->ranks_per_host)
        of->places = of->logs.places;
    for (uint32_t i = 0; i < of->calls.n_groups && of->places != of->logs.places && !of->arena.failed; i++) {
        struct arena_mark mark = arena_mark(&of->arena);
        size_t n;
        const int64_t *ranks = collective_group_ranks(&of->calls, i, &of->arena, &n);
        if (ranks && n > 0)
            of->places[i] = place_of(of, ranks[0], ranks[n - 1]);
        arena_release(&of->arena, mark);
    }
    const size_t n_analyzed = of->calls.from_logs ? of->logs.n_ranks : of->tasks.n_analyzed;
    int64_t *ranks = arena_alloc(&of->arena, n_analyzed, sizeof *ranks);
    TRY(arena_status(&of->arena, error));
    for (size_t i = 0; i < n_analyzed; i++)
        ranks[i] = of->calls.from_logs ? of->logs.ranks[i].rank : of->tasks.list[of->tasks.order[i]].rank;
    TRY(collective_checks_find(&of->calls, &of->matches, ranks, n_analyzed, &of->arena, &of->checks, error));
    TRY(collective_ranks_make(of, error));
    TRY(collective_tables_make(of, error));
    TRY(collective_kinds_make(of, error));
    return collective_straggler_find(of, context, error);
}

/* ---- The run ---- */

static enum sutra_status analyze(void *arg, struct rank_run *run, size_t number, struct sutra_context *context,
                                 struct sutra_device_trace *trace, struct sutra_error *error) {
    const struct sutra_collectives *of = arg;
    (void)run;
    enum sutra_status status =
        collective_part_read(collective_part_of(of, number), context, trace, of->tasks.list[number].rank, error);
    sutra_device_trace_free(trace);
    return status;
}

/* Parts depend on no option; those by the rules of another program are refused. */
static void encode_rules(const void *of, struct buffer *out) {
    (void)of;
    encode_text(out, "sutra");
}

static void part_codec(void *arg, size_t number, struct codec *codec) {
    const struct sutra_collectives *of = arg;
    struct collective_part *part = collective_part_of(of, number);
    codec_options(codec, encode_rules, NULL);
    codec_value(codec, &part->n_devices);
    codec_value(codec, &part->link_gb_per_s);
    codec_value(codec, &part->compute_ns);
    codec_value(codec, &part->first_ns);
    codec_value(codec, &part->last_ns);
    if (codec_decodes(codec) && !collective_calls_init(&part->calls))
        codec_fail(codec, CODEC_NO_MEMORY);
    collective_calls_codec(codec, &part->calls, of->tasks.list[number].rank);
}

static void part_free(void *result) {
    collective_calls_free(&((struct collective_part *)result)->calls);
}

static enum sutra_status merge(void *arg, struct sutra_context *context, struct sutra_error *error) {
    return collectives_join(arg, context, error);
}

const struct rank_analysis collectives_analysis = {.kind = {"collectives", 0},
                                                   .result_size = sizeof(struct collective_part),
                                                   .analyze = analyze,
                                                   .codec = part_codec,
                                                   .free = part_free,
                                                   .merge = merge};

enum sutra_status collectives_join(struct sutra_collectives *of, struct sutra_context *context,
                                   struct sutra_error *error) {
    for (size_t i = 0; i < of->tasks.n; i++) {
        const struct rank_task *task = &of->tasks.list[i];
        collective_part_of(of, i)->rank = collectives_rank_of(task);
        of->summary.n_ranks += !task->status;
        of->summary.n_skipped += task->status && !task->is_unselected;
    }
    of->summary.n_ranks += of->logs.n_ranks;
    of->summary.n_skipped += of->logs.n_skipped;
    of->summary.n_untimed = of->calls.n_untimed;
    of->summary.from_logs = of->calls.from_logs;
    TRY_ALLOC(result_init(&of->result, collective_table_specs, SUTRA_COLLECTIVES_N_TABLES), error);
    for (uint32_t id = 0; id < SUTRA_COLLECTIVES_N_TABLES && of->calls.from_logs; id++)
        if (id == SUTRA_COLLECTIVES_CLOCKS || id == SUTRA_COLLECTIVES_HOSTS || id == SUTRA_COLLECTIVES_EXCESS)
            of->result.reasons[id] = "NCCL Inspector logs record no timeline and no operators";
    of->result.of_job = true;
    of->result.defects = of->tasks.defects;
    of->result.n_defects = of->tasks.n_defects;
    TRY(analyze_all(of, context, error));
    TRY(result_status(&of->result, error));
    return arena_status(&of->arena, error);
}

enum sutra_status collectives_options_init(const struct sutra_collectives_options *given,
                                           struct sutra_collectives_options *taken, struct sutra_error *error) {
    static const struct options_form form = OPTIONS_FORM(sutra_collectives_options, link_gb_per_s);
    TRY(options_copy(&form, given, taken, error));
    if (taken->ranks_per_host > INT32_MAX || !(taken->link_gb_per_s >= 0))
        return error_set(error, SUTRA_USAGE,
                         "ranks per host must be at most 2147483647, and the link peak at least 0 GB/s");
    return SUTRA_OK;
}

enum sutra_status sutra_collectives_run(struct sutra_context *context, const char *const *paths, size_t n_paths,
                                        const struct sutra_collectives_options *options,
                                        struct sutra_collectives **collectives, struct sutra_error *error) {
    struct sutra_collectives *made = calloc(1, sizeof *made);
    TRY_ALLOC(made, error);
    enum sutra_status status = collectives_options_init(options, &made->options, error);
    if (!status && !collective_calls_init(&made->calls))
        status = error_memory(error);
    if (!status)
        status = restriction_copy(made->options.restriction, &made->tasks.restriction, error);
    made->options.restriction = NULL; /* the caller's */
    bool are_logs = false;
    if (!status)
        status = collective_inputs_are_logs(paths, n_paths, &are_logs, error);
    if (!status && are_logs) {
        status = collective_logs_read(made, context, paths, n_paths, error);
        if (!status)
            status = collectives_join(made, context, error);
    } else if (!status) {
        status = rank_tasks_run(&made->tasks, &collectives_analysis, context, paths, n_paths, made, error);
    }
    if (status || made->tasks.is_combined_by_other_process) {
        sutra_collectives_free(made);
        made = NULL;
    }
    if (!status)
        *collectives = made;
    return status;
}

void sutra_collectives_free(struct sutra_collectives *collectives) {
    if (!collectives)
        return;
    result_free(&collectives->result);
    collective_calls_free(&collectives->calls);
    arena_free(&collectives->arena);
    rank_tasks_free(&collectives->tasks);
    free(collectives);
}

/* ---- Results ---- */

const struct sutra_collectives_rank *sutra_collectives_at(const struct sutra_collectives *collectives, size_t i) {
    const struct collective_logs *logs = &collectives->logs;
    if (collectives->calls.from_logs)
        return i < logs->n_ranks + logs->n_skipped ? &logs->ranks[i] : NULL;
    return i < collectives->tasks.n_selected ? &collective_part_at(collectives, i)->rank : NULL;
}

void sutra_collectives_summary(const struct sutra_collectives *collectives, struct sutra_collectives_summary *summary) {
    report_give(summary, &collectives->summary, sizeof collectives->summary);
}

void sutra_collectives_straggler(const struct sutra_collectives *collectives,
                                 struct sutra_collectives_straggler *straggler) {
    report_give(straggler, &collectives->straggler, sizeof collectives->straggler);
}
