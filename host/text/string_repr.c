/*
 * string_repr.c - a string as Python's repr() writes it.
 *
 * Nearly all strings of a trace are printable ASCII without quotes, which is copied.
 */
#include "text/string_text.h"

#include <string.h>

#include "text/unprintable.h"
#include "text/utf8.h"

/* Whether repr() keeps a character beyond ASCII: a search among the runs of those that it does not. */
static bool is_printable(uint32_t c) {
    size_t low = 0, high = sizeof unprintable / sizeof *unprintable;
    while (low < high) {
        size_t middle = low + (high - low) / 2;
        if (unprintable[middle][1] < c)
            low = middle + 1;
        else
            high = middle;
    }
    return low == sizeof unprintable / sizeof *unprintable || c < unprintable[low][0];
}

static char *put_hex(char *to, char letter, uint32_t value, unsigned n_digits) {
    *to++ = '\\';
    *to++ = letter;
    for (unsigned i = n_digits; i-- > 0;)
        *to++ = "0123456789abcdef"[value >> 4 * i & 15];
    return to;
}

static char *put_escaped(char *to, uint32_t c) {
    const char *at = c && c < 0x80 ? strchr("\tt\nn\rr\\\\", (int)c) : NULL;
    if (at) {
        *to++ = '\\';
        *to++ = at[1];
        return to;
    }
    if (c < 0x100)
        return put_hex(to, 'x', c, 2);
    return c < 0x10000 ? put_hex(to, 'u', c, 4) : put_hex(to, 'U', c, 8);
}

size_t string_repr(const char *decoded, size_t length, char *out) {
    const char *end = decoded + length;
    char quote = memchr(decoded, '\'', length) && !memchr(decoded, '"', length) ? '"' : '\'';
    char *to = out;
    *to++ = quote;
    while (decoded < end) {
        uint32_t c;
        const char *next = utf8_read(decoded, &c);
        if (c == (uint32_t)quote) {
            *to++ = '\\';
            *to++ = quote;
        } else if (c < 0x80 ? c < ' ' || c == 0x7f || c == '\\' : !is_printable(c)) {
            to = put_escaped(to, c);
        } else {
            to = mempcpy(to, decoded, (size_t)(next - decoded));
        }
        decoded = next;
    }
    *to++ = quote;
    return (size_t)(to - out);
}
