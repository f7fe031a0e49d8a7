/*
 * dlrm_operator_times.c - device time of operators, by their names.
 */
#include "analyze/dlrm/dlrm_operator_times.h"

static void add_operator(const struct sutra_dlrm *dlrm, struct dlrm_operator_time *row, row_t group) {
    const struct dlrm_device_time *time = &dlrm->device_time;
    row->calls++;
    for (row_t block = time->group_block[group]; block < time->group_block[group + 1]; block++)
        for (row_t i = time->blocks[block].kernel; i < time->blocks[block + 1].kernel; i++) {
            row->kernels += time->kernels[i].count;
            row->us += time->kernels[i].us;
        }
}

static bool add_all(const struct sutra_dlrm *dlrm, struct dlrm_operator_time *rows, struct tuples *names) {
    const struct dlrm_device_time *time = &dlrm->device_time;
    const struct dlrm_operators *ops = &dlrm->tree.ops;
    for (row_t op = 0; op < ops->n; op++) {
        row_t group = ops->group[op];
        if (time->group_block[group] == time->group_block[group + 1])
            continue;
        uint32_t row = tuples_number(names, (struct tuple){{ops->name[op]}});
        if (row == TUPLE_NONE)
            return false;
        rows[row].name = ops->name[op];
        add_operator(dlrm, &rows[row], group);
    }
    return true;
}

bool dlrm_operator_times(const struct sutra_dlrm *dlrm, struct arena *arena, struct dlrm_operator_time **times,
                         uint32_t *n) {
    struct tuples names = {0};
    struct dlrm_operator_time *rows = arena_zeros(arena, dlrm->tree.ops.n, sizeof *rows);
    bool ok = rows && add_all(dlrm, rows, &names);
    if (ok) {
        *times = rows;
        *n = names.n;
    }
    tuples_free(&names);
    return ok;
}
