/*
 * memory.h - growing buffers, large pages, reference counts, and the peak memory of the program without mapped inputs.
 *
 * The system records the peak of all resident pages (VmHWM), including pages of mapped inputs. These belong to the page
 * cache and can be dropped at any time, so VmHWM overstates the memory that the program needs. The peak of anonymous
 * pages alone is not recorded. memory_peak() returns the larger of two lower bounds of that peak:
 *   - the largest of many samples of resident minus shared pages (at the beginning, during and at the end of stages);
 *   - VmHWM minus the sizes of the input files and minus the shared pages (program and libraries) at the start.
 */
#ifndef BASE_MEMORY_H
#define BASE_MEMORY_H

#include <stdarg.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

/* Bytes that grow at the end. After a failed allocation the buffer keeps its content and `failed` stays set, so that a
 * writer can continue and check once at the end. Zero-initialize; free with buffer_free(). */
struct buffer {
    char *bytes;
    size_t length, capacity;
    bool failed;
};

/* Reserves `extra` bytes at the end and returns their address, or NULL. The caller adds written bytes to `length`. */
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

static inline void buffer_append_text(struct buffer *buffer, const char *text) {
    buffer_append(buffer, text, strlen(text));
}

/* Appends a formatted text of any length. */
__attribute__((format(printf, 2, 3))) void buffer_format(struct buffer *buffer, const char *format, ...);
__attribute__((format(printf, 2, 0))) void buffer_vformat(struct buffer *buffer, const char *format, va_list arguments);

static inline void buffer_free(struct buffer *buffer) {
    free(buffer->bytes);
    *buffer = (struct buffer){0};
}

/* Advises the system to back a large block with pages of 2 MB, which need fewer page faults. Ignores small blocks and
 * NULL. */
void memory_on_large_pages(void *block, size_t bytes);

/* Returns complete pages of a block to the system; they are zeros then. */
void memory_return_pages(void *block, size_t bytes);

/* Bytes that this process may use: of the machine, of its control group (version 2), and half of its address space,
 * since buffers grow by doubling. */
uint64_t memory_usable(void);

struct memory_watch {
    uint64_t shared_at_start;
    uint64_t peak_anonymous; /* of the samples so far, bytes */
};

struct memory_watch memory_start(void);
void memory_sample(struct memory_watch *watch);

/* In bytes; 0 if the system does not report it. */
uint64_t memory_peak_rss(void);
uint64_t memory_peak(const struct memory_watch *watch, uint64_t n_mapped_bytes);

/*
 * A reference count: the last holder frees the object.
 *
 *     owner             object_free(object): if (object && refcount_release(&object->holders)) ... free it ...
 *     another holder    refcount_add(&object->holders); ...; object_free(object);
 *
 * Zero-initialize. Thread-safe.
 */
struct holders {
    atomic_uint others;
};

static inline void refcount_add(struct holders *holders) {
    atomic_fetch_add_explicit(&holders->others, 1, memory_order_relaxed);
}

/* True: no holder is left, and the caller frees the object. */
static inline bool refcount_release(struct holders *holders) {
    return atomic_fetch_sub_explicit(&holders->others, 1, memory_order_acq_rel) == 0;
}

#endif
