/*
 * matched_collectives.c - orders matched collectives by their ends, then determines their transfers (job.h).
 */
#include "job/job.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/error.h"
#include "base/shared.h"
#include "columns/hash_tables.h"

/* A rank whose end differs more from the median of the members did not end together with them. */
#define END_TOLERANCE_NS 20000

/* A call that is a node of a simulated rank. */
struct placed_call {
    uint64_t call;
    row_t rank;                /* index in the job */
    int64_t ready_us, done_us; /* time of the job */
    int64_t available_us;      /* when it is ready and its resource is free */
    int64_t end_ns;            /* end in the trace, as time of the job */
};

/* Collectives in the order in which they end. */
struct match_order {
    row_t match;
    int64_t median_ns;
};

struct match_search {
    const struct match_job *job;
    struct job_matches *made;
    struct arena *arena;
    const struct rank_clock **clock; /* per rank, or NULL */
    int64_t base_ns;                 /* time 0 of the job */
    int64_t *origin_ns;              /* per rank: start time on the clock of the job */
    int64_t *start_us;               /* per rank: origin_ns - base_ns in whole microseconds */
    int64_t *cover_us;               /* per rank: when its previous collective was done */
    uint64_t *before;                /* per rank: node of its previous collective, if has_before */
    bool *has_before;
    struct strings keys; /* per group made: its ranks as bytes */
    uint64_t groups_capacity;
    uint32_t n_more_groups;      /* groups that no trace names */
    struct placed_call *members; /* of the current collective */
    row_t n_members;
    int64_t *ranks; /* of a group, while it is numbered; room for all ranks, and for the two of a message */
};

/* ---- Clocks ---- */

static int64_t to_job_time(const struct match_search *search, row_t rank, int64_t ns) {
    return search->clock[rank] ? rank_clock_time(search->clock[rank], ns) : ns;
}

static row_t find_rank(const struct match_job *job, int64_t rank) {
    size_t i;
    BISECT(i, job->n, job->ranks[i].rank < rank);
    return i < job->n && job->ranks[i].rank == rank ? (row_t)i : ROW_NONE;
}

/* a - b; a difference that overflows is as large as possible. */
static int64_t apart(int64_t a, int64_t b) {
    int64_t ns;
    if (__builtin_sub_overflow(a, b, &ns))
        return a > b ? INT64_MAX / 4 : INT64_MIN / 4;
    return ns;
}

static int64_t microseconds(int64_t ns) {
    return (int64_t)floor((double)ns / 1000 + 0.5);
}

/* Converts microseconds since the start of a rank to microseconds of the job. Only clock drift changes intervals, so
 * that intervals agree with the durations of the rank's nodes. */
static int64_t to_job_us(const struct match_search *search, row_t rank, int64_t us) {
    int64_t origin_ns = search->job->ranks[rank].start.origin_ns;
    int64_t since_ns = apart(to_job_time(search, rank, origin_ns + us * 1000), search->origin_ns[rank]);
    return search->start_us[rank] + microseconds(since_ns);
}

static void find_clocks(struct match_search *search) {
    const struct match_job *job = search->job;
    const int64_t reference = job->n_clocks ? job->clocks[0].reference : job->n ? job->ranks[0].rank : 0;
    row_t at = 0;
    for (row_t r = 0; r < job->n; r++) {
        while (at < job->n_clocks && job->clocks[at].rank < job->ranks[r].rank)
            at++;
        bool has_clock = at < job->n_clocks && job->clocks[at].rank == job->ranks[r].rank;
        search->clock[r] = has_clock ? &job->clocks[at] : NULL;
        bool joined = has_clock ? job->clocks[at].reference == reference : job->ranks[r].rank == reference;
        search->made->n_apart += job->ranks[r].start.is_known && !joined;
    }
}

/* Start times of the ranks, and the duration of the job. */
static void find_starts(struct match_search *search) {
    const struct match_job *job = search->job;
    int64_t last_ns = INT64_MIN;
    search->base_ns = INT64_MAX;
    for (row_t r = 0; r < job->n; r++) {
        int64_t end_ns = to_job_time(search, r, job->ranks[r].start.end_ns);
        search->origin_ns[r] = to_job_time(search, r, job->ranks[r].start.origin_ns);
        if (!job->ranks[r].start.is_known)
            continue;
        search->base_ns = MIN(search->origin_ns[r], search->base_ns);
        last_ns = MAX(end_ns, last_ns);
    }
    if (search->base_ns == INT64_MAX)
        search->base_ns = last_ns = 0;
    search->made->measured_us = (double)apart(last_ns, search->base_ns) / 1000;
    for (row_t r = 0; r < job->n; r++) {
        const struct rank_start *start = &job->ranks[r].start;
        search->start_us[r] = microseconds(apart(search->origin_ns[r], search->base_ns));
        const int64_t start_us = MAX(search->start_us[r], 0);
        search->made->ranks[r] =
            (struct matched_collectives){.astra = job->astra,
                                         .per_stream = job->per_stream,
                                         .ranks_per_host = job->ranks_per_host,
                                         .has_start = start->is_known && start->has_ops && start_us > 0,
                                         .first_node = start->first_node,
                                         .start_us = (uint64_t)start_us,
                                         .ahead_us = microseconds(apart(start->origin_ns, search->origin_ns[r]))};
    }
}

/* ---- Order ---- */

ORDER_BY(compare_orders, struct match_order, ASCENDING(median_ns) ASCENDING(match))

static bool is_placed(const struct collective_call *call) {
    return call->done_us != CALL_UNKNOWN;
}

/* Members of a match that have nodes. */
static void list_members(struct match_search *search, const struct collective_match *match) {
    search->n_members = 0;
    for (row_t i = 0; i < match->n; i++) {
        const struct collective_call *call = collective_match_call(search->job->calls, search->job->matches, match, i);
        row_t rank = find_rank(search->job, call->rank);
        if (rank == ROW_NONE || !search->job->ranks[rank].start.is_known || !is_placed(call))
            continue;
        search->members[search->n_members++] = (struct placed_call){.call = (uint64_t)(call - search->job->calls->list),
                                                                    .rank = rank,
                                                                    .ready_us = to_job_us(search, rank, call->ready_us),
                                                                    .done_us = to_job_us(search, rank, call->done_us),
                                                                    .end_ns = to_job_time(search, rank, call->end_ns)};
    }
}

static struct match_order *order_matches(struct match_search *search, row_t *n, int64_t *ends) {
    const struct collective_matches *matches = search->job->matches;
    struct match_order *order = arena_alloc(search->arena, matches->n, sizeof *order);
    *n = 0;
    for (row_t m = 0; order && m < matches->n; m++) {
        list_members(search, &matches->list[m]);
        const row_t n_ends = search->n_members;
        if (n_ends == 0)
            continue;
        for (row_t i = 0; i < n_ends; i++)
            ends[i] = search->members[i].end_ns;
        qsort(ends, n_ends, sizeof *ends, compare_int64s);
        int64_t lower = ends[lower_median_at(n_ends)], upper = ends[upper_median_at(n_ends)];
        int64_t median = lower + (int64_t)(((uint64_t)upper - (uint64_t)lower) / 2);
        order[(*n)++] = (struct match_order){m, median};
    }
    if (*n)
        qsort(order, *n, sizeof *order, compare_orders);
    return order;
}

/* ---- Groups ---- */

/* The number of the group with these ranks, in ascending order; a new group gets the number `fresh`, also a group of
 * unknown ranks (n 0). The caller keeps the ranks. False: out of memory. */
static bool number_ranks(struct match_search *search, const int64_t *ranks, size_t n, uint32_t fresh,
                         uint32_t *number) {
    struct job_matches *made = search->made;
    const uint32_t n_known = search->keys.n;
    const uint32_t i = n ? strings_intern(&search->keys, (const char *)ranks, n * sizeof *ranks)
                         : strings_intern(&search->keys, (const char *)&fresh, sizeof fresh);
    if (i == n_known) {
        if (!arena_grow(search->arena, &made->groups, made->n_groups, &search->groups_capacity, sizeof *made->groups))
            return false;
        made->groups[made->n_groups++] = (struct astra_group){fresh, ranks, (uint32_t)n};
    }
    if (i != STRING_NONE)
        *number = made->groups[i].number;
    return i != STRING_NONE;
}

/* The same for a group that traces need not name. A new group gets a copy of the ranks. */
static bool number_more_ranks(struct match_search *search, const int64_t *ranks, size_t n, uint32_t *number) {
    const uint32_t known = strings_find(&search->keys, (const char *)ranks, n * sizeof *ranks);
    if (known != STRING_NONE) {
        *number = search->made->groups[known].number;
        return true;
    }
    int64_t *kept = arena_alloc(search->arena, n, sizeof *kept);
    if (!kept)
        return false;
    memcpy(kept, ranks, n * sizeof *kept);
    return number_ranks(search, kept, n, (uint32_t)search->job->calls->n_groups + ++search->n_more_groups, number);
}

/* Groups with the same members share a number; the group of all ranks is 0. False: out of memory. */
static bool number_groups(struct match_search *search) {
    const struct collective_calls *calls = search->job->calls;
    uint32_t *of_members = arena_zeros(search->arena, calls->strings.n, sizeof *of_members);
    search->made->group_number = arena_zeros(search->arena, calls->n_groups, sizeof *search->made->group_number);
    if (search->arena->failed)
        return false;
    for (uint32_t i = 0; i < calls->n_groups; i++) {
        uint32_t *first = &of_members[calls->groups[i].members];
        if (*first == 0)
            *first = i + 1;
        if (calls->groups[i].size >= search->job->world_size)
            continue;
        if (*first == i + 1) {
            size_t n;
            const int64_t *ranks = collective_group_ranks(calls, i, search->arena, &n);
            if (!ranks || !number_ranks(search, ranks, n, i + 1, first))
                return false;
        }
        search->made->group_number[i] = *first;
    }
    return true;
}

/* The number of the group of the two ranks of a message. False: out of memory. */
static bool number_message(struct match_search *search, const struct collective_match *match, uint32_t *number) {
    const struct match_job *job = search->job;
    if (job->world_size <= 2 || match->from < 0 || match->to < 0 || match->from == match->to ||
        match->from >= job->world_size || match->to >= job->world_size)
        return true;
    search->ranks[0] = MIN(match->from, match->to);
    search->ranks[1] = MAX(match->from, match->to);
    return number_more_ranks(search, search->ranks, 2, number);
}

/* For ASTRA-sim, members that lack a collective, for example at the start of their traces, are not in its group: the
 * others would never end. False: out of memory. */
static bool number_members(struct match_search *search, uint32_t *number) {
    for (row_t i = 0; i < search->n_members; i++)
        search->ranks[i] = search->job->ranks[search->members[i].rank].rank;
    qsort(search->ranks, search->n_members, sizeof *search->ranks, compare_int64s);
    return number_more_ranks(search, search->ranks, search->n_members, number);
}

/*
 * For ASTRA-sim the group of all ranks is a group like others. ASTRA-sim matches the collectives of a group by their
 * order in the group, but collectives without a group by their order among all collectives of the rank: where ranks run
 * different numbers of collectives in smaller groups, ASTRA-sim never ends. A job without the files of all ranks, which
 * ASTRA-sim cannot run, has no such group. False: out of memory.
 */
static bool number_all_ranks(struct match_search *search) {
    const struct match_job *job = search->job;
    uint32_t number = 0;
    bool is_used = false;
    if (!job->astra || job->world_size != (int64_t)job->n)
        return true;
    for (row_t r = 0; r < job->n; r++)
        for (row_t i = 0; i < search->made->ranks[r].n; i++)
            is_used |= search->made->ranks[r].nodes[i].group == 0;
    if (!is_used)
        return true;
    for (row_t r = 0; r < job->n; r++)
        search->ranks[r] = job->ranks[r].rank;
    if (!number_more_ranks(search, search->ranks, job->n, &number))
        return false;
    for (row_t r = 0; r < job->n; r++)
        search->made->ranks[r].all_ranks = number;
    return true;
}

/* ---- Transfers ---- */

static const struct collective_call *call_of(const struct match_search *search, row_t i) {
    return &search->job->calls->list[search->members[i].call];
}

static enum comm_kind kind_of(const struct match_search *search, row_t i) {
    return collective_kind_of(strings_text(&search->job->calls->strings, call_of(search, i)->what));
}

/* Whether the members' clocks can be compared. */
static bool share_clock(const struct match_search *search) {
    for (row_t i = 0; i < search->n_members; i++) {
        const struct rank_clock *clock = search->clock[search->members[i].rank],
                                *first = search->clock[search->members[0].rank];
        if (!clock || !first || clock->reference != first->reference)
            return false;
    }
    return true;
}

static void add_node(struct match_search *search, row_t i, const struct matched_collective *as, int64_t duration_us,
                     int64_t kernel_ns) {
    const struct placed_call *member = &search->members[i];
    const struct collective_call *call = call_of(search, i);
    const int64_t n = collective_elements(kind_of(search, i), call->n_in, call->n_out, as->n_ranks);
    const uint64_t bytes = collective_type_bytes(strings_text(&search->job->calls->strings, call->type));
    const row_t r = member->rank;
    struct matched_collectives *rank = &search->made->ranks[r];
    struct matched_collective *node = &rank->nodes[rank->n++];
    *node = *as;
    node->node = call->node;
    node->bytes = n > 0 && (uint64_t)n < UINT64_MAX / 64 ? (uint64_t)n * bytes : 0;
    node->op_bytes = (uint64_t)call->op_bytes;
    node->duration_us = (uint64_t)MAX(duration_us, 0);
    node->run_ns = MIN((uint64_t)kernel_ns, node->duration_us * 1000);
    node->has_before = !search->job->per_stream && search->has_before[r];
    node->before = search->before[r];
    search->has_before[r] = true;
    search->before[r] = node->node;
    search->cover_us[r] = member->done_us;
}

/* Adds the nodes of a collective whose members wait for each other. The transfer ends on each member at its own end, or
 * at the median end. Without a common clock it takes the shortest time that a member spent in it. */
static void add_matched_collective(struct match_search *search, const struct matched_collective *as,
                                   int64_t median_ns) {
    const bool joined = share_clock(search);
    int64_t kernel_ns = INT64_MAX, shortest_us = INT64_MAX, begin_us = INT64_MIN;
    for (row_t i = 0; i < search->n_members; i++) {
        const struct placed_call *member = &search->members[i];
        kernel_ns = MIN(kernel_ns, call_of(search, i)->end_ns - call_of(search, i)->start_ns);
        shortest_us = MIN(shortest_us, member->done_us - member->available_us);
        begin_us = MAX(begin_us, member->available_us);
    }
    for (row_t i = 0; i < search->n_members; i++) {
        const struct placed_call *member = &search->members[i];
        bool ends_together = moment_size(moment_minus(member->end_ns, median_ns)) < END_TOLERANCE_NS;
        int64_t end_us = ends_together ? member->done_us : microseconds(apart(median_ns, search->base_ns));
        add_node(search, i, as, joined ? MAX(end_us - begin_us, 0) : shortest_us, MAX(kernel_ns, 0));
    }
}

/* False: out of memory. */
static bool add_transfers(struct match_search *search, const struct match_order *order) {
    const struct collective_match *match = &search->job->matches->list[order->match];
    const int64_t group_size = search->job->calls->groups[match->group].size;
    list_members(search, match);
    /* when each member could begin on its own */
    for (row_t i = 0; i < search->n_members; i++) {
        struct placed_call *member = &search->members[i];
        int64_t cover = search->cover_us[member->rank];
        member->available_us = member->ready_us;
        if (search->job->per_stream)
            continue;
        search->made->n_beside += cover > member->ready_us + END_TOLERANCE_NS / 1000;
        if (cover > member->available_us)
            member->available_us = MIN(cover, member->done_us);
    }
    struct matched_collective as = {.matched_collective = NOT_MATCHED,
                                    .kind = kind_of(search, 0),
                                    .n_ranks = search->n_members,
                                    .n_files = search->n_members,
                                    .group = search->made->group_number[match->group]};
    if (match->is_message && !number_message(search, match, &as.group))
        return false;
    if (match->is_message)
        as.n_ranks = 2;
    else if (group_size > 0 && group_size < UINT32_MAX)
        as.n_ranks = (uint32_t)group_size;
    bool is_lacking = as.n_ranks > search->n_members, differ = false;
    for (row_t i = 1; i < search->n_members; i++)
        differ |= kind_of(search, i) != as.kind;
    search->made->n_different += differ;
    search->made->n_alone += search->n_members == 1 && is_lacking;
    if (search->n_members > 1 && !differ) {
        search->made->n_lacking += is_lacking;
        if (is_lacking && search->job->astra && !number_members(search, &as.group))
            return false;
        as.matched_collective = search->made->n_matched_collectives++;
        add_matched_collective(search, &as, order->median_ns);
        return true;
    }
    for (row_t i = 0; i < search->n_members; i++) /* no member waits for another */
        add_node(search, i, &as, search->members[i].done_us - search->members[i].available_us,
                 call_of(search, i)->end_ns - call_of(search, i)->start_ns);
    return true;
}

/* ---- The job ---- */

ORDER_BY(compare_nodes, struct matched_collective, ASCENDING(node))

static bool allocate_columns(struct match_search *search) {
    const struct match_job *job = search->job;
    struct arena *arena = search->arena;
    search->clock = arena_alloc(arena, job->n, sizeof(void *));
    search->origin_ns = arena_alloc(arena, job->n, sizeof *search->origin_ns);
    search->start_us = arena_alloc(arena, job->n, sizeof *search->start_us);
    search->cover_us = arena_zeros(arena, job->n, sizeof *search->cover_us);
    search->before = arena_zeros(arena, job->n, sizeof *search->before);
    search->has_before = arena_zeros(arena, job->n, sizeof *search->has_before);
    search->members = arena_alloc(arena, job->n, sizeof *search->members);
    search->ranks = arena_alloc(arena, MAX(job->n, 2), sizeof *search->ranks);
    search->made->ranks = arena_alloc(arena, job->n, sizeof *search->made->ranks);
    return !arena->failed;
}

static bool allocate_nodes(struct match_search *search) {
    const struct collective_calls *calls = search->job->calls;
    uint64_t *n = arena_zeros(search->arena, search->job->n, sizeof *n);
    for (uint64_t i = 0; n && i < calls->n; i++) {
        row_t rank = find_rank(search->job, calls->list[i].rank);
        if (rank != ROW_NONE)
            n[rank]++;
    }
    for (row_t r = 0; n && r < search->job->n; r++)
        search->made->ranks[r].nodes = arena_alloc(search->arena, n[r], sizeof *search->made->ranks[r].nodes);
    return !search->arena->failed;
}

enum sutra_status job_matches_find(const struct match_job *job, struct arena *arena,
                                   struct job_matches *matched_collectives, struct sutra_error *error) {
    struct match_search search = {.job = job, .made = matched_collectives, .arena = arena};
    *matched_collectives = (struct job_matches){0};
    int64_t *ends = arena_alloc(arena, job->n, sizeof *ends);
    TRY_ALLOC(allocate_columns(&search) && ends, error);
    find_clocks(&search);
    find_starts(&search);
    row_t n;
    const struct match_order *order = order_matches(&search, &n, ends);
    bool ok = strings_init(&search.keys) && order && allocate_nodes(&search) && number_groups(&search);
    for (row_t i = 0; i < n && ok; i++)
        ok = add_transfers(&search, &order[i]);
    ok = ok && number_all_ranks(&search);
    strings_free(&search.keys);
    TRY_ALLOC(ok, error);
    for (row_t r = 0; r < job->n; r++)
        if (matched_collectives->ranks[r].n)
            qsort(matched_collectives->ranks[r].nodes, matched_collectives->ranks[r].n,
                  sizeof *matched_collectives->ranks[r].nodes, compare_nodes);
    return SUTRA_OK;
}
