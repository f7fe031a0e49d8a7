/*
 * repair.h - a trace's text that is no JSON any more, made JSON again: what writers of traces, full disks and killed
 * programs do to them.
 *
 *     {"traceEvents": [ {"name": "{"device": "cpu"}"}, {"name": "C:\path"}, {"na
 *                                  \       \  \    \             \         ]}        what is put in, and what is cut off
 *
 * Each element of the trace's array is read strictly first, and stays as it is if it is well-formed. One that is not is
 * read once more by rules that ask what would follow (mend_string.c); if that fails, too, it is left out, and reading
 * goes on where the next one seems to begin. So a text that is well-formed comes out as it is, byte for byte, and a
 * mistake in one element does not touch the others.
 *
 * Cost: linear. Elements that are looked at again count against a budget of a few times the text's size; a text that
 * needs more is refused. Memory: the mended text, if anything is mended.
 */
#ifndef READ_REPAIR_H
#define READ_REPAIR_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/memory.h"
#include "sutra/trace.h"

/* What was mended: how often, and the places of the first ones. */
#define MEND_PLACES 1000
struct mend_report {
    uint64_t n[SUTRA_N_REPAIR_KINDS];
    struct sutra_repair_site *places; /* MEND_PLACES of them, from malloc() */
    size_t n_places;                  /* that are known, in the order in which they were found */
    uint64_t n_elements;              /* of the trace's array, that are kept */
    uint64_t n_skipped_bytes;
};

enum mend_result {
    MEND_NOTHING, /* the text is well-formed: nothing was done */
    MEND_DONE,    /* the text that takes its place is in `out` */
    MEND_FAILED,  /* it cannot be mended; *failed_at is where that was seen */
    MEND_MEMORY,  /* out of memory */
};

/* Mends `size` bytes, which SOURCE_PADDING zeros follow. The report is all zeros at first, and the caller's to free.
 * What comes out is to be read with care: it is JSON but for what this does not look at, such as too deep nesting. */
enum mend_result mend_text(const char *text, size_t size, struct mend_report *report, struct buffer *out,
                           size_t *failed_at);

void mend_report_free(struct mend_report *report);

/* What a mend is called. */
const char *mend_words(enum sutra_repair_kind kind, bool many);

/* What mends are called, each with its number: "3 quotes without a backslash (the first at byte 12); ..." into a text
 * of `size` bytes. */
void mend_describe(const struct mend_report *report, char *text, size_t size);

/*
 * What the files of the mender share.
 */

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

/* Puts `with` in place of n bytes at `at`, which lie behind all that was changed before. */
void mend_edit(struct mender *mender, size_t at, size_t n, const char *with, enum sutra_repair_kind kind);

#define MEND_FAIL SIZE_MAX

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
