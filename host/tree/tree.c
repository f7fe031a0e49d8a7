/*
 * tree.c - sutra_tree_...(): from a profile to its call tree.
 *
 * Parents by replay (match/event_tree.c) and by flow or link (kineto.c) are put together, then children, a pre-order,
 * ends and times follow in one pass each. O(n) but for sorting. There are no cycles: parents by replay stand before
 * their children and are never placed by flow or link, and lines of flows and links were cleared of cycles.
 */
#include "tree/tree.h"

#include <stdlib.h>

#include "base/error.h"
#include "base/options.h"
#include "text/counted.h"

void sutra_tree_free(struct sutra_tree *tree) {
    if (!tree || !holders_leave(&tree->holders))
        return;
    arena_free(&tree->arena);
    arena_free(&tree->ids_arena);
    free(tree);
}

static enum sutra_status take_columns(struct sutra_tree *tree, row_t n, struct sutra_error *error) {
    struct arena *arena = &tree->arena;
    tree->position = arena_take(arena, n, sizeof *tree->position);
    tree->parent = arena_take(arena, n, sizeof *tree->parent);
    tree->closing = arena_take(arena, n, sizeof *tree->closing);
    tree->end = arena_take(arena, n, sizeof *tree->end);
    tree->depth = arena_take(arena, n, sizeof *tree->depth);
    tree->child_begin = arena_zeros(arena, (size_t)n + 2, sizeof *tree->child_begin);
    tree->children = arena_take(arena, n, sizeof *tree->children);
    tree->preorder = arena_take(arena, n, sizeof *tree->preorder);
    tree->host = arena_zeros(arena, n, sizeof *tree->host);
    tree->host_self = arena_zeros(arena, n, sizeof *tree->host_self);
    tree->device = arena_zeros(arena, n, sizeof *tree->device);
    tree->device_self = arena_zeros(arena, n, sizeof *tree->device_self);
    return arena_status(arena, error);
}

static enum sutra_status sort_events(struct sutra_tree *tree, struct sutra_context *context,
                                     struct sutra_error *error) {
    const struct sutra_profile *profile = tree->profile;
    struct arena scratch = {0};
    uint8_t *placed = arena_take(&scratch, profile->n, sizeof *placed);
    enum sutra_status status = arena_status(&scratch, error);
    for (row_t row = 0; row < profile->n && !status; row++)
        placed[row] = profile->parent[row] != ROW_NONE;
    const struct tree_events from = {profile->n,      profile->n_threads, profile->start, profile->end,
                                     profile->thread, profile->forward,   placed};
    if (!status)
        status = sorted_events_make(&tree->sorted, context, &from, &tree->arena, error);
    arena_free(&scratch);
    return status;
}

/* Whole microseconds hide which of two events came first. One that begins where another ends, and takes time itself, is
 * not below it; nor is anything that begins where a call of the runtime ends, below which next to nothing is. For the
 * replay, the former begin a nanosecond later, and the latter end a nanosecond earlier. */
static void part_neighbours(const struct sutra_tree *tree, int64_t *start, int64_t *end) {
    const struct sorted_events *sorted = &tree->sorted;
    for (row_t i = 0; i < sorted->events.n; i++) {
        bool call = tree->profile->kind[sorted->order[i]] == SUTRA_EVENT_KINETO;
        bool enters = event_enters(sorted->events.start[i], sorted->events.end[i]);
        start[i] = sorted->events.start[i] + enters;
        end[i] = sorted->events.end[i] - (call && enters);
    }
}

static enum sutra_status replay(struct sutra_tree *tree, const struct engine *engine, struct sutra_error *error) {
    struct tree_events events = tree->sorted.events;
    struct event_parents_step step = {&events, tree->parent, tree->closing};
    if (!tree->profile->whole_us)
        return engine->event_parents(engine->state, &step, error);
    struct arena_mark mark = arena_mark(&tree->arena);
    int64_t *start = arena_take(&tree->arena, events.n, sizeof *start);
    int64_t *end = arena_take(&tree->arena, events.n, sizeof *end);
    enum sutra_status status = arena_status(&tree->arena, error);
    if (!status) {
        part_neighbours(tree, start, end);
        events.start = start;
        events.end = end;
        status = engine->event_parents(engine->state, &step, error);
    }
    arena_release(&tree->arena, mark);
    return status;
}

static enum sutra_status find_parents(struct sutra_tree *tree, const struct engine *engine, struct sutra_error *error) {
    const struct sutra_profile *profile = tree->profile;
    const row_t *order = tree->sorted.order;
    enum sutra_status status = replay(tree, engine, error);
    for (row_t i = 0; i < profile->n && !status; i++)
        tree->position[order[i]] = i;
    for (row_t i = 0; i < profile->n && !status; i++)
        if (tree->sorted.events.placed[i]) {
            tree->parent[i] = tree->position[profile->parent[order[i]]];
            tree->closing[i] = tree->sorted.events.end[i];
        }
    return status;
}

/* Children by parent, each list in the order of starts; then all positions in pre-order, with their depths. */
static enum sutra_status list_children(struct sutra_tree *tree, struct sutra_error *error) {
    row_t n = tree->profile->n, at = n, n_listed = 0;
    row_t *begin = tree->child_begin;
    struct arena_mark mark = arena_mark(&tree->arena);
    row_t *next = arena_take(&tree->arena, (size_t)n + 1, sizeof *next);
    if (!next)
        return error_memory(error);
    for (row_t i = 0; i < n; i++)
        begin[(tree->parent[i] == ROW_NONE ? n : tree->parent[i]) + 1]++;
    for (row_t i = 0; i <= n; i++) {
        begin[i + 1] += begin[i];
        next[i] = begin[i];
    }
    for (row_t i = 0; i < n; i++)
        tree->children[next[tree->parent[i] == ROW_NONE ? n : tree->parent[i]]++] = i;
    for (row_t i = 0; i <= n; i++)
        next[i] = begin[i];
    while (at != n || next[n] < begin[n + 1]) {
        if (next[at] == begin[at + 1]) {
            at = tree->parent[at] == ROW_NONE ? n : tree->parent[at];
            continue;
        }
        row_t child = tree->children[next[at]++];
        tree->depth[child] = at == n ? 0 : tree->depth[at] + 1;
        tree->preorder[n_listed++] = at = child;
    }
    arena_release(&tree->arena, mark);
    return SUTRA_OK;
}

/* An operator's missing end is that of the event above, once it is finished. */
static void settle_end(struct sutra_tree *tree, row_t i) {
    row_t parent = tree->parent[i];
    int64_t start = tree->sorted.events.start[i], end = tree->sorted.events.end[i];
    bool finished = tree->closing[i] != EVENT_OPEN;
    uint8_t kind = tree->profile->kind[tree->sorted.order[i]];
    if (end == EVENT_NO_END && finished && kind == SUTRA_EVENT_OPERATOR && parent != ROW_NONE) {
        end = tree->end[parent];
        tree->report.n_borrowed++;
    }
    if (finished && end < start) {
        end = start;
        tree->report.n_reversed++;
    }
    tree->report.n_endless += end == EVENT_NO_END;
    tree->end[i] = end;
}

static void settle_ends(struct sutra_tree *tree) {
    row_t n = tree->profile->n;
    const uint32_t *thread = tree->sorted.events.thread;
    for (row_t k = 0; k < n; k++) {
        row_t i = tree->preorder[k], parent = tree->parent[i];
        settle_end(tree, i);
        tree->report.n_roots += parent == ROW_NONE;
        tree->report.n_adopted += parent != ROW_NONE && thread[parent] != thread[i];
        if (tree->depth[i] + 1 > tree->report.max_depth)
            tree->report.max_depth = tree->depth[i] + 1;
    }
    tree->report.n_events = n;
}

static void warn(struct sutra_context *context, const struct sutra_tree_report *report) {
    if (report->n_reversed)
        context_warn(
            context, "%s: using the start as the end",
            counted_text(report->n_reversed, "event ends before it starts", "events end before they start").text);
    if (report->n_endless)
        context_warn(context, "%s: no self time",
                     counted_text(report->n_endless, "event never ends", "events never end").text);
}

/* The tree and the ids only have the order of events in common; each is one thread's work. */
struct building {
    struct sutra_tree *tree;
    const struct engine *engine;
    enum sutra_torch_version torch_version;
    enum sutra_status status[2];
    struct sutra_error error[2];
};

static void build_half(void *arg, size_t half) {
    struct building *building = arg;
    struct sutra_tree *tree = building->tree;
    struct sutra_error *error = &building->error[half];
    enum sutra_status status;
    if (half == 1) {
        building->status[half] =
            tensor_ids_find(&tree->ids, tree, building->engine, building->torch_version, &tree->ids_arena, error);
        return;
    }
    status = find_parents(tree, building->engine, error);
    if (!status)
        status = list_children(tree, error);
    if (!status) {
        settle_ends(tree);
        tree_sum_times(tree);
    }
    building->status[half] = status;
}

static enum sutra_status build(struct sutra_tree *tree, struct sutra_context *context,
                               enum sutra_torch_version torch_version, struct sutra_error *error) {
    struct building building = {.tree = tree, .engine = &context->engine, .torch_version = torch_version};
    enum sutra_status status = take_columns(tree, tree->profile->n, error);
    if (!status)
        status = sort_events(tree, context, error);
    if (status)
        return status;
    if (context->engine.concurrent)
        pool_run(context->pool, 2, build_half, &building);
    for (size_t half = 0; half < 2 && !context->engine.concurrent; half++)
        build_half(&building, half);
    for (int half = 0; half < 2; half++)
        if (building.status[half])
            return error_hand_on(error, building.status[half], &building.error[half]);
    return SUTRA_OK;
}

enum sutra_status sutra_tree_build(struct sutra_context *context, const struct sutra_profile *profile,
                                   enum sutra_torch_version torch_version, struct sutra_tree **tree,
                                   struct sutra_error *error) {
    struct sutra_tree *made = calloc(1, sizeof *made);
    if (!made)
        return error_memory(error);
    made->profile = profile;
    context_expect(context, profile->n);
    stage_begin(context, "event tree", profile->n);
    enum sutra_status status = build(made, context, torch_version, error);
    stage_end(context);
    if (status) {
        sutra_tree_free(made);
        return status;
    }
    made->report.n_tensors = made->ids.n;
    warn(context, &made->report);
    *tree = made;
    return SUTRA_OK;
}

void sutra_tree_columns(const struct sutra_tree *tree, struct sutra_tree_columns *columns) {
    const struct sutra_tree_columns ours = {.n = tree->profile->n,
                                            .row = tree->sorted.order,
                                            .parent = tree->parent,
                                            .depth = tree->depth,
                                            .child_begin = tree->child_begin,
                                            .children = tree->children,
                                            .end_ns = tree->end,
                                            .host_ns = tree->host,
                                            .host_self_ns = tree->host_self,
                                            .device_ns = tree->device,
                                            .device_self_ns = tree->device_self,
                                            .tensor_id = tree->ids.allocation,
                                            .allocation_id = tree->ids.storage};
    report_give(columns, &ours, sizeof ours);
}

void sutra_tree_report(const struct sutra_tree *tree, struct sutra_tree_report *report) {
    report_give(report, &tree->report, sizeof tree->report);
}

enum sutra_status sutra_tree_write(struct sutra_context *context, const struct sutra_tree *tree,
                                   enum sutra_tree_format format, const struct sutra_tree_write_options *options,
                                   const char *path, uint64_t *n_bytes, struct sutra_error *error) {
    static bool (*const writers[])(const void *, struct text_out *) = {[SUTRA_TREE_JSON] = write_tree_json,
                                                                       [SUTRA_TREE_TEXT] = write_tree_text,
                                                                       [SUTRA_TREE_CHROME] = write_tree_chrome,
                                                                       [SUTRA_TREE_EVENTS] = write_tree_events};
    static const struct options_form form = OPTIONS_FORM(sutra_tree_write_options, min_us);
    struct sutra_tree_write_options taken;
    enum sutra_status status = options_take(&form, options, &taken, error);
    if (status)
        return status;
    const struct tree_written written = {tree, &taken};
    if (format == SUTRA_TREE_CHROME && !tree->profile->trace)
        return error_set(error, SUTRA_USAGE, "only a tree of a trace can be written as a trace");
    stage_begin(context, "write", tree->profile->n);
    status = text_file_write(context, path, writers[format], &written, n_bytes, error);
    stage_end(context);
    return status;
}
