/*
 * fuzz_diff.c - fuzzes the comparison of two device traces, separated by a line "====" (without it, the trace is
 * compared with itself): in both orders, by sutra's rules and as HTA does, with one thread and with two.
 *
 * Tables do not depend on threads; B against A has as many rows as A against B; rows add up to the totals; equal traces
 * do not differ.
 */
#include <math.h>

#include "fuzz.h"
#include "fuzz_tables.h"
#include "fuzz_trace.h"

struct sides {
    const uint8_t *bytes[2];
    size_t size[2];
};

static struct sides part(const uint8_t *data, size_t size) {
    static const char line[] = "\n====\n";
    size_t length = sizeof line - 1;
    for (size_t i = 0; i + length <= size; i++)
        if (memcmp(data + i, line, length) == 0)
            return (struct sides){{data, data + i + length}, {i, size - i - length}};
    return (struct sides){{data, data}, {size, size}};
}

struct made {
    struct sutra_context *context;
    struct sutra_diff *diff; /* or */
    struct sutra_hta_compare *hta;
    const struct sutra_result *result; /* of either; NULL: none */
};

static struct made make(unsigned n_threads, const struct sides *sides, bool swapped, bool as_hta) {
    struct made made = {.context = new_context(n_threads)};
    struct sutra_device_trace *traces[2] = {NULL, NULL};
    struct sutra_error error = {0};
    enum sutra_status status = SUTRA_OK;
    for (int side = 0; side < 2 && !status; side++) {
        int from = swapped ? !side : side;
        status = sutra_device_trace_parse(made.context, "device", sides->bytes[from], sides->size[from], &traces[side],
                                          &error);
        check_outcome(status, &error, traces[side]);
    }
    if (!status) {
        status = as_hta ? sutra_hta_compare_run_of(made.context, traces[0], traces[1], NULL, &made.hta, &error)
                        : sutra_diff_run_of(made.context, traces[0], traces[1], NULL, &made.diff, &error);
        made.result = as_hta ? SUTRA_RESULT(made.hta) : SUTRA_RESULT(made.diff);
        check_outcome(status, &error, made.result);
    }
    for (int side = 0; side < 2; side++)
        sutra_device_trace_free(traces[side]);
    return made;
}

static void made_free(struct made *made) {
    sutra_diff_free(made->diff);
    sutra_hta_compare_free(made->hta);
    sutra_context_free(made->context);
}

static const double *reals_of(const struct sutra_table *table, const char *name) {
    struct sutra_column column;
    for (uint32_t i = 0; sutra_table_column(table, i, &column); i++)
        if (strcmp(column.name, name) == 0)
            return column.reals;
    check(false, "the column");
    return NULL;
}

static double sum_of(const struct sutra_table *table, const char *name) {
    const double *reals = reals_of(table, name);
    double sum = 0;
    for (uint64_t row = 0; row < sutra_table_rows(table); row++)
        sum += reals[row];
    return sum;
}

static bool is_near(double a, double b, double size) {
    return fabs(a - b) <= 1e-9 * size + 1e-9;
}

static void check_level(const struct made *made, enum sutra_diff_table id, bool equal) {
    const struct sutra_table *table = sutra_result_table(made->result, id, NULL);
    struct sutra_diff_summary summary = {.size = sizeof summary};
    sutra_diff_summary(made->diff, &summary);
    double size = summary.device_us[0] + summary.device_us[1];
    check(is_near(sum_of(table, "device_a_us"), summary.device_us[0], size), "rows of A add up");
    check(is_near(sum_of(table, "device_b_us"), summary.device_us[1], size), "rows of B add up");
    const double *differences = reals_of(table, "device_diff_us");
    for (uint64_t row = 0; row < sutra_table_rows(table) && equal; row++)
        check(differences[row] == 0, "equal traces do not differ");
}

static void try_rules(const struct sides *sides, bool as_hta) {
    struct made one = make(1, sides, false, as_hta), two = make(2, sides, false, as_hta);
    struct made mirror = make(1, sides, true, as_hta);
    bool equal = sides->bytes[0] == sides->bytes[1];
    check((one.result == NULL) == (two.result == NULL), "a difference for any number of threads or for none");
    check((one.result == NULL) == (mirror.result == NULL), "a difference in either order or in none");
    for (uint32_t id = 0; one.result && id < sutra_result_n_tables(one.result); id++) {
        const struct sutra_table *table = sutra_result_table(one.result, id, NULL);
        check_tables_alike(table, sutra_result_table(two.result, id, NULL));
        check(!table || sutra_table_rows(table) == sutra_table_rows(sutra_result_table(mirror.result, id, NULL)),
              "as many rows in either order");
        if (table && one.diff && id >= SUTRA_DIFF_OPERATORS && id <= SUTRA_DIFF_PATHS && id != SUTRA_DIFF_COLLECTIVES)
            check_level(&one, (enum sutra_diff_table)id, equal);
    }
    made_free(&one);
    made_free(&two);
    made_free(&mirror);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
    struct sides sides = part(data, size);
    try_rules(&sides, false);
    try_rules(&sides, true);
    return 0;
}
