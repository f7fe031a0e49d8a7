/*
 * host_marks.c - when the threads of the host load data, wait for the device, or set something up.
 *
 * A call blocks if its name says so, and if it copies from the device and ends no sooner than the copy does, as copies
 * to memory that is not pinned do. A call sets up if its name says so, and if it does nothing else that is known and
 * takes long: creating a context hides in whatever call comes first. So does a thread that captures a graph. Of calls
 * in each other the outermost counts, as rows of a thread come by start. O(n).
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

/* Adds a mark from a moment to the end of a row, as far as the last one leaves room. */
static void put_mark(const struct host_rows *hosts, int64_t begin, row_t row, uint8_t kind, struct host_marks *marks) {
    row_t first = marks->first[hosts->thread[row]];
    if (marks->n > first && marks->list[marks->n - 1].end > begin)
        begin = marks->list[marks->n - 1].end;
    if (begin < hosts->stop[row])
        marks->list[marks->n++] = (struct host_mark){begin, hosts->stop[row], row, kind};
}

/* What a row is besides its kind. */
#define ROW_CAPTURES 64
#define ROW_CAPTURED 128

_Static_assert(OVERVIEW_N_KINDS < ROW_CAPTURES, "kinds fit below the flags");

/* The kind of each row, and whether it begins or ends the capture of a graph; returns how many can make a mark. */
static row_t find_kinds(const struct overview *overview, uint8_t *kinds) {
    const struct host_rows *hosts = &overview->reading->hosts;
    row_t n = 0;
    for (row_t row = 0; row < hosts->n; row++) {
        uint32_t roles = hosts->kind[row] == HOST_CALL ? overview_name(overview, row) : 0;
        kinds[row] = mark_of(overview, row);
        n += kinds[row] != OVERVIEW_N_KINDS || roles & NAME_CAPTURED;
        kinds[row] |=
            (uint8_t)((roles & NAME_CAPTURES ? ROW_CAPTURES : 0) | (roles & NAME_CAPTURED ? ROW_CAPTURED : 0));
    }
    return n;
}

/* A row's mark, if it has one; from where the thread captures a graph to where it has one, only that. */
static void take_row(const struct host_rows *hosts, row_t row, uint8_t kind, row_t *captures,
                     struct host_marks *marks) {
    uint8_t plain = kind & (ROW_CAPTURES - 1);
    if (kind & ROW_CAPTURED && *captures != ROW_NONE) {
        put_mark(hosts, hosts->start[*captures], row, OVERVIEW_SET_UP, marks);
        *captures = ROW_NONE;
    } else if (kind & ROW_CAPTURES && *captures == ROW_NONE) {
        *captures = row;
    } else if (plain != OVERVIEW_N_KINDS && *captures == ROW_NONE) {
        put_mark(hosts, hosts->start[row], row, plain, marks);
    }
}

enum sutra_status host_marks_make(struct overview *overview, struct arena *arena, struct arena *scratch,
                                  struct host_marks *marks, struct sutra_error *error) {
    const struct host_rows *hosts = &overview->reading->hosts;
    enum sutra_status status = find_blocking(overview, arena, error);
    uint8_t *kinds = arena_take(scratch, hosts->n, 1);
    row_t n = kinds && !status ? find_kinds(overview, kinds) : 0;
    *marks = (struct host_marks){.list = arena_take(scratch, n, sizeof *marks->list),
                                 .first = arena_zeros(scratch, (size_t)hosts->n_threads + 1, sizeof *marks->first)};
    if (!status)
        status = kinds ? arena_status(scratch, error) : error_memory(error);
    uint32_t thread = 0;
    row_t captures = ROW_NONE;
    for (row_t row = 0; row < hosts->n && !status; row++) {
        if (thread < hosts->thread[row])
            captures = ROW_NONE;
        while (thread < hosts->thread[row])
            marks->first[++thread] = marks->n;
        take_row(hosts, row, kinds[row], &captures, marks);
    }
    while (thread < hosts->n_threads && !status)
        marks->first[++thread] = marks->n;
    return status;
}
