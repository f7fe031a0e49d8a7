/*
 * simulation_write.c - sutra_simulation_write(): the .et files of a simulated what-if.
 *
 *     file of a rank --et_read--> columns --durations of the simulated nodes--> columns --et_write--> changed file
 *
 * A simulation keeps only the columns that it needs, so the files are read again. Ids, order, dependencies and all
 * other attributes of the nodes stay. A node whose duration the what-if changes gets the simulated duration, which is
 * round(duration + (f - 1) * execution) for a factor f, and kernel_exec_ns := round(f * execution). The metadata
 * records the what-if. A simulator that replays the file therefore takes the time of the what-if.
 *
 * Cost: O(bytes) of the files, one file in memory at a time.
 */
#include <math.h>
#include <string.h>

#include "base/error.h"
#include "base/shared.h"
#include "simulate/simulation.h"

/* Sets the duration and the execution time of each node that the what-if changes. False: the file is not the one that
 * was simulated. */
static bool change_nodes(struct et_nodes *nodes, const struct sutra_simulation *simulation, uint32_t r) {
    const struct rank_graph *graph = &simulation->graphs[r];
    for (row_t i = 0; i < graph->n; i++) {
        const row_t row = graph->node[i];
        if (row >= nodes->n || nodes->id[row] != graph->id[i])
            return false;
        const uint64_t run_ns = simulation->run_ns[r][i], dur_ns = simulation->runs[r].dur_ns[i];
        if (run_ns == graph->run_ns[i] && dur_ns == graph->dur_ns[i])
            continue;
        nodes->duration_us[row] = dur_ns / NS_PER_US;
        const uint64_t at = et_attribute_find(nodes, row, ET_NAME_KERNEL_EXEC_NS);
        int64_t exec_ns;
        if (!et_integer(nodes, row, ET_NAME_KERNEL_EXEC_NS, &exec_ns))
            continue;
        /* A recorded execution time above the duration counts as the duration, and scales in proportion. */
        const bool exceeds = exec_ns > 0 && (uint64_t)exec_ns > graph->run_ns[i] && graph->run_ns[i] > 0;
        const double factor = exceeds ? (double)run_ns / (double)graph->run_ns[i] : 1;
        nodes->attributes.value[at].bits = exceeds ? (uint64_t)llround((double)exec_ns * factor) : run_ns;
    }
    return true;
}

/* Adds the text to the metadata, after the what-ifs that earlier calls have recorded there. */
static enum sutra_status record_what_if(struct et_nodes *nodes, const char *what_if, struct sutra_error *error) {
    const struct et_attributes old = nodes->metadata;
    struct et_attributes *made = &nodes->metadata;
    uint64_t at = 0;
    while (at < old.n && (old.name[at] != ET_NAME_WHAT_IF || old.kind[at] != ET_STRING))
        at++;
    const bool has_earlier = at < old.n && old.length[at] > 0;
    const size_t before = has_earlier ? old.length[at] + 1 : 0, length = strlen(what_if);
    char *text = arena_alloc(&nodes->arena, before + length, 1);
    enum sutra_status status = et_attributes_take(nodes, made, MAX(old.n, at + 1), error);
    if (status || !text)
        return error_memory(error);
    memcpy(made->name, old.name, old.n * sizeof *old.name);
    memcpy(made->kind, old.kind, old.n * sizeof *old.kind);
    memcpy(made->length, old.length, old.n * sizeof *old.length);
    memcpy(made->value, old.value, old.n * sizeof *old.value);
    if (has_earlier) {
        memcpy(text, old.value[at].bytes, old.length[at]);
        text[before - 1] = ' ';
    }
    memcpy(text + before, what_if, length);
    made->name[at] = ET_NAME_WHAT_IF;
    made->kind[at] = ET_STRING;
    made->length[at] = (uint32_t)(before + length);
    made->value[at].bytes = text;
    return SUTRA_OK;
}

/* The nodes of a changed job are copies; the nodes of a recorded one are changed in place. */
static enum sutra_status write_rank(struct sutra_context *context, const struct sutra_simulation *simulation,
                                    uint32_t r, const char *input, const char *output, const char *what_if,
                                    struct sutra_error *error) {
    const bool is_scaled = simulation->job->sources;
    struct et_file file = {0};
    struct et_nodes scaled = {0};
    struct et_nodes *nodes = is_scaled ? &scaled : &file.nodes;
    enum sutra_status status = et_open(&file, input, context->options.most_input_bytes, error);
    if (!status)
        status = et_read(&file, ET_WHOLE, context->pool, error);
    if (!status && is_scaled)
        status = et_nodes_begin(&scaled, error);
    if (!status && is_scaled)
        status = et_make_scaled(&scaled, &file.nodes, simulation, r, error);
    else if (!status && !change_nodes(nodes, simulation, r))
        status = error_set(error, SUTRA_DATA, "has changed since the simulation read it: simulate it again");
    if (status == SUTRA_DATA)
        error_name_file(error, status, input);
    if (!status && *what_if)
        status = record_what_if(nodes, what_if, error);
    if (!status)
        status = et_write(nodes, NULL, context, output, NULL, error);
    et_nodes_free(&scaled);
    et_file_free(&file);
    return status;
}

enum sutra_status sutra_simulation_write(struct sutra_context *context, const struct sutra_simulation *simulation,
                                         const char *const *inputs, const char *const *outputs, const char *what_if,
                                         struct sutra_error *error) {
    enum sutra_status status = SUTRA_OK;
    stage_begin(context, "write files", simulation->n);
    for (uint32_t r = 0; r < simulation->n && !status; r++)
        status = write_rank(context, simulation, r, inputs[sutra_et_ranks_source(simulation->job, r)], outputs[r],
                            what_if ? what_if : "", error);
    stage_end(context);
    return status;
}
