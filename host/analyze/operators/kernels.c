/*
 * kernels.c - our tables of kernels, copies and sets: by name, by name and configuration, and how long they take.
 *
 * A configuration is what a launch chose: operator, stream, grid, block, registers, shared memory. The table by name
 * has that of its configuration with the most time. O(n log n).
 */
#include <math.h>
#include <string.h>

#include "analyze/argument_text.h"
#include "analyze/operators/operators.h"
#include "base/error.h"
#include "facts/occupancy.h"
#include "read/event_places.h"
#include "text/short_name.h"

/* Kernels below it are short: launching them takes about as long. */
#define SHORT_US 10

/* Columns of a name in a table. */
#define NAME_WIDTH 80

/* What is asked of each piece of work. */
enum kernel_field { WORK_GRID, WORK_BLOCK, WORK_REGISTERS, WORK_SHARED, WORK_OCCUPANCY, WORK_DEVICE, N_KERNEL_FIELDS };

static const struct asked_field kernel_fields[N_KERNEL_FIELDS] = {{"grid", ASK_PLACE, false},
                                                                  {"block", ASK_PLACE, false},
                                                                  {"registers per thread", ASK_NUMBER, false},
                                                                  {"shared memory", ASK_NUMBER, false},
                                                                  {"est. achieved occupancy %", ASK_NUMBER, false},
                                                                  {"device", ASK_INT, false}};

static const char *const class_names[] = {"compute", "communication", "copy"};

struct work_group {
    row_t n, n_short, n_delays;
    wide_t ticks, delays; /* durations; from the ends of calls to the starts */
    double recorded;      /* occupancies, as far as they are told */
    row_t n_recorded;
    row_t first;   /* row of devices */
    uint32_t main; /* of a name: its configuration with the most time */
    uint32_t n_configurations;
};

struct work_tables {
    const struct op_input *input;
    const struct op_reading *reading;
    struct asked_column columns[N_KERNEL_FIELDS];
    struct device_limits limits[DEVICES_MOST];
    size_t n_limits;
    struct strings sizes; /* grids and blocks as they stand in the file; 0: none */
    struct op_groups names, configurations;
    struct work_group *of_name, *of_configuration;
    struct description *durations, *delays; /* of each name */
    struct shortened *shorts;               /* of each name */
};

/* ---- Reading ---- */

static uint32_t size_text(struct work_tables *tables, struct json_place place) {
    const char *bytes = tables->reading->trace->document.source.bytes;
    return place.at ? strings_intern(&tables->sizes, bytes + place.at, event_place_length(bytes, place)) : 0;
}

static int64_t bits_of(const struct asked_column *column, row_t event) {
    return (int64_t)column->number.bits[event];
}

/* Groups by name, and by all that a launch chose. */
static enum sutra_status group_work(struct work_tables *tables, struct arena *arena, struct sutra_error *error) {
    const struct op_reading *reading = tables->reading;
    const struct device_rows *devices = &reading->devices;
    struct tuples shapes = {0};
    struct tuple *names = arena_zeros(arena, devices->n, sizeof *names);
    struct tuple *keys = arena_zeros(arena, devices->n, sizeof *keys);
    enum sutra_status status = arena_status(arena, error);
    for (row_t i = 0; i < devices->n && !status; i++) {
        row_t event = devices->event[i], launcher = devices->launcher[i];
        uint32_t grid = size_text(tables, tables->columns[WORK_GRID].place[event]);
        uint32_t block = size_text(tables, tables->columns[WORK_BLOCK].place[event]);
        uint32_t shape =
            tuples_number(&shapes, (struct tuple){{grid, block, bits_of(&tables->columns[WORK_REGISTERS], event),
                                                   bits_of(&tables->columns[WORK_SHARED], event)}});
        names[i] = (struct tuple){{reading->events->name[event], devices->class[i], 0, 0}};
        keys[i] = (struct tuple){
            {reading->events->name[event], launcher == ROW_NONE ? STRING_NONE : host_name(reading, launcher),
             reading->events->stream[event], (int64_t)shape * DEVICE_N_CLASSES + devices->class[i]}};
        if (grid == STRING_NONE || block == STRING_NONE || shape == TUPLE_NONE)
            status = error_memory(error);
    }
    tuples_free(&shapes);
    if (!status)
        status = op_groups_make(names, devices->n, arena, &tables->names, error);
    return status ? status : op_groups_make(keys, devices->n, arena, &tables->configurations, error);
}

/* From the end of the call to the start of the work. */
static int64_t delay_of(const struct op_reading *reading, row_t device) {
    return reading->devices.start[device] - reading->hosts.stop[reading->devices.call[device]];
}

static void add_work(const struct work_tables *tables, row_t device, struct work_group *group) {
    const struct op_reading *reading = tables->reading;
    int64_t ticks = reading->devices.stop[device] - reading->devices.start[device];
    double recorded =
        number_as_double(number_at(tables->columns[WORK_OCCUPANCY].number, reading->devices.event[device]));
    if (group->n == 0)
        group->first = device;
    group->n++;
    group->ticks += ticks;
    group->n_short += op_us(reading, ticks) < SHORT_US;
    if (reading->devices.call[device] != ROW_NONE) {
        group->delays += delay_of(reading, device);
        group->n_delays++;
    }
    if (!isnan(recorded)) {
        group->recorded += recorded;
        group->n_recorded++;
    }
}

static enum sutra_status add_up(struct work_tables *tables, struct arena *arena, struct sutra_error *error) {
    const struct device_rows *devices = &tables->reading->devices;
    tables->of_name = arena_zeros(arena, tables->names.n, sizeof *tables->of_name);
    tables->of_configuration = arena_zeros(arena, tables->configurations.n, sizeof *tables->of_configuration);
    enum sutra_status status = arena_status(arena, error);
    for (row_t i = 0; i < devices->n && !status; i++) {
        add_work(tables, i, &tables->of_name[tables->names.of[i]]);
        add_work(tables, i, &tables->of_configuration[tables->configurations.of[i]]);
    }
    for (uint32_t c = 0; c < tables->configurations.n && !status; c++) {
        struct work_group *name = &tables->of_name[tables->names.of[tables->of_configuration[c].first]];
        if (name->n_configurations++ == 0 ||
            tables->of_configuration[c].ticks > tables->of_configuration[name->main].ticks)
            name->main = c;
    }
    return status;
}

/* Durations of each name, and delays of those whose calls are known. */
static enum sutra_status describe_work(struct work_tables *tables, struct arena *arena, struct sutra_error *error) {
    const struct device_rows *devices = &tables->reading->devices;
    const struct engine *engine = &tables->input->context->engine;
    int64_t *ticks = arena_take(arena, devices->n, sizeof *ticks),
            *delays = arena_take(arena, devices->n, sizeof *delays);
    uint32_t *of = arena_take(arena, devices->n, sizeof *of);
    row_t n_delays = 0;
    tables->durations = arena_take(arena, tables->names.n, sizeof *tables->durations);
    tables->delays = arena_take(arena, tables->names.n, sizeof *tables->delays);
    enum sutra_status status = arena_status(arena, error);
    for (row_t i = 0; i < devices->n && !status; i++) {
        ticks[i] = devices->stop[i] - devices->start[i];
        if (devices->call[i] == ROW_NONE)
            continue;
        of[n_delays] = tables->names.of[i];
        delays[n_delays++] = delay_of(tables->reading, i);
    }
    double per_us = tables->reading->ticks_per_us;
    if (!status)
        status = describe_integers(engine, arena, tables->names.of, ticks, devices->n, tables->names.n, per_us,
                                   tables->durations, error);
    return status
               ? status
               : describe_integers(engine, arena, of, delays, n_delays, tables->names.n, per_us, tables->delays, error);
}

static enum sutra_status shorten(struct work_tables *tables, struct arena *arena, struct sutra_error *error) {
    const struct op_reading *reading = tables->reading;
    uint32_t n = tables->names.n;
    const char **names = arena_take(arena, n, sizeof *names);
    tables->shorts = arena_take(arena, n, sizeof *tables->shorts);
    enum sutra_status status = arena_status(arena, error);
    for (uint32_t g = 0; g < n && !status; g++)
        names[g] =
            strings_text(reading->strings, reading->events->name[reading->devices.event[tables->of_name[g].first]]);
    if (!status)
        short_names(names, n, NAME_WIDTH, tables->shorts);
    return status;
}

/* ---- Rows ---- */

static void put_share(struct sutra_table *table, double part, double whole) {
    table_real(table, whole > 0 ? part / whole * 100 : (double)NAN);
}

/* The product of a list of up to three numbers; NaN where it is none. */
static double product_at(const struct work_tables *tables, struct json_place place) {
    const char *text = tables->reading->trace->document.source.bytes + place.at;
    double product = 1;
    if (!place.at || *text != '[')
        return (double)NAN;
    for (text++; *text != ']'; text += *text == ',') {
        size_t length = 0;
        while (strchr(" \n\r\t", *text))
            text++;
        if (number_scan(text, &length) == NUMBER_FORM_BAD)
            return (double)NAN;
        product *= double_parse(text, length);
        text += length;
        while (strchr(" \n\r\t", *text))
            text++;
        if (*text != ',' && *text != ']')
            return (double)NAN;
    }
    return product;
}

static double number_of(const struct work_tables *tables, enum kernel_field field, row_t event) {
    return number_as_double(number_at(tables->columns[field].number, event));
}

static struct kernel_occupancy occupancy_at(const struct work_tables *tables, row_t event) {
    const struct kernel_shape shape = {product_at(tables, tables->columns[WORK_GRID].place[event]),
                                       product_at(tables, tables->columns[WORK_BLOCK].place[event]),
                                       number_of(tables, WORK_REGISTERS, event), number_of(tables, WORK_SHARED, event)};
    for (size_t i = 0; i < tables->n_limits; i++)
        if (tables->limits[i].id == tables->columns[WORK_DEVICE].key[event])
            return occupancy_of(&tables->limits[i], &shape);
    return (struct kernel_occupancy){NAN, NAN, NAN};
}

static void put_size(const struct work_tables *from, struct json_place place, struct sutra_table *table) {
    const char *bytes = from->reading->trace->document.source.bytes;
    struct buffer text = {0};
    if (place.at)
        argument_append(&text, bytes + place.at, event_place_length(bytes, place));
    table->failed |= text.failed;
    table_text(table, text.bytes ? text.bytes : "", text.length);
    buffer_free(&text);
}

/* What a launch chose: operator, stream, grid, block, registers, shared memory, occupancies, waves. */
static void put_configuration(const struct work_tables *from, const struct work_group *group,
                              struct sutra_table *table) {
    const struct op_reading *reading = from->reading;
    row_t event = reading->devices.event[group->first], launcher = reading->devices.launcher[group->first];
    struct kernel_occupancy occupancy = occupancy_at(from, event);
    if (launcher == ROW_NONE)
        table_text(table, "", 0);
    else
        table_string(table, reading->strings, host_name(reading, launcher));
    op_table_stream(from->input, group->first, table);
    put_size(from, from->columns[WORK_GRID].place[event], table);
    put_size(from, from->columns[WORK_BLOCK].place[event], table);
    table_real(table, number_of(from, WORK_REGISTERS, event));
    table_real(table, number_of(from, WORK_SHARED, event));
    table_real(table, group->n_recorded ? group->recorded / group->n_recorded : (double)NAN);
    table_real(table, occupancy.occupied * 100);
    table_real(table, occupancy.limit * 100);
    table_real(table, occupancy.waves);
}

static void put_class(const struct work_tables *from, row_t device, struct sutra_table *table) {
    const char *name = class_names[from->reading->devices.class[device]];
    table_text(table, name, strlen(name));
}

static void put_name(const struct work_tables *from, uint32_t g, struct sutra_table *table) {
    const struct op_reading *reading = from->reading;
    const struct work_group *group = &from->of_name[g];
    const struct description *durations = &from->durations[g], *delays = &from->delays[g];
    table_integer(table, from->input->options.rank);
    table_text(table, from->shorts[g].text, strlen(from->shorts[g].text));
    put_class(from, group->first, table);
    table_integer(table, group->n);
    table_real(table, (double)group->ticks / reading->ticks_per_us);
    put_share(table, (double)group->ticks, (double)from->input->device_ticks);
    table_real(table, durations->mean);
    table_real(table, durations->min);
    table_real(table, durations->q50);
    table_real(table, durations->max);
    put_share(table, group->n_short, group->n);
    table_real(table, delays->mean);
    table_real(table, delays->q50);
    table_integer(table, group->n_configurations);
    put_configuration(from, &from->of_configuration[group->main], table);
    table_string(table, reading->strings, reading->events->name[reading->devices.event[group->first]]);
}

static void put_configured(const struct work_tables *from, uint32_t c, struct sutra_table *table) {
    const struct op_reading *reading = from->reading;
    const struct work_group *group = &from->of_configuration[c];
    const struct shortened *name = &from->shorts[from->names.of[group->first]];
    table_integer(table, from->input->options.rank);
    table_text(table, name->text, strlen(name->text));
    table_integer(table, group->n);
    table_real(table, (double)group->ticks / reading->ticks_per_us);
    put_share(table, (double)group->ticks, (double)from->input->device_ticks);
    table_real(table, (double)group->ticks / reading->ticks_per_us / group->n);
    table_real(table, group->n_delays ? (double)group->delays / reading->ticks_per_us / group->n_delays : (double)NAN);
    put_configuration(from, group, table);
}

static enum sutra_status write_groups(const struct work_tables *from, const struct work_group *groups, uint32_t n,
                                      void (*put)(const struct work_tables *from, uint32_t group,
                                                  struct sutra_table *table),
                                      struct arena *arena, struct sutra_table *table, struct sutra_error *error) {
    double *times = arena_take(arena, n, sizeof *times);
    uint32_t *order = arena_take(arena, n, sizeof *order);
    enum sutra_status status = arena_status(arena, error);
    for (uint32_t g = 0; g < n && !status; g++)
        times[g] = (double)groups[g].ticks;
    if (!status)
        status = op_groups_order(times, n, arena, order, error);
    for (uint32_t i = 0; i < n && !status; i++)
        put(from, order[i], table);
    return status;
}

/* ---- How long they take ---- */

/* Bounds of bins are 1, 2 and 5 times powers of ten, in nanoseconds: bin b holds durations below that of b. */
static int64_t bin_end(unsigned bin) {
    static const int64_t factors[] = {1, 2, 5};
    int64_t end = factors[bin % 3];
    for (unsigned i = 0; i < bin / 3; i++)
        end *= 10;
    return end;
}

#define N_BINS 54 /* up to 5e17 ns */

static void write_durations(const struct work_tables *from, struct sutra_table *table) {
    const struct device_rows *devices = &from->reading->devices;
    row_t counts[N_BINS] = {0};
    wide_t ticks[N_BINS] = {0};
    unsigned first = N_BINS, last = 0;
    for (row_t i = 0; i < devices->n; i++) {
        int64_t length = devices->stop[i] - devices->start[i];
        unsigned bin = 0;
        while (bin < N_BINS - 1 && length >= bin_end(bin))
            bin++;
        counts[bin]++;
        ticks[bin] += length;
        first = bin < first ? bin : first;
        last = bin > last ? bin : last;
    }
    for (unsigned bin = first; bin < N_BINS && bin <= last; bin++) {
        table_integer(table, from->input->options.rank);
        table_real(table, bin ? op_us(from->reading, bin_end(bin - 1)) : 0);
        table_real(table, op_us(from->reading, bin_end(bin)));
        table_integer(table, counts[bin]);
        put_share(table, counts[bin], devices->n);
        table_real(table, (double)ticks[bin] / from->reading->ticks_per_us);
        put_share(table, (double)ticks[bin], (double)from->input->device_ticks);
    }
}

/* ---- The tables ---- */

static enum sutra_status ask(const struct op_input *input, struct asked_column *columns, struct sutra_error *error) {
    const struct op_reading *reading = input->reading;
    return event_columns_ask(input->context, reading->trace, kernel_fields, N_KERNEL_FIELDS, reading->devices.event,
                             reading->devices.n, columns, error);
}

enum sutra_status operators_kernels_ask(const struct op_input *input, struct sutra_error *error) {
    struct asked_column columns[N_KERNEL_FIELDS];
    return ask(input, columns, error);
}

static enum sutra_status read_work(struct work_tables *tables, struct arena *arena, struct sutra_error *error) {
    const struct op_reading *reading = tables->reading;
    enum sutra_status status = ask(tables->input, tables->columns, error);
    if (!status && (!strings_init(&tables->sizes) || strings_intern(&tables->sizes, "", 0) == STRING_NONE))
        status = error_memory(error);
    tables->n_limits = device_limits_read(reading->trace, tables->limits);
    if (!status)
        status = group_work(tables, arena, error);
    if (!status)
        status = add_up(tables, arena, error);
    if (!status)
        status = describe_work(tables, arena, error);
    return status ? status : shorten(tables, arena, error);
}

enum sutra_status operators_kernels(const struct op_input *input, struct arena *arena,
                                    struct sutra_operators *operators, struct sutra_error *error) {
    struct work_tables from = {.input = input, .reading = input->reading};
    struct arena_mark mark = arena_mark(arena);
    enum sutra_status status = read_work(&from, arena, error);
    if (!status)
        status = write_groups(&from, from.of_name, from.names.n, put_name, arena,
                              op_table_begin(operators, SUTRA_KERNELS_BY_NAME), error);
    if (!status)
        status = write_groups(&from, from.of_configuration, from.configurations.n, put_configured, arena,
                              op_table_begin(operators, SUTRA_KERNELS_BY_CONFIGURATION), error);
    if (!status)
        write_durations(&from, op_table_begin(operators, SUTRA_KERNELS_DURATIONS));
    strings_free(&from.sizes);
    arena_release(arena, mark);
    return status;
}
