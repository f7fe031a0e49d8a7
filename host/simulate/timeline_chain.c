/*
 * timeline_chain.c - one chain of CPU nodes through all threads: in come the cuts of operators, the waits and the
 * launches that need a cut; out go nodes that last from cut to cut.
 *
 *     boundaries by time   | op a cut | wait at | until | op b cut |       of one moment: launches and rests first, then
 *     nodes                [ a        ][ b part ]         [ b      ]       waits, then resumptions, then operators' cuts
 *
 * Where the processor waits, the node behind has no duration for it, but waits for the kernels. If other threads have
 * worked meanwhile, or launched something that this part depends on, the time until then is kept as a node, so that a
 * kernel never depends on what comes after the wait for it.
 */
#include <math.h>

#include "simulate/timeline_stages.h"

enum boundary_kind { AT_LAUNCH, AT_REST, AT_WAIT, AT_RESUMPTION, AT_CUT };

/* Boundaries in the order of time, ties by kind. */
struct boundaries {
    row_t n;
    double *time;
    uint8_t *kind; /* enum boundary_kind */
    row_t *of;     /* row of the operator, launch cut or wait */
    row_t *order;
};

static void add_boundary(struct boundaries *boundaries, enum boundary_kind kind, double time, row_t of) {
    boundaries->time[boundaries->n] = time;
    boundaries->kind[boundaries->n] = (uint8_t)kind;
    boundaries->of[boundaries->n++] = of;
}

/* Sorting is stable, so they are added kind after kind. */
static bool collect(const struct timeline_work *work, const struct timeline_order *ops,
                    const struct timeline_waits *waits, const struct timeline_launch_cuts *launches,
                    struct boundaries *boundaries) {
    const size_t most = (size_t)work->input->ops.n * 2 + (size_t)waits->n * 2 + launches->n;
    *boundaries = (struct boundaries){
        .time = arena_take(work->arena, most, sizeof *boundaries->time),
        .kind = arena_take(work->arena, most, sizeof *boundaries->kind),
        .of = arena_take(work->arena, most, sizeof *boundaries->of),
        .order = arena_take(work->arena, most, sizeof *boundaries->order),
    };
    if (work->arena->failed || most > ROW_LIMIT)
        return false;
    for (row_t i = 0; i < launches->n; i++)
        add_boundary(boundaries, AT_LAUNCH, launches->time[i], i);
    for (row_t i = 0; i < work->input->ops.n; i++)
        add_boundary(boundaries, AT_REST, work->input->ops.start[ops->order[i]], ops->order[i]);
    for (row_t i = 0; i < waits->n; i++)
        add_boundary(boundaries, AT_WAIT, waits->at[i], i);
    for (row_t i = 0; i < waits->n; i++)
        add_boundary(boundaries, AT_RESUMPTION, waits->until[i], i);
    for (row_t i = 0; i < work->input->ops.n; i++)
        add_boundary(boundaries, AT_CUT, ops->cut[ops->order[i]], ops->order[i]);
    const double *keys[] = {boundaries->time};
    return timeline_sort(work, boundaries->n, keys, 1, boundaries->order);
}

struct chaining {
    const struct timeline_work *work;
    const struct timeline_queues *queues;
    const struct timeline_waits *waits;
    struct timeline_chain *chain;
    const row_t *rest_op; /* per operator: what was running when it began */
    bool *is_used;        /* per operator: its first part is there */
    double now;           /* up to where time is accounted for */
    row_t n_waits;        /* that nodes wait for */
};

static double last_cut(const struct chaining *chaining) {
    const struct timeline_chain *chain = chaining->chain;
    return chain->n ? chain->cut[chain->n - 1] : -INFINITY;
}

/* Resumptions that the next node waits for. */
static bool is_waiting(const struct chaining *chaining) {
    return chaining->n_waits > chaining->chain->first_wait[chaining->chain->n];
}

/* A node from now until the time. */
static void add_node(struct chaining *chaining, enum timeline_role role, row_t op, double time) {
    struct timeline_chain *chain = chaining->chain;
    row_t i = chain->n;
    int64_t duration = timeline_us(chaining->work, time) - timeline_us(chaining->work, chaining->now);
    chain->role[i] = (uint8_t)(op == ROW_NONE ? NODE_GAP : role);
    chain->op[i] = op;
    chain->is_first[i] = role == NODE_OP && op != ROW_NONE && !chaining->is_used[op];
    if (chain->is_first[i])
        chaining->is_used[op] = true;
    chain->start[i] = chaining->now;
    chain->duration_us[i] = duration > 0 ? (uint64_t)duration : 0;
    chain->cut[i] = fmax(time, last_cut(chaining));
    chain->first_wait[++chain->n] = chaining->n_waits;
    chaining->now = fmax(chaining->now, time);
}

/* A rest that is too long for the next node to take gets one of its own. */
static void at_rest(struct chaining *chaining, double time, row_t op) {
    if (time - chaining->now > chaining->work->input->options.rest_us) {
        add_node(chaining, NODE_REST, chaining->rest_op[op], time);
        chaining->chain->n_rests++;
    }
}

static void at_wait(struct chaining *chaining, double time, row_t wait) {
    if (time > chaining->now || chaining->chain->n == 0 || chaining->waits->last_launch[wait] > last_cut(chaining))
        add_node(chaining, NODE_OP, chaining->waits->op_at[wait], time);
}

/* Whether a kernel was launched after the last cut and by now. */
static bool has_launched(const struct chaining *chaining, double time) {
    const double *launches = chaining->queues->launch_time;
    row_t n = chaining->work->input->kernels.n;
    row_t next = times_up_to(launches, n, last_cut(chaining));
    return next < n && launches[next] <= time;
}

static void at_resumption(struct chaining *chaining, double time, row_t wait) {
    if (last_cut(chaining) > chaining->waits->at[wait] || has_launched(chaining, time))
        add_node(chaining, NODE_OP, chaining->waits->op_until[wait], time);
    chaining->chain->waits[chaining->n_waits++] = wait;
    chaining->now = fmax(chaining->now, time);
}

/* The end of an operator of which nothing is left after its last part makes no node. */
static void at_cut(struct chaining *chaining, double time, row_t op) {
    if (!chaining->is_used[op] || time > chaining->now || is_waiting(chaining))
        add_node(chaining, NODE_OP, op, time);
}

static void walk_boundaries(struct chaining *chaining, const struct boundaries *boundaries,
                            const struct timeline_launch_cuts *launches) {
    for (row_t i = 0; i < boundaries->n; i++) {
        row_t boundary = boundaries->order[i], of = boundaries->of[boundary];
        double time = boundaries->time[boundary];
        switch ((enum boundary_kind)boundaries->kind[boundary]) {
        case AT_LAUNCH:
            if (time > chaining->now)
                add_node(chaining, NODE_OP, launches->op[of], time);
            break;
        case AT_REST:
            at_rest(chaining, time, of);
            break;
        case AT_WAIT:
            at_wait(chaining, time, of);
            break;
        case AT_RESUMPTION:
            at_resumption(chaining, time, of);
            break;
        case AT_CUT:
            at_cut(chaining, time, of);
            break;
        }
    }
}

static struct timeline_chain take_chain(struct arena *arena, size_t most, size_t most_waits) {
    return (struct timeline_chain){
        .role = arena_take(arena, most, sizeof(uint8_t)),
        .op = arena_take(arena, most, sizeof(row_t)),
        .is_first = arena_take(arena, most, sizeof(bool)),
        .start = arena_take(arena, most, sizeof(double)),
        .cut = arena_take(arena, most, sizeof(double)),
        .duration_us = arena_take(arena, most, sizeof(uint64_t)),
        .first_wait = arena_zeros(arena, most + 1, sizeof(row_t)),
        .waits = arena_take(arena, most_waits, sizeof(row_t)),
    };
}

/* What was running when each operator began. */
static const row_t *find_rest_ops(const struct timeline_work *work, const struct timeline_order *ops) {
    struct owner_queries queries = owner_queries_take(work->arena, work->input->ops.n);
    if (work->arena->failed)
        return NULL;
    for (row_t i = 0; i < work->input->ops.n; i++) {
        queries.time[i] = work->input->ops.start[i];
        queries.thread[i] = THREAD_ALL;
    }
    return timeline_find_owners(work, ops, &queries) ? queries.op : NULL;
}

bool timeline_chain_ops(const struct timeline_work *work, const struct timeline_order *ops,
                        const struct timeline_queues *queues, const struct timeline_waits *waits,
                        const struct timeline_launch_cuts *launches, struct timeline_chain *chain) {
    struct boundaries boundaries;
    if (!collect(work, ops, waits, launches, &boundaries))
        return false;
    *chain = take_chain(work->arena, (size_t)boundaries.n + 1, waits->n);
    struct chaining chaining = {.work = work,
                                .queues = queues,
                                .waits = waits,
                                .chain = chain,
                                .rest_op = find_rest_ops(work, ops),
                                .is_used = arena_zeros(work->arena, work->input->ops.n, sizeof(bool)),
                                .now = work->origin};
    if (work->arena->failed || !chaining.rest_op)
        return false;
    walk_boundaries(&chaining, &boundaries, launches);
    if (work->input->ops.n &&
        (is_waiting(&chaining) || timeline_us(work, ops->last_end) > timeline_us(work, chaining.now)))
        add_node(&chaining, NODE_GAP, ROW_NONE, ops->last_end);
    return true;
}
