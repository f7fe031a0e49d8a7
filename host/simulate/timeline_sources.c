/*
 * timeline_sources.c - calls, synchronisation events, streams and kernels of a device trace; see timeline_sources.h.
 */
#include <math.h>

#include "base/error.h"
#include "columns/hash_tables.h"
#include "context/context.h"
#include "facts/launches.h"
#include "facts/names.h"
#include "facts/times.h"
#include "match/key_index.h"
#include "read/device_trace.h"
#include "read/event_columns.h"
#include "simulate/timeline.h"
#include "simulate/timeline_sources.h"

/*
 * What the measured timeline takes from a device trace, whoever says which operators there are:
 * kernels with their launches, calls that wait for the GPU, and streams that wait for each other.
 *
 *     kernel --correlation--> call                                          its launch
 *     calls that synchronise --correlation--> cuda_sync event               what they wait for
 *     cuda_sync events "Stream Wait Event" --correlation--> calls           what streams wait for
 *
 *     begin, threads, (kernels begin, add ..., finish), calls and orders, free
 */

struct timeline_sources {
    struct sutra_context *context;
    const struct sutra_device_trace *trace;
    const struct device_events *events;
    struct arena *arena; /* of all columns */
    const struct string_roles *roles;

    row_t *calls, *syncs; /* events, as the file has them */
    row_t n_calls, n_syncs;
    struct key_index call_of, sync_of;          /* correlation -> first call, last synchronisation event */
    struct asked_column awaited_stream, record; /* of synchronisation events */

    struct key_index thread_of; /* tid -> position of an operator on it */
    const uint32_t *op_thread;  /* by position: the thread's number */

    struct pair_table stream_of; /* stream -> its number */
    uint32_t n_streams;
};

/* ---- Kernels ---- */

/* The columns while they are filled. */
struct kernel_columns {
    row_t n;
    uint64_t *id;
    double *start, *end, *launch_start, *launch_end;
    uint32_t *stream, *thread;
    row_t *event;
    uint8_t *traits;
};

/* ---- Calls and orders, once the streams of all kernels are known ---- */

static double timeline_event_start(const struct timeline_sources *sources, row_t event) {
    return number_as_double(number_at(sources->events->ts, event));
}

static double timeline_event_end(const struct timeline_sources *sources, row_t event) {
    return number_as_double(number_add(number_at(sources->events->ts, event), number_at(sources->events->dur, event)));
}

/* Whether the event lasts from one time to another. */
static bool timeline_event_lasts(const struct timeline_sources *sources, row_t event) {
    return sources->events->phase[event] == 'X' && isfinite(timeline_event_start(sources, event)) &&
           isfinite(timeline_event_end(sources, event));
}

/* ---- Calls and synchronisation events ---- */

static enum sutra_status list_calls(struct timeline_sources *sources, struct sutra_error *error) {
    const struct device_events *events = sources->events;
    sources->calls = arena_take(sources->arena, events->n, sizeof *sources->calls);
    sources->syncs = arena_take(sources->arena, events->n, sizeof *sources->syncs);
    if (sources->arena->failed)
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
    return SUTRA_OK;
}

/* From correlations to positions among the rows. */
static enum sutra_status index_correlations(const struct timeline_sources *sources, const row_t *rows, row_t n,
                                            enum key_choice choice, struct key_index *index,
                                            struct sutra_error *error) {
    struct arena_mark mark = arena_mark(sources->arena);
    value_key *keys = arena_take(sources->arena, n, sizeof *keys);
    if (!keys)
        return error_memory(error);
    for (row_t i = 0; i < n; i++)
        keys[i] = sources->events->correlation[rows[i]];
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

/* The call with the event's correlation, or ROW_NONE. */
static row_t timeline_call_of(const struct timeline_sources *sources, row_t event) {
    return find_call(sources, sources->events->correlation[event]);
}

static enum sutra_status read_syncs(struct timeline_sources *sources, struct sutra_error *error) {
    static const struct asked_field fields[] = {{"wait_on_stream", ASK_KEY, false},
                                                {"wait_on_cuda_event_record_corr_id", ASK_KEY, false}};
    struct asked_column columns[2];
    enum sutra_status status = event_columns_ask(sources->context, sources->trace, fields, 2, sources->syncs,
                                                 sources->n_syncs, columns, error);
    if (status)
        return status;
    sources->awaited_stream = columns[0];
    sources->record = columns[1];
    status = index_correlations(sources, sources->calls, sources->n_calls, KEY_FIRST, &sources->call_of, error);
    return status ? status
                  : index_correlations(sources, sources->syncs, sources->n_syncs, KEY_LAST, &sources->sync_of, error);
}

/* ---- Threads and streams ---- */

/* Tells the threads of the operators: events[i] runs on thread[i], which outlives the sources. */
static enum sutra_status timeline_sources_thread(struct timeline_sources *sources, const row_t *events,
                                                 const uint32_t *thread, row_t n, struct sutra_error *error) {
    struct arena_mark mark = arena_mark(sources->arena);
    value_key *tids = arena_take(sources->arena, n, sizeof *tids);
    if (!tids)
        return error_memory(error);
    for (row_t i = 0; i < n; i++)
        tids[i] = sources->events->tid[events[i]];
    enum sutra_status status =
        key_index_build(&sources->thread_of, &sources->context->engine, tids, n, KEY_FIRST, NULL, error);
    arena_release(sources->arena, mark);
    sources->op_thread = thread;
    return status;
}

static uint32_t thread_of(const struct timeline_sources *sources, row_t event) {
    row_t op = key_index_find(&sources->thread_of, sources->events->tid[event]);
    return op == ROW_NONE ? THREAD_UNKNOWN : sources->op_thread[op];
}

/* A stream's number; that of one without kernels is n_streams. */
static uint32_t stream_of(const struct timeline_sources *sources, value_key stream) {
    uint32_t number = pair_table_find(&sources->stream_of, (uint64_t)stream, 0);
    return number == PAIR_NONE ? sources->n_streams : number;
}

/* ---- Begin and end ---- */

/* Finds calls and synchronisation events. To be freed also after a failure. SUTRA_SYSTEM: out of memory. */
static enum sutra_status timeline_sources_begin(struct timeline_sources *sources, struct sutra_context *context,
                                                const struct sutra_device_trace *trace, struct arena *arena,
                                                struct sutra_error *error) {
    *sources = (struct timeline_sources){.context = context, .trace = trace, .events = &trace->events, .arena = arena};
    sources->roles = names_find(&trace->strings, READER_SIMULATE, arena);
    enum sutra_status status = sources->roles && pair_table_init(&sources->stream_of) ? SUTRA_OK : error_memory(error);
    if (!status)
        status = list_calls(sources, error);
    return status ? status : read_syncs(sources, error);
}

static void timeline_sources_free(struct timeline_sources *sources) {
    key_index_free(&sources->call_of);
    key_index_free(&sources->sync_of);
    key_index_free(&sources->thread_of);
    pair_table_free(&sources->stream_of);
}

/* ---- Kernels ---- */

/* Room for n kernels; false: out of memory. */
static bool timeline_kernels_begin(const struct timeline_sources *sources, size_t n, struct kernel_columns *columns) {
    *columns = (struct kernel_columns){
        .id = arena_take(sources->arena, n, sizeof(uint64_t)),
        .start = arena_take(sources->arena, n, sizeof(double)),
        .end = arena_take(sources->arena, n, sizeof(double)),
        .launch_start = arena_take(sources->arena, n, sizeof(double)),
        .launch_end = arena_take(sources->arena, n, sizeof(double)),
        .stream = arena_take(sources->arena, n, sizeof(uint32_t)),
        .thread = arena_take(sources->arena, n, sizeof(uint32_t)),
        .event = arena_take(sources->arena, n, sizeof(row_t)),
        .traits = arena_take(sources->arena, n, 1),
    };
    return !sources->arena->failed;
}

static uint8_t traits_of(const struct timeline_sources *sources, row_t event) {
    uint32_t name = name_roles(sources->events, sources->roles, event);
    return (uint8_t)((name & NAME_COPY ? KERNEL_COPIES : 0) | (name & NAME_PAGEABLE ? KERNEL_PAGEABLE : 0));
}

/* Adds one, by rising id; false: out of memory. */
static bool timeline_kernels_add(struct timeline_sources *sources, struct kernel_columns *columns, uint64_t id,
                                 row_t event) {
    struct pair_entry *stream = pair_table_take(&sources->stream_of, (uint64_t)sources->events->stream[event], 0);
    if (!stream)
        return false;
    if (stream->number == PAIR_NONE)
        stream->number = sources->n_streams++;
    row_t i = columns->n++, call = timeline_call_of(sources, event);
    columns->id[i] = id;
    columns->start[i] = timeline_event_start(sources, event);
    columns->end[i] = timeline_event_end(sources, event);
    columns->launch_start[i] = call == ROW_NONE ? columns->start[i] : timeline_event_start(sources, call);
    columns->launch_end[i] = call == ROW_NONE ? columns->start[i] : timeline_event_end(sources, call);
    columns->thread[i] = call == ROW_NONE ? THREAD_UNKNOWN : thread_of(sources, call);
    columns->stream[i] = stream->number;
    columns->event[i] = event;
    columns->traits[i] = traits_of(sources, event);
    return true;
}

static struct timeline_kernels timeline_kernels_finish(const struct timeline_sources *sources,
                                                       const struct kernel_columns *columns) {
    return (struct timeline_kernels){.n = columns->n,
                                     .n_streams = sources->n_streams,
                                     .id = columns->id,
                                     .start = columns->start,
                                     .end = columns->end,
                                     .stream = columns->stream,
                                     .launch_start = columns->launch_start,
                                     .launch_end = columns->launch_end,
                                     .launch_thread = columns->thread,
                                     .event = columns->event,
                                     .traits = columns->traits};
}

/* ---- Calls and orders ---- */

/* Whether a stream is told; -1 stands for all. */
static bool is_stream(value_key stream) {
    return key_is_value(stream) && stream != -1;
}

/* A call with what it waits for. */
static struct timeline_call call_at(const struct timeline_sources *sources, row_t call, uint32_t role) {
    row_t position = key_index_find(&sources->sync_of, sources->events->correlation[call]);
    bool told = is_correlation(sources->events->correlation[call]) && position != ROW_NONE;
    row_t sync = told ? sources->syncs[position] : ROW_NONE;
    struct timeline_call made = {.start = timeline_event_start(sources, call),
                                 .end = timeline_event_end(sources, call),
                                 .before = timeline_event_start(sources, call),
                                 .stream = STREAM_ANY,
                                 .thread = thread_of(sources, call)};
    if (role & NAME_EVENT_SYNC) {
        row_t record = told ? find_call(sources, sources->record.key[sync]) : ROW_NONE;
        made.stream = record == ROW_NONE ? sources->n_streams : stream_of(sources, sources->awaited_stream.key[sync]);
        made.before = record == ROW_NONE ? made.before : timeline_event_start(sources, record);
    } else if ((role & NAME_STREAM_SYNC) && told && is_stream(sources->events->stream[sync])) {
        made.stream = stream_of(sources, sources->events->stream[sync]);
    }
    return made;
}

static enum sutra_status read_calls(const struct timeline_sources *sources, struct timeline_calls *made,
                                    struct sutra_error *error) {
    *made = timeline_calls_alloc(sources->arena, sources->n_calls);
    if (sources->arena->failed)
        return error_memory(error);
    for (row_t i = 0; i < sources->n_calls; i++) {
        uint32_t role = name_roles(sources->events, sources->roles, sources->calls[i]);
        if (role & (NAME_STREAM_SYNC | NAME_CONTEXT_SYNC | NAME_EVENT_SYNC))
            timeline_calls_add(made, call_at(sources, sources->calls[i], role));
    }
    return SUTRA_OK;
}

/* The number of a stream that is told something; one without kernels gets one. STREAM_ANY: out of memory. */
static uint32_t number_stream(struct timeline_sources *sources, value_key stream) {
    struct pair_entry *entry = pair_table_take(&sources->stream_of, (uint64_t)stream, 0);
    if (!entry)
        return STREAM_ANY;
    if (entry->number == PAIR_NONE)
        entry->number = sources->n_streams++;
    return entry->number;
}

/* Columns of orders while they are filled. */
struct stream_order_columns {
    row_t n;
    uint32_t *stream, *awaited;
    double *call_start, *record_start;
};

/* Adds the order that an event tells, if its calls are there. False: out of memory. */
static bool add_order(struct timeline_sources *sources, row_t sync, row_t record,
                      struct stream_order_columns *columns) {
    row_t call = find_call(sources, sources->events->correlation[sync]), i = columns->n;
    if (call == ROW_NONE || record == ROW_NONE)
        return true;
    columns->stream[i] = number_stream(sources, sources->events->stream[sync]);
    columns->awaited[i] = number_stream(sources, sources->awaited_stream.key[sync]);
    columns->call_start[i] = timeline_event_start(sources, call);
    columns->record_start[i] = timeline_event_start(sources, record);
    columns->n++;
    return columns->stream[i] != STREAM_ANY && columns->awaited[i] != STREAM_ANY;
}

/* When streams were told to wait. */
static bool list_wait_calls(const struct timeline_sources *sources, struct timeline_orders *made) {
    double *calls = arena_take(sources->arena, sources->n_calls, sizeof *calls);
    for (row_t i = 0; calls && i < sources->n_calls; i++)
        if (name_roles(sources->events, sources->roles, sources->calls[i]) & NAME_WAIT_CALL)
            calls[made->n_calls++] = timeline_event_start(sources, sources->calls[i]);
    made->calls = calls;
    return calls;
}

static enum sutra_status read_orders(struct timeline_sources *sources, struct timeline_orders *made,
                                     struct sutra_error *error) {
    const row_t n_syncs = sources->n_syncs;
    struct stream_order_columns columns = {.stream = arena_take(sources->arena, n_syncs, sizeof(uint32_t)),
                                           .awaited = arena_take(sources->arena, n_syncs, sizeof(uint32_t)),
                                           .call_start = arena_take(sources->arena, n_syncs, sizeof(double)),
                                           .record_start = arena_take(sources->arena, n_syncs, sizeof(double))};
    bool done = !sources->arena->failed;
    *made = (struct timeline_orders){0};
    for (row_t i = 0; i < n_syncs && done; i++) {
        row_t sync = sources->syncs[i];
        if (!(name_roles(sources->events, sources->roles, sync) & NAME_STREAM_WAIT))
            continue;
        made->told = true;
        done = add_order(sources, sync, find_call(sources, sources->record.key[sync]), &columns);
    }
    if (!done || (!made->told && !list_wait_calls(sources, made)))
        return error_memory(error);
    made->n = columns.n;
    made->stream = columns.stream;
    made->awaited = columns.awaited;
    made->call_start = columns.call_start;
    made->record_start = columns.record_start;
    made->n_streams = sources->n_streams;
    return SUTRA_OK;
}

static enum sutra_status timeline_read_waits(struct timeline_sources *sources, struct timeline_input *input,
                                             struct sutra_error *error) {
    enum sutra_status status = read_orders(sources, &input->orders, error);
    return status ? status : read_calls(sources, &input->calls, error);
}

/*
 * Operators and kernels by their categories; calls and synchronisation events beside them are
 * timeline_sources.c's.
 */

static bool begins_inside(struct timeline_window window, double time) {
    return time >= window.begin && time < window.end;
}

static bool is_op(const struct timeline_sources *sources, struct timeline_window window, row_t event) {
    return category_roles(sources->events, sources->roles, event) & (CATEGORY_CPU_OP | CATEGORY_ANNOTATION) &&
           !(name_roles(sources->events, sources->roles, event) & NAME_STEP) && timeline_event_lasts(sources, event) &&
           begins_inside(window, timeline_event_start(sources, event));
}

static enum sutra_status read_ops_device_timeline(struct timeline_sources *sources, struct timeline_window window,
                                                  struct timeline_ops *made, struct sutra_error *error) {
    const struct device_events *events = sources->events;
    row_t *rows = arena_take(sources->arena, events->n, sizeof *rows), n = 0;
    if (!rows)
        return error_memory(error);
    for (row_t event = 0; event < events->n; event++)
        if (is_op(sources, window, event))
            rows[n++] = event;
    uint64_t *id = arena_take(sources->arena, n, sizeof *id);
    double *start = arena_take(sources->arena, n, sizeof *start);
    double *end = arena_take(sources->arena, n, sizeof *end);
    uint32_t *thread = arena_take(sources->arena, n, sizeof *thread), n_threads;
    if (sources->arena->failed)
        return error_memory(error);
    for (row_t i = 0; i < n; i++) {
        id[i] = rows[i];
        start[i] = timeline_event_start(sources, rows[i]);
        end[i] = timeline_event_end(sources, rows[i]);
    }
    enum sutra_status status = threads_number(events, rows, n, &sources->context->engine, sources->arena,
                                              &sources->thread_of, thread, &n_threads, error);
    if (status)
        return status;
    sources->op_thread = thread;
    *made = (struct timeline_ops){n, n_threads, id, start, end, thread};
    return SUTRA_OK;
}

static bool is_kernel(const struct timeline_sources *sources, struct timeline_window window, row_t event) {
    if (!(category_roles(sources->events, sources->roles, event) & CATEGORY_WORK) ||
        !timeline_event_lasts(sources, event))
        return false;
    row_t call = timeline_call_of(sources, event);
    return begins_inside(window, timeline_event_start(sources, call == ROW_NONE ? event : call));
}

static bool add_kernels_device_timeline(struct timeline_sources *sources, struct timeline_window window,
                                        struct kernel_columns *columns) {
    for (row_t event = 0; event < sources->events->n; event++) {
        if (!is_kernel(sources, window, event))
            continue;
        if (!timeline_kernels_add(sources, columns, event, event))
            return false;
        if (name_roles(sources->events, sources->roles, event) & NAME_NCCL)
            columns->traits[columns->n - 1] |= KERNEL_COMMUNICATES;
    }
    return true;
}

static enum sutra_status read_kernels(struct timeline_sources *sources, struct timeline_window window,
                                      struct timeline_kernels *made, struct sutra_error *error) {
    struct kernel_columns columns;
    row_t n = 0;
    for (row_t event = 0; event < sources->events->n; event++)
        n += is_kernel(sources, window, event);
    if (!timeline_kernels_begin(sources, n, &columns) || !add_kernels_device_timeline(sources, window, &columns))
        return error_memory(error);
    *made = timeline_kernels_finish(sources, &columns);
    return SUTRA_OK;
}

enum sutra_status device_timeline_read(struct sutra_context *context, const struct sutra_device_trace *trace,
                                       struct timeline_window window, struct arena *arena, struct timeline_input *input,
                                       struct sutra_error *error) {
    struct timeline_sources sources;
    enum sutra_status status = timeline_sources_begin(&sources, context, trace, arena, error);
    if (!status)
        status = read_ops_device_timeline(&sources, window, &input->ops, error);
    if (!status)
        status = read_kernels(&sources, window, &input->kernels, error);
    if (!status)
        status = timeline_read_waits(&sources, input, error);
    input->first_new_id = trace->events.n;
    timeline_sources_free(&sources);
    return status;
}

/*
 * Times of what was linked; calls and synchronisation events beside it are timeline_sources.c's.
 *
 *     unit of the host trace --linked to--> CPU operator     an operator of the timeline
 *             \--its GPU operators--> event                  a kernel
 */

static enum sutra_status read_ops_linked_timeline(const struct timeline_sources *sources,
                                                  const struct sutra_linked *linked, struct timeline_ops *made,
                                                  struct sutra_error *error) {
    const struct device_ops *ops = &linked->ops;
    const row_t n_units = linked->units.n_units;
    uint64_t *id = arena_take(sources->arena, n_units, sizeof *id);
    double *start = arena_take(sources->arena, n_units, sizeof *start);
    double *end = arena_take(sources->arena, n_units, sizeof *end);
    uint32_t *thread = arena_take(sources->arena, n_units, sizeof *thread);
    if (sources->arena->failed)
        return error_memory(error);
    row_t n = 0;
    for (row_t unit = 0; unit < n_units; unit++) {
        row_t op = linked->unit_op[unit];
        if (op == ROW_NONE || !timeline_event_lasts(sources, ops->cpu_event[op]))
            continue;
        id[n] = linked->unit_id[unit];
        start[n] = timeline_event_start(sources, ops->cpu_event[op]);
        end[n] = timeline_event_end(sources, ops->cpu_event[op]);
        thread[n++] = ops->cpu.thread[op];
    }
    *made = (struct timeline_ops){n, ops->cpu.n_threads, id, start, end, thread};
    return SUTRA_OK;
}

static bool add_kernels_linked_timeline(struct timeline_sources *sources, const struct sutra_linked *linked,
                                        struct kernel_columns *columns) {
    for (row_t unit = 0; unit < linked->units.n_units; unit++) {
        row_t n;
        const row_t *events = linked_gpu_ops(linked, unit, &n);
        for (row_t i = 0; i < n; i++)
            if (timeline_event_lasts(sources, events[i]) &&
                !timeline_kernels_add(sources, columns, (uint64_t)linked->unit_id[unit] + 1 + i, events[i]))
                return false;
    }
    return true;
}

static enum sutra_status read_all(struct timeline_sources *sources, const struct sutra_linked *linked,
                                  struct timeline_input *input, struct sutra_error *error) {
    const struct device_ops *ops = &linked->ops;
    struct kernel_columns columns;
    enum sutra_status status = timeline_sources_thread(sources, ops->cpu_event, ops->cpu.thread, ops->cpu.n, error);
    if (!status)
        status = read_ops_linked_timeline(sources, linked, &input->ops, error);
    if (status)
        return status;
    if (!timeline_kernels_begin(sources, linked->report.n_gpu_nodes, &columns) ||
        !add_kernels_linked_timeline(sources, linked, &columns))
        return error_memory(error);
    input->kernels = timeline_kernels_finish(sources, &columns);
    return timeline_read_waits(sources, input, error);
}

enum sutra_status linked_timeline_read(struct sutra_context *context, const struct sutra_linked *linked,
                                       struct arena *arena, struct timeline_input *input, struct sutra_error *error) {
    struct timeline_sources sources;
    enum sutra_status status = timeline_sources_begin(&sources, context, linked->device, arena, error);
    if (!status)
        status = read_all(&sources, linked, input, error);
    timeline_sources_free(&sources);
    return status;
}
