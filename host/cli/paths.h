/*
 * paths.h - compare file names (whether two names are the same file), and create output directories.
 */
#ifndef CLI_PATHS_H
#define CLI_PATHS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "cli/command.h"
#include "sutra/error.h"

/*
 * Traces given on a command line: files, and directories of files.
 */

struct trace_list {
    char **paths;
    size_t n, capacity;
    uint64_t n_bytes; /* of regular files, as they lie on the disk */
    bool streams;     /* one of them is no regular file */
};

/* Endings of the files that replace a directory: .json, .gz and .zst; .et, .et.gz and .et.zst. */
enum trace_names { NAMES_JSON, NAMES_ET };

/* Lists the operands in their order. A directory is replaced by its files with such endings (hidden files and
 * subdirectories are skipped), sorted by name, where numbers count as numbers. Returns SUTRA_OK, or another exit code
 * after it has reported the error. The list needs trace_list_free() in any case. */
int trace_list_make(struct trace_list *list, const struct operands *operands, enum trace_names names);
void trace_list_free(struct trace_list *list);

/* What `n` files take at most: n times the largest, or all of them if they are fewer. */
uint64_t trace_list_largest(const struct trace_list *list, size_t n);

/*
 * The part of the work of one of several processes, as given by --shard: "3/64".
 */

/* Which of how many, counted from 0. Returns SUTRA_OK, or SUTRA_USAGE after it has said what is wrong. */
int shard_parse(const char *text, size_t *part, size_t *n_parts);

/* Whether it stands for standard input or output. */
bool path_is_stream(const char *path);

/* Whether the name, without the ending of a compressed file, ends in `ending`. */
bool path_ends_in(const char *path, const char *ending);

/* Whether both names mean one regular file: the same inode, or, where neither exists yet, the same name in the same
 * folder. Streams and devices such as /dev/null are never the same. */
bool paths_same(const char *a, const char *b);

/* Two of these names that mean one regular file: the place of the later one, *earlier is that of the other; n: there
 * are no such two. Takes n log n time. SIZE_MAX: out of memory. */
size_t paths_find_duplicate(const char *const *paths, size_t n, size_t *earlier);

/* Whether the file lies in the folder itself. */
bool path_is_in(const char *path, const char *folder);

/* Whether it is a folder that is there; and whether two are one. */
bool path_is_folder(const char *path);
bool paths_same_folder(const char *a, const char *b);

/* Bytes of the file as it lies on the disk; 0 for what is no regular file. */
uint64_t path_size(const char *path);

/* Whether a file begins as gzip's or zstd's do. */
bool path_is_compressed(const char *path);

/* Makes a folder if it is not there; false: errno tells why that cannot be. */
bool path_make_folder(const char *path);

/* Makes a folder of the program itself in an output folder; a symbolic link in its place is refused, as the link may
 * lead out of the output folder. */
bool path_make_own_folder(const char *path);

/* Creates a directory if it does not exist. SUTRA_NO_OUTPUT: it cannot be created. */
enum sutra_status folder_create(const char *path, struct sutra_error *error);

/* The same; returns SUTRA_OK, or another exit code after it has said why that cannot be. */
int folder_make(const char *path);

#endif
