/*
 * graph_landmarks.c - finds the operators of graph kernels in a trace without a capture trace (graphs.h), from kernels
 * that run outside of graphs: warm-up, or prefill.
 *
 *     name      all launches of this kernel name outside of graphs come from one operator
 *     between   a landmark is a kernel with such a name that occurs in graphs
 *
 *     outside of graphs   norm_k   gemm_x   silu_k          the operator between norm_k and silu_k is aten::mm
 *                         rms_norm  mm      silu
 *     graph               norm_k   gemm_y   silu_k          gemm_y belongs to aten::mm
 *
 * Two consecutive landmarks and a class of kernels (compute, communication, copy) have a set of operators, which the
 * kernels between them have outside of graphs. A graph kernel takes the operator if exactly one remains without the
 * operators of the other kernels in its gap. A kernel without an operator makes its set unusable.
 *
 * For each set, its size and the sum of its operators are kept: after subtracting the operators in the gap, a size
 * of 1 leaves the operator itself.
 *
 * Cost: O(n) in expectation.
 */
#include <string.h>

#include "analyze/launches/graphs.h"
#include "base/error.h"
#include "columns/column.h"

/* Operators of a kernel name outside of graphs. */
enum { SEVERAL_OPERATORS = UINT32_MAX - 1 };

/* The operators that occur between two landmarks, for one class. */
struct operator_set {
    uint32_t n;
    uint64_t sum; /* of the numbers of their names */
    bool has_unknown;
};

struct landmark_search {
    const struct launch_model *model;
    const row_t *launch_of; /* by row of devices; ROW_NONE: outside of graphs */
    struct graph_kernels *graphs;
    uint32_t ignored;  /* the name of operators that are skipped, or STRING_NONE */
    uint32_t *only;    /* by kernel name: its only operator, STRING_NONE or SEVERAL_OPERATORS */
    uint8_t *replayed; /* by kernel name: occurs in graphs */
    row_t n;
    row_t *kernel;         /* rows of devices that are kernels, by start */
    struct tuples keys;    /* of sets: (name of a landmark, name of the next one, class) */
    struct tuples members; /* (key, operator) */
    struct operator_set *sets;
    uint64_t capacity;
    row_t *last_gap; /* by operator: number of the last gap in which it occurs */
    row_t gap;       /* number of the current gap */
};

/* The operator that launched an activity, or STRING_NONE. */
static uint32_t operator_of(const struct landmark_search *search, row_t device) {
    const struct host_rows *hosts = &search->model->hosts;
    row_t row = search->model->devices.launcher[device];
    while (row != ROW_NONE && (hosts->kind[row] != HOST_OPERATOR || hosts->name[row] == search->ignored))
        row = hosts->kind[row] == HOST_OPERATOR ? hosts->around[row] : ROW_NONE;
    return row == ROW_NONE ? STRING_NONE : hosts->name[row];
}

static uint32_t kernel_name(const struct landmark_search *search, row_t device) {
    return search->model->events->name[search->model->devices.event[device]];
}

static bool is_landmark(const struct landmark_search *search, row_t device) {
    uint32_t name = kernel_name(search, device), op = search->only[name];
    return search->replayed[name] && op != STRING_NONE && op != SEVERAL_OPERATORS;
}

/* Lists the kernels, and finds the only operator of each name. */
static enum sutra_status list_kernels(struct landmark_search *search, struct arena *scratch,
                                      struct sutra_error *error) {
    const struct launch_model *model = search->model;
    const struct device_rows *devices = &model->devices;
    search->only = rows_none(scratch, model->strings->n);
    search->last_gap = rows_none(scratch, model->strings->n);
    search->replayed = arena_zeros(scratch, model->strings->n, sizeof *search->replayed);
    search->kernel = arena_alloc(scratch, devices->n, sizeof *search->kernel);
    TRY(arena_status(scratch, error));
    for (row_t k = 0; k < devices->n; k++) {
        row_t device = devices->by_start[k];
        if (!(category_roles(model->events, model->roles, devices->event[device]) & CATEGORY_KERNEL))
            continue;
        uint32_t name = kernel_name(search, device), *only = &search->only[name];
        search->kernel[search->n++] = device;
        if (search->launch_of[device] != ROW_NONE) {
            search->replayed[name] = 1;
            continue;
        }
        uint32_t op = operator_of(search, device);
        if (op != STRING_NONE)
            *only = *only == STRING_NONE || *only == op ? op : SEVERAL_OPERATORS;
    }
    return SUTRA_OK;
}

/* The set between two landmarks, a new one if `adds`; NULL: none, or out of memory. */
static struct operator_set *set_between(struct landmark_search *search, row_t before, row_t after, row_t device,
                                        bool adds, uint32_t *number) {
    const struct tuple key = {
        {kernel_name(search, before), kernel_name(search, after), search->model->devices.class[device], 0}};
    uint32_t n = search->keys.n;
    *number = adds ? tuples_number(&search->keys, key) : tuples_find(&search->keys, key);
    if (*number == TUPLE_NONE ||
        (adds && !column_grow(&search->sets, *number, &search->capacity, sizeof *search->sets)))
        return NULL;
    if (*number == n)
        search->sets[n] = (struct operator_set){0};
    return &search->sets[*number];
}

/* Adds the operators of a gap, whose kernels all ran outside of graphs; kernel[begin] and kernel[end] are landmarks. */
static bool remember_gap(struct landmark_search *search, row_t begin, row_t end) {
    for (row_t k = begin; k <= end; k++)
        if (search->launch_of[search->kernel[k]] != ROW_NONE)
            return true;
    for (row_t k = begin + 1; k < end; k++) {
        row_t device = search->kernel[k];
        uint32_t number, op = operator_of(search, device), n = search->members.n;
        struct operator_set *set =
            set_between(search, search->kernel[begin], search->kernel[end], device, true, &number);
        if (!set)
            return false;
        if (op == STRING_NONE) {
            set->has_unknown = true;
            continue;
        }
        uint32_t member = tuples_number(&search->members, (struct tuple){{number, op, 0, 0}});
        if (member == TUPLE_NONE)
            return false;
        if (member == n) {
            set->n++;
            set->sum += op;
        }
    }
    return true;
}

/* Attributes the graph kernels of a gap by the operators that remain in their sets. */
static void attribute_gap(struct landmark_search *search, row_t begin, row_t end) {
    struct operator_set *sets[DEVICE_N_CLASSES + 1] = {NULL}, left[DEVICE_N_CLASSES + 1] = {{0}};
    uint32_t numbers[DEVICE_N_CLASSES + 1];
    bool any = false;
    for (row_t k = begin + 1; k < end; k++) {
        row_t device = search->kernel[k];
        uint8_t class = search->model->devices.class[device];
        if (search->launch_of[device] == ROW_NONE || sets[class])
            continue;
        sets[class] = set_between(search, search->kernel[begin], search->kernel[end], device, false, &numbers[class]);
        if (sets[class])
            left[class] = *sets[class];
        any |= sets[class] != NULL;
    }
    if (!any)
        return;
    search->gap++;
    for (row_t k = begin + 1; k < end; k++) { /* subtract the operators that are present */
        row_t device = search->kernel[k];
        uint32_t op = search->launch_of[device] == ROW_NONE ? operator_of(search, device) : STRING_NONE;
        if (op == STRING_NONE || search->last_gap[op] == search->gap)
            continue;
        search->last_gap[op] = search->gap;
        for (int class = 0; class <= DEVICE_N_CLASSES; class ++)
            if (sets[class] &&
                tuples_find(&search->members, (struct tuple){{numbers[class], op, 0, 0}}) != TUPLE_NONE) {
                left[class].n--;
                left[class].sum -= op;
            }
    }
    for (row_t k = begin + 1; k < end; k++) {
        row_t device = search->kernel[k];
        const struct operator_set *set = &left[search->model->devices.class[device]];
        if (search->launch_of[device] == ROW_NONE || set->n != 1 || set->has_unknown)
            continue;
        search->graphs->method[device] = GRAPH_BETWEEN;
        search->graphs->op[device] = (uint32_t)set->sum;
    }
}

enum sutra_status graph_landmarks_find(const struct launch_model *model, const row_t *launch_of, struct arena *scratch,
                                       struct graph_kernels *graphs, struct sutra_error *error) {
    struct landmark_search search = {.model = model,
                                     .launch_of = launch_of,
                                     .graphs = graphs,
                                     .ignored = strings_find(model->strings, "execute", strlen("execute"))};
    enum sutra_status status = list_kernels(&search, scratch, error);
    bool ok = true;
    row_t last = ROW_NONE;
    for (row_t k = 0; k < search.n && !status && ok; k++) {
        if (!is_landmark(&search, search.kernel[k]))
            continue;
        if (last != ROW_NONE)
            ok = remember_gap(&search, last, k);
        last = k;
    }
    last = ROW_NONE;
    for (row_t k = 0; k < search.n && !status && ok; k++) {
        if (!is_landmark(&search, search.kernel[k]))
            continue;
        if (last != ROW_NONE)
            attribute_gap(&search, last, k);
        last = k;
    }

    /* A name with a single operator precedes its neighbors. */
    for (row_t i = 0; i < model->devices.n && !status && ok; i++) {
        uint32_t op = launch_of[i] == ROW_NONE ? STRING_NONE : search.only[kernel_name(&search, i)];
        if (op == STRING_NONE || op == SEVERAL_OPERATORS)
            continue;
        graphs->method[i] = GRAPH_NAME;
        graphs->op[i] = op;
    }
    tuples_free(&search.keys);
    tuples_free(&search.members);
    free(search.sets);
    return status ? status : ok ? SUTRA_OK : error_memory(error);
}
