/*
 * hta_slowest.c - which of many ranks is the slowest, and why. O(n log n) for the medians.
 */
#include <stdlib.h>

#include "analyze/describe.h"
#include "base/options.h"
#include "base/order.h"
#include "sutra/analyze.h"

#define N_CAUSES (SUTRA_CAUSE_IDLE + 1)

static double cause_us(const struct sutra_hta_summary *summary, int cause) {
    const double us[N_CAUSES] = {[SUTRA_CAUSE_COMPUTE] = summary->compute_us,
                                 [SUTRA_CAUSE_COMMUNICATION] = summary->exposed_us,
                                 [SUTRA_CAUSE_MEMORY] = summary->memory_us,
                                 [SUTRA_CAUSE_IDLE] = summary->idle_us};
    return us[cause];
}

/* The rank behind the first `i` that has kernels; NULL at the end. */
static const struct sutra_hta_rank *next_rank(const struct sutra_hta_ranks *ranks, size_t *i) {
    const struct sutra_hta_rank *rank;
    while ((rank = sutra_hta_ranks_get(ranks, (*i)++)) && !rank->reason)
        if (rank->summary->n_kernels > 0)
            return rank;
    return NULL;
}

/* The median of a cause, or of the span, over all ranks that have kernels. */
static double median_of(const struct sutra_hta_ranks *ranks, int cause, double *values) {
    size_t n = 0, i = 0;
    for (const struct sutra_hta_rank *rank; (rank = next_rank(ranks, &i));)
        values[n++] = cause < N_CAUSES ? cause_us(rank->summary, cause) : rank->summary->span_us;
    qsort(values, n, sizeof *values, compare_doubles);
    return quantile_of(values, n, 0.5);
}

static void find_cause(const struct sutra_hta_ranks *ranks, const struct sutra_hta_rank *rank, double *values,
                       struct sutra_hta_slowest *slowest) {
    for (int cause = 0; cause < N_CAUSES; cause++) {
        double us = cause_us(rank->summary, cause), median = median_of(ranks, cause, values);
        if (cause > 0 && us - median <= slowest->cause_us - slowest->median_cause_us)
            continue;
        slowest->cause = (enum sutra_hta_cause)cause;
        slowest->cause_us = us;
        slowest->median_cause_us = median;
    }
}

int sutra_hta_ranks_slowest(const struct sutra_hta_ranks *ranks, struct sutra_hta_slowest *slowest) {
    const struct sutra_hta_rank *longest = NULL, *awaited = NULL;
    size_t n = 0, i = 0;
    for (const struct sutra_hta_rank *rank; (rank = next_rank(ranks, &i)); n++) {
        if (!longest || rank->summary->span_us > longest->summary->span_us)
            longest = rank;
        if (!awaited || rank->summary->communication_us < awaited->summary->communication_us)
            awaited = rank;
    }
    double *values = n >= 2 ? malloc(n * sizeof *values) : NULL;
    if (!values)
        return 0;
    struct sutra_hta_slowest found = {.rank = longest->rank, .span_us = longest->summary->span_us};
    found.median_span_us = median_of(ranks, N_CAUSES, values);
    found.awaited_rank = awaited->summary->communication_us > 0 ? awaited->rank : -1;
    find_cause(ranks, longest, values, &found);
    free(values);
    report_give(slowest, &found, sizeof found);
    return 1;
}
