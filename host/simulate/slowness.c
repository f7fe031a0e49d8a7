/*
 * slowness.c - mean times by name and rank, sorted by name and time; see slowness.h.
 */
#include "simulate/slowness.h"

#include <stdlib.h>
#include <string.h>

#include "base/error.h"
#include "base/order.h"

/* What the nodes of a name take on a rank. */
struct name_mean {
    uint32_t name, rank;
    uint64_t n;
    double mean_ns;
};

/* Means of the ranks before, as a list, and sums of the rank at hand by name. */
struct slowness_work {
    struct name_mean *means;
    uint64_t n, capacity;
    double *sum_ns; /* by name */
    uint64_t *count;
    uint32_t *seen; /* names of the rank at hand */
    uint32_t n_names;
    struct arena arena;
};

static bool is_compared(const struct rank_graph *graph, row_t i) {
    return graph->work[i] == WORK_COMPUTATION && graph->run_ns[i] > 0;
}

/* Adds the means of a rank. False: out of memory. */
static bool add_rank(struct slowness_work *work, const struct rank_graph *graph, uint32_t rank) {
    uint32_t n_seen = 0;
    for (row_t i = 0; i < graph->n; i++) {
        if (!is_compared(graph, i))
            continue;
        if (work->count[graph->name[i]]++ == 0)
            work->seen[n_seen++] = graph->name[i];
        work->sum_ns[graph->name[i]] += (double)graph->run_ns[i];
    }
    bool done = true;
    for (uint32_t k = 0; k < n_seen; k++) {
        uint32_t name = work->seen[k];
        done = done && arena_grow(&work->arena, &work->means, work->n, &work->capacity, sizeof *work->means);
        if (done)
            work->means[work->n++] =
                (struct name_mean){name, rank, work->count[name], work->sum_ns[name] / (double)work->count[name]};
        work->count[name] = 0;
        work->sum_ns[name] = 0;
    }
    return done;
}

static int compare_means(const void *left, const void *right) {
    const struct name_mean *a = left, *b = right;
    if (a->name != b->name)
        return a->name < b->name ? -1 : 1;
    if (a->mean_ns != b->mean_ns)
        return a->mean_ns < b->mean_ns ? -1 : 1;
    return (a->rank > b->rank) - (a->rank < b->rank);
}

/* Times of each rank, its own and those of the median rank. */
static void sum_names(const struct slowness_work *work, double *own_ns, double *median_ns) {
    for (uint64_t begin = 0, end; begin < work->n; begin = end) {
        for (end = begin + 1; end < work->n && work->means[end].name == work->means[begin].name;)
            end++;
        double median = work->means[begin + (end - begin - 1) / 2].mean_ns;
        for (uint64_t i = begin; i < end && end - begin > 1; i++) {
            own_ns[work->means[i].rank] += (double)work->means[i].n * work->means[i].mean_ns;
            median_ns[work->means[i].rank] += (double)work->means[i].n * median;
        }
    }
}

static enum sutra_status compare_gpus(struct slowness_work *work, const struct rank_graph *graphs, uint32_t n,
                                      struct rank_slowness *slowness, struct sutra_error *error) {
    double *own_ns = arena_zeros(&work->arena, n, sizeof *own_ns);
    double *median_ns = arena_zeros(&work->arena, n, sizeof *median_ns);
    bool done = !work->arena.failed;
    for (uint32_t r = 0; r < n && done; r++)
        done = add_rank(work, &graphs[r], r);
    if (!done)
        return error_memory(error);
    if (work->n)
        qsort(work->means, work->n, sizeof *work->means, compare_means);
    sum_names(work, own_ns, median_ns);
    for (uint32_t r = 0; r < n; r++)
        slowness[r].gpu = median_ns[r] > 0 ? own_ns[r] / median_ns[r] : 1;
    return SUTRA_OK;
}

/* What a rank's processor takes for each kernel. */
static double launching_ns(const struct rank_graph *graph) {
    double sum_ns = 0, n_kernels = 0;
    for (row_t i = 0; i < graph->n; i++) {
        sum_ns += graph->work[i] == WORK_CPU ? (double)graph->run_ns[i] : 0;
        n_kernels += graph->work[i] == WORK_COMPUTATION;
    }
    return sum_ns / (n_kernels > 0 ? n_kernels : 1);
}

static enum sutra_status compare_processors(struct slowness_work *work, const struct rank_graph *graphs, uint32_t n,
                                            struct rank_slowness *slowness, struct sutra_error *error) {
    double *sorted = arena_take(&work->arena, n, sizeof *sorted);
    if (!sorted)
        return error_memory(error);
    for (uint32_t r = 0; r < n; r++)
        sorted[r] = slowness[r].cpu = launching_ns(&graphs[r]);
    qsort(sorted, n, sizeof *sorted, compare_doubles);
    double median = n ? sorted[(n - 1) / 2] : 0;
    for (uint32_t r = 0; r < n; r++)
        slowness[r].cpu = median > 0 ? slowness[r].cpu / median : 1;
    return SUTRA_OK;
}

static uint32_t count_names(const struct rank_graph *graphs, uint32_t n) {
    uint32_t most = 0;
    for (uint32_t r = 0; r < n; r++)
        for (row_t i = 0; i < graphs[r].n; i++)
            most = graphs[r].name[i] >= most ? graphs[r].name[i] + 1 : most;
    return most;
}

enum sutra_status slowness_find(const struct rank_graph *graphs, uint32_t n, struct rank_slowness *slowness,
                                struct sutra_error *error) {
    struct slowness_work work = {.n_names = count_names(graphs, n)};
    work.sum_ns = arena_zeros(&work.arena, work.n_names, sizeof *work.sum_ns);
    work.count = arena_zeros(&work.arena, work.n_names, sizeof *work.count);
    work.seen = arena_take(&work.arena, work.n_names, sizeof *work.seen);
    enum sutra_status status = arena_status(&work.arena, error);
    if (!status)
        status = compare_gpus(&work, graphs, n, slowness, error);
    if (!status)
        status = compare_processors(&work, graphs, n, slowness, error);
    arena_free(&work.arena);
    return status;
}

static double factor_of(double slowness) {
    return slowness > STRAGGLER_SLOWNESS ? 1 / slowness : 1;
}

void slowness_even(const struct rank_graph *graphs, uint32_t n, const struct rank_slowness *slowness,
                   double *const *run_ns) {
    for (uint32_t r = 0; r < n; r++) {
        const double factors[WORK_KINDS] = {[WORK_CPU] = factor_of(slowness[r].cpu),
                                            [WORK_COMPUTATION] = factor_of(slowness[r].gpu),
                                            [WORK_COMMUNICATION] = 1};
        for (row_t i = 0; i < graphs[r].n; i++)
            run_ns[r][i] *= factors[graphs[r].work[i]];
    }
}
