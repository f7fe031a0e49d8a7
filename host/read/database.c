/*
 * database.c - implements database.h on SQLite's C interface.
 *
 * A scan is one SELECT without order, joins and conditions except a range of rowids, so that SQLite reads the pages of
 * the table once, in their order; several connections read disjoint ranges. Pages are mapped, not copied.
 */
#include "read/database.h"

#include <ctype.h>
#include <inttypes.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "base/error.h"
#include "base/memory.h"
#include "base/shared.h"

#define PROGRESS_STEPS 10000 /* instructions of SQLite between two calls of check_progress() */

/* Limit of the rows and texts of a database, as a multiple of the file: a row has at least 4 bytes of the file, and
 * UTF-16 becomes UTF-8 with up to 1.5 times the bytes. Only a corrupt file refers to the same bytes many times. */
#define ROW_BYTES_MIN    4
#define MAX_BYTES_FACTOR 4
#define COUNT_BYTES_STEP 4096 /* a connection adds its bytes to the shared count in steps of this size */

#define TEXT_BYTES_MAX ((uint64_t)1 << 28)

/* Stops a query if the call is cancelled. */
static int check_progress(void *arg) {
    const struct database *database = arg;
    return context_is_cancelled(database->context);
}

static enum sutra_status report_failure(const struct database *database, int code, struct sutra_error *error) {
    TRY_ALLOC(code != SQLITE_NOMEM, error);
    if (code == SQLITE_INTERRUPT && context_is_cancelled(database->context))
        return context_early_end_error(database->context, error);
    const char *reason = database->handle ? sqlite3_errmsg(database->handle) : sqlite3_errstr(code);
    return error_file(error, SUTRA_DATA, database->file->name,
                      "truncated or corrupt SQLite database (%s): export or copy the report again", reason);
}

/* SQLite reads the log of a database that is still open from a second file, which an immutable database ignores. */
static enum sutra_status refuse_open_log(const struct database_file *file, struct sutra_error *error) {
    struct stat found;
    char *log = NULL;
    TRY_ALLOC(asprintf(&log, "%s-wal", file->path) >= 0, error);
    bool is_open = stat(log, &found) == 0 && found.st_size > 0;
    free(log);
    if (!is_open)
        return SUTRA_OK;
    return error_file(error, SUTRA_DATA, file->name,
                      "the database has an open write-ahead log (%s-wal): close the program that writes it",
                      file->path);
}

/* The path as a URI, in which only letters, digits and a few other bytes stand for themselves. */
static char *make_uri(const char *path) {
    struct buffer uri = {0};
    buffer_append_text(&uri, "file:");
    for (; *path; path++) {
        char escaped[4];
        bool is_plain = isalnum((unsigned char)*path) || strchr("/._-", *path);
        int n = is_plain ? 1 : snprintf(escaped, sizeof escaped, "%%%02x", (unsigned char)*path);
        buffer_append(&uri, is_plain ? path : escaped, (size_t)n);
    }
    static const char end[] = "?mode=ro&immutable=1";
    buffer_append(&uri, end, sizeof end);
    if (uri.failed)
        buffer_free(&uri);
    return uri.bytes;
}

enum sutra_status database_open(struct database *database, struct database_file *file,
                                const struct sutra_context *context, struct sutra_error *error) {
    *database = (struct database){.file = file, .context = context, .n_rows_left = UINT64_MAX};
    if (file->path)
        TRY(refuse_open_log(file, error));
    char *uri = file->path ? make_uri(file->path) : NULL;
    if (file->path && !uri)
        return error_memory(error);
    int code = sqlite3_open_v2(
        uri ? uri : ":memory:", &database->handle,
        (uri ? SQLITE_OPEN_READONLY : SQLITE_OPEN_READWRITE) | SQLITE_OPEN_URI | SQLITE_OPEN_NOMUTEX, NULL);
    free(uri);
    if (code == SQLITE_OK && !file->path) {
        code = sqlite3_deserialize(database->handle, "main", (unsigned char *)file->bytes, (sqlite3_int64)file->size,
                                   (sqlite3_int64)file->size, SQLITE_DESERIALIZE_READONLY);
    }
    if (code != SQLITE_OK)
        return report_failure(database, code, error);
    sqlite3_progress_handler(database->handle, PROGRESS_STEPS, check_progress, database);
    sqlite3_db_config(database->handle, SQLITE_DBCONFIG_DEFENSIVE, 1, NULL);
    sqlite3_db_config(database->handle, SQLITE_DBCONFIG_TRUSTED_SCHEMA, 0, NULL);
    sqlite3_db_config(database->handle, SQLITE_DBCONFIG_ENABLE_VIEW, 0, NULL);
    sqlite3_drop_modules(database->handle, NULL); /* virtual tables */
    sqlite3_limit(database->handle, SQLITE_LIMIT_LENGTH, (int)MIN(file->size * MAX_BYTES_FACTOR, TEXT_BYTES_MAX));
    char pragma[80];
    snprintf(pragma, sizeof pragma, "PRAGMA mmap_size=%" PRIu64, MIN(file->size, (uint64_t)1 << 46));
    sqlite3_exec(database->handle, pragma, NULL, NULL, NULL); /* if refused, pages are copied */
    return SUTRA_OK;
}

void database_close(struct database *database) {
    sqlite3_close(database->handle);
    *database = (struct database){0};
}

enum sutra_status database_step(struct database *database, sqlite3_stmt *scan, bool *more, struct sutra_error *error) {
    int code = sqlite3_step(scan);
    *more = code == SQLITE_ROW;
    if (code == SQLITE_DONE)
        return SUTRA_OK;
    if (code != SQLITE_ROW)
        return report_failure(database, code, error);
    bool repeats_rows = database->n_rows_left-- == 0;
    database->n_bytes += ROW_BYTES_MIN;
    for (int i = 0, n = sqlite3_column_count(scan); i < n; i++) {
        int type = sqlite3_column_type(scan, i);
        if (type == SQLITE_TEXT || type == SQLITE_BLOB)
            database->n_bytes += (uint64_t)sqlite3_column_bytes(scan, i);
    }
    if (database->n_bytes >= COUNT_BYTES_STEP) {
        struct database_file *file = database->file;
        uint64_t n_before = atomic_fetch_add_explicit(&file->n_bytes, database->n_bytes, memory_order_relaxed);
        repeats_rows |= n_before > file->size * MAX_BYTES_FACTOR;
        database->n_bytes = 0;
    }
    if (!repeats_rows)
        return SUTRA_OK;
    return error_file(error, SUTRA_DATA, database->file->name,
                      "corrupt SQLite database (repeats rows or texts): export or copy the report again");
}

enum sutra_status database_list(struct database *database, struct arena *arena, struct database_table **tables,
                                size_t *n, struct sutra_error *error) {
    static const char query[] = "SELECT name, type FROM sqlite_master WHERE type IN ('table', 'view')";
    sqlite3_stmt *scan = NULL;
    uint64_t capacity = 0;
    bool more = true;
    *tables = NULL;
    *n = 0;
    int code = sqlite3_prepare_v2(database->handle, query, -1, &scan, NULL);
    enum sutra_status status = code == SQLITE_OK ? SUTRA_OK : report_failure(database, code, error);
    while (!status && !(status = database_step(database, scan, &more, error)) && more) {
        const char *name = (const char *)sqlite3_column_text(scan, 0);
        const char *type = (const char *)sqlite3_column_text(scan, 1);
        if (!name || !type || !arena_grow(arena, tables, *n, &capacity, sizeof **tables))
            continue;
        (*tables)[(*n)++] = (struct database_table){
            .name = arena_text(arena, name, strlen(name)), .is_view = strcmp(type, "view") == 0, .first_row = 1};
    }
    sqlite3_finalize(scan);
    return status ? status : arena_status(arena, error);
}

const struct database_table *database_find(const struct database_table *tables, size_t n, const char *name) {
    const struct database_table *found = NULL;
    long highest = -1;
    size_t length = strlen(name);
    for (size_t i = 0; i < n; i++) {
        const char *end = tables[i].name + length;
        if (strncmp(tables[i].name, name, length) != 0)
            continue;
        char *after = NULL;
        long version = *end ? -1 : 0;
        if (strncmp(end, "_V", 2) == 0 && isdigit((unsigned char)end[2])) {
            version = strtol(end + 2, &after, 10);
            version = *after ? -1 : version;
        }
        if (version > highest) {
            highest = version;
            found = &tables[i];
        }
    }
    return found;
}

/* Appends a name in quotes. */
static void append_name(struct buffer *query, const char *name, size_t length) {
    buffer_append_text(query, "\"");
    for (size_t i = 0; i < length; i++)
        buffer_append(query, name[i] == '"' ? "\"\"" : &name[i], name[i] == '"' ? 2 : 1);
    buffer_append_text(query, "\"");
}

/* Appends the query's end, prepares it and frees the text. */
static int prepare(struct database *database, struct buffer *query, sqlite3_stmt **scan) {
    buffer_append(query, "", 1);
    int code = query->failed ? SQLITE_NOMEM
                             : sqlite3_prepare_v2(database->handle, query->bytes, (int)query->length, scan, NULL);
    buffer_free(query);
    return code;
}

enum sutra_status database_bounds(struct database *database, struct database_table *table, bool *is_empty,
                                  struct sutra_error *error) {
    struct buffer query = {0};
    sqlite3_stmt *scan = NULL;
    bool more = false;
    *is_empty = false;
    if (table->is_view)
        return SUTRA_OK;
    /* Both in one query would scan the table: SQLite uses the tree for a single minimum or maximum. */
    static const char minimum[] = "SELECT (SELECT min(rowid) FROM ", maximum[] = "), (SELECT max(rowid) FROM ";
    buffer_append(&query, minimum, sizeof minimum - 1);
    append_name(&query, table->name, strlen(table->name));
    buffer_append(&query, maximum, sizeof maximum - 1);
    append_name(&query, table->name, strlen(table->name));
    buffer_append_text(&query, ")");
    int code = prepare(database, &query, &scan);
    TRY_ALLOC(code != SQLITE_NOMEM, error);
    if (code != SQLITE_OK) /* a table without rowids */
        return SUTRA_OK;
    enum sutra_status status = database_step(database, scan, &more, error);
    if (!status && more && sqlite3_column_type(scan, 0) == SQLITE_INTEGER) {
        table->first_row = sqlite3_column_int64(scan, 0);
        table->last_row = sqlite3_column_int64(scan, 1);
    }
    *is_empty = !status && table->first_row > table->last_row;
    sqlite3_finalize(scan);
    return status;
}

/* Marks the columns, separated by spaces, that a table has in `found`, a bit for each. A generated column is an error:
 * it computes a value of any size from nothing. */
static enum sutra_status find_columns(struct database *database, const char *table, const char *columns,
                                      uint32_t *found, struct sutra_error *error) {
    enum { NAME = 1, HIDDEN = 6, IS_GENERATED = 2 }; /* columns of the pragma's rows, and a value */
    struct buffer query = {0};
    sqlite3_stmt *scan = NULL;
    enum sutra_status status = SUTRA_OK;
    buffer_append_text(&query, "PRAGMA table_xinfo(");
    append_name(&query, table, strlen(table));
    buffer_append_text(&query, ")");
    int code = prepare(database, &query, &scan);
    while (code == SQLITE_OK && !status && (code = sqlite3_step(scan)) == SQLITE_ROW) {
        const char *name = (const char *)sqlite3_column_text(scan, NAME);
        uint32_t bit = 1;
        code = SQLITE_OK;
        for (const char *at = columns; *at && name; bit <<= 1) {
            size_t length = strcspn(at, " ");
            bool is_column = strlen(name) == length && sqlite3_strnicmp(name, at, (int)length) == 0;
            *found |= is_column ? bit : 0;
            if (is_column && sqlite3_column_int(scan, HIDDEN) == IS_GENERATED)
                status = error_file(error, SUTRA_DATA, database->file->name,
                                    "column %.*s of table %s is a generated column: export the report again",
                                    (int)length, at, table);
            at += length + (at[length] == ' ');
        }
    }
    if (!status && code != SQLITE_DONE)
        status = report_failure(database, code, error);
    sqlite3_finalize(scan);
    return status;
}

enum sutra_status database_prepare(struct database *database, const struct database_table *table, const char *columns,
                                   sqlite3_stmt **scan, struct sutra_error *error) {
    struct buffer query = {0};
    uint32_t found = 0, bit = 1;
    if (table->is_view)
        return error_file(error, SUTRA_DATA, database->file->name, "%s is a view, not a table: export the report again",
                          table->name);
    TRY(find_columns(database, table->name, columns, &found, error));
    buffer_append_text(&query, "SELECT ");
    for (const char *at = columns; *at; bit <<= 1) {
        size_t length = strcspn(at, " ");
        if (at > columns)
            buffer_append_text(&query, ",");
        if (found & bit)
            append_name(&query, at, length);
        else
            buffer_append_text(&query, "NULL");
        at += length + (at[length] == ' ');
    }
    buffer_append_text(&query, " FROM ");
    append_name(&query, table->name, strlen(table->name));
    bool is_bounded = table->first_row <= table->last_row;
    database->n_rows_left = is_bounded ? (uint64_t)table->last_row - (uint64_t)table->first_row + 1 : UINT64_MAX;
    if (is_bounded)
        buffer_append_text(&query, " WHERE rowid BETWEEN ? AND ?");
    int code = prepare(database, &query, scan);
    if (code == SQLITE_OK && is_bounded) {
        sqlite3_bind_int64(*scan, 1, table->first_row);
        sqlite3_bind_int64(*scan, 2, table->last_row);
    }
    return code == SQLITE_OK ? SUTRA_OK : report_failure(database, code, error);
}
