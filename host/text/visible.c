/*
 * visible.c - from bytes to what shows them.
 */
#include "text/visible.h"

#include <string.h>

#include "text/utf8.h"

static size_t escape(unsigned char byte, char *to) {
    static const char digits[] = "0123456789abcdef";
    to[0] = '\\';
    to[1] = 'x';
    to[2] = digits[byte >> 4];
    to[3] = digits[byte & 15];
    return 4;
}

/* The bytes behind the first of a character; 0: none begins with it. */
static unsigned n_behind(unsigned char byte) {
    return byte < 0xc2 ? 0 : byte < 0xe0 ? 1 : byte < 0xf0 ? 2 : byte < 0xf5 ? 3 : 0;
}

static size_t put_first(struct visible *visible, unsigned char byte, char *to) {
    visible->n_left = n_behind(byte);
    if ((byte < 0x20 && byte != '\n' && byte != '\t') || byte == 0x7f || (byte >= 0x80 && visible->n_left == 0))
        return escape(byte, to);
    visible->held = byte == 0xc2;
    to[0] = (char)byte;
    return visible->held ? 0 : 1;
}

size_t visible_put(struct visible *visible, char byte, char to[VISIBLE_MAX]) {
    unsigned char c = (unsigned char)byte;
    bool within = visible->n_left > 0 && c >= 0x80 && c < 0xc0;
    size_t n = 0;
    if (visible->held) {
        bool control = within && c < 0xa0;
        visible->held = false;
        n = control || !within ? escape(0xc2, to) : 1;
        if (n == 1)
            to[0] = (char)0xc2;
        if (control) {
            visible->n_left = 0;
            return n + escape(c, to + n);
        }
    }
    if (!within)
        return n + put_first(visible, c, to + n);
    visible->n_left--;
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
    unsigned n = n_whole(at);
    bool control = first == 0xc2 && n == 2 && (unsigned char)at[1] < 0xa0;
    if (first < 0x20 || first == 0x7f || (first >= 0x80 && n < 2) || control) {
        unsigned n_escaped = control ? 2 : 1;
        character->n_bytes = 0;
        for (unsigned i = 0; i < n_escaped; i++)
            character->n_bytes += (unsigned)escape((unsigned char)at[i], character->bytes + character->n_bytes);
        character->n_columns = character->n_bytes;
        return at + n_escaped;
    }
    uint32_t code_point;
    utf8_read(at, &code_point);
    memcpy(character->bytes, at, n);
    character->n_bytes = n;
    character->n_columns = is_wide(code_point) ? 2 : 1;
    return at + n;
}
