/*
 * room.h - allocate zeroed columns in a host arena; the arena records out of memory.
 */
#ifndef CUDA_ROOM_H
#define CUDA_ROOM_H

#include <stdint.h>

extern "C" {
#include "base/arena.h"
#include "columns/number.h"
}

template <class T> T *room_for(struct arena *arena, uint64_t n) {
    return static_cast<T *>(arena_zeros(arena, n, sizeof(T)));
}

static inline struct number_column room_for_numbers(struct arena *arena, uint64_t n) {
    struct number_column column = {room_for<uint64_t>(arena, n), room_for<uint8_t>(arena, n)};
    return column;
}

#endif
