/*
 * column.c - implements column.h.
 */
#include "columns/column.h"

#include <stdlib.h>
#include <string.h>

#include "base/memory.h"

bool column_resize(void *column, size_t n, size_t size) {
    void *memory;
    memcpy(&memory, column, sizeof memory);
    void *moved = reallocarray(memory, n, size);
    if (!moved)
        return false;
    memory_on_large_pages(moved, n * size);
    memcpy(column, &moved, sizeof moved);
    /* cppcheck-suppress memleak; the column has it */
    return true;
}

static char *column_of(const void *table, const struct column_form *form) {
    char *column;
    memcpy(&column, (const char *)table + form->place, sizeof column);
    return column;
}

static void set_column(void *table, const struct column_form *form, char *column) {
    memcpy((char *)table + form->place, &column, sizeof column);
}

bool columns_resize(void *table, const struct column_form *forms, size_t n_forms, size_t n) {
    for (size_t i = 0; i < n_forms; i++)
        if (!column_resize((char *)table + forms[i].place, n, forms[i].size))
            return false;
    return true;
}

void columns_free(void *table, const struct column_form *forms, size_t n_forms) {
    for (size_t i = 0; i < n_forms; i++) {
        free(column_of(table, &forms[i]));
        set_column(table, &forms[i], NULL);
    }
}

void columns_view(void *view, const void *table, const struct column_form *forms, size_t n_forms, size_t row) {
    for (size_t i = 0; i < n_forms; i++)
        set_column(view, &forms[i], column_of(table, &forms[i]) + row * forms[i].size);
}

bool columns_own(void *table, const struct column_form *forms, size_t n_forms, size_t n, size_t capacity) {
    char **made = calloc(n_forms, sizeof *made);
    bool ok = made;
    for (size_t i = 0; i < n_forms && ok; i++)
        ok = column_resize(&made[i], capacity, forms[i].size);
    for (size_t i = 0; i < n_forms && made; i++) {
        if (ok && n > 0)
            memcpy(made[i], column_of(table, &forms[i]), n * forms[i].size);
        if (ok)
            set_column(table, &forms[i], made[i]);
        else
            free(made[i]);
    }
    free(made);
    return ok;
}

void column_trim(const void *table, const struct column_form *form, size_t n, size_t capacity) {
    memory_return_pages(column_of(table, form) + n * form->size, (capacity - n) * form->size);
}

void column_move(void *to, size_t row, const void *from, const struct column_form *form, size_t n) {
    char *place = column_of(to, form) + row * form->size;
    if (n > 0 && place != column_of(from, form))
        memmove(place, column_of(from, form), n * form->size);
}

row_t *rows_none(struct arena *arena, size_t n) {
    row_t *rows = arena_alloc(arena, n, sizeof *rows);
    return rows ? memset(rows, 0xff, n * sizeof *rows) : NULL;
}
