/*
 * codec.h - encodes and decodes partial results: what one process found about a rank (--shard, MPI), for the process
 * that combines all ranks. One function per struct lists its fields and serves both directions:
 *
 *     void point_codec(struct codec *codec, struct point *point) {
 *         codec_value(codec, &point->x);
 *         codec_text(codec, &point->name);
 *     }
 *
 *     struct --point_codec--> buffer --partial_result_end--> file --partial_result_open--> codec --point_codec--> struct
 *
 * A file is a header and the values without padding. Both processes run the same program on machines of one kind: the
 * header contains a magic word, the format, the version of sutra, the analysis with the sizes of its structs, and a
 * checksum of the whole file. A decoder checks bounds; after the first failure all values are decoded as zeros.
 */
#ifndef ANALYZE_CODEC_H
#define ANALYZE_CODEC_H

#include "analyze/table.h"
#include "base/arena.h"
#include "columns/strings.h"

enum codec_failure { CODEC_OK, CODEC_MALFORMED, CODEC_OTHER_OPTIONS, CODEC_NO_MEMORY };

struct codec {
    struct buffer *out;         /* encodes: values are appended here; NULL: decodes */
    const char *at, *end;       /* decodes: the bytes that are left */
    enum codec_failure failure; /* the first one */
};

/* Which analysis encodes and decodes a partial result. */
struct codec_kind {
    const char *analysis;
    uint64_t layout; /* a number made of the sizes of the structs that are encoded as they are in memory */
};

/* Which process encoded it; n_shards 0: a process of MPI. */
struct codec_shard {
    uint32_t shard, n_shards;
};

/* ---- Files ---- */

/* Reserves the header at the beginning of a file, and fills it when the content is complete. */
void partial_result_begin(struct buffer *out);
void partial_result_end(struct buffer *out, const struct codec_kind *kind, struct codec_shard shard);

/* Updates the length and the checksum of a header whose content has changed. */
void partial_result_seal(struct buffer *out);

/* Whether a file that begins with these bytes may be a partial result. */
bool is_partial_result(const char *bytes, size_t size);

/* Begins to decode the content of a file. Returns NULL, or why it is refused; *shard is zeros if it has no header. */
const char *partial_result_open(struct codec *codec, const char *bytes, size_t size, const struct codec_kind *kind,
                                struct codec_shard *shard);

/* ---- Values ---- */

static inline bool codec_decodes(const struct codec *codec) {
    return !codec->out;
}

/* Records the first failure. */
static inline void codec_fail(struct codec *codec, enum codec_failure failure) {
    codec->failure = codec->failure ? codec->failure : failure;
}

/* Fails with CODEC_MALFORMED unless decoded values are valid. */
static inline void codec_check(struct codec *codec, bool valid) {
    if (!valid)
        codec_fail(codec, CODEC_MALFORMED);
}

/* n bytes as they are in memory, and a value of any type without padding. */
void codec_bytes(struct codec *codec, void *bytes, size_t n);
#define codec_value(codec, value) codec_bytes(codec, value, sizeof *(value))

/* A byte; all but 0 are decoded as true. */
void codec_bool(struct codec *codec, bool *value);

/* A count, an index or an enum value of four bytes; a decoded one is at most `max`. */
void codec_limited_bytes(struct codec *codec, void *number, uint32_t max);
#define codec_limited(codec, number, max)                                                                              \
    do {                                                                                                               \
        _Static_assert(sizeof *(number) == sizeof(uint32_t), "four bytes");                                            \
        codec_limited_bytes(codec, number, max);                                                                       \
    } while (0)

/* A text or NULL. A decoded one is in the bytes of the file, or in the arena, where NULL becomes "". */
void codec_text(struct codec *codec, const char **text);
void codec_text_in(struct codec *codec, const char **text, struct arena *arena);

/* A text in an array of `size` characters. */
void codec_chars(struct codec *codec, char *text, size_t size);

void codec_status(struct codec *codec, enum sutra_status *status);
void codec_error(struct codec *codec, struct sutra_error *error);

/* Strings; decoded into an empty table, with the same numbers. */
void codec_strings(struct codec *codec, struct strings *strings);

/* An array of *n structs as they are in memory. A decoded one is in the arena, or if that is NULL, the caller's to
 * free(); after a failure it is NULL and *n is 0. */
void codec_array_bytes(struct codec *codec, void *list, uint64_t *n, size_t size, struct arena *arena);
#define codec_array(codec, list, n, arena) codec_array_bytes(codec, list, n, sizeof **(list), arena)

/* A table; decoded into one that has its columns, whose numbers become of the encoded kinds. */
void codec_table(struct codec *codec, struct sutra_table *table);

/* All tables of a result, and the reasons of missing ones; decoded into an initialized result. */
void codec_result(struct codec *codec, struct sutra_result *result);

/* ---- Options ---- */

#define encode_value(out, value) buffer_append(out, &(value), sizeof(value))
void encode_text(struct buffer *out, const char *text); /* or NULL */

/* Options are compared instead of decoded: CODEC_OTHER_OPTIONS: the encoded ones differ from `options`. */
typedef void encode_options(const void *options, struct buffer *out);
void codec_options(struct codec *codec, encode_options *encode, const void *options);

#endif
