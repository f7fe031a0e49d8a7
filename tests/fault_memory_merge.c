/*
 * fault_memory_merge.c - fails every allocation in turn while two ranks are merged.
 *
 * Each run must return SUTRA_SYSTEM and leave no file, or write the expected file. The sanitizers detect leaks.
 */
#include "refuse.h"
#include "trace_folder.h"

#include "sutra/merge.h"

#define RANK(ts)                                                                                                         \
    "{\"traceEvents\":[{\"ph\":\"X\",\"cat\":\"cpu_op\",\"name\":\"a\",\"pid\":1,\"tid\":1,\"ts\":1,\"dur\":5},"         \
    "{\"ph\":\"X\",\"cat\":\"kernel\",\"name\":\"ncclAllReduce\",\"pid\":0,\"tid\":7,\"ts\":" ts                         \
    ",\"dur\":2,\"args\":{"                                                                                              \
    "\"stream\":7,\"correlation\":3,\"Collective name\":\"allreduce\",\"dtype\":\"Float\",\"Process Group Name\":\"0\"," \
    "\"Process Group Ranks\":\"[0, 1]\",\"Group size\":2,\"In msg nelems\":8,\"Out msg nelems\":8,\"Seq\":0}}]}"

#define PROCESS(prefix)                                                                                                \
    "{\"ph\":\"X\",\"cat\":\"cuda_runtime\",\"name\":\"a\",\"pid\":\"" prefix                                          \
    " 1\",\"tid\":1,\"ts\":1,\"dur\":5,\"args\":{\"correlation\":1}},"                                                 \
    "{\"ph\":\"X\",\"cat\":\"kernel\",\"name\":\"b\",\"pid\":\"" prefix                                                \
    " 0\",\"tid\":7,\"ts\":7,\"dur\":2,\"args\":{\"correlation\":1}}"
#define RANKS "{\"distributedInfo\":{\"rank\":0},\"traceEvents\":[" PROCESS("[TP0]") "," PROCESS("[TP1]") "]}"

struct merge_fault {
    struct folder folder;
    const struct sutra_selection *selection;
    uint64_t memory;
    char output[96];
    char *expected;
};

static char *read_output(const char *path) {
    char *text = calloc(1, 65536);
    FILE *file = fopen(path, "r");
    if (file) {
        assert_non_null(text);
        assert_true(fread(text, 1, 65535, file) > 0);
        fclose(file);
        return text;
    }
    free(text);
    return NULL;
}

static enum sutra_status merge(void *arg, struct sutra_error *error) {
    const struct merge_fault *fault = arg;
    const struct sutra_context_options options = {.size = sizeof options, .n_threads = 1};
    const struct sutra_merge_options how = {.size = sizeof how, .selection = fault->selection, .memory = fault->memory};
    struct sutra_context *context = NULL;
    struct sutra_merged *merged = NULL;
    enum sutra_status status = sutra_context_create(&options, &context, error);
    if (!status)
        status = sutra_merge(context, fault->folder.list, fault->folder.n, &how, fault->output, &merged, error);
    sutra_merged_free(merged);
    sutra_context_free(context);
    return status;
}

static void check_output(void *arg, long n, enum sutra_status status) {
    struct merge_fault *fault = arg;
    char *text = read_output(fault->output);
    unlink(fault->output);
    if (!text != (status != SUTRA_OK) || (text && strcmp(text, fault->expected) != 0))
        fail_msg("allocation %ld: status %d, and a file %s", n, status, text ? "that is another" : "is missing");
    free(text);
}

static void try_all(const struct sutra_selection *selection, uint64_t memory, bool is_one_file) {
    struct merge_fault fault = {.folder = make_folder(), .selection = selection, .memory = memory};
    struct sutra_error error;
    add_file(&fault.folder, "rank0.json", is_one_file ? RANKS : RANK("3"));
    if (!is_one_file)
        add_file(&fault.folder, "rank1.json", RANK("2"));
    list_files(&fault.folder);
    snprintf(fault.output, sizeof fault.output, "%s/all", fault.folder.name);
    assert_int_equal(merge(&fault, &error), SUTRA_OK);
    fault.expected = read_output(fault.output);
    assert_non_null(fault.expected);
    unlink(fault.output);
    const struct refusable each = {&fault, merge, check_output};
    assert_true(refuse_each(&each, false) > 50);
    assert_true(refuse_each(&each, true) > 50);
    free(fault.expected);
    remove_folder(&fault.folder);
}

static void any_allocation_may_fail(void **state) {
    const struct sutra_selection step = {.size = sizeof step, .min_us = 1, .to_us = 9};
    (void)state;
    try_all(NULL, 0, false);
    try_all(NULL, 1, false); /* nothing is held, and all is read twice */
    try_all(&step, 0, false);
}

static void any_allocation_may_fail_for_several_ranks_in_one_trace(void **state) {
    (void)state;
    try_all(NULL, 0, true);
    try_all(NULL, 1, true);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(any_allocation_may_fail),
        cmocka_unit_test(any_allocation_may_fail_for_several_ranks_in_one_trace),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
