/*
 * plain_list.c - the grammar of plain lists, on bits: 64 bytes of text at once, each a bit of a few words.
 *
 * Strings are told by their quotes, and what stands outside of them by the byte before. Where the processor has vectors
 * of 64 bytes, what a byte is and what may follow it are looked up; else the bits of each kind are moved by one.
 */
#include "read/plain_list.h"

#include <stdbool.h>
#include <stdint.h>

#include "text/scan.h"

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

size_t plain_list_end(const char *text, size_t at) {
#ifdef __SSE2__
    /* Processors with these have popcnt and pclmul, too. */
    if (__builtin_cpu_supports("avx512bw") && __builtin_cpu_supports("bmi2"))
        return end_by_64_bytes(text, at);
#endif
    return end_by_16_bytes(text, at);
}
