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

#include <stddef.h>

#include "write/text.h"

/*
 * Style sheets of pages and drawings.
 *
 * Colors follow the reader's light or dark mode. The eight colors of drawings have a contrast of at least 3:1 to the
 * background. Any two differ by at least 8 (of 100) in OKLab, also with dichromatic vision. Text repeats all
 * information given by color.
 */

extern const char style_colours[]; /* of both */
extern const char style_charts[];
extern const char style_page[];

/*
 * The script of a page, and its digest, by which the page's security policy allows only this script.
 *
 * The script sorts tables by a click on a heading, and expands collapsed parts for printing. The page is complete
 * without it. The text contains neither "<" nor "&", so that the page stays well-formed XML.
 */

extern const char script_page[];
extern const char script_digest[]; /* "sha256-...", which tests compare with the text */

/*
 * Meaning of colors, equal in all drawings: each color has one meaning.
 *
 * There are eight colors that most people can distinguish (style.h), grey, and paler variants of the first two.
 * Adjacent kinds of computation have shades of one color, or shapes.
 */

enum colour {
    COLOUR_COMPUTE,
    COLOUR_COMMUNICATION,
    COLOUR_COPIES,
    COLOUR_OTHER_WORK,  /* synchronisation on streams, and what a name does not tell */
    COLOUR_WAIT_HOST,   /* nothing was launched yet */
    COLOUR_WAIT_DATA,   /* the host waits for the next batch */
    COLOUR_WAIT_DEVICE, /* it was launched, but has not begun */
    COLOUR_WAIT_SYNC,   /* the host waited for the device */
    COLOUR_IDLE,        /* the device does nothing, whatever the reason */
    COLOUR_HIDDEN,      /* communication beside computation, which hides it */
    COLOUR_LINE,        /* lines of means and limits */
    COLOUR_COUNT,       /* how many there are, and what is of several kinds or none */
    COLOUR_SHADE,       /* the first of COLOUR_SHADES shades of computation: kinds of it, that stand side by side */
    COLOUR_SHADES = 4,
    N_COLOURS = COLOUR_SHADE + COLOUR_SHADES,
};

/* What a colour means, in words; NULL for shades. */
const char *colour_meaning(enum colour colour);

/* The colour of work of this name, which is that of a kernel, copy or set: computation, communication or copies. */
enum colour colour_of_work(const char *name, size_t length);

/* The same of operators, by name or category. */
enum colour colour_of_operator(const char *name, size_t length);

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
