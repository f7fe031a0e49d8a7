/*
 * table_files.h - table files of an analysis: one file per table in the results directory.
 */
#ifndef CLI_TABLE_FILES_H
#define CLI_TABLE_FILES_H

#include <stdint.h>

#include "cli/tool/job.h"
#include "sutra/table.h"

/* Choices of an option --format, in the order of enum sutra_table_format. */
extern const char *const table_formats[];

/* What the file of a table of all ranks is told by. */
#define RANK_ALL (-1)

/* Room for the path of a file of results. */
struct result_path {
    char text[4096];
};

/* The path of NAME.ENDING, or NAME.rank3.ENDING, in the folder. */
enum sutra_status result_place(const char *folder, const char *name, int64_t rank, const char *ending,
                               struct result_path *path, struct sutra_error *error);

/* Writes a table to NAME.csv, or NAME.rank3.csv, in the folder, and counts its bytes among the figures of the job. */
enum sutra_status table_file_write(struct job *job, const char *folder, const struct sutra_table *table, int64_t rank,
                                   enum sutra_table_format format, struct sutra_error *error);

#endif
