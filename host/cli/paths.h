/*
 * paths.h - lists of traces given on a command line, properties of file names, output directories, and --shard.
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
    uint64_t n_bytes; /* sizes of the regular files */
    bool streams;     /* a path is not a regular file */
};

/* Extensions of the files that replace a directory: .json, .gz, .zst, .sqlite and .rpd; .json, .gz, .zst, .pickle and
 * .pkl; .et, .et.gz and .et.zst; .sqlite and .rpd. With NAMES_JSON, a report with several ranks is replaced by its
 * ranks. */
enum trace_names { NAMES_JSON, NAMES_SNAPSHOT, NAMES_ET, NAMES_REPORT };

/* Appends the operands in their order to a list, which is zeroed at first. A directory is replaced by its files with
 * such extensions (hidden files and subdirectories are skipped), in natural order of their names. Returns SUTRA_OK, or
 * another exit code after reporting the error. The list needs trace_list_free() in any case. */
int trace_list_add(struct trace_list *list, const struct operands *operands, enum trace_names names);
void trace_list_free(struct trace_list *list);

/* The files of a directory without traces of this kind, and their command: ", but it contains ...", or "". */
const char *folder_advice(const char *folder, enum trace_names names);

/* The maximum size of `n` files: n times the largest, or all files if they are fewer. */
uint64_t trace_list_largest(const struct trace_list *list, size_t n);

/* Parses --shard: "3/64", or "slurm" for the task of a Slurm job array; the index counts from 0. Returns SUTRA_OK, or
 * SUTRA_USAGE after reporting the error. */
int shard_parse(const char *text, size_t *index, size_t *n_shards);

/*
 * Properties of paths.
 */

/* Whether a path is "-": standard input or output. */
bool path_is_stream(const char *path);

/* Whether the name ends in `extension`, followed by .gz, .zst or nothing. */
bool path_ends_in(const char *path, const char *extension);

/* The extension of the name if it is known and not in `formats`, such as ".json or .et", before .gz or .zst; else NULL. */
const char *path_other_format(const char *path, const char *formats);

/* Refuses the name of an output with the extension of a format that the command does not write. `formats` "": the output
 * is a directory. Returns SUTRA_OK, or SUTRA_USAGE after reporting the error. */
int path_check_format(const char *path, const char *formats);

/* Checks that inputs exist, before any work; elements may be NULL. Returns SUTRA_OK, or SUTRA_NO_INPUT after reporting
 * the first missing input. */
int paths_check_inputs(const char *const *paths, size_t n);

/* Whether both paths name one regular file: the same inode, or, if neither exists, the same name in the same directory.
 * Streams and devices such as /dev/null are never the same. */
bool paths_same(const char *a, const char *b);

/* Finds two paths of one regular file: returns the index of the later one, *earlier is the index of the other one; n:
 * all differ; SIZE_MAX: out of memory. Cost: O(n log n). */
size_t paths_find_duplicate(const char *const *paths, size_t n, size_t *earlier);

/* Whether the file is in the directory, not in a subdirectory. */
bool path_is_in(const char *path, const char *folder);

/* Whether a path is an existing directory; whether two paths are the same directory. */
bool path_is_folder(const char *path);
bool paths_same_folder(const char *a, const char *b);

/* The size of a regular file; 0 for other paths. */
uint64_t path_size(const char *path);

/* Whether a file is compressed by gzip or zstd. */
bool path_is_compressed(const char *path);

/*
 * Output directories.
 */

/* Creates a directory if it does not exist; false: errno is the reason. */
bool path_make_folder(const char *path);

/* The next functions create directories that are removed again if the run fails without a result in them. */

/* Creates a directory of sutra inside an output directory. A symbolic link is refused, because it may lead out of the
 * output directory. */
bool path_make_own_folder(const char *path);

/* Creates a directory if it does not exist. SUTRA_NO_OUTPUT: it cannot be created. */
enum sutra_status folder_create(const char *path, struct sutra_error *error);

/* The same; returns SUTRA_OK, or another exit code after reporting the error. */
int folder_make(const char *path);

#endif
