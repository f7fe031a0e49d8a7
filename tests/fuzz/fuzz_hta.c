/*
 * fuzz_hta.c - fuzzes HTA's tables: the input is a device trace. One and two threads give equal tables with columns of
 * equal length, or a reason for each missing table.
 */
#include "fuzz.h"
#include "fuzz_tables.h"
#include "fuzz_trace.h"

struct made {
    struct sutra_context *context;
    struct sutra_hta *hta;
};

static struct made make(unsigned n_threads, const uint8_t *data, size_t size, const struct sutra_hta_options *options) {
    struct made made = {.context = new_context(n_threads)};
    struct sutra_device_trace *trace = NULL;
    struct sutra_error error = {0};
    enum sutra_status status = sutra_device_trace_parse(made.context, "device", data, size, &trace, &error);
    check_outcome(status, &error, trace);
    if (trace) {
        status = sutra_hta_run(made.context, trace, options, &made.hta, &error);
        check_outcome(status, &error, made.hta);
    }
    sutra_device_trace_free(trace);
    return made;
}

static void made_free(struct made *made) {
    sutra_hta_free(made->hta);
    sutra_context_free(made->context);
}

static void check_tables(const struct sutra_hta *one, const struct sutra_hta *two) {
    for (int id = 0; id < SUTRA_HTA_N_TABLES; id++) {
        const char *reason;
        const struct sutra_table *a = sutra_result_table(SUTRA_RESULT(one), (uint32_t)id, &reason);
        const struct sutra_table *b = sutra_result_table(SUTRA_RESULT(two), (uint32_t)id, NULL);
        check((a == NULL) == (reason != NULL), "a table or a reason");
        check_tables_alike(a, b);
    }
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
    uint8_t bits = size ? data[size - 1] : 0; /* after the trace's end, where white space is harmless */
    struct sutra_hta_options options = {.size = sizeof options,
                                        .n_kernels = 1 + bits % 3,
                                        .last_step = bits & 1,
                                        .all_launches = bits & 4,
                                        .nanoseconds = bits & 8,
                                        .compat = size & 1,
                                        .hta_version = size & 2 ? SUTRA_HTA_VERSION_0_6 : SUTRA_HTA_VERSION_0_5,
                                        .full_queue = 2,
                                        .rows = bits & 16,
                                        .short_names = bits & 32,
                                        .no_memory_launches = bits & 64,
                                        .n_annotations = 1 + size % 2,
                                        .sequence_kernels = 1 + size % 3};
    struct made one = make(1, data, size, &options), two = make(2, data, size, &options);
    check((one.hta == NULL) == (two.hta == NULL), "tables for any number of threads or for none");
    if (one.hta)
        check_tables(one.hta, two.hta);
    made_free(&one);
    made_free(&two);
    return 0;
}
