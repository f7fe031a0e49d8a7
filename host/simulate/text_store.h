/*
 * text_store.h - texts one behind the other, which stay where they are until all are freed.
 *
 * One for each thread that makes texts. Zero-initialise. Cost: O(length) a text.
 */
#ifndef SIMULATE_TEXT_STORE_H
#define SIMULATE_TEXT_STORE_H

#include <string.h>

#include "base/arena.h"
#include "simulate/et_nodes.h"

#define TEXT_STORE_CHUNK ((size_t)1 << 18)

struct text_store {
    struct arena arena;
    char *at;
    size_t left;
};

/* A copy of the bytes; empty when memory ran out, which store->arena.failed tells. */
static inline struct et_text text_store_add(struct text_store *store, const char *bytes, size_t length) {
    if (length == 0)
        return (struct et_text){"", 0};
    if (length > store->left) {
        store->left = length > TEXT_STORE_CHUNK / 8 ? length : TEXT_STORE_CHUNK;
        store->at = arena_take(&store->arena, store->left, 1);
        if (!store->at) {
            store->left = 0;
            return (struct et_text){0};
        }
    }
    struct et_text text = {store->at, (uint32_t)length};
    memcpy(store->at, bytes, length);
    store->at += length;
    store->left -= length;
    return text;
}

#endif
