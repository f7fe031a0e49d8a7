/*
 * hta_patterns.c - patterns by their numbers of names, and their texts in order.
 */
#include "analyze/hta/hta_patterns.h"

#include <stdlib.h>
#include <string.h>

bool patterns_init(struct patterns *patterns) {
    *patterns = (struct patterns){0};
    return strings_init(&patterns->keys);
}

void patterns_free(struct patterns *patterns) {
    strings_free(&patterns->keys);
    buffer_free(&patterns->texts);
}

struct pattern *patterns_take(struct patterns *patterns, const uint32_t *names, size_t n, struct arena *arena) {
    uint32_t n_before = patterns->keys.n;
    uint32_t number = strings_intern(&patterns->keys, (const char *)names, n * sizeof *names);
    if (number == STRING_NONE ||
        !arena_grow(arena, &patterns->list, number, &patterns->capacity, sizeof *patterns->list))
        return NULL;
    struct pattern *pattern = &patterns->list[number];
    if (number == n_before)
        *pattern = (struct pattern){.name = names[0]};
    pattern->n++;
    return pattern;
}

static void write_text(struct patterns *patterns, uint32_t number, const struct strings *strings, const char *behind,
                       size_t n_behind, const char *between) {
    struct buffer *texts = &patterns->texts;
    struct pattern *pattern = &patterns->list[number];
    const char *key = strings_text(&patterns->keys, number);
    size_t n = strings_length(&patterns->keys, number) / sizeof(uint32_t);
    pattern->text = texts->length;
    for (size_t i = 0; i < n; i++) {
        uint32_t name;
        memcpy(&name, key + i * sizeof name, sizeof name);
        if (i == 1)
            buffer_append(texts, behind, n_behind);
        else if (i > 1)
            buffer_append(texts, between, strlen(between));
        buffer_append(texts, strings_text(strings, name), strings_length(strings, name));
    }
    pattern->length = texts->length - pattern->text;
}

static int compare_patterns(const void *left, const void *right, void *arg) {
    const struct patterns *patterns = arg;
    const struct pattern *a = &patterns->list[*(const uint32_t *)left];
    const struct pattern *b = &patterns->list[*(const uint32_t *)right];
    if (a->n != b->n)
        return a->n > b->n ? -1 : 1;
    size_t length = a->length < b->length ? a->length : b->length;
    int order = memcmp(patterns->texts.bytes + a->text, patterns->texts.bytes + b->text, length);
    return order ? order : (a->length > b->length) - (a->length < b->length);
}

bool patterns_sort(struct patterns *patterns, const struct strings *strings, const char *behind, size_t n_behind,
                   const char *between, struct arena *arena) {
    uint32_t n = patterns->keys.n;
    patterns->order = arena_take(arena, n, sizeof *patterns->order);
    for (uint32_t i = 0; i < n && patterns->order; i++) {
        patterns->order[i] = i;
        write_text(patterns, i, strings, behind, n_behind, between);
    }
    if (!patterns->order || patterns->texts.failed)
        return false;
    qsort_r(patterns->order, n, sizeof *patterns->order, compare_patterns, patterns);
    return true;
}
