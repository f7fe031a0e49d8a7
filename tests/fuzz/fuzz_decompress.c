/*
 * fuzz_decompress.c - fuzzes parallel decompression: the input is gzip members or zstd frames; several threads must
 * give the same bytes as one.
 */
#include "fuzz.h"
#include "read/source.h"

#define LIMIT ((size_t)1 << 20)

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
    char *bytes = padded_copy(data, size);
    struct pool *pool = pool_create(1);
    struct buffer pieces = {0}, plain = {0};
    check(pool, "memory");
    if (is_gzip(bytes, size) && gzip_pieces(bytes, size, LIMIT, pool, &pieces)) {
        check(gzip_decompress("input", bytes, size, LIMIT, &plain, NULL) == SUTRA_OK, "members are whole");
        check(same_bytes(pieces.bytes, pieces.length, plain.bytes, plain.length), "and the same");
    } else if (is_zstd(bytes, size) && zstd_pieces(bytes, size, LIMIT, pool, &pieces)) {
        check(zstd_decompress("input", bytes, size, LIMIT, &plain, NULL) == SUTRA_OK, "frames are whole");
        check(same_bytes(pieces.bytes, pieces.length, plain.bytes, plain.length), "and the same");
    }
    buffer_free(&pieces);
    buffer_free(&plain);
    pool_free(pool);
    free(bytes);
    return 0;
}
