/*
 * nsys_nccl.c - connects kernels of NCCL with the ranges of NCCL's calls, whose payloads have bytes and communicators.
 *
 *     kernel --correlation--> launch --time, thread--> ncclAllGather (bytes, communicator) --> ncclCommInitRank (ranks)
 *
 * O(n log n) for n ranges and kernels: a sweep over the launches of each thread, with a tree of the ranges by end.
 */
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "base/error.h"
#include "base/shared.h"
#include "columns/fold_tree.h"
#include "read/nsys.h"

const struct nccl_payload *nsys_payload_of(const struct nsys_report *report, const struct nsys_range *range) {
    static const struct nccl_payload none = {.has = 0};
    return range->payload ? &report->payloads[range->payload - 1] : &none;
}

/* A communicator of a process. */
struct communicator {
    int64_t process, id, n_ranks;
    row_t row; /* of repeated ones the last counts */
};

ORDER_BY(compare_communicators, struct communicator, ASCENDING(process) ASCENDING(id) ASCENDING(row))

/* A kernel of NCCL, by the call that launched it. */
struct nccl_kernel {
    int64_t thread, start, end; /* of the call */
    row_t event;
};

ORDER_BY(compare_nccl_kernels, struct nccl_kernel, ASCENDING(thread) ASCENDING(start) ASCENDING(event))

/* The end of a range, and its index in a list. */
struct range_end {
    int64_t end;
    row_t index;
};

ORDER_BY(compare_range_ends, struct range_end, ASCENDING(end) ASCENDING(index))

struct nccl_ranges {
    const struct nsys_report *report;
    row_t *rows; /* by thread, then in the order of nsys_compare_ranges() */
    row_t n;
    struct communicator *communicators;
    row_t n_communicators;
    struct nccl_kernel *kernels;
    row_t n_kernels;
};

static int compare_nccl_ranges(const void *left, const void *right, void *arg) {
    const struct nsys_report *report = arg;
    int64_t a = report->ranges[*(const row_t *)left].thread, b = report->ranges[*(const row_t *)right].thread;
    return a != b ? (a < b ? -1 : 1) : nsys_compare_ranges(left, right, arg);
}

/* Lists the ranges of NCCL's calls, its communicators, and its kernels with a launch. */
static bool list_nccl(struct nsys_report *report, struct nccl_ranges *nccl) {
    const struct nsys_events *events = &report->events;
    struct arena *arena = &report->arena;
    nccl->rows = arena_alloc(arena, report->n_ranges, sizeof *nccl->rows);
    nccl->communicators = arena_alloc(arena, report->n_ranges, sizeof *nccl->communicators);
    nccl->kernels = arena_alloc(arena, report->n_gpus, sizeof *nccl->kernels);
    for (row_t i = 0; i < report->n_ranges && !arena->failed; i++) {
        const struct nsys_range *range = &report->ranges[i];
        const char *label = strings_text(&report->names, range->label);
        const unsigned both = 1u << NCCL_N_RANKS | 1u << NCCL_COMMUNICATOR;
        if (!range->is_nested)
            continue;
        if (strncmp(label, "nccl", 4) == 0 && label[4] != ':' && !range->is_emitted)
            nccl->rows[nccl->n++] = i;
        const struct nccl_payload *payload = nsys_payload_of(report, range);
        if ((payload->has & both) == both)
            nccl->communicators[nccl->n_communicators++] = (struct communicator){
                range->thread & ~(int64_t)0xffffff, payload->field[NCCL_COMMUNICATOR], payload->field[NCCL_N_RANKS], i};
    }
    for (row_t i = 0; i < events->n && nccl->n && !arena->failed; i++) {
        if (events->category[i] != NSYS_KERNEL || report->launch[events->detail[i]] == ROW_NONE ||
            !nsys_kernel_communicates(strings_text(&report->names, events->name[i]),
                                      strings_length(&report->names, events->name[i])))
            continue;
        row_t call = report->launch[events->detail[i]];
        nccl->kernels[nccl->n_kernels++] = (struct nccl_kernel){
            events->process[call] | events->tid[call], events->start[call], events->start[call] + events->dur[call], i};
    }
    if (arena->failed)
        return false;
    qsort_r(nccl->rows, nccl->n, sizeof *nccl->rows, compare_nccl_ranges, report);
    qsort(nccl->communicators, nccl->n_communicators, sizeof *nccl->communicators, compare_communicators);
    qsort(nccl->kernels, nccl->n_kernels, sizeof *nccl->kernels, compare_nccl_kernels);
    return true;
}

/* The name of a collective, from the text of its call: ncclAllGather. */
static const char *collective_name(const char *label) {
    static const char *const names[] = {"allreduce", "allgather", "reducescatter", "broadcast", "reduce",
                                        "alltoall",  "gather",    "scatter",       "send",      "recv"};
    for (size_t i = 0; i < sizeof names / sizeof *names; i++)
        if (strcasecmp(label + 4, names[i]) == 0)
            return names[i];
    return "unknown";
}

/* Attributes the calls in `calls` to a kernel: sum of bytes, labels from min to max, first call. */
static void set_collective(struct nsys_report *report, const struct nccl_ranges *nccl, row_t event, struct fold calls,
                           const row_t *rows) {
    struct nsys_collective *collective = &report->collectives[report->n_collectives++];
    const struct nccl_payload *first = nsys_payload_of(report, &report->ranges[rows[calls.first]]);
    struct communicator wanted = {report->events.process[event], first->field[NCCL_COMMUNICATOR], 0, ROW_NONE};
    const char *label = strings_text(&report->names, (uint32_t)calls.min);
    row_t at = 0;
    report->gpus[report->events.detail[event]].collective = (uint32_t)report->n_collectives;
    *collective = (struct nsys_collective){.name = calls.min == calls.max ? collective_name(label) : "coalesced",
                                           .communicator = NSYS_NONE,
                                           .group_size = NSYS_NONE,
                                           .bytes = calls.sum};
    if (!(first->has & 1u << NCCL_COMMUNICATOR))
        return;
    collective->communicator = wanted.id;
    BISECT(at, nccl->n_communicators, compare_communicators(&nccl->communicators[at], &wanted) < 0);
    if (at > 0 && nccl->communicators[at - 1].process == wanted.process && nccl->communicators[at - 1].id == wanted.id)
        collective->group_size = nccl->communicators[at - 1].n_ranks;
}

/*
 * The calls of NCCL that enclose the launches of kernels on one thread: rows[0..n) are the thread's ranges by start.
 *
 *     ranges   ncclGroupStart  ncclSend  ncclRecv  ncclGroupEnd [ launch ]      the calls since the group's start
 *              ncclAllGather [ launch ]                                        the ranges around the launch
 *
 * A range is set in the tree `around`, by its end, when the sweep over the launches has passed its start.
 */
static void match_thread(struct nsys_report *report, const struct nccl_ranges *nccl, const row_t *rows, row_t n,
                         const struct nccl_kernel *kernels, row_t n_kernels) {
    struct arena *arena = &report->arena;
    const uint32_t group_start = strings_find(&report->names, "ncclGroupStart", 14);
    const uint32_t group_end = strings_find(&report->names, "ncclGroupEnd", 12);
    struct fold_tree around = fold_tree_alloc(arena, n), all = fold_tree_alloc(arena, n);
    struct range_end *by_end = arena_alloc(arena, n, sizeof *by_end);
    int64_t *group_starts = arena_alloc(arena, n, sizeof *group_starts);
    row_t *position = arena_alloc(arena, n, sizeof *position), n_groups = 0, n_set = 0;
    if (arena->failed)
        return;
    for (row_t i = 0; i < n; i++) {
        const struct nsys_range *range = &report->ranges[rows[i]];
        by_end[i] = (struct range_end){range->end, i};
        if (range->label == group_start)
            group_starts[n_groups++] = range->end;
        const struct nccl_payload *payload = nsys_payload_of(report, range);
        if (payload->has & 1u << NCCL_BYTES)
            fold_tree_set(&all, i, (struct fold){payload->field[NCCL_BYTES], range->label, range->label, i, i});
    }
    qsort(by_end, n, sizeof *by_end, compare_range_ends);
    qsort(group_starts, n_groups, sizeof *group_starts, compare_int64s);
    for (row_t i = 0; i < n; i++)
        position[by_end[i].index] = i;
    for (row_t k = 0; k < n_kernels; k++) {
        for (; n_set < n && report->ranges[rows[n_set]].start <= kernels[k].start; n_set++) {
            struct fold value = all.nodes[all.n + n_set];
            value.last = n_set;
            fold_tree_set(&around, position[n_set], value);
        }
        row_t from = 0, low = 0, high = 0, group = 0;
        BISECT(from, n, by_end[from].end < kernels[k].end);
        struct fold found = fold_tree_fold(&around, from, n);
        if (found.last < 0)
            continue;
        const struct nsys_range *innermost = &report->ranges[rows[found.last]];
        if (innermost->label == group_end) {
            BISECT(group, n_groups, group_starts[group] <= innermost->start);
            int64_t begin = group ? group_starts[group - 1] : -1;
            BISECT(low, n, report->ranges[rows[low]].start < begin);
            BISECT(high, n, report->ranges[rows[high]].start < innermost->start);
            found = fold_tree_fold(&all, MIN(low, high), high);
        }
        if (found.first != INT64_MAX)
            set_collective(report, nccl, kernels[k].event, found, rows);
    }
}

enum sutra_status nsys_match_collectives(struct nsys_report *report, struct sutra_error *error) {
    struct nccl_ranges nccl = {.report = report};
    bool ok = list_nccl(report, &nccl);
    report->collectives = arena_alloc(&report->arena, nccl.n_kernels, sizeof *report->collectives);
    ok = ok && report->collectives;
    row_t kernel = 0;
    for (row_t first = 0, end; first < nccl.n && ok; first = end) {
        int64_t thread = report->ranges[nccl.rows[first]].thread;
        for (end = first + 1; end < nccl.n && report->ranges[nccl.rows[end]].thread == thread;)
            end++;
        while (kernel < nccl.n_kernels && nccl.kernels[kernel].thread < thread)
            kernel++;
        row_t first_kernel = kernel;
        while (kernel < nccl.n_kernels && nccl.kernels[kernel].thread == thread)
            kernel++;
        struct arena_mark inner = arena_mark(&report->arena);
        if (kernel > first_kernel)
            match_thread(report, &nccl, nccl.rows + first, end - first, nccl.kernels + first_kernel,
                         kernel - first_kernel);
        ok = !report->arena.failed;
        arena_release(&report->arena, inner);
    }
    return ok ? SUTRA_OK : error_memory(error);
}
