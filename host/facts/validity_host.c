/*
 * validity_host.c - implements validity.h for host traces, and reads them for all callers, so that each of them is
 * checked.
 *
 *     nodes of the file     25 4 3 2 1        parents: 24 (absent), 3, 2, 1, 1
 *     walks upwards         25 -> no node;  4 -> 3 -> 2 -> 1, the root
 *
 * Each walk ends at a node whose result is known. Cost: an index of ids and O(nodes); for a trace with defects also the
 * text of its nodes.
 */
#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>

#include "base/error.h"
#include "facts/validity.h"
#include "match/key_index.h"
#include "text/names.h"

#define ROOT_ID         1
#define EXAMPLE_COLUMNS 40

enum root_relation { RELATION_UNKNOWN, RELATION_BELOW, RELATION_NOT_BELOW, RELATION_ON_PATH };

/* The end of a chain of parents that is a cycle; other ends are the absent id, KEY_ABSENT or KEY_NULL. */
#define END_CYCLE KEY_UNHASHABLE

struct host_check {
    struct sutra_context *context;
    const struct sutra_host_trace *trace;
    const struct host_nodes *nodes;
    struct trace_validity *validity;
    struct arena arena;
    struct key_index ids; /* id -> last node with it, as linking takes it */
    uint8_t *relation;    /* per node: enum root_relation */
    value_key *end;       /* the end of the chain of each node that is not below the root */
};

/* Counts the defect; the node is its example. */
static void note_nodes(const struct host_check *check, enum trace_defect_kind kind, uint64_t count, row_t node) {
    const struct document *document = &check->trace->document;
    struct trace_defect *defect = &check->validity->defects[kind];
    struct json_span place = document_member_of(document, check->nodes->text[node], "name");
    struct field_reader reader = {.source = &document->source, .values = &check->context->values};
    size_t length = 0;
    const char *raw = place.at && document->source.bytes[place.at] == '"' ? field_string(&reader, place, &length) : "";
    char id[28] = "", name[512];
    if (key_is_integer(check->nodes->id[node]))
        snprintf(id, sizeof id, ", node %" PRId64, check->nodes->id[node]);
    snprintf(name, sizeof name, "%.*s", (int)(length < sizeof name ? length : sizeof name - 1), raw);
    snprintf(defect->example, sizeof defect->example, "'%.160s'%s", short_name(name, EXAMPLE_COLUMNS).text, id);
    buffer_free(&reader.scratch);
    defect->count = count;
    defect->largest_us = NAN;
}

/* Determines the relation of each node to the root. Returns the number of nodes that are not below it. */
static row_t walk_parents(struct host_check *check, row_t root, row_t *path) {
    const value_key *parent = check->nodes->parent;
    const row_t n_nodes = check->nodes->n;
    uint8_t *relation = check->relation;
    row_t n_not_below = 0;
    relation[root] = RELATION_BELOW;
    /* In the order of the file or the reverse, so that parents mostly precede their children. */
    const row_t first = root < n_nodes / 2 ? 0 : n_nodes - 1, step = root < n_nodes / 2 ? 1 : (row_t)-1;
    for (row_t i = 0, start = first; i < n_nodes; i++, start += step) {
        row_t node = key_index_find(&check->ids, parent[start]), n = 0;
        if (relation[start] != RELATION_UNKNOWN)
            continue;
        if (node != ROW_NONE && relation[node] == RELATION_BELOW) {
            relation[start] = RELATION_BELOW;
            continue;
        }
        node = start;
        while (node != ROW_NONE && relation[node] == RELATION_UNKNOWN) {
            relation[node] = RELATION_ON_PATH;
            path[n++] = node;
            node = key_index_find(&check->ids, parent[node]);
        }
        if (node != ROW_NONE && relation[node] == RELATION_BELOW) {
            while (n > 0)
                relation[path[--n]] = RELATION_BELOW;
            continue;
        }
        value_key end = node == ROW_NONE                       ? parent[path[n - 1]]
                        : relation[node] == RELATION_NOT_BELOW ? check->end[node]
                                                               : END_CYCLE;
        n_not_below += n;
        while (n > 0) {
            check->end[path[--n]] = end;
            relation[path[n]] = RELATION_NOT_BELOW;
        }
    }
    return n_not_below;
}

/* The thread of a node: its "tid", or the attribute; KEY_ABSENT: not recorded. O(length of the node). */
static value_key thread_of_node(struct field_reader *fields, const struct document *document, size_t text) {
    struct json_span place = document_member_of(document, text, "tid");
    struct json_span attributes = document_member_of(document, text, "attrs");
    if (attributes.at && document->source.bytes[attributes.at] == '[') {
        struct json_walker walker = walk_from(&document->source, attributes.at);
        for (bool more = walk_array(&walker); more; more = walk_element_end(&walker)) {
            if (walk_char(&walker) != '{') {
                walk_value(&walker);
                continue;
            }
            struct json_span value = walk_attribute(&walker, "tid");
            place = value.at ? value : place;
        }
    }
    return place.at ? field_key(fields, place) : KEY_ABSENT;
}

/* Whether no node below the root is of a thread that has nodes below the absent node. */
static enum sutra_status find_absent_thread(const struct host_check *check, row_t root, value_key absent,
                                            struct arena *arena, struct sutra_error *error) {
    const struct host_nodes *nodes = check->nodes;
    const struct document *document = &check->trace->document;
    struct field_reader fields = {.source = &document->source, .values = &check->context->values};
    struct key_index index;
    value_key *below = arena_alloc(arena, nodes->n, sizeof *below);
    row_t n = 0;
    TRY_ALLOC(below, error);
    for (row_t node = 0; node < nodes->n; node++)
        if (check->relation[node] == RELATION_BELOW && node != root)
            below[n++] = thread_of_node(&fields, document, nodes->text[node]);
    enum sutra_status status = key_index_build(&index, &check->context->choice.cpu, below, n, KEY_FIRST, NULL, error);
    bool is_thread = true;
    for (row_t node = 0; node < nodes->n && is_thread && !status; node++)
        if (check->relation[node] == RELATION_NOT_BELOW && check->end[node] == absent)
            is_thread = key_index_find(&index, thread_of_node(&fields, document, nodes->text[node])) == ROW_NONE;
    if (!status) {
        check->validity->lacks_thread = is_thread;
        key_index_free(&index);
    }
    buffer_free(&fields.scratch);
    return !status && fields.failed ? error_memory(error) : status;
}

/* Names the end that most of the chains have; absent nodes are preferred to cycles and missing parents. */
static enum sutra_status describe_end(struct host_check *check, row_t root, row_t n_not_below,
                                      struct sutra_error *error) {
    const struct host_nodes *nodes = check->nodes;
    struct arena *arena = &check->arena;
    value_key *ends = arena_alloc(arena, n_not_below, sizeof *ends);
    row_t *first = arena_alloc(arena, n_not_below, sizeof *first);
    row_t *number = arena_alloc(arena, n_not_below, sizeof *number);
    row_t *count = arena_zeros(arena, n_not_below, sizeof *count);
    row_t n = 0, most = 0;
    struct key_index index;
    TRY(arena_status(arena, error));
    for (row_t node = 0; node < nodes->n; node++)
        if (check->relation[node] == RELATION_NOT_BELOW) {
            first[n] = node;
            ends[n++] = check->end[node];
        }
    TRY(key_index_build(&index, &check->context->choice.cpu, ends, n, KEY_FIRST, NULL, error));
    key_index_number(&index, ends, n, number);
    for (row_t i = 0; i < n; i++) {
        bool is_node = ends[i] >= KEY_VALUES, best_is_node = ends[most] >= KEY_VALUES;
        count[number[i]]++;
        if (is_node != best_is_node ? is_node : count[number[i]] > count[number[most]])
            most = i;
    }
    value_key end = ends[most];
    row_t n_share = count[number[most]];
    row_t example = first[key_index_find(&index, end)];
    key_index_free(&index);
    if (end >= KEY_VALUES)
        TRY(find_absent_thread(check, root, end, arena, error));

    struct trace_defect *defect = &check->validity->defects[DEFECT_NOT_BELOW_ROOT];
    const bool lacks_thread = check->validity->lacks_thread;
    char id[24] = "of another id", share[40] = "";
    if (key_is_integer(end))
        snprintf(id, sizeof id, "%" PRId64, end);
    if (n_share < n)
        snprintf(share, sizeof share, " above %" PRIu32 " of them", n_share);
    const char *comma = lacks_thread || *share ? "," : "";
    if (end >= KEY_VALUES)
        snprintf(defect->cause, sizeof defect->cause, "node %s%s%s%s%s is absent", id, comma,
                 lacks_thread ? " a thread" : "", share, comma);
    else
        snprintf(defect->cause, sizeof defect->cause, "%s",
                 end == END_CYCLE ? "their parents form a cycle" : "a node without a parent is above them");
    note_nodes(check, DEFECT_NOT_BELOW_ROOT, n, example);
    return SUTRA_OK;
}

static enum sutra_status check_nodes(struct host_check *check, struct sutra_error *error) {
    const struct host_nodes *nodes = check->nodes;
    row_t second;
    check->relation = arena_zeros(&check->arena, nodes->n, sizeof *check->relation);
    check->end = arena_alloc(&check->arena, nodes->n, sizeof *check->end);
    row_t *path = arena_alloc(&check->arena, nodes->n, sizeof *path);
    TRY(arena_status(&check->arena, error));
    TRY(key_index_build(&check->ids, &check->context->choice.cpu, nodes->id, nodes->n, KEY_LAST, &second, error));
    row_t root = key_index_find(&check->ids, ROOT_ID), n_repeated = 0;
    row_t n_not_below = root == ROW_NONE ? 0 : walk_parents(check, root, path);
    if (root != ROW_NONE && n_not_below == 0 && second == ROW_NONE)
        return SUTRA_OK;
    if (document_is_linked(&check->trace->document)) /* ET+ has other ids */
        return SUTRA_OK;
    if (n_not_below)
        TRY(describe_end(check, root, n_not_below, error));
    if (root == ROW_NONE)
        note_nodes(check, DEFECT_NO_ROOT, nodes->n, 0);
    for (row_t node = 0; node < nodes->n && second != ROW_NONE; node++)
        n_repeated += key_index_find(&check->ids, nodes->id[node]) != node;
    if (second != ROW_NONE)
        note_nodes(check, DEFECT_DUPLICATE_ID, n_repeated, second);
    return SUTRA_OK;
}

static enum sutra_status check_host_trace(struct sutra_context *context, struct sutra_host_trace *trace,
                                          struct sutra_error *error) {
    struct host_check check = {.context = context, .trace = trace, .nodes = &trace->nodes};
    static const enum trace_defect_kind kinds[] = {DEFECT_NOT_BELOW_ROOT, DEFECT_NO_ROOT, DEFECT_DUPLICATE_ID};
    check.validity = trace->validity = calloc(1, sizeof *trace->validity);
    TRY_ALLOC(check.validity, error);
    for (size_t i = 0; i < sizeof kinds / sizeof *kinds; i++)
        check.validity->defects[kinds[i]].of = trace->nodes.n;
    enum sutra_status status = trace->nodes.n ? check_nodes(&check, error) : SUTRA_OK;
    key_index_free(&check.ids);
    arena_free(&check.arena);
    return status;
}

/* ---- Reading ---- */

static enum sutra_status read_and_check(struct sutra_context *context, const struct source_input *input,
                                        struct sutra_host_trace **trace, struct sutra_error *error) {
    struct sutra_host_trace *made;
    TRY(host_trace_read(context, input, &made, error));
    enum sutra_status status = check_host_trace(context, made, error);
    if (!status && !context->holds_defects)
        status = validity_report(context, made->validity, context->warns_of ? NULL : made->document.source.name, error);
    if (status)
        sutra_host_trace_free(made);
    else
        *trace = made;
    return status;
}

enum sutra_status sutra_host_trace_read(struct sutra_context *context, const char *path,
                                        struct sutra_host_trace **trace, struct sutra_error *error) {
    return read_and_check(context, &(struct source_input){.name = path}, trace, error);
}

enum sutra_status sutra_host_trace_parse(struct sutra_context *context, const char *name, const void *bytes,
                                         size_t size, struct sutra_host_trace **trace, struct sutra_error *error) {
    return read_and_check(
        context, &(struct source_input){.name = name, .in_memory = true, .bytes = bytes, .size = size}, trace, error);
}
