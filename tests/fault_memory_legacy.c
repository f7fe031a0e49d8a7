/*
 * fault_memory_legacy.c - fails every allocation in turn while a pair is read, linked by names (link-legacy) and
 * written, in each mode.
 *
 * Each run must return SUTRA_SYSTEM, or the same result as a run without failures. The sanitizers detect leaks.
 */
#include "link_case.h"
#include "refuse.h"

#define FLAT(id, parent, name)                                                                                         \
    "{'name':'" name "','id':" id ",'parent':" parent ",'tid':'t','inputs':[],'input_shapes':[],'input_types':[],"     \
    "'outputs':[],'output_shapes':[],'output_types':[]}"
#define RUN(name, ts, dur, index) EVENT("cpu_op", name, "7", ts, dur, "'Ev Idx':" index ",'Record function id':" index)

/* Threads of the old name, three iterations, one of whose operators hangs below another; escapes. */
static const char host_source[] =
    "{'schema':'1.0.1','pid':1,'nodes':[" FLAT("1", "1", "[pytorch|profiler|execution_graph|process]") "," FLAT("2", "1", "[pytorch|profiler|execution_graph|thread]") "," FLAT(
        "3", "2", "mark") "," FLAT("4", "2",
                                   "a\\u0062") "," FLAT("5", "2",
                                                        "mark") "," FLAT("6", "4",
                                                                         "c") "," FLAT("7", "2",
                                                                                       "d") "," FLAT("8", "2",
                                                                                                     "mark") "]}";
/* The formatter would break between the arguments, not between the events. */
/* clang-format off */
static const char device_source[] =
    "{'traceEvents':["
    RUN("c", "10", "5.5", "1") "," RUN("d", "20", "5", "'8'") "," RUN("mark", "30", "5", "3") ","
    EVENT("cuda_runtime", "cudaLaunchKernel", "7", "21", "1", "'External id':123456789012345678901") ","
    EVENT("kernel", "k", "1", "50", "5", "'External id':123456789012345678901") ","
    EVENT("kernel", "l", "1", "51", "5", "'External id':9") ","
    "{'ph':'s','cat':'ac2g','name':'ac2g','id':9,'ts':90,'pid':1,'tid':7},"
    EVENT("cpu_op", "e", "8", "31", "1", "") "," /* more steps, of which a window is chosen */
    RUN("ab", "110", "5.5", "11") "," RUN("c", "112", "5.5", "12") "," RUN("d", "120", "5", "13") ","
    RUN("ab", "210", "5.5", "14") "," RUN("c", "212", "5.5", "15") "," RUN("d", "220", "5", "16") ","
    RUN("ab", "310", "5.5", "17") "," RUN("c", "312", "5.5", "18") "," RUN("d", "320", "5", "19") "]}";
/* clang-format on */

enum way { WAY_EXACT, WAY_APPROXIMATE, WAY_POSITIONAL, WAY_ADVICE, N_WAYS };

struct run {
    char *host, *device;
    enum way way;
    unsigned n_threads;
    char path[64];
    char *expected; /* of a run in which nothing failed */
};

static void take_line(void *arg, enum sutra_legacy_line kind, const char *text, size_t length) {
    (void)arg;
    (void)kind;
    assert_int_equal(memchr(text, '\n', length) != NULL, false);
}

static enum sutra_status link_with(struct sutra_context *context, const struct run *run, struct sutra_error *error) {
    struct sutra_legacy_options options = {.size = sizeof options,
                                           .annotation = run->way == WAY_EXACT ? "none" : "mark",
                                           .exact = run->way == WAY_EXACT,
                                           .positional = run->way == WAY_POSITIONAL,
                                           .line = take_line};
    struct sutra_host_trace *host = NULL;
    struct sutra_device_trace *device = NULL;
    struct sutra_legacy *legacy = NULL;
    struct sutra_advice advice = {.size = sizeof advice};
    enum sutra_status status = sutra_host_trace_parse(context, "host", run->host, strlen(run->host), &host, error);
    if (!status)
        status = sutra_device_trace_parse(context, "device", run->device, strlen(run->device), &device, error);
    if (!status && run->way == WAY_ADVICE)
        status = sutra_advise(context, host, device, &advice, error);
    else if (!status)
        status = sutra_legacy_link(context, host, device, &options, NULL, &legacy, error);
    if (!status && run->way == WAY_POSITIONAL)
        status = sutra_legacy_write_durations(context, legacy, run->path, NULL, error);
    else if (!status && run->way != WAY_ADVICE)
        status = sutra_legacy_write(context, legacy, run->path, NULL, error);
    sutra_legacy_free(legacy);
    sutra_device_trace_free(device);
    sutra_host_trace_free(host);
    return status;
}

static enum sutra_status link_once(void *arg, struct sutra_error *error) {
    const struct run *run = arg;
    struct sutra_context_options options = {.size = sizeof options, .n_threads = run->n_threads};
    struct sutra_context *context = NULL;
    enum sutra_status status = sutra_context_create(&options, &context, error);
    if (!status)
        status = link_with(context, run, error);
    sutra_context_free(context);
    return status;
}

static void check(void *arg, long n, enum sutra_status status) {
    const struct run *run = arg;
    if (status == SUTRA_OK && run->way != WAY_ADVICE) {
        char *text = file_text(run->path);
        if (strcmp(text, run->expected) != 0)
            fail_msg("way %d, allocation %ld: another output", run->way, n);
        free(text);
    }
    unlink(run->path);
}

static void any_allocation_may_fail_in_any_way_of_linking(void **state) {
    (void)state;
    for (int way = 0; way < N_WAYS; way++) {
        struct run run = {.host = double_quotes(host_source),
                          .device = double_quotes(device_source),
                          .way = (enum way)way,
                          .n_threads = 1};
        struct sutra_error error;
        snprintf(run.path, sizeof run.path, "%s/sutra_fault_%d.json", P_tmpdir, (int)getpid());
        if (link_once(&run, &error))
            fail_msg("way %d: %s", way, error.message);
        run.expected = way == WAY_ADVICE ? NULL : file_text(run.path);
        unlink(run.path);
        assert_true(refuse_each(&(struct refusable){&run, link_once, check}, false) > 100);
        run.n_threads = 2;
        assert_true(refuse_each(&(struct refusable){&run, link_once, check}, true) > 100);
        free(run.expected);
        free(run.host);
        free(run.device);
    }
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(any_allocation_may_fail_in_any_way_of_linking),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
