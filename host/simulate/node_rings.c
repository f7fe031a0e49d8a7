/*
 * node_rings.c - a depth-first search with a stack of its own; a node that is met while it is on the stack closes a
 * ring.
 */
#include "simulate/node_rings.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/error.h"

/* Nodes of a ring that are named. */
#define NAMED 4

/* Where a list of dependencies ends: there the parent stands, as one more. */
#define AT_PARENT (ROW_NONE - 1)

enum { NOT_SEEN, ON_STACK, DONE };

/* A node on the stack and the next of its dependencies. */
struct ring_frame {
    row_t slot, next;
};

struct search {
    const struct node_graph *graph;
    struct ring_frame *stack;
    row_t depth;
    uint8_t *state; /* per slot */
};

static void push(struct search *search, row_t slot) {
    row_t first = search->graph->first_dep[slot];
    search->stack[search->depth++] = (struct ring_frame){slot, first == ROW_NONE ? AT_PARENT : first};
    search->state[slot] = ON_STACK;
}

/* Steps to the next dependency: its slot, or ROW_NONE for none there; false: there are no more. */
static bool step(const struct node_graph *graph, struct ring_frame *frame, row_t *on) {
    if (frame->next == ROW_NONE)
        return false;
    if (frame->next == AT_PARENT) {
        frame->next = ROW_NONE;
        *on = graph->rules.drop_absent ? graph->under[frame->slot] : ROW_NONE;
        return true;
    }
    const struct graph_dep *dep = &graph->deps[frame->next];
    *on = dep->slot;
    frame->next = dep->next == ROW_NONE ? AT_PARENT : dep->next;
    return true;
}

static const char *kind_of(const struct node_graph *graph, row_t slot, row_t on) {
    for (row_t i = graph->first_dep[slot]; i != ROW_NONE; i = graph->deps[i].next)
        if (graph->deps[i].slot == on)
            return graph->deps[i].inter ? "inter-thread" : "thread order";
    return "parent";
}

/* "12 'aten::mm' -(inter-thread)-> " */
static void name_node(const struct node_graph *graph, row_t slot, row_t on, char *text, size_t size) {
    const struct plus_nodes *nodes = &graph->plus->nodes;
    struct et_text name = nodes->name[graph->message[slot]];
    size_t n = strlen(text);
    snprintf(text + n, size - n, "%" PRIu64 " '%.*s' -(%s)-> ", nodes->id[graph->message[slot]],
             (int)(name.length < 24 ? name.length : 24), name.bytes, kind_of(graph, slot, on));
}

/* The ring that the node at the top of the stack closes by its dependency on `on`. */
static enum sutra_status refuse(const struct search *search, row_t on, struct sutra_error *error) {
    const struct node_graph *graph = search->graph;
    char text[300] = "";
    row_t first = search->depth - 1;
    while (first > 0 && search->stack[first].slot != on)
        first--;
    for (row_t i = first; i < search->depth; i++) {
        row_t next = i + 1 < search->depth ? search->stack[i + 1].slot : on;
        if (i - first < NAMED - 1 || i + 1 == search->depth)
            name_node(graph, search->stack[i].slot, next, text, sizeof text);
        else if (i - first == NAMED - 1)
            strncat(text, "... -> ", sizeof text - strlen(text) - 1);
    }
    return graph_error(graph, graph->message[on], error, "dependency cycle of %u nodes: %s%" PRIu64,
                       search->depth - first, text, graph->plus->nodes.id[graph->message[on]]);
}

static enum sutra_status search_from(struct search *search, row_t start, struct sutra_error *error) {
    push(search, start);
    while (search->depth > 0) {
        struct ring_frame *frame = &search->stack[search->depth - 1];
        row_t on = ROW_NONE;
        if (!step(search->graph, frame, &on)) {
            search->state[frame->slot] = DONE;
            search->depth--;
        } else if (on != ROW_NONE && search->state[on] == ON_STACK) {
            return refuse(search, on, error);
        } else if (on != ROW_NONE && search->state[on] == NOT_SEEN) {
            push(search, on);
        }
    }
    return SUTRA_OK;
}

enum sutra_status node_rings_refuse(const struct node_graph *graph, struct sutra_error *error) {
    row_t n = graph->plus->nodes.n;
    struct search search = {.graph = graph};
    search.stack = malloc(((size_t)graph->n_made + 1) * sizeof *search.stack);
    search.state = calloc((size_t)n + 1, 1);
    enum sutra_status status = search.stack && search.state ? SUTRA_OK : error_memory(error);
    for (row_t i = 0; i < graph->n_made && !status; i++)
        if (graph->kept[graph->made[i]] && search.state[graph->made[i]] == NOT_SEEN)
            status = search_from(&search, graph->made[i], error);
    free(search.stack);
    free(search.state);
    return status;
}
