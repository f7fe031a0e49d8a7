/*
 * visible.h - text that a terminal only shows: control characters, which could move its cursor, change its title or
 * hide what stands before them, appear as \x1b.
 *
 * Those are the bytes below a space but for line ends and tabs, DEL, and C1: U+0080 to U+009F, as UTF-8 or as bytes
 * that no character has begun. The rest of UTF-8 stays. Text may come in pieces: a struct visible carries over.
 */
#ifndef TEXT_VISIBLE_H
#define TEXT_VISIBLE_H

#include <stdbool.h>
#include <stddef.h>

/* Most bytes that one becomes. */
#define VISIBLE_MAX 8

/* Zero-initialise. */
struct visible {
    unsigned n_left; /* bytes that the character at hand still has */
    bool held;       /* 0xc2 has come, which may begin a C1 */
};

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

#endif
