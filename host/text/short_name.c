/*
 * short_name.c - cutting by columns, and keeping names apart: what is alike when shortened is sorted, so that
 * neighbours tell where a name differs.
 */
#include "text/short_name.h"

#include <ctype.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "text/kernel_name.h"
#include "text/visible.h"

#define DOTS       2 /* columns of ".." */
#define LEAST      8
#define REST_LEAST 12 /* columns for where a name differs, before its beginning gets more than half */

static unsigned checked(unsigned width) {
    return width < LEAST ? LEAST : width > SHORT_COLUMNS ? SHORT_COLUMNS : width;
}

/* Adds characters up to a column; returns where the rest begins. */
static const char *fill(struct shortened *shortened, const char *text, unsigned width) {
    size_t length = strlen(shortened->text);
    while (*text) {
        struct visible_character character;
        const char *next = visible_read(text, &character);
        if (shortened->n_columns + character.n_columns > width)
            break;
        memcpy(shortened->text + length, character.bytes, character.n_bytes);
        length += character.n_bytes;
        shortened->n_columns += character.n_columns;
        text = next;
    }
    shortened->text[length] = '\0';
    return text;
}

static unsigned columns_of(const char *text) {
    unsigned n = 0;
    struct visible_character character;
    while (*text && n <= SHORT_COLUMNS) {
        text = visible_read(text, &character);
        n += character.n_columns;
    }
    return n;
}

/* Adds a text up to a column, its beginning with dots where it is longer. */
static void fill_cut(struct shortened *shortened, const char *text, unsigned width) {
    bool fits = columns_of(text) <= width - shortened->n_columns;
    fill(shortened, text, fits ? width : width - DOTS);
    if (!fits)
        fill(shortened, "..", width);
}

struct shortened short_text(const char *text, unsigned width) {
    struct shortened shortened = {0};
    fill_cut(&shortened, text, checked(width));
    return shortened;
}

struct shortened short_path(const char *path, unsigned width) {
    struct shortened shortened = {0};
    width = checked(width);
    const char *at = path + strlen(path);
    unsigned n = 0;
    struct visible_character character;
    if (columns_of(path) <= width)
        at = path;
    while (at > path) {
        const char *before = at - 1;
        while (before > path && ((unsigned char)*before & 0xc0) == 0x80 && at - before < 4)
            before--;
        visible_read(before, &character);
        if (n + character.n_columns > width - DOTS)
            break;
        n += character.n_columns;
        at = before;
    }
    if (at > path)
        fill(&shortened, "..", width);
    fill(&shortened, at, width);
    return shortened;
}

struct shortened short_name(const char *name, unsigned width) {
    char reduced[KERNEL_NAME_MAX];
    bool shorter = columns_of(name) > checked(width) && kernel_name_reduce(name, reduced);
    return short_text(shorter ? reduced : name, width);
}

/* ---- Names that differ ---- */

/* A name that occurs, once; `shortened` is that of its first place. */
struct entry {
    const char *name;
    struct shortened *shortened;
    size_t place;
    const char *reduced; /* the name, as far as it is not left out from the start */
    const char *text;    /* that, or the name */
    size_t from;         /* where the text differs from those that are alike */
};

static int compare_names(const void *a, const void *b) {
    const struct entry *x = a, *y = b;
    int order = strcmp(x->name, y->name);
    return order ? order : (x->place > y->place) - (x->place < y->place);
}

static int compare_shorts(const void *a, const void *b) {
    const struct entry *x = a, *y = b;
    int order = strcmp(x->shortened->text, y->shortened->text);
    order = order ? order : strcmp(x->text, y->text);
    return order ? order : strcmp(x->name, y->name);
}

static bool are_alike(const struct entry *a, const struct entry *b) {
    return strcmp(a->shortened->text, b->shortened->text) == 0;
}

/* The end of the names from `begin` on that are alike in their short form. */
static size_t end_of_alike(const struct entry *entries, size_t n, size_t begin) {
    size_t end = begin + 1;
    while (end < n && are_alike(&entries[begin], &entries[end]))
        end++;
    return end;
}

static size_t common_length(const char *a, const char *b) {
    size_t n = 0;
    while (a[n] && a[n] == b[n])
        n++;
    return n;
}

/* Back to where the word or number begins, if it is not long. */
static size_t begin_of_word(const char *name, size_t at) {
    enum { LONG = 12 };
    size_t begin = at;
    while (begin > 0 && at - begin < LONG && isalnum((unsigned char)name[begin - 1]))
        begin--;
    while (begin > 0 && ((unsigned char)name[begin] & 0xc0) == 0x80)
        begin--;
    return begin;
}

/* The beginning of the name, or all that is not left out where there is room for it, and from where it differs. */
static void tell_apart(struct entry *entry, size_t i, unsigned width) {
    (void)i;
    const char *rest = entry->text + entry->from;
    unsigned n_rest = columns_of(rest), n_head = width / 2, n_reduced = columns_of(entry->reduced);
    if (n_rest == 0 && entry->text == entry->reduced)
        return;
    if (width >= n_reduced + DOTS + REST_LEAST)
        n_head = n_reduced;
    else if (n_rest + DOTS + n_head < width)
        n_head = width - DOTS - n_rest;
    struct shortened made = {0};
    fill(&made, entry->reduced, n_head);
    fill(&made, "..", width);
    fill_cut(&made, rest, width);
    *entry->shortened = made;
}

static void number(struct entry *entry, size_t i, unsigned width) {
    char suffix[24];
    unsigned length = (unsigned)snprintf(suffix, sizeof suffix, " #%zu", i + 1);
    struct shortened made = {0};
    if (length + DOTS <= width)
        fill_cut(&made, entry->shortened->text, width - length);
    fill(&made, suffix, width);
    *entry->shortened = made;
}

/* Calls for each name that another one is like; returns how many these are. */
static size_t each_alike(struct entry *entries, size_t n, unsigned width,
                         void (*call)(struct entry *, size_t, unsigned)) {
    size_t n_alike = 0;
    qsort(entries, n, sizeof *entries, compare_shorts);
    for (size_t begin = 0, end; begin < n; begin = end) {
        end = end_of_alike(entries, n, begin);
        for (size_t i = begin; i < end && end > begin + 1; i++, n_alike++)
            call(&entries[i], i, width);
    }
    return n_alike;
}

/* Notes where each text differs from the nearest of those that are alike, which stand beside it. */
static void find_differences(struct entry *entries, size_t n) {
    for (size_t i = 0; i < n; i++)
        entries[i].from = 0;
    qsort(entries, n, sizeof *entries, compare_shorts);
    for (size_t i = 1; i < n; i++) {
        if (!are_alike(&entries[i - 1], &entries[i]))
            continue;
        size_t common = common_length(entries[i - 1].text, entries[i].text);
        for (size_t k = i - 1; k <= i; k++)
            entries[k].from = common > entries[k].from ? common : entries[k].from;
    }
    for (size_t i = 0; i < n; i++)
        entries[i].from = begin_of_word(entries[i].text, entries[i].from);
}

/* Keeps each name once; first[i] becomes the first place of the name at place i. Returns how many these are. */
static size_t make_unique(struct entry *entries, size_t n, size_t *first) {
    size_t n_kept = 0;
    qsort(entries, n, sizeof *entries, compare_names);
    for (size_t i = 0; i < n; i++) {
        if (n_kept == 0 || strcmp(entries[n_kept - 1].name, entries[i].name) != 0)
            entries[n_kept++] = entries[i];
        first[entries[i].place] = entries[n_kept - 1].place;
    }
    return n_kept;
}

static void keep(struct entry *entry, size_t i, unsigned width) {
    (void)entry, (void)i, (void)width;
}

/* By what the names were reduced to, then by what was left out; twice, for a first difference may be shared. */
static void keep_apart(struct entry *entries, size_t n, unsigned width) {
    for (int turn = 0; turn < 4; turn++) {
        for (size_t i = 0; i < n; i++)
            entries[i].text = turn < 2 ? entries[i].reduced : entries[i].name;
        find_differences(entries, n);
        each_alike(entries, n, width, tell_apart);
    }
    each_alike(entries, n, width, number);
    if (each_alike(entries, n, width, keep) == 0)
        return;
    for (size_t i = 0; i < n; i++) /* a name ends as if it had a number */
        number(&entries[i], i, width);
}

void short_names(const char *const *names, size_t n, unsigned width, struct shortened *shorts) {
    struct entry *entries = calloc(n + 1, sizeof *entries);
    size_t *first = calloc(n + 1, sizeof *first);
    char(*reduced)[KERNEL_NAME_MAX] = calloc(n + 1, sizeof *reduced);
    bool there = entries && first && reduced;
    width = checked(width);
    for (size_t i = 0; i < n; i++) {
        shorts[i] = short_name(names[i], width);
        if (!there)
            continue;
        bool is_reduced = kernel_name_reduce(names[i], reduced[i]);
        entries[i] = (struct entry){.name = names[i], .shortened = &shorts[i], .place = i};
        entries[i].reduced = is_reduced ? reduced[i] : names[i];
    }
    if (there) {
        keep_apart(entries, make_unique(entries, n, first), width);
        for (size_t i = 0; i < n; i++)
            shorts[i] = shorts[first[i]];
    }
    free(entries);
    free(first);
    free(reduced);
}
