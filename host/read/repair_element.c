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

/* Longest key that is matched, and white space before its colon. */
#define KEY_MAX 256

/* Closing brackets that are checked after a string. */
#define CLOSERS_MAX 4

/* ---- Edits ---- */

static struct repair_checkpoint repair_save(const struct trace_repair *repair) {
    struct repair_checkpoint mark = {.out_length = repair->out.length,
                                     .copied = repair->copied,
                                     .n_places = repair->report.n_places,
                                     .n_skipped_bytes = repair->report.n_skipped_bytes};
    memcpy(mark.n, repair->report.n, sizeof mark.n);
    return mark;
}

void repair_roll_back(struct trace_repair *repair, const struct repair_checkpoint *mark) {
    repair->out.length = mark->out_length;
    repair->copied = mark->copied;
    repair->report.n_places = mark->n_places;
    repair->report.n_skipped_bytes = mark->n_skipped_bytes;
    memcpy(repair->report.n, mark->n, sizeof mark->n);
}

void repair_flush(struct trace_repair *repair) {
    if (repair->copied >= repair->kept_end)
        return;
    repair_replace(repair, repair->kept_end, 0, "");
    repair->kept.out_length = repair->out.length;
    repair->kept.copied = repair->copied;
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

bool repair_deduct(struct trace_repair *repair, size_t from, size_t to) {
    uint64_t n = to - from + 1;
    bool enough = repair->budget >= n;
    repair->budget = enough ? repair->budget - n : 0;
    return enough;
}

/* ---- Keys ---- */

/* Keys of events and nodes, at most 64: first the keys whose values may contain objects, then the keys that also occur
 * in inner objects. */
#define N_OBJECT_KEYS 4
#define INNER_KEYS    ((uint64_t)0xff << N_OBJECT_KEYS)
static const char *const element_keys[] = {"args",
                                           "attrs",
                                           "inputs",
                                           "outputs",
                                           "external_id",
                                           "id",
                                           "name",
                                           "parent",
                                           "s",
                                           "scope",
                                           "stack",
                                           "stream",
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
                                           "flow_in",
                                           "flow_out",
                                           "fw_parent",
                                           "fw_tid",
                                           "id2",
                                           "inclusive_dur",
                                           "input_shapes",
                                           "input_types",
                                           "inter_thread_dep",
                                           "kernel_backend",
                                           "kernel_file",
                                           "op_schema",
                                           "output_shapes",
                                           "output_types",
                                           "ph",
                                           "pid",
                                           "rf_id",
                                           "seq_id",
                                           "sf",
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
    if (n >= limit || text[n] != '"')
        return SIZE_MAX;
    size_t colon = n + 1;
    while (colon < n + KEY_MAX && is_json_space(text[colon]))
        colon++;
    return text[colon] == ':' ? n - 1 : SIZE_MAX;
}

/* A bit for the key at `at` if it is one of the first n keys, n <= 64; 0: another key, or no key. */
static uint64_t key_bit_of(const struct trace_repair *repair, size_t at, const char *const *keys, size_t n) {
    size_t length = repair_key_length(repair, at);
    for (size_t i = 0; i < n && length != SIZE_MAX; i++)
        if (strlen(keys[i]) == length && memcmp(keys[i], repair->text + at + 1, length) == 0)
            return (uint64_t)1 << i;
    return 0;
}

static uint64_t element_key_bit(const struct trace_repair *repair, size_t at) {
    return key_bit_of(repair, at, element_keys, sizeof element_keys / sizeof *element_keys);
}

/* The first token of the object at `at`; the text's end, if there is no object. */
static size_t repair_first_key(const struct trace_repair *repair, size_t at) {
    return at < repair->size && repair->text[at] == '{' ? repair_skip_spaces(repair, at + 1) : repair->size;
}

/* White space before `at` on its line; SIZE_MAX: the line begins with other text. */
static size_t indentation(const struct trace_repair *repair, size_t at) {
    size_t begin = at;
    while (begin > 0 && (repair->text[begin - 1] == ' ' || repair->text[begin - 1] == '\t'))
        begin--;
    return begin > 0 && repair->text[begin - 1] == '\n' ? at - begin : SIZE_MAX;
}

struct repair_neighbor repair_element_at(const struct trace_repair *repair, size_t at) {
    size_t key = repair_first_key(repair, at);
    return (struct repair_neighbor){
        at, key, repair_key_length(repair, key), indentation(repair, at), indentation(repair, key), 0};
}

static bool is_key(const struct trace_repair *repair, size_t at, size_t key, size_t length) {
    return length != SIZE_MAX && repair_key_length(repair, at) == length &&
           memcmp(repair->text + key + 1, repair->text + at + 1, length) == 0;
}

/* Whether the key at `at` is the first key of the neighbors. Without neighbors, the current element counts; if it does
 * not begin with a key of elements, any of these keys. */
static bool is_first_key(const struct trace_repair *repair, size_t at) {
    const struct repair_neighbor *first = &repair->neighbors[0], *last = &repair->neighbors[1];
    if (!first->at && repair->element.at && element_key_bit(repair, repair->element.key))
        first = last = &repair->element;
    if (!first->at)
        return element_key_bit(repair, at);
    return is_key(repair, at, first->key, first->key_length) || is_key(repair, at, last->key, last->key_length);
}

bool repair_begins_element(const struct trace_repair *repair, size_t at) {
    return is_first_key(repair, repair_first_key(repair, at));
}

/* Whether the object at `at` is indented as an element that is kept, or as the current one; true if none is kept. */
static bool is_indented(const struct trace_repair *repair, size_t at) {
    size_t n = indentation(repair, at);
    return !repair->neighbors[0].at || n == repair->neighbors[0].indent || n == repair->neighbors[1].indent ||
           n == repair->element.indent;
}

bool repair_begins_trace(const struct trace_repair *repair, size_t at) {
    return key_bit_of(repair, repair_first_key(repair, at), trace_keys, sizeof trace_keys / sizeof *trace_keys);
}

/* Whether an element ends right before `at`: a closing brace, a comma, white space. */
static bool is_border(const struct trace_repair *repair, size_t at) {
    return step_back(repair, &at, ',') && step_back(repair, &at, '}');
}

/* ---- A value while it is parsed ---- */

enum string_role { ROLE_KEY, ROLE_MEMBER, ROLE_ITEM };

enum repair_level {
    LEVEL_STRICT,     /* repair nothing */
    LEVEL_KNOWN_KEYS, /* keys of elements are element_keys */
    LEVEL_ANY_KEYS,
};

/* A value while it is parsed. Depths count open brackets: 1 is the value's own bracket. */
struct value_walk {
    struct trace_repair *repair;
    enum repair_level level;
    bool is_element; /* of the trace's array */
    size_t at;       /* NO_END: malformed */
    size_t depth;
    bool collects_keys;  /* into the following, a bit for each of element_keys */
    uint64_t key, keys;  /* at depth 1: the last one, all */
    uint64_t inner_keys; /* at greater depths */
    uint64_t outer_keys; /* an earlier parse found these keys at outer_depth, but they belong to depth 1: the closing */
    size_t outer_depth;  /* bracket is missing before the first one */
    size_t n_unclosed;   /* brackets that were still open at the element's end */
    bool is_cut;         /* a string was still open at the element's end */
    bool has_other;      /* another element, or a trace, is inside of the value's brackets */
    uint64_t objects[DEPTH_MAX / 64 + 1]; /* a bit for each open bracket: 1 for objects */
    size_t item_key[DEPTH_MAX + 1];       /* of each open array: first key of its first item, if this is an object */
};

static bool in_object(const struct value_walk *walk, size_t depth) {
    return walk->objects[(depth - 1) / 64] >> ((depth - 1) % 64) & 1;
}

/* ---- Missing brackets ----
 *
 *     {"id": 6, "attrs": [{"name": "rf_id"}],        an object in place of a key, which begins as an element does
 *                                           }        inserted
 *     {"id": 7, "attrs": [{"name": "rf_id"}]}
 *
 * A token that the innermost bracket cannot contain belongs to an enclosing one, or to the trace's array: the brackets
 * in between are not closed.
 */

/* The depth to which the token after a comma, at `next`, belongs, with `depth` open brackets; 0: the trace's array.
 * NO_END: none. */
static size_t depth_after_comma(const struct value_walk *walk, size_t depth, size_t next) {
    const struct trace_repair *repair = walk->repair;
    if (repair->text[next] == '"') {
        if (repair_key_length(repair, next) == SIZE_MAX)
            return depth;
        while (depth > 0 && !in_object(walk, depth))
            depth--;
        uint64_t missing_keys = walk->outer_keys & ~walk->keys;
        return depth > 1 && depth == walk->outer_depth && (element_key_bit(repair, next) & missing_keys) ? 1 : depth;
    }
    if (repair->text[next] != '{')
        return depth;
    size_t array = depth, key = repair_first_key(repair, next);
    while (array > 0 && in_object(walk, array))
        array--;
    size_t item = array ? walk->item_key[array] : 0;
    bool is_item = item && is_key(repair, key, item, repair_key_length(repair, item));
    if (is_item && array == depth)
        return depth;
    bool is_element = walk->is_element && is_indented(repair, next) && !repair_begins_trace(repair, next) &&
                      (is_first_key(repair, key) || (array == 0 && element_key_bit(repair, key)));
    if (is_item)
        return array;
    return is_element ? 0 : array == depth ? depth : NO_END;
}

/* The depth of the bracket that the token at `at` closes, if the innermost of `depth` open brackets is of the other
 * kind. 0: the trace's array; NO_END: none. */
static size_t depth_closed_by(const struct value_walk *walk, size_t depth, size_t at) {
    char c = walk->repair->text[at];
    if (c != '}' && c != ']')
        return NO_END;
    while (--depth > 0)
        if (in_object(walk, depth) == (c == '}'))
            return depth;
    return c == ']' && walk->is_element && repair_ends_array(walk->repair, at) ? 0 : NO_END;
}

/* Inserts the closing brackets of all brackets deeper than `depth`, after the last token before `at`. */
static void close_brackets(struct value_walk *walk, size_t at, size_t depth) {
    struct trace_repair *repair = walk->repair;
    at = MAX(before_spaces(repair, at) + 1, repair->copied);
    walk->n_unclosed = depth ? 0 : walk->depth;
    walk->has_other |= depth == 0;
    for (; walk->depth > depth; walk->depth--)
        repair_edit(repair, at, 0, in_object(walk, walk->depth) ? "}" : "]", SUTRA_REPAIR_BRACKET);
}

bool repair_is_well_formed(struct trace_repair *repair) {
    if (!repair->is_checked && repair->budget) {
        const struct source source = {.bytes = repair->text, .size = repair->size};
        const struct json_end end = brackets_end(&source, repair->begin);
        repair->is_checked = true;
        repair->is_well_formed = repair_deduct(repair, repair->begin, end.at) && !end.expected &&
                                 repair_skip_spaces(repair, end.at) >= repair->size;
    }
    return repair->is_well_formed;
}

/* Keys of elements that a neighbor has. */
static uint64_t neighbor_keys(struct trace_repair *repair, int number) {
    struct repair_neighbor *neighbor = &repair->neighbors[number];
    size_t end;
    if (neighbor->at && !neighbor->keys)
        neighbor->keys = repair_keys(repair, neighbor->at, &end);
    return neighbor->keys;
}

/* Whether an event or node is at `at`, well-formed. */
static bool is_complete_element(struct trace_repair *repair, size_t at) {
    size_t key = repair_first_key(repair, at), end;
    bool known = is_first_key(repair, key);
    if (!known && !element_key_bit(repair, key))
        return false;
    int n = __builtin_popcountll(repair_keys(repair, at, &end));
    return end != NO_END && n >= (known ? 2 : 3);
}

void repair_keep_element(struct trace_repair *repair) {
    struct repair_neighbor *first = &repair->neighbors[0], *last = &repair->neighbors[1];
    size_t end;
    if (repair->element.key_length == SIZE_MAX)
        return;
    if (first->at && !is_first_key(repair, repair->element.key)) {
        /* An item of an inner array has no other keys of elements. */
        repair->element.keys = repair_keys(repair, repair->element.at, &end);
        if (__builtin_popcountll(repair->element.keys) < 2)
            return;
        if (__builtin_popcountll(neighbor_keys(repair, 0)) < 2)
            *first = repair->element;
    }
    *last = repair->element;
    if (!first->at)
        *first = *last;
}

bool repair_may_begin_element(struct trace_repair *repair, size_t at) {
    bool on_own_line = indentation(repair, at) != SIZE_MAX && is_indented(repair, at);
    if (!repair_begins_element(repair, at) || (!on_own_line && !is_border(repair, at)))
        return is_complete_element(repair, at);
    /* An item of an inner array may begin like an element, but has no other keys of elements. */
    size_t end;
    return __builtin_popcountll(repair_keys(repair, at, &end)) > 1 || end == NO_END ||
           __builtin_popcountll(neighbor_keys(repair, 1)) < 2;
}

bool repair_ends_array(struct trace_repair *repair, size_t at) {
    size_t next = repair_skip_spaces(repair, at + 1);
    if (next >= repair->size || repair_begins_trace(repair, next))
        return true;
    if (repair->text[next] != '}' && repair->text[next] != ',')
        return false;
    if (!repair->budget)
        return true;
    if (next < repair->clear_from || next > repair->clear_to)
        repair->clear_from = repair->clear_to = next;
    for (at = repair->clear_to; at < repair->size; at++)
        if (repair->text[at] == '{' && (repair_begins_trace(repair, at) || repair_may_begin_element(repair, at)))
            break;
    repair_deduct(repair, repair->clear_to, at);
    repair->clear_to = at;
    return at >= repair->size || repair_begins_trace(repair, at) || repair_is_well_formed(repair);
}

bool repair_may_end_array(struct trace_repair *repair, size_t at, bool is_complete) {
    size_t before = at, next = repair_skip_spaces(repair, at + 1), after = repair_skip_spaces(repair, next + 1);
    bool ends_trace = repair->text[next] == '}' && (after >= repair->size || repair_begins_trace(repair, after));
    if (!(is_complete && ends_trace) && !step_back(repair, &before, '}'))
        return false;
    return (next < repair->size || repair->text[repair->begin] == '[') && repair_ends_array(repair, at);
}

/* Whether the complete element at `next` interrupts another one, whose text continues after it. */
static bool is_interruption(struct trace_repair *repair, size_t next) {
    size_t end;
    repair_keys(repair, next, &end);
    if (end == NO_END)
        return false;
    end = repair_skip_spaces(repair, end);
    if (repair->text[end] == ',')
        end = repair_skip_spaces(repair, end + 1);
    if (repair->text[end] == '{')
        return !repair_begins_trace(repair, end) && !repair_may_begin_element(repair, end);
    return end < repair->size && !strchr("}]", repair->text[end]);
}

/* ---- The end of a string with unescaped quotes ----
 *
 * A quote ends a string if the text after it may follow the string: a colon after a key; after a value a comma and the
 * next token, or the closing bracket and a token after that. In an element of a trace the next key must be one of
 * element_keys, so that text such as {"device": "cpu", "dtype": "float"} remains a part of a name.
 *
 *     "name": "{"device": "cpu", "dtype": "float32"}(12): run", "pid": 1
 *                                ^ no key of elements         ^ a key of elements: the string ends here
 *
 * A quote before such a key, after a comma, shows that the string should have ended before the comma. A string ends
 * before the next element at the latest.
 */

/* Whether the string may end with the quote at `quote`. If it `is_first` in the string, closing brackets may be missing
 * after it. */
static bool may_end(const struct value_walk *walk, size_t quote, enum string_role role, bool is_first) {
    const struct trace_repair *repair = walk->repair;
    size_t at = repair_skip_spaces(repair, quote + 1), depth = walk->depth;
    if (role == ROLE_KEY)
        return repair->text[at] == ':';
    for (int i = 0; i < CLOSERS_MAX; i++, at = repair_skip_spaces(repair, at + 1), depth--) {
        char c = repair->text[at];
        size_t next = repair_skip_spaces(repair, at + 1);
        if (depth > 0 && c != ',' && c != (in_object(walk, depth) ? '}' : ']')) {
            depth = is_first ? depth_closed_by(walk, depth, at) : NO_END;
            if (depth == NO_END)
                return false;
        }
        if (depth == 0) { /* the end of an element */
            if (at >= repair->size || c == ']' || c == '}')
                return true;
            return c == ',' && repair->text[next] == '{' &&
                   (walk->level == LEVEL_ANY_KEYS || repair_begins_element(repair, next));
        }
        if (c == ',' && repair->text[next] == '{') {
            size_t belongs_to = depth_after_comma(walk, depth, next);
            return belongs_to != NO_END && (is_first || (belongs_to == depth && !in_object(walk, depth)));
        }
        if (c == ',' && in_object(walk, depth))
            return depth == 1 && walk->level == LEVEL_KNOWN_KEYS ? element_key_bit(repair, next)
                                                                 : repair_key_length(repair, next) != SIZE_MAX;
        if (c == ',')
            return repair->text[next] && strchr("\"[{-0123456789tfnNI", repair->text[next]);
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
        return element_key_bit(walk->repair, quote);
    size_t length = repair_key_length(walk->repair, quote);
    if (!first || length == SIZE_MAX || length == 0)
        return false;
    const char *key = walk->repair->text + quote + 1;
    for (size_t i = 0; i < length; i++)
        if (!((key[i] | 0x20) >= 'a' && (key[i] | 0x20) <= 'z') && !strchr("0123456789_ ", key[i]))
            return false;
    return true;
}

/* The end of the text of a string without a closing quote, from byte `from`, before the element or bracket at `next`:
 * before the closing brackets of all open brackets, as in "y}},. NO_END: they are missing, so that the string is
 * incomplete, or quotes in the string may still end it at the next level. */
static size_t end_before_brackets(struct value_walk *walk, size_t from, size_t next) {
    const struct trace_repair *repair = walk->repair;
    step_back(repair, &next, ',');
    for (size_t depth = 1; depth <= walk->depth; depth++)
        if (walk->level != LEVEL_ANY_KEYS || !step_back(repair, &next, in_object(walk, depth) ? '}' : ']') ||
            next < from)
            return NO_END;
    walk->is_cut = true;
    return MAX(before_spaces(repair, next) + 1, from);
}

/* The end of the text of the string whose text begins at `from`; *quoted: a quote is there. NO_END: no end. */
static size_t find_string_end(struct value_walk *walk, size_t from, enum string_role role, bool *quoted) {
    struct trace_repair *repair = walk->repair;
    bool first = true;
    *quoted = true;
    for (size_t at = from; at < repair->size; at++) {
        char c = repair->text[at];
        size_t before = at;
        if (c == '\\') {
            /* A backslash before the closing quote: only if the string could not end at the next quote. */
            if (repair->text[at + 1] == '"' && may_end(walk, at + 1, role, first) &&
                !may_end(walk, next_quote(repair, at + 2), role, first))
                return at + 1;
            at++;
        }
        if (c == ']' && repair_may_end_array(repair, at, false)) {
            *quoted = false;
            return end_before_brackets(walk, from, at);
        }
        if (c != '"')
            continue;
        if (may_end(walk, at, role, first))
            return at;
        if (role == ROLE_KEY)
            break;
        before = at;
        if (step_back(repair, &before, '{') &&
            (repair_begins_trace(repair, before) || (walk->is_element && repair_may_begin_element(repair, before)))) {
            *quoted = false;
            return end_before_brackets(walk, from, before);
        }
        /* A line that begins like an element whose brace is lost. */
        if (repair->neighbors[1].key_indent != SIZE_MAX && indentation(repair, at) == repair->neighbors[1].key_indent &&
            repair->neighbors[0].at && is_first_key(repair, at))
            break;
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
        if (c == '\\' && escape == 0 && repair->size - at < 6 &&
            !memchr(repair->text + at + 1, '"', repair->size - at - 1))
            at = repair->size; /* truncated */
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
    uint64_t bit = walk->collects_keys ? element_key_bit(walk->repair, walk->at) : 0;
    if (walk->depth == 1 && walk->level != LEVEL_STRICT && (walk->keys & bit))
        return fail_at(walk, walk->at); /* the text of another element */
    if (walk->depth == 1) {
        walk->key = bit;
        walk->keys |= bit;
    } else {
        walk->inner_keys |= bit;
    }
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
    if (n == 0 && non_finite == 0 && number_scan(text, &n) == NUMBER_FORM_BAD) {
        size_t at = walk->at;
        while (at < repair->size && !memchr(" \n\r\t,]}:\"", repair->text[at], 9))
            at++;
        return fail_at(walk, at < repair->size ? walk->at : at); /* truncated: at the end */
    }
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

/* Whether the object inside an element, at walk->at, is another element, or a trace, in place of a lost value. */
static bool is_other_element(const struct value_walk *walk) {
    struct trace_repair *repair = walk->repair;
    size_t at = walk->at, end;
    bool begins = repair->element.indent != SIZE_MAX && indentation(repair, at) == repair->element.indent &&
                  repair_begins_element(repair, at);
    if (walk->level == LEVEL_STRICT)
        return begins && repair->neighbors[0].at && !repair_is_well_formed(repair);
    if (begins || repair_begins_trace(repair, at))
        return true;
    if (!element_key_bit(repair, repair_first_key(repair, at)))
        return false;
    /* The arguments of an event without their closing brace contain keys that the event does not have yet. */
    uint64_t keys = repair_keys(repair, at, &end);
    bool is_object_key = walk->depth == 1 && walk->key < (uint64_t)1 << N_OBJECT_KEYS;
    return end != NO_END && __builtin_popcountll(is_object_key ? keys & walk->keys : keys) > 1;
}

/* At a value. True: now at the first value inside it; false: after the value, or failed. */
static bool enter_value(struct value_walk *walk) {
    struct trace_repair *repair = walk->repair;
    char c = next_char(walk);
    if (walk->at >= repair->size)
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
    walk->has_other |= c == '{' && walk->is_element && walk->depth > 0 && is_other_element(walk);
    if (walk->has_other)
        return fail_at(walk, walk->at);
    uint64_t bit = (uint64_t)1 << walk->depth % 64, *word = &walk->objects[walk->depth / 64];
    *word = c == '{' ? *word | bit : *word & ~bit;
    walk->depth++;
    walk->at++;
    char first = next_char(walk);
    if (first == ',' || first == (c == '[' ? '}' : ']')) {
        if (walk->level == LEVEL_STRICT || walk->depth == 1)
            return fail_at(walk, walk->at);
        close_brackets(walk, walk->at, walk->depth - 1); /* an empty array or object */
        return false;
    }
    if (first != c + 2) {
        if (c == '[')
            walk->item_key[walk->depth] = first == '{' ? repair_first_key(repair, walk->at) : 0;
        return c == '[' || parse_key(walk);
    }
    walk->depth--;
    walk->at++;
    return false;
}

/* After a value inside brackets. True: now at the next value. */
static bool leave_value(struct value_walk *walk) {
    struct trace_repair *repair = walk->repair;
    while (walk->at != NO_END && walk->depth > 0) {
        char c = next_char(walk), close = in_object(walk, walk->depth) ? '}' : ']';
        size_t comma = walk->at, depth = walk->depth;
        if (c == ',') {
            walk->at++;
            c = next_char(walk);
            if (walk->level == LEVEL_STRICT && close == '}')
                return parse_key(walk);
            if (walk->level == LEVEL_STRICT) {
                /* The next element instead of an item: brackets are missing, unless the whole trace is well-formed. */
                bool is_next = c == '{' && walk->is_element && depth_after_comma(walk, depth, walk->at) == 0;
                return is_next && !repair_is_well_formed(repair) ? fail_at(walk, walk->at) : true;
            }
            if (c != close && depth_closed_by(walk, depth, walk->at) == NO_END) {
                depth = depth_after_comma(walk, depth, walk->at);
                if (depth == NO_END || (depth == 0 && c == '{' && is_interruption(repair, walk->at)))
                    return fail_at(walk, walk->at);
                if (depth == walk->depth)
                    return close == ']' || parse_key(walk);
                close_brackets(walk, comma, depth);
                walk->at = comma;
                continue;
            }
            repair_edit(repair, comma, 1, "", SUTRA_REPAIR_COMMA);
            if (c != close)
                continue;
        } else if (c != close) {
            depth = walk->level == LEVEL_STRICT ? NO_END : depth_closed_by(walk, depth, walk->at);
            if (depth == NO_END)
                return fail_at(walk, walk->at);
            close_brackets(walk, walk->at, depth);
            continue;
        }
        walk->depth--;
        walk->at++;
    }
    return false;
}

static void begin_walk(struct value_walk *walk, struct trace_repair *repair, enum repair_level level, size_t at) {
    walk->repair = repair;
    walk->level = level;
    walk->is_element = walk->collects_keys = walk->is_cut = walk->has_other = false;
    walk->at = at;
    walk->depth = walk->n_unclosed = walk->outer_depth = 0;
    walk->key = walk->keys = walk->inner_keys = walk->outer_keys = 0;
    memset(walk->objects, 0, sizeof walk->objects);
}

uint64_t repair_keys(struct trace_repair *repair, size_t at, size_t *end) {
    struct value_walk walk;
    size_t failed_at = repair->failed_at;
    *end = NO_END;
    if (!repair->budget)
        return 0;
    begin_walk(&walk, repair, LEVEL_STRICT, at);
    walk.is_element = walk.collects_keys = true;
    while (enter_value(&walk) || leave_value(&walk))
        ;
    bool paid = repair_deduct(repair, at, walk.at == NO_END ? repair->failed_at : walk.at);
    repair->failed_at = failed_at;
    *end = paid ? walk.at : NO_END;
    return paid ? walk.keys : 0;
}

size_t repair_value(struct trace_repair *repair, size_t at, bool element) {
    struct repair_checkpoint before = repair_save(repair);
    struct value_walk walk;
    size_t strict_failed_at = 0, strict_end = NO_END, ignored;
    for (int level = LEVEL_STRICT; level <= LEVEL_ANY_KEYS; level++) {
        uint64_t previous = 0, next = 0, outer_keys = 0;
        size_t outer_depth = 0;
        for (;;) {
            begin_walk(&walk, repair, (enum repair_level)level, at);
            walk.is_element = element;
            walk.collects_keys = element && level > LEVEL_STRICT;
            walk.outer_keys = outer_keys;
            walk.outer_depth = outer_depth;
            while (enter_value(&walk) || leave_value(&walk))
                ;
            if (walk.at == NO_END || !element || (!walk.n_unclosed && !walk.is_cut))
                break;
            if (outer_depth == 0) {
                /* Brackets are missing at the end, or at the end of an inner object, if this contains a key that the
                 * neighbors have outside of it: {"ph": "X", "args": {"stream": 7, "ts": 3}, */
                size_t comma = repair_skip_spaces(repair, walk.at);
                previous = neighbor_keys(repair, 1);
                if (repair->text[comma] == ',')
                    next = repair_keys(repair, repair_skip_spaces(repair, comma + 1), &ignored);
                outer_keys = (previous | next | ~INNER_KEYS) & walk.inner_keys & ~walk.keys;
                outer_depth = walk.n_unclosed + 1;
                if (outer_keys && repair_deduct(repair, at, walk.at)) {
                    repair_roll_back(repair, &before);
                    continue;
                }
            }
            /* An element without half of the keys that its neighbors have is not complete. */
            uint64_t common = previous && next ? previous & next : previous | next;
            if (common && 2 * __builtin_popcountll(common & walk.keys) <= __builtin_popcountll(common))
                fail_at(&walk, walk.at);
            break;
        }
        /* A well-formed element at the end of a text that ends too early may contain the elements after it. */
        bool is_last = walk.at != NO_END && repair_skip_spaces(repair, walk.at) >= repair->size;
        if (level == LEVEL_STRICT && element && is_last && repair_deduct(repair, at, walk.at)) {
            strict_end = walk.at;
            continue;
        }
        if (strict_end != NO_END && !walk.has_other) {
            repair_roll_back(repair, &before);
            return strict_end;
        }
        if (walk.at != NO_END) {
            repair->element.keys = walk.keys;
            return walk.at;
        }
        repair_roll_back(repair, &before);
        if (level == LEVEL_STRICT) {
            strict_failed_at = repair->failed_at;
            repair_flush(repair);
            before = repair_save(repair);
        }
        if ((element && repair->text[at] != '{') ||
            (level < LEVEL_ANY_KEYS && !repair_deduct(repair, at, repair->failed_at)))
            break;
    }
    repair->failed_at = strict_failed_at;
    return NO_END;
}
