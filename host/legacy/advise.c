/*
 * advise.c - sutra_advise(): which way of linking fits a pair of traces.
 *
 * Ids if they fit, else names, if enough operators match by name. Cost: one match; the traces are not read again.
 */
#include <stdio.h>
#include <string.h>

#include "base/error.h"
#include "base/options.h"
#include "base/shared.h"
#include "legacy/legacy.h"
#include "link/link.h"

/* Minimum confidence of a match by names. */
#define CONFIDENCE_MIN 0.5

/* The smaller side has at most this many operators per match. */
#define OPS_PER_MATCH 10

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

/* Chooses ids or names, and counts the match by names unless the ids fit. Traces that have no operators to match keep
 * their method. */
static enum sutra_status compare_names(struct sutra_context *context, const struct sutra_host_trace *host,
                                       const struct sutra_device_trace *device, struct sutra_advice *advice,
                                       struct sutra_error *error) {
    const struct sutra_legacy_options options = {.size = sizeof options, .all_launches = true};
    struct legacy_log silent = {0};
    struct legacy_sides sides = {0};
    struct arena arena = {0};
    struct legacy_ops ops;
    struct common_counts ids;
    struct op_match match;
    enum sutra_status status = legacy_sides_read(&sides, context, host, device, &options, &silent, &arena, error);
    if (!status)
        status = legacy_ops_read(&ops, context, &sides, 0, &arena, error);
    if (!status)
        status = legacy_ops_ids(&ops, &sides, &arena, error);
    if (!status)
        status = count_common(&ops, ops.host_id, ops.device_id, &ids, error);
    if (!status && ids.n_common > 0 && 2 * (uint64_t)ids.n_common >= MIN(ids.n_host, ids.n_device)) {
        advice->linker = SUTRA_LINKER_IDS;
    } else if (!status) {
        status = ops_match(context, &ops.host, &ops.device, sides.names.table.n + 1, &arena, &match, error);
        if (!status) {
            advice->n_host_ops = ops.host.n;
            advice->n_matched = match.n;
            advice->n_places = match.n_places;
            advice->confidence = match.confidence;
            if (match.n > 0 && match.confidence >= CONFIDENCE_MIN &&
                OPS_PER_MATCH * (uint64_t)match.n >= MIN(ops.host.n, ops.device.n))
                advice->linker = SUTRA_LINKER_NAMES;
        }
    }
    legacy_sides_free(&sides);
    arena_free(&arena);
    return status == SUTRA_SYSTEM ? status : SUTRA_OK;
}

enum sutra_status sutra_advise(struct sutra_context *context, const struct sutra_host_trace *host,
                               const struct sutra_device_trace *device, struct sutra_advice *advice,
                               struct sutra_error *error) {
    _Static_assert(sizeof advice->cause == PAIRING_TEXT, "the text fits");
    struct sutra_advice found = {0};
    struct pairing pairing;
    enum sutra_status status = count_ids(context, host, device, &found, error);
    found.linker = found.n_common_rf ? SUTRA_LINKER_IDS : SUTRA_LINKER_NONE;
    if (!status)
        status = compare_names(context, host, device, &found, error);

    /* Describe why the traces do not fit. */
    if (!status)
        status = pairing_inspect(host, device, &pairing, error);
    if (status)
        return status;
    found.n_host_rf_zero = pairing.host.n_zero;
    found.n_device_rf_zero = pairing.device.n_zero;
    found.misfit = pairing_misfit(&pairing, found.cause);
    if (!found.misfit && (2 * found.n_common_rf < host->nodes.n || *pairing.absent_thread))
        snprintf(found.cause, sizeof found.cause, "%s", pairing_cause(&pairing));
    report_give(advice, &found, sizeof found);
    return SUTRA_OK;
}
