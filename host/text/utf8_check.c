/*
 * utf8_check.c - where UTF-8 stops being well-formed.
 *
 * ASCII is skipped 16 bytes at a time; other characters are checked one by one. The second byte decides what the first
 * leaves open (overlong forms, surrogates, beyond U+10FFFF), so its range depends on the first; the others are 80-BF.
 */
#include "text/digits.h"
#include "text/string_text.h"

/* Bytes at the start that are ASCII, in steps of 16; the rest is left to the caller. */
static size_t ascii_run(const char *bytes, size_t n) {
    size_t i = 0;
    while (n - i >= 16 && !((word_load(bytes + i) | word_load(bytes + i + 8)) & EACH_BYTE(0x80)))
        i += 16;
    return i;
}

static bool within(unsigned char byte, unsigned char least, unsigned char most) {
    return byte >= least && byte <= most;
}

/* Length of the character of more than one byte at `b`, of which `n` bytes are there; 0: it is not well-formed. */
static size_t character_length(const unsigned char *b, size_t n) {
    size_t length = b[0] < 0xe0 ? 2 : b[0] < 0xf0 ? 3 : 4;
    if (b[0] < 0xc2 || b[0] > 0xf4 || n < length)
        return 0;
    unsigned char least = b[0] == 0xe0 ? 0xa0 : b[0] == 0xf0 ? 0x90 : 0x80;
    unsigned char most = b[0] == 0xed ? 0x9f : b[0] == 0xf4 ? 0x8f : 0xbf;
    if (!within(b[1], least, most))
        return 0;
    for (size_t i = 2; i < length; i++)
        if (!within(b[i], 0x80, 0xbf))
            return 0;
    return length;
}

size_t utf8_check(const char *bytes, size_t n) {
    size_t i = 0;
    while (i < n) {
        i += ascii_run(bytes + i, n - i);
        while (i < n && (unsigned char)bytes[i] < 0x80)
            i++;
        while (i < n && (unsigned char)bytes[i] >= 0x80) {
            size_t length = character_length((const unsigned char *)bytes + i, n - i);
            if (!length)
                return i;
            i += length;
        }
    }
    return n;
}
