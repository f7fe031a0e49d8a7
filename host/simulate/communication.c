/*
 * communication.c - implements communication.h.
 */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/error.h"
#include "base/shared.h"
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

/* ---- Ends of messages: from the ancestors of a kernel, the nearest first; tags by sorting and counting ---- */

/* Bits of the tag: the count of messages, and above them the number of the group. */
#define COUNT_BITS 16
#define GROUP_BITS 15

/* ---- Ranks recorded by operators ---- */

/* Ranks in a group, and the group, as an operator records them. */
struct comm_record {
    struct et_text name;  /* of the communication: 'send', 'allreduce', ... */
    struct et_text group; /* its name, or its number in older traces; empty: unknown */
    int64_t own, peer;    /* RANK_NOT_RECORDED: unknown */
    int64_t start, step;  /* first global rank of the group, and step to the next; RANK_NOT_RECORDED: unknown */
};

static const struct comm_record no_record = {
    .own = RANK_NOT_RECORDED, .peer = RANK_NOT_RECORDED, .start = RANK_NOT_RECORDED, .step = RANK_NOT_RECORDED};

static struct input_text input_of(struct et_text text) {
    return (struct input_text){text.bytes, text.length};
}

static struct et_text text_of(struct input_text input) {
    return (struct et_text){input.at, (uint32_t)input.length};
}

static struct comm_record read_parameters(struct et_text values) {
    struct comms_inputs inputs;
    if (!comms_inputs_read(input_of(values), &inputs))
        return no_record;
    return (struct comm_record){.name = text_of(inputs.name),
                                .group = text_of(inputs.group),
                                .own = comms_inputs_name_own_rank(&inputs) ? inputs.rank : RANK_NOT_RECORDED,
                                .peer = inputs.rank,
                                .start = inputs.start,
                                .step = inputs.step};
}

/* "nccl:send 0->1", "nccl:recv 1<-0". */
static struct comm_record read_arrow(struct et_text name) {
    struct comm_record record = no_record;
    const char *arrow = memmem(name.bytes, name.length, "->", 2), *end = name.bytes + name.length;
    arrow = arrow ? arrow : memmem(name.bytes, name.length, "<-", 2);
    const char *blank = arrow ? memrchr(name.bytes, ' ', (size_t)(arrow - name.bytes)) : NULL;
    if (!blank)
        return record;
    record.own = comms_rank_read((struct input_text){blank + 1, (size_t)(arrow - blank - 1)});
    record.peer = comms_rank_read((struct input_text){arrow + 2, (size_t)(end - arrow - 2)});
    return record;
}

/* The record of a node about a message in the direction ("send" or "recv"). */
static struct comm_record read_record(const struct et_plus_nodes *nodes, row_t row, const char *direction,
                                      struct et_plus_texts *texts) {
    struct et_text name = nodes->name[row];
    struct comm_record record = no_record;
    if (graph_is_parameters(nodes, row))
        record = read_parameters(et_plus_io_text(texts, nodes, row, 0));
    else if (kernel_name_has(name, "nccl:"))
        record = read_arrow(name);
    else if (et_text_is(name, "c10d::send") || et_text_is(name, "c10d::recv_")) {
        struct input_text items[3]; /* tensors, group, peer, tag */
        if (comms_items_read(input_of(et_plus_io_text(texts, nodes, row, 0)), items, 3) == 3)
            record.peer = comms_rank_read(items[2]);
    }
    struct et_text said = record.name.length > 0 ? record.name : name;
    return kernel_name_has(said, direction) ? record : no_record;
}

/* The records of all ancestors of a kernel; nearer ones have priority. */
static struct comm_record read_ancestors(const struct node_graph *graph, row_t row, const char *direction,
                                         struct et_plus_texts *texts) {
    const struct et_plus_nodes *nodes = &graph->et_plus->nodes;
    struct comm_record all = no_record;
    row_t above = graph->parent[row];
    for (int level = 0; level < COMM_ENDS_LEVELS && above != ROW_NONE; level++, above = graph->parent[above]) {
        struct comm_record record = read_record(nodes, above, direction, texts);
        if (record.own != RANK_NOT_RECORDED && all.own == RANK_NOT_RECORDED)
            all.own = record.own;
        if (record.peer != RANK_NOT_RECORDED && all.peer == RANK_NOT_RECORDED)
            all.peer = record.peer;
        if (record.group.length > 0 && all.group.length == 0) {
            all.group = record.group;
            all.start = record.start;
            all.step = record.step;
        }
    }
    if (all.group.length == 0)
        all.group = nodes->pg_name[graph_group_row(graph, row)];
    return all;
}

/* The group of all ranks; an unknown group counts as this one. */
static bool is_all_ranks(struct et_text group) {
    return group.length == 0 || (group.length == 1 && *group.bytes == '0');
}

/* The global rank of a rank of a group. */
static int64_t global_rank(const struct comm_groups *groups, const struct comm_record *record, int64_t rank) {
    const struct comm_group *group = comm_group_find(groups, record->group);
    if (rank == RANK_NOT_RECORDED)
        return RANK_NOT_RECORDED;
    if (group && group->is_described && group->n_ranks > 0)
        return rank < group->n_ranks ? group->ranks[rank] : RANK_NOT_RECORDED;
    if ((group && group->is_described) || is_all_ranks(record->group))
        return rank;
    bool stepped = record->start != RANK_NOT_RECORDED && (record->step > 0 || (record->step == 0 && rank == 0));
    return stepped ? record->start + record->step * rank : RANK_NOT_RECORDED;
}

static int64_t find_own_rank(const struct node_graph *graph, const struct comm_groups *groups,
                             struct et_plus_texts *texts) {
    const struct et_plus_nodes *nodes = &graph->et_plus->nodes;
    for (row_t row = 0; row < nodes->n; row++) {
        if (nodes->flags[row] & ET_PLUS_IS_GPU || !graph_is_parameters(nodes, row))
            continue;
        struct comm_record record = read_parameters(et_plus_io_text(texts, nodes, row, 0));
        int64_t own = global_rank(groups, &record, record.own);
        if (own != RANK_NOT_RECORDED)
            return own;
    }
    return RANK_NOT_RECORDED;
}

/* A message with the parts of its tag. */
struct message {
    struct comm_end end;
    uint64_t order;
    uint32_t group; /* its number */
    bool sent;
};

#define ROUTE_KEYS ASCENDING(sent) ASCENDING(group) ASCENDING(end.peer)

ORDER_BY(compare_routes, struct message, ROUTE_KEYS)
ORDER_BY(compare_messages, struct message, ROUTE_KEYS ASCENDING(order))
ORDER_BY(compare_rows, struct comm_end, ASCENDING(row))

/* The type of the i-th node made; ET_COMP if it is dropped. */
static enum et_type type_of(const struct node_graph *graph, row_t i) {
    return graph->kept[graph->made[i]] ? graph_type(graph, graph->message[graph->made[i]]) : ET_COMP;
}

/* The peer that the arguments of the kernel record. O(log n). */
static int64_t peer_of_kernel(const struct et_plus_trace *et_plus, row_t row) {
    row_t i;
    BISECT(i, et_plus->n_peers, et_plus->peers[i].row < row);
    return i < et_plus->n_peers && et_plus->peers[i].row == row ? et_plus->peers[i].peer : RANK_NOT_RECORDED;
}

/* Lists the messages whose peers are known, in the order of their nodes. */
static void list_messages(struct comm_ends *ends, const struct node_graph *graph, const struct comm_groups *groups,
                          struct et_plus_texts *texts, struct message *messages) {
    for (row_t i = 0; i < graph->n_made; i++) {
        enum et_type type = type_of(graph, i);
        if (!et_is_message((int32_t)type))
            continue;
        const row_t row = graph->message[graph->made[i]];
        const bool sent = type == ET_COMM_SEND;
        struct comm_record record = read_ancestors(graph, row, sent ? "send" : "recv", texts);
        int64_t peer = global_rank(groups, &record, record.peer);
        if (peer == RANK_NOT_RECORDED)
            peer = peer_of_kernel(graph->et_plus, row);
        if (ends->own == RANK_NOT_RECORDED)
            ends->own = global_rank(groups, &record, record.own);
        if (peer == RANK_NOT_RECORDED) {
            ends->n_without_peer += record.peer == RANK_NOT_RECORDED;
            ends->n_without_members += record.peer != RANK_NOT_RECORDED;
            continue;
        }
        const struct comm_group *group = comm_group_find(groups, record.group);
        int64_t number = group ? comms_rank_read(input_of(group->number)) : RANK_NOT_RECORDED;
        messages[ends->n] = (struct message){.end = {.row = row, .peer = peer},
                                             .order = ends->n,
                                             .group = number == RANK_NOT_RECORDED ? 0 : (uint32_t)number,
                                             .sent = sent};
        ends->n++;
    }
}

/* Numbers the messages of each route. */
static void set_tags(struct comm_ends *ends, struct message *messages) {
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

enum sutra_status comm_ends_find(struct comm_ends *ends, struct arena *arena, const struct node_graph *graph,
                                 const struct comm_groups *groups, struct sutra_error *error) {
    uint64_t n = 0;
    *ends = (struct comm_ends){.own = RANK_NOT_RECORDED};
    for (row_t i = 0; i < graph->n_made; i++)
        n += et_is_message((int32_t)type_of(graph, i));
    if (n == 0)
        return SUTRA_OK;
    ends->list = arena_alloc(arena, n, sizeof *ends->list);
    struct message *messages = arena_alloc(arena, n, sizeof *messages);
    TRY(arena_status(arena, error));
    struct et_plus_texts texts;
    bool ok = et_plus_texts_begin(&texts, &graph->et_plus->document->source);
    if (ok) {
        ends->own = find_own_rank(graph, groups, &texts);
        if (ends->own == RANK_NOT_RECORDED && graph->et_plus->own_rank >= 0 && graph->et_plus->own_rank <= INT32_MAX)
            ends->own = graph->et_plus->own_rank;
        list_messages(ends, graph, groups, &texts, messages);
        set_tags(ends, messages);
        ok = !et_plus_texts_failed(&texts);
    }
    et_plus_texts_end(&texts);
    return ok ? SUTRA_OK : error_memory(error);
}

const struct comm_end *comm_end_of(const struct comm_ends *ends, row_t row) {
    const struct comm_end wanted = {.row = row};
    return ends->n ? bsearch(&wanted, ends->list, ends->n, sizeof *ends->list, compare_rows) : NULL;
}

/* ---- Operations: of the nearest operator with a formula, shared by its kernels ---- */

/* Operators per task. */
#define TASK_OPERATORS 256

/* The nearest operator is not searched yet; no row number is that large. */
#define NEAREST_UNKNOWN (ROW_NONE - 1)

/* An operator whose operations its kernels share. */
struct worker {
    row_t slot;
    uint64_t n_ops, n_bytes;
    uint64_t weight, given; /* of its kernels; of the kernels that have their share */
};

struct operations_search {
    const struct node_graph *graph;
    row_t *nearest; /* by slot: the slot itself or an ancestor; ROW_NONE */
    row_t *number;  /* by slot: its index in workers[] */
    struct worker *workers;
    row_t n_workers;
    bool *no_memory; /* by task */
};

static const struct op_kind *kind_of(const struct node_graph *graph, row_t slot) {
    struct et_text name = graph->et_plus->nodes.name[graph->message[slot]];
    const struct op_kind *kind = op_kind_find(name.bytes, name.length, OP_TABLE_ALL);
    return kind && kind->formula != FORMULA_NONE ? kind : NULL;
}

/* The nearest operator with a formula, from the slot on. Nodes on the way store the result, so none is passed twice;
 * until then they store ROW_NONE, which is correct for cycles. */
static row_t find_nearest(struct operations_search *search, row_t slot) {
    const struct node_graph *graph = search->graph;
    row_t stop = slot, found = ROW_NONE;
    while (stop != ROW_NONE && found == ROW_NONE && search->nearest[stop] == NEAREST_UNKNOWN) {
        search->nearest[stop] = ROW_NONE;
        if ((graph->message[stop] != ROW_NONE && !graph_is_gpu(graph, graph->message[stop])) && kind_of(graph, stop))
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

/* The operator whose operations a kernel that computes shares; ROW_NONE for other nodes. */
static row_t operator_of(struct operations_search *search, row_t slot) {
    const struct node_graph *graph = search->graph;
    const bool computes = graph->kept[slot] && graph_is_gpu(graph, graph->message[slot]) &&
                          graph_type(graph, graph->message[slot]) == ET_COMP;
    return computes ? find_nearest(search, graph->under[slot]) : ROW_NONE;
}

/* The weight of a kernel of an operator. */
static uint64_t weight_of(const struct node_graph *graph, row_t slot) {
    uint64_t duration_us = graph->et_plus->nodes.duration_us[graph->message[slot]];
    const uint64_t most = (uint64_t)1 << 40; /* twelve days: sums keep within 64 bits */
    return duration_us == 0 ? 1 : MIN(duration_us, most);
}

/* The JSON at byte `at`: a string without quotes, or a list, which ends before the end of the text. */
static struct input_text input_at(const struct source *source, size_t at) {
    if (at == 0)
        return (struct input_text){NULL, 0};
    if (source->bytes[at] != '"')
        return (struct input_text){source->bytes + at, source->size - at};
    return (struct input_text){source->bytes + at + 1, string_end(source, at, at + 1).at - at - 1};
}

static bool measure(const struct node_graph *graph, struct op_inputs_parser *parser, struct worker *worker) {
    const struct et_plus_nodes *nodes = &graph->et_plus->nodes;
    const struct source *source = &graph->et_plus->document->source;
    row_t row = graph->message[worker->slot];
    const struct op_input_texts read = {.values = input_at(source, nodes->io[0][row]),
                                        .shapes = input_at(source, nodes->io[1][row]),
                                        .types = input_at(source, nodes->io[2][row])};
    struct op_inputs inputs;
    if (!op_inputs_parse(parser, &read, &inputs))
        return false;
    struct op_flops found = op_flops_find(kind_of(graph, worker->slot), &inputs, FLOPS_OURS);
    if (!found.missing && found.bytes < 0x1p63 && found.flops < 0x1p63) { /* false for NaN */
        worker->n_ops = (uint64_t)found.flops;
        worker->n_bytes = (uint64_t)found.bytes;
    }
    return true;
}

static void measure_task(void *arg, size_t task) {
    struct operations_search *search = arg;
    struct op_inputs_parser parser = {0};
    size_t end = MIN((task + 1) * TASK_OPERATORS, search->n_workers);
    for (size_t i = task * TASK_OPERATORS; i < end && !search->no_memory[task]; i++)
        search->no_memory[task] = !measure(search->graph, &parser, &search->workers[i]);
    op_inputs_parser_free(&parser);
}

static bool measure_workers(struct operations_search *search, struct arena *scratch) {
    size_t n_tasks = ((size_t)search->n_workers + TASK_OPERATORS - 1) / TASK_OPERATORS;
    bool failed = false;
    search->no_memory = arena_zeros(scratch, n_tasks, sizeof *search->no_memory);
    if (!search->no_memory)
        return false;
    pool_run(search->graph->context->pool, n_tasks, measure_task, search);
    for (size_t task = 0; task < n_tasks; task++)
        failed |= search->no_memory[task];
    return !failed;
}

uint64_t share_amount(uint64_t amount, uint64_t before, uint64_t own, uint64_t total) {
    uint64_t begin = (uint64_t)((unsigned __int128)amount * before / total);
    return (uint64_t)((unsigned __int128)amount * (before + own) / total) - begin;
}

enum sutra_status kernel_work_find(struct kernel_work *work, struct arena *arena, const struct node_graph *graph,
                                   struct sutra_error *error) {
    row_t n = graph->et_plus->nodes.n;
    struct arena scratch = {0};
    struct operations_search search = {.graph = graph,
                                       .nearest = arena_alloc(&scratch, n, sizeof *search.nearest),
                                       .number = rows_none(&scratch, n),
                                       .workers = arena_alloc(&scratch, graph->n_made, sizeof *search.workers)};
    *work = (struct kernel_work){.n_ops = arena_zeros(arena, n, sizeof *work->n_ops),
                                 .n_bytes = arena_zeros(arena, n, sizeof *work->n_bytes)};
    bool ok = !scratch.failed && !arena->failed;
    for (row_t slot = 0; ok && slot < n; slot++)
        search.nearest[slot] = NEAREST_UNKNOWN;

    /* Number the operators of all kernels, and share their work among the kernels. */
    for (row_t i = 0; ok && i < graph->n_made; i++) {
        row_t kernel = graph->made[i], slot = operator_of(&search, kernel);
        if (slot == ROW_NONE)
            continue;
        if (search.number[slot] == ROW_NONE) {
            search.number[slot] = search.n_workers;
            search.workers[search.n_workers++] = (struct worker){.slot = slot};
        }
        search.workers[search.number[slot]].weight += weight_of(graph, kernel);
    }
    ok = ok && measure_workers(&search, &scratch);
    for (row_t i = 0; ok && i < graph->n_made; i++) {
        row_t kernel = graph->made[i], slot = operator_of(&search, kernel);
        if (slot == ROW_NONE)
            continue;
        struct worker *worker = &search.workers[search.number[slot]];
        uint64_t weight = weight_of(graph, kernel);
        uint64_t n_ops = share_amount(worker->n_ops, worker->given, weight, worker->weight);
        work->n_bytes[kernel] = share_amount(worker->n_bytes, worker->given, weight, worker->weight);
        work->n_ops[kernel] = n_ops ? n_ops : 1;
        work->n_known += work->n_bytes[kernel] > 0;
        worker->given += weight;
    }
    arena_free(&scratch);
    return ok ? SUTRA_OK : error_memory(error);
}

/* ---- Bytes of communication kernels ---- */

/* The maximum depth of nested lists. */
#define COMM_BYTES_LEVELS 3

__extension__ typedef __int128 wide;

struct tensor_sum {
    const struct source *source;
    wide total;
    bool nested;
};

/* The elements of a list, one after the other; the keys of an object; otherwise none. */
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

static struct json_span next_element(struct elements *elements) {
    if (!elements->object) {
        struct json_span place = walk_value(&elements->walker);
        elements->more = walk_element_end(&elements->walker);
        return place;
    }
    struct json_span key = walk_key(&elements->walker);
    walk_value(&elements->walker);
    elements->more = walk_member_end(&elements->walker);
    return key;
}

/* An integer, or true or false, which count as 1 and 0. */
static bool read_factor(const struct tensor_sum *sum, struct json_span place, wide *factor) {
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
        struct json_span place = next_element(&elements);
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

/* Adds the value at byte `at` if it has the type of tensors. */
static bool add_value(struct tensor_sum *sum, struct field_reader *fields, size_t at, struct json_span type) {
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
