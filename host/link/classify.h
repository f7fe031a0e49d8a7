/*
 * classify.h - what an event of a device trace is to the linker, from its category and name.
 */
#ifndef LINK_CLASSIFY_H
#define LINK_CLASSIFY_H

#include "facts/names.h"

enum event_class { EVENT_OTHER, EVENT_CPU_OP, EVENT_LAUNCH, EVENT_GPU_OP, EVENT_LAUNCH_FLOW, EVENT_MEMORY_SET };

/* `roles` as READER_LINKER knows them. O(1). */
enum event_class event_classify(const struct device_events *events, const struct string_roles *roles, row_t event);

#endif
