/*
 * fault_memory_job.c - fails every allocation in turn while a job of two ranks is linked: traces are paired and linked,
 * records read, collectives matched, and job.json written.
 *
 * Each run must return SUTRA_SYSTEM, or report a failed rank, or write the expected files. Remaining files are
 * complete. The sanitizers detect leaks.
 */
#include <sys/stat.h>

#include "base/error.h"
#include "job/job.h"
#include "job/rank_job.h"
#include "link_case.h"
#include "refuse.h"

#define N_RANKS 2

#define COLLECTIVE(ts)                                                                                                 \
    EVENT("kernel", "ncclDevKernel_AllReduce", "7", ts, "5",                                                           \
          "'correlation':3,'External id':9,'stream':7,'Collective name':'allreduce','Process Group "                   \
          "Name':'dp','Process Group Ranks':'[0, 1]','Group size':2,'In msg nelems':4,'Out msg nelems':4,'Seq':0")

/* A kernel without arguments, whose record_param_comms is in the host trace. */
#define RECORDED(ts)                                                                                                   \
    EVENT("kernel", "ncclDevKernel_AllReduce", "7", ts, "5", "'correlation':4,'External id':10,'stream':7")

#define NO_IO "{'values':[],'shapes':[],'types':[]}"
#define HOST_NODE(id, name, attrs)                                                                                     \
    "{'id':" id ",'name':'" name "','ctrl_deps':1,'inputs':" NO_IO ",'outputs':" NO_IO ",'attrs':[" attrs "]}"

#define RECORD_NODE                                                                                                    \
    "{'id':3,'name':'record_param_comms','ctrl_deps':1,'inputs':{'shapes':[],'values':"                                \
    "[[[5,6,0,4,4,'cuda:0']],1,4096,%2$d,'allreduce',[],[],2],'types':['GenericList[Tensor(float)]','Int','Int'"       \
    ",'Int','String','GenericList[]','GenericList[]','Int']},'outputs':" NO_IO ",'attrs':[" RF_ATTRIBUTE("8") "]}"
#define CPU_OP(name, ts, external, rf)                                                                                 \
    "{'ph':'X','cat':'cpu_op','name':'" name "','pid':%2$d,'tid':1,'ts':" ts                                           \
    ",'dur':5,'args':{'External id':" external ",'Record function id':" rf "}}"

static const char host_source[] = "{'schema':'1.1.1-chakra.0.0.4','pid':%1$d,'nodes':[" HOST_NODE(
    "1", "root", "") "," HOST_NODE("2", "a", RF_ATTRIBUTE("7")) "," RECORD_NODE "]}";
static const char device_source[] =
    "{'distributedInfo':{'rank':%1$d,'world_size':2},'traceEvents':[" CPU_OP("a", "1", "9", "7") "," LAUNCH(
        "1", "2", "3") "," COLLECTIVE("10") "," CPU_OP("record_param_comms", "20", "10",
                                                       "8") "," LAUNCH("1", "21", "4") "," RECORDED("30") "]}";

static char folder[64], out[80], *paths[2 * N_RANKS], *expected[N_RANKS];

static char *in_folder(const char *format, int rank) {
    char name[40], *path;
    snprintf(name, sizeof name, format, rank);
    assert_true(asprintf(&path, "%s/%s", folder, name) > 0);
    return path;
}

static void write_trace(const char *path, const char *source, int first, int second) {
    FILE *file = fopen(path, "w");
    char text[4000];
    assert_non_null(file);
    assert_true(snprintf(text, sizeof text, source, first, second) < (int)sizeof text);
    for (char *at = text; *at; at++)
        fputc(*at == '\'' ? '"' : *at, file);
    assert_int_equal(fclose(file), 0);
}

/* Makes the ranks with a resource per stream, which have as many nodes, since no kernels overlap. */
static enum sutra_status read_streams(struct sutra_context *context, struct sutra_error *error) {
    char files[N_RANKS][100];
    const char *list[N_RANKS];
    const uint64_t numbers[N_RANKS] = {0, 1};
    struct sutra_et_ranks *streams = NULL, *one = NULL;
    for (int rank = 0; rank < N_RANKS; rank++) {
        snprintf(files[rank], sizeof files[rank], "%s/rank.%d.et", out, rank);
        list[rank] = files[rank];
    }
    enum sutra_status status = job_streams_read(context, list, numbers, N_RANKS, &streams, error);
    if (!status)
        status = sutra_et_ranks_read(context, list, numbers, N_RANKS, &one, error);
    for (int rank = 0; rank < N_RANKS && !status; rank++)
        assert_int_equal(streams->graphs[rank].n, one->graphs[rank].n);
    sutra_et_ranks_free(streams);
    sutra_et_ranks_free(one);
    return status;
}

static enum sutra_status link_plan(const struct job_plan *plan, struct sutra_error *error) {
    const struct rank_job_options options = {.folder = out,
                                             .ending = ".et",
                                             .into = RECORD_FOLDER "/",
                                             .words = "",
                                             .link = {.size = sizeof options.link},
                                             .output = {.et = true,
                                                        .faithful = true,
                                                        .of_job = true,
                                                        .what = {.size = sizeof options.output.what},
                                                        .how = {.size = sizeof options.output.how}},
                                             .context = {.size = sizeof options.context, .n_threads = 1}};
    struct sutra_context *context;
    struct job_whole whole = {0};
    enum sutra_status status = rank_job_run(plan, &options, error);
    if (status)
        return status;
    status = sutra_context_create(&options.context, &context, error);
    if (status)
        return status;
    status = plan_write(context, out, plan, "", ".et", error);
    if (!status)
        status = job_whole_read(&whole, out, error);
    const struct second_pass_options second = {.folder = out, .context = options.context};
    if (!status && whole.matched_collectives)
        status = second_pass_run(&whole, &second, error);
    if (!status)
        status = job_whole_write(&whole, context, out, error);
    if (!status && whole.n_done == N_RANKS)
        status = read_streams(context, error);
    for (size_t i = 0; i < whole.n_ranks && !status; i++)
        assert_true(whole.ranks[i].state == RANK_DONE || whole.ranks[i].status == SUTRA_SYSTEM);
    if (!status && whole.n_done < N_RANKS)
        status = error_memory(error);
    job_whole_free(&whole);
    sutra_context_free(context);
    return status;
}

static enum sutra_status work(void *arg, struct sutra_error *error) {
    struct job_plan plan = {0};
    const struct trace_files files = {paths, 2 * N_RANKS, true};
    (void)arg;
    enum sutra_status status = job_plan_pair(&plan, &files, &files, error);
    if (!status && plan.n_pairs == N_RANKS)
        status = link_plan(&plan, error);
    job_plan_free(&plan);
    return status;
}

/* Ranks' files that are there are whole. Empties the folder. */
static void check(void *arg, long n, enum sutra_status status) {
    static const char *const others[] = {"job.json",
                                         "comm_groups.json",
                                         ".job/plan",
                                         ".job/rank.0",
                                         ".job/rank.1",
                                         ".job/rank.0.et",
                                         ".job/rank.1.et",
                                         ".job/rank.0.met",
                                         ".job/rank.1.met",
                                         ".job/rank.0.streams.et",
                                         ".job/rank.1.streams.et"};
    (void)arg;
    (void)n;
    for (int rank = 0; rank < N_RANKS; rank++) {
        char *path = in_folder("out/rank.%d.et", rank);
        bool there = access(path, F_OK) == 0;
        assert_true(there || status != SUTRA_OK);
        char *text = there ? file_text(path) : NULL;
        if (there && expected[rank])
            assert_string_equal(text, expected[rank]);
        if (!expected[rank])
            expected[rank] = text;
        else
            free(text);
        unlink(path);
        free(path);
    }
    for (size_t i = 0; i < sizeof others / sizeof *others; i++) {
        char path[200];
        snprintf(path, sizeof path, "%s/%s", out, others[i]);
        assert_true(access(path, F_OK) == 0 || status != SUTRA_OK);
        unlink(path);
    }
    char records[100];
    snprintf(records, sizeof records, "%s/.job", out);
    assert_int_equal(rmdir(records), 0); /* fails where something else was left */
    assert_int_equal(mkdir(records, 0700), 0);
}

static void jobs_run_out_of_memory(void **state) {
    (void)state;
    const struct refusable refusable = {NULL, work, check};
    struct sutra_error error = {0};
    char records[100];
    strcpy(folder, P_tmpdir "/sutra_fault_XXXXXX");
    assert_non_null(mkdtemp(folder));
    snprintf(out, sizeof out, "%s/out", folder);
    snprintf(records, sizeof records, "%s/.job", out);
    assert_int_equal(mkdir(out, 0700), 0);
    assert_int_equal(mkdir(records, 0700), 0);
    for (int rank = 0; rank < N_RANKS; rank++) {
        paths[rank] = in_folder("host.%d.json", rank);
        paths[N_RANKS + rank] = in_folder("device.%d.json", rank);
        write_trace(paths[rank], host_source, 50 + rank, rank);
        write_trace(paths[N_RANKS + rank], device_source, rank, 50 + rank);
    }
    if (work(NULL, &error))
        fail_msg("%s", error.message);
    check(NULL, 0, SUTRA_OK);
    assert_true(refuse_each(&refusable, false) > 100);
    assert_int_equal(rmdir(records), 0);
    assert_int_equal(rmdir(out), 0);
    for (int i = 0; i < 2 * N_RANKS; i++) {
        unlink(paths[i]);
        free(paths[i]);
    }
    for (int rank = 0; rank < N_RANKS; rank++)
        free(expected[rank]);
    assert_int_equal(rmdir(folder), 0);
}

int main(void) {
    const struct CMUnitTest tests[] = {cmocka_unit_test(jobs_run_out_of_memory)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
