/*
 * fault_memory_link.c - allocations fail while pairs of traces are linked, and while files of graphs are converted,
 * simulated, compared, cut, merged and exported.
 */
#include "arrow_check.h"
#include "columns/strings.h"
#include "et_text.h"
#include "fault_memory.h"
#include "job/job.h"
#include "job/rank_job.h"
#include "sutra/merge.h"
#include "sutra/pipeline.h"
#include "sutra/simulate.h"
#include "write/sink.h"

OWNED_TYPE(converted)
OWNED_TYPE(correlation)
OWNED_TYPE(critical_path)
OWNED_TYPE(cut)
OWNED_TYPE(et)
OWNED_TYPE(et_check)
OWNED_TYPE(et_ranks)
OWNED_TYPE(full_path)
OWNED_TYPE(hta)
OWNED_TYPE(legacy)
OWNED_TYPE(linked)
OWNED_TYPE(merged)
OWNED_TYPE(pipeline)
OWNED_TYPE(profile)
OWNED_TYPE(repair)
OWNED_TYPE(simulation)
OWNED_TYPE(tree)

static enum sutra_status parse_pair(const struct run *run, int host_input, int device_input,
                                    struct sutra_host_trace **host, struct sutra_device_trace **device,
                                    struct sutra_error *error) {
    TRY(sutra_host_trace_parse(run->context, "host", run->text[host_input], run->size[host_input], host, error));
    return parse_device(run, device_input, device, error);
}

/* ---- link ---- */

/* A pair that needs most tables: ids that are no 64-bit integers, escapes, repeated keys, deep nesting, unknown ids. */
#define FIVE(x)     x x x x x
#define DEEP(inner) FIVE(FIVE("[[[")) inner FIVE(FIVE("]]]"))
static const char host_of_most_tables[] = "'schema':'1.1.1-chakra.0.0.4'; 'pid':1; 'a':1; 'a':{'x':1,'x':" DEEP(
    "7") "}; 1 root; 2 a\\n rf_id=7; "
         "{'id':3.5,'id':4.5,'ctrl_deps':99,'attrs':[{'name':'rf_id','value':' 8 '}],'deep':" DEEP(
             "{'p':1,'q':2,'p':3}") "}; "
                                    "5 c ctrl_deps='x'; 123456789012345678901 d rf_id=9";
static const char device_of_most_tables[] =
    "cpu_op a\\u00e9 tid=t ts=10+100 'External id'=1 'Record function id'=7;"
    "{'ph':'E','tid':9,'ts':90}; {'ph':'B','tid':9,'ts':80}; {'ph':'B','tid':9,'ts':95};"
    "cpu_op c tid=t ts=20+30.5 'External id'=2 'Record function id'=8;"
    "cpu_op d tid=2 ts=15.5+30 'External id'='3' 'Record function id'=9;"
    "cudaLaunchKernel tid=t ts=30+1 correlation=5;"
    "cudaLaunchKernel tid=2 ts=31+1 correlation=6.5;"
    "kernel ncclDevKernel\\\\ tid='stream 7' stream=7 ts=60+5 correlation=5 'External id'=1;"
    "kernel k tid='stream 7' stream=7 ts=61+5 correlation=6.5 'External id'=3;"
    "cudaGraphLaunch tid=2 ts=32+1 correlation=77;"
    "kernel g tid='stream 7' stream=7 ts=70+5 correlation=77 'External id'=3;"
    "ac2g ac2g ph=s id=9 tid=2 ts=32; ac2g ac2g ph=f id=9 tid='stream 7' ts=80;"
    "kernel u tid='stream 7' stream=7 ts=80+5 correlation=78 'External id'=3";

static void compress_input(struct run *run, size_t i, enum compression compression) {
    struct buffer packed = {0};
    assert_true(compress_piece(compression, run->text[i], run->size[i], &packed));
    free(run->text[i]);
    run->text[i] = packed.bytes;
    run->size[i] = packed.length;
}

static void compress_inputs(struct run *run) {
    if (run->variant) {
        compress_input(run, 0, COMPRESSION_GZIP);
        compress_input(run, 1, COMPRESSION_ZSTD);
    }
}

static void digest_summary(struct run *run, const struct sutra_device_summary *summary) {
    DIGEST_MEMBERS(run, *summary, n_bytes, ts_end);
    DIGEST_MEMBERS(run, *summary, n_categories, n_facts);
    DIGEST_MEMBERS(run, *summary, n_unknown_launches, n_unknown_launches);
    for (uint64_t i = 0; i < summary->n_categories; i++)
        DIGEST_MEMBERS(run, summary->categories[i], count, count);
    for (uint64_t i = 0; i < summary->n_unknown_calls; i++)
        DIGEST_MEMBERS(run, summary->unknown_calls[i], count, count);
}

static void digest_link(struct run *run, const struct sutra_linked *linked) {
    struct sutra_link_report report = {.size = sizeof report};
    struct sutra_link_match match = {.size = sizeof match};
    sutra_linked_report(linked, &report);
    sutra_linked_match(linked, &match);
    DIGEST_MEMBERS(run, report, n_host_nodes, n_gpu_unknown_launch);
    DIGEST_MEMBERS(run, match, n_host_ops, n_matched);
}

static enum sutra_status link_pair(struct run *run, struct sutra_error *error) {
    const struct sutra_link_options options = {.size = sizeof options, .any_launch = true};
    const struct sutra_link_options names = {.size = sizeof names, .match = SUTRA_MATCH_NAMES};
    struct sutra_device_summary summary = {.size = sizeof summary};
    OWN(host_trace, host);
    OWN(device_trace, device);
    OWN(linked, first);
    OWN(linked, by_names);
    OWN(linked, linked);
    TRY(parse_pair(run, 0, 1, &host, &device, error));
    TRY(sutra_device_trace_summary(run->context, device, &summary, error));
    digest_summary(run, &summary);
    TRY(sutra_link(run->context, host, device, NULL, &first, error));
    digest_link(run, first);
    enum sutra_status status = sutra_link(run->context, host, device, &names, &by_names, error);
    if (status && status != SUTRA_DATA) /* few operators of the traces have equal names */
        return status;
    TRY(sutra_link(run->context, host, device, &options, &linked, error));
    digest_link(run, linked);
    return sutra_linked_write(run->context, linked, output(run, "linked.json"), NULL, error);
}

/* Strings that found no room are interned on a second attempt, and all keep their numbers. */
static void string_table_that_could_not_grow_stays_usable(void) {
    for (long n = 1; n < 20; n++) {
        struct strings strings;
        char text[32];
        uint32_t numbers[1000];
        assert_true(strings_init(&strings));
        fail_allocation(n, false);
        for (uint32_t i = 0; i < 1000; i++) {
            size_t length = (size_t)sprintf(text, "string number %u", i);
            numbers[i] = strings_intern(&strings, text, length);
            if (numbers[i] == STRING_NONE && i % 3)
                numbers[i] = strings_intern(&strings, text, length);
        }
        fail_allocation(0, false);
        for (uint32_t i = 0; i < 1000; i++) {
            size_t length = (size_t)sprintf(text, "string number %u", i);
            assert_int_equal(strings_find(&strings, text, length), numbers[i]);
            if (numbers[i] != STRING_NONE)
                assert_string_equal(strings_text(&strings, numbers[i]), text);
        }
        strings_free(&strings);
    }
}

/* ---- link-legacy ---- */

/* Threads of the old name, three iterations, one of whose operators is a child of another; escapes; and more steps, of
 * which a window is chosen. */
static const char flat_host[] =
    "'schema':'1.0.1'; 'pid':1; 1 '[pytorch|profiler|execution_graph|process]' tid=t; "
    "2 '[pytorch|profiler|execution_graph|thread]' tid=t; 3 mark parent=2 tid=t; 4 a\\u0062 parent=2 tid=t; "
    "5 mark parent=2 tid=t; 6 c parent=4 tid=t; 7 d parent=2 tid=t; 8 mark parent=2 tid=t";
static const char device_with_steps[] =
    "cpu_op c tid=7 ts=10+5.5 'Ev Idx'=1 'Record function id'=1;"
    "cpu_op d tid=7 ts=20+5 'Ev Idx'='8' 'Record function id'='8';"
    "cpu_op mark tid=7 ts=30+5 'Ev Idx'=3 'Record function id'=3;"
    "cudaLaunchKernel tid=7 ts=21+1 'External id'=123456789012345678901;"
    "kernel k ts=50+5 'External id'=123456789012345678901; kernel l ts=51+5 'External id'=9;"
    "ac2g ac2g ph=s id=9 tid=7 ts=90; cpu_op e tid=8 ts=31+1;"
    "cpu_op ab tid=7 ts=110+5.5 'Ev Idx'=11 'Record function id'=11;"
    "cpu_op c tid=7 ts=112+5.5 'Ev Idx'=12 'Record function id'=12;"
    "cpu_op d tid=7 ts=120+5 'Ev Idx'=13 'Record function id'=13;"
    "cpu_op ab tid=7 ts=210+5.5 'Ev Idx'=14 'Record function id'=14;"
    "cpu_op c tid=7 ts=212+5.5 'Ev Idx'=15 'Record function id'=15;"
    "cpu_op d tid=7 ts=220+5 'Ev Idx'=16 'Record function id'=16;"
    "cpu_op ab tid=7 ts=310+5.5 'Ev Idx'=17 'Record function id'=17;"
    "cpu_op c tid=7 ts=312+5.5 'Ev Idx'=18 'Record function id'=18;"
    "cpu_op d tid=7 ts=320+5 'Ev Idx'=19 'Record function id'=19";

enum { LEGACY_EXACT, LEGACY_APPROXIMATE, LEGACY_POSITIONAL, LEGACY_ADVICE, N_LEGACY_VARIANTS };

static void check_line(void *arg, enum sutra_legacy_line kind, const char *text, size_t length) {
    (void)arg, (void)kind;
    assert_null(memchr(text, '\n', length));
}

static enum sutra_status link_legacy(struct run *run, struct sutra_error *error) {
    const struct sutra_legacy_options options = {.size = sizeof options,
                                                 .annotation = run->variant == LEGACY_EXACT ? "none" : "mark",
                                                 .exact = run->variant == LEGACY_EXACT,
                                                 .positional = run->variant == LEGACY_POSITIONAL,
                                                 .line = check_line};
    struct sutra_advice advice = {.size = sizeof advice};
    struct sutra_legacy_report report = {.size = sizeof report};
    OWN(host_trace, host);
    OWN(device_trace, device);
    OWN(legacy, legacy);
    TRY(parse_pair(run, 0, 1, &host, &device, error));
    if (run->variant == LEGACY_ADVICE) {
        TRY(sutra_advise(run->context, host, device, &advice, error));
        DIGEST_MEMBERS(run, advice, n_host_rf, confidence);
        return SUTRA_OK;
    }
    TRY(sutra_legacy_link(run->context, host, device, &options, &report, &legacy, error));
    DIGEST_MEMBERS(run, report, n_host_nodes, edit_cost);
    return run->variant == LEGACY_POSITIONAL
               ? sutra_legacy_write_durations(run->context, legacy, output(run, "durations"), NULL, error)
               : sutra_legacy_write(run->context, legacy, output(run, "linked.json"), NULL, error);
}

/* ---- link --job ---- */

#define NO_IO "{'values':[],'shapes':[],'types':[]}"
/* A collective that the kernel records, and one that record_param_comms of the host trace records. */
/* clang-format off */
#define HOST_OF_RANK(rank, pid)                                                                                        \
    "'schema':'1.1.1-chakra.0.0.4'; 'pid':" pid "; 1 root; 2 a rf_id=7; "                                             \
    "{'id':3,'name':'record_param_comms','ctrl_deps':1,'inputs':{'shapes':[],'values':"                                \
    "[[[5,6,0,4,4,'cuda:0']],1,4096," rank ",'allreduce',[],[],2],'types':['GenericList[Tensor(float)]','Int','Int'"   \
    ",'Int','String','GenericList[]','GenericList[]','Int']},'outputs':" NO_IO ",'attrs':[{'name':'rf_id','value':8}]}"
#define DEVICE_OF_RANK(rank, pid)                                                                                      \
    "'distributedInfo':{'rank':" rank ",'world_size':2};"                                                              \
    "cpu_op a pid=" pid " ts=1+5 'External id'=9 'Record function id'=7;"                                              \
    "cudaLaunchKernel ts=2+1 correlation=3;"                                                              \
    "kernel ncclDevKernel_AllReduce stream=7 ts=10+5 correlation=3 'External id'=9 'Collective name'=allreduce"        \
    " 'Process Group Name'=dp 'Process Group Ranks'='[0, 1]' 'Group size'=2 'In msg nelems'=4"                         \
    " 'Out msg nelems'=4 Seq=0;"                                                                                       \
    "cpu_op record_param_comms pid=" pid " ts=20+5 'External id'=10 'Record function id'=8;"                           \
    "cudaLaunchKernel ts=21+1 correlation=4;"                                                             \
    "kernel ncclDevKernel_AllReduce stream=7 ts=30+5 correlation=4 'External id'=10"
/* clang-format on */

/* Reads the ranks with a resource per stream, which have as many nodes, since no kernels overlap. */
static enum sutra_status read_streams(const struct run *run, struct sutra_error *error) {
    const uint64_t numbers[] = {0, 1};
    const char *const paths[] = {output(run, "rank.0.et"), output(run, "rank.1.et")};
    OWN(et_ranks, streams);
    OWN(et_ranks, one);
    TRY(job_streams_read(run->context, paths, numbers, 2, &streams, error));
    TRY(sutra_et_ranks_read(run->context, paths, numbers, 2, &one, error));
    for (int rank = 0; rank < 2; rank++)
        assert_int_equal(streams->graphs[rank].n, one->graphs[rank].n);
    return SUTRA_OK;
}

static enum sutra_status link_job(struct run *run, struct sutra_error *error) {
    const struct trace_files files = {.paths = (char *const *)run->path, .n = run->n_inputs, .mixed = true};
    const struct rank_job_options options = {.folder = run->folder,
                                             .ending = ".et",
                                             .into = RECORD_FOLDER "/",
                                             .words = "",
                                             .link = {.size = sizeof options.link},
                                             .output = {.et = true,
                                                        .faithful = true,
                                                        .of_job = true,
                                                        .what = {.size = sizeof options.output.what},
                                                        .how = {.size = sizeof options.output.how}},
                                             .context = {.size = sizeof options.context, .n_threads = 1},
                                             .device_of = run->context};
    const struct second_pass_options second = {.folder = run->folder, .context = options.context};
    FREED(job_plan_free) struct job_plan plan = {0};
    FREED(job_whole_free) struct job_whole whole = {0};
    assert_int_equal(mkdir(output(run, ".job"), 0700), 0);
    TRY(job_plan_pair(&plan, &files, &files, error));
    assert_int_equal(plan.n_pairs, 2);
    TRY(rank_job_run(&plan, &options, error));
    TRY(plan_write(run->context, run->folder, &plan, "", ".et", error));
    TRY(job_whole_read(&whole, run->folder, error));
    if (whole.matched_collectives)
        TRY(second_pass_run(&whole, &second, error));
    TRY(job_whole_write(&whole, run->context, run->folder, error));
    for (size_t i = 0; i < whole.n_ranks; i++)
        assert_true(whole.ranks[i].state == RANK_DONE || whole.ranks[i].status == SUTRA_SYSTEM);
    return whole.n_done < 2 ? error_memory(error) : read_streams(run, error);
}

/* ---- critical-path ---- */

static const char host_of_two[] = "1 root; 2 a rf_id=1; 3 b rf_id=2";

/* Two steps, a launch, an event record, waits of all kinds. */
#define PATH_STEPS(name, stream)                                                                                       \
    "user_annotation " name "#1 ts=0+100 'External id'=4; user_annotation " name "#2 ts=200+100 'External id'=4;"      \
    "cpu_op a ts=5+10 'External id'=1 'Record function id'=1;"                                                         \
    "cudaLaunchKernel ts=6+2 correlation=7 'External id'=6;"                                                           \
    "kernel k tid=20 stream=" stream " ts=9+30 correlation=7 'External id'=5;"                                         \
    "cudaEventRecord ts=10+1 correlation=30 'External id'=6;"                                                          \
    "cudaStreamWaitEvent ts=12+1 correlation=31 'External id'=6;"                                                      \
    "cuda_sync 'Stream Wait Event' tid=20 stream=21 ts=13+1 correlation=31 'External id'=5 wait_on_stream=20"          \
    " wait_on_cuda_event_record_corr_id=30;"                                                                           \
    "cudaLaunchKernel ts=14+1 correlation=8 'External id'=6;"                                                          \
    "kernel k tid=20 stream=21 ts=39+30 correlation=8 'External id'=5;"                                                \
    "cudaDeviceSynchronize ts=16+60 correlation=9 'External id'=6;"                                                    \
    "cuda_sync 'Context Sync' tid=20 stream=-1 ts=17+55 correlation=9 'External id'=5;"                                \
    "cpu_op b ts=90+10 'External id'=2 'Record function id'=2"

static enum sutra_status find_paths(struct run *run, struct sutra_error *error) {
    struct sutra_context *context = run->context;
    OWN(host_trace, host);
    OWN(device_trace, device);
    OWN(critical_path, path);
    OWN(full_path, full);
    OWN(linked, linked);
    struct sutra_critical_path_report report = {.size = sizeof report};
    struct sutra_full_report full_report = {.size = sizeof full_report};
    TRY(parse_pair(run, 0, 1 + run->variant, &host, &device, error));
    TRY(sutra_critical_path_find(context, device, NULL, &path, error));
    sutra_critical_path_report(path, &report);
    DIGEST_MEMBERS(run, report, n_nodes, n_path_nodes);
    DIGEST_MEMBERS(run, report, us, memory_us);
    for (int i = SUTRA_PATH_TEXT; i <= SUTRA_PATH_CHROME; i++)
        TRY(sutra_critical_path_write(context, path, (enum sutra_path_format)i, output(run, "path.%d", i), error));
    TRY(sutra_full_path_find(context, device, NULL, &full, error));
    sutra_full_path_report(full, &full_report);
    DIGEST_MEMBERS(run, full_report, n_nodes, kind_steps);
    for (int i = SUTRA_PATH_TEXT; i <= SUTRA_PATH_JSON; i++)
        TRY(sutra_full_path_write(context, full, (enum sutra_path_format)i, output(run, "full.%d", i), error));
    TRY(sutra_link(context, host, device, NULL, &linked, error));
    digest_link(run, linked);
    return sutra_linked_write(context, linked, output(run, "linked.json"), NULL, error);
}

/* ---- tree, correlate ---- */

#define NUMBER(name, value) "{'name':'" name "','type':'uint64','value':" value "}"
#define TENSOR              "[5,6,0,12,4,'cpu']"
#define NODE_OF(rf, tid, fw)                                                                                           \
    "{'id':2,'name':'n','ctrl_deps':1,'inputs':{'values':[" TENSOR ",[" TENSOR "],1.5],'shapes':[[3,4],[[3,4]],[]],"   \
    "'types':['Tensor(float)','GenericList[Tensor(float)]','Double'],'strides':[[4,1],[[4,1]],[]]},'outputs':[],"      \
    "'attrs':[" NUMBER("rf_id", rf) "," NUMBER("tid", tid) "," NUMBER("fw_tid", fw) "," NUMBER("seq_id", "3") "]}"

#define INPUTS                                                                                                         \
    " 'Input type'=['float','Scalar','TensorList'] 'Input Dims'=[[3],[],[[4]]] 'Concrete Inputs'=['','1',''];"
#define FORWARD_AND_BACKWARD                                                                                           \
    "cpu_op aten::mm ts=10+30 'Ev Idx'=1 'External id'=1 'Record function id'=1 'Sequence number'=3"                   \
    " 'Fwd thread id'=0" INPUTS                                                                                        \
    "cpu_op MmBackward0 tid=2 ts=60+9 'Ev Idx'=2 'External id'=2 'Record function id'=2 'Sequence number'=3"           \
    " 'Fwd thread id'=1" INPUTS "cudaLaunchKernel ts=12+1 correlation=7;"                                              \
    "kernel k stream=7 ts=20+5 correlation=7 'External id'=9;"                                                         \
    "kernel lost stream=7 ts=30+5 correlation=8 'External id'=9"
#define FLOWS                                                                                                          \
    "; ac2g ac2g ph=s id=7 ts=12; ac2g ac2g ph=f id=7 pid=0 tid=7 ts=20;"                                              \
    "fwdbwd fwdbwd ph=s id=7 ts=10; fwdbwd fwdbwd ph=f id=7 tid=2 ts=60"

static enum sutra_status write_tree(const struct run *run, const struct sutra_profile *profile,
                                    enum sutra_tree_format format, const char *path, struct sutra_error *error) {
    OWN(tree, tree);
    TRY(sutra_tree_build(run->context, profile, SUTRA_TORCH_VERSION_2, &tree, error));
    return sutra_tree_write(run->context, tree, format, NULL, path, NULL, error);
}

static enum sutra_status write_pairs(const struct run *run, const struct sutra_profile *profile,
                                     enum sutra_torch_version version, enum sutra_correlation_format format,
                                     const char *path, struct sutra_error *error) {
    const struct sutra_correlation_options options = {
        .size = sizeof options, .torch_version = version, .kind = SUTRA_CORRELATION_ALL};
    OWN(correlation, correlation);
    TRY(sutra_correlation_find(run->context, profile, &options, &correlation, error));
    return sutra_correlation_write(run->context, correlation, format, path, NULL, error);
}

static enum sutra_status build_trees(struct run *run, struct sutra_error *error) {
    const struct sutra_profile_options options = {.size = sizeof options, .inputs = true};
    OWN(host_trace, host);
    OWN(device_trace, device);
    OWN(device_trace, device_only);
    OWN(profile, of_pair);
    OWN(profile, of_device);
    OWN(profile, of_events);
    TRY(parse_pair(run, 0, 1, &host, &device, error));
    TRY(sutra_profile_from_trace(run->context, device, host, &options, &of_pair, error));
    TRY(write_tree(run, of_pair, SUTRA_TREE_JSON, output(run, "tree.json"), error));
    TRY(write_tree(run, of_pair, SUTRA_TREE_CHROME, output(run, "tree.trace"), error));
    TRY(write_pairs(run, of_pair, SUTRA_TORCH_VERSION_2, SUTRA_CORRELATION_JSON, output(run, "pairs.json"), error));
    TRY(parse_device(run, 2, &device_only, error));
    TRY(sutra_profile_from_trace(run->context, device_only, NULL, &options, &of_device, error));
    TRY(write_tree(run, of_device, SUTRA_TREE_TEXT, output(run, "device.txt"), error));
    TRY(write_tree(run, of_device, SUTRA_TREE_CHROME, output(run, "device.trace"), error));
    TRY(write_pairs(run, of_device, SUTRA_TORCH_VERSION_1_13, SUTRA_CORRELATION_CHROME, output(run, "device.pairs"),
                    error));
    TRY(sutra_profile_parse(run->context, "events", run->text[3], run->size[3], &of_events, error));
    TRY(write_tree(run, of_events, SUTRA_TREE_EVENTS, output(run, "events"), error));
    return write_tree(run, of_events, SUTRA_TREE_JSON, output(run, "events.json"), error);
}

/* ---- cut, repair ---- */

/* Truncated, with a quote in a name. */
static const char malformed_device[] =
    "{'traceEvents': [{'ph': 'M', 'name': 'm'},"
    "{'ph':'X','cat':'user_annotation','name':'ProfilerStep#1','ts':10,'dur':50,'args':{'External id':1}},"
    "{'ph':'X','cat':'cpu_op','name':'a'b','ts':12,'dur':9,'args':{'Record function id':3}},"
    "{'ph':'X','cat':'cuda_runtime','name':'l','tid':1,'ts':13,'dur':1,'args':{'correlation':7}},"
    "{'ph':'X','cat':'kernel','name':'k','tid':7,'ts':90,'dur':1,'args':{'correlation':7}},"
    "{'ph':'s','id':7,'cat':'ac2g','tid':1,'ts':13},{'ph':'f','id':7,'cat':'ac2g','tid':7,'ts':90},"
    "{'ph':'X','cat':'gpu_user_annotation','name':'ProfilerStep#1','ts':90,'dur':5,'args':{'External id':1}}";
static const char malformed_host[] = "{'schema':'1.0.1','nodes':[{'id':1,'parent':1,'name':'\x01'},"
                                     "{'id':2,'parent':1,'rf_id':3},{'id':3,'parent':1,'rf_id':4}]}";

static enum sutra_status cut_and_repair(struct run *run, struct sutra_error *error) {
    const struct sutra_selection selection = {.size = sizeof selection, .step = "1"};
    OWN(host_trace, host);
    OWN(device_trace, device);
    OWN(cut, cut);
    OWN(repair, repair);
    struct sutra_cut_report report = {.size = sizeof report};
    struct sutra_repair_report repair_report = {.size = sizeof repair_report};
    TRY(parse_pair(run, 0, 1, &host, &device, error));
    TRY(sutra_cut_run(run->context, device, host, &selection, &cut, error));
    sutra_cut_report(cut, &report);
    DIGEST_MEMBERS(run, report, n_events, n_nodes_kept);
    TRY(sutra_cut_write(run->context, cut, output(run, "device.json"), NULL, error));
    TRY(sutra_cut_write_host(run->context, cut, output(run, "host.json"), NULL, error));
    TRY(sutra_cut_write(run->context, cut, output(run, "device.pftrace"), NULL, error));
    TRY(sutra_repair_parse(run->context, "device", run->text[1], run->size[1], &repair, error));
    sutra_repair_report(repair, &repair_report);
    DIGEST_MEMBERS(run, repair_report, n_bytes, n_skipped_bytes);
    DIGEST_MEMBERS(run, repair_report, n, n);
    return sutra_repair_write(run->context, repair, output(run, "repaired.json"), NULL, error);
}

/* 100 threads with an operator each. For every second thread, an end of an arrow is at the end of the file. */
static void make_threads(struct run *run) {
    size_t size;
    free(run->text[0]);
    FILE *out = open_memstream(&run->text[0], &size);
    assert_non_null(out);
    fprintf(out, "{\"traceEvents\":[{\"ph\":\"M\",\"name\":\"m\"}");
    for (int i = 0; i < 100; i++)
        fprintf(out, ",{\"ph\":\"X\",\"cat\":\"cpu_op\",\"name\":\"a\",\"pid\":%d,\"tid\":%d,\"ts\":%d,\"dur\":%d}",
                i / 2, i, 10 * i, i % 4 ? 1 : 9);
    for (int i = 0; i < 100; i += 2)
        fprintf(out, ",{\"ph\":\"s\",\"cat\":\"ac2g\",\"name\":\"s\",\"id\":%d,\"pid\":%d,\"tid\":%d,\"ts\":%d}", i,
                i / 2, i, 10 * i);
    fprintf(out, "]}");
    fclose(out);
    run->size[0] = size;
}

static enum sutra_status cut_threads(struct run *run, struct sutra_error *error) {
    const struct sutra_selection selection = {.size = sizeof selection, .min_us = 5};
    struct sutra_cut_report report = {.size = sizeof report};
    OWN(device_trace, device);
    OWN(cut, cut);
    TRY(parse_device(run, 0, &device, error));
    TRY(sutra_cut_run(run->context, device, NULL, &selection, &cut, error));
    sutra_cut_report(cut, &report);
    DIGEST_MEMBERS(run, report, n_events, n_nodes_kept);
    run->result = (long)report.n_arrow_ends_kept;
    return sutra_cut_write(run->context, cut, output(run, "device.json"), NULL, error);
}

/* ---- merge ---- */

#define ALL_REDUCE(ts)                                                                                                 \
    "cpu_op a ts=1+5; kernel ncclAllReduce stream=7 ts=" ts "+2 correlation=3 'Collective name'=allreduce dtype=Float" \
    " 'Process Group Name'='0' 'Process Group Ranks'='[0, 1]' 'Group size'=2 'In msg nelems'=8 'Out msg nelems'=8 Seq=0"
#define PROCESS(prefix)                                                                                                \
    "cuda_runtime a pid='" prefix " 1' ts=1+5 correlation=1; kernel b pid='" prefix " 0' tid=7 ts=7+2 correlation=1"

static enum sutra_status merge(struct run *run, struct sutra_error *error) {
    const struct sutra_selection step = {.size = sizeof step, .min_us = 1, .to_us = 9};
    /* With a memory of 1 byte, no events are kept, and all files are read twice. */
    const struct sutra_merge_options options = {
        .size = sizeof options, .selection = run->variant == 2 ? &step : NULL, .memory = run->variant == 1};
    struct sutra_merge_report report = {.size = sizeof report};
    OWN(merged, merged);
    TRY(sutra_merge(run->context, run->path, run->n_inputs, &options, output(run, "all.json"), &merged, error));
    sutra_merged_report(merged, &report);
    DIGEST_MEMBERS(run, report, n_ranks, n_ranks);
    DIGEST_MEMBERS(run, report, n_events, n_bytes);
    return SUTRA_OK;
}

/* ---- convert ---- */

#define IO "{'values':[[1,2,3,4,5,'a\\u00e9'],{'a':1,'a':2}],'shapes':[[4]],'types':['Tensor(float)']}"
#define ATTRIBUTES                                                                                                     \
    "[{'name':'rf_id','value':1},{'name':'fw_parent','value':0},{'name':'seq_id','value':-1},{'name':'scope',"         \
    "'value':0},{'name':'tid','value':1},{'name':'fw_tid','value':0},{'name':'op_schema','value':'\\n'}"
#define LINE(id, name, parent, more, attributes)                                                                       \
    "{'id':" id ",'name':'" name "','ctrl_deps':" parent ",'inputs':" IO ",'outputs':" IO more                         \
    ",'attrs':" ATTRIBUTES attributes "]}"

#define GPU_LINE(id, name, parent)                                                                                     \
    "{'cat':'kernel','name':'" name "','ts':1,'dur':2,'args':{'stream':7},'ctrl_deps':" parent ",'id':" id             \
    ",'inputs':" IO ",'outputs':" IO "}"

/* A ring, an id that an attribute changes, a repeated and a large one, a group with a name, nodes of link-legacy. */
/* clang-format off */
static const char et_plus[] =
    "{'schema':'1.1.1-chakra.0.0.4','pid':1,'time':'\\u00e9','start_ts':1,'finish_ts':2,'nodes':["
    LINE("1", "[pytorch|profiler|execution_trace|thread]", "1", "", "") ","
    LINE("2", "a", "1", ",'inter_thread_dep':4", "") ","
    LINE("3", "ncclDevKernel_AllReduce", "2", ",'cat':'kernel','pg_name':'g\\n'", "") ","
    LINE("4", "b\\n", "1", "", "") ","
    LINE("4", "b\\n", "1", "", "") ","
    LINE("5", "c", "1", "", ",{'name':'id','value':123456789012345678}") ","
    LINE("6", "d", "1", ",'dur':5,'ts':10", "") ","
    GPU_LINE("7", "k\\n", "6") ","
    LINE("18446744073709551615", "process_group:init", "1", "", "") "]}";
/* clang-format on */

static enum sutra_status convert(struct run *run, struct sutra_error *error) {
    const struct sutra_convert_options options = {.size = sizeof options};
    OWN(converted, converted);
    struct sutra_convert_report report = {.size = sizeof report};
    TRY(sutra_convert_parse(run->context, "plus", run->text[0], run->size[0], &options, &converted, error));
    sutra_converted_report(converted, &report);
    DIGEST_MEMBERS(run, report, n_plus_nodes, n_rootless);
    TRY(sutra_converted_write_astra(run->context, converted, run->folder, 0, error));
    return sutra_converted_write(run->context, converted, output(run, "out.et"), NULL, error);
}

/* ---- check, draw, jsonize ---- */

static const char et_lines[] =
    "{'attr': [{'name': 'schema', 'docString': 'd', 'stringVal': '1'}]}\n"
    "{'id': '1', 'name': 'a\\u00e9', 'type': 'METADATA_NODE', 'inputs': {'values': '[\\u0027[{\\u0022pg_name\\u0022: "
    "\\u00223\\u0022, \\u0022ranks\\u0022: [0, 1]}]\\u0027]'}, 'attr': [{'name': 'x', 'int64List': {'values': [1]}}]}\n"
    "{'id': '2', 'type': 'COMM_COLL_NODE', 'dataDeps': [1], 'attr': [{'name': 'pg_name', 'stringVal': 'tp'}, "
    "{'name': 'comm_type', 'int64Val': 0}, {'name': 'comm_size', 'int64Val': 8}]}\n"
    "{'id': '3', 'type': 'COMM_SEND_NODE', 'ctrlDeps': [2, 9], 'attr': [{'name': 'comm_dst', 'int32Val': 0}]}\n"
    "{'id': '3', 'type': 'COMP_NODE', 'dataDeps': [3]}\n";

/* Encodes the inputs that are lines of nodes. */
static void encode_lines(struct run *run) {
    for (size_t i = 0; i < run->n_inputs; i++)
        if (strncmp(run->text[i], "{}", 2) == 0 || strncmp(run->text[i], "{\"attr\"", 7) == 0) {
            struct buffer bytes = et_encode(run->text[i]);
            free(run->text[i]);
            run->text[i] = bytes.bytes;
            run->size[i] = bytes.length;
        }
}

static enum sutra_status check_and_draw(struct run *run, struct sutra_error *error) {
    const struct sutra_et_draw_options around = {.size = sizeof around, .node = 2, .depth = 2};
    const struct sutra_et_draw_options all = {.size = sizeof all, .collectives = true};
    struct sutra_context *context = run->context;
    struct sutra_et_info info = {.size = sizeof info};
    struct sutra_et_check_report report = {.size = sizeof report};
    OWN(et, et);
    OWN(et_check, check);
    TRY(sutra_et_parse(context, "a.0.et", run->text[0], run->size[0], NULL, &et, error));
    TRY(sutra_et_info(context, et, &info, error));
    DIGEST_MEMBERS(run, info, n_bytes, width);
    DIGEST_MEMBERS(run, info, n_traffic, n_traffic);
    TRY(sutra_et_check_create(context, NULL, &check, error));
    TRY(sutra_et_check_add(check, et, error));
    TRY(sutra_et_check_add(check, et, error));
    TRY(sutra_et_check_finish(check, error));
    sutra_et_check_report(check, &report);
    DIGEST_MEMBERS(run, report, n_files, n_warnings);
    TRY(sutra_et_write_json(context, et, SUTRA_ET_LINES, output(run, "lines"), NULL, error));
    TRY(sutra_et_draw(context, et, &around, SUTRA_ET_DOT, output(run, "dot"), NULL, error));
    return sutra_et_draw(context, et, &all, SUTRA_ET_GRAPHML, output(run, "graphml"), NULL, error);
}

/* ---- simulate ---- */

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

/* Kernels that overlap, one that waits for the other's stream, calls that wait for a stream and for all. */
static const char host_of_streams[] = "1 root; 2 a rf_id=7; 3 b rf_id=8";
static const char device_of_streams[] =
    "cpu_op a ts=10+40 'External id'=7 'Record function id'=7;"
    "cpu_op b ts=60+90 'External id'=8 'Record function id'=8;"
    "cudaLaunchKernel ts=12+2 correlation=20;"
    "cudaEventRecord ts=15+1 correlation=21;"
    "cudaStreamWaitEvent ts=17+1 correlation=22;"
    "cudaLaunchKernel ts=19+2 correlation=23;"
    "cudaStreamSynchronize ts=70+31 correlation=24;"
    "cudaLaunchKernel ts=104+2 correlation=25;"
    "cudaDeviceSynchronize ts=110+31 correlation=26;"
    "kernel k1 stream=7 ts=20+40 correlation=20; kernel k2 stream=8 ts=61+39 correlation=23;"
    "kernel k3 stream=7 ts=110+30 correlation=25;"
    "cuda_sync 'Stream Wait Event' stream=8 ts=17+1 correlation=22 wait_on_stream=7"
    " wait_on_cuda_event_record_corr_id=21 wait_on_cuda_event_id=1;"
    "cuda_sync 'Stream Synchronize' stream=8 ts=70+31 correlation=24;"
    "cuda_sync 'Context Synchronize' stream=-1 ts=110+31 correlation=26";

/* Kernels that overlap, and an operator that waited for one of them. */
#define TIMED(id, name, more)                                                                                          \
    "{'id':" id ",'name':'" name "','ctrl_deps':" more ",'inputs':" NO_IO ",'outputs':" NO_IO ",'attrs':[]}"
/* clang-format off */
static const char et_plus_of_streams[] =
    "{'schema':'1.1.1-chakra.0.0.4','nodes':["
    TIMED("1", "root", "1") ","
    TIMED("2", "a", "1,'ts':10,'inclusive_dur':40") ","
    TIMED("3", "b", "1,'ts':100,'inclusive_dur':40,'sync_dep':[5]") ","
    TIMED("4", "k1", "2,'ts':20,'inclusive_dur':60,'cat':'kernel','stream':7") ","
    TIMED("5", "k2", "2,'ts':30,'inclusive_dur':40,'cat':'kernel','stream':8") "]}";
/* clang-format on */

static void digest_simulation(struct run *run, const struct sutra_simulation *simulation) {
    for (uint32_t i = 0; i < sutra_simulation_ranks(simulation); i++) {
        struct sutra_simulated_rank rank = {.size = sizeof rank};
        sutra_simulation_rank(simulation, i, &rank);
        DIGEST_MEMBERS(run, rank, rank, gpu_slowness);
    }
    const uint64_t counts[] = {sutra_simulation_n_waits(simulation), sutra_simulation_n_collectives(simulation),
                               sutra_simulation_n_deadlocked(simulation), sutra_simulation_n_steps(simulation)};
    digest_bytes(run, counts, sizeof counts);
}

/* Simulates two ranks with scaled durations and what-ifs, and from files with only the fields that it needs. */
static enum sutra_status simulate(struct run *run, struct sutra_error *error) {
    static const char *const scales[] = {"name=~gem+:0.5", "op=a:2", "comm:1"};
    const struct sutra_simulate_options options = {.size = sizeof options, .scales = scales, .n_scales = 3};
    const char *const paths[] = {output(run, "rank.0.et"), output(run, "rank.1.et")};
    struct sutra_context *context = run->context;
    OWN(et, first);
    OWN(et, second);
    OWN(simulation, simulation);
    OWN(et_ranks, ranks);
    OWN(simulation, of_files);
    TRY(sutra_et_parse(context, "a.et", run->text[0], run->size[0], NULL, &first, error));
    TRY(sutra_et_parse(context, "a.et", run->text[1], run->size[1], NULL, &second, error));
    const struct sutra_et *const ets[] = {first, second};
    TRY(sutra_simulate(context, ets, NULL, 2, &options, &simulation, error));
    TRY(sutra_simulation_what_if(context, simulation, 2, error));
    digest_simulation(run, simulation);
    TRY(sutra_simulation_write_trace(context, simulation, output(run, "trace"), NULL, error));
    for (int rank = 0; rank < 2; rank++)
        TRY(et_write(&ets[rank]->file.nodes, NULL, context, paths[rank], NULL, error));
    TRY(sutra_et_ranks_read(context, paths, NULL, 2, &ranks, error));
    TRY(sutra_simulate_ranks(context, ranks, NULL, &of_files, error));
    digest_simulation(run, of_files);
    return SUTRA_OK;
}

/* Converts a linked pair, and ET+, to files with measured times. */
static enum sutra_status convert_faithfully(struct run *run, struct sutra_error *error) {
    const struct sutra_faithful_options options = {.size = sizeof options};
    const struct sutra_convert_options timed = {.size = sizeof timed, .keep_times = true};
    const struct link_output streams = {.et = true,
                                        .faithful = true,
                                        .what.size = sizeof streams.what,
                                        .how = {.size = sizeof streams.how, .gpu_streams = true}};
    struct sutra_faithful_report report = {.size = sizeof report};
    struct sutra_context *context = run->context;
    OWN(host_trace, host);
    OWN(device_trace, device);
    OWN(linked, linked);
    OWN(converted, of_pair);
    OWN(converted, of_et_plus);
    TRY(parse_pair(run, 0, 1, &host, &device, error));
    TRY(sutra_link(context, host, device, NULL, &linked, error));
    TRY(sutra_linked_convert(context, linked, NULL, &of_pair, error));
    TRY(sutra_converted_run_faithful(context, of_pair, linked, &options, &report, error));
    DIGEST_MEMBERS(run, report, n_nodes, n_never_ran);
    TRY(sutra_converted_write(context, of_pair, output(run, "pair.et"), NULL, error));
    TRY(link_output_write(context, &(struct linked_traces){linked, host, device}, &streams, NULL,
                          output(run, "streams.et"), NULL, &report, error));
    DIGEST_MEMBERS(run, report, n_nodes, n_never_ran);
    TRY(sutra_convert_parse(context, "plus", run->text[2], run->size[2], &timed, &of_et_plus, error));
    TRY(sutra_converted_run_faithful(context, of_et_plus, NULL, &options, &report, error));
    DIGEST_MEMBERS(run, report, n_nodes, n_never_ran);
    return sutra_converted_write(context, of_et_plus, output(run, "plus.et"), NULL, error);
}

/* ---- simulate --layers, --data-parallel ---- */

#define CPU_NODE(id, name, us, deps, thread)                                                                           \
    ET_NODE(id, name, "COMP_NODE", us, deps,                                                                           \
            "{'name':'is_cpu_op','boolVal':true},{'name':'tid','int64Val':'" thread "'}")
#define GPU_NODE(id, name, deps)                                                                                       \
    ET_NODE(id, name, "COMP_NODE", "20", deps,                                                                         \
            "{'name':'is_cpu_op','boolVal':false},{'name':'stream','int64Val':'7'},"                                   \
            "{'name':'kernel_exec_ns','int64Val':'18000'}")
#define MATCHED(id, type, deps, match, kind)                                                                           \
    ET_NODE(id, "ncclDevKernel", type, "10", deps,                                                                     \
            "{'name':'is_cpu_op','boolVal':false},{'name':'stream','int64Val':'20'},"                                  \
            "{'name':'pg_name','stringVal':'1'},{'name':'meeting','int64Val':'" match "'},{'name':'meeting_kind',"     \
            "'stringVal':'" kind "'},{'name':'meeting_ranks','int64Val':'2'},{'name':'meeting_bytes',"                 \
            "'int64Val':'9000'},{'name':'kernel_exec_ns','int64Val':'9000'}")
/* Two blocks of three kernels, from the kernel `id`0 on, each after the previous one. */
#define BLOCKS(id, cpu, before, a, b, c)                                                                               \
    GPU_NODE(id "0", a, cpu before)                                                                                    \
    GPU_NODE(id "1", b, cpu "," id "0")                                                                                \
    GPU_NODE(id "2", c, cpu "," id "1")                                                                                \
    GPU_NODE(id "3", a, cpu "," id "2") GPU_NODE(id "4", b, cpu "," id "3") GPU_NODE(id "5", c, cpu "," id "4")

/* A step of two micro-batches, with gradients, tokens and a message. */
#define PIPELINE_RANK(message)                                                                                         \
    "{'attr':[{'name':'gpu','stringVal':'streams'}]}\n" CPU_NODE("1", "ProfilerStep#0", "0", "", "1")                  \
        CPU_NODE("2", "aten::mm", "3", "", "1") BLOCKS("1", "2", "", "f", "g", "h")                                    \
            MATCHED("16", "COMM_COLL_NODE", "2,15", "8", "all-to-all") GPU_NODE("17", "expert", "2,15,16")             \
                MATCHED("18", "COMM_COLL_NODE", "2,16,17", "9", "all-to-all") CPU_NODE("3", "autograd", "3", "2", "2") \
                    BLOCKS("3", "3", ",17", "b", "c", "d") CPU_NODE("4", "aten::mm", "3", "3", "1")                    \
                        BLOCKS("4", "4", ",35", "f", "g", "h") CPU_NODE("5", "autograd", "3", "4", "2")                \
                            BLOCKS("5", "5", ",45", "b", "c", "d")                                                     \
                                MATCHED("56", "COMM_COLL_NODE", "5,18,55", "1", "all-reduce")                          \
                                    MATCHED("57", message, "5,55,56", "2", "message")

/* A job of two ranks gets other numbers of layers and micro-batches, then of replicas, and is simulated. */
static enum sutra_status scale(struct run *run, struct sutra_error *error) {
    const struct sutra_scale_options layers = {.size = sizeof layers, .layers = 6, .micro_batches = 3};
    const struct sutra_scale_options replicas = {.size = sizeof replicas, .data_parallel = 3};
    const struct sutra_simulate_options how = {.size = sizeof how, .gpu_streams = true, .bandwidth = 2};
    const char *const paths[] = {output(run, "rank.0.et"), output(run, "rank.1.et")};
    const char *const scaled[] = {output(run, "scaled.0.et"), output(run, "scaled.1.et"), output(run, "scaled.2.et")};
    struct sutra_simulated_interval interval = {.size = sizeof interval};
    struct sutra_context *context = run->context;
    OWN(et_ranks, ranks);
    OWN(et_ranks, longer);
    OWN(et_ranks, wider);
    OWN(simulation, simulation);
    OWN(simulation, of_wider);
    OWN(pipeline, pipeline);
    OWN(pipeline, of_wider_pipeline);
    for (int rank = 0; rank < 2; rank++) {
        OWN(et, et);
        TRY(sutra_et_parse(context, "a.et", run->text[rank], run->size[rank], NULL, &et, error));
        TRY(et_write(&et->file.nodes, NULL, context, paths[rank], NULL, error));
    }
    TRY(sutra_et_ranks_read(context, paths, NULL, 2, &ranks, error));
    TRY(sutra_simulate_ranks(context, ranks, &how, &simulation, error));
    TRY(sutra_pipeline_run(context, simulation, &pipeline, error));
    for (uint32_t id = 0; id < 2; id++)
        TRY(sutra_table_write(context, sutra_result_table(SUTRA_RESULT(pipeline), id, NULL), SUTRA_TABLE_CSV,
                              output(run, "pipeline.%u", id), NULL, error));
    TRY(sutra_et_ranks_scale(context, ranks, &layers, &longer, error));
    TRY(sutra_et_ranks_scale(context, ranks, &replicas, &wider, error));
    TRY(sutra_simulate_ranks(context, wider, &how, &of_wider, error));
    TRY(sutra_simulate_interval(context, wider, &how, &interval, error));
    DIGEST_MEMBERS(run, interval, low_ns, high_ns);
    digest_simulation(run, simulation);
    digest_simulation(run, of_wider);
    TRY(sutra_simulation_write(context, of_wider, paths, scaled, "--data-parallel 3", error));
    TRY(sutra_pipeline_run(context, of_wider, &of_wider_pipeline, error));
    digest_tables(run, SUTRA_RESULT(of_wider_pipeline));
    return SUTRA_OK;
}

/* ---- columns ---- */

static const char device_with_args[] = "kernel k pid=a stream=7 ts=5+2 correlation=1 i=1 b=true s=\\u0041 j=[1];"
                                       "cudaLaunchKernel ts=1.5+1 correlation=1";
static const char host_with_args[] = "{'schema':'1.0.2-chakra.0.0.4','nodes':[{'id':1,'name':'\\u0041','ctrl_deps':1,"
                                     "'attrs':[{'name':'i','value':3}]}]}";

/* Reads a stream. */
static enum sutra_status drain(struct run *run, struct ArrowArrayStream *stream, struct sutra_error *error) {
    struct ArrowSchema schema = {0};
    struct ArrowArray array = {0};
    bool ok = stream->get_schema(stream, &schema) == 0 && stream->get_next(stream, &array) == 0;
    assert_true(ok || strcmp(stream->get_last_error(stream), "out of memory") == 0);
    if (ok)
        DIGEST_MEMBERS(run, array, length, null_count);
    for (int64_t i = 0; ok && i < array.n_children; i++)
        DIGEST_MEMBERS(run, *array.children[i], length, null_count);
    if (schema.release)
        schema.release(&schema);
    if (array.release)
        array.release(&array);
    stream->release(stream);
    return ok ? SUTRA_OK : error_memory(error);
}

static enum sutra_status export_columns(struct run *run, struct sutra_error *error) {
    static const char *const names[] = {"ts", "name", "phase", "kind", "device", "pid", "pid_text", "category"};
    static const char *const args[] = {"i", "b", "s", "j", "none"};
    const struct sutra_columns_options of_device = {sizeof of_device, names, 8, args, 5};
    const struct sutra_columns_options of_host = {sizeof of_host, NULL, 0, args, 1};
    struct sutra_context *context = run->context;
    struct ArrowArrayStream stream;
    OWN(host_trace, host);
    OWN(device_trace, device);
    OWN(hta, hta);
    OWN(repair, repair);
    OWN(et, et);
    OWN(simulation, simulation);
    TRY(parse_pair(run, 0, 1, &host, &device, error));
    TRY(sutra_device_trace_arrow(context, device, &of_device, &stream, error));
    TRY(drain(run, &stream, error));
    TRY(sutra_device_trace_arrow(context, device, &of_device, &stream, error));
    TRY(sutra_columns_write(context, &stream, output(run, "events.arrow"), NULL, NULL, error));
    TRY(sutra_host_trace_arrow(context, host, &of_host, &stream, error));
    TRY(drain(run, &stream, error));
    TRY(sutra_hta_run(context, device, NULL, &hta, error));
    TRY(sutra_table_arrow(sutra_result_table(SUTRA_RESULT(hta), SUTRA_HTA_KERNELS, NULL), &stream, error));
    TRY(drain(run, &stream, error));
    TRY(sutra_repair_parse(context, "text", run->text[2], run->size[2], &repair, error));
    TRY(sutra_repair_arrow(repair, &stream, error));
    TRY(drain(run, &stream, error));
    TRY(sutra_et_parse(context, "a.et", run->text[3], run->size[3], NULL, &et, error));
    TRY(sutra_simulate(context, (const struct sutra_et *[]){et}, NULL, 1, NULL, &simulation, error));
    for (int i = 0; i < SUTRA_SIMULATED_N_COLUMNS; i++) {
        TRY(sutra_simulation_arrow(simulation, (enum sutra_simulated_columns)i, &stream, error));
        TRY(drain(run, &stream, error));
    }
    return SUTRA_OK;
}

/* clang-format off */
static const struct operation operations[] = {
    {"link", link_pair, {{"host", host_of_most_tables}, {"device", device_of_most_tables}}, .set_up = compress_inputs,
     .n_variants = 2, .max_threads = 2, .min_allocations = 100, .min_files = 1},
    {"link_again", link_pair, {{"host", host_of_most_tables}, {"device", device_of_most_tables}},
     .keeps_context = true, .min_allocations = 100, .min_files = 1},
    {"strings", .test = string_table_that_could_not_grow_stays_usable},
    {"legacy", link_legacy, {{"host", flat_host}, {"device", device_with_steps}}, .n_variants = N_LEGACY_VARIANTS,
     .max_threads = 2, .min_allocations = 100},
    {"job", link_job,
     {{"host.0.json", HOST_OF_RANK("0", "50")}, {"host.1.json", HOST_OF_RANK("1", "51")},
      {"device.0.json", DEVICE_OF_RANK("0", "50")}, {"device.1.json", DEVICE_OF_RANK("1", "51")}},
     .min_allocations = 100, .min_files = 13, .may_differ = "job.json rank.0.met rank.1.met", .is_partial = true},
    {"critical_path", find_paths,
     {{"host", host_of_two}, {"device", PATH_STEPS("ProfilerStep", "20")}, {"device.text", PATH_STEPS("Step", "main")},
      {"device.0", PATH_STEPS("ProfilerStep", "0")}},
     .n_variants = 3, .min_allocations = 200, .min_files = 6, .expected = {{"linked.json", "sync_dep"}}},
    {"tree", build_trees,
     {{"host", "1 root; " NODE_OF("1", "1", "0") "; " NODE_OF("2", "2", "1")},
      {"device", FORWARD_AND_BACKWARD FLOWS}, {"device.only", FORWARD_AND_BACKWARD},
      {"events",
       "{'events':[{'kind':'TorchOp','name':'a','start_ns':1,'end_ns':9,'tid':1,'forward_tid':1,'inputs':[null,"
       "{'impl':5,'storage':6,'dtype':'float','sizes':[3],'strides':[1]},{'list':[{'impl':7,'storage':6}]},"
       "{'scalar':'1\\n'}]},{'kind':'Allocation','name':'[memory]','start_ns':2,'tid':1,'ptr':6,'bytes':8}]}"}},
     .min_allocations = 200, .min_files = 8,
     .expected = {{"tree.json", "\"tensor_ids\": [0, [0], null]"}, {"pairs.json", "fwdbwd"},
                  {"device.pairs", "fwdbwd"}}},
    {"cut", cut_and_repair, {{"host", malformed_host}, {"device", malformed_device}}, .is_lenient = true,
     .min_allocations = 40, .min_files = 4},
    {"cut_threads", cut_threads, {{"device", ""}}, .set_up = make_threads, .min_allocations = 30, .min_result = 25,
     .min_files = 1},
    {"merge", merge, {{"rank0.json", ALL_REDUCE("3")}, {"rank1.json", ALL_REDUCE("2")}}, .n_variants = 3,
     .min_allocations = 50, .min_files = 1},
    {"merge_processes", merge,
     {{"ranks.json", "'distributedInfo':{'rank':0};" PROCESS("[TP0]") ";" PROCESS("[TP1]")}}, .n_variants = 2,
     .min_allocations = 50, .min_files = 1},
    {"convert", convert, {{"plus", et_plus}}, .max_threads = 2, .min_allocations = 50, .min_files = 5},
    {"et", check_and_draw, {{"et", et_lines}}, .set_up = encode_lines, .min_allocations = 50, .min_files = 3,
     .expected = {{"lines", "COMM_SEND_NODE"}}},
    {"simulate", simulate, {{"rank.0", rank_0}, {"rank.1", rank_1}}, .set_up = encode_lines, .min_allocations = 100, .min_files = 3,
     .expected = {{"trace", "all-reduce"}}},
    {"faithful", convert_faithfully,
     {{"host", host_of_streams}, {"device", device_of_streams}, {"plus", et_plus_of_streams}},
     .min_allocations = 100, .min_files = 3},
    {"scale", scale, {{"rank.0", PIPELINE_RANK("COMM_SEND_NODE")}, {"rank.1", PIPELINE_RANK("COMM_RECV_NODE")}},
     .set_up = encode_lines,
     .min_allocations = 100, .min_files = 7},
    {"columns", export_columns,
     {{"host", host_with_args}, {"device", device_with_args}, {"repair", "{'traceEvents':[{'ts':NaN}]}"},
      {"lines", "{}{'id':1,'name':'a','type':'COMP_NODE','durationMicros':9}"}}, .set_up = encode_lines,
     .min_allocations = 100, .min_files = 1},
};
/* clang-format on */

int main(int argc, char **argv) {
    return test_operations(operations, sizeof operations / sizeof *operations, argc, argv);
}
