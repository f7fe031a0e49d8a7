/*
 * match.c - matches the operators of both traces: exactly, by names and numbers (op_match.h), or as the older program
 * does without exact match.
 *
 * Exact match: by position and name.
 *
 *     host     0  1  2  3  4 | 5  6  7 ... 14 | 15 ...
 *     device   0  1  2  3  4  5  6 | 7  8 ... 16 | ...        the same ten names, 2 positions later: the shift is 2
 *
 * Each host operator matches the nearest device operator with its name, at most 20 positions from its shifted position.
 * Several host operators may match one device operator. O(n).
 *
 * Match by names: the operators of the iteration with all operators of the device trace. The operators that match
 * determine the step of the device trace:
 *
 *     device operators   . . . a b c d e . . . .        cost as in op_match.h
 *     the segment              |_______|                from the first matched operator to the end of the last one,
 *                                                       and as many more as the host trace has before and after them
 *
 * Positional match, as in the older program: both call trees in pre-order, by position if their sizes are equal, else
 * aligned.
 */
#include <inttypes.h>
#include <string.h>

#include "align/op_fields.h"
#include "align/tree_align.h"
#include "base/error.h"
#include "base/shared.h"
#include "columns/column.h"
#include "columns/hash_tables.h"
#include "facts/times.h"
#include "legacy/legacy.h"
#include "read/event_columns.h"

/* Names that match have the same token. */
static uint32_t token_of(const struct legacy_names *names, uint32_t name) {
    return names->iteration[name] ? names->table.n : names->renamed[name];
}

/* ---- Call trees in pre-order ---- */

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
                              .parent = rows_none(arena, n),
                              .token = arena_alloc(arena, n, sizeof(uint32_t)),
                              .row = arena_alloc(arena, n, sizeof(row_t))};
}

/* Lists the children of each parent in row order, and builds the tree. Without memory the arena fails. */
static void flatten(struct tree_side *side, row_t root, uint32_t max_depth, struct arena *arena) {
    struct sibling_lists lists = {side->n, side->parent, rows_none(arena, side->n), rows_none(arena, side->n)};
    for (row_t i = side->n; i-- > 0 && !arena->failed;) {
        if (side->parent[i] == ROW_NONE)
            continue;
        lists.next[i] = lists.first[side->parent[i]];
        lists.first[side->parent[i]] = i;
    }
    if (!arena->failed)
        side->tree = sibling_lists_flatten(&lists, root, side->token, max_depth, arena, side->row);
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
    flatten(&side, root, max_depth, arena);
    return side;
}

/* Builds the device's tree, in the arena; without memory the arena fails. */
static struct tree_side build_device_tree(const struct legacy_sides *sides, uint32_t max_depth, struct arena *arena) {
    const struct device_side *device = &sides->device;
    struct tree_side side = side_alloc(arena, device->n);
    row_t *top = arena_alloc(arena, device->n_threads, sizeof *top); /* the innermost open entry of each thread */
    for (row_t i = 0; i < device->n && !arena->failed; i++) {
        row_t thread = device->thread[i];
        side.token[i] = token_of(&sides->names, device->name[i]);
        if (thread == ROW_NONE)
            continue;
        row_t above = device->event[i] == ROW_NONE ? 0 : top[thread];
        while (device->event[above] != ROW_NONE &&
               number_compare(number_add(number_at(device->ts, above), number_at(device->dur, above)),
                              number_at(device->ts, i)) <= 0)
            above = side.parent[above];
        side.parent[i] = above;
        top[thread] = i;
    }
    flatten(&side, 0, max_depth, arena);
    return side;
}

/* ---- Report ---- */

/* How an operator counts. */
enum match_use {
    USE_NONE,     /* too deep */
    USE_MARKER,   /* in the edit cost: process, threads and profiler steps, which any two traces have */
    USE_OPERATOR, /* also in the share of matched operators */
};

static void log_op(struct legacy_log *log, const char *text, const struct strings *names, uint32_t name) {
    log_text(log, "%s", text);
    log_bytes(log, strings_text(names, name), strings_length(names, name));
}

/* Counts the matched operators, logs the first unmatched ones of both sides, and checks the share. `use` is per host
 * operator, `device_use` per entry of the device's list; matched entries become USE_NONE. */
static enum sutra_status report_match(const struct legacy_sides *sides, const uint8_t *use, uint8_t *device_use,
                                      const row_t *match, double min_match, struct legacy_log *log,
                                      struct sutra_legacy_report *report, struct sutra_error *error) {
    const struct host_side *host = &sides->host;
    const struct device_side *device = &sides->device;
    const struct strings *names = &sides->names.table;
    row_t n_used = 0, n_device = 0, n_ops = 0, n_matched = 0;
    for (row_t i = 0; i < device->n; i++)
        n_device += device_use[i] != USE_NONE;
    for (row_t op = 0; op < host->n; op++) {
        n_used += use[op] != USE_NONE;
        n_ops += use[op] == USE_OPERATOR;
        if (match[op] == ROW_NONE)
            continue;
        report->n_matched++;
        n_matched += use[op] == USE_OPERATOR;
        device_use[match[op]] = USE_NONE;
    }
    report->edit_cost = (uint64_t)n_used + n_device - 2 * report->n_matched;
    log_info(log, "Approximate match: %" PRIu64 " of %u operators (%.1f %%), edit cost: %" PRIu64, report->n_matched,
             n_used, 100.0 * (double)report->n_matched / n_used, report->edit_cost);
    for (row_t op = 0, n = 0; op < host->n && n < SUTRA_LEGACY_UNMATCHED; op++) {
        if (use[op] == USE_NONE || match[op] != ROW_NONE)
            continue;
        n++;
        log_op(log, "Unmatched in the execution trace: ", names, host_side_name(host, op));
        log_info(log, ", id: %" PRId64, host_side_id(host, op));
    }
    for (row_t i = 0, n = 0; i < device->n && n < SUTRA_LEGACY_UNMATCHED; i++) {
        if (device_use[i] == USE_NONE)
            continue;
        n++;
        log_op(log, "Unmatched in the kineto trace: ", names, device->name[i]);
        log_text(log, ", timestamp: ");
        log_number(log, number_at(device->ts, i));
        log_end(log, SUTRA_LEGACY_INFO);
    }
    if ((double)n_matched >= min_match * n_ops)
        return SUTRA_OK;
    return error_file(
        error, SUTRA_DATA, host->trace->document.source.name,
        "approximate match matches only %u of %u operators (%.3f, at least %.3f required): check that both traces are "
        "of the same run, or lower --min-match",
        n_matched, n_ops, (double)n_matched / n_ops, min_match);
}

enum sutra_status positional_match(const struct legacy_sides *sides, struct sutra_context *context, double min_match,
                                   struct legacy_log *log, struct sutra_legacy_report *report, row_t *match,
                                   struct arena *scratch, struct sutra_error *error) {
    const struct tree_side host = build_host_tree(sides, OLDER_DEPTH, scratch);
    const struct tree_side device = build_device_tree(sides, OLDER_DEPTH, scratch);
    const row_t n = host.tree.n;
    row_t *found = rows_none(scratch, n);
    uint8_t *use = arena_zeros(scratch, sides->host.n, 1), *device_use = arena_zeros(scratch, sides->device.n, 1);
    TRY(arena_status(scratch, error));
    report->aligned = true;
    memset(match, 0xff, sides->host.n * sizeof *match);
    log_info(log, "Kineto tree nodes number: %u", device.tree.n);
    log_info(log, "ET tree nodes number: %u", n);
    log_info(log, n == device.tree.n ? "Graphs are isomorphic" : "Graphs are not isomorphic");

    /* Trees of equal size match by position in the older program, regardless of names. */
    for (row_t i = 0; i < n && n == device.tree.n; i++)
        found[i] = i;
    if (n != device.tree.n)
        TRY(tree_align(&host.tree, &device.tree, context->pool, found, error));
    for (row_t i = 0; i < n; i++) {
        const uint32_t token = host.tree.token[i];
        use[host.row[i]] = token == sides->names.process || token == sides->names.thread ? USE_MARKER : USE_OPERATOR;
        if (found[i] != ROW_NONE)
            match[host.row[i]] = device.row[found[i]];
    }
    for (row_t i = 0; i < device.tree.n; i++)
        device_use[device.row[i]] = USE_OPERATOR;
    return report_match(sides, use, device_use, match, min_match, log, report, error);
}

/* ---- Match by names ---- */

enum sutra_status legacy_ops_read(struct legacy_ops *ops, struct sutra_context *context,
                                  const struct legacy_sides *sides, uint32_t max_depth, struct arena *arena,
                                  struct sutra_error *error) {
    const struct host_side *host = &sides->host;
    const struct device_side *device = &sides->device;
    const struct device_events *events = &device->trace->events;
    struct node_fields fields;
    struct pair_table threads;
    row_t *node = arena_alloc(arena, host->n, sizeof *node), n = 0;
    *ops = (struct legacy_ops){.op = arena_alloc(arena, host->n, sizeof *ops->op),
                               .thread = rows_none(arena, host->n),
                               .device = op_side_alloc(arena, device->n_cpu)};
    TRY(arena_status(arena, error));
    for (row_t op = 0; op < host->n; op++)
        node[op] = host_side_node(host, op);
    TRY(node_fields_read(&fields, context, host->trace, node, host->n, &sides->names.table, arena, error));
    for (row_t op = 0; op < host->n; op++)
        if (fields.kind[op] == NODE_OPERATOR && host->parent[op] != ROW_NONE)
            ops->op[n++] = op;

    /* The host's operators. Operators below a profiler step, which the device's side lacks, are below its parent. */
    ops->host = op_side_alloc(arena, n);
    row_t *above = rows_none(arena, host->n); /* per host operator: the nearest row that is this operator or above it */
    if (arena->failed || !pair_table_init(&threads))
        return error_memory(error);
    for (row_t op = 0, row = 0; op < host->n; op++) {
        const row_t parent = host->parent[op], outer = parent < op ? above[parent] : ROW_NONE;
        above[op] = outer;
        if (row == n || ops->op[row] != op)
            continue;
        struct pair_entry *thread = pair_table_insert(&threads, (uint64_t)fields.tid[op], 0);
        if (!thread) {
            pair_table_free(&threads);
            return error_memory(error);
        }
        if (thread->number == PAIR_NONE)
            thread->number = ops->host.n_threads++;
        ops->host.thread[row] = thread->number;
        ops->host.token[row] = token_of(&sides->names, host_side_name(host, op));
        ops->host.sequence[row] = fields.sequence[op];
        ops->host.collective[row] = fields.collective[op];
        if (outer != ROW_NONE && ops->host.thread[outer] == thread->number)
            ops->host.parent[row] = outer;
        above[op] = row++;
    }
    for (row_t op = 0; op < host->n; op++)
        ops->thread[op] = pair_table_find(&threads, (uint64_t)fields.tid[op], 0);
    pair_table_free(&threads);

    /* The device's operators. */
    struct key_index index = {0};
    for (row_t i = 0; i < device->n_cpu; i++)
        ops->device.token[i] = token_of(&sides->names, events->name[device->cpu[i]]);
    TRY(threads_number(events, device->cpu, device->n_cpu, &context->engine, arena, &index, ops->device.thread,
                       &ops->device.n_threads, error));
    key_index_free(&index);
    op_side_nest(&ops->device, events, device->cpu, arena);
    TRY(arena_status(arena, error));
    TRY(event_numbers_read(&ops->device, context, device->trace, device->cpu, error));
    if (max_depth == 0)
        return SUTRA_OK;

    /* Operators that are too deep have no token. The process is level 1, a thread level 2. */
    const struct tree_side tree = build_host_tree(sides, max_depth, arena);
    uint8_t *kept = arena_zeros(arena, host->n, 1);
    uint32_t *depth = arena_alloc(arena, ops->device.n, sizeof *depth);
    TRY(arena_status(arena, error));
    for (row_t i = 0; i < tree.tree.n; i++)
        kept[tree.row[i]] = 1;
    for (row_t i = 0; i < n; i++)
        if (!kept[ops->op[i]])
            ops->host.token[i] = TOKEN_NONE;
    for (row_t i = 0; i < ops->device.n; i++) {
        depth[i] = ops->device.parent[i] == ROW_NONE ? 3 : depth[ops->device.parent[i]] + 1;
        if (depth[i] > max_depth)
            ops->device.token[i] = TOKEN_NONE;
    }
    return SUTRA_OK;
}

/* Numbers in common: of host operators, the ones whose number a device operator of the same name has. */
static enum sutra_status count_common(const struct legacy_ops *ops, const value_key *host, const value_key *device,
                                      row_t *n_common, struct sutra_error *error) {
    struct pair_table table; /* of numbers and tokens */
    *n_common = 0;
    TRY_ALLOC(pair_table_init(&table), error);
    bool ok = true;
    for (row_t i = 0; i < ops->device.n && ok; i++)
        ok = device[i] == KEY_ABSENT || pair_table_insert(&table, (uint64_t)device[i], ops->device.token[i]);
    for (row_t i = 0; i < ops->host.n && ok; i++)
        *n_common += host[i] != KEY_ABSENT && pair_table_seek(&table, (uint64_t)host[i], ops->host.token[i]) != NULL;
    pair_table_free(&table);
    return ok ? SUTRA_OK : error_memory(error);
}

static value_key nonzero_id(value_key id) {
    return key_is_value(id) && id != 0 ? id : KEY_ABSENT;
}

enum sutra_status legacy_ops_match(const struct legacy_ops *ops, struct sutra_context *context,
                                   const struct legacy_sides *sides, struct arena *arena, struct op_match *match,
                                   struct sutra_error *error) {
    struct op_side host = ops->host, device = ops->device;
    value_key *host_id = arena_alloc(arena, host.n, sizeof *host_id);
    value_key *device_id = arena_alloc(arena, device.n, sizeof *device_id);
    row_t n_ids = 0, n_sequences = 0;
    TRY(arena_status(arena, error));
    for (row_t i = 0; i < host.n; i++)
        host_id[i] = nonzero_id(sides->host.trace->nodes.rf[host_side_node(&sides->host, ops->op[i])]);
    for (row_t i = 0; i < device.n; i++)
        device_id[i] = nonzero_id(sides->device.trace->events.rf[sides->device.cpu[i]]);
    TRY(count_common(ops, host_id, device_id, &n_ids, error));
    TRY(count_common(ops, host.sequence, device.sequence, &n_sequences, error));
    if (n_ids > 0 && n_ids >= n_sequences) {
        host.sequence = host_id;
        device.sequence = device_id;
    }
    return ops_match(context, &host, &device, sides->names.table.n + 1, arena, match, error);
}

enum sutra_status names_match(struct legacy_sides *sides, struct sutra_context *context, const struct legacy_ops *ops,
                              const struct op_match *found, double min_match, struct legacy_log *log,
                              struct sutra_legacy_report *report, struct arena *arena, struct arena *scratch,
                              row_t *match, struct sutra_error *error) {
    const struct host_side *host = &sides->host;
    struct device_side *device = &sides->device;
    report->aligned = true;

    /* The segment: from the first matched operator to the last one, or to the last child of a matched one. */
    row_t first = ROW_NONE, last = 0;
    for (row_t i = 0; i < ops->device.n; i++) {
        const row_t parent = ops->device.parent[i];
        if (found->host[i] != ROW_NONE)
            first = MIN(first, i);
        if (found->host[i] != ROW_NONE || (parent != ROW_NONE && found->host[parent] != ROW_NONE))
            last = i;
    }
    if (first != ROW_NONE) {
        /* Unmatched operators at the ends may be the unmatched ones of the host's side. */
        row_t before = 0, after = 0;
        while (found->device[before] == ROW_NONE)
            before++;
        while (found->device[ops->host.n - 1 - after] == ROW_NONE)
            after++;
        first -= MIN(first, before);
        last += MIN(ops->device.n - 1 - last, after);
        device->segment = first;
        device->n_segment = last - first + 1;
        log_info(log, "The execution trace matches operators %u to %u of %u of the kineto trace", first, last,
                 device->n_cpu);
    }
    TRY(device_side_list(device, context, &sides->names, arena, error));
    report->n_device_ops = device->n;

    /* Operators match list entries. A thread's node matches the marker of the partner thread, once. */
    row_t *entry = rows_none(scratch, device->n_cpu), row = device->segment;
    row_t *list_marker = rows_none(scratch, device->n_threads), *marker = rows_none(scratch, ops->device.n_threads);
    uint8_t *use = arena_alloc(scratch, host->n, 1), *device_use = arena_alloc(scratch, device->n, 1);
    TRY(arena_status(scratch, error));
    for (row_t i = 0; i < device->n; i++) {
        if (device->event[i] == ROW_NONE) {
            device_use[i] = USE_MARKER;
            if (i > 0)
                list_marker[device->thread[i]] = i;
            continue;
        }
        entry[row] = i;
        marker[ops->device.thread[row]] = list_marker[device->thread[i]];
        device_use[i] = ops->device.token[row++] == TOKEN_NONE ? USE_NONE : USE_OPERATOR;
    }
    for (row_t op = 0; op < host->n; op++) {
        match[op] = ROW_NONE;
        use[op] = USE_MARKER;
    }
    for (row_t i = 0; i < ops->host.n; i++) {
        use[ops->op[i]] = ops->host.token[i] == TOKEN_NONE ? USE_NONE : USE_OPERATOR;
        if (found->device[i] != ROW_NONE)
            match[ops->op[i]] = entry[found->device[i]];
    }
    for (row_t op = 0; op < host->n; op++) {
        const uint32_t token = token_of(&sides->names, host_side_name(host, op));
        if (token == sides->names.process && host->parent[op] == ROW_NONE)
            match[op] = 0;
        if (token != sides->names.thread || ops->thread[op] == ROW_NONE)
            continue;
        const row_t partner = found->host_partner[ops->thread[op]];
        if (partner != ROW_NONE) {
            match[op] = marker[partner];
            marker[partner] = ROW_NONE;
        }
    }
    return report_match(sides, use, device_use, match, min_match, log, report, error);
}

enum sutra_status count_numbers(const struct legacy_sides *sides, struct sutra_context *context, const row_t *match,
                                struct number_counts *counts, struct arena *scratch, struct sutra_error *error) {
    static const struct requested_field sequence = {SEQUENCE_FIELD, ASK_KEY, false};
    const struct host_side *host = &sides->host;
    struct requested_column column;
    row_t n = 0, *op = arena_alloc(scratch, host->n, sizeof *op), *event = arena_alloc(scratch, host->n, sizeof *op);
    TRY(arena_status(scratch, error));
    *counts = (struct number_counts){0};
    for (row_t i = 0; i < host->n; i++) {
        if (match[i] == ROW_NONE || host_side_sequence(host, i) == KEY_ABSENT)
            continue;
        op[n] = i;
        event[n] = sides->device.event[match[i]];
        n += event[n] != ROW_NONE;
    }
    if (n)
        TRY(event_columns_request(context, sides->device.trace, &sequence, 1, event, n, &column, error));
    for (row_t i = 0; i < n; i++) {
        const value_key number = column.key[event[i]];
        if (!key_is_integer(number) || number < 0)
            continue;
        counts->n_equal += number == host_side_sequence(host, op[i]);
        counts->n_different += number != host_side_sequence(host, op[i]);
    }
    return SUTRA_OK;
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
        log_text(log, "Op index: %u, ", op);
        log_op(log, "kineto op name: ", names, device->name[entry]);
        log_text(log, ",kineto op timestamp: ");
        log_number(log, number_at(device->ts, entry));
        log_op(log, ", execution trace op name: ", names, name);
        log_info(log, ", execution trace op id: %" PRId64, host_side_id(host, op));
    }
    for (row_t i = 0; log->line && i < host->n && i < device->n; i++) {
        log_text(log, "Index: %u, ", i);
        log_op(log, "et name: ", names, host_side_name(host, i));
        log_op(log, ", kineto name: ", names, device->name[i]);
        log_end(log, SUTRA_LEGACY_INFO);
    }
    return source_error(
        &trace->document.source, matching->error, trace->nodes.text[node],
        "node %u (operator %u, \"%.60s\") has no operator of its name within %d positions of operator %u of the device "
        "trace (\"%.60s\"): try approximate match, without --exact-match",
        node, op, strings_text(names, name), DISTANCE_MAX, entry, strings_text(names, device->name[entry]));
}

enum sutra_status exact_match(const struct legacy_sides *sides, struct legacy_log *log,
                              struct sutra_legacy_report *report, row_t *match, struct arena *scratch,
                              struct sutra_error *error) {
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
    for (row_t op = 0; op < n; op++)
        TRY(match_op(&matching, op, op + shift));

    /* Count device operators that several host operators match. */
    uint8_t *matched = arena_zeros(scratch, sides->device.n, 1);
    for (row_t op = 0; op < n && matched; op++) {
        report->n_matched++;
        report->n_matched_twice += matched[match[op]];
        matched[match[op]] = 1;
    }
    return arena_status(scratch, error);
}
