/*
 * simulation_write.c - sutra_simulation_write(): the .et files of a simulated what-if, and its process groups.
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
#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/error.h"
#include "base/shared.h"
#include "columns/hash_tables.h"
#include "columns/rows.h"
#include "simulate/simulation.h"

/* ---- Nodes of a changed job ----
 *
 *     recorded node    id 7, after 5, match 3, pg_name "1"
 *     its copies       id 7, after 5, match 3, pg_name "2"     id 19, after 17, match 9, pg_name "2"     ...
 *
 * A copy keeps name, type, inputs, outputs and attributes. It gets a new id, its dependencies in the changed job, the
 * simulated duration and, for collectives, a new match, process group, number of ranks and peer. Measured starts are
 * dropped, because a changed job has none. Cost: O(nodes + dependencies).
 */

/* The process group of a contact as a text; groups count from 1, because 0 means all ranks. */
static struct et_text group_text(uint32_t group, struct arena *arena) {
    char digits[16];
    const int length = snprintf(digits, sizeof digits, "%" PRIu64, (uint64_t)group + 1);
    return (struct et_text){arena_text(arena, digits, (size_t)length), (uint32_t)length};
}

/* Changes the attributes of a copied collective of a rank; `order` counts the matches of its group before. */
static void change_collective(struct et_nodes *made, row_t row, uint64_t rank, const struct contact *contact,
                              const struct transfer *transfer, uint32_t match, uint32_t order) {
    for (uint64_t a = made->attr_first[row]; a < made->attr_first[row + 1]; a++) {
        uint64_t *bits = &made->attributes.value[a].bits;
        switch (made->attributes.name[a]) {
        case ET_NAME_MEETING:
            *bits = match;
            break;
        case ET_NAME_MEETING_RANKS:
            *bits = transfer->n_ranks;
            break;
        case ET_NAME_COMM_SRC:
            *bits = contact->sends ? rank : (uint64_t)contact->peer;
            break;
        case ET_NAME_COMM_DST:
            *bits = contact->sends ? (uint64_t)contact->peer : rank;
            break;
        case ET_NAME_COMM_TAG:
            *bits = ((uint64_t)contact->group + 1) % 0x8000 << 16 | order % 0x10000;
            break;
        case ET_NAME_PG_NAME: {
            const struct et_text name = group_text(contact->group, &made->arena);
            made->attributes.value[a].bytes = name.bytes;
            made->attributes.length[a] = name.length;
            break;
        }
        default:
            break;
        }
    }
}

/* Fills the node of a row, except for collectives' attributes. */
static void copy_node(struct et_nodes *made, const struct et_nodes *recorded, const struct rank_graph *graph, row_t row,
                      uint64_t *n_ctrl, uint64_t *n_data) {
    const row_t source = graph->node[row], parent = graph->parent[row];
    const row_t *deps = graph->deps + graph->first_dep[row];
    const row_t n_deps = graph->n_waits[row];
    made->id[row] = graph->id[row];
    made->type[row] = recorded->type[source];
    made->flags[row] = recorded->flags[source];
    for (int column = 0; column < et_text_columns(recorded); column++)
        et_text_set(made->text[column], row, et_text_at(recorded->text[column], source));
    const bool has_parent = parent != ROW_NONE && rows_find(deps, n_deps, parent) != ROW_NONE;
    if (has_parent)
        made->ctrl.ids[(*n_ctrl)++] = graph->id[parent];
    for (row_t d = 0; d < n_deps; d++)
        if (!has_parent || deps[d] != parent)
            made->data.ids[(*n_data)++] = graph->id[deps[d]];
    made->ctrl.first[row + 1] = *n_ctrl;
    made->data.first[row + 1] = *n_data;
}

/* Fills `made`, which the caller initialized, with the nodes of rank r of a changed job: copies of the nodes of the
 * recorded rank, whose texts they share. SUTRA_DATA: `recorded` is not the file that was simulated. SUTRA_SYSTEM: out
 * of memory. */
static enum sutra_status make_copies(struct et_nodes *made, const struct et_nodes *recorded,
                                     const struct sutra_simulation *simulation, uint32_t r, struct sutra_error *error) {
    const struct rank_graph *graph = &simulation->graphs[r];
    const uint32_t *matches = simulation->job->graphs[r].matched_collective;
    struct pair_table orders; /* matches so far, by group */
    uint64_t n_attributes = 0;
    for (uint32_t i = made->names.n; i < recorded->names.n; i++) /* attributes keep the ids of their names */
        if (strings_intern(&made->names, strings_text(&recorded->names, i), strings_length(&recorded->names, i)) != i)
            return error_memory(error);
    for (row_t i = 0; i < graph->n; i++) {
        if (graph->node[i] >= recorded->n)
            return error_set(error, SUTRA_DATA, "has changed since the simulation read it: simulate it again");
        n_attributes += recorded->attr_first[graph->node[i] + 1] - recorded->attr_first[graph->node[i]];
    }
    enum sutra_status status = et_nodes_take(made, graph->n, graph->n, graph->n_deps, n_attributes, error);
    if (status)
        return status;
    if (!pair_table_init(&orders))
        return error_memory(error);
    made->version = recorded->version;
    made->metadata = recorded->metadata;
    uint64_t n_ctrl = 0, n_data = 0, n = 0;
    row_t t = 0;
    bool done = true;
    for (row_t i = 0; i < graph->n && done; i++) {
        const row_t source = graph->node[i];
        copy_node(made, recorded, graph, i, &n_ctrl, &n_data);
        made->duration_us[i] = simulation->runs[r].dur_ns[i] / NS_PER_US;
        for (uint64_t a = recorded->attr_first[source]; a < recorded->attr_first[source + 1]; a++, n++) {
            made->attributes.name[n] = recorded->attributes.name[a];
            made->attributes.kind[n] = recorded->attributes.kind[a];
            made->attributes.length[n] = recorded->attributes.length[a];
            made->attributes.value[n] = recorded->attributes.value[a];
            if (made->attributes.name[n] == ET_NAME_KERNEL_EXEC_NS && et_is_integer(made->attributes.kind[n]))
                made->attributes.value[n].bits = simulation->run_ns[r][i];
        }
        made->attr_first[i + 1] = n;
        if (t < graph->n_transfers && graph->transfers[t].node == i) {
            struct pair_entry *order = pair_table_insert(&orders, graph->contacts[t].group, 0);
            done = order;
            if (done && order->number == PAIR_NONE)
                order->number = 0;
            if (done)
                change_collective(made, i, simulation->ranks[r], &graph->contacts[t], &graph->transfers[t], matches[i],
                                  order->number++);
            t++;
        }
    }
    pair_table_free(&orders);
    return done ? arena_status(&made->arena, error) : error_memory(error);
}

/* ---- Durations of a what-if ---- */

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
        status = make_copies(&scaled, &file.nodes, simulation, r, error);
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

/* ---- Process groups ---- */

struct group_member {
    uint32_t group;
    uint64_t rank;
};

ORDER_BY(compare_members, struct group_member, ASCENDING(group) ASCENDING(rank))

enum sutra_status sutra_simulation_write_groups(struct sutra_context *context,
                                                const struct sutra_simulation *simulation, const char *folder,
                                                struct sutra_error *error) {
    struct arena arena = {0};
    uint64_t n = 0, n_members = 0;
    for (uint32_t r = 0; r < simulation->n; r++)
        n += simulation->graphs[r].n_contacts;
    struct group_member *members = arena_alloc(&arena, n, sizeof *members);
    int64_t *ranks = arena_alloc(&arena, n, sizeof *ranks);
    struct astra_group *groups = arena_alloc(&arena, n, sizeof *groups);
    if (arena.failed)
        return error_memory(error);
    for (uint32_t r = 0; r < simulation->n; r++)
        for (row_t c = 0; c < simulation->graphs[r].n_contacts; c++)
            members[n_members++] = (struct group_member){simulation->graphs[r].contacts[c].group, simulation->ranks[r]};
    if (n_members > 0)
        qsort(members, n_members, sizeof *members, compare_members);
    uint32_t n_groups = 0;
    n = 0;
    for (uint64_t i = 0; i < n_members; i++) {
        const bool is_new = i == 0 || members[i].group != members[i - 1].group;
        if (is_new)
            groups[n_groups++] = (struct astra_group){.number = members[i].group + 1, .ranks = &ranks[n]};
        if (!is_new && members[i].rank == members[i - 1].rank)
            continue;
        ranks[n++] = (int64_t)members[i].rank;
        groups[n_groups - 1].n_ranks++;
    }
    enum sutra_status status = group_file_write(context, folder, "comm_groups.json", groups, n_groups, error);
    arena_free(&arena);
    return status;
}
