/*
 * csv_text.h - values in CSV as pandas writes them.
 */
#ifndef WRITE_CSV_TEXT_H
#define WRITE_CSV_TEXT_H

#include "write/text_out.h"

/* In quotes only where it has to be. */
void csv_text(struct text_out *text, const char *bytes, size_t length);

/* As Python's repr() has it; nothing for NaN. */
void csv_real(struct text_out *text, double value);

#endif
