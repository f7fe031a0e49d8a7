/*
 * devices.c - the work of the device: rows with times and classes, in the order of the file, and their order in time.
 * O(n) beside the sort; the class of a name is found once.
 */
#include "analyze/operators/reading.h"
#include "match/cpu_steps.h"

/* A class that was not looked for yet. */
#define CLASS_UNKNOWN UINT8_MAX

struct class_memory {
    uint8_t *of[2]; /* by string of the name: as a kernel, and as a set */
};

static uint32_t roles_of(const struct op_reading *reading, row_t event) {
    return category_roles(reading->events, reading->roles, event);
}

static uint8_t class_of(const struct op_reading *reading, struct class_memory *memory, row_t event) {
    uint32_t roles = roles_of(reading, event), name = reading->events->name[event];
    uint8_t *known = &memory->of[(roles & CATEGORY_KERNEL) == 0][name];
    if (!(roles & (CATEGORY_KERNEL | CATEGORY_SET)))
        return (uint8_t)device_class_of(roles, "", 0);
    if (*known == CLASS_UNKNOWN)
        *known = (uint8_t)device_class_of(roles, strings_text(reading->strings, name),
                                          strings_length(reading->strings, name));
    return *known;
}

static enum sutra_status fill_rows(struct op_reading *reading, const struct exact_times *times,
                                   const struct event_lists *lists, struct arena *arena, struct sutra_error *error) {
    struct device_rows *rows = &reading->devices;
    struct class_memory memory;
    for (int i = 0; i < 2; i++) {
        memory.of[i] = arena_take(arena, reading->strings->n, 1);
        if (memory.of[i])
            memset(memory.of[i], CLASS_UNKNOWN, reading->strings->n);
    }
    enum sutra_status status = arena_status(arena, error);
    for (row_t i = 0; memory.of[0] && memory.of[1] && i < lists->n_device && !status; i++) {
        row_t event = lists->device[i];
        if (!exact_time_is_known(reading->events, event))
            continue;
        rows->event[rows->n] = event;
        rows->start[rows->n] = op_start_read(reading, times, event);
        rows->stop[rows->n] = op_stop_read(reading, event, rows->start[rows->n]);
        rows->call[rows->n] = rows->launcher[rows->n] = ROW_NONE;
        rows->class[rows->n++] = class_of(reading, &memory, event);
    }
    return status;
}

enum sutra_status device_rows_sort(struct device_rows *rows, struct arena *scratch, struct sutra_error *error) {
    struct arena_mark mark = arena_mark(scratch);
    uint64_t *keys = arena_take(scratch, rows->n, sizeof *keys);
    enum sutra_status status = arena_status(scratch, error);
    for (row_t i = 0; i < rows->n && !status; i++) {
        keys[i] = integer_sort_key(rows->start[i]);
        rows->by_start[i] = i;
    }
    if (!status)
        status = cpu_sort_keys(NULL, &(struct sort_keys_step){keys, rows->by_start, rows->n}, error);
    arena_release(scratch, mark);
    return status;
}

enum sutra_status device_rows_take(struct op_reading *reading, struct arena *arena, struct sutra_error *error) {
    row_t n = reading->events->n; /* memory that is not used is never touched */
    reading->devices = (struct device_rows){.event = arena_take(arena, n, sizeof(row_t)),
                                            .start = arena_take(arena, n, sizeof(int64_t)),
                                            .stop = arena_take(arena, n, sizeof(int64_t)),
                                            .class = arena_take(arena, n, sizeof(uint8_t)),
                                            .call = arena_take(arena, n, sizeof(row_t)),
                                            .launcher = arena_take(arena, n, sizeof(row_t)),
                                            .by_start = arena_take(arena, n, sizeof(row_t))};
    return arena_status(arena, error);
}

enum sutra_status device_rows_fill(struct op_reading *reading, const struct exact_times *times,
                                   const struct event_lists *lists, struct arena *scratch, struct sutra_error *error) {
    struct arena_mark mark = arena_mark(scratch);
    enum sutra_status status = fill_rows(reading, times, lists, scratch, error);
    arena_release(scratch, mark);
    return status ? status : device_rows_sort(&reading->devices, scratch, error);
}
