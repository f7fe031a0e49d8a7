/*
 * markup.h - escape arbitrary bytes as text of an HTML page or SVG drawing, which both stay well-formed XML.
 *
 * Names come from traces and paths and are untrusted. Control characters are replaced by their pictures; malformed
 * UTF-8, lone surrogates and bidirectional marks by U+FFFD. <, >, &, " and ' are escaped, so the text is valid between
 * tags and in attributes. Long names are shortened in the middle, where kernel names differ least, with the full name
 * in a title.
 */
#ifndef REPORT_MARKUP_H
#define REPORT_MARKUP_H

#include "write/text_out.h"

/* Where a page or a drawing is written. */
struct markup {
    struct text_out out;
    size_t title_room; /* bytes that may still go to titles of names that were cut; shorter ones are cut again */
};

/* A name; `by_end`: when it is cut, more of its end is kept, which tells operators apart. */
struct name {
    const char *bytes;
    size_t length;
    bool by_end;
};

static inline struct name name_of(const char *text) {
    return (struct name){text, strlen(text), false};
}

/* Whether a byte is a character that is shown as it is. */
static inline bool markup_is_plain(char byte) {
    return byte >= ' ' && byte <= '~';
}

/* The next character of the name as a page may show it; returns where the one behind it begins. */
const char *markup_read_any(const char *bytes, const char *end, uint32_t *code_point);
static inline const char *markup_read(const char *bytes, const char *end, uint32_t *code_point) {
    if (!markup_is_plain(*bytes))
        return markup_read_any(bytes, end, code_point);
    *code_point = (uint32_t)*bytes;
    return bytes + 1;
}

/* How wide a name is in common sans-serif fonts, rather more than less, in the size of the font. O(length). */
double markup_width(struct name name);

/* Writes a name, escaped. */
void markup_name(struct markup *markup, struct name name);
static inline void markup_text(struct markup *markup, const char *text) {
    markup_name(markup, name_of(text));
}

/* Writes a name, or its beginning and end around an ellipsis where it is wider than that; returns whether it was cut.
 */
bool markup_cut(struct markup *markup, struct name name, double width);

/* Writes a name as a whole as long as there is room for titles, else cut to some 200 characters. */
void markup_title(struct markup *markup, struct name name);

#endif
