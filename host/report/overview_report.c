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

#include "report/charts.h"
#include "report/sections.h"
#include "sutra/overview.h"
#include "sutra/report.h"

/* The parts of the time of a rank, which do not overlap; their columns are adjacent in each table that has them. */
#define N_PARTS 8

static const struct {
    const char *column, *name;
    int colour;
} parts[N_PARTS] = {{"compute_us", "compute", COLOUR_COMPUTE},
                    {"exposed_communication_us", "exposed communication", COLOUR_COMMUNICATION},
                    {"exposed_copies_us", "exposed memcpy", COLOUR_COPIES},
                    {"idle_host_us", "idle: host", COLOUR_WAIT_HOST},
                    {"idle_dataloader_us", "idle: data loading", COLOUR_WAIT_DATA},
                    {"idle_sync_us", "idle: synchronizing", COLOUR_WAIT_SYNC},
                    {"idle_device_us", "idle: launched before", COLOUR_WAIT_DEVICE},
                    {"idle_rest_us", "idle: unknown cause", COLOUR_IDLE}};

/* Bars of the parts, labelled by a column of the table. */
static struct bars bars_of_parts(const struct sutra_table *table, const char *label) {
    struct bars bars = {
        .table = table, .labels = {table_column(table, label)}, .n_labels = 1, .n_values = N_PARTS, .unit = UNIT_US};
    for (int i = 0; i < N_PARTS; i++)
        bars.values[i] = (struct bar_value){table_column(table, parts[i].column), parts[i].name, parts[i].colour};
    return bars;
}

/* The part of a line of the analysis's timeline; N_PARTS: the line is a sum of other lines. */
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
    return N_PARTS;
}

/* Steps and streams as bars. */
#define STEPS_SHOWN   48
#define STREAMS_SHOWN 16

/* The source of the page. */
struct overview_source {
    const struct sutra_overview *overview;
    struct operators_source operators;
    struct hta_source hta;
    struct sutra_table split; /* the parts of each rank */
    size_t n_ranks;
};

static const struct sutra_table *table_of(const struct overview_source *source, enum sutra_overview_table id) {
    return sutra_result_table(SUTRA_RESULT(source->overview), id, NULL);
}

/* Whether the trace has GPU activity. */
static bool has_work(const struct overview_source *source) {
    return table_of(source, SUTRA_OVERVIEW_KERNELS)->n_rows > 0;
}

static double sum_of(const struct sutra_table *table, const char *column) {
    double sum = 0;
    for (uint64_t row = 0; row < table->n_rows; row++)
        sum += real_named(table, column, row);
    return sum;
}

/* ---- Findings ---- */

static void show_findings(struct page *page, const void *of) {
    const struct overview_source *source = of;
    const struct sutra_table *steps = table_of(source, SUTRA_OVERVIEW_STEPS);
    const int64_t rank = sutra_overview_verdict(source->overview)->rank;
    struct sutra_table of_rank;
    table_init_like(&of_rank, steps);
    for (uint64_t row = 0; row < steps->n_rows; row++)
        if (integer_named(steps, "rank", row) == rank)
            table_append_row(&of_rank, steps, row);
    page_check(page, &of_rank);
    const struct bars bars = bars_of_parts(&of_rank, "step");
    verdict_show(page, source->overview, of_rank.failed ? NULL : &bars);
    table_free(&of_rank);
}

/* ---- Cards ---- */

/* The share of the parts first..last. */
static void card_share(struct page *page, const struct overview_source *source, const char *name, int first, int last,
                       const char *what) {
    char note[96];
    double window = sum_of(&source->split, "window_us"), us = 0;
    for (int part = first; part <= last; part++)
        us += sum_of(&source->split, parts[part].column);
    snprintf(note, sizeof note, "total %s%s%s%s", shown_figure(us, UNIT_US).text,
             source->n_ranks > 1 ? " of all ranks" : "", *what ? ", " : "", what);
    page_card(page, name, window > 0 ? 100 * us / window : NAN, UNIT_PERCENT, note);
}

static void show_cards(struct page *page, const void *of) {
    const struct overview_source *source = of;
    const struct sutra_table *ranks = table_of(source, SUTRA_OVERVIEW_STEP_RANKS);
    char note[160];
    if (ranks->n_rows) {
        double n = sum_of(ranks, "steps"), mean = 0;
        for (uint64_t row = 0; row < ranks->n_rows; row++)
            mean += real_named(ranks, "mean_us", row) * real_named(ranks, "steps", row) / n;
        snprintf(note, sizeof note, "%s%s", n > 1 ? "mean of " : "one step", n > 1 ? shown_decimal(n, 0).text : "");
        page_card(page, "Step", mean, UNIT_US, note);
    } else {
        page_card(page, "Window", sum_of(&source->split, "window_us") / (double)source->n_ranks, UNIT_US,
                  source->n_ranks > 1 ? "mean per rank" : "");
    }
    if (!has_work(source))
        return;
    card_share(page, source, "Compute", 0, 0, "");
    card_share(page, source, "Exposed communication", 1, 1, "without overlapping compute");
    card_share(page, source, "Exposed memcpy", 2, 2, "without overlapping activity");
    card_share(page, source, "GPU idle: host", 3, 3, "launch-bound");
    card_share(page, source, "GPU idle: other", 4, 7, "data loading, synchronizing, launched before");
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
    page_bars(page, bars_of_parts(&source->split, "rank"), RANKS_AS_BARS, &words);
    page_table(page, table_of(source, SUTRA_OVERVIEW_TIMELINE), "Time breakdown", "overview_timeline");
}

/* Shows the steps of the rank with the slowest step. */
static void show_step_list(struct page *page, const struct sutra_table *steps, size_t n_ranks) {
    struct sutra_table of_rank;
    char title[96] = "Steps";
    uint64_t slowest = 0;
    for (uint64_t row = 1; row < steps->n_rows; row++)
        if (real_named(steps, "time_us", row) > real_named(steps, "time_us", slowest))
            slowest = row;
    int64_t rank = integer_named(steps, "rank", slowest);
    table_init_like(&of_rank, steps);
    for (uint64_t row = 0; row < steps->n_rows; row++)
        if (integer_named(steps, "rank", row) == rank)
            table_append_row(&of_rank, steps, row);
    struct bars bars = bars_of_parts(&of_rank, "step");
    if (n_ranks > 1)
        snprintf(title, sizeof title, "Steps of rank %" PRId64 ", which has the slowest step", rank);
    const struct bars_words words = {"steps", title, "One bar per step: its time breakdown.", NULL, title, "steps"};
    if (n_ranks > 1)
        page_subtitle(page, title);
    page_bars(page, bars, STEPS_SHOWN, &words);
    table_free(&of_rank);
}

static void show_steps(struct page *page, const void *of) {
    const struct overview_source *source = of;
    const struct sutra_table *steps = page_find_table(
        page, SUTRA_RESULT(source->overview), SUTRA_OVERVIEW_STEPS, "Steps",
        "no ProfilerStep is recorded, and no kernel sequence repeats for at least half of the time; --annotation NAME "
        "uses annotations as steps");
    const struct sutra_table *ranks = table_of(source, SUTRA_OVERVIEW_STEP_RANKS);
    const struct sutra_table *indices = table_of(source, SUTRA_OVERVIEW_STEP_INDICES);
    static const struct bars_words words = {"mean_steps",
                                            "Mean step of each rank",
                                            "One bar per rank: the time breakdown of its mean step.",
                                            NULL,
                                            "Steps by rank: mean, spread, slowest step and cause",
                                            "step_ranks"};
    if (!steps)
        return;
    bool several = false;
    for (uint64_t row = 0; row < ranks->n_rows; row++)
        several |= integer_named(ranks, "steps", row) > 1;
    bool bars = several && source->n_ranks > 1 && source->n_ranks <= RANKS_AS_BARS;
    if (several) { /* the slowest step of all ranks, and the part that makes it slower than the median of its rank */
        char text[400];
        uint64_t row = 0;
        for (uint64_t i = 1; i < ranks->n_rows; i++)
            if (real_named(ranks, "slowest_us", i) > real_named(ranks, "slowest_us", row))
                row = i;
        const char *step = text_named(ranks, "slowest_step", row);
        const char *cause = text_named(ranks, "cause", row);
        snprintf(text, sizeof text,
                 "The slowest step is %.64s of rank %" PRId64
                 ": %s, median %s. The largest excess is in %s: %s above the median.",
                 step, integer_named(ranks, "rank", row),
                 shown_figure(real_named(ranks, "slowest_us", row), UNIT_US).text,
                 shown_figure(real_named(ranks, "median_us", row), UNIT_US).text, cause,
                 shown_figure(real_named(ranks, "more_us", row), UNIT_US).text);
        if (*cause)
            page_words(page, text);
    } else
        page_words(page, source->n_ranks > 1 ? "Each rank has one step, which the chart above shows."
                                             : "There is one step, which the chart above shows.");
    if (bars)
        page_bars(page, bars_of_parts(ranks, "rank"), RANKS_AS_BARS, &words);
    if (several)
        show_step_list(page, steps, source->n_ranks);
    else
        page_table(page, steps, "Steps", "steps");
    if (several && !bars)
        page_table(page, ranks, words.caption, words.file);
    if (indices->n_rows)
        page_table(page, indices, "Step n over ranks: mean, spread, slowest rank and cause", "step_indices");
}

/* ---- Sections of other pages ---- */

static void show_operators(struct page *page, const void *of) {
    const struct operators_source *source = &((const struct overview_source *)of)->operators;
    operators_show_operators(page, source);
    operators_show_categories(page, source);
    operators_show_arguments(page, source);
    operators_show_annotations(page, source);
    const struct sutra_table *graphs =
        sutra_result_table(SUTRA_RESULT(source->ranks), SUTRA_OPERATORS_GRAPH_KERNELS, NULL);
    if (graphs && graphs->n_rows) {
        page_subtitle(page, "CUDA graphs");
        operators_show_graphs(page, source);
    }
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
    const struct bars bars = bars_of_value(waits, "rank", "wait_caused_us", "causes wait", COLOUR_COUNT, UNIT_US);
    if (waits->n_rows < 2) {
        page_missing(page, "Collective waits",
                     "no collective is recorded on several ranks: pass the traces of several ranks");
        return;
    }
    page_subtitle(page, words.title);
    if (sum_of(waits, "wait_caused_us") > 0) {
        page_bars(page, bars, RANKS_AS_BARS, &words);
        return;
    }
    page_words(page, "All ranks arrive at their collectives at the same time.");
    page_table(page, waits, words.caption, words.file);
}

static void show_communication(struct page *page, const void *of) {
    static const struct column_spec specs[] = {INTEGER("rank"), REAL("hidden_us"), REAL("exposed_us"),
                                               REAL("communication_us"), REAL("overlap_percent")};
    const struct overview_source *source = of;
    const struct sutra_table *ranks = table_of(source, SUTRA_OVERVIEW_RANKS);
    struct sutra_table table;
    table_init(&table, "overview_overlap", specs, sizeof specs / sizeof *specs);
    for (uint64_t row = 0; row < ranks->n_rows && row < source->split.n_rows; row++) { /* both in the order of ranks */
        double all = real_named(ranks, "communication_us", row);
        double exposed = fmin(real_named(&source->split, "exposed_communication_us", row), all);
        if (!(all > 0))
            continue;
        table_integer(&table, integer_named(ranks, "rank", row));
        table_real(&table, all - exposed);
        table_real(&table, exposed);
        table_real(&table, all);
        table_real(&table, (all - exposed) / all * 100);
    }
    overlap_show(page, &table, "overview_ranks", "the trace has no communication kernels");
    table_free(&table);
    show_waits(page, table_of(source, SUTRA_OVERVIEW_COLLECTIVE_WAITS));
}

/* HTA omits the last step, which the other sections include. */
static void show_hta_note(struct page *page, const struct overview_source *source) {
    if (source->hta.sums.all->n_steps > 1)
        page_words(page, "By the rules of HTA, without the last ProfilerStep:");
}

static void show_streams(struct page *page, const void *of) {
    static const struct bars_words words = {"stream_work",
                                            "GPU activity of streams",
                                            "One bar per stream: compute, communication, memcpy and memset; descending "
                                            "by busy time.",
                                            NULL,
                                            "GPU activity of each stream, descending",
                                            "overview_streams"};
    const struct overview_source *source = of;
    const struct sutra_table *of_ranks = page_find_table(page, SUTRA_RESULT(source->overview), SUTRA_OVERVIEW_STREAMS,
                                                         "Streams", "no GPU activity on a stream");
    if (!of_ranks)
        return;
    /* Streams of all ranks, in descending order of busy time. */
    struct sutra_table streams;
    table_init_like(&streams, of_ranks);
    table_append(&streams, of_ranks);
    uint32_t stream = table_column(&streams, "stream"), work = table_column(&streams, "work_us");
    table_sort_descending(&streams, work, work);
    struct bars bars = {.table = &streams,
                        .labels = {stream},
                        .n_labels = 1,
                        .label_prefix = "stream ",
                        .values = {{table_column(&streams, "compute_us"), "compute", COLOUR_COMPUTE},
                                   {table_column(&streams, "communication_us"), "communication", COLOUR_COMMUNICATION},
                                   {table_column(&streams, "copies_us"), "memcpy and memset", COLOUR_COPIES}},
                        .n_values = 3,
                        .unit = UNIT_US};
    if (source->n_ranks > 1) {
        bars.labels[0] = table_column(&streams, "rank");
        bars.labels[bars.n_labels++] = stream;
    }
    page_check(page, &streams);
    page_subtitle(page, words.title);
    if (streams.n_rows > 1)
        page_bars(page, bars, STREAMS_SHOWN, &words);
    else
        page_table(page, &streams, words.caption, words.file);
    table_free(&streams);
    page_subtitle(page, "Idle time of streams");
    show_hta_note(page, source);
    hta_idle_show(page, &source->hta);
    hta_queues_show(page, &source->hta);
}

static void show_launches(struct page *page, const void *of) {
    const struct overview_source *source = of;
    if (has_work(source))
        show_hta_note(page, source);
    hta_launches_show(page, &source->hta);
    hta_copies_show(page, &source->hta);
}

static const struct page_section sections[] = {
    {"findings", "Findings",
     "Why a step is slow, what it could be, and what to do. Savings of findings overlap and do not add up; the times of "
     "the headline count each moment once. They are lower bounds of a step: after one fix, another cause may be the "
     "limit. The rules prefer a missed finding to a wrong one.",
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
     "collective together, after the last rank arrives. The mean wait of a collective is attributed to the last rank, and "
     "summed by rank. Clocks are aligned by the end times of collectives.",
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

static void warn(struct page *page, const void *of) {
    operators_show_warnings(page, ((const struct overview_source *)of)->operators.ranks);
}

enum sutra_status sutra_report_write_overview(struct sutra_context *context, const struct sutra_overview *overview,
                                              const char *folder, uint64_t *n_bytes, struct sutra_error *error) {
    struct overview_source source = {
        .overview = overview,
        .operators.ranks = sutra_overview_operators(overview),
        .hta = {.ranks = sutra_overview_companion(overview), .sums.size = sizeof source.hta.sums}};
    const struct sutra_table *timeline =
        sutra_result_table(SUTRA_RESULT(source.operators.ranks), SUTRA_OPERATORS_TIMELINE, NULL);
    const struct sutra_operators_rank *first = sutra_operators_ranks_get(source.operators.ranks, 0);
    const struct sutra_table *parts_of_time = sutra_result_table(SUTRA_RESULT(overview), SUTRA_OVERVIEW_TIMELINE, NULL);
    struct column_spec specs[N_PARTS + 2] = {INTEGER("rank"), [N_PARTS + 1] = REAL("window_us")};
    struct page page;
    sutra_hta_ranks_sum(source.hta.ranks, &source.hta.sums);
    page_open(&page, context, folder, PAGE_FIRST, error);
    page.n_rows = PAGE_ROWS_FEW;
    page.companion = PAGE_HTA;
    /* The table of the parts and their sum, by rank. */
    for (int part = 0; part < N_PARTS; part++)
        specs[part + 1] = (struct column_spec)REAL(parts[part].column);
    table_init(&source.split, "time_of_ranks", specs, N_PARTS + 2);
    for (uint64_t row = 0; row < parts_of_time->n_rows;) {
        int64_t rank = integer_named(parts_of_time, "rank", row);
        double us[N_PARTS + 1] = {0}, window = 0;
        for (; row < parts_of_time->n_rows && integer_named(parts_of_time, "rank", row) == rank; row++)
            us[part_of(text_named(parts_of_time, "kind", row))] += real_named(parts_of_time, "time_us", row);
        table_integer(&source.split, rank);
        for (int part = 0; part < N_PARTS; part++) {
            table_real(&source.split, us[part]);
            window += us[part];
        }
        table_real(&source.split, window);
    }
    source.n_ranks = source.split.n_rows;
    lines_table(&source.operators.lines, timeline);
    page_check(&page, &source.split);
    page_check(&page, &source.operators.lines);
    const struct rank_title title = title_of_ranks("Bottlenecks and time breakdown", first->rank, source.n_ranks);
    const struct page_frame frame = {.title = title.title,
                                     .path = first->path,
                                     .more = title.more,
                                     .warnings = warn,
                                     .n_above = 1,
                                     .cards = show_cards,
                                     .sections = sections};
    enum sutra_status status = page_write(&page, &frame, &source, NULL);
    table_free(&source.split);
    table_free(&source.operators.lines);
    source.hta.with_overview = true;
    if (!status)
        status = hta_page_write(context, &source.hta, folder, &page.n_bytes, error);
    if (!status)
        status = page_links_set(context, folder, error);
    if (!status && n_bytes)
        *n_bytes = page.n_bytes;
    return status;
}
