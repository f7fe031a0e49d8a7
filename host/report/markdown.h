/*
 * markdown.h - escape arbitrary bytes as Markdown.
 *
 * Names come from traces and paths and are untrusted. No name becomes markup, HTML, another row or another block.
 */
#ifndef REPORT_MARKDOWN_H
#define REPORT_MARKDOWN_H

#include <stdbool.h>
#include <stddef.h>

#include "write/text.h"

struct markdown {
    struct text_out *out;
    bool keep_paths; /* keep absolute paths, which are reduced to their last part otherwise */
    bool in_table;   /* escape bars, which would end the cell, also in code */
};

/* Appends a text. Names and code (words that contain ::, _, =, a dot between letters, capitals inside) become code
 * spans, without enclosing punctuation; in all other words, the characters with a meaning in Markdown are escaped. */
void markdown_text(const struct markdown *markdown, const char *text);

/* Appends a text, or a path, as a code span. */
void markdown_code(const struct markdown *markdown, const char *text, size_t length);
void markdown_path(const struct markdown *markdown, const char *path);

/* Reduces an absolute path to its last part, unless paths are kept. */
void markdown_reduce_path(const struct markdown *markdown, const char **word, size_t *length);

#endif
