/*
 * et.c - sutra_et_...(): .et files in and out.
 */
#include "simulate/et.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/error.h"
#include "base/options.h"
#include "read/file_kind.h"
#include "simulate/et_json.h"
#include "simulate/et_lines.h"
#include "simulate/et_values.h"
#include "simulate/et_write.h"
#include "write/text_file.h"

/* Where the bytes come from, and what they are. */
struct et_input {
    const char *name;
    const void *bytes; /* NULL: `name` is a path */
    size_t size;
    bool lines; /* JSON lines; else protobuf */
};

static enum sutra_status read_input(struct sutra_context *context, struct sutra_et *et, const struct et_input *input,
                                    bool damaged, struct sutra_error *error) {
    struct source *source = &et->file.source;
    const uint64_t most = context->options.most_input_bytes;
    enum sutra_status status;
    if (input->bytes)
        status = source_copy_any(source, input->name, input->bytes, input->size, error);
    else if (input->lines)
        status = source_open_format(source, input->name, may_be_json, most, error);
    else
        status = et_open(&et->file, input->name, most, error);
    if (status)
        return status;
    stage_begin(context, "read .et", source->size);
    status = input->lines ? et_lines_read(&et->file, error)
                          : et_read(&et->file, damaged ? ET_TOLERANT : ET_WHOLE, context->pool, error);
    stage_end(context);
    return status;
}

static enum sutra_status read_new(struct sutra_context *context, const struct et_input *input,
                                  const struct sutra_et_read_options *options, struct sutra_et **et,
                                  struct sutra_error *error) {
    static const struct options_form form = OPTIONS_FORM(sutra_et_read_options, damaged);
    struct sutra_et_read_options taken;
    enum sutra_status status = options_take(&form, options, &taken, error);
    if (status)
        return status;
    struct sutra_et *made = calloc(1, sizeof *made);
    if (!made)
        return error_memory(error);
    status = read_input(context, made, input, taken.damaged, error);
    if (status)
        sutra_et_free(made);
    else
        *et = made;
    return status;
}

enum sutra_status sutra_et_read(struct sutra_context *context, const char *path,
                                const struct sutra_et_read_options *options, struct sutra_et **et,
                                struct sutra_error *error) {
    return read_new(context, &(struct et_input){.name = path}, options, et, error);
}

enum sutra_status sutra_et_parse(struct sutra_context *context, const char *name, const void *bytes, size_t size,
                                 const struct sutra_et_read_options *options, struct sutra_et **et,
                                 struct sutra_error *error) {
    return read_new(context, &(struct et_input){name, bytes ? bytes : "", size, false}, options, et, error);
}

enum sutra_status sutra_et_read_lines(struct sutra_context *context, const char *path, struct sutra_et **et,
                                      struct sutra_error *error) {
    return read_new(context, &(struct et_input){.name = path, .lines = true}, NULL, et, error);
}

enum sutra_status sutra_et_parse_lines(struct sutra_context *context, const char *name, const void *bytes, size_t size,
                                       struct sutra_et **et, struct sutra_error *error) {
    return read_new(context, &(struct et_input){name, bytes ? bytes : "", size, true}, NULL, et, error);
}

enum sutra_status sutra_et_write(struct sutra_context *context, const struct sutra_et *et, const char *path,
                                 uint64_t *n_bytes, struct sutra_error *error) {
    return et_write(&et->file.nodes, NULL, context, path, n_bytes, error);
}

void sutra_et_free(struct sutra_et *et) {
    if (!et)
        return;
    et_file_free(&et->file);
    arena_free(&et->info);
    free(et);
}

enum sutra_status sutra_is_et(struct sutra_context *context, const char *path, bool *known, struct sutra_error *error) {
    struct source source;
    enum sutra_status status =
        source_open_format(&source, path, et_may_begin, context->options.most_input_bytes, error);
    if (status)
        return status;
    *known = !source.is_beginning && et_looks_like(source.bytes, source.size);
    source_close(&source);
    return SUTRA_OK;
}

enum sutra_status sutra_is_et_lines(const char *path, bool *known, struct sutra_error *error) {
    char beginning[ET_LINES_BEGINNING];
    int file = open(path, O_RDONLY | O_CLOEXEC);
    ssize_t n = file < 0 ? -1 : read(file, beginning, sizeof beginning);
    enum sutra_status status = SUTRA_OK;
    if (n < 0)
        status = error_file(error, SUTRA_NO_INPUT, path, "cannot read: %s", strerror(errno));
    else
        *known = et_lines_look_like(beginning, (size_t)n);
    if (file >= 0)
        close(file);
    return status;
}

uint64_t sutra_et_nodes(const struct sutra_et *et) {
    return et->file.nodes.n;
}

struct json_task {
    const struct et_nodes *nodes;
    enum et_json_layout layout;
};

static bool write_json(const void *of, struct text_out *text) {
    const struct json_task *task = of;
    et_json_metadata(task->nodes, task->layout, text);
    for (row_t row = 0; row < task->nodes->n; row++) {
        et_json_node(task->nodes, row, task->layout, text);
        out_step(text);
    }
    return true;
}

enum sutra_status sutra_et_write_json(struct sutra_context *context, const struct sutra_et *et,
                                      enum sutra_et_layout layout, const char *path, uint64_t *n_bytes,
                                      struct sutra_error *error) {
    struct json_task task = {&et->file.nodes, layout == SUTRA_ET_LINES ? ET_JSON_LINES : ET_JSON_CHAKRA};
    stage_begin(context, "write", et->file.nodes.n);
    enum sutra_status status = text_file_write(context, path, write_json, &task, n_bytes, error);
    stage_end(context);
    return status;
}

bool sutra_et_gpu_streams(const struct sutra_et *et) {
    return et_nodes_per_stream(&et->file.nodes);
}
