/*
 * json_copy.c - implements json_copy.h: re-indents JSON almost at the speed of memcpy.
 *
 * The text was checked when it was read, so the loops here only inspect first characters. Every write first reserves
 * room for the longest form of its output and then stores whole vectors.
 */
#include <stdlib.h>
#include <string.h>

#include "base/arena.h"
#include "base/shared.h"
#include "columns/strings.h"
#include "read/document.h"
#include "text/numbers.h"
#include "text/strings.h"
#include "write/json_copy.h"

/* ---- The text around the array ---- */

/* For each member of the document: the member whose value is written after its key, the last one with this key; or
 * SIZE_MAX for repeated keys. NULL: out of memory. */
static size_t *resolve_members(const struct document *document, struct arena *arena) {
    size_t *keep = arena_alloc(arena, document->n_members, sizeof *keep);
    size_t *first = arena_alloc(arena, document->n_members, sizeof *first); /* member by key */
    struct strings keys;
    struct field_reader reader = {.source = &document->source};
    bool ok = strings_init(&keys) && !arena->failed;
    for (size_t i = 0; i < document->n_members && ok; i++) {
        uint32_t n_before = keys.n, number = field_intern(&reader, document->members[i].key, &keys);
        ok = !reader.failed;
        keep[i] = SIZE_MAX;
        if (ok && number == n_before)
            first[number] = i;
        if (ok)
            keep[first[number]] = i;
    }
    buffer_free(&reader.scratch);
    strings_free(&keys);
    return ok ? keep : NULL;
}

bool document_frame(const struct document *document, bool empty, struct buffer *head, struct buffer *tail) {
    bool comma = false;
    struct buffer *out = head;
    struct json_emitter emitter = {0};
    struct arena arena = {0};
    const size_t *keep = resolve_members(document, &arena);
    buffer_append_text(out, "{");
    for (size_t i = 0; i < document->n_members && keep; i++) {
        if (keep[i] == SIZE_MAX)
            continue;
        emitter.out = out;
        if (comma)
            buffer_append_text(out, ",");
        emit_newline(out, 1);
        comma = true;
        struct json_walker walker = walk_from(&document->source, document->members[i].key.at);
        emit_value(&emitter, &walker, 1);
        buffer_append_text(out, ": ");
        if (keep[i] == document->array) {
            buffer_append_text(out, "[");
            out = tail;
            buffer_append(out, empty ? "]" : "\n    ]", empty ? 1 : 6);
            continue;
        }
        walker = walk_from(&document->source, document->members[keep[i]].value);
        emit_value(&emitter, &walker, 1);
    }
    buffer_append_text(out, "\n}");
    bool ok = keep && !emitter.failed && !head->failed && !tail->failed;
    json_emitter_free(&emitter);
    arena_free(&arena);
    return ok;
}

/* ---- The bytes of a device trace ---- */

void trace_copy_to(const struct sutra_device_trace *trace, struct text_out *text, size_t *from, size_t to) {
    const size_t limit = 1 << 20;
    while (*from < to) {
        size_t n = MIN(to - *from, limit);
        buffer_append(&text->out, trace->document.source.bytes + *from, n);
        *from += n;
        out_step(text);
    }
}

void trace_copy_value(const struct sutra_device_trace *trace, struct text_out *text, struct json_span place) {
    const char *value = trace->document.source.bytes + place.at;
    size_t length = 1;
    if (!place.at || *value == 'n')
        out_add(text, "0");
    else if (*value == '"')
        buffer_append(&text->out, value, place.end + 1 - place.at);
    else if (number_scan(value, &length) != NUMBER_FORM_BAD)
        buffer_append(&text->out, value, length);
    else
        out_add(text, *value == 't' ? "1" : "0");
}

size_t trace_events_end(const struct sutra_device_trace *trace) {
    const struct document *document = &trace->document;
    struct json_walker walker = walk_from(&document->source, trace->events.text[trace->events.n - 1]);
    walk_value(&walker);
    return walker.at;
}

size_t trace_event_end(const struct sutra_device_trace *trace, row_t event) {
    const char *bytes = trace->document.source.bytes;
    bool last = event + 1 == trace->events.n;
    return last ? trim_end(bytes, trace_events_end(trace)) : element_end(bytes, trace->events.text[event + 1]);
}

/* ---- Nodes: members are written to a buffer, then the remaining members to the output. O(bytes written) ---- */

/* Writes the value at a walker and leaves the emitter's list of members unchanged. */
static void write_member_value(struct json_emitter *emitter, struct json_walker *walker) {
    size_t n = emitter->members.n;
    emit_value(emitter, walker, NODE_LEVEL + 1);
    emitter->members.n = n;
}

static void write_change(struct json_emitter *emitter, const struct member_change *change) {
    if (!change->document) {
        emit_number(emitter->out, change->number);
        return;
    }
    struct json_walker walker = walk_from(&change->document->source, change->at);
    write_member_value(emitter, &walker);
}

void node_rewrite(struct node_rewriter *rewriter, const struct document *document, size_t at,
                  const struct member_change *changes, size_t n, struct buffer *out) {
    struct json_emitter *emitter = &rewriter->emitter;
    struct json_walker walker = walk_from(&document->source, at);
    uint32_t written = 0; /* a bit per change */
    rewriter->text.length = 0;
    emitter->out = &rewriter->text;
    emitter->members.n = 0;
    for (bool more = walk_object(&walker); more; more = walk_member_end(&walker)) {
        node_separate(&rewriter->text, false);
        struct json_span key = walk_string(&walker);
        walk_next(&walker); /* the colon */
        emit_member_key(emitter, &walker, key);
        size_t change = 0;
        while (change < n && !place_is(&document->source, key, changes[change].key))
            change++;
        if (change < n) {
            walk_value(&walker);
            write_change(emitter, &changes[change]);
            written |= (uint32_t)1 << change;
        } else {
            write_member_value(emitter, &walker);
        }
        end_member(emitter);
    }
    merge_members(emitter, 0);
    buffer_append_text(out, "{");
    node_copy_members(&emitter->members, 0, emitter->members.n, &rewriter->text, out);
    bool comma = emitter->members.n > 0;
    emitter->out = out;
    for (size_t i = 0; i < n; i++) {
        if (written >> i & 1)
            continue;
        node_separate(out, !comma);
        buffer_append_text(out, "\"");
        buffer_append(out, changes[i].key, strlen(changes[i].key));
        buffer_append_text(out, "\": ");
        write_change(emitter, &changes[i]);
        comma = true;
    }
    emit_newline(out, NODE_LEVEL);
    buffer_append_text(out, "}");
    rewriter->failed |= emitter->failed || rewriter->text.failed;
}

void node_rewriter_free(struct node_rewriter *rewriter) {
    json_emitter_free(&rewriter->emitter);
    buffer_free(&rewriter->text);
    *rewriter = (struct node_rewriter){0};
}

void node_copy_members(const struct emitted_members *members, size_t begin, size_t end, const struct buffer *text,
                       struct buffer *out) {
    const struct emitted_member *list = members->list;
    for (size_t i = begin; i < end;) {
        size_t first = i++;
        while (i < end && list[i].start == list[i - 1].end + NODE_SEPARATOR_LENGTH)
            i++;
        node_separate(out, first == 0);
        buffer_append(out, text->bytes + list[first].start, list[i - 1].end - list[first].start);
    }
}

/* ---- Values ---- */

/* Bytes after the output that a store may touch. */
#define SLACK 64

/* Objects up to this size are searched for equal tags pairwise. */
#define FEW_MEMBERS 32

void json_emitter_free(struct json_emitter *emitter) {
    free(emitter->values);
    free(emitter->members.list);
    buffer_free(&emitter->scratch);
    *emitter = (struct json_emitter){0};
}

static const char line_and_spaces[SLACK + 1] = "\n                                                               ";

static inline size_t newline_length(unsigned level) {
    return 1 + 4 * (size_t)level;
}

static inline char *append_newline(char *to, unsigned level) {
    size_t n = newline_length(level);
    memcpy(to, line_and_spaces, SLACK);
    if (n > SLACK)
        memset(to + SLACK, ' ', n - SLACK);
    return to + n;
}

void emit_newline(struct buffer *out, unsigned level) {
    char *to = buffer_reserve(out, newline_length(level) + SLACK);
    if (to)
        out->length = (size_t)(append_newline(to, level) - out->bytes);
}

void emit_number(struct buffer *out, struct number number) {
    char *to = buffer_reserve(out, NUMBER_TEXT_MAX);
    if (!to)
        return;
    if (number.kind == NUMBER_DOUBLE)
        out->length += double_format(number_as_double(number), to);
    else if (number.kind == NUMBER_INTEGER)
        out->length += integer_format((int64_t)number.bits, to);
    else
        buffer_append(out, number.bits ? "true" : "false", number.bits ? 4 : 5);
}

/* Reserves `extra` bytes at `to`, the end of the buffer's content; NULL: out of memory. */
static inline char *room(struct buffer *out, char *to, size_t extra) {
    if ((size_t)(out->bytes + out->capacity - to) >= extra)
        return to;
    out->length = (size_t)(to - out->bytes);
    return buffer_grow(out, extra);
}

/* Room for a string as it is written, and after it a line break of this level. */
static inline size_t string_room(struct json_span place, unsigned level) {
    return 6 * (place.end - place.at) + 4 * (size_t)level + 4 * SLACK;
}

/* Writes a string's text between quotes. */
static inline char *append_string(char *to, const char *text, struct json_span place) {
    const char *raw = text + place.at + 1;
    size_t length = place.end - place.at - 1;
    *to++ = '"';
    if (length <= SCAN_BYTES && copy_plain(to, raw, length))
        to += length;
    else
        to += string_rewrite(raw, length, to);
    *to++ = '"';
    return to;
}

/* A scalar that is not a short integer; NULL: out of memory. */
static __attribute__((noinline)) char *append_other_scalar(struct buffer *out, char *to, const char *text,
                                                           unsigned level) {
    size_t length = *text == 't' || *text == 'n' ? 4 : 5;
    if (*text == 't' || *text == 'n' || *text == 'f') {
        memcpy(to, text, length);
        return to + length;
    }
    enum number_form form = number_scan(text, &length);
    to = room(out, to, length + 4 * (size_t)level + 4 * SLACK);
    return to ? to + number_rewrite(text, length, form, to) : NULL;
}

/* Writes the number or word at the walker, with room for a line break of this level, and steps over it; NULL: out of
 * memory. */
__attribute__((always_inline)) static inline char *append_scalar(struct buffer *out, char *to,
                                                                 struct json_walker *walker, unsigned level) {
    const char *text = walker->text + walker->at;
    to = room(out, to, 4 * (size_t)level + 4 * SLACK);
    if (!to)
        return NULL;
    /* By far the most frequent scalar: at most 15 digits, followed by a comma or a closing bracket. */
    size_t n = digit_run_short(text);
    bool integer = text[n] == ',' || text[n] == ']' || text[n] == '}';
    if (integer && n > 0 && n < SCAN_BYTES && (*text != '0' || n == 1)) {
        walk_to(walker, walker->at + n);
        memcpy(to, text, SCAN_BYTES);
        return to + n;
    }
    walk_scalar(walker);
    return append_other_scalar(out, to, text, level);
}

/* A number that is equal for equal keys: from the last 8 bytes up to the key's end (with the quote and the spaces
 * before a shorter key), and the first 8 bytes of longer keys. */
static inline uint64_t key_tag(const char *key, size_t length) {
    uint64_t last, first = 0;
    memcpy(&last, key + length - 8, 8);
    if (length >= 8)
        memcpy(&first, key, 8);
    return (last ^ (first << 23 | first >> 41)) * 0x9e3779b97f4a7c15u + length;
}

static bool grow_members(struct json_emitter *emitter) {
    struct emitted_members *members = &emitter->members;
    size_t capacity = members->capacity * 2 + 64;
    void *list = reallocarray(members->list, capacity, sizeof *members->list);
    if (!list) {
        emitter->failed = true;
        return false;
    }
    members->list = list;
    members->capacity = capacity;
    return true;
}

/* Writes a key with its colon, with room for a line break, and adds the member; NULL: out of memory. */
__attribute__((always_inline)) static inline char *append_key(struct json_emitter *emitter, char *to, const char *text,
                                                              struct json_span key, unsigned level) {
    struct emitted_members *members = &emitter->members;
    if (!(to = room(emitter->out, to, string_room(key, level))) ||
        (members->n == members->capacity && !grow_members(emitter)))
        return NULL;
    char *end = append_string(to, text, key);
    size_t length = (size_t)(end - to) - 2;
    members->list[members->n++] = (struct emitted_member){
        .tag = key_tag(to + 1, length), .start = (size_t)(to - emitter->out->bytes), .key = (uint32_t)length};
    memcpy(end, ": ", 2);
    return end + 2;
}

void emit_member_key(struct json_emitter *emitter, const struct json_walker *walker, struct json_span key) {
    struct buffer *out = emitter->out;
    char *to = buffer_reserve(out, string_room(key, 0));
    if (to && (to = append_key(emitter, to, walker->text, key, 0)))
        out->length = (size_t)(to - out->bytes);
}

void end_member(struct json_emitter *emitter) {
    if (emitter->members.n)
        emitter->members.list[emitter->members.n - 1].end = emitter->out->length;
}

/* A member, for sorting by key. */
struct keyed {
    const char *key; /* text in the buffer */
    size_t length, position;
};

static int compare_keys(const void *left, const void *right) {
    const struct keyed *a = left, *b = right;
    if (a->length != b->length)
        return a->length < b->length ? -1 : 1;
    return memcmp(a->key, b->key, a->length);
}

static int compare_keyed(const void *left, const void *right) {
    int order = compare_keys(left, right);
    const struct keyed *a = left, *b = right;
    return order ? order : (a->position > b->position) - (a->position < b->position);
}

bool merge_members(struct json_emitter *emitter, size_t first) {
    struct emitted_member *list = emitter->members.list + first;
    size_t n = emitter->members.n - first, kept = 0;
    bool equal = n > FEW_MEMBERS;
    for (size_t i = 1; i < n && n <= FEW_MEMBERS; i++)
        for (size_t k = 0; k < i; k++)
            equal |= list[i].tag == list[k].tag;
    if (!equal)
        return false;
    struct keyed *keyed = malloc(n * sizeof *keyed);
    if (!keyed) {
        emitter->failed = true;
        return false;
    }
    for (size_t i = 0; i < n; i++)
        keyed[i] = (struct keyed){emitter->out->bytes + list[i].start + 1, list[i].key, i};
    qsort(keyed, n, sizeof *keyed, compare_keyed);
    bool merged = false;
    for (size_t begin = 0, end; begin < n; begin = end) {
        /* Of members with one key, by position, the first gets the text of the last; the others are removed (end 0). */
        struct emitted_member *member = &list[keyed[begin].position];
        for (end = begin + 1; end < n && compare_keys(&keyed[begin], &keyed[end]) == 0; end++) {
            struct emitted_member *later = &list[keyed[end].position];
            member->start = later->start;
            member->end = later->end;
            later->end = 0;
            merged = true;
        }
    }
    free(keyed);
    for (size_t i = 0; i < n; i++)
        if (list[i].end)
            list[kept++] = list[i];
    emitter->members.n = first + kept;
    return merged;
}

/* Writes the members of an object again, without the removed ones. */
static void rewrite_members(struct json_emitter *emitter, size_t first, size_t start, unsigned level) {
    struct buffer *out = emitter->out, *scratch = &emitter->scratch;
    scratch->length = 0;
    for (size_t i = first; i < emitter->members.n; i++) {
        const struct emitted_member *member = &emitter->members.list[i];
        if (i > first) {
            buffer_append_text(scratch, ",");
            emit_newline(scratch, level);
        }
        buffer_append(scratch, out->bytes + member->start, member->end - member->start);
    }
    if (scratch->failed || out->failed) {
        emitter->failed = true;
        return;
    }
    out->length = start;
    buffer_append(out, scratch->bytes, scratch->length);
}

/* An open bracket. */
struct frame {
    size_t first_member; /* of an object, in the list of members */
    size_t start;        /* of its first member's text */
    size_t at;           /* in the input text */
    bool object;
};

/* Closes an object: of repeated keys the last value is kept. */
static char *close_object(struct json_emitter *emitter, const struct frame *frame, char *to, unsigned level) {
    struct buffer *out = emitter->out;
    struct emitted_members *members = &emitter->members;
    if (members->n - frame->first_member > 1) {
        out->length = (size_t)(to - out->bytes);
        members->list[members->n - 1].end = out->length;
        if (merge_members(emitter, frame->first_member))
            rewrite_members(emitter, frame->first_member, frame->start, level);
        to = out->bytes + out->length;
    }
    members->n = frame->first_member;
    return to;
}

/* Open brackets; the first few need no memory. */
struct open_brackets {
    struct frame few[64], *list;
    size_t depth, capacity;
};

/* The cached output of the list or object at the walker, or NULL. */
static inline const struct emitted_value *find_emitted(const struct json_emitter *emitter,
                                                       const struct json_walker *walker, unsigned level) {
    if (!emitter->values)
        return NULL;
    const struct emitted_value *value = &emitter->values[value_slot(walker->text + walker->at, EMITTED_VALUES)];
    return value->level == level && cached_value_matches(&value->seen, walker->source, walker->at) ? value : NULL;
}

/* Caches the output from `from` to `to` of the value from byte `at` to byte `end`. */
static inline void keep_emitted(struct json_emitter *emitter, const char *text, size_t at, size_t end, unsigned level,
                                const char *from, const char *to) {
    size_t length = (size_t)(to - from);
    if (!emitter->values || length > EMITTED_BYTES)
        return;
    struct emitted_value *value = &emitter->values[value_slot(text + at, EMITTED_VALUES)];
    value->seen = (struct cached_value){at, end - at};
    value->level = level;
    value->length = (unsigned)length;
    memcpy(value->text, from, length);
}

/* The loop of emit_value(): a state machine over tokens, whose walker is a copy in registers. Each write leaves room
 * for a separator, a line of spaces and a bracket. NULL: out of memory. */
static char *emit_tokens(struct json_emitter *emitter, struct json_walker *original, struct open_brackets *frames,
                         unsigned level) {
    struct json_walker walker = *original;
    struct buffer *out = emitter->out;
    const char *text = walker.text;
    char *to = buffer_reserve(out, 4 * SLACK);
    while (to) {
        /* At a value. */
        char c = text[walker.at];
        const struct emitted_value *known;
        if (c == '"') {
            struct json_span place = walk_string(&walker);
            if (!(to = room(out, to, string_room(place, level))))
                return NULL;
            to = append_string(to, text, place);
        } else if ((c == '{' || c == '[') && (known = find_emitted(emitter, &walker, level))) {
            if (!(to = room(out, to, known->length + 4 * (size_t)level + 4 * SLACK)))
                return NULL;
            memcpy(to, known->text, known->length);
            to += known->length;
            walk_to(&walker, walker.at + known->seen.length);
        } else if (c == '{' || c == '[') {
            size_t at = walker.at;
            if (frames->depth == frames->capacity) {
                struct frame *more = malloc((DEPTH_MAX + 1) * sizeof *more);
                if (!more)
                    return NULL;
                memcpy(more, frames->few, sizeof frames->few);
                frames->list = more;
                frames->capacity = DEPTH_MAX + 1;
            }
            if (!(to = room(out, to, 4 * (size_t)level + 4 * SLACK)))
                return NULL;
            *to++ = c;
            walk_next(&walker);
            if (text[walker.at] != c + 2) {
                to = append_newline(to, ++level);
                frames->list[frames->depth++] =
                    (struct frame){emitter->members.n, (size_t)(to - out->bytes), at, c == '{'};
                if (c == '{') {
                    struct json_span key = walk_string(&walker);
                    walk_next(&walker); /* the colon */
                    to = append_key(emitter, to, text, key, level);
                }
                continue;
            }
            *to++ = (char)(c + 2);
            walk_next(&walker);
        } else {
            if (!(to = append_scalar(out, to, &walker, level)))
                return NULL;
        }
        /* After a value: close brackets, then on to the next value. */
        while (frames->depth > 0 && text[walker.at] != ',') {
            const struct frame *frame = &frames->list[--frames->depth];
            if (frame->object)
                to = close_object(emitter, frame, to, level);
            size_t bracket = frame->start - newline_length(level) - 1;
            to = append_newline(to, --level);
            *to++ = frame->object ? '}' : ']';
            keep_emitted(emitter, text, frame->at, walker.at + 1, level, out->bytes + bracket, to);
            walk_next(&walker);
            if (!(to = room(out, to, 4 * (size_t)level + 4 * SLACK)))
                return NULL;
        }
        if (frames->depth == 0)
            break;
        walk_next(&walker); /* the comma */
        bool object = frames->list[frames->depth - 1].object;
        if (object)
            emitter->members.list[emitter->members.n - 1].end = (size_t)(to - out->bytes);
        *to++ = ',';
        to = append_newline(to, level);
        if (object) {
            struct json_span key = walk_string(&walker);
            walk_next(&walker); /* the colon */
            to = append_key(emitter, to, text, key, level);
        }
    }
    *original = walker;
    return to;
}

void emit_value(struct json_emitter *emitter, struct json_walker *walker, unsigned level) {
    struct open_brackets frames;
    frames.list = frames.few;
    frames.capacity = sizeof frames.few / sizeof *frames.few;
    frames.depth = 0;
    char *to = emit_tokens(emitter, walker, &frames, level);
    if (to)
        emitter->out->length = (size_t)(to - emitter->out->bytes);
    else
        emitter->failed = true;
    if (frames.list != frames.few)
        free(frames.list);
}
