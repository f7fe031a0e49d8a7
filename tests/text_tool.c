/*
 * text_tool.c - host/text as a filter, so that python_text_check.py can compare it with CPython.
 *
 * text_tool MODE reads a line, writes a line. format: 16 hex digits of a double -> its text. parse: a number -> 16 hex
 * digits. rewrite: a number -> its form, its length and its new text. raw: a raw string in hex -> written text, decoded
 * text in hex, and the written text again from that. utf8: hex -> offset. int: a decoded string in hex -> text or "-".
 */
#include "text/numbers.h"
#include "text/strings.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define PADDING 64

static char *line_text;
static size_t line_room;

/* A block with exactly `n` readable bytes, so that a sanitizer sees every access outside. */
static char *block(size_t n) {
    char *bytes = calloc(1, n ? n : 1);
    if (!bytes)
        abort();
    return bytes;
}

static char *padded(const char *text, size_t length) {
    char *copy = block(length + PADDING);
    memcpy(copy, text, length);
    return copy;
}

static unsigned hex_digit(char c) {
    return (unsigned)(c <= '9' ? c - '0' : c - 'a' + 10);
}

static char *from_hex(const char *hex, size_t *length) {
    *length = strlen(hex) / 2;
    char *bytes = block(*length + PADDING);
    for (size_t i = 0; i < *length; i++)
        bytes[i] = (char)(hex_digit(hex[2 * i]) << 4 | hex_digit(hex[2 * i + 1]));
    return bytes;
}

static void print_hex(const char *bytes, size_t length) {
    for (size_t i = 0; i < length; i++)
        printf("%02x", (unsigned char)bytes[i]);
}

static void answer_format(const char *line) {
    uint64_t bits = strtoull(line, NULL, 16);
    double value;
    memcpy(&value, &bits, sizeof value);
    char out[NUMBER_TEXT_MAX];
    size_t n = double_format(value, out);
    printf("%.*s\n", (int)n, out);
}

static void answer_parse(const char *line) {
    char *text = padded(line, strlen(line));
    double value = double_parse(text, strlen(line));
    uint64_t bits;
    memcpy(&bits, &value, sizeof bits);
    printf("%016" PRIx64 "\n", bits);
    free(text);
}

static void answer_rewrite(const char *line) {
    size_t n = strlen(line), length = 0;
    char *text = padded(line, n), *out = block((n > NUMBER_TEXT_MAX ? n : NUMBER_TEXT_MAX) + 32);
    enum number_form form = number_scan(text, &length);
    size_t written = form == NUMBER_FORM_BAD ? 0 : number_rewrite(text, length, form, out);
    printf("%d %zu %.*s\n", form, length, (int)written, out);
    free(out);
    free(text);
}

static void answer_raw(const char *line) {
    size_t n;
    char *raw = from_hex(line, &n), *written = block(6 * n + 64), *decoded = block(n);
    size_t n_written = string_rewrite(raw, n, written), n_decoded = string_decode(raw, n, decoded);
    char *again = padded(decoded, n_decoded), *encoded = block(6 * n_decoded);
    size_t n_encoded = string_encode(again, n_decoded, encoded);
    fwrite(written, 1, n_written, stdout);
    putchar('\t');
    print_hex(decoded, n_decoded);
    putchar('\t');
    fwrite(encoded, 1, n_encoded, stdout);
    putchar('\n');
    free(encoded);
    free(again);
    free(decoded);
    free(written);
    free(raw);
}

static void answer_utf8(const char *line) {
    size_t n;
    char *bytes = from_hex(line, &n);
    printf("%zu\n", utf8_check(bytes, n));
    free(bytes);
}

static void answer_int(const char *line) {
    size_t n;
    char *decoded = from_hex(line, &n), *out = block(n + 1);
    size_t written = python_int(decoded, n, out);
    printf("%.*s\n", written ? (int)written : 1, written ? out : "-");
    free(out);
    free(decoded);
}

static const struct {
    const char *name;
    void (*answer)(const char *line);
} modes[] = {
    {"format", answer_format}, {"parse", answer_parse}, {"rewrite", answer_rewrite},
    {"raw", answer_raw},       {"utf8", answer_utf8},   {"int", answer_int},
};

int main(int argc, char **argv) {
    for (size_t i = 0; argc == 2 && i < sizeof modes / sizeof *modes; i++) {
        if (strcmp(argv[1], modes[i].name) != 0)
            continue;
        for (ssize_t n; (n = getline(&line_text, &line_room, stdin)) > 0;) {
            line_text[n - (line_text[n - 1] == '\n')] = '\0';
            modes[i].answer(line_text);
        }
        free(line_text);
        return fflush(stdout) ? 1 : 0;
    }
    fputs("usage: text_tool format|parse|rewrite|raw|utf8|int\n", stderr);
    return 64;
}
