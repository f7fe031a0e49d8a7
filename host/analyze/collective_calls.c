/*
 * collective_calls.c - from kernels with arguments to rows.
 */
#include "analyze/collective_calls.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/error.h"
#include "columns/column.h"
#include "facts/names.h"
#include "read/fields.h"

bool collective_calls_init(struct collective_calls *calls) {
    *calls = (struct collective_calls){0};
    return strings_init(&calls->strings) && pair_table_init(&calls->known_groups);
}

void collective_calls_free(struct collective_calls *calls) {
    strings_free(&calls->strings);
    pair_table_free(&calls->known_groups);
    free(calls->groups);
    free(calls->list);
    *calls = (struct collective_calls){0};
}

uint32_t collective_group_take(struct collective_calls *calls, const char *name, size_t name_length,
                               const char *members, size_t members_length, int64_t size) {
    struct collective_group group = {.name = strings_intern(&calls->strings, name, name_length),
                                     .members = strings_intern(&calls->strings, members, members_length),
                                     .size = size};
    if (group.name == STRING_NONE || group.members == STRING_NONE)
        return UINT32_MAX;
    struct pair_entry *entry = pair_table_take(&calls->known_groups, group.name, group.members);
    if (!entry)
        return UINT32_MAX;
    if (entry->number != PAIR_NONE)
        return entry->number;
    if (!column_grow(&calls->groups, calls->n_groups, &calls->groups_capacity, sizeof *calls->groups))
        return UINT32_MAX;
    calls->groups[calls->n_groups] = group;
    entry->number = (uint32_t)calls->n_groups;
    return (uint32_t)calls->n_groups++;
}

bool collective_call_add(struct collective_calls *calls, const struct collective_call *call) {
    if (calls->n >= ROW_LIMIT || !column_grow(&calls->list, calls->n, &calls->capacity, sizeof *calls->list))
        return false;
    calls->list[calls->n++] = *call;
    return true;
}

bool collective_is_message(const char *what) {
    return strcmp(what, "send") == 0 || strcmp(what, "recv") == 0;
}

bool collective_ends_at_once(const char *what) {
    static const char *const beginnings[] = {"allreduce",       "all_reduce",     "allgather",
                                             "_allgather",      "all_gather",     "reducescatter",
                                             "_reduce_scatter", "reduce_scatter", "barrier"};
    for (size_t i = 0; i < sizeof beginnings / sizeof *beginnings; i++)
        if (strncmp(what, beginnings[i], strlen(beginnings[i])) == 0)
            return true;
    return strcmp(what, "all_to_all") == 0 || strcmp(what, "alltoall") == 0;
}

bool collective_sizes_differ(const char *what) {
    return strstr(what, "alltoallv") || strstr(what, "all_to_allv") || strcmp(what, "gather") == 0 ||
           strcmp(what, "scatter") == 0 || strstr(what, "coalesced");
}

/* ---- A trace ---- */

/* What is asked of a kernel, in this order. */
enum call_field {
    CALL_WHAT,
    CALL_TYPE,
    CALL_GROUP,
    CALL_MEMBERS,
    CALL_SIZE,
    CALL_IN,
    CALL_OUT,
    CALL_SEQ,
    CALL_FROM,
    CALL_TO,
    N_CALL_FIELDS,
};

static const struct asked_field call_fields[N_CALL_FIELDS] = {
    [CALL_WHAT] = {.name = "Collective name", .form = ASK_STRING},
    [CALL_TYPE] = {.name = "dtype", .form = ASK_STRING},
    [CALL_GROUP] = {.name = "Process Group Name", .form = ASK_STRING},
    [CALL_MEMBERS] = {.name = "Process Group Ranks", .form = ASK_STRING},
    [CALL_SIZE] = {.name = "Group size", .form = ASK_KEY},
    [CALL_IN] = {.name = "In msg nelems", .form = ASK_KEY},
    [CALL_OUT] = {.name = "Out msg nelems", .form = ASK_KEY},
    [CALL_SEQ] = {.name = "Seq", .form = ASK_KEY},
    [CALL_FROM] = {.name = "Src Rank", .form = ASK_KEY},
    [CALL_TO] = {.name = "Dst Rank", .form = ASK_KEY},
};

/* A trace that is being read. */
struct calls_reading {
    struct collective_calls *calls;
    const struct sutra_device_trace *trace;
    struct asked_column columns[N_CALL_FIELDS];
    int64_t rank, base_ns;
    bool failed;
};

/* Kernels of collectives, as rows of events. */
static row_t *find_kernels(const struct sutra_device_trace *trace, struct arena *arena, row_t *n) {
    const struct device_events *events = &trace->events;
    struct string_roles *roles = names_find(&trace->strings, READER_LINKER, arena);
    row_t *kernels = arena_take(arena, events->n, sizeof *kernels);
    *n = 0;
    if (!roles || !kernels)
        return NULL;
    names_mark(&trace->strings, roles, TEXT_HAS_IN_ANY_CASE, "nccl", NAME_OWN);
    names_mark(&trace->strings, roles, TEXT_HAS_IN_ANY_CASE, "rccl", NAME_OWN);
    names_mark(&trace->strings, roles, TEXT_HAS_IN_ANY_CASE, "cross_device_reduce", NAME_OWN);
    for (row_t event = 0; event < events->n; event++)
        if (category_roles(events, roles, event) & CATEGORY_KERNEL && name_roles(events, roles, event) & NAME_OWN)
            kernels[(*n)++] = event;
    return kernels;
}

static int64_t call_number(const struct calls_reading *reading, enum call_field field, row_t event) {
    value_key key = reading->columns[field].key[event];
    return key_is_value(key) && key_is_integer(key) ? (int64_t)key : CALL_UNKNOWN;
}

/* A text of the trace; "" where there is none. */
static const char *call_text(const struct calls_reading *reading, enum call_field field, row_t event, size_t *length) {
    uint32_t string = reading->columns[field].string[event];
    const struct strings *strings = event_columns_strings(reading->trace);
    *length = string == STRING_NONE ? 0 : strings_length(strings, string);
    return string == STRING_NONE ? "" : strings_text(strings, string);
}

static uint32_t keep_text(struct calls_reading *reading, enum call_field field, row_t event) {
    size_t length;
    const char *text = call_text(reading, field, event, &length);
    uint32_t kept = strings_intern(&reading->calls->strings, text, length);
    reading->failed |= kept == STRING_NONE;
    return kept;
}

/* ---- Groups whose ranks are cut off ---- */

static bool member_is(const struct document *document, size_t at, const char *name, const char *text, size_t length) {
    struct json_place place = document_member_of(document, at, name);
    const char *bytes = document->source.bytes + place.at + 1;
    return place.at && place.end == place.at + 1 + length && memcmp(bytes, text, length) == 0;
}

/* The text of the ranks of the group of this name, as the trace describes its groups; 0: it does not. */
static size_t described_ranks(const struct document *document, const char *name, size_t length, const char **text) {
    const struct document_member *info = document_find(document, "distributedInfo");
    struct json_place groups = info ? document_member_of(document, info->value, "pg_config") : (struct json_place){0};
    if (!groups.at || document->source.bytes[groups.at] != '[')
        return 0;
    struct json_walker walker = walk_from(&document->source, &document->index, groups.at);
    for (bool more = walk_array(&walker); more; more = walk_element_end(&walker)) {
        struct json_place group = walk_value(&walker);
        struct json_place ranks = document_member_of(document, group.at, "ranks");
        const char *bytes = document->source.bytes;
        if (!ranks.at || bytes[ranks.at] != '[' || !member_is(document, group.at, "pg_name", name, length))
            continue;
        *text = bytes + ranks.at;
        const char *end = memchr(*text, ']', document->source.size - ranks.at);
        return end ? (size_t)(end - *text) + 1 : 0;
    }
    return 0;
}

static uint32_t take_group(struct calls_reading *reading, row_t event) {
    size_t name_length, length;
    const char *name = call_text(reading, CALL_GROUP, event, &name_length);
    const char *members = call_text(reading, CALL_MEMBERS, event, &length), *whole;
    if (length > 0 && memmem(members, length, "...", 3)) {
        size_t n = described_ranks(&reading->trace->document, name, name_length, &whole);
        members = n ? whole : members;
        length = n ? n : length;
    }
    uint32_t group = collective_group_take(reading->calls, name, name_length, members, length,
                                           call_number(reading, CALL_SIZE, event));
    reading->failed |= group == UINT32_MAX;
    return group;
}

/* ---- Rows ---- */

static int64_t nanoseconds(struct number us) {
    double ns = number_as_double(us) * 1e3;
    return fabs(ns) < 4e18 ? (int64_t)llround(ns) : 0;
}

static void add_call(struct calls_reading *reading, row_t event) {
    const struct device_events *events = &reading->trace->events;
    struct collective_call call = {.rank = reading->rank,
                                   .what = keep_text(reading, CALL_WHAT, event),
                                   .type = keep_text(reading, CALL_TYPE, event),
                                   .group = take_group(reading, event),
                                   .n_in = call_number(reading, CALL_IN, event),
                                   .n_out = call_number(reading, CALL_OUT, event),
                                   .seq = call_number(reading, CALL_SEQ, event)};
    if (reading->failed)
        return;
    const char *what = strings_text(&reading->calls->strings, call.what);
    call.is_message = collective_is_message(what);
    call.is_send = call.is_message && *what == 's';
    call.peer = call_number(reading, call.is_send ? CALL_TO : CALL_FROM, event);
    if (__builtin_add_overflow(nanoseconds(number_at(events->ts, event)), reading->base_ns, &call.start_ns))
        call.start_ns = 0;
    call.end_ns = call.start_ns + nanoseconds(number_at(events->dur, event));
    reading->failed |= !collective_call_add(reading->calls, &call);
}

static int64_t base_of(const struct document *document) {
    const struct document_member *base = document_find(document, "baseTimeNanoseconds");
    int64_t ns;
    return base && field_integer(document->source.bytes + base->value, &ns) ? ns : 0;
}

enum sutra_status collective_calls_take(struct collective_calls *calls, struct sutra_context *context,
                                        const struct sutra_device_trace *trace, int64_t rank,
                                        struct sutra_error *error) {
    struct arena scratch = {0};
    struct calls_reading reading = {.calls = calls, .trace = trace, .rank = rank, .base_ns = base_of(&trace->document)};
    row_t n, *kernels = find_kernels(trace, &scratch, &n);
    enum sutra_status status = kernels ? SUTRA_OK : error_memory(error);
    if (!status)
        status = event_columns_ask(context, trace, call_fields, N_CALL_FIELDS, kernels, n, reading.columns, error);
    for (row_t i = 0; i < n && !status && !reading.failed; i++) {
        bool told = reading.columns[CALL_WHAT].string[kernels[i]] != STRING_NONE;
        calls->n_untold += !told;
        if (told)
            add_call(&reading, kernels[i]);
    }
    arena_free(&scratch);
    return reading.failed ? error_memory(error) : status;
}

static int compare_ranks(const void *left, const void *right) {
    const int64_t *a = left, *b = right;
    return (*a > *b) - (*a < *b);
}

int64_t *collective_group_ranks(const struct collective_calls *calls, uint32_t group, struct arena *arena, size_t *n) {
    uint32_t members = calls->groups[group].members;
    const char *at = strings_text(&calls->strings, members);
    int64_t *ranks = arena_take(arena, strings_length(&calls->strings, members) + 1, sizeof *ranks);
    *n = 0;
    if (!ranks)
        return NULL;
    bool whole = !strstr(at, "...");
    for (at += strcspn(at, "0123456789"); *at && whole; at += strcspn(at, "0123456789")) {
        char *end;
        ranks[(*n)++] = strtoll(at, &end, 10);
        at = end;
    }
    qsort(ranks, *n, sizeof *ranks, compare_ranks);
    return ranks;
}
