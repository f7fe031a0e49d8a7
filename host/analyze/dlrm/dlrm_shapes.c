/*
 * dlrm_shapes.c - input and output shapes of the operators in the forest.
 *
 * In come nodes; out go two columns with the number of each shape's text. Parts of the forest are read in parallel,
 * each with a table of texts of its own, and then numbered together in order, so that numbers do not depend on the
 * number of parts. O(bytes of the operators' events).
 */
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
    const struct dlrm_work *work;
    const struct dlrm_forest *forest;
    const struct dlrm_shapes *shapes;
    struct shape_part *parts;
    size_t n_parts;
};

/* The first node of a part; of the part behind the last one, the end. */
static row_t first_node(const struct shape_reader *reader, size_t part) {
    return (row_t)part_start(reader->forest->n, reader->n_parts, part);
}

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
    const struct dlrm_forest *forest = reader->forest;
    const struct sutra_device_trace *trace = reader->work->trace;
    struct shape_part *part = &reader->parts[number];
    const char *bytes = trace->document.source.bytes;
    row_t end = first_node(reader, number + 1);
    struct event_forms learned = {0};
    part->failed = !strings_init(&part->texts);
    for (row_t node = first_node(reader, number); node < end && !part->failed; node++) {
        struct event_places places = {0};
        if (forest->flags[node] & NODE_OPERATOR)
            event_find(trace, forest->event[node], &learned, &places);
        reader->shapes->input[node] = read_shape(part, bytes, places.field[FIELD_INPUT_DIMS]);
        reader->shapes->output[node] = read_shape(part, bytes, places.field[FIELD_OUTPUT_DIMS]);
    }
    event_forms_free(&learned);
}

static bool number_part(struct dlrm_work *work, struct shape_part *part) {
    const struct strings *texts = &part->texts;
    part->map = part->failed ? NULL : arena_take(&work->scratch, texts->n, sizeof *part->map);
    bool ok = part->map != NULL;
    for (uint32_t text = 0; ok && text < texts->n; text++) {
        part->map[text] = strings_intern(work->texts, strings_text(texts, text), strings_length(texts, text));
        ok = part->map[text] != STRING_NONE;
    }
    return ok;
}

static void map_part(void *arg, size_t number) {
    const struct shape_reader *reader = arg;
    const struct dlrm_shapes *shapes = reader->shapes;
    const uint32_t *map = reader->parts[number].map;
    row_t end = first_node(reader, number + 1);
    for (row_t node = first_node(reader, number); node < end; node++) {
        shapes->input[node] = map[shapes->input[node]];
        shapes->output[node] = map[shapes->output[node]];
    }
}

static bool read_parts(struct dlrm_work *work, struct shape_reader *reader) {
    bool ok = true;
    pool_run(work->context->pool, reader->n_parts, read_part, reader);
    for (size_t i = 0; i < reader->n_parts; i++)
        ok = ok && number_part(work, &reader->parts[i]);
    if (ok)
        pool_run(work->context->pool, reader->n_parts, map_part, reader);
    for (size_t i = 0; i < reader->n_parts; i++) {
        strings_free(&reader->parts[i].texts);
        buffer_free(&reader->parts[i].text);
    }
    return ok;
}

enum sutra_status dlrm_shapes_read(struct dlrm_work *work, const struct dlrm_forest *forest, struct dlrm_shapes *shapes,
                                   struct sutra_error *error) {
    struct arena_mark mark = arena_mark(&work->scratch);
    size_t n_parts = forest->n / PART_NODES + 1;
    *shapes = (struct dlrm_shapes){.input = arena_take(work->arena, forest->n, sizeof *shapes->input),
                                   .output = arena_take(work->arena, forest->n, sizeof *shapes->output)};
    struct shape_reader reader = {.work = work,
                                  .forest = forest,
                                  .shapes = shapes,
                                  .parts = arena_zeros(&work->scratch, n_parts, sizeof *reader.parts),
                                  .n_parts = n_parts};
    bool ok = !work->arena->failed && reader.parts && read_parts(work, &reader);
    arena_release(&work->scratch, mark);
    return ok ? SUTRA_OK : error_memory(error);
}
