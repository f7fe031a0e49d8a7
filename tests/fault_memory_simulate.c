/*
 * fault_memory_simulate.c - fails every allocation in turn while a job of two ranks is read, simulated with scaled
 * durations and written as a trace, and while a pair of traces and ET+ are converted to files with measured times.
 *
 * Each run must return SUTRA_SYSTEM and leave no file, or write the expected files. The sanitizers detect leaks.
 */
#include "et_text.h"
#include "fault_files.h"
#include "job/rank_link.h"

enum { FILE_TRACE, FILE_NODES, FILE_STREAMS, FILE_PLUS, FILE_RANK_0, FILE_RANK_1, N_FILES };

#define ET_NODE(id, name, type, us, deps, attributes)                                                                  \
    "{'id':'" id "','name':'" name "','type':'" type "','durationMicros':'" us "','dataDeps':[" deps                   \
    "],'attr':[" attributes "]}\n"
#define ON_CPU    "{'name':'is_cpu_op','boolVal':true}"
#define ON_GPU    "{'name':'is_cpu_op','boolVal':false},{'name':'stream','int64Val':'7'}"
#define OF_NODE_1 "],'ctrlDeps':['1'" /* ends the attributes */
#define SEND      ON_GPU ",{'name':'comm_dst','int32Val':1},{'name':'comm_tag','int32Val':3}"
#define TAKE      ON_GPU ",{'name':'comm_src','int32Val':0},{'name':'comm_tag','int32Val':3}"

/* Nodes out of order, a duplicate node, collectives, a message, and a dependency on a missing node. */
static const char rank_0[] = "{}\n" ET_NODE("3", "all-reduce", "COMM_COLL_NODE", "7", "2,9", ON_GPU)
    ET_NODE("1", "a", "COMP_NODE", "5", "", ON_CPU) ET_NODE("2", "gemm", "COMP_NODE", "5", "1", ON_GPU OF_NODE_1)
        ET_NODE("2", "gemm", "COMP_NODE", "6", "1", ON_GPU OF_NODE_1)
            ET_NODE("4", "send", "COMM_SEND_NODE", "2", "3", SEND);
static const char rank_1[] = "{}\n" ET_NODE("1", "all-reduce", "COMM_COLL_NODE", "7", "", ON_GPU)
    ET_NODE("2", "receive", "COMM_RECV_NODE", "2", "1", TAKE);

#define CALL(name, ts, dur, correlation) EVENT("cuda_runtime", name, "1", ts, dur, "'correlation':" correlation)
#define ON_STREAM(name, ts, dur, correlation, stream)                                                                  \
    EVENT("kernel", name, "'stream " stream "'", ts, dur, "'correlation':" correlation ",'stream':" stream)
#define SYNC(name, ts, dur, correlation, stream, more)                                                                 \
    EVENT("cuda_sync", name, "'stream " stream "'", ts, dur, "'correlation':" correlation ",'stream':" stream more)

#define NO_IO "{'values':[],'shapes':[],'types':[]}"
#define HOST_NODE(id, name, attrs)                                                                                     \
    "{'id':" id ",'name':'" name "','ctrl_deps':1,'inputs':" NO_IO ",'outputs':" NO_IO ",'attrs':[" attrs "]}"

/* Kernels that overlap, one that waits for the other's stream, calls that wait for a stream and for all. */
static const char host_source[] = HOST_OF(
    HOST_NODE("1", "root", "") "," HOST_NODE("2", "a", RF_ATTRIBUTE("7")) "," HOST_NODE("3", "b", RF_ATTRIBUTE("8")));
static const char device_source[] = DEVICE_OF(
    CPU("a", "1", "10", "40", "7", "7") "," CPU("b", "1", "60", "90", "8", "8") "," CALL("cudaLaunchKernel", "12", "2", "20") "," CALL(
        "cudaEventRecord",
        "15", "1",
        "21") "," CALL("cudaStreamWaitEvent", "17", "1",
                       "22") "," CALL("cudaLaunchKernel", "19", "2",
                                      "23") "," CALL("cudaStreamSynchronize", "70", "31",
                                                     "24") "," CALL("cudaLaunchKernel", "104", "2",
                                                                    "25") "," CALL("cudaDeviceSynchronize",
                                                                                   "110", "31", "26") "," ON_STREAM("k1",
                                                                                                                    "20",
                                                                                                                    "40",
                                                                                                                    "20",
                                                                                                                    "7") "," ON_STREAM("k2",
                                                                                                                                       "61", "39", "23", "8") "," ON_STREAM("k3", "110", "30", "25", "7") "," SYNC("Stream Wait Event", "17", "1", "22", "8", ",'wait_on_stream':7,'wait_on_cuda_event_record_corr_id':21,'wait_on_cuda_event_id':1") "," SYNC("Stream Synchronize",
                                                                                                                                                                                                                                                                                                                                                               "70",
                                                                                                                                                                                                                                                                                                                                                               "31", "24", "8", "") "," SYNC("Context Synchronize",
                                                                                                                                                                                                                                                                                                                                                                                             "110",
                                                                                                                                                                                                                                                                                                                                                                                             "31",
                                                                                                                                                                                                                                                                                                                                                                                             "26",
                                                                                                                                                                                                                                                                                                                                                                                             "-1",
                                                                                                                                                                                                                                                                                                                                                                                             ""));

/* Kernels that overlap, and an operator that waited for one of them. */
#define TIMED(id, name, more)                                                                                          \
    "{'id':" id ",'name':'" name "','ctrl_deps':" more ",'inputs':" NO_IO ",'outputs':" NO_IO ",'attrs':[]}"
static const char et_plus_source[] =
    "{'schema':'1.1.1-chakra.0.0.4','nodes':[" TIMED("1", "root", "1") "," TIMED("2", "a", "1,'ts':10,'inclusive_dur':40") "," TIMED(
        "3", "b",
        "1,'ts':100,'inclusive_dur':40,'sync_dep':[5]") "," TIMED("4", "k1",
                                                                  "2,'ts':20,'inclusive_dur':60,'cat':'kernel','stream':7") "," TIMED("5",
                                                                                                                                      "k2",
                                                                                                                                      "2,'ts':30,'inclusive_dur':40,'cat':'kernel','stream':8") "]}";

struct simulate_texts {
    struct buffer rank[2];
    char *host, *device, *plus;
};

static enum sutra_status simulate(struct sutra_context *context, const struct sutra_et *const *ets,
                                  const struct fault_files *files, struct sutra_error *error) {
    static const char *const changes[] = {"name=~gem+:0.5", "op=a:2", "comm:1"};
    const struct sutra_simulate_options options = {.size = sizeof options, .scales = changes, .n_scales = 3};
    struct sutra_simulation *simulation = NULL;
    enum sutra_status status = sutra_simulate(context, ets, NULL, 2, &options, &simulation, error);
    if (!status)
        status = sutra_simulation_what_if(context, simulation, 2, error);
    if (!status)
        status = sutra_simulation_write_trace(context, simulation, files->path[FILE_TRACE], NULL, error);
    sutra_simulation_free(simulation);
    return status;
}

/* Files are read with only the fields that the simulation needs. */
static enum sutra_status simulate_files(struct sutra_context *context, const struct sutra_et *const *ets,
                                        const struct fault_files *files, struct sutra_error *error) {
    const char *const paths[] = {files->path[FILE_RANK_0], files->path[FILE_RANK_1]};
    struct sutra_et_ranks *ranks = NULL;
    struct sutra_simulation *simulation = NULL;
    enum sutra_status status = SUTRA_OK;
    for (int r = 0; r < 2 && !status; r++)
        status = et_write(&ets[r]->file.nodes, NULL, context, paths[r], NULL, error);
    if (!status)
        status = sutra_et_ranks_read(context, paths, NULL, 2, &ranks, error);
    if (!status)
        status = sutra_simulate_ranks(context, ranks, NULL, &simulation, error);
    sutra_simulation_free(simulation);
    sutra_et_ranks_free(ranks);
    return status;
}

static enum sutra_status run_job(struct sutra_context *context, const struct fault_files *files,
                                 struct sutra_error *error) {
    const struct simulate_texts *texts = files->of;
    struct sutra_et *ets[2] = {NULL, NULL};
    enum sutra_status status = SUTRA_OK;
    for (int r = 0; r < 2 && !status; r++)
        status = sutra_et_parse(context, "a.et", texts->rank[r].bytes, texts->rank[r].length, NULL, &ets[r], error);
    if (!status)
        status = simulate(context, (const struct sutra_et *const *)ets, files, error);
    if (!status)
        status = simulate_files(context, (const struct sutra_et *const *)ets, files, error);
    sutra_et_free(ets[0]);
    sutra_et_free(ets[1]);
    return status;
}

/* Converts a linked pair, or ET+ if it is NULL. */
static enum sutra_status make_faithful(struct sutra_context *context, const struct simulate_texts *texts,
                                       const struct sutra_linked *linked, const char *path, struct sutra_error *error) {
    const struct sutra_faithful_options options = {.size = sizeof options};
    const struct sutra_convert_options timed = {.size = sizeof timed, .keep_times = true};
    struct sutra_converted *converted = NULL;
    enum sutra_status status =
        linked ? sutra_linked_convert(context, linked, NULL, &converted, error)
               : sutra_convert_parse(context, "plus", texts->plus, strlen(texts->plus), &timed, &converted, error);
    if (!status)
        status = sutra_converted_run_faithful(context, converted, linked, &options, NULL, error);
    if (!status)
        status = sutra_converted_write(context, converted, path, NULL, error);
    sutra_converted_free(converted);
    return status;
}

static enum sutra_status run_linked(struct sutra_context *context, const struct fault_files *files,
                                    struct sutra_error *error) {
    const struct simulate_texts *texts = files->of;
    struct sutra_host_trace *host = NULL;
    struct sutra_device_trace *device = NULL;
    struct sutra_linked *linked = NULL;
    const struct link_output streams = {.et = true,
                                        .faithful = true,
                                        .what.size = sizeof streams.what,
                                        .how = {.size = sizeof streams.how, .gpu_streams = true}};
    struct sutra_faithful_report report = {.size = sizeof report};
    enum sutra_status status = sutra_host_trace_parse(context, "host", texts->host, strlen(texts->host), &host, error);
    if (!status)
        status = sutra_device_trace_parse(context, "device", texts->device, strlen(texts->device), &device, error);
    if (!status)
        status = sutra_link(context, host, device, NULL, &linked, error);
    if (!status)
        status = make_faithful(context, texts, linked, files->path[FILE_NODES], error);
    if (!status)
        status = link_output_write(context, &(struct linked_traces){linked, host, device}, &streams, NULL,
                                   files->path[FILE_STREAMS], NULL, &report, error);
    sutra_linked_free(linked);
    sutra_device_trace_free(device);
    sutra_host_trace_free(host);
    return status;
}

static enum sutra_status run_once(const struct fault_files *files, struct sutra_error *error) {
    struct sutra_context_options options = {.size = sizeof options, .n_threads = 1, .device = SUTRA_DEVICE_CPU};
    struct sutra_context *context = NULL;
    enum sutra_status status = sutra_context_create(&options, &context, error);
    if (!status)
        status = run_job(context, files, error);
    if (!status)
        status = run_linked(context, files, error);
    if (!status)
        status = make_faithful(context, files->of, NULL, files->path[FILE_PLUS], error);
    sutra_context_free(context);
    return status;
}

static void any_allocation_may_fail(void **state) {
    (void)state;
    struct simulate_texts texts = {{et_encode(rank_0), et_encode(rank_1)},
                                   double_quotes(host_source),
                                   double_quotes(device_source),
                                   double_quotes(et_plus_source)};
    struct fault_files files = {.n = N_FILES, .of = &texts, .work = run_once};
    files_expect(&files);
    assert_non_null(strstr(files.expected[FILE_TRACE], "all-reduce"));
    files_refuse_each(&files, 200);
    buffer_free(&texts.rank[0]);
    buffer_free(&texts.rank[1]);
    free(texts.host);
    free(texts.device);
    free(texts.plus);
}

int main(void) {
    const struct CMUnitTest tests[] = {cmocka_unit_test(any_allocation_may_fail)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
