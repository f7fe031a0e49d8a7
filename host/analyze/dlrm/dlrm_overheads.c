/*
 * dlrm_overheads.c - the host's overheads T1..T5 as samples, in two variants.
 *
 *          op                                                   next op
 *     |----------------------------------------------------|   |------
 *         T2    launch      T5       launch        T3        T1
 *     |--------|xxxxxx|-------------|xxxxxx|---------------|---|
 *
 * The profiler's own time for each host event in between is subtracted. Events are counted in pre-order: a counter goes
 * up at each one and starts again at a call that has nothing below it and is none of those that start nothing; calls
 * that are no launches leave what they counted to the next. O(n).
 */
#include "analyze/dlrm/dlrm_overheads.h"

#include "base/buffer.h"
#include "base/error.h"

/* Gaps between operators from here on are something else, such as loading of data. */
#define GAP_LIMIT_US 200

/* A launch inside of an operator and the events before it, since the last one. */
struct launch_after {
    row_t event;
    uint32_t n_before;
};

struct measuring {
    struct dlrm_work *work;
    const struct dlrm_tree *tree;
    bool by_shape;
    uint32_t launch_roles; /* what counts as a launch; the only calls that wait of the notebook's are those that
                              synchronise a stream */
    uint32_t *n_events;    /* per node: it and the nodes below it, those that start nothing left out with theirs */
    struct launch_after *launches;
    uint32_t n_launches;
    struct tuples shapes;  /* (input, output) */
    uint32_t *shapes_text; /* of each */
    uint64_t shapes_capacity;
    struct tuples named; /* operators whose launches are listed */
    struct dlrm_overheads *made;
};

static void add_sample(struct measuring *measuring, enum sutra_dlrm_overhead_kind kind, uint32_t name, uint32_t shapes,
                       struct number us) {
    struct dlrm_samples *samples = &measuring->made->samples;
    samples->list[samples->n++] = (struct dlrm_sample){kind, name, shapes, us};
}

/* a - b - the profiler's time for n host events */
static struct number difference(struct number a, struct number b, int64_t n) {
    return number_subtract(number_subtract(a, b), number_integer(CPU_EVENT_OVERHEAD * n));
}

static bool node_is(const struct measuring *measuring, row_t node, uint32_t role) {
    return event_is(measuring->work, measuring->tree->forest.event[node], role);
}

/* Returns how many samples there are at the most: of an operator T1 to T3 and T5, and T4 and T5 of each launch. */
static uint64_t count_events(struct measuring *measuring) {
    const struct dlrm_forest *forest = &measuring->tree->forest;
    uint64_t n_launches = 0;
    for (row_t node = forest->n; node-- > 0;) {
        measuring->n_events[node]++;
        if (forest->parent[node] != ROW_NONE && !node_is(measuring, node, DLRM_NO_START))
            measuring->n_events[forest->parent[node]] += measuring->n_events[node];
        n_launches += node_is(measuring, node, measuring->launch_roles);
    }
    return 4 * (uint64_t)measuring->tree->ops.n + 2 * n_launches;
}

static void find_launches(struct measuring *measuring, row_t op) {
    const struct dlrm_forest *forest = &measuring->tree->forest;
    uint32_t counter = 0, before = 0;
    measuring->n_launches = 0;
    for (row_t node = op + 1; node < forest->end[op]; node++) {
        counter++;
        if (forest->end[node] != node + 1 || (forest->flags[node] & NODE_OPERATOR) ||
            node_is(measuring, node, DLRM_NO_START))
            continue;
        before += counter - 1;
        counter = 0;
        if (!node_is(measuring, node, measuring->launch_roles))
            continue;
        measuring->launches[measuring->n_launches++] = (struct launch_after){forest->event[node], before};
        before = 0;
    }
}

/* The text of both shapes, by which the variant by shape tells calls of an operator apart. */
static uint32_t shapes_of(struct measuring *measuring, row_t op) {
    struct strings *texts = measuring->work->texts;
    const struct dlrm_shapes *of_nodes = &measuring->tree->shapes;
    uint32_t input = of_nodes->input[op], output = of_nodes->output[op], n = measuring->shapes.n;
    uint32_t shapes = tuples_number(&measuring->shapes, (struct tuple){{input, output}});
    if (shapes == TUPLE_NONE || !arena_grow(&measuring->work->scratch, &measuring->shapes_text, shapes,
                                            &measuring->shapes_capacity, sizeof *measuring->shapes_text))
        return STRING_NONE;
    if (shapes == n) {
        struct buffer text = {0};
        buffer_append(&text, "[", 1);
        buffer_append(&text, strings_text(texts, input), strings_length(texts, input));
        buffer_append(&text, ", ", 2);
        buffer_append(&text, strings_text(texts, output), strings_length(texts, output));
        buffer_append(&text, "]", 1);
        measuring->shapes_text[shapes] = text.failed ? STRING_NONE : strings_intern(texts, text.bytes, text.length);
        buffer_free(&text);
    }
    return measuring->shapes_text[shapes];
}

/* Lists the launches of an operator's first call that has any. */
static bool list_launches(struct measuring *measuring, uint32_t name) {
    struct dlrm_work *work = measuring->work;
    struct dlrm_launches *lists = &measuring->made->launches;
    uint32_t n = measuring->named.n, named = tuples_number(&measuring->named, (struct tuple){{name}});
    if (named == TUPLE_NONE ||
        !arena_grow(work->arena, &lists->lists, lists->n_lists, &lists->lists_capacity, sizeof *lists->lists))
        return false;
    if (named != n)
        return true;
    struct dlrm_launch_list *list = &lists->lists[lists->n_lists++];
    *list = (struct dlrm_launch_list){.name = name, .first = lists->n_names};
    for (uint32_t i = 0; i < measuring->n_launches; i++) {
        row_t event = measuring->launches[i].event;
        if (event_is(work, event, NAME_BLOCKING))
            continue;
        uint32_t launch = dlrm_name(work, work->events->name[event]);
        if (launch == STRING_NONE ||
            !arena_grow(work->arena, &lists->names, lists->n_names, &lists->names_capacity, sizeof *lists->names))
            return false;
        lists->names[lists->n_names++] = launch;
        list->n++;
    }
    return true;
}

/* T4, which is a constant. */
static bool add_launch_lengths(struct measuring *measuring) {
    struct dlrm_work *work = measuring->work;
    for (uint32_t i = 0; i < measuring->n_launches; i++) {
        row_t event = measuring->launches[i].event;
        uint32_t name = dlrm_name(work, work->events->name[event]);
        if (event_is(work, event, NAME_BLOCKING))
            continue;
        if (name == STRING_NONE)
            return false;
        add_sample(measuring, SUTRA_T4, name, SUTRA_DLRM_NONE,
                   number_integer(KERNEL_LAUNCH_LENGTH - CPU_EVENT_OVERHEAD - GPU_EVENT_OVERHEAD));
    }
    return true;
}

/* T2, T3 and T5 of an operator with launches. */
static void add_between(struct measuring *measuring, row_t op, uint32_t name, uint32_t shapes) {
    const struct dlrm_work *work = measuring->work;
    const struct launch_after *launches = measuring->launches;
    row_t event = measuring->tree->forest.event[op];
    uint32_t n = measuring->n_launches;
    int64_t trailing = measuring->n_events[op];
    for (uint32_t i = 0; i < n; i++)
        trailing -= (int64_t)launches[i].n_before + 1;
    struct number t3 = difference(event_end(work, event), event_end(work, launches[n - 1].event), trailing);
    if (measuring->by_shape && number_compare(t3, number_integer(0)) < 0)
        t3 = number_integer(0);
    add_sample(measuring, SUTRA_T2, name, shapes,
               difference(event_ts(work, launches[0].event), event_ts(work, event), launches[0].n_before));
    add_sample(measuring, SUTRA_T3, name, shapes, t3);
    for (uint32_t i = 1; i < n; i++)
        add_sample(measuring, SUTRA_T5, name, shapes,
                   difference(event_ts(work, launches[i].event), event_end(work, launches[i - 1].event),
                              launches[i].n_before));
    if (n == 1)
        add_sample(measuring, SUTRA_T5, name, shapes, number_integer(0));
}

/* T1, from the operator before this one to it, if both stand below the same parent. */
static void add_gap(struct measuring *measuring, row_t op) {
    const struct dlrm_work *work = measuring->work;
    const struct dlrm_forest *forest = &measuring->tree->forest;
    const row_t *ops = measuring->tree->ops.node;
    row_t node = ops[op], before = op ? ops[op - 1] : node;
    if (op == 0 || forest->parent[before] != forest->parent[node])
        return;
    struct number gap = number_subtract(event_ts(work, forest->event[node]), event_end(work, forest->event[before]));
    if (number_compare(gap, number_integer(GAP_LIMIT_US)) >= 0 ||
        (measuring->by_shape && number_compare(gap, number_integer(CPU_EVENT_OVERHEAD)) <= 0))
        return;
    add_sample(measuring, SUTRA_T1, SUTRA_DLRM_NONE, SUTRA_DLRM_NONE,
               number_subtract(gap, number_integer(CPU_EVENT_OVERHEAD)));
}

static bool measure_operator(struct measuring *measuring, row_t op) {
    const struct dlrm_work *work = measuring->work;
    const struct dlrm_operators *ops = &measuring->tree->ops;
    row_t node = ops->node[op], event = measuring->tree->forest.event[node];
    uint32_t name = ops->name[op], shapes = SUTRA_DLRM_NONE;
    if (measuring->by_shape && (shapes = measuring->made->op_shapes[op] = shapes_of(measuring, node)) == STRING_NONE)
        return false;
    find_launches(measuring, node);
    if (measuring->n_launches) {
        add_between(measuring, node, name, shapes);
        if (!add_launch_lengths(measuring) || !list_launches(measuring, name))
            return false;
    } else {
        if (event_is(work, event, DLRM_TO)) /* nothing was copied; the gap before it is left out as well */
            return true;
        add_sample(measuring, SUTRA_T5, name, shapes,
                   difference(event_dur(work, event), number_integer(0), measuring->n_events[node]));
    }
    add_gap(measuring, op);
    return true;
}

bool dlrm_samples_take(struct dlrm_work *work, const struct dlrm_tree *tree, bool by_shape,
                       struct dlrm_overheads *overheads) {
    struct arena *scratch = &work->scratch;
    struct arena_mark mark = arena_mark(scratch);
    row_t n = tree->forest.n;
    struct measuring measuring = {.work = work,
                                  .tree = tree,
                                  .by_shape = by_shape,
                                  .launch_roles = NAME_LAUNCH | (by_shape ? NAME_BLOCKING : 0u),
                                  .n_events = arena_zeros(scratch, n, sizeof *measuring.n_events),
                                  .launches = arena_take(scratch, n, sizeof *measuring.launches),
                                  .made = overheads};
    uint64_t n_most = scratch->failed ? 0 : count_events(&measuring);
    overheads->samples.list = arena_take(work->arena, n_most, sizeof *overheads->samples.list);
    overheads->op_shapes = arena_take(work->arena, by_shape ? tree->ops.n : 0, sizeof *overheads->op_shapes);
    bool ok = !scratch->failed && !work->arena->failed;
    for (row_t op = 0; op < tree->ops.n && ok; op++)
        ok = measure_operator(&measuring, op);
    tuples_free(&measuring.shapes);
    tuples_free(&measuring.named);
    arena_release(scratch, mark);
    return ok;
}

bool dlrm_number_operators(const struct dlrm_operators *ops, struct tuples *names) {
    bool ok = tuples_number(names, (struct tuple){{SUTRA_DLRM_NONE}}) == 0;
    for (row_t op = 0; op < ops->n && ok; op++)
        ok = tuples_number(names, (struct tuple){{ops->name[op]}}) != TUPLE_NONE;
    return ok;
}
