/*
 * makers.c - implements makers.h, and runs the makers of the requested columns.
 */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "arrow/batch.h"
#include "arrow/makers.h"
#include "base/error.h"
#include "base/options.h"
#include "columns/column.h"
#include "text/numbers.h"

/* ---- Ids and numbers: one pass each, which finds nulls and the type of the column ---- */

void batch_keys(struct batch *batch, const char *name, const value_key *keys, value_key none,
                const struct column_owner *owner) {
    struct batch_values values = values_held(keys, owner);
    values.valid = valid_new(batch->n_rows);
    for (uint64_t i = 0; i < batch->n_rows && !values.valid.failed; i++)
        valid_append(&values.valid, i, key_is_integer(keys[i]) && keys[i] != none);
    batch_values(batch, name, "l", NULL, values);
}

void batch_key_texts(struct batch *batch, const char *name, const value_key *keys, const struct values *values) {
    uint32_t *numbers = column_new(batch->n_rows, sizeof *numbers);
    struct strings strings;
    bool ok = strings_init(&strings) && numbers;
    for (uint64_t i = 0; i < batch->n_rows && ok; i++) {
        char room[NUMBER_TEXT_MAX];
        size_t length;
        numbers[i] = STRING_NONE;
        if (key_is_integer(keys[i]) || keys[i] < KEY_VALUES)
            continue;
        const char *text = values_text(values, keys[i], room, &length);
        ok = (numbers[i] = strings_intern(&strings, text, length)) != STRING_NONE;
    }
    batch_strings(batch, name, ok ? numbers : NULL, &strings);
    strings_free(&strings);
    free(numbers);
}

void batch_numbers(struct batch *batch, const char *name, const char *unit, struct number_column numbers,
                   const uint8_t *flags, uint8_t flag, const struct column_owner *owner) {
    struct batch_values values = {0};
    bool has_reals = false, has_integers = false;
    for (uint64_t i = 0; i < batch->n_rows; i++) {
        bool real = numbers.kind[i] == NUMBER_DOUBLE;
        has_reals |= real;
        has_integers |= !real && numbers.bits[i] != 0; /* an integer 0 has the bits of the real number 0 */
    }
    if (has_reals && has_integers) {
        double *reals = column_new(batch->n_rows, sizeof *reals);
        for (uint64_t i = 0; i < batch->n_rows && reals; i++)
            reals[i] = number_as_double(number_at(numbers, (row_t)i));
        values.data = reals;
        free(owner ? NULL : numbers.bits);
    } else if (owner) {
        values = values_held(numbers.bits, owner);
    } else {
        values.data = numbers.bits;
    }
    values.valid = valid_new(batch->n_rows);
    for (uint64_t i = 0; i < batch->n_rows && !values.valid.failed; i++)
        valid_append(&values.valid, i, (flags[i] & flag) != 0);
    batch_values(batch, name, has_reals ? "g" : "l", unit, values);
}

/* ---- Columns of an array of structs ---- */

void member_real(const struct member_array *array, const char *name, size_t offset, const char *unit) {
    double *made = column_new(array->batch->n_rows, sizeof *made);
    struct batch_values values = {.data = made, .valid = valid_new(array->batch->n_rows)};
    for (uint64_t i = 0; i < array->batch->n_rows && made && !values.valid.failed; i++) {
        made[i] = *(const double *)member_at(array, i, offset);
        valid_append(&values.valid, i, isfinite(made[i]));
    }
    batch_values(array->batch, name, "g", unit, values);
}

void member_count(const struct member_array *array, const char *name, size_t offset, size_t size, const char *unit) {
    uint64_t *made = column_new(array->batch->n_rows, sizeof *made);
    for (uint64_t i = 0; i < array->batch->n_rows && made; i++)
        memcpy(&made[i], member_at(array, i, offset), size);
    batch_values(array->batch, name, "l", unit, (struct batch_values){.data = made});
}

void member_text(const struct member_array *array, const char *name, size_t offset) {
    struct text_list texts = {0};
    struct valid_rows valid = valid_new(array->batch->n_rows);
    for (uint64_t i = 0; i < array->batch->n_rows && !valid.failed; i++) {
        const char *text = *(const char *const *)member_at(array, i, offset);
        valid_append(&valid, i, text != NULL);
        text_list_add(&texts, text ? text : "", text ? strlen(text) : 0);
    }
    batch_texts(array->batch, name, &texts, valid);
}

void member_word(const struct member_array *array, const char *name, size_t offset, const char *const *words,
                 uint32_t n_words) {
    uint8_t *numbers = column_new(array->batch->n_rows, sizeof *numbers);
    for (uint64_t i = 0; i < array->batch->n_rows && numbers; i++)
        numbers[i] = (uint8_t) * (const unsigned *)member_at(array, i, offset);
    batch_words(array->batch, name, numbers, words, n_words);
    free(numbers);
}

/* ---- JSON values: a pass that finds the types, then a pass that reads the values ---- */

enum place_kind {
    PLACE_INTEGER = 1,
    PLACE_REAL = 2,
    PLACE_BOOLEAN = 4,
    PLACE_STRING = 8,
    PLACE_OTHER = 16, /* lists, objects, integers beyond 64 bits */
    PLACE_LONG = 32,  /* integers beyond 64 bits */
};

struct places_read {
    struct batch *batch;
    const char *name;
    const struct document *document;
    const struct json_span *places;
};

static bool place_is_there(const struct places_read *read, uint64_t row) {
    return read->places[row].at && read->document->source.bytes[read->places[row].at] != 'n';
}

static unsigned kind_at(const char *text) {
    size_t length = 0;
    int64_t integer;
    if (*text == '"')
        return PLACE_STRING;
    if (*text == 't' || *text == 'f')
        return PLACE_BOOLEAN;
    if (*text == '[' || *text == '{')
        return PLACE_OTHER;
    if (number_scan(text, &length) != NUMBER_FORM_INTEGER)
        return PLACE_REAL;
    return integer_parse(text, length, &integer) ? PLACE_INTEGER : PLACE_LONG;
}

/* A number at `text` as 64 bits. */
static uint64_t bits_at(const char *text, bool real) {
    size_t length = 0;
    int64_t integer = 0;
    uint64_t bits;
    number_scan(text, &length);
    if (!real) {
        integer_parse(text, length, &integer);
        return (uint64_t)integer;
    }
    double value = double_parse(text, length);
    memcpy(&bits, &value, sizeof bits);
    return bits;
}

static void read_numbers(const struct places_read *read, bool real) {
    uint64_t n = read->batch->n_rows, *made = column_new(n, sizeof *made);
    struct batch_values values = {.data = made, .valid = valid_new(n)};
    for (uint64_t i = 0; i < n && made && !values.valid.failed; i++) {
        bool there = place_is_there(read, i);
        valid_append(&values.valid, i, there);
        if (there)
            made[i] = bits_at(read->document->source.bytes + read->places[i].at, real);
    }
    batch_values(read->batch, read->name, real ? "g" : "l", NULL, values);
}

static void read_booleans(const struct places_read *read) {
    uint64_t n = read->batch->n_rows;
    struct valid_rows made = valid_new(n), valid = valid_new(n);
    for (uint64_t i = 0; i < n && !made.failed && !valid.failed; i++) {
        bool there = place_is_there(read, i);
        valid_append(&valid, i, there);
        valid_append(&made, i, there && read->document->source.bytes[read->places[i].at] == 't');
    }
    batch_bits(read->batch, read->name, made, valid);
}

/* The end of a value's text. */
static size_t end_of(const struct document *document, size_t at) {
    size_t length = 0;
    const char *text = document->source.bytes;
    if (text[at] == 't')
        return at + 4;
    if (text[at] == 'f')
        return at + 5;
    if (text[at] != '[' && text[at] != '{' && text[at] != '"') {
        number_scan(text + at, &length);
        return at + length;
    }
    struct json_walker walker = walk_from(&document->source, at);
    walk_value(&walker);
    size_t end = walker.at;
    while (memchr(" \t\r\n", text[end - 1], 4))
        end--;
    return end;
}

static void read_texts(const struct places_read *read, bool json) {
    uint64_t n = read->batch->n_rows;
    uint32_t *numbers = column_new(n, sizeof *numbers);
    struct field_reader reader = {.source = &read->document->source};
    struct strings strings;
    bool ok = strings_init(&strings) && numbers;
    for (uint64_t i = 0; i < n && ok; i++) {
        numbers[i] = STRING_NONE;
        if (!place_is_there(read, i))
            continue;
        size_t at = read->places[i].at;
        numbers[i] = json ? strings_intern(&strings, read->document->source.bytes + at, end_of(read->document, at) - at)
                          : field_intern(&reader, read->places[i], &strings);
        ok = numbers[i] != STRING_NONE;
    }
    batch_strings(read->batch, read->name, ok ? numbers : NULL, &strings);
    buffer_free(&reader.scratch);
    strings_free(&strings);
    free(numbers);
}

void batch_places(struct batch *batch, const char *name, const struct document *document,
                  const struct json_span *places) {
    char *column = batch_name_arg(batch, name);
    if (!column)
        return;
    struct places_read read = {batch, column, document, places};
    unsigned kinds = 0;
    for (uint64_t i = 0; i < read.batch->n_rows; i++)
        if (place_is_there(&read, i))
            kinds |= kind_at(read.document->source.bytes + read.places[i].at);
    if (kinds == 0) {
        batch_nothing(batch, column);
    } else if (kinds == PLACE_STRING) {
        read_texts(&read, false);
    } else if (kinds == PLACE_BOOLEAN) {
        read_booleans(&read);
    } else if (kinds & PLACE_REAL ? !(kinds & ~(unsigned)(PLACE_INTEGER | PLACE_REAL | PLACE_LONG))
                                  : kinds == PLACE_INTEGER) {
        read_numbers(&read, kinds != PLACE_INTEGER);
    } else {
        read_texts(&read, true);
        batch_mark_json(batch);
    }
    free(column);
}

static enum sutra_status no_such_column(const struct column_set *set, const char *name, struct sutra_error *error) {
    char list[300] = "";
    size_t length = 0;
    for (size_t i = 0; i < set->n && length < sizeof list; i++)
        length += (size_t)snprintf(list + length, sizeof list - length, "%s%s", i ? ", " : "", set->makers[i].name);
    return error_set(error, SUTRA_USAGE, "unknown column \"%.60s\"; columns: %s", name, list);
}

/* A requested column, in its own batch. */
struct column_making {
    const struct column_maker *maker;
    struct batch batch;
};

struct column_makings {
    const void *source;
    struct column_making *list;
    size_t n;
};

static void make_one(void *of, size_t number) {
    const struct column_makings *makings = of;
    struct column_making *one = &makings->list[number];
    one->maker->make(makings->source, one->maker, &one->batch);
}

static enum sutra_status choose_makers(struct column_makings *makings, const struct column_set *set,
                                       const struct sutra_columns_options *options, struct sutra_error *error) {
    for (size_t i = 0; i < set->n && !options->names; i++)
        if (!set->makers[i].on_request)
            makings->list[makings->n++].maker = &set->makers[i];
    for (size_t i = 0; options->names && i < options->n_names; i++) {
        size_t k = 0;
        while (k < set->n && strcmp(set->makers[k].name, options->names[i]) != 0)
            k++;
        if (k == set->n)
            return no_such_column(set, options->names[i], error);
        makings->list[makings->n++].maker = &set->makers[k];
    }
    return SUTRA_OK;
}

static enum sutra_status make_columns(struct pool *pool, const struct column_set *set, const void *source,
                                      const struct sutra_columns_options *options, struct batch *batch,
                                      struct sutra_error *error) {
    size_t n_max = options->names ? options->n_names : set->n;
    struct column_makings makings = {.source = source, .list = calloc(n_max + 1, sizeof *makings.list)};
    TRY_ALLOC(makings.list, error);
    enum sutra_status status = choose_makers(&makings, set, options, error);
    for (size_t i = 0; i < makings.n; i++)
        makings.list[i].batch.n_rows = batch->n_rows;
    if (!status && pool)
        pool_run(pool, makings.n, make_one, &makings);
    for (size_t i = 0; i < makings.n && !status && !pool; i++)
        make_one(&makings, i);
    for (size_t i = 0; i < makings.n; i++) /* in their order */
        batch_join(batch, &makings.list[i].batch);
    free(makings.list);
    return status;
}

enum sutra_status columns_stream(struct pool *pool, const struct column_set *set, const void *source,
                                 const struct sutra_columns_options *options, struct batch *batch,
                                 struct ArrowArrayStream *stream, struct sutra_error *error) {
    static const struct options_form form = OPTIONS_FORM(sutra_columns_options, n_args);
    struct sutra_columns_options taken;
    TRY(options_copy(&form, options, &taken, error));
    if (taken.n_args && !set->make_args)
        return error_set(error, SUTRA_USAGE, "these columns have no args: remove the args option");
    TRY_ALLOC(!batch->failed, error);
    TRY(make_columns(pool, set, source, &taken, batch, error));
    enum sutra_status status = set->make_args ? set->make_args(source, &taken, batch, error) : SUTRA_OK;
    if (!status)
        return batch_stream(batch, stream, error);
    batch_free(batch);
    return status;
}
