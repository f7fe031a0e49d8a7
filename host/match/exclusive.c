/*
 * exclusive.c - durations of operators less what lies inside them; in come the operators of all threads, out goes a
 * number for each.
 *
 * Threads are independent: one task each. A task walks its operators in the order of (start, duration) and keeps those
 * that are still open in a list, latest on top:
 *
 *     A |-----------------------------|        list when E comes: D, A (B and C have ended)
 *     B   |-------|                            D does not hold E, A does: E is taken from A
 *     C     |---|                              D is clean (nothing below it ends before it does),
 *     D               |------|                 A is too, so the walk for E ends at A
 *     E                    |-----|
 *
 * Every open operator that holds the new one takes its interval. Intervals reach an operator in the order of their
 * starts, so it merges and subtracts at once, in Python's order and arithmetic. The walk ends at a clean operator that
 * holds the new one: all below hold that one, and took its interval, which covers the new one.
 *
 * On nested operators a walk takes O(1) steps, over all. Hostile overlaps make the list long; operators between two
 * moments at which nothing is open (an island) that exceed a budget of steps are done by the sweep in
 * exclusive_sweep.c. Where their times are too far apart for that, the island is walked without a budget: each operator
 * then costs as many steps as operators are open.
 */
#include <math.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>

#include "base/arena.h"
#include "base/error.h"
#include "base/shared.h"
#include "match/intervals.h"
#include "match/rules.h"
#include "match/steps.h"
#include "sutra/error.h"

/*
 * What the walk (exclusive.c) and the sweep (exclusive_sweep.c) for exclusive durations share.
 */

/* Operators of one thread, in the order of (start, duration), and where their results go. */
struct exclusive_task {
    const struct cpu_ops *ops;
    const row_t *rows;
    row_t n;
    struct number_column exclusive;
    uint32_t looks_per_search; /* looks at an operator that take as long as searching the sweep's tree */
};

static inline struct number task_start(const struct exclusive_task *task, row_t i) {
    return number_at(task->ops->ts, task->rows[i]);
}

static inline struct number task_dur(const struct exclusive_task *task, row_t i) {
    return number_at(task->ops->dur, task->rows[i]);
}

static inline struct number task_end(const struct exclusive_task *task, row_t i) {
    return number_add(task_start(task, i), task_dur(task, i));
}

/* Writes a result, mended if it is below 0, and counts it if it was. */
static inline void task_settle(const struct exclusive_task *task, row_t row, struct number exclusive, uint64_t n_merged,
                               struct exclusive_anomalies *anomalies) {
    switch (exclusive_settle(&exclusive, number_at(task->ops->dur, row), n_merged)) {
    case EXCLUSIVE_EXACT:
        break;
    case EXCLUSIVE_ROUNDED:
        anomalies->n_rounded++;
        break;
    case EXCLUSIVE_REPLACED:
        anomalies->n_replaced++;
        if (row < anomalies->first_replaced)
            anomalies->first_replaced = row;
    }
    number_put(task->exclusive, row, exclusive);
}

/*
 * Exclusive durations of operators that overlap in any way; in come operators in the order of
 * (start, duration), out goes a number for each, as the walk in exclusive.c would find it.
 *
 * Times become integers on a common grid (the lowest binary digit of any of them). The line is cut at all starts and
 * ends into places: points, and the gaps between neighbours. Going backwards through the order, each place knows
 *
 *     first_end(place) = the earliest end among the intervals so far that cover it
 *
 * so the union of the later intervals inside operator i is all places with first_end <= end of i: every later one
 * starts inside, and lies inside if it ends in time. A Fenwick tree over ends holds for each end the total length of
 * its places, and the number of its points less that of its gaps; the latter, summed, is the number of merged
 * intervals, as each has one point more than gaps. Then i itself is laid over its places: first_end becomes at most its
 * end. That is a range minimum on a segment tree whose nodes know their largest value and the next largest: a node
 * whose next largest is below the new end only renames its largest. Renaming costs O(log n) in the Fenwick tree and
 * happens O(n log n) times in all: O(n log^2 n), and about 600 bytes an operator. Numbers on the grid have 128 bits, as
 * decimals near 0 have digits far below those of the last times.
 *
 * One sum is what Python's successive subtractions give if all their results can be held by a double (see is_exact()).
 * Where that cannot be shown, or where integers and doubles are mixed, the merged intervals are subtracted one by one
 * in Python's order: the tree finds where the next one begins and ends, at O(log n) for each, or all operators that
 * begin inside are looked at, if those are fewer. That is counted. What lies inside begins no earlier, so only digits
 * of times from there on matter: among doubles with starts as large as durations that does not happen.
 */

#define MOST_OPS  ((row_t)1 << 29) /* so that numbers of places fit 32 bits */
#define FAR_POINT 0x1p125

/* The places of a segment tree's node; ends are numbers of points, counted from 1. */
struct node {
    uint32_t first_end; /* the largest of its places'; n_points + 1 where nothing covers one */
    uint32_t next_end;  /* the next largest, or 0 */
    uwide_t length;     /* of the places that have the largest */
    uint32_t n_merged;  /* points less gaps among them, modulo 2^32 */
    uint32_t least_end; /* the smallest of its places', where first_end is not smaller */
};

struct total {
    uwide_t length;
    uint32_t n_merged;
};

struct sweep {
    const struct exclusive_task *task;
    row_t n;
    row_t *position;        /* of each operator in the task */
    wide_t *start, *end;    /* on the grid */
    int *grid_from;         /* the exponent of a grid of all times from this operator on */
    uint32_t *first, *last; /* points of start and end */
    row_t *beginning;       /* of each point: the first operator so far that begins there, in their order */
    row_t *ending;          /* and the first one that ends there */
    wide_t *points;         /* rising, different; points[0] is unused */
    uint32_t n_points;
    int grid;             /* the binary exponent of 1 on the grid */
    bool doubles;         /* all ends */
    bool mixed;           /* some ends are integers and some doubles, or are sums of large integers and doubles */
    size_t n_leaves;      /* a power of two; leaf 2(p-1) is point p, the next one the gap behind it */
    struct node *nodes;   /* the root is 1, children of k are 2k and 2k + 1 */
    struct total *totals; /* Fenwick tree over points */
    size_t from, to;      /* leaves to be laid over */
    uint32_t new_end;
    struct total renamed;
};

/* Collects the operators that take part. Where all ends are integers or all doubles, so are all lengths that Python
 * would subtract. */
static void collect(struct sweep *sweep, row_t begin, row_t end) {
    const struct exclusive_task *task = sweep->task;
    bool doubles = false, integers = false, rounded = false;
    for (row_t i = begin; i < end; i++) {
        struct number start = task_start(task, i), i_end = task_end(task, i);
        if (op_is_solitary(task_dur(task, i), i_end))
            continue;
        doubles |= number_is_double(i_end);
        integers |= !number_is_double(i_end);
        rounded |= !number_fits_double(start);
        sweep->position[sweep->n++] = i;
    }
    sweep->mixed = doubles && (integers || rounded);
    sweep->doubles = doubles && !sweep->mixed;
}

static bool widen_grid(int *grid, bool *any, struct number time) {
    double value = number_as_double(time);
    if (!isfinite(value))
        return false;
    if (value == 0)
        return true;
    int digit = number_is_double(time) || number_fits_double(time) ? binary_digits_of(value).lowest : 0;
    if (!*any || digit < *grid)
        *grid = digit;
    *any = true;
    return true;
}

static bool choose_grid(struct sweep *sweep) {
    bool any = false;
    for (row_t k = sweep->n; (sweep->doubles || sweep->mixed) && k-- > 0;) {
        if (!widen_grid(&sweep->grid, &any, task_start(sweep->task, sweep->position[k])) ||
            !widen_grid(&sweep->grid, &any, task_end(sweep->task, sweep->position[k])))
            return false;
        sweep->grid_from[k] = any ? sweep->grid : 0;
    }
    return true;
}

static bool to_grid(const struct sweep *sweep, struct number time, wide_t *fixed) {
    double scaled = ldexp(number_as_double(time), -sweep->grid);
    if (!(fabs(scaled) < FAR_POINT))
        return false;
    if (number_is_double(time) || sweep->doubles)
        *fixed = (wide_t)scaled;
    else
        *fixed = sweep->grid > 0 ? (wide_t)(int64_t)time.bits >> sweep->grid
                                 : (wide_t)(int64_t)time.bits * ((wide_t)1 << -sweep->grid);
    return true;
}

/* False: a time is too far away, or an end is before its start, which rounding may do. */
static bool place_on_grid(struct sweep *sweep) {
    for (row_t k = 0; k < sweep->n; k++)
        if (!to_grid(sweep, task_start(sweep->task, sweep->position[k]), &sweep->start[k]) ||
            !to_grid(sweep, task_end(sweep->task, sweep->position[k]), &sweep->end[k]) ||
            sweep->end[k] < sweep->start[k])
            return false;
    return true;
}

static void add_point(struct sweep *sweep, wide_t at) {
    if (sweep->n_points == 0 || sweep->points[sweep->n_points] != at)
        sweep->points[++sweep->n_points] = at;
}

/* The operators by rising end, by the lower half of its bits and then, stably, by the upper; NULL: out of memory. */
static const row_t *sort_by_end(struct arena *arena, const struct sweep *sweep) {
    struct sort_keys_step pairs = {arena_take(arena, sweep->n, sizeof *pairs.keys),
                                   arena_take(arena, sweep->n, sizeof *pairs.rows), sweep->n};
    if (arena->failed)
        return NULL;
    for (row_t k = 0; k < sweep->n; k++) {
        pairs.keys[k] = (uint64_t)sweep->end[k];
        pairs.rows[k] = k;
    }
    if (cpu_sort_keys(NULL, &pairs, NULL))
        return NULL;
    for (row_t k = 0; k < sweep->n; k++)
        pairs.keys[k] = integer_sort_key((int64_t)(sweep->end[pairs.rows[k]] >> 64));
    return cpu_sort_keys(NULL, &pairs, NULL) ? NULL : pairs.rows;
}

/* Merges starts, which rise already, with sorted ends. */
static void find_points(struct sweep *sweep, const row_t *by_end) {
    row_t i = 0;
    for (row_t j = 0; j < sweep->n; j++) {
        row_t k = by_end[j];
        for (; i < sweep->n && sweep->start[i] <= sweep->end[k]; i++) {
            add_point(sweep, sweep->start[i]);
            sweep->first[i] = sweep->n_points;
        }
        add_point(sweep, sweep->end[k]);
        sweep->last[k] = sweep->n_points;
    }
}

/* The smallest value of a node, none of whose places has more than `most`. */
static uint32_t least_of(const struct node *node, uint32_t most) {
    uint32_t least = node->least_end < node->first_end ? node->least_end : node->first_end;
    return least < most ? least : most;
}

/* The largest values of a node, and the smallest, from those of its children. */
static void pull(struct sweep *sweep, size_t at) {
    struct node high = sweep->nodes[2 * at], low = sweep->nodes[2 * at + 1];
    uint32_t least = least_of(&high, least_of(&low, UINT32_MAX));
    if (high.first_end == low.first_end) {
        high.length += low.length;
        high.n_merged += low.n_merged;
        high.next_end = high.next_end > low.next_end ? high.next_end : low.next_end;
    } else {
        if (high.first_end < low.first_end) {
            struct node other = high;
            high = low;
            low = other;
        }
        high.next_end = high.next_end > low.first_end ? high.next_end : low.first_end;
    }
    high.least_end = least;
    sweep->nodes[at] = high;
}

static void plant(struct sweep *sweep) {
    uint32_t uncovered = sweep->n_points + 1;
    for (uint32_t p = 1; p <= sweep->n_points; p++) {
        struct node *leaf = &sweep->nodes[sweep->n_leaves + 2 * (size_t)(p - 1)];
        leaf[0] = (struct node){uncovered, 0, 0, 1, uncovered};
        if (p < sweep->n_points)
            leaf[1] =
                (struct node){uncovered, 0, (uwide_t)(sweep->points[p + 1] - sweep->points[p]), UINT32_MAX, uncovered};
    }
    for (size_t at = sweep->n_leaves; --at > 0;)
        pull(sweep, at);
}

static void totals_add(struct sweep *sweep, uint32_t end, uwide_t length, uint32_t n_merged) {
    for (; end <= sweep->n_points; end += end & -end) {
        sweep->totals[end].length += length;
        sweep->totals[end].n_merged += n_merged;
    }
}

static struct total totals_until(const struct sweep *sweep, uint32_t end) {
    struct total sum = {0, 0};
    for (; end; end &= end - 1) {
        sum.length += sweep->totals[end].length;
        sum.n_merged += sweep->totals[end].n_merged;
    }
    return sum;
}

/* Moves what has the node's largest value to the new end. */
static void rename_end(struct sweep *sweep, struct node *node) {
    totals_add(sweep, node->first_end, -node->length, -node->n_merged);
    sweep->renamed.length += node->length;
    sweep->renamed.n_merged += node->n_merged;
    node->first_end = sweep->new_end;
}

/* Lays sweep->new_end over leaves [from, to] below a node that spans [low, high]. As deep as the tree is high. */
static void lay_over(struct sweep *sweep, size_t at, size_t low, size_t high) {
    struct node *node = &sweep->nodes[at];
    if (sweep->to < low || high < sweep->from || node->first_end <= sweep->new_end)
        return;
    if (sweep->from <= low && high <= sweep->to && node->next_end < sweep->new_end) {
        rename_end(sweep, node);
        return;
    }
    struct node *child = &sweep->nodes[2 * at];
    for (int side = 0; side < 2; side++)
        if (child[side].first_end > node->first_end)
            child[side].first_end = node->first_end;
    size_t middle = low + (high - low) / 2;
    lay_over(sweep, 2 * at, low, middle);
    lay_over(sweep, 2 * at + 1, middle + 1, high);
    pull(sweep, at);
}

static void add_op(struct sweep *sweep, row_t k) {
    sweep->from = 2 * (size_t)(sweep->first[k] - 1);
    sweep->to = 2 * (size_t)(sweep->last[k] - 1);
    sweep->new_end = sweep->last[k];
    sweep->renamed = (struct total){0, 0};
    lay_over(sweep, 1, 0, sweep->n_leaves - 1);
    totals_add(sweep, sweep->new_end, sweep->renamed.length, sweep->renamed.n_merged);
    sweep->beginning[sweep->first[k]] = k;
    sweep->ending[sweep->last[k]] = k;
}

/*
 * Whether subtracting intervals from a duration, one by one, is exact in doubles: whether the duration is below 2^53
 * units of the grid. Then its own lowest digit or the grid, whichever is finer, divides all that is ever left, and the
 * duration is below 2^53 of these, too. Ends are rounded to the nearest double, so no interval inside is longer than
 * 2^53 units, and the total exceeds the duration by less than the duration.
 */
static bool is_exact(int grid, double dur) {
    return dur < ldexp(0x1p53, grid);
}

/* The first place from `from` on, below a node that spans [low, high], that intervals with ends up to `end` cover, or
 * that they do not; n_leaves: there is none. No place of the node has more than `most`. As deep as the tree is high. */
static size_t find_place(const struct sweep *sweep, size_t at, size_t low, size_t high, uint32_t most, size_t from,
                         uint32_t end, bool covered) {
    const struct node *node = &sweep->nodes[at];
    most = node->first_end < most ? node->first_end : most;
    if (high < from || (covered ? least_of(node, most) > end : most <= end))
        return sweep->n_leaves;
    if (low == high)
        return low;
    size_t middle = low + (high - low) / 2;
    size_t found = find_place(sweep, 2 * at, low, middle, most, from, end, covered);
    return found < sweep->n_leaves ? found : find_place(sweep, 2 * at + 1, middle + 1, high, most, from, end, covered);
}

/* The start of the merged interval that begins at a point: that of the first operator there that is inside. */
static struct number start_at(const struct sweep *sweep, uint32_t point, uint32_t end) {
    row_t k = sweep->beginning[point];
    while (sweep->last[k] > end)
        k++;
    return task_start(sweep->task, sweep->position[k]);
}

/* Python's way for one operator: by each merged interval, for which the tree is searched twice. */
static void subtract_merged(const struct sweep *sweep, row_t k, struct remaining *left) {
    const struct exclusive_task *task = sweep->task;
    size_t last = sweep->n_leaves - 1, from = 2 * (size_t)(sweep->first[k] - 1), to = 2 * (size_t)(sweep->last[k] - 1);
    uint32_t end = sweep->last[k];
    while ((from = find_place(sweep, 1, 0, last, UINT32_MAX, from, end, true)) <= to) {
        size_t behind = find_place(sweep, 1, 0, last, UINT32_MAX, from, end, false);
        row_t ending = sweep->ending[(behind <= to ? behind - 1 : to) / 2 + 1];
        remaining_take(left, start_at(sweep, (uint32_t)(from / 2 + 1), end), task_end(task, sweep->position[ending]));
        from = behind;
    }
}

/* The same by each operator from the next one up to `behind`, which no longer begin inside. */
static void subtract_each(const struct sweep *sweep, row_t k, row_t behind, struct remaining *left) {
    const struct exclusive_task *task = sweep->task;
    for (row_t j = k + 1; j < behind; j++)
        if (sweep->last[j] <= sweep->last[k])
            remaining_take(left, task_start(task, sweep->position[j]), task_end(task, sweep->position[j]));
}

/* In the way that takes fewer looks, which are counted. */
static struct number subtract_in_order(const struct sweep *sweep, row_t k, uint64_t n_merged, uint64_t *n_looks) {
    struct remaining left = {.rest = task_dur(sweep->task, sweep->position[k])};
    struct bisection behind = {k + 1, sweep->n};
    while (behind.low < behind.high)
        bisect(&behind, sweep->start[bisect_middle(behind)] <= sweep->end[k]);
    uint64_t n_each = behind.low - k, n_searching = sweep->task->looks_per_search * n_merged;
    if (n_searching < n_each)
        subtract_merged(sweep, k, &left);
    else
        subtract_each(sweep, k, behind.low, &left);
    *n_looks += n_searching < n_each ? n_searching : n_each;
    remaining_close(&left);
    return left.rest;
}

static void settle_op(const struct sweep *sweep, row_t k, struct exclusive_anomalies *anomalies) {
    struct total inside = totals_until(sweep, sweep->last[k]);
    struct number exclusive = task_dur(sweep->task, sweep->position[k]);
    if (inside.n_merged && sweep->mixed)
        exclusive = subtract_in_order(sweep, k, inside.n_merged, &anomalies->n_looks);
    else if (inside.n_merged && !sweep->doubles)
        exclusive = number_integer((int64_t)(exclusive.bits - (uint64_t)inside.length));
    else if (inside.n_merged) {
        double dur = number_as_double(exclusive);
        if (is_exact(sweep->grid_from[k], dur))
            exclusive = number_double(dur - ldexp((double)inside.length, sweep->grid));
        else
            exclusive = subtract_in_order(sweep, k, inside.n_merged, &anomalies->n_looks);
    }
    task_settle(sweep->task, sweep->task->rows[sweep->position[k]], exclusive, inside.n_merged, anomalies);
}

static bool allocate_ops(struct arena *arena, struct sweep *sweep, row_t n) {
    sweep->position = arena_take(arena, n, sizeof *sweep->position);
    sweep->start = arena_take(arena, n, sizeof *sweep->start);
    sweep->end = arena_take(arena, n, sizeof *sweep->end);
    sweep->grid_from = arena_take(arena, n, sizeof *sweep->grid_from);
    sweep->first = arena_take(arena, n, sizeof *sweep->first);
    sweep->last = arena_take(arena, n, sizeof *sweep->last);
    sweep->points = arena_take(arena, 2 * (size_t)n + 1, sizeof *sweep->points);
    sweep->beginning = arena_take(arena, 2 * (size_t)n + 1, sizeof *sweep->beginning);
    sweep->ending = arena_take(arena, 2 * (size_t)n + 1, sizeof *sweep->ending);
    return !arena->failed;
}

static bool allocate_tree(struct arena *arena, struct sweep *sweep) {
    sweep->n_leaves = 1;
    while (sweep->n_leaves < 2 * (size_t)sweep->n_points)
        sweep->n_leaves *= 2;
    sweep->nodes = arena_zeros(arena, 2 * sweep->n_leaves, sizeof *sweep->nodes);
    sweep->totals = arena_zeros(arena, (size_t)sweep->n_points + 1, sizeof *sweep->totals);
    return !arena->failed;
}

static bool do_ops(struct arena *arena, struct sweep *sweep, struct exclusive_anomalies *anomalies) {
    const row_t *by_end = sort_by_end(arena, sweep);
    if (!by_end)
        return false;
    find_points(sweep, by_end);
    if (!allocate_tree(arena, sweep))
        return false;
    plant(sweep);
    for (row_t k = sweep->n; k-- > 0;) {
        settle_op(sweep, k, anomalies);
        add_op(sweep, k);
    }
    return true;
}

/* What has no part in others is its own duration. */
static void settle_solitary(const struct exclusive_task *task, row_t begin, row_t end,
                            struct exclusive_anomalies *anomalies) {
    for (row_t i = begin; i < end; i++) {
        struct number dur = task_dur(task, i);
        if (op_is_solitary(dur, task_end(task, i)))
            task_settle(task, task->rows[i], dur, 0, anomalies);
    }
}

/* Does positions [begin, end) of a task in O(n log^2 n), where no operator outside lies in one of them or holds one.
 * *applied is false, and nothing is done, where their times have no common fixed-point grid of 125 bits, or an end is
 * before its start. SUTRA_SYSTEM: out of memory.
 */
static enum sutra_status exclusive_sweep(const struct exclusive_task *task, row_t begin, row_t end,
                                         struct exclusive_anomalies *anomalies, bool *applied) {
    struct arena arena = {0};
    struct sweep sweep = {.task = task};
    *applied = false;
    if (end - begin > MOST_OPS)
        return SUTRA_OK;
    bool ok = allocate_ops(&arena, &sweep, end - begin);
    if (ok)
        collect(&sweep, begin, end);
    if (ok && choose_grid(&sweep) && place_on_grid(&sweep)) {
        ok = *applied = do_ops(&arena, &sweep, anomalies);
        if (ok)
            settle_solitary(task, begin, end, anomalies);
    }
    arena_free(&arena);
    return ok ? SUTRA_OK : SUTRA_SYSTEM;
}

#define OPEN_NONE      UINT32_MAX
#define NO_BUDGET      UINT32_MAX /* an operator never takes more steps than there are rows */
#define SHORT_RUN      16         /* operators of one start that insertion sorts fastest */
#define LOOKS_PER_STEP 4          /* searching the sweep's tree takes so many looks for each step of the budget */

struct open_op {
    struct number end;
    struct remaining left;
    row_t row;
    uint32_t up, down;
    bool clean; /* no operator below ends before this one */
};

struct exclusive_walk {
    const struct exclusive_task *task;
    struct open_op *open;
    uint32_t capacity, n_used;
    uint32_t unused; /* chain of places through `down` */
    uint32_t top;
    uint64_t n_steps, n_ops; /* of this island */
    struct exclusive_anomalies anomalies;
};

static void walk_reset(struct exclusive_walk *walk) {
    walk->n_used = 0;
    walk->unused = walk->top = OPEN_NONE;
    walk->n_steps = walk->n_ops = 0;
    walk->anomalies = (struct exclusive_anomalies){.first_replaced = ROW_NONE};
}

static void anomalies_add(struct exclusive_anomalies *sum, const struct exclusive_anomalies *part) {
    sum->n_rounded += part->n_rounded;
    sum->n_replaced += part->n_replaced;
    sum->n_looks += part->n_looks;
    if (part->first_replaced < sum->first_replaced)
        sum->first_replaced = part->first_replaced;
}

/* Ends an operator that nothing can lie in any more. */
static void close_op(struct exclusive_walk *walk, uint32_t at) {
    struct open_op *x = &walk->open[at];
    remaining_close(&x->left);
    task_settle(walk->task, x->row, x->left.rest, x->left.n_merged, &walk->anomalies);
    if (x->up == OPEN_NONE)
        walk->top = x->down;
    else
        walk->open[x->up].down = x->down;
    if (x->down != OPEN_NONE)
        walk->open[x->down].up = x->up;
    x->down = walk->unused;
    walk->unused = at;
}

/* Sets the flags of the operators above `at` (OPEN_NONE: of all, up from `lowest`), which must be clean. */
static void flag_above(struct exclusive_walk *walk, uint32_t at, uint32_t lowest) {
    struct number end = {0, 0};
    bool any = at != OPEN_NONE;
    if (any)
        end = walk->open[at].end;
    for (uint32_t i = any ? walk->open[at].up : lowest; i != OPEN_NONE; i = walk->open[i].up) {
        struct open_op *x = &walk->open[i];
        x->clean = !any || op_contains(end, x->end);
        if (x->clean)
            end = x->end;
        any = true;
    }
}

/* Takes an interval from all open operators that hold it and closes those that ended before it. Says whether a new
 * operator with this interval would be clean. */
static bool take_from_open(struct exclusive_walk *walk, struct number start, struct number end) {
    bool clean = true, closed = false;
    uint32_t lowest = OPEN_NONE, at = walk->top;
    while (at != OPEN_NONE) {
        struct open_op *x = &walk->open[at];
        uint32_t down = x->down;
        walk->n_steps++;
        bool holds = op_contains(x->end, end);
        if (holds)
            remaining_take(&x->left, start, end);
        if (number_below(x->end, start)) {
            close_op(walk, at);
            closed = true;
            at = down;
            continue;
        }
        if (holds && x->clean)
            break;
        clean &= holds;
        lowest = at;
        at = down;
    }
    if (closed && lowest != OPEN_NONE)
        flag_above(walk, at, lowest);
    return clean;
}

static bool open_grow(struct exclusive_walk *walk) {
    if (walk->n_used < walk->capacity)
        return true;
    uint32_t capacity = walk->capacity < OPEN_NONE / 2 ? walk->capacity * 2 + 64 : OPEN_NONE;
    struct open_op *open = reallocarray(walk->open, capacity, sizeof *open);
    if (!open)
        return false;
    walk->open = open;
    walk->capacity = capacity;
    return true;
}

static bool open_op(struct exclusive_walk *walk, row_t i, struct number end, bool clean) {
    uint32_t at = walk->unused;
    if (at != OPEN_NONE)
        walk->unused = walk->open[at].down;
    else if (open_grow(walk))
        at = walk->n_used++;
    else
        return false;
    struct open_op *x = &walk->open[at];
    x->end = end;
    x->left = (struct remaining){.rest = task_dur(walk->task, i)};
    x->row = walk->task->rows[i];
    x->up = OPEN_NONE;
    x->down = walk->top;
    x->clean = clean;
    if (walk->top != OPEN_NONE)
        walk->open[walk->top].up = at;
    walk->top = at;
    return true;
}

enum walk_outcome { WALK_DONE, WALK_TOO_LONG, WALK_NO_MEMORY };

/* Walks the island that begins at position *next and moves *next behind it. */
static enum walk_outcome walk_island(struct exclusive_walk *walk, uint32_t budget, row_t *next) {
    const struct exclusive_task *task = walk->task;
    walk_reset(walk);
    for (row_t i = *next; i < task->n; i++) {
        struct number start = task_start(task, i), dur = task_dur(task, i), end = number_add(start, dur);
        if (op_is_solitary(dur, end)) {
            task_settle(task, task->rows[i], dur, 0, &walk->anomalies);
            continue;
        }
        bool clean = take_from_open(walk, start, end);
        if (walk->top == OPEN_NONE && walk->n_ops) {
            *next = i;
            return WALK_DONE;
        }
        walk->n_ops++;
        if (walk->n_steps > budget * walk->n_ops)
            return WALK_TOO_LONG;
        if (!open_op(walk, i, end, clean))
            return WALK_NO_MEMORY;
    }
    while (walk->top != OPEN_NONE)
        close_op(walk, walk->top);
    *next = task->n;
    return WALK_DONE;
}

/* The position behind the island that begins at `begin`. An operator behind it may still lie inside: a large integer
 * start plus a double can round to an end before the start. */
static row_t island_end(const struct exclusive_task *task, row_t begin) {
    struct number last = {0, 0};
    bool any = false;
    row_t i = begin;
    for (; i < task->n; i++) {
        struct number end = task_end(task, i);
        if (op_is_solitary(task_dur(task, i), end))
            continue;
        if (any && number_compare(task_start(task, i), last) > 0 && number_compare(end, last) > 0)
            break;
        if (!any || number_compare(end, last) > 0)
            last = end;
        any = true;
    }
    return i;
}

static bool do_island(struct exclusive_walk *walk, uint32_t budget, row_t *next) {
    row_t begin = *next;
    enum walk_outcome outcome = walk_island(walk, budget, next);
    if (outcome != WALK_TOO_LONG)
        return outcome == WALK_DONE;
    row_t end = island_end(walk->task, begin);
    bool applied;
    walk_reset(walk);
    if (exclusive_sweep(walk->task, begin, end, &walk->anomalies, &applied))
        return false;
    if (applied)
        *next = end;
    if (applied)
        return true;
    outcome = walk_island(walk, NO_BUDGET, next);
    walk->anomalies.n_looks += walk->n_steps;
    return outcome == WALK_DONE;
}

static void sort_short_run(const struct cpu_ops *ops, row_t *rows, row_t n) {
    for (row_t i = 1; i < n; i++) {
        row_t row = rows[i], j = i;
        for (; j && number_compare(number_at(ops->dur, rows[j - 1]), number_at(ops->dur, row)) > 0; j--)
            rows[j] = rows[j - 1];
        rows[j] = row;
    }
}

static bool sort_long_run(const struct cpu_ops *ops, row_t *rows, row_t n) {
    struct arena arena = {0};
    struct number_column durs = {arena_take(&arena, n, sizeof *durs.bits), arena_take(&arena, n, sizeof *durs.kind)};
    row_t *before = arena_take(&arena, n, sizeof *before);
    struct sort_numbers_step sort = {durs, n, arena_take(&arena, n, sizeof *sort.order)};
    bool ok = !arena.failed;
    for (row_t i = 0; ok && i < n; i++) {
        before[i] = rows[i];
        number_put(durs, i, number_at(ops->dur, rows[i]));
    }
    ok = ok && !cpu_sort_numbers(NULL, &sort, NULL);
    for (row_t i = 0; ok && i < n; i++)
        rows[i] = before[sort.order[i]];
    arena_free(&arena);
    return ok;
}

/* Sorts operators of one start stably by duration. */
static bool sort_run(const struct cpu_ops *ops, row_t *rows, row_t n) {
    if (n > SHORT_RUN)
        return sort_long_run(ops, rows, n);
    sort_short_run(ops, rows, n);
    return true;
}

/* Brings rows of rising start into the order of (start, duration). */
static bool sort_by_dur(const struct cpu_ops *ops, row_t *rows, row_t n) {
    for (row_t begin = 0, end; begin < n; begin = end) {
        struct number start = number_at(ops->ts, rows[begin]);
        for (end = begin + 1; end < n && !number_below(start, number_at(ops->ts, rows[end]));)
            end++;
        if (end - begin > 1 && !sort_run(ops, rows + begin, end - begin))
            return false;
    }
    return true;
}

struct exclusive_threads {
    const struct exclusive_durations_step *step;
    uint32_t budget;
    row_t *start, *rows;
    struct exclusive_anomalies *anomalies; /* of each thread */
    atomic_bool failed;
};

static void do_thread(void *arg, size_t t) {
    struct exclusive_threads *threads = arg;
    const struct exclusive_durations_step *step = threads->step;
    row_t *rows = threads->rows + threads->start[t], n = threads->start[t + 1] - threads->start[t];
    struct exclusive_task task = {step->ops, rows, n, step->exclusive, LOOKS_PER_STEP * threads->budget};
    struct exclusive_walk walk = {.task = &task};
    struct exclusive_anomalies sum = {.first_replaced = ROW_NONE};
    bool ok = sort_by_dur(step->ops, rows, n);
    for (row_t next = 0; ok && next < n;) {
        ok = do_island(&walk, threads->budget, &next);
        anomalies_add(&sum, &walk.anomalies);
    }
    free(walk.open);
    threads->anomalies[t] = sum;
    if (!ok)
        atomic_store_explicit(&threads->failed, true, memory_order_relaxed);
}

enum sutra_status cpu_exclusive_within(struct pool *pool, struct exclusive_durations_step *step, uint32_t budget,
                                       struct sutra_error *error) {
    const struct cpu_ops *ops = step->ops;
    struct arena arena = {0};
    struct exclusive_threads threads = {.step = step, .budget = budget};
    threads.start = arena_take(&arena, (size_t)ops->n_threads + 1, sizeof *threads.start);
    threads.rows = arena_take(&arena, ops->n, sizeof *threads.rows);
    threads.anomalies = arena_take(&arena, ops->n_threads, sizeof *threads.anomalies);
    bool ok = !arena.failed;
    if (ok) {
        cpu_rows_by_thread(ops, NULL, threads.start, threads.rows);
        pool_run(pool, ops->n_threads, do_thread, &threads);
        ok = !atomic_load_explicit(&threads.failed, memory_order_relaxed);
    }
    if (ok)
        *step->anomalies = (struct exclusive_anomalies){.first_replaced = ROW_NONE};
    for (uint32_t t = 0; ok && t < ops->n_threads; t++)
        anomalies_add(step->anomalies, &threads.anomalies[t]);
    arena_free(&arena);
    return ok ? SUTRA_OK : error_memory(error);
}

enum sutra_status cpu_exclusive_durations(void *pool, struct exclusive_durations_step *step,
                                          struct sutra_error *error) {
    return cpu_exclusive_within(pool, step, EXCLUSIVE_BUDGET, error);
}
