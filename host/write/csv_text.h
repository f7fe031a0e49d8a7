/*
 * csv_text.h - values in CSV as pandas writes them.
 */
#ifndef WRITE_CSV_TEXT_H
#define WRITE_CSV_TEXT_H

#include "write/text_out.h"

/* In quotes only where it has to be. Bytes that are not UTF-8 become \xff. */
void csv_text(struct text_out *text, const char *bytes, size_t length);

/* The same with ' before text that begins with =, +, -, @, a tab or a carriage return, which a spreadsheet would run as
 * a formula (OWASP, CSV injection), except numbers with a sign. */
void csv_safe_text(struct text_out *text, const char *bytes, size_t length);

/* As Python's repr() has it; nothing for NaN. */
void csv_real(struct text_out *text, double value);

#endif
