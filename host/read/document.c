/*
 * document.c - walking a trace file, its array in parallel parts.
 */
#include "read/document.h"

#include <stdlib.h>
#include <string.h>

#include "base/error.h"
#include "text/string_text.h"

/* What became of one part of the array. */
struct array_part {
    size_t first_comma; /* the comma before its first element (the bracket for part 0), or SIZE_MAX: no element */
    size_t last_comma;  /* the comma behind its last element, or the closing bracket */
    bool closed;        /* the array ends in this part */
    struct json_walker walker;
};

struct array_parts {
    struct document *document;
    const struct document_reader *reader;
    size_t open;        /* the opening bracket */
    size_t first_chunk; /* the chunk in which it stands: part p is chunk first_chunk + p */
    size_t n;
    struct array_part *list;
};

bool escaped_is(const char *raw, size_t length, const char *name) {
    char decoded[256];
    return length < sizeof decoded && string_decode(raw, length, decoded) == strlen(name) &&
           memcmp(decoded, name, strlen(name)) == 0;
}

/* Steps from a chunk's start to the first comma between elements of the array, inside that chunk. */
static size_t find_first_comma(struct array_parts *parts, size_t chunk, struct json_walker *walker) {
    const struct json_index *index = &parts->document->index;
    size_t end = chunk_word(index, chunk + 1) * 64;
    int64_t depth = index->chunks[chunk].depth;
    for (; walker->at < end && walker->at < walker->source->size; walk_next(walker)) {
        char c = walk_char(walker);
        if (c == ',' && depth == 2)
            return walker->at;
        if (c == '{' || c == '[')
            depth++;
        if (c == '}' || c == ']')
            depth--;
        if (c == '"')
            walk_next(walker);
    }
    return SIZE_MAX;
}

static void walk_part(void *arg, size_t number) {
    struct array_parts *parts = arg;
    struct array_part *part = &parts->list[number];
    const struct json_index *index = &parts->document->index;
    size_t chunk = parts->first_chunk + number, end = chunk_word(index, chunk + 1) * 64;
    struct json_walker *walker = &part->walker;
    size_t at = number ? chunk_word(index, chunk) * 64 : parts->open;
    *part = (struct array_part){.first_comma = SIZE_MAX};
    *walker = walk_from(&parts->document->source, index, at);
    if (parts->n == 1)
        end = SIZE_MAX;
    if (number) {
        if (index->chunks[chunk].in_string)
            walk_next(walker); /* the string's closing quote */
        part->first_comma = find_first_comma(parts, chunk, walker);
        if (part->first_comma == SIZE_MAX)
            return;
        walk_next(walker);
    } else {
        part->first_comma = at;
        if (!walk_array(walker)) {
            part->closed = true;
            return;
        }
    }
    do {
        parts->reader->element(parts->reader->arg, number, walker);
        part->last_comma = walker->at;
    } while (walk_element_end(walker) && part->last_comma < end);
    part->closed = !walker->expected && walker->text[part->last_comma] == ']';
}

/* Whether the parts meet, up to the one that closes the array or fails; that one's number goes to *last. */
static bool parts_meet(const struct array_parts *parts, size_t *last) {
    size_t expected = parts->open;
    for (size_t i = 0; i < parts->n; i++) {
        const struct array_part *part = &parts->list[i];
        if (part->first_comma == SIZE_MAX)
            continue;
        if (part->first_comma != expected)
            return false;
        expected = part->last_comma;
        *last = i;
        if (part->closed || part->walker.expected)
            return true;
    }
    return false;
}

/* Walks the array at *walker, which then stands behind it. */
static enum sutra_status walk_parts(struct array_parts *parts, struct pool *pool, struct json_walker *walker,
                                    struct sutra_error *error) {
    const struct document_reader *reader = parts->reader;
    size_t last = 0;
    parts->list = calloc(parts->n, sizeof *parts->list);
    if (!parts->list)
        return error_memory(error);
    enum sutra_status status = reader->begin(reader->arg, parts->n, error);
    if (!status) {
        pool_run(pool, parts->n, walk_part, parts);
        if (!parts_meet(parts, &last) && parts->n > 1) {
            parts->n = 1;
            last = 0;
            status = reader->begin(reader->arg, 1, error);
            if (!status)
                walk_part(parts, 0);
        }
    }
    if (!status) {
        *walker = parts->list[last].walker;
        reader->end(reader->arg, last + 1);
    }
    free(parts->list);
    return status;
}

/* In parts, unless the array was there before: each attempt may look at all of the file behind, so there is only one.
 */
static enum sutra_status walk_the_array(struct document *document, struct pool *pool,
                                        const struct document_reader *reader, bool repeated, struct json_walker *walker,
                                        struct sutra_error *error) {
    const struct json_index *index = &document->index;
    struct array_parts parts = {.document = document, .reader = reader, .open = walker->at};
    while (parts.first_chunk + 1 < index->n_chunks && chunk_word(index, parts.first_chunk + 1) * 64 <= walker->at)
        parts.first_chunk++;
    parts.n = repeated ? 1 : index->n_chunks - parts.first_chunk;
    return walk_parts(&parts, pool, walker, error);
}

static enum sutra_status add_member(struct document *document, struct json_place key, size_t value,
                                    struct sutra_error *error) {
    if (document->n_members == document->members_capacity) {
        size_t capacity = document->members_capacity * 2 + 16;
        void *members = reallocarray(document->members, capacity, sizeof *document->members);
        if (!members)
            return error_memory(error);
        document->members = members;
        document->members_capacity = capacity;
    }
    document->members[document->n_members++] = (struct document_member){key, value};
    return SUTRA_OK;
}

static enum sutra_status walk_members(struct document *document, struct pool *pool,
                                      const struct document_reader *reader, struct sutra_error *error) {
    struct json_walker walker = walk_from(&document->source, &document->index, 0);
    enum sutra_status status = SUTRA_OK;
    for (bool more = walk_object(&walker); more && !status; more = !status && walk_member_end(&walker)) {
        struct json_place key = walk_key(&walker);
        if (walker.expected)
            break;
        status = add_member(document, key, walker.at, error);
        if (!status && reader->array && walk_char(&walker) == '[' && place_is(&document->source, key, reader->array)) {
            bool repeated = document->array != SIZE_MAX;
            document->array = document->n_members - 1;
            status = walk_the_array(document, pool, reader, repeated, &walker, error);
        } else if (!status) {
            walk_value(&walker);
        }
    }
    if (!status)
        status = walk_error(&walker, error);
    if (!status && walker.at < document->source.size)
        status = source_error(&document->source, error, walker.at,
                              "malformed JSON: there is more behind the end of the trace's object");
    return status;
}

/* What is no JSON object at all gets an error of its own kind. */
static enum sutra_status check_start(const struct document *document, struct sutra_error *error) {
    const char *text = document->source.bytes;
    if (memcmp(text, "\xef\xbb\xbf", 3) == 0)
        return source_error(&document->source, error, 0,
                            "the file begins with a byte order mark: remove its first 3 bytes");
    size_t at = strspn(text, " \t\r\n");
    if (text[at] == '[')
        return source_error(&document->source, error, at, "a trace is a JSON object, and this is an array");
    if (text[at] != '{')
        return source_error(&document->source, error, at, "this is not JSON: '{' was expected");
    return SUTRA_OK;
}

enum sutra_status document_read(struct document *document, struct sutra_context *context,
                                const struct document_reader *reader, struct sutra_error *error) {
    document->array = SIZE_MAX;
    enum sutra_status status = check_start(document, error);
    stage_begin(context, reader->index_stage, document->source.size);
    if (!status)
        status = json_index_build(&document->index, &document->source, context->pool, error);
    stage_begin(context, reader->read_stage, document->source.size);
    if (!status)
        status = walk_members(document, context->pool, reader, error);
    stage_end(context);
    return status;
}

void document_free(struct document *document) {
    source_close(&document->source);
    json_index_free(&document->index);
    free(document->members);
    *document = (struct document){0};
}

const struct document_member *document_find(const struct document *document, const char *name) {
    for (size_t i = document->n_members; i-- > 0;)
        if (place_is(&document->source, document->members[i].key, name))
            return &document->members[i];
    return NULL;
}

struct json_place document_member_of(const struct document *document, size_t at, const char *name) {
    struct json_place found = {0};
    if (document->source.bytes[at] != '{')
        return found;
    struct json_walker walker = walk_from(&document->source, &document->index, at);
    for (bool more = walk_object(&walker); more; more = walk_member_end(&walker)) {
        bool wanted = place_is(&document->source, walk_key(&walker), name);
        struct json_place value = walk_value(&walker);
        if (wanted)
            found = value;
    }
    return found;
}

enum sutra_status document_check_kind(const struct document *document, const struct document_reader *reader,
                                      struct sutra_error *error) {
    const struct document_member *array = document_find(document, reader->array);
    const char *file = document->source.name;
    if (array && document->array == (size_t)(array - document->members))
        return SUTRA_OK;
    if (array)
        return source_error(&document->source, error, array->value, "\"%s\" is not an array", reader->array);
    if (document_find(document, reader->other_array))
        return error_file(error, SUTRA_DATA, file,
                          "this is a %s (it has \"%s\"), and a %s was expected: swap the two files", reader->other_kind,
                          reader->other_array, reader->kind);
    return error_file(error, SUTRA_DATA, file, "this is no %s: it has no \"%s\"", reader->kind, reader->array);
}
