/*
 * scan.h - looking at 16 bytes at once: how many digits there are, where white space ends, how far a string is plain.
 *
 * All may read up to 16 bytes (digit_bits() 32) from where they begin or end; sources keep padding.
 */
#ifndef TEXT_SCAN_H
#define TEXT_SCAN_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#ifdef __SSE2__
#include <emmintrin.h>
#endif

/* Bytes that scan functions look at. */
#define SCAN_BYTES 16

/* Digits at the start of `text`, at most 16. */
static inline size_t digit_run_short(const char *text) {
#ifdef __SSE2__
    __m128i less = _mm_sub_epi8(_mm_loadu_si128((const __m128i *)text), _mm_set1_epi8('0'));
    __m128i digit = _mm_cmpeq_epi8(_mm_min_epu8(less, _mm_set1_epi8(9)), less);
    return (size_t)__builtin_ctz(~(unsigned)_mm_movemask_epi8(digit));
#else
    size_t n = 0;
    while (n < SCAN_BYTES && text[n] >= '0' && text[n] <= '9')
        n++;
    return n;
#endif
}

/* Which of 32 bytes are digits: bit i stands for byte i. */
static inline uint32_t digit_bits(const char *text) {
#ifdef __SSE2__
    __m128i zero = _mm_set1_epi8('0'), nine = _mm_set1_epi8(9);
    __m128i low = _mm_sub_epi8(_mm_loadu_si128((const __m128i *)text), zero);
    __m128i high = _mm_sub_epi8(_mm_loadu_si128((const __m128i *)(text + SCAN_BYTES)), zero);
    return (unsigned)_mm_movemask_epi8(_mm_cmpeq_epi8(_mm_min_epu8(low, nine), low)) |
           (unsigned)_mm_movemask_epi8(_mm_cmpeq_epi8(_mm_min_epu8(high, nine), high)) << SCAN_BYTES;
#else
    uint32_t bits = 0;
    for (unsigned i = 0; i < 32; i++)
        bits |= (uint32_t)(text[i] >= '0' && text[i] <= '9') << i;
    return bits;
#endif
}

/* The first byte at or behind `at` that is not JSON's white space. The text ends in something else. */
static inline size_t space_end(const char *text, size_t at) {
    at += text[at] == ' ';
    while ((unsigned char)text[at] <= ' ') {
#ifdef __SSE2__
        __m128i bytes = _mm_loadu_si128((const __m128i *)(text + at));
        __m128i space = _mm_or_si128(
            _mm_or_si128(_mm_cmpeq_epi8(bytes, _mm_set1_epi8(' ')), _mm_cmpeq_epi8(bytes, _mm_set1_epi8('\n'))),
            _mm_or_si128(_mm_cmpeq_epi8(bytes, _mm_set1_epi8('\r')), _mm_cmpeq_epi8(bytes, _mm_set1_epi8('\t'))));
        unsigned n = (unsigned)__builtin_ctz(~(unsigned)_mm_movemask_epi8(space));
        at += n;
        if (n < SCAN_BYTES)
            return at;
#else
        if (text[at] != ' ' && text[at] != '\n' && text[at] != '\r' && text[at] != '\t')
            return at;
        at++;
#endif
    }
    return at;
}

/* The first byte at or behind `at`, inside a string, that is a quote, a backslash, a control character or above 0x7f.
 * The text ends in a zero. */
static inline size_t plain_end(const char *text, size_t at) {
#ifdef __SSE2__
    for (;; at += SCAN_BYTES) {
        __m128i bytes = _mm_loadu_si128((const __m128i *)(text + at));
        __m128i other = _mm_or_si128(
            _mm_or_si128(_mm_cmpeq_epi8(bytes, _mm_set1_epi8('"')), _mm_cmpeq_epi8(bytes, _mm_set1_epi8('\\'))),
            _mm_cmplt_epi8(bytes, _mm_set1_epi8(' '))); /* signed: the highest bit, too */
        unsigned mask = (unsigned)_mm_movemask_epi8(other);
        if (mask)
            return at + (unsigned)__builtin_ctz(mask);
    }
#else
    while (text[at] != '"' && text[at] != '\\' && (unsigned char)text[at] - 0x20u < 0x60)
        at++;
    return at;
#endif
}

/* `end` without the white space of JSON before it; something else stands before that. */
static inline size_t trim_end(const char *text, size_t end) {
    while (text[end - 1] == ' ' || text[end - 1] == '\n' || text[end - 1] == '\r' || text[end - 1] == '\t')
        end--;
    return end;
}

/* Where the element of a list ends that stands before the one at `next`: before the comma and white space around it. */
static inline size_t element_end(const char *text, size_t next) {
    size_t end = trim_end(text, next);
    return text[end - 1] == ',' ? trim_end(text, end - 1) : end;
}

/* Copies 16 bytes, and says whether the first `length` (at most 16) of them are written as they are: ASCII from space
 * to ~ without backslashes. Control characters and quotes are not looked for: raw strings hold none. */
static inline bool copy_plain(char *to, const char *text, size_t length) {
#ifdef __SSE2__
    __m128i bytes = _mm_loadu_si128((const __m128i *)text);
    __m128i other = _mm_or_si128(_mm_cmpeq_epi8(bytes, _mm_set1_epi8('\\')),
                                 _mm_or_si128(_mm_cmpeq_epi8(bytes, _mm_set1_epi8(0x7f)), bytes));
    _mm_storeu_si128((__m128i *)to, bytes);
    return ((unsigned)_mm_movemask_epi8(other) & ((1u << length) - 1)) == 0;
#else
    memcpy(to, text, SCAN_BYTES);
    for (size_t i = 0; i < length; i++)
        if (text[i] == '\\' || (unsigned char)text[i] >= 0x7f)
            return false;
    return true;
#endif
}

#endif
