/*
 * memory.h - memory that is quick to touch, and how much the program took at most, apart from the input files that it
 * mapped.
 *
 * The system keeps the peak of all resident pages (VmHWM), which counts pages of mapped inputs: these belong to the
 * page cache and can be dropped at any time, so they say nothing about what the program needs. A peak of the anonymous
 * pages alone is not kept. We take the larger of two numbers that the true peak cannot lie below:
 *   - the largest of many samples of resident less shared pages (taken when stages begin, go on and end);
 *   - VmHWM less the sizes of the input files and less what was shared (program and libraries) at the start.
 */
#ifndef BASE_MEMORY_H
#define BASE_MEMORY_H

#include <stddef.h>
#include <stdint.h>

/* Asks the system to back a large block by pages of 2 MB, which are made in one go when they are first touched; small
 * blocks and null pointers stay as they are. */
void memory_on_large_pages(void *block, size_t bytes);

/* Gives whole pages of a block back to the system; they are zeros then. */
void memory_give_back(void *block, size_t bytes);

struct memory_watch {
    uint64_t shared_at_start;
    uint64_t peak_anonymous; /* of the samples so far, bytes */
};

struct memory_watch memory_start(void);
void memory_sample(struct memory_watch *watch);

/* Bytes; 0 where the system does not tell. */
uint64_t memory_peak_rss(void);
uint64_t memory_peak(const struct memory_watch *watch, uint64_t n_mapped_bytes);

#endif
