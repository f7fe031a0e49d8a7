/*
 * markup.h - escape arbitrary bytes as text of an HTML page or SVG drawing, which both stay well-formed XML; and as
 * Markdown.
 *
 * Names come from traces and paths and are untrusted. Control characters are replaced by their pictures; malformed
 * UTF-8, lone surrogates and bidirectional marks by U+FFFD. <, >, &, " and ' are escaped, so the text is valid between
 * tags and in attributes. Long names are shortened in the middle, where kernel names differ least, with the full name
 * in a title.
 */
#ifndef REPORT_MARKUP_H
#define REPORT_MARKUP_H

#include <stdbool.h>
#include <stddef.h>

#include "write/text.h"

/*
 * Style sheets of pages and drawings. Colors follow the reader's light or dark mode. The eight colors of drawings have
 * a contrast of at least 3:1 to the background. Any two differ by at least 8 (of 100) in OKLab, also with dichromatic
 * vision. Text repeats all information given by color.
 */

extern const char style_colours[]; /* of both */
extern const char style_charts[];
extern const char style_page[];

/*
 * The script of a page, and its digest, by which the page's security policy allows only this script. It sorts tables
 * by a click on a heading, and expands collapsed parts for printing. The page is complete without it. The text
 * contains neither "<" nor "&", so that the page stays well-formed XML.
 */

extern const char script_page[];
extern const char script_digest[]; /* "sha256-...", which tests compare with the text */

/*
 * Meaning of colors, equal in all drawings: each color has one meaning. There are eight colors that most people can
 * distinguish (above), grey, and paler variants of the first two. Adjacent kinds of computation have shades of one
 * color, or shapes.
 */

enum colour {
    COLOUR_COMPUTE,
    COLOUR_COMMUNICATION,
    COLOUR_COPIES,
    COLOUR_OTHER_WORK,  /* synchronization on streams, and names without a known meaning */
    COLOUR_WAIT_HOST,   /* the next activity is not launched yet */
    COLOUR_WAIT_DATA,   /* data loading */
    COLOUR_WAIT_DEVICE, /* launched, but not started */
    COLOUR_WAIT_SYNC,   /* the CPU waited for the GPU */
    COLOUR_IDLE,        /* GPU idle time of any cause */
    COLOUR_HIDDEN,      /* communication overlapping with compute */
    COLOUR_LINE,        /* lines of means and limits */
    COLOUR_COUNT,       /* counts, and values of several kinds */
    COLOUR_SHADE,       /* the first of COLOUR_SHADES shades of compute: adjacent kinds of compute */
    COLOUR_SHADES = 4,
    N_COLOURS = COLOUR_SHADE + COLOUR_SHADES,
};

/* The meaning of a color as text; NULL for shades. */
const char *colour_meaning(enum colour colour);

/* The color of a kernel, memcpy or memset by name: compute, communication or copies. */
enum colour colour_of_work(const char *name, size_t length);

/* The color of an operator by name or category. */
enum colour colour_of_operator(const char *name, size_t length);

/* Output of a page or drawing. */
struct markup {
    struct text_out out;
    size_t title_room;    /* remaining bytes for titles with full names */
    bool used[N_COLOURS]; /* colors of the drawings */
};

/* A name. `by_end`: keep more of its end when shortening it, because operators differ at the end. */
struct name {
    const char *bytes;
    size_t length;
    bool by_end;
};

static inline struct name name_of(const char *text) {
    return (struct name){text, strlen(text), false};
}

/* Whether a byte is a character that is shown unchanged. */
static inline bool markup_is_plain(char byte) {
    return byte >= ' ' && byte <= '~';
}

/* Reads the next character of a name as a page may show it; returns the position after it. */
const char *markup_read_any(const char *bytes, const char *end, uint32_t *code_point);
static inline const char *markup_read(const char *bytes, const char *end, uint32_t *code_point) {
    if (!markup_is_plain(*bytes))
        return markup_read_any(bytes, end, code_point);
    *code_point = (uint32_t)*bytes;
    return bytes + 1;
}

/* Upper estimate of the width of a name in common sans-serif fonts, relative to the font size. O(length). */
double markup_width(struct name name);

/* Writes a name, escaped. */
void markup_name(struct markup *markup, struct name name);
static inline void markup_text(struct markup *markup, const char *text) {
    markup_name(markup, name_of(text));
}

/* Writes an escaped text between two pieces of markup. */
static inline void markup_between(struct markup *markup, const char *before, const char *text, const char *after) {
    out_add(&markup->out, before);
    markup_text(markup, text);
    out_add(&markup->out, after);
}

/* Writes a name, shortened in the middle by an ellipsis if it is wider than `width`; returns whether it is. */
bool markup_cut(struct markup *markup, struct name name, double width);

/* Writes a name for a title: in full if room for titles is left, else shortened. */
void markup_title(struct markup *markup, struct name name);

/*
 * ---- Arbitrary bytes as Markdown ----
 *
 * No name becomes markup, HTML, another row or another block.
 */

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
