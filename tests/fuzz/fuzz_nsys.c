/*
 * fuzz_nsys.c - fuzzes the readers of profilers' databases: the input is a database of Nsight Systems or rocprofv3, whose
 * tables are made and whose ranks are written as traces, or is rejected with an error. The text of each rank is a trace.
 */
#include "fuzz.h"
#include "fuzz_trace.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
    struct sutra_context *context = new_context(1);
    struct sutra_nsys_options options = {.size = sizeof options, .annotation = size % 2 ? "batch 1" : NULL};
    struct sutra_nsys_rank rank;
    struct sutra_nsys *nsys = NULL;
    struct sutra_device_trace *trace = NULL;
    struct sutra_error error = {0};
    enum sutra_status status = sutra_nsys_parse(context, "input", data, size, &options, &nsys, &error);
    check_outcome(status, &error, nsys);
    if (nsys) {
        for (int id = 0; id < SUTRA_NSYS_N_TABLES; id++)
            check(sutra_result_table(SUTRA_RESULT(nsys), (uint32_t)id, NULL), "all tables are available");
        for (uint32_t i = 0; i < 3 && sutra_nsys_rank(nsys, i, &rank); i++)
            check(sutra_nsys_write_trace(context, nsys, rank.rank, "/dev/null", NULL, &error) == SUTRA_OK,
                  "a rank is written");
        bool has_one = sutra_nsys_rank(nsys, 0, &rank) && !sutra_nsys_rank(nsys, 1, &rank);
        status = sutra_device_trace_parse(context, "input", data, size, &trace, &error);
        check_outcome(status, &error, trace);
        check(has_one == (trace != NULL), "a report with one rank is a device trace");
    }
    sutra_device_trace_free(trace);
    sutra_nsys_free(nsys);
    sutra_context_free(context);
    return 0;
}
