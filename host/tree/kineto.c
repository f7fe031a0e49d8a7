/*
 * kineto.c - which event an activity belongs to, and the parents of Kineto's events by flow and by link.
 *
 * A flow leads from the launch to what it started and goes before the link, which leads to the operator that ran then.
 * Links may form cycles in a broken file; they are found by walking up from each event, marking what was seen.
 */
#include "base/arena.h"
#include "base/options.h"
#include "columns/pair_table.h"
#include "columns/row.h"
#include "sutra/tree.h"

enum sutra_status sutra_reassociate(uint64_t n_events, uint64_t n, const int64_t *index, const uint8_t *of_profiler,
                                    uint32_t *event, struct sutra_reassociation *report, struct sutra_error *error) {
    struct sutra_reassociation counts = {0};
    struct arena scratch = {0};
    uint8_t *taken = arena_zeros(&scratch, n_events, sizeof *taken);
    enum sutra_status status = arena_status(&scratch, error);
    for (uint64_t i = 0; i < n && !status; i++) {
        event[i] = ROW_NONE;
        if (index[i] < 0 && of_profiler[i]) {
            counts.n_lost++;
        } else if (index[i] < 0) {
            event[i] = (uint32_t)(n_events + counts.n_kineto++);
        } else if ((uint64_t)index[i] >= n_events) {
            counts.n_beyond++;
        } else if (taken[index[i]]) {
            counts.n_repeated++;
        } else {
            taken[index[i]] = 1;
            event[i] = (uint32_t)index[i];
            counts.n_found++;
        }
    }
    arena_free(&scratch);
    if (!status)
        report_give(report, &counts, sizeof counts);
    return status;
}

struct lineage {
    const struct sutra_kineto_columns *events;
    uint32_t *parent;
    struct sutra_kineto_report report;
};

static bool in_flow(const struct sutra_kineto_columns *events, uint64_t row, enum sutra_flow_role role) {
    return events->is_kineto[row] && events->flow_role[row] == role;
}

static enum sutra_status note_starts(struct lineage *lineage, struct pair_table *starts, struct sutra_error *error) {
    const struct sutra_kineto_columns *events = lineage->events;
    for (uint64_t row = 0; row < events->n; row++) {
        if (!in_flow(events, row, SUTRA_FLOW_START))
            continue;
        struct pair_entry *entry = pair_table_take(starts, (uint64_t)events->flow_id[row], 0);
        if (!entry)
            return error_memory(error);
        if (entry->number == PAIR_NONE)
            entry->number = (uint32_t)row;
        else if (events->rocm)
            lineage->report.n_repeated++;
        else
            return error_set(error, SUTRA_DATA, "flow %lld starts twice (--rocm uses the first start)",
                             (long long)events->flow_id[row]);
    }
    return SUTRA_OK;
}

static void set_parents(struct lineage *lineage, const struct pair_table *starts) {
    const struct sutra_kineto_columns *events = lineage->events;
    for (uint64_t row = 0; row < events->n; row++) {
        lineage->parent[row] = ROW_NONE;
        if (!events->is_kineto[row])
            continue;
        if (in_flow(events, row, SUTRA_FLOW_END))
            lineage->parent[row] = pair_table_find(starts, (uint64_t)events->flow_id[row], 0);
        if (lineage->parent[row] != ROW_NONE) {
            lineage->report.n_by_flow++;
            continue;
        }
        lineage->report.n_ends_alone += in_flow(events, row, SUTRA_FLOW_END);
        lineage->parent[row] = events->linked[row];
        lineage->report.n_by_link += lineage->parent[row] != ROW_NONE;
    }
}

/* Walks up from each row to one whose line is known; a row of the same walk closes a cycle, which is cut there. Behind
 * each walk its rows are visited once more, from top to bottom, to hand the tid down. */
static enum sutra_status settle_lines(struct lineage *lineage, int64_t *tid, struct sutra_error *error) {
    const struct sutra_kineto_columns *events = lineage->events;
    struct arena scratch = {0};
    uint32_t *walk_of = arena_zeros(&scratch, events->n, sizeof *walk_of);
    uint32_t *path = arena_take(&scratch, events->n, sizeof *path);
    bool ok = !scratch.failed;
    for (uint64_t first = 0; first < events->n && ok; first++) {
        uint64_t n = 0;
        uint32_t row = (uint32_t)first;
        for (; row != ROW_NONE && !walk_of[row]; row = lineage->parent[row]) {
            walk_of[row] = (uint32_t)first + 1;
            path[n++] = row;
        }
        if (row != ROW_NONE && n && walk_of[row] == first + 1) {
            lineage->parent[path[n - 1]] = ROW_NONE;
            lineage->report.n_in_cycles++;
        }
        while (n--)
            if (events->is_kineto[path[n]] && lineage->parent[path[n]] != ROW_NONE)
                tid[path[n]] = tid[lineage->parent[path[n]]];
    }
    arena_free(&scratch);
    return ok ? SUTRA_OK : error_memory(error);
}

enum sutra_status sutra_kineto_parents(const struct sutra_kineto_columns *events, uint32_t *parent, int64_t *tid,
                                       struct sutra_kineto_report *report, struct sutra_error *error) {
    struct lineage lineage = {.events = events, .parent = parent};
    struct pair_table starts;
    if (events->n > ROW_LIMIT)
        return error_set(error, SUTRA_DATA, "more than %u events", ROW_LIMIT);
    enum sutra_status status = pair_table_init(&starts) ? SUTRA_OK : error_memory(error);
    if (!status)
        status = note_starts(&lineage, &starts, error);
    if (!status) {
        set_parents(&lineage, &starts);
        status = settle_lines(&lineage, tid, error);
    }
    pair_table_free(&starts);
    if (!status)
        report_give(report, &lineage.report, sizeof lineage.report);
    return status;
}
