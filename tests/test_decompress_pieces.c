/*
 * test_decompress_pieces.c - tests parallel decompression: files of many gzip members or zstd frames give the same
 * bytes with one thread and with several; threads reject truncated files.
 */
#include <libdeflate.h>

#include "generate/random.h"
#include "read/source.h"
#include "unit.h"
#include "write/sink.h"

#define LIMIT ((size_t)1 << 20)

typedef bool pieces_way(const char *bytes, size_t size, size_t limit, struct pool *pool, struct buffer *out);
typedef enum sutra_status plain_way(const char *name, const char *bytes, size_t size, uint64_t most, struct buffer *out,
                                    struct sutra_error *error);

static const struct {
    enum compression compression;
    pieces_way *pieces;
    plain_way *plain;
} ways[] = {{COMPRESSION_GZIP, gzip_pieces, gzip_decompress}, {COMPRESSION_ZSTD, zstd_pieces, zstd_decompress}};

/* Text that repeats itself, or bytes that nothing shortens. */
static void add_text(struct buffer *text, size_t n, bool random, struct random *dice) {
    for (size_t i = 0; i < n; i++) {
        char c = random ? (char)random_below(dice, 256) : "\"dur\": 1, "[i % 10];
        buffer_append(text, &c, 1);
    }
}

/* Writes `n` members or frames to *packed and their decompressed content to *text. */
static void make(enum compression compression, size_t n, bool random, struct buffer *packed, struct buffer *text) {
    struct random dice = {n};
    for (size_t i = 0; i < n; i++) {
        size_t from = text->length;
        add_text(text, i % 4 == 1 ? 0 : 1 + i * 1000, random, &dice);
        buffer_append(text, "", 0);
        assert_true(compress_piece(compression, text->bytes + from, text->length - from, packed));
    }
    assert_false(packed->failed || text->failed);
}

static void threads_decompress_pieces_alike(void **state) {
    for (size_t i = 0; i < 2 * 7 * 2 * 2; i++) {
        size_t n = 1 + i / 2 % 7;
        struct buffer packed = {0}, text = {0}, out = {0};
        struct pool *pool = pool_create(i / 28 ? 3 : 1);
        assert_non_null(pool);
        make(ways[i % 2].compression, n, i / 14 % 2, &packed, &text);
        assert_int_equal(ways[i % 2].pieces(packed.bytes, packed.length, LIMIT, pool, &out), n > 1);
        assert_int_equal(out.length, n > 1 ? text.length : 0);
        assert_true(n == 1 || memcmp(out.bytes, text.bytes, text.length) == 0);
        buffer_free(&out);
        assert_false(ways[i % 2].pieces(packed.bytes, packed.length, text.length - 1, pool, &out));
        buffer_free(&packed);
        buffer_free(&text);
        pool_free(pool);
    }
}

/* A changed byte, missing bytes, trailing bytes: threads give the result of one thread, or none. */
static void corrupt_pieces_are_left_to_one_thread(void **state) {
    struct pool *pool = pool_create(2);
    size_t n_left = 0;
    assert_non_null(pool);
    for (uint32_t seed = 0; seed < 300; seed++) {
        struct random dice = {seed};
        struct buffer packed = {0}, text = {0}, out = {0}, plain = {0};
        make(ways[seed % 2].compression, 3, seed % 3 == 0, &packed, &text);
        if (seed % 5 == 0)
            packed.length -= 1 + random_below(&dice, (uint32_t)packed.length - 1);
        else if (seed % 5 == 1)
            buffer_append(&packed, "\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0", 1 + random_below(&dice, 20));
        else
            packed.bytes[random_below(&dice, (uint32_t)packed.length)] ^= (char)(1 << random_below(&dice, 8));
        bool made = ways[seed % 2].pieces(packed.bytes, packed.length, LIMIT, pool, &out);
        if (made) {
            assert_int_equal(ways[seed % 2].plain("x", packed.bytes, packed.length, LIMIT, &plain, NULL), SUTRA_OK);
            assert_int_equal(out.length, plain.length);
            assert_memory_equal(out.bytes, plain.bytes, plain.length);
        }
        assert_true(made || !out.bytes);
        n_left += !made;
        buffer_free(&packed);
        buffer_free(&text);
        buffer_free(&out);
        buffer_free(&plain);
    }
    assert_true(n_left > 100);
    pool_free(pool);
}

/* A stored (uncompressed) member contains bytes that look like the header of a member. */
static void gzip_header_inside_a_member_is_no_member(void **state) {
    static const char stored[] = "\x1f\x8b\x08\0\0\0\0\0\0\xff\x01\x1e\x00\xe1\xff"
                                 "123456789012345678\x1f\x8b\x08 123456789";
    struct pool *pool = pool_create(2);
    struct buffer out = {0};
    assert_non_null(pool);
    assert_false(gzip_pieces(stored, sizeof stored - 1, LIMIT, pool, &out));
    assert_null(out.bytes);
    pool_free(pool);
}

/* Nothing of these bytes but the first three could begin a member: they do not keep threads from sharing the others. */
static void bytes_inside_a_member_do_not_split_it(void **state) {
    static const char inside[] =
        "123456789012345678\x1f\x8b\x08 123456789\x1f\x8b\x08\0time\1\3456789\x1f\x8b\x08\0time\2\x0e"
        "6789 \x1f\x8b";
    struct pool *pool = pool_create(2);
    struct buffer packed = {0}, out = {0};
    assert_non_null(pool);
    for (int i = 0; i < 2; i++) {
        struct libdeflate_compressor *stores = libdeflate_alloc_compressor(0);
        char member[200];
        assert_non_null(stores);
        size_t n = libdeflate_gzip_compress(stores, inside, sizeof inside, member, sizeof member);
        libdeflate_free_compressor(stores);
        assert_in_range(n, sizeof inside, sizeof member);
        buffer_append(&packed, member, n);
    }
    assert_true(gzip_pieces(packed.bytes, packed.length, LIMIT, pool, &out));
    assert_int_equal(out.length, 2 * sizeof inside);
    assert_memory_equal(out.bytes, inside, sizeof inside);
    assert_memory_equal(out.bytes + sizeof inside, inside, sizeof inside);
    buffer_free(&packed);
    buffer_free(&out);
    pool_free(pool);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(threads_decompress_pieces_alike),
        cmocka_unit_test(corrupt_pieces_are_left_to_one_thread),
        cmocka_unit_test(gzip_header_inside_a_member_is_no_member),
        cmocka_unit_test(bytes_inside_a_member_do_not_split_it),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
