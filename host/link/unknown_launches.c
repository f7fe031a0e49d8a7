/*
 * unknown_launches.c - launches by calls that chakra_trace_link does not know (link.h).
 *
 *     thread 1   | cudaGraphLaunch 5 |        | call |            1. the call with the correlation of the activity
 *                                             s id 3 --.          2. the call at the start of an arrow (ac2g) to it
 *     stream 7       | kernel 5 |                      '-->f id 3
 *                                                          | kernel |
 *
 * Correlations decide as in the launch model (facts/launches.h), and arrows as in analyze/launches/launches.c, which
 * also finds the innermost of several calls that begin together. Cost: O(events).
 */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>

#include "base/error.h"
#include "base/shared.h"
#include "columns/column.h"
#include "columns/hash_tables.h"
#include "facts/launches.h"
#include "facts/times.h"
#include "link/link.h"
#include "match/key_index.h"
#include "read/event_columns.h"
#include "text/names.h"

/* ---- By correlation ---- */

enum sutra_status find_unknown_calls(struct sutra_context *context, const struct sutra_device_trace *trace,
                                     const row_t *gpu, row_t n, struct arena *scratch, row_t *call,
                                     struct sutra_error *error) {
    const struct device_events *events = &trace->events;
    const struct string_roles *roles = names_find(&trace->strings, READER_TREE, scratch);
    row_t *calls = arena_alloc(scratch, events->n, sizeof *calls), n_calls = 0;
    TRY(arena_status(scratch, error));
    for (row_t event = 0; event < events->n; event++)
        if (category_roles(events, roles, event) & CATEGORY_CALL)
            calls[n_calls++] = event;
    return calls_by_correlation(events, roles, calls, n_calls, gpu, n, &context->engine, scratch, call, error);
}

/* ---- By arrow ---- */

/* A moment of a thread or stream: its time, pid and tid. */
static struct tuple moment_of(const struct device_events *events, row_t event) {
    double ts = number_as_double(number_at(events->ts, event));
    return (struct tuple){{(value_key)double_sort_key(ts), events->pid[event], events->tid[event]}};
}

/* The ends of arrows at activities without a call, and the starts with their ids. The arena has the lists. */
struct arrows {
    row_t *end, *start; /* events */
    row_t n_ends, n_starts;
    const value_key *id; /* by event */
};

static enum sutra_status list_arrows(struct sutra_context *context, const struct sutra_device_trace *trace,
                                     const struct string_roles *roles, const struct tuples *moments,
                                     struct arrows *arrows, struct arena *arena, struct sutra_error *error) {
    static const struct requested_field field = {"id", ASK_KEY, true};
    const struct device_events *events = &trace->events;
    struct requested_column column;
    arrows->end = arena_alloc(arena, events->n, sizeof *arrows->end);
    arrows->start = arena_alloc(arena, events->n, sizeof *arrows->start);
    TRY(arena_status(arena, error));
    for (row_t event = 0; event < events->n; event++) {
        if (!(category_roles(events, roles, event) & CATEGORY_LAUNCH_FLOW))
            continue;
        if (events->phase[event] == 's')
            arrows->start[arrows->n_starts++] = event;
        else if (events->phase[event] == 'f' && tuples_find(moments, moment_of(events, event)) != TUPLE_NONE)
            arrows->end[arrows->n_ends++] = event;
    }
    if (!arrows->n_ends || !arrows->n_starts)
        return SUTRA_OK;
    TRY(event_columns_request(context, trace, &field, 1, arrows->start, arrows->n_starts, &column, error));
    TRY(event_columns_request(context, trace, &field, 1, arrows->end, arrows->n_ends, &column, error));
    arrows->id = column.key;
    return SUTRA_OK;
}

enum sutra_status find_arrow_calls(struct sutra_context *context, const struct sutra_device_trace *trace,
                                   const row_t *gpu, row_t n, row_t *call, struct sutra_error *error) {
    const struct device_events *events = &trace->events;
    struct arena arena = {0};
    struct arrows arrows = {0};
    struct tuples ends = {0}, starts = {0}; /* moments of activities without a call, and of their arrows' starts */
    struct key_index ids = {0};             /* id -> first start */
    const struct string_roles *roles = names_find(&trace->strings, READER_TREE, &arena);
    enum sutra_status status = arena_status(&arena, error);
    for (row_t i = 0; i < n && !status; i++)
        if (call[i] == ROW_NONE && tuples_number(&ends, moment_of(events, gpu[i])) == TUPLE_NONE)
            status = error_memory(error);
    if (!status && ends.n)
        status = list_arrows(context, trace, roles, &ends, &arrows, &arena, error);
    if (status || !arrows.id)
        goto end;

    /* From the ends through ids to the starts, */
    value_key *keys = arena_alloc(&arena, arrows.n_starts, sizeof *keys);
    row_t *start_of = rows_none(&arena, ends.n); /* by end: number of the start */
    if ((status = arena_status(&arena, error)))
        goto end;
    for (row_t i = 0; i < arrows.n_starts; i++)
        keys[i] = arrows.id[arrows.start[i]];
    if ((status = key_index_build(&ids, &context->engine, keys, arrows.n_starts, KEY_FIRST, NULL, error)))
        goto end;
    for (row_t i = 0; i < arrows.n_ends; i++) {
        value_key id = arrows.id[arrows.end[i]];
        row_t start = key_is_value(id) ? key_index_find(&ids, id) : ROW_NONE;
        if (start == ROW_NONE)
            continue;
        uint32_t number = tuples_number(&starts, moment_of(events, arrows.start[start]));
        if (number == TUPLE_NONE) {
            status = error_memory(error);
            goto end;
        }
        start_of[tuples_find(&ends, moment_of(events, arrows.end[i]))] = number;
    }

    /* and to a call that begins there: all of them have its thread and start, which is all that linking uses. */
    row_t *call_at = rows_none(&arena, starts.n);
    if ((status = arena_status(&arena, error)))
        goto end;
    for (row_t event = 0; event < events->n && starts.n; event++) {
        if (!(category_roles(events, roles, event) & CATEGORY_CALL) || !time_is_usable(events, event))
            continue;
        uint32_t number = tuples_find(&starts, moment_of(events, event));
        if (number != TUPLE_NONE)
            call_at[number] = event;
    }
    for (row_t i = 0; i < n; i++) {
        row_t start = call[i] == ROW_NONE ? start_of[tuples_find(&ends, moment_of(events, gpu[i]))] : ROW_NONE;
        if (start != ROW_NONE)
            call[i] = call_at[start];
    }
end:
    tuples_free(&ends);
    tuples_free(&starts);
    key_index_free(&ids);
    arena_free(&arena);
    return status;
}

/* ---- Names ---- */

ORDER_BY(compare_counts, struct sutra_count, DESCENDING(count) ASCENDING_TEXT(name))

row_t sort_counts(struct sutra_count *counts, const struct strings *strings) {
    row_t n = 0;
    for (uint32_t string = 0; string < strings->n; string++)
        if (counts[string].count)
            counts[n++] = (struct sutra_count){strings_text(strings, string), counts[string].count};
    qsort(counts, n, sizeof *counts, compare_counts);
    return n;
}

enum sutra_status count_call_names(const struct sutra_device_trace *trace, const row_t *call, row_t n,
                                   struct sutra_count **counts, row_t *n_counts, struct sutra_error *error) {
    struct sutra_count *made = calloc((size_t)trace->strings.n + 1, sizeof *made);
    TRY_ALLOC(made, error);
    for (row_t i = 0; i < n; i++)
        if (call[i] != ROW_NONE)
            made[trace->events.name[call[i]]].count++;
    *n_counts = sort_counts(made, &trace->strings);
    *counts = made;
    return SUTRA_OK;
}

#define CALL_NAMES   5
#define NAME_COLUMNS 40

struct call_names call_names_text(const struct sutra_count *counts, uint64_t n) {
    struct call_names names = {""};
    size_t length = 0;
    for (uint64_t i = 0; i < n && i < CALL_NAMES; i++)
        length += (size_t)snprintf(names.text + length, sizeof names.text - length, "%s%.160s %" PRIu64, i ? ", " : "",
                                   short_text(counts[i].name, NAME_COLUMNS).text, counts[i].count);
    if (n > CALL_NAMES)
        snprintf(names.text + length, sizeof names.text - length, " and %" PRIu64 " %s", n - CALL_NAMES,
                 n - CALL_NAMES == 1 ? "other" : "others");
    return names;
}
