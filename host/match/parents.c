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
#include "base/arena.h"
#include "base/bisect.h"
#include "base/error.h"
#include "match/cpu_steps.h"
#include "match/rules.h"

#define BLOCK 8192 /* questions that a thread takes at once */
#define NEAR  64   /* last places that are remembered; -1, which many share, gets its own */

struct parent_index {
    const struct parents_step *step;
    row_t *start;                               /* where each thread begins, in both orders */
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

static void link_plain(const struct parent_index *index) {
    const struct cpu_ops *ops = index->step->ops;
    for (uint32_t t = 0; t < ops->n_threads; t++)
        for (row_t k = index->start[t]; k < index->start[t + 1]; k++) {
            bool first = k == index->start[t];
            bool same = !first && index->external[k] == index->external[k - 1];
            row_t before = first ? ROW_NONE : index->plain_by_thread[k - 1];
            row_t before_same = same ? index->plain_by_external[k - 1] : ROW_NONE;
            index->plain_by_thread[k] = ops->coalesced[index->by_thread[k]] ? before : k;
            index->plain_by_external[k] = ops->coalesced[index->by_external[k]] ? before_same : k;
        }
}

static enum sutra_status index_by_external(struct arena *arena, struct pool *pool, struct parent_index *index,
                                           struct sutra_error *error) {
    const struct cpu_ops *ops = index->step->ops;
    struct arena_mark mark = arena_mark(arena);
    struct sort_keys_step pairs = {arena_take(arena, ops->n, sizeof *pairs.keys),
                                   arena_take(arena, ops->n, sizeof *pairs.rows), ops->n};
    enum sutra_status status = arena->failed ? error_memory(error) : SUTRA_OK;
    for (row_t i = 0; i < ops->n && !status; i++) {
        pairs.keys[i] = integer_sort_key(ops->external[i]);
        pairs.rows[i] = i;
    }
    if (!status)
        status = cpu_sort_keys(pool, &pairs, error);
    if (!status) {
        cpu_rows_by_thread(ops, pairs.rows, index->start, index->by_external);
        for (row_t k = 0; k < ops->n; k++)
            index->external[k] = ops->external[index->by_external[k]];
    }
    arena_release(arena, mark);
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
    struct bisection at = {low, high};
    while (at.low < at.high)
        bisect(&at, before(arg, bisect_middle(at)));
    return at.low;
}

struct found_places {
    row_t by_thread, by_external;
};

/* One question, and where the searches for earlier ones ended. */
struct asking {
    const struct parent_index *index;
    struct number launch_ts;
    uint32_t thread;
    value_key external;
    row_t bound, marker;            /* the numbers of operators and of markers that begin before the launch */
    struct found_places near[NEAR]; /* by thread and sign of the external id, as far as there is room */
};

static bool ts_before(const void *arg, row_t row) {
    const struct asking *asking = arg;
    return op_begins_before(number_at(asking->index->step->ops->ts, row), asking->launch_ts);
}

static bool marker_before(const void *arg, row_t marker) {
    const struct asking *asking = arg;
    return op_begins_before(number_at(asking->index->step->markers->ts, marker), asking->launch_ts);
}

static bool thread_before(const void *arg, row_t place) {
    const struct asking *asking = arg;
    return asking->index->by_thread[place] < asking->bound;
}

static bool key_before(const void *arg, row_t place) {
    const struct asking *asking = arg;
    const struct parent_index *index = asking->index;
    return external_before(index->external[place], index->by_external[place], asking->external, asking->bound);
}

/* The row at the last place before `end`, itself or by its link; ROW_NONE if that leads out of the group. */
static row_t last_row(const row_t *rows, const row_t *links, row_t end, bool plain) {
    row_t place = plain && links ? links[end - 1] : end - 1;
    return place == ROW_NONE ? ROW_NONE : rows[place];
}

/* See parent_of(). */
static row_t find_op(void *search, bool same, bool plain) {
    struct asking *asking = search;
    const struct parent_index *index = asking->index;
    if (asking->thread >= index->step->ops->n_threads)
        return ROW_NONE;
    struct found_places *near = &asking->near[(2 * asking->thread + (asking->external < 0)) % NEAR];
    row_t low = index->start[asking->thread], high = index->start[asking->thread + 1];
    if (!same) {
        row_t place = find_near(low, high, near->by_thread, thread_before, asking);
        near->by_thread = place;
        return place > low ? last_row(index->by_thread, index->plain_by_thread, place, plain) : ROW_NONE;
    }
    row_t place = find_near(low, high, near->by_external, key_before, asking);
    near->by_external = place;
    if (place == low || index->external[place - 1] != asking->external)
        return ROW_NONE;
    return last_row(index->by_external, index->plain_by_external, place, plain);
}

static row_t find_parent(struct asking *asking, bool nccl) {
    const struct cpu_ops *ops = asking->index->step->ops;
    const struct op_markers *markers = asking->index->step->markers;
    struct parent_query query = {.external = asking->external, .nccl = nccl, .n_ops = ops->n};
    if (asking->thread == markers->thread) {
        query.n_markers = asking->marker = find_near(0, markers->n, asking->marker, marker_before, asking);
        query.before = asking->marker ? markers->before[asking->marker - 1] : 0;
    }
    if (asking->thread < ops->n_threads)
        asking->bound = find_near(0, ops->n, asking->bound, ts_before, asking);
    return parent_of(&query, find_op, asking);
}

static void answer_block(void *arg, size_t block) {
    const struct parent_index *index = arg;
    const struct parent_queries *queries = index->step->queries;
    size_t begin = block * BLOCK, end = begin + BLOCK < queries->n ? begin + BLOCK : queries->n;
    struct asking asking = {.index = index};
    for (row_t i = (row_t)begin; i < end; i++) {
        asking.launch_ts = number_at(queries->launch_ts, i);
        asking.thread = queries->thread[i];
        asking.external = queries->external[i];
        index->step->parent[i] = find_parent(&asking, queries->nccl[i] != 0);
    }
}

static bool allocate(struct arena *arena, struct parent_index *index) {
    const struct cpu_ops *ops = index->step->ops;
    index->start = arena_take(arena, (size_t)ops->n_threads + 1, sizeof *index->start);
    index->by_thread = arena_take(arena, ops->n, sizeof *index->by_thread);
    index->by_external = arena_take(arena, ops->n, sizeof *index->by_external);
    index->external = arena_take(arena, ops->n, sizeof *index->external);
    if (has_coalesced(ops)) {
        index->plain_by_thread = arena_take(arena, ops->n, sizeof *index->plain_by_thread);
        index->plain_by_external = arena_take(arena, ops->n, sizeof *index->plain_by_external);
    }
    return !arena->failed;
}

enum sutra_status cpu_parents(void *pool, struct parents_step *step, struct sutra_error *error) {
    struct arena arena = {0};
    struct parent_index index = {.step = step};
    enum sutra_status status = allocate(&arena, &index) ? SUTRA_OK : error_memory(error);
    if (!status)
        status = index_by_external(&arena, pool, &index, error);
    if (!status) {
        cpu_rows_by_thread(step->ops, NULL, index.start, index.by_thread);
        if (index.plain_by_thread)
            link_plain(&index);
        pool_run(pool, ((size_t)step->queries->n + BLOCK - 1) / BLOCK, answer_block, &index);
    }
    arena_free(&arena);
    return status;
}
