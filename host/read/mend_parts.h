/*
 * mend_parts.h - what the files of the mender share.
 */
#ifndef READ_MEND_PARTS_H
#define READ_MEND_PARTS_H

#include "read/mend.h"

/* How much is forgiven inside of a value. */
enum mend_way {
    MEND_STRICT,     /* nothing */
    MEND_KNOWN_KEYS, /* what the element's keys tell: those of traces */
    MEND_ANY_KEYS,   /* keys of elements may be any */
};

/* Text that comes out, while it is made: `out`, and then the text from `copied` on. */
struct mender {
    const char *text;
    size_t size;
    struct buffer out;
    size_t copied;
    struct mend_report report;
    uint64_t budget;   /* bytes that may still be looked at again */
    size_t quote_from; /* no quote without a backslash stands between here */
    size_t quote;      /* and here, where one does, or the text's end */
    size_t learned[2]; /* first keys of the first and the last element that is kept; 0: there is none */
    size_t failed_at;  /* of the last value that was not well-formed */
};

/* The element at `at` is well: others begin as the first and the last such one do. */
void mend_learn(struct mender *mender, size_t at);

/* What can be taken back. */
struct mend_mark {
    size_t length, copied, n_places;
    uint64_t n[SUTRA_N_REPAIR_KINDS];
};

struct mend_mark mend_mark(const struct mender *mender);
void mend_take_back(struct mender *mender, const struct mend_mark *mark);

/* Puts `with` in place of n bytes at `at`, which lie behind all that was changed before. */
void mend_edit(struct mender *mender, size_t at, size_t n, const char *with, enum sutra_repair_kind kind);

#define MEND_FAIL SIZE_MAX

/* The byte behind the value at `at`, which is mended on the way; MEND_FAIL: it cannot be, failed_at says where. */
size_t mend_value(struct mender *mender, size_t at, enum mend_way way);

/* ---- Strings: mend_string.c ---- */

/* Where a string stands. */
enum mend_role { MEND_KEY, MEND_MEMBER, MEND_ITEM };

/* The brackets that are open around it, from the element's own: a bit each, 1 for objects. */
struct mend_brackets {
    uint64_t words[1024 / 64 + 1];
    size_t depth;
};

static inline bool mend_in_object(const struct mend_brackets *brackets, size_t depth) {
    return brackets->words[(depth - 1) / 64] >> ((depth - 1) % 64) & 1;
}

/* The byte behind the string whose opening quote stands at `at`, mended on the way; MEND_FAIL. */
size_t mend_string(struct mender *mender, size_t at, enum mend_role role, const struct mend_brackets *brackets,
                   enum mend_way way);

/* The same for one that must be well-formed; nothing is changed. */
size_t mend_plain_string(struct mender *mender, size_t at);

static inline bool mend_is_space(char c) {
    return c == ' ' || c == '\n' || c == '\r' || c == '\t';
}

static inline size_t mend_skip_spaces(const struct mender *mender, size_t at) {
    while (at < mender->size && mend_is_space(mender->text[at]))
        at++;
    return at;
}

/* Whether an object begins at `at` as the trace's elements do (by its first key; if none is known yet, by those that
 * traces' elements have), or as traces do. */
bool mend_begins_element(const struct mender *mender, size_t at);
bool mend_begins_trace(const struct mender *mender, size_t at);

/* Whether the trace's array may end at `at`: a closing bracket behind an object, and behind it what may follow. */
bool mend_ends_elements(const struct mender *mender, size_t at);

/* Whether an element ends right before `at`: a closing brace, a comma, white space. */
bool mend_is_border(const struct mender *mender, size_t at);

#endif
