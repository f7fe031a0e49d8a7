/*
 * pickle.h - read a pickle that contains plain data only.
 */
#ifndef READ_PICKLE_H
#define READ_PICKLE_H

#include <stdbool.h>
#include <stddef.h>

#include "read/objects.h"
#include "read/source.h"

/* Whether a file may be a pickle of protocol 2 or later. */
static inline bool is_pickle(const char *bytes, size_t size) {
    return size > 0 && (unsigned char)bytes[0] == 0x80;
}

/*
 * Receives the events of a memory snapshot, while the pickle is read: dicts with the key "action" that are items of a
 * list. They become no objects, unless the loop for dicts cannot read them. A list of events has a number of
 * items, but no items (LIST_EVENTS).
 *
 * add() receives an event as values and their positions by key, as in struct dict_shape: the value of a key is
 * values[(position - 1) * stride]. It returns false if the event needs to be an object. Then, or if the pickle refers
 * to an event or a list of events a second time, `failed` is set, and all values are read again as objects.
 */
struct pickle_events {
    bool (*add)(void *arg, uint32_t list, const uint32_t *position, const object_t *values, size_t stride);
    void *arg;
    bool failed;
};

/* Reads a pickle of protocol 2 to 5. `events` may be NULL. *end is the offset of the byte after it. SUTRA_DATA:
 * malformed, truncated, or an opcode that is not allowed, with its byte offset; SUTRA_SYSTEM: out of memory.
 * O(size). */
enum sutra_status pickle_read(struct objects *objects, const struct source *source, struct pickle_events *events,
                              object_t *root, size_t *end, struct sutra_error *error);

#endif
