/*
 * test_cuda_columns.c - tests columns in the memory of a CUDA device, for which the CPU stands in: device memory is
 * host memory, so that exported buffers can be read.
 */
#include "arrow_check.h"
#include "sutra/sutra.h"
#include "unit.h"

static const char events_text[] =
    "{\"traceEvents\":["
    "{\"ph\":\"X\",\"cat\":\"cpu_op\",\"name\":\"a\",\"pid\":1,\"tid\":5,\"ts\":10.5,\"dur\":9,"
    "\"args\":{\"External id\":3,\"on\":true,\"dims\":[1,2]}},"
    "{\"ph\":\"X\",\"cat\":\"cuda_runtime\",\"name\":\"cudaLaunchKernel\",\"pid\":1,\"tid\":5,\"ts\":11,\"dur\":2,"
    "\"args\":{\"correlation\":70}},"
    "{\"ph\":\"X\",\"cat\":\"kernel\",\"name\":\"a\",\"pid\":0,\"tid\":7,\"ts\":15,\"dur\":0,"
    "\"args\":{\"correlation\":70,\"stream\":7,\"device\":2,\"on\":false}},"
    "{\"cat\":5,\"pid\":null}]}";

struct columns_case {
    struct sutra_context *context;
    struct sutra_device_trace *trace;
};

static struct columns_case case_new(enum sutra_device device, uint64_t memory) {
    struct columns_case made = {NULL, NULL};
    made.context = NEW_CONTEXT(.n_threads = 2, .device = device, .device_memory = memory);
    assert_int_equal(
        sutra_device_trace_parse(made.context, "device", events_text, strlen(events_text), &made.trace, NULL),
        SUTRA_OK);
    return made;
}

static void case_free(struct columns_case *of) {
    sutra_device_trace_free(of->trace);
    sutra_context_free(of->context);
}

static struct ArrowArrayStream events_of(const struct columns_case *of) {
    static const char *const args[] = {"on", "dims"};
    const struct sutra_columns_options options = {.size = sizeof options, .args = args, .n_args = 2};
    struct ArrowArrayStream stream;
    assert_int_equal(sutra_device_trace_arrow(of->context, of->trace, &options, &stream, NULL), SUTRA_OK);
    return stream;
}

static struct sutra_device_columns *columns_of(const struct columns_case *of) {
    struct sutra_device_columns *columns = NULL;
    struct ArrowArrayStream stream = events_of(of);
    assert_int_equal(sutra_device_columns_create(of->context, &stream, &columns, NULL), SUTRA_OK);
    assert_null(stream.release);
    return columns;
}

static void expect_same_bytes(const struct ArrowArray *got, const struct ArrowArray *expected, int64_t number,
                              size_t bytes) {
    assert_int_equal(!got->buffers[number], !expected->buffers[number]);
    if (!expected->buffers[number])
        return;
    assert_ptr_not_equal(got->buffers[number], expected->buffers[number]);
    assert_memory_equal(got->buffers[number], expected->buffers[number], bytes);
}

static void expect_same_column(const struct ArrowSchema *schema, const struct ArrowArray *got,
                               const struct ArrowArray *expected) {
    size_t n = (size_t)expected->length, width = strchr("lg", *schema->format)   ? 8
                                                 : strchr("iI", *schema->format) ? 4
                                                                                 : 1;
    assert_int_equal(got->length, expected->length);
    assert_int_equal(got->null_count, expected->null_count);
    assert_int_equal(got->n_buffers, expected->n_buffers);
    if (expected->n_buffers)
        expect_same_bytes(got, expected, 0, (n + 7) / 8);
    if (*schema->format == 'u') {
        expect_same_bytes(got, expected, 1, 4 * (n + 1));
        expect_same_bytes(got, expected, 2, (size_t)arrow_offset(expected, "u", expected->length));
    } else if (expected->n_buffers > 1) {
        expect_same_bytes(got, expected, 1, *schema->format == 'b' ? (n + 7) / 8 : width * n);
    }
    assert_int_equal(!got->dictionary, !expected->dictionary);
    if (expected->dictionary)
        expect_same_column(schema->dictionary, got->dictionary, expected->dictionary);
}

static void all_buffers_are_copied_to_the_device(void **state) {
    struct columns_case of = case_new(SUTRA_DEVICE_AUTO, 0);
    struct sutra_device_columns *columns = columns_of(&of);
    struct ArrowArrayStream stream = events_of(&of);
    struct arrow_table expected;
    struct ArrowDeviceArray got;
    struct ArrowSchema schema;
    assert_null(arrow_take(&stream, &expected));
    assert_int_equal(sutra_device_columns_arrow(columns, &got, &schema, NULL), SUTRA_OK);
    assert_int_equal(got.device_type, ARROW_DEVICE_CUDA);
    assert_int_equal(got.device_id, 0);
    assert_null(got.sync_event);
    assert_int_equal(got.array.n_children, expected.array.n_children);
    assert_int_equal(got.array.length, 4);
    for (int64_t i = 0; i < expected.array.n_children; i++) {
        assert_string_equal(schema.children[i]->name, expected.schema.children[i]->name);
        expect_same_column(schema.children[i], got.array.children[i], expected.array.children[i]);
    }
    struct arrow_table exported = {schema, got.array};
    assert_null(arrow_wrong(&exported));
    arrow_free(&exported);
    arrow_free(&expected);
    sutra_device_columns_free(columns);
    case_free(&of);
}

static void lists_are_copied_to_the_device(void **state) {
    static const char host_text[] =
        "{\"schema\":\"1.0.1\",\"nodes\":[{\"id\":1,\"name\":\"[pytorch]\",\"rf_id\":0,\"parent\":0}]}";
    struct columns_case of = case_new(SUTRA_DEVICE_CPU, 0);
    struct sutra_host_trace *host = NULL;
    struct sutra_linked *linked = NULL;
    struct sutra_device_columns *columns = NULL;
    struct ArrowArrayStream stream;
    struct ArrowDeviceArray got;
    struct ArrowSchema schema;
    assert_int_equal(sutra_host_trace_parse(of.context, "host", host_text, strlen(host_text), &host, NULL), SUTRA_OK);
    assert_int_equal(sutra_link(of.context, host, of.trace, NULL, &linked, NULL), SUTRA_OK);
    assert_int_equal(sutra_linked_arrow(of.context, linked, NULL, &stream, NULL), SUTRA_OK);
    assert_int_equal(sutra_device_columns_create(of.context, &stream, &columns, NULL), SUTRA_OK);
    assert_int_equal(sutra_device_columns_arrow(columns, &got, &schema, NULL), SUTRA_OK);
    struct arrow_table exported = {schema, got.array};
    assert_null(arrow_wrong(&exported));
    int64_t number = arrow_find(&exported, "sync_dep");
    assert_string_equal(schema.children[number]->format, "+l");
    assert_int_equal(got.array.children[number]->n_children, 1);
    arrow_free(&exported);
    sutra_device_columns_free(columns);
    sutra_linked_free(linked);
    sutra_host_trace_free(host);
    case_free(&of);
}

static void exported_columns_are_released_alone_and_last(void **state) {
    struct columns_case of = case_new(SUTRA_DEVICE_CUDA, 0);
    struct sutra_device_columns *columns = columns_of(&of);
    struct ArrowDeviceArray first, second;
    assert_int_equal(sutra_device_columns_arrow(columns, &first, NULL, NULL), SUTRA_OK);
    assert_int_equal(sutra_device_columns_arrow(columns, &second, NULL, NULL), SUTRA_OK);
    assert_ptr_equal(first.array.children[0]->buffers[1], second.array.children[0]->buffers[1]);
    sutra_device_columns_free(columns);
    case_free(&of);
    struct ArrowArray moved = *first.array.children[0];
    first.array.children[0]->release = NULL;
    first.array.release(&first.array);
    second.array.children[1]->release(second.array.children[1]);
    second.array.release(&second.array);
    assert_true(((const double *)moved.buffers[1])[0] == 10.5);
    moved.release(&moved);
    assert_null(moved.release);
}

static void without_device_or_memory_there_is_an_error(void **state) {
    struct sutra_device_columns *columns = NULL;
    struct sutra_error error;
    struct columns_case small = case_new(SUTRA_DEVICE_AUTO, 100);
    struct ArrowArrayStream stream = events_of(&small);
    assert_int_equal(sutra_device_columns_create(small.context, &stream, &columns, &error), SUTRA_SYSTEM);
    assert_non_null(strstr(error.message, "MB are needed on the GPU"));
    assert_null(stream.release);
    case_free(&small);

    setenv("HOST_GPU_DEVICES", "0", 1);
    struct columns_case none = case_new(SUTRA_DEVICE_AUTO, 0);
    stream = events_of(&none);
    assert_int_equal(sutra_device_columns_create(none.context, &stream, &columns, &error), SUTRA_UNAVAILABLE);
    assert_non_null(strstr(error.message, "no CUDA device"));
    assert_null(stream.release);
    assert_null(columns);
    case_free(&none);
    setenv("HOST_GPU_DEVICES", "1", 1);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(all_buffers_are_copied_to_the_device),
        cmocka_unit_test(lists_are_copied_to_the_device),
        cmocka_unit_test(exported_columns_are_released_alone_and_last),
        cmocka_unit_test(without_device_or_memory_there_is_an_error),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
