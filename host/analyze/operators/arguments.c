/*
 * arguments.c - shapes, types, strides and values of operators' inputs, as texts that are equal where Python's values
 * are. Most operators have arguments of few kinds of bytes, which are interned as they stand in the file, so that each
 * kind becomes Python's text once. O(bytes of the arguments).
 */
#include "analyze/argument_text.h"
#include "analyze/operators/tables.h"
#include "base/error.h"
#include "columns/column.h"
#include "read/event_columns.h"
#include "read/event_inputs.h"
#include "text/number_text.h"

static const struct asked_field field = {"args", ASK_INPUTS, true};

/* Which of an event's inputs an argument is. */
static const enum event_field input_fields[N_ARGUMENTS] = {[ARGUMENT_DIMS] = FIELD_INPUT_SHAPES,
                                                           [ARGUMENT_TYPES] = FIELD_INPUT_TYPES,
                                                           [ARGUMENT_STRIDES] = FIELD_INPUT_STRIDES,
                                                           [ARGUMENT_VALUES] = FIELD_CONCRETE_INPUTS};

/* Zeros behind a value: its numbers are read in words. */
#define VALUE_PADDING NUMBER_TEXT_MAX

/* The texts of all inputs that have the same bytes. */
struct argument_kind {
    uint32_t of[N_ARGUMENTS];
};

struct argument_reader {
    const struct strings *raw;   /* as in the file */
    struct argument_kind *kinds; /* by raw text; STRING_NONE: not yet made */
    struct buffer in, out;
    struct strings *texts;
};

/* The text of a value; STRING_NONE: out of memory. */
static uint32_t make_text(struct argument_reader *reader, const char *value, size_t length) {
    static const char padding[VALUE_PADDING];
    reader->in.length = reader->out.length = 0;
    buffer_append(&reader->in, value, length);
    buffer_append(&reader->in, padding, sizeof padding);
    if (reader->in.failed)
        return STRING_NONE;
    argument_append(&reader->out, reader->in.bytes, length);
    return reader->out.failed ? STRING_NONE : strings_intern(reader->texts, reader->out.bytes, reader->out.length);
}

/* The texts of new bytes; false: out of memory. */
static bool make_kind(struct argument_reader *reader, uint32_t raw) {
    bool ok = true;
    for (int k = 0; k < N_ARGUMENTS && ok; k++) {
        size_t length;
        const char *value = inputs_find(strings_text(reader->raw, raw), input_fields[k], &length);
        uint32_t text = length ? make_text(reader, value, length) : 0;
        reader->kinds[raw].of[k] = text;
        ok = text != STRING_NONE;
    }
    return ok;
}

/* False: out of memory. */
static bool read_texts(struct argument_reader *reader, const uint32_t *raw, const row_t *events, row_t n,
                       struct op_arguments *arguments) {
    static const struct argument_kind none;
    for (row_t i = 0; i < n; i++) {
        uint32_t text = raw[events[i]];
        if (text != STRING_NONE && reader->kinds[text].of[0] == STRING_NONE && !make_kind(reader, text))
            return false;
        const struct argument_kind *kind = text == STRING_NONE ? &none : &reader->kinds[text];
        for (int k = 0; k < N_ARGUMENTS; k++)
            arguments->of[k][i] = kind->of[k];
    }
    return true;
}

static enum sutra_status read_all(struct argument_reader *reader, const uint32_t *raw, const row_t *events, row_t n,
                                  struct op_arguments *arguments, struct arena *scratch, struct sutra_error *error) {
    reader->kinds = arena_take(scratch, reader->raw->n, sizeof *reader->kinds);
    bool ok = reader->kinds;
    for (uint32_t i = 0; i < reader->raw->n && ok; i++)
        reader->kinds[i].of[0] = STRING_NONE;
    ok = ok && read_texts(reader, raw, events, n, arguments);
    buffer_free(&reader->in);
    buffer_free(&reader->out);
    return ok ? SUTRA_OK : error_memory(error);
}

enum sutra_status op_arguments_read(struct sutra_context *context, const struct op_reading *reading, const row_t *hosts,
                                    row_t n, struct arena *arena, struct op_arguments *arguments,
                                    struct sutra_error *error) {
    struct asked_column column;
    struct arena scratch = {0};
    row_t *events = arena_take(&scratch, n, sizeof *events);
    for (int k = 0; k < N_ARGUMENTS; k++)
        arguments->of[k] = arena_take(arena, n, sizeof *arguments->of[k]);
    struct argument_reader reader = {.texts = &arguments->texts};
    bool ok = strings_init(&arguments->texts) && events && !arena->failed &&
              strings_intern(&arguments->texts, "", 0) != STRING_NONE;
    for (row_t i = 0; i < n && ok; i++)
        events[i] = reading->hosts.event[hosts[i]];
    enum sutra_status status =
        ok ? event_columns_ask(context, reading->trace, &field, 1, events, n, &column, error) : error_memory(error);
    reader.raw = event_columns_strings(reading->trace);
    if (!status)
        status = read_all(&reader, column.string, events, n, arguments, &scratch, error);
    arena_free(&scratch);
    return status;
}

enum sutra_status op_arguments_ask(struct sutra_context *context, const struct op_reading *reading,
                                   const struct op_host_list lists[2], struct arena *scratch,
                                   struct sutra_error *error) {
    struct asked_column column;
    struct arena_mark mark = arena_mark(scratch);
    row_t n_events = reading->events->n, n = 0;
    uint8_t *wanted = arena_zeros(scratch, n_events, sizeof *wanted);
    row_t *events = arena_take(scratch, (size_t)lists[0].n + lists[1].n, sizeof *events);
    enum sutra_status status = arena_status(scratch, error);
    for (int i = 0; i < 2 && !status; i++)
        for (row_t k = 0; k < lists[i].n; k++)
            wanted[reading->hosts.event[lists[i].host[k]]] = true;
    for (row_t event = 0; event < n_events && !status; event++)
        if (wanted[event])
            events[n++] = event;
    if (!status)
        status = event_columns_ask(context, reading->trace, &field, 1, events, n, &column, error);
    arena_release(scratch, mark);
    return status;
}

void op_arguments_free(struct op_arguments *arguments) {
    strings_free(&arguments->texts);
}
