/*
 * arguments.c - shapes, types, strides and values of operators' inputs, as texts that are equal where Python's values
 * are. Most operators have arguments of few kinds of bytes, which are interned as they stand in the file, so that each
 * kind becomes Python's text once. O(bytes of the arguments).
 */
#include "analyze/argument_text.h"
#include "analyze/operators/tables.h"
#include "base/error.h"
#include "columns/column.h"

static const struct asked_field fields[N_ARGUMENTS] = {{"Input Dims", ASK_PLACE, false},
                                                       {"Input type", ASK_PLACE, false},
                                                       {"Input Strides", ASK_PLACE, false},
                                                       {"Concrete Inputs", ASK_PLACE, false}};

struct argument_reader {
    const char *bytes;  /* of the trace */
    struct strings raw; /* as in the file */
    uint32_t *text_of;  /* by raw text */
    uint64_t capacity;  /* of that */
    struct buffer out;
    struct strings *texts;
};

/* The text of a new kind of bytes. */
static bool add_text(struct argument_reader *reader, uint32_t raw, const char *json, size_t length) {
    reader->out.length = 0;
    argument_append(&reader->out, json, length);
    if (reader->out.failed || !column_grow(&reader->text_of, raw, &reader->capacity, sizeof *reader->text_of))
        return false;
    reader->text_of[raw] = strings_intern(reader->texts, reader->out.bytes, reader->out.length);
    return reader->text_of[raw] != STRING_NONE;
}

/* The text of an argument; STRING_NONE: out of memory. */
static uint32_t text_at(struct argument_reader *reader, struct json_place place) {
    if (!place.at)
        return 0;
    const char *json = reader->bytes + place.at;
    size_t length = argument_length(json);
    uint32_t n_known = reader->raw.n, raw = strings_intern(&reader->raw, json, length);
    if (raw == STRING_NONE || (raw == n_known && !add_text(reader, raw, json, length)))
        return STRING_NONE;
    return reader->text_of[raw];
}

static enum sutra_status read_texts(struct argument_reader *reader, const struct asked_column *columns,
                                    const row_t *events, row_t n, struct op_arguments *arguments,
                                    struct sutra_error *error) {
    for (int k = 0; k < N_ARGUMENTS; k++)
        for (row_t i = 0; i < n; i++) {
            arguments->of[k][i] = text_at(reader, columns[k].place[events[i]]);
            if (arguments->of[k][i] == STRING_NONE)
                return error_memory(error);
        }
    return SUTRA_OK;
}

enum sutra_status op_arguments_read(struct sutra_context *context, const struct op_reading *reading, const row_t *hosts,
                                    row_t n, struct arena *arena, struct op_arguments *arguments,
                                    struct sutra_error *error) {
    struct asked_column columns[N_ARGUMENTS];
    row_t *events = arena_take(arena, n, sizeof *events);
    for (int k = 0; k < N_ARGUMENTS; k++)
        arguments->of[k] = arena_take(arena, n, sizeof *arguments->of[k]);
    struct argument_reader reader = {.bytes = reading->trace->document.source.bytes, .texts = &arguments->texts};
    bool ok = strings_init(&arguments->texts) && strings_init(&reader.raw) && !arena->failed &&
              strings_intern(&arguments->texts, "", 0) != STRING_NONE;
    for (row_t i = 0; i < n && ok; i++)
        events[i] = reading->hosts.event[hosts[i]];
    enum sutra_status status =
        ok ? event_columns_ask(context, reading->trace, fields, N_ARGUMENTS, events, n, columns, error)
           : error_memory(error);
    if (!status)
        status = read_texts(&reader, columns, events, n, arguments, error);
    strings_free(&reader.raw);
    buffer_free(&reader.out);
    free(reader.text_of);
    return status;
}

void op_arguments_free(struct op_arguments *arguments) {
    strings_free(&arguments->texts);
}
