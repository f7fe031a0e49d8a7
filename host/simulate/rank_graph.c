/*
 * rank_graph.c - from the columns of an .et file to what a simulator runs; see rank_graph.h.
 */
#include "simulate/rank_graph.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/bisect.h"
#include "base/error.h"
#include "columns/pair_table.h"
#include "columns/row_list.h"
#include "simulate/et_values.h"

#define NS_PER_US 1000

/* ---- Nodes by id ---- */

struct numbered {
    uint64_t id;
    row_t node;
};

static int compare_numbered(const void *a, const void *b) {
    const struct numbered *x = a, *y = b;
    if (x->id != y->id)
        return x->id < y->id ? -1 : 1;
    return (x->node > y->node) - (x->node < y->node);
}

/* Rows of nodes by rising id; of equal ids only the last one. Files mostly are in that order. */
static bool sort_nodes(struct rank_graph *graph, struct arena *arena) {
    const struct et_nodes *nodes = graph->nodes;
    struct numbered *numbered = arena_take(arena, nodes->n, sizeof *numbered);
    graph->node = arena_take(arena, nodes->n, sizeof *graph->node);
    graph->id = arena_take(arena, nodes->n, sizeof *graph->id);
    if (arena->failed)
        return false;
    bool sorted = true;
    for (row_t i = 0; i < nodes->n; i++) {
        numbered[i] = (struct numbered){nodes->id[i], i};
        sorted = sorted && (i == 0 || nodes->id[i - 1] < nodes->id[i]);
    }
    if (!sorted)
        qsort(numbered, nodes->n, sizeof *numbered, compare_numbered);
    for (row_t i = 0; i < nodes->n; i++)
        if (i + 1 == nodes->n || numbered[i + 1].id != numbered[i].id) {
            graph->id[graph->n] = numbered[i].id;
            graph->node[graph->n++] = numbered[i].node;
        }
    return true;
}

/* ---- What nodes are ---- */

/* An attribute that is an integer; `other` where there is none. */
static int64_t integer_or(const struct et_nodes *nodes, row_t node, enum et_name name, int64_t other) {
    int64_t value;
    return et_integer(nodes, node, name, &value) ? value : other;
}

static enum work_kind node_work(const struct et_nodes *nodes, row_t node) {
    if (!et_is_gpu(nodes, node) || nodes->type[node] == ET_METADATA)
        return WORK_CPU;
    return et_is_communication(nodes->type[node]) ? WORK_COMMUNICATION : WORK_COMPUTATION;
}

/* What of a node of the processor is execution: nothing of the time before its rank starts; -1: all. */
static int64_t start_run(const struct et_nodes *nodes, row_t node) {
    return et_text_is(et_text_at(nodes->text[ET_NODE_NAME], node), "[start]") ? 0 : -1;
}

/* Nodes that a task does. */
#define TASK_NODES 8192

struct graph_task {
    struct rank_graph *graph;
    uint64_t *n_absent; /* per task */
};

static size_t count_tasks(const struct rank_graph *graph) {
    return ((size_t)graph->n + TASK_NODES - 1) / TASK_NODES;
}

static row_t task_end(const struct rank_graph *graph, size_t task) {
    return (task + 1) * TASK_NODES < graph->n ? (row_t)((task + 1) * TASK_NODES) : graph->n;
}

static void describe_task(void *arg, size_t task) {
    const struct rank_graph *graph = ((struct graph_task *)arg)->graph;
    const struct et_nodes *nodes = graph->nodes;
    for (row_t i = (row_t)(task * TASK_NODES); i < task_end(graph, task); i++) {
        row_t node = graph->node[i];
        uint64_t dur = nodes->duration_us[node] * NS_PER_US;
        graph->work[i] = (uint8_t)node_work(nodes, node);
        graph->dur_ns[i] = graph->run_ns[i] = dur;
        int64_t run =
            graph->work[i] == WORK_CPU ? start_run(nodes, node) : integer_or(nodes, node, ET_NAME_KERNEL_EXEC_NS, -1);
        if (run >= 0 && (uint64_t)run < dur)
            graph->run_ns[i] = (uint64_t)run;
        graph->is_shared[i] = graph->work[i] == WORK_COMMUNICATION &&
                              (et_has(nodes, node, ET_NAME_MEETING) || et_has(nodes, node, ET_NAME_MEETING_KIND));
        enum et_name lane = graph->work[i] == WORK_CPU ? ET_NAME_TID : ET_NAME_STREAM;
        graph->lane[i] = integer_or(nodes, node, lane, 0);
    }
}

static bool intern_names(const struct rank_graph *graph, struct strings *names) {
    for (row_t i = 0; i < graph->n; i++) {
        struct et_text name = et_text_at(graph->nodes->text[ET_NODE_NAME], graph->node[i]);
        graph->name[i] = names ? strings_intern(names, name.bytes, name.length) : 0;
        if (graph->name[i] == STRING_NONE)
            return false;
    }
    return true;
}

static bool describe_nodes(struct rank_graph *graph, struct strings *names, struct pool *pool, struct arena *arena) {
    graph->work = arena_take(arena, graph->n, sizeof *graph->work);
    graph->name = arena_take(arena, graph->n, sizeof *graph->name);
    graph->dur_ns = arena_take(arena, graph->n, sizeof *graph->dur_ns);
    graph->run_ns = arena_take(arena, graph->n, sizeof *graph->run_ns);
    graph->lane = arena_take(arena, graph->n, sizeof *graph->lane);
    graph->is_shared = arena_take(arena, graph->n, sizeof *graph->is_shared);
    if (arena->failed)
        return false;
    pool_run(pool, count_tasks(graph), describe_task, &(struct graph_task){graph, NULL});
    for (row_t i = 0; i < graph->n; i++)
        graph->tells |= graph->is_shared[i];
    return intern_names(graph, names);
}

/* ---- Transfers ---- */

static uint64_t count_or(const struct et_nodes *nodes, row_t node, enum et_name name) {
    int64_t told = integer_or(nodes, node, name, 0);
    return told > 0 ? (uint64_t)told : 0;
}

static enum comm_kind told_kind(const struct et_nodes *nodes, row_t node) {
    uint64_t at = et_attribute_find(nodes, node, ET_NAME_MEETING_KIND);
    struct et_text told = {nodes->attributes.value[at].bytes, nodes->attributes.length[at]};
    for (int kind = 0; kind < N_COMM_KINDS && nodes->attributes.kind[at] == ET_STRING; kind++)
        if (et_text_is(told, collective_kind_names[kind]))
            return (enum comm_kind)kind;
    return COMM_OTHER;
}

static bool is_transfer(const struct rank_graph *graph, row_t i) {
    return graph->is_shared[i] && et_has(graph->nodes, graph->node[i], ET_NAME_MEETING_KIND);
}

static bool list_transfers(struct rank_graph *graph, struct arena *arena) {
    row_t n = 0;
    for (row_t i = 0; i < graph->n; i++)
        n += is_transfer(graph, i);
    graph->transfers = arena_take(arena, n, sizeof *graph->transfers);
    for (row_t i = 0; i < graph->n && graph->transfers; i++) {
        row_t node = graph->node[i];
        if (!is_transfer(graph, i))
            continue;
        uint64_t n_ranks = count_or(graph->nodes, node, ET_NAME_MEETING_RANKS);
        graph->transfers[graph->n_transfers++] =
            (struct transfer){.node = i,
                              .kind = told_kind(graph->nodes, node),
                              .n_ranks = n_ranks < UINT32_MAX ? (uint32_t)n_ranks : UINT32_MAX,
                              .bytes = count_or(graph->nodes, node, ET_NAME_MEETING_BYTES)};
    }
    return graph->transfers;
}

/* All durations together must be a time. */
static enum sutra_status check_durations(const struct et_nodes *nodes, struct sutra_error *error) {
    uint64_t sum_us = 0;
    for (row_t i = 0; i < nodes->n; i++)
        if (__builtin_add_overflow(sum_us, nodes->duration_us[i], &sum_us) || sum_us > TIME_NEVER / NS_PER_US / 4)
            return error_set(error, SUTRA_DATA, "node %llu: durations up to this one are longer than 146 years",
                             (unsigned long long)nodes->id[i]);
    return SUTRA_OK;
}

/* ---- Dependencies ---- */

/* Appends the rows of a node's dependencies of one kind; gives how many there are then. */
static uint64_t add_deps(const struct rank_graph *graph, const struct et_ids *list, row_t node, uint64_t n,
                         uint64_t *n_absent) {
    for (uint64_t d = list->first[node]; d < list->first[node + 1]; d++) {
        row_t dep = rising_id_place(graph->id, graph->n, list->ids[d]);
        if (dep == graph->n)
            (*n_absent)++;
        else
            graph->deps[n++] = dep;
    }
    return n;
}

/* The lists of some nodes, each from where it stands if all lists are as long as in the file. */
static void list_task(void *arg, size_t task) {
    const struct graph_task *work = arg;
    struct rank_graph *graph = work->graph;
    const struct et_nodes *nodes = graph->nodes;
    for (row_t i = (row_t)(task * TASK_NODES); i < task_end(graph, task); i++) {
        const uint64_t first = graph->first_dep[i];
        uint64_t end = add_deps(graph, &nodes->ctrl, graph->node[i], first, &work->n_absent[task]);
        graph->parent[i] = end > first ? graph->deps[first] : ROW_NONE;
        end = add_deps(graph, &nodes->data, graph->node[i], end, &work->n_absent[task]);
        graph->n_waits[i] = (row_t)rows_sort_unique(graph->deps + first, end - first);
    }
}

static uint64_t list_length(const struct et_ids *list, row_t node) {
    return list->first[node + 1] - list->first[node];
}

/* Moves the lists together. */
static void close_lists(struct rank_graph *graph) {
    for (row_t i = 0; i < graph->n; i++) {
        memmove(graph->deps + graph->n_deps, graph->deps + graph->first_dep[i],
                graph->n_waits[i] * sizeof *graph->deps);
        graph->first_dep[i] = graph->n_deps;
        graph->n_deps += graph->n_waits[i];
    }
    graph->first_dep[graph->n] = graph->n_deps;
}

static bool list_deps(struct rank_graph *graph, struct pool *pool, struct arena *arena) {
    const struct et_nodes *nodes = graph->nodes;
    const size_t n_tasks = count_tasks(graph);
    uint64_t n = 0;
    graph->first_dep = arena_take(arena, (size_t)graph->n + 1, sizeof *graph->first_dep);
    graph->n_waits = arena_take(arena, graph->n, sizeof *graph->n_waits);
    graph->parent = arena_take(arena, graph->n, sizeof *graph->parent);
    graph->deps = arena_take(arena, nodes->ctrl.first[nodes->n] + nodes->data.first[nodes->n], sizeof *graph->deps);
    struct graph_task work = {graph, arena_zeros(arena, n_tasks, sizeof *work.n_absent)};
    if (arena->failed)
        return false;
    for (row_t i = 0; i < graph->n; i++) {
        graph->first_dep[i] = n;
        n += list_length(&nodes->ctrl, graph->node[i]) + list_length(&nodes->data, graph->node[i]);
    }
    pool_run(pool, n_tasks, list_task, &work);
    for (size_t task = 0; task < n_tasks; task++)
        graph->n_absent += work.n_absent[task];
    close_lists(graph);
    return true;
}

/* Turns the lists around. */
static bool list_waiters(struct rank_graph *graph, struct arena *arena) {
    graph->first_waiter = arena_zeros(arena, (size_t)graph->n + 1, sizeof *graph->first_waiter);
    graph->waiters = arena_take(arena, graph->n_deps, sizeof *graph->waiters);
    if (arena->failed)
        return false;
    rows_turn(graph->n, graph->first_dep, graph->deps, graph->first_waiter, graph->waiters);
    return true;
}

enum sutra_status rank_graph_make(struct rank_graph *graph, const struct et_nodes *nodes, struct strings *names,
                                  struct pool *pool, struct arena *arena, struct sutra_error *error) {
    *graph = (struct rank_graph){.nodes = nodes};
    enum sutra_status status = check_durations(nodes, error);
    if (status)
        return status;
    bool done = sort_nodes(graph, arena) && describe_nodes(graph, names, pool, arena) &&
                (!graph->tells || list_transfers(graph, arena)) && list_deps(graph, pool, arena) &&
                list_waiters(graph, arena);
    return done ? SUTRA_OK : error_memory(error);
}

/* ---- Resources ---- */

enum sutra_status rank_graph_share(struct rank_graph *graph, struct rank_resources resources, struct arena *arena,
                                   struct sutra_error *error) {
    struct pair_table lanes;
    if (!pair_table_init(&lanes))
        return error_memory(error);
    graph->resource = arena_take(arena, graph->n, sizeof *graph->resource);
    graph->resource_work = arena_take(arena, (size_t)graph->n + 1, sizeof *graph->resource_work);
    graph->n_resources = 0;
    bool done = !arena->failed;
    for (row_t i = 0; done && i < graph->n; i++) {
        enum work_kind work = (enum work_kind)graph->work[i];
        bool per_lane = work == WORK_CPU ? resources.per_thread : resources.per_stream;
        /* Streams run computation and communication alike. */
        uint32_t kind = per_lane && work != WORK_CPU ? WORK_COMPUTATION : work;
        struct pair_entry *entry = pair_table_take(&lanes, per_lane ? (uint64_t)graph->lane[i] : 0, kind);
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

/* ---- Meetings ---- */

/* What is numbered while ranks are made to meet. */
struct meeting_numbers {
    struct strings groups;     /* of collectives: their names; of pairs of ranks: "from>to#tag" */
    struct pair_table counts;  /* (rank, group) -> how many so far */
    struct pair_table numbers; /* (order, group) -> meeting; (number that a file tells, 0) where they tell meetings */
    bool told;                 /* files tell them */
    uint32_t n_meetings;
};

/* The group in which a node meets others, interned; STRING_NONE: out of memory. */
static uint32_t collective_group(struct meeting_numbers *numbers, const struct et_nodes *nodes, row_t node) {
    struct et_text name = et_group_name(nodes, node);
    if (name.length == 0)
        name = (struct et_text){"0", 1}; /* all ranks, as simulators take it */
    return strings_intern(&numbers->groups, name.bytes, name.length);
}

/* The same for a send or receive; UINT32_MAX - 1 where the file does not say with whom. */
#define GROUP_UNKNOWN (STRING_NONE - 1)

static uint32_t pair_group(struct meeting_numbers *numbers, const struct et_nodes *nodes, row_t node, uint64_t rank) {
    bool sends = nodes->type[node] == ET_COMM_SEND;
    int64_t peer = integer_or(nodes, node, sends ? ET_NAME_COMM_DST : ET_NAME_COMM_SRC, -1);
    int64_t tag = integer_or(nodes, node, ET_NAME_COMM_TAG, 0);
    char text[96];
    if (peer < 0)
        return GROUP_UNKNOWN;
    uint64_t from = sends ? rank : (uint64_t)peer, to = sends ? (uint64_t)peer : rank;
    int length =
        snprintf(text, sizeof text, "%llu>%llu#%lld", (unsigned long long)from, (unsigned long long)to, (long long)tag);
    return strings_intern(&numbers->groups, text, (size_t)length);
}

/* The meeting of the rank's next node of the group. False: out of memory. */
static bool number_meeting(struct meeting_numbers *numbers, uint32_t rank, uint32_t group, uint32_t *meeting) {
    struct pair_entry *count = pair_table_take(&numbers->counts, rank, group);
    if (!count)
        return false;
    uint32_t order = count->number == PAIR_NONE ? 0 : count->number;
    count->number = order + 1;
    struct pair_entry *entry = pair_table_take(&numbers->numbers, order, group);
    if (!entry)
        return false;
    if (entry->number == PAIR_NONE)
        entry->number = numbers->n_meetings++;
    *meeting = entry->number;
    return true;
}

/* The meeting of this number. False: out of memory. */
static bool number_told(struct meeting_numbers *numbers, int64_t told, uint32_t *meeting) {
    struct pair_entry *entry = pair_table_take(&numbers->numbers, (uint64_t)told, 0);
    if (!entry)
        return false;
    if (entry->number == PAIR_NONE)
        entry->number = numbers->n_meetings++;
    *meeting = entry->number;
    return true;
}

static bool number_rank_told(struct meeting_numbers *numbers, struct rank_graph *graph) {
    bool done = true;
    for (row_t i = 0; i < graph->n && done; i++) {
        int64_t told;
        graph->meeting[i] = NO_MEETING;
        if (graph->is_shared[i] && et_integer(graph->nodes, graph->node[i], ET_NAME_MEETING, &told))
            done = number_told(numbers, told, &graph->meeting[i]);
    }
    return done;
}

static bool number_rank(struct meeting_numbers *numbers, struct rank_graph *graph, uint32_t number, uint64_t rank) {
    for (row_t i = 0; i < graph->n; i++) {
        graph->meeting[i] = NO_MEETING;
        if (!et_is_communication(graph->nodes->type[graph->node[i]]) || graph->work[i] == WORK_CPU)
            continue;
        row_t node = graph->node[i];
        uint32_t group = graph->nodes->type[node] == ET_COMM_COLL ? collective_group(numbers, graph->nodes, node)
                                                                  : pair_group(numbers, graph->nodes, node, rank);
        if (group == GROUP_UNKNOWN)
            continue;
        if (group == STRING_NONE || !number_meeting(numbers, number, group, &graph->meeting[i]))
            return false;
    }
    return true;
}

enum sutra_status rank_graphs_meet(struct rank_graph *graphs, const uint64_t *ranks, uint32_t n, struct arena *arena,
                                   uint32_t *n_meetings, struct sutra_error *error) {
    struct meeting_numbers numbers = {0};
    for (uint32_t r = 0; r < n; r++)
        numbers.told |= graphs[r].tells;
    bool done = strings_init(&numbers.groups) && pair_table_init(&numbers.counts) && pair_table_init(&numbers.numbers);
    for (uint32_t r = 0; r < n && done; r++) {
        graphs[r].meeting = arena_take(arena, graphs[r].n, sizeof *graphs[r].meeting);
        done = !arena->failed &&
               (numbers.told ? number_rank_told(&numbers, &graphs[r]) : number_rank(&numbers, &graphs[r], r, ranks[r]));
    }
    *n_meetings = numbers.n_meetings;
    pair_table_free(&numbers.numbers);
    pair_table_free(&numbers.counts);
    strings_free(&numbers.groups);
    return done ? SUTRA_OK : error_memory(error);
}
