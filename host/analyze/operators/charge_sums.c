/*
 * charge_sums.c - adding charges up. O(charges + work), and a sort of the groups.
 */
#include "analyze/operators/charge_sums.h"

enum sutra_status charge_sums_make(const struct op_reading *reading, const uint32_t *of, uint32_t n_groups,
                                   struct arena *arena, struct charge_sum **sums, struct sutra_error *error) {
    const struct op_charges *charges = &reading->charges;
    struct charge_sum *made = arena_zeros(arena, n_groups, sizeof *made);
    enum sutra_status status = arena_status(arena, error);
    for (row_t i = 0; i < charges->n && !status; i++) {
        struct charge_sum *sum = &made[of[i]];
        int64_t direct = charges->direct[i];
        sum->least = sum->launchers == 0 || direct < sum->least ? direct : sum->least;
        sum->most = sum->launchers == 0 || direct > sum->most ? direct : sum->most;
        sum->launchers++;
        sum->works += charges->first[i + 1] - charges->first[i];
        sum->direct += direct;
        sum->subtree += charges->subtree[i];
        sum->device += charges->work[i];
    }
    *sums = made;
    return status;
}

enum sutra_status charge_sums_order(const struct charge_sum *sums, uint32_t n, struct arena *arena, uint32_t **order,
                                    struct sutra_error *error) {
    double *device = arena_take(arena, n, sizeof *device);
    *order = arena_take(arena, n, sizeof **order);
    enum sutra_status status = arena_status(arena, error);
    for (uint32_t i = 0; i < n && !status; i++)
        device[i] = (double)sums[i].device;
    return status ? status : op_groups_order(device, n, arena, *order, error);
}

wide_t op_reading_device_time(const struct op_reading *reading) {
    wide_t sum = 0;
    for (row_t i = 0; i < reading->devices.n; i++)
        sum += reading->devices.stop[i] - reading->devices.start[i];
    return sum;
}
