/*
 * hta_bandwidth.c - the bandwidth of memory copies and sets while they run, by kind: each adds its own at its start and
 * takes it away at its end (a microsecond later at least).
 *
 * Kinds are "Memset" and the first eleven characters of a copy, "Memcpy HtoD". The moments when nothing runs are left
 * out. Bandwidths are added as doubles in the order of time, ends behind starts, else as in the table. O(n) for copies,
 * sorts aside, and a look at the text of each.
 */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "analyze/hta/hta.h"
#include "base/error.h"

struct bandwidth {
    struct strings kinds;
    row_t n;          /* copies; changes are those at starts, then those at ends */
    row_t *event;     /* of each copy */
    uint32_t *kind;   /* of each copy */
    double *gbps;     /* of each copy */
    uint64_t *keys;   /* of each change */
    row_t *order;     /* changes by time */
    double *levels;   /* those above 0, by time */
    uint32_t *groups; /* and their kinds */
    row_t n_levels;
};

static bool is_copy(const struct hta_input *input, row_t event) {
    return input->rows.state[event] & HTA_STREAM &&
           input->kernels.of_name[input->rows.events->name[event]] == KERNEL_MEMORY + 1;
}

static row_t count_copies(const struct hta_input *input) {
    row_t n = 0;
    for (row_t i = 0; i < input->rows.n; i++)
        n += is_copy(input, input->rows.list[i]);
    return n;
}

/* The number of the copy's kind; STRING_NONE: out of memory. */
static uint32_t kind_of(struct strings *kinds, const char *name, size_t length) {
    enum { KIND_CHARACTERS = 11 };
    if (length >= 6 && memcmp(name, "Memset", 6) == 0)
        return strings_intern(kinds, "Memset", 6);
    if (length < 6 || memcmp(name, "Memcpy", 6) != 0)
        return strings_intern(kinds, "Memcpy Unknown", 14);
    size_t end = 0;
    for (int i = 0; i < KIND_CHARACTERS && end < length; i++)
        do
            end++;
        while (end < length && ((unsigned char)name[end] & 0xc0) == 0x80);
    return strings_intern(kinds, name, end);
}

/* 0 where the event has none, and for infinities. */
static double gbps_of(struct number_column column, row_t event) {
    double gbps = number_as_double(number_at(column, event));
    return isfinite(gbps) ? gbps : 0;
}

/* Takes copy `i` of `n`; false: out of memory. */
static bool take_copy(struct bandwidth *bandwidth, const struct hta_rows *rows, struct number_column gbps, row_t i,
                      row_t n) {
    row_t event = bandwidth->event[i];
    uint32_t name = rows->events->name[event];
    int64_t dur = rows->dur[event] == 0 ? NS_PER_US : rows->dur[event];
    bandwidth->kind[i] =
        kind_of(&bandwidth->kinds, strings_text(rows->strings, name), strings_length(rows->strings, name));
    bandwidth->gbps[i] = gbps_of(gbps, event);
    bandwidth->keys[i] = integer_sort_key(rows->start[event]);
    bandwidth->keys[n + i] = integer_sort_key(rows->start[event] + dur);
    return bandwidth->kind[i] != STRING_NONE;
}

static enum sutra_status find_levels(struct bandwidth *bandwidth, const struct engine *engine, struct arena *arena,
                                     struct sutra_error *error) {
    row_t n = bandwidth->n;
    double *now = arena_zeros(arena, bandwidth->kinds.n, sizeof *now);
    if (!now)
        return error_memory(error);
    for (row_t i = 0; i < 2 * n; i++)
        bandwidth->order[i] = i;
    struct sort_keys_step step = {bandwidth->keys, bandwidth->order, 2 * n};
    enum sutra_status status = engine->sort_keys(engine->state, &step, error);
    for (row_t i = 0; i < 2 * n && !status; i++) {
        row_t change = bandwidth->order[i], copy = change < n ? change : change - n;
        uint32_t kind = bandwidth->kind[copy];
        now[kind] += change < n ? bandwidth->gbps[copy] : -bandwidth->gbps[copy];
        if (!(now[kind] > 0))
            continue;
        bandwidth->levels[bandwidth->n_levels] = now[kind];
        bandwidth->groups[bandwidth->n_levels++] = kind;
    }
    return status;
}

static int compare_kinds(const void *left, const void *right, void *arg) {
    const struct strings *kinds = arg;
    return strcmp(strings_text(kinds, *(const uint32_t *)left), strings_text(kinds, *(const uint32_t *)right));
}

static enum sutra_status add_rows(struct sutra_hta *hta, const struct engine *engine, struct bandwidth *bandwidth,
                                  struct arena *arena, struct sutra_error *error) {
    struct strings *kinds = &bandwidth->kinds;
    struct description *descriptions = arena_take(arena, kinds->n, sizeof *descriptions);
    uint32_t *order = arena_take(arena, kinds->n, sizeof *order);
    enum sutra_status status = arena->failed ? error_memory(error)
                                             : describe_reals(engine, arena, bandwidth->groups, bandwidth->levels,
                                                              bandwidth->n_levels, kinds->n, descriptions, error);
    if (status)
        return status;
    for (uint32_t i = 0; i < kinds->n; i++)
        order[i] = i;
    qsort_r(order, kinds->n, sizeof *order, compare_kinds, kinds);
    struct sutra_table *table = hta_table_begin(hta, SUTRA_HTA_BANDWIDTH);
    for (uint32_t i = 0; i < kinds->n; i++) {
        if (!(descriptions[order[i]].count > 0))
            continue;
        table_integer(table, hta->options.rank);
        table_text(table, strings_text(kinds, order[i]), strings_length(kinds, order[i]));
        table_describe(table, &descriptions[order[i]], 0);
    }
    return SUTRA_OK;
}

static enum sutra_status take_copies(struct bandwidth *bandwidth, const struct hta_input *input, row_t n,
                                     struct sutra_error *error) {
    static const struct asked_field field = {"memory bandwidth (GB/s)", ASK_NUMBER, false};
    struct asked_column gbps;
    for (row_t i = 0; i < input->rows.n; i++)
        if (is_copy(input, input->rows.list[i]))
            bandwidth->event[bandwidth->n++] = input->rows.list[i];
    bool ok = strings_init(&bandwidth->kinds);
    enum sutra_status status =
        ok ? event_columns_ask(input->context, input->rows.trace, &field, 1, bandwidth->event, n, &gbps, error)
           : error_memory(error);
    for (row_t i = 0; i < n && !status; i++)
        if (!take_copy(bandwidth, &input->rows, gbps.number, i, n))
            status = error_memory(error);
    return status;
}

enum sutra_status hta_bandwidth(const struct hta_input *input, struct arena *arena, struct sutra_hta *hta,
                                struct sutra_error *error) {
    row_t n = count_copies(input);
    if (n == 0) {
        hta->reasons[SUTRA_HTA_BANDWIDTH] = "no event on a stream is a copy or set of memory";
        return SUTRA_OK;
    }
    size_t n_changes = 2 * (size_t)n;
    struct bandwidth bandwidth = {.event = arena_take(arena, n, sizeof *bandwidth.event),
                                  .kind = arena_take(arena, n, sizeof *bandwidth.kind),
                                  .gbps = arena_take(arena, n, sizeof *bandwidth.gbps),
                                  .keys = arena_take(arena, n_changes, sizeof *bandwidth.keys),
                                  .order = arena_take(arena, n_changes, sizeof *bandwidth.order),
                                  .levels = arena_take(arena, n_changes, sizeof *bandwidth.levels),
                                  .groups = arena_take(arena, n_changes, sizeof *bandwidth.groups)};
    enum sutra_status status = arena->failed ? error_memory(error) : take_copies(&bandwidth, input, n, error);
    if (!status)
        status = find_levels(&bandwidth, input->engine, arena, error);
    if (!status)
        status = add_rows(hta, input->engine, &bandwidth, arena, error);
    strings_free(&bandwidth.kinds);
    return status;
}
