/*
 * hta_report.c - writes the page on HTA's tables of one or many ranks: key numbers, a section per question, missing
 * tables.
 */
#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>

#include "analyze/hta/ranks.h"
#include "base/arena.h"
#include "base/error.h"
#include "columns/strings.h"
#include "report/hta_report.h"
#include "report/page_table.h"
#include "text/quantities.h"

/*
 * Computes the tables for the page on ranks. O(rows), plus a sort for ordered tables.
 */

/* The rank at place `*i`, which moves on; NULL behind the last one that was not left out. */
static const struct sutra_hta_rank *next_rank(const struct sutra_hta_ranks *ranks, size_t *i) {
    const struct sutra_hta_rank *rank = sutra_hta_ranks_get(ranks, (*i)++);
    return rank && !rank->reason ? rank : NULL;
}

void hta_time_table(struct sutra_table *table, const struct sutra_hta_ranks *ranks) {
    static const struct column_spec specs[] = {{"rank", SUTRA_COLUMN_INTEGER},
                                               {"compute_us", SUTRA_COLUMN_REAL},
                                               {"exposed_communication_us", SUTRA_COLUMN_REAL},
                                               {"exposed_memory_us", SUTRA_COLUMN_REAL},
                                               {"other_us", SUTRA_COLUMN_REAL},
                                               {"idle_us", SUTRA_COLUMN_REAL},
                                               {"kernel_time_us", SUTRA_COLUMN_REAL}};
    const struct sutra_hta_rank *rank;
    table_init(table, "time", specs, sizeof specs / sizeof *specs);
    for (size_t i = 0; (rank = next_rank(ranks, &i));) {
        const struct sutra_hta_summary *summary = rank->summary;
        if (summary->n_kernels == 0)
            continue;
        table_integer(table, rank->rank);
        table_real(table, summary->compute_us);
        table_real(table, summary->exposed_us);
        table_real(table, summary->memory_us);
        table_real(table, fmax(0, summary->busy_us - summary->compute_us - summary->exposed_us - summary->memory_us));
        table_real(table, summary->idle_us);
        table_real(table, summary->span_us);
    }
}

/* The share of a rank in the analysis's table, whose ranks rise as those that are asked for do. */
static double share_of(const struct sutra_table *shares, int64_t rank, uint64_t *at) {
    while (shares && *at < shares->n_rows && table_get_integer(shares, 0, *at) < rank)
        ++*at;
    bool found = shares && *at < shares->n_rows && table_get_integer(shares, 0, *at) == rank;
    return found ? table_get_real(shares, 1, *at) : NAN;
}

void hta_overlap_table(struct sutra_table *table, const struct sutra_hta_ranks *ranks,
                       const struct sutra_table *shares) {
    static const struct column_spec specs[] = {{"rank", SUTRA_COLUMN_INTEGER},
                                               {"hidden_us", SUTRA_COLUMN_REAL},
                                               {"exposed_us", SUTRA_COLUMN_REAL},
                                               {"communication_us", SUTRA_COLUMN_REAL},
                                               {"comp_comm_overlap_pctg", SUTRA_COLUMN_REAL}};
    const struct sutra_hta_rank *rank;
    uint64_t at = 0;
    table_init(table, "overlap", specs, sizeof specs / sizeof *specs);
    for (size_t i = 0; (rank = next_rank(ranks, &i));) {
        const struct sutra_hta_summary *summary = rank->summary;
        if (!(summary->communication_us > 0))
            continue;
        table_integer(table, rank->rank);
        table_real(table, summary->overlap_us);
        table_real(table, summary->communication_us - summary->overlap_us);
        table_real(table, summary->communication_us);
        table_real(table, share_of(shares, rank->rank, &at));
    }
}

/* ---- Kernels of all ranks ---- */

struct kernel_total {
    double sum;
    uint64_t row; /* where it stands first */
    int64_t n_ranks;
};

struct kernel_sums {
    struct strings keys; /* type, NUL, name */
    struct kernel_total *sums;
    struct buffer key;
    struct arena arena;
};

/* Columns of the analysis's table. */
enum { FROM_NAME, FROM_SUM, FROM_TYPE = 6 };

static bool add_kernel(struct kernel_sums *sums, const struct sutra_table *kernels, uint64_t row) {
    size_t name_length, type_length;
    const char *name = table_get_text(kernels, FROM_NAME, row, &name_length);
    const char *type = table_get_text(kernels, FROM_TYPE, row, &type_length);
    sums->key.length = 0;
    buffer_append(&sums->key, type, type_length + 1);
    buffer_append(&sums->key, name, name_length);
    uint32_t n = sums->keys.n;
    uint32_t number = sums->key.failed ? STRING_NONE : strings_intern(&sums->keys, sums->key.bytes, sums->key.length);
    if (number == STRING_NONE)
        return false;
    if (number == n)
        sums->sums[number] = (struct kernel_total){.row = row};
    sums->sums[number].sum += table_get_real(kernels, FROM_SUM, row);
    sums->sums[number].n_ranks++;
    return true;
}

static bool sum_kernels(struct kernel_sums *sums, const struct sutra_table *kernels) {
    sums->sums = arena_take(&sums->arena, kernels->n_rows, sizeof *sums->sums);
    bool ok = sums->sums && strings_init(&sums->keys);
    for (uint64_t row = 0; row < kernels->n_rows && ok; row++)
        ok = add_kernel(sums, kernels, row);
    return ok;
}

static void write_sums(struct sutra_table *table, const struct kernel_sums *sums, const struct sutra_table *kernels) {
    double total = 0;
    for (uint32_t i = 0; i < sums->keys.n; i++)
        total += sums->sums[i].sum;
    for (uint32_t i = 0; i < sums->keys.n; i++) {
        const struct kernel_total *sum = &sums->sums[i];
        size_t name_length, type_length;
        const char *name = table_get_text(kernels, FROM_NAME, sum->row, &name_length);
        const char *type = table_get_text(kernels, FROM_TYPE, sum->row, &type_length);
        table_text(table, name, name_length);
        table_text(table, type, type_length);
        table_real(table, sum->sum);
        table_real(table, total > 0 ? 100 * sum->sum / total : 0);
        table_integer(table, sum->n_ranks);
    }
    table_sort_falling(table, KERNEL_SUM, KERNEL_SUM);
}

void hta_kernels_table(struct sutra_table *table, const struct sutra_table *kernels) {
    static const struct column_spec specs[] = {{"name", SUTRA_COLUMN_TEXT},
                                               {"kernel_type", SUTRA_COLUMN_TEXT},
                                               {"sum (us)", SUTRA_COLUMN_REAL},
                                               {"share_pctg", SUTRA_COLUMN_REAL},
                                               {"ranks", SUTRA_COLUMN_INTEGER}};
    struct kernel_sums sums = {0};
    table_init(table, "kernels", specs, sizeof specs / sizeof *specs);
    if (sum_kernels(&sums, kernels))
        write_sums(table, &sums, kernels);
    else
        table->failed = true;
    strings_free(&sums.keys);
    buffer_free(&sums.key);
    arena_free(&sums.arena);
}

/* ---- Gaps ---- */

/* Columns of the analysis's table. */
enum { FROM_RANK, FROM_STREAM, FROM_CATEGORY, FROM_IDLE };

static uint32_t category_column(const struct sutra_table *idle, uint64_t row) {
    size_t length;
    const char *category = table_get_text(idle, FROM_CATEGORY, row, &length);
    return strcmp(category, "host_wait") == 0     ? IDLE_HOST
           : strcmp(category, "kernel_wait") == 0 ? IDLE_KERNEL
                                                  : IDLE_REST;
}

/* Turns the rows of each stream into one. */
static void gather_gaps(struct sutra_table *table, const struct sutra_table *idle) {
    for (uint64_t row = 0; row < idle->n_rows;) {
        int64_t rank = table_get_integer(idle, FROM_RANK, row), stream = table_get_integer(idle, FROM_STREAM, row);
        double us[IDLE_REST + 1] = {0};
        for (; row < idle->n_rows && table_get_integer(idle, FROM_RANK, row) == rank &&
               table_get_integer(idle, FROM_STREAM, row) == stream;
             row++)
            us[category_column(idle, row)] += table_get_real(idle, FROM_IDLE, row);
        table_integer(table, rank);
        table_integer(table, stream);
        for (int i = IDLE_HOST; i <= IDLE_REST; i++)
            table_real(table, us[i]);
    }
}

void hta_idle_table(struct sutra_table *table, const struct sutra_table *idle) {
    static const struct column_spec specs[] = {{"rank", SUTRA_COLUMN_INTEGER},
                                               {"stream", SUTRA_COLUMN_INTEGER},
                                               {"host_wait_us", SUTRA_COLUMN_REAL},
                                               {"kernel_wait_us", SUTRA_COLUMN_REAL},
                                               {"other_us", SUTRA_COLUMN_REAL}};
    table_init(table, "idle", specs, sizeof specs / sizeof *specs);
    gather_gaps(table, idle);
    table_sort_falling(table, IDLE_HOST, IDLE_REST);
}

/*
 * Writes the key numbers at the top of the page on ranks: number of ranks, times, shares, slowest rank.
 */

/* The share by which ranks may differ without one being the slowest. */
#define ALIKE 0.001

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
    static const char *const causes[] = {"compute", "exposed communication", "exposed memcpy", "idle time"};
    struct sutra_hta_slowest slowest = {.size = sizeof slowest};
    char words[64], note[512];
    if (!sutra_hta_ranks_slowest(source->ranks, &slowest)) {
        page_card_words(page, "Slowest rank", "none", "needs at least two ranks with kernels");
        return;
    }
    if (slowest.span_us - slowest.median_span_us <= ALIKE * slowest.median_span_us) {
        snprintf(note, sizeof note, "all ranks take about %s", shown_figure(slowest.median_span_us, UNIT_US).text);
        page_card_words(page, "Slowest rank", "none", note);
        return;
    }
    snprintf(words, sizeof words, "rank %" PRId64, slowest.rank);
    int length =
        snprintf(note, sizeof note, "%s, median %s; mostly due to ", shown_figure(slowest.span_us, UNIT_US).text,
                 shown_figure(slowest.median_span_us, UNIT_US).text);
    length += snprintf(note + length, sizeof note - (size_t)length, "%s: %s, median ", causes[slowest.cause],
                       shown_figure(slowest.cause_us, UNIT_US).text);
    length += snprintf(note + length, sizeof note - (size_t)length, "%s",
                       shown_figure(slowest.median_cause_us, UNIT_US).text);
    if (slowest.awaited_rank >= 0)
        snprintf(note + length, sizeof note - (size_t)length,
                 ". Straggler: rank %" PRId64 " has the least communication time", slowest.awaited_rank);
    page_card_words(page, "Slowest rank", words, note);
}

static void hta_cards_show(struct page *page, const struct hta_source *source) {
    const struct sutra_hta_summary *all = source->sums.all;
    bool several = source->sums.n_ranks > 1;
    char note[160];
    page_cards_begin(page);
    page_card(page, "Ranks", (double)source->sums.n_ranks, UNIT_COUNT,
              counted_text(all->n_events, "event", "events").text);
    double n_ranks = several ? (double)source->sums.n_ranks : 1;
    const char *last = all->n_no_work ? "last event on a stream" : "last kernel";
    snprintf(note, sizeof note, "from first to %s%s", last, several ? ", mean per rank" : "");
    page_card(page, "Time span", all->span_us / n_ranks, UNIT_US, note);
    card_share(page, source, "GPU busy", all->busy_us, "");
    card_share(page, source, "Idle", all->idle_us, "");
    card_share(page, source, "Compute", all->compute_us, "");
    card_share(page, source, "Communication", all->communication_us, "");
    card_share(page, source, "Exposed communication", all->exposed_us, ", overlaps neither compute nor memcpy");
    snprintf(note, sizeof note, "on %s", counted_text(all->n_streams, "stream", "streams").text);
    page_card(page, "Kernels and memcpys", (double)all->n_kernels, UNIT_COUNT, note);
    card_slowest(page, source);
    page_cards_end(page);
}

/* ---- Sections ---- */

void hta_launches_show(struct page *page, const void *of) {
    const struct hta_source *source = of;
    page_result_table(page, SUTRA_RESULT(source->ranks), SUTRA_HTA_LAUNCH_CALLS, "Launch calls", NULL);
    page_result_table(page, SUTRA_RESULT(source->ranks), SUTRA_HTA_LAUNCH_HISTOGRAM, "Launch outliers by duration (µs)",
                      NULL);
}

void hta_copies_show(struct page *page, const void *of) {
    const struct hta_source *source = of;
    page_result_table(page, SUTRA_RESULT(source->ranks), SUTRA_HTA_BANDWIDTH, "Bandwidth, GB/s", NULL);
}

static void show_annotations(struct page *page, const void *of) {
    const struct hta_source *source = of;
    page_result_table(page, SUTRA_RESULT(source->ranks), SUTRA_HTA_GPU_ANNOTATIONS, "Annotations on streams", NULL);
    page_result_table(page, SUTRA_RESULT(source->ranks), SUTRA_HTA_ANNOTATIONS, "Annotations on the CPU", NULL);
}

/* A table of the first rank that has it. */
static void show_of_rank(struct page *page, const struct hta_source *source, enum sutra_hta_table id,
                         const char *what) {
    const char *reason = "the trace has none", *why;
    const struct sutra_table *table = NULL;
    const struct sutra_hta *hta = NULL;
    if (source->is_beside) {
        page_missing(page, what, "run sutra analyze hta TRACE -o DIR");
        return;
    }
    for (size_t i = 0; !table && (hta = hta_ranks_of(source->ranks, i)); i++)
        if (!(table = sutra_result_table(SUTRA_RESULT(hta), id, &why)) && i == 0)
            reason = why;
    if (!table) {
        page_missing(page, what, reason);
        return;
    }
    char caption[96], file[64];
    snprintf(caption, sizeof caption, "%s, rank %" PRId64, what, sutra_hta_rank_of(hta));
    snprintf(file, sizeof file, "%s.rank%" PRId64, sutra_table_name(table), sutra_hta_rank_of(hta));
    page_table(page, table, caption, file);
}

static void show_operators(struct page *page, const void *source) {
    show_of_rank(page, source, SUTRA_HTA_OPERATORS, "Operators and their kernels");
}

static void show_sequences(struct page *page, const void *source) {
    show_of_rank(page, source, SUTRA_HTA_SEQUENCES, "Kernel sequences");
}

/* What was left out. */
static void show_warnings(struct page *page, const struct hta_source *source) {
    const struct sutra_hta_summary *all = source->sums.all;
    const struct sutra_hta_rank *rank;
    size_t n = 0;
    for (size_t i = 0; (rank = sutra_hta_ranks_get(source->ranks, i)); i++)
        if (rank->reason)
            page_left_out(page, n++, rank->path, rank->reason);
    page_left_out_more(page, n);
    if (all->n_steps > 1)
        page_warning(page, "The last ProfilerStep is skipped, as in HTA. Option --last-step keeps it.");
    page_warning_count(page, all->n_bad_times, "event without a valid time is skipped.",
                       "events without a valid time are skipped.");
    page_warning_count(page, all->n_negative, "negative duration is used as recorded.",
                       "negative durations are used as recorded.");
}

static void show_rules(struct page *page, const struct hta_source *source) {
    const struct sutra_hta_options *rules = sutra_hta_ranks_rules(source->ranks);
    char words[320];
    snprintf(words, sizeof words, "The tables follow the rules of HTA %s%s.%s",
             sutra_hta_version_name(rules->hta_version), rules->compat ? ", including its bugs" : "",
             rules->nanoseconds
                 ? ""
                 : " Times are rounded to microseconds as in HTA, start times up and end times down, so that "
                   "events within one microsecond count as -1 us; sutra analyze hta --nanoseconds keeps exact times.");
    page_words(page, words);
}

static const struct page_section sections[] = {
    {"time", "Time of each rank", "Time breakdown of each rank, from its first to its last kernel.", hta_time_show},
    {"steps", "Profiler steps",
     "CPU time of each step, and GPU activity that the step launched. Use it to find slow steps, and whether compute or "
     "communication makes them slow. It misleads if the GPU lags: kernels of a step run during the next step of the CPU, "
     "so busy times of steps overlap and can exceed the total time.",
     hta_steps_show},
    {"kernels", "Kernels",
     "Time of kernels, memcpy and memset by type and by name. Time in which kernels of two types overlap is a separate "
     "type.",
     hta_kernels_show},
    {"idle", "Idle time of streams",
     "Gaps between the kernels of each stream. Host wait: the next kernel is launched after the previous kernel ends. "
     "Kernel wait: the next kernel is launched before, and the gap is short. Other: the next kernel is launched before, "
     "and the gap is long. Overlap within a stream counts as a negative gap without a bar.",
     hta_idle_show},
    {"overlap", "Communication and compute",
     "Time in communication kernels, and the part that overlaps with compute. The rest is exposed.", hta_overlap_show},
    {"queues", "Queue length over time",
     "Number of kernels that are launched on a stream and have not started. A queue that is empty most of the time "
     "means that the stream waits for the CPU (launch-bound). The table's mean is over changes, the chart's mean over "
     "time. A full queue (1024 launches, see --full-queue) blocks the CPU in its launch calls: then the CPU is not the "
     "bottleneck. A queue that is never full has no row.",
     hta_queues_show},
    {"launches", "Launches",
     "Calls that launch kernels, memcpy and memset. The queue delay is from the end of the call to the start of the "
     "kernel. Kernels that are shorter than their launch call cannot keep a GPU busy: fuse them, or use CUDA graphs. "
     "Outliers are kernels shorter than their call (short_gpu_kernels), calls above 50 µs (runtime_outliers) and queue "
     "delays above 100 µs. With long queues, queue delay is mostly wait for earlier kernels and costs no time.",
     hta_launches_show},
    {"annotations", "Annotations",
     "Time of annotations such as record_function(), by name: on the CPU, and on streams from the first to the last "
     "kernel launched inside. Use it if parts of the model are annotated. Nested annotations count in full, so times of "
     "several names do not add up. Time on a stream includes gaps. The table gpu_kernels_with_user_annotations lists the "
     "annotation of each kernel.",
     show_annotations},
    {"operators", "Operators and their kernels",
     "Kernels that ATen operators launch: count, time from the start of the operator to its first launch (CPU time), and "
     "from this launch to the start of the kernel. Use it to find operators with many small kernels and slow CPU code "
     "before launches. With long queues, the time from launch to kernel is mostly wait for earlier kernels.",
     show_operators},
    {"sequences", "Kernel sequences",
     "Operators with all kernels launched inside, in execution order. Use it to find candidates for fusion or "
     "torch.compile: long sequences that repeat often. --sequences NAME selects other operators, --sequence-kernels N "
     "shorter sequences. Concurrent kernels of several streams have a random order, so one operator can have many "
     "patterns.",
     show_sequences},
    {"stragglers", "Stragglers",
     "Lateness of each rank at collectives: its time in collectives, subtracted from the time of the rank that waits "
     "longest, and its own wait. Clocks need not agree. Use it to find the straggler. It misleads if ranks run different "
     "collectives, if traces do not record groups, and in truncated steps. The column marks counts the steps in which "
     "HTA, by start times on aligned clocks, would report the rank.",
     hta_stragglers_show},
    {"copies", "Memcpy bandwidth",
     "Bandwidth of memcpy and memset in GB/s, while at least one of the type runs; the table memory_bw_time_series lists "
     "each change. Use it to distinguish pageable memory (a few GB/s) from pinned memory. Short copies mislead: overhead "
     "dominates their duration.",
     hta_copies_show},
    {"missing", "More analyses",
     "Findings, with these tables and operator tables: sutra analyze TRACE -o DIR. CPU overheads and dominating "
     "operators: sutra analyze dlrm TRACE -o DIR.",
     NULL},
    {0},
};

/* ---- The public functions ---- */

static void write_page(struct page *page, const struct hta_source *source) {
    const struct sutra_hta_rank *first = sutra_hta_ranks_get(source->ranks, 0);
    char title[96], more[96] = "";
    size_t n = source->sums.n_ranks;
    if (n > 1) {
        snprintf(title, sizeof title, "GPU time of %s ranks", shown_decimal((double)n, 0).text);
        snprintf(more, sizeof more, " and %s more", shown_decimal((double)n - 1, 0).text);
    } else {
        snprintf(title, sizeof title, "GPU time of rank %" PRId64, first->rank);
    }
    page_head(page, title, first->path, more, sections);
    show_warnings(page, source);
    hta_cards_show(page, source);
    show_rules(page, source);
    page_sections(page, sections, source);
}

enum sutra_status hta_page_write(struct sutra_context *context, const struct hta_source *source, const char *folder,
                                 uint64_t *n_bytes, struct sutra_error *error) {
    struct page page;
    page_open(&page, context, folder, PAGE_HTA, error);
    page.beside = source->is_beside ? PAGE_FIRST : NULL;
    write_page(&page, source);
    enum sutra_status status = page_close(&page);
    if (!status)
        *n_bytes += page.n_bytes;
    return status;
}

enum sutra_status sutra_report_write_hta(struct sutra_context *context, const struct sutra_hta_ranks *ranks,
                                         const char *folder, uint64_t *n_bytes, struct sutra_error *error) {
    struct hta_source source = {.ranks = ranks, .sums.size = sizeof source.sums};
    uint64_t n_written = 0;
    sutra_hta_ranks_sum(ranks, &source.sums);
    enum sutra_status status = hta_page_write(context, &source, folder, &n_written, error);
    if (!status && n_bytes)
        *n_bytes = n_written;
    return status;
}

enum sutra_status sutra_report_link(struct sutra_context *context, const char *folder, struct sutra_error *error) {
    return page_links_set(context, folder, error);
}
