/*
 * parents.c - the CPU operator that launched each GPU operator; in come the operators and what is asked for, out goes a
 * row for each question.
 *
 * Two indexes: the rows by (thread, external id, row) and by (thread, row). "Begins before the launch" is "row below a
 * bound", as rows rise with starts, so each question takes three searches: for the bound, in the thread's operators
 * with the external id, and among all of the thread. Each search starts where the thread's last one ended and widens
 * from there, so it costs O(log n) at worst and next to nothing where neighbours ask for neighbours. Coalesced
 * operators are passed over in one step: each place of an index links to the last one, itself included, that is not
 * coalesced. Markers, which are few, are searched beside.
 */
#include <stdlib.h>

#include "base/error.h"
#include "match/rules.h"
#include "match/steps.h"

#define BLOCK 8192 /* questions that a thread takes at once */
#define NEAR  64   /* last places that are remembered; -1, which many share, gets its own */

struct parents_work {
    const struct cpu_ops *ops;
    const struct op_markers *markers;
    const struct parent_queries *queries;
    row_t *parent;
    row_t *start;                               /* where each thread begins, in both indexes */
    row_t *by_thread, *by_external;             /* rows */
    value_key *external;                        /* of the rows in by_external */
    row_t *plain_by_thread, *plain_by_external; /* links; NULL where no operator is coalesced */
};

static bool has_coalesced(const struct cpu_ops *ops) {
    for (row_t i = 0; i < ops->n; i++)
        if (ops->coalesced[i])
            return true;
    return false;
}

static void link_plain(const struct parents_work *step) {
    const uint8_t *coalesced = step->ops->coalesced;
    for (uint32_t t = 0; t < step->ops->n_threads; t++)
        for (row_t k = step->start[t]; k < step->start[t + 1]; k++) {
            bool first = k == step->start[t];
            bool same = !first && step->external[k] == step->external[k - 1];
            row_t before = first ? ROW_NONE : step->plain_by_thread[k - 1];
            row_t before_same = same ? step->plain_by_external[k - 1] : ROW_NONE;
            step->plain_by_thread[k] = coalesced[step->by_thread[k]] ? before : k;
            step->plain_by_external[k] = coalesced[step->by_external[k]] ? before_same : k;
        }
}

static enum sutra_status index_by_external(struct pool *pool, struct parents_work *step, struct sutra_error *error) {
    const struct cpu_ops *ops = step->ops;
    uint64_t *keys = reallocarray(NULL, (size_t)ops->n + 1, sizeof *keys);
    row_t *order = reallocarray(NULL, (size_t)ops->n + 1, sizeof *order);
    enum sutra_status status;
    if (!keys || !order) {
        status = error_memory(error);
        goto out;
    }
    for (row_t i = 0; i < ops->n; i++) {
        keys[i] = integer_sort_key(ops->external[i]);
        order[i] = i;
    }
    status = cpu_sort_keys(pool, keys, order, ops->n, error);
    if (status)
        goto out;
    cpu_rows_by_thread(ops, order, step->start, step->by_external);
    for (row_t k = 0; k < ops->n; k++)
        step->external[k] = ops->external[step->by_external[k]];
out:
    free(order);
    free(keys);
    return status;
}

/*
 * The first place in [low, high) for which `before` does not hold, where it holds for all places up to some one. The
 * search begins at `near` and doubles its steps until it has passed the place.
 */
static inline row_t find_near(row_t low, row_t high, row_t near, bool (*before)(const void *arg, row_t place),
                              const void *arg) {
    uint64_t step = 1, from = near < low ? low : near > high ? high : near;
    if (from < high && before(arg, (row_t)from)) {
        for (low = (row_t)from + 1; low + step <= high && before(arg, (row_t)(low + step - 1)); step *= 2)
            low += (row_t)step;
        high = low + step <= high ? (row_t)(low + step - 1) : high;
    } else {
        for (high = (row_t)from; high - (uint64_t)low >= step && !before(arg, (row_t)(high - step)); step *= 2)
            high -= (row_t)step;
        low = high - (uint64_t)low >= step ? (row_t)(high - step + 1) : low;
    }
    while (low < high) {
        row_t middle = low + (high - low) / 2;
        if (before(arg, middle))
            low = middle + 1;
        else
            high = middle;
    }
    return low;
}

struct found_places {
    row_t by_thread, by_external;
};

/* One question, and where the searches for earlier ones ended. */
struct asking {
    const struct parents_work *step;
    struct number launch_ts;
    value_key external;
    row_t bound, marker;            /* the numbers of operators and of markers that begin before the launch */
    struct found_places near[NEAR]; /* by thread and sign of the external id, as far as there is room */
};

static bool ts_before(const void *arg, row_t row) {
    const struct asking *asking = arg;
    return op_begins_before(number_at(asking->step->ops->ts, row), asking->launch_ts);
}

static bool marker_before(const void *arg, row_t marker) {
    const struct asking *asking = arg;
    return op_begins_before(number_at(asking->step->markers->ts, marker), asking->launch_ts);
}

static bool thread_before(const void *arg, row_t place) {
    const struct asking *asking = arg;
    return asking->step->by_thread[place] < asking->bound;
}

static bool key_before(const void *arg, row_t place) {
    const struct asking *asking = arg;
    const struct parents_work *step = asking->step;
    return external_before(step->external[place], step->by_external[place], asking->external, asking->bound);
}

/* The row at the last place before `end`, itself or by its link; ROW_NONE if that leads out of the group. */
static row_t last_row(const row_t *rows, const row_t *plain, row_t end, bool nccl) {
    row_t place = nccl && plain ? plain[end - 1] : end - 1;
    return place == ROW_NONE ? ROW_NONE : rows[place];
}

/* The last operator of the thread that begins before the launch: `same` with the query's external id. */
static row_t find_op(struct asking *asking, uint32_t thread, bool nccl, bool same) {
    const struct parents_work *step = asking->step;
    struct found_places *near = &asking->near[(2 * thread + (asking->external < 0)) % NEAR];
    row_t low = step->start[thread], high = step->start[thread + 1];
    if (!same) {
        row_t place = find_near(low, high, near->by_thread, thread_before, asking);
        near->by_thread = place;
        return place > low ? last_row(step->by_thread, step->plain_by_thread, place, nccl) : ROW_NONE;
    }
    row_t place = find_near(low, high, near->by_external, key_before, asking);
    near->by_external = place;
    if (place == low || step->external[place - 1] != asking->external)
        return ROW_NONE;
    return last_row(step->by_external, step->plain_by_external, place, nccl);
}

static row_t find_parent(struct asking *asking, uint32_t thread, bool nccl) {
    const struct parents_work *step = asking->step;
    bool marked = false, known = thread < step->ops->n_threads;
    if (thread == step->markers->thread) {
        asking->marker = find_near(0, step->markers->n, asking->marker, marker_before, asking);
        marked = asking->marker > 0;
    }
    if (known)
        asking->bound = find_near(0, step->ops->n, asking->bound, ts_before, asking);
    for (int same = 1; same >= 0; same--) {
        row_t op = known ? find_op(asking, thread, nccl, same) : ROW_NONE;
        if (marked && (!same || asking->external == MARKER_EXTERNAL) &&
            marker_is_later(step->markers->before[asking->marker - 1], op))
            return step->ops->n + asking->marker - 1;
        if (op != ROW_NONE)
            return op;
    }
    return ROW_NONE;
}

static void answer_block(void *arg, size_t block) {
    const struct parents_work *step = arg;
    const struct parent_queries *queries = step->queries;
    size_t begin = block * BLOCK, end = begin + BLOCK < queries->n ? begin + BLOCK : queries->n;
    struct asking asking = {.step = step};
    for (row_t i = (row_t)begin; i < end; i++) {
        asking.launch_ts = number_at(queries->launch_ts, i);
        asking.external = queries->external[i];
        step->parent[i] = find_parent(&asking, queries->thread[i], queries->nccl[i] != 0);
    }
}

static bool allocate(struct parents_work *step) {
    size_t n = (size_t)step->ops->n + 1;
    step->start = reallocarray(NULL, (size_t)step->ops->n_threads + 1, sizeof *step->start);
    step->by_thread = reallocarray(NULL, n, sizeof *step->by_thread);
    step->by_external = reallocarray(NULL, n, sizeof *step->by_external);
    step->external = reallocarray(NULL, n, sizeof *step->external);
    if (has_coalesced(step->ops)) {
        step->plain_by_thread = reallocarray(NULL, n, sizeof *step->plain_by_thread);
        step->plain_by_external = reallocarray(NULL, n, sizeof *step->plain_by_external);
        if (!step->plain_by_thread || !step->plain_by_external)
            return false;
    }
    return step->start && step->by_thread && step->by_external && step->external;
}

enum sutra_status cpu_parents(struct pool *pool, const struct cpu_ops *ops, const struct op_markers *markers,
                              const struct parent_queries *queries, row_t *parent, struct sutra_error *error) {
    struct parents_work step = {.ops = ops, .markers = markers, .queries = queries, .parent = parent};
    enum sutra_status status = SUTRA_OK;
    if (!allocate(&step)) {
        status = error_memory(error);
        goto out;
    }
    status = index_by_external(pool, &step, error);
    if (status)
        goto out;
    cpu_rows_by_thread(ops, NULL, step.start, step.by_thread);
    if (step.plain_by_thread)
        link_plain(&step);
    pool_run(pool, ((size_t)queries->n + BLOCK - 1) / BLOCK, answer_block, &step);
out:
    free(step.plain_by_external);
    free(step.plain_by_thread);
    free(step.external);
    free(step.by_external);
    free(step.by_thread);
    free(step.start);
    return status;
}
