/*
 * trace_list.h - traces given on a command line: files, and directories of files.
 */
#ifndef CLI_TRACE_LIST_H
#define CLI_TRACE_LIST_H

#include <stddef.h>
#include <stdint.h>

#include "cli/tool/arguments.h"

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

#endif
