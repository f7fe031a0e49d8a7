/*
 * progress.c - the progress of each group, and the nodes: collectives, sends and receives that ranks wait in.
 *
 *     all_reduce      #7        #8        #9
 *     rank 0        completed pending                 own progress 7
 *     rank 1        completed pending                 own progress 7
 *     rank 2          -- in no record --  pending     own progress 8: the ring buffer dropped only older operations
 *
 * An operation that synchronizes completes only if all members take part. So the highest own progress at such an
 * operation is the progress of all members: here #8 has passed, and ranks 0 and 1, whose records are out of date, are
 * stale.
 *
 * Cost: O(entries) if the numbers of a group are dense, else O(n log n); 32 bytes per operation of the largest group.
 */
#include <stdlib.h>
#include <string.h>

#include "analyze/hang/hang.h"
#include "base/error.h"
#include "text/strings.h"

/* ---- Lists of ranks ---- */

bool hang_ranks_have(struct hang_ranks ranks, int64_t rank) {
    size_t i;
    BISECT(i, ranks.n, ranks.list[i] < rank);
    return i < ranks.n && ranks.list[i] == rank;
}

uint32_t hang_rank_index(const struct sutra_hang *hang, int64_t rank) {
    uint32_t i;
    BISECT(i, hang->n_ranks, hang->ranks[i].rank < rank);
    return i < hang->n_ranks && hang->ranks[i].rank == rank ? i : UINT32_MAX;
}

/* ---- The operations of a group ---- */

ORDER_BY(compare_rows, struct hang_row, ASCENDING(seq) ASCENDING(record.rank) ASCENDING(record.entry))

/* Lists the collectives of a group by number and rank; of equal numbers of a rank, the last one counts. False: out of
 * memory. */
static bool list_rows(struct sutra_hang *hang, const struct hang_group *group, struct hang_rows *rows,
                      struct arena *scratch) {
    const struct hang_use *uses = hang->uses + group->first_use;
    int64_t low = INT64_MAX, high = INT64_MIN;
    size_t n = 0;
    for (uint32_t u = 0; u < group->n_uses; u++)
        n += uses[u].n;
    struct hang_row *list = arena_alloc(scratch, n, sizeof *list), *sorted = arena_alloc(scratch, n, sizeof *list);
    if (!list || !sorted)
        return false;
    n = 0;
    for (uint32_t u = 0; u < group->n_uses; u++) {
        const struct flight_entry *entries = hang->ranks[uses[u].rank].entries;
        for (uint32_t i = uses[u].first; i != UINT32_MAX; i = entries[i].link) {
            list[n++] = (struct hang_row){entries[i].seq, {uses[u].rank, i}};
            low = MIN(low, entries[i].seq);
            high = MAX(high, entries[i].seq);
        }
    }
    const uint64_t n_numbers = n ? (uint64_t)high - (uint64_t)low + 1 : 0;
    size_t *end = NULL;
    if (n_numbers > 0 && n_numbers <= 4 * (uint64_t)n + 1024) {
        if (!(end = arena_zeros(scratch, n_numbers + 1, sizeof *end)))
            return false;
        for (size_t i = 0; i < n; i++)
            end[(uint64_t)list[i].seq - (uint64_t)low + 1]++;
        for (uint64_t s = 1; s <= n_numbers; s++)
            end[s] += end[s - 1];
        for (size_t i = 0; i < n; i++)
            sorted[end[(uint64_t)list[i].seq - (uint64_t)low]++] = list[i];
    } else if (n > 0) {
        memcpy(sorted, list, n * sizeof *list);
        qsort(sorted, n, sizeof *sorted, compare_rows);
    }
    size_t n_kept = 0;
    for (size_t i = 0; i < n; i++) {
        if (n_kept && sorted[n_kept - 1].seq == sorted[i].seq &&
            sorted[n_kept - 1].record.rank == sorted[i].record.rank)
            n_kept--;
        sorted[n_kept++] = sorted[i];
    }
    *rows = (struct hang_rows){sorted, n_kept};
    return true;
}

/* The highest own progress at an operation that synchronizes on each rank that recorded it, or 0. `own` is by use. */
static int64_t find_job_progress(const struct sutra_hang *hang, const struct hang_rows *rows, const int64_t *own,
                                 uint32_t n_uses, int64_t *sorted) {
    memcpy(sorted, own, n_uses * sizeof *own);
    qsort(sorted, n_uses, sizeof *sorted, compare_int64s);
    for (uint32_t u = n_uses; u-- > 0 && sorted[u] > 0;) {
        if (u + 1 < n_uses && sorted[u + 1] == sorted[u])
            continue;
        const size_t begin = hang_rows_find(rows, sorted[u]);
        bool synchronizes = begin < rows->n && rows->list[begin].seq == sorted[u];
        for (size_t i = begin; synchronizes && i < rows->n && rows->list[i].seq == sorted[u]; i++)
            synchronizes = hang->names[hang_entry(hang, rows->list[i].record)->name].synchronizes;
        if (synchronizes)
            return sorted[u];
    }
    return 0;
}

/* ---- Nodes ---- */

struct node_maker {
    struct sutra_hang *hang;
    struct arena scratch;
    uint64_t nodes_capacity;
    uint32_t *type_counts; /* by string id: zeros */
};

/* The type that most arrived ranks recorded; of equally frequent types the first in byte order. */
static uint32_t find_node_type(struct node_maker *m, const struct hang_node *node) {
    const struct sutra_hang *hang = m->hang;
    uint32_t found = STRING_NONE;
    for (size_t i = 0; i < node->arrived.n; i++)
        m->type_counts[hang->names[hang_entry(hang, node->records[i])->name].recorded]++;
    for (size_t i = 0; i < node->arrived.n; i++) {
        const uint32_t type = hang->names[hang_entry(hang, node->records[i])->name].recorded;
        const uint32_t n = m->type_counts[type], n_found = found == STRING_NONE ? 0 : m->type_counts[found];
        if (n > n_found || (n == n_found && type != found &&
                            strcmp(strings_text(&hang->strings, type), strings_text(&hang->strings, found)) < 0))
            found = type;
    }
    for (size_t i = 0; i < node->arrived.n; i++)
        m->type_counts[hang->names[hang_entry(hang, node->records[i])->name].recorded] = 0;
    return found;
}

/* Adds a node, and sets its time. False: out of memory. */
static bool add_node(struct node_maker *m, const struct hang_node *node) {
    struct sutra_hang *hang = m->hang;
    if (!arena_grow(&hang->arena, &hang->nodes, hang->n_nodes, &m->nodes_capacity, sizeof *node))
        return false;
    struct hang_node *made = &hang->nodes[hang->n_nodes++];
    *made = *node;
    made->created_ns = INT64_MAX;
    for (size_t i = 0; i < made->arrived.n; i++)
        made->created_ns = MIN(made->created_ns, hang_entry(hang, made->records[i])->created_ns);
    return true;
}

/* ---- Collectives ---- */

/* The node of the stuck collective: arrived, missing and absent members. False: out of memory. */
static bool add_stuck_collective(struct node_maker *m, struct hang_group *group, const struct hang_rows *rows) {
    struct sutra_hang *hang = m->hang;
    const size_t begin = hang_rows_find(rows, group->stuck_seq), end = hang_rows_end(rows, begin);
    int64_t *arrived = arena_alloc(&hang->arena, end - begin, sizeof *arrived);
    struct hang_record *records = arena_alloc(&hang->arena, end - begin, sizeof *records);
    size_t n_arrived = 0, n_missing = 0, n_no_dump = 0;
    if (!arrived || !records)
        return false;
    for (size_t i = begin; i < end; i++)
        if (!hang_entry(hang, rows->list[i].record)->passed) {
            arrived[n_arrived] = hang->ranks[rows->list[i].record.rank].rank;
            records[n_arrived++] = rows->list[i].record;
        }
    int64_t *missing = arena_alloc(&m->scratch, group->members.n, sizeof *missing);
    int64_t *no_dump = arena_alloc(&m->scratch, group->members.n, sizeof *no_dump);
    if (!missing || !no_dump)
        return false;
    const struct hang_use *uses = hang->uses + group->first_use;
    uint32_t u = 0;
    for (size_t i = 0; i < group->members.n; i++) {
        const int64_t rank = group->members.list[i];
        const uint32_t index = hang_rank_index(hang, rank);
        while (u < group->n_uses && hang->ranks[uses[u].rank].rank < rank)
            u++;
        const bool has_use = u < group->n_uses && uses[u].rank == index;
        if (index == UINT32_MAX)
            no_dump[n_no_dump++] = rank;
        else if (!has_use || uses[u].high < group->stuck_seq)
            missing[n_missing++] = rank;
    }
    int64_t *lists = arena_alloc(&hang->arena, n_missing + n_no_dump, sizeof *lists);
    if (!lists)
        return false;
    memcpy(lists, missing, n_missing * sizeof *lists);
    memcpy(lists + n_missing, no_dump, n_no_dump * sizeof *lists);
    struct hang_node node = {.group = (uint32_t)(group - hang->groups),
                             .seq = group->stuck_seq,
                             .from = FLIGHT_ANY,
                             .to = FLIGHT_ANY,
                             .arrived = {arrived, n_arrived},
                             .missing = {lists, n_missing},
                             .no_dump = {lists + n_missing, n_no_dump},
                             .records = records};
    node.type = find_node_type(m, &node);
    return add_node(m, &node);
}

/* Finds progress, mismatch and stuck collective of a group. */
static enum sutra_status find_group_progress(struct node_maker *m, struct hang_group *group,
                                             struct sutra_error *error) {
    struct sutra_hang *hang = m->hang;
    const struct hang_use *uses = hang->uses + group->first_use;
    struct hang_rows rows = {.n = 0};
    int64_t *own = arena_alloc(&m->scratch, group->n_uses, sizeof *own);
    int64_t *sorted = arena_alloc(&m->scratch, group->n_uses, sizeof *sorted);
    int64_t *behind = arena_alloc(&m->scratch, group->members.n, sizeof *behind);
    uint32_t *use_of = arena_alloc(&m->scratch, hang->n_ranks, sizeof *use_of); /* of ranks with a use only */
    TRY_ALLOC(own && sorted && behind && use_of && list_rows(hang, group, &rows, &m->scratch), error);

    /* Own progress, then progress of the job. */
    for (uint32_t u = 0; u < group->n_uses; u++) {
        own[u] = uses[u].low == INT64_MIN ? INT64_MIN : uses[u].low - 1;
        use_of[uses[u].rank] = u;
    }
    for (size_t i = 0; i < rows.n; i++) {
        int64_t *progress = &own[use_of[rows.list[i].record.rank]];
        if (hang_entry(hang, rows.list[i].record)->passed)
            *progress = MAX(*progress, rows.list[i].seq);
    }
    const int64_t job = group->n_uses ? find_job_progress(hang, &rows, own, group->n_uses, sorted) : 0;
    for (size_t i = 0; i < rows.n; i++) {
        const int64_t seq = rows.list[i].seq, progress = own[use_of[rows.list[i].record.rank]];
        struct flight_entry *entry = hang_entry(hang, rows.list[i].record);
        hang->ranks[rows.list[i].record.rank].is_stale |= progress < seq && seq <= job;
        entry->passed |= seq <= MAX(progress, job);
        if (!entry->passed && !group->is_stuck) { /* ascending by number */
            group->is_stuck = true;
            group->stuck_seq = seq;
        }
    }

    /* The lowest and the highest number of all members with a dump. */
    int64_t top = 0, bottom = INT64_MAX;
    size_t n_dumped = 0, n_behind = 0;
    for (uint32_t u = 0; u < group->n_uses; u++) {
        top = MAX(top, uses[u].high);
        bottom = MIN(bottom, uses[u].high);
    }
    uint32_t u = 0;
    for (size_t i = 0; i < group->members.n; i++) {
        const uint32_t index = hang_rank_index(hang, group->members.list[i]);
        if (index == UINT32_MAX)
            continue;
        n_dumped++;
        while (u < group->n_uses && uses[u].rank < index)
            u++;
        const bool has_use = u < group->n_uses && uses[u].rank == index;
        if ((has_use ? uses[u].high : 0) < top)
            behind[n_behind++] = group->members.list[i];
    }
    group->common_seq = n_dumped > group->n_uses || group->n_uses == 0 ? 0 : bottom;
    group->passed_seq = group->is_stuck ? MAX(group->stuck_seq - 1, 0) : top;
    int64_t *kept = arena_alloc(&hang->arena, n_behind, sizeof *kept);
    TRY(arena_status(&hang->arena, error));
    memcpy(kept, behind, n_behind * sizeof *kept);
    group->behind = (struct hang_ranks){kept, n_behind};
    TRY(hang_find_mismatch(hang, group, &rows, error));
    TRY_ALLOC(!group->is_stuck || add_stuck_collective(m, group, &rows), error);
    return SUTRA_OK;
}

/* ---- Sends and receives ---- */

/* The sends, and the receives, from one rank to another. */
struct hang_pair {
    uint32_t group;
    int64_t ranks[2];          /* source, destination, or FLIGHT_ANY */
    uint64_t begin[2], end[2]; /* of the sends, of the receives, in a list of records */
};

static bool has_passed(const struct sutra_hang *hang, struct hang_record record) {
    return hang_entry(hang, hang_whole(hang, record))->passed;
}

/* Adds the node of a pair with a pending half. The k-th send belongs to the k-th receive if both histories are
 * complete. False: out of memory. */
static bool add_pair(struct node_maker *m, const struct hang_pair *pair, const struct hang_record *records) {
    struct sutra_hang *hang = m->hang;
    const struct hang_record *first[2] = {NULL, NULL}; /* pending send, pending receive */
    uint32_t index[2];
    bool by_count = true;
    for (int side = 0; side < 2; side++) {
        index[side] = hang_rank_index(hang, pair->ranks[side]);
        by_count &= index[side] != UINT32_MAX && hang->ranks[index[side]].is_complete;
    }
    for (int side = 0; side < 2; side++) {
        const uint64_t n_other = pair->end[!side] - pair->begin[!side];
        if (pair->ranks[side] < 0 || (!by_count && index[side] != UINT32_MAX && hang->ranks[index[side]].is_stale))
            continue;
        for (uint64_t i = pair->begin[side], k = 0; i < pair->end[side] && !first[side]; i++, k++)
            if (!has_passed(hang, records[i]) &&
                !(by_count && k < n_other && has_passed(hang, records[pair->begin[!side] + k])))
                first[side] = &records[i];
    }
    if (!first[0] && !first[1])
        return true;

    int64_t *lists = arena_alloc(&hang->arena, 6, sizeof *lists);
    struct hang_record *arrivals = arena_alloc(&hang->arena, 2, sizeof *arrivals);
    if (!lists || !arrivals)
        return false;
    struct hang_node node = {.group = pair->group,
                             .is_p2p = true,
                             .seq = INT64_MAX,
                             .from = pair->ranks[0],
                             .to = pair->ranks[1],
                             .arrived = {lists, 0},
                             .missing = {lists + 2, 0},
                             .no_dump = {lists + 4, 0},
                             .records = arrivals};
    const bool is_self = node.from == node.to;
    if (is_self && first[1])
        first[0] = first[1];
    for (int k = 0; k < (is_self ? 1 : 2); k++) { /* lists are ascending */
        const int side = node.from <= node.to ? k : !k;
        if (pair->ranks[side] < 0)
            continue;
        if (first[side]) {
            node.seq = MIN(node.seq, hang_entry(hang, *first[side])->seq);
            arrivals[node.arrived.n] = *first[side];
            lists[node.arrived.n++] = pair->ranks[side];
        } else if (index[side] != UINT32_MAX) {
            lists[2 + node.missing.n++] = pair->ranks[side];
        }
        if (index[side] == UINT32_MAX)
            lists[4 + node.no_dump.n++] = pair->ranks[side];
    }
    node.type = strings_intern(&hang->strings, "send/recv", 9);
    return node.type != STRING_NONE && add_node(m, &node);
}

/* Groups the sends and receives of all ranks by pair, and adds the pending pairs. */
static bool find_pairs(struct node_maker *m) {
    struct sutra_hang *hang = m->hang;
    struct tuples numbers = {0};
    struct hang_pair *pairs = NULL;
    uint64_t capacity = 0, n_records = 0;
    bool ok = true;
    for (uint32_t r = 0; r < hang->n_ranks && ok; r++)
        for (uint32_t i = 0; i < hang->ranks[r].n_entries && ok; i++) {
            struct flight_entry *e = &hang->ranks[r].entries[i];
            const struct flight_name *name = &hang->names[e->name];
            if (!e->is_p2p || (!name->is_send && !name->is_receive) || (name->from < 0 && name->to < 0))
                continue;
            const int64_t from = hang_peer(&hang->groups[e->group], name->from);
            const int64_t to = hang_peer(&hang->groups[e->group], name->to);
            const uint32_t n_before = numbers.n;
            const uint32_t number = tuples_number(&numbers, (struct tuple){{e->group, from, to, 0}});
            ok = number != TUPLE_NONE && arena_grow(&m->scratch, &pairs, number, &capacity, sizeof *pairs);
            if (ok && number == n_before)
                pairs[number] = (struct hang_pair){.group = e->group, .ranks = {from, to}};
            if (ok)
                pairs[number].end[name->is_receive]++;
            e->link = number;
            n_records++;
        }
    struct hang_record *records = arena_alloc(&m->scratch, n_records, sizeof *records);
    uint64_t n = 0;
    for (uint32_t p = 0; p < numbers.n && ok && records && pairs; p++)
        for (int side = 0; side < 2; side++) {
            const uint64_t begin = n;
            n += pairs[p].end[side];
            pairs[p].begin[side] = pairs[p].end[side] = begin;
        }
    for (uint32_t r = 0; r < hang->n_ranks && ok && records; r++)
        for (uint32_t i = 0; i < hang->ranks[r].n_entries; i++) {
            const struct flight_entry *e = &hang->ranks[r].entries[i];
            if (pairs && e->is_p2p && e->link != UINT32_MAX)
                records[pairs[e->link].end[hang->names[e->name].is_receive]++] = (struct hang_record){r, i};
        }
    for (uint32_t p = 0; p < numbers.n && ok && records && pairs; p++)
        ok = add_pair(m, &pairs[p], records);
    tuples_free(&numbers);
    return ok && records;
}

ORDER_BY(compare_nodes, struct hang_node,
         ASCENDING(group) ASCENDING(is_p2p) ASCENDING(seq) ASCENDING(from) ASCENDING(to))

enum sutra_status hang_find_nodes(struct sutra_hang *hang, struct sutra_error *error) {
    struct node_maker maker = {.hang = hang};
    enum sutra_status status = hang_find_overlaps(hang, error);
    maker.type_counts = calloc((size_t)hang->strings.n + 1, sizeof *maker.type_counts);
    if (!status && !maker.type_counts)
        status = error_memory(error);
    for (uint32_t g = 0; g < hang->n_groups && !status; g++) {
        const struct arena_mark mark = arena_mark(&maker.scratch);
        status = find_group_progress(&maker, &hang->groups[g], error);
        arena_release(&maker.scratch, mark);
    }
    if (!status && !find_pairs(&maker))
        status = error_memory(error);
    if (!status && hang->n_nodes > 0)
        qsort(hang->nodes, hang->n_nodes, sizeof *hang->nodes, compare_nodes);
    for (uint32_t i = 0; i < hang->n_nodes && !status; i++)
        if (!hang->nodes[i].is_p2p)
            hang->groups[hang->nodes[i].group].node = i;
    free(maker.type_counts);
    arena_free(&maker.scratch);
    return status;
}
