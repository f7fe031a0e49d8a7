/*
 * names.c - the table of names. O(bytes of different names).
 */
#include "legacy/names.h"

#include <string.h>

#include "base/buffer.h"

bool names_begin(struct legacy_names *names, const struct strings *device) {
    *names = (struct legacy_names){0};
    if (!strings_init(&names->table))
        return false;
    for (uint32_t i = 0; i < device->n; i++)
        if (strings_intern(&names->table, strings_text(device, i), strings_length(device, i)) != i)
            return false;
    names->process = strings_intern(&names->table, PROCESS_NAME, strlen(PROCESS_NAME));
    names->thread = strings_intern(&names->table, THREAD_NAME, strlen(THREAD_NAME));
    names->old_thread = strings_intern(&names->table, OLD_THREAD_NAME, strlen(OLD_THREAD_NAME));
    return names->process != STRING_NONE && names->thread != STRING_NONE && names->old_thread != STRING_NONE;
}

static const char *find(const char *text, size_t length, const char *part) {
    return memmem(text, length, part, strlen(part));
}

/* The number of a name after the replacement; itself where there is nothing to replace. */
static uint32_t rename_graph(struct legacy_names *names, uint32_t name, struct buffer *text) {
    static const char before[] = "execution_graph", after[] = "execution_trace";
    _Static_assert(sizeof before == sizeof after, "names are replaced in place");
    size_t length = strings_length(&names->table, name);
    if (!find(strings_text(&names->table, name), length, before))
        return name;
    text->length = 0;
    buffer_append(text, strings_text(&names->table, name), length);
    if (text->failed)
        return STRING_NONE;
    for (char *at = text->bytes, *end = at + length; (at = memmem(at, (size_t)(end - at), before, sizeof before - 1));)
        memcpy(at, after, sizeof after - 1);
    return strings_intern(&names->table, text->bytes, length);
}

static bool rename_all(struct legacy_names *names, uint32_t n) {
    struct buffer text = {0};
    bool ok = true;
    for (uint32_t i = 0; i < n && ok; i++)
        ok = (names->renamed[i] = rename_graph(names, i, &text)) != STRING_NONE;
    buffer_free(&text);
    for (uint32_t i = n; i < names->table.n && ok; i++) /* a replaced name is its own */
        names->renamed[i] = i;
    return ok;
}

bool names_finish(struct legacy_names *names, const char *annotation, struct arena *arena) {
    uint32_t n = names->table.n;
    names->renamed = arena_take(arena, (size_t)n * 2, sizeof *names->renamed);
    names->annotated = arena_take(arena, (size_t)n * 2, 1);
    names->iteration = arena_take(arena, (size_t)n * 2, 1);
    if (arena->failed || !rename_all(names, n))
        return false;
    for (uint32_t i = 0; i < names->table.n; i++) {
        const char *name = strings_text(&names->table, i);
        size_t length = strings_length(&names->table, i);
        names->annotated[i] = find(name, length, annotation) != NULL;
        names->iteration[i] = find(name, length, "iteration#") != NULL;
    }
    return true;
}
