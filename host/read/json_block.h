/*
 * json_block.h - template: what the 64 bytes of a block are, as one 64-bit mask per kind.
 *
 * Included once for each set of vector instructions with
 *   BLOCK_NAME      name of the function
 *   BLOCK_TARGET    its target attribute, or nothing
 *   VECTOR, N_VECTORS, LOAD(p)                     a vector, how many make 64 bytes, loading one
 *   FOLD(v)                                        each byte | 0x20, which makes [ and { one character, ] and } too
 *   EQUAL(v, byte), CONTROL(v), HIGH(v)            masks of the bytes that equal one, are below 0x20, are above 0x7f
 */

BLOCK_TARGET static inline struct block BLOCK_NAME(const char *text) {
    struct block block = {0};
    for (unsigned i = 0; i < N_VECTORS; i++) {
        unsigned shift = i * (64 / N_VECTORS);
        VECTOR v = LOAD(text + shift);
        VECTOR folded = FOLD(v);
        block.quote |= (uint64_t)EQUAL(v, '"') << shift;
        block.backslash |= (uint64_t)EQUAL(v, '\\') << shift;
        block.open |= (uint64_t)EQUAL(folded, '{') << shift;
        block.close |= (uint64_t)EQUAL(folded, '}') << shift;
        block.separator |= (uint64_t)(EQUAL(v, ',') | EQUAL(v, ':')) << shift;
        block.space |= (uint64_t)(EQUAL(v, ' ') | EQUAL(v, '\n') | EQUAL(v, '\t') | EQUAL(v, '\r')) << shift;
        block.control |= (uint64_t)CONTROL(v) << shift;
        block.high |= (uint64_t)HIGH(v) << shift;
    }
    return block;
}

#undef BLOCK_NAME
#undef BLOCK_TARGET
#undef VECTOR
#undef N_VECTORS
#undef LOAD
#undef FOLD
#undef EQUAL
#undef CONTROL
#undef HIGH
