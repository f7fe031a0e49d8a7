/*
 * json.c - the grammar of JSON: strings, numbers, and what stands in brackets.
 */
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include "read/json.h"
#include "text/strings.h"

/*
 * Where a list ends of which most traces are full: strings of plain characters and integers, in brackets
 * of any depth. All of it is checked as JSON. O(length).
 *
 *     [[2048, 256, 1], [64, 1], []]        ["float", "", "ScalarList"]
 */

/* Longer lists are not looked at to their end. */
#define PLAIN_LIST_BYTES 256

/*
 * The grammar of plain lists, on bits: 64 bytes of text at once, each a bit of a few words.
 *
 * Strings are told by their quotes, and what stands outside of them by the byte before. Where the processor has vectors
 * of 64 bytes, what a byte is and what may follow it are looked up; else the bits of each kind are moved by one.
 */

#ifdef __SSE2__
#include <immintrin.h>
#endif

#define BLOCKS (PLAIN_LIST_BYTES / 64)

/* The bits of the bytes behind those of `bits`. */
static inline uint64_t behind(uint64_t bits, uint64_t *carry) {
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

/* The bits up to and with this one; all, if it is 0. */
static inline uint64_t up_to(uint64_t bit) {
    return bit | (bit - 1);
}

/* ---- 16 bytes at once, or one by one ---- */

/* Bit i stands for byte i of a block. */
struct list_block {
    uint64_t quote, comma, space, open, close, digit, zero, minus, other;
};

#ifdef __SSE2__

static inline uint64_t equal_bits(__m128i bytes, char c) {
    return (unsigned)_mm_movemask_epi8(_mm_cmpeq_epi8(bytes, _mm_set1_epi8(c)));
}

static inline struct list_block list_block(const char *text) {
    struct list_block block = {0};
    for (unsigned i = 0; i < 64; i += SCAN_BYTES) {
        __m128i bytes = _mm_loadu_si128((const __m128i *)(text + i)), less = _mm_sub_epi8(bytes, _mm_set1_epi8('0'));
        __m128i digit = _mm_cmpeq_epi8(_mm_min_epu8(less, _mm_set1_epi8(9)), less);
        __m128i low = _mm_cmplt_epi8(bytes, _mm_set1_epi8(' ')); /* signed: the highest bit, too */
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

#else

static struct list_block list_block(const char *text) {
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

#endif

static inline uint64_t prefix_xor(uint64_t bits) {
    bits ^= bits << 1;
    bits ^= bits << 2;
    bits ^= bits << 4;
    bits ^= bits << 8;
    bits ^= bits << 16;
    return bits ^ bits << 32;
}

/* What one block hands to the next: of the last byte, but for the depth and `in_string`, which is all ones or zeros. */
struct list_state {
    uint64_t depth, in_string;
    uint64_t value, digit, zero, minus, open, comma, space;
};

/* The bracket that closes the list, as a bit, or 0: it goes on. *plain: each byte up to there may stand behind the one
 * before it: strings of plain characters and integers, a comma and at most a space between them, in brackets. */
__attribute__((always_inline)) static inline uint64_t list_step(struct list_state *state,
                                                                const struct list_block *block, bool *plain) {
    uint64_t in_string = prefix_xor(block->quote) ^ state->in_string; /* with the opening quote, without the closing */
    uint64_t comma = block->comma & ~in_string, space = block->space & ~in_string, minus = block->minus & ~in_string;
    uint64_t open = block->open & ~in_string, close = block->close & ~in_string, digit = block->digit & ~in_string;
    uint64_t last = closing_bit(open, close, &state->depth);
    uint64_t behind_digit = behind(digit, &state->digit), behind_minus = behind(minus, &state->minus);
    uint64_t behind_comma = behind(comma, &state->comma);
    uint64_t begin = (block->quote & in_string) | open | minus | (digit & ~behind_digit & ~behind_minus);
    uint64_t zero = block->zero & digit & ~behind_digit;
    uint64_t known = in_string | block->quote | comma | space | open | close | digit | minus;
    uint64_t wrong = ~known | (block->other & in_string) | (space & ~behind_comma) | (behind_minus & ~digit);
    wrong |= behind((block->quote & ~in_string) | close, &state->value) & ~(comma | close);
    wrong |= behind_digit & ~(digit | comma | close);
    wrong |= behind(zero, &state->zero) & digit;
    wrong |= behind(open, &state->open) & ~(begin | close);
    wrong |= behind_comma & ~(space | begin);
    wrong |= behind(space, &state->space) & ~begin;
    state->in_string = -(in_string >> 63);
    *plain = !(wrong & up_to(last));
    return last;
}

/* The byte behind the list at byte `at`, or 0. Zeros behind the text are not plain. */
static size_t end_by_16_bytes(const char *text, size_t at) {
    struct list_state state = {0};
    bool plain = true;
    for (size_t end = at + BLOCKS * 64; at < end && plain; at += 64) {
        struct list_block block = list_block(text + at);
        uint64_t last = list_step(&state, &block, &plain);
        if (last)
            return plain ? at + (size_t)__builtin_ctzll(last) + 1 : 0;
    }
    return 0;
}

/* ---- 64 bytes at once ---- */

#ifdef __SSE2__

#define AVX512 __attribute__((target("avx512f,avx512bw,bmi2,popcnt,pclmul")))

/* What a byte may be outside of strings, a bit each, so that all that may follow it is a byte, too. */
enum { QUOTE = 1, COMMA = 2, BLANK = 4, OPEN = 8, CLOSE = 16, DIGIT = 32, MINUS = 64, LINE = 128 };
enum { SPACE = BLANK | LINE, BEGINS = QUOTE | OPEN | DIGIT | MINUS, ENDS = COMMA | CLOSE };

/* A byte is what both halves of it may be. */
static const uint8_t of_low_half[16] = {[0x0] = BLANK | DIGIT, [0x1] = DIGIT,
                                        [0x2] = QUOTE | DIGIT, [0x3] = DIGIT,
                                        [0x4] = DIGIT,         [0x5] = DIGIT,
                                        [0x6] = DIGIT,         [0x7] = DIGIT,
                                        [0x8] = DIGIT,         [0x9] = DIGIT | LINE,
                                        [0xa] = LINE,          [0xb] = OPEN,
                                        [0xc] = COMMA,         [0xd] = MINUS | CLOSE | LINE};
static const uint8_t of_high_half[16] = {
    [0x0] = LINE, [0x2] = QUOTE | COMMA | BLANK | MINUS, [0x3] = DIGIT, [0x5] = OPEN | CLOSE};

/* What may stand behind each kind, by the half of its bit. What stands before space counts, too, and is looked at
 * apart; a comma behind space is not plain, as nobody writes it. */
static const uint8_t behind_low_half[16] = {[QUOTE] = ENDS | SPACE,
                                            [COMMA] = BEGINS | SPACE,
                                            [BLANK] = BEGINS | CLOSE | SPACE,
                                            [OPEN] = BEGINS | CLOSE | SPACE};
static const uint8_t behind_high_half[16] = {[CLOSE >> 4] = ENDS | SPACE,
                                             [DIGIT >> 4] = DIGIT | ENDS | SPACE,
                                             [MINUS >> 4] = DIGIT,
                                             [LINE >> 4] = BEGINS | CLOSE | SPACE};

AVX512 static inline __m512i look_up(const uint8_t *table, __m512i at) {
    return _mm512_shuffle_epi8(_mm512_broadcast_i32x4(_mm_loadu_si128((const __m128i *)table)), at);
}

AVX512 static inline __m512i high_half(__m512i bytes) {
    return _mm512_and_si512(_mm512_srli_epi16(bytes, 4), _mm512_set1_epi8(0x0f));
}

AVX512 static inline __m512i kinds_of(__m512i bytes) {
    return _mm512_and_si512(look_up(of_low_half, bytes), look_up(of_high_half, high_half(bytes)));
}

AVX512 static inline __m512i behind_kinds(__m512i kinds) {
    return _mm512_or_si512(look_up(behind_low_half, kinds), look_up(behind_high_half, high_half(kinds)));
}

/* The kinds of the bytes before. */
AVX512 static inline __m512i kinds_before(__m512i kinds, __m512i block_before) {
    __m512i lanes = _mm512_alignr_epi32(kinds, block_before, 12);
    return _mm512_alignr_epi8(kinds, lanes, 15);
}

AVX512 static inline uint64_t are(__m512i kinds, uint8_t kind) {
    return _mm512_test_epi8_mask(kinds, _mm512_set1_epi8((char)kind));
}

/* Each bit: whether an odd number of bits stands up to there. */
AVX512 static inline uint64_t parity(uint64_t bits) {
    __m128i all = _mm_clmulepi64_si128(_mm_cvtsi64_si128((long long)bits), _mm_set1_epi8(-1), 0);
    return (uint64_t)_mm_cvtsi128_si64(all);
}

/* As closing_bit(), without a loop where lists are at most two deep, as most are: their brackets, one bit for each, are
 * those that open and close by turns, up to the one that closes where another was to open. */
AVX512 static inline uint64_t closing_turn(uint64_t open, uint64_t close, uint64_t *depth) {
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

/* What one block hands to the next. */
struct wide_state {
    __m512i kinds;
    uint64_t depth, in_string;
    uint64_t digit, zero, comma, value, comma_space, value_space;
};

/* The bytes behind stretches of space of which these are the first. */
static inline uint64_t behind_space(uint64_t first, uint64_t space, uint64_t *carry) {
    uint64_t sum;
    bool over = __builtin_add_overflow(first & space, space, &sum);
    over |= __builtin_add_overflow(sum, *carry, &sum);
    *carry = over;
    return sum & ~space;
}

/* As list_step(), for lists with any space. */
AVX512 __attribute__((always_inline)) static inline uint64_t wide_step(struct wide_state *state, const char *text,
                                                                       bool first, bool *plain) {
    __m512i bytes = _mm512_loadu_si512(text), kinds = kinds_of(bytes);
    __m512i wanted = behind_kinds(kinds_before(kinds, state->kinds));
    uint64_t quote = are(kinds, QUOTE), in_string = parity(quote) ^ state->in_string;
    uint64_t open = are(kinds, OPEN) & ~in_string, close = are(kinds, CLOSE) & ~in_string;
    uint64_t last = closing_turn(open, close, &state->depth);
    uint64_t digit = are(kinds, DIGIT) & ~in_string, comma = are(kinds, COMMA) & ~in_string;
    uint64_t space = are(kinds, SPACE) & ~in_string, value = digit | close | (quote & ~in_string);
    uint64_t zero = _mm512_cmpeq_epi8_mask(bytes, _mm512_set1_epi8('0')) & digit & ~behind(digit, &state->digit);
    uint64_t bad =
        _mm512_cmplt_epi8_mask(bytes, _mm512_set1_epi8(' ')) | _mm512_cmpeq_epi8_mask(bytes, _mm512_set1_epi8('\\'));
    uint64_t wrong = _mm512_testn_epi8_mask(kinds, wanted) & ~(in_string ^ quote) & ~(uint64_t)first;
    wrong |= bad & in_string;
    wrong |= behind(zero, &state->zero) & digit;
    wrong |= behind_space(behind(comma, &state->comma), space, &state->comma_space) & close;
    wrong |= behind_space(behind(value, &state->value), space, &state->value_space) & ~close;
    state->kinds = kinds;
    state->in_string = -(in_string >> 63);
    *plain = !(wrong & up_to(last));
    return last;
}

AVX512 static size_t end_by_64_bytes(const char *text, size_t at) {
    struct wide_state state = {.kinds = _mm512_setzero_si512()};
    bool plain;
    uint64_t last = wide_step(&state, text + at, true, &plain);
    for (unsigned i = 1; i < BLOCKS && !last && plain; i++)
        last = wide_step(&state, text + (at += 64), false, &plain);
    return last && plain ? at + (size_t)__builtin_ctzll(last) + 1 : 0;
}

#endif

/* The byte behind the list at byte `at` of a text that ends in zeros, of which up to 64 are read. 0: it is malformed,
 * too long or not plain. */
static size_t plain_list_end(const char *text, size_t at) {
#ifdef __SSE2__
    /* Processors with these have popcnt and pclmul, too. */
    if (__builtin_cpu_supports("avx512bw") && __builtin_cpu_supports("bmi2"))
        return end_by_64_bytes(text, at);
#endif
    return end_by_16_bytes(text, at);
}

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
        return source_error(source, error, source->size, "the file is truncated here: %s was expected",
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
    if (scalar_may_end(c) || at + length == source->size || (c && strchr(":\"[{", c))) /* others tell what is wrong */
        return (struct json_end){at + length, NULL};
    return (struct json_end){at, "a JSON value"};
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
        bool list = c == '[' && kinds->depth > 0 && kinds->depth + PLAIN_LIST_BYTES < DEPTH_MAX;
        size_t end = list ? plain_list_end(walker->text, walker->at) : 0;
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
static struct json_end walk_brackets(const struct source *source, size_t at) {
    struct json_walker walker = walk_from(source, at);
    struct kinds kinds;
    kinds.depth = 0;
    while ((enter_value(&walker, &kinds) || leave_value(&walker, &kinds)) && !walker.expected)
        if (in_object(&kinds))
            walk_key(&walker);
    if (walker.expected)
        return (struct json_end){walker.failed_at, walker.expected};
    return (struct json_end){trim_end(source->bytes, walker.at), NULL};
}

struct json_end brackets_end(const struct source *source, size_t at) {
    size_t end = source->bytes[at] == '[' ? plain_list_end(source->bytes, at) : 0;
    return end ? (struct json_end){end, NULL} : walk_brackets(source, at);
}
