/*
 * collective_calls.c - from kernels with arguments to rows.
 */
#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "analyze/collective_calls.h"
#include "base/error.h"
#include "base/memory.h"
#include "base/shared.h"
#include "columns/column.h"
#include "facts/collectives.h"
#include "facts/names.h"
#include "read/document.h"
#include "read/json.h"
#include "text/numbers.h"
#include "text/quantities.h"
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
            codec_check(codec, group->name < strings->n && group->members < strings->n);
            if (codec->failure)
                break;
            uint32_t number = collective_group_take(
                calls, strings_text(strings, group->name), strings_length(strings, group->name),
                strings_text(strings, group->members), strings_length(strings, group->members), group->size);
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
                                   call->in_split <= n && call->out_split <= n);
        }
        calls->n = codec->failure ? 0 : calls->n;
    }
    codec_value(codec, &calls->n_untold);
    codec_bool(codec, &calls->keep_untold);
}

/*
 * From checked JSON to Python's tuples, without recursion: a bit for each open list tells whether it
 * has several elements, since a tuple of one has a comma behind it.
 */

struct argument_writer {
    struct buffer *out;
    const char *end; /* of the JSON */
    size_t depth;
    bool comma[DEPTH_MAX + 2]; /* whether the list of this depth needs none behind its element */
};

/* Length of the string, or the object, at `text`. */
static size_t value_length(const char *text, const char *end) {
    struct list_cursor cursor = {text, end};
    if (*text == '"')
        list_skip_string(&cursor);
    else
        list_skip_value(&cursor);
    while (list_is_space(cursor.at[-1]))
        cursor.at--;
    return (size_t)(cursor.at - text);
}

static size_t scalar_length(const char *text) {
    size_t n = 0;
    while (!strchr(",]} \n\r\t", text[n]))
        n++;
    return n;
}

static void append_text(struct buffer *out, const char *text) {
    buffer_append(out, text, strlen(text));
}

/* A string of `length` bytes with its quotes: decoded, and quoted as Python does unless it stands alone. */
static void append_string(struct buffer *out, const char *text, size_t length, bool alone) {
    char *to = buffer_reserve(out, length * 5 + 64); /* decoded behind where its repr() comes */
    if (!to)
        return;
    char *decoded = alone ? to : to + length * 4 + 2;
    size_t n = string_decode(text + 1, length - 2, decoded);
    out->length += alone ? n : string_repr(decoded, n, to);
}

static void append_number(struct buffer *out, const char *text, size_t length) {
    enum number_form form = number_scan(text, &length);
    char *to = buffer_reserve(out, length + 2 * NUMBER_TEXT_MAX);
    if (to)
        out->length += number_rewrite(text, length, form, to);
}

/* A number or a word; returns its length. */
static size_t append_scalar_argument_text(struct buffer *out, const char *text) {
    static const char *const words[][2] = {{"null", "None"}, {"true", "True"}, {"false", "False"}};
    size_t length = scalar_length(text);
    for (size_t i = 0; i < 3; i++)
        if (length == strlen(words[i][0]) && memcmp(text, words[i][0], length) == 0) {
            append_text(out, words[i][1]);
            return length;
        }
    append_number(out, text, length);
    return length;
}

/* Whether nothing stands in the tuple that ends now. */
static bool is_empty(const struct buffer *out) {
    return out->length && out->bytes[out->length - 1] == '(';
}

/* Appends what stands at `text`: a bracket, a comma, white space, a scalar; returns its length. */
static size_t append_token_argument_text(struct argument_writer *writer, const char *text) {
    size_t length;
    switch (*text) {
    case '[':
        writer->comma[++writer->depth] = false;
        append_text(writer->out, "(");
        return 1;
    case ']':
        append_text(writer->out, writer->comma[writer->depth--] || is_empty(writer->out) ? ")" : ",)");
        return 1;
    case '{':
        length = value_length(text, writer->end);
        buffer_append(writer->out, text, length);
        return length;
    case ',':
        writer->comma[writer->depth] = true;
        append_text(writer->out, ", ");
        return 1;
    case '"':
        length = value_length(text, writer->end);
        append_string(writer->out, text, length, writer->depth == 0);
        return length;
    default:
        return strchr(" \n\r\t", *text) ? 1 : append_scalar_argument_text(writer->out, text);
    }
}

void argument_append(struct buffer *out, const char *json, size_t length) {
    struct argument_writer writer = {.out = out, .end = json + length};
    for (size_t i = 0; i < length;)
        i += append_token_argument_text(&writer, json + i);
}

/*
 * Shapes of tensors: from the trace's JSON to a text that is the same for equal shapes, and on to
 * Python's tuples. No recursion; O(length).
 */

static bool is_space(char c) {
    return c == ' ' || c == '\n' || c == '\r' || c == '\t';
}

/* Length of the string at `text`, with its quotes. */
static size_t string_length(const char *text) {
    size_t n = 1;
    while (text[n] != '"')
        n += text[n] == '\\' ? 2 : 1;
    return n + 1;
}

/* Length of the word at `text`: true, false, null. */
static size_t word_length(const char *text) {
    size_t n = 0;
    while (text[n] >= 'a' && text[n] <= 'z')
        n++;
    return n;
}

/* Copies the scalar at `text` as Python would write it; returns its length in `text`. */
static size_t append_scalar_shape_text(struct buffer *out, const char *text) {
    size_t length;
    if (*text == '"')
        length = string_length(text);
    else if (*text >= 'a' && *text <= 'z')
        length = word_length(text);
    else {
        enum number_form form = number_scan(text, &length);
        char *to = buffer_reserve(out, length + 2 * NUMBER_TEXT_MAX);
        if (to)
            out->length += number_rewrite(text, length, form, to);
        return length;
    }
    buffer_append(out, text, length);
    return length;
}

/* Whether the element that was written from `start` on counts as false in Python. */
static bool is_false(const struct buffer *out, size_t start) {
    static const char *const words[] = {"[]", "\"\"", "null", "false", "0", "0.0", "-0.0"};
    for (size_t i = 0; i < sizeof words / sizeof *words; i++)
        if (out->length - start == strlen(words[i]) && memcmp(out->bytes + start, words[i], strlen(words[i])) == 0)
            return true;
    return false;
}

/* Copies what stands at `text`, a bracket, a separator, a scalar or white space; returns its length. */
static size_t append_token_shape_text(struct buffer *out, const char *text, size_t *depth) {
    if (is_space(*text))
        return 1;
    if (*text == ',') {
        append_text(out, ", ");
        return 1;
    }
    if (!strchr("[]", *text))
        return append_scalar_shape_text(out, text);
    *depth += *text == '[' ? 1 : (size_t)-1;
    buffer_append(out, text, 1);
    return 1;
}

void shape_append(struct buffer *out, const char *json) {
    size_t begin = out->length, depth = 1, i = 1;
    append_text(out, "[");
    size_t element = out->length; /* where the running element of the top level begins */
    while (*json == '[' && !out->failed && (depth > 1 || json[i] != ']')) {
        if (json[i] == '{') { /* no shape that we know */
            element = out->length = begin + 1;
            break;
        }
        bool comma = depth == 1 && json[i] == ',';
        i += append_token_shape_text(out, json + i, &depth);
        bool gone = comma ? out->length == element + 2 : depth == 1 && is_false(out, element);
        if (gone) /* a comma, too, if what stood before it is */
            out->length = element;
        else if (comma)
            element = out->length;
    }
    if (out->failed)
        return;
    if (out->length > begin + 1 && out->length == element)
        out->length -= 2; /* the comma behind the last one that stays */
    bool empty = out->length == begin + 1;
    out->length = empty ? begin : out->length;
    append_text(out, empty ? SHAPE_NONE : "]");
}

void shape_append_tuple(struct buffer *out, const char *json) {
    static const char *const words[][2] = {{"null", "None"}, {"true", "True"}, {"false", "False"}};
    bool several[DEPTH_MAX + 2] = {false}; /* whether the list of this depth has a comma */
    size_t depth = 0;
    for (size_t i = 0; json[i];) {
        char c = json[i];
        size_t length = 1;
        if (c == '[' && depth <= DEPTH_MAX) {
            several[++depth] = json[i + 1] == ']';
            append_text(out, "(");
        } else if (c == ']') {
            append_text(out, several[depth--] ? ")" : ",)");
        } else if (c == '"') {
            length = string_length(json + i);
            buffer_append(out, json + i, length);
        } else if (c >= 'a' && c <= 'z') {
            length = word_length(json + i);
            for (size_t word = 0; word < 3; word++)
                if (strncmp(json + i, words[word][0], length) == 0)
                    append_text(out, words[word][1]);
        } else {
            several[depth] |= c == ',';
            buffer_append(out, &c, 1);
        }
        i += length;
    }
}

/*
 * Reading "deviceProperties".
 */

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

/* The number in `to` of a string of `from`, whose number and 1 is `string`; 0 stays. */
static bool translate(struct collective_calls *to, const struct collective_calls *from, uint32_t *string) {
    if (*string == 0)
        return true;
    uint32_t of = *string - 1;
    uint32_t kept = strings_intern(&to->strings, strings_text(&from->strings, of), strings_length(&from->strings, of));
    *string = kept + 1;
    return kept != STRING_NONE;
}

/* Numbers of the other table's groups here. */
static uint32_t *translate_groups(struct collective_calls *to, const struct collective_calls *from) {
    uint32_t *groups = malloc((from->n_groups + 1) * sizeof *groups);
    for (uint64_t i = 0; i < from->n_groups && groups; i++) {
        const struct collective_group *group = &from->groups[i];
        const struct strings *strings = &from->strings;
        groups[i] = collective_group_take(to, strings_text(strings, group->name), strings_length(strings, group->name),
                                          strings_text(strings, group->members),
                                          strings_length(strings, group->members), group->size);
        if (groups[i] == UINT32_MAX) {
            free(groups);
            return NULL;
        }
    }
    return groups;
}

bool collective_calls_append(struct collective_calls *to, const struct collective_calls *from) {
    uint32_t *groups = translate_groups(to, from), what = 0, type = 0;
    bool done = groups;
    struct collective_call last = {0};
    for (uint64_t i = 0; i < from->n && done; i++) {
        struct collective_call call = from->list[i];
        if (i == 0 || call.what != last.what || call.type != last.type) { /* mostly the same again */
            last = call;
            what = call.what + 1;
            type = call.type + 1;
            done = translate(to, from, &what) && translate(to, from, &type);
        }
        call.what = what - 1;
        call.type = type - 1;
        call.group = groups[call.group];
        done = done && translate(to, from, &call.in_split) && translate(to, from, &call.out_split) &&
               collective_call_add(to, &call);
    }
    to->n_untold += from->n_untold;
    free(groups);
    return done;
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
    CALL_IN_SPLIT,
    CALL_OUT_SPLIT,
    N_CALL_FIELDS,
};

static const char *const call_fields[N_CALL_FIELDS] = {
    [CALL_WHAT] = "Collective name",
    [CALL_TYPE] = "dtype",
    [CALL_GROUP] = "Process Group Name",
    [CALL_MEMBERS] = "Process Group Ranks",
    [CALL_SIZE] = "Group size",
    [CALL_IN] = "In msg nelems",
    [CALL_OUT] = "Out msg nelems",
    [CALL_SEQ] = "Seq",
    [CALL_FROM] = "Src Rank",
    [CALL_TO] = "Dst Rank",
    [CALL_IN_SPLIT] = "In split size",
    [CALL_OUT_SPLIT] = "Out split size",
};

/* A trace that is being read. */
struct calls_reading {
    struct collective_calls *calls;
    const struct sutra_device_trace *trace;
    struct json_place fields[N_CALL_FIELDS]; /* of the event at hand */
    struct field_reader texts;
    int64_t rank, base_ns;
    struct strings members;   /* as the trace has them */
    struct pair_table groups; /* by name and members: the number of the group */
    bool failed;
};

row_t *collective_kernels_find(const struct sutra_device_trace *trace, struct arena *arena, row_t *n) {
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

/* Finds what an event tells. Such events are few: columns of all events would cost more than this walk. */
static void find_fields(struct calls_reading *reading, row_t event) {
    const struct document *document = &reading->trace->document;
    struct json_place args = document_member_of(document, reading->trace->events.text[event], "args");
    memset(reading->fields, 0, sizeof reading->fields);
    if (!args.at || document->source.bytes[args.at] != '{')
        return;
    struct json_walker walker = walk_from(&document->source, args.at);
    for (bool more = walk_object(&walker); more; more = walk_member_end(&walker)) {
        struct json_place key = walk_key(&walker), value = walk_value(&walker);
        for (int i = 0; i < N_CALL_FIELDS; i++)
            if (place_is(&document->source, key, call_fields[i]))
                reading->fields[i] = value;
    }
}

static const char *call_bytes(const struct calls_reading *reading, enum call_field field) {
    return reading->trace->document.source.bytes + reading->fields[field].at;
}

static int64_t call_number(const struct calls_reading *reading, enum call_field field) {
    int64_t number;
    return reading->fields[field].at && field_integer(call_bytes(reading, field), &number) ? number : CALL_UNKNOWN;
}

static bool call_tells(const struct calls_reading *reading, enum call_field field) {
    return reading->fields[field].at && *call_bytes(reading, field) == '"';
}

/* A text of the trace; "" where there is none. Valid until the next call. */
static const char *call_text(struct calls_reading *reading, enum call_field field, size_t *length) {
    *length = 0;
    return call_tells(reading, field) ? field_string(&reading->texts, reading->fields[field], length) : "";
}

static uint32_t keep_text(struct calls_reading *reading, enum call_field field) {
    size_t length;
    const char *text = call_text(reading, field, &length);
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
    struct json_walker walker = walk_from(&document->source, groups.at);
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

/* A list as it stands in the trace, an array or a text. */
static const char *call_list(const struct calls_reading *reading, enum call_field field, size_t *length) {
    const struct document *document = &reading->trace->document;
    struct json_place place = reading->fields[field];
    const char *text = document->source.bytes + place.at;
    *length = 0;
    if (place.at && *text == '"')
        *length = place.end - ++place.at; /* a text ends before its quote */
    else if (place.at && *text == '[')
        *length = brackets_end(&document->source, place.at).at - place.at;
    return *length ? document->source.bytes + place.at : "";
}

/* The group of this name and these members, which are told in any order. */
static uint32_t new_group(struct calls_reading *reading, const char *name, size_t name_length, const char *members,
                          size_t length) {
    struct arena scratch = {0};
    struct buffer sorted = {0};
    const char *whole;
    size_t n = 0;
    if (length > 0 && memmem(members, length, "...", 3) &&
        (n = described_ranks(&reading->trace->document, name, name_length, &whole)) > 0) {
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
        buffer_append(&sorted, "]", 1);
    uint32_t group = sorted.failed || !ranks
                         ? UINT32_MAX
                         : collective_group_take(reading->calls, name, name_length, n > 0 ? sorted.bytes : members,
                                                 n > 0 ? sorted.length : length, call_number(reading, CALL_SIZE));
    buffer_free(&sorted);
    arena_free(&scratch);
    return group;
}

static uint32_t take_group(struct calls_reading *reading) {
    size_t name_length, length;
    const char *name = call_text(reading, CALL_GROUP, &name_length);
    const char *members = call_list(reading, CALL_MEMBERS, &length);
    uint32_t called = strings_intern(&reading->members, name, name_length);
    uint32_t told = strings_intern(&reading->members, members, length);
    bool kept = called != STRING_NONE && told != STRING_NONE;
    struct pair_entry *entry = kept ? pair_table_take(&reading->groups, called, told) : NULL;
    if (entry && entry->number == PAIR_NONE)
        entry->number = new_group(reading, name, name_length, members, length);
    uint32_t group = entry ? entry->number : UINT32_MAX;
    reading->failed |= group == UINT32_MAX;
    return group;
}

/* ---- Rows ---- */

/* A list, if it is not empty: its string's number and 1. */
static uint32_t keep_list(struct calls_reading *reading, enum call_field field) {
    size_t length;
    const char *text = call_list(reading, field, &length);
    if (length == 0 || (length == 2 && *text == '['))
        return 0;
    uint32_t kept = strings_intern(&reading->calls->strings, text, length);
    reading->failed |= kept == STRING_NONE;
    return kept + 1;
}

/* What a kernel without arguments does, by its name. */
static uint32_t keep_kind(struct calls_reading *reading, row_t event) {
    const struct sutra_device_trace *trace = reading->trace;
    const char *kind =
        collective_kind_names[collective_kind_of(strings_text(&trace->strings, trace->events.name[event]))];
    uint32_t kept = strings_intern(&reading->calls->strings, kind, strlen(kind));
    reading->failed |= kept == STRING_NONE;
    return kept;
}

/* 2^61 ns are 73 years. */
#define MOMENT_MOST 2.3e18

bool event_moments(const struct device_events *events, row_t event, int64_t base_ns, int64_t *start_ns,
                   int64_t *end_ns) {
    double ts_ns = number_as_double(number_at(events->ts, event)) * 1e3;
    double dur_ns = number_as_double(number_at(events->dur, event)) * 1e3;
    double last_ns = (double)base_ns + ts_ns + dur_ns;
    if (!(events->flags[event] & EVENT_HAS_TS && events->flags[event] & EVENT_HAS_DUR) || dur_ns < 0)
        return false;
    if (!(fabs(ts_ns) < MOMENT_MOST && fabs(dur_ns) < MOMENT_MOST && fabs(last_ns) < MOMENT_MOST) ||
        fabs((double)base_ns) > MOMENT_MOST)
        return false;
    *start_ns = base_ns + llround(ts_ns);
    *end_ns = *start_ns + llround(dur_ns);
    return true;
}

static int64_t nanoseconds(double us) {
    double ns = us * 1e3;
    return fabs(ns) < MOMENT_MOST ? (int64_t)llround(ns) : 0;
}

int64_t trace_time_ns(double us, int64_t base_ns) {
    int64_t ns;
    bool fits = !__builtin_add_overflow(nanoseconds(us), base_ns, &ns);
    return fits && fabs((double)ns) < MOMENT_MOST ? ns : 0;
}

static void add_call(struct calls_reading *reading, row_t event, bool told) {
    struct collective_call call = {.rank = reading->rank,
                                   .what = told ? keep_text(reading, CALL_WHAT) : keep_kind(reading, event),
                                   .type = keep_text(reading, CALL_TYPE),
                                   .group = take_group(reading),
                                   .event = event,
                                   .n_in = call_number(reading, CALL_IN),
                                   .n_out = call_number(reading, CALL_OUT),
                                   .seq = call_number(reading, CALL_SEQ),
                                   .in_split = keep_list(reading, CALL_IN_SPLIT),
                                   .out_split = keep_list(reading, CALL_OUT_SPLIT),
                                   .ready_us = CALL_UNKNOWN,
                                   .done_us = CALL_UNKNOWN};
    bool timed = event_moments(&reading->trace->events, event, reading->base_ns, &call.start_ns, &call.end_ns);
    if (reading->failed || !timed)
        return;
    const char *what = strings_text(&reading->calls->strings, call.what);
    call.is_message = collective_is_message(what);
    call.is_send = call.is_message && *what == 's';
    call.peer = call_number(reading, call.is_send ? CALL_TO : CALL_FROM);
    reading->failed |= !collective_call_add(reading->calls, &call);
}

int64_t trace_base_ns(const struct sutra_device_trace *trace) {
    const struct document_member *base = document_find(&trace->document, "baseTimeNanoseconds");
    int64_t ns;
    return base && field_integer(trace->document.source.bytes + base->value, &ns) ? ns : 0;
}

enum sutra_status collective_calls_take(struct collective_calls *calls, struct sutra_context *context,
                                        const struct sutra_device_trace *trace, int64_t rank,
                                        struct sutra_error *error) {
    struct arena scratch = {0};
    struct calls_reading reading = {.calls = calls,
                                    .trace = trace,
                                    .rank = rank,
                                    .base_ns = trace_base_ns(trace),
                                    .texts = {.source = &trace->document.source, .values = &context->values}};
    row_t n, *kernels = collective_kernels_find(trace, &scratch, &n);
    bool ready = strings_init(&reading.members) && pair_table_init(&reading.groups);
    enum sutra_status status = kernels && ready ? SUTRA_OK : error_memory(error);
    for (row_t i = 0; i < n && !status && !reading.failed; i++) {
        find_fields(&reading, kernels[i]);
        bool told = call_tells(&reading, CALL_WHAT);
        calls->n_untold += !told;
        if (told || calls->keep_untold)
            add_call(&reading, kernels[i], told);
    }
    reading.failed |= reading.texts.failed;
    buffer_free(&reading.texts.scratch);
    strings_free(&reading.members);
    pair_table_free(&reading.groups);
    arena_free(&scratch);
    return reading.failed ? error_memory(error) : status;
}

int64_t *collective_list_read(const char *text, size_t length, struct arena *arena, size_t *n) {
    int64_t *numbers = arena_take(arena, length / 2 + 1, sizeof *numbers);
    size_t n_read = 0;
    *n = 0;
    if (!numbers || memmem(text, length, "...", 3))
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
