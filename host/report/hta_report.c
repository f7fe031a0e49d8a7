/*
 * hta_report.c - the page about the tables of one or many ranks.
 */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>

#include "base/error.h"
#include "report/hta_tables.h"
#include "report/page.h"
#include "report/queue_series.h"
#include "sutra/report.h"

/* The share by which ranks may differ without one being the slowest. */
#define ALIKE 0.001

/* Bars of one chart. */
#define RANKS_SHOWN 64
#define BARS_SHOWN  16

/* Panels of the chart of queues. */
#define QUEUES_SHOWN 10

/* Traces that were left out, by name. */
#define LEFT_OUT_SHOWN 50

/* Colours of what a GPU does, the same in all charts. */
enum {
    COMPUTE_COLOUR = 0,
    COMMUNICATION_COLOUR = 1,
    MEMORY_COLOUR = 2,
    OTHER_COLOUR = 3,
    HOST_COLOUR = 4,
    KERNEL_COLOUR = 6
};

struct sutra_report {
    struct queue_list queues;
};

enum {
    SECTION_TIME,
    SECTION_KERNELS,
    SECTION_IDLE,
    SECTION_OVERLAP,
    SECTION_QUEUE,
    SECTION_LAUNCHES,
    SECTION_COPIES,
    SECTION_MISSING
};

static const struct page_section sections[] = {
    [SECTION_TIME] = {"time", "Time of each rank"},
    [SECTION_KERNELS] = {"kernels", "Kernels"},
    [SECTION_IDLE] = {"idle", "What streams wait for"},
    [SECTION_OVERLAP] = {"overlap", "Communication and compute"},
    [SECTION_QUEUE] = {"queues", "Queues over time"},
    [SECTION_LAUNCHES] = {"launches", "Launches"},
    [SECTION_COPIES] = {"copies", "Bandwidth of copies"},
    [SECTION_MISSING] = {"missing", "What is not here"},
    {0},
};

/* What a section is made from. */
struct hta_source {
    const struct sutra_report *report;
    const struct sutra_hta_ranks *ranks;
    struct sutra_hta_sums sums;
};

static struct name table_text_at(const struct sutra_table *table, uint32_t column, uint64_t row) {
    struct name name = {0};
    name.bytes = table_get_text(table, column, row, &name.length);
    return name;
}

static uint64_t at_most(uint64_t n, uint64_t most) {
    return n < most ? n : most;
}

/* A table of the analysis on the page, or why there is none. */
static void show_table(struct page *page, const struct hta_source *source, enum sutra_hta_table id,
                       const char *caption) {
    const char *reason;
    const struct sutra_table *table = sutra_hta_ranks_table(source->ranks, id, &reason);
    if (table && table->n_rows > 0)
        page_table(page, table, caption, sutra_table_name(table));
    else
        page_missing(page, caption, table ? "there is nothing of the kind in the traces" : reason);
}

/* ---- The figures at the top ---- */

/* "12.3 % of the time" */
static void card_share(struct page *page, const struct hta_source *source, const char *name, double us,
                       const char *more) {
    char note[160] = "";
    double span_us = source->sums.all->span_us;
    if (span_us > 0)
        snprintf(note, sizeof note, "%s of the time%s", shown_figure(100 * us / span_us, UNIT_PERCENT).text, more);
    page_card(page, name, us, UNIT_US, note);
}

static void card_slowest(struct page *page, const struct hta_source *source) {
    static const char *const causes[] = {"compute", "communication that nothing hides", "copies that nothing hides",
                                         "idle time"};
    struct sutra_hta_slowest slowest = {.size = sizeof slowest};
    char words[64], note[512];
    if (!sutra_hta_ranks_slowest(source->ranks, &slowest)) {
        page_card_words(page, "Slowest rank", "none", "it takes two ranks with kernels to compare");
        return;
    }
    if (slowest.span_us - slowest.median_span_us <= ALIKE * slowest.median_span_us) {
        snprintf(note, sizeof note, "all take about %s", shown_figure(slowest.median_span_us, UNIT_US).text);
        page_card_words(page, "Slowest rank", "none", note);
        return;
    }
    snprintf(words, sizeof words, "rank %" PRId64, slowest.rank);
    int length =
        snprintf(note, sizeof note, "%s, the median is %s; most of it by ", shown_figure(slowest.span_us, UNIT_US).text,
                 shown_figure(slowest.median_span_us, UNIT_US).text);
    length += snprintf(note + length, sizeof note - (size_t)length, "%s: %s, the median is ", causes[slowest.cause],
                       shown_figure(slowest.cause_us, UNIT_US).text);
    length += snprintf(note + length, sizeof note - (size_t)length, "%s",
                       shown_figure(slowest.median_cause_us, UNIT_US).text);
    if (slowest.awaited_rank >= 0)
        snprintf(note + length, sizeof note - (size_t)length,
                 ". Rank %" PRId64 " is in communication the least: others wait for it", slowest.awaited_rank);
    page_card_words(page, "Slowest rank", words, note);
}

static void show_cards(struct page *page, const struct hta_source *source) {
    const struct sutra_hta_summary *all = source->sums.all;
    bool several = source->sums.n_ranks > 1;
    char note[160];
    page_cards_begin(page);
    snprintf(note, sizeof note, "%s events", shown_decimal((double)all->n_events, 0).text);
    page_card(page, "Ranks", (double)source->sums.n_ranks, UNIT_COUNT, note);
    page_card(page, "Time span", all->span_us, UNIT_US,
              several ? "from first to last kernel, all ranks together" : "from first to last kernel");
    card_share(page, source, "GPU busy", all->busy_us, "");
    card_share(page, source, "Idle", all->idle_us, "");
    card_share(page, source, "Compute", all->compute_us, "");
    card_share(page, source, "Communication", all->communication_us, "");
    card_share(page, source, "Exposed communication", all->exposed_us, ", beside neither compute nor copies");
    snprintf(note, sizeof note, "on %s streams", shown_decimal((double)all->n_streams, 0).text);
    page_card(page, "Kernels and copies", (double)all->n_kernels, UNIT_COUNT, note);
    card_slowest(page, source);
    page_cards_end(page);
}

/* ---- Time ---- */

static void show_time(struct page *page, const struct hta_source *source) {
    struct sutra_table table;
    const char *reason;
    hta_time_table(&table, source->ranks);
    page_check(page, &table);
    struct bars bars = {.table = &table,
                        .n_rows = at_most(table.n_rows, RANKS_SHOWN),
                        .n_labels = 1,
                        .values = {{TIME_COMPUTE, "compute", COMPUTE_COLOUR},
                                   {TIME_COMMUNICATION, "exposed communication", COMMUNICATION_COLOUR},
                                   {TIME_MEMORY, "exposed copies", MEMORY_COLOUR},
                                   {TIME_OTHER, "other work", OTHER_COLOUR},
                                   {TIME_IDLE, "idle", COLOUR_GREY}},
                        .n_values = 5,
                        .unit = UNIT_US};
    page_section(
        page, &sections[SECTION_TIME],
        "What the time between the first and the last kernel of each rank went to. Whatever runs beside compute "
        "counts as compute; exposed communication runs beside neither compute nor copies.");
    if (table.n_rows > 0) {
        page_chart(
            page, "time_by_rank", "Time of each rank",
            "One bar for each rank, of compute, exposed communication, exposed copies, other work and idle time.",
            bars_draw, &bars);
        if (bars.n_rows < table.n_rows)
            page_words(page, "The chart shows the first 64 ranks.");
        page_table(page, &table, "Parts of the time of each rank", "rank_summary");
    } else {
        sutra_hta_ranks_table(source->ranks, SUTRA_HTA_TEMPORAL, &reason);
        page_missing(page, "Time", reason);
    }
    page_section_end(page);
    table_free(&table);
}

/* ---- Kernels ---- */

static int colour_of_type(struct name type) {
    static const struct {
        const char *name;
        int colour;
    } types[] = {{"COMPUTATION", COMPUTE_COLOUR},
                 {"COMMUNICATION", COMMUNICATION_COLOUR},
                 {"MEMORY", MEMORY_COLOUR},
                 {"OTHER", OTHER_COLOUR}};
    for (size_t i = 0; i < sizeof types / sizeof *types; i++)
        if (strcmp(type.bytes, types[i].name) == 0)
            return types[i].colour;
    return COLOUR_GREY;
}

static void show_types(struct page *page, const struct hta_source *source) {
    const char *reason;
    const struct sutra_table *table = sutra_hta_ranks_table(source->ranks, SUTRA_HTA_TYPES_MEMORY, &reason);
    int colours[BARS_SHOWN];
    if (!table || table->n_rows == 0) {
        page_missing(page, "Types of kernels", table ? "no kernel was found" : reason);
        return;
    }
    struct bars bars = {.table = table,
                        .n_rows = at_most(table->n_rows, BARS_SHOWN),
                        .n_labels = 1,
                        .values = {{1, "time", COMPUTE_COLOUR}},
                        .n_values = 1,
                        .row_colours = colours,
                        .unit = UNIT_US};
    for (uint64_t row = 0; row < bars.n_rows; row++)
        colours[row] = colour_of_type(table_text_at(table, 0, row));
    page_chart(page, "kernel_types", "Time by type of kernel",
               "One bar for each type of kernels, or of types that overlap.", bars_draw, &bars);
    page_table(page, table, "Types of kernels, all ranks together", sutra_table_name(table));
}

static void show_top_kernels(struct page *page, const struct hta_source *source) {
    static const struct legend_entry legend[] = {{"compute", COMPUTE_COLOUR},
                                                 {"communication", COMMUNICATION_COLOUR},
                                                 {"copies and sets", MEMORY_COLOUR},
                                                 {"other", OTHER_COLOUR}};
    const struct sutra_table *kernels = sutra_hta_ranks_table(source->ranks, SUTRA_HTA_KERNELS_MEMORY, NULL);
    struct sutra_table table;
    int colours[BARS_SHOWN];
    if (!kernels || kernels->n_rows == 0)
        return;
    hta_kernels_table(&table, kernels);
    page_check(page, &table);
    struct bars bars = {.table = &table,
                        .n_rows = at_most(table.n_rows, BARS_SHOWN),
                        .n_labels = 1,
                        .values = {{KERNEL_SUM, "time", COMPUTE_COLOUR}},
                        .n_values = 1,
                        .row_colours = colours,
                        .legend = legend,
                        .n_legend = sizeof legend / sizeof *legend,
                        .unit = UNIT_US};
    for (uint64_t row = 0; row < bars.n_rows; row++)
        colours[row] = colour_of_type(table_text_at(&table, KERNEL_TYPE, row));
    page_chart(page, "top_kernels", "Kernels that take most time", "One bar for each kernel, by falling time.",
               bars_draw, &bars);
    page_words(page,
               "Sums over all calls and ranks. 'others' are those that are not among the most important ones of their "
               "type on a rank; a name can stand for itself on one rank and be among the others on another.");
    page_table(page, &table, "Kernels by time", "gpu_kernel_breakdown_mem.kernels");
    table_free(&table);
}

static void show_kernels(struct page *page, const struct hta_source *source) {
    page_section(
        page, &sections[SECTION_KERNELS],
        "Time of kernels and copies by type and by name. Time in which kernels of two types run counts for both "
        "together, as a type of its own.");
    show_types(page, source);
    show_top_kernels(page, source);
    page_section_end(page);
}

/* ---- Idle time ---- */

static void show_idle(struct page *page, const struct hta_source *source) {
    const char *reason;
    const struct sutra_table *idle = sutra_hta_ranks_table(source->ranks, SUTRA_HTA_IDLE, &reason);
    page_section(
        page, &sections[SECTION_IDLE],
        "Gaps between the kernels of each stream. Host wait: the next kernel was launched only after the last one "
        "had ended. Kernel wait: it was launched before, and the gap is short. Other: it was launched before, and "
        "the gap is long. Overlap within a stream counts as a negative gap, which has no bar.");
    if (idle) {
        struct sutra_table table;
        hta_idle_table(&table, idle);
        page_check(page, &table);
        struct bars bars = {.table = &table,
                            .n_rows = at_most(table.n_rows, BARS_SHOWN),
                            .labels = {IDLE_RANK, IDLE_STREAM},
                            .n_labels = 2,
                            .values = {{IDLE_HOST, "host wait", HOST_COLOUR},
                                       {IDLE_KERNEL, "kernel wait", KERNEL_COLOUR},
                                       {IDLE_OTHER, "other", COLOUR_GREY}},
                            .n_values = 3,
                            .unit = UNIT_US};
        if (table.n_rows > 0)
            page_chart(page, "idle", "What streams wait for",
                       "One bar for each stream, of host wait, kernel wait and other gaps; those with most first.",
                       bars_draw, &bars);
        page_table(page, &table, "Gaps of each stream, those with most first", "idle_time_breakdown.rows");
        table_free(&table);
    } else {
        page_missing(page, "Idle time", reason);
    }
    page_section_end(page);
}

/* ---- Communication ---- */

static void show_overlap(struct page *page, const struct hta_source *source) {
    struct sutra_table table;
    hta_overlap_table(&table, source->ranks, sutra_hta_ranks_table(source->ranks, SUTRA_HTA_OVERLAP, NULL));
    page_check(page, &table);
    struct bars bars = {.table = &table,
                        .n_rows = at_most(table.n_rows, RANKS_SHOWN),
                        .n_labels = 1,
                        .values = {{OVERLAP_HIDDEN, "beside compute", OTHER_COLOUR},
                                   {OVERLAP_REST, "not beside compute", COMMUNICATION_COLOUR}},
                        .n_values = 2,
                        .unit = UNIT_US};
    page_section(page, &sections[SECTION_OVERLAP],
                 "Time in communication kernels, and how much of it passes beside compute, which hides it.");
    if (table.n_rows > 0) {
        page_chart(page, "overlap", "Communication beside compute",
                   "One bar for each rank: communication at the same time as compute, and the rest.", bars_draw, &bars);
        page_table(page, &table, "Communication of each rank", "comm_comp_overlap");
    } else {
        page_missing(page, "Overlap", "no kernel of the trace is a communication kernel (called nccl...Kernel)");
    }
    page_section_end(page);
    table_free(&table);
}

/* ---- Queues ---- */

static void show_queue_chart(struct page *page, const struct hta_source *source) {
    struct line_series series[QUEUES_SHOWN];
    struct chart_lines lines = {series, queue_list_longest(&source->report->queues, series, QUEUES_SHOWN)};
    char words[200];
    if (lines.n_series == 0)
        return;
    page_chart(page, "queue_length", "Length of queues over time",
               "A panel for each stream: the most kernels that waited in each stretch of time, and the mean.",
               lines_draw, &lines);
    if (lines.n_series < source->report->queues.n) {
        snprintf(words, sizeof words, "The chart shows the %d longest of %s queues.", QUEUES_SHOWN,
                 shown_decimal((double)source->report->queues.n, 0).text);
        page_words(page, words);
    }
}

static void show_queues(struct page *page, const struct hta_source *source) {
    page_section(
        page, &sections[SECTION_QUEUE],
        "How many kernels have been launched on a stream but have not begun. A queue that is empty most of the time "
        "means that the stream waits for the host. The mean of the table is over changes, that of the chart over "
        "time.");
    show_queue_chart(page, source);
    show_table(page, source, SUTRA_HTA_QUEUE_SUMMARY, "Length of queues after each change");
    page_section_end(page);
}

/* ---- The rest ---- */

static void show_launches(struct page *page, const struct hta_source *source) {
    page_section(
        page, &sections[SECTION_LAUNCHES],
        "Calls that launch kernels and copies. The delay is from the end of the call to the start of the kernel. "
        "Kernels that are shorter than their call cannot keep a GPU busy.");
    show_table(page, source, SUTRA_HTA_LAUNCH_CALLS, "Calls that launch");
    page_section_end(page);
}

static void show_copies(struct page *page, const struct hta_source *source) {
    page_section(page, &sections[SECTION_COPIES],
                 "Bandwidth of copies and sets of memory in GB/s, while at least one of the kind runs.");
    show_table(page, source, SUTRA_HTA_BANDWIDTH, "Bandwidth, GB/s");
    page_section_end(page);
}

static void say_count(struct page *page, uint64_t n, const char *what) {
    char words[200];
    snprintf(words, sizeof words, "%s %s", shown_decimal((double)n, 0).text, what);
    if (n > 0)
        page_words(page, words);
}

static void show_missing(struct page *page, const struct hta_source *source) {
    const struct sutra_hta_summary *all = source->sums.all;
    const struct sutra_hta_rank *rank;
    unsigned n = 0;
    page_section(page, &sections[SECTION_MISSING],
                 "Operators of the host, their overheads and what they consist of are another analysis: "
                 "sutra analyze dlrm TRACE -o DIR");
    if (source->sums.n_left_out > 0)
        page_words(page, "Traces that were left out:");
    for (size_t i = 0; n < LEFT_OUT_SHOWN && (rank = sutra_hta_ranks_at(source->ranks, i)); i++)
        if (rank->reason && n++ < LEFT_OUT_SHOWN)
            page_missing(page, rank->path, rank->reason);
    say_count(page, source->sums.n_left_out - n, "more.");
    if (all->n_steps > 1)
        page_words(page, "The last ProfilerStep is left out, as HTA does, unless --last-step was given.");
    say_count(page, all->n_bad_times, "events are left out, since their times are missing or too large.");
    say_count(page, all->n_negative, "durations are below 0, and count as they are.");
    page_section_end(page);
}

/* ---- The public functions ---- */

static void write_page(struct page *page, const struct hta_source *source) {
    const struct sutra_hta_rank *first = sutra_hta_ranks_at(source->ranks, 0);
    char title[96], more[96] = "";
    size_t n = source->sums.n_ranks;
    if (n > 1) {
        snprintf(title, sizeof title, "GPU time of %s ranks", shown_decimal((double)n, 0).text);
        snprintf(more, sizeof more, " and %s more", shown_decimal((double)n - 1, 0).text);
    } else {
        snprintf(title, sizeof title, "GPU time of rank %" PRId64, first->rank);
    }
    page_head(page, title, first->path, more, sections);
    show_cards(page, source);
    show_time(page, source);
    show_kernels(page, source);
    show_idle(page, source);
    show_overlap(page, source);
    show_queues(page, source);
    show_launches(page, source);
    show_copies(page, source);
    show_missing(page, source);
}

enum sutra_status sutra_report_write_hta(struct sutra_context *context, const struct sutra_report *report,
                                         const struct sutra_hta_ranks *ranks, const char *folder, uint64_t *n_bytes,
                                         struct sutra_error *error) {
    struct hta_source source = {.report = report, .ranks = ranks, .sums.size = sizeof source.sums};
    struct page page;
    sutra_hta_ranks_sum(ranks, &source.sums);
    page_open(&page, context, folder, error);
    write_page(&page, &source);
    enum sutra_status status = page_close(&page);
    if (!status && n_bytes)
        *n_bytes = page.n_bytes;
    return status;
}

enum sutra_status sutra_report_create(struct sutra_report **report, struct sutra_error *error) {
    struct sutra_report *made = calloc(1, sizeof *made);
    if (!made)
        return error_memory(error);
    *report = made;
    return SUTRA_OK;
}

void sutra_report_free(struct sutra_report *report) {
    if (report)
        queue_list_free(&report->queues);
    free(report);
}

enum sutra_status sutra_report_visit(void *report, struct sutra_context *context, const struct sutra_hta *hta,
                                     struct sutra_error *error) {
    struct queue_list *queues = &((struct sutra_report *)report)->queues;
    const struct sutra_table *changes = sutra_hta_table(hta, SUTRA_HTA_QUEUE, NULL);
    (void)context; /* nothing is written yet */
    if (changes && !queue_list_add(queues, sutra_hta_rank_of(hta), changes))
        return error_memory(error);
    return SUTRA_OK;
}
