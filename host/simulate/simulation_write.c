/*
 * simulation_write.c - sutra_simulation_write(): the .et files of a simulated what-if, and its process groups; explains
 * deadlocks; and writes simulated times as a Chrome trace.
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
#include "base/options.h"
#include "base/shared.h"
#include "columns/hash_tables.h"
#include "columns/rows.h"
#include "simulate/simulation.h"
#include "write/json.h"
#include "write/text.h"

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
    TRY(et_nodes_take(made, graph->n, graph->n, graph->n_deps, n_attributes, error));
    TRY_ALLOC(pair_table_init(&orders), error);
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
            et_attribute_copy(&made->attributes, n, &recorded->attributes, a);
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
        nodes->duration_us[row] = (dur_ns + NS_PER_US / 2) / NS_PER_US;
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
    TRY(et_attributes_take(nodes, made, MAX(old.n, at + 1), error));
    TRY_ALLOC(text, error);
    for (uint64_t i = 0; i < old.n; i++)
        et_attribute_copy(made, i, &old, i);
    if (has_earlier) {
        memcpy(text, old.value[at].bytes, old.length[at]);
        text[before - 1] = ' ';
    }
    memcpy(text + before, what_if, length);
    et_attribute_set_text(made, at, ET_NAME_WHAT_IF, (struct et_text){text, (uint32_t)(before + length)});
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
    if (arena.failed) {
        arena_free(&arena);
        return error_memory(error);
    }
    for (uint32_t r = 0; r < simulation->n; r++)
        for (row_t c = 0; c < simulation->graphs[r].n_contacts; c++)
            members[n_members++] = (struct group_member){simulation->graphs[r].contacts[c].group, simulation->ranks[r]};
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
        memset(queue, 0xff, graph->n * sizeof *queue);
        for (row_t first = 0; first < graph->n; first++) {
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
    for (uint32_t m = 0; m < simulation->n_matched_collectives; m++)
        finding->missing[m].row = ROW_NONE; /* a message that no file sends */
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
            const uint32_t matched_collective = graph->matched_collective[i];
            const struct replay_node node = {r, i};
            if (finding.missing[matched_collective].row == ROW_NONE) {
                add_reason(&finding, node, SUTRA_STUCK_UNSENT, node);
                continue;
            }
            add_reason(&finding, node, SUTRA_STUCK_MEETS, finding.missing[matched_collective]);
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

/*
 * ---- Simulated times as a Chrome trace: two processes per rank, an event per node ----
 *
 *     rank 0, measured     a thread per thread and stream       if the file records start times
 *     rank 0, simulated    a thread per resource                and the waits for matches
 *
 * Both start at 0: the first node of the rank, or, if files record matches and so share one clock, of the job.
 */

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
    TRY_ALLOC(pair_table_init(&tracks), error);
    bool done = !arena->failed;
    for (row_t i = 0; i < graph->n && done; i++) {
        struct pair_entry *entry = pair_table_insert(&tracks, (uint64_t)graph->lane[i], graph->work[i] != WORK_CPU);
        if (!(done = entry))
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
    json_add_integer(json, "pid", process);
    json_add_integer(json, "tid", thread);
}

/* A metadata event with a name. */
static void write_label(struct json_out *json, uint32_t process, uint32_t thread, const char *kind, const char *label) {
    begin_event(json, "M", process, thread);
    json_add_string(json, "name", kind);
    json_add_open(json, "args", '{');
    json_add_string(json, "name", label);
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
    json_add_string(json, "cat", span.category);
    json_add_double(json, "ts", span.start_us);
    json_add_double(json, "dur", span.us);
    json_add_open(json, "args", '{');
    json_add_integer(json, "node", (int64_t)graph->id[i]);
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
    json_add_open(&json, "traceEvents", '[');
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
