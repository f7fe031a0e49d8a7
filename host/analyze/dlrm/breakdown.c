/*
 * breakdown.c - device time of each stream below labels, modules and operators, as rows of a tree.
 *
 * In come nodes that start device work, down to those whose time is known (operators); out come for each stream rows
 * with a name, a shape and the time of all nodes of that name and shape below the same parent. Only the first of them
 * is looked into:
 *
 *     ## Forward ##   2315.0  10 times                 rows: children of a row stand together, breadth first
 *       aten::to        20.0   once in the first           | forward, backward | to, mlp, ... | ... | kernels ... |
 *         Memcpy HtoD   20.0
 *
 * For each stream the nodes above its operators are gathered (`locals`, in pre-order), sums go from the last to the
 * first of them, and rows are made by walking down through first occurrences. Cost: O(operators of the stream times
 * their labels), at most LEVELS_MAX of which are told apart.
 */
#include <stdlib.h>
#include <string.h>

#include "analyze/dlrm/dlrm.h"
#include "base/error.h"
#include "base/memory.h"
#include "base/shared.h"

/*
 * The bars of the chart "dominating op breakdown" of each stream.
 *
 * In comes the list of dominating operators; out go groups of one name (up to a '#') by falling time, without modules
 * and DLRM's labels, and for each a bar per set of kernels: a later entry with the same kernels is left out, where the
 * shapes do not matter and all sgemm kernels of an architecture are one. O(parts log parts).
 */

struct charting {
    struct dlrm_work *work;
    const struct dlrm_dominating *dominating;
    struct dlrm_chart *made;
    uint32_t *next, *last;  /* per entry and per group: its entries as a list, + 1 */
    uint32_t *first;        /* per group */
    struct tuples names;    /* of groups of one stream */
    struct tuples variants; /* (group, signature) of one stream */
    struct strings signatures;
    struct buffer signature;
    const char **words; /* of a signature */
    struct sutra_dlrm_group *groups;
    uint64_t n_groups, n_variants, n_shares;
};

static int compare_words(const void *left, const void *right) {
    return strcmp(*(const char *const *)left, *(const char *const *)right);
}

/* The name that a part has in a signature. */
static const char *signature_word(const struct strings *texts, const struct sutra_dlrm_part *part) {
    if (text_compare(texts, part->name, TEXT_HAS, "volta_sgemm"))
        return "volta_sgemm";
    if (text_compare(texts, part->name, TEXT_HAS, "maxwell_sgemm"))
        return "maxwell_sgemm";
    return strings_text(texts, part->name);
}

/* The number of the set of kernels of an entry. STRING_NONE: out of memory. */
static uint32_t signature_of(struct charting *charting, const struct sutra_dlrm_dominating *entry) {
    const struct sutra_dlrm_part *parts = charting->dominating->parts + entry->first_part;
    for (uint64_t i = 0; i < entry->n_parts; i++)
        charting->words[i] = signature_word(charting->work->texts, &parts[i]);
    qsort(charting->words, entry->n_parts, sizeof *charting->words, compare_words);
    charting->signature.length = 0;
    for (uint64_t i = 0; i < entry->n_parts; i++)
        buffer_append(&charting->signature, charting->words[i], strlen(charting->words[i]) + 1);
    if (charting->signature.failed)
        return STRING_NONE;
    return strings_intern(&charting->signatures, charting->signature.bytes, charting->signature.length);
}

static bool is_label(const struct strings *texts, const struct sutra_dlrm_dominating *entry) {
    return entry->name == SUTRA_DLRM_NONE || text_compare(texts, entry->name, TEXT_HAS, "DLRM ") ||
           text_compare(texts, entry->name, TEXT_HAS, "module");
}

/* Shares by falling size, equal ones in the order of the parts. */
ORDER_BY(compare_shares, struct sutra_dlrm_share, DESCENDING(share) ASCENDING(legend))

/* The bar of an entry. */
static bool add_variant(struct charting *charting, const struct sutra_dlrm_dominating *entry) {
    const struct sutra_dlrm_part *parts = charting->dominating->parts + entry->first_part;
    struct sutra_dlrm_share *shares = charting->made->shares + charting->n_shares;
    double total = 0;
    for (uint64_t i = 0; i < entry->n_parts; i++)
        total += parts[i].us;
    for (uint64_t i = 0; i < entry->n_parts; i++) {
        const struct sutra_dlrm_part *part = &parts[i];
        shares[i] = (struct sutra_dlrm_share){part->name, part->shape, (uint32_t)i, total != 0 ? part->us / total : 0};
    }
    qsort(shares, entry->n_parts, sizeof *shares, compare_shares);
    for (uint64_t i = 0; i < entry->n_parts; i++)
        if ((shares[i].legend = dlrm_legend(charting->work, shares[i].name)) == STRING_NONE)
            return false;
    charting->made->variants[charting->n_variants++] = (struct sutra_dlrm_variant){charting->n_shares, entry->n_parts};
    charting->n_shares += entry->n_parts;
    return true;
}

/* Gathers the groups of a stream; returns how many, TUPLE_NONE: out of memory. */
static uint32_t gather_groups(struct charting *charting, const struct sutra_dlrm_stream *stream) {
    struct dlrm_work *work = charting->work;
    tuples_free(&charting->names);
    for (uint64_t i = 0; i < stream->n_dominating; i++) {
        uint32_t entry = (uint32_t)(stream->first_dominating + i), n = charting->names.n;
        const struct sutra_dlrm_dominating *dominating = &charting->dominating->list[entry];
        if (is_label(work->texts, dominating))
            continue;
        uint32_t name = dlrm_group_name(work, dominating->name);
        uint32_t group = name == STRING_NONE ? TUPLE_NONE : tuples_number(&charting->names, (struct tuple){{name}});
        if (group == TUPLE_NONE)
            return TUPLE_NONE;
        if (group == n) {
            charting->groups[group] = (struct sutra_dlrm_group){.name = name};
            charting->first[group] = entry;
        } else {
            charting->next[charting->last[group]] = entry + 1;
        }
        charting->last[group] = entry;
        charting->groups[group].us += dominating->us;
        charting->groups[group].n_all_variants++;
        charting->groups[group].first_variant = group; /* until it has its place */
    }
    return charting->names.n;
}

ORDER_BY(compare_groups, struct sutra_dlrm_group, DESCENDING(us) ASCENDING(first_variant))

/* The bars of a group, which still knows its number. */
static bool add_group(struct charting *charting, struct sutra_dlrm_group group) {
    const struct sutra_dlrm_dominating *list = charting->dominating->list;
    uint64_t number = group.first_variant;
    group.first_variant = charting->n_variants;
    for (uint32_t entry = charting->first[number] + 1; entry; entry = charting->next[entry - 1]) {
        uint32_t signature = signature_of(charting, &list[entry - 1]), n = charting->variants.n;
        uint32_t variant = signature == STRING_NONE
                               ? TUPLE_NONE
                               : tuples_number(&charting->variants, (struct tuple){{(value_key)number, signature}});
        if (variant == TUPLE_NONE || (variant == n && !add_variant(charting, &list[entry - 1])))
            return false;
    }
    group.n_variants = charting->n_variants - group.first_variant;
    charting->made->groups[charting->n_groups++] = group;
    return true;
}

static bool chart_stream(struct charting *charting, struct sutra_dlrm_stream *stream) {
    uint32_t n = gather_groups(charting, stream);
    if (n == TUPLE_NONE)
        return false;
    qsort(charting->groups, n, sizeof *charting->groups, compare_groups);
    tuples_free(&charting->variants);
    stream->first_group = charting->n_groups;
    stream->n_groups = n;
    for (uint32_t i = 0; i < n; i++)
        if (!add_group(charting, charting->groups[i]))
            return false;
    return true;
}

enum sutra_status dlrm_chart_make(struct dlrm_work *work, const struct dlrm_dominating *dominating,
                                  struct dlrm_breakdown *breakdown, struct dlrm_chart *chart,
                                  struct sutra_error *error) {
    struct arena *arena = work->arena, *scratch = &work->scratch;
    struct arena_mark mark = arena_mark(scratch);
    uint64_t n_entries = 0, n_parts = 0;
    for (uint64_t i = 0; i < breakdown->n_streams; i++)
        n_entries += breakdown->streams[i].n_dominating;
    for (uint64_t i = 0; i < n_entries; i++)
        n_parts += dominating->list[i].n_parts;
    *chart = (struct dlrm_chart){.groups = arena_take(arena, n_entries, sizeof *chart->groups),
                                 .variants = arena_take(arena, n_entries, sizeof *chart->variants),
                                 .shares = arena_take(arena, n_parts, sizeof *chart->shares)};
    struct charting charting = {.work = work,
                                .dominating = dominating,
                                .made = chart,
                                .next = arena_zeros(scratch, n_entries, sizeof *charting.next),
                                .last = arena_take(scratch, n_entries, sizeof *charting.last),
                                .first = arena_take(scratch, n_entries, sizeof *charting.first),
                                .groups = arena_take(scratch, n_entries, sizeof *charting.groups),
                                .words = arena_take(scratch, n_parts, sizeof *charting.words)};
    bool ok = !arena->failed && !scratch->failed && strings_init(&charting.signatures);
    for (uint64_t i = 0; i < breakdown->n_streams && ok; i++)
        ok = chart_stream(&charting, &breakdown->streams[i]);
    tuples_free(&charting.names);
    tuples_free(&charting.variants);
    strings_free(&charting.signatures);
    buffer_free(&charting.signature);
    arena_release(scratch, mark);
    return ok ? SUTRA_OK : error_memory(error);
}

/* Room for rows at first. */
#define ROWS_FIRST 64

/* An operator, or what else has a time of its own, on one stream. */
struct contribution {
    row_t node, block;
    uint32_t stream; /* by the order of first sight */
};

/* A node above or of the contributions of one stream. */
struct local {
    row_t node, block; /* ROW_NONE where it is above */
    row_t parent;      /* local, or ROW_NONE */
    row_t first_child; /* among `children` */
    double us;
};

/* Where a row comes from. */
struct row_origin {
    row_t source; /* the local of its first occurrence; ROW_NONE for kernels */
    row_t range;  /* the first row below the same parent */
};

struct breaking {
    struct dlrm_work *work;
    const struct dlrm_tree *tree;
    const struct dlrm_device_time *time;
    struct dlrm_breakdown *made;
    struct contribution *list;
    row_t n;
    uint64_t capacity;
    row_t *label;           /* per node: the label that what lies in it is counted for; itself, or one above it */
    uint16_t *level;        /* per node */
    row_t *local_of, *seen; /* per node: its local, and for which stream + 1 that holds */
    struct local *locals;
    row_t *children; /* locals */
    row_t n_locals;
    uint64_t locals_capacity, children_capacity;
    struct tuples keys;
    struct row_origin *origins; /* per row */
    uint64_t rows_capacity, origins_capacity;
};

/* ---- Contributions ---- */

static bool add_contributions(struct breaking *breaking, struct tuples *streams, row_t node, row_t group) {
    const struct dlrm_device_time *time = breaking->time;
    for (row_t block = time->group_block[group]; block < time->group_block[group + 1]; block++) {
        uint32_t stream = tuples_number(streams, (struct tuple){{time->blocks[block].stream}});
        if (stream == TUPLE_NONE || breaking->n == ROW_LIMIT ||
            !arena_grow(&breaking->work->scratch, &breaking->list, breaking->n, &breaking->capacity,
                        sizeof *breaking->list))
            return false;
        breaking->list[breaking->n++] = (struct contribution){node, block, stream};
    }
    return true;
}

/* Notes a label's level; those that are too deep count for the last one that is not. */
static void enter_label(struct breaking *breaking, row_t node) {
    row_t parent = breaking->tree->forest.parent[node];
    unsigned level = parent == ROW_NONE ? 0 : breaking->level[parent] + 1u;
    breaking->level[node] = (uint16_t)(level < LEVELS_MAX ? level : LEVELS_MAX);
    breaking->label[node] = level < LEVELS_MAX ? node : breaking->label[parent];
}

static bool gather(struct breaking *breaking, struct tuples *streams) {
    const struct dlrm_forest *forest = &breaking->tree->forest;
    const row_t *group_block = breaking->time->group_block;
    for (row_t node = 0; node < forest->n;) {
        row_t group = breaking->tree->ops.node_group[node];
        if (!(forest->flags[node] & NODE_DEVICE)) {
            node = forest->end[node];
        } else if (group != ROW_NONE && group_block[group] < group_block[group + 1]) {
            if (!add_contributions(breaking, streams, node, group))
                return false;
            node = forest->end[node];
        } else {
            enter_label(breaking, node++);
        }
    }
    return true;
}

/* Copies them in the order of their streams, as those are first seen. */
static enum sutra_status sort_by_stream(struct breaking *breaking, struct contribution **sorted,
                                        struct sutra_error *error) {
    struct arena *scratch = &breaking->work->scratch;
    const struct engine *engine = breaking->work->engine;
    row_t n = breaking->n, *order = arena_take(scratch, n, sizeof *order);
    uint64_t *keys = arena_take(scratch, n, sizeof *keys);
    *sorted = arena_take(scratch, n, sizeof **sorted);
    if (scratch->failed)
        return error_memory(error);
    for (row_t i = 0; i < n; i++) {
        keys[i] = breaking->list[i].stream;
        order[i] = i;
    }
    enum sutra_status status = engine->sort_keys(engine->state, &(struct sort_keys_step){keys, order, n}, error);
    for (row_t i = 0; i < n && !status; i++)
        (*sorted)[i] = breaking->list[order[i]];
    return status;
}

/* ---- The nodes of one stream ---- */

static bool add_local(struct breaking *breaking, row_t node, row_t block, row_t parent) {
    struct arena *scratch = &breaking->work->scratch;
    row_t n = breaking->n_locals;
    if (n == ROW_LIMIT ||
        !arena_grow(scratch, &breaking->locals, n, &breaking->locals_capacity, sizeof(struct local)) ||
        !arena_grow(scratch, &breaking->children, n, &breaking->children_capacity, sizeof *breaking->children))
        return false;
    breaking->locals[breaking->n_locals++] = (struct local){node, block, parent, 0, 0};
    return true;
}

/* Adds the labels above a node that the stream has not seen yet, the outermost first, and then the node. */
static bool add_with_labels(struct breaking *breaking, const struct contribution *contribution, row_t stream) {
    const row_t *parent = breaking->tree->forest.parent;
    row_t chain[LEVELS_MAX + 1], n = 0, above = parent[contribution->node], last = ROW_NONE;
    for (; above != ROW_NONE; above = parent[above]) {
        above = breaking->label[above];
        if (breaking->seen[above] == stream + 1)
            break;
        chain[n++] = above;
    }
    if (above != ROW_NONE)
        last = breaking->local_of[above];
    while (n-- > 0) {
        breaking->seen[chain[n]] = stream + 1;
        breaking->local_of[chain[n]] = breaking->n_locals;
        if (!add_local(breaking, chain[n], ROW_NONE, last))
            return false;
        last = breaking->n_locals - 1;
    }
    return add_local(breaking, contribution->node, contribution->block, last);
}

/* Children of each local, those of the top level behind all others; returns where those begin. */
static row_t list_children(struct breaking *breaking) {
    struct local *locals = breaking->locals;
    row_t n = breaking->n_locals, at = 0, top = 0;
    for (row_t i = 0; i < n; i++)
        if (locals[i].parent != ROW_NONE)
            locals[locals[i].parent].first_child++;
    for (row_t i = 0; i < n; i++) {
        row_t n_children = locals[i].first_child;
        locals[i].first_child = at;
        at += n_children;
    }
    top = at;
    for (row_t i = 0; i < n; i++)
        breaking->children[locals[i].parent == ROW_NONE ? at++ : locals[locals[i].parent].first_child++] = i;
    for (row_t i = n; i-- > 1;) /* back to where each began: where the one before it ended */
        locals[i].first_child = locals[i - 1].first_child;
    if (n)
        locals[0].first_child = 0;
    return top;
}

/* The end of a local's children. */
static row_t children_end(const struct breaking *breaking, row_t local, row_t top) {
    return local + 1 < breaking->n_locals ? breaking->locals[local + 1].first_child : top;
}

static void sum_locals(struct breaking *breaking, row_t top) {
    struct local *locals = breaking->locals;
    for (row_t i = breaking->n_locals; i-- > 0;) {
        if (locals[i].block != ROW_NONE)
            locals[i].us = breaking->time->blocks[locals[i].block].us;
        row_t end = children_end(breaking, i, top);
        for (row_t child = locals[i].first_child; child < end; child++)
            locals[i].us += locals[breaking->children[child]].us;
    }
}

/* ---- Rows ---- */

static struct sutra_dlrm_row *add_row(struct breaking *breaking, uint32_t name, uint32_t shape, row_t source,
                                      row_t range) {
    struct arena *scratch = &breaking->work->scratch;
    struct dlrm_breakdown *made = breaking->made;
    row_t n = made->n_rows;
    if (n == ROW_LIMIT || !arena_grow(scratch, &made->rows, n, &breaking->rows_capacity, sizeof *made->rows) ||
        !arena_grow(scratch, &breaking->origins, n, &breaking->origins_capacity, sizeof *breaking->origins))
        return NULL;
    breaking->origins[n] = (struct row_origin){source, range};
    made->rows[n] = (struct sutra_dlrm_row){.name = name, .shape = shape};
    return &made->rows[made->n_rows++];
}

/* Rows for the children [first, end), those of one name and shape together. */
static bool add_group_rows(struct breaking *breaking, row_t first, row_t end) {
    struct dlrm_work *work = breaking->work;
    struct dlrm_breakdown *made = breaking->made;
    row_t range = made->n_rows;
    tuples_free(&breaking->keys);
    for (row_t i = first; i < end; i++) {
        const struct local *local = &breaking->locals[breaking->children[i]];
        uint32_t name = dlrm_name(work, work->events->name[breaking->tree->forest.event[local->node]]);
        uint32_t shape = breaking->tree->shapes.input[local->node];
        uint32_t key = tuples_number(&breaking->keys, (struct tuple){{name, shape}});
        if (name == STRING_NONE || key == TUPLE_NONE)
            return false;
        bool is_new = range + key == made->n_rows;
        struct sutra_dlrm_row *row =
            is_new ? add_row(breaking, name, shape, breaking->children[i], range) : &made->rows[range + key];
        if (!row)
            return false;
        if (is_new)
            row->first_us = local->us;
        row->count++;
        row->n_occurrences++;
        row->us += local->us;
    }
    return true;
}

static bool add_kernel_rows(struct breaking *breaking, row_t block) {
    const struct dlrm_device_time *time = breaking->time;
    row_t range = breaking->made->n_rows;
    for (row_t i = time->blocks[block].kernel; i < time->blocks[block + 1].kernel; i++) {
        const struct dlrm_kernel *kernel = &time->kernels[i];
        struct sutra_dlrm_row *row = add_row(breaking, kernel->name, kernel->shape, ROW_NONE, range);
        if (!row)
            return false;
        row->count = kernel->count;
        row->us = kernel->us;
    }
    return true;
}

/* All rows of one stream, level by level. */
static bool add_rows(struct breaking *breaking, row_t top) {
    struct dlrm_breakdown *made = breaking->made;
    row_t next = made->n_rows;
    if (!add_group_rows(breaking, top, breaking->n_locals))
        return false;
    for (; next < made->n_rows; next++) {
        row_t source = breaking->origins[next].source, first = made->n_rows;
        if (source == ROW_NONE)
            continue;
        const struct local *local = &breaking->locals[source];
        bool ok = local->block != ROW_NONE
                      ? add_kernel_rows(breaking, local->block)
                      : add_group_rows(breaking, local->first_child, children_end(breaking, source, top));
        if (!ok)
            return false;
        made->rows[next].first_child = first;
        made->rows[next].n_children = made->n_rows - first;
    }
    return true;
}

/* The rows of n contributions, which are those of one stream. */
static bool break_stream(struct breaking *breaking, const struct contribution *list, row_t n, double host_us) {
    struct dlrm_breakdown *made = breaking->made;
    struct sutra_dlrm_stream *stream = &made->streams[list->stream];
    stream->name = breaking->time->blocks[list->block].stream;
    stream->first_row = made->n_rows;
    breaking->n_locals = 0;
    for (row_t i = 0; i < n; i++)
        if (!add_with_labels(breaking, &list[i], list->stream))
            return false;
    row_t top = list_children(breaking);
    sum_locals(breaking, top);
    if (!add_rows(breaking, top))
        return false;
    for (row_t i = top; i < breaking->n_locals; i++)
        stream->active_us += breaking->locals[breaking->children[i]].us;
    for (row_t i = stream->first_row; i < made->n_rows && breaking->origins[i].range == stream->first_row; i++)
        stream->n_rows++;
    stream->idle_us = host_us - stream->active_us;
    made->attributed_us += stream->active_us;
    return true;
}

static bool break_streams(struct breaking *breaking, const struct contribution *sorted, double host_us) {
    for (row_t begin = 0, end; begin < breaking->n; begin = end) {
        for (end = begin; end < breaking->n && sorted[end].stream == sorted[begin].stream;)
            end++;
        if (!break_stream(breaking, sorted + begin, end - begin, host_us))
            return false;
    }
    return true;
}

/* Rows below one parent by falling time. */
static enum sutra_status sort_by_time(struct breaking *breaking, struct sutra_error *error) {
    struct arena *scratch = &breaking->work->scratch;
    struct dlrm_breakdown *made = breaking->made;
    const struct engine *engine = breaking->work->engine;
    row_t n = made->n_rows;
    struct number_column us = numbers_take(scratch, n);
    uint64_t *keys = arena_take(scratch, n, sizeof *keys);
    if (scratch->failed)
        return error_memory(error);
    for (row_t i = 0; i < n; i++)
        number_put(us, i, number_double(-made->rows[i].us));
    enum sutra_status status =
        engine->sort_numbers(engine->state, &(struct sort_numbers_step){us, n, made->by_time}, error);
    for (row_t i = 0; i < n && !status; i++)
        keys[i] = breaking->origins[made->by_time[i]].range;
    return status ? status : engine->sort_keys(engine->state, &(struct sort_keys_step){keys, made->by_time, n}, error);
}

/* From gathered contributions to rows, which leave the scratch memory at the end. */
static enum sutra_status make_rows(struct breaking *breaking, double host_us, struct sutra_error *error) {
    struct arena *arena = breaking->work->arena;
    struct dlrm_breakdown *made = breaking->made;
    struct contribution *sorted = NULL;
    enum sutra_status status = sort_by_stream(breaking, &sorted, error);
    if (status)
        return status;
    made->streams = arena_zeros(arena, made->n_streams, sizeof *made->streams);
    if (!made->streams || !break_streams(breaking, sorted, host_us))
        return error_memory(error);
    struct sutra_dlrm_row *rows = arena_take(arena, made->n_rows, sizeof *rows);
    made->by_time = arena_take(arena, made->n_rows, sizeof *made->by_time);
    if (arena->failed)
        return error_memory(error);
    if (made->n_rows)
        memcpy(rows, made->rows, made->n_rows * sizeof *rows);
    made->rows = rows;
    return sort_by_time(breaking, error);
}

enum sutra_status dlrm_breakdown_make(struct dlrm_work *work, const struct dlrm_tree *tree,
                                      const struct dlrm_device_time *time, double host_us,
                                      struct dlrm_breakdown *breakdown, struct sutra_error *error) {
    struct arena *scratch = &work->scratch;
    struct arena_mark mark = arena_mark(scratch);
    row_t n = tree->forest.n;
    struct breaking breaking = {.work = work,
                                .tree = tree,
                                .time = time,
                                .made = breakdown,
                                .label = arena_take(scratch, n, sizeof *breaking.label),
                                .level = arena_take(scratch, n, sizeof *breaking.level),
                                .local_of = arena_take(scratch, n, sizeof *breaking.local_of),
                                .seen = arena_zeros(scratch, n, sizeof *breaking.seen),
                                .origins = arena_take(scratch, ROWS_FIRST, sizeof *breaking.origins),
                                .origins_capacity = ROWS_FIRST};
    struct tuples streams = {0};
    *breakdown = (struct dlrm_breakdown){0};
    bool ok = !scratch->failed && gather(&breaking, &streams);
    breakdown->n_streams = streams.n;
    enum sutra_status status = ok ? make_rows(&breaking, host_us, error) : error_memory(error);
    tuples_free(&breaking.keys);
    tuples_free(&streams);
    arena_release(scratch, mark);
    return status;
}
