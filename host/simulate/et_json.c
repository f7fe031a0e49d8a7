/*
 * et_json.c - one message after the other as JSON.
 */
#include "simulate/et_json.h"

#include <stdio.h>

#include "simulate/et_schema.h"
#include "text/digits.h"
#include "text/number_text.h"
#include "write/json_out.h"

/* ---- Values ---- */

/* An integer between quotes, as JSON has those of 64 bits. */
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

/* The double with the fewest digits, six at least, that is nearest to the same float. */
static double shortest_of_float(float value) {
    char text[2 * NUMBER_TEXT_MAX] = ""; /* with the padding that reading a number needs */
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

static void put_scalar(struct json_out *json, uint32_t kind, uint64_t bits, struct et_text text) {
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

static void put_list(struct json_out *json, uint32_t kind, struct et_text message) {
    struct et_list list = et_list_over(kind, message.bytes, message.length);
    struct et_text text = {0};
    uint64_t bits = 0;
    json_open(json, '{');
    bool some = et_list_next(&list, &bits, &text);
    if (some) {
        json_name(json, "values");
        json_open(json, '[');
        for (; some; some = et_list_next(&list, &bits, &text))
            put_scalar(json, kind - 1, bits, text);
        json_close(json, ']');
    }
    json_close(json, '}');
}

/* ---- Parts of messages ---- */

static void put_text(struct json_out *json, const char *key, struct et_text text) {
    if (text.length == 0)
        return;
    json_key(json, key, strlen(key));
    json_string(json, text.bytes, text.length);
}

static void put_number(struct json_out *json, const char *key, uint64_t number) {
    if (number == 0)
        return;
    json_key(json, key, strlen(key));
    quoted_integer(json, false, number);
}

static void put_ids(struct json_out *json, const char *key, const struct et_ids *list, row_t row) {
    if (list->first[row] == list->first[row + 1])
        return;
    json_key(json, key, strlen(key));
    json_open(json, '[');
    for (uint64_t i = list->first[row]; i < list->first[row + 1]; i++)
        quoted_integer(json, false, list->ids[i]);
    json_close(json, ']');
}

static void put_texts(struct json_out *json, const char *key, const struct et_nodes *nodes, int first, row_t row) {
    json_key(json, key, strlen(key));
    json_open(json, '{');
    put_text(json, "values", et_text_at(nodes->text[first], row));
    put_text(json, "shapes", et_text_at(nodes->text[first + 1], row));
    put_text(json, "types", et_text_at(nodes->text[first + 2], row));
    json_close(json, '}');
}

static void put_type(struct json_out *json, int32_t type) {
    const char *name = et_type_name(type);
    if (type == ET_INVALID)
        return;
    json_name(json, "type");
    if (name)
        json_string(json, name, strlen(name));
    else
        json_integer(json, type);
}

static void put_value(struct json_out *json, const struct et_attributes *table, uint64_t i) {
    uint32_t kind = table->kind[i];
    bool is_text = et_kind_is_text(kind);
    char key[16];
    if (kind == ET_NO_VALUE)
        return;
    struct et_text text = {is_text ? table->value[i].bytes : NULL, table->length[i]};
    int length = snprintf(key, sizeof key, "%s%s", et_kind_word(kind), kind % 2 ? "Val" : "List");
    json_key(json, key, (size_t)length);
    if (kind % 2)
        put_scalar(json, kind, is_text ? 0 : table->value[i].bits, text);
    else
        put_list(json, kind, text);
}

static void put_attributes(struct json_out *json, const struct et_nodes *nodes, const struct et_attributes *table,
                           uint64_t begin, uint64_t end) {
    if (begin == end)
        return;
    json_name(json, "attr");
    json_open(json, '[');
    for (uint64_t i = begin; i < end; i++) {
        json_open(json, '{');
        put_text(json, "name", et_name_text(nodes, table->name[i]));
        put_text(json, "docString", et_doc_find(table, i));
        put_value(json, table, i);
        json_close(json, '}');
    }
    json_close(json, ']');
}

/* ---- Messages ---- */

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
    put_text(&json, "version", nodes->version);
    put_attributes(&json, nodes, &nodes->metadata, 0, nodes->metadata.n);
    end_message(&json);
}

void et_json_node(const struct et_nodes *nodes, row_t row, enum et_json_layout layout, struct text_out *text) {
    struct json_out json = begin_message(layout, text);
    put_number(&json, "id", nodes->id[row]);
    put_text(&json, "name", et_text_at(nodes->text[ET_NODE_NAME], row));
    put_type(&json, nodes->type[row]);
    put_ids(&json, "ctrlDeps", &nodes->ctrl, row);
    put_ids(&json, "dataDeps", &nodes->data, row);
    put_number(&json, "startTimeMicros", nodes->start_us[row]);
    put_number(&json, "durationMicros", nodes->duration_us[row]);
    if (nodes->flags[row] & ET_HAS_INPUTS)
        put_texts(&json, "inputs", nodes, ET_INPUT_VALUES, row);
    if (nodes->flags[row] & ET_HAS_OUTPUTS)
        put_texts(&json, "outputs", nodes, ET_OUTPUT_VALUES, row);
    put_attributes(&json, nodes, &nodes->attributes, nodes->attr_first[row], nodes->attr_first[row + 1]);
    end_message(&json);
}
