/*
 * arena.h - memory that is given back all at once.
 *
 * A stage marks the arena, takes what it needs, and releases the mark when it returns, on every way out; what is left
 * of it are its results, which the caller made room for before. After a failed allocation the arena hands out NULL
 * until it is freed and remembers it, so that a stage may take all its columns and ask once:
 *
 *     struct arena_mark mark = arena_mark(arena);
 *     row_t *order = arena_take(arena, n, sizeof *order);
 *     uint64_t *keys = arena_zeros(arena, n, sizeof *keys);
 *     enum sutra_status status = arena_status(arena, error);
 *     if (!status)
 *         status = sort(order, keys, n, error);
 *     arena_release(arena, mark);
 *
 *     blocks   [ oldest | .... ] <- [ .... ] <- [ newest | taken |  free  ]     small ones share a block,
 *                                                        ^ mark  ^ at           a large one has its own
 *
 * Zero-initialise. An arena belongs to one thread at a time. Taking costs a few instructions, and zeroing what it must;
 * fresh large blocks come zeroed from the system. With AddressSanitizer each piece is an allocation of its own, so that
 * overruns and uses after the release are seen.
 */
#ifndef BASE_ARENA_H
#define BASE_ARENA_H

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

/* Room for n elements of `size` bytes, uninitialised, aligned for any type; never NULL but after a failure, also for
 * n = 0. It lives until a mark from before is released. */
void *arena_take(struct arena *arena, size_t n, size_t size);

/* The same, zeros. */
void *arena_zeros(struct arena *arena, size_t n, size_t size);

/* Makes room for more elements in a list of the arena, at least twice as many; `list` points to its pointer, *capacity
 * is how many it has room for. What it had before stays until a mark is released. False: as above. */
bool arena_enlarge(struct arena *arena, void *list, uint64_t *capacity, size_t size);

/* Room for an element at `n` in a list that grows so: O(1) amortised. */
static inline bool arena_grow(struct arena *arena, void *list, uint64_t n, uint64_t *capacity, size_t size) {
    return n < *capacity || arena_enlarge(arena, list, capacity, size);
}

struct arena_mark arena_mark(const struct arena *arena);

/* Gives back what was taken since the mark. */
void arena_release(struct arena *arena, struct arena_mark mark);

/* Gives everything back; the arena can be used anew. */
void arena_free(struct arena *arena);

/* Whether all that was taken is there: SUTRA_OK, or the error that memory ran out. */
static inline enum sutra_status arena_status(const struct arena *arena, struct sutra_error *error) {
    return arena->failed ? error_memory(error) : SUTRA_OK;
}

#endif
