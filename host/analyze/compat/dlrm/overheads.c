/*
 * overheads.c - measures the CPU overheads T1..T5: samples in two variants, statistics, and the table of samples.
 *
 *          op                                                   next op
 *     |----------------------------------------------------|   |------
 *         T2    launch      T5       launch        T3        T1
 *     |--------|xxxxxx|-------------|xxxxxx|---------------|---|
 *
 * The profiler's own time for each CPU event in between is subtracted. Events are counted in pre-order: a counter is
 * incremented at each event and reset at a leaf call (except DLRM_NO_START); the counts of calls that are no launches
 * are added to the next launch. Cost: O(n) for the samples, O(n log n) for quartiles.
 */
#include <math.h>
#include <string.h>

#include "analyze/compat/dlrm/overheads.h"
#include "base/error.h"
#include "base/memory.h"
#include "read/json.h"
#include "write/text.h"

/* Longer gaps between operators are data loading or other work, not overhead. */
#define GAP_LIMIT_US 200

/* A launch inside an operator and the number of events since the previous launch. */
struct launch_after {
    row_t event;
    uint32_t n_before;
};

struct measuring {
    struct dlrm_work *work;
    const struct dlrm_tree *tree;
    bool by_shape;
    uint32_t launch_roles; /* roles of launches; the notebook's blocking calls are stream synchronizations */
    uint32_t *n_events;    /* per node: nodes of its subtree, without DLRM_NO_START calls and their descendants */
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

/* a - b - the profiler's time for n CPU events */
static struct number difference(struct number a, struct number b, int64_t n) {
    return number_subtract(number_subtract(a, b), number_integer(CPU_EVENT_OVERHEAD * n));
}

static bool node_is(const struct measuring *measuring, row_t node, uint32_t role) {
    return event_is(measuring->work, measuring->tree->forest.event[node], role);
}

/* The text of both shapes, the key of an operator's calls in the variant by shape. */
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
        buffer_append_text(&text, "[");
        buffer_append(&text, strings_text(texts, input), strings_length(texts, input));
        buffer_append_text(&text, ", ");
        buffer_append(&text, strings_text(texts, output), strings_length(texts, output));
        buffer_append_text(&text, "]");
        measuring->shapes_text[shapes] = text.failed ? STRING_NONE : strings_intern(texts, text.bytes, text.length);
        buffer_free(&text);
    }
    return measuring->shapes_text[shapes];
}

/* Lists the launches of an operator's first call with launches. */
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

/* Adds T1, the gap to the previous operator, if both have the same parent. */
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
    struct dlrm_work *work = measuring->work;
    const struct dlrm_operators *ops = &measuring->tree->ops;
    row_t node = ops->node[op], event = measuring->tree->forest.event[node];
    uint32_t name = ops->name[op], shapes = SUTRA_DLRM_NONE;
    if (measuring->by_shape && (shapes = measuring->made->op_shapes[op] = shapes_of(measuring, node)) == STRING_NONE)
        return false;
    const struct dlrm_forest *forest = &measuring->tree->forest;
    uint32_t counter = 0, before = 0;
    measuring->n_launches = 0;
    for (row_t child = node + 1; child < forest->end[node]; child++) {
        counter++;
        if (forest->end[child] != child + 1 || (forest->flags[child] & NODE_OPERATOR) ||
            node_is(measuring, child, DLRM_NO_START))
            continue;
        before += counter - 1;
        counter = 0;
        if (!node_is(measuring, child, measuring->launch_roles))
            continue;
        measuring->launches[measuring->n_launches++] = (struct launch_after){forest->event[child], before};
        before = 0;
    }
    if (measuring->n_launches) {
        /* T2, T3 and T5. */
        const struct launch_after *launches = measuring->launches;
        uint32_t n = measuring->n_launches;
        int64_t trailing = measuring->n_events[node];
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
        /* T4, which is a constant. */
        for (uint32_t i = 0; i < measuring->n_launches; i++) {
            row_t launch = measuring->launches[i].event;
            uint32_t launch_name = dlrm_name(work, work->events->name[launch]);
            if (event_is(work, launch, NAME_BLOCKING))
                continue;
            if (launch_name == STRING_NONE)
                return false;
            add_sample(measuring, SUTRA_T4, launch_name, SUTRA_DLRM_NONE,
                       number_integer(KERNEL_LAUNCH_LENGTH - CPU_EVENT_OVERHEAD - GPU_EVENT_OVERHEAD));
        }
        if (!list_launches(measuring, name))
            return false;
    } else {
        if (event_is(work, event, DLRM_TO)) /* copied nothing; the gap before it is skipped as well */
            return true;
        add_sample(measuring, SUTRA_T5, name, shapes,
                   difference(event_dur(work, event), number_integer(0), measuring->n_events[node]));
    }
    add_gap(measuring, op);
    return true;
}

/* Collects the samples of all operators, in their order, and their launches. The variant by shape also treats stream
 * synchronization as a launch, skips gaps shorter than an event's overhead, and clips negative T3. False: out of
 * memory. */
static bool collect_samples(struct dlrm_work *work, const struct dlrm_tree *tree, bool by_shape,
                            struct dlrm_overheads *overheads) {
    struct arena *scratch = &work->scratch;
    struct arena_mark mark = arena_mark(scratch);
    row_t n = tree->forest.n;
    struct measuring measuring = {.work = work,
                                  .tree = tree,
                                  .by_shape = by_shape,
                                  .launch_roles = NAME_LAUNCH | (by_shape ? NAME_BLOCKING : 0u),
                                  .n_events = arena_zeros(scratch, n, sizeof *measuring.n_events),
                                  .launches = arena_alloc(scratch, n, sizeof *measuring.launches),
                                  .made = overheads};
    if (scratch->failed)
        return false;
    /* Count the nodes of each subtree, and the samples: at most T1 to T3 and T5 per operator, T4 and T5 per launch. */
    const struct dlrm_forest *forest = &measuring.tree->forest;
    uint64_t n_launches = 0;
    for (row_t node = forest->n; node-- > 0;) {
        measuring.n_events[node]++;
        if (forest->parent[node] != ROW_NONE && !node_is(&measuring, node, DLRM_NO_START))
            measuring.n_events[forest->parent[node]] += measuring.n_events[node];
        n_launches += node_is(&measuring, node, measuring.launch_roles);
    }
    uint64_t n_max = 4 * (uint64_t)measuring.tree->ops.n + 2 * n_launches;
    overheads->samples.list = arena_alloc(work->arena, n_max, sizeof *overheads->samples.list);
    overheads->op_shapes = arena_alloc(work->arena, by_shape ? tree->ops.n : 0, sizeof *overheads->op_shapes);
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

/*
 * ---- Mean and standard deviation of the overheads, by kind and name, and by shape ----
 *
 * Adds a row for each kind and name (and shape) that has samples, in the order of first occurrence. By shape, negative
 * values count as 0, and for all kinds except T4 values more than 1.5 interquartile ranges below the first or above the
 * third quartile are skipped. Two passes for each deviation; sums are rounded as numpy does.
 */

struct statistics {
    const struct engine *engine;
    const struct dlrm_operators *ops;
    const struct dlrm_samples *samples;
    bool by_shape;
    struct dlrm_overheads *made;
    struct tuples groups; /* (kind, name, shapes) */
    uint32_t *group;      /* per sample */
    struct number_column us;
    row_t *order;    /* samples by group */
    row_t *by_value; /* by group and value; by shape only */
    uint64_t *keys;  /* of either */
    double *values;  /* the values of one group that count */
    uint64_t n_kept;
};

static double value(const struct statistics *statistics, row_t sample) {
    return number_as_double(number_at(statistics->us, sample));
}

/* The sum as numpy rounds it: blocks of up to 128 in eight lanes, halves added up. Depth: log2(n / 128). */
static double sum_in_pairs(const double *list, size_t n) {
    double lane[8], sum = 0;
    if (n > 128) {
        size_t half = n / 2 - n / 2 % 8;
        return sum_in_pairs(list, half) + sum_in_pairs(list + half, n - half);
    }
    size_t i = 0;
    if (n >= 8) {
        memcpy(lane, list, sizeof lane);
        for (i = 8; i + 8 <= n; i += 8)
            for (size_t j = 0; j < 8; j++)
                lane[j] += list[i + j];
        sum = ((lane[0] + lane[1]) + (lane[2] + lane[3])) + ((lane[4] + lane[5]) + (lane[6] + lane[7]));
    }
    for (; i < n; i++)
        sum += list[i];
    return sum;
}

/* The quantile q of the values at [first, end) of `by_value`, with linear interpolation. */
static double quantile(const struct statistics *statistics, row_t first, row_t end, double q) {
    double at = q * (end - first - 1), below = floor(at), fraction = at - below;
    row_t i = first + (row_t)below;
    double low = value(statistics, statistics->by_value[i]);
    double high = value(statistics, statistics->by_value[i + (i + 1 < end)]);
    return fraction < 0.5 ? low + (high - low) * fraction : high - (high - low) * (1 - fraction);
}

void dlrm_mean_of(double *list, uint64_t n, double *mean, double *deviation) {
    *mean = n ? sum_in_pairs(list, n) / (double)n : NAN;
    for (uint64_t i = 0; i < n; i++)
        list[i] = (list[i] - *mean) * (list[i] - *mean);
    *deviation = n ? sqrt(sum_in_pairs(list, n) / (double)n) : NAN;
}

/* Stably by group. */
static enum sutra_status sort_by_group(const struct statistics *statistics, row_t *order, struct sutra_error *error) {
    const struct engine *engine = statistics->engine;
    row_t n = (row_t)statistics->samples->n;
    for (row_t i = 0; i < n; i++)
        statistics->keys[i] = statistics->group[order[i]];
    return engine->sort_keys(engine->state, &(struct sort_keys_step){statistics->keys, order, n}, error);
}

static void fill_rows(struct statistics *statistics) {
    row_t n = (row_t)statistics->samples->n, first = 0, end = 0;
    for (uint32_t group = 0; group < statistics->groups.n; group++, first = end) {
        const value_key *key = statistics->groups.list[group].part;
        struct sutra_dlrm_overhead *row = &statistics->made->list[statistics->made->n];
        *row = (struct sutra_dlrm_overhead){
            .kind = (enum sutra_dlrm_overhead_kind)key[0], .name = (uint32_t)key[1], .shapes = (uint32_t)key[2]};
        while (end < n && statistics->group[statistics->order[end]] == group)
            end++;
        double *values = statistics->values, min = -INFINITY, max = INFINITY;
        if (statistics->by_shape && row->kind != SUTRA_T4 && first < end) {
            double low = quantile(statistics, first, end, 0.25), high = quantile(statistics, first, end, 0.75);
            min = low - 1.5 * (high - low);
            max = high + 1.5 * (high - low);
        }
        for (row_t i = first; i < end; i++) {
            double us = value(statistics, statistics->order[i]);
            if (!(us >= min && us <= max))
                continue;
            values[row->n++] = us;
            if (statistics->by_shape) {
                statistics->made->kept[statistics->n_kept++] = us;
                statistics->made->has_fractions |=
                    us > 0 && number_is_double(statistics->samples->list[statistics->order[i]].us);
            }
        }
        dlrm_mean_of(values, row->n, &row->mean_us, &row->std_us);
        statistics->made->n += row->n > 0 || row->kind == SUTRA_T1;
    }
}

static enum sutra_status statistics_make(struct statistics *statistics, struct arena *arena,
                                         struct sutra_error *error) {
    const struct dlrm_samples *samples = statistics->samples;
    /* T1 has a row even without a sample. Rows of operators are in the order of first calls, not of first samples. */
    struct tuple first = {{SUTRA_T1, SUTRA_DLRM_NONE, SUTRA_DLRM_NONE}};
    TRY_ALLOC(tuples_number(&statistics->groups, first) != TUPLE_NONE, error);
    static const enum sutra_dlrm_overhead_kind kinds[] = {SUTRA_T2, SUTRA_T3, SUTRA_T5};
    const struct dlrm_operators *ops = statistics->ops;
    for (row_t op = 0; op < ops->n; op++) {
        uint32_t name = ops->name[op];
        uint32_t shapes = statistics->by_shape ? statistics->made->op_shapes[op] : SUTRA_DLRM_NONE;
        for (size_t i = 0; i < sizeof kinds / sizeof *kinds; i++)
            TRY_ALLOC(tuples_number(&statistics->groups, (struct tuple){{kinds[i], name, shapes}}) != TUPLE_NONE,
                      error);
    }
    for (uint64_t i = 0; i < samples->n; i++) {
        const struct dlrm_sample *sample = &samples->list[i];
        struct number us = sample->us;
        statistics->group[i] =
            tuples_number(&statistics->groups, (struct tuple){{sample->kind, sample->name, sample->shapes}});
        TRY_ALLOC(statistics->group[i] != TUPLE_NONE, error);
        if (statistics->by_shape && number_compare(us, number_integer(0)) < 0)
            us = number_integer(0);
        number_set(statistics->us, (row_t)i, number_double(number_as_double(us)));
    }
    statistics->made->list = arena_alloc(arena, statistics->groups.n, sizeof *statistics->made->list);
    TRY(arena_status(arena, error));
    /* Sort the samples by group, and by shape also by group and value. */
    const struct engine *engine = statistics->engine;
    row_t n = (row_t)samples->n;
    for (row_t i = 0; i < n; i++)
        statistics->order[i] = i;
    TRY(sort_by_group(statistics, statistics->order, error));
    if (statistics->by_shape) {
        struct sort_numbers_step by_value = {statistics->us, n, statistics->by_value};
        TRY(engine->sort_numbers(engine->state, &by_value, error));
        TRY(sort_by_group(statistics, statistics->by_value, error));
    }
    fill_rows(statistics);
    return SUTRA_OK;
}

static enum sutra_status describe_samples(struct dlrm_work *work, const struct dlrm_operators *ops, bool by_shape,
                                          struct dlrm_overheads *overheads, struct sutra_error *error) {
    struct arena *scratch = &work->scratch;
    struct arena_mark mark = arena_mark(scratch);
    uint64_t n = overheads->samples.n, n_by_shape = by_shape ? n : 0;
    if (n > ROW_LIMIT)
        return error_set(error, SUTRA_DATA, "more than %u overhead samples: select fewer iterations (--iters, --time)",
                         ROW_LIMIT);
    struct statistics statistics = {.engine = work->engine,
                                    .ops = ops,
                                    .samples = &overheads->samples,
                                    .by_shape = by_shape,
                                    .made = overheads,
                                    .group = arena_alloc(scratch, n, sizeof *statistics.group),
                                    .us = numbers_alloc(scratch, n),
                                    .order = arena_alloc(scratch, n, sizeof *statistics.order),
                                    .by_value = arena_alloc(scratch, n_by_shape, sizeof *statistics.by_value),
                                    .keys = arena_alloc(scratch, n, sizeof *statistics.keys),
                                    .values = arena_alloc(scratch, n, sizeof *statistics.values)};
    overheads->kept = arena_alloc(work->arena, n_by_shape, sizeof *overheads->kept);
    bool ok = !scratch->failed && !work->arena->failed;
    enum sutra_status status = ok ? statistics_make(&statistics, work->arena, error) : error_memory(error);
    tuples_free(&statistics.groups);
    arena_release(scratch, mark);
    return status;
}

enum sutra_status dlrm_overheads_measure(struct dlrm_work *work, const struct dlrm_tree *tree, bool by_shape,
                                         struct dlrm_overheads *overheads, struct sutra_error *error) {
    *overheads = (struct dlrm_overheads){0};
    TRY_ALLOC(collect_samples(work, tree, by_shape, overheads), error);
    return describe_samples(work, &tree->ops, by_shape, overheads, error);
}

/*
 * ---- Samples by shape as a table ----
 *
 * Copies the rows of the overheads by shape and their samples to groups in the order of the notebook's table, with
 * their own texts. Rows of operators are in the order of their first calls, then of their shapes; T2, T3 and T5 of one
 * shape are adjacent. So a stable sort of the rows by the number of the operator's name is enough. Cost: O(samples +
 * rows log rows).
 */

#define NO_SHAPE "((-1,),)" /* of samples without an operator */

struct raw_copy {
    const struct sutra_dlrm *dlrm;
    struct dlrm_raw *raw;
    struct tuples names;
    uint64_t *keys, *first; /* per row: its sort key, the index of its first sample */
    row_t *order;
    struct arena scratch;
    struct buffer shapes;
};

static uint32_t copy_text(struct raw_copy *copy, uint32_t text) {
    const struct strings *texts = &copy->dlrm->texts;
    return text == SUTRA_DLRM_NONE
               ? strings_intern(&copy->raw->texts, "", 0)
               : strings_intern(&copy->raw->texts, strings_text(texts, text), strings_length(texts, text));
}

static enum sutra_status fill_raw(struct raw_copy *copy, struct sutra_error *error) {
    /* Sort the rows: T1, T4, operators by their first calls. */
    const struct sutra_dlrm *dlrm = copy->dlrm;
    const struct engine *engine = &dlrm->context->engine;
    row_t n = (row_t)dlrm->by_shape.n; /* no more than three for each sample's operator */
    uint64_t first = 0;
    copy->keys = arena_alloc(&copy->scratch, n, sizeof *copy->keys);
    copy->first = arena_alloc(&copy->scratch, n, sizeof *copy->first);
    copy->order = arena_alloc(&copy->scratch, n, sizeof *copy->order);
    if (copy->scratch.failed || !dlrm_number_operators(&dlrm->tree.ops, &copy->names))
        return error_memory(error);
    for (row_t i = 0; i < n; i++) {
        copy->order[i] = i;
        const struct sutra_dlrm_overhead *row = &dlrm->by_shape.list[i]; /* T1, then T4, then the operators */
        copy->keys[i] = row->kind == SUTRA_T1   ? 0
                        : row->kind == SUTRA_T4 ? 1
                                                : 1 + (uint64_t)tuples_find(&copy->names, (struct tuple){{row->name}});
        copy->first[i] = first;
        first += row->n;
    }
    copy->raw->n = first;
    TRY(engine->sort_keys(engine->state, &(struct sort_keys_step){copy->keys, copy->order, n}, error));
    /* Copy the rows and their samples. */
    struct dlrm_raw *raw = copy->raw;
    uint64_t n_copied = 0;
    raw->groups = arena_alloc(&raw->arena, n, sizeof *raw->groups);
    raw->us = arena_alloc(&raw->arena, raw->n, sizeof *raw->us);
    TRY(arena_status(&raw->arena, error));
    for (uint64_t i = 0; i < n; i++) {
        const struct sutra_dlrm_overhead *row = &dlrm->by_shape.list[copy->order[i]];
        uint32_t name = copy_text(copy, row->name);
        copy->shapes.length = 0;
        if (row->shapes == SUTRA_DLRM_NONE)
            buffer_append(&copy->shapes, NO_SHAPE, sizeof NO_SHAPE - 1);
        else
            shape_append_tuple(&copy->shapes, strings_text(&dlrm->texts, row->shapes));
        uint32_t shapes =
            copy->shapes.failed ? STRING_NONE : strings_intern(&raw->texts, copy->shapes.bytes, copy->shapes.length);
        TRY_ALLOC(name != STRING_NONE && shapes != STRING_NONE, error);
        raw->groups[raw->n_groups++] = (struct dlrm_raw_group){row->kind, name, shapes, row->n};
        memcpy(raw->us + n_copied, dlrm->by_shape.kept + copy->first[copy->order[i]], row->n * sizeof *raw->us);
        n_copied += row->n;
    }
    const struct dlrm_launches *from = &copy->dlrm->by_shape.launches;
    struct dlrm_launches *to = &copy->raw->launches;
    to->lists = arena_alloc(&copy->raw->arena, from->n_lists, sizeof *to->lists);
    to->names = arena_alloc(&copy->raw->arena, from->n_names, sizeof *to->names);
    TRY(arena_status(&raw->arena, error));
    for (; to->n_lists < from->n_lists; to->n_lists++) {
        to->lists[to->n_lists] = from->lists[to->n_lists];
        to->lists[to->n_lists].name = copy_text(copy, from->lists[to->n_lists].name);
        TRY_ALLOC(to->lists[to->n_lists].name != STRING_NONE, error);
    }
    for (; to->n_names < from->n_names; to->n_names++) {
        to->names[to->n_names] = copy_text(copy, from->names[to->n_names]);
        TRY_ALLOC(to->names[to->n_names] != STRING_NONE, error);
    }
    return SUTRA_OK;
}

enum sutra_status dlrm_raw_make(const struct sutra_dlrm *dlrm, struct dlrm_raw *raw, struct sutra_error *error) {
    struct raw_copy copy = {.dlrm = dlrm, .raw = raw};
    *raw = (struct dlrm_raw){.has_fractions = dlrm->by_shape.has_fractions};
    enum sutra_status status = strings_init(&raw->texts) ? fill_raw(&copy, error) : error_memory(error);
    arena_free(&copy.scratch);
    tuples_free(&copy.names);
    buffer_free(&copy.shapes);
    return status;
}

void dlrm_raw_free(struct dlrm_raw *raw) {
    strings_free(&raw->texts);
    arena_free(&raw->arena);
}

/* ---- The table ---- */

bool dlrm_raw_write(const void *of, struct text_out *out) {
    const struct dlrm_raw_table *table = of;
    static const char *const kinds[SUTRA_N_OVERHEADS] = {",t1,", ",t2,", ",t3,", ",t4,", ",t5,"};
    bool real = false;
    for (size_t i = 0; i < table->n; i++)
        real |= table->parts[i].raw->has_fractions;
    out_add(out, "model_name,batch_size,op_name,shapes,type,time\n");
    for (size_t i = 0; i < table->n; i++) {
        const struct dlrm_raw_part *part = &table->parts[i];
        const struct strings *texts = &part->raw->texts;
        const double *us = part->raw->us;
        struct text_out same = {0};
        for (uint64_t k = 0; k < part->raw->n_groups; us += part->raw->groups[k++].n) {
            same.out.length = 0;

            const struct dlrm_raw_group *group = &part->raw->groups[k];
            csv_text(&same, part->model, part->model_length);
            out_add(&same, ",");
            out_integer(&same, (int64_t)part->batch);
            out_add(&same, ",");
            csv_text(&same, strings_text(texts, group->name), strings_length(texts, group->name));
            out_add(&same, ",");
            csv_text(&same, strings_text(texts, group->shapes), strings_length(texts, group->shapes));
            out_add(&same, kinds[group->kind]);
            out->out.failed |= same.out.failed;
            for (uint64_t j = 0; j < group->n; j++) {
                buffer_append(&out->out, same.out.bytes, same.out.length);
                if (real)
                    out_number(out, us[j]);
                else
                    out_integer(out, (int64_t)us[j]);
                out_add(out, "\n");
                out_step(out);
            }
        }
        buffer_free(&same.out);
    }
    return true;
}
