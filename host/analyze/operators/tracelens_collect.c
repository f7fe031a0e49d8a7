/*
 * tracelens_collect.c - the walk of TraceLens' unified table.
 */
#include "analyze/operators/tracelens_collect.h"

#include <stdlib.h>
#include <string.h>

#include "base/bisect.h"
#include "base/error.h"
#include "columns/column.h"

/* How far above an event TraceLens looks for the event that evaluates a gradient. */
#define ANCESTORS_READ 5

struct collector {
    const struct op_reading *reading;
    const struct tracelens_models *models;
    row_t n;              /* rows of hosts that are in trees */
    uint8_t *below_model; /* by row: an operator below has a model and launches; only operators are between */
    uint8_t *launches;    /* by row: launches kernels by a call of the runtime */
    uint8_t *sole;        /* by model: whether a gradient has one backward operator; 0: not yet known */
    row_t *forward;       /* by row: the model of the forward operator whose gradient the row evaluates */
    uint8_t *covered;     /* by row of devices */
    row_t *outermost;     /* by row: the outermost operator from which only operators lead to it */
    struct named_op *named;
    row_t n_named;
    struct collected_ops *ops;
};

static bool is_operator(const struct collector *of, row_t row) {
    return of->reading->hosts.kind[row] == HOST_OPERATOR;
}

static bool has_work(const struct collector *of, row_t row) {
    const struct call_links *links = &of->reading->links;
    return links->first[of->reading->hosts.end[row]] > links->first[row];
}

static bool has_model(const struct collector *of, row_t row) {
    return of->models->place_of[row] != ROW_NONE;
}

/* ---- What is below each row ---- */

static bool is_runtime_call(const struct op_reading *reading, row_t row) {
    return reading->hosts.kind[row] == HOST_CALL &&
           text_compare(reading->strings, reading->events->category[reading->hosts.event[row]], TEXT_IS,
                        "cuda_runtime");
}

static bool calls_work(const struct op_reading *reading, row_t row) {
    const struct call_links *links = &reading->links;
    for (row_t i = links->first[row]; i < links->first[row + 1]; i++)
        if (reading->devices.class[links->device[i]] != DEVICE_NO_WORK)
            return true;
    return false;
}

/* From the last row to the first, so that a row is complete before its parent. */
static void mark_ancestors(struct collector *of) {
    const struct op_reading *reading = of->reading;
    for (row_t row = of->n; row-- > 0;) {
        row_t parent = reading->hosts.parent[row];
        if (is_runtime_call(reading, row)) {
            of->launches[row] |= calls_work(reading, row);
            if (parent != ROW_NONE)
                of->launches[parent] |= of->launches[row];
        } else if (is_operator(of, row) && parent != ROW_NONE) {
            of->below_model[parent] |= of->below_model[row] | (has_model(of, row) && has_work(of, row));
        }
    }
}

/* ---- Gradients ---- */

/* An operator that launches work, by its name and the outermost operator from which only operators lead to it. */
struct named_op {
    row_t outermost;
    uint32_t name;
    row_t row;
};

static int compare_named(const struct named_op *a, const struct named_op *b) {
    if (a->outermost != b->outermost)
        return a->outermost < b->outermost ? -1 : 1;
    if (a->name != b->name)
        return a->name < b->name ? -1 : 1;
    return (a->row > b->row) - (a->row < b->row);
}

static int by_name(const void *left, const void *right) {
    return compare_named(left, right);
}

static enum sutra_status list_named(struct collector *of, struct arena *arena, struct sutra_error *error) {
    const struct host_rows *hosts = &of->reading->hosts;
    of->outermost = rows_none(arena, of->reading->hosts.n);
    of->named = arena_take(arena, of->n, sizeof *of->named);
    enum sutra_status status = arena_status(arena, error);
    for (row_t row = 0; row < of->n && !status; row++) {
        row_t parent = hosts->parent[row];
        if (!is_operator(of, row))
            continue;
        of->outermost[row] = parent != ROW_NONE && is_operator(of, parent) ? of->outermost[parent] : row;
        if (has_work(of, row))
            of->named[of->n_named++] = (struct named_op){of->outermost[row], host_name(of->reading, row), row};
    }
    if (of->n_named)
        qsort(of->named, of->n_named, sizeof *of->named, by_name);
    return status;
}

/* Operators in the list before a name and a row. */
static row_t count_before(const struct collector *of, struct named_op key) {
    struct bisection at = {0, of->n_named};
    while (at.low < at.high)
        bisect(&at, compare_named(&of->named[bisect_middle(at)], &key) < 0);
    return (row_t)at.low;
}

/* Operators below an event of autograd that launch work and bear the name that the event evaluates: the
 * text after ": ". */
static row_t count_backward(const struct collector *of, row_t evaluates) {
    const struct op_reading *reading = of->reading;
    const char *found = strstr(strings_text(reading->strings, host_name(reading, evaluates)), ": ");
    uint32_t name = found ? strings_find(reading->strings, found + 2, strlen(found + 2)) : STRING_NONE;
    row_t outermost = of->outermost[evaluates];
    if (name == STRING_NONE)
        return 0;
    return count_before(of, (struct named_op){outermost, name, reading->hosts.end[evaluates]}) -
           count_before(of, (struct named_op){outermost, name, evaluates + 1});
}

/* The model of the forward operator whose gradient a row alone computes, or ROW_NONE. */
static row_t gradient_of(struct collector *of, row_t row) {
    enum { UNKNOWN, NO, YES };
    row_t place = ROW_NONE;
    for (int i = 0; i < ANCESTORS_READ && place == ROW_NONE; i++) {
        row = of->reading->hosts.parent[row];
        if (row == ROW_NONE)
            return ROW_NONE;
        place = of->forward[row];
    }
    if (place == ROW_NONE)
        return ROW_NONE;
    if (of->sole[place] == UNKNOWN)
        of->sole[place] =
            !of->models->gradient_flops[of->models->works.groups.of[place]].missing && count_backward(of, row) == 1
                ? YES
                : NO;
    return of->sole[place] == YES ? place : ROW_NONE;
}

/* ---- The walk ---- */

static void cover(struct collector *of, row_t row) {
    const struct call_links *links = &of->reading->links;
    for (row_t i = links->first[row]; i < links->first[of->reading->hosts.end[row]]; i++)
        of->covered[links->device[i]] = true;
}

static void collect(struct collector *of, row_t row, enum collected_kind kind, row_t place) {
    of->ops->list[of->ops->n++] = (struct collected_op){row, place, ROW_NONE, (uint8_t)kind};
    cover(of, row);
}

static bool communicates(const struct collector *of, row_t row) {
    const struct call_links *links = &of->reading->links;
    for (row_t i = links->first[row]; i < links->first[of->reading->hosts.end[row]]; i++)
        if (of->reading->devices.class[links->device[i]] == DEVICE_COMMUNICATION)
            return true;
    return false;
}

/* Collects an operator if it stands for its work; true: the walk continues below it. */
static bool visit(struct collector *of, row_t row) {
    if (!has_work(of, row))
        return false;
    if (has_model(of, row)) {
        collect(of, row, COLLECTED_MODEL, of->models->place_of[row]);
        return false;
    }
    if (of->below_model[row])
        return true;
    row_t place = gradient_of(of, row);
    if (place != ROW_NONE) {
        collect(of, row, COLLECTED_GRADIENT, place);
        return false;
    }
    if (!of->launches[row])
        return true;
    if (!communicates(of, row))
        collect(of, row, COLLECTED_LAUNCHER, ROW_NONE);
    return false;
}

static void walk(struct collector *of, row_t root) {
    row_t end = of->reading->hosts.end[root];
    for (row_t row = root; row < end;)
        row = is_operator(of, row) && visit(of, row) ? row + 1 : of->reading->hosts.end[row];
}

static int by_start(const void *left, const void *right, void *arg) {
    const struct host_rows *hosts = *(const struct host_rows *const *)arg;
    row_t a = *(const row_t *)left, b = *(const row_t *)right;
    if (hosts->start[a] != hosts->start[b])
        return hosts->start[a] < hosts->start[b] ? -1 : 1;
    return (hosts->event[a] > hosts->event[b]) - (hosts->event[a] < hosts->event[b]);
}

/* Operators without an operator above them, by start; `inside` is scratch. */
static row_t list_roots(const struct collector *of, uint8_t *inside, row_t *roots) {
    const struct host_rows *hosts = &of->reading->hosts;
    row_t n = 0;
    for (row_t row = 0; row < of->n; row++) {
        row_t parent = hosts->parent[row];
        inside[row] = parent != ROW_NONE && (inside[parent] || is_operator(of, parent));
        if (!inside[row] && is_operator(of, row))
            roots[n++] = row;
    }
    if (n)
        qsort_r(roots, n, sizeof *roots, by_start, &hosts);
    return n;
}

/* ---- The rest ---- */

static row_t operator_above(const struct collector *of, const row_t *around, row_t call) {
    return is_operator(of, call) ? call : around[call];
}

static void add_synthetic(struct collector *of, row_t host, row_t device) {
    of->ops->list[of->ops->n++] = (struct collected_op){host, ROW_NONE, device, COLLECTED_SYNTHETIC};
}

static bool is_left(const struct collector *of, row_t device) {
    const struct device_rows *devices = &of->reading->devices;
    return devices->class[device] != DEVICE_NO_WORK && devices->class[device] != DEVICE_COMMUNICATION &&
           !of->covered[device] && devices->call[device] != ROW_NONE;
}

/* First work without an operator, call by call in the order of their first work; then the rest. */
static enum sutra_status add_rest(struct collector *of, struct arena *arena, struct sutra_error *error) {
    const struct device_rows *devices = &of->reading->devices;
    row_t n_hosts = of->reading->hosts.n, n_orphans = 0, n_others = 0;
    uint8_t *marked = arena_take(arena, n_hosts, sizeof *marked);
    row_t *around = arena_take(arena, n_hosts, sizeof *around);
    row_t *orphan = arena_take(arena, devices->n, sizeof *orphan),
          *other = arena_take(arena, devices->n, sizeof *other);
    uint32_t *call = arena_take(arena, devices->n, sizeof *call);
    struct op_groups groups = {0};
    enum sutra_status status = arena_status(arena, error);
    for (row_t row = 0; row < n_hosts && !status; row++)
        marked[row] = is_operator(of, row);
    if (!status)
        status = op_reading_around(of->reading, marked, arena, around, error);
    for (row_t i = 0; i < devices->n && !status; i++) {
        if (!is_left(of, i))
            continue;
        if (operator_above(of, around, devices->call[i]) != ROW_NONE) {
            other[n_others++] = i;
            continue;
        }
        call[n_orphans] = devices->call[i];
        orphan[n_orphans++] = i;
    }
    if (!status)
        status = op_groups_number(call, n_orphans, n_hosts, arena, &groups, error);
    for (row_t i = 0; i < n_orphans && !status; i++)
        add_synthetic(of, call[groups.member[i]], orphan[groups.member[i]]);
    for (row_t i = 0; i < n_others && !status; i++)
        add_synthetic(of, operator_above(of, around, devices->call[other[i]]), other[i]);
    return status;
}

enum sutra_status tracelens_collect(const struct tracelens_models *models, struct arena *arena,
                                    struct collected_ops *ops, struct sutra_error *error) {
    const struct op_reading *reading = models->reading;
    row_t n = reading->hosts.n;
    *ops = (struct collected_ops){.list = arena_take(arena, (size_t)n + reading->devices.n, sizeof *ops->list)};
    struct collector of = {.reading = reading,
                           .models = models,
                           .n = n - reading->hosts.n_skipped,
                           .below_model = arena_zeros(arena, n, sizeof *of.below_model),
                           .launches = arena_zeros(arena, n, sizeof *of.launches),
                           .sole = arena_zeros(arena, models->works.n, sizeof *of.sole),
                           .forward = rows_none(arena, n),
                           .covered = arena_zeros(arena, reading->devices.n, sizeof *of.covered),
                           .ops = ops};
    row_t *roots = arena_take(arena, n, sizeof *roots);
    uint8_t *inside = arena_take(arena, n, sizeof *inside);
    enum sutra_status status = arena_status(arena, error);
    if (status)
        return status;
    for (row_t place = 0; place < models->works.n; place++)
        if (models->gradient[place] != ROW_NONE)
            of.forward[models->gradient[place]] = place;
    mark_ancestors(&of);
    if ((status = list_named(&of, arena, error)))
        return status;
    row_t n_roots = list_roots(&of, inside, roots);
    for (row_t i = 0; i < n_roots; i++)
        walk(&of, roots[i]);
    return add_rest(&of, arena, error);
}
