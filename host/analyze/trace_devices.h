/*
 * trace_devices.h - how many devices the host has that a trace was taken on, as its "deviceProperties" tell.
 */
#ifndef ANALYZE_TRACE_DEVICES_H
#define ANALYZE_TRACE_DEVICES_H

#include "read/document.h"

/* 0: the trace does not tell. */
int64_t trace_device_count(const struct document *document);

#endif
