/*
 * simulation.c - what a simulation found as columns: each of its lists is asked for item by item, and becomes an array
 * of structs, of whose members columns are made.
 */
#include "sutra/simulate.h"

#include <stdlib.h>

#include "arrow/members.h"
#include "columns/column.h"

static const char *const works[] = {"cpu", "computation", "communication"};

/* One of the lists: how many items of which size it has, how one is asked for, and its columns. */
struct simulated_list {
    uint64_t (*count)(const struct sutra_simulation *simulation);
    void (*get)(const struct sutra_simulation *simulation, uint64_t i, void *item);
    void (*add)(const struct member_array *array);
    size_t size;
};

static uint64_t count_ranks(const struct sutra_simulation *simulation) {
    return sutra_simulation_ranks(simulation);
}

static uint64_t count_stuck(const struct sutra_simulation *simulation) {
    struct sutra_deadlocked_node node = {.size = sizeof node};
    uint32_t n = 0;
    while (sutra_simulation_deadlocked(simulation, n, &node))
        n++;
    return n;
}

/* Each item begins with its size, which is set. */
static void get_rank(const struct sutra_simulation *simulation, uint64_t i, void *item) {
    sutra_simulation_rank(simulation, (uint32_t)i, item);
}

static void get_wait(const struct sutra_simulation *simulation, uint64_t i, void *item) {
    sutra_simulation_wait(simulation, i, item);
}

static void get_meeting(const struct sutra_simulation *simulation, uint64_t i, void *item) {
    sutra_simulation_collective(simulation, i, item);
}

static void get_link(const struct sutra_simulation *simulation, uint64_t i, void *item) {
    sutra_simulation_link(simulation, i, item);
}

static void get_step(const struct sutra_simulation *simulation, uint64_t i, void *item) {
    sutra_simulation_step(simulation, i, item);
}

static void get_name(const struct sutra_simulation *simulation, uint64_t i, void *item) {
    sutra_simulation_name(simulation, i, item);
}

static void get_stuck(const struct sutra_simulation *simulation, uint64_t i, void *item) {
    sutra_simulation_deadlocked(simulation, (uint32_t)i, item);
}

static void add_rank(const struct member_array *array) {
    MEMBER_COUNT(array, sutra_simulated_rank, rank, NULL);
    MEMBER_COUNT(array, sutra_simulated_rank, n_nodes, NULL);
    MEMBER_COUNT(array, sutra_simulated_rank, n_ran, NULL);
    MEMBER_COUNT(array, sutra_simulated_rank, time_ns, "ns");
    MEMBER_COUNT(array, sutra_simulated_rank, cpu_ns, "ns");
    MEMBER_COUNT(array, sutra_simulated_rank, compute_ns, "ns");
    MEMBER_COUNT(array, sutra_simulated_rank, comm_ns, "ns");
    MEMBER_COUNT(array, sutra_simulated_rank, wait_ns, "ns");
    MEMBER_COUNT(array, sutra_simulated_rank, n_meetings, NULL);
    MEMBER_COUNT(array, sutra_simulated_rank, n_absent, NULL);
    MEMBER_REAL(array, sutra_simulated_rank, cpu_slowness, NULL);
    MEMBER_REAL(array, sutra_simulated_rank, gpu_slowness, NULL);
}

static void add_wait(const struct member_array *array) {
    MEMBER_COUNT(array, sutra_simulated_wait, rank, NULL);
    MEMBER_COUNT(array, sutra_simulated_wait, awaited, NULL);
    MEMBER_COUNT(array, sutra_simulated_wait, n, NULL);
    MEMBER_COUNT(array, sutra_simulated_wait, ns, "ns");
}

static void add_meeting(const struct member_array *array) {
    MEMBER_TEXT(array, sutra_simulated_collective, name);
    MEMBER_TEXT(array, sutra_simulated_collective, kind);
    MEMBER_COUNT(array, sutra_simulated_collective, n_ranks, NULL);
    MEMBER_COUNT(array, sutra_simulated_collective, n_told, NULL);
    MEMBER_COUNT(array, sutra_simulated_collective, bytes, "bytes");
    MEMBER_COUNT(array, sutra_simulated_collective, last, NULL);
    MEMBER_COUNT(array, sutra_simulated_collective, start_ns, "ns");
    MEMBER_COUNT(array, sutra_simulated_collective, run_ns, "ns");
    MEMBER_COUNT(array, sutra_simulated_collective, end_ns, "ns");
    MEMBER_COUNT(array, sutra_simulated_collective, wait_ns, "ns");
}

static void add_link(const struct member_array *array) {
    MEMBER_TEXT(array, sutra_network_link, kind);
    MEMBER_COUNT(array, sutra_network_link, n_ranks, NULL);
    MEMBER_COUNT(array, sutra_network_link, n_transfers, NULL);
    MEMBER_REAL(array, sutra_network_link, alpha_us, "us");
    MEMBER_REAL(array, sutra_network_link, bytes_per_s, "bytes/s");
    MEMBER_REAL(array, sutra_network_link, residual_us, "us");
    MEMBER_COUNT(array, sutra_network_link, is_fitted, NULL);
}

static void add_step(const struct member_array *array) {
    MEMBER_COUNT(array, sutra_simulated_step, rank, NULL);
    MEMBER_COUNT(array, sutra_simulated_step, id, NULL);
    MEMBER_TEXT(array, sutra_simulated_step, name);
    member_word(array, "work", offsetof(struct sutra_simulated_step, work), works, 3);
    MEMBER_COUNT(array, sutra_simulated_step, start_ns, "ns");
    MEMBER_COUNT(array, sutra_simulated_step, end_ns, "ns");
}

static void add_name(const struct member_array *array) {
    MEMBER_TEXT(array, sutra_simulated_name, name);
    member_word(array, "work", offsetof(struct sutra_simulated_name, work), works, 3);
    MEMBER_COUNT(array, sutra_simulated_name, n_nodes, NULL);
    MEMBER_COUNT(array, sutra_simulated_name, run_ns, "ns");
    MEMBER_COUNT(array, sutra_simulated_name, path_ns, "ns");
    MEMBER_COUNT(array, sutra_simulated_name, wait_ns, "ns");
}

static void add_stuck(const struct member_array *array) {
    static const char *const whys[] = {"depends", "meets", "behind", "held"};
    MEMBER_COUNT(array, sutra_deadlocked_node, rank, NULL);
    MEMBER_COUNT(array, sutra_deadlocked_node, id, NULL);
    MEMBER_TEXT(array, sutra_deadlocked_node, name);
    member_word(array, "why", offsetof(struct sutra_deadlocked_node, why), whys, 4);
    MEMBER_COUNT(array, sutra_deadlocked_node, awaited_rank, NULL);
    MEMBER_COUNT(array, sutra_deadlocked_node, awaited_id, NULL);
    MEMBER_TEXT(array, sutra_deadlocked_node, awaited_name);
}

static const struct simulated_list lists[SUTRA_SIMULATED_N_COLUMNS] = {
    [SUTRA_SIMULATED_RANKS] = {count_ranks, get_rank, add_rank, sizeof(struct sutra_simulated_rank)},
    [SUTRA_SIMULATED_WAITS] = {sutra_simulation_n_waits, get_wait, add_wait, sizeof(struct sutra_simulated_wait)},
    [SUTRA_SIMULATED_COLLECTIVES] = {sutra_simulation_n_collectives, get_meeting, add_meeting,
                                     sizeof(struct sutra_simulated_collective)},
    [SUTRA_SIMULATED_LINKS] = {sutra_simulation_n_links, get_link, add_link, sizeof(struct sutra_network_link)},
    [SUTRA_SIMULATED_PATH] = {sutra_simulation_n_steps, get_step, add_step, sizeof(struct sutra_simulated_step)},
    [SUTRA_SIMULATED_NAMES] = {sutra_simulation_n_names, get_name, add_name, sizeof(struct sutra_simulated_name)},
    [SUTRA_SIMULATED_DEADLOCKED] = {count_stuck, get_stuck, add_stuck, sizeof(struct sutra_deadlocked_node)},
};

enum sutra_status sutra_simulation_arrow(const struct sutra_simulation *simulation, enum sutra_simulated_columns which,
                                         struct ArrowArrayStream *stream, struct sutra_error *error) {
    const struct simulated_list *list = &lists[which];
    struct batch batch = {.n_rows = list->count(simulation)};
    char *items = column_new(batch.n_rows, list->size);
    batch.failed = !items;
    for (uint64_t i = 0; i < batch.n_rows && items; i++) {
        *(size_t *)(void *)(items + i * list->size) = list->size;
        list->get(simulation, i, items + i * list->size);
    }
    if (items)
        list->add(&(struct member_array){&batch, items, list->size});
    free(items);
    return batch_stream(&batch, stream, error);
}
