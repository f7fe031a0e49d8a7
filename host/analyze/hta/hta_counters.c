/*
 * hta_counters.c - the trace once more, with what changes over time as counters, to open in Perfetto: the length of
 * each stream's queue, the bandwidth of each kind of copy, and the share of time that each device works.
 *
 *     {"pid": 0, "ts": 1700, "args": {"Queue Length": 3}, "ph": "C", "name": "Queue Length", "id": 7}
 *
 * The file's bytes are copied as they are; counters stand behind the last event, those of queues and copies as the
 * reference writes them. One pass over the bytes and the tables.
 */
#include <math.h>

#include "analyze/hta/hta.h"
#include "base/error.h"
#include "write/text_file.h"
#include "write/trace_copy.h"

/* A table whose rows become counters: from a column of microseconds since `base`. */
struct counter_kind {
    enum sutra_hta_counters bit;
    enum sutra_hta_table table;
    uint32_t ts, pid, value;
    int name, id;       /* columns too; NO_COLUMN: the counter is called `called`, and has no id */
    const char *called; /* and so is its value */
};

#define NO_COLUMN (-1)

static const struct counter_kind kinds[] = {
    {SUTRA_HTA_COUNTERS_QUEUE, SUTRA_HTA_QUEUE, 1, 2, 5, NO_COLUMN, 4, "Queue Length"},
    {SUTRA_HTA_COUNTERS_BANDWIDTH, SUTRA_HTA_BANDWIDTH_SERIES, 0, 1, 3, 2, NO_COLUMN, "Memcpy BW"},
    {SUTRA_HTA_COUNTERS_BUSY, SUTRA_HTA_BUSY_SERIES, 0, 1, 2, NO_COLUMN, NO_COLUMN, "GPU busy, %"},
};

struct counted_trace {
    const struct sutra_device_trace *trace;
    const struct sutra_hta *hta;
    unsigned counters;
};

/* A moment on the trace's own clock; microseconds, with nanoseconds behind the point where there are any. */
static void out_moment(struct text_out *text, int64_t base_ns, double us) {
    int64_t ns = base_ns + llrint(us * NS_PER_US), whole = ns / NS_PER_US, rest = ns % NS_PER_US;
    if (rest < 0) {
        whole--;
        rest += NS_PER_US;
    }
    out_integer(text, whole);
    if (rest)
        out_format(text, ".%03d", (int)rest);
}

static void out_cell(struct text_out *text, const struct sutra_table *table, uint32_t column, uint64_t row) {
    size_t length;
    if (table->columns[column].spec.kind == SUTRA_COLUMN_TEXT) {
        const char *bytes = table_get_text(table, column, row, &length);
        out_string(text, bytes, length);
    } else if (table->columns[column].spec.kind == SUTRA_COLUMN_INTEGER) {
        out_integer(text, table_get_integer(table, column, row));
    } else {
        out_number(text, table_get_real(table, column, row));
    }
}

static void write_counter(struct text_out *text, const struct counter_kind *kind, const struct sutra_table *table,
                          int64_t base_ns, uint64_t row) {
    out_add(text, ",\n{\"pid\": ");
    out_cell(text, table, kind->pid, row);
    out_add(text, ", \"ts\": ");
    out_moment(text, base_ns, table_get_real(table, kind->ts, row));
    out_format(text, ", \"args\": {\"%s\": ", kind->called);
    out_cell(text, table, kind->value, row);
    out_add(text, "}, \"ph\": \"C\", \"name\": ");
    if (kind->name == NO_COLUMN)
        out_format(text, "\"%s\"", kind->called);
    else
        out_cell(text, table, (uint32_t)kind->name, row);
    if (kind->id != NO_COLUMN) {
        out_add(text, ", \"id\": ");
        out_cell(text, table, (uint32_t)kind->id, row);
    }
    out_add(text, "}");
    out_step(text);
}

static bool write_trace(const void *of, struct text_out *text) {
    const struct counted_trace *counted = of;
    const struct sutra_device_trace *trace = counted->trace;
    size_t from = 0;
    if (trace->events.n > 0)
        trace_copy_to(trace, text, &from, trace_events_end(trace));
    for (size_t i = 0; trace->events.n > 0 && i < sizeof kinds / sizeof *kinds; i++) {
        const struct sutra_table *table = sutra_hta_table(counted->hta, kinds[i].table, NULL);
        if (!(counted->counters & kinds[i].bit))
            continue;
        for (uint64_t row = 0; table && row < table->n_rows; row++)
            write_counter(text, &kinds[i], table, counted->hta->base, row);
    }
    trace_copy_to(trace, text, &from, trace->document.source.size);
    return true;
}

enum sutra_status sutra_hta_write_counters(struct sutra_context *context, const struct sutra_device_trace *trace,
                                           const struct sutra_hta *hta, unsigned counters, const char *path,
                                           uint64_t *n_bytes, struct sutra_error *error) {
    const struct counted_trace counted = {trace, hta, counters};
    return text_file_write(context, path, write_trace, &counted, n_bytes, error);
}
