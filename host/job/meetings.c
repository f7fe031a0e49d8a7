/*
 * meetings.c - collectives side by side, from their ends to their transfers; see meetings.h.
 */
#include "job/meetings.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/error.h"
#include "base/shared.h"

/* A rank whose end is so far from the median of all did not end with them. */
#define END_TOLERANCE_NS 20000

/* What is known of a call beside its row. */
struct placed_call {
    uint64_t call;
    row_t rank;                /* place in the job */
    int64_t ready_us, done_us; /* of the job */
    int64_t available_us;      /* ready, and its resource is free */
    int64_t end_ns;            /* of the job, as the trace has it */
};

/* Collectives in the order in which they end. */
struct meeting_order {
    row_t match;
    int64_t median_ns;
};

struct meetings_work {
    const struct meeting_job *job;
    struct job_meetings *made;
    struct arena *arena;
    const struct rank_clock **clock; /* per rank, or NULL */
    int64_t base_ns;                 /* time 0 of the job */
    int64_t *origin_ns;              /* per rank: when it starts, by the clock of the job */
    int64_t *start_us;               /* the same since time 0, in whole microseconds */
    int64_t *cover_us;               /* per rank: when its collective before was done */
    uint64_t *before;                /* and that one's node */
    bool *has_before;
    struct placed_call *members; /* of the collective at hand */
    row_t n_members;
};

/* ---- Clocks ---- */

static int64_t to_job_time(const struct meetings_work *work, row_t rank, int64_t ns) {
    return work->clock[rank] ? rank_clock_time(work->clock[rank], ns) : ns;
}

static row_t rank_place(const struct meeting_job *job, int64_t rank) {
    size_t low = 0, high = job->n;
    while (low < high) {
        size_t middle = low + (high - low) / 2;
        if (job->ranks[middle].rank < rank)
            low = middle + 1;
        else
            high = middle;
    }
    return low < job->n && job->ranks[low].rank == rank ? (row_t)low : ROW_NONE;
}

/* From b to a; what no trace can be is as far as can be. */
static int64_t apart(int64_t a, int64_t b) {
    int64_t ns;
    if (__builtin_sub_overflow(a, b, &ns))
        return a > b ? INT64_MAX / 4 : INT64_MIN / 4;
    return ns;
}

static int64_t microseconds(int64_t ns) {
    return (int64_t)floor((double)ns / 1000 + 0.5);
}

/* Microseconds since a rank's start as microseconds of the job. Only a clock that drifts makes more of them, or less,
 * so that they fit to the durations of the rank's nodes. */
static int64_t placed_us(const struct meetings_work *work, row_t rank, int64_t us) {
    int64_t origin_ns = work->job->ranks[rank].start.origin_ns;
    int64_t since_ns = apart(to_job_time(work, rank, origin_ns + us * 1000), work->origin_ns[rank]);
    return work->start_us[rank] + microseconds(since_ns);
}

static void find_clocks(struct meetings_work *work) {
    const struct meeting_job *job = work->job;
    const int64_t reference = job->n_clocks ? job->clocks[0].reference : job->n ? job->ranks[0].rank : 0;
    row_t at = 0;
    for (row_t r = 0; r < job->n; r++) {
        while (at < job->n_clocks && job->clocks[at].rank < job->ranks[r].rank)
            at++;
        bool told = at < job->n_clocks && job->clocks[at].rank == job->ranks[r].rank;
        work->clock[r] = told ? &job->clocks[at] : NULL;
        bool joined = told ? job->clocks[at].reference == reference : job->ranks[r].rank == reference;
        work->made->n_apart += job->ranks[r].start.is_told && !joined;
    }
}

/* When each rank starts, and how long the job takes. */
static void find_starts(struct meetings_work *work) {
    const struct meeting_job *job = work->job;
    int64_t last_ns = INT64_MIN;
    work->base_ns = INT64_MAX;
    for (row_t r = 0; r < job->n; r++) {
        int64_t end_ns = to_job_time(work, r, job->ranks[r].start.end_ns);
        work->origin_ns[r] = to_job_time(work, r, job->ranks[r].start.origin_ns);
        if (!job->ranks[r].start.is_told)
            continue;
        work->base_ns = work->origin_ns[r] < work->base_ns ? work->origin_ns[r] : work->base_ns;
        last_ns = end_ns > last_ns ? end_ns : last_ns;
    }
    if (work->base_ns == INT64_MAX)
        work->base_ns = last_ns = 0;
    work->made->measured_us = (double)apart(last_ns, work->base_ns) / 1000;
    for (row_t r = 0; r < job->n; r++) {
        const struct rank_start *start = &job->ranks[r].start;
        work->start_us[r] = microseconds(apart(work->origin_ns[r], work->base_ns));
        work->made->ranks[r] =
            (struct rank_meetings){.astra = job->astra,
                                   .per_stream = job->per_stream,
                                   .has_start = start->is_told && start->has_ops && work->start_us[r] > 0,
                                   .first_node = start->first_node,
                                   .start_us = work->start_us[r] > 0 ? (uint64_t)work->start_us[r] : 0,
                                   .ahead_us = microseconds(apart(start->origin_ns, work->origin_ns[r]))};
    }
}

/* ---- Order ---- */

ORDER_BY(compare_orders, struct meeting_order, ASCENDING(median_ns) ASCENDING(match))

static bool is_placed(const struct collective_call *call) {
    return call->done_us != CALL_UNKNOWN;
}

/* Members of a match that have nodes. */
static void list_members(struct meetings_work *work, const struct collective_match *match) {
    work->n_members = 0;
    for (row_t i = 0; i < match->n; i++) {
        const struct collective_call *call = collective_match_call(work->job->calls, work->job->matches, match, i);
        row_t rank = rank_place(work->job, call->rank);
        if (rank == ROW_NONE || !work->job->ranks[rank].start.is_told || !is_placed(call))
            continue;
        work->members[work->n_members++] = (struct placed_call){.call = (uint64_t)(call - work->job->calls->list),
                                                                .rank = rank,
                                                                .ready_us = placed_us(work, rank, call->ready_us),
                                                                .done_us = placed_us(work, rank, call->done_us),
                                                                .end_ns = to_job_time(work, rank, call->end_ns)};
    }
}

/* The median end, of two in the middle their mean; `ends` has room for them. */
static int64_t median_end(const struct meetings_work *work, int64_t *ends) {
    const row_t n = work->n_members;
    for (row_t i = 0; i < n; i++)
        ends[i] = work->members[i].end_ns;
    qsort(ends, n, sizeof *ends, compare_int64s);
    return n % 2 ? ends[n / 2] : ends[n / 2 - 1] + (int64_t)(((uint64_t)ends[n / 2] - (uint64_t)ends[n / 2 - 1]) / 2);
}

static struct meeting_order *order_matches(struct meetings_work *work, row_t *n, int64_t *ends) {
    const struct collective_matches *matches = work->job->matches;
    struct meeting_order *order = arena_take(work->arena, matches->n, sizeof *order);
    *n = 0;
    for (row_t m = 0; order && m < matches->n; m++) {
        list_members(work, &matches->list[m]);
        if (work->n_members)
            order[(*n)++] = (struct meeting_order){m, median_end(work, ends)};
    }
    if (*n)
        qsort(order, *n, sizeof *order, compare_orders);
    return order;
}

/* ---- Transfers ---- */

static const struct collective_call *call_of(const struct meetings_work *work, row_t i) {
    return &work->job->calls->list[work->members[i].call];
}

static enum comm_kind kind_of(const struct meetings_work *work, row_t i) {
    return collective_kind_of(strings_text(&work->job->calls->strings, call_of(work, i)->what));
}

/* Whether all say the same of what they do. */
static bool agree(const struct meetings_work *work) {
    for (row_t i = 1; i < work->n_members; i++)
        if (kind_of(work, i) != kind_of(work, 0))
            return false;
    return true;
}

/* Whether the members' clocks can be compared. */
static bool share_clock(const struct meetings_work *work) {
    for (row_t i = 0; i < work->n_members; i++) {
        const struct rank_clock *clock = work->clock[work->members[i].rank],
                                *first = work->clock[work->members[0].rank];
        if (!clock || !first || clock->reference != first->reference)
            return false;
    }
    return true;
}

static uint64_t bytes_of(const struct meetings_work *work, row_t i, uint32_t n_ranks) {
    const struct collective_call *call = call_of(work, i);
    int64_t n = collective_elements(kind_of(work, i), call->n_in, call->n_out, n_ranks);
    uint64_t bytes = collective_type_bytes(strings_text(&work->job->calls->strings, call->type));
    return n > 0 && (uint64_t)n < UINT64_MAX / 64 ? (uint64_t)n * bytes : 0;
}

/* Ranks of the group as the trace tells, or those that are there. */
static uint32_t count_ranks(const struct meetings_work *work, const struct collective_match *match) {
    int64_t told = work->job->calls->groups[match->group].size;
    if (match->is_message)
        return 2;
    return told > 0 && told < UINT32_MAX ? (uint32_t)told : work->n_members;
}

/* When each member could begin, for itself. */
static void make_available(struct meetings_work *work) {
    for (row_t i = 0; i < work->n_members; i++) {
        struct placed_call *member = &work->members[i];
        int64_t cover = work->cover_us[member->rank];
        member->available_us = member->ready_us;
        if (work->job->per_stream)
            continue;
        work->made->n_beside += cover > member->ready_us + END_TOLERANCE_NS / 1000;
        if (cover > member->available_us)
            member->available_us = cover < member->done_us ? cover : member->done_us;
    }
}

/* The transfer of a member that meets others: up to its own end, or the median one. */
static int64_t transfer_us(const struct meetings_work *work, row_t i, int64_t median_ns, int64_t begin_us) {
    const struct placed_call *member = &work->members[i];
    int64_t end_us = moment_size(moment_minus(member->end_ns, median_ns)) < END_TOLERANCE_NS
                         ? member->done_us
                         : microseconds(apart(median_ns, work->base_ns));
    return end_us > begin_us ? end_us - begin_us : 0;
}

/* Without a common clock: nobody's is longer than from its own readiness to its end. */
static int64_t shortest_us(const struct meetings_work *work) {
    int64_t shortest = INT64_MAX;
    for (row_t i = 0; i < work->n_members; i++) {
        int64_t own = work->members[i].done_us - work->members[i].available_us;
        shortest = own < shortest ? own : shortest;
    }
    return shortest;
}

static int64_t shortest_kernel_ns(const struct meetings_work *work) {
    int64_t shortest = INT64_MAX;
    for (row_t i = 0; i < work->n_members; i++) {
        int64_t own = call_of(work, i)->end_ns - call_of(work, i)->start_ns;
        shortest = own < shortest ? own : shortest;
    }
    return shortest > 0 ? shortest : 0;
}

static void put_node(struct meetings_work *work, row_t i, const struct meeting_node *as, int64_t duration_us,
                     int64_t kernel_ns) {
    const struct placed_call *member = &work->members[i];
    const row_t r = member->rank;
    struct rank_meetings *rank = &work->made->ranks[r];
    struct meeting_node *node = &rank->nodes[rank->n++];
    *node = *as;
    node->node = call_of(work, i)->node;
    node->bytes = bytes_of(work, i, as->n_ranks);
    node->duration_us = duration_us > 0 ? (uint64_t)duration_us : 0;
    node->run_ns = (uint64_t)kernel_ns < node->duration_us * 1000 ? (uint64_t)kernel_ns : node->duration_us * 1000;
    node->has_before = !work->job->per_stream && work->has_before[r];
    node->before = work->before[r];
    work->has_before[r] = true;
    work->before[r] = node->node;
    work->cover_us[r] = member->done_us;
}

/* Nobody meets: each takes its own time. */
static void put_alone(struct meetings_work *work, const struct meeting_node *as) {
    for (row_t i = 0; i < work->n_members; i++) {
        const struct placed_call *member = &work->members[i];
        put_node(work, i, as, member->done_us - member->available_us,
                 call_of(work, i)->end_ns - call_of(work, i)->start_ns);
    }
}

static void put_meeting(struct meetings_work *work, const struct meeting_node *as, int64_t median_ns) {
    const int64_t kernel_ns = shortest_kernel_ns(work), shortest = shortest_us(work);
    const bool joined = share_clock(work);
    int64_t begin_us = INT64_MIN;
    for (row_t i = 0; i < work->n_members; i++)
        begin_us = work->members[i].available_us > begin_us ? work->members[i].available_us : begin_us;
    for (row_t i = 0; i < work->n_members; i++)
        put_node(work, i, as, joined ? transfer_us(work, i, median_ns, begin_us) : shortest, kernel_ns);
}

static void make_transfers(struct meetings_work *work, const struct meeting_order *order) {
    const struct collective_match *match = &work->job->matches->list[order->match];
    list_members(work, match);
    make_available(work);
    struct meeting_node as = {.meeting = MEETING_NONE,
                              .kind = kind_of(work, 0),
                              .n_ranks = count_ranks(work, match),
                              .n_files = work->n_members,
                              .group = work->made->group_number[match->group]};
    bool is_lacking = as.n_ranks > work->n_members, differ = !agree(work);
    work->made->n_different += differ;
    work->made->n_alone += work->n_members == 1 && is_lacking;
    if (work->n_members == 1 || differ) {
        put_alone(work, &as);
        return;
    }
    work->made->n_lacking += is_lacking;
    as.meeting = work->made->n_meetings++;
    put_meeting(work, &as, order->median_ns);
}

/* ---- Groups ---- */

/* Groups of the same members are one; that of all ranks is 0. */
static bool number_groups(struct meetings_work *work) {
    const struct collective_calls *calls = work->job->calls;
    uint32_t *of_members = arena_zeros(work->arena, calls->strings.n, sizeof *of_members);
    work->made->group_number = arena_take(work->arena, calls->n_groups, sizeof *work->made->group_number);
    if (work->arena->failed)
        return false;
    for (uint32_t i = 0; i < calls->n_groups; i++) {
        uint32_t *first = &of_members[calls->groups[i].members];
        if (*first == 0)
            *first = i + 1;
        work->made->group_number[i] = calls->groups[i].size >= work->job->world_size ? 0 : *first;
    }
    return true;
}

/* ---- All of it ---- */

ORDER_BY(compare_nodes, struct meeting_node, ASCENDING(node))

static bool take_columns(struct meetings_work *work) {
    const struct meeting_job *job = work->job;
    struct arena *arena = work->arena;
    work->clock = arena_take(arena, job->n, sizeof(void *));
    work->origin_ns = arena_take(arena, job->n, sizeof *work->origin_ns);
    work->start_us = arena_take(arena, job->n, sizeof *work->start_us);
    work->cover_us = arena_zeros(arena, job->n, sizeof *work->cover_us);
    work->before = arena_zeros(arena, job->n, sizeof *work->before);
    work->has_before = arena_zeros(arena, job->n, sizeof *work->has_before);
    work->members = arena_take(arena, job->n, sizeof *work->members);
    work->made->ranks = arena_take(arena, job->n, sizeof *work->made->ranks);
    return !arena->failed;
}

static bool take_nodes(struct meetings_work *work) {
    const struct collective_calls *calls = work->job->calls;
    uint64_t *n = arena_zeros(work->arena, work->job->n, sizeof *n);
    for (uint64_t i = 0; n && i < calls->n; i++) {
        row_t rank = rank_place(work->job, calls->list[i].rank);
        if (rank != ROW_NONE)
            n[rank]++;
    }
    for (row_t r = 0; n && r < work->job->n; r++)
        work->made->ranks[r].nodes = arena_take(work->arena, n[r], sizeof *work->made->ranks[r].nodes);
    return !work->arena->failed;
}

enum sutra_status job_meetings_find(const struct meeting_job *job, struct arena *arena, struct job_meetings *meetings,
                                    struct sutra_error *error) {
    struct meetings_work work = {.job = job, .made = meetings, .arena = arena};
    *meetings = (struct job_meetings){0};
    int64_t *ends = arena_take(arena, job->n, sizeof *ends);
    if (!take_columns(&work) || !ends)
        return error_memory(error);
    find_clocks(&work);
    find_starts(&work);
    row_t n;
    const struct meeting_order *order = order_matches(&work, &n, ends);
    if (!take_nodes(&work) || !order || !number_groups(&work))
        return error_memory(error);
    for (row_t i = 0; i < n; i++)
        make_transfers(&work, &order[i]);
    for (row_t r = 0; r < job->n; r++)
        if (meetings->ranks[r].n)
            qsort(meetings->ranks[r].nodes, meetings->ranks[r].n, sizeof *meetings->ranks[r].nodes, compare_nodes);
    return SUTRA_OK;
}
