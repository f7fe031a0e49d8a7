/*
 * launches.c - implements launches.h: rows of GPU activities, the call that launched each of them, and the operator to
 * which each is attributed; then busy times, and the categories of launchers. hosts.c makes the rows of host events.
 *
 *     lists of events --+--> host rows (hosts.c) ----------------------+--> rows of calls --> links --> attribution
 *                       +--> device rows --> calls, as events of trace -+
 *
 * On the CPU engine, both branches run in parallel, so the search for calls works on events and not on host rows.
 *
 * Cost: O(n) in expectation, and a sort of the activities by start.
 */
#include <math.h>
#include <string.h>

#include "analyze/launches/launches.h"
#include "base/error.h"
#include "base/shared.h"
#include "base/threads.h"
#include "columns/column.h"
#include "columns/hash_tables.h"
#include "columns/rows.h"
#include "facts/launches.h"
#include "facts/op_categories.h"
#include "facts/times.h"
#include "match/intervals.h"
#include "match/steps.h"
#include "text/quantities.h"

/* ---- GPU activities ---- */

enum sutra_status sort_devices(struct device_rows *rows, struct arena *scratch, struct sutra_error *error) {
    struct arena_mark mark = arena_mark(scratch);
    uint64_t *keys = arena_alloc(scratch, rows->n, sizeof *keys);
    TRY(arena_status(scratch, error));
    for (row_t i = 0; i < rows->n; i++) {
        keys[i] = integer_sort_key(rows->start[i]);
        rows->by_start[i] = i;
    }
    TRY(cpu_sort_keys(NULL, &(struct sort_keys_step){keys, rows->by_start, rows->n}, error));
    arena_release(scratch, mark);
    return SUTRA_OK;
}

/* Makes rows of the listed events with known times, in file order and without calls, and sorts them by start. */
static enum sutra_status make_devices(struct launch_model *model, const struct exact_times *times,
                                      const struct event_lists *lists, struct arena *scratch,
                                      struct sutra_error *error) {
    const struct device_events *events = model->events;
    struct device_rows *rows = &model->devices;
    /* From the device's clock to the host's clock, so that no activity starts before its launch call. */
    const int64_t clock_difference = -llrint(model->trace->validity->clock_difference_us * model->ticks_per_us);
    struct kernel_kinds kinds = kernel_kinds_begin(events, model->strings, model->roles, scratch);
    TRY(arena_status(scratch, error));
    for (row_t i = 0; i < lists->n_device; i++) {
        row_t event = lists->device[i];
        if (!time_is_usable(events, event))
            continue;
        uint8_t kind = kernel_kind_of_event(&kinds, event), class = kernel_kinds[kind].class;
        if (class == DEVICE_NO_WORK) {
            model->n_syncs++;
            continue;
        }
        rows->event[rows->n] = event;
        rows->start[rows->n] = exact_start_ns(model->trace, times, event) + clock_difference;
        rows->stop[rows->n] = end_ticks(model, event, rows->start[rows->n]);
        rows->call[rows->n] = rows->launcher[rows->n] = ROW_NONE;
        rows->kind[rows->n] = kind;
        rows->class[rows->n++] = class;
    }
    return sort_devices(rows, scratch, error);
}

/* ---- Calls that launched activities ----
 *
 * Correlations decide (calls_by_correlation() of facts/launches.h). If no call has the correlation of an activity, or
 * the activity has no correlation, an arrow (category ac2g) from a call to the activity decides:
 *
 *     thread 7      | cudaLaunchKernel |           1. ends: activities without a call, by stream and start
 *                   s id 5 --.                     2. ids: of arrows that end at them
 *     stream 7               '--> f id 5           3. starts: of arrows with these ids, by thread and time
 *                                 | gemm |         4. calls that begin there
 *
 * `devices.call` is the event of the call here; find_call_rows() turns it into a row of hosts.
 */

enum sutra_status read_arrow_ids(struct sutra_context *context, const struct sutra_device_trace *trace,
                                 const row_t *arrows, row_t n, const value_key **ids, struct sutra_error *error) {
    static const struct requested_field field = {"id", ASK_KEY, true};
    struct requested_column column;
    TRY(event_columns_request(context, trace, &field, 1, arrows, n, &column, error));
    *ids = column.key;
    return SUTRA_OK;
}

struct arrow_search {
    struct launch_model *model;
    const struct exact_times *times;
    const struct event_lists *lists;
    struct event_threads threads;
    struct pair_table starts;      /* by time and thread: call that begins there */
    struct pair_table ids;         /* by arrow id: call */
    struct pair_table ends;        /* by time and stream: call */
    struct pair_table end_moments; /* times of `ends`, on any stream */
    row_t *arrow;                  /* selected arrows: first the arrows to an activity without a call */
    row_t n, n_ends;
};

static uint64_t time_key(const struct arrow_search *search, row_t event) {
    return double_sort_key(number_as_double(number_at(search->model->events->ts, event)));
}

/* The entry of an event's time and thread, a new one if there is none. NULL: out of memory. */
static struct pair_entry *moment_entry(struct arrow_search *search, struct pair_table *table, row_t event) {
    uint32_t thread = event_thread(&search->threads, search->model->events, event);
    return thread == PAIR_NONE ? NULL : pair_table_insert(table, time_key(search, event), thread);
}

/* Selects, before ids are read, the arrows that end at an activity without a call. If there are such arrows, also
 * selects all that start. False: out of memory. */
static bool select_arrows(struct arrow_search *search, struct arena *scratch) {
    const struct device_events *events = search->model->events;
    const struct device_rows *devices = &search->model->devices;
    for (row_t i = 0; i < devices->n; i++)
        if (devices->call[i] == ROW_NONE &&
            (!moment_entry(search, &search->ends, devices->event[i]) ||
             !pair_table_insert(&search->end_moments, time_key(search, devices->event[i]), 0)))
            return false;

    row_t n = search->lists->n_arrows, n_starts = 0;
    row_t *starts = arena_alloc(scratch, n, sizeof *starts);
    if (!starts)
        return false;
    search->arrow = search->lists->arrow;
    for (row_t i = 0; i < n; i++) {
        row_t arrow = search->arrow[i];
        if (events->phase[arrow] == 's')
            starts[n_starts++] = arrow;
        if (events->phase[arrow] != 'f' || !pair_table_seek(&search->end_moments, time_key(search, arrow), 0))
            continue;
        uint32_t thread = event_thread(&search->threads, events, arrow);
        if (thread == PAIR_NONE)
            return false;
        if (pair_table_seek(&search->ends, time_key(search, arrow), thread))
            search->arrow[search->n_ends++] = arrow;
    }
    search->n = search->n_ends ? search->n_ends + n_starts : 0;
    for (row_t i = 0; i < n_starts && search->n; i++)
        search->arrow[search->n_ends + i] = starts[i];
    return true;
}

/* Drops starts of arrows that end elsewhere, and finds the call that begins at each remaining start. Of several calls
 * that begin there it is the innermost: the shortest, and the last in the file. False: out of memory. */
static bool find_calls_at_starts(struct arrow_search *search, const value_key *ids) {
    const struct launch_model *model = search->model;
    for (row_t i = 0; i < search->n_ends; i++)
        if (!pair_table_insert(&search->ids, (uint64_t)ids[search->arrow[i]], 0))
            return false;
    row_t n = search->n_ends;
    for (row_t i = search->n_ends; i < search->n; i++) {
        row_t arrow = search->arrow[i];
        if (!pair_table_seek(&search->ids, (uint64_t)ids[arrow], 0))
            continue;
        search->arrow[n++] = arrow;
        if (!moment_entry(search, &search->starts, arrow))
            return false;
    }
    search->n = n;
    if (n == search->n_ends)
        return true;

    for (row_t i = 0; i < search->lists->n_calls; i++) {
        row_t call = search->lists->call[i];
        if (!time_is_usable(model->events, call))
            continue;
        uint32_t thread = event_thread(&search->threads, model->events, call);
        if (thread == PAIR_NONE)
            return false;
        struct pair_entry *entry = pair_table_seek(&search->starts, time_key(search, call), thread);
        if (!entry)
            continue;
        bool is_inner = entry->number == PAIR_NONE;
        if (!is_inner) {
            int64_t start = exact_start_ns(model->trace, search->times, call);
            int64_t other_start = exact_start_ns(model->trace, search->times, entry->number);
            is_inner = start != other_start
                           ? start > other_start
                           : end_ticks(model, call, start) <= end_ticks(model, entry->number, other_start);
        }
        if (is_inner)
            entry->number = call;
    }
    return true;
}

/* Passes the calls along the arrows, from starts through ids and ends to the activities. False: out of memory. */
static bool follow_arrows(struct arrow_search *search, const value_key *ids) {
    struct device_rows *devices = &search->model->devices;
    for (row_t i = search->n_ends; i < search->n; i++) {
        const struct pair_entry *start = moment_entry(search, &search->starts, search->arrow[i]);
        if (!start || !pair_table_note(&search->ids, (uint64_t)ids[search->arrow[i]], 0, start->number))
            return false;
    }
    for (row_t i = 0; i < search->n_ends; i++) {
        uint32_t call = pair_table_find(&search->ids, (uint64_t)ids[search->arrow[i]], 0);
        struct pair_entry *end = moment_entry(search, &search->ends, search->arrow[i]);
        if (!end)
            return false;
        if (call != PAIR_NONE)
            end->number = call;
    }
    for (row_t i = 0; i < devices->n; i++) {
        if (devices->call[i] != ROW_NONE)
            continue;
        const struct pair_entry *end = moment_entry(search, &search->ends, devices->event[i]);
        if (!end)
            return false;
        devices->call[i] = end->number == PAIR_NONE ? ROW_NONE : end->number;
    }
    return true;
}

/*
 * Ascend: arrows (category async_npu) begin on the thread of an operator, at its start or in it, and end at the
 * activity. The start of the arrow stands for the call until the rows of hosts exist (find_arrow_rows()).
 *
 *     thread 1   | aten::mm |                      id 5 -> the last start with this id
 *                s id 5 --.                        (stream, time) -> the last end there
 *     stream 3             '--> f id 5
 *                               | MatMul |
 */
static enum sutra_status find_arrows_to_npu(struct sutra_context *context, struct launch_model *model,
                                            const struct exact_times *times, const struct event_lists *lists,
                                            struct arena *scratch, struct sutra_error *error) {
    const struct device_events *events = model->events;
    struct device_rows *devices = &model->devices;
    struct arena_mark mark = arena_mark(scratch);
    row_t *arrows = arena_alloc(scratch, lists->n_arrows, sizeof *arrows), n = 0;
    TRY(arena_status(scratch, error));
    uint32_t category = strings_find(model->strings, "async_npu", strlen("async_npu"));
    for (row_t i = 0; i < lists->n_arrows; i++)
        if (events->category[lists->arrow[i]] == category)
            arrows[n++] = lists->arrow[i];
    const value_key *ids = NULL;
    enum sutra_status status = n ? read_arrow_ids(context, model->trace, arrows, n, &ids, error) : SUTRA_OK;
    if (status || n == 0)
        return status;

    struct event_threads threads = {0};
    struct pair_table starts = {0}, ends = {0};
    bool ok = event_threads_init(&threads) && pair_table_init(&starts) && pair_table_init(&ends);
    for (row_t i = 0; i < n && ok; i++)
        if (events->phase[arrows[i]] == 's' && exact_time_is_known(events, arrows[i]))
            ok = pair_table_note(&starts, (uint64_t)ids[arrows[i]], 0, arrows[i]);
    for (row_t i = 0; i < n && ok; i++) {
        uint32_t start =
            events->phase[arrows[i]] == 'f' ? pair_table_find(&starts, (uint64_t)ids[arrows[i]], 0) : PAIR_NONE;
        if (start == PAIR_NONE || !exact_time_is_known(events, arrows[i]))
            continue;
        uint32_t thread = event_thread(&threads, events, arrows[i]);
        ok = thread != PAIR_NONE &&
             pair_table_note(&ends, (uint64_t)exact_start_ns(model->trace, times, arrows[i]), thread, start);
    }
    for (row_t i = 0; i < devices->n && ok; i++) {
        if (devices->call[i] != ROW_NONE || !(category_roles(events, model->roles, devices->event[i]) & CATEGORY_NPU))
            continue;
        uint32_t thread = event_thread(&threads, events, devices->event[i]), start = PAIR_NONE;
        ok = thread != PAIR_NONE;
        if (ok)
            start = pair_table_find(&ends, (uint64_t)devices->start[i], thread);
        devices->call[i] = start == PAIR_NONE ? ROW_NONE : start;
        model->has_arrow_calls |= start != PAIR_NONE;
    }
    event_threads_free(&threads);
    pair_table_free(&starts);
    pair_table_free(&ends);
    arena_release(scratch, mark);
    return ok ? SUTRA_OK : error_memory(error);
}

static enum sutra_status find_calls_by_arrows(struct sutra_context *context, struct launch_model *model,
                                              const struct exact_times *times, const struct event_lists *lists,
                                              struct arena *scratch, struct sutra_error *error) {
    struct arrow_search search = {.model = model, .times = times, .lists = lists};
    const value_key *ids = NULL;
    bool ok = event_threads_init(&search.threads) && pair_table_init(&search.starts) && pair_table_init(&search.ids) &&
              pair_table_init(&search.ends) && pair_table_init(&search.end_moments) && select_arrows(&search, scratch);
    enum sutra_status status = SUTRA_OK;
    if (ok && search.n) {
        status = read_arrow_ids(context, model->trace, search.arrow, search.n, &ids, error);
        ok = status ||
             (find_calls_at_starts(&search, ids) && (search.n == search.n_ends || follow_arrows(&search, ids)));
    }
    pair_table_free(&search.starts);
    pair_table_free(&search.ids);
    pair_table_free(&search.ends);
    pair_table_free(&search.end_moments);
    event_threads_free(&search.threads);
    return ok ? status : error_memory(error);
}

/* ---- Links from rows of hosts to rows of devices ---- */

enum sutra_status find_call_rows(const struct launch_model *model, row_t *calls, row_t n, struct arena *scratch,
                                 struct sutra_error *error) {
    const struct host_rows *hosts = &model->hosts;
    struct arena_mark mark = arena_mark(scratch);
    struct row_ranks ranks = row_ranks_alloc(scratch, model->events->n);
    TRY(arena_status(scratch, error));
    for (row_t i = 0; i < n; i++)
        if (calls[i] != ROW_NONE)
            row_ranks_add(&ranks, calls[i]);
    row_t *row_of = arena_alloc(scratch, row_ranks_count(&ranks), sizeof *row_of);
    TRY(arena_status(scratch, error));
    for (row_t row = 0; row < hosts->n; row++)
        if (row_ranks_contain(&ranks, hosts->event[row]))
            row_of[row_rank(&ranks, hosts->event[row])] = row;
    for (row_t i = 0; i < n; i++)
        if (calls[i] != ROW_NONE)
            calls[i] = row_of[row_rank(&ranks, calls[i])];
    arena_release(scratch, mark);
    return SUTRA_OK;
}

enum sutra_status order_launch_links(struct launch_model *model, const row_t *call, const row_t *device, row_t n,
                                     struct arena *arena, struct sutra_error *error) {
    struct launch_links *links = &model->links;
    row_t n_hosts = model->hosts.n;
    *links = (struct launch_links){.first = arena_zeros(arena, (size_t)n_hosts + 2, sizeof *links->first),
                                   .device = arena_alloc(arena, n, sizeof *links->device)};
    TRY(arena_status(arena, error));
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

/* ---- Attribution to operators ---- */

/* Sets the launcher of each activity: the operator that a graph launch replays, else the innermost operator that runs
 * at its call, else the call. */
static void find_launchers(struct launch_model *model) {
    const struct host_rows *hosts = &model->hosts;
    struct device_rows *devices = &model->devices;
    for (row_t i = 0; i < devices->n; i++) {
        row_t call = devices->call[i];
        if (call == ROW_NONE)
            continue;
        row_t op = hosts->kind[call] == HOST_OPERATOR ? call : hosts->around[call];
        devices->launcher[i] = op != ROW_NONE && hosts->kind[op] == HOST_OPERATOR ? op : call;
        if (devices->replayed && devices->replayed[i] != ROW_NONE)
            devices->launcher[i] = devices->replayed[i];
    }
}

/* Numbers the launchers by start, with equal starts in the order of their first activity in the file. */
static enum sutra_status number_launchers(struct launch_model *model, struct arena *arena, struct arena *scratch,
                                          struct sutra_error *error) {
    const struct device_rows *devices = &model->devices;
    struct attribution_table *attributions = &model->attributions;
    struct arena_mark mark = arena_mark(scratch);
    *attributions = (struct attribution_table){.of_host = rows_none(arena, model->hosts.n),
                                               .host = arena_alloc(arena, devices->n, sizeof *attributions->host)};
    uint64_t *keys = arena_alloc(scratch, devices->n, sizeof *keys);
    TRY_ALLOC(!arena->failed && !scratch->failed, error);
    for (row_t i = 0; i < devices->n; i++) {
        row_t host = devices->launcher[i];
        if (host == ROW_NONE || attributions->of_host[host] != ROW_NONE)
            continue;
        keys[attributions->n] = integer_sort_key(model->hosts.start[host]);
        attributions->of_host[host] = attributions->n;
        attributions->host[attributions->n++] = host;
    }
    TRY(cpu_sort_keys(NULL, &(struct sort_keys_step){keys, attributions->host, attributions->n}, error));
    for (row_t i = 0; i < attributions->n; i++)
        attributions->of_host[attributions->host[i]] = i;
    arena_release(scratch, mark);
    return SUTRA_OK;
}

enum sutra_status launch_model_attribute(struct launch_model *model, struct arena *arena, struct arena *scratch,
                                         struct sutra_error *error) {
    find_launchers(model);
    return attribute_to_launchers(model, arena, scratch, error);
}

enum sutra_status attribute_to_launchers(struct launch_model *model, struct arena *arena, struct arena *scratch,
                                         struct sutra_error *error) {
    const struct device_rows *devices = &model->devices;
    struct attribution_table *attributions = &model->attributions;
    TRY(number_launchers(model, arena, scratch, error));
    attributions->first = arena_zeros(arena, (size_t)attributions->n + 2, sizeof *attributions->first);
    attributions->device = arena_alloc(arena, devices->n, sizeof *attributions->device);
    attributions->work = arena_alloc(arena, attributions->n, sizeof *attributions->work);
    attributions->direct = arena_alloc(arena, attributions->n, sizeof *attributions->direct);
    attributions->subtree = arena_alloc(arena, attributions->n, sizeof *attributions->subtree);
    TRY(arena_status(arena, error));

    /* The activities of each launcher, by start. */
    for (row_t i = 0; i < devices->n; i++)
        if (devices->launcher[i] != ROW_NONE)
            attributions->first[attributions->of_host[devices->launcher[i]] + 2]++;
    for (row_t i = 0; i < attributions->n; i++)
        attributions->first[i + 2] += attributions->first[i + 1];
    for (row_t k = 0; k < devices->n; k++) {
        row_t device = devices->by_start[k];
        if (devices->launcher[device] != ROW_NONE)
            attributions->device[attributions->first[attributions->of_host[devices->launcher[device]] + 1]++] = device;
    }

    /* The sum of their durations, and for how long any of them runs. */
    for (row_t i = 0; i < attributions->n; i++) {
        int64_t busy = 0, last_end = devices->start[attributions->device[attributions->first[i]]];
        wide_t sum = 0;
        for (row_t k = attributions->first[i]; k < attributions->first[i + 1]; k++) {
            int64_t start = devices->start[attributions->device[k]], stop = devices->stop[attributions->device[k]];
            int64_t from = MAX(start, last_end);
            sum += stop - start;
            busy += stop > from ? stop - from : 0;
            last_end = stop > from ? stop : last_end;
        }
        attributions->work[i] = sum;
        attributions->direct[i] = busy;
    }
    return launch_model_busy_time(model, attributions->host, attributions->n, scratch, attributions->subtree, error);
}

enum sutra_status launch_model_busy_time(const struct launch_model *model, const row_t *hosts, row_t n,
                                         struct arena *scratch, int64_t *ticks, struct sutra_error *error) {
    const struct device_rows *devices = &model->devices;
    const struct launch_links *links = &model->links;
    struct arena_mark mark = arena_mark(scratch);
    int64_t *start = arena_alloc(scratch, links->n, sizeof *start),
            *stop = arena_alloc(scratch, links->n, sizeof *stop);
    row_t *first = arena_alloc(scratch, n, sizeof *first), *last = arena_alloc(scratch, n, sizeof *last);
    TRY(arena_status(scratch, error));
    for (row_t i = 0; i < links->n; i++) {
        row_t device = links->device[i];
        start[i] = devices->start[device];
        stop[i] = devices->stop[device];
    }
    for (row_t i = 0; i < n; i++) {
        first[i] = links->first[hosts[i]];
        last[i] = links->first[model->hosts.end[hosts[i]]];
    }
    enum sutra_status status = range_cover(start, stop, links->n, first, last, n, scratch, ticks, error);
    arena_release(scratch, mark);
    return status;
}

/* ---- The model ---- */

enum sutra_status launch_model_keep(struct launch_model *model, const uint8_t *kept, struct arena *arena,
                                    struct arena *scratch, struct sutra_error *error) {
    struct device_rows *devices = &model->devices;
    row_t n = 0;
    for (row_t i = 0; i < devices->n; i++) {
        if (!kept[devices->event[i]])
            continue;
        devices->event[n] = devices->event[i];
        devices->start[n] = devices->start[i];
        devices->stop[n] = devices->stop[i];
        devices->class[n] = devices->class[i];
        devices->kind[n] = devices->kind[i];
        devices->call[n] = devices->call[i];
        devices->launcher[n++] = ROW_NONE;
    }
    devices->n = n;
    TRY(sort_devices(devices, scratch, error));
    TRY(order_launch_links(model, devices->call, NULL, devices->n, arena, error));
    return launch_model_attribute(model, arena, scratch, error);
}

/* The branch of devices, with memory and an error of its own. */
struct device_branch {
    struct sutra_context *context;
    struct launch_model *model;
    const struct exact_times *times;
    struct event_lists *lists;
    enum sutra_status status;
    struct sutra_error error;
};

static void run_device_branch(void *arg) {
    struct device_branch *branch = arg;
    struct launch_model *model = branch->model;
    const struct device_rows *devices = &model->devices;
    struct arena scratch = {0};
    row_t n_missing = 0; /* activities without a call */
    list_device_events(model, branch->lists);
    enum sutra_status status = make_devices(model, branch->times, branch->lists, &scratch, &branch->error);
    if (!status) {
        status = calls_by_correlation(model->events, model->roles, branch->lists->call, branch->lists->n_calls,
                                      devices->event, devices->n, &branch->context->engine, &scratch, devices->call,
                                      &branch->error);
        for (row_t i = 0; i < devices->n && !status; i++)
            n_missing += devices->call[i] == ROW_NONE;
    }
    if (!status && n_missing)
        status = find_arrows_to_npu(branch->context, model, branch->times, branch->lists, &scratch, &branch->error);
    if (!status && n_missing)
        status = find_calls_by_arrows(branch->context, model, branch->times, branch->lists, &scratch, &branch->error);
    branch->status = status;
    arena_free(&scratch);
}

struct launch_model launch_model_begin(const struct sutra_device_trace *trace, enum reader reader,
                                       struct arena *arena) {
    row_t n = trace->events.n; /* unused memory of columns is never touched */
    return (struct launch_model){.trace = trace,
                                 .events = &trace->events,
                                 .strings = &trace->strings,
                                 .ticks_per_us = NS_PER_US,
                                 .from = INT64_MIN,
                                 .to = INT64_MAX,
                                 .roles = names_find(&trace->strings, reader, arena),
                                 .devices = {.event = arena_alloc(arena, n, sizeof(row_t)),
                                             .start = arena_alloc(arena, n, sizeof(int64_t)),
                                             .stop = arena_alloc(arena, n, sizeof(int64_t)),
                                             .class = arena_alloc(arena, n, sizeof(uint8_t)),
                                             .kind = arena_alloc(arena, n, sizeof(uint8_t)),
                                             .call = arena_alloc(arena, n, sizeof(row_t)),
                                             .launcher = arena_alloc(arena, n, sizeof(row_t)),
                                             .by_start = arena_alloc(arena, n, sizeof(row_t))}};
}

void count_untimed(struct launch_model *model, const struct event_lists *lists) {
    model->n_untimed_hosts += lists->n_host_endless;
    model->n_untimed = (uint64_t)lists->n_host_endless + (lists->n_host - model->hosts.n) + lists->n_device_endless +
                       (lists->n_device - model->devices.n - model->n_syncs);
}

enum sutra_status launch_model_build(struct sutra_context *context, const struct sutra_device_trace *trace,
                                     unsigned options, struct arena *arena, struct arena *scratch,
                                     struct launch_model *model, struct sutra_error *error) {
    struct exact_times times;
    struct event_lists lists;
    struct device_branch branch = {.context = context, .model = model, .times = &times, .lists = &lists};
    struct background_call devices;
    struct arena_mark mark = arena_mark(scratch);
    const unsigned kinds = 1u << HOST_OPERATOR | 1u << HOST_CALL | 1u << HOST_ANNOTATION |
                           (options & LAUNCHES_NO_FRAMES ? 0 : 1u << HOST_FRAME);
    *model = launch_model_begin(trace, READER_TREE, arena);
    TRY(arena_status(arena, error));
    /* Start times that count from 1970 are doubles in steps of a quarter of a microsecond, so `times` refers to the
     * text of such starts, which is exact. */
    TRY(exact_times_find(context, trace, model->roles, scratch, &times, error));
    TRY(reserve_event_lists(model, kinds, CATEGORY_WORK, scratch, &lists, error));

    background_call_begin(&devices, context->engine.concurrent && pool_threads(context->pool) > 1, run_device_branch,
                          &branch);
    list_host_events(model, &lists);
    enum sutra_status status = make_host_rows(context, model, &times, &lists, arena, scratch, error);
    background_call_end(&devices);
    TRY(status);
    TRY(error_copy(error, branch.status, &branch.error));

    if (model->has_arrow_calls)
        TRY(find_arrow_rows(model, &times, scratch, error));
    TRY(find_call_rows(model, model->devices.call, model->devices.n, scratch, error));
    TRY(order_launch_links(model, model->devices.call, NULL, model->devices.n, arena, error));
    count_untimed(model, &lists);
    arena_release(scratch, mark);
    return launch_model_attribute(model, arena, scratch, error);
}

void launch_model_warn(struct sutra_context *context, const struct launch_model *model) {
    if (model->n_untimed_hosts)
        context_warn(context, "%s no valid start time and duration: skipped",
                     counted_text(model->n_untimed_hosts, "CPU event has", "CPU events have").text);
}

/* ---- Busy time by class ---- */

enum sutra_status merge_busy_intervals(const struct launch_model *model, const uint8_t *classes, const uint8_t *counts,
                                       int64_t from, int64_t to, const struct engine *engine, struct arena *scratch,
                                       struct merged *merged, struct sutra_error *error) {
    const struct device_rows *devices = &model->devices;
    struct arena_mark mark = arena_mark(scratch);
    int64_t *start = arena_alloc(scratch, devices->n, sizeof *start),
            *end = arena_alloc(scratch, devices->n, sizeof *end);
    uint32_t *class = arena_alloc(scratch, devices->n, sizeof *class);
    row_t n = 0;
    TRY(arena_status(scratch, error));
    for (row_t k = 0; k < devices->n; k++) {
        row_t i = devices->by_start[k];
        if (classes[i] == DEVICE_NO_WORK || (counts && !counts[i]))
            continue;
        start[n] = MAX(devices->start[i], from);
        end[n] = MIN(devices->stop[i], to);
        class[n] = classes[i];
        n += start[n] < end[n];
    }
    struct merge_intervals_step merge = {start, end, class, n, DEVICE_N_CLASSES, merged};
    TRY(engine->merge_intervals(engine->state, &merge, error));
    arena_release(scratch, mark);
    return SUTRA_OK;
}

/* Time of the states that have a class of `with` and none of `without`. */
static int64_t sum_states(const struct interval_states *states, int with, int without) {
    wide_t sum = 0;
    for (int state = 1; state < N_STATES; state++)
        if (state & with && !(state & without))
            sum += states->exact[state];
    return (int64_t)sum;
}

enum sutra_status measure_busy_times(const struct launch_model *model, const uint8_t *counts,
                                     const struct engine *engine, struct arena *scratch, struct busy_times *times,
                                     struct sutra_error *error) {
    enum { COMPUTE = 1 << DEVICE_COMPUTE, COMMUNICATION = 1 << DEVICE_COMMUNICATION, COPY = 1 << DEVICE_COPY };
    const struct device_rows *devices = &model->devices;
    struct merged merged = {0};
    struct interval_states states = {0};
    enum sutra_status status =
        merge_busy_intervals(model, devices->class, counts, INT64_MIN, INT64_MAX, engine, scratch, &merged, error);
    struct interval_states_step sweep = {&merged, DEVICE_N_CLASSES, 1, &states};
    if (!status)
        status = engine->interval_states(engine->state, &sweep, error);
    merged_free(&merged);
    TRY(status);

    /* Activities of no duration count for the first start and the last end only. */
    int64_t first = INT64_MAX, last = INT64_MIN;
    for (row_t i = 0; i < devices->n; i++) {
        if (devices->class[i] == DEVICE_NO_WORK || (counts && !counts[i]))
            continue;
        first = MIN(devices->start[i], first);
        last = MAX(devices->stop[i], last);
    }
    int64_t busy = sum_states(&states, COMPUTE | COMMUNICATION | COPY, 0), total = first <= last ? last - first : 0;
    *times = (struct busy_times){.compute = sum_states(&states, COMPUTE, 0),
                                 .exposed_communication = sum_states(&states, COMMUNICATION, COMPUTE),
                                 .exposed_copies = sum_states(&states, COPY, COMPUTE | COMMUNICATION),
                                 .busy = busy,
                                 .idle = total - busy,
                                 .total = total,
                                 .communication = sum_states(&states, COMMUNICATION, 0),
                                 .copies = sum_states(&states, COPY, 0)};
    return SUTRA_OK;
}

/*
 * ---- The category of each launcher ----
 *
 * By the name of the launcher; else by the name of the nearest enclosing operator with a known name, up to the first
 * module, so that a known operator's launches through other operators have its category; else by the name of the
 * launcher's first GPU activity.
 *
 * Cost: O(launchers) in expectation, and a look-up per name.
 */

static enum op_category category_by_kernel(const struct launch_model *model, row_t attribution) {
    row_t device = model->attributions.device[model->attributions.first[attribution]],
          first = model->devices.event[device];
    if (model->devices.class[device] == DEVICE_COMMUNICATION)
        return OP_COMMUNICATION;
    uint32_t name = host_name(model, model->attributions.host[attribution]), kernel = model->events->name[first];
    return op_category_find(strings_text(model->strings, name), strings_length(model->strings, name),
                            strings_text(model->strings, kernel), strings_length(model->strings, kernel), OP_TABLE_ALL);
}

/* Caches of the search. Rows that a search has passed are cut from later paths. */
struct known_search {
    const struct launch_model *model;
    uint8_t *of_name;   /* by name of operators: category plus 1; 0: not classified yet */
    uint8_t *is_module; /* by name of Python functions: 1 a module, 2 no module; 0: not classified yet */
    row_t *above;       /* by row of hosts */
};

/* Whether a search ends at a row: at modules, and at operators with a known name. */
static bool is_known(const struct known_search *search, row_t row) {
    const struct launch_model *model = search->model;
    uint32_t name = host_name(model, row);
    uint8_t *category = &search->of_name[name], *module = &search->is_module[name];
    switch (model->hosts.kind[row]) {
    case HOST_OPERATOR:
        if (!*category)
            *category = (uint8_t)(op_category_find(strings_text(model->strings, name),
                                                   strings_length(model->strings, name), NULL, 0, OP_TABLE_ALL) +
                                  1);
        return *category != OP_OTHER + 1;
    case HOST_FRAME:
        if (!*module)
            *module = host_is_module(model, row) ? 1 : 2;
        return *module == 1;
    default:
        return false;
    }
}

enum sutra_status categorize_launchers(const struct launch_model *model, struct arena *arena, struct arena *scratch,
                                       uint8_t **categories, struct sutra_error *error) {
    const struct attribution_table *attributions = &model->attributions;
    const struct host_rows *hosts = &model->hosts;
    uint8_t *made = arena_alloc(arena, attributions->n, sizeof *made);
    TRY(arena_status(arena, error));
    *categories = made;
    struct arena_mark mark = arena_mark(scratch);
    const struct known_search search = {.model = model,
                                        .of_name = arena_zeros(scratch, model->strings->n, sizeof *search.of_name),
                                        .is_module = arena_zeros(scratch, model->strings->n, 1),
                                        .above = arena_alloc(scratch, hosts->n, sizeof *search.above)};
    TRY(arena_status(scratch, error));
    if (hosts->n)
        memcpy(search.above, hosts->parent, hosts->n * sizeof *search.above);
    for (row_t i = 0; i < attributions->n; i++) { /* launchers are ordered by start */
        /* the row itself, or the innermost enclosing known row that has not ended when it starts */
        row_t row = attributions->host[i], known = row;
        if (!is_known(&search, row)) {
            known = search.above[row];
            while (known != ROW_NONE && (hosts->stop[known] <= hosts->start[row] || !is_known(&search, known)))
                known = search.above[known];
            compress_path(search.above, row, known);
        }
        bool found = known != ROW_NONE && hosts->kind[known] == HOST_OPERATOR;
        made[i] =
            found ? (uint8_t)(search.of_name[host_name(model, known)] - 1) : (uint8_t)category_by_kernel(model, i);
    }
    arena_release(scratch, mark);
    return SUTRA_OK;
}
