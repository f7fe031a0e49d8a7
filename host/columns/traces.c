/*
 * traces.c - implements traces.h.
 */
#include <stdlib.h>

#include "columns/traces.h"

#include <stdlib.h>

static const struct column_form host_node_columns[HOST_NODE_N_COLUMNS] = {
#define X(type, name) {offsetof(struct host_nodes, name), sizeof(type)},
    HOST_NODE_COLUMNS(X)
#undef X
};

void host_nodes_free(struct host_nodes *nodes) {
    columns_free(nodes, host_node_columns, HOST_NODE_N_COLUMNS);
    *nodes = (struct host_nodes){0};
}

/* First the optional column of value offsets; last the columns that are read ahead, in the order of their bits. */
static const struct column_form columns[DEVICE_EVENT_N_COLUMNS] = {
    {offsetof(struct device_events, places), sizeof(struct value_places)},
    {offsetof(struct device_events, ts.bits), sizeof(uint64_t)},
    {offsetof(struct device_events, ts.kind), sizeof(uint8_t)},
    {offsetof(struct device_events, dur.bits), sizeof(uint64_t)},
    {offsetof(struct device_events, dur.kind), sizeof(uint8_t)},
#define X(type, name) {offsetof(struct device_events, name), sizeof(type)},
    DEVICE_EVENT_COLUMNS(X)
#undef X
        {offsetof(struct device_events, id), sizeof(value_key)},
    {offsetof(struct device_events, arguments), sizeof(uint32_t)},
    {offsetof(struct device_events, launches), sizeof(uint32_t)},
};

size_t device_event_forms(bool keep_offsets, unsigned prefetch_columns,
                          struct column_form forms[DEVICE_EVENT_N_COLUMNS]) {
    enum { N_AHEAD = 3, FIRST_AHEAD = DEVICE_EVENT_N_COLUMNS - N_AHEAD };
    size_t n = 0;
    for (size_t i = keep_offsets ? 0 : 1; i < FIRST_AHEAD; i++)
        forms[n++] = columns[i];
    for (size_t i = 0; i < N_AHEAD; i++)
        if (prefetch_columns >> i & 1)
            forms[n++] = columns[FIRST_AHEAD + i];
    return n;
}

bool device_events_reserve(struct device_events *events, row_t capacity) {
    if (capacity <= events->capacity)
        return true;
    struct column_form forms[DEVICE_EVENT_N_COLUMNS];
    if (!columns_resize(events, forms, device_event_forms(events->keep_offsets, events->prefetch_columns, forms),
                        capacity))
        return false;
    events->capacity = capacity;
    return true;
}

void device_events_free(struct device_events *events) {
    if (events->usable_dur.bits != events->dur.bits) {
        free(events->usable_dur.bits);
        free(events->usable_dur.kind);
    }
    columns_free(events, columns, DEVICE_EVENT_N_COLUMNS);
    free(events->begin);
    *events = (struct device_events){0};
}

void device_events_keep(struct device_events *events, const uint8_t *kept) {
    row_t n = 0;
    for (row_t row = 0; row < events->n; row++) {
        if (!kept[row])
            continue;
        number_set(events->ts, n, number_at(events->ts, row));
        number_set(events->usable_dur, n, number_at(events->usable_dur, row));
        number_set(events->dur, n, number_at(events->dur, row));
        if (events->keep_offsets)
            events->places[n] = events->places[row];
#define X(type, name) events->name[n] = events->name[row];
        DEVICE_EVENT_COLUMNS(X)
#undef X
        n++;
    }
    events->n = n;
    free(events->begin);
    events->begin = NULL;
}
