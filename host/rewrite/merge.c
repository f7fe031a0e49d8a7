/*
 * merge.c - two passes over the traces of all ranks, and what stands around their events.
 */
#include "rewrite/merge.h"

#include <stdlib.h>
#include <string.h>

#include "analyze/rank_clocks.h"
#include "analyze/trace_devices.h"
#include "base/error.h"
#include "base/options.h"
#include "facts/selection.h"
#include "write/json_out.h"

/* More than these would leave too little room for ids that doubles hold. */
#define MERGE_RANKS_MAX 1048576

/* What traces that stay in memory may take, if nobody says. */
#define HELD_BYTES ((uint64_t)1 << 30)

/* ---- First pass ---- */

/* What a trace takes of our memory. */
static uint64_t bytes_of_trace(const struct sutra_device_trace *trace) {
    const struct source *source = &trace->document.source;
    return (uint64_t)trace->events.capacity * DEVICE_EVENT_BYTES + trace->strings.bytes_capacity +
           (source->mapping ? 0 : source->size);
}

/* Keeps a trace for the second pass if there is room; one rank at a time, in the order of the list. */
static void hold_or_free(struct sutra_merged *merged, size_t number, struct sutra_device_trace *trace) {
    uint64_t n_bytes = bytes_of_trace(trace);
    if (n_bytes > merged->options.memory - merged->n_held_bytes) {
        sutra_device_trace_free(trace);
        return;
    }
    merged->n_held_bytes += n_bytes;
    merged->held[number] = trace;
}

static enum sutra_status look_at_rank(void *arg, struct rank_run *run, size_t number, struct sutra_context *context,
                                      struct sutra_device_trace *trace, struct sutra_error *error) {
    struct sutra_merged *merged = arg;
    struct merge_rank *rank = merge_rank_at(merged, number);
    *rank = (struct merge_rank){.base_ns = trace_base_ns(trace),
                                .n_devices = trace_device_count(&trace->document),
                                .n_events = trace->events.n};
    rank_run_wait(run, number);
    rank->first_call = merged->calls.n;
    enum sutra_status status =
        collective_calls_take(&merged->calls, context, trace, merged->tasks.list[number].rank, error);
    rank->n_calls = merged->calls.n - rank->first_call;
    hold_or_free(merged, number, trace);
    return status;
}

/* ---- Clocks ---- */

/* The ranks that are merged, by rank, as places in the list. */
static size_t merged_ranks(const struct sutra_merged *merged) {
    size_t n = 0;
    while (n < merged->tasks.n && !merged->tasks.list[merged->tasks.order[n]].status)
        n++;
    return n;
}

/* Which collectives belong together, and how far clocks are apart. */
static enum sutra_status compare_ranks(struct sutra_merged *merged, struct sutra_error *error) {
    struct arena *arena = &merged->tasks.arena;
    struct rank_clock *clocks = NULL;
    row_t n_clocks = 0;
    merged->points = calloc(merged->calls.n + 1, sizeof *merged->points);
    if (!merged->points)
        return error_memory(error);
    enum sutra_status status = collective_matches_find(&merged->calls, arena, &merged->matches, error);
    if (!status && merged->options.clocks == SUTRA_CLOCKS_COLLECTIVES)
        status = rank_clocks_find(&merged->calls, &merged->matches, arena, &clocks, &n_clocks, error);
    if (!status && !merge_clocks_set(merged, clocks, n_clocks, merged_ranks(merged)))
        status = error_memory(error);
    return status;
}

/* ---- The timeline ---- */

static void write_rank_line(const struct sutra_merged *merged, struct json_out *json, size_t number) {
    const struct rank_task *task = &merged->tasks.list[number];
    const struct merge_rank *rank = merge_rank_at(merged, number);
    json_open(json, '{');
    json_name(json, "rank");
    json_integer(json, task->rank);
    json_name(json, "trace");
    json_string(json, task->path, strlen(task->path));
    json_name(json, "offset_us");
    json_double(json, (double)rank->offset_ns / 1e3);
    json_name(json, "residual_us");
    json_double(json, (double)rank->residual_ns / 1e3);
    json_name(json, "n_aligned");
    json_integer(json, rank->n_aligned);
    json_close(json, '}');
}

/* All up to the events, of which the first is a metadatum that tells how many ranks there are. */
static bool write_head(struct sutra_merged *merged) {
    struct text_out text = {.sink = merged->sink};
    struct json_out json = {.text = &text, .indent = 1};
    size_t n = merged_ranks(merged);
    json_open(&json, '{');
    json_name(&json, "schemaVersion");
    json_integer(&json, 1);
    json_name(&json, "displayTimeUnit");
    json_string(&json, "ms", 2);
    json_name(&json, "baseTimeNanoseconds");
    json_integer(&json, merged->base_ns);
    json_name(&json, "mergedRanks");
    json_open(&json, '[');
    json.indent = JSON_ONE_LINE;
    for (size_t i = 0; i < n; i++) {
        write_rank_line(merged, &json, merged->tasks.order[i]);
        out_step(&text);
    }
    json_close(&json, ']');
    out_format(&text,
               ",\n \"traceEvents\": [\n{\"ph\": \"M\", \"name\": \"merged_ranks\", \"pid\": 0, \"tid\": 0, "
               "\"args\": {\"ranks\": %zu}}",
               n);
    out_flush(&text);
    merged->n_pieces = text.n_pieces;
    bool ok = !text.out.failed;
    buffer_free(&text.out);
    return ok;
}

/* Whether a rank of the first pass got lost in the second. */
static enum sutra_status check_second(const struct sutra_merged *merged, const struct rank_tasks *second,
                                      struct sutra_error *error) {
    for (size_t i = 0; i < merged->tasks.n; i++)
        if (!merged->tasks.list[i].status && second->list[i].status)
            return error_hand_on(error, second->list[i].status, &second->list[i].error);
    return SUTRA_OK;
}

static enum sutra_status write_ranks(struct sutra_merged *merged, struct sutra_context *context,
                                     const char *const *paths, size_t n_paths, struct sutra_error *error) {
    struct rank_tasks second = {.stage = "merge ranks", .again = true, .notes_places = true, .held = merged->held};
    enum sutra_status status = rank_tasks_run(&second, context, paths, n_paths, 1, merge_rank_work, merged, error);
    if (second.n == merged->tasks.n && second.list) {
        enum sutra_status lost = check_second(merged, &second, error);
        status = lost ? lost : status;
    }
    rank_tasks_free(&second);
    return status;
}

static enum sutra_status write_all(struct sutra_merged *merged, struct sutra_context *context, const char *const *paths,
                                   size_t n_paths, const char *output, struct sutra_error *error) {
    enum sutra_status status = sink_open(&merged->sink, context, output, error);
    if (status)
        return status;
    if (!write_head(merged))
        status = error_memory(error);
    if (!status)
        status = write_ranks(merged, context, paths, n_paths, error);
    if (!status) {
        stage_begin(context, "write", merged->matches.n);
        if (!merge_arrows_write(merged))
            status = error_memory(error);
        stage_end(context);
    }
    struct sutra_error closing;
    enum sutra_status closed = sink_close(merged->sink, !status, &merged->report.n_bytes, &closing);
    return status ? status : error_hand_on(error, closed, &closing);
}

/* ---- What became of it ---- */

static void fill_report(struct sutra_merged *merged) {
    struct sutra_merge_report *report = &merged->report;
    for (size_t i = 0; i < report->n_ranks; i++) {
        size_t number = merged->tasks.order[i];
        const struct rank_task *task = &merged->tasks.list[number];
        const struct merge_rank *rank = merge_rank_at(merged, number);
        merged->ranks[i] = (struct sutra_merged_rank){
            task->rank, task->path, rank->offset_ns, rank->residual_ns, rank->n_aligned, rank->n_events, rank->n_kept};
        report->n_events += rank->n_events;
        report->n_kept += rank->n_kept;
        report->n_processes += rank->n_processes;
    }
    report->ranks = merged->ranks;
}

static enum sutra_status merge_all(struct sutra_merged *merged, struct sutra_context *context, const char *const *paths,
                                   size_t n_paths, const char *output, struct sutra_error *error) {
    merged->held = calloc(n_paths, sizeof(struct sutra_device_trace *));
    if (!collective_calls_init(&merged->calls) || !merged->held)
        return error_memory(error);
    merged->tasks.stage = "read ranks";
    merged->tasks.notes_places = true;
    enum sutra_status status =
        rank_tasks_run(&merged->tasks, context, paths, n_paths, sizeof(struct merge_rank), look_at_rank, merged, error);
    if (!status)
        status = compare_ranks(merged, error);
    if (status)
        return status;
    merged->report.n_ranks = merged_ranks(merged);
    merged->report.n_skipped = merged->tasks.n - merged->report.n_ranks;
    merged->ranks = calloc(merged->report.n_ranks, sizeof *merged->ranks);
    if (!merged->ranks)
        return error_memory(error);
    status = write_all(merged, context, paths, n_paths, output, error);
    if (!status)
        fill_report(merged);
    return status;
}

enum sutra_status sutra_merge(struct sutra_context *context, const char *const *paths, size_t n_paths,
                              const struct sutra_merge_options *options, const char *output,
                              struct sutra_merged **merged, struct sutra_error *error) {
    static const struct options_form form = OPTIONS_FORM(sutra_merge_options, no_arrows);
    struct sutra_merged *made = calloc(1, sizeof *made);
    if (!made)
        return error_memory(error);
    enum sutra_status status = options_take(&form, options, &made->options, error);
    made->options.memory = made->options.memory ? made->options.memory : HELD_BYTES;
    made->selects = !status && made->options.selection;
    if (made->selects)
        status = selection_take(made->options.selection, &made->selection, error);
    if (!status && n_paths > MERGE_RANKS_MAX)
        status = error_set(error, SUTRA_USAGE, "more than 1,048,576 traces");
    if (!status)
        status = merge_all(made, context, paths, n_paths, output, error);
    if (status)
        sutra_merged_free(made);
    else
        *merged = made;
    return status;
}

void sutra_merged_report(const struct sutra_merged *merged, struct sutra_merge_report *report) {
    report_give(report, &merged->report, sizeof merged->report);
}

void sutra_merged_free(struct sutra_merged *merged) {
    if (!merged)
        return;
    for (size_t i = 0; i < merged->tasks.n && merged->held; i++)
        sutra_device_trace_free(merged->held[i]);
    free(merged->held);
    rank_tasks_free(&merged->tasks);
    collective_calls_free(&merged->calls);
    free(merged->points);
    free(merged->ranks);
    free(merged);
}
