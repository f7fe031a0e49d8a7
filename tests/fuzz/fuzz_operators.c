/*
 * fuzz_operators.c - fuzzes the operator tables: the input is a device trace, and also the capture trace of its graphs;
 * tables of all kernels and of a selection, sutra's and TraceLens', must be equal with one thread and with two.
 */
#include <sys/mman.h>
#include <unistd.h>

#include "fuzz.h"
#include "fuzz_tables.h"
#include "fuzz_trace.h"

struct made {
    struct sutra_context *context;
    struct sutra_operators *operators;
};

/* `capture` NULL: without a capture trace. */
static struct made make(unsigned n_threads, const uint8_t *data, size_t size, bool tracelens, bool kernels,
                        const char *capture) {
    const struct sutra_operators_options options = {
        .size = sizeof options, .kernels = kernels, .captures = &capture, .n_captures = capture != NULL};
    struct made made = {.context = new_context(n_threads)};
    struct sutra_device_trace *trace = NULL;
    struct sutra_error error = {0};
    enum sutra_status status = sutra_device_trace_parse(made.context, "device", data, size, &trace, &error);
    check_outcome(status, &error, trace);
    if (trace && kernels) { /* a rejected selection: analyze the whole trace */
        const struct sutra_restriction part = {
            .size = sizeof part, .step = size % 2 ? "1-9" : NULL, .from_us = (double)(size % 3), .name = "e"};
        status = sutra_device_trace_restrict(made.context, trace, &part, &error);
        check_outcome(status, &error, status ? NULL : trace);
    }
    if (trace) {
        status = tracelens ? sutra_tracelens_run(made.context, trace, 0, &made.operators, &error)
                           : sutra_operators_run(made.context, trace, &options, &made.operators, &error);
        check_outcome(status, &error, made.operators);
    }
    sutra_device_trace_free(trace);
    return made;
}

static void made_free(struct made *made) {
    sutra_operators_free(made->operators);
    sutra_context_free(made->context);
}

static void try_rules(const uint8_t *data, size_t size, bool tracelens, bool kernels, const char *capture) {
    struct made one = make(1, data, size, tracelens, kernels, capture),
                two = make(2, data, size, tracelens, kernels, capture);
    const int n = tracelens ? SUTRA_TRACELENS_N_TABLES : SUTRA_OPERATORS_N_TABLES;
    check((one.operators == NULL) == (two.operators == NULL), "tables for any number of threads or for none");
    for (int id = 0; one.operators && id < n; id++)
        check_tables_alike(sutra_result_table(SUTRA_RESULT(one.operators), (uint32_t)id, NULL),
                           sutra_result_table(SUTRA_RESULT(two.operators), (uint32_t)id, NULL));
    made_free(&one);
    made_free(&two);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
    try_rules(data, size, false, false, NULL);
    try_rules(data, size, false, true, NULL);
    try_rules(data, size, true, false, NULL);

    char path[32];
    int file = memfd_create("capture", 0);
    snprintf(path, sizeof path, "/proc/self/fd/%d", file);
    check(file >= 0 && write(file, data, size) == (ssize_t)size, "the capture trace is written");
    try_rules(data, size, false, false, path);
    close(file);
    return 0;
}
