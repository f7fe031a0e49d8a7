/*
 * fuzz_repair.c - fuzzes `repair`: the input is a malformed trace. The output is valid JSON or empty; a second repair
 * does not change it; text that readers accept does not change except NaN and infinities; lenient readers fail with the
 * same errors as others.
 */
#include "fuzz.h"
#include "fuzz_trace.h"
#include "read/repair.h"

/* Whether a device trace or a host trace can be read, of a context that is lenient or not. */
static bool is_read(const void *data, size_t size, bool lenient) {
    struct sutra_context_options options = {
        .size = sizeof options, .n_threads = 1, .device = SUTRA_DEVICE_CPU, .lenient = lenient};
    struct sutra_context *context = NULL;
    struct sutra_device_trace *device = NULL;
    struct sutra_host_trace *host = NULL;
    struct sutra_error error = {0};
    check(sutra_context_create(&options, &context, &error) == SUTRA_OK, "a context can be made");
    enum sutra_status status = sutra_device_trace_parse(context, "device", data, size, &device, &error);
    check_outcome(status, &error, device);
    status = sutra_host_trace_parse(context, "host", data, size, &host, &error);
    check_outcome(status, &error, host);
    bool read = device || host;
    sutra_device_trace_free(device);
    sutra_host_trace_free(host);
    sutra_context_free(context);
    return read;
}

/* The mended text; NULL: it is refused. */
static char *repair(const void *data, size_t size, size_t *length, struct sutra_repair_report *report) {
    struct sutra_context *context = new_context(1);
    struct sutra_repair *made = NULL;
    struct sutra_error error = {0};
    enum sutra_status status = sutra_repair_parse(context, "trace", data, size, &made, &error);
    check_outcome(status, &error, made);
    char *bytes = NULL;
    if (made) {
        struct text_repairs mended = {0};
        struct buffer out = {0};
        size_t failed_at;
        char *copy = padded_copy(data, size);
        sutra_repair_report(made, report);
        enum repair_result result = repair_text(copy, size, &mended, &out, &failed_at);
        check(result == (report->n_repaired ? REPAIR_DONE : REPAIR_NONE) || ((const uint8_t *)data)[0] != '{',
              "a repair mends as the mender does");
        *length = result == REPAIR_DONE ? out.length : size;
        bytes = padded_copy(result == REPAIR_DONE ? out.bytes : copy, *length);
        free(copy);
        buffer_free(&out);
        text_repairs_free(&mended);
    }
    sutra_repair_free(made);
    sutra_context_free(context);
    return bytes;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
    struct sutra_repair_report first = {.size = sizeof first}, second = {.size = sizeof second};
    size_t length = 0, length_again = 0;
    if (size == 0 || data[0] == 0x1f || data[0] == 0x28 || (data[0] & 0xf0) == 0x50)
        return 0; /* compressed: the text is another one */
    char *once = repair(data, size, &length, &first);
    bool plain = is_read(data, size, false);
    check(!plain || once, "what can be read can be repaired");
    check(!plain || is_read(data, size, true), "and read by lenient readers");
    if (once) {
        check(!plain || first.n_repaired == first.n[SUTRA_REPAIR_NUMBER], "what can be read is as it should be");
        char *twice = repair(once, length, &length_again, &second);
        check(twice && second.n_repaired == 0 && same_bytes(once, length, twice, length_again),
              "repaired once is enough");
        check(second.n_elements == first.n_elements, "as many elements as before");
        free(twice);
    }
    free(once);
    return 0;
}
