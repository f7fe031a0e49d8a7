/*
 * communication.c - values and their types in pairs, to the end of the shorter list.
 */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/error.h"
#include "base/shared.h"
#include "facts/collectives.h"
#include "facts/flops.h"
#include "simulate/communication.h"
#include "simulate/et_format.h"
#include "text/quantities.h"

int kernel_collective(struct et_text name, bool all) {
    switch (
        collective_kind_read(name.bytes, name.length, all ? COLLECTIVES_OF_CHAKRA : COLLECTIVES_OF_CHAKRA_CONVERTER)) {
    case COMM_ALL_REDUCE:
        return ET_ALL_REDUCE;
    case COMM_ALL_TO_ALL:
        return ET_ALL_TO_ALL;
    case COMM_ALL_GATHER:
        return ET_ALL_GATHER;
    case COMM_REDUCE_SCATTER:
        return ET_REDUCE_SCATTER;
    case COMM_BROADCAST:
        return ET_BROADCAST;
    case COMM_REDUCE:
        return ET_REDUCE;
    case COMM_GATHER:
        return ET_GATHER;
    case COMM_SCATTER:
        return ET_SCATTER;
    default:
        return kernel_is_send_receive(name) ? ET_ALL_TO_ALL : -1;
    }
}

/*
 * The operators above each send and receive, from the nearest on; then tags, by counting along the list
 * sorted by direction, group and peer.
 */

/* How far above a kernel is looked for what describes it. */
#define COMM_ENDS_LEVELS 4

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
    for (int level = 0; level < COMM_ENDS_LEVELS && above != ROW_NONE; level++, above = graph->parent[above]) {
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

ORDER_BY(compare_rows, struct comm_end, ASCENDING(row))

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

/*
 * For each kernel the nearest operator with a formula, for each such operator its work, and back.
 */

/* Operators that a task does. */
#define TASK_OPERATORS 256

/* The nearest operator above a slot, before it is looked for: no row, there are fewer. */
#define NEAREST_UNKNOWN (ROW_NONE - 1)

/* An operator that kernels are shared by. */
struct worker {
    row_t slot;
    uint64_t n_ops, n_bytes;
    uint64_t weight, given; /* of its kernels; of those that have their share */
};

struct work_search {
    const struct node_graph *graph;
    row_t *nearest; /* by slot: the slot itself or one above it; ROW_NONE */
    row_t *number;  /* by slot: its place among the workers */
    struct worker *workers;
    row_t n_workers;
    bool *no_memory; /* by task */
};

static const struct op_kind *kind_of(const struct node_graph *graph, row_t slot) {
    struct et_text name = graph->plus->nodes.name[graph->message[slot]];
    const struct op_kind *kind = op_kind_find(name.bytes, name.length, OP_TABLE_ALL);
    return kind && kind->formula != FORMULA_NONE ? kind : NULL;
}

static bool is_operator(const struct node_graph *graph, row_t slot) {
    return graph->message[slot] != ROW_NONE && !graph_is_gpu(graph, graph->message[slot]);
}

/* The nearest operator with a formula, from the slot on. Nodes on the way learn it, so that none is passed twice; until
 * then they say that there is none, which is so where a way leads back to itself. */
static row_t find_nearest(struct work_search *search, row_t slot) {
    const struct node_graph *graph = search->graph;
    row_t stop = slot, found = ROW_NONE;
    while (stop != ROW_NONE && found == ROW_NONE && search->nearest[stop] == NEAREST_UNKNOWN) {
        search->nearest[stop] = ROW_NONE;
        if (is_operator(graph, stop) && kind_of(graph, stop))
            found = stop;
        else
            stop = graph->under[stop];
    }
    if (stop != ROW_NONE && found == ROW_NONE)
        found = search->nearest[stop];
    for (row_t at = slot; at != stop; at = graph->under[at])
        search->nearest[at] = found;
    if (stop != ROW_NONE)
        search->nearest[stop] = found;
    return found;
}

/* Computation on the GPU. */
static bool is_kernel(const struct node_graph *graph, row_t slot) {
    return graph->kept[slot] && graph_is_gpu(graph, graph->message[slot]) &&
           graph_type(graph, graph->message[slot]) == ET_COMP;
}

/* What a kernel counts among those of its operator. */
static uint64_t weight_of(const struct node_graph *graph, row_t slot) {
    uint64_t duration_us = graph->plus->nodes.duration_us[graph->message[slot]];
    const uint64_t most = (uint64_t)1 << 40; /* twelve days: sums keep within 64 bits */
    return duration_us == 0 ? 1 : duration_us < most ? duration_us : most;
}

/* Numbers the operators of all kernels. */
static void find_workers(struct work_search *search) {
    const struct node_graph *graph = search->graph;
    for (row_t i = 0; i < graph->n_made; i++) {
        row_t kernel = graph->made[i];
        row_t slot = is_kernel(graph, kernel) ? find_nearest(search, graph->under[kernel]) : ROW_NONE;
        if (slot == ROW_NONE)
            continue;
        if (search->number[slot] == ROW_NONE) {
            search->number[slot] = search->n_workers;
            search->workers[search->n_workers++] = (struct worker){.slot = slot};
        }
        search->workers[search->number[slot]].weight += weight_of(graph, kernel);
    }
}

static struct input_text input_text_of(struct et_text text) {
    return text.length ? (struct input_text){text.bytes, text.length} : (struct input_text){NULL, 0};
}

static bool measure(const struct node_graph *graph, struct op_inputs_parser *parser, struct worker *worker) {
    const struct plus_nodes *nodes = &graph->plus->nodes;
    row_t row = graph->message[worker->slot];
    const struct op_input_texts texts = {.values = input_text_of(nodes->io[0][row]),
                                         .shapes = input_text_of(nodes->io[1][row]),
                                         .types = input_text_of(nodes->io[2][row])};
    struct op_inputs inputs;
    if (!op_inputs_parse(parser, &texts, &inputs))
        return false;
    struct op_flops found = op_flops_find(kind_of(graph, worker->slot), &inputs, FLOPS_OURS);
    if (!found.missing && found.bytes < 0x1p63 && found.flops < 0x1p63) { /* which NaN is not */
        worker->n_ops = (uint64_t)found.flops;
        worker->n_bytes = (uint64_t)found.bytes;
    }
    return true;
}

static void measure_part(void *arg, size_t task) {
    struct work_search *search = arg;
    struct op_inputs_parser parser = {0};
    size_t end = (task + 1) * TASK_OPERATORS < search->n_workers ? (task + 1) * TASK_OPERATORS : search->n_workers;
    for (size_t i = task * TASK_OPERATORS; i < end && !search->no_memory[task]; i++)
        search->no_memory[task] = !measure(search->graph, &parser, &search->workers[i]);
    op_inputs_parser_free(&parser);
}

static bool measure_workers(struct work_search *search, struct arena *scratch) {
    size_t n_tasks = ((size_t)search->n_workers + TASK_OPERATORS - 1) / TASK_OPERATORS;
    bool failed = false;
    search->no_memory = arena_zeros(scratch, n_tasks, sizeof *search->no_memory);
    if (!search->no_memory)
        return false;
    pool_run(search->graph->context->pool, n_tasks, measure_part, search);
    for (size_t task = 0; task < n_tasks; task++)
        failed |= search->no_memory[task];
    return !failed;
}

uint64_t work_share(uint64_t amount, uint64_t before, uint64_t own, uint64_t total) {
    uint64_t begin = (uint64_t)((unsigned __int128)amount * before / total);
    return (uint64_t)((unsigned __int128)amount * (before + own) / total) - begin;
}

static void share_out(struct work_search *search, struct kernel_work *work) {
    const struct node_graph *graph = search->graph;
    for (row_t i = 0; i < graph->n_made; i++) {
        row_t kernel = graph->made[i];
        row_t slot = is_kernel(graph, kernel) ? find_nearest(search, graph->under[kernel]) : ROW_NONE;
        if (slot == ROW_NONE)
            continue;
        struct worker *worker = &search->workers[search->number[slot]];
        uint64_t weight = weight_of(graph, kernel);
        uint64_t n_ops = work_share(worker->n_ops, worker->given, weight, worker->weight);
        work->n_bytes[kernel] = work_share(worker->n_bytes, worker->given, weight, worker->weight);
        work->n_ops[kernel] = n_ops ? n_ops : 1;
        work->n_known += work->n_bytes[kernel] > 0;
        worker->given += weight;
    }
}

enum sutra_status kernel_work_find(struct kernel_work *work, struct arena *arena, const struct node_graph *graph,
                                   struct sutra_error *error) {
    row_t n = graph->plus->nodes.n;
    struct arena scratch = {0};
    struct work_search search = {.graph = graph,
                                 .nearest = arena_take(&scratch, n, sizeof *search.nearest),
                                 .number = arena_take(&scratch, n, sizeof *search.number),
                                 .workers = arena_take(&scratch, graph->n_made, sizeof *search.workers)};
    *work = (struct kernel_work){.n_ops = arena_zeros(arena, n, sizeof *work->n_ops),
                                 .n_bytes = arena_zeros(arena, n, sizeof *work->n_bytes)};
    bool ok = !scratch.failed && !arena->failed;
    for (row_t slot = 0; ok && slot < n; slot++) {
        search.nearest[slot] = NEAREST_UNKNOWN;
        search.number[slot] = ROW_NONE;
    }
    if (ok)
        find_workers(&search);
    ok = ok && measure_workers(&search, &scratch);
    if (ok)
        share_out(&search, work);
    arena_free(&scratch);
    return ok ? SUTRA_OK : error_memory(error);
}

/* Lists in lists of a value that are looked into. */
#define COMM_BYTES_LEVELS 3

__extension__ typedef __int128 wide;

struct tensor_sum {
    const struct source *source;
    wide total;
    bool nested;
};

/* The elements of a list, one after the other; of an object its keys, and of anything else none. */
struct elements {
    struct json_walker walker;
    bool object, more;
};

static struct elements elements_of(const struct tensor_sum *sum, size_t at) {
    struct elements elements = {.walker = walk_from(sum->source, at)};
    char c = walk_char(&elements.walker);
    elements.object = c == '{';
    elements.more = elements.object ? walk_object(&elements.walker) : c == '[' && walk_array(&elements.walker);
    return elements;
}

static struct json_place next_element(struct elements *elements) {
    if (!elements->object) {
        struct json_place place = walk_value(&elements->walker);
        elements->more = walk_element_end(&elements->walker);
        return place;
    }
    struct json_place key = walk_key(&elements->walker);
    walk_value(&elements->walker);
    elements->more = walk_member_end(&elements->walker);
    return key;
}

/* An integer, or true or false, which count as 1 and 0. */
static bool read_factor(const struct tensor_sum *sum, struct json_place place, wide *factor) {
    struct number number;
    if (!field_number(sum->source->bytes + place.at, &number) || number_is_double(number))
        return false;
    *factor = (int64_t)number.bits;
    return true;
}

/* Adds the tensor at byte `at`; false: there is none. */
static bool add_tensor(struct tensor_sum *sum, size_t at) {
    wide factors[2];
    struct elements elements = elements_of(sum, at);
    if (elements.object)
        return false;
    for (int i = 0; i < 5; i++) {
        if (!elements.more)
            return false;
        struct json_place place = next_element(&elements);
        if (i >= 3 && !read_factor(sum, place, &factors[i - 3]))
            return false;
    }
    wide product = factors[0] * factors[1]; /* of two below 2^62 */
    return !__builtin_add_overflow(sum->total, product, &sum->total);
}

/* Adds the tensors in the list at byte `at`, or in lists in it. */
static bool add_list(struct tensor_sum *sum, size_t at, int level) {
    char c = sum->source->bytes[at];
    if (c != '[' && c != '{')
        return c == '"' && sum->source->bytes[at + 1] == '"';
    for (struct elements elements = elements_of(sum, at); elements.more;) {
        size_t element = next_element(&elements).at;
        if (add_tensor(sum, element))
            continue;
        if (level == 0 || sum->source->bytes[element] != '[' || !add_list(sum, element, level - 1))
            return false;
        sum->nested = true;
    }
    return true;
}

/* Adds the value at byte `at` if its type is that of tensors. */
static bool add_value(struct tensor_sum *sum, struct field_reader *fields, size_t at, struct json_place type) {
    static const char list[] = "GenericList[Tensor";
    size_t length;
    if (sum->source->bytes[type.at] != '"')
        return false;
    const char *text = field_string(fields, type, &length);
    if (!memmem(text, length, "Tensor", 6))
        return true;
    if (length >= sizeof list - 1 && memcmp(text, list, sizeof list - 1) == 0)
        return add_list(sum, at, COMM_BYTES_LEVELS);
    if (add_tensor(sum, at))
        return true;
    sum->nested = true;
    return sum->source->bytes[at] == '[' && add_list(sum, at, COMM_BYTES_LEVELS);
}

bool comm_bytes_read(struct field_reader *fields, size_t values_at, size_t types_at, int64_t *bytes, bool *nested) {
    struct tensor_sum sum = {.source = fields->source};
    if (!values_at || !types_at)
        return false;
    struct elements values = elements_of(&sum, values_at), types = elements_of(&sum, types_at);
    while (values.more && types.more) {
        size_t at = next_element(&values).at;
        if (!add_value(&sum, fields, at, next_element(&types)))
            return false;
    }
    *bytes = (int64_t)sum.total;
    *nested = sum.nested;
    return *bytes == sum.total;
}
