/*
 * simulation_trace.c - explains deadlocks of a simulation, and writes simulated times as a Chrome trace: two processes
 * per rank, an event per node.
 *
 *     rank 0, measured     a thread per thread and stream       if the file records start times
 *     rank 0, simulated    a thread per resource                and the waits for matches
 *
 * Both start at 0: the first node of the rank, or, if files record matches and so share one clock, of the job.
 */
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "base/error.h"
#include "base/options.h"
#include "columns/hash_tables.h"
#include "simulate/simulation.h"
#include "write/json.h"
#include "write/text.h"

/*
 * ---- Deadlocks: the few nodes that explain why nodes never ran ----
 *
 *     meets     a node has started, and waits for a member of its match that has not
 *     behind    this member depends on a node that waits for its match, or on a cycle, directly or through other nodes
 *     held      or it could start, but a node that waits for its match occupies its resource
 *     depends   a node of a cycle depends on the next one, or on itself
 *
 *     rank 0    [ a meets b of rank 1 ]  c behind a        so the report follows waits from rank to rank until it
 *     rank 1    [ d meets c of rank 0 ]  b behind d        returns or ends in a cycle
 *
 * Cost: O(nodes + dependencies), and for each match with waiting nodes the walk from the missing node to its cause.
 */

struct stuck_finding {
    struct sutra_simulation *simulation;
    bool **never;                /* per rank: nodes in a cycle, or dependent on one */
    bool **in_cycle;             /* per rank */
    struct replay_node *missing; /* per match: a member that has not started */
    bool *is_explained;          /* per match: the missing member is explained */
    struct replay_node *cycles;  /* a node of each cycle */
    uint64_t n_cycles, cycles_capacity, reasons_capacity;
    struct arena scratch;
};

static void add_reason(struct stuck_finding *finding, struct replay_node node, enum sutra_deadlock_cause why,
                       struct replay_node awaited) {
    struct sutra_simulation *simulation = finding->simulation;
    if (arena_grow(&simulation->arena, &simulation->stuck, simulation->n_reasons, &finding->reasons_capacity,
                   sizeof *simulation->stuck))
        simulation->stuck[simulation->n_reasons++] = (struct stuck_reason){node, awaited, why};
}

/* The dependency that blocks a node: one that can never run, else one that has not ended; ROW_NONE: none. */
static row_t missing_dep(const struct stuck_finding *finding, struct replay_node node) {
    const struct rank_graph *graph = &finding->simulation->graphs[node.rank];
    const uint64_t *end_ns = finding->simulation->times[node.rank].end_ns;
    const bool *never = finding->never[node.rank];
    for (uint64_t d = graph->first_dep[node.row]; d < graph->first_dep[node.row + 1]; d++)
        if (never[node.row] ? never[graph->deps[d]] : end_ns[graph->deps[d]] == TIME_NEVER)
            return graph->deps[d];
    return ROW_NONE;
}

static bool find_cycles(struct stuck_finding *finding, uint32_t rank) {
    const struct rank_graph *graph = &finding->simulation->graphs[rank];
    finding->never[rank] = arena_zeros(&finding->scratch, graph->n, 1);
    finding->in_cycle[rank] = arena_zeros(&finding->scratch, graph->n, 1);
    row_t *n_waits = arena_alloc(&finding->scratch, graph->n, sizeof *n_waits);
    row_t *queue = arena_alloc(&finding->scratch, graph->n, sizeof *queue);
    if (finding->scratch.failed)
        return false;
    if (finding->simulation->times[rank].n_ran < graph->n) {
        /* Remove nodes without dependencies, one after the other; the remaining nodes are in a cycle or depend on
         * one. */
        row_t n_queued = 0;
        memcpy(n_waits, graph->n_waits, graph->n * sizeof *n_waits);
        for (row_t i = 0; i < graph->n; i++)
            if (n_waits[i] == 0)
                queue[n_queued++] = i;
        for (row_t at = 0; at < n_queued; at++)
            for (uint64_t w = graph->first_waiter[queue[at]]; w < graph->first_waiter[queue[at] + 1]; w++)
                if (--n_waits[graph->waiters[w]] == 0)
                    queue[n_queued++] = graph->waiters[w];
        for (row_t i = 0; i < graph->n; i++)
            finding->never[rank][i] = n_waits[i] > 0;
        /* From each node that can never run, follow dependencies into a cycle or to an earlier walk. */
        const row_t n = finding->simulation->graphs[rank].n;
        memset(queue, 0xff, n * sizeof *queue);
        for (row_t first = 0; first < n; first++) {
            row_t at = first;
            for (; finding->never[rank][at] && queue[at] == ROW_NONE;
                 at = missing_dep(finding, (struct replay_node){rank, at}))
                queue[at] = first;
            if (!finding->never[rank][at] || queue[at] != first || finding->in_cycle[rank][at])
                continue;
            if (arena_grow(&finding->scratch, &finding->cycles, finding->n_cycles, &finding->cycles_capacity,
                           sizeof *finding->cycles))
                finding->cycles[finding->n_cycles++] = (struct replay_node){rank, at};
            for (; !finding->in_cycle[rank][at]; at = missing_dep(finding, (struct replay_node){rank, at}))
                finding->in_cycle[rank][at] = true;
        }
    }
    return !finding->scratch.failed;
}

static bool find_missing(struct stuck_finding *finding) {
    const struct sutra_simulation *simulation = finding->simulation;
    finding->missing = arena_alloc(&finding->scratch, simulation->n_matched_collectives, sizeof *finding->missing);
    finding->is_explained =
        arena_zeros(&finding->scratch, simulation->n_matched_collectives, sizeof *finding->is_explained);
    if (finding->scratch.failed)
        return false;
    for (uint32_t r = simulation->n; r-- > 0;)
        for (row_t i = simulation->graphs[r].n; simulation->graphs[r].matched_collective && i-- > 0;)
            if (simulation->graphs[r].matched_collective[i] != NO_MATCH &&
                simulation->times[r].start_ns[i] == TIME_NEVER)
                finding->missing[simulation->graphs[r].matched_collective[i]] = (struct replay_node){r, i};
    return true;
}

static bool has_started(const struct stuck_finding *finding, struct replay_node node) {
    return finding->simulation->times[node.rank].start_ns[node.row] != TIME_NEVER;
}

/* The node that occupies the resource of this node and waits for its match. */
static row_t find_holder(const struct stuck_finding *finding, struct replay_node node) {
    const struct rank_graph *graph = &finding->simulation->graphs[node.rank];
    const struct replay_times *times = &finding->simulation->times[node.rank];
    for (row_t i = 0; i < graph->n; i++)
        if (graph->resource[i] == graph->resource[node.row] && times->start_ns[i] != TIME_NEVER &&
            times->run_ns[i] == TIME_NEVER)
            return i;
    return node.row;
}

/* Explains why a member of a match has not started. */
static void explain_missing(struct stuck_finding *finding, struct replay_node missing) {
    struct replay_node at = missing;
    while (!has_started(finding, at) && !finding->in_cycle[at.rank][at.row]) {
        row_t dep = missing_dep(finding, at);
        if (dep == ROW_NONE)
            break;
        at.row = dep;
    }
    if (at.row != missing.row)
        add_reason(finding, missing, SUTRA_STUCK_BEHIND, at);
    if (!has_started(finding, at) && !finding->in_cycle[at.rank][at.row])
        add_reason(finding, at, SUTRA_STUCK_HELD, (struct replay_node){at.rank, find_holder(finding, at)});
}

enum sutra_status simulation_find_stuck(struct sutra_simulation *simulation, struct sutra_error *error) {
    struct stuck_finding finding = {.simulation = simulation};
    finding.never = arena_alloc(&finding.scratch, simulation->n, sizeof *finding.never);
    finding.in_cycle = arena_alloc(&finding.scratch, simulation->n, sizeof *finding.in_cycle);
    bool done = !finding.scratch.failed;
    for (uint32_t r = 0; r < simulation->n && done; r++)
        done = find_cycles(&finding, r);
    done = done && find_missing(&finding);
    for (uint32_t r = 0; r < simulation->n && done; r++) {
        const struct rank_graph *graph = &finding.simulation->graphs[r];
        const struct replay_times *times = &finding.simulation->times[r];
        for (row_t i = 0; i < graph->n; i++) {
            if (times->start_ns[i] == TIME_NEVER || times->run_ns[i] != TIME_NEVER)
                continue;
            uint32_t matched_collective = graph->matched_collective[i];
            add_reason(&finding, (struct replay_node){r, i}, SUTRA_STUCK_MEETS, finding.missing[matched_collective]);
            if (!finding.is_explained[matched_collective])
                explain_missing(&finding, finding.missing[matched_collective]);
            finding.is_explained[matched_collective] = true;
        }
    }
    for (uint64_t i = 0; i < finding.n_cycles && done; i++) {
        struct replay_node node = finding.cycles[i];
        do {
            struct replay_node next = {node.rank, missing_dep(&finding, node)};
            add_reason(&finding, node, SUTRA_STUCK_DEPENDS, next);
            node = next;
        } while (node.row != finding.cycles[i].row);
    }
    arena_free(&finding.scratch);
    return done ? arena_status(&simulation->arena, error) : error_memory(error);
}

/* ---- Public functions ---- */

static const char *name_of(const struct sutra_simulation *simulation, struct replay_node node) {
    return strings_text(simulation->names, simulation->graphs[node.rank].name[node.row]);
}

static uint64_t id_of(const struct sutra_simulation *simulation, struct replay_node node) {
    const struct rank_graph *graph = &simulation->graphs[node.rank];
    return graph->id[node.row];
}

bool sutra_simulation_deadlocked(const struct sutra_simulation *simulation, uint32_t i,
                                 struct sutra_deadlocked_node *node) {
    if (i >= simulation->n_reasons)
        return false;
    const struct stuck_reason *reason = &simulation->stuck[i];
    const struct sutra_deadlocked_node made = {
        .rank = simulation->ranks[reason->node.rank],
        .id = id_of(simulation, reason->node),
        .name = name_of(simulation, reason->node),
        .why = reason->why,
        .awaited_rank = simulation->ranks[reason->awaited.rank],
        .awaited_id = id_of(simulation, reason->awaited),
        .awaited_name = name_of(simulation, reason->awaited),
    };
    report_give(node, &made, sizeof made);
    return true;
}

/* Tracks of the measured nodes: threads and streams of the rank, numbered by first appearance. */
struct measured_rank {
    uint64_t first_us; /* start of the first node; UINT64_MAX: not recorded */
    uint32_t *track;   /* per node */
    uint32_t n_tracks;
    row_t *node; /* per track: its first node */
};

struct trace_writing {
    const struct sutra_simulation *simulation;
    struct measured_rank *measured; /* per rank */
};

/* ---- Measured nodes ---- */

static uint64_t start_us(const struct rank_graph *graph, row_t i) {
    return graph->start_us ? graph->start_us[i] : 0;
}

static enum sutra_status find_measured(const struct rank_graph *graph, struct measured_rank *measured,
                                       struct arena *arena, struct sutra_error *error) {
    struct pair_table tracks;
    *measured = (struct measured_rank){.first_us = UINT64_MAX,
                                       .track = arena_alloc(arena, graph->n, sizeof *measured->track),
                                       .node = arena_alloc(arena, graph->n, sizeof *measured->node)};
    if (!pair_table_init(&tracks))
        return error_memory(error);
    bool done = !arena->failed;
    for (row_t i = 0; i < graph->n && done; i++) {
        struct pair_entry *entry = pair_table_insert(&tracks, (uint64_t)graph->lane[i], graph->work[i] != WORK_CPU);
        done = entry != NULL;
        if (!done)
            break;
        if (entry->number == PAIR_NONE) {
            measured->node[measured->n_tracks] = i;
            entry->number = measured->n_tracks++;
        }
        measured->track[i] = entry->number;
        if (start_us(graph, i) && start_us(graph, i) < measured->first_us)
            measured->first_us = start_us(graph, i);
    }
    pair_table_free(&tracks);
    return done ? SUTRA_OK : error_memory(error);
}

/* ---- Events ---- */

static void begin_event(struct json_out *json, const char *phase, uint32_t process, uint32_t thread) {
    json_open(json, '{');
    json_name(json, "ph");
    json_string(json, phase, 1);
    json_name(json, "pid");
    json_integer(json, process);
    json_name(json, "tid");
    json_integer(json, thread);
}

/* A metadata event with a name. */
static void write_label(struct json_out *json, uint32_t process, uint32_t thread, const char *kind, const char *label) {
    begin_event(json, "M", process, thread);
    json_name(json, "name");
    json_string(json, kind, strlen(kind));
    json_name(json, "args");
    json_open(json, '{');
    json_name(json, "name");
    json_string(json, label, strlen(label));
    json_close(json, '}');
    json_close(json, '}');
}

/* "rank 3, measured" */
static void write_process(struct json_out *json, uint32_t process, uint64_t rank, const char *side) {
    char label[64];
    snprintf(label, sizeof label, "rank %" PRIu64 ", %s", rank, side);
    write_label(json, process, 0, "process_name", label);
}

struct trace_span {
    uint32_t process, thread;
    const char *category;
    double start_us, us;
};

static void write_span(struct json_out *json, const struct sutra_simulation *simulation, uint32_t r, row_t i,
                       struct trace_span span) {
    const struct rank_graph *graph = &simulation->graphs[r];
    uint32_t name = graph->name[i];
    begin_event(json, "X", span.process, span.thread);
    json_name(json, "name");
    json_string(json, strings_text(simulation->names, name), strings_length(simulation->names, name));
    json_name(json, "cat");
    json_string(json, span.category, strlen(span.category));
    json_name(json, "ts");
    json_double(json, span.start_us);
    json_name(json, "dur");
    json_double(json, span.us);
    json_name(json, "args");
    json_open(json, '{');
    json_name(json, "node");
    json_integer(json, (int64_t)graph->id[i]);
    json_close(json, '}');
    json_close(json, '}');
}

/* ---- Processes ---- */

static void write_measured(struct json_out *json, const struct trace_writing *writing, uint32_t r) {
    const struct rank_graph *graph = &writing->simulation->graphs[r];
    const struct measured_rank *measured = &writing->measured[r];
    char label[64];
    write_process(json, 2 * r, writing->simulation->ranks[r], "measured");
    for (uint32_t p = 0; p < measured->n_tracks; p++) {
        row_t first = measured->node[p];
        snprintf(label, sizeof label, "%s %" PRId64, graph->work[first] == WORK_CPU ? "thread" : "stream",
                 graph->lane[first]);
        write_label(json, 2 * r, p, "thread_name", label);
    }
    for (row_t i = 0; i < graph->n; i++) {
        if (start_us(graph, i) == 0)
            continue;
        const struct trace_span span = {2 * r, measured->track[i], "measured",
                                        (double)(start_us(graph, i) - measured->first_us),
                                        (double)graph->dur_ns[i] / 1000};
        write_span(json, writing->simulation, r, i, span);
        out_step(json->text);
    }
}

static void write_simulated(struct json_out *json, const struct sutra_simulation *simulation, uint32_t r) {
    static const char *const labels[WORK_KINDS] = {"CPU", "GPU: computation", "GPU: communication"};
    const struct rank_graph *graph = &simulation->graphs[r];
    const struct replay_times *times = &simulation->times[r];
    const uint32_t process = 2 * r + 1;
    write_process(json, process, simulation->ranks[r], "simulated");
    for (uint32_t l = 0; l < graph->n_resources; l++)
        write_label(json, process, l, "thread_name", labels[graph->resource_work[l]]);
    for (row_t i = 0; i < graph->n; i++) {
        if (times->end_ns[i] == TIME_NEVER)
            continue;
        const double start = (double)times->start_ns[i] / 1000, run = (double)times->run_ns[i] / 1000;
        const double us = (double)(times->end_ns[i] - times->run_ns[i]) / 1000;
        if (times->run_ns[i] > times->start_ns[i])
            write_span(json, simulation, r, i,
                       (struct trace_span){process, graph->resource[i], "waits", start, run - start});
        write_span(json, simulation, r, i, (struct trace_span){process, graph->resource[i], "runs", run, us});
        out_step(json->text);
    }
}

static bool write_trace(const void *of, struct text_out *text) {
    const struct trace_writing *writing = of;
    struct json_out json = {.text = text, .indent = JSON_ONE_LINE};
    json_open(&json, '{');
    json_name(&json, "traceEvents");
    json_open(&json, '[');
    for (uint32_t r = 0; r < writing->simulation->n; r++) {
        if (writing->measured[r].first_us != UINT64_MAX)
            write_measured(&json, writing, r);
        write_simulated(&json, writing->simulation, r);
    }
    json_close(&json, ']');
    json_close(&json, '}');
    out_add(text, "\n");
    return true;
}

enum sutra_status sutra_simulation_write_trace(struct sutra_context *context, const struct sutra_simulation *simulation,
                                               const char *path, uint64_t *n_bytes, struct sutra_error *error) {
    struct arena arena = {0};
    struct trace_writing writing = {simulation, arena_alloc(&arena, simulation->n, sizeof *writing.measured)};
    enum sutra_status status = writing.measured ? SUTRA_OK : error_memory(error);
    stage_begin(context, "write", 0);
    for (uint32_t r = 0; r < simulation->n && !status; r++) {
        status = find_measured(&simulation->graphs[r], &writing.measured[r], &arena, error);
        if (!status && writing.measured[r].first_us == UINT64_MAX)
            context_warn(context,
                         "rank %" PRIu64 ": the file records no start times, so the trace has only simulated times",
                         simulation->ranks[r]);
    }
    if (!status) {
        /* Ranks with one clock start at the first of them. */
        uint64_t first_us = UINT64_MAX;
        for (uint32_t r = 0; r < simulation->n; r++)
            if (simulation->graphs[r].tells && writing.measured[r].first_us < first_us)
                first_us = writing.measured[r].first_us;
        for (uint32_t r = 0; r < simulation->n; r++)
            if (simulation->graphs[r].tells && writing.measured[r].first_us != UINT64_MAX)
                writing.measured[r].first_us = first_us;
    }
    if (!status)
        status = text_file_write(context, path, write_trace, &writing, n_bytes, error);
    stage_end(context);
    arena_free(&arena);
    return status;
}
