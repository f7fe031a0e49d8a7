/*
 * rows.c - which events of the trace count, and the fields that decide about them.
 *
 * An event counts if it has a duration and a category other than "Trace". As soon as one start of the trace is no
 * integer, or missing, all times are rounded to whole microseconds: starts up, ends down. So starts are always integers;
 * a duration may have a fraction only where all starts are integers.
 */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/error.h"
#include "critical_path/analysis.h"
#include "text/string_text.h"

/* Names and categories that mean something; `extended` ones only to the extended rules. */
static const struct known {
    const char *text;
    uint32_t role;
    bool extended;
} known[] = {
    {"cudaLaunchKernel", NAME_LAUNCH, false},
    {"cudaLaunchKernelExC", NAME_LAUNCH, false},
    {"cuLaunchKernel", NAME_LAUNCH, false},
    {"cudaMemcpyAsync", NAME_LAUNCH | NAME_BLOCKING, false},
    {"cudaMemsetAsync", NAME_LAUNCH, false},
    {"cudaDeviceSynchronize", NAME_BLOCKING, false},
    {"cudaStreamSynchronize", NAME_BLOCKING, false},
    {"cudaEventQuery", NAME_BLOCKING, false},
    {"cudaEventSynchronize", NAME_BLOCKING, false},
    {"cudaMemcpy", NAME_BLOCKING, false},
    {"Event Sync", NAME_EVENT_SYNC, false},
    {"Context Sync", NAME_CONTEXT_SYNC, false},
    {"Stream Sync", NAME_STREAM_SYNC, false},
    {"Stream Wait Event", NAME_STREAM_WAIT, false},
    {"cudaEventRecord", NAME_RECORD_CALL, false},
    {"cudaStreamWaitEvent", NAME_WAIT_CALL, false},
    {"cpu_op", CATEGORY_CPU_OP, false},
    {"cuda_runtime", CATEGORY_RUNTIME, false},
    {"cuda_driver", CATEGORY_DRIVER, false},
    {"cuda_sync", CATEGORY_SYNC, false},
    {"Trace", CATEGORY_DROPPED, false},
    {"cuLaunchKernelEx", NAME_LAUNCH, true},
    {"cudaLaunchCooperativeKernel", NAME_LAUNCH, true},
    {"cudaGraphLaunch", NAME_LAUNCH, true},
    {"cudaMemcpyFromSymbol", NAME_LAUNCH | NAME_BLOCKING, true},
    {"cudaMemcpyToSymbol", NAME_LAUNCH | NAME_BLOCKING, true},
    {"hipLaunchKernel", NAME_LAUNCH, true},
    {"hipExtLaunchKernel", NAME_LAUNCH, true},
    {"hipExtModuleLaunchKernel", NAME_LAUNCH, true},
    {"hipModuleLaunchKernel", NAME_LAUNCH, true},
    {"hipGraphLaunch", NAME_LAUNCH, true},
    {"hipMemcpyAsync", NAME_LAUNCH | NAME_BLOCKING, true},
    {"hipMemcpyWithStream", NAME_LAUNCH | NAME_BLOCKING, true},
    {"hipMemsetAsync", NAME_LAUNCH, true},
    {"hipMemcpy", NAME_BLOCKING, true},
    {"hipDeviceSynchronize", NAME_BLOCKING, true},
    {"hipStreamSynchronize", NAME_BLOCKING, true},
    {"hipEventQuery", NAME_BLOCKING, true},
    {"hipEventSynchronize", NAME_BLOCKING, true},
    {"hipEventRecord", NAME_RECORD_CALL, true},
    {"hipStreamWaitEvent", NAME_WAIT_CALL, true},
    {"hip_runtime", CATEGORY_RUNTIME, true},
};

static enum sutra_status give_roles(struct analysis *analysis) {
    const struct strings *strings = &analysis->trace->strings;
    const char *annotation = analysis->rules.annotation;
    analysis->roles = calloc((size_t)strings->n + 1, sizeof *analysis->roles);
    if (!analysis->roles)
        return error_memory(analysis->error);
    for (size_t i = 0; i < sizeof known / sizeof *known; i++) {
        uint32_t string = strings_find(strings, known[i].text, strlen(known[i].text));
        if (string != STRING_NONE && (analysis->rules.extended || !known[i].extended))
            analysis->roles[string] |= known[i].role;
    }
    for (uint32_t string = 0; string < strings->n; string++) {
        const char *text = strings_text(strings, string);
        size_t length = strings_length(strings, string);
        if (memmem(text, length, "ProfilerStep", 12))
            analysis->roles[string] |= NAME_STEP;
        if (annotation && memmem(text, length, annotation, strlen(annotation)))
            analysis->roles[string] |= NAME_ANNOTATION;
    }
    return SUTRA_OK;
}

/* The reference's table has a column for each key that some event has; it needs these. */
static enum sutra_status check_columns(struct analysis *analysis) {
    static const enum event_field needed[] = {FIELD_TS,   FIELD_DUR, FIELD_CATEGORY, FIELD_NAME,
                                              FIELD_ARGS, FIELD_PID, FIELD_TID};
    enum { N_NEEDED = sizeof needed / sizeof *needed };
    uint32_t seen = 0;
    for (row_t event = 0; event < analysis->events->n && seen != (1 << N_NEEDED) - 1; event++) {
        struct event_places places;
        event_find(analysis, event, &places);
        for (int i = 0; i < N_NEEDED; i++)
            seen |= (uint32_t)(places.field[needed[i]].at > 0) << i;
    }
    for (int i = 0; i < N_NEEDED; i++)
        if (!(seen >> i & 1))
            return stop_crash(analysis, "no event has the field %s", event_field_name(needed[i]));
    return SUTRA_OK;
}

static bool needs_rounding(const struct device_events *events) {
    bool rounded = false;
    for (row_t event = 0; event < events->n; event++)
        rounded |= !(events->flags[event] & EVENT_HAS_TS) || events->ts.kind[event] == NUMBER_DOUBLE;
    return rounded;
}

/* What the file has at a field whose column does not tell: the first character of its value, 0 where it is absent. */
static char first_character(const struct analysis *analysis, row_t event, enum event_field field) {
    struct event_places places;
    event_find(analysis, event, &places);
    size_t at = places.field[field].at;
    return at ? analysis->trace->document.source.bytes[at] : 0;
}

/* Whether the event has a category that does not drop it. */
static bool has_category(struct analysis *analysis, row_t event, uint32_t empty) {
    uint32_t category = analysis->events->category[event];
    if (category != STRING_NONE && category != empty)
        return !(analysis->roles[category] & CATEGORY_DROPPED);
    char first = first_character(analysis, event, FIELD_CATEGORY);
    if (first == '"')
        return true;
    if (first && first != 'n' && !analysis->rules.extended)
        stop_crash(analysis, "event %u: its category is not a string", event);
    return false;
}

/* Sets the row's times; false: they are beyond what can be computed with. */
static bool put_times(struct analysis *analysis, row_t event) {
    struct number ts = number_at(analysis->events->ts, event);
    double start = number_as_double(ts), dur = number_as_double(number_at(analysis->events->dur, event));
    if (!isfinite(start) || !isfinite(dur) || fabs(start) > (double)NUMBER_INTEGER_LIMIT)
        return false;
    analysis->ts[event] = number_is_double(ts) ? (int64_t)ceil(start) : (int64_t)ts.bits;
    analysis->dur[event] = analysis->rounded ? floor(start + dur) - ceil(start) : dur;
    return true;
}

/* A stream of digits in quotes counts as that number; other strings stand for themselves. */
static value_key stream_of_text(struct analysis *analysis, row_t event) {
    struct event_places places;
    event_find(analysis, event, &places);
    value_key stream = analysis->events->stream[event];
    if (stream == KEY_NULL || stream == KEY_UNHASHABLE)
        return STREAM_NONE;
    field_int(&analysis->reader, places.field[FIELD_STREAM], &stream);
    return stream;
}

static void put_stream(struct analysis *analysis, row_t event) {
    value_key stream = analysis->events->stream[event];
    if (stream == KEY_ABSENT)
        stream = STREAM_NONE;
    else if (!key_is_integer(stream) && analysis->rules.extended)
        stream = stream_of_text(analysis, event);
    else if (!key_is_integer(stream))
        stop_crash(analysis, "event %u: its stream is no integer", event);
    analysis->stream[event] = stream;
}

static void note_wait(struct analysis *analysis, row_t event) {
    struct event_places places;
    event_find(analysis, event, &places);
    struct wait_row wait = {.event = event,
                            .stream = event_key(analysis, &places, FIELD_WAIT_STREAM, STREAM_NONE),
                            .record = event_key(analysis, &places, FIELD_WAIT_RECORD, -1)};
    if (!key_is_integer(wait.stream) && !analysis->rules.extended)
        stop_crash(analysis, "event %u: its wait_on_stream is no integer", event);
    analysis->waits[analysis->n_waits++] = wait;
}

static bool is_on_gpu(const struct analysis *analysis, row_t event) {
    bool on = analysis->rules.extended ? on_stream(analysis, event) : analysis->stream[event] > 0;
    return on || name_has(analysis, event, NAME_EVENT_SYNC | NAME_CONTEXT_SYNC);
}

static void take_row(struct analysis *analysis, row_t event, uint32_t empty) {
    const struct device_events *events = analysis->events;
    bool in_time = !analysis->rounded || events->flags[event] & EVENT_HAS_TS;
    if (!(events->flags[event] & EVENT_HAS_DUR) || !in_time || !has_category(analysis, event, empty))
        return;
    bool named = events->flags[event] & EVENT_HAS_NAME && !(events->flags[event] & EVENT_NAME_NO_STRING);
    if (!named && !analysis->rules.extended) {
        stop_crash(analysis, "event %u: its name is not a string", event);
        return;
    }
    if (!put_times(analysis, event)) {
        stop_crash(analysis, "event %u: its times are too large", event);
        return;
    }
    put_stream(analysis, event);
    analysis->state[event] = (uint8_t)(ROW_KEPT | (is_on_gpu(analysis, event) ? ROW_GPU : 0));
    if (events->flags[event] & EVENT_HAS_WAIT)
        note_wait(analysis, event);
    analysis->roles[events->name[event]] |= NAME_USED;
    analysis->roles[events->category[event]] |= CATEGORY_USED;
    analysis->full[analysis->n_full++] = event;
}

static enum sutra_status make_columns(struct analysis *analysis) {
    size_t n = (size_t)analysis->events->n + 1;
    row_t n_waits = 0;
    for (row_t event = 0; event < analysis->events->n; event++)
        n_waits += (analysis->events->flags[event] & EVENT_HAS_WAIT) != 0;
    analysis->ts = malloc(n * sizeof *analysis->ts);
    analysis->dur = malloc(n * sizeof *analysis->dur);
    analysis->stream = malloc(n * sizeof *analysis->stream);
    analysis->state = calloc(n, sizeof *analysis->state);
    analysis->full = malloc(n * sizeof *analysis->full);
    analysis->waits = malloc(((size_t)n_waits + 1) * sizeof *analysis->waits);
    if (!analysis->ts || !analysis->dur || !analysis->stream || !analysis->state || !analysis->full ||
        !analysis->waits || !graph_init(&analysis->graph, analysis->events->n))
        return error_memory(analysis->error);
    return SUTRA_OK;
}

/* Times count from the first row's. */
static void shift_times(struct analysis *analysis) {
    int64_t first = INT64_MAX;
    for (row_t i = 0; i < analysis->n_full; i++)
        if (analysis->ts[analysis->full[i]] < first)
            first = analysis->ts[analysis->full[i]];
    for (row_t i = 0; i < analysis->n_full; i++)
        analysis->ts[analysis->full[i]] -= first;
}

static void gather_roles(struct analysis *analysis) {
    for (uint32_t string = 0; string < analysis->trace->strings.n; string++)
        if (analysis->roles[string] & (NAME_USED | CATEGORY_USED))
            analysis->roles_used |= analysis->roles[string];
}

enum sutra_status rows_read(struct analysis *analysis) {
    enum sutra_status status = give_roles(analysis);
    if (!status)
        status = make_columns(analysis);
    if (!status && !analysis->rules.extended)
        status = check_columns(analysis);
    if (status || analysis->outcome)
        return status;
    analysis->rounded = needs_rounding(analysis->events);
    uint32_t empty = strings_find(&analysis->trace->strings, "", 0);
    for (row_t event = 0; event < analysis->events->n && !analysis->outcome; event++)
        take_row(analysis, event, empty);
    if (!analysis->outcome && analysis->n_full == 0)
        return stop_crash(analysis, "no event has a duration and a category");
    shift_times(analysis);
    gather_roles(analysis);
    return SUTRA_OK;
}
