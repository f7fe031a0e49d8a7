/*
 * nodes.c - the nodes of a host trace and of ET+ as columns. Ids of a host trace are not copied; their columns hold a
 * reference to the trace.
 */
#include <stdlib.h>
#include <string.h>

#include "arrow/makers.h"
#include "base/error.h"
#include "columns/column.h"
#include "context/context.h"
#include "link/link.h"
#include "read/document.h"
#include "read/host_trace.h"

#define NODES_PER_SHARD 4096

/* ---- Finding members ---- */

struct node_search {
    const struct sutra_host_trace *trace;
    const char *const *names;
    size_t n_names;
    bool outside;
    struct json_span *places;
};

static void set_place(const struct node_search *search, row_t row, struct json_span name, struct json_span value) {
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
        struct attribute_spans found = walk_any_attribute(&walker);
        bool named = found.name.at && document->source.bytes[found.name.at] == '"';
        if (named && found.value.at)
            set_place(search, row, found.name, found.value);
    }
}

static void search_shard(void *arg, size_t number) {
    const struct node_search *search = arg;
    row_t n = search->trace->nodes.n, begin = (row_t)(number * NODES_PER_SHARD);
    row_t end = n - begin < NODES_PER_SHARD ? n : begin + NODES_PER_SHARD;
    for (row_t row = begin; row < end; row++) {
        size_t at = search->trace->nodes.text[row];
        if (search->outside || search->trace->flat) {
            const struct document *document = &search->trace->document;
            struct json_walker walker = walk_from(&document->source, at);
            for (bool more = walk_object(&walker); more; more = walk_member_end(&walker)) {
                struct json_span key = walk_key(&walker), value = walk_value(&walker);
                set_place(search, row, key, value);
            }
            continue;
        }
        struct json_span attributes = document_member_of(&search->trace->document, at, "attrs");
        if (attributes.at)
            walk_attributes(search, row, attributes.at);
    }
    if (begin < end)
        source_return_pages(&search->trace->document.source, search->trace->nodes.text[begin],
                            search->trace->nodes.end[end - 1]);
}

/* Finds the positions of values in the document: places[i * nodes + row] for names[i], a member of the node (`outside`)
 * or an attribute; in schema 1.0.1, which lacks attributes, always a member. Nodes are walked in parallel. The caller
 * frees the result; NULL: out of memory. O(length of the nodes). */
static struct json_span *nodes_find(struct sutra_context *context, const struct sutra_host_trace *trace,
                                    const char *const *names, size_t n_names, bool outside) {
    struct node_search search = {trace, names, n_names, outside, NULL};
    size_t n = trace->nodes.n;
    if (__builtin_mul_overflow(n, n_names, &n) || !(search.places = column_new(n, sizeof *search.places)))
        return NULL;
    pool_run(context->pool, trace->nodes.n / NODES_PER_SHARD + 1, search_shard, &search);
    return search.places;
}

/* The names of all nodes by number in `strings`, STRING_NONE if they are no strings. The caller frees the result. NULL:
 * out of memory. */
static uint32_t *nodes_names(struct sutra_context *context, const struct sutra_host_trace *trace,
                             struct strings *strings) {
    static const char *const name = "name";
    const struct source *source = &trace->document.source;
    struct json_span *places = nodes_find(context, trace, &name, 1, true);
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

static void leave_trace(void *trace) {
    host_trace_unref(trace);
}

enum node_id { NODE_OWN, NODE_ABOVE, NODE_FUNCTION };

static const value_key *ids_of(const struct host_nodes *nodes, uint32_t which) {
    return which == NODE_OWN ? nodes->id : which == NODE_ABOVE ? nodes->parent : nodes->rf;
}

static void make_ids(const void *of, const struct column_maker *maker, struct batch *batch) {
    const struct node_source *source = of;
    batch_keys(batch, maker->name, ids_of(&source->trace->nodes, maker->which), KEY_ABSENT, &source->owner);
}

static void make_id_texts(const void *of, const struct column_maker *maker, struct batch *batch) {
    const struct node_source *source = of;
    batch_key_texts(batch, maker->name, ids_of(&source->trace->nodes, maker->which), &source->context->values);
}

static void make_node_names(const void *of, const struct column_maker *maker, struct batch *batch) {
    const struct node_source *source = of;
    struct strings strings;
    uint32_t *names = strings_init(&strings) ? nodes_names(source->context, source->trace, &strings) : NULL;
    batch_strings(batch, maker->name, names, &strings);
    strings_free(&strings);
    free(names);
}

static const struct column_maker node_makers[] = {
    {"id", make_ids, NODE_OWN, false},
    {"name", make_node_names, 0, false},
    {"parent", make_ids, NODE_ABOVE, false},
    {"rf_id", make_ids, NODE_FUNCTION, false},
    {"id_text", make_id_texts, NODE_OWN, true},
    {"parent_text", make_id_texts, NODE_ABOVE, true},
    {"rf_id_text", make_id_texts, NODE_FUNCTION, true},
};

static enum sutra_status make_attributes(const void *of, const struct sutra_columns_options *options,
                                         struct batch *batch, struct sutra_error *error) {
    const struct node_source *source = of;
    if (options->n_args == 0)
        return SUTRA_OK;
    struct json_span *places = nodes_find(source->context, source->trace, options->args, options->n_args, false);
    for (size_t i = 0; i < options->n_args && places; i++)
        batch_places(batch, options->args[i], &source->trace->document, places + i * source->trace->nodes.n);
    free(places);
    return places ? SUTRA_OK : error_memory(error);
}

enum sutra_status sutra_host_trace_arrow(struct sutra_context *context, const struct sutra_host_trace *trace,
                                         const struct sutra_columns_options *options, struct ArrowArrayStream *stream,
                                         struct sutra_error *error) {
    static const struct column_set set = COLUMN_SET(node_makers, make_attributes);
    struct batch batch = {.n_rows = trace->nodes.n};
    struct sutra_host_trace *owner = (struct sutra_host_trace *)trace;
    struct node_source source = {context, trace, {owner, &owner->holders, leave_trace}};
    stage_begin(context, "columns", trace->nodes.n);
    enum sutra_status status = columns_stream(NULL, &set, &source, options, &batch, stream, error);
    stage_end(context);
    return status;
}

/*
 * ---- Nodes of ET+, by entry (link/link.h) ----
 *
 * An entry is a node of the host trace or a GPU operator. First all entries are listed; then each column is one pass
 * over the list.
 */

struct et_plus_entry {
    row_t unit, node; /* of the host trace: the unit's, and its row */
    row_t sorted;     /* the node among those in order */
    row_t gpu;        /* the event of a GPU operator, or ROW_NONE */
    int64_t id;
};

struct et_plus_source {
    struct sutra_context *context;
    const struct sutra_linked *linked;
    struct et_plus_entry *entries;
};

static struct et_plus_entry *list_entries(const struct sutra_linked *linked, uint64_t n_entries) {
    const struct host_ops *units = &linked->units;
    struct et_plus_entry *made = column_new(n_entries, sizeof *made), *at = made;
    for (row_t unit = 0; unit < units->n_units && made; unit++) {
        row_t first = units->unit_start[unit], n_gpu;
        for (row_t sorted = first; sorted < units->unit_start[unit + 1]; sorted++)
            *at++ = (struct et_plus_entry){unit, units->node[sorted], sorted, ROW_NONE, linked->unit_id[unit]};
        const row_t *gpu = linked_gpu_ops(linked, unit, &n_gpu);
        for (row_t i = 0; i < n_gpu; i++)
            *at++ =
                (struct et_plus_entry){unit, units->node[first], first, gpu[i], (int64_t)linked->unit_id[unit] + 1 + i};
    }
    return made;
}

/* ---- Columns of integers ---- */

enum et_plus_integer {
    ET_PLUS_ID,
    ET_PLUS_HOST_ID,
    ET_PLUS_CTRL_DEPS,
    ET_PLUS_INTER_THREAD,
    ET_PLUS_STREAM,
    ET_PLUS_HOST_ROW,
    ET_PLUS_EVENT
};

#define ET_PLUS_NONE INT64_MIN

static int64_t key_or_none(value_key key) {
    return key_is_integer(key) ? key : ET_PLUS_NONE;
}

static int64_t event_of(const struct sutra_linked *linked, const struct et_plus_entry *entry) {
    row_t op = linked->unit_op[entry->unit];
    if (entry->gpu != ROW_NONE)
        return entry->gpu;
    return op == ROW_NONE ? ET_PLUS_NONE : linked->ops.cpu_event[op];
}

static int64_t ctrl_deps_of(const struct sutra_linked *linked, const struct et_plus_entry *entry) {
    if (entry->gpu != ROW_NONE)
        return linked->unit_id[entry->unit];
    int64_t id = linked->ctrl_deps[entry->sorted];
    return id == CTRL_DEPS_NONE ? ET_PLUS_NONE : id;
}

static int64_t integer_of(const struct sutra_linked *linked, const struct et_plus_entry *entry, uint32_t which) {
    bool linked_op = linked->unit_op[entry->unit] != ROW_NONE;
    switch (which) {
    case ET_PLUS_ID:
        return entry->id;
    case ET_PLUS_HOST_ID:
        return key_or_none(linked->host->nodes.id[entry->node]);
    case ET_PLUS_CTRL_DEPS:
        return ctrl_deps_of(linked, entry);
    case ET_PLUS_INTER_THREAD:
        return linked_op && linked->unit_after[entry->unit] != ROW_NONE
                   ? (int64_t)linked->unit_id[linked->unit_after[entry->unit]]
                   : ET_PLUS_NONE;
    case ET_PLUS_STREAM:
        return entry->gpu == ROW_NONE ? ET_PLUS_NONE : key_or_none(linked->device->events.stream[entry->gpu]);
    case ET_PLUS_HOST_ROW:
        return entry->node;
    default:
        return event_of(linked, entry);
    }
}

static void make_integers(const void *of, const struct column_maker *maker, struct batch *batch) {
    const struct et_plus_source *source = of;
    bool row = maker->which >= ET_PLUS_HOST_ROW;
    char *made = column_new(batch->n_rows, row ? sizeof(row_t) : sizeof(int64_t));
    struct batch_values values = {.data = made, .valid = valid_new(batch->n_rows)};
    for (uint64_t i = 0; i < batch->n_rows && made && !values.valid.failed; i++) {
        int64_t value = integer_of(source->linked, &source->entries[i], maker->which);
        valid_append(&values.valid, i, value != ET_PLUS_NONE);
        if (value != ET_PLUS_NONE && row)
            ((row_t *)(void *)made)[i] = (row_t)value;
        else if (value != ET_PLUS_NONE)
            ((int64_t *)(void *)made)[i] = value;
    }
    batch_values(batch, maker->name, row ? "I" : "l", NULL, values);
}

/* ---- Times ---- */

enum et_plus_time { ET_PLUS_TS, ET_PLUS_INCLUSIVE, ET_PLUS_EXCLUSIVE };

static struct number time_of(const struct sutra_linked *linked, const struct et_plus_entry *entry, uint32_t which) {
    const struct device_events *events = &linked->device->events;
    row_t op = linked->unit_op[entry->unit];
    if (entry->gpu != ROW_NONE)
        return number_at(which == ET_PLUS_TS ? events->ts : events->dur, entry->gpu);
    return number_at(which == ET_PLUS_TS          ? linked->ops.cpu.ts
                     : which == ET_PLUS_INCLUSIVE ? linked->ops.cpu.dur
                                                  : linked->ops.exclusive,
                     op);
}

static void make_times(const void *of, const struct column_maker *maker, struct batch *batch) {
    const struct et_plus_source *source = of;
    struct number_column made = {0};
    uint8_t *there = column_new(batch->n_rows, 1);
    bool ok = numbers_new(&made, batch->n_rows) && there;
    for (uint64_t i = 0; i < batch->n_rows && ok; i++) {
        there[i] = source->linked->unit_op[source->entries[i].unit] != ROW_NONE;
        if (there[i])
            number_set(made, (row_t)i, time_of(source->linked, &source->entries[i], maker->which));
    }
    if (ok)
        batch_numbers(batch, maker->name, "us", made, there, 1, NULL);
    else
        free(made.bits);
    free(made.kind);
    free(there);
    batch->failed |= !ok;
}

/* ---- Names ---- */

static void make_linked_names(const void *of, const struct column_maker *maker, struct batch *batch) {
    const struct et_plus_source *source = of;
    const struct sutra_device_trace *device = source->linked->device;
    struct strings strings;
    bool ok = strings_init(&strings);
    uint32_t *of_nodes = ok ? nodes_names(source->context, source->linked->host, &strings) : NULL;
    uint32_t *of_events = ok ? strings_join(&strings, &device->strings) : NULL;
    uint32_t *made = column_new(batch->n_rows, sizeof *made);
    ok = of_nodes && of_events && made;
    for (uint64_t i = 0; i < batch->n_rows && ok; i++) {
        const struct et_plus_entry *entry = &source->entries[i];
        made[i] = entry->gpu == ROW_NONE ? of_nodes[entry->node] : of_events[device->events.name[entry->gpu]];
    }
    batch_strings(batch, maker->name, ok ? made : NULL, &strings);
    strings_free(&strings);
    free(of_nodes);
    free(of_events);
    free(made);
}

static void make_categories(const void *of, const struct column_maker *maker, struct batch *batch) {
    const struct et_plus_source *source = of;
    const struct sutra_device_trace *device = source->linked->device;
    uint32_t *made = column_new(batch->n_rows, sizeof *made);
    for (uint64_t i = 0; i < batch->n_rows && made; i++)
        made[i] = source->entries[i].gpu == ROW_NONE ? STRING_NONE : device->events.category[source->entries[i].gpu];
    batch_strings(batch, maker->name, made, &device->strings);
    free(made);
}

static void make_gpu(const void *of, const struct column_maker *maker, struct batch *batch) {
    const struct et_plus_source *source = of;
    struct valid_rows made = valid_new(batch->n_rows);
    for (uint64_t i = 0; i < batch->n_rows && !made.failed; i++)
        valid_append(&made, i, source->entries[i].gpu != ROW_NONE);
    batch_bits(batch, maker->name, made, (struct valid_rows){0});
}

/* ---- Waits ---- */

static void make_waits(const void *of, const struct column_maker *maker, struct batch *batch) {
    const struct et_plus_source *source = of;
    struct buffer items = {0};
    int32_t *starts = column_new(batch->n_rows + 1, sizeof *starts);
    struct valid_rows valid = valid_new(batch->n_rows);
    bool ok = starts && !valid.failed && buffer_reserve(&items, sizeof(row_t));
    for (uint64_t i = 0; i < batch->n_rows && ok; i++) {
        row_t n;
        const row_t *waits = linked_waits_for(source->linked, (row_t)source->entries[i].id, &n);
        if (n)
            buffer_append(&items, waits, n * sizeof *waits);
        valid_append(&valid, i, n > 0);
        ok = !items.failed && items.length / sizeof(row_t) <= INT32_MAX;
        starts[i + 1] = (int32_t)(items.length / sizeof(row_t));
    }
    batch->failed |= !ok;
    batch_lists(batch, maker->name, starts, (uint32_t *)(void *)items.bytes, valid);
}

static const struct column_maker linked_makers[] = {
    {"id", make_integers, ET_PLUS_ID, false},
    {"name", make_linked_names, 0, false},
    {"gpu", make_gpu, 0, false},
    {"host_id", make_integers, ET_PLUS_HOST_ID, false},
    {"host_row", make_integers, ET_PLUS_HOST_ROW, false},
    {"event", make_integers, ET_PLUS_EVENT, false},
    {"ctrl_deps", make_integers, ET_PLUS_CTRL_DEPS, false},
    {"inter_thread_dep", make_integers, ET_PLUS_INTER_THREAD, false},
    {"sync_dep", make_waits, 0, false},
    {"ts", make_times, ET_PLUS_TS, false},
    {"inclusive_dur", make_times, ET_PLUS_INCLUSIVE, false},
    {"exclusive_dur", make_times, ET_PLUS_EXCLUSIVE, false},
    {"category", make_categories, 0, false},
    {"stream", make_integers, ET_PLUS_STREAM, false},
};

enum sutra_status sutra_linked_arrow(struct sutra_context *context, const struct sutra_linked *linked,
                                     const struct sutra_columns_options *options, struct ArrowArrayStream *stream,
                                     struct sutra_error *error) {
    static const struct column_set set = COLUMN_SET(linked_makers, NULL);
    struct batch batch = {.n_rows = linked->report.n_nodes};
    stage_begin(context, "columns", batch.n_rows);
    struct et_plus_source source = {context, linked, list_entries(linked, batch.n_rows)};
    batch.failed = !source.entries;
    enum sutra_status status = columns_stream(NULL, &set, &source, options, &batch, stream, error);
    stage_end(context);
    free(source.entries);
    return status;
}
