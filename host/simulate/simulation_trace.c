/*
 * simulation_trace.c - simulated times as a Chrome trace, to open in Perfetto beside the measured ones: two processes
 * for each rank, an event for each node.
 *
 *     rank 0, measured     a thread for each thread and stream       of files that tell when nodes started
 *     rank 0, simulated    a thread for each resource                and its waits in meetings
 *
 * Both begin at 0: what was measured with the first node of the rank, or, where files tell meetings and so have one
 * clock, with that of the job.
 */
#include <inttypes.h>
#include <stdio.h>

#include "base/error.h"
#include "columns/pair_table.h"
#include "simulate/simulation.h"
#include "write/json_out.h"
#include "write/text_file.h"

/* Where a node was measured, of the rank's threads and streams; numbered in the order of first sight. */
struct measured_rank {
    uint64_t first_us; /* when the first node started; UINT64_MAX: the file does not tell when any did */
    uint32_t *place;   /* per node */
    uint32_t n_places;
    row_t *node; /* per place: its first node */
};

struct trace_writing {
    const struct sutra_simulation *simulation;
    struct measured_rank *measured; /* per rank */
};

/* ---- Where and when nodes were measured ---- */

static uint64_t start_us(const struct rank_graph *graph, row_t i) {
    return graph->start_us ? graph->start_us[i] : 0;
}

static bool find_places(const struct rank_graph *graph, struct measured_rank *measured, struct pair_table *places) {
    for (row_t i = 0; i < graph->n; i++) {
        uint32_t on_gpu = graph->work[i] != WORK_CPU;
        struct pair_entry *entry = pair_table_take(places, (uint64_t)graph->lane[i], on_gpu);
        if (!entry)
            return false;
        if (entry->number == PAIR_NONE) {
            measured->node[measured->n_places] = i;
            entry->number = measured->n_places++;
        }
        measured->place[i] = entry->number;
        if (start_us(graph, i) && start_us(graph, i) < measured->first_us)
            measured->first_us = start_us(graph, i);
    }
    return true;
}

static enum sutra_status find_measured(const struct rank_graph *graph, struct measured_rank *measured,
                                       struct arena *arena, struct sutra_error *error) {
    struct pair_table places;
    *measured = (struct measured_rank){.first_us = UINT64_MAX,
                                       .place = arena_take(arena, graph->n, sizeof *measured->place),
                                       .node = arena_take(arena, graph->n, sizeof *measured->node)};
    if (!pair_table_init(&places))
        return error_memory(error);
    bool found = !arena->failed && find_places(graph, measured, &places);
    pair_table_free(&places);
    return found ? SUTRA_OK : error_memory(error);
}

/* Ranks of one clock begin when the first of them does. */
static void begin_together(const struct sutra_simulation *simulation, struct measured_rank *measured) {
    uint64_t first_us = UINT64_MAX;
    for (uint32_t r = 0; r < simulation->n; r++)
        if (simulation->graphs[r].tells && measured[r].first_us < first_us)
            first_us = measured[r].first_us;
    for (uint32_t r = 0; r < simulation->n; r++)
        if (simulation->graphs[r].tells && measured[r].first_us != UINT64_MAX)
            measured[r].first_us = first_us;
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

/* An event without time that gives something a name. */
static void write_label(struct json_out *json, uint32_t process, uint32_t thread, const char *what, const char *label) {
    begin_event(json, "M", process, thread);
    json_name(json, "name");
    json_string(json, what, strlen(what));
    json_name(json, "args");
    json_open(json, '{');
    json_name(json, "name");
    json_string(json, label, strlen(label));
    json_close(json, '}');
    json_close(json, '}');
}

/* "rank 3, measured" */
static void write_process(struct json_out *json, uint32_t process, uint64_t rank, const char *what) {
    char label[64];
    snprintf(label, sizeof label, "rank %" PRIu64 ", %s", rank, what);
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
    for (uint32_t p = 0; p < measured->n_places; p++) {
        row_t first = measured->node[p];
        snprintf(label, sizeof label, "%s %" PRId64, graph->work[first] == WORK_CPU ? "thread" : "stream",
                 graph->lane[first]);
        write_label(json, 2 * r, p, "thread_name", label);
    }
    for (row_t i = 0; i < graph->n; i++) {
        if (start_us(graph, i) == 0)
            continue;
        const struct trace_span span = {2 * r, measured->place[i], "measured",
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
    struct trace_writing writing = {simulation, arena_take(&arena, simulation->n, sizeof *writing.measured)};
    enum sutra_status status = writing.measured ? SUTRA_OK : error_memory(error);
    stage_begin(context, "write", 0);
    for (uint32_t r = 0; r < simulation->n && !status; r++) {
        status = find_measured(&simulation->graphs[r], &writing.measured[r], &arena, error);
        if (!status && writing.measured[r].first_us == UINT64_MAX)
            context_warn(context,
                         "rank %" PRIu64 ": the file records no start times, so the trace has only simulated times",
                         simulation->ranks[r]);
    }
    if (!status)
        begin_together(simulation, writing.measured);
    if (!status)
        status = text_file_write(context, path, write_trace, &writing, n_bytes, error);
    stage_end(context);
    arena_free(&arena);
    return status;
}
