/*
 * kernels.c - our tables of kernels, memcpys and memsets: by name, by name and configuration, and their durations.
 *
 * A configuration is the launch's parameters: operator, stream, grid, block, registers, shared memory. The table by
 * name shows the name's configuration with the most time. O(n log n).
 */
#include <math.h>
#include <string.h>

#include "analyze/launches/arguments.h"
#include "analyze/operators/operators.h"
#include "base/error.h"
#include "base/shared.h"
#include "columns/column.h"
#include "read/event_columns.h"
#include "text/names.h"

/* Kernels below it are short: launching them takes about as long. */
#define SHORT_US 10

/* Columns of a name in a table. */
#define NAME_WIDTH 80

static const char *const class_names[] = {"compute", "communication", "copy"};

/* GPU activity of one configuration, or of one name and class. */
struct work_group {
    row_t n, n_short, n_delays;
    wide_t ticks, delays; /* durations; from the ends of calls to the starts */
    double recorded;      /* total of recorded occupancies */
    row_t n_recorded;
    row_t first;               /* row of devices */
    uint32_t name;             /* of a configuration: its name's group */
    uint32_t main;             /* of a name: its configuration with the most time */
    uint32_t n_configurations; /* of a name */
};

struct work_groups {
    uint64_t n, capacity;
    struct work_group *list;
};

struct work_tables {
    const struct op_input *input;
    const struct launch_model *reading;
    struct launch_configs launches;
    struct device_limits limits[MAX_DEVICES];
    size_t n_limits;
    struct requested_column device; /* ids of devices that the events' column does not contain */
    struct work_groups names, configurations;
    uint32_t *configuration_of;             /* by row of devices */
    struct description *durations, *delays; /* of each name */
    struct shortened *shorts;               /* of each name */
};

/* ---- Reading ---- */

/* The group of a key; NULL: out of memory. */
static struct work_group *group_at(struct tuples *keys, struct tuple key, struct work_groups *groups) {
    uint32_t number = tuples_number(keys, key);
    if (number == TUPLE_NONE || !column_grow(&groups->list, groups->n, &groups->capacity, sizeof *groups->list))
        return NULL;
    if (number == groups->n)
        groups->list[groups->n++] = (struct work_group){0};
    return &groups->list[number];
}

/* From the end of the call to the start of the GPU activity. */
static int64_t delay_of(const struct launch_model *reading, row_t device) {
    return reading->devices.start[device] - reading->hosts.stop[reading->devices.call[device]];
}

/* Groups by all parameters of the launch. */
static enum sutra_status group_work(struct work_tables *tables, struct arena *arena, struct sutra_error *error) {
    const struct launch_model *reading = tables->reading;
    const struct device_rows *devices = &reading->devices;
    struct tuples keys = {0};
    tables->configuration_of = arena_alloc(arena, devices->n, sizeof *tables->configuration_of);
    bool ok = !arena->failed;
    for (row_t i = 0; i < devices->n && ok; i++) {
        row_t event = devices->event[i], launcher = devices->launcher[i];
        int64_t ticks = devices->stop[i] - devices->start[i];
        const struct launch_config *launch = &tables->launches.list[tables->launches.of[i]];
        int64_t shape = launch->shape;
        const struct tuple key = {{reading->events->name[event],
                                   launcher == ROW_NONE ? STRING_NONE : host_name(reading, launcher),
                                   reading->events->stream[event], shape * DEVICE_N_CLASSES + devices->class[i]}};
        struct work_group *group = group_at(&keys, key, &tables->configurations);
        ok = group;
        if (!ok)
            break;
        tables->configuration_of[i] = (uint32_t)(group - tables->configurations.list);
        if (group->n == 0)
            group->first = i;
        group->n++;
        group->ticks += ticks;
        group->n_short += launch_model_us(reading, ticks) < SHORT_US;
        if (devices->call[i] != ROW_NONE) {
            group->delays += delay_of(reading, i);
            group->n_delays++;
        }
        if (!isnan(launch->occupancy)) {
            group->recorded += launch->occupancy;
            group->n_recorded++;
        }
    }
    tuples_free(&keys);
    return ok ? SUTRA_OK : error_memory(error);
}

/* Groups configurations by name. */
static enum sutra_status group_names(struct work_tables *tables, struct sutra_error *error) {
    const struct launch_model *reading = tables->reading;
    struct work_group *list = tables->configurations.list;
    struct tuples keys = {0};
    bool ok = true;
    for (uint32_t c = 0; c < tables->configurations.n && ok; c++) {
        row_t device = list[c].first;
        const struct tuple key = {
            {reading->events->name[reading->devices.event[device]], reading->devices.class[device], 0, 0}};
        struct work_group *name = group_at(&keys, key, &tables->names);
        ok = name;
        if (!ok)
            break;
        if (name->n_configurations++ == 0) {
            name->first = device;
            name->main = c;
        }
        if (list[c].ticks > list[name->main].ticks)
            name->main = c;
        name->n += list[c].n;
        name->n_short += list[c].n_short;
        name->ticks += list[c].ticks;
        list[c].name = (uint32_t)(name - tables->names.list);
    }
    tuples_free(&keys);
    return ok ? SUTRA_OK : error_memory(error);
}

/* Describes the durations of each name, and the delays of activity whose calls are known. */
static enum sutra_status describe_work(struct work_tables *tables, struct arena *arena, struct sutra_error *error) {
    const struct device_rows *devices = &tables->reading->devices;
    const struct engine *engine = &tables->input->context->engine;
    int64_t *ticks = arena_alloc(arena, devices->n, sizeof *ticks),
            *delays = arena_alloc(arena, devices->n, sizeof *delays);
    uint32_t *of = arena_alloc(arena, devices->n, sizeof *of);
    uint32_t *of_delay = arena_alloc(arena, devices->n, sizeof *of_delay);
    row_t n_delays = 0;
    tables->durations = arena_alloc(arena, tables->names.n, sizeof *tables->durations);
    tables->delays = arena_alloc(arena, tables->names.n, sizeof *tables->delays);
    if (arena->failed)
        return error_memory(error);
    for (row_t i = 0; i < devices->n; i++) {
        ticks[i] = devices->stop[i] - devices->start[i];
        of[i] = tables->configurations.list[tables->configuration_of[i]].name;
        if (devices->call[i] == ROW_NONE)
            continue;
        of_delay[n_delays] = of[i];
        delays[n_delays++] = delay_of(tables->reading, i);
    }
    double per_us = tables->reading->ticks_per_us;
    uint32_t n_names = (uint32_t)tables->names.n;
    enum sutra_status status =
        describe_integers(engine, arena, of, ticks, devices->n, n_names, per_us, tables->durations, error);
    return status
               ? status
               : describe_integers(engine, arena, of_delay, delays, n_delays, n_names, per_us, tables->delays, error);
}

static enum sutra_status read_work(struct work_tables *tables, struct arena *arena, struct sutra_error *error) {
    static const struct requested_field field = {"device", ASK_INT, false};
    const struct launch_model *reading = tables->reading;
    enum sutra_status status = launch_configs_read(tables->input->context, reading, arena, &tables->launches, error);
    if (!status)
        status = group_work(tables, arena, error);
    if (!status)
        status = group_names(tables, error);
    if (status)
        return status;
    uint32_t n_names = (uint32_t)tables->names.n;
    row_t *events = arena_alloc(arena, tables->configurations.n, sizeof *events), n = 0;
    const char **names = arena_alloc(arena, n_names, sizeof *names);
    tables->shorts = arena_alloc(arena, n_names, sizeof *tables->shorts);
    if (arena->failed)
        return error_memory(error);

    /* request the device ids of configurations whose column does not contain them */
    tables->n_limits = device_limits_read(reading->trace, tables->limits);
    for (uint32_t c = 0; c < tables->configurations.n; c++) {
        row_t event = reading->devices.event[tables->configurations.list[c].first];
        if (reading->events->device[event] == DEVICE_OTHER)
            events[n++] = event;
    }
    if (n && (status = event_columns_request(tables->input->context, reading->trace, &field, 1, events, n,
                                             &tables->device, error)))
        return status;
    for (uint32_t g = 0; g < n_names; g++)
        names[g] =
            strings_text(reading->strings, reading->events->name[reading->devices.event[tables->names.list[g].first]]);
    short_names(names, n_names, NAME_WIDTH, tables->shorts);
    return describe_work(tables, arena, error);
}

/* ---- Rows ---- */

static void add_share(struct sutra_table *table, double part, double whole) {
    table_real(table, whole > 0 ? part / whole * 100 : (double)NAN);
}

static struct kernel_occupancy occupancy_at(const struct work_tables *tables, row_t event,
                                            const struct kernel_shape *shape) {
    uint16_t device = tables->reading->events->device[event];
    value_key id = device == DEVICE_OTHER    ? tables->device.key[event]
                   : device == DEVICE_ABSENT ? KEY_ABSENT
                                             : (value_key)device;
    for (size_t i = 0; i < tables->n_limits; i++)
        if (tables->limits[i].id == id)
            return occupancy_of(&tables->limits[i], shape);
    return (struct kernel_occupancy){NAN, NAN, NAN};
}

/* The launch's parameters: operator, stream, grid, block, registers, shared memory, occupancies, waves. */
static void add_configuration(const struct work_tables *from, const struct work_group *group,
                              struct sutra_table *table) {
    const struct launch_model *reading = from->reading;
    const struct launch_config *launch = &from->launches.list[from->launches.of[group->first]];
    row_t event = reading->devices.event[group->first], launcher = reading->devices.launcher[group->first];
    struct kernel_occupancy occupancy = occupancy_at(from, event, &launch->numbers);
    if (launcher == ROW_NONE)
        table_text(table, "", 0);
    else
        table_string(table, reading->strings, host_name(reading, launcher));
    op_table_stream(from->input, group->first, table);
    table_string(table, &from->launches.texts, launch->grid);
    table_string(table, &from->launches.texts, launch->block);
    table_real(table, launch->numbers.registers);
    table_real(table, launch->numbers.shared_memory);
    table_real(table, group->n_recorded ? group->recorded / group->n_recorded : (double)NAN);
    table_real(table, occupancy.occupied * 100);
    table_real(table, occupancy.limit * 100);
    table_real(table, occupancy.waves);
}

static void add_name(const struct work_tables *from, uint32_t g, struct sutra_table *table) {
    const struct launch_model *reading = from->reading;
    const struct work_group *group = &from->names.list[g];
    const struct description *durations = &from->durations[g], *delays = &from->delays[g];
    const char *class = class_names[reading->devices.class[group->first]];
    table_integer(table, from->input->options.rank);
    table_text(table, from->shorts[g].text, strlen(from->shorts[g].text));
    table_text(table, class, strlen(class));
    table_integer(table, group->n);
    table_real(table, (double)group->ticks / reading->ticks_per_us);
    add_share(table, (double)group->ticks, (double)from->input->device_ticks);
    table_real(table, durations->mean);
    table_real(table, durations->min);
    table_real(table, durations->q50);
    table_real(table, durations->max);
    add_share(table, group->n_short, group->n);
    table_real(table, delays->mean);
    table_real(table, delays->q50);
    table_integer(table, group->n_configurations);
    add_configuration(from, &from->configurations.list[group->main], table);
    table_string(table, reading->strings, reading->events->name[reading->devices.event[group->first]]);
}

static void add_configured(const struct work_tables *from, uint32_t c, struct sutra_table *table) {
    const struct launch_model *reading = from->reading;
    const struct work_group *group = &from->configurations.list[c];
    const struct shortened *name = &from->shorts[group->name];
    table_integer(table, from->input->options.rank);
    table_text(table, name->text, strlen(name->text));
    table_integer(table, group->n);
    table_real(table, (double)group->ticks / reading->ticks_per_us);
    add_share(table, (double)group->ticks, (double)from->input->device_ticks);
    table_real(table, (double)group->ticks / reading->ticks_per_us / group->n);
    table_real(table, group->n_delays ? (double)group->delays / reading->ticks_per_us / group->n_delays : (double)NAN);
    add_configuration(from, group, table);
}

static enum sutra_status add_groups(const struct work_tables *from, const struct work_groups *groups,
                                    void (*add)(const struct work_tables *from, uint32_t group,
                                                struct sutra_table *table),
                                    struct arena *arena, struct sutra_table *table, struct sutra_error *error) {
    uint32_t n = (uint32_t)groups->n;
    double *times = arena_alloc(arena, n, sizeof *times);
    uint32_t *order = arena_alloc(arena, n, sizeof *order);
    enum sutra_status status = arena_status(arena, error);
    for (uint32_t g = 0; g < n && !status; g++)
        times[g] = (double)groups->list[g].ticks;
    if (!status)
        status = op_groups_order(times, n, arena, order, error);
    for (uint32_t i = 0; i < n && !status; i++)
        add(from, order[i], table);
    return status;
}

/* ---- Histogram of durations ---- */

/* Bounds of bins are 1, 2 and 5 times powers of ten, in nanoseconds: bin b holds durations below bin_end(b). */
static int64_t bin_end(unsigned bin) {
    static const int64_t factors[] = {1, 2, 5};
    int64_t end = factors[bin % 3];
    for (unsigned i = 0; i < bin / 3; i++)
        end *= 10;
    return end;
}

#define N_BINS 54 /* up to 5e17 ns */

static void add_durations(const struct work_tables *from, struct sutra_table *table) {
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
        first = MIN(bin, first);
        last = MAX(bin, last);
    }
    for (unsigned bin = first; bin < N_BINS && bin <= last; bin++) {
        table_integer(table, from->input->options.rank);
        table_real(table, bin ? launch_model_us(from->reading, bin_end(bin - 1)) : 0);
        table_real(table, launch_model_us(from->reading, bin_end(bin)));
        table_integer(table, counts[bin]);
        add_share(table, counts[bin], devices->n);
        table_real(table, (double)ticks[bin] / from->reading->ticks_per_us);
        add_share(table, (double)ticks[bin], (double)from->input->device_ticks);
    }
}

/* ---- The tables ---- */

enum sutra_status operators_kernels(const struct op_input *input, struct arena *arena,
                                    struct sutra_operators *operators, struct sutra_error *error) {
    struct work_tables from = {.input = input, .reading = input->reading};
    struct arena_mark mark = arena_mark(arena);
    enum sutra_status status = read_work(&from, arena, error);
    if (!status)
        status = add_groups(&from, &from.names, add_name, arena,
                            result_table_begin(&operators->result, SUTRA_KERNELS_BY_NAME), error);
    if (!status)
        status = add_groups(&from, &from.configurations, add_configured, arena,
                            result_table_begin(&operators->result, SUTRA_KERNELS_BY_CONFIGURATION), error);
    if (!status)
        add_durations(&from, result_table_begin(&operators->result, SUTRA_KERNELS_DURATIONS));
    launch_configs_free(&from.launches);
    free(from.names.list);
    free(from.configurations.list);
    arena_release(arena, mark);
    return status;
}
