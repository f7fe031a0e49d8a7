/*
 * path_rows.c - makes rows of the merged call path tree, and sums of paths by name.
 *
 * A text has at most NAMES_SHOWN names and the number of omitted names, and the STEPS_SHOWN innermost names of a path.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/error.h"
#include "compare/diff.h"

#define NAMES_SHOWN 4
#define STEPS_SHOWN 24

struct row_maker {
    struct part *whole;
    const struct path_tree *tree;
    struct arena *arena;
    struct path_row_list *rows;
    uint8_t *known_paths;   /* by number of a path + 1: the sides that have it, as bits */
    struct tuples kernels;  /* (path + 1 or 0, name) */
    uint8_t *known_kernels; /* by number of a kernel: the sides that have it */
    uint32_t *names;        /* names in the order of first occurrence */
    uint32_t *name_count;   /* by text: occurrences; zero for names not in the list */
    uint32_t n_names;
    struct buffer text;
};

/* ---- Texts ---- */

static void note_name(struct row_maker *maker, uint32_t name) {
    if (!maker->name_count[name]++)
        maker->names[maker->n_names++] = name;
}

static void append_text(struct row_maker *maker, uint32_t text) {
    buffer_append(&maker->text, strings_text(&maker->whole->texts, text), strings_length(&maker->whole->texts, text));
}

/* Appends the list, and empties it. */
static void append_names(struct row_maker *maker) {
    for (uint32_t i = 0; i < maker->n_names; i++) {
        uint32_t name = maker->names[i];
        if (i < NAMES_SHOWN) {
            buffer_append(&maker->text, ", ", i ? 2 : 0);
            append_text(maker, name);
            if (maker->name_count[name] > 1)
                buffer_format(&maker->text, " x%u", maker->name_count[name]);
        }
        maker->name_count[name] = 0;
    }
    if (maker->n_names > NAMES_SHOWN)
        buffer_format(&maker->text, " and %u more", maker->n_names - NAMES_SHOWN);
    maker->n_names = 0;
}

/* Interns the appended text, and empties it; 0 for an empty text. STRING_NONE: out of memory. */
static uint32_t intern_text(struct row_maker *maker) {
    uint32_t text =
        maker->text.failed ? STRING_NONE : strings_intern(&maker->whole->texts, maker->text.bytes, maker->text.length);
    maker->text.length = 0;
    return text;
}

static void append_path(struct row_maker *maker, uint32_t path) {
    const struct tuples *paths = &maker->whole->paths;
    uint32_t steps[STEPS_SHOWN], n = 0;
    for (; path && n < STEPS_SHOWN; path = (uint32_t)paths->list[path - 1].part[0])
        steps[n++] = (uint32_t)paths->list[path - 1].part[1];
    if (path)
        buffer_append_text(&maker->text, "... / ");
    while (n--) {
        append_text(maker, steps[n]);
        buffer_append(&maker->text, " / ", n ? 3 : 0);
    }
}

/* ---- Paths of both sides ---- */

static bool is_single(const struct path_node *node) {
    return node_is_on(node, 0) != node_is_on(node, 1);
}

static struct tuple kernel_key(const struct path_node *node, int side) {
    return (struct tuple){{node->path[side], node->name[side], 0, 0}};
}

static bool note_known(struct row_maker *maker, const struct path_node *node, int side) {
    if (node->kind != PATH_WORK) {
        maker->known_paths[node->path[side]] |= (uint8_t)(1 << side);
        return true;
    }
    uint32_t kernel = tuples_number(&maker->kernels, kernel_key(node, side));
    if (kernel != TUPLE_NONE)
        maker->known_kernels[kernel] |= (uint8_t)(1 << side);
    return kernel != TUPLE_NONE;
}

static bool note_all_known(struct row_maker *maker) {
    const struct path_tree *tree = maker->tree;
    maker->known_paths = arena_zeros(maker->arena, (size_t)maker->whole->paths.n + 1, 1);
    maker->known_kernels = arena_zeros(maker->arena, (size_t)tree->n * 2, 1);
    if (maker->arena->failed)
        return false;
    for (row_t i = 0; i < tree->n; i++)
        for (int side = 0; side < 2; side++)
            if (node_is_on(&tree->nodes[i], side) && !note_known(maker, &tree->nodes[i], side))
                return false;
    return true;
}

/* Whether the other side has the path of a single node, or the same kernel at this path. */
static bool is_known(const struct row_maker *maker, const struct path_node *node) {
    int side = node_is_on(node, 1);
    if (node->kind == PATH_WORK)
        return maker->known_kernels[tuples_find(&maker->kernels, kernel_key(node, side))] == 3;
    return node->kind == PATH_THREAD || maker->known_paths[node->path[side]] == 3;
}

/* ---- Rows ---- */

static bool add_row(struct row_maker *maker, const struct path_row *row) {
    struct path_row_list *rows = maker->rows;
    struct tuple key = {{row->path[0], row->path[1], row->kernels[0], row->kernels[1]}};
    for (int i = 0; i < 4; i++)
        if (key.part[i] == STRING_NONE)
            return false;
    uint32_t n_known = rows->keys.n, number = tuples_number(&rows->keys, key);
    if (number == TUPLE_NONE || !arena_grow(maker->arena, &rows->list, number, &rows->capacity, sizeof *rows->list))
        return false;
    if (number == n_known) {
        rows->list[number] = *row;
        rows->n = rows->keys.n;
        return true;
    }
    for (int side = 0; side < 2; side++) {
        rows->list[number].calls[side] += row->calls[side];
        rows->list[number].ns[side] += row->ns[side];
    }
    return true;
}

/* Appends the path of a node, or of GPU activity without a path. */
static void append_node(struct row_maker *maker, uint32_t path) {
    if (path)
        append_path(maker, path);
    else
        buffer_append(&maker->text, "(no operator)", strlen("(no operator)"));
}

/* Adds GPU activity that both sides have at its path. */
static bool add_activity(struct row_maker *maker, const struct path_node *node) {
    struct path_row row = {.calls = {node->calls[0], node->calls[1]}, .ns = {node->ticks[0], node->ticks[1]}};
    for (int side = 0; side < 2; side++) {
        int from = node_is_on(node, side) ? side : !side;
        append_node(maker, node->path[from]);
        row.path[side] = intern_text(maker);
        row.kernels[side] = node->name[from];
    }
    return add_row(maker, &row);
}

/* A range of children that each exist on one side only, at paths that the other side lacks. */
struct single_run {
    row_t from, to, parent;
    bool has[2];
};

static bool is_in_run(const struct row_maker *maker, row_t i) {
    const struct path_node *node = &maker->tree->nodes[i];
    return is_single(node) && !is_known(maker, node);
}

/* Appends the callees of a run on one side: the path of a single callee, or the path of the parent and the names of
 * several callees; the path of the parent if the run has only GPU activity. */
static void append_called(struct row_maker *maker, const struct single_run *run, int side) {
    const struct path_node *nodes = maker->tree->nodes;
    row_t n = 0, last = run->parent;
    for (row_t i = run->from; i < run->to; i = nodes[i].end)
        if (nodes[i].kind != PATH_WORK && node_is_on(&nodes[i], side) && is_in_run(maker, i)) {
            note_name(maker, nodes[i].name[side]);
            last = i;
            n++;
        }
    if (n > 1) {
        append_path(maker, nodes[run->parent].path[side]);
        buffer_append(&maker->text, " / ", nodes[run->parent].path[side] ? 3 : 0);
        append_names(maker);
        return;
    }
    for (uint32_t i = 0; i < maker->n_names; i++)
        maker->name_count[maker->names[i]] = 0;
    maker->n_names = 0;
    append_node(maker, nodes[last].path[side]);
}

static bool add_run(struct row_maker *maker, const struct single_run *run) {
    const struct path_node *nodes = maker->tree->nodes;
    struct path_row row = {0};
    uint64_t works[2] = {0};
    for (row_t i = run->from; i < run->to; i = nodes[i].end)
        if (is_in_run(maker, i)) {
            for (int side = 0; side < 2; side++)
                *(nodes[i].kind == PATH_WORK ? &works[side] : &row.calls[side]) += nodes[i].calls[side];
            for (row_t k = i; k < nodes[i].end; k++)
                for (int side = 0; side < 2; side++)
                    row.ns[side] += nodes[k].kind == PATH_WORK ? nodes[k].ticks[side] : 0;
        }
    for (int side = 0; side < 2; side++) {
        row.calls[side] = row.calls[side] ? row.calls[side] : works[side];
        if (!run->has[side])
            continue;
        append_called(maker, run, side);
        row.path[side] = intern_text(maker);
        for (row_t i = run->from; i < run->to; i = nodes[i].end)
            for (row_t k = i; k < nodes[i].end && is_in_run(maker, i); k++)
                if (nodes[k].kind == PATH_WORK && node_is_on(&nodes[k], side))
                    note_name(maker, nodes[k].name[side]);
        append_names(maker);
        row.kernels[side] = intern_text(maker);
    }
    return add_row(maker, &row);
}

/* Adds a run of both sides as one row, or else a row for each of its nodes. */
static bool close_run(struct row_maker *maker, struct single_run *run, row_t to) {
    const struct path_node *nodes = maker->tree->nodes;
    bool ok = true;
    run->to = to;
    if (run->has[0] && run->has[1])
        ok = add_run(maker, run);
    else
        for (row_t i = run->from; i < to && ok && (run->has[0] || run->has[1]); i = nodes[i].end)
            if (is_in_run(maker, i)) {
                struct single_run one = *run;
                one.from = i;
                one.to = nodes[i].end;
                ok = add_run(maker, &one);
            }
    *run = (struct single_run){.from = to, .parent = run->parent};
    return ok;
}

/* Adds the GPU activity of a node, and runs of its children; a run ends at a node of both sides. */
static bool add_children(struct row_maker *maker, row_t parent) {
    const struct path_node *nodes = maker->tree->nodes;
    struct single_run run = {.from = parent + 1, .parent = parent};
    bool ok = true;
    for (row_t i = parent + 1; i < nodes[parent].end && ok; i = nodes[i].end) {
        if (is_in_run(maker, i))
            run.has[node_is_on(&nodes[i], 1)] = true;
        else if (nodes[i].kind == PATH_WORK)
            ok = add_activity(maker, &nodes[i]);
        else if (!is_single(&nodes[i]))
            ok = close_run(maker, &run, i);
    }
    return ok && close_run(maker, &run, nodes[parent].end);
}

static bool add_all(struct row_maker *maker) {
    const struct path_tree *tree = maker->tree;
    for (row_t i = 0; i < tree->n;) {
        bool entered = tree->nodes[i].kind != PATH_WORK && !is_in_run(maker, i);
        if (entered && !add_children(maker, i))
            return false;
        i = entered ? i + 1 : tree->nodes[i].end;
    }
    return true;
}

enum sutra_status path_rows_make(struct part *whole, const struct path_tree *tree, struct arena *arena,
                                 struct path_row_list *rows, struct sutra_error *error) {
    struct row_maker maker = {.whole = whole, .tree = tree, .arena = arena, .rows = rows};
    uint32_t n = whole->texts.n;
    maker.name_count = arena_zeros(arena, n, sizeof *maker.name_count);
    maker.names = arena_alloc(arena, n, sizeof *maker.names);
    bool ok = !arena->failed && note_all_known(&maker) && add_all(&maker);
    /* A side without calls has no texts. */
    for (uint64_t i = 0; i < rows->n; i++)
        for (int side = 0; side < 2; side++)
            if (!rows->list[i].calls[side])
                rows->list[i].path[side] = rows->list[i].kernels[side] = 0;
    tuples_free(&maker.kernels);
    buffer_free(&maker.text);
    return ok ? SUTRA_OK : error_memory(error);
}

/*
 * ---- Sums by path, by names only ----
 *
 * Total and self time of each path, parents before their children, siblings by descending difference.
 *
 * GPU activity of both sides belongs to the shorter of its paths, or of equal lengths to the alphabetically first, so
 * that the result does not depend on which side is A. Numbers of paths ascend from the root, so sums are made from the
 * last path to the first. O(n), plus the sort of children.
 */

/* The sums of a path, by its number; number 0 is the root. */
struct path_sum {
    uint64_t calls[2];
    wide_t own[2], below[2]; /* `below` includes `own` */
    row_t parent, first, next;
    uint32_t depth;
    bool is_there;
};

struct path_sums {
    const struct part *whole;
    struct path_sum *list;
    row_t n;
};

/* Of two paths of one length, by the innermost name that differs. */
static bool is_first_path(const struct path_sums *sums, row_t a, row_t b) {
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
    return is_first_path(sums, a, b) ? a : b;
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

/* ---- Rows ---- */

enum sutra_status path_sums_table(const struct part *whole, const struct path_tree *tree, struct arena *arena,
                                  struct sutra_table *table, struct sutra_error *error) {
    struct path_sums sums = {.whole = whole, .n = whole->paths.n + 1};
    sums.list = arena_zeros(arena, sums.n, sizeof *sums.list);
    TRY(arena_status(arena, error));
    sums.list[0].parent = ROW_NONE;
    for (row_t i = 1; i < sums.n; i++) {
        sums.list[i].parent = (row_t)whole->paths.list[i - 1].part[0];
        sums.list[i].depth = sums.list[sums.list[i].parent].depth + 1;
    }
    for (row_t i = 0; i < tree->n; i++) {
        const struct path_node *node = &tree->nodes[i];
        struct path_sum *sum = &sums.list[path_of(&sums, node)];
        for (int side = 0; side < 2; side++) {
            if (node->kind == PATH_WORK)
                sum->own[side] += node->ticks[side];
            else if (node->kind != PATH_THREAD)
                sum->calls[side] += node->calls[side];
        }
        sum->is_there = true;
    }
    /* Add each path to its parent. */
    for (row_t i = sums.n; i-- > 0;) {
        struct path_sum *sum = &sums.list[i];
        row_t parent = sum->parent;
        for (int side = 0; side < 2; side++) {
            sum->below[side] += sum->own[side];
            if (i)
                sums.list[parent].below[side] += sum->below[side];
        }
        if (i)
            sums.list[parent].is_there |= sum->is_there;
    }
    row_t *order = arena_alloc(arena, sums.n, sizeof *order), n = 0;
    TRY(arena_status(arena, error));
    for (row_t i = 0; i < sums.n; i++)
        sums.list[i].first = sums.list[i].next = ROW_NONE;
    for (row_t i = 1; i < sums.n; i++)
        if (sums.list[i].is_there)
            order[n++] = i;
    qsort_r(order, n, sizeof *order, compare_sums, &sums);
    while (n-- > 0) {
        struct path_sum *sum = &sums.list[order[n]], *parent = &sums.list[sum->parent];
        sum->next = parent->first;
        parent->first = order[n];
    }
    uint32_t depth = 0;
    for (row_t i = 0; i != ROW_NONE;) {
        const struct path_sum *sum = &sums.list[i];
        uint32_t name = i ? (uint32_t)whole->paths.list[i - 1].part[1] : 0;
        table_integer(table, depth);
        if (i)
            table_text(table, strings_text(&whole->texts, name), strings_length(&whole->texts, name));
        else
            table_text(table, "all", 3);
        for (int side = 0; side < 2; side++)
            table_real(table, (double)sum->calls[side] / (double)whole->sides[side].n_samples);
        add_diff_times(table, whole, sum->below);
        add_diff_times(table, whole, sum->own);
        if (sum->first != ROW_NONE) {
            i = sum->first;
            depth++;
            continue;
        }
        while (i != ROW_NONE && sums.list[i].next == ROW_NONE) {
            i = sums.list[i].parent;
            depth -= depth > 0;
        }
        i = i == ROW_NONE ? ROW_NONE : sums.list[i].next;
    }
    return SUTRA_OK;
}
