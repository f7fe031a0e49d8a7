/*
 * paths.h - compare file names (whether two names are the same file), and create output directories.
 */
#ifndef CLI_PATHS_H
#define CLI_PATHS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "sutra/error.h"

/* Whether it stands for standard input or output. */
bool path_is_stream(const char *path);

/* Whether the name, without the ending of a compressed file, ends in `ending`. */
bool path_ends_in(const char *path, const char *ending);

/* Whether both names mean one regular file: the same inode, or, where neither exists yet, the same name in the same
 * folder. Streams and devices such as /dev/null are never the same. */
bool paths_same(const char *a, const char *b);

/* Two of these names that mean one regular file: the place of the later one, *earlier is that of the other; n: there
 * are no such two. Takes n log n time. SIZE_MAX: out of memory. */
size_t paths_find_twice(const char *const *paths, size_t n, size_t *earlier);

/* Whether the file lies in the folder itself. */
bool path_lies_in(const char *path, const char *folder);

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
