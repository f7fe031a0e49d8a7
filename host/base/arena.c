/*
 * arena.c - blocks in a chain, newest first; a release frees the blocks that are newer than the mark.
 */
#include "base/arena.h"
#include "base/shared.h"

#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/memory.h"

#if defined(__SANITIZE_ADDRESS__)
#define SHARED_BLOCK 0
#elif defined(__has_feature)
#if __has_feature(address_sanitizer)
#define SHARED_BLOCK 0
#endif
#endif
#ifndef SHARED_BLOCK
#define SHARED_BLOCK ((size_t)1 << 16) /* pieces below a quarter of it share blocks */
#endif

#define ALIGNMENT _Alignof(max_align_t)

struct arena_block {
    struct arena_block *older;
    size_t size, used; /* of bytes[] */
    size_t zero_from;  /* bytes from here on are 0 */
    max_align_t bytes[];
};

static void *allocate(struct arena *arena, size_t n, size_t size, bool zeroed) {
    size_t bytes;
    if (arena->failed)
        return NULL;
    bool fits = !__builtin_mul_overflow(n, size, &bytes) && bytes < SIZE_MAX - ALIGNMENT;
    bytes = fits ? (bytes + ALIGNMENT) / ALIGNMENT * ALIGNMENT : 0; /* one byte at least */
    struct arena_block *block = fits ? arena->newest : NULL;
    if (fits && (!block || block->size - block->used < bytes)) { /* a new block */
        size_t block_size = bytes <= SHARED_BLOCK / 4 ? SHARED_BLOCK : bytes, whole;
        block = NULL;
        if (!__builtin_add_overflow(block_size, sizeof *block, &whole))
            block = zeroed ? calloc(1, whole) : malloc(whole);
        if (block) {
            if (!zeroed) /* which may stay empty in part */
                memory_on_large_pages(block, whole);
            *block =
                (struct arena_block){.older = arena->newest, .size = block_size, .zero_from = zeroed ? 0 : block_size};
            arena->newest = block;
            arena->held += block_size;
            if (arena->held > arena->most)
                arena->most = arena->held;
        }
    }
    if (!block) {
        arena->failed = true;
        return NULL;
    }
    char *piece = (char *)block->bytes + block->used;
    if (zeroed && block->used < block->zero_from) {
        size_t dirty = block->zero_from - block->used;
        memset(piece, 0, MIN(dirty, bytes));
    }
    block->used += bytes;
    if (block->zero_from < block->used)
        block->zero_from = block->used;
    return piece;
}

void *arena_alloc(struct arena *arena, size_t n, size_t size) {
    return allocate(arena, n, size, false);
}

void *arena_zeros(struct arena *arena, size_t n, size_t size) {
    return allocate(arena, n, size, true);
}

char *arena_text(struct arena *arena, const char *text, size_t length) {
    char *copy = length < SIZE_MAX ? arena_alloc(arena, length + 1, 1) : NULL;
    if (!copy)
        return NULL;
    if (length > 0)
        memcpy(copy, text, length);
    copy[length] = 0;
    return copy;
}

const char *arena_vformat(struct arena *arena, const char *format, va_list arguments) {
    va_list again;
    va_copy(again, arguments);
    int length = vsnprintf(NULL, 0, format, arguments);
    char *text = length < 0 ? NULL : arena_alloc(arena, (size_t)length + 1, 1);
    if (text)
        vsnprintf(text, (size_t)length + 1, format, again);
    va_end(again);
    return text ? text : "";
}

const char *arena_format(struct arena *arena, const char *format, ...) {
    va_list arguments;
    va_start(arguments, format);
    const char *text = arena_vformat(arena, format, arguments);
    va_end(arguments);
    return text;
}

bool arena_enlarge(struct arena *arena, void *list, uint64_t *capacity, size_t size) {
    uint64_t n = *capacity > SIZE_MAX / 4 ? SIZE_MAX : *capacity * 2 + 64;
    void *larger = arena_alloc(arena, n, size);
    if (!larger)
        return false;
    if (*capacity)
        memcpy(larger, *(void **)list, *capacity * size);
    memcpy(list, &larger, sizeof larger);
    *capacity = n;
    return true;
}

struct arena_mark arena_mark(const struct arena *arena) {
    return (struct arena_mark){arena->newest, arena->newest ? arena->newest->used : 0};
}

void arena_release(struct arena *arena, struct arena_mark mark) {
    while (arena->newest != mark.block) {
        struct arena_block *block = arena->newest;
        arena->newest = block->older;
        arena->held -= block->size;
        free(block);
    }
    if (mark.block)
        mark.block->used = mark.used;
}

void arena_free(struct arena *arena) {
    arena_release(arena, (struct arena_mark){0});
    *arena = (struct arena){0};
}
