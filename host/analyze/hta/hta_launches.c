/*
 * hta_launches.c - each launch with its kernel: how long the call took, how long the kernel, and how long the kernel
 * waited after the call.
 *
 * A correlation counts if a call of the reference's list has it (or any call at all, if that is asked for); then each
 * event without a stream that has the correlation is paired with each kernel that has it, in the order of the table. An
 * event without a correlation is never a launch. O(n) and the pairs; where repeated correlations give far more pairs
 * than events, an event is paired with one kernel only.
 */
#include <stdlib.h>

#include "analyze/hta/hta.h"
#include "analyze/hta/hta_rules.h"
#include "base/error.h"

/* Most pairs: so many, and more for each event of the trace. */
#define PAIRS_MOST      1000000
#define PAIRS_PER_EVENT 4

/* Events without a stream that have a correlation, and the groups of kernels with the same. */
struct calls {
    row_t n;
    row_t *event, *group;
    value_key *keys;
    bool *counts; /* of each group: a call of the list has the correlation */
};

static void calls_free(struct calls *calls) {
    free(calls->event);
    free(calls->group);
    free(calls->keys);
    free(calls->counts);
}

/* Whether a call counts whose correlation the kernels of the group have. */
static bool is_launch(const struct sutra_hta *hta, row_t event, row_t group) {
    const struct hta_rows *rows = &hta->rows;
    row_t kernel = hta->correlated.event[hta->correlated.first[group]];
    if (hta->options.all_launches)
        return !(rows->state[event] & ROW_STREAM) && rows->state[kernel] & ROW_WORK;
    return rows->launches[rows->events->name[event]] & LAUNCH_STATS;
}

/* Takes all rows that have a correlation, then keeps those without a stream. */
static enum sutra_status find_calls(struct calls *calls, const struct sutra_hta *hta, struct sutra_error *error) {
    const struct hta_rows *rows = &hta->rows;
    size_t room = (size_t)rows->n + 1;
    calls->event = calloc(room, sizeof *calls->event);
    calls->group = calloc(room, sizeof *calls->group);
    calls->keys = calloc(room, sizeof *calls->keys);
    calls->counts = calloc((size_t)hta->correlated.n + 1, sizeof *calls->counts);
    if (!calls->event || !calls->group || !calls->keys || !calls->counts)
        return error_memory(error);
    for (row_t i = 0; i < rows->n; i++) {
        row_t event = rows->list[i];
        if (!is_correlation(rows->events->correlation[event]))
            continue;
        calls->event[calls->n] = event;
        calls->keys[calls->n++] = rows->events->correlation[event];
    }
    enum sutra_status status = hta_correlated_find(hta, calls->keys, calls->n, calls->group, error);
    row_t n = 0;
    for (row_t i = 0; i < calls->n && !status; i++) {
        row_t event = calls->event[i], group = calls->group[i];
        if (group == ROW_NONE)
            continue;
        calls->counts[group] |= is_launch(hta, event, group);
        calls->event[n] = event;
        calls->group[n] = group;
        n += !(rows->state[event] & ROW_STREAM);
    }
    calls->n = n;
    return status;
}

static uint64_t count_pairs(const struct calls *calls, const struct hta_correlated *correlated) {
    uint64_t n = 0;
    for (row_t i = 0; i < calls->n; i++)
        if (calls->counts[calls->group[i]])
            n += correlated->first[calls->group[i] + 1] - correlated->first[calls->group[i]];
    return n;
}

static void add_pair(const struct hta_rows *rows, struct sutra_table *table, row_t call, row_t kernel) {
    int64_t delay = launch_delay_of(rows->start[call], rows->dur[call], rows->start[kernel]);
    table_integer(table, column_key(rows->events->correlation[call]));
    table_number(table, us_of(rows->dur[call]));
    table_number(table, us_of(rows->dur[kernel]));
    table_number(table, us_of(delay));
}

static void add_pairs(struct sutra_hta *hta, const struct calls *calls) {
    const struct hta_correlated *correlated = &hta->correlated;
    struct sutra_table *table = hta_table_begin(hta, SUTRA_HTA_LAUNCHES);
    bool once = count_pairs(calls, correlated) > (uint64_t)hta->rows.events->n * PAIRS_PER_EVENT + PAIRS_MOST;
    if (once)
        context_warn(hta->context,
                     "many launches and kernels share a correlation: each launch is paired with one kernel");
    for (row_t i = 0; i < calls->n; i++) {
        row_t group = calls->group[i];
        row_t first = correlated->first[group], end = correlated->first[group + 1];
        if (!calls->counts[group])
            continue;
        for (row_t k = first; k < (once ? first + 1 : end); k++)
            add_pair(&hta->rows, table, calls->event[i], correlated->event[k]);
    }
}

enum sutra_status hta_launches(struct sutra_hta *hta, struct sutra_error *error) {
    struct calls calls = {0};
    enum sutra_status status = find_calls(&calls, hta, error);
    if (!status)
        add_pairs(hta, &calls);
    calls_free(&calls);
    return status;
}
