/*
 * visible.c - from bytes to what shows them.
 */
#include "text/visible.h"

#include <string.h>

#include "text/string_text.h"
#include "text/utf8.h"

static size_t escape(unsigned char byte, char *to) {
    static const char digits[] = "0123456789abcdef";
    to[0] = '\\';
    to[1] = 'x';
    to[2] = digits[byte >> 4];
    to[3] = digits[byte & 15];
    return 4;
}

static size_t escape_all(const char *bytes, size_t n, char *to) {
    size_t n_escaped = 0;
    for (size_t i = 0; i < n; i++)
        n_escaped += escape((unsigned char)bytes[i], to + n_escaped);
    return n_escaped;
}

bool is_wide_control(uint32_t code_point) {
    static const uint32_t ranges[][2] = {
        {0x80, 0x9f}, {0x61c, 0x61c}, {0x200e, 0x200f}, {0x2028, 0x202e}, {0x2066, 0x2069}};
    for (size_t i = 0; i < sizeof ranges / sizeof *ranges; i++)
        if (code_point >= ranges[i][0] && code_point <= ranges[i][1])
            return true;
    return false;
}

/* The bytes behind the first of a character; 0: none begins with it. */
static unsigned n_behind(unsigned char byte) {
    return byte < 0xc2 ? 0 : byte < 0xe0 ? 1 : byte < 0xf0 ? 2 : byte < 0xf5 ? 3 : 0;
}

/* A character beyond ASCII that is complete. */
static size_t show_wide(const char *bytes, unsigned n, char *to) {
    uint32_t code_point;
    utf8_read(bytes, &code_point);
    if (is_wide_control(code_point))
        return escape_all(bytes, n, to);
    memcpy(to, bytes, n);
    return n;
}

size_t visible_put(struct visible *visible, char byte, char to[VISIBLE_MAX]) {
    unsigned char c = (unsigned char)byte;
    bool within = visible->n_left > 0 && c >= 0x80 && c < 0xc0;
    size_t n = 0;
    if (within) {
        visible->held[visible->n_held++] = byte;
        if (--visible->n_left > 0)
            return 0;
        n = show_wide(visible->held, visible->n_held, to);
        visible->n_held = 0;
        return n;
    }
    n = escape_all(visible->held, visible->n_held, to);
    visible->n_left = n_behind(c);
    visible->n_held = visible->n_left > 0;
    visible->held[0] = byte;
    if (visible->n_held)
        return n;
    if ((c < 0x20 && c != '\n' && c != '\t') || c >= 0x7f)
        return n + escape(c, to + n);
    to[n] = byte;
    return n + 1;
}

size_t visible_fill(struct visible *visible, const char **at, const char *end, char *to, size_t room) {
    size_t n = 0;
    while (*at < end && n + VISIBLE_MAX <= room)
        n += visible_put(visible, *(*at)++, to + n);
    return n;
}

static bool is_wide(uint32_t code_point) {
    static const uint32_t ranges[][2] = {
        {0x1100, 0x115f}, {0x2e80, 0xa4cf}, {0xac00, 0xd7a3},   {0xf900, 0xfaff},   {0xfe30, 0xfe6f},
        {0xff00, 0xff60}, {0xffe0, 0xffe6}, {0x1f300, 0x1faff}, {0x20000, 0x3fffd},
    };
    for (size_t i = 0; i < sizeof ranges / sizeof *ranges; i++)
        if (code_point >= ranges[i][0] && code_point <= ranges[i][1])
            return true;
    return false;
}

/* The bytes of the character at `at`; 0: none is whole there. */
static unsigned n_whole(const char *at) {
    unsigned n = n_behind((unsigned char)*at);
    for (unsigned i = 1; i <= n; i++)
        if (((unsigned char)at[i] & 0xc0) != 0x80)
            return 0;
    return n + 1;
}

const char *visible_read(const char *at, struct visible_character *character) {
    unsigned char first = (unsigned char)*at;
    unsigned n = first < 0x80 ? 1 : n_whole(at);
    uint32_t code_point = first;
    if (n > 1)
        utf8_read(at, &code_point);
    if (first < 0x20 || first == 0x7f || (first >= 0x80 && n < 2) || is_wide_control(code_point)) {
        unsigned n_escaped = n > 1 ? n : 1;
        character->n_bytes = (unsigned)escape_all(at, n_escaped, character->bytes);
        character->n_columns = character->n_bytes;
        return at + n_escaped;
    }
    memcpy(character->bytes, at, n);
    character->n_bytes = n;
    character->n_columns = is_wide(code_point) ? 2 : 1;
    return at + n;
}

void visible_append_utf8(struct buffer *to, const char *bytes, size_t n) {
    while (n > 0) {
        char escaped[4];
        size_t good = utf8_check(bytes, n), n_bad = good < n;
        buffer_append(to, bytes, good);
        buffer_append(to, escaped, n_bad ? escape((unsigned char)bytes[good], escaped) : 0);
        bytes += good + n_bad;
        n -= good + n_bad;
    }
}
