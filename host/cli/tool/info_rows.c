/*
 * info_rows.c - prints rows of counts as text or JSON.
 */
#include "cli/tool/info_rows.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "cli/tool/figures.h"
#include "cli/tool/json_text.h"
#include "cli/tool/screen.h"

void info_rows_print(const struct info_row *rows, size_t n, bool json) {
    for (size_t i = 0; i < n; i++)
        if (json)
            printf(",\n  \"%s\": %" PRIu64, rows[i].name, rows[i].count);
        else
            printf("%16s  %s\n", count_text(rows[i].count).text, rows[i].words);
}

void info_head_print(const char *path, const char *kind, bool json) {
    if (!json) {
        printf("%s: %s trace\n", short_path(path, screen_columns() - (unsigned)strlen(kind) - 8).text, kind);
        return;
    }
    printf("{\n  \"file\": ");
    json_string_print(stdout, path);
    printf(",\n  \"kind\": \"%s\"", kind);
}

void info_schema_print(const char *schema, bool json) {
    if (json) {
        printf(",\n  \"schema\": ");
        json_string_print(stdout, schema);
    } else {
        printf("  schema %s\n", *schema ? short_text(schema, screen_columns() - 9).text : "not recorded");
    }
}
