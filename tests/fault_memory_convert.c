/*
 * fault_memory_convert.c - fails every allocation in turn while ET+ is converted and written, together with the other
 * files that ASTRA-sim needs.
 *
 * Each run must return SUTRA_SYSTEM, or write the expected files.
 */
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "link_case.h"
#include "refuse.h"

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
static const char source[] =
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

struct conversion_case {
    char *text;
    char folder[64], path[96];
    unsigned n_threads;
    bool compat;
    uint64_t n_bytes; /* of the file, once it is known */
};

static enum sutra_status convert_with(struct sutra_context *context, struct conversion_case *run, uint64_t *n_bytes,
                                      struct sutra_error *error) {
    const struct sutra_convert_options options = {.size = sizeof options, .compat = run->compat};
    struct sutra_converted *converted = NULL;
    enum sutra_status status =
        sutra_convert_parse(context, "plus", run->text, strlen(run->text), &options, &converted, error);
    if (!status && !run->compat)
        status = sutra_converted_write_astra(context, converted, run->folder, 0, error);
    if (!status)
        status = sutra_converted_write(context, converted, run->path, n_bytes, error);
    sutra_converted_free(converted);
    return status;
}

static enum sutra_status convert_once(void *arg, struct sutra_error *error) {
    struct conversion_case *run = arg;
    struct sutra_context_options options = {.size = sizeof options, .n_threads = run->n_threads};
    struct sutra_context *context = NULL;
    uint64_t n_bytes = 0;
    enum sutra_status status = sutra_context_create(&options, &context, error);
    if (!status)
        status = convert_with(context, run, &n_bytes, error);
    if (!status && run->n_bytes)
        assert_int_equal(n_bytes, run->n_bytes);
    if (!status)
        run->n_bytes = n_bytes;
    sutra_context_free(context);
    return status;
}

static void check_file(void *arg, long n, enum sutra_status status) {
    const struct conversion_case *run = arg;
    struct stat info;
    if (status && stat(run->path, &info) == 0)
        fail_msg("allocation %ld left a file", n);
    unlink(run->path);
}

static void without_memory_nothing_is_left(void **state) {
    (void)state;
    struct conversion_case run = {.text = double_quotes(source), .folder = "/tmp/sutra_convert_XXXXXX"};
    assert_non_null(mkdtemp(run.folder));
    snprintf(run.path, sizeof run.path, "%s/out.et", run.folder);
    for (unsigned i = 0; i < 4; i++) {
        struct sutra_error error;
        run.n_threads = 1 + i % 2;
        run.compat = false;
        run.n_bytes = 0;
        assert_int_equal(convert_once(&run, &error), SUTRA_OK);
        unlink(run.path);
        assert_true(refuse_each(&(struct refusable){&run, convert_once, check_file}, i / 2) > 50);
    }
    static const char *const names[] = {"comm_group.json", "system.json", "network.yml", "memory.json"};
    for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
        snprintf(run.path, sizeof run.path, "%s/%s", run.folder, names[i]);
        unlink(run.path);
    }
    assert_int_equal(rmdir(run.folder), 0);
    free(run.text);
}

int main(void) {
    const struct CMUnitTest tests[] = {cmocka_unit_test(without_memory_nothing_is_left)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
