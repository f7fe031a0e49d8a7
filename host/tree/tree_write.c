/*
 * tree_write.c - writes the call tree as events, JSON, text, and as a Chrome trace.
 *
 * Events: parents and tensor ids in file order. Per operator, one item per input (an id, a list of ids or null); per
 * allocation, its id; else null.
 *
 *     {"parent": [-1, 0, ...], "tensor_ids": [[null, 3, [4, 5]], 3, null, ...]}
 *
 * JSON: {"nodes": [...]}, one node per event, by start.
 *
 *     event       its index in the trace's "traceEvents"
 *     parent      index of the parent node, or null; depth: 0 for roots; children: indexes of the children
 *     start_ns, end_ns      end: null if the event never ends
 *     host_us, device_us    total and self
 *     types, shapes         of an operator's inputs, if recorded
 *     tensor_ids, allocation_id    if addresses were recorded; bytes: of memory events
 *
 * Text: one indented line per event, by thread. Events below the maximum depth, or with less time on host and device,
 * are omitted with their descendants, and counted.
 *
 *     thread 59811
 *            total us         self us       device us   event
 *            1234.000         100.000         880.000   aten::linear
 *            ...                                          cudaLaunchKernel
 *
 * Chrome: a copy of the file's bytes, then a flow from each event to its children on other threads and streams;
 * Perfetto shows the nesting on one thread. Viewers bind a flow to the innermost slice that is open at its time, the
 * slice's start. Text between two copied events is copied too; next to an omitted event, a comma replaces it:
 *
 *     [ {a}, {b}, {dropped}, {c}, {dropped} ]
 *     |---------|          , |-|           |-|
 */
#include <string.h>

#include "base/shared.h"
#include "text/names.h"
#include "text/quantities.h"
#include "tree/tree.h"
#include "write/json_copy.h"

/* ---- Events ---- */

static void write_id(uint32_t id, struct text_out *text) {
    if (id == STORAGE_NONE)
        out_add(text, "null");
    else
        out_integer(text, id);
}

/* Writes the tensor ids of the next operator of `reader`. */
static void write_tensor_ids(const struct tensor_ids *ids, struct sutra_inputs_reader *reader, struct text_out *text) {
    struct sutra_input input;
    enum sutra_input_tag tag;
    bool first = true, open = false;
    out_add(text, "[");
    while ((tag = sutra_inputs_next(reader, &input)) != SUTRA_INPUT_END) {
        if (open && !input.in_list) {
            out_add(text, "]");
            open = first = false;
        }
        out_add(text, first ? "" : ", ");
        first = tag == SUTRA_INPUT_LIST;
        open |= first;
        if (first)
            out_add(text, "[");
        else
            write_id(tag == SUTRA_INPUT_TENSOR ? ids->tensor[input.tensor_row] : STORAGE_NONE, text);
    }
    out_add(text, open ? "]]" : "]");
}

bool write_tree_events(const void *written, struct text_out *text) {
    const struct sutra_tree *tree = ((const struct tree_written *)written)->tree;
    const struct sutra_profile *profile = tree->profile;
    out_add(text, "{\"parent\": [");
    for (row_t row = 0; row < profile->n; row++) {
        row_t parent = tree->parent[tree->position[row]];
        out_add(text, row ? ", " : "");
        out_integer(text, parent == ROW_NONE ? -1 : (int64_t)tree->sorted.order[parent]);
        out_step(text);
    }
    out_add(text, "],\n\"tensor_ids\": [");
    struct sutra_inputs_reader reader = {0};
    if (profile->inputs)
        reader = sutra_inputs_read(profile->inputs);
    for (row_t row = 0; row < profile->n; row++) {
        out_add(text, row ? ",\n" : "\n");
        if (profile->kind[row] == SUTRA_EVENT_OPERATOR && tree->ids.tensor)
            write_tensor_ids(&tree->ids, &reader, text);
        else
            write_id(tree->ids.allocation ? tree->ids.allocation[tree->position[row]] : STORAGE_NONE, text);
        out_step(text);
    }
    out_add(text, "]}\n");
    return true;
}

/* ---- JSON ---- */

static const char *const kind_words[] = {"operator",        "backend",           "allocation", "out_of_memory",
                                         "python_function", "python_c_function", "kineto"};

/* Writes microseconds without rounding. */
static void write_exact_us(struct text_out *text, int64_t ns) {
    int64_t us = ns / 1000, rest = ns % 1000 < 0 ? -(ns % 1000) : ns % 1000;
    const char thousandths[] = {'.', (char)('0' + rest / 100), (char)('0' + rest / 10 % 10), (char)('0' + rest % 10)};
    if (ns < 0 && us == 0)
        out_add(text, "-");
    out_integer(text, us);
    buffer_append(&text->out, thousandths, sizeof thousandths);
}

static void write_integer(struct text_out *text, const char *key, int64_t value) {
    out_add(text, key);
    out_integer(text, value);
}

static void write_times(struct text_out *text, const char *key, int64_t total, int64_t self) {
    out_add(text, key);
    out_add(text, "{\"total\": ");
    write_exact_us(text, total);
    out_add(text, ", \"self\": ");
    write_exact_us(text, self);
    out_add(text, "}");
}

/* Writes types and shapes of inputs; the shapes of a list's members are in a list. */
static void write_inputs(struct text_out *text, struct sutra_inputs_reader reader) {
    struct sutra_inputs_reader again = reader;
    struct sutra_input input;
    enum sutra_input_tag tag;
    bool first = true, in_list = false;
    out_add(text, ", \"types\": [");
    while (sutra_inputs_next(&reader, &input) != SUTRA_INPUT_END) {
        if (input.in_list)
            continue;
        out_add(text, first ? "" : ", ");
        out_string(text, input.dtype, strlen(input.dtype));
        first = false;
    }
    out_add(text, "], \"shapes\": [");
    for (first = true; (tag = sutra_inputs_next(&again, &input)) != SUTRA_INPUT_END;) {
        if (in_list && !input.in_list) {
            out_add(text, "]");
            in_list = first = false;
        }
        out_add(text, first ? "[" : ", [");
        first = tag == SUTRA_INPUT_LIST;
        in_list |= first;
        if (first)
            continue;
        for (uint32_t i = 0; i < input.n_sizes; i++)
            write_integer(text, i ? ", " : "", input.sizes[i]);
        out_add(text, "]");
    }
    out_add(text, in_list ? "]]" : "]");
}

/* Writes a position; `inputs`: the inputs of an operator, or NULL. */
static void write_node(const struct sutra_tree *tree, struct text_out *text, row_t i,
                       const struct sutra_inputs_reader *inputs) {
    const struct sutra_profile *profile = tree->profile;
    const struct tensor_ids *ids = &tree->ids;
    row_t row = tree->sorted.order[i];
    uint32_t name = profile->name[row];
    write_integer(text, i ? ",\n{\"event\": " : "\n{\"event\": ", profile->event[row]);
    out_add(text, ", \"kind\": \"");
    out_add(text, kind_words[profile->kind[row]]);
    out_add(text, "\", \"name\": ");
    out_string(text, strings_text(profile->strings, name), strings_length(profile->strings, name));
    out_add(text, ", \"parent\": ");
    if (tree->parent[i] == ROW_NONE)
        out_add(text, "null");
    else
        out_integer(text, tree->parent[i]);
    write_integer(text, ", \"depth\": ", tree->depth[i]);
    write_integer(text, ", \"thread\": ", tree->sorted.events.thread[i]);
    write_integer(text, ", \"start_ns\": ", tree->sorted.events.start[i]);
    out_add(text, ", \"end_ns\": ");
    if (tree->end[i] == EVENT_NO_END)
        out_add(text, "null");
    else
        out_integer(text, tree->end[i]);
    write_times(text, ", \"host_us\": ", tree->host[i], tree->host_self[i]);
    write_times(text, ", \"device_us\": ", tree->device[i], tree->device_self[i]);
    if (inputs)
        write_inputs(text, *inputs);
    if (inputs && ids->tensor) {
        struct sutra_inputs_reader reader = *inputs;
        out_add(text, ", \"tensor_ids\": ");
        write_tensor_ids(ids, &reader, text);
    } else if (ids->allocation && ids->allocation[i] != STORAGE_NONE) {
        write_integer(text, ", \"tensor_id\": ", ids->allocation[i]);
        write_integer(text, ", \"allocation_id\": ", ids->storage[i]);
    }
    if (profile->kind[row] == SUTRA_EVENT_ALLOCATION)
        write_integer(text, ", \"bytes\": ", profile->bytes[row]);
    out_add(text, ", \"children\": [");
    for (row_t k = tree->child_begin[i]; k < tree->child_begin[i + 1]; k++) {
        out_add(text, k == tree->child_begin[i] ? "" : ", ");
        out_integer(text, tree->children[k]);
        out_step(text);
    }
    out_add(text, "]}");
    out_step(text);
}

bool write_tree_json(const void *written, struct text_out *text) {
    const struct sutra_tree *tree = ((const struct tree_written *)written)->tree;
    const struct sutra_profile *profile = tree->profile;
    struct arena scratch = {0};

    /* The start of each operator's inputs */
    struct sutra_inputs_reader *readers = NULL;
    if (profile->inputs) {
        struct sutra_inputs_reader reader = sutra_inputs_read(profile->inputs);
        struct sutra_input input;
        readers = arena_alloc(&scratch, profile->n, sizeof *readers);
        for (row_t row = 0; row < profile->n && readers; row++) {
            readers[row] = reader;
            while (profile->kind[row] == SUTRA_EVENT_OPERATOR && sutra_inputs_next(&reader, &input) != SUTRA_INPUT_END)
                continue;
        }
    }
    out_add(text, "{\"nodes\": [");
    for (row_t i = 0; i < profile->n && !scratch.failed; i++) {
        row_t row = tree->sorted.order[i];
        bool has_inputs = readers && profile->kind[row] == SUTRA_EVENT_OPERATOR;
        write_node(tree, text, i, has_inputs ? &readers[row] : NULL);
    }
    out_add(text, "\n]}\n");
    bool ok = !scratch.failed;
    arena_free(&scratch);
    return ok;
}

/* ---- Text ---- */

struct tree_page {
    const struct sutra_tree *tree;
    const struct sutra_tree_write_options *options;
    struct text_out *text;
    uint64_t n_deep, n_short, n_cut, n_lines;
};

#define TIMES_COLUMNS 44 /* before the indented name */
#define NAME_MIN      20 /* minimum columns of a name at any depth */

static void write_us_column(struct text_out *text, int64_t ns) {
    if (ns)
        out_format(text, "%14.3f", (double)ns / 1e3);
    else
        out_add(text, "             -");
}

/* Counts a line; false: there are too many lines. */
static bool count_line(struct tree_page *page) {
    return !page->options->max_lines || page->n_lines++ < page->options->max_lines;
}

/* Writes an event, its name indented, and shortened to the width of a terminal. */
static void write_line(const struct tree_page *page, row_t i) {
    const struct sutra_tree *tree = page->tree;
    const struct strings *strings = tree->profile->strings;
    struct text_out *text = page->text;
    uint32_t name = tree->profile->name[tree->sorted.order[i]];
    uint32_t n_columns = page->options->n_columns, max_depth = 200;
    if (n_columns)
        max_depth = n_columns > TIMES_COLUMNS + NAME_MIN ? (n_columns - TIMES_COLUMNS - NAME_MIN) / 2 : 0;
    uint32_t depth = MIN(tree->depth[i], max_depth);
    write_us_column(text, tree->host[i]);
    write_us_column(text, tree->host_self[i]);
    write_us_column(text, tree->device[i]);
    out_add(text, "  ");
    for (uint32_t level = 0; level < depth; level++)
        out_add(text, "  ");
    if (n_columns)
        out_add(text, short_name(strings_text(strings, name), n_columns - TIMES_COLUMNS - 2 * depth).text);
    else
        out_name(text, strings_text(strings, name), strings_length(strings, name));
    out_add(text, "\n");
    out_step(text);
}

/* The end of a subtree in pre-order: the next index with at most the same depth. */
static row_t subtree_end(const struct sutra_tree *tree, row_t k) {
    uint32_t depth = tree->depth[tree->preorder[k++]];
    while (k < tree->profile->n && tree->depth[tree->preorder[k]] > depth)
        k++;
    return k;
}

/* Writes a root and its shown descendants. */
static void write_root(struct tree_page *page, row_t k) {
    const struct sutra_tree *tree = page->tree;
    row_t end = subtree_end(tree, k);
    while (k < end) {
        row_t i = tree->preorder[k];
        bool deep = page->options->max_depth && tree->depth[i] >= page->options->max_depth;
        double us = (double)MAX(tree->host[i], tree->device[i]) / 1e3;
        if (!deep && !(us < page->options->min_us)) {
            if (count_line(page))
                write_line(page, i);
            else
                page->n_cut++;
            k++;
            continue;
        }
        row_t next = subtree_end(tree, k);
        *(deep ? &page->n_deep : &page->n_short) += next - k;
        k = next;
    }
}

/* Lists the roots by thread, as indexes of the pre-order, in the arena. NULL: out of memory. */
static row_t *list_roots(const struct sutra_tree *tree, struct arena *arena) {
    uint32_t n_threads = tree->profile->n_threads;
    const uint32_t *thread = tree->sorted.events.thread;
    row_t *roots = arena_alloc(arena, tree->report.n_roots, sizeof *roots);
    row_t *begin = arena_zeros(arena, (size_t)n_threads + 1, sizeof *begin);
    if (arena->failed)
        return NULL;
    for (row_t k = 0; k < tree->profile->n; k++)
        if (tree->depth[tree->preorder[k]] == 0)
            begin[thread[tree->preorder[k]] + 1]++;
    for (uint32_t i = 0; i < n_threads; i++)
        begin[i + 1] += begin[i];
    for (row_t k = 0; k < tree->profile->n; k++)
        if (tree->depth[tree->preorder[k]] == 0)
            roots[begin[thread[tree->preorder[k]]]++] = k;
    return roots;
}

bool write_tree_text(const void *written, struct text_out *text) {
    const struct tree_written *of = written;
    const struct sutra_tree *tree = of->tree;
    const uint32_t *thread = tree->sorted.events.thread;
    struct tree_page page = {.tree = tree, .options = of->options, .text = text};
    struct arena scratch = {0};
    const row_t *roots = list_roots(tree, &scratch);
    for (row_t r = 0; r < tree->report.n_roots && roots; r++) {
        row_t root = tree->preorder[roots[r]];
        bool new_thread = r == 0 || thread[root] != thread[tree->preorder[roots[r - 1]]];
        if (new_thread && count_line(&page) && count_line(&page)) {
            out_format(text, "thread ");
            write_thread_name(tree->profile, tree->sorted.order[root], text);
            out_add(text, "\n      total us       self us     device us  event\n");
        }
        write_root(&page, roots[r]);
    }
    arena_free(&scratch);
    if (!roots)
        return false;
    if (page.n_cut)
        out_format(text, "%s omitted after the first %llu lines\n",
                   counted_text(page.n_cut, "event is", "events are").text, (unsigned long long)of->options->max_lines);
    if (page.n_deep)
        out_format(text, "%s deeper than level %llu\n", counted_text(page.n_deep, "event is", "events are").text,
                   (unsigned long long)of->options->max_depth);
    if (page.n_short)
        out_format(text, "%s less than %g us, or %s nested in an event that does\n",
                   counted_text(page.n_short, "event takes", "events take").text, of->options->min_us,
                   page.n_short == 1 ? "is" : "are");
    return true;
}

/* ---- Chrome trace ---- */

struct trace_flows trace_flows_begin(const struct sutra_device_trace *trace, struct text_out *text,
                                     const uint8_t *dropped) {
    struct trace_flows flows = {.trace = trace, .text = text, .empty = true};
    row_t n = trace->events.n;
    bool gap = false;
    if (n)
        trace_copy_to(trace, text, &flows.from, trace->events.text[0]);
    for (row_t event = 0; event < n; event++) {
        if (dropped && dropped[event]) {
            gap = true;
            continue;
        }
        if (gap && !flows.empty)
            out_add(text, ",\n");
        if (gap)
            flows.from = trace->events.text[event];
        trace_copy_to(trace, text, &flows.from, trace_event_end(trace, event));
        flows.empty = gap = false;
    }
    if (gap)
        flows.from = trace_event_end(trace, n - 1);
    return flows;
}

static void write_half(const struct trace_flows *flows, row_t event, const char *head, uint64_t id, const char *name) {
    struct text_out *text = flows->text;
    struct event_spans places;
    event_find(flows->trace, event, NULL, &places);
    out_format(text, "%s\"id\": %llu, \"pid\": ", head, (unsigned long long)id);
    trace_copy_value(flows->trace, text, places.field[FIELD_PID]);
    out_add(text, ", \"tid\": ");
    trace_copy_value(flows->trace, text, places.field[FIELD_TID]);
    out_add(text, ", \"ts\": ");
    trace_copy_value(flows->trace, text, places.field[FIELD_TS]);
    out_format(text, ", \"cat\": \"%s\", \"name\": \"%s\"}", name, name);
}

void trace_flows_add(struct trace_flows *flows, row_t from, row_t to, uint64_t id, const char *name) {
    write_half(flows, from, flows->empty ? "\n{\"ph\": \"s\", " : ",\n{\"ph\": \"s\", ", id, name);
    write_half(flows, to, ",\n{\"ph\": \"f\", \"bp\": \"e\", ", id, name);
    flows->empty = false;
    out_step(flows->text);
}

void trace_flows_end(struct trace_flows *flows) {
    trace_copy_to(flows->trace, flows->text, &flows->from, flows->trace->document.source.size);
}

bool write_tree_chrome(const void *written, struct text_out *text) {
    const struct sutra_tree *tree = ((const struct tree_written *)written)->tree;
    const struct sutra_profile *profile = tree->profile;
    struct trace_flows flows = trace_flows_begin(profile->trace, text, NULL);
    uint64_t id = 0;
    for (row_t i = 0; i < profile->n; i++) {
        row_t parent = tree->parent[i], row = tree->sorted.order[i];
        if (parent == ROW_NONE)
            continue;
        row_t above = tree->sorted.order[parent];
        if (tree->sorted.events.thread[parent] != tree->sorted.events.thread[i] ||
            profile->gpu[row] != profile->gpu[above])
            trace_flows_add(&flows, profile->event[above], profile->event[row], ++id, "tree");
    }
    trace_flows_end(&flows);
    return true;
}
