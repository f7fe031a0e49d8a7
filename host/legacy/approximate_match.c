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
#include <string.h>

#include "base/bisect.h"
#include "columns/column.h"
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

static struct tree_side side_take(struct arena *arena, row_t n) {
    return (struct tree_side){.n = n,
                              .parent = arena_take(arena, n, sizeof(row_t)),
                              .token = arena_take(arena, n, sizeof(uint32_t)),
                              .row = arena_take(arena, n, sizeof(row_t))};
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

/* The host's tree, in an arena; without memory the arena fails. */
static struct tree_side plant_host(const struct legacy_sides *sides, const struct planting *planting,
                                   struct arena *arena) {
    const struct host_side *host = &sides->host;
    struct tree_side side = side_take(arena, host->n);
    row_t root = ROW_NONE;
    for (row_t op = 0; op < host->n && !arena->failed; op++) {
        side.token[op] = token_of(&sides->names, host_side_name(host, op));
        side.parent[op] = host->parent[op];
        root = host->parent[op] == ROW_NONE ? op : root;
    }
    if (!arena->failed)
        side.lists = sibling_lists_make(arena, side.parent, side.n);
    if (!arena->failed)
        side.tree = sibling_lists_flatten(&side.lists, root, side.token, planting->max_depth, arena, side.row);
    return side;
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
        row_t entry = side->row[i];
        if (device->event[entry] == ROW_NONE) {
            end = tree->last[i] + 1;
            continue;
        }
        struct number until = entry_end(device, entry, 1);
        struct bisection at = {tree->last[i] + 1, end};
        while (at.low < at.high)
            bisect(&at, number_compare(number_at(device->ts, side->row[bisect_middle(at)]), until) <= 0);
        tree->reach[i] = at.low - 1;
    }
}

/* Lists the device's operators below their callers, its threads in the order of the host's. */
static void list_callers(const struct legacy_sides *sides, const struct planting *planting,
                         const struct call_tree *host, struct arena *arena, struct tree_side *side) {
    const struct device_side *device = &sides->device;
    row_t *top = arena_take(arena, device->n_threads, sizeof *top);
    row_t *order = arena_take(arena, device->n_threads, sizeof *order);
    if (arena->failed)
        return;
    find_callers(device, planting->older ? 0 : 1, side->parent, top);
    struct sibling_lists lists = sibling_lists_make(arena, side->parent, side->n);
    thread_pairs(host, sides->names.thread, side->token, device->thread, device->n, device->n_threads,
                 sides->names.table.n + 1, arena, order);
    if (!planting->older && !arena->failed)
        reorder_threads(device, &lists, order, top);
    side->lists = lists;
}

/* The device's tree, in an arena; without memory the arena fails. */
static struct tree_side plant_device(const struct legacy_sides *sides, const struct planting *planting,
                                     const struct call_tree *host, struct arena *arena) {
    const struct device_side *device = &sides->device;
    struct tree_side side = side_take(arena, device->n);
    for (row_t i = 0; i < device->n && !arena->failed; i++)
        side.token[i] = token_of(&sides->names, device->name[i]);
    list_callers(sides, planting, host, arena, &side);
    if (!arena->failed)
        side.tree = sibling_lists_flatten(&side.lists, 0, side.token, planting->max_depth, arena, side.row);
    if (!arena->failed && !planting->older)
        widen_reach(device, &side);
    return side;
}

/* Both sides as trees, and what comes of comparing them. */
struct tree_match {
    const struct legacy_sides *sides;
    struct tree_side host, device;
    row_t *match; /* per position of the host's tree: one of the device's, or ROW_NONE */
};

static void log_op(struct legacy_log *log, const char *what, const struct strings *names, uint32_t name) {
    log_text(log, "%s", what);
    log_bytes(log, strings_text(names, name), strings_length(names, name));
}

/* Names the first operators of both sides that have no partner. */
static void log_unmatched(const struct tree_match *trees, const uint8_t *taken, struct legacy_log *log) {
    const struct host_side *host = &trees->sides->host;
    const struct device_side *device = &trees->sides->device;
    const struct strings *names = &trees->sides->names.table;
    row_t n = 0;
    for (row_t i = 0; i < trees->host.tree.n && n < SUTRA_LEGACY_UNMATCHED; i++) {
        row_t op = trees->host.row[i];
        if (trees->match[i] != ROW_NONE)
            continue;
        n++;
        log_op(log, "Unmatched in the execution trace: ", names, host_side_name(host, op));
        log_info(log, ", id: %" PRId64, host_side_id(host, op));
    }
    n = 0;
    for (row_t i = 0; i < trees->device.tree.n && n < SUTRA_LEGACY_UNMATCHED; i++) {
        row_t entry = trees->device.row[i];
        if (taken[i])
            continue;
        n++;
        log_op(log, "Unmatched in the kineto trace: ", names, device->name[entry]);
        log_text(log, ", timestamp: ");
        log_number(log, number_at(device->ts, entry));
        log_end(log, SUTRA_LEGACY_INFO);
    }
}

/* Hands the matched positions over to the operators, and tells about them; `taken` are zeros for the device's. */
static void take_match(const struct tree_match *trees, uint8_t *taken, struct legacy_log *log,
                       struct sutra_legacy_report *report, row_t *match) {
    row_t n = trees->host.tree.n;
    for (row_t i = 0; i < n; i++) {
        if (trees->match[i] == ROW_NONE)
            continue;
        match[trees->host.row[i]] = trees->device.row[trees->match[i]];
        taken[trees->match[i]] = 1;
        report->n_matched++;
    }
    report->edit_cost = (uint64_t)n + trees->device.tree.n - 2 * report->n_matched;
    log_info(log, "Approximate match: %" PRIu64 " of %u operators (%.1f %%), edit cost: %" PRIu64, report->n_matched, n,
             100.0 * (double)report->n_matched / n, report->edit_cost);
    log_unmatched(trees, taken, log);
}

/* Process and threads, which match in any two traces, do not count. */
static enum sutra_status judge_share(const struct tree_match *trees, double min_match, struct sutra_error *error) {
    const struct legacy_names *names = &trees->sides->names;
    const struct call_tree *tree = &trees->host.tree;
    row_t n = 0, n_matched = 0;
    for (row_t i = 0; i < tree->n; i++) {
        bool marker = tree->token[i] == names->process || tree->token[i] == names->thread;
        n += !marker;
        n_matched += !marker && trees->match[i] != ROW_NONE;
    }
    if ((double)n_matched >= min_match * n)
        return SUTRA_OK;
    return error_file(
        error, SUTRA_DATA, trees->sides->host.trace->document.source.name,
        "approximate match matches only %u of %u operators (%.3f, at least %.3f required): check that both traces are "
        "of the same run, or lower --min-match",
        n_matched, n, (double)n_matched / n, min_match);
}

/* Matches what has a record-function id in common. */
static enum sutra_status match_ids(const struct tree_match *trees, struct sutra_context *context, struct arena *arena,
                                   struct sutra_error *error) {
    const struct host_side *host = &trees->sides->host;
    const struct device_side *device = &trees->sides->device;
    const struct call_tree *a = &trees->host.tree, *b = &trees->device.tree;
    struct arena_mark mark = arena_mark(arena);
    value_key *host_id = arena_take(arena, a->n, sizeof *host_id);
    value_key *device_id = arena_take(arena, b->n, sizeof *device_id);
    enum sutra_status status = arena_status(arena, error);
    for (row_t i = 0; i < a->n && !status; i++)
        host_id[i] = host->trace->nodes.rf[host_side_node(host, trees->host.row[i])];
    for (row_t i = 0; i < b->n && !status; i++) {
        row_t event = device->event[trees->device.row[i]];
        device_id[i] = event == ROW_NONE ? KEY_NULL : device->trace->events.rf[event];
    }
    if (!status)
        status = id_anchors(context, a, host_id, b, device_id, trees->match, error);
    arena_release(arena, mark);
    return status;
}

/* The k-th operators belong together if there are equally many, whatever their names; else the trees are aligned. */
static enum sutra_status match_positions(const struct tree_match *trees, struct sutra_context *context,
                                         struct legacy_log *log, struct sutra_error *error) {
    const struct call_tree *host = &trees->host.tree, *device = &trees->device.tree;
    log_info(log, "Kineto tree nodes number: %u", device->n);
    log_info(log, "ET tree nodes number: %u", host->n);
    log_info(log, host->n == device->n ? "Graphs are isomorphic" : "Graphs are not isomorphic");
    if (host->n != device->n)
        return tree_align(host, device, context->pool, trees->match, error);
    for (row_t i = 0; i < host->n; i++)
        trees->match[i] = i;
    return SUTRA_OK;
}

static enum sutra_status match_trees(const struct tree_match *trees, struct sutra_context *context, bool positional,
                                     struct legacy_log *log, struct arena *arena, struct sutra_error *error) {
    if (positional)
        return match_positions(trees, context, log, error);
    enum sutra_status status = match_ids(trees, context, arena, error);
    return status ? status : tree_align(&trees->host.tree, &trees->device.tree, context->pool, trees->match, error);
}

static struct tree_match plant(const struct legacy_sides *sides, const struct planting *planting, struct arena *arena) {
    struct tree_match trees = {.sides = sides, .host = plant_host(sides, planting, arena)};
    if (!arena->failed)
        trees.device = plant_device(sides, planting, &trees.host.tree, arena);
    trees.match = rows_none(arena, trees.host.tree.n);
    return trees;
}

enum sutra_status approximate_match(const struct legacy_sides *sides, struct sutra_context *context,
                                    const struct sutra_legacy_options *options, struct legacy_log *log,
                                    struct sutra_legacy_report *report, row_t *match, struct sutra_error *error) {
    struct arena scratch = {0};
    const struct planting planting = {options->positional ? OLDER_DEPTH : options->max_depth, options->positional};
    const struct tree_match trees = plant(sides, &planting, &scratch);
    uint8_t *taken = arena_zeros(&scratch, trees.device.tree.n, 1);
    enum sutra_status status = arena_status(&scratch, error);
    report->aligned = true;
    memset(match, 0xff, sides->host.n * sizeof *match);
    if (!status)
        status = match_trees(&trees, context, options->positional, log, &scratch, error);
    if (!status) {
        take_match(&trees, taken, log, report, match);
        status = judge_share(&trees, options->min_match, error);
    }
    arena_free(&scratch);
    return status;
}
