/*
 * totals.c - the device's time as a whole: our timeline, and where it is charged to.
 */
#include "analyze/operators/charge_sums.h"
#include "analyze/operators/operators.h"
#include "analyze/operators/timeline.h"

#include <math.h>
#include <string.h>

struct line {
    const char *name;
    wide_t ticks;
};

/* Sums of durations, by who they are charged to. */
struct charged_time {
    wide_t operators, calls, nobody;
};

static struct charged_time charged_time(const struct op_reading *reading) {
    const struct device_rows *devices = &reading->devices;
    struct charged_time sums = {0};
    for (row_t i = 0; i < devices->n; i++) {
        row_t launcher = devices->launcher[i];
        wide_t *sum = launcher == ROW_NONE                             ? &sums.nobody
                      : reading->hosts.kind[launcher] == HOST_OPERATOR ? &sums.operators
                                                                       : &sums.calls;
        *sum += devices->stop[i] - devices->start[i];
    }
    return sums;
}

static void put_lines(const struct op_input *input, const struct line *lines, size_t n, wide_t whole,
                      struct sutra_table *table) {
    for (size_t i = 0; i < n; i++) {
        table_integer(table, input->options.rank);
        table_text(table, lines[i].name, strlen(lines[i].name));
        table_real(table, (double)lines[i].ticks / input->reading->ticks_per_us);
        table_real(table, whole ? (double)lines[i].ticks / (double)whole * 100 : (double)NAN);
    }
}

enum sutra_status operators_timeline(const struct op_input *input, struct arena *arena,
                                     struct sutra_operators *operators, struct sutra_error *error) {
    struct timeline_times times;
    enum sutra_status status = timeline_measure(input->reading, NULL, &input->context->engine, arena, &times, error);
    if (status)
        return status;
    struct charged_time charged = charged_time(input->reading);
    const struct line lines[] = {{"compute", times.compute},
                                 {"exposed communication", times.exposed_communication},
                                 {"exposed memcpy", times.exposed_copies},
                                 {"busy", times.busy},
                                 {"idle", times.idle},
                                 {"total", times.total},
                                 {"communication", times.communication},
                                 {"memcpy", times.copies}};
    const struct line charges[] = {{"attributed to operators", charged.operators},
                                   {"attributed to calls", charged.calls},
                                   {"unattributed", charged.nobody},
                                   {"all GPU activity", input->device_ticks}};
    struct sutra_table *table = op_table_begin(operators, SUTRA_OPERATORS_TIMELINE);
    put_lines(input, lines, sizeof lines / sizeof *lines, times.total, table);
    put_lines(input, charges, sizeof charges / sizeof *charges, input->device_ticks, table);
    return SUTRA_OK;
}
