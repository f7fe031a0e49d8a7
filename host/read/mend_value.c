/*
 * mend_value.c - the grammar of JSON for one value, strictly or with what is forgiven: strings (mend_string.c), words
 * for numbers that are none, and commas before closing brackets. A loop with a bit for each open bracket.
 */
#include <string.h>

#include "read/json_walk.h"
#include "read/mend_parts.h"
#include "text/number_text.h"

struct value_walk {
    struct mender *mender;
    enum mend_way way;
    struct mend_brackets brackets;
    size_t at; /* MEND_FAIL: it failed */
};

static bool fail_at(struct value_walk *walk, size_t at) {
    walk->mender->failed_at = at;
    walk->at = MEND_FAIL;
    return false;
}

static char next_char(struct value_walk *walk) {
    walk->at = mend_skip_spaces(walk->mender, walk->at);
    return walk->mender->text[walk->at];
}

static enum mend_role role_of(const struct value_walk *walk) {
    size_t depth = walk->brackets.depth;
    return depth > 0 && !mend_in_object(&walk->brackets, depth) ? MEND_ITEM : MEND_MEMBER;
}

static bool take_string(struct value_walk *walk, enum mend_role role) {
    walk->at = mend_string(walk->mender, walk->at, role, &walk->brackets, walk->way);
    return walk->at != MEND_FAIL;
}

static bool take_key(struct value_walk *walk) {
    if (next_char(walk) != '"')
        return fail_at(walk, walk->at);
    if (!take_string(walk, MEND_KEY))
        return false;
    if (next_char(walk) != ':')
        return fail_at(walk, walk->at);
    walk->at++;
    return true;
}

/* The length of what stands for NaN or an infinity in the output of C, C++ or Python; 0: nothing such. */
static size_t no_number_length(const char *text) {
    static const char *const words[] = {"Infinity", "infinity", "INFINITY", "NaN",    "nan",    "NAN",
                                        "Inf",      "inf",      "INF",      "1.#INF", "1.#IND", "1.#QNAN"};
    size_t sign = *text == '-' || *text == '+';
    for (size_t i = 0; i < sizeof words / sizeof *words; i++) {
        size_t n = strlen(words[i]);
        if (strncmp(text + sign, words[i], n) == 0)
            return sign + n + (strncmp(text + sign + n, "(ind)", 5) == 0 ? 5 : 0);
    }
    return 0;
}

static size_t word_length(const char *text) {
    static const char *const words[] = {"true", "false", "null"};
    for (size_t i = 0; i < sizeof words / sizeof *words; i++)
        if (strncmp(text, words[i], strlen(words[i])) == 0)
            return strlen(words[i]);
    return 0;
}

static bool ends_scalar(const struct mender *mender, size_t at) {
    return at >= mender->size || memchr(" \n\r\t,]}:", mender->text[at], 8);
}

static bool take_scalar(struct value_walk *walk) {
    struct mender *mender = walk->mender;
    const char *text = mender->text + walk->at;
    size_t n = short_number_length(text);
    if (n > 0) {
        walk->at += n;
        return true;
    }
    size_t none = no_number_length(text);
    n = word_length(text);
    if (n == 0 && none == 0 && number_scan(text, &n) == NUMBER_FORM_BAD)
        return fail_at(walk, walk->at);
    if (!ends_scalar(mender, walk->at + (none ? none : n)) || (none && walk->way == MEND_STRICT))
        return fail_at(walk, walk->at);
    if (none)
        mend_edit(mender, walk->at, none, "null", SUTRA_REPAIR_NUMBER);
    walk->at += none ? none : n;
    return true;
}

static bool push(struct value_walk *walk, bool object) {
    struct mend_brackets *brackets = &walk->brackets;
    if (brackets->depth == DEPTH_MAX)
        return fail_at(walk, walk->at);
    uint64_t bit = (uint64_t)1 << brackets->depth % 64, *word = &brackets->words[brackets->depth / 64];
    if (brackets->depth % 64 == 0)
        *word = 0;
    *word = object ? *word | bit : *word & ~bit;
    brackets->depth++;
    walk->at++;
    return true;
}

/* At a value. True: now at a value again, inside of it; false: behind it, or it failed. */
static bool enter(struct value_walk *walk) {
    char c = next_char(walk);
    if (walk->at >= walk->mender->size)
        return fail_at(walk, walk->at);
    if (c == '"') {
        take_string(walk, role_of(walk));
        return false;
    }
    if (c != '{' && c != '[') {
        take_scalar(walk);
        return false;
    }
    if (!push(walk, c == '{'))
        return false;
    if (next_char(walk) != c + 2)
        return c == '[' || take_key(walk);
    walk->brackets.depth--;
    walk->at++;
    return false;
}

/* Behind a value inside of brackets. True: now at the next value. */
static bool leave(struct value_walk *walk) {
    while (walk->at != MEND_FAIL && walk->brackets.depth > 0) {
        bool object = mend_in_object(&walk->brackets, walk->brackets.depth);
        char c = next_char(walk), close = object ? '}' : ']';
        if (c == ',') {
            size_t comma = walk->at++;
            if (next_char(walk) != close || walk->way == MEND_STRICT)
                return !object || take_key(walk);
            mend_edit(walk->mender, comma, 1, "", SUTRA_REPAIR_COMMA);
        } else if (c != close) {
            return fail_at(walk, walk->at);
        }
        walk->brackets.depth--;
        walk->at++;
    }
    return false;
}

size_t mend_value(struct mender *mender, size_t at, enum mend_way way) {
    struct value_walk walk = {.mender = mender, .way = way, .at = at};
    while (enter(&walk) || leave(&walk))
        ;
    return walk.at;
}
