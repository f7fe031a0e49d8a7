/*
 * nodes.c - the nodes of a host trace as columns. Ids stay where reading has put them, and hold the trace.
 */
#include "arrow/nodes.h"

#include <stdlib.h>
#include <string.h>

#include "arrow/keys.h"
#include "arrow/places.h"
#include "base/error.h"
#include "columns/column.h"
#include "read/attribute.h"

#define NODES_A_PART 4096

/* ---- Finding members ---- */

struct node_search {
    const struct sutra_host_trace *trace;
    const char *const *names;
    size_t n_names;
    bool outside;
    struct json_place *places;
};

static void take_place(const struct node_search *search, row_t row, struct json_place name, struct json_place value) {
    for (size_t i = 0; i < search->n_names && name.at; i++)
        if (place_is(&search->trace->document.source, name, search->names[i]))
            search->places[i * search->trace->nodes.n + row] = value;
}

static void walk_attributes(const struct node_search *search, row_t row, size_t at) {
    const struct document *document = &search->trace->document;
    if (document->source.bytes[at] != '[')
        return;
    struct json_walker walker = walk_from(&document->source, at);
    for (bool more = walk_array(&walker); more; more = walk_element_end(&walker)) {
        if (walk_char(&walker) != '{') {
            walk_value(&walker);
            continue;
        }
        struct attribute_places found = walk_any_attribute(&walker);
        bool named = found.name.at && document->source.bytes[found.name.at] == '"';
        if (named && found.value.at)
            take_place(search, row, found.name, found.value);
    }
}

static void walk_members(const struct node_search *search, row_t row) {
    const struct document *document = &search->trace->document;
    size_t at = search->trace->nodes.text[row];
    struct json_walker walker = walk_from(&document->source, at);
    for (bool more = walk_object(&walker); more; more = walk_member_end(&walker)) {
        struct json_place key = walk_key(&walker), value = walk_value(&walker);
        take_place(search, row, key, value);
    }
}

static void search_part(void *arg, size_t number) {
    const struct node_search *search = arg;
    row_t n = search->trace->nodes.n, begin = (row_t)(number * NODES_A_PART);
    row_t end = n - begin < NODES_A_PART ? n : begin + NODES_A_PART;
    for (row_t row = begin; row < end; row++) {
        size_t at = search->trace->nodes.text[row];
        if (search->outside || search->trace->flat) {
            walk_members(search, row);
            continue;
        }
        struct json_place attributes = document_member_of(&search->trace->document, at, "attrs");
        if (attributes.at)
            walk_attributes(search, row, attributes.at);
    }
    if (begin < end)
        source_give_back(&search->trace->document.source, search->trace->nodes.text[begin],
                         search->trace->nodes.end[end - 1]);
}

struct json_place *nodes_find(struct sutra_context *context, const struct sutra_host_trace *trace,
                              const char *const *names, size_t n_names, bool outside) {
    struct node_search search = {trace, names, n_names, outside, NULL};
    size_t n = trace->nodes.n;
    if (__builtin_mul_overflow(n, n_names, &n) || !(search.places = column_new(n, sizeof *search.places)))
        return NULL;
    pool_run(context->pool, trace->nodes.n / NODES_A_PART + 1, search_part, &search);
    return search.places;
}

uint32_t *nodes_names(struct sutra_context *context, const struct sutra_host_trace *trace, struct strings *strings) {
    static const char *const name = "name";
    const struct source *source = &trace->document.source;
    struct json_place *places = nodes_find(context, trace, &name, 1, true);
    uint32_t *numbers = column_new(trace->nodes.n, sizeof *numbers);
    struct field_reader reader = {.source = source, .failed = !places || !numbers};
    for (row_t row = 0; row < trace->nodes.n && !reader.failed; row++) {
        bool is_string = places[row].at && source->bytes[places[row].at] == '"';
        numbers[row] = is_string ? field_intern(&reader, places[row], strings) : STRING_NONE;
    }
    buffer_free(&reader.scratch);
    free(places);
    if (!reader.failed)
        return numbers;
    free(numbers);
    return NULL;
}

/* ---- Columns ---- */

struct node_source {
    struct sutra_context *context;
    const struct sutra_host_trace *trace;
    struct column_owner owner;
};

static void hold_trace(void *trace) {
    holders_add(&((struct sutra_host_trace *)trace)->holders);
}

static void leave_trace(void *trace) {
    host_trace_leave(trace);
}

enum node_id { NODE_OWN, NODE_ABOVE, NODE_FUNCTION };

static const value_key *ids_of(const struct host_nodes *nodes, uint32_t which) {
    return which == NODE_OWN ? nodes->id : which == NODE_ABOVE ? nodes->parent : nodes->rf;
}

static enum sutra_status make_ids(const void *of, const struct column_maker *maker, struct batch *batch,
                                  struct sutra_error *error) {
    const struct node_source *source = of;
    (void)error;
    batch_keys(batch, maker->name, ids_of(&source->trace->nodes, maker->which), KEY_ABSENT, &source->owner);
    return SUTRA_OK;
}

static enum sutra_status make_id_texts(const void *of, const struct column_maker *maker, struct batch *batch,
                                       struct sutra_error *error) {
    const struct node_source *source = of;
    (void)error;
    batch_key_texts(batch, maker->name, ids_of(&source->trace->nodes, maker->which), &source->context->values);
    return SUTRA_OK;
}

static enum sutra_status make_names(const void *of, const struct column_maker *maker, struct batch *batch,
                                    struct sutra_error *error) {
    const struct node_source *source = of;
    struct strings strings;
    uint32_t *names = strings_init(&strings) ? nodes_names(source->context, source->trace, &strings) : NULL;
    if (names)
        batch_strings(batch, maker->name, names, &strings);
    strings_free(&strings);
    free(names);
    return names ? SUTRA_OK : error_memory(error);
}

static const struct column_maker makers[] = {
    {"id", make_ids, NODE_OWN, false},
    {"name", make_names, 0, false},
    {"parent", make_ids, NODE_ABOVE, false},
    {"rf_id", make_ids, NODE_FUNCTION, false},
    {"id_text", make_id_texts, NODE_OWN, true},
    {"parent_text", make_id_texts, NODE_ABOVE, true},
    {"rf_id_text", make_id_texts, NODE_FUNCTION, true},
};

static enum sutra_status make_attributes(const struct node_source *source, const struct sutra_columns_options *options,
                                         struct batch *batch, struct sutra_error *error) {
    if (options->n_args == 0)
        return SUTRA_OK;
    struct json_place *places = nodes_find(source->context, source->trace, options->args, options->n_args, false);
    for (size_t i = 0; i < options->n_args && places; i++)
        batch_places(batch, options->args[i], &source->trace->document, places + i * source->trace->nodes.n);
    free(places);
    return places ? SUTRA_OK : error_memory(error);
}

enum sutra_status sutra_host_trace_arrow(struct sutra_context *context, const struct sutra_host_trace *trace,
                                         const struct sutra_columns_options *options, struct ArrowArrayStream *stream,
                                         struct sutra_error *error) {
    struct sutra_columns_options taken;
    struct batch batch = {.n_rows = trace->nodes.n};
    void *thing = (void *)trace;
    struct node_source source = {context, trace, {thing, hold_trace, leave_trace}};
    enum sutra_status status = columns_options_take(options, true, &taken, error);
    stage_begin(context, "columns", trace->nodes.n);
    if (!status)
        status = makers_run(NULL, makers, sizeof makers / sizeof *makers, &source, &taken, &batch, error);
    if (!status)
        status = make_attributes(&source, &taken, &batch, error);
    if (!status)
        status = batch_stream(&batch, stream, error);
    stage_end(context);
    batch_free(&batch);
    return status;
}
