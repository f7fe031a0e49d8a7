/*
 * hta_cards.c - writes the key numbers at the top of the page on ranks: number of ranks, times, shares, slowest rank.
 */
#include <inttypes.h>
#include <stdio.h>

#include "report/hta_page.h"
#include "text/counted.h"

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

void hta_cards_show(struct page *page, const struct hta_source *source) {
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
