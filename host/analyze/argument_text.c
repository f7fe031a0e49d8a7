/*
 * argument_text.c - from checked JSON to Python's tuples, without recursion: a bit for each open list tells whether it
 * has several elements, since a tuple of one has a comma behind it.
 */
#include "analyze/argument_text.h"

#include "read/json_walk.h"
#include "text/list_text.h"
#include "text/number_text.h"
#include "text/string_text.h"

struct argument_writer {
    struct buffer *out;
    const char *end; /* of the JSON */
    size_t depth;
    bool comma[DEPTH_MAX + 2]; /* whether the list of this depth needs none behind its element */
};

/* Length of the string, or the object, at `text`. */
static size_t value_length(const char *text, const char *end) {
    struct list_cursor cursor = {text, end};
    if (*text == '"')
        list_skip_string(&cursor);
    else
        list_skip_value(&cursor);
    while (list_is_space(cursor.at[-1]))
        cursor.at--;
    return (size_t)(cursor.at - text);
}

static size_t scalar_length(const char *text) {
    size_t n = 0;
    while (!strchr(",]} \n\r\t", text[n]))
        n++;
    return n;
}

static void append_text(struct buffer *out, const char *text) {
    buffer_append(out, text, strlen(text));
}

/* A string of `length` bytes with its quotes: decoded, and quoted as Python does unless it stands alone. */
static void append_string(struct buffer *out, const char *text, size_t length, bool alone) {
    char *to = buffer_reserve(out, length * 5 + 64); /* decoded behind where its repr() comes */
    if (!to)
        return;
    char *decoded = alone ? to : to + length * 4 + 2;
    size_t n = string_decode(text + 1, length - 2, decoded);
    out->length += alone ? n : string_repr(decoded, n, to);
}

static void append_number(struct buffer *out, const char *text, size_t length) {
    enum number_form form = number_scan(text, &length);
    char *to = buffer_reserve(out, length + 2 * NUMBER_TEXT_MAX);
    if (to)
        out->length += number_rewrite(text, length, form, to);
}

/* A number or a word; returns its length. */
static size_t append_scalar(struct buffer *out, const char *text) {
    static const char *const words[][2] = {{"null", "None"}, {"true", "True"}, {"false", "False"}};
    size_t length = scalar_length(text);
    for (size_t i = 0; i < 3; i++)
        if (length == strlen(words[i][0]) && memcmp(text, words[i][0], length) == 0) {
            append_text(out, words[i][1]);
            return length;
        }
    append_number(out, text, length);
    return length;
}

/* Whether nothing stands in the tuple that ends now. */
static bool is_empty(const struct buffer *out) {
    return out->length && out->bytes[out->length - 1] == '(';
}

/* Appends what stands at `text`: a bracket, a comma, white space, a scalar; returns its length. */
static size_t append_token(struct argument_writer *writer, const char *text) {
    size_t length;
    switch (*text) {
    case '[':
        writer->comma[++writer->depth] = false;
        append_text(writer->out, "(");
        return 1;
    case ']':
        append_text(writer->out, writer->comma[writer->depth--] || is_empty(writer->out) ? ")" : ",)");
        return 1;
    case '{':
        length = value_length(text, writer->end);
        buffer_append(writer->out, text, length);
        return length;
    case ',':
        writer->comma[writer->depth] = true;
        append_text(writer->out, ", ");
        return 1;
    case '"':
        length = value_length(text, writer->end);
        append_string(writer->out, text, length, writer->depth == 0);
        return length;
    default:
        return strchr(" \n\r\t", *text) ? 1 : append_scalar(writer->out, text);
    }
}

void argument_append(struct buffer *out, const char *json, size_t length) {
    struct argument_writer writer = {.out = out, .end = json + length};
    for (size_t i = 0; i < length;)
        i += append_token(&writer, json + i);
}
