/*
 * tree.c - sutra_tree_...(): from a profile to its call tree, its times and the ids of its tensors.
 *
 * Parents by replay (match/call_tree.c) and by flow or link (trace_links.c) are merged; then children, a pre-order,
 * ends and times follow in one pass each. There are no cycles: parents by replay precede their children and never have
 * a parent by flow or link, and cycles of flows and links were removed.
 *
 * Times: the self time of a host event is its duration without its children on its thread. The self device time of an
 * operator is the time of the GPU activity that its own calls launched; the total device time includes its descendants.
 *
 * Ids: the uses of storages are listed by start: inputs of operators, allocations and frees. The engine groups them
 * (match/call_tree.c).
 *
 * Cost: a sort by start, else O(n).
 *
 *     start of the rows   5 2 9 2      order   1 3 0 2       row order[i] is a child of row order[above[i]]
 */
#include <stdlib.h>
#include <string.h>

#include "base/arena.h"
#include "base/error.h"
#include "base/options.h"
#include "base/shared.h"
#include "columns/column.h"
#include "columns/numbers.h"
#include "facts/times.h"
#include "sutra/profiler.h"
#include "text/quantities.h"
#include "text/strings.h"
#include "tree/tree.h"

/* Sums times from the leaves to the roots. */
static void sum_times(struct sutra_tree *tree) {
    const struct sutra_profile *profile = tree->profile;
    const int64_t *start = tree->sorted.events.start, *end = tree->end;
    const uint32_t *thread = tree->sorted.events.thread;
    for (row_t i = 0; i < profile->n; i++) {
        uint8_t gpu = profile->gpu[tree->sorted.order[i]];
        int64_t time = end[i] == EVENT_NO_END ? 0 : end[i] - start[i];
        if (gpu == EVENT_ON_HOST)
            tree->host[i] = tree->host_self[i] = time;
        if (gpu == EVENT_GPU_OPERATOR)
            tree->device[i] = tree->device_self[i] = time;
    }
    for (row_t k = profile->n; k-- > 0;) {
        row_t i = tree->preorder[k], parent = tree->parent[i];
        if (parent == ROW_NONE)
            continue;
        tree->device[parent] += tree->device[i];
        if (profile->kind[tree->sorted.order[i]] == SUTRA_EVENT_KINETO)
            tree->device_self[parent] += tree->device_self[i];
        if (thread[parent] != thread[i] || !tree->host[i])
            continue;
        int64_t from = MAX(start[parent], start[i]);
        int64_t to = MIN(end[parent], end[i]);
        int64_t left = tree->host_self[parent] - (to > from ? to - from : 0);
        tree->host_self[parent] = MAX(left, 0);
    }
}

bool sutra_autograd_evaluates(const char *name, size_t length) {
    return text_begins_with(name, length, "autograd::engine::evaluate_function: ");
}

/* An operator that evaluates a node of the engine gets the numbers of the backward operator that it runs. */
enum sutra_status sutra_autograd_plumb(uint64_t n, uint32_t n_threads, const uint32_t *thread, const uint8_t *scope,
                                       const uint8_t *evaluates, int64_t *sequence, int64_t *forward_tid,
                                       struct sutra_error *error) {
    struct arena scratch = {0};
    uint64_t *last = arena_zeros(&scratch, n_threads, sizeof *last); /* the thread's previous operator, + 1 */
    TRY_ALLOC(last, error);
    for (uint64_t i = 0; i < n; i++) {
        uint64_t before = last[thread[i]];
        last[thread[i]] = i + 1;
        if (!before-- || scope[i] != SUTRA_SCOPE_BACKWARD || scope[before] != SUTRA_SCOPE_FUNCTION ||
            !evaluates[before])
            continue;
        sequence[before] = sequence[i];
        forward_tid[before] = forward_tid[i];
    }
    arena_free(&scratch);
    return SUTRA_OK;
}

/* ---- Sorted events, also for callers with plain arrays ---- */

/* Sorts the caller's columns stably by start; `forward` and `placed` may be NULL. The result is in the arena. O(n) per
 * 11 bits in which starts differ. SUTRA_SYSTEM: out of memory. */
static enum sutra_status sorted_events_make(struct sorted_events *sorted, struct sutra_context *context,
                                            const struct tree_events *from, struct arena *arena,
                                            struct sutra_error *error) {
    row_t n = from->n, *order = arena_alloc(arena, n, sizeof *order);
    int64_t *start = arena_alloc(arena, n, sizeof *start), *end = arena_alloc(arena, n, sizeof *end);
    uint32_t *thread = arena_alloc(arena, n, sizeof *thread);
    uint32_t *forward = from->forward ? arena_alloc(arena, n, sizeof *forward) : NULL;
    uint8_t *placed = from->placed ? arena_alloc(arena, n, sizeof *placed) : NULL;
    struct arena_mark mark = arena_mark(arena);
    uint64_t *keys = arena_alloc(arena, n, sizeof *keys);
    TRY(arena_status(arena, error));
    for (row_t i = 0; i < n; i++) {
        order[i] = i;
        keys[i] = integer_sort_key(from->start[i]);
    }
    TRY(context->engine.sort_keys(context->engine.state, &(struct sort_keys_step){keys, order, n}, error));
    arena_release(arena, mark);
    for (row_t i = 0; i < n; i++) {
        row_t row = order[i];
        start[i] = from->start[row];
        end[i] = from->end[row];
        thread[i] = from->thread[row];
        if (forward)
            forward[i] = from->forward[row];
        if (placed)
            placed[i] = from->placed[row];
    }
    *sorted = (struct sorted_events){{n, from->n_threads, start, end, thread, forward, placed}, order};
    return SUTRA_OK;
}

static bool time_fits(int64_t time) {
    return time < NUMBER_INTEGER_LIMIT && time > -NUMBER_INTEGER_LIMIT;
}

/* Finds the parents of sorted events, and maps positions to rows. */
static enum sutra_status find_parent_rows(const struct sorted_events *sorted, const struct engine *engine,
                                          struct arena *arena, uint32_t *parent, int64_t *closing,
                                          struct sutra_error *error) {
    row_t n = sorted->events.n, *above = arena_alloc(arena, n, sizeof *above);
    int64_t *closes = arena_alloc(arena, n, sizeof *closes);
    TRY(arena_status(arena, error));
    TRY(engine->event_parents(engine->state, &(struct event_parents_step){&sorted->events, above, closes}, error));
    for (row_t i = 0; i < n; i++) {
        if (sorted->events.placed && sorted->events.placed[i])
            continue;
        parent[sorted->order[i]] = above[i] == ROW_NONE ? ROW_NONE : sorted->order[above[i]];
        closing[sorted->order[i]] = closes[i];
    }
    return SUTRA_OK;
}

enum sutra_status sutra_event_parents(struct sutra_context *context, const struct sutra_event_columns *events,
                                      uint32_t *parent, int64_t *closing_ns, struct sutra_error *error) {
    if (events->n > ROW_LIMIT)
        return error_set(error, SUTRA_DATA, "more than %u events", ROW_LIMIT);
    for (uint64_t i = 0; i < events->n; i++)
        if (!time_fits(events->start_ns[i]) || (events->end_ns[i] != EVENT_NO_END && !time_fits(events->end_ns[i])))
            return error_set(error, SUTRA_DATA, "event %llu: time beyond 2^62 ns", (unsigned long long)i);
    struct arena arena = {0};
    struct sorted_events sorted;
    uint32_t *thread = arena_alloc(&arena, events->n, sizeof *thread);
    uint32_t *forward = arena_alloc(&arena, events->n, sizeof *forward);
    struct tree_events from = {.n = (row_t)events->n,
                               .start = events->start_ns,
                               .end = events->end_ns,
                               .thread = thread,
                               .forward = forward,
                               .placed = events->placed};

    /* Number the tids, and the forward tids that are tids. */
    struct thread_numbers threads;
    bool ok = thread_numbers_init(&threads) && !arena.failed;
    for (uint64_t i = 0; i < events->n && ok; i++)
        ok = (thread[i] = thread_number(&threads, (uint64_t)events->tid[i], 0)) != PAIR_NONE;
    for (uint64_t i = 0; i < events->n && ok; i++)
        forward[i] = events->forward_tid && events->forward_tid[i]
                         ? pair_table_find(&threads.table, (uint64_t)events->forward_tid[i], 0)
                         : THREAD_NONE;
    from.n_threads = threads.n;
    thread_numbers_free(&threads);
    enum sutra_status status = ok ? sorted_events_make(&sorted, context, &from, &arena, error) : error_memory(error);
    if (!status)
        status = find_parent_rows(&sorted, &context->engine, &arena, parent, closing_ns, error);
    arena_free(&arena);
    return status;
}

/* ---- Ids of tensors and allocations ---- */

_Static_assert(STORAGE_NONE == ROW_NONE, "columns of ids are initialized as columns of rows");

/* Uses of storages. The target gets the ids: a tensor of the inputs, or the position of an allocation. */
struct uses {
    row_t n;
    uint64_t *tensor, *storage;
    uint32_t *device, *target;
    uint8_t *use;
    uint32_t *number, *group;
};

/* Finds the first tensor of each row's inputs (first[row]; one more at the end), and which tensors are members of
 * lists. Walks only the tags, which this program encoded. */
static void find_input_rows(const struct sutra_profile *profile, uint64_t *first, uint8_t *list_member) {
    const struct sutra_inputs *inputs = profile->inputs;
    uint64_t tag = 0, tensor = 0;
    for (row_t row = 0; row < profile->n; row++) {
        uint8_t in_list = 0;
        first[row] = tensor;
        if (profile->kind[row] != SUTRA_EVENT_OPERATOR)
            continue;
        for (; tag < inputs->n_tags && (in_list || inputs->tags[tag] != SUTRA_INPUT_END); tag++)
            if (inputs->tags[tag] == SUTRA_INPUT_TENSOR)
                list_member[tensor++] = in_list;
            else if (inputs->tags[tag] == SUTRA_INPUT_LIST || inputs->tags[tag] == SUTRA_INPUT_END)
                in_list = inputs->tags[tag] == SUTRA_INPUT_LIST;
        tag++;
    }
    first[profile->n] = tensor;
}

static void add_use(struct uses *uses, uint64_t tensor, uint64_t storage, uint32_t device, enum storage_use use,
                    uint32_t target) {
    row_t i = uses->n++;
    uses->tensor[i] = tensor;
    uses->storage[i] = storage;
    uses->device[i] = device;
    uses->use[i] = (uint8_t)use;
    uses->target[i] = target;
}

/* Lists the uses of storages by start: inputs of operators, allocations and frees. */
static void list_uses(struct uses *uses, const struct sutra_tree *tree, const uint64_t *first,
                      const uint8_t *list_member, enum sutra_torch_version torch_version) {
    const struct sutra_profile *profile = tree->profile;
    for (row_t i = 0; i < profile->n; i++) {
        row_t row = tree->sorted.order[i];
        if (profile->kind[row] == SUTRA_EVENT_ALLOCATION && !profile->trace)
            add_use(uses, 0, profile->memory[row], profile->device[row],
                    profile->bytes[row] < 0 ? STORAGE_FREED : STORAGE_ALLOCATED, i);
        if (profile->kind[row] != SUTRA_EVENT_OPERATOR)
            continue;
        for (uint64_t k = first[row]; k < first[row + 1]; k++) {
            const struct sutra_tensor *tensor = &profile->inputs->tensors[k];
            bool counts = torch_version == SUTRA_TORCH_VERSION_2 || (tensor->storage && !list_member[k]);
            if (tensor->impl && counts)
                add_use(uses, tensor->impl, tensor->storage, (uint32_t)tensor->device_index, STORAGE_INPUT,
                        (uint32_t)k);
        }
    }
}

enum sutra_status tensor_ids_find(struct tensor_ids *ids, const struct sutra_tree *tree, const struct engine *engine,
                                  enum sutra_torch_version torch_version, struct arena *arena,
                                  struct sutra_error *error) {
    const struct sutra_profile *profile = tree->profile;
    if (!profile->has_ids)
        return SUTRA_OK;
    uint64_t n_tensors = profile->inputs->n_tensors, n = n_tensors + profile->n_allocations;
    if (n > ROW_LIMIT)
        return error_set(error, SUTRA_DATA, "more than %u tensors and allocations: cut the trace", ROW_LIMIT);
    *ids = (struct tensor_ids){.tensor = rows_none(arena, n_tensors),
                               .allocation = rows_none(arena, profile->n),
                               .storage = rows_none(arena, profile->n)};
    struct arena_mark mark = arena_mark(arena);
    uint64_t *first = arena_alloc(arena, (size_t)profile->n + 1, sizeof *first);
    uint8_t *list_member = arena_alloc(arena, n_tensors, sizeof *list_member);
    struct uses uses = {.tensor = arena_alloc(arena, n, sizeof *uses.tensor),
                        .storage = arena_alloc(arena, n, sizeof *uses.storage),
                        .device = arena_alloc(arena, n, sizeof *uses.device),
                        .target = arena_alloc(arena, n, sizeof *uses.target),
                        .use = arena_alloc(arena, n, sizeof *uses.use),
                        .number = arena_alloc(arena, n, sizeof *uses.number),
                        .group = arena_alloc(arena, n, sizeof *uses.group)};
    TRY(arena_status(arena, error));
    find_input_rows(profile, first, list_member);
    list_uses(&uses, tree, first, list_member, torch_version);
    const uint32_t *device = torch_version == SUTRA_TORCH_VERSION_2 ? uses.device : NULL;
    const struct storage_uses columns = {uses.n, uses.tensor, uses.storage, device, uses.use};
    TRY(engine->tensor_groups(engine->state, &(struct tensor_groups_step){&columns, uses.number, uses.group}, error));
    for (row_t i = 0; i < uses.n; i++) {
        uint32_t target = uses.target[i], group = uses.group[i];
        if (uses.use[i] == STORAGE_INPUT) {
            ids->tensor[target] = group;
        } else if (group != STORAGE_NONE) {
            ids->allocation[target] = group;
            ids->storage[target] = uses.number[i];
        }
        if (group != STORAGE_NONE && group + 1 > ids->n)
            ids->n = group + 1;
    }
    arena_release(arena, mark);
    return SUTRA_OK;
}

enum sutra_status sutra_tensor_groups(struct sutra_context *context, const struct sutra_storage_columns *uses,
                                      uint32_t *number, uint32_t *group, struct sutra_error *error) {
    if (uses->n > ROW_LIMIT)
        return error_set(error, SUTRA_DATA, "more than %u uses of storages", ROW_LIMIT);
    const struct storage_uses columns = {(row_t)uses->n, uses->tensor, uses->storage, uses->device, uses->use};
    struct tensor_groups_step step = {&columns, number, group};
    return context->engine.tensor_groups(context->engine.state, &step, error);
}

/* ---- The tree ---- */

void sutra_tree_free(struct sutra_tree *tree) {
    if (!tree || !refcount_release(&tree->holders))
        return;
    arena_free(&tree->arena);
    arena_free(&tree->ids_arena);
    free(tree);
}

static enum sutra_status sort_events(struct sutra_tree *tree, struct sutra_context *context,
                                     struct sutra_error *error) {
    const struct sutra_profile *profile = tree->profile;
    struct arena scratch = {0};
    uint8_t *placed = arena_alloc(&scratch, profile->n, sizeof *placed);
    TRY(arena_status(&scratch, error));
    for (row_t row = 0; row < profile->n; row++)
        placed[row] = profile->parent[row] != ROW_NONE;
    const struct tree_events from = {profile->n,      profile->n_threads, profile->start, profile->end,
                                     profile->thread, profile->forward,   placed};
    enum sutra_status status = sorted_events_make(&tree->sorted, context, &from, &tree->arena, error);
    arena_free(&scratch);
    return status;
}

/* Finds parents by replay, then sets the parents by flow or link. */
static enum sutra_status find_parents(struct sutra_tree *tree, const struct engine *engine, struct sutra_error *error) {
    const struct sutra_profile *profile = tree->profile;
    const struct sorted_events *sorted = &tree->sorted;
    const row_t *order = sorted->order;
    struct tree_events events = sorted->events;
    struct event_parents_step step = {&events, tree->parent, tree->closing};
    struct arena_mark mark = arena_mark(&tree->arena);
    if (profile->whole_us) {
        /* Whole microseconds hide the order of two events. An event that starts at the end of another event, and
         * has a duration, is not its child; nor is an event that starts at the end of a runtime call, which has almost
         * no children. So for the replay, the former start 1 ns later, and the latter end 1 ns earlier. */
        int64_t *start = arena_alloc(&tree->arena, events.n, sizeof *start);
        int64_t *end = arena_alloc(&tree->arena, events.n, sizeof *end);
        TRY(arena_status(&tree->arena, error));
        for (row_t i = 0; i < events.n; i++) {
            bool call = profile->kind[order[i]] == SUTRA_EVENT_KINETO;
            bool enters = event_enters(sorted->events.start[i], sorted->events.end[i]);
            start[i] = sorted->events.start[i] + enters;
            end[i] = sorted->events.end[i] - (call && enters);
        }
        events.start = start;
        events.end = end;
    }
    TRY(engine->event_parents(engine->state, &step, error));
    arena_release(&tree->arena, mark);
    for (row_t i = 0; i < profile->n; i++)
        tree->position[order[i]] = i;
    for (row_t i = 0; i < profile->n; i++)
        if (sorted->events.placed[i]) {
            tree->parent[i] = tree->position[profile->parent[order[i]]];
            tree->closing[i] = sorted->events.end[i];
        }
    return SUTRA_OK;
}

/* Lists children by parent, each list by start; then all positions in pre-order, with their depths. */
static enum sutra_status list_children(struct sutra_tree *tree, struct sutra_error *error) {
    row_t n = tree->profile->n, at = n, n_listed = 0;
    row_t *begin = tree->child_begin;
    struct arena_mark mark = arena_mark(&tree->arena);
    row_t *next = arena_alloc(&tree->arena, (size_t)n + 1, sizeof *next);
    TRY(arena_status(&tree->arena, error));
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

/* Sets the ends. The missing end of an operator is the end of its parent, if the operator was closed. */
static void settle_ends(struct sutra_tree *tree) {
    struct sutra_tree_report *report = &tree->report;
    row_t n = tree->profile->n;
    const uint32_t *thread = tree->sorted.events.thread;
    for (row_t k = 0; k < n; k++) {
        row_t i = tree->preorder[k], parent = tree->parent[i];
        int64_t start = tree->sorted.events.start[i], end = tree->sorted.events.end[i];
        bool closed = tree->closing[i] != EVENT_OPEN;
        bool is_operator = tree->profile->kind[tree->sorted.order[i]] == SUTRA_EVENT_OPERATOR;
        if (end == EVENT_NO_END && closed && is_operator && parent != ROW_NONE) {
            end = tree->end[parent];
            report->n_borrowed++;
        }
        if (closed && end < start) {
            end = start;
            report->n_reversed++;
        }
        tree->end[i] = end;
        report->n_endless += end == EVENT_NO_END;
        report->n_roots += parent == ROW_NONE;
        report->n_adopted += parent != ROW_NONE && thread[parent] != thread[i];
        if (tree->depth[i] + 1 > report->max_depth)
            report->max_depth = tree->depth[i] + 1;
    }
    report->n_events = n;
}

/* The tree and the ids share only the order of events. Each is computed by one thread. */
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
    enum sutra_status *status = &building->status[half];
    if (half == 1) {
        *status = tensor_ids_find(&tree->ids, tree, building->engine, building->torch_version, &tree->ids_arena, error);
        return;
    }
    *status = find_parents(tree, building->engine, error);
    if (!*status)
        *status = list_children(tree, error);
    if (!*status) {
        settle_ends(tree);
        sum_times(tree);
    }
}

static enum sutra_status build(struct sutra_tree *tree, struct sutra_context *context,
                               enum sutra_torch_version torch_version, struct sutra_error *error) {
    struct building building = {.tree = tree, .engine = &context->engine, .torch_version = torch_version};
    struct arena *arena = &tree->arena;
    row_t n = tree->profile->n;
    tree->position = arena_alloc(arena, n, sizeof *tree->position);
    tree->parent = arena_alloc(arena, n, sizeof *tree->parent);
    tree->closing = arena_alloc(arena, n, sizeof *tree->closing);
    tree->end = arena_alloc(arena, n, sizeof *tree->end);
    tree->depth = arena_alloc(arena, n, sizeof *tree->depth);
    tree->child_begin = arena_zeros(arena, (size_t)n + 2, sizeof *tree->child_begin);
    tree->children = arena_alloc(arena, n, sizeof *tree->children);
    tree->preorder = arena_alloc(arena, n, sizeof *tree->preorder);
    tree->host = arena_zeros(arena, n, sizeof *tree->host);
    tree->host_self = arena_zeros(arena, n, sizeof *tree->host_self);
    tree->device = arena_zeros(arena, n, sizeof *tree->device);
    tree->device_self = arena_zeros(arena, n, sizeof *tree->device_self);
    TRY(arena_status(arena, error));
    TRY(sort_events(tree, context, error));
    if (context->engine.concurrent)
        pool_run(context->pool, 2, build_half, &building);
    for (size_t half = 0; half < 2 && !context->engine.concurrent; half++)
        build_half(&building, half);
    for (int half = 0; half < 2; half++)
        if (building.status[half])
            return error_copy(error, building.status[half], &building.error[half]);
    return SUTRA_OK;
}

enum sutra_status sutra_tree_build(struct sutra_context *context, const struct sutra_profile *profile,
                                   enum sutra_torch_version torch_version, struct sutra_tree **tree,
                                   struct sutra_error *error) {
    struct sutra_tree *made = calloc(1, sizeof *made);
    TRY_ALLOC(made, error);
    made->profile = profile;
    context_choose_engine(context, NO_MATCHING);
    stage_begin(context, "event tree", profile->n);
    enum sutra_status status = build(made, context, torch_version, error);
    stage_end(context);
    if (status) {
        sutra_tree_free(made);
        return status;
    }
    struct sutra_tree_report *report = &made->report;
    report->n_tensors = made->ids.n;
    if (report->n_reversed)
        context_warn(
            context, "%s: using the start as the end",
            counted_text(report->n_reversed, "event ends before it starts", "events end before they start").text);
    if (report->n_endless)
        context_warn(context, "%s: no self time",
                     counted_text(report->n_endless, "event never ends", "events never end").text);
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
    struct sutra_tree_write_options chosen;
    TRY(options_copy(&form, options, &chosen, error));
    const struct tree_written written = {tree, &chosen};
    if (format == SUTRA_TREE_CHROME && !tree->profile->trace)
        return error_set(error, SUTRA_USAGE, "only a tree of a trace can be written as a trace");
    stage_begin(context, "write", tree->profile->n);
    enum sutra_status status = text_file_write(context, path, writers[format], &written, n_bytes, error);
    stage_end(context);
    return status;
}
