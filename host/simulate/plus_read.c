/*
 * plus_read.c - "nodes" in parallel parts, which are joined then.
 */
#include "simulate/plus_read.h"

#include <stdlib.h>
#include <string.h>

#include "base/error.h"
#include "simulate/plus_node_read.h"

struct plus_part {
    struct document_part part;
    struct plus_reader reader;
    struct plus_nodes nodes;
    struct text_store store;
    size_t no_id_at; /* a node without an id: where it begins, or SIZE_MAX */
};

static struct plus_part *plus_part(struct document_part *part) {
    return (struct plus_part *)part;
}

static void part_free(struct document_part *of) {
    struct plus_part *part = plus_part(of);
    plus_reader_end(&part->reader);
    arena_free(&part->store.arena);
}

static bool part_begin(struct document_part *of) {
    struct plus_part *part = plus_part(of);
    struct plus_trace *trace = of->trace;
    part->no_id_at = SIZE_MAX;
    part->nodes.times = trace->nodes.times;
    part->reader =
        (struct plus_reader){.source = &trace->document->source, .store = &part->store, .fields = &of->fields};
    return plus_reader_begin(&part->reader);
}

static void read_element(struct document_part *of, struct json_walker *walker) {
    struct plus_part *part = plus_part(of);
    struct plus_places places;
    struct plus_node node;
    if (walk_char(walker) != '{') {
        walk_fail(walker, "a node object");
        return;
    }
    if (!document_row(of, walker->at)) {
        walk_value(walker);
        return;
    }
    plus_places_walk(&part->reader, walker, &places);
    if (walker->expected)
        return;
    plus_node_fields(&part->reader, &places, &node);
    plus_node_attributes(&part->reader, &places, &node);
    if ((node.key == KEY_ABSENT || node.key == KEY_UNHASHABLE) && part->no_id_at == SIZE_MAX)
        part->no_id_at = places.text;
    plus_nodes_put(&part->nodes, of->n++, &node);
    of->fields.failed |= plus_reader_failed(&part->reader);
}

/* Takes the texts over. */
static enum sutra_status join_parts(struct document_parts *parts, struct sutra_error *error) {
    struct plus_trace *trace = parts->trace;
    trace->stores = calloc(parts->n + 1, sizeof *trace->stores);
    for (size_t i = 0; i < parts->n && trace->stores; i++) {
        struct plus_part *part = document_part_at(parts, i);
        if (part->part.n > 0 && part->no_id_at != SIZE_MAX)
            return source_error(&parts->document->source, error, part->no_id_at, "a node without an id");
        trace->stores[trace->n_stores++] = part->store;
        part->store = (struct text_store){0};
    }
    return trace->stores ? SUTRA_OK : error_memory(error);
}

static void take_rows(struct document_part *of) {
    struct plus_part *part = plus_part(of);
    struct plus_trace *trace = of->trace;
    bool times = trace->nodes.times;
    trace->nodes = part->nodes;
    trace->nodes.times = times;
    trace->nodes.n = of->n;
    trace->nodes.capacity = of->capacity;
}

static const struct document_reader plus_reader = {
    .array = "nodes",
    .kind = "linked trace (ET+)",
    .other_array = "traceEvents",
    .other_kind = "device trace",
    .too_many = "nodes",
    .empty_counts = true,
    .open_stage = "open",
    .read_stage = "read",
    .join_stage = "join",
    .part_size = sizeof(struct plus_part),
    .columns = plus_columns,
    .columns_at = offsetof(struct plus_part, nodes),
    .begin = part_begin,
    .element = read_element,
    .join = join_parts,
    .take = take_rows,
    .free = part_free,
};

enum sutra_status plus_read(struct plus_trace *trace, struct sutra_context *context, struct document *document,
                            const struct document_input *input, bool times, struct sutra_error *error) {
    *trace = (struct plus_trace){.document = document, .nodes.times = times};
    struct document_reader reader = plus_reader;
    reader.n_columns = plus_n_columns(times);
    enum sutra_status status = document_read_rows(document, context, &reader, input, trace, error);
    if (status)
        plus_trace_free(trace);
    return status;
}
