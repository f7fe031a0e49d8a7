/*
 * dlrm_write_summary.c - a page of headline numbers in the original's words: iterations, counts, times of an iteration,
 * and how busy each stream is.
 *
 * The shares are of the time of the iterations, as the user measured it without the profiler, or else of the host's;
 * more than all of it counts as all of it. A stream's time is the sum of its work, in the original some of it twice.
 */
#include <math.h>

#include "analyze/dlrm/dlrm_write.h"

struct summary {
    const struct sutra_dlrm *dlrm;
    struct text_out *out;
    double iters, whole_us; /* of all iterations */
};

/* As Python writes it, which has no "-nan". */
static void add_decimals(struct text_out *out, double value) {
    if (isnan(value))
        out_add(out, "nan");
    else
        out_format(out, "%.2f", value);
}

static double share_of(const struct summary *summary, double us) {
    return fmin(us, summary->whole_us) / summary->whole_us;
}

static void add_average(const struct summary *summary, double us) {
    add_decimals(summary->out, us / summary->iters);
    out_add(summary->out, " us");
}

static void add_percentage(const struct summary *summary, double share) {
    add_decimals(summary->out, share * 100);
    out_add(summary->out, "%");
}

static void add_stream(const struct summary *summary, uint32_t name, double us) {
    struct text_out *out = summary->out;
    const struct strings *texts = &summary->dlrm->texts;
    out_add(out, "\n    Stream ");
    buffer_append(&out->out, strings_text(texts, name), strings_length(texts, name));
    out_add(out, ": average per-batch time: ");
    add_average(summary, fmin(us, summary->whole_us));
    out_add(out, ", active perc ");
    add_percentage(summary, share_of(summary, us));
    out_add(out, ", idle perc ");
    add_percentage(summary, 1 - share_of(summary, us));
    out_step(out);
}

/* Every stream of the trace, also one without work that a launch is known of. */
static void add_streams(const struct summary *summary) {
    const struct sutra_dlrm *dlrm = summary->dlrm;
    const struct dlrm_stream_times *times = &dlrm->stream_times;
    struct arena arena = {0};
    row_t *place = arena_zeros(&arena, dlrm->texts.n, sizeof *place); /* + 1, in the list of times, of each text */
    summary->out->out.failed |= !place;
    for (uint32_t i = 0; place && i < times->n; i++)
        place[times->list[i].name] = i + 1;
    for (uint32_t i = 0; place && i < times->n_names; i++) {
        row_t at = place[times->names[i]];
        struct number us = at == 0               ? number_integer(0)
                           : dlrm->report.compat ? times->list[at - 1].original
                                                 : times->list[at - 1].sum;
        add_stream(summary, times->names[i], number_as_double(us));
    }
    arena_free(&arena);
}

static void add_counts(const struct summary *summary) {
    const struct sutra_dlrm_report *report = &summary->dlrm->report;
    struct text_out *out = summary->out;
    out_format(out, "Number of iterations: %llu\n", (unsigned long long)report->iters);
    out_format(out, "Num of events: %llu, num of root events: %llu, ", (unsigned long long)report->n_events,
               (unsigned long long)report->n_roots);
    out_format(out, "num of caller/callee pairs: %llu\n", (unsigned long long)report->n_launches);
    out_add(out, "Average per-batch dataloading time: ");
    add_average(summary, report->skipped_us);
    out_add(out, "\nAverage per-batch host runtime: ");
    add_average(summary, report->host_us);
    out_add(out, "\nQPS: ");
    add_decimals(out, report->qps);
    out_format(out, "\n%u GPU stream(s) in total.", summary->dlrm->stream_times.n_names);
}

void dlrm_write_summary(const struct sutra_dlrm *dlrm, struct text_out *out) {
    const struct sutra_dlrm_report *report = &dlrm->report;
    struct summary summary = {.dlrm = dlrm, .out = out, .iters = (double)report->iters, .whole_us = report->host_us};
    if (dlrm->options.iteration_us > 0)
        summary.whole_us = dlrm->options.iteration_us * summary.iters;
    double total = number_as_double(report->compat ? dlrm->stream_times.original_total : dlrm->stream_times.active);
    add_counts(&summary);
    add_streams(&summary);
    out_add(out, "\nTotal per-batch GPU time and percentage: ");
    add_average(&summary, fmin(total, summary.whole_us));
    out_add(out, " (");
    add_percentage(&summary, share_of(&summary, total));
    out_add(out, ")\n");
}
