/*
 * dlrm_tables.c - computes the tables for the page on operators. O(rows), plus a sort for ordered tables.
 */
#include "report/dlrm_tables.h"

#include <math.h>

#include "analyze/dlrm/dlrm_operator_times.h"
#include "report/dlrm_grid.h"
#include "report/table_order.h"

static void add_name(struct sutra_table *table, struct name name) {
    table_text(table, name.bytes, name.length);
}

static void add_text(struct sutra_table *table, const char *text) {
    add_name(table, name_of(text));
}

static double percent(double part, double whole) {
    return whole > 0 ? 100 * part / whole : NAN;
}

void dlrm_streams_table(struct sutra_table *table, const struct sutra_dlrm *dlrm,
                        const struct sutra_dlrm_report *report) {
    static const struct column_spec specs[] = {{"stream", SUTRA_COLUMN_TEXT},
                                               {"active_us", SUTRA_COLUMN_REAL},
                                               {"idle_us", SUTRA_COLUMN_REAL},
                                               {"active_pctg", SUTRA_COLUMN_REAL}};
    table_init(table, "streams", specs, sizeof specs / sizeof *specs);
    for (uint64_t i = 0; i < report->n_streams; i++) {
        const struct sutra_dlrm_stream *stream = &report->streams[i];
        add_name(table, dlrm_text_name(dlrm, stream->name));
        table_real(table, stream->active_us);
        table_real(table, stream->idle_us);
        table_real(table, percent(stream->active_us, report->host_us));
    }
    table_sort_falling(table, STREAM_ACTIVE, STREAM_ACTIVE);
}

void dlrm_operators_table(struct sutra_table *table, const struct sutra_dlrm *dlrm) {
    static const struct column_spec specs[] = {{"name", SUTRA_COLUMN_TEXT},
                                               {"device_us", SUTRA_COLUMN_REAL},
                                               {"share_pctg", SUTRA_COLUMN_REAL},
                                               {"calls", SUTRA_COLUMN_INTEGER},
                                               {"kernels", SUTRA_COLUMN_INTEGER}};
    struct arena arena = {0};
    struct dlrm_operator_time *times = NULL;
    uint32_t n = 0;
    double total = 0;
    table_init(table, "operators", specs, sizeof specs / sizeof *specs);
    table->failed |= !dlrm_operator_times(dlrm, &arena, &times, &n);
    for (uint32_t i = 0; i < n; i++)
        total += times[i].us;
    for (uint32_t i = 0; i < n; i++) {
        add_name(table, dlrm_text_name(dlrm, times[i].name));
        table_real(table, times[i].us);
        table_real(table, percent(times[i].us, total));
        table_integer(table, (int64_t)times[i].calls);
        table_integer(table, (int64_t)times[i].kernels);
    }
    arena_free(&arena);
    table_sort_falling(table, OPERATOR_TIME, OPERATOR_TIME);
}

static const char *const kinds[SUTRA_N_OVERHEADS] = {"T1", "T2", "T3", "T4", "T5"};

void dlrm_kinds_table(struct sutra_table *table, const struct sutra_dlrm_report *report) {
    static const struct column_spec specs[] = {{"kind", SUTRA_COLUMN_TEXT},
                                               {"description", SUTRA_COLUMN_TEXT},
                                               {"samples", SUTRA_COLUMN_INTEGER},
                                               {"mean_us", SUTRA_COLUMN_REAL},
                                               {"total_us", SUTRA_COLUMN_REAL}};
    static const char *const what[] = {"between operators", "operator to first launch", "last launch to end", "launch",
                                       "between launches, or no launch"};
    uint64_t n[SUTRA_N_OVERHEADS] = {0};
    double us[SUTRA_N_OVERHEADS] = {0};
    table_init(table, "overhead_kinds", specs, sizeof specs / sizeof *specs);
    for (uint64_t i = 0; i < report->n_overheads; i++) {
        const struct sutra_dlrm_overhead *row = &report->overheads[i];
        n[row->kind] += row->n;
        us[row->kind] += row->n > 0 ? row->mean_us * (double)row->n : 0;
    }
    for (int kind = 0; kind < SUTRA_N_OVERHEADS; kind++) {
        add_text(table, kinds[kind]);
        add_text(table, what[kind]);
        table_integer(table, (int64_t)n[kind]);
        table_real(table, n[kind] > 0 ? us[kind] / (double)n[kind] : NAN);
        table_real(table, us[kind]);
    }
}

void dlrm_overheads_table(struct sutra_table *table, const struct sutra_dlrm *dlrm,
                          const struct sutra_dlrm_report *report) {
    static const struct column_spec specs[] = {{"kind", SUTRA_COLUMN_TEXT},       {"name", SUTRA_COLUMN_TEXT},
                                               {"samples", SUTRA_COLUMN_INTEGER}, {"mean_us", SUTRA_COLUMN_REAL},
                                               {"std_us", SUTRA_COLUMN_REAL},     {"total_us", SUTRA_COLUMN_REAL}};
    table_init(table, "overheads", specs, sizeof specs / sizeof *specs);
    for (uint64_t i = 0; i < report->n_overheads; i++) {
        const struct sutra_dlrm_overhead *row = &report->overheads[i];
        if (row->n == 0)
            continue;
        add_text(table, kinds[row->kind]);
        add_name(table, row->name == SUTRA_DLRM_NONE ? name_of("all operators") : dlrm_text_name(dlrm, row->name));
        table_integer(table, (int64_t)row->n);
        table_real(table, row->mean_us);
        table_real(table, row->std_us);
        table_real(table, row->mean_us * (double)row->n);
    }
    table_sort_falling(table, 5, 5);
}

static void add_variant(struct sutra_table *table, const struct sutra_dlrm *dlrm,
                        const struct sutra_dlrm_report *report, const struct sutra_dlrm_group *group, uint64_t number) {
    const struct sutra_dlrm_variant *variant = &report->variants[group->first_variant + number];
    for (uint64_t i = 0; i < variant->n_shares; i++) {
        const struct sutra_dlrm_share *share = &report->shares[variant->first_share + i];
        add_name(table, dlrm_group_label(dlrm, group));
        table_integer(table, (int64_t)number + 1);
        add_name(table, dlrm_text_name(dlrm, share->name));
        add_name(table, dlrm_text_name(dlrm, share->legend));
        table_real(table, 100 * share->share);
    }
}

void dlrm_shares_table(struct sutra_table *table, const struct sutra_dlrm *dlrm, const struct sutra_dlrm_report *report,
                       const struct sutra_dlrm_stream *stream, uint64_t n_groups) {
    static const struct column_spec specs[] = {{"operator", SUTRA_COLUMN_TEXT},
                                               {"variant", SUTRA_COLUMN_INTEGER},
                                               {"kernel", SUTRA_COLUMN_TEXT},
                                               {"legend", SUTRA_COLUMN_TEXT},
                                               {"share_pctg", SUTRA_COLUMN_REAL}};
    table_init(table, "shares", specs, sizeof specs / sizeof *specs);
    for (uint64_t i = 0; i < n_groups; i++) {
        const struct sutra_dlrm_group *group = &report->groups[stream->first_group + i];
        for (uint64_t k = 0; k < group->n_variants; k++)
            add_variant(table, dlrm, report, group, k);
    }
}
