/*
 * parents.cu - the CPU operator that launched each GPU operator; in come the operators of a table, markers, and what is
 * asked for, out goes a row for each question.
 *
 * Two indexes, as on the CPU: the rows by (thread, row), which the table has, and by (thread, external id, row). Each
 * question takes three binary searches, and one among the markers. Where operators are coalesced, a scan links each
 * place to the last one before it that is not. O(n log n) to index, O(log n) a question; 75 bytes an operator and 30 a
 * question.
 */
#include "cuda/atomic.h"
#include "cuda/bits.h"
#include "cuda/key_sort.h"
#include "cuda/starts.h"
#include "cuda/steps.h"

struct parent_columns {
    struct gpu_table table;
    struct pairs by_external;                   /* by thread and external id: keys are threads */
    value_key *external;                        /* by place in that order */
    row_t *plain_by_thread, *plain_by_external; /* by place: the last place that is not coalesced, plus 1 */
    struct op_markers markers;
    struct parent_queries queries;
    row_t *parent;
};

SHARED void put_thread(const struct parent_columns &c, row_t place) {
    c.by_external.keys[place] = c.table.thread[c.by_external.rows[place]];
}

SHARED void put_external(const struct parent_columns &c, row_t place) {
    row_t by_external = c.by_external.rows[place], by_thread = c.table.by_thread[place];
    c.external[place] = c.table.external[by_external];
    c.plain_by_external[place] = c.table.coalesced[by_external] ? 0 : place + 1;
    c.plain_by_thread[place] = c.table.coalesced[by_thread] ? 0 : place + 1;
}

SHARED row_t count_thread_before(const struct parent_columns &c, row_t low, row_t high, row_t bound) {
    while (low < high) {
        row_t middle = low + (high - low) / 2;
        if (c.table.by_thread[middle] < bound)
            low = middle + 1;
        else
            high = middle;
    }
    return low;
}

SHARED row_t count_external_before(const struct parent_columns &c, row_t low, row_t high, value_key external,
                                   row_t bound) {
    while (low < high) {
        row_t middle = low + (high - low) / 2;
        if (external_before(c.external[middle], c.by_external.rows[middle], external, bound))
            low = middle + 1;
        else
            high = middle;
    }
    return low;
}

/* The last operator of the thread that begins before the launch: `same` with the query's external id. */
SHARED row_t find_op(const struct parent_columns &c, row_t query, row_t bound, bool same) {
    uint32_t thread = c.queries.thread[query];
    row_t low = c.table.start[thread], high = c.table.start[thread + 1];
    value_key external = c.queries.external[query];
    row_t place =
        same ? count_external_before(c, low, high, external, bound) : count_thread_before(c, low, high, bound);
    if (place > low && c.queries.nccl[query])
        place = same ? c.plain_by_external[place - 1] : c.plain_by_thread[place - 1];
    if (place <= low || (same && c.external[place - 1] != external))
        return ROW_NONE;
    return same ? c.by_external.rows[place - 1] : c.table.by_thread[place - 1];
}

SHARED void find_parent(const struct parent_columns &c, row_t query) {
    struct number launch_ts = number_at(c.queries.launch_ts, query);
    uint32_t thread = c.queries.thread[query];
    bool known = thread < c.table.n_threads;
    row_t marker = thread == c.markers.thread ? count_begun(c.markers.ts, c.markers.n, launch_ts) : 0;
    row_t bound = known ? count_begun(c.table.ts, c.table.n, launch_ts) : 0;
    row_t parent = ROW_NONE;
    for (int same = 1; same >= 0 && parent == ROW_NONE; same--) {
        if (known)
            parent = find_op(c, query, bound, same != 0);
        if (marker && (!same || c.queries.external[query] == MARKER_EXTERNAL) &&
            marker_is_later(c.markers.before[marker - 1], parent))
            parent = c.table.n + marker - 1;
    }
    c.parent[query] = parent;
}

static void index_by_external(struct gpu *gpu, struct parent_columns *c) {
    row_t n = c->table.n;
    c->external = gpu_take<value_key>(gpu, n);
    c->plain_by_thread = gpu_take<row_t>(gpu, n);
    c->plain_by_external = gpu_take<row_t>(gpu, n);
    gpu_enter(gpu, GPU_SORT);
    c->by_external = keys_sort(gpu, c->table.external, n).pairs;
    gpu_each<put_thread>(gpu, n, *c);
    gpu_sort(gpu, &c->by_external, n, bits_of(c->table.n_threads));
    gpu_each<put_external>(gpu, n, *c);
    gpu_scan_max(gpu, c->plain_by_thread, n);
    gpu_scan_max(gpu, c->plain_by_external, n);
}

void gpu_parents(struct gpu *gpu, void *arg) {
    struct parents_step *step = static_cast<struct parents_step *>(arg);
    const struct parent_queries *queries = step->queries;
    const struct op_markers *markers = step->markers;
    table_need_times(gpu, step->table);
    table_need_names(gpu, step->table);
    struct parent_columns c = {};
    c.table = *step->table;
    index_by_external(gpu, &c);
    gpu_enter(gpu, GPU_UP);
    c.markers = *markers;
    c.markers.ts = gpu_up_numbers(gpu, markers->ts, markers->n);
    c.markers.before = gpu_up(gpu, markers->before, markers->n);
    c.queries = *queries;
    c.queries.launch_ts = gpu_up_numbers(gpu, queries->launch_ts, queries->n);
    c.queries.thread = gpu_up(gpu, queries->thread, queries->n);
    c.queries.external = gpu_up(gpu, queries->external, queries->n);
    c.queries.nccl = gpu_up(gpu, queries->nccl, queries->n);
    c.parent = gpu_take<row_t>(gpu, queries->n);
    gpu_ready(gpu);
    gpu_enter(gpu, GPU_PARENTS);
    gpu_each<find_parent>(gpu, queries->n, c);
    gpu_enter(gpu, GPU_DOWN);
    gpu_down(gpu, step->parent, c.parent, queries->n);
}
