/*
 * json_walk.c - the grammar of JSON: strings, numbers, and what stands in brackets.
 */
#include "read/json_walk.h"

#include <string.h>

#include "text/string_text.h"

/* Digits that Python reads in one integer, as text. */
#define INTEGER_DIGITS_TEXT "4300"

/* Stands for all that may be wrong with a string; the byte at which it is wrong tells what. */
static const char valid_string[] = "a valid string";

/* Whether what stands at byte `at` is not even a character. */
static bool is_no_character(const struct source *source, size_t at) {
    size_t rest = source->size - at;
    return utf8_check(source->bytes + at, rest < 4 ? rest : 4) == 0;
}

static enum sutra_status string_error(const struct source *source, size_t at, struct sutra_error *error) {
    unsigned char c = (unsigned char)source->bytes[at];
    if (c == '"')
        return source_error(source, error, at, "this string is not closed before the end of the file");
    if (is_no_character(source, at))
        return source_error(source, error, at, "byte 0x%02x is not valid UTF-8", c);
    if (c < 0x20)
        return source_error(source, error, at, "control character 0x%02x in a string: it must be escaped", c);
    return source_error(source, error, at,
                        "bad escape in a string: one of \\\" \\\\ \\/ \\b \\f \\n \\r \\t \\uXXXX was "
                        "expected");
}

enum sutra_status walk_error(const struct json_walker *walker, struct sutra_error *error) {
    const struct source *source = walker->source;
    size_t at = walker->failed_at;
    if (!walker->expected)
        return SUTRA_OK;
    if (at >= source->size)
        return source_error(source, error, source->size, "the file ends here, cut off: %s was expected",
                            walker->expected);
    if (walker->expected == valid_string || is_no_character(source, at))
        return string_error(source, at, error);
    return source_error(source, error, at, "malformed JSON: %s was expected", walker->expected);
}

/* ---- Strings ---- */

static bool is_hex(char c) {
    return (c >= '0' && c <= '9') || ((c | 0x20) >= 'a' && (c | 0x20) <= 'f');
}

/* Length of the escape that goes on at `text`, behind its backslash; 0: it is none. */
static size_t escape_length(const char *text) {
    if (*text == 'u')
        return is_hex(text[1]) && is_hex(text[2]) && is_hex(text[3]) && is_hex(text[4]) ? 5 : 0;
    return *text && strchr("\"\\/bfnrt", *text) ? 1 : 0;
}

static size_t high_run(const char *text) {
    size_t n = 0;
    while ((unsigned char)text[n] >= 0x80)
        n++;
    return n;
}

struct json_end string_end(const struct source *source, size_t at, size_t from) {
    const char *text = source->bytes;
    for (;; from = plain_end(text, from)) {
        char c = text[from];
        if (c == '"')
            return (struct json_end){from, NULL};
        from += c == '\\';
        if (from >= source->size)
            return (struct json_end){at, valid_string};
        size_t n, n_valid;
        if (c == '\\') {
            n = n_valid = escape_length(text + from);
        } else {
            n = high_run(text + from);
            n_valid = utf8_check(text + from, n);
        }
        from += n_valid;
        if (n_valid < n || n == 0)
            return (struct json_end){from, valid_string};
    }
}

/* ---- Numbers and words ---- */

/* The length of the word at `text`; 0: there is none. */
static inline size_t word_length(const char *text) {
    if (*text == 't')
        return memcmp(text, "true", 4) == 0 ? 4 : 0;
    if (*text == 'f')
        return memcmp(text, "false", 5) == 0 ? 5 : 0;
    return memcmp(text, "null", 4) == 0 ? 4 : 0;
}

struct json_end scalar_end(const struct source *source, size_t at) {
    const char *text = source->bytes + at;
    size_t length = word_length(text);
    if (length == 0) {
        enum number_form form = number_scan(text, &length);
        if (form == NUMBER_FORM_BAD)
            return (struct json_end){at, "a JSON value"};
        if (form == NUMBER_FORM_INTEGER && length - (*text == '-') > INTEGER_DIGITS_MAX)
            return (struct json_end){at, "an integer of at most " INTEGER_DIGITS_TEXT " digits (as Python reads)"};
    }
    char c = text[length];
    bool ends = scalar_may_end(c) || at + length == source->size || (c && strchr(":\"[{", c)); /* others tell that */
    return ends ? (struct json_end){at + length, NULL} : (struct json_end){at, "a JSON value"};
}

/* ---- Short lists ---- */

/* Lists of so many bytes are looked at as a whole. */
#define LIST_BYTES 64

/* Bit i stands for byte i of LIST_BYTES. */
struct list_block {
    uint64_t quote, comma, space, open, close, digit, zero, minus, other;
};

#ifdef __SSE2__

static inline uint64_t equal_bits(__m128i bytes, char c) {
    return (unsigned)_mm_movemask_epi8(_mm_cmpeq_epi8(bytes, _mm_set1_epi8(c)));
}

static inline struct list_block list_block(const char *text) {
    struct list_block block = {0};
    for (unsigned i = 0; i < LIST_BYTES; i += SCAN_BYTES) {
        __m128i bytes = _mm_loadu_si128((const __m128i *)(text + i)), less = _mm_sub_epi8(bytes, _mm_set1_epi8('0'));
        __m128i digit = _mm_cmpeq_epi8(_mm_min_epu8(less, _mm_set1_epi8(9)), less);
        block.quote |= equal_bits(bytes, '"') << i;
        block.comma |= equal_bits(bytes, ',') << i;
        block.space |= equal_bits(bytes, ' ') << i;
        block.open |= equal_bits(bytes, '[') << i;
        block.close |= equal_bits(bytes, ']') << i;
        block.zero |= equal_bits(bytes, '0') << i;
        block.minus |= equal_bits(bytes, '-') << i;
        block.digit |= (uint64_t)(unsigned)_mm_movemask_epi8(digit) << i;
        block.other |= (uint64_t)(unsigned)_mm_movemask_epi8(_mm_or_si128(_mm_cmplt_epi8(bytes, _mm_set1_epi8(' ')),
                                                                          _mm_cmpeq_epi8(bytes, _mm_set1_epi8('\\'))))
                       << i;
    }
    return block;
}

#else

static struct list_block list_block(const char *text) {
    struct list_block block = {0};
    for (unsigned i = 0; i < LIST_BYTES; i++) {
        uint64_t bit = (uint64_t)1 << i;
        char c = text[i];
        block.quote |= c == '"' ? bit : 0;
        block.comma |= c == ',' ? bit : 0;
        block.space |= c == ' ' ? bit : 0;
        block.open |= c == '[' ? bit : 0;
        block.close |= c == ']' ? bit : 0;
        block.zero |= c == '0' ? bit : 0;
        block.minus |= c == '-' ? bit : 0;
        block.digit |= c >= '0' && c <= '9' ? bit : 0;
        block.other |= (unsigned char)c - 0x20u >= 0x60 || c == '\\' ? bit : 0;
    }
    return block;
}

#endif

static inline uint64_t prefix_xor(uint64_t bits) {
    bits ^= bits << 1;
    bits ^= bits << 2;
    bits ^= bits << 4;
    bits ^= bits << 8;
    bits ^= bits << 16;
    return bits ^ bits << 32;
}

/* The bracket that closes the first one, as a bit; 0: there is none. */
static inline uint64_t closing_bit(uint64_t open, uint64_t close) {
    for (uint64_t left = open | close, depth = 0; left; left &= left - 1) {
        uint64_t bit = left & -left;
        depth += open & bit ? 1 : UINT64_MAX;
        if (depth == 0)
            return bit;
    }
    return 0;
}

/* Whether each byte up to `last`, a bit, may stand behind the one before it: strings of plain characters and integers,
 * a comma and at most a space between them, in brackets. The bits of all but quotes are those outside strings. */
static inline bool is_plain_list(const struct list_block *block, uint64_t in_string, uint64_t last) {
    uint64_t digit = block->digit, first = digit & ~(digit << 1 | block->minus << 1);
    uint64_t begin = (block->quote & in_string) | first | block->minus | block->open;
    uint64_t end = (block->quote & ~in_string) | (digit & ~(digit >> 1)) | block->close;
    uint64_t zero = block->zero & digit & ~(digit << 1), after_comma = block->comma << 1;
    uint64_t known =
        in_string | block->quote | block->comma | block->space | block->open | block->close | digit | block->minus;
    uint64_t wrong = ~known | (block->other & known) | (end << 1 & ~(block->comma | block->close)) |
                     (block->open << 1 & ~(begin | block->close)) | (after_comma & ~(block->space | begin)) |
                     (block->space & ~after_comma) | (block->space << 1 & ~begin) | (block->minus << 1 & ~digit) |
                     (zero << 1 & digit);
    return !(wrong & (last | (last - 1)));
}

/* The byte behind the list at byte `at`, if it is one of the most frequent kind; else 0. */
static size_t short_list_end(const char *text, size_t at) {
    struct list_block block = list_block(text + at);
    uint64_t in_string = prefix_xor(block.quote); /* with the opening quote, without the closing one */
    block.comma &= ~in_string;
    block.space &= ~in_string;
    block.open &= ~in_string;
    block.close &= ~in_string;
    block.digit &= ~in_string;
    block.minus &= ~in_string;
    uint64_t last = closing_bit(block.open, block.close);
    return last && is_plain_list(&block, in_string, last) ? at + (size_t)__builtin_ctzll(last) + 1 : 0;
}

/* ---- Brackets ---- */

/* Which of the open brackets are objects: a bit each. */
struct kinds {
    uint64_t words[DEPTH_MAX / 64 + 1];
    size_t depth;
};

static inline void push(struct kinds *kinds, bool object) {
    uint64_t bit = (uint64_t)1 << kinds->depth % 64, *word = &kinds->words[kinds->depth / 64];
    if (kinds->depth % 64 == 0)
        *word = 0;
    *word = object ? *word | bit : *word & ~bit;
    kinds->depth++;
}

static inline bool in_object(const struct kinds *kinds) {
    size_t top = kinds->depth - 1;
    return kinds->words[top / 64] >> top % 64 & 1;
}

/* Over a value that is not left open: a scalar, an empty bracket, or a short list. True: into another bracket. */
static inline bool enter_value(struct json_walker *walker, struct kinds *kinds) {
    char c = walk_char(walker);
    if (c == '"') {
        walk_string(walker);
    } else if (c == '{' || c == '[') {
        size_t end = c == '[' && kinds->depth + LIST_BYTES < DEPTH_MAX ? short_list_end(walker->text, walker->at) : 0;
        if (end) {
            walk_to(walker, end);
            return false;
        }
        if (kinds->depth == DEPTH_MAX) {
            walk_fail(walker, "nesting of at most " DEPTH_MAX_TEXT " brackets");
            return false;
        }
        walk_next(walker);
        if (walk_char(walker) != c + 2) {
            push(kinds, c == '{');
            return true;
        }
        walk_next(walker);
    } else {
        walk_scalar(walker);
    }
    return false;
}

/* Behind a value: closes what ends here. True: now at the next value or key. */
static inline bool leave_value(struct json_walker *walker, struct kinds *kinds) {
    while (kinds->depth > 0) {
        bool object = in_object(kinds);
        char c = walk_char(walker);
        if (c == ',') {
            walk_next(walker);
            return true;
        }
        if (c != (object ? '}' : ']')) {
            walk_fail(walker, object ? "',' or '}'" : "',' or ']'");
            return false;
        }
        kinds->depth--;
        walk_next(walker);
    }
    return false;
}

/* A loop over tokens with a bit per open bracket. */
struct json_end brackets_end(const struct source *source, size_t at) {
    struct json_walker walker = walk_from(source, at);
    struct kinds kinds;
    kinds.depth = 0;
    while ((enter_value(&walker, &kinds) || leave_value(&walker, &kinds)) && !walker.expected)
        if (in_object(&kinds))
            walk_key(&walker);
    return (struct json_end){walker.expected ? walker.failed_at : walker.at, walker.expected};
}
