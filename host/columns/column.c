/*
 * column.c - making room in a column.
 */
#include "columns/column.h"

#include <stdlib.h>
#include <string.h>

bool column_resize(void *column, size_t n, size_t size) {
    void *memory;
    memcpy(&memory, column, sizeof memory);
    void *moved = reallocarray(memory, n, size);
    if (!moved)
        return false;
    memcpy(column, &moved, sizeof moved);
    /* cppcheck-suppress memleak; the column has it */
    return true;
}
