/*
 * host_marks.c - when the threads of the host load data, wait for the device, or set something up.
 *
 * A call blocks if its name says so, and if it copies from the device and ends no sooner than the copy does, as copies
 * to memory that is not pinned do. A call sets up if its name says so, and if it does nothing else that is known and
 * takes long: creating a context hides in whatever call comes first. Of calls in each other the outermost counts, as
 * rows of a thread come by start. O(n).
 */
#include "analyze/overview/overview.h"
#include "base/error.h"

static bool copies_from_device(const struct overview *overview, row_t device) {
    const struct op_reading *reading = overview->reading;
    return overview->classes[device] == OVERVIEW_COPY &&
           name_roles(reading->events, overview->roles, reading->devices.event[device]) & NAME_FROM_DEVICE;
}

static enum sutra_status find_blocking(struct overview *overview, struct arena *arena, struct sutra_error *error) {
    const struct device_rows *devices = &overview->reading->devices;
    const struct host_rows *hosts = &overview->reading->hosts;
    overview->blocks = arena_take(arena, hosts->n, 1);
    if (!overview->blocks)
        return error_memory(error);
    for (row_t row = 0; row < hosts->n; row++)
        overview->blocks[row] = hosts->kind[row] == HOST_CALL && overview_name(overview, row) & NAME_BLOCKING;
    for (row_t i = 0; i < devices->n; i++) {
        row_t call = devices->call[i];
        if (call != ROW_NONE && copies_from_device(overview, i) && hosts->stop[call] >= devices->stop[i])
            overview->blocks[call] = 1;
    }
    return SUTRA_OK;
}

static uint8_t mark_of(const struct overview *overview, row_t row) {
    const struct host_rows *hosts = &overview->reading->hosts;
    const row_t *first = overview->reading->links.first;
    uint32_t roles = overview_name(overview, row), other = NAME_LAUNCH | NAME_RECORD_CALL | NAME_WAIT_CALL;
    if (hosts->kind[row] != HOST_CALL)
        return roles & NAME_LOADS_BATCH ? OVERVIEW_LOADING : OVERVIEW_N_KINDS;
    if (overview->blocks[row])
        return OVERVIEW_SYNC;
    bool slow = hosts->stop[row] - hosts->start[row] > SLOW_CALL_NS && first[row] == first[row + 1];
    return roles & NAME_SETS_UP || (slow && !(roles & other)) ? OVERVIEW_SET_UP : OVERVIEW_N_KINDS;
}

static void put_mark(const struct host_rows *hosts, row_t row, uint8_t kind, struct host_marks *marks) {
    row_t first = marks->first[hosts->thread[row]];
    int64_t begin = hosts->start[row];
    if (marks->n > first && marks->list[marks->n - 1].end > begin)
        begin = marks->list[marks->n - 1].end;
    if (begin < hosts->stop[row])
        marks->list[marks->n++] = (struct host_mark){begin, hosts->stop[row], row, kind};
}

enum sutra_status host_marks_make(struct overview *overview, struct arena *arena, struct arena *scratch,
                                  struct host_marks *marks, struct sutra_error *error) {
    const struct host_rows *hosts = &overview->reading->hosts;
    enum sutra_status status = find_blocking(overview, arena, error);
    row_t n = 0;
    for (row_t row = 0; row < hosts->n && !status; row++)
        n += mark_of(overview, row) != OVERVIEW_N_KINDS;
    *marks = (struct host_marks){.list = arena_take(scratch, n, sizeof *marks->list),
                                 .first = arena_zeros(scratch, (size_t)hosts->n_threads + 1, sizeof *marks->first)};
    if (!status)
        status = arena_status(scratch, error);
    uint32_t thread = 0;
    for (row_t row = 0; row < hosts->n && !status; row++) {
        uint8_t kind = mark_of(overview, row);
        while (thread < hosts->thread[row])
            marks->first[++thread] = marks->n;
        if (kind != OVERVIEW_N_KINDS)
            put_mark(hosts, row, kind, marks);
    }
    while (thread < hosts->n_threads && !status)
        marks->first[++thread] = marks->n;
    return status;
}
