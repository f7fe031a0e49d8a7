/*
 * table_files.c - names and writes the files of tables.
 */
#include "cli/analyze/table_files.h"

#include <inttypes.h>
#include <stdio.h>

const char *const table_formats[] = {"csv", "json", NULL};

enum sutra_status result_place(const char *folder, const char *name, int64_t rank, const char *ending,
                               struct result_path *path, struct sutra_error *error) {
    char of_rank[32] = "";
    if (rank != RANK_ALL)
        snprintf(of_rank, sizeof of_rank, ".rank%" PRId64, rank);
    int length = snprintf(path->text, sizeof path->text, "%s/%s%s.%s", folder, name, of_rank, ending);
    if (length < 0 || (size_t)length >= sizeof path->text) {
        *error = (struct sutra_error){.status = SUTRA_NO_OUTPUT, .offset = SUTRA_NO_OFFSET};
        snprintf(error->message, sizeof error->message, "the path of the output directory is too long");
        return SUTRA_NO_OUTPUT;
    }
    return SUTRA_OK;
}

enum sutra_status table_file_write(struct job *job, const char *folder, const struct sutra_table *table, int64_t rank,
                                   enum sutra_table_format format, struct sutra_error *error) {
    struct result_path path;
    uint64_t n_bytes = 0;
    enum sutra_status status = result_place(folder, sutra_table_name(table), rank, table_formats[format], &path, error);
    if (!status)
        status = sutra_table_write(job->context, table, format, path.text, &n_bytes, error);
    job->figures.output_bytes += n_bytes;
    return status;
}
