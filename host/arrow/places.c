/*
 * places.c - a pass that finds out what there is, then one that reads it.
 */
#include "arrow/places.h"

#include <stdlib.h>
#include <string.h>

#include "columns/column.h"

enum place_kind {
    PLACE_INTEGER = 1,
    PLACE_REAL = 2,
    PLACE_BOOLEAN = 4,
    PLACE_STRING = 8,
    PLACE_OTHER = 16, /* lists, objects, integers beyond 64 bits */
    PLACE_LONG = 32,  /* those integers */
};

struct places_read {
    struct batch *batch;
    const char *name;
    const struct document *document;
    const struct json_place *places;
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

static unsigned kinds_of(const struct places_read *read) {
    unsigned kinds = 0;
    for (uint64_t i = 0; i < read->batch->n_rows; i++)
        if (place_is_there(read, i))
            kinds |= kind_at(read->document->source.bytes + read->places[i].at);
    return kinds;
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
        valid_put(&values.valid, i, there);
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
        valid_put(&valid, i, there);
        valid_put(&made, i, there && read->document->source.bytes[read->places[i].at] == 't');
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

static uint32_t intern_at(struct field_reader *reader, const struct document *document, struct json_place place,
                          bool json, struct strings *strings) {
    if (!json)
        return field_intern(reader, place, strings);
    return strings_intern(strings, document->source.bytes + place.at, end_of(document, place.at) - place.at);
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
        numbers[i] = intern_at(&reader, read->document, read->places[i], json, &strings);
        ok = numbers[i] != STRING_NONE;
    }
    read->batch->failed |= !ok;
    if (ok)
        batch_strings(read->batch, read->name, numbers, &strings);
    buffer_free(&reader.scratch);
    strings_free(&strings);
    free(numbers);
}

void batch_places(struct batch *batch, const char *name, const struct document *document,
                  const struct json_place *places) {
    char *column = batch_name_arg(batch, name);
    if (!column)
        return;
    struct places_read read = {batch, column, document, places};
    unsigned kinds = kinds_of(&read);
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
