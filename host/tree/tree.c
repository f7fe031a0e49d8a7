/*
 * tree.c - sutra_tree_...(): from a profile to its call tree.
 *
 * Parents by replay (match/event_tree.c) and by flow or link (kineto.c) are put together, then children, a pre-order,
 * ends and times follow in one pass each. O(n) but for sorting. There are no cycles: parents by replay stand before
 * their children and are never placed by flow or link, and lines of flows and links were cleared of cycles.
 */
#include <stdlib.h>
#include <string.h>

#include "base/arena.h"
#include "base/error.h"
#include "base/options.h"
#include "columns/column.h"
#include "columns/numbers.h"
#include "columns/row.h"
#include "facts/times.h"
#include "sutra/profiler.h"
#include "text/quantities.h"
#include "tree/tree.h"

/*
 * Self and total times of the tree, from the bottom up; in come parents and ends, out go four columns.
 *
 * On the host, an event's own time is what its children on its thread leave of it. On the device, an operator has the
 * time of the kernels, copies and sets that its own launches started, and in all what is started below it. O(n).
 */

static int64_t overlap(const struct sutra_tree *tree, row_t parent, row_t child) {
    const int64_t *start = tree->sorted.events.start, *end = tree->end;
    int64_t from = start[parent] > start[child] ? start[parent] : start[child];
    int64_t to = end[parent] < end[child] ? end[parent] : end[child];
    return to > from ? to - from : 0;
}

static void own_times(struct sutra_tree *tree, row_t i) {
    uint8_t gpu = tree->profile->gpu[tree->sorted.order[i]];
    int64_t time = tree->end[i] == EVENT_NO_END ? 0 : tree->end[i] - tree->sorted.events.start[i];
    if (gpu == EVENT_ON_HOST)
        tree->host[i] = tree->host_self[i] = time;
    if (gpu == EVENT_GPU_OPERATOR)
        tree->device[i] = tree->device_self[i] = time;
}

static void hand_up(struct sutra_tree *tree, row_t i) {
    row_t parent = tree->parent[i];
    const struct sutra_profile *profile = tree->profile;
    if (parent == ROW_NONE)
        return;
    tree->device[parent] += tree->device[i];
    if (profile->kind[tree->sorted.order[i]] == SUTRA_EVENT_KINETO)
        tree->device_self[parent] += tree->device_self[i];
    if (tree->sorted.events.thread[parent] != tree->sorted.events.thread[i] || !tree->host[i])
        return;
    int64_t left = tree->host_self[parent] - overlap(tree, parent, i);
    tree->host_self[parent] = left > 0 ? left : 0;
}

/* Sums times up from the bottom; parents and ends must be there. */
static void tree_sum_times(struct sutra_tree *tree) {
    row_t n = tree->profile->n;
    for (row_t i = 0; i < n; i++)
        own_times(tree, i);
    for (row_t k = n; k-- > 0;)
        hand_up(tree, tree->preorder[k]);
}

/*
 * Autograd's numbers move up: an operator that hands a node to the engine takes the numbers of the
 * backward operator that it runs.
 */

bool sutra_autograd_evaluates(const char *name, size_t length) {
    static const char prefix[] = "autograd::engine::evaluate_function: ";
    return length >= sizeof prefix - 1 && memcmp(name, prefix, sizeof prefix - 1) == 0;
}

enum sutra_status sutra_autograd_plumb(uint64_t n, uint32_t n_threads, const uint32_t *thread, const uint8_t *scope,
                                       const uint8_t *evaluates, int64_t *sequence, int64_t *forward_tid,
                                       struct sutra_error *error) {
    struct arena scratch = {0};
    uint64_t *last = arena_zeros(&scratch, n_threads, sizeof *last); /* the thread's operator before, plus one */
    enum sutra_status status = arena_status(&scratch, error);
    for (uint64_t i = 0; i < n && !status; i++) {
        uint64_t before = last[thread[i]];
        last[thread[i]] = i + 1;
        if (!before-- || scope[i] != SUTRA_SCOPE_BACKWARD || scope[before] != SUTRA_SCOPE_FUNCTION ||
            !evaluates[before])
            continue;
        sequence[before] = sequence[i];
        forward_tid[before] = forward_tid[i];
    }
    arena_free(&scratch);
    return status;
}

/*
 * Sorting events by start; and parents of events in any order, for those who have plain arrays.
 *
 *     start of the rows   5 2 9 2      order   1 3 0 2       parents go back: row order[i] is below row order[above[i]]
 */

static enum sutra_status sort_by_start(const struct tree_events *from, struct sutra_context *context,
                                       struct arena *arena, row_t *order, struct sutra_error *error) {
    struct arena_mark mark = arena_mark(arena);
    uint64_t *keys = arena_take(arena, from->n, sizeof *keys);
    enum sutra_status status = arena_status(arena, error);
    for (row_t i = 0; i < from->n && !status; i++) {
        order[i] = i;
        keys[i] = integer_sort_key(from->start[i]);
    }
    if (!status)
        status =
            context->engine.sort_keys(context->engine.state, &(struct sort_keys_step){keys, order, from->n}, error);
    arena_release(arena, mark);
    return status;
}

/* Sorts the caller's columns stably by start; `forward` and `placed` may be NULL. What comes of it lives in the arena.
 * O(n) for each 11 bits in which starts differ. SUTRA_SYSTEM: out of memory. */
static enum sutra_status sorted_events_make(struct sorted_events *sorted, struct sutra_context *context,
                                            const struct tree_events *from, struct arena *arena,
                                            struct sutra_error *error) {
    row_t n = from->n, *order = arena_take(arena, n, sizeof *order);
    int64_t *start = arena_take(arena, n, sizeof *start), *end = arena_take(arena, n, sizeof *end);
    uint32_t *thread = arena_take(arena, n, sizeof *thread);
    uint32_t *forward = from->forward ? arena_take(arena, n, sizeof *forward) : NULL;
    uint8_t *placed = from->placed ? arena_take(arena, n, sizeof *placed) : NULL;
    enum sutra_status status = sort_by_start(from, context, arena, order, error);
    for (row_t i = 0; i < n && !status; i++) {
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
    return status;
}

/* ---- For plain arrays ---- */

static bool time_fits(int64_t time) {
    return time < NUMBER_INTEGER_LIMIT && time > -NUMBER_INTEGER_LIMIT;
}

static enum sutra_status check_times(const struct sutra_event_columns *events, struct sutra_error *error) {
    if (events->n > ROW_LIMIT)
        return error_set(error, SUTRA_DATA, "more than %u events", ROW_LIMIT);
    for (uint64_t i = 0; i < events->n; i++)
        if (!time_fits(events->start_ns[i]) || (events->end_ns[i] != EVENT_NO_END && !time_fits(events->end_ns[i])))
            return error_set(error, SUTRA_DATA, "event %llu: time beyond 2^62 ns", (unsigned long long)i);
    return SUTRA_OK;
}

/* Numbers of tids, and of forward tids that are a tid. */
static bool number_tids(const struct sutra_event_columns *events, uint32_t *thread, uint32_t *forward,
                        uint32_t *n_threads) {
    struct thread_numbers threads;
    bool ok = thread_numbers_init(&threads);
    for (uint64_t i = 0; i < events->n && ok; i++)
        ok = (thread[i] = thread_number(&threads, (uint64_t)events->tid[i], 0)) != PAIR_NONE;
    for (uint64_t i = 0; i < events->n && ok; i++)
        forward[i] = events->forward_tid && events->forward_tid[i]
                         ? pair_table_find(&threads.table, (uint64_t)events->forward_tid[i], 0)
                         : THREAD_NONE;
    *n_threads = threads.n;
    thread_numbers_free(&threads);
    return ok;
}

/* From positions back to rows. */
static enum sutra_status find_parents_sorted_events(const struct sorted_events *sorted, const struct engine *engine,
                                                    struct arena *arena, uint32_t *parent, int64_t *closing,
                                                    struct sutra_error *error) {
    row_t n = sorted->events.n, *above = arena_take(arena, n, sizeof *above);
    int64_t *closes = arena_take(arena, n, sizeof *closes);
    enum sutra_status status = arena_status(arena, error);
    if (!status)
        status =
            engine->event_parents(engine->state, &(struct event_parents_step){&sorted->events, above, closes}, error);
    for (row_t i = 0; i < n && !status; i++) {
        if (sorted->events.placed && sorted->events.placed[i])
            continue;
        parent[sorted->order[i]] = above[i] == ROW_NONE ? ROW_NONE : sorted->order[above[i]];
        closing[sorted->order[i]] = closes[i];
    }
    return status;
}

enum sutra_status sutra_event_parents(struct sutra_context *context, const struct sutra_event_columns *events,
                                      uint32_t *parent, int64_t *closing_ns, struct sutra_error *error) {
    enum sutra_status status = check_times(events, error);
    if (status)
        return status;
    struct arena arena = {0};
    struct sorted_events sorted;
    uint32_t *thread = arena_take(&arena, events->n, sizeof *thread);
    uint32_t *forward = arena_take(&arena, events->n, sizeof *forward);
    struct tree_events from = {.n = (row_t)events->n,
                               .start = events->start_ns,
                               .end = events->end_ns,
                               .thread = thread,
                               .forward = forward,
                               .placed = events->placed};
    if (arena.failed || !number_tids(events, thread, forward, &from.n_threads))
        status = error_memory(error);
    if (!status)
        status = sorted_events_make(&sorted, context, &from, &arena, error);
    if (!status)
        status = find_parents_sorted_events(&sorted, &context->engine, &arena, parent, closing_ns, error);
    arena_free(&arena);
    return status;
}

/*
 * Unique ids of tensors and allocations; in comes a tree, out go ids (match/tensor_groups.c makes them).
 *
 * Uses of storages are listed in the order of starts: tensors that operators take, memory that comes and goes. O(n).
 */

_Static_assert(STORAGE_NONE == ROW_NONE, "columns of ids begin as columns of rows do");

/* Uses of storages, and where each one's ids go: a tensor of the inputs, or the position of an allocation. */
struct uses {
    row_t n;
    uint64_t *tensor, *storage;
    uint32_t *device, *target;
    uint8_t *use;
    uint32_t *number, *group;
};

/* Tensors of the inputs by row of the profile, and which of them are members of lists. */
struct input_rows {
    uint64_t *first; /* of each row; one more at the end */
    uint8_t *in_list;
};

static struct uses uses_take(uint64_t n, struct arena *arena) {
    return (struct uses){.tensor = arena_take(arena, n, sizeof(uint64_t)),
                         .storage = arena_take(arena, n, sizeof(uint64_t)),
                         .device = arena_take(arena, n, sizeof(uint32_t)),
                         .target = arena_take(arena, n, sizeof(uint32_t)),
                         .use = arena_take(arena, n, sizeof(uint8_t)),
                         .number = arena_take(arena, n, sizeof(uint32_t)),
                         .group = arena_take(arena, n, sizeof(uint32_t))};
}

/* Walks the tags alone; what stands in the arrays was encoded by us. */
static void find_input_rows(const struct input_rows *rows, const struct sutra_profile *profile) {
    const struct sutra_inputs *inputs = profile->inputs;
    uint64_t tag = 0, tensor = 0;
    for (row_t row = 0; row < profile->n; row++) {
        uint8_t in_list = 0;
        rows->first[row] = tensor;
        if (profile->kind[row] != SUTRA_EVENT_OPERATOR)
            continue;
        for (; tag < inputs->n_tags && (in_list || inputs->tags[tag] != SUTRA_INPUT_END); tag++)
            if (inputs->tags[tag] == SUTRA_INPUT_TENSOR)
                rows->in_list[tensor++] = in_list;
            else if (inputs->tags[tag] == SUTRA_INPUT_LIST || inputs->tags[tag] == SUTRA_INPUT_END)
                in_list = inputs->tags[tag] == SUTRA_INPUT_LIST;
        tag++;
    }
    rows->first[profile->n] = tensor;
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

static void add_tensors(struct uses *uses, const struct sutra_profile *profile, const struct input_rows *rows,
                        row_t row, enum sutra_torch_version torch_version) {
    for (uint64_t i = rows->first[row]; i < rows->first[row + 1]; i++) {
        const struct sutra_tensor *tensor = &profile->inputs->tensors[i];
        bool counts = torch_version == SUTRA_TORCH_VERSION_2 || (tensor->storage && !rows->in_list[i]);
        if (tensor->impl && counts)
            add_use(uses, tensor->impl, tensor->storage, (uint32_t)tensor->device_index, STORAGE_INPUT, (uint32_t)i);
    }
}

static void list_uses(struct uses *uses, const struct sutra_tree *tree, const struct input_rows *rows,
                      enum sutra_torch_version torch_version) {
    const struct sutra_profile *profile = tree->profile;
    for (row_t i = 0; i < profile->n; i++) {
        row_t row = tree->sorted.order[i];
        if (profile->kind[row] == SUTRA_EVENT_OPERATOR)
            add_tensors(uses, profile, rows, row, torch_version);
        else if (profile->kind[row] == SUTRA_EVENT_ALLOCATION && !profile->trace)
            add_use(uses, 0, profile->memory[row], profile->device[row],
                    profile->bytes[row] < 0 ? STORAGE_FREED : STORAGE_ALLOCATED, i);
    }
}

static void put_ids(struct tensor_ids *ids, const struct uses *uses) {
    for (row_t i = 0; i < uses->n; i++) {
        uint32_t target = uses->target[i], group = uses->group[i];
        if (uses->use[i] == STORAGE_INPUT) {
            ids->tensor[target] = group;
        } else if (group != STORAGE_NONE) {
            ids->allocation[target] = group;
            ids->storage[target] = uses->number[i];
        }
        if (group != STORAGE_NONE && group + 1 > ids->n)
            ids->n = group + 1;
    }
}

/* Lists the uses and has them grouped; `uses` are empty columns with room for all. */
static enum sutra_status group_uses(struct uses *uses, const struct sutra_tree *tree, const struct input_rows *rows,
                                    const struct engine *engine, enum sutra_torch_version torch_version,
                                    struct sutra_error *error) {
    find_input_rows(rows, tree->profile);
    list_uses(uses, tree, rows, torch_version);
    const uint32_t *device = torch_version == SUTRA_TORCH_VERSION_2 ? uses->device : NULL;
    const struct storage_uses columns = {uses->n, uses->tensor, uses->storage, device, uses->use};
    return engine->tensor_groups(engine->state, &(struct tensor_groups_step){&columns, uses->number, uses->group},
                                 error);
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
    const struct input_rows rows = {.first = arena_take(arena, (size_t)profile->n + 1, sizeof *rows.first),
                                    .in_list = arena_take(arena, n_tensors, sizeof *rows.in_list)};
    struct uses uses = uses_take(n, arena);
    enum sutra_status status = arena_status(arena, error);
    if (!status)
        status = group_uses(&uses, tree, &rows, engine, torch_version, error);
    if (!status)
        put_ids(ids, &uses);
    arena_release(arena, mark);
    return status;
}

enum sutra_status sutra_tensor_groups(struct sutra_context *context, const struct sutra_storage_columns *uses,
                                      uint32_t *number, uint32_t *group, struct sutra_error *error) {
    if (uses->n > ROW_LIMIT)
        return error_set(error, SUTRA_DATA, "more than %u uses of storages", ROW_LIMIT);
    const struct storage_uses columns = {(row_t)uses->n, uses->tensor, uses->storage, uses->device, uses->use};
    struct tensor_groups_step step = {&columns, number, group};
    return context->engine.tensor_groups(context->engine.state, &step, error);
}

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

static enum sutra_status find_parents_tree(struct sutra_tree *tree, const struct engine *engine,
                                           struct sutra_error *error) {
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
    status = find_parents_tree(tree, building->engine, error);
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
