/*
 * collectives.c - from traces of all ranks to tables: each trace is a task that keeps what its collectives tell; the
 * rest is one rank's work after another in their order, so that nothing depends on threads.
 */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "analyze/collective_calls.h"
#include "analyze/collectives/collectives.h"
#include "analyze/collectives/tracelens.h"
#include "base/error.h"
#include "base/options.h"
#include "base/shared.h"
#include "facts/gpu_peaks.h"
#include "facts/names.h"
#include "facts/times.h"

/*
 * What is kept of a trace: its collectives, and how long its device computes.
 */

/* What each name of a kernel is to a timeline, found when it is met. */
static enum device_class class_of(const struct sutra_device_trace *trace, const struct string_roles *roles,
                                  uint8_t *classes, row_t event) {
    uint32_t name = trace->events.name[event], category = category_roles(&trace->events, roles, event);
    if (!(category & CATEGORY_WORK))
        return DEVICE_NO_WORK;
    if (category & (CATEGORY_COPY | CATEGORY_SET))
        return DEVICE_COPY;
    if (classes[name] == 0)
        classes[name] = (uint8_t)(1 + device_class_of(CATEGORY_KERNEL, strings_text(&trace->strings, name),
                                                      strings_length(&trace->strings, name)));
    return (enum device_class)(classes[name] - 1);
}

static void add_work(struct collective_part *part, enum device_class class, int64_t start_ns, int64_t end_ns) {
    part->first_ns = start_ns < part->first_ns ? start_ns : part->first_ns;
    part->last_ns = end_ns > part->last_ns ? end_ns : part->last_ns;
    if (class == DEVICE_COMPUTE)
        part->compute_ns += (double)moment_minus(end_ns, start_ns);
}

static enum sutra_status sum_work(struct collective_part *part, struct sutra_context *context,
                                  const struct sutra_device_trace *trace, struct sutra_error *error) {
    const struct device_events *events = &trace->events;
    struct arena scratch = {0};
    struct string_roles *roles = names_find(&trace->strings, READER_LINKER, &scratch);
    uint8_t *classes = arena_zeros(&scratch, trace->strings.n, sizeof *classes);
    enum sutra_status status = arena_status(&scratch, error);
    int64_t base_ns = trace_base_ns(trace);
    uint64_t n_untimed = 0;
    part->first_ns = INT64_MAX;
    part->last_ns = INT64_MIN;
    for (row_t i = 0; i < events->n && !status; i++) {
        enum device_class class = class_of(trace, roles, classes, i);
        int64_t start_ns = base_ns, end_ns;
        if (class == DEVICE_NO_WORK)
            continue;
        if (event_moments(events, i, base_ns, &start_ns, &end_ns))
            add_work(part, class, start_ns, end_ns);
        else
            n_untimed++;
    }
    if (!status)
        untimed_warn(context, n_untimed, "GPU activity has", "GPU activities have");
    arena_free(&scratch);
    return status;
}

enum sutra_status collective_part_take(struct collective_part *part, struct sutra_context *context,
                                       const struct sutra_device_trace *trace, int64_t rank, bool compat,
                                       struct sutra_error *error) {
    part->n_devices = trace_device_count(&trace->document);
    part->link_gb_per_s = device_link_of(&trace->document) / 1e9;
    if (!collective_calls_init(&part->calls))
        return error_memory(error);
    part->calls.keep_untold = true;
    if (compat)
        return nccl_rows_take(&part->nccl, context, trace, error);
    enum sutra_status status = collective_calls_take(&part->calls, context, trace, rank, error);
    if (!status)
        status = sum_work(part, context, trace, error);
    return status;
}

struct collective_part *collective_part_of(const struct sutra_collectives *of, size_t number) {
    return task_result(&of->tasks, number);
}

static struct collective_part *collective_part_at(const struct sutra_collectives *of, size_t i) {
    return task_result_of_rank(&of->tasks, i);
}

/*
 * What each rank waited, and was waited for; clocks of ranks and hosts; checks.
 *
 * A rank that comes last to a collective is waited for by all others, on average as long as they wait.
 */

static double microseconds(int64_t ns) {
    return (double)ns / 1e3;
}

/* ---- Sums ---- */

/* The traces of the ranks of the clocks; both are by rank. */
static void find_parts(struct sutra_collectives *of) {
    row_t place = 0;
    for (size_t i = 0; i < of->tasks.n_analyzed; i++) {
        const struct collective_part *part = collective_part_at(of, i);
        while (place < of->n_clocks && of->clocks[place].rank < part->rank.rank)
            place++;
        if (place < of->n_clocks && of->clocks[place].rank == part->rank.rank)
            of->parts[place] = part;
    }
}

static int64_t set_time(const struct sutra_collectives *of, row_t place, int64_t ns) {
    return of->clock_set[place] ? rank_clock_time(&of->clocks[place], ns) : ns;
}

/* When the job's work begins, and how long it takes, by the common clock. */
static void find_span(struct sutra_collectives *of) {
    int64_t first = INT64_MAX, last = INT64_MIN;
    for (row_t i = 0; i < of->n_clocks; i++) {
        const struct collective_part *part = of->parts[i];
        if (!part || part->first_ns > part->last_ns)
            continue;
        int64_t begin = set_time(of, i, part->first_ns), end = set_time(of, i, part->last_ns);
        first = begin < first ? begin : first;
        last = end > last ? end : last;
    }
    of->first_ns = first == INT64_MAX ? 0 : first;
    of->summary.span_us = first > last ? 0 : microseconds(moment_minus(last, first));
}

static void add_match(struct sutra_collectives *of, const struct job_collectives *job,
                      const struct collective_match *match) {
    struct collective_moments moments = collective_moments_of(job, match);
    struct sutra_collectives_summary *summary = &of->summary;
    summary->n_messages += match->is_message;
    summary->n_collectives += !match->is_message;
    summary->transfer_us += microseconds(moments.transfer_ns);
    if (rank_waits_add(job, match, &moments, of->sums))
        summary->wait_us += moments.wait_ns / 1e3;
}

/* ---- Tables ---- */

static int64_t host_of(const struct sutra_collectives *of, int64_t rank) {
    return of->ranks_per_host ? rank / of->ranks_per_host : CALL_UNKNOWN;
}

static void put_ranks(struct sutra_collectives *of, double median_compute_ns) {
    struct sutra_table *table = collective_table_begin(of, SUTRA_COLLECTIVES_RANKS);
    double span_us = of->summary.span_us;
    for (row_t i = 0; i < of->n_clocks; i++) {
        const struct rank_waits *sums = &of->sums[i];
        double compute_ns = of->parts[i] ? of->parts[i]->compute_ns : 0;
        table_integer(table, of->clocks[i].rank);
        table_integer(table, host_of(of, of->clocks[i].rank));
        table_integer(table, (int64_t)sums->n);
        table_real(table, sums->in_ns / 1e3);
        table_real(table, sums->waited_ns / 1e3);
        table_real(table, sums->waited_for_ns / 1e3);
        table_real(table, span_us > 0 ? sums->waited_for_ns / 10 / span_us : (double)NAN);
        table_integer(table, (int64_t)sums->n_last);
        table_integer(table, (int64_t)sums->n_first);
        table_real(table, sums->n ? 100.0 * (double)sums->n_last / (double)sums->n : (double)NAN);
        table_real(table, compute_ns / 1e3);
        table_real(table, (compute_ns - median_compute_ns) / 1e3);
    }
}

/* How far a clock is ahead where its collectives begin. */
static int64_t ahead_of(const struct rank_clock *clock) {
    return moment_minus(clock->first_ns, rank_clock_time(clock, clock->first_ns));
}

static void put_clocks(struct sutra_collectives *of) {
    struct sutra_table *table = collective_table_begin(of, SUTRA_COLLECTIVES_CLOCKS);
    for (row_t i = 0; i < of->n_clocks; i++) {
        const struct rank_clock *clock = &of->clocks[i];
        table_integer(table, clock->rank);
        table_integer(table, host_of(of, clock->rank));
        table_integer(table, clock->reference);
        table_real(table, microseconds(ahead_of(clock)));
        table_real(table, clock->drift * 1e6);
        table_real(table, microseconds(clock->spread_ns));
        table_integer(table, clock->n);
        table_words(table, clock->n == 0 ? "" : clock->by_messages ? "messages" : "collectives");
        table_integer(table, of->clock_set[i]);
    }
}

/* Clocks of a host, which is all that its ranks have: the median of them. */
static void put_host(struct sutra_collectives *of, row_t begin, row_t end, double *values, struct sutra_table *table) {
    double residual_us = 0;
    for (row_t i = begin; i < end; i++)
        values[i - begin] = microseconds(ahead_of(&of->clocks[i]));
    qsort(values, end - begin, sizeof *values, compare_doubles);
    double ahead_us = values[(end - begin) / 2];
    for (row_t i = begin; i < end; i++) {
        double apart_us = fabs(microseconds(ahead_of(&of->clocks[i])) - ahead_us);
        residual_us = fmax(residual_us, fmax(apart_us, microseconds(of->clocks[i].spread_ns)));
    }
    table_integer(table, host_of(of, of->clocks[begin].rank));
    table_integer(table, of->clocks[begin].rank);
    table_integer(table, of->clocks[end - 1].rank);
    table_integer(table, end - begin);
    table_real(table, ahead_us);
    table_real(table, residual_us);
}

static void put_hosts(struct sutra_collectives *of, double *values) {
    if (of->ranks_per_host == 0)
        return;
    struct sutra_table *table = collective_table_begin(of, SUTRA_COLLECTIVES_HOSTS);
    for (row_t begin = 0, end; begin < of->n_clocks; begin = end) {
        int64_t host = host_of(of, of->clocks[begin].rank);
        for (end = begin; end < of->n_clocks && host_of(of, of->clocks[end].rank) == host;)
            end++;
        put_host(of, begin, end, values, table);
    }
}

static void put_check(const struct sutra_collectives *of, struct sutra_table *table,
                      const struct collective_check *check) {
    table_words(table, check_severity_names[check->severity]);
    table_words(table, check->rule);
    table_integer(table, check->hangs);
    table_words(table, check->group);
    table_integer(table, check->number);
    table_words(table, check->ranks);
    table_integer(table, check->rank);
    bool placed = check->at_ns != CALL_UNKNOWN && check->rank != CALL_UNKNOWN;
    row_t place = placed ? rank_clock_place(of->clocks, of->n_clocks, check->rank) : 0;
    table_real(table,
               placed ? microseconds(moment_minus(set_time(of, place, check->at_ns), of->first_ns)) : (double)NAN);
    table_words(table, check->text);
}

/* Those of collectives, and traces that were left out. */
static void put_checks(struct sutra_collectives *of) {
    struct sutra_table *table = collective_table_begin(of, SUTRA_COLLECTIVES_CHECKS);
    for (size_t i = 0; i < of->tasks.n; i++) {
        const struct rank_task *task = &of->tasks.list[of->tasks.order[i]];
        if (task->status && !task->is_unselected)
            put_check(of, table,
                      &(struct collective_check){.severity = CHECK_ERROR,
                                                 .rule = "skipped trace",
                                                 .group = "",
                                                 .number = CALL_UNKNOWN,
                                                 .ranks = "",
                                                 .rank = CALL_UNKNOWN,
                                                 .at_ns = CALL_UNKNOWN,
                                                 .text = task->error.message});
        of->summary.n_faults += task->status != SUTRA_OK;
    }
    for (int severity = CHECK_ERROR; severity >= CHECK_NOTE; severity--)
        for (uint64_t i = 0; i < of->checks.n; i++)
            if ((int)of->checks.list[i].severity == severity)
                put_check(of, table, &of->checks.list[i]);
    for (uint64_t i = 0; i < of->checks.n; i++)
        of->summary.n_faults += of->checks.list[i].severity == CHECK_ERROR;
    of->summary.n_checks = table->n_rows;
}

/* ---- All of them ---- */

static void sum_clocks(struct sutra_collectives *of, double *values) {
    double least = 0, most = 0;
    for (row_t i = 0; i < of->n_clocks; i++) {
        double ahead_us = microseconds(ahead_of(&of->clocks[i]));
        bool compared = of->clocks[i].reference == of->clocks[0].rank;
        least = compared ? fmin(least, ahead_us) : least;
        most = compared ? fmax(most, ahead_us) : most;
        values[i] = microseconds(of->clocks[i].spread_ns);
    }
    if (of->n_clocks > 0)
        qsort(values, of->n_clocks, sizeof *values, compare_doubles);
    of->summary.clocks_apart_us = most - least;
    of->summary.clock_residual_us = of->n_clocks > 0 ? values[of->n_clocks / 2] : 0;
}

static enum sutra_status collective_ranks_make(struct sutra_collectives *of, struct sutra_error *error) {
    of->sums = arena_zeros(&of->arena, of->n_clocks, sizeof *of->sums);
    of->parts = arena_zeros(&of->arena, of->n_clocks, sizeof(struct collective_part *));
    double *values = arena_take(&of->arena, of->n_clocks, sizeof *values);
    if (of->arena.failed)
        return error_memory(error);
    find_parts(of);
    find_span(of);
    of->summary.n_calls = of->calls.n;
    of->summary.n_untold = of->calls.n_untold;
    struct job_collectives job = collectives_job(of);
    for (row_t i = 0; i < of->matches.n; i++)
        add_match(of, &job, &of->matches.list[i]);
    for (row_t i = 0; i < of->n_clocks; i++)
        values[i] = of->parts[i] ? of->parts[i]->compute_ns : 0;
    if (of->n_clocks > 0)
        qsort(values, of->n_clocks, sizeof *values, compare_doubles);
    put_ranks(of, of->n_clocks > 0 ? values[of->n_clocks / 2] : 0);
    sum_clocks(of, values);
    put_clocks(of);
    put_hosts(of, values);
    put_checks(of);
    return SUTRA_OK;
}

/*
 * One collective on all its ranks: who came when, who waited how long, how long it took, how fast it was.
 */

const char *const collective_place_names[] = {
    [PLACE_UNKNOWN] = "", [PLACE_INSIDE] = "inside", [PLACE_BETWEEN] = "between"};

struct job_collectives collectives_job(const struct sutra_collectives *of) {
    return (struct job_collectives){.calls = &of->calls,
                                    .matches = &of->matches,
                                    .clocks = of->clocks,
                                    .clock_set = of->clock_set,
                                    .n_clocks = of->n_clocks};
}

/* ---- Places ---- */

static enum collective_place place_of(const struct sutra_collectives *of, int64_t a, int64_t b) {
    if (of->ranks_per_host == 0)
        return PLACE_UNKNOWN;
    return a / of->ranks_per_host == b / of->ranks_per_host ? PLACE_INSIDE : PLACE_BETWEEN;
}

/* Where each group is; once. */
static bool collective_places_find(struct sutra_collectives *of) {
    of->places = arena_zeros(&of->arena, of->calls.n_groups, sizeof *of->places);
    for (uint32_t i = 0; i < of->calls.n_groups && !of->arena.failed; i++) {
        struct arena_mark mark = arena_mark(&of->arena);
        size_t n;
        const int64_t *ranks = collective_group_ranks(&of->calls, i, &of->arena, &n);
        if (ranks && n > 0)
            of->places[i] = place_of(of, ranks[0], ranks[n - 1]);
        arena_release(&of->arena, mark);
    }
    return !of->arena.failed;
}

/* ---- Times ---- */

static int64_t larger(int64_t a, int64_t b) {
    return a > b ? a : b;
}

static int64_t bytes_of(const struct sutra_collectives *of, const struct collective_match *match, enum comm_kind kind,
                        int64_t n_members) {
    int64_t n_in = CALL_UNKNOWN, n_out = CALL_UNKNOWN, bytes;
    const struct collective_call *first = collective_match_call(&of->calls, &of->matches, match, 0);
    for (row_t i = 0; i < match->n; i++) {
        const struct collective_call *call = collective_match_call(&of->calls, &of->matches, match, i);
        n_in = larger(n_in, call->n_in);
        n_out = larger(n_out, call->n_out);
    }
    unsigned size = collective_type_bytes(strings_text(&of->calls.strings, first->type));
    int64_t n = collective_elements(kind, n_in, n_out, n_members);
    return size == 0 || n < 0 || __builtin_mul_overflow(n, (int64_t)size, &bytes) ? CALL_UNKNOWN : bytes;
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
    time.bytes = bytes_of(of, match, time.kind, time.n_members);
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

/* ---- Ranks together ---- */

/* Joins what the traces tell, each given back as soon as it is taken over. */
static enum sutra_status join_parts(struct sutra_collectives *of, struct sutra_error *error) {
    for (size_t i = 0; i < of->tasks.n_analyzed; i++) {
        struct collective_part *part = collective_part_at(of, i);
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
    const size_t n = of->tasks.n_analyzed;
    for (size_t i = 0; i < n && ranks; i++)
        ranks[i] = of->tasks.list[of->tasks.order[i]].rank;
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

/* ---- Tasks ---- */

static enum sutra_status analyze(void *arg, struct rank_run *run, size_t number, struct sutra_context *context,
                                 struct sutra_device_trace *trace, struct sutra_error *error) {
    const struct sutra_collectives *of = arg;
    (void)run;
    enum sutra_status status = collective_part_take(collective_part_of(of, number), context, trace,
                                                    of->tasks.list[number].rank, of->options.compat, error);
    sutra_device_trace_free(trace);
    return status;
}

/* The results depend on no other option. */
static void encode_rules(const void *of, struct buffer *out) {
    const struct sutra_collectives_options *options = of;
    encode_value(out, options->compat);
}

static void part_codec(void *arg, size_t number, struct codec *codec) {
    const struct sutra_collectives *of = arg;
    struct collective_part *part = collective_part_of(of, number);
    bool compat = part->nccl != NULL;
    codec_options(codec, encode_rules, &of->options);
    codec_value(codec, &part->n_devices);
    codec_value(codec, &part->link_gb_per_s);
    codec_value(codec, &part->compute_ns);
    codec_value(codec, &part->first_ns);
    codec_value(codec, &part->last_ns);
    codec_bool(codec, &compat);
    if (codec_decodes(codec) && !collective_calls_init(&part->calls))
        codec_fail(codec, CODEC_NO_MEMORY);
    if (compat)
        nccl_rows_codec(codec, &part->nccl);
    else
        collective_calls_codec(codec, &part->calls, of->tasks.list[number].rank);
}

static void part_free(void *result) {
    struct collective_part *part = result;
    collective_calls_free(&part->calls);
    nccl_rows_free(part->nccl);
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
    of->first_ns = INT64_MAX;
    for (size_t i = 0; i < of->tasks.n; i++) {
        const struct rank_task *task = &of->tasks.list[i];
        collective_part_of(of, i)->rank =
            (struct sutra_collectives_rank){.path = task->path,
                                            .rank = task->rank,
                                            .source = task->source,
                                            .reason = task->status ? task->error.message : NULL};
        of->summary.n_ranks += !task->status;
        of->summary.n_skipped += task->status && !task->is_unselected;
    }
    enum sutra_status status = of->options.compat ? nccl_tables_make(of, error) : analyze_all(of, context, error);
    for (int id = 0; id < SUTRA_COLLECTIVES_N_TABLES && !status; id++)
        if (of->tables[id].failed)
            status = error_memory(error);
    return status ? status : arena_status(&of->arena, error);
}

enum sutra_status sutra_collectives_run(struct sutra_context *context, const char *const *paths, size_t n_paths,
                                        const struct sutra_collectives_options *options,
                                        struct sutra_collectives **collectives, struct sutra_error *error) {
    static const struct options_form form = OPTIONS_FORM(sutra_collectives_options, link_gb_per_s);
    struct sutra_collectives *made = calloc(1, sizeof *made);
    if (!made)
        return error_memory(error);
    enum sutra_status status = options_take(&form, options, &made->options, error);
    if (!status && (made->options.ranks_per_host > INT32_MAX || !(made->options.link_gb_per_s >= 0)))
        status = error_set(error, SUTRA_USAGE,
                           "ranks per host must be at most 2147483647, and the link peak at least 0 GB/s");
    if (!status && !collective_calls_init(&made->calls))
        status = error_memory(error);
    if (!status)
        status = restriction_take(made->options.restriction, &made->tasks.restriction, error);
    made->options.restriction = NULL; /* the caller's */
    if (!status)
        status = rank_tasks_run(&made->tasks, &collectives_analysis, context, paths, n_paths, made, error);
    if (status || made->tasks.is_elsewhere) {
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
    return i < collectives->tasks.n_selected ? &collective_part_at(collectives, i)->rank : NULL;
}

void sutra_collectives_summary(const struct sutra_collectives *collectives, struct sutra_collectives_summary *summary) {
    report_give(summary, &collectives->summary, sizeof collectives->summary);
}

void sutra_collectives_straggler(const struct sutra_collectives *collectives,
                                 struct sutra_collectives_straggler *straggler) {
    report_give(straggler, &collectives->straggler, sizeof collectives->straggler);
}
