/*
 * strings.h - strings between their JSON text, UTF-8 and the ASCII text that Python's json module writes.
 *
 * "Raw" is the text between the quotes in a JSON file, already checked: UTF-8, no control characters,
 * legal escapes. "Decoded" is UTF-8 in which lone surrogates appear as three bytes each (WTF-8). "Written" is ASCII:
 * characters except space to ~ as \uXXXX in lower-case hex, surrogate pairs above U+FFFF, \" \\ \n \r \t \f \b short.
 * Text pointers may be read up to 64 bytes past the end that is given; sources keep that padding.
 */
#ifndef TEXT_STRINGS_H
#define TEXT_STRINGS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>
#include <strings.h>

#include "base/memory.h"

/* The part of a path after its last slash. */
static inline const char *path_file_name(const char *path) {
    const char *slash = strrchr(path, '/');
    return slash ? slash + 1 : path;
}

/*
 * ---- Visible text: control characters, which could move a terminal's cursor, change its title or hide text, as \x1b
 * ----
 *
 * Escaped are bytes below space except line ends and tabs, DEL, C1 (U+0080 to U+009F), characters that set the
 * direction of text, line and paragraph separators, and bytes that are not UTF-8. Text may be passed in pieces: struct
 * visible keeps incomplete characters.
 */

/* Longest output for one byte: four escaped bytes. */
#define VISIBLE_MAX 16

/* Zero-initialize. */
struct visible {
    char held[4]; /* bytes of an incomplete character */
    unsigned n_held, n_left;
};

/* Whether a character beyond ASCII is a control character: C1, direction of text (U+061C, U+200E, U+200F, U+202A to
 * U+202E, U+2066 to U+2069), separators of lines and paragraphs (U+2028, U+2029). */
bool is_wide_control(uint32_t code_point);

/* Writes the visible text of `byte`; returns the number of written bytes. */
size_t visible_append(struct visible *visible, char byte, char to[VISIBLE_MAX]);

/* Writes the visible text of the bytes from *at to `end`, as far as it fits `room` (at least VISIBLE_MAX); advances
 * *at, and returns the number of written bytes. */
size_t visible_fill(struct visible *visible, const char **at, const char *end, char *to, size_t room);

/* A character of a name, in which line ends and tabs are escaped, too. */
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

/* Appends a word, quoted for a POSIX shell where necessary. */
void shell_append_word(struct buffer *to, const char *word);

/* Raw to written; returns the bytes written, at most 6 * length. Up to 64 bytes beyond those may be scribbled on. */
size_t string_rewrite(const char *raw, size_t length, char *out);

/* Length of the escape sequence of JSON whose backslash is at `text`, 2 or 6; 0: invalid. */
size_t string_escape_length(const char *text);

/* Raw to decoded; returns the bytes written, at most `length`; `out` may not overlap. */
size_t string_decode(const char *raw, size_t length, char *out);

/* Decoded to written; returns the bytes written, at most 6 * length. */
size_t string_encode(const char *decoded, size_t length, char *out);

/* Decoded to the repr() of Python 3.11, with its quotes, in UTF-8: characters that are not printable (Unicode 14) are
 * escaped, lone surrogates too. Returns the bytes written, at most 4 * length + 2. */
size_t string_repr(const char *decoded, size_t length, char *out);

/* Compares texts as versionsort does: numbers by value, before other characters; equal texts by their bytes. */
int compare_natural(const char *a, const char *b);

/* Offset of the first byte that is not well-formed UTF-8 (surrogates and overlong forms are not), or n. */
size_t utf8_check(const char *bytes, size_t n);

/* Python's int(str) of a decoded string: white space around, a sign, digits of any script, single underscores between
 * digits. Writes the canonical text ("-" and digits without leading zeros, "0" without sign) to `out`, which has room
 * for length + 1 bytes, and returns its length; 0: int() would raise ValueError (also above INTEGER_DIGITS_MAX digits).
 */
size_t python_int(const char *decoded, size_t length, char *out);

/* Whether a character is an ASCII letter. */
static inline bool is_letter(char c) {
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z');
}

static inline bool text_begins_with(const char *text, size_t length, const char *word) {
    size_t n = strlen(word);
    return length >= n && memcmp(text, word, n) == 0;
}

/* Whether the text is longer than `ending` and ends in it. */
static inline bool text_ends_in(const char *text, const char *ending) {
    size_t length = strlen(text), n = strlen(ending);
    return length > n && strcmp(text + length - n, ending) == 0;
}

/* Whether the text, which may contain NUL, contains the word. */
static inline bool text_has(const char *text, size_t length, const char *word) {
    return memmem(text, length, word, strlen(word)) != NULL;
}

/* The same, ignoring case; true for an empty word. */
static inline bool text_has_in_any_case(const char *text, size_t length, const char *word) {
    size_t n = strlen(word);
    for (size_t i = 0; n > 0 && i + n <= length; i++)
        if ((text[i] | 0x20) == (*word | 0x20) && strncasecmp(text + i, word, n) == 0)
            return true;
    return n == 0;
}

/*
 * ---- Scans of 16 bytes at once: number of digits, end of white space, end of plain text in a string ----
 *
 * All may read up to 16 bytes (digit_bits() 32) after their first or last byte; sources have padding.
 */

#ifdef __SSE2__
#include <emmintrin.h>
#endif

/* Bytes that scan functions read in one step. */
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

/* The first byte at or after `at` that is not JSON's white space. The last byte of the text is no white space. */
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

/* The first byte at or after `at`, inside a string, that is a quote, a backslash, a control character or above 0x7f.
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

/* `end` without JSON's white space before it, which must follow another byte. */
static inline size_t trim_end(const char *text, size_t end) {
    while (text[end - 1] == ' ' || text[end - 1] == '\n' || text[end - 1] == '\r' || text[end - 1] == '\t')
        end--;
    return end;
}

/* The end of the list element before the element at `next`, without the comma and white space between them. */
static inline size_t element_end(const char *text, size_t next) {
    size_t end = trim_end(text, next);
    return text[end - 1] == ',' ? trim_end(text, end - 1) : end;
}

/* Copies 16 bytes. Returns whether the first `length` (at most 16) of them are written unchanged: ASCII from space to ~
 * without backslashes. Raw strings contain no control characters or quotes, so these are not checked. */
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

/* ---- One character of well-formed UTF-8, lone surrogates included (WTF-8) ---- */

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
