/*
 * shape_text.c - shapes of tensors: from the trace's JSON to a text that is the same for equal shapes, and on to
 * Python's tuples. No recursion; O(length).
 */
#include "analyze/shape_text.h"

#include "read/json_walk.h"

static void append_text(struct buffer *out, const char *text) {
    buffer_append(out, text, strlen(text));
}

static bool is_space(char c) {
    return c == ' ' || c == '\n' || c == '\r' || c == '\t';
}

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

/* Copies the scalar at `text` as Python would write it; returns its length in `text`. */
static size_t append_scalar(struct buffer *out, const char *text) {
    size_t length;
    if (*text == '"')
        length = string_length(text);
    else if (*text >= 'a' && *text <= 'z')
        length = word_length(text);
    else {
        enum number_form form = number_scan(text, &length);
        char *to = buffer_reserve(out, length + 2 * NUMBER_TEXT_MAX);
        if (to)
            out->length += number_rewrite(text, length, form, to);
        return length;
    }
    buffer_append(out, text, length);
    return length;
}

/* Whether the element that was written from `start` on counts as false in Python. */
static bool is_false(const struct buffer *out, size_t start) {
    static const char *const words[] = {"[]", "\"\"", "null", "false", "0", "0.0", "-0.0"};
    for (size_t i = 0; i < sizeof words / sizeof *words; i++)
        if (out->length - start == strlen(words[i]) && memcmp(out->bytes + start, words[i], strlen(words[i])) == 0)
            return true;
    return false;
}

/* Copies what stands at `text`, a bracket, a separator, a scalar or white space; returns its length. */
static size_t append_token(struct buffer *out, const char *text, size_t *depth) {
    if (is_space(*text))
        return 1;
    if (*text == ',') {
        append_text(out, ", ");
        return 1;
    }
    if (!strchr("[]", *text))
        return append_scalar(out, text);
    *depth += *text == '[' ? 1 : (size_t)-1;
    buffer_append(out, text, 1);
    return 1;
}

void shape_append(struct buffer *out, const char *json) {
    size_t begin = out->length, depth = 1, i = 1;
    append_text(out, "[");
    size_t element = out->length; /* where the running element of the top level begins */
    while (*json == '[' && !out->failed && (depth > 1 || json[i] != ']')) {
        if (json[i] == '{') { /* no shape that we know */
            element = out->length = begin + 1;
            break;
        }
        bool comma = depth == 1 && json[i] == ',';
        i += append_token(out, json + i, &depth);
        bool gone = comma ? out->length == element + 2 : depth == 1 && is_false(out, element);
        if (gone) /* a comma, too, if what stood before it is */
            out->length = element;
        else if (comma)
            element = out->length;
    }
    if (out->failed)
        return;
    if (out->length > begin + 1 && out->length == element)
        out->length -= 2; /* the comma behind the last one that stays */
    bool empty = out->length == begin + 1;
    out->length = empty ? begin : out->length;
    append_text(out, empty ? SHAPE_NONE : "]");
}

void shape_append_tuple(struct buffer *out, const char *json) {
    static const char *const words[][2] = {{"null", "None"}, {"true", "True"}, {"false", "False"}};
    bool several[DEPTH_MAX + 2] = {false}; /* whether the list of this depth has a comma */
    size_t depth = 0;
    for (size_t i = 0; json[i];) {
        char c = json[i];
        size_t length = 1;
        if (c == '[' && depth <= DEPTH_MAX) {
            several[++depth] = json[i + 1] == ']';
            append_text(out, "(");
        } else if (c == ']') {
            append_text(out, several[depth--] ? ")" : ",)");
        } else if (c == '"') {
            length = string_length(json + i);
            buffer_append(out, json + i, length);
        } else if (c >= 'a' && c <= 'z') {
            length = word_length(json + i);
            for (size_t word = 0; word < 3; word++)
                if (strncmp(json + i, words[word][0], length) == 0)
                    append_text(out, words[word][1]);
        } else {
            several[depth] |= c == ',';
            buffer_append(out, &c, 1);
        }
        i += length;
    }
}
