/*
 * works.c - arguments of operators to FLOPs and bytes, once for each kind. O(operators + bytes of different arguments).
 */
#include "analyze/operators/works.h"

#include "base/error.h"

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
