/*
 * string_text.c - JSON strings from one of their three forms to another.
 *
 * Most strings of a trace are plain ASCII, the same in all forms. string_rewrite(), which every string of the output
 * goes through, copies 32 bytes at a time and looks at them meanwhile; the few characters that need work are then done
 * one by one. That they need work is seen from the highest bit of byte + 1 (DEL and beyond), or by comparing with a
 * backslash.
 */
#include "text/string_text.h"

#include "text/digits.h"
#include "text/utf8.h"

#include <string.h>
#ifdef __SSE2__
#include <emmintrin.h>
#endif

/* The letter of a short escape. */
static const char escape_letter[128] = {
    ['"'] = '"', ['\\'] = '\\', ['\b'] = 'b', ['\f'] = 'f', ['\n'] = 'n', ['\r'] = 'r', ['\t'] = 't'};

/* ---- writing ---- */

static char *write_unit(uint32_t unit, char *out) {
    static const char hex[] = "0123456789abcdef";
    out[0] = '\\';
    out[1] = 'u';
    out[2] = hex[unit >> 12];
    out[3] = hex[unit >> 8 & 15];
    out[4] = hex[unit >> 4 & 15];
    out[5] = hex[unit & 15];
    return out + 6;
}

/* A character, or half a surrogate pair, as Python writes it. */
static char *write_character(uint32_t code_point, char *out) {
    if (code_point >= 0x10000) {
        out = write_unit(0xd7c0 + (code_point >> 10), out); /* d800 - (10000 >> 10) */
        return write_unit(0xdc00 | (code_point & 0x3ff), out);
    }
    if (code_point < 0x80 && escape_letter[code_point]) {
        out[0] = '\\';
        out[1] = escape_letter[code_point];
        return out + 2;
    }
    if (code_point < ' ' || code_point > '~')
        return write_unit(code_point, out);
    *out = (char)code_point;
    return out + 1;
}

/* ---- reading escapes ---- */

static uint32_t hex_value(char c) {
    return is_digit(c) ? (uint32_t)(c - '0') : (uint32_t)((c | 0x20) - 'a' + 10) & 15;
}

/* Four hexadecimal digits. */
static uint32_t read_unit(const char *hex) {
    return hex_value(hex[0]) << 12 | hex_value(hex[1]) << 8 | hex_value(hex[2]) << 4 | hex_value(hex[3]);
}

static uint32_t short_escape_value(char letter) {
    switch (letter) {
    case 'b':
        return '\b';
    case 'f':
        return '\f';
    case 'n':
        return '\n';
    case 'r':
        return '\r';
    case 't':
        return '\t';
    default:
        return (unsigned char)letter; /* " \ and / stand for themselves */
    }
}

/* The escape at `raw`, without looking whether it is half a pair; returns what follows it. */
static const char *read_escape(const char *raw, uint32_t *unit) {
    if (raw[1] == 'u') {
        *unit = read_unit(raw + 2);
        return raw + 6;
    }
    *unit = short_escape_value(raw[1]);
    return raw + 2;
}

/* The character at the escape `raw`; two escapes that are a surrogate pair count as one. */
static const char *read_escaped_character(const char *raw, const char *end, uint32_t *code_point) {
    raw = read_escape(raw, code_point);
    if (!is_high_surrogate(*code_point) || end - raw < 6 || raw[0] != '\\' || raw[1] != 'u')
        return raw;
    uint32_t low = read_unit(raw + 2);
    if (!is_low_surrogate(low))
        return raw;
    *code_point = surrogates_join(*code_point, low);
    return raw + 6;
}

/* ---- copying what needs no work ---- */

#ifdef __SSE2__

#define STEP 32

/* Copies STEP bytes; a bit is set for each of them that needs work. */
static inline uint64_t copy_step(const char *raw, char *out) {
    __m128i first = _mm_loadu_si128((const __m128i *)(const void *)raw);
    __m128i second = _mm_loadu_si128((const __m128i *)(const void *)(raw + 16));
    _mm_storeu_si128((__m128i *)(void *)out, first);
    _mm_storeu_si128((__m128i *)(void *)(out + 16), second);
    const __m128i backslash = _mm_set1_epi8('\\'), one = _mm_set1_epi8(1);
    first = _mm_or_si128(_mm_add_epi8(first, one), _mm_cmpeq_epi8(first, backslash));
    second = _mm_or_si128(_mm_add_epi8(second, one), _mm_cmpeq_epi8(second, backslash));
    return (uint64_t)(unsigned)_mm_movemask_epi8(first) | (uint64_t)(unsigned)_mm_movemask_epi8(second) << 16;
}

static inline size_t step_offset(uint64_t mask) {
    return (size_t)__builtin_ctzll(mask);
}

#else

#define STEP 8

/* The same eight bytes at a time, with the highest bit of a byte set; only the lowest such bit can be trusted. */
static inline uint64_t copy_step(const char *raw, char *out) {
    uint64_t word = word_load(raw), other = word ^ EACH_BYTE('\\');
    word_store(out, word);
    return (word | (word + EACH_BYTE(1)) | ((other - EACH_BYTE(1)) & ~other)) & EACH_BYTE(0x80);
}

static inline size_t step_offset(uint64_t mask) {
    return (size_t)__builtin_ctzll(mask) / 8;
}

#endif

/* Copies up to the first byte that needs work or the end; returns how many bytes are good. */
static inline size_t copy_plain(const char *raw, size_t length, char *out) {
    for (size_t i = 0; i < length; i += STEP) {
        uint64_t mask = copy_step(raw + i, out + i);
        if (mask) {
            i += step_offset(mask);
            return i < length ? i : length;
        }
    }
    return length;
}

/* Bytes of decoded text that are written as they are. */
static size_t plain_run(const char *text, size_t length) {
    size_t n = 0;
    for (; length - n >= 8; n += 8) {
        uint64_t word = word_load(text + n), quote = word ^ EACH_BYTE('"'), backslash = word ^ EACH_BYTE('\\');
        uint64_t equal = ((quote - EACH_BYTE(1)) & ~quote) | ((backslash - EACH_BYTE(1)) & ~backslash);
        uint64_t work = (word | (word + EACH_BYTE(1)) | (word - EACH_BYTE(' ')) | equal) & EACH_BYTE(0x80);
        if (work)
            return n + (size_t)__builtin_ctzll(work) / 8;
    }
    while (n < length && text[n] >= ' ' && text[n] <= '~' && text[n] != '"' && text[n] != '\\')
        n++;
    return n;
}

/* ---- the three conversions ---- */

size_t string_rewrite(const char *raw, size_t length, char *out) {
    const char *end = raw + length;
    char *to = out;
    while (raw < end) {
        size_t plain = copy_plain(raw, (size_t)(end - raw), to);
        raw += plain;
        to += plain;
        while (raw < end && (*raw == '\\' || (unsigned char)*raw >= 0x7f)) {
            uint32_t code_point;
            raw = *raw == '\\' ? read_escape(raw, &code_point) : utf8_read(raw, &code_point);
            to = write_character(code_point, to);
        }
    }
    return (size_t)(to - out);
}

size_t string_decode(const char *raw, size_t length, char *out) {
    const char *end = raw + length;
    char *to = out;
    while (raw < end) {
        const char *escape = memchr(raw, '\\', (size_t)(end - raw));
        size_t plain = (size_t)((escape ? escape : end) - raw);
        memcpy(to, raw, plain);
        raw += plain;
        to += plain;
        while (raw < end && *raw == '\\') {
            uint32_t code_point;
            raw = read_escaped_character(raw, end, &code_point);
            to = utf8_write(code_point, to);
        }
    }
    return (size_t)(to - out);
}

size_t string_encode(const char *decoded, size_t length, char *out) {
    const char *end = decoded + length;
    char *to = out;
    while (decoded < end) {
        size_t plain = plain_run(decoded, (size_t)(end - decoded));
        memcpy(to, decoded, plain);
        decoded += plain;
        to += plain;
        if (decoded < end) {
            uint32_t code_point;
            decoded = utf8_read(decoded, &code_point);
            to = write_character(code_point, to);
        }
    }
    return (size_t)(to - out);
}
