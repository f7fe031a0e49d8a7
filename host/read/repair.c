/*
 * repair.c - implements repair.h: finds the traces of a file, their members and the elements of their arrays.
 *
 * Sections: edits of the text; keys that traces and elements have; the end of strings with unescaped quotes; values;
 * elements of the array; members of a trace; the choice between several traces of a file.
 */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/shared.h"
#include "read/json.h"
#include "read/repair.h"
#include "text/numbers.h"
#include "text/strings.h"

#define FAILED SIZE_MAX

/* Bytes parsed again, as a multiple of the text's size. */
#define BUDGET_FACTOR 8

/* Longest key that is matched after a comma. */
#define KEY_MAX 256

/* Closing brackets that are checked after a string. */
#define CLOSERS_MAX 4

/* State to return to if the parse of an element fails. */
struct checkpoint {
    size_t out_length, copied, n_places;
    uint64_t n[SUTRA_N_REPAIR_KINDS];
};

/* The repair of one trace of the file. Result: `out`, then the text from `copied` on. */
struct trace_repair {
    const char *text;
    size_t size;
    size_t begin, at; /* first byte of the trace; current byte, finally the byte after the trace */
    struct buffer out;
    size_t copied;
    struct text_repairs report;
    uint64_t budget;          /* bytes that may be parsed again */
    size_t kept_end;          /* the byte after the last member or element that is kept */
    struct checkpoint kept;   /* state at kept_end */
    uint64_t n_elements;      /* of all arrays */
    uint64_t n_in_array;      /* of the current array */
    size_t quote_from, quote; /* text[quote] is the first unescaped quote at or after quote_from, or the text's end */
    size_t learned[2];        /* first keys of the first and the last element that is kept; 0: none */
    size_t failed_at;         /* in the last malformed value */
    bool has_array, ok;
};

/* ---- Edits ---- */

static struct checkpoint checkpoint(const struct trace_repair *repair) {
    struct checkpoint mark = {repair->out.length, repair->copied, repair->report.n_places, {0}};
    memcpy(mark.n, repair->report.n, sizeof mark.n);
    return mark;
}

static void roll_back(struct trace_repair *repair, const struct checkpoint *mark) {
    repair->out.length = mark->out_length;
    repair->copied = mark->copied;
    repair->report.n_places = mark->n_places;
    memcpy(repair->report.n, mark->n, sizeof mark->n);
}

static void keep_until(struct trace_repair *repair, size_t end) {
    repair->kept_end = repair->at = end;
    repair->kept = checkpoint(repair);
}

static void replace(struct trace_repair *repair, size_t at, size_t n, const char *with) {
    buffer_append(&repair->out, repair->text + repair->copied, at - repair->copied);
    buffer_append_text(&repair->out, with);
    repair->copied = at + n;
}

static void report_repair(struct text_repairs *report, size_t at, enum sutra_repair_kind kind) {
    if (!report->places)
        report->places = calloc(REPAIR_SITES_MAX, sizeof *report->places);
    if (report->n_places < REPAIR_SITES_MAX && report->places)
        report->places[report->n_places++] = (struct sutra_repair_site){at, kind};
    report->n[kind]++;
}

/* Replaces n bytes at `at`, which must follow all earlier edits. */
static void edit(struct trace_repair *repair, size_t at, size_t n, const char *with, enum sutra_repair_kind kind) {
    replace(repair, at, n, with);
    report_repair(&repair->report, at, kind);
}

/* Deducts the bytes from `from` to `to` from the budget; false: too few are left. */
static bool deduct_from_budget(struct trace_repair *repair, size_t from, size_t to) {
    uint64_t n = to - from + 1;
    if (repair->budget < n)
        return false;
    repair->budget -= n;
    return true;
}

static bool is_space(char c) {
    return c == ' ' || c == '\n' || c == '\r' || c == '\t';
}

static size_t skip_spaces(const struct trace_repair *repair, size_t at) {
    while (at < repair->size && is_space(repair->text[at]))
        at++;
    return at;
}

/* ---- Keys ---- */

static const char *const element_keys[] = {"args",
                                           "attrs",
                                           "bind_id",
                                           "bp",
                                           "cat",
                                           "cname",
                                           "comm_type",
                                           "ctrl_deps",
                                           "data_deps",
                                           "dur",
                                           "esf",
                                           "exclusive_dur",
                                           "external_id",
                                           "flow_in",
                                           "flow_out",
                                           "fw_parent",
                                           "fw_tid",
                                           "id",
                                           "id2",
                                           "inclusive_dur",
                                           "input_shapes",
                                           "input_types",
                                           "inputs",
                                           "inter_thread_dep",
                                           "kernel_backend",
                                           "kernel_file",
                                           "name",
                                           "op_schema",
                                           "output_shapes",
                                           "output_types",
                                           "outputs",
                                           "parent",
                                           "ph",
                                           "pid",
                                           "rf_id",
                                           "s",
                                           "scope",
                                           "seq_id",
                                           "sf",
                                           "stack",
                                           "stream",
                                           "sync_dep",
                                           "tdur",
                                           "tensor_range",
                                           "tid",
                                           "ts",
                                           "tts"};
static const char *const trace_keys[] = {"schema", "schemaVersion", "traceEvents", "nodes"};

/* Index of the last byte before `at` that is no white space; SIZE_MAX: none. */
static size_t before_spaces(const struct trace_repair *repair, size_t at) {
    while (at-- > 0)
        if (!is_space(repair->text[at]))
            return at;
    return SIZE_MAX;
}

/* Steps back over white space and `c`; false: another byte is there. */
static bool step_back(const struct trace_repair *repair, size_t *at, char c) {
    size_t before = before_spaces(repair, *at);
    if (before == SIZE_MAX || repair->text[before] != c)
        return false;
    *at = before;
    return true;
}

/* Length of the key whose opening quote is at `at`, if a colon follows it; SIZE_MAX: no key. */
static size_t key_length(const struct trace_repair *repair, size_t at) {
    const char *text = repair->text + at;
    size_t n = 1, limit = MIN(repair->size - at, KEY_MAX);
    if (at >= repair->size || *text != '"')
        return SIZE_MAX;
    while (n < limit && text[n] != '"' && (unsigned char)text[n] >= ' ')
        n += text[n] == '\\' ? 2 : 1;
    return n < limit && text[n] == '"' && repair->text[skip_spaces(repair, at + n + 1)] == ':' ? n - 1 : SIZE_MAX;
}

static bool is_key_of(const struct trace_repair *repair, size_t at, const char *const *keys, size_t n) {
    size_t length = key_length(repair, at);
    for (size_t i = 0; i < n && length != SIZE_MAX; i++)
        if (strlen(keys[i]) == length && memcmp(keys[i], repair->text + at + 1, length) == 0)
            return true;
    return false;
}

static bool is_element_key(const struct trace_repair *repair, size_t at) {
    return is_key_of(repair, at, element_keys, sizeof element_keys / sizeof *element_keys);
}

/* The first token of the object at `at`; the text's end, if there is no object. */
static size_t first_key(const struct trace_repair *repair, size_t at) {
    return at < repair->size && repair->text[at] == '{' ? skip_spaces(repair, at + 1) : repair->size;
}

/* Whether an object begins at `at` with the first key of this trace's elements, or, if none is known yet, with a key of
 * elements. */
static bool begins_element(const struct trace_repair *repair, size_t at) {
    size_t key = first_key(repair, at), length = key_length(repair, key);
    if (length == SIZE_MAX || !repair->learned[0])
        return is_element_key(repair, key);
    for (int i = 0; i < 2; i++)
        if (key_length(repair, repair->learned[i]) == length &&
            memcmp(repair->text + repair->learned[i] + 1, repair->text + key + 1, length) == 0)
            return true;
    return false;
}

static bool begins_trace(const struct trace_repair *repair, size_t at) {
    return is_key_of(repair, first_key(repair, at), trace_keys, sizeof trace_keys / sizeof *trace_keys);
}

/* Whether an element ends right before `at`: a closing brace, a comma, white space. */
static bool is_border(const struct trace_repair *repair, size_t at) {
    return step_back(repair, &at, ',') && step_back(repair, &at, '}');
}

/* Whether the trace's array may end at `at`: a closing bracket after an object, and a valid token after the bracket. */
static bool ends_elements(const struct trace_repair *repair, size_t at) {
    size_t before = at;
    if (repair->text[at] != ']' || !step_back(repair, &before, '}'))
        return false;
    at = skip_spaces(repair, at + 1);
    if (repair->text[at] == ',')
        return repair->text[skip_spaces(repair, at + 1)] == '"';
    return at >= repair->size || repair->text[at] == '}';
}

/*
 * ---- The end of a string with unescaped quotes ----
 *
 * A quote ends a string if the text after it may follow the string: a colon after a key; after a value a comma and the
 * next token, or the closing bracket and a token after that. In an element of a trace the next key must be one of
 * element_keys, so that text such as {"device": "cpu", "dtype": "float"} remains a part of a name.
 *
 *     "name": "{"device": "cpu", "dtype": "float32"}(12): run", "pid": 1
 *                                ^ no key of elements         ^ a key of elements: the string ends here
 *
 * A quote before such a key, after a comma, shows that the string should have ended before the comma.
 */

enum string_role { ROLE_KEY, ROLE_MEMBER, ROLE_ITEM };

enum repair_level {
    LEVEL_STRICT,     /* repair nothing */
    LEVEL_KNOWN_KEYS, /* keys of elements are element_keys */
    LEVEL_ANY_KEYS,
};

/* A value while it is parsed. */
struct value_walk {
    struct trace_repair *repair;
    enum repair_level level;
    size_t at; /* FAILED: malformed */
    size_t depth;
    uint64_t objects[DEPTH_MAX / 64 + 1]; /* a bit for each open bracket: 1 for objects */
};

static bool in_object(const struct value_walk *walk, size_t depth) {
    return walk->objects[(depth - 1) / 64] >> ((depth - 1) % 64) & 1;
}

/* Whether the string may end with the quote at `quote`. */
static bool may_end(const struct value_walk *walk, size_t quote, enum string_role role) {
    const struct trace_repair *repair = walk->repair;
    size_t at = skip_spaces(repair, quote + 1), depth = walk->depth;
    if (role == ROLE_KEY)
        return repair->text[at] == ':';
    for (int i = 0; i < CLOSERS_MAX; i++, at = skip_spaces(repair, at + 1), depth--) {
        char c = repair->text[at];
        size_t next = skip_spaces(repair, at + 1);
        if (depth == 0) { /* the end of an element */
            if (at >= repair->size || c == ']' || c == '}')
                return true;
            return c == ',' && repair->text[next] == '{' &&
                   (walk->level == LEVEL_ANY_KEYS || begins_element(repair, next));
        }
        bool object = in_object(walk, depth);
        if (c == ',' && object)
            return depth == 1 && walk->level == LEVEL_KNOWN_KEYS ? is_element_key(repair, next)
                                                                 : key_length(repair, next) != SIZE_MAX;
        if (c == ',')
            return repair->text[next] && strchr("\"[{-0123456789tfnNI", repair->text[next]);
        if (c != (object ? '}' : ']'))
            return false;
    }
    return true;
}

/* The next unescaped quote at or after `at`, or the text's end. A repeated question costs nothing. */
static size_t next_quote(struct trace_repair *repair, size_t at) {
    if (at >= repair->quote_from && at <= repair->quote)
        return repair->quote;
    repair->quote_from = at;
    while (at < repair->size && repair->text[at] != '"')
        at += repair->text[at] == '\\' ? 2 : 1;
    return repair->quote = MIN(at, repair->size);
}

/* Whether a quote inside a string begins the next key: the string should have ended before the comma. `first`: the
 * string has no earlier such quote. */
static bool begins_next_key(const struct value_walk *walk, size_t quote, bool first) {
    if (walk->depth == 1 && walk->level == LEVEL_KNOWN_KEYS)
        return is_element_key(walk->repair, quote);
    size_t length = key_length(walk->repair, quote);
    if (!first || length == SIZE_MAX || length == 0)
        return false;
    const char *key = walk->repair->text + quote + 1;
    for (size_t i = 0; i < length; i++)
        if (!((key[i] | 0x20) >= 'a' && (key[i] | 0x20) <= 'z') && !strchr("0123456789_ ", key[i]))
            return false;
    return true;
}

/* The end of the text of the string whose text begins at `from`; *quoted: a quote is there. FAILED: no end. */
static size_t find_string_end(const struct value_walk *walk, size_t from, enum string_role role, bool *quoted) {
    struct trace_repair *repair = walk->repair;
    bool first = true;
    *quoted = true;
    for (size_t at = from; at < repair->size; at++) {
        char c = repair->text[at];
        if (c == '\\') {
            /* A backslash before the closing quote: only if the string could not end at the next quote. */
            if (repair->text[at + 1] == '"' && may_end(walk, at + 1, role) &&
                !may_end(walk, next_quote(repair, at + 2), role))
                return at + 1;
            at++;
        }
        if (c == ']' && ends_elements(repair, at))
            break;
        if (c != '"')
            continue;
        if (may_end(walk, at, role))
            return at;
        size_t before = at;
        if (role == ROLE_KEY ||
            (step_back(repair, &before, '{') &&
             (begins_trace(repair, before) || (is_border(repair, before) && begins_element(repair, before)))))
            break; /* another element or another trace begins: this string has no end */
        before = at;
        if (role == ROLE_MEMBER && step_back(repair, &before, ',') && before > from &&
            begins_next_key(walk, at, first)) {
            *quoted = false;
            return before_spaces(repair, before) + 1;
        }
        first = false;
    }
    return FAILED;
}

/* Repairs a string's text from `at` to `end`: quotes, escapes, control characters, UTF-8. */
static void repair_string_text(struct trace_repair *repair, size_t at, size_t end) {
    static const char letters[] = "\bb\tt\nn\ff\rr", digits[] = "0123456789abcdef";
    while (at < end) {
        char c = repair->text[at];
        if (c == '"') {
            edit(repair, at++, 0, "\\", SUTRA_REPAIR_QUOTE);
        } else if (c == '\\') {
            size_t length = string_escape_length(repair->text + at);
            bool valid = length > 0 && length <= end - at;
            if (!valid)
                edit(repair, at, 0, "\\", SUTRA_REPAIR_BACKSLASH);
            at += valid ? length : 1;
        } else if ((unsigned char)c < ' ') {
            char escape[] = {'\\', 'u', '0', '0', digits[(unsigned char)c >> 4], digits[c & 15], 0};
            for (size_t i = 0; i + 1 < sizeof letters; i += 2)
                if (letters[i] == c) {
                    escape[1] = letters[i + 1];
                    escape[2] = 0;
                }
            edit(repair, at++, 1, escape, SUTRA_REPAIR_CONTROL);
        } else { /* other bytes: invalid UTF-8 becomes U+FFFD */
            size_t stop = at;
            while (stop < end && (unsigned char)repair->text[stop] >= ' ' && !memchr("\"\\", repair->text[stop], 2))
                stop++;
            while ((at += utf8_check(repair->text + at, stop - at)) < stop)
                edit(repair, at++, 1, "\xef\xbf\xbd", SUTRA_REPAIR_UTF8);
        }
    }
}

/* ---- Values: a loop with a bit for each open bracket ---- */

static bool fail_at(struct value_walk *walk, size_t at) {
    walk->repair->failed_at = at;
    walk->at = FAILED;
    return false;
}

/* The byte after the well-formed string whose opening quote is at `at`; FAILED. */
static size_t strict_string_end(struct trace_repair *repair, size_t at) {
    size_t from = at + 1;
    bool high = false;
    for (at = from; at < repair->size && repair->text[at] != '"'; at++) {
        unsigned char c = (unsigned char)repair->text[at];
        if (c >= ' ' && c < 0x80 && c != '\\')
            continue;
        size_t escape = c == '\\' ? string_escape_length(repair->text + at) : 1;
        if (c < ' ' || escape == 0)
            break;
        high |= c >= 0x80;
        at += escape - 1;
    }
    repair->failed_at = at;
    if (at >= repair->size || repair->text[at] != '"')
        return FAILED;
    size_t n = at - from, valid = high ? utf8_check(repair->text + from, n) : n;
    repair->failed_at = from + valid;
    return valid == n ? at + 1 : FAILED;
}

static bool parse_string(struct value_walk *walk, enum string_role role) {
    struct trace_repair *repair = walk->repair;
    if (walk->level == LEVEL_STRICT) {
        walk->at = strict_string_end(repair, walk->at);
        return walk->at != FAILED;
    }
    bool quoted;
    size_t end = find_string_end(walk, walk->at + 1, role, &quoted);
    if (end == FAILED)
        return fail_at(walk, walk->at);
    repair_string_text(repair, walk->at + 1, end);
    if (!quoted)
        edit(repair, end, 0, "\"", SUTRA_REPAIR_END_QUOTE);
    walk->at = end + quoted;
    return true;
}

static char next_char(struct value_walk *walk) {
    walk->at = skip_spaces(walk->repair, walk->at);
    return walk->repair->text[walk->at];
}

static bool parse_key(struct value_walk *walk) {
    if (next_char(walk) != '"')
        return fail_at(walk, walk->at);
    if (!parse_string(walk, ROLE_KEY))
        return false;
    if (next_char(walk) != ':')
        return fail_at(walk, walk->at);
    walk->at++;
    return true;
}

/* Length of a NaN or infinity as C, C++ or Python write it; 0: something else. */
static size_t non_finite_length(const char *text) {
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

static bool parse_scalar(struct value_walk *walk) {
    static const char *const words[] = {"true", "false", "null"};
    struct trace_repair *repair = walk->repair;
    const char *text = repair->text + walk->at;
    size_t n = short_number_length(text);
    if (n > 0) {
        walk->at += n;
        return true;
    }
    size_t non_finite = non_finite_length(text);
    for (size_t i = 0; i < sizeof words / sizeof *words; i++)
        if (strncmp(text, words[i], strlen(words[i])) == 0)
            n = strlen(words[i]);
    if (n == 0 && non_finite == 0 && number_scan(text, &n) == NUMBER_FORM_BAD)
        return fail_at(walk, walk->at);
    size_t end = walk->at + (non_finite ? non_finite : n);
    if (end < repair->size && !memchr(" \n\r\t,]}:", repair->text[end], 8))
        return fail_at(walk, walk->at);
    if (non_finite && walk->level == LEVEL_STRICT)
        return fail_at(walk, walk->at);
    if (non_finite)
        edit(repair, walk->at, non_finite, "null", SUTRA_REPAIR_NUMBER);
    walk->at = end;
    return true;
}

/* At a value. True: now at the first value inside it; false: after the value, or failed. */
static bool enter_value(struct value_walk *walk) {
    char c = next_char(walk);
    if (walk->at >= walk->repair->size)
        return fail_at(walk, walk->at);
    if (c == '"') {
        parse_string(walk, walk->depth > 0 && !in_object(walk, walk->depth) ? ROLE_ITEM : ROLE_MEMBER);
        return false;
    }
    if (c != '{' && c != '[') {
        parse_scalar(walk);
        return false;
    }
    if (walk->depth == DEPTH_MAX)
        return fail_at(walk, walk->at);
    uint64_t bit = (uint64_t)1 << walk->depth % 64, *word = &walk->objects[walk->depth / 64];
    *word = c == '{' ? *word | bit : *word & ~bit;
    walk->depth++;
    walk->at++;
    if (next_char(walk) != c + 2)
        return c == '[' || parse_key(walk);
    walk->depth--;
    walk->at++;
    return false;
}

/* After a value inside brackets. True: now at the next value. */
static bool leave_value(struct value_walk *walk) {
    while (walk->at != FAILED && walk->depth > 0) {
        bool object = in_object(walk, walk->depth);
        char c = next_char(walk), close = object ? '}' : ']';
        if (c == ',') {
            size_t comma = walk->at++;
            if (next_char(walk) != close || walk->level == LEVEL_STRICT)
                return !object || parse_key(walk);
            edit(walk->repair, comma, 1, "", SUTRA_REPAIR_COMMA);
        } else if (c != close) {
            return fail_at(walk, walk->at);
        }
        walk->depth--;
        walk->at++;
    }
    return false;
}

/* Parses the value at `at` strictly, then with repairs; only elements that are objects are repaired. Returns the byte
 * after the value, or FAILED with nothing changed but failed_at. */
static size_t parse_value(struct trace_repair *repair, size_t at, bool element) {
    const struct checkpoint before = checkpoint(repair);
    size_t strict_failed_at = 0;
    for (int level = LEVEL_STRICT; level <= LEVEL_ANY_KEYS; level++) {
        struct value_walk walk = {.repair = repair, .level = (enum repair_level)level, .at = at};
        while (enter_value(&walk) || leave_value(&walk))
            ;
        if (walk.at != FAILED)
            return walk.at;
        roll_back(repair, &before);
        if (level == LEVEL_STRICT)
            strict_failed_at = repair->failed_at;
        if ((element && repair->text[at] != '{') ||
            (level < LEVEL_ANY_KEYS && !deduct_from_budget(repair, at, repair->failed_at)))
            break;
    }
    repair->failed_at = strict_failed_at;
    return FAILED;
}

/* ---- The array ---- */

/* The token at which parsing continues after an element. */
enum after_element { AT_ELEMENT, AT_ARRAY_END, AT_TRACE, AT_TEXT_END };

/* Skips all bytes from kept_end to the next element, array end or trace found after byte `from`. */
static enum after_element skip_malformed(struct trace_repair *repair, size_t from) {
    enum after_element next = AT_TEXT_END;
    size_t array_end = SIZE_MAX, at = from;
    for (; at < repair->size && next == AT_TEXT_END; at++) {
        char c = repair->text[at];
        if (c == '{' && begins_trace(repair, at))
            next = AT_TRACE;
        else if (c == '{' && is_border(repair, at) && begins_element(repair, at))
            next = AT_ELEMENT;
        else if (c == ']' && array_end == SIZE_MAX && ends_elements(repair, at))
            array_end = at;
    }
    at -= next != AT_TEXT_END;
    if (next != AT_ELEMENT && array_end < SIZE_MAX) { /* a bracket with elements after it is no array end */
        next = AT_ARRAY_END;
        at = array_end;
    }
    roll_back(repair, &repair->kept);
    if (!deduct_from_budget(repair, from, at)) {
        next = AT_TEXT_END;
        at = repair->size;
    }
    if (next == AT_ELEMENT || next == AT_ARRAY_END) {
        edit(repair, repair->kept_end, at - repair->kept_end, next == AT_ELEMENT && repair->n_in_array ? ",\n" : "",
             SUTRA_REPAIR_ELEMENT);
        repair->report.n_skipped_bytes += at - repair->kept_end;
    }
    repair->at = at;
    return next;
}

/* Whether an element begins after the bracket at `at`, so that the bracket does not end the array. */
static bool element_follows(const struct trace_repair *repair, size_t at) {
    at = skip_spaces(repair, at + 1);
    return begins_element(repair, at) && !begins_trace(repair, at);
}

/* At a closing bracket: the array's end, or `instead` replaces it. */
static enum after_element pass_bracket(struct trace_repair *repair, size_t at, const char *instead) {
    size_t next = skip_spaces(repair, at + 1);
    repair->at = at;
    if (element_follows(repair, at)) {
        edit(repair, at, 1, instead, SUTRA_REPAIR_COMMA);
        repair->at = next;
        return AT_ELEMENT;
    }
    bool ends =
        next >= repair->size || repair->text[next] == ',' || repair->text[next] == '}' || begins_trace(repair, next);
    return ends ? AT_ARRAY_END : skip_malformed(repair, at + 1);
}

/* After an element that is kept. */
static enum after_element pass_comma(struct trace_repair *repair) {
    size_t at = skip_spaces(repair, repair->at), comma = at;
    char c = repair->text[at];
    if (at < repair->size && c == ']')
        return pass_bracket(repair, at, ",");
    if (c == '{') {
        bool trace = begins_trace(repair, at);
        if (!trace)
            edit(repair, at, 0, ",", SUTRA_REPAIR_COMMA);
        repair->at = at;
        return trace ? AT_TRACE : AT_ELEMENT;
    }
    if (c != ',')
        return skip_malformed(repair, repair->at);
    repair->at = at = skip_spaces(repair, at + 1);
    if (at < repair->size && repair->text[at] == ']') {
        if (!element_follows(repair, at))
            edit(repair, comma, 1, "", SUTRA_REPAIR_COMMA);
        return pass_bracket(repair, at, "");
    }
    return at < repair->size ? AT_ELEMENT : AT_TEXT_END;
}

/* Parses the elements of the array whose opening bracket is at repair->at. */
static enum after_element repair_elements(struct trace_repair *repair) {
    enum after_element next = AT_ELEMENT;
    repair->n_in_array = 0;
    keep_until(repair, repair->at + 1);
    repair->at = skip_spaces(repair, repair->at);
    if (repair->text[repair->at] == ']' && repair->at < repair->size)
        return AT_ARRAY_END;
    while (next == AT_ELEMENT) {
        size_t at = repair->at, end = at < repair->size ? parse_value(repair, at, true) : FAILED;
        if (end == FAILED) {
            next = skip_malformed(repair, at < repair->size ? at + 1 : repair->size);
            continue;
        }
        size_t after = skip_spaces(repair, end);
        if (repair->text[at] != '{' && after < repair->size && repair->text[after] != ',' &&
            repair->text[after] != ']') {
            next = skip_malformed(repair, end); /* a key, of an element that ended too early */
            continue;
        }
        repair->n_in_array++;
        size_t key = first_key(repair, at);
        if (key_length(repair, key) != SIZE_MAX) {
            repair->learned[1] = key;
            repair->learned[0] = repair->learned[0] ? repair->learned[0] : key;
        }
        keep_until(repair, end);
        next = pass_comma(repair);
    }
    repair->n_elements += repair->n_in_array;
    return next;
}

/* ---- A trace ---- */

/* Ends the trace at kept_end, and skips all bytes from there to `next`. */
static void cut_off(struct trace_repair *repair, size_t next, const char *closers) {
    roll_back(repair, &repair->kept);
    edit(repair, repair->kept_end, next - repair->kept_end, closers, SUTRA_REPAIR_CUT_OFF);
    repair->report.n_skipped_bytes += next - repair->kept_end;
    repair->at = next;
}

/* Repairs the trace's array. False: the trace ends with it, truncated. */
static bool repair_array(struct trace_repair *repair) {
    enum after_element next = repair_elements(repair);
    repair->has_array = true;
    if (next == AT_ARRAY_END)
        repair->at++;
    else
        cut_off(repair, repair->at, "\n]}");
    return next == AT_ARRAY_END;
}

/* The next trace at or after `at`, or the text's end. */
static size_t next_trace(const struct trace_repair *repair, size_t at) {
    while (at < repair->size && !(repair->text[at] == '{' && begins_trace(repair, at)))
        at++;
    return at;
}

/* Parses the member whose key begins at repair->at. False: the trace ended; *ok: it can be used. */
static bool repair_member(struct trace_repair *repair, bool *ok) {
    const char *text = repair->text;
    size_t key = repair->at, end = text[key] == '"' ? strict_string_end(repair, key) : FAILED;
    size_t colon = end == FAILED ? repair->size : skip_spaces(repair, end);
    *ok = true;
    if (text[colon] == ':') {
        size_t n = end - key, value = repair->at = skip_spaces(repair, colon + 1);
        if (text[value] == '[' && ((n == 13 && memcmp(text + key, "\"traceEvents\"", n) == 0) ||
                                   (n == 7 && memcmp(text + key, "\"nodes\"", n) == 0)))
            return repair_array(repair);
        end = value < repair->size ? parse_value(repair, value, false) : FAILED;
        if (end != FAILED) {
            repair->at = end;
            return true;
        }
    } else {
        repair->failed_at = end == FAILED ? repair->failed_at : colon;
    }
    *ok = repair->has_array;
    if (*ok)
        cut_off(repair, next_trace(repair, key), "}");
    return false;
}

/* Repairs the trace at repair->at, an opening brace. False: it cannot be repaired. */
static bool repair_object(struct trace_repair *repair) {
    bool ok = true;
    keep_until(repair, repair->at + 1);
    repair->at = skip_spaces(repair, repair->at);
    if (repair->text[repair->at] == '}') {
        repair->at++;
        return true;
    }
    while (repair_member(repair, &ok)) {
        keep_until(repair, repair->at);
        size_t comma = repair->at = skip_spaces(repair, repair->at);
        char c = repair->text[comma];
        if (c == ',') {
            repair->at = skip_spaces(repair, comma + 1);
            c = repair->text[repair->at];
            if (c == '}')
                edit(repair, comma, 1, "", SUTRA_REPAIR_COMMA);
        }
        if (c == '}') {
            repair->at++;
            return true;
        }
        if (repair->text[comma] != ',' || repair->at >= repair->size) {
            repair->failed_at = repair->at;
            if (repair->has_array)
                cut_off(repair, next_trace(repair, repair->at), "}");
            return repair->has_array;
        }
    }
    return ok;
}

/* An array without a trace, at repair->at, becomes a trace. */
static void wrap_array(struct trace_repair *repair) {
    size_t first = skip_spaces(repair, repair->at + 1), n = MIN(repair->size - first, 4096);
    bool nodes =
        text_has(repair->text + first, n, "\"ctrl_deps\"") || text_has(repair->text + first, n, "\"op_schema\"");
    edit(repair, repair->at, 0, nodes ? "{\"nodes\": " : "{\"traceEvents\": ", SUTRA_REPAIR_ARRAY);
    if (repair_array(repair))
        replace(repair, repair->at, 0, "}");
}

/* ---- A file ---- */

static struct trace_repair repair_trace(const char *text, size_t size, size_t at, uint64_t budget) {
    struct trace_repair repair = {
        .text = text, .size = size, .begin = at, .at = at, .copied = at, .budget = budget, .quote_from = 1, .ok = true};
    if (text[at] == '[')
        wrap_array(&repair);
    else
        repair.ok = repair_object(&repair);
    repair.ok &= repair.n_elements > 0 || !repair.report.n[SUTRA_REPAIR_CUT_OFF];
    if (!repair.ok)
        repair.at = next_trace(&repair, at + 1);
    return repair;
}

static void trace_repair_free(struct trace_repair *repair) {
    buffer_free(&repair->out);
    text_repairs_free(&repair->report);
}

/* Prefers more elements, then a trace that is not truncated, then the first. */
static bool is_better(const struct trace_repair *trace, const struct trace_repair *best) {
    if (!trace->ok || !best->ok)
        return trace->ok;
    if (trace->n_elements != best->n_elements)
        return trace->n_elements > best->n_elements;
    return !trace->report.n[SUTRA_REPAIR_CUT_OFF] && best->report.n[SUTRA_REPAIR_CUT_OFF];
}

/* Repairs all traces from byte `first` on and returns the best. `others` reports the skipped traces and other text. */
static struct trace_repair find_best_trace(const char *text, size_t size, size_t first, uint64_t budget,
                                           struct text_repairs *others, size_t *failed_at) {
    struct trace_repair best = {0};
    *failed_at = 0;
    for (size_t at = first; at < size;) {
        struct trace_repair next = repair_trace(text, size, at, budget);
        if (!next.ok && *failed_at == 0)
            *failed_at = next.failed_at;
        uint64_t n_parsed = next.at - at + 1;
        budget = next.budget > n_parsed ? next.budget - n_parsed : 0;
        at = skip_spaces(&next, next.at);
        bool better = !best.text || is_better(&next, &best);
        struct trace_repair *skipped = better ? &best : &next;
        if (best.text) {
            report_repair(others, skipped->begin, SUTRA_REPAIR_OBJECT);
            others->n_skipped_bytes += skipped->at - skipped->begin;
            trace_repair_free(skipped);
        }
        if (better)
            best = next;
        if (at < size && text[at] != '{' && text[at] != '[') {
            size_t from = at;
            at = next_trace(&next, at);
            report_repair(others, from, SUTRA_REPAIR_REST);
            others->n_skipped_bytes += at - from;
        }
    }
    return best;
}

static bool has_repairs(const struct text_repairs *report) {
    for (int kind = 0; kind < SUTRA_N_REPAIR_KINDS; kind++)
        if (report->n[kind])
            return true;
    return false;
}

enum repair_result repair_text(const char *text, size_t size, struct text_repairs *report, struct buffer *out,
                               size_t *failed_at) {
    struct text_repairs others = {0};
    size_t begin = size >= 3 && memcmp(text, "\xef\xbb\xbf", 3) == 0 ? 3 : 0, end = size;
    while (end > begin && text[end - 1] == 0)
        end--;
    size_t first = skip_spaces(&(struct trace_repair){.text = text, .size = end}, begin);
    *failed_at = first;
    if (first >= end || (text[first] != '{' && text[first] != '['))
        return REPAIR_FAILED;
    if (begin)
        report_repair(&others, 0, SUTRA_REPAIR_BEGINNING);
    struct trace_repair best =
        find_best_trace(text, end, first, BUDGET_FACTOR * (uint64_t)size + (1 << 16), &others, failed_at);
    if (end < size) {
        report_repair(&others, end, SUTRA_REPAIR_REST);
        others.n_skipped_bytes += size - end;
    }
    if (best.ok) {
        /* Join the reports of the trace and of the skipped text. */
        *report = best.report;
        best.report.places = NULL;
        report->n_elements = best.n_elements;
        report->n_skipped_bytes += others.n_skipped_bytes;
        for (size_t i = 0; i < others.n_places; i++)
            report_repair(report, others.places[i].offset, others.places[i].kind);
        for (int kind = 0; kind < SUTRA_N_REPAIR_KINDS; kind++)
            report->n[kind] = others.n[kind] + best.report.n[kind];
    }
    bool repaired = has_repairs(report), alone = !others.n[SUTRA_REPAIR_OBJECT] && !others.n[SUTRA_REPAIR_REST];
    if (repaired) {
        /* The text before the trace, the repaired text, and the text after the last repair. */
        if (best.begin == first)
            buffer_append(out, text + begin, first - begin);
        buffer_append(out, best.out.bytes, best.out.length);
        size_t text_end = alone ? end : best.at;
        if (best.copied < text_end)
            buffer_append(out, text + best.copied, text_end - best.copied);
        if (!alone)
            buffer_append_text(out, "\n");
    }
    bool no_memory = out->failed || best.out.failed || (repaired && !report->places);
    bool ok = best.ok;
    trace_repair_free(&best);
    text_repairs_free(&others);
    if (no_memory)
        return REPAIR_NO_MEMORY;
    return !ok ? REPAIR_FAILED : repaired ? REPAIR_DONE : REPAIR_NONE;
}

/* ---- The report ---- */

void text_repairs_free(struct text_repairs *report) {
    free(report->places);
    report->places = NULL;
}

const char *repair_kind_words(enum sutra_repair_kind kind, bool many) {
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

void repair_describe(const struct text_repairs *report, char *text, size_t size) {
    size_t length = 0;
    *text = 0;
    for (int kind = 0; kind < SUTRA_N_REPAIR_KINDS && length < size; kind++) {
        uint64_t n = report->n[kind], first = SUTRA_NO_OFFSET;
        if (!n)
            continue;
        for (size_t i = 0; i < report->n_places; i++)
            if ((int)report->places[i].kind == kind && report->places[i].offset < first)
                first = report->places[i].offset;
        length += (size_t)snprintf(text + length, size - length, "%s%" PRIu64 " %s", length ? "; " : "", n,
                                   repair_kind_words((enum sutra_repair_kind)kind, n > 1));
        if (first != SUTRA_NO_OFFSET && length < size)
            length += (size_t)snprintf(text + length, size - length,
                                       n > 1 ? " (the first at byte %" PRIu64 ")" : " (byte %" PRIu64 ")", first);
    }
}
