/*
 * exact_match.c - matching the two lists of operators by their positions and names.
 *
 *     host     0  1  2  3  4 | 5  6  7 ... 14 | 15 ...
 *     device   0  1  2  3  4  5  6 | 7  8 ... 16 | ...        the same ten names, 2 places later: the shift is 2
 *
 * Then each host operator takes the nearest device operator of its name, at most 20 places from where the shift puts
 * it. Device operators are not used up: several host operators may take one. O(n).
 */
#include <inttypes.h>
#include <string.h>

#include "base/error.h"
#include "legacy/legacy.h"

#define PATTERN_START  5
#define PATTERN_LENGTH 10
#define SHIFTS         1000
#define DISTANCE_MAX   20

/* The lists that are compared, and who is told. */
struct comparing {
    const struct legacy_sides *sides;
    struct legacy_log *log;
    struct sutra_legacy_report *report;
    row_t *match;
    struct sutra_error *error;
};

static bool pattern_fits(const struct legacy_sides *sides, row_t shift, bool *past_end) {
    for (row_t i = PATTERN_START; i < PATTERN_START + PATTERN_LENGTH; i++) {
        *past_end = i >= sides->host.n || i + shift >= sides->device.n;
        if (*past_end || host_side_name(&sides->host, i) != sides->device.name[i + shift])
            return false;
    }
    return true;
}

/* How many places the device's list is behind; 0 where nothing fits. */
static row_t find_shift(const struct legacy_sides *sides) {
    for (row_t shift = 0; shift < SHIFTS; shift++) {
        bool past_end;
        if (pattern_fits(sides, shift, &past_end))
            return shift;
        if (past_end)
            return 0;
    }
    return 0;
}

/* The entry of the nearest device operator with a name, forward before backward; ROW_NONE: none is near. */
static row_t find_near(const struct device_side *device, uint32_t name, row_t entry) {
    for (row_t distance = 0; distance <= DISTANCE_MAX; distance++) {
        if (distance < device->n - entry && device->name[entry + distance] == name)
            return entry + distance;
        if (distance <= entry && device->name[entry - distance] == name)
            return entry - distance;
    }
    return ROW_NONE;
}

static void log_name(const struct comparing *comparing, uint32_t name) {
    const struct strings *names = &comparing->sides->names.table;
    log_bytes(comparing->log, strings_text(names, name), strings_length(names, name));
}

static void log_sizes(const struct comparing *comparing, const char *what, const char *end) {
    log_info(comparing->log, "%s mismatch between kineto and execution trace ( et size = %u, kineto size: %u )%s", what,
             comparing->sides->host.n, comparing->sides->device.n, end);
}

/* Shows where the lists part, and both lists side by side. */
static void log_mismatch(const struct comparing *comparing, row_t op, row_t entry) {
    const struct host_side *host = &comparing->sides->host;
    const struct device_side *device = &comparing->sides->device;
    struct legacy_log *log = comparing->log;
    if (!log->line)
        return;
    log_sizes(comparing, "Op", ":");
    log_text(log, "Op index: %u, kineto op name: ", op);
    log_name(comparing, device->name[entry]);
    log_text(log, ",kineto op timestamp: ");
    log_number(log, number_at(device->ts, entry));
    log_text(log, ", execution trace op name: ");
    log_name(comparing, host_side_name(host, op));
    log_info(log, ", execution trace op id: %" PRId64, host_side_id(host, op));
    for (row_t i = 0; i < host->n && i < device->n; i++) {
        log_text(log, "Index: %u, et name: ", i);
        log_name(comparing, host_side_name(host, i));
        log_text(log, ", kineto name: ");
        log_name(comparing, device->name[i]);
        log_end(log, SUTRA_LEGACY_INFO);
    }
}

static enum sutra_status mismatch(const struct comparing *comparing, row_t op, row_t entry) {
    const struct legacy_sides *sides = comparing->sides;
    const struct strings *names = &sides->names.table;
    row_t node = host_side_node(&sides->host, op);
    comparing->report->mismatch = true;
    log_mismatch(comparing, op, entry);
    return source_error(
        &sides->host.trace->document.source, comparing->error, sides->host.trace->nodes.text[node],
        "node %u (operator %u, \"%.60s\") has no operator of its name within %d positions of operator %u of the device "
        "trace (\"%.60s\"): try approximate match, without --exact-match",
        node, op, strings_text(names, host_side_name(&sides->host, op)), DISTANCE_MAX, entry,
        strings_text(names, sides->device.name[entry]));
}

static enum sutra_status past_the_end(const struct comparing *comparing, row_t op, row_t entry) {
    const struct legacy_sides *sides = comparing->sides;
    row_t node = host_side_node(&sides->host, op);
    return source_error(
        &sides->host.trace->document.source, comparing->error, sides->host.trace->nodes.text[node],
        "node %u (operator %u) matches operator %u of the device trace, which has only %u operators: try approximate "
        "match, without --exact-match",
        node, op, entry, sides->device.n);
}

/* Matches one host operator. */
static enum sutra_status match_op(const struct comparing *comparing, row_t op, row_t entry) {
    const struct legacy_sides *sides = comparing->sides;
    uint32_t name = host_side_name(&sides->host, op);
    if (entry >= sides->device.n)
        return past_the_end(comparing, op, entry);
    row_t found = find_near(&sides->device, name, entry);
    if (found == ROW_NONE && names_agree(&sides->names, name, sides->device.name[entry]))
        found = entry;
    if (found == ROW_NONE)
        return mismatch(comparing, op, entry);
    comparing->match[op] = found;
    return SUTRA_OK;
}

/* Counts device operators that several host operators took. */
static enum sutra_status count_matches(const struct comparing *comparing) {
    struct arena scratch = {0};
    uint8_t *taken = arena_zeros(&scratch, comparing->sides->device.n, 1);
    for (row_t op = 0; op < comparing->sides->host.n && taken; op++) {
        row_t entry = comparing->match[op];
        comparing->report->n_matched++;
        comparing->report->n_matched_twice += taken[entry];
        taken[entry] = 1;
    }
    enum sutra_status status = arena_status(&scratch, comparing->error);
    arena_free(&scratch);
    return status;
}

enum sutra_status exact_match(const struct legacy_sides *sides, struct legacy_log *log,
                              struct sutra_legacy_report *report, row_t *match, struct sutra_error *error) {
    const struct comparing comparing = {sides, log, report, match, error};
    row_t n = sides->host.n, shift = find_shift(sides);
    report->shift = shift;
    if (shift)
        log_info(log, "shift found between et_nodes, and kineto_et_events. Shift amount: %u", shift);
    memset(match, 0xff, n * sizeof *match);
    if (sides->device.n < n) {
        report->count_mismatch = true;
        log_sizes(&comparing, "Ops count", "");
        return SUTRA_OK;
    }
    enum sutra_status status = SUTRA_OK;
    for (row_t op = 0; op < n && !status; op++)
        status = match_op(&comparing, op, op + shift);
    return status ? status : count_matches(&comparing);
}
