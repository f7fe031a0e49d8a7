/*
 * mismatches.c - ranks that record different operations under one number, and lists of members that differ.
 *
 *     number       5             6             7             8
 *     rank 0       all_reduce    broadcast     all_reduce    all_gather
 *     rank 1       all_reduce    all_reduce    all_gather                  skipped the broadcast
 *     rank 2       all_reduce    broadcast     all_reduce    all_gather
 *
 * The first number at which signatures differ is the mismatch; deviating ranks are all but the ranks of the most
 * frequent signature. The next numbers show whether the deviating ranks exchanged, skipped or added an operation.
 *
 * Cost: O(operations), plus O(ranks * distinct signatures) at the first mismatch of a group.
 */
#include <stdlib.h>
#include <string.h>

#include "analyze/hang/hang.h"
#include "base/error.h"

/* ---- Signatures ---- */

/* The most serious difference of two shapes, or HANG_NONE. */
static enum hang_cause compare_shapes(const struct flight_shape *a, const struct flight_shape *b) {
    const uint32_t compared = a->compared & b->compared;
    if (a->type != b->type)
        return HANG_TYPE_MISMATCH;
    if ((compared & COMPARE_N_IN && a->n_in != b->n_in) || (compared & COMPARE_N_OUT && a->n_out != b->n_out))
        return HANG_SIZE_MISMATCH;
    if ((compared & COMPARE_IN_TYPES && a->in_types != b->in_types) ||
        (compared & COMPARE_OUT_TYPES && a->out_types != b->out_types))
        return HANG_DTYPE_MISMATCH;
    return HANG_NONE;
}

/* The most serious difference of two signatures. O(parts). */
static enum hang_cause compare_signatures(const struct sutra_hang *hang, uint32_t a, uint32_t b) {
    enum hang_cause found = HANG_NONE;
    while (a != b) {
        const struct signature_link *x = a < hang->n_shapes ? NULL : &hang->signatures.links[a - hang->n_shapes];
        const struct signature_link *y = b < hang->n_shapes ? NULL : &hang->signatures.links[b - hang->n_shapes];
        if (!x != !y) /* of different length */
            return HANG_TYPE_MISMATCH;
        const enum hang_cause of_part = compare_shapes(&hang->shapes[x ? x->last : a], &hang->shapes[y ? y->last : b]);
        if (of_part != HANG_NONE)
            found = found == HANG_NONE ? of_part : MIN(found, of_part);
        if (!x || !y)
            break;
        a = x->before;
        b = y->before;
    }
    return found;
}

/* The row of a number and a rank, or NULL. O(log n). */
static const struct hang_row *find_row(const struct hang_rows *rows, int64_t seq, uint32_t rank) {
    size_t i;
    BISECT(i, rows->n, rows->list[i].seq < seq || (rows->list[i].seq == seq && rows->list[i].record.rank < rank));
    return i < rows->n && rows->list[i].seq == seq && rows->list[i].record.rank == rank ? &rows->list[i] : NULL;
}

/* Whether a rank records at one number what another one records at another number. */
static bool are_same(const struct sutra_hang *hang, const struct hang_row *a, const struct hang_row *b) {
    return a && b &&
           compare_signatures(hang, hang_signature_of(hang, a->record), hang_signature_of(hang, b->record)) ==
               HANG_NONE;
}

/* Whether rank `a` records at seq + 1, seq + 2, ... what rank `b` records at seq, seq + 1, ..., as far as both go. */
static bool is_shifted(const struct sutra_hang *hang, const struct hang_rows *rows, uint32_t a, uint32_t b,
                       int64_t seq) {
    const struct hang_row *of_a = find_row(rows, seq + 1, a), *of_b = find_row(rows, seq, b);
    if (!of_a || !of_b)
        return false;
    for (; of_a && of_b && seq < INT64_MAX - 2; seq++) {
        if (!are_same(hang, of_a, of_b))
            return false;
        of_a = find_row(rows, seq + 2, a);
        of_b = find_row(rows, seq + 1, b);
    }
    return true;
}

/* Refines a mismatch of type or size: whether all deviating ranks exchanged, skipped or added an operation. */
static enum hang_cause refine(const struct sutra_hang *hang, const struct hang_rows *rows,
                              const struct hang_mismatch *mismatch, const uint32_t *odd, size_t n_odd) {
    const int64_t seq = mismatch->seq;
    const uint32_t other = mismatch->common.rank;
    size_t n_exchanged = 0, n_skipped = 0, n_added = 0;
    if (seq >= INT64_MAX - 2)
        return mismatch->kind;
    for (size_t i = 0; i < n_odd; i++)
        n_exchanged += are_same(hang, find_row(rows, seq + 1, odd[i]), find_row(rows, seq, other)) &&
                       are_same(hang, find_row(rows, seq + 1, other), find_row(rows, seq, odd[i]));
    if (n_exchanged > 0)
        return n_exchanged == n_odd ? HANG_ORDER_MISMATCH : mismatch->kind;
    while (n_skipped < n_odd && is_shifted(hang, rows, other, odd[n_skipped], seq))
        n_skipped++;
    if (n_skipped == n_odd)
        return HANG_SKIPPED_COLLECTIVE;
    while (n_added < n_odd && is_shifted(hang, rows, odd[n_added], other, seq))
        n_added++;
    if (n_added == n_odd)
        return mismatch->is_tie ? HANG_SKIPPED_COLLECTIVE : HANG_EXTRA_COLLECTIVE;
    return mismatch->kind;
}

static int64_t add_saturated(int64_t a, int64_t b) {
    int64_t sum;
    return __builtin_add_overflow(a, b, &sum) ? INT64_MAX : sum;
}

/* Whether all members recorded an all_to_all, and send other numbers of elements than they receive. */
static bool loses_elements(const struct sutra_hang *hang, const struct hang_group *group, const struct hang_row *rows,
                           size_t n) {
    const uint32_t all_to_all = strings_find(&hang->strings, "all_to_all", 10);
    int64_t n_in = 0, n_out = 0;
    if (n != group->members.n)
        return false;
    for (size_t i = 0; i < n; i++) {
        const struct flight_entry *e = hang_entry(hang, rows[i].record);
        const struct flight_shape *shape = &hang->shapes[e->shape];
        if (shape->type != all_to_all || e->has_parts)
            return false;
        n_in = add_saturated(n_in, shape->n_in);
        n_out = add_saturated(n_out, shape->n_out);
    }
    return n_in != n_out && n_in > 0 && n_out > 0;
}

enum sutra_status hang_find_mismatch(struct sutra_hang *hang, struct hang_group *group, const struct hang_rows *rows,
                                     struct sutra_error *error) {
    struct hang_mismatch *mismatch = &group->mismatch;
    struct arena scratch = {0};
    struct kind {
        uint32_t signature;
        struct hang_record first;
        size_t n;
    } *kinds = arena_alloc(&scratch, group->n_uses, sizeof *kinds);
    uint32_t *kind_of = arena_alloc(&scratch, group->n_uses, sizeof *kind_of);
    uint32_t *odd = arena_alloc(&scratch, group->n_uses, sizeof *odd);
    enum sutra_status status = arena_status(&scratch, error);
    for (size_t begin = 0, end; begin < rows->n && !status && mismatch->kind == HANG_NONE; begin = end) {
        const struct hang_row *row = &rows->list[begin];
        end = hang_rows_end(rows, begin);
        const size_t n = end - begin;
        size_t n_kinds = 0, most = 0, n_odd = 0;
        for (size_t i = 0; i < n; i++) {
            const uint32_t signature = hang_signature_of(hang, row[i].record);
            size_t k = 0;
            while (k < n_kinds && compare_signatures(hang, kinds[k].signature, signature) != HANG_NONE)
                k++;
            if (k == n_kinds)
                kinds[n_kinds++] = (struct kind){signature, row[i].record, 0};
            kinds[k].n++;
            kind_of[i] = (uint32_t)k;
        }
        if (n_kinds == 1 && !loses_elements(hang, group, row, n))
            continue;
        for (size_t k = 1; k < n_kinds; k++)
            most = kinds[k].n > kinds[most].n ? k : most;
        *mismatch = (struct hang_mismatch){.kind = HANG_SIZE_MISMATCH,
                                           .seq = row->seq,
                                           .is_tie = n_kinds == 1,
                                           .odd = kinds[0].first,
                                           .common = kinds[most].first};
        for (size_t k = 0; k < n_kinds; k++)
            mismatch->is_tie |= k != most && kinds[k].n == kinds[most].n;
        for (size_t i = 0; i < n; i++)
            if (kind_of[i] != most)
                odd[n_odd++] = (uint32_t)i;
        if (n_odd > 0) {
            mismatch->odd = row[odd[0]].record;
            mismatch->kind = compare_signatures(hang, kinds[most].signature, kinds[kind_of[odd[0]]].signature);
        }
        const bool lists_all = mismatch->is_tie;
        const size_t n_ranks = lists_all ? n : n_odd;
        int64_t *ranks = arena_alloc(&hang->arena, n_ranks, sizeof *ranks);
        if (!ranks) {
            status = error_memory(error);
            continue;
        }
        for (size_t i = 0; i < n_ranks; i++)
            ranks[i] = hang->ranks[row[lists_all ? i : odd[i]].record.rank].rank;
        mismatch->ranks = (struct hang_ranks){ranks, n_ranks};
        for (size_t i = 0; i < n_odd; i++) /* positions become rank indices */
            odd[i] = row[odd[i]].record.rank;
        if (n_odd > 0 && mismatch->kind != HANG_DTYPE_MISMATCH)
            mismatch->kind = refine(hang, rows, mismatch, odd, n_odd);
    }
    arena_free(&scratch);
    return status;
}

struct hang_mismatch hang_pair_mismatch(struct sutra_hang *hang, const struct hang_node *node) {
    struct hang_mismatch none = {.kind = HANG_NONE};
    if (node->arrived.n < 2)
        return none;
    const int source = node->from < node->to ? 0 : 1;
    const struct hang_record send = node->records[source], receive = node->records[!source];
    const struct flight_shape *s = &hang->shapes[hang_entry(hang, send)->shape];
    const struct flight_shape *r = &hang->shapes[hang_entry(hang, receive)->shape];
    const uint32_t s_types = strings_length(&hang->strings, s->in_types) ? s->in_types : s->out_types;
    const uint32_t r_types = strings_length(&hang->strings, r->out_types) ? r->out_types : r->in_types;
    struct hang_mismatch found = {
        .seq = node->seq, .ranks = node->arrived, .is_tie = true, .odd = send, .common = receive};
    if ((s->n_in ? s->n_in : s->n_out) != (r->n_out ? r->n_out : r->n_in))
        found.kind = HANG_SIZE_MISMATCH;
    else if (s_types != r_types && strings_length(&hang->strings, s_types) && strings_length(&hang->strings, r_types))
        found.kind = HANG_DTYPE_MISMATCH;
    return found.kind == HANG_NONE ? none : found;
}

/* ---- Lists of members ---- */

struct list_member {
    int64_t rank;
    uint32_t group;
};
ORDER_BY(compare_members, struct list_member, ASCENDING(rank) ASCENDING(group))

/* Ranks in one of two lists only, ascending. */
static bool find_difference(struct sutra_hang *hang, struct hang_ranks a, struct hang_ranks b, struct hang_ranks *to) {
    int64_t *list = arena_alloc(&hang->arena, a.n + b.n, sizeof *list);
    size_t n = 0;
    if (!list)
        return false;
    for (size_t i = 0, k = 0; i < a.n || k < b.n;) {
        const bool in_a = i < a.n && (k == b.n || a.list[i] <= b.list[k]);
        const bool in_b = k < b.n && (i == a.n || b.list[k] <= a.list[i]);
        if (in_a != in_b)
            list[n++] = in_a ? a.list[i] : b.list[k];
        i += in_a;
        k += in_b;
    }
    *to = (struct hang_ranks){list, n};
    return true;
}

enum sutra_status hang_find_overlaps(struct sutra_hang *hang, struct sutra_error *error) {
    struct arena scratch = {0};
    enum sutra_status status = SUTRA_OK;
    for (uint32_t begin = 0, end; begin < hang->n_groups && !status; begin = end) {
        size_t n = 0;
        for (end = begin; end < hang->n_groups && hang->groups[end].name == hang->groups[begin].name; end++)
            n += hang->groups[end].has_known_members ? hang->groups[end].members.n : 0;
        if (end - begin == 1)
            continue;
        const struct arena_mark mark = arena_mark(&scratch);
        struct list_member *members = arena_alloc(&scratch, n, sizeof *members);
        uint32_t *last = arena_alloc(&scratch, end - begin, sizeof *last); /* the last other list that overlaps */
        if (!members || !last) {
            status = error_memory(error);
            continue;
        }
        n = 0;
        for (uint32_t g = begin; g < end; g++) {
            last[g - begin] = UINT32_MAX;
            for (size_t i = 0; hang->groups[g].has_known_members && i < hang->groups[g].members.n; i++)
                members[n++] = (struct list_member){hang->groups[g].members.list[i], g};
        }
        if (n > 0)
            qsort(members, n, sizeof *members, compare_members);
        for (size_t i = 0, k; i < n; i = k) {
            for (k = i; k < n && members[k].rank == members[i].rank; k++)
                ;
            for (size_t m = i; m < k && k - i > 1; m++) {
                const uint32_t other = members[m == k - 1 ? k - 2 : k - 1].group;
                uint32_t *of = &last[members[m].group - begin];
                *of = *of == UINT32_MAX ? other : MAX(*of, other);
            }
        }
        for (uint32_t g = begin; g < end && !status; g++)
            if (last[g - begin] != UINT32_MAX &&
                !find_difference(hang, hang->groups[g].members, hang->groups[last[g - begin]].members,
                                 &hang->groups[g].overlapping))
                status = error_memory(error);
        arena_release(&scratch, mark);
    }
    arena_free(&scratch);
    return status;
}
