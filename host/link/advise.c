/*
 * advise.c - sutra_advise(): which way of linking fits a pair of traces.
 *
 * Ids if they fit, else names, if enough operators match by name. Cost: of linking; the traces are not read again.
 */
#include <stdio.h>
#include <string.h>

#include "base/error.h"
#include "base/options.h"
#include "link/link.h"
#include "link/pairing.h"

static enum sutra_status count_ids(struct sutra_context *context, const struct sutra_host_trace *host,
                                   const struct sutra_device_trace *device, struct sutra_advice *advice,
                                   struct sutra_error *error) {
    struct arena scratch = {0};
    value_key *keys = arena_alloc(&scratch, device->events.n, sizeof *keys);
    struct key_index index = {0};
    row_t n = 0;
    TRY_ALLOC(keys, error);
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

/* Links the traces without warnings, and reports the way of matching. Traces that cannot be linked keep their way. */
static enum sutra_status try_link(struct sutra_context *context, const struct sutra_host_trace *host,
                                  const struct sutra_device_trace *device, struct sutra_advice *advice,
                                  struct sutra_error *error) {
    const struct sutra_link_options options = {.size = sizeof options, .no_sync = true};
    const struct sutra_context_options own = context->options;
    struct sutra_linked *linked = NULL;
    context->options.warning = NULL;
    context->options.strict = false;
    enum sutra_status status = sutra_link(context, host, device, &options, &linked, error);
    context->options = own;
    if (status)
        return status == SUTRA_DATA ? SUTRA_OK : status;
    const struct sutra_link_match *match = &linked->match;
    if (match->by_names)
        advice->linker = SUTRA_LINKER_NAMES;
    advice->n_host_ops = match->n_host_ops;
    advice->n_matched = match->n_matched;
    advice->n_positions = match->n_positions;
    advice->confidence = match->confidence;
    sutra_linked_free(linked);
    return SUTRA_OK;
}

enum sutra_status sutra_advise(struct sutra_context *context, const struct sutra_host_trace *host,
                               const struct sutra_device_trace *device, struct sutra_advice *advice,
                               struct sutra_error *error) {
    _Static_assert(sizeof advice->cause == PAIRING_TEXT, "the text fits");
    struct sutra_advice found = {0};
    struct pairing pairing;
    TRY(count_ids(context, host, device, &found, error));
    found.linker = found.n_common_rf ? SUTRA_LINKER_IDS : SUTRA_LINKER_NONE;
    TRY(try_link(context, host, device, &found, error));

    /* Describe why the traces do not fit. */
    TRY(pairing_inspect(host, device, &pairing, error));
    found.n_host_rf_zero = pairing.host.n_zero;
    found.n_device_rf_zero = pairing.device.n_zero;
    found.misfit = pairing_misfit(&pairing, found.cause);
    if (!found.misfit && (2 * found.n_common_rf < host->nodes.n || *pairing.absent_thread))
        snprintf(found.cause, sizeof found.cause, "%s", pairing_cause(&pairing));
    report_give(advice, &found, sizeof found);
    return SUTRA_OK;
}
