/*
 * test_document_cut.c - tests the partition of a JSON array for parallel parsing: parts begin at elements, get smaller
 * towards the end, and estimate their numbers of rows.
 */
#include "base/memory.h"
#include "read/document.h"
#include "sutra/sutra.h"
#include "unit.h"

static struct buffer events_of(unsigned n) {
    struct buffer text = {0};
    char event[64];
    buffer_append(&text, "{\"traceEvents\": [", 17);
    for (unsigned i = 0; i < n; i++)
        buffer_append(
            &text, event,
            (size_t)sprintf(event, "%s{\"ph\": \"X\", \"name\": \"%0*u\"}", i ? ",\n" : "", (int)(i % 16), i));
    buffer_append(&text, "]}", 2);
    return text;
}

static unsigned elements_in(const char *text, size_t from, size_t to) {
    unsigned n = 0;
    for (const char *at = text + from; (at = strstr(at, "{\"ph\"")) && at < text + to; at++)
        n++;
    return n;
}

static void parts_become_smaller_and_expect_their_rows(void **state) {
    struct document document = {0};
    struct buffer text = events_of(40000);
    struct sutra_context *context = NEW_CONTEXT(.n_threads = 2);
    assert_int_equal(source_copy(&document.source, "events", text.bytes, text.length, NULL), 0);
    context->part_bytes = 1000;
    struct document_parts parts = {.document = &document, .context = context, .open = 16};
    assert_true(document_cut(&parts, false));
    assert_int_equal(parts.n, 16);
    assert_int_equal(parts.begins[0], parts.open);
    size_t before = SIZE_MAX;
    for (size_t i = 0; i < parts.n; i++) {
        size_t begin = parts.begins[i], end = i + 1 < parts.n ? parts.begins[i + 1] : document.source.size;
        unsigned n = elements_in(document.source.bytes, begin, end);
        assert_true(i == 0 || memcmp(document.source.bytes + begin, "{\"ph\"", 5) == 0);
        assert_true(end > begin && end - begin < before);
        assert_in_range(parts.expected[i], n, n + n / 4 + 100);
        before = end - begin;
    }
    free(parts.begins);
    free(parts.expected);
    document_free(&document);
    sutra_context_free(context);
    buffer_free(&text);
}

int main(void) {
    const struct CMUnitTest tests[] = {cmocka_unit_test(parts_become_smaller_and_expect_their_rows)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
