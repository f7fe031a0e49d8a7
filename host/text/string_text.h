/*
 * string_text.h - strings between their JSON text, UTF-8 and the ASCII text that Python's json module writes.
 *
 * "Raw" is what stands between the quotes of a JSON file, already known to be valid: UTF-8, no control characters,
 * legal escapes. "Decoded" is UTF-8 in which lone surrogates appear as three bytes each (WTF-8). "Written" is ASCII:
 * all but space to ~ as \uXXXX in lower-case hex, surrogate pairs above U+FFFF, \" \\ \n \r \t \f \b short. Text
 * pointers may be read up to 64 bytes past the end that is given; sources keep that padding.
 */
#ifndef TEXT_STRING_TEXT_H
#define TEXT_STRING_TEXT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Raw to written; returns the bytes written, at most 6 * length. Up to 64 bytes beyond those may be scribbled on. */
size_t string_rewrite(const char *raw, size_t length, char *out);

/* Raw to decoded; returns the bytes written, at most `length`; `out` may not overlap. */
size_t string_decode(const char *raw, size_t length, char *out);

/* Decoded to written; returns the bytes written, at most 6 * length. */
size_t string_encode(const char *decoded, size_t length, char *out);

/* Decoded to the repr() of Python 3.11, with its quotes, in UTF-8: characters that are not printable (Unicode 14) are
 * escaped, lone surrogates too. Returns the bytes written, at most 4 * length + 2. */
size_t string_repr(const char *decoded, size_t length, char *out);

/* Offset of the first byte that is not well-formed UTF-8 (surrogates and overlong forms are not), or n. */
size_t utf8_check(const char *bytes, size_t n);

/* Python's int(str) of a decoded string: white space around, a sign, digits of any script, single underscores between
 * digits. Writes the canonical text ("-" and digits without leading zeros, "0" without sign) to `out`, which has room
 * for length + 1 bytes, and returns its length; 0: int() would raise ValueError (also above INTEGER_DIGITS_MAX digits).
 */
size_t python_int(const char *decoded, size_t length, char *out);

#endif
