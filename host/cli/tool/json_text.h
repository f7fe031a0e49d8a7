/*
 * json_text.h - encode arbitrary bytes as JSON strings in ASCII.
 */
#ifndef CLI_JSON_TEXT_H
#define CLI_JSON_TEXT_H

#include <stdio.h>

/* Writes `text` with its quotes. Bytes that are no UTF-8 become \udc80 to \udcff, as Python's surrogateescape has it,
 * so that any file name gives valid JSON. */
void json_string_print(FILE *file, const char *text);

#endif
