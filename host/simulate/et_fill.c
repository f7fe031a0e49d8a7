/*
 * et_fill.c - counting, and then filling, the columns of an .et file.
 */
#include "simulate/et_fill.h"

#include <stdlib.h>
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
    if (!status && !(nodes->joined = arena_take(&nodes->arena, n.n_joined, 1)))
        status = error_memory(error);
    nodes->attributes.n_docs = n.n_docs;
    nodes->metadata.n_docs = n.n_metadata_docs;
    filler->fill = true;
    filler->n = (struct et_totals){0};
    filler->first_attribute = 0;
    return status;
}

struct et_totals et_totals_add(struct et_totals a, struct et_totals b) {
    return (struct et_totals){a.n_nodes + b.n_nodes,
                              a.n_ctrl + b.n_ctrl,
                              a.n_data + b.n_data,
                              a.n_attributes + b.n_attributes,
                              a.n_docs + b.n_docs,
                              a.n_metadata + b.n_metadata,
                              a.n_metadata_docs + b.n_metadata_docs,
                              a.n_joined + b.n_joined};
}

/* ---- Parts ---- */

bool et_fill_part(struct et_filler *part, struct et_nodes *nodes, const struct et_totals *before) {
    *part = (struct et_filler){.nodes = nodes,
                               .fill = true,
                               .slim = nodes->slim,
                               .n = *before,
                               .first_attribute = before->n_attributes,
                               .is_part = true,
                               .n_known = nodes->names.n};
    return strings_init(&part->own);
}

void et_fill_part_free(struct et_filler *part) {
    strings_free(&part->own);
}

bool et_fill_join(struct et_filler *part, const struct et_totals *before) {
    struct strings *names = &part->nodes->names;
    const uint32_t n_known = part->n_known;
    if (part->own.n == 0)
        return true;
    uint32_t *numbers = strings_join(names, &part->own);
    if (!numbers)
        return false;
    for (uint64_t i = before->n_attributes; i < part->n.n_attributes; i++) {
        uint32_t *name = &part->nodes->attributes.name[i];
        if (*name >= n_known)
            *name = numbers[*name - n_known];
    }
    free(numbers);
    return true;
}

/* ---- Columns ---- */

/* Of an attribute at a time, so that the next piece comes behind the one before. */
void et_fill_list(struct et_filler *filler, struct et_attribute *attribute, struct et_text piece) {
    const struct et_text before = attribute->text;
    uint64_t at = filler->n.n_joined - (attribute->is_joined ? before.length : 0);
    char *joined = filler->fill ? filler->nodes->joined + at : NULL;
    if (joined && !attribute->is_joined)
        memcpy(joined, before.bytes, before.length);
    if (joined)
        memcpy(joined + before.length, piece.bytes, piece.length);
    attribute->is_joined = true;
    attribute->text = (struct et_text){joined ? joined : before.bytes, before.length + piece.length};
    filler->n.n_joined = at + attribute->text.length;
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

static bool is_name(const struct strings *names, uint32_t number, const char *bytes, size_t length) {
    return strings_length(names, number) == length && memcmp(strings_text(names, number), bytes, length) == 0;
}

/* Whether a number, which may be one of the part's own, is that of a name. */
static bool is_number_of(const struct et_filler *filler, uint32_t number, const char *bytes, size_t length) {
    if (filler->is_part && number >= filler->n_known)
        return is_name(&filler->own, number - filler->n_known, bytes, length);
    return is_name(&filler->nodes->names, number, bytes, length);
}

/* Of a part, while others read the names that all know. */
static uint32_t part_number(struct et_filler *filler, const char *bytes, size_t length) {
    uint32_t number = strings_find(&filler->nodes->names, bytes, length);
    if (number != STRING_NONE)
        return number;
    number = strings_intern(&filler->own, bytes, length);
    return number == STRING_NONE ? STRING_NONE : number + filler->n_known;
}

/* The number of a name, which probably is the guess. */
static uint32_t name_number(struct et_filler *filler, uint32_t *guess, struct et_text name) {
    const char *bytes = name.bytes ? name.bytes : "";
    if (is_number_of(filler, *guess, bytes, name.length))
        return *guess;
    uint32_t number = filler->is_part ? part_number(filler, bytes, name.length)
                                      : strings_intern(&filler->nodes->names, bytes, name.length);
    filler->no_memory |= number == STRING_NONE;
    if (number != STRING_NONE)
        *guess = number;
    return *guess;
}

/* ---- What a simulator needs ---- */

#define WANTED(name) (UINT64_C(1) << ET_NAME_##name)

/* Names of attributes that simulating asks for (rank_graph.c). */
static const uint64_t wanted = WANTED(IS_CPU_OP) | WANTED(TID) | WANTED(STREAM) | WANTED(PG_NAME) | WANTED(COMM_SRC) |
                               WANTED(COMM_DST) | WANTED(COMM_TAG) | WANTED(KERNEL_EXEC_NS) | WANTED(MEETING) |
                               WANTED(MEETING_KIND) | WANTED(MEETING_RANKS) | WANTED(MEETING_BYTES);

_Static_assert(ET_N_NAMES <= 64, "a bit for each known name");

bool et_fill_wants(struct et_filler *filler, const char *bytes, size_t length) {
    uint32_t *guess = &filler->guesses[filler->place++ % FILL_GUESSES];
    if (!is_name(&filler->nodes->names, *guess, bytes, length)) {
        uint32_t number = strings_find(&filler->nodes->names, bytes, length);
        if (number >= ET_N_NAMES)
            return false;
        *guess = number;
    }
    return wanted >> *guess & 1;
}

/* ---- Attributes and nodes ---- */

/* The i-th attribute of its node, at place `at` of the table; a text about it is number `doc`. */
static void put_attribute(struct et_filler *filler, struct et_attributes *table, uint64_t at, uint64_t i, uint64_t doc,
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
        table->docs[doc] = (struct et_doc){at, attribute->doc};
}

void et_fill_attribute(struct et_filler *filler, const struct et_attribute *attribute) {
    struct et_nodes *nodes = filler->nodes;
    uint64_t at = filler->n.n_attributes++, doc = filler->n.n_docs;
    filler->n.n_docs += attribute->doc.length > 0;
    const uint64_t place = filler->slim ? filler->place - 1 : at - filler->first_attribute;
    if (filler->fill)
        put_attribute(filler, &nodes->attributes, at, place, doc, attribute);
}

void et_fill_metadata(struct et_filler *filler, const struct et_attribute *attribute) {
    uint64_t at = filler->n.n_metadata++, doc = filler->n.n_metadata_docs;
    filler->n.n_metadata_docs += attribute->doc.length > 0;
    if (filler->fill)
        put_attribute(filler, &filler->nodes->metadata, at, at, doc, attribute);
}

static void end_lists(struct et_filler *filler) {
    row_t row = filler->n.n_nodes;
    filler->nodes->ctrl.first[row] = filler->n.n_ctrl;
    filler->nodes->data.first[row] = filler->n.n_data;
    filler->nodes->attr_first[row] = filler->first_attribute = filler->n.n_attributes;
}

void et_fill_node(struct et_filler *filler, const struct et_node *node) {
    struct et_nodes *nodes = filler->nodes;
    row_t row = filler->n.n_nodes++;
    filler->place = 0;
    if (!filler->fill)
        return;
    nodes->id[row] = node->id;
    nodes->start_us[row] = node->start_us;
    nodes->duration_us[row] = node->duration_us;
    nodes->type[row] = node->type;
    nodes->flags[row] = node->flags;
    for (int column = 0; column < et_text_columns(nodes); column++) {
        struct et_text text = node->text[column];
        et_text_put(nodes->text[column], row, text.bytes ? text : (struct et_text){"", 0});
    }
    end_lists(filler);
}

bool et_fill_failed(const struct et_filler *filler) {
    return filler->no_memory || filler->nodes->arena.failed;
}
