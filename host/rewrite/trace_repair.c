/*
 * trace_repair.c - repairs malformed or truncated JSON of a trace.
 *
 * read/repair.h produces the repaired text. It is then parsed like any input, so the output is always valid JSON.
 */
#include <stdlib.h>
#include <string.h>

#include "base/error.h"
#include "base/options.h"
#include "base/shared.h"
#include "read/document.h"
#include "read/file_kind.h"
#include "read/repair.h"
#include "read/source.h"
#include "sutra/rewrite.h"
#include "write/sink.h"

struct sutra_repair {
    struct document document; /* the repaired text */
    struct text_repairs report;
    uint64_t n_bytes; /* size of the input */
};

/* Accepts a document of any kind. */
static const struct document_reader any_reader = {.read_stage = "check text", .keeps_malformed = true};

/* Repairs the text of made->document.source and parses the result; frees `made` on failure. `status` is the result of
 * opening the source. */
static enum sutra_status finish(struct sutra_context *context, struct sutra_repair *made, enum sutra_status status,
                                struct sutra_repair **repair, struct sutra_error *error) {
    struct source *source = &made->document.source;
    struct buffer out = {0};
    if (!status) {
        size_t failed_at;
        made->n_bytes = source->size;
        stage_begin(context, "repair", source->size);
        enum repair_result result = repair_text(source->bytes, source->size, &made->report, &out, &failed_at);
        stage_end(context);
        if (result == REPAIR_NO_MEMORY)
            status = error_memory(error);
        else if (result == REPAIR_FAILED && !may_be_json(source->bytes, source->size))
            status = source_refuse(source, failed_at, "a JSON trace", TRACE_ADVICE, error);
        else if (result == REPAIR_FAILED)
            status = source_error(source, error, failed_at,
                                  "this file cannot be repaired: from here on it has no complete event or node");
        else if (result == REPAIR_DONE)
            status = source_replace(source, &out, error);
        buffer_free(&out);
    }
    if (!status)
        status = document_read(&made->document, context, &any_reader, error);
    stage_end(context);
    if (status)
        sutra_repair_free(made);
    else
        *repair = made;
    return status;
}

enum sutra_status sutra_repair_read(struct sutra_context *context, const char *path, struct sutra_repair **repair,
                                    struct sutra_error *error) {
    struct sutra_repair *made = calloc(1, sizeof *made);
    TRY_ALLOC(made, error);
    stage_begin(context, "open", 0);
    enum sutra_status status = source_open_rest(&made->document.source, path, context->options.most_input_bytes, error);
    return finish(context, made, status, repair, error);
}

enum sutra_status sutra_repair_parse(struct sutra_context *context, const char *name, const void *bytes, size_t size,
                                     struct sutra_repair **repair, struct sutra_error *error) {
    struct sutra_repair *made = calloc(1, sizeof *made);
    TRY_ALLOC(made, error);
    enum sutra_status status = source_copy(&made->document.source, name, bytes, size, error);
    return finish(context, made, status, repair, error);
}

static void fill_piece(const void *arg, size_t number, struct buffer *out) {
    const struct source *source = arg;
    size_t from = number * PIECE_BYTES, left = source->size - from, n = MIN(left, PIECE_BYTES);
    buffer_append(out, source->bytes + from, n);
    source_return_pages(source, from, from + n);
}

enum sutra_status sutra_repair_write(struct sutra_context *context, const struct sutra_repair *repair, const char *path,
                                     uint64_t *n_bytes, struct sutra_error *error) {
    const struct source *source = &repair->document.source;
    stage_begin(context, "write", source->size);
    enum sutra_status status =
        pieces_write(context, path, source->size / PIECE_BYTES + 1, fill_piece, source, n_bytes, error);
    stage_end(context);
    return status;
}

void sutra_repair_report(const struct sutra_repair *repair, struct sutra_repair_report *report) {
    struct sutra_repair_report made = {.n_bytes = repair->n_bytes,
                                       .n_elements = repair->report.n_elements,
                                       .n_skipped_bytes = repair->report.n_skipped_bytes,
                                       .places = repair->report.places,
                                       .n_places = repair->report.n_places};
    for (int kind = 0; kind < SUTRA_N_REPAIR_KINDS; kind++)
        made.n_repaired += made.n[kind] = repair->report.n[kind];
    report_give(report, &made, sizeof made);
}

const char *sutra_repair_kind_name(enum sutra_repair_kind kind, bool many) {
    return kind >= 0 && kind < SUTRA_N_REPAIR_KINDS ? repair_kind_words(kind, many) : "";
}

void sutra_repair_free(struct sutra_repair *repair) {
    if (!repair)
        return;
    document_free(&repair->document);
    text_repairs_free(&repair->report);
    free(repair);
}
