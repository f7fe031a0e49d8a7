/*
 * approximate_match.c - matching by the call trees of both sides.
 *
 *     host     parents as the trace has them, children by id
 *     device   process -> threads -> operators; an operator that begins before another of its thread has ended is
 *              below it
 *
 * Both trees are laid out in pre-order, the device's threads in the order of the host's that they resemble most, and
 * aligned (tree_align.h). O(n log n).
 */
#include <float.h>
#include <inttypes.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/error.h"
#include "legacy/id_anchors.h"
#include "legacy/legacy.h"
#include "legacy/sibling_lists.h"
#include "legacy/thread_pairs.h"
#include "legacy/tree_align.h"

/* Levels that the older program matched. */
#define OLDER_DEPTH 10

/* One side on its way to a call tree. */
struct tree_side {
    row_t n;
    row_t *parent;   /* per operator, or list entry */
    uint32_t *token; /* likewise */
    row_t *row;      /* per position */
    struct sibling_lists lists;
    struct call_tree tree;
};

static bool side_alloc(struct tree_side *side, row_t n) {
    size_t size = ((size_t)n + 1) * sizeof(row_t);
    side->n = n;
    side->parent = malloc(size);
    side->token = malloc(size);
    side->row = malloc(size);
    return side->parent && side->token && side->row;
}

/* Makes the lists of children from the parents. */
static bool side_link(struct tree_side *side) {
    struct sibling_lists lists = {0};
    bool ok = sibling_lists_build(&lists, side->parent, side->n);
    side->lists = lists;
    return ok;
}

static bool side_flatten(struct tree_side *side, row_t root, uint32_t max_depth) {
    struct call_tree tree = {0};
    bool ok = sibling_lists_flatten(&side->lists, root, side->token, max_depth, &tree, side->row);
    side->tree = tree;
    return ok;
}

static void side_free(struct tree_side *side) {
    free(side->parent);
    free(side->token);
    free(side->row);
    sibling_lists_free(&side->lists);
    call_tree_free(&side->tree);
}

/* Names that agree have one token. */
static uint32_t token_of(const struct legacy_names *names, uint32_t name) {
    return names->iteration[name] ? names->table.n : names->renamed[name];
}

/* How trees are made. */
struct planting {
    uint32_t max_depth; /* 0: all levels */
    bool older;         /* as the older program did: times are exact, threads stay in their order */
};

static bool plant_host(const struct sutra_legacy *legacy, const struct planting *planting, struct tree_side *side) {
    const struct host_side *host = &legacy->host;
    row_t root = ROW_NONE;
    if (!side_alloc(side, host->n))
        return false;
    for (row_t op = 0; op < host->n; op++) {
        side->token[op] = token_of(&legacy->names, host_side_name(host, op));
        side->parent[op] = host->parent[op];
        root = host->parent[op] == ROW_NONE ? op : root;
    }
    return side_link(side) && side_flatten(side, root, planting->max_depth);
}

/* When an entry ends, by `slack` times what rounding may have taken away or added: a fraction's start and duration are
 * rounded, and so is their sum. */
static struct number entry_end(const struct device_side *device, row_t i, double slack) {
    struct number end = number_add(number_at(device->ts, i), number_at(device->dur, i));
    if (!number_is_double(end))
        return end;
    double value = number_as_double(end);
    return number_double(value + slack * 2 * DBL_EPSILON * fabs(value));
}

/* Finds what each entry of the device's list is below. top[] is the innermost open entry of each thread. */
static void find_callers(const struct device_side *device, double slack, row_t *parent, row_t *top) {
    for (row_t i = 0; i < device->n; i++) {
        row_t thread = device->thread[i];
        if (thread == ROW_NONE || device->event[i] == ROW_NONE) {
            parent[i] = i == 0 ? ROW_NONE : 0;
            if (i > 0)
                top[thread] = i;
            continue;
        }
        row_t above = top[thread];
        struct number ts = number_at(device->ts, i);
        while (device->event[above] != ROW_NONE && number_compare(entry_end(device, above, -slack), ts) <= 0)
            above = parent[above];
        parent[i] = above;
        top[thread] = i;
    }
}

/* Puts the root's children, one for each thread, into an order. */
static void reorder_threads(const struct device_side *device, struct sibling_lists *lists, const row_t *order,
                            row_t *marker) {
    for (row_t i = 1; i < device->n; i++)
        if (device->event[i] == ROW_NONE)
            marker[device->thread[i]] = i;
    row_t next = ROW_NONE;
    for (row_t t = device->n_threads; t-- > 0;) {
        lists->next[marker[order[t]]] = next;
        next = marker[order[t]];
    }
    lists->first[0] = next;
}

/* Times are too coarse to tell whether an operator that begins when another ends is below it: all that begin by then
 * are in its reach. Positions below a thread's marker rise with time. */
static void widen_reach(const struct device_side *device, struct tree_side *side) {
    struct call_tree *tree = &side->tree;
    row_t end = 0; /* of the thread's positions */
    for (row_t i = 1; i < tree->n; i++) {
        row_t entry = side->row[i], low = tree->last[i] + 1;
        if (device->event[entry] == ROW_NONE) {
            end = tree->last[i] + 1;
            continue;
        }
        struct number until = entry_end(device, entry, 1);
        for (row_t high = end; low < high;) {
            row_t middle = low + (high - low) / 2;
            if (number_compare(number_at(device->ts, side->row[middle]), until) <= 0)
                low = middle + 1;
            else
                high = middle;
        }
        tree->reach[i] = low - 1;
    }
}

static bool plant_device(const struct sutra_legacy *legacy, const struct planting *planting,
                         const struct call_tree *host, struct tree_side *side) {
    const struct device_side *device = &legacy->device;
    const struct legacy_names *names = &legacy->names;
    row_t *top = malloc(((size_t)device->n_threads + 1) * sizeof *top);
    row_t *order = malloc(((size_t)device->n_threads + 1) * sizeof *order);
    bool ok = top && order && side_alloc(side, device->n);
    for (row_t i = 0; ok && i < device->n; i++)
        side->token[i] = token_of(names, device->name[i]);
    if (ok) {
        find_callers(device, planting->older ? 0 : 1, side->parent, top);
        ok = side_link(side) && thread_pairs(host, names->thread, side->token, device->thread, device->n,
                                             device->n_threads, names->table.n + 1, order);
    }
    if (ok) {
        if (!planting->older)
            reorder_threads(device, &side->lists, order, top);
        ok = side_flatten(side, 0, planting->max_depth);
    }
    if (ok && !planting->older)
        widen_reach(device, side);
    free(top);
    free(order);
    return ok;
}

static void log_op(struct sutra_legacy *legacy, const char *what, uint32_t name) {
    log_text(&legacy->log, "%s", what);
    log_bytes(&legacy->log, strings_text(&legacy->names.table, name), strings_length(&legacy->names.table, name));
}

/* Names the first operators of both sides that have no partner. */
static void log_unmatched(struct sutra_legacy *legacy, const struct tree_side *host, const struct tree_side *device,
                          const row_t *match, const uint8_t *taken) {
    row_t n = 0;
    for (row_t i = 0; i < host->tree.n && n < SUTRA_LEGACY_UNMATCHED; i++) {
        if (match[i] != ROW_NONE)
            continue;
        n++;
        log_op(legacy, "Unmatched in the execution trace: ", host_side_name(&legacy->host, host->row[i]));
        log_text(&legacy->log, ", id: %" PRId64, host_side_id(&legacy->host, host->row[i]));
        log_end(&legacy->log, SUTRA_LEGACY_INFO);
    }
    n = 0;
    for (row_t i = 0; i < device->tree.n && n < SUTRA_LEGACY_UNMATCHED; i++) {
        if (taken[i])
            continue;
        n++;
        log_op(legacy, "Unmatched in the kineto trace: ", legacy->device.name[device->row[i]]);
        log_text(&legacy->log, ", timestamp: ");
        log_number(&legacy->log, number_at(legacy->device.ts, device->row[i]));
        log_end(&legacy->log, SUTRA_LEGACY_INFO);
    }
}

/* Hands the matched positions over to the operators, and tells about them. */
static bool take_match(struct sutra_legacy *legacy, const struct tree_side *host, const struct tree_side *device,
                       const row_t *match) {
    struct sutra_legacy_report *report = &legacy->report;
    uint8_t *taken = calloc((size_t)device->tree.n + 1, 1);
    if (!taken)
        return false;
    for (row_t i = 0; i < host->tree.n; i++) {
        if (match[i] == ROW_NONE)
            continue;
        legacy->match[host->row[i]] = device->row[match[i]];
        taken[match[i]] = 1;
        report->n_matched++;
    }
    report->edit_cost = (uint64_t)host->tree.n + device->tree.n - 2 * report->n_matched;
    log_text(&legacy->log, "Approximate match: %" PRIu64 " of %u operators (%.1f %%), edit cost: %" PRIu64,
             report->n_matched, host->tree.n, 100.0 * (double)report->n_matched / host->tree.n, report->edit_cost);
    log_end(&legacy->log, SUTRA_LEGACY_INFO);
    log_unmatched(legacy, host, device, match, taken);
    free(taken);
    return true;
}

/* Process and threads, which match in any two traces, do not count. */
static enum sutra_status judge_share(const struct sutra_legacy *legacy, const struct tree_side *host,
                                     const row_t *match, double min_match, struct sutra_error *error) {
    const struct legacy_names *names = &legacy->names;
    row_t n = 0, n_matched = 0;
    for (row_t i = 0; i < host->tree.n; i++) {
        bool marker = host->tree.token[i] == names->process || host->tree.token[i] == names->thread;
        n += !marker;
        n_matched += !marker && match[i] != ROW_NONE;
    }
    if ((double)n_matched >= min_match * n)
        return SUTRA_OK;
    return error_file(error, SUTRA_DATA, legacy->host_trace->document.source.name,
                      "only %u of %u operators match one of the device trace, a share of %.3f, and at least %.3f were "
                      "wanted: are these traces of the same run? (--min-match changes the share)",
                      n_matched, n, (double)n_matched / n, min_match);
}

/* Matches what has a record-function id in common. */
static enum sutra_status match_ids(const struct sutra_legacy *legacy, struct sutra_context *context,
                                   const struct tree_side *host, const struct tree_side *device, row_t *match,
                                   struct sutra_error *error) {
    value_key *host_id = malloc(((size_t)host->tree.n + 1) * sizeof *host_id);
    value_key *device_id = malloc(((size_t)device->tree.n + 1) * sizeof *device_id);
    enum sutra_status status = host_id && device_id ? SUTRA_OK : error_memory(error);
    for (row_t i = 0; i < host->tree.n && !status; i++)
        host_id[i] = legacy->host_trace->nodes.rf[unit_node(&legacy->host.units, legacy->host.unit[host->row[i]])];
    for (row_t i = 0; i < device->tree.n && !status; i++) {
        row_t event = legacy->device.event[device->row[i]];
        device_id[i] = event == ROW_NONE ? KEY_NULL : legacy->device_trace->events.rf[event];
    }
    if (!status)
        status = id_anchors(context, &host->tree, host_id, &device->tree, device_id, match, error);
    free(host_id);
    free(device_id);
    return status;
}

/* The k-th operators belong together if there are equally many, whatever their names; else the trees are aligned. */
static enum sutra_status match_positions(struct sutra_legacy *legacy, struct sutra_context *context,
                                         const struct call_tree *host, const struct call_tree *device, row_t *match,
                                         struct sutra_error *error) {
    struct legacy_log *log = &legacy->log;
    log_text(log, "Kineto tree nodes number: %u", device->n);
    log_end(log, SUTRA_LEGACY_INFO);
    log_text(log, "ET tree nodes number: %u", host->n);
    log_end(log, SUTRA_LEGACY_INFO);
    log_text(log, host->n == device->n ? "Graphs are isomorphic" : "Graphs are not isomorphic");
    log_end(log, SUTRA_LEGACY_INFO);
    if (host->n != device->n)
        return tree_align(host, device, context->pool, match, error);
    for (row_t i = 0; i < host->n; i++)
        match[i] = i;
    return SUTRA_OK;
}

enum sutra_status approximate_match(struct sutra_legacy *legacy, struct sutra_context *context,
                                    const struct sutra_legacy_options *options, struct sutra_error *error) {
    struct tree_side host = {0}, device = {0};
    struct planting planting = {options->positional ? OLDER_DEPTH : options->max_depth, options->positional};
    legacy->report.aligned = true;
    memset(legacy->match, 0xff, ((size_t)legacy->host.n + 1) * sizeof *legacy->match);
    row_t *match = malloc(((size_t)legacy->host.n + 1) * sizeof *match);
    bool planted =
        match && plant_host(legacy, &planting, &host) && plant_device(legacy, &planting, &host.tree, &device);
    enum sutra_status status = planted ? SUTRA_OK : error_memory(error);
    if (!status)
        memset(match, 0xff, ((size_t)host.tree.n + 1) * sizeof *match);
    if (!status && options->positional)
        status = match_positions(legacy, context, &host.tree, &device.tree, match, error);
    else if (!status && !(status = match_ids(legacy, context, &host, &device, match, error)))
        status = tree_align(&host.tree, &device.tree, context->pool, match, error);
    if (!status && !take_match(legacy, &host, &device, match))
        status = error_memory(error);
    if (!status)
        status = judge_share(legacy, &host, match, options->min_match, error);
    side_free(&host);
    side_free(&device);
    free(match);
    return status;
}
