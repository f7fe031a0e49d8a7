/*
 * exact_match.c - matching the two lists of operators by their places and names.
 *
 *     host     0  1  2  3  4 | 5  6  7 ... 14 | 15 ...
 *     device   0  1  2  3  4  5  6 | 7  8 ... 16 | ...        the same ten names, 2 places later: the shift is 2
 *
 * Then each host operator takes the nearest device operator of its name, at most 20 places from where the shift puts
 * it. Device operators are not used up: several host operators may take one. O(n).
 */
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "base/error.h"
#include "legacy/legacy.h"

#define PATTERN_START  5
#define PATTERN_LENGTH 10
#define SHIFTS         1000
#define DISTANCE_MAX   20

static bool pattern_fits(const struct sutra_legacy *legacy, row_t shift, bool *past_end) {
    for (row_t i = PATTERN_START; i < PATTERN_START + PATTERN_LENGTH; i++) {
        *past_end = i >= legacy->host.n || i + shift >= legacy->device.n;
        if (*past_end || host_side_name(&legacy->host, i) != legacy->device.name[i + shift])
            return false;
    }
    return true;
}

/* How many places the device's list is behind; 0 where nothing fits. */
static row_t find_shift(const struct sutra_legacy *legacy) {
    for (row_t shift = 0; shift < SHIFTS; shift++) {
        bool past_end;
        if (pattern_fits(legacy, shift, &past_end))
            return shift;
        if (past_end)
            return 0;
    }
    return 0;
}

/* The place of the nearest device operator with a name, forward before backward; ROW_NONE: none is near. */
static row_t find_near(const struct device_side *device, uint32_t name, row_t place) {
    for (row_t distance = 0; distance <= DISTANCE_MAX; distance++) {
        if (distance < device->n - place && device->name[place + distance] == name)
            return place + distance;
        if (distance <= place && device->name[place - distance] == name)
            return place - distance;
    }
    return ROW_NONE;
}

static void log_name(struct sutra_legacy *legacy, uint32_t name) {
    log_bytes(&legacy->log, strings_text(&legacy->names.table, name), strings_length(&legacy->names.table, name));
}

static void log_sizes(struct sutra_legacy *legacy, const char *what, const char *end) {
    log_text(&legacy->log, "%s mismatch between kineto and execution trace ( et size = %u, kineto size: %u )%s", what,
             legacy->host.n, legacy->device.n, end);
    log_end(&legacy->log, SUTRA_LEGACY_INFO);
}

/* Shows where the lists part, and both lists side by side. */
static void log_mismatch(struct sutra_legacy *legacy, row_t op, row_t place) {
    struct legacy_log *log = &legacy->log;
    if (!log->line)
        return;
    log_sizes(legacy, "Op", ":");
    log_text(log, "Op index: %u, kineto op name: ", op);
    log_name(legacy, legacy->device.name[place]);
    log_text(log, ",kineto op timestamp: ");
    log_number(log, number_at(legacy->device.ts, place));
    log_text(log, ", execution trace op name: ");
    log_name(legacy, host_side_name(&legacy->host, op));
    log_text(log, ", execution trace op id: %" PRId64, host_side_id(&legacy->host, op));
    log_end(log, SUTRA_LEGACY_INFO);
    for (row_t i = 0; i < legacy->host.n && i < legacy->device.n; i++) {
        log_text(log, "Index: %u, et name: ", i);
        log_name(legacy, host_side_name(&legacy->host, i));
        log_text(log, ", kineto name: ");
        log_name(legacy, legacy->device.name[i]);
        log_end(log, SUTRA_LEGACY_INFO);
    }
}

static enum sutra_status mismatch(struct sutra_legacy *legacy, row_t op, row_t place, struct sutra_error *error) {
    row_t node = unit_node(&legacy->host.units, legacy->host.unit[op]);
    legacy->report.mismatch = true;
    log_mismatch(legacy, op, place);
    return source_error(
        &legacy->host_trace->document.source, error, legacy->host_trace->nodes.text[node],
        "node %u (operator %u, \"%.60s\") has no operator of its name within %d places of operator %u of "
        "the device trace (\"%.60s\"): try approximate match, without --exact-match",
        node, op, strings_text(&legacy->names.table, host_side_name(&legacy->host, op)), DISTANCE_MAX, place,
        strings_text(&legacy->names.table, legacy->device.name[place]));
}

static enum sutra_status past_the_end(const struct sutra_legacy *legacy, row_t op, row_t place,
                                      struct sutra_error *error) {
    row_t node = unit_node(&legacy->host.units, legacy->host.unit[op]);
    return source_error(
        &legacy->host_trace->document.source, error, legacy->host_trace->nodes.text[node],
        "node %u (operator %u) belongs to operator %u of the device trace, which has only %u of them: try "
        "approximate match, without --exact-match",
        node, op, place, legacy->device.n);
}

/* Matches one host operator. */
static enum sutra_status match_op(struct sutra_legacy *legacy, row_t op, row_t place, struct sutra_error *error) {
    uint32_t name = host_side_name(&legacy->host, op);
    if (place >= legacy->device.n)
        return past_the_end(legacy, op, place, error);
    row_t found = find_near(&legacy->device, name, place);
    if (found == ROW_NONE && names_agree(&legacy->names, name, legacy->device.name[place]))
        found = place;
    if (found == ROW_NONE)
        return mismatch(legacy, op, place, error);
    legacy->match[op] = found;
    return SUTRA_OK;
}

/* Counts device operators that several host operators took. */
static enum sutra_status count_matches(struct sutra_legacy *legacy, struct sutra_error *error) {
    uint8_t *taken = calloc((size_t)legacy->device.n + 1, 1);
    if (!taken)
        return error_memory(error);
    for (row_t op = 0; op < legacy->host.n; op++) {
        row_t place = legacy->match[op];
        if (place == ROW_NONE)
            continue;
        legacy->report.n_matched++;
        legacy->report.n_matched_twice += taken[place];
        taken[place] = 1;
    }
    free(taken);
    return SUTRA_OK;
}

enum sutra_status exact_match(struct sutra_legacy *legacy, struct sutra_error *error) {
    row_t shift = find_shift(legacy);
    legacy->report.shift = shift;
    if (shift) {
        log_text(&legacy->log, "shift found between et_nodes, and kineto_et_events. Shift amount: %u", shift);
        log_end(&legacy->log, SUTRA_LEGACY_INFO);
    }
    memset(legacy->match, 0xff, ((size_t)legacy->host.n + 1) * sizeof *legacy->match);
    if (legacy->device.n < legacy->host.n) {
        legacy->report.count_mismatch = true;
        log_sizes(legacy, "Ops count", "");
        return SUTRA_OK;
    }
    enum sutra_status status = SUTRA_OK;
    for (row_t op = 0; op < legacy->host.n && !status; op++)
        status = match_op(legacy, op, op + shift, error);
    return status ? status : count_matches(legacy, error);
}
