/*
 * call_paths.c - builds the call path trees of a trace's steps: CPU events that enclose launches, by thread and step.
 *
 *     rows of hosts      0 aten::linear   1 aten::addmm   2 launch   3 aten::add   4 launch       pre-order, a thread
 *     work of the calls                                   gemm                     elementwise
 *     tree of the step   root ( thread ( aten::addmm ( gemm ), aten::add ( elementwise ) ) )
 *
 * A CPU event belongs to the step in which it starts; an operator that started before a step encloses nothing in it.
 * GPU activity without a call in the trace has a parent next to the threads. The trees are folded into one. O(n), as
 * every event belongs to one step.
 */
#include <stdlib.h>
#include <string.h>

#include "analyze/overview/steps.h"
#include "base/error.h"
#include "base/shared.h"
#include "compare/sums.h"

/*
 * ---- Profiler steps as time intervals, their events, and their time breakdown ----
 *
 *     host     | step 4        | step 5                     launched in 4, done in 5: of 4
 *     launches       |    |        |
 *     kernels          [......] [....] [..]
 *
 * GPU activity belongs to the step in which its call starts; a step ends at the start of the next. Device times
 * come from the overview's steps (analyze/overview/steps.h), whose bounds follow the device if the CPU runs ahead. A
 * trace without steps is one step, from its first event to its last. O(n log s).
 */

/* The step that contains a moment, or ROW_NONE. */
static row_t window_at(const struct part_work *work, int64_t moment) {
    struct bisection at = {0, work->n_windows};
    while (at.low < at.high)
        bisect(&at, work->windows[bisect_middle(at)].from <= moment);
    return at.low && moment < work->windows[at.low - 1].to ? (row_t)(at.low - 1) : ROW_NONE;
}

static void add_time(struct part_side *side, enum diff_part part, int64_t ns) {
    side->parts_ns[part] += ns;
    spread_add(&side->parts[part], (double)ns);
}

static enum sutra_status find_windows(struct part_work *work, struct sutra_error *error) {
    struct overview overview;
    TRY(overview_make(work->context, &work->model, &work->arena, &work->scratch, &overview, error));
    work->windows = arena_alloc(&work->arena, (size_t)overview.window.n_steps + 1, sizeof *work->windows);
    TRY(arena_status(&work->arena, error));
    /* From each selected step to the next. */
    const struct host_rows *hosts = &work->model.hosts;
    for (row_t i = 0; i < overview.window.n_steps; i++) {
        int64_t from = hosts->start[overview.window.steps[i]];
        int64_t to = i + 1 < overview.window.n_steps ? hosts->start[overview.window.steps[i + 1]] : INT64_MAX;
        if (from < to && launch_model_includes(&work->model, from))
            work->windows[work->n_windows++] = (struct step_window){from, to, overview.window.steps[i]};
    }
    work->side->has_steps = work->n_windows > 0;
    if (work->n_windows) {
        /* Measure the steps of the overview with the name of a window; the overview skips steps without time. */
        struct overview_steps steps;
        uint8_t *wanted = arena_zeros(&work->scratch, work->model.strings->n, 1);
        TRY(arena_status(&work->scratch, error));
        TRY(overview_steps_make(&overview, NULL, &work->arena, &work->scratch, &steps, error));
        for (row_t i = 0; i < work->n_windows; i++)
            wanted[host_name(&work->model, work->windows[i].host)] = true;
        for (row_t i = 0; i < steps.n; i++) {
            const struct overview_step *step = &steps.list[i];
            if (!wanted[step->name])
                continue;
            add_time(work->side, DIFF_PART_STEP, step->end - step->begin);
            for (int part = 0; part < N_STEP_PARTS; part++)
                add_time(work->side, (enum diff_part)(DIFF_PART_FIRST + part), step->ticks[part]);
        }
        return SUTRA_OK;
    }
    work->windows[work->n_windows++] = (struct step_window){work->model.from, work->model.to, ROW_NONE};
    /* Without steps, the trace is one. */
    int64_t ns[N_DIFF_PARTS] = {[DIFF_PART_STEP] = overview_length(&overview)};
    for (int kind = 0; kind < OVERVIEW_N_KINDS; kind++)
        ns[DIFF_PART_FIRST + (int)step_part_of((enum overview_kind)kind)] += overview.ticks[kind];
    for (int part = 0; part < N_DIFF_PARTS; part++)
        add_time(work->side, (enum diff_part)part, ns[part]);
    return SUTRA_OK;
}

enum sutra_status step_windows_find(struct part_work *work, struct sutra_error *error) {
    const struct host_rows *hosts = &work->model.hosts;
    const struct device_rows *devices = &work->model.devices;
    struct arena_mark mark = arena_mark(&work->scratch);
    TRY(find_windows(work, error));
    arena_release(&work->scratch, mark);
    work->host_sample = arena_alloc(&work->arena, hosts->n, sizeof *work->host_sample);
    work->device_sample = arena_alloc(&work->arena, devices->n, sizeof *work->device_sample);
    TRY(arena_status(&work->arena, error));
    for (row_t row = 0; row < hosts->n; row++)
        work->host_sample[row] = window_at(work, hosts->start[row]);
    for (row_t i = 0; i < devices->n; i++)
        work->device_sample[i] =
            devices->call[i] == ROW_NONE ? window_at(work, devices->start[i]) : work->host_sample[devices->call[i]];
    work->side->n_samples = work->n_windows;
    return SUTRA_OK;
}

/*
 * ---- Ends and ids of a tree, and removal of nodes ----
 *
 * Ids are numbered from the last node to the first, so that the list of a node's children is complete before the node:
 * each child is prepended to the list of its later siblings.
 */

/* The first element of a tuple: its kind. */
enum { TUPLE_LIST = 1, TUPLE_SHELL, TUPLE_BARE, TUPLE_NODE /* and the kind */ };

static bool number(struct path_ids *ids, struct tuple tuple, uint32_t *id) {
    *id = tuples_number(&ids->numbers, tuple);
    return *id != TUPLE_NONE;
}

bool path_ids_init(struct path_ids *ids) {
    *ids = (struct path_ids){0};
    return tuples_number(&ids->numbers, (struct tuple){{0}}) == 0; /* so that no list has this number */
}

void path_ids_free(struct path_ids *ids) {
    tuples_free(&ids->numbers);
    free(ids->slots);
    *ids = (struct path_ids){0};
}

bool path_tree_number(struct path_tree *tree, struct path_ids *ids) {
    for (row_t i = 0; i < tree->n; i++)
        tree->nodes[i].list = 0;
    for (row_t i = tree->n; i-- > 0;) {
        struct path_node *node = &tree->nodes[i];
        struct tuple tuple = {{TUPLE_NODE + node->kind, node_name(node), node->shapes, node->list}};
        uint32_t *list = node->parent == ROW_NONE ? NULL : &tree->nodes[node->parent].list;
        if (!number(ids, tuple, &node->id) ||
            (list && !number(ids, (struct tuple){{TUPLE_LIST, node->id, *list, 0}}, list)))
            return false;
    }
    return true;
}

bool path_tree_name(struct path_tree *tree, struct path_ids *ids) {
    for (row_t i = 0; i < tree->n; i++) {
        struct path_node *node = &tree->nodes[i];
        uint32_t name = node_name(node);
        if (!number(ids, (struct tuple){{TUPLE_BARE, node->kind, name, 0}}, &node->bare) ||
            !number(ids, (struct tuple){{TUPLE_SHELL, node->kind, name, node->shapes}}, &node->shell))
            return false;
    }
    return true;
}

void path_tree_finish(struct path_tree *tree) {
    for (row_t i = 0; i < tree->n; i++) {
        tree->nodes[i].end = i + 1;
        tree->nodes[i].n_children = 0;
    }
    for (row_t i = tree->n; i-- > 1;) {
        struct path_node *parent = &tree->nodes[tree->nodes[i].parent];
        parent->n_children++;
        if (parent->end < tree->nodes[i].end)
            parent->end = tree->nodes[i].end;
    }
}

static bool is_module(const struct path_tree *tree, row_t i) {
    return tree->nodes[i].kind == PATH_MODULE;
}

/* Removes nodes; their children replace them. */
static void remove_nodes(struct path_tree *tree, bool (*is_removed)(const struct path_tree *tree, row_t i),
                         struct arena *scratch) {
    struct arena_mark mark = arena_mark(scratch);
    row_t *now = arena_alloc(scratch, tree->n, sizeof *now),
          n = 0; /* the new index of a node, or of its parent if the node is removed */
    for (row_t i = 0; i < tree->n && now; i++) {
        struct path_node node = tree->nodes[i];
        bool removed = is_removed(tree, i);
        if (node.parent != ROW_NONE)
            node.parent = now[node.parent];
        now[i] = removed ? node.parent : n;
        if (!removed)
            tree->nodes[n++] = node;
    }
    if (now)
        tree->n = n;
    path_tree_finish(tree);
    arena_release(scratch, mark);
}

static bool is_empty(const struct path_tree *tree, row_t i) {
    return i > 0 && !tree->nodes[i].id;
}

/* Removes nodes without GPU activity below them; computes ends. O(n). */
static void path_tree_drop_empty(struct path_tree *tree, struct arena *scratch) {
    /* Set as id whether a node has GPU activity below it. */
    bool any = false;
    for (row_t i = 0; i < tree->n; i++)
        tree->nodes[i].id = tree->nodes[i].kind == PATH_WORK;
    for (row_t i = tree->n; i-- > 1;) {
        tree->nodes[tree->nodes[i].parent].id |= tree->nodes[i].id;
        any |= is_empty(tree, i);
    }
    if (any)
        remove_nodes(tree, is_empty, scratch);
    else
        path_tree_finish(tree);
}

bool path_tree_has_modules(const struct path_tree *tree) {
    for (row_t i = 0; i < tree->n; i++)
        if (is_module(tree, i))
            return true;
    return false;
}

void path_tree_drop_modules(struct path_tree *tree, struct arena *scratch) {
    remove_nodes(tree, is_module, scratch);
}

#define BACKWARD_PREFIX "autograd::engine::evaluate_function"

struct path_steps {
    struct part_work *work;
    int side;
    row_t *host_first, *host_order;     /* CPU rows by step, in order */
    row_t *device_first, *device_order; /* GPU activity without a known call, by step and start */
    uint32_t *module_text;              /* by string: a module without its instance number; else STRING_NONE */
    uint32_t *thread_text;              /* by CPU thread */
    uint32_t no_call_text, root_text;
    struct path_tree tree; /* of the current step */
    row_t *until;          /* by node: the CPU row after its subtree */
    row_t top;             /* the innermost node that is open */
};

/* ---- Rows of a step ---- */

static bool is_call(const struct launch_model *model, row_t row) {
    return model->hosts.kind[row] == HOST_CALL && model->links.first[row] < model->links.first[row + 1];
}

/* Whether a row becomes a node. */
static bool is_node(const struct path_steps *steps, row_t row) {
    const struct launch_model *model = &steps->work->model;
    uint32_t name = host_name(model, row);
    if (!(model->links.first[row] < model->links.first[model->hosts.end[row]]))
        return false;
    switch (model->hosts.kind[row]) {
    case HOST_OPERATOR:
    case HOST_ANNOTATION:
        return !text_compare(model->strings, name, TEXT_BEGINS, STEP_NAME);
    case HOST_FRAME:
        return steps->module_text[name] != STRING_NONE;
    default:
        return model->attributions.of_host[row] != ROW_NONE;
    }
}

void rows_by_sample(const row_t *sample, const row_t *rows, row_t n, row_t n_samples, row_t *first, row_t *order) {
    memset(first, 0, ((size_t)n_samples + 2) * sizeof *first);
    for (row_t i = 0; i < n; i++) {
        row_t of = sample[rows ? rows[i] : i];
        if (of != ROW_NONE)
            first[of + 2]++;
    }
    for (row_t s = 0; s < n_samples; s++)
        first[s + 2] += first[s + 1];
    for (row_t i = 0; i < n; i++) {
        row_t row = rows ? rows[i] : i;
        if (sample[row] != ROW_NONE)
            order[first[sample[row] + 1]++] = row;
    }
}

static enum sutra_status list_rows(struct path_steps *steps, struct sutra_error *error) {
    struct part_work *work = steps->work;
    const struct launch_model *model = &work->model;
    const struct device_rows *devices = &model->devices;
    row_t n_hosts = model->hosts.n, n = 0;
    size_t n_first = (size_t)work->n_windows + 2;
    steps->host_first = arena_alloc(&work->arena, n_first, sizeof(row_t));
    steps->host_order = arena_alloc(&work->arena, n_hosts, sizeof(row_t));
    steps->device_first = arena_alloc(&work->arena, n_first, sizeof(row_t));
    steps->device_order = arena_alloc(&work->arena, devices->n, sizeof(row_t));
    row_t *rows = arena_alloc(&work->scratch, (size_t)n_hosts + devices->n, sizeof *rows);
    TRY(arena_status(&work->arena, error));
    TRY(arena_status(&work->scratch, error));
    for (row_t row = 0; row < n_hosts; row++)
        if (is_call(model, row) || is_node(steps, row))
            rows[n++] = row;
    rows_by_sample(work->host_sample, rows, n, work->n_windows, steps->host_first, steps->host_order);
    n = 0;
    for (row_t k = 0; k < devices->n; k++)
        if (devices->call[devices->by_start[k]] == ROW_NONE)
            rows[n++] = devices->by_start[k];
    rows_by_sample(work->device_sample, rows, n, work->n_windows, steps->device_first, steps->device_order);
    return SUTRA_OK;
}

/* ---- Names ---- */

/* "nn.Module: Linear_3" without the number; 0: out of memory. */
static uint32_t text_of_kind(struct strings *texts, const struct strings *strings, uint32_t string) {
    const char *name = strings_text(strings, string);
    size_t length = strings_length(strings, string), end = length;
    while (end && name[end - 1] >= '0' && name[end - 1] <= '9')
        end--;
    bool numbered = end < length && end && name[end - 1] == '_';
    uint32_t text = strings_intern(texts, name, numbered ? end - 1 : length);
    return text == STRING_NONE ? 0 : text;
}

/* CPU threads are named by their role: "backward" or "thread". */
static enum sutra_status name_threads(struct path_steps *steps, struct sutra_error *error) {
    struct part_work *work = steps->work;
    const struct launch_model *model = &work->model;
    struct strings *texts = &work->part->texts;
    uint32_t thread = strings_intern(texts, "thread", 6), backward = strings_intern(texts, "backward", 8);
    steps->no_call_text = strings_intern(texts, "(no call)", 9);
    steps->root_text = strings_intern(texts, "step", 4);
    steps->module_text = arena_alloc(&work->arena, model->strings->n, sizeof *steps->module_text);
    steps->thread_text = arena_alloc(&work->arena, model->hosts.n_threads, sizeof *steps->thread_text);
    uint8_t *is_backward = arena_alloc(&work->scratch, model->strings->n, 1);
    if (work->arena.failed || work->scratch.failed || thread == STRING_NONE || backward == STRING_NONE ||
        steps->no_call_text == STRING_NONE || steps->root_text == STRING_NONE)
        return error_memory(error);
    for (uint32_t string = 0; string < model->strings->n; string++) {
        steps->module_text[string] = STRING_NONE;
        if (text_compare(model->strings, string, TEXT_BEGINS, MODULE_PREFIX) &&
            !(steps->module_text[string] = text_of_kind(texts, model->strings, string)))
            return error_memory(error);
        is_backward[string] = text_compare(model->strings, string, TEXT_BEGINS, BACKWARD_PREFIX);
    }
    for (uint32_t t = 0; t < model->hosts.n_threads; t++)
        steps->thread_text[t] = thread;
    for (row_t row = 0; row < model->hosts.n; row++)
        if (is_backward[host_name(model, row)])
            steps->thread_text[model->hosts.thread[row]] = backward;
    return SUTRA_OK;
}

/* ---- A step ---- */

/* `step`: its name in paths, or STRING_NONE. */
static bool append_node(struct path_steps *steps, enum path_kind kind, uint32_t name, uint32_t step, uint32_t shapes,
                        row_t parent) {
    struct path_tree *tree = &steps->tree;
    struct path_node *node = &tree->nodes[tree->n];
    *node =
        (struct path_node){.name = {TEXT_NONE, TEXT_NONE}, .shapes = shapes, .parent = parent, .kind = (uint8_t)kind};
    node->name[steps->side] = name;
    node->calls[steps->side] = 1;
    node->path[steps->side] = parent == ROW_NONE ? 0 : tree->nodes[parent].path[steps->side];
    if (step != STRING_NONE) {
        uint32_t path = tuples_number(&steps->work->part->paths, (struct tuple){{node->path[steps->side], step, 0, 0}});
        if (path == TUPLE_NONE)
            return false;
        node->path[steps->side] = path + 1;
    }
    tree->n++;
    return true;
}

static bool append_activity(struct path_steps *steps, row_t device, row_t parent) {
    const struct launch_model *model = &steps->work->model;
    const struct device_rows *devices = &model->devices;
    uint32_t name = steps->work->work_text[model->events->name[devices->event[device]]];
    if (!append_node(steps, PATH_WORK, name, STRING_NONE, devices->class[device], parent))
        return false;
    steps->tree.nodes[steps->tree.n - 1].ticks[steps->side] = devices->stop[device] - devices->start[device];
    return true;
}

/* Appends the node of a row below the innermost open node. */
static bool open_row(struct path_steps *steps, row_t row) {
    const struct launch_model *model = &steps->work->model;
    row_t attribution = model->attributions.of_host[row];
    bool is_module = model->hosts.kind[row] == HOST_FRAME;
    uint32_t name = host_name(model, row), text = steps->work->host_text[name];
    steps->until[steps->tree.n] = model->hosts.end[row];
    if (!append_node(steps, is_module ? PATH_MODULE : PATH_CALLED, text, is_module ? steps->module_text[name] : text,
                     attribution == ROW_NONE ? 0 : steps->work->shapes_text[attribution], steps->top))
        return false;
    steps->top = steps->tree.n - 1;
    return true;
}

static bool append_row(struct path_steps *steps, row_t row) {
    const struct launch_model *model = &steps->work->model;
    while (steps->until[steps->top] <= row)
        steps->top = steps->tree.nodes[steps->top].parent;
    bool ok = !is_node(steps, row) || open_row(steps, row);
    if (is_call(model, row))
        for (row_t i = model->links.first[row]; i < model->links.first[row + 1] && ok; i++)
            ok = append_activity(steps, model->links.device[i], steps->top);
    return ok;
}

/* A node below the root that stays open until the next of its kind. */
static bool open_thread(struct path_steps *steps, uint32_t name) {
    steps->until[steps->tree.n] = ROW_NONE;
    steps->top = steps->tree.n;
    return append_node(steps, PATH_THREAD, name, STRING_NONE, 0, 0);
}

static bool make_tree(struct path_steps *steps, row_t step) {
    const struct launch_model *model = &steps->work->model;
    uint32_t thread = UINT32_MAX;
    steps->tree.n = 0;
    steps->until[0] = ROW_NONE;
    bool ok = append_node(steps, PATH_ROOT, steps->root_text, STRING_NONE, 0, ROW_NONE);
    for (row_t i = steps->host_first[step]; i < steps->host_first[step + 1] && ok; i++) {
        row_t row = steps->host_order[i];
        if (model->hosts.thread[row] != thread) {
            thread = model->hosts.thread[row];
            ok = open_thread(steps, steps->thread_text[thread]);
        }
        ok = ok && append_row(steps, row);
    }
    row_t from = steps->device_first[step], to = steps->device_first[step + 1];
    ok = ok && (from == to || open_thread(steps, steps->no_call_text));
    for (row_t i = from; i < to && ok; i++)
        ok = append_activity(steps, steps->device_order[i], steps->top);
    return ok;
}

static enum sutra_status make_trees(struct path_steps *steps, struct sutra_error *error) {
    struct part_work *work = steps->work;
    /* The largest tree of a step: a node for each row and GPU activity, and two for each thread. */
    const struct launch_model *model = &work->model;
    uint64_t largest = 0;
    for (row_t step = 0; step < work->n_windows; step++) {
        uint64_t n = 2 + (uint64_t)steps->device_first[step + 1] - steps->device_first[step];
        for (row_t i = steps->host_first[step]; i < steps->host_first[step + 1]; i++) {
            row_t row = steps->host_order[i];
            n += 2 + (is_call(model, row) ? model->links.first[row + 1] - model->links.first[row] : 0);
        }
        largest = MAX(n, largest);
    }
    row_t n = (row_t)MIN(largest, ROW_LIMIT);
    steps->tree.nodes = arena_alloc(&work->scratch, n, sizeof *steps->tree.nodes);
    steps->until = arena_alloc(&work->scratch, n, sizeof *steps->until);
    TRY(arena_status(&work->scratch, error));
    for (row_t step = 0; step < work->n_windows; step++) {
        TRY_ALLOC(make_tree(steps, step), error);
        path_tree_drop_empty(&steps->tree, &work->scratch);
        TRY(arena_status(&work->scratch, error));
        TRY_ALLOC(path_fold_add(&work->side->fold, &steps->tree, steps->side, &work->scratch), error);
    }
    return SUTRA_OK;
}

enum sutra_status path_steps_make(struct part_work *work, struct sutra_error *error) {
    struct path_steps steps = {.work = work, .side = work->options->side};
    struct arena_mark mark = arena_mark(&work->scratch);
    TRY(name_threads(&steps, error));
    TRY(list_rows(&steps, error));
    TRY(make_trees(&steps, error));
    arena_release(&work->scratch, mark);
    return SUTRA_OK;
}
