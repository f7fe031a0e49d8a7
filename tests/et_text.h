/*
 * et_text.h - .et files for tests from the JSON lines of `sutra jsonize --lines`, with " or ' for quotes:
 *
 *     {'attr':[{'name':'schema','stringVal':'1.1.1'}]}                              the metadata, the first message
 *     {'id':'1','name':'a','type':'COMP_NODE','durationMicros':9,'dataDeps':[7]}    a node
 *
 * Values of attributes are strings and integers. Unknown members abort the test.
 */
#ifndef TESTS_ET_TEXT_H
#define TESTS_ET_TEXT_H

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "et_bytes.h"
#include "simulate/et_file.h"
#include "text/strings.h"

#define ET_WORD_MAX 400

/* A position in the lines, and the last token. */
struct et_lines {
    const char *at;
    char word[ET_WORD_MAX];
};

static inline void et_require(const struct et_lines *lines, bool is_valid) {
    if (is_valid)
        return;
    fprintf(stderr, "invalid lines of a test before: %.80s\n", lines->at);
    abort();
}

/* Reads the next bracket, string, number or word; commas and colons are skipped. Returns its first character. */
static inline char et_token(struct et_lines *lines) {
    const char *begin = lines->at + strspn(lines->at, " \n,:");
    const char first = *begin;
    const bool is_string = first == '"' || first == '\'';
    size_t length = strcspn(begin, " \n,:{}[]");
    begin += is_string;
    if (is_string)
        length = strcspn(begin, (char[]){first, 0});
    else if (first && strchr("{}[]", first))
        length = 1;
    et_require(lines, length + 64 < ET_WORD_MAX); /* the decoder may write more bytes than the string has */
    lines->at = begin + length + is_string;
    if (is_string)
        length = string_decode(begin, length, lines->word);
    else
        memcpy(lines->word, begin, length);
    lines->word[length] = 0;
    return first;
}

/* The index of the last token in a list that ends with NULL. */
static inline unsigned et_member(const struct et_lines *lines, const char *const *members) {
    unsigned i = 0;
    while (members[i] && strcmp(lines->word, members[i]) != 0)
        i++;
    et_require(lines, members[i]);
    return i;
}

static inline uint64_t et_word_bits(const struct et_lines *lines) {
    if (*lines->word == '-')
        return (uint64_t)strtoll(lines->word, NULL, 10);
    return strcmp(lines->word, "true") == 0 ? 1 : strtoull(lines->word, NULL, 10);
}

/* The number of a type, from its name or its digits. */
static inline uint64_t et_word_type(const struct et_lines *lines) {
    for (int type = 0; et_type_name(type); type++)
        if (strcmp(lines->word, et_type_name(type)) == 0)
            return (uint64_t)type;
    return et_word_bits(lines);
}

/* Adds a list of numbers as a packed field. */
static inline void et_put_numbers(struct et_lines *lines, struct buffer *out, unsigned field) {
    struct buffer list = {0};
    et_token(lines);
    while (et_token(lines) != ']')
        add_varint(&list, et_word_bits(lines));
    if (list.length > 0)
        put_message(out, field, &list);
    buffer_free(&list);
}

/* Adds inputs or outputs. */
static inline void et_put_texts(struct et_lines *lines, struct buffer *out, unsigned field) {
    static const char *const members[] = {"values", "shapes", "types", NULL};
    struct buffer texts = {0};
    et_token(lines);
    while (et_token(lines) != '}') {
        const unsigned i = et_member(lines, members);
        et_token(lines);
        put_text(&texts, i + 1, lines->word);
    }
    put_message(out, field, &texts);
    buffer_free(&texts);
}

/* Adds the attributes of a list; their field is the number of the kind. */
static inline void et_put_attributes(struct et_lines *lines, struct buffer *out, unsigned field) {
    static const char *const members[] = {"name",      "docString", "stringVal", "boolVal",   "int32Val",
                                          "uint32Val", "int64Val",  "uint64Val", "int64List", NULL};
    static const unsigned kinds[] = {1, 2, ET_STRING, ET_BOOL, ET_INT32, ET_UINT32, ET_INT64, ET_UINT64, ET_INT64 + 1};
    struct buffer attribute = {0}, list = {0};
    et_token(lines);
    while (et_token(lines) != ']') {
        while (et_token(lines) != '}') {
            const unsigned kind = kinds[et_member(lines, members)];
            if (kind == ET_INT64 + 1) { /* {'values':[1]} */
                et_token(lines);
                et_token(lines);
                et_put_numbers(lines, &list, 1);
                et_token(lines);
                put_message(&attribute, kind, &list);
                continue;
            }
            et_token(lines);
            if (kind <= 2 || kind == ET_STRING)
                put_text(&attribute, kind, lines->word);
            else
                put_number(&attribute, kind, et_word_bits(lines));
        }
        put_message(out, field, &attribute);
    }
    buffer_free(&attribute);
    buffer_free(&list);
}

/* Adds the next line as a message; their members are in the order of their fields. */
static inline void et_put_line(struct et_lines *lines, struct buffer *file, bool is_metadata) {
    static const char *const metadata_members[] = {"", "version", "attr", NULL};
    static const char *const node_members[] = {
        "",       "id",      "name", "type", "ctrlDeps", "dataDeps", "startTimeMicros", "durationMicros",
        "inputs", "outputs", "attr", NULL};
    struct buffer message = {0};
    while (et_token(lines) != '}') {
        const unsigned field = et_member(lines, is_metadata ? metadata_members : node_members);
        if (is_metadata ? field == 2 : field == 10) {
            et_put_attributes(lines, &message, field);
        } else if (!is_metadata && (field == 4 || field == 5)) {
            et_put_numbers(lines, &message, field);
        } else if (!is_metadata && (field == 8 || field == 9)) {
            et_put_texts(lines, &message, field);
        } else {
            et_token(lines);
            if (is_metadata || field == 2)
                put_text(&message, field, lines->word);
            else
                put_number(&message, field, field == 3 ? et_word_type(lines) : et_word_bits(lines));
        }
    }
    put_into_file(file, &message);
    buffer_free(&message);
}

/* The bytes of the file; the caller frees the buffer. */
static inline struct buffer et_encode(const char *text) {
    struct et_lines lines = {.at = text};
    struct buffer file = {0};
    while (et_token(&lines) == '{')
        et_put_line(&lines, &file, file.length == 0);
    et_require(&lines, !file.failed && !*lines.at);
    return file;
}

/* Parses the file that the lines describe. */
static inline enum sutra_status et_parse_text(struct sutra_context *context, const char *text, struct sutra_et **et,
                                              struct sutra_error *error) {
    struct buffer file = et_encode(text);
    enum sutra_status status = sutra_et_parse(context, "a.et", file.bytes, file.length, NULL, et, error);
    buffer_free(&file);
    return status;
}

#endif
