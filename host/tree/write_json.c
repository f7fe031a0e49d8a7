/*
 * write_json.c - the call tree as one JSON object: {"nodes": [...]} with a node for each event by rising start.
 *
 *     event       its position in the trace's "traceEvents"
 *     parent      position of the node above, or null; depth: 0 at the top; children: positions of those below
 *     start_ns, end_ns      end: null where it never ends
 *     host_us, device_us    total and self, on either side
 *     types, shapes         of an operator's inputs, where they were recorded
 *     tensor_ids, allocation_id    where addresses were, too; bytes: of memory events
 */
#include "tree/tree.h"

#include <string.h>

static const char *const kind_words[] = {"operator",        "backend",           "allocation", "out_of_memory",
                                         "python_function", "python_c_function", "kineto"};

/* Thousandths, as a decimal number without rounding. */
static void write_us(struct text_out *text, int64_t ns) {
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
    write_us(text, total);
    out_add(text, ", \"self\": ");
    write_us(text, self);
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
