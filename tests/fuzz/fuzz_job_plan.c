/*
 * fuzz_job_plan.c - fuzzes the plan of a job with the records of two ranks: it is read, or rejected with an error.
 */
#include "fuzz_job.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
    fuzz_record(0);
    fuzz_record(1);
    fuzz_file(".job/plan", data, size);
    enum sutra_status status = fuzz_job_finish();
    check(status == SUTRA_OK || status == SUTRA_DATA, "a plan is read or malformed");
    return 0;
}
