/*
 * arguments.c - shapes, types, strides and values of operators' inputs, as texts that are equal where Python's values
 * are. Most operators have arguments of few kinds of bytes, which are interned as they stand in the file, so that each
 * kind becomes Python's text once. O(bytes of the arguments).
 */
#include <math.h>
#include <string.h>

#include "analyze/collective_calls.h"
#include "analyze/launches/arguments.h"
#include "analyze/operators/operators.h"
#include "base/error.h"
#include "columns/column.h"
#include "columns/hash_tables.h"
#include "read/event_columns.h"
#include "text/numbers.h"

/*
 * Launches' grids, blocks, registers and shared memory. Most are of few kinds, whose bytes reading the
 * trace has numbered. O(kernels + bytes of the kinds).
 */

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
static void find_kinds_launches(struct launch_reader *reader, const struct device_rows *devices,
                                const uint32_t *numbers, const struct strings *strings, uint32_t *kind_of) {
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
        find_kinds_launches(&reader, devices, column.string, strings, kind_of);
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

/*
 * Arguments of operators to FLOPs and bytes, once for each kind. O(operators + bytes of different arguments).
 */

const struct op_kind *op_work_kind(const struct op_reading *reading, row_t host, enum flops_rules rules) {
    uint32_t name = host_name(reading, host);
    enum op_table table = rules == FLOPS_TRACELENS ? OP_TABLE_TRACELENS : OP_TABLE_ALL;
    const struct op_kind *kind =
        op_kind_find(strings_text(reading->strings, name), strings_length(reading->strings, name), table);
    bool has = kind && (rules == FLOPS_TRACELENS ? kind->tracelens : kind->formula) != FORMULA_NONE;
    return has ? kind : NULL;
}

bool op_work_is_known(const struct op_reading *reading, row_t host, enum flops_rules rules, uint8_t *known) {
    enum { UNKNOWN, NO, YES };
    uint8_t *of_name = &known[host_name(reading, host)];
    if (reading->hosts.kind[host] != HOST_OPERATOR)
        return false;
    if (*of_name == UNKNOWN)
        *of_name = op_work_kind(reading, host, rules) ? YES : NO;
    return *of_name == YES;
}

static struct input_text text_of(const struct op_works *works, enum op_argument argument, row_t place) {
    uint32_t text = op_argument_text(&works->arguments, argument, place);
    if (text == 0)
        return (struct input_text){NULL, 0};
    return (struct input_text){strings_text(&works->arguments.texts, text),
                               strings_length(&works->arguments.texts, text)};
}

bool op_works_inputs(const struct op_works *works, uint32_t group, struct op_inputs_parser *parser,
                     struct op_inputs *inputs) {
    row_t place = works->groups.member[works->groups.first[group]];
    const struct op_input_texts texts = {.shapes = text_of(works, ARGUMENT_DIMS, place),
                                         .types = text_of(works, ARGUMENT_TYPES, place),
                                         .strides = text_of(works, ARGUMENT_STRIDES, place),
                                         .values = text_of(works, ARGUMENT_VALUES, place)};
    return op_inputs_parse(parser, &texts, inputs);
}

static enum sutra_status group_works(const struct op_reading *reading, struct arena *arena, struct op_works *works,
                                     struct sutra_error *error) {
    struct tuple *keys = arena_take(arena, works->n, sizeof *keys);
    if (!keys)
        return error_memory(error);
    for (row_t i = 0; i < works->n; i++)
        keys[i] = (struct tuple){{host_name(reading, works->host[i]), works->arguments.of[i], 0, 0}};
    return op_groups_make(keys, works->n, arena, &works->groups, error);
}

enum sutra_status op_works_read(struct sutra_context *context, const struct op_reading *reading, const row_t *hosts,
                                row_t n, enum flops_rules rules, struct arena *arena, struct op_works *works,
                                struct sutra_error *error) {
    struct op_inputs_parser parser = {0};
    *works = (struct op_works){.n = n, .host = hosts};
    enum sutra_status status = op_arguments_read(context, reading, hosts, n, arena, &works->arguments, error);
    if (!status)
        status = group_works(reading, arena, works, error);
    if (!status)
        works->flops = arena_take(arena, works->groups.n, sizeof *works->flops);
    if (!status)
        status = arena_status(arena, error);
    for (uint32_t g = 0; !status && g < works->groups.n; g++) {
        struct op_inputs inputs;
        row_t host = hosts[works->groups.member[works->groups.first[g]]];
        if (op_works_inputs(works, g, &parser, &inputs))
            works->flops[g] = op_flops_find(op_work_kind(reading, host, rules), &inputs, rules);
        else
            status = error_memory(error);
    }
    op_inputs_parser_free(&parser);
    return status;
}

void op_works_free(struct op_works *works) {
    op_arguments_free(&works->arguments);
}

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
static bool find_kinds_arguments(struct argument_reader *reader, const uint32_t *raw, const row_t *events, row_t n) {
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
    bool ok = reader->kind_of && find_kinds_arguments(reader, raw, events, n);
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
