/*
 * restrict.c - tables of a part of the work only: of a step, a stretch of time, names, a stream, a category.
 *
 * All of the trace is read and charged, then what was not asked for is taken away, and what is left is charged anew. So
 * an operator that began before the stretch still has the work that was launched in it. Work belongs to the moment at
 * which its call begins, else to that of its own start. O(work), beside charging.
 */
#include <strings.h>

#include "analyze/operators/operators.h"
#include "base/error.h"
#include "facts/stretch.h"

/* The moment that decides about a piece of work. */
static int64_t moment_of(const struct op_reading *reading, row_t device) {
    row_t call = reading->devices.call[device];
    return call == ROW_NONE ? reading->devices.start[device] : reading->hosts.start[call];
}

/* The first start of all. */
static int64_t first_start(const struct op_reading *reading) {
    int64_t first = INT64_MAX;
    for (row_t row = 0; row < reading->hosts.n; row++)
        first = reading->hosts.start[row] < first ? reading->hosts.start[row] : first;
    for (row_t i = 0; i < reading->devices.n; i++)
        first = reading->devices.start[i] < first ? reading->devices.start[i] : first;
    return first == INT64_MAX ? 0 : first;
}

static enum sutra_status find_stretch(struct op_reading *reading, const struct stretch_wish *wish,
                                      struct sutra_error *error) {
    struct time_stretch stretch = stretch_of_all();
    for (row_t row = 0; row < reading->hosts.n && wish->steps; row++)
        if (reading->hosts.kind[row] == HOST_ANNOTATION &&
            stretch_is_step(reading->strings, host_name(reading, row), wish))
            stretch_add_step(&stretch, reading->hosts.start[row], reading->hosts.stop[row]);
    enum sutra_status status = stretch_settle(&stretch, wish, first_start(reading), error);
    if (!status) {
        reading->from = stretch.from;
        reading->to = stretch.to;
    }
    return status;
}

static bool name_fits(const struct op_reading *reading, const char *text, row_t device) {
    row_t launcher = reading->devices.launcher[device];
    return text_compare(reading->strings, reading->events->name[reading->devices.event[device]], TEXT_HAS, text) ||
           (launcher != ROW_NONE && text_compare(reading->strings, host_name(reading, launcher), TEXT_HAS, text));
}

static bool stream_fits(const struct op_input *input, const char *text, row_t device) {
    value_key stream = input->reading->events->stream[input->reading->devices.event[device]];
    char room[NUMBER_TEXT_MAX];
    size_t length;
    if (!key_is_value(stream))
        return false;
    const char *is = values_text(&input->context->values, stream, room, &length);
    return length == strlen(text) && memcmp(is, text, length) == 0;
}

static bool category_fits(const struct op_input *input, const char *text, row_t device) {
    row_t launcher = input->reading->devices.launcher[device];
    if (launcher == ROW_NONE)
        return false;
    return strcasecmp(op_category_names[input->categories[input->reading->charges.of_host[launcher]]], text) == 0;
}

static bool is_kept(const struct op_input *input, row_t device) {
    const struct sutra_operators_options *options = &input->options;
    return op_is_inside(input->reading, moment_of(input->reading, device)) &&
           (!options->name || name_fits(input->reading, options->name, device)) &&
           (!options->stream || stream_fits(input, options->stream, device)) &&
           (!options->category || category_fits(input, options->category, device));
}

static bool is_category(const char *name) {
    for (int category = 0; category < OP_N_CATEGORIES; category++)
        if (strcasecmp(op_category_names[category], name) == 0)
            return true;
    return false;
}

enum sutra_status op_restrict(const struct op_input *input, struct op_reading *reading, struct arena *arena,
                              struct arena *scratch, struct sutra_error *error) {
    const struct sutra_operators_options *options = &input->options;
    struct device_rows *devices = &reading->devices;
    row_t n = 0;
    const struct stretch_wish wish = {options->step, options->from_us, options->to_us};
    if (!stretch_is_wanted(&wish) && !options->name && !options->stream && !options->category)
        return SUTRA_OK;
    if (options->category && !is_category(options->category))
        return error_set(error, SUTRA_USAGE, "no category of operators is called %.100s", options->category);
    enum sutra_status status = find_stretch(reading, &wish, error);
    for (row_t i = 0; i < devices->n && !status; i++) {
        if (!is_kept(input, i))
            continue;
        devices->event[n] = devices->event[i];
        devices->start[n] = devices->start[i];
        devices->stop[n] = devices->stop[i];
        devices->class[n] = devices->class[i];
        devices->call[n] = devices->call[i];
        devices->launcher[n++] = ROW_NONE;
    }
    devices->n = n;
    if (!status)
        status = device_rows_sort(devices, scratch, error);
    if (!status)
        status = call_links_order(reading, arena, error);
    return status ? status : op_charges_make(reading, arena, scratch, error);
}
