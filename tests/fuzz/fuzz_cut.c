/*
 * fuzz_cut.c - fuzzes `cut`: the input is a device trace that is cut in several ways. The output is a trace with the
 * number of kept events, and the same for any number of threads. A selection of everything returns the input. A second
 * cut changes nothing unless the selection depends on the cut. In Perfetto's format, the output is the same for any
 * number of threads.
 */
#include <unistd.h>

#include "context/context.h"
#include "fuzz.h"
#include "fuzz_trace.h"

struct written {
    char *bytes;
    size_t size;
    uint64_t n_kept;
};

static char path[64], perfetto_path[72];

/* The output of a cut; bytes is NULL if the input is rejected or has no such step. */
static struct written cut(unsigned n_threads, const void *data, size_t size, const struct sutra_selection *selection,
                          const char *to) {
    struct written written = {0};
    struct sutra_context *context = new_context(n_threads);
    struct sutra_device_trace *trace = NULL;
    struct sutra_cut *made = NULL;
    struct sutra_error error = {0};
    context->keeps_processes = true; /* a part of a trace may have other ranks */
    if (!sutra_device_trace_parse(context, "device", data, size, &trace, &error)) {
        enum sutra_status status = sutra_cut_run(context, trace, NULL, selection, &made, &error);
        check_outcome(status, &error, made);
    }
    if (made) {
        uint64_t n_bytes;
        struct sutra_cut_report report = {.size = sizeof report};
        sutra_cut_report(made, &report);
        check(sutra_cut_write(context, made, to, &n_bytes, &error) == SUTRA_OK, "it can be written");
        written = (struct written){new_bytes(n_bytes), n_bytes, report.n_events_kept};
        FILE *file = fopen(to, "r");
        check(file && fread(written.bytes, 1, n_bytes, file) == n_bytes, "as much is there as was written");
        fclose(file);
        unlink(to);
    }
    sutra_cut_free(made);
    sutra_device_trace_free(trace);
    sutra_context_free(context);
    return written;
}

/* Reads the output. */
static void check_written(const struct written *written) {
    struct sutra_context *context = new_context(1);
    struct sutra_device_trace *trace = NULL;
    struct sutra_device_summary summary = {.size = sizeof summary};
    struct sutra_error error;
    context->keeps_processes = true;
    check(sutra_device_trace_parse(context, "cut", written->bytes, written->size, &trace, &error) == SUTRA_OK,
          "what is cut is a trace");
    check(sutra_device_trace_summary(context, trace, &summary, &error) == SUTRA_OK, "and has a summary");
    check(summary.n_events == written->n_kept, "with the events that are kept");
    sutra_device_trace_free(trace);
    sutra_context_free(context);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
    static const struct sutra_selection selections[] = {
        {.size = sizeof *selections},
        {.size = sizeof *selections, .step = "1-3"},
        {.size = sizeof *selections, .from_us = 1, .to_us = 100, .no_python = true},
        {.size = sizeof *selections, .from_us = 3, .to_us = 50, .min_us = 1, .overlap = true},
        {.size = sizeof *selections, .only = SUTRA_ONLY_GPU},
        {.size = sizeof *selections, .only = SUTRA_ONLY_CPU, .min_us = 2},
        {.size = sizeof *selections, .only = SUTRA_ONLY_COMMUNICATION},
    };
    if (!path[0])
        snprintf(path, sizeof path, "/tmp/fuzz_cut.%ld", (long)getpid());
    snprintf(perfetto_path, sizeof perfetto_path, "%s.pftrace", path);
    for (size_t i = 0; i < sizeof selections / sizeof *selections; i++) {
        struct written one = cut(1, data, size, &selections[i], path);
        if (!one.bytes)
            continue;
        struct written two = cut(2, data, size, &selections[i], path);
        check(two.bytes && same_bytes(one.bytes, one.size, two.bytes, two.size), "the same for any number of threads");
        check_written(&one);
        struct written timelines[2];
        for (unsigned k = 0; k < 2; k++)
            timelines[k] = cut(1 + k, data, size, &selections[i], perfetto_path);
        check(same_bytes(timelines[0].bytes, timelines[0].size, timelines[1].bytes, timelines[1].size),
              "the same timeline for any number of threads");
        free(timelines[0].bytes);
        free(timelines[1].bytes);
        if (i == 0)
            check(size > 1 &&
                      (data[0] == 0x1f || data[0] == 0x28 || same_bytes(one.bytes, one.size, (const char *)data, size)),
                  "all of it is the input");
        /* Except for B events, which end with the trace if they have no E event. */
        if (i >= 4 && !memmem(data, size, "\"B\"", 3)) {
            struct written again = cut(1, one.bytes, one.size, &selections[i], path);
            check(again.bytes && same_bytes(one.bytes, one.size, again.bytes, again.size), "what was cut stays");
            free(again.bytes);
        }
        free(one.bytes);
        free(two.bytes);
    }
    return 0;
}
