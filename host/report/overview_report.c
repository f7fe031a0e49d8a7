/*
 * overview_report.c - writes the page of a job: findings first, then their data, from totals to details.
 *
 *     findings, key numbers | time breakdown | steps | operators | kernels | rates | communication | streams,
 *     launches, memcpys | links to table files
 */
#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "analyze/overview/steps.h"
#include "analyze/overview/straggler.h"
#include "report/charts.h"
#include "report/hta_report.h"
#include "report/operators_report.h"
#include "report/page_table.h"
#include "sutra/overview.h"
#include "sutra/report.h"

/*
 * Tables that the page of an overview derives from the analysis.
 */

/* What the time of each rank went to, in parts that do not overlap: rank, parts from compute to idle time of unknown
 * cause, window_us. The caller's, to free with table_free(). */
enum { SPLIT_RANK, SPLIT_PARTS, N_SPLIT_PARTS = 8 };

/* How much of the communication of each rank that has some other work hides: rank, hidden_us, exposed_us,
 * communication_us, overlap_percent; from the analysis's ranks, and their parts, which have the same order. */
enum { OVERLAP_HIDDEN_US = 1, OVERLAP_EXPOSED_US };

/* Columns of the analysis's table of streams. */
enum {
    STREAMS_RANK,
    STREAMS_STREAM,
    STREAMS_KERNELS,
    STREAMS_COMPUTE,
    STREAMS_COMMUNICATION,
    STREAMS_COPIES,
    STREAMS_WORK
};

/*
 * Implements overview_tables.h. O(rows).
 */

enum { FROM_RANK, FROM_WHAT, FROM_TIME };

/* The part that a line of the analysis's timeline belongs to; N_SPLIT_PARTS: it is a sum of others. */
static int part_of(const char *what) {
    static const struct {
        const char *what;
        int part;
    } lines[] = {{"compute", 0},
                 {"exposed communication", 1},
                 {"exposed memcpy", 2},
                 {"idle: host", 3},
                 {"idle: launching", 3},
                 {"idle: setup", 3},
                 {"idle: data loading", 4},
                 {"idle: synchronizing", 5},
                 {"idle: after synchronizing", 5},
                 {"idle: launched before", 6},
                 {"idle: unknown launch", 7},
                 {"idle: after the last activity", 7}};
    for (size_t i = 0; i < sizeof lines / sizeof *lines; i++)
        if (strcmp(lines[i].what, what) == 0)
            return lines[i].part;
    return N_SPLIT_PARTS;
}

static void split_table(struct sutra_table *table, const struct sutra_table *timeline) {
    static const struct column_spec specs[] = {{"rank", SUTRA_COLUMN_INTEGER},
                                               {"compute_us", SUTRA_COLUMN_REAL},
                                               {"exposed_communication_us", SUTRA_COLUMN_REAL},
                                               {"exposed_copies_us", SUTRA_COLUMN_REAL},
                                               {"idle_host_us", SUTRA_COLUMN_REAL},
                                               {"idle_dataloader_us", SUTRA_COLUMN_REAL},
                                               {"idle_sync_us", SUTRA_COLUMN_REAL},
                                               {"idle_device_us", SUTRA_COLUMN_REAL},
                                               {"idle_rest_us", SUTRA_COLUMN_REAL},
                                               {"window_us", SUTRA_COLUMN_REAL}};
    table_init(table, "time_of_ranks", specs, sizeof specs / sizeof *specs);
    for (uint64_t row = 0; row < timeline->n_rows;) {
        int64_t rank = table_get_integer(timeline, FROM_RANK, row);
        double us[N_SPLIT_PARTS + 1] = {0}, window = 0;
        for (; row < timeline->n_rows && table_get_integer(timeline, FROM_RANK, row) == rank; row++) {
            size_t length;
            us[part_of(table_get_text(timeline, FROM_WHAT, row, &length))] += table_get_real(timeline, FROM_TIME, row);
        }
        table_integer(table, rank);
        for (int part = 0; part < N_SPLIT_PARTS; part++) {
            table_real(table, us[part]);
            window += us[part];
        }
        table_real(table, window);
    }
}

static void overlap_table(struct sutra_table *table, const struct sutra_table *ranks, const struct sutra_table *split) {
    enum { RANK = 0, COMMUNICATION = 5, EXPOSED = SPLIT_PARTS + 1 };
    static const struct column_spec specs[] = {{"rank", SUTRA_COLUMN_INTEGER},
                                               {"hidden_us", SUTRA_COLUMN_REAL},
                                               {"exposed_us", SUTRA_COLUMN_REAL},
                                               {"communication_us", SUTRA_COLUMN_REAL},
                                               {"overlap_percent", SUTRA_COLUMN_REAL}};
    table_init(table, "overview_overlap", specs, sizeof specs / sizeof *specs);
    for (uint64_t row = 0; row < ranks->n_rows && row < split->n_rows; row++) {
        double all = table_get_real(ranks, COMMUNICATION, row);
        double exposed = fmin(table_get_real(split, EXPOSED, row), all);
        if (!(all > 0))
            continue;
        table_integer(table, table_get_integer(ranks, RANK, row));
        table_real(table, all - exposed);
        table_real(table, exposed);
        table_real(table, all);
        table_real(table, (all - exposed) / all * 100);
    }
}

/* Bars of these parts, which begin at a column of a table. */
static struct bars split_bars(const struct sutra_table *table, uint32_t first_part) {
    static const struct bar_value parts[N_SPLIT_PARTS] = {{0, "compute", COLOUR_COMPUTE},
                                                          {1, "exposed communication", COLOUR_COMMUNICATION},
                                                          {2, "exposed memcpy", COLOUR_COPIES},
                                                          {3, "idle: host", COLOUR_WAIT_HOST},
                                                          {4, "idle: data loading", COLOUR_WAIT_DATA},
                                                          {5, "idle: synchronizing", COLOUR_WAIT_SYNC},
                                                          {6, "idle: launched before", COLOUR_WAIT_DEVICE},
                                                          {7, "idle: unknown cause", COLOUR_IDLE}};
    struct bars bars = {.table = table, .n_labels = 1, .n_values = N_SPLIT_PARTS, .unit = UNIT_US};
    for (int i = 0; i < N_SPLIT_PARTS; i++) {
        bars.values[i] = parts[i];
        bars.values[i].column += first_part;
    }
    return bars;
}

/* Steps and streams as bars. */
#define STEPS_SHOWN   48
#define STREAMS_SHOWN 16

/* What the page is made from. */
struct overview_source {
    const struct sutra_overview *overview;
    struct operators_source operators;
    struct hta_source hta;
    struct sutra_table split;
    size_t n_ranks;
};

static const struct sutra_table *table_of(const struct overview_source *source, enum sutra_overview_table id) {
    return sutra_result_table(SUTRA_RESULT(source->overview), id, NULL);
}

/* Whether a device did anything. */
static bool has_work(const struct overview_source *source) {
    return table_of(source, SUTRA_OVERVIEW_KERNELS)->n_rows > 0;
}

static double sum_of(const struct sutra_table *table, uint32_t column) {
    double sum = 0;
    for (uint64_t row = 0; row < table->n_rows; row++)
        sum += table_get_real(table, column, row);
    return sum;
}

/* ---- Findings ---- */

static void show_findings(struct page *page, const void *of) {
    const struct overview_source *source = of;
    struct sutra_finding finding;
    page_findings_begin(page);
    for (size_t i = 0; sutra_overview_finding(source->overview, i, &finding); i++)
        page_finding(page, finding.rule, finding.saving_percent, finding.text);
    page_findings_end(page);
    if (!has_work(source))
        page_words(page, "No GPU activity in the trace: profile with ProfilerActivity.CUDA.");
    else if (!sutra_overview_finding(source->overview, 0, &finding))
        page_words(page, "No findings: no rule fires on this trace. See the time breakdown below.");
}

/* ---- Figures ---- */

static void card_share(struct page *page, const struct overview_source *source, const char *name, int first, int last,
                       const char *what) {
    char note[96];
    double window = sum_of(&source->split, SPLIT_PARTS + N_SPLIT_PARTS), us = 0;
    for (int part = first; part <= last; part++)
        us += sum_of(&source->split, SPLIT_PARTS + (uint32_t)part);
    snprintf(note, sizeof note, "%s%s%s", shown_figure(us, UNIT_US).text, *what ? ", " : "", what);
    page_card(page, name, window > 0 ? 100 * us / window : NAN, UNIT_PERCENT, note);
}

static void show_shares(struct page *page, const struct overview_source *source) {
    card_share(page, source, "Compute", 0, 0, "");
    card_share(page, source, "Exposed communication", 1, 1, "without overlapping compute");
    card_share(page, source, "Exposed memcpy", 2, 2, "without overlapping activity");
    card_share(page, source, "GPU idle: host", 3, 3, "launch-bound");
    card_share(page, source, "GPU idle: other", 4, 7, "data loading, synchronizing, launched before");
}

static void show_cards(struct page *page, const struct overview_source *source) {
    const struct sutra_table *ranks = table_of(source, SUTRA_OVERVIEW_STEP_RANKS);
    char note[160];
    page_cards_begin(page);
    if (ranks->n_rows) {
        double n = sum_of(ranks, STEP_RANKS_N);
        double mean = 0;
        for (uint64_t row = 0; row < ranks->n_rows; row++)
            mean += table_get_real(ranks, STEP_RANKS_MEAN, row) * table_get_real(ranks, STEP_RANKS_N, row) / n;
        snprintf(note, sizeof note, "%s", n > 1 ? "mean of " : "one step");
        if (n > 1)
            snprintf(note + strlen(note), sizeof note - strlen(note), "%s", shown_decimal(n, 0).text);
        page_card(page, "Step", mean, UNIT_US, note);
    } else {
        page_card(page, "Window", sum_of(&source->split, SPLIT_PARTS + N_SPLIT_PARTS) / (double)source->n_ranks,
                  UNIT_US, source->n_ranks > 1 ? "mean per rank" : "");
    }
    if (has_work(source))
        show_shares(page, source);
    page_cards_end(page);
}

/* ---- Time and steps ---- */

#define EXPOSED_WORDS                                                                                                  \
    "Exposed communication does not overlap with compute; exposed memcpy overlaps with neither. Overlapped activity "  \
    "costs no time."

static void show_time(struct page *page, const void *of) {
    const struct overview_source *source = of;
    static const struct bars_words words = {"time_of_ranks",
                                            "Time breakdown",
                                            "One bar per rank: compute, exposed communication, exposed memcpy, and GPU "
                                            "idle time by cause.",
                                            EXPOSED_WORDS,
                                            "Time breakdown of each rank",
                                            NULL};
    if (!has_work(source)) {
        page_missing(page, "Time", "no GPU activity in the trace");
        return;
    }
    page_bars(page, split_bars(&source->split, SPLIT_PARTS), RANKS_AS_BARS, &words);
    page_table(page, table_of(source, SUTRA_OVERVIEW_TIMELINE), "Time breakdown", "overview_timeline");
}

/* Whether the time of each rank is that of one step, which the chart of time shows. */
static bool has_single_steps(const struct sutra_table *ranks) {
    for (uint64_t row = 0; row < ranks->n_rows; row++)
        if (table_get_integer(ranks, STEP_RANKS_N, row) > 1)
            return false;
    return true;
}

/* The steps of the rank that has the slowest. */
static void take_slowest_rank(const struct sutra_table *steps, struct sutra_table *made, int64_t *rank) {
    uint64_t slowest = 0;
    for (uint64_t row = 1; row < steps->n_rows; row++)
        if (table_get_real(steps, STEPS_TIME, row) > table_get_real(steps, STEPS_TIME, slowest))
            slowest = row;
    *rank = table_get_integer(steps, STEPS_RANK, slowest);
    table_init_like(made, steps);
    for (uint64_t row = 0; row < steps->n_rows; row++)
        if (table_get_integer(steps, STEPS_RANK, row) == *rank)
            table_append_row(made, steps, row);
}

static void show_step_list(struct page *page, const struct sutra_table *steps, size_t n_ranks) {
    struct sutra_table of_rank;
    char title[96] = "Steps";
    int64_t rank;
    take_slowest_rank(steps, &of_rank, &rank);
    struct bars bars = split_bars(&of_rank, STEPS_PARTS);
    bars.labels[0] = STEPS_NAME;
    if (n_ranks > 1)
        snprintf(title, sizeof title, "Steps of rank %" PRId64 ", which has the slowest step", rank);
    const struct bars_words words = {"steps",
                                     title,
                                     "One bar per step: its time breakdown.",
                                     of_rank.n_rows > STEPS_SHOWN ? "The chart shows the first 48 steps." : NULL,
                                     title,
                                     "steps"};
    if (n_ranks > 1)
        page_subtitle(page, title);
    page_bars(page, bars, STEPS_SHOWN, &words);
    table_free(&of_rank);
}

/* Which step is the slowest of all, and why it is slower than others of its rank. */
static void say_slowest(struct page *page, const struct sutra_table *ranks) {
    char words[400];
    size_t length;
    uint64_t row = 0;
    for (uint64_t i = 1; i < ranks->n_rows; i++)
        if (table_get_real(ranks, STEP_RANKS_SLOWEST, i) > table_get_real(ranks, STEP_RANKS_SLOWEST, row))
            row = i;
    const char *step = table_get_text(ranks, STEP_RANKS_STEP, row, &length),
               *cause = table_get_text(ranks, STEP_RANKS_CAUSE, row, &length);
    if (length == 0)
        return;
    snprintf(words, sizeof words,
             "The slowest step is %.64s of rank %" PRId64
             ": %s, median %s. Largest difference: %s above the median (%s).",
             step, table_get_integer(ranks, STEP_RANKS_RANK, row),
             shown_figure(table_get_real(ranks, STEP_RANKS_SLOWEST, row), UNIT_US).text,
             shown_figure(table_get_real(ranks, STEP_RANKS_MEDIAN, row), UNIT_US).text,
             shown_figure(table_get_real(ranks, STEP_RANKS_MORE, row), UNIT_US).text, cause);
    page_words(page, words);
}

static void show_steps(struct page *page, const void *of) {
    const struct overview_source *source = of;
    const struct sutra_table *steps = table_of(source, SUTRA_OVERVIEW_STEPS);
    const struct sutra_table *ranks = table_of(source, SUTRA_OVERVIEW_STEP_RANKS);
    const struct sutra_table *places = table_of(source, SUTRA_OVERVIEW_STEP_INDICES);
    static const struct bars_words words = {"mean_steps",
                                            "Mean step of each rank",
                                            "One bar per rank: the time breakdown of its mean step.",
                                            NULL,
                                            "Steps by rank: mean, spread, slowest step and cause",
                                            "step_ranks"};
    if (steps->n_rows == 0) {
        page_missing(page, "Steps",
                     "no ProfilerStep is recorded, and no kernel sequence repeats for at least half of the time; "
                     "--annotation NAME uses annotations as steps");
        return;
    }
    bool several = !has_single_steps(ranks), bars = several && source->n_ranks > 1 && source->n_ranks <= RANKS_AS_BARS;
    if (several)
        say_slowest(page, ranks);
    else
        page_words(page, source->n_ranks > 1 ? "Each rank has one step, which the chart above shows."
                                             : "There is one step, which the chart above shows.");
    if (bars)
        page_bars(page, split_bars(ranks, STEP_RANKS_PARTS), RANKS_AS_BARS, &words);
    if (several)
        show_step_list(page, steps, source->n_ranks);
    else
        page_table(page, steps, "Steps", "steps");
    if (several && !bars)
        page_table(page, ranks, words.caption, words.file);
    if (places->n_rows)
        page_table(page, places, "Step n over ranks: mean, spread, slowest rank and cause", "step_indices");
}

/* ---- What other pages have, too ---- */

static void show_operators(struct page *page, const void *of) {
    const struct operators_source *source = &((const struct overview_source *)of)->operators;
    operators_show_operators(page, source);
    operators_show_categories(page, source);
    operators_show_arguments(page, source);
    operators_show_annotations(page, source);
}

static void show_modules(struct page *page, const void *of) {
    operators_show_modules(page, &((const struct overview_source *)of)->operators);
}

static void show_kernels(struct page *page, const void *of) {
    const struct operators_source *source = &((const struct overview_source *)of)->operators;
    operators_show_kernels(page, source);
    operators_show_durations(page, source);
    operators_show_configurations(page, source);
}

static void show_rates(struct page *page, const void *of) {
    operators_show_rates(page, &((const struct overview_source *)of)->operators);
}

static void show_waits(struct page *page, const struct sutra_table *waits) {
    static const struct bars_words words = {"waited_for",
                                            "Wait caused by each rank",
                                            "One bar per rank: the wait of the other ranks in collectives at which it "
                                            "arrives last.",
                                            NULL,
                                            "Collective waits",
                                            "collective_waits"};
    const struct bars bars = {.table = waits,
                              .n_labels = 1,
                              .values = {{WAITS_FOR, "causes wait", COLOUR_COUNT}},
                              .n_values = 1,
                              .unit = UNIT_US};
    if (waits->n_rows < 2) {
        page_missing(page, "Collective waits",
                     "no collective is recorded on several ranks: pass the traces of several ranks");
        return;
    }
    page_subtitle(page, words.title);
    if (sum_of(waits, WAITS_FOR) > 0) {
        page_bars(page, bars, RANKS_AS_BARS, &words);
        return;
    }
    page_words(page, "All ranks arrive at their collectives at the same time.");
    page_table(page, waits, words.caption, words.file);
}

static void show_overlap(struct page *page, const struct overview_source *source) {
    static const struct bars_words words = {"overlap",
                                            "Overlap of communication and compute",
                                            "One bar per rank: communication that overlaps with compute, and exposed "
                                            "communication.",
                                            NULL,
                                            "Communication of each rank",
                                            "overview_ranks"};
    struct sutra_table table;
    overlap_table(&table, table_of(source, SUTRA_OVERVIEW_RANKS), &source->split);
    const struct bars bars = {.table = &table,
                              .n_labels = 1,
                              .values = {{OVERLAP_HIDDEN_US, "overlaps with compute", COLOUR_HIDDEN},
                                         {OVERLAP_EXPOSED_US, "exposed", COLOUR_COMMUNICATION}},
                              .n_values = 2,
                              .unit = UNIT_US};
    if (!page_bars(page, bars, RANKS_AS_BARS, &words))
        page_missing(page, "Overlap", "the trace has no communication kernels");
    table_free(&table);
}

static void show_communication(struct page *page, const void *of) {
    const struct overview_source *source = of;
    show_overlap(page, source);
    show_waits(page, table_of(source, SUTRA_OVERVIEW_COLLECTIVE_WAITS));
}

/* Streams of all ranks, the busiest first. */
static void show_work(struct page *page, const struct overview_source *source) {
    static const struct bars_words words = {"stream_work",
                                            "GPU activity of streams",
                                            "One bar per stream: compute, communication, memcpy and memset; descending "
                                            "by busy time.",
                                            NULL,
                                            "GPU activity of each stream, descending",
                                            "overview_streams"};
    struct sutra_table streams;
    table_init_like(&streams, table_of(source, SUTRA_OVERVIEW_STREAMS));
    table_append(&streams, table_of(source, SUTRA_OVERVIEW_STREAMS));
    table_sort_falling(&streams, STREAMS_WORK, STREAMS_WORK);
    struct bars bars = {.table = &streams,
                        .labels = {STREAMS_STREAM},
                        .n_labels = 1,
                        .label_prefix = "stream ",
                        .values = {{STREAMS_COMPUTE, "compute", COLOUR_COMPUTE},
                                   {STREAMS_COMMUNICATION, "communication", COLOUR_COMMUNICATION},
                                   {STREAMS_COPIES, "memcpy and memset", COLOUR_COPIES}},
                        .n_values = 3,
                        .unit = UNIT_US};
    if (source->n_ranks > 1) {
        bars.labels[0] = STREAMS_RANK;
        bars.labels[bars.n_labels++] = STREAMS_STREAM;
    }
    page_check(page, &streams);
    page_subtitle(page, words.title);
    if (streams.n_rows > 1)
        page_bars(page, bars, STREAMS_SHOWN, &words);
    else
        page_table(page, &streams, words.caption, words.file);
    table_free(&streams);
}

/* HTA's rules cut the last step off, which the other sections have. */
static void say_cut(struct page *page, const struct overview_source *source) {
    if (source->hta.sums.all->n_steps > 1)
        page_words(page, "By the rules of HTA, without the last ProfilerStep:");
}

static void show_streams(struct page *page, const void *of) {
    const struct overview_source *source = of;
    if (!table_of(source, SUTRA_OVERVIEW_STREAMS)->n_rows) {
        page_missing(page, "Streams", "no GPU activity on a stream");
        return;
    }
    show_work(page, source);
    page_subtitle(page, "Idle time of streams");
    say_cut(page, source);
    hta_idle_show(page, &source->hta);
    hta_queues_show(page, &source->hta);
}

static void show_launches(struct page *page, const void *of) {
    const struct overview_source *source = of;
    if (has_work(source))
        say_cut(page, source);
    hta_launches_show(page, &source->hta);
    hta_copies_show(page, &source->hta);
}

static const struct page_section sections[] = {
    {"findings", "Findings",
     "Bottlenecks, sorted by estimated saving in percent of the time. Savings do not add up: after one fix, another cause "
     "may be the limit. The rules prefer a missed finding to a wrong one.",
     show_findings},
    {"time", "Time breakdown",
     "GPU time from the first step to the end of the last step, or of the full trace without steps, and GPU idle time by "
     "cause. Host: the next activity is not launched yet. Launched before: the next activity is launched but has not "
     "started; the GPU waits for other streams, or runs activity that is not recorded.",
     show_time},
    {"steps", "Steps",
     "Time breakdown of each step. A profiler step starts with its annotation on the CPU, or when the GPU activity of the "
     "previous step ends, if later, and ends with the next step. Without profiler steps, repeating kernel sequences are "
     "steps. A step of --annotation is from the start to the end of the annotation on the CPU.",
     show_steps},
    {"operators", "Operators", "GPU activity that each operator launches itself, without its child operators.",
     show_operators},
    {"kernels", "Kernels", "Kernels, memcpy and memset by name.", show_kernels},
    {"rates", "Rates", "FLOP rates of operators against the peak rates of the GPU.", show_rates},
    {"modules", "Modules", "GPU activity by module, forward and backward.", show_modules},
    {"communication", "Communication",
     "Overlap of communication and compute, and stragglers. Only exposed communication costs time. All ranks leave a "
     "collective together, after the last rank arrives; the wait of the other ranks counts for this rank, as the sum of "
     "its means. Clocks are aligned by the end times of collectives.",
     show_communication},
    {"streams", "Streams",
     "GPU activity, idle time and queue length of each stream. Host wait: the next kernel is launched after the previous "
     "kernel ends. Kernel wait: the next kernel is launched before, and the gap is short. A queue that is empty most of "
     "the time means that the stream waits for the CPU (launch-bound).",
     show_streams},
    {"launches", "Launches and memcpy",
     "Launch calls, and memcpy bandwidth. The queue delay is from the end of the call to the start of the kernel. With long "
     "queues, it is mostly wait for earlier kernels and costs no time.",
     show_launches},
    {"missing", "More analyses",
     "Kernel sequences, and a row per launch: sutra analyze hta TRACE -o DIR. CPU overheads by operator, and dominating "
     "operators: sutra analyze dlrm TRACE -o DIR. Critical path of a step: sutra critical-path TRACE.",
     NULL},
    {0},
};

/* ---- The page ---- */

static void write_page(struct page *page, const struct overview_source *source) {
    const struct sutra_operators_rank *first = sutra_operators_ranks_get(source->operators.ranks, 0);
    char title[96], more[96] = "";
    if (source->n_ranks > 1) {
        snprintf(title, sizeof title, "Bottlenecks and time breakdown of %s ranks",
                 shown_decimal((double)source->n_ranks, 0).text);
        snprintf(more, sizeof more, " and %s more", shown_decimal((double)source->n_ranks - 1, 0).text);
    } else {
        snprintf(title, sizeof title, "Bottlenecks and time breakdown of rank %" PRId64, first->rank);
    }
    page_head(page, title, first->path, more, sections);
    operators_show_warnings(page, source->operators.ranks);
    page_section(page, &sections[0], source);
    show_cards(page, source);
    page_sections(page, sections + 1, source);
}

enum sutra_status sutra_report_write_overview(struct sutra_context *context, const struct sutra_overview *overview,
                                              const char *folder, uint64_t *n_bytes, struct sutra_error *error) {
    struct overview_source source = {
        .overview = overview,
        .operators.ranks = sutra_overview_operators(overview),
        .hta = {.ranks = sutra_overview_hta(overview), .sums.size = sizeof source.hta.sums}};
    struct page page;
    sutra_hta_ranks_sum(source.hta.ranks, &source.hta.sums);
    page_open(&page, context, folder, PAGE_FIRST, error);
    page.n_rows = PAGE_ROWS_FEW;
    page.beside = PAGE_HTA;
    split_table(&source.split, sutra_result_table(SUTRA_RESULT(overview), SUTRA_OVERVIEW_TIMELINE, NULL));
    source.n_ranks = source.split.n_rows;
    lines_table(&source.operators.lines,
                sutra_result_table(SUTRA_RESULT(source.operators.ranks), SUTRA_OPERATORS_TIMELINE, NULL));
    page_check(&page, &source.split);
    page_check(&page, &source.operators.lines);
    write_page(&page, &source);
    table_free(&source.split);
    table_free(&source.operators.lines);
    enum sutra_status status = page_close(&page);
    source.hta.is_beside = true;
    if (!status)
        status = hta_page_write(context, &source.hta, folder, &page.n_bytes, error);
    if (!status)
        status = page_links_set(context, folder, error);
    if (!status && n_bytes)
        *n_bytes = page.n_bytes;
    return status;
}
