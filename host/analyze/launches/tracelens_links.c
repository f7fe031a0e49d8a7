/*
 * tracelens_links.c - calls and their GPU activity, by TraceLens' rules.
 *
 * A number links calls with GPU activity: the correlation, or the external id if the first launch of the trace has no
 * correlation. Each call is linked once, in file order. A call of a graph is linked with all activity with its number.
 * Any other call is linked with one event: the last one on the thread where the last arrow with this number ends, if
 * an arrow with this number also begins. If the trace has no arrows, numbers alone decide. A later call takes activity
 * from an earlier one, but the activity still counts as below the earlier call, too.
 *
 * Cost: O(n), in expectation.
 */
#include "analyze/launches/launches.h"
#include "base/error.h"
#include "columns/hash_tables.h"
#include "facts/launches.h"
#include "facts/times.h"

struct link_search {
    struct sutra_context *context;
    struct launch_model *model;
    const struct event_lists *lists;
    struct arena *scratch;
    row_t n, *call, *device; /* links, in the order in which they are found */
    uint64_t capacity;
    struct event_threads threads;
};

static enum sutra_status add_link(struct link_search *search, row_t call, row_t device, struct sutra_error *error) {
    uint64_t capacity = search->capacity;
    if (search->n == ROW_LIMIT)
        return error_set(error, SUTRA_DATA, "more than %u launches", ROW_LIMIT);
    if (!arena_grow(search->scratch, &search->call, search->n, &capacity, sizeof *search->call) ||
        !arena_grow(search->scratch, &search->device, search->n, &search->capacity, sizeof *search->device))
        return error_memory(error);
    search->call[search->n] = call;
    search->device[search->n++] = device;
    search->model->devices.call[device] = call;
    return SUTRA_OK;
}

/* Numbers, and the arrows by number. */
struct number_links {
    const value_key *of;    /* by event: its number */
    bool arrows;            /* the trace has some */
    struct pair_table ends; /* by number: the thread at which its last arrow ends */
    struct pair_table begins;
    struct pair_table work;  /* by number and thread: the last row of devices */
    struct pair_table first; /* by number: the first row of devices, */
    row_t *next;             /* and the next one after each */
};

static const value_key *choose_number(const struct launch_model *model) {
    const struct device_events *events = model->events;
    for (row_t event = 0; event < events->n; event++)
        if (category_roles(events, model->roles, event) & CATEGORY_CALL &&
            text_compare(model->strings, events->name[event], TEXT_HAS_IN_ANY_CASE, "launch"))
            return is_correlation(events->correlation[event]) ? events->correlation : events->external;
    return events->external;
}

static bool index_arrows(struct link_search *search, struct number_links *links, const row_t *arrows, row_t n,
                         const value_key *ids) {
    const uint8_t *phase = search->model->events->phase;
    bool ok = true;
    for (row_t i = 0; i < n && ok; i++) {
        bool begins = phase[arrows[i]] == 's', ends = phase[arrows[i]] == 'f';
        if (!begins && !ends)
            continue;
        struct pair_entry *entry =
            pair_table_insert(begins ? &links->begins : &links->ends, (uint64_t)ids[arrows[i]], 0);
        uint32_t thread = event_thread(&search->threads, search->model->events, arrows[i]);
        ok = entry && thread != PAIR_NONE;
        if (ok)
            entry->number = thread;
    }
    return ok;
}

/* Indexes activity by number, and by number and thread; from last to first, so that chains are in file order. */
static bool index_devices(struct link_search *search, struct number_links *links) {
    const struct device_rows *devices = &search->model->devices;
    for (row_t i = devices->n; i-- > 0;) {
        value_key number = links->of[devices->event[i]];
        uint32_t thread = event_thread(&search->threads, search->model->events, devices->event[i]);
        struct pair_entry *first = pair_table_insert(&links->first, (uint64_t)number, 0);
        if (thread == PAIR_NONE || !first ||
            !pair_table_note(&links->work, (uint64_t)number, links->arrows ? thread : 0, i))
            return false;
        links->next[i] = first->number;
        first->number = i;
    }
    return true;
}

static enum sutra_status link_call(struct link_search *search, const struct number_links *links, row_t call,
                                   struct sutra_error *error) {
    const struct launch_model *model = search->model;
    row_t event = model->hosts.event[call];
    uint32_t name = model->events->name[event], thread = 0;
    value_key number = links->of[event];
    if (!is_correlation(number))
        return SUTRA_OK;
    if (text_compare(model->strings, name, TEXT_IS, "cudaGraphLaunch") ||
        text_compare(model->strings, name, TEXT_IS, "hipGraphLaunch")) {
        enum sutra_status status = SUTRA_OK;
        row_t i = pair_table_find(&links->first, (uint64_t)number, 0);
        for (; i != PAIR_NONE && !status; i = links->next[i])
            if (model->devices.class[i] != DEVICE_NO_WORK)
                status = add_link(search, call, i, error);
        return status;
    }
    if (links->arrows) {
        thread = pair_table_find(&links->ends, (uint64_t)number, 0);
        if (thread == PAIR_NONE || pair_table_find(&links->begins, (uint64_t)number, 0) == PAIR_NONE)
            return SUTRA_OK;
    }
    row_t device = pair_table_find(&links->work, (uint64_t)number, thread);
    return device == PAIR_NONE ? SUTRA_OK : add_link(search, call, device, error);
}

static enum sutra_status link_all(struct link_search *search, struct sutra_error *error) {
    const struct event_lists *lists = search->lists;
    struct number_links links = {.of = choose_number(search->model),
                                 .next = rows_none(search->scratch, search->model->devices.n)};
    row_t *calls = arena_alloc(search->scratch, lists->n_calls, sizeof *calls), n_calls = 0;
    const row_t *arrows = lists->arrow;
    row_t n = lists->n_arrows;
    const value_key *ids = NULL;
    bool ok = calls && links.next && pair_table_init(&links.ends) && pair_table_init(&links.begins) &&
              pair_table_init(&links.work) && pair_table_init(&links.first);
    enum sutra_status status = ok ? SUTRA_OK : error_memory(error);
    links.arrows = n > 0;
    if (!status && n)
        status = read_arrow_ids(search->context, search->model->trace, arrows, n, &ids, error);
    if (!status && !(index_arrows(search, &links, arrows, n, ids) && index_devices(search, &links)))
        status = error_memory(error);
    for (row_t i = 0; i < lists->n_calls && !status; i++)
        if (exact_time_is_known(search->model->events, lists->call[i]))
            calls[n_calls++] = lists->call[i];
    if (!status)
        status = find_call_rows(search->model, calls, n_calls, search->scratch, error);
    for (row_t i = 0; i < n_calls && !status; i++)
        status = link_call(search, &links, calls[i], error);
    pair_table_free(&links.ends);
    pair_table_free(&links.begins);
    pair_table_free(&links.work);
    pair_table_free(&links.first);
    return status;
}

enum sutra_status find_tracelens_links(struct sutra_context *context, struct launch_model *model,
                                       const struct event_lists *lists, struct arena *arena, struct arena *scratch,
                                       struct sutra_error *error) {
    struct arena_mark mark = arena_mark(scratch);
    struct link_search search = {.context = context, .model = model, .lists = lists, .scratch = scratch};
    enum sutra_status status = event_threads_init(&search.threads) ? SUTRA_OK : error_memory(error);
    if (!status)
        status = link_all(&search, error);
    if (!status)
        status = order_launch_links(model, search.call, search.device, search.n, arena, error);
    event_threads_free(&search.threads);
    arena_release(scratch, mark);
    return status;
}
