/*
 * json.c - the grammar of JSON: strings, numbers, and values in brackets.
 *
 * Most bytes of a trace are lists of plain strings and integers, in brackets of any depth:
 *
 *     [[2048, 256, 1], [64, 1], []]        ["float", "", "ScalarList"]
 *
 * plain_list_end() checks such a list 64 bytes at once, with a bit per byte in a few words: strings are the bits
 * between quotes; outside of strings, the kind of each byte restricts the kind of the next. With AVX-512 both kinds
 * come from tables; otherwise the bits of each kind are shifted by one. All other values are parsed token by token.
 * O(length).
 */
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include "base/shared.h"
#include "read/json.h"
#include "text/strings.h"

#ifdef __SSE2__
#include <immintrin.h>
#endif

/* ---- Plain lists ---- */

/* Longer lists are parsed token by token. */
#define PLAIN_LIST_BYTES 256
#define BLOCKS           (PLAIN_LIST_BYTES / 64)

/* The bits of the bytes that follow the bytes of `bits`. */
static inline uint64_t shift_next(uint64_t bits, uint64_t *carry) {
    uint64_t next = bits << 1 | *carry;
    *carry = bits >> 63;
    return next;
}

/* The bracket that closes the first one, as a bit; 0: it is not in this block. */
static inline uint64_t closing_bit(uint64_t open, uint64_t close, uint64_t *depth) {
    for (uint64_t left = open | close; left; left &= left - 1) {
        uint64_t bit = left & -left;
        *depth += open & bit ? 1 : UINT64_MAX;
        if (*depth == 0)
            return bit;
    }
    return 0;
}

/* The bits up to and including `bit`; all bits, if it is 0. */
static inline uint64_t up_to(uint64_t bit) {
    return bit | (bit - 1);
}

/* Bit i is set if byte i of a block is of this kind. */
struct list_block {
    uint64_t quote, comma, space, open, close, digit, zero, minus, other;
};

typedef struct list_block read_list_block(const char *text);

#ifdef __SSE2__

static inline uint64_t equal_bits(__m128i bytes, char c) {
    return (unsigned)_mm_movemask_epi8(_mm_cmpeq_epi8(bytes, _mm_set1_epi8(c)));
}

static inline struct list_block list_block_by_16_bytes(const char *text) {
    struct list_block block = {0};
    for (unsigned i = 0; i < 64; i += SCAN_BYTES) {
        __m128i bytes = _mm_loadu_si128((const __m128i *)(text + i)), less = _mm_sub_epi8(bytes, _mm_set1_epi8('0'));
        __m128i digit = _mm_cmpeq_epi8(_mm_min_epu8(less, _mm_set1_epi8(9)), less);
        __m128i low = _mm_cmplt_epi8(bytes, _mm_set1_epi8(' ')); /* signed: bytes above 0x7f, too */
        block.quote |= equal_bits(bytes, '"') << i;
        block.comma |= equal_bits(bytes, ',') << i;
        block.space |= equal_bits(bytes, ' ') << i;
        block.open |= equal_bits(bytes, '[') << i;
        block.close |= equal_bits(bytes, ']') << i;
        block.zero |= equal_bits(bytes, '0') << i;
        block.minus |= equal_bits(bytes, '-') << i;
        block.digit |= (uint64_t)(unsigned)_mm_movemask_epi8(digit) << i;
        block.other |= (equal_bits(bytes, '\\') | (unsigned)_mm_movemask_epi8(low)) << i;
    }
    return block;
}

#endif

static inline struct list_block list_block_by_bytes(const char *text) {
    struct list_block block = {0};
    for (unsigned i = 0; i < 64; i++) {
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

/* Bit i of the result: whether an odd number of the bits 0..i are set. */
static inline uint64_t prefix_xor(uint64_t bits) {
    bits ^= bits << 1;
    bits ^= bits << 2;
    bits ^= bits << 4;
    bits ^= bits << 8;
    bits ^= bits << 16;
    return bits ^ bits << 32;
}

/* The byte after the list at byte `at`, or 0. Each byte is valid after the byte before it: strings of plain characters
 * and integers, a comma and at most one space between them, in brackets. Zeros after the text are not plain. */
__attribute__((always_inline)) static inline size_t end_by_blocks(const char *text, size_t at,
                                                                  read_list_block *list_block) {
    uint64_t depth = 0, string_carry = 0; /* all ones or zeros: the next block begins inside a string */
    uint64_t value_carry = 0, digit_carry = 0, zero_carry = 0, minus_carry = 0;
    uint64_t open_carry = 0, comma_carry = 0, space_carry = 0;
    for (size_t end = at + BLOCKS * 64; at < end; at += 64) {
        const struct list_block block = list_block(text + at);
        uint64_t in_string = prefix_xor(block.quote) ^ string_carry; /* with the opening quote, without the closing */
        uint64_t comma = block.comma & ~in_string, space = block.space & ~in_string, minus = block.minus & ~in_string;
        uint64_t open = block.open & ~in_string, close = block.close & ~in_string, digit = block.digit & ~in_string;
        uint64_t last = closing_bit(open, close, &depth);
        uint64_t after_digit = shift_next(digit, &digit_carry), after_minus = shift_next(minus, &minus_carry);
        uint64_t after_comma = shift_next(comma, &comma_carry);
        uint64_t begin = (block.quote & in_string) | open | minus | (digit & ~after_digit & ~after_minus);
        uint64_t zero = block.zero & digit & ~after_digit;
        uint64_t known = in_string | block.quote | comma | space | open | close | digit | minus;
        uint64_t wrong = ~known | (block.other & in_string) | (space & ~after_comma) | (after_minus & ~digit);
        wrong |= shift_next((block.quote & ~in_string) | close, &value_carry) & ~(comma | close);
        wrong |= after_digit & ~(digit | comma | close);
        wrong |= shift_next(zero, &zero_carry) & digit;
        wrong |= shift_next(open, &open_carry) & ~(begin | close);
        wrong |= after_comma & ~(space | begin);
        wrong |= shift_next(space, &space_carry) & ~begin;
        string_carry = -(in_string >> 63);
        if (wrong & up_to(last))
            return 0;
        if (last)
            return at + (size_t)__builtin_ctzll(last) + 1;
    }
    return 0;
}

static size_t end_by_bytes(const char *text, size_t at) {
    return end_by_blocks(text, at, list_block_by_bytes);
}

#ifdef __SSE2__

static size_t end_by_16_bytes(const char *text, size_t at) {
    return end_by_blocks(text, at, list_block_by_16_bytes);
}

#define AVX512 __attribute__((target("avx512f,avx512bw,bmi2,popcnt,pclmul")))

/* Kinds of bytes outside of strings, a bit each, so that the kinds that may follow a byte fit a byte, too. */
enum { QUOTE = 1, COMMA = 2, BLANK = 4, OPEN = 8, CLOSE = 16, DIGIT = 32, MINUS = 64, LINE = 128 };
enum { SPACE = BLANK | LINE, BEGINS = QUOTE | OPEN | DIGIT | MINUS, ENDS = COMMA | CLOSE };

/* The kind of a byte is that which both of its halves allow. */
static const uint8_t of_low_half[16] = {[0x0] = BLANK | DIGIT, [0x1] = DIGIT,
                                        [0x2] = QUOTE | DIGIT, [0x3] = DIGIT,
                                        [0x4] = DIGIT,         [0x5] = DIGIT,
                                        [0x6] = DIGIT,         [0x7] = DIGIT,
                                        [0x8] = DIGIT,         [0x9] = DIGIT | LINE,
                                        [0xa] = LINE,          [0xb] = OPEN,
                                        [0xc] = COMMA,         [0xd] = MINUS | CLOSE | LINE};
static const uint8_t of_high_half[16] = {
    [0x0] = LINE, [0x2] = QUOTE | COMMA | BLANK | MINUS, [0x3] = DIGIT, [0x5] = OPEN | CLOSE};

/* Kinds that may follow each kind, by the half of its bit. The kind before white space matters too and is checked
 * separately; a comma after white space is not plain, since no writer emits it. */
static const uint8_t after_low_half[16] = {[QUOTE] = ENDS | SPACE,
                                           [COMMA] = BEGINS | SPACE,
                                           [BLANK] = BEGINS | CLOSE | SPACE,
                                           [OPEN] = BEGINS | CLOSE | SPACE};
static const uint8_t after_high_half[16] = {[CLOSE >> 4] = ENDS | SPACE,
                                            [DIGIT >> 4] = DIGIT | ENDS | SPACE,
                                            [MINUS >> 4] = DIGIT,
                                            [LINE >> 4] = BEGINS | CLOSE | SPACE};

AVX512 static inline __m512i table_lookup(const uint8_t *table, __m512i index) {
    return _mm512_shuffle_epi8(_mm512_broadcast_i32x4(_mm_loadu_si128((const __m128i *)table)), index);
}

AVX512 static inline __m512i high_half(__m512i bytes) {
    return _mm512_and_si512(_mm512_srli_epi16(bytes, 4), _mm512_set1_epi8(0x0f));
}

AVX512 static inline uint64_t bits_of_kind(__m512i kinds, uint8_t kind) {
    return _mm512_test_epi8_mask(kinds, _mm512_set1_epi8((char)kind));
}

/* As closing_bit(), without a loop for lists at most two deep, the most frequent: their brackets, one bit each, open
 * and close in turn, up to the first that closes where another should open. */
AVX512 static inline uint64_t closing_bit_shallow(uint64_t open, uint64_t close, uint64_t *depth) {
    static const uint64_t turns[] = {0xaaaaaaaaaaaaaaab, 0x5555555555555555, 0xaaaaaaaaaaaaaaaa};
    uint64_t brackets = open | close, opens = _pext_u64(open, brackets);
    if (*depth > 2)
        return closing_bit(open, close, depth);
    uint64_t other = opens ^ turns[*depth], first = other & -other;
    if (first & opens)
        return closing_bit(open, close, depth);
    *depth += (uint64_t)__builtin_popcountll(open) - (uint64_t)__builtin_popcountll(close);
    return _pdep_u64(first, brackets);
}

/* The bytes after runs of white space whose first bytes are `first`. */
static inline uint64_t after_space(uint64_t first, uint64_t space, uint64_t *carry) {
    uint64_t sum;
    bool over = __builtin_add_overflow(first & space, space, &sum);
    over |= __builtin_add_overflow(sum, *carry, &sum);
    *carry = over;
    return sum & ~space;
}

/* As end_by_blocks(), for lists with any white space. */
AVX512 static size_t end_by_64_bytes(const char *text, size_t at) {
    __m512i kinds_before = _mm512_setzero_si512();
    uint64_t depth = 0, string_carry = 0, digit_carry = 0, zero_carry = 0;
    uint64_t comma_carry = 0, value_carry = 0, comma_space = 0, value_space = 0, first = 1;
    for (size_t end = at + BLOCKS * 64; at < end; at += 64) {
        __m512i bytes = _mm512_loadu_si512(text + at);
        __m512i kinds =
            _mm512_and_si512(table_lookup(of_low_half, bytes), table_lookup(of_high_half, high_half(bytes)));
        __m512i previous = _mm512_alignr_epi8(kinds, _mm512_alignr_epi32(kinds, kinds_before, 12), 15);
        __m512i allowed =
            _mm512_or_si512(table_lookup(after_low_half, previous), table_lookup(after_high_half, high_half(previous)));
        uint64_t quote = bits_of_kind(kinds, QUOTE);
        __m128i quote_parity = _mm_clmulepi64_si128(_mm_cvtsi64_si128((long long)quote), _mm_set1_epi8(-1), 0);
        uint64_t in_string = (uint64_t)_mm_cvtsi128_si64(quote_parity) ^ string_carry;
        uint64_t open = bits_of_kind(kinds, OPEN) & ~in_string, close = bits_of_kind(kinds, CLOSE) & ~in_string;
        uint64_t last = closing_bit_shallow(open, close, &depth);
        uint64_t digit = bits_of_kind(kinds, DIGIT) & ~in_string, comma = bits_of_kind(kinds, COMMA) & ~in_string;
        uint64_t space = bits_of_kind(kinds, SPACE) & ~in_string, value = digit | close | (quote & ~in_string);
        uint64_t zero = _mm512_cmpeq_epi8_mask(bytes, _mm512_set1_epi8('0')) & digit & ~shift_next(digit, &digit_carry);
        uint64_t bad = _mm512_cmplt_epi8_mask(bytes, _mm512_set1_epi8(' ')) |
                       _mm512_cmpeq_epi8_mask(bytes, _mm512_set1_epi8('\\'));
        uint64_t wrong = _mm512_testn_epi8_mask(kinds, allowed) & ~(in_string ^ quote) & ~first;
        wrong |= bad & in_string;
        wrong |= shift_next(zero, &zero_carry) & digit;
        wrong |= after_space(shift_next(comma, &comma_carry), space, &comma_space) & close;
        wrong |= after_space(shift_next(value, &value_carry), space, &value_space) & ~close;
        if (wrong & up_to(last))
            return 0;
        if (last)
            return at + (size_t)__builtin_ctzll(last) + 1;
        kinds_before = kinds;
        string_carry = -(in_string >> 63);
        first = 0;
    }
    return 0;
}

/* CPUs with these have popcnt and pclmul, too. */
static inline bool has_avx512(void) {
    return __builtin_cpu_supports("avx512bw") && __builtin_cpu_supports("bmi2");
}

#endif

find_list_end *list_scan_function(enum list_scan scan) {
#ifdef __SSE2__
    if (scan == LIST_SCAN_64_BYTES && has_avx512())
        return end_by_64_bytes;
    if (scan == LIST_SCAN_16_BYTES)
        return end_by_16_bytes;
#endif
    return scan == LIST_SCAN_BYTES ? end_by_bytes : NULL;
}

/* The end of a list by the fastest scan. */
static size_t plain_list_end(const char *text, size_t at) {
#ifdef __SSE2__
    return has_avx512() ? end_by_64_bytes(text, at) : end_by_16_bytes(text, at);
#else
    return end_by_bytes(text, at);
#endif
}

/* ---- Errors ---- */

/* Digits that Python reads in one integer, as text. */
#define INTEGER_DIGITS_TEXT "4300"

/* Expected where a string is malformed; the malformed byte selects the message. */
static const char valid_string[] = "a valid string";

enum sutra_status walk_error(const struct json_walker *walker, struct sutra_error *error) {
    const struct source *source = walker->source;
    size_t at = walker->failed_at, rest = source->size - at;
    if (!walker->expected)
        return SUTRA_OK;
    if (at >= source->size)
        return source_error(source, error, source->size, "the file is truncated here: %s was expected",
                            walker->expected);
    unsigned char c = (unsigned char)source->bytes[at];
    if (walker->expected == valid_string && c == '"')
        return source_error(source, error, at, "this string is not closed before the end of the file");
    if (utf8_check(source->bytes + at, MIN(rest, 4)) == 0)
        return source_error(source, error, at, "byte 0x%02x is not valid UTF-8", c);
    if (walker->expected != valid_string)
        return source_error(source, error, at, "malformed JSON: %s was expected", walker->expected);
    if (c < 0x20)
        return source_error(source, error, at, "control character 0x%02x in a string: it must be escaped", c);
    return source_error(source, error, at,
                        "bad escape in a string: one of \\\" \\\\ \\/ \\b \\f \\n \\r \\t \\uXXXX was "
                        "expected");
}

/* ---- Strings, numbers and words ---- */

struct json_end string_end(const struct source *source, size_t at, size_t from) {
    const char *text = source->bytes;
    for (;; from = plain_end(text, from)) {
        char c = text[from];
        if (c == '"')
            return (struct json_end){from, NULL};
        from += c == '\\';
        if (from >= source->size)
            return (struct json_end){at, valid_string};
        size_t n = 0, n_valid;
        if (c == '\\') {
            size_t length = string_escape_length(text + from - 1);
            n = n_valid = length ? length - 1 : 0;
        } else {
            while ((unsigned char)text[from + n] >= 0x80)
                n++;
            n_valid = utf8_check(text + from, n);
        }
        from += n_valid;
        if (n_valid < n || n == 0)
            return (struct json_end){from, valid_string};
    }
}

struct json_end scalar_end(const struct source *source, size_t at) {
    const char *text = source->bytes + at;
    size_t length = memcmp(text, "true", 4) == 0 || memcmp(text, "null", 4) == 0 ? 4
                    : memcmp(text, "false", 5) == 0                              ? 5
                                                                                 : 0;
    if (length == 0) {
        enum number_form form = number_scan(text, &length);
        if (form == NUMBER_FORM_BAD)
            return (struct json_end){at, "a JSON value"};
        if (form == NUMBER_FORM_INTEGER && length - (*text == '-') > INTEGER_DIGITS_MAX)
            return (struct json_end){at, "an integer of at most " INTEGER_DIGITS_TEXT " digits (as Python reads)"};
    }
    char c = text[length];
    if (scalar_may_end(c) || at + length == source->size || (c && strchr(":\"[{", c))) /* the caller reports these */
        return (struct json_end){at + length, NULL};
    return (struct json_end){at, "a JSON value"};
}

/* ---- Brackets ---- */

/* Walks the tokens of the value in brackets at byte `at`. */
static struct json_end walk_brackets(const struct source *source, size_t at) {
    struct json_walker walker = walk_from(source, at);
    uint64_t objects[DEPTH_MAX / 64 + 1]; /* a bit for each open bracket: 1 for objects */
    size_t depth = 0;
    for (bool more = true; more && !walker.expected;) {
        /* Over a value: a scalar, an empty bracket or a plain list; or into another bracket. */
        char c = walk_char(&walker);
        size_t list_end =
            c == '[' && depth > 0 && depth + PLAIN_LIST_BYTES < DEPTH_MAX ? plain_list_end(walker.text, walker.at) : 0;
        more = false;
        if (c == '"') {
            walk_string(&walker);
        } else if (c != '{' && c != '[') {
            walk_scalar(&walker);
        } else if (list_end) {
            walk_to(&walker, list_end);
        } else if (depth == DEPTH_MAX) {
            walk_fail(&walker, "nesting of at most " DEPTH_MAX_TEXT " brackets");
        } else {
            walk_next(&walker);
            more = walk_char(&walker) != c + 2;
            if (more) {
                uint64_t bit = (uint64_t)1 << depth % 64, *word = &objects[depth / 64];
                uint64_t others = depth % 64 ? *word & ~bit : 0;
                *word = c == '{' ? others | bit : others;
                depth++;
            } else {
                walk_next(&walker);
            }
        }
        /* After a value: close brackets up to the next comma. */
        bool object = false;
        while (depth > 0) {
            object = objects[(depth - 1) / 64] >> (depth - 1) % 64 & 1;
            if (more)
                break;
            c = walk_char(&walker);
            if (c != ',' && c != (object ? '}' : ']')) {
                walk_fail(&walker, object ? "',' or '}'" : "',' or ']'");
                break;
            }
            depth -= c != ',';
            more = c == ',';
            walk_next(&walker);
        }
        if (more && object)
            walk_key(&walker);
    }
    if (walker.expected)
        return (struct json_end){walker.failed_at, walker.expected};
    return (struct json_end){trim_end(source->bytes, walker.at), NULL};
}

struct json_end brackets_end(const struct source *source, size_t at) {
    size_t end = source->bytes[at] == '[' ? plain_list_end(source->bytes, at) : 0;
    return end ? (struct json_end){end, NULL} : walk_brackets(source, at);
}
