/*
 * tracelens_modules.c - the reference's table of modules: each nn.Module in an outermost one that launched work, with
 * what ran below it.
 */
#include <math.h>

#include "analyze/operators/operators.h"
#include "match/range_cover.h"

struct module_walk {
    const struct op_reading *reading;
    row_t n;
    row_t *host, *around; /* modules in pre-order, and for all hosts the innermost module around each */
    row_t *n_below;       /* by host: modules right below it */
    int64_t *busy;        /* of each module */
    int64_t *own;         /* of each: with work that is in no module below it */
};

static row_t count_work(const struct op_reading *reading, row_t host) {
    return reading->links.first[reading->hosts.end[host]] - reading->links.first[host];
}

/* How long work runs that is in one module and in none below it. */
static enum sutra_status measure_own(struct module_walk *walk, struct arena *arena, struct sutra_error *error) {
    const struct op_reading *reading = walk->reading;
    const struct device_rows *devices = &reading->devices;
    row_t n = reading->links.n;
    int64_t *start = arena_take(arena, n, sizeof *start), *stop = arena_take(arena, n, sizeof *stop);
    row_t *first = arena_zeros(arena, (size_t)reading->hosts.n + 2, sizeof *first);
    row_t *begin = arena_take(arena, walk->n, sizeof *begin), *end = arena_take(arena, walk->n, sizeof *end);
    enum sutra_status status = arena_status(arena, error);
    if (status)
        return status;
    for (row_t row = 0; row < reading->hosts.n; row++)
        if (walk->around[row] != ROW_NONE)
            first[walk->around[row] + 2] += reading->links.first[row + 1] - reading->links.first[row];
    for (row_t row = 0; row < reading->hosts.n; row++)
        first[row + 2] += first[row + 1];
    for (row_t row = 0; row < reading->hosts.n; row++)
        for (row_t i = reading->links.first[row]; walk->around[row] != ROW_NONE && i < reading->links.first[row + 1];
             i++) {
            row_t device = reading->links.device[i], place = first[walk->around[row] + 1]++;
            start[place] = devices->start[device];
            stop[place] = devices->class[device] == DEVICE_NO_WORK ? start[place] : devices->stop[device];
        }
    for (row_t i = 0; i < walk->n; i++) {
        begin[i] = first[walk->host[i]];
        end[i] = first[walk->host[i] + 1];
    }
    return range_cover(start, stop, first[reading->hosts.n], begin, end, walk->n, arena, walk->own, error);
}

static enum sutra_status list_modules(struct module_walk *walk, struct arena *arena, struct sutra_error *error) {
    const struct op_reading *reading = walk->reading;
    row_t n = reading->hosts.n;
    uint8_t *marked = arena_take(arena, n, sizeof *marked);
    walk->host = arena_take(arena, n, sizeof *walk->host);
    walk->around = arena_take(arena, n, sizeof *walk->around);
    walk->n_below = arena_zeros(arena, n, sizeof *walk->n_below);
    enum sutra_status status = arena_status(arena, error);
    if (!status) {
        op_modules_mark(reading, marked);
        status = op_reading_around(reading, marked, arena, walk->around, error);
    }
    for (row_t row = 0; row < n && !status; row++) {
        if (!marked[row])
            continue;
        walk->host[walk->n++] = row;
        if (walk->around[row] != ROW_NONE)
            walk->n_below[walk->around[row]]++;
    }
    return status;
}

static void put_module(const struct module_walk *walk, row_t i, double parent_us, struct sutra_table *table) {
    const struct op_reading *reading = walk->reading;
    row_t host = walk->host[i], parent = walk->around[host];
    table_integer(table, reading->hosts.event[host]);
    table_string(table, reading->strings, host_name(reading, host));
    table_real(table, parent == ROW_NONE ? (double)NAN : (double)reading->hosts.event[parent]);
    table_integer(table, count_work(reading, host));
    table_real(table, op_us(reading, walk->busy[i]));
    table_real(table, parent_us);
    table_real(table, walk->n_below[host] && walk->own[i] ? op_us(reading, walk->own[i]) : (double)NAN);
}

static void write_modules(const struct module_walk *walk, double *us_of, struct sutra_table *table) {
    bool works = false;
    for (row_t i = 0; i < walk->n; i++) {
        row_t host = walk->host[i], parent = walk->around[host];
        if (parent == ROW_NONE)
            works = count_work(walk->reading, host) > 0;
        if (!works)
            continue;
        us_of[host] = op_us(walk->reading, walk->busy[i]);
        put_module(walk, i, parent == ROW_NONE ? (double)NAN : us_of[parent], table);
    }
}

enum sutra_status tracelens_modules(const struct op_input *input, struct arena *arena,
                                    struct sutra_operators *operators, struct sutra_error *error) {
    struct module_walk walk = {.reading = input->framed};
    struct arena_mark mark = arena_mark(arena);
    if (!input->framed)
        return SUTRA_OK;
    enum sutra_status status = list_modules(&walk, arena, error);
    if (!status) {
        walk.busy = arena_take(arena, walk.n, sizeof *walk.busy);
        walk.own = arena_take(arena, walk.n, sizeof *walk.own);
        status = arena_status(arena, error);
    }
    if (!status)
        status = op_reading_busy(walk.reading, walk.host, walk.n, arena, walk.busy, error);
    if (!status)
        status = measure_own(&walk, arena, error);
    double *us_of = arena_take(arena, walk.reading->hosts.n, sizeof *us_of);
    if (!status && !(status = arena_status(arena, error)))
        write_modules(&walk, us_of, op_table_begin(operators, SUTRA_TRACELENS_MODULES));
    arena_release(arena, mark);
    return status;
}
