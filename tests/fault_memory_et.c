/*
 * fault_memory_et.c - fails every allocation in turn while a Chakra file is read, checked, summarized, drawn and
 * written as JSON.
 *
 * Each run must return SUTRA_SYSTEM and leave no file, or write the expected files. The sanitizers detect leaks.
 */
#include "et_text.h"
#include "fault_files.h"

enum { FILE_LINES, FILE_DOT, FILE_GRAPHML, N_FILES };

static const char lines[] =
    "{'attr': [{'name': 'schema', 'docString': 'd', 'stringVal': '1'}]}\n"
    "{'id': '1', 'name': 'a\\u00e9', 'type': 'METADATA_NODE', 'inputs': {'values': '[\\u0027[{\\u0022pg_name\\u0022: "
    "\\u00223\\u0022, \\u0022ranks\\u0022: [0, 1]}]\\u0027]'}, 'attr': [{'name': 'x', 'int64List': {'values': [1]}}]}\n"
    "{'id': '2', 'type': 'COMM_COLL_NODE', 'dataDeps': [1], 'attr': [{'name': 'pg_name', 'stringVal': 'tp'}, "
    "{'name': 'comm_type', 'int64Val': 0}, {'name': 'comm_size', 'int64Val': 8}]}\n"
    "{'id': '3', 'type': 'COMM_SEND_NODE', 'ctrlDeps': [2, 9], 'attr': [{'name': 'comm_dst', 'int32Val': 0}]}\n"
    "{'id': '3', 'type': 'COMP_NODE', 'dataDeps': [3]}\n";

static enum sutra_status check_twice(struct sutra_context *context, const struct sutra_et *et,
                                     struct sutra_error *error) {
    struct sutra_et_check *check = NULL;
    enum sutra_status status = sutra_et_check_create(context, NULL, &check, error);
    if (!status)
        status = sutra_et_check_add(check, et, error);
    if (!status)
        status = sutra_et_check_add(check, et, error);
    if (!status)
        status = sutra_et_check_finish(check, error);
    sutra_et_check_free(check);
    return status;
}

static enum sutra_status draw_both(struct sutra_context *context, const struct sutra_et *et,
                                   const struct fault_files *files, struct sutra_error *error) {
    const struct sutra_et_draw_options around = {.size = sizeof around, .node = 2, .depth = 2};
    const struct sutra_et_draw_options all = {.size = sizeof all, .collectives = true};
    enum sutra_status status = sutra_et_draw(context, et, &around, SUTRA_ET_DOT, files->path[FILE_DOT], NULL, error);
    return status ? status : sutra_et_draw(context, et, &all, SUTRA_ET_GRAPHML, files->path[FILE_GRAPHML], NULL, error);
}

static enum sutra_status work_on(struct sutra_context *context, struct sutra_et *et, const struct fault_files *files,
                                 struct sutra_error *error) {
    struct sutra_et_info info = {.size = sizeof info};
    enum sutra_status status = sutra_et_info(context, et, &info, error);
    if (!status)
        status = check_twice(context, et, error);
    if (!status)
        status = sutra_et_write_json(context, et, SUTRA_ET_LINES, files->path[FILE_LINES], NULL, error);
    return status ? status : draw_both(context, et, files, error);
}

static enum sutra_status run_with(struct sutra_context *context, const struct fault_files *files,
                                  struct sutra_error *error) {
    const struct buffer *bytes = files->of;
    struct sutra_et *et = NULL;
    enum sutra_status status = sutra_et_parse(context, "a.0.et", bytes->bytes, bytes->length, NULL, &et, error);
    if (!status)
        status = work_on(context, et, files, error);
    sutra_et_free(et);
    return status;
}

static enum sutra_status run_once(const struct fault_files *files, struct sutra_error *error) {
    struct sutra_context_options options = {.size = sizeof options, .n_threads = 1, .device = SUTRA_DEVICE_CPU};
    struct sutra_context *context = NULL;
    enum sutra_status status = sutra_context_create(&options, &context, error);
    if (!status)
        status = run_with(context, files, error);
    sutra_context_free(context);
    return status;
}

static void any_allocation_may_fail(void **state) {
    (void)state;
    struct buffer bytes = et_encode(lines);
    struct fault_files files = {.n = N_FILES, .of = &bytes, .work = run_once};
    files_expect(&files);
    assert_non_null(strstr(files.expected[FILE_LINES], "COMM_SEND_NODE"));
    files_refuse_each(&files, 50);
    buffer_free(&bytes);
}

int main(void) {
    const struct CMUnitTest tests[] = {cmocka_unit_test(any_allocation_may_fail)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
