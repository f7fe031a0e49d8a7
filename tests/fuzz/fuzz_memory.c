/*
 * fuzz_memory.c - fuzzes the memory analysis: the input is a memory snapshot or a Kineto trace with memory events;
 * tables and JSON are written.
 */
#include "fuzz.h"
#include "fuzz_trace.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
    struct sutra_context *context = new_context(1);
    struct sutra_memory_options options = {.size = sizeof options, .tables = true};
    struct sutra_memory *memory = NULL;
    struct sutra_error error = {0};
    enum sutra_status status = sutra_memory_parse(context, "input", data, size, &options, &memory, &error);
    check_outcome(status, &error, memory);
    if (memory) {
        struct sutra_memory_finding finding;
        for (int id = 0; id < SUTRA_MEMORY_COMPARISON; id++)
            check(sutra_result_table(SUTRA_RESULT(memory), (uint32_t)id, NULL), "all tables are available");
        for (size_t i = 0; sutra_memory_finding(memory, i, &finding); i++)
            check(finding.text[0], "a finding has a text");
        check(sutra_memory_write_json(context, memory, "/dev/null", NULL, &error) == SUTRA_OK, "results are JSON");
    }
    sutra_memory_free(memory);
    sutra_context_free(context);
    return 0;
}
