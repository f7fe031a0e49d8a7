/*
 * result_folder.h - write a directory of results completely, or report what is missing.
 *
 *     results/                            existing files
 *     results/incomplete.sutra/           new files, moved to results/ when all are complete
 *
 * A run that fails or that a signal ends removes its files. A killed run (SIGKILL) leaves the unfinished directory; the
 * next run removes it if its lock is free. Before moving any file, sutra checks that all files can be moved; a signal
 * waits until all are moved. Cost: one rename per file.
 */
#ifndef CLI_RESULT_FOLDER_H
#define CLI_RESULT_FOLDER_H

#include <limits.h>
#include <stdbool.h>
#include <stddef.h>

struct result_folder {
    const char *target; /* NULL: no files are wanted */
    const char *const *inputs;
    size_t n_inputs; /* which must not be overwritten */
    bool force;      /* replace files that are read-only */
    bool made;       /* the target was not there before */
    int lock;
    char path[PATH_MAX]; /* where files are to be written until the end */
};

/* Begins with the fields up to `force`. Both return SUTRA_OK, or another exit code after they have said what is wrong;
 * then there is nothing to end. */
int result_folder_begin(struct result_folder *folder);

/* Puts the files in their places if they are `whole`, else removes them. */
int result_folder_end(struct result_folder *folder, bool whole);

/* Removes such a folder with all that is in it. Returns as above. */
int result_folder_remove(const char *path);

#endif
