/*
 * decimal_ns.h - nanoseconds from the text of microseconds, exactly: the value of a double would not do above 2^53 ns.
 */
#ifndef TEXT_DECIMAL_NS_H
#define TEXT_DECIMAL_NS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define NS_PER_US 1000

/* The nearest integer (ties to even) to 1000 times the JSON number at `text`, which has `length` bytes. False: 2^62 or
 * more in magnitude, or no decimal number. O(length). */
bool decimal_ns(const char *text, size_t length, int64_t *ns);

#endif
