/*
 * rank_graph.c - implements rank_graph.h.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/error.h"
#include "base/shared.h"
#include "base/threads.h"
#include "columns/hash_tables.h"
#include "columns/rows.h"
#include "simulate/et_format.h"
#include "simulate/rank_graph.h"
#include "text/numbers.h"

/* ---- Matches of collectives and messages, rank by rank ---- */

struct match_numbers {
    struct strings groups;     /* names of groups; of messages: "from>to#tag" */
    struct pair_table counts;  /* (rank and direction, group) -> number so far */
    struct pair_table ranks;   /* (rank, 0) -> 0, for the ranks with files */
    struct pair_table numbers; /* (order, group) -> match; (recorded number, 0) -> match */
    bool recorded;             /* files record matches */
    uint32_t n_matched_collectives;
};

/* The match of a key, new if the key is new. False: out of memory. */
static bool number_of(struct match_numbers *numbers, uint64_t first, uint32_t second, uint32_t *matched_collective) {
    struct pair_entry *entry = pair_table_insert(&numbers->numbers, first, second);
    if (!entry)
        return false;
    if (entry->number == PAIR_NONE)
        entry->number = numbers->n_matched_collectives++;
    *matched_collective = entry->number;
    return true;
}

/* Numbers the match of a node: by its recorded number; if files record none, by its order in the group. A message
 * without a peer, or whose peer has no file, is unmatched. False: out of memory. */
static bool number_contact(struct match_numbers *numbers, uint32_t r, uint64_t rank, const struct contact *contact,
                           const uint32_t *groups, uint32_t *matched_collective) {
    if (numbers->recorded)
        return !contact->has_match_number || number_of(numbers, (uint64_t)contact->match_number, 0, matched_collective);
    uint32_t group;
    if (contact->is_message) {
        if (contact->peer < 0 || pair_table_find(&numbers->ranks, (uint64_t)contact->peer, 0) == PAIR_NONE)
            return true;
        char text[96];
        uint64_t peer = (uint64_t)contact->peer;
        uint64_t from = contact->sends ? rank : peer, to = contact->sends ? peer : rank;
        int length = snprintf(text, sizeof text, "%llu>%llu#%lld", (unsigned long long)from, (unsigned long long)to,
                              (long long)contact->tag);
        group = strings_intern(&numbers->groups, text, (size_t)length);
    } else {
        group = groups[contact->group];
    }
    const uint64_t direction = 2 * (uint64_t)r + (contact->is_message && contact->sends); /* for messages to itself */
    struct pair_entry *count = group == STRING_NONE ? NULL : pair_table_insert(&numbers->counts, direction, group);
    if (!count)
        return false;
    uint32_t order = count->number == PAIR_NONE ? 0 : count->number;
    count->number = order + 1;
    return number_of(numbers, order, group, matched_collective);
}

enum sutra_status rank_graphs_match(struct rank_graph *graphs, const uint64_t *ranks, const struct rank_names *names,
                                    uint32_t n, struct arena *arena, uint32_t *n_matched_collectives,
                                    struct sutra_error *error) {
    struct match_numbers numbers = {0};
    for (uint32_t r = 0; r < n; r++)
        numbers.recorded |= graphs[r].tells;
    bool done = strings_init(&numbers.groups) && pair_table_init(&numbers.counts) &&
                pair_table_init(&numbers.numbers) && pair_table_init(&numbers.ranks);
    for (uint32_t r = 0; r < n && done; r++) {
        struct pair_entry *entry = pair_table_insert(&numbers.ranks, ranks[r], 0);
        if ((done = entry))
            entry->number = 0;
        if (numbers.recorded)
            graphs[r].role = NULL;
    }
    for (uint32_t r = 0; r < n && done; r++) {
        struct rank_graph *graph = &graphs[r];
        graph->matched_collective = arena_alloc(arena, graph->n, sizeof *graph->matched_collective);
        uint32_t *groups = graph->matched_collective ? strings_join(&numbers.groups, &names[r].groups) : NULL;
        done = groups;
        if (done)
            memset(graph->matched_collective, 0xff, graph->n * sizeof *graph->matched_collective); /* NO_MATCH */
        for (row_t t = 0; t < graph->n_transfers && done; t++)
            graph->transfers[t].process_group = groups[graph->transfers[t].process_group];
        for (row_t c = 0; c < graph->n_contacts && done; c++) {
            const struct contact *contact = &graph->contacts[c];
            done = number_contact(&numbers, r, ranks[r], contact, groups, &graph->matched_collective[contact->node]);
        }
        free(groups);
    }
    *n_matched_collectives = numbers.n_matched_collectives;
    pair_table_free(&numbers.ranks);
    pair_table_free(&numbers.numbers);
    pair_table_free(&numbers.counts);
    strings_free(&numbers.groups);
    return done ? SUTRA_OK : error_memory(error);
}

/* ---- Nodes by id ---- */

struct node_id {
    uint64_t id;
    row_t node;
};

ORDER_BY(compare_node_ids, struct node_id, ASCENDING(id) ASCENDING(node))

/* Lists rows by ascending id; of equal ids the last. Most files are in this order. */
static bool sort_nodes(struct rank_graph *graph, const struct et_nodes *nodes, struct arena *arena) {
    graph->node = arena_alloc(arena, nodes->n, sizeof *graph->node);
    graph->id = arena_alloc(arena, nodes->n, sizeof *graph->id);
    struct arena_mark mark = arena_mark(arena);
    struct node_id *node_id = arena_alloc(arena, nodes->n, sizeof *node_id);
    if (arena->failed)
        return false;
    bool sorted = true;
    for (row_t i = 0; i < nodes->n; i++) {
        node_id[i] = (struct node_id){nodes->id[i], i};
        sorted = sorted && (i == 0 || nodes->id[i - 1] < nodes->id[i]);
    }
    if (!sorted)
        qsort(node_id, nodes->n, sizeof *node_id, compare_node_ids);
    for (row_t i = 0; i < nodes->n; i++)
        if (i + 1 == nodes->n || node_id[i + 1].id != node_id[i].id) {
            graph->id[graph->n] = node_id[i].id;
            graph->node[graph->n++] = node_id[i].node;
        }
    arena_release(arena, mark);
    return true;
}

/* ---- Columns of nodes ---- */

static enum work_kind node_work(const struct et_nodes *nodes, row_t node) {
    if (!et_is_gpu(nodes, node) || nodes->type[node] == ET_METADATA)
        return WORK_CPU;
    return et_is_communication(nodes->type[node]) ? WORK_COMMUNICATION : WORK_COMPUTATION;
}

struct graph_task {
    struct rank_graph *graph;
    const struct et_nodes *nodes;
    uint64_t *n_absent; /* per task */
};

static void describe_task(void *arg, size_t task) {
    const struct rank_graph *graph = ((struct graph_task *)arg)->graph;
    const struct et_nodes *nodes = ((struct graph_task *)arg)->nodes;
    for (row_t i = et_task_start(task); i < et_task_end(graph->n, task); i++) {
        row_t node = graph->node[i];
        uint64_t dur = nodes->duration_us[node] * NS_PER_US;
        graph->work[i] = (uint8_t)node_work(nodes, node);
        graph->dur_ns[i] = graph->run_ns[i] = dur;
        const int64_t run = graph->work[i] == WORK_CPU ? -1 : et_integer_or(nodes, node, ET_NAME_KERNEL_EXEC_NS, -1);
        if (run >= 0 && (uint64_t)run < dur)
            graph->run_ns[i] = (uint64_t)run;
        graph->is_shared[i] = graph->work[i] == WORK_COMMUNICATION &&
                              (et_has(nodes, node, ET_NAME_MEETING) || et_has(nodes, node, ET_NAME_MEETING_KIND));
        enum et_name lane = graph->work[i] == WORK_CPU ? ET_NAME_TID : ET_NAME_STREAM;
        graph->lane[i] = et_integer_or(nodes, node, lane, 0);
    }
}

static bool describe_nodes(struct rank_graph *graph, const struct et_nodes *nodes, struct pool *pool,
                           struct arena *arena) {
    graph->work = arena_alloc(arena, graph->n, sizeof *graph->work);
    graph->name = arena_zeros(arena, graph->n, sizeof *graph->name);
    graph->dur_ns = arena_alloc(arena, graph->n, sizeof *graph->dur_ns);
    graph->run_ns = arena_alloc(arena, graph->n, sizeof *graph->run_ns);
    graph->lane = arena_alloc(arena, graph->n, sizeof *graph->lane);
    graph->is_shared = arena_alloc(arena, graph->n, sizeof *graph->is_shared);
    if (arena->failed)
        return false;
    pool_run(pool, et_tasks(graph->n), describe_task, &(struct graph_task){graph, nodes, NULL});
    graph->start = ROW_NONE;
    graph->tells = et_nodes_unmatched(nodes);
    for (row_t i = 0; i < graph->n; i++) {
        graph->tells |= graph->is_shared[i];
        if (graph->work[i] == WORK_CPU && et_text_is(et_text_at(nodes->text[ET_NODE_NAME], graph->node[i]), "[start]"))
            graph->start = i;
    }
    return true;
}

/* ---- Transfers ---- */

static uint64_t count_or(const struct et_nodes *nodes, row_t node, enum et_name name) {
    int64_t value = et_integer_or(nodes, node, name, 0);
    return (uint64_t)MAX(value, 0);
}

static enum comm_kind recorded_kind(const struct et_nodes *nodes, row_t node) {
    uint64_t at = et_attribute_find(nodes, node, ET_NAME_MEETING_KIND);
    struct et_text name = {nodes->attributes.value[at].bytes, nodes->attributes.length[at]};
    for (int kind = 0; kind < N_COMM_KINDS && nodes->attributes.kind[at] == ET_STRING; kind++)
        if (et_text_is(name, collective_kind_names[kind]))
            return (enum comm_kind)kind;
    return COMM_OTHER;
}

static bool is_transfer(const struct rank_graph *graph, const struct et_nodes *nodes, row_t i) {
    return graph->is_shared[i] && et_has(nodes, graph->node[i], ET_NAME_MEETING_KIND);
}

/* The name of the process group of a communication: "0", all ranks, if the file records none, as in simulators. */
static uint32_t intern_group(struct strings *groups, const struct et_nodes *nodes, row_t node) {
    struct et_text name = et_group_name(nodes, node);
    return name.length ? strings_intern(groups, name.bytes, name.length) : strings_intern(groups, "0", 1);
}

/* Without `groups` transfers have no process group. */
static bool list_transfers(struct rank_graph *graph, const struct et_nodes *nodes, struct strings *groups,
                           struct arena *arena) {
    row_t n = 0;
    for (row_t i = 0; i < graph->n; i++)
        n += is_transfer(graph, nodes, i);
    graph->transfers = arena_alloc(arena, n, sizeof *graph->transfers);
    for (row_t i = 0; i < graph->n && graph->transfers; i++) {
        row_t node = graph->node[i];
        if (!is_transfer(graph, nodes, i))
            continue;
        uint64_t n_ranks = count_or(nodes, node, ET_NAME_MEETING_RANKS);
        n_ranks = MIN(n_ranks, UINT32_MAX);
        graph->transfers[graph->n_transfers++] =
            (struct transfer){.node = i,
                              .kind = recorded_kind(nodes, node),
                              .n_ranks = (uint32_t)n_ranks,
                              .receives = nodes->type[node] == ET_COMM_RECV,
                              .bytes = count_or(nodes, node, ET_NAME_MEETING_BYTES),
                              .process_group = groups ? intern_group(groups, nodes, node) : 0};
        if (graph->transfers[graph->n_transfers - 1].process_group == STRING_NONE)
            return false;
    }
    return graph->transfers;
}

/* ---- Files without matches: roles and sizes ---- */

static enum comm_kind collective_kind_of_type(int64_t type) {
    static const enum comm_kind kinds[] = {
        [ET_ALL_REDUCE] = COMM_ALL_REDUCE,
        [ET_REDUCE] = COMM_REDUCE,
        [ET_ALL_GATHER] = COMM_ALL_GATHER,
        [ET_GATHER] = COMM_GATHER,
        [ET_SCATTER] = COMM_SCATTER,
        [ET_BROADCAST] = COMM_BROADCAST,
        [ET_ALL_TO_ALL] = COMM_ALL_TO_ALL,
        [ET_REDUCE_SCATTER] = COMM_REDUCE_SCATTER,
        [ET_REDUCE_SCATTER_BLOCK] = COMM_REDUCE_SCATTER,
        [ET_BARRIER] = COMM_BARRIER,
    };
    return type >= 0 && (uint64_t)type < sizeof kinds / sizeof *kinds ? kinds[type] : COMM_OTHER;
}

static bool is_memory(int32_t type) {
    return type == ET_MEM_LOAD || type == ET_MEM_STORE;
}

static bool list_roles(struct rank_graph *graph, const struct et_nodes *nodes, struct arena *arena) {
    row_t n = 0;
    for (row_t i = 0; i < graph->n; i++)
        n += graph->work[i] == WORK_COMPUTATION && graph->dur_ns[i] == 0;
    graph->role = arena_alloc(arena, graph->n, sizeof *graph->role);
    graph->kernel_sizes = arena_alloc(arena, n, sizeof *graph->kernel_sizes);
    for (row_t i = 0; i < graph->n && !arena->failed; i++) {
        const row_t node = graph->node[i];
        const int32_t type = nodes->type[node];
        const bool on_gpu = graph->work[i] != WORK_CPU;
        graph->role[i] = !on_gpu                ? ROLE_NONE
                         : type == ET_COMM_SEND ? ROLE_SENDS
                         : type == ET_COMM_RECV ? ROLE_RECEIVES
                         : is_memory(type)      ? ROLE_MEMORY
                                                : ROLE_NONE;
        if (graph->work[i] != WORK_COMPUTATION || graph->dur_ns[i] || graph->role[i] == ROLE_MEMORY)
            continue;
        const struct kernel_size size = {i, count_or(nodes, node, ET_NAME_NUM_OPS),
                                         count_or(nodes, node, ET_NAME_TENSOR_SIZE)};
        if (size.n_ops || size.bytes)
            graph->kernel_sizes[graph->n_kernel_sizes++] = size;
    }
    return !arena->failed;
}

/* ---- Contacts ---- */

/* Whether involved_dim, a list of bools, excludes a dimension of the network: only false is encoded as a zero byte. */
static bool has_false_dim(const struct et_nodes *nodes, row_t node) {
    const uint64_t at = et_attribute_find(nodes, node, ET_NAME_INVOLVED_DIM);
    return at != UINT64_MAX && et_kind_is_text(nodes->attributes.kind[at]) && nodes->attributes.length[at] &&
           memchr(nodes->attributes.value[at].bytes, 0, nodes->attributes.length[at]);
}

static bool list_contacts(struct rank_graph *graph, const struct et_nodes *nodes, struct strings *groups,
                          struct arena *arena) {
    row_t n = 0;
    for (row_t i = 0; i < graph->n; i++)
        n += graph->work[i] == WORK_COMMUNICATION;
    graph->contacts = arena_alloc(arena, n, sizeof *graph->contacts);
    for (row_t i = 0; i < graph->n && graph->contacts; i++) {
        const row_t node = graph->node[i];
        if (graph->work[i] != WORK_COMMUNICATION)
            continue;
        struct contact *contact = &graph->contacts[graph->n_contacts++];
        *contact = (struct contact){.node = i, .is_message = et_is_message(nodes->type[node])};
        contact->bytes = count_or(nodes, node, ET_NAME_COMM_SIZE);
        contact->kind = contact->is_message
                            ? COMM_MESSAGE
                            : collective_kind_of_type(et_integer_or(nodes, node, ET_NAME_COMM_TYPE, -1));
        contact->limits_dims = has_false_dim(nodes, node);
        contact->has_match_number = et_integer(nodes, node, ET_NAME_MEETING, &contact->match_number);
        if (contact->is_message) {
            contact->sends = nodes->type[node] == ET_COMM_SEND;
            contact->peer = et_integer_or(nodes, node, contact->sends ? ET_NAME_COMM_DST : ET_NAME_COMM_SRC, -1);
            contact->tag = et_integer_or(nodes, node, ET_NAME_COMM_TAG, 0);
        } else {
            contact->group = intern_group(groups, nodes, node);
            if (contact->group == STRING_NONE)
                return false;
        }
    }
    return graph->contacts;
}

/* ---- Counts ---- */

struct node_counts rank_graphs_count(const struct rank_graph *graphs, uint32_t n) {
    struct node_counts counts = {0};
    uint64_t n_sized_kernels = 0;
    for (uint32_t r = 0; r < n; r++) {
        const struct rank_graph *graph = &graphs[r];
        bool has_match = false;
        n_sized_kernels += graph->n_kernel_sizes;
        for (row_t i = 0; i < graph->n; i++) {
            const bool is_memory = graph->role && graph->role[i] == ROLE_MEMORY;
            const bool is_kernel = graph->work[i] == WORK_COMPUTATION && !is_memory;
            has_match |= graph->is_shared[i];
            counts.n_memory += is_memory;
            counts.n_kernels += is_kernel;
            counts.n_untimed_kernels += is_kernel && graph->dur_ns[i] == 0;
        }
        for (row_t c = 0; c < graph->n_contacts; c++) {
            const struct contact *contact = &graph->contacts[c];
            const bool has_duration = graph->dur_ns[contact->node] > 0;
            *(contact->is_message ? &counts.n_messages : &counts.n_collectives) += 1;
            *(contact->is_message ? &counts.n_untimed_messages : &counts.n_untimed_collectives) +=
                contact->bytes && !has_duration;
            counts.n_unmatched += has_duration && !has_match;
            counts.n_limited += contact->limits_dims;
        }
    }
    counts.n_unsized_kernels = counts.n_untimed_kernels - n_sized_kernels;
    return counts;
}

/* ---- Dependencies ---- */

/* Appends the rows of one kind of dependencies. Returns the new number. */
static uint64_t add_deps(const struct rank_graph *graph, const struct et_ids *list, row_t node, uint64_t n,
                         uint64_t *n_absent) {
    for (uint64_t d = list->first[node]; d < list->first[node + 1]; d++) {
        row_t dep = find_ascending_id(graph->id, graph->n, list->ids[d]);
        if (dep == graph->n)
            (*n_absent)++;
        else
            graph->deps[n++] = dep;
    }
    return n;
}

/* Fills the lists of some nodes, each at its offset if all dependencies were in the file. */
static void list_task(void *arg, size_t task) {
    const struct graph_task *work = arg;
    struct rank_graph *graph = work->graph;
    const struct et_nodes *nodes = work->nodes;
    for (row_t i = et_task_start(task); i < et_task_end(graph->n, task); i++) {
        const uint64_t first = graph->first_dep[i];
        uint64_t end = add_deps(graph, &nodes->ctrl, graph->node[i], first, &work->n_absent[task]);
        graph->parent[i] = end > first ? graph->deps[first] : ROW_NONE;
        end = add_deps(graph, &nodes->data, graph->node[i], end, &work->n_absent[task]);
        graph->n_waits[i] = (row_t)rows_sort_unique(graph->deps + first, end - first);
    }
}

static bool list_deps(struct rank_graph *graph, const struct et_nodes *nodes, struct pool *pool, struct arena *arena) {
    const size_t n_tasks = et_tasks(graph->n);
    uint64_t n = 0;
    graph->first_dep = arena_alloc(arena, (size_t)graph->n + 1, sizeof *graph->first_dep);
    graph->n_waits = arena_alloc(arena, graph->n, sizeof *graph->n_waits);
    graph->parent = arena_alloc(arena, graph->n, sizeof *graph->parent);
    graph->deps = arena_alloc(arena, nodes->ctrl.first[nodes->n] + nodes->data.first[nodes->n], sizeof *graph->deps);
    struct graph_task work = {graph, nodes, arena_zeros(arena, n_tasks, sizeof *work.n_absent)};
    if (arena->failed)
        return false;
    for (row_t i = 0; i < graph->n; i++) {
        graph->first_dep[i] = n;
        const row_t node = graph->node[i];
        n += nodes->ctrl.first[node + 1] - nodes->ctrl.first[node] + nodes->data.first[node + 1] -
             nodes->data.first[node];
    }
    pool_run(pool, n_tasks, list_task, &work);
    for (size_t task = 0; task < n_tasks; task++)
        graph->n_absent += work.n_absent[task];
    /* Close the gaps between the lists. */
    for (row_t i = 0; i < graph->n; i++) {
        memmove(graph->deps + graph->n_deps, graph->deps + graph->first_dep[i],
                graph->n_waits[i] * sizeof *graph->deps);
        graph->first_dep[i] = graph->n_deps;
        graph->n_deps += graph->n_waits[i];
    }
    graph->first_dep[graph->n] = graph->n_deps;
    return true;
}

/* The names of the nodes, numbered on a background thread. */
struct name_search {
    struct rank_graph *graph;
    const struct et_nodes *nodes;
    struct strings *names;
    bool failed; /* out of memory */
};

static void number_names(void *arg) {
    struct name_search *search = arg;
    struct rank_graph *graph = search->graph;
    for (row_t i = 0; search->names && i < graph->n && !search->failed; i++) {
        struct et_text name = et_text_at(search->nodes->text[ET_NODE_NAME], graph->node[i]);
        graph->name[i] = strings_intern(search->names, name.bytes, name.length);
        search->failed = graph->name[i] == STRING_NONE;
    }
}

/* Measured starts, if the file records any. */
static bool copy_starts(struct rank_graph *graph, const struct et_nodes *nodes, struct arena *arena) {
    bool has_starts = false;
    for (row_t i = 0; i < nodes->n && !has_starts; i++)
        has_starts = nodes->start_us[i];
    if (!has_starts)
        return true;
    graph->start_us = arena_alloc(arena, graph->n, sizeof *graph->start_us);
    for (row_t i = 0; i < graph->n && graph->start_us; i++)
        graph->start_us[i] = nodes->start_us[graph->node[i]];
    return graph->start_us;
}

enum sutra_status rank_graph_make(struct rank_graph *graph, const struct et_nodes *nodes, struct rank_names *names,
                                  struct pool *pool, struct arena *arena, struct sutra_error *error) {
    *graph = (struct rank_graph){0};
    /* The sum of all durations must be a time. */
    uint64_t sum_us = 0;
    for (row_t i = 0; i < nodes->n; i++)
        if (__builtin_add_overflow(sum_us, nodes->duration_us[i], &sum_us) || sum_us > TIME_NEVER / NS_PER_US / 4)
            return error_set(error, SUTRA_DATA,
                             "node %llu: the durations of all nodes up to this node exceed 146 years",
                             (unsigned long long)nodes->id[i]);
    TRY_ALLOC(sort_nodes(graph, nodes, arena) && describe_nodes(graph, nodes, pool, arena), error);
    struct name_search search = {graph, nodes, names ? &names->names : NULL, false};
    struct background_call background_call;
    background_call_begin(&background_call, names && pool_threads(pool) > 1, number_names, &search);
    bool done = (!names || (copy_starts(graph, nodes, arena) && list_contacts(graph, nodes, &names->groups, arena))) &&
                (graph->tells ? list_transfers(graph, nodes, names ? &names->groups : NULL, arena)
                              : list_roles(graph, nodes, arena)) &&
                list_deps(graph, nodes, pool, arena);
    background_call_end(&background_call);
    if (!done || search.failed)
        return error_memory(error);
    graph->first_waiter = arena_zeros(arena, (size_t)graph->n + 1, sizeof *graph->first_waiter);
    graph->waiters = arena_alloc(arena, graph->n_deps, sizeof *graph->waiters);
    TRY(arena_status(arena, error));
    rows_invert(graph->n, graph->first_dep, graph->deps, graph->first_waiter, graph->waiters);
    return SUTRA_OK;
}

/* ---- Resources ---- */

enum sutra_status rank_graph_share(struct rank_graph *graph, bool per_thread, bool per_stream, struct arena *arena,
                                   struct sutra_error *error) {
    struct pair_table lanes;
    TRY_ALLOC(pair_table_init(&lanes), error);
    graph->resource = arena_alloc(arena, graph->n, sizeof *graph->resource);
    graph->resource_work = arena_alloc(arena, (size_t)graph->n + 1, sizeof *graph->resource_work);
    graph->n_resources = 0;
    bool done = !arena->failed;
    for (row_t i = 0; done && i < graph->n; i++) {
        enum work_kind work = (enum work_kind)graph->work[i];
        bool per_lane = work == WORK_CPU ? per_thread : per_stream;
        const enum node_role role = graph->role ? (enum node_role)graph->role[i] : ROLE_NONE;
        if (role == ROLE_RECEIVES) {
            graph->resource_work[graph->n_resources] = WORK_COMMUNICATION;
            graph->resource[i] = graph->n_resources++;
            continue;
        }
        if (role == ROLE_MEMORY)
            work = WORK_COMMUNICATION;
        /* Streams run computation and communication alike. */
        uint32_t kind = per_lane && work != WORK_CPU ? WORK_COMPUTATION : work;
        struct pair_entry *entry = pair_table_insert(&lanes, per_lane ? (uint64_t)graph->lane[i] : 0, kind);
        if (!entry) {
            done = false;
            break;
        }
        if (entry->number == PAIR_NONE) {
            graph->resource_work[graph->n_resources] = (uint8_t)kind;
            entry->number = graph->n_resources++;
        }
        graph->resource[i] = entry->number;
    }
    pair_table_free(&lanes);
    return done ? SUTRA_OK : error_memory(error);
}
