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
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>

#include "base/arena.h"
#include "base/error.h"
#include "match/cpu_steps.h"
#include "match/exclusive.h"

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
