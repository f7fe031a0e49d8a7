/*
 * program_replicas.c - other numbers of data-parallel replicas: the data-parallel level of a job, its network, and the
 * programs of new ranks; implements the last part of program.h.
 *
 *     ranks 0 1 2 3 with groups {0 1} {2 3} and {0 2} {1 3}; gradients are reduced in {0 2} and {1 3}
 *
 *     data-parallel groups   {0 2} {1 3}      a partition of all ranks
 *     replicas               {0 1} {2 3}      connected by the other groups
 *
 *     network    time = A(kind, n) + factor(kind, n) * bytes * slope      slope common to all kinds of a level
 *                A = a0 + steps(kind, n) * hop
 */
#include <inttypes.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/error.h"
#include "base/shared.h"
#include "simulate/program.h"

/* ---- The network ---- */

#define KIND_TREE N_COMM_KINDS /* an all-reduce in a tree */

/* Sizes differ if the sum of their squares around the means exceeds this. */
#define SIZES_DIFFER 1e6

/* With one size of each kind, this share of the transfer moves data. */
#define MOVING_SHARE 0.9

static unsigned item_kind(const struct programs *programs, const struct rank_graph *graph,
                          const struct program_item *item) {
    const enum comm_kind kind = graph->transfers[item->transfer].kind;
    return kind == COMM_ALL_REDUCE && programs->names[graph->name[item->node]] & NAME_IS_TREE ? KIND_TREE : kind;
}

/* Bytes that a rank's link moves per byte of the collective. */
static double kind_factor(unsigned kind, uint32_t n) {
    if (kind == KIND_TREE)
        return n > 1 ? 2 : 0;
    const double share = collective_bus_share((enum comm_kind)kind, n);
    return isnan(share) ? 1 : share;
}

/* The hops that a collective of n ranks takes one after the other. */
static double kind_steps(unsigned kind, uint32_t n) {
    switch (kind) {
    case KIND_TREE:
        return 2 * ceil(log2(MAX(n, 1)));
    case COMM_ALL_REDUCE:
        return 2 * (double)(n - 1);
    case COMM_ALL_GATHER:
    case COMM_REDUCE_SCATTER:
        return (double)(n - 1);
    default:
        return 1;
    }
}

/* The collectives of a kind and number of ranks on a level. */
struct network_class {
    unsigned kind;
    uint32_t n_ranks, level;
    double n, moved, ns; /* sums */
};

struct network_sums {
    struct pair_table numbers; /* (ranks, level and kind) -> class */
    struct network_class *classes;
    uint32_t n;
    uint64_t capacity;
    double moved_squared[2], both[2]; /* around the means of the classes, by level */
};

static uint32_t group_level(const struct program_group *group, uint64_t ranks_per_host) {
    return group->first / ranks_per_host != group->last / ranks_per_host;
}

/* The class of a collective; NULL: out of memory. */
static struct network_class *find_class(struct network_sums *sums, unsigned kind, uint32_t n_ranks, uint32_t level,
                                        struct arena *arena) {
    struct pair_entry *entry = pair_table_insert(&sums->numbers, n_ranks, 2 * kind + level);
    if (!entry || !arena_grow(arena, &sums->classes, sums->n, &sums->capacity, sizeof *sums->classes))
        return NULL;
    if (entry->number == PAIR_NONE) {
        entry->number = sums->n++;
        sums->classes[entry->number] = (struct network_class){.kind = kind, .n_ranks = n_ranks, .level = level};
    }
    return &sums->classes[entry->number];
}

/* Adds each match once: in the first pass to the sums of its class, in the second one to the squares of its level. */
static bool sum_matches(const struct programs *programs, uint64_t ranks_per_host, bool squares,
                        struct network_sums *sums, struct arena *arena) {
    bool *is_known = arena_zeros(arena, programs->n_matches, sizeof *is_known);
    if (!is_known)
        return false;
    for (uint32_t p = 0; p < programs->n; p++) {
        const struct program *program = &programs->list[p];
        const struct rank_graph *graph = program_graph_of(programs, program);
        for (row_t i = 0; i < program->items.n; i++) {
            const struct program_item *item = &program->items.list[i];
            const uint32_t match = item->transfer == ROW_NONE || !graph->matched_collective
                                       ? NO_MATCH
                                       : graph->matched_collective[item->node];
            if (match == NO_MATCH || is_known[match])
                continue;
            is_known[match] = true;
            const struct transfer *transfer = &graph->transfers[item->transfer];
            const unsigned kind = item_kind(programs, graph, item);
            const double moved = kind_factor(kind, transfer->n_ranks) * (double)transfer->bytes;
            struct network_class *class = find_class(
                sums, kind, transfer->n_ranks, group_level(&programs->groups[item->group], ranks_per_host), arena);
            if (!class)
                return false;
            if (!squares) {
                class->n++;
                class->moved += moved;
                class->ns += item->run_ns;
                continue;
            }
            const double x = moved - class->moved / class->n, y = item->run_ns - class->ns / class->n;
            sums->moved_squared[class->level] += x * x;
            sums->both[class->level] += x * y;
        }
    }
    return true;
}

/* Fits the hop latency and its bounds, from the classes of a level. */
static void fit_hop(const struct network_sums *sums, uint32_t level, double slope, double default_hop_ns,
                    struct level_network *fit) {
    double n = 0, mean_steps = 0, mean_a = 0, largest = INFINITY, whole = INFINITY, fewest = INFINITY, most = 0;
    for (uint32_t c = 0; c < sums->n; c++) {
        const struct network_class *class = &sums->classes[c];
        if (class->level != level)
            continue;
        const double a = fmax(0, (class->ns - slope * class->moved) / class->n);
        const double steps = kind_steps(class->kind, class->n_ranks);
        n += class->n;
        mean_steps += class->n * steps;
        mean_a += class->n * a;
        fewest = fmin(fewest, steps);
        most = fmax(most, steps);
        if (steps > 0) {
            largest = fmin(largest, a / steps);
            whole = fmin(whole, class->ns / class->n / steps);
        }
    }
    if (isinf(largest))
        largest = whole = 0;
    mean_steps /= n;
    mean_a /= n;
    double hop = fmin(largest, default_hop_ns);
    bool is_fitted = most > fewest && !fit->has_one_size;
    if (is_fitted) {
        double both = 0, squares = 0;
        for (uint32_t c = 0; c < sums->n; c++) {
            const struct network_class *class = &sums->classes[c];
            if (class->level != level)
                continue;
            const double x = kind_steps(class->kind, class->n_ranks) - mean_steps;
            both += class->n * x * (fmax(0, (class->ns - slope * class->moved) / class->n) - mean_a);
            squares += class->n * x * x;
        }
        hop = fmax(0, fmin(both / squares, largest));
    }
    fit->hop_ns[NETWORK_ESTIMATE] = hop;
    fit->hop_ns[NETWORK_LOW] = is_fitted ? hop : 0;
    fit->hop_ns[NETWORK_HIGH] = is_fitted ? hop : fit->has_one_size ? whole : largest;
}

enum sutra_status programs_fit_network(const struct programs *programs, uint64_t ranks_per_host, double hop_ns,
                                       struct job_network *network, struct sutra_error *error) {
    struct arena scratch = {0};
    struct network_sums sums = {0};
    *network = (struct job_network){.ranks_per_host = ranks_per_host};
    const bool done = pair_table_init(&sums.numbers) && sum_matches(programs, ranks_per_host, false, &sums, &scratch) &&
                      sum_matches(programs, ranks_per_host, true, &sums, &scratch);
    for (uint32_t level = 0; level < 2 && done; level++) {
        struct level_network *fit = &network->levels[level];
        double fastest_ns = INFINITY; /* per moved byte */
        for (uint32_t c = 0; c < sums.n; c++) {
            if (sums.classes[c].level != level)
                continue;
            fit->is_known = true;
            if (sums.classes[c].moved > 0)
                fastest_ns = fmin(fastest_ns, sums.classes[c].ns / sums.classes[c].moved);
        }
        if (!fit->is_known)
            continue;
        if (isinf(fastest_ns))
            fastest_ns = 0;
        fit->has_one_size = !(sums.moved_squared[level] > SIZES_DIFFER && sums.both[level] > 0);
        const double slope =
            fit->has_one_size ? MOVING_SHARE * fastest_ns : sums.both[level] / sums.moved_squared[level];
        const double standard_ns = level ? HOP_ACROSS_HOSTS_NS : HOP_ON_HOST_NS;
        fit_hop(&sums, level, slope, isnan(hop_ns) ? standard_ns : hop_ns, fit);
        for (int which = 0; which < N_NETWORKS; which++)
            fit->ns_per_byte[which] = slope;
        if (fit->has_one_size) { /* all of it moves data, or nothing */
            fit->ns_per_byte[NETWORK_LOW] = fastest_ns;
            fit->ns_per_byte[NETWORK_HIGH] = 0;
        }
    }
    pair_table_free(&sums.numbers);
    arena_free(&scratch);
    return done ? SUTRA_OK : error_memory(error);
}

/* The execution time of a collective in another group of ranks. */
static double time_in_group(const struct job_network *network, enum network_bound which, unsigned kind,
                            const struct program_group *before, uint32_t n_before, const struct program_group *after,
                            double bytes, double run_ns) {
    const struct level_network *from = &network->levels[group_level(before, network->ranks_per_host)];
    const struct level_network *to = &network->levels[group_level(after, network->ranks_per_host)];
    if (!to->is_known)
        return run_ns; /* --network sets the time */
    if (after->n == 1 && which == NETWORK_LOW)
        return 0; /* one rank may run no kernel */
    const double steps_ns =
        kind_steps(kind, after->n) * to->hop_ns[which] - kind_steps(kind, n_before) * from->hop_ns[which];
    const double moving_ns = to->ns_per_byte[which] * kind_factor(kind, after->n) * bytes -
                             from->ns_per_byte[which] * kind_factor(kind, n_before) * bytes;
    return fmax(0, run_ns + steps_ns + moving_ns);
}

/* ---- The data-parallel level ---- */

/* Partitions of the ranks that are examined, of each size of groups and in all. */
#define PARTITIONS_MAX 64

/* What a group of ranks reduces. */
struct group_use {
    double bytes;    /* of all-reduces and reduce-scatters */
    bool is_used;    /* it has all-reduces, reduce-scatters or all-gathers */
    bool in_forward; /* it reduces before the first backward operator of a step, as tensor parallelism does */
};

static void find_uses(const struct programs *programs, struct group_use *uses) {
    for (uint32_t p = 0; p < programs->n; p++) {
        const struct program *program = &programs->list[p];
        const struct rank_graph *graph = program_graph_of(programs, program);
        int32_t step = INT32_MIN;
        bool is_backward = false;
        for (row_t i = 0; i < program->items.n; i++) {
            const struct program_item *item = &program->items.list[i];
            if (item->step != step)
                is_backward = false;
            step = item->step;
            is_backward = is_backward || item_is_backward(graph, program, item);
            if (item->transfer == ROW_NONE)
                continue;
            const struct transfer *transfer = &graph->transfers[item->transfer];
            const bool reduces = transfer->kind == COMM_ALL_REDUCE || transfer->kind == COMM_REDUCE_SCATTER;
            struct group_use *use = &uses[item->group];
            use->is_used |= reduces || transfer->kind == COMM_ALL_GATHER;
            use->in_forward |= reduces && !is_backward;
            use->bytes += reduces ? (double)transfer->bytes : 0;
        }
    }
}

/* A group by its members. */
struct group_key {
    const uint32_t *members;
    uint32_t n, group;
};

/* By size, then by members. */
static int compare_group_keys(const void *left, const void *right) {
    const struct group_key *a = left, *b = right;
    if (a->n != b->n)
        return a->n < b->n ? -1 : 1;
    for (uint32_t i = 0; i < a->n; i++)
        if (a->members[i] != b->members[i])
            return a->members[i] < b->members[i] ? -1 : 1;
    return 0;
}

/* Joins the groups that reduce gradients to partitions of the ranks: each group to the first partition of its size
 * without its members. part[g] is the partition of group g, or ROW_NONE; *n_parts their number. False: out of memory.
 */
static bool find_partitions(const struct programs *programs, const struct group_use *uses, struct arena *scratch,
                            uint32_t *part, uint32_t *n_parts) {
    struct group_key *keys = arena_alloc(scratch, programs->n_groups, sizeof *keys);
    uint64_t *in_parts = arena_alloc(scratch, programs->n, sizeof *in_parts); /* per rank: a bit per partition */
    uint32_t *n_ranks = arena_zeros(scratch, PARTITIONS_MAX, sizeof *n_ranks);
    if (scratch->failed)
        return false;
    uint32_t n_keys = 0;
    *n_parts = 0;
    for (uint32_t g = 0; g < programs->n_groups; g++) {
        part[g] = ROW_NONE;
        if (uses[g].is_used && !uses[g].in_forward)
            keys[n_keys++] = (struct group_key){programs->groups[g].members, programs->groups[g].n, g};
    }
    qsort(keys, n_keys, sizeof *keys, compare_group_keys);
    for (uint32_t first = 0, after; first < n_keys; first = after) {
        for (after = first; after < n_keys && keys[after].n == keys[first].n;)
            after++;
        memset(in_parts, 0, programs->n * sizeof *in_parts);
        memset(n_ranks, 0, PARTITIONS_MAX * sizeof *n_ranks);
        for (uint32_t k = first; k < after; k++) {
            uint64_t taken = 0;
            for (uint32_t i = 0; i < keys[k].n; i++)
                taken |= in_parts[keys[k].members[i]];
            if (~taken == 0)
                continue;
            const unsigned choice = (unsigned)__builtin_ctzll(~taken);
            for (uint32_t i = 0; i < keys[k].n; i++)
                in_parts[keys[k].members[i]] |= (uint64_t)1 << choice;
            n_ranks[choice] += keys[k].n;
            part[keys[k].group] = choice;
        }
        /* Keep complete partitions, and number them through all sizes. */
        uint32_t kept[PARTITIONS_MAX];
        for (unsigned choice = 0; choice < PARTITIONS_MAX; choice++)
            kept[choice] = n_ranks[choice] == programs->n && *n_parts < PARTITIONS_MAX ? (*n_parts)++ : ROW_NONE;
        for (uint32_t k = first; k < after; k++)
            if (part[keys[k].group] != ROW_NONE)
                part[keys[k].group] = kept[part[keys[k].group]];
    }
    return true;
}

/* Finds the replicas for partition `choice`: replica and index in it of each rank. Returns the number of replicas; 0:
 * this is not a data-parallel level. `scratch` has room for 3 numbers per rank. */
static uint32_t find_replicas(const struct programs *programs, const uint32_t *part, uint32_t choice, uint32_t *scratch,
                              struct replicas *replicas) {
    const uint32_t n = programs->n;
    uint32_t *root = scratch, *number = scratch + n, *counts = scratch + 2 * (size_t)n;
    uint32_t n_replicas = 0;
    for (uint32_t p = 0; p < n; p++) {
        root[p] = p;
        number[p] = ROW_NONE;
        counts[p] = 0;
    }
    for (uint32_t g = 0; g < programs->n_groups; g++) {
        const struct program_group *group = &programs->groups[g];
        for (uint32_t i = 1; i < group->n && part[g] != choice && group->n < n; i++)
            root[union_root(root, group->members[i])] = union_root(root, group->members[0]);
    }
    /* Replicas are numbered by their first rank. */
    for (uint32_t p = 0; p < n; p++) {
        uint32_t *own = &number[union_root(root, p)];
        if (*own == ROW_NONE)
            *own = n_replicas++;
        replicas->replica[p] = *own;
        replicas->index[p] = counts[*own]++;
    }
    for (uint32_t r = 0; r < n_replicas; r++)
        if (counts[r] * (uint64_t)n_replicas != n)
            return 0;
    /* Each group has one rank of each replica. */
    uint32_t *last = number; /* per replica: the last group with a rank of it */
    memset(last, 0xff, n * sizeof *last);
    for (uint32_t g = 0; g < programs->n_groups; g++) {
        const struct program_group *group = &programs->groups[g];
        if (part[g] == choice && group->n != n_replicas)
            return 0;
        for (uint32_t i = 0; i < group->n && part[g] == choice; i++) {
            const uint32_t replica = replicas->replica[group->members[i]];
            if (last[replica] == g)
                return 0;
            last[replica] = g;
        }
    }
    return n_replicas > 1 ? n_replicas : 0;
}

/* Refuses a rank without a backward pass, whose reductions are none of gradients. */
static enum sutra_status refuse_inference(const struct programs *programs, struct sutra_error *error) {
    for (uint32_t p = 0; p < programs->n; p++) {
        const struct program *program = &programs->list[p];
        row_t i = 0;
        while (i < program->items.n &&
               !item_is_backward(program_graph_of(programs, program), program, &program->items.list[i]))
            i++;
        if (i == program->items.n)
            return error_set(error, SUTRA_DATA,
                             "rank %" PRIu64
                             " has no backward pass, so no collective reduces gradients of data-parallel "
                             "replicas; record training steps",
                             program->rank);
    }
    return SUTRA_OK;
}

enum sutra_status programs_find_replicas(struct programs *programs, struct replicas *replicas,
                                         struct sutra_error *error) {
    TRY(refuse_inference(programs, error));
    struct arena scratch = {0};
    struct arena *arena = programs->arena;
    const uint32_t n = programs->n;
    struct group_use *uses = arena_zeros(&scratch, programs->n_groups, sizeof *uses);
    uint32_t *part = arena_alloc(&scratch, programs->n_groups, sizeof *part);
    double *bytes = arena_zeros(&scratch, PARTITIONS_MAX, sizeof *bytes);
    uint32_t *numbers = arena_alloc(&scratch, 3 * (size_t)n, sizeof *numbers);
    uint32_t n_parts = 0, best = ROW_NONE;
    *replicas = (struct replicas){.replica = arena_alloc(arena, n, sizeof *replicas->replica),
                                  .index = arena_alloc(arena, n, sizeof *replicas->index),
                                  .reduces = arena_zeros(arena, programs->n_groups, sizeof *replicas->reduces)};
    enum sutra_status status = scratch.failed || arena->failed ? error_memory(error) : SUTRA_OK;
    if (!status) {
        find_uses(programs, uses);
        status = find_partitions(programs, uses, &scratch, part, &n_parts) ? SUTRA_OK : error_memory(error);
    }
    for (uint32_t g = 0; g < programs->n_groups && !status; g++)
        if (part[g] != ROW_NONE)
            bytes[part[g]] += uses[g].bytes;
    for (uint32_t choice = 0; choice < n_parts && !status; choice++)
        if (find_replicas(programs, part, choice, numbers, replicas) > 0 &&
            (best == ROW_NONE || bytes[choice] > bytes[best]))
            best = choice;
    if (!status && best == ROW_NONE)
        status =
            error_set(error, SUTRA_DATA,
                      "no data-parallel replicas found: no groups of equal size reduce gradients of all ranks, one "
                      "rank of each replica per group");
    if (!status) {
        replicas->n = find_replicas(programs, part, best, numbers, replicas);
        replicas->size = n / MAX(replicas->n, 1);
        for (uint32_t g = 0; g < programs->n_groups; g++)
            replicas->reduces[g] = part[g] == best;
    }
    arena_free(&scratch);
    return status;
}

/* ---- New ranks ---- */

uint64_t replica_rank(const struct replicas *replicas, uint32_t replica, uint32_t index) {
    const uint64_t block = replicas->block;
    return (index / block * replicas->n_new + replica) * block + index % block;
}

/* The ranks of a replica are in blocks of consecutive ranks; blocks of all replicas alternate. Contiguous replicas have
 * one block, strided ones blocks of one rank. */
static uint32_t find_block(const struct replicas *replicas, uint32_t n) {
    uint32_t block = 1;
    while (block < replicas->size && replicas->replica[block] == 0)
        block++;
    for (uint32_t p = 0; p < n; p++) {
        const uint64_t index = replicas->index[p];
        if ((index / block * replicas->n + replicas->replica[p]) * block + index % block != p)
            return 1;
    }
    return block;
}

/* Finds or makes the group of new ranks for a recorded group, of new replica `replica`. SUTRA_DATA: the network of the
 * new group is unknown. */
static enum sutra_status find_new_group(struct programs *programs, struct replicas *replicas, uint32_t recorded,
                                        uint32_t replica, uint32_t *group, struct sutra_error *error) {
    const struct program_group *before = &programs->groups[recorded];
    const bool is_reducing = replicas->reduces[recorded], is_world = before->n == programs->n && !is_reducing;
    struct pair_entry *entry = pair_table_insert(&replicas->groups, recorded, is_reducing || is_world ? 0 : replica);
    TRY_ALLOC(entry, error);
    if (entry->number != PAIR_NONE) {
        *group = entry->number;
        return SUTRA_OK;
    }
    const uint32_t low = replicas->index[before->members[0]], high = replicas->index[before->members[before->n - 1]];
    struct program_group made = {
        .n = before->n, .first = replica_rank(replicas, replica, low), .last = replica_rank(replicas, replica, high)};
    if (is_world)
        made = (struct program_group){.n = replicas->n_new * replicas->size,
                                      .last = (uint64_t)replicas->n_new * replicas->size - 1};
    else if (is_reducing)
        made = (struct program_group){.n = replicas->n_new,
                                      .first = replica_rank(replicas, 0, low),
                                      .last = replica_rank(replicas, replicas->n_new - 1, low)};
    const struct job_network *network = &replicas->network;
    const uint32_t level = group_level(&made, network->ranks_per_host);
    if (!network->levels[level].is_known && !replicas->has_network)
        return error_set(error, SUTRA_DATA,
                         "no recorded collective %s (%" PRIu64
                         " ranks per host), so the time of the new ones is unknown; "
                         "add --network alpha=...,beta=...",
                         level ? "crosses hosts" : "stays on a host", network->ranks_per_host);
    TRY_ALLOC(arena_grow(programs->arena, &programs->groups, programs->n_groups, &programs->groups_capacity,
                         sizeof *programs->groups),
              error);
    *group = entry->number = programs->n_groups;
    programs->groups[programs->n_groups++] = made;
    return SUTRA_OK;
}

/* Gives the computation of each step the durations of the step `turn` steps later, in a cycle over the steps whose GPU
 * nodes have the names of the first step, so that copies do not vary in lockstep. */
static bool turn_steps(const struct rank_graph *graph, const struct program *program, struct program_item *items,
                       uint32_t turn, struct arena *scratch) {
    const row_t n = program->items.n;
    const struct program_item *recorded = program->items.list;
    row_t *compute = arena_alloc(scratch, n, sizeof *compute); /* items */
    row_t *first = arena_alloc(scratch, n, sizeof *first);     /* of the steps to turn, in compute[] */
    if (scratch->failed)
        return false;
    row_t n_compute = 0, n_steps = 0, n_nodes = 0;
    for (row_t i = 0; i < n; i++)
        if (item_computes(&recorded[i]) && recorded[i].step >= 0)
            compute[n_compute++] = i;
    for (row_t begin = 0, end; begin < n_compute; begin = end) {
        for (end = begin; end < n_compute && recorded[compute[end]].step == recorded[compute[begin]].step;)
            end++;
        if (begin == 0)
            n_nodes = end;
        bool is_same = end - begin == n_nodes;
        for (row_t k = 0; k < n_nodes && is_same; k++)
            is_same = graph->name[recorded[compute[begin + k]].node] == graph->name[recorded[compute[k]].node];
        if (is_same)
            first[n_steps++] = begin;
    }
    for (row_t s = 0; s < n_steps; s++)
        for (row_t k = 0; k < n_nodes; k++) {
            struct program_item *item = &items[compute[first[s] + k]];
            const double run_ns = recorded[compute[first[(s + (uint64_t)turn) % n_steps] + k]].run_ns;
            item->dur_ns += run_ns - item->run_ns;
            item->run_ns = run_ns;
        }
    return true;
}

/* Whether a group of n ranks on this number of hosts has several hosts, and several ranks on a host. */
static bool shares_hosts(uint64_t n, uint64_t n_hosts) {
    return n_hosts > 1 && n_hosts < n;
}

/* Whether a group that changes its size shares hosts, before or after the change. The time of its collectives assumes
 * rings; NCCL may use other algorithms between hosts than on a host. */
static bool assumes_ring(const struct programs *programs, const struct replicas *replicas, uint32_t g) {
    const struct program_group *group = &programs->groups[g];
    const uint64_t per_host = replicas->network.ranks_per_host;
    const bool is_world = group->n == programs->n && !replicas->reduces[g];
    const uint32_t n_new = is_world ? replicas->n_new * replicas->size : replicas->n_new;
    uint64_t n_hosts = 0, n_new_hosts = 0, last = UINT64_MAX, last_new = UINT64_MAX;
    if (group->n < 2 || (!replicas->reduces[g] && !is_world))
        return false;
    for (uint32_t i = 0; i < group->n; i++) {
        const uint64_t host = programs->list[group->members[i]].rank / per_host;
        n_hosts += host != last;
        last = host;
    }
    for (uint32_t i = 0; i < n_new; i++) {
        const uint64_t rank = is_world ? i : replica_rank(replicas, i, replicas->index[group->members[0]]);
        n_new_hosts += rank / per_host != last_new;
        last_new = rank / per_host;
    }
    return group->n != n_new && (shares_hosts(group->n, n_hosts) || shares_hosts(n_new, n_new_hosts));
}

enum sutra_status programs_prepare_replicas(struct programs *programs, struct replicas *replicas, uint32_t n_new,
                                            struct sutra_error *error) {
    replicas->n_new = n_new;
    replicas->block = find_block(replicas, programs->n);
    if ((uint64_t)n_new * replicas->size > UINT32_MAX / 2)
        return error_set(error, SUTRA_DATA, "%u replicas of %u ranks are too many", n_new, replicas->size);
    for (uint32_t g = 0; g < programs->n_groups && !replicas->assumes_ring; g++)
        replicas->assumes_ring = assumes_ring(programs, replicas, g);
    for (uint32_t p = 0; p < programs->n; p++) {
        const struct program *program = &programs->list[p];
        const struct rank_graph *graph = program_graph_of(programs, program);
        for (row_t i = 0; i < program->items.n; i++) {
            const struct program_item *item = &program->items.list[i];
            const struct transfer *transfer = item_transfer(graph, item);
            if (!transfer)
                continue;
            if (transfer->n_ranks != programs->groups[item->group].n)
                return error_set(error, SUTRA_DATA,
                                 "rank %" PRIu64 ": a collective of %u ranks has files of only %u; link all ranks",
                                 program->rank, transfer->n_ranks, programs->groups[item->group].n);
            replicas->is_sharded |= replicas->reduces[item->group] && transfer->kind == COMM_REDUCE_SCATTER;
        }
    }
    return SUTRA_OK;
}

enum sutra_status replica_program(struct programs *programs, struct replicas *replicas, uint32_t source,
                                  uint32_t replica, struct arena *arena, struct program *made,
                                  struct network_times *times, struct sutra_error *error) {
    const struct program *program = &programs->list[source];
    const struct rank_graph *graph = program_graph_of(programs, program);
    const uint32_t turn = replica / replicas->n;
    struct arena scratch = {0};
    *made = *program;
    made->rank = replica_rank(replicas, replica, replicas->index[source]);
    made->items = (struct program_items){0};
    bool done = program_append(&made->items, program, 0, program->items.n, false, arena);
    if (done && turn > 0)
        done = turn_steps(graph, program, made->items.list, turn, &scratch);
    arena_free(&scratch);
    row_t n_transfers = 0;
    for (row_t i = 0; i < made->items.n && done; i++) {
        struct program_item *item = &made->items.list[i];
        if (item_computes(item) && replicas->is_sharded &&
            programs->names[graph->name[item->node]] & NAME_IS_OPTIMIZER) {
            /* Each rank updates its shard of the parameters. */
            const double run_ns = item->run_ns * replicas->n / replicas->n_new;
            item->dur_ns += run_ns - item->run_ns;
            item->run_ns = run_ns;
        }
        if (item->transfer == ROW_NONE)
            continue;
        const struct transfer *transfer = &graph->transfers[item->transfer];
        const uint32_t recorded = item->group;
        TRY(find_new_group(programs, replicas, recorded, replica, &item->group, error));
        const double run_ns = item->run_ns, wait_ns = item->dur_ns - run_ns;
        struct network_times *time = &times[n_transfers++];
        for (enum network_bound which = 0; which < N_NETWORKS; which++)
            time->run_ns[which] =
                time_in_group(&replicas->network, which, item_kind(programs, graph, item), &programs->groups[recorded],
                              transfer->n_ranks, &programs->groups[item->group], (double)transfer->bytes, run_ns);
        item->run_ns = time->run_ns[NETWORK_ESTIMATE];
        item->dur_ns = fmax(0, wait_ns + item->run_ns);
    }
    return done ? SUTRA_OK : error_memory(error);
}
