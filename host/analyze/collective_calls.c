/*
 * collective_calls.c - implements collective_calls.h.
 */
#include <inttypes.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "analyze/collective_calls.h"
#include "base/error.h"
#include "base/memory.h"
#include "base/shared.h"
#include "columns/column.h"
#include "facts/collectives.h"
#include "facts/names.h"
#include "facts/times.h"
#include "read/document.h"
#include "read/json.h"
#include "text/numbers.h"
#include "text/strings.h"

/* ---- Partial results ---- */

/* Whether a decoded byte is a bool. */
static bool is_bool(const void *at) {
    return *(const unsigned char *)at <= 1;
}

void collective_calls_codec(struct codec *codec, struct collective_calls *calls, int64_t rank) {
    struct strings *strings = &calls->strings;
    struct collective_group *groups = calls->groups;
    uint64_t n_groups = calls->n_groups;
    codec_strings(codec, strings);
    codec_array(codec, &groups, &n_groups, NULL);
    if (codec_decodes(codec)) { /* groups get the numbers that they had */
        for (uint64_t i = 0; i < n_groups && !codec->failure; i++) {
            const struct collective_group *group = &groups[i];
            codec_check(codec, group->name < strings->n && group->members < strings->n &&
                                   group->source.library < N_KERNEL_LIBRARIES && group->source.phase < N_KERNEL_PHASES);
            if (codec->failure)
                break;
            uint32_t number =
                collective_group_add(calls, strings_text(strings, group->name), strings_length(strings, group->name),
                                     strings_text(strings, group->members), strings_length(strings, group->members),
                                     group->size, group->source);
            if (number == UINT32_MAX)
                codec_fail(codec, CODEC_NO_MEMORY);
            codec_check(codec, number == i);
        }
        free(groups);
    }
    codec_array(codec, &calls->list, &calls->n, NULL);
    if (codec_decodes(codec)) {
        calls->capacity = calls->n;
        codec_check(codec, calls->n < ROW_LIMIT);
        for (uint64_t i = 0; i < calls->n && !codec->failure; i++) {
            const struct collective_call *call = &calls->list[i];
            const uint32_t n = strings->n;
            codec_check(codec, call->rank == rank && moments_are_sound(call->start_ns, call->end_ns) &&
                                   is_bool(&call->is_message) && is_bool(&call->is_send) &&
                                   call->group < calls->n_groups && call->what < n && call->type < n &&
                                   call->in_split <= n && call->out_split <= n && call->comms_id <= n);
        }
        calls->n = codec->failure ? 0 : calls->n;
    }
    codec_value(codec, &calls->n_untold);
    codec_bool(codec, &calls->keep_unrecorded);
}

/* ---- The table ---- */

int64_t trace_device_count(const struct document *document) {
    const struct document_member *devices = document_find(document, "deviceProperties");
    if (!devices || document->source.bytes[devices->value] != '[')
        return 0;
    struct json_walker walker = walk_from(&document->source, devices->value);
    int64_t n = 0;
    for (bool more = walk_array(&walker); more; more = walk_element_end(&walker)) {
        walk_value(&walker);
        n++;
    }
    return n;
}

bool collective_calls_init(struct collective_calls *calls) {
    *calls = (struct collective_calls){0};
    return strings_init(&calls->strings) && pair_table_init(&calls->known_groups);
}

void collective_calls_free(struct collective_calls *calls) {
    strings_free(&calls->strings);
    pair_table_free(&calls->known_groups);
    free(calls->groups);
    free(calls->list);
    free(calls->untimed);
    *calls = (struct collective_calls){0};
}

uint32_t collective_group_add(struct collective_calls *calls, const char *name, size_t name_length, const char *members,
                              size_t members_length, int64_t size, struct collective_source source) {
    struct collective_group group = {.name = strings_intern(&calls->strings, name, name_length),
                                     .members = strings_intern(&calls->strings, members, members_length),
                                     .size = size,
                                     .source = source};
    if (group.name == STRING_NONE || group.members == STRING_NONE)
        return UINT32_MAX;
    uint64_t key = (uint64_t)group.name << 16 | (uint64_t)source.library << 8 | source.phase;
    struct pair_entry *entry = pair_table_insert(&calls->known_groups, key, group.members);
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

ORDER_BY(compare_untimed, struct untimed_call, ASCENDING(rank) ASCENDING(group) ASCENDING(what) ASCENDING(seq))

void collective_untimed_sort(struct collective_calls *calls) {
    if (calls->n_untimed > 0)
        qsort(calls->untimed, calls->n_untimed, sizeof *calls->untimed, compare_untimed);
}

bool collective_is_untimed(const struct collective_calls *calls, const struct untimed_call *call) {
    return calls->n_untimed > 0 &&
           bsearch(call, calls->untimed, calls->n_untimed, sizeof *calls->untimed, compare_untimed);
}

bool collective_is_message(const char *what) {
    return strcmp(what, "send") == 0 || strcmp(what, "recv") == 0;
}

/* Translates a string id + 1 of `from` to `to`; 0 stays. False: out of memory. */
static bool translate_string(struct collective_calls *to, const struct collective_calls *from, uint32_t *string) {
    if (*string == 0)
        return true;
    uint32_t id = *string - 1;
    uint32_t copy = strings_intern(&to->strings, strings_text(&from->strings, id), strings_length(&from->strings, id));
    *string = copy + 1;
    return copy != STRING_NONE;
}

bool collective_calls_append(struct collective_calls *to, const struct collective_calls *from) {
    const struct strings *strings = &from->strings;
    uint32_t *groups = malloc((from->n_groups + 1) * sizeof *groups), what = 0, type = 0;
    bool ok = groups;
    for (uint64_t i = 0; i < from->n_groups && ok; i++) {
        const struct collective_group *group = &from->groups[i];
        groups[i] = collective_group_add(to, strings_text(strings, group->name), strings_length(strings, group->name),
                                         strings_text(strings, group->members), strings_length(strings, group->members),
                                         group->size, group->source);
        ok = groups[i] != UINT32_MAX;
    }
    for (uint64_t i = 0; i < from->n && ok; i++) {
        struct collective_call call = from->list[i];
        if (i == 0 || call.what != from->list[i - 1].what || call.type != from->list[i - 1].type) {
            what = call.what + 1;
            type = call.type + 1;
            ok = translate_string(to, from, &what) && translate_string(to, from, &type);
        }
        call.what = what - 1;
        call.type = type - 1;
        call.group = groups[call.group];
        ok = ok && translate_string(to, from, &call.in_split) && translate_string(to, from, &call.out_split) &&
             translate_string(to, from, &call.comms_id) && collective_call_add(to, &call);
    }
    to->n_untold += from->n_untold;
    free(groups);
    return ok;
}

/* ---- A trace ---- */

/* Fields of a kernel. */
#define CALL_FIELDS(X)                                                                                                 \
    X(WHAT, "Collective name")                                                                                         \
    X(TYPE, "dtype")                                                                                                   \
    X(GROUP, "Process Group Name")                                                                                     \
    X(MEMBERS, "Process Group Ranks")                                                                                  \
    X(SIZE, "Group size")                                                                                              \
    X(IN, "In msg nelems")                                                                                             \
    X(OUT, "Out msg nelems")                                                                                           \
    X(SEQ, "Seq")                                                                                                      \
    X(FROM, "Src Rank")                                                                                                \
    X(TO, "Dst Rank")                                                                                                  \
    X(IN_SPLIT, "In split size")                                                                                       \
    X(OUT_SPLIT, "Out split size")                                                                                     \
    X(COMMS_ID, "Comms Id")

#define FIELD_NUMBER(field, key) CALL_##field,
#define FIELD_KEY(field, key)    key,
enum call_field { CALL_FIELDS(FIELD_NUMBER) N_CALL_FIELDS };
static const char *const call_fields[N_CALL_FIELDS] = {CALL_FIELDS(FIELD_KEY)};

struct call_reader {
    struct collective_calls *calls;
    const struct sutra_device_trace *trace;
    struct json_span fields[N_CALL_FIELDS]; /* of the current event */
    struct field_reader texts;
    int64_t rank, base_ns;
    struct collective_source source; /* of the current event */
    struct strings members;          /* texts of the trace */
    struct pair_table groups;        /* by name and source, and members: the group */
    bool failed;
};

row_t *collective_kernels_find(const struct sutra_device_trace *trace, struct arena *arena, uint8_t **kinds, row_t *n) {
    const struct device_events *events = &trace->events;
    struct string_roles *roles = names_find(&trace->strings, READER_TREE, arena);
    struct kernel_kinds of = kernel_kinds_begin(events, &trace->strings, roles, arena);
    row_t *kernels = arena_alloc(arena, events->n, sizeof *kernels);
    *kinds = arena_alloc(arena, events->n, 1);
    *n = 0;
    if (arena->failed)
        return NULL;
    for (row_t event = 0; event < events->n; event++) {
        if (!(category_roles(events, roles, event) & CATEGORY_KERNEL))
            continue;
        uint8_t kind = kernel_kind_of_event(&of, event);
        if (kernel_kinds[kind].class != DEVICE_COMMUNICATION)
            continue;
        (*kinds)[*n] = kind;
        kernels[(*n)++] = event;
    }
    return kernels;
}

/* Finds the fields of an event. Few events are collectives, so columns of all events would cost more. */
static void find_fields(struct call_reader *r, row_t event) {
    const struct document *document = &r->trace->document;
    struct json_span args = document_member_of(document, r->trace->events.text[event], "args");
    memset(r->fields, 0, sizeof r->fields);
    if (!args.at || document->source.bytes[args.at] != '{')
        return;
    struct json_walker walker = walk_from(&document->source, args.at);
    for (bool more = walk_object(&walker); more; more = walk_member_end(&walker)) {
        struct json_span key = walk_key(&walker), value = walk_value(&walker);
        for (int i = 0; i < N_CALL_FIELDS; i++)
            if (place_is(&document->source, key, call_fields[i]))
                r->fields[i] = value;
    }
}

static const char *call_bytes(const struct call_reader *r, enum call_field field) {
    return r->trace->document.source.bytes + r->fields[field].at;
}

static int64_t call_number(const struct call_reader *r, enum call_field field) {
    int64_t number;
    return r->fields[field].at && field_integer(call_bytes(r, field), &number) ? number : CALL_UNKNOWN;
}

static bool has_text(const struct call_reader *r, enum call_field field) {
    return r->fields[field].at && *call_bytes(r, field) == '"';
}

/* A text of the trace; "" if it is missing. Valid until the next call. */
static const char *call_text(struct call_reader *r, enum call_field field, size_t *length) {
    *length = 0;
    return has_text(r, field) ? field_string(&r->texts, r->fields[field], length) : "";
}

static uint32_t intern_field(struct call_reader *r, enum call_field field) {
    size_t length;
    const char *text = call_text(r, field, &length);
    uint32_t string = strings_intern(&r->calls->strings, text, length);
    r->failed |= string == STRING_NONE;
    return string;
}

/* ---- Groups ---- */

/* The text of the ranks of a group in the trace's "distributedInfo"; 0: it is missing. */
static size_t described_ranks(const struct document *document, const char *name, size_t length, const char **text) {
    const struct document_member *info = document_find(document, "distributedInfo");
    struct json_span groups = info ? document_member_of(document, info->value, "pg_config") : (struct json_span){0};
    const char *bytes = document->source.bytes;
    if (!groups.at || bytes[groups.at] != '[')
        return 0;
    struct json_walker walker = walk_from(&document->source, groups.at);
    for (bool more = walk_array(&walker); more; more = walk_element_end(&walker)) {
        struct json_span group = walk_value(&walker);
        struct json_span ranks = document_member_of(document, group.at, "ranks");
        if (!ranks.at || bytes[ranks.at] != '[')
            continue;
        struct json_span group_name = document_member_of(document, group.at, "pg_name");
        if (!group_name.at || group_name.end != group_name.at + 1 + length ||
            memcmp(bytes + group_name.at + 1, name, length) != 0)
            continue;
        *text = bytes + ranks.at;
        const char *end = memchr(*text, ']', document->source.size - ranks.at);
        return end ? (size_t)(end - *text) + 1 : 0;
    }
    return 0;
}

/* The text of a list, which is recorded as an array or as a text. */
static const char *call_list(const struct call_reader *r, enum call_field field, size_t *length) {
    const struct document *document = &r->trace->document;
    struct json_span place = r->fields[field];
    const char *text = document->source.bytes + place.at;
    *length = 0;
    if (place.at && *text == '"')
        *length = place.end - ++place.at; /* a text ends before its quote */
    else if (place.at && *text == '[')
        *length = brackets_end(&document->source, place.at).at - place.at;
    return *length ? document->source.bytes + place.at : "";
}

/* The group of a name and members, which are recorded in any order and may be truncated. */
static uint32_t add_group(struct call_reader *r, const char *name, size_t name_length, const char *members,
                          size_t length) {
    struct arena scratch = {0};
    struct buffer sorted = {0};
    const char *whole;
    size_t n = 0;
    if (length > 0 && text_has(members, length, "...") &&
        (n = described_ranks(&r->trace->document, name, name_length, &whole)) > 0) {
        members = whole;
        length = n;
    }
    int64_t *ranks = collective_list_read(members, length, &scratch, &n);
    char number[32];
    if (ranks && n > 0)
        qsort(ranks, n, sizeof *ranks, compare_int64s);
    for (size_t i = 0; ranks && i < n; i++)
        buffer_append(&sorted, number, (size_t)sprintf(number, "%s%" PRId64, i ? ", " : "[", ranks[i]));
    if (n > 0)
        buffer_append_text(&sorted, "]");
    uint32_t group = sorted.failed || !ranks
                         ? UINT32_MAX
                         : collective_group_add(r->calls, name, name_length, n > 0 ? sorted.bytes : members,
                                                n > 0 ? sorted.length : length, call_number(r, CALL_SIZE), r->source);
    buffer_free(&sorted);
    arena_free(&scratch);
    return group;
}

static uint32_t find_group(struct call_reader *r) {
    size_t name_length, length;
    const char *name = call_text(r, CALL_GROUP, &name_length);
    const char *members = call_list(r, CALL_MEMBERS, &length);
    uint32_t name_text = strings_intern(&r->members, name, name_length);
    uint32_t members_text = strings_intern(&r->members, members, length);
    bool ok = name_text != STRING_NONE && members_text != STRING_NONE;
    uint64_t key = (uint64_t)name_text << 16 | (uint64_t)r->source.library << 8 | r->source.phase;
    struct pair_entry *entry = ok ? pair_table_insert(&r->groups, key, members_text) : NULL;
    if (entry && entry->number == PAIR_NONE)
        entry->number = add_group(r, name, name_length, members, length);
    uint32_t group = entry ? entry->number : UINT32_MAX;
    r->failed |= group == UINT32_MAX;
    return group;
}

/* ---- Rows ---- */

/* The string id + 1 of a list; 0: it is empty. */
static uint32_t intern_list(struct call_reader *r, enum call_field field) {
    size_t length;
    const char *text = call_list(r, field, &length);
    if (length == 0 || (length == 2 && *text == '['))
        return 0;
    uint32_t string = strings_intern(&r->calls->strings, text, length);
    r->failed |= string == STRING_NONE;
    return string + 1;
}

/* "Comms Id", an integer or a text: the string id + 1. */
static uint32_t intern_comms_id(struct call_reader *r) {
    struct json_span place = r->fields[CALL_COMMS_ID];
    const char *text = r->trace->document.source.bytes + place.at;
    size_t length = 0;
    if (!place.at)
        return 0;
    if (*text == '"')
        length = place.end - ++place.at;
    else if (number_scan(text, &length) == NUMBER_FORM_BAD)
        return 0;
    uint32_t string =
        length ? strings_intern(&r->calls->strings, r->trace->document.source.bytes + place.at, length) : STRING_NONE;
    r->failed |= length && string == STRING_NONE;
    return length ? string + 1 : 0;
}

/* The collective of a kernel without arguments: of NCCL from its name, of other libraries from its kind. */
static uint32_t intern_kind(struct call_reader *r, row_t event, uint8_t kernel) {
    static const enum comm_kind kinds[N_KERNEL_COLLECTIVES] = {
        [COLL_NONE] = COMM_OTHER,
        [COLL_ALLREDUCE] = COMM_ALL_REDUCE,
        [COLL_REDUCESCATTER] = COMM_REDUCE_SCATTER,
        [COLL_ALLGATHER] = COMM_ALL_GATHER,
        [COLL_ALLTOALL] = COMM_ALL_TO_ALL,
        [COLL_BROADCAST] = COMM_BROADCAST,
        [COLL_SENDRECV] = COMM_MESSAGE,
        [COLL_BARRIER] = COMM_BARRIER,
        [COLL_REDUCE] = COMM_REDUCE,
        [COLL_UNKNOWN] = COMM_OTHER,
        [COLL_RECORDED] = COMM_OTHER,
    };
    const struct strings *strings = &r->trace->strings;
    uint32_t name = r->trace->events.name[event];
    const char *text = strings_text(strings, name);
    const char *kind =
        collective_kind_names[kernel_kinds[kernel].library == LIBRARY_NCCL
                                  ? collective_kind_of(text)
                                  : kinds[kernel_collective_find(kernel, "", text, strings_length(strings, name))]];
    uint32_t string = strings_intern(&r->calls->strings, kind, strlen(kind));
    r->failed |= string == STRING_NONE;
    return string;
}

/* 2^61 ns are 73 years. */
#define MOMENT_MOST 2.3e18

bool event_moments(const struct device_events *events, row_t event, int64_t base_ns, int64_t *start_ns,
                   int64_t *end_ns) {
    double ts_ns = number_as_double(number_at(events->ts, event)) * 1e3;
    double dur_ns = number_as_double(number_at(events->usable_dur, event)) * 1e3;
    double last_ns = (double)base_ns + ts_ns + dur_ns;
    if (!(events->flags[event] & EVENT_HAS_DUR) || !time_is_usable(events, event))
        return false;
    if (!(fabs(ts_ns) < MOMENT_MOST && fabs(dur_ns) < MOMENT_MOST && fabs(last_ns) < MOMENT_MOST) ||
        fabs((double)base_ns) > MOMENT_MOST)
        return false;
    *start_ns = base_ns + llround(ts_ns);
    *end_ns = *start_ns + llround(dur_ns);
    return true;
}

int64_t trace_time_ns(double us, int64_t base_ns) {
    int64_t ns = fabs(us * 1e3) < MOMENT_MOST ? (int64_t)llround(us * 1e3) : 0;
    bool fits = !__builtin_add_overflow(ns, base_ns, &ns);
    return fits && fabs((double)ns) < MOMENT_MOST ? ns : 0;
}

static void add_call(struct call_reader *r, row_t event, uint8_t kind, bool is_recorded) {
    r->source = (struct collective_source){kernel_kinds[kind].library, kernel_kinds[kind].phase};
    struct collective_call call = {.rank = r->rank,
                                   .what = is_recorded ? intern_field(r, CALL_WHAT) : intern_kind(r, event, kind),
                                   .type = intern_field(r, CALL_TYPE),
                                   .group = find_group(r),
                                   .event = event,
                                   .n_in = call_number(r, CALL_IN),
                                   .n_out = call_number(r, CALL_OUT),
                                   .seq = call_number(r, CALL_SEQ),
                                   .in_split = intern_list(r, CALL_IN_SPLIT),
                                   .out_split = intern_list(r, CALL_OUT_SPLIT),
                                   .comms_id = intern_comms_id(r),
                                   .ready_us = CALL_UNKNOWN,
                                   .done_us = CALL_UNKNOWN};
    bool timed = event_moments(&r->trace->events, event, r->base_ns, &call.start_ns, &call.end_ns);
    if (r->failed || !timed)
        return;
    const char *what = strings_text(&r->calls->strings, call.what);
    call.is_message = collective_is_message(what);
    call.is_send = call.is_message && *what == 's';
    call.peer = call_number(r, call.is_send ? CALL_TO : CALL_FROM);
    r->failed |= !collective_call_add(r->calls, &call);
}

int64_t trace_base_ns(const struct sutra_device_trace *trace) {
    const struct document_member *base = document_find(&trace->document, "baseTimeNanoseconds");
    int64_t ns;
    return base && field_integer(trace->document.source.bytes + base->value, &ns) ? ns : 0;
}

enum sutra_status collective_calls_read(struct collective_calls *calls, struct sutra_context *context,
                                        const struct sutra_device_trace *trace, int64_t rank,
                                        struct sutra_error *error) {
    struct arena scratch = {0};
    struct call_reader reader = {.calls = calls,
                                 .trace = trace,
                                 .rank = rank,
                                 .base_ns = trace_base_ns(trace),
                                 .texts = {.source = &trace->document.source, .values = &context->values}};
    uint8_t *kinds;
    row_t n, *kernels = collective_kernels_find(trace, &scratch, &kinds, &n);
    bool ready = strings_init(&reader.members) && pair_table_init(&reader.groups);
    enum sutra_status status = kernels && ready ? SUTRA_OK : error_memory(error);
    for (row_t i = 0; i < n && !status && !reader.failed; i++) {
        find_fields(&reader, kernels[i]);
        bool is_recorded = has_text(&reader, CALL_WHAT);
        calls->n_untold += !is_recorded;
        if (is_recorded || calls->keep_unrecorded)
            add_call(&reader, kernels[i], kinds[i], is_recorded);
    }
    reader.failed |= reader.texts.failed;
    buffer_free(&reader.texts.scratch);
    strings_free(&reader.members);
    pair_table_free(&reader.groups);
    arena_free(&scratch);
    return reader.failed ? error_memory(error) : status;
}

int64_t *collective_list_read(const char *text, size_t length, struct arena *arena, size_t *n) {
    int64_t *numbers = arena_alloc(arena, length / 2 + 1, sizeof *numbers);
    size_t n_read = 0;
    *n = 0;
    if (!numbers || text_has(text, length, "..."))
        return numbers;
    for (const char *at = text, *end = text + length; at < end; at++) {
        int64_t number = 0;
        bool any = false, fits = true;
        for (; at < end && *at >= '0' && *at <= '9'; at++, any = true)
            fits = fits && !__builtin_mul_overflow(number, 10, &number) &&
                   !__builtin_add_overflow(number, *at - '0', &number);
        if (!fits || number == INT64_MAX)
            return numbers;
        if (any)
            numbers[n_read++] = number;
    }
    *n = n_read;
    return numbers;
}

int64_t *collective_group_ranks(const struct collective_calls *calls, uint32_t group, struct arena *arena, size_t *n) {
    uint32_t members = calls->groups[group].members;
    int64_t *ranks = collective_list_read(strings_text(&calls->strings, members),
                                          strings_length(&calls->strings, members), arena, n);
    if (ranks && *n > 0)
        qsort(ranks, *n, sizeof *ranks, compare_int64s);
    return ranks;
}
