/*
 * hta_sums.c - the figures of all ranks together.
 */
#include "analyze/hta/hta.h"

static void add_sums(struct sutra_hta_summary *all, const struct sutra_hta_summary *one) {
    all->n_events += one->n_events;
    all->n_rows += one->n_rows;
    all->n_kernels += one->n_kernels;
    all->n_no_work += one->n_no_work;
    all->n_streams += one->n_streams;
    all->n_bad_times += one->n_bad_times;
    all->n_negative += one->n_negative;
    all->n_launches += one->n_launches;
    all->n_short += one->n_short;
    all->n_unlisted += one->n_unlisted;
    all->span_us += one->span_us;
    all->busy_us += one->busy_us;
    all->idle_us += one->idle_us;
    all->compute_us += one->compute_us;
    all->communication_us += one->communication_us;
    all->overlap_us += one->overlap_us;
    all->exposed_us += one->exposed_us;
    all->memory_us += one->memory_us;
    all->host_wait_us += one->host_wait_us;
    all->kernel_wait_us += one->kernel_wait_us;
    all->other_wait_us += one->other_wait_us;
    all->launch_us += one->launch_us;
    all->delay_median_us += one->n_launches ? one->delay_median_us * (double)one->n_launches : 0;
    all->n_steps = one->n_steps > all->n_steps ? one->n_steps : all->n_steps;
}

static void add_rank(struct sutra_hta_sums *sums, struct sutra_hta_summary *all, const struct sutra_hta_rank *rank) {
    const struct sutra_hta_summary *one = rank->summary;
    add_sums(all, one);
    if (sums->n_ranks++ > 0 && one->queue_most <= all->queue_most)
        return;
    sums->queue_rank = rank->rank;
    all->queue_most = one->queue_most;
    all->queue_mean = one->queue_mean;
    all->queue_stream = one->queue_stream;
}

void hta_ranks_add_up(const struct sutra_hta_ranks *ranks, struct sutra_hta_sums *sums, struct sutra_hta_summary *all) {
    const struct sutra_hta_rank *rank;
    *sums = (struct sutra_hta_sums){.size = sizeof *sums, .all = all};
    *all = (struct sutra_hta_summary){.size = sizeof *all};
    for (size_t i = 0; (rank = sutra_hta_ranks_get(ranks, i)); i++)
        if (rank->reason)
            sums->n_skipped++;
        else
            add_rank(sums, all, rank);
    if (all->n_launches > 0)
        all->delay_median_us /= (double)all->n_launches;
}
