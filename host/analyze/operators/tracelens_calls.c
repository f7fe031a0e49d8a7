/*
 * tracelens_calls.c - which call started which work on the device, by the reference's rules.
 *
 * A number ties calls to work, the correlation, or the external id where the first launch of the trace has no
 * correlation. A call is looked at once, in the order of the file. That of a graph has all work with its number. Any
 * other has one event: the last one on the thread where the last arrow with this number ends, if an arrow with it
 * begins, too. Where the trace has no arrows at all, numbers alone decide. A later call takes over what an earlier one
 * started, but that still counts as started below the earlier one as well.
 *
 * Cost: O(n), in expectation.
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
    struct event_threads threads;
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
        uint32_t thread = event_thread(&search->threads, search->reading->events, arrows[i]);
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
        uint32_t thread = event_thread(&search->threads, search->reading->events, devices->event[i]);
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
    row_t n = 0, *calls = arena_take(search->scratch, lists->n_calls, sizeof *calls);
    enum sutra_status status = arena_status(search->scratch, error);
    for (row_t i = 0; i < lists->n_calls && !status; i++)
        if (exact_time_is_known(reading->events, lists->call[i]))
            calls[n++] = lists->call[i];
    if (!status)
        status = call_rows_find(reading, calls, n, search->scratch, error);
    for (row_t i = 0; i < n && !status; i++)
        status = link_call(search, links, calls[i], error);
    return status;
}

static enum sutra_status link_all(struct link_search *search, struct sutra_error *error) {
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
        status = arrow_ids_ask(search->context, search->reading->trace, arrows, n, &ids, error);
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

enum sutra_status tracelens_links_find(struct sutra_context *context, struct op_reading *reading,
                                       const struct event_lists *lists, struct arena *arena, struct arena *scratch,
                                       struct sutra_error *error) {
    struct arena_mark mark = arena_mark(scratch);
    struct link_search search = {.context = context, .reading = reading, .lists = lists, .scratch = scratch};
    const struct link_list *list = &search.list;
    enum sutra_status status = event_threads_init(&search.threads) ? SUTRA_OK : error_memory(error);
    if (!status)
        status = link_all(&search, error);
    if (!status)
        status = call_links_order(reading, list->call, list->device, list->n, arena, error);
    event_threads_free(&search.threads);
    arena_release(scratch, mark);
    return status;
}
