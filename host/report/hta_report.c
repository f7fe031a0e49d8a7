/*
 * hta_report.c - writes the page on HTA's tables of one or many ranks: key numbers, a section per question, missing
 * tables.
 */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>

#include "analyze/hta/hta_ranks.h"
#include "base/error.h"
#include "report/hta_page.h"

/* ---- Sections ---- */

void hta_launches_show(struct page *page, const void *source) {
    hta_table_show(page, source, SUTRA_HTA_LAUNCH_CALLS, "Calls that launch");
    hta_table_show(page, source, SUTRA_HTA_LAUNCH_HISTOGRAM, "Launches worth a look, by microseconds");
}

void hta_copies_show(struct page *page, const void *source) {
    hta_table_show(page, source, SUTRA_HTA_BANDWIDTH, "Bandwidth, GB/s");
}

static void show_annotations(struct page *page, const void *source) {
    hta_table_show(page, source, SUTRA_HTA_GPU_ANNOTATIONS, "Annotations on streams");
    hta_table_show(page, source, SUTRA_HTA_ANNOTATIONS, "Annotations on the host");
}

/* A table of the first rank that has it. */
static void show_of_rank(struct page *page, const struct hta_source *source, enum sutra_hta_table id,
                         const char *what) {
    const char *reason = "there is none", *why;
    const struct sutra_table *table = NULL;
    const struct sutra_hta *hta = NULL;
    if (source->is_beside) {
        page_missing(page, what, "sutra analyze hta TRACE -o DIR makes them");
        return;
    }
    for (size_t i = 0; !table && (hta = hta_ranks_of(source->ranks, i)); i++)
        if (!(table = sutra_hta_table(hta, id, &why)) && i == 0)
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
    show_of_rank(page, source, SUTRA_HTA_SEQUENCES, "Sequences of kernels");
}

/* What was left out. */
static void show_warnings(struct page *page, const struct hta_source *source) {
    const struct sutra_hta_summary *all = source->sums.all;
    const struct sutra_hta_rank *rank;
    size_t n = 0;
    for (size_t i = 0; (rank = sutra_hta_ranks_at(source->ranks, i)); i++)
        if (rank->reason)
            page_left_out(page, n++, rank->path, rank->reason);
    page_left_out_more(page, n);
    if (all->n_steps > 1)
        page_warning(page, "The last ProfilerStep is left out, as HTA does, unless --last-step was given.");
    page_warning_count(page, all->n_bad_times, "event is left out, since its time is missing or too large.",
                       "events are left out, since their times are missing or too large.");
    page_warning_count(page, all->n_negative, "duration is below 0, and counts as it is.",
                       "durations are below 0, and count as they are.");
}

static void show_rules(struct page *page, const struct hta_source *source) {
    const struct sutra_hta_options *rules = sutra_hta_ranks_rules(source->ranks);
    char words[320];
    snprintf(words, sizeof words, "The tables are by the rules of HTA %s%s.%s", sutra_hta_edition_name(rules->edition),
             rules->compat ? ", its faults included" : "",
             rules->nanoseconds
                 ? ""
                 : " Fractions of microseconds are rounded as HTA does, starts up and ends down, so that "
                   "what lies within one counts as -1 us; sutra analyze hta --nanoseconds has exact times.");
    page_words(page, words);
}

static const struct page_section sections[] = {
    {"time", "Time of each rank", "What the time between the first and the last kernel of each rank went to.",
     hta_time_show},
    {"steps", "Profiler steps",
     "How long each step took on the host, and what the GPU did of what the step launched. Good for finding slow "
     "steps, and whether compute or communication made them slow. It misleads where the GPU lags: kernels of a step "
     "run while the next one is on the host, so busy times of steps may overlap, and add up to more than the time.",
     hta_steps_show},
    {"kernels", "Kernels",
     "Time of kernels and copies by type and by name. Time in which kernels of two types run counts for both "
     "together, as a type of its own.",
     hta_kernels_show},
    {"idle", "What streams wait for",
     "Gaps between the kernels of each stream. Host wait: the next kernel was launched only after the last one "
     "had ended. Kernel wait: it was launched before, and the gap is short. Other: it was launched before, and "
     "the gap is long. Overlap within a stream counts as a negative gap, which has no bar.",
     hta_idle_show},
    {"overlap", "Communication and compute",
     "Time in communication kernels, and how much of it passes beside compute, which hides it. The rest is exposed.",
     hta_overlap_show},
    {"queues", "Queues over time",
     "How many kernels have been launched on a stream but have not begun. A queue that is empty most of the time "
     "means that the stream waits for the host. The mean of the table is over changes, that of the chart over "
     "time. Once a queue is full, at 1024 launches unless --full-queue says otherwise, the host waits in its calls: "
     "then it is not what is slow. A queue that is never full has no row.",
     hta_queues_show},
    {"launches", "Launches",
     "Calls that launch kernels and copies. The delay is from the end of the call to the start of the kernel. "
     "Kernels that are shorter than their call cannot keep a GPU busy: fuse them, or launch graphs. Worth a look are "
     "calls with shorter kernels (short_gpu_kernels), calls above 50 µs (runtime_outliers) and delays above 100 µs. "
     "Delays mislead where queues are long: most of such a delay is waiting behind other kernels, and does no harm.",
     hta_launches_show},
    {"annotations", "Annotations",
     "Time in record_function() and the like, by name: on the host, and on streams from the first to the last kernel "
     "launched within. Good for who annotates the parts of a model. Annotations within others count in full, so sums "
     "of several names mean nothing, and time on a stream holds its gaps. Which kernel ran in which annotation is in "
     "gpu_kernels_with_user_annotations.",
     show_annotations},
    {"operators", "Operators and their kernels",
     "Which kernels operators of ATen launch, how often, and how long it takes from the operator's start to its first "
     "launch (its work on the host), and from there to the start of that kernel. Good for finding operators of many "
     "small kernels, and hosts that are slow before they launch. A long way from launch to kernel misleads where "
     "queues are long: it is waiting behind other kernels.",
     show_operators},
    {"sequences", "Sequences of kernels",
     "Operators with all kernels launched within them, in the order in which those ran. Good for finding what to fuse "
     "or to compile: a long sequence that comes often. --sequences NAME chooses other operators, --sequence-kernels N "
     "shorter sequences. Sequences mislead where kernels of several streams run at once: their order is chance then, "
     "and one operator makes many patterns.",
     show_sequences},
    {"stragglers", "Stragglers",
     "How late each rank comes to collectives: how much shorter it is in them than the rank that waits longest, and "
     "how long it waits itself. Clocks of ranks need not agree for that. Good for finding the rank that all wait for. "
     "It misleads where ranks do not take part in the same collectives, where traces tell no groups, and in steps that "
     "are cut off. marks counts the steps in which HTA, by starts on clocks that must agree, would suspect the rank.",
     hta_stragglers_show},
    {"copies", "Bandwidth of copies",
     "Bandwidth of copies and sets of memory in GB/s, while at least one of the kind runs; memory_bw_time_series has "
     "each change. Good for telling pageable copies (a few GB/s) from pinned ones. Short copies mislead: what they "
     "take is mostly not moving bytes.",
     hta_copies_show},
    {"missing", "What is not here",
     "Why steps are not faster, with these tables and those of operators: sutra analyze TRACE -o DIR. Operators of the "
     "host, their overheads and what they consist of: sutra analyze dlrm TRACE -o DIR.",
     NULL},
    {0},
};

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
