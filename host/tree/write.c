/*
 * write.c - the trace once more, with a flow from each event to those below it on other threads and streams.
 *
 * On one thread, Perfetto shows who is below whom. The file's bytes are copied as they are; the flows stand behind the
 * last event. Viewers bind a flow to the innermost slice that is open at its time, which is the slice's start.
 */
#include <string.h>

#include "text/names.h"
#include "text/quantities.h"
#include "tree/tree.h"
#include "tree/write.h"
#include "write/json_copy.h"

/*
 * Parents and tensor ids in the order of the file's events:
 *
 *     {"parent": [-1, 0, ...], "tensor_ids": [[null, 3, [4, 5]], 3, null, ...]}
 *
 * A list with an item for each input of an operator (an id, a list of ids, or null), the id of an allocation, or null.
 */

static void write_id(uint32_t id, struct text_out *text) {
    if (id == STORAGE_NONE)
        out_add(text, "null");
    else
        out_integer(text, id);
}

/* The tensor ids of the next operator of `reader` as JSON: an id, a list of ids or null for each input. */
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

/*
 * The call tree as one JSON object: {"nodes": [...]} with a node for each event by rising start.
 *
 *     event       its position in the trace's "traceEvents"
 *     parent      position of the node above, or null; depth: 0 at the top; children: positions of those below
 *     start_ns, end_ns      end: null where it never ends
 *     host_us, device_us    total and self, on either side
 *     types, shapes         of an operator's inputs, where they were recorded
 *     tensor_ids, allocation_id    where addresses were, too; bytes: of memory events
 */

static const char *const kind_words[] = {"operator",        "backend",           "allocation", "out_of_memory",
                                         "python_function", "python_c_function", "kineto"};

/* Thousandths, as a decimal number without rounding. */
static void write_us_write_json(struct text_out *text, int64_t ns) {
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
    write_us_write_json(text, total);
    out_add(text, ", \"self\": ");
    write_us_write_json(text, self);
    out_add(text, "}");
}

static void write_children(const struct sutra_tree *tree, struct text_out *text, row_t i) {
    out_add(text, ", \"children\": [");
    for (row_t k = tree->child_begin[i]; k < tree->child_begin[i + 1]; k++) {
        out_add(text, k == tree->child_begin[i] ? "" : ", ");
        out_integer(text, tree->children[k]);
        out_step(text);
    }
    out_add(text, "]");
}

static void write_place(const struct sutra_tree *tree, struct text_out *text, row_t i) {
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
}

/* Writes a value's sizes. */
static void write_shape(struct text_out *text, const struct sutra_input *input) {
    out_add(text, "[");
    for (uint32_t i = 0; i < input->n_sizes; i++)
        write_integer(text, i ? ", " : "", input->sizes[i]);
    out_add(text, "]");
}

/* Types and shapes of inputs; those of a list's members stand in a list. */
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
        out_add(text, first ? "" : ", ");
        in_list |= tag == SUTRA_INPUT_LIST;
        first = tag == SUTRA_INPUT_LIST;
        if (tag == SUTRA_INPUT_LIST)
            out_add(text, "[");
        else
            write_shape(text, &input);
    }
    out_add(text, in_list ? "]]" : "]");
}

static void write_ids(const struct sutra_tree *tree, struct text_out *text, row_t i,
                      const struct sutra_inputs_reader *at) {
    const struct tensor_ids *ids = &tree->ids;
    if (at && ids->tensor) {
        struct sutra_inputs_reader reader = *at;
        out_add(text, ", \"tensor_ids\": ");
        write_tensor_ids(ids, &reader, text);
    } else if (ids->allocation && ids->allocation[i] != STORAGE_NONE) {
        write_integer(text, ", \"tensor_id\": ", ids->allocation[i]);
        write_integer(text, ", \"allocation_id\": ", ids->storage[i]);
    }
}

static void write_node(const struct sutra_tree *tree, struct text_out *text, row_t i,
                       const struct sutra_inputs_reader *at) {
    const struct sutra_profile *profile = tree->profile;
    row_t row = tree->sorted.order[i];
    uint32_t name = profile->name[row];
    write_integer(text, i ? ",\n{\"event\": " : "\n{\"event\": ", profile->event[row]);
    out_add(text, ", \"kind\": \"");
    out_add(text, kind_words[profile->kind[row]]);
    out_add(text, "\", \"name\": ");
    out_string(text, strings_text(profile->strings, name), strings_length(profile->strings, name));
    write_place(tree, text, i);
    write_times(text, ", \"host_us\": ", tree->host[i], tree->host_self[i]);
    write_times(text, ", \"device_us\": ", tree->device[i], tree->device_self[i]);
    if (at)
        write_inputs(text, *at);
    write_ids(tree, text, i, at);
    if (profile->kind[row] == SUTRA_EVENT_ALLOCATION)
        write_integer(text, ", \"bytes\": ", profile->bytes[row]);
    write_children(tree, text, i);
    out_add(text, "}");
    out_step(text);
}

/* Where the inputs of each row begin, in an arena; NULL: there are none, or no memory. */
static struct sutra_inputs_reader *find_inputs(const struct sutra_profile *profile, struct arena *arena) {
    if (!profile->inputs)
        return NULL;
    struct sutra_inputs_reader reader = sutra_inputs_read(profile->inputs);
    struct sutra_input input;
    struct sutra_inputs_reader *readers = arena_take(arena, profile->n, sizeof *readers);
    for (row_t row = 0; row < profile->n && readers; row++) {
        readers[row] = reader;
        while (profile->kind[row] == SUTRA_EVENT_OPERATOR && sutra_inputs_next(&reader, &input) != SUTRA_INPUT_END)
            continue;
    }
    return readers;
}

bool write_tree_json(const void *written, struct text_out *text) {
    const struct sutra_tree *tree = ((const struct tree_written *)written)->tree;
    const struct sutra_profile *profile = tree->profile;
    struct arena scratch = {0};
    const struct sutra_inputs_reader *readers = find_inputs(profile, &scratch);
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

/*
 * The call tree for people: an indented line for each event, thread by thread.
 *
 *     thread 59811
 *            total us         self us       device us   event
 *            1234.000         100.000         880.000   aten::linear
 *            ...                                          cudaLaunchKernel
 *
 * What is deeper than the options say, or takes less time on host and device, is left out with all below it, and
 * counted.
 */

struct tree_page {
    const struct sutra_tree *tree;
    const struct sutra_tree_write_options *options;
    struct text_out *text;
    uint64_t n_deep, n_short, n_cut, n_lines;
};

#define TIMES_COLUMNS 44 /* before the indented name */
#define NAME_LEAST    20 /* columns of a name, however deep it stands */

static bool is_too_short(const struct tree_page *page, row_t i) {
    const struct sutra_tree *tree = page->tree;
    double us = (double)(tree->host[i] > tree->device[i] ? tree->host[i] : tree->device[i]) / 1e3;
    return us < page->options->min_us;
}

static void write_us_write_text(struct text_out *text, int64_t ns) {
    if (ns)
        out_format(text, "%14.3f", (double)ns / 1e3);
    else
        out_add(text, "             -");
}

/* Whether there is room for a line, which it then takes. */
static bool take_line(struct tree_page *page) {
    return !page->options->max_lines || page->n_lines++ < page->options->max_lines;
}

/* Indents a name, and shortens it where it has to fit a terminal. */
static void write_name(const struct tree_page *page, uint32_t depth, uint32_t name) {
    const struct strings *strings = page->tree->profile->strings;
    uint32_t n_columns = page->options->n_columns, most = 200;
    if (n_columns)
        most = n_columns > TIMES_COLUMNS + NAME_LEAST ? (n_columns - TIMES_COLUMNS - NAME_LEAST) / 2 : 0;
    depth = depth < most ? depth : most;
    for (uint32_t level = 0; level < depth; level++)
        out_add(page->text, "  ");
    if (n_columns)
        out_add(page->text, short_name(strings_text(strings, name), n_columns - TIMES_COLUMNS - 2 * depth).text);
    else
        out_name(page->text, strings_text(strings, name), strings_length(strings, name));
}

static void write_line(const struct tree_page *page, row_t i) {
    const struct sutra_tree *tree = page->tree;
    write_us_write_text(page->text, tree->host[i]);
    write_us_write_text(page->text, tree->host_self[i]);
    write_us_write_text(page->text, tree->device[i]);
    out_add(page->text, "  ");
    write_name(page, tree->depth[i], tree->profile->name[tree->sorted.order[i]]);
    out_add(page->text, "\n");
    out_step(page->text);
}

/* The last position of a subtree in pre-order, plus one: where the next one at most as deep stands. */
static row_t skip(const struct sutra_tree *tree, row_t k) {
    uint32_t depth = tree->depth[tree->preorder[k++]];
    while (k < tree->profile->n && tree->depth[tree->preorder[k]] > depth)
        k++;
    return k;
}

/* Writes a root with all below it that is shown. */
static void write_root(struct tree_page *page, row_t k) {
    const struct sutra_tree *tree = page->tree;
    row_t end = skip(tree, k);
    while (k < end) {
        row_t i = tree->preorder[k];
        bool deep = page->options->max_depth && tree->depth[i] >= page->options->max_depth;
        if (!deep && !is_too_short(page, i)) {
            if (take_line(page))
                write_line(page, i);
            else
                page->n_cut++;
            k++;
            continue;
        }
        row_t next = skip(tree, k);
        *(deep ? &page->n_deep : &page->n_short) += next - k;
        k = next;
    }
}

static void write_thread(struct tree_page *page, row_t root) {
    const struct sutra_tree *tree = page->tree;
    for (int line = 0; line < 2; line++)
        if (!take_line(page))
            return;
    out_format(page->text, "thread ");
    write_thread_name(tree->profile, tree->sorted.order[root], page->text);
    out_add(page->text, "\n      total us       self us     device us  event\n");
}

/* Where roots stand in pre-order, thread by thread: n_roots of them, in an arena. NULL: out of memory. */
static row_t *list_roots(const struct sutra_tree *tree, struct arena *arena) {
    uint32_t n_threads = tree->profile->n_threads;
    const uint32_t *thread = tree->sorted.events.thread;
    row_t *roots = arena_take(arena, tree->report.n_roots, sizeof *roots);
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

static void write_roots(struct tree_page *page, const row_t *roots) {
    const struct sutra_tree *tree = page->tree;
    const uint32_t *thread = tree->sorted.events.thread;
    for (row_t r = 0; r < tree->report.n_roots; r++) {
        row_t root = tree->preorder[roots[r]];
        if (r == 0 || thread[root] != thread[tree->preorder[roots[r - 1]]])
            write_thread(page, root);
        write_root(page, roots[r]);
    }
}

bool write_tree_text(const void *written, struct text_out *text) {
    const struct tree_written *of = written;
    const struct sutra_tree *tree = of->tree;
    struct tree_page page = {.tree = tree, .options = of->options, .text = text};
    struct arena scratch = {0};
    const row_t *roots = list_roots(tree, &scratch);
    if (roots)
        write_roots(&page, roots);
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

/*
 * Copying a trace without some of its events, and writing flows.
 *
 * What stands between two events that stay is copied with them; beside an event that is left out, a comma takes its
 * place:
 *
 *     [ {a}, {b}, {dropped}, {c}, {dropped} ]
 *     |---------|          , |-|           |-|
 */

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
    struct event_places places;
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
