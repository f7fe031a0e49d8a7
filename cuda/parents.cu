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
#include "cuda/table.h"

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

SHARED row_t count_before(const struct parent_columns &c, row_t low, row_t high, row_t bound) {
    struct bisection at = {low, high};
    while (at.low < at.high)
        bisect(&at, c.table.by_thread[bisect_middle(at)] < bound);
    return at.low;
}

SHARED row_t count_external_before(const struct parent_columns &c, row_t low, row_t high, value_key external,
                                   row_t bound) {
    struct bisection at = {low, high};
    while (at.low < at.high) {
        row_t middle = bisect_middle(at);
        bisect(&at, external_before(c.external[middle], c.by_external.rows[middle], external, bound));
    }
    return at.low;
}

/* One question: the operators that begin before the launch are those below `bound`. */
struct asking_row {
    const struct parent_columns *columns;
    row_t query, bound;
};

/* See parent_of(). */
SHARED row_t find_op(void *search, bool same, bool plain) {
    const struct asking_row *asking = (const struct asking_row *)search;
    const struct parent_columns &c = *asking->columns;
    uint32_t thread = c.queries.thread[asking->query];
    value_key external = c.queries.external[asking->query];
    if (thread >= c.table.n_threads)
        return ROW_NONE;
    row_t low = c.table.start[thread], high = c.table.start[thread + 1];
    row_t place =
        same ? count_external_before(c, low, high, external, asking->bound) : count_before(c, low, high, asking->bound);
    if (place > low && plain)
        place = same ? c.plain_by_external[place - 1] : c.plain_by_thread[place - 1];
    if (place <= low || (same && c.external[place - 1] != external))
        return ROW_NONE;
    return same ? c.by_external.rows[place - 1] : c.table.by_thread[place - 1];
}

SHARED void find_parent(const struct parent_columns &c, row_t i) {
    struct number launch_ts = number_at(c.queries.launch_ts, i);
    uint32_t thread = c.queries.thread[i];
    struct asking_row asking = {&c, i, 0};
    struct parent_query query = {c.queries.external[i], c.queries.nccl[i] != 0, 0, 0, c.table.n};
    if (thread == c.markers.thread)
        query.n_markers = count_begun(c.markers.ts, c.markers.n, launch_ts);
    if (query.n_markers)
        query.before = c.markers.before[query.n_markers - 1];
    if (thread < c.table.n_threads)
        asking.bound = count_begun(c.table.ts, c.table.n, launch_ts);
    c.parent[i] = parent_of(&query, find_op, &asking);
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

void gpu_parents(struct gpu *gpu, struct parents_step *step) {
    const struct parent_queries *queries = step->queries;
    const struct op_markers *markers = step->markers;
    struct gpu_table *table = table_of(gpu, step->ops);
    table_need_times(gpu, table);
    table_need_names(gpu, table);
    struct parent_columns c = {};
    c.table = *table;
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
