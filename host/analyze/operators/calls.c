/*
 * calls.c - which call started which work on the device.
 *
 * By our rules: the last call with the work's correlation; for work whose correlation no call has, or that has none,
 * the call at which an arrow (ac2g) begins that ends at the work.
 *
 * By the reference's: a number ties calls to work, the correlation, or the external id where the first launch of the
 * trace has no correlation. A call is looked at once, in the order of the file. That of a graph has all work with its
 * number. Any other has one event: the last one on the thread where the last arrow with this number ends, if an arrow
 * with it begins, too. Where the trace has no arrows at all, numbers alone decide. A later call takes over what an
 * earlier one started, but that still counts as started below the earlier one as well.
 *
 * Cost: O(n), in expectation, beside the joins.
 */
#include "analyze/operators/reading.h"
#include "base/error.h"
#include "columns/column.h"
#include "columns/pair_table.h"
#include "facts/correlation.h"
#include "facts/threads.h"

/* Work of calls, in the order in which it is found. */
struct link_list {
    row_t n;
    uint64_t capacity;
    row_t *call, *device;
};

struct link_search {
    struct sutra_context *context;
    struct op_reading *reading;
    const struct event_lists *lists;
    struct arena *scratch;
    struct link_list list;
    struct thread_numbers processes, threads;
};

static enum sutra_status add_link(struct link_search *search, row_t call, row_t device, struct sutra_error *error) {
    struct link_list *list = &search->list;
    uint64_t capacity = list->capacity;
    if (list->n == ROW_LIMIT)
        return error_set(error, SUTRA_DATA, "more than %u launches", ROW_LIMIT);
    if (!arena_grow(search->scratch, &list->call, list->n, &capacity, sizeof *list->call) ||
        !arena_grow(search->scratch, &list->device, list->n, &list->capacity, sizeof *list->device))
        return error_memory(error);
    list->call[list->n] = call;
    list->device[list->n++] = device;
    search->reading->devices.call[device] = call;
    return SUTRA_OK;
}

/* The number of an event's thread; PAIR_NONE: out of memory. */
static uint32_t thread_of(struct link_search *search, row_t event) {
    const struct device_events *events = search->reading->events;
    uint32_t process = thread_number(&search->processes, (uint64_t)events->pid[event], 0);
    return process == PAIR_NONE ? PAIR_NONE : thread_number(&search->threads, (uint64_t)events->tid[event], process);
}

static enum sutra_status read_ids(struct link_search *search, const row_t *arrows, row_t n, const value_key **ids,
                                  struct sutra_error *error) {
    static const struct asked_field field = {"id", ASK_KEY, true};
    struct asked_column column;
    enum sutra_status status =
        event_columns_ask(search->context, search->reading->trace, &field, 1, arrows, n, &column, error);
    if (!status)
        *ids = column.key;
    return status;
}

/* ---- Our rules ---- */

/* row_of[event]: the row of hosts. */
static row_t *index_hosts(const struct op_reading *reading, struct arena *arena) {
    row_t *row_of = rows_none(arena, reading->events->n);
    for (row_t row = 0; row < reading->hosts.n && row_of; row++)
        row_of[reading->hosts.event[row]] = row;
    return row_of;
}

static enum sutra_status link_by_correlation(struct link_search *search, struct sutra_error *error) {
    struct op_reading *reading = search->reading;
    const struct device_rows *devices = &reading->devices;
    const struct event_lists *lists = search->lists;
    struct arena *scratch = search->scratch;
    struct arena_mark mark = arena_mark(scratch);
    row_t n_keys = 0;
    value_key *keys = arena_take(scratch, lists->n_calls, sizeof *keys),
              *wanted = arena_take(scratch, devices->n, sizeof *wanted);
    row_t *calls = arena_take(scratch, lists->n_calls, sizeof *calls),
          *found = arena_take(scratch, devices->n, sizeof *found);
    row_t *row_of = index_hosts(reading, scratch);
    enum sutra_status status = arena_status(scratch, error);
    for (row_t i = 0; i < lists->n_calls && !status; i++) {
        row_t event = lists->call[i];
        if (row_of[event] == ROW_NONE || !is_correlation(reading->events->correlation[event]))
            continue;
        keys[n_keys] = reading->events->correlation[event];
        calls[n_keys++] = row_of[event];
    }
    for (row_t i = 0; i < devices->n && !status; i++)
        wanted[i] = reading->events->correlation[devices->event[i]];
    struct join_step step = {keys, n_keys, wanted, devices->n, found};
    if (!status)
        status = search->context->engine.join(search->context->engine.state, &step, error);
    for (row_t i = 0; i < devices->n && !status; i++)
        if (found[i] != ROW_NONE)
            devices->call[i] = calls[found[i]];
    arena_release(scratch, mark);
    return status;
}

/* Where arrows lead: from the moment of a call on its thread over an id to a moment of work. */
struct arrow_tables {
    struct pair_table calls, ids, ends;
};

/* Arrows, those that end at work first. */
struct arrow_list {
    row_t *event;
    row_t n, n_ends;
};

static uint64_t moment_at(const struct link_search *search, row_t event) {
    return double_sort_key(number_as_double(number_at(search->reading->events->ts, event)));
}

/* The entry of an event's moment on its thread; NULL: out of memory. */
static struct pair_entry *moment_of(struct link_search *search, struct pair_table *table, row_t event) {
    uint32_t thread = thread_of(search, event);
    return thread == PAIR_NONE ? NULL : pair_table_take(table, moment_at(search, event), thread);
}

/* Moments of work that has no call. */
static bool note_work_alone(struct link_search *search, struct pair_table *ends) {
    const struct device_rows *devices = &search->reading->devices;
    bool ok = true;
    for (row_t i = 0; i < devices->n && ok; i++)
        ok = devices->call[i] != ROW_NONE || moment_of(search, ends, devices->event[i]);
    return ok;
}

/* Leaves, before ids are read, the arrows that end at work without a call, and where there are some, all that begin. */
static bool choose_arrows(struct link_search *search, const struct pair_table *ends, struct arrow_list *arrows) {
    const struct device_events *events = search->reading->events;
    row_t n = arrows->n, n_begins = 0;
    row_t *begins = arena_take(search->scratch, n, sizeof *begins);
    arrows->n_ends = 0;
    for (row_t i = 0; i < n && begins; i++) {
        row_t arrow = arrows->event[i];
        if (events->phase[arrow] == 's')
            begins[n_begins++] = arrow;
        if (events->phase[arrow] != 'f')
            continue;
        uint32_t thread = thread_of(search, arrow);
        if (thread == PAIR_NONE)
            return false;
        if (pair_table_seek(ends, moment_at(search, arrow), thread))
            arrows->event[arrows->n_ends++] = arrow;
    }
    arrows->n = arrows->n_ends ? arrows->n_ends + n_begins : 0;
    for (row_t i = 0; i < n_begins && arrows->n; i++)
        arrows->event[arrows->n_ends + i] = begins[i];
    return begins;
}

/* Leaves the arrows that begin with an id with which one ends, and notes the moments at which they do. */
static bool choose_begins(struct link_search *search, struct arrow_tables *tables, struct arrow_list *arrows,
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

/* Notes for the moments at which arrows begin the last call that begins then. */
static bool note_calls(struct link_search *search, struct pair_table *calls) {
    const struct host_rows *hosts = &search->reading->hosts;
    for (row_t row = 0; row < hosts->n; row++) {
        if (hosts->kind[row] != HOST_CALL)
            continue;
        uint32_t thread = thread_of(search, hosts->event[row]);
        if (thread == PAIR_NONE)
            return false;
        struct pair_entry *begin = pair_table_seek(calls, moment_at(search, hosts->event[row]), thread);
        if (begin)
            begin->number = row;
    }
    return true;
}

/* Notes for ids the call at which the arrow begins; then for moments at which arrows end the call of their id. */
static bool note_arrows(struct link_search *search, struct arrow_tables *tables, const struct arrow_list *arrows,
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

static bool take_ends(struct link_search *search, struct arrow_tables *tables) {
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
static enum sutra_status follow_arrows(struct link_search *search, struct arrow_tables *tables,
                                       struct arrow_list *arrows, struct sutra_error *error) {
    const value_key *ids = NULL;
    enum sutra_status status = read_ids(search, arrows->event, arrows->n, &ids, error);
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

static enum sutra_status link_by_arrows(struct link_search *search, struct sutra_error *error) {
    struct arrow_tables tables = {0};
    struct arrow_list arrows = {.event = search->lists->arrow, .n = search->lists->n_arrows};
    bool ok = pair_table_init(&tables.calls) && pair_table_init(&tables.ids) && pair_table_init(&tables.ends) &&
              note_work_alone(search, &tables.ends) && choose_arrows(search, &tables.ends, &arrows);
    enum sutra_status status = ok ? SUTRA_OK : error_memory(error);
    if (!status && arrows.n)
        status = follow_arrows(search, &tables, &arrows, error);
    pair_table_free(&tables.calls);
    pair_table_free(&tables.ids);
    pair_table_free(&tables.ends);
    return status;
}

static enum sutra_status link_ours(struct link_search *search, struct sutra_error *error) {
    const struct device_rows *devices = &search->reading->devices;
    row_t n_alone = 0;
    enum sutra_status status = link_by_correlation(search, error);
    for (row_t i = 0; i < devices->n; i++)
        n_alone += devices->call[i] == ROW_NONE;
    if (!status && n_alone)
        status = link_by_arrows(search, error);
    return status;
}

/* ---- The reference's rules ---- */

/* What the reference links by, and the arrows as it knows them. */
struct number_links {
    const value_key *of;    /* by event: the number that ties it to others */
    bool arrows;            /* the trace has some */
    struct pair_table ends; /* by number: the thread at which its last arrow ends */
    struct pair_table begins;
    struct pair_table work;  /* by number and thread: the last row of devices */
    struct pair_table first; /* by number: the first row of devices, */
    row_t *next;             /* and the one behind each */
};

static const value_key *choose_number(const struct op_reading *reading) {
    const struct device_events *events = reading->events;
    for (row_t event = 0; event < events->n; event++)
        if (category_roles(events, reading->roles, event) & CATEGORY_CALL &&
            text_compare(reading->strings, events->name[event], TEXT_HAS_IN_ANY_CASE, "launch"))
            return is_correlation(events->correlation[event]) ? events->correlation : events->external;
    return events->external;
}

static bool is_graph(const struct op_reading *reading, row_t event) {
    uint32_t name = reading->events->name[event];
    return text_compare(reading->strings, name, TEXT_IS, "cudaGraphLaunch") ||
           text_compare(reading->strings, name, TEXT_IS, "hipGraphLaunch");
}

static bool note_ends(struct link_search *search, struct number_links *links, const row_t *arrows, row_t n,
                      const value_key *ids) {
    const uint8_t *phase = search->reading->events->phase;
    bool ok = true;
    for (row_t i = 0; i < n && ok; i++) {
        bool begins = phase[arrows[i]] == 's', ends = phase[arrows[i]] == 'f';
        if (!begins && !ends)
            continue;
        struct pair_entry *entry = pair_table_take(begins ? &links->begins : &links->ends, (uint64_t)ids[arrows[i]], 0);
        uint32_t thread = thread_of(search, arrows[i]);
        ok = entry && thread != PAIR_NONE;
        if (ok)
            entry->number = thread;
    }
    return ok;
}

/* Work by number, and by number and thread; from the last to the first, so that chains are in the order of the file. */
static bool note_work(struct link_search *search, struct number_links *links) {
    const struct device_rows *devices = &search->reading->devices;
    for (row_t i = devices->n; i-- > 0;) {
        value_key number = links->of[devices->event[i]];
        uint32_t thread = thread_of(search, devices->event[i]);
        struct pair_entry *first = pair_table_take(&links->first, (uint64_t)number, 0);
        if (thread == PAIR_NONE || !first ||
            !pair_table_note(&links->work, (uint64_t)number, links->arrows ? thread : 0, i))
            return false;
        links->next[i] = first->number;
        first->number = i;
    }
    return true;
}

static enum sutra_status link_graph(struct link_search *search, const struct number_links *links, row_t call,
                                    value_key number, struct sutra_error *error) {
    const struct device_rows *devices = &search->reading->devices;
    enum sutra_status status = SUTRA_OK;
    row_t i = pair_table_find(&links->first, (uint64_t)number, 0);
    for (; i != PAIR_NONE && !status; i = links->next[i])
        if (devices->class[i] != DEVICE_NO_WORK)
            status = add_link(search, call, i, error);
    return status;
}

static enum sutra_status link_call(struct link_search *search, const struct number_links *links, row_t call,
                                   struct sutra_error *error) {
    const struct op_reading *reading = search->reading;
    row_t event = reading->hosts.event[call];
    value_key number = links->of[event];
    uint32_t thread = 0;
    if (!is_correlation(number))
        return SUTRA_OK;
    if (is_graph(reading, event))
        return link_graph(search, links, call, number, error);
    if (links->arrows) {
        thread = pair_table_find(&links->ends, (uint64_t)number, 0);
        if (thread == PAIR_NONE || pair_table_find(&links->begins, (uint64_t)number, 0) == PAIR_NONE)
            return SUTRA_OK;
    }
    row_t device = pair_table_find(&links->work, (uint64_t)number, thread);
    return device == PAIR_NONE ? SUTRA_OK : add_link(search, call, device, error);
}

static enum sutra_status link_calls(struct link_search *search, const struct number_links *links,
                                    struct sutra_error *error) {
    const struct op_reading *reading = search->reading;
    const struct event_lists *lists = search->lists;
    row_t *row_of = index_hosts(reading, search->scratch);
    enum sutra_status status = arena_status(search->scratch, error);
    for (row_t i = 0; i < lists->n_calls && !status; i++)
        if (row_of[lists->call[i]] != ROW_NONE)
            status = link_call(search, links, row_of[lists->call[i]], error);
    return status;
}

static enum sutra_status link_as_reference(struct link_search *search, struct sutra_error *error) {
    struct number_links links = {.of = choose_number(search->reading),
                                 .next = rows_none(search->scratch, search->reading->devices.n)};
    const row_t *arrows = search->lists->arrow;
    row_t n = search->lists->n_arrows;
    const value_key *ids = NULL;
    bool ok = links.next && pair_table_init(&links.ends) && pair_table_init(&links.begins) &&
              pair_table_init(&links.work) && pair_table_init(&links.first);
    enum sutra_status status = ok ? SUTRA_OK : error_memory(error);
    links.arrows = n > 0;
    if (!status && n)
        status = read_ids(search, arrows, n, &ids, error);
    if (!status && !(note_ends(search, &links, arrows, n, ids) && note_work(search, &links)))
        status = error_memory(error);
    if (!status)
        status = link_calls(search, &links, error);
    pair_table_free(&links.ends);
    pair_table_free(&links.begins);
    pair_table_free(&links.work);
    pair_table_free(&links.first);
    return status;
}

/* ---- All links, by call ---- */

/* Deals links out to their calls; `call` and `device` are those of each. */
static enum sutra_status order_links(const row_t *call, const row_t *device, row_t n, struct op_reading *reading,
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

enum sutra_status call_links_order(struct op_reading *reading, struct arena *arena, struct sutra_error *error) {
    return order_links(reading->devices.call, NULL, reading->devices.n, reading, arena, error);
}

enum sutra_status call_links_find(struct sutra_context *context, struct op_reading *reading,
                                  const struct event_lists *lists, struct arena *arena, struct arena *scratch,
                                  struct sutra_error *error) {
    struct arena_mark mark = arena_mark(scratch);
    struct link_search search = {.context = context, .reading = reading, .lists = lists, .scratch = scratch};
    enum sutra_status status =
        thread_numbers_init(&search.processes) && thread_numbers_init(&search.threads) ? SUTRA_OK : error_memory(error);
    bool reference = reading->rules & READING_REFERENCE;
    if (!status)
        status = (reference ? link_as_reference : link_ours)(&search, error);
    if (!status)
        status = reference ? order_links(search.list.call, search.list.device, search.list.n, reading, arena, error)
                           : call_links_order(reading, arena, error);
    thread_numbers_free(&search.processes);
    thread_numbers_free(&search.threads);
    arena_release(scratch, mark);
    return status;
}
