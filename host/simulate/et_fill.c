/*
 * et_fill.c - counting, and then filling, the columns of an .et file.
 */
#include "simulate/et_fill.h"

#include <string.h>

#include "base/error.h"

enum sutra_status et_fill_begin(struct et_filler *filler, struct et_nodes *nodes, struct sutra_error *error) {
    *filler = (struct et_filler){.nodes = nodes};
    return et_nodes_begin(nodes, error);
}

enum sutra_status et_fill_room(struct et_filler *filler, struct sutra_error *error) {
    struct et_nodes *nodes = filler->nodes;
    struct et_totals n = filler->n;
    enum sutra_status status = et_nodes_take(nodes, n.n_nodes, n.n_ctrl, n.n_data, n.n_attributes, error);
    if (!status)
        status = et_docs_take(nodes, &nodes->attributes, n.n_docs, error);
    if (!status)
        status = et_attributes_take(nodes, &nodes->metadata, n.n_metadata, error);
    if (!status)
        status = et_docs_take(nodes, &nodes->metadata, n.n_metadata_docs, error);
    filler->fill = true;
    filler->n = (struct et_totals){0};
    return status;
}

static void put_id(struct et_filler *filler, struct et_ids *list, uint64_t *n, uint64_t id) {
    if (filler->fill)
        list->ids[*n] = id;
    (*n)++;
}

void et_fill_ctrl(struct et_filler *filler, uint64_t id) {
    put_id(filler, &filler->nodes->ctrl, &filler->n.n_ctrl, id);
}

void et_fill_data(struct et_filler *filler, uint64_t id) {
    put_id(filler, &filler->nodes->data, &filler->n.n_data, id);
}

/* The number of a name, which probably is the guess. */
static uint32_t name_number(struct et_filler *filler, uint32_t *guess, struct et_text name) {
    struct strings *names = &filler->nodes->names;
    const char *bytes = name.bytes ? name.bytes : "";
    if (strings_length(names, *guess) == name.length && memcmp(strings_text(names, *guess), bytes, name.length) == 0)
        return *guess;
    uint32_t number = strings_intern(names, bytes, name.length);
    filler->no_memory |= number == STRING_NONE;
    if (number != STRING_NONE)
        *guess = number;
    return *guess;
}

/* The i-th attribute of its node, at place `at` of the table. */
static void put_attribute(struct et_filler *filler, struct et_attributes *table, uint64_t at, uint64_t i,
                          const struct et_attribute *attribute) {
    bool is_text = et_kind_is_text(attribute->kind);
    table->name[at] = name_number(filler, &filler->guesses[i % FILL_GUESSES], attribute->name);
    table->kind[at] = attribute->kind;
    table->length[at] = is_text ? attribute->text.length : 0;
    if (is_text)
        table->value[at].bytes = attribute->text.bytes;
    else
        table->value[at].bits = attribute->bits;
    if (attribute->doc.length > 0)
        table->docs[table->n_docs++] = (struct et_doc){at, attribute->doc};
}

void et_fill_attribute(struct et_filler *filler, const struct et_attribute *attribute) {
    struct et_nodes *nodes = filler->nodes;
    uint64_t at = filler->n.n_attributes++;
    filler->n.n_docs += attribute->doc.length > 0;
    if (filler->fill)
        put_attribute(filler, &nodes->attributes, at, at - nodes->attr_first[filler->n.n_nodes], attribute);
}

void et_fill_metadata(struct et_filler *filler, const struct et_attribute *attribute) {
    uint64_t at = filler->n.n_metadata++;
    filler->n.n_metadata_docs += attribute->doc.length > 0;
    if (filler->fill)
        put_attribute(filler, &filler->nodes->metadata, at, at, attribute);
}

static void end_lists(struct et_filler *filler) {
    row_t row = filler->n.n_nodes;
    filler->nodes->ctrl.first[row] = filler->n.n_ctrl;
    filler->nodes->data.first[row] = filler->n.n_data;
    filler->nodes->attr_first[row] = filler->n.n_attributes;
}

void et_fill_node(struct et_filler *filler, const struct et_node *node) {
    struct et_nodes *nodes = filler->nodes;
    row_t row = filler->n.n_nodes++;
    if (!filler->fill)
        return;
    nodes->id[row] = node->id;
    nodes->start_us[row] = node->start_us;
    nodes->duration_us[row] = node->duration_us;
    nodes->type[row] = node->type;
    nodes->flags[row] = node->flags;
    for (int column = 0; column < ET_TEXT_COLUMNS; column++) {
        struct et_text text = node->text[column];
        et_text_put(nodes->text[column], row, text.bytes ? text : (struct et_text){"", 0});
    }
    end_lists(filler);
}

bool et_fill_failed(const struct et_filler *filler) {
    return filler->no_memory || filler->nodes->arena.failed;
}
