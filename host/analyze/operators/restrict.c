/*
 * restrict.c - a reading of a whole trace of which a part counts, for who needs to see what lies around it.
 *
 * All of the trace is read and charged, then the work that was not asked for is taken away, and what is left is charged
 * anew. O(work), beside choosing and charging.
 */
#include "analyze/operators/operators.h"

static void keep_work(struct device_rows *devices, const uint8_t *kept) {
    row_t n = 0;
    for (row_t i = 0; i < devices->n; i++) {
        if (!kept[devices->event[i]])
            continue;
        devices->event[n] = devices->event[i];
        devices->start[n] = devices->start[i];
        devices->stop[n] = devices->stop[i];
        devices->class[n] = devices->class[i];
        devices->call[n] = devices->call[i];
        devices->launcher[n++] = ROW_NONE;
    }
    devices->n = n;
}

enum sutra_status op_restrict(struct sutra_context *context, const struct sutra_restriction *restriction,
                              struct op_reading *reading, struct arena *arena, struct arena *scratch,
                              struct sutra_error *error) {
    struct selection selection;
    struct arena_mark mark = arena_mark(scratch);
    if (!restriction_is_part(restriction))
        return SUTRA_OK;
    enum sutra_status status =
        restriction_choose(context, reading->trace, restriction, reading, scratch, &selection, error);
    if (!status) {
        reading->from = selection.stretch.from;
        reading->to = selection.stretch.to;
        keep_work(&reading->devices, selection.kept);
    }
    arena_release(scratch, mark);
    if (!status)
        status = device_rows_sort(&reading->devices, scratch, error);
    if (!status)
        status = call_links_again(reading, arena, error);
    return status ? status : op_charges_make(reading, arena, scratch, error);
}
