/*
 * document.c - implements document.h.
 */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/error.h"
#include "base/shared.h"
#include "columns/column.h"
#include "read/document.h"
#include "read/file_kind.h"
#include "read/repair.h"
#include "read/source.h"
#include "text/strings.h"

/* ---- Cuts of the array: part starts and expected rows, from samples of the text ---- */

/* Longest beginning of an element that is searched for. */
#define BEGINNING_MAX 64

/* Samples of a part's text in which beginnings of elements are counted. */
#define SAMPLES      8
#define SAMPLE_BYTES ((size_t)8192)

/* Length of the beginning of the array's first element, up to its first key: {"ph". These bytes cannot occur inside a
 * string, where a quote ends the string and no letter may follow. 0: the element begins in another way. */
static size_t element_beginning(const struct source *source, size_t open) {
    const char *text = source->bytes;
    size_t at = space_end(text, open + 1), quote = space_end(text, at + 1), end = quote + 1;
    if (text[at] != '{' || text[quote] != '"')
        return 0;
    while (end - at < BEGINNING_MAX && (text[end] == '_' || ((text[end] | 0x20) >= 'a' && (text[end] | 0x20) <= 'z')))
        end++;
    return text[end] == '"' && end > quote + 1 ? end + 1 - at : 0;
}

/* Counts the beginnings of elements from byte `at` to `end`. */
static size_t count_beginnings(const struct document_parts *parts, size_t at, size_t end) {
    const char *text = parts->document->source.bytes, *first = text + space_end(text, parts->open + 1);
    const char *found = text + at;
    size_t n = 0;
    while ((found = memmem(found, (size_t)(text + end - found), first, parts->beginning))) {
        found += parts->beginning;
        n++;
    }
    return n;
}

/* Start of part `number` of n. Parts become smaller towards the end, by equal steps, so that threads which process
 * them in order end together. */
static size_t shrinking_part_offset(size_t size, size_t n, size_t number) {
    size_t left = n - number;
    return size - part_offset(part_offset(size, n, left), n, left);
}

/* A part begins with the first element in its share of the text, if any. Expects the rows of the share and an eighth
 * more: unused rows cost no memory, missing rows cost a copy. */
static void find_part(void *arg, size_t number) {
    struct document_parts *parts = arg;
    const struct source *source = &parts->document->source;
    const char *text = source->bytes, *first = text + space_end(text, parts->open + 1);
    size_t left = source->size - parts->open, at = parts->open + shrinking_part_offset(left, parts->n, number);
    size_t end = parts->open + shrinking_part_offset(left, parts->n, number + 1) + parts->beginning - 1;
    size_t size = end - at, n_sampled = SAMPLES * SAMPLE_BYTES, n = 0;
    if (size <= n_sampled) {
        parts->expected[number] = (row_t)count_beginnings(parts, at, end) + 1;
    } else {
        for (size_t i = 0; i < SAMPLES; i++) {
            size_t sample = at + part_offset(size - SAMPLE_BYTES, SAMPLES, i);
            n += count_beginnings(parts, sample, sample + SAMPLE_BYTES);
        }
        double expected = 1.125 * (double)n * (double)size / (double)n_sampled + 64;
        parts->expected[number] = (row_t)MIN(expected, ROW_LIMIT);
    }
    parts->begins[number] = SIZE_MAX;
    for (const char *found = text + at; (found = memmem(found, (size_t)(text + end - found), first, parts->beginning));
         found++) {
        if (text[trim_end(text, (size_t)(found - text)) - 1] == ',') {
            parts->begins[number] = (size_t)(found - text);
            return;
        }
    }
}

bool document_cut(struct document_parts *parts, bool one) {
    parts->beginning = one ? 0 : element_beginning(&parts->document->source, parts->open);
    parts->n = 1;
    size_t threads = pool_threads(parts->context->pool);
    if (parts->beginning && threads > 1) { /* enough parts to keep all threads busy and to show progress */
        size_t size = parts->document->source.size - parts->open, limit = size / parts->context->part_bytes + 1;
        parts->n = MAX(8 * threads, size >> 25);
        parts->n = MIN(parts->n, limit);
    }
    parts->begins = malloc(parts->n * sizeof *parts->begins);
    parts->expected = calloc(parts->n, sizeof *parts->expected);
    if (!parts->begins || !parts->expected)
        return false;
    if (parts->beginning)
        pool_run(parts->context->pool, parts->n, find_part, parts);
    /* Keep the parts with an element; each adds the expected rows of the following parts without one. */
    uint64_t n_rows = 0;
    size_t n = 0;
    parts->begins[0] = parts->open;
    for (size_t i = 0; i < parts->n; i++) {
        row_t expected = parts->expected[i];
        n_rows += expected;
        if (parts->begins[i] == SIZE_MAX) {
            parts->expected[n - 1] += expected;
            continue;
        }
        parts->begins[n] = parts->begins[i];
        parts->expected[n++] = expected;
    }
    parts->n = n;
    if (n_rows >= ROW_LIMIT) /* too many: expect none */
        memset(parts->expected, 0, n * sizeof *parts->expected);
    return true;
}

/* ---- Values ---- */

/* Length of the number at `text`, which was checked when it was walked over. */
static size_t number_length(const char *text, enum number_form *form) {
    size_t length = 0;
    *form = number_scan(text, &length);
    return length;
}

static bool is_number(const char *text) {
    return (*text >= '0' && *text <= '9') || *text == '-' || *text == 'N' || *text == 'I';
}

bool field_number(const char *value, struct number *number) {
    int64_t integer;
    double real;
    size_t length;
    enum number_form form = number_parse_short(value, &integer, &real, &length);
    if (form != NUMBER_FORM_BAD) {
        *number = form == NUMBER_FORM_INTEGER ? number_integer(integer) : number_double(real);
        return true;
    }
    if (!is_number(value)) {
        bool yes = memcmp(value, "true", 4) == 0;
        if (!yes && memcmp(value, "false", 5) != 0)
            return false;
        *number = (struct number){yes, NUMBER_BOOLEAN};
        return true;
    }
    length = number_length(value, &form);
    if (form == NUMBER_FORM_INTEGER) {
        if (!integer_parse(value, length, &integer) || integer >= NUMBER_INTEGER_LIMIT ||
            integer <= -NUMBER_INTEGER_LIMIT)
            return false;
        *number = number_integer(integer);
        return true;
    }
    real = double_parse(value, length);
    if (isnan(real))
        return false;
    *number = number_double(real);
    return true;
}

bool field_time(const char *value, struct number *number) {
    size_t length;
    if (*value != '"')
        return field_number(value, number);
    value++;
    bool is_decimal = is_digit(value[*value == '-']) && number_scan(value, &length) != NUMBER_FORM_BAD;
    return is_decimal && value[length] == '"' && field_number(value, number);
}

bool field_integer(const char *value, int64_t *integer) {
    double real;
    size_t length;
    enum number_form form = number_parse_short(value, integer, &real, &length);
    if (form != NUMBER_FORM_BAD)
        return form == NUMBER_FORM_INTEGER;
    if (*value != '-' && (*value < '0' || *value > '9'))
        return false;
    length = number_length(value, &form);
    return form == NUMBER_FORM_INTEGER && integer_parse(value, length, integer);
}

static value_key check_key(struct field_reader *reader, value_key key) {
    reader->failed |= key == KEY_ABSENT;
    return key;
}

static value_key number_key(struct field_reader *reader, const char *text) {
    int64_t integer;
    double real;
    size_t length;
    enum number_form form = number_parse_short(text, &integer, &real, &length);
    if (form == NUMBER_FORM_INTEGER)
        return integer;
    length = number_length(text, &form);
    if (form == NUMBER_FORM_REAL)
        return check_key(reader, values_double(reader->values, double_parse(text, length)));
    if (integer_parse(text, length, &integer) && key_is_integer(integer))
        return integer;
    return check_key(reader, values_integer(reader->values, text, length));
}

value_key field_key(struct field_reader *reader, struct json_span place) {
    const char *text = reader->source->bytes + place.at;
    if (is_number(text))
        return number_key(reader, text);
    if (*text == '"') {
        size_t length;
        const char *string = field_string(reader, place, &length);
        return check_key(reader, values_string(reader->values, string, length));
    }
    if (*text == '[' || *text == '{')
        return KEY_UNHASHABLE;
    return *text == 'n' ? KEY_NULL : *text == 't';
}

bool field_int(struct field_reader *reader, struct json_span place, value_key *key) {
    const char *text = reader->source->bytes + place.at;
    size_t length;
    if (is_number(text)) {
        enum number_form form;
        length = number_length(text, &form);
        double real = form == NUMBER_FORM_REAL ? double_parse(text, length) : 0;
        if (!isfinite(real))
            return false;
        *key = form == NUMBER_FORM_REAL ? check_key(reader, values_double(reader->values, trunc(real)))
                                        : number_key(reader, text);
        return true;
    }
    if (*text == '"') {
        struct buffer canonical = {0};
        const char *string = field_string(reader, place, &length);
        char *out = buffer_reserve(&canonical, length + 1);
        size_t digits = out ? python_int(string, length, out) : 0;
        if (digits)
            *key = check_key(reader, values_integer(reader->values, out, digits));
        reader->failed |= canonical.failed;
        buffer_free(&canonical);
        return digits > 0;
    }
    if (*text != 't' && *text != 'f')
        return false;
    *key = *text == 't';
    return true;
}

const char *field_string(struct field_reader *reader, struct json_span place, size_t *length) {
    const char *raw = reader->source->bytes + place.at + 1;
    *length = place.end - place.at - 1;
    size_t n_plain = plain_end(raw, 0); /* all of most strings */
    if (n_plain >= *length || !memchr(raw + n_plain, '\\', *length - n_plain))
        return raw;
    reader->scratch.length = 0;
    char *out = buffer_reserve(&reader->scratch, *length);
    if (!out) {
        reader->failed = true;
        *length = 0;
        return raw;
    }
    *length = string_decode(raw, *length, out);
    return out;
}

uint32_t field_intern(struct field_reader *reader, struct json_span place, struct strings *strings) {
    size_t length;
    const char *string = field_string(reader, place, &length);
    uint32_t number = reader->failed ? STRING_NONE : strings_intern(strings, string, length);
    reader->failed |= number == STRING_NONE;
    return number;
}

bool escaped_is(const char *raw, size_t length, const char *name) {
    char decoded[256];
    return length < sizeof decoded && string_decode(raw, length, decoded) == strlen(name) &&
           memcmp(decoded, name, strlen(name)) == 0;
}

/* ---- Parts ---- */

/* Text that a part has walked is returned to the system in pieces of this size; most of it is not read again. */
#define GIVE_BACK_BYTES ((size_t)1 << 22)

/* Elements between two checks for cancellation. */
#define CANCEL_ELEMENTS 4096

/* The first part begins at the array's bracket. */
static void walk_part(void *arg, size_t number) {
    const struct document_parts *parts = arg;
    struct document_part *part = document_part_at(parts, number);
    struct json_walker *walker = &part->walker;
    size_t end = number + 1 < parts->n ? parts->begins[number + 1] : SIZE_MAX, given_back = parts->begins[number];
    size_t n_elements = 0;
    *walker = walk_from(&parts->document->source, parts->begins[number]);
    part->closed = number == 0 && !walk_array(walker);
    while (!part->closed && walker->at < end) {
        if (n_elements++ % CANCEL_ELEMENTS == 0 && context_is_cancelled(parts->context))
            return;
        parts->reader->element(part, walker);
        part->closed = !walk_element_end(walker);
        if (walker->at - given_back >= GIVE_BACK_BYTES) {
            source_return_pages(&parts->document->source, given_back, walker->at);
            given_back = walker->at;
            if (parts->n == 1)
                pool_tick(parts->context->pool, walker->at, parts->document->source.size);
        }
    }
}

static void *columns_of(const struct document_parts *parts, size_t i) {
    return (char *)document_part_at(parts, i) + parts->reader->columns_at;
}

static void parts_free(struct document_parts *parts) {
    const struct document_reader *reader = parts->reader;
    for (size_t i = 0; i < parts->n + 2 && parts->list; i++) {
        struct document_part *part = document_part_at(parts, i);
        if (!part->shares)
            columns_free(columns_of(parts, i), reader->columns, reader->n_columns);
        reader->free(part);
        buffer_free(&part->fields.scratch);
    }
    free(parts->list);
    free(parts->begins);
    free(parts->expected);
    parts->list = NULL;
    parts->begins = NULL;
    parts->expected = NULL;
    parts->n = 0;
}

/* Room for rows in the columns of part i. */
static bool reserve(struct document_parts *parts, size_t i, uint64_t n_rows) {
    const struct document_reader *reader = parts->reader;
    struct document_part *part = document_part_at(parts, i);
    if (!columns_resize(columns_of(parts, i), reader->columns, reader->n_columns, n_rows))
        return false;
    part->capacity = (row_t)n_rows;
    return true;
}

/* Makes the parts, whose starts are known, with rows in shared columns. */
static bool parts_begin(struct document_parts *parts) {
    const struct document_reader *reader = parts->reader;
    row_t first_row = 0, n_rows = 0;
    for (size_t i = 0; i < parts->n; i++)
        n_rows += parts->expected[i];
    parts->list = calloc(parts->n + 2, reader->part_size);
    if (!parts->list || !reserve(parts, parts->n, (uint64_t)n_rows + 1))
        return false;
    for (size_t i = 0; i < parts->n; i++) {
        struct document_part *part = document_part_at(parts, i);
        size_t end = i + 1 < parts->n ? parts->begins[i + 1] : parts->document->source.size;
        *part = (struct document_part){
            .fields = {.source = &parts->document->source, .values = &parts->context->values},
            .reader = reader,
            .trace = parts->trace,
            .first_text = parts->begins[i],
            .size = end - parts->begins[i],
            .capacity = parts->expected[i],
            .shares = true,
        };
        columns_view(columns_of(parts, i), columns_of(parts, parts->n), reader->columns, reader->n_columns, first_row);
        part->fields.failed = reader->begin && !reader->begin(part);
        first_row += parts->expected[i];
    }
    return true;
}

/* Walks the array at *walker and moves the walker after it: in several parts, unless `one`. */
static enum sutra_status walk_parts(struct document_parts *parts, bool one, struct json_walker *walker,
                                    struct sutra_error *error) {
    parts_free(parts);
    TRY_ALLOC(document_cut(parts, one) && parts_begin(parts), error);
    pool_run(parts->context->pool, parts->n, walk_part, parts);
    if (context_is_cancelled(parts->context))
        return context_early_end_error(parts->context, error);
    /* Each part must end where the next begins, up to the part that closes the array or fails. */
    const struct document_part *last = document_part_at(parts, 0);
    size_t n_used = 1;
    for (; n_used < parts->n && !last->closed; n_used++) {
        if (last->walker.at != parts->begins[n_used])
            return walk_parts(parts, true, walker, error);
        last = document_part_at(parts, n_used);
    }
    *walker = last->walker;
    for (size_t i = n_used; i < parts->n; i++) /* parts after the array's end may have rows */
        ((struct document_part *)document_part_at(parts, i))->n = 0;
    return SUTRA_OK;
}

bool document_make_room(struct document_part *part, size_t at) {
    const struct document_reader *reader = part->reader;
    uint64_t capacity = capacity_wanted(part->capacity, at - part->first_text, part->size);
    void *columns = (char *)part + reader->columns_at;
    if (capacity > ROW_LIMIT)
        capacity = ROW_LIMIT;
    bool made = part->n < capacity &&
                (part->shares ? columns_own(columns, reader->columns, reader->n_columns, part->n, capacity)
                              : columns_resize(columns, reader->columns, reader->n_columns, capacity));
    part->fields.failed = !made;
    if (made) {
        part->capacity = (row_t)capacity;
        part->shares = false;
    }
    return made;
}

/* ---- The document ---- */

static enum sutra_status walk_members(struct document *document, struct document_parts *parts,
                                      struct sutra_error *error) {
    const char *array = parts->reader->array;
    struct json_walker walker = walk_from(&document->source, 0);
    document->is_array = parts->reader->bare_array && walk_char(&walker) == '[';
    if (document->is_array && !array) {
        walk_value(&walker);
    } else if (document->is_array) {
        parts->open = walker.at;
        TRY(walk_parts(parts, parts->list, &walker, error));
    }
    for (bool more = !document->is_array && walk_object(&walker); more; more = walk_member_end(&walker)) {
        struct json_span key = walk_key(&walker);
        if (walker.expected)
            break;
        if (document->n_members == document->members_capacity) {
            size_t capacity = document->members_capacity * 2 + 16;
            void *members = reallocarray(document->members, capacity, sizeof *document->members);
            TRY_ALLOC(members, error);
            document->members = members;
            document->members_capacity = capacity;
        }
        document->members[document->n_members++] = (struct document_member){key, walker.at};
        if (array && walk_char(&walker) == '[' && place_is(&document->source, key, array)) {
            document->array = document->n_members - 1;
            /* Try parts only once: each attempt may walk all of the file after the array's beginning. */
            parts->open = walker.at;
            TRY(walk_parts(parts, parts->list, &walker, error));
        } else {
            walk_value(&walker);
        }
    }
    TRY(walk_error(&walker, error));
    if (walker.at < document->source.size)
        return source_error(&document->source, error, walker.at,
                            "malformed JSON: text after the end of the trace's object");
    return SUTRA_OK;
}

/* Reports an error of its own kind for a file that is not a JSON object. */
static enum sutra_status check_start(const struct document *document, bool bare_array, struct sutra_error *error) {
    const char *text = document->source.bytes;
    if (memcmp(text, "\xef\xbb\xbf", 3) == 0)
        return source_error(&document->source, error, 0,
                            "the file begins with a byte order mark: remove its first 3 bytes");
    size_t at = strspn(text, " \t\r\n");
    bool is_json = at < document->source.size && may_be_json(text, document->source.size);
    if (is_json && text[at] == '[' && !bare_array)
        return source_error(&document->source, error, at, "expected a JSON object, found an array");
    if (is_json)
        return SUTRA_OK;
    return source_refuse(&document->source, at, "a JSON trace", TRACE_ADVICE, error);
}

static enum sutra_status walk_document(struct document *document, struct document_parts *parts,
                                       struct sutra_error *error) {
    struct sutra_context *context = parts->context;
    document->array = SIZE_MAX;
    enum sutra_status status = check_start(document, parts->reader->bare_array, error);
    stage_begin(context, parts->reader->read_stage, document->source.size);
    if (!status)
        status = walk_members(document, parts, error);
    if (!status)
        status = context_check_cancelled(context, error);
    const struct document_member *mark = status ? NULL : document_find(document, REPAIR_MARK);
    if (mark) {
        struct json_span at = document_member_of(document, mark->value, "truncated_at_byte");
        int64_t byte;
        document->truncated = true;
        document->truncated_at =
            at.at && field_integer(document->source.bytes + at.at, &byte) && byte > 0 ? (uint64_t)byte : 0;
    }
    stage_end(context);
    return status;
}

/* Replaces the text by the repaired text. SUTRA_DATA: it cannot be repaired, and *error is unchanged. */
static enum sutra_status repair_source(struct document *document, const struct document_parts *parts,
                                       struct sutra_error *error) {
    struct sutra_context *context = parts->context;
    struct source *source = &document->source;
    struct text_repairs report = {0};
    struct buffer out = {0};
    size_t failed_at;
    enum sutra_status status = SUTRA_DATA;
    stage_begin(context, "repair", source->size);
    enum repair_result result = repair_text(source->bytes, source->size, &report, &out, &failed_at);
    if (result == REPAIR_NO_MEMORY)
        status = error_memory(error);
    if (result == REPAIR_DONE)
        status = source_replace(source, &out, error);
    document->is_mixed = report.n[SUTRA_REPAIR_OBJECT] > 0;
    if (!status && !parts->reader->inspects_only) {
        char repairs[512];
        repair_describe(&report, repairs, sizeof repairs);
        context_warn(context, "%s: repaired: %s", source->name, repairs);
    }
    text_repairs_free(&report);
    buffer_free(&out);
    stage_end(context);
    return status;
}

/* Walks the document; malformed text is repaired and walked again in a lenient context. */
static enum sutra_status read_text(struct document *document, struct document_parts *parts, struct sutra_error *error) {
    struct sutra_context *context = parts->context;
    if (document->source.is_rest && !parts->reader->inspects_only)
        context_warn(context, "%s: the compressed data is corrupt or truncated: using the data before the error",
                     document->source.name);
    enum sutra_status status = walk_document(document, parts, error);
    if (status != SUTRA_DATA || parts->reader->keeps_malformed)
        return status;
    if (!context->options.lenient) {
        size_t length = error ? strlen(error->message) : 0;
        const char *text = document->source.bytes + strspn(document->source.bytes, " \t\r\n");
        if (error && *text && may_be_json(document->source.bytes, document->source.size))
            snprintf(error->message + length, sizeof error->message - length, " (try 'sutra repair', or --lenient)");
        return status;
    }
    parts_free(parts);
    document->n_members = 0;
    TRY(repair_source(document, parts, error));
    return walk_document(document, parts, error);
}

enum sutra_status document_read(struct document *document, struct sutra_context *context,
                                const struct document_reader *reader, struct sutra_error *error) {
    struct document_parts none = {.document = document, .context = context, .reader = reader};
    return read_text(document, &none, error);
}

void document_free(struct document *document) {
    source_close(&document->source);
    free(document->members);
    *document = (struct document){0};
}

const struct document_member *document_find(const struct document *document, const char *name) {
    for (size_t i = document->n_members; i-- > 0;)
        if (place_is(&document->source, document->members[i].key, name))
            return &document->members[i];
    return NULL;
}

struct json_span document_member_of(const struct document *document, size_t at, const char *name) {
    struct json_span found = {0};
    if (document->source.bytes[at] != '{')
        return found;
    struct json_walker walker = walk_from(&document->source, at);
    for (bool more = walk_object(&walker); more; more = walk_member_end(&walker)) {
        bool wanted = place_is(&document->source, walk_key(&walker), name);
        struct json_span value = walk_value(&walker);
        if (wanted)
            found = value;
    }
    return found;
}

struct json_span document_rank(const struct document *document) {
    const struct document_member *info = document_find(document, "distributedInfo");
    return info ? document_member_of(document, info->value, "rank") : (struct json_span){0};
}

bool document_is_linked(const struct document *document) {
    const struct document_member *nodes = document_find(document, "nodes");
    return nodes && has_node_durations(document->source.bytes + nodes->value, document->source.size - nodes->value);
}

/* Checks that the reader's array exists and is an array. The error names the kind of the file. */
static enum sutra_status check_kind(const struct document *document, const struct document_reader *reader,
                                    struct sutra_error *error) {
    const struct document_member *array = document_find(document, reader->array);
    const char *file = document->source.name;
    if (document->is_array || (array && document->array == (size_t)(array - document->members)))
        return SUTRA_OK;
    if (array && reader->empty_counts) {
        const char *text = document->source.bytes, *value = text + array->value;
        if (*value == '"' ? value[1] == '"' : *value == '{' && text[space_end(text, array->value + 1)] == '}')
            return SUTRA_OK;
    }
    if (array)
        return source_error(&document->source, error, array->value, "\"%s\" is not an array", reader->array);
    if (document_find(document, reader->other_array) && document_is_linked(document))
        return error_file(error, SUTRA_DATA, file,
                          "expected a %s, found ET+ (a linked trace): use the trace that was linked", reader->kind);
    if (document_find(document, reader->other_array))
        return error_file(error, SUTRA_DATA, file, "expected a %s, found a %s (it has \"%s\")", reader->kind,
                          reader->other_kind, reader->other_array);
    const struct file_kind kind = file_kind(file, document->source.bytes, document->source.size);
    if (kind.format == FILE_SNAPSHOT || kind.format == FILE_DUMP || kind.format == FILE_INSPECTOR_LOG)
        return error_file(error, SUTRA_DATA, file, "expected a %s, found %s%s", reader->kind, kind.name, kind.remedy);
    return error_file(error, SUTRA_DATA, file, "this is not a %s: it has no \"%s\"", reader->kind, reader->array);
}

/* ---- Rows ---- */

/* Selects the columns of all rows: the shared columns of all parts, the columns of the only part, or new ones. False:
 * out of memory. */
static bool choose_columns(struct document_parts *parts) {
    const struct document_reader *reader = parts->reader;
    struct document_part *all = document_part_at(parts, parts->n + 1), *owner = document_part_at(parts, parts->n);
    bool shared = true;
    for (size_t i = 0; i < parts->n; i++) {
        const struct document_part *part = document_part_at(parts, i);
        shared = shared && (part->shares || part->n == 0);
    }
    all->trace = parts->trace;
    all->n = parts->n_rows;
    if (!shared && parts->n > 1)
        return reserve(parts, parts->n + 1, (uint64_t)parts->n_rows + 1);
    owner = shared ? owner : document_part_at(parts, 0);
    columns_view(columns_of(parts, parts->n + 1), (char *)owner + reader->columns_at, reader->columns,
                 reader->n_columns, 0);
    owner->shares = true;
    all->capacity = owner->capacity;
    return all->capacity > all->n || reserve(parts, parts->n + 1, (uint64_t)parts->n_rows + 1);
}

static void finish_part(void *arg, size_t number) {
    const struct document_parts *parts = arg;
    struct document_part *part = document_part_at(parts, number);
    if (parts->reader->finish && part->n > 0)
        parts->reader->finish(part);
}

/* Moves the parts in file order, so that no row overwrites one that is still to be moved. */
static void move_column(void *arg, size_t number) {
    const struct document_parts *parts = arg;
    const struct column_form *form = &parts->reader->columns[number];
    const struct document_part *all = document_part_at(parts, parts->n + 1);
    for (size_t i = 0; i < parts->n; i++) {
        const struct document_part *part = document_part_at(parts, i);
        column_move(columns_of(parts, parts->n + 1), part->first_row, columns_of(parts, i), form, part->n);
    }
    column_trim(columns_of(parts, parts->n + 1), form, all->n, all->capacity);
}

enum sutra_status document_walk(struct document_parts *parts, struct sutra_error *error) {
    const struct document_reader *reader = parts->reader;
    const struct document *document = parts->document;
    uint64_t n = 0;
    TRY(read_text(parts->document, parts, error));
    TRY(check_kind(document, reader, error));
    stage_begin(parts->context, reader->join_stage, document->source.size);
    if (!parts->list && !parts_begin(parts)) /* an empty value instead of the array */
        return error_memory(error);
    for (size_t i = 0; i < parts->n; i++) {
        struct document_part *part = document_part_at(parts, i);
        TRY_ALLOC(!part->fields.failed, error);
        part->first_row = (row_t)n;
        n += part->n;
        if (n > ROW_LIMIT)
            return error_file(error, SUTRA_DATA, document->source.name, "more than %u %s", ROW_LIMIT, reader->too_many);
    }
    parts->n_rows = (row_t)n;
    return SUTRA_OK;
}

enum sutra_status document_join(struct document_parts *parts, struct document_part **all, struct sutra_error *error) {
    struct pool *pool = parts->context->pool;
    TRY_ALLOC(choose_columns(parts), error);
    pool_run(pool, parts->n, finish_part, parts);
    pool_run(pool, parts->reader->n_columns, move_column, parts);
    TRY(context_check_cancelled(parts->context, error));
    *all = document_part_at(parts, parts->n + 1);
    (*all)->capacity = (*all)->n + 1; /* memory after the rows was returned */
    (*all)->shares = true;
    return SUTRA_OK;
}

void document_end(struct document_parts *parts) {
    parts_free(parts);
    stage_end(parts->context);
}
