/*
 * path_align.c - children of two nodes, aligned so that their order is kept.
 *
 *     A   linear  norm  linear  linear'      1. equal below: from both ends inwards, then what stands once on each side
 *         |       |     |       |            2. equal names and shapes, in the same way, then in the order in which
 *     B   linear  norm  linear  linear"         they occur      3. equal names      4. equal children: renamed
 *
 * Each step looks into the gaps that those before it have left. Of pairs that cross each other the longest rising chain
 * stays. Where a gap has a node on one side whose children stand on the other, the node only wraps them: they take its
 * place, and all is done again, ROUNDS times at most. O(k log k).
 */
#include <stdlib.h>
#include <string.h>

#include "base/error.h"
#include "base/shared.h"
#include "columns/column.h"
#include "compare/call_paths.h"
#include "compare/path_align.h"

#define ROUNDS 16

/* Nodes around a single other one, and so on, that are looked through. */
#define DEPTH 16

enum path_key { KEY_ID, KEY_SHELL, KEY_BARE, KEY_LIST };

struct path_aligning {
    const struct path_tree *trees;
    struct path_ids *ids;
    struct arena *arena;
    struct path_lists *lists;
    enum path_key key;
    bool only_once; /* keys count that stand once on each side */
    /* Of a gap: */
    row_t *behind;  /* by place on the second side: the next of equal key */
    row_t *pair[2]; /* pairs in the order of the first side, */
    row_t *least;   /* for each length of a chain the pair at whose end the second side is least, */
    row_t *before;  /* the pair before each in its chain */
};

struct path_gap {
    row_t from[2], to[2];
};

static const struct path_node *node_at(const struct path_aligning *align, int side, row_t place) {
    return &align->trees[side].nodes[align->lists->node[side][place]];
}

/* TUPLE_NONE: it has none. */
static uint32_t key_at(const struct path_aligning *align, int side, row_t place) {
    const struct path_node *node = node_at(align, side, place);
    switch (align->key) {
    case KEY_ID:
        return node->id;
    case KEY_SHELL:
        return node->shell;
    case KEY_BARE:
        return node->bare;
    case KEY_LIST:
        break;
    }
    return node->list && node->kind == PATH_CALLED ? node->list : TUPLE_NONE;
}

static void match(struct path_aligning *align, row_t a, row_t b) {
    align->lists->match[0][a] = b;
    align->lists->match[1][b] = a;
}

static bool is_pair(const struct path_aligning *align, row_t a, row_t b) {
    uint32_t key = key_at(align, 0, a);
    return key != TUPLE_NONE && key == key_at(align, 1, b);
}

/* Matches equal ends of a gap; what is left has none. */
static struct path_gap trim(struct path_aligning *align, struct path_gap gap) {
    while (gap.from[0] < gap.to[0] && gap.from[1] < gap.to[1] && is_pair(align, gap.from[0], gap.from[1]))
        match(align, gap.from[0]++, gap.from[1]++);
    while (gap.from[0] < gap.to[0] && gap.from[1] < gap.to[1] && is_pair(align, gap.to[0] - 1, gap.to[1] - 1))
        match(align, --gap.to[0], --gap.to[1]);
    return gap;
}

/* ---- Pairs of equal keys ---- */

static struct path_slot *slot_of(struct path_aligning *align, uint32_t key) {
    struct path_slot *slot = &align->ids->slots[key];
    if (slot->stamp != align->ids->stamp)
        *slot = (struct path_slot){.stamp = align->ids->stamp, .next = ROW_NONE};
    return slot;
}

static void note_keys(struct path_aligning *align, const struct path_gap *gap) {
    align->ids->stamp++;
    for (int side = 0; side < 2; side++)
        for (row_t i = gap->to[side]; i-- > gap->from[side];) {
            uint32_t key = key_at(align, side, i);
            if (key == TUPLE_NONE)
                continue;
            struct path_slot *slot = slot_of(align, key);
            slot->n[side]++;
            if (side == 0)
                continue;
            align->behind[i] = slot->next;
            slot->next = i;
        }
}

/* Pairs in the order of the first side: the first that has a key with the first, and so on. */
static row_t list_pairs(struct path_aligning *align, const struct path_gap *gap) {
    row_t n = 0;
    note_keys(align, gap);
    for (row_t a = gap->from[0]; a < gap->to[0]; a++) {
        uint32_t key = key_at(align, 0, a);
        struct path_slot *slot = key == TUPLE_NONE ? NULL : slot_of(align, key);
        if (!slot || slot->next == ROW_NONE || (align->only_once && (slot->n[0] > 1 || slot->n[1] > 1)))
            continue;
        align->pair[0][n] = a;
        align->pair[1][n++] = slot->next;
        slot->next = align->behind[slot->next];
    }
    return n;
}

/* How long the longest chain is that can end before a place of the second side. */
static row_t length_before(const struct path_aligning *align, row_t n_lengths, row_t b) {
    struct bisection at = {0, n_lengths};
    while (at.low < at.high)
        bisect(&at, align->pair[1][align->least[bisect_middle(at)]] < b);
    return at.low;
}

/* Matches the longest chain of pairs that rises on both sides. */
static void match_chain(struct path_aligning *align, row_t n_pairs) {
    row_t n_lengths = 0;
    for (row_t i = 0; i < n_pairs; i++) {
        row_t length = length_before(align, n_lengths, align->pair[1][i]);
        align->before[i] = length ? align->least[length - 1] : ROW_NONE;
        align->least[length] = i;
        n_lengths += length == n_lengths;
    }
    for (row_t i = n_lengths ? align->least[n_lengths - 1] : ROW_NONE; i != ROW_NONE; i = align->before[i])
        match(align, align->pair[0][i], align->pair[1][i]);
}

/* ---- Gaps ---- */

typedef void gap_filler(struct path_aligning *align, struct path_gap gap);

static void fill_gap(struct path_aligning *align, struct path_gap gap) {
    gap = trim(align, gap);
    if (gap.from[0] < gap.to[0] && gap.from[1] < gap.to[1])
        match_chain(align, list_pairs(align, &gap));
}

/* Goes through stretches in which neither side has matches. */
static void each_gap(struct path_aligning *align, gap_filler *fill) {
    const struct path_lists *lists = align->lists;
    struct path_gap gap = {{0, 0}, {0, 0}};
    for (row_t a = 0; a <= lists->n[0]; a++) {
        if (a < lists->n[0] && lists->match[0][a] == ROW_NONE)
            continue;
        row_t b = a < lists->n[0] ? lists->match[0][a] : lists->n[1];
        gap.to[0] = a;
        gap.to[1] = b;
        if (gap.from[0] < a && gap.from[1] < b)
            fill(align, gap);
        gap.from[0] = a + 1;
        gap.from[1] = b + 1;
    }
}

static void fill_by(struct path_aligning *align, enum path_key key, bool only_once) {
    align->key = key;
    align->only_once = only_once;
    each_gap(align, fill_gap);
}

static void match_lists(struct path_aligning *align) {
    for (int side = 0; side < 2; side++)
        for (row_t i = 0; i < align->lists->n[side]; i++)
            align->lists->match[side][i] = ROW_NONE;
    fill_by(align, KEY_ID, true);
    fill_by(align, KEY_ID, true);
    fill_by(align, KEY_SHELL, true);
    fill_by(align, KEY_SHELL, false);
    fill_by(align, KEY_BARE, false);
    fill_by(align, KEY_LIST, false);
}

/* ---- Wrappers ---- */

/* How many children of a node stand in the gap on the other side; 0 where the node launches something itself. */
static row_t count_wrapped(struct path_aligning *align, int side, row_t node) {
    const struct path_node *nodes = align->trees[side].nodes;
    row_t n = 0;
    for (row_t child = node + 1; child < nodes[node].end; child = nodes[child].end) {
        if (nodes[child].kind == PATH_WORK)
            return 0;
        n += slot_of(align, nodes[child].bare)->n[!side] > 0;
    }
    return n;
}

/* Whether most of a node's children stand in the gap on the other side; of a node around a single other one, or that
 * one's, and so on. */
static bool only_wraps(struct path_aligning *align, int side, row_t place) {
    const struct path_node *nodes = align->trees[side].nodes;
    row_t node = align->lists->node[side][place];
    for (int depth = 0; depth < DEPTH && nodes[node].kind != PATH_WORK; depth++) {
        row_t n = count_wrapped(align, side, node);
        if (n > 0 && n >= nodes[node].n_children - n)
            return true;
        if (nodes[node].n_children != 1)
            return false;
        node++;
    }
    return false;
}

/* Marks wrappers in a gap by a match with no place. */
#define IS_WRAPPER (ROW_NONE - 1)

static void mark_wrappers(struct path_aligning *align, struct path_gap gap) {
    align->ids->stamp++;
    for (int side = 0; side < 2; side++)
        for (row_t i = gap.from[side]; i < gap.to[side]; i++)
            slot_of(align, node_at(align, side, i)->bare)->n[side]++;
    for (int side = 0; side < 2; side++)
        for (row_t i = gap.from[side]; i < gap.to[side]; i++)
            if (only_wraps(align, side, i))
                align->lists->match[side][i] = IS_WRAPPER;
}

/* Puts children in the place of wrappers; returns whether there were any. */
static bool open_wrappers(struct path_aligning *align, int side) {
    const struct path_node *nodes = align->trees[side].nodes;
    struct path_lists *lists = align->lists;
    row_t n_more = 0, n = 0;
    for (row_t i = 0; i < lists->n[side]; i++)
        n_more += lists->match[side][i] == IS_WRAPPER ? nodes[lists->node[side][i]].n_children : 0;
    if (!n_more)
        return false;
    row_t *node = arena_take(align->arena, (size_t)lists->n[side] + n_more, sizeof *node);
    for (row_t i = 0; i < lists->n[side] && node; i++) {
        row_t at = lists->node[side][i];
        if (lists->match[side][i] != IS_WRAPPER)
            node[n++] = at;
        else
            for (row_t child = at + 1; child < nodes[at].end; child = nodes[child].end)
                node[n++] = child;
    }
    lists->node[side] = node;
    lists->n[side] = n;
    return true;
}

static void take_room(struct path_aligning *align) {
    struct path_lists *lists = align->lists;
    row_t *const n = lists->n;
    for (int side = 0; side < 2; side++) {
        lists->match[side] = arena_take(align->arena, n[side], sizeof(row_t));
        align->pair[side] = arena_take(align->arena, n[0], sizeof(row_t));
    }
    align->behind = arena_take(align->arena, n[1], sizeof *align->behind);
    align->least = arena_take(align->arena, n[0], sizeof *align->least);
    align->before = arena_take(align->arena, n[0], sizeof *align->before);
}

/* Aligns them; nodes that only wrap what the other side has may have become their children. Without memory the arena
 * fails. See path_align.c. */
static void path_lists_align(const struct path_tree trees[2], struct path_ids *ids, struct arena *arena,
                             struct path_lists *lists) {
    struct path_aligning align = {.trees = trees, .ids = ids, .arena = arena, .lists = lists};
    bool opened = true;
    for (int round = 0; round < ROUNDS && opened && !arena->failed; round++) {
        take_room(&align);
        if (arena->failed)
            return;
        match_lists(&align);
        if (round + 1 < ROUNDS)
            each_gap(&align, mark_wrappers);
        opened = open_wrappers(&align, 0);
        opened = open_wrappers(&align, 1) || opened;
    }
}

/*
 * Two trees walked together from their roots: children of nodes that belong together are aligned, and
 * become the children of one. Where all below two nodes is the same, only numbers are added up.
 *
 * Nodes that were entered and are not done lie on a stack in the scratch arena; no recursion.
 */

/* A node that was entered: what is left of its children. */
struct merge_level {
    struct merge_level *above;
    struct arena_mark mark; /* before it */
    struct path_lists lists;
    row_t at[2];
    row_t merged; /* the node */
};

struct path_merge {
    const struct path_tree *trees;
    struct path_ids *ids;
    struct arena *scratch;
    struct path_tree *to;
    struct merge_level *level;
};

/* ---- Nodes ---- */

static void add_numbers(struct path_node *node, const struct path_node *other) {
    for (int side = 0; side < 2; side++) {
        if (!node_is_on(node, side)) {
            node->name[side] = other->name[side];
            node->path[side] = other->path[side];
        }
        node->calls[side] += other->calls[side];
        node->ticks[side] += other->ticks[side];
    }
}

/* Puts a node with all below it, and below `parent`, at the end; `other` (may be NULL) is the same on the other
 * side. */
static void put_whole(struct path_merge *merge, const struct path_tree *tree, row_t row, const struct path_node *other,
                      row_t parent) {
    row_t first = merge->to->n, n = tree->nodes[row].end - row;
    memcpy(merge->to->nodes + first, tree->nodes + row, n * sizeof *merge->to->nodes);
    for (row_t i = 0; i < n; i++) {
        struct path_node *node = &merge->to->nodes[first + i];
        node->parent = i ? node->parent - row + first : parent;
        if (other)
            add_numbers(node, other + i);
    }
    merge->to->n += n;
}

static void list_children(const struct path_tree *tree, row_t row, struct arena *arena, int side,
                          struct path_lists *lists) {
    lists->n[side] = 0;
    lists->node[side] = arena_take(arena, tree->nodes[row].n_children, sizeof(row_t));
    for (row_t child = row + 1; child < tree->nodes[row].end && lists->node[side]; child = tree->nodes[child].end)
        lists->node[side][lists->n[side]++] = child;
}

/* Puts a node that both sides have, and enters it. */
static void enter(struct path_merge *merge, const row_t rows[2], row_t parent) {
    struct arena_mark mark = arena_mark(merge->scratch);
    struct path_node *node = &merge->to->nodes[merge->to->n];
    struct merge_level *level = arena_zeros(merge->scratch, 1, sizeof *level);
    *node = merge->trees[0].nodes[rows[0]];
    node->parent = parent;
    add_numbers(node, &merge->trees[1].nodes[rows[1]]);
    if (!level)
        return;
    *level = (struct merge_level){.above = merge->level, .mark = mark, .merged = merge->to->n++};
    for (int side = 0; side < 2; side++)
        list_children(&merge->trees[side], rows[side], merge->scratch, side, &level->lists);
    path_lists_align(merge->trees, merge->ids, merge->scratch, &level->lists);
    merge->level = level;
}

static void put_pair(struct path_merge *merge, const row_t rows[2], row_t parent) {
    const struct path_node *first = &merge->trees[0].nodes[rows[0]], *second = &merge->trees[1].nodes[rows[1]];
    if (first->id == second->id)
        put_whole(merge, &merge->trees[0], rows[0], second, parent);
    else
        enter(merge, rows, parent);
}

/* The next child that only one side has, those of the first side first. */
static bool put_single(struct path_merge *merge, struct merge_level *level) {
    for (int side = 0; side < 2; side++) {
        const struct path_lists *lists = &level->lists;
        row_t at = level->at[side];
        if (at == lists->n[side] || lists->match[side][at] != ROW_NONE)
            continue;
        level->at[side]++;
        put_whole(merge, &merge->trees[side], lists->node[side][at], NULL, level->merged);
        return true;
    }
    return false;
}

static void walk(struct path_merge *merge) {
    while (merge->level && !merge->scratch->failed) {
        struct merge_level *level = merge->level;
        if (put_single(merge, level))
            continue;
        if (level->at[0] == level->lists.n[0]) {
            merge->level = level->above;
            arena_release(merge->scratch, level->mark);
            continue;
        }
        row_t rows[2] = {level->lists.node[0][level->at[0]], level->lists.node[1][level->at[1]]};
        level->at[0]++;
        level->at[1]++;
        put_pair(merge, rows, level->merged);
    }
}

/* ---- Both trees ---- */

/* Room for what is noted of all ids. */
static bool make_slots(struct path_ids *ids) {
    uint64_t n = ids->n_slots;
    if (n >= ids->numbers.n)
        return true;
    uint64_t wanted = ids->numbers.n + ids->numbers.n / 2;
    if (!column_resize(&ids->slots, wanted, sizeof *ids->slots))
        return false;
    memset(ids->slots + n, 0, (wanted - n) * sizeof *ids->slots);
    ids->n_slots = wanted;
    return true;
}

enum sutra_status path_tree_merge(const struct path_tree trees[2], struct path_ids *ids, struct arena *arena,
                                  struct arena *scratch, struct path_tree *merged, struct sutra_error *error) {
    struct arena_mark mark = arena_mark(scratch);
    struct path_merge merge = {.trees = trees, .ids = ids, .scratch = scratch, .to = merged};
    if ((uint64_t)trees[0].n + trees[1].n > ROW_LIMIT)
        return error_set(error, SUTRA_DATA, "too many call paths: select fewer steps or ranks (--step, --rank)");
    *merged = (struct path_tree){.nodes = arena_take(arena, (size_t)trees[0].n + trees[1].n, sizeof *merged->nodes)};
    if (!merged->nodes || !make_slots(ids))
        return error_memory(error);
    if (trees[0].n && trees[1].n)
        put_pair(&merge, (row_t[2]){0, 0}, ROW_NONE);
    else
        put_whole(&merge, &trees[trees[0].n == 0], 0, NULL, ROW_NONE);
    walk(&merge);
    enum sutra_status status = arena_status(scratch, error);
    arena_release(scratch, mark);
    path_tree_finish(merged);
    if (!status && !(path_tree_number(merged, ids) && path_tree_name(merged, ids)))
        status = error_memory(error);
    return status;
}

/*
 * Children by their order, else by their names.
 */

bool path_fold_init(struct path_fold *fold) {
    *fold = (struct path_fold){0};
    return pair_table_init(&fold->heads);
}

void path_fold_free(struct path_fold *fold) {
    free(fold->list);
    pair_table_free(&fold->heads);
    *fold = (struct path_fold){0};
}

/* A tree that is being added. */
struct folding {
    struct path_fold *fold;
    const struct path_tree *tree;
    int side;
    row_t *at;       /* by node of the tree: the folded one */
    row_t *last;     /* and the folded child that was found last */
    uint64_t *calls; /* and the number of the call */
};

static bool is_alike(const struct path_node *a, const struct path_node *b, int side) {
    return a->kind == b->kind && a->name[side] == b->name[side];
}

/* A new node behind the child that was found last. */
static row_t put_child(struct folding *folding, row_t i, row_t parent) {
    struct path_fold *fold = folding->fold;
    if (fold->n >= ROW_LIMIT || !column_grow(&fold->list, fold->n, &fold->capacity, sizeof *fold->list))
        return ROW_NONE;
    row_t row = fold->n++;
    fold->list[row] = (struct fold_node){.node = folding->tree->nodes[i],
                                         .parent = parent,
                                         .first = ROW_NONE,
                                         .next = ROW_NONE,
                                         .alike = ROW_NONE,
                                         .unused = row};
    for (int side = 0; side < 2; side++) {
        fold->list[row].node.calls[side] = 0;
        fold->list[row].node.ticks[side] = 0;
    }
    if (parent == ROW_NONE)
        return row;
    row_t last = folding->last[folding->tree->nodes[i].parent];
    row_t *link = last == ROW_NONE ? &fold->list[parent].first : &fold->list[last].next;
    fold->list[row].next = *link;
    *link = row;
    return row;
}

/* The first child of its name that this call of the parent has not used, or a new one. */
static row_t find_by_name(struct folding *folding, row_t i, row_t parent, uint64_t call) {
    struct path_fold *fold = folding->fold;
    const struct path_node *node = &folding->tree->nodes[i];
    struct pair_entry *head =
        pair_table_take(&fold->heads, (uint64_t)parent << 3 | node->kind, node->name[folding->side]);
    if (!head)
        return ROW_NONE;
    if (head->number == PAIR_NONE)
        return head->number = put_child(folding, i, parent);
    row_t first = head->number, before = ROW_NONE;
    row_t row = fold->list[first].unused_for == call ? fold->list[first].unused : first;
    for (; row != ROW_NONE && fold->list[row].used_by == call; row = fold->list[row].alike)
        before = row;
    if (row == ROW_NONE && (row = put_child(folding, i, parent)) != ROW_NONE)
        fold->list[before].alike = row;
    if (row != ROW_NONE) {
        fold->list[first].unused = row;
        fold->list[first].unused_for = call;
    }
    return row;
}

static row_t find_child(struct folding *folding, row_t i) {
    const struct path_fold *fold = folding->fold;
    const struct path_node *node = &folding->tree->nodes[i];
    row_t parent = folding->at[node->parent], last = folding->last[node->parent];
    uint64_t call = folding->calls[node->parent];
    row_t next = last == ROW_NONE ? fold->list[parent].first : fold->list[last].next;
    if (next != ROW_NONE && fold->list[next].used_by != call && is_alike(&fold->list[next].node, node, folding->side))
        return next;
    return find_by_name(folding, i, parent, call);
}

static bool add_node(struct folding *folding, row_t i) {
    struct path_fold *fold = folding->fold;
    const struct path_node *node = &folding->tree->nodes[i];
    row_t row = i == 0 ? 0 : find_child(folding, i);
    if (i == 0 && fold->n == 0)
        row = put_child(folding, 0, ROW_NONE);
    if (row == ROW_NONE)
        return false;
    if (i > 0) {
        fold->list[row].used_by = folding->calls[node->parent];
        folding->last[node->parent] = row;
    }
    folding->at[i] = row;
    folding->last[i] = ROW_NONE;
    folding->calls[i] = ++fold->n_calls;
    fold->list[row].node.calls[folding->side] += node->calls[folding->side];
    fold->list[row].node.ticks[folding->side] += node->ticks[folding->side];
    return true;
}

bool path_fold_add(struct path_fold *fold, const struct path_tree *tree, int side, struct arena *scratch) {
    struct arena_mark mark = arena_mark(scratch);
    struct folding folding = {.fold = fold,
                              .tree = tree,
                              .side = side,
                              .at = arena_take(scratch, tree->n, sizeof(row_t)),
                              .last = arena_take(scratch, tree->n, sizeof(row_t)),
                              .calls = arena_take(scratch, tree->n, sizeof(uint64_t))};
    bool ok = !scratch->failed;
    for (row_t i = 0; i < tree->n && ok; i++)
        ok = add_node(&folding, i);
    arena_release(scratch, mark);
    return ok;
}

/* The node behind all below one, or ROW_NONE. */
static row_t node_behind(const struct path_fold *fold, row_t row) {
    while (row != ROW_NONE && fold->list[row].next == ROW_NONE)
        row = fold->list[row].parent;
    return row == ROW_NONE ? ROW_NONE : fold->list[row].next;
}

struct path_tree path_fold_tree(const struct path_fold *fold, struct arena *arena) {
    struct path_tree tree = {.nodes = arena_take(arena, fold->n, sizeof *tree.nodes)};
    row_t *place = arena_take(arena, fold->n, sizeof *place);
    row_t row = fold->n && place ? 0 : ROW_NONE;
    while (row != ROW_NONE) {
        row_t parent = fold->list[row].parent, first = fold->list[row].first;
        place[row] = tree.n;
        tree.nodes[tree.n] = fold->list[row].node;
        tree.nodes[tree.n++].parent = parent == ROW_NONE ? ROW_NONE : place[parent];
        row = first != ROW_NONE ? first : node_behind(fold, row);
    }
    if (place)
        path_tree_finish(&tree);
    return place ? tree : (struct path_tree){0};
}
