/*
 * merge.c - merges the traces of all ranks into one timeline, in two passes over the traces.
 *
 *     pass 1   each rank: its collectives               -->  matched collectives, clocks
 *     pass 2   each rank: its events, with new times    -->  pieces, written in the order of the list
 *     last     arrows between the ranks of a collective
 *
 * The first traces of the list stay in memory between the passes, up to a limit; the other traces are read twice.
 *
 * Cost: reading each trace once or twice and writing it once. Memory: the traces that stay, one more trace and its text
 * per thread, and the collectives of all ranks.
 */
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "analyze/collective_calls.h"
#include "analyze/rank_clocks.h"
#include "base/error.h"
#include "base/options.h"
#include "base/shared.h"
#include "columns/column.h"
#include "facts/selection.h"
#include "rewrite/merge.h"
#include "text/numbers.h"
#include "write/json.h"
#include "write/json_copy.h"
#include "write/sink.h"

/* More ranks would leave too few bits for ids that doubles represent. */
#define MERGE_RANKS_MAX 1048576

/* Default limit of the memory of traces that stay between the passes. */
#define HELD_BYTES ((uint64_t)1 << 30)

/* A rank, by index in the list of traces. */
struct merge_rank {
    struct merge_role *role;
    int64_t number;                 /* of the rank in the role */
    int64_t base_ns;                /* origin of the times in its trace */
    int64_t shift_ns;               /* added to its times */
    int64_t offset_ns, residual_ns; /* of its clock */
    row_t n_aligned;
    int64_t n_devices; /* of its host, as recorded in its trace */
    uint32_t position; /* among the merged ranks */
    uint64_t first_call, n_calls;
    row_t n_events, n_kept;
    uint32_t n_processes;
    struct sutra_device_trace *held; /* in memory for the second pass; or NULL */
};

static struct merge_rank *rank_at(const struct sutra_merged *merged, size_t number) {
    return (struct merge_rank *)merged->tasks.results + number;
}

/* ---- First pass ---- */

/* Collects the collectives of a rank, and keeps its trace for the second pass if the memory suffices. */
static enum sutra_status read_rank(void *arg, struct rank_run *run, size_t number, struct sutra_context *context,
                                   struct sutra_device_trace *trace, struct sutra_error *error) {
    struct sutra_merged *merged = arg;
    struct merge_rank *rank = rank_at(merged, number);
    const struct source *source = &trace->document.source;
    *rank = (struct merge_rank){.base_ns = trace_base_ns(trace),
                                .n_devices = trace_device_count(&trace->document),
                                .n_events = trace->events.n};
    const struct rank_task *task = &merged->tasks.list[number];
    const struct chosen_window *window = chosen_window_of(merged->roles->window, task->path, &rank->number);
    rank->number = window ? rank->number - window->first_rank : task->rank;
    for (rank->role = merged->roles; window && rank->role->window != window;)
        rank->role++;
    struct collective_calls *calls = &rank->role->calls;
    rank_run_wait(run, number);
    rank->first_call = calls->n;
    enum sutra_status status = collective_calls_read(calls, context, trace, rank->number, error);
    rank->n_calls = calls->n - rank->first_call;
    uint64_t n_bytes = (uint64_t)trace->events.capacity * DEVICE_EVENT_BYTES + trace->strings.bytes_capacity +
                       (source->mapping ? 0 : source->size);
    if (n_bytes > merged->options.memory - merged->n_held_bytes) {
        sutra_device_trace_free(trace);
        return status;
    }
    merged->n_held_bytes += n_bytes;
    rank->held = trace;
    return status;
}

static void free_rank(void *rank) {
    sutra_device_trace_free(((struct merge_rank *)rank)->held);
}

/*
 * ---- Clocks ----
 *
 * The times of a rank are shifted by the difference of the origins of the traces, and by the offset of the clock of its
 * host. Ranks of a host have one clock, so they get one offset, their median. If their offsets differ clearly more than
 * the residuals of the alignment, they are on several hosts, or the traces record wrong hosts: each rank keeps its own
 * offset. Between roles, clocks count as recorded. O(ranks log ranks).
 */

static int compare_offsets(const void *left, const void *right) {
    int64_t a = (*(struct merge_rank *const *)left)->offset_ns, b = (*(struct merge_rank *const *)right)->offset_ns;
    return (a > b) - (a < b);
}

/* Sets one offset for the ranks of a host with known clocks, which are sorted. */
static void share_offset(struct merge_rank **ranks, size_t n) {
    int64_t max_distance = 0, max_residual = 0;
    if (n < 2)
        return;
    qsort(ranks, n, sizeof(struct merge_rank *), compare_offsets);
    int64_t median = ranks[lower_median_at(n)]->offset_ns;
    for (size_t i = 0; i < n; i++) {
        int64_t distance = moment_size(moment_minus(ranks[i]->offset_ns, median));
        max_distance = MAX(distance, max_distance);
        max_residual = MAX(ranks[i]->residual_ns, max_residual);
    }
    if ((double)max_distance > RANK_CLOCK_CLEARLY * (double)max_residual)
        return;
    for (size_t i = 0; i < n; i++) {
        int64_t distance = moment_size(moment_minus(ranks[i]->offset_ns, median));
        ranks[i]->residual_ns = MAX(distance, ranks[i]->residual_ns);
        ranks[i]->offset_ns = median;
    }
}

static const struct rank_clock *clock_of(const struct merge_rank *rank) {
    const struct merge_role *role = rank->role;
    return &role->clocks[rank_clock_index(role->clocks, role->n_clocks, rank->number)];
}

/* Shares offsets by host. False: out of memory. */
static bool share_clocks(struct sutra_merged *merged) {
    const struct rank_tasks *tasks = &merged->tasks;
    size_t n = merged->report.n_ranks;
    int64_t per_host = 1; /* processes that see one GPU record 1 */
    struct merge_rank **of_host = arena_alloc(&merged->tasks.arena, n, sizeof(struct merge_rank *));
    for (size_t i = 0; i < n; i++) {
        int64_t n_devices = rank_at(merged, tasks->order[i])->n_devices;
        per_host = MAX(n_devices, per_host);
    }
    for (size_t first = 0, end; first < n && of_host; first = end) {
        const struct merge_role *role = rank_at(merged, tasks->order[first])->role;
        int64_t host = rank_at(merged, tasks->order[first])->number / per_host;
        size_t n_known = 0;
        for (end = first; end < n; end++) {
            struct merge_rank *rank = rank_at(merged, tasks->order[end]);
            if (rank->role != role || rank->number / per_host != host)
                break;
            if (rank->n_aligned > 0 && clock_of(rank)->reference == role->clocks[0].reference)
                of_host[n_known++] = rank;
        }
        share_offset(of_host, n_known);
    }
    return of_host;
}

/* Sets positions, offsets and shifts of the merged ranks. False: out of memory. */
static bool set_clocks(struct sutra_merged *merged) {
    size_t n = merged->report.n_ranks;
    merged->base_ns = rank_at(merged, merged->tasks.order[0])->base_ns;
    for (size_t i = 0; i < n; i++) {
        size_t number = merged->tasks.order[i];
        struct merge_rank *rank = rank_at(merged, number);
        rank->position = (uint32_t)i;
        if (rank->role->n_clocks == 0 || rank->n_calls == 0)
            continue;
        /* A trace has one offset, at the middle of its collectives: an offset for each time would change durations, so
         * that events would no longer nest. A clock without a clear offset stays. */
        const struct rank_clock *clock = clock_of(rank);
        int64_t half = (clock->last_ns - clock->first_ns) / 2, middle = clock->first_ns + half;
        double drift_ns = clock->drift * (double)(clock->last_ns - clock->first_ns) / 2;
        rank->n_aligned = clock->n;
        if (clock->n == 0)
            continue;
        rank->offset_ns = rank_clock_is_off(clock) ? rank_clock_time(clock, middle) - middle : 0;
        rank->residual_ns = clock->spread_ns + (int64_t)(drift_ns < 0 ? -drift_ns : drift_ns);
    }
    if (!share_clocks(merged))
        return false;
    for (size_t i = 0; i < n; i++) {
        struct merge_rank *rank = rank_at(merged, merged->tasks.order[i]);
        if (__builtin_sub_overflow(rank->base_ns, merged->base_ns, &rank->shift_ns) ||
            __builtin_add_overflow(rank->shift_ns, rank->offset_ns, &rank->shift_ns))
            rank->shift_ns = rank->offset_ns = 0;
    }
    return true;
}

/*
 * ---- Second pass ----
 *
 * Writes the events of each rank in pieces, whose limits depend on the events alone. Until it is the rank's turn, its
 * pieces are held, compressed if the output is compressed; from then on they are written immediately.
 */

struct held_piece {
    struct buffer packed;
    size_t n_text;
};

struct rank_writer {
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

static void write_held(struct rank_writer *writer) {
    struct sutra_merged *merged = writer->merged;
    for (uint64_t i = 0; i < writer->n_held; i++) {
        sink_write_packed(merged->sink, merged->n_pieces++, &writer->held[i].packed, writer->held[i].n_text);
        buffer_free(&writer->held[i].packed);
    }
    writer->n_held = 0;
}

/* Ends a piece, which is written or held. */
static void end_piece(struct rank_writer *writer) {
    struct sutra_merged *merged = writer->merged;
    size_t n_text = writer->out.length;
    if (rank_run_is_next(writer->run, writer->number)) {
        write_held(writer);
        sink_write(merged->sink, merged->n_pieces++, writer->out.bytes, n_text);
        writer->out.length = 0;
        return;
    }
    writer->failed |= !sink_pack(merged->sink, &writer->out) ||
                      !column_grow(&writer->held, writer->n_held, &writer->held_capacity, sizeof *writer->held);
    if (writer->failed)
        return;
    writer->held[writer->n_held++] = (struct held_piece){writer->out, n_text};
    writer->out = (struct buffer){0};
}

static void write_events(struct rank_writer *writer, const uint8_t *kept) {
    struct merge_rank *rank = writer->rank;
    const struct chosen_window *of = rank->role->window;
    char name[300];
    snprintf(name, sizeof name, "%.255s%srank %" PRId64, of ? of->role : "", of ? " " : "", rank->number);
    merge_lanes_write(&writer->lanes, writer->trace, name, rank->position, &writer->out);
    for (row_t event = 0, passed = 0; event < writer->trace->events.n && !writer->failed; event++) {
        if (kept[event]) {
            buffer_append_text(&writer->out, ",\n");
            merge_event_write(&writer->changes, event, merge_process_of(&writer->lanes, rank->position, event),
                              &writer->out);
            rank->n_kept++;
        }
        if (writer->out.length < PIECE_BYTES)
            continue;
        end_piece(writer);
        events_passed(writer->trace, passed, event);
        passed = event;
        if (sink_failed(writer->merged->sink))
            return;
    }
    end_piece(writer);
    writer->failed |= writer->out.failed;
}

/* Notes the possible ends of arrows at the kernels of this rank, in the turn of the rank. */
static void note_points(struct rank_writer *writer, const uint8_t *kept) {
    const struct merge_rank *rank = writer->rank;
    struct merge_role *role = rank->role;
    struct buffer tid = {0};
    for (uint64_t i = rank->first_call; i < rank->first_call + rank->n_calls && !writer->failed; i++) {
        row_t event = role->calls.list[i].event;
        struct event_spans places;
        int64_t ns;
        role->points[i].tid = STRING_NONE;
        if (!kept[event])
            continue;
        event_find(writer->trace, event, &writer->changes.learned, &places);
        const char *ts = writer->trace->document.source.bytes + places.field[FIELD_TS].at;
        size_t length = 0;
        ts += *ts == '"';
        number_scan(ts, &length);
        if (!places.field[FIELD_TS].at || !decimal_ns(ts, length, &ns))
            continue;
        tid.length = 0;
        merge_tid_write(writer->trace, places.field[FIELD_TID], &tid);
        role->points[i] =
            (struct merge_point){ns + rank->shift_ns, merge_process_of(&writer->lanes, rank->position, event),
                                 strings_intern(&role->calls.strings, tid.bytes ? tid.bytes : "", tid.length)};
        writer->failed |= tid.failed || role->points[i].tid == STRING_NONE;
    }
    buffer_free(&tid);
}

static enum sutra_status write_rank(struct rank_writer *writer, struct sutra_context *context, struct arena *arena,
                                    struct sutra_error *error) {
    struct sutra_merged *merged = writer->merged;
    row_t n = writer->trace->events.n;
    uint8_t *kept = NULL;
    if (n != writer->rank->n_events)
        return error_file(error, SUTRA_DATA, writer->trace->document.source.name, "changed during the merge");
    if (merged->selects) {
        struct selection selection;
        TRY(selection_make(context, writer->trace, &merged->selection, NULL, arena, &selection, error));
        kept = selection.kept;
    } else if ((kept = arena_alloc(arena, n, 1))) {
        memset(kept, 1, n);
    } else {
        return error_memory(error);
    }
    TRY(merge_lanes_find(writer->trace, kept, arena, &writer->lanes, error));
    writer->rank->n_processes = writer->lanes.n_processes;
    if (writer->lanes.n_processes > 0)
        write_events(writer, kept);
    rank_run_wait(writer->run, writer->number);
    write_held(writer);
    note_points(writer, kept);
    return writer->failed ? error_memory(error) : SUTRA_OK;
}

static enum sutra_status rewrite_rank(void *arg, struct rank_run *run, size_t number, struct sutra_context *context,
                                      struct sutra_device_trace *trace, struct sutra_error *error) {
    struct sutra_merged *merged = arg;
    struct merge_rank *rank = rank_at(merged, number);
    struct rank_writer writer = {.merged = merged,
                                 .run = run,
                                 .number = number,
                                 .rank = rank,
                                 .trace = trace,
                                 .changes = {.trace = trace,
                                             .shift_ns = rank->shift_ns,
                                             .ids = {rank->position, merge_id_bits(merged->report.n_ranks)}}};
    struct arena arena = {0};
    enum sutra_status status = write_rank(&writer, context, &arena, error);
    for (uint64_t i = 0; i < writer.n_held; i++)
        buffer_free(&writer.held[i].packed);
    free(writer.held);
    buffer_free(&writer.out);
    event_forms_free(&writer.changes.learned);
    arena_free(&arena);
    sutra_device_trace_free(trace);
    return status;
}

/* ---- Output ---- */

/* Writes the document up to the first event, a metadata event with the number of ranks. False: out of memory. */
static bool write_head(struct sutra_merged *merged) {
    struct text_out text = {.sink = merged->sink};
    struct json_out json = {.text = &text, .indent = 1};
    size_t n = merged->report.n_ranks;
    json_open(&json, '{');
    json_add_integer(&json, "schemaVersion", 1);
    json_add_string(&json, "displayTimeUnit", "ms");
    json_add_integer(&json, "baseTimeNanoseconds", merged->base_ns);
    json_add_open(&json, "mergedRanks", '[');
    json.indent = JSON_ONE_LINE;
    for (size_t i = 0; i < n; i++) {
        const struct rank_task *task = &merged->tasks.list[merged->tasks.order[i]];
        const struct merge_rank *rank = rank_at(merged, merged->tasks.order[i]);
        json_open(&json, '{');
        json_add_integer(&json, "rank", task->rank);
        json_add_string(&json, "trace", task->path);
        json_add_double(&json, "offset_us", (double)rank->offset_ns / 1e3);
        json_add_double(&json, "residual_us", (double)rank->residual_ns / 1e3);
        json_add_integer(&json, "n_aligned", rank->n_aligned);
        json_close(&json, '}');
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

/* Runs the second pass. A rank that the first pass read, but not the second pass, is an error. */
static enum sutra_status write_ranks(struct sutra_merged *merged, struct sutra_context *context,
                                     struct sutra_error *error) {
    static const struct rank_analysis second_pass = {.analyze = rewrite_rank};
    size_t n = merged->tasks.n;
    struct rank_tasks second = {.stage = "merge ranks",
                                .first_pass = &merged->tasks,
                                .keeps_truncated = true,
                                .keep_offsets = true,
                                .traces = calloc(n, sizeof(struct sutra_device_trace *))};
    const char **paths = calloc(n, sizeof *paths);
    enum sutra_status status = paths && second.traces ? SUTRA_OK : error_memory(error);
    for (size_t i = 0; i < n && !status; i++) {
        paths[i] = merged->tasks.list[i].path;
        second.traces[i] = rank_at(merged, i)->held;
        rank_at(merged, i)->held = NULL;
    }
    if (!status)
        status = rank_tasks_run(&second, &second_pass, context, paths, n, merged, error);
    for (size_t i = 0; i < n && second.traces; i++)
        sutra_device_trace_free(second.traces[i]);
    free(second.traces);
    free(paths);
    for (size_t i = 0; second.n == n && second.list && i < n; i++)
        if (!merged->tasks.list[i].status && second.list[i].status) {
            status = error_copy(error, second.list[i].status, &second.list[i].error);
            break;
        }
    rank_tasks_free(&second);
    return status;
}

static enum sutra_status write_all(struct sutra_merged *merged, struct sutra_context *context, const char *output,
                                   struct sutra_error *error) {
    TRY(sink_open(&merged->sink, context, output, error));
    enum sutra_status status = write_head(merged) ? write_ranks(merged, context, error) : error_memory(error);
    if (!status) {
        uint64_t n_matches = 0;
        for (size_t i = 0; i < merged->n_roles; i++)
            n_matches += merged->roles[i].matches.n;
        stage_begin(context, "write", n_matches);
        if (!merge_arrows_write(merged))
            status = error_memory(error);
        stage_end(context);
    }
    struct sutra_error closing;
    enum sutra_status closed = sink_close(merged->sink, !status, &merged->report.n_bytes, &closing);
    return status ? status : error_copy(error, closed, &closing);
}

/* Makes a role for each window, or one for all ranks. */
static enum sutra_status make_roles(struct sutra_merged *merged, const struct chosen_window *window,
                                    struct sutra_error *error) {
    window = window && window->other ? window : NULL;
    for (const struct chosen_window *at = window; at; at = at->other)
        merged->n_roles++;
    merged->n_roles = MAX(merged->n_roles, 1U);
    merged->roles = calloc(merged->n_roles, sizeof *merged->roles);
    TRY_ALLOC(merged->roles, error);
    for (size_t i = 0; i < merged->n_roles; i++, window = window ? window->other : NULL) {
        merged->roles[i].window = window;
        TRY_ALLOC(collective_calls_init(&merged->roles[i].calls), error);
    }
    return SUTRA_OK;
}

static enum sutra_status merge_ranks(struct sutra_merged *merged, struct sutra_context *context,
                                     const char *const *paths, size_t n_paths, const char *output,
                                     struct sutra_error *error) {
    static const struct rank_analysis first_pass = {
        .result_size = sizeof(struct merge_rank), .analyze = read_rank, .free = free_rank};
    struct rank_tasks *tasks = &merged->tasks;
    struct sutra_merge_report *report = &merged->report;
    TRY(make_roles(merged, context->window, error));
    tasks->stage = "read ranks";
    tasks->keeps_truncated = true;
    tasks->keep_offsets = true;
    tasks->keeps_texts = true;
    TRY(rank_tasks_run(tasks, &first_pass, context, paths, n_paths, merged, error));
    while (report->n_ranks < tasks->n && !tasks->list[tasks->order[report->n_ranks]].status)
        report->n_ranks++;
    report->n_skipped = tasks->n - report->n_ranks;
    merged->ranks = calloc(report->n_ranks, sizeof *merged->ranks);
    TRY_ALLOC(merged->ranks, error);
    for (size_t i = 0; i < merged->n_roles; i++) {
        struct merge_role *role = &merged->roles[i];
        role->points = arena_alloc(&tasks->arena, role->calls.n, sizeof *role->points);
        TRY(collective_matches_find(&role->calls, &tasks->arena, &role->matches, error));
        if (merged->options.clocks == SUTRA_CLOCKS_COLLECTIVES)
            TRY(rank_clocks_find(&role->calls, &role->matches, &tasks->arena, &role->clocks, &role->n_clocks, error));
    }
    TRY(arena_status(&tasks->arena, error));
    TRY_ALLOC(set_clocks(merged), error);
    TRY(write_all(merged, context, output, error));
    report->ranks = merged->ranks;
    for (size_t i = 0; i < report->n_ranks; i++) {
        const struct rank_task *task = &tasks->list[tasks->order[i]];
        const struct merge_rank *rank = rank_at(merged, tasks->order[i]);
        merged->ranks[i] = (struct sutra_merged_rank){
            task->rank, task->path, rank->offset_ns, rank->residual_ns, rank->n_aligned, rank->n_events, rank->n_kept};
        report->n_events += rank->n_events;
        report->n_kept += rank->n_kept;
        report->n_processes += rank->n_processes;
    }
    return SUTRA_OK;
}

enum sutra_status sutra_merge(struct sutra_context *context, const char *const *paths, size_t n_paths,
                              const struct sutra_merge_options *options, const char *output,
                              struct sutra_merged **merged, struct sutra_error *error) {
    static const struct options_form form = OPTIONS_FORM(sutra_merge_options, no_arrows);
    struct sutra_merged *made = calloc(1, sizeof *made);
    TRY_ALLOC(made, error);
    enum sutra_status status = options_copy(&form, options, &made->options, error);
    made->options.memory = made->options.memory ? made->options.memory : HELD_BYTES;
    made->selects = !status && made->options.selection;
    if (made->selects)
        status = selection_copy_options(made->options.selection, &made->selection, error);
    if (!status && n_paths > MERGE_RANKS_MAX)
        status = error_set(error, SUTRA_USAGE, "more than 1,048,576 traces");
    if (!status)
        status = merge_ranks(made, context, paths, n_paths, output, error);
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
    rank_tasks_free(&merged->tasks);
    for (size_t i = 0; i < merged->n_roles && merged->roles; i++)
        collective_calls_free(&merged->roles[i].calls);
    free(merged->roles);
    free(merged->ranks);
    free(merged);
}
