/*
 * document_cut.c - where an array may be cut, found from its text alone, and how many rows stand between two cuts.
 */
#include "read/document_cut.h"

#include <stdlib.h>
#include <string.h>

/* ---- How elements begin ---- */

/* Longest beginning of an element that parts are looked for by. */
#define BEGINNING_MAX 64

static bool is_letter(char c) {
    return c == '_' || ((c | 0x20) >= 'a' && (c | 0x20) <= 'z');
}

/* How the array's first element begins, up to its first key: {"ph", which cannot stand inside a string, for its first
 * quote would close that, and a letter would be next. 0: it begins in another way. */
static size_t element_beginning(const struct source *source, size_t open) {
    const char *text = source->bytes;
    size_t at = space_end(text, open + 1), quote = space_end(text, at + 1), end = quote + 1;
    if (text[at] != '{' || text[quote] != '"')
        return 0;
    while (end - at < BEGINNING_MAX && is_letter(text[end]))
        end++;
    return text[end] == '"' && end > quote + 1 ? end + 1 - at : 0;
}

static bool is_behind_comma(const char *text, size_t at) {
    return text[trim_end(text, at) - 1] == ',';
}

/* ---- How many rows there may be ---- */

/* Rows are expected where elements begin in some stretches of a part's text. */
#define SAMPLES      8
#define SAMPLE_BYTES ((size_t)8192)

/* How often an element's beginning stands in the text from byte `at` to `end`. */
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

/* Rows of a text, and an eighth more: what is not used costs no memory, and what is missing costs a move. */
static row_t expected_rows(const struct document_parts *parts, size_t from, size_t to) {
    size_t size = to - from, looked_at = SAMPLES * SAMPLE_BYTES, n = 0;
    if (size <= looked_at)
        return (row_t)count_beginnings(parts, from, to) + 1;
    for (size_t i = 0; i < SAMPLES; i++) {
        size_t at = from + part_start(size - SAMPLE_BYTES, SAMPLES, i);
        n += count_beginnings(parts, at, at + SAMPLE_BYTES);
    }
    double expected = 1.125 * (double)n * (double)size / (double)looked_at + 64;
    return expected < ROW_LIMIT ? (row_t)expected : ROW_LIMIT;
}

/* ---- Where parts begin ---- */

/* Where a share of the text begins. They become smaller towards the end, by steps of equal size, so that threads which
 * take one after the other end together. */
static size_t share_start(size_t size, size_t n, size_t number) {
    size_t left = n - number;
    return size - part_start(part_start(size, n, left), n, left);
}

/* A part begins with the first element in its share of the text, or nowhere; the rows of that share are expected. */
static void find_part(void *arg, size_t number) {
    struct document_parts *parts = arg;
    const struct source *source = &parts->document->source;
    const char *text = source->bytes, *first = text + space_end(text, parts->open + 1);
    size_t left = source->size - parts->open, at = parts->open + share_start(left, parts->n, number);
    size_t end = parts->open + share_start(left, parts->n, number + 1) + parts->beginning - 1; /* it begins inside */
    const char *found = text + at;
    parts->begins[number] = SIZE_MAX;
    parts->expected[number] = expected_rows(parts, at, end);
    while ((found = memmem(found, (size_t)(text + end - found), first, parts->beginning))) {
        at = (size_t)(found - text);
        if (is_behind_comma(text, at)) {
            parts->begins[number] = at;
            return;
        }
        found++;
    }
}

/* Enough parts to keep all threads busy and to show progress; a single thread needs no more than one. */
static size_t wanted_parts(const struct document_parts *parts) {
    size_t size = parts->document->source.size - parts->open, most = size / parts->context->part_bytes + 1;
    size_t threads = pool_threads(parts->context->pool), wanted = 8 * threads, shown = size >> 25;
    if (threads == 1)
        return 1;
    if (wanted < shown)
        wanted = shown;
    return wanted < most ? wanted : most;
}

/* Leaves the parts that begin somewhere, each with the rows of those that do not behind it. Where all rows are too
 * many, none are expected. */
static void join_cuts(struct document_parts *parts) {
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
    if (n_rows >= ROW_LIMIT)
        memset(parts->expected, 0, n * sizeof *parts->expected);
}

bool document_cut(struct document_parts *parts, bool one) {
    parts->beginning = one ? 0 : element_beginning(&parts->document->source, parts->open);
    parts->n = parts->beginning ? wanted_parts(parts) : 1;
    parts->begins = malloc(parts->n * sizeof *parts->begins);
    parts->expected = calloc(parts->n, sizeof *parts->expected);
    if (!parts->begins || !parts->expected)
        return false;
    if (parts->beginning)
        pool_run(parts->context->pool, parts->n, find_part, parts);
    join_cuts(parts);
    return true;
}
