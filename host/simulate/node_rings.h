/*
 * node_rings.h - dependencies that go round in a ring: no simulator could begin with one of its nodes.
 */
#ifndef SIMULATE_NODE_RINGS_H
#define SIMULATE_NODE_RINGS_H

#include "simulate/node_graph.h"

/* Refuses a ring: SUTRA_DATA, with its nodes' ids, names and kinds of dependencies. Of the data dependencies, and,
 * where absent nodes are not to be named, of those on parents too. O(nodes + dependencies), without recursion. */
enum sutra_status node_rings_refuse(const struct node_graph *graph, struct sutra_error *error);

/* Opens all rings: drops dependencies on other threads that close them (node_unring.c), and counts them. Should nodes
 * stand above themselves, their parents go. SUTRA_SYSTEM: out of memory. O(nodes + dependencies). */
enum sutra_status node_rings_open(struct node_graph *graph, struct sutra_error *error);

#endif
