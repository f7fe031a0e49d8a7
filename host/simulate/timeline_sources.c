/*
 * timeline_sources.c - reads measured operators, kernels and waits from a device trace or from ET+.
 *
 *     device trace, alone or linked                       ET+ alone
 *     operators: CPU operators and annotations, or the    operators: nodes with times
 *         linked CPU operators                            kernels: nodes with times of kernels, memcpys and memsets
 *     kernel --correlation--> call: its launch            launch: in the parent operator, after the preceding launch of
 *     synchronizing call --correlation--> cuda_sync           the stream, or right before the kernel if its stream was
 *         event: the stream or event to wait for              idle
 *     cuda_sync "Stream Wait Event" --correlation-->      waits: sync_dep of an operator, and long intervals without
 *         call: stream waits                                  operators that end with a kernel
 *
 * Cost: O(n log n).
 */
#include <math.h>

#include "base/error.h"
#include "columns/hash_tables.h"
#include "columns/rows.h"
#include "context/context.h"
#include "facts/kernel_class.h"
#include "facts/launches.h"
#include "facts/names.h"
#include "facts/times.h"
#include "facts/validity.h"
#include "link/link.h"
#include "match/key_index.h"
#include "read/device_trace.h"
#include "read/event_columns.h"
#include "simulate/node_graph.h"
#include "simulate/timeline.h"

/* ---- Columns ---- */

static struct timeline_ops ops_alloc(struct arena *arena, row_t n) {
    return (struct timeline_ops){
        .id = arena_alloc(arena, n, sizeof(uint64_t)),
        .start = arena_alloc(arena, n, sizeof(double)),
        .end = arena_alloc(arena, n, sizeof(double)),
        .thread = arena_alloc(arena, n, sizeof(uint32_t)),
    };
}

static struct timeline_kernels kernels_alloc(struct arena *arena, size_t n) {
    return (struct timeline_kernels){
        .id = arena_alloc(arena, n, sizeof(uint64_t)),
        .start = arena_alloc(arena, n, sizeof(double)),
        .end = arena_alloc(arena, n, sizeof(double)),
        .stream = arena_alloc(arena, n, sizeof(uint32_t)),
        .launch_start = arena_alloc(arena, n, sizeof(double)),
        .launch_end = arena_alloc(arena, n, sizeof(double)),
        .launch_thread = arena_alloc(arena, n, sizeof(uint32_t)),
        .traits = arena_alloc(arena, n, 1),
    };
}

static uint8_t traits_of_name(uint32_t roles) {
    return (uint8_t)((roles & NAME_COPY ? KERNEL_COPIES : 0) | (roles & NAME_PAGEABLE ? KERNEL_PAGEABLE : 0));
}

/* The number of a key, the next one if it is new. False: out of memory. */
static bool number_key(struct pair_table *table, uint64_t key, uint32_t kind, uint32_t *n, uint32_t *number) {
    struct pair_entry *entry = pair_table_insert(table, key, kind);
    if (!entry)
        return false;
    if (entry->number == PAIR_NONE)
        entry->number = (*n)++;
    *number = entry->number;
    return true;
}

/* ---- Device trace ---- */

struct timeline_sources {
    struct sutra_context *context;
    const struct device_events *events;
    struct arena *arena; /* of all columns */
    const struct string_roles *roles;
    struct kernel_kinds kinds;
    double clock_us; /* from the device's clock to the host's clock */

    row_t *calls, *syncs; /* rows of events */
    row_t n_calls, n_syncs;
    struct key_index call_of, sync_of;              /* correlation -> first call, last synchronization event */
    struct requested_column wait_on_stream, record; /* of synchronization events */

    struct key_index thread_of; /* tid -> position of an operator on it */
    const uint32_t *op_thread;  /* by position: the number of the thread */

    struct pair_table stream_of; /* stream -> its number */
    uint32_t n_streams;
};

static double timeline_event_start(const struct timeline_sources *sources, row_t event) {
    return number_as_double(number_at(sources->events->ts, event));
}

static double timeline_event_end(const struct timeline_sources *sources, row_t event) {
    return number_as_double(
        number_add(number_at(sources->events->ts, event), number_at(sources->events->usable_dur, event)));
}

/* Whether the event has a start and an end. */
static bool timeline_event_lasts(const struct timeline_sources *sources, row_t event) {
    return sources->events->phase[event] == 'X' && !(sources->events->flags[event] & EVENT_UNUSABLE) &&
           isfinite(timeline_event_start(sources, event)) && isfinite(timeline_event_end(sources, event));
}

/* Indexes the events of rows[] by the key in `column`. */
static enum sutra_status index_rows(const struct timeline_sources *sources, const value_key *column, const row_t *rows,
                                    row_t n, enum key_choice choice, struct key_index *index,
                                    struct sutra_error *error) {
    struct arena_mark mark = arena_mark(sources->arena);
    value_key *keys = arena_alloc(sources->arena, n, sizeof *keys);
    TRY(arena_status(sources->arena, error));
    for (row_t i = 0; i < n; i++)
        keys[i] = column[rows[i]];
    enum sutra_status status = key_index_build(index, &sources->context->engine, keys, n, choice, NULL, error);
    arena_release(sources->arena, mark);
    return status;
}

/* The call with a correlation, or ROW_NONE. */
static row_t find_call(const struct timeline_sources *sources, value_key correlation) {
    if (!is_correlation(correlation))
        return ROW_NONE;
    row_t position = key_index_find(&sources->call_of, correlation);
    return position == ROW_NONE ? ROW_NONE : sources->calls[position];
}

static row_t timeline_call_of(const struct timeline_sources *sources, row_t event) {
    return find_call(sources, sources->events->correlation[event]);
}

static uint32_t thread_of(const struct timeline_sources *sources, row_t event) {
    row_t op = key_index_find(&sources->thread_of, sources->events->tid[event]);
    return op == ROW_NONE ? THREAD_UNKNOWN : sources->op_thread[op];
}

/* The number of a stream; n_streams for a stream without kernels. */
static uint32_t stream_of(const struct timeline_sources *sources, value_key stream) {
    uint32_t number = pair_table_find(&sources->stream_of, (uint64_t)stream, 0);
    return number == PAIR_NONE ? sources->n_streams : number;
}

/* Finds calls and synchronization events. To be freed also after a failure. SUTRA_SYSTEM: out of memory. */
static enum sutra_status timeline_sources_begin(struct timeline_sources *sources, struct sutra_context *context,
                                                const struct sutra_device_trace *trace, struct arena *arena,
                                                struct sutra_error *error) {
    static const struct requested_field fields[] = {{"wait_on_stream", ASK_KEY, false},
                                                    {"wait_on_cuda_event_record_corr_id", ASK_KEY, false}};
    const struct device_events *events = &trace->events;
    struct requested_column columns[2];
    *sources = (struct timeline_sources){.context = context,
                                         .events = events,
                                         .arena = arena,
                                         .clock_us = -trace->validity->clock_difference_us,
                                         .roles = names_find(&trace->strings, READER_SIMULATE, arena),
                                         .calls = arena_alloc(arena, events->n, sizeof *sources->calls),
                                         .syncs = arena_alloc(arena, events->n, sizeof *sources->syncs)};
    sources->kinds = kernel_kinds_begin(events, &trace->strings, sources->roles, arena);
    if (!sources->roles || !pair_table_init(&sources->stream_of) || arena->failed)
        return error_memory(error);
    for (row_t event = 0; event < events->n; event++) {
        uint32_t category = category_roles(events, sources->roles, event);
        if (!(category & (CATEGORY_CALL | CATEGORY_SYNC)) || !timeline_event_lasts(sources, event))
            continue;
        if (category & CATEGORY_SYNC)
            sources->syncs[sources->n_syncs++] = event;
        else
            sources->calls[sources->n_calls++] = event;
    }
    TRY(event_columns_request(context, trace, fields, 2, sources->syncs, sources->n_syncs, columns, error));
    sources->wait_on_stream = columns[0];
    sources->record = columns[1];
    TRY(index_rows(sources, events->correlation, sources->calls, sources->n_calls, KEY_FIRST, &sources->call_of,
                   error));
    return index_rows(sources, events->correlation, sources->syncs, sources->n_syncs, KEY_LAST, &sources->sync_of,
                      error);
}

static void timeline_sources_free(struct timeline_sources *sources) {
    key_index_free(&sources->call_of);
    key_index_free(&sources->sync_of);
    key_index_free(&sources->thread_of);
    pair_table_free(&sources->stream_of);
}

/* Adds a kernel, by ascending id. False: out of memory. */
static bool add_kernel(struct timeline_sources *sources, struct timeline_kernels *kernels, uint64_t id, row_t event) {
    row_t i = kernels->n++, call = timeline_call_of(sources, event);
    kernels->id[i] = id;
    kernels->start[i] = timeline_event_start(sources, event) + sources->clock_us;
    kernels->end[i] = timeline_event_end(sources, event) + sources->clock_us;
    kernels->launch_start[i] = call == ROW_NONE ? kernels->start[i] : timeline_event_start(sources, call);
    kernels->launch_end[i] = call == ROW_NONE ? kernels->start[i] : timeline_event_end(sources, call);
    kernels->launch_thread[i] = call == ROW_NONE ? THREAD_UNKNOWN : thread_of(sources, call);
    kernels->event[i] = event;
    kernels->traits[i] = traits_of_name(name_roles(sources->events, sources->roles, event));
    return number_key(&sources->stream_of, (uint64_t)sources->events->stream[event], 0, &sources->n_streams,
                      &kernels->stream[i]);
}

/* A call with the stream and the time up to which it waits. */
static struct timeline_call call_at(const struct timeline_sources *sources, row_t call, uint32_t role) {
    row_t position = key_index_find(&sources->sync_of, sources->events->correlation[call]);
    bool has_sync = is_correlation(sources->events->correlation[call]) && position != ROW_NONE;
    row_t sync = has_sync ? sources->syncs[position] : ROW_NONE;
    struct timeline_call made = {.start = timeline_event_start(sources, call),
                                 .end = timeline_event_end(sources, call),
                                 .before = timeline_event_start(sources, call),
                                 .stream = STREAM_ANY,
                                 .thread = thread_of(sources, call)};
    if (role & NAME_EVENT_SYNC) {
        row_t record = has_sync ? find_call(sources, sources->record.key[sync]) : ROW_NONE;
        made.stream = record == ROW_NONE ? sources->n_streams : stream_of(sources, sources->wait_on_stream.key[sync]);
        made.before = record == ROW_NONE ? made.before : timeline_event_start(sources, record);
    } else if ((role & NAME_STREAM_SYNC) && has_sync && key_is_value(sources->events->stream[sync]) &&
               sources->events->stream[sync] != -1) { /* -1: all streams */
        made.stream = stream_of(sources, sources->events->stream[sync]);
    }
    return made;
}

/* Reads stream waits and synchronizing calls; the streams of all kernels have numbers already. */
static enum sutra_status read_waits(struct timeline_sources *sources, struct timeline_input *input,
                                    struct sutra_error *error) {
    struct arena *arena = sources->arena;
    struct timeline_orders *orders = &input->orders;
    *orders = (struct timeline_orders){.stream = arena_alloc(arena, sources->n_syncs, sizeof *orders->stream),
                                       .awaited = arena_alloc(arena, sources->n_syncs, sizeof *orders->awaited),
                                       .call_start = arena_alloc(arena, sources->n_syncs, sizeof(double)),
                                       .record_start = arena_alloc(arena, sources->n_syncs, sizeof(double))};
    TRY(arena_status(arena, error));
    for (row_t s = 0; s < sources->n_syncs; s++) {
        row_t sync = sources->syncs[s], i = orders->n;
        if (!(name_roles(sources->events, sources->roles, sync) & NAME_STREAM_WAIT))
            continue;
        orders->recorded = true;
        row_t call = timeline_call_of(sources, sync), record = find_call(sources, sources->record.key[sync]);
        if (call == ROW_NONE || record == ROW_NONE)
            continue;
        orders->call_start[i] = timeline_event_start(sources, call);
        orders->record_start[i] = timeline_event_start(sources, record);
        /* Streams without kernels get numbers, too. */
        TRY_ALLOC(number_key(&sources->stream_of, (uint64_t)sources->events->stream[sync], 0, &sources->n_streams,
                             &orders->stream[i]) &&
                      number_key(&sources->stream_of, (uint64_t)sources->wait_on_stream.key[sync], 0,
                                 &sources->n_streams, &orders->awaited[i]),
                  error);
        orders->n++;
    }
    orders->n_streams = sources->n_streams;

    double *wait_calls = arena_alloc(arena, orders->recorded ? 0 : sources->n_calls, sizeof *wait_calls);
    orders->calls = wait_calls;
    input->calls = timeline_calls_alloc(arena, sources->n_calls);
    TRY(arena_status(arena, error));
    for (row_t i = 0; i < sources->n_calls; i++) {
        uint32_t role = name_roles(sources->events, sources->roles, sources->calls[i]);
        if (!orders->recorded && (role & NAME_WAIT_CALL))
            wait_calls[orders->n_calls++] = timeline_event_start(sources, sources->calls[i]);
        if (role & (NAME_STREAM_SYNC | NAME_CONTEXT_SYNC | NAME_EVENT_SYNC))
            timeline_calls_add(&input->calls, call_at(sources, sources->calls[i], role));
    }
    return SUTRA_OK;
}

static bool is_inside(const double window[2], double time) {
    return time >= window[0] && time < window[1];
}

static enum sutra_status read_ops(struct timeline_sources *sources, const double window[2], struct timeline_ops *ops,
                                  struct sutra_error *error) {
    const struct device_events *events = sources->events;
    row_t *rows = arena_alloc(sources->arena, events->n, sizeof *rows), n = 0;
    TRY(arena_status(sources->arena, error));
    for (row_t event = 0; event < events->n; event++)
        if (category_roles(events, sources->roles, event) & (CATEGORY_CPU_OP | CATEGORY_ANNOTATION) &&
            !(name_roles(events, sources->roles, event) & NAME_STEP) && timeline_event_lasts(sources, event) &&
            is_inside(window, timeline_event_start(sources, event)))
            rows[n++] = event;
    *ops = ops_alloc(sources->arena, n);
    TRY(arena_status(sources->arena, error));
    ops->n = n;
    for (row_t i = 0; i < n; i++) {
        ops->id[i] = rows[i];
        ops->start[i] = timeline_event_start(sources, rows[i]);
        ops->end[i] = timeline_event_end(sources, rows[i]);
    }
    sources->op_thread = ops->thread;
    return threads_number(events, rows, n, &sources->context->engine, sources->arena, &sources->thread_of, ops->thread,
                          &ops->n_threads, error);
}

static bool is_kernel(struct timeline_sources *sources, const double window[2], row_t event) {
    if (!(category_roles(sources->events, sources->roles, event) & CATEGORY_WORK) ||
        !timeline_event_lasts(sources, event) || kernel_kind_of_event(&sources->kinds, event) == KIND_SYNC)
        return false;
    row_t call = timeline_call_of(sources, event);
    return is_inside(window, call == ROW_NONE ? timeline_event_start(sources, event) + sources->clock_us
                                              : timeline_event_start(sources, call));
}

static enum sutra_status read_kernels(struct timeline_sources *sources, const double window[2],
                                      struct timeline_kernels *kernels, struct sutra_error *error) {
    const struct device_events *events = sources->events;
    row_t n = 0;
    for (row_t event = 0; event < events->n; event++)
        n += is_kernel(sources, window, event);
    *kernels = kernels_alloc(sources->arena, n);
    kernels->event = arena_alloc(sources->arena, n, sizeof *kernels->event);
    TRY(arena_status(sources->arena, error));
    for (row_t event = 0; event < events->n; event++) {
        if (!is_kernel(sources, window, event))
            continue;
        TRY_ALLOC(add_kernel(sources, kernels, event, event), error);
        if (kernel_class_of_event(&sources->kinds, event) == DEVICE_COMMUNICATION)
            kernels->traits[kernels->n - 1] |= KERNEL_COMMUNICATES;
    }
    kernels->n_streams = sources->n_streams;
    return SUTRA_OK;
}

static enum sutra_status read_device(struct timeline_sources *sources, const double window[2],
                                     struct timeline_input *input, struct sutra_error *error) {
    TRY(read_ops(sources, window, &input->ops, error));
    TRY(read_kernels(sources, window, &input->kernels, error));
    return read_waits(sources, input, error);
}

enum sutra_status device_timeline_read(struct sutra_context *context, const struct sutra_device_trace *trace,
                                       const double window[2], struct arena *arena, struct timeline_input *input,
                                       struct sutra_error *error) {
    struct timeline_sources sources;
    enum sutra_status status = timeline_sources_begin(&sources, context, trace, arena, error);
    if (!status)
        status = read_device(&sources, window, input, error);
    input->first_new_id = trace->events.n;
    timeline_sources_free(&sources);
    return status;
}

/*
 * ---- Linked traces ----
 *
 *     unit of the host trace --linked to--> CPU operator     an operator of the timeline
 *             \--its GPU operators--> event                  a kernel
 */
static enum sutra_status read_linked(struct timeline_sources *sources, const struct sutra_linked *linked,
                                     struct timeline_input *input, struct sutra_error *error) {
    const struct device_ops *device_ops = &linked->ops;
    const row_t n_units = linked->units.n_units;
    struct timeline_ops *ops = &input->ops;
    struct timeline_kernels *kernels = &input->kernels;
    sources->op_thread = device_ops->cpu.thread;
    TRY(index_rows(sources, sources->events->tid, device_ops->cpu_event, device_ops->cpu.n, KEY_FIRST,
                   &sources->thread_of, error));
    *ops = ops_alloc(sources->arena, n_units);
    *kernels = kernels_alloc(sources->arena, linked->report.n_gpu_nodes);
    kernels->event = arena_alloc(sources->arena, linked->report.n_gpu_nodes, sizeof *kernels->event);
    TRY(arena_status(sources->arena, error));
    ops->n_threads = device_ops->cpu.n_threads;
    for (row_t unit = 0; unit < n_units; unit++) {
        row_t op = linked->unit_op[unit], n;
        if (op != ROW_NONE && timeline_event_lasts(sources, device_ops->cpu_event[op])) {
            ops->id[ops->n] = linked->unit_id[unit];
            ops->start[ops->n] = timeline_event_start(sources, device_ops->cpu_event[op]);
            ops->end[ops->n] = timeline_event_end(sources, device_ops->cpu_event[op]);
            ops->thread[ops->n++] = device_ops->cpu.thread[op];
        }
        const row_t *events = linked_gpu_ops(linked, unit, &n);
        for (row_t i = 0; i < n; i++)
            if (timeline_event_lasts(sources, events[i]) &&
                !add_kernel(sources, kernels, (uint64_t)linked->unit_id[unit] + 1 + i, events[i]))
                return error_memory(error);
    }
    kernels->n_streams = sources->n_streams;
    return read_waits(sources, input, error);
}

enum sutra_status linked_timeline_read(struct sutra_context *context, const struct sutra_linked *linked,
                                       struct arena *arena, struct timeline_input *input, struct sutra_error *error) {
    struct timeline_sources sources;
    enum sutra_status status = timeline_sources_begin(&sources, context, linked->device, arena, error);
    if (!status)
        status = read_linked(&sources, linked, input, error);
    timeline_sources_free(&sources);
    return status;
}

/* ---- ET+ ---- */

struct et_plus_timing {
    const struct node_graph *graph;
    const struct et_plus_nodes *et_plus;
    struct timeline_input *input;
    struct timeline_work work; /* to sort with */
    struct arena *arena;
    row_t *rows; /* with times, by ascending id */
    row_t n;
    const row_t *op_row, *kernel_row;   /* of the operators and kernels of the timeline */
    struct pair_table threads, streams; /* key -> number */
};

static bool lasts(const struct et_plus_nodes *et_plus, row_t row) {
    return isfinite(et_plus->start[row]) && isfinite(et_plus->end[row]) && et_plus->end[row] >= et_plus->start[row];
}

static bool list_rows(struct et_plus_timing *timing) {
    const struct node_graph *graph = timing->graph;
    const struct engine *engine = &graph->context->engine;
    uint64_t *ids = arena_alloc(timing->arena, graph->n_made, sizeof *ids);
    timing->rows = arena_alloc(timing->arena, graph->n_made, sizeof *timing->rows);
    if (timing->arena->failed)
        return false;
    for (row_t i = 0; i < graph->n_made; i++) {
        row_t row = graph->message[graph->made[i]];
        if (!lasts(timing->et_plus, row) || (timing->et_plus->flags[row] & ET_PLUS_IS_META))
            continue;
        ids[timing->n] = timing->et_plus->id[row];
        timing->rows[timing->n++] = row;
    }
    return !engine->sort_keys(engine->state, &(struct sort_keys_step){ids, timing->rows, timing->n}, NULL);
}

static uint64_t thread_id(const struct et_plus_timing *timing, row_t row) {
    return (uint64_t)timing->et_plus->number[ET_PLUS_TID - ET_PLUS_FIRST_NUMBER][row];
}

static bool read_plus_ops(struct et_plus_timing *timing) {
    struct timeline_ops *ops = &timing->input->ops;
    row_t *rows = arena_alloc(timing->arena, timing->n, sizeof *rows);
    *ops = ops_alloc(timing->arena, timing->n);
    if (timing->arena->failed)
        return false;
    for (row_t i = 0; i < timing->n; i++) {
        row_t row = timing->rows[i], op = ops->n;
        if (graph_is_gpu(timing->graph, row))
            continue;
        ops->id[op] = timing->et_plus->id[row];
        ops->start[op] = timing->et_plus->start[row];
        ops->end[op] = timing->et_plus->end[row];
        rows[ops->n++] = row;
        if (!number_key(&timing->threads, thread_id(timing, row), 0, &ops->n_threads, &ops->thread[op]))
            return false;
    }
    timing->op_row = rows;
    return true;
}

static bool read_plus_kernels(struct et_plus_timing *timing) {
    struct timeline_kernels *kernels = &timing->input->kernels;
    const row_t most = timing->n - timing->input->ops.n;
    row_t *rows = arena_alloc(timing->arena, most, sizeof *rows);
    *kernels = kernels_alloc(timing->arena, most);
    if (timing->arena->failed)
        return false;
    for (row_t i = 0; i < timing->n; i++) {
        row_t row = timing->rows[i], kernel = kernels->n;
        if (!graph_is_gpu(timing->graph, row))
            continue;
        bool none = timing->et_plus->flags[row] & ET_PLUS_NO_STREAM;
        kernels->id[kernel] = timing->et_plus->id[row];
        kernels->start[kernel] = timing->et_plus->start[row];
        kernels->end[kernel] = timing->et_plus->end[row];
        rows[kernels->n++] = row;
        if (!number_key(&timing->streams, none ? 0 : (uint64_t)timing->et_plus->stream[row], none, &kernels->n_streams,
                        &kernels->stream[kernel]))
            return false;
    }
    timing->kernel_row = rows;

    /* Copies and pageable memory, by the few distinct names of kernels. */
    struct strings names = {0};
    uint32_t *name = arena_alloc(timing->arena, kernels->n, sizeof *name);
    bool done = strings_init(&names) && name;
    for (row_t i = 0; i < kernels->n && done; i++) {
        struct et_text text = timing->et_plus->name[rows[i]];
        name[i] = strings_intern(&names, text.bytes, text.length);
        done = name[i] != STRING_NONE;
    }
    const struct string_roles *roles = done ? names_find(&names, READER_SIMULATE, timing->arena) : NULL;
    for (row_t i = 0; i < kernels->n && roles; i++)
        kernels->traits[i] = traits_of_name(roles[name[i]].name);
    strings_free(&names);
    return roles != NULL;
}

/* The parent of a kernel, if it is an operator with times; else ROW_NONE. */
static row_t launching_row(const struct et_plus_timing *timing, row_t kernel) {
    row_t parent = timing->graph->parent[timing->kernel_row[kernel]];
    bool is_op = parent != ROW_NONE && !graph_is_gpu(timing->graph, parent) && lasts(timing->et_plus, parent);
    return is_op ? parent : ROW_NONE;
}

/* The earliest launch of a kernel: in its operator, after the preceding launch of its stream. If the stream was idle,
 * the kernel started immediately. */
static double earliest_launch(const struct et_plus_timing *timing, row_t kernel, row_t op, double last_launch,
                              double last_end) {
    double start = timing->input->kernels.start[kernel];
    bool was_idle = start - last_end > LATENCY_US;
    double begin = was_idle ? timing->et_plus->end[op] : timing->et_plus->start[op];
    return fmin(fmax(begin, last_launch), start);
}

static bool guess_launches(struct et_plus_timing *timing) {
    struct timeline_kernels *kernels = &timing->input->kernels;
    double *launch_start = kernels->launch_start, *launch_end = kernels->launch_end;
    row_t *order = arena_alloc(timing->arena, kernels->n, sizeof *order);
    double *last_launch = arena_alloc(timing->arena, kernels->n_streams, sizeof *last_launch);
    double *last_end = arena_alloc(timing->arena, kernels->n_streams, sizeof *last_end);
    const double *keys[] = {kernels->end, kernels->start};
    if (timing->arena->failed || !timeline_sort(&timing->work, kernels->n, keys, 2, order))
        return false;
    for (uint32_t s = 0; s < kernels->n_streams; s++)
        last_launch[s] = last_end[s] = -INFINITY;
    for (row_t i = 0; i < kernels->n; i++) {
        row_t kernel = order[i], op = launching_row(timing, kernel);
        const uint32_t stream = kernels->stream[kernel];
        double start = kernels->start[kernel];
        launch_start[kernel] =
            op == ROW_NONE ? start : earliest_launch(timing, kernel, op, last_launch[stream], last_end[stream]);
        launch_end[kernel] = op == ROW_NONE ? start : fmax(launch_start[kernel], fmin(timing->et_plus->end[op], start));
        kernels->launch_thread[kernel] =
            op == ROW_NONE ? THREAD_UNKNOWN : pair_table_find(&timing->threads, thread_id(timing, op), 0);
        last_launch[stream] = launch_start[kernel];
        last_end[stream] = fmax(last_end[stream], kernels->end[kernel]);
    }
    return true;
}

/* Times of each thread: times[first[t]] .. ascending. */
struct thread_times {
    double *times;
    row_t *first;
};

/* Groups n times by thread and sorts them. */
static bool sort_times(const struct et_plus_timing *timing, const double *times, const uint32_t *thread, row_t n,
                       uint32_t n_threads, struct thread_times *sorted_times) {
    row_t *order = arena_alloc(timing->arena, n, sizeof *order);
    row_t *sorted = arena_alloc(timing->arena, n, sizeof *sorted);
    const double *keys[] = {times};
    sorted_times->times = arena_alloc(timing->arena, n, sizeof *sorted_times->times);
    sorted_times->first = arena_alloc(timing->arena, (size_t)n_threads + 1, sizeof *sorted_times->first);
    if (timing->arena->failed || !timeline_sort(&timing->work, n, keys, 1, order))
        return false;
    rows_bucket(order, n, thread, n_threads, sorted_times->first, sorted);
    for (row_t i = 0; i < n; i++)
        sorted_times->times[i] = times[sorted[i]];
    return true;
}

/* The last time of the thread before `time`, or -INFINITY. */
static double last_time_before(const struct thread_times *sorted_times, uint32_t thread, double time) {
    row_t first = sorted_times->first[thread], n = sorted_times->first[thread + 1] - first;
    row_t before = times_below(sorted_times->times + first, n, time);
    return before ? sorted_times->times[first + before - 1] : -INFINITY;
}

/* The first time of the thread that is not before `time`, or INFINITY. */
static double first_time_from(const struct thread_times *sorted_times, uint32_t thread, double time) {
    row_t first = sorted_times->first[thread], n = sorted_times->first[thread + 1] - first;
    row_t before = times_below(sorted_times->times + first, n, time);
    return before < n ? sorted_times->times[first + before] : INFINITY;
}

/* Whether a kernel ended between the starts of the preceding operator of the thread and of this one. Then the CPU
 * waited for it from *begin on, the last start or end before. */
static bool waited_before(const struct et_plus_timing *timing, const struct thread_times *starts,
                          const struct thread_times *all, row_t op, row_t kernel, double *begin) {
    const struct timeline_ops *ops = &timing->input->ops;
    const uint32_t thread = ops->thread[op];
    const double end = timing->input->kernels.end[kernel];
    if (end > ops->start[op] + 1 || end < last_time_before(starts, thread, ops->start[op]))
        return false;
    *begin = fmax(last_time_before(all, thread, end), timing->work.origin);
    return true;
}

/* If no operator starts or ends in such an interval and a kernel ends near its end, the CPU waited for the kernel. */
#define INTERVAL_US   20.0
#define INTERVAL_TAIL 0.1

static bool waited_in_interval(const struct thread_times *any, double end, double *begin, double *until) {
    *begin = last_time_before(any, 0, end);
    *until = first_time_from(any, 0, end);
    return isfinite(*begin) && *until - *begin > INTERVAL_US && *until - end < INTERVAL_TAIL * (*until - *begin);
}

/* Reads the next id of a list; *at is after the "[" or the preceding element. False at the end of the list. Other
 * elements are UINT64_MAX. */
static bool next_id(const char **at, uint64_t *id) {
    while (**at == ' ' || **at == '\t' || **at == '\n' || **at == '\r' || **at == ',')
        (*at)++;
    if (**at == ']' || !**at)
        return false;
    if (!unsigned_parse(*at, id))
        *id = UINT64_MAX;
    while (**at && **at != ',' && **at != ']')
        (*at)++;
    return true;
}

/* The list in sync_dep of an operator, after its "["; or an empty one. */
static const char *sync_list(const struct et_plus_timing *timing, row_t op) {
    uint64_t at = timing->et_plus->sync[timing->op_row[op]];
    return at ? timing->graph->et_plus->document->source.bytes + at + 1 : "]";
}

static void add_plus_wait(struct et_plus_timing *timing, double start, double end, uint32_t thread, row_t kernel) {
    const struct timeline_kernels *kernels = &timing->input->kernels;
    const struct timeline_call call = {start, end, nextafter(kernels->launch_start[kernel], INFINITY),
                                       kernels->stream[kernel], thread};
    timeline_calls_add(&timing->input->calls, call);
}

static bool read_plus_waits(struct et_plus_timing *timing) {
    size_t n_syncs = 0;
    for (row_t op = 0; op < timing->input->ops.n; op++) {
        uint64_t id;
        for (const char *at = sync_list(timing, op); next_id(&at, &id);)
            n_syncs++;
    }
    const size_t most = n_syncs + timing->input->kernels.n;
    struct thread_times starts, all, any; /* starts; starts and ends; the same over all threads */
    timing->input->calls = timeline_calls_alloc(timing->arena, most);
    const struct timeline_ops *ops = &timing->input->ops;
    const row_t n = ops->n;
    double *times = arena_alloc(timing->arena, 2 * (size_t)n, sizeof *times);
    uint32_t *thread = arena_alloc(timing->arena, 2 * (size_t)n, sizeof *thread);
    if (timing->arena->failed || most > ROW_LIMIT || n > ROW_LIMIT / 2)
        return false;
    for (row_t i = 0; i < n; i++) {
        times[i] = ops->start[i];
        times[n + i] = ops->end[i];
        thread[i] = thread[n + i] = ops->thread[i];
    }
    const uint32_t *same = arena_zeros(timing->arena, 2 * (size_t)n, sizeof *same);
    if (!sort_times(timing, times, thread, n, ops->n_threads, &starts) ||
        !sort_times(timing, times, thread, 2 * n, ops->n_threads, &all) || !same ||
        !sort_times(timing, times, same, 2 * n, 1, &any))
        return false;

    /* Kernels that sync_dep names. */
    for (row_t op = 0; op < ops->n; op++) {
        uint64_t id;
        double begin;
        for (const char *at = sync_list(timing, op); next_id(&at, &id);) {
            row_t kernel = find_ascending_id(timing->input->kernels.id, timing->input->kernels.n, id);
            if (kernel != timing->input->kernels.n && waited_before(timing, &starts, &all, op, kernel, &begin))
                add_plus_wait(timing, begin, ops->start[op], ops->thread[op], kernel);
        }
    }

    /* Kernels that end a long interval without starts and ends. */
    const struct timeline_kernels *kernels = &timing->input->kernels;
    double begin, until;
    for (row_t k = 0; k < kernels->n; k++)
        if (waited_in_interval(&any, kernels->end[k], &begin, &until))
            add_plus_wait(timing, begin, until, kernels->launch_thread[k], k);
    return true;
}

enum sutra_status et_plus_timeline_read(const struct node_graph *graph, struct arena *arena,
                                        struct timeline_input *input, struct sutra_error *error) {
    struct et_plus_timing timing = {.graph = graph,
                                    .et_plus = &graph->et_plus->nodes,
                                    .input = input,
                                    .work = {.input = input, .engine = &graph->context->engine, .arena = arena},
                                    .arena = arena};
    *input = (struct timeline_input){0};
    bool done = pair_table_init(&timing.threads) && pair_table_init(&timing.streams) && list_rows(&timing) &&
                read_plus_ops(&timing) && read_plus_kernels(&timing) && guess_launches(&timing);
    /* The origin is the first start. */
    double first = INFINITY;
    for (row_t i = 0; i < input->ops.n; i++)
        first = fmin(first, input->ops.start[i]);
    timing.work.origin = first;
    done = done && read_plus_waits(&timing);
    pair_table_free(&timing.streams);
    pair_table_free(&timing.threads);
    return done ? SUTRA_OK : error_memory(error);
}
