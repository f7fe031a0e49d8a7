/*
 * snapshot_settings.c - the allocator's settings of a memory snapshot as JSON text.
 *
 * Input: a dict. Output: its members, without nested dicts at the top level. Nested values are walked with a stack of
 * containers, without recursion. Cost: O(text); the text is limited, because a list may contain another one several
 * times.
 */
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "analyze/memory/snapshot.h"
#include "base/error.h"
#include "write/text.h"

#define DEPTH_LIMIT 64
#define TEXT_LIMIT  ((uint64_t)1 << 24)

struct open_container {
    const object_t *items, *keys; /* `keys`: NULL of a list */
    uint32_t n, i;
};

/* An integer of 128 bits in two's complement. */
static void add_wide(struct text_out *text, const struct wide_value *value) {
    __extension__ typedef unsigned __int128 uint128;
    uint128 rest = (uint128)value->high << 64 | value->low;
    char digits[48], *at = digits + sizeof digits;
    bool is_negative = value->high >> 63;
    rest = is_negative ? -rest : rest;
    *--at = '\0';
    do
        *--at = (char)('0' + (int)(rest % 10));
    while ((rest /= 10));
    out_add(text, is_negative ? "-" : "");
    out_add(text, at);
}

static void add_text(const struct snapshot *s, struct text_out *text, object_t string) {
    uint32_t id = (uint32_t)object_payload(string);
    out_string(text, strings_text(&s->objects->strings, id), strings_length(&s->objects->strings, id));
}

static void add_scalar(const struct snapshot *s, struct text_out *text, object_t value) {
    double real = 0;
    switch (object_type(value)) {
    case OBJECT_STRING:
        add_text(s, text, value);
        break;
    case OBJECT_BOOL:
        out_add(text, object_payload(value) ? "true" : "false");
        break;
    case OBJECT_INTEGER:
        out_integer(text, object_small(value));
        break;
    case OBJECT_WIDE:
        add_wide(text, &s->objects->wide[object_payload(value)]);
        break;
    case OBJECT_REAL:
        memcpy(&real, &s->objects->wide[object_payload(value)].low, sizeof real);
        if (real - real == 0) {
            out_number(text, real);
            break;
        }
        __attribute__((fallthrough)); /* JSON has no such number */
    default:
        out_add(text, "null");
    }
}

enum sutra_status snapshot_write_settings(const struct snapshot *s, object_t settings, struct buffer *members,
                                          struct sutra_error *error) {
    const struct objects *o = s->objects;
    struct text_out text = {0};
    struct open_container open[DEPTH_LIMIT] = {{items_of(o, settings),
                                                o->shape_keys + o->shapes[container_of(o, settings)->shape].first,
                                                container_of(o, settings)->n, 0}};
    size_t depth = 1;
    const char *refusal = NULL;
    for (bool is_first = true; depth && !refusal;) {
        struct open_container *top = &open[depth - 1];
        if (top->i == top->n) {
            out_add(&text, --depth == 0 ? "" : top->keys ? "}" : "]");
            is_first = false;
            continue;
        }
        object_t value = top->items[top->i++];
        enum object_type type = object_type(value);
        if (type == OBJECT_DICT && depth == 1)
            continue;
        out_add(&text, is_first ? "" : ", ");
        is_first = false;
        if (top->keys && object_type(top->keys[top->i - 1]) == OBJECT_STRING) {
            add_text(s, &text, top->keys[top->i - 1]);
            out_add(&text, ": ");
        } else if (top->keys) {
            out_add(&text, "\"");
            add_scalar(s, &text, top->keys[top->i - 1]);
            out_add(&text, "\": ");
        }
        if (type == OBJECT_DICT || is_list(value)) {
            const struct container *container = container_of(o, value);
            const object_t *keys = type == OBJECT_DICT ? o->shape_keys + o->shapes[container->shape].first : NULL;
            refusal = depth == DEPTH_LIMIT ? "are nested too deeply" : NULL;
            if (!refusal)
                open[depth++] = (struct open_container){o->items + container->first, keys, container->n, 0};
            out_add(&text, keys ? "{" : "[");
            is_first = true;
        } else {
            add_scalar(s, &text, value);
        }
        if (text.out.length > TEXT_LIMIT)
            refusal = "are too long";
    }
    *members = text.out;
    if (refusal)
        return snapshot_malformed(s, error, "\"allocator_settings\" %s", refusal);
    return text.out.failed ? error_memory(error) : SUTRA_OK;
}
