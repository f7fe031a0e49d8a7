/*
 * et_plus_texts.c - implements the texts of inputs and outputs (et_plus_nodes.h).
 *
 * A Python text is a loop over tokens with a stack of brackets: a value is written or opened, then brackets are closed
 * until there is a comma.
 */
#include <stdlib.h>
#include <string.h>

#include "base/shared.h"
#include "columns/hash.h"
#include "read/repeated_text.h"
#include "simulate/et_plus_nodes.h"
#include "text/strings.h"

/* ---- Python texts ---- */

/* Bytes beyond the text that a store may write. */
#define SLACK 64

static bool python_text_begin(struct python_text *text) {
    text->members.out = &text->out;
    text->frames = malloc(DEPTH_MAX * sizeof *text->frames);
    return text->frames && buffer_reserve(&text->out, 1 << 12);
}

static void python_text_end(struct python_text *text) {
    json_emitter_free(&text->members);
    buffer_free(&text->out);
    buffer_free(&text->decoded);
    free(text->frames);
    *text = (struct python_text){0};
}

static bool python_text_failed(const struct python_text *text) {
    return text->failed || text->out.failed || text->decoded.failed || text->members.failed;
}

static inline void append(struct python_text *text, const char *bytes, size_t n) {
    buffer_append(&text->out, bytes, n);
}

/* The decoded string; valid until the next call. */
static const char *decode(struct python_text *text, const char *raw, size_t *length) {
    if (!memchr(raw, '\\', *length))
        return raw;
    text->decoded.length = 0;
    char *to = buffer_reserve(&text->decoded, *length + SLACK);
    *length = to ? string_decode(raw, *length, to) : 0;
    return to ? to : raw;
}

static void append_repr_decoded(struct python_text *text, const char *raw, size_t length) {
    const char *decoded = decode(text, raw, &length);
    char *to = buffer_reserve(&text->out, 4 * length + 2);
    if (to)
        text->out.length += string_repr(decoded, length, to);
}

/* Copies a string that repr() only quotes; false: other strings. */
static inline bool copy_if_plain(char *to, const char *raw, size_t length) {
    for (size_t i = 0; i < length; i += SCAN_BYTES)
        if (!copy_plain(to + i, raw + i, MIN(length - i, SCAN_BYTES)))
            return false;
    return !memchr(raw, '\'', length);
}

static inline void append_repr(struct python_text *text, const char *source, struct json_span place) {
    const char *raw = source + place.at + 1;
    size_t length = place.end - place.at - 1;
    char *to = buffer_reserve(&text->out, length + SLACK);
    if (!to)
        return;
    if (!copy_if_plain(to + 1, raw, length)) {
        append_repr_decoded(text, raw, length);
        return;
    }
    to[0] = to[length + 1] = '\'';
    text->out.length += length + 2;
}

/* Appends the text of the word at `at`; false: no word. */
static bool append_word(struct python_text *text, const char *at) {
    static const struct {
        const char *json, *python;
    } words[] = {{"true", "True"}, {"false", "False"},  {"null", "None"},
                 {"NaN", "nan"},   {"Infinity", "inf"}, {"-Infinity", "-inf"}};
    for (size_t i = 0; i < sizeof words / sizeof *words; i++)
        if (strncmp(at, words[i].json, strlen(words[i].json)) == 0) {
            append(text, words[i].python, strlen(words[i].python));
            return true;
        }
    return false;
}

/* repr() of an infinity differs from JSON, also for a number beyond all doubles. */
static void append_number(struct python_text *text, const char *at) {
    size_t length;
    enum number_form form = number_scan(at, &length);
    char *to = buffer_reserve(&text->out, length + NUMBER_TEXT_MAX + SLACK);
    if (!to)
        return;
    size_t n = number_rewrite(at, length, form, to);
    to[n] = 0;
    if (form == NUMBER_FORM_INTEGER || !append_word(text, to))
        text->out.length += n;
}

/* The length of an integer of at most 15 digits, the most frequent scalar, that certainly ends there; else 0. */
static inline size_t short_integer_length(const char *at) {
    size_t n = digit_run_short(at);
    char c = at[n];
    bool is_complete = c == ',' || c == ']' || c == '\n' || c == '}' || c == ' ';
    return is_complete && n < SCAN_BYTES && (*at != '0' || n == 1) ? n : 0;
}

static inline void append_scalar(struct python_text *text, struct json_walker *walker) {
    const char *at = walker->text + walker->at;
    size_t n = short_integer_length(at);
    if (n) {
        char *to = buffer_reserve(&text->out, SLACK);
        if (to) {
            memcpy(to, at, SCAN_BYTES);
            text->out.length += n;
        }
        walk_to(walker, walker->at + n);
        return;
    }
    walk_scalar(walker);
    if (!walker->expected && !append_word(text, at))
        append_number(text, at);
}

/* Appends the key at the walker and moves to its value. */
static inline void begin_member(struct python_text *text, struct json_walker *walker) {
    struct emitted_members *members = &text->members.members;
    struct json_span key = walk_key(walker);
    if (!key.at)
        return;
    if (members->n == members->capacity) {
        size_t capacity = members->capacity * 2 + 64;
        void *list = reallocarray(members->list, capacity, sizeof *members->list);
        text->failed |= !list;
        if (!list)
            return;
        members->list = list;
        members->capacity = capacity;
    }
    struct emitted_member *member = &members->list[members->n++];
    member->start = text->out.length;
    append_repr(text, walker->text, key);
    member->key = text->out.length - member->start - 2;
    member->tag = hash_bytes(text->out.bytes + member->start, text->out.length - member->start, 0);
    append(text, ": ", 2);
}

static inline void end_member_text(struct python_text *text) {
    struct emitted_members *members = &text->members.members;
    if (members->n > 0)
        members->list[members->n - 1].end = text->out.length;
}

/* Of repeated keys the last values stay, at the positions of the first. */
static void end_object(struct python_text *text, const struct python_frame *frame) {
    end_member_text(text);
    if (!python_text_failed(text) && merge_members(&text->members, frame->first_member)) {
        /* Append the members of an object again, without the superseded ones. */
        const struct emitted_members *members = &text->members.members;
        struct buffer copy = {0};
        for (size_t i = frame->first_member; i < members->n; i++) {
            const struct emitted_member *member = &members->list[i];
            if (i > frame->first_member)
                buffer_append(&copy, ", ", 2);
            buffer_append(&copy, text->out.bytes + member->start, member->end - member->start);
        }
        if (!copy.failed) {
            text->out.length = frame->start;
            append(text, copy.bytes, copy.length);
        }
        text->failed |= copy.failed;
        buffer_free(&copy);
    }
    text->members.members.n = frame->first_member;
}

/* At a value: enters a non-empty list or object, else appends the value. True: at a value again. */
static inline bool enter_value(struct python_text *text, struct json_walker *walker) {
    char c = walk_char(walker);
    if (c == '"') {
        struct json_span place = walk_string(walker);
        append_repr(text, walker->text, place);
        return false;
    }
    if (c != '{' && c != '[') {
        append_scalar(text, walker);
        return false;
    }
    if (text->depth == DEPTH_MAX) {
        walk_fail(walker, "nesting of at most " DEPTH_MAX_TEXT " brackets");
        return false;
    }
    append(text, &c, 1);
    walk_next(walker);
    if (walk_char(walker) == c + 2) {
        c = (char)(c + 2);
        append(text, &c, 1);
        walk_next(walker);
        return false;
    }
    text->frames[text->depth++] = (struct python_frame){c == '{', text->members.members.n, text->out.length};
    if (c == '{')
        begin_member(text, walker);
    return true;
}

/* After a value: closes brackets. True: at the next value. */
static inline bool leave_value(struct python_text *text, struct json_walker *walker) {
    while (text->depth > 0) {
        const struct python_frame *frame = &text->frames[text->depth - 1];
        char c = walk_char(walker);
        if (c == ',') {
            walk_next(walker);
            if (frame->object)
                end_member_text(text);
            append(text, ", ", 2);
            if (frame->object)
                begin_member(text, walker);
            return true;
        }
        if (c != (frame->object ? '}' : ']')) {
            walk_fail(walker, frame->object ? "',' or '}'" : "',' or ']'");
            return false;
        }
        if (frame->object)
            end_object(text, frame);
        append(text, &c, 1);
        text->depth--;
        walk_next(walker);
    }
    return false;
}

static void python_text_write(struct python_text *text, struct json_walker *walker) {
    struct json_walker local = *walker; /* stays in registers */
    size_t at = local.at;
    text->out.length = text->depth = text->members.members.n = 0;
    if (walk_char(&local) == '"') {
        struct json_span place = walk_string(&local);
        size_t length = place.end - place.at - 1;
        const char *decoded = decode(text, local.text + place.at + 1, &length);
        append(text, decoded, length);
    } else {
        while ((enter_value(text, &local) || leave_value(text, &local)) && !local.expected && !text->failed)
            ;
    }
    if (text->failed && !local.expected) { /* in the middle of a value */
        walk_to(&local, at);
        walk_value(&local);
    }
    *walker = local;
}

/* ---- Texts of nodes ---- */

bool et_plus_texts_begin(struct et_plus_texts *texts, const struct source *source) {
    *texts = (struct et_plus_texts){.source = source, .fields.source = source};
    texts->cache = calloc(PYTHON_CACHE, sizeof *texts->cache);
    return texts->cache && python_text_begin(&texts->python);
}

void et_plus_texts_end(struct et_plus_texts *texts) {
    python_text_end(&texts->python);
    buffer_free(&texts->fields.scratch);
    arena_free(&texts->store.arena);
    free(texts->cache);
}

bool et_plus_texts_failed(const struct et_plus_texts *texts) {
    return texts->fields.failed || texts->store.arena.failed || python_text_failed(&texts->python);
}

bool et_plus_string_text(struct field_reader *fields, struct text_store *store, struct json_span place,
                         struct et_text *text) {
    size_t length;
    const char *string = field_string(fields, place, &length);
    if (length > ET_PLUS_TEXT_MAX)
        return false;
    *text = (struct et_text){string, (uint32_t)length};
    if (string == fields->source->bytes + place.at + 1)
        return true;
    *text = text_store_add(store, string, length);
    return utf8_check(text->bytes, text->length) == text->length;
}

/* The cache entry of a list: by some bytes from its first element that is no list. */
static size_t list_slot(const char *text) {
    while (*text == '[' || *text == ' ' || *text == '\n')
        text++;
    uint64_t first = word_load(text), second = word_load(text + 27), third = word_load(text + 54);
    return hash_fold(first ^ 0x9e3779b97f4a7c15u, (second << 23 | second >> 41) ^ third) % PYTHON_CACHE;
}

struct et_text et_plus_io_text(struct et_plus_texts *texts, const struct et_plus_nodes *nodes, row_t row, int column) {
    const size_t at = nodes->io[column][row];
    const char *value = texts->source->bytes + at;
    struct json_walker walker = walk_from(texts->source, at);
    struct et_text text = {"", 0};
    if (at == 0)
        return text;
    if (*value == '"') {
        et_plus_string_text(&texts->fields, &texts->store, walk_string(&walker), &text);
        return text;
    }
    if (value[0] == '[' && value[1] == ']')
        return (struct et_text){"[]", 2};
    struct python_cache_entry *known = &texts->cache[list_slot(value)];
    if (cached_value_matches(&known->seen, texts->source, at))
        return known->text;
    python_text_write(&texts->python, &walker);
    text = text_store_add(&texts->store, texts->python.out.bytes, texts->python.out.length);
    if (*value == '[')
        *known = (struct python_cache_entry){cached_value_new(&walker, at), text};
    return text;
}
