/*
 * markdown.c - implements markdown.h. O(length).
 */
#include "report/markdown.h"

#include <ctype.h>
#include <string.h>

#include "base/shared.h"
#include "text/strings.h"

#define WORD_MAX 100 /* of a call with its arguments */

/* The length of the word at `text`. A call with its arguments is one word, "SGD(lr, foreach=True)", and a Python
 * function with its file: "train.py(12): step". */
static size_t word_length(const char *text) {
    size_t length = strcspn(text, " "), begin = strspn(text, "(\"'");
    if (length > 4 && text[length - 1] == ':' && text_has(text, length, ".py("))
        return length + 1 + strcspn(text + length + 1, " ");
    int depth = 0;
    for (size_t i = begin; i < length; i++)
        depth += (text[i] == '(') - (text[i] == ')');
    if (depth <= 0 || !isalpha((unsigned char)text[begin]))
        return length;
    for (size_t i = length; i < WORD_MAX && text[i]; i++) {
        depth += (text[i] == '(') - (text[i] == ')');
        if (depth == 0)
            return i + strcspn(text + i, " ");
    }
    return length;
}

/* Whether a word is a name or code: it has a character of code, or capitals inside. */
static bool is_code(const char *word, size_t length) {
    bool has_letter = false, has_mark = false;
    size_t n_capitals = 0;
    for (size_t i = 0; i < length; i++) {
        const char c = word[i], next = i + 1 < length ? word[i + 1] : '\0';
        has_letter |= isalnum((unsigned char)c) != 0;
        n_capitals += islower((unsigned char)c) && isupper((unsigned char)next);
        has_mark |=
            strchr("_=<>{}[]`$|\\~^@*", c) || (c == '#' && i > 0) || (c == ':' && next == ':') ||
            (c == '.' && i > 0 && isalpha((unsigned char)word[i - 1]) && isalpha((unsigned char)next)) ||
            (c == '/' && (i == 0 ? isalpha((unsigned char)next) != 0 : memchr(word + i, '.', length - i) != NULL)) ||
            (c == '(' && i > 0 && isalpha((unsigned char)word[0]));
    }
    const bool is_proper_name = length == 7 && memcmp(word, "PyTorch", 7) == 0;
    return has_letter && (has_mark || (n_capitals > 0 && length >= 7 && !is_proper_name));
}

void markdown_reduce_path(const struct markdown *markdown, const char **word, size_t *length) {
    if (markdown->keep_paths || **word != '/')
        return;
    for (size_t i = *length; i-- > 1;)
        if ((*word)[i] == '/' && i + 1 < *length) {
            *word += i + 1;
            *length -= i + 1;
            return;
        }
}

/* Appends characters with a backslash before the ones in `special`. Control characters are escaped; line ends and tabs,
 * which could end a row or begin a block, become spaces. In a table, a bar ends the cell unless a backslash precedes
 * it that no other backslash escapes. */
static void write_escaped(const struct markdown *markdown, const char *text, size_t length, const char *special) {
    struct visible_character character;
    for (const char *at = text, *end = text + length; at < end && *at;) {
        const char first = *at;
        const bool is_bar = markdown->in_table && first == '|';
        if (is_bar && at > text && at[-1] == '\\' && !*special)
            out_add(markdown->out, " ");
        at = visible_read(at, &character);
        if (strchr(special, first) || is_bar)
            out_add(markdown->out, "\\");
        if (strchr("\n\r\t", first))
            out_add(markdown->out, " ");
        else
            buffer_append(&markdown->out->out, character.bytes, character.n_bytes);
    }
}

void markdown_code(const struct markdown *markdown, const char *text, size_t length) {
    /* The fence is longer than each run of grave accents in the text. */
    size_t n = 1, run = 0;
    for (size_t i = 0; i < length; i++) {
        run = text[i] == '`' ? run + 1 : 0;
        n = MAX(n, run + 1);
    }
    const char *space = n > 1 ? " " : "";
    for (size_t i = 0; i < n; i++)
        out_add(markdown->out, "`");
    out_add(markdown->out, space);
    write_escaped(markdown, text, length, "");
    out_add(markdown->out, space);
    for (size_t i = 0; i < n; i++)
        out_add(markdown->out, "`");
}

void markdown_path(const struct markdown *markdown, const char *path) {
    size_t length = strlen(path);
    markdown_reduce_path(markdown, &path, &length);
    markdown_code(markdown, path, length);
}

void markdown_text(const struct markdown *markdown, const char *text) {
    static const char special[] = "\\`*_<&[]#|~";
    while (*text) {
        size_t length = word_length(text), begin = 0, end = length;
        while (begin < end && strchr("(\"'", text[begin]))
            begin++;
        /* Closing brackets belong to a name that opens them. */
        for (; end > begin + 1 && strchr(".,;:!?)\"'", text[end - 1]); end--) {
            int n_open = 0;
            for (size_t i = begin; i < end; i++)
                n_open += (text[i] == '(') - (text[i] == ')');
            if (text[end - 1] == ')' && n_open == 0)
                break;
            if (strchr("\"'", text[end - 1]) && (begin == 0 || !strchr("\"'", text[begin - 1])))
                break;
        }
        if (is_code(text + begin, end - begin)) {
            const char *word = text + begin;
            size_t n = end - begin;
            markdown_reduce_path(markdown, &word, &n);
            write_escaped(markdown, text, begin, special);
            markdown_code(markdown, word, n);
            write_escaped(markdown, text + end, length - end, special);
        } else {
            write_escaped(markdown, text, length, special);
        }
        text += length;
        if (*text == ' ') {
            out_add(markdown->out, " ");
            text++;
        }
    }
}
