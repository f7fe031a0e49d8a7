/*
 * waits.h - asking for what records and stream waits refer to.
 */
#ifndef CRITICAL_PATH_WAITS_H
#define CRITICAL_PATH_WAITS_H

#include "critical_path/path_search.h"

/* The launch that the record had before it which this row waits for, or ROW_NONE. */
row_t waits_record_launch(const struct path_work *work, const struct path_rows *rows, const struct path_waits *waits,
                          row_t event);

/* The number of a call that makes a stream wait (see path_waits), or TUPLE_NONE. */
uint32_t waits_call(const struct path_waits *waits, row_t call);

#endif
