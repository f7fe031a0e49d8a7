/*
 * device_events.c - making room in the columns of a device trace, and joining them.
 */
#include "columns/device_events.h"

#include <stdlib.h>
#include <string.h>

#include "columns/column.h"

static bool resize_numbers(struct number_column *column, size_t n) {
    return column_resize(&column->bits, n, sizeof *column->bits) &&
           column_resize(&column->kind, n, sizeof *column->kind);
}

bool device_events_reserve(struct device_events *events, row_t capacity) {
    if (capacity <= events->capacity)
        return true;
    if (!resize_numbers(&events->ts, capacity) || !resize_numbers(&events->dur, capacity))
        return false;
    if (events->notes_places && !column_resize(&events->places, capacity, sizeof *events->places))
        return false;
#define X(type, name)                                                                                                  \
    if (!column_resize(&events->name, capacity, sizeof *events->name))                                                 \
        return false;
    DEVICE_EVENT_COLUMNS(X)
#undef X
    events->capacity = capacity;
    return true;
}

void device_events_free(struct device_events *events) {
    free(events->ts.bits);
    free(events->ts.kind);
    free(events->dur.bits);
    free(events->dur.kind);
    free(events->places);
#define X(type, name) free(events->name);
    DEVICE_EVENT_COLUMNS(X)
#undef X
    *events = (struct device_events){0};
}

void device_events_copy(struct device_events *to, row_t row, const struct device_events *from) {
    if (from->n == 0)
        return;
    memcpy(to->ts.bits + row, from->ts.bits, from->n * sizeof *from->ts.bits);
    memcpy(to->ts.kind + row, from->ts.kind, from->n * sizeof *from->ts.kind);
    memcpy(to->dur.bits + row, from->dur.bits, from->n * sizeof *from->dur.bits);
    memcpy(to->dur.kind + row, from->dur.kind, from->n * sizeof *from->dur.kind);
    if (from->notes_places)
        memcpy(to->places + row, from->places, from->n * sizeof *from->places);
#define X(type, name) memcpy(to->name + row, from->name, from->n * sizeof *from->name);
    DEVICE_EVENT_COLUMNS(X)
#undef X
}

void device_events_keep(struct device_events *events, const uint8_t *kept) {
    row_t n = 0;
    for (row_t row = 0; row < events->n; row++) {
        if (!kept[row])
            continue;
        number_put(events->ts, n, number_at(events->ts, row));
        number_put(events->dur, n, number_at(events->dur, row));
        if (events->notes_places)
            events->places[n] = events->places[row];
#define X(type, name) events->name[n] = events->name[row];
        DEVICE_EVENT_COLUMNS(X)
#undef X
        n++;
    }
    events->n = n;
}
