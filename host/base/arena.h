/*
 * arena.h - memory that is freed all at once.
 *
 * A stage marks the arena, allocates, and releases the mark on every return; only the results that were allocated
 * before the mark remain. After a failed allocation the arena returns NULL until it is freed, so that a stage can
 * allocate all its columns and check once:
 *
 *     struct arena_mark mark = arena_mark(arena);
 *     row_t *order = arena_alloc(arena, n, sizeof *order);
 *     uint64_t *keys = arena_zeros(arena, n, sizeof *keys);
 *     enum sutra_status status = arena_status(arena, error);
 *     if (!status)
 *         status = sort(order, keys, n, error);
 *     arena_release(arena, mark);
 *
 *     blocks   [ oldest | .... ] <- [ .... ] <- [ newest | taken |  free  ]     small ones share a block,
 *                                                        ^ mark  ^ at           a large one has its own
 *
 * Zero-initialize. One thread at a time. An allocation costs a few instructions, and zeroing where necessary; new large
 * blocks come zeroed from the system. With AddressSanitizer each piece is its own allocation, so that overruns and uses
 * after the release are detected.
 */
#ifndef BASE_ARENA_H
#define BASE_ARENA_H

#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/error.h"

struct arena_block;

struct arena {
    struct arena_block *newest;
    size_t held, most; /* bytes of all blocks: now, and the peak */
    bool failed;
};

struct arena_mark {
    struct arena_block *block;
    size_t used; /* of that block */
};

/* Allocates n elements of `size` bytes, uninitialized, aligned for any type, until an earlier mark is released. NULL
 * only after a failure, not for n = 0. */
void *arena_alloc(struct arena *arena, size_t n, size_t size);

/* The same, zeroed. */
void *arena_zeros(struct arena *arena, size_t n, size_t size);

/* A copy of `length` bytes with a final NUL; NULL: out of memory. O(length). */
char *arena_text(struct arena *arena, const char *text, size_t length);

/* A formatted text of any length; "": out of memory. */
__attribute__((format(printf, 2, 3))) const char *arena_format(struct arena *arena, const char *format, ...);
__attribute__((format(printf, 2, 0))) const char *arena_vformat(struct arena *arena, const char *format,
                                                                va_list arguments);

/* At least doubles the capacity of a list in the arena; `list` points to its pointer. The old list remains allocated
 * until a mark is released. False: out of memory. */
bool arena_enlarge(struct arena *arena, void *list, uint64_t *capacity, size_t size);

/* Makes room for an element at `n` in such a list: O(1) amortized. */
static inline bool arena_grow(struct arena *arena, void *list, uint64_t n, uint64_t *capacity, size_t size) {
    return n < *capacity || arena_enlarge(arena, list, capacity, size);
}

struct arena_mark arena_mark(const struct arena *arena);

/* Frees all allocations since the mark. */
void arena_release(struct arena *arena, struct arena_mark mark);

/* Frees everything; the arena can be used again. */
void arena_free(struct arena *arena);

/* SUTRA_OK, or the error if any allocation failed. */
static inline enum sutra_status arena_status(const struct arena *arena, struct sutra_error *error) {
    return arena->failed ? error_memory(error) : SUTRA_OK;
}

#endif
