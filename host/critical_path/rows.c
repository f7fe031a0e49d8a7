/*
 * rows.c - which events of the trace count, and the fields that decide about them.
 *
 * An event counts if it has a duration and a category other than "Trace". As soon as one start of the trace is no
 * integer, or missing, all times are rounded to whole microseconds: starts up, ends down. So starts are always
 * integers; a duration may have a fraction only where all starts are integers.
 */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/error.h"
#include "critical_path/path_search.h"
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

static enum sutra_status give_roles(struct path_search *search) {
    const struct strings *strings = &search->trace->strings;
    const char *annotation = search->rules.annotation;
    search->roles = calloc((size_t)strings->n + 1, sizeof *search->roles);
    if (!search->roles)
        return error_memory(search->error);
    for (size_t i = 0; i < sizeof known / sizeof *known; i++) {
        uint32_t string = strings_find(strings, known[i].text, strlen(known[i].text));
        if (string != STRING_NONE && (search->rules.extended || !known[i].extended))
            search->roles[string] |= known[i].role;
    }
    for (uint32_t string = 0; string < strings->n; string++) {
        const char *text = strings_text(strings, string);
        size_t length = strings_length(strings, string);
        if (memmem(text, length, "ProfilerStep", 12))
            search->roles[string] |= NAME_STEP;
        if (annotation && memmem(text, length, annotation, strlen(annotation)))
            search->roles[string] |= NAME_ANNOTATION;
    }
    return SUTRA_OK;
}

bool rows_have_hip_names(const struct path_search *search) {
    const struct strings *strings = &search->trace->strings;
    for (size_t i = 0; i < sizeof known / sizeof *known; i++) {
        uint32_t string = strings_find(strings, known[i].text, strlen(known[i].text));
        bool hip = strncmp(known[i].text, "hip", 3) == 0;
        if (hip && string != STRING_NONE && search->roles[string] & (NAME_USED | CATEGORY_USED))
            return true;
    }
    return false;
}

/* The reference's table has a column for each key that some event has; it needs these. */
static enum sutra_status check_columns(struct path_search *search) {
    static const enum event_field needed[] = {FIELD_TS,   FIELD_DUR, FIELD_CATEGORY, FIELD_NAME,
                                              FIELD_ARGS, FIELD_PID, FIELD_TID};
    enum { N_NEEDED = sizeof needed / sizeof *needed };
    uint32_t seen = 0;
    for (row_t event = 0; event < search->events->n && seen != (1 << N_NEEDED) - 1; event++) {
        struct event_places places;
        event_find(search->trace, event, NULL, &places);
        for (int i = 0; i < N_NEEDED; i++)
            seen |= (uint32_t)(places.field[needed[i]].at > 0) << i;
    }
    for (int i = 0; i < N_NEEDED; i++)
        if (!(seen >> i & 1))
            return stop_crash(search, "no event has the field %s", event_field_name(needed[i]));
    return SUTRA_OK;
}

static bool needs_rounding(const struct device_events *events) {
    bool rounded = false;
    for (row_t event = 0; event < events->n; event++)
        rounded |= !(events->flags[event] & EVENT_HAS_TS) || events->ts.kind[event] == NUMBER_DOUBLE;
    return rounded;
}

/* What the file has at a field whose column does not tell: the first character of its value, 0 where it is absent. */
static char first_character(const struct path_search *search, row_t event, enum event_field field) {
    struct event_places places;
    event_find(search->trace, event, NULL, &places);
    size_t at = places.field[field].at;
    return at ? search->trace->document.source.bytes[at] : 0;
}

/* Whether the event has a category that does not drop it. */
static bool has_category(struct path_search *search, row_t event, uint32_t empty) {
    uint32_t category = search->events->category[event];
    if (category != STRING_NONE && category != empty)
        return !(search->roles[category] & CATEGORY_DROPPED);
    char first = first_character(search, event, FIELD_CATEGORY);
    if (first == '"')
        return true;
    if (first && first != 'n' && !search->rules.extended)
        stop_crash(search, "event %u: its category is not a string", event);
    return false;
}

/* Sets the row's times; false: they are beyond what can be computed with. */
static bool put_times(struct path_search *search, row_t event) {
    struct number ts = number_at(search->events->ts, event);
    double start = number_as_double(ts), dur = number_as_double(number_at(search->events->dur, event));
    if (!isfinite(start) || !isfinite(dur) || fabs(start) > (double)NUMBER_INTEGER_LIMIT)
        return false;
    search->ts[event] = number_is_double(ts) ? (int64_t)ceil(start) : (int64_t)ts.bits;
    search->dur[event] = search->rounded ? floor(start + dur) - ceil(start) : dur;
    return true;
}

/* A stream of digits in quotes counts as that number; other strings stand for themselves. */
static value_key stream_of_text(struct path_search *search, row_t event) {
    struct event_places places;
    event_find(search->trace, event, NULL, &places);
    value_key stream = search->events->stream[event];
    if (stream == KEY_NULL || stream == KEY_UNHASHABLE)
        return STREAM_NONE;
    field_int(&search->reader, places.field[FIELD_STREAM], &stream);
    return stream;
}

static void put_stream(struct path_search *search, row_t event) {
    value_key stream = search->events->stream[event];
    if (stream == KEY_ABSENT)
        stream = STREAM_NONE;
    else if (!key_is_integer(stream) && search->rules.extended)
        stream = stream_of_text(search, event);
    else if (!key_is_integer(stream))
        stop_crash(search, "event %u: its stream is no integer", event);
    search->stream[event] = stream;
}

static void note_wait(struct path_search *search, row_t event) {
    struct event_places places;
    event_find(search->trace, event, NULL, &places);
    struct wait_row wait = {.event = event,
                            .stream = event_key(search, &places, FIELD_WAIT_STREAM, STREAM_NONE),
                            .record = event_key(search, &places, FIELD_WAIT_RECORD, -1)};
    if (!key_is_integer(wait.stream) && !search->rules.extended)
        stop_crash(search, "event %u: its wait_on_stream is no integer", event);
    search->waits[search->n_waits++] = wait;
}

static bool is_on_gpu(const struct path_search *search, row_t event) {
    bool on = search->rules.extended ? on_stream(search, event) : search->stream[event] > 0;
    return on || name_has(search, event, NAME_EVENT_SYNC | NAME_CONTEXT_SYNC);
}

static void take_row(struct path_search *search, row_t event, uint32_t empty) {
    const struct device_events *events = search->events;
    bool in_time = !search->rounded || events->flags[event] & EVENT_HAS_TS;
    if (!(events->flags[event] & EVENT_HAS_DUR) || !in_time || !has_category(search, event, empty))
        return;
    bool named = events->flags[event] & EVENT_HAS_NAME && !(events->flags[event] & EVENT_NAME_NO_STRING);
    if (!named && !search->rules.extended) {
        stop_crash(search, "event %u: its name is not a string", event);
        return;
    }
    if (!put_times(search, event)) {
        stop_crash(search, "event %u: its times are too large", event);
        return;
    }
    put_stream(search, event);
    search->state[event] = (uint8_t)(ROW_KEPT | (is_on_gpu(search, event) ? ROW_GPU : 0));
    if (events->flags[event] & EVENT_HAS_WAIT)
        note_wait(search, event);
    search->roles[events->name[event]] |= NAME_USED;
    search->roles[events->category[event]] |= CATEGORY_USED;
    search->full[search->n_full++] = event;
}

static enum sutra_status make_columns(struct path_search *search) {
    size_t n = (size_t)search->events->n + 1;
    row_t n_waits = 0;
    for (row_t event = 0; event < search->events->n; event++)
        n_waits += (search->events->flags[event] & EVENT_HAS_WAIT) != 0;
    search->ts = malloc(n * sizeof *search->ts);
    search->dur = malloc(n * sizeof *search->dur);
    search->stream = malloc(n * sizeof *search->stream);
    search->state = calloc(n, sizeof *search->state);
    search->full = malloc(n * sizeof *search->full);
    search->waits = malloc(((size_t)n_waits + 1) * sizeof *search->waits);
    if (!search->ts || !search->dur || !search->stream || !search->state || !search->full || !search->waits ||
        !graph_init(&search->graph, search->events->n))
        return error_memory(search->error);
    return SUTRA_OK;
}

/* Times count from the first row's. */
static void shift_times(struct path_search *search) {
    int64_t first = INT64_MAX;
    for (row_t i = 0; i < search->n_full; i++)
        if (search->ts[search->full[i]] < first)
            first = search->ts[search->full[i]];
    for (row_t i = 0; i < search->n_full; i++)
        search->ts[search->full[i]] -= first;
}

static void gather_roles(struct path_search *search) {
    for (uint32_t string = 0; string < search->trace->strings.n; string++)
        if (search->roles[string] & (NAME_USED | CATEGORY_USED))
            search->roles_used |= search->roles[string];
}

enum sutra_status rows_read(struct path_search *search) {
    enum sutra_status status = give_roles(search);
    if (!status)
        status = make_columns(search);
    if (!status && !search->rules.extended)
        status = check_columns(search);
    if (status || search->outcome)
        return status;
    search->rounded = needs_rounding(search->events);
    uint32_t empty = strings_find(&search->trace->strings, "", 0);
    for (row_t event = 0; event < search->events->n && !search->outcome; event++)
        take_row(search, event, empty);
    if (!search->outcome && search->n_full == 0)
        return stop_crash(search, "no event has a duration and a category");
    shift_times(search);
    gather_roles(search);
    return SUTRA_OK;
}
