/*
 * comm_ends.c - the operators above each send and receive, from the nearest on; then tags, by counting along the list
 * sorted by direction, group and peer.
 */
#include "simulate/comm_ends.h"

#include <stdlib.h>
#include <string.h>

#include "base/error.h"
#include "simulate/et_values.h"
#include "simulate/kernel_names.h"
#include "text/list_text.h"

/* How far above a kernel is looked for what describes it. */
#define LEVELS 4

/* Bits of the tag that count messages, and of the group's number above them. */
#define COUNT_BITS 16
#define GROUP_BITS 15

/* ---- lists as Python writes them ---- */

/* Up to `most` elements of a list's text; returns how many. */
static unsigned read_items(struct et_text list, struct et_text *items, unsigned most) {
    if (list.length == 0 || *list.bytes != '[')
        return 0;
    struct list_cursor cursor = {list.bytes, list.bytes + list.length};
    unsigned n = 0;
    for (bool more = list_enter(&cursor) && list_first(&cursor); more && n < most; more = list_more(&cursor)) {
        const char *begin = cursor.at;
        list_skip_value(&cursor);
        items[n++] = (struct et_text){begin, (uint32_t)(cursor.at - begin)};
    }
    return n;
}

static bool is_quoted(struct et_text item) {
    return item.length >= 2 && (*item.bytes == '\'' || *item.bytes == '"');
}

/* What is between the quotes; anything else as it is. */
static struct et_text unquoted(struct et_text item) {
    return is_quoted(item) ? (struct et_text){item.bytes + 1, item.length - 2} : item;
}

/* A rank at the text's beginning, or RANK_UNTOLD. */
static int64_t read_rank(struct et_text text) {
    int64_t rank = 0;
    uint32_t n = 0;
    for (; n < text.length && n < 9 && text.bytes[n] >= '0' && text.bytes[n] <= '9'; n++)
        rank = rank * 10 + (text.bytes[n] - '0');
    return n > 0 ? rank : RANK_UNTOLD;
}

/* ---- what operators say ---- */

/* Ranks in a group, and what is known of the group. */
struct told {
    struct et_text name;  /* of the communication: 'send', 'allreduce', ... */
    struct et_text group; /* its name, or its number in older traces; empty: not told */
    int64_t own, peer;    /* RANK_UNTOLD: not told */
    int64_t start, step;  /* the group's first rank of all, and from each to the next; RANK_UNTOLD: not told */
};

static const struct told nothing = {.own = RANK_UNTOLD, .peer = RANK_UNTOLD, .start = RANK_UNTOLD, .step = RANK_UNTOLD};

/* What record_param_comms has been given: tensors (not always), sequence, group, rank, name, two lists of sizes, and
 * in newer traces the group's first rank, the step to the next, and its size. */
static struct told read_parameters(struct et_text values) {
    struct et_text items[9], pair[1];
    struct told told = nothing;
    unsigned n = read_items(values, items, 9), name = n > 3 && is_quoted(items[3]) ? 3 : 4;
    if (n <= name || !is_quoted(items[name]))
        return told;
    told.name = unquoted(items[name]);
    told.peer = read_rank(items[name - 1]);
    told.group = unquoted(read_items(items[name - 2], pair, 1) ? pair[0] : items[name - 2]);
    if (name + 4 < n) {
        told.start = read_rank(items[name + 3]);
        told.step = read_rank(items[name + 4]);
    }
    return told;
}

/* "nccl:send 0->1", "nccl:recv 1<-0". */
static struct told read_arrow(struct et_text name) {
    struct told told = nothing;
    const char *arrow = memmem(name.bytes, name.length, "->", 2), *end = name.bytes + name.length;
    arrow = arrow ? arrow : memmem(name.bytes, name.length, "<-", 2);
    const char *blank = arrow ? memrchr(name.bytes, ' ', (size_t)(arrow - name.bytes)) : NULL;
    if (!blank)
        return told;
    told.own = read_rank((struct et_text){blank + 1, (uint32_t)(arrow - blank - 1)});
    told.peer = read_rank((struct et_text){arrow + 2, (uint32_t)(end - arrow - 2)});
    return told;
}

/* c10d::send and c10d::recv_: tensors, group, peer, tag. */
static struct told read_operator(struct et_text values) {
    struct et_text items[3];
    struct told told = nothing;
    if (read_items(values, items, 3) == 3)
        told.peer = read_rank(items[2]);
    return told;
}

/* What a node says of a message in the direction ("send" or "recv"). */
static struct told told_by(const struct plus_nodes *nodes, row_t row, const char *direction) {
    struct et_text name = nodes->name[row], values = nodes->io[0][row];
    struct told told = nothing;
    if (graph_is_parameters(nodes, row))
        told = read_parameters(values);
    else if (kernel_name_has(name, "nccl:"))
        told = read_arrow(name);
    else if (et_text_is(name, "c10d::send") || et_text_is(name, "c10d::recv_"))
        told = read_operator(values);
    struct et_text said = told.name.length > 0 ? told.name : name;
    return kernel_name_has(said, direction) ? told : nothing;
}

/* All that is said above a kernel: nearer nodes count more. */
static struct told told_above(const struct node_graph *graph, row_t row, const char *direction) {
    const struct plus_nodes *nodes = &graph->plus->nodes;
    struct told all = nothing;
    row_t above = graph->parent[row];
    for (int level = 0; level < LEVELS && above != ROW_NONE; level++, above = graph->parent[above]) {
        struct told told = told_by(nodes, above, direction);
        if (told.own != RANK_UNTOLD && all.own == RANK_UNTOLD)
            all.own = told.own;
        if (told.peer != RANK_UNTOLD && all.peer == RANK_UNTOLD)
            all.peer = told.peer;
        if (told.group.length > 0 && all.group.length == 0) {
            all.group = told.group;
            all.start = told.start;
            all.step = told.step;
        }
    }
    if (all.group.length == 0)
        all.group = nodes->pg_name[graph_group_row(graph, row)];
    return all;
}

/* ---- ranks of all ---- */

/* The group of all ranks, as which one counts that nothing tells. */
static bool is_world(struct et_text group) {
    return group.length == 0 || (group.length == 1 && *group.bytes == '0');
}

/* The rank of all of a rank of a group. */
static int64_t rank_of_all(const struct comm_groups *groups, const struct told *told, int64_t rank) {
    const struct comm_group *group = comm_group_find(groups, told->group);
    if (rank == RANK_UNTOLD)
        return RANK_UNTOLD;
    if (group && group->told && group->n_ranks > 0)
        return rank < group->n_ranks ? group->ranks[rank] : RANK_UNTOLD;
    if ((group && group->told) || is_world(told->group))
        return rank;
    bool stepped = told->start != RANK_UNTOLD && (told->step > 0 || (told->step == 0 && rank == 0));
    return stepped ? told->start + told->step * rank : RANK_UNTOLD;
}

/* Collectives in which record_param_comms names the own rank, not that of a root. */
static bool names_own_rank(struct et_text name) {
    int type = kernel_collective(name, false);
    return type >= 0 && type != ET_BROADCAST;
}

static int64_t find_own(const struct node_graph *graph, const struct comm_groups *groups) {
    const struct plus_nodes *nodes = &graph->plus->nodes;
    for (row_t row = 0; row < nodes->n; row++) {
        if (nodes->flags[row] & PLUS_IS_GPU || !graph_is_parameters(nodes, row))
            continue;
        struct told told = read_parameters(nodes->io[0][row]);
        int64_t own = names_own_rank(told.name) ? rank_of_all(groups, &told, told.peer) : RANK_UNTOLD;
        if (own != RANK_UNTOLD)
            return own;
    }
    return RANK_UNTOLD;
}

/* ---- the list ---- */

/* A message with what its tag is made of. */
struct message {
    struct comm_end end;
    uint64_t order;
    uint32_t group; /* its number */
    bool sent;
};

struct finding {
    struct comm_ends *ends;
    const struct node_graph *graph;
    const struct comm_groups *groups;
    struct message *messages;
};

static uint32_t group_number(const struct comm_groups *groups, struct et_text name) {
    const struct comm_group *group = comm_group_find(groups, name);
    int64_t number = group ? read_rank(group->number) : RANK_UNTOLD;
    return number == RANK_UNTOLD ? 0 : (uint32_t)number;
}

static void add_message(struct finding *finding, row_t row, bool sent) {
    struct comm_ends *ends = finding->ends;
    struct told told = told_above(finding->graph, row, sent ? "send" : "recv");
    int64_t peer = rank_of_all(finding->groups, &told, told.peer);
    if (ends->own == RANK_UNTOLD)
        ends->own = rank_of_all(finding->groups, &told, told.own);
    if (peer == RANK_UNTOLD) {
        ends->n_without_peer += told.peer == RANK_UNTOLD;
        ends->n_without_members += told.peer != RANK_UNTOLD;
        return;
    }
    finding->messages[ends->n] = (struct message){.end = {.row = row, .peer = peer},
                                                  .order = ends->n,
                                                  .group = group_number(finding->groups, told.group),
                                                  .sent = sent};
    ends->n++;
}

static int compare_routes(const struct message *a, const struct message *b) {
    if (a->sent != b->sent)
        return a->sent ? 1 : -1;
    if (a->group != b->group)
        return a->group < b->group ? -1 : 1;
    return (a->end.peer > b->end.peer) - (a->end.peer < b->end.peer);
}

static int compare_messages(const void *left, const void *right) {
    const struct message *a = left, *b = right;
    int routes = compare_routes(a, b);
    return routes ? routes : (a->order > b->order) - (a->order < b->order);
}

static int compare_rows(const void *left, const void *right) {
    const struct comm_end *a = left, *b = right;
    return (a->row > b->row) - (a->row < b->row);
}

static void give_tags(struct finding *finding) {
    struct comm_ends *ends = finding->ends;
    struct message *messages = finding->messages;
    uint32_t before = 0;
    qsort(messages, ends->n, sizeof *messages, compare_messages);
    for (uint64_t i = 0; i < ends->n; i++) {
        before = i > 0 && compare_routes(&messages[i - 1], &messages[i]) == 0 ? before + 1 : 0;
        uint32_t group = messages[i].group & ((1u << GROUP_BITS) - 1);
        messages[i].end.tag = group << COUNT_BITS | (before & ((1u << COUNT_BITS) - 1));
        ends->list[i] = messages[i].end;
    }
    qsort(ends->list, ends->n, sizeof *ends->list, compare_rows);
}

/* The type of the i-th node made, or ET_COMP where it is not kept. */
static enum et_type type_of(const struct node_graph *graph, row_t i) {
    return graph->kept[graph->made[i]] ? graph_type(graph, graph->message[graph->made[i]]) : ET_COMP;
}

enum sutra_status comm_ends_find(struct comm_ends *ends, struct arena *arena, const struct node_graph *graph,
                                 const struct comm_groups *groups, struct sutra_error *error) {
    struct finding finding = {.ends = ends, .graph = graph, .groups = groups};
    uint64_t n = 0;
    *ends = (struct comm_ends){.own = RANK_UNTOLD};
    for (row_t i = 0; i < graph->n_made; i++)
        n += et_is_message((int32_t)type_of(graph, i));
    if (n == 0)
        return SUTRA_OK;
    ends->list = arena_take(arena, n, sizeof *ends->list);
    finding.messages = arena_take(arena, n, sizeof *finding.messages);
    if (arena->failed)
        return error_memory(error);
    ends->own = find_own(graph, groups);
    for (row_t i = 0; i < graph->n_made; i++) {
        enum et_type type = type_of(graph, i);
        if (et_is_message((int32_t)type))
            add_message(&finding, graph->message[graph->made[i]], type == ET_COMM_SEND);
    }
    give_tags(&finding);
    return SUTRA_OK;
}

const struct comm_end *comm_end_of(const struct comm_ends *ends, row_t row) {
    const struct comm_end wanted = {.row = row};
    return ends->n ? bsearch(&wanted, ends->list, ends->n, sizeof *ends->list, compare_rows) : NULL;
}
