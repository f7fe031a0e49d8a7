/*
 * info_pair.c - prints the linking method for a pair of traces, as text or JSON.
 */
#include "cli/info_pair.h"

#include <inttypes.h>
#include <stdio.h>

#include "cli/tool/advice.h"
#include "cli/tool/figures.h"
#include "cli/tool/json_text.h"
#include "cli/tool/screen.h"

/* Room for two file names and an annotation. */
#define COMMAND_MAX 9000

static const char *const linkers[] = {"none", "link", "link-legacy --exact-match", "link-legacy"};

static void print_reason(const struct sutra_advice *advice) {
    printf("%16s  host nodes with a record-function id\n", count_text(advice->n_host_rf).text);
    if (advice->n_host_rf_zero && !advice->n_host_rf)
        printf("%16s    with record-function id 0 (not linkable)\n", count_text(advice->n_host_rf_zero).text);
    printf("%16s  device trace operators with a record-function id\n", count_text(advice->n_device_rf).text);
    if (advice->n_device_rf_zero && !advice->n_device_rf)
        printf("%16s    with record-function id 0 (not linkable)\n", count_text(advice->n_device_rf_zero).text);
    printf("%16s  host nodes with an id in common with the device trace\n", count_text(advice->n_common_rf).text);
    if (advice->linker == SUTRA_LINKER_IDS || advice->linker == SUTRA_LINKER_NONE)
        return;
    printf("%16s  of %s host operators match by name and %s\n", count_text(advice->n_matched).text,
           count_text(advice->n_host_ops).text,
           advice->linker == SUTRA_LINKER_EXACT ? "position, one to one" : "position in the call tree");
    printf("%16s  GPU operators are linked by this match\n", count_text(advice->n_gpu_nodes).text);
}

static void print_text(const struct sutra_advice *advice, const char *command) {
    print_reason(advice);
    if (*advice->cause)
        wrapped_print(advice->cause, printf("%s:", advice->misfit ? "warning" : "cause"), 2);
    if (advice->linker == SUTRA_LINKER_NONE)
        printf("these traces cannot be linked: they have no ids in common,\n  and too few operators match by name\n");
    else
        printf("to link them%s:\n  %s\n", advice->misfit ? " despite the warning" : "", command);
}

static void print_json(const struct sutra_advice *advice, const char *command) {
    printf("{\n  \"linker\": \"%s\",\n  \"command\": ", linkers[advice->linker]);
    json_string_print(stdout, command);
    printf(",\n  \"annotation\": ");
    json_string_print(stdout, advice->annotation);
    printf(",\n  \"host_rf_ids\": %" PRIu64 ",\n  \"device_rf_ids\": %" PRIu64 ",\n  \"common_rf_ids\": %" PRIu64,
           advice->n_host_rf, advice->n_device_rf, advice->n_common_rf);
    printf(",\n  \"host_rf_zeros\": %" PRIu64 ",\n  \"device_rf_zeros\": %" PRIu64 ",\n  \"fits\": %s,\n  \"cause\": ",
           advice->n_host_rf_zero, advice->n_device_rf_zero, advice->misfit ? "false" : "true");
    json_string_print(stdout, advice->cause);
    printf(",\n  \"host_ops\": %" PRIu64 ",\n  \"matched\": %" PRIu64 ",\n  \"gpu_nodes\": %" PRIu64 "\n}\n",
           advice->n_host_ops, advice->n_matched, advice->n_gpu_nodes);
}

static void show(const struct sutra_advice *advice, const char *host, const char *device, bool json) {
    char command[COMMAND_MAX] = "";
    advice_command(advice, host, device, NULL, command, sizeof command);
    (json ? print_json : print_text)(advice, command);
}

int info_pair_show(const char *host, const char *device, const struct job_values *values, bool json) {
    struct job job = job_start(values, !values->quiet, !values->quiet, false);
    struct sutra_host_trace *host_trace = NULL;
    struct sutra_device_trace *device_trace = NULL;
    struct sutra_advice advice = {.size = sizeof advice};
    struct sutra_error error;
    enum sutra_status status = job_open(&job, NULL, &error);
    if (!status)
        status = sutra_host_trace_read(job.context, host, &host_trace, &error);
    if (!status)
        status = sutra_device_trace_read(job.context, device, &device_trace, &error);
    if (!status)
        status = sutra_advise(job.context, host_trace, device_trace, &advice, &error);
    progress_clear(&job.watch.progress);
    if (!status)
        show(&advice, host, device, json);
    sutra_device_trace_free(device_trace);
    sutra_host_trace_free(host_trace);
    return job_end(&job, status, &error);
}
