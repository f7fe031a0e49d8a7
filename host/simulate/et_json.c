/*
 * et_json.c - writes the messages of an .et file as JSON (et_file.h).
 */
#include <stdio.h>
#include <string.h>

#include "simulate/et_file.h"
#include "text/numbers.h"
#include "write/json.h"

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

/* The double with the fewest digits, at least six, that rounds to the same float. */
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
    json_add_open(json, key, '[');
    for (uint64_t i = list->first[row]; i < list->first[row + 1]; i++)
        quoted_integer(json, false, list->ids[i]);
    json_close(json, ']');
}

static void write_texts(struct json_out *json, const char *key, const struct et_nodes *nodes, int first, row_t row) {
    json_add_open(json, key, '{');
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
            json_add_open(json, "values", '[');
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
    json_add_open(json, "attr", '[');
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
