/*
 * arguments.c - implements arguments.h: shapes, types, strides and values of operators' inputs, as texts that are equal
 * if Python's values are. Reading the trace has interned the text of all arguments of an event, so each distinct text
 * is parsed once.
 */
#include <math.h>
#include <string.h>

#include "analyze/launches/arguments.h"
#include "analyze/launches/graphs.h"
#include "base/error.h"
#include "columns/column.h"
#include "columns/hash_tables.h"
#include "read/event_columns.h"
#include "read/json.h"
#include "text/numbers.h"

/* Zeros after a text that is parsed: numbers are read in words. */
static const char padding[NUMBER_TEXT_MAX];

/* ---- Launch configurations ---- */

struct launch_reader {
    struct launch_configs *kinds;
    struct tuples shapes;
    struct buffer in, out; /* the text that is parsed, with padding; a value in Python's format */
    bool failed;           /* out of memory */
};

/* A field in the text that is parsed; NAN if it is absent or not a number. */
static struct number field_value(const struct launch_reader *reader, enum event_field field) {
    struct number number = number_double(NAN);
    size_t length;
    const char *bytes = inputs_find(reader->in.bytes, field, &length);
    if (length)
        field_number(bytes, &number);
    return number;
}

/* The product of a list of up to three numbers; NaN if the text is something else. */
static double list_product(const char *text) {
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

/* A grid or block in Python's format. */
static uint32_t add_python_text(struct launch_reader *reader, const char *bytes, size_t length) {
    reader->out.length = 0;
    if (!length)
        return 0;
    argument_append(&reader->out, bytes, length);
    reader->failed |= reader->out.failed;
    return reader->out.failed ? 0 : add_text(reader, reader->out.bytes, reader->out.length);
}

/* Parses a text, appends its launch configuration and returns its index. */
static uint32_t add_launch_kind(struct launch_reader *reader, const char *bytes, size_t length) {
    struct launch_configs *kinds = reader->kinds;
    reader->in.length = 0;
    buffer_append(&reader->in, bytes, length);
    buffer_append(&reader->in, padding, sizeof padding);
    reader->failed |= reader->in.failed || !column_grow(&kinds->list, kinds->n, &kinds->capacity, sizeof *kinds->list);
    if (reader->failed)
        return 0;
    size_t grid_length, block_length;
    const char *grid = inputs_find(reader->in.bytes, FIELD_GRID, &grid_length);
    const char *block = inputs_find(reader->in.bytes, FIELD_BLOCK, &block_length);
    struct number registers = field_value(reader, FIELD_REGISTERS);
    struct number shared_memory = field_value(reader, FIELD_SHARED_MEMORY);
    struct tuple shape = {{add_text(reader, grid, grid_length), add_text(reader, block, block_length),
                           (value_key)registers.bits, (value_key)shared_memory.bits}};
    kinds->list[kinds->n] =
        (struct launch_config){.shape = tuples_number(&reader->shapes, shape),
                               .grid = add_python_text(reader, grid, grid_length),
                               .block = add_python_text(reader, block, block_length),
                               .occupancy = number_as_double(field_value(reader, FIELD_OCCUPANCY)),
                               .numbers = {list_product(grid), list_product(block), number_as_double(registers),
                                           number_as_double(shared_memory)}};
    reader->failed |= kinds->list[kinds->n].shape == TUPLE_NONE;
    return (uint32_t)kinds->n++;
}

static enum sutra_status read_launch_column(struct sutra_context *context, const struct launch_model *model,
                                            struct requested_column *column, struct sutra_error *error) {
    static const struct requested_field field = {"args", ASK_LAUNCH, true};
    return event_columns_request(context, model->trace, &field, 1, model->devices.event, model->devices.n, column,
                                 error);
}

enum sutra_status launch_configs_preread(struct sutra_context *context, const struct launch_model *model,
                                         struct sutra_error *error) {
    struct requested_column column;
    return read_launch_column(context, model, &column, error);
}

enum sutra_status launch_configs_read(struct sutra_context *context, const struct launch_model *model,
                                      struct arena *arena, struct launch_configs *kinds, struct sutra_error *error) {
    const struct device_rows *devices = &model->devices;
    struct launch_reader reader = {.kinds = kinds};
    struct requested_column column;
    *kinds = (struct launch_configs){.of = arena_alloc(arena, devices->n, sizeof *kinds->of)};
    TRY_ALLOC(!arena->failed && strings_init(&kinds->texts) && strings_intern(&kinds->texts, "", 0) != STRING_NONE,
              error);
    TRY(read_launch_column(context, model, &column, error));
    struct arena_mark mark = arena_mark(arena);
    const struct strings *strings = event_columns_strings(model->trace);
    uint32_t *kind_of_text = rows_none(arena, strings->n);
    TRY(arena_status(arena, error));
    uint32_t none = add_launch_kind(&reader, "", 0); /* of events without arguments; the first of the list */
    for (row_t i = 0; i < devices->n && !reader.failed; i++) {
        uint32_t text = column.string[devices->event[i]];
        uint32_t *kind = text == STRING_NONE ? &none : &kind_of_text[text];
        if (*kind == ROW_NONE)
            *kind = add_launch_kind(&reader, strings_text(strings, text), strings_length(strings, text));
        kinds->of[i] = *kind;
    }
    arena_release(arena, mark);
    tuples_free(&reader.shapes);
    buffer_free(&reader.in);
    buffer_free(&reader.out);
    return reader.failed ? error_memory(error) : SUTRA_OK;
}

void launch_configs_free(struct launch_configs *kinds) {
    free(kinds->list);
    strings_free(&kinds->texts);
}

/* ---- Inputs of operators ---- */

static const struct requested_field input_column = {"args", ASK_ARGUMENTS, true};

struct argument_reader {
    const struct strings *raw; /* texts of the trace */
    struct buffer in, out;     /* the value that is parsed, with padding; in Python's format */
    struct op_arguments *made;
};

/* Parses a raw text and returns the id of its arguments; TUPLE_NONE: out of memory. */
static uint32_t parse_arguments(struct argument_reader *reader, uint32_t raw) {
    static const enum event_field fields[N_ARGUMENTS] = {[ARGUMENT_DIMS] = FIELD_INPUT_SHAPES,
                                                         [ARGUMENT_TYPES] = FIELD_INPUT_TYPES,
                                                         [ARGUMENT_STRIDES] = FIELD_INPUT_STRIDES,
                                                         [ARGUMENT_VALUES] = FIELD_CONCRETE_INPUTS};
    struct tuple texts = {{0}};
    for (int k = 0; k < N_ARGUMENTS; k++) {
        size_t length;
        const char *value = inputs_find(strings_text(reader->raw, raw), fields[k], &length);
        if (!length)
            continue;
        reader->in.length = reader->out.length = 0;
        buffer_append(&reader->in, value, length);
        buffer_append(&reader->in, padding, sizeof padding);
        if (reader->in.failed)
            return TUPLE_NONE;
        argument_append(&reader->out, reader->in.bytes, length);
        if (reader->out.failed)
            return TUPLE_NONE;
        uint32_t text = strings_intern(&reader->made->texts, reader->out.bytes, reader->out.length);
        if (text == STRING_NONE)
            return TUPLE_NONE;
        texts.part[k] = text;
    }
    return tuples_number(&reader->made->kinds, texts);
}

enum sutra_status op_arguments_read(struct sutra_context *context, const struct launch_model *model, const row_t *hosts,
                                    row_t n, struct arena *arena, struct op_arguments *arguments,
                                    struct sutra_error *error) {
    struct requested_column column;
    struct arena scratch = {0};
    row_t *events = arena_alloc(&scratch, n, sizeof *events);
    arguments->of = arena_alloc(arena, n, sizeof *arguments->of);
    bool ok = strings_init(&arguments->texts) && events && !arena->failed &&
              strings_intern(&arguments->texts, "", 0) != STRING_NONE;
    for (row_t i = 0; i < n && ok; i++)
        events[i] = model->hosts.event[hosts[i]];
    enum sutra_status status =
        ok ? event_columns_request(context, model->trace, &input_column, 1, events, n, &column, error)
           : error_memory(error);
    if (!status) {
        struct argument_reader reader = {.made = arguments};
        const struct graph_captures *captures = model->graphs ? model->graphs->captures : NULL;
        size_t n_traces = 1 + (captures ? captures->n : 0); /* of this trace, then of capture traces */
        uint32_t none = tuples_number(&arguments->kinds, (struct tuple){{0}});
        uint32_t **kind_of_text =
            arena_zeros(&scratch, n_traces, sizeof *kind_of_text); /* TUPLE_NONE: not parsed yet */
        ok = none != TUPLE_NONE && kind_of_text;
        for (row_t i = 0; i < n && ok; i++) {
            uint32_t capture, text = graph_replay_arguments(model, hosts[i], &capture);
            size_t of = text == STRING_NONE ? 0 : 1 + capture;
            reader.raw = event_columns_strings(of ? captures->list[capture].trace : model->trace);
            if (!kind_of_text[of])
                kind_of_text[of] = rows_none(&scratch, reader.raw->n);
            text = of ? text : column.string[events[i]];
            uint32_t *kind = text == STRING_NONE ? &none : kind_of_text[of] ? &kind_of_text[of][text] : NULL;
            if (kind && *kind == TUPLE_NONE)
                *kind = parse_arguments(&reader, text);
            arguments->of[i] = kind ? *kind : TUPLE_NONE;
            ok = arguments->of[i] != TUPLE_NONE;
        }
        buffer_free(&reader.in);
        buffer_free(&reader.out);
        status = ok ? SUTRA_OK : error_memory(error);
    }
    arena_free(&scratch);
    return status;
}

enum sutra_status op_arguments_ask(struct sutra_context *context, const struct launch_model *model,
                                   const struct op_host_list lists[2], struct arena *scratch,
                                   struct sutra_error *error) {
    struct requested_column column;
    if (event_columns_are_complete(model->trace, &input_column))
        return SUTRA_OK;
    struct arena_mark mark = arena_mark(scratch);
    row_t n_events = model->events->n, n = 0;
    uint8_t *wanted = arena_zeros(scratch, n_events, sizeof *wanted);
    row_t *events = arena_alloc(scratch, (size_t)lists[0].n + lists[1].n, sizeof *events);
    TRY(arena_status(scratch, error));
    for (int i = 0; i < 2; i++)
        for (row_t k = 0; k < lists[i].n; k++)
            wanted[model->hosts.event[lists[i].host[k]]] = true;
    for (row_t event = 0; event < n_events; event++)
        if (wanted[event])
            events[n++] = event;
    enum sutra_status status =
        event_columns_request(context, model->trace, &input_column, 1, events, n, &column, error);
    arena_release(scratch, mark);
    return status;
}

void op_arguments_free(struct op_arguments *arguments) {
    strings_free(&arguments->texts);
    tuples_free(&arguments->kinds);
}

/* ---- FLOPs of operators ---- */

const struct op_kind *op_cost_formula(const struct launch_model *model, row_t host, enum flops_rules rules) {
    uint32_t name = host_name(model, host);
    return op_formula_find(strings_text(model->strings, name), strings_length(model->strings, name),
                           flops_table(rules));
}

bool op_cost_is_known(const struct launch_model *model, row_t host, enum flops_rules rules, uint8_t *known) {
    enum { UNKNOWN, NO, YES };
    uint8_t *of_name = &known[host_name(model, host)];
    if (model->hosts.kind[host] != HOST_OPERATOR)
        return false;
    if (*of_name == UNKNOWN)
        *of_name = op_cost_formula(model, host, rules) ? YES : NO;
    return *of_name == YES;
}

static struct input_text argument_text(const struct op_arguments *arguments, enum op_argument argument, row_t i) {
    uint32_t text = op_argument_text(arguments, argument, i);
    if (text == 0)
        return (struct input_text){NULL, 0};
    return (struct input_text){strings_text(&arguments->texts, text), strings_length(&arguments->texts, text)};
}

bool op_arguments_parse(const struct op_arguments *arguments, row_t i, struct op_inputs_parser *parser,
                        struct op_inputs *inputs) {
    const struct op_input_texts texts = {.shapes = argument_text(arguments, ARGUMENT_DIMS, i),
                                         .types = argument_text(arguments, ARGUMENT_TYPES, i),
                                         .strides = argument_text(arguments, ARGUMENT_STRIDES, i),
                                         .values = argument_text(arguments, ARGUMENT_VALUES, i)};
    return op_inputs_parse(parser, &texts, inputs);
}

bool op_costs_inputs(const struct op_costs *costs, uint32_t group, struct op_inputs_parser *parser,
                     struct op_inputs *inputs) {
    return op_arguments_parse(&costs->arguments, costs->groups.member[costs->groups.first[group]], parser, inputs);
}

/* By operator of the list: the name of the enclosing iteration, for attention with paged keys and values, or
 * STRING_NONE; NULL: no such operator. */
static enum sutra_status find_iterations(const struct launch_model *model, const row_t *hosts, row_t n,
                                         struct arena *arena, const uint32_t **iterations, struct sutra_error *error) {
    const struct host_rows *rows = &model->hosts;
    uint8_t *needs = arena_zeros(arena, model->strings->n, sizeof *needs); /* by name: 1 no, 2 yes */
    bool any = false;
    TRY_ALLOC(needs, error);
    for (row_t i = 0; i < n; i++) {
        uint8_t *known = &needs[rows->name[hosts[i]]];
        if (!*known) {
            const struct op_kind *kind = op_cost_formula(model, hosts[i], FLOPS_OURS);
            *known = kind && kind->formula == FORMULA_PAGED_ATTENTION ? 2 : 1;
        }
        any |= *known == 2;
    }
    if (!any)
        return SUTRA_OK;
    uint8_t *is_iteration = arena_zeros(arena, model->strings->n, sizeof *is_iteration); /* by name: 1 no, 2 yes */
    uint8_t *marked = arena_alloc(arena, rows->n, sizeof *marked);
    row_t *around = arena_alloc(arena, rows->n, sizeof *around);
    uint32_t *found = arena_alloc(arena, n, sizeof *found);
    TRY(arena_status(arena, error));
    for (row_t row = 0; row < rows->n; row++) {
        uint8_t *known = &is_iteration[rows->name[row]];
        marked[row] = false;
        if (rows->kind[row] != HOST_ANNOTATION)
            continue;
        if (!*known)
            *known = flops_iteration_is_known(strings_text(model->strings, rows->name[row])) ? 2 : 1;
        marked[row] = *known == 2;
    }
    TRY(find_marked_ancestors(model, marked, arena, around, error));
    for (row_t i = 0; i < n; i++) {
        row_t row = needs[rows->name[hosts[i]]] == 2 ? around[hosts[i]] : ROW_NONE;
        found[i] = row == ROW_NONE ? STRING_NONE : rows->name[row];
    }
    *iterations = found;
    return SUTRA_OK;
}

enum sutra_status op_costs_read(struct sutra_context *context, const struct launch_model *model, const row_t *hosts,
                                row_t n, enum flops_rules rules, struct arena *arena, struct op_costs *costs,
                                struct sutra_error *error) {
    *costs = (struct op_costs){.n = n, .host = hosts};
    TRY(op_arguments_read(context, model, hosts, n, arena, &costs->arguments, error));
    struct tuple *keys = arena_alloc(arena, n, sizeof *keys);
    const uint32_t *iterations = NULL;
    TRY(arena_status(arena, error));
    if (rules == FLOPS_OURS)
        TRY(find_iterations(model, hosts, n, arena, &iterations, error));
    for (row_t i = 0; i < n; i++)
        keys[i] = (struct tuple){
            {host_name(model, hosts[i]), costs->arguments.of[i], iterations ? iterations[i] : STRING_NONE, 0}};
    TRY(row_groups_make(keys, n, arena, &costs->groups, error));
    costs->flops = arena_alloc(arena, costs->groups.n, sizeof *costs->flops);
    TRY(arena_status(arena, error));
    struct op_inputs_parser parser = {0};
    bool ok = true;
    for (uint32_t g = 0; g < costs->groups.n && ok; g++) {
        struct op_inputs inputs;
        row_t member = costs->groups.member[costs->groups.first[g]], host = hosts[member];
        ok = op_costs_inputs(costs, g, &parser, &inputs);
        if (!ok)
            break;
        inputs.name = strings_text(model->strings, host_name(model, host));
        if (iterations && iterations[member] != STRING_NONE)
            inputs.annotation = strings_text(model->strings, iterations[member]);
        costs->flops[g] = op_flops_find(op_cost_formula(model, host, rules), &inputs, rules);
    }
    op_inputs_parser_free(&parser);
    return ok ? SUTRA_OK : error_memory(error);
}

void op_costs_free(struct op_costs *costs) {
    op_arguments_free(&costs->arguments);
}
