/*
 * objects.c - implements objects.h: growth of the columns, shapes of dicts, shared lists.
 */
#include "read/objects.h"

#include <stdlib.h>
#include <string.h>

#include "base/shared.h"
#include "columns/column.h"
#include "columns/hash.h"
#include "text/strings.h"

#define N_MAX ((uint32_t)1 << 31) /* containers, items of one container, shapes */

static const struct {
    const char *text;
    size_t length;
} words[] = {
#define X(name, text) {text, sizeof text - 1},
    OBJECT_WORDS(X)
#undef X
};

/* Room for `extra` more elements in a column. */
static inline bool grow(void *column, uint64_t n, uint64_t extra, uint64_t *capacity, size_t size) {
    if (*capacity - n >= extra)
        return true;
    uint64_t wanted = MAX(n + extra, 2 * *capacity);
    wanted = MAX(wanted, 1024);
    if (!column_resize(column, wanted, size))
        return false;
    *capacity = wanted;
    return true;
}

static bool grow_short(void *column, uint32_t n, uint32_t *capacity, size_t size) {
    uint64_t wide = *capacity;
    if (n >= N_MAX || !grow(column, n, 1, &wide, size))
        return false;
    *capacity = (uint32_t)wide;
    return true;
}

void objects_free(struct objects *objects) {
    strings_free(&objects->strings);
    free(objects->items);
    free(objects->shape_keys);
    free(objects->containers);
    free(objects->shapes);
    free(objects->shape_slots);
    free(objects->shared_lists);
    free(objects->list_slots);
    free(objects->wide);
}

/* Length of the longest beginning of a character at `bytes` that is not complete; at least 1. */
static size_t broken_length(const unsigned char *bytes, size_t n) {
    unsigned char c = bytes[0];
    size_t wanted = c >= 0xc2 && c < 0xe0 ? 2 : c >= 0xe0 && c < 0xf0 ? 3 : c >= 0xf0 && c < 0xf5 ? 4 : 1, length = 1;
    if (wanted > 2 && n > 1) { /* the second byte has a range of its own in some */
        unsigned char low = c == 0xe0 ? 0xa0 : c == 0xf0 ? 0x90 : 0x80;
        unsigned char high = c == 0xed ? 0x9f : c == 0xf4 ? 0x8f : 0xbf;
        if (bytes[1] < low || bytes[1] > high)
            return 1;
    }
    while (length < wanted && length < n && bytes[length] >> 6 == 2)
        length++;
    return length;
}

object_t objects_string(struct objects *objects, const char *bytes, size_t n) {
    size_t valid = utf8_check(bytes, n);
    uint32_t string;
    if (valid == n) {
        string = strings_intern(&objects->strings, bytes, n);
    } else {
        char *text = malloc(3 * n);
        size_t length = 0;
        if (!text)
            return OBJECT_ABSENT;
        for (size_t at = 0;; valid = utf8_check(bytes + at, n - at)) {
            memcpy(text + length, bytes + at, valid);
            length += valid;
            at += valid;
            if (at >= n)
                break;
            memcpy(text + length, "\xef\xbf\xbd", 3);
            length += 3;
            at += broken_length((const unsigned char *)bytes + at, n - at);
        }
        string = strings_intern(&objects->strings, text, length);
        free(text);
    }
    return string == STRING_NONE ? OBJECT_ABSENT : object_make(OBJECT_STRING, string);
}

object_t objects_wide(struct objects *objects, enum object_type type, uint64_t low, uint64_t high) {
    if (!grow(&objects->wide, objects->n_wide, 1, &objects->wide_capacity, sizeof *objects->wide))
        return OBJECT_ABSENT;
    objects->wide[objects->n_wide] = (struct wide_value){low, high};
    return object_make(type, objects->n_wide++);
}

/* ---- Shapes ---- */

static bool shape_has(const struct objects *objects, uint32_t shape, const object_t *pairs, size_t n) {
    const struct dict_shape *known = &objects->shapes[shape];
    const object_t *keys = objects->shape_keys + known->first;
    if (known->n != n)
        return false;
    for (size_t i = 0; i < n; i++)
        if (keys[i] != pairs[2 * i])
            return false;
    return true;
}

static uint64_t shape_hash(const struct objects *objects, const struct dict_shape *shape) {
    return hash_bytes(objects->shape_keys + shape->first, shape->n * sizeof(object_t), objects->shape_turn);
}

/* Enters all shapes into a larger table. */
static bool enter_shapes(struct objects *objects) {
    uint32_t n_slots = 2 * objects->n_shape_slots;
    uint32_t *slots = n_slots ? calloc(n_slots, sizeof *slots) : NULL;
    if (!slots)
        return false;
    free(objects->shape_slots);
    objects->shape_slots = slots;
    objects->n_shape_slots = n_slots;
    objects->shape_turn++;
    for (uint32_t i = 0; i < objects->n_shapes; i++) {
        uint64_t slot = shape_hash(objects, &objects->shapes[i]) & (n_slots - 1);
        while (slots[slot])
            slot = (slot + 1) & (n_slots - 1);
        slots[slot] = i + 1;
    }
    return true;
}

uint32_t objects_shape(struct objects *objects, const object_t *pairs, size_t n) {
    if (n >= N_MAX)
        return SHAPE_PAIRS;
    size_t recent = n ? (n ^ pairs[0] >> 4 ^ pairs[2 * n - 2] >> 2) % RECENT_SHAPES : 0;
    uint32_t shape = objects->recent[recent];
    if (shape < objects->n_shapes && shape_has(objects, shape, pairs, n))
        return shape;
    if (!grow(&objects->shape_keys, objects->n_shape_keys, n, &objects->shape_keys_capacity, sizeof(object_t)) ||
        !grow_short(&objects->shapes, objects->n_shapes, &objects->shapes_capacity, sizeof *objects->shapes))
        return SHAPE_PAIRS;
    struct dict_shape *made = &objects->shapes[objects->n_shapes];
    *made = (struct dict_shape){.first = objects->n_shape_keys, .n = (uint32_t)n};
    for (size_t i = 0; i < n; i++) {
        objects->shape_keys[made->first + i] = pairs[2 * i];
        if (object_type(pairs[2 * i]) == OBJECT_STRING && object_payload(pairs[2 * i]) < WORD_N_KEYS)
            made->position[object_payload(pairs[2 * i])] = (uint32_t)i + 1;
    }
    if (2 * objects->n_shapes >= objects->n_shape_slots && !enter_shapes(objects))
        return SHAPE_PAIRS;
    uint64_t mask = objects->n_shape_slots - 1, slot = shape_hash(objects, made) & mask;
    while ((shape = objects->shape_slots[slot]) && !shape_has(objects, shape - 1, pairs, n))
        slot = (slot + 1) & mask;
    if (!shape) {
        shape = objects->shape_slots[slot] = ++objects->n_shapes;
        objects->n_shape_keys += n;
    }
    return objects->recent[recent] = shape - 1;
}

/* ---- Containers ---- */

uint32_t objects_container(struct objects *objects, size_t n) {
    if (n >= N_MAX || !grow(&objects->items, objects->n_items, n, &objects->items_capacity, sizeof(object_t)) ||
        !grow_short(&objects->containers, objects->n_containers, &objects->containers_capacity,
                    sizeof *objects->containers))
        return CONTAINER_NONE;
    objects->containers[objects->n_containers] = (struct container){objects->n_items, (uint32_t)n, 0};
    objects->n_items += n;
    return objects->n_containers++;
}

/* Lists of these lengths share equal items. */
#define SHARED_MIN 2
#define SHARED_MAX 512

/* Doubles the table of shared lists: O(lists), amortized O(1). */
static bool enlarge_list_slots(struct objects *objects) {
    uint64_t n_slots = 2 * objects->n_list_slots, *slots = calloc(n_slots, sizeof *slots);
    if (!slots)
        return false;
    for (uint64_t i = 0; i < objects->n_list_slots; i++) {
        uint64_t slot = objects->list_slots[i] >> 32 & (n_slots - 1);
        while (objects->list_slots[i] && slots[slot])
            slot = (slot + 1) & (n_slots - 1);
        if (objects->list_slots[i])
            slots[slot] = objects->list_slots[i];
    }
    free(objects->list_slots);
    objects->list_slots = slots;
    objects->n_list_slots = n_slots;
    return true;
}

/* Sets the items of an empty list: the items of an equal list, if there is one. */
static bool fill_list(struct objects *objects, uint32_t number, const object_t *items, size_t n) {
    uint64_t slot = 0, high = 0, mask = objects->n_list_slots - 1, shared = objects->n_shared_lists;
    bool is_shared = n >= SHARED_MIN && n <= SHARED_MAX;
    if (is_shared) {
        high = hash_bytes(items, n * sizeof *items, 0) & ~(uint64_t)UINT32_MAX;
        for (slot = high >> 32 & mask; objects->list_slots[slot]; slot = (slot + 1) & mask) {
            uint64_t entry = objects->list_slots[slot];
            if ((entry & ~(uint64_t)UINT32_MAX) != high)
                continue;
            const struct shared_list *equal = &objects->shared_lists[(uint32_t)entry - 1];
            if (equal->n == n && memcmp(objects->items + equal->first, items, n * sizeof *items) == 0) {
                share_list(objects, number, (uint32_t)entry - 1);
                return true;
            }
        }
        if (!grow(&objects->shared_lists, shared, 1, &objects->shared_lists_capacity, sizeof *objects->shared_lists))
            return false;
    }
    if (n >= N_MAX || !grow(&objects->items, objects->n_items, n, &objects->items_capacity, sizeof(object_t)))
        return false;
    objects->containers[number] = (struct container){objects->n_items, (uint32_t)n, (uint32_t)n};
    if (n)
        memcpy(objects->items + objects->n_items, items, n * sizeof *items);
    objects->n_items += n;
    if (is_shared) {
        objects->shared_lists[shared] =
            (struct shared_list){.first = objects->n_items - n, .n = (uint32_t)n, .container = number};
        share_list(objects, number, shared);
        objects->list_slots[slot] = high | (shared + 1);
        if (2 * ++objects->n_shared_lists >= objects->n_list_slots)
            return enlarge_list_slots(objects);
    }
    return true;
}

object_t objects_list(struct objects *objects, enum object_type type, const object_t *items, size_t n) {
    uint32_t number = objects_container(objects, 0);
    if (number == CONTAINER_NONE || !fill_list(objects, number, items, n))
        return OBJECT_ABSENT;
    return object_make(type, number);
}

object_t objects_dict(struct objects *objects, const object_t *pairs, size_t n_pairs) {
    uint32_t shape = objects_shape(objects, pairs, n_pairs);
    uint32_t number = shape == SHAPE_PAIRS ? CONTAINER_NONE : objects_container(objects, n_pairs);
    if (number == CONTAINER_NONE)
        return OBJECT_ABSENT;
    struct container *made = &objects->containers[number];
    made->shape = shape;
    for (size_t i = 0; i < n_pairs; i++)
        objects->items[made->first + i] = pairs[2 * i + 1];
    return object_make(OBJECT_DICT, number);
}

bool objects_init(struct objects *objects) {
    *objects = (struct objects){.n_shape_slots = 1024, .n_list_slots = 1024};
    objects->shape_slots = malloc(objects->n_shape_slots * sizeof *objects->shape_slots);
    objects->list_slots = malloc(objects->n_list_slots * sizeof *objects->list_slots);
    return objects->shape_slots && objects->list_slots && objects_clear(objects);
}

bool objects_clear(struct objects *objects) {
    strings_free(&objects->strings);
    memset(objects->shape_slots, 0, objects->n_shape_slots * sizeof *objects->shape_slots);
    memset(objects->list_slots, 0, objects->n_list_slots * sizeof *objects->list_slots);
    objects->n_items = objects->n_shape_keys = objects->n_wide = objects->n_shared_lists = 0;
    objects->n_containers = objects->n_shapes = 0;
    objects->has_pairs = objects->has_unshared = false;
    if (!strings_init(&objects->strings))
        return false;
    for (size_t i = 0; i < N_WORDS; i++)
        if (strings_intern(&objects->strings, words[i].text, words[i].length) != i)
            return false;
    return grow(&objects->items, 0, 1, &objects->items_capacity, sizeof(object_t)) &&
           grow(&objects->shape_keys, 0, 1, &objects->shape_keys_capacity, sizeof(object_t)) &&
           objects_dict(objects, NULL, 0) != OBJECT_ABSENT; /* container 0 is empty, shape 0 has no keys */
}

/* Reserves n more items after the items of a container. Returns the new capacity; 0: out of memory. */
static uint64_t extend(struct objects *objects, struct container *container, uint64_t capacity, size_t n) {
    uint64_t wanted = (uint64_t)container->n + n;
    if (wanted <= capacity)
        return capacity;
    if (wanted >= N_MAX)
        return 0;
    bool is_last = container->first + capacity == objects->n_items;
    if (!is_last && container->n)
        wanted = MAX(wanted, 2 * (uint64_t)container->n);
    uint64_t extra = is_last ? wanted - capacity : wanted;
    if (!grow(&objects->items, objects->n_items, extra, &objects->items_capacity, sizeof(object_t)))
        return 0;
    if (!is_last) {
        if (container->n)
            memcpy(objects->items + objects->n_items, objects->items + container->first,
                   container->n * sizeof(object_t));
        container->first = objects->n_items;
    }
    objects->n_items += extra;
    return wanted;
}

bool objects_extend(struct objects *objects, object_t list, const object_t *items, size_t n) {
    uint32_t number = (uint32_t)object_payload(list);
    struct container *container = &objects->containers[number];
    if (container->n == 0)
        return fill_list(objects, number, items, n);
    if (container->shape & LIST_SHARED) { /* the other lists keep the items */
        objects->has_unshared = true;
        const uint64_t first = objects->n_items, n_old = container->n;
        if (!grow(&objects->items, first, n_old, &objects->items_capacity, sizeof(object_t)))
            return false;
        memcpy(objects->items + first, objects->items + container->first, n_old * sizeof(object_t));
        objects->n_items += n_old;
        *container = (struct container){first, (uint32_t)n_old, (uint32_t)n_old};
    }
    uint64_t capacity = extend(objects, container, container->shape, n);
    if (!capacity)
        return false;
    container->shape = (uint32_t)capacity;
    for (size_t i = 0; i < n; i++)
        objects->items[container->first + container->n + i] = items[i];
    container->n += (uint32_t)n;
    return true;
}

bool objects_update(struct objects *objects, object_t dict, const object_t *pairs, size_t n_pairs) {
    struct container *container = &objects->containers[object_payload(dict)];
    if (container->n == 0 && container->shape != SHAPE_PAIRS) { /* as pickles write almost all */
        uint32_t shape = objects_shape(objects, pairs, n_pairs);
        if (shape == SHAPE_PAIRS || n_pairs >= N_MAX ||
            !grow(&objects->items, objects->n_items, n_pairs, &objects->items_capacity, sizeof(object_t)))
            return false;
        *container = (struct container){objects->n_items, (uint32_t)n_pairs, shape};
        for (size_t i = 0; i < n_pairs; i++)
            objects->items[container->first + i] = pairs[2 * i + 1];
        objects->n_items += n_pairs;
        return true;
    }
    if (container->shape != SHAPE_PAIRS) { /* copies the dict as pairs; their capacity precedes them */
        struct container pairs_of = {.n = 1, .first = objects->n_items};
        const struct dict_shape *shape = &objects->shapes[container->shape];
        if (!grow(&objects->items, objects->n_items, 1 + 2 * (uint64_t)shape->n, &objects->items_capacity,
                  sizeof(object_t)))
            return false;
        for (uint32_t i = 0; i < shape->n; i++) {
            objects->items[pairs_of.first + pairs_of.n++] = objects->shape_keys[shape->first + i];
            objects->items[pairs_of.first + pairs_of.n++] = objects->items[container->first + i];
        }
        objects->items[pairs_of.first] = pairs_of.n;
        objects->n_items += pairs_of.n;
        pairs_of.shape = SHAPE_PAIRS;
        *container = pairs_of;
        objects->has_pairs = true;
    }
    uint64_t capacity = extend(objects, container, objects->items[container->first], 2 * n_pairs);
    if (!capacity)
        return false;
    objects->items[container->first] = capacity;
    for (size_t i = 0; i < 2 * n_pairs; i++)
        objects->items[container->first + container->n + i] = pairs[i];
    container->n += (uint32_t)(2 * n_pairs);
    return true;
}

bool objects_finish(struct objects *objects) {
    for (uint32_t i = 0; objects->has_pairs && i < objects->n_containers; i++) {
        struct container *container = &objects->containers[i];
        if (container->shape != SHAPE_PAIRS)
            continue;
        object_t *items = objects->items + container->first;
        uint32_t n = container->n / 2;
        uint32_t shape = objects_shape(objects, items + 1, n);
        if (shape == SHAPE_PAIRS)
            return false;
        for (uint32_t k = 0; k < n; k++)
            items[k] = items[2 * k + 2];
        container->n = n;
        container->shape = shape;
    }
    return true;
}

bool objects_reserve(struct objects *objects, size_t n) {
    return grow(&objects->items, objects->n_items, n, &objects->items_capacity, sizeof(object_t));
}
