/*
 * beside.h - a file that appears whole or not at all: it is written under a hidden name beside its place, and renamed.
 *
 *     out.json -> .out.json.0.tmp         locked while it is written; what is not locked was left by a program that
 *                                         was killed, and is removed by the next one that writes to this place
 *
 * What is no regular file, a pipe or a device, is written to as it is.
 */
#ifndef WRITE_BESIDE_H
#define WRITE_BESIDE_H

#include <stdbool.h>

#include "sutra/error.h"

/* How a file is made. */
struct beside_options {
    bool force; /* replace a file that is read-only */
    /* The program chose the name, not the user: a symbolic link, or a pipe, in its place is replaced, so that no file
     * outside of the folder is written. */
    bool own_name;
    /* Told of the temporary name before there is such a file, and NULL when there is none any more; may be NULL. */
    void (*temporary)(void *arg, const char *path);
    void *arg;
};

struct beside {
    struct beside_options options;
    char *target;    /* where the file is to appear, behind all links; NULL: it is no regular file */
    char *temporary; /* where it is until then */
    int file;        /* open for writing */
};

/* Opens what `path` names for writing; on success it must be closed. SUTRA_NO_OUTPUT: that cannot be. */
enum sutra_status beside_open(struct beside *beside, const char *path, const struct beside_options *options,
                              struct sutra_error *error);

/* Closes the file, and puts it in its place if `keep` is true, else removes it; errno of what failed, or 0. */
int beside_close(struct beside *beside, bool keep);

#endif
