/*
 * fault_memory_hta.c - fails every allocation in turn while two ranks are analyzed and their tables are written.
 *
 * Each run must return SUTRA_SYSTEM and leave no file, or write the expected files. The sanitizers detect leaks.
 */
#include <unistd.h>

#include "hta_table.h"
#include "refuse.h"

#define EVENTS(step)                                                                                                                                \
    STEP(1, 0, 100)                                                                                                                                 \
    "," STEP(step, 200, 100) "," LAUNCH(5, 2, 1) "," LAUNCH(8, 2, 2) "," CALL("cudaMemcpyAsync", 9, 1, 3) "," KERNEL("k", 7, 10, 20, 1) "," KERNEL( \
        "l", 8, 12, 30,                                                                                                                             \
        2) "," COPY("Memcpy HtoD", 7, 40, 5, 3,                                                                                                     \
                    2.5) "," KERNEL("ncclKernel", 9, 20, 30,                                                                                        \
                                    2) "," EVENT("kernel", "m", 0, 7, 50, 1,                                                                        \
                                                 "\"stream\":\"x\",\"correlation\":\"y\"") "," OP("aten::mm", 4,                                    \
                                                                                                  20) "," EVENT("gpu_user_annotation",              \
                                                                                                                "a",                                \
                                                                                                                0, 7,                               \
                                                                                                                10,                                 \
                                                                                                                30,                                 \
                                                                                                                "")

static const char *const texts[] = {TRACE(EVENTS(2)), TRACE(EVENTS(1)), TRACE("")};

enum {
    N_RANKS = sizeof texts / sizeof *texts,
    N_TABLES = SUTRA_HTA_N_TABLES - 10, /* tables of all ranks */
};

struct run {
    char folder[64], in[N_RANKS][96], out[96];
    const char *list[N_RANKS];
    struct sutra_hta_options how;
    unsigned n_tables;
};

static enum sutra_status on_rank(void *arg, struct sutra_context *context, const struct sutra_hta *hta,
                                 struct sutra_error *error) {
    static const enum sutra_hta_table of_rank[] = {
        SUTRA_HTA_LAUNCHES,         SUTRA_HTA_QUEUE,      SUTRA_HTA_ANNOTATED, SUTRA_HTA_OPERATORS, SUTRA_HTA_SEQUENCES,
        SUTRA_HTA_BANDWIDTH_SERIES, SUTRA_HTA_BUSY_SERIES};
    const struct run *run = arg;
    enum sutra_status status = SUTRA_OK;
    for (size_t i = 0; i < sizeof of_rank / sizeof *of_rank && !status; i++) {
        const struct sutra_table *table = sutra_result_table(SUTRA_RESULT(hta), of_rank[i], NULL);
        if (table && !run->how.compat) /* they are written alike */
            status = sutra_table_write(context, table, SUTRA_TABLE_JSON, run->out, NULL, error);
    }
    return status;
}

static enum sutra_status write_tables(struct run *run, struct sutra_context *context,
                                      const struct sutra_hta_ranks *ranks, struct sutra_error *error) {
    struct sutra_hta_slowest slowest = {.size = sizeof slowest};
    enum sutra_status status = SUTRA_OK;
    run->n_tables = 0;
    sutra_hta_ranks_slowest(ranks, &slowest);
    for (int id = 0; id < SUTRA_HTA_N_TABLES && !status; id++) {
        const struct sutra_table *table = sutra_result_table(SUTRA_RESULT(ranks), (uint32_t)id, NULL);
        run->n_tables += table != NULL;
        if (table && !run->how.compat)
            status = sutra_table_write(context, table, SUTRA_TABLE_CSV, run->out, NULL, error);
    }
    return status;
}

static enum sutra_status run_once(void *arg, struct sutra_error *error) {
    struct run *run = arg;
    struct sutra_context_options options = {.size = sizeof options, .n_threads = 1};
    struct sutra_hta_ranks_options ranks_options = {
        .size = sizeof ranks_options, .hta = &run->how, .visit = on_rank, .arg = run};
    struct sutra_context *context = NULL;
    struct sutra_hta_ranks *ranks = NULL;
    enum sutra_status status = sutra_context_create(&options, &context, error);
    if (!status)
        status = sutra_hta_ranks_run(context, run->list, N_RANKS, &ranks_options, &ranks, error);
    if (!status)
        status = write_tables(run, context, ranks, error);
    if (!status)
        status = sutra_hta_ranks_write_list(context, ranks, SUTRA_HTA_LIST_STRAGGLERS, run->out, NULL, error);
    if (!status)
        status = sutra_hta_ranks_write_stragglers(context, ranks, NULL, 0, 2, run->out, NULL, error);
    sutra_hta_ranks_free(ranks);
    sutra_context_free(context);
    return status;
}

static struct run make_run(void) {
    struct run run = {.folder = P_tmpdir "/sutra_fault_XXXXXX"};
    assert_non_null(mkdtemp(run.folder));
    strcat(strcpy(run.out, run.folder), "/out");
    for (size_t i = 0; i < N_RANKS; i++) {
        char name[] = "/0.json";
        name[1] = (char)('0' + i);
        strcat(strcpy(run.in[i], run.folder), name);
        FILE *file = fopen(run.in[i], "w");
        assert_non_null(file);
        fputs(texts[i], file);
        fclose(file);
    }
    return run;
}

static void check(void *arg, long n, enum sutra_status status) {
    const struct run *run = arg;
    if (status == SUTRA_OK && run->n_tables != N_TABLES - 2u * run->how.compat)
        fail_msg("allocation %ld: %u tables", n, run->n_tables);
    unlink(run->out);
}

static void any_allocation_may_fail(void **state) {
    (void)state;
    struct run run = make_run();
    const struct refusable refusable = {&run, run_once, check};
    struct sutra_error error;
    for (size_t i = 0; i < N_RANKS; i++)
        run.list[i] = run.in[i];
    for (int compat = 0; compat < 2; compat++) { /* HTA has no tables of steps and lateness */
        run.how =
            (struct sutra_hta_options){.size = sizeof run.how, .compat = compat, .hta_version = SUTRA_HTA_VERSION_0_6};
        assert_int_equal(run_once(&run, &error), SUTRA_OK);
        assert_int_equal(run.n_tables, N_TABLES - 2 * compat);
        assert_true(refuse_each(&refusable, false) > 400);
        assert_true(refuse_each(&refusable, true) > 400);
    }
    for (size_t i = 0; i < N_RANKS; i++)
        unlink(run.in[i]);
    assert_int_equal(rmdir(run.folder), 0); /* no other file is left */
}

/* ---- Two threads ---- */

/* Tables of one trace, made at once. */
static enum sutra_status run_at_once(void *arg, struct sutra_error *error) {
    unsigned *n_tables = arg;
    const struct sutra_context_options options = {.size = sizeof options, .n_threads = 2};
    struct sutra_context *context = NULL;
    struct sutra_device_trace *trace = NULL;
    struct sutra_hta *hta = NULL;
    enum sutra_status status = sutra_context_create(&options, &context, error);
    if (!status)
        status = sutra_device_trace_parse(context, "trace", texts[0], strlen(texts[0]), &trace, error);
    if (!status)
        status = sutra_hta_run(context, trace, NULL, &hta, error);
    *n_tables = 0;
    for (int id = 0; id < SUTRA_HTA_N_TABLES && !status; id++)
        *n_tables += sutra_result_table(SUTRA_RESULT(hta), (uint32_t)id, NULL) != NULL;
    sutra_hta_free(hta);
    sutra_device_trace_free(trace);
    sutra_context_free(context);
    return status;
}

static void check_tables(void *arg, long n, enum sutra_status status) {
    const unsigned *n_tables = arg;
    if (status == SUTRA_OK && *n_tables < 15)
        fail_msg("allocation %ld: %u tables", n, *n_tables);
}

static void any_allocation_may_fail_on_either_thread(void **state) {
    (void)state;
    unsigned n_tables;
    struct sutra_error error;
    assert_int_equal(run_at_once(&n_tables, &error), SUTRA_OK);
    assert_true(n_tables >= 15);
    assert_true(refuse_each(&(struct refusable){&n_tables, run_at_once, check_tables}, false) > 100);
}

int main(void) {
    const struct CMUnitTest tests[] = {cmocka_unit_test(any_allocation_may_fail),
                                       cmocka_unit_test(any_allocation_may_fail_on_either_thread)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
