/*
 * charges.c - to whom work is charged, and for how long it runs: directly, and below.
 *
 * The launcher of a piece of work is the innermost operator around its call, or the call itself where there is none. To
 * the reference operators named "execute" are none, a call inside of a call hides what is around that, and
 * communication has no launcher.
 */
#include "analyze/operators/reading.h"

#include <string.h>

#include "columns/column.h"
#include "match/cpu_steps.h"
#include "match/range_cover.h"

/* ---- Launchers ---- */

/* What the reference's search for operators ends at. */
static uint8_t *mark_operators(const struct op_reading *reading, struct arena *arena) {
    const struct host_rows *hosts = &reading->hosts;
    uint32_t passed = strings_find(reading->strings, "execute", strlen("execute"));
    uint8_t *marked = arena_take(arena, hosts->n, sizeof *marked);
    for (row_t row = 0; row < hosts->n && marked; row++)
        marked[row] = (hosts->kind[row] == HOST_OPERATOR && (passed == STRING_NONE || hosts->name[row] != passed)) ||
                      hosts->kind[row] == HOST_CALL;
    return marked;
}

static enum sutra_status look_around(const struct op_reading *reading, struct arena *scratch, row_t **around,
                                     struct sutra_error *error) {
    uint8_t *marked = mark_operators(reading, scratch);
    *around = arena_take(scratch, reading->hosts.n, sizeof **around);
    enum sutra_status status = arena_status(scratch, error);
    return status ? status : op_reading_around(reading, marked, scratch, *around, error);
}

static enum sutra_status find_launchers(struct op_reading *reading, struct arena *scratch, struct sutra_error *error) {
    struct device_rows *devices = &reading->devices;
    bool reference = reading->rules & READING_REFERENCE;
    struct arena_mark mark = arena_mark(scratch);
    row_t *around = reading->hosts.around;
    enum sutra_status status = reference ? look_around(reading, scratch, &around, error) : SUTRA_OK;
    for (row_t i = 0; i < devices->n && !status; i++) {
        row_t call = devices->call[i];
        bool passed_over =
            devices->class[i] == DEVICE_NO_WORK || (reference && devices->class[i] == DEVICE_COMMUNICATION);
        if (call == ROW_NONE || passed_over)
            continue;
        row_t op = around[call];
        devices->launcher[i] = op != ROW_NONE && reading->hosts.kind[op] == HOST_OPERATOR ? op : call;
    }
    arena_release(scratch, mark);
    return status;
}

/* ---- Charges ---- */

/* Numbers launchers as their work stands in the file, then by start. */
static enum sutra_status list_charges(struct op_reading *reading, struct arena *arena, struct arena *scratch,
                                      struct sutra_error *error) {
    const struct device_rows *devices = &reading->devices;
    struct op_charges *charges = &reading->charges;
    struct arena_mark mark = arena_mark(scratch);
    charges->of_host = rows_none(arena, reading->hosts.n);
    charges->host = arena_take(arena, devices->n, sizeof *charges->host);
    uint64_t *keys = arena_take(scratch, devices->n, sizeof *keys);
    enum sutra_status status = arena_status(arena, error);
    if (!status)
        status = arena_status(scratch, error);
    for (row_t i = 0; i < devices->n && !status; i++) {
        row_t host = devices->launcher[i];
        if (host == ROW_NONE || charges->of_host[host] != ROW_NONE)
            continue;
        keys[charges->n] = integer_sort_key(reading->hosts.start[host]);
        charges->of_host[host] = charges->n;
        charges->host[charges->n++] = host;
    }
    if (!status)
        status = cpu_sort_keys(NULL, &(struct sort_keys_step){keys, charges->host, charges->n}, error);
    for (row_t i = 0; i < charges->n && !status; i++)
        charges->of_host[charges->host[i]] = i;
    arena_release(scratch, mark);
    return status;
}

/* Deals the work out, by start. */
static enum sutra_status deal_out(struct op_reading *reading, struct arena *arena, struct sutra_error *error) {
    const struct device_rows *devices = &reading->devices;
    struct op_charges *charges = &reading->charges;
    charges->first = arena_zeros(arena, (size_t)charges->n + 2, sizeof *charges->first);
    charges->device = arena_take(arena, devices->n, sizeof *charges->device);
    charges->work = arena_take(arena, charges->n, sizeof *charges->work);
    charges->direct = arena_take(arena, charges->n, sizeof *charges->direct);
    charges->subtree = arena_take(arena, charges->n, sizeof *charges->subtree);
    enum sutra_status status = arena_status(arena, error);
    if (status)
        return status;
    for (row_t i = 0; i < devices->n; i++)
        if (devices->launcher[i] != ROW_NONE)
            charges->first[charges->of_host[devices->launcher[i]] + 2]++;
    for (row_t i = 0; i < charges->n; i++)
        charges->first[i + 2] += charges->first[i + 1];
    for (row_t k = 0; k < devices->n; k++) {
        row_t device = devices->by_start[k];
        if (devices->launcher[device] != ROW_NONE)
            charges->device[charges->first[charges->of_host[devices->launcher[device]] + 1]++] = device;
    }
    return SUTRA_OK;
}

/* How long the work of each, which has rising starts, runs: added up, and together. */
static void measure_work(const struct device_rows *devices, struct op_charges *charges) {
    for (row_t charge = 0; charge < charges->n; charge++) {
        row_t first = charges->first[charge];
        int64_t direct = 0, end = devices->start[charges->device[first]];
        wide_t work = 0;
        for (row_t k = first; k < charges->first[charge + 1]; k++) {
            int64_t start = devices->start[charges->device[k]], stop = devices->stop[charges->device[k]];
            int64_t from = start > end ? start : end;
            work += stop - start;
            direct += stop > from ? stop - from : 0;
            end = stop > from ? stop : end;
        }
        charges->work[charge] = work;
        charges->direct[charge] = direct;
    }
}

enum sutra_status op_reading_busy(const struct op_reading *reading, const row_t *hosts, row_t n, struct arena *scratch,
                                  int64_t *ticks, struct sutra_error *error) {
    const struct device_rows *devices = &reading->devices;
    const struct call_links *links = &reading->links;
    struct arena_mark mark = arena_mark(scratch);
    int64_t *start = arena_take(scratch, links->n, sizeof *start), *stop = arena_take(scratch, links->n, sizeof *stop);
    row_t *first = arena_take(scratch, n, sizeof *first), *last = arena_take(scratch, n, sizeof *last);
    enum sutra_status status = arena_status(scratch, error);
    for (row_t i = 0; i < links->n && !status; i++) {
        row_t device = links->device[i];
        start[i] = devices->start[device];
        stop[i] = devices->class[device] == DEVICE_NO_WORK ? start[i] : devices->stop[device];
    }
    for (row_t i = 0; i < n && !status; i++) {
        first[i] = links->first[hosts[i]];
        last[i] = links->first[reading->hosts.end[hosts[i]]];
    }
    if (!status)
        status = range_cover(start, stop, links->n, first, last, n, scratch, ticks, error);
    arena_release(scratch, mark);
    return status;
}

enum sutra_status op_charges_make(struct op_reading *reading, struct arena *arena, struct arena *scratch,
                                  struct sutra_error *error) {
    struct op_charges *charges = &reading->charges;
    *charges = (struct op_charges){0};
    enum sutra_status status = find_launchers(reading, scratch, error);
    if (!status)
        status = list_charges(reading, arena, scratch, error);
    if (!status)
        status = deal_out(reading, arena, error);
    if (!status)
        measure_work(&reading->devices, charges);
    return status ? status : op_reading_busy(reading, charges->host, charges->n, scratch, charges->subtree, error);
}
