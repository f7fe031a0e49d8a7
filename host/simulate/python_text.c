/*
 * python_text.c - a loop over tokens with a stack of brackets: at a value it is written or opened, behind a value
 * brackets are closed until there is a comma.
 */
#include "simulate/python_text.h"

#include <stdlib.h>
#include <string.h>

#include "columns/hash_tables.h"
#include "text/strings.h"

/* Bytes beyond what is written that a store may touch. */
#define SLACK 64

bool python_text_begin(struct python_text *text) {
    text->members.out = &text->out;
    text->frames = malloc(DEPTH_MAX * sizeof *text->frames);
    return text->frames && buffer_reserve(&text->out, 1 << 12);
}

void python_text_end(struct python_text *text) {
    json_emitter_free(&text->members);
    buffer_free(&text->out);
    buffer_free(&text->decoded);
    free(text->frames);
    *text = (struct python_text){0};
}

bool python_text_failed(const struct python_text *text) {
    return text->failed || text->out.failed || text->decoded.failed || text->members.failed;
}

static inline void put(struct python_text *text, const char *bytes, size_t n) {
    buffer_append(&text->out, bytes, n);
}

/* ---- strings ---- */

/* The string decoded; valid until the next call. */
static const char *decode(struct python_text *text, const char *raw, size_t *length) {
    if (!memchr(raw, '\\', *length))
        return raw;
    text->decoded.length = 0;
    char *to = buffer_reserve(&text->decoded, *length + SLACK);
    *length = to ? string_decode(raw, *length, to) : 0;
    return to ? to : raw;
}

static void put_repr_slowly(struct python_text *text, const char *raw, size_t length) {
    const char *decoded = decode(text, raw, &length);
    char *to = buffer_reserve(&text->out, 4 * length + 2);
    if (to)
        text->out.length += string_repr(decoded, length, to);
}

/* Copies a string that repr() only puts quotes around; false: it is another one. */
static inline bool put_plain(char *to, const char *raw, size_t length) {
    for (size_t i = 0; i < length; i += SCAN_BYTES)
        if (!copy_plain(to + i, raw + i, length - i < SCAN_BYTES ? length - i : SCAN_BYTES))
            return false;
    return !memchr(raw, '\'', length);
}

static inline void put_repr(struct python_text *text, const char *source, struct json_place place) {
    const char *raw = source + place.at + 1;
    size_t length = place.end - place.at - 1;
    char *to = buffer_reserve(&text->out, length + SLACK);
    if (!to)
        return;
    if (!put_plain(to + 1, raw, length)) {
        put_repr_slowly(text, raw, length);
        return;
    }
    to[0] = to[length + 1] = '\'';
    text->out.length += length + 2;
}

/* ---- numbers and words ---- */

struct word {
    const char *json, *python;
};

/* Writes a word's text if one stands at `at`; false: none does. */
static bool put_word(struct python_text *text, const char *at) {
    static const struct word words[] = {{"true", "True"}, {"false", "False"},  {"null", "None"},
                                        {"NaN", "nan"},   {"Infinity", "inf"}, {"-Infinity", "-inf"}};
    for (size_t i = 0; i < sizeof words / sizeof *words; i++)
        if (strncmp(at, words[i].json, strlen(words[i].json)) == 0) {
            put(text, words[i].python, strlen(words[i].python));
            return true;
        }
    return false;
}

/* repr() of an infinity is another word than JSON's, also where a number is beyond all doubles. */
static void put_number(struct python_text *text, const char *at) {
    size_t length;
    enum number_form form = number_scan(at, &length);
    char *to = buffer_reserve(&text->out, length + NUMBER_TEXT_MAX + SLACK);
    if (!to)
        return;
    size_t n = number_rewrite(at, length, form, to);
    to[n] = 0;
    if (form == NUMBER_FORM_INTEGER || !put_word(text, to))
        text->out.length += n;
}

/* Digits of an integer of at most 15 of them, by far the most frequent scalar, which ends there for sure; else 0. */
static inline size_t short_integer_length(const char *at) {
    size_t n = digit_run_short(at);
    char c = at[n];
    bool whole = c == ',' || c == ']' || c == '\n' || c == '}' || c == ' ';
    return whole && n < SCAN_BYTES && (*at != '0' || n == 1) ? n : 0;
}

static inline void put_scalar(struct python_text *text, struct json_walker *walker) {
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
    if (!walker->expected && !put_word(text, at))
        put_number(text, at);
}

/* ---- objects ---- */

/* Writes the key at the walker and steps to its value. */
static inline void begin_member(struct python_text *text, struct json_walker *walker) {
    struct emitted_members *members = &text->members.members;
    struct json_place key = walk_key(walker);
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
    put_repr(text, walker->text, key);
    member->key = text->out.length - member->start - 2;
    member->tag = hash_bytes(text->out.bytes + member->start, text->out.length - member->start, 0);
    put(text, ": ", 2);
}

static inline void end_member_text(struct python_text *text) {
    struct emitted_members *members = &text->members.members;
    if (members->n > 0)
        members->list[members->n - 1].end = text->out.length;
}

/* Writes the members of an object once more, without those that were superseded. */
static void rewrite_members(struct python_text *text, const struct python_frame *frame) {
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
        put(text, copy.bytes, copy.length);
    }
    text->failed |= copy.failed;
    buffer_free(&copy);
}

/* Of repeated keys the last values stay, at the places of the first. */
static void end_object(struct python_text *text, const struct python_frame *frame) {
    end_member_text(text);
    if (!python_text_failed(text) && merge_members(&text->members, frame->first_member))
        rewrite_members(text, frame);
    text->members.members.n = frame->first_member;
}

/* ---- the loop ---- */

/* At a value: into it if it is a list or object that holds something, else over it. True: now at a value again. */
static inline bool enter_value(struct python_text *text, struct json_walker *walker) {
    char c = walk_char(walker);
    if (c == '"') {
        struct json_place place = walk_string(walker);
        put_repr(text, walker->text, place);
        return false;
    }
    if (c != '{' && c != '[') {
        put_scalar(text, walker);
        return false;
    }
    if (text->depth == DEPTH_MAX) {
        walk_fail(walker, "nesting of at most " DEPTH_MAX_TEXT " brackets");
        return false;
    }
    put(text, &c, 1);
    walk_next(walker);
    if (walk_char(walker) == c + 2) {
        c = (char)(c + 2);
        put(text, &c, 1);
        walk_next(walker);
        return false;
    }
    text->frames[text->depth++] = (struct python_frame){c == '{', text->members.members.n, text->out.length};
    if (c == '{')
        begin_member(text, walker);
    return true;
}

/* Behind a value: closes what ends here. True: now at the next value. */
static inline bool leave_value(struct python_text *text, struct json_walker *walker) {
    while (text->depth > 0) {
        const struct python_frame *frame = &text->frames[text->depth - 1];
        char c = walk_char(walker);
        if (c == ',') {
            walk_next(walker);
            if (frame->object)
                end_member_text(text);
            put(text, ", ", 2);
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
        put(text, &c, 1);
        text->depth--;
        walk_next(walker);
    }
    return false;
}

void python_text_write(struct python_text *text, struct json_walker *walker) {
    struct json_walker local = *walker; /* which stays in registers */
    size_t at = local.at;
    text->out.length = text->depth = text->members.members.n = 0;
    if (walk_char(&local) == '"') {
        struct json_place place = walk_string(&local);
        size_t length = place.end - place.at - 1;
        const char *decoded = decode(text, local.text + place.at + 1, &length);
        put(text, decoded, length);
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
