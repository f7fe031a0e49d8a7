/*
 * collectives_report.c - writes the page on the collectives of a job: waits between ranks, bandwidth by size, clock
 * offsets, violated checks.
 */
#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "report/markup.h"
#include "report/page.h"
#include "sutra/report.h"

/* Bars of one chart. */
#define BARS_SHOWN 24

struct collectives_source {
    const struct sutra_collectives *collectives;
    struct sutra_collectives_summary summary;
    struct sutra_collectives_straggler straggler;
};

/* A table of the page; NULL: it has no rows, and the page reports why it is missing. */
static const struct sutra_table *find_table(struct page *page, const struct collectives_source *source,
                                            enum sutra_collectives_table id, const char *what, const char *why) {
    return page_find_table(page, SUTRA_RESULT(source->collectives), id, what, why);
}

/* ---- Sections ---- */

static void show_ranks(struct page *page, const void *of) {
    static const struct bars_words words = {
        "ranks_waiting",
        "Wait of each rank, and wait that it causes",
        "Two bars per rank: its wait in collectives, and the mean wait of the other "
        "ranks where it arrives last.",
        NULL,
        "Ranks",
        "collective_ranks"};
    const struct collectives_source *source = of;
    const struct sutra_table *table =
        find_table(page, source, SUTRA_COLLECTIVES_RANKS, "Ranks", "the traces have no collectives");
    if (!table)
        return;
    page_words(page, source->straggler.sentence);
    const struct bars bars = {.table = table,
                              .labels = {table_column(table, "rank")},
                              .n_labels = 1,
                              .values = {{table_column(table, "wait_us"), "waits", COLOUR_COMMUNICATION},
                                         {table_column(table, "wait_caused_us"), "causes wait", COLOUR_COUNT}},
                              .n_values = 2,
                              .unit = UNIT_US};
    page_bars(page, bars, RANKS_AS_BARS, &words);
}

static void show_excess(struct page *page, const void *of) {
    static const struct bars_words words = {"straggler_operators",
                                            "Operators slower than on the median rank",
                                            "One bar per operator of the straggler: the excess over the median rank.",
                                            NULL,
                                            "Slower operators",
                                            "straggler_operators"};
    const bool from_logs = ((const struct collectives_source *)of)->summary.from_logs;
    const struct sutra_table *table =
        find_table(page, of, SUTRA_COLLECTIVES_EXCESS, "Operators", from_logs ? NULL : "no rank is a straggler");
    if (!table)
        return;
    const struct bars bars = {.table = table,
                              .labels = {table_column(table, "phase"), table_column(table, "operator")},
                              .n_labels = 2,
                              .values = {{table_column(table, "excess_us"), "excess", COLOUR_COUNT}},
                              .n_values = 1,
                              .unit = UNIT_US};
    page_bars(page, bars, BARS_SHOWN, &words);
}

/* Appends the row of `from` after the first column, by names of columns. */
static void append_values(struct sutra_table *table, const struct sutra_table *from, uint64_t row) {
    for (uint32_t i = 1; i < table->n_columns; i++) {
        uint32_t column = table_column(from, table->columns[i].spec.name);
        if (table->columns[i].spec.kind == SUTRA_COLUMN_INTEGER)
            table_integer(table, table_get_integer(from, column, row));
        else
            table_real(table, table_get_real(from, column, row));
    }
}

static void show_types(struct page *page, const void *of) {
    static const struct bars_words words = {
        "collective_types",
        "Transfer time by type and size",
        "One bar per type, data type and size in each group: the sum of the shortest "
        "duration of each collective.",
        NULL,
        "Types and sizes",
        "collective_types"};
    static const struct column_spec specs[] = {
        TEXT("collectives"),     REAL("transfer_us"),        INTEGER("count"),         REAL("transfer_mean_us"),
        REAL("transfer_min_us"), REAL("transfer_median_us"), REAL("transfer_max_us"),  REAL("skew_mean_us"),
        REAL("skew_max_us"),     REAL("mean_wait_us"),       REAL("end_skew_mean_us"), REAL("algorithm_gb_per_s"),
        REAL("bus_gb_per_s"),    REAL("bus_max_gb_per_s"),   REAL("link_percent")};
    const struct sutra_table *table =
        find_table(page, of, SUTRA_COLLECTIVES_KINDS, "Types", "the traces have no collectives");
    if (!table)
        return;
    /* The table of types with one name per row: "allreduce, 32 KiB, 0-7". */
    struct sutra_table named;
    table_init(&named, "collective_types", specs, sizeof specs / sizeof *specs);
    for (uint64_t row = 0; row < table->n_rows; row++) {
        char name[300];
        double bytes = real_named(table, "bytes", row);
        const char *type = text_named(table, "type", row);
        const char *members = text_named(table, "members", row);
        snprintf(name, sizeof name, "%.60s%s%s%s%.60s", type, bytes >= 0 ? ", " : "",
                 bytes >= 0 ? rounded_bytes_text(bytes).text : "", *members ? ", " : "", members);
        table_words(&named, name);
        append_values(&named, table, row);
    }
    const struct bars bars =
        bars_of_value(&named, "collectives", "transfer_us", "transfer", COLOUR_COMMUNICATION, UNIT_US);
    page_bars(page, bars, BARS_SHOWN, &words);
    table_free(&named);
}

static void show_sizes(struct page *page, const void *of) {
    static const struct bars_words words = {"bus_bandwidth",
                                            "Bus bandwidth by size",
                                            "One bar per type and size range: the median of its collectives, in GB/s.",
                                            NULL,
                                            "Bandwidth by size",
                                            "collective_sizes"};
    static const struct column_spec specs[] = {
        TEXT("collectives"),         INTEGER("count"),        REAL("bus_min_gb_per_s"), REAL("bus_25_gb_per_s"),
        REAL("bus_median_gb_per_s"), REAL("bus_75_gb_per_s"), REAL("bus_max_gb_per_s"), REAL("link_percent")};
    const struct sutra_table *sizes =
        find_table(page, of, SUTRA_COLLECTIVES_SIZES, "Bandwidth", "no collective has a recorded size");
    if (!sizes)
        return;
    /* The table of sizes with one name per row: "all-reduce, inside hosts, from 1 MiB". */
    struct sutra_table table;
    table_init(&table, "collective_sizes", specs, sizeof specs / sizeof *specs);
    for (uint64_t row = 0; row < sizes->n_rows; row++) {
        char name[160];
        double from = real_named(sizes, "from_bytes", row);
        const char *type = text_named(sizes, "type", row);
        const char *place = text_named(sizes, "place", row);
        snprintf(name, sizeof name, "%s%s%s, from %s", type, *place ? *place == 'i' ? ", inside" : ", between" : "",
                 *place ? " hosts" : "", rounded_bytes_text(from).text);
        table_words(&table, name);
        append_values(&table, sizes, row);
    }
    const struct bars bars = bars_of_value(&table, "collectives", "bus_median_gb_per_s", "median bus bandwidth",
                                           COLOUR_COMMUNICATION, UNIT_PLAIN);
    page_bars(page, bars, 2 * BARS_SHOWN, &words);
    table_free(&table);
}

/* ---- Tables ---- */

static void show_groups(struct page *page, const void *of) {
    const struct collectives_source *source = of;
    page_result_table(page, SUTRA_RESULT(source->collectives), SUTRA_COLLECTIVES_GROUPS, "Groups",
                      "the traces have no collectives");
}

static void show_clocks(struct page *page, const void *of) {
    const struct collectives_source *source = of;
    const struct sutra_collectives_summary *summary = &source->summary;
    const struct sutra_table *clocks = find_table(page, source, SUTRA_COLLECTIVES_CLOCKS, "Clocks",
                                                  summary->from_logs ? NULL : "the traces have no collectives");
    char words[300];
    if (!clocks)
        return;
    snprintf(words, sizeof words,
             "Clocks are up to %s apart (residual %s); the clocks of %" PRIu64
             " ranks are aligned. A collective ends before "
             "its last rank arrives %" PRIu64 " times by recorded clocks, and %" PRIu64 " times by aligned clocks.",
             shown_figure(summary->clocks_apart_us, UNIT_US).text,
             shown_figure(summary->clock_residual_us, UNIT_US).text, summary->n_clocks_set, summary->n_impossible,
             summary->n_impossible_aligned);
    page_words(page, words);
    page_result_table(page, SUTRA_RESULT(source->collectives), SUTRA_COLLECTIVES_HOSTS, "Clocks of hosts",
                      "the traces do not record the number of GPUs per host");
    page_table(page, clocks, "Clocks of ranks", "collective_clocks");
}

static void show_checks(struct page *page, const void *of) {
    const struct collectives_source *source = of;
    page_result_table(page, SUTRA_RESULT(source->collectives), SUTRA_COLLECTIVES_CHECKS, "Checks", "no errors");
}

static const struct page_section sections[] = {
    {"ranks", "Ranks",
     "Collective waits. A rank waits from its arrival at a collective until the last rank arrives. The last rank does "
     "not wait, and causes the wait of all other ranks.",
     show_ranks},
    {"straggler", "Straggler",
     "Operators that take longer on the straggler than on the median rank. The comparison uses CPU time if the GPU of "
     "the straggler computes no longer than on the median rank.",
     show_excess},
    {"types", "Types",
     "Transfer time of collectives. The transfer time is the shortest duration of a collective on any rank.",
     show_types},
    {"bandwidth", "Bandwidth",
     "Bandwidth of collectives by size. The algorithm bandwidth is bytes divided by time, in decimal GB/s. The bus "
     "bandwidth is the algorithm bandwidth times the share of the bytes per link, as in nccl-tests: compare it with the "
     "peak of the links.",
     show_sizes},
    {"groups", "Groups", "Collectives by process group.", show_groups},
    {"clocks", "Clocks",
     "Clock offsets of ranks. All ranks of a collective end at the same time, so the end times give the offset and drift "
     "of each clock. Clocks with an offset clearly above the residual are aligned.",
     show_clocks},
    {"checks", "Checks", "Errors and warnings in the collectives of this job.", show_checks},
    {0},
};

/* ---- The page ---- */

static void warn(struct page *page, const void *of) {
    const struct collectives_source *source = of;
    if (source->summary.from_logs)
        page_warning_count(page, source->summary.n_skipped, "log is skipped.", "logs are skipped.");
    else
        page_warning_count(page, source->summary.n_skipped, "trace is skipped.", "traces are skipped.");
    page_warn_defects(page, SUTRA_RESULT(source->collectives));
}

static void show_cards(struct page *page, const void *of) {
    const struct collectives_source *source = of;
    const struct sutra_collectives_summary *summary = &source->summary;
    double ranks = summary->n_ranks ? (double)summary->n_ranks : 1;
    page_card(page, "Ranks", (double)summary->n_ranks, UNIT_COUNT, "");
    page_card(page, "Collectives", (double)summary->n_collectives, UNIT_COUNT, "");
    if (summary->from_logs)
        page_card(page, "In collectives", summary->span_us, UNIT_US,
                  "median rank; no timeline: shares are of this time");
    else
        page_card(page, "Job", summary->span_us, UNIT_US, "from the first to the last GPU activity");
    page_card(page, "Waiting", summary->wait_us / ranks, UNIT_US, "mean per rank");
    page_card(page, "Transfer", summary->transfer_us, UNIT_US, "total of all collectives, without waiting");
    page_card(page, "Errors", (double)summary->n_faults, UNIT_COUNT, "");
}

enum sutra_status sutra_report_write_collectives(struct sutra_context *context,
                                                 const struct sutra_collectives *collectives, const char *folder,
                                                 uint64_t *n_bytes, struct sutra_error *error) {
    struct collectives_source source = {
        .collectives = collectives, .summary.size = sizeof source.summary, .straggler.size = sizeof source.straggler};
    struct page page;
    char title[96], more[96] = "";
    sutra_collectives_summary(collectives, &source.summary);
    sutra_collectives_straggler(collectives, &source.straggler);
    uint64_t n = source.summary.n_ranks;
    snprintf(title, sizeof title, "Collectives of %s rank%s", shown_decimal((double)n, 0).text, n == 1 ? "" : "s");
    if (n > 1)
        snprintf(more, sizeof more, " and %s more", shown_decimal((double)n - 1, 0).text);
    const struct page_frame frame = {.title = title,
                                     .path = sutra_collectives_at(collectives, 0)->path,
                                     .more = more,
                                     .warnings = warn,
                                     .cards = show_cards,
                                     .sections = sections};
    page_open(&page, context, folder, PAGE_COLLECTIVES, error);
    return page_write(&page, &frame, &source, n_bytes);
}
