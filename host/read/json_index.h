/*
 * json_index.h - where the tokens of a JSON text begin, as one bit per byte: the first step of reading.
 *
 *     text    {"id": 12, "s": "a,b"}
 *     marks   11  11 1 1 1 11 1   11      { } [ ] : ,  outside strings, both quotes of each string, and the
 *                                         first character of every other run (numbers, true, false, null, garbage)
 *
 * Strings are checked on the way (UTF-8, control characters, escapes, the closing quote), so that later steps may trust
 * them. The text is cut into chunks that are indexed in parallel; each chunk knows how deep the nesting is where it
 * begins, so that later steps can begin anywhere too. Works on 64 bytes at a time, with the widest vectors that the
 * processor has. Cost: n / 8 bytes, and two passes over the text (one with a single thread).
 */
#ifndef READ_JSON_INDEX_H
#define READ_JSON_INDEX_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/pool.h"
#include "read/source.h"

/* The state in which a chunk begins, if the text is well-formed. */
struct json_chunk {
    int64_t depth; /* brackets that are open */
    bool in_string;
};

struct json_index {
    uint64_t *marks; /* bit i % 64 of word i / 64 stands for byte i; a zero word behind the last one */
    size_t n_words;  /* without that zero word */
    size_t n_chunks; /* chunk c covers the words from chunk_word(index, c) to chunk_word(index, c + 1) */
    struct json_chunk *chunks;
    bool has_escapes; /* there is a backslash in the text */
};

/* SUTRA_DATA: a string is malformed; the error names the first such place. */
enum sutra_status json_index_build(struct json_index *index, const struct source *source, struct pool *pool,
                                   struct sutra_error *error);
void json_index_free(struct json_index *index);

static inline size_t chunk_word(const struct json_index *index, size_t chunk) {
    return part_start(index->n_words, index->n_chunks, chunk);
}

#endif
