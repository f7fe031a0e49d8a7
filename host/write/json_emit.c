/*
 * json_emit.c - re-indenting JSON at the speed of copying it.
 *
 * The text was checked when it was read, so the loops here only look at first characters. Every write first makes sure
 * of room for the longest form of what it writes and then stores in whole vectors.
 */
#include "write/json_emit.h"

#include <stdlib.h>
#include <string.h>

#include "text/string_text.h"

/* Bytes beyond what is written that a store may touch. */
#define SLACK 64

/* Objects up to this size are searched for equal tags pair by pair. */
#define FEW_MEMBERS 32

void json_emitter_free(struct json_emitter *emitter) {
    free(emitter->members.list);
    buffer_free(&emitter->scratch);
    *emitter = (struct json_emitter){0};
}

static const char line_and_spaces[SLACK + 1] = "\n                                                               ";

static inline char *put_newline(char *to, unsigned level) {
    size_t n = 1 + 4 * (size_t)level;
    memcpy(to, line_and_spaces, SLACK);
    if (n > SLACK)
        memset(to + SLACK, ' ', n - SLACK);
    return to + n;
}

void emit_newline(struct buffer *out, unsigned level) {
    char *to = buffer_reserve(out, 1 + 4 * (size_t)level + SLACK);
    if (to)
        out->length = (size_t)(put_newline(to, level) - out->bytes);
}

/* Writes a string's text between quotes; `to` has room for 6 * length + 2 + SLACK. */
static inline char *put_string(char *to, const struct json_walker *walker, struct json_place place) {
    *to++ = '"';
    to += string_rewrite(walker->text + place.at + 1, place.end - place.at - 1, to);
    *to++ = '"';
    return to;
}

static inline size_t string_room(struct json_place place) {
    return 6 * (place.end - place.at) + 2 + SLACK;
}

/* A scalar that is no short integer. */
static char *put_other_scalar(char *to, const char *text) {
    switch (*text) {
    case 't':
        memcpy(to, "true", 4);
        return to + 4;
    case 'f':
        memcpy(to, "false", 5);
        return to + 5;
    case 'n':
        memcpy(to, "null", 4);
        return to + 4;
    default: {
        size_t length;
        enum number_form form = number_scan(text, &length);
        return to + number_rewrite(text, length, form, to);
    }
    }
}

/* Most bytes of a number's text and of what is written for it, once it is longer than a short integer. */
static size_t scalar_room(const char *text) {
    size_t length = 0;
    if (*text == 't' || *text == 'f' || *text == 'n')
        return SLACK;
    number_scan(text, &length);
    return length + 2 * SLACK;
}

static inline bool is_digit(char c) {
    return c >= '0' && c <= '9';
}

static inline void emit_scalar(struct buffer *out, const char *text) {
    size_t n = 0;
    while (n < 16 && is_digit(text[n]))
        n++;
    bool short_integer = n > 0 && n < 16 && text[n] != '.' && text[n] != 'e' && text[n] != 'E';
    char *to = buffer_reserve(out, short_integer ? SLACK : scalar_room(text));
    if (!to)
        return;
    if (short_integer) {
        memcpy(to, text, 16);
        out->length += n;
    } else {
        out->length = (size_t)(put_other_scalar(to, text) - out->bytes);
    }
}

static inline void emit_string(struct buffer *out, const struct json_walker *walker, struct json_place place) {
    char *to = buffer_reserve(out, string_room(place));
    if (to)
        out->length = (size_t)(put_string(to, walker, place) - out->bytes);
}

/* A number that is the same for equal keys: from the last 8 bytes up to the key's end (with the quote and the spaces
 * before it if it is shorter), and the first 8 of longer ones. */
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

void emit_member_key(struct json_emitter *emitter, const struct json_walker *walker, struct json_place key) {
    struct buffer *out = emitter->out;
    struct emitted_members *members = &emitter->members;
    char *to = buffer_reserve(out, string_room(key) + 2);
    if (!to || (members->n == members->capacity && !grow_members(emitter)))
        return;
    char *end = put_string(to, walker, key);
    size_t length = (size_t)(end - to) - 2;
    members->list[members->n++] =
        (struct emitted_member){.tag = key_tag(to + 1, length), .start = out->length, .key = (uint32_t)length};
    memcpy(end, ": ", 2);
    out->length = (size_t)(end + 2 - out->bytes);
}

void end_member(struct json_emitter *emitter) {
    if (emitter->members.n)
        emitter->members.list[emitter->members.n - 1].end = emitter->out->length;
}

static bool same_key(const struct json_emitter *emitter, const struct emitted_member *a,
                     const struct emitted_member *b) {
    const char *bytes = emitter->out->bytes;
    return a->tag == b->tag && a->key == b->key && memcmp(bytes + a->start, bytes + b->start, a->key + 2) == 0;
}

static bool any_equal_tags(const struct emitted_member *list, size_t n) {
    bool equal = false;
    for (size_t i = 1; i < n; i++)
        for (size_t k = 0; k < i; k++)
            equal |= list[i].tag == list[k].tag;
    return equal;
}

/* A member's tag and place, to sort members so that equal keys meet. */
struct tagged {
    uint64_t tag;
    size_t place;
};

static int compare_tags(const void *left, const void *right) {
    const struct tagged *a = left, *b = right;
    if (a->tag != b->tag)
        return a->tag < b->tag ? -1 : 1;
    return (a->place > b->place) - (a->place < b->place);
}

/* Among members of one tag, sorted by place: the first of each key takes the text of the last. Different keys of one
 * tag are rare, so the pairs are compared. */
static bool merge_run(struct json_emitter *emitter, struct emitted_member *list, const struct tagged *run, size_t n) {
    bool merged = false;
    for (size_t i = 0; i + 1 < n; i++) {
        struct emitted_member *first = &list[run[i].place];
        if (first->end == 0)
            continue;
        size_t last = i;
        for (size_t k = i + 1; k < n; k++)
            if (list[run[k].place].end && same_key(emitter, first, &list[run[k].place])) {
                if (last != i)
                    list[run[last].place].end = 0;
                last = k;
            }
        if (last == i)
            continue;
        first->start = list[run[last].place].start;
        first->end = list[run[last].place].end;
        list[run[last].place].end = 0;
        merged = true;
    }
    return merged;
}

bool merge_members(struct json_emitter *emitter, size_t first) {
    struct emitted_member *list = emitter->members.list + first;
    size_t n = emitter->members.n - first, kept = 0;
    if (n < 2 || (n <= FEW_MEMBERS && !any_equal_tags(list, n)))
        return false;
    struct tagged *tagged = malloc(n * sizeof *tagged);
    if (!tagged) {
        emitter->failed = true;
        return false;
    }
    for (size_t i = 0; i < n; i++)
        tagged[i] = (struct tagged){list[i].tag, i};
    qsort(tagged, n, sizeof *tagged, compare_tags);
    bool merged = false;
    for (size_t begin = 0, end; begin < n; begin = end) {
        for (end = begin + 1; end < n && tagged[end].tag == tagged[begin].tag;)
            end++;
        merged |= merge_run(emitter, list, tagged + begin, end - begin);
    }
    free(tagged);
    for (size_t i = 0; i < n; i++)
        if (list[i].end)
            list[kept++] = list[i];
    emitter->members.n = first + kept;
    return merged;
}

/* Writes the members of an object once more, without those that were superseded. */
static void rewrite_members(struct json_emitter *emitter, size_t first, size_t start, unsigned level) {
    struct buffer *out = emitter->out, *scratch = &emitter->scratch;
    scratch->length = 0;
    for (size_t i = first; i < emitter->members.n; i++) {
        const struct emitted_member *member = &emitter->members.list[i];
        if (i > first) {
            buffer_append(scratch, ",", 1);
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
    bool object;
};

static inline void emit_byte(struct buffer *out, char c) {
    char *to = buffer_reserve(out, SLACK);
    if (to) {
        *to = c;
        out->length++;
    }
}

/* A comma and a new line, or only a new line. */
static inline void emit_separator(struct buffer *out, bool comma, unsigned level) {
    char *to = buffer_reserve(out, 2 + 4 * (size_t)level + SLACK);
    if (!to)
        return;
    *to = ',';
    out->length = (size_t)(put_newline(to + comma, level) - out->bytes);
}

static inline void emit_key(struct json_emitter *emitter, struct json_walker *walker) {
    struct json_place key = walk_string(walker);
    walk_next(walker); /* the colon */
    emit_member_key(emitter, walker, key);
}

static void close_bracket(struct json_emitter *emitter, const struct frame *frame, unsigned level) {
    if (frame->object) {
        end_member(emitter);
        if (merge_members(emitter, frame->first_member))
            rewrite_members(emitter, frame->first_member, frame->start, level + 1);
        emitter->members.n = frame->first_member;
    }
    emit_separator(emitter->out, false, level);
    emit_byte(emitter->out, frame->object ? '}' : ']');
}

/* Writes what opens at the walker, up to its first value; false if that was empty and is closed again. */
static inline bool open_bracket(struct json_emitter *emitter, struct json_walker *walker, struct frame *frame,
                                unsigned level) {
    char c = walk_char(walker);
    emit_byte(emitter->out, c);
    walk_next(walker);
    if (walk_char(walker) == c + 2) {
        emit_byte(emitter->out, (char)(c + 2));
        walk_next(walker);
        return false;
    }
    emit_separator(emitter->out, false, level);
    *frame = (struct frame){emitter->members.n, emitter->out->length, c == '{'};
    if (frame->object)
        emit_key(emitter, walker);
    return true;
}

/* Nesting up to this depth needs no memory of its own. */
#define FRAMES_INLINE 64

void emit_value(struct json_emitter *emitter, struct json_walker *walker, unsigned level) {
    struct frame few[FRAMES_INLINE], *frames = few;
    size_t depth = 0, capacity = FRAMES_INLINE;
    for (;;) {
        char c = walk_char(walker);
        if (c == '"') {
            emit_string(emitter->out, walker, walk_string(walker));
        } else if (c == '{' || c == '[') {
            if (depth == capacity) {
                struct frame *more = malloc((DEPTH_MAX + 1) * sizeof *more);
                if (!more) {
                    emitter->failed = true;
                    break;
                }
                memcpy(more, few, sizeof few);
                frames = more;
                capacity = DEPTH_MAX + 1;
            }
            if (open_bracket(emitter, walker, &frames[depth], level + 1)) {
                depth++;
                level++;
                continue;
            }
        } else {
            emit_scalar(emitter->out, walker->text + walker->at);
            walk_next(walker);
        }
        while (depth > 0 && walk_char(walker) != ',') {
            close_bracket(emitter, &frames[--depth], --level);
            walk_next(walker);
        }
        if (depth == 0 || emitter->failed || emitter->out->failed)
            break;
        walk_next(walker);
        if (frames[depth - 1].object)
            end_member(emitter);
        emit_separator(emitter->out, true, level);
        if (frames[depth - 1].object)
            emit_key(emitter, walker);
    }
    if (frames != few)
        free(frames);
}
