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
#include "columns/tuples.h"

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
    struct tuples lines; /* of the series: kinds, and in our way processes, which are devices */
    uint32_t *line;      /* of each copy */
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

/* When the copy begins or ends: what takes no time takes a microsecond. */
static int64_t time_of(const struct hta_rows *rows, row_t event, bool begins) {
    int64_t dur = rows->dur[event] == 0 ? NS_PER_US : rows->dur[event];
    return rows->start[event] + (begins ? 0 : dur);
}

/* Takes copy `i` of `n`; false: out of memory. */
static bool take_copy(struct bandwidth *bandwidth, const struct hta_rows *rows, struct number_column gbps, row_t i,
                      row_t n) {
    row_t event = bandwidth->event[i];
    uint32_t name = rows->events->name[event];
    bandwidth->kind[i] =
        kind_of(&bandwidth->kinds, strings_text(rows->strings, name), strings_length(rows->strings, name));
    bandwidth->gbps[i] = gbps_of(gbps, event);
    bandwidth->keys[i] = integer_sort_key(time_of(rows, event, true));
    bandwidth->keys[n + i] = integer_sort_key(time_of(rows, event, false));
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

/* ---- The series ---- */

/* What a line of the series adds up to. */
struct bandwidth_line {
    double gbps;
    row_t running;
};

struct line_order {
    const struct bandwidth *bandwidth;
};

/* By name of the kind, then as the lines first occur. */
static int compare_lines(const void *left, const void *right, void *arg) {
    const struct line_order *order = arg;
    uint32_t a = *(const uint32_t *)left, b = *(const uint32_t *)right;
    const struct tuple *lines = order->bandwidth->lines.list;
    const struct strings *kinds = &order->bandwidth->kinds;
    int compared =
        strcmp(strings_text(kinds, (uint32_t)lines[a].part[0]), strings_text(kinds, (uint32_t)lines[b].part[0]));
    return compared ? compared : (a > b) - (a < b);
}

/* The changes of each line in the order of time, the lines by name. */
static enum sutra_status deal_changes(const struct bandwidth *bandwidth, struct arena *arena, uint32_t *lines,
                                      row_t **changes, struct sutra_error *error) {
    struct line_order order = {bandwidth};
    uint32_t n_lines = bandwidth->lines.n, *place = arena_take(arena, n_lines, sizeof *place);
    row_t *next = arena_zeros(arena, (size_t)n_lines + 2, sizeof *next), n = bandwidth->n;
    *changes = arena_take(arena, n, 2 * sizeof **changes);
    if (arena->failed || !bandwidth->line)
        return error_memory(error);
    for (uint32_t i = 0; i < n_lines; i++)
        lines[i] = i;
    qsort_r(lines, n_lines, sizeof *lines, compare_lines, &order);
    for (uint32_t i = 0; i < n_lines; i++)
        place[lines[i]] = i;
    for (row_t i = 0; i < n; i++)
        next[place[bandwidth->line[i]] + 1] += 2;
    for (uint32_t i = 0; i < n_lines; i++)
        next[i + 1] += next[i];
    for (row_t i = 0; i < 2 * n; i++) {
        row_t change = bandwidth->order[i], copy = change < n ? change : change - n;
        (*changes)[next[place[bandwidth->line[copy]]]++] = change;
    }
    return SUTRA_OK;
}

static void add_series(struct sutra_hta *hta, const struct hta_input *input, const struct bandwidth *bandwidth,
                       const row_t *changes, struct bandwidth_line *lines) {
    enum { PID = 1 };
    const struct device_events *events = input->rows.events;
    struct sutra_table *table = hta_table_begin(hta, SUTRA_HTA_BANDWIDTH_SERIES);
    row_t n = bandwidth->n;
    table_retype(table, PID, kind_of_ids(events->pid, bandwidth->event, n));
    for (row_t i = 0; i < 2 * n; i++) {
        row_t copy = changes[i] < n ? changes[i] : changes[i] - n;
        bool begins = changes[i] < n;
        struct bandwidth_line *line = &lines[bandwidth->line[copy]];
        line->gbps += begins ? bandwidth->gbps[copy] : -bandwidth->gbps[copy];
        line->running = begins ? line->running + 1 : line->running - 1;
        if (line->running == 0 && !input->options.compat)
            line->gbps = 0; /* without what is left of rounding */
        table_real(table, us_of(time_of(&input->rows, bandwidth->event[copy], begins)));
        table_id(table, &input->context->values, events->pid[bandwidth->event[copy]]);
        table_string(table, &bandwidth->kinds, bandwidth->kind[copy]);
        table_real(table, line->gbps);
    }
}

/* The reference mixes all devices. */
static enum sutra_status make_series(struct bandwidth *bandwidth, const struct hta_input *input, struct arena *arena,
                                     struct sutra_hta *hta, struct sutra_error *error) {
    row_t *changes;
    bandwidth->line = arena_take(arena, bandwidth->n, sizeof *bandwidth->line);
    for (row_t i = 0; i < bandwidth->n && bandwidth->line; i++) {
        value_key pid = input->options.compat ? 0 : input->rows.events->pid[bandwidth->event[i]];
        bandwidth->line[i] = tuples_number(&bandwidth->lines, (struct tuple){{bandwidth->kind[i], pid}});
        if (bandwidth->line[i] == TUPLE_NONE)
            return error_memory(error);
    }
    struct bandwidth_line *sums = arena_zeros(arena, bandwidth->lines.n, sizeof *sums);
    uint32_t *lines = arena_take(arena, bandwidth->lines.n, sizeof *lines);
    enum sutra_status status =
        arena->failed ? error_memory(error) : deal_changes(bandwidth, arena, lines, &changes, error);
    if (!status)
        add_series(hta, input, bandwidth, changes, sums);
    return status;
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
        hta->reasons[SUTRA_HTA_BANDWIDTH] = hta->reasons[SUTRA_HTA_BANDWIDTH_SERIES] =
            "no memcpy or memset on a stream";
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
    if (!status && !input->options.only_joined)
        status = make_series(&bandwidth, input, arena, hta, error);
    tuples_free(&bandwidth.lines);
    strings_free(&bandwidth.kinds);
    return status;
}
