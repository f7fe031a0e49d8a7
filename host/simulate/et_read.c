/*
 * et_read.c - reads the messages of an .et file into columns.
 *
 *     lengths --> parts of some thousand messages --> each counted --> each filled after the preceding ones
 *
 * Both passes walk the messages with the same functions: the first checks and counts, the second fills the columns.
 * Messages before a fault stay counted, so the intact beginning of a corrupt file can be read.
 */
#include <stdlib.h>
#include <string.h>

#include "base/error.h"
#include "base/shared.h"
#include "base/threads.h"
#include "read/file_kind.h"
#include "read/source.h"
#include "simulate/et_file.h"
#include "simulate/et_format.h"
#include "text/strings.h"

/* ---- Counting and filling of columns ---- */

/*
 * Two passes over the same code: the first pass counts, the second stores the values in the columns that
 * allocate_columns() allocated.
 *
 *     begin_filler   -->   a pass   -->   allocate_columns   -->   the same pass again
 *
 * Each part of the file has a filler for its first pass, whose counts are added up. The sum of the preceding parts is
 * the offset of its second pass. New names of attributes are numbered when all parts are filled, in the order of the
 * parts.
 */

/* Names of attributes recur in the same order in each node: number of indices of a node that are remembered. */
#define FILL_GUESSES 32

/* Counts of everything. */
struct et_totals {
    row_t n_nodes;
    uint64_t n_ctrl, n_data, n_attributes, n_docs;
    uint64_t n_metadata, n_metadata_docs;
    uint64_t n_joined; /* bytes of joined lists, which were in several pieces */
};

struct et_filler {
    struct et_nodes *nodes;
    bool fill;                /* the second pass */
    struct et_totals n;       /* so far */
    uint64_t first_attribute; /* of the current node */
    uint32_t guesses[FILL_GUESSES];
    struct strings own; /* of a part: new names, numbered after the known ones */
    uint32_t n_known;   /* number of known names */
    bool is_part, no_memory;
    bool slim;      /* only store fields that a simulator needs: is_wanted() */
    uint64_t index; /* index in the node of the last attribute passed to is_wanted() */
};

/* The single fields of a node. */
struct et_node {
    uint64_t id, start_us, duration_us;
    int32_t type;
    uint8_t flags;
    struct et_text text[ET_TEXT_COLUMNS];
};

struct et_attribute {
    struct et_text name, doc;
    uint8_t kind;        /* enum et_kind, or the number of its list */
    struct et_text text; /* of texts and lists */
    bool is_joined;      /* a list that was joined, and the last one */
    uint64_t bits;       /* of numbers */
};

static enum sutra_status begin_filler(struct et_filler *filler, struct et_nodes *nodes, struct sutra_error *error) {
    *filler = (struct et_filler){.nodes = nodes};
    return et_nodes_begin(nodes, error);
}

static enum sutra_status allocate_columns(struct et_filler *filler, struct sutra_error *error) {
    struct et_nodes *nodes = filler->nodes;
    struct et_totals n = filler->n;
    TRY(et_nodes_take(nodes, n.n_nodes, n.n_ctrl, n.n_data, n.n_attributes, error));
    TRY(et_docs_take(nodes, &nodes->attributes, n.n_docs, error));
    TRY(et_attributes_take(nodes, &nodes->metadata, n.n_metadata, error));
    TRY(et_docs_take(nodes, &nodes->metadata, n.n_metadata_docs, error));
    nodes->joined = arena_alloc(&nodes->arena, n.n_joined, 1);
    TRY(arena_status(&nodes->arena, error));
    nodes->attributes.n_docs = n.n_docs;
    nodes->metadata.n_docs = n.n_metadata_docs;
    filler->fill = true;
    filler->n = (struct et_totals){0};
    filler->first_attribute = 0;
    return SUTRA_OK;
}

/* Numbers the new names of a part, which started at the counts `before`. False: out of memory. */
static bool number_new_names(struct et_filler *part, const struct et_totals *before) {
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

/* Append the piece to the list that was joined last. */
static void join_list(struct et_filler *filler, struct et_attribute *attribute, struct et_text piece) {
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

static void add_id(struct et_filler *filler, struct et_ids *list, uint64_t *n, uint64_t id) {
    if (filler->fill)
        list->ids[*n] = id;
    (*n)++;
}

static void add_ctrl(struct et_filler *filler, uint64_t id) {
    add_id(filler, &filler->nodes->ctrl, &filler->n.n_ctrl, id);
}

static void add_data(struct et_filler *filler, uint64_t id) {
    add_id(filler, &filler->nodes->data, &filler->n.n_data, id);
}

static bool is_name(const struct strings *names, uint32_t number, const char *bytes, size_t length) {
    return strings_length(names, number) == length && memcmp(strings_text(names, number), bytes, length) == 0;
}

/* Whether a number, perhaps of the own names of a part, is the number of a name. */
static bool is_number_of(const struct et_filler *filler, uint32_t number, const char *bytes, size_t length) {
    if (filler->is_part && number >= filler->n_known)
        return is_name(&filler->own, number - filler->n_known, bytes, length);
    return is_name(&filler->nodes->names, number, bytes, length);
}

/* The number of a name in a part; the other parts only read the shared names. */
static uint32_t part_number(struct et_filler *filler, const char *bytes, size_t length) {
    uint32_t number = strings_find(&filler->nodes->names, bytes, length);
    if (number != STRING_NONE)
        return number;
    number = strings_intern(&filler->own, bytes, length);
    return number == STRING_NONE ? STRING_NONE : number + filler->n_known;
}

/* The number of a name; the guess is probably correct. */
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

/* ---- Attributes that a simulator needs ---- */

#define NEEDED(name) (UINT64_C(1) << ET_NAME_##name)

/* Names of attributes that rank_graph.c reads. */
static const uint64_t needed = NEEDED(IS_CPU_OP) | NEEDED(TID) | NEEDED(STREAM) | NEEDED(PG_NAME) | NEEDED(COMM_SRC) |
                               NEEDED(COMM_DST) | NEEDED(COMM_TAG) | NEEDED(KERNEL_EXEC_NS) | NEEDED(MEETING) |
                               NEEDED(MEETING_KIND) | NEEDED(MEETING_RANKS) | NEEDED(MEETING_BYTES) |
                               NEEDED(COMM_TYPE) | NEEDED(COMM_SIZE) | NEEDED(INVOLVED_DIM) | NEEDED(NUM_OPS) |
                               NEEDED(TENSOR_SIZE);

_Static_assert(ET_N_NAMES <= 64, "a bit for each known name");

/* Whether a slim filler stores the next attribute, of this name; other attributes need not be read. */
static bool is_wanted(struct et_filler *filler, const char *bytes, size_t length) {
    uint32_t *guess = &filler->guesses[filler->index++ % FILL_GUESSES];
    if (!is_name(&filler->nodes->names, *guess, bytes, length)) {
        uint32_t number = strings_find(&filler->nodes->names, bytes, length);
        if (number >= ET_N_NAMES)
            return false;
        *guess = number;
    }
    return needed >> *guess & 1;
}

/* ---- Attributes and nodes ---- */

/* Sets the i-th attribute of its node, at index `at` of the table; its documentation is number `doc`. */
static void set_attribute(struct et_filler *filler, struct et_attributes *table, uint64_t at, uint64_t i, uint64_t doc,
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

static void add_attribute(struct et_filler *filler, const struct et_attribute *attribute) {
    struct et_nodes *nodes = filler->nodes;
    uint64_t at = filler->n.n_attributes++, doc = filler->n.n_docs;
    filler->n.n_docs += attribute->doc.length > 0;
    const uint64_t index = filler->slim ? filler->index - 1 : at - filler->first_attribute;
    if (filler->fill)
        set_attribute(filler, &nodes->attributes, at, index, doc, attribute);
}

static void add_metadata(struct et_filler *filler, const struct et_attribute *attribute) {
    uint64_t at = filler->n.n_metadata++, doc = filler->n.n_metadata_docs;
    filler->n.n_metadata_docs += attribute->doc.length > 0;
    if (filler->fill)
        set_attribute(filler, &filler->nodes->metadata, at, at, doc, attribute);
}

static void add_node(struct et_filler *filler, const struct et_node *node) {
    struct et_nodes *nodes = filler->nodes;
    row_t row = filler->n.n_nodes++;
    filler->index = 0;
    if (!filler->fill)
        return;
    nodes->id[row] = node->id;
    nodes->start_us[row] = node->start_us;
    nodes->duration_us[row] = node->duration_us;
    nodes->type[row] = node->type;
    nodes->flags[row] = node->flags;
    for (int column = 0; column < et_text_columns(nodes); column++) {
        struct et_text text = node->text[column];
        et_text_set(nodes->text[column], row, text.bytes ? text : (struct et_text){"", 0});
    }
    row_t next = filler->n.n_nodes;
    filler->nodes->ctrl.first[next] = filler->n.n_ctrl;
    filler->nodes->data.first[next] = filler->n.n_data;
    filler->nodes->attr_first[next] = filler->first_attribute = filler->n.n_attributes;
}

static bool filler_failed(const struct et_filler *filler) {
    return filler->no_memory || filler->nodes->arena.failed;
}

struct et_reader {
    struct et_file *file;
    struct et_filler filler;
    const char *fault, *fault_at; /* the first fault */
};

static void note_fault(struct et_reader *reader, const char *at, const char *fault) {
    if (reader->fault)
        return;
    reader->fault = fault;
    reader->fault_at = at;
}

/* A cursor over the bytes of a field. */
static struct wire nested(const struct wire_field *field) {
    return wire_over(field->bytes, field->bits);
}

static void end_fields(struct et_reader *reader, const struct wire *wire) {
    if (wire->fault)
        note_fault(reader, wire->at, wire->fault);
}

static struct et_text text_of(struct et_reader *reader, const struct wire_field *field) {
    if (!reader->filler.fill) {
        size_t good = utf8_check(field->bytes, field->bits);
        if (good < field->bits)
            note_fault(reader, field->bytes + good, "invalid UTF-8");
    }
    return (struct et_text){field->bytes, (uint32_t)field->bits};
}

static void read_ids(struct et_reader *reader, void (*add)(struct et_filler *filler, uint64_t id),
                     const struct wire_field *field) {
    if (field->type == WIRE_VARINT) {
        add(&reader->filler, field->bits);
    } else if (field->type == WIRE_BYTES) {
        struct wire wire = nested(field);
        uint64_t id;
        while (wire.at != wire.end && wire_varint(&wire, &id))
            add(&reader->filler, id);
        end_fields(reader, &wire);
    }
}

/* ---- Attributes ---- */

/* A list in several pieces is joined. */
static void add_list(struct et_reader *reader, struct et_attribute *attribute, const struct wire_field *field) {
    struct et_text piece = {field->bytes, (uint32_t)field->bits};
    if (attribute->kind != field->number || attribute->text.length == 0) {
        attribute->text = piece;
        attribute->is_joined = false;
    } else if (piece.length > 0) {
        join_list(&reader->filler, attribute, piece);
    }
}

static void read_value(struct et_reader *reader, struct et_attribute *attribute, const struct wire_field *field) {
    if (field->number % 2 == 0) {
        if (!reader->filler.fill) {
            struct et_list list = et_list_over(field->number, field->bytes, field->bits);
            struct et_text text;
            uint64_t bits;
            while (et_list_next(&list, &bits, &text))
                if (field->number - 1 == ET_STRING)
                    text_of(reader, &(struct wire_field){.bits = text.length, .bytes = text.bytes});
            end_fields(reader, &list.fields);
            end_fields(reader, &list.packed);
        }
        add_list(reader, attribute, field);
    } else if (field->number == ET_STRING) {
        attribute->text = text_of(reader, field);
    } else if (field->number == ET_BYTES) {
        attribute->text = (struct et_text){field->bytes, (uint32_t)field->bits};
    } else {
        attribute->bits = et_scalar_bits(field->number, field->bits);
    }
    attribute->kind = (uint8_t)field->number;
}

static struct et_attribute read_attribute(struct et_reader *reader, const struct wire_field *message) {
    struct et_attribute attribute = {0};
    struct wire wire = nested(message);
    struct wire_field field;
    while (wire_next(&wire, &field)) {
        if (field.number == 1 && field.type == WIRE_BYTES)
            attribute.name = text_of(reader, &field);
        else if (field.number == 2 && field.type == WIRE_BYTES)
            attribute.doc = text_of(reader, &field);
        else if (field.number >= ET_DOUBLE && field.number < ET_KINDS && field.type == et_wire_type(field.number))
            read_value(reader, &attribute, &field);
    }
    end_fields(reader, &wire);
    return attribute;
}

/* ---- Messages ---- */

/* The name of an attribute, if it is first, as all writers add it. */
static bool first_name(const struct wire_field *message, struct wire_field *name) {
    struct wire wire = nested(message);
    return wire_next(&wire, name) && name->number == 1 && name->type == WIRE_BYTES;
}

static void read_node_attribute(struct et_reader *reader, const struct wire_field *message) {
    struct wire_field name;
    if (reader->filler.slim && first_name(message, &name) && !is_wanted(&reader->filler, name.bytes, name.bits))
        return;
    struct et_attribute attribute = read_attribute(reader, message);
    add_attribute(&reader->filler, &attribute);
}

static void read_texts(struct et_reader *reader, struct et_text *texts, const struct wire_field *message) {
    struct wire wire = nested(message);
    struct wire_field field;
    while (wire_next(&wire, &field))
        if (field.number >= 1 && field.number <= 3 && field.type == WIRE_BYTES)
            texts[field.number - 1] = text_of(reader, &field);
    end_fields(reader, &wire);
}

static void read_node(struct et_reader *reader, struct wire wire) {
    struct et_node node = {0};
    struct wire_field field;
    while (wire_next(&wire, &field)) {
        if (field.number == 4)
            read_ids(reader, add_ctrl, &field);
        else if (field.number == 5)
            read_ids(reader, add_data, &field);
        else if (field.type == WIRE_BYTES) {
            const bool slim = reader->filler.slim;
            switch (field.number) {
            case 2:
                node.text[ET_NODE_NAME] = text_of(reader, &field);
                break;
            case 8:
                node.flags |= ET_HAS_INPUTS;
                if (!slim)
                    read_texts(reader, &node.text[ET_INPUT_VALUES], &field);
                break;
            case 9:
                node.flags |= ET_HAS_OUTPUTS;
                if (!slim)
                    read_texts(reader, &node.text[ET_OUTPUT_VALUES], &field);
                break;
            case 10:
                read_node_attribute(reader, &field);
                break;
            default:
                break;
            }
        } else if (field.type == WIRE_VARINT) {
            switch (field.number) {
            case 1:
                node.id = field.bits;
                break;
            case 3:
                node.type = (int32_t)(uint32_t)field.bits;
                break;
            case 6:
                node.start_us = field.bits;
                break;
            case 7:
                node.duration_us = field.bits;
                break;
            default:
                break;
            }
        }
    }
    end_fields(reader, &wire);
    add_node(&reader->filler, &node);
}

/* ---- Sequence of messages ---- */

struct file_cursor {
    struct et_file *file;
    struct wire wire;
    const char *fault, *fault_at;
};

/* The bytes of the next message; false at the end of the messages. */
static bool next_message(struct file_cursor *cursor, bool first, struct wire *message) {
    struct wire *wire = &cursor->wire;
    const struct source *source = &cursor->file->source;
    uint64_t at = (uint64_t)(wire->at - source->bytes), length;
    if (wire->at == wire->end)
        return false;
    if (!wire_varint(wire, &length)) {
        if (source->size - at >= WIRE_VARINT_MAX) { /* the maximum number of bytes, none of them the last one */
            cursor->fault = wire->fault;
            cursor->fault_at = wire->at;
        }
        cursor->file->cut_at = at;
        return false;
    }
    length &= UINT32_MAX; /* as in Chakra's readers */
    uint64_t left = (uint64_t)(wire->end - wire->at);
    if (length > left)
        cursor->file->cut_at = at;
    if (length == 0 && !first)
        cursor->file->empty_at = at;
    *message = wire_over(wire->at, MIN(length, left));
    wire->at = message->end;
    return length > 0 || first;
}

/* ---- Parts ---- */

#define PART_NODES 4096

/* Some consecutive messages of nodes. */
struct et_part {
    struct et_reader reader;
    const char *begin; /* the length of the first message */
    row_t n_messages;
    struct et_totals before; /* in the preceding parts */
    bool failed;             /* out of memory */
};

struct et_parts {
    struct et_file *file;
    struct et_part *parts;
    size_t n;
    uint64_t capacity;
    struct arena arena;
    const char *fault, *fault_at; /* after the last part */
};

/* Most bytes of a message are skipped, so the CPU does not read ahead by itself. */
#define PREFETCH_BYTES 512

static inline void prefetch_messages(const char *at) {
    for (size_t line = 0; line < PREFETCH_BYTES; line += 64)
        __builtin_prefetch(at + line);
}

/* Cuts the messages into parts, by their lengths. */
static bool cut_parts(struct et_parts *parts, struct file_cursor *cursor) {
    struct wire message;
    const char *at = cursor->wire.at;
    bool added = true;
    for (uint64_t n = 0; added && next_message(cursor, false, &message); n++) {
        if (n == ROW_LIMIT) {
            cursor->fault = "more than 2^32 - 2 nodes";
            cursor->fault_at = message.at;
            break;
        }
        if (n % PART_NODES == 0) {
            added = arena_grow(&parts->arena, &parts->parts, parts->n, &parts->capacity, sizeof *parts->parts);
            if (!added)
                break;
            parts->parts[parts->n++] = (struct et_part){.begin = at};
        }
        parts->parts[parts->n - 1].n_messages++;
        at = cursor->wire.at;
        prefetch_messages(at + 8 * PREFETCH_BYTES);
    }
    parts->fault = cursor->fault;
    parts->fault_at = cursor->fault_at;
    return added;
}

/* Reads the first n messages of the part, up to a fault, before which all stays counted. */
static void read_part(const struct et_parts *parts, struct et_part *part, row_t n) {
    const struct source *source = &parts->file->source;
    struct wire wire = wire_over(part->begin, (size_t)(source->bytes + source->size - part->begin));
    for (row_t i = 0; i < n && !part->reader.fault; i++) {
        struct et_totals before = part->reader.filler.n;
        uint64_t length = 0;
        wire_varint(&wire, &length);
        length &= UINT32_MAX;
        uint64_t left = (uint64_t)(wire.end - wire.at);
        struct wire message = wire_over(wire.at, MIN(length, left));
        wire.at = message.end;
        prefetch_messages(wire.at + 4 * PREFETCH_BYTES);
        read_node(&part->reader, message);
        if (part->reader.fault)
            part->reader.filler.n = before;
    }
}

static void count_part(void *arg, size_t i) {
    struct et_parts *parts = arg;
    struct et_part *part = &parts->parts[i];
    part->reader = (struct et_reader){.file = parts->file,
                                      .filler = {.nodes = &parts->file->nodes, .slim = parts->file->nodes.slim}};
    read_part(parts, part, part->n_messages);
}

static void fill_part(void *arg, size_t i) {
    struct et_parts *parts = arg;
    struct et_part *part = &parts->parts[i];
    row_t n = part->reader.filler.n.n_nodes;
    part->reader = (struct et_reader){.file = parts->file};
    /* Starts the second pass of a part, after the counts of the preceding parts. */
    part->reader.filler = (struct et_filler){.nodes = &parts->file->nodes,
                                             .fill = true,
                                             .slim = parts->file->nodes.slim,
                                             .n = part->before,
                                             .first_attribute = part->before.n_attributes,
                                             .is_part = true,
                                             .n_known = parts->file->nodes.names.n};
    part->failed = !strings_init(&part->reader.filler.own);
    if (!part->failed)
        read_part(parts, part, n);
    part->failed |= filler_failed(&part->reader.filler);
}

/* ---- The file ---- */

/* Reads the first message; false: there is no intact one. */
static bool read_first(struct et_reader *reader, struct file_cursor *cursor) {
    struct wire message;
    if (!next_message(cursor, true, &message)) {
        reader->fault = cursor->fault;
        reader->fault_at = cursor->fault_at;
        return false;
    }
    struct wire_field field;
    while (wire_next(&message, &field)) {
        if (field.type != WIRE_BYTES)
            continue;
        if (field.number == 1)
            reader->file->nodes.version = text_of(reader, &field);
        if (field.number != 2)
            continue;
        struct et_attribute attribute = read_attribute(reader, &field);
        add_metadata(&reader->filler, &attribute);
    }
    end_fields(reader, &message);
    return !reader->fault;
}

/* Fills the error of a file with a malformed first message: it may be of another kind. */
static void first_fault(const struct source *source, const char *fault, uint64_t offset, struct sutra_error *damage) {
#define FOUND  "expected an .et file, found "
#define OUTPUT " -o rank.0.et'"
    const struct file_kind kind = file_kind(source->name, source->bytes, source->size);
    const char *name = source->name;
    if (kind.format == FILE_DEVICE_TRACE)
        error_file(damage, SUTRA_DATA, name, FOUND "%s; link it: 'sutra link HOST %s" OUTPUT, kind.name, name);
    else if (kind.format == FILE_HOST_TRACE)
        error_file(damage, SUTRA_DATA, name, FOUND "%s; link it: 'sutra link %s DEVICE" OUTPUT, kind.name, name);
    else if (kind.format == FILE_LINKED_TRACE)
        error_file(damage, SUTRA_DATA, name, FOUND "%s; convert it: 'sutra convert %s" OUTPUT, kind.name, name);
    else if (kind.format != FILE_ET && kind.format != FILE_UNKNOWN)
        error_file(damage, SUTRA_DATA, name, FOUND "%s%s", kind.name,
                   *kind.remedy ? kind.remedy : "; link two traces: 'sutra link HOST DEVICE" OUTPUT);
    else {
        error_file(damage, SUTRA_DATA, name, "not an .et file, or corrupt in the first message: %s", fault);
        damage->offset = offset;
    }
#undef FOUND
#undef OUTPUT
}

static enum sutra_status fault_error(const struct et_file *file, const struct et_parts *parts, row_t n_nodes,
                                     struct sutra_error *error) {
    struct sutra_error damage;
    /* An .et file may begin with '{', too, as the length of its first message. */
    const struct source *source = &file->source;
    bool is_json = may_be_json(source->bytes, source->size) &&
                   file_kind(source->name, source->bytes, source->size).format != FILE_ET;
    if (!file->has_metadata || is_json) {
        first_fault(source, parts->fault, (uint64_t)(parts->fault_at - source->bytes), &damage);
    } else {
        error_file(&damage, SUTRA_DATA, source->name, "corrupt or truncated in node %u: %s", n_nodes + 1, parts->fault);
        damage.offset = (uint64_t)(parts->fault_at - source->bytes);
    }
    return error_copy(error, SUTRA_DATA, &damage);
}

/* The first pass: counts everything, in *n, up to a fault. False: out of memory. */
static bool count_messages(struct et_reader *reader, struct et_parts *parts, struct pool *pool, struct et_totals *n) {
    struct et_file *file = reader->file;
    struct file_cursor cursor = {.file = file, .wire = wire_over(file->source.bytes, file->source.size)};
    struct et_totals none = reader->filler.n;
    file->has_metadata = read_first(reader, &cursor);
    parts->fault = reader->fault;
    parts->fault_at = reader->fault_at;
    *n = file->has_metadata ? reader->filler.n : none;
    if (!file->has_metadata)
        return true;
    struct background_call mapping;
    background_call_begin(&mapping, pool_threads(pool) > 1, source_map_pages, &file->source);
    bool cut = cut_parts(parts, &cursor);
    if (mapping.runs)
        background_call_end(&mapping);
    if (!cut)
        return false;
    pool_run(pool, parts->n, count_part, parts);

    /* Add up the counts, up to the first fault. */
    struct et_totals sum = *n;
    for (size_t i = 0; i < parts->n; i++) {
        struct et_part *part = &parts->parts[i];
        part->before = sum;
        sum = (struct et_totals){sum.n_nodes + part->reader.filler.n.n_nodes,
                                 sum.n_ctrl + part->reader.filler.n.n_ctrl,
                                 sum.n_data + part->reader.filler.n.n_data,
                                 sum.n_attributes + part->reader.filler.n.n_attributes,
                                 sum.n_docs + part->reader.filler.n.n_docs,
                                 sum.n_metadata + part->reader.filler.n.n_metadata,
                                 sum.n_metadata_docs + part->reader.filler.n.n_metadata_docs,
                                 sum.n_joined + part->reader.filler.n.n_joined};
        if (part->reader.fault) {
            parts->fault = part->reader.fault;
            parts->fault_at = part->reader.fault_at;
            parts->n = i + 1;
        }
    }
    *n = sum;
    return true;
}

/* The second pass, over the intact messages. */
static enum sutra_status fill_messages(struct et_reader *reader, struct et_parts *parts, struct pool *pool,
                                       struct et_totals n, struct sutra_error *error) {
    struct et_file *file = reader->file;
    struct file_cursor cursor = {.file = file, .wire = wire_over(file->source.bytes, file->source.size)};
    reader->filler.n = n;
    reader->fault = NULL;
    TRY(allocate_columns(&reader->filler, error));
    if (!file->has_metadata)
        return SUTRA_OK;
    const uint64_t cut_at = file->cut_at, empty_at = file->empty_at;
    read_first(reader, &cursor);
    file->cut_at = cut_at;
    file->empty_at = empty_at;
    if (filler_failed(&reader->filler))
        return error_memory(error);
    bool failed = false;
    pool_run(pool, parts->n, fill_part, parts);
    for (size_t i = 0; i < parts->n; i++) {
        struct et_part *part = &parts->parts[i];
        failed = failed || part->failed || !number_new_names(&part->reader.filler, &part->before);
        strings_free(&part->reader.filler.own);
    }
    return failed ? error_memory(error) : SUTRA_OK;
}

enum sutra_status et_read(struct et_file *file, enum et_reading how, struct pool *pool, struct sutra_error *error) {
    const bool tolerant = how == ET_TOLERANT;
    struct et_reader reader = {.file = file};
    struct et_parts parts = {.file = file};
    struct et_totals n;
    file->cut_at = file->empty_at = ET_NOWHERE;
    enum sutra_status status = begin_filler(&reader.filler, &file->nodes, error);
    file->nodes.slim = how == ET_SLIM;
    if (!status && !count_messages(&reader, &parts, pool, &n))
        status = error_memory(error);
    if (!status && parts.fault) {
        status = fault_error(file, &parts, n.n_nodes, tolerant ? &file->damage : error);
        if (tolerant)
            status = SUTRA_OK;
    }
    if (!status)
        status = fill_messages(&reader, &parts, pool, n, error);
    arena_free(&parts.arena);
    return status;
}

enum sutra_status et_open(struct et_file *file, const char *path, uint64_t most, struct sutra_error *error) {
    struct source *source = &file->source;
    enum sutra_status status = source_open_format(source, path, et_may_begin, most, error);
    if (status || !source->is_beginning)
        return status;
    struct sutra_error other;
    first_fault(source, "malformed", 0, &other);
    return error_copy(error, SUTRA_DATA, &other);
}

void et_file_free(struct et_file *file) {
    et_nodes_free(&file->nodes);
    source_close(&file->source);
}

bool et_may_begin(const char *bytes, size_t size) {
    struct wire file = wire_over(bytes, size), message;
    struct wire_field field;
    uint64_t length;
    if (!wire_varint(&file, &length))
        return false;
    size_t left = (size_t)(file.end - file.at);
    message = wire_over(file.at, MIN(length, left));
    while (wire_next(&message, &field))
        if (field.number > 2 && may_be_json(bytes, size)) /* some JSON parses as unknown fields */
            return false;
    bool is_empty = length == 0 && left > 0 && *file.at == 0;
    return !is_empty && (!message.fault || length > left);
}

bool is_et_file(const char *bytes, size_t size) {
    struct wire file = wire_over(bytes, size), message;
    struct wire_field field;
    uint64_t length;
    if (!wire_varint(&file, &length) || length > (uint64_t)(file.end - file.at))
        return false;
    message = wire_over(file.at, length);
    while (wire_next(&message, &field))
        if (field.number > 2 || field.type != WIRE_BYTES)
            return false;
    return !message.fault && et_may_begin(bytes, size);
}
