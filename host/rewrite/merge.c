/*
 * merge.c - two passes over the traces of all ranks, and what stands around their events.
 */
#include <stdlib.h>
#include <string.h>

#include "analyze/collective_calls.h"
#include "analyze/rank_clocks.h"
#include "base/error.h"
#include "base/options.h"
#include "columns/column.h"
#include "facts/selection.h"
#include "rewrite/merge.h"
#include "rewrite/merge_event.h"
#include "text/numbers.h"
#include "write/json.h"
#include "write/json_copy.h"
#include "write/sink.h"

/*
 * A rank's events, as pieces of the timeline.
 *
 * Until it is its turn a rank's pieces are held, compressed if the output is; from then on they go straight to the
 * sink. Where one ends and the next begins depends on the events alone.
 */

struct held_piece {
    struct buffer packed;
    size_t n_text;
};

struct merge_writing {
    struct sutra_merged *merged;
    struct rank_run *run;
    size_t number; /* of the trace in the list */
    struct merge_rank *rank;
    const struct sutra_device_trace *trace;
    struct merge_lanes lanes;
    struct merge_changes changes;
    struct buffer out;
    struct held_piece *held;
    uint64_t n_held, held_capacity;
    bool failed; /* out of memory */
};

static void write_held(struct merge_writing *writing) {
    struct sutra_merged *merged = writing->merged;
    for (uint64_t i = 0; i < writing->n_held; i++) {
        sink_write_packed(merged->sink, merged->n_pieces++, &writing->held[i].packed, writing->held[i].n_text);
        buffer_free(&writing->held[i].packed);
    }
    writing->n_held = 0;
}

/* Ends a piece: it is written, or held. */
static void end_piece(struct merge_writing *writing) {
    struct sutra_merged *merged = writing->merged;
    size_t n_text = writing->out.length;
    if (rank_run_is_next(writing->run, writing->number)) {
        write_held(writing);
        sink_write(merged->sink, merged->n_pieces++, writing->out.bytes, n_text);
        writing->out.length = 0;
        return;
    }
    writing->failed |= !sink_pack(merged->sink, &writing->out) ||
                       !column_grow(&writing->held, writing->n_held, &writing->held_capacity, sizeof *writing->held);
    if (writing->failed)
        return;
    writing->held[writing->n_held++] = (struct held_piece){writing->out, n_text};
    writing->out = (struct buffer){0};
}

static void write_events(struct merge_writing *writing, const uint8_t *kept) {
    struct merge_rank *rank = writing->rank;
    merge_lanes_write(&writing->lanes, writing->trace, writing->merged->tasks.list[writing->number].rank,
                      rank->position, &writing->out);
    for (row_t event = 0, passed = 0; event < writing->trace->events.n && !writing->failed; event++) {
        if (kept[event]) {
            buffer_append(&writing->out, ",\n", 2);
            merge_event_write(&writing->changes, event, merge_process_of(&writing->lanes, rank->position, event),
                              &writing->out);
            rank->n_kept++;
        }
        if (writing->out.length < PIECE_BYTES)
            continue;
        end_piece(writing);
        events_passed(writing->trace, passed, event);
        passed = event;
        if (sink_failed(writing->merged->sink))
            return;
    }
    end_piece(writing);
    writing->failed |= writing->out.failed;
}

/* Notes where arrows can end at the kernels of this rank, when its turn has come. */
static void note_points(struct merge_writing *writing, const uint8_t *kept) {
    struct sutra_merged *merged = writing->merged;
    const struct merge_rank *rank = writing->rank;
    struct buffer tid = {0};
    for (uint64_t i = rank->first_call; i < rank->first_call + rank->n_calls && !writing->failed; i++) {
        row_t event = merged->calls.list[i].event;
        struct event_places places;
        int64_t ns;
        merged->points[i].tid = STRING_NONE;
        if (!kept[event])
            continue;
        event_find(writing->trace, event, &writing->changes.learned, &places);
        const char *ts = writing->trace->document.source.bytes + places.field[FIELD_TS].at;
        size_t length = 0;
        number_scan(ts, &length);
        if (!places.field[FIELD_TS].at || !decimal_ns(ts, length, &ns))
            continue;
        tid.length = 0;
        merge_tid_write(writing->trace, places.field[FIELD_TID], &tid);
        merged->points[i] =
            (struct merge_point){ns + rank->shift_ns, merge_process_of(&writing->lanes, rank->position, event),
                                 strings_intern(&merged->calls.strings, tid.bytes ? tid.bytes : "", tid.length)};
        writing->failed |= tid.failed || merged->points[i].tid == STRING_NONE;
    }
    buffer_free(&tid);
}

/* Which events stay: all, or as the selection has it. */
static enum sutra_status choose_events(struct merge_writing *writing, struct sutra_context *context,
                                       struct arena *arena, uint8_t **kept, struct sutra_error *error) {
    struct selection selection;
    row_t n = writing->trace->events.n;
    if (writing->merged->selects) {
        enum sutra_status status =
            selection_make(context, writing->trace, &writing->merged->selection, NULL, arena, &selection, error);
        *kept = selection.kept;
        return status;
    }
    *kept = arena_take(arena, n, 1);
    if (!*kept)
        return error_memory(error);
    memset(*kept, 1, n);
    return SUTRA_OK;
}

static enum sutra_status write_rank(struct merge_writing *writing, struct sutra_context *context, struct arena *arena,
                                    struct sutra_error *error) {
    uint8_t *kept;
    if (writing->trace->events.n != writing->rank->n_events)
        return error_file(error, SUTRA_DATA, writing->trace->document.source.name, "changed during the merge");
    enum sutra_status status = choose_events(writing, context, arena, &kept, error);
    if (!status)
        status = merge_lanes_find(writing->trace, kept, arena, &writing->lanes, error);
    if (status)
        return status;
    writing->rank->n_processes = writing->lanes.n_processes;
    if (writing->lanes.n_processes > 0)
        write_events(writing, kept);
    rank_run_wait(writing->run, writing->number);
    write_held(writing);
    note_points(writing, kept);
    return writing->failed ? error_memory(error) : SUTRA_OK;
}

/* Writes a rank's events when its turn comes; a rank_work of the second pass (merge_rank.c). */
static enum sutra_status merge_rank_work(void *arg, struct rank_run *run, size_t number, struct sutra_context *context,
                                         struct sutra_device_trace *trace, struct sutra_error *error) {
    struct sutra_merged *merged = arg;
    struct merge_rank *rank = merge_rank_at(merged, number);
    struct merge_writing writing = {.merged = merged,
                                    .run = run,
                                    .number = number,
                                    .rank = rank,
                                    .trace = trace,
                                    .changes = {.trace = trace,
                                                .shift_ns = rank->shift_ns,
                                                .ids = {rank->position, merge_id_bits(merged->report.n_ranks)}}};
    struct arena arena = {0};
    enum sutra_status status = write_rank(&writing, context, &arena, error);
    for (uint64_t i = 0; i < writing.n_held; i++)
        buffer_free(&writing.held[i].packed);
    free(writing.held);
    buffer_free(&writing.out);
    event_forms_free(&writing.changes.learned);
    arena_free(&arena);
    sutra_device_trace_free(trace);
    return status;
}

/*
 * What is added to the times of each rank: the difference of what they count from, and what its host's
 * clock is off by.
 *
 * Ranks of a host have one clock, so they get one offset, the median of theirs, and stay as they are to each other.
 * Where theirs lie clearly further apart than the ends of collectives tell, they are of several hosts, or the traces
 * tell of the wrong ones: each then keeps its own. O(ranks log ranks).
 */

static int64_t drift_over_half(const struct rank_clock *clock) {
    double ns = clock->drift * (double)(clock->last_ns - clock->first_ns) / 2;
    return (int64_t)(ns < 0 ? -ns : ns);
}

/* One offset for the whole of a rank's trace, that of the middle of its collectives: with another for each time the
 * durations of events, which stay, would no longer fit into each other. A clock that is not clearly off stays. */
static void set_clock(struct merge_rank *rank, const struct rank_clock *clock) {
    int64_t middle = clock->first_ns + (clock->last_ns - clock->first_ns) / 2;
    rank->n_aligned = clock->n;
    if (clock->n == 0)
        return;
    rank->offset_ns = rank_clock_is_off(clock) ? rank_clock_time(clock, middle) - middle : 0;
    rank->residual_ns = clock->spread_ns + drift_over_half(clock);
}

static int compare_offsets(const void *left, const void *right) {
    int64_t a = (*(struct merge_rank *const *)left)->offset_ns, b = (*(struct merge_rank *const *)right)->offset_ns;
    return (a > b) - (a < b);
}

/* Gives ranks of one host one offset; `ranks` has those whose clocks are known, and comes to be in another order. */
static void share_offset(struct merge_rank **ranks, size_t n) {
    int64_t apart = 0, residual = 0;
    if (n < 2)
        return;
    qsort(ranks, n, sizeof(struct merge_rank *), compare_offsets);
    int64_t median = ranks[(n - 1) / 2]->offset_ns;
    for (size_t i = 0; i < n; i++) {
        int64_t own = moment_size(moment_minus(ranks[i]->offset_ns, median));
        apart = own > apart ? own : apart;
        residual = ranks[i]->residual_ns > residual ? ranks[i]->residual_ns : residual;
    }
    if ((double)apart > RANK_CLOCK_CLEARLY * (double)residual)
        return;
    for (size_t i = 0; i < n; i++) {
        int64_t own = moment_size(moment_minus(ranks[i]->offset_ns, median));
        ranks[i]->residual_ns = own > ranks[i]->residual_ns ? own : ranks[i]->residual_ns;
        ranks[i]->offset_ns = median;
    }
}

/* How many ranks share a host, as the traces tell: those of a process that sees one GPU tell nothing. */
static int64_t ranks_of_host(const struct sutra_merged *merged, size_t n) {
    int64_t most = 1;
    for (size_t i = 0; i < n; i++) {
        int64_t told = merge_rank_at(merged, merged->tasks.order[i])->n_devices;
        most = told > most ? told : most;
    }
    return most;
}

static bool share_clocks(struct sutra_merged *merged, const struct rank_clock *clocks, row_t n_clocks, size_t n) {
    int64_t per_host = ranks_of_host(merged, n);
    struct merge_rank **of_host = arena_take(&merged->tasks.arena, n, sizeof(struct merge_rank *));
    for (size_t begin = 0, end; begin < n && of_host; begin = end) {
        int64_t host = merged->tasks.list[merged->tasks.order[begin]].rank / per_host;
        size_t n_known = 0;
        for (end = begin; end < n && merged->tasks.list[merged->tasks.order[end]].rank / per_host == host; end++) {
            struct merge_rank *rank = merge_rank_at(merged, merged->tasks.order[end]);
            int64_t number = merged->tasks.list[merged->tasks.order[end]].rank;
            if (rank->n_aligned > 0 &&
                clocks[rank_clock_place(clocks, n_clocks, number)].reference == clocks[0].reference)
                of_host[n_known++] = rank;
        }
        share_offset(of_host, n_known);
    }
    return of_host;
}

/* Sets positions, offsets and shifts of the first `n` ranks of the order, which are those that are merged. False: out
 * of memory. */
static bool merge_clocks_set(struct sutra_merged *merged, const struct rank_clock *clocks, row_t n_clocks, size_t n) {
    merged->base_ns = merge_rank_at(merged, merged->tasks.order[0])->base_ns;
    for (size_t i = 0; i < n; i++) {
        size_t number = merged->tasks.order[i];
        struct merge_rank *rank = merge_rank_at(merged, number);
        rank->position = (uint32_t)i;
        if (n_clocks > 0 && rank->n_calls > 0)
            set_clock(rank, &clocks[rank_clock_place(clocks, n_clocks, merged->tasks.list[number].rank)]);
    }
    if (n_clocks > 0 && !share_clocks(merged, clocks, n_clocks, n))
        return false;
    for (size_t i = 0; i < n; i++) {
        struct merge_rank *rank = merge_rank_at(merged, merged->tasks.order[i]);
        if (__builtin_sub_overflow(rank->base_ns, merged->base_ns, &rank->shift_ns) ||
            __builtin_add_overflow(rank->shift_ns, rank->offset_ns, &rank->shift_ns))
            rank->shift_ns = rank->offset_ns = 0;
    }
    return true;
}

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
    static const struct rank_analysis second_pass = {.analyze = merge_rank_work};
    struct rank_tasks second = {
        .stage = "merge ranks", .is_second_pass = true, .notes_places = true, .traces = merged->held};
    enum sutra_status status = rank_tasks_run(&second, &second_pass, context, paths, n_paths, merged, error);
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
    static const struct rank_analysis first_pass = {.result_size = sizeof(struct merge_rank), .analyze = look_at_rank};
    merged->tasks.stage = "read ranks";
    merged->tasks.notes_places = true;
    enum sutra_status status = rank_tasks_run(&merged->tasks, &first_pass, context, paths, n_paths, merged, error);
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
