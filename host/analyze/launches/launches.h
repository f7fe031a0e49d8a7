/*
 * launches.h - who launched what: the events of the host as trees, the work of the device, and between them the calls
 * that started it. One reading serves all tables of operators, kernels, modules and rates.
 *
 *     device trace --> hosts.c: events of the host, a tree for each thread --------+
 *                  --> devices.c: kernels, copies, sets -----+                     +--> charges.c: what each operator
 *                         and their calls, call_events.c     +--> calls.c: links --+    launched, busy times
 *
 *     thread 7   | aten::linear ............................. |      hosts     0 linear
 *                |   aten::addmm ...................          |                1   addmm         end[0] = 3
 *                |      cudaLaunchKernel 12                   |                2     launch      end[1] = 3
 *     stream 7                              | gemm 12 |               devices  0 gemm            call 2, charged to 1
 *
 * By the rules that are ours (REFERENCE not set) an event of the host stands below the one of its thread that began
 * last and has not ended, whether it ends inside of it or not; work belongs to the call with its correlation, else to
 * the one that an arrow (ac2g) comes from; and is charged to the innermost operator that runs at the call, or to the
 * call where there is none. By those of the reference (TraceLens) arrows decide, events that end behind the one around
 * them are left out, and communication is charged to nobody.
 *
 * Times are whole numbers of ticks: nanoseconds; by the rules of the reference, fractions of a microsecond so small
 * that its sums of doubles come out as they do there (times.c). Sums and differences are exact in either.
 *
 * Cost: sorts of events, and O(n log n) for the unions. All columns lie in the arena.
 */
#ifndef ANALYZE_LAUNCHES_LAUNCHES_H
#define ANALYZE_LAUNCHES_LAUNCHES_H

#include "base/arena.h"
#include "context/context.h"
#include "facts/names.h"
#include "facts/times.h"
#include "read/device_trace.h"

enum reading_rules {
    READING_REFERENCE = 1, /* the reference's */
    READING_NO_FRAMES = 2, /* Python's functions take no part, as in most tables of the reference */
};

enum host_kind { HOST_OPERATOR, HOST_CALL, HOST_FRAME, HOST_ANNOTATION, HOST_NONE };

/* Events of the host in pre-order, the threads one after the other, so that a subtree is a range of rows. Events that
 * the reference leaves out stand last, alone. */
struct host_rows {
    row_t n;
    uint32_t n_threads;
    row_t *event;          /* of the trace */
    uint32_t *name;        /* of the event */
    row_t *parent;         /* a row of this table, or ROW_NONE */
    row_t *end;            /* the first row behind the subtree */
    row_t *around;         /* the operator around it that has not ended when it begins; NULL by the reference's rules */
    int64_t *start, *stop; /* ticks */
    uint32_t *thread;      /* below n_threads; a thread of a process */
    uint8_t *kind;         /* enum host_kind */
    row_t n_skipped;       /* at the end */
};

/* Work of the device in the order of the file: kernels, copies and sets, and, of class DEVICE_NO_WORK, synchronisation
 * where the reference links it. */
struct device_rows {
    row_t n;
    row_t *event;
    int64_t *start, *stop; /* ticks */
    uint8_t *class;        /* enum device_class */
    row_t *call;           /* row of hosts: what started it; ROW_NONE: not known */
    row_t *launcher;       /* row of hosts: the operator (or call) that it is charged to, or ROW_NONE */
    row_t *by_start;       /* these rows by rising start, equal ones as in the file */
};

/* Which work each call started: that of the calls in rows a .. b - 1 of hosts is device[first[a]] .. device[first[b] -
 * 1], in the order of calls. By our rules each piece of work is there at most once. */
struct call_links {
    row_t n;
    row_t *first; /* hosts.n + 1 places */
    row_t *device;
};

/* Operators (and calls outside of operators) that work is charged to, by rising start. */
struct op_charges {
    row_t n;
    row_t *host;      /* row of hosts */
    row_t *of_host;   /* by row of hosts: its number here, or ROW_NONE */
    row_t *first;     /* n + 1: what is charged to it is device[first[i]] .. device[first[i + 1] - 1] */
    row_t *device;    /* rows of devices, by start */
    wide_t *work;     /* ticks: the durations of that, added up */
    int64_t *direct;  /* for how long any of that runs */
    int64_t *subtree; /* the same of all that calls below it started */
};

struct op_reading {
    const struct sutra_device_trace *trace;
    const struct device_events *events;
    const struct strings *strings;
    unsigned rules; /* enum reading_rules */
    struct string_roles *roles;
    double ticks_per_us;
    struct host_rows hosts;
    struct device_rows devices;
    struct call_links links;
    struct op_charges charges;
    int64_t from, to;   /* of a part of it (op_restrict()), what is inside */
    uint64_t n_untimed; /* events of the host and the device that are left out: those without a start or a duration,
                             with one below 0, or too large */
};

/* Reads who launched what; `scratch` is given back. SUTRA_SYSTEM: out of memory. */
enum sutra_status op_reading_make(struct sutra_context *context, const struct sutra_device_trace *trace, unsigned rules,
                                  struct arena *arena, struct arena *scratch, struct op_reading *reading,
                                  struct sutra_error *error);

/* Warns of events that are left out; due once for each trace. */
void op_reading_warn(struct sutra_context *context, const struct op_reading *reading);

/* For how long anything runs that was started below each of n rows of hosts. O(n log n) beside O(links log links). */
enum sutra_status op_reading_busy(const struct op_reading *reading, const row_t *hosts, row_t n, struct arena *scratch,
                                  int64_t *ticks, struct sutra_error *error);

/* For each row of hosts, the innermost one around it with a mark: of those that have not ended when it begins, by our
 * rules; of all above it, by the reference's. O(n), in expectation. */
enum sutra_status op_reading_around(const struct op_reading *reading, const uint8_t *marked, struct arena *scratch,
                                    row_t *around, struct sutra_error *error);

/* Whether a moment counts. */
static inline bool op_is_inside(const struct op_reading *reading, int64_t moment) {
    return moment >= reading->from && moment < reading->to;
}

/* Ticks as microseconds. */
static inline double op_us(const struct op_reading *reading, int64_t ticks) {
    return (double)ticks / reading->ticks_per_us;
}

/* How long a piece of work took; in the reference's way without the rounding of its end. */
static inline double op_dur_us(const struct op_reading *reading, row_t device) {
    const struct device_rows *devices = &reading->devices;
    if (reading->rules & READING_REFERENCE)
        return number_as_double(number_at(reading->events->dur, devices->event[device]));
    return op_us(reading, devices->stop[device] - devices->start[device]);
}

/* ---- The parts ---- */

/* When an event that has times begins; and when one that begins then ends. */
static inline int64_t op_start_read(const struct op_reading *reading, const struct exact_times *times, row_t event) {
    if (!(reading->rules & READING_REFERENCE))
        return exact_start_ns(reading->trace, times, event);
    return llrint(number_as_double(number_at(reading->events->ts, event)) * reading->ticks_per_us);
}
static inline int64_t op_stop_read(const struct op_reading *reading, row_t event, int64_t start) {
    struct number ts = number_at(reading->events->ts, event), dur = number_at(reading->events->dur, event);
    if (!(reading->rules & READING_REFERENCE))
        return start + ns_of_us(dur);
    return llrint((number_as_double(ts) + number_as_double(dur)) * reading->ticks_per_us);
}

/* event_lists.c: events of the host, calls among them, and of the device that have a duration, and arrows from calls to
 * work, as they stand in the file: first room for them, then those of each side. */
struct event_lists {
    row_t n_host, n_calls, n_device, n_arrows;
    row_t *host, *call, *device, *arrow;
    row_t n_host_endless, n_device_endless; /* events without a duration */
    uint8_t *kind_of;                       /* by string of a category: enum host_kind */
    uint8_t *lists_of;                      /* the same: which lists its events are of */
};
enum sutra_status event_lists_take(const struct op_reading *reading, struct arena *arena, struct event_lists *lists,
                                   struct sutra_error *error);
void event_lists_host(const struct op_reading *reading, struct event_lists *lists);
void event_lists_device(const struct op_reading *reading, struct event_lists *lists);

/* Cuts the way from a row of hosts up to one on it, or to its end, short for those who look later. */
static inline void op_way_cut(row_t *above, row_t row, row_t found) {
    while (row != found) {
        row_t then = above[row];
        above[row] = found;
        row = then;
    }
}

/* hosts.c: the rows of the events of that list, which is used up. */
enum sutra_status host_rows_make(struct sutra_context *context, struct op_reading *reading,
                                 const struct exact_times *times, const struct event_lists *lists, struct arena *arena,
                                 struct arena *scratch, struct sutra_error *error);

/* calls.c: from the events of n calls with times (or ROW_NONE) to their rows, in their place; the same of all work, and
 * its links; links of the calls that there are; links of n calls and pieces of work, in this order; ids of arrows, by
 * event. */
enum sutra_status call_rows_find(const struct op_reading *reading, row_t *calls, row_t n, struct arena *scratch,
                                 struct sutra_error *error);
enum sutra_status call_links_order(struct op_reading *reading, const row_t *call, const row_t *device, row_t n,
                                   struct arena *arena, struct sutra_error *error);
enum sutra_status arrow_ids_ask(struct sutra_context *context, const struct sutra_device_trace *trace,
                                const row_t *arrows, row_t n, const value_key **ids, struct sutra_error *error);

/* tracelens_calls.c: calls and links by the reference's rules. */
enum sutra_status tracelens_links_find(struct sutra_context *context, struct op_reading *reading,
                                       const struct event_lists *lists, struct arena *arena, struct arena *scratch,
                                       struct sutra_error *error);

#endif
