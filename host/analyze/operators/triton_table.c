/*
 * triton_table.c - table of the Triton kernels that torch.compile generated: source operators, elements, FLOPs and
 * bytes of one call.
 *
 *     launchers and kernels named triton_poi_*, triton_red_* or triton_per_*
 *         --> same name as the operator: by name, arguments and hash
 *         --> else, as in graphs: by name, without arguments
 *
 * Names with the most time are first; rows of a name are in the order of their first kernels. Two kernels of one name
 * and different hashes are different programs. The file of a kernel is reported and not read.
 * O(kernels) in expectation, and a sort of the rows.
 */
#include <string.h>

#include "analyze/launches/arguments.h"
#include "analyze/launches/graphs.h"
#include "analyze/operators/operators.h"
#include "base/error.h"
#include "columns/column.h"
#include "match/key_index.h"
#include "read/event_columns.h"

/* A row of the table. */
struct triton_row {
    uint32_t name;
    row_t member; /* index of the first operator in the list, or ROW_NONE: without arguments */
    row_t calls;
    int64_t kernels;
    wide_t ticks;
};

struct triton_rows {
    const struct op_input *input;
    row_t n_hosts;
    row_t *hosts;    /* operators that bear the name of a kernel they launch */
    row_t *of_host;  /* by launcher: index in this list, or ROW_NONE */
    uint8_t *triton; /* by string: enum triton_kind + 1; 0: not classified yet */
    struct op_arguments arguments;
    struct requested_column fields[3]; /* hash, file, options of the kernel; by event */
    struct tuples keys;                /* (name, arguments + 1 or 0, hash) */
    struct triton_row *rows;
    uint64_t capacity;
};

enum { FIELD_HASH, FIELD_FILE, FIELD_KWARGS };

static bool is_triton(struct triton_rows *of, uint32_t name) {
    const struct strings *strings = of->input->model->strings;
    uint8_t *known = &of->triton[name];
    if (!*known)
        *known = (uint8_t)(triton_kind_of(strings_text(strings, name), strings_length(strings, name)) + 1);
    return *known > 1;
}

/* Whether arguments may be recorded: not of an operator of a graph that is known by name only. */
static bool has_arguments(const struct launch_model *model, row_t host) {
    uint32_t capture;
    return !model->hosts.replayed || !model->hosts.replayed[host] ||
           graph_replay_arguments(model, host, &capture) != STRING_NONE;
}

/* Lists launchers that are named as one of their kernels; returns in *any whether there are Triton kernels at all. */
static void list_hosts(struct triton_rows *of, bool *any) {
    const struct launch_model *model = of->input->model;
    const struct attribution_table *attributions = &model->attributions;
    for (row_t i = 0; i < model->devices.n; i++) {
        uint32_t name = model->events->name[model->devices.event[i]];
        row_t launcher = model->devices.launcher[i];
        if (!is_triton(of, name))
            continue;
        *any = true;
        if (launcher == ROW_NONE || model->hosts.kind[launcher] != HOST_OPERATOR ||
            model->hosts.name[launcher] != name || !has_arguments(model, launcher))
            continue;
        row_t *at = &of->of_host[attributions->of_host[launcher]];
        if (*at == ROW_NONE) {
            of->hosts[of->n_hosts] = launcher;
            *at = of->n_hosts++;
        }
    }
}

static enum sutra_status read_fields(struct triton_rows *of, struct arena *arena, struct sutra_error *error) {
    static const struct requested_field fields[] = {[FIELD_HASH] = {"kernel_hash", ASK_STRING, false},
                                                    [FIELD_FILE] = {"kernel_file", ASK_STRING, false},
                                                    [FIELD_KWARGS] = {"kernel_kwargs", ASK_STRING, false}};
    const struct launch_model *model = of->input->model;
    row_t *events = arena_alloc(arena, of->n_hosts, sizeof *events);
    TRY(arena_status(arena, error));
    for (row_t i = 0; i < of->n_hosts; i++)
        events[i] = model->hosts.event[of->hosts[i]];
    TRY(op_arguments_read(of->input->context, model, of->hosts, of->n_hosts, arena, &of->arguments, error));
    return event_columns_request(of->input->context, model->trace, fields, 3, events, of->n_hosts, of->fields, error);
}

/* Adds up the kernels of each row. */
static enum sutra_status make_rows(struct triton_rows *of, struct arena *arena, struct sutra_error *error) {
    const struct launch_model *model = of->input->model;
    uint8_t *counted = arena_zeros(arena, of->n_hosts, sizeof *counted);
    TRY(arena_status(arena, error));
    for (row_t i = 0; i < model->devices.n; i++) {
        uint32_t name = model->events->name[model->devices.event[i]];
        row_t launcher = model->devices.launcher[i], at = ROW_NONE;
        if (!is_triton(of, name))
            continue;
        if (launcher != ROW_NONE && model->hosts.name[launcher] == name)
            at = of->of_host[model->attributions.of_host[launcher]];
        struct tuple key = {{name, 0, STRING_NONE, 0}};
        if (at != ROW_NONE)
            key = (struct tuple){{name, (value_key)of->arguments.of[at] + 1,
                                  of->fields[FIELD_HASH].string[model->hosts.event[launcher]], 0}};
        uint32_t n = of->keys.n, number = tuples_number(&of->keys, key);
        TRY_ALLOC(number != TUPLE_NONE && arena_grow(arena, &of->rows, number, &of->capacity, sizeof *of->rows), error);
        if (number == n)
            of->rows[n] = (struct triton_row){.name = name, .member = at};
        struct triton_row *row = &of->rows[number];
        row->calls += at != ROW_NONE && !counted[at];
        if (at != ROW_NONE)
            counted[at] = 1;
        row->kernels++;
        row->ticks += model->devices.stop[i] - model->devices.start[i];
    }
    return SUTRA_OK;
}

static enum sutra_status add_row(const struct triton_rows *of, const struct triton_row *row,
                                 struct op_inputs_parser *parser, struct sutra_table *table,
                                 struct sutra_error *error) {
    const struct launch_model *model = of->input->model;
    const struct strings *asked = event_columns_strings(model->trace);
    const char *name = strings_text(model->strings, row->name);
    size_t length = strings_length(model->strings, row->name);
    struct op_inputs inputs = {.n = 0};
    if (row->member != ROW_NONE && !op_arguments_parse(&of->arguments, row->member, parser, &inputs))
        return error_memory(error);
    struct triton_work work = triton_work_find(name, length, &inputs);
    struct triton_sources sources;
    if (!triton_sources_find(name, length, &sources))
        sources.text_length = 0;
    table_integer(table, of->input->options.rank);
    table_text(table, name, length);
    table_text(table, sources.text, sources.text_length);
    table_real(table, work.xnumel);
    table_real(table, work.rnumel);
    table_integer(table, row->calls);
    table_integer(table, row->kernels);
    TABLE_REALS(table, (double)row->ticks / model->ticks_per_us, work.flops / 1e9, work.bytes / 1e6);
    for (int field = FIELD_HASH; field <= FIELD_KWARGS; field++) {
        uint32_t text = row->member == ROW_NONE ? STRING_NONE
                                                : of->fields[field].string[model->hosts.event[of->hosts[row->member]]];
        if (text == STRING_NONE)
            table_words(table, "");
        else
            table_string(table, asked, text);
    }
    table_words(table, work.missing ? work.missing : "");
    return SUTRA_OK;
}

enum sutra_status operators_triton(const struct op_input *input, struct arena *arena, struct sutra_operators *operators,
                                   struct sutra_error *error) {
    const struct launch_model *model = input->model;
    struct sutra_table *table = result_table_begin(&operators->result, SUTRA_OPERATORS_TRITON);
    struct arena_mark mark = arena_mark(arena);
    struct triton_rows of = {.input = input,
                             .hosts = arena_alloc(arena, model->attributions.n, sizeof *of.hosts),
                             .of_host = rows_none(arena, model->attributions.n),
                             .triton = arena_zeros(arena, model->strings->n, sizeof *of.triton)};
    struct op_inputs_parser parser = {0};
    bool any = false;
    TRY(arena_status(arena, error));
    list_hosts(&of, &any);
    enum sutra_status status = any ? read_fields(&of, arena, error) : SUTRA_OK;
    if (!status && any)
        status = make_rows(&of, arena, error);
    uint32_t n = of.keys.n, *order = arena_alloc(arena, n, sizeof *order);
    double *times = arena_alloc(arena, n, sizeof *times);
    double *name_times = arena_zeros(arena, model->strings->n, sizeof *name_times);
    if (!status)
        status = arena_status(arena, error);
    for (uint32_t i = 0; i < n && !status; i++)
        name_times[of.rows[i].name] += (double)of.rows[i].ticks;
    for (uint32_t i = 0; i < n && !status; i++)
        times[i] = name_times[of.rows[i].name];
    if (!status)
        status = row_groups_order(times, n, arena, order, error);
    for (uint32_t i = 0; i < n && !status; i++)
        status = add_row(&of, &of.rows[order[i]], &parser, table, error);
    op_inputs_parser_free(&parser);
    op_arguments_free(&of.arguments);
    tuples_free(&of.keys);
    arena_release(arena, mark);
    return status;
}
