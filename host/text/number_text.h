/*
 * number_text.h - numbers between their JSON text, doubles and the text that Python's json module writes.
 *
 * Text pointers (but for integer_parse()) may be read up to 32 bytes past the end that is given; sources keep that
 * padding (zeros).
 */
#ifndef TEXT_NUMBER_TEXT_H
#define TEXT_NUMBER_TEXT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Most bytes that double_format() and integer_format() write. */
#define NUMBER_TEXT_MAX 32

/* Digits that Python reads in one integer. */
#define INTEGER_DIGITS_MAX 4300

enum number_form { NUMBER_FORM_INTEGER, NUMBER_FORM_REAL, NUMBER_FORM_BAD };

/* Length of the JSON number at `text` (NaN, Infinity and -Infinity too, as reals); reads on to the first character that
 * cannot belong to it. BAD: not a number; the length is then the offset of the offending character. Whether what
 * follows may follow a number is for the caller to check. */
enum number_form number_scan(const char *text, size_t *length);

/* The value of an integer's text, if it fits 64 bits. */
bool integer_parse(const char *text, size_t length, int64_t *value);

/* The nearest double (ties to even) to a number's text of either form; overflow gives infinity, as in Python. */
double double_parse(const char *text, size_t length);

/* The nearest double to digits * 10^exponent; digits are not 0. */
double double_of_digits(uint64_t digits, int exponent);

/* Python's repr of a double, "NaN", "Infinity" or "-Infinity"; decimal integers. No NUL is written. */
size_t double_format(double value, char *out);
size_t integer_format(int64_t value, char *out);

/* The text of a number as Python would write it after reading `text`: an integer is kept (but -0 is 0), a real is the
 * repr of its double. Writes at most max(length, NUMBER_TEXT_MAX) bytes, though up to 32 beyond may be scribbled on. */
size_t number_rewrite(const char *text, size_t length, enum number_form form, char *out);

#endif
