/*
 * match.c - matching the two lists of operators by their positions and names.
 *
 *     host     0  1  2  3  4 | 5  6  7 ... 14 | 15 ...
 *     device   0  1  2  3  4  5  6 | 7  8 ... 16 | ...        the same ten names, 2 places later: the shift is 2
 *
 * Then each host operator takes the nearest device operator of its name, at most 20 places from where the shift puts
 * it. Device operators are not used up: several host operators may take one. O(n).
 */
#include <float.h>
#include <inttypes.h>
#include <math.h>
#include <string.h>

#include "base/error.h"
#include "base/shared.h"
#include "columns/column.h"
#include "columns/hash_tables.h"
#include "legacy/align.h"
#include "legacy/legacy.h"
#include "legacy/match.h"

/*
 * Lists of children, and walking them without recursion. O(n).
 */

/* Children come in the order of their rows. The lists live in the arena, which must not have failed; without memory it
 * has then. */
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

struct call_tree sibling_lists_flatten(const struct sibling_lists *lists, row_t root, const uint32_t *token,
                                       uint32_t max_depth, struct arena *arena, row_t *row) {
    struct call_tree tree = call_tree_take(arena, lists->n);
    struct arena_mark mark = arena_mark(arena);
    row_t *position = arena_take(arena, lists->n, sizeof *position);
    if (arena->failed)
        return tree;
    uint32_t depth = 1;
    tree.n = 0;
    for (row_t at = root; at != ROW_NONE;) {
        row[tree.n] = at;
        position[at] = tree.n;
        tree.token[tree.n] = token[at];
        tree.parent[tree.n++] = at == root ? ROW_NONE : position[lists->parent[at]];
        if (lists->first[at] != ROW_NONE && depth != max_depth) {
            at = lists->first[at];
            depth++;
            continue;
        }
        for (; at != root && lists->next[at] == ROW_NONE; depth--)
            at = lists->parent[at];
        at = at == root ? ROW_NONE : lists->next[at];
    }
    arena_release(arena, mark);
    call_tree_finish(&tree);
    return tree;
}

/*
 * Comparing threads by how often each operator occurs in them.
 */

/* Most comparisons of counts. */
#define WORK_MAX ((uint64_t)1 << 26)

struct thread_pairing {
    row_t n_host, n_threads;
    uint32_t n_tokens;
    uint32_t *host_counts, *counts; /* of one host thread; of each device thread */
    uint64_t *common;               /* per host and device thread */
    row_t *host_thread;             /* positions in the host's tree */
    row_t *partner;                 /* per host thread */
    uint8_t *taken;
};

static row_t list_host_threads(const struct call_tree *host, uint32_t thread_token, row_t *list) {
    row_t n = 0;
    for (row_t i = 1; i < host->n; i = host->last[i] + 1)
        if (host->token[i] == thread_token)
            list[n++] = i;
    return n;
}

static void compare(struct thread_pairing *pairing, const struct call_tree *host) {
    for (row_t h = 0; h < pairing->n_host; h++) {
        memset(pairing->host_counts, 0, pairing->n_tokens * sizeof *pairing->host_counts);
        for (row_t i = pairing->host_thread[h]; i <= host->last[pairing->host_thread[h]]; i++)
            pairing->host_counts[host->token[i]]++;
        for (row_t t = 0; t < pairing->n_threads; t++) {
            const uint32_t *counts = pairing->counts + (size_t)t * pairing->n_tokens;
            uint64_t common = 0;
            for (uint32_t k = 0; k < pairing->n_tokens; k++)
                common += counts[k] < pairing->host_counts[k] ? counts[k] : pairing->host_counts[k];
            pairing->common[(size_t)h * pairing->n_threads + t] = common;
        }
    }
}

/* The best pair of all that are left, again and again; the first among equals. */
static void choose(struct thread_pairing *pairing) {
    row_t rounds = pairing->n_host < pairing->n_threads ? pairing->n_host : pairing->n_threads;
    for (; rounds > 0; rounds--) {
        row_t best_host = ROW_NONE, best = 0;
        for (row_t h = 0; h < pairing->n_host; h++)
            for (row_t t = 0; t < pairing->n_threads; t++) {
                if (pairing->partner[h] != ROW_NONE || pairing->taken[t])
                    continue;
                bool better =
                    best_host == ROW_NONE || pairing->common[(size_t)h * pairing->n_threads + t] >
                                                 pairing->common[(size_t)best_host * pairing->n_threads + best];
                if (better) {
                    best_host = h;
                    best = t;
                }
            }
        pairing->partner[best_host] = best;
        pairing->taken[best] = 1;
    }
}

static void write_order(const struct thread_pairing *pairing, row_t *order) {
    row_t n = 0;
    for (row_t h = 0; h < pairing->n_host; h++)
        if (pairing->partner[h] != ROW_NONE)
            order[n++] = pairing->partner[h];
    for (row_t t = 0; t < pairing->n_threads; t++)
        if (!pairing->taken[t])
            order[n++] = t;
}

/* Pairs threads where that is little work. */
static void pair_threads(struct thread_pairing *pairing, const struct call_tree *host, const uint32_t *token,
                         const row_t *thread, row_t n_entries, struct arena *arena, row_t *order) {
    size_t n_tokens = pairing->n_tokens, n_threads = pairing->n_threads;
    pairing->host_counts = arena_take(arena, n_tokens, sizeof *pairing->host_counts);
    pairing->counts = arena_zeros(arena, n_threads * n_tokens, sizeof *pairing->counts);
    pairing->common = arena_take(arena, pairing->n_host * n_threads, sizeof *pairing->common);
    pairing->partner = rows_none(arena, pairing->n_host);
    pairing->taken = arena_zeros(arena, n_threads, 1);
    if (arena->failed)
        return;
    for (row_t i = 0; i < n_entries; i++)
        if (thread[i] != ROW_NONE)
            pairing->counts[thread[i] * n_tokens + token[i]]++;
    compare(pairing, host);
    choose(pairing);
    write_order(pairing, order);
}

/* order[] = the device's n_threads threads in the order in which their partners stand in the host's tree: each host
 * thread (a child of the root with the token `thread_token`) takes the one that has most operators in common with it;
 * threads without a partner come last. thread[i] is the number of list entry i (ROW_NONE: none). Without memory the
 * arena fails. O(threads^2 * tokens), and threads stay as they are where that would be much. */
static void thread_pairs(const struct call_tree *host, uint32_t thread_token, const uint32_t *token,
                         const row_t *thread, row_t n_entries, row_t n_threads, uint32_t n_tokens, struct arena *arena,
                         row_t *order) {
    struct arena_mark mark = arena_mark(arena);
    struct thread_pairing pairing = {.n_threads = n_threads, .n_tokens = n_tokens};
    for (row_t t = 0; t < n_threads; t++)
        order[t] = t;
    pairing.host_thread = arena_take(arena, host->n, sizeof *pairing.host_thread);
    pairing.n_host = pairing.host_thread ? list_host_threads(host, thread_token, pairing.host_thread) : 0;
    uint64_t n_pairs = (uint64_t)pairing.n_host * n_threads;
    if (pairing.n_host > 0 && n_threads > 1 && n_pairs < WORK_MAX / 4096 && n_pairs * n_tokens <= WORK_MAX)
        pair_threads(&pairing, host, token, thread, n_entries, arena, order);
    arena_release(arena, mark);
}

/*
 * Matching by the call trees of both sides.
 *
 *     host     parents as the trace has them, children by id
 *     device   process -> threads -> operators; an operator that begins before another of its thread has ended is
 *              below it
 *
 * Both trees are laid out in pre-order, the device's threads in the order of the host's that they resemble most, and
 * aligned (tree_align.h). O(n log n).
 */

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

/*
 * Subtree ends and hashes, from the last position to the first: all below an operator is done before it.
 */

struct call_tree call_tree_take(struct arena *arena, row_t n) {
    return (struct call_tree){.n = n,
                              .token = arena_take(arena, n, sizeof(uint32_t)),
                              .parent = arena_take(arena, n, sizeof(row_t)),
                              .last = arena_take(arena, n, sizeof(row_t)),
                              .reach = arena_take(arena, n, sizeof(row_t)),
                              .hash = arena_take(arena, n, sizeof(uint64_t))};
}

void call_tree_finish(struct call_tree *tree) {
    for (row_t i = 0; i < tree->n; i++) {
        tree->last[i] = i;
        tree->hash[i] = 0x9e3779b97f4a7c15u;
    }
    for (row_t i = tree->n; i-- > 0;) {
        tree->hash[i] =
            hash_fold(tree->hash[i] ^ 0xa0761d6478bd642fu, ((uint64_t)tree->token[i] << 1) ^ 0x8ebc6af09c88c6e3u);
        tree->reach[i] = tree->last[i];
        row_t above = tree->parent[i];
        if (above == ROW_NONE)
            continue;
        if (tree->last[above] < tree->last[i])
            tree->last[above] = tree->last[i];
        tree->hash[above] = hash_fold(tree->hash[above] ^ tree->hash[i], 0xe7037ed1a0b428dbu);
    }
}

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
