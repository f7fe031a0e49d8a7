/*
 * dlrm_shapes.c - input and output shapes of the operators in the forest.
 *
 * In come nodes; out go two columns with the number of each shape's text. Parts of the forest are read in parallel,
 * each with a table of texts of its own, and then numbered together in order, so that numbers do not depend on the
 * number of parts. O(bytes of the operators' events).
 */
#include <stdlib.h>

#include "analyze/dlrm/dlrm.h"
#include "analyze/shape_text.h"
#include "base/error.h"

#define PART_NODES 4096

struct shape_part {
    struct strings texts;
    uint32_t *map;
    struct buffer text;
    bool failed;
};

struct shape_reader {
    struct sutra_dlrm *dlrm;
    struct shape_part *parts;
    size_t n_parts;
};

static uint32_t read_shape(struct shape_part *part, const char *bytes, struct json_place place) {
    part->text.length = 0;
    if (place.at)
        shape_append(&part->text, bytes + place.at);
    else
        buffer_append(&part->text, SHAPE_NONE, sizeof SHAPE_NONE - 1);
    uint32_t shape =
        part->text.failed ? STRING_NONE : strings_intern(&part->texts, part->text.bytes, part->text.length);
    part->failed |= shape == STRING_NONE;
    return shape;
}

static void read_part(void *arg, size_t number) {
    const struct shape_reader *reader = arg;
    struct sutra_dlrm *dlrm = reader->dlrm;
    struct shape_part *part = &reader->parts[number];
    const char *bytes = dlrm->trace->document.source.bytes;
    row_t end = (row_t)part_start(dlrm->forest.n, reader->n_parts, number + 1);
    struct events_learned learned = {0};
    part->failed = !strings_init(&part->texts);
    for (row_t node = (row_t)part_start(dlrm->forest.n, reader->n_parts, number); node < end && !part->failed; node++) {
        struct event_places places = {0};
        if (dlrm->forest.flags[node] & NODE_OPERATOR)
            event_find(dlrm->trace, dlrm->forest.event[node], &learned, &places);
        dlrm->input_shape[node] = read_shape(part, bytes, places.field[FIELD_INPUT_DIMS]);
        dlrm->output_shape[node] = read_shape(part, bytes, places.field[FIELD_OUTPUT_DIMS]);
    }
    event_forms_free(&learned.forms);
}

static bool number_part(struct sutra_dlrm *dlrm, struct shape_part *part) {
    part->map = column_new(part->texts.n, sizeof *part->map);
    if (part->failed || !part->map)
        return false;
    for (uint32_t text = 0; text < part->texts.n; text++) {
        part->map[text] =
            strings_intern(&dlrm->texts, strings_text(&part->texts, text), strings_length(&part->texts, text));
        if (part->map[text] == STRING_NONE)
            return false;
    }
    return true;
}

static void map_part(void *arg, size_t number) {
    const struct shape_reader *reader = arg;
    struct sutra_dlrm *dlrm = reader->dlrm;
    const struct shape_part *part = &reader->parts[number];
    row_t end = (row_t)part_start(dlrm->forest.n, reader->n_parts, number + 1);
    for (row_t node = (row_t)part_start(dlrm->forest.n, reader->n_parts, number); node < end; node++) {
        dlrm->input_shape[node] = part->map[dlrm->input_shape[node]];
        dlrm->output_shape[node] = part->map[dlrm->output_shape[node]];
    }
}

enum sutra_status dlrm_shapes_read(struct sutra_dlrm *dlrm, struct sutra_error *error) {
    row_t n = dlrm->forest.n;
    struct shape_reader reader = {.dlrm = dlrm, .n_parts = n / PART_NODES + 1};
    bool ok = true;
    reader.parts = column_new(reader.n_parts, sizeof *reader.parts);
    dlrm->input_shape = column_new(n, sizeof *dlrm->input_shape);
    dlrm->output_shape = column_new(n, sizeof *dlrm->output_shape);
    if (!reader.parts || !dlrm->input_shape || !dlrm->output_shape) {
        free(reader.parts);
        return error_memory(error);
    }
    pool_run(dlrm->context->pool, reader.n_parts, read_part, &reader);
    for (size_t i = 0; i < reader.n_parts; i++)
        ok = ok && number_part(dlrm, &reader.parts[i]);
    if (ok)
        pool_run(dlrm->context->pool, reader.n_parts, map_part, &reader);
    for (size_t i = 0; i < reader.n_parts; i++) {
        strings_free(&reader.parts[i].texts);
        buffer_free(&reader.parts[i].text);
        free(reader.parts[i].map);
    }
    free(reader.parts);
    return ok ? SUTRA_OK : error_memory(error);
}
