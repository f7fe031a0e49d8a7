/*
 * repair.c - the traces of a file: their members, and the elements of the array one after the other.
 */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "read/json.h"
#include "read/repair.h"
#include "text/numbers.h"

/*
 * The grammar of JSON for one value, strictly or with what is forgiven: strings (mend_string.c), words
 * for numbers that are none, and commas before closing brackets. A loop with a bit for each open bracket.
 */

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

/* The byte behind the value at `at`, which is mended on the way; MEND_FAIL: it cannot be, failed_at says where. */
static size_t mend_value(struct mender *mender, size_t at, enum mend_way way) {
    struct value_walk walk = {.mender = mender, .way = way, .at = at};
    while (enter(&walk) || leave(&walk))
        ;
    return walk.at;
}

/* How often the text may be looked at, beside once. */
#define LOOKS 8

/* ---- Text that comes out ---- */

struct mend_mark mend_mark(const struct mender *mender) {
    struct mend_mark mark = {mender->out.length, mender->copied, mender->report.n_places, {0}};
    memcpy(mark.n, mender->report.n, sizeof mark.n);
    return mark;
}

static void mend_take_back(struct mender *mender, const struct mend_mark *mark) {
    mender->out.length = mark->length;
    mender->copied = mark->copied;
    mender->report.n_places = mark->n_places;
    memcpy(mender->report.n, mark->n, sizeof mark->n);
}

static void replace(struct mender *mender, size_t at, size_t n, const char *with) {
    buffer_append(&mender->out, mender->text + mender->copied, at - mender->copied);
    buffer_append(&mender->out, with, strlen(with));
    mender->copied = at + n;
}

static void note(struct mend_report *report, size_t at, enum sutra_repair_kind kind) {
    if (!report->places)
        report->places = calloc(MEND_PLACES, sizeof *report->places);
    if (report->n_places < MEND_PLACES && report->places)
        report->places[report->n_places++] = (struct sutra_repair_site){at, kind};
    report->n[kind]++;
}

void mend_edit(struct mender *mender, size_t at, size_t n, const char *with, enum sutra_repair_kind kind) {
    replace(mender, at, n, with);
    note(&mender->report, at, kind);
}

/* ---- Values ---- */

/* Whether so many bytes may be looked at again. */
static bool spend(struct mender *mender, size_t from, size_t to) {
    uint64_t n = to - from + 1;
    if (mender->budget < n)
        return false;
    mender->budget -= n;
    return true;
}

/* A value in the best way that there is; elements are mended if they are objects. MEND_FAIL: none; the mender is as
 * before. */
static size_t take_value(struct mender *mender, size_t at, bool element) {
    size_t end = mend_value(mender, at, MEND_STRICT), failed_at = mender->failed_at;
    const struct mend_mark before = mend_mark(mender);
    bool mendable = !element || mender->text[at] == '{';
    for (int way = MEND_KNOWN_KEYS; way <= MEND_ANY_KEYS && end == MEND_FAIL && mendable; way++) {
        if (!spend(mender, at, mender->failed_at))
            break;
        end = mend_value(mender, at, (enum mend_way)way);
        if (end == MEND_FAIL)
            mend_take_back(mender, &before);
    }
    if (end == MEND_FAIL)
        mender->failed_at = failed_at;
    return end;
}

/* ---- The array ---- */

/* Where reading stands behind an element, or at the text's end. */
enum behind { BEHIND_COMMA, BEHIND_ARRAY, BEHIND_TRACE, BEHIND_CUT };

struct array_walk {
    struct mender *mender;
    size_t at;
    size_t whole;          /* the byte behind the last element that is kept, or behind the opening bracket */
    struct mend_mark mark; /* as of then */
    uint64_t n;            /* elements */
};

static void keep_up_to(struct array_walk *walk, size_t end) {
    walk->whole = walk->at = end;
    walk->mark = mend_mark(walk->mender);
}

/* Looks for what is well again behind byte `from`: an element, the array's end, another trace, or nothing. What looks
 * like the array's end is not if elements follow. */
static size_t find_next(struct mender *mender, size_t from, enum behind *behind) {
    size_t end = SIZE_MAX, at = from;
    for (; at < mender->size; at++) {
        char c = mender->text[at];
        if (c == '{' && mend_begins_trace(mender, at))
            break;
        if (c == '{' && mend_is_border(mender, at) && mend_begins_element(mender, at)) {
            *behind = BEHIND_COMMA;
            return at;
        }
        if (c == ']' && end == SIZE_MAX && mend_ends_elements(mender, at))
            end = at;
    }
    *behind = end < SIZE_MAX ? BEHIND_ARRAY : at < mender->size ? BEHIND_TRACE : BEHIND_CUT;
    return end < SIZE_MAX ? end : at;
}

/* Leaves out all from the last whole element to where it goes on; what is well is looked for behind byte `from`. */
static enum behind leave_out(struct array_walk *walk, size_t from) {
    struct mender *mender = walk->mender;
    enum behind behind = BEHIND_CUT;
    size_t next = find_next(mender, from, &behind);
    mend_take_back(mender, &walk->mark);
    if (!spend(mender, from, next)) {
        behind = BEHIND_CUT;
        next = mender->size;
    }
    if (behind == BEHIND_COMMA || behind == BEHIND_ARRAY) {
        mend_edit(mender, walk->whole, next - walk->whole, behind == BEHIND_COMMA && walk->n ? ",\n" : "",
                  SUTRA_REPAIR_ELEMENT);
        mender->report.n_skipped_bytes += next - walk->whole;
    }
    walk->at = next;
    return behind;
}

static bool is_followed(const struct mender *mender, size_t at) {
    at = mend_skip_spaces(mender, at);
    return at >= mender->size || mender->text[at] == ',' || mender->text[at] == ']';
}

/* Whether an element begins behind the bracket at `at`, which so is no end of the array. */
static bool goes_on(const struct mender *mender, size_t at) {
    at = mend_skip_spaces(mender, at + 1);
    return mend_begins_element(mender, at) && !mend_begins_trace(mender, at);
}

/* Whether a trace may go on, or end, behind the bracket. */
static bool may_be_over(const struct mender *mender, size_t at) {
    at = mend_skip_spaces(mender, at + 1);
    return at >= mender->size || mender->text[at] == ',' || mender->text[at] == '}' || mend_begins_trace(mender, at);
}

/* At a closing bracket: the array's end, or else something takes its place. */
static enum behind at_bracket(struct array_walk *walk, size_t at, const char *instead) {
    struct mender *mender = walk->mender;
    walk->at = at;
    if (goes_on(mender, at)) {
        mend_edit(mender, at, 1, instead, SUTRA_REPAIR_COMMA);
        walk->at = mend_skip_spaces(mender, at + 1);
        return BEHIND_COMMA;
    }
    return may_be_over(mender, at) ? BEHIND_ARRAY : leave_out(walk, at + 1);
}

/* Behind an element that is kept. */
static enum behind step_on(struct array_walk *walk) {
    struct mender *mender = walk->mender;
    size_t at = mend_skip_spaces(mender, walk->at), comma = at;
    char c = mender->text[at];
    if (at < mender->size && c == ']')
        return at_bracket(walk, at, ",");
    if (c == '{') {
        if (mend_begins_trace(mender, at)) {
            walk->at = at;
            return BEHIND_TRACE;
        }
        mend_edit(mender, at, 0, ",", SUTRA_REPAIR_COMMA);
        walk->at = at;
        return BEHIND_COMMA;
    }
    if (c != ',')
        return leave_out(walk, walk->at);
    walk->at = at = mend_skip_spaces(mender, at + 1);
    if (at < mender->size && mender->text[at] == ']') {
        if (!goes_on(mender, at))
            mend_edit(mender, comma, 1, "", SUTRA_REPAIR_COMMA);
        return at_bracket(walk, at, "");
    }
    return at < mender->size ? BEHIND_COMMA : BEHIND_CUT;
}

/* The elements of the array whose opening bracket stands at walk->at. */
static enum behind take_elements(struct array_walk *walk) {
    struct mender *mender = walk->mender;
    enum behind behind = BEHIND_COMMA;
    keep_up_to(walk, walk->at + 1);
    walk->at = mend_skip_spaces(mender, walk->at);
    if (mender->text[walk->at] == ']' && walk->at < mender->size)
        return BEHIND_ARRAY;
    while (behind == BEHIND_COMMA) {
        size_t end = walk->at < mender->size ? take_value(mender, walk->at, true) : MEND_FAIL;
        if (end == MEND_FAIL) {
            behind = leave_out(walk, walk->at < mender->size ? walk->at + 1 : mender->size);
            continue;
        }
        if (mender->text[walk->at] != '{' && !is_followed(mender, end)) {
            behind = leave_out(walk, end); /* a key, of an element that ended too early */
            continue;
        }
        walk->n++;
        mend_learn(mender, walk->at);
        keep_up_to(walk, end);
        behind = step_on(walk);
    }
    return behind;
}

/* ---- A trace ---- */

/* A trace of the file, from its first byte to behind its last, mended on its own. */
struct trace_walk {
    struct mender *mender;
    size_t at;
    size_t whole;          /* the byte behind the last member that is kept */
    struct mend_mark mark; /* as of then */
    bool has_array, any;
    uint64_t n; /* elements of its arrays */
};

/* Ends the trace behind what is whole, and leaves out all from there to `next`. */
static void cut_off(struct trace_walk *walk, size_t next, const char *closers) {
    struct mender *mender = walk->mender;
    mend_take_back(mender, &walk->mark);
    mend_edit(mender, walk->whole, next - walk->whole, closers, SUTRA_REPAIR_CUT_OFF);
    mender->report.n_skipped_bytes += next - walk->whole;
    walk->at = next;
}

static bool is_array_key(const struct mender *mender, size_t key, size_t end) {
    size_t n = end - key;
    return (n == 13 && memcmp(mender->text + key, "\"traceEvents\"", n) == 0) ||
           (n == 7 && memcmp(mender->text + key, "\"nodes\"", n) == 0);
}

/* The trace's array. False: the trace ends with it, cut off. */
static bool take_array(struct trace_walk *walk, const char *closers) {
    struct array_walk array = {.mender = walk->mender, .at = walk->at};
    enum behind behind = take_elements(&array);
    walk->n += array.n;
    walk->has_array = true;
    if (behind == BEHIND_ARRAY) {
        walk->at = array.at + 1;
        return true;
    }
    walk->whole = array.whole;
    walk->mark = array.mark;
    cut_off(walk, array.at, closers);
    return false;
}

/* Where reading goes on behind a trace that is damaged behind its array: at the next trace, or the end. */
static size_t next_trace(const struct mender *mender, size_t at) {
    while (at < mender->size && !(mender->text[at] == '{' && mend_begins_trace(mender, at)))
        at++;
    return at;
}

/* A member, whose key begins at walk->at. False: the trace ended, well or not. */
static bool take_member(struct trace_walk *walk, bool *ok) {
    struct mender *mender = walk->mender;
    size_t key = walk->at, end = mender->text[key] == '"' ? mend_plain_string(mender, key) : MEND_FAIL;
    size_t colon = end == MEND_FAIL ? mender->size : mend_skip_spaces(mender, end);
    *ok = true;
    if (mender->text[colon] == ':') {
        walk->at = mend_skip_spaces(mender, colon + 1);
        if (mender->text[walk->at] == '[' && is_array_key(mender, key, end))
            return take_array(walk, "\n]}");
        size_t behind = walk->at < mender->size ? take_value(mender, walk->at, false) : MEND_FAIL;
        if (behind != MEND_FAIL) {
            walk->at = behind;
            return true;
        }
    } else {
        mender->failed_at = end == MEND_FAIL ? mender->failed_at : colon;
    }
    *ok = walk->has_array;
    if (*ok)
        cut_off(walk, next_trace(mender, key), "}");
    return false;
}

/* The trace at walk->at, an opening brace. False: it cannot be mended. */
static bool take_trace(struct trace_walk *walk) {
    struct mender *mender = walk->mender;
    bool ok = true;
    walk->whole = ++walk->at;
    walk->mark = mend_mark(mender);
    walk->at = mend_skip_spaces(mender, walk->at);
    if (mender->text[walk->at] == '}') {
        walk->at++;
        return true;
    }
    while (take_member(walk, &ok)) {
        walk->whole = walk->at;
        walk->mark = mend_mark(mender);
        size_t comma = walk->at = mend_skip_spaces(mender, walk->at);
        char c = mender->text[comma];
        if (c == ',') {
            walk->at = mend_skip_spaces(mender, comma + 1);
            c = mender->text[walk->at];
            if (c == '}')
                mend_edit(mender, comma, 1, "", SUTRA_REPAIR_COMMA);
        }
        if (c == '}') {
            walk->at++;
            return true;
        }
        if (mender->text[comma] != ',' || walk->at >= mender->size) {
            mender->failed_at = walk->at;
            if (walk->has_array)
                cut_off(walk, next_trace(mender, walk->at), "}");
            return walk->has_array;
        }
    }
    return ok;
}

/* An array alone, at walk->at, becomes a trace. */
static bool take_bare_array(struct trace_walk *walk) {
    struct mender *mender = walk->mender;
    size_t first = mend_skip_spaces(mender, walk->at + 1),
           end = mender->size - first < 4096 ? mender->size : first + 4096;
    bool nodes = memmem(mender->text + first, end - first, "\"ctrl_deps\"", 11) ||
                 memmem(mender->text + first, end - first, "\"op_schema\"", 11);
    mend_edit(mender, walk->at, 0, nodes ? "{\"nodes\": " : "{\"traceEvents\": ", SUTRA_REPAIR_ARRAY);
    if (!take_array(walk, "\n]}"))
        return true;
    replace(mender, walk->at, 0, "}");
    return true;
}

/* ---- A file ---- */

/* What comes out of one trace of the file: of its bytes from `begin` to `end`. */
struct mended_trace {
    struct mender mender;
    size_t begin, end;
    uint64_t n; /* elements */
    bool ok;
};

static struct mended_trace mend_one(const char *text, size_t size, size_t at, uint64_t budget) {
    struct mended_trace mended = {
        .mender = {.text = text, .size = size, .copied = at, .budget = budget, .quote_from = 1}, .begin = at};
    struct trace_walk walk = {.mender = &mended.mender, .at = at};
    mended.ok = (text[at] == '[' ? take_bare_array : take_trace)(&walk);
    mended.ok &= walk.n > 0 || !mended.mender.report.n[SUTRA_REPAIR_CUT_OFF];
    mended.n = walk.n;
    mended.end = mended.ok ? walk.at : next_trace(&mended.mender, at + 1);
    return mended;
}

static void mended_free(struct mended_trace *mended) {
    buffer_free(&mended->mender.out);
    mend_report_free(&mended->mender.report);
}

/* The file, while its traces are looked at. */
struct file_walk {
    const char *text;
    size_t size;
    size_t first; /* where the first trace begins */
    size_t rest;  /* where what is no trace begins behind the last one, or the text's end */
    uint64_t budget;
    struct mended_trace best;
    struct mend_report others; /* what is left out beside it */
    size_t failed_at;
};

/* Of two traces the one with more elements stays; of equals the one that is whole, or the first. */
static bool is_better(const struct mended_trace *trace, const struct mended_trace *best) {
    bool whole = !trace->mender.report.n[SUTRA_REPAIR_CUT_OFF],
         best_whole = !best->mender.report.n[SUTRA_REPAIR_CUT_OFF];
    if (!trace->ok || !best->ok)
        return trace->ok;
    return trace->n > best->n || (trace->n == best->n && whole && !best_whole);
}

static void choose(struct file_walk *walk, struct mended_trace *next) {
    bool better = is_better(next, &walk->best);
    struct mended_trace *left_out = better ? &walk->best : next;
    if (walk->best.end > 0) {
        note(&walk->others, left_out->begin, SUTRA_REPAIR_OBJECT);
        walk->others.n_skipped_bytes += left_out->end - left_out->begin;
    }
    mended_free(left_out);
    if (better)
        walk->best = *next;
}

static void walk_file(struct file_walk *walk) {
    size_t at = walk->first;
    while (at < walk->size) {
        struct mended_trace next = mend_one(walk->text, walk->size, at, walk->budget);
        const struct mender mender = next.mender;
        if (!next.ok && walk->failed_at == 0)
            walk->failed_at = mender.failed_at;
        uint64_t looked_at = next.end - at + 1;
        walk->budget = mender.budget > looked_at ? mender.budget - looked_at : 0;
        size_t end = next.end;
        if (walk->best.end == 0)
            walk->best = next;
        else
            choose(walk, &next);
        at = end;
        while (at < walk->size && mend_is_space(walk->text[at]))
            at++;
        if (at < walk->size && walk->text[at] != '{' && walk->text[at] != '[') {
            size_t from = at;
            at = next_trace(&mender, at);
            note(&walk->others, from, SUTRA_REPAIR_REST);
            walk->others.n_skipped_bytes += at - from;
        }
    }
}

/* Puts the text together that comes out. */
static void assemble(struct file_walk *walk, size_t beginning, struct buffer *out) {
    struct mended_trace *best = &walk->best;
    struct mender *mender = &best->mender;
    bool alone = walk->others.n[SUTRA_REPAIR_OBJECT] + walk->others.n[SUTRA_REPAIR_REST] == 0;
    if (best->begin == walk->first)
        buffer_append(out, walk->text + beginning, walk->first - beginning);
    buffer_append(out, mender->out.bytes, mender->out.length);
    size_t end = alone ? walk->size : best->end;
    if (mender->copied < end)
        buffer_append(out, walk->text + mender->copied, end - mender->copied);
    if (!alone)
        buffer_append(out, "\n", 1);
}

/* What is said of the trace, and of all else that was there. */
static void join_reports(struct file_walk *walk, struct mend_report *report) {
    const struct mend_report *others = &walk->others;
    *report = walk->best.mender.report;
    walk->best.mender.report.places = NULL;
    report->n_elements = walk->best.n;
    report->n_skipped_bytes += others->n_skipped_bytes;
    for (size_t i = 0; i < others->n_places; i++)
        note(report, others->places[i].offset, others->places[i].kind);
    for (int kind = 0; kind < SUTRA_N_REPAIR_KINDS; kind++)
        if (others->n[kind])
            report->n[kind] = others->n[kind] + walk->best.mender.report.n[kind];
}

static bool is_mended(const struct mend_report *report) {
    for (int kind = 0; kind < SUTRA_N_REPAIR_KINDS; kind++)
        if (report->n[kind])
            return true;
    return false;
}

enum mend_result mend_text(const char *text, size_t size, struct mend_report *report, struct buffer *out,
                           size_t *failed_at) {
    size_t beginning = size >= 3 && memcmp(text, "\xef\xbb\xbf", 3) == 0 ? 3 : 0, end = size;
    while (end > beginning && text[end - 1] == 0)
        end--;
    struct file_walk walk = {.text = text, .size = end, .budget = LOOKS * (uint64_t)size + (1 << 16)};
    walk.first = mend_skip_spaces(&(struct mender){.text = text, .size = end}, beginning);
    *failed_at = walk.first;
    if (walk.first >= end || (text[walk.first] != '{' && text[walk.first] != '['))
        return MEND_FAILED;
    if (beginning)
        note(&walk.others, 0, SUTRA_REPAIR_BEGINNING);
    walk_file(&walk);
    if (end < size) {
        note(&walk.others, end, SUTRA_REPAIR_REST);
        walk.others.n_skipped_bytes += size - end;
    }
    bool ok = walk.best.ok;
    if (ok) {
        join_reports(&walk, report);
        if (is_mended(report))
            assemble(&walk, beginning, out);
    }
    bool memory = out->failed || walk.best.mender.out.failed || (is_mended(report) && !report->places);
    *failed_at = walk.failed_at;
    mended_free(&walk.best);
    mend_report_free(&walk.others);
    if (memory)
        return MEND_MEMORY;
    return !ok ? MEND_FAILED : is_mended(report) ? MEND_DONE : MEND_NOTHING;
}

/* ---- What was done ---- */

void mend_report_free(struct mend_report *report) {
    free(report->places);
    report->places = NULL;
}

const char *mend_words(enum sutra_repair_kind kind, bool many) {
    static const char *const words[SUTRA_N_REPAIR_KINDS][2] = {
        {"unescaped quote", "unescaped quotes"},
        {"unescaped control character", "unescaped control characters"},
        {"invalid escape", "invalid escapes"},
        {"invalid UTF-8 byte", "invalid UTF-8 bytes"},
        {"string without a closing quote", "strings without closing quotes"},
        {"NaN or infinity, replaced by null", "NaNs or infinities, replaced by null"},
        {"extra or missing comma", "extra or missing commas"},
        {"array without a trace, wrapped in a trace", "arrays without a trace, wrapped in a trace"},
        {"byte order mark, skipped", "byte order marks, skipped"},
        {"missing end", "missing ends"},
        {"range of malformed elements, skipped", "ranges of malformed elements, skipped"},
        {"other trace in the file, skipped", "other traces in the file, skipped"},
        {"piece of text after the trace, skipped", "pieces of text after the trace, skipped"},
    };
    return words[kind][many];
}

/* Its first place among those that are known, or SUTRA_NO_OFFSET. */
static uint64_t first_place(const struct mend_report *report, enum sutra_repair_kind kind) {
    uint64_t first = SUTRA_NO_OFFSET;
    for (size_t i = 0; i < report->n_places; i++)
        if (report->places[i].kind == kind && report->places[i].offset < first)
            first = report->places[i].offset;
    return first;
}

void mend_describe(const struct mend_report *report, char *text, size_t size) {
    size_t length = 0;
    *text = 0;
    for (int kind = 0; kind < SUTRA_N_REPAIR_KINDS && length < size; kind++) {
        uint64_t n = report->n[kind], first = first_place(report, (enum sutra_repair_kind)kind);
        if (!n)
            continue;
        length += (size_t)snprintf(text + length, size - length, "%s%" PRIu64 " %s", length ? "; " : "", n,
                                   mend_words((enum sutra_repair_kind)kind, n > 1));
        if (first != SUTRA_NO_OFFSET && length < size)
            length += (size_t)snprintf(text + length, size - length,
                                       n > 1 ? " (the first at byte %" PRIu64 ")" : " (byte %" PRIu64 ")", first);
    }
}
