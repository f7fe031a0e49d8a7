/*
 * hta_charts.c - writes the charts of the page on ranks, with their tables.
 *
 *     table of the analysis --> hta_tables.c: in the order and the parts that a chart shows --> bars, table
 *     the longest queues    --> lines
 */
#include <stdio.h>

#include "analyze/hta/ranks.h"
#include "report/hta_report.h"

/* Bars of one chart. */
#define BARS_SHOWN 16

/* ---- Time ---- */

void hta_time_show(struct page *page, const void *of) {
    const struct hta_source *source = of;
    struct sutra_table table;
    const char *reason = NULL;
    hta_time_table(&table, source->ranks);
    const struct bars bars = {.table = &table,
                              .n_labels = 1,
                              .values = {{TIME_COMPUTE, "compute", COLOUR_COMPUTE},
                                         {TIME_COMMUNICATION, "exposed communication", COLOUR_COMMUNICATION},
                                         {TIME_MEMORY, "exposed memcpy", COLOUR_COPIES},
                                         {TIME_OTHER, "other activity", COLOUR_OTHER_WORK},
                                         {TIME_IDLE, "idle", COLOUR_IDLE}},
                              .n_values = 5,
                              .unit = UNIT_US};
    const struct bars_words words = {
        "time_by_rank",
        "Time of each rank",
        "One bar per rank: compute, exposed communication, exposed memcpy, other activity and idle time.",
        "Activity that overlaps with compute counts as compute. Exposed communication overlaps with neither compute nor "
        "memcpy.",
        "Time breakdown of each rank",
        "rank_summary"};
    if (!page_bars(page, bars, RANKS_AS_BARS, &words)) {
        sutra_result_table(SUTRA_RESULT(source->ranks), SUTRA_HTA_TEMPORAL, &reason);
        page_missing(page, "Time", reason);
    }
    table_free(&table);
}

/* ---- Steps ---- */

void hta_steps_show(struct page *page, const void *of) {
    enum { RANK = 0, STEP = 1, COMPUTE = 7, EXPOSED = 9 };
    const struct hta_source *source = of;
    static const struct bars_words words = {
        "steps",
        "GPU activity of each step",
        "One bar per step of a rank: compute and exposed communication of the kernels that the step launched.",
        NULL,
        "Profiler steps",
        "profiler_steps"};
    const char *reason;
    const struct sutra_table *table = sutra_result_table(SUTRA_RESULT(source->ranks), SUTRA_HTA_STEPS, &reason);
    if (!table) {
        page_missing(page, "Steps", reason);
        return;
    }
    const struct bars bars = {
        .table = table,
        .labels = {RANK, STEP},
        .n_labels = 2,
        .values = {{COMPUTE, "compute", COLOUR_COMPUTE}, {EXPOSED, "exposed communication", COLOUR_COMMUNICATION}},
        .n_values = 2,
        .unit = UNIT_US};
    page_bars(page, bars, RANKS_AS_BARS, &words);
}

/* ---- Stragglers ---- */

void hta_stragglers_show(struct page *page, const void *of) {
    enum { LATE = 3 };
    const struct hta_source *source = of;
    static const struct bars_words words = {
        "stragglers",
        "Lateness of ranks at collectives",
        "One bar per rank: its time in collectives, subtracted from the time of the rank that waits longest.",
        NULL,
        "Ranks by lateness",
        "potential_stragglers"};
    const char *reason;
    const struct sutra_table *table = sutra_result_table(SUTRA_RESULT(source->ranks), SUTRA_HTA_STRAGGLERS, &reason);
    if (!table) {
        page_missing(page, "Stragglers", reason);
        return;
    }
    const struct bars bars = {
        .table = table, .n_labels = 1, .values = {{LATE, "late", COLOUR_COUNT}}, .n_values = 1, .unit = UNIT_US};
    page_bars(page, bars, RANKS_AS_BARS, &words);
}

/* ---- Kernels ---- */

static int colour_of_type(struct name type) {
    static const struct {
        const char *name;
        int colour;
    } types[] = {{"COMPUTATION", COLOUR_COMPUTE},
                 {"COMMUNICATION", COLOUR_COMMUNICATION},
                 {"MEMORY", COLOUR_COPIES},
                 {"OTHER", COLOUR_OTHER_WORK}};
    for (size_t i = 0; i < sizeof types / sizeof *types; i++)
        if (strcmp(type.bytes, types[i].name) == 0)
            return types[i].colour;
    return strstr(type.bytes, "COMMUNICATION") ? COLOUR_HIDDEN : COLOUR_COMPUTE;
}

/* Bars of the first rows of a table, each in the colour of the type in `type_column`; `colours` has room for all. */
static struct bars bars_by_type(const struct sutra_table *table, uint32_t type_column, uint32_t time_column,
                                int colours[BARS_SHOWN]) {
    for (uint64_t row = 0; row < table->n_rows && row < BARS_SHOWN; row++) {
        struct name type = {0};
        type.bytes = table_get_text(table, type_column, row, &type.length);
        colours[row] = colour_of_type(type);
    }
    return (struct bars){.table = table,
                         .n_labels = 1,
                         .values = {{time_column, "time", COLOUR_COMPUTE}},
                         .n_values = 1,
                         .row_colours = colours,
                         .unit = UNIT_US};
}

static void show_types(struct page *page, const struct hta_source *source) {
    const char *reason;
    const struct sutra_table *table = sutra_result_table(SUTRA_RESULT(source->ranks), SUTRA_HTA_TYPES_MEMORY, &reason);
    int colours[BARS_SHOWN];
    if (!table || table->n_rows == 0) {
        page_missing(page, "Kernel types", table ? "no kernels" : reason);
        return;
    }
    const struct bars_words words = {
        "kernel_types", "Time by kernel type",     "One bar per kernel type, or per combination of overlapping types.",
        NULL,           "Kernel types, all ranks", sutra_table_name(table)};
    page_bars(page, bars_by_type(table, 0, 1, colours), BARS_SHOWN, &words);
}

static void show_top_kernels(struct page *page, const struct hta_source *source) {
    static const struct bars_words words = {
        "top_kernels",
        "Top kernels by time",
        "One bar per kernel, descending by time.",
        "Sums over all calls and ranks. 'others' sums the kernels of each type that are not among the top N of a rank; a "
        "kernel can be listed on one rank and be part of 'others' on another rank.",
        "Kernels by time",
        "gpu_kernel_breakdown_mem.kernels"};
    const struct sutra_table *kernels = sutra_result_table(SUTRA_RESULT(source->ranks), SUTRA_HTA_KERNELS_MEMORY, NULL);
    struct sutra_table table;
    int colours[BARS_SHOWN];
    if (!kernels || kernels->n_rows == 0)
        return;
    hta_kernels_table(&table, kernels);
    struct bars bars = bars_by_type(&table, KERNEL_TYPE, KERNEL_SUM, colours);
    bars.kernels = true;
    page_bars(page, bars, BARS_SHOWN, &words);
    table_free(&table);
}

void hta_kernels_show(struct page *page, const void *of) {
    const struct hta_source *source = of;
    show_types(page, source);
    show_top_kernels(page, source);
}

/* ---- Idle time ---- */

void hta_idle_show(struct page *page, const void *of) {
    const struct hta_source *source = of;
    static const struct bars_words words = {
        "idle",
        "Idle time of streams by cause",
        "One bar per stream: host wait, kernel wait and other; descending by idle time.",
        NULL,
        "Idle time of each stream, descending",
        "idle_time_breakdown.rows"};
    const char *reason;
    const struct sutra_table *idle = sutra_result_table(SUTRA_RESULT(source->ranks), SUTRA_HTA_IDLE, &reason);
    struct sutra_table table;
    if (!idle) {
        page_missing(page, "Idle time", reason);
        return;
    }
    hta_idle_table(&table, idle);
    const struct bars bars = {.table = &table,
                              .labels = {IDLE_RANK, IDLE_STREAM},
                              .n_labels = 2,
                              .values = {{IDLE_HOST, "host wait", COLOUR_WAIT_HOST},
                                         {IDLE_KERNEL, "kernel wait", COLOUR_WAIT_DEVICE},
                                         {IDLE_REST, "other", COLOUR_IDLE}},
                              .n_values = 3,
                              .unit = UNIT_US};
    page_check(page, &table);
    if (table.n_rows < 2 || !page_bars(page, bars, BARS_SHOWN, &words)) /* a bar alone tells less than its numbers */
        page_table(page, &table, words.caption, words.file);
    table_free(&table);
}

/* ---- Communication ---- */

void hta_overlap_show(struct page *page, const void *of) {
    const struct hta_source *source = of;
    static const struct bars_words words = {
        "overlap",
        "Overlap of communication and compute",
        "One bar per rank: communication that overlaps with compute, and exposed communication.",
        NULL,
        "Communication of each rank",
        "comm_comp_overlap"};
    struct sutra_table table;
    hta_overlap_table(&table, source->ranks, sutra_result_table(SUTRA_RESULT(source->ranks), SUTRA_HTA_OVERLAP, NULL));
    const struct bars bars = {.table = &table,
                              .n_labels = 1,
                              .values = {{OVERLAP_HIDDEN, "overlaps with compute", COLOUR_HIDDEN},
                                         {OVERLAP_REST, "exposed", COLOUR_COMMUNICATION}},
                              .n_values = 2,
                              .unit = UNIT_US};
    if (!page_bars(page, bars, RANKS_AS_BARS, &words))
        page_missing(page, "Overlap", "the trace has no communication kernels (nccl...Kernel)");
    table_free(&table);
}

/* ---- Queues ---- */

/* Queues in which nothing piles up have no panel: they would all look alike. */
static void show_queue_chart(struct page *page, const struct hta_source *source) {
    const struct queue_list *queues = hta_ranks_queues(source->ranks);
    struct line_series series[QUEUES_KEPT];
    struct chart_lines lines = {series, 0};
    char words[200];
    if (queues->n_all == 0)
        return;
    page_subtitle(page, "Queue length over time");
    for (const struct queue_series *of = queues->list; lines.n_series < queues->n && of->longest > 1; of++)
        series[lines.n_series++] =
            (struct line_series){of->rank, of->stream, of->begin_us, of->end_us, of->most, of->mean, QUEUE_STRETCHES};
    if (lines.n_series == 0) {
        page_words(page, "Queues never contain more than one kernel.");
        return;
    }
    page_chart(page, "queue_length", "Queue length over time",
               "One panel per stream: maximum and mean number of queued kernels in each time interval.", lines_draw,
               &lines);
    if (lines.n_series == queues->n_all)
        return;
    snprintf(words, sizeof words,
             lines.n_series < QUEUES_KEPT ? "The other %s of %s queues never contain more than one kernel."
                                          : "Omitted: %s of %s queues, which are shorter.",
             shown_decimal((double)(queues->n_all - lines.n_series), 0).text,
             shown_decimal((double)queues->n_all, 0).text);
    page_words(page, words);
}

void hta_queues_show(struct page *page, const void *of) {
    const struct hta_source *source = of;
    show_queue_chart(page, source);
    page_result_table(page, SUTRA_RESULT(source->ranks), SUTRA_HTA_QUEUE_SUMMARY, "Queue length after each change",
                      NULL);
    page_result_table(page, SUTRA_RESULT(source->ranks), SUTRA_HTA_BLOCKED, "Time with a full queue", NULL);
}
