/*
 * launches.c - launches' grids, blocks, registers and shared memory. Most are of few kinds, whose bytes reading the
 * trace has numbered. O(kernels + bytes of the kinds).
 */
#include "analyze/operators/launches.h"

#include <math.h>
#include <string.h>

#include "analyze/argument_text.h"
#include "base/error.h"
#include "columns/column.h"
#include "columns/tuples.h"
#include "read/event_columns.h"
#include "read/event_inputs.h"
#include "text/number_text.h"

struct launch_reader {
    struct launch_kinds *kinds;
    struct tuples shapes;
    struct buffer in, out; /* the bytes of a kind, with zeros behind: numbers are read in words; a text of it */
    bool failed;           /* out of memory */
};

/* One of the fields of a kind. */
struct launch_field {
    const char *bytes;
    size_t length; /* 0: it is absent */
};

static struct launch_field field_of(const struct launch_reader *reader, enum event_field field) {
    struct launch_field found;
    found.bytes = inputs_find(reader->in.bytes, field, &found.length);
    return found;
}

static struct number number_of(struct launch_field field) {
    struct number number = number_double(NAN);
    if (field.length)
        field_number(field.bytes, &number);
    return number;
}

/* The product of a list of up to three numbers; NaN where it is none. */
static double product_of(struct launch_field field) {
    const char *text = field.bytes;
    double product = 1;
    if (*text != '[')
        return (double)NAN;
    for (text++; *text != ']'; text += *text == ',') {
        size_t length = 0;
        text += strspn(text, " \n\r\t");
        if (number_scan(text, &length) == NUMBER_FORM_BAD)
            return (double)NAN;
        product *= double_parse(text, length);
        text += length;
        text += strspn(text, " \n\r\t");
        if (*text != ',' && *text != ']')
            return (double)NAN;
    }
    return product;
}

static uint32_t add_text(struct launch_reader *reader, const char *bytes, size_t length) {
    uint32_t text = strings_intern(&reader->kinds->texts, bytes, length);
    reader->failed |= text == STRING_NONE;
    return text;
}

/* A grid or block as Python has it. */
static uint32_t size_text(struct launch_reader *reader, struct launch_field field) {
    reader->out.length = 0;
    if (!field.length)
        return 0;
    argument_append(&reader->out, field.bytes, field.length);
    reader->failed |= reader->out.failed;
    return reader->out.failed ? 0 : add_text(reader, reader->out.bytes, reader->out.length);
}

/* The kind of these bytes, which comes last. */
static uint32_t add_kind(struct launch_reader *reader, const char *bytes, size_t length) {
    static const char padding[NUMBER_TEXT_MAX];
    struct launch_kinds *kinds = reader->kinds;
    reader->in.length = 0;
    buffer_append(&reader->in, bytes, length);
    buffer_append(&reader->in, padding, sizeof padding);
    reader->failed |= reader->in.failed || !column_grow(&kinds->list, kinds->n, &kinds->capacity, sizeof *kinds->list);
    if (reader->failed)
        return 0;
    struct launch_field grid = field_of(reader, FIELD_GRID), block = field_of(reader, FIELD_BLOCK);
    struct number registers = number_of(field_of(reader, FIELD_REGISTERS));
    struct number shared_memory = number_of(field_of(reader, FIELD_SHARED_MEMORY));
    struct tuple shape = {{add_text(reader, grid.bytes, grid.length), add_text(reader, block.bytes, block.length),
                           (value_key)registers.bits, (value_key)shared_memory.bits}};
    kinds->list[kinds->n] = (struct launch_kind){
        .shape = tuples_number(&reader->shapes, shape),
        .grid = size_text(reader, grid),
        .block = size_text(reader, block),
        .occupancy = number_as_double(number_of(field_of(reader, FIELD_OCCUPANCY))),
        .numbers = {product_of(grid), product_of(block), number_as_double(registers), number_as_double(shared_memory)}};
    reader->failed |= kinds->list[kinds->n].shape == TUPLE_NONE;
    return (uint32_t)kinds->n++;
}

/* The kind of each row of devices; first that of nothing. */
static void find_kinds(struct launch_reader *reader, const struct device_rows *devices, const uint32_t *numbers,
                       const struct strings *strings, uint32_t *kind_of) {
    uint32_t none = add_kind(reader, "", 0);
    for (row_t i = 0; i < devices->n && !reader->failed; i++) {
        uint32_t number = numbers[devices->event[i]];
        uint32_t *kind = number == STRING_NONE ? &none : &kind_of[number];
        if (*kind == ROW_NONE)
            *kind = add_kind(reader, strings_text(strings, number), strings_length(strings, number));
        reader->kinds->of[i] = *kind;
    }
}

static enum sutra_status ask(struct sutra_context *context, const struct op_reading *reading,
                             struct asked_column *column, struct sutra_error *error) {
    static const struct asked_field field = {"args", ASK_LAUNCH, true};
    return event_columns_ask(context, reading->trace, &field, 1, reading->devices.event, reading->devices.n, column,
                             error);
}

enum sutra_status launch_kinds_ask(struct sutra_context *context, const struct op_reading *reading,
                                   struct sutra_error *error) {
    struct asked_column column;
    return ask(context, reading, &column, error);
}

enum sutra_status launch_kinds_read(struct sutra_context *context, const struct op_reading *reading,
                                    struct arena *arena, struct launch_kinds *kinds, struct sutra_error *error) {
    const struct device_rows *devices = &reading->devices;
    struct launch_reader reader = {.kinds = kinds};
    struct asked_column column;
    *kinds = (struct launch_kinds){.of = arena_take(arena, devices->n, sizeof *kinds->of)};
    if (arena->failed || !strings_init(&kinds->texts) || strings_intern(&kinds->texts, "", 0) == STRING_NONE)
        return error_memory(error);
    enum sutra_status status = ask(context, reading, &column, error);
    if (status)
        return status;
    struct arena_mark mark = arena_mark(arena);
    const struct strings *strings = event_columns_strings(reading->trace);
    uint32_t *kind_of = rows_none(arena, strings->n);
    if (kind_of)
        find_kinds(&reader, devices, column.string, strings, kind_of);
    arena_release(arena, mark);
    tuples_free(&reader.shapes);
    buffer_free(&reader.in);
    buffer_free(&reader.out);
    return kind_of && !reader.failed ? SUTRA_OK : error_memory(error);
}

void launch_kinds_free(struct launch_kinds *kinds) {
    free(kinds->list);
    strings_free(&kinds->texts);
}
