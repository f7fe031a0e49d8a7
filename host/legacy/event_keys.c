/*
 * event_keys.c - asking for ids that are no columns, and handing them out in the order of the events asked for.
 */
#include "legacy/event_keys.h"

enum sutra_status event_keys_read(struct sutra_context *context, const struct sutra_device_trace *trace,
                                  enum id_field field, const row_t *event, row_t n, value_key *keys,
                                  struct json_place *place, struct sutra_error *error) {
    static const struct asked_field fields[][2] = {
        [ID_EXTERNAL] = {{"External id", ASK_KEY, false}, {"External id", ASK_PLACE, false}},
        [ID_EVENT_INDEX] = {{"Ev Idx", ASK_KEY, false}, {"Ev Idx", ASK_PLACE, false}},
        [ID_ARROW] = {{"id", ASK_KEY, true}, {"id", ASK_PLACE, true}},
    };
    struct asked_column columns[2];
    enum sutra_status status =
        event_columns_ask(context, trace, fields[field], place ? 2 : 1, event, n, columns, error);
    for (row_t i = 0; i < n && !status; i++) {
        keys[i] = event[i] == ROW_NONE ? KEY_ABSENT : columns[0].key[event[i]];
        if (place)
            place[i] = event[i] == ROW_NONE ? (struct json_place){0} : columns[1].place[event[i]];
    }
    return status;
}
