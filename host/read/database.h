/*
 * database.h - SQLite databases, opened read-only: tables, and scans of some columns of a table's rows.
 *
 *     database_open(&database, file, context, error)
 *     database_prepare(&database, "NVTX_EVENTS", "start end text", rows, &scan, error)
 *     while ((status = database_step(&database, scan, &more, error)) == SUTRA_OK && more)
 *         sqlite3_column_int64(scan, 0) ...
 *     sqlite3_finalize(scan)
 *
 * A database in a file is opened as immutable, so that no lock and no write-ahead log is touched; a database in memory
 * (decompressed, piped) is read in place. Each thread opens a connection of its own.
 *
 * Databases may be corrupt or adversarial. Views, virtual tables and generated columns compute rows and texts from
 * nothing, so they are errors. Pages to which a tree refers repeatedly repeat rows and texts, so the rows and texts of
 * all connections are counted, and limited by the size of the file.
 */
#ifndef READ_DATABASE_H
#define READ_DATABASE_H

#include <sqlite3.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

#include "base/arena.h"
#include "context/context.h"
#include "sutra/error.h"

struct database_file {
    const char *name; /* for messages */
    const char *path; /* NULL: in memory */
    char *bytes;      /* of a database in memory, which are not changed */
    uint64_t size;
    _Atomic uint64_t n_bytes; /* of rows and texts that the connections have read */
};

/* A connection. */
struct database {
    sqlite3 *handle;
    struct database_file *file;
    const struct sutra_context *context;
    uint64_t n_bytes;     /* not yet added to n_bytes of the file */
    uint64_t n_rows_left; /* of the prepared scan, by its range of rowids */
};

struct database_table {
    const char *name;
    bool is_view;
    int64_t first_row, last_row; /* rowids; first > last: the table is scanned as a whole */
};

/* SUTRA_DATA: an open write-ahead log, or corrupt; SUTRA_SYSTEM: out of memory. Close it in any case. */
enum sutra_status database_open(struct database *database, struct database_file *file,
                                const struct sutra_context *context, struct sutra_error *error);
void database_close(struct database *database);

/* Lists tables and views, in the order of the schema. O(number of tables). */
enum sutra_status database_list(struct database *database, struct arena *arena, struct database_table **tables,
                                size_t *n, struct sutra_error *error);

/* The table of this name, or of several versions NAME_V2, NAME_V3, ... the highest; NULL: there is none. Names in
 * different letter case are different tables. */
const struct database_table *database_find(const struct database_table *tables, size_t n, const char *name);

/* Sets first_row and last_row of a table that has rowids, and whether it has no rows. O(log rows). */
enum sutra_status database_bounds(struct database *database, struct database_table *table, bool *is_empty,
                                  struct sutra_error *error);

/* Prepares a scan of the columns, at most 32, which are separated by spaces; absent columns are NULL in each row. Rows
 * from first_row to last_row; all, if first_row > last_row. The caller finalizes *scan before it prepares the next
 * one. SUTRA_DATA: a view, or a generated column. */
enum sutra_status database_prepare(struct database *database, const struct database_table *table, const char *columns,
                                   sqlite3_stmt **scan, struct sutra_error *error);

/* Steps to the next row; *more is false after the last one. SUTRA_DATA: corrupt, or more rows and texts than the file
 * can contain. */
enum sutra_status database_step(struct database *database, sqlite3_stmt *scan, bool *more, struct sutra_error *error);

#endif
