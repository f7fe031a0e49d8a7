/*
 * node_graph.c - implements node_graph.h.
 */
#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/error.h"
#include "columns/column.h"
#include "facts/names.h"
#include "simulate/communication.h"
#include "simulate/et_graph.h"
#include "simulate/node_graph.h"

/*
 * ---- Removal of dependency cycles ----
 *
 * Nodes that can reach each other are a component (Tarjan's search); only a dependency within a component can close a
 * cycle. Then nodes are queued in an order in which their dependencies precede them. If no node is ready, the first
 * node that waits only for other threads of its component drops these dependencies. The dependencies on the order of a
 * thread and on parents form no cycles, so there is such a node, except if nodes are their own ancestors; then the next
 * node drops all remaining dependencies.
 */

/* A node of the search and its next dependency: first the list, then the parent. */
struct component_frame {
    row_t slot, dep;
    bool parent_due;
};

struct cycle_search {
    struct node_graph *graph;
    struct component_frame *frames;
    row_t depth, n_visited, n_components, n_open;
    row_t *visited, *low, *open; /* per slot: when it was visited, the first visited node that it reaches; nodes without
                               * component */
    row_t *component;            /* per slot, or ROW_NONE */
    uint64_t *first;             /* per slot: dependents[first[slot]] .. */
    row_t *dependents;
    uint8_t *weak;            /* whether the dependency may be dropped */
    row_t *n_strong, *n_weak; /* per slot: dependencies that are not queued yet */
    row_t *queue;             /* nodes in order */
    row_t n_queued;
    row_t *waiting; /* nodes that only wait for weak dependencies */
    row_t n_waiting;
    uint8_t *done;
};

static void visit_slot(struct cycle_search *all, row_t slot) {
    all->visited[slot] = all->low[slot] = ++all->n_visited;
    all->open[all->n_open++] = slot;
    all->frames[all->depth++] = (struct component_frame){slot, all->graph->first_dep[slot], true};
}

static bool next_dep(const struct node_graph *graph, struct component_frame *frame, row_t *on) {
    if (frame->dep != ROW_NONE) {
        *on = graph->deps[frame->dep].slot;
        frame->dep = graph->deps[frame->dep].next;
        return true;
    }
    *on = frame->parent_due ? graph->under[frame->slot] : ROW_NONE;
    frame->parent_due = false;
    return *on != ROW_NONE;
}

static void set_min(row_t *low, row_t to) {
    if (to < *low)
        *low = to;
}

static void leave_slot(struct cycle_search *all, row_t slot) {
    all->depth--;
    if (all->depth > 0)
        set_min(&all->low[all->frames[all->depth - 1].slot], all->low[slot]);
    if (all->low[slot] != all->visited[slot])
        return;
    row_t member;
    do {
        member = all->open[--all->n_open];
        all->component[member] = all->n_components;
    } while (member != slot);
    all->n_components++;
}

static void find_components(struct cycle_search *all, row_t start) {
    visit_slot(all, start);
    while (all->depth > 0) {
        struct component_frame *frame = &all->frames[all->depth - 1];
        row_t on;
        if (!next_dep(all->graph, frame, &on))
            leave_slot(all, frame->slot);
        else if (all->visited[on] == 0)
            visit_slot(all, on);
        else if (all->component[on] == ROW_NONE)
            set_min(&all->low[frame->slot], all->visited[on]);
    }
}

static bool is_weak(const struct cycle_search *all, row_t slot, const struct graph_dep *dep) {
    return dep->inter && all->component[slot] == all->component[dep->slot];
}

/* Calls `edge` for each dependency of a node. */
static void for_each_edge(struct cycle_search *all, row_t slot,
                          void (*edge)(struct cycle_search *, row_t, row_t, bool)) {
    const struct node_graph *graph = all->graph;
    for (row_t i = graph->first_dep[slot]; i != ROW_NONE; i = graph->deps[i].next)
        edge(all, slot, graph->deps[i].slot, is_weak(all, slot, &graph->deps[i]));
    if (graph->under[slot] != ROW_NONE)
        edge(all, slot, graph->under[slot], false);
}

static void count_edge(struct cycle_search *all, row_t slot, row_t on, bool weak) {
    all->first[on + 2]++;
    (*(weak ? &all->n_weak[slot] : &all->n_strong[slot]))++;
}

static void add_edge(struct cycle_search *all, row_t slot, row_t on, bool weak) {
    uint64_t at = all->first[on + 1]++;
    all->dependents[at] = slot;
    all->weak[at] = weak;
}

/* Queues a node if it is ready. */
static void queue_if_ready(struct cycle_search *all, row_t slot) {
    if (all->n_strong[slot] > 0 || all->done[slot])
        return;
    if (all->n_weak[slot] == 0) {
        all->done[slot] = 1;
        all->queue[all->n_queued++] = slot;
    } else {
        all->waiting[all->n_waiting++] = slot;
    }
}

static void release_dependents(struct cycle_search *all, row_t slot) {
    for (uint64_t i = all->first[slot]; i < all->first[slot + 1]; i++) {
        row_t *n = all->weak[i] ? &all->n_weak[all->dependents[i]] : &all->n_strong[all->dependents[i]];
        if (*n > 0 && --*n == 0)
            queue_if_ready(all, all->dependents[i]);
    }
}

/* Drops the dependencies of a node that are not queued: the weak ones, or all. */
static void drop_deps(struct cycle_search *all, row_t slot, bool all_deps) {
    struct node_graph *graph = all->graph;
    row_t entry = graph->first_dep[slot];
    graph->first_dep[slot] = graph->last_dep[slot] = ROW_NONE;
    while (entry != ROW_NONE) {
        struct graph_dep *dep = &graph->deps[entry];
        row_t next = dep->next;
        bool gone = !all->done[dep->slot] && (all_deps || is_weak(all, slot, dep));
        graph->counts.n_cycles += gone;
        if (!gone) {
            dep->next = ROW_NONE;
            *(graph->last_dep[slot] == ROW_NONE ? &graph->first_dep[slot] : &graph->deps[graph->last_dep[slot]].next) =
                entry;
            graph->last_dep[slot] = entry;
        }
        entry = next;
    }
    if (all_deps && graph->under[slot] != ROW_NONE && !all->done[graph->under[slot]]) {
        graph->under[slot] = ROW_NONE;
        graph->counts.n_cycles++;
    }
    all->n_weak[slot] = all->n_strong[slot] = 0;
    queue_if_ready(all, slot);
}

/* Queues all nodes, dropping dependencies if no node is ready. */
static void queue_all(struct cycle_search *all) {
    row_t n_left = 0, next_waiting = 0, n_inspected = 0;
    while (true) {
        while (n_left < all->n_queued)
            release_dependents(all, all->queue[n_left++]);
        while (next_waiting < all->n_waiting && all->done[all->waiting[next_waiting]])
            next_waiting++;
        if (next_waiting < all->n_waiting) {
            drop_deps(all, all->waiting[next_waiting++], false);
            continue;
        }
        while (n_inspected < all->graph->n_made &&
               (!all->graph->kept[all->graph->made[n_inspected]] || all->done[all->graph->made[n_inspected]]))
            n_inspected++;
        if (n_inspected == all->graph->n_made)
            return;
        drop_deps(all, all->graph->made[n_inspected], true);
    }
}

enum sutra_status node_cycles_break(struct node_graph *graph, struct sutra_error *error) {
    row_t n = graph->et_plus->nodes.n;
    uint64_t n_edges = graph->n_deps + graph->n_made;
    struct cycle_search all = {.graph = graph};
    struct arena *arena = &graph->arena;
    struct arena_mark mark = arena_mark(arena);
    all.frames = arena_alloc(arena, graph->n_made, sizeof *all.frames);
    all.visited = arena_zeros(arena, n, sizeof *all.visited);
    all.low = arena_alloc(arena, n, sizeof *all.low);
    all.open = arena_alloc(arena, graph->n_made, sizeof *all.open);
    all.component = rows_none(arena, n);
    all.first = arena_zeros(arena, (size_t)n + 2, sizeof *all.first);
    all.dependents = arena_alloc(arena, n_edges, sizeof *all.dependents);
    all.weak = arena_alloc(arena, n_edges, 1);
    all.n_strong = arena_zeros(arena, n, sizeof *all.n_strong);
    all.n_weak = arena_zeros(arena, n, sizeof *all.n_weak);
    all.queue = arena_alloc(arena, graph->n_made, sizeof *all.queue);
    all.waiting = arena_alloc(arena, (size_t)2 * graph->n_made, sizeof *all.waiting);
    all.done = arena_zeros(arena, n, 1);
    bool made = !arena->failed;
    if (made) {
        for (row_t i = 0; i < graph->n_made; i++)
            if (graph->kept[graph->made[i]] && all.visited[graph->made[i]] == 0)
                find_components(&all, graph->made[i]);
        for (row_t i = 0; i < graph->n_made; i++)
            if (graph->kept[graph->made[i]])
                for_each_edge(&all, graph->made[i], count_edge);
        for (row_t slot = 0; slot < n; slot++)
            all.first[slot + 2] += all.first[slot + 1];
        for (row_t i = 0; i < graph->n_made; i++)
            if (graph->kept[graph->made[i]])
                for_each_edge(&all, graph->made[i], add_edge);
        for (row_t i = 0; i < graph->n_made; i++)
            if (graph->kept[graph->made[i]])
                queue_if_ready(&all, graph->made[i]);
        queue_all(&all);
    }
    arena_release(arena, mark);
    return made ? SUTRA_OK : error_memory(error);
}

/* ---- Process groups: names from kernels and descriptions, ranks from descriptions ---- */

/* Numbers computed from names start here, beyond the numbers of PyTorch. */
#define FIRST_COMPUTED (1u << 20)
#define COMPUTED_RANGE (1u << 30)

void comm_groups_free(struct comm_groups *groups) {
    strings_free(&groups->names);
    strings_free(&groups->uids);
    arena_free(&groups->arena);
    *groups = (struct comm_groups){0};
}

static bool is_number(const char *name, size_t length) {
    for (size_t i = 0; i < length; i++)
        if (name[i] < '0' || name[i] > '9')
            return false;
    return length > 0 && length < 10;
}

/* A name that is no number is hashed by FNV-1a. */
void comm_group_number_of(const char *name, size_t length, char number[GROUP_NUMBER_MAX]) {
    uint32_t hash = 2166136261u;
    for (size_t i = 0; i < length; i++)
        hash = (hash ^ (unsigned char)name[i]) * 16777619u;
    if (is_number(name, length))
        snprintf(number, GROUP_NUMBER_MAX, "%.*s", (int)length, name);
    else
        snprintf(number, GROUP_NUMBER_MAX, "%u", FIRST_COMPUTED + hash % COMPUTED_RANGE);
}

static struct et_text make_number(struct arena *arena, struct et_text name) {
    char *digits = arena_alloc(arena, GROUP_NUMBER_MAX, 1);
    if (!digits)
        return name;
    comm_group_number_of(name.bytes, name.length, digits);
    return (struct et_text){digits, (uint32_t)strlen(digits)};
}

static bool add_names(struct comm_groups *groups, const struct node_graph *graph) {
    const struct et_plus_nodes *nodes = &graph->et_plus->nodes;
    for (row_t i = 0; i < graph->n_made; i++) {
        row_t slot = graph->made[i], row = graph->message[slot];
        enum et_type type = graph_type(graph, row);
        struct et_text name = nodes->pg_name[graph_group_row(graph, row)];
        if (graph->kept[slot] && type != ET_COMP && type != ET_METADATA && name.length > 0 &&
            strings_intern(&groups->names, name.bytes, name.length) == STRING_NONE)
            return false;
    }
    return true;
}

/* The text after the first `part`; NULL: not found. */
static const char *text_after(const char *text, const char *end, const char *part) {
    const char *at = memmem(text, (size_t)(end - text), part, strlen(part));
    return at ? at + strlen(part) : NULL;
}

/* Read "0, 2]" into the group. */
static void read_ranks(struct comm_groups *groups, struct comm_group *group, const char *at, const char *end) {
    const char *close = memchr(at, ']', (size_t)(end - at));
    group->ranks = close ? arena_alloc(&groups->arena, (size_t)(close - at), sizeof *group->ranks) : NULL;
    group->n_ranks = 0;
    while (group->ranks && at < close) {
        uint32_t rank = 0;
        const char *digits = at;
        for (; at < close && *at >= '0' && *at <= '9' && at - digits < 7; at++)
            rank = rank * 10 + (uint32_t)(*at - '0');
        if (at > digits) {
            group->ranks[group->n_ranks++] = rank;
            groups->n_world = rank >= groups->n_world ? rank + 1 : groups->n_world;
        }
        at += at == digits || (at < close && (*at < '0' || *at > '9'));
    }
}

/* The text up to the byte `close`; false: not found. */
static bool text_until(const char *at, const char *end, char close, struct et_text *text) {
    const char *last = memchr(at, close, (size_t)(end - at));
    *text = (struct et_text){at, last ? (uint32_t)(last - at) : 0};
    return last != NULL;
}

static bool read_group(struct comm_groups *groups, struct et_text name, const char *end) {
    uint32_t group = strings_find(&groups->names, name.bytes, name.length);
    const char *at = name.bytes + name.length, *ranks = text_after(at, end, "\"ranks\": [");
    groups->list[group].is_described = ranks != NULL;
    if (ranks)
        read_ranks(groups, &groups->list[group], ranks, end);
    /* The other names of the group in its description. */
    static const char *const keys[] = {"\"uid\": ", "\"backend_id\": "};
    struct et_text uid;
    for (size_t k = 0; k < sizeof keys / sizeof *keys; k++) {
        const char *value = text_after(at, end, keys[k]);
        if (!value || value == end || !text_until(value + (*value == '"'), end, *value == '"' ? '"' : ',', &uid))
            continue;
        uint32_t number = strings_intern(&groups->uids, uid.bytes, uid.length);
        if (number == STRING_NONE)
            return false;
        groups->uid_group[number] = group;
    }
    return true;
}

/* Reads the groups that a text describes, one object after the other: their names, or, once there is a list, the
 * rest. */
static bool read_groups(struct comm_groups *groups, struct et_text text) {
    static const char key[] = "\"pg_name\": \"";
    const char *end = text.bytes + text.length, *at = text.bytes;
    struct et_text name;
    while ((at = text_after(at, end, key)) != NULL && text_until(at, end, '"', &name)) {
        at += name.length;
        const char *next = text_after(at, end, key);
        groups->n_described += !groups->list;
        if (groups->list ? !read_group(groups, name, next ? next : end)
                         : strings_intern(&groups->names, name.bytes, name.length) == STRING_NONE)
            return false;
    }
    return true;
}

static bool read_descriptions(struct comm_groups *groups, const struct et_plus_nodes *nodes,
                              struct et_plus_texts *texts) {
    for (row_t row = 0; row < nodes->n; row++)
        if (nodes->flags[row] & ET_PLUS_IS_META && !read_groups(groups, et_plus_io_text(texts, nodes, row, 0)))
            return false;
    return true;
}

enum sutra_status comm_groups_find(struct comm_groups *groups, const struct node_graph *graph,
                                   struct sutra_error *error) {
    const struct et_plus_nodes *nodes = &graph->et_plus->nodes;
    *groups = (struct comm_groups){0};
    TRY_ALLOC(strings_init(&groups->names) && strings_init(&groups->uids) && add_names(groups, graph), error);
    groups->n_used = groups->names.n;
    struct et_plus_texts texts;
    bool read =
        et_plus_texts_begin(&texts, &graph->et_plus->document->source) && read_descriptions(groups, nodes, &texts);
    if (read) {
        groups->list = arena_zeros(&groups->arena, groups->names.n, sizeof *groups->list);
        groups->uid_group = arena_zeros(&groups->arena, groups->n_described * 2, sizeof *groups->uid_group);
    }
    for (uint32_t i = 0; i < groups->names.n && groups->list; i++) {
        struct et_text name = {strings_text(&groups->names, i), (uint32_t)strings_length(&groups->names, i)};
        bool number = is_number(name.bytes, name.length);
        groups->list[i].number = number ? name : make_number(&groups->arena, name);
        groups->n_numbered += !number && i < groups->n_used;
    }
    read = read && !groups->arena.failed && read_descriptions(groups, nodes, &texts) && !et_plus_texts_failed(&texts);
    et_plus_texts_end(&texts);
    return read && !groups->arena.failed ? SUTRA_OK : error_memory(error);
}

const struct comm_group *comm_group_find(const struct comm_groups *groups, struct et_text name) {
    if (name.length == 0)
        return NULL;
    uint32_t found = strings_find(&groups->names, name.bytes, name.length);
    if (found != STRING_NONE)
        return &groups->list[found];
    uint32_t uid = strings_find(&groups->uids, name.bytes, name.length);
    return uid == STRING_NONE ? NULL : &groups->list[groups->uid_group[uid]];
}

struct et_text comm_group_number(const struct comm_groups *groups, struct et_text name) {
    uint32_t found = strings_find(&groups->names, name.bytes, name.length);
    return found == STRING_NONE ? name : groups->list[found].number;
}

/* The maximum number of visits of nested thread roots: per node, and for any file. */
#define VISITS_PER_NODE 64
#define VISITS_MIN      ((uint64_t)1 << 24)

enum sutra_status graph_error(const struct node_graph *graph, row_t row, struct sutra_error *error, const char *format,
                              ...) {
    char message[300];
    va_list arguments;
    va_start(arguments, format);
    vsnprintf(message, sizeof message, format, arguments);
    va_end(arguments);
    const struct et_plus_nodes *nodes = &graph->et_plus->nodes;
    return source_error(&graph->et_plus->document->source, error, nodes->text[row], "node %" PRIu64 ": %s",
                        nodes->id[row], message);
}

/* ---- Rows that represent their ids ---- */

static enum sutra_status order_rows(struct node_graph *graph, struct sutra_error *error) {
    const struct et_plus_nodes *nodes = &graph->et_plus->nodes;
    row_t second = ROW_NONE;
    TRY(key_index_build(&graph->rows, &graph->context->engine, nodes->key, nodes->n, KEY_LAST, &second, error));
    if (second != ROW_NONE) {
        /* Duplicate ids: the last row, at the position of the first. */
        struct key_index first = {0};
        const enum sutra_status status =
            key_index_build(&first, &graph->context->engine, nodes->key, nodes->n, KEY_FIRST, NULL, error);
        for (row_t row = 0; row < nodes->n && !status; row++)
            if (key_index_find(&first, nodes->key[row]) == row)
                graph->order[graph->n_order++] = key_index_find(&graph->rows, nodes->key[row]);
        key_index_free(&first);
        return status;
    }
    for (row_t row = 0; row < nodes->n; row++)
        graph->order[row] = row;
    graph->n_order = nodes->n;
    return SUTRA_OK;
}

/* The key of the own id of a row. */
static value_key id_key(const struct node_graph *graph, row_t row) {
    const struct et_plus_nodes *nodes = &graph->et_plus->nodes;
    if (nodes->faults[row] & ET_PLUS_BIT(ET_PLUS_ID))
        return KEY_ABSENT;
    if (nodes->id[row] <= INT64_MAX)
        return (value_key)nodes->id[row];
    char digits[24];
    int n = snprintf(digits, sizeof digits, "%" PRIu64, nodes->id[row]);
    return values_integer(&graph->context->values, digits, (size_t)n);
}

/* If attributes change ids, rows of one id share a slot. */
static enum sutra_status number_slots(struct node_graph *graph, struct sutra_error *error) {
    const struct et_plus_nodes *nodes = &graph->et_plus->nodes;
    for (row_t row = 0; row < nodes->n; row++)
        graph->changed_ids |= nodes->flags[row] & ET_PLUS_ID_CHANGED;
    if (!graph->changed_ids)
        return SUTRA_OK;
    value_key *keys = arena_alloc(&graph->arena, nodes->n, sizeof *keys);
    graph->slot_of = arena_alloc(&graph->arena, nodes->n, sizeof *graph->slot_of);
    TRY(arena_status(&graph->arena, error));
    for (row_t row = 0; row < nodes->n; row++)
        keys[row] = id_key(graph, row);
    TRY(key_index_build(&graph->ids, &graph->context->engine, keys, nodes->n, KEY_FIRST, NULL, error));
    for (row_t row = 0; row < nodes->n; row++)
        graph->slot_of[row] = key_index_find(&graph->ids, keys[row]);
    return SUTRA_OK;
}

static inline row_t slot_of(const struct node_graph *graph, row_t row) {
    return graph->changed_ids ? graph->slot_of[row] : row;
}

/* The slot of a key, made or not, or ROW_NONE. */
static inline row_t slot_of_key(const struct node_graph *graph, value_key key) {
    return key_index_find(graph->changed_ids ? &graph->ids : &graph->rows, key);
}

/* The row found by the id of a slot, or ROW_NONE. */
static inline row_t node_of_slot(const struct node_graph *graph, row_t slot) {
    return graph->changed_ids ? key_index_find(&graph->rows, id_key(graph, slot)) : slot;
}

static inline row_t find_row(const struct node_graph *graph, value_key key) {
    return key == KEY_ABSENT ? ROW_NONE : key_index_find(&graph->rows, key);
}

/* Groups rows by parent: list[first[p]] .. list[first[p + 1] - 1], in the given order. */
static void share_out(const struct node_graph *graph, const row_t *rows, bool gpu_only, row_t *first, row_t *list) {
    row_t n = graph->et_plus->nodes.n;
    memset(first, 0, ((size_t)n + 2) * sizeof *first);
    for (row_t i = 0; i < graph->n_order; i++)
        if (graph->parent[rows[i]] != ROW_NONE && (!gpu_only || graph->et_plus->nodes.flags[rows[i]] & ET_PLUS_IS_GPU))
            first[graph->parent[rows[i]] + 2]++;
    for (row_t row = 0; row < n; row++)
        first[row + 2] += first[row + 1];
    for (row_t i = 0; i < graph->n_order; i++)
        if (graph->parent[rows[i]] != ROW_NONE && (!gpu_only || graph->et_plus->nodes.flags[rows[i]] & ET_PLUS_IS_GPU))
            list[first[graph->parent[rows[i]] + 1]++] = rows[i];
}

static enum sutra_status find_children(struct node_graph *graph, struct sutra_error *error) {
    const struct et_plus_nodes *nodes = &graph->et_plus->nodes;
    struct arena_mark mark = arena_mark(&graph->arena);
    uint64_t *ids = arena_alloc(&graph->arena, graph->n_order, sizeof *ids);
    row_t *by_id = arena_alloc(&graph->arena, graph->n_order, sizeof *by_id);
    TRY(arena_status(&graph->arena, error));
    for (row_t i = 0; i < graph->n_order; i++) {
        by_id[i] = graph->order[i];
        ids[i] = nodes->id[by_id[i]];
        graph->parent[by_id[i]] = find_row(graph, nodes->parent[by_id[i]]);
    }
    const struct engine *engine = &graph->context->engine;
    TRY(engine->sort_keys(engine->state, &(struct sort_keys_step){ids, by_id, graph->n_order}, error));
    share_out(graph, by_id, false, graph->child_first, graph->child);
    share_out(graph, graph->order, true, graph->gpu_first, graph->gpu);
    arena_release(&graph->arena, mark);
    return SUTRA_OK;
}

/* ---- Types of nodes ---- */

static bool is_thread(struct et_text name) {
    return et_text_is(name, "[pytorch|profiler|execution_graph|thread]") ||
           et_text_is(name, "[pytorch|profiler|execution_trace|thread]");
}

bool graph_is_frame(struct et_text name) {
    return is_thread(name) || et_text_is(name, "[pytorch|profiler|execution_graph|process]") ||
           et_text_is(name, "[pytorch|profiler|execution_trace|process]");
}

/* The kind of communication that the operator above a kernel names, or ET_COMP. */
static enum et_type type_by_operator(struct et_text name) {
    if (kernel_name_has(name, "send"))
        return ET_COMM_SEND;
    if (kernel_name_has(name, "recv"))
        return ET_COMM_RECV;
    return kernel_name_has(name, "nccl:all_to_all") ? ET_COMM_COLL : ET_COMP;
}

bool graph_is_parameters(const struct et_plus_nodes *nodes, row_t row) {
    return et_text_is(nodes->name[row], COMMS_NAME);
}

/* The direction of a message by the operators above its kernel: of c10d::send and c10d::recv_, else of nccl:send a->b
 * and nccl:recv b<-a. ET_COMP: unknown. */
static enum et_type direction_by_operators(const struct node_graph *graph, row_t row) {
    const struct et_plus_nodes *nodes = &graph->et_plus->nodes;
    enum et_type by_nccl = ET_COMP;
    row_t above = graph->parent[row];
    for (int level = 0; level < COMM_ENDS_LEVELS && above != ROW_NONE; level++, above = graph->parent[above]) {
        const struct et_text name = nodes->name[above];
        if (et_text_is(name, "c10d::send"))
            return ET_COMM_SEND;
        if (et_text_is(name, "c10d::recv_"))
            return ET_COMM_RECV;
        if (by_nccl == ET_COMP && kernel_name_has(name, "nccl:send "))
            by_nccl = ET_COMM_SEND;
        if (by_nccl == ET_COMP && kernel_name_has(name, "nccl:recv "))
            by_nccl = ET_COMM_RECV;
    }
    return by_nccl;
}

enum et_type graph_type(const struct node_graph *graph, row_t row) {
    const struct et_plus_nodes *nodes = &graph->et_plus->nodes;
    if (nodes->flags[row] & ET_PLUS_IS_META)
        return ET_METADATA;
    if (!(nodes->flags[row] & ET_PLUS_IS_COLLECTIVE))
        return ET_COMP;
    if (graph->rules.find_directions && kernel_is_send_receive(nodes->name[row])) {
        if (nodes->flags[row] & (ET_PLUS_SENDS | ET_PLUS_RECEIVES))
            return nodes->flags[row] & ET_PLUS_SENDS ? ET_COMM_SEND : ET_COMM_RECV;
        enum et_type direction = direction_by_operators(graph, row);
        if (direction != ET_COMP)
            return direction;
    }
    row_t above = graph->parent[row];
    if (kernel_is_send_receive(nodes->name[row]) && above != ROW_NONE) {
        if (graph_is_parameters(nodes, above))
            above = graph->parent[above];
        enum et_type type = above == ROW_NONE ? ET_COMP : type_by_operator(nodes->name[above]);
        if (type != ET_COMP)
            return type;
    }
    return kernel_collective(nodes->name[row], true) < 0 ? ET_COMP : ET_COMM_COLL;
}

row_t graph_group_row(const struct node_graph *graph, row_t row) {
    const struct et_plus_nodes *nodes = &graph->et_plus->nodes;
    row_t above = graph->parent[row];
    if (!(nodes->flags[row] & ET_PLUS_IS_COLLECTIVE) || !kernel_is_send_receive(nodes->name[row]) ||
        above == ROW_NONE || !graph_is_parameters(nodes, above))
        return row;
    bool empty = nodes->pg_name[above].length == 0 && !(nodes->flags[above] & ET_PLUS_PG_NULL);
    return empty && !(nodes->faults[above] & ET_PLUS_BIT(ET_PLUS_PG_NAME)) ? row : above;
}

/* The first fault of a row in a required field, or ET_PLUS_N_FIELDS. */
static enum et_plus_field fault_of(const struct node_graph *graph, row_t row) {
    const struct et_plus_nodes *nodes = &graph->et_plus->nodes;
    uint32_t attributes = 0, faults = nodes->faults[row];
    if (!faults)
        return ET_PLUS_N_FIELDS;
    for (int field = ET_PLUS_FIRST_NUMBER; field <= ET_PLUS_OP_SCHEMA; field++)
        attributes |= ET_PLUS_BIT(field);
    if (graph->rules.lax_attributes)
        faults &= ~attributes;
    enum et_type type = graph_type(graph, row);
    if (type == ET_COMP || type == ET_METADATA)
        faults &= ~(ET_PLUS_BIT(ET_PLUS_COMM_BYTES) | ET_PLUS_BIT(ET_PLUS_PG_NAME));
    else if (nodes->faults[graph_group_row(graph, row)] & ET_PLUS_BIT(ET_PLUS_PG_NAME))
        faults |= ET_PLUS_BIT(ET_PLUS_PG_NAME);
    faults &= ~ET_PLUS_BIT(ET_PLUS_INTER_THREAD_DEP); /* checked when the node is visited */
    return faults ? (enum et_plus_field)__builtin_ctz(faults) : ET_PLUS_N_FIELDS;
}

static enum sutra_status refuse_field(const struct node_graph *graph, row_t row, enum et_plus_field field,
                                      struct sutra_error *error) {
    static const struct {
        const char *key, *expected;
    } fields[] = {
#define X(constant, key, attribute, expected) {key, expected},
        ET_PLUS_FIELDS(X)
#undef X
    };
    return graph_error(graph, row, error, "field '%s': expected %s", fields[field].key, fields[field].expected);
}

/* Refuses communication that chakra_converter does not know, on request. */
static enum sutra_status check_communication(const struct node_graph *graph, row_t row, struct sutra_error *error) {
    const struct et_plus_nodes *nodes = &graph->et_plus->nodes;
    if (!graph_is_gpu(graph, row) || !(nodes->flags[row] & ET_PLUS_IS_COLLECTIVE))
        return SUTRA_OK;
    enum et_type type = graph_type(graph, row);
    bool message = type == ET_COMM_SEND || type == ET_COMM_RECV;
    if (graph->rules.refuse_types && !message && kernel_collective(nodes->name[row], false) < 0)
        return graph_error(graph, row, error, "'%.*s': collective unknown to chakra_converter",
                           (int)nodes->name[row].length, nodes->name[row].bytes);
    if (graph->rules.refuse_nested && type != ET_COMP && nodes->flags[row] & ET_PLUS_IS_NESTED)
        return graph_error(graph, row, error, "the inputs contain a list of lists of tensors");
    return SUTRA_OK;
}

static enum sutra_status make_node(struct node_graph *graph, row_t row, struct sutra_error *error) {
    const struct et_plus_nodes *nodes = &graph->et_plus->nodes;
    enum et_plus_field fault = fault_of(graph, row);
    if (fault != ET_PLUS_N_FIELDS)
        return refuse_field(graph, row, fault, error);
    TRY(check_communication(graph, row, error));
    row_t slot = slot_of(graph, row);
    row_t under = nodes->parent[row] == KEY_ABSENT ? ROW_NONE : slot_of_key(graph, nodes->parent[row]);
    if (under != ROW_NONE && graph->message[under] == ROW_NONE)
        under = ROW_NONE; /* made later */
    if (graph->message[slot] == ROW_NONE)
        graph->made[graph->n_made++] = slot;
    graph->message[slot] = row;
    graph->under[slot] = under;
    return SUTRA_OK;
}

static enum sutra_status make_nodes(struct node_graph *graph, struct sutra_error *error) {
    for (row_t i = 0; i < graph->n_order; i++) {
        row_t row = graph->order[i];
        if (graph_is_gpu(graph, row))
            continue;
        TRY(make_node(graph, row, error));
        for (row_t k = graph->gpu_first[row]; k < graph->gpu_first[row + 1]; k++)
            TRY(make_node(graph, graph->gpu[k], error));
    }
    return SUTRA_OK;
}

/* ---- Data dependencies ---- */

static bool add_dep(struct node_graph *graph, row_t slot, row_t on, bool inter) {
    for (row_t i = graph->first_dep[slot]; i != ROW_NONE; i = graph->deps[i].next)
        if (graph->deps[i].slot == on)
            return true;
    if (graph->n_deps >= ROW_LIMIT ||
        !column_grow(&graph->deps, graph->n_deps, &graph->deps_capacity, sizeof *graph->deps))
        return false;
    row_t entry = (row_t)graph->n_deps++;
    graph->deps[entry] = (struct graph_dep){on, ROW_NONE, inter};
    *(graph->first_dep[slot] == ROW_NONE ? &graph->first_dep[slot] : &graph->deps[graph->last_dep[slot]].next) = entry;
    graph->last_dep[slot] = entry;
    return true;
}

/* A walk from a root. */
struct walk {
    struct node_graph *graph;
    row_t *stack;
    row_t *visited; /* per slot: the number of the last walk that visited it */
    row_t number;
    bool rest; /* only nodes that no walk has visited */
    uint64_t n_visits, most_visits;
};

static bool was_visited(const struct walk *walk, row_t slot) {
    return walk->rest ? walk->visited[slot] != 0 : walk->visited[slot] == walk->number;
}

static bool is_dropped(const struct node_graph *graph, row_t row) {
    return graph->rules.drop_metadata && graph->et_plus->nodes.flags[row] & ET_PLUS_IS_META;
}

/* The dependency of a CPU node on another thread. */
static enum sutra_status add_inter(struct node_graph *graph, row_t row, row_t slot, struct sutra_error *error) {
    const struct et_plus_nodes *nodes = &graph->et_plus->nodes;
    if (nodes->faults[row] & ET_PLUS_BIT(ET_PLUS_INTER_THREAD_DEP) && !graph->rules.drop_absent)
        return refuse_field(graph, row, ET_PLUS_INTER_THREAD_DEP, error);
    if (nodes->inter[row] == KEY_NULL)
        return SUTRA_OK;
    row_t on = slot_of_key(graph, nodes->inter[row]);
    if (on != ROW_NONE && graph->message[on] != ROW_NONE && !is_dropped(graph, graph->message[on]))
        return add_dep(graph, slot, on, true) ? SUTRA_OK : error_memory(error);
    if (!graph->rules.drop_absent)
        return graph_error(graph, row, error, "inter_thread_dep is not a node of the file%s",
                           on == ROW_NONE ? "" : ": that node is not below a CPU operator");
    graph->counts.n_absent++;
    return SUTRA_OK;
}

/* Visits a node; *last is the CPU node visited before. */
static enum sutra_status visit_node(struct walk *walk, row_t row, row_t slot, row_t *last, struct sutra_error *error) {
    struct node_graph *graph = walk->graph;
    bool gpu = graph_is_gpu(graph, row);
    if (is_dropped(graph, row))
        return SUTRA_OK;
    if (!gpu)
        TRY(add_inter(graph, row, slot, error));
    if (*last != ROW_NONE && !add_dep(graph, slot, *last, false))
        return error_memory(error);
    if (!gpu)
        *last = slot;
    graph->counts.n_rootless += walk->rest && !graph_is_frame(graph->et_plus->nodes.name[row]);
    return SUTRA_OK;
}

static enum sutra_status walk_from_root(struct walk *walk, row_t root, struct sutra_error *error) {
    row_t depth = 0, last = ROW_NONE;
    walk->number++;
    walk->stack[depth++] = root;
    while (depth > 0) {
        row_t slot = walk->stack[--depth];
        if (was_visited(walk, slot))
            continue;
        walk->visited[slot] = walk->number;
        row_t row = node_of_slot(walk->graph, slot);
        if (row == ROW_NONE)
            continue;
        TRY(visit_node(walk, row, slot, &last, error));
        /* Push the children, the largest id first. */
        const struct node_graph *graph = walk->graph;
        for (row_t i = graph->child_first[row + 1]; i-- > graph->child_first[row];) {
            row_t child = slot_of(graph, graph->child[i]);
            if (child != ROW_NONE && graph->message[child] != ROW_NONE && !was_visited(walk, child))
                walk->stack[depth++] = child;
        }
        if (walk->n_visits++ > walk->most_visits)
            return graph_error(walk->graph, row, error, "too many nested thread roots");
    }
    return SUTRA_OK;
}

static struct et_text slot_name(const struct node_graph *graph, row_t slot) {
    return graph->et_plus->nodes.name[graph->message[slot]];
}

/* Nodes outside of all threads: from the roots, then the rest, which is in cycles of parents. */
static enum sutra_status walk_rest(struct walk *walk, struct sutra_error *error) {
    const struct node_graph *graph = walk->graph;
    walk->rest = true;
    for (int in_cycle = 0; in_cycle < 2; in_cycle++)
        for (row_t i = 0; i < graph->n_made; i++)
            if (walk->visited[graph->made[i]] == 0 && (in_cycle || graph->under[graph->made[i]] == ROW_NONE))
                TRY(walk_from_root(walk, graph->made[i], error));
    return SUTRA_OK;
}

static enum sutra_status walk_roots(struct walk *walk, struct sutra_error *error) {
    const struct node_graph *graph = walk->graph;
    for (row_t i = 0; i < graph->n_made; i++)
        if (is_thread(slot_name(graph, graph->made[i])))
            TRY(walk_from_root(walk, graph->made[i], error));
    return graph->rules.keep_rootless ? walk_rest(walk, error) : SUTRA_OK;
}

static enum sutra_status walk_all(struct node_graph *graph, struct sutra_error *error) {
    struct arena_mark mark = arena_mark(&graph->arena);
    row_t n = graph->et_plus->nodes.n;
    struct walk walk = {.graph = graph, .most_visits = (uint64_t)n * VISITS_PER_NODE + VISITS_MIN};
    walk.stack = arena_alloc(&graph->arena, (size_t)n + 1, sizeof *walk.stack);
    walk.visited = arena_zeros(&graph->arena, n, sizeof *walk.visited);
    TRY(arena_status(&graph->arena, error));
    TRY(walk_roots(&walk, error));
    arena_release(&graph->arena, mark);
    return SUTRA_OK;
}

enum sutra_status node_graph_build(struct node_graph *graph, struct sutra_context *context,
                                   const struct et_plus_trace *et_plus, const struct graph_rules *rules,
                                   struct sutra_error *error) {
    *graph = (struct node_graph){.et_plus = et_plus, .context = context, .rules = *rules};
    struct arena *arena = &graph->arena;
    row_t n = graph->et_plus->nodes.n;
    graph->order = arena_alloc(arena, n, sizeof *graph->order);
    graph->parent = rows_none(arena, n);
    graph->child_first = arena_alloc(arena, (size_t)n + 2, sizeof *graph->child_first);
    graph->child = arena_alloc(arena, n, sizeof *graph->child);
    graph->gpu_first = arena_alloc(arena, (size_t)n + 2, sizeof *graph->gpu_first);
    graph->gpu = arena_alloc(arena, n, sizeof *graph->gpu);
    graph->message = rows_none(arena, n);
    graph->under = rows_none(arena, n);
    graph->made = arena_alloc(arena, n, sizeof *graph->made);
    graph->first_dep = rows_none(arena, n);
    graph->last_dep = arena_alloc(arena, n, sizeof *graph->last_dep);
    graph->kept = arena_zeros(arena, n, 1);
    TRY(arena_status(arena, error));
    TRY(order_rows(graph, error));
    TRY(number_slots(graph, error));
    TRY(find_children(graph, error));
    TRY(make_nodes(graph, error));
    TRY(walk_all(graph, error));
    graph->counts.n_unmade = graph->n_order - graph->n_made;

    /* Drop metadata, and nodes without dependencies and dependents. */
    for (row_t i = 0; i < graph->n_made; i++) {
        graph->kept[graph->made[i]] |= graph->first_dep[graph->made[i]] != ROW_NONE;
        for (row_t dep = graph->first_dep[graph->made[i]]; dep != ROW_NONE; dep = graph->deps[dep].next)
            graph->kept[graph->deps[dep].slot] = 1;
    }
    for (row_t i = 0; i < graph->n_made; i++) {
        row_t slot = graph->made[i];
        bool metadata = is_dropped(graph, graph->message[slot]);
        graph->counts.n_metadata += metadata;
        graph->kept[slot] =
            !metadata && (graph->kept[slot] || (graph->rules.keep_rootless && !graph_is_frame(slot_name(graph, slot))));
        graph->counts.n_dangling += !metadata && !graph->kept[slot];
    }

    /* If absent nodes are dropped, a parent that was made later counts, and a parent that was dropped does not. */
    for (row_t i = 0; i < graph->n_made && graph->rules.drop_absent; i++) {
        row_t slot = graph->made[i], row = graph->message[slot];
        value_key parent = graph->et_plus->nodes.parent[row];
        row_t under = parent == KEY_ABSENT ? ROW_NONE : slot_of_key(graph, parent);
        bool there = under != ROW_NONE && under != slot && graph->message[under] != ROW_NONE && graph->kept[under];
        graph->counts.n_absent += graph->kept[slot] && !there && graph->under[slot] != ROW_NONE;
        graph->under[slot] = there ? under : ROW_NONE;
    }
    return SUTRA_OK;
}

void node_graph_free(struct node_graph *graph) {
    key_index_free(&graph->rows);
    key_index_free(&graph->ids);
    free(graph->deps);
    arena_free(&graph->arena);
    *graph = (struct node_graph){0};
}
