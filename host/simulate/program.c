/*
 * program.c - makes the programs of a job, and graphs from edited programs; implements the first part of program.h.
 *
 *     CPU nodes      ascending by depth in the chain                     nodes without duration and dependents: dropped
 *     ProfilerStep#  a mark before the next node of the chain            its thread is the main thread
 *     GPU nodes      after the last CPU node that they depend on, ascending by id
 */
#include <inttypes.h>
#include <regex.h>
#include <stdlib.h>
#include <string.h>

#include "base/error.h"
#include "base/shared.h"
#include "columns/column.h"
#include "columns/rows.h"
#include "simulate/program.h"

/* ---- Names ---- */

static uint8_t name_bits(const char *name, const regex_t *optimizer, const regex_t *tree) {
    unsigned bits = 0;
    const char *nccl_send = strstr(name, "nccl:send "), *nccl_receive = strstr(name, "nccl:recv ");
    if (strncmp(name, "ProfilerStep#", 13) == 0)
        bits |= NAME_IS_STEP;
    if (*name == '[')
        bits |= NAME_IS_ADDED;
    if (strncmp(name, "[gap]", 5) == 0)
        bits |= NAME_IS_GAP;
    if (nccl_send || strstr(name, "c10d::send"))
        bits |= NAME_IS_SEND;
    if (nccl_receive || strstr(name, "c10d::recv"))
        bits |= NAME_IS_RECEIVE;
    if (regexec(tree, name, 0, NULL, 0) == 0)
        bits |= NAME_IS_TREE;
    if (regexec(optimizer, name, 0, NULL, 0) == 0)
        bits |= NAME_IS_OPTIMIZER;
    return (uint8_t)bits;
}

static const uint8_t *classify_names(const struct strings *names, struct arena *arena) {
    regex_t optimizer, tree;
    uint8_t *bits = arena_zeros(arena, names->n, sizeof *bits);
    if (!bits)
        return NULL;
    /* LAMB is an optimizer; a C++ lambda is not. */
    if (regcomp(&optimizer, "multi_tensor_apply|fused_?adam|fused_?sgd|lamb([^d]|$)",
                REG_EXTENDED | REG_ICASE | REG_NOSUB))
        return NULL;
    if (regcomp(&tree, "_TREE", REG_EXTENDED | REG_ICASE | REG_NOSUB)) {
        regfree(&optimizer);
        return NULL;
    }
    for (uint32_t i = 0; i < names->n; i++)
        bits[i] = name_bits(strings_text(names, i), &optimizer, &tree);
    regfree(&optimizer);
    regfree(&tree);
    return bits;
}

/* ---- The CPU chain ---- */

struct chain_node {
    uint32_t depth;
    bool is_live;
    row_t row;
};

ORDER_BY(compare_chain_nodes, struct chain_node, ASCENDING(depth) ASCENDING(is_live) ASCENDING(row))

/* A node that simulation needs: it takes time, or another node depends on it. */
static bool is_live(const struct rank_graph *graph, row_t i) {
    return graph->dur_ns[i] > 0 || graph->first_waiter[i + 1] > graph->first_waiter[i];
}

/* Lists the nodes of the chain in order. Returns their number; ROW_NONE: out of memory, or a cycle (*has_cycle). */
static row_t list_chain(const struct programs *programs, const struct rank_graph *graph, struct arena *scratch,
                        struct chain_node **chain, bool *has_cycle) {
    uint32_t *depth = arena_zeros(scratch, graph->n, sizeof *depth);
    row_t *n_waits = arena_zeros(scratch, graph->n, sizeof *n_waits);
    row_t *queue = arena_alloc(scratch, graph->n, sizeof *queue);
    *chain = arena_alloc(scratch, graph->n, sizeof **chain);
    if (scratch->failed)
        return ROW_NONE;
    row_t n_cpu = 0, n_queued = 0, n = 0;
    for (row_t i = 0; i < graph->n; i++) {
        if (graph->work[i] != WORK_CPU)
            continue;
        n_cpu++;
        for (uint64_t d = graph->first_dep[i]; d < graph->first_dep[i + 1]; d++)
            n_waits[i] += graph->work[graph->deps[d]] == WORK_CPU;
        if (n_waits[i] == 0)
            queue[n_queued++] = i;
    }
    /* The depth of a node is one more than the largest depth of the CPU nodes that it depends on. */
    for (row_t k = 0; k < n_queued; k++) {
        const row_t i = queue[k];
        const bool is_step = programs->names[graph->name[i]] & NAME_IS_STEP;
        if (is_live(graph, i) || is_step)
            (*chain)[n++] = (struct chain_node){depth[i], is_live(graph, i), i};
        for (uint64_t w = graph->first_waiter[i]; w < graph->first_waiter[i + 1]; w++) {
            const row_t waiter = graph->waiters[w];
            if (graph->work[waiter] != WORK_CPU)
                continue;
            depth[waiter] = MAX(depth[waiter], depth[i] + 1);
            if (--n_waits[waiter] == 0)
                queue[n_queued++] = waiter;
        }
    }
    *has_cycle = n_queued < n_cpu;
    if (*has_cycle)
        return ROW_NONE;
    qsort(*chain, n, sizeof **chain, compare_chain_nodes);
    return n;
}

/* ---- The items of a rank ---- */

/* Appends the references of a node: its dependencies among the items so far, without the preceding node of its
 * resource. `resource` and `number` are by row; number[i] is 1 for the first node of a resource, 0 for no item. */
static bool append_refs(struct programs *programs, const struct rank_graph *graph, struct program_item *item,
                        const uint32_t *resource, const row_t *number, const row_t *counts) {
    item->first_ref = programs->n_refs;
    for (uint64_t d = graph->first_dep[item->node]; d < graph->first_dep[item->node + 1]; d++) {
        const row_t dep = graph->deps[d];
        if (number[dep] == 0 || (resource[dep] == item->resource && number[dep] == counts[item->resource]))
            continue;
        if (!arena_grow(programs->arena, &programs->refs, programs->n_refs, &programs->refs_capacity,
                        sizeof *programs->refs))
            return false;
        programs->refs[programs->n_refs++] = (struct program_ref){resource[dep], counts[resource[dep]] - number[dep]};
        item->n_refs++;
    }
    return true;
}

/* Numbers the streams of the GPU nodes from 1 on. Returns the number of resources; 0: out of memory. */
static uint32_t number_streams(const struct rank_graph *graph, uint32_t *resource) {
    struct pair_table streams;
    uint32_t n = 1;
    bool done = pair_table_init(&streams);
    for (row_t i = 0; i < graph->n && done; i++) {
        resource[i] = CPU_CHAIN;
        if (graph->work[i] == WORK_CPU)
            continue;
        struct pair_entry *entry = pair_table_insert(&streams, (uint64_t)graph->lane[i], 0);
        done = entry;
        if (done && entry->number == PAIR_NONE)
            entry->number = n++;
        if (done)
            resource[i] = entry->number;
    }
    pair_table_free(&streams);
    return done ? n : 0;
}

static enum sutra_status make_program(struct programs *programs, struct program *program, struct arena *scratch,
                                      struct sutra_error *error) {
    const struct rank_graph *graph = program_graph_of(programs, program);
    struct chain_node *chain;
    bool has_cycle = false;
    const row_t n_chain = list_chain(programs, graph, scratch, &chain, &has_cycle);
    if (has_cycle)
        return error_set(error, SUTRA_DATA, "rank %" PRIu64 ": the dependencies of CPU nodes form a cycle",
                         program->rank);
    uint32_t *resource = arena_alloc(scratch, graph->n, sizeof *resource);
    uint32_t *transfers = rows_none(scratch, graph->n); /* the index of the transfer of each node */
    row_t *position = rows_none(scratch, graph->n);     /* in the chain */
    row_t *gpu = arena_alloc(scratch, graph->n, sizeof *gpu);
    uint32_t *after = arena_alloc(scratch, graph->n, sizeof *after);
    row_t *number = arena_zeros(scratch, graph->n, sizeof *number);
    row_t *first = arena_alloc(scratch, (size_t)n_chain + 1, sizeof *first);
    row_t *sorted = arena_alloc(scratch, graph->n, sizeof *sorted);
    program->items.capacity = graph->n;
    program->items.list = arena_alloc(programs->arena, graph->n, sizeof *program->items.list);
    if (scratch->failed || programs->arena->failed)
        return error_memory(error);
    program->n_resources = number_streams(graph, resource);
    row_t *counts = arena_zeros(scratch, program->n_resources, sizeof *counts); /* items so far, by resource */
    TRY_ALLOC(program->n_resources && counts, error);

    for (row_t t = 0; t < graph->n_transfers; t++)
        transfers[graph->transfers[t].node] = t;

    /* GPU nodes follow the last node of the chain that they depend on. */
    row_t n_gpu = 0;
    for (row_t k = 0; k < n_chain; k++)
        position[chain[k].row] = k;
    for (row_t i = 0; i < graph->n; i++) {
        if (graph->work[i] == WORK_CPU)
            continue;
        uint32_t last = 0;
        for (uint64_t d = graph->first_dep[i]; d < graph->first_dep[i + 1]; d++)
            if (position[graph->deps[d]] != ROW_NONE)
                last = MAX(last, position[graph->deps[d]]);
        gpu[n_gpu] = i;
        after[i] = last;
        n_gpu++;
    }
    if (n_chain == 0)
        return SUTRA_OK;
    rows_bucket(gpu, n_gpu, after, n_chain, first, sorted);

    int32_t step = -1;
    bool receives = false;
    for (row_t k = 0; k < n_chain; k++) {
        const unsigned bits = programs->names[graph->name[chain[k].row]];
        if (bits & NAME_IS_STEP) {
            step++;
            program->main_thread = graph->lane[chain[k].row];
        }
        if (bits & (NAME_IS_SEND | NAME_IS_RECEIVE))
            receives = bits & NAME_IS_RECEIVE;
        for (row_t g = first[k]; g <= first[k + 1]; g++) {
            /* The node of the chain, then its GPU nodes. */
            const bool is_cpu = g == first[k];
            const row_t row = is_cpu ? chain[k].row : sorted[g - 1];
            struct program_item *item = &program->items.list[program->items.n++];
            *item = (struct program_item){.node = row,
                                          .resource = resource[row],
                                          .transfer = transfers[row],
                                          .group = ROW_NONE,
                                          .step = step,
                                          .is_mark = is_cpu && !chain[k].is_live,
                                          .dur_ns = (double)graph->dur_ns[row],
                                          .run_ns = (double)graph->run_ns[row]};
            item->receives = item_is_message(graph, item) && (receives || graph->transfers[item->transfer].receives);
            if (item->is_mark)
                continue;
            TRY_ALLOC(append_refs(programs, graph, item, resource, number, counts), error);
            number[row] = ++counts[item->resource];
        }
    }
    /* Without profiler steps, the thread of the first operator is the main thread. */
    for (row_t k = 0; k < n_chain && step < 0 && !program->main_thread; k++)
        if (!(programs->names[graph->name[chain[k].row]] & NAME_IS_ADDED))
            program->main_thread = graph->lane[chain[k].row];
    return SUTRA_OK;
}

/* ---- Groups of ranks ---- */

/* Numbers the sets of ranks that synchronize, and notes them in the items. */
static enum sutra_status find_groups(struct programs *programs, struct sutra_error *error) {
    struct arena *arena = programs->arena;
    const uint32_t n_matches = programs->n_matches;
    uint64_t *first = arena_zeros(arena, (size_t)n_matches + 1, sizeof *first);
    uint32_t *n_members = arena_zeros(arena, n_matches, sizeof *n_members);
    TRY(arena_status(arena, error));
    /* List the members of each match: ascending, as ranks ascend. */
    for (uint32_t p = 0; p < programs->n; p++) {
        const struct rank_graph *graph = program_graph_of(programs, &programs->list[p]);
        for (row_t t = 0; t < graph->n_transfers && graph->matched_collective; t++)
            if (graph->matched_collective[graph->transfers[t].node] != NO_MATCH)
                first[graph->matched_collective[graph->transfers[t].node] + 1]++;
    }
    for (uint32_t m = 0; m < n_matches; m++)
        first[m + 1] += first[m];
    uint32_t *members = arena_alloc(arena, first[n_matches], sizeof *members);
    TRY(arena_status(arena, error));
    for (uint32_t p = 0; p < programs->n; p++) {
        const struct rank_graph *graph = program_graph_of(programs, &programs->list[p]);
        for (row_t t = 0; t < graph->n_transfers && graph->matched_collective; t++) {
            const uint32_t match = graph->matched_collective[graph->transfers[t].node];
            if (match == NO_MATCH)
                continue;
            uint32_t *list = members + first[match];
            if (n_members[match] == 0 || list[n_members[match] - 1] != p)
                list[n_members[match]++] = p;
        }
    }
    /* Number the sets in the order of the items. */
    struct strings sets;
    bool done = strings_init(&sets);
    for (uint32_t p = 0; p < programs->n && done; p++) {
        struct program *program = &programs->list[p];
        const struct rank_graph *graph = program_graph_of(programs, program);
        for (row_t i = 0; i < program->items.n && done; i++) {
            struct program_item *item = &program->items.list[i];
            if (item->transfer == ROW_NONE)
                continue;
            const uint32_t match = graph->matched_collective ? graph->matched_collective[item->node] : NO_MATCH;
            const uint32_t *list = match == NO_MATCH ? &p : members + first[match];
            const uint32_t n = match == NO_MATCH ? 1 : n_members[match];
            item->group = strings_intern(&sets, (const char *)list, n * sizeof *list);
            done = item->group != STRING_NONE && (item->group < programs->n_groups ||
                                                  arena_grow(arena, &programs->groups, programs->n_groups,
                                                             &programs->groups_capacity, sizeof *programs->groups));
            if (!done || item->group < programs->n_groups)
                continue;
            programs->groups[programs->n_groups++] =
                (struct program_group){.n = n,
                                       .members = match == NO_MATCH ? arena_alloc(arena, 1, sizeof *list) : list,
                                       .first = programs->list[list[0]].rank,
                                       .last = programs->list[list[n - 1]].rank};
            if (match == NO_MATCH && !arena->failed)
                *(uint32_t *)programs->groups[item->group].members = p;
        }
    }
    strings_free(&sets);
    return done && !arena->failed ? SUTRA_OK : error_memory(error);
}

struct rank_order {
    uint64_t rank;
    uint32_t source;
};

ORDER_BY(compare_rank_order, struct rank_order, ASCENDING(rank) ASCENDING(source))

enum sutra_status programs_make(struct programs *programs, const struct change_target *job, uint32_t n_matches,
                                struct arena *arena, struct sutra_error *error) {
    struct arena scratch = {0};
    *programs = (struct programs){.job = *job, .n = job->n, .n_matches = n_matches, .arena = arena};
    programs->list = arena_zeros(arena, job->n, sizeof *programs->list);
    programs->names = classify_names(job->names, arena);
    struct rank_order *order = arena_alloc(&scratch, job->n, sizeof *order);
    enum sutra_status status = programs->names && programs->list && order ? SUTRA_OK : error_memory(error);
    for (uint32_t r = 0; r < job->n && !status; r++)
        order[r] = (struct rank_order){job->ranks[r], r};
    if (!status && job->n > 0)
        qsort(order, job->n, sizeof *order, compare_rank_order);
    for (uint32_t p = 0; p < job->n && !status; p++) {
        struct arena_mark mark = arena_mark(&scratch);
        programs->list[p].source = order[p].source;
        programs->list[p].rank = order[p].rank;
        status = make_program(programs, &programs->list[p], &scratch, error);
        arena_release(&scratch, mark);
    }
    arena_free(&scratch);
    TRY(status);
    return find_groups(programs, error);
}

bool program_append(struct program_items *items, const struct program *program, row_t first, row_t after, bool is_copy,
                    struct arena *arena) {
    const row_t n = after - first;
    if ((uint64_t)items->n + n > ROW_LIMIT)
        return false;
    while (items->n + (uint64_t)n > items->capacity)
        if (!arena_enlarge(arena, &items->list, &items->capacity, sizeof *items->list))
            return false;
    for (row_t i = first; i < after; i++)
        if (!is_copy || !program->items.list[i].is_mark)
            items->list[items->n++] = program->items.list[i];
    return true;
}

/* ---- The graph of an edited program ---- */

/* Longer durations are shortened: 126 years, in nanoseconds. */
#define DURATION_MAX 4e18

bool match_counts_init(struct match_counts *counts) {
    *counts = (struct match_counts){0};
    return pair_table_init(&counts->counts) && pair_table_init(&counts->numbers);
}

void match_counts_free(struct match_counts *counts) {
    pair_table_free(&counts->counts);
    pair_table_free(&counts->numbers);
    tuples_free(&counts->channels);
}

/* The sequence of matches to which an item belongs. TUPLE_NONE: out of memory. */
static uint32_t match_channel(struct match_counts *counts, const struct program_item *item,
                              const struct transfer *transfer) {
    const bool is_message = transfer->kind == COMM_MESSAGE;
    return tuples_number(&counts->channels, (struct tuple){{(value_key)item->group, (value_key)transfer->process_group,
                                                            (value_key)is_message, 0}});
}

/* The number of the match of an item of the rank, and its channel. NO_MATCH: out of memory. */
static uint32_t number_match(struct match_counts *counts, uint64_t rank, const struct program_item *item,
                             const struct transfer *transfer, uint32_t *number_of_channel) {
    const uint32_t channel = match_channel(counts, item, transfer);
    struct pair_entry *order = channel == TUPLE_NONE ? NULL : pair_table_insert(&counts->counts, rank, channel);
    *number_of_channel = channel;
    if (!order)
        return NO_MATCH;
    if (order->number == PAIR_NONE)
        order->number = 0;
    struct pair_entry *match = pair_table_insert(&counts->numbers, order->number++, channel);
    if (!match)
        return NO_MATCH;
    if (match->number == PAIR_NONE)
        match->number = counts->n_matches++;
    return match->number;
}

/* The collectives of a channel, summed over the ranks. False: out of memory. */
static bool count_matches(const struct programs *programs, struct match_counts *counts, struct arena *arena,
                          uint64_t **totals) {
    uint64_t capacity = 0;
    for (uint32_t p = 0; p < programs->n; p++) {
        const struct program *program = &programs->list[p];
        for (row_t i = 0; i < program->items.n; i++) {
            const struct program_item *item = &program->items.list[i];
            const struct transfer *transfer = item_transfer(program_graph_of(programs, program), item);
            const uint32_t n_known = counts->channels.n;
            uint32_t channel;
            if (!transfer)
                continue;
            if (number_match(counts, program->rank, item, transfer, &channel) == NO_MATCH ||
                !arena_grow(arena, totals, channel, &capacity, sizeof **totals))
                return false;
            (*totals)[channel] = channel < n_known ? (*totals)[channel] + 1 : 1;
        }
    }
    return true;
}

enum sutra_status programs_check_matches(const struct programs *programs, struct sutra_error *error) {
    struct match_counts counts;
    struct arena scratch = {0};
    uint64_t *totals = NULL;
    const bool done = match_counts_init(&counts) && count_matches(programs, &counts, &scratch, &totals);
    enum sutra_status status = done ? SUTRA_OK : error_memory(error);
    for (uint32_t p = 0; p < programs->n && !status; p++) {
        const struct program *program = &programs->list[p];
        const struct rank_graph *graph = program_graph_of(programs, program);
        for (row_t i = 0; i < program->items.n && !status; i++) {
            const struct program_item *item = &program->items.list[i];
            if (item->transfer == ROW_NONE)
                continue;
            const uint32_t channel = match_channel(&counts, item, &graph->transfers[item->transfer]);
            const uint32_t n = pair_table_find(&counts.counts, program->rank, channel);
            if ((uint64_t)n * programs->groups[item->group].n != totals[channel])
                status = error_set(error, SUTRA_DATA,
                                   "the edited ranks of a group have different numbers of a collective (%s: %u on rank "
                                   "%" PRIu64 ", %" PRIu64 " on all %u ranks); sutra cannot edit this job, as its "
                                   "ranks differ",
                                   strings_text(programs->job.names, graph->name[item->node]), n, program->rank,
                                   totals[channel], programs->groups[item->group].n);
        }
    }
    arena_free(&scratch);
    match_counts_free(&counts);
    return status;
}

/* Appends the rows that an item depends on to graph->deps. placed[resource] has counts[resource] rows so far. */
static void resolve_refs(const struct programs *programs, const struct program_item *item, struct rank_graph *graph,
                         row_t *const *placed, const row_t *counts) {
    row_t *deps = graph->deps + graph->n_deps;
    uint64_t n = 0;
    if (counts[item->resource])
        deps[n++] = placed[item->resource][counts[item->resource] - 1];
    if (item->resource != CPU_CHAIN && counts[CPU_CHAIN])
        deps[n++] = placed[CPU_CHAIN][counts[CPU_CHAIN] - 1];
    for (uint32_t k = 0; k < item->n_refs && !item->is_mark; k++) {
        const struct program_ref *ref = &programs->refs[item->first_ref + k];
        if (ref->back < counts[ref->resource])
            deps[n++] = placed[ref->resource][counts[ref->resource] - 1 - ref->back];
    }
    graph->n_deps += rows_sort_unique(deps, n);
}

static bool alloc_graph(const struct programs *programs, const struct program *program, struct rank_graph *graph,
                        struct arena *arena) {
    const struct program_items *items = &program->items;
    uint64_t n_deps = 2 * (uint64_t)items->n, n_transfers = 0;
    for (row_t i = 0; i < items->n; i++) {
        n_deps += items->list[i].n_refs;
        n_transfers += items->list[i].transfer != ROW_NONE;
    }
    *graph = (struct rank_graph){
        .n = items->n,
        .node = arena_alloc(arena, items->n, sizeof *graph->node),
        .id = arena_alloc(arena, items->n, sizeof *graph->id),
        .work = arena_alloc(arena, items->n, sizeof *graph->work),
        .name = arena_alloc(arena, items->n, sizeof *graph->name),
        .dur_ns = arena_alloc(arena, items->n, sizeof *graph->dur_ns),
        .run_ns = arena_alloc(arena, items->n, sizeof *graph->run_ns),
        .lane = arena_alloc(arena, items->n, sizeof *graph->lane),
        .is_shared = arena_alloc(arena, items->n, sizeof *graph->is_shared),
        .tells = program_graph_of(programs, program)->tells,
        .parent = arena_alloc(arena, items->n, sizeof *graph->parent),
        .start = ROW_NONE,
        .first_dep = arena_alloc(arena, (size_t)items->n + 1, sizeof *graph->first_dep),
        .deps = arena_alloc(arena, n_deps, sizeof *graph->deps),
        .first_waiter = arena_zeros(arena, (size_t)items->n + 1, sizeof *graph->first_waiter),
        .n_waits = arena_alloc(arena, items->n, sizeof *graph->n_waits),
        .transfers = arena_alloc(arena, n_transfers, sizeof *graph->transfers),
        .contacts = arena_alloc(arena, n_transfers, sizeof *graph->contacts),
        .matched_collective = arena_alloc(arena, items->n, sizeof *graph->matched_collective),
    };
    return !arena->failed;
}

enum sutra_status program_graph(const struct programs *programs, const struct program *program,
                                struct match_counts *counts, struct rank_graph *graph, struct arena *arena,
                                struct sutra_error *error) {
    const struct rank_graph *source = program_graph_of(programs, program);
    const struct program_items *items = &program->items;
    struct arena scratch = {0};
    row_t *placed_counts = arena_zeros(&scratch, program->n_resources, sizeof *placed_counts);
    row_t **placed = arena_alloc(&scratch, program->n_resources, sizeof *placed);
    row_t *rows = arena_alloc(&scratch, items->n, sizeof *rows);
    row_t *last_copy = rows_none(&scratch, source->n); /* by node of the source */
    bool done = alloc_graph(programs, program, graph, arena) && !scratch.failed, is_too_long = false;
    uint64_t sum_ns = 0;

    /* Assign each resource a slice of `rows`. */
    for (row_t i = 0; i < items->n && done; i++)
        placed_counts[items->list[i].resource]++;
    for (uint32_t r = 0; r < program->n_resources && done; r++) {
        placed[r] = rows;
        rows += placed_counts[r];
        placed_counts[r] = 0;
    }
    for (row_t i = 0; i < items->n && done; i++) {
        const struct program_item *item = &items->list[i];
        const row_t node = item->node;
        graph->node[i] = source->node[node];
        graph->id[i] = (uint64_t)i + 1;
        graph->work[i] = source->work[node];
        graph->name[i] = source->name[node];
        graph->dur_ns[i] = (uint64_t)(CLAMP(item->dur_ns, 0, DURATION_MAX) + 0.5);
        graph->run_ns[i] = (uint64_t)(CLAMP(item->run_ns, 0, DURATION_MAX) + 0.5);
        graph->run_ns[i] = MIN(graph->run_ns[i], graph->dur_ns[i]);
        is_too_long = __builtin_add_overflow(sum_ns, graph->dur_ns[i], &sum_ns) || sum_ns > TIME_NEVER / 4;
        if (is_too_long)
            break;
        graph->lane[i] = source->lane[node];
        graph->is_shared[i] = source->is_shared[node];
        graph->parent[i] = source->parent[node] == ROW_NONE ? ROW_NONE : last_copy[source->parent[node]];
        graph->matched_collective[i] = NO_MATCH;
        graph->first_dep[i] = graph->n_deps;
        resolve_refs(programs, item, graph, placed, placed_counts);
        graph->n_waits[i] = (row_t)(graph->n_deps - graph->first_dep[i]);
        last_copy[node] = i;
        graph->start = node == source->start ? i : graph->start;
        if (!item->is_mark)
            placed[item->resource][placed_counts[item->resource]++] = i;
        if (item->transfer == ROW_NONE)
            continue;
        struct transfer *transfer = &graph->transfers[graph->n_transfers++];
        *transfer = source->transfers[item->transfer];
        transfer->node = i;
        transfer->receives = item->receives;
        if (!programs->groups[item->group].members)
            transfer->n_ranks = programs->groups[item->group].n;
        const struct program_group *group = &programs->groups[item->group];
        struct contact *contact = &graph->contacts[graph->n_contacts++];
        *contact = (struct contact){.node = i,
                                    .is_message = transfer->kind == COMM_MESSAGE,
                                    .sends = !item->receives,
                                    .peer = (int64_t)(group->first == program->rank ? group->last : group->first)};
        graph->matched_collective[i] = number_match(counts, program->rank, item, transfer, &contact->group);
        done = graph->matched_collective[i] != NO_MATCH;
    }
    arena_free(&scratch);
    if (is_too_long)
        return error_set(error, SUTRA_DATA, "rank %" PRIu64 ": the durations of all nodes exceed 146 years",
                         program->rank);
    TRY_ALLOC(done, error);
    graph->first_dep[items->n] = graph->n_deps;
    graph->waiters = arena_alloc(arena, graph->n_deps, sizeof *graph->waiters);
    TRY(arena_status(arena, error));
    rows_invert(graph->n, graph->first_dep, graph->deps, graph->first_waiter, graph->waiters);
    return SUTRA_OK;
}
