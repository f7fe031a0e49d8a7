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

static const struct asked_field field = {"args", ASK_ARGUMENTS, true};

/* Which of an event's inputs an argument is. */
static const enum event_field input_fields[N_ARGUMENTS] = {[ARGUMENT_DIMS] = FIELD_INPUT_SHAPES,
                                                           [ARGUMENT_TYPES] = FIELD_INPUT_TYPES,
                                                           [ARGUMENT_STRIDES] = FIELD_INPUT_STRIDES,
                                                           [ARGUMENT_VALUES] = FIELD_CONCRETE_INPUTS};

/* Zeros behind a value: its numbers are read in words. */
#define VALUE_PADDING NUMBER_TEXT_MAX

struct argument_reader {
    const struct strings *raw; /* as in the file */
    uint32_t *kind_of;         /* by raw text; TUPLE_NONE: not yet known */
    struct buffer in, out;
    struct op_arguments *made;
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
    return reader->out.failed ? STRING_NONE
                              : strings_intern(&reader->made->texts, reader->out.bytes, reader->out.length);
}

/* The kind of raw bytes; TUPLE_NONE: out of memory. */
static uint32_t make_kind(struct argument_reader *reader, uint32_t raw) {
    struct tuple texts = {{0}};
    for (int k = 0; k < N_ARGUMENTS; k++) {
        size_t length;
        const char *value = inputs_find(strings_text(reader->raw, raw), input_fields[k], &length);
        uint32_t text = length ? make_text(reader, value, length) : 0;
        if (text == STRING_NONE)
            return TUPLE_NONE;
        texts.part[k] = text;
    }
    return tuples_number(&reader->made->kinds, texts);
}

/* False: out of memory. */
static bool find_kinds(struct argument_reader *reader, const uint32_t *raw, const row_t *events, row_t n) {
    uint32_t none = tuples_number(&reader->made->kinds, (struct tuple){{0}});
    bool ok = none != TUPLE_NONE;
    for (row_t i = 0; i < n && ok; i++) {
        uint32_t text = raw[events[i]], *kind = text == STRING_NONE ? &none : &reader->kind_of[text];
        if (*kind == TUPLE_NONE)
            *kind = make_kind(reader, text);
        reader->made->of[i] = *kind;
        ok = *kind != TUPLE_NONE;
    }
    return ok;
}

static enum sutra_status read_all(struct argument_reader *reader, const uint32_t *raw, const row_t *events, row_t n,
                                  struct arena *scratch, struct sutra_error *error) {
    reader->kind_of = rows_none(scratch, reader->raw->n);
    bool ok = reader->kind_of && find_kinds(reader, raw, events, n);
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
    arguments->of = arena_take(arena, n, sizeof *arguments->of);
    struct argument_reader reader = {.made = arguments};
    bool ok = strings_init(&arguments->texts) && events && !arena->failed &&
              strings_intern(&arguments->texts, "", 0) != STRING_NONE;
    for (row_t i = 0; i < n && ok; i++)
        events[i] = reading->hosts.event[hosts[i]];
    enum sutra_status status =
        ok ? event_columns_ask(context, reading->trace, &field, 1, events, n, &column, error) : error_memory(error);
    reader.raw = event_columns_strings(reading->trace);
    if (!status)
        status = read_all(&reader, column.string, events, n, &scratch, error);
    arena_free(&scratch);
    return status;
}

enum sutra_status op_arguments_ask(struct sutra_context *context, const struct op_reading *reading,
                                   const struct op_host_list lists[2], struct arena *scratch,
                                   struct sutra_error *error) {
    struct asked_column column;
    if (event_columns_have(reading->trace, &field))
        return SUTRA_OK;
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
    tuples_free(&arguments->kinds);
}
