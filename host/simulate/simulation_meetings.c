/*
 * simulation_meetings.c - who waited for whom, and each meeting of a job; in come the times of all nodes.
 *
 * Members of a meeting that came before the last one were let go by it: it is the cause of their run.
 */
#include <stdlib.h>
#include <string.h>

#include "base/bisect.h"
#include "base/error.h"
#include "base/options.h"
#include "columns/pair_table.h"
#include "simulate/simulation.h"

/* ---- Waits ---- */

/* The longest first; then by ranks. */
static int compare_waits(const void *left, const void *right) {
    const struct simulation_wait *a = left, *b = right;
    if (a->ns != b->ns)
        return a->ns > b->ns ? -1 : 1;
    if (a->rank != b->rank)
        return a->rank < b->rank ? -1 : 1;
    return (a->awaited > b->awaited) - (a->awaited < b->awaited);
}

static bool add_wait(struct sutra_simulation *simulation, struct pair_table *known, uint64_t *capacity, uint32_t rank,
                     uint32_t awaited, uint64_t ns) {
    struct pair_entry *entry = pair_table_take(known, rank, awaited);
    if (!entry ||
        !arena_grow(&simulation->arena, &simulation->waits, simulation->n_waits, capacity, sizeof *simulation->waits))
        return false;
    if (entry->number == PAIR_NONE) {
        entry->number = (uint32_t)simulation->n_waits;
        simulation->waits[simulation->n_waits++] = (struct simulation_wait){.rank = rank, .awaited = awaited};
    }
    simulation->waits[entry->number].n++;
    simulation->waits[entry->number].ns += ns;
    return true;
}

static bool add_waits(struct sutra_simulation *simulation, struct pair_table *known) {
    uint64_t capacity = 0;
    bool done = true;
    for (uint32_t r = 0; r < simulation->n; r++) {
        const struct rank_graph *graph = &simulation->graphs[r];
        const struct replay_times *times = &simulation->times[r];
        for (row_t c = 0; c < graph->n_contacts && graph->meeting && done; c++) {
            const row_t i = graph->contacts[c].node;
            if (graph->meeting[i] != NO_MEETING && times->run_ns[i] != TIME_NEVER &&
                times->run_ns[i] > times->start_ns[i])
                done = add_wait(simulation, known, &capacity, r, times->cause[i].rank,
                                times->run_ns[i] - times->start_ns[i]);
        }
    }
    return done;
}

static bool find_waits(struct sutra_simulation *simulation) {
    struct pair_table known;
    bool done = pair_table_init(&known) && add_waits(simulation, &known);
    pair_table_free(&known);
    if (done && simulation->n_waits)
        qsort(simulation->waits, simulation->n_waits, sizeof *simulation->waits, compare_waits);
    return done;
}

uint64_t sutra_simulation_n_waits(const struct sutra_simulation *simulation) {
    return simulation->n_waits;
}

void sutra_simulation_wait(const struct sutra_simulation *simulation, uint64_t i, struct sutra_simulated_wait *wait) {
    const struct simulation_wait *found = &simulation->waits[i];
    const struct sutra_simulated_wait made = {.rank = simulation->ranks[found->rank],
                                              .awaited = simulation->ranks[found->awaited],
                                              .n = found->n,
                                              .ns = found->ns};
    report_give(wait, &made, sizeof made);
}

/* ---- Meetings ---- */

/* Adds what became of a member. */
static void add_member(struct simulation_meeting *meeting, const struct replay_times *times, struct replay_node node) {
    const uint64_t start_ns = times->start_ns[node.row];
    if (meeting->n == 0) {
        meeting->first = meeting->last = node;
        meeting->start_ns = meeting->last_ns = start_ns;
        meeting->run_ns = times->run_ns[node.row];
    }
    meeting->n++;
    meeting->wait_ns += times->run_ns[node.row] - start_ns;
    meeting->start_ns = start_ns < meeting->start_ns ? start_ns : meeting->start_ns;
    meeting->end_ns = times->end_ns[node.row] > meeting->end_ns ? times->end_ns[node.row] : meeting->end_ns;
    if (start_ns > meeting->last_ns) {
        meeting->last_ns = start_ns;
        meeting->last = node;
    }
}

static int compare_meetings(const void *left, const void *right) {
    const struct simulation_meeting *a = left, *b = right;
    if (a->end_ns != b->end_ns)
        return a->end_ns < b->end_ns ? -1 : 1;
    return (a->number > b->number) - (a->number < b->number);
}

static bool find_meetings(struct sutra_simulation *simulation) {
    struct simulation_meeting *meetings = arena_zeros(&simulation->arena, simulation->n_meetings, sizeof *meetings);
    if (!meetings)
        return false;
    for (uint32_t r = 0; r < simulation->n; r++) {
        const struct rank_graph *graph = &simulation->graphs[r];
        for (row_t c = 0; c < graph->n_contacts && graph->meeting; c++) {
            const row_t i = graph->contacts[c].node;
            if (graph->meeting[i] != NO_MEETING && simulation->times[r].end_ns[i] != TIME_NEVER)
                add_member(&meetings[graph->meeting[i]], &simulation->times[r], (struct replay_node){r, i});
        }
    }
    for (uint32_t m = 0; m < simulation->n_meetings; m++) {
        meetings[m].number = m;
        if (meetings[m].n)
            meetings[simulation->n_met++] = meetings[m];
    }
    if (simulation->n_met)
        qsort(meetings, simulation->n_met, sizeof *meetings, compare_meetings);
    simulation->met = meetings;
    return true;
}

uint64_t sutra_simulation_n_collectives(const struct sutra_simulation *simulation) {
    return simulation->n_met;
}

/* The transfer of a node, or NULL. O(log n). */
static const struct transfer *transfer_of(const struct rank_graph *graph, row_t node) {
    struct bisection at = {0, graph->n_transfers};
    while (at.low < at.high)
        bisect(&at, graph->transfers[bisect_middle(at)].node < node);
    return at.low < graph->n_transfers && graph->transfers[at.low].node == node ? &graph->transfers[at.low] : NULL;
}

void sutra_simulation_collective(const struct sutra_simulation *simulation, uint64_t i,
                                 struct sutra_simulated_collective *meeting) {
    const struct simulation_meeting *found = &simulation->met[i];
    const struct rank_graph *graph = &simulation->graphs[found->first.rank];
    const struct transfer *transfer = transfer_of(graph, found->first.row);
    const struct sutra_simulated_collective made = {
        .name = strings_text(simulation->names, graph->name[found->first.row]),
        .kind = transfer ? collective_kind_names[transfer->kind] : "",
        .n_ranks = found->n,
        .n_told = transfer ? transfer->n_ranks : 0,
        .bytes = transfer ? transfer->bytes : 0,
        .last = simulation->ranks[found->last.rank],
        .start_ns = found->start_ns,
        .run_ns = found->run_ns,
        .end_ns = found->end_ns,
        .wait_ns = found->wait_ns,
    };
    report_give(meeting, &made, sizeof made);
}

enum sutra_status simulation_meetings_find(struct sutra_simulation *simulation, struct sutra_error *error) {
    return find_waits(simulation) && find_meetings(simulation) ? SUTRA_OK : error_memory(error);
}

/* ---- The network ---- */

uint64_t sutra_simulation_n_links(const struct sutra_simulation *simulation) {
    return simulation->job->network.n;
}

void sutra_simulation_link(const struct sutra_simulation *simulation, uint64_t i, struct sutra_network_link *link) {
    const struct network_link *found = &simulation->job->network.links[i];
    const struct sutra_network_link made = {
        .kind = collective_kind_names[found->kind],
        .n_ranks = found->n_ranks,
        .n_transfers = found->n,
        .alpha_us = found->alpha_ns / 1e3,
        .bytes_per_s = network_link_share(found) * 1e9 / found->ns_per_byte,
        .residual_us = found->residual_ns / 1e3,
        .is_fitted = found->is_fitted,
    };
    report_give(link, &made, sizeof made);
}
