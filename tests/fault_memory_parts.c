/*
 * fault_memory_parts.c - fails every allocation in turn while partial results of two ranks (--shard, --combine) are
 * encoded and decoded.
 *
 * Each run must return SUTRA_SYSTEM, or all ranks and tables. The sanitizers detect leaks.
 */
#include "hta_table.h"
#include "refuse.h"
#include "trace_folder.h"

#include "analyze/ranks.h"
#include "context/context.h"
#include "sutra/collectives.h"
#include "sutra/dlrm.h"
#include "sutra/operators.h"
#include "sutra/overview.h"

#define REDUCE(ts, seq)                                                                                                \
    EVENT(                                                                                                             \
        "kernel", "ncclDevKernel_AllReduce", 0, 8, ts, 9,                                                              \
        "\"stream\":8,\"correlation\":2,\"Collective name\":\"allreduce\",\"dtype\":\"Float\",\"Process Group Name\":" \
        "\"0\",\"Process Group Ranks\":\"[0, 1]\",\"Group size\":2,\"In msg nelems\":8,\"Out msg nelems\":8,\"Seq\":" seq)
#define EVENTS(ts)                                                                                                     \
    STEP(1, 0, 100)                                                                                                    \
    "," STEP(2, 200, 100) "," OP("aten::mm", 4, 20) "," LAUNCH(5, 2, 1) "," LAUNCH(8, 2, 2) "," KERNEL(                \
        "k", 7, 10, 9, 1) "," COPY("Memcpy HtoD", 7, 40, 5, 3, 2.5) "," REDUCE(ts, "0") "," REDUCE(220, "1")

/* A process of a trace with several ranks, and all of its work. */
#define PROCESS(prefix)                                                                                                \
    "{\"ph\":\"X\",\"cat\":\"cuda_runtime\",\"name\":\"cudaLaunchKernel\",\"pid\":\"" prefix                           \
    " 1\",\"tid\":1,\"ts\":1,\"dur\":5,\"args\":{\"correlation\":1}},"                                                 \
    "{\"ph\":\"X\",\"cat\":\"kernel\",\"name\":\"b\",\"pid\":\"" prefix                                                \
    " 0\",\"tid\":7,\"ts\":7,\"dur\":2,\"args\":{\"stream\":7,\"device\":0,\"correlation\":1}}"

/* ---- The analyses ---- */

/* Each function analyzes the paths and counts the analyzed ranks and the tables. */
typedef enum sutra_status analysis_run(struct sutra_context *context, const char *const *paths, unsigned *n,
                                       struct sutra_error *error);

static enum sutra_status make_hta(struct sutra_context *context, const char *const *paths, unsigned *n,
                                  struct sutra_error *error) {
    struct sutra_hta_ranks *ranks = NULL;
    enum sutra_status status = sutra_hta_ranks_run(context, paths, 2, NULL, &ranks, error);
    for (size_t i = 0; !status && sutra_hta_ranks_get(ranks, i); i++)
        *n += !sutra_hta_ranks_get(ranks, i)->reason;
    for (int id = 0; id < SUTRA_HTA_N_TABLES && !status; id++)
        *n += sutra_result_table(SUTRA_RESULT(ranks), (uint32_t)id, NULL) != NULL;
    sutra_hta_ranks_free(ranks);
    return status;
}

static enum sutra_status make_dlrm(struct sutra_context *context, const char *const *paths, unsigned *n,
                                   struct sutra_error *error) {
    struct sutra_dlrm_ranks *ranks = NULL;
    uint64_t n_overheads = 0;
    enum sutra_status status = sutra_dlrm_ranks_run(context, paths, 2, NULL, &ranks, error);
    for (size_t i = 0; !status && sutra_dlrm_ranks_get(ranks, i); i++)
        *n += !sutra_dlrm_ranks_get(ranks, i)->reason;
    if (!status)
        sutra_dlrm_ranks_overheads(ranks, &n_overheads);
    *n += (unsigned)n_overheads;
    sutra_dlrm_ranks_free(ranks);
    return status;
}

static enum sutra_status make_operators(struct sutra_context *context, const char *const *paths, unsigned *n,
                                        struct sutra_error *error) {
    struct sutra_operators_ranks *ranks = NULL;
    enum sutra_status status = sutra_operators_ranks_run(context, paths, 2, NULL, &ranks, error);
    for (size_t i = 0; !status && sutra_operators_ranks_get(ranks, i); i++)
        *n += !sutra_operators_ranks_get(ranks, i)->reason;
    for (int id = 0; id < SUTRA_OPERATORS_N_TABLES && !status; id++)
        *n += sutra_result_table(SUTRA_RESULT(ranks), (uint32_t)id, NULL) != NULL;
    sutra_operators_ranks_free(ranks);
    return status;
}

static enum sutra_status make_collectives(struct sutra_context *context, const char *const *paths, unsigned *n,
                                          struct sutra_error *error) {
    struct sutra_collectives *collectives = NULL;
    enum sutra_status status = sutra_collectives_run(context, paths, 2, NULL, &collectives, error);
    for (size_t i = 0; !status && sutra_collectives_at(collectives, i); i++)
        *n += !sutra_collectives_at(collectives, i)->reason;
    for (int id = 0; id < SUTRA_COLLECTIVES_N_TABLES && !status; id++)
        *n += sutra_result_table(SUTRA_RESULT(collectives), (uint32_t)id, NULL) != NULL;
    sutra_collectives_free(collectives);
    return status;
}

static enum sutra_status make_overview(struct sutra_context *context, const char *const *paths, unsigned *n,
                                       struct sutra_error *error) {
    const struct sutra_overview_options options = {
        .size = sizeof options, .tables = true, .companion = sutra_hta_companion()};
    struct sutra_overview *overview = NULL;
    enum sutra_status status = sutra_overview_run(context, paths, 2, &options, &overview, error);
    for (int id = 0; id < SUTRA_OVERVIEW_N_TABLES && !status; id++)
        *n += (unsigned)sutra_table_rows(sutra_result_table(SUTRA_RESULT(overview), (uint32_t)id, NULL));
    sutra_overview_free(overview);
    return status;
}

/* ---- Through files ---- */

struct shard_run {
    analysis_run *make;
    const struct folder *traces;
    struct shard_plan plan;
    unsigned n, wanted; /* counts of the result */
};

static enum sutra_status run_shard(void *arg, struct sutra_error *error) {
    struct shard_run *run = arg;
    const struct sutra_context_options options = {.size = sizeof options, .n_threads = 1};
    struct sutra_context *context = NULL;
    enum sutra_status status = sutra_context_create(&options, &context, error);
    run->n = 0;
    if (!status) {
        context->plan = &run->plan;
        status = run->make(context, run->traces->list, &run->n, error);
    }
    sutra_context_free(context);
    return status;
}

static void check(void *arg, long n, enum sutra_status status) {
    const struct shard_run *run = arg;
    if (!status && run->n != run->wanted)
        fail_msg("allocation %ld: %u ranks and tables of %u", n, run->n, run->wanted);
}

/* Decodes existing partial results; if `all`, also analyzes and encodes, which costs more. */
static void try_analysis(analysis_run *make, bool all, const struct folder *traces, const char *directory) {
    struct shard_run run = {make, traces, {.folder = directory, .n_shards = 1, .combines = true}, 0, 0};
    const struct refusable refusable = {&run, run_shard, check};
    struct sutra_error error;
    assert_int_equal(run_shard(&run, &error), SUTRA_OK);
    run.wanted = run.n;
    assert_true(run.wanted > 2);
    if (all)
        assert_true(refuse_each(&refusable, false) > 100);
    assert_int_equal(run_shard(&run, &error), SUTRA_OK);
    run.plan.n_shards = 0;
    assert_true(refuse_each(&refusable, false) > 20);
    assert_true(refuse_each(&refusable, true) > 20);
}

static void any_allocation_may_fail(void **state) {
    static analysis_run *const analyses[] = {make_hta, make_dlrm, make_operators, make_collectives, make_overview};
    struct folder traces = make_folder();
    char directory[] = P_tmpdir "/sutra_parts_XXXXXX", path[64];
    (void)state;
    assert_non_null(mkdtemp(directory));
    add_file(&traces, "rank0.json", TRACE(EVENTS(20)));
    add_file(&traces, "rank1.json", TRACE(EVENTS(30)));
    list_files(&traces);
    for (size_t i = 0; i < sizeof analyses / sizeof *analyses; i++)
        try_analysis(analyses[i], analyses[i] == make_collectives, &traces, directory);
    for (int number = 0; number < 2; number++) {
        snprintf(path, sizeof path, "%s/%d", directory, number);
        assert_int_equal(unlink(path), 0);
    }
    assert_int_equal(rmdir(directory), 0); /* nothing else is left there */
    remove_folder(&traces);
}

static void any_allocation_may_fail_for_several_ranks_in_one_trace(void **state) {
    struct folder traces = make_folder();
    char directory[] = P_tmpdir "/sutra_parts_XXXXXX", path[64];
    static const int places[] = {0, 1, 3, 5}; /* rank 0, the trace, and its ranks 1 and 2 */
    (void)state;
    assert_non_null(mkdtemp(directory));
    add_file(&traces, "rank0.json", TRACE(EVENTS(20)));
    add_file(&traces, "rank1.json", TRACE(PROCESS("[TP1]") "," PROCESS("[TP2]")));
    list_files(&traces);
    try_analysis(make_operators, true, &traces, directory);
    for (size_t i = 0; i < sizeof places / sizeof *places; i++) {
        snprintf(path, sizeof path, "%s/%d", directory, places[i]);
        assert_int_equal(unlink(path), 0);
    }
    assert_int_equal(rmdir(directory), 0);
    remove_folder(&traces);
}

/* Analyses check tables for memory failures at their end, after partial results are encoded. */
static void a_table_without_memory_is_not_encoded(void **state) {
    struct sutra_table table = {.failed = true};
    struct buffer out = {0};
    struct codec codec = {.out = &out};
    (void)state;
    codec_table(&codec, &table);
    assert_int_equal(codec.failure, CODEC_NO_MEMORY);
    buffer_free(&out);
}

int main(void) {
    const struct CMUnitTest tests[] = {cmocka_unit_test(a_table_without_memory_is_not_encoded),
                                       cmocka_unit_test(any_allocation_may_fail),
                                       cmocka_unit_test(any_allocation_may_fail_for_several_ranks_in_one_trace)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
