/*
 * device_side.c - sorting and filtering events, choosing a segment, putting in the markers. O(n log n) to sort, else
 * O(n).
 *
 *     CPU operators by start   a b [DataLoader] c d e [DataLoader] f g h
 *     segments                 |      0       |        1         |  2  |    a segment ends with the first operator that
 *                                                                           begins when an annotated one has ended
 *     the chosen one, listed   process thread c d e ...                     a marker before each thread's first operator
 */
#include "legacy/device_side.h"

#include <string.h>

#include "base/error.h"
#include "columns/column.h"
#include "facts/names.h"
#include "facts/threads.h"
#include "match/key_index.h"

/* Host operators that the device trace lacks, as the older program takes it: a process and two threads. */
#define MARKERS_EXPECTED 3

static bool is_launch(uint32_t category, uint32_t name) {
    return category & CATEGORY_CALL && name & NAME_LAUNCH;
}

static void take_event(struct device_side *side, const struct string_roles *roles, row_t event) {
    const struct device_events *events = &side->trace->events;
    uint32_t category = category_roles(events, roles, event), name = name_roles(events, roles, event);
    if (name & NAME_STEP)
        side->step[side->n_steps++] = event;
    else if (category & (CATEGORY_CPU_OP | CATEGORY_ANNOTATION))
        side->cpu[side->n_cpu++] = event;
    else if (category & CATEGORY_LINKED_WORK)
        side->gpu[side->n_gpu++] = event;
    else if (category & CATEGORY_SET)
        side->n_memory_sets++;
    else if (category & CATEGORY_LAUNCH_FLOW && events->phase[event] == 's')
        side->flow_start[side->n_flow_start++] = event;
    else if (category & CATEGORY_LAUNCH_FLOW && events->phase[event] == 'f')
        side->flow_finish[side->n_flow_finish++] = event;
    else if (is_launch(category, name))
        side->launch[side->n_launches++] = event;
}

static struct device_side side_take(const struct sutra_device_trace *trace, struct arena *arena) {
    row_t n = trace->events.n;
    return (struct device_side){.trace = trace,
                                .cpu = arena_take(arena, n, sizeof(row_t)),
                                .launch = arena_take(arena, n, sizeof(row_t)),
                                .gpu = arena_take(arena, n, sizeof(row_t)),
                                .step = arena_take(arena, n, sizeof(row_t)),
                                .flow_start = arena_take(arena, n, sizeof(row_t)),
                                .flow_finish = arena_take(arena, n, sizeof(row_t))};
}

enum sutra_status device_side_read(struct device_side *side, struct sutra_context *context,
                                   const struct sutra_device_trace *trace, bool all_launches, struct arena *arena,
                                   struct sutra_error *error) {
    row_t n = trace->events.n;
    *side = side_take(trace, arena);
    struct arena_mark mark = arena_mark(arena);
    row_t *order = arena_take(arena, n, sizeof *order);
    enum reader reader = all_launches ? READER_LINKER : READER_OLDER_LINKER;
    struct string_roles *roles = names_find(&trace->strings, reader, arena);
    struct sort_numbers_step by_start = {trace->events.ts, n, order};
    enum sutra_status status = arena_status(arena, error);
    if (!status)
        status = context->engine.sort_numbers(context->engine.state, &by_start, error);
    for (row_t i = 0; i < n && !status; i++)
        take_event(side, roles, order[i]);
    arena_release(arena, mark);
    return status;
}

/* The segments while they are cut, and the best so far. */
struct cutting {
    struct device_side *side;
    row_t begin;     /* of the open segment */
    uint64_t wanted; /* operators, MARKERS_EXPECTED more than the best would have */
    uint64_t off_by; /* of the best */
};

static void close_segment(struct cutting *cutting, row_t end) {
    struct device_side *side = cutting->side;
    uint64_t length = (uint64_t)(end - cutting->begin) + MARKERS_EXPECTED;
    uint64_t off_by = length > cutting->wanted ? length - cutting->wanted : cutting->wanted - length;
    if (side->n_segments == 0 || off_by < cutting->off_by) {
        cutting->off_by = off_by;
        side->segment = cutting->begin;
        side->n_segment = end - cutting->begin;
    }
    side->n_segments++;
    cutting->begin = end;
}

/* A segment ends with the first operator that begins when an annotated one has ended; the rest is one more. */
static void cut_segments(struct cutting *cutting, const uint8_t *annotated) {
    struct device_side *side = cutting->side;
    const struct device_events *events = &side->trace->events;
    const struct number zero = number_integer(0);
    struct number end = number_integer(-1);
    bool seen = false;
    for (row_t i = 0; i < side->n_cpu; i++) {
        row_t event = side->cpu[i];
        struct number ts = number_at(events->ts, event);
        if (number_compare(end, zero) > 0 && number_compare(ts, end) >= 0) {
            close_segment(cutting, i);
            end = number_integer(-1);
        }
        if (annotated[events->name[event]]) {
            end = number_add(ts, number_at(events->dur, event));
            seen = true;
        }
    }
    if (seen)
        close_segment(cutting, side->n_cpu);
}

/* The mean of the durations of all profiler steps, summed as Python does: exactly while there are integers only. The
 * order of the sum is that of the sorted trace. */
static void log_latency(const struct device_side *side, struct legacy_log *log) {
    const struct number_column dur = side->trace->events.dur;
    __extension__ __int128 whole = 0;
    double real = 0;
    bool is_real = false;
    for (row_t i = 0; i < side->n_steps; i++) {
        struct number x = number_at(dur, side->step[i]);
        if (!is_real && number_is_double(x)) {
            is_real = true;
            real = (double)whole;
        }
        if (is_real)
            real += number_as_double(x);
        else
            whole += (int64_t)x.bits;
    }
    if (side->n_steps == 0)
        return;
    log_text(log, "Average iteration latency: ");
    log_number(log, number_double((is_real ? real : (double)whole) / side->n_steps));
    log_end(log, SUTRA_LEGACY_INFO);
}

void device_side_choose(struct device_side *side, const struct legacy_names *names, const char *annotation,
                        row_t n_host_ops, struct legacy_log *log) {
    struct cutting cutting = {.side = side, .wanted = n_host_ops};
    cut_segments(&cutting, names->annotated);
    log_info(log, "Kineto trace has %u segments", side->n_segments);
    if (side->n_segments == 0) {
        side->n_segment = side->n_cpu;
        log_text(log, "Could not find annotation ");
        log_bytes(log, annotation, strlen(annotation));
        log_text(log, " in kineto file using the whole file, processing could be very slow!!");
        log_end(log, SUTRA_LEGACY_WARNING);
    }
    log_info(log, "Number of original cpu ops in kineto trace: %u", side->n_segment);
    log_info(log, "Number of original gpu ops in kineto trace: %u", side->n_gpu);
    log_latency(side, log);
}

/* A thread as its operators in the segment show it. */
struct thread_span {
    row_t first; /* operator of the segment */
    struct number end;
};

static struct number op_end(const struct device_side *side, row_t event) {
    const struct device_events *events = &side->trace->events;
    return number_add(number_at(events->ts, event), number_at(events->dur, event));
}

/* Numbers the threads of the segment as they are first seen and finds where each ends. */
static enum sutra_status find_threads(struct device_side *side, struct sutra_context *context, struct arena *scratch,
                                      row_t *thread, struct thread_span *spans, struct sutra_error *error) {
    const row_t *ops = side->cpu + side->segment;
    struct key_index index = {0};
    enum sutra_status status = threads_number(&side->trace->events, ops, side->n_segment, &context->engine, scratch,
                                              &index, thread, &side->n_threads, error);
    for (row_t i = 0, n_seen = 0; i < side->n_segment && !status; i++) {
        struct number end = op_end(side, ops[i]);
        struct thread_span *span = &spans[thread[i]];
        if (thread[i] == n_seen)
            spans[n_seen++] = (struct thread_span){i, end};
        else if (number_compare(end, span->end) > 0)
            span->end = end;
    }
    key_index_free(&index);
    return status;
}

/* Appends to the list. */
static void put(struct device_side *side, uint32_t name, row_t event, row_t thread, struct number ts,
                struct number dur) {
    row_t i = side->n++;
    side->name[i] = name;
    side->event[i] = event;
    side->thread[i] = thread;
    number_put(side->ts, i, ts);
    number_put(side->dur, i, dur);
}

static void fill_list(struct device_side *side, const struct legacy_names *names, const row_t *thread,
                      const struct thread_span *spans) {
    const struct device_events *events = &side->trace->events;
    const row_t *ops = side->cpu + side->segment;
    struct number begin = number_at(events->ts, ops[0]), end = number_integer(-1);
    for (row_t i = 0; i < side->n_threads; i++)
        if (number_compare(spans[i].end, end) > 0)
            end = spans[i].end;
    put(side, names->process, ROW_NONE, ROW_NONE, begin, number_subtract(end, begin));
    for (row_t i = 0; i < side->n_segment; i++) {
        struct number ts = number_at(events->ts, ops[i]);
        const struct thread_span *span = &spans[thread[i]];
        if (span->first == i)
            put(side, names->thread, ROW_NONE, thread[i], ts, number_subtract(span->end, ts));
        put(side, events->name[ops[i]], ops[i], thread[i], ts, number_at(events->dur, ops[i]));
    }
}

static void list_take(struct device_side *side, row_t n, struct arena *arena) {
    side->name = arena_take(arena, n, sizeof *side->name);
    side->event = arena_take(arena, n, sizeof *side->event);
    side->thread = arena_take(arena, n, sizeof *side->thread);
    side->ts = numbers_take(arena, n);
    side->dur = numbers_take(arena, n);
}

static enum sutra_status make_list(struct device_side *side, struct sutra_context *context,
                                   const struct legacy_names *names, struct arena *scratch, struct arena *arena,
                                   struct sutra_error *error) {
    row_t *thread = arena_take(scratch, side->n_segment, sizeof *thread);
    struct thread_span *spans = arena_take(scratch, side->n_segment, sizeof *spans);
    enum sutra_status status = arena_status(scratch, error);
    if (!status)
        status = find_threads(side, context, scratch, thread, spans, error);
    if (!status && (uint64_t)side->n_segment + side->n_threads + 1 > ROW_LIMIT)
        status = error_file(error, SUTRA_DATA, side->trace->document.source.name, "too many operators: cut the trace");
    if (status)
        return status;
    list_take(side, side->n_segment + side->n_threads + 1, arena);
    if (!arena->failed)
        fill_list(side, names, thread, spans);
    return arena_status(arena, error);
}

enum sutra_status device_side_list(struct device_side *side, struct sutra_context *context,
                                   const struct legacy_names *names, struct arena *arena, struct sutra_error *error) {
    struct arena scratch = {0};
    if (side->n_segment == 0)
        return error_file(error, SUTRA_DATA, side->trace->document.source.name,
                          "there are no CPU operators (category cpu_op or user_annotation): record with CPU activity");
    enum sutra_status status = make_list(side, context, names, &scratch, arena, error);
    arena_free(&scratch);
    return status;
}
