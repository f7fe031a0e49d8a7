/*
 * check.c - sutra_et_check_...(): checks the requirements of ASTRA-sim on .et files.
 *
 *     file --> columns, graph --> rules of a file --> findings
 *                 \--> its communication -------> rules of the job --> findings
 *
 * All rules are in one table, with the ids of docs/checking.md. Cost: O(nodes + dependencies + attributes) per rule;
 * O(n log n) for n communication nodes. A job stores 48 bytes per communication node.
 */
#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/error.h"
#include "base/options.h"
#include "base/shared.h"
#include "columns/column.h"
#include "simulate/et_file.h"
#include "simulate/et_format.h"
#include "simulate/et_graph.h"
#include "text/numbers.h"

/* Number of ids in a finding. */
#define FOUND_IDS 5

/* Bytes of the description of a collective. */
#define DESCRIPTION_SIZE 80

enum et_severity { ET_SILENT, ET_WARNING, ET_ERROR };

struct et_checking;
struct et_found;

struct et_rule {
    const char *id;
    enum et_severity v3, v1;                                     /* with either feeder */
    bool roofline;                                               /* only if the simulator uses its roofline model */
    bool (*node)(const struct et_checking *checking, row_t row); /* whether a node breaks the rule; or */
    void (*file)(const struct et_checking *checking, struct et_found *found); /* findings of a file; or */
    void (*job)(struct sutra_et_check *check, struct et_found *found);        /* findings of the job */
    const char *what, *why, *remedy;
    const char *unit;     /* of the count; NULL: nodes */
    bool needs_no_replay; /* a warning if ASTRA-sim replays durations, before it reads types and attributes */
};

/* A finding of a rule. */
struct et_found {
    const struct et_rule *rule;
    char *file; /* NULL: of the job */
    bool is_error;
    uint64_t count;
    uint64_t ids[FOUND_IDS];
    uint32_t n_ids;
    char detail[400];
};

/* A file while it is checked. */
struct et_checking {
    const struct et_file *file;
    const struct et_nodes *nodes;
    struct et_graph graph;
    const struct et_groups *groups;
    struct arena *arena; /* scratch memory of a rule */
    int64_t rank;        /* or RANK_UNKNOWN */
    row_t n_unreadable;  /* metadata nodes with groups that ASTRA-sim cannot read */
    uint64_t unreadable[FOUND_IDS];
};

/* A collective, for the comparison with other ranks. */
struct et_collective_call {
    int64_t group;         /* its number, or -2 less the id of its name, if the name is not a number */
    uint64_t index;        /* index among the collectives of the rank, in an order that the dependencies allow */
    uint64_t astra_number; /* the same among the collectives that ASTRA-sim numbers: all but broadcasts */
    uint64_t id, size;
    int64_t type; /* enum et_collective */
};

/* A send or a receive. */
struct et_message {
    int64_t from, to, tag;
    uint64_t size, id;
    bool sent;
};

/* The communication of a file of the job. */
struct et_member {
    char *name;
    int64_t rank;
    struct et_collective_call *calls; /* by group, then by index */
    struct et_message *messages;
    uint64_t n_calls, n_messages;
};

struct sutra_et_check {
    struct sutra_context *context;
    struct sutra_et_check_options options;
    struct arena arena;
    struct et_groups groups;
    bool has_groups;      /* of a comm_group.json */
    struct strings names; /* names of groups without a number */
    struct et_member *members;
    uint64_t n_members, members_capacity;
    struct et_found *found;
    uint64_t n_found, found_capacity;
    uint64_t n_errors, n_warnings; /* number of findings */
};

/* ---- Rules of a file: its messages, ids and dependencies ---- */

static void et_found_add(struct et_found *found, uint64_t id) {
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

static void found_damage(const struct et_file *file, struct et_found *found) {
    if (file->damage.offset == SUTRA_NO_OFFSET)
        found_once(found, "%s", file->damage.message);
    else
        found_once(found, "byte %" PRIu64 ": %s", file->damage.offset, file->damage.message);
}

static void et_rule_first_message(const struct et_checking *checking, struct et_found *found) {
    const struct et_file *file = checking->file;
    if (file->has_metadata)
        return;
    if (file->damage.status)
        found_damage(file, found);
    else
        found_once(found, "the file is empty");
}

static void et_rule_truncated(const struct et_checking *checking, struct et_found *found) {
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

static void et_rule_name(const struct et_checking *checking, struct et_found *found) {
    if (checking->rank == RANK_UNKNOWN)
        found_once(found, "%s", "");
}

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

/* Whether a list contains an id twice. Lists are short except in adversarial files, so the search is limited. */
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

/* A dependency of `row` that is not in the order either; each such row has one. */
static row_t unordered_above(const struct et_graph *graph, const bool *is_ordered, row_t row) {
    for (uint64_t i = graph->up.first[row]; i < graph->up.first[row + 1]; i++)
        if (graph->up.rows[i] != ROW_NONE && !is_ordered[graph->up.rows[i]])
            return graph->up.rows[i];
    return row;
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
        /* Report the ids of a cycle, found by following dependencies for as many steps as there are nodes. */
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

static void et_rule_unreadable_groups(const struct et_checking *checking, struct et_found *found) {
    for (row_t i = 0; i < checking->n_unreadable && i < FOUND_IDS; i++)
        found->ids[found->n_ids++] = checking->unreadable[i];
    found->count = checking->n_unreadable;
}

/* ---- Rules of a node: its type, duration, attributes and group ---- */

/* Smaller collectives are divided into nothing (preferred-dataset-splits of system.json, usually 4). */
#define ALL_GATHER_MIN 4

static bool is_type(const struct et_checking *checking, row_t row, int32_t type) {
    return checking->nodes->type[row] == type;
}

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

static bool et_rule_values(const struct et_checking *checking, row_t row) {
    const struct et_nodes *nodes = checking->nodes;
    for (uint64_t i = nodes->attr_first[row]; i < nodes->attr_first[row + 1]; i++)
        if (!et_kind_is_readable(nodes->attributes.name[i], nodes->attributes.kind[i]))
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

/* The bytes of a communication; false: not recorded. */
static bool size_of(const struct et_checking *checking, row_t row, int64_t *size) {
    return et_is_communication(checking->nodes->type[row]) && et_integer(checking->nodes, row, ET_NAME_COMM_SIZE, size);
}

static bool is_small_gather(const struct et_checking *checking, row_t row, int64_t size) {
    int64_t type;
    return is_type(checking, row, ET_COMM_COLL) && et_integer(checking->nodes, row, ET_NAME_COMM_TYPE, &type) &&
           type == ET_ALL_GATHER && size < ALL_GATHER_MIN;
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

static bool et_rule_group_name(const struct et_checking *checking, row_t row) {
    int64_t group;
    return et_is_communication(checking->nodes->type[row]) && !et_group_of(checking->nodes, row, &group);
}

/* The group of a collective, unless it is the group of all ranks. */
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
 * ---- Rules of a job: its ranks, collectives, sends and receives ----
 *
 * A job stores the communication of each file, collectives by group. Members are sorted by rank, so binary search finds
 * a member, and the collectives of a group on it.
 */

/* Groups whose names are not numbers are identified by their names. */
static int64_t group_of(struct strings *names, const struct et_nodes *nodes, row_t row) {
    int64_t group;
    if (et_group_of(nodes, row, &group))
        return group;
    struct et_text name = et_group_name(nodes, row);
    return -2 - (int64_t)strings_intern(names, name.bytes, name.length);
}

ORDER_BY(compare_calls, struct et_collective_call, ASCENDING(group) ASCENDING(index))

static enum sutra_status read_member(struct sutra_et_check *check, const struct et_checking *checking,
                                     struct et_member *member, struct sutra_error *error) {
    const struct et_graph *graph = &checking->graph;
    uint64_t n_calls = 0, n_messages = 0, n_numbered = 0;
    for (row_t i = 0; i < graph->n_order; i++) {
        int32_t type = checking->nodes->type[graph->order[i]];
        n_calls += type == ET_COMM_COLL;
        n_messages += type == ET_COMM_SEND || type == ET_COMM_RECV;
    }
    member->calls = arena_alloc(&check->arena, n_calls, sizeof *member->calls);
    member->messages = arena_alloc(&check->arena, n_messages, sizeof *member->messages);
    TRY(arena_status(&check->arena, error));
    for (row_t i = 0; i < graph->n_order; i++) {
        row_t row = graph->order[i];
        int32_t type = checking->nodes->type[row];
        int64_t group = type == ET_COMM_COLL ? group_of(&check->names, checking->nodes, row) : 0;
        if (group == -2 - (int64_t)STRING_NONE)
            return error_memory(error);
        if (type == ET_COMM_COLL) {
            member->calls[member->n_calls] = (struct et_collective_call){
                .group = group,
                .index = member->n_calls,
                .astra_number = n_numbered,
                .id = checking->nodes->id[row],
                .size = (uint64_t)et_integer_or(checking->nodes, row, ET_NAME_COMM_SIZE, -1),
                .type = et_integer_or(checking->nodes, row, ET_NAME_COMM_TYPE, -1)};
            n_numbered += member->calls[member->n_calls++].type != ET_BROADCAST;
        } else if (et_is_communication(type)) {
            bool sent = checking->nodes->type[row] == ET_COMM_SEND;
            int64_t peer =
                et_integer_or(checking->nodes, row, sent ? ET_NAME_COMM_DST : ET_NAME_COMM_SRC, RANK_UNKNOWN);
            member->messages[member->n_messages++] =
                (struct et_message){.from = sent ? member->rank : peer,
                                    .to = sent ? peer : member->rank,
                                    .tag = et_integer_or(checking->nodes, row, ET_NAME_COMM_TAG, 0),
                                    .size = (uint64_t)et_integer_or(checking->nodes, row, ET_NAME_COMM_SIZE, -1),
                                    .id = checking->nodes->id[row],
                                    .sent = sent};
        }
    }
    qsort(member->calls, member->n_calls, sizeof *member->calls, compare_calls);
    return SUTRA_OK;
}

ORDER_BY(compare_members, struct et_member, ASCENDING(rank) ASCENDING_TEXT(name))

static int compare_rank(const void *key, const void *element) {
    const int64_t *rank = key;
    const struct et_member *member = element;
    return (*rank > member->rank) - (*rank < member->rank);
}

static bool has_member(const struct sutra_et_check *check, int64_t rank) {
    return rank != RANK_UNKNOWN && check->n_members > 0 &&
           bsearch(&rank, check->members, check->n_members, sizeof *check->members, compare_rank);
}

static bool has_other_prefix(const struct et_member *a, const struct et_member *b) {
    size_t length_a = 0, length_b = 0;
    et_rank_of(a->name, &length_a);
    et_rank_of(b->name, &length_b);
    return length_a != length_b || memcmp(a->name, b->name, length_a) != 0;
}

static void et_rule_ranks(struct sutra_et_check *check, struct et_found *found) {
    const struct et_member *members = check->members;
    char *text = found->detail;
    size_t size = sizeof found->detail;
    for (uint64_t i = 0; i < check->n_members && check->n_members > 1 && !found->count; i++) {
        found->count = 1;
        if (members[i].rank == RANK_UNKNOWN)
            snprintf(text, size, "no rank in the name of %.200s", members[i].name);
        else if (has_other_prefix(&members[i], &members[0]))
            snprintf(text, size, "different prefixes: %.100s and %.100s", members[0].name, members[i].name);
        else if (i > 0 && members[i].rank == members[i - 1].rank)
            snprintf(text, size, "duplicate rank %" PRId64, members[i].rank);
        else if (members[i].rank != (int64_t)i)
            snprintf(text, size, "missing rank %" PRIu64, i);
        else
            found->count = 0;
    }
}

/* Ranks of the groups of comm_group.json that run collectives, but have no file. The first rank with a file reports the
 * others. */
static void et_rule_group_files(struct sutra_et_check *check, struct et_found *found) {
    for (uint64_t m = 0; m < check->n_members && check->has_groups; m++) {
        const struct et_member *member = &check->members[m];
        for (uint64_t k = 0; k < member->n_calls; k++) {
            const int64_t number = member->calls[k].group;
            const bool is_first = k == 0 || number != member->calls[k - 1].group;
            const struct et_group *group = is_first && number > 0 ? et_group_find(&check->groups, number) : NULL;
            uint64_t reporting = 0;
            while (group && reporting < group->n && !has_member(check, group->ranks[reporting]))
                reporting++;
            if (!group || (reporting < group->n && group->ranks[reporting] != member->rank))
                continue;
            for (uint64_t r = 0; r < group->n; r++)
                if (!has_member(check, group->ranks[r]) && found->count++ == 0)
                    snprintf(found->detail, sizeof found->detail,
                             "rank %" PRId64 " of group %" PRId64 " has no file, but rank %" PRId64
                             " runs collectives of the group",
                             group->ranks[r], number, member->rank);
        }
    }
}

/* The n collectives of a group on a member. */
static const struct et_collective_call *calls_of(const struct et_member *member, int64_t group, uint64_t *n) {
    uint64_t first;
    BISECT(first, member->n_calls, member->calls[first].group < group);
    uint64_t end = first;
    while (end < member->n_calls && member->calls[end].group == group)
        end++;
    *n = end - first;
    return member->calls + first;
}

/* Writes "ALL_REDUCE of 8 bytes (node 3)" of a collective, or "missing" (NULL). */
static const char *describe_call(const struct et_collective_call *call, char text[static DESCRIPTION_SIZE]) {
    if (!call)
        return "missing";
    const char *name = et_collective_name(call->type);
    snprintf(text, DESCRIPTION_SIZE, "%.20s of %" PRId64 " bytes (node %" PRIu64 ")", name ? name : "UNKNOWN",
             (int64_t)call->size, call->id);
    return text;
}

/* Compares the collectives of a group on two members. Reports the first pair that differs. */
static bool differ(const struct sutra_et_check *check, const struct et_member *one, const struct et_member *other,
                   int64_t group, struct et_found *found) {
    uint64_t n_a, n_b;
    const struct et_collective_call *a = calls_of(one, group, &n_a), *b = calls_of(other, group, &n_b);
    uint64_t i = 0;
    while (i < n_a && i < n_b && a[i].type == b[i].type && a[i].size == b[i].size)
        i++;
    if (i == n_a && i == n_b)
        return false;
    if (found->count)
        return true;
    char group_text[DESCRIPTION_SIZE], text_a[DESCRIPTION_SIZE], text_b[DESCRIPTION_SIZE];
    if (group < -1)
        snprintf(group_text, sizeof group_text, "%.60s", strings_text(&check->names, (uint32_t)(-2 - group)));
    else
        snprintf(group_text, sizeof group_text, "%" PRId64, group);
    snprintf(found->detail, sizeof found->detail,
             "collective %" PRIu64 " of group %s is %s on rank %" PRId64 " and %s on rank %" PRId64, i + 1, group_text,
             describe_call(i < n_a ? &a[i] : NULL, text_a), one->rank, describe_call(i < n_b ? &b[i] : NULL, text_b),
             other->rank);
    return true;
}

/* Whether a rank is in a group: by the definition of the group, or, if it is unknown, by a collective in it. */
static bool is_member(const struct sutra_et_check *check, const struct et_member *member, int64_t group) {
    const struct et_group *known = et_group_find(&check->groups, group);
    uint64_t n;
    if (group == 0)
        return true;
    if (known)
        return et_group_has(known, member->rank);
    calls_of(member, group, &n);
    return n > 0;
}

static void compare_group(const struct sutra_et_check *check, int64_t group, struct et_found *found) {
    const struct et_member *first = NULL;
    for (uint64_t i = 0; i < check->n_members; i++) {
        const struct et_member *member = &check->members[i];
        if (member->rank == RANK_UNKNOWN || !is_member(check, member, group))
            continue;
        if (first && differ(check, first, member, group, found)) {
            found->count++;
            return;
        }
        first = first ? first : member;
    }
}

static void et_rule_sequences(struct sutra_et_check *check, struct et_found *found) {
    struct arena_mark mark = arena_mark(&check->arena);
    uint64_t n = 0;
    for (uint64_t i = 0; i < check->n_members; i++)
        n += check->members[i].n_calls;
    int64_t *groups = arena_alloc(&check->arena, n, sizeof *groups);
    if (!groups)
        return;
    /* List the groups of the collectives of each member; they may repeat. */
    n = 0;
    for (uint64_t m = 0; m < check->n_members; m++) {
        const struct et_member *member = &check->members[m];
        for (uint64_t k = 0; k < member->n_calls; k++)
            if (k == 0 || member->calls[k].group != member->calls[k - 1].group)
                groups[n++] = member->calls[k].group;
    }
    qsort(groups, n, sizeof *groups, compare_int64s);
    for (uint64_t i = 0; i < n; i++)
        if (i == 0 || groups[i] != groups[i - 1])
            compare_group(check, groups[i], found);
    arena_release(&check->arena, mark);
}

/* Whether a collective of all ranks has different numbers on two members; reports the first one. */
static bool differs_in_number(const struct et_member *one, const struct et_member *other, struct et_found *found) {
    uint64_t n_a, n_b, i = 0;
    const struct et_collective_call *a = calls_of(one, 0, &n_a), *b = calls_of(other, 0, &n_b);
    while (i < n_a && i < n_b && (a[i].type == ET_BROADCAST || a[i].astra_number == b[i].astra_number))
        i++;
    if (i == n_a || i == n_b)
        return false;
    if (found->count == 0)
        snprintf(found->detail, sizeof found->detail,
                 "node %" PRIu64 " is collective %" PRIu64 " of rank %" PRId64 ", but node %" PRIu64
                 " is collective %" PRIu64 " of rank %" PRId64,
                 a[i].id, a[i].astra_number + 1, one->rank, b[i].id, b[i].astra_number + 1, other->rank);
    return true;
}

static void et_rule_numbers(struct sutra_et_check *check, struct et_found *found) {
    const struct et_member *first = NULL;
    for (uint64_t i = 0; i < check->n_members; i++) {
        const struct et_member *member = &check->members[i];
        if (member->rank == RANK_UNKNOWN)
            continue;
        found->count += first && differs_in_number(first, member, found);
        first = first ? first : member;
    }
}

#define ROUTE_KEYS ASCENDING(from) ASCENDING(to) ASCENDING(tag) ASCENDING(size)

ORDER_BY(compare_routes, struct et_message, ROUTE_KEYS)
ORDER_BY(compare_messages, struct et_message, ROUTE_KEYS ASCENDING(sent) ASCENDING(id))

static void add_unmatched(const struct et_message *message, struct et_found *found) {
    if (found->count == 0)
        snprintf(found->detail, sizeof found->detail,
                 "%s from rank %" PRId64 " to rank %" PRId64 ", tag %" PRId64 ", %" PRId64 " bytes",
                 message->sent ? "send" : "receive", message->from, message->to, message->tag, (int64_t)message->size);
    et_found_add(found, message->id);
}

static void et_rule_pairs(struct sutra_et_check *check, struct et_found *found) {
    struct arena_mark mark = arena_mark(&check->arena);
    uint64_t n = 0;
    for (uint64_t i = 0; i < check->n_members; i++)
        n += check->members[i].n_messages;
    struct et_message *messages = arena_alloc(&check->arena, n, sizeof *messages);
    if (!messages)
        return;
    n = 0;
    for (uint64_t i = 0; i < check->n_members; i++) {
        /* Messages between ranks with files. */
        for (uint64_t k = 0; k < check->members[i].n_messages; k++)
            if (has_member(check, check->members[i].messages[k].from) &&
                has_member(check, check->members[i].messages[k].to))
                messages[n++] = check->members[i].messages[k];
    }
    qsort(messages, n, sizeof *messages, compare_messages);

    /* Of the messages of one route receives precede sends; the excess of either is unmatched. */
    for (uint64_t begin = 0, end; begin < n; begin = end) {
        uint64_t n_sent = 0;
        for (end = begin; end < n && compare_routes(&messages[end], &messages[begin]) == 0; end++)
            n_sent += messages[end].sent;
        uint64_t n_received = end - begin - n_sent;
        for (uint64_t k = begin + n_sent; k < begin + n_received; k++)
            add_unmatched(&messages[k], found);
        for (uint64_t k = begin + 2 * n_received; k < end; k++)
            add_unmatched(&messages[k], found);
    }
    arena_release(&check->arena, mark);
}

/* ---- The table of rules: problem, effect in ASTRA-sim, remedy ---- */

#define E ET_ERROR
#define W ET_WARNING
#define O ET_SILENT

// clang-format off
static const struct et_rule et_rules[] = {
    {"R1", E, E, .file = et_rule_first_message, .what = "the file does not begin with GlobalMetadata",
     .why = "The feeder throws \"Failed to read global metadata\".",
     .remedy = "Convert the trace again."},
    {"R2", E, E, .file = et_rule_truncated, .what = "a truncated, malformed or empty message",
     .why = "The feeder reads a truncated message as a node with id 0, and Chakra's readers stop at an empty message.",
     .remedy = "Copy or convert the file again."},
    {"R4", E, E, .file = et_rule_no_nodes, .what = "no nodes",
     .why = "The feeder finds no first node and reports a deadlock.",
     .remedy = "Convert a trace in which a thread runs operators."},
    {"R5", W, W, .file = et_rule_name, .what = "the file name is not PREFIX.RANK.et",
     .why = "ASTRA-sim opens files by this pattern. Rules that need the rank were skipped.",
     .remedy = "Rename the file."},
    {"R5a", E, E, .file = et_rule_same_ids, .what = "a duplicate id",
     .why = "The feeder keeps the last node of each id; the others never run.",
     .remedy = "Give each node a unique id."},
    {"R6", E, E, .node = et_rule_absent, .what = "a dependency on an absent node",
     .why = "The feeder v3 reports a corrupt file; v1 never issues the node.",
     .remedy = "Remove these dependencies, as sutra convert does without --compat."},
    {"R7", E, E, .file = et_rule_cycle, .what = "in or after a dependency cycle",
     .why = "These nodes never run, and ASTRA-sim does not report them.",
     .remedy = "Remove one dependency of the cycle."},
    {"R8", O, E, .node = et_rule_repeated, .what = "a duplicate dependency",
     .why = "The feeder v1 clears it once, so the node waits forever.",
     .remedy = "List each dependency once."},
    {"R9", O, W, .node = et_rule_later_parent, .what = "a dependency on a later node of the file",
     .why = "The feeder v1 reads the file in windows and searches for the node in each window.",
     .remedy = "Sort the nodes so that each node follows its dependencies."},
    {"R10", W, W, .file = et_rule_kernels_unordered, .what = "GPU nodes without dependents",
     .why = "Kernels of a stream may run in any order, and no node waits for them.",
     .remedy = "Convert with the device trace, so that streams and waits become dependencies."},
    {"R11", E, E, .node = et_rule_type, .what = "an unknown node type",
     .why = "ASTRA-sim stops with \"Unknown node type\".",
     .remedy = "Use the types 1 to 7."},
    {"R11a", E, E, .node = et_rule_invalid, .what = "type INVALID_NODE",
     .why = "ASTRA-sim skips these nodes, and their dependents never run.",
     .remedy = "Change their type to COMP_NODE, or remove them.", .needs_no_replay = true},
    {"R12", E, O, .node = et_rule_metadata, .what = "type METADATA_NODE",
     .why = "ASTRA-sim's statistics abort at these nodes.",
     .remedy = "Change their type to COMP_NODE, or remove them and define the groups in comm_group.json."},
    {"R12a", W, O, .file = et_rule_unreadable_groups, .what = "metadata with unreadable process groups",
     .why = "ASTRA-sim prints an error and lacks the groups.",
     .remedy = "Define the groups in comm_group.json, such as {\"3\": [0, 1]}."},
    {"R13", E, E, .node = et_rule_cpu_communication, .what = "communication on the CPU",
     .why = "ASTRA-sim stops with \"Comm node should not be on CPU\".",
     .remedy = "Set is_cpu_op to false.", .needs_no_replay = true},
    {"R14", W, W, .node = et_rule_no_duration, .what = "computation without duration",
     .why = "Each node runs for 1 ns.",
     .remedy = "No fix is needed; a device trace provides durations."},
    {"R14a", E, E, .node = et_rule_long_duration, .what = "a duration above 64 bits of nanoseconds",
     .why = "ASTRA-sim computes a wrong time.",
     .remedy = "Check the source of the durations."},
    {"R15", E, E, true, .node = et_rule_roofline, .what = "GPU computation without num_ops or tensor_size",
     .why = "The roofline model throws \"Attribute num_ops not found\".",
     .remedy = "Add both attributes, or disable the roofline model."},
    {"R15a", W, W, true, .node = et_rule_no_tensor, .what = "GPU computation with a tensor_size of 0",
     .why = "ASTRA-sim skips these nodes.",
     .remedy = "Set tensor_size to the bytes that the kernel moves."},
    {"R16", E, E, .node = et_rule_memory, .what = "memory access without tensor_size",
     .why = "The feeder throws because the attribute is missing.",
     .remedy = "Set tensor_size to the bytes of the access.", .needs_no_replay = true},
    {"R20", E, E, .node = et_rule_collective, .what = "a collective without comm_type or comm_size",
     .why = "The feeder throws because the attribute is missing; v1 uses an arbitrary number.",
     .remedy = "Add both attributes.", .needs_no_replay = true},
    {"R20a", O, E, .node = et_rule_narrow_kinds, .what = "a communication attribute of a kind that v1 does not read",
     .why = "The feeder v1 reads int64_val of comm_type and comm_size, int32_val of the other attributes, else 0.",
     .remedy = "Use these kinds."},
    {"R21", E, E, .node = et_rule_collective_type, .what = "an unsupported collective",
     .why = "ASTRA-sim stops with \"Unsupported collective comm type\".",
     .remedy = "Use all-reduce, all-gather, broadcast, all-to-all or reduce-scatter.", .needs_no_replay = true},
    {"R22", E, E, .node = et_rule_size, .what = "a negative comm_size, or an all-gather of fewer than 4 bytes",
     .why = "ASTRA-sim reads a negative size as a huge one, and divides a small all-gather by 0.",
     .remedy = "Correct the size, or remove the node.", .needs_no_replay = true},
    {"R22a", W, W, .node = et_rule_no_size, .what = "communication of 0 bytes",
     .why = "Each node takes the time of the smallest message.",
     .remedy = "No fix is needed if no data was sent."},
    {"R23", E, E, .node = et_rule_peer,
     .what = "a send without comm_dst, comm_tag or comm_size, or a receive without comm_src, comm_tag or comm_size",
     .why = "The feeder throws because the attribute is missing, unless it replays durations (\"replay-only\": 1).",
     .remedy = "Add the attributes.", .needs_no_replay = true},
    {"R23a", E, E, .node = et_rule_own_rank,
     .what = "a send whose comm_src, or a receive whose comm_dst, is not the rank of the file",
     .why = "ASTRA-sim stops.",
     .remedy = "Name the file after its rank, or remove the attribute."},
    {"R24", E, E, .node = et_rule_group_name, .what = "a pg_name that does not begin with a number",
     .why = "std::stoi throws.",
     .remedy = "Use numbers as group names; use \"0\" or no pg_name for all ranks.", .needs_no_replay = true},
    {"R24a", E, E, .node = et_rule_group_unknown, .what = "an unknown process group",
     .why = "ASTRA-sim stops with \"communicator group not found\".",
     .remedy = "Pass a comm_group.json that contains the group to ASTRA-sim and to --groups.", .needs_no_replay = true},
    {"R25", W, W, .node = et_rule_not_member, .what = "a process group without the rank of the file",
     .why = "The rank has no position in the ring of the collective.",
     .remedy = "Correct the group or the file name."},
    {"R27", E, E, .node = et_rule_values, .what = "an attribute without a value or of an unsupported kind",
     .why = "The feeder throws \"Attribute type not supported\" or a bad cast.",
     .remedy = "Use integers, a string for pg_name and a list of bool for involved_dim; remove empty attributes."},
    {"R5b", E, E, .job = et_rule_ranks, .what = "the files are not the ranks 0, 1, ... of one job",
     .why = "ASTRA-sim opens PREFIX.0.et, PREFIX.1.et and so on, one file per rank.",
     .remedy = "Rename the files, or pass the files of all ranks."},
    {"R5c", E, E, .job = et_rule_group_files, .what = "a member of a process group without a file",
     .why = "A collective waits for all members of its group, so the simulation never ends.",
     .remedy = "Pass the files of all members.", .unit = "ranks", .needs_no_replay = true},
    {"R26", E, E, .job = et_rule_sequences, .what = "mismatched collectives of a process group",
     .why = "A collective waits for the same collective on each member, so the simulation never ends.",
     .remedy = "Use traces of the same steps of one run.", .unit = "groups", .needs_no_replay = true},
    {"R26a", E, E, .job = et_rule_pairs, .what = "an unmatched send or receive",
     .why = "The simulation never ends.",
     .remedy = "Use traces of the same steps of one run.", .needs_no_replay = true},
    {"R26b", E, E, .job = et_rule_numbers,
     .what = "collectives without a process group, after different numbers of collectives of the ranks",
     .why = "ASTRA-sim matches them by their number among all collectives of a rank, so the simulation never ends "
            "(exit code 0, without a \"finished\" line of these ranks).",
     .remedy = "Set pg_name to a group of all ranks in comm_group.json, as 'sutra link --astra' does.", .unit = "ranks",
     .needs_no_replay = true},
};
// clang-format on

static const size_t n_et_rules = sizeof et_rules / sizeof *et_rules;

enum sutra_status sutra_et_check_create(struct sutra_context *context, const struct sutra_et_check_options *options,
                                        struct sutra_et_check **check, struct sutra_error *error) {
    static const struct options_form form = OPTIONS_FORM(sutra_et_check_options, groups);
    struct sutra_et_check *made = calloc(1, sizeof *made);
    TRY_ALLOC(made, error);
    made->context = context;
    enum sutra_status status = options_copy(&form, options, &made->options, error);
    if (!status && !strings_init(&made->names))
        status = error_memory(error);
    made->has_groups = made->options.groups;
    if (!status && made->options.groups)
        status = et_groups_read(&made->groups, context, made->options.groups, &made->arena, error);
    made->options.groups = NULL; /* owned by the caller, who may free it */
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
    const enum et_severity severity = check->options.feeder == SUTRA_FEEDER_V1 ? rule->v1 : rule->v3;
    return severity == ET_ERROR && check->options.replay && rule->needs_no_replay ? ET_WARNING : severity;
}

/* Stores a finding, if the rule found any node. */
static enum sutra_status add_finding(struct sutra_et_check *check, struct et_found *found, enum et_severity severity,
                                     const char *file, struct sutra_error *error) {
    TRY(arena_status(&check->arena, error));
    if (found->count == 0)
        return SUTRA_OK;
    TRY_ALLOC(column_grow(&check->found, check->n_found, &check->found_capacity, sizeof *check->found), error);
    found->file = file ? strdup(file) : NULL;
    if (file && !found->file)
        return error_memory(error);
    found->is_error = severity == ET_ERROR;
    check->n_errors += found->is_error;
    check->n_warnings += !found->is_error;
    check->found[check->n_found++] = *found;
    return SUTRA_OK;
}

static enum sutra_status check_file(struct sutra_et_check *check, const struct et_checking *checking,
                                    struct sutra_error *error) {
    for (size_t i = 0; i < n_et_rules; i++) {
        const struct et_rule *rule = &et_rules[i];
        enum et_severity severity = severity_of(check, rule);
        struct et_found found = {.rule = rule};
        if (severity == ET_SILENT || rule->job)
            continue;
        if (rule->node) {
            for (row_t row = 0; row < checking->nodes->n; row++)
                if (rule->node(checking, row))
                    et_found_add(&found, checking->nodes->id[row]);
        } else {
            rule->file(checking, &found);
        }
        TRY(add_finding(check, &found, severity, checking->file->source.name, error));
    }
    return SUTRA_OK;
}

/* Read the groups of metadata nodes; the feeder v1 runs these nodes as computation. */
static enum sutra_status read_groups(struct sutra_et_check *check, struct et_checking *checking,
                                     struct sutra_error *error) {
    const struct et_nodes *nodes = checking->nodes;
    for (row_t row = 0; row < nodes->n; row++) {
        bool understood = true;
        if (nodes->type[row] == ET_METADATA)
            TRY(et_groups_take(&check->groups, et_text_at(nodes->text[ET_INPUT_VALUES], row), &check->arena,
                               &understood, error));
        if (understood)
            continue;
        if (checking->n_unreadable < FOUND_IDS)
            checking->unreadable[checking->n_unreadable] = nodes->id[row];
        checking->n_unreadable++;
    }
    return SUTRA_OK;
}

static enum sutra_status add_member(struct sutra_et_check *check, const struct et_checking *checking,
                                    struct sutra_error *error) {
    struct et_member member = {.rank = checking->rank};
    TRY_ALLOC(column_grow(&check->members, check->n_members, &check->members_capacity, sizeof *check->members), error);
    TRY(read_member(check, checking, &member, error));
    member.name = strdup(checking->file->source.name);
    TRY_ALLOC(member.name, error);
    check->members[check->n_members++] = member;
    return SUTRA_OK;
}

static enum sutra_status add_file(struct sutra_et_check *check, struct et_checking *checking,
                                  struct sutra_error *error) {
    const enum et_edges kinds = check->options.feeder == SUTRA_FEEDER_V1 ? ET_DATA : ET_ALL;
    TRY(et_graph_make(checking->nodes, kinds, checking->arena, &checking->graph, error));
    TRY(read_groups(check, checking, error));
    TRY(check_file(check, checking, error));
    TRY(arena_status(checking->arena, error));
    return add_member(check, checking, error);
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
    stage_begin(check->context, "check", et->file.nodes.n);
    enum sutra_status status = add_file(check, &checking, error);
    stage_end(check->context);
    arena_free(&arena);
    return status;
}

enum sutra_status sutra_et_check_finish(struct sutra_et_check *check, struct sutra_error *error) {
    if (check->n_members > 0)
        qsort(check->members, check->n_members, sizeof *check->members, compare_members);
    for (size_t i = 0; i < n_et_rules; i++) {
        enum et_severity severity = severity_of(check, &et_rules[i]);
        struct et_found found = {.rule = &et_rules[i]};
        if (severity == ET_SILENT || !et_rules[i].job)
            continue;
        et_rules[i].job(check, &found);
        TRY(add_finding(check, &found, severity, NULL, error));
    }
    return SUTRA_OK;
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
                                         .remedy = found->rule->remedy};
    return true;
}
