/*
 * event_places.c - walking one event and noting where the fields stand that we know.
 */
#include "read/event_places.h"

#include <string.h>

#include "text/string_text.h"

static inline bool same(const char *key, const char *name, size_t length) {
    return memcmp(key, name, length) == 0;
}

static enum event_field outer_field(const char *key, size_t length) {
    switch (length) {
    case 2:
        return same(key, "ts", 2)   ? FIELD_TS
               : same(key, "ph", 2) ? FIELD_PHASE
               : same(key, "id", 2) ? FIELD_ID
                                    : FIELD_NONE;
    case 3:
        return same(key, "cat", 3)   ? FIELD_CATEGORY
               : same(key, "dur", 3) ? FIELD_DUR
               : same(key, "pid", 3) ? FIELD_PID
               : same(key, "tid", 3) ? FIELD_TID
                                     : FIELD_NONE;
    case 4:
        return same(key, "name", 4) ? FIELD_NAME : same(key, "args", 4) ? FIELD_ARGS : FIELD_NONE;
    default:
        return FIELD_NONE;
    }
}

static enum event_field inner_field(const char *key, size_t length) {
    switch (length) {
    case 6:
        return same(key, "stream", 6) ? FIELD_STREAM : same(key, "Ev Idx", 6) ? FIELD_EVENT_INDEX : FIELD_NONE;
    case 10:
        return same(key, "Input dims", 10) ? FIELD_INPUT_DIMS : FIELD_NONE;
    case 11:
        return same(key, "External id", 11)   ? FIELD_EXTERNAL
               : same(key, "correlation", 11) ? FIELD_CORRELATION
               : same(key, "external id", 11) ? FIELD_LOWER_EXTERNAL
               : same(key, "Output dims", 11) ? FIELD_OUTPUT_DIMS
                                              : FIELD_NONE;
    case 14:
        return same(key, "wait_on_stream", 14) ? FIELD_WAIT_STREAM : FIELD_NONE;
    case 18:
        return same(key, "Record function id", 18)   ? FIELD_RF
               : same(key, "Process Group Name", 18) ? FIELD_PROCESS_GROUP
                                                     : FIELD_NONE;
    case 33:
        return same(key, "wait_on_cuda_event_record_corr_id", 33) ? FIELD_WAIT_RECORD : FIELD_NONE;
    default:
        return FIELD_NONE;
    }
}

/* Longest raw form of a key that we know: all of its characters as \uXXXX. */
#define KEY_RAW_MAX (33 * 6)

static inline enum event_field field_of(const struct json_walker *walker, struct json_place key,
                                        enum event_field (*known)(const char *key, size_t length)) {
    const char *raw = walker->text + key.at + 1;
    size_t length = key.end - key.at - 1;
    enum event_field field = known(raw, length);
    if (field != FIELD_NONE || length > KEY_RAW_MAX || !memchr(raw, '\\', length))
        return field;
    char decoded[KEY_RAW_MAX];
    return known(decoded, string_decode(raw, length, decoded));
}

static inline void walk_args(struct json_walker *walker, struct event_places *places) {
    for (int field = FIELD_EXTERNAL; field < FIELD_NONE; field++)
        places->field[field] = (struct json_place){0};
    for (bool more = walk_object(walker); more; more = walk_member_end(walker)) {
        struct json_place key = walk_key(walker);
        if (!key.at)
            return;
        enum event_field field = field_of(walker, key, inner_field);
        struct json_place value = walk_value(walker);
        if (field != FIELD_NONE)
            places->field[field] = value;
    }
}

void walk_event(struct json_walker *original, struct event_places *places) {
    struct json_walker copy = *original, *walker = &copy; /* one that stays in registers */
    *places = (struct event_places){0};
    for (bool more = walk_object(walker); more; more = walk_member_end(walker)) {
        struct json_place key = walk_key(walker);
        if (!key.at)
            break;
        enum event_field field = field_of(walker, key, outer_field);
        struct json_place value = {.at = walker->at};
        if (field == FIELD_ARGS && walk_char(walker) == '{')
            walk_args(walker, places);
        else
            value = walk_value(walker);
        if (field != FIELD_NONE)
            places->field[field] = value;
    }
    *original = copy;
}

const char *event_field_name(enum event_field field) {
    static const char *const names[] = {"id",
                                        "ph",
                                        "ts",
                                        "cat",
                                        "dur",
                                        "pid",
                                        "tid",
                                        "name",
                                        "args",
                                        "args[\"External id\"]",
                                        "args[\"Ev Idx\"]",
                                        "args[\"stream\"]",
                                        "args[\"Record function id\"]",
                                        "args[\"Process Group Name\"]",
                                        "args[\"correlation\"]",
                                        "args[\"wait_on_stream\"]",
                                        "args[\"wait_on_cuda_event_record_corr_id\"]",
                                        "args[\"external id\"]",
                                        "args[\"Input dims\"]",
                                        "args[\"Output dims\"]"};
    return names[field];
}
