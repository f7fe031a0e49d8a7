/*
 * fuzz_peaks.c - fuzzes files of device peaks (--peaks): they give positive rates and a name, or an error.
 */
#include <math.h>
#include <unistd.h>

#include "facts/gpu_peaks.h"
#include "fuzz.h"
#include "fuzz_trace.h"

static void check_peaks(const struct device_peaks *peaks, const char *name) {
    check(name && peaks->name == name, "peaks have a name");
    check(peaks->bytes_per_s > 0 && isfinite(peaks->bytes_per_s), "and a rate of memory");
    for (int unit = 0; unit < 2; unit++)
        for (int precision = 0; precision < N_PRECISIONS; precision++) {
            double figure = peaks->flops_per_s[unit][precision];
            check(figure >= 0 && isfinite(figure), "figures are above 0, or 0 where there is none");
        }
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
    struct sutra_context *context = new_context(1);
    struct device_peaks peaks = {0};
    struct sutra_error error = {0};
    char *name = NULL;
    char path[] = P_tmpdir "/sutra_fuzz_XXXXXX";
    int file = mkstemp(path);
    check(file >= 0 && write(file, data, size) == (ssize_t)size, "a file can be made");
    close(file);
    enum sutra_status status = device_peaks_read(context, path, &peaks, &name, &error);
    check_outcome(status, &error, name);
    if (name)
        check_peaks(&peaks, name);
    free(name);
    sutra_context_free(context);
    unlink(path);
    return 0;
}
