/*
 * info_rows.h - output of `sutra info` for all file formats: text, or the start of a JSON object.
 *
 * Both forms use one list of rows: JSON name, description, count.
 */
#ifndef CLI_INFO_ROWS_H
#define CLI_INFO_ROWS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct info_row {
    const char *name;  /* in JSON */
    const char *words; /* for people */
    uint64_t count;
};

/* The file and its kind, which people see as "KIND trace". */
void info_head_print(const char *path, const char *kind, bool json);
void info_schema_print(const char *schema, bool json);
void info_rows_print(const struct info_row *rows, size_t n, bool json);

#endif
