/*
 * batch.h - makes an Arrow stream of one batch of columns, as documented in sutra/columns.h.
 *
 *     struct batch batch = {.n_rows = n};
 *     batch_values(&batch, "dur", "g", "us", values)          for each column, in order
 *     status = batch_stream(&batch, stream, error)            which owns all of it, also on failure
 *
 * A column is an ArrowArray, which owns its buffers or holds a reference to their owner. A batch owns its arguments
 * also if memory runs out, which batch_stream() reports at the end.
 */
#ifndef ARROW_BATCH_H
#define ARROW_BATCH_H

#include <stdbool.h>
#include <stdint.h>

#include "base/memory.h"
#include "base/threads.h"
#include "columns/numbers.h"
#include "columns/strings.h"
#include "sutra/columns.h"

/* The valid rows: a bit for each. Rows are appended from the first to the last. */
struct valid_rows {
    uint64_t *bits; /* NULL: all, or out of memory if `failed` */
    uint64_t word;  /* the bits of the latest rows, the last row highest, until there are 64 */
    uint64_t n_null;
    bool failed;
};

struct valid_rows valid_new(uint64_t n);

/* Writes the bits of the latest `n` rows. Does nothing without memory. */
static inline void valid_write_word(struct valid_rows *valid, uint64_t row, uint64_t n) {
    if (!valid->bits)
        return;
    valid->bits[row / 64] = valid->word >> (64 - n);
    valid->n_null += n - (uint64_t)__builtin_popcountll(valid->bits[row / 64]);
}

static inline void valid_append(struct valid_rows *valid, uint64_t row, bool is_valid) {
    valid->word = valid->word >> 1 | (uint64_t)is_valid << 63;
    if (row % 64 == 63)
        valid_write_word(valid, row, 64);
}

/* The owner of the memory of columns; `leave` releases a reference. */
struct column_owner {
    void *thing;
    struct holders *holders;
    void (*leave)(void *thing);
};

/* The buffer of a column: its own memory, or memory of an owner whose reference is released at the end. */
struct batch_values {
    const void *data;
    void (*leave)(void *owner); /* NULL: `data` is the column's own */
    void *owner;
    struct valid_rows valid;
};

/* Concatenated texts, as in Arrow. Zeros are an empty list. */
struct text_list {
    struct buffer ends, bytes; /* ends: int64_t */
    uint64_t n;
};

/* Lone surrogates become U+FFFD. */
void text_list_add(struct text_list *texts, const char *bytes, size_t length);

struct batch_column {
    char *name;
    const char *format, *unit; /* unit may be NULL */
    const char *inner;         /* the format of the dictionary, or of a list's elements; NULL: there is none */
    bool is_json;              /* each text is JSON */
    struct ArrowArray array;
};

struct batch {
    uint64_t n_rows, n_columns, capacity;
    struct batch_column *columns;
    bool failed;
};

/* Numbers, in the format's layout: "l", "g", "I". */
void batch_values(struct batch *batch, const char *name, const char *format, const char *unit,
                  struct batch_values values);

/* Bits, made with valid_append(); bits of rows that are not valid are ignored. */
void batch_bits(struct batch *batch, const char *name, struct valid_rows bits, struct valid_rows valid);

/* A column without any value. */
void batch_nothing(struct batch *batch, const char *name);

/* Texts as they are. */
void batch_texts(struct batch *batch, const char *name, struct text_list *texts, struct valid_rows valid);

/* Texts by number: `numbers`, of int32_t or, with `small`, int8_t, is the batch's to free. */
void batch_dictionary(struct batch *batch, const char *name, void *numbers, bool small, struct text_list *texts,
                      struct valid_rows valid);

/* Strings by number, STRING_NONE for null; the dictionary contains the strings that occur. Of this and the next two
 * functions `numbers` is borrowed; NULL: out of memory. */
void batch_strings(struct batch *batch, const char *name, const uint32_t *numbers, const struct strings *strings);

/* The same, but `empty`, the number of a string, is null as well. */
void batch_strings_but(struct batch *batch, const char *name, const uint32_t *numbers, const struct strings *strings,
                       uint32_t empty);

/* A few words by number, below n_words, all of which are in the dictionary. */
void batch_words(struct batch *batch, const char *name, const uint8_t *numbers, const char *const *words,
                 uint32_t n_words);

/* Lists of uint32: row i has items[starts[i]] .. items[starts[i + 1] - 1]; both are the batch's to free. */
void batch_lists(struct batch *batch, const char *name, int32_t *starts, uint32_t *items, struct valid_rows valid);

/* The name of a requested column: NAME, or args.NAME if the batch has a column NAME. The caller frees it. */
char *batch_name_arg(struct batch *batch, const char *name);

/* Marks the texts of the last column as JSON. */
static inline void batch_mark_json(struct batch *batch) {
    if (!batch->failed)
        batch->columns[batch->n_columns - 1].is_json = true;
}

/* Moves the columns to a stream. SUTRA_SYSTEM: out of memory at some point; then all columns are freed. */
enum sutra_status batch_stream(struct batch *batch, struct ArrowArrayStream *stream, struct sutra_error *error);
void batch_free(struct batch *batch);

/* Makes an array of a batch with the columns of `from`, another one. Each of its arrays has a reference to the owner of
 * their buffers. False: out of memory. */
bool batch_share(struct ArrowArray *to, const struct ArrowArray *from, const struct column_owner *owner);

/* Appends the columns of `part` to the batch. */
void batch_join(struct batch *batch, struct batch *part);

/* ---- Columns by name ---- */

/* A column that can be requested. `make` adds it to the batch. */
struct column_maker {
    const char *name;
    void (*make)(const void *source, const struct column_maker *maker, struct batch *batch);
    uint32_t which; /* for `make` */
    bool on_request;
};

/* The columns of a kind of rows. */
struct column_set {
    const struct column_maker *makers;
    size_t n;
    /* Adds the requested args; NULL: there are none. */
    enum sutra_status (*make_args)(const void *source, const struct sutra_columns_options *options, struct batch *batch,
                                   struct sutra_error *error);
};

#define COLUMN_SET(makers, make_args)                                                                                  \
    { makers, sizeof(makers) / sizeof *(makers), make_args }

/* Checks the caller's options, makes the requested columns, and moves them to a stream. In parallel, unless `pool` is
 * NULL: then makers may use the pool. `batch` has its number of rows; `failed`: the source ran out of memory. */
enum sutra_status columns_stream(struct pool *pool, const struct column_set *set, const void *source,
                                 const struct sutra_columns_options *options, struct batch *batch,
                                 struct ArrowArrayStream *stream, struct sutra_error *error);

#endif
