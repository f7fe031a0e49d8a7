/*
 * et_lines.c - .et files as JSON, and JSON lines into columns.
 *
 * The walker finds malformed JSON; JSON that does not match the schema is a fault of the walker, too. Texts with
 * escapes are decoded into the arena of the columns, other texts stay in the source; lists become messages in the
 * arena.
 */
#include <stdio.h>
#include <string.h>

#include "base/error.h"
#include "read/document.h"
#include "simulate/et_file.h"
#include "simulate/et_format.h"
#include "text/numbers.h"
#include "text/strings.h"
#include "write/json.h"

/* ---- Messages as JSON ---- */

/* An integer in quotes, as JSON has integers of 64 bits. */
static void quoted_integer(struct json_out *json, bool is_signed, uint64_t bits) {
    char text[NUMBER_TEXT_MAX + 2] = "\"";
    size_t n = 1 + (is_signed ? integer_format((int64_t)bits, text + 1) : digits_write(bits, text + 1));
    text[n++] = '"';
    json_literal(json, text, n);
}

static void number_of_double(struct json_out *json, double value) {
    if (value - value == 0)
        json_double(json, value);
    else if (value != value)
        json_string(json, "NaN", 3);
    else
        json_string(json, value > 0 ? "Infinity" : "-Infinity", value > 0 ? 8 : 9);
}

/* The double with the fewest digits, at min six, that rounds to the same float. */
static double shortest_of_float(float value) {
    char text[2 * NUMBER_TEXT_MAX] = ""; /* with the padding that the parser needs */
    double shorter = (double)value;
    for (int digits = 6; digits <= 9; digits++) {
        size_t length = (size_t)snprintf(text, NUMBER_TEXT_MAX, "%.*g", digits, (double)value);
        shorter = double_parse(text, length);
        if ((float)shorter == value)
            break;
    }
    return shorter;
}

static void number_of_float(struct json_out *json, uint64_t bits) {
    uint32_t word = (uint32_t)bits;
    float value;
    memcpy(&value, &word, sizeof value);
    number_of_double(json, value - value == 0 ? shortest_of_float(value) : (double)value);
}

static void base64(struct json_out *json, struct et_text bytes) {
    static const char letters[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
    struct buffer *out = &json->text->out;
    json_literal(json, "\"", 1);
    for (uint32_t i = 0; i < bytes.length; i += 3) {
        uint32_t left = bytes.length - i, three = 0;
        for (uint32_t k = 0; k < 3; k++)
            three = three << 8 | (k < left ? (unsigned char)bytes.bytes[i + k] : 0);
        char four[4] = {letters[three >> 18], letters[three >> 12 & 63], left > 1 ? letters[three >> 6 & 63] : '=',
                        left > 2 ? letters[three & 63] : '='};
        buffer_append(out, four, sizeof four);
    }
    buffer_append(out, "\"", 1);
}

static void write_scalar(struct json_out *json, uint32_t kind, uint64_t bits, struct et_text text) {
    double real;
    switch (kind) {
    case ET_DOUBLE:
        memcpy(&real, &bits, sizeof real);
        number_of_double(json, real);
        break;
    case ET_FLOAT:
        number_of_float(json, bits);
        break;
    case ET_INT64:
    case ET_SINT64:
    case ET_SFIXED64:
        quoted_integer(json, true, bits);
        break;
    case ET_UINT64:
    case ET_FIXED64:
        quoted_integer(json, false, bits);
        break;
    case ET_BOOL:
        json_literal(json, bits ? "true" : "false", bits ? 4 : 5);
        break;
    case ET_STRING:
        json_string(json, text.bytes, text.length);
        break;
    case ET_BYTES:
        base64(json, text);
        break;
    default:
        json_integer(json, (int64_t)bits);
    }
}

static void write_text(struct json_out *json, const char *key, struct et_text text) {
    if (text.length == 0)
        return;
    json_key(json, key, strlen(key));
    json_string(json, text.bytes, text.length);
}

static void write_number(struct json_out *json, const char *key, uint64_t number) {
    if (number == 0)
        return;
    json_key(json, key, strlen(key));
    quoted_integer(json, false, number);
}

static void write_ids(struct json_out *json, const char *key, const struct et_ids *list, row_t row) {
    if (list->first[row] == list->first[row + 1])
        return;
    json_key(json, key, strlen(key));
    json_open(json, '[');
    for (uint64_t i = list->first[row]; i < list->first[row + 1]; i++)
        quoted_integer(json, false, list->ids[i]);
    json_close(json, ']');
}

static void write_texts(struct json_out *json, const char *key, const struct et_nodes *nodes, int first, row_t row) {
    json_key(json, key, strlen(key));
    json_open(json, '{');
    write_text(json, "values", et_text_at(nodes->text[first], row));
    write_text(json, "shapes", et_text_at(nodes->text[first + 1], row));
    write_text(json, "types", et_text_at(nodes->text[first + 2], row));
    json_close(json, '}');
}

static void write_value(struct json_out *json, const struct et_attributes *table, uint64_t i) {
    uint32_t kind = table->kind[i];
    bool is_text = et_kind_is_text(kind);
    char key[16];
    if (kind == ET_NO_VALUE)
        return;
    struct et_text text = {is_text ? table->value[i].bytes : NULL, table->length[i]};
    int length = snprintf(key, sizeof key, "%s%s", et_kind_word(kind), kind % 2 ? "Val" : "List");
    json_key(json, key, (size_t)length);
    if (kind % 2) {
        write_scalar(json, kind, is_text ? 0 : table->value[i].bits, text);
    } else {
        struct et_list list = et_list_over(kind, text.bytes, text.length);
        struct et_text element = {0};
        uint64_t element_bits = 0;
        json_open(json, '{');
        bool some = et_list_next(&list, &element_bits, &element);
        if (some) {
            json_name(json, "values");
            json_open(json, '[');
            for (; some; some = et_list_next(&list, &element_bits, &element))
                write_scalar(json, kind - 1, element_bits, element);
            json_close(json, ']');
        }
        json_close(json, '}');
    }
}

static void write_attributes(struct json_out *json, const struct et_nodes *nodes, const struct et_attributes *table,
                             uint64_t begin, uint64_t end) {
    if (begin == end)
        return;
    json_name(json, "attr");
    json_open(json, '[');
    for (uint64_t i = begin; i < end; i++) {
        json_open(json, '{');
        write_text(json, "name", et_name_text(nodes, table->name[i]));
        write_text(json, "docString", et_doc_find(table, i));
        write_value(json, table, i);
        json_close(json, '}');
    }
    json_close(json, ']');
}

static struct json_out begin_message(enum et_json_layout layout, struct text_out *text) {
    struct json_out json = {.text = text, .indent = layout == ET_JSON_LINES ? JSON_ONE_LINE : 2};
    json_open(&json, '{');
    return json;
}

static void end_message(struct json_out *json) {
    json_close(json, '}');
    if (json->indent == JSON_ONE_LINE)
        out_add(json->text, "\n");
}

void et_json_metadata(const struct et_nodes *nodes, enum et_json_layout layout, struct text_out *text) {
    struct json_out json = begin_message(layout, text);
    write_text(&json, "version", nodes->version);
    write_attributes(&json, nodes, &nodes->metadata, 0, nodes->metadata.n);
    end_message(&json);
}

void et_json_node(const struct et_nodes *nodes, row_t row, enum et_json_layout layout, struct text_out *text) {
    struct json_out json = begin_message(layout, text);
    write_number(&json, "id", nodes->id[row]);
    write_text(&json, "name", et_text_at(nodes->text[ET_NODE_NAME], row));
    if (nodes->type[row] != ET_INVALID) {
        const char *type = et_type_name(nodes->type[row]);
        json_name(&json, "type");
        if (type)
            json_string(&json, type, strlen(type));
        else
            json_integer(&json, nodes->type[row]);
    }
    write_ids(&json, "ctrlDeps", &nodes->ctrl, row);
    write_ids(&json, "dataDeps", &nodes->data, row);
    write_number(&json, "startTimeMicros", nodes->start_us[row]);
    write_number(&json, "durationMicros", nodes->duration_us[row]);
    if (nodes->flags[row] & ET_HAS_INPUTS)
        write_texts(&json, "inputs", nodes, ET_INPUT_VALUES, row);
    if (nodes->flags[row] & ET_HAS_OUTPUTS)
        write_texts(&json, "outputs", nodes, ET_OUTPUT_VALUES, row);
    write_attributes(&json, nodes, &nodes->attributes, nodes->attr_first[row], nodes->attr_first[row + 1]);
    end_message(&json);
}

struct lines_reader {
    struct et_filler filler;
    struct json_walker walker;
    struct buffer list; /* the current list */
};

static void *alloc_bytes(struct lines_reader *lines, size_t n) {
    return arena_alloc(&lines->filler.nodes->arena, n, 1);
}

/* ---- JSON lines into columns ---- */

/* The string at the walker, decoded. In the first pass, which only checks it, it is valid until the walk
 * continues. */
static struct et_text read_text(struct lines_reader *lines) {
    struct json_walker *walker = &lines->walker;
    if (walk_char(walker) != '"') {
        walk_fail(walker, "a string");
        return (struct et_text){"", 0};
    }
    struct json_span place = walk_string(walker);
    struct et_text text = {walker->text + place.at + 1, (uint32_t)(place.end - place.at - 1)};
    if (place.end - place.at > UINT32_MAX)
        walk_fail(walker, "a string of less than 4 GiB");
    if (walker->expected || !memchr(text.bytes, '\\', text.length))
        return text;
    char *decoded = alloc_bytes(lines, text.length);
    if (!decoded)
        return (struct et_text){"", 0};
    text = (struct et_text){decoded, (uint32_t)string_decode(text.bytes, text.length, decoded)};
    if (utf8_check(text.bytes, text.length) < text.length)
        walk_fail(walker, "a string without lone surrogates");
    return text;
}

/* Skips a number, or a string, and returns its text. */
static struct et_text read_number_text(struct lines_reader *lines) {
    struct json_walker *walker = &lines->walker;
    const char *from = walker->text + walker->at;
    size_t length = 0;
    if (*from == '"') {
        struct json_span place = walk_string(walker);
        return (struct et_text){walker->text + place.at + 1, (uint32_t)(place.end - place.at - 1)};
    }
    if (number_scan(from, &length) == NUMBER_FORM_BAD)
        walk_fail(walker, "a number");
    else
        walk_value(walker);
    return (struct et_text){from, (uint32_t)length};
}

/* Digits, perhaps after a minus, of a number within the bounds; bits as in the columns. */
static bool integer_of(struct et_text text, int64_t min, uint64_t max, uint64_t *bits) {
    uint64_t sum = 0;
    bool negative = text.length > 0 && text.bytes[0] == '-';
    uint32_t i = negative;
    if (i == text.length)
        return false;
    for (; i < text.length; i++)
        if (!is_digit(text.bytes[i]) || __builtin_mul_overflow(sum, 10, &sum) ||
            __builtin_add_overflow(sum, (uint64_t)(text.bytes[i] - '0'), &sum))
            return false;
    *bits = negative ? -sum : sum;
    return negative ? sum <= -(uint64_t)min : sum <= max;
}

static uint64_t read_integer(struct lines_reader *lines, int64_t min, uint64_t max) {
    size_t at = lines->walker.at;
    uint64_t bits = 0;
    struct et_text text = read_number_text(lines);
    if (!lines->walker.expected && !integer_of(text, min, max, &bits)) {
        walk_to(&lines->walker, at);
        walk_fail(&lines->walker, "an integer within the range of the type");
    }
    return bits;
}

static uint64_t read_unsigned(struct lines_reader *lines) {
    return read_integer(lines, 0, UINT64_MAX);
}

/* Numbers without a JSON form are in quotes. */
static double read_double(struct lines_reader *lines) {
    static const struct {
        const char *text;
        double value;
    } special[] = {{"NaN", __builtin_nan("")}, {"Infinity", __builtin_inf()}, {"-Infinity", -__builtin_inf()}};
    size_t at = lines->walker.at;
    bool quoted = walk_char(&lines->walker) == '"';
    struct et_text text = read_number_text(lines);
    if (lines->walker.expected)
        return 0;
    if (!quoted)
        return double_parse(text.bytes, text.length);
    for (size_t i = 0; i < sizeof special / sizeof *special; i++)
        if (strlen(special[i].text) == text.length && memcmp(special[i].text, text.bytes, text.length) == 0)
            return special[i].value;
    walk_to(&lines->walker, at);
    walk_fail(&lines->walker, "a number, or \"NaN\", \"Infinity\", \"-Infinity\"");
    return 0;
}

static uint64_t read_real_bits(struct lines_reader *lines, bool is_float) {
    double value = read_double(lines);
    float narrow = (float)value;
    uint64_t bits = 0;
    if (is_float)
        memcpy(&bits, &narrow, sizeof narrow);
    else
        memcpy(&bits, &value, sizeof value);
    return word_order(bits);
}

static uint64_t read_bool(struct lines_reader *lines) {
    struct json_walker *walker = &lines->walker;
    const char *text = walker->text + walker->at;
    bool is_true = memcmp(text, "true", 4) == 0;
    if (!is_true && memcmp(text, "false", 5) != 0)
        walk_fail(walker, "true or false");
    else
        walk_value(walker);
    return is_true;
}

static int base64_digit(char c) {
    static const char letters[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
    const char *found = c ? strchr(letters, c) : NULL;
    return found ? (int)(found - letters) : -1;
}

/* Four letters at a time; the last two may be "=". */
static bool decode_base64(struct et_text text, char *out, uint32_t *n) {
    *n = 0;
    if (text.length % 4)
        return false;
    for (uint32_t i = 0; i < text.length; i += 4) {
        const char *four = text.bytes + i;
        bool is_last = i + 4 == text.length;
        uint32_t n_padding = is_last ? (uint32_t)(four[3] == '=') + (four[3] == '=' && four[2] == '=') : 0, bits = 0;
        for (uint32_t k = 0; k < 4; k++) {
            int digit = k < 4 - n_padding ? base64_digit(four[k]) : 0;
            if (digit < 0)
                return false;
            bits = bits << 6 | (uint32_t)digit;
        }
        for (uint32_t k = 0; k < 3 - n_padding; k++)
            out[(*n)++] = (char)(bits >> (16 - 8 * k));
    }
    return true;
}

static struct et_text read_bytes(struct lines_reader *lines) {
    size_t at = lines->walker.at;
    struct et_text text = read_text(lines);
    char *decoded = alloc_bytes(lines, text.length);
    uint32_t n = 0;
    if (lines->walker.expected || !decoded)
        return (struct et_text){"", 0};
    if (!decode_base64(text, decoded, &n)) {
        walk_to(&lines->walker, at);
        walk_fail(&lines->walker, "base64 data");
    }
    return (struct et_text){decoded, n};
}

/* A value of a kind: bits of a number, or a text. */
static uint64_t read_scalar(struct lines_reader *lines, uint32_t kind, struct et_text *text) {
    switch (kind) {
    case ET_DOUBLE:
    case ET_FLOAT:
        return read_real_bits(lines, kind == ET_FLOAT);
    case ET_INT32:
    case ET_SINT32:
    case ET_SFIXED32:
        return read_integer(lines, INT32_MIN, INT32_MAX);
    case ET_UINT32:
    case ET_FIXED32:
        return read_integer(lines, 0, UINT32_MAX);
    case ET_INT64:
    case ET_SINT64:
    case ET_SFIXED64:
        return read_integer(lines, INT64_MIN, INT64_MAX);
    case ET_BOOL:
        return read_bool(lines);
    case ET_STRING:
        *text = read_text(lines);
        return 0;
    case ET_BYTES:
        *text = read_bytes(lines);
        return 0;
    default:
        return read_unsigned(lines);
    }
}

/* Appends a value in the encoding of lists: texts as fields of their own, numbers packed. */
static void add_element(struct lines_reader *lines, uint32_t kind, uint64_t bits, struct et_text text) {
    struct buffer *list = &lines->list;
    enum wire_type wire = et_wire_type(kind);
    char *to = buffer_reserve(list, 2 * WIRE_VARINT_MAX), *end = to;
    if (!to)
        return;
    if (wire == WIRE_BYTES)
        end = write_varint(write_key(to, 1, WIRE_BYTES), text.length);
    else if (wire == WIRE_VARINT)
        end = write_varint(to, et_varint_of(kind, bits));
    else
        word_store(to, bits);
    list->length += wire == WIRE_64 ? 8 : wire == WIRE_32 ? 4 : (size_t)(end - to);
    if (wire == WIRE_BYTES)
        buffer_append(list, text.bytes, text.length);
}

/* The message of the current list, in the arena. */
static struct et_text copy_list(struct lines_reader *lines, uint32_t kind) {
    bool packed = et_wire_type(kind) != WIRE_BYTES && lines->list.length > 0;
    char head[2 * WIRE_VARINT_MAX];
    size_t n = packed ? (size_t)(write_varint(write_key(head, 1, WIRE_BYTES), lines->list.length) - head) : 0;
    char *message = alloc_bytes(lines, n + lines->list.length);
    if (!message || lines->list.length > UINT32_MAX - n)
        return (struct et_text){"", 0};
    memcpy(message, head, n);
    if (lines->list.length > 0)
        memcpy(message + n, lines->list.bytes, lines->list.length);
    return (struct et_text){message, (uint32_t)(n + lines->list.length)};
}

/* {} or {"values": [...]} */
static struct et_text read_list(struct lines_reader *lines, uint32_t kind) {
    struct json_walker *walker = &lines->walker;
    lines->list.length = 0;
    for (bool more = walk_object(walker); more; more = walk_member_end(walker)) {
        struct json_span key = walk_key(walker);
        if (walker->expected || !place_is(walker->source, key, "values")) {
            walk_fail(walker, "\"values\"");
            break;
        }
        for (bool some = walk_array(walker); some; some = walk_element_end(walker)) {
            struct et_text text = {"", 0};
            uint64_t bits = read_scalar(lines, kind, &text);
            if (lines->filler.fill)
                add_element(lines, kind, bits, text);
        }
    }
    return lines->filler.fill ? copy_list(lines, kind) : (struct et_text){"", 0};
}

/* "int64Val", "int64List", ...: the kind; 0: none. */
static uint32_t kind_of_key(const struct json_walker *walker, struct json_span key) {
    const char *raw = walker->text + key.at + 1;
    size_t length = key.end - key.at - 1;
    for (uint32_t kind = ET_DOUBLE; kind < ET_KINDS; kind += 2) {
        const char *word = et_kind_word(kind);
        size_t n = strlen(word);
        if (length > n && memcmp(raw, word, n) == 0) {
            if (length == n + 3 && memcmp(raw + n, "Val", 3) == 0)
                return kind;
            if (length == n + 4 && memcmp(raw + n, "List", 4) == 0)
                return kind + 1;
        }
    }
    return 0;
}

static void read_attributes(struct lines_reader *lines,
                            void (*add)(struct et_filler *filler, const struct et_attribute *attribute)) {
    struct json_walker *walker = &lines->walker;
    for (bool more = walk_array(walker); more; more = walk_element_end(walker)) {
        struct et_attribute attribute = {0};
        for (bool more_members = walk_object(walker); more_members; more_members = walk_member_end(walker)) {
            struct json_span key = walk_key(walker);
            uint32_t kind;
            if (walker->expected)
                break;
            if (place_is(walker->source, key, "name")) {
                attribute.name = read_text(lines);
            } else if (place_is(walker->source, key, "docString")) {
                attribute.doc = read_text(lines);
            } else if ((kind = kind_of_key(walker, key)) != 0 && !attribute.kind) {
                attribute.kind = (uint8_t)kind;
                if (kind % 2)
                    attribute.bits = read_scalar(lines, kind, &attribute.text);
                else
                    attribute.text = read_list(lines, kind - 1);
            } else {
                walk_fail(walker, "a name, a docString and a value, at most one of each,");
            }
        }

        if (!walker->expected)
            add(&lines->filler, &attribute);
    }
}

static void read_ids(struct lines_reader *lines, void (*add)(struct et_filler *filler, uint64_t id)) {
    struct json_walker *walker = &lines->walker;
    for (bool more = walk_array(walker); more; more = walk_element_end(walker))
        add(&lines->filler, read_unsigned(lines));
}

static void read_texts(struct lines_reader *lines, struct et_text *texts) {
    static const char *const names[] = {"values", "shapes", "types"};
    struct json_walker *walker = &lines->walker;
    for (bool more = walk_object(walker); more; more = walk_member_end(walker)) {
        struct json_span key = walk_key(walker);
        size_t i = 0;
        while (i < 3 && !walker->expected && !place_is(walker->source, key, names[i]))
            i++;
        if (walker->expected || i == 3) {
            walk_fail(walker, "values, shapes or types");
            return;
        }
        texts[i] = read_text(lines);
    }
}

static int32_t read_type(struct lines_reader *lines) {
    size_t at = lines->walker.at;
    if (walk_char(&lines->walker) != '"')
        return (int32_t)read_integer(lines, INT32_MIN, INT32_MAX);
    struct et_text name = read_text(lines);
    int type = et_type_of(name.bytes, name.length);
    if (type < 0 && !lines->walker.expected) {
        walk_to(&lines->walker, at);
        walk_fail(&lines->walker, "a node type, such as \"COMP_NODE\"");
    }
    return type;
}

enum node_key {
    KEY_ID,
    KEY_NAME,
    KEY_TYPE,
    KEY_CTRL,
    KEY_DATA,
    KEY_START,
    KEY_DURATION,
    KEY_IN,
    KEY_OUT,
    KEY_ATTR,
    N_KEYS
};
static const char *const node_keys[N_KEYS] = {
    "id", "name", "type", "ctrlDeps", "dataDeps", "startTimeMicros", "durationMicros", "inputs", "outputs", "attr"};

static void read_node(struct lines_reader *lines) {
    struct json_walker *walker = &lines->walker;
    struct et_node node = {0};
    for (bool more = walk_object(walker); more; more = walk_member_end(walker)) {
        struct json_span place = walk_key(walker);
        int key = KEY_ID;
        while (key < N_KEYS && !walker->expected && !place_is(walker->source, place, node_keys[key]))
            key++;
        enum node_key member = walker->expected ? N_KEYS : (enum node_key)key;
        switch (member) {
        case KEY_ID:
            node.id = read_unsigned(lines);
            break;
        case KEY_NAME:
            node.text[ET_NODE_NAME] = read_text(lines);
            break;
        case KEY_TYPE:
            node.type = read_type(lines);
            break;
        case KEY_CTRL:
            read_ids(lines, et_fill_ctrl);
            break;
        case KEY_DATA:
            read_ids(lines, et_fill_data);
            break;
        case KEY_START:
            node.start_us = read_unsigned(lines);
            break;
        case KEY_DURATION:
            node.duration_us = read_unsigned(lines);
            break;
        case KEY_IN:
            node.flags |= ET_HAS_INPUTS;
            read_texts(lines, &node.text[ET_INPUT_VALUES]);
            break;
        case KEY_OUT:
            node.flags |= ET_HAS_OUTPUTS;
            read_texts(lines, &node.text[ET_OUTPUT_VALUES]);
            break;
        case KEY_ATTR:
            read_attributes(lines, et_fill_attribute);
            break;
        case N_KEYS:
            walk_fail(&lines->walker, "a known member of a node");
            break;
        }
    }
    if (!walker->expected)
        et_fill_node(&lines->filler, &node);
}

static void read_metadata(struct lines_reader *lines) {
    struct json_walker *walker = &lines->walker;
    for (bool more = walk_object(walker); more; more = walk_member_end(walker)) {
        struct json_span key = walk_key(walker);
        if (walker->expected)
            return;
        if (place_is(walker->source, key, "version"))
            lines->filler.nodes->version = read_text(lines);
        else if (place_is(walker->source, key, "attr"))
            read_attributes(lines, et_fill_metadata);
        else
            walk_fail(walker, "\"version\" or \"attr\" in the first object, the metadata,");
    }
}

/* One pass, from the beginning. */
static enum sutra_status read_messages(struct lines_reader *lines, const struct source *source,
                                       struct sutra_error *error) {
    lines->walker = walk_from(source, 0);
    struct json_walker *walker = &lines->walker;
    read_metadata(lines);
    while (walker->at < source->size && !lines->filler.nodes->arena.failed) {
        if (lines->filler.n.n_nodes == ROW_LIMIT)
            walk_fail(walker, "the end of the file (limit: 2^32 - 2 nodes)");
        else
            read_node(lines);
    }
    return walk_error(&lines->walker, error);
}

enum sutra_status et_lines_read(struct et_file *file, struct sutra_error *error) {
    struct lines_reader lines = {0};
    file->has_metadata = true;
    file->cut_at = file->empty_at = ET_NOWHERE;
    enum sutra_status status = et_fill_begin(&lines.filler, &file->nodes, error);
    struct arena_mark mark = arena_mark(&file->nodes.arena);
    if (!status)
        status = read_messages(&lines, &file->source, error);
    if (!status && file->nodes.arena.failed)
        status = error_memory(error);
    if (!status)
        arena_release(&file->nodes.arena, mark);
    if (!status)
        status = et_fill_room(&lines.filler, error);
    if (!status)
        status = read_messages(&lines, &file->source, error);
    if (!status && (lines.list.failed || et_fill_failed(&lines.filler)))
        status = error_memory(error);
    buffer_free(&lines.list);
    return status;
}

bool is_et_lines(const char *bytes, size_t size) {
    static const char *const beginnings[] = {"{\"attr\":", "{\"version\":", "{}"};
    char packed[16] = {0};
    size_t n = 0;
    for (size_t i = 0; i < size && n < sizeof packed && i < ET_LINES_BEGINNING; i++)
        if (!strchr(" \t\r\n", bytes[i]) || !bytes[i])
            packed[n++] = bytes[i];
    for (size_t i = 0; i < 3; i++)
        if (n >= strlen(beginnings[i]) && memcmp(packed, beginnings[i], strlen(beginnings[i])) == 0)
            return true;
    return false;
}
