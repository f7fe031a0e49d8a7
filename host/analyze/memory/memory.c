/*
 * memory.c - implements sutra/memory.h: selects the reader of each input.
 */
#include "analyze/memory/memory.h"

#include <stdlib.h>
#include <string.h>

#include "base/error.h"
#include "base/options.h"
#include "read/json_walk.h"
#include "read/pickle.h"

enum memory_format { FORMAT_SNAPSHOT, FORMAT_KINETO, FORMAT_OTHER };

static bool key_is(const struct source *source, struct json_place key, const char *name) {
    size_t n = strlen(name);
    return key.end - key.at - 1 == n && memcmp(source->bytes + key.at + 1, name, n) == 0;
}

/* The format, by the first byte or by the keys of the top-level object. Values before the known key are skipped. */
static enum memory_format find_format(const struct source *source) {
    if (is_pickle(source->bytes, source->size))
        return FORMAT_SNAPSHOT;
    struct json_walker walker = walk_from(source, 0);
    char c = walk_char(&walker);
    if (c == '[') { /* of segments, or malformed: the reader of snapshots reports the reason */
        return FORMAT_SNAPSHOT;
    }
    if (c != '{')
        return FORMAT_OTHER;
    for (bool more = walk_object(&walker); more; more = walk_member_end(&walker)) {
        struct json_place key = walk_key(&walker);
        if (walker.expected || key_is(source, key, "segments"))
            return FORMAT_SNAPSHOT;
        if (key_is(source, key, "traceEvents"))
            return FORMAT_KINETO;
        walk_value(&walker);
    }
    return FORMAT_SNAPSHOT;
}

/* Bytes in memory, or NULL: the file `name`. */
struct memory_bytes {
    const char *name;
    const void *bytes;
    size_t size;
};

static enum sutra_status read_input(struct sutra_context *context, struct sutra_memory *memory,
                                    const struct memory_bytes *from, struct memory_input *input,
                                    struct sutra_error *error) {
    struct source source;
    size_t length = strlen(from->name) + 1;
    char *kept = arena_take(&memory->arena, length, 1);
    if (!kept)
        return error_memory(error);
    input->path = memcpy(kept, from->name, length);
    stage_begin(context, "open snapshot", 0);
    enum sutra_status status = from->bytes
                                   ? source_copy_any(&source, from->name, from->bytes, from->size, error)
                                   : source_open_any(&source, from->name, context->options.most_input_bytes, error);
    if (status)
        return status;
    switch (find_format(&source)) {
    case FORMAT_SNAPSHOT:
        status = memory_read_snapshot(context, memory, input, &source, error);
        break;
    case FORMAT_KINETO:
        status = memory_read_kineto(context, memory, input, &source, error);
        break;
    case FORMAT_OTHER:
        status = error_file(error, SUTRA_DATA, source.name, "neither a pickle of protocol 2 to 5 nor JSON");
    }
    source_close(&source);
    return status ? status : memory_find(memory, input, error);
}

static enum sutra_status run(struct sutra_context *context, const struct memory_bytes *inputs, size_t n_inputs,
                             const struct sutra_memory_options *options, struct sutra_memory **memory,
                             struct sutra_error *error) {
    struct sutra_memory *made = calloc(1, sizeof *made);
    if (!made)
        return error_memory(error);
    made->n_inputs = n_inputs;
    made->is_comparison = options->against != NULL;
    made->has_tables = options->tables;
    made->n_top = options->n_top ? options->n_top : 10;
    made->inputs = calloc(n_inputs + 1, sizeof *made->inputs);
    enum sutra_status status = made->inputs && strings_init(&made->names) ? SUTRA_OK : error_memory(error);
    for (size_t i = 0; i < n_inputs && !status; i++)
        status = read_input(context, made, &inputs[i], &made->inputs[i], error);
    if (!status && options->tables)
        status = memory_make_tables(made, error);
    stage_end(context);
    if (status)
        sutra_memory_free(made);
    else
        *memory = made;
    return status;
}

static enum sutra_status copy_options(const struct sutra_memory_options *options, struct sutra_memory_options *taken,
                                      struct sutra_error *error) {
    static const struct options_form form = OPTIONS_FORM(sutra_memory_options, tables);
    return options_take(&form, options, taken, error);
}

enum sutra_status sutra_memory_run(struct sutra_context *context, const char *const *paths, size_t n_paths,
                                   const struct sutra_memory_options *options, struct sutra_memory **memory,
                                   struct sutra_error *error) {
    struct sutra_memory_options known;
    enum sutra_status status = copy_options(options, &known, error);
    if (status)
        return status;
    if (known.against && n_paths != 1)
        return error_set(error, SUTRA_USAGE, "a comparison needs one input and one input to compare with");
    struct memory_bytes *inputs = calloc(n_paths + 1, sizeof *inputs);
    if (!inputs)
        return error_memory(error);
    for (size_t i = 0; i < n_paths; i++)
        inputs[i].name = paths[i];
    inputs[n_paths].name = known.against;
    status = run(context, inputs, n_paths + (known.against != NULL), &known, memory, error);
    free(inputs);
    return status;
}

enum sutra_status sutra_memory_parse(struct sutra_context *context, const char *name, const void *bytes, size_t size,
                                     const struct sutra_memory_options *options, struct sutra_memory **memory,
                                     struct sutra_error *error) {
    struct sutra_memory_options known;
    enum sutra_status status = copy_options(options, &known, error);
    if (status)
        return status;
    struct memory_bytes inputs[2] = {{name, bytes, size}, {.name = known.against}};
    return run(context, inputs, 1 + (known.against != NULL), &known, memory, error);
}

void sutra_memory_free(struct sutra_memory *memory) {
    if (!memory)
        return;
    for (int i = 0; i < SUTRA_MEMORY_N_TABLES; i++)
        table_free(&memory->tables[i]);
    for (size_t i = 0; memory->inputs && i < memory->n_inputs; i++)
        buffer_free(&memory->inputs[i].settings);
    free(memory->inputs);
    strings_free(&memory->names);
    arena_free(&memory->arena);
    free(memory);
}

const struct sutra_table *sutra_memory_table(const struct sutra_memory *memory, enum sutra_memory_table id) {
    bool is_known = id >= 0 && id < SUTRA_MEMORY_N_TABLES;
    return is_known && memory->tables[id].name ? &memory->tables[id] : NULL;
}

int sutra_memory_finding(const struct sutra_memory *memory, size_t i, struct sutra_memory_finding *finding) {
    for (size_t k = 0; k < memory->n_inputs; i -= memory->inputs[k++].n_findings) {
        const struct memory_input *input = &memory->inputs[k];
        if (i < input->n_findings) {
            const struct memory_finding *found = &input->findings[i];
            *finding = (struct sutra_memory_finding){found->rule, input->devices[found->device].name,
                                                     found->bytes == MEMORY_NO_BYTES ? -1 : found->bytes, found->text};
            return 1;
        }
    }
    return 0;
}
