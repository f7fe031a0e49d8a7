/*
 * rank_graph.c - from the columns of an .et file to what a simulator runs; see rank_graph.h.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/error.h"
#include "base/shared.h"
#include "columns/hash_tables.h"
#include "columns/rows.h"
#include "simulate/et_format.h"
#include "simulate/rank_graph.h"
#include "text/numbers.h"

/*
 * Numbering meetings, rank by rank; see rank_meetings.h.
 */

struct meeting_numbers {
    struct strings groups;     /* of collectives: their names; of pairs of ranks: "from>to#tag" */
    struct pair_table counts;  /* (rank, group) -> how many so far */
    struct pair_table numbers; /* (order, group) -> meeting; (number that a file tells, 0) where they tell meetings */
    bool told;                 /* files tell them */
    uint32_t n_meetings;
};

/* The pair of ranks of a message, interned; STRING_NONE: out of memory. */
static uint32_t pair_group(struct meeting_numbers *numbers, const struct contact *contact, uint64_t rank) {
    char text[96];
    uint64_t peer = (uint64_t)contact->peer;
    uint64_t from = contact->sends ? rank : peer, to = contact->sends ? peer : rank;
    int length = snprintf(text, sizeof text, "%llu>%llu#%lld", (unsigned long long)from, (unsigned long long)to,
                          (long long)contact->tag);
    return strings_intern(&numbers->groups, text, (size_t)length);
}

/* The meeting of a key, new if it has none. False: out of memory. */
static bool number_of(struct meeting_numbers *numbers, uint64_t first, uint32_t second, uint32_t *meeting) {
    struct pair_entry *entry = pair_table_take(&numbers->numbers, first, second);
    if (!entry)
        return false;
    if (entry->number == PAIR_NONE)
        entry->number = numbers->n_meetings++;
    *meeting = entry->number;
    return true;
}

/* The meeting of the rank's next node of the group. False: out of memory. */
static bool number_next(struct meeting_numbers *numbers, uint32_t rank, uint32_t group, uint32_t *meeting) {
    struct pair_entry *count = group == STRING_NONE ? NULL : pair_table_take(&numbers->counts, rank, group);
    if (!count)
        return false;
    uint32_t order = count->number == PAIR_NONE ? 0 : count->number;
    count->number = order + 1;
    return number_of(numbers, order, group, meeting);
}

/* A node meets where the file says so; one of files that do not, by its order; one that tells no peer, nobody. */
static bool number_contact(struct meeting_numbers *numbers, uint32_t number, uint64_t rank,
                           const struct contact *contact, const uint32_t *groups, uint32_t *meeting) {
    if (numbers->told)
        return !contact->is_told || number_of(numbers, (uint64_t)contact->told, 0, meeting);
    if (contact->is_message && contact->peer < 0)
        return true;
    return number_next(numbers, number,
                       contact->is_message ? pair_group(numbers, contact, rank) : groups[contact->group], meeting);
}

static bool number_rank(struct meeting_numbers *numbers, struct rank_graph *graph, uint32_t number, uint64_t rank,
                        const struct strings *names) {
    uint32_t *groups = strings_join(&numbers->groups, names);
    bool done = groups;
    memset(graph->meeting, 0xff, graph->n * sizeof *graph->meeting); /* NO_MEETING */
    for (row_t c = 0; c < graph->n_contacts && done; c++) {
        const struct contact *contact = &graph->contacts[c];
        done = number_contact(numbers, number, rank, contact, groups, &graph->meeting[contact->node]);
    }
    free(groups);
    return done;
}

enum sutra_status rank_graphs_meet(struct rank_graph *graphs, const uint64_t *ranks, const struct rank_names *names,
                                   uint32_t n, struct arena *arena, uint32_t *n_meetings, struct sutra_error *error) {
    struct meeting_numbers numbers = {0};
    for (uint32_t r = 0; r < n; r++)
        numbers.told |= graphs[r].tells;
    bool done = strings_init(&numbers.groups) && pair_table_init(&numbers.counts) && pair_table_init(&numbers.numbers);
    for (uint32_t r = 0; r < n && done; r++) {
        graphs[r].meeting = arena_take(arena, graphs[r].n, sizeof *graphs[r].meeting);
        done = graphs[r].meeting && number_rank(&numbers, &graphs[r], r, ranks[r], &names[r].groups);
    }
    *n_meetings = numbers.n_meetings;
    pair_table_free(&numbers.numbers);
    pair_table_free(&numbers.counts);
    strings_free(&numbers.groups);
    return done ? SUTRA_OK : error_memory(error);
}

/* ---- Nodes by id ---- */

struct numbered {
    uint64_t id;
    row_t node;
};

ORDER_BY(compare_numbered, struct numbered, ASCENDING(id) ASCENDING(node))

/* Rows of nodes by rising id; of equal ids only the last one. Files mostly are in that order. */
static bool sort_nodes(struct rank_graph *graph, const struct et_nodes *nodes, struct arena *arena) {
    graph->node = arena_take(arena, nodes->n, sizeof *graph->node);
    graph->id = arena_take(arena, nodes->n, sizeof *graph->id);
    struct arena_mark mark = arena_mark(arena);
    struct numbered *numbered = arena_take(arena, nodes->n, sizeof *numbered);
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
    arena_release(arena, mark);
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
    const struct et_nodes *nodes;
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
    const struct et_nodes *nodes = ((struct graph_task *)arg)->nodes;
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

static bool intern_names(const struct rank_graph *graph, const struct et_nodes *nodes, struct strings *names) {
    for (row_t i = 0; i < graph->n; i++) {
        struct et_text name = et_text_at(nodes->text[ET_NODE_NAME], graph->node[i]);
        graph->name[i] = strings_intern(names, name.bytes, name.length);
        if (graph->name[i] == STRING_NONE)
            return false;
    }
    return true;
}

/* When nodes were measured, where any was. */
static bool keep_starts(struct rank_graph *graph, const struct et_nodes *nodes, struct arena *arena) {
    bool told = false;
    for (row_t i = 0; i < nodes->n && !told; i++)
        told = nodes->start_us[i];
    if (!told)
        return true;
    graph->start_us = arena_take(arena, graph->n, sizeof *graph->start_us);
    for (row_t i = 0; i < graph->n && graph->start_us; i++)
        graph->start_us[i] = nodes->start_us[graph->node[i]];
    return graph->start_us;
}

static bool describe_nodes(struct rank_graph *graph, const struct et_nodes *nodes, struct pool *pool,
                           struct arena *arena) {
    graph->work = arena_take(arena, graph->n, sizeof *graph->work);
    graph->name = arena_zeros(arena, graph->n, sizeof *graph->name);
    graph->dur_ns = arena_take(arena, graph->n, sizeof *graph->dur_ns);
    graph->run_ns = arena_take(arena, graph->n, sizeof *graph->run_ns);
    graph->lane = arena_take(arena, graph->n, sizeof *graph->lane);
    graph->is_shared = arena_take(arena, graph->n, sizeof *graph->is_shared);
    if (arena->failed)
        return false;
    pool_run(pool, count_tasks(graph), describe_task, &(struct graph_task){graph, nodes, NULL});
    for (row_t i = 0; i < graph->n; i++)
        graph->tells |= graph->is_shared[i];
    return true;
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

static bool is_transfer(const struct rank_graph *graph, const struct et_nodes *nodes, row_t i) {
    return graph->is_shared[i] && et_has(nodes, graph->node[i], ET_NAME_MEETING_KIND);
}

static bool list_transfers(struct rank_graph *graph, const struct et_nodes *nodes, struct arena *arena) {
    row_t n = 0;
    for (row_t i = 0; i < graph->n; i++)
        n += is_transfer(graph, nodes, i);
    graph->transfers = arena_take(arena, n, sizeof *graph->transfers);
    for (row_t i = 0; i < graph->n && graph->transfers; i++) {
        row_t node = graph->node[i];
        if (!is_transfer(graph, nodes, i))
            continue;
        uint64_t n_ranks = count_or(nodes, node, ET_NAME_MEETING_RANKS);
        graph->transfers[graph->n_transfers++] =
            (struct transfer){.node = i,
                              .kind = told_kind(nodes, node),
                              .n_ranks = n_ranks < UINT32_MAX ? (uint32_t)n_ranks : UINT32_MAX,
                              .bytes = count_or(nodes, node, ET_NAME_MEETING_BYTES)};
    }
    return graph->transfers;
}

/* ---- Contacts ---- */

static struct contact message_of(const struct et_nodes *nodes, row_t node) {
    const bool sends = nodes->type[node] == ET_COMM_SEND;
    return (struct contact){.is_message = true,
                            .sends = sends,
                            .peer = integer_or(nodes, node, sends ? ET_NAME_COMM_DST : ET_NAME_COMM_SRC, -1),
                            .tag = integer_or(nodes, node, ET_NAME_COMM_TAG, 0)};
}

static struct contact collective_of(const struct et_nodes *nodes, row_t node, struct strings *groups) {
    struct et_text name = et_group_name(nodes, node);
    if (name.length == 0)
        name = (struct et_text){"0", 1}; /* all ranks, as simulators take it */
    return (struct contact){.group = strings_intern(groups, name.bytes, name.length)};
}

static bool list_contacts(struct rank_graph *graph, const struct et_nodes *nodes, struct strings *groups,
                          struct arena *arena) {
    row_t n = 0;
    for (row_t i = 0; i < graph->n; i++)
        n += graph->work[i] == WORK_COMMUNICATION;
    graph->contacts = arena_take(arena, n, sizeof *graph->contacts);
    for (row_t i = 0; i < graph->n && graph->contacts; i++) {
        const row_t node = graph->node[i];
        if (graph->work[i] != WORK_COMMUNICATION)
            continue;
        struct contact contact =
            et_is_message(nodes->type[node]) ? message_of(nodes, node) : collective_of(nodes, node, groups);
        if (contact.group == STRING_NONE)
            return false;
        contact.node = i;
        contact.is_told = et_integer(nodes, node, ET_NAME_MEETING, &contact.told);
        graph->contacts[graph->n_contacts++] = contact;
    }
    return graph->contacts;
}

/* All durations together must be a time. */
static enum sutra_status check_durations(const struct et_nodes *nodes, struct sutra_error *error) {
    uint64_t sum_us = 0;
    for (row_t i = 0; i < nodes->n; i++)
        if (__builtin_add_overflow(sum_us, nodes->duration_us[i], &sum_us) || sum_us > TIME_NEVER / NS_PER_US / 4)
            return error_set(error, SUTRA_DATA,
                             "node %llu: the durations of all nodes up to this node exceed 146 years",
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
    const struct et_nodes *nodes = work->nodes;
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

static bool list_deps(struct rank_graph *graph, const struct et_nodes *nodes, struct pool *pool, struct arena *arena) {
    const size_t n_tasks = count_tasks(graph);
    uint64_t n = 0;
    graph->first_dep = arena_take(arena, (size_t)graph->n + 1, sizeof *graph->first_dep);
    graph->n_waits = arena_take(arena, graph->n, sizeof *graph->n_waits);
    graph->parent = arena_take(arena, graph->n, sizeof *graph->parent);
    graph->deps = arena_take(arena, nodes->ctrl.first[nodes->n] + nodes->data.first[nodes->n], sizeof *graph->deps);
    struct graph_task work = {graph, nodes, arena_zeros(arena, n_tasks, sizeof *work.n_absent)};
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

/* What a job asks for, and a rank by itself does not. */
static bool name_nodes(struct rank_graph *graph, const struct et_nodes *nodes, struct rank_names *names,
                       struct arena *arena) {
    return intern_names(graph, nodes, &names->names) && keep_starts(graph, nodes, arena) &&
           list_contacts(graph, nodes, &names->groups, arena);
}

enum sutra_status rank_graph_make(struct rank_graph *graph, const struct et_nodes *nodes, struct rank_names *names,
                                  struct pool *pool, struct arena *arena, struct sutra_error *error) {
    *graph = (struct rank_graph){0};
    enum sutra_status status = check_durations(nodes, error);
    if (status)
        return status;
    bool done = sort_nodes(graph, nodes, arena) && describe_nodes(graph, nodes, pool, arena) &&
                (!names || name_nodes(graph, nodes, names, arena)) &&
                (!graph->tells || list_transfers(graph, nodes, arena)) && list_deps(graph, nodes, pool, arena) &&
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
