/*
 * advise.c - sutra_advise(): which way of linking fits a pair of traces.
 *
 * Ids if both traces have some in common, else the best of a few matches by name. The annotations to try are common
 * ones and the names of the device trace's user annotations, at most MAX_TRIES. Cost: one match per try; the traces
 * are not read again.
 */
#include <stdio.h>
#include <string.h>

#include "base/error.h"
#include "base/options.h"
#include "facts/names.h"
#include "legacy/legacy.h"
#include "link/link.h"

#define MAX_TRIES 8

/* Minimum share of matched host operators. */
#define SHARE_MIN 0.5

static enum sutra_status count_ids(struct sutra_context *context, const struct sutra_host_trace *host,
                                   const struct sutra_device_trace *device, struct sutra_advice *advice,
                                   struct sutra_error *error) {
    struct arena scratch = {0};
    value_key *keys = arena_alloc(&scratch, device->events.n, sizeof *keys);
    struct key_index index = {0};
    row_t n = 0;
    if (!keys)
        return error_memory(error);
    for (row_t i = 0; i < device->events.n; i++)
        if (key_is_value(device->events.rf[i]) && device->events.rf[i] != 0)
            keys[n++] = device->events.rf[i];
    enum sutra_status status = key_index_build(&index, &context->engine, keys, n, KEY_FIRST, NULL, error);
    advice->n_device_rf = n;
    for (row_t i = 0; i < host->nodes.n && !status; i++) {
        value_key rf = host->nodes.rf[i];
        if (!key_is_value(rf) || rf == 0)
            continue;
        advice->n_host_rf++;
        advice->n_common_rf += key_index_find(&index, rf) != ROW_NONE;
    }
    key_index_free(&index);
    arena_free(&scratch);
    return status;
}

/* Different annotations to try; the texts belong to the trace. */
struct tries {
    const char *text[MAX_TRIES];
    size_t n;
};

static void add_try(struct tries *tries, const char *text) {
    for (size_t i = 0; i < tries->n; i++)
        if (strcmp(tries->text[i], text) == 0)
            return;
    if (tries->n < MAX_TRIES && *text && strlen(text) < sizeof(((struct sutra_advice *)0)->annotation))
        tries->text[tries->n++] = text;
}

/* Matches with one annotation, and keeps the result if it is the best so far. */
static enum sutra_status try_annotation(struct sutra_context *context, const struct sutra_host_trace *host,
                                        const struct sutra_device_trace *device, const char *annotation,
                                        struct sutra_advice *advice, struct sutra_error *error) {
    const struct sutra_legacy_options options = {
        .size = sizeof options, .annotation = annotation, .min_match = SHARE_MIN};
    struct sutra_legacy_report report = {.size = sizeof report};
    struct sutra_legacy *legacy = NULL;
    enum sutra_status status = legacy_link(context, host, device, &options, &report, &legacy, error);
    if (status)
        return status == SUTRA_SYSTEM ? status : SUTRA_OK;
    sutra_legacy_free(legacy);
    enum sutra_linker linker = report.aligned ? SUTRA_LINKER_APPROXIMATE : SUTRA_LINKER_EXACT;
    bool better = advice->linker == SUTRA_LINKER_NONE || linker < advice->linker ||
                  (linker == advice->linker && (double)report.n_matched * (double)advice->n_host_ops >
                                                   (double)advice->n_matched * (double)report.n_host_ops);
    if (!better)
        return SUTRA_OK;
    advice->linker = linker;
    advice->n_host_ops = report.n_host_ops;
    advice->n_matched = report.n_matched;
    advice->n_gpu_nodes = report.n_gpu_nodes;
    memcpy(advice->annotation, annotation, strlen(annotation) + 1);
    return SUTRA_OK;
}

enum sutra_status sutra_advise(struct sutra_context *context, const struct sutra_host_trace *host,
                               const struct sutra_device_trace *device, struct sutra_advice *advice,
                               struct sutra_error *error) {
    _Static_assert(sizeof advice->cause == PAIRING_TEXT, "the text fits");
    struct sutra_advice found = {0};
    enum sutra_status status = count_ids(context, host, device, &found, error);
    if (status)
        return status;
    if (found.n_common_rf)
        found.linker = SUTRA_LINKER_IDS;

    /* Describe why the traces do not fit. */
    struct pairing pairing;
    status = pairing_inspect(host, device, &pairing, error);
    if (status)
        return status;
    found.n_host_rf_zero = pairing.host.n_zero;
    found.n_device_rf_zero = pairing.device.n_zero;
    found.misfit = pairing_misfit(&pairing, found.cause);
    if (!found.misfit && (2 * found.n_common_rf < host->nodes.n || *pairing.absent_thread))
        snprintf(found.cause, sizeof found.cause, "%s", pairing_cause(&pairing));

    struct tries tries = {0};
    if (!found.n_common_rf) {
        const struct device_events *events = &device->events;
        uint32_t annotated = strings_find(&device->strings, "user_annotation", 15);
        add_try(&tries, "DataLoader");
        add_try(&tries, STEP_NAME);
        for (row_t i = 0; i < events->n && tries.n < MAX_TRIES && annotated != STRING_NONE; i++) {
            const char *name = strings_text(&device->strings, events->name[i]);
            if (events->category[i] == annotated && !strstr(name, STEP_NAME))
                add_try(&tries, name);
        }
    }
    for (size_t i = 0; i < tries.n && !status && found.linker != SUTRA_LINKER_EXACT; i++)
        status = try_annotation(context, host, device, tries.text[i], &found, error);
    if (!status)
        report_give(advice, &found, sizeof found);
    return status;
}
