/*
 * plus_node_read.c - implements the second part of plus.h. Fields are located first and read later, since of repeated
 * keys the last counts.
 *
 * A Python text is a loop over tokens with a stack of brackets: a value is written or opened, then brackets are closed
 * until there is a comma.
 */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/shared.h"
#include "columns/hash.h"
#include "facts/collectives.h"
#include "read/document.h"
#include "simulate/communication.h"
#include "simulate/et_format.h"
#include "simulate/plus.h"
#include "text/strings.h"

/* ---- Python texts ---- */

/* Bytes beyond the text that a store may write. */
#define SLACK 64

static bool python_text_begin(struct python_text *text) {
    text->members.out = &text->out;
    text->frames = malloc(DEPTH_MAX * sizeof *text->frames);
    return text->frames && buffer_reserve(&text->out, 1 << 12);
}

static void python_text_end(struct python_text *text) {
    json_emitter_free(&text->members);
    buffer_free(&text->out);
    buffer_free(&text->decoded);
    free(text->frames);
    *text = (struct python_text){0};
}

static bool python_text_failed(const struct python_text *text) {
    return text->failed || text->out.failed || text->decoded.failed || text->members.failed;
}

static inline void append(struct python_text *text, const char *bytes, size_t n) {
    buffer_append(&text->out, bytes, n);
}

/* The decoded string; valid until the next call. */
static const char *decode(struct python_text *text, const char *raw, size_t *length) {
    if (!memchr(raw, '\\', *length))
        return raw;
    text->decoded.length = 0;
    char *to = buffer_reserve(&text->decoded, *length + SLACK);
    *length = to ? string_decode(raw, *length, to) : 0;
    return to ? to : raw;
}

static void append_repr_decoded(struct python_text *text, const char *raw, size_t length) {
    const char *decoded = decode(text, raw, &length);
    char *to = buffer_reserve(&text->out, 4 * length + 2);
    if (to)
        text->out.length += string_repr(decoded, length, to);
}

/* Copies a string that repr() only quotes; false: other strings. */
static inline bool copy_if_plain(char *to, const char *raw, size_t length) {
    for (size_t i = 0; i < length; i += SCAN_BYTES)
        if (!copy_plain(to + i, raw + i, MIN(length - i, SCAN_BYTES)))
            return false;
    return !memchr(raw, '\'', length);
}

static inline void append_repr(struct python_text *text, const char *source, struct json_span place) {
    const char *raw = source + place.at + 1;
    size_t length = place.end - place.at - 1;
    char *to = buffer_reserve(&text->out, length + SLACK);
    if (!to)
        return;
    if (!copy_if_plain(to + 1, raw, length)) {
        append_repr_decoded(text, raw, length);
        return;
    }
    to[0] = to[length + 1] = '\'';
    text->out.length += length + 2;
}

/* Appends the text of the word at `at`; false: no word. */
static bool append_word(struct python_text *text, const char *at) {
    static const struct {
        const char *json, *python;
    } words[] = {{"true", "True"}, {"false", "False"},  {"null", "None"},
                 {"NaN", "nan"},   {"Infinity", "inf"}, {"-Infinity", "-inf"}};
    for (size_t i = 0; i < sizeof words / sizeof *words; i++)
        if (strncmp(at, words[i].json, strlen(words[i].json)) == 0) {
            append(text, words[i].python, strlen(words[i].python));
            return true;
        }
    return false;
}

/* repr() of an infinity differs from JSON, also for a number beyond all doubles. */
static void append_number(struct python_text *text, const char *at) {
    size_t length;
    enum number_form form = number_scan(at, &length);
    char *to = buffer_reserve(&text->out, length + NUMBER_TEXT_MAX + SLACK);
    if (!to)
        return;
    size_t n = number_rewrite(at, length, form, to);
    to[n] = 0;
    if (form == NUMBER_FORM_INTEGER || !append_word(text, to))
        text->out.length += n;
}

/* The length of an integer of at most 15 digits, the most frequent scalar, that certainly ends there; else 0. */
static inline size_t short_integer_length(const char *at) {
    size_t n = digit_run_short(at);
    char c = at[n];
    bool is_complete = c == ',' || c == ']' || c == '\n' || c == '}' || c == ' ';
    return is_complete && n < SCAN_BYTES && (*at != '0' || n == 1) ? n : 0;
}

static inline void append_scalar(struct python_text *text, struct json_walker *walker) {
    const char *at = walker->text + walker->at;
    size_t n = short_integer_length(at);
    if (n) {
        char *to = buffer_reserve(&text->out, SLACK);
        if (to) {
            memcpy(to, at, SCAN_BYTES);
            text->out.length += n;
        }
        walk_to(walker, walker->at + n);
        return;
    }
    walk_scalar(walker);
    if (!walker->expected && !append_word(text, at))
        append_number(text, at);
}

/* Appends the key at the walker and moves to its value. */
static inline void begin_member(struct python_text *text, struct json_walker *walker) {
    struct emitted_members *members = &text->members.members;
    struct json_span key = walk_key(walker);
    if (!key.at)
        return;
    if (members->n == members->capacity) {
        size_t capacity = members->capacity * 2 + 64;
        void *list = reallocarray(members->list, capacity, sizeof *members->list);
        text->failed |= !list;
        if (!list)
            return;
        members->list = list;
        members->capacity = capacity;
    }
    struct emitted_member *member = &members->list[members->n++];
    member->start = text->out.length;
    append_repr(text, walker->text, key);
    member->key = text->out.length - member->start - 2;
    member->tag = hash_bytes(text->out.bytes + member->start, text->out.length - member->start, 0);
    append(text, ": ", 2);
}

static inline void end_member_text(struct python_text *text) {
    struct emitted_members *members = &text->members.members;
    if (members->n > 0)
        members->list[members->n - 1].end = text->out.length;
}

/* Of repeated keys the last values stay, at the positions of the first. */
static void end_object(struct python_text *text, const struct python_frame *frame) {
    end_member_text(text);
    if (!python_text_failed(text) && merge_members(&text->members, frame->first_member)) {
        /* Append the members of an object again, without the superseded ones. */
        const struct emitted_members *members = &text->members.members;
        struct buffer copy = {0};
        for (size_t i = frame->first_member; i < members->n; i++) {
            const struct emitted_member *member = &members->list[i];
            if (i > frame->first_member)
                buffer_append(&copy, ", ", 2);
            buffer_append(&copy, text->out.bytes + member->start, member->end - member->start);
        }
        if (!copy.failed) {
            text->out.length = frame->start;
            append(text, copy.bytes, copy.length);
        }
        text->failed |= copy.failed;
        buffer_free(&copy);
    }
    text->members.members.n = frame->first_member;
}

/* At a value: enters a non-empty list or object, else appends the value. True: at a value again. */
static inline bool enter_value(struct python_text *text, struct json_walker *walker) {
    char c = walk_char(walker);
    if (c == '"') {
        struct json_span place = walk_string(walker);
        append_repr(text, walker->text, place);
        return false;
    }
    if (c != '{' && c != '[') {
        append_scalar(text, walker);
        return false;
    }
    if (text->depth == DEPTH_MAX) {
        walk_fail(walker, "nesting of at most " DEPTH_MAX_TEXT " brackets");
        return false;
    }
    append(text, &c, 1);
    walk_next(walker);
    if (walk_char(walker) == c + 2) {
        c = (char)(c + 2);
        append(text, &c, 1);
        walk_next(walker);
        return false;
    }
    text->frames[text->depth++] = (struct python_frame){c == '{', text->members.members.n, text->out.length};
    if (c == '{')
        begin_member(text, walker);
    return true;
}

/* After a value: closes brackets. True: at the next value. */
static inline bool leave_value(struct python_text *text, struct json_walker *walker) {
    while (text->depth > 0) {
        const struct python_frame *frame = &text->frames[text->depth - 1];
        char c = walk_char(walker);
        if (c == ',') {
            walk_next(walker);
            if (frame->object)
                end_member_text(text);
            append(text, ", ", 2);
            if (frame->object)
                begin_member(text, walker);
            return true;
        }
        if (c != (frame->object ? '}' : ']')) {
            walk_fail(walker, frame->object ? "',' or '}'" : "',' or ']'");
            return false;
        }
        if (frame->object)
            end_object(text, frame);
        append(text, &c, 1);
        text->depth--;
        walk_next(walker);
    }
    return false;
}

static void python_text_write(struct python_text *text, struct json_walker *walker) {
    struct json_walker local = *walker; /* stays in registers */
    size_t at = local.at;
    text->out.length = text->depth = text->members.members.n = 0;
    if (walk_char(&local) == '"') {
        struct json_span place = walk_string(&local);
        size_t length = place.end - place.at - 1;
        const char *decoded = decode(text, local.text + place.at + 1, &length);
        append(text, decoded, length);
    } else {
        while ((enter_value(text, &local) || leave_value(text, &local)) && !local.expected && !text->failed)
            ;
    }
    if (text->failed && !local.expected) { /* in the middle of a value */
        walk_to(&local, at);
        walk_value(&local);
    }
    *walker = local;
}

/* ---- Nodes ---- */

/* The longest text of a protobuf message. */
#define TEXT_MAX ((size_t)1 << 30)

bool plus_reader_begin(struct plus_reader *reader) {
    reader->cache = calloc(PYTHON_CACHE, sizeof *reader->cache);
    return reader->cache && python_text_begin(&reader->text);
}

void plus_reader_end(struct plus_reader *reader) {
    python_text_end(&reader->text);
    free(reader->cache);
    reader->cache = NULL;
}

bool plus_reader_failed(const struct plus_reader *reader) {
    return reader->fields->failed || reader->store->arena.failed || python_text_failed(&reader->text);
}

/* The text of a string: its bytes in the source, or, with escapes, a decoded copy. False: it cannot be encoded in
 * UTF-8. */
static bool string_text(struct plus_reader *reader, struct json_span place, struct et_text *text) {
    size_t length;
    const char *string = field_string(reader->fields, place, &length);
    if (length > TEXT_MAX)
        return false;
    *text = (struct et_text){string, (uint32_t)length};
    if (string == reader->source->bytes + place.at + 1)
        return true;
    *text = text_store_add(reader->store, string, length);
    return utf8_check(text->bytes, text->length) == text->length;
}

/* The cache entry of a list: by some bytes from its first element that is no list. */
static size_t list_slot(const char *text) {
    while (*text == '[' || *text == ' ' || *text == '\n')
        text++;
    uint64_t first = word_load(text), second = word_load(text + 27), third = word_load(text + 54);
    return hash_fold(first ^ 0x9e3779b97f4a7c15u, (second << 23 | second >> 41) ^ third) % PYTHON_CACHE;
}

/* The Python text of the list or scalar at the walker. */
static struct et_text other_text(struct plus_reader *reader, struct json_walker *walker) {
    size_t at = walker->at;
    struct python_cache_entry *known = &reader->cache[list_slot(walker->text + at)];
    if (cached_value_matches(&known->seen, walker->source, at)) {
        walk_to(walker, at + known->seen.length);
        return known->text;
    }
    bool list = walk_char(walker) == '[';
    python_text_write(&reader->text, walker);
    struct et_text text = text_store_add(reader->store, reader->text.out.bytes, reader->text.out.length);
    if (list && !walker->expected)
        *known = (struct python_cache_entry){cached_value_new(walker, at), text};
    return text;
}

/* str() of the value at the walker; false: it cannot be encoded. */
static bool value_text(struct plus_reader *reader, struct json_walker *walker, struct et_text *text) {
    if (walk_char(walker) == '"')
        return string_text(reader, walk_string(walker), text);
    *text = other_text(reader, walker);
    return reader->text.out.length <= TEXT_MAX;
}

static int io_index(const struct json_walker *walker, struct json_span key) {
    static const char *const parts[] = {"values", "shapes", "types"};
    for (int i = 0; i < 3; i++)
        if (place_is(walker->source, key, parts[i]))
            return i;
    return -1;
}

/* Reads inputs or outputs at the walker. */
static void read_io(struct plus_reader *reader, struct json_walker *walker, struct plus_io *io) {
    unsigned found = 0;
    *io = (struct plus_io){0};
    if (walk_char(walker) != '{') {
        walk_value(walker);
        return;
    }
    for (bool more = walk_object(walker); more; more = walk_member_end(walker)) {
        int part = io_index(walker, walk_key(walker));
        size_t at = walker->at;
        if (part < 0) {
            walk_value(walker);
            continue;
        }
        if (part != 1)
            *(part ? &io->types_at : &io->values_at) = at;
        bool encoded = value_text(reader, walker, &io->text[part]);
        found = (found & ~(1u << part)) | (unsigned)encoded << part;
    }
    io->is_complete = found == 7;
}

struct field_name {
    const char *name;
    size_t length;
};

static const struct field_name keys[] = {
#define X(constant, key, attribute, expected) {key, sizeof key - 1},
    PLUS_FIELDS(X)
#undef X
};

static const struct field_name attributes[] = {
#define X(constant, key, attribute, expected) {attribute, sizeof attribute - 1},
    PLUS_FIELDS(X)
#undef X
};

/* The field with the name at `place`, or PLUS_N_FIELDS. */
static inline enum plus_field field_of(const struct json_walker *walker, struct json_span place,
                                       const struct field_name *names) {
    const char *raw = walker->text + place.at + 1;
    size_t length = place.end - place.at - 1;
    for (int field = 0; field < PLUS_N_FIELDS && length > 0; field++)
        if (names[field].length == length && memcmp(names[field].name, raw, length) == 0)
            return (enum plus_field)field;
    if (!length || !memchr(raw, '\\', length))
        return PLUS_N_FIELDS;
    for (int field = 0; field < PLUS_N_FIELDS; field++)
        if (names[field].length > 0 && place_is(walker->source, place, names[field].name))
            return (enum plus_field)field;
    return PLUS_N_FIELDS;
}

/* The same, guessing that the last successor of `last` recurs. */
static inline enum plus_field field_after(const struct json_walker *walker, struct json_span place,
                                          const struct field_name *names, uint8_t *after, enum plus_field last) {
    const struct field_name *guess = &names[after[last]];
    size_t length = place.end - place.at - 1;
    if (after[last] < PLUS_N_FIELDS && length > 0 && guess->length == length &&
        memcmp(guess->name, walker->text + place.at + 1, length) == 0)
        return (enum plus_field)after[last];
    enum plus_field field = field_of(walker, place, names);
    after[last] = (uint8_t)field;
    return field;
}

/* Walks an attribute, {"name": "rf_id", "type": "uint64", "value": 883}. */
static enum plus_field walk_one_attribute(struct plus_reader *reader, struct json_walker *walker, enum plus_field last,
                                          struct plus_places *places) {
    struct json_span name = {0}, value = {0};
    for (bool more = walk_object(walker); more; more = walk_member_end(walker)) {
        struct json_span key = walk_key(walker);
        struct json_span place = walk_value(walker);
        if (place_is(walker->source, key, "name"))
            name = place;
        else if (place_is(walker->source, key, "value"))
            value = place;
    }
    if (walker->expected || !name.end || !value.at)
        return last;
    enum plus_field field = field_after(walker, name, attributes, reader->after_attribute, last);
    if (field != PLUS_N_FIELDS)
        places->attribute[field] = value;
    return field;
}

static void walk_attributes(struct plus_reader *reader, struct json_walker *walker, struct plus_places *places) {
    enum plus_field last = PLUS_N_FIELDS;
    memset(places->attribute, 0, sizeof places->attribute);
    for (bool more = walk_array(walker); more; more = walk_element_end(walker)) {
        if (walk_char(walker) == '{')
            last = walk_one_attribute(reader, walker, last, places);
        else
            walk_fail(walker, "an attribute object");
    }
}

void plus_places_walk(struct plus_reader *reader, struct json_walker *walker, struct plus_places *places) {
    enum plus_field field = PLUS_N_FIELDS;
    *places = (struct plus_places){.text = walker->at};
    for (bool more = walk_object(walker); more; more = walk_member_end(walker)) {
        struct json_span key = walk_key(walker);
        if (!key.at)
            return;
        field = field_after(walker, key, keys, reader->after_key, field);
        struct json_span value = {.at = walker->at};
        char c = walk_char(walker);
        if (field == PLUS_INPUTS && c == '{')
            read_io(reader, walker, &places->inputs);
        else if (field == PLUS_OUTPUTS && c == '{')
            read_io(reader, walker, &places->outputs);
        else if (field == PLUS_ATTRIBUTES && c == '[')
            walk_attributes(reader, walker, places);
        else
            value = walk_value(walker);
        if (field != PLUS_N_FIELDS)
            places->direct[field] = value;
    }
    places->flat = !places->direct[PLUS_ATTRIBUTES].at && places->direct[PLUS_RF_ID].at;
}

/* Python's int() of a value, if it fits unsigned 64 bits. */
static bool read_int(struct plus_reader *reader, struct json_span place, uint64_t *number) {
    const char *value = reader->source->bytes + place.at;
    if (*value == 't' || *value == 'f') {
        *number = *value == 't';
        return true;
    }
    if (*value == '"') {
        size_t length;
        const char *string = field_string(reader->fields, place, &length);
        char *digits = buffer_reserve(&reader->text.out, length + SOURCE_PADDING);
        if (!digits || (length = python_int(string, length, digits)) == 0)
            return false;
        memset(digits + length, 0, SOURCE_PADDING / 2);
        return unsigned_parse(digits, number);
    }
    size_t length;
    enum number_form form = number_scan(value, &length);
    if (form == NUMBER_FORM_REAL)
        return truncate_double(double_parse(value, length), number);
    return form == NUMBER_FORM_INTEGER && unsigned_parse(value, number);
}

/* The start of a node; in whole microseconds; 0 if absent. */
static void read_start(const char *value, struct plus_node *node) {
    struct number number;
    node->start_us = 0;
    node->start = field_number(value, &number) ? number_as_double(number) : NAN;
    truncate_double(node->start, &node->start_us);
}

/* Its end, after its start is known. */
static double read_end(const char *value, double start) {
    struct number number;
    return field_number(value, &number) ? start + number_as_double(number) : NAN;
}

/* Whether the list or object is empty. */
static bool is_empty(const struct plus_reader *reader, size_t at) {
    const char *text = reader->source->bytes;
    return text[space_end(text, at + 1)] == text[at] + 2;
}

/* The key of a dependency, KEY_NULL for values that are false in Python; false: invalid. */
static bool read_inter(struct plus_reader *reader, struct json_span place, value_key *key) {
    char c = reader->source->bytes[place.at];
    *key = KEY_NULL;
    if (c == '[' || c == '{')
        return is_empty(reader, place.at);
    if (c == '"' && place.end == place.at + 1)
        return true;
    *key = field_key(reader->fields, place);
    if (*key == 0)
        *key = KEY_NULL;
    return true;
}

static bool is_null(const struct plus_reader *reader, struct json_span place) {
    return reader->source->bytes[place.at] == 'n';
}

static bool read_string(struct plus_reader *reader, struct json_span place, struct et_text *text) {
    return reader->source->bytes[place.at] == '"' && string_text(reader, place, text);
}

static void set_flag(struct plus_node *node, uint32_t flag, bool on) {
    node->flags = on ? node->flags | flag : node->flags & ~flag;
}

static void set_io(struct plus_node *node, bool inputs, const struct plus_io *io) {
    memcpy(node->io + (inputs ? 0 : 3), io->text, sizeof io->text);
}

/* An attribute of 64 bits or a text; each may be null. */
static bool set_attribute(struct plus_reader *reader, struct plus_node *node, enum plus_field field,
                          struct json_span place) {
    bool null = is_null(reader, place);
    set_flag(node, (uint32_t)PLUS_NULL << (field - PLUS_FIRST_NUMBER), null);
    if (null)
        return true;
    if (field == PLUS_OP_SCHEMA)
        return read_string(reader, place, &node->op_schema);
    return field_integer(reader->source->bytes + place.at, &node->number[field - PLUS_FIRST_NUMBER]);
}

static bool set_pg_name(struct plus_reader *reader, struct plus_node *node, struct json_span place) {
    set_flag(node, PLUS_PG_NULL, is_null(reader, place));
    return is_null(reader, place) || read_string(reader, place, &node->pg_name);
}

static bool set_stream(struct plus_reader *reader, struct plus_node *node, struct json_span place) {
    set_flag(node, PLUS_NO_STREAM, is_null(reader, place));
    return is_null(reader, place) || field_integer(reader->source->bytes + place.at, &node->stream);
}

/* Sets a field from its value; false: the wrong type. */
static bool set_value(struct plus_reader *reader, struct plus_node *node, enum plus_field field,
                      struct json_span place) {
    const char *value = reader->source->bytes + place.at;
    switch (field) {
    case PLUS_ID:
        return unsigned_parse(value, &node->id);
    case PLUS_NAME:
        return read_string(reader, place, &node->name);
    case PLUS_CTRL_DEPS:
        node->parent = field_key(reader->fields, place);
        return node->parent != KEY_UNHASHABLE;
    case PLUS_EXCLUSIVE_DUR:
        return read_int(reader, place, &node->duration_us);
    case PLUS_INTER_THREAD_DEP:
        return read_inter(reader, place, &node->inter);
    case PLUS_CATEGORY:
        set_flag(node, PLUS_IS_GPU, !is_null(reader, place));
        return true;
    case PLUS_STREAM:
        return set_stream(reader, node, place);
    case PLUS_PG_NAME:
        return set_pg_name(reader, node, place);
    case PLUS_TS:
        read_start(value, node);
        return true;
    case PLUS_INCLUSIVE_DUR:
        node->end = read_end(value, node->start);
        return true;
    case PLUS_SYNC_DEP:
        node->sync = *value == '[' ? place.at : 0;
        return true;
    default:
        return set_attribute(reader, node, field, place);
    }
}

static void set_field(struct plus_reader *reader, struct plus_node *node, enum plus_field field,
                      struct json_span place) {
    plus_set_fault(node, field, !set_value(reader, node, field, place));
}

/* Inputs or outputs of schema 1.0.1, whose lists are separate fields. */
static struct plus_io flat_io(struct plus_reader *reader, const struct plus_places *places, enum plus_field values,
                              enum plus_field shapes, enum plus_field types) {
    const enum plus_field fields[] = {values, shapes, types};
    struct plus_io io = {
        .values_at = places->direct[values].at, .types_at = places->direct[types].at, .is_complete = true};
    for (int i = 0; i < 3; i++) {
        struct json_walker walker = walk_from(reader->source, places->direct[fields[i]].at);
        io.is_complete = io.is_complete && places->direct[fields[i]].at && value_text(reader, &walker, &io.text[i]);
    }
    return io;
}

/* The value of a field, by the schema of the node. */
static struct json_span direct_place(const struct plus_places *places, enum plus_field field) {
    struct json_span place = places->direct[field];
    if (field == PLUS_CTRL_DEPS && places->flat && !place.at)
        return places->direct[PLUS_FLAT_PARENT];
    bool attribute = field >= PLUS_FIRST_NUMBER && field <= PLUS_OP_SCHEMA;
    if (attribute && !places->flat)
        return (struct json_span){0};
    return place;
}

void plus_node_fields(struct plus_reader *reader, const struct plus_places *places, struct plus_node *node) {
    static const enum plus_field fields[] = {
        PLUS_ID,     PLUS_NAME,      PLUS_CTRL_DEPS, PLUS_EXCLUSIVE_DUR, PLUS_INTER_THREAD_DEP, PLUS_CATEGORY,
        PLUS_STREAM, PLUS_PG_NAME,   PLUS_TS,        PLUS_INCLUSIVE_DUR, PLUS_SYNC_DEP,         PLUS_RF_ID,
        PLUS_SEQ_ID, PLUS_FW_PARENT, PLUS_SCOPE,     PLUS_TID,           PLUS_FW_TID,           PLUS_OP_SCHEMA,
    };
    *node = (struct plus_node){.text = places->text, .parent = KEY_ABSENT, .inter = KEY_NULL, .start = NAN, .end = NAN};
    node->faults = PLUS_BIT(PLUS_ID) | PLUS_BIT(PLUS_NAME) | PLUS_BIT(PLUS_CTRL_DEPS);
    for (int field = PLUS_FIRST_NUMBER; field <= PLUS_OP_SCHEMA; field++)
        node->faults |= PLUS_BIT(field);
    for (size_t i = 0; i < sizeof fields / sizeof *fields; i++) {
        struct json_span place = direct_place(places, fields[i]);
        if (place.at)
            set_field(reader, node, fields[i], place);
    }
    node->key = places->direct[PLUS_ID].at ? field_key(reader->fields, places->direct[PLUS_ID]) : KEY_ABSENT;
}

/* The inputs or outputs; an attribute of that name has priority. */
static struct plus_io read_side(struct plus_reader *reader, const struct plus_places *places, bool inputs) {
    struct json_span attribute = places->attribute[inputs ? PLUS_INPUTS : PLUS_OUTPUTS];
    if (attribute.at) {
        struct plus_io io;
        struct json_walker walker = walk_from(reader->source, attribute.at);
        read_io(reader, &walker, &io);
        return io;
    }
    if (!places->flat)
        return inputs ? places->inputs : places->outputs;
    return inputs ? flat_io(reader, places, PLUS_INPUTS, PLUS_INPUT_SHAPES, PLUS_INPUT_TYPES)
                  : flat_io(reader, places, PLUS_OUTPUTS, PLUS_OUTPUT_SHAPES, PLUS_OUTPUT_TYPES);
}

void plus_node_attributes(struct plus_reader *reader, const struct plus_places *places, struct plus_node *node) {
    for (int field = 0; field <= PLUS_OP_SCHEMA; field++)
        if (places->attribute[field].at && field != PLUS_INPUTS && field != PLUS_OUTPUTS)
            set_field(reader, node, (enum plus_field)field, places->attribute[field]);
    set_flag(node, PLUS_HAS_OLD_PARENT, places->flat && !places->direct[PLUS_CTRL_DEPS].at);
    set_flag(node, PLUS_ID_CHANGED, places->attribute[PLUS_ID].at != 0);
    struct plus_io inputs = read_side(reader, places, true), outputs = read_side(reader, places, false);
    set_io(node, true, &inputs);
    set_io(node, false, &outputs);
    plus_set_fault(node, PLUS_INPUTS, !inputs.is_complete);
    plus_set_fault(node, PLUS_OUTPUTS, !outputs.is_complete);
    set_flag(node, PLUS_IS_META, kernel_name_has(node->name, "process_group:init"));
    bool nested = false, collective = node->flags & PLUS_IS_GPU && kernel_is_collective(node->name);
    set_flag(node, PLUS_IS_COLLECTIVE, collective);
    if (collective)
        plus_set_fault(node, PLUS_COMM_BYTES,
                       !comm_bytes_read(reader->fields, inputs.values_at, inputs.types_at, &node->comm_bytes, &nested));
    set_flag(node, PLUS_IS_NESTED, nested);
}

void plus_node_set_pg_name(struct plus_reader *reader, const struct source *source, struct json_span place,
                           struct plus_node *node) {
    struct plus_reader other = *reader;
    const struct source *own = reader->source;
    other.source = other.fields->source = source;
    plus_set_fault(node, PLUS_PG_NAME, !set_pg_name(&other, node, place));
    reader->fields->source = own;
}
