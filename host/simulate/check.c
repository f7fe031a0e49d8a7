/*
 * check.c - sutra_et_check_...(): files through the rules, and findings out.
 */
#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/error.h"
#include "base/options.h"
#include "columns/column.h"
#include "simulate/check.h"
#include "text/numbers.h"

/*
 * What ASTRA-sim needs of a file as a whole: its frame, its ids, its dependencies.
 */

void et_found_add(struct et_found *found, uint64_t id) {
    if (found->n_ids < FOUND_IDS)
        found->ids[found->n_ids++] = id;
    found->count++;
}

__attribute__((format(printf, 2, 3))) static void found_once(struct et_found *found, const char *format, ...) {
    va_list arguments;
    va_start(arguments, format);
    vsnprintf(found->detail, sizeof found->detail, format, arguments);
    va_end(arguments);
    found->count = 1;
}

/* ---- The frame ---- */

static void found_damage(const struct et_file *file, struct et_found *found) {
    if (file->damage.offset == SUTRA_NO_OFFSET)
        found_once(found, "%s", file->damage.message);
    else
        found_once(found, "byte %" PRIu64 ": %s", file->damage.offset, file->damage.message);
}

/* Rules of a file as a whole (et_rules_file.c). */
static void et_rule_first_message(const struct et_checking *checking, struct et_found *found) {
    const struct et_file *file = checking->file;
    if (file->has_metadata)
        return;
    if (file->damage.status)
        found_damage(file, found);
    else
        found_once(found, "the file is empty");
}

static void et_rule_whole(const struct et_checking *checking, struct et_found *found) {
    const struct et_file *file = checking->file;
    if (file->has_metadata && file->damage.status)
        found_damage(file, found);
    else if (file->cut_at != ET_NOWHERE)
        found_once(found, "the message at byte %" PRIu64 " is truncated", file->cut_at);
    else if (file->empty_at != ET_NOWHERE)
        found_once(found, "the message at byte %" PRIu64 " is empty", file->empty_at);
}

static void et_rule_no_nodes(const struct et_checking *checking, struct et_found *found) {
    if (checking->nodes->n == 0)
        found_once(found, "%s", "");
}

int64_t et_rank_of(const char *path, size_t *prefix) {
    size_t length = strlen(path), digits = 0;
    int64_t rank = 0;
    if (length < 3 || strcmp(path + length - 3, ".et") != 0)
        return RANK_UNKNOWN;
    length -= 3;
    while (digits < length && is_digit(path[length - digits - 1]))
        digits++;
    if (digits == 0 || digits > 9 || length <= digits + 1 || path[length - digits - 1] != '.')
        return RANK_UNKNOWN;
    for (size_t i = length - digits; i < length; i++)
        rank = 10 * rank + (path[i] - '0');
    *prefix = length - digits - 1;
    return rank;
}

static void et_rule_name(const struct et_checking *checking, struct et_found *found) {
    if (checking->rank == RANK_UNKNOWN)
        found_once(found, "%s", "");
}

/* ---- Ids and dependencies ---- */

static void et_rule_same_ids(const struct et_checking *checking, struct et_found *found) {
    for (row_t i = 0; i < checking->graph.n_again; i++)
        et_found_add(found, checking->nodes->id[checking->graph.again[i]]);
}

static bool et_rule_absent(const struct et_checking *checking, row_t row) {
    const struct et_lists *up = &checking->graph.up;
    for (uint64_t i = up->first[row]; i < up->first[row + 1]; i++)
        if (up->rows[i] == ROW_NONE)
            return true;
    return false;
}

/* The same node twice in one list; lists are short but for hostile ones, so the search is given up at some point. */
static bool has_repetition(const struct et_ids *list, row_t row) {
    uint64_t begin = list->first[row], end = list->first[row + 1];
    for (uint64_t i = begin + 1; i < end; i++)
        for (uint64_t k = i; k > begin && i - k < 64; k--)
            if (list->ids[k - 1] == list->ids[i])
                return true;
    return false;
}

static bool et_rule_repeated(const struct et_checking *checking, row_t row) {
    return has_repetition(&checking->nodes->ctrl, row) || has_repetition(&checking->nodes->data, row);
}

static bool et_rule_later_parent(const struct et_checking *checking, row_t row) {
    const struct et_lists *up = &checking->graph.up;
    for (uint64_t i = up->first[row]; i < up->first[row + 1]; i++)
        if (up->rows[i] != ROW_NONE && up->rows[i] > row)
            return true;
    return false;
}

/* A row above `row` that is not in the order either; every such row has one. */
static row_t unordered_above(const struct et_graph *graph, const bool *is_ordered, row_t row) {
    for (uint64_t i = graph->up.first[row]; i < graph->up.first[row + 1]; i++)
        if (graph->up.rows[i] != ROW_NONE && !is_ordered[graph->up.rows[i]])
            return graph->up.rows[i];
    return row;
}

/* Tells the ids of a cycle, found by going up for as many steps as there are nodes. */
static void tell_cycle(const struct et_checking *checking, const bool *is_ordered, struct et_found *found) {
    const struct et_graph *graph = &checking->graph;
    row_t at = 0;
    while (is_ordered[at])
        at++;
    for (row_t step = 0; step < graph->n; step++)
        at = unordered_above(graph, is_ordered, at);
    row_t begin = at;
    do {
        et_found_add(found, checking->nodes->id[at]);
        at = unordered_above(graph, is_ordered, at);
    } while (at != begin);
    snprintf(found->detail, sizeof found->detail, "the cycle has %" PRIu64 " nodes", found->count);
}

static void et_rule_cycle(const struct et_checking *checking, struct et_found *found) {
    const struct et_graph *graph = &checking->graph;
    if (graph->n_order == graph->n)
        return;
    struct arena_mark mark = arena_mark(checking->arena);
    bool *is_ordered = arena_zeros(checking->arena, graph->n, sizeof *is_ordered);
    if (is_ordered) {
        for (row_t i = 0; i < graph->n_order; i++)
            is_ordered[graph->order[i]] = true;
        tell_cycle(checking, is_ordered, found);
    }
    arena_release(checking->arena, mark);
    found->count = graph->n - graph->n_order;
}

static void et_rule_kernels_unordered(const struct et_checking *checking, struct et_found *found) {
    const struct et_nodes *nodes = checking->nodes;
    const struct et_lists *down = &checking->graph.down;
    uint64_t n = 0;
    for (row_t row = 0; row < nodes->n; row++) {
        if (!et_is_gpu(nodes, row))
            continue;
        n++;
        if (down->first[row] != down->first[row + 1])
            return;
    }
    found->count = n > 1 ? n : 0;
}

static void et_rule_puzzling_groups(const struct et_checking *checking, struct et_found *found) {
    for (row_t i = 0; i < checking->n_puzzling && i < FOUND_IDS; i++)
        found->ids[found->n_ids++] = checking->puzzling[i];
    found->count = checking->n_puzzling;
}

/*
 * What ASTRA-sim needs of single nodes: their types, durations, attributes and groups.
 */

/* Collectives below so many bytes are cut into nothing (preferred-dataset-splits of system.json, 4 as a rule). */
#define ALL_GATHER_LEAST 4

static bool is_type(const struct et_checking *checking, row_t row, int32_t type) {
    return checking->nodes->type[row] == type;
}

/* ---- Types and durations ---- */

/* Rules of single nodes (et_rules_node.c). */
static bool et_rule_type(const struct et_checking *checking, row_t row) {
    int32_t type = checking->nodes->type[row];
    return type < ET_INVALID || type > ET_COMM_COLL;
}

static bool et_rule_invalid(const struct et_checking *checking, row_t row) {
    return is_type(checking, row, ET_INVALID);
}

static bool et_rule_metadata(const struct et_checking *checking, row_t row) {
    return is_type(checking, row, ET_METADATA);
}

static bool et_rule_cpu_communication(const struct et_checking *checking, row_t row) {
    return et_is_communication(checking->nodes->type[row]) && !et_is_gpu(checking->nodes, row);
}

static bool et_rule_no_duration(const struct et_checking *checking, row_t row) {
    return is_type(checking, row, ET_COMP) && checking->nodes->duration_us[row] == 0;
}

static bool et_rule_long_duration(const struct et_checking *checking, row_t row) {
    return checking->nodes->duration_us[row] > UINT64_MAX / 1000;
}

static bool et_rule_roofline(const struct et_checking *checking, row_t row) {
    const struct et_nodes *nodes = checking->nodes;
    return is_type(checking, row, ET_COMP) && et_is_gpu(nodes, row) &&
           !(et_has(nodes, row, ET_NAME_NUM_OPS) && et_has(nodes, row, ET_NAME_TENSOR_SIZE));
}

static bool et_rule_no_tensor(const struct et_checking *checking, row_t row) {
    int64_t size;
    return is_type(checking, row, ET_COMP) && et_is_gpu(checking->nodes, row) &&
           et_integer(checking->nodes, row, ET_NAME_TENSOR_SIZE, &size) && size == 0;
}

static bool et_rule_memory(const struct et_checking *checking, row_t row) {
    return (is_type(checking, row, ET_MEM_LOAD) || is_type(checking, row, ET_MEM_STORE)) &&
           !et_has(checking->nodes, row, ET_NAME_TENSOR_SIZE);
}

/* ---- Kinds of values ---- */

static bool is_right_kind(uint32_t name, uint8_t kind) {
    switch (name) {
    case ET_NAME_IS_CPU_OP:
    case ET_NAME_NUM_OPS:
    case ET_NAME_TENSOR_SIZE:
    case ET_NAME_TENSOR_LOC:
    case ET_NAME_COMM_TYPE:
    case ET_NAME_COMM_PRIORITY:
    case ET_NAME_COMM_SIZE:
    case ET_NAME_COMM_SRC:
    case ET_NAME_COMM_DST:
    case ET_NAME_COMM_TAG:
        return et_is_integer(kind);
    case ET_NAME_PG_NAME:
        return kind == ET_STRING;
    case ET_NAME_INVOLVED_DIM:
        return kind == ET_BOOL + 1;
    default:
        return kind != ET_NO_VALUE;
    }
}

static bool et_rule_values(const struct et_checking *checking, row_t row) {
    const struct et_nodes *nodes = checking->nodes;
    for (uint64_t i = nodes->attr_first[row]; i < nodes->attr_first[row + 1]; i++)
        if (!is_right_kind(nodes->attributes.name[i], nodes->attributes.kind[i]))
            return true;
    return false;
}

static bool has_other_kind(const struct et_nodes *nodes, row_t row, enum et_name name, enum et_kind kind) {
    uint64_t at = et_attribute_find(nodes, row, name);
    return at != UINT64_MAX && nodes->attributes.kind[at] != kind;
}

static bool et_rule_narrow_kinds(const struct et_checking *checking, row_t row) {
    const struct et_nodes *nodes = checking->nodes;
    return et_is_communication(nodes->type[row]) && (has_other_kind(nodes, row, ET_NAME_COMM_TYPE, ET_INT64) ||
                                                     has_other_kind(nodes, row, ET_NAME_COMM_SIZE, ET_INT64) ||
                                                     has_other_kind(nodes, row, ET_NAME_COMM_SRC, ET_INT32) ||
                                                     has_other_kind(nodes, row, ET_NAME_COMM_DST, ET_INT32) ||
                                                     has_other_kind(nodes, row, ET_NAME_COMM_TAG, ET_INT32));
}

/* ---- Communication ---- */

static bool et_rule_collective(const struct et_checking *checking, row_t row) {
    const struct et_nodes *nodes = checking->nodes;
    return is_type(checking, row, ET_COMM_COLL) &&
           !(et_has(nodes, row, ET_NAME_COMM_TYPE) && et_has(nodes, row, ET_NAME_COMM_SIZE));
}

static bool et_rule_collective_type(const struct et_checking *checking, row_t row) {
    int64_t type;
    if (!is_type(checking, row, ET_COMM_COLL) || !et_integer(checking->nodes, row, ET_NAME_COMM_TYPE, &type))
        return false;
    return type != ET_ALL_REDUCE && type != ET_ALL_GATHER && type != ET_BROADCAST && type != ET_ALL_TO_ALL &&
           type != ET_REDUCE_SCATTER;
}

/* The bytes of a communication; false: it says none. */
static bool size_of(const struct et_checking *checking, row_t row, int64_t *size) {
    return et_is_communication(checking->nodes->type[row]) && et_integer(checking->nodes, row, ET_NAME_COMM_SIZE, size);
}

static bool is_small_gather(const struct et_checking *checking, row_t row, int64_t size) {
    int64_t type;
    return is_type(checking, row, ET_COMM_COLL) && et_integer(checking->nodes, row, ET_NAME_COMM_TYPE, &type) &&
           type == ET_ALL_GATHER && size < ALL_GATHER_LEAST;
}

static bool et_rule_size(const struct et_checking *checking, row_t row) {
    int64_t size;
    return size_of(checking, row, &size) && (size < 0 || is_small_gather(checking, row, size));
}

static bool et_rule_no_size(const struct et_checking *checking, row_t row) {
    int64_t size;
    return size_of(checking, row, &size) && size == 0 && !is_small_gather(checking, row, size);
}

static bool lacks_peer(const struct et_nodes *nodes, row_t row, enum et_name peer) {
    return !(et_has(nodes, row, peer) && et_has(nodes, row, ET_NAME_COMM_TAG) && et_has(nodes, row, ET_NAME_COMM_SIZE));
}

static bool et_rule_peer(const struct et_checking *checking, row_t row) {
    if (is_type(checking, row, ET_COMM_SEND))
        return lacks_peer(checking->nodes, row, ET_NAME_COMM_DST);
    return is_type(checking, row, ET_COMM_RECV) && lacks_peer(checking->nodes, row, ET_NAME_COMM_SRC);
}

static bool et_rule_own_rank(const struct et_checking *checking, row_t row) {
    bool sends = is_type(checking, row, ET_COMM_SEND);
    int64_t rank;
    if (checking->rank == RANK_UNKNOWN || !(sends || is_type(checking, row, ET_COMM_RECV)))
        return false;
    return et_integer(checking->nodes, row, sends ? ET_NAME_COMM_SRC : ET_NAME_COMM_DST, &rank) &&
           rank != checking->rank;
}

/* ---- Groups ---- */

static bool et_rule_group_name(const struct et_checking *checking, row_t row) {
    int64_t group;
    return et_is_communication(checking->nodes->type[row]) && !et_group_of(checking->nodes, row, &group);
}

/* The group of a collective that is not the job's own. */
static bool special_group(const struct et_checking *checking, row_t row, int64_t *group) {
    return et_is_communication(checking->nodes->type[row]) && et_group_of(checking->nodes, row, group) && *group != 0;
}

static bool et_rule_group_unknown(const struct et_checking *checking, row_t row) {
    int64_t group;
    return special_group(checking, row, &group) && !et_group_find(checking->groups, group);
}

static bool et_rule_not_member(const struct et_checking *checking, row_t row) {
    int64_t number;
    if (checking->rank == RANK_UNKNOWN || !special_group(checking, row, &number))
        return false;
    const struct et_group *group = et_group_find(checking->groups, number);
    return group && !et_group_has(group, checking->rank);
}

/*
 * The table of rules: problem, effect in ASTRA-sim, remedy.
 */

#define E ET_ERROR
#define W ET_WARNING
#define O ET_SILENT

// clang-format off
const struct et_rule et_rules[] = {
    {"R1", E, E, .file = et_rule_first_message, .what = "the file does not begin with GlobalMetadata",
     .why = "The feeder throws \"Failed to read global metadata\".",
     .mend = "Convert the trace again."},
    {"R2", E, E, .file = et_rule_whole, .what = "a truncated, malformed or empty message",
     .why = "The feeder reads a truncated message as a node with id 0, and Chakra's readers stop at an empty message.",
     .mend = "Copy or convert the file again."},
    {"R4", E, E, .file = et_rule_no_nodes, .what = "no nodes",
     .why = "The feeder finds no first node and reports a deadlock.",
     .mend = "Convert a trace in which a thread runs operators."},
    {"R5", W, W, .file = et_rule_name, .what = "the file name is not PREFIX.RANK.et",
     .why = "ASTRA-sim opens files by this pattern. Rules that need the rank were skipped.",
     .mend = "Rename the file."},
    {"R5a", E, E, .file = et_rule_same_ids, .what = "a duplicate id",
     .why = "The feeder keeps the last node of each id; the others never run.",
     .mend = "Give each node a unique id."},
    {"R6", E, E, .node = et_rule_absent, .what = "a dependency on an absent node",
     .why = "The feeder v3 reports a corrupt file; v1 never issues the node.",
     .mend = "Remove these dependencies, as sutra convert does without --compat."},
    {"R7", E, E, .file = et_rule_cycle, .what = "in or after a dependency cycle",
     .why = "These nodes never run, and ASTRA-sim does not report them.",
     .mend = "Remove one dependency of the cycle."},
    {"R8", O, E, .node = et_rule_repeated, .what = "a duplicate dependency",
     .why = "The feeder v1 clears it once, so the node waits forever.",
     .mend = "List each dependency once."},
    {"R9", O, W, .node = et_rule_later_parent, .what = "a dependency on a later node of the file",
     .why = "The feeder v1 reads the file in windows and searches for the node in each window.",
     .mend = "Sort the nodes so that each node follows its dependencies."},
    {"R10", W, W, .file = et_rule_kernels_unordered, .what = "GPU nodes without dependents",
     .why = "Kernels of a stream may run in any order, and no node waits for them.",
     .mend = "Convert with the device trace, so that streams and waits become dependencies."},
    {"R11", E, E, .node = et_rule_type, .what = "an unknown node type",
     .why = "ASTRA-sim stops with \"Unknown node type\".",
     .mend = "Use the types 1 to 7."},
    {"R11a", E, E, .node = et_rule_invalid, .what = "type INVALID_NODE",
     .why = "ASTRA-sim skips these nodes, and their dependents never run.",
     .mend = "Change their type to COMP_NODE, or remove them."},
    {"R12", E, O, .node = et_rule_metadata, .what = "type METADATA_NODE",
     .why = "ASTRA-sim's statistics abort at these nodes.",
     .mend = "Change their type to COMP_NODE, or remove them and define the groups in comm_group.json."},
    {"R12a", W, O, .file = et_rule_puzzling_groups, .what = "metadata with unreadable process groups",
     .why = "ASTRA-sim prints an error and lacks the groups.",
     .mend = "Define the groups in comm_group.json, such as {\"3\": [0, 1]}."},
    {"R13", E, E, .node = et_rule_cpu_communication, .what = "communication on the CPU",
     .why = "ASTRA-sim stops with \"Comm node should not be on CPU\".",
     .mend = "Set is_cpu_op to false."},
    {"R14", W, W, .node = et_rule_no_duration, .what = "computation without duration",
     .why = "Each node runs for 1 ns.",
     .mend = "No fix is needed; a device trace provides durations."},
    {"R14a", E, E, .node = et_rule_long_duration, .what = "a duration above 64 bits of nanoseconds",
     .why = "ASTRA-sim computes a wrong time.",
     .mend = "Check the source of the durations."},
    {"R15", E, E, true, .node = et_rule_roofline, .what = "GPU computation without num_ops or tensor_size",
     .why = "The roofline model throws \"Attribute num_ops not found\".",
     .mend = "Add both attributes, or disable the roofline model."},
    {"R15a", W, W, true, .node = et_rule_no_tensor, .what = "GPU computation with a tensor_size of 0",
     .why = "ASTRA-sim skips these nodes.",
     .mend = "Set tensor_size to the bytes that the kernel moves."},
    {"R16", E, E, .node = et_rule_memory, .what = "memory access without tensor_size",
     .why = "The feeder throws because the attribute is missing.",
     .mend = "Set tensor_size to the bytes of the access."},
    {"R20", E, E, .node = et_rule_collective, .what = "a collective without comm_type or comm_size",
     .why = "The feeder throws because the attribute is missing; v1 uses an arbitrary number.",
     .mend = "Add both attributes."},
    {"R20a", O, E, .node = et_rule_narrow_kinds, .what = "a communication attribute of a kind that v1 does not read",
     .why = "The feeder v1 reads int64_val of comm_type and comm_size, int32_val of the other attributes, else 0.",
     .mend = "Use these kinds."},
    {"R21", E, E, .node = et_rule_collective_type, .what = "an unsupported collective",
     .why = "ASTRA-sim stops with \"Unsupported collective comm type\".",
     .mend = "Use all-reduce, all-gather, broadcast, all-to-all or reduce-scatter."},
    {"R22", E, E, .node = et_rule_size, .what = "a negative comm_size, or an all-gather of fewer than 4 bytes",
     .why = "ASTRA-sim reads a negative size as a huge one, and divides a small all-gather by 0.",
     .mend = "Correct the size, or remove the node."},
    {"R22a", W, W, .node = et_rule_no_size, .what = "communication of 0 bytes",
     .why = "Each node takes the time of the smallest message.",
     .mend = "No fix is needed if no data was sent."},
    {"R23", E, E, .node = et_rule_peer,
     .what = "a send without comm_dst, comm_tag or comm_size, or a receive without comm_src, comm_tag or comm_size",
     .why = "The feeder throws because the attribute is missing, unless it replays durations (\"replay-only\": 1).",
     .mend = "Add the attributes."},
    {"R23a", E, E, .node = et_rule_own_rank,
     .what = "a send whose comm_src, or a receive whose comm_dst, is not the rank of the file",
     .why = "ASTRA-sim stops.",
     .mend = "Name the file after its rank, or remove the attribute."},
    {"R24", E, E, .node = et_rule_group_name, .what = "a pg_name that does not begin with a number",
     .why = "std::stoi throws.",
     .mend = "Use numbers as group names; use \"0\" or no pg_name for all ranks."},
    {"R24a", E, E, .node = et_rule_group_unknown, .what = "an unknown process group",
     .why = "ASTRA-sim stops with \"communicator group not found\".",
     .mend = "Pass a comm_group.json that contains the group to ASTRA-sim and to --groups."},
    {"R25", W, W, .node = et_rule_not_member, .what = "a process group without the rank of the file",
     .why = "The rank has no position in the ring of the collective.",
     .mend = "Correct the group or the file name."},
    {"R27", E, E, .node = et_rule_values, .what = "an attribute without a value or of an unsupported kind",
     .why = "The feeder throws \"Attribute type not supported\" or a bad cast.",
     .mend = "Use integers, a string for pg_name and a list of bool for involved_dim; remove empty attributes."},
    {"R5b", E, E, .job = et_rule_ranks, .what = "the files are not the ranks 0, 1, ... of one job",
     .why = "ASTRA-sim opens PREFIX.0.et, PREFIX.1.et and so on, one file per rank.",
     .mend = "Rename the files, or pass the files of all ranks."},
    {"R26", E, E, .job = et_rule_sequences, .what = "mismatched collectives of a process group",
     .why = "A collective waits for the same collective on each member, so the simulation never ends.",
     .mend = "Use traces of the same steps of one run.", .unit = "groups"},
    {"R26a", E, E, .job = et_rule_pairs, .what = "an unmatched send or receive",
     .why = "The simulation never ends.",
     .mend = "Use traces of the same steps of one run."},
};
// clang-format on

const size_t n_et_rules = sizeof et_rules / sizeof *et_rules;

enum sutra_status sutra_et_check_create(struct sutra_context *context, const struct sutra_et_check_options *options,
                                        struct sutra_et_check **check, struct sutra_error *error) {
    static const struct options_form form = OPTIONS_FORM(sutra_et_check_options, groups);
    struct sutra_et_check *made = calloc(1, sizeof *made);
    if (!made)
        return error_memory(error);
    made->context = context;
    enum sutra_status status = options_take(&form, options, &made->options, error);
    if (!status && !strings_init(&made->names))
        status = error_memory(error);
    if (!status && made->options.groups)
        status = et_groups_read(&made->groups, context, made->options.groups, &made->arena, error);
    made->options.groups = NULL; /* the caller's, who may take it away */
    if (status)
        sutra_et_check_free(made);
    else
        *check = made;
    return status;
}

void sutra_et_check_free(struct sutra_et_check *check) {
    if (!check)
        return;
    for (uint64_t i = 0; i < check->n_members; i++)
        free(check->members[i].name);
    for (uint64_t i = 0; i < check->n_found; i++)
        free(check->found[i].file);
    free(check->members);
    free(check->found);
    et_groups_free(&check->groups);
    strings_free(&check->names);
    arena_free(&check->arena);
    free(check);
}

static enum et_severity severity_of(const struct sutra_et_check *check, const struct et_rule *rule) {
    if (rule->roofline && !check->options.roofline)
        return ET_SILENT;
    return check->options.feeder == SUTRA_FEEDER_V1 ? rule->v1 : rule->v3;
}

/* Keeps what a rule found, if it is anything. */
static enum sutra_status keep(struct sutra_et_check *check, struct et_found *found, enum et_severity severity,
                              const char *file, struct sutra_error *error) {
    if (check->arena.failed)
        return error_memory(error);
    if (found->count == 0)
        return SUTRA_OK;
    if (!column_grow(&check->found, check->n_found, &check->found_capacity, sizeof *check->found))
        return error_memory(error);
    found->file = file ? strdup(file) : NULL;
    if (file && !found->file)
        return error_memory(error);
    found->is_error = severity == ET_ERROR;
    check->n_errors += found->is_error;
    check->n_warnings += !found->is_error;
    check->found[check->n_found++] = *found;
    return SUTRA_OK;
}

static void look_at_nodes(const struct et_rule *rule, const struct et_checking *checking, struct et_found *found) {
    for (row_t row = 0; row < checking->nodes->n; row++)
        if (rule->node(checking, row))
            et_found_add(found, checking->nodes->id[row]);
}

static enum sutra_status look_at_file(struct sutra_et_check *check, const struct et_checking *checking,
                                      struct sutra_error *error) {
    enum sutra_status status = SUTRA_OK;
    for (size_t i = 0; i < n_et_rules && !status; i++) {
        const struct et_rule *rule = &et_rules[i];
        enum et_severity severity = severity_of(check, rule);
        struct et_found found = {.rule = rule};
        if (severity == ET_SILENT || rule->job)
            continue;
        if (rule->node)
            look_at_nodes(rule, checking, &found);
        else
            rule->file(checking, &found);
        status = keep(check, &found, severity, checking->file->source.name, error);
    }
    return status;
}

/* The groups that metadata nodes name; the older feeder runs such nodes as computation. */
static enum sutra_status take_groups(struct sutra_et_check *check, struct et_checking *checking,
                                     struct sutra_error *error) {
    const struct et_nodes *nodes = checking->nodes;
    enum sutra_status status = SUTRA_OK;
    for (row_t row = 0; row < nodes->n && !status; row++) {
        bool understood = true;
        if (nodes->type[row] == ET_METADATA)
            status = et_groups_take(&check->groups, et_text_at(nodes->text[ET_INPUT_VALUES], row), &check->arena,
                                    &understood, error);
        if (understood)
            continue;
        if (checking->n_puzzling < FOUND_IDS)
            checking->puzzling[checking->n_puzzling] = nodes->id[row];
        checking->n_puzzling++;
    }
    return status;
}

static enum sutra_status add_member(struct sutra_et_check *check, const struct et_checking *checking,
                                    struct sutra_error *error) {
    struct et_member member = {.rank = checking->rank};
    if (!column_grow(&check->members, check->n_members, &check->members_capacity, sizeof *check->members))
        return error_memory(error);
    enum sutra_status status = et_member_take(check, checking, &member, error);
    if (!status && !(member.name = strdup(checking->file->source.name)))
        status = error_memory(error);
    if (!status)
        check->members[check->n_members++] = member;
    return status;
}

enum sutra_status sutra_et_check_add(struct sutra_et_check *check, const struct sutra_et *et,
                                     struct sutra_error *error) {
    size_t prefix;
    struct arena arena = {0};
    struct et_checking checking = {.file = &et->file,
                                   .nodes = &et->file.nodes,
                                   .groups = &check->groups,
                                   .arena = &arena,
                                   .rank = et_rank_of(et->file.source.name, &prefix)};
    enum et_edges kinds = check->options.feeder == SUTRA_FEEDER_V1 ? ET_DATA : ET_ALL;
    stage_begin(check->context, "check", et->file.nodes.n);
    enum sutra_status status = et_graph_make(checking.nodes, kinds, &arena, &checking.graph, error);
    if (!status)
        status = take_groups(check, &checking, error);
    if (!status)
        status = look_at_file(check, &checking, error);
    if (!status && arena.failed)
        status = error_memory(error);
    if (!status)
        status = add_member(check, &checking, error);
    stage_end(check->context);
    arena_free(&arena);
    return status;
}

enum sutra_status sutra_et_check_finish(struct sutra_et_check *check, struct sutra_error *error) {
    enum sutra_status status = SUTRA_OK;
    et_members_sort(check);
    for (size_t i = 0; i < n_et_rules && !status; i++) {
        enum et_severity severity = severity_of(check, &et_rules[i]);
        struct et_found found = {.rule = &et_rules[i]};
        if (severity == ET_SILENT || !et_rules[i].job)
            continue;
        et_rules[i].job(check, &found);
        status = keep(check, &found, severity, NULL, error);
    }
    return status;
}

void sutra_et_check_report(const struct sutra_et_check *check, struct sutra_et_check_report *report) {
    struct sutra_et_check_report ours = {
        .n_files = check->n_members, .n_errors = check->n_errors, .n_warnings = check->n_warnings};
    report_give(report, &ours, sizeof ours);
}

bool sutra_et_check_finding(const struct sutra_et_check *check, uint64_t i, struct sutra_et_finding *finding) {
    if (i >= check->n_found)
        return false;
    const struct et_found *found = &check->found[i];
    *finding = (struct sutra_et_finding){.file = found->file,
                                         .rule = found->rule->id,
                                         .is_error = found->is_error,
                                         .count = found->count,
                                         .unit = found->rule->unit ? found->rule->unit : "nodes",
                                         .ids = found->ids,
                                         .n_ids = found->n_ids,
                                         .what = found->rule->what,
                                         .detail = found->detail,
                                         .why = found->rule->why,
                                         .mend = found->rule->mend};
    return true;
}
