/*
 * arrow_check.h - reads streams of the Arrow C data interface in tests: checks arrays against their schema, and returns
 * values by column name.
 */
#ifndef TESTS_ARROW_CHECK_H
#define TESTS_ARROW_CHECK_H

#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "sutra/columns.h"
#include "text/strings.h"

struct arrow_table {
    struct ArrowSchema schema;
    struct ArrowArray array;
};

/* Reads all batches of a stream and releases it. Returns NULL, or the error. */
static inline const char *arrow_take(struct ArrowArrayStream *stream, struct arrow_table *table) {
    struct ArrowSchema again;
    struct ArrowArray end;
    if (stream->get_schema(stream, &table->schema) || stream->get_schema(stream, &again))
        return "no schema";
    again.release(&again);
    if (stream->get_next(stream, &table->array) || stream->get_next(stream, &end))
        return "no batch";
    stream->release(stream);
    return end.release ? "a second batch" : NULL;
}

static inline void arrow_free(struct arrow_table *table) {
    table->schema.release(&table->schema);
    table->array.release(&table->array);
}

static inline bool arrow_valid(const struct ArrowArray *array, int64_t row) {
    const uint8_t *bits = array->n_buffers ? array->buffers[0] : NULL;
    return array->n_buffers && (!bits || bits[row >> 3] >> (row & 7) & 1);
}

static inline int64_t arrow_offset(const struct ArrowArray *array, const char *format, int64_t row) {
    return *format == 'U' ? ((const int64_t *)array->buffers[1])[row] : ((const int32_t *)array->buffers[1])[row];
}

static inline int64_t arrow_index(const struct ArrowArray *array, const char *format, int64_t row) {
    return *format == 'c' ? ((const int8_t *)array->buffers[1])[row] : ((const int32_t *)array->buffers[1])[row];
}

/* Offsets of strings and lists are contiguous; strings are UTF-8. */
static inline const char *arrow_offsets_wrong(const struct ArrowSchema *schema, const struct ArrowArray *array) {
    bool list = *schema->format == '+';
    if (arrow_offset(array, schema->format, 0) != 0)
        return "offsets begin beyond 0";
    for (int64_t i = 0; i < array->length; i++) {
        int64_t begin = arrow_offset(array, schema->format, i), end = arrow_offset(array, schema->format, i + 1);
        if (end < begin)
            return "offsets fall";
        if (!list && utf8_check((const char *)array->buffers[2] + begin, (size_t)(end - begin)) < (size_t)(end - begin))
            return "a text is not UTF-8";
    }
    bool fits = !list || arrow_offset(array, schema->format, array->length) == array->children[0]->length;
    return fits ? NULL : "a list ends elsewhere";
}

/* Reads all values of a column. Returns NULL, or the error. */
static inline const char *arrow_column_wrong(const struct ArrowSchema *schema, const struct ArrowArray *array) {
    int64_t n_null = 0;
    for (int64_t i = 0; i < array->length; i++)
        n_null += !arrow_valid(array, i);
    if (n_null != array->null_count)
        return "another number of nulls";
    if (!schema->dictionary != !array->dictionary || schema->n_children != array->n_children)
        return "a dictionary or child on one side only";
    if (strchr("uU+", *schema->format))
        return arrow_offsets_wrong(schema, array);
    for (int64_t i = 0; i < array->length && schema->dictionary; i++) {
        int64_t index = arrow_index(array, schema->format, i);
        if (arrow_valid(array, i) && (index < 0 || index >= array->dictionary->length))
            return "an index beyond its dictionary";
    }
    return schema->dictionary ? arrow_column_wrong(schema->dictionary, array->dictionary) : NULL;
}

static inline const char *arrow_wrong(const struct arrow_table *table) {
    const char *wrong = NULL;
    if (table->schema.n_children != table->array.n_children)
        return "another number of columns";
    for (int64_t i = 0; i < table->array.n_children && !wrong; i++) {
        wrong = arrow_column_wrong(table->schema.children[i], table->array.children[i]);
        if (table->array.children[i]->length != table->array.length)
            wrong = "columns of several lengths";
    }
    return wrong;
}

/* The number of a column, or -1. */
static inline int64_t arrow_find(const struct arrow_table *table, const char *name) {
    for (int64_t i = 0; i < table->schema.n_children; i++)
        if (strcmp(table->schema.children[i]->name, name) == 0)
            return i;
    return -1;
}

#endif
