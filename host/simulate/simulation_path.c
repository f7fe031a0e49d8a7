/*
 * simulation_path.c - what the simulated time consists of: the critical path, sums by name, and what a name is worth;
 * in come the times of all nodes.
 *
 *     the path goes back from the node that ended last: each node to the one whose end let it run
 *
 *     rank 0   [ a ][ b          ]                      a <- b <- d <- e     d met c, which waited for it
 *     rank 1        [ c (waits) ...  | c ]
 *     rank 2                   [ d   | d ][ e ]
 */
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>

#include "base/error.h"
#include "base/options.h"
#include "simulate/simulation.h"

/* ---- The path ---- */

static struct replay_node cause_of(const struct sutra_simulation *simulation, struct replay_node node) {
    return simulation->times[node.rank].cause[node.row];
}

/* The node before this one on the path. Where members of a meeting waited, the last one to come does not precede
 * them but runs beside them; what it waited for does. */
static struct replay_node step_back(const struct sutra_simulation *simulation, struct replay_node node) {
    uint64_t began = simulation->times[node.rank].run_ns[node.row];
    struct replay_node before = cause_of(simulation, node);
    while (before.row != ROW_NONE && simulation->times[before.rank].end_ns[before.row] > began)
        before = cause_of(simulation, before);
    return before;
}

/* The node that ended last, of several that of the first rank; its row is ROW_NONE where nothing ran. */
static struct replay_node last_node(const struct sutra_simulation *simulation) {
    uint64_t end = simulation_end_ns(simulation->times, simulation->n);
    for (uint32_t r = 0; r < simulation->n; r++)
        for (row_t i = 0; simulation->times[r].finish_ns == end && i < simulation->graphs[r].n; i++)
            if (simulation->times[r].end_ns[i] == end)
                return (struct replay_node){r, i};
    return (struct replay_node){0, ROW_NONE};
}

enum sutra_status simulation_path_find(struct sutra_simulation *simulation, struct sutra_error *error) {
    struct replay_node last = last_node(simulation);
    for (struct replay_node node = last; node.row != ROW_NONE; node = step_back(simulation, node))
        simulation->n_steps++;
    simulation->steps = arena_take(&simulation->arena, simulation->n_steps, sizeof *simulation->steps);
    if (simulation->arena.failed)
        return error_memory(error);
    uint64_t i = 0;
    for (struct replay_node node = last; node.row != ROW_NONE; node = step_back(simulation, node)) {
        const struct replay_times *times = &simulation->times[node.rank];
        simulation->steps[i++] = (struct path_step){node, times->run_ns[node.row], times->end_ns[node.row]};
    }
    return SUTRA_OK;
}

uint64_t sutra_simulation_n_steps(const struct sutra_simulation *simulation) {
    return simulation->n_steps;
}

void sutra_simulation_step(const struct sutra_simulation *simulation, uint64_t i, struct sutra_simulated_step *step) {
    const struct path_step *found = &simulation->steps[simulation->n_steps - 1 - i];
    const struct rank_graph *graph = &simulation->graphs[found->node.rank];
    const struct sutra_simulated_step made = {
        .rank = simulation->ranks[found->node.rank],
        .id = graph->id[found->node.row],
        .name = strings_text(simulation->names, graph->name[found->node.row]),
        .work = graph->work[found->node.row],
        .start_ns = found->start_ns,
        .end_ns = found->end_ns,
    };
    report_give(step, &made, sizeof made);
}

/* ---- Names ---- */

/* The longest first, of equal ones the one that came first. */
static int compare_names(const void *left, const void *right) {
    const struct simulation_name *a = left, *b = right;
    if (a->run_ns != b->run_ns)
        return a->run_ns > b->run_ns ? -1 : 1;
    return (a->name > b->name) - (a->name < b->name);
}

enum sutra_status simulation_names_sum(struct sutra_simulation *simulation, struct sutra_error *error) {
    struct simulation_name *names = arena_zeros(&simulation->arena, simulation->names->n, sizeof *names);
    if (!names)
        return error_memory(error);
    for (uint32_t r = 0; r < simulation->n; r++)
        for (row_t i = 0; i < simulation->graphs[r].n; i++) {
            struct simulation_name *name = &names[simulation->graphs[r].name[i]];
            if (name->n_nodes++ == 0)
                name->work = simulation->graphs[r].work[i];
            name->run_ns += simulation->run_ns[r][i];
            if (simulation->times[r].run_ns[i] != TIME_NEVER)
                name->wait_ns += simulation->times[r].run_ns[i] - simulation->times[r].start_ns[i];
        }
    for (uint64_t i = 0; i < simulation->n_steps; i++) {
        const struct path_step *step = &simulation->steps[i];
        names[simulation->graphs[step->node.rank].name[step->node.row]].path_ns += step->end_ns - step->start_ns;
    }
    for (uint32_t i = 0; i < simulation->names->n; i++) {
        names[i].name = i;
        names[i].free_ns = TIME_NEVER;
    }
    qsort(names, simulation->names->n, sizeof *names, compare_names);
    simulation->by_name = names;
    simulation->n_by_name = simulation->names->n;
    return SUTRA_OK;
}

uint64_t sutra_simulation_n_names(const struct sutra_simulation *simulation) {
    return simulation->n_by_name;
}

void sutra_simulation_name(const struct sutra_simulation *simulation, uint64_t i, struct sutra_simulated_name *name) {
    const struct simulation_name *found = &simulation->by_name[i];
    const struct sutra_simulated_name made = {
        .name = strings_text(simulation->names, found->name),
        .work = found->work,
        .n_nodes = found->n_nodes,
        .run_ns = found->run_ns,
        .path_ns = found->path_ns,
        .free_ns = found->free_ns,
        .wait_ns = found->wait_ns,
    };
    report_give(name, &made, sizeof made);
}

/* ---- What names are worth ---- */

struct worth_work {
    struct sutra_simulation *simulation;
    const struct pool *pool;
    atomic_bool failed; /* out of memory, or cancelled */
};

/* The job's graphs with the execution of one name's nodes left out; NULL: out of memory. */
static struct replay_graph *runs_without(const struct sutra_simulation *simulation, uint32_t name,
                                         struct arena *arena) {
    struct replay_graph *runs = arena_take(arena, simulation->n, sizeof *runs);
    for (uint32_t r = 0; r < simulation->n && !arena->failed; r++) {
        const struct rank_graph *graph = &simulation->graphs[r];
        uint64_t *dur_ns = arena_take(arena, graph->n, sizeof *dur_ns);
        if (!dur_ns)
            break;
        for (row_t i = 0; i < graph->n; i++)
            dur_ns[i] = graph->name[i] == name ? simulation->wait_ns[r][i] : simulation->runs[r].dur_ns[i];
        runs[r] = simulation->runs[r];
        runs[r].dur_ns = dur_ns;
    }
    return arena->failed ? NULL : runs;
}

static void find_worth(void *arg, size_t i) {
    struct worth_work *work = arg;
    struct sutra_simulation *simulation = work->simulation;
    struct arena arena = {0};
    struct replay_graph *runs = runs_without(simulation, simulation->by_name[i].name, &arena);
    struct replay_times *times = runs ? simulation_times_take(simulation, &arena) : NULL;
    const struct replay_job job = {simulation->n, runs, simulation->n_meetings, work->pool};
    if (times && !replay(&job, times, NULL))
        simulation->by_name[i].free_ns = simulation_end_ns(times, simulation->n);
    else
        atomic_store(&work->failed, true);
    arena_free(&arena);
}

enum sutra_status sutra_simulation_what_if(struct sutra_context *context, struct sutra_simulation *simulation,
                                           uint64_t n, struct sutra_error *error) {
    struct worth_work work = {.simulation = simulation, .pool = context->pool};
    uint64_t n_names = n < simulation->n_by_name ? n : simulation->n_by_name;
    stage_begin(context, "sensitivity", n_names);
    pool_run(context->pool, n_names, find_worth, &work);
    stage_end(context);
    return atomic_load(&work.failed) ? context_gave_up(context, error) : SUTRA_OK;
}
