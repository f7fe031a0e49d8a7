/*
 * check_folder.h - `sutra check DIR`: findings of a job that was linked into a directory.
 */
#ifndef CLI_SIMULATE_CHECK_FOLDER_H
#define CLI_SIMULATE_CHECK_FOLDER_H

#include <stdbool.h>

/* Whether a path is a directory with the records of a job, as 'sutra link HOSTS DEVICES -o DIR' writes them. */
bool is_linked_job(const char *folder);

/* Prints it as a table or JSON, unless `quiet`; returns the exit code, SUTRA_DATA where there are errors. */
int check_folder(const char *folder, bool json, bool quiet);

#endif
