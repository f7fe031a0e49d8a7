/*
 * path_sums.c - the merged tree once more, by names only: for each path what runs below it and what it launches itself,
 * parents before their children, those first whose time differs most.
 *
 * A piece of work that both sides have stands at the shorter of its paths, of equal ones at that which comes first in
 * the alphabet, so that it does not matter which side is A. Numbers of paths rise from the root on, so sums are made
 * from the last path to the first. O(n), beside sorting children.
 */
#include <stdlib.h>
#include <string.h>

#include "base/error.h"
#include "compare/diff_rows.h"

/* Of a path, whose number is its place; place 0 is the root. */
struct path_sum {
    uint64_t calls[2];
    wide_t own[2], below[2]; /* `below` has `own` too */
    row_t parent, first, next;
    uint32_t depth;
    bool is_there;
};

struct path_sums {
    const struct part *whole;
    struct path_sum *list;
    row_t n;
};

static void find_depths(struct path_sums *sums) {
    for (row_t i = 1; i < sums->n; i++) {
        sums->list[i].parent = (row_t)sums->whole->paths.list[i - 1].part[0];
        sums->list[i].depth = sums->list[sums->list[i].parent].depth + 1;
    }
}

/* Of two paths of one length, by the innermost name that differs. */
static bool comes_first(const struct path_sums *sums, row_t a, row_t b) {
    const struct part *whole = sums->whole;
    int order = 0;
    for (; a != b && order == 0; a = sums->list[a].parent, b = sums->list[b].parent)
        order = strcmp(strings_text(&whole->texts, (uint32_t)whole->paths.list[a - 1].part[1]),
                       strings_text(&whole->texts, (uint32_t)whole->paths.list[b - 1].part[1]));
    return order < 0;
}

static row_t path_of(const struct path_sums *sums, const struct path_node *node) {
    row_t a = node->path[0], b = node->path[1];
    if (!node_is_on(node, 0) || !node_is_on(node, 1))
        return node_is_on(node, 0) ? a : b;
    uint32_t depth_a = sums->list[a].depth, depth_b = sums->list[b].depth;
    if (a == b || depth_a != depth_b)
        return depth_a < depth_b ? a : b;
    return comes_first(sums, a, b) ? a : b;
}

static void add_node(struct path_sums *sums, const struct path_node *node) {
    struct path_sum *sum = &sums->list[path_of(sums, node)];
    for (int side = 0; side < 2; side++) {
        if (node->kind == PATH_WORK)
            sum->own[side] += node->ticks[side];
        else if (node->kind != PATH_THREAD)
            sum->calls[side] += node->calls[side];
    }
    sum->is_there = true;
}

/* From the last to the first: paths are there if one below them is. */
static void add_up(struct path_sums *sums) {
    for (row_t i = sums->n; i-- > 0;) {
        struct path_sum *sum = &sums->list[i];
        row_t parent = sum->parent;
        for (int side = 0; side < 2; side++) {
            sum->below[side] += sum->own[side];
            if (i)
                sums->list[parent].below[side] += sum->below[side];
        }
        if (i)
            sums->list[parent].is_there |= sum->is_there;
    }
}

/* ---- Order ---- */

static int compare_sums(const void *left, const void *right, void *arg) {
    const struct path_sums *sums = arg;
    const struct path_sum *a = &sums->list[*(const row_t *)left], *b = &sums->list[*(const row_t *)right];
    wide_t first = wide_size(diff_of(sums->whole, a->below)), second = wide_size(diff_of(sums->whole, b->below));
    if (first != second)
        return first > second ? -1 : 1;
    return *(const row_t *)left < *(const row_t *)right ? -1 : 1;
}

/* Lists of children: all paths by falling difference, put before what their parent has from the last on. */
static bool link_children(struct path_sums *sums, struct arena *arena) {
    row_t *order = arena_take(arena, sums->n, sizeof *order), n = 0;
    if (!order)
        return false;
    for (row_t i = 0; i < sums->n; i++)
        sums->list[i].first = sums->list[i].next = ROW_NONE;
    for (row_t i = 1; i < sums->n; i++)
        if (sums->list[i].is_there)
            order[n++] = i;
    qsort_r(order, n, sizeof *order, compare_sums, sums);
    while (n-- > 0) {
        struct path_sum *sum = &sums->list[order[n]], *parent = &sums->list[sum->parent];
        sum->next = parent->first;
        parent->first = order[n];
    }
    return true;
}

/* ---- Rows ---- */

static void put_row(const struct path_sums *sums, row_t i, uint32_t depth, struct sutra_table *table) {
    const struct part *whole = sums->whole;
    const struct path_sum *sum = &sums->list[i];
    uint32_t name = i ? (uint32_t)whole->paths.list[i - 1].part[1] : 0;
    table_integer(table, depth);
    if (i)
        table_text(table, strings_text(&whole->texts, name), strings_length(&whole->texts, name));
    else
        table_text(table, "all", 3);
    for (int side = 0; side < 2; side++)
        table_real(table, (double)sum->calls[side] / (double)whole->sides[side].n_samples);
    diff_put_times(table, whole, sum->below);
    diff_put_times(table, whole, sum->own);
}

static void put_rows(const struct path_sums *sums, struct sutra_table *table) {
    uint32_t depth = 0;
    for (row_t i = 0; i != ROW_NONE;) {
        const struct path_sum *sum = &sums->list[i];
        put_row(sums, i, depth, table);
        if (sum->first != ROW_NONE) {
            i = sum->first;
            depth++;
            continue;
        }
        while (i != ROW_NONE && sums->list[i].next == ROW_NONE) {
            i = sums->list[i].parent;
            depth -= depth > 0;
        }
        i = i == ROW_NONE ? ROW_NONE : sums->list[i].next;
    }
}

enum sutra_status path_sums_put(const struct part *whole, const struct path_tree *tree, struct arena *arena,
                                struct sutra_table *table, struct sutra_error *error) {
    struct path_sums sums = {.whole = whole, .n = whole->paths.n + 1};
    sums.list = arena_zeros(arena, sums.n, sizeof *sums.list);
    if (!sums.list)
        return error_memory(error);
    sums.list[0].parent = ROW_NONE;
    find_depths(&sums);
    for (row_t i = 0; i < tree->n; i++)
        add_node(&sums, &tree->nodes[i]);
    add_up(&sums);
    if (!link_children(&sums, arena))
        return error_memory(error);
    put_rows(&sums, table);
    return SUTRA_OK;
}
