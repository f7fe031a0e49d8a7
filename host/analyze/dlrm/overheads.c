/*
 * overheads.c - the host's overheads T1..T5 as samples, in two variants.
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
#include <math.h>
#include <string.h>

#include "analyze/collective_calls.h"
#include "analyze/dlrm/overheads.h"
#include "base/error.h"
#include "base/memory.h"
#include "write/text.h"

/*
 * From the rows of the overheads by shape, and the samples that count, to groups in the order of the
 * original's table, with texts of their own.
 *
 * Rows of operators stand in the order of their first calls, and below that of their shapes; T2, T3 and T5 of one shape
 * follow each other. So sorting the rows stably by the number of the operator's name is all there is to do.
 * O(samples + rows log rows).
 */

#define NO_SHAPE "((-1,),)" /* of what belongs to no operator */

struct raw_taking {
    const struct sutra_dlrm *dlrm;
    struct dlrm_raw *raw;
    struct tuples names;
    uint64_t *keys, *first; /* per row: its place in the order, where its samples begin */
    row_t *order;
    struct arena scratch;
    struct buffer shapes;
};

static uint32_t own_text(struct raw_taking *taking, uint32_t text) {
    const struct strings *texts = &taking->dlrm->texts;
    return text == SUTRA_DLRM_NONE
               ? strings_intern(&taking->raw->texts, "", 0)
               : strings_intern(&taking->raw->texts, strings_text(texts, text), strings_length(texts, text));
}

static uint32_t own_shapes(struct raw_taking *taking, uint32_t text) {
    struct buffer *shapes = &taking->shapes;
    if (text == SUTRA_DLRM_NONE)
        return strings_intern(&taking->raw->texts, NO_SHAPE, sizeof NO_SHAPE - 1);
    shapes->length = 0;
    shape_append_tuple(shapes, strings_text(&taking->dlrm->texts, text));
    return shapes->failed ? STRING_NONE : strings_intern(&taking->raw->texts, shapes->bytes, shapes->length);
}

/* T1 before T4 before the operators. */
static uint64_t key_of(const struct raw_taking *taking, const struct sutra_dlrm_overhead *row) {
    if (row->kind == SUTRA_T1 || row->kind == SUTRA_T4)
        return row->kind == SUTRA_T4;
    return 1 + (uint64_t)tuples_find(&taking->names, (struct tuple){{row->name}});
}

static enum sutra_status sort_rows(struct raw_taking *taking, struct sutra_error *error) {
    const struct sutra_dlrm *dlrm = taking->dlrm;
    const struct engine *engine = &dlrm->context->engine;
    row_t n = (row_t)dlrm->by_shape.n; /* no more than three for each sample's operator */
    uint64_t first = 0;
    taking->keys = arena_take(&taking->scratch, n, sizeof *taking->keys);
    taking->first = arena_take(&taking->scratch, n, sizeof *taking->first);
    taking->order = arena_take(&taking->scratch, n, sizeof *taking->order);
    if (taking->scratch.failed || !dlrm_number_operators(&dlrm->tree.ops, &taking->names))
        return error_memory(error);
    for (row_t i = 0; i < n; i++) {
        taking->order[i] = i;
        taking->keys[i] = key_of(taking, &dlrm->by_shape.list[i]);
        taking->first[i] = first;
        first += dlrm->by_shape.list[i].n;
    }
    taking->raw->n = first;
    return engine->sort_keys(engine->state, &(struct sort_keys_step){taking->keys, taking->order, n}, error);
}

static bool take_groups(struct raw_taking *taking) {
    const struct sutra_dlrm *dlrm = taking->dlrm;
    struct dlrm_raw *raw = taking->raw;
    uint64_t n = dlrm->by_shape.n, n_taken = 0;
    raw->groups = arena_take(&raw->arena, n, sizeof *raw->groups);
    raw->us = arena_take(&raw->arena, raw->n, sizeof *raw->us);
    bool ok = raw->groups && raw->us;
    for (uint64_t i = 0; i < n && ok; i++) {
        const struct sutra_dlrm_overhead *row = &dlrm->by_shape.list[taking->order[i]];
        uint32_t name = own_text(taking, row->name), shapes = own_shapes(taking, row->shapes);
        ok = name != STRING_NONE && shapes != STRING_NONE;
        raw->groups[raw->n_groups++] = (struct dlrm_raw_group){row->kind, name, shapes, row->n};
        memcpy(raw->us + n_taken, dlrm->by_shape.kept + taking->first[taking->order[i]], row->n * sizeof *raw->us);
        n_taken += row->n;
    }
    return ok;
}

static bool take_launches(struct raw_taking *taking) {
    const struct dlrm_launches *from = &taking->dlrm->by_shape.launches;
    struct dlrm_launches *to = &taking->raw->launches;
    to->lists = arena_take(&taking->raw->arena, from->n_lists, sizeof *to->lists);
    to->names = arena_take(&taking->raw->arena, from->n_names, sizeof *to->names);
    bool ok = to->lists && to->names;
    for (; ok && to->n_lists < from->n_lists; to->n_lists++) {
        to->lists[to->n_lists] = from->lists[to->n_lists];
        to->lists[to->n_lists].name = own_text(taking, from->lists[to->n_lists].name);
        ok = to->lists[to->n_lists].name != STRING_NONE;
    }
    for (; ok && to->n_names < from->n_names; to->n_names++) {
        to->names[to->n_names] = own_text(taking, from->names[to->n_names]);
        ok = to->names[to->n_names] != STRING_NONE;
    }
    return ok;
}

enum sutra_status dlrm_raw_take(const struct sutra_dlrm *dlrm, struct dlrm_raw *raw, struct sutra_error *error) {
    struct raw_taking taking = {.dlrm = dlrm, .raw = raw};
    *raw = (struct dlrm_raw){.has_fractions = dlrm->by_shape.has_fractions};
    enum sutra_status status = strings_init(&raw->texts) ? sort_rows(&taking, error) : error_memory(error);
    if (!status && !(take_groups(&taking) && take_launches(&taking)))
        status = error_memory(error);
    arena_free(&taking.scratch);
    tuples_free(&taking.names);
    buffer_free(&taking.shapes);
    return status;
}

void dlrm_raw_free(struct dlrm_raw *raw) {
    strings_free(&raw->texts);
    arena_free(&raw->arena);
}

/* ---- The table ---- */

/* What the rows of a group have in common: all but the time. */
static void add_group(const struct dlrm_raw_part *part, const struct dlrm_raw_group *group, struct text_out *out) {
    static const char *const kinds[SUTRA_N_OVERHEADS] = {",t1,", ",t2,", ",t3,", ",t4,", ",t5,"};
    const struct strings *texts = &part->raw->texts;
    csv_text(out, part->model, part->model_length);
    out_add(out, ",");
    out_integer(out, (int64_t)part->batch);
    out_add(out, ",");
    csv_text(out, strings_text(texts, group->name), strings_length(texts, group->name));
    out_add(out, ",");
    csv_text(out, strings_text(texts, group->shapes), strings_length(texts, group->shapes));
    out_add(out, kinds[group->kind]);
}

static void add_part(const struct dlrm_raw_part *part, bool real, struct text_out *out) {
    const double *us = part->raw->us;
    struct text_out same = {0};
    for (uint64_t i = 0; i < part->raw->n_groups; us += part->raw->groups[i++].n) {
        same.out.length = 0;
        add_group(part, &part->raw->groups[i], &same);
        out->out.failed |= same.out.failed;
        for (uint64_t j = 0; j < part->raw->groups[i].n; j++) {
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

bool dlrm_raw_write(const void *of, struct text_out *out) {
    const struct dlrm_raw_table *table = of;
    bool real = false;
    for (size_t i = 0; i < table->n; i++)
        real |= table->parts[i].raw->has_fractions;
    out_add(out, "model_name,batch_size,op_name,shapes,type,time\n");
    for (size_t i = 0; i < table->n; i++)
        add_part(&table->parts[i], real, out);
    return true;
}

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

/* Samples of all operators, in their order, and their launches. `by_shape`: of the later variant, which also takes
 * synchronisation of a stream for a launch, and neither gaps that are shorter than an event's overhead nor negative T3.
 * False: out of memory. */
static bool dlrm_samples_take(struct dlrm_work *work, const struct dlrm_tree *tree, bool by_shape,
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

/*
 * Mean and standard deviation of the overheads, by kind and name, and by shape.
 *
 * In come samples; out comes a row for each kind and name (and shape) that has any, in the order of first sight. By
 * shape, values below 0 count as 0, and of all kinds but T4 those are left out that lie more than one and a half times
 * the distance of the quartiles below the first or above the third one. Two passes for each
 * deviation, sums rounded as numpy does. O(n log n) for the quartiles, else O(n).
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
    double *taken;   /* the values of one group that count */
    uint64_t n_kept;
};

/* Rows of operators stand in the order in which those are first called, also where another's sample comes first. */
static bool number_operators(struct statistics *statistics) {
    static const enum sutra_dlrm_overhead_kind kinds[] = {SUTRA_T2, SUTRA_T3, SUTRA_T5};
    const struct dlrm_operators *ops = statistics->ops;
    for (row_t op = 0; op < ops->n; op++) {
        uint32_t name = ops->name[op];
        uint32_t shapes = statistics->by_shape ? statistics->made->op_shapes[op] : SUTRA_DLRM_NONE;
        for (size_t i = 0; i < sizeof kinds / sizeof *kinds; i++)
            if (tuples_number(&statistics->groups, (struct tuple){{kinds[i], name, shapes}}) == TUPLE_NONE)
                return false;
    }
    return true;
}

static bool number_groups(struct statistics *statistics) {
    const struct dlrm_samples *samples = statistics->samples;
    struct tuple none = {{SUTRA_T1, SUTRA_DLRM_NONE, SUTRA_DLRM_NONE}};
    bool ok = tuples_number(&statistics->groups, none) != TUPLE_NONE; /* it has a row without a sample, too */
    ok = ok && number_operators(statistics);
    for (uint64_t i = 0; i < samples->n && ok; i++) {
        const struct dlrm_sample *sample = &samples->list[i];
        struct number us = sample->us;
        statistics->group[i] =
            tuples_number(&statistics->groups, (struct tuple){{sample->kind, sample->name, sample->shapes}});
        if (statistics->by_shape && number_compare(us, number_integer(0)) < 0)
            us = number_integer(0);
        number_put(statistics->us, (row_t)i, number_double(number_as_double(us)));
        ok = statistics->group[i] != TUPLE_NONE;
    }
    return ok;
}

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

/* The quantile q of the values at [first, end) of `by_value`, linear between two of them. */
static double quantile(const struct statistics *statistics, row_t first, row_t end, double q) {
    double at = q * (end - first - 1), below = floor(at), part = at - below;
    row_t place = first + (row_t)below;
    double low = value(statistics, statistics->by_value[place]);
    double high = value(statistics, statistics->by_value[place + (place + 1 < end)]);
    return part < 0.5 ? low + (high - low) * part : high - (high - low) * (1 - part);
}

void dlrm_mean_of(double *list, uint64_t n, double *mean, double *deviation) {
    *mean = n ? sum_in_pairs(list, n) / (double)n : NAN;
    for (uint64_t i = 0; i < n; i++)
        list[i] = (list[i] - *mean) * (list[i] - *mean);
    *deviation = n ? sqrt(sum_in_pairs(list, n) / (double)n) : NAN;
}

static void keep(struct statistics *statistics, row_t sample, double us) {
    statistics->made->kept[statistics->n_kept++] = us;
    statistics->made->has_fractions |= us > 0 && number_is_double(statistics->samples->list[sample].us);
}

/* Mean and deviation of the samples at [first, end) of `order`, which are those of one row. */
static void measure(struct statistics *statistics, struct sutra_dlrm_overhead *row, row_t first, row_t end) {
    double *taken = statistics->taken, least = -INFINITY, most = INFINITY;
    if (statistics->by_shape && row->kind != SUTRA_T4 && first < end) {
        double low = quantile(statistics, first, end, 0.25), high = quantile(statistics, first, end, 0.75);
        least = low - 1.5 * (high - low);
        most = high + 1.5 * (high - low);
    }
    for (row_t i = first; i < end; i++) {
        double us = value(statistics, statistics->order[i]);
        if (!(us >= least && us <= most))
            continue;
        taken[row->n++] = us;
        if (statistics->by_shape)
            keep(statistics, statistics->order[i], us);
    }
    dlrm_mean_of(taken, row->n, &row->mean_us, &row->std_us);
}

/* Stably by group. */
static enum sutra_status sort_by_group(const struct statistics *statistics, row_t *order, struct sutra_error *error) {
    const struct engine *engine = statistics->engine;
    row_t n = (row_t)statistics->samples->n;
    for (row_t i = 0; i < n; i++)
        statistics->keys[i] = statistics->group[order[i]];
    return engine->sort_keys(engine->state, &(struct sort_keys_step){statistics->keys, order, n}, error);
}

static enum sutra_status sort_samples(const struct statistics *statistics, struct sutra_error *error) {
    const struct engine *engine = statistics->engine;
    row_t n = (row_t)statistics->samples->n;
    for (row_t i = 0; i < n; i++)
        statistics->order[i] = i;
    enum sutra_status status = sort_by_group(statistics, statistics->order, error);
    if (status || !statistics->by_shape)
        return status;
    status = engine->sort_numbers(engine->state, &(struct sort_numbers_step){statistics->us, n, statistics->by_value},
                                  error);
    return status ? status : sort_by_group(statistics, statistics->by_value, error);
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
        measure(statistics, row, first, end);
        statistics->made->n += row->n > 0 || row->kind == SUTRA_T1;
    }
}

static enum sutra_status statistics_make(struct statistics *statistics, struct arena *arena,
                                         struct sutra_error *error) {
    if (!number_groups(statistics))
        return error_memory(error);
    statistics->made->list = arena_take(arena, statistics->groups.n, sizeof *statistics->made->list);
    if (!statistics->made->list)
        return error_memory(error);
    enum sutra_status status = sort_samples(statistics, error);
    if (!status)
        fill_rows(statistics);
    return status;
}

/* From samples to rows. */
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
                                    .group = arena_take(scratch, n, sizeof *statistics.group),
                                    .us = numbers_take(scratch, n),
                                    .order = arena_take(scratch, n, sizeof *statistics.order),
                                    .by_value = arena_take(scratch, n_by_shape, sizeof *statistics.by_value),
                                    .keys = arena_take(scratch, n, sizeof *statistics.keys),
                                    .taken = arena_take(scratch, n, sizeof *statistics.taken)};
    overheads->kept = arena_take(work->arena, n_by_shape, sizeof *overheads->kept);
    bool ok = !scratch->failed && !work->arena->failed;
    enum sutra_status status = ok ? statistics_make(&statistics, work->arena, error) : error_memory(error);
    tuples_free(&statistics.groups);
    arena_release(scratch, mark);
    return status;
}

enum sutra_status dlrm_overheads_measure(struct dlrm_work *work, const struct dlrm_tree *tree, bool by_shape,
                                         struct dlrm_overheads *overheads, struct sutra_error *error) {
    *overheads = (struct dlrm_overheads){0};
    if (!dlrm_samples_take(work, tree, by_shape, overheads))
        return error_memory(error);
    return describe_samples(work, &tree->ops, by_shape, overheads, error);
}
