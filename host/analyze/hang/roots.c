/*
 * roots.c - the wait-for graph between nodes, and its roots: the first waiting groups and the causes.
 *
 *     rank 5: no pending operation      rank 4: pending in A, missing in B      rank 0: pending in B, missing in C
 *
 *         A <--- rank 4 waits in --- B <--- rank 0 waits in --- C        A is the root, rank 5 its culprit
 *
 * A missing rank has an edge to the first operation that it waits in; a missing rank that waits in none is a culprit.
 * An arrived rank, whose operation is not started, has an edge to the first operation of its queue. Strongly connected
 * components without outgoing edges are the roots; a component of several nodes is a deadlock.
 *
 * Cost: O(n log n) in arrived and missing ranks of all nodes; O(nodes + edges + arrived ranks) for each root.
 */
#include <stdlib.h>
#include <string.h>

#include "analyze/hang/hang.h"
#include "base/error.h"

/* A node that a rank waits in. */
struct rank_wait {
    int64_t rank, id; /* record id of the operation */
    uint32_t node;
};
ORDER_BY(compare_waits, struct rank_wait, ASCENDING(rank) ASCENDING(id) ASCENDING(node))

struct root_finder {
    struct sutra_hang *hang;
    struct arena scratch;
    struct rank_wait *waits; /* by rank, then by record id */
    size_t n_waits;
    uint64_t edges_capacity, roots_capacity;
    uint32_t *by_component;                           /* nodes */
    uint32_t *node_stamp, *rank_stamp, *queue, stamp; /* of searches */
    uint32_t *first_use, *use_of_rank;                /* uses by rank */
};

/* A root, before equal causes are merged. */
struct candidate {
    struct hang_root root;
    uint32_t merged_into, next; /* the first one of its cause, and the next one of that */
};

/* ---- Edges ---- */

/* The first wait of a rank, or n_waits. */
static size_t first_wait(const struct root_finder *f, int64_t rank) {
    size_t i;
    BISECT(i, f->n_waits, f->waits[i].rank < rank);
    return i < f->n_waits && f->waits[i].rank == rank ? i : f->n_waits;
}

static bool list_waits(struct root_finder *f) {
    const struct sutra_hang *hang = f->hang;
    for (uint32_t k = 0; k < hang->n_nodes; k++)
        f->n_waits += hang->nodes[k].arrived.n;
    f->waits = arena_alloc(&f->scratch, f->n_waits, sizeof *f->waits);
    if (!f->waits)
        return false;
    size_t n = 0;
    for (uint32_t k = 0; k < hang->n_nodes; k++)
        for (size_t i = 0; i < hang->nodes[k].arrived.n; i++)
            f->waits[n++] = (struct rank_wait){hang->nodes[k].arrived.list[i],
                                               hang_entry(hang, hang_whole(hang, hang->nodes[k].records[i]))->id, k};
    if (n > 0)
        qsort(f->waits, n, sizeof *f->waits, compare_waits);
    return true;
}

/* Adds the edge of a rank, unless there is one between these nodes. */
static bool add_edge(struct root_finder *f, struct pair_table *known, struct hang_edge edge) {
    struct sutra_hang *hang = f->hang;
    struct pair_entry *entry = pair_table_insert(known, edge.from, edge.to);
    if (!entry || !arena_grow(&hang->arena, &hang->edges, hang->n_edges, &f->edges_capacity, sizeof edge))
        return false;
    if (entry->number == PAIR_NONE) {
        entry->number = 0;
        hang->edges[hang->n_edges++] = edge;
    }
    return true;
}

ORDER_BY(compare_edges, struct hang_edge, ASCENDING(from) ASCENDING(to))

/* Finds the mismatches, culprits and edges of all nodes. */
static bool find_edges(struct root_finder *f) {
    struct sutra_hang *hang = f->hang;
    struct pair_table known = {0};
    bool ok = pair_table_init(&known) && list_waits(f);
    for (uint32_t k = 0; k < hang->n_nodes && ok; k++) {
        struct hang_node *node = &hang->nodes[k];
        const struct hang_group *group = &hang->groups[node->group];
        if (group->overlapping.n > 0)
            node->mismatch = (struct hang_mismatch){
                .kind = HANG_GROUP_MISMATCH, .seq = node->seq, .ranks = group->overlapping, .is_tie = true};
        else if (node->is_p2p)
            node->mismatch = hang_pair_mismatch(hang, node);
        else if (group->mismatch.kind != HANG_NONE && group->mismatch.seq <= node->seq)
            node->mismatch = group->mismatch;
        if (node->mismatch.kind != HANG_NONE) {
            node->culprits = node->mismatch.ranks;
            continue;
        }
        int64_t *culprits = arena_alloc(&hang->arena, node->missing.n, sizeof *culprits);
        size_t n_culprits = 0;
        ok = culprits != NULL;
        for (size_t i = 0; i < node->missing.n && ok; i++) {
            const int64_t rank = node->missing.list[i];
            size_t wait = first_wait(f, rank);
            wait += wait < f->n_waits && f->waits[wait].node == k;
            if (wait < f->n_waits && f->waits[wait].rank == rank)
                ok = add_edge(f, &known, (struct hang_edge){k, f->waits[wait].node, rank, false});
            else
                culprits[n_culprits++] = rank;
        }
        node->culprits = (struct hang_ranks){culprits, n_culprits};
        for (size_t i = 0; i < node->arrived.n && ok; i++) {
            const struct rank_wait *first = &f->waits[first_wait(f, node->arrived.list[i])];
            const struct flight_entry *whole = hang_entry(hang, hang_whole(hang, node->records[i]));
            if (first->node != k && first->id < whole->id && !whole->started)
                ok = add_edge(f, &known, (struct hang_edge){k, first->node, node->arrived.list[i], true});
        }
    }
    pair_table_free(&known);
    if (!ok)
        return false;
    if (hang->n_edges > 0)
        qsort(hang->edges, hang->n_edges, sizeof *hang->edges, compare_edges);
    hang->first_back = arena_zeros(&hang->arena, (size_t)hang->n_nodes + 2, sizeof *hang->first_back);
    hang->back = arena_alloc(&hang->arena, hang->n_edges, sizeof *hang->back);
    if (!hang->first_back || !hang->back)
        return false;
    for (uint32_t e = hang->n_edges; e-- > 0;) {
        hang->nodes[hang->edges[e].from].first_edge = e;
        hang->nodes[hang->edges[e].from].n_edges++;
        hang->first_back[hang->edges[e].to + 2]++;
    }
    for (uint32_t k = 2; k < hang->n_nodes + 2; k++)
        hang->first_back[k] += hang->first_back[k - 1];
    for (uint32_t e = 0; e < hang->n_edges; e++)
        hang->back[hang->first_back[hang->edges[e].to + 1]++] = hang->edges[e].from;
    return true;
}

/* ---- Strongly connected components: Tarjan's algorithm, iterative ---- */

/* Numbers the component of each node. False: out of memory. */
static bool find_components(struct root_finder *f) {
    struct sutra_hang *hang = f->hang;
    const uint32_t n = hang->n_nodes;
    uint32_t *number = arena_zeros(&f->scratch, n, sizeof *number), *low = arena_alloc(&f->scratch, n, sizeof *low);
    uint32_t *stack = arena_alloc(&f->scratch, n, sizeof *stack), *path = arena_alloc(&f->scratch, n, sizeof *path);
    uint32_t *next = arena_alloc(&f->scratch, n, sizeof *next); /* edge */
    uint32_t n_numbered = 0, n_stack = 0, n_components = 0;
    if (!number || !low || !stack || !path || !next)
        return false;
    for (uint32_t k = 0; k < n; k++)
        hang->nodes[k].component = UINT32_MAX;
    for (uint32_t start = 0; start < n; start++) {
        uint32_t n_path = 0;
        if (number[start])
            continue;
        path[n_path++] = start;
        while (n_path > 0) {
            const uint32_t k = path[n_path - 1];
            if (!number[k]) {
                number[k] = low[k] = ++n_numbered;
                next[k] = hang->nodes[k].first_edge;
                stack[n_stack++] = k;
            }
            if (next[k] < hang->nodes[k].first_edge + hang->nodes[k].n_edges) {
                const uint32_t target = hang->edges[next[k]++].to;
                if (!number[target])
                    path[n_path++] = target;
                else if (hang->nodes[target].component == UINT32_MAX)
                    low[k] = MIN(low[k], number[target]);
                continue;
            }
            n_path--;
            if (n_path > 0)
                low[path[n_path - 1]] = MIN(low[path[n_path - 1]], low[k]);
            if (low[k] != number[k])
                continue;
            uint32_t member;
            do {
                member = stack[--n_stack];
                hang->nodes[member].component = n_components;
            } while (member != k);
            n_components++;
        }
    }

    /* Nodes by component, in the order of nodes. */
    uint32_t *end = arena_zeros(&f->scratch, (size_t)n_components + 1, sizeof *end);
    f->by_component = arena_alloc(&f->scratch, n, sizeof *f->by_component);
    if (!end || !f->by_component)
        return false;
    for (uint32_t k = 0; k < n; k++)
        end[hang->nodes[k].component + 1]++;
    for (uint32_t c = 0; c < n_components; c++)
        end[c + 1] += end[c];
    for (uint32_t k = 0; k < n; k++)
        f->by_component[end[hang->nodes[k].component]++] = k;
    return true;
}

/* ---- Roots ---- */

/* The arrived ranks of all nodes with a path to one of these nodes, except for `without`. */
static bool find_waiting(struct root_finder *f, const uint32_t *nodes, uint32_t n, struct hang_ranks without,
                         struct hang_ranks *waiting) {
    struct sutra_hang *hang = f->hang;
    uint32_t n_queue = 0;
    size_t n_waiting = 0;
    uint64_t capacity = 0;
    int64_t *list = NULL;
    f->stamp++;
    for (uint32_t i = 0; i < n; i++) {
        f->node_stamp[nodes[i]] = f->stamp;
        f->queue[n_queue++] = nodes[i];
    }
    const struct arena_mark mark = arena_mark(&f->scratch);
    for (uint32_t q = 0; q < n_queue; q++) {
        const struct hang_node *node = &hang->nodes[f->queue[q]];
        for (size_t i = 0; i < node->arrived.n; i++) {
            const size_t wait = first_wait(f, node->arrived.list[i]); /* one index per rank */
            if (f->rank_stamp[wait] == f->stamp || hang_ranks_have(without, node->arrived.list[i]))
                continue;
            f->rank_stamp[wait] = f->stamp;
            if (!arena_grow(&f->scratch, &list, n_waiting, &capacity, sizeof *list))
                return false;
            list[n_waiting++] = node->arrived.list[i];
        }
        for (uint32_t e = hang->first_back[f->queue[q]]; e < hang->first_back[f->queue[q] + 1]; e++)
            if (f->node_stamp[hang->back[e]] != f->stamp) {
                f->node_stamp[hang->back[e]] = f->stamp;
                f->queue[n_queue++] = hang->back[e];
            }
    }
    int64_t *kept = arena_alloc(&hang->arena, n_waiting, sizeof *kept);
    if (!kept)
        return false;
    if (n_waiting > 0) {
        memcpy(kept, list, n_waiting * sizeof *kept);
        qsort(kept, n_waiting, sizeof *kept, compare_int64s);
    }
    arena_release(&f->scratch, mark);
    *waiting = (struct hang_ranks){kept, n_waiting};
    return true;
}

/* A sorted list without duplicates of the ranks in `list`, which is sorted in place. */
static bool keep_distinct(struct sutra_hang *hang, int64_t *list, size_t n, struct hang_ranks *kept) {
    int64_t *copy = arena_alloc(&hang->arena, n, sizeof *copy);
    size_t n_kept = 0;
    if (!copy)
        return false;
    if (n > 0)
        qsort(list, n, sizeof *list, compare_int64s);
    for (size_t i = 0; i < n; i++)
        if (n_kept == 0 || copy[n_kept - 1] != list[i])
            copy[n_kept++] = list[i];
    *kept = (struct hang_ranks){copy, n_kept};
    return true;
}

/* Whether a rank that waits in `here` should be in the other group: it recorded both groups before, and its last record
 * of the two is of this one. O(its records since the last one of both). */
static bool is_due(const struct sutra_hang *hang, struct hang_record here, uint32_t other) {
    const struct hang_rank *rank = &hang->ranks[here.rank];
    const struct flight_entry *wait = &rank->entries[here.entry];
    bool has_own = false;
    for (uint32_t i = here.entry; i-- > 0;) {
        const struct flight_entry *e = &rank->entries[i];
        if (e->whole != i || e->is_p2p || e->id >= wait->id)
            continue;
        if (e->group == other)
            return has_own;
        has_own |= e->group == wait->group;
    }
    return false;
}

/* The ranks of a deadlock whose order deviates. */
static bool find_deviating(struct root_finder *f, const uint32_t *nodes, uint32_t n, struct hang_ranks *deviating) {
    struct sutra_hang *hang = f->hang;
    int64_t *list = NULL;
    size_t n_list = 0;
    uint64_t capacity = 0;
    const struct arena_mark mark = arena_mark(&f->scratch);
    for (uint32_t d = 0; d < n; d++) {
        const struct hang_node *due = &hang->nodes[nodes[d]];
        for (size_t i = 0; i < due->missing.n && !due->is_p2p; i++) {
            const int64_t rank = due->missing.list[i];
            bool deviates = false;
            for (size_t w = first_wait(f, rank); w < f->n_waits && f->waits[w].rank == rank && !deviates; w++) {
                const struct hang_node *node = &hang->nodes[f->waits[w].node];
                size_t k;
                if (node->is_p2p || node->component != due->component || node == due)
                    continue;
                BISECT(k, node->arrived.n, node->arrived.list[k] < rank);
                deviates = is_due(hang, hang_whole(hang, node->records[k]), due->group);
            }
            if (!deviates)
                continue;
            if (!arena_grow(&f->scratch, &list, n_list, &capacity, sizeof *list))
                return false;
            list[n_list++] = rank;
        }
    }
    const bool ok = keep_distinct(hang, list, n_list, deviating);
    arena_release(&f->scratch, mark);
    return ok;
}

/* Sets cause, confidence and ranks of a node that is the only one of its component. `culprits`: ranks that do not
 * arrive. */
static bool find_node_cause(struct sutra_hang *hang, struct hang_root *root, struct hang_ranks culprits) {
    const struct hang_node *node = &hang->nodes[root->node];
    if (node->mismatch.kind != HANG_NONE) {
        root->cause = node->mismatch.kind;
        root->seq = node->mismatch.seq;
        root->ranks = node->mismatch.ranks;
        root->confidence = node->mismatch.is_tie ? HANG_MEDIUM : HANG_HIGH;
        return true;
    }
    if (culprits.n > 0) {
        root->cause = HANG_RANK_NOT_ARRIVED;
        root->ranks = culprits;
        root->confidence =
            hang->groups[node->group].has_known_members && node->no_dump.n == 0 ? HANG_HIGH : HANG_MEDIUM;
        return true;
    }
    if (node->no_dump.n > 0) {
        root->cause = HANG_DUMP_MISSING;
        root->ranks = node->no_dump;
        root->confidence = hang->n_ranks > 1 ? HANG_MEDIUM : HANG_LOW;
        return true;
    }
    int64_t *scheduled = arena_alloc(&hang->arena, node->arrived.n, sizeof *scheduled);
    size_t n = 0;
    if (!scheduled)
        return false;
    for (size_t i = 0; i < node->arrived.n; i++)
        if (!hang_entry(hang, hang_whole(hang, node->records[i]))->started)
            scheduled[n++] = node->arrived.list[i];
    const bool has_started = n < node->arrived.n;
    root->cause = has_started && n > 0 ? HANG_GPU_NOT_ARRIVED : HANG_STUCK_IN_KERNEL;
    root->ranks = has_started && n > 0 ? (struct hang_ranks){scheduled, n} : node->arrived;
    root->confidence = has_started ? HANG_MEDIUM : HANG_LOW;
    return true;
}

/* Makes the root of a component, or of one node with these culprits. */
static bool make_root(struct root_finder *f, const uint32_t *nodes, uint32_t n, struct hang_ranks culprits,
                      struct hang_root *root) {
    struct sutra_hang *hang = f->hang;
    uint32_t first = nodes[0]; /* the earliest node */
    for (uint32_t i = 1; i < n; i++)
        first = hang->nodes[nodes[i]].created_ns < hang->nodes[first].created_ns ? nodes[i] : first;
    const struct hang_node *node = &hang->nodes[first];
    *root = (struct hang_root){.node = first, .seq = node->seq};
    if (n > 1) {
        bool is_p2p = true;
        for (uint32_t i = 0; i < n; i++)
            is_p2p &= hang->nodes[nodes[i]].is_p2p;
        root->cause = is_p2p ? HANG_P2P_DEADLOCK : HANG_ORDER_MISMATCH;
        if (!find_deviating(f, nodes, n, &root->ranks))
            return false;
        root->confidence = root->ranks.n > 0 || is_p2p ? HANG_MEDIUM : HANG_LOW;
        if (root->ranks.n == 0) { /* all that arrived */
            const struct arena_mark mark = arena_mark(&f->scratch);
            size_t n_arrived = 0;
            for (uint32_t i = 0; i < n; i++)
                n_arrived += hang->nodes[nodes[i]].arrived.n;
            int64_t *arrived = arena_alloc(&f->scratch, n_arrived, sizeof *arrived), *to = arrived;
            for (uint32_t i = 0; i < n && arrived; to += hang->nodes[nodes[i++]].arrived.n)
                memcpy(to, hang->nodes[nodes[i]].arrived.list, hang->nodes[nodes[i]].arrived.n * sizeof *arrived);
            if (!arrived || !keep_distinct(hang, arrived, n_arrived, &root->ranks))
                return false;
            arena_release(&f->scratch, mark);
        }
    } else if (!find_node_cause(hang, root, culprits)) {
        return false;
    }
    const struct hang_ranks none = {NULL, 0};
    if (!find_waiting(f, nodes, n, root->cause == HANG_RANK_NOT_ARRIVED ? root->ranks : none, &root->waiting))
        return false;
    const struct flight_entry *entry = hang_entry(hang, node->records[0]);
    root->timeout_ms = entry->timeout_ms;
    root->frame = entry->frame;
    for (size_t i = 0; i < node->arrived.n; i++)
        root->has_timed_out |= hang_entry(hang, hang_whole(hang, node->records[i]))->timed_out;
    root->ranks_frames = arena_alloc(&hang->arena, root->ranks.n, sizeof *root->ranks_frames);
    if (!root->ranks_frames)
        return false;
    for (size_t i = 0; i < root->ranks.n; i++) {
        const uint32_t index = hang_rank_index(hang, root->ranks.list[i]);
        const struct hang_rank *rank = index == UINT32_MAX ? NULL : &hang->ranks[index];
        root->is_stale |= rank && rank->is_stale;
        root->ranks_frames[i] = rank ? hang_last_frame(rank) : STRING_NONE;
    }
    return true;
}

/* ---- Which of several roots of one cause is the first waiting group ---- */

static bool is_of_pair(const struct sutra_hang *hang, const struct flight_entry *e) {
    const struct flight_name *name = &hang->names[e->name];
    return name->is_send || name->is_receive;
}

/* Whether two entries are of one group, and one pair of ranks or one kind. */
static bool are_of_one_key(const struct sutra_hang *hang, const struct flight_entry *a, const struct flight_entry *b) {
    if (a->group != b->group || is_of_pair(hang, a) != is_of_pair(hang, b))
        return false;
    if (!is_of_pair(hang, a))
        return a->is_p2p == b->is_p2p;
    const struct hang_group *group = &hang->groups[a->group];
    const struct flight_name *x = &hang->names[a->name], *y = &hang->names[b->name];
    return hang_peer(group, x->from) == hang_peer(group, y->from) && hang_peer(group, x->to) == hang_peer(group, y->to);
}

static const struct flight_entry *root_entry(const struct sutra_hang *hang, const struct hang_root *root) {
    return hang_entry(hang, hang->nodes[root->node].records[0]);
}

/* The operation of one of the roots that first followed the rank's last operations (3, else 2, else 1) when they last
 * occurred before; NULL: none. O(operations of the rank * roots). */
static const struct flight_entry *predict_next(struct root_finder *f, uint32_t rank_index,
                                               struct hang_root *const *roots, size_t n_roots) {
    const struct sutra_hang *hang = f->hang;
    const struct hang_rank *rank = &hang->ranks[rank_index];
    const struct flight_entry **ops = arena_alloc(&f->scratch, rank->n_entries, sizeof(struct flight_entry *));
    uint32_t n = 0;
    for (uint32_t i = 0; i < rank->n_entries && ops; i++)
        if (rank->entries[i].whole == i)
            ops[n++] = &rank->entries[i];
    for (uint32_t length = 3; length > 0 && ops; length--) {
        uint32_t end = n; /* of an earlier occurrence, exclusive */
        bool matches = false;
        while (!matches && end > length) {
            end--;
            matches = true;
            for (uint32_t k = 1; k <= length && matches; k++)
                matches = hang->names[ops[end - k]->name].recorded == hang->names[ops[n - k]->name].recorded &&
                          are_of_one_key(hang, ops[end - k], ops[n - k]);
        }
        for (uint32_t i = end; i < n && matches; i++)
            for (size_t r = 0; r < n_roots; r++)
                if (are_of_one_key(hang, ops[i], root_entry(hang, roots[r])))
                    return root_entry(hang, roots[r]);
    }
    return NULL;
}

/* The text by which groups of several ranks are the same: the description, else the name. */
static uint32_t group_label(const struct sutra_hang *hang, uint32_t group) {
    const uint32_t description = hang->groups[group].description;
    return strings_length(&hang->strings, description) > 0 ? description : hang->groups[group].name;
}

/* How far ranks are ahead of one rank, the culprit: the sum over the groups that both recorded. */
struct rank_lead {
    struct pair_table slots; /* (label, kind) -> slot: the groups of the culprit */
    int64_t *own, *theirs;   /* highest numbers by slot: of the culprit; of another rank, or -1 */
    struct pair_table sums;  /* (rank, 0) -> the sum, and (rank, slot + 1) -> its part of one slot: in `values` */
    uint64_t *values;
    uint64_t n_values, capacity;
};

/* Adds a value. False: out of memory. */
static bool add_lead(struct root_finder *f, struct rank_lead *lead, uint32_t rank, uint32_t key, uint64_t value) {
    if (!arena_grow(&f->scratch, &lead->values, lead->n_values, &lead->capacity, sizeof *lead->values))
        return false;
    lead->values[lead->n_values] = value;
    return pair_table_note(&lead->sums, rank, key, (uint32_t)lead->n_values++);
}

/* Sets ahead[i]: how far the arrived ranks of root i are ahead of a rank at least, without the group of the root. Each
 * arrived rank is summed once. */
static bool find_ahead(struct root_finder *f, uint32_t rank, struct hang_root *const *roots, size_t n_roots,
                       uint64_t *ahead) {
    const struct sutra_hang *hang = f->hang;
    struct rank_lead lead = {.n_values = 0};
    const uint32_t n_uses = f->first_use[rank + 1] - f->first_use[rank];
    lead.own = arena_alloc(&f->scratch, n_uses, sizeof *lead.own);
    lead.theirs = arena_alloc(&f->scratch, n_uses, sizeof *lead.theirs);
    uint32_t n_slots = 0;
    bool ok = lead.own && lead.theirs && pair_table_init(&lead.slots) && pair_table_init(&lead.sums);
    for (uint32_t i = f->first_use[rank]; i < f->first_use[rank + 1] && ok; i++) {
        const struct hang_use *use = &hang->uses[f->use_of_rank[i]];
        struct pair_entry *slot = pair_table_insert(&lead.slots, group_label(hang, use->group), use->is_p2p);
        ok = slot != NULL;
        if (ok && slot->number == PAIR_NONE) {
            lead.own[n_slots] = lead.theirs[n_slots] = -1;
            slot->number = n_slots++;
        }
        if (ok)
            lead.own[slot->number] = MAX(lead.own[slot->number], use->high);
    }
    for (size_t r = 0; r < n_roots && ok; r++) {
        const struct hang_node *node = &hang->nodes[roots[r]->node];
        const uint32_t own_slot = pair_table_find(&lead.slots, group_label(hang, node->group), node->is_p2p);
        ahead[r] = UINT64_MAX;
        for (size_t i = 0; i < node->arrived.n && ok; i++) {
            const uint32_t index = hang_rank_index(hang, node->arrived.list[i]);
            if (index == UINT32_MAX) {
                ahead[r] = 0;
                continue;
            }
            if (pair_table_find(&lead.sums, index, 0) == PAIR_NONE) {
                const uint32_t *uses = f->use_of_rank + f->first_use[index];
                const uint32_t n = f->first_use[index + 1] - f->first_use[index];
                uint64_t sum = 0;
                for (int pass = 0; pass < 2; pass++)
                    for (uint32_t u = 0; u < n && ok; u++) {
                        const struct hang_use *use = &hang->uses[uses[u]];
                        const uint32_t slot = pair_table_find(&lead.slots, group_label(hang, use->group), use->is_p2p);
                        if (slot == PAIR_NONE)
                            continue;
                        if (pass == 0) {
                            lead.theirs[slot] = MAX(lead.theirs[slot], use->high);
                            continue;
                        }
                        if (lead.theirs[slot] > lead.own[slot]) {
                            const uint64_t part = (uint64_t)lead.theirs[slot] - (uint64_t)lead.own[slot];
                            sum += part;
                            ok = add_lead(f, &lead, index, slot + 1, part);
                        }
                        lead.theirs[slot] = -1;
                    }
                ok = ok && add_lead(f, &lead, index, 0, sum);
            }
            const uint32_t sum = ok ? pair_table_find(&lead.sums, index, 0) : 0;
            const uint32_t part =
                own_slot == PAIR_NONE || !ok ? PAIR_NONE : pair_table_find(&lead.sums, index, own_slot + 1);
            if (ok)
                ahead[r] = MIN(ahead[r], lead.values[sum] - (part == PAIR_NONE ? 0 : lead.values[part]));
        }
    }
    pair_table_free(&lead.slots);
    pair_table_free(&lead.sums);
    return ok;
}

static int compare_roots(const struct sutra_hang *hang, const struct hang_root *a, const struct hang_root *b) {
    const int64_t created_a = hang->nodes[a->node].created_ns, created_b = hang->nodes[b->node].created_ns;
    if ((a->confidence == HANG_LOW) != (b->confidence == HANG_LOW))
        return a->confidence == HANG_LOW ? 1 : -1;
    if (a->waiting.n != b->waiting.n)
        return a->waiting.n > b->waiting.n ? -1 : 1;
    if (created_a != created_b)
        return created_a < created_b ? -1 : 1;
    return (a->node > b->node) - (a->node < b->node);
}

static int compare_candidates(const void *left, const void *right, void *hang) {
    return compare_roots(hang, &((const struct candidate *)left)->root, &((const struct candidate *)right)->root);
}

static int compare_roots_of(const void *left, const void *right, void *hang) {
    return compare_roots(hang, left, right);
}

/* The first waiting group among roots with the same culprits, in the order of roots. */
static bool choose_first(struct root_finder *f, struct hang_root *const *roots, size_t n, size_t *chosen) {
    const struct sutra_hang *hang = f->hang;
    const uint32_t rank = hang_rank_index(hang, roots[0]->ranks.list[0]);
    const struct arena_mark mark = arena_mark(&f->scratch);
    uint64_t *ahead = arena_alloc(&f->scratch, n, sizeof *ahead);
    if (!ahead || !find_ahead(f, rank, roots, n, ahead))
        return false;
    const struct flight_entry *next = predict_next(f, rank, roots, n);
    int64_t *top = arena_alloc(&f->scratch, n, sizeof *top); /* of all roots of the group and kind */
    struct pair_table first = {0};                           /* the first root of a group and kind */
    bool ok = top && pair_table_init(&first);
    for (size_t i = 0; i < n && ok; i++) {
        const struct hang_node *node = &hang->nodes[roots[i]->node];
        ok = pair_table_note(&first, node->group, node->is_p2p, (uint32_t)i);
        top[i] = roots[i]->seq;
        int64_t *of_group = ok ? &top[pair_table_find(&first, node->group, node->is_p2p)] : NULL;
        if (ok)
            *of_group = MAX(*of_group, top[i]);
    }
    for (size_t i = 0; i < n && ok; i++)
        top[i] = top[pair_table_find(&first, hang->nodes[roots[i]->node].group, hang->nodes[roots[i]->node].is_p2p)];
    pair_table_free(&first);
    if (!ok)
        return false;
    *chosen = 0;
    for (size_t i = 1; i < n; i++) {
        const struct hang_root *a = roots[i], *b = roots[*chosen];
        const bool next_a = next && are_of_one_key(hang, root_entry(hang, a), next);
        const bool next_b = next && are_of_one_key(hang, root_entry(hang, b), next);
        const struct hang_node *of_a = &hang->nodes[a->node], *of_b = &hang->nodes[b->node];
        bool is_before = compare_roots(hang, a, b) < 0;
        if (of_a->created_ns != of_b->created_ns)
            is_before = of_a->created_ns < of_b->created_ns;
        if (top[i] != top[*chosen])
            is_before = top[i] > top[*chosen];
        if (next_a != next_b)
            is_before = next_a;
        if (ahead[i] != ahead[*chosen])
            is_before = ahead[i] < ahead[*chosen];
        *chosen = is_before ? i : *chosen;
    }
    arena_release(&f->scratch, mark);
    return true;
}

/* Whether `b` has all ranks of `a`. O(n). */
static bool is_subset(struct hang_ranks a, struct hang_ranks b) {
    size_t k = 0;
    for (size_t i = 0; i < a.n; i++) {
        while (k < b.n && b.list[k] < a.list[i])
            k++;
        if (k == b.n || b.list[k] != a.list[i])
            return false;
    }
    return true;
}

/* Merges the candidates from `first` on into one root, and adds it. */
static bool add_merged(struct root_finder *f, struct candidate *candidates, uint32_t first) {
    struct sutra_hang *hang = f->hang;
    const struct arena_mark mark = arena_mark(&f->scratch);
    size_t n = 0, n_same = 0, chosen = 0, n_waiting = 0;
    for (uint32_t c = first; c != UINT32_MAX; c = candidates[c].next) {
        n_waiting += candidates[c].root.waiting.n;
        n++;
    }
    struct hang_root **same = arena_alloc(&f->scratch, n, sizeof(struct hang_root *));
    int64_t *waiting = arena_alloc(&f->scratch, n_waiting, sizeof *waiting);
    struct hang_also *also = arena_alloc(&hang->arena, n, sizeof *also);
    if (!same || !waiting || !also ||
        !arena_grow(&hang->arena, &hang->roots, hang->n_roots, &f->roots_capacity, sizeof *hang->roots))
        return false;
    for (uint32_t c = first; c != UINT32_MAX; c = candidates[c].next)
        if (candidates[c].root.ranks.n ==
            candidates[first].root.ranks.n) /* which contains all ranks of the other one */
            same[n_same++] = &candidates[c].root;
    if (n_same > 1 && candidates[first].root.cause == HANG_RANK_NOT_ARRIVED && !choose_first(f, same, n_same, &chosen))
        return false;
    struct hang_root *root = &hang->roots[hang->n_roots++];
    *root = *same[chosen];
    root->also = also;
    n_waiting = 0;
    for (uint32_t c = first; c != UINT32_MAX; c = candidates[c].next) {
        const struct hang_root *other = &candidates[c].root;
        memcpy(waiting + n_waiting, other->waiting.list, other->waiting.n * sizeof *waiting);
        n_waiting += other->waiting.n;
        if (other != same[chosen])
            also[root->n_also++] =
                (struct hang_also){hang->nodes[other->node].group, other->seq, hang->nodes[other->node].is_p2p};
    }
    const bool ok = keep_distinct(hang, waiting, n_waiting, &root->waiting);
    arena_release(&f->scratch, mark);
    return ok;
}

/* Merges candidates of one cause whose ranks the earlier one contains. The candidates are in the order of roots. */
static bool merge_candidates(struct root_finder *f, struct candidate *candidates, uint32_t n) {
    struct pair_table heads = {0}; /* (rank, cause) -> the latest link */
    struct head_link {
        uint32_t candidate, next;
    } *links = NULL;
    uint32_t *tails = arena_alloc(&f->scratch, n, sizeof *tails);
    uint64_t n_links = 0, capacity = 0;
    bool ok = tails && pair_table_init(&heads);
    for (uint32_t i = 0; i < n && ok; i++) {
        const struct hang_root *root = &candidates[i].root;
        uint32_t into = UINT32_MAX;
        candidates[i].next = UINT32_MAX;
        for (uint32_t k = pair_table_find(&heads, (uint64_t)root->ranks.list[0], root->cause); links && k != UINT32_MAX;
             k = links[k].next)
            if (is_subset(root->ranks, candidates[links[k].candidate].root.ranks))
                into = MIN(into, links[k].candidate);
        candidates[i].merged_into = into;
        if (into != UINT32_MAX) {
            candidates[tails[into]].next = i;
            tails[into] = i;
            continue;
        }
        tails[i] = i;
        for (size_t r = 0; r < root->ranks.n && ok; r++) {
            struct pair_entry *head = pair_table_insert(&heads, (uint64_t)root->ranks.list[r], root->cause);
            ok = head && arena_grow(&f->scratch, &links, n_links, &capacity, sizeof *links);
            if (!ok)
                break;
            links[n_links] = (struct head_link){i, head->number};
            head->number = (uint32_t)n_links++;
        }
    }
    pair_table_free(&heads);
    for (uint32_t i = 0; i < n && ok; i++)
        if (candidates[i].merged_into == UINT32_MAX)
            ok = add_merged(f, candidates, i);
    return ok;
}

/* Adds culprits that no root has as roots of low confidence, in the order of nodes; `is_sink` is by component. */
static bool add_other_culprits(struct root_finder *f, const bool *is_sink) {
    struct sutra_hang *hang = f->hang;
    struct pair_table covered = {0};
    bool ok = pair_table_init(&covered);
    for (uint32_t i = 0; i < hang->n_roots && ok; i++)
        for (size_t r = 0; r < hang->roots[i].ranks.n && ok; r++)
            ok = pair_table_note(&covered, (uint64_t)hang->roots[i].ranks.list[r], 0, 0);
    for (uint32_t k = 0; k < hang->n_nodes && ok; k++) {
        const struct hang_ranks culprits = hang->nodes[k].culprits;
        size_t n = 0;
        if (is_sink[hang->nodes[k].component] || culprits.n == 0)
            continue;
        int64_t *extra = arena_alloc(&hang->arena, culprits.n, sizeof *extra);
        ok = extra != NULL;
        for (size_t r = 0; r < culprits.n && ok; r++) {
            struct pair_entry *known = pair_table_insert(&covered, (uint64_t)culprits.list[r], 0);
            ok = known != NULL;
            if (!ok || known->number != PAIR_NONE)
                continue;
            known->number = 0;
            extra[n++] = culprits.list[r];
        }
        if (!ok || n == 0)
            continue;
        struct hang_root root;
        ok = make_root(f, &k, 1, (struct hang_ranks){extra, n}, &root) &&
             arena_grow(&hang->arena, &hang->roots, hang->n_roots, &f->roots_capacity, sizeof root);
        if (ok) {
            root.confidence = HANG_LOW;
            hang->roots[hang->n_roots++] = root;
        }
    }
    pair_table_free(&covered);
    return ok;
}

static bool find_roots(struct root_finder *f) {
    struct sutra_hang *hang = f->hang;
    const uint32_t n = hang->n_nodes;
    f->node_stamp = arena_zeros(&f->scratch, n, sizeof *f->node_stamp);
    f->queue = arena_alloc(&f->scratch, n, sizeof *f->queue);
    f->first_use = arena_zeros(&f->scratch, (size_t)hang->n_ranks + 2, sizeof *f->first_use);
    f->use_of_rank = arena_alloc(&f->scratch, hang->n_uses, sizeof *f->use_of_rank);
    if (!f->node_stamp || !f->queue || !f->first_use || !f->use_of_rank || !find_edges(f) || !find_components(f))
        return false;
    for (uint32_t i = 0; i < hang->n_uses; i++)
        f->first_use[hang->uses[i].rank + 2]++;
    for (uint32_t r = 2; r < hang->n_ranks + 2; r++)
        f->first_use[r] += f->first_use[r - 1];
    for (uint32_t i = 0; i < hang->n_uses; i++)
        f->use_of_rank[f->first_use[hang->uses[i].rank + 1]++] = i;
    f->rank_stamp = arena_zeros(&f->scratch, f->n_waits, sizeof *f->rank_stamp);
    bool *is_sink = arena_alloc(&f->scratch, n, sizeof *is_sink); /* by component */
    struct candidate *candidates = arena_alloc(&f->scratch, n, sizeof *candidates);
    uint32_t n_candidates = 0;
    if (!f->rank_stamp || !is_sink || !candidates)
        return false;
    memset(is_sink, true, n * sizeof *is_sink);
    for (uint32_t e = 0; e < hang->n_edges; e++) {
        const uint32_t from = hang->nodes[hang->edges[e].from].component;
        is_sink[from] &= hang->nodes[hang->edges[e].to].component == from;
    }
    for (uint32_t begin = 0, end; begin < n; begin = end) {
        const uint32_t component = hang->nodes[f->by_component[begin]].component;
        for (end = begin; end < n && hang->nodes[f->by_component[end]].component == component; end++)
            ;
        if (is_sink[component] &&
            !make_root(f, f->by_component + begin, end - begin, hang->nodes[f->by_component[begin]].culprits,
                       &candidates[n_candidates++].root))
            return false;
    }
    if (n_candidates > 0)
        qsort_r(candidates, n_candidates, sizeof *candidates, compare_candidates, hang);
    if (!merge_candidates(f, candidates, n_candidates))
        return false;
    if (hang->n_roots > 0)
        qsort_r(hang->roots, hang->n_roots, sizeof *hang->roots, compare_roots_of, hang);
    size_t n_culprits = 0; /* of the first root, and of all roots whose confidence is not low */
    for (uint32_t i = 0; i < hang->n_roots; i++)
        n_culprits += hang->roots[i].ranks.n;
    int64_t *culprits = arena_alloc(&f->scratch, n_culprits, sizeof *culprits);
    n_culprits = 0;
    for (uint32_t i = 0; i < hang->n_roots && culprits; i++)
        for (size_t r = 0; r < hang->roots[i].ranks.n && (i == 0 || hang->roots[i].confidence != HANG_LOW); r++)
            culprits[n_culprits++] = hang->roots[i].ranks.list[r];
    return culprits && keep_distinct(hang, culprits, n_culprits, &hang->culprits) && add_other_culprits(f, is_sink);
}

enum sutra_status hang_find_roots(struct sutra_hang *hang, struct sutra_error *error) {
    struct root_finder finder = {.hang = hang};
    const bool ok = find_roots(&finder) && !finder.scratch.failed && !hang->arena.failed;
    arena_free(&finder.scratch);
    return ok ? SUTRA_OK : error_memory(error);
}
