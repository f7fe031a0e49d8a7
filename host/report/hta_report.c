/*
 * hta_report.c - the page about the tables of one or many ranks: figures, a section for each question, what is missing.
 */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>

#include "base/error.h"
#include "report/hta_page.h"

/* Traces that were left out, by name. */
#define LEFT_OUT_SHOWN 50

struct sutra_report {
    struct queue_list queues;
};

/* ---- Sections ---- */

static void show_launches(struct page *page, const void *source) {
    hta_table_show(page, source, SUTRA_HTA_LAUNCH_CALLS, "Calls that launch");
}

static void show_copies(struct page *page, const void *source) {
    hta_table_show(page, source, SUTRA_HTA_BANDWIDTH, "Bandwidth, GB/s");
}

static void show_missing(struct page *page, const void *of) {
    const struct hta_source *source = of;
    const struct sutra_hta_summary *all = source->sums.all;
    const struct sutra_hta_rank *rank;
    unsigned n = 0;
    if (source->sums.n_left_out > 0)
        page_words(page, "Traces that were left out:");
    for (size_t i = 0; n < LEFT_OUT_SHOWN && (rank = sutra_hta_ranks_at(source->ranks, i)); i++)
        if (rank->reason && n++ < LEFT_OUT_SHOWN)
            page_missing(page, rank->path, rank->reason);
    page_count(page, source->sums.n_left_out - n, "more.");
    if (all->n_steps > 1)
        page_words(page, "The last ProfilerStep is left out, as HTA does, unless --last-step was given.");
    page_count(page, all->n_bad_times, "events are left out, since their times are missing or too large.");
    page_count(page, all->n_negative, "durations are below 0, and count as they are.");
}

static const struct page_section sections[] = {
    {"time", "Time of each rank",
     "What the time between the first and the last kernel of each rank went to. Whatever runs beside compute "
     "counts as compute; exposed communication runs beside neither compute nor copies.",
     hta_time_show},
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
     "Time in communication kernels, and how much of it passes beside compute, which hides it.", hta_overlap_show},
    {"queues", "Queues over time",
     "How many kernels have been launched on a stream but have not begun. A queue that is empty most of the time "
     "means that the stream waits for the host. The mean of the table is over changes, that of the chart over "
     "time.",
     hta_queues_show},
    {"launches", "Launches",
     "Calls that launch kernels and copies. The delay is from the end of the call to the start of the kernel. "
     "Kernels that are shorter than their call cannot keep a GPU busy.",
     show_launches},
    {"copies", "Bandwidth of copies",
     "Bandwidth of copies and sets of memory in GB/s, while at least one of the kind runs.", show_copies},
    {"missing", "What is not here",
     "Operators of the host, their overheads and what they consist of are another analysis: "
     "sutra analyze dlrm TRACE -o DIR",
     show_missing},
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
    hta_cards_show(page, source);
    page_sections(page, sections, source);
}

enum sutra_status sutra_report_write_hta(struct sutra_context *context, const struct sutra_report *report,
                                         const struct sutra_hta_ranks *ranks, const char *folder, uint64_t *n_bytes,
                                         struct sutra_error *error) {
    struct hta_source source = {.queues = &report->queues, .ranks = ranks, .sums.size = sizeof source.sums};
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
