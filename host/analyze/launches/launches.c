/*
 * launches.c - the parts of a reading, one after the other; rows of the device, and by our rules the events of their
 * calls, beside those of the host.
 */
#include <math.h>
#include <string.h>

#include "analyze/launches/launches.h"
#include "analyze/operators/operators.h"
#include "base/error.h"
#include "base/threads.h"
#include "columns/column.h"
#include "columns/hash_tables.h"
#include "columns/rows.h"
#include "facts/launches.h"
#include "facts/times.h"
#include "match/intervals.h"
#include "match/steps.h"

/*
 * The work of the device: rows with times and classes, in the order of the file, and their order in time.
 * O(n) beside the sort; the class of a name is found once.
 */

/* A class that was not looked for yet. */
#define CLASS_UNKNOWN UINT8_MAX

struct class_memory {
    uint8_t *of[2]; /* by string of the name: as a kernel, and as a set */
};

static uint32_t roles_of(const struct op_reading *reading, row_t event) {
    return category_roles(reading->events, reading->roles, event);
}

static uint8_t class_of(const struct op_reading *reading, struct class_memory *memory, row_t event) {
    uint32_t roles = roles_of(reading, event), name = reading->events->name[event];
    uint8_t *known = &memory->of[(roles & CATEGORY_KERNEL) == 0][name];
    if (!(roles & (CATEGORY_KERNEL | CATEGORY_SET)))
        return (uint8_t)device_class_of(roles, "", 0);
    if (*known == CLASS_UNKNOWN)
        *known = (uint8_t)device_class_of(roles, strings_text(reading->strings, name),
                                          strings_length(reading->strings, name));
    return *known;
}

static enum sutra_status fill_rows(struct op_reading *reading, const struct exact_times *times,
                                   const struct event_lists *lists, struct arena *arena, struct sutra_error *error) {
    struct device_rows *rows = &reading->devices;
    struct class_memory memory;
    for (int i = 0; i < 2; i++) {
        memory.of[i] = arena_take(arena, reading->strings->n, 1);
        if (memory.of[i])
            memset(memory.of[i], CLASS_UNKNOWN, reading->strings->n);
    }
    enum sutra_status status = arena_status(arena, error);
    for (row_t i = 0; memory.of[0] && memory.of[1] && i < lists->n_device && !status; i++) {
        row_t event = lists->device[i];
        if (!exact_time_is_known(reading->events, event))
            continue;
        rows->event[rows->n] = event;
        rows->start[rows->n] = op_start_read(reading, times, event);
        rows->stop[rows->n] = op_stop_read(reading, event, rows->start[rows->n]);
        rows->call[rows->n] = rows->launcher[rows->n] = ROW_NONE;
        rows->class[rows->n++] = class_of(reading, &memory, event);
    }
    return status;
}

static enum sutra_status device_rows_sort(struct device_rows *rows, struct arena *scratch, struct sutra_error *error) {
    struct arena_mark mark = arena_mark(scratch);
    uint64_t *keys = arena_take(scratch, rows->n, sizeof *keys);
    enum sutra_status status = arena_status(scratch, error);
    for (row_t i = 0; i < rows->n && !status; i++) {
        keys[i] = integer_sort_key(rows->start[i]);
        rows->by_start[i] = i;
    }
    if (!status)
        status = cpu_sort_keys(NULL, &(struct sort_keys_step){keys, rows->by_start, rows->n}, error);
    arena_release(scratch, mark);
    return status;
}

/* devices.c: columns with room for all events; rows without calls, in order; that order anew. */
static enum sutra_status device_rows_take(struct op_reading *reading, struct arena *arena, struct sutra_error *error) {
    row_t n = reading->events->n; /* memory that is not used is never touched */
    reading->devices = (struct device_rows){.event = arena_take(arena, n, sizeof(row_t)),
                                            .start = arena_take(arena, n, sizeof(int64_t)),
                                            .stop = arena_take(arena, n, sizeof(int64_t)),
                                            .class = arena_take(arena, n, sizeof(uint8_t)),
                                            .call = arena_take(arena, n, sizeof(row_t)),
                                            .launcher = arena_take(arena, n, sizeof(row_t)),
                                            .by_start = arena_take(arena, n, sizeof(row_t))};
    return arena_status(arena, error);
}

static enum sutra_status device_rows_fill(struct op_reading *reading, const struct exact_times *times,
                                          const struct event_lists *lists, struct arena *scratch,
                                          struct sutra_error *error) {
    struct arena_mark mark = arena_mark(scratch);
    enum sutra_status status = fill_rows(reading, times, lists, scratch, error);
    arena_release(scratch, mark);
    return status ? status : device_rows_sort(&reading->devices, scratch, error);
}

/*
 * Work by the call that started it.
 */

enum sutra_status arrow_ids_ask(struct sutra_context *context, const struct sutra_device_trace *trace,
                                const row_t *arrows, row_t n, const value_key **ids, struct sutra_error *error) {
    static const struct asked_field field = {"id", ASK_KEY, true};
    struct asked_column column;
    enum sutra_status status = event_columns_ask(context, trace, &field, 1, arrows, n, &column, error);
    if (!status)
        *ids = column.key;
    return status;
}

enum sutra_status call_links_order(struct op_reading *reading, const row_t *call, const row_t *device, row_t n,
                                   struct arena *arena, struct sutra_error *error) {
    struct call_links *links = &reading->links;
    row_t n_hosts = reading->hosts.n;
    *links = (struct call_links){.first = arena_zeros(arena, (size_t)n_hosts + 2, sizeof *links->first),
                                 .device = arena_take(arena, n, sizeof *links->device)};
    enum sutra_status status = arena_status(arena, error);
    if (status)
        return status;
    for (row_t i = 0; i < n; i++)
        if (call[i] != ROW_NONE)
            links->first[call[i] + 2]++;
    for (row_t row = 0; row < n_hosts; row++)
        links->first[row + 2] += links->first[row + 1];
    for (row_t i = 0; i < n; i++)
        if (call[i] != ROW_NONE)
            links->device[links->first[call[i] + 1]++] = device ? device[i] : i;
    links->n = links->first[n_hosts];
    return SUTRA_OK;
}

static enum sutra_status call_links_again(struct op_reading *reading, struct arena *arena, struct sutra_error *error) {
    return call_links_order(reading, reading->devices.call, NULL, reading->devices.n, arena, error);
}

/* Which rows those are of which events. */
static void find_rows(const struct op_reading *reading, const struct row_ranks *ranks, row_t *row_of) {
    const struct host_rows *hosts = &reading->hosts;
    for (row_t row = 0; row < hosts->n; row++)
        if (hosts->kind[row] == HOST_CALL && row_ranks_have(ranks, hosts->event[row]))
            row_of[row_rank(ranks, hosts->event[row])] = row;
}

enum sutra_status call_rows_find(const struct op_reading *reading, row_t *calls, row_t n, struct arena *scratch,
                                 struct sutra_error *error) {
    struct arena_mark mark = arena_mark(scratch);
    struct row_ranks ranks = row_ranks_take(scratch, reading->events->n);
    enum sutra_status status = arena_status(scratch, error);
    for (row_t i = 0; i < n && !status; i++)
        if (calls[i] != ROW_NONE)
            row_ranks_add(&ranks, calls[i]);
    row_t *row_of = status ? NULL : arena_take(scratch, row_ranks_count(&ranks), sizeof *row_of);
    if (!status)
        status = arena_status(scratch, error);
    if (!status)
        find_rows(reading, &ranks, row_of);
    for (row_t i = 0; i < n && !status; i++)
        if (calls[i] != ROW_NONE)
            calls[i] = row_of[row_rank(&ranks, calls[i])];
    arena_release(scratch, mark);
    return status;
}

static enum sutra_status call_links_find(struct op_reading *reading, struct arena *arena, struct arena *scratch,
                                         struct sutra_error *error) {
    enum sutra_status status = call_rows_find(reading, reading->devices.call, reading->devices.n, scratch, error);
    return status ? status : call_links_again(reading, arena, error);
}

/*
 * Which call started which work on the device, by our rules: the last call with the work's correlation;
 * for work whose correlation no call has, or that has none, the call at which an arrow (ac2g) begins that ends at the
 * work. In come events, out go events, so that this needs no rows of the host. O(n), in expectation, beside the join.
 */

struct call_search {
    struct sutra_context *context;
    struct op_reading *reading;
    const struct exact_times *times;
    const struct event_lists *lists;
    struct arena *scratch;
    struct event_threads threads;
};

/* ---- By correlation ---- */

static enum sutra_status find_by_correlation(const struct call_search *search, struct sutra_error *error) {
    const struct device_events *events = search->reading->events;
    const struct device_rows *devices = &search->reading->devices;
    const struct event_lists *lists = search->lists;
    const struct engine *engine = &search->context->engine;
    struct arena_mark mark = arena_mark(search->scratch);
    row_t n_keys = 0;
    value_key *keys = arena_take(search->scratch, lists->n_calls, sizeof *keys),
              *wanted = arena_take(search->scratch, devices->n, sizeof *wanted);
    row_t *calls = arena_take(search->scratch, lists->n_calls, sizeof *calls);
    enum sutra_status status = arena_status(search->scratch, error);
    for (row_t i = 0; i < lists->n_calls && !status; i++) {
        row_t call = lists->call[i];
        if (!exact_time_is_known(events, call) || !is_correlation(events->correlation[call]))
            continue;
        keys[n_keys] = events->correlation[call];
        calls[n_keys++] = call;
    }
    for (row_t i = 0; i < devices->n && !status; i++)
        wanted[i] = events->correlation[devices->event[i]];
    struct join_step step = {keys, n_keys, wanted, devices->n, devices->call};
    if (!status)
        status = engine->join(engine->state, &step, error);
    for (row_t i = 0; i < devices->n && !status; i++)
        if (devices->call[i] != ROW_NONE)
            devices->call[i] = calls[devices->call[i]];
    arena_release(search->scratch, mark);
    return status;
}

/* ---- By arrows ---- */

/* Where arrows lead: from the moment of a call on its thread over an id to a moment of work. */
struct arrow_tables {
    struct pair_table moments; /* of those ends, on any thread */
    struct pair_table calls, ids, ends;
};

/* Arrows, those that end at work first. */
struct arrow_list {
    row_t *event;
    row_t n, n_ends;
};

static uint64_t moment_at(const struct call_search *search, row_t event) {
    return double_sort_key(number_as_double(number_at(search->reading->events->ts, event)));
}

/* The entry of an event's moment on its thread; NULL: out of memory. */
static struct pair_entry *moment_of(struct call_search *search, struct pair_table *table, row_t event) {
    uint32_t thread = event_thread(&search->threads, search->reading->events, event);
    return thread == PAIR_NONE ? NULL : pair_table_take(table, moment_at(search, event), thread);
}

static bool has_work_alone(const struct device_rows *devices) {
    row_t n = 0;
    for (row_t i = 0; i < devices->n; i++)
        n += devices->call[i] == ROW_NONE;
    return n > 0;
}

/* Moments of work that has no call. */
static bool note_work_alone(struct call_search *search, struct arrow_tables *tables) {
    const struct device_rows *devices = &search->reading->devices;
    bool ok = true;
    for (row_t i = 0; i < devices->n && ok; i++)
        ok = devices->call[i] != ROW_NONE ||
             (moment_of(search, &tables->ends, devices->event[i]) &&
              pair_table_take(&tables->moments, moment_at(search, devices->event[i]), 0));
    return ok;
}

/* Leaves, before ids are read, the arrows that end at work without a call, and where there are some, all that begin. */
static bool choose_arrows(struct call_search *search, const struct arrow_tables *tables, struct arrow_list *arrows) {
    const struct device_events *events = search->reading->events;
    row_t n = arrows->n, n_begins = 0;
    row_t *begins = arena_take(search->scratch, n, sizeof *begins);
    arrows->n_ends = 0;
    for (row_t i = 0; i < n && begins; i++) {
        row_t arrow = arrows->event[i];
        if (events->phase[arrow] == 's')
            begins[n_begins++] = arrow;
        if (events->phase[arrow] != 'f' || !pair_table_seek(&tables->moments, moment_at(search, arrow), 0))
            continue;
        uint32_t thread = event_thread(&search->threads, events, arrow);
        if (thread == PAIR_NONE)
            return false;
        if (pair_table_seek(&tables->ends, moment_at(search, arrow), thread))
            arrows->event[arrows->n_ends++] = arrow;
    }
    arrows->n = arrows->n_ends ? arrows->n_ends + n_begins : 0;
    for (row_t i = 0; i < n_begins && arrows->n; i++)
        arrows->event[arrows->n_ends + i] = begins[i];
    return begins;
}

/* Leaves the arrows that begin with an id with which one ends, and notes the moments at which they do. */
static bool choose_begins(struct call_search *search, struct arrow_tables *tables, struct arrow_list *arrows,
                          const value_key *ids) {
    row_t n = arrows->n_ends;
    bool ok = true;
    for (row_t i = 0; i < arrows->n_ends && ok; i++)
        ok = pair_table_take(&tables->ids, (uint64_t)ids[arrows->event[i]], 0);
    for (row_t i = arrows->n_ends; i < arrows->n && ok; i++) {
        row_t arrow = arrows->event[i];
        if (!pair_table_seek(&tables->ids, (uint64_t)ids[arrow], 0))
            continue;
        arrows->event[n++] = arrow;
        ok = moment_of(search, &tables->calls, arrow);
    }
    arrows->n = n;
    return ok;
}

/* Whether a call stands behind another one of its moment: by start, then by falling length, then as in the file. */
static bool is_behind(const struct call_search *search, row_t call, row_t other) {
    int64_t start = op_start_read(search->reading, search->times, call),
            before = op_start_read(search->reading, search->times, other);
    return start != before ? start > before
                           : op_stop_read(search->reading, call, start) <= op_stop_read(search->reading, other, start);
}

/* Notes for the moments at which arrows begin the last call that begins then. */
static bool note_calls(struct call_search *search, struct pair_table *calls) {
    const struct event_lists *lists = search->lists;
    for (row_t i = 0; i < lists->n_calls; i++) {
        row_t call = lists->call[i];
        if (!exact_time_is_known(search->reading->events, call))
            continue;
        uint32_t thread = event_thread(&search->threads, search->reading->events, call);
        if (thread == PAIR_NONE)
            return false;
        struct pair_entry *begin = pair_table_seek(calls, moment_at(search, call), thread);
        if (begin && (begin->number == PAIR_NONE || is_behind(search, call, begin->number)))
            begin->number = call;
    }
    return true;
}

/* Notes for ids the call at which the arrow begins; then for moments at which arrows end the call of their id. */
static bool note_arrows(struct call_search *search, struct arrow_tables *tables, const struct arrow_list *arrows,
                        const value_key *ids) {
    bool ok = true;
    for (row_t i = arrows->n_ends; i < arrows->n && ok; i++) {
        const struct pair_entry *begin = moment_of(search, &tables->calls, arrows->event[i]);
        ok = begin && pair_table_note(&tables->ids, (uint64_t)ids[arrows->event[i]], 0, begin->number);
    }
    for (row_t i = 0; i < arrows->n_ends && ok; i++) {
        uint32_t call = pair_table_find(&tables->ids, (uint64_t)ids[arrows->event[i]], 0);
        struct pair_entry *end = moment_of(search, &tables->ends, arrows->event[i]);
        ok = end;
        if (end && call != PAIR_NONE)
            end->number = call;
    }
    return ok;
}

static bool take_ends(struct call_search *search, struct arrow_tables *tables) {
    struct device_rows *devices = &search->reading->devices;
    for (row_t i = 0; i < devices->n; i++) {
        if (devices->call[i] != ROW_NONE)
            continue;
        const struct pair_entry *end = moment_of(search, &tables->ends, devices->event[i]);
        if (!end)
            return false;
        devices->call[i] = end->number == PAIR_NONE ? ROW_NONE : end->number;
    }
    return true;
}

/* What the chosen arrows say, most of which mostly belong to work whose call is known. */
static enum sutra_status follow_arrows(struct call_search *search, struct arrow_tables *tables,
                                       struct arrow_list *arrows, struct sutra_error *error) {
    const value_key *ids = NULL;
    enum sutra_status status =
        arrow_ids_ask(search->context, search->reading->trace, arrows->event, arrows->n, &ids, error);
    if (status)
        return status;
    if (!choose_begins(search, tables, arrows, ids))
        return error_memory(error);
    if (arrows->n == arrows->n_ends)
        return SUTRA_OK;
    bool ok =
        note_calls(search, &tables->calls) && note_arrows(search, tables, arrows, ids) && take_ends(search, tables);
    return ok ? SUTRA_OK : error_memory(error);
}

static enum sutra_status find_by_arrows(struct call_search *search, struct sutra_error *error) {
    struct arrow_tables tables = {0};
    struct arrow_list arrows = {.event = search->lists->arrow, .n = search->lists->n_arrows};
    bool ok = pair_table_init(&tables.moments) && pair_table_init(&tables.calls) && pair_table_init(&tables.ids) &&
              pair_table_init(&tables.ends) && note_work_alone(search, &tables) &&
              choose_arrows(search, &tables, &arrows);
    enum sutra_status status = ok ? SUTRA_OK : error_memory(error);
    if (!status && arrows.n)
        status = follow_arrows(search, &tables, &arrows, error);
    pair_table_free(&tables.moments);
    pair_table_free(&tables.calls);
    pair_table_free(&tables.ids);
    pair_table_free(&tables.ends);
    return status;
}

/* ---- Both ---- */

/* call_events.c: by our rules, the calls of work, which are events of the trace for now. */
static enum sutra_status call_events_find(struct sutra_context *context, struct op_reading *reading,
                                          const struct exact_times *times, const struct event_lists *lists,
                                          struct arena *scratch, struct sutra_error *error) {
    struct arena_mark mark = arena_mark(scratch);
    struct call_search search = {
        .context = context, .reading = reading, .times = times, .lists = lists, .scratch = scratch};
    enum sutra_status status = event_threads_init(&search.threads) ? SUTRA_OK : error_memory(error);
    if (!status)
        status = find_by_correlation(&search, error);
    if (!status && has_work_alone(&reading->devices))
        status = find_by_arrows(&search, error);
    event_threads_free(&search.threads);
    arena_release(scratch, mark);
    return status;
}

/*
 * To whom work is charged, and for how long it runs: directly, and below.
 *
 * The launcher of a piece of work is the innermost operator around its call, or the call itself where there is none. To
 * the reference operators named "execute" are none, a call inside of a call hides what is around that, and
 * communication has no launcher.
 */

/* ---- Launchers ---- */

/* What the reference's search for operators ends at. */
static uint8_t *mark_operators(const struct op_reading *reading, struct arena *arena) {
    const struct host_rows *hosts = &reading->hosts;
    uint32_t passed = strings_find(reading->strings, "execute", strlen("execute"));
    uint8_t *marked = arena_take(arena, hosts->n, sizeof *marked);
    for (row_t row = 0; row < hosts->n && marked; row++)
        marked[row] = (hosts->kind[row] == HOST_OPERATOR && (passed == STRING_NONE || hosts->name[row] != passed)) ||
                      hosts->kind[row] == HOST_CALL;
    return marked;
}

static enum sutra_status look_around(const struct op_reading *reading, struct arena *scratch, row_t **around,
                                     struct sutra_error *error) {
    uint8_t *marked = mark_operators(reading, scratch);
    *around = arena_take(scratch, reading->hosts.n, sizeof **around);
    enum sutra_status status = arena_status(scratch, error);
    return status ? status : op_reading_around(reading, marked, scratch, *around, error);
}

static enum sutra_status find_launchers(struct op_reading *reading, struct arena *scratch, struct sutra_error *error) {
    struct device_rows *devices = &reading->devices;
    bool reference = reading->rules & READING_REFERENCE;
    struct arena_mark mark = arena_mark(scratch);
    row_t *around = reading->hosts.around;
    enum sutra_status status = reference ? look_around(reading, scratch, &around, error) : SUTRA_OK;
    for (row_t i = 0; i < devices->n && !status; i++) {
        row_t call = devices->call[i];
        bool passed_over =
            devices->class[i] == DEVICE_NO_WORK || (reference && devices->class[i] == DEVICE_COMMUNICATION);
        if (call == ROW_NONE || passed_over)
            continue;
        row_t op = around[call];
        devices->launcher[i] = op != ROW_NONE && reading->hosts.kind[op] == HOST_OPERATOR ? op : call;
    }
    arena_release(scratch, mark);
    return status;
}

/* ---- Charges ---- */

/* Numbers launchers as their work stands in the file, then by start. */
static enum sutra_status list_charges(struct op_reading *reading, struct arena *arena, struct arena *scratch,
                                      struct sutra_error *error) {
    const struct device_rows *devices = &reading->devices;
    struct op_charges *charges = &reading->charges;
    struct arena_mark mark = arena_mark(scratch);
    charges->of_host = rows_none(arena, reading->hosts.n);
    charges->host = arena_take(arena, devices->n, sizeof *charges->host);
    uint64_t *keys = arena_take(scratch, devices->n, sizeof *keys);
    enum sutra_status status = arena_status(arena, error);
    if (!status)
        status = arena_status(scratch, error);
    for (row_t i = 0; i < devices->n && !status; i++) {
        row_t host = devices->launcher[i];
        if (host == ROW_NONE || charges->of_host[host] != ROW_NONE)
            continue;
        keys[charges->n] = integer_sort_key(reading->hosts.start[host]);
        charges->of_host[host] = charges->n;
        charges->host[charges->n++] = host;
    }
    if (!status)
        status = cpu_sort_keys(NULL, &(struct sort_keys_step){keys, charges->host, charges->n}, error);
    for (row_t i = 0; i < charges->n && !status; i++)
        charges->of_host[charges->host[i]] = i;
    arena_release(scratch, mark);
    return status;
}

/* Deals the work out, by start. */
static enum sutra_status deal_out(struct op_reading *reading, struct arena *arena, struct sutra_error *error) {
    const struct device_rows *devices = &reading->devices;
    struct op_charges *charges = &reading->charges;
    charges->first = arena_zeros(arena, (size_t)charges->n + 2, sizeof *charges->first);
    charges->device = arena_take(arena, devices->n, sizeof *charges->device);
    charges->work = arena_take(arena, charges->n, sizeof *charges->work);
    charges->direct = arena_take(arena, charges->n, sizeof *charges->direct);
    charges->subtree = arena_take(arena, charges->n, sizeof *charges->subtree);
    enum sutra_status status = arena_status(arena, error);
    if (status)
        return status;
    for (row_t i = 0; i < devices->n; i++)
        if (devices->launcher[i] != ROW_NONE)
            charges->first[charges->of_host[devices->launcher[i]] + 2]++;
    for (row_t i = 0; i < charges->n; i++)
        charges->first[i + 2] += charges->first[i + 1];
    for (row_t k = 0; k < devices->n; k++) {
        row_t device = devices->by_start[k];
        if (devices->launcher[device] != ROW_NONE)
            charges->device[charges->first[charges->of_host[devices->launcher[device]] + 1]++] = device;
    }
    return SUTRA_OK;
}

/* How long the work of each, which has rising starts, runs: added up, and together. */
static void measure_work(const struct device_rows *devices, struct op_charges *charges) {
    for (row_t charge = 0; charge < charges->n; charge++) {
        row_t first = charges->first[charge];
        int64_t direct = 0, end = devices->start[charges->device[first]];
        wide_t work = 0;
        for (row_t k = first; k < charges->first[charge + 1]; k++) {
            int64_t start = devices->start[charges->device[k]], stop = devices->stop[charges->device[k]];
            int64_t from = start > end ? start : end;
            work += stop - start;
            direct += stop > from ? stop - from : 0;
            end = stop > from ? stop : end;
        }
        charges->work[charge] = work;
        charges->direct[charge] = direct;
    }
}

enum sutra_status op_reading_busy(const struct op_reading *reading, const row_t *hosts, row_t n, struct arena *scratch,
                                  int64_t *ticks, struct sutra_error *error) {
    const struct device_rows *devices = &reading->devices;
    const struct call_links *links = &reading->links;
    struct arena_mark mark = arena_mark(scratch);
    int64_t *start = arena_take(scratch, links->n, sizeof *start), *stop = arena_take(scratch, links->n, sizeof *stop);
    row_t *first = arena_take(scratch, n, sizeof *first), *last = arena_take(scratch, n, sizeof *last);
    enum sutra_status status = arena_status(scratch, error);
    for (row_t i = 0; i < links->n && !status; i++) {
        row_t device = links->device[i];
        start[i] = devices->start[device];
        stop[i] = devices->class[device] == DEVICE_NO_WORK ? start[i] : devices->stop[device];
    }
    for (row_t i = 0; i < n && !status; i++) {
        first[i] = links->first[hosts[i]];
        last[i] = links->first[reading->hosts.end[hosts[i]]];
    }
    if (!status)
        status = range_cover(start, stop, links->n, first, last, n, scratch, ticks, error);
    arena_release(scratch, mark);
    return status;
}

/* charges.c */
static enum sutra_status op_charges_make(struct op_reading *reading, struct arena *arena, struct arena *scratch,
                                         struct sutra_error *error) {
    struct op_charges *charges = &reading->charges;
    *charges = (struct op_charges){0};
    enum sutra_status status = find_launchers(reading, scratch, error);
    if (!status)
        status = list_charges(reading, arena, scratch, error);
    if (!status)
        status = deal_out(reading, arena, error);
    if (!status)
        measure_work(&reading->devices, charges);
    return status ? status : op_reading_busy(reading, charges->host, charges->n, scratch, charges->subtree, error);
}

/*
 * When events began and ended, in ticks.
 *
 * By our rules a tick is a nanosecond. Starts of traces that count from 1970 are doubles with steps of a quarter of a
 * microsecond, so where there are such the texts of starts are read again, which are exact.
 *
 * The reference adds doubles of microseconds. The ends of its intervals are rounded, but differences of neighbouring
 * times and their sums then are multiples of one small power of two, and so exact. With ticks of such a power, as small
 * as 62 bits allow, integers give what its doubles give.
 */

/* Bits of ticks, so that differences of two times fit 64. */
#define TICK_BITS 61

static uint32_t category_of(const struct op_reading *reading, row_t event) {
    return category_roles(reading->events, reading->roles, event);
}

/* The largest time, for the unit. */
static double largest_time(const struct op_reading *reading) {
    const struct device_events *events = reading->events;
    double largest = 0;
    for (row_t event = 0; event < events->n; event++) {
        if (!(category_of(reading, event)))
            continue;
        double us = number_as_double(number_at(events->ts, event)),
               dur = number_as_double(number_at(events->dur, event));
        if (us_are_sound(us) && us_are_sound(dur) && fabs(us) + fabs(dur) > largest)
            largest = fabs(us) + fabs(dur);
    }
    return largest;
}

/* times.c: the unit of ticks, and times of events. */
static enum sutra_status op_times_prepare(struct sutra_context *context, struct op_reading *reading,
                                          struct arena *scratch, struct exact_times *times, struct sutra_error *error) {
    int exponent;
    *times = (struct exact_times){0};
    reading->ticks_per_us = NS_PER_US;
    if (!(reading->rules & READING_REFERENCE))
        return exact_times_find(context, reading->trace, reading->roles, scratch, times, error);
    frexp(largest_time(reading), &exponent);
    reading->ticks_per_us = ldexp(1, TICK_BITS - (exponent > 0 ? exponent : 0));
    return SUTRA_OK;
}

/*
 * A reading of a whole trace of which a part counts, for who needs to see what lies around it.
 *
 * All of the trace is read and charged, then the work that was not asked for is taken away, and what is left is charged
 * anew. O(work), beside choosing and charging.
 */

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

/* Rows of the device, which have their columns. */
struct device_making {
    struct sutra_context *context;
    struct op_reading *reading;
    const struct exact_times *times;
    struct event_lists *lists;
    struct arena scratch;
    enum sutra_status status;
    struct sutra_error error;
};

static void make_devices(void *arg) {
    struct device_making *making = arg;
    event_lists_device(making->reading, making->lists);
    making->status = device_rows_fill(making->reading, making->times, making->lists, &making->scratch, &making->error);
    if (!making->status && !(making->reading->rules & READING_REFERENCE))
        making->status = call_events_find(making->context, making->reading, making->times, making->lists,
                                          &making->scratch, &making->error);
    arena_free(&making->scratch);
}

/* Those of the host and those of the device, beside each other where the engine is the processor. */
static enum sutra_status make_rows(struct sutra_context *context, struct op_reading *reading,
                                   const struct exact_times *times, struct event_lists *lists, struct arena *arena,
                                   struct arena *scratch, struct sutra_error *error) {
    struct device_making making = {.context = context, .reading = reading, .times = times, .lists = lists};
    struct aside devices;
    enum sutra_status status = device_rows_take(reading, arena, error);
    if (status)
        return status;
    aside_begin(&devices, context->engine.concurrent && pool_threads(context->pool) > 1, make_devices, &making);
    event_lists_host(reading, lists);
    status = host_rows_make(context, reading, times, lists, arena, scratch, error);
    aside_end(&devices);
    return status ? status : error_hand_on(error, making.status, &making.error);
}

enum sutra_status op_reading_make(struct sutra_context *context, const struct sutra_device_trace *trace, unsigned rules,
                                  struct arena *arena, struct arena *scratch, struct op_reading *reading,
                                  struct sutra_error *error) {
    struct exact_times times;
    struct event_lists lists;
    struct arena_mark mark = arena_mark(scratch);
    enum reader reader = rules & READING_REFERENCE ? READER_OPERATORS : READER_TREE;
    *reading = (struct op_reading){.trace = trace,
                                   .events = &trace->events,
                                   .strings = &trace->strings,
                                   .rules = rules,
                                   .from = INT64_MIN,
                                   .to = INT64_MAX,
                                   .roles = names_find(&trace->strings, reader, arena)};
    enum sutra_status status = arena_status(arena, error);
    if (!status)
        status = op_times_prepare(context, reading, scratch, &times, error);
    if (!status)
        status = event_lists_take(reading, scratch, &lists, error);
    if (!status)
        status = make_rows(context, reading, &times, &lists, arena, scratch, error);
    if (!status)
        status = rules & READING_REFERENCE ? tracelens_links_find(context, reading, &lists, arena, scratch, error)
                                           : call_links_find(reading, arena, scratch, error);
    if (!status)
        reading->n_untimed = (uint64_t)lists.n_host_endless + (lists.n_host - reading->hosts.n) +
                             lists.n_device_endless + (lists.n_device - reading->devices.n);
    arena_release(scratch, mark);
    return status ? status : op_charges_make(reading, arena, scratch, error);
}

void op_reading_warn(struct sutra_context *context, const struct op_reading *reading) {
    untimed_warn(context, reading->n_untimed, "event has", "events have");
}
