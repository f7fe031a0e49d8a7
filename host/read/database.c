/*
 * database.c - implements database.h on SQLite's C interface.
 *
 * A scan is one SELECT without order, joins and conditions except a range of rowids, so that SQLite reads the pages of
 * the table once, in their order; several connections read disjoint ranges. Pages are mapped, not copied.
 */
#include "read/database.h"

#include <ctype.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "base/error.h"
#include "base/memory.h"
#include "base/shared.h"

/* Instructions of SQLite between two calls of check_progress(). A scanned row costs about 20; a row has at least 4
 * bytes of the file. Schemas of databases in memory are small, hence the constant. */
#define PROGRESS_STEPS    10000
#define STEPS_OF_BYTE     100
#define STEPS_OF_DATABASE ((uint64_t)100000000)

#define COLUMNS_MAX         32
#define NAME_MAX_IN_MESSAGE 200

/* Stops a query if the call is cancelled or if the budget is used up. */
static int check_progress(void *arg) {
    struct database *database = arg;
    return ++database->n_steps > database->n_steps_max || context_is_cancelled(database->context);
}

static enum sutra_status report_failure(const struct database *database, int code, struct sutra_error *error) {
    if (code == SQLITE_NOMEM)
        return error_memory(error);
    if (code == SQLITE_INTERRUPT && context_is_cancelled(database->context))
        return context_early_end_error(database->context, error);
    const char *reason = code == SQLITE_INTERRUPT ? "a view takes too long"
                         : database->handle       ? sqlite3_errmsg(database->handle)
                                                  : sqlite3_errstr(code);
    return error_file(error, SUTRA_DATA, database->file->name,
                      "truncated or corrupt SQLite database (%s): export or copy the report again", reason);
}

/* SQLite reads the log of a database that is still open from a second file, which an immutable database ignores. */
static enum sutra_status refuse_open_log(const struct database_file *file, struct sutra_error *error) {
    struct stat found;
    char *log = NULL;
    if (asprintf(&log, "%s-wal", file->path) < 0)
        return error_memory(error);
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

enum sutra_status database_open(struct database *database, const struct database_file *file,
                                const struct sutra_context *context, struct sutra_error *error) {
    *database = (struct database){.file = file, .context = context};
    database->n_steps_max = (STEPS_OF_DATABASE + file->size * STEPS_OF_BYTE) / PROGRESS_STEPS;
    enum sutra_status status = file->path ? refuse_open_log(file, error) : SUTRA_OK;
    char *uri = !status && file->path ? make_uri(file->path) : NULL;
    if (!status && file->path && !uri)
        status = error_memory(error);
    if (status)
        return status;
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
    sqlite3_limit(database->handle, SQLITE_LIMIT_LENGTH, 1 << 28);
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
    return code == SQLITE_ROW || code == SQLITE_DONE ? SUTRA_OK : report_failure(database, code, error);
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
    if (code == SQLITE_NOMEM)
        return error_memory(error);
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

/* Whether a prepared query has a column of this name. */
static bool has_column(sqlite3_stmt *all, const char *name, size_t length) {
    for (int i = 0; i < sqlite3_column_count(all); i++) {
        const char *column = sqlite3_column_name(all, i);
        if (column && strlen(column) == length && sqlite3_strnicmp(column, name, (int)length) == 0)
            return true;
    }
    return false;
}

enum sutra_status database_prepare(struct database *database, const struct database_table *table, const char *columns,
                                   sqlite3_stmt **scan, struct sutra_error *error) {
    struct buffer query = {0};
    sqlite3_stmt *all = NULL;
    buffer_append_text(&query, "SELECT * FROM ");
    append_name(&query, table->name, strlen(table->name));
    int code = prepare(database, &query, &all);
    if (code != SQLITE_OK)
        return report_failure(database, code, error);
    buffer_append_text(&query, "SELECT ");
    for (const char *at = columns; *at;) {
        size_t length = strcspn(at, " ");
        if (at > columns)
            buffer_append_text(&query, ",");
        if ((length == 5 && memcmp(at, "rowid", 5) == 0 && !table->is_view) || has_column(all, at, length))
            append_name(&query, at, length);
        else
            buffer_append_text(&query, "NULL");
        at += length + (at[length] == ' ');
    }
    sqlite3_finalize(all);
    buffer_append_text(&query, " FROM ");
    append_name(&query, table->name, strlen(table->name));
    bool is_bounded = table->first_row <= table->last_row;
    if (is_bounded)
        buffer_append_text(&query, " WHERE rowid BETWEEN ? AND ?");
    code = prepare(database, &query, scan);
    if (code == SQLITE_OK && is_bounded) {
        sqlite3_bind_int64(*scan, 1, table->first_row);
        sqlite3_bind_int64(*scan, 2, table->last_row);
    }
    return code == SQLITE_OK ? SUTRA_OK : report_failure(database, code, error);
}
