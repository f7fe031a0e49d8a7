/*
 * host_trace.h - members of struct sutra_host_trace, for the readers of its columns.
 */
#ifndef READ_HOST_TRACE_H
#define READ_HOST_TRACE_H

#include "base/memory.h"
#include "columns/traces.h"
#include "read/document.h"
#include "read/event_fields.h"
#include "read/json.h"
#include "sutra/trace.h"

struct trace_validity;

struct sutra_host_trace {
    struct document document;
    struct host_nodes nodes;
    struct trace_validity *validity; /* facts/validity.h */
    char *schema;                    /* "" if the file has none */
    bool flat;                       /* nodes have the form of schema 1.0.1 */
    uint64_t n_fields_dropped;       /* fields of the wrong type, ignored */
    struct holders holders;          /* references to the columns */
};

/* Reads a trace for sutra_host_trace_read() (facts/validity_host.c), which checks its nodes. */
enum sutra_status host_trace_read(struct sutra_context *context, const struct source_input *input,
                                  struct sutra_host_trace **trace, struct sutra_error *error);

/* SUTRA_DATA: the trace has no nodes. */
enum sutra_status host_trace_check_nodes(const struct sutra_host_trace *trace, struct sutra_error *error);

/* Releases a reference to the nodes; see device_trace_unref(). */
void host_trace_unref(struct sutra_host_trace *trace);

/*
 * ---- Steps over nodes of a host trace or of ET+ by learned bytes (event_fields.h) ----
 *
 *     {"id": 12, "name": "aten::mm", ..., "attrs": [{"name": "rf_id", "type": "uint64", "value": 883}, ...]}
 *            --           ----------                                                           ---     values
 *
 * The bytes between the values of a node are learned. Names in "attrs" belong to these bytes, since they define the
 * meaning of an attribute. An object is no value: the bytes up to it are a prefix of the bytes into it. The caller
 * numbers its fields, and walks a node token by token if its bytes are unknown, calling node_leaf() for each value.
 * Cost: as event_fields.h.
 */

/* Most values of a node that is learned. */
#define LEAVES_MAX 64

/* The values of a node that is walked token by token. */
struct node_leaves {
    struct {
        size_t at, end;
        unsigned field; /* the number of fields: any other value */
    } list[LEAVES_MAX];
    unsigned n;
    size_t attributes; /* offset of the value of "attrs", or 0 */
    bool unusual;      /* not to be learned */
};

/* Walks a value and adds it. */
static inline struct json_span node_leaf(struct json_walker *walker, struct node_leaves *leaves, unsigned field) {
    struct json_span value = walk_value(walker);
    leaves->unusual |= leaves->n == LEAVES_MAX || walker->expected || walker->text[value.at] == '{';
    if (!leaves->unusual) {
        leaves->list[leaves->n].at = value.at;
        leaves->list[leaves->n].end = trim_end(walker->text, walker->at);
        leaves->list[leaves->n++].field = field;
    }
    return value;
}

/* Walks an attribute, {"name": "rf_id", "type": "uint64", "value": 883}, and returns its value. *field: the number of its
 * name by `find`, or `none`. */
static inline struct json_span node_attribute(struct json_walker *walker, struct node_leaves *leaves,
                                              unsigned (*find)(const struct json_walker *walker, struct json_span name),
                                              unsigned none, unsigned *field) {
    struct json_span name = {0}, value = {0};
    *field = none;
    for (bool more = walk_object(walker); more; more = walk_member_end(walker)) {
        struct json_span key = walk_key(walker);
        if (!key.at)
            break;
        bool is_name = place_is(walker->source, key, "name"), is_value = place_is(walker->source, key, "value");
        leaves->unusual |= (is_name && (name.at || value.at)) || (is_value && (!name.end || value.at));
        if (is_value) {
            value = node_leaf(walker, leaves, *field);
            continue;
        }
        struct json_span other = walk_value(walker);
        if (is_name) {
            name = other;
            *field = name.end ? find(walker, name) : none;
        }
    }
    return value;
}

/* Learns the bytes between the values of the node from byte `at` up to `end`; its fields have numbers below n_fields,
 * which is at most 64. If a node of the tree is a prefix of these bytes, the rest is not learned. */
void node_learn(struct event_forms *forms, const char *text, size_t at, size_t end, const struct node_leaves *leaves,
                unsigned n_fields);

/* Steps over a node whose bytes between values are learned, and sets the positions of its fields; *has_attributes: the
 * node has "attrs". Returns the set of its fields. 0: the bytes are unknown, or a field repeats; then the walker has
 * not moved, and the positions are undefined. */
static inline uint64_t node_walk_learned(struct json_walker *walker, const struct event_forms *forms, unsigned n_fields,
                                         struct json_span *places, bool *has_attributes) {
    const struct json_walker local = *walker;
    const struct form *form = form_find(&forms->begin, local.text + local.at);
    size_t at = local.at;
    *has_attributes = false;
    for (; form && !form->ends; form = form_find(form, local.text + at)) {
        struct json_span place;
        *has_attributes |= form->args > 0;
        at += form->length;
        if (local.text[at] == '{')
            return 0;
        at = leaf_end(&local, at, &place);
        if (!at)
            return 0;
        if (form->field < n_fields) {
            place.end = place.end ? place.end : at;
            places[form->field] = place;
        }
    }
    if (!form || form->repeats)
        return 0;
    walk_to(walker, at + form->length);
    return form->fields;
}

#endif
