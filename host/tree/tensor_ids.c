/*
 * tensor_ids.c - unique ids of tensors and allocations; in comes a tree, out go ids (match/tensor_groups.c makes them).
 *
 * Uses of storages are listed in the order of starts: tensors that operators take, memory that comes and goes. O(n).
 */
#include "base/error.h"
#include "columns/column.h"
#include "tree/tree.h"

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
