/*
 * groups.c - joins the dumps of all ranks: strings, names, shapes, process groups, and the operations of each rank.
 *
 *     dumps --tables, one after another--> job --entries, in parallel--> operations --> uses: rank, group, numbers
 *
 * A group is a name and its members. Members are, in this order: the list of the rank's own pg_config; the first list
 * of the name in another dump that contains the rank; the ranks that use the name and are in no list.
 *
 * Cost: O(entries + members of all lists), O(n log n) in groups and uses.
 */
#include <stdlib.h>
#include <string.h>

#include "analyze/hang/hang.h"
#include "base/error.h"
#include "context/context.h"
#include "text/strings.h"

/* ---- Texts, names and shapes ---- */

/* What replaces the indices of a dump. */
struct dump_maps {
    uint32_t *strings; /* malloc() */
    uint32_t *names, *shapes, *groups;
};

/* Joins the tables of a dump. */
static enum sutra_status join_tables(struct sutra_hang *hang, const struct flight_dump *dump, struct dump_maps *maps,
                                     struct tuples *names, struct tuples *shapes, uint64_t capacity[2],
                                     struct arena *scratch, struct sutra_error *error) {
    maps->strings = strings_join(&hang->strings, &dump->strings);
    TRY_ALLOC(maps->strings, error);
    maps->names = arena_alloc(scratch, dump->n_names, sizeof *maps->names);
    maps->shapes = arena_alloc(scratch, dump->n_shapes, sizeof *maps->shapes);
    maps->groups = arena_alloc(scratch, dump->n_groups, sizeof *maps->groups);
    TRY(arena_status(scratch, error));
    for (uint32_t i = 0; i < dump->n_names; i++) {
        struct flight_name name = dump->names[i];
        name.recorded = maps->strings[name.recorded];
        name.type = maps->strings[name.type];
        const uint32_t number = tuples_number(
            names, (struct tuple){{name.recorded, name.from, name.to, (int64_t)name.type << 1 | name.reports_timeout}});
        TRY_ALLOC(number != TUPLE_NONE &&
                      arena_grow(&hang->arena, &hang->names, number, &capacity[0], sizeof *hang->names),
                  error);
        hang->names[number] = name;
        maps->names[i] = number;
    }
    for (uint32_t i = 0; i < dump->n_shapes; i++) {
        struct flight_shape shape = dump->shapes[i];
        shape.type = maps->strings[shape.type];
        shape.in_types = maps->strings[shape.in_types];
        shape.out_types = maps->strings[shape.out_types];
        const uint32_t number =
            tuples_number(shapes, (struct tuple){{shape.n_in, shape.n_out,
                                                  (int64_t)((uint64_t)shape.in_types << 32 | shape.out_types),
                                                  (int64_t)shape.type << 4 | shape.compared}});
        TRY_ALLOC(number != TUPLE_NONE &&
                      arena_grow(&hang->arena, &hang->shapes, number, &capacity[1], sizeof *hang->shapes),
                  error);
        hang->shapes[number] = shape;
        maps->shapes[i] = number;
    }
    return SUTRA_OK;
}

/* ---- Groups ---- */

/* A list of members of a name. */
struct name_list {
    uint32_t name, list;
};

/* A rank that uses a name. */
struct name_user {
    uint32_t name, rank; /* string id, rank index */
    uint32_t *group;     /* is set: in the map of the dump */
    uint32_t description;
};

struct group_maker {
    struct sutra_hang *hang;
    const struct flight_dump *dumps;
    const struct dump_maps *maps;
    struct arena scratch;
    struct pair_table own;        /* (rank index, name) -> list of its own pg_config */
    struct pair_table of_name;    /* (name, list) -> 0 */
    struct pair_table first;      /* (rank, name) -> position in name_lists of the first list that has the rank */
    struct pair_table groups;     /* (name, list) -> group */
    struct name_list *name_lists; /* by name, then by members */
    size_t n_name_lists;
    uint64_t name_lists_capacity, groups_capacity;
};

static int compare_members(const struct hang_ranks *a, const struct hang_ranks *b) {
    for (size_t i = 0; i < a->n && i < b->n; i++)
        if (a->list[i] != b->list[i])
            return a->list[i] < b->list[i] ? -1 : 1;
    return (a->n > b->n) - (a->n < b->n);
}

static int compare_name_lists(const void *left, const void *right, void *arg) {
    const struct name_list *a = left, *b = right;
    const struct group_maker *m = arg;
    if (a->name != b->name)
        return a->name < b->name ? -1 : 1;
    return compare_members(&m->hang->lists.list[a->list], &m->hang->lists.list[b->list]);
}

uint32_t hang_list_intern(struct sutra_hang *hang, const int64_t *members, size_t n) {
    struct hang_lists *lists = &hang->lists;
    const uint32_t n_before = lists->bytes.n;
    const uint32_t id = strings_intern(&lists->bytes, (const char *)members, n * sizeof *members);
    if (id == STRING_NONE || !arena_grow(&hang->arena, &lists->list, id, &lists->capacity, sizeof *lists->list))
        return UINT32_MAX;
    if (id == n_before) {
        int64_t *kept = arena_alloc(&hang->arena, n, sizeof *kept);
        if (!kept)
            return UINT32_MAX;
        memcpy(kept, members, n * sizeof *kept);
        lists->list[id] = (struct hang_ranks){kept, n};
    }
    return id;
}

/* Sorts the distinct lists of each name. */
static enum sutra_status collect_lists(struct group_maker *m, struct sutra_error *error) {
    for (uint32_t rank = 0; rank < m->hang->n_ranks; rank++)
        for (uint32_t i = 0; i < m->dumps[rank].n_configs; i++) {
            const struct flight_config *config = &m->dumps[rank].configs[i];
            const uint32_t name = m->maps[rank].strings[config->name];
            const uint32_t list = config->list;
            struct pair_entry *own = pair_table_insert(&m->own, rank, name);
            TRY_ALLOC(own, error);
            own->number = list;
            struct pair_entry *known = pair_table_insert(&m->of_name, name, list);
            TRY_ALLOC(known && arena_grow(&m->scratch, &m->name_lists, m->n_name_lists, &m->name_lists_capacity,
                                          sizeof *m->name_lists),
                      error);
            if (known->number == PAIR_NONE) {
                known->number = 0;
                m->name_lists[m->n_name_lists++] = (struct name_list){name, list};
            }
        }
    if (m->n_name_lists > 0)
        qsort_r(m->name_lists, m->n_name_lists, sizeof *m->name_lists, compare_name_lists, m);
    return SUTRA_OK;
}

/* Notes the first list of each rank in the lists of a name. Each name is noted once: O(members of its lists). */
static bool note_first_lists(struct group_maker *m, uint32_t name) {
    size_t begin;
    BISECT(begin, m->n_name_lists, m->name_lists[begin].name < name);
    struct pair_entry *noted = pair_table_insert(&m->first, UINT64_MAX, name); /* no rank has this number */
    if (!noted || noted->number != PAIR_NONE)
        return noted != NULL;
    noted->number = 0;
    for (size_t i = begin; i < m->n_name_lists && m->name_lists[i].name == name; i++) {
        const struct hang_ranks *members = &m->hang->lists.list[m->name_lists[i].list];
        for (size_t k = 0; k < members->n; k++)
            if (!pair_table_note(&m->first, (uint64_t)members->list[k], name, m->name_lists[i].list))
                return false;
    }
    return true;
}

/* The group of a name and a list, added if it is new; UINT32_MAX: out of memory. */
static uint32_t find_group(struct group_maker *m, uint32_t name, uint32_t list, uint32_t description, bool is_known) {
    struct sutra_hang *hang = m->hang;
    struct pair_entry *entry = list == UINT32_MAX ? NULL : pair_table_insert(&m->groups, name, list);
    if (!entry || !arena_grow(&hang->arena, &hang->groups, hang->n_groups, &m->groups_capacity, sizeof *hang->groups))
        return UINT32_MAX;
    if (entry->number == PAIR_NONE) {
        hang->groups[hang->n_groups] = (struct hang_group){.name = name,
                                                           .description = description,
                                                           .members = m->hang->lists.list[list],
                                                           .has_known_members = is_known,
                                                           .node = HANG_NO_NODE};
        entry->number = hang->n_groups++;
    }
    return entry->number;
}

ORDER_BY(compare_users, struct name_user, ASCENDING(name) ASCENDING(rank))

/* Ranks in no list of the name: together they are a group of each name. */
static enum sutra_status add_unlisted(struct group_maker *m, struct name_user *users, size_t n,
                                      struct sutra_error *error) {
    int64_t *members = arena_alloc(&m->scratch, n, sizeof *members);
    TRY(arena_status(&m->scratch, error));
    if (n > 0)
        qsort(users, n, sizeof *users, compare_users);
    for (size_t begin = 0, end; begin < n; begin = end) {
        size_t n_members = 0;
        for (end = begin; end < n && users[end].name == users[begin].name; end++)
            if (end == begin || users[end].rank != users[end - 1].rank)
                members[n_members++] = m->hang->ranks[users[end].rank].rank;
        const uint32_t group = find_group(m, users[begin].name, hang_list_intern(m->hang, members, n_members),
                                          users[begin].description, false);
        TRY_ALLOC(group != UINT32_MAX, error);
        for (size_t i = begin; i < end; i++)
            *users[i].group = group;
    }
    return SUTRA_OK;
}

static int compare_groups(const void *left, const void *right, void *arg) {
    const struct sutra_hang *hang = arg;
    const struct hang_group *a = &hang->groups[*(const uint32_t *)left], *b = &hang->groups[*(const uint32_t *)right];
    const int order = a->name == b->name ? 0
                                         : compare_natural(strings_text(&hang->strings, a->name),
                                                           strings_text(&hang->strings, b->name));
    return order ? order : compare_members(&a->members, &b->members);
}

/* Sets the group of each group that entries name. */
static enum sutra_status make_groups(struct group_maker *m, struct sutra_error *error) {
    struct sutra_hang *hang = m->hang;
    struct name_user *unlisted = NULL;
    uint64_t n_unlisted = 0, unlisted_capacity = 0;
    TRY(collect_lists(m, error));
    for (uint32_t rank = 0; rank < hang->n_ranks; rank++)
        for (uint32_t i = 0; i < m->dumps[rank].n_groups; i++) {
            const struct flight_group *group = &m->dumps[rank].groups[i];
            const uint32_t name = m->maps[rank].strings[group->name];
            const uint32_t description = m->maps[rank].strings[group->description];
            uint32_t list = pair_table_find(&m->own, rank, name);
            if (list == PAIR_NONE) {
                TRY_ALLOC(note_first_lists(m, name), error);
                list = pair_table_find(&m->first, (uint64_t)hang->ranks[rank].rank, name);
            }
            if (list == PAIR_NONE) {
                TRY_ALLOC(arena_grow(&m->scratch, &unlisted, n_unlisted, &unlisted_capacity, sizeof *unlisted), error);
                unlisted[n_unlisted++] = (struct name_user){name, rank, &m->maps[rank].groups[i], description};
                continue;
            }
            m->maps[rank].groups[i] = find_group(m, name, list, description, true);
            TRY_ALLOC(m->maps[rank].groups[i] != UINT32_MAX, error);
        }
    TRY(add_unlisted(m, unlisted, n_unlisted, error));
    for (uint32_t rank = 0; rank < hang->n_ranks; rank++)
        for (uint32_t i = 0; i < m->dumps[rank].n_configs; i++) {
            const struct flight_config *config = &m->dumps[rank].configs[i];
            const uint32_t name = m->maps[rank].strings[config->name];
            const uint32_t description = m->maps[rank].strings[config->description];
            const uint32_t group = find_group(m, name, pair_table_find(&m->own, rank, name), description, true);
            TRY_ALLOC(group != UINT32_MAX, error);
            if (strings_length(&hang->strings, hang->groups[group].description) == 0)
                hang->groups[group].description = description;
        }

    /* Sort the groups. */
    uint32_t *order = arena_alloc(&m->scratch, hang->n_groups, sizeof *order);
    uint32_t *position = arena_alloc(&m->scratch, hang->n_groups, sizeof *position);
    struct hang_group *sorted = arena_alloc(&hang->arena, hang->n_groups, sizeof *sorted);
    TRY_ALLOC(order && position && sorted, error);
    for (uint32_t i = 0; i < hang->n_groups; i++)
        order[i] = i;
    if (hang->n_groups > 0)
        qsort_r(order, hang->n_groups, sizeof *order, compare_groups, hang);
    for (uint32_t i = 0; i < hang->n_groups; i++) {
        sorted[i] = hang->groups[order[i]];
        position[order[i]] = i;
    }
    hang->groups = sorted;
    for (uint32_t rank = 0; rank < hang->n_ranks; rank++)
        for (uint32_t i = 0; i < m->dumps[rank].n_groups; i++)
            m->maps[rank].groups[i] = position[m->maps[rank].groups[i]];
    return SUTRA_OK;
}

/* ---- Operations of a rank ---- */

struct rank_joiner {
    struct sutra_hang *hang;
    const struct flight_dump *dumps;
    const struct dump_maps *maps;
    struct rank_uses {
        struct hang_use *list; /* malloc() */
        uint32_t n;
    } * uses; /* by rank index */
};

/* The latest operation of a group and kind. */
struct latest_operation {
    uint32_t entry;     /* or UINT32_MAX */
    uint32_t last_part; /* entry */
    uint32_t use;       /* or UINT32_MAX */
    uint32_t last_op;   /* entry of the latest operation of the use */
    bool is_followed;
};

/* Finds the operations of a rank, and its uses of groups. `latest` is by local group: collectives, then p2p. */
static void find_operations(struct hang_rank *rank, const struct flight_name *names, const uint32_t *local,
                            struct latest_operation (*latest)[2], struct rank_uses *uses) {
    struct flight_entry *entries = rank->entries;
    for (uint32_t i = 0; i < rank->n_entries; i++) {
        struct flight_entry *e = &entries[i];
        const bool is_end = names[e->name].is_end;
        struct latest_operation *of_group = latest[local[i]], *own = &of_group[e->is_p2p], *found = own;
        struct flight_entry *whole = is_end || own->entry == UINT32_MAX ? NULL : &entries[own->entry];
        for (int p2p = 1; p2p >= 0 && is_end; p2p--) { /* an end may differ in kind: the open one with the last part */
            struct latest_operation *open = &of_group[p2p];
            if (open->entry == UINT32_MAX || entries[open->entry].is_ended ||
                (whole && entries[open->last_part].id <= entries[found->last_part].id))
                continue;
            found = open;
            whole = &entries[open->entry];
        }
        if (whole && !whole->is_ended && (is_end || whole->seq == e->seq)) {
            whole->has_parts = true;
            found->last_part = i;
            e->whole = found->entry;
            if (is_end) {
                whole->is_ended = true;
                whole->passed = e->passed;
                whole->timed_out = e->timed_out;
                whole->started = e->started;
            } else {
                whole->passed &= e->passed;
            }
            continue;
        }
        const int64_t high = MAX(e->seq, 0);
        own->entry = own->last_part = i;
        if (own->use == UINT32_MAX) {
            own->use = uses->n;
            uses->list[uses->n++] = (struct hang_use){
                .group = e->group, .is_p2p = e->is_p2p, .first = i, .n = 1, .low = e->seq, .high = high};
        } else {
            struct hang_use *use = &uses->list[own->use];
            use->high = MAX(use->high, e->seq);
            use->n++;
            if (!e->is_p2p) /* `link` of sends and receives is the pair */
                entries[own->last_op].link = i;
        }
        own->last_op = i;
    }
    for (uint32_t i = rank->n_entries; i-- > 0;) { /* completed ends that the dump dropped */
        struct flight_entry *e = &entries[i];
        if (e->whole != i)
            continue;
        struct latest_operation *own = &latest[local[i]][e->is_p2p];
        e->passed |= e->has_parts && !e->is_ended && own->is_followed;
        own->is_followed = true;
    }
}

/* Replaces the indices of a rank's entries, and finds its operations. */
static enum sutra_status join_rank(void *arg, size_t i, struct sutra_error *error) {
    struct rank_joiner *joiner = arg;
    struct hang_rank *rank = &joiner->hang->ranks[i];
    const struct dump_maps *maps = &joiner->maps[i];
    const uint32_t n_groups = joiner->dumps[i].n_groups;
    struct arena scratch = {0};
    struct pair_table numbers = {0}; /* group of the job -> local number */
    uint32_t *local_of = arena_alloc(&scratch, n_groups, sizeof *local_of);
    uint32_t *local = arena_alloc(&scratch, rank->n_entries, sizeof *local);
    struct latest_operation(*latest)[2] = arena_alloc(&scratch, n_groups, sizeof *latest);
    struct rank_uses *uses = &joiner->uses[i];
    uses->list = calloc(2 * (size_t)n_groups + 1, sizeof *uses->list);
    bool ok = local_of && local && latest && uses->list && pair_table_init(&numbers);
    uint32_t n_local = 0;
    for (uint32_t g = 0; g < n_groups && ok; g++) {
        struct pair_entry *number = pair_table_insert(&numbers, maps->groups[g], 0);
        ok = number != NULL;
        if (ok && number->number == PAIR_NONE) {
            const struct latest_operation none = {UINT32_MAX, UINT32_MAX, UINT32_MAX, UINT32_MAX, false};
            latest[n_local][0] = latest[n_local][1] = none;
            number->number = n_local++;
        }
        local_of[g] = ok ? number->number : 0;
    }
    rank->is_complete = rank->n_entries > 0;
    for (uint32_t k = 0; k < rank->n_entries && ok; k++) {
        struct flight_entry *e = &rank->entries[k];
        local[k] = local_of[e->group];
        e->group = maps->groups[e->group];
        e->name = maps->names[e->name];
        e->shape = maps->shapes[e->shape];
        e->frame = e->frame == STRING_NONE ? STRING_NONE : maps->strings[e->frame];
        e->link = UINT32_MAX;
        rank->is_complete &= e->id == k;
    }
    if (ok)
        find_operations(rank, joiner->hang->names, local, latest, uses);
    for (uint32_t k = 0; k < uses->n && ok; k++)
        uses->list[k].rank = (uint32_t)i;
    pair_table_free(&numbers);
    arena_free(&scratch);
    return ok ? SUTRA_OK : error_memory(error);
}

/* Numbers the signatures of collectives with several parts. The parts after the first are compared, except for ends. */
static enum sutra_status find_signatures(struct sutra_hang *hang, struct sutra_error *error) {
    struct hang_signatures *signatures = &hang->signatures;
    for (uint32_t r = 0; r < hang->n_ranks; r++) {
        struct hang_rank *rank = &hang->ranks[r];
        for (uint32_t i = 0; i < rank->n_entries; i++) {
            const struct flight_entry *e = &rank->entries[i];
            if (e->whole == i || rank->entries[e->whole].is_p2p || hang->names[e->name].is_end)
                continue;
            if (!rank->signatures) {
                rank->signatures = arena_alloc(&hang->arena, rank->n_entries, sizeof *rank->signatures);
                TRY(arena_status(&hang->arena, error));
                for (uint32_t k = 0; k < rank->n_entries; k++)
                    rank->signatures[k] = rank->entries[k].shape;
            }
            const struct signature_link link = {rank->signatures[e->whole], e->shape};
            struct pair_entry *known = pair_table_insert(&signatures->known, link.before, link.last);
            TRY_ALLOC(known && arena_grow(&hang->arena, &signatures->links, signatures->n, &signatures->capacity,
                                          sizeof link),
                      error);
            if (known->number == PAIR_NONE) {
                known->number = signatures->n;
                signatures->links[signatures->n++] = link;
            }
            rank->signatures[e->whole] = hang->n_shapes + known->number;
        }
    }
    return SUTRA_OK;
}

ORDER_BY(compare_uses, struct hang_use, ASCENDING(group) ASCENDING(is_p2p) ASCENDING(rank))

static enum sutra_status join_uses(struct sutra_hang *hang, const struct rank_uses *uses, struct sutra_error *error) {
    for (uint32_t r = 0; r < hang->n_ranks; r++)
        hang->n_uses += uses[r].n;
    hang->uses = arena_alloc(&hang->arena, hang->n_uses, sizeof *hang->uses);
    TRY(arena_status(&hang->arena, error));
    struct hang_use *to = hang->uses;
    for (uint32_t r = 0; r < hang->n_ranks; r++)
        for (uint32_t i = 0; i < uses[r].n; i++)
            *to++ = uses[r].list[i];
    if (hang->n_uses > 0)
        qsort(hang->uses, hang->n_uses, sizeof *hang->uses, compare_uses);
    for (uint32_t i = 0; i < hang->n_uses; i++) {
        struct hang_group *group = &hang->groups[hang->uses[i].group];
        if (!hang->uses[i].is_p2p && group->n_uses++ == 0)
            group->first_use = i;
    }
    return SUTRA_OK;
}

const struct hang_use *hang_use_find(const struct sutra_hang *hang, uint32_t group, bool is_p2p, uint32_t rank) {
    const struct hang_use wanted = {.group = group, .is_p2p = is_p2p, .rank = rank};
    return hang->n_uses ? bsearch(&wanted, hang->uses, hang->n_uses, sizeof wanted, compare_uses) : NULL;
}

enum sutra_status hang_join(struct sutra_hang *hang, struct sutra_context *context, struct flight_dump *dumps,
                            struct sutra_error *error) {
    struct tuples names = {0}, shapes = {0};
    uint64_t capacity[2] = {0, 0};
    struct group_maker maker = {.hang = hang, .dumps = dumps};
    struct dump_maps *maps = calloc((size_t)hang->n_ranks + 1, sizeof *maps);
    struct rank_joiner joiner = {hang, dumps, maps, calloc((size_t)hang->n_ranks + 1, sizeof *joiner.uses)};
    maker.maps = maps;
    const bool ok = maps && joiner.uses && pair_table_init(&maker.own) && pair_table_init(&maker.of_name) &&
                    pair_table_init(&maker.first) && pair_table_init(&maker.groups) &&
                    pair_table_init(&hang->signatures.known);
    enum sutra_status status = ok ? SUTRA_OK : error_memory(error);
    for (uint32_t r = 0; r < hang->n_ranks && !status; r++)
        status = join_tables(hang, &dumps[r], &maps[r], &names, &shapes, capacity, &maker.scratch, error);
    hang->n_names = names.n;
    hang->n_shapes = shapes.n;
    if (!status)
        status = make_groups(&maker, error);
    if (!status)
        status = pool_try(context->pool, hang->n_ranks, join_rank, &joiner, error);
    if (!status)
        status = join_uses(hang, joiner.uses, error);
    if (!status)
        status = find_signatures(hang, error);
    for (uint32_t r = 0; r < hang->n_ranks && maps && joiner.uses; r++) {
        free(maps[r].strings);
        free(joiner.uses[r].list);
    }
    free(maps);
    free(joiner.uses);
    tuples_free(&names);
    tuples_free(&shapes);
    strings_free(&hang->lists.bytes);
    pair_table_free(&maker.own);
    pair_table_free(&maker.of_name);
    pair_table_free(&maker.first);
    pair_table_free(&maker.groups);
    arena_free(&maker.scratch);
    return status;
}
