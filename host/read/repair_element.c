/*
 * repair_element.c - implements repair_element.h.
 *
 * Sections: edits of the text; keys that traces and elements have; the end of strings with unescaped quotes; values.
 */
#include "read/repair_element.h"

#include <stdlib.h>
#include <string.h>

#include "base/shared.h"
#include "read/json.h"
#include "text/numbers.h"
#include "text/strings.h"

/* Longest key that is matched after a comma. */
#define KEY_MAX 256

/* Closing brackets that are checked after a string. */
#define CLOSERS_MAX 4

/* ---- Edits ---- */

struct repair_checkpoint repair_save(const struct trace_repair *repair) {
    struct repair_checkpoint mark = {repair->out.length, repair->copied, repair->report.n_places, {0}};
    memcpy(mark.n, repair->report.n, sizeof mark.n);
    return mark;
}

void repair_roll_back(struct trace_repair *repair, const struct repair_checkpoint *mark) {
    repair->out.length = mark->out_length;
    repair->copied = mark->copied;
    repair->report.n_places = mark->n_places;
    memcpy(repair->report.n, mark->n, sizeof mark->n);
}

void repair_keep_until(struct trace_repair *repair, size_t end) {
    repair->kept_end = repair->at = end;
    repair->kept = repair_save(repair);
}

void repair_replace(struct trace_repair *repair, size_t at, size_t n, const char *with) {
    buffer_append(&repair->out, repair->text + repair->copied, at - repair->copied);
    buffer_append_text(&repair->out, with);
    repair->copied = at + n;
}

void repair_report(struct text_repairs *report, size_t at, enum sutra_repair_kind kind) {
    if (!report->places)
        report->places = calloc(REPAIR_SITES_MAX, sizeof *report->places);
    if (report->n_places < REPAIR_SITES_MAX && report->places)
        report->places[report->n_places++] = (struct sutra_repair_site){at, kind};
    report->n[kind]++;
}

void repair_edit(struct trace_repair *repair, size_t at, size_t n, const char *with, enum sutra_repair_kind kind) {
    repair_replace(repair, at, n, with);
    repair_report(&repair->report, at, kind);
}

bool repair_spend(struct trace_repair *repair, size_t from, size_t to) {
    uint64_t n = to - from + 1;
    if (repair->budget < n)
        return false;
    repair->budget -= n;
    return true;
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
        if (!is_json_space(repair->text[at]))
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

size_t repair_key_length(const struct trace_repair *repair, size_t at) {
    const char *text = repair->text + at;
    size_t n = 1, limit = MIN(repair->size - at, KEY_MAX);
    if (at >= repair->size || *text != '"')
        return SIZE_MAX;
    while (n < limit && text[n] != '"' && (unsigned char)text[n] >= ' ')
        n += text[n] == '\\' ? 2 : 1;
    return n < limit && text[n] == '"' && repair->text[repair_skip_spaces(repair, at + n + 1)] == ':' ? n - 1
                                                                                                      : SIZE_MAX;
}

static bool is_key_of(const struct trace_repair *repair, size_t at, const char *const *keys, size_t n) {
    size_t length = repair_key_length(repair, at);
    for (size_t i = 0; i < n && length != SIZE_MAX; i++)
        if (strlen(keys[i]) == length && memcmp(keys[i], repair->text + at + 1, length) == 0)
            return true;
    return false;
}

static bool is_element_key(const struct trace_repair *repair, size_t at) {
    return is_key_of(repair, at, element_keys, sizeof element_keys / sizeof *element_keys);
}

size_t repair_first_key(const struct trace_repair *repair, size_t at) {
    return at < repair->size && repair->text[at] == '{' ? repair_skip_spaces(repair, at + 1) : repair->size;
}

bool repair_begins_element(const struct trace_repair *repair, size_t at) {
    size_t key = repair_first_key(repair, at), length = repair_key_length(repair, key);
    if (length == SIZE_MAX || !repair->learned[0])
        return is_element_key(repair, key);
    for (int i = 0; i < 2; i++)
        if (repair_key_length(repair, repair->learned[i]) == length &&
            memcmp(repair->text + repair->learned[i] + 1, repair->text + key + 1, length) == 0)
            return true;
    return false;
}

bool repair_begins_trace(const struct trace_repair *repair, size_t at) {
    return is_key_of(repair, repair_first_key(repair, at), trace_keys, sizeof trace_keys / sizeof *trace_keys);
}

bool repair_is_border(const struct trace_repair *repair, size_t at) {
    return step_back(repair, &at, ',') && step_back(repair, &at, '}');
}

bool repair_ends_elements(const struct trace_repair *repair, size_t at) {
    size_t before = at;
    if (repair->text[at] != ']' || !step_back(repair, &before, '}'))
        return false;
    at = repair_skip_spaces(repair, at + 1);
    if (repair->text[at] == ',')
        return repair->text[repair_skip_spaces(repair, at + 1)] == '"';
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
    size_t at; /* NO_END: malformed */
    size_t depth;
    uint64_t objects[DEPTH_MAX / 64 + 1]; /* a bit for each open bracket: 1 for objects */
};

static bool in_object(const struct value_walk *walk, size_t depth) {
    return walk->objects[(depth - 1) / 64] >> ((depth - 1) % 64) & 1;
}

/* Whether the string may end with the quote at `quote`. */
static bool may_end(const struct value_walk *walk, size_t quote, enum string_role role) {
    const struct trace_repair *repair = walk->repair;
    size_t at = repair_skip_spaces(repair, quote + 1), depth = walk->depth;
    if (role == ROLE_KEY)
        return repair->text[at] == ':';
    for (int i = 0; i < CLOSERS_MAX; i++, at = repair_skip_spaces(repair, at + 1), depth--) {
        char c = repair->text[at];
        size_t next = repair_skip_spaces(repair, at + 1);
        if (depth == 0) { /* the end of an element */
            if (at >= repair->size || c == ']' || c == '}')
                return true;
            return c == ',' && repair->text[next] == '{' &&
                   (walk->level == LEVEL_ANY_KEYS || repair_begins_element(repair, next));
        }
        bool object = in_object(walk, depth);
        if (c == ',' && object)
            return depth == 1 && walk->level == LEVEL_KNOWN_KEYS ? is_element_key(repair, next)
                                                                 : repair_key_length(repair, next) != SIZE_MAX;
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
    size_t length = repair_key_length(walk->repair, quote);
    if (!first || length == SIZE_MAX || length == 0)
        return false;
    const char *key = walk->repair->text + quote + 1;
    for (size_t i = 0; i < length; i++)
        if (!((key[i] | 0x20) >= 'a' && (key[i] | 0x20) <= 'z') && !strchr("0123456789_ ", key[i]))
            return false;
    return true;
}

/* The end of the text of the string whose text begins at `from`; *quoted: a quote is there. NO_END: no end. */
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
        if (c == ']' && repair_ends_elements(repair, at))
            break;
        if (c != '"')
            continue;
        if (may_end(walk, at, role))
            return at;
        size_t before = at;
        if (role == ROLE_KEY || (step_back(repair, &before, '{') &&
                                 (repair_begins_trace(repair, before) ||
                                  (repair_is_border(repair, before) && repair_begins_element(repair, before)))))
            break; /* another element or another trace begins: this string has no end */
        before = at;
        if (role == ROLE_MEMBER && step_back(repair, &before, ',') && before > from &&
            begins_next_key(walk, at, first)) {
            *quoted = false;
            return before_spaces(repair, before) + 1;
        }
        first = false;
    }
    return NO_END;
}

/* Repairs a string's text from `at` to `end`: quotes, escapes, control characters, UTF-8. */
static void repair_string_text(struct trace_repair *repair, size_t at, size_t end) {
    static const char letters[] = "\bb\tt\nn\ff\rr", digits[] = "0123456789abcdef";
    while (at < end) {
        char c = repair->text[at];
        if (c == '"') {
            repair_edit(repair, at++, 0, "\\", SUTRA_REPAIR_QUOTE);
        } else if (c == '\\') {
            size_t length = string_escape_length(repair->text + at);
            bool valid = length > 0 && length <= end - at;
            if (!valid)
                repair_edit(repair, at, 0, "\\", SUTRA_REPAIR_BACKSLASH);
            at += valid ? length : 1;
        } else if ((unsigned char)c < ' ') {
            char escape[] = {'\\', 'u', '0', '0', digits[(unsigned char)c >> 4], digits[c & 15], 0};
            for (size_t i = 0; i + 1 < sizeof letters; i += 2)
                if (letters[i] == c) {
                    escape[1] = letters[i + 1];
                    escape[2] = 0;
                }
            repair_edit(repair, at++, 1, escape, SUTRA_REPAIR_CONTROL);
        } else { /* other bytes: invalid UTF-8 becomes U+FFFD */
            size_t stop = at;
            while (stop < end && (unsigned char)repair->text[stop] >= ' ' && !memchr("\"\\", repair->text[stop], 2))
                stop++;
            while ((at += utf8_check(repair->text + at, stop - at)) < stop)
                repair_edit(repair, at++, 1, "\xef\xbf\xbd", SUTRA_REPAIR_UTF8);
        }
    }
}

/* ---- Values: a loop with a bit for each open bracket ---- */

static bool fail_at(struct value_walk *walk, size_t at) {
    walk->repair->failed_at = at;
    walk->at = NO_END;
    return false;
}

size_t repair_strict_string_end(struct trace_repair *repair, size_t at) {
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
        return NO_END;
    size_t n = at - from, valid = high ? utf8_check(repair->text + from, n) : n;
    repair->failed_at = from + valid;
    return valid == n ? at + 1 : NO_END;
}

static bool parse_string(struct value_walk *walk, enum string_role role) {
    struct trace_repair *repair = walk->repair;
    if (walk->level == LEVEL_STRICT) {
        walk->at = repair_strict_string_end(repair, walk->at);
        return walk->at != NO_END;
    }
    bool quoted;
    size_t end = find_string_end(walk, walk->at + 1, role, &quoted);
    if (end == NO_END)
        return fail_at(walk, walk->at);
    repair_string_text(repair, walk->at + 1, end);
    if (!quoted)
        repair_edit(repair, end, 0, "\"", SUTRA_REPAIR_END_QUOTE);
    walk->at = end + quoted;
    return true;
}

static char next_char(struct value_walk *walk) {
    walk->at = repair_skip_spaces(walk->repair, walk->at);
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
        repair_edit(repair, walk->at, non_finite, "null", SUTRA_REPAIR_NUMBER);
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
    while (walk->at != NO_END && walk->depth > 0) {
        bool object = in_object(walk, walk->depth);
        char c = next_char(walk), close = object ? '}' : ']';
        if (c == ',') {
            size_t comma = walk->at++;
            if (next_char(walk) != close || walk->level == LEVEL_STRICT)
                return !object || parse_key(walk);
            repair_edit(walk->repair, comma, 1, "", SUTRA_REPAIR_COMMA);
        } else if (c != close) {
            return fail_at(walk, walk->at);
        }
        walk->depth--;
        walk->at++;
    }
    return false;
}

size_t repair_value(struct trace_repair *repair, size_t at, bool element) {
    const struct repair_checkpoint before = repair_save(repair);
    size_t strict_failed_at = 0;
    for (int level = LEVEL_STRICT; level <= LEVEL_ANY_KEYS; level++) {
        struct value_walk walk = {.repair = repair, .level = (enum repair_level)level, .at = at};
        while (enter_value(&walk) || leave_value(&walk))
            ;
        if (walk.at != NO_END)
            return walk.at;
        repair_roll_back(repair, &before);
        if (level == LEVEL_STRICT)
            strict_failed_at = repair->failed_at;
        if ((element && repair->text[at] != '{') ||
            (level < LEVEL_ANY_KEYS && !repair_spend(repair, at, repair->failed_at)))
            break;
    }
    repair->failed_at = strict_failed_at;
    return NO_END;
}
