/*
 * match.c - makes call trees (tree_align.h), and matches the operators of both traces exactly or approximately.
 *
 * Exact match: by position and name.
 *
 *     host     0  1  2  3  4 | 5  6  7 ... 14 | 15 ...
 *     device   0  1  2  3  4  5  6 | 7  8 ... 16 | ...        the same ten names, 2 positions later: the shift is 2
 *
 * Each host operator matches the nearest device operator with its name, at most 20 positions from its shifted position.
 * Several host operators may match one device operator. O(n).
 *
 * Approximate match: by the call trees of both sides.
 *
 *     host     parents as in the trace, children by id
 * device   process -> threads -> operators; an operator that starts before the end of another operator of its thread
 *              is its child
 *
 * Both trees are listed in pre-order, the device's threads in the order of the host threads with the most operators in
 * common, and aligned (tree_align.h). O(n log n).
 */
#include <float.h>
#include <inttypes.h>
#include <math.h>
#include <string.h>

#include "align/tree_align.h"
#include "base/error.h"
#include "base/shared.h"
#include "columns/column.h"
#include "columns/hash.h"
#include "legacy/legacy.h"

/* ---- Call trees ---- */

/* Lists children in row order, in the arena. Without memory the arena fails. */
static struct sibling_lists sibling_lists_make(struct arena *arena, const row_t *parent, row_t n) {
    struct sibling_lists lists = {.n = n, .parent = parent, .first = rows_none(arena, n), .next = rows_none(arena, n)};
    for (row_t i = n; i-- > 0 && !arena->failed;) {
        if (parent[i] == ROW_NONE)
            continue;
        lists.next[i] = lists.first[parent[i]];
        lists.first[parent[i]] = i;
    }
    return lists;
}

/* ---- Approximate match ---- */

/* Maximum number of comparisons of counts. */
#define MAX_COMPARISONS ((uint64_t)1 << 26)

/* order[] = the device's n_threads threads in the order of their partners in the host's tree: each host thread (a child
 * of the root with the token `thread_token`) has the partner with the most operators in common; threads without a
 * partner are last. thread[i] is the thread of list entry i (ROW_NONE: none). Without memory the arena fails.
 * O(threads^2 * tokens); the order is unchanged if this exceeds MAX_COMPARISONS. */
static void order_threads(const struct call_tree *host, uint32_t thread_token, const uint32_t *token,
                          const row_t *thread, row_t n_entries, row_t n_threads, uint32_t n_tokens, struct arena *arena,
                          row_t *order) {
    row_t n_host = 0, *host_thread = arena_alloc(arena, host->n, sizeof *host_thread);
    for (row_t t = 0; t < n_threads; t++)
        order[t] = t;
    for (row_t i = 1; i < host->n && host_thread; i = host->last[i] + 1)
        if (host->token[i] == thread_token)
            host_thread[n_host++] = i;
    uint64_t n_pairs = (uint64_t)n_host * n_threads;
    if (n_host == 0 || n_threads <= 1 || n_pairs >= MAX_COMPARISONS / 4096 || n_pairs * n_tokens > MAX_COMPARISONS)
        return;
    uint32_t *host_counts = arena_alloc(arena, n_tokens, sizeof *host_counts);
    uint32_t *counts = arena_zeros(arena, (size_t)n_threads * n_tokens, sizeof *counts);
    uint64_t *common = arena_alloc(arena, n_pairs, sizeof *common);
    row_t *partner = rows_none(arena, n_host);
    uint8_t *used = arena_zeros(arena, n_threads, 1);
    if (arena->failed)
        return;

    /* The operators that each pair of threads has in common */
    for (row_t i = 0; i < n_entries; i++)
        if (thread[i] != ROW_NONE)
            counts[(size_t)thread[i] * n_tokens + token[i]]++;
    for (row_t h = 0; h < n_host; h++) {
        memset(host_counts, 0, n_tokens * sizeof *host_counts);
        for (row_t i = host_thread[h]; i <= host->last[host_thread[h]]; i++)
            host_counts[host->token[i]]++;
        for (row_t t = 0; t < n_threads; t++) {
            uint64_t n_common = 0;
            for (uint32_t k = 0; k < n_tokens; k++) {
                uint32_t count = counts[(size_t)t * n_tokens + k];
                n_common += MIN(count, host_counts[k]);
            }
            common[(size_t)h * n_threads + t] = n_common;
        }
    }

    /* Select the partner of each host thread: repeatedly the best pair of the remaining threads, the first of equal
     * ones. */
    for (row_t rounds = MIN(n_host, n_threads); rounds > 0; rounds--) {
        row_t best_host = ROW_NONE, best = 0;
        for (row_t h = 0; h < n_host; h++)
            for (row_t t = 0; t < n_threads; t++) {
                if (partner[h] != ROW_NONE || used[t])
                    continue;
                if (best_host == ROW_NONE ||
                    common[(size_t)h * n_threads + t] > common[(size_t)best_host * n_threads + best]) {
                    best_host = h;
                    best = t;
                }
            }
        partner[best_host] = best;
        used[best] = 1;
    }
    row_t n = 0;
    for (row_t h = 0; h < n_host; h++)
        if (partner[h] != ROW_NONE)
            order[n++] = partner[h];
    for (row_t t = 0; t < n_threads; t++)
        if (!used[t])
            order[n++] = t;
}

/* Maximum depth in the older program. */
#define OLDER_DEPTH 10

/* One side: its operators or list entries, and its call tree. */
struct tree_side {
    row_t n;
    row_t *parent;   /* per operator, or list entry */
    uint32_t *token; /* likewise */
    row_t *row;      /* per position */
    struct call_tree tree;
};

static struct tree_side side_alloc(struct arena *arena, row_t n) {
    return (struct tree_side){.n = n,
                              .parent = arena_alloc(arena, n, sizeof(row_t)),
                              .token = arena_alloc(arena, n, sizeof(uint32_t)),
                              .row = arena_alloc(arena, n, sizeof(row_t))};
}

/* Names that match have the same token. */
static uint32_t token_of(const struct legacy_names *names, uint32_t name) {
    return names->iteration[name] ? names->table.n : names->renamed[name];
}

/* Builds the host's tree, in the arena; without memory the arena fails. */
static struct tree_side build_host_tree(const struct legacy_sides *sides, uint32_t max_depth, struct arena *arena) {
    const struct host_side *host = &sides->host;
    struct tree_side side = side_alloc(arena, host->n);
    row_t root = ROW_NONE;
    for (row_t op = 0; op < host->n && !arena->failed; op++) {
        side.token[op] = token_of(&sides->names, host_side_name(host, op));
        side.parent[op] = host->parent[op];
        root = host->parent[op] == ROW_NONE ? op : root;
    }
    struct sibling_lists lists = {0};
    if (!arena->failed)
        lists = sibling_lists_make(arena, side.parent, side.n);
    if (!arena->failed)
        side.tree = sibling_lists_flatten(&lists, root, side.token, max_depth, arena, side.row);
    return side;
}

/* The end of an entry, plus `slack` times the maximum rounding error: starts and durations with fractions are rounded,
 * and so is their sum. */
static struct number entry_end(const struct device_side *device, row_t i, double slack) {
    struct number end = number_add(number_at(device->ts, i), number_at(device->dur, i));
    if (!number_is_double(end))
        return end;
    double value = number_as_double(end);
    return number_double(value + slack * 2 * DBL_EPSILON * fabs(value));
}

/* Builds the device's tree, its threads in the order of the host's, in the arena; without memory the arena fails.
 * `older`: as the older program, times are exact and threads stay in their order. */
static struct tree_side build_device_tree(const struct legacy_sides *sides, uint32_t max_depth, bool older,
                                          const struct call_tree *host, struct arena *arena) {
    const struct device_side *device = &sides->device;
    struct tree_side side = side_alloc(arena, device->n);
    row_t *top = arena_alloc(arena, device->n_threads, sizeof *top);
    row_t *order = arena_alloc(arena, device->n_threads, sizeof *order);
    if (arena->failed)
        return side;
    for (row_t i = 0; i < device->n; i++)
        side.token[i] = token_of(&sides->names, device->name[i]);

    /* Find the parent of each entry. top[] is the innermost open entry of each thread. */
    for (row_t i = 0; i < device->n; i++) {
        row_t thread = device->thread[i];
        if (thread == ROW_NONE || device->event[i] == ROW_NONE) {
            side.parent[i] = i == 0 ? ROW_NONE : 0;
            if (i > 0)
                top[thread] = i;
            continue;
        }
        row_t above = top[thread];
        struct number ts = number_at(device->ts, i);
        while (device->event[above] != ROW_NONE && number_compare(entry_end(device, above, older ? 0 : -1), ts) <= 0)
            above = side.parent[above];
        side.parent[i] = above;
        top[thread] = i;
    }

    struct sibling_lists lists = sibling_lists_make(arena, side.parent, side.n);
    if (!older) {
        struct arena_mark mark = arena_mark(arena);
        order_threads(host, sides->names.thread, side.token, device->thread, device->n, device->n_threads,
                      sides->names.table.n + 1, arena, order);
        arena_release(arena, mark);
    }
    if (arena->failed)
        return side;
    if (!older) {
        /* Sort the root's children: one marker per thread. */
        row_t *marker = top, next = ROW_NONE;
        for (row_t i = 1; i < device->n; i++)
            if (device->event[i] == ROW_NONE)
                marker[device->thread[i]] = i;
        for (row_t t = device->n_threads; t-- > 0;) {
            lists.next[marker[order[t]]] = next;
            next = marker[order[t]];
        }
        lists.first[0] = next;
    }
    side.tree = sibling_lists_flatten(&lists, 0, side.token, max_depth, arena, side.row);
    return side;
}

/* Both sides as trees, and their match. */
struct tree_match {
    const struct legacy_sides *sides;
    struct tree_side host, device;
    row_t *match; /* per position of the host's tree: a position of the device's tree, or ROW_NONE */
};

static void log_op(struct legacy_log *log, const char *text, const struct strings *names, uint32_t name) {
    log_text(log, "%s", text);
    log_bytes(log, strings_text(names, name), strings_length(names, name));
}

/* Converts matched positions to matched operators, counts and logs them, and checks their share. matched[] are zeros.
 * */
static enum sutra_status report_match(const struct tree_match *trees, double min_match, uint8_t *matched,
                                      struct legacy_log *log, struct sutra_legacy_report *report, row_t *match,
                                      struct sutra_error *error) {
    const struct legacy_names *names = &trees->sides->names;
    const struct call_tree *tree = &trees->host.tree;
    row_t n_ops = 0, n_matched = 0; /* without process and threads, which match in any two traces */
    for (row_t i = 0; i < tree->n; i++) {
        bool is_op = tree->token[i] != names->process && tree->token[i] != names->thread;
        n_ops += is_op;
        if (trees->match[i] == ROW_NONE)
            continue;
        n_matched += is_op;
        match[trees->host.row[i]] = trees->device.row[trees->match[i]];
        matched[trees->match[i]] = 1;
        report->n_matched++;
    }
    report->edit_cost = (uint64_t)tree->n + trees->device.tree.n - 2 * report->n_matched;
    log_info(log, "Approximate match: %" PRIu64 " of %u operators (%.1f %%), edit cost: %" PRIu64, report->n_matched,
             tree->n, 100.0 * (double)report->n_matched / tree->n, report->edit_cost);

    /* Log the first operators of both sides without a partner. */
    const struct host_side *host = &trees->sides->host;
    const struct device_side *device = &trees->sides->device;
    for (row_t i = 0, n = 0; i < tree->n && n < SUTRA_LEGACY_UNMATCHED; i++) {
        if (trees->match[i] != ROW_NONE)
            continue;
        n++;
        log_op(log, "Unmatched in the execution trace: ", &names->table, host_side_name(host, trees->host.row[i]));
        log_info(log, ", id: %" PRId64, host_side_id(host, trees->host.row[i]));
    }
    for (row_t i = 0, n = 0; i < trees->device.tree.n && n < SUTRA_LEGACY_UNMATCHED; i++) {
        row_t entry = trees->device.row[i];
        if (matched[i])
            continue;
        n++;
        log_op(log, "Unmatched in the kineto trace: ", &names->table, device->name[entry]);
        log_text(log, ", timestamp: ");
        log_number(log, number_at(device->ts, entry));
        log_end(log, SUTRA_LEGACY_INFO);
    }
    if ((double)n_matched >= min_match * n_ops)
        return SUTRA_OK;
    return error_file(
        error, SUTRA_DATA, trees->sides->host.trace->document.source.name,
        "approximate match matches only %u of %u operators (%.3f, at least %.3f required): check that both traces are "
        "of the same run, or lower --min-match",
        n_matched, n_ops, (double)n_matched / n_ops, min_match);
}

enum sutra_status approximate_match(const struct legacy_sides *sides, struct sutra_context *context,
                                    const struct sutra_legacy_options *options, struct legacy_log *log,
                                    struct sutra_legacy_report *report, row_t *match, struct sutra_error *error) {
    struct arena scratch = {0};
    uint32_t max_depth = options->positional ? OLDER_DEPTH : options->max_depth;
    struct tree_match trees = {.sides = sides, .host = build_host_tree(sides, max_depth, &scratch)};
    const struct call_tree *host = &trees.host.tree, *device = &trees.device.tree;
    if (!scratch.failed)
        trees.device = build_device_tree(sides, max_depth, options->positional, host, &scratch);
    trees.match = rows_none(&scratch, host->n);
    uint8_t *matched = arena_zeros(&scratch, device->n, 1);
    enum sutra_status status = arena_status(&scratch, error);
    report->aligned = true;
    memset(match, 0xff, sides->host.n * sizeof *match);
    if (!status && options->positional) {
        log_info(log, "Kineto tree nodes number: %u", device->n);
        log_info(log, "ET tree nodes number: %u", host->n);
        log_info(log, host->n == device->n ? "Graphs are isomorphic" : "Graphs are not isomorphic");
    }

    /* Trees of equal size match by position in the older program, regardless of names. */
    bool by_position = options->positional && host->n == device->n;
    for (row_t i = 0; i < host->n && by_position && !status; i++)
        trees.match[i] = i;
    if (!status && !by_position)
        status = tree_align(host, device, context->pool, trees.match, error);
    if (!status)
        status = report_match(&trees, options->min_match, matched, log, report, match, error);
    arena_free(&scratch);
    return status;
}

/* ---- Exact match ---- */

#define PATTERN_START  5
#define PATTERN_LENGTH 10
#define SHIFTS         1000
#define DISTANCE_MAX   20

/* The lists that are compared, and the results. */
struct exact_matching {
    const struct legacy_sides *sides;
    struct legacy_log *log;
    struct sutra_legacy_report *report;
    row_t *match;
    struct sutra_error *error;
};

/* Finds the shift of the device's list: the first at which the ten names match; 0 if none. */
static row_t find_shift(const struct legacy_sides *sides) {
    for (row_t shift = 0; shift < SHIFTS; shift++) {
        row_t i = PATTERN_START;
        for (; i < PATTERN_START + PATTERN_LENGTH; i++) {
            if (i >= sides->host.n || i + shift >= sides->device.n)
                return 0;
            if (host_side_name(&sides->host, i) != sides->device.name[i + shift])
                break;
        }
        if (i == PATTERN_START + PATTERN_LENGTH)
            return shift;
    }
    return 0;
}

static void log_name(const struct exact_matching *matching, uint32_t name) {
    const struct strings *names = &matching->sides->names.table;
    log_bytes(matching->log, strings_text(names, name), strings_length(names, name));
}

static void log_sizes(const struct exact_matching *matching, const char *subject, const char *end) {
    log_info(matching->log, "%s mismatch between kineto and execution trace ( et size = %u, kineto size: %u )%s",
             subject, matching->sides->host.n, matching->sides->device.n, end);
}

/* Matches a host operator to the nearest device operator with its name, forward before backward. */
static enum sutra_status match_op(const struct exact_matching *matching, row_t op, row_t entry) {
    const struct legacy_sides *sides = matching->sides;
    const struct device_side *device = &sides->device;
    const struct strings *names = &sides->names.table;
    const struct sutra_host_trace *trace = sides->host.trace;
    uint32_t name = host_side_name(&sides->host, op);
    row_t node = host_side_node(&sides->host, op);
    if (entry >= device->n)
        return source_error(
            &trace->document.source, matching->error, trace->nodes.text[node],
            "node %u (operator %u) matches operator %u of the device trace, which has only %u operators: try "
            "approximate match, without --exact-match",
            node, op, entry, device->n);
    for (row_t distance = 0; distance <= DISTANCE_MAX; distance++) {
        bool forward = distance < device->n - entry && device->name[entry + distance] == name;
        if (forward || (distance <= entry && device->name[entry - distance] == name)) {
            matching->match[op] = forward ? entry + distance : entry - distance;
            return SUTRA_OK;
        }
    }
    if (names_agree(&sides->names, name, device->name[entry])) {
        matching->match[op] = entry;
        return SUTRA_OK;
    }
    matching->report->mismatch = true;

    /* Log the operators that do not match, and both lists. */
    const struct host_side *host = &sides->host;
    struct legacy_log *log = matching->log;
    if (log->line) {
        log_sizes(matching, "Op", ":");
        log_text(log, "Op index: %u, kineto op name: ", op);
        log_name(matching, device->name[entry]);
        log_text(log, ",kineto op timestamp: ");
        log_number(log, number_at(device->ts, entry));
        log_text(log, ", execution trace op name: ");
        log_name(matching, name);
        log_info(log, ", execution trace op id: %" PRId64, host_side_id(host, op));
    }
    for (row_t i = 0; log->line && i < host->n && i < device->n; i++) {
        log_text(log, "Index: %u, et name: ", i);
        log_name(matching, host_side_name(host, i));
        log_text(log, ", kineto name: ");
        log_name(matching, device->name[i]);
        log_end(log, SUTRA_LEGACY_INFO);
    }
    return source_error(
        &trace->document.source, matching->error, trace->nodes.text[node],
        "node %u (operator %u, \"%.60s\") has no operator of its name within %d positions of operator %u of the device "
        "trace (\"%.60s\"): try approximate match, without --exact-match",
        node, op, strings_text(names, name), DISTANCE_MAX, entry, strings_text(names, device->name[entry]));
}

enum sutra_status exact_match(const struct legacy_sides *sides, struct legacy_log *log,
                              struct sutra_legacy_report *report, row_t *match, struct sutra_error *error) {
    const struct exact_matching matching = {sides, log, report, match, error};
    row_t n = sides->host.n, shift = find_shift(sides);
    report->shift = shift;
    if (shift)
        log_info(log, "shift found between et_nodes, and kineto_et_events. Shift amount: %u", shift);
    memset(match, 0xff, n * sizeof *match);
    if (sides->device.n < n) {
        report->count_mismatch = true;
        log_sizes(&matching, "Ops count", "");
        return SUTRA_OK;
    }
    for (row_t op = 0; op < n; op++) {
        enum sutra_status status = match_op(&matching, op, op + shift);
        if (status)
            return status;
    }

    /* Count device operators that several host operators match. */
    struct arena scratch = {0};
    uint8_t *matched = arena_zeros(&scratch, sides->device.n, 1);
    for (row_t op = 0; op < n && matched; op++) {
        report->n_matched++;
        report->n_matched_twice += matched[match[op]];
        matched[match[op]] = 1;
    }
    enum sutra_status status = arena_status(&scratch, error);
    arena_free(&scratch);
    return status;
}
