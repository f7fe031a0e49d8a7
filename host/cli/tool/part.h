/*
 * part.h - the part of the work of one of several processes, as given by --shard: "3/64".
 */
#ifndef CLI_PART_H
#define CLI_PART_H

#include <stddef.h>

/* Which of how many, counted from 0. Returns SUTRA_OK, or SUTRA_USAGE after it has said what is wrong. */
int part_read(const char *text, size_t *part, size_t *n_parts);

#endif
