/*
 * visible.c - from bytes to what shows them.
 */
#include "text/visible.h"

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
