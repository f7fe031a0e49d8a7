/*
 * node_unring.c - opening rings of dependencies.
 *
 * Nodes that can reach each other are a component (Tarjan's search); only a dependency within one can close a ring.
 * Then nodes are taken in an order in which all that they depend on comes before. When none is left that can be taken,
 * the first of those that wait for nothing but other threads of their component goes on without these. Dependencies on
 * the order of a thread and on parents make no rings among themselves, so there always is such a node, but where nodes
 * stand above themselves; then the next one goes on without all that is still to come.
 */
#include <string.h>

#include "base/error.h"
#include "simulate/node_rings.h"

/* A node of the search, and the next of its dependencies: those of the list, then the parent. */
struct component_frame {
    row_t slot, dep;
    bool parent_due;
};

struct unringing {
    struct node_graph *graph;
    struct component_frame *frames;
    row_t depth, n_seen, n_components, n_open;
    row_t *seen, *low, *open; /* per slot: when it was seen, the first seen that it reaches; those without component */
    row_t *component;         /* per slot, or ROW_NONE */
    uint64_t *first;          /* per slot: where those that depend on it begin in `behind` */
    row_t *behind;
    uint8_t *weak;            /* whether that is a dependency that may be dropped */
    row_t *n_strong, *n_weak; /* per slot: dependencies that are still to come */
    row_t *queue;             /* nodes that are taken */
    row_t n_taken;
    row_t *waiting; /* nodes with nothing but weak dependencies to come */
    row_t n_waiting;
    uint8_t *done;
};

/* ---- components ---- */

static void see(struct unringing *all, row_t slot) {
    all->seen[slot] = all->low[slot] = ++all->n_seen;
    all->open[all->n_open++] = slot;
    all->frames[all->depth++] = (struct component_frame){slot, all->graph->first_dep[slot], true};
}

static bool next_dep(const struct node_graph *graph, struct component_frame *frame, row_t *on) {
    if (frame->dep != ROW_NONE) {
        *on = graph->deps[frame->dep].slot;
        frame->dep = graph->deps[frame->dep].next;
        return true;
    }
    *on = frame->parent_due ? graph->under[frame->slot] : ROW_NONE;
    frame->parent_due = false;
    return *on != ROW_NONE;
}

static void lower(row_t *low, row_t to) {
    if (to < *low)
        *low = to;
}

static void leave(struct unringing *all, row_t slot) {
    all->depth--;
    if (all->depth > 0)
        lower(&all->low[all->frames[all->depth - 1].slot], all->low[slot]);
    if (all->low[slot] != all->seen[slot])
        return;
    row_t member;
    do {
        member = all->open[--all->n_open];
        all->component[member] = all->n_components;
    } while (member != slot);
    all->n_components++;
}

static void find_components(struct unringing *all, row_t start) {
    see(all, start);
    while (all->depth > 0) {
        struct component_frame *frame = &all->frames[all->depth - 1];
        row_t on;
        if (!next_dep(all->graph, frame, &on))
            leave(all, frame->slot);
        else if (all->seen[on] == 0)
            see(all, on);
        else if (all->component[on] == ROW_NONE)
            lower(&all->low[frame->slot], all->seen[on]);
    }
}

/* ---- order ---- */

static bool is_weak(const struct unringing *all, row_t slot, const struct graph_dep *dep) {
    return dep->inter && all->component[slot] == all->component[dep->slot];
}

/* Calls `edge` for each dependency of a node. */
static void for_each_edge(struct unringing *all, row_t slot, void (*edge)(struct unringing *, row_t, row_t, bool)) {
    const struct node_graph *graph = all->graph;
    for (row_t i = graph->first_dep[slot]; i != ROW_NONE; i = graph->deps[i].next)
        edge(all, slot, graph->deps[i].slot, is_weak(all, slot, &graph->deps[i]));
    if (graph->under[slot] != ROW_NONE)
        edge(all, slot, graph->under[slot], false);
}

static void count_edge(struct unringing *all, row_t slot, row_t on, bool weak) {
    all->first[on + 2]++;
    (*(weak ? &all->n_weak[slot] : &all->n_strong[slot]))++;
}

static void put_edge(struct unringing *all, row_t slot, row_t on, bool weak) {
    uint64_t at = all->first[on + 1]++;
    all->behind[at] = slot;
    all->weak[at] = weak;
}

/* A node of which a dependency is there, or gone. */
static void look_at(struct unringing *all, row_t slot) {
    if (all->n_strong[slot] > 0 || all->done[slot])
        return;
    if (all->n_weak[slot] == 0) {
        all->done[slot] = 1;
        all->queue[all->n_taken++] = slot;
    } else {
        all->waiting[all->n_waiting++] = slot;
    }
}

static void take(struct unringing *all, row_t slot) {
    for (uint64_t i = all->first[slot]; i < all->first[slot + 1]; i++) {
        row_t *n = all->weak[i] ? &all->n_weak[all->behind[i]] : &all->n_strong[all->behind[i]];
        if (*n > 0 && --*n == 0)
            look_at(all, all->behind[i]);
    }
}

/* Drops the dependencies of a node that are still to come: the weak ones, or all. */
static void drop(struct unringing *all, row_t slot, bool whole) {
    struct node_graph *graph = all->graph;
    row_t entry = graph->first_dep[slot];
    graph->first_dep[slot] = graph->last_dep[slot] = ROW_NONE;
    while (entry != ROW_NONE) {
        struct graph_dep *dep = &graph->deps[entry];
        row_t next = dep->next;
        bool gone = !all->done[dep->slot] && (whole || is_weak(all, slot, dep));
        graph->counts.n_cycles += gone;
        if (!gone) {
            dep->next = ROW_NONE;
            *(graph->last_dep[slot] == ROW_NONE ? &graph->first_dep[slot] : &graph->deps[graph->last_dep[slot]].next) =
                entry;
            graph->last_dep[slot] = entry;
        }
        entry = next;
    }
    if (whole && graph->under[slot] != ROW_NONE && !all->done[graph->under[slot]]) {
        graph->under[slot] = ROW_NONE;
        graph->counts.n_cycles++;
    }
    all->n_weak[slot] = all->n_strong[slot] = 0;
    look_at(all, slot);
}

/* Takes all nodes, with drops where nothing else helps. */
static void take_all(struct unringing *all) {
    row_t n_left = 0, next_waiting = 0, n_looked = 0;
    while (true) {
        while (n_left < all->n_taken)
            take(all, all->queue[n_left++]);
        while (next_waiting < all->n_waiting && all->done[all->waiting[next_waiting]])
            next_waiting++;
        if (next_waiting < all->n_waiting) {
            drop(all, all->waiting[next_waiting++], false);
            continue;
        }
        while (n_looked < all->graph->n_made &&
               (!all->graph->kept[all->graph->made[n_looked]] || all->done[all->graph->made[n_looked]]))
            n_looked++;
        if (n_looked == all->graph->n_made)
            return;
        drop(all, all->graph->made[n_looked], true);
    }
}

static void open_rings(struct unringing *all) {
    const struct node_graph *graph = all->graph;
    row_t n = graph->plus->nodes.n;
    for (row_t i = 0; i < graph->n_made; i++)
        if (graph->kept[graph->made[i]] && all->seen[graph->made[i]] == 0)
            find_components(all, graph->made[i]);
    for (row_t i = 0; i < graph->n_made; i++)
        if (graph->kept[graph->made[i]])
            for_each_edge(all, graph->made[i], count_edge);
    for (row_t slot = 0; slot < n; slot++)
        all->first[slot + 2] += all->first[slot + 1];
    for (row_t i = 0; i < graph->n_made; i++)
        if (graph->kept[graph->made[i]])
            for_each_edge(all, graph->made[i], put_edge);
    for (row_t i = 0; i < graph->n_made; i++)
        if (graph->kept[graph->made[i]])
            look_at(all, graph->made[i]);
    take_all(all);
}

enum sutra_status node_rings_open(struct node_graph *graph, struct sutra_error *error) {
    row_t n = graph->plus->nodes.n;
    uint64_t n_edges = graph->n_deps + graph->n_made;
    struct unringing all = {.graph = graph};
    struct arena *arena = &graph->arena;
    struct arena_mark mark = arena_mark(arena);
    all.frames = arena_take(arena, graph->n_made, sizeof *all.frames);
    all.seen = arena_zeros(arena, n, sizeof *all.seen);
    all.low = arena_take(arena, n, sizeof *all.low);
    all.open = arena_take(arena, graph->n_made, sizeof *all.open);
    all.component = arena_take(arena, n, sizeof *all.component);
    all.first = arena_zeros(arena, (size_t)n + 2, sizeof *all.first);
    all.behind = arena_take(arena, n_edges, sizeof *all.behind);
    all.weak = arena_take(arena, n_edges, 1);
    all.n_strong = arena_zeros(arena, n, sizeof *all.n_strong);
    all.n_weak = arena_zeros(arena, n, sizeof *all.n_weak);
    all.queue = arena_take(arena, graph->n_made, sizeof *all.queue);
    all.waiting = arena_take(arena, (size_t)2 * graph->n_made, sizeof *all.waiting);
    all.done = arena_zeros(arena, n, 1);
    bool made = !arena->failed;
    if (made) {
        memset(all.component, 0xff, (size_t)n * sizeof *all.component);
        open_rings(&all);
    }
    arena_release(arena, mark);
    return made ? SUTRA_OK : error_memory(error);
}
