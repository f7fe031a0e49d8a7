/*
 * event_keys.c - walking events once more for the ids that the columns lack.
 */
#include "legacy/event_keys.h"

#include <stdatomic.h>

#include "base/error.h"
#include "read/fields.h"

/* Events that one task reads. */
#define BLOCK 1024

struct key_reading {
    struct sutra_context *context;
    const struct sutra_device_trace *trace;
    enum event_field field;
    const row_t *event;
    row_t n;
    value_key *keys;
    struct json_place *place;
    atomic_bool failed;
};

static struct json_place place_of(const struct sutra_device_trace *trace, row_t event, enum event_field field) {
    const struct document *document = &trace->document;
    struct event_places places;
    struct json_walker walker = walk_from(&document->source, &document->index, trace->events.text[event]);
    if (walk_char(&walker) != '{')
        return (struct json_place){0};
    walk_event(&walker, NULL, &places);
    return places.field[field];
}

static void read_block(void *arg, size_t block) {
    struct key_reading *reading = arg;
    struct field_reader reader = {.source = &reading->trace->document.source, .values = &reading->context->values};
    size_t begin = block * BLOCK, end = begin + BLOCK < reading->n ? begin + BLOCK : reading->n;
    for (size_t i = begin; i < end; i++) {
        struct json_place place = {0};
        if (reading->event[i] != ROW_NONE)
            place = place_of(reading->trace, reading->event[i], reading->field);
        if (reading->place)
            reading->place[i] = place;
        reading->keys[i] = place.at ? field_key(&reader, place) : KEY_ABSENT;
    }
    if (reader.failed)
        atomic_store(&reading->failed, true);
    buffer_free(&reader.scratch);
}

enum sutra_status event_keys_read(struct sutra_context *context, const struct sutra_device_trace *trace,
                                  enum event_field field, const row_t *event, row_t n, value_key *keys,
                                  struct json_place *place, struct sutra_error *error) {
    struct key_reading reading = {context, trace, field, event, n, keys, place, false};
    pool_run(context->pool, ((size_t)n + BLOCK - 1) / BLOCK, read_block, &reading);
    return atomic_load(&reading.failed) ? error_memory(error) : SUTRA_OK;
}
