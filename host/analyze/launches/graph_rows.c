/*
 * graph_rows.c - inserts the operators and modules that graph launches replay as rows of hosts below the launch calls,
 * so that tables by operator, module and call path count graph kernels as they count others (graphs.h).
 *
 *     before   0 run_graph   1 cudaGraphLaunch   2 relu
 *     after    0 run_graph   1 cudaGraphLaunch   2 Linear_3   3 aten::linear   4 aten::mm   5 aten::silu   6 relu
 *
 * Of a dispatch in a capture trace the enclosing operators and modules are replayed, outermost first. The kernels of a
 * launch are in the order of their dispatches, so that each captured operator becomes one row per launch. Without a
 * capture trace, consecutive kernels of one operator share a row. New rows have an instant of the launch call as their
 * time, and count no CPU time. Links to activities move from the call to the innermost new row.
 *
 * Cost: O(n log n), with at most GRAPH_DEPTH rows per kernel.
 */
#include <string.h>

#include "analyze/launches/graphs.h"
#include "base/error.h"
#include "base/shared.h"
#include "columns/column.h"

uint32_t graph_replay_arguments(const struct launch_model *model, row_t host, uint32_t *capture) {
    const struct graph_kernels *graphs = model->graphs;
    if (!graphs || !model->hosts.replayed || !model->hosts.replayed[host])
        return STRING_NONE;
    const struct graph_replay *replay = &graphs->replays[model->hosts.replayed[host] - 1];
    if (replay->row == ROW_NONE)
        return STRING_NONE;
    const struct graph_capture *of = &graphs->captures->list[replay->capture];
    *capture = replay->capture;
    return of->arguments[of->model.hosts.event[replay->row]];
}

/* A kernel with a known owner. */
struct owned_kernel {
    row_t launch; /* row of hosts */
    uint32_t capture;
    row_t call; /* row of the capture's hosts: the dispatch; 0 without a capture */
    int64_t start;
    row_t device;
};

ORDER_BY(compare_owned, struct owned_kernel,
         ASCENDING(launch) ASCENDING(capture) ASCENDING(call) ASCENDING(start) ASCENDING(device))

/* A row to insert after the row `launch` and the rows inserted before. */
struct new_row {
    row_t launch;
    row_t parent; /* index of a new row, or ROW_NONE: the launch */
    row_t end;    /* index of the first new row after its subtree */
    uint32_t name;
    uint8_t kind;
    struct graph_replay replay;
};

struct row_insertion {
    struct launch_model *model;
    struct arena *scratch;
    row_t n_kernels;
    struct owned_kernel *kernels;
    uint64_t n, capacity;
    struct new_row *rows;
    row_t *innermost, *op; /* by kernel: its innermost new row, and operator among the new rows */
};

/* A row of a capture, or an operator that is known by name. */
struct replayed {
    uint32_t capture, row; /* without a capture: UINT32_MAX, name */
    uint32_t name;
    uint8_t kind;
};

/* Lists the enclosing rows of a kernel's dispatch, outermost first; returns their number. */
static row_t list_enclosing(const struct row_insertion *insertion, const struct owned_kernel *kernel,
                            uint32_t **name_of, struct replayed *list) {
    const struct graph_kernels *graphs = insertion->model->graphs;
    if (graphs->call[kernel->device] == ROW_NONE) {
        uint32_t op = graphs->op[kernel->device];
        list[0] = (struct replayed){UINT32_MAX, op, op, HOST_OPERATOR};
        return 1;
    }
    const struct graph_capture *capture = &graphs->captures->list[kernel->capture];
    const struct host_rows *hosts = &capture->model.hosts;
    row_t n = 0, op = capture->op[kernel->call];
    bool has_op = false;
    for (row_t row = capture->enclosing[kernel->call]; row != ROW_NONE && n < GRAPH_DEPTH;
         row = capture->enclosing[row]) {
        has_op |= row == op;
        row_t at = n == GRAPH_DEPTH - 1 && !has_op ? op : row; /* the operator is one of them */
        list[n++] = (struct replayed){kernel->capture, at, name_of[kernel->capture][hosts->name[at]], hosts->kind[at]};
    }
    for (row_t i = 0; i < n / 2; i++) {
        struct replayed other = list[i];
        list[i] = list[n - 1 - i];
        list[n - 1 - i] = other;
    }
    return n;
}

/* Makes the new rows of all kernels; a stack has the rows around the last kernel. False: out of memory. */
static bool make_rows(struct row_insertion *insertion, uint32_t **name_of) {
    struct replayed stack[GRAPH_DEPTH] = {{0}}, wanted[GRAPH_DEPTH] = {{0}};
    row_t row_at[GRAPH_DEPTH] = {0}, depth = 0;
    for (row_t k = 0; k < insertion->n_kernels; k++) {
        const struct owned_kernel *kernel = &insertion->kernels[k];
        row_t n = list_enclosing(insertion, kernel, name_of, wanted), common = 0;
        bool is_same_launch = k && kernel[-1].launch == kernel->launch;
        while (is_same_launch && common < n && common < depth && stack[common].capture == wanted[common].capture &&
               stack[common].row == wanted[common].row)
            common++;
        while (depth > common)
            insertion->rows[row_at[--depth]].end = (row_t)insertion->n;
        for (; depth < n; depth++) {
            if (!arena_grow(insertion->scratch, &insertion->rows, insertion->n, &insertion->capacity,
                            sizeof *insertion->rows))
                return false;
            row_at[depth] = (row_t)insertion->n;
            stack[depth] = wanted[depth];
            insertion->rows[insertion->n++] = (struct new_row){
                .launch = kernel->launch,
                .parent = depth ? row_at[depth - 1] : ROW_NONE,
                .name = wanted[depth].name,
                .kind = wanted[depth].kind,
                .replay = {wanted[depth].capture, wanted[depth].capture == UINT32_MAX ? ROW_NONE : wanted[depth].row}};
            if (insertion->n > ROW_LIMIT)
                return true;
        }
        row_t at = depth - 1;
        while (at && stack[at].kind != HOST_OPERATOR)
            at--;
        insertion->innermost[k] = row_at[depth - 1];
        insertion->op[k] = row_at[at];
    }
    while (depth > 0)
        insertion->rows[row_at[--depth]].end = (row_t)insertion->n;
    return true;
}

/* By capture and string: the string of the model, or STRING_NONE for names that no new row has. */
static enum sutra_status name_captures(struct row_insertion *insertion, uint32_t ***name_of,
                                       struct sutra_error *error) {
    const struct graph_kernels *graphs = insertion->model->graphs;
    size_t n = graphs->captures ? graphs->captures->n : 0;
    *name_of = arena_alloc(insertion->scratch, n, sizeof **name_of);
    for (size_t c = 0; c < n && !insertion->scratch->failed; c++) {
        const struct strings *strings = graphs->captures->list[c].model.strings;
        uint32_t *names = (*name_of)[c] = arena_alloc(insertion->scratch, strings->n, sizeof *names);
        for (uint32_t i = 0; i < strings->n && names; i++)
            names[i] = strings_find(insertion->model->strings, strings_text(strings, i), strings_length(strings, i));
    }
    return arena_status(insertion->scratch, error);
}

/* Replaces the rows of hosts by the old and the new ones; moved[row] becomes the new number of an old row. */
static enum sutra_status merge_rows(const struct row_insertion *insertion, row_t *moved, row_t *at_of_new,
                                    struct arena *arena, struct sutra_error *error) {
    struct host_rows *hosts = &insertion->model->hosts;
    const struct host_rows old = *hosts;
    row_t n = old.n + (row_t)insertion->n, next = 0, at = 0;
    struct host_rows made = {.n = n,
                             .n_threads = old.n_threads,
                             .event = arena_alloc(arena, n, sizeof *made.event),
                             .name = arena_alloc(arena, n, sizeof *made.name),
                             .parent = arena_alloc(arena, n, sizeof *made.parent),
                             .end = arena_alloc(arena, n, sizeof *made.end),
                             .around = arena_alloc(arena, n, sizeof *made.around),
                             .start = arena_alloc(arena, n, sizeof *made.start),
                             .stop = arena_alloc(arena, n, sizeof *made.stop),
                             .thread = arena_alloc(arena, n, sizeof *made.thread),
                             .kind = arena_alloc(arena, n, sizeof *made.kind),
                             .replayed = arena_zeros(arena, n, sizeof *made.replayed)};
    TRY(arena_status(arena, error));
    for (row_t row = 0; row < old.n; row++) { /* enclosing rows precede the rows inside */
        row_t parent = old.parent[row], around = old.around[row];
        moved[row] = at;
        made.event[at] = old.event[row];
        made.name[at] = old.name[row];
        made.parent[at] = parent == ROW_NONE ? ROW_NONE : moved[parent];
        made.around[at] = around == ROW_NONE ? ROW_NONE : moved[around];
        made.start[at] = old.start[row];
        made.stop[at] = old.stop[row];
        made.thread[at] = old.thread[row];
        made.kind[at++] = old.kind[row];
        row_t first = next, base = at;
        for (; next < insertion->n && insertion->rows[next].launch == row; next++, at++) {
            const struct new_row *new = &insertion->rows[next];
            row_t above = new->parent == ROW_NONE ? moved[row] : at_of_new[new->parent];
            at_of_new[next] = at;
            made.event[at] = old.event[row];
            made.name[at] = new->name;
            made.parent[at] = above;
            made.around[at] = made.kind[above] == HOST_OPERATOR ? above : made.around[above];
            made.end[at] = base + (new->end - first);
            made.start[at] = old.start[row];
            made.stop[at] = old.start[row] + 1;
            made.thread[at] = old.thread[row];
            made.kind[at] = new->kind;
            made.replayed[at] = next + 1;
        }
    }
    for (row_t row = 0; row < old.n; row++)
        made.end[moved[row]] = old.end[row] == old.n ? n : moved[old.end[row]];
    *hosts = made;
    return SUTRA_OK;
}

enum sutra_status graph_kernels_attach(struct launch_model *model, struct graph_kernels *graphs, struct arena *arena,
                                       struct arena *scratch, struct sutra_error *error) {
    struct device_rows *devices = &model->devices;
    struct row_insertion insertion = {.model = model, .scratch = scratch};
    uint32_t **name_of = NULL;
    if (!model->graphs)
        return SUTRA_OK;
    struct arena_mark mark = arena_mark(scratch);
    insertion.kernels = arena_alloc(scratch, graphs->n_kernels, sizeof *insertion.kernels);
    insertion.innermost = arena_alloc(scratch, graphs->n_kernels, sizeof *insertion.innermost);
    insertion.op = arena_alloc(scratch, graphs->n_kernels, sizeof *insertion.op);
    row_t *link = arena_alloc(scratch, devices->n, sizeof *link);
    row_t *moved = arena_alloc(scratch, model->hosts.n, sizeof *moved);
    TRY(arena_status(scratch, error));
    for (row_t i = 0; i < devices->n; i++)
        if (graphs->op[i] != STRING_NONE)
            insertion.kernels[insertion.n_kernels++] =
                (struct owned_kernel){.launch = devices->call[i],
                                      .capture = graphs->call[i] == ROW_NONE ? 0 : graphs->capture[i],
                                      .call = graphs->call[i] == ROW_NONE ? 0 : graphs->call[i],
                                      .start = devices->start[i],
                                      .device = i};
    if (insertion.n_kernels == 0) {
        arena_release(scratch, mark);
        return SUTRA_OK;
    }
    qsort(insertion.kernels, insertion.n_kernels, sizeof *insertion.kernels, compare_owned);
    TRY(name_captures(&insertion, &name_of, error));
    TRY_ALLOC(make_rows(&insertion, name_of), error);
    if (insertion.n + model->hosts.n > ROW_LIMIT)
        return error_set(error, SUTRA_DATA,
                         "graphs replay more than %u operators: select fewer steps (--step, --from-us, --to-us)",
                         ROW_LIMIT);
    row_t *at_of_new = arena_alloc(scratch, insertion.n, sizeof *at_of_new);
    TRY(arena_status(scratch, error));
    TRY(merge_rows(&insertion, moved, at_of_new, arena, error));

    /* Calls and links in the numbers of the new rows. */
    devices->replayed = rows_none(arena, devices->n);
    graphs->replays = arena_alloc(arena, insertion.n, sizeof *graphs->replays);
    TRY(arena_status(arena, error));
    for (row_t i = 0; i < insertion.n; i++)
        graphs->replays[i] = insertion.rows[i].replay;
    for (row_t i = 0; i < devices->n; i++) {
        devices->call[i] = devices->call[i] == ROW_NONE ? ROW_NONE : moved[devices->call[i]];
        link[i] = devices->call[i];
    }
    for (row_t k = 0; k < insertion.n_kernels; k++) {
        row_t device = insertion.kernels[k].device;
        link[device] = at_of_new[insertion.innermost[k]];
        devices->replayed[device] = at_of_new[insertion.op[k]];
    }
    TRY(order_launch_links(model, link, NULL, devices->n, arena, error));
    arena_release(scratch, mark);
    for (row_t i = 0; i < devices->n; i++)
        devices->launcher[i] = ROW_NONE;
    return launch_model_attribute(model, arena, scratch, error);
}
