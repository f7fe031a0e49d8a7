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
#include "text/number_text.h"

static const struct asked_field fields[N_ARGUMENTS] = {{"Input Dims", ASK_TEXT, false},
                                                       {"Input type", ASK_TEXT, false},
                                                       {"Input Strides", ASK_TEXT, false},
                                                       {"Concrete Inputs", ASK_TEXT, false}};

/* Zeros behind a value: its numbers are read in words. */
#define VALUE_PADDING NUMBER_TEXT_MAX

struct argument_reader {
    const struct strings *raw; /* as in the file */
    uint32_t *text_of;         /* by raw text; STRING_NONE: not yet made */
    struct buffer in, out;
    struct strings *texts;
};

/* The text of a new kind of bytes. */
static uint32_t make_text(struct argument_reader *reader, uint32_t raw) {
    static const char padding[VALUE_PADDING];
    size_t length = strings_length(reader->raw, raw);
    reader->in.length = reader->out.length = 0;
    buffer_append(&reader->in, strings_text(reader->raw, raw), length);
    buffer_append(&reader->in, padding, sizeof padding);
    if (reader->in.failed)
        return STRING_NONE;
    argument_append(&reader->out, reader->in.bytes, length);
    return reader->out.failed ? STRING_NONE : strings_intern(reader->texts, reader->out.bytes, reader->out.length);
}

/* False: out of memory. */
static bool read_texts(struct argument_reader *reader, const uint32_t *raw, const row_t *events, row_t n,
                       uint32_t *texts) {
    for (row_t i = 0; i < n; i++) {
        uint32_t text = raw[events[i]];
        if (text != STRING_NONE && reader->text_of[text] == STRING_NONE)
            reader->text_of[text] = make_text(reader, text);
        texts[i] = text == STRING_NONE ? 0 : reader->text_of[text];
        if (texts[i] == STRING_NONE)
            return false;
    }
    return true;
}

static enum sutra_status read_all(struct argument_reader *reader, const struct asked_column *columns,
                                  const row_t *events, row_t n, struct op_arguments *arguments, struct arena *scratch,
                                  struct sutra_error *error) {
    reader->text_of = rows_none(scratch, reader->raw->n);
    bool ok = reader->text_of;
    for (int k = 0; k < N_ARGUMENTS && ok; k++)
        ok = read_texts(reader, columns[k].string, events, n, arguments->of[k]);
    buffer_free(&reader->in);
    buffer_free(&reader->out);
    return ok ? SUTRA_OK : error_memory(error);
}

enum sutra_status op_arguments_read(struct sutra_context *context, const struct op_reading *reading, const row_t *hosts,
                                    row_t n, struct arena *arena, struct op_arguments *arguments,
                                    struct sutra_error *error) {
    struct asked_column columns[N_ARGUMENTS];
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
        ok ? event_columns_ask(context, reading->trace, fields, N_ARGUMENTS, events, n, columns, error)
           : error_memory(error);
    reader.raw = event_columns_strings(reading->trace);
    if (!status)
        status = read_all(&reader, columns, events, n, arguments, &scratch, error);
    arena_free(&scratch);
    return status;
}

enum sutra_status op_arguments_ask(struct sutra_context *context, const struct op_reading *reading,
                                   const struct op_host_list lists[2], struct arena *scratch,
                                   struct sutra_error *error) {
    struct asked_column columns[N_ARGUMENTS];
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
        status = event_columns_ask(context, reading->trace, fields, N_ARGUMENTS, events, n, columns, error);
    arena_release(scratch, mark);
    return status;
}

void op_arguments_free(struct op_arguments *arguments) {
    strings_free(&arguments->texts);
}
