/*
 * fault_memory_tree.c - fails every allocation in turn while profiles are built from a pair of traces and from a file
 * of events, and their call trees and forward/backward pairs are written in all formats.
 *
 * Each run must return SUTRA_SYSTEM and leave no file, or write the expected files. The sanitizers detect leaks.
 */
#include "fault_files.h"

#define NUMBER(name, value) "{'name':'" name "','type':'uint64','value':" value "}"
#define TENSOR              "[5,6,0,12,4,'cpu']"
#define NODE_OF(rf, tid, fw)                                                                                           \
    "{'id':2,'name':'n','ctrl_deps':1,'inputs':{'values':[" TENSOR ",[" TENSOR "],1.5],'shapes':[[3,4],[[3,4]],[]],"   \
    "'types':['Tensor(float)','GenericList[Tensor(float)]','Double'],'strides':[[4,1],[[4,1]],[]]},'outputs':[],"      \
    "'attrs':[" RF_ATTRIBUTE(rf) "," NUMBER("tid", tid) "," NUMBER("fw_tid", fw) "," NUMBER("seq_id", "3") "]}"

#define OPERATOR(name, tid, ts, dur, rf, forward)                                                                      \
    EVENT("cpu_op", name, tid, ts, dur,                                                                                \
          "'Ev Idx':" rf ",'External id':" rf ",'Record function id':" rf                                              \
          ",'Sequence number':3,'Fwd thread id':" forward                                                              \
          ",'Input type':['float','Scalar','TensorList'],'Input Dims':[[3],[],[[4]]],'Concrete Inputs':['','1','']")
#define FLOW(cat, ph, tid, ts) "{'ph':'" ph "','cat':'" cat "','id':7,'tid':" tid ",'ts':" ts "}"
#define BASE                                                                                                           \
    OPERATOR("aten::mm", "1", "10", "30", "1", "0")                                                                    \
    "," OPERATOR("MmBackward0", "2", "60", "9", "2",                                                                   \
                 "1") "," LAUNCH("1", "12", "7") "," KERNEL("k", "20", "7", "9") "," KERNEL("lost", "30", "8", "9")
#define AC2G   FLOW("ac2g", "s", "1", "12") "," FLOW("ac2g", "f", "'stream 7'", "20")
#define FWDBWD FLOW("fwdbwd", "s", "1", "10") "," FLOW("fwdbwd", "f", "2", "60")

static const char host_source[] = HOST_OF(ROOT "," NODE_OF("1", "1", "0") "," NODE_OF("2", "2", "1"));
static const char device_source[] = DEVICE_OF(BASE "," AC2G "," FWDBWD);
static const char bare_source[] = DEVICE_OF(BASE);
static const char events_source[] =
    "{'events':[{'kind':'TorchOp','name':'a','start_ns':1,'end_ns':9,'tid':1,'forward_tid':1,'inputs':[null,{'impl':5,"
    "'storage':6,'dtype':'float','sizes':[3],'strides':[1]},{'list':[{'impl':7,'storage':6}]},{'scalar':'1\\n'}]},"
    "{'kind':'Allocation','name':'[memory]','start_ns':2,'tid':1,'ptr':6,'bytes':8}]}";

struct texts {
    char *host, *device, *bare, *events;
};

static enum sutra_status write_tree(struct sutra_context *context, const struct sutra_profile *profile,
                                    enum sutra_tree_format format, const char *path, struct sutra_error *error) {
    struct sutra_tree *tree = NULL;
    enum sutra_status status = sutra_tree_build(context, profile, SUTRA_TORCH_VERSION_2, &tree, error);
    if (!status)
        status = sutra_tree_write(context, tree, format, NULL, path, NULL, error);
    sutra_tree_free(tree);
    return status;
}

static enum sutra_status write_pairs(struct sutra_context *context, const struct sutra_profile *profile,
                                     int torch_version, enum sutra_correlation_format format, const char *path,
                                     struct sutra_error *error) {
    const struct sutra_correlation_options options = {.size = sizeof options,
                                                      .torch_version = (enum sutra_torch_version)torch_version,
                                                      .kind = SUTRA_CORRELATION_ALL};
    struct sutra_correlation *correlation = NULL;
    enum sutra_status status = sutra_correlation_find(context, profile, &options, &correlation, error);
    if (!status)
        status = sutra_correlation_write(context, correlation, format, path, NULL, error);
    sutra_correlation_free(correlation);
    return status;
}

static enum sutra_status run_trace(struct sutra_context *context, const struct fault_files *files, const char *text,
                                   const struct sutra_host_trace *host, int torch_version, int first,
                                   struct sutra_error *error) {
    const struct sutra_profile_options options = {.size = sizeof options, .inputs = true};
    struct sutra_device_trace *device = NULL;
    struct sutra_profile *profile = NULL;
    enum sutra_status status = sutra_device_trace_parse(context, "device", text, strlen(text), &device, error);
    if (!status)
        status = sutra_profile_from_trace(context, device, host, &options, &profile, error);
    if (!status)
        status = write_tree(context, profile, host ? SUTRA_TREE_JSON : SUTRA_TREE_TEXT, files->path[first], error);
    if (!status)
        status = write_tree(context, profile, SUTRA_TREE_CHROME, files->path[first + 1], error);
    if (!status)
        status = write_pairs(context, profile, torch_version, host ? SUTRA_CORRELATION_JSON : SUTRA_CORRELATION_CHROME,
                             files->path[first + 2], error);
    sutra_profile_free(profile);
    sutra_device_trace_free(device);
    return status;
}

static enum sutra_status run_events(struct sutra_context *context, const struct fault_files *files,
                                    struct sutra_error *error) {
    const char *text = ((const struct texts *)files->of)->events;
    struct sutra_profile *profile = NULL;
    enum sutra_status status = sutra_profile_parse(context, "events", text, strlen(text), &profile, error);
    if (!status)
        status = write_tree(context, profile, SUTRA_TREE_EVENTS, files->path[6], error);
    if (!status)
        status = write_tree(context, profile, SUTRA_TREE_JSON, files->path[7], error);
    sutra_profile_free(profile);
    return status;
}

static enum sutra_status run_once(const struct fault_files *files, struct sutra_error *error) {
    const struct texts *texts = files->of;
    struct sutra_context_options options = {.size = sizeof options, .n_threads = 1, .device = SUTRA_DEVICE_CPU};
    struct sutra_context *context = NULL;
    struct sutra_host_trace *host = NULL;
    enum sutra_status status = sutra_context_create(&options, &context, error);
    if (!status)
        status = sutra_host_trace_parse(context, "host", texts->host, strlen(texts->host), &host, error);
    if (!status)
        status = run_trace(context, files, texts->device, host, SUTRA_TORCH_VERSION_2, 0, error);
    if (!status)
        status = run_trace(context, files, texts->bare, NULL, SUTRA_TORCH_VERSION_1_13, 3, error);
    if (!status)
        status = run_events(context, files, error);
    sutra_host_trace_free(host);
    sutra_context_free(context);
    return status;
}

static void any_allocation_may_fail(void **state) {
    (void)state;
    const struct texts texts = {double_quotes(host_source), double_quotes(device_source), double_quotes(bare_source),
                                double_quotes(events_source)};
    struct fault_files files = {.n = 8, .of = &texts, .work = run_once};
    files_expect(&files);
    assert_non_null(strstr(files.expected[0], "\"tensor_ids\": [0, [0], null]"));
    assert_non_null(strstr(files.expected[2], "fwdbwd"));
    assert_non_null(strstr(files.expected[5], "fwdbwd"));
    files_refuse_each(&files, 200);
    free(texts.host);
    free(texts.device);
    free(texts.bare);
    free(texts.events);
}

int main(void) {
    const struct CMUnitTest tests[] = {cmocka_unit_test(any_allocation_may_fail)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
