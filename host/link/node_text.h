/*
 * node_text.h - the text of one node of ET+, made from a node of the host trace and fields that replace its own.
 *
 *     host node          {"id": 7, "name": "aten::mm", "inputs": {...}, ...}
 *     template           its members as Python would write them, each with its place in a buffer
 *     node of ET+        the members, with new values where a field is set, and set fields that it lacks at its end
 *
 * A template is made once and serves the CPU node and the GPU nodes below it, which are mostly copies of it.
 */
#ifndef WRITE_NODE_TEXT_H
#define WRITE_NODE_TEXT_H

#include <stdint.h>

#include "link/linked.h"
#include "write/json_emit.h"

/* Fields that linking sets, in the order in which they are appended where a node lacks them. X(name, key) */
#define NODE_FIELDS(X)                                                                                                 \
    X(INCLUSIVE_DUR, "inclusive_dur")                                                                                  \
    X(EXCLUSIVE_DUR, "exclusive_dur")                                                                                  \
    X(TS, "ts")                                                                                                        \
    X(INTER_THREAD_DEP, "inter_thread_dep")                                                                            \
    X(ID, "id")                                                                                                        \
    X(CTRL_DEPS, "ctrl_deps")                                                                                          \
    X(CATEGORY, "cat")                                                                                                 \
    X(NAME, "name")                                                                                                    \
    X(PHASE, "ph")                                                                                                     \
    X(STREAM, "stream")                                                                                                \
    X(PROCESS_GROUP, "pg_name")                                                                                        \
    X(SYNC_DEP, "sync_dep")

enum node_field {
#define X(name, key) NODE_##name,
    NODE_FIELDS(X)
#undef X
        NODE_N_FIELDS
};

#define NODE_OTHER NODE_N_FIELDS

struct node_template {
    struct buffer text;
    struct json_emitter emitter; /* its members are the node's */
    uint8_t *field;              /* per member: enum node_field, or NODE_OTHER */
    size_t field_capacity;
    struct buffer values; /* where values are written that are taken out of the device trace's text */
    bool failed;          /* out of memory */
};

/* Reads the node at `node` of the host trace into the template. */
void node_template_read(struct node_template *template, const struct sutra_host_trace *host, row_t node);
void node_template_free(struct node_template *template);

/* Appends the CPU node: node `sorted` of those in order, which is of `unit`. */
void node_write_cpu(struct node_template *template, const struct sutra_linked *linked, row_t unit, row_t sorted,
                    struct buffer *out);

/* Appends the unit's GPU node number `i`, for the event `gpu`. The template is that of the unit's first node. */
void node_write_gpu(struct node_template *template, const struct sutra_linked *linked, row_t unit, row_t i, row_t gpu,
                    struct buffer *out);

#endif
