/*
 * json_index.c - building the index.
 *
 * Whether a chunk begins inside a string follows from the parity of the quotes before it. A single thread knows it when
 * it gets there. Several threads begin where it is not known yet: but no string has a line break in it, so the quotes
 * up to the next one tell, too, and only the first chunk's state and how the chunks meet must be right for all to be.
 * Where lines are too long, or the chunks do not meet (a line break in a string), a first, cheaper pass counts the
 * quotes of all chunks.
 */
#include "read/json_index.h"

#include <stdlib.h>
#include <string.h>

#include "base/arena.h"
#include "base/error.h"
#include "base/memory.h"
#include "text/string_text.h"

#if defined(__x86_64__)
#include <immintrin.h>
#endif

/* Bit i stands for byte i of 64. */
struct block {
    uint64_t quote, backslash, open, close, separator, space, control, high;
};

#if defined(__x86_64__)

#define BLOCK_NAME block_sse2
#define BLOCK_TARGET
#define VECTOR         __m128i
#define N_VECTORS      4
#define LOAD(p)        _mm_loadu_si128((const __m128i *)(p))
#define FOLD(v)        _mm_or_si128(v, _mm_set1_epi8(0x20))
#define EQUAL(v, byte) (uint16_t) _mm_movemask_epi8(_mm_cmpeq_epi8(v, _mm_set1_epi8(byte)))
#define CONTROL(v)     (uint16_t) _mm_movemask_epi8(_mm_cmpeq_epi8(_mm_min_epu8(v, _mm_set1_epi8(0x1f)), v))
#define HIGH(v)        (uint16_t) _mm_movemask_epi8(v)
#include "read/json_block.h"

#define BLOCK_NAME     block_avx2
#define BLOCK_TARGET   __attribute__((target("avx2,popcnt,bmi")))
#define VECTOR         __m256i
#define N_VECTORS      2
#define LOAD(p)        _mm256_loadu_si256((const __m256i *)(p))
#define FOLD(v)        _mm256_or_si256(v, _mm256_set1_epi8(0x20))
#define EQUAL(v, byte) (uint32_t) _mm256_movemask_epi8(_mm256_cmpeq_epi8(v, _mm256_set1_epi8(byte)))
#define CONTROL(v)     (uint32_t) _mm256_movemask_epi8(_mm256_cmpeq_epi8(_mm256_min_epu8(v, _mm256_set1_epi8(0x1f)), v))
#define HIGH(v)        (uint32_t) _mm256_movemask_epi8(v)
#include "read/json_block.h"

#define BLOCK_NAME     block_avx512
#define BLOCK_TARGET   __attribute__((target("avx512f,avx512bw,popcnt,bmi")))
#define VECTOR         __m512i
#define N_VECTORS      1
#define LOAD(p)        _mm512_loadu_si512(p)
#define FOLD(v)        _mm512_or_si512(v, _mm512_set1_epi8(0x20))
#define EQUAL(v, byte) _mm512_cmpeq_epi8_mask(v, _mm512_set1_epi8(byte))
#define CONTROL(v)     _mm512_cmplt_epu8_mask(v, _mm512_set1_epi8(0x20))
#define HIGH(v)        _mm512_movepi8_mask(v)
#include "read/json_block.h"

#else

static inline struct block block_plain(const char *text) {
    struct block block = {0};
    for (unsigned i = 0; i < 64; i++) {
        unsigned char c = (unsigned char)text[i];
        uint64_t bit = (uint64_t)1 << i;
        block.quote |= c == '"' ? bit : 0;
        block.backslash |= c == '\\' ? bit : 0;
        block.open |= (c | 0x20) == '{' ? bit : 0;
        block.close |= (c | 0x20) == '}' ? bit : 0;
        block.separator |= c == ',' || c == ':' ? bit : 0;
        block.space |= c == ' ' || c == '\n' || c == '\t' || c == '\r' ? bit : 0;
        block.control |= c < 0x20 ? bit : 0;
        block.high |= c >= 0x80 ? bit : 0;
    }
    return block;
}

#endif

/* What one block hands to the next: all ones or zeros for in_string, a single bit for the others. */
struct carry {
    uint64_t in_string, escaped, scalar;
};

/* What a chunk found. */
struct chunk_result {
    struct carry carry; /* behind its last byte */
    int64_t depth;      /* brackets opened less brackets closed */
    size_t bad;         /* first byte of a malformed string, or SIZE_MAX */
    bool has_escapes, has_high;
};

struct index_build {
    struct json_index *index;
    const struct source *source;
    const struct pool *pool;
    struct chunk_result *results;
    struct carry *starts;
};

/* Bits that a backslash before them escapes. Backslashes are rare, so they are walked one by one. */
static inline uint64_t escaped_bits(uint64_t backslash, uint64_t *carry) {
    uint64_t escaped = *carry;
    *carry = 0;
    for (backslash &= ~escaped; backslash; backslash &= backslash - 1) {
        uint64_t bit = backslash & -backslash;
        if (bit >> 63)
            *carry = 1;
        escaped |= bit << 1;
        backslash &= ~(bit << 1);
    }
    return escaped;
}

static inline uint64_t prefix_xor(uint64_t bits) {
    bits ^= bits << 1;
    bits ^= bits << 2;
    bits ^= bits << 4;
    bits ^= bits << 8;
    bits ^= bits << 16;
    return bits ^ bits << 32;
}

static bool is_hex(char c) {
    return (c >= '0' && c <= '9') || ((c | 0x20) >= 'a' && (c | 0x20) <= 'f');
}

/* Whether the character behind a backslash, at `text`, makes a legal escape. */
static bool legal_escape(const char *text) {
    if (*text == 'u')
        return is_hex(text[1]) && is_hex(text[2]) && is_hex(text[3]) && is_hex(text[4]);
    return *text && strchr("\"\\/bfnrt", *text);
}

/* Offset of the first bad escape or control character among 64 bytes, or 64. */
static size_t first_bad(const char *text, uint64_t escapes, uint64_t controls) {
    size_t bad = controls ? (size_t)__builtin_ctzll(controls) : 64;
    for (; escapes; escapes &= escapes - 1) {
        size_t at = (size_t)__builtin_ctzll(escapes);
        if (!legal_escape(text + at))
            return at < bad ? at : bad;
    }
    return bad;
}

/* Makes one word of marks from a block and what came before it. */
__attribute__((always_inline)) static inline uint64_t block_marks(const struct block *block, const char *text,
                                                                  size_t at, struct chunk_result *result) {
    uint64_t escaped = 0;
    if (block->backslash | result->carry.escaped)
        escaped = escaped_bits(block->backslash, &result->carry.escaped);
    uint64_t quote = block->quote & ~escaped;
    uint64_t in_string = prefix_xor(quote) ^ result->carry.in_string; /* with the opening quote, without the closing */
    result->carry.in_string = -(in_string >> 63);

    if (((block->control | escaped) & in_string) && result->bad == SIZE_MAX) {
        size_t bad = first_bad(text, escaped & in_string, block->control & in_string);
        if (bad < 64)
            result->bad = at + bad;
    }
    uint64_t structural = (block->open | block->close | block->separator) & ~in_string;
    uint64_t scalar = ~(structural | block->space | quote | in_string);
    uint64_t starts = scalar & ~(scalar << 1 | result->carry.scalar);
    result->carry.scalar = scalar >> 63;
    result->depth += __builtin_popcountll(block->open & ~in_string) - __builtin_popcountll(block->close & ~in_string);
    result->has_high |= block->high != 0;
    result->has_escapes |= block->backslash != 0;
    return structural | quote | starts;
}

/* The passes wait for memory, not for instructions: the processor's own look ahead ends at each page. */
#define FETCHED_AHEAD 3072

/* The two passes over the words [begin, end), as a body for each kind of vector. The text behind its end is zeros that
 * a last block may not all hold, so that block is copied; zeros count as scalars and are cut off. */
#define PASSES(KIND, TARGET)                                                                                           \
    TARGET static uint64_t parity_##KIND(const char *text, size_t begin, size_t end, uint64_t escaped) {               \
        uint64_t parity = 0;                                                                                           \
        for (size_t word = begin; word < end; word++) {                                                                \
            __builtin_prefetch(text + word * 64 + FETCHED_AHEAD);                                                      \
            struct block block = block_##KIND(text + word * 64);                                                       \
            uint64_t mask = 0;                                                                                         \
            if (block.backslash | escaped)                                                                             \
                mask = escaped_bits(block.backslash, &escaped);                                                        \
            parity ^= block.quote & ~mask;                                                                             \
        }                                                                                                              \
        return (uint64_t)__builtin_popcountll(parity) & 1;                                                             \
    }                                                                                                                  \
    TARGET static void marks_##KIND(const char *text, size_t begin, size_t end, uint64_t *marks,                       \
                                    struct chunk_result *result) {                                                     \
        for (size_t word = begin; word < end; word++) {                                                                \
            __builtin_prefetch(text + word * 64 + FETCHED_AHEAD);                                                      \
            struct block block = block_##KIND(text + word * 64);                                                       \
            marks[word] = block_marks(&block, text + word * 64, word * 64, result);                                    \
        }                                                                                                              \
    }

#if defined(__x86_64__)
PASSES(sse2, )
PASSES(avx2, __attribute__((target("avx2,popcnt,bmi"))))
PASSES(avx512, __attribute__((target("avx512f,avx512bw,popcnt,bmi"))))
#else
PASSES(plain, )
#endif

struct passes {
    uint64_t (*parity)(const char *text, size_t begin, size_t end, uint64_t escaped);
    void (*marks)(const char *text, size_t begin, size_t end, uint64_t *marks, struct chunk_result *result);
};

static struct passes choose_passes(void) {
#if defined(__x86_64__)
    if (__builtin_cpu_supports("avx512bw"))
        return (struct passes){parity_avx512, marks_avx512};
    if (__builtin_cpu_supports("avx2"))
        return (struct passes){parity_avx2, marks_avx2};
    return (struct passes){parity_sse2, marks_sse2};
#else
    return (struct passes){parity_plain, marks_plain};
#endif
}

static bool is_scalar(char c) {
    return !(c == ' ' || c == '\n' || c == '\t' || c == '\r' || c == '"' || strchr("{}[],:", c)) || c == 0;
}

/* Whether an odd number of backslashes stands right before byte `at`. */
static uint64_t escaped_at(const char *text, size_t at) {
    size_t n = 0;
    while (n < at && text[at - 1 - n] == '\\')
        n++;
    return n & 1;
}

/* Where checking UTF-8 may begin for a chunk that begins at `at`: behind the rest of a character. */
static size_t character_start(const struct source *source, size_t at) {
    size_t end = at + 3;
    while (at < end && at < source->size && ((unsigned char)source->bytes[at] & 0xc0) == 0x80)
        at++;
    return at < source->size ? at : source->size;
}

static void check_utf8(struct index_build *build, size_t chunk) {
    struct chunk_result *result = &build->results[chunk];
    size_t begin = character_start(build->source, chunk_word(build->index, chunk) * 64);
    size_t end = character_start(build->source, chunk_word(build->index, chunk + 1) * 64);
    if (chunk == 0)
        begin = 0;
    size_t bad = begin + utf8_check(build->source->bytes + begin, end - begin);
    if (bad < end && bad < result->bad)
        result->bad = bad;
}

/* Farthest that a line break is looked for. */
#define LINE_BYTES (1 << 16)

/* Whether the text is inside a string at byte `at`, if strings have no line breaks; false: none is near. */
static bool guess_in_string(const struct source *source, size_t at, bool escaped, bool *in_string) {
    size_t rest = source->size - at;
    const char *text = source->bytes + at, *end = memchr(text, '\n', rest < LINE_BYTES ? rest : LINE_BYTES);
    *in_string = false;
    for (; end && text < end; text++) {
        *in_string ^= *text == '"' && !escaped;
        escaped = *text == '\\' && !escaped;
    }
    return end != NULL;
}

static bool guess_starts(struct index_build *build) {
    for (size_t chunk = 1; chunk < build->index->n_chunks; chunk++) {
        size_t at = chunk_word(build->index, chunk) * 64;
        struct carry *start = &build->starts[chunk];
        bool in_string;
        start->escaped = escaped_at(build->source->bytes, at);
        if (!guess_in_string(build->source, at, start->escaped, &in_string))
            return false;
        start->in_string = -(uint64_t)in_string;
        start->scalar = !in_string && is_scalar(build->source->bytes[at - 1]);
    }
    return true;
}

/* Whether each chunk ends in the state in which the next one was taken to begin. */
static bool chunks_meet(const struct index_build *build) {
    for (size_t chunk = 1; chunk < build->index->n_chunks; chunk++)
        if (build->results[chunk - 1].carry.in_string != build->starts[chunk].in_string)
            return false;
    return true;
}

static void count_quotes(void *arg, size_t chunk) {
    struct index_build *build = arg;
    size_t begin = chunk_word(build->index, chunk), end = chunk_word(build->index, chunk + 1);
    uint64_t escaped = escaped_at(build->source->bytes, begin * 64);
    build->starts[chunk].escaped = escaped;
    build->starts[chunk].in_string = choose_passes().parity(build->source->bytes, begin, end, escaped);
}

/* From quotes per chunk to the state in which each chunk begins. */
static void find_starts(struct index_build *build) {
    uint64_t odd = 0;
    for (size_t chunk = 0; chunk < build->index->n_chunks; chunk++) {
        size_t at = chunk_word(build->index, chunk) * 64;
        uint64_t quotes = build->starts[chunk].in_string;
        build->starts[chunk].in_string = -odd;
        build->starts[chunk].scalar = at > 0 && !odd && is_scalar(build->source->bytes[at - 1]);
        odd ^= quotes;
    }
}

static void mark_chunk(void *arg, size_t chunk) {
    struct index_build *build = arg;
    struct json_index *index = build->index;
    size_t size = build->source->size;
    struct chunk_result *result = &build->results[chunk];
    *result = (struct chunk_result){.carry = build->starts[chunk], .bad = SIZE_MAX};
    if (pool_is_cancelled(build->pool))
        return;
    size_t begin = chunk_word(index, chunk), end = chunk_word(index, chunk + 1);
    choose_passes().marks(build->source->bytes, begin, end, index->marks, result);
    if (end == index->n_words && size % 64)
        index->marks[end - 1] &= ((uint64_t)1 << size % 64) - 1;
    if (result->has_high)
        check_utf8(build, chunk);
    if (result->bad >= size)
        result->bad = SIZE_MAX;
    source_give_back(build->source, begin * 64, end * 64);
}

/* The quote that opened the string which the text ends in: the last marked one. */
static size_t last_quote(const struct json_index *index, const char *text) {
    for (size_t word = index->n_words; word-- > 0;)
        for (uint64_t bits = index->marks[word]; bits;) {
            size_t bit = 63 - (size_t)__builtin_clzll(bits);
            if (text[word * 64 + bit] == '"')
                return word * 64 + bit;
            bits &= ~((uint64_t)1 << bit);
        }
    return 0;
}

static enum sutra_status string_error(const struct source *source, size_t at, struct sutra_error *error) {
    unsigned char c = (unsigned char)source->bytes[at];
    size_t rest = source->size - at;
    if (utf8_check(source->bytes + at, rest < 4 ? rest : 4) == 0)
        return source_error(source, error, at, "byte 0x%02x is not valid UTF-8", c);
    if (c < 0x20)
        return source_error(source, error, at, "control character 0x%02x in a string: it must be escaped", c);
    return source_error(source, error, at,
                        "bad escape in a string: one of \\\" \\\\ \\/ \\b \\f \\n \\r \\t \\uXXXX was "
                        "expected");
}

/* Sums up what the chunks found. */
static enum sutra_status finish(struct index_build *build, struct sutra_error *error) {
    struct json_index *index = build->index;
    int64_t depth = 0;
    for (size_t chunk = 0; chunk < index->n_chunks; chunk++) {
        const struct chunk_result *result = &build->results[chunk];
        index->chunks[chunk] = (struct json_chunk){depth, build->starts[chunk].in_string != 0};
        depth += result->depth;
        index->has_escapes |= result->has_escapes;
        if (result->bad != SIZE_MAX)
            return string_error(build->source, result->bad, error);
    }
    if (build->results[index->n_chunks - 1].carry.in_string)
        return source_error(build->source, error, last_quote(index, build->source->bytes),
                            "this string is not closed before the end of the file");
    return SUTRA_OK;
}

/* Enough chunks to keep all threads busy and to show progress, of 256 KiB at least. */
static size_t choose_chunks(size_t size, struct pool *pool) {
    size_t most = size / (1 << 18) + 1, wanted = (size_t)pool_threads(pool) * 4, shown = size >> 26;
    if (wanted < shown)
        wanted = shown;
    return wanted < most ? wanted : most;
}

/* A single thread hands the state from chunk to chunk and needs no pass over the quotes. */
static void mark_in_order(struct index_build *build) {
    for (size_t chunk = 0; chunk < build->index->n_chunks; chunk++) {
        if (chunk > 0)
            build->starts[chunk] = build->results[chunk - 1].carry;
        mark_chunk(build, chunk);
    }
}

static void mark_in_parallel(struct index_build *build, struct pool *pool) {
    size_t n = build->index->n_chunks;
    if (guess_starts(build)) {
        pool_run(pool, n, mark_chunk, build);
        if (chunks_meet(build))
            return;
    }
    pool_run(pool, n, count_quotes, build);
    find_starts(build);
    pool_run(pool, n, mark_chunk, build);
}

enum sutra_status json_index_build(struct json_index *index, const struct source *source, struct pool *pool,
                                   struct sutra_error *error) {
    *index = (struct json_index){.n_words = source->size / 64 + (source->size % 64 != 0)};
    index->n_chunks = choose_chunks(source->size, pool);
    index->marks = malloc((index->n_words + 1) * sizeof *index->marks);
    memory_on_large_pages(index->marks, (index->n_words + 1) * sizeof *index->marks);
    index->chunks = calloc(index->n_chunks, sizeof *index->chunks);
    struct arena arena = {0};
    struct index_build build = {index, source, pool, arena_zeros(&arena, index->n_chunks, sizeof *build.results),
                                arena_zeros(&arena, index->n_chunks, sizeof *build.starts)};
    enum sutra_status status = index->marks && index->chunks ? arena_status(&arena, error) : error_memory(error);
    if (!status) {
        index->marks[index->n_words] = 0;
        if (pool_threads(pool) > 1 && index->n_chunks > 1)
            mark_in_parallel(&build, pool);
        else
            mark_in_order(&build);
        status = pool_is_cancelled(pool) ? error_set(error, SUTRA_CANCELLED, "cancelled") : finish(&build, error);
    }
    arena_free(&arena);
    if (status)
        json_index_free(index);
    return status;
}

void json_index_free(struct json_index *index) {
    free(index->marks);
    free(index->chunks);
    *index = (struct json_index){0};
}
