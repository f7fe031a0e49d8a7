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

#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

/*
 * Bytes that grow at the end.
 *
 * After a failed reservation the buffer keeps what it had and `failed` stays set, so a writer may go on and check once
 * at the end. Zero-initialise; free with buffer_free().
 */

struct buffer {
    char *bytes;
    size_t length, capacity;
    bool failed;
};

/* Room for `extra` more bytes: where to write them, or NULL. Advance `length` by what was written. */
char *buffer_grow(struct buffer *buffer, size_t extra);

static inline char *buffer_reserve(struct buffer *buffer, size_t extra) {
    if (buffer->bytes && buffer->capacity - buffer->length >= extra)
        return buffer->bytes + buffer->length;
    return buffer_grow(buffer, extra);
}

static inline void buffer_append(struct buffer *buffer, const void *bytes, size_t n) {
    char *to = buffer_reserve(buffer, n);
    if (to && n) {
        memcpy(to, bytes, n);
        buffer->length += n;
    }
}

static inline void buffer_free(struct buffer *buffer) {
    free(buffer->bytes);
    *buffer = (struct buffer){0};
}

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

/*
 * How many look at a thing besides its owner: what all of them leave is freed by the last one.
 *
 *     thing_free(thing)        if (thing && holders_leave(&thing->holders)) ... free it ...
 *     somebody else's look     holders_add(&thing->holders); ...; thing_free(thing);
 *
 * Zero-initialise. Any thread may add and leave.
 */

struct holders {
    atomic_uint others;
};

static inline void holders_add(struct holders *holders) {
    atomic_fetch_add_explicit(&holders->others, 1, memory_order_relaxed);
}

/* True: nobody is left, and the thing is the caller's to free. */
static inline bool holders_leave(struct holders *holders) {
    return atomic_fetch_sub_explicit(&holders->others, 1, memory_order_acq_rel) == 0;
}

#endif
