/*
 * part_collectives.c - which work is communication, and of what: its name, type of data, elements and size of the
 * group, as the kernels' arguments tell; of one without arguments, the kernel's name. O(events) to find them.
 */
#include <string.h>

#include "analyze/collective_calls.h"
#include "base/error.h"
#include "columns/column.h"
#include "compare/part.h"

static uint32_t text_in(struct part_work *work, const struct collective_calls *calls, uint32_t text) {
    return strings_intern(&work->part->texts, strings_text(&calls->strings, text),
                          strings_length(&calls->strings, text));
}

static uint32_t take_key(struct part_work *work, const struct collective_calls *calls,
                         const struct collective_call *call) {
    uint32_t what = text_in(work, calls, call->what), type = text_in(work, calls, call->type);
    int64_t n = call->n_in > call->n_out ? call->n_in : call->n_out;
    if (what == STRING_NONE || type == STRING_NONE)
        return TUPLE_NONE;
    return ledger_take(&work->side->ledgers[LEDGER_COLLECTIVES],
                       (struct tuple){{what, type, n, calls->groups[call->group].size}});
}

/* Keeps those in steps whose group the trace tells. */
static void keep_in_steps(struct part_work *work, const row_t *row_of) {
    struct collective_calls *calls = &work->side->calls;
    uint64_t n = 0;
    for (uint64_t i = 0; i < calls->n; i++) {
        row_t row = row_of[calls->list[i].event];
        if (row != ROW_NONE && work->device_sample[row] != ROW_NONE && calls->groups[calls->list[i].group].size > 1)
            calls->list[n++] = calls->list[i];
    }
    calls->n = n;
}

enum sutra_status part_collectives_find(struct part_work *work, uint32_t *keys, struct sutra_error *error) {
    const struct device_rows *devices = &work->reading.devices;
    struct collective_calls *calls = &work->side->calls;
    row_t *row_of = rows_none(&work->scratch, work->reading.events->n);
    calls->keep_untold = true;
    enum sutra_status status =
        row_of ? collective_calls_take(calls, work->context, work->trace, work->options->rank, error)
               : error_memory(error);
    for (row_t i = 0; i < devices->n && !status; i++) {
        keys[i] = TUPLE_NONE;
        row_of[devices->event[i]] = i;
    }
    for (uint64_t i = 0; i < calls->n && !status; i++) {
        row_t row = row_of[calls->list[i].event];
        if (row != ROW_NONE && (keys[row] = take_key(work, calls, &calls->list[i])) == TUPLE_NONE)
            status = error_memory(error);
    }
    if (!status)
        keep_in_steps(work, row_of);
    return status;
}
