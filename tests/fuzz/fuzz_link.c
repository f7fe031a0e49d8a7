/*
 * fuzz_link.c - fuzzes `link`: the input is a host trace, a record separator (1E, which JSON cannot contain) and a
 * device trace. One and two threads give the same bytes, or the same error.
 */
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include "fuzz.h"
#include "fuzz_trace.h"

#define SEPARATOR 0x1E

struct outcome {
    enum sutra_status status;
    struct sutra_error error;
    struct sutra_link_report report;
    char *bytes; /* ET+, NULL without success */
    size_t n_bytes;
};

/* The output of linked_write(), with standard output redirected to a file in memory. */
static void write_to_memory(struct sutra_context *context, const struct sutra_linked *linked, struct outcome *outcome) {
    struct stat stat;
    uint64_t n_bytes = 0;
    int memory = memfd_create("fuzz_link", MFD_CLOEXEC), standard_output = dup(STDOUT_FILENO);
    check(memory >= 0 && standard_output >= 0 && dup2(memory, STDOUT_FILENO) >= 0, "a file in memory");
    outcome->status = sutra_linked_write(context, linked, "-", &n_bytes, &outcome->error);
    check(dup2(standard_output, STDOUT_FILENO) >= 0 && fstat(memory, &stat) == 0, "standard output is back");
    if (outcome->status == SUTRA_OK) {
        outcome->n_bytes = (size_t)stat.st_size;
        outcome->bytes = new_bytes(outcome->n_bytes);
        check(n_bytes == outcome->n_bytes && n_bytes > 0, "as many bytes as were announced");
        check(pread(memory, outcome->bytes, outcome->n_bytes, 0) == stat.st_size, "ET+ can be read back");
    }
    check_outcome(outcome->status, &outcome->error, outcome->bytes);
    close(standard_output);
    close(memory);
}

static void link_and_write(struct sutra_context *context, const struct sutra_host_trace *host,
                           const struct sutra_device_trace *device, size_t size, struct outcome *outcome) {
    const struct sutra_link_options options = {.size = sizeof options,
                                               .no_sync = size % 2,
                                               .any_launch = size % 3 == 0,
                                               .match = (enum sutra_match)(size % 5 % 3)};
    struct sutra_linked *linked = NULL;
    outcome->status = sutra_link(context, host, device, &options, &linked, &outcome->error);
    check_outcome(outcome->status, &outcome->error, linked);
    if (!linked)
        return;
    sutra_linked_report(linked, &outcome->report);
    write_to_memory(context, linked, outcome);
    sutra_linked_free(linked);
}

static struct outcome run(unsigned n_threads, const uint8_t *data, size_t n_host, size_t size) {
    struct outcome outcome = {.report.size = sizeof outcome.report};
    struct sutra_context *context = new_context(n_threads);
    struct sutra_host_trace *host = NULL;
    struct sutra_device_trace *device = NULL;
    size_t device_off = n_host < size ? n_host + 1 : size;
    outcome.status = sutra_host_trace_parse(context, "host", data, n_host, &host, &outcome.error);
    if (outcome.status == SUTRA_OK)
        outcome.status =
            sutra_device_trace_parse(context, "device", data + device_off, size - device_off, &device, &outcome.error);
    check_outcome(outcome.status, &outcome.error, device);
    if (device)
        link_and_write(context, host, device, size, &outcome);
    sutra_device_trace_free(device);
    sutra_host_trace_free(host);
    sutra_context_free(context);
    return outcome;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
    const uint8_t *separator = size ? memchr(data, SEPARATOR, size) : NULL;
    size_t n_host = separator ? (size_t)(separator - data) : size;
    struct outcome one = run(1, data, n_host, size), two = run(2, data, n_host, size);
    check(one.status == two.status, "threads do not change the status");
    if (one.status == SUTRA_OK) {
        check(same_bytes(one.bytes, one.n_bytes, two.bytes, two.n_bytes), "threads do not change the output");
        check(memcmp(&one.report, &two.report, sizeof one.report) == 0, "threads do not change the report");
    } else {
        check(strcmp(one.error.message, two.error.message) == 0, "threads do not change the message");
        check(one.error.offset == two.error.offset, "threads do not change where the error is");
    }
    free(one.bytes);
    free(two.bytes);
    return 0;
}
