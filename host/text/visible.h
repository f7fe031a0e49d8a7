/*
 * visible.h - text that a terminal only shows: control characters, which could move its cursor, change its title or
 * hide what stands before them, appear as \x1b.
 *
 * Those are the bytes below a space but for line ends and tabs, DEL, C1 (U+0080 to U+009F), characters that set the
 * direction of text, line and paragraph separators, and bytes that are no character of UTF-8. The rest of UTF-8 stays.
 * Text may come in pieces: a struct visible carries over.
 */
#ifndef TEXT_VISIBLE_H
#define TEXT_VISIBLE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/buffer.h"

/* Most bytes that one becomes: four bytes, escaped. */
#define VISIBLE_MAX 16

/* Zero-initialise. */
struct visible {
    char held[4]; /* bytes of a character that is not complete */
    unsigned n_held, n_left;
};

/* Whether a character beyond ASCII is a control character: C1, direction of text (U+061C, U+200E, U+200F, U+202A to
 * U+202E, U+2066 to U+2069), separators of lines and paragraphs (U+2028, U+2029). */
bool is_wide_control(uint32_t code_point);

/* Writes what shows `byte` to `to`; returns how many bytes that are. */
size_t visible_put(struct visible *visible, char byte, char to[VISIBLE_MAX]);

/* Fills `to` with what shows bytes from *at on, up to `end` or as far as there is room, at least VISIBLE_MAX; moves *at
 * behind them, and returns how many bytes it has written. */
size_t visible_fill(struct visible *visible, const char **at, const char *end, char *to, size_t room);

/* A character of a name, which stands within a line: line ends and tabs are shown, too. */
struct visible_character {
    char bytes[VISIBLE_MAX];
    unsigned n_bytes, n_columns;
};

/* Reads the character at `at`, which is not the text's end; returns where the next one begins. Scripts whose letters
 * take two columns of a terminal count so. */
const char *visible_read(const char *at, struct visible_character *character);

/* Appends n bytes as well-formed UTF-8: bytes that are no character, as names of files may have, become \xff. Control
 * characters stay. */
void visible_append_utf8(struct buffer *to, const char *bytes, size_t n);

#endif
