/*
 * row.h - rows of our tables: 32 bits, never mixed with ids that files give.
 */
#ifndef COLUMNS_ROW_H
#define COLUMNS_ROW_H

#include <stdint.h>

typedef uint32_t row_t;

#define ROW_NONE  UINT32_MAX
#define ROW_LIMIT (UINT32_MAX - 1) /* most rows of a table */

#endif
