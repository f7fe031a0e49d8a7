/*
 * suspects.c - popular numbers that cost nothing in this trace: what other tools would name as the cause.
 *
 *     suspect         named if                               its cost here
 *     data_loading    loading >= 5 % of the window           GPU idle time in it
 *     sync            synchronizing calls >= 20 %            GPU idle time in and after them
 *     copies          memcpy and memset >= 5 %               their exposed part
 *     communication   communication >= 10 %                  its exposed part
 *     short_kernels   >= 40 % of kernels take < 10 us        GPU idle time for launches
 *     fp32            >= 15 % of GPU time                    the capped saving of faster kernels
 *
 * A suspect is named if its rule reports nothing and its cost is below COST_PERCENT. Cost: O(findings).
 */
#include <stdlib.h>

#include "analyze/overview/verdict.h"
#include "base/shared.h"

#define COST_PERCENT 5
#define MIN_LAUNCHES 10 /* fewer launches are no evidence about short kernels */

struct suspect_test {
    enum verdict_suspect suspect;
    enum finding_rule rule;
    double threshold, apparent, cost;
};

static bool is_reported(const struct diagnosis *d, enum finding_rule rule) {
    for (unsigned i = 0; i < d->findings->n; i++)
        if (d->findings->list[i].rule == rule)
            return true;
    return false;
}

/* By the difference of the popular number and the cost, largest first. */
static int compare_suspects(const void *left, const void *right) {
    const struct suspect_numbers *a = left, *b = right;
    double more_a = a->apparent - a->percent, more_b = b->apparent - b->percent;
    if (more_a != more_b)
        return more_a > more_b ? -1 : 1;
    return (a->suspect > b->suspect) - (a->suspect < b->suspect);
}

void find_suspects(const struct diagnosis *d, struct rank_verdict *verdict) {
    const struct measures *measures = &d->measures;
    const int64_t *ticks = d->overview->ticks;
    double fp32_percent = 0, fp32_saving = 0;
    for (unsigned i = 0; i < d->findings->n_all; i++)
        if (d->findings->list[i].rule == FINDING_FP32)
            fp32_saving = d->findings->list[i].saving_percent;
    if (measures->device_time)
        fp32_percent = (double)measures->fp32_time / (double)measures->device_time * 100;
    const struct suspect_test tests[] = {
        {SUSPECT_DATA, FINDING_DATA_LOADING, 5, percent_of_window(d, (double)measures->loading),
         percent_of_window(d, (double)ticks[OVERVIEW_LOADING])},
        {SUSPECT_SYNC, FINDING_SYNC, 20, percent_of_window(d, (double)measures->blocking),
         percent_of_window(d, (double)(ticks[OVERVIEW_SYNC] + ticks[OVERVIEW_AFTER_SYNC] - d->unexplained_sync))},
        {SUSPECT_COPIES, FINDING_COPIES, 5, percent_of_window(d, (double)d->overview->copies),
         percent_of_window(d, (double)ticks[OVERVIEW_COPY])},
        {SUSPECT_COMM, FINDING_EXPOSED_COMM, 10, percent_of_window(d, (double)d->overview->communication),
         percent_of_window(d, (double)ticks[OVERVIEW_COMMUNICATION])},
        {SUSPECT_SHORT, FINDING_HOST_BOUND, 40,
         measures->n_launches >= MIN_LAUNCHES && measures->n_kernels
             ? (double)measures->n_short_kernels / measures->n_kernels * 100
             : 0,
         percent_of_window(d, (double)spans_length(&d->host))},
        {SUSPECT_FP32, FINDING_FP32, 15, fp32_percent, fp32_saving},
    };
    struct suspect_numbers found[sizeof tests / sizeof *tests];
    unsigned n = 0;
    if (d->fired[FINDING_STARTUP])
        return;
    for (size_t i = 0; i < sizeof tests / sizeof *tests; i++)
        if (tests[i].apparent >= tests[i].threshold && tests[i].cost < COST_PERCENT && !is_reported(d, tests[i].rule))
            found[n++] = (struct suspect_numbers){tests[i].suspect, tests[i].apparent, tests[i].cost};
    if (n > 1)
        qsort(found, n, sizeof *found, compare_suspects);
    verdict->n_suspects = MIN(n, SUSPECTS_MOST);
    for (unsigned i = 0; i < verdict->n_suspects; i++)
        verdict->suspects[i] = found[i];
}
