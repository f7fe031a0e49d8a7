/*
 * fuzz_calibration.c - fuzzes the file of `sutra devices --calibrate`: it gives texts and numbers in their ranges, or an
 * error. A calibration of texts that a terminal does not interpret is what messages rely on.
 */
#include "facts/calibration.h"
#include "fuzz.h"
#include "read/source.h"

static void check_text(const char *text, size_t size) {
    size_t length = strnlen(text, size);
    check(length < size, "a text ends");
    for (size_t i = 0; i < length; i++)
        check(text[i] >= ' ' && text[i] <= '~', "a text is printable ASCII");
}

static void check_min_ops(uint64_t n_ops) {
    check(n_ops == NEVER_FASTER || n_ops <= UINT32_MAX, "a number of operators is one of rows");
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
    struct calibration calibration;
    struct sutra_error error = {.status = SUTRA_OK};
    char *bytes = padded_copy(data, size);
    _Static_assert(FUZZ_PADDING >= SOURCE_PADDING, "the parser may read so far");
    memset(&calibration, 0xA5, sizeof calibration);
    enum sutra_status status = calibration_parse(bytes, size, &calibration, &error);
    free(bytes);
    if (status) {
        check(status == SUTRA_DATA && error.status == SUTRA_DATA, "a malformed file is an error of data");
        check(error.offset <= size, "its byte is in the file");
        check(calibration.n_gpus == UINT32_C(0xA5A5A5A5), "the calibration is unchanged");
        return 0;
    }
    check_text(calibration.version, sizeof calibration.version);
    check_text(calibration.date, sizeof calibration.date);
    check_text(calibration.cpu, sizeof calibration.cpu);
    check_text(calibration.driver, sizeof calibration.driver);
    check(calibration.n_gpus <= CALIBRATION_GPUS_MAX, "GPUs have a limit");
    for (uint32_t i = 0; i < calibration.n_gpus; i++) {
        check_text(calibration.gpus[i].name, sizeof calibration.gpus[i].name);
        check_min_ops(calibration.gpus[i].min_ops);
        check_min_ops(calibration.gpus[i].min_open_ops);
    }
    return 0;
}
