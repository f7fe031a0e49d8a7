/*
 * event_keys.h - ids of a few events, read from their text as Python has them (5 and "5" are different there).
 */
#ifndef LEGACY_EVENT_KEYS_H
#define LEGACY_EVENT_KEYS_H

#include "read/event_columns.h"

/* The fields that hold ids. */
enum id_field { ID_EXTERNAL, ID_EVENT_INDEX, ID_ARROW };

/* keys[i] = the field of event[i]; KEY_ABSENT where it is missing or the event is ROW_NONE. place[i] (may be NULL) gets
 * where it stands. In parallel, O(bytes). */
enum sutra_status event_keys_read(struct sutra_context *context, const struct sutra_device_trace *trace,
                                  enum id_field field, const row_t *event, row_t n, value_key *keys,
                                  struct json_place *place, struct sutra_error *error);

#endif
