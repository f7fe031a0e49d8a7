/*
 * comm_groups.c - names of groups from kernels and from the nodes that describe groups, ranks from the latter.
 */
#include "simulate/comm_groups.h"

#include <stdio.h>
#include <string.h>

#include "base/error.h"

/* Numbers that are made of names begin here, beyond those that PyTorch gives. */
#define FIRST_MADE  (1u << 20)
#define MADE_SPREAD (1u << 30)

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

/* Of a name that is none: FNV-1a of its bytes. */
void comm_group_number_of(const char *name, size_t length, char number[GROUP_NUMBER_MAX]) {
    uint32_t hash = 2166136261u;
    for (size_t i = 0; i < length; i++)
        hash = (hash ^ (unsigned char)name[i]) * 16777619u;
    if (is_number(name, length))
        snprintf(number, GROUP_NUMBER_MAX, "%.*s", (int)length, name);
    else
        snprintf(number, GROUP_NUMBER_MAX, "%u", FIRST_MADE + hash % MADE_SPREAD);
}

static struct et_text make_number(struct arena *arena, struct et_text name) {
    char *digits = arena_take(arena, GROUP_NUMBER_MAX, 1);
    if (!digits)
        return name;
    comm_group_number_of(name.bytes, name.length, digits);
    return (struct et_text){digits, (uint32_t)strlen(digits)};
}

static bool add_names(struct comm_groups *groups, const struct node_graph *graph) {
    const struct plus_nodes *nodes = &graph->plus->nodes;
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

static void number_names(struct comm_groups *groups) {
    for (uint32_t i = 0; i < groups->names.n && groups->list; i++) {
        struct et_text name = {strings_text(&groups->names, i), (uint32_t)strings_length(&groups->names, i)};
        bool number = is_number(name.bytes, name.length);
        groups->list[i].number = number ? name : make_number(&groups->arena, name);
        groups->n_numbered += !number && i < groups->n_used;
    }
}

/* ---- members ---- */

/* Behind the first `part` of the text; NULL: there is none. */
static const char *behind(const char *text, const char *end, const char *part) {
    const char *at = memmem(text, (size_t)(end - text), part, strlen(part));
    return at ? at + strlen(part) : NULL;
}

/* Reads "0, 2]" into a group. */
static void read_ranks(struct comm_groups *groups, struct comm_group *group, const char *at, const char *end) {
    const char *close = memchr(at, ']', (size_t)(end - at));
    group->ranks = close ? arena_take(&groups->arena, (size_t)(close - at), sizeof *group->ranks) : NULL;
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

/* The text up to the byte `close`; false: it does not end. */
static bool take_until(const char *at, const char *end, char close, struct et_text *text) {
    const char *last = memchr(at, close, (size_t)(end - at));
    *text = (struct et_text){at, last ? (uint32_t)(last - at) : 0};
    return last != NULL;
}

/* The other name of a group in its description, from `at` to `end`. */
static bool add_uid(struct comm_groups *groups, uint32_t group, const char *at, const char *end) {
    static const char *const keys[] = {"\"uid\": ", "\"backend_id\": "};
    struct et_text uid;
    for (size_t i = 0; i < sizeof keys / sizeof *keys; i++) {
        const char *value = behind(at, end, keys[i]);
        if (!value || value == end || !take_until(value + (*value == '"'), end, *value == '"' ? '"' : ',', &uid))
            continue;
        uint32_t number = strings_intern(&groups->uids, uid.bytes, uid.length);
        if (number == STRING_NONE)
            return false;
        groups->uid_group[number] = group;
    }
    return true;
}

static bool read_group(struct comm_groups *groups, struct et_text name, const char *end) {
    uint32_t group = strings_find(&groups->names, name.bytes, name.length);
    const char *at = name.bytes + name.length, *ranks = behind(at, end, "\"ranks\": [");
    groups->list[group].told = ranks != NULL;
    if (ranks)
        read_ranks(groups, &groups->list[group], ranks, end);
    return add_uid(groups, group, at, end);
}

/* The groups that a text describes, one object behind the other: their names, or, once there is a list, the rest. */
static bool read_groups(struct comm_groups *groups, struct et_text text) {
    static const char key[] = "\"pg_name\": \"";
    const char *end = text.bytes + text.length, *at = text.bytes;
    struct et_text name;
    while ((at = behind(at, end, key)) != NULL && take_until(at, end, '"', &name)) {
        at += name.length;
        const char *next = behind(at, end, key);
        groups->n_described += !groups->list;
        if (groups->list ? !read_group(groups, name, next ? next : end)
                         : strings_intern(&groups->names, name.bytes, name.length) == STRING_NONE)
            return false;
    }
    return true;
}

static bool read_descriptions(struct comm_groups *groups, const struct plus_nodes *nodes) {
    for (row_t row = 0; row < nodes->n; row++)
        if (nodes->flags[row] & PLUS_IS_META && !read_groups(groups, nodes->io[0][row]))
            return false;
    return true;
}

enum sutra_status comm_groups_find(struct comm_groups *groups, const struct node_graph *graph,
                                   struct sutra_error *error) {
    const struct plus_nodes *nodes = &graph->plus->nodes;
    *groups = (struct comm_groups){0};
    if (!strings_init(&groups->names) || !strings_init(&groups->uids) || !add_names(groups, graph))
        return error_memory(error);
    groups->n_used = groups->names.n;
    if (!read_descriptions(groups, nodes))
        return error_memory(error);
    groups->list = arena_zeros(&groups->arena, groups->names.n, sizeof *groups->list);
    groups->uid_group = arena_zeros(&groups->arena, groups->n_described * 2, sizeof *groups->uid_group);
    number_names(groups);
    bool read = !groups->arena.failed && read_descriptions(groups, nodes);
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
