/*
 * advice.c - builds a command line as text.
 */
#include "cli/tool/advice.h"

#include <string.h>

/* Text that grows up to a size; `full` once something had no room. */
struct advice_line {
    char *text;
    size_t length, size;
    bool full;
};

static void add(struct advice_line *line, const char *text, size_t length) {
    if (line->full || length >= line->size - line->length) {
        line->full = true;
        return;
    }
    memcpy(line->text + line->length, text, length);
    line->length += length;
    line->text[line->length] = 0;
}

/* A word as a shell reads it back, with a space before it. */
static void add_word(struct advice_line *line, const char *word) {
    static const char plain[] = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789-_./:,+=@%";
    add(line, " ", 1);
    if (*word && word[strspn(word, plain)] == 0) {
        add(line, word, strlen(word));
        return;
    }
    add(line, "'", 1);
    for (const char *quote; (quote = strchr(word, '\'')); word = quote + 1) {
        add(line, word, (size_t)(quote - word));
        add(line, "'\\''", 4);
    }
    add(line, word, strlen(word));
    add(line, "'", 1);
}

bool advice_command(const struct sutra_advice *advice, const char *host, const char *device, const char *output,
                    char *text, size_t size) {
    struct advice_line line = {.text = text, .size = size};
    bool by_names = advice->linker == SUTRA_LINKER_EXACT || advice->linker == SUTRA_LINKER_APPROXIMATE;
    if (advice->linker == SUTRA_LINKER_NONE)
        return false;
    add(&line, "sutra", 5);
    add_word(&line, by_names ? "link-legacy" : "link");
    add_word(&line, host);
    add_word(&line, device);
    if (by_names) {
        add_word(&line, "--annotation");
        add_word(&line, advice->annotation);
    }
    if (advice->linker == SUTRA_LINKER_EXACT)
        add_word(&line, "--exact-match");
    add_word(&line, "-o");
    add_word(&line, output ? output : "OUT");
    return !line.full;
}
