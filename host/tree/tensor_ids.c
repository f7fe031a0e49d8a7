/*
 * tensor_ids.c - unique ids of tensors and allocations; in comes a tree, out go ids (match/tensor_groups.c makes them).
 *
 * Uses of storages are listed in the order of starts: tensors that operators take, memory that comes and goes. O(n).
 */
#include <stdlib.h>

#include "base/error.h"
#include "columns/column.h"
#include "tree/tree.h"

/* Uses of storages, and where each one's ids go: a tensor of the inputs, or the position of an allocation. */
struct uses {
    struct storage_uses columns;
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

static void uses_free(struct uses *uses) {
    free(uses->tensor);
    free(uses->storage);
    free(uses->device);
    free(uses->target);
    free(uses->use);
    free(uses->number);
    free(uses->group);
}

static bool uses_alloc(struct uses *uses, uint64_t n) {
    uses->tensor = column_new(n, sizeof *uses->tensor);
    uses->storage = column_new(n, sizeof *uses->storage);
    uses->device = column_new(n, sizeof *uses->device);
    uses->target = column_new(n, sizeof *uses->target);
    uses->use = column_new(n, sizeof *uses->use);
    uses->number = column_new(n, sizeof *uses->number);
    uses->group = column_new(n, sizeof *uses->group);
    return uses->tensor && uses->storage && uses->device && uses->target && uses->use && uses->number && uses->group;
}

/* Walks the tags alone; what stands in the arrays was encoded by us. */
static bool find_input_rows(struct input_rows *rows, const struct sutra_profile *profile) {
    const struct sutra_inputs *inputs = profile->inputs;
    uint64_t tag = 0, tensor = 0;
    rows->first = column_new((size_t)profile->n + 1, sizeof *rows->first);
    rows->in_list = column_new(inputs->n_tensors, sizeof *rows->in_list);
    if (!rows->first || !rows->in_list)
        return false;
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
    return true;
}

static void add_use(struct uses *uses, uint64_t tensor, uint64_t storage, uint32_t device, enum storage_use use,
                    uint32_t target) {
    row_t i = uses->columns.n++;
    uses->tensor[i] = tensor;
    uses->storage[i] = storage;
    uses->device[i] = device;
    uses->use[i] = (uint8_t)use;
    uses->target[i] = target;
}

static void add_tensors(struct uses *uses, const struct sutra_profile *profile, const struct input_rows *rows,
                        row_t row, enum sutra_edition edition) {
    for (uint64_t i = rows->first[row]; i < rows->first[row + 1]; i++) {
        const struct sutra_tensor *tensor = &profile->inputs->tensors[i];
        bool counts = edition == SUTRA_EDITION_2 || (tensor->storage && !rows->in_list[i]);
        if (tensor->impl && counts)
            add_use(uses, tensor->impl, tensor->storage, (uint32_t)tensor->device_index, STORAGE_INPUT, (uint32_t)i);
    }
}

static void list_uses(struct uses *uses, const struct sutra_tree *tree, const struct input_rows *rows,
                      enum sutra_edition edition) {
    const struct sutra_profile *profile = tree->profile;
    for (row_t i = 0; i < profile->n; i++) {
        row_t row = tree->sorted.order[i];
        if (profile->kind[row] == SUTRA_EVENT_OPERATOR)
            add_tensors(uses, profile, rows, row, edition);
        else if (profile->kind[row] == SUTRA_EVENT_ALLOCATION && !profile->trace)
            add_use(uses, 0, profile->memory[row], profile->device[row],
                    profile->bytes[row] < 0 ? STORAGE_FREED : STORAGE_ALLOCATED, i);
    }
    row_t n = uses->columns.n;
    const uint32_t *device = edition == SUTRA_EDITION_2 ? uses->device : NULL;
    uses->columns = (struct storage_uses){n, uses->tensor, uses->storage, device, uses->use};
}

static void put_ids(struct tensor_ids *ids, const struct uses *uses) {
    for (row_t i = 0; i < uses->columns.n; i++) {
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

static bool alloc_ids(struct tensor_ids *ids, uint64_t n_tensors, row_t n_events) {
    ids->tensor = column_new(n_tensors, sizeof *ids->tensor);
    ids->allocation = column_new(n_events, sizeof *ids->allocation);
    ids->storage = column_new(n_events, sizeof *ids->storage);
    if (!ids->tensor || !ids->allocation || !ids->storage)
        return false;
    for (uint64_t i = 0; i < n_tensors; i++)
        ids->tensor[i] = STORAGE_NONE;
    for (row_t i = 0; i < n_events; i++)
        ids->allocation[i] = ids->storage[i] = STORAGE_NONE;
    return true;
}

enum sutra_status tensor_ids_find(struct tensor_ids *ids, const struct sutra_tree *tree, const struct engine *engine,
                                  enum sutra_edition edition, struct sutra_error *error) {
    const struct sutra_profile *profile = tree->profile;
    struct uses uses = {0};
    struct input_rows rows = {0};
    if (!profile->has_ids)
        return SUTRA_OK;
    uint64_t n = profile->inputs->n_tensors + profile->n_allocations;
    enum sutra_status status = SUTRA_OK;
    if (n > ROW_LIMIT)
        return error_set(error, SUTRA_DATA, "more than %u tensors and allocations: cut the trace", ROW_LIMIT);
    if (!alloc_ids(ids, profile->inputs->n_tensors, profile->n) || !find_input_rows(&rows, profile) ||
        !uses_alloc(&uses, n))
        status = error_memory(error);
    if (!status) {
        list_uses(&uses, tree, &rows, edition);
        status = engine->tensor_groups(engine->state,
                                       &(struct tensor_groups_step){&uses.columns, uses.number, uses.group}, error);
    }
    if (!status)
        put_ids(ids, &uses);
    uses_free(&uses);
    free(rows.first);
    free(rows.in_list);
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
