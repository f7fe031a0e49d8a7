/*
 * write_events.c - parents and tensor ids in the order of the file's events:
 *
 *     {"parent": [-1, 0, ...], "tensor_ids": [[null, 3, [4, 5]], 3, null, ...]}
 *
 * A list with an item for each input of an operator (an id, a list of ids, or null), the id of an allocation, or null.
 */
#include "tree/tree.h"

static void write_id(uint32_t id, struct text_out *text) {
    if (id == STORAGE_NONE)
        out_add(text, "null");
    else
        out_integer(text, id);
}

void write_tensor_ids(const struct tensor_ids *ids, struct sutra_inputs_reader *reader, struct text_out *text) {
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
