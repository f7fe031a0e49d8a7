/*
 * memory.c - implements sutra/memory.h: selects the reader of each input.
 */
#include "analyze/memory/memory.h"

#include <stdlib.h>
#include <string.h>

#include "base/error.h"
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

static enum sutra_status read_input(struct sutra_context *context, struct sutra_memory *memory, const char *path,
                                    struct memory_input *input, struct sutra_error *error) {
    struct source source;
    size_t length = strlen(path) + 1;
    char *kept = arena_take(&memory->arena, length, 1);
    if (!kept)
        return error_memory(error);
    input->path = memcpy(kept, path, length);
    stage_begin(context, "open snapshot", 0);
    enum sutra_status status = source_open_any(&source, path, context->options.most_input_bytes, error);
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

enum sutra_status sutra_memory_run(struct sutra_context *context, const char *const *paths, size_t n_paths,
                                   const struct sutra_memory_options *options, struct sutra_memory **memory,
                                   struct sutra_error *error) {
    struct sutra_memory_options o = {0};
    if (options)
        memcpy(&o, options, options->size < sizeof o ? options->size : sizeof o);
    if (o.against && n_paths != 1)
        return error_set(error, SUTRA_USAGE, "a comparison needs one input and one input to compare with");
    struct sutra_memory *made = calloc(1, sizeof *made);
    if (!made)
        return error_memory(error);
    made->n_inputs = n_paths + (o.against != NULL);
    made->is_comparison = o.against != NULL;
    made->n_top = o.n_top ? o.n_top : 10;
    made->inputs = calloc(made->n_inputs + 1, sizeof *made->inputs);
    enum sutra_status status = made->inputs && strings_init(&made->names) ? SUTRA_OK : error_memory(error);
    for (size_t i = 0; i < made->n_inputs && !status; i++)
        status = read_input(context, made, i < n_paths ? paths[i] : o.against, &made->inputs[i], error);
    if (!status && o.tables)
        status = memory_make_tables(made, error);
    stage_end(context);
    if (status)
        sutra_memory_free(made);
    else
        *memory = made;
    return status;
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
            *finding = (struct sutra_memory_finding){found->rule, input->devices[found->device].name, found->bytes,
                                                     found->text};
            return 1;
        }
    }
    return 0;
}
