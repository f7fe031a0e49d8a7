/*
 * exclusive.c - exclusive durations: durations of operators less the operators inside them. Input: the operators of all
 * threads. Output: a number for each operator.
 *
 * Threads are independent: one task each. A task walks its operators in the order of (start, duration) and keeps the
 * open ones in a list, latest on top:
 *
 *     A |-----------------------------|        list when E comes: D, A (B and C have ended)
 *     B   |-------|                            D does not contain E, A does: E is subtracted from A
 *     C     |---|                              D is clean (nothing below it ends before it does),
 *     D               |------|                 A is too, so the walk for E ends at A
 *     E                    |-----|
 *
 * Every open operator that contains the new one subtracts its interval. Intervals reach an operator in the order of
 * their starts, so it merges and subtracts immediately, in Python's order and arithmetic. The walk ends at a clean
 * operator that contains the new one: all below contain the clean one and have subtracted its interval, which covers
 * the new one.
 *
 * On nested operators a walk takes O(1) steps, amortized. Adversarial overlaps make the list long. An island, the
 * operators between two moments at which nothing is open, that exceeds a budget of steps is done by the sweep below. If
 * its times are too far apart for the sweep, it is walked without a budget: each operator then costs as many steps as
 * operators are open.
 *
 * Sweep. Times become integers on a common grid (the lowest binary digit of any of them). The time axis is cut at all
 * starts and ends into cells: points, and the gaps between neighbouring points. The sweep visits the operators
 * backwards; each cell records
 *
 *     first_end(cell) = the earliest end among the intervals so far that cover it
 *
 * so the union of the later intervals inside operator i is all cells with first_end <= end of i: every later one starts
 * inside i, and lies inside if it ends in time. A Fenwick tree over ends contains for each end the total length of its
 * cells, and the number of its points less that of its gaps; the latter, summed, is the number of merged intervals, as
 * each has one point more than gaps. Then i itself is laid over its cells: first_end becomes at most its end. That is a
 * range minimum on a segment tree whose nodes record their largest value and the next largest: a node whose next
 * largest is below the new end only renames its largest. Renaming costs O(log n) in the Fenwick tree and happens O(n
 * log n) times in all: O(n log^2 n), and about 600 bytes per operator. Numbers on the grid have 128 bits, as decimals
 * near 0 have digits far below those of the last times.
 *
 * One sum equals Python's successive subtractions if a double can represent all their results: if the duration is below
 * 2^53 units of the grid. Then its own lowest digit or the grid, whichever is finer, divides every remainder, and the
 * duration is below 2^53 of these, too. Ends are rounded to the nearest double, so no interval inside is longer than
 * 2^53 units, and the total exceeds the duration by less than the duration.
 *
 * If that condition fails, or if integers and doubles are mixed, the merged intervals are subtracted one by one in
 * Python's order: the tree finds the next start and end, at O(log n) for each, or all operators that begin inside are
 * inspected, if those are fewer. These inspections are counted. Operators inside begin no earlier, so only digits of
 * times from there on matter: doubles with starts as large as durations do not need it.
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

/* Operators of one thread, in the order of (start, duration), and the column of results. */
struct exclusive_task {
    const struct cpu_ops *ops;
    const row_t *rows;
    row_t n;
    struct number_column exclusive;
    uint32_t search_cost; /* of the sweep's tree, in inspected operators */
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

/* Writes a result; repairs and counts it if it is below 0. */
static inline void write_exclusive(const struct exclusive_task *task, row_t row, struct number exclusive,
                                   uint64_t n_merged, struct exclusive_anomalies *anomalies) {
    switch (exclusive_repair(&exclusive, number_at(task->ops->dur, row), n_merged)) {
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
    number_set(task->exclusive, row, exclusive);
}

/* ---- Sweep ---- */

#define MAX_OPS   ((row_t)1 << 29) /* so that cell numbers fit 32 bits */
#define FAR_POINT 0x1p125

/* The cells of a segment tree's node; ends are numbers of points, counted from 1. */
struct node {
    uint32_t first_end; /* the largest of its cells; n_points + 1 if a cell is not covered */
    uint32_t next_end;  /* the next largest, or 0 */
    uwide_t length;     /* of the cells that have the largest */
    uint32_t n_merged;  /* points less gaps among them, modulo 2^32 */
    uint32_t min_end;   /* the smallest of its cells, if first_end is not smaller */
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
    row_t *beginning;       /* of each point: the first operator so far that begins there */
    row_t *ending;          /* and the first one that ends there */
    wide_t *points;         /* ascending, different; points[0] is unused */
    uint32_t n_points;
    int grid;             /* the binary exponent of 1 on the grid */
    bool doubles;         /* all ends */
    bool mixed;           /* some ends are integers and some doubles, or are sums of large integers and doubles */
    size_t n_leaves;      /* a power of two; leaf 2(p-1) is point p, the next one the gap after it */
    struct node *nodes;   /* the root is 1, children of k are 2k and 2k + 1 */
    struct total *totals; /* Fenwick tree over points */
    size_t from, to;      /* leaves to lay new_end over */
    uint32_t new_end;
    struct total renamed;
};

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

/* Lists the operators that take part, chooses the grid and converts their times. If all ends are integers or all are
 * doubles, so are all lengths that Python would subtract. False: times have no common grid of 125 bits, or an end is
 * before its start, which rounding can cause. */
static bool convert_times(struct sweep *sweep, row_t begin, row_t end) {
    const struct exclusive_task *task = sweep->task;
    bool doubles = false, integers = false, rounded = false, any = false;
    for (row_t i = begin; i < end; i++) {
        struct number i_end = task_end(task, i);
        if (op_is_solitary(task_dur(task, i), i_end))
            continue;
        doubles |= number_is_double(i_end);
        integers |= !number_is_double(i_end);
        rounded |= !number_fits_double(task_start(task, i));
        sweep->position[sweep->n++] = i;
    }
    sweep->mixed = doubles && (integers || rounded);
    sweep->doubles = doubles && !sweep->mixed;
    for (row_t k = sweep->n; (sweep->doubles || sweep->mixed) && k-- > 0;) {
        if (!widen_grid(&sweep->grid, &any, task_start(task, sweep->position[k])) ||
            !widen_grid(&sweep->grid, &any, task_end(task, sweep->position[k])))
            return false;
        sweep->grid_from[k] = any ? sweep->grid : 0;
    }
    for (row_t k = 0; k < sweep->n; k++)
        if (!to_grid(sweep, task_start(task, sweep->position[k]), &sweep->start[k]) ||
            !to_grid(sweep, task_end(task, sweep->position[k]), &sweep->end[k]) || sweep->end[k] < sweep->start[k])
            return false;
    return true;
}

static void add_point(struct sweep *sweep, wide_t at) {
    if (sweep->n_points == 0 || sweep->points[sweep->n_points] != at)
        sweep->points[++sweep->n_points] = at;
}

/* Finds the points; false: out of memory. */
static bool find_points(struct arena *arena, struct sweep *sweep) {
    struct sort_keys_step pairs = {arena_alloc(arena, sweep->n, sizeof *pairs.keys),
                                   arena_alloc(arena, sweep->n, sizeof *pairs.rows), sweep->n};
    if (arena->failed)
        return false;
    /* Sort the operators by end: by the lower half of its bits and then, stably, by the upper. */
    for (row_t k = 0; k < sweep->n; k++) {
        pairs.keys[k] = (uint64_t)sweep->end[k];
        pairs.rows[k] = k;
    }
    if (cpu_sort_keys(NULL, &pairs, NULL))
        return false;
    for (row_t k = 0; k < sweep->n; k++)
        pairs.keys[k] = integer_sort_key((int64_t)(sweep->end[pairs.rows[k]] >> 64));
    if (cpu_sort_keys(NULL, &pairs, NULL))
        return false;
    /* Merge the starts, which ascend already, with the sorted ends. */
    row_t i = 0;
    for (row_t j = 0; j < sweep->n; j++) {
        row_t k = pairs.rows[j];
        for (; i < sweep->n && sweep->start[i] <= sweep->end[k]; i++) {
            add_point(sweep, sweep->start[i]);
            sweep->first[i] = sweep->n_points;
        }
        add_point(sweep, sweep->end[k]);
        sweep->last[k] = sweep->n_points;
    }
    return true;
}

/* The smallest value of a node none of whose cells has more than `limit`. */
static uint32_t min_end_of(const struct node *node, uint32_t limit) {
    uint32_t smallest = MIN(node->min_end, node->first_end);
    return MIN(smallest, limit);
}

/* Computes the largest values of a node, and the smallest, from its children. */
static void pull(struct sweep *sweep, size_t at) {
    struct node high = sweep->nodes[2 * at], low = sweep->nodes[2 * at + 1];
    uint32_t min_end = min_end_of(&high, min_end_of(&low, UINT32_MAX));
    if (high.first_end == low.first_end) {
        high.length += low.length;
        high.n_merged += low.n_merged;
        high.next_end = MAX(high.next_end, low.next_end);
    } else {
        if (high.first_end < low.first_end) {
            struct node other = high;
            high = low;
            low = other;
        }
        high.next_end = MAX(high.next_end, low.first_end);
    }
    high.min_end = min_end;
    sweep->nodes[at] = high;
}

static bool build_tree(struct arena *arena, struct sweep *sweep) {
    sweep->n_leaves = 1;
    while (sweep->n_leaves < 2 * (size_t)sweep->n_points)
        sweep->n_leaves *= 2;
    sweep->nodes = arena_zeros(arena, 2 * sweep->n_leaves, sizeof *sweep->nodes);
    sweep->totals = arena_zeros(arena, (size_t)sweep->n_points + 1, sizeof *sweep->totals);
    if (arena->failed)
        return false;
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
    return true;
}

static void totals_add(struct sweep *sweep, uint32_t end, uwide_t length, uint32_t n_merged) {
    for (; end <= sweep->n_points; end += end & -end) {
        sweep->totals[end].length += length;
        sweep->totals[end].n_merged += n_merged;
    }
}

/* Lays sweep->new_end over leaves [from, to] below a node that spans [low, high]. Recursion depth: the height of the
 * tree. */
static void lay_over(struct sweep *sweep, size_t at, size_t low, size_t high) {
    struct node *node = &sweep->nodes[at];
    if (sweep->to < low || high < sweep->from || node->first_end <= sweep->new_end)
        return;
    if (sweep->from <= low && high <= sweep->to && node->next_end < sweep->new_end) {
        /* Rename the largest value. */
        totals_add(sweep, node->first_end, -node->length, -node->n_merged);
        sweep->renamed.length += node->length;
        sweep->renamed.n_merged += node->n_merged;
        node->first_end = sweep->new_end;
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

/* The first cell from `from` on, below a node that spans [low, high], that intervals with ends up to `end` cover (or do
 * not cover); n_leaves if there is none. No cell of the node has more than `limit`. Recursion depth: the height of the
 * tree. */
static size_t find_cell(const struct sweep *sweep, size_t at, size_t low, size_t high, uint32_t limit, size_t from,
                        uint32_t end, bool covered) {
    const struct node *node = &sweep->nodes[at];
    limit = MIN(node->first_end, limit);
    if (high < from || (covered ? min_end_of(node, limit) > end : limit <= end))
        return sweep->n_leaves;
    if (low == high)
        return low;
    size_t middle = low + (high - low) / 2;
    size_t found = find_cell(sweep, 2 * at, low, middle, limit, from, end, covered);
    return found < sweep->n_leaves ? found : find_cell(sweep, 2 * at + 1, middle + 1, high, limit, from, end, covered);
}

/* Subtracts the merged intervals inside operator k one by one, in Python's order, with the method that inspects fewer
 * operators; counts them. */
static struct number subtract_in_order(const struct sweep *sweep, row_t k, uint64_t n_merged, uint64_t *n_inspected) {
    const struct exclusive_task *task = sweep->task;
    struct remaining left = {.rest = task_dur(task, sweep->position[k])};
    struct bisection after = {k + 1, sweep->n}; /* the first operator that no longer begins inside */
    while (after.low < after.high)
        bisect(&after, sweep->start[bisect_middle(after)] <= sweep->end[k]);
    uint64_t n_each = after.low - k, n_searching = task->search_cost * n_merged;
    uint32_t end = sweep->last[k];
    if (n_searching < n_each) {
        /* Two searches of the tree for each merged interval. Its start is the start of the first operator there that is
         * inside. */
        size_t last = sweep->n_leaves - 1, from = 2 * (size_t)(sweep->first[k] - 1), to = 2 * (size_t)(end - 1);
        while ((from = find_cell(sweep, 1, 0, last, UINT32_MAX, from, end, true)) <= to) {
            size_t gap = find_cell(sweep, 1, 0, last, UINT32_MAX, from, end, false);
            row_t ending = sweep->ending[(gap <= to ? gap - 1 : to) / 2 + 1];
            row_t beginning = sweep->beginning[from / 2 + 1];
            while (sweep->last[beginning] > end)
                beginning++;
            remaining_subtract(&left, task_start(task, sweep->position[beginning]),
                               task_end(task, sweep->position[ending]));
            from = gap;
        }
    } else {
        for (row_t j = k + 1; j < after.low; j++)
            if (sweep->last[j] <= end)
                remaining_subtract(&left, task_start(task, sweep->position[j]), task_end(task, sweep->position[j]));
    }
    *n_inspected += MIN(n_searching, n_each);
    remaining_close(&left);
    return left.rest;
}

/* Writes the exclusive duration of operator k, then lays the operator over its cells. */
static void sweep_op(struct sweep *sweep, row_t k, struct exclusive_anomalies *anomalies) {
    struct total inside = {0, 0};
    for (uint32_t end = sweep->last[k]; end; end &= end - 1) {
        inside.length += sweep->totals[end].length;
        inside.n_merged += sweep->totals[end].n_merged;
    }
    struct number exclusive = task_dur(sweep->task, sweep->position[k]);
    double dur = number_as_double(exclusive);
    if (inside.n_merged && !sweep->doubles && !sweep->mixed)
        exclusive = number_integer((int64_t)(exclusive.bits - (uint64_t)inside.length));
    else if (inside.n_merged && !sweep->mixed && dur < ldexp(0x1p53, sweep->grid_from[k])) /* exact, see above */
        exclusive = number_double(dur - ldexp((double)inside.length, sweep->grid));
    else if (inside.n_merged)
        exclusive = subtract_in_order(sweep, k, inside.n_merged, &anomalies->n_inspected);
    write_exclusive(sweep->task, sweep->task->rows[sweep->position[k]], exclusive, inside.n_merged, anomalies);

    sweep->from = 2 * (size_t)(sweep->first[k] - 1);
    sweep->to = 2 * (size_t)(sweep->last[k] - 1);
    sweep->new_end = sweep->last[k];
    sweep->renamed = (struct total){0, 0};
    lay_over(sweep, 1, 0, sweep->n_leaves - 1);
    totals_add(sweep, sweep->new_end, sweep->renamed.length, sweep->renamed.n_merged);
    sweep->beginning[sweep->first[k]] = k;
    sweep->ending[sweep->last[k]] = k;
}

/* Does positions [begin, end) of a task in O(n log^2 n), if no other operator is inside or encloses one of them.
 * *applied is false, and nothing is done, if convert_times() fails. SUTRA_SYSTEM: out of memory. */
static enum sutra_status exclusive_sweep(const struct exclusive_task *task, row_t begin, row_t end,
                                         struct exclusive_anomalies *anomalies, bool *applied) {
    struct arena arena = {0};
    struct sweep sweep = {.task = task};
    row_t n = end - begin;
    *applied = false;
    if (n > MAX_OPS)
        return SUTRA_OK;
    sweep.position = arena_alloc(&arena, n, sizeof *sweep.position);
    sweep.start = arena_alloc(&arena, n, sizeof *sweep.start);
    sweep.end = arena_alloc(&arena, n, sizeof *sweep.end);
    sweep.grid_from = arena_alloc(&arena, n, sizeof *sweep.grid_from);
    sweep.first = arena_alloc(&arena, n, sizeof *sweep.first);
    sweep.last = arena_alloc(&arena, n, sizeof *sweep.last);
    sweep.points = arena_alloc(&arena, 2 * (size_t)n + 1, sizeof *sweep.points);
    sweep.beginning = arena_alloc(&arena, 2 * (size_t)n + 1, sizeof *sweep.beginning);
    sweep.ending = arena_alloc(&arena, 2 * (size_t)n + 1, sizeof *sweep.ending);
    bool ok = !arena.failed;
    if (ok && convert_times(&sweep, begin, end)) {
        ok = *applied = find_points(&arena, &sweep) && build_tree(&arena, &sweep);
        for (row_t k = sweep.n; ok && k-- > 0;)
            sweep_op(&sweep, k, anomalies);
        for (row_t i = begin; ok && i < end; i++) {
            struct number dur = task_dur(task, i);
            if (op_is_solitary(dur, task_end(task, i)))
                write_exclusive(task, task->rows[i], dur, 0, anomalies);
        }
    }
    arena_free(&arena);
    return ok ? SUTRA_OK : SUTRA_SYSTEM;
}

/* ---- Walk ---- */

#define OPEN_NONE     UINT32_MAX
#define NO_BUDGET     UINT32_MAX /* more steps than an operator can take */
#define SHORT_RUN     16         /* operators of one start that are sorted by insertion */
#define COST_PER_STEP 4          /* cost of searching the sweep's tree, in inspections, per step of the budget */

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
    uint32_t unused; /* free list through `down` */
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
    sum->n_inspected += part->n_inspected;
    if (part->first_replaced < sum->first_replaced)
        sum->first_replaced = part->first_replaced;
}

/* Ends an operator that can contain no further operators. */
static void close_op(struct exclusive_walk *walk, uint32_t at) {
    struct open_op *x = &walk->open[at];
    remaining_close(&x->left);
    write_exclusive(walk->task, x->row, x->left.rest, x->left.n_merged, &walk->anomalies);
    if (x->up == OPEN_NONE)
        walk->top = x->down;
    else
        walk->open[x->up].down = x->down;
    if (x->down != OPEN_NONE)
        walk->open[x->down].up = x->up;
    x->down = walk->unused;
    walk->unused = at;
}

/* Subtracts an interval from all open operators that contain it and closes operators that ended before it. Returns
 * whether a new operator with this interval would be clean. */
static bool subtract_from_open(struct exclusive_walk *walk, struct number start, struct number end) {
    bool clean = true, closed = false;
    uint32_t lowest = OPEN_NONE, at = walk->top;
    while (at != OPEN_NONE) {
        struct open_op *x = &walk->open[at];
        uint32_t down = x->down;
        walk->n_steps++;
        bool contains = op_contains(x->end, end);
        if (contains)
            remaining_subtract(&x->left, start, end);
        if (number_below(x->end, start)) {
            close_op(walk, at);
            closed = true;
            at = down;
            continue;
        }
        if (contains && x->clean)
            break;
        clean &= contains;
        lowest = at;
        at = down;
    }
    if (!closed || lowest == OPEN_NONE)
        return clean;

    /* Update the flags of the operators above `at`, which is clean, or of all. */
    struct number min_end = {0, 0};
    bool any = at != OPEN_NONE;
    if (any)
        min_end = walk->open[at].end;
    for (uint32_t i = any ? walk->open[at].up : lowest; i != OPEN_NONE; i = walk->open[i].up) {
        struct open_op *x = &walk->open[i];
        x->clean = !any || op_contains(min_end, x->end);
        if (x->clean)
            min_end = x->end;
        any = true;
    }
    return clean;
}

static bool open_op(struct exclusive_walk *walk, row_t i, struct number end, bool clean) {
    uint32_t at = walk->unused;
    if (at != OPEN_NONE) {
        walk->unused = walk->open[at].down;
    } else {
        if (walk->n_used == walk->capacity) {
            uint32_t capacity = walk->capacity < OPEN_NONE / 2 ? walk->capacity * 2 + 64 : OPEN_NONE;
            struct open_op *open = reallocarray(walk->open, capacity, sizeof *open);
            if (!open)
                return false;
            walk->open = open;
            walk->capacity = capacity;
        }
        at = walk->n_used++;
    }
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

/* Walks the island that begins at position *next and moves *next after it. */
static enum walk_outcome walk_island(struct exclusive_walk *walk, uint32_t budget, row_t *next) {
    const struct exclusive_task *task = walk->task;
    walk_reset(walk);
    for (row_t i = *next; i < task->n; i++) {
        struct number start = task_start(task, i), dur = task_dur(task, i), end = number_add(start, dur);
        if (op_is_solitary(dur, end)) {
            write_exclusive(task, task->rows[i], dur, 0, &walk->anomalies);
            continue;
        }
        bool clean = subtract_from_open(walk, start, end);
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

/* Walks an island, or sweeps it if the walk exceeds its budget. */
static bool do_island(struct exclusive_walk *walk, uint32_t budget, row_t *next) {
    row_t begin = *next;
    enum walk_outcome outcome = walk_island(walk, budget, next);
    if (outcome != WALK_TOO_LONG)
        return outcome == WALK_DONE;

    /* Find the end of the island. An operator after it may still lie inside: a large integer start plus a double can
     * round to an end before the start. */
    const struct exclusive_task *task = walk->task;
    struct number last = {0, 0};
    bool any = false, applied;
    row_t end = begin;
    for (; end < task->n; end++) {
        struct number op_end = task_end(task, end);
        if (op_is_solitary(task_dur(task, end), op_end))
            continue;
        if (any && number_compare(task_start(task, end), last) > 0 && number_compare(op_end, last) > 0)
            break;
        if (!any || number_compare(op_end, last) > 0)
            last = op_end;
        any = true;
    }
    walk_reset(walk);
    if (exclusive_sweep(task, begin, end, &walk->anomalies, &applied))
        return false;
    if (applied) {
        *next = end;
        return true;
    }
    outcome = walk_island(walk, NO_BUDGET, next);
    walk->anomalies.n_inspected += walk->n_steps;
    return outcome == WALK_DONE;
}

/* Sorts operators of one start stably by duration. */
static bool sort_long_run(const struct cpu_ops *ops, row_t *rows, row_t n) {
    struct arena arena = {0};
    struct number_column durs = {arena_alloc(&arena, n, sizeof *durs.bits), arena_alloc(&arena, n, sizeof *durs.kind)};
    row_t *before = arena_alloc(&arena, n, sizeof *before);
    struct sort_numbers_step sort = {durs, n, arena_alloc(&arena, n, sizeof *sort.order)};
    bool ok = !arena.failed;
    for (row_t i = 0; ok && i < n; i++) {
        before[i] = rows[i];
        number_set(durs, i, number_at(ops->dur, rows[i]));
    }
    ok = ok && !cpu_sort_numbers(NULL, &sort, NULL);
    for (row_t i = 0; ok && i < n; i++)
        rows[i] = before[sort.order[i]];
    arena_free(&arena);
    return ok;
}

/* Sorts rows of ascending start stably by (start, duration). */
static bool sort_by_dur(const struct cpu_ops *ops, row_t *rows, row_t n) {
    for (row_t begin = 0, end; begin < n; begin = end) {
        struct number start = number_at(ops->ts, rows[begin]);
        for (end = begin + 1; end < n && !number_below(start, number_at(ops->ts, rows[end]));)
            end++;
        if (end - begin > SHORT_RUN) {
            if (!sort_long_run(ops, rows + begin, end - begin))
                return false;
            continue;
        }
        for (row_t i = begin + 1; i < end; i++) {
            row_t row = rows[i], j = i;
            for (; j > begin && number_compare(number_at(ops->dur, rows[j - 1]), number_at(ops->dur, row)) > 0; j--)
                rows[j] = rows[j - 1];
            rows[j] = row;
        }
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
    struct exclusive_task task = {step->ops, rows, n, step->exclusive, COST_PER_STEP * threads->budget};
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
    threads.start = arena_alloc(&arena, (size_t)ops->n_threads + 1, sizeof *threads.start);
    threads.rows = arena_alloc(&arena, ops->n, sizeof *threads.rows);
    threads.anomalies = arena_alloc(&arena, ops->n_threads, sizeof *threads.anomalies);
    bool ok = !arena.failed;
    if (ok) {
        cpu_rows_by_thread(ops, NULL, threads.start, threads.rows);
        pool_run(pool, ops->n_threads, do_thread, &threads);
        ok = !atomic_load_explicit(&threads.failed, memory_order_relaxed);
    }
    if (ok) {
        *step->anomalies = (struct exclusive_anomalies){.first_replaced = ROW_NONE};
        for (uint32_t t = 0; t < ops->n_threads; t++)
            anomalies_add(step->anomalies, &threads.anomalies[t]);
    }
    arena_free(&arena);
    return ok ? SUTRA_OK : error_memory(error);
}

enum sutra_status cpu_exclusive_durations(void *pool, struct exclusive_durations_step *step,
                                          struct sutra_error *error) {
    return cpu_exclusive_within(pool, step, EXCLUSIVE_BUDGET, error);
}
