/*
 * fuzz_hta.c - the input as a device trace, of which the tables of HTA are made, by one thread and by two: equal ones,
 * with columns of one length, or a reason for each that is missing.
 */
#include "fuzz.h"
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
        status = sutra_hta_make(made.context, trace, options, &made.hta, &error);
        check_outcome(status, &error, made.hta);
    }
    sutra_device_trace_free(trace);
    return made;
}

static void made_free(struct made *made) {
    sutra_hta_free(made->hta);
    sutra_context_free(made->context);
}

static void check_columns(const struct sutra_column *a, const struct sutra_column *b, uint64_t n_rows) {
    check(a->kind == b->kind && strcmp(a->name, b->name) == 0, "the same columns");
    if (n_rows == 0)
        return;
    if (a->kind == SUTRA_COLUMN_INTEGER)
        check(memcmp(a->integers, b->integers, n_rows * sizeof *a->integers) == 0, "the same integers");
    else if (a->kind == SUTRA_COLUMN_REAL)
        check(memcmp(a->reals, b->reals, n_rows * sizeof *a->reals) == 0, "the same real numbers");
    else
        check(memcmp(a->starts, b->starts, (n_rows + 1) * sizeof *a->starts) == 0 &&
                  memcmp(a->bytes, b->bytes, a->starts[n_rows]) == 0,
              "the same text");
}

static void check_tables(const struct sutra_hta *one, const struct sutra_hta *two) {
    for (int id = 0; id < SUTRA_HTA_N_TABLES; id++) {
        const char *reason;
        const struct sutra_table *a = sutra_hta_table(one, (enum sutra_hta_table)id, &reason);
        const struct sutra_table *b = sutra_hta_table(two, (enum sutra_hta_table)id, NULL);
        struct sutra_column left, right;
        check((a == NULL) == (b == NULL) && (a == NULL) == (reason != NULL), "a table or a reason");
        if (!a)
            continue;
        check(sutra_table_rows(a) == sutra_table_rows(b), "as many rows");
        for (uint32_t i = 0; sutra_table_column(a, i, &left); i++) {
            check(sutra_table_column(b, i, &right), "as many columns");
            check_columns(&left, &right, sutra_table_rows(a));
        }
    }
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
    uint8_t bits = size ? data[size - 1] : 0; /* behind the trace's end, where white space does no harm */
    struct sutra_hta_options options = {.size = sizeof options,
                                        .n_kernels = 1 + bits % 3,
                                        .last_step = bits & 1,
                                        .all_launches = bits & 4,
                                        .nanoseconds = bits & 8};
    struct made one = make(1, data, size, &options), two = make(2, data, size, &options);
    check((one.hta == NULL) == (two.hta == NULL), "tables for any number of threads or for none");
    if (one.hta)
        check_tables(one.hta, two.hta);
    made_free(&one);
    made_free(&two);
    return 0;
}
