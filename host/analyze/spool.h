/*
 * spool.h - partial results: what one process leaves of an analysis for another. A header, then numbers, texts and
 * tables, one after the other.
 *
 *     struct buffer --spool_put...()--> bytes --file--> struct spool_reader --spool_take...()--> the same
 *
 * Both processes run the same program on machines of one kind: the header has a magic word, the format, the version of
 * sutra, the analysis with the sizes of its structs, and a checksum of the whole file. A reader that nevertheless meets
 * malformed bytes sets `failed`, and gives zeros from then on.
 */
#ifndef ANALYZE_SPOOL_H
#define ANALYZE_SPOOL_H

#include "analyze/table.h"
#include "base/arena.h"
#include "columns/strings.h"

struct spool_reader {
    const char *at, *end;
    bool failed;
};

/* Which analysis writes and reads a partial result. */
struct spool_kind {
    const char *analysis;
    uint64_t layout; /* a number made of the sizes of the structs that are written as they are in memory */
};

/* Which process wrote it; n_parts 0: one of MPI. */
struct spool_writer {
    uint32_t part, n_parts;
};

/* Reserves the header of a file at its beginning, and fills it when all content is there. */
void spool_begin(struct buffer *out);
void spool_end(struct buffer *out, const struct spool_kind *kind, struct spool_writer writer);

/* Sets the length and the checksum of a header that is there: of content that has changed. */
void spool_seal(struct buffer *out);

/* Whether a file that begins with these bytes may be a partial result. */
bool spool_may_begin(const char *bytes, size_t size);

/* Begins to read the content of a file. Returns NULL, or why it is refused; *writer is zeros where it has no
 * header. */
const char *spool_open(struct spool_reader *reader, const char *bytes, size_t size, const struct spool_kind *kind,
                       struct spool_writer *writer);

#define spool_put(out, value) buffer_append(out, &(value), sizeof(value))
void spool_put_text(struct buffer *out, const char *text); /* or NULL */
void spool_put_table(struct buffer *out, const struct sutra_table *table);
void spool_put_strings(struct buffer *out, const struct strings *strings);
void spool_put_rows(struct buffer *out, const void *rows, uint64_t n, size_t size);
void spool_put_error(struct buffer *out, const struct sutra_error *error);

void spool_take_bytes(struct spool_reader *reader, void *to, size_t n);
#define spool_take(reader, value) spool_take_bytes(reader, &(value), sizeof(value))

/* A byte that is not 0. */
static inline bool spool_take_bool(struct spool_reader *reader) {
    unsigned char byte;
    spool_take(reader, byte);
    return byte != 0;
}

/* A number up to `most`, as enum values and indices are. */
uint32_t spool_take_limited(struct spool_reader *reader, uint32_t most);

/* A status, and an error, whose texts end. */
enum sutra_status spool_take_status(struct spool_reader *reader);
void spool_take_error(struct spool_reader *reader, struct sutra_error *error);

/* The text, which lies among the bytes; or NULL. */
const char *spool_take_text(struct spool_reader *reader);

/* Whether the next text is this one, or both are NULL. */
bool spool_take_same(struct spool_reader *reader, const char *text);

/* Steps over the next bytes if they are these, which tell the options, and are freed. SUTRA_DATA: they are not: the
 * trace at `path` was analyzed with others. */
enum sutra_status spool_take_options(struct spool_reader *reader, struct buffer *wanted, const char *path,
                                     struct sutra_error *error);

/* Fills an empty table of strings, which get the numbers that they had. False: out of memory. */
bool spool_take_strings(struct spool_reader *reader, struct strings *strings);

/* *n rows of `size` bytes each, the caller's and never NULL but where memory runs out or they are damaged. */
void *spool_take_rows(struct spool_reader *reader, uint64_t *n, size_t size);

/* Fills a table that has its columns, or none; columns of numbers become of the kinds that were put. Out of memory sets
 * table->failed. */
void spool_take_table(struct spool_reader *reader, struct sutra_table *table);

#endif
