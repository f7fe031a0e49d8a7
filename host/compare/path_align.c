/*
 * path_align.c - aligns the children of two nodes in order, merges the trees of both sides, and folds trees of steps.
 *
 *     A   linear  norm  linear  linear'      1. equal subtrees: from both ends inwards, then unique ids of each side
 *         |       |     |       |            2. equal names and shapes, in the same way, then in the order in which
 *     B   linear  norm  linear  linear"         they occur      3. equal names      4. equal children: renamed
 *
 * Each step aligns the gaps that the previous steps left. Of crossing pairs the longest ascending chain remains. If a
 * gap has a node on one side whose children are in the gap of the other side, the node only wraps them: the children
 * replace the node, and the alignment is repeated, at most ROUNDS times. O(k log k).
 */
#include <stdlib.h>
#include <string.h>

#include "base/error.h"
#include "base/shared.h"
#include "columns/column.h"
#include "compare/sums.h"

#define ROUNDS 16

/* Maximum number of nested wrappers with a single child. */
#define DEPTH 16

/* Children of two nodes in order; an aligned child has a match, its index on the other side. */
struct path_lists {
    row_t n[2];
    row_t *node[2], *match[2];
};

enum path_key { KEY_ID, KEY_SHELL, KEY_BARE, KEY_LIST };

struct path_aligning {
    const struct path_tree *trees;
    struct path_ids *ids;
    struct arena *arena;
    struct path_lists *lists;
    enum path_key key;
    bool only_once; /* match only keys that occur once on each side */
    /* Of a gap: */
    row_t *next_equal; /* by index on the second side: the next of equal key */
    row_t *pair[2];    /* pairs in the order of the first side, */
    row_t *chain_end;  /* per length of a chain: its last pair with the smallest index on the second side, */
    row_t *before;     /* the pair before each in its chain */
};

struct path_gap {
    row_t from[2], to[2];
};

static const struct path_node *node_at(const struct path_aligning *align, int side, row_t i) {
    return &align->trees[side].nodes[align->lists->node[side][i]];
}

/* TUPLE_NONE: the node has no such key. */
static uint32_t key_at(const struct path_aligning *align, int side, row_t i) {
    const struct path_node *node = node_at(align, side, i);
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

/* ---- Pairs of equal keys ---- */

static struct path_slot *slot_of(struct path_aligning *align, uint32_t key) {
    struct path_slot *slot = &align->ids->slots[key];
    if (slot->stamp != align->ids->stamp)
        *slot = (struct path_slot){.stamp = align->ids->stamp, .next = ROW_NONE};
    return slot;
}

/* Lists pairs in the order of the first side: the first nodes of equal key, the second, and so on. */
static row_t list_pairs(struct path_aligning *align, const struct path_gap *gap) {
    row_t n = 0;
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
            align->next_equal[i] = slot->next;
            slot->next = i;
        }
    for (row_t a = gap->from[0]; a < gap->to[0]; a++) {
        uint32_t key = key_at(align, 0, a);
        struct path_slot *slot = key == TUPLE_NONE ? NULL : slot_of(align, key);
        if (!slot || slot->next == ROW_NONE || (align->only_once && (slot->n[0] > 1 || slot->n[1] > 1)))
            continue;
        align->pair[0][n] = a;
        align->pair[1][n++] = slot->next;
        slot->next = align->next_equal[slot->next];
    }
    return n;
}

/* Matches the longest chain of pairs that ascends on both sides. */
static void match_chain(struct path_aligning *align, row_t n_pairs) {
    row_t n_lengths = 0;
    for (row_t i = 0; i < n_pairs; i++) {
        /* the longest chain that can end before the pair */
        struct bisection at = {0, n_lengths};
        while (at.low < at.high)
            bisect(&at, align->pair[1][align->chain_end[bisect_middle(at)]] < align->pair[1][i]);
        row_t length = at.low;
        align->before[i] = length ? align->chain_end[length - 1] : ROW_NONE;
        align->chain_end[length] = i;
        n_lengths += length == n_lengths;
    }
    for (row_t i = n_lengths ? align->chain_end[n_lengths - 1] : ROW_NONE; i != ROW_NONE; i = align->before[i])
        match(align, align->pair[0][i], align->pair[1][i]);
}

/* ---- Gaps ---- */

typedef void gap_filler(struct path_aligning *align, struct path_gap gap);

static void fill_gap(struct path_aligning *align, struct path_gap gap) {
    /* Match equal ends of the gap. */
    while (gap.from[0] < gap.to[0] && gap.from[1] < gap.to[1] && is_pair(align, gap.from[0], gap.from[1]))
        match(align, gap.from[0]++, gap.from[1]++);
    while (gap.from[0] < gap.to[0] && gap.from[1] < gap.to[1] && is_pair(align, gap.to[0] - 1, gap.to[1] - 1))
        match(align, --gap.to[0], --gap.to[1]);
    if (gap.from[0] < gap.to[0] && gap.from[1] < gap.to[1])
        match_chain(align, list_pairs(align, &gap));
}

/* Calls `fill` for each gap, in which neither side has matches. */
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

/* ---- Wrappers ---- */

/* Counts the children of a node whose names are in the gap of the other side; 0 if the node itself launches. */
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

/* Whether most children of a node are in the gap of the other side; if the node has a single child, whether most
 * children of the child are, and so on. */
static bool only_wraps(struct path_aligning *align, int side, row_t i) {
    const struct path_node *nodes = align->trees[side].nodes;
    row_t node = align->lists->node[side][i];
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

/* The match of wrappers. */
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

/* Replaces wrappers by their children; returns whether there were any. */
static bool open_wrappers(struct path_aligning *align, int side) {
    const struct path_node *nodes = align->trees[side].nodes;
    struct path_lists *lists = align->lists;
    row_t n_more = 0, n = 0;
    for (row_t i = 0; i < lists->n[side]; i++)
        n_more += lists->match[side][i] == IS_WRAPPER ? nodes[lists->node[side][i]].n_children : 0;
    if (!n_more)
        return false;
    row_t *node = arena_alloc(align->arena, (size_t)lists->n[side] + n_more, sizeof *node);
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

/* Aligns the lists; nodes that only wrap nodes of the other side are replaced by their children. Without memory the
 * arena fails. */
static void path_lists_align(const struct path_tree trees[2], struct path_ids *ids, struct arena *arena,
                             struct path_lists *lists) {
    struct path_aligning align = {.trees = trees, .ids = ids, .arena = arena, .lists = lists};
    bool opened = true;
    for (int round = 0; round < ROUNDS && opened && !arena->failed; round++) {
        row_t *const n = lists->n;
        for (int side = 0; side < 2; side++) {
            lists->match[side] = arena_alloc(align.arena, n[side], sizeof(row_t));
            align.pair[side] = arena_alloc(align.arena, n[0], sizeof(row_t));
        }
        align.next_equal = arena_alloc(align.arena, n[1], sizeof *align.next_equal);
        align.chain_end = arena_alloc(align.arena, n[0], sizeof *align.chain_end);
        align.before = arena_alloc(align.arena, n[0], sizeof *align.before);
        if (arena->failed)
            return;
        for (int side = 0; side < 2; side++)
            for (row_t i = 0; i < align.lists->n[side]; i++)
                align.lists->match[side][i] = ROW_NONE;
        fill_by(&align, KEY_ID, true);
        fill_by(&align, KEY_ID, true);
        fill_by(&align, KEY_SHELL, true);
        fill_by(&align, KEY_SHELL, false);
        fill_by(&align, KEY_BARE, false);
        fill_by(&align, KEY_LIST, false);
        if (round + 1 < ROUNDS)
            each_gap(&align, mark_wrappers);
        opened = open_wrappers(&align, 0);
        opened = open_wrappers(&align, 1) || opened;
    }
}

/*
 * ---- Merging ----
 *
 * Walks two trees together from their roots: aligns the children of matching nodes, which become the children of one
 * node. Equal subtrees are not walked; only their calls and times are added. Entered nodes are on a stack in the
 * scratch arena; no recursion.
 */

/* A node that was entered, and the next of its children on each side. */
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

/* Appends a subtree below `parent`; `other` (may be NULL) is the equal subtree of the other side. */
static void append_subtree(struct path_merge *merge, const struct path_tree *tree, row_t row,
                           const struct path_node *other, row_t parent) {
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

static void append_pair(struct path_merge *merge, const row_t rows[2], row_t parent) {
    const struct path_node *first = &merge->trees[0].nodes[rows[0]], *second = &merge->trees[1].nodes[rows[1]];
    if (first->id == second->id)
        append_subtree(merge, &merge->trees[0], rows[0], second, parent);
    else {
        /* Append the node of both sides, and enter it. */
        struct arena_mark mark = arena_mark(merge->scratch);
        struct path_node *node = &merge->to->nodes[merge->to->n];
        struct merge_level *level = arena_zeros(merge->scratch, 1, sizeof *level);
        *node = merge->trees[0].nodes[rows[0]];
        node->parent = parent;
        add_numbers(node, &merge->trees[1].nodes[rows[1]]);
        if (!level)
            return;
        *level = (struct merge_level){.above = merge->level, .mark = mark, .merged = merge->to->n++};
        for (int side = 0; side < 2; side++) {
            level->lists.n[side] = 0;
            level->lists.node[side] =
                arena_alloc(merge->scratch, merge->trees[side].nodes[rows[side]].n_children, sizeof(row_t));
            for (row_t child = rows[side] + 1;
                 child < merge->trees[side].nodes[rows[side]].end && level->lists.node[side];
                 child = merge->trees[side].nodes[child].end)
                level->lists.node[side][level->lists.n[side]++] = child;
        }
        path_lists_align(merge->trees, merge->ids, merge->scratch, &level->lists);
        merge->level = level;
    }
}

/* Appends the next child that only one side has, of the first side first. */
static bool append_single(struct path_merge *merge, struct merge_level *level) {
    for (int side = 0; side < 2; side++) {
        const struct path_lists *lists = &level->lists;
        row_t at = level->at[side];
        if (at == lists->n[side] || lists->match[side][at] != ROW_NONE)
            continue;
        level->at[side]++;
        append_subtree(merge, &merge->trees[side], lists->node[side][at], NULL, level->merged);
        return true;
    }
    return false;
}

/* ---- Both trees ---- */

/* Allocates a slot for each id. */
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
    *merged = (struct path_tree){.nodes = arena_alloc(arena, (size_t)trees[0].n + trees[1].n, sizeof *merged->nodes)};
    TRY_ALLOC(merged->nodes && make_slots(ids), error);
    if (trees[0].n && trees[1].n)
        append_pair(&merge, (row_t[2]){0, 0}, ROW_NONE);
    else
        append_subtree(&merge, &trees[trees[0].n == 0], 0, NULL, ROW_NONE);
    while (merge.level && !merge.scratch->failed) {
        struct merge_level *level = merge.level;
        if (append_single(&merge, level))
            continue;
        if (level->at[0] == level->lists.n[0]) {
            merge.level = level->above;
            arena_release(merge.scratch, level->mark);
            continue;
        }
        row_t rows[2] = {level->lists.node[0][level->at[0]], level->lists.node[1][level->at[1]]};
        level->at[0]++;
        level->at[1]++;
        append_pair(&merge, rows, level->merged);
    }
    enum sutra_status status = arena_status(scratch, error);
    arena_release(scratch, mark);
    path_tree_finish(merged);
    if (!status && !(path_tree_number(merged, ids) && path_tree_name(merged, ids)))
        status = error_memory(error);
    return status;
}

/* ---- Folding: children by their order, else by their names ---- */

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
    row_t *last;     /* its last folded child */
    uint64_t *calls; /* the number of its call */
};

/* Inserts a node after the last child that was found. */
static row_t insert_child(struct folding *folding, row_t i, row_t parent) {
    struct path_fold *fold = folding->fold;
    if (fold->n >= ROW_LIMIT || !column_grow(&fold->list, fold->n, &fold->capacity, sizeof *fold->list))
        return ROW_NONE;
    row_t row = fold->n++;
    fold->list[row] = (struct fold_node){.node = folding->tree->nodes[i],
                                         .parent = parent,
                                         .first = ROW_NONE,
                                         .next = ROW_NONE,
                                         .same_name = ROW_NONE,
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
        pair_table_insert(&fold->heads, (uint64_t)parent << 3 | node->kind, node->name[folding->side]);
    if (!head)
        return ROW_NONE;
    if (head->number == PAIR_NONE)
        return head->number = insert_child(folding, i, parent);
    row_t first = head->number, before = ROW_NONE;
    row_t row = fold->list[first].unused_for == call ? fold->list[first].unused : first;
    for (; row != ROW_NONE && fold->list[row].used_by == call; row = fold->list[row].same_name)
        before = row;
    if (row == ROW_NONE && (row = insert_child(folding, i, parent)) != ROW_NONE)
        fold->list[before].same_name = row;
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
    if (next != ROW_NONE && fold->list[next].used_by != call &&
        (fold->list[next].node.kind == node->kind &&
         fold->list[next].node.name[folding->side] == node->name[folding->side]))
        return next;
    return find_by_name(folding, i, parent, call);
}

static bool add_node(struct folding *folding, row_t i) {
    struct path_fold *fold = folding->fold;
    const struct path_node *node = &folding->tree->nodes[i];
    row_t row = i == 0 ? 0 : find_child(folding, i);
    if (i == 0 && fold->n == 0)
        row = insert_child(folding, 0, ROW_NONE);
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
                              .at = arena_alloc(scratch, tree->n, sizeof(row_t)),
                              .last = arena_alloc(scratch, tree->n, sizeof(row_t)),
                              .calls = arena_alloc(scratch, tree->n, sizeof(uint64_t))};
    bool ok = !scratch->failed;
    for (row_t i = 0; i < tree->n && ok; i++)
        ok = add_node(&folding, i);
    arena_release(scratch, mark);
    return ok;
}

/* The node after a subtree, or ROW_NONE. */
static row_t node_after(const struct path_fold *fold, row_t row) {
    while (row != ROW_NONE && fold->list[row].next == ROW_NONE)
        row = fold->list[row].parent;
    return row == ROW_NONE ? ROW_NONE : fold->list[row].next;
}

struct path_tree path_fold_tree(const struct path_fold *fold, struct arena *arena) {
    struct path_tree tree = {.nodes = arena_alloc(arena, fold->n, sizeof *tree.nodes)};
    row_t *place = arena_alloc(arena, fold->n, sizeof *place);
    row_t row = fold->n && place ? 0 : ROW_NONE;
    while (row != ROW_NONE) {
        row_t parent = fold->list[row].parent, first = fold->list[row].first;
        place[row] = tree.n;
        tree.nodes[tree.n] = fold->list[row].node;
        tree.nodes[tree.n++].parent = parent == ROW_NONE ? ROW_NONE : place[parent];
        row = first != ROW_NONE ? first : node_after(fold, row);
    }
    if (place)
        path_tree_finish(&tree);
    return place ? tree : (struct path_tree){0};
}
