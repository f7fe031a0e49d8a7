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
#include "base/bisect.h"
#include "compare/path_tree.h"

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

void path_lists_align(const struct path_tree trees[2], struct path_ids *ids, struct arena *arena,
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
