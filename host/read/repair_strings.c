/*
 * repair_strings.c - where a string ends that holds quotes without a backslash, and its text with what it lacks.
 *
 * A quote ends a string if what follows it may follow the string: a colon behind a key; behind a value a comma and what
 * may come next, or the bracket that closes, and what may follow that. In an element of a trace the next key must be
 * one that traces have there, so that text such as {"device": "cpu", "dtype": "float"} stays inside of a name.
 *
 *     "name": "{"device": "cpu", "dtype": "float32"}(12): run", "pid": 1
 *                                ^ no key of elements         ^ one: the string ends here
 *
 * A quote before such a key, behind a comma, tells that the string should have ended before the comma.
 */
#include <string.h>

#include "read/repair.h"
#include "text/strings.h"

/* Longest key that is looked for behind a comma. */
#define KEY_MAX 256

/* Closing brackets that are looked at behind a string. */
#define CLOSERS_MAX 4

static const char *const element_keys[] = {
    "args",
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
    "tts",
};
static const char *const trace_keys[] = {"schema", "schemaVersion", "traceEvents", "nodes"};

/* The byte before the white space before `at`; SIZE_MAX: there is none. */
static size_t before_spaces(const struct mender *mender, size_t at) {
    while (at-- > 0)
        if (!mend_is_space(mender->text[at]))
            return at;
    return SIZE_MAX;
}

static bool is_before(const struct mender *mender, size_t *at, char c) {
    size_t before = before_spaces(mender, *at);
    if (before == SIZE_MAX || mender->text[before] != c)
        return false;
    *at = before;
    return true;
}

/* ---- Keys ---- */

/* The length of the key whose opening quote stands at `at`, if a colon follows it; SIZE_MAX: no key stands there. */
static size_t key_length(const struct mender *mender, size_t at) {
    const char *text = mender->text + at;
    size_t n = 1, most = mender->size - at < KEY_MAX ? mender->size - at : KEY_MAX;
    if (at >= mender->size || *text != '"')
        return SIZE_MAX;
    while (n < most && text[n] != '"' && (unsigned char)text[n] >= ' ')
        n += text[n] == '\\' ? 2 : 1;
    return n < most && text[n] == '"' && mender->text[mend_skip_spaces(mender, at + n + 1)] == ':' ? n - 1 : SIZE_MAX;
}

static bool is_among(const char *key, size_t length, const char *const *keys, size_t n) {
    for (size_t i = 0; i < n; i++)
        if (strlen(keys[i]) == length && memcmp(keys[i], key, length) == 0)
            return true;
    return false;
}

static bool is_element_key(const struct mender *mender, size_t at) {
    size_t length = key_length(mender, at);
    return length != SIZE_MAX &&
           is_among(mender->text + at + 1, length, element_keys, sizeof element_keys / sizeof *element_keys);
}

static size_t first_key(const struct mender *mender, size_t at) {
    return at < mender->size && mender->text[at] == '{' ? mend_skip_spaces(mender, at + 1) : mender->size;
}

void mend_learn(struct mender *mender, size_t at) {
    size_t key = first_key(mender, at);
    if (key_length(mender, key) == SIZE_MAX)
        return;
    mender->learned[1] = key;
    if (!mender->learned[0])
        mender->learned[0] = key;
}

bool mend_begins_element(const struct mender *mender, size_t at) {
    size_t key = first_key(mender, at), length = key_length(mender, key);
    if (length == SIZE_MAX || !mender->learned[0])
        return is_element_key(mender, key);
    for (int i = 0; i < 2; i++)
        if (key_length(mender, mender->learned[i]) == length &&
            memcmp(mender->text + mender->learned[i] + 1, mender->text + key + 1, length) == 0)
            return true;
    return false;
}

bool mend_begins_trace(const struct mender *mender, size_t at) {
    size_t key = first_key(mender, at), length = key_length(mender, key);
    return length != SIZE_MAX &&
           is_among(mender->text + key + 1, length, trace_keys, sizeof trace_keys / sizeof *trace_keys);
}

bool mend_is_border(const struct mender *mender, size_t at) {
    return is_before(mender, &at, ',') && is_before(mender, &at, '}');
}

bool mend_ends_elements(const struct mender *mender, size_t at) {
    size_t before = at;
    if (mender->text[at] != ']' || !is_before(mender, &before, '}'))
        return false;
    at = mend_skip_spaces(mender, at + 1);
    if (mender->text[at] == ',')
        return mender->text[mend_skip_spaces(mender, at + 1)] == '"';
    return at >= mender->size || mender->text[at] == '}';
}

/* ---- Where a string ends ---- */

/* Whether a key may stand at `at` in the object at this depth. */
static bool key_fits(const struct mender *mender, size_t at, size_t depth, enum mend_way way) {
    return depth == 1 && way == MEND_KNOWN_KEYS ? is_element_key(mender, at) : key_length(mender, at) != SIZE_MAX;
}

/* Whether an element may end before `at`. */
static bool element_may_end(const struct mender *mender, size_t at, enum mend_way way) {
    char c = mender->text[at];
    if (at >= mender->size || c == ']')
        return true;
    if (c != ',')
        return c == '}';
    at = mend_skip_spaces(mender, at + 1);
    return mender->text[at] == '{' && (way == MEND_ANY_KEYS || mend_begins_element(mender, at));
}

/* Whether what stands at `at` may follow a value inside of the brackets. */
static bool may_follow(const struct mender *mender, size_t at, const struct mend_brackets *brackets,
                       enum mend_way way) {
    size_t depth = brackets->depth;
    for (int i = 0; i < CLOSERS_MAX; i++) {
        at = mend_skip_spaces(mender, at);
        if (depth == 0)
            return element_may_end(mender, at, way);
        char c = mender->text[at];
        bool object = mend_in_object(brackets, depth);
        if (c == ',') {
            at = mend_skip_spaces(mender, at + 1);
            return object ? key_fits(mender, at, depth, way)
                          : mender->text[at] && strchr("\"[{-0123456789tfnNI", mender->text[at]);
        }
        if (c != (object ? '}' : ']'))
            return false;
        depth--;
        at++;
    }
    return true;
}

static bool may_end(const struct mender *mender, size_t quote, enum mend_role role,
                    const struct mend_brackets *brackets, enum mend_way way) {
    if (role == MEND_KEY)
        return mender->text[mend_skip_spaces(mender, quote + 1)] == ':';
    return may_follow(mender, quote + 1, brackets, way);
}

/* The next quote without a backslash at or behind `at`, or the text's end. Asked again it costs nothing. */
static size_t next_quote(struct mender *mender, size_t at) {
    if (at >= mender->quote_from && at <= mender->quote)
        return mender->quote;
    mender->quote_from = at;
    while (at < mender->size && mender->text[at] != '"')
        at += mender->text[at] == '\\' ? 2 : 1;
    return mender->quote = at < mender->size ? at : mender->size;
}

/* A backslash before a quote that ends the string: so it is where the string would else not end well. */
static bool is_last_backslash(struct mender *mender, size_t at, enum mend_role role,
                              const struct mend_brackets *brackets, enum mend_way way) {
    return may_end(mender, at + 1, role, brackets, way) &&
           !may_end(mender, next_quote(mender, at + 2), role, brackets, way);
}

/* Letters and the like, as keys of arguments are. */
static bool is_word(const char *key, size_t length) {
    for (size_t i = 0; i < length; i++)
        if (!((key[i] | 0x20) >= 'a' && (key[i] | 0x20) <= 'z') && !strchr("0123456789_ ", key[i]))
            return false;
    return length > 0;
}

/* Whether a quote inside of a string begins the next key: the string should have ended before the comma. `first`: there
 * was no other such quote. */
static bool begins_next_key(const struct mender *mender, size_t quote, bool first, const struct mend_brackets *brackets,
                            enum mend_way way) {
    if (brackets->depth == 1 && way == MEND_KNOWN_KEYS)
        return is_element_key(mender, quote);
    size_t length = key_length(mender, quote);
    return first && length != SIZE_MAX && is_word(mender->text + quote + 1, length);
}

/* Where a string's text ends, and whether a quote stands there. */
struct string_end {
    size_t at;
    bool quoted;
};

static struct string_end find_end(struct mender *mender, size_t from, enum mend_role role,
                                  const struct mend_brackets *brackets, enum mend_way way) {
    const struct string_end none = {MEND_FAIL, false};
    bool first = true;
    for (size_t at = from; at < mender->size; at++) {
        char c = mender->text[at];
        if (c == '\\') {
            if (mender->text[at + 1] == '"' && is_last_backslash(mender, at, role, brackets, way))
                return (struct string_end){at + 1, true};
            at++;
        }
        if (c == ']' && mend_ends_elements(mender, at))
            break;
        if (c != '"')
            continue;
        if (may_end(mender, at, role, brackets, way))
            return (struct string_end){at, true};
        size_t before = at;
        if (role == MEND_KEY || (is_before(mender, &before, '{') &&
                                 (mend_begins_trace(mender, before) ||
                                  (mend_is_border(mender, before) && mend_begins_element(mender, before)))))
            break; /* another element, or another trace, begins: this one has no end */
        before = at;
        if (role == MEND_MEMBER && is_before(mender, &before, ',') && before > from &&
            begins_next_key(mender, at, first, brackets, way))
            return (struct string_end){before_spaces(mender, before) + 1, false};
        first = false;
    }
    return none;
}

/* ---- Its text ---- */

static bool is_hex(char c) {
    return (c >= '0' && c <= '9') || ((c | 0x20) >= 'a' && (c | 0x20) <= 'f');
}

/* The length of the escape whose backslash stands at `text`; 0: it is none. */
static size_t escape_length(const char *text) {
    if (text[1] == 'u')
        return is_hex(text[2]) && is_hex(text[3]) && is_hex(text[4]) && is_hex(text[5]) ? 6 : 0;
    return text[1] && strchr("\"\\/bfnrt", text[1]) ? 2 : 0;
}

/* A control character as JSON writes it. */
static void escape_control(struct mender *mender, size_t at) {
    static const char letters[] = "\bb\tt\nn\ff\rr", digits[] = "0123456789abcdef";
    char c = mender->text[at], escape[] = "\\u0000";
    for (size_t i = 0; i + 1 < sizeof letters; i += 2)
        if (letters[i] == c) {
            escape[1] = letters[i + 1];
            escape[2] = 0;
        }
    if (escape[2]) {
        escape[4] = digits[(unsigned char)c >> 4];
        escape[5] = digits[c & 15];
    }
    mend_edit(mender, at, 1, escape, SUTRA_REPAIR_CONTROL);
}

/* The run of plain and high bytes at `at`, up to `end`: what is no UTF-8 becomes the character that stands for that. */
static size_t mend_run(struct mender *mender, size_t at, size_t end) {
    size_t stop = at;
    while (stop < end && (unsigned char)mender->text[stop] >= ' ' && !memchr("\"\\", mender->text[stop], 2))
        stop++;
    while ((at += utf8_check(mender->text + at, stop - at)) < stop)
        mend_edit(mender, at++, 1, "\xef\xbf\xbd", SUTRA_REPAIR_UTF8);
    return stop;
}

static void mend_inside(struct mender *mender, size_t at, size_t end) {
    while (at < end) {
        char c = mender->text[at];
        size_t escape = c == '\\' ? escape_length(mender->text + at) : 0;
        if (c == '"') {
            mend_edit(mender, at++, 0, "\\", SUTRA_REPAIR_QUOTE);
        } else if (c == '\\' && (escape == 0 || escape > end - at)) {
            mend_edit(mender, at++, 0, "\\", SUTRA_REPAIR_BACKSLASH);
        } else if (c == '\\') {
            at += escape;
        } else if ((unsigned char)c < ' ') {
            escape_control(mender, at++);
        } else {
            at = mend_run(mender, at, end);
        }
    }
}

size_t mend_plain_string(struct mender *mender, size_t at) {
    size_t from = at + 1;
    bool high = false;
    for (at = from; at < mender->size && mender->text[at] != '"'; at++) {
        unsigned char c = (unsigned char)mender->text[at];
        if (c >= ' ' && c < 0x80 && c != '\\')
            continue;
        size_t escape = c == '\\' ? escape_length(mender->text + at) : 1;
        if (c < ' ' || escape == 0)
            break;
        high |= c >= 0x80;
        at += escape - 1;
    }
    mender->failed_at = at;
    if (at >= mender->size || mender->text[at] != '"')
        return MEND_FAIL;
    size_t n = at - from, good = high ? utf8_check(mender->text + from, n) : n;
    mender->failed_at = from + good;
    return good == n ? at + 1 : MEND_FAIL;
}

size_t mend_string(struct mender *mender, size_t at, enum mend_role role, const struct mend_brackets *brackets,
                   enum mend_way way) {
    if (way == MEND_STRICT)
        return mend_plain_string(mender, at);
    struct string_end end = find_end(mender, at + 1, role, brackets, way);
    if (end.at == MEND_FAIL) {
        mender->failed_at = at;
        return MEND_FAIL;
    }
    mend_inside(mender, at + 1, end.at);
    if (!end.quoted)
        mend_edit(mender, end.at, 0, "\"", SUTRA_REPAIR_END_QUOTE);
    return end.at + end.quoted;
}
