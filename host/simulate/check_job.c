/*
 * check_job.c - what must agree between the files of a job: ranks, collectives, sends and receives.
 *
 * Each file leaves its communication behind, collectives by group. For the rules members stand by rank, so that a
 * member, and a group's collectives on it, are found by halving.
 */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/error.h"
#include "base/shared.h"
#include "simulate/check.h"
#include "simulate/et_format.h"

/* ---- What is kept of a file ---- */

static int64_t integer_or(const struct et_checking *checking, row_t row, enum et_name name, int64_t other) {
    int64_t value;
    return et_integer(checking->nodes, row, name, &value) ? value : other;
}

/* Groups whose name says no number are told apart by the name. */
static int64_t group_of(struct strings *names, const struct et_nodes *nodes, row_t row) {
    int64_t group;
    if (et_group_of(nodes, row, &group))
        return group;
    struct et_text name = et_group_name(nodes, row);
    return -2 - (int64_t)strings_intern(names, name.bytes, name.length);
}

static void keep_call(struct et_member *member, const struct et_checking *checking, row_t row, int64_t group) {
    member->calls[member->n_calls] =
        (struct et_collective_call){.group = group,
                                    .place = member->n_calls,
                                    .id = checking->nodes->id[row],
                                    .size = (uint64_t)integer_or(checking, row, ET_NAME_COMM_SIZE, -1),
                                    .type = integer_or(checking, row, ET_NAME_COMM_TYPE, -1)};
    member->n_calls++;
}

static void keep_message(struct et_member *member, const struct et_checking *checking, row_t row) {
    bool sent = checking->nodes->type[row] == ET_COMM_SEND;
    int64_t peer = integer_or(checking, row, sent ? ET_NAME_COMM_DST : ET_NAME_COMM_SRC, RANK_UNKNOWN);
    member->messages[member->n_messages++] =
        (struct et_message){.from = sent ? member->rank : peer,
                            .to = sent ? peer : member->rank,
                            .tag = integer_or(checking, row, ET_NAME_COMM_TAG, 0),
                            .size = (uint64_t)integer_or(checking, row, ET_NAME_COMM_SIZE, -1),
                            .id = checking->nodes->id[row],
                            .sent = sent};
}

ORDER_BY(compare_calls, struct et_collective_call, ASCENDING(group) ASCENDING(place))

static void take_room(struct et_member *member, const struct et_checking *checking, struct arena *arena) {
    const struct et_graph *graph = &checking->graph;
    uint64_t n_calls = 0, n_messages = 0;
    for (row_t i = 0; i < graph->n_order; i++) {
        int32_t type = checking->nodes->type[graph->order[i]];
        n_calls += type == ET_COMM_COLL;
        n_messages += type == ET_COMM_SEND || type == ET_COMM_RECV;
    }
    member->calls = arena_take(arena, n_calls, sizeof *member->calls);
    member->messages = arena_take(arena, n_messages, sizeof *member->messages);
}

enum sutra_status et_member_take(struct sutra_et_check *check, const struct et_checking *checking,
                                 struct et_member *member, struct sutra_error *error) {
    const struct et_graph *graph = &checking->graph;
    take_room(member, checking, &check->arena);
    if (check->arena.failed)
        return error_memory(error);
    for (row_t i = 0; i < graph->n_order; i++) {
        row_t row = graph->order[i];
        int32_t type = checking->nodes->type[row];
        int64_t group = type == ET_COMM_COLL ? group_of(&check->names, checking->nodes, row) : 0;
        if (group == -2 - (int64_t)STRING_NONE)
            return error_memory(error);
        if (type == ET_COMM_COLL)
            keep_call(member, checking, row, group);
        else if (et_is_communication(type))
            keep_message(member, checking, row);
    }
    qsort(member->calls, member->n_calls, sizeof *member->calls, compare_calls);
    return SUTRA_OK;
}

/* ---- Ranks ---- */

ORDER_BY(compare_members, struct et_member, ASCENDING(rank) ASCENDING_TEXT(name))

void et_members_sort(struct sutra_et_check *check) {
    if (check->n_members > 0)
        qsort(check->members, check->n_members, sizeof *check->members, compare_members);
}

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

void et_rule_ranks(struct sutra_et_check *check, struct et_found *found) {
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

/* ---- Collectives ---- */

/* A group's collectives on a member. */
struct group_calls {
    const struct et_collective_call *list;
    uint64_t n;
};

static struct group_calls calls_of(const struct et_member *member, int64_t group) {
    uint64_t low = 0, high = member->n_calls;
    while (low < high) {
        uint64_t middle = low + (high - low) / 2;
        if (member->calls[middle].group < group)
            low = middle + 1;
        else
            high = middle;
    }
    for (high = low; high < member->n_calls && member->calls[high].group == group;)
        high++;
    return (struct group_calls){member->calls + low, high - low};
}

struct call_words {
    char text[80];
};

static struct call_words describe(struct group_calls calls, uint64_t place) {
    struct call_words made = {"missing"};
    const char *name = place < calls.n ? et_collective_name(calls.list[place].type) : NULL;
    if (place < calls.n)
        snprintf(made.text, sizeof made.text, "%.20s of %" PRId64 " bytes (node %" PRIu64 ")", name ? name : "UNKNOWN",
                 (int64_t)calls.list[place].size, calls.list[place].id);
    return made;
}

static struct call_words name_group(const struct sutra_et_check *check, int64_t group) {
    struct call_words made;
    if (group < -1)
        snprintf(made.text, sizeof made.text, "%.60s", strings_text(&check->names, (uint32_t)(-2 - group)));
    else
        snprintf(made.text, sizeof made.text, "%" PRId64, group);
    return made;
}

/* Compares the collectives of a group on two members; tells where those of the first such pair differ. */
static bool differ(const struct sutra_et_check *check, const struct et_member *one, const struct et_member *other,
                   int64_t group, struct et_found *found) {
    struct group_calls a = calls_of(one, group), b = calls_of(other, group);
    uint64_t i = 0;
    while (i < a.n && i < b.n && a.list[i].type == b.list[i].type && a.list[i].size == b.list[i].size)
        i++;
    if (i == a.n && i == b.n)
        return false;
    if (found->count == 0)
        snprintf(found->detail, sizeof found->detail,
                 "collective %" PRIu64 " of group %s is %s on rank %" PRId64 " and %s on rank %" PRId64, i + 1,
                 name_group(check, group).text, describe(a, i).text, one->rank, describe(b, i).text, other->rank);
    return true;
}

/* Whether a rank takes part in a group: as the group says, or, where it is unknown, if it has a collective of it. */
static bool takes_part(const struct sutra_et_check *check, const struct et_member *member, int64_t group) {
    const struct et_group *known = et_group_find(&check->groups, group);
    if (group == 0)
        return true;
    return known ? et_group_has(known, member->rank) : calls_of(member, group).n > 0;
}

static void compare_group(const struct sutra_et_check *check, int64_t group, struct et_found *found) {
    const struct et_member *first = NULL;
    for (uint64_t i = 0; i < check->n_members; i++) {
        const struct et_member *member = &check->members[i];
        if (member->rank == RANK_UNKNOWN || !takes_part(check, member, group))
            continue;
        if (first && differ(check, first, member, group, found)) {
            found->count++;
            return;
        }
        first = first ? first : member;
    }
}

/* The groups that collectives run in, each once for each member that has some; they may repeat. */
static uint64_t take_groups(const struct sutra_et_check *check, int64_t *groups) {
    uint64_t n = 0;
    for (uint64_t i = 0; i < check->n_members; i++) {
        const struct et_member *member = &check->members[i];
        for (uint64_t k = 0; k < member->n_calls; k++)
            if (k == 0 || member->calls[k].group != member->calls[k - 1].group)
                groups[n++] = member->calls[k].group;
    }
    return n;
}

void et_rule_sequences(struct sutra_et_check *check, struct et_found *found) {
    struct arena_mark mark = arena_mark(&check->arena);
    uint64_t n = 0;
    for (uint64_t i = 0; i < check->n_members; i++)
        n += check->members[i].n_calls;
    int64_t *groups = arena_take(&check->arena, n, sizeof *groups);
    if (!groups)
        return;
    n = take_groups(check, groups);
    qsort(groups, n, sizeof *groups, compare_int64s);
    for (uint64_t i = 0; i < n; i++)
        if (i == 0 || groups[i] != groups[i - 1])
            compare_group(check, groups[i], found);
    arena_release(&check->arena, mark);
}

/* ---- Sends and receives ---- */

static int compare_routes(const struct et_message *a, const struct et_message *b) {
    if (a->from != b->from)
        return a->from < b->from ? -1 : 1;
    if (a->to != b->to)
        return a->to < b->to ? -1 : 1;
    if (a->tag != b->tag)
        return a->tag < b->tag ? -1 : 1;
    return (a->size > b->size) - (a->size < b->size);
}

static int compare_messages(const void *left, const void *right) {
    const struct et_message *a = left, *b = right;
    int routes = compare_routes(a, b);
    if (routes || a->sent != b->sent)
        return routes ? routes : a->sent ? 1 : -1;
    return (a->id > b->id) - (a->id < b->id);
}

/* Messages between ranks whose files are there. */
static uint64_t take_messages(const struct sutra_et_check *check, const struct et_member *member,
                              struct et_message *to) {
    uint64_t n = 0;
    for (uint64_t i = 0; i < member->n_messages; i++)
        if (has_member(check, member->messages[i].from) && has_member(check, member->messages[i].to))
            to[n++] = member->messages[i];
    return n;
}

static void found_lonely(const struct et_message *message, struct et_found *found) {
    if (found->count == 0)
        snprintf(found->detail, sizeof found->detail,
                 "%s from rank %" PRId64 " to rank %" PRId64 ", tag %" PRId64 ", %" PRId64 " bytes",
                 message->sent ? "send" : "receive", message->from, message->to, message->tag, (int64_t)message->size);
    et_found_add(found, message->id);
}

/* Of messages on one route receives stand before sends; as many of either as there are more have no partner. */
static void find_lonely(const struct et_message *messages, uint64_t n, struct et_found *found) {
    for (uint64_t begin = 0, end; begin < n; begin = end) {
        uint64_t n_sent = 0;
        for (end = begin; end < n && compare_routes(&messages[end], &messages[begin]) == 0; end++)
            n_sent += messages[end].sent;
        uint64_t n_received = end - begin - n_sent;
        for (uint64_t i = begin + n_sent; i < begin + n_received; i++)
            found_lonely(&messages[i], found);
        for (uint64_t i = begin + 2 * n_received; i < end; i++)
            found_lonely(&messages[i], found);
    }
}

void et_rule_pairs(struct sutra_et_check *check, struct et_found *found) {
    struct arena_mark mark = arena_mark(&check->arena);
    uint64_t n = 0;
    for (uint64_t i = 0; i < check->n_members; i++)
        n += check->members[i].n_messages;
    struct et_message *messages = arena_take(&check->arena, n, sizeof *messages);
    if (!messages)
        return;
    n = 0;
    for (uint64_t i = 0; i < check->n_members; i++)
        n += take_messages(check, &check->members[i], messages + n);
    qsort(messages, n, sizeof *messages, compare_messages);
    find_lonely(messages, n, found);
    arena_release(&check->arena, mark);
}
