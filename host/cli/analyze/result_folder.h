/*
 * result_folder.h - a folder of results appears whole, or says what is missing.
 *
 *     results/                            what was there before
 *     results/unfinished.sutra/           the new files, until all of them are there; then they are moved up
 *
 * A run that fails removes what it made. One that is killed leaves the folder of what is unfinished, which the next run
 * removes: a lock tells whose it is. Moving asks first whether all can be moved. Cost: a rename for each file.
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
