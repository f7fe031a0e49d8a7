/*
 * simulation_trace.c - simulated times as a Chrome trace, to open in Perfetto beside the measured one: a process for
 * each rank, a thread for each of its resources, an event for each node; and its waits in meetings.
 */
#include <stdio.h>

#include "simulate/simulation.h"
#include "write/json_out.h"
#include "write/text_file.h"

static void begin_event(struct json_out *json, const char *phase, uint64_t rank, uint32_t resource) {
    json_open(json, '{');
    json_name(json, "ph");
    json_string(json, phase, 1);
    json_name(json, "pid");
    json_integer(json, (int64_t)rank);
    json_name(json, "tid");
    json_integer(json, resource);
}

/* An event without time that gives something a name. */
static void write_label(struct json_out *json, uint64_t rank, uint32_t resource, const char *what, const char *label) {
    begin_event(json, "M", rank, resource);
    json_name(json, "name");
    json_string(json, what, strlen(what));
    json_name(json, "args");
    json_open(json, '{');
    json_name(json, "name");
    json_string(json, label, strlen(label));
    json_close(json, '}');
    json_close(json, '}');
}

static void write_labels(struct json_out *json, const struct sutra_simulation *simulation, uint32_t r) {
    static const char *const labels[WORK_KINDS] = {"processor", "GPU: computation", "GPU: communication"};
    const struct rank_graph *graph = &simulation->graphs[r];
    char label[64];
    snprintf(label, sizeof label, "rank %llu, simulated", (unsigned long long)simulation->ranks[r]);
    write_label(json, simulation->ranks[r], 0, "process_name", label);
    for (uint32_t l = 0; l < graph->n_resources; l++)
        write_label(json, simulation->ranks[r], l, "thread_name", labels[graph->resource_work[l]]);
}

static void write_span(struct json_out *json, const struct sutra_simulation *simulation, uint32_t r, row_t i,
                       const char *category, uint64_t start, uint64_t end) {
    const struct rank_graph *graph = &simulation->graphs[r];
    uint32_t name = graph->name[i];
    begin_event(json, "X", simulation->ranks[r], graph->resource[i]);
    json_name(json, "name");
    json_string(json, strings_text(&simulation->names, name), strings_length(&simulation->names, name));
    json_name(json, "cat");
    json_string(json, category, strlen(category));
    json_name(json, "ts");
    json_double(json, (double)start / 1000);
    json_name(json, "dur");
    json_double(json, (double)(end - start) / 1000);
    json_name(json, "args");
    json_open(json, '{');
    json_name(json, "node");
    json_integer(json, (int64_t)graph->nodes->id[graph->node[i]]);
    json_close(json, '}');
    json_close(json, '}');
}

static bool write_trace(const void *of, struct text_out *text) {
    const struct sutra_simulation *simulation = of;
    struct json_out json = {.text = text, .indent = JSON_ONE_LINE};
    json_open(&json, '{');
    json_name(&json, "traceEvents");
    json_open(&json, '[');
    for (uint32_t r = 0; r < simulation->n; r++) {
        const struct replay_times *times = &simulation->times[r];
        write_labels(&json, simulation, r);
        for (row_t i = 0; i < simulation->graphs[r].n; i++) {
            if (times->end_ns[i] == TIME_NEVER)
                continue;
            if (times->run_ns[i] > times->start_ns[i])
                write_span(&json, simulation, r, i, "waits", times->start_ns[i], times->run_ns[i]);
            write_span(&json, simulation, r, i, "runs", times->run_ns[i], times->end_ns[i]);
            out_step(text);
        }
    }
    json_close(&json, ']');
    json_close(&json, '}');
    out_add(text, "\n");
    return true;
}

enum sutra_status sutra_simulation_write_trace(struct sutra_context *context, const struct sutra_simulation *simulation,
                                               const char *path, uint64_t *n_bytes, struct sutra_error *error) {
    stage_begin(context, "write", 0);
    enum sutra_status status = text_file_write(context, path, write_trace, simulation, n_bytes, error);
    stage_end(context);
    return status;
}
