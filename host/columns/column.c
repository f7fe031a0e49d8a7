/*
 * column.c - making room in a column.
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

row_t *rows_none(struct arena *arena, size_t n) {
    row_t *rows = arena_take(arena, n, sizeof *rows);
    return rows ? memset(rows, 0xff, n * sizeof *rows) : NULL;
}
