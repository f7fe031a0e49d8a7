/*
 * utf8.h - one character of well-formed UTF-8, lone surrogates included (WTF-8), and surrogate pairs.
 */
#ifndef TEXT_UTF8_H
#define TEXT_UTF8_H

#include <stdbool.h>
#include <stdint.h>

/* The character at `bytes`; returns where the next one begins. */
static inline const char *utf8_read(const char *bytes, uint32_t *code_point) {
    const unsigned char *b = (const unsigned char *)bytes;
    if (b[0] < 0x80) {
        *code_point = b[0];
        return bytes + 1;
    }
    if (b[0] < 0xe0) {
        *code_point = (b[0] & 0x1fu) << 6 | (b[1] & 0x3fu);
        return bytes + 2;
    }
    if (b[0] < 0xf0) {
        *code_point = (b[0] & 0x0fu) << 12 | (b[1] & 0x3fu) << 6 | (b[2] & 0x3fu);
        return bytes + 3;
    }
    *code_point = (b[0] & 0x07u) << 18 | (b[1] & 0x3fu) << 12 | (b[2] & 0x3fu) << 6 | (b[3] & 0x3fu);
    return bytes + 4;
}

static inline char *utf8_write(uint32_t code_point, char *out) {
    if (code_point < 0x80) {
        *out++ = (char)code_point;
        return out;
    }
    if (code_point < 0x800) {
        *out++ = (char)(0xc0 | code_point >> 6);
    } else {
        if (code_point < 0x10000) {
            *out++ = (char)(0xe0 | code_point >> 12);
        } else {
            *out++ = (char)(0xf0 | code_point >> 18);
            *out++ = (char)(0x80 | (code_point >> 12 & 0x3f));
        }
        *out++ = (char)(0x80 | (code_point >> 6 & 0x3f));
    }
    *out++ = (char)(0x80 | (code_point & 0x3f));
    return out;
}

static inline bool is_high_surrogate(uint32_t unit) {
    return unit >> 10 == 0xd800 >> 10;
}

static inline bool is_low_surrogate(uint32_t unit) {
    return unit >> 10 == 0xdc00 >> 10;
}

static inline uint32_t surrogates_join(uint32_t high, uint32_t low) {
    return 0x10000 + ((high & 0x3ff) << 10 | (low & 0x3ff));
}

#endif
