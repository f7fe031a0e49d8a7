/*
 * fault_memory_snapshot.c - runs out of memory at every allocation, one after the other, while a pickle, a JSON snapshot
 * and a Kineto trace are analyzed, compared, and written as JSON and tables.
 *
 * Each such run must end with SUTRA_SYSTEM and leave no file, or with the expected files; the sanitizers detect leaks.
 */
#include "fault_files.h"

#define FRAME(name, file) "{'name':'" name "','filename':'" file "','line':3}"
#define FRAMES            "'frames':[" FRAME("at::_ops::mm::call(x)", "??") "," FRAME("f", "/h/train.py") "]"
#define EVENT_OF(action, address, size, us)                                                                            \
    "{'action':'" action "','addr':" address ",'size':" size ",'time_us':" us "," FRAMES "}"
#define STEP(n, start, end)                                                                                            \
    "{'name':'ProfilerStep#" n "','stage':'START','time_us':" start "},"                                               \
    "{'name':'ProfilerStep#" n "','stage':'END','time_us':" end "}"
#define GROWS(n) EVENT_OF("alloc", n "000", "2000000", n "0")

static const char snapshot_source[] =
    "{'segments':[{'address':4096,'total_size':300000000,'segment_type':'large','segment_pool_id':[0,0],'blocks':["
    "{'size':512,'state':'active_allocated','requested_size':500," FRAMES "},{'size':99,'state':'inactive'}]}],"
    "'device_traces':[[" EVENT_OF("segment_alloc", "1", "4096", "9") "," GROWS("1") "," GROWS("2") "," GROWS("3") "," GROWS("4") "," GROWS(
        "5") "," EVENT_OF("free_completed", "1000", "2000000",
                          "60") "," EVENT_OF("segment_free", "1", "4096",
                                             "61") "," EVENT_OF("oom", "7", "9999999",
                                                                "62") "]],"
                                                                      "'external_annotations':[" STEP("1", "9", "11") "," STEP(
                                                                          "2", "19",
                                                                          "21") "," STEP("3", "29",
                                                                                         "31") "," STEP("4", "39",
                                                                                                        "41") "," STEP("5",
                                                                                                                       "49",
                                                                                                                       "51") "],'allocator_settings':{'a':'b','c':1}}";

#define MEMORY_EVENT(ts, bytes, address)                                                                               \
    "{'ph':'i','name':'[memory]','pid':1,'tid':1,'ts':" ts ",'args':{'Bytes':" bytes ",'Addr':" address                \
    ",'Device Type':1,'Device Id':0,'Total Reserved':128}}"
#define SPAN(category, name, ts, dur)                                                                                  \
    "{'ph':'X','cat':'" category "','name':'" name "','pid':1,'tid':1,'ts':" ts ",'dur':" dur "}"
static const char kineto_source[] = "{'traceEvents':[" SPAN("cpu_op", "aten::mm", "1", "9") "," SPAN(
    "python_function", "/h/t.py(3): f", "1",
    "9") "," SPAN("user_annotation", "Optimizer.step#SGD.step", "20",
                  "9") "," MEMORY_EVENT("2", "64", "7") "," MEMORY_EVENT("4", "-64", "7") "," MEMORY_EVENT("22", "128",
                                                                                                           "8") "]}";

/* {"segments": [], "device_traces": [[{"action": "alloc", "size": 5}, {"action": "alloc", "size": 7}]], "z": "---..."}:
 * events are read without objects. */
static const char pickle_source[] =
    "\x80\x04}\x94(\x8c\x08segments\x94]\x94\x8c\x0d"
    "device_traces\x94]\x94]\x94(}\x94(\x8c\6action\x94\x8c\5alloc\x94\x8c\4size\x94K\5u}\x94(h\7h\x08h\x09K\7uea\x8c"
    "\1z\x94\x8c\x28----------------------------------------u.";

struct texts {
    char *snapshot, *kineto;
};

static enum sutra_status analyze(struct sutra_context *context, const struct fault_files *files, const char *bytes,
                                 size_t size, int first, struct sutra_error *error) {
    const struct sutra_memory_options options = {.size = sizeof options, .tables = true};
    struct sutra_memory *memory = NULL;
    enum sutra_status status = sutra_memory_parse(context, "input", bytes, size, &options, &memory, error);
    if (!status)
        status = sutra_memory_write_json(context, memory, files->path[first], NULL, error);
    if (!status)
        status = sutra_table_write(context, sutra_result_table(SUTRA_RESULT(memory), SUTRA_MEMORY_PEAK, NULL),
                                   SUTRA_TABLE_CSV, files->path[first + 1], NULL, error);
    sutra_memory_free(memory);
    return status;
}

static enum sutra_status run_once(const struct fault_files *files, struct sutra_error *error) {
    const struct texts *texts = files->of;
    struct sutra_context_options options = {.size = sizeof options, .n_threads = 1, .device = SUTRA_DEVICE_CPU};
    struct sutra_context *context = NULL;
    enum sutra_status status = sutra_context_create(&options, &context, error);
    if (!status)
        status = analyze(context, files, texts->snapshot, strlen(texts->snapshot), 0, error);
    if (!status)
        status = analyze(context, files, texts->kineto, strlen(texts->kineto), 2, error);
    if (!status)
        status = analyze(context, files, pickle_source, sizeof pickle_source - 1, 4, error);
    sutra_context_free(context);
    return status;
}

static void any_allocation_may_fail(void **state) {
    (void)state;
    const struct texts texts = {double_quotes(snapshot_source), double_quotes(kineto_source)};
    struct fault_files files = {.n = 6, .of = &texts, .work = run_once};
    files_expect(&files);
    assert_non_null(strstr(files.expected[0], "\"growing\": [{\"frame\": \"train.py:3:f\""));
    assert_non_null(strstr(files.expected[0], "\"rule\": \"oom\""));
    assert_non_null(strstr(files.expected[2], "optimizer_state"));
    assert_non_null(strstr(files.expected[4], "\"n_events\": 2"));
    files_refuse_each(&files, 50);
    free(texts.snapshot);
    free(texts.kineto);
}

int main(void) {
    const struct CMUnitTest tests[] = {cmocka_unit_test(any_allocation_may_fail)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
