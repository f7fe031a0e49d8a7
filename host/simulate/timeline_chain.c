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

enum boundary_kind { AT_REST, AT_WAIT, AT_RESUMPTION, AT_CUT };

static void add_boundary(struct timeline_boundaries *boundaries, enum boundary_kind kind, double time, row_t of) {
    boundaries->time[boundaries->n] = time;
    boundaries->kind[boundaries->n] = (uint8_t)kind;
    boundaries->of[boundaries->n++] = of;
}

/* Sorting is stable, so they are added kind after kind. Where no rest becomes a node nobody asks for begins; nor for
 * one at which an operator ends, whose own time it is up to there. */
bool timeline_list_boundaries(const struct timeline_work *work, const struct timeline_order *ops,
                              const struct timeline_waits *waits, struct timeline_boundaries *boundaries) {
    const row_t n_ops = work->input->ops.n, n_begins = isinf(work->input->options.rest_us) ? 0 : n_ops;
    const size_t most = (size_t)n_ops + n_begins + (size_t)waits->n * 2;
    *boundaries = (struct timeline_boundaries){
        .time = arena_take(work->arena, most, sizeof *boundaries->time),
        .kind = arena_take(work->arena, most, sizeof *boundaries->kind),
        .of = arena_take(work->arena, most, sizeof *boundaries->of),
        .order = arena_take(work->arena, most, sizeof *boundaries->order),
    };
    if (work->arena->failed || most > ROW_LIMIT)
        return false;
    for (row_t i = 0; i < n_begins; i++)
        if (!ops->is_abutting[ops->order[i]])
            add_boundary(boundaries, AT_REST, work->input->ops.start[ops->order[i]], ops->order[i]);
    for (row_t i = 0; i < waits->n; i++)
        add_boundary(boundaries, AT_WAIT, waits->at[i], i);
    for (row_t i = 0; i < waits->n; i++)
        add_boundary(boundaries, AT_RESUMPTION, waits->until[i], i);
    for (row_t i = 0; i < n_ops; i++)
        add_boundary(boundaries, AT_CUT, ops->cut[ops->order[i]], ops->order[i]);
    const double *keys[] = {boundaries->time};
    return timeline_sort(work, boundaries->n, keys, 1, boundaries->order);
}

struct chaining {
    const struct timeline_work *work;
    const struct timeline_queues *queues;
    const struct timeline_waits *waits;
    struct timeline_chain *chain;
    bool *is_used; /* per operator: its first part is there */
    double now;    /* up to where time is accounted for */
    row_t n_waits; /* that nodes wait for */
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
    chain->role[i] = (uint8_t)(op == ROW_NONE && role == NODE_OP ? NODE_GAP : role);
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
static void at_rest(struct chaining *chaining, double time) {
    if (time - chaining->now > chaining->work->input->options.rest_us) {
        add_node(chaining, NODE_REST, ROW_NONE, time);
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

static void at_launch(struct chaining *chaining, double time, row_t op) {
    if (time > chaining->now)
        add_node(chaining, NODE_OP, op, time);
}

/* Launches come first of what has one time. */
static void walk_boundaries(struct chaining *chaining, const struct timeline_boundaries *boundaries,
                            const struct timeline_launch_cuts *launches) {
    row_t launch = 0;
    for (row_t i = 0; i <= boundaries->n; i++) {
        row_t boundary = i < boundaries->n ? boundaries->order[i] : 0,
              of = i < boundaries->n ? boundaries->of[boundary] : 0;
        double time = i < boundaries->n ? boundaries->time[boundary] : INFINITY;
        for (; launch < launches->n && launches->time[launches->order[launch]] <= time; launch++)
            at_launch(chaining, launches->time[launches->order[launch]], launches->op[launches->order[launch]]);
        if (i == boundaries->n)
            return;
        switch ((enum boundary_kind)boundaries->kind[boundary]) {
        case AT_REST:
            at_rest(chaining, time);
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

bool timeline_chain_ops(const struct timeline_work *work, const struct timeline_order *ops,
                        const struct timeline_boundaries *boundaries, const struct timeline_queues *queues,
                        const struct timeline_waits *waits, const struct timeline_launch_cuts *launches,
                        struct timeline_chain *chain) {
    *chain = take_chain(work->arena, (size_t)boundaries->n + launches->n + 1, waits->n);
    struct chaining chaining = {.work = work,
                                .queues = queues,
                                .waits = waits,
                                .chain = chain,
                                .is_used = arena_zeros(work->arena, work->input->ops.n, sizeof(bool)),
                                .now = work->origin};
    if (work->arena->failed || (size_t)boundaries->n + launches->n >= ROW_LIMIT)
        return false;
    walk_boundaries(&chaining, boundaries, launches);
    if (work->input->ops.n &&
        (is_waiting(&chaining) || timeline_us(work, ops->last_end) > timeline_us(work, chaining.now)))
        add_node(&chaining, NODE_GAP, ROW_NONE, ops->last_end);
    return true;
}

/* A rest ends where an operator begins: it was in what was running then. */
bool timeline_own_rests(const struct timeline_work *work, const struct timeline_order *ops,
                        struct timeline_chain *chain) {
    struct arena_mark mark = arena_mark(work->arena);
    struct owner_queries queries = owner_queries_take(work->arena, (row_t)chain->n_rests);
    row_t *rests = arena_take(work->arena, chain->n_rests, sizeof *rests), n = 0;
    bool done = !work->arena->failed;
    for (row_t i = 0; i < chain->n && done; i++)
        if (chain->role[i] == NODE_REST) {
            queries.time[n] = chain->cut[i];
            queries.thread[n] = THREAD_ALL;
            rests[n++] = i;
        }
    done = done && timeline_find_owners(work, ops, &queries);
    for (row_t i = 0; i < n && done; i++) {
        chain->op[rests[i]] = queries.op[i];
        if (queries.op[i] == ROW_NONE)
            chain->role[rests[i]] = NODE_GAP;
    }
    arena_release(work->arena, mark);
    return done;
}
