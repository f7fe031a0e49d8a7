/*
 * fault_memory_scale.c - fails every allocation in turn while a job of two ranks gets other numbers of layers,
 * micro-batches and replicas, is simulated with the interval of its time, and is written with tables of its pipeline.
 *
 * Each run must return SUTRA_SYSTEM and leave no file, or write the expected files. The sanitizers detect leaks.
 */
#include "et_text.h"
#include "fault_files.h"
#include "sutra/pipeline.h"
#include "sutra/simulate.h"

enum { FILE_RANK_0, FILE_RANK_1, FILE_CHANGED_0, FILE_CHANGED_1, FILE_CHANGED_2, FILE_BUBBLES, FILE_PASSES, N_FILES };

#define ET_NODE(id, name, type, us, deps, attributes)                                                                  \
    "{'id':'" id "','name':'" name "','type':'" type "','durationMicros':'" us "','dataDeps':[" deps                   \
    "],'attr':[" attributes "]}\n"
#define ON_CPU(id, name, us, deps, thread)                                                                             \
    ET_NODE(id, name, "COMP_NODE", us, deps,                                                                           \
            "{'name':'is_cpu_op','boolVal':true},{'name':'tid','int64Val':'" thread "'}")
#define ON_GPU(id, name, deps)                                                                                         \
    ET_NODE(id, name, "COMP_NODE", "20", deps,                                                                         \
            "{'name':'is_cpu_op','boolVal':false},{'name':'stream','int64Val':'7'},"                                   \
            "{'name':'kernel_exec_ns','int64Val':'18000'}")
#define MATCHED(id, type, deps, match, kind)                                                                           \
    ET_NODE(id, "ncclDevKernel", type, "10", deps,                                                                     \
            "{'name':'is_cpu_op','boolVal':false},{'name':'stream','int64Val':'20'},"                                  \
            "{'name':'pg_name','stringVal':'1'},{'name':'meeting','int64Val':'" match "'},{'name':'meeting_kind',"     \
            "'stringVal':'" kind "'},{'name':'meeting_ranks','int64Val':'2'},{'name':'meeting_bytes',"                 \
            "'int64Val':'9000'},{'name':'kernel_exec_ns','int64Val':'9000'}")
/* Two blocks of three kernels, from the kernel `id`0 on. */
#define BLOCKS(id, cpu, a, b, c)                                                                                       \
    ON_GPU(id "0", a, cpu)                                                                                             \
    ON_GPU(id "1", b, cpu) ON_GPU(id "2", c, cpu) ON_GPU(id "3", a, cpu) ON_GPU(id "4", b, cpu) ON_GPU(id "5", c, cpu)

/* A step of two micro-batches, with gradients, tokens and a message. */
#define RANK(message)                                                                                                  \
    "{'attr':[{'name':'gpu','stringVal':'streams'}]}\n" ON_CPU("1", "ProfilerStep#0", "0", "", "1")                    \
        ON_CPU("2", "aten::mm", "3", "", "1") BLOCKS("1", "2", "f", "g", "h")                                          \
            MATCHED("16", "COMM_COLL_NODE", "2,15", "8", "all-to-all") ON_GPU("17", "expert", "2,16")                  \
                MATCHED("18", "COMM_COLL_NODE", "2,17", "9", "all-to-all") ON_CPU("3", "autograd", "3", "2", "2")      \
                    BLOCKS("3", "3", "b", "c", "d") ON_CPU("4", "aten::mm", "3", "3", "1")                             \
                        BLOCKS("4", "4", "f", "g", "h") ON_CPU("5", "autograd", "3", "4", "2")                         \
                            BLOCKS("5", "5", "b", "c", "d") MATCHED("56", "COMM_COLL_NODE", "5,55", "1", "all-reduce") \
                                MATCHED("57", message, "5,56", "2", "message")

struct scale_texts {
    struct buffer rank[2];
};

/* Simulates the ranks, and writes tables; changed files only if they are ranks of a changed job. */
static enum sutra_status simulate(struct sutra_context *context, const struct sutra_et_ranks *ranks, bool is_changed,
                                  const struct fault_files *files, struct sutra_error *error) {
    const struct sutra_simulate_options how = {.size = sizeof how, .gpu_streams = true, .bandwidth = 2};
    const char *const inputs[] = {files->path[FILE_RANK_0], files->path[FILE_RANK_1]};
    const char *const outputs[] = {files->path[FILE_CHANGED_0], files->path[FILE_CHANGED_1],
                                   files->path[FILE_CHANGED_2]};
    struct sutra_simulated_interval interval = {.size = sizeof interval};
    struct sutra_simulation *simulation = NULL;
    struct sutra_pipeline *pipeline = NULL;
    enum sutra_status status = sutra_simulate_ranks(context, ranks, &how, &simulation, error);
    if (!status && is_changed)
        status = sutra_simulate_interval(context, ranks, &how, &interval, error);
    if (!status && is_changed)
        status = sutra_simulation_write(context, simulation, inputs, outputs, "--data-parallel 3", error);
    if (!status)
        status = sutra_pipeline_run(context, simulation, &pipeline, error);
    for (int id = 0; id < 2 && !status && !is_changed; id++)
        status = sutra_table_write(context, sutra_result_table(SUTRA_RESULT(pipeline), (uint32_t)id, NULL),
                                   SUTRA_TABLE_CSV, files->path[FILE_BUBBLES + id], NULL, error);
    sutra_pipeline_free(pipeline);
    sutra_simulation_free(simulation);
    return status;
}

static enum sutra_status run_once(const struct fault_files *files, struct sutra_error *error) {
    const struct sutra_context_options context_options = {
        .size = sizeof context_options, .n_threads = 1, .device = SUTRA_DEVICE_CPU};
    const struct sutra_scale_options layers = {.size = sizeof layers, .layers = 6, .micro_batches = 3};
    const struct sutra_scale_options replicas = {.size = sizeof replicas, .data_parallel = 3};
    const struct scale_texts *texts = files->of;
    const char *const paths[] = {files->path[FILE_RANK_0], files->path[FILE_RANK_1]};
    struct sutra_context *context = NULL;
    struct sutra_et_ranks *ranks = NULL, *longer = NULL, *wider = NULL;
    enum sutra_status status = sutra_context_create(&context_options, &context, error);
    for (int r = 0; r < 2 && !status; r++) {
        struct sutra_et *et = NULL;
        status = sutra_et_parse(context, "a.et", texts->rank[r].bytes, texts->rank[r].length, NULL, &et, error);
        if (!status)
            status = et_write(&et->file.nodes, NULL, context, paths[r], NULL, error);
        sutra_et_free(et);
    }
    if (!status)
        status = sutra_et_ranks_read(context, paths, NULL, 2, &ranks, error);
    if (!status)
        status = simulate(context, ranks, false, files, error);
    if (!status)
        status = sutra_et_ranks_scale(context, ranks, &layers, &longer, error);
    if (!status)
        status = sutra_et_ranks_scale(context, ranks, &replicas, &wider, error);
    if (!status)
        status = simulate(context, wider, true, files, error);
    sutra_et_ranks_free(wider);
    sutra_et_ranks_free(longer);
    sutra_et_ranks_free(ranks);
    sutra_context_free(context);
    return status;
}

static void any_allocation_may_fail(void **state) {
    (void)state;
    struct scale_texts texts = {{et_encode(RANK("COMM_SEND_NODE")), et_encode(RANK("COMM_RECV_NODE"))}};
    struct fault_files files = {.n = N_FILES, .of = &texts, .work = run_once};
    files_expect(&files);
    files_refuse_each(&files, 100);
    for (int r = 0; r < 2; r++)
        buffer_free(&texts.rank[r]);
}

int main(void) {
    const struct CMUnitTest tests[] = {cmocka_unit_test(any_allocation_may_fail)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
