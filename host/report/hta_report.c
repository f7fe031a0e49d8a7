/*
 * hta_report.c - writes the page on HTA's tables of one or many ranks: key numbers, a section per question, missing
 * tables.
 */
#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "analyze/compat/hta/hta_ranks.h"
#include "report/sections.h"
#include "text/quantities.h"

/* ---- Cards ---- */

/* Relative difference up to which no rank is the slowest. */
#define MIN_DIFFERENCE 0.001

/* "12.3 % of the time, mean per rank" of a sum over all ranks */
static void card_share(struct page *page, const struct hta_source *source, const char *name, double us,
                       const char *more) {
    char note[160] = "";
    const double span_us = source->sums.all->span_us, n_ranks = (double)source->sums.n_ranks;
    if (span_us > 0)
        snprintf(note, sizeof note, "%s of the time%s%s", shown_figure(100 * us / span_us, UNIT_PERCENT).text,
                 n_ranks > 1 ? ", mean per rank" : "", more);
    page_card(page, name, us / fmax(1, n_ranks), UNIT_US, note);
}

static void card_slowest(struct page *page, const struct hta_source *source) {
    static const char *const causes[] = {"compute", "exposed communication", "exposed memcpy", "idle time"};
    struct sutra_hta_slowest slowest = {.size = sizeof slowest};
    char words[64], note[512];
    if (!sutra_hta_ranks_slowest(source->ranks, &slowest)) {
        page_card_words(page, "Slowest rank", "none", "needs at least two ranks with kernels");
        return;
    }
    if (slowest.span_us - slowest.median_span_us <= MIN_DIFFERENCE * slowest.median_span_us) {
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

static void show_cards(struct page *page, const void *of) {
    const struct hta_source *source = of;
    const struct sutra_hta_summary *all = source->sums.all;
    bool several = source->sums.n_ranks > 1;
    char note[160];
    snprintf(note, sizeof note, "%s%s", counted_text(all->n_events, "event", "events").text,
             several ? " in total" : "");
    page_card(page, "Ranks", (double)source->sums.n_ranks, UNIT_COUNT, note);
    double n_ranks = several ? (double)source->sums.n_ranks : 1;
    const char *last = all->n_no_work ? "last event on a stream" : "last kernel";
    snprintf(note, sizeof note, "from first to %s%s", last, several ? ", mean per rank" : "");
    page_card(page, "Time span", all->span_us / n_ranks, UNIT_US, note);
    card_share(page, source, "GPU busy", all->busy_us, "");
    card_share(page, source, "Idle", all->idle_us, "");
    card_share(page, source, "Compute", all->compute_us, "");
    card_share(page, source, "Communication", all->communication_us, "");
    card_share(page, source, "Exposed communication", all->exposed_us, ", overlaps neither compute nor memcpy");
    snprintf(note, sizeof note, "on %s%s", counted_text(all->n_streams, "stream", "streams").text,
             several ? ", total of all ranks" : "");
    page_card(page, "Kernels and memcpys", (double)all->n_kernels, UNIT_COUNT, note);
    card_slowest(page, source);
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
    if (source->with_overview) {
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

static void warn(struct page *page, const void *of) {
    const struct hta_source *source = of;
    const struct sutra_hta_summary *all = source->sums.all;
    const struct sutra_hta_rank *rank;
    size_t n = 0;
    for (size_t i = 0; (rank = sutra_hta_ranks_get(source->ranks, i)); i++)
        if (rank->reason)
            page_warn_skipped(page, n++, rank->path, rank->reason);
    page_warn_more_skipped(page, n);
    page_warn_defects(page, SUTRA_RESULT(source->ranks));
    if (all->n_steps > 1)
        page_warning(page, "The last ProfilerStep is skipped, as in HTA. Option --last-step keeps it.");
    page_warning_count(page, all->n_bad_times, "event without a valid time is skipped.",
                       "events without a valid time are skipped.");
    page_warning_count(page, all->n_negative, "negative duration is used as recorded.",
                       "negative durations are used as recorded.");
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

/* ---- The page ---- */

enum sutra_status hta_page_write(struct sutra_context *context, const struct hta_source *source, const char *folder,
                                 uint64_t *n_bytes, struct sutra_error *error) {
    const struct sutra_hta_options *rules = sutra_hta_ranks_rules(source->ranks);
    char note[320];
    snprintf(note, sizeof note, "The tables follow the rules of HTA %s%s.%s",
             sutra_hta_version_name(rules->hta_version), rules->compat ? ", including its bugs" : "",
             rules->nanoseconds
                 ? ""
                 : " Times are rounded to microseconds as in HTA, start times up and end times down, so that "
                   "events within one microsecond count as -1 us; sutra analyze hta --nanoseconds keeps exact times.");
    const struct sutra_hta_rank *first = sutra_hta_ranks_get(source->ranks, 0);
    struct page page;
    uint64_t n_written = 0;
    struct page_section shown[sizeof sections / sizeof *sections];
    memcpy(shown, sections, sizeof sections);
    for (struct page_section *section = shown; source->with_overview && section->id; section++)
        if (strcmp(section->id, "missing") == 0) /* the reader has the findings */
            section->words = "CPU overheads and dominating operators: sutra analyze dlrm TRACE -o DIR.";
    const struct rank_title title = title_of_ranks("GPU time", first->rank, source->sums.n_ranks);
    const struct page_frame frame = {.title = title.title,
                                     .path = first->path,
                                     .more = title.more,
                                     .warnings = warn,
                                     .cards = show_cards,
                                     .note = note,
                                     .sections = shown};
    page_open(&page, context, folder, PAGE_HTA, error);
    page.companion = source->with_overview ? PAGE_FIRST : NULL;
    enum sutra_status status = page_write(&page, &frame, source, &n_written);
    *n_bytes += n_written;
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
