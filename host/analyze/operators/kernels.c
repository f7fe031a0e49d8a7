/*
 * kernels.c - our tables of kernels, memcpys and memsets: by name, by name and configuration, and their durations;
 * communication by library, collective, phase and group; hardware counters by kernel and step.
 *
 * A configuration is the launch's parameters: operator, stream, grid, block, registers, shared memory. The table by
 * name shows the name's configuration with the most time.
 *
 *     row       [===]  [======]        the union of the kernels of a row of communication
 *     compute     [=====]              less the union of all computation
 *     exposed   |-|     |-----|
 *
 *     samples (ph "C") --device, time--> the kernel that runs alone, the step --> rows: samples, mean, min, max
 *
 * Cost: O(n log n); arguments are only read of communication kernels, samples and one kernel of each configuration.
 */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "analyze/launches/arguments.h"
#include "analyze/operators/operators.h"
#include "analyze/statistics.h"
#include "base/error.h"
#include "base/shared.h"
#include "columns/column.h"
#include "facts/kernel_class.h"
#include "facts/names.h"
#include "facts/times.h"
#include "match/key_index.h"
#include "match/steps.h"
#include "read/document.h"
#include "read/event_columns.h"
#include "text/names.h"

/* Kernels below it are short: launching them takes about as long. */
#define SHORT_US 10

/* Columns of a name in a table. */
#define NAME_WIDTH 80

static const char *const class_names[] = {"compute", "communication", "copy"};

/* GPU activity of one configuration, or of one name and class. */
struct activity_group {
    row_t n, n_short, n_delays;
    wide_t ticks, delays; /* durations; from the ends of calls to the starts */
    double recorded;      /* total of recorded occupancies */
    row_t n_recorded;
    row_t first;               /* row of devices */
    uint32_t name;             /* of a configuration: its name's group */
    uint32_t main;             /* of a name: its configuration with the most time */
    uint32_t n_configurations; /* of a name */
};

struct activity_groups {
    uint64_t n, capacity;
    struct activity_group *list;
};

struct kernels_run {
    const struct op_input *input;
    const struct launch_model *model;
    struct launch_configs launches;
    struct device_limits limits[MAX_DEVICES];
    size_t n_limits;
    struct requested_column limits_of; /* "limitingFactors" of the first activity of each configuration */
    struct requested_column device;    /* ids of devices that the events' column does not contain */
    struct activity_groups names, configurations;
    uint32_t *configuration_of;             /* by row of devices */
    struct description *durations, *delays; /* of each name */
    struct shortened *shorts;               /* of each name */
};

/* ---- Reading ---- */

/* The group of a key; NULL: out of memory. */
static struct activity_group *group_at(struct tuples *keys, struct tuple key, struct activity_groups *groups) {
    uint32_t number = tuples_number(keys, key);
    if (number == TUPLE_NONE || !column_grow(&groups->list, groups->n, &groups->capacity, sizeof *groups->list))
        return NULL;
    if (number == groups->n)
        groups->list[groups->n++] = (struct activity_group){0};
    return &groups->list[number];
}

/* Whether the call is known, by the same clock. */
static bool has_delay(const struct launch_model *model, row_t device) {
    return model->devices.call[device] != ROW_NONE && !validity_has_device_clock(model->trace->validity);
}

/* From the end of the call to the start of the GPU activity. */
static int64_t delay_of(const struct launch_model *model, row_t device) {
    return model->devices.start[device] - model->hosts.stop[model->devices.call[device]];
}

/* Groups by all parameters of the launch. */
static enum sutra_status group_activities(struct kernels_run *tables, struct arena *arena, struct sutra_error *error) {
    const struct launch_model *model = tables->model;
    const struct device_rows *devices = &model->devices;
    struct tuples keys = {0};
    tables->configuration_of = arena_alloc(arena, devices->n, sizeof *tables->configuration_of);
    bool ok = !arena->failed;
    for (row_t i = 0; i < devices->n && ok; i++) {
        row_t event = devices->event[i], launcher = devices->launcher[i];
        int64_t ticks = devices->stop[i] - devices->start[i];
        const struct launch_config *launch = &tables->launches.list[tables->launches.of[i]];
        int64_t shape = launch->shape;
        const struct tuple key = {{model->events->name[event],
                                   launcher == ROW_NONE ? STRING_NONE : host_name(model, launcher),
                                   model->events->stream[event], shape * DEVICE_N_CLASSES + devices->class[i]}};
        struct activity_group *group = group_at(&keys, key, &tables->configurations);
        ok = group;
        if (!ok)
            break;
        tables->configuration_of[i] = (uint32_t)(group - tables->configurations.list);
        if (group->n == 0)
            group->first = i;
        group->n++;
        group->ticks += ticks;
        group->n_short += launch_model_us(model, ticks) < SHORT_US;
        if (has_delay(model, i)) {
            group->delays += delay_of(model, i);
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
static enum sutra_status group_names(struct kernels_run *tables, struct sutra_error *error) {
    const struct launch_model *model = tables->model;
    struct activity_group *list = tables->configurations.list;
    struct tuples keys = {0};
    bool ok = true;
    for (uint32_t c = 0; c < tables->configurations.n && ok; c++) {
        row_t device = list[c].first;
        const struct tuple key = {
            {model->events->name[model->devices.event[device]], model->devices.class[device], 0, 0}};
        struct activity_group *name = group_at(&keys, key, &tables->names);
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
static enum sutra_status describe_activities(struct kernels_run *tables, struct arena *arena,
                                             struct sutra_error *error) {
    const struct device_rows *devices = &tables->model->devices;
    const struct engine *engine = &tables->input->context->engine;
    int64_t *ticks = arena_alloc(arena, devices->n, sizeof *ticks),
            *delays = arena_alloc(arena, devices->n, sizeof *delays);
    uint32_t *of = arena_alloc(arena, devices->n, sizeof *of);
    uint32_t *of_delay = arena_alloc(arena, devices->n, sizeof *of_delay);
    row_t n_delays = 0;
    tables->durations = arena_alloc(arena, tables->names.n, sizeof *tables->durations);
    tables->delays = arena_alloc(arena, tables->names.n, sizeof *tables->delays);
    TRY(arena_status(arena, error));
    for (row_t i = 0; i < devices->n; i++) {
        ticks[i] = devices->stop[i] - devices->start[i];
        of[i] = tables->configurations.list[tables->configuration_of[i]].name;
        if (!has_delay(tables->model, i))
            continue;
        of_delay[n_delays] = of[i];
        delays[n_delays++] = delay_of(tables->model, i);
    }
    double per_us = tables->model->ticks_per_us;
    uint32_t n_names = (uint32_t)tables->names.n;
    TRY(describe_integers(engine, arena, of, ticks, devices->n, n_names, per_us, tables->durations, error));
    return describe_integers(engine, arena, of_delay, delays, n_delays, n_names, per_us, tables->delays, error);
}

static enum sutra_status read_activities(struct kernels_run *tables, struct arena *arena, struct sutra_error *error) {
    static const struct requested_field field = {"device", ASK_INT, false},
                                        limiting = {"limitingFactors", ASK_STRING, false};
    const struct launch_model *model = tables->model;
    TRY(launch_configs_read(tables->input->context, model, arena, &tables->launches, error));
    TRY(group_activities(tables, arena, error));
    TRY(group_names(tables, error));
    uint32_t n_names = (uint32_t)tables->names.n;
    row_t *events = arena_alloc(arena, tables->configurations.n, sizeof *events), n = 0;
    const char **names = arena_alloc(arena, n_names, sizeof *names);
    tables->shorts = arena_alloc(arena, n_names, sizeof *tables->shorts);
    TRY(arena_status(arena, error));

    /* request what limits the occupancy of each configuration */
    for (uint32_t c = 0; c < tables->configurations.n; c++)
        events[n++] = model->devices.event[tables->configurations.list[c].first];
    if (n)
        TRY(event_columns_request(tables->input->context, model->trace, &limiting, 1, events, n, &tables->limits_of,
                                  error));
    n = 0;

    /* request the device ids of configurations whose column does not contain them */
    tables->n_limits = device_limits_read(model->trace, tables->limits);
    for (uint32_t c = 0; c < tables->configurations.n; c++) {
        row_t event = model->devices.event[tables->configurations.list[c].first];
        if (model->events->device[event] == DEVICE_OTHER)
            events[n++] = event;
    }
    if (n)
        TRY(event_columns_request(tables->input->context, model->trace, &field, 1, events, n, &tables->device, error));
    for (uint32_t g = 0; g < n_names; g++)
        names[g] = strings_text(model->strings, model->events->name[model->devices.event[tables->names.list[g].first]]);
    short_names(names, n_names, NAME_WIDTH, tables->shorts);
    return describe_activities(tables, arena, error);
}

/* ---- Rows ---- */

static void add_share(struct sutra_table *table, double part, double whole) {
    table_real(table, whole > 0 ? part / whole * 100 : (double)NAN);
}

static struct kernel_occupancy occupancy_at(const struct kernels_run *tables, row_t event,
                                            const struct kernel_shape *shape) {
    uint16_t device = tables->model->events->device[event];
    value_key id = device == DEVICE_OTHER    ? tables->device.key[event]
                   : device == DEVICE_ABSENT ? KEY_ABSENT
                                             : (value_key)device;
    for (size_t i = 0; i < tables->n_limits; i++)
        if (tables->limits[i].id == id)
            return occupancy_of(&tables->limits[i], shape);
    return (struct kernel_occupancy){NAN, NAN, NAN};
}

/* The launch's parameters: operator, stream, grid, block, registers, shared memory, occupancies, waves. */
static void add_configuration(const struct kernels_run *from, const struct activity_group *group,
                              struct sutra_table *table) {
    const struct launch_model *model = from->model;
    const struct launch_config *launch = &from->launches.list[from->launches.of[group->first]];
    row_t event = model->devices.event[group->first], launcher = model->devices.launcher[group->first];
    struct kernel_occupancy occupancy = occupancy_at(from, event, &launch->numbers);
    if (launcher == ROW_NONE)
        table_text(table, "", 0);
    else
        table_string(table, model->strings, host_name(model, launcher));
    table_stream(from->input->context, model, group->first, table);
    table_string(table, &from->launches.texts, launch->grid);
    table_string(table, &from->launches.texts, launch->block);
    TABLE_REALS(table, launch->numbers.registers, launch->numbers.shared_memory,
                group->n_recorded ? group->recorded / group->n_recorded : (double)NAN, occupancy.occupied * 100,
                occupancy.limit * 100, occupancy.waves);
    const struct strings *texts = event_columns_strings(model->trace);
    uint32_t limits = from->limits_of.string[event];
    table_words(table, limits == STRING_NONE ? "" : strings_text(texts, limits));
}

static void add_name(const struct kernels_run *from, uint32_t g, struct sutra_table *table) {
    const struct launch_model *model = from->model;
    const struct activity_group *group = &from->names.list[g];
    const struct description *durations = &from->durations[g], *delays = &from->delays[g];
    const char *class = class_names[model->devices.class[group->first]];
    table_integer(table, from->input->options.rank);
    table_text(table, from->shorts[g].text, strlen(from->shorts[g].text));
    table_text(table, class, strlen(class));
    table_integer(table, group->n);
    table_real(table, (double)group->ticks / model->ticks_per_us);
    add_share(table, (double)group->ticks, (double)from->input->device_ticks);
    TABLE_REALS(table, durations->mean, durations->min, durations->q50, durations->max);
    add_share(table, group->n_short, group->n);
    table_real(table, delays->mean);
    table_real(table, delays->q50);
    table_integer(table, group->n_configurations);
    add_configuration(from, &from->configurations.list[group->main], table);
    table_string(table, model->strings, model->events->name[model->devices.event[group->first]]);
}

static void add_configured(const struct kernels_run *from, uint32_t c, struct sutra_table *table) {
    const struct launch_model *model = from->model;
    const struct activity_group *group = &from->configurations.list[c];
    const struct shortened *name = &from->shorts[group->name];
    table_integer(table, from->input->options.rank);
    table_text(table, name->text, strlen(name->text));
    table_integer(table, group->n);
    table_real(table, (double)group->ticks / model->ticks_per_us);
    add_share(table, (double)group->ticks, (double)from->input->device_ticks);
    table_real(table, (double)group->ticks / model->ticks_per_us / group->n);
    table_real(table, group->n_delays ? (double)group->delays / model->ticks_per_us / group->n_delays : (double)NAN);
    add_configuration(from, group, table);
}

static enum sutra_status add_groups(const struct kernels_run *from, const struct activity_groups *groups,
                                    void (*add)(const struct kernels_run *from, uint32_t group,
                                                struct sutra_table *table),
                                    struct arena *arena, struct sutra_table *table, struct sutra_error *error) {
    uint32_t n = (uint32_t)groups->n;
    double *times = arena_alloc(arena, n, sizeof *times);
    uint32_t *order = arena_alloc(arena, n, sizeof *order);
    TRY(arena_status(arena, error));
    for (uint32_t g = 0; g < n; g++)
        times[g] = (double)groups->list[g].ticks;
    TRY(row_groups_order(times, n, arena, order, error));
    for (uint32_t i = 0; i < n; i++)
        add(from, order[i], table);
    return SUTRA_OK;
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

static void add_durations(const struct kernels_run *from, struct sutra_table *table) {
    const struct device_rows *devices = &from->model->devices;
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
        table_real(table, bin ? launch_model_us(from->model, bin_end(bin - 1)) : 0);
        table_real(table, launch_model_us(from->model, bin_end(bin)));
        table_integer(table, counts[bin]);
        add_share(table, counts[bin], devices->n);
        table_real(table, (double)ticks[bin] / from->model->ticks_per_us);
        add_share(table, (double)ticks[bin], (double)from->input->device_ticks);
    }
}

/* ---- The tables ---- */

enum sutra_status operators_kernels(const struct op_input *input, struct arena *arena,
                                    struct sutra_operators *operators, struct sutra_error *error) {
    struct kernels_run from = {.input = input, .model = input->model};
    struct arena_mark mark = arena_mark(arena);
    enum sutra_status status = read_activities(&from, arena, error);
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

/* ---- Communication ---- */

/* Disjoint intervals by start, and their total length before each. */
struct busy_union {
    row_t n;
    int64_t *start, *end, *before;
};

static enum sutra_status find_compute_union(const struct launch_model *model, struct arena *arena,
                                            struct busy_union *busy, struct sutra_error *error) {
    const struct device_rows *devices = &model->devices;
    *busy = (struct busy_union){.start = arena_alloc(arena, devices->n, sizeof(int64_t)),
                                .end = arena_alloc(arena, devices->n, sizeof(int64_t)),
                                .before = arena_alloc(arena, devices->n, sizeof(int64_t))};
    TRY(arena_status(arena, error));
    int64_t sum = 0;
    for (row_t k = 0; k < devices->n; k++) {
        row_t i = devices->by_start[k];
        if (devices->class[i] != DEVICE_COMPUTE)
            continue;
        if (busy->n && devices->start[i] <= busy->end[busy->n - 1]) {
            busy->end[busy->n - 1] = MAX(busy->end[busy->n - 1], devices->stop[i]);
            continue;
        }
        sum += busy->n ? busy->end[busy->n - 1] - busy->start[busy->n - 1] : 0;
        busy->before[busy->n] = sum;
        busy->start[busy->n] = devices->start[i];
        busy->end[busy->n++] = devices->stop[i];
    }
    return SUTRA_OK;
}

/* The length of the union before a moment. O(log n). */
static int64_t busy_until(const struct busy_union *busy, int64_t moment) {
    row_t n = count_up_to(busy->start, busy->n, moment);
    return n ? busy->before[n - 1] + MIN(busy->end[n - 1], moment) - busy->start[n - 1] : 0;
}

/* The union of activities, which ascend by start, less the union of computation. */
static int64_t exposed_of(const struct launch_model *model, const struct busy_union *compute, const row_t *devices,
                          row_t n) {
    int64_t exposed = 0, last_end = INT64_MIN;
    for (row_t k = 0; k < n; k++) {
        int64_t start = MAX(model->devices.start[devices[k]], last_end), stop = model->devices.stop[devices[k]];
        if (stop <= start)
            continue;
        exposed += stop - start - (busy_until(compute, stop) - busy_until(compute, start));
        last_end = stop;
    }
    return exposed;
}

static bool is_empty_text(const struct strings *strings, uint32_t string) {
    return string == STRING_NONE || strings_length(strings, string) == 0;
}

/* The process group of each kernel, as a string of event_columns_strings(): recorded with the kernel, or else with the
 * record_param_comms event that encloses its call; STRING_NONE. */
static enum sutra_status find_groups(const struct op_input *input, const row_t *devices, row_t n, struct arena *arena,
                                     const uint32_t *of_event, uint32_t *groups, struct sutra_error *error) {
    static const struct requested_field field = {"Process Group Name", ASK_STRING, false};
    const struct launch_model *model = input->model;
    const struct host_rows *hosts = &model->hosts;
    const struct strings *texts = event_columns_strings(model->trace);
    uint32_t name = strings_find(model->strings, COMMS_NAME, strlen(COMMS_NAME));
    row_t n_lacking = 0;
    for (row_t k = 0; k < n; k++) {
        groups[k] = of_event[model->devices.event[devices[k]]];
        groups[k] = is_empty_text(texts, groups[k]) ? STRING_NONE : groups[k];
        n_lacking += groups[k] == STRING_NONE && model->devices.call[devices[k]] != ROW_NONE;
    }
    if (name == STRING_NONE || n_lacking == 0)
        return SUTRA_OK;
    uint8_t *marked = arena_alloc(arena, hosts->n, 1);
    row_t *around = arena_alloc(arena, hosts->n, sizeof *around), *events = arena_alloc(arena, n, sizeof *events);
    struct requested_column column;
    TRY(arena_status(arena, error));
    for (row_t row = 0; row < hosts->n; row++)
        marked[row] = hosts->name[row] == name && hosts->kind[row] == HOST_OPERATOR;
    TRY(find_marked_ancestors(model, marked, arena, around, error));
    for (row_t k = 0; k < n; k++) {
        row_t call = model->devices.call[devices[k]];
        row_t row = groups[k] == STRING_NONE && call != ROW_NONE ? around[call] : ROW_NONE;
        events[k] = row == ROW_NONE ? ROW_NONE : hosts->event[row];
    }
    TRY(event_columns_request(input->context, model->trace, &field, 1, events, n, &column, error));
    for (row_t k = 0; k < n; k++)
        if (events[k] != ROW_NONE && !is_empty_text(texts, column.string[events[k]]))
            groups[k] = column.string[events[k]];
    return SUTRA_OK;
}

/* Parts of the key of a row. */
enum { KEY_KIND, KEY_GROUP };

enum sutra_status operators_communication(const struct op_input *input, struct arena *arena,
                                          struct sutra_operators *operators, struct sutra_error *error) {
    static const struct requested_field fields[] = {{"Collective name", ASK_STRING, false},
                                                    {"Process Group Name", ASK_STRING, false}};
    const struct launch_model *model = input->model;
    const struct device_rows *devices = &model->devices;
    struct sutra_table *table = result_table_begin(&operators->result, SUTRA_OPERATORS_COMMUNICATION);
    struct arena_mark mark = arena_mark(arena);
    row_t n = 0, *list = arena_alloc(arena, devices->n, sizeof *list);
    TRY(arena_status(arena, error));
    for (row_t k = 0; k < devices->n; k++)
        if (devices->class[devices->by_start[k]] == DEVICE_COMMUNICATION)
            list[n++] = devices->by_start[k];
    row_t *events = arena_alloc(arena, n, sizeof *events);
    uint32_t *groups_of = arena_alloc(arena, n, sizeof *groups_of);
    struct tuple *keys = arena_zeros(arena, n, sizeof *keys);
    struct requested_column columns[2];
    struct busy_union compute;
    TRY(arena_status(arena, error));
    for (row_t k = 0; k < n; k++)
        events[k] = devices->event[list[k]];
    if (n) {
        TRY(event_columns_request(input->context, model->trace, fields, 2, events, n, columns, error));
        TRY(find_groups(input, list, n, arena, columns[1].string, groups_of, error));
    }
    TRY(find_compute_union(model, arena, &compute, error));

    /* Group by library, collective, phase, fused and process group. */
    const struct strings *texts = event_columns_strings(model->trace);
    for (row_t k = 0; k < n; k++) {
        uint8_t kind = devices->kind[list[k]];
        uint32_t name = model->events->name[events[k]], recorded = columns[0].string[events[k]];
        enum kernel_collective collective =
            kernel_collective_find(kind, recorded == STRING_NONE ? "" : strings_text(texts, recorded),
                                   strings_text(model->strings, name), strings_length(model->strings, name));
        const struct kernel_kind *of = &kernel_kinds[kind];
        keys[k].part[KEY_KIND] = (value_key)((unsigned)of->library << 24 | (unsigned)collective << 16 |
                                             (unsigned)of->phase << 8 | (unsigned)of->fused);
        keys[k].part[KEY_GROUP] = groups_of[k];
    }
    struct row_groups groups;
    TRY(row_groups_make(keys, n, arena, &groups, error));
    double *device_ticks = arena_zeros(arena, groups.n, sizeof *device_ticks);
    uint32_t *order = arena_alloc(arena, groups.n, sizeof *order);
    row_t *members = arena_alloc(arena, n, sizeof *members);
    TRY(arena_status(arena, error));
    for (row_t k = 0; k < n; k++)
        device_ticks[groups.of[k]] += (double)(devices->stop[list[k]] - devices->start[list[k]]);
    TRY(row_groups_order(device_ticks, groups.n, arena, order, error));
    for (uint32_t i = 0; i < groups.n; i++) {
        uint32_t g = order[i];
        row_t first = groups.first[g], n_kernels = groups.first[g + 1] - first;
        const struct tuple *key = &keys[groups.member[first]];
        uint32_t kind = (uint32_t)key->part[KEY_KIND], group = (uint32_t)key->part[KEY_GROUP];
        for (row_t k = 0; k < n_kernels; k++)
            members[k] = list[groups.member[first + k]];
        table_integer(table, input->options.rank);
        table_words(table, kernel_library_names[kind >> 24]);
        table_words(table, kernel_collective_names[kind >> 16 & 0xff]);
        table_words(table, kernel_phase_names[kind >> 8 & 0xff]);
        if (group == STRING_NONE)
            table_words(table, "");
        else
            table_string(table, texts, group);
        table_integer(table, kind & 0xff);
        table_integer(table, n_kernels);
        table_real(table, device_ticks[g] / model->ticks_per_us);
        table_real(table, launch_model_us(model, exposed_of(model, &compute, members, n_kernels)));
    }
    arena_release(arena, mark);
    return SUTRA_OK;
}

/* ---- Counters ---- */

/* Kernels of all devices, by device and start, and by device and end. The sum of the rows that have begun less the sum
 * of the rows that have ended is the row of a kernel that runs alone. */
struct kernel_bounds {
    row_t n;
    struct kernel_bound {
        value_key device;
        int64_t moment;
        row_t row;
    } * starts, *ends;
    uint64_t *started, *ended; /* sums of rows before each */
};

ORDER_BY(compare_bounds, struct kernel_bound, ASCENDING(device) ASCENDING(moment) ASCENDING(row))

static bool find_kernel_bounds(const struct launch_model *model, struct arena *arena, struct kernel_bounds *bounds) {
    const struct device_rows *devices = &model->devices;
    *bounds = (struct kernel_bounds){.starts = arena_alloc(arena, devices->n, sizeof *bounds->starts),
                                     .ends = arena_alloc(arena, devices->n, sizeof *bounds->ends),
                                     .started = arena_alloc(arena, (size_t)devices->n + 1, sizeof *bounds->started),
                                     .ended = arena_alloc(arena, (size_t)devices->n + 1, sizeof *bounds->ended)};
    if (arena->failed)
        return false;
    for (row_t i = 0; i < devices->n; i++) {
        row_t event = devices->event[i];
        uint16_t device = model->events->device[event];
        value_key key = device < DEVICE_ABSENT ? (value_key)device : model->events->pid[event];
        if (!(category_roles(model->events, model->roles, event) & CATEGORY_KERNEL))
            continue;
        bounds->starts[bounds->n] = (struct kernel_bound){key, devices->start[i], i};
        bounds->ends[bounds->n++] = (struct kernel_bound){key, devices->stop[i], i};
    }
    qsort(bounds->starts, bounds->n, sizeof *bounds->starts, compare_bounds);
    qsort(bounds->ends, bounds->n, sizeof *bounds->ends, compare_bounds);
    bounds->started[0] = bounds->ended[0] = 0;
    for (row_t i = 0; i < bounds->n; i++) {
        bounds->started[i + 1] = bounds->started[i] + bounds->starts[i].row;
        bounds->ended[i + 1] = bounds->ended[i] + bounds->ends[i].row;
    }
    return true;
}

/* The number of bounds of lower devices, or of this device up to a moment. */
static row_t count_bounds(const struct kernel_bound *list, row_t n, value_key device, int64_t moment) {
    struct bisection search = {0, n};
    while (search.low < search.high) {
        const struct kernel_bound *at = &list[bisect_middle(search)];
        bisect(&search, at->device < device || (at->device == device && at->moment <= moment));
    }
    return search.low;
}

/* The kernel that alone runs on a device at a moment, or ROW_NONE. O(log n). */
static row_t kernel_alone(const struct kernel_bounds *bounds, value_key device, int64_t moment) {
    row_t started = count_bounds(bounds->starts, bounds->n, device, moment);
    row_t ended = count_bounds(bounds->ends, bounds->n, device, moment);
    if (started != ended + 1) /* kernels of lower devices have all ended */
        return ROW_NONE;
    return (row_t)(bounds->started[started] - bounds->ended[ended]);
}

/* The device of a sample: n of a pid "GPU n Counters", else the pid. */
static value_key device_of_sample(const struct op_input *input, row_t event) {
    value_key pid = input->model->events->pid[event];
    char number[NUMBER_TEXT_MAX], digits[NUMBER_TEXT_MAX];
    size_t length, n = 0;
    int64_t device;
    if (!key_is_value(pid) || key_is_integer(pid))
        return pid;
    const char *text = values_text(&input->context->values, pid, number, &length);
    if (length < 4 || memcmp(text, "GPU ", 4) != 0)
        return pid;
    for (size_t i = 4; i < length && n < sizeof digits - 1 && is_digit(text[i]); i++)
        digits[n++] = text[i];
    return n && integer_parse(digits, n, &device) ? device : pid;
}

struct counter_sum {
    uint64_t n;
    double sum, min, max;
};

struct counter_run {
    const struct op_input *input;
    struct strings names;
    struct tuples keys; /* device, counter, string of the kernel or -1, index of the step or -1 */
    struct counter_sum *sums;
    uint64_t n, capacity;
};

static bool add_sample(struct counter_run *run, struct tuple key, double value) {
    uint32_t number = tuples_number(&run->keys, key);
    if (number == TUPLE_NONE || !column_grow(&run->sums, run->n, &run->capacity, sizeof *run->sums))
        return false;
    if (number == run->n)
        run->sums[run->n++] = (struct counter_sum){.min = value, .max = value};
    struct counter_sum *sum = &run->sums[number];
    sum->n++;
    sum->sum += value;
    sum->min = fmin(value, sum->min);
    sum->max = fmax(value, sum->max);
    return true;
}

/* Adds each member of a sample's "args"; a member without a name is the counter that the event names. */
static bool add_samples(struct counter_run *run, row_t event, row_t kernel, value_key step) {
    const struct launch_model *model = run->input->model;
    const struct document *document = &model->trace->document;
    struct field_reader reader = {.source = &document->source, .values = &run->input->context->values};
    struct json_span args = document_member_of(document, model->events->text[event], "args");
    if (!args.at || document->source.bytes[args.at] != '{')
        return true;
    bool ok = true;
    value_key device = device_of_sample(run->input, event);
    uint32_t event_name = model->events->name[event];
    struct json_walker walker = walk_from(&document->source, args.at);
    for (bool more = walk_object(&walker); more && ok; more = walk_member_end(&walker)) {
        struct json_span key = walk_key(&walker), value = walk_value(&walker);
        struct number number;
        size_t length;
        const char *name = field_string(&reader, key, &length);
        if (!field_time(document->source.bytes + value.at, &number))
            continue;
        uint32_t counter = length ? strings_intern(&run->names, name, length)
                                  : strings_intern(&run->names, strings_text(model->strings, event_name),
                                                   strings_length(model->strings, event_name));
        double real = number_as_double(number);
        ok = counter != STRING_NONE && add_sample(run, (struct tuple){{device, counter, -1, -1}}, real);
        if (ok && kernel != ROW_NONE)
            ok = add_sample(
                run, (struct tuple){{device, counter, model->events->name[model->devices.event[kernel]], -1}}, real);
        if (ok && step >= 0)
            ok = add_sample(run, (struct tuple){{device, counter, -1, step}}, real);
    }
    ok = ok && !reader.failed;
    buffer_free(&reader.scratch);
    return ok;
}

static void add_counter_row(const struct counter_run *run, const struct profiler_steps *steps, uint32_t i,
                            struct sutra_table *table) {
    const struct launch_model *model = run->input->model;
    const value_key *key = run->keys.list[i].part;
    const struct counter_sum *sum = &run->sums[i];
    char number[NUMBER_TEXT_MAX];
    size_t length = 0;
    const char *device = key_is_value(key[0]) ? values_text(&run->input->context->values, key[0], number, &length) : "";
    table_integer(table, run->input->options.rank);
    table_text(table, device, length);
    table_string(table, &run->names, (uint32_t)key[1]);
    if (key[2] < 0)
        table_words(table, "");
    else
        table_string(table, model->strings, (uint32_t)key[2]);
    if (key[3] < 0)
        table_words(table, "");
    else
        table_string(table, model->strings, host_name(model, steps->row[key[3]]));
    table_integer(table, (int64_t)sum->n);
    TABLE_REALS(table, sum->sum / (double)sum->n, sum->min, sum->max);
}

enum sutra_status operators_counters(const struct op_input *input, struct arena *arena,
                                     struct sutra_operators *operators, struct sutra_error *error) {
    static const char *const categories[] = {"hardware_counters", "mtia_counters", "xpu_scope_profiler"};
    const struct launch_model *model = input->model;
    const struct device_events *events = model->events;
    struct sutra_table *table = result_table_begin(&operators->result, SUTRA_OPERATORS_COUNTERS);
    struct arena_mark mark = arena_mark(arena);
    struct string_roles *roles = arena_zeros(arena, model->strings->n, sizeof *roles);
    bool any = false;
    TRY_ALLOC(roles, error);
    for (uint32_t string = 0; string < model->strings->n; string++)
        for (size_t i = 0; i < sizeof categories / sizeof *categories; i++)
            if (strings_length(model->strings, string) == strlen(categories[i]) &&
                text_compare(model->strings, string, TEXT_HAS_IN_ANY_CASE, categories[i]))
                roles[string].category = any = true;
    if (!any) {
        arena_release(arena, mark);
        return SUTRA_OK;
    }
    const struct step_rows rows = host_step_rows(model, ~(1u << HOST_CALL));
    struct counter_run run = {.input = input};
    struct profiler_steps steps = {0};
    struct kernel_bounds bounds;
    struct exact_times times = {0};
    bool ok = strings_init(&run.names) && find_kernel_bounds(model, arena, &bounds) &&
              profiler_steps_find(&rows, STEPS_OVERVIEW, arena, &steps);
    int64_t *step_start = ok ? arena_alloc(arena, steps.n, sizeof *step_start) : NULL;
    ok = ok && step_start;
    enum sutra_status status =
        ok ? exact_times_find(input->context, model->trace, roles, arena, &times, error) : error_memory(error);
    for (row_t i = 0; i < steps.n && !status; i++)
        step_start[i] = model->hosts.start[steps.row[i]];
    for (row_t event = 0; event < events->n && !status; event++) {
        if (events->phase[event] != 'C' || !category_roles(events, roles, event) || !exact_time_is_known(events, event))
            continue;
        int64_t moment = exact_start_ns(model->trace, &times, event);
        row_t n = count_up_to(step_start, steps.n, moment);
        bool in_step = n && model->hosts.stop[steps.row[n - 1]] > moment;
        if (!launch_model_includes(model, moment))
            continue;
        if (!add_samples(&run, event, kernel_alone(&bounds, device_of_sample(input, event), moment),
                         in_step ? (value_key)n - 1 : -1))
            status = error_memory(error);
    }
    /* All samples of each counter, then by kernel, then by step. */
    for (int part = 0; part < 3 && !status; part++)
        for (uint32_t i = 0; i < run.n; i++) {
            const value_key *key = run.keys.list[i].part;
            if ((part == 1) == (key[2] >= 0) && (part == 2) == (key[3] >= 0))
                add_counter_row(&run, &steps, i, table);
        }
    strings_free(&run.names);
    tuples_free(&run.keys);
    free(run.sums);
    arena_release(arena, mark);
    return status;
}
