/*
 * argument_texts.c - recorded arguments of operators as texts (json.h).
 */
#include <string.h>

#include "read/json.h"
#include "text/numbers.h"
#include "text/quantities.h"
#include "text/strings.h"

/* ---- Python texts of arguments. A tuple of one element ends with a comma. ---- */

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

/* Appends a number as Python writes it; returns its length in `text`. */
static size_t append_number(struct buffer *out, const char *text) {
    size_t length;
    enum number_form form = number_scan(text, &length);
    char *to = buffer_reserve(out, length + 2 * NUMBER_TEXT_MAX);
    if (to)
        out->length += number_rewrite(text, length, form, to);
    return length;
}

/* Python's word for null, true and false; NULL: another text. */
static const char *python_word(const char *text, size_t length) {
    static const char *const words[][2] = {{"null", "None"}, {"true", "True"}, {"false", "False"}};
    for (size_t i = 0; i < sizeof words / sizeof *words; i++)
        if (length == strlen(words[i][0]) && memcmp(text, words[i][0], length) == 0)
            return words[i][1];
    return NULL;
}

void argument_append(struct buffer *out, const char *json, size_t length) {
    const char *end = json + length, *word;
    bool comma[DEPTH_MAX + 2]; /* by depth: the tuple has a comma between elements, or needs none at its end */
    size_t depth = 0;
    comma[0] = false;
    for (const char *at = json; at < end;) {
        size_t n = 1;
        switch (*at) {
        case '[':
            comma[++depth] = false;
            buffer_append_text(out, "(");
            break;
        case ']': {
            bool is_empty = out->length && out->bytes[out->length - 1] == '(';
            buffer_append_text(out, comma[depth--] || is_empty ? ")" : ",)");
            break;
        }
        case ',':
            comma[depth] = true;
            buffer_append_text(out, ", ");
            break;
        case '{':
            n = value_length(at, end);
            buffer_append(out, at, n);
            break;
        case '"': {
            /* A string alone is decoded; others get Python's quotes, and are decoded after their
             * repr(). */
            n = value_length(at, end);
            char *to = buffer_reserve(out, n * 5 + 64);
            if (!to)
                break;
            char *decoded = depth == 0 ? to : to + n * 4 + 2;
            size_t n_decoded = string_decode(at + 1, n - 2, decoded);
            out->length += depth == 0 ? n_decoded : string_repr(decoded, n_decoded, to);
            break;
        }
        case ' ':
        case '\n':
        case '\r':
        case '\t':
            break;
        default:
            n = strcspn(at, ",]} \n\r\t");
            word = python_word(at, n);
            if (word)
                buffer_append_text(out, word);
            else
                append_number(out, at);
        }
        at += n;
    }
}

/* ---- Shapes of tensors: equal texts for equal shapes ---- */

/* Length of the string at `text`, with its quotes. */
static size_t string_length(const char *text) {
    size_t n = 1;
    while (text[n] != '"')
        n += text[n] == '\\' ? 2 : 1;
    return n + 1;
}

/* Length of the word at `text`: true, false, null. */
static size_t word_length(const char *text) {
    size_t n = 0;
    while (text[n] >= 'a' && text[n] <= 'z')
        n++;
    return n;
}

/* Whether the element from `start` on is false in Python. */
static bool is_false(const struct buffer *out, size_t start) {
    static const char *const words[] = {"[]", "\"\"", "null", "false", "0", "0.0", "-0.0"};
    for (size_t i = 0; i < sizeof words / sizeof *words; i++)
        if (out->length - start == strlen(words[i]) && memcmp(out->bytes + start, words[i], strlen(words[i])) == 0)
            return true;
    return false;
}

void shape_append(struct buffer *out, const char *json) {
    size_t begin = out->length, depth = 1, i = 1;
    buffer_append_text(out, "[");
    size_t element = out->length; /* begin of the current element of the top level */
    while (*json == '[' && !out->failed && (depth > 1 || json[i] != ']')) {
        const char *at = json + i;
        if (*at == '{') { /* not a shape */
            element = out->length = begin + 1;
            break;
        }
        bool comma = depth == 1 && *at == ',';
        size_t n = 1;
        if (*at == ',') {
            buffer_append_text(out, ", ");
        } else if (*at == '[' || *at == ']') {
            depth += *at == '[' ? 1 : (size_t)-1;
            buffer_append(out, at, 1);
        } else if (*at == '"' || (*at >= 'a' && *at <= 'z')) {
            n = *at == '"' ? string_length(at) : word_length(at);
            buffer_append(out, at, n);
        } else if (!list_is_space(*at)) {
            n = append_number(out, at);
        }
        i += n;

        /* Drop an element that is false in Python, and the comma after a dropped element. */
        bool dropped = comma ? out->length == element + 2 : depth == 1 && is_false(out, element);
        if (dropped)
            out->length = element;
        else if (comma)
            element = out->length;
    }
    if (out->failed)
        return;
    if (out->length > begin + 1 && out->length == element)
        out->length -= 2; /* the comma after the last element */
    bool empty = out->length == begin + 1;
    out->length = empty ? begin : out->length;
    buffer_append_text(out, empty ? SHAPE_NONE : "]");
}

void shape_append_tuple(struct buffer *out, const char *json) {
    bool several[DEPTH_MAX + 2] = {false}; /* by depth: the list has a comma, or is empty */
    size_t depth = 0;
    for (size_t i = 0; json[i];) {
        char c = json[i];
        size_t length = 1;
        if (c == '[' && depth <= DEPTH_MAX) {
            several[++depth] = json[i + 1] == ']';
            buffer_append_text(out, "(");
        } else if (c == ']') {
            buffer_append_text(out, several[depth--] ? ")" : ",)");
        } else if (c == '"') {
            length = string_length(json + i);
            buffer_append(out, json + i, length);
        } else if (c >= 'a' && c <= 'z') {
            length = word_length(json + i);
            const char *word = python_word(json + i, length);
            buffer_append_text(out, word ? word : "");
        } else {
            several[depth] |= c == ',';
            buffer_append(out, &c, 1);
        }
        i += length;
    }
}
