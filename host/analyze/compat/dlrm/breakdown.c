/*
 * breakdown.c - breaks down the device time of each stream, finds dominating operators, and charts them.
 *
 * Input: nodes that start GPU activity, down to the operators, whose device time is known. Output: for each stream rows
 * with a name, a shape and the time of all nodes of this name and shape below the same parent. Only the first
 * occurrence of a row has children:
 *
 *     ## Forward ##   2315.0  10 times                 rows: children of a row are adjacent, breadth first
 *       aten::to        20.0   once in the first           | forward, backward | to, mlp, ... | ... | kernels ... |
 *         Memcpy HtoD   20.0
 *
 * Algorithm: list the nodes above the operators of a stream (`locals`, in pre-order), sum them from the last to the
 * first, and add rows by walking down through first occurrences. Cost: O(operators of the stream times their labels);
 * labels nested deeper than LEVELS_MAX count for the label above them.
 */
#include <stdlib.h>
#include <string.h>

#include "analyze/compat/dlrm/dlrm.h"
#include "base/error.h"
#include "base/memory.h"
#include "base/shared.h"

/* Initial capacity of rows. */
#define ROWS_FIRST 64

/* An operator, or another node with a time of its own, on one stream. */
struct contribution {
    row_t node, block;
    uint32_t stream; /* in the order of first occurrence */
};

/* A node above or of the contributions of one stream. */
struct local {
    row_t node, block; /* block is ROW_NONE for a node above a contribution */
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
    row_t *label;                /* per node: the label that its descendants count for; itself or an ancestor */
    uint16_t *level;             /* per node */
    row_t *local_of, *stream_of; /* per node: its local, and the stream + 1 that the local belongs to */
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
            /* Sets a label's level; a label nested too deep counts for its last ancestor within the limit. */
            row_t parent = breaking->tree->forest.parent[node];
            unsigned level = parent == ROW_NONE ? 0 : breaking->level[parent] + 1u;
            breaking->level[node] = (uint16_t)MIN(level, LEVELS_MAX);
            breaking->label[node] = level < LEVELS_MAX ? node : breaking->label[parent];
            node++;
        }
    }
    return true;
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

/* Adds the labels above a node that the stream does not have yet, the outermost first, and then the node. */
static bool add_with_labels(struct breaking *breaking, const struct contribution *contribution, row_t stream) {
    const row_t *parent = breaking->tree->forest.parent;
    row_t chain[LEVELS_MAX + 1], n = 0, above = parent[contribution->node], last = ROW_NONE;
    for (; above != ROW_NONE; above = parent[above]) {
        above = breaking->label[above];
        if (breaking->stream_of[above] == stream + 1)
            break;
        chain[n++] = above;
    }
    if (above != ROW_NONE)
        last = breaking->local_of[above];
    while (n-- > 0) {
        breaking->stream_of[chain[n]] = stream + 1;
        breaking->local_of[chain[n]] = breaking->n_locals;
        if (!add_local(breaking, chain[n], ROW_NONE, last))
            return false;
        last = breaking->n_locals - 1;
    }
    return add_local(breaking, contribution->node, contribution->block, last);
}

/* Lists the children of each local, with the locals of the top level last; returns the start of the top level. */
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
    for (row_t i = n; i-- > 1;) /* back to the start of each: the end of its predecessor */
        locals[i].first_child = locals[i - 1].first_child;
    if (n)
        locals[0].first_child = 0;
    return top;
}

/* The end of a local's children. */
static row_t children_end(const struct breaking *breaking, row_t local, row_t top) {
    return local + 1 < breaking->n_locals ? breaking->locals[local + 1].first_child : top;
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

/* Adds a row for each name and shape among the children [first, end). */
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

/* Adds the rows of one stream, which has the n contributions. */
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
    /* Sum the time of each local from the last to the first. */
    struct local *locals = breaking->locals;
    for (row_t i = breaking->n_locals; i-- > 0;) {
        if (locals[i].block != ROW_NONE)
            locals[i].us = breaking->time->blocks[locals[i].block].us;
        row_t end = children_end(breaking, i, top);
        for (row_t child = locals[i].first_child; child < end; child++)
            locals[i].us += locals[breaking->children[child]].us;
    }
    /* Add the rows level by level. */
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
    for (row_t i = top; i < breaking->n_locals; i++)
        stream->active_us += breaking->locals[breaking->children[i]].us;
    for (row_t i = stream->first_row; i < made->n_rows && breaking->origins[i].range == stream->first_row; i++)
        stream->n_rows++;
    stream->idle_us = host_us - stream->active_us;
    made->attributed_us += stream->active_us;
    return true;
}

/* Turns contributions into rows, which are copied out of the scratch memory at the end. */
static enum sutra_status make_rows(struct breaking *breaking, double host_us, struct sutra_error *error) {
    struct arena *arena = breaking->work->arena;
    struct dlrm_breakdown *made = breaking->made;

    /* Copy the contributions in the order of their streams, by first occurrence. */
    struct arena *scratch = &breaking->work->scratch;
    const struct engine *engine = breaking->work->engine;
    row_t n = breaking->n, *order = arena_alloc(scratch, n, sizeof *order);
    uint64_t *keys = arena_alloc(scratch, n, sizeof *keys);
    struct contribution *sorted = arena_alloc(scratch, n, sizeof *sorted);
    TRY(arena_status(scratch, error));
    for (row_t i = 0; i < n; i++) {
        keys[i] = breaking->list[i].stream;
        order[i] = i;
    }
    TRY(engine->sort_keys(engine->state, &(struct sort_keys_step){keys, order, n}, error));
    for (row_t i = 0; i < n; i++)
        sorted[i] = breaking->list[order[i]];
    made->streams = arena_zeros(arena, made->n_streams, sizeof *made->streams);
    TRY(arena_status(arena, error));
    for (row_t begin = 0, end; begin < breaking->n; begin = end) {
        for (end = begin; end < breaking->n && sorted[end].stream == sorted[begin].stream;)
            end++;
        TRY_ALLOC(break_stream(breaking, sorted + begin, end - begin, host_us), error);
    }
    struct sutra_dlrm_row *rows = arena_alloc(arena, made->n_rows, sizeof *rows);
    made->by_time = arena_alloc(arena, made->n_rows, sizeof *made->by_time);
    TRY(arena_status(arena, error));
    if (made->n_rows)
        memcpy(rows, made->rows, made->n_rows * sizeof *rows);
    made->rows = rows;
    /* Sort the rows below one parent by descending time. */
    n = made->n_rows;
    struct number_column us = numbers_alloc(scratch, n);
    uint64_t *ranges = arena_alloc(scratch, n, sizeof *ranges);
    TRY(arena_status(scratch, error));
    for (row_t i = 0; i < n; i++)
        number_set(us, i, number_double(-made->rows[i].us));
    TRY(engine->sort_numbers(engine->state, &(struct sort_numbers_step){us, n, made->by_time}, error));
    for (row_t i = 0; i < n; i++)
        ranges[i] = breaking->origins[made->by_time[i]].range;
    return engine->sort_keys(engine->state, &(struct sort_keys_step){ranges, made->by_time, n}, error);
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
                                .label = arena_alloc(scratch, n, sizeof *breaking.label),
                                .level = arena_alloc(scratch, n, sizeof *breaking.level),
                                .local_of = arena_alloc(scratch, n, sizeof *breaking.local_of),
                                .stream_of = arena_zeros(scratch, n, sizeof *breaking.stream_of),
                                .origins = arena_alloc(scratch, ROWS_FIRST, sizeof *breaking.origins),
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

/*
 * ---- Dominating operators: time of first occurrences by operator, at any depth ----
 *
 * Each stream gets a list: the total first, then labels and operators in the order of a walk from the top down into
 * first occurrences, at each level by descending time. The parts of an entry are summed over all its occurrences. The
 * walk uses a stack of LEVELS_MAX and a few more levels, no recursion. Cost: O(rows).
 */

/* A level of the walk: rows [first, first + n) by time; `next` is the index of the next row. */
struct dominating_level {
    row_t first, n, next;
    uint32_t entry;
    bool inside; /* the rows below the next row were walked */
};

/* A part of an entry. */
struct entry_part {
    struct sutra_dlrm_part part;
    uint32_t entry;
};

struct dominating {
    struct dlrm_work *work;
    struct dlrm_breakdown *breakdown;
    struct sutra_dlrm_dominating *entries;
    struct entry_part *parts;            /* in the order of the walk */
    struct tuples entry_keys, part_keys; /* (stream, name, shape) and (entry, name, shape) */
    uint64_t entries_capacity, parts_capacity;
};

/* The entry of a name and shape, with `us` more. TUPLE_NONE: out of memory. */
static uint32_t add_entry(struct dominating *dominating, uint64_t stream, uint32_t name, uint32_t shape, double us) {
    uint32_t n = dominating->entry_keys.n;
    uint32_t entry = tuples_number(&dominating->entry_keys, (struct tuple){{(value_key)stream, name, shape}});
    if (entry == TUPLE_NONE || !arena_grow(&dominating->work->scratch, &dominating->entries, entry,
                                           &dominating->entries_capacity, sizeof *dominating->entries))
        return TUPLE_NONE;
    if (entry == n) {
        dominating->entries[entry] = (struct sutra_dlrm_dominating){.name = name, .shape = shape};
        dominating->breakdown->streams[stream].n_dominating++;
    }
    dominating->entries[entry].us += us;
    return entry;
}

static bool walk_stream(struct dominating *dominating, uint64_t stream) {
    const struct dlrm_breakdown *breakdown = dominating->breakdown;
    struct sutra_dlrm_stream *top = &breakdown->streams[stream];
    struct dominating_level levels[LEVELS_MAX + 4] = {{top->first_row, top->n_rows, 0, 0, false}};
    unsigned depth = 1;
    top->first_dominating = dominating->entry_keys.n;
    if (top->active_us == 0)
        return true;
    levels[0].entry = add_entry(dominating, stream, SUTRA_DLRM_NONE, SUTRA_DLRM_NONE, top->active_us);
    if (levels[0].entry == TUPLE_NONE)
        return false;
    while (depth > 0) {
        struct dominating_level *level = &levels[depth - 1];
        if (level->next == level->n) {
            depth--;
            continue;
        }
        const struct sutra_dlrm_row *row = &breakdown->rows[breakdown->by_time[level->first + level->next]];
        if (row->n_occurrences && row->first_us != 0 && !level->inside) {
            level->inside = true;
            uint32_t entry = add_entry(dominating, stream, row->name, row->shape, row->first_us);
            if (entry == TUPLE_NONE)
                return false;
            levels[depth++] = (struct dominating_level){row->first_child, row->n_children, 0, entry, false};
            continue;
        }
        uint32_t n_parts = dominating->part_keys.n;
        uint32_t part = tuples_number(&dominating->part_keys, (struct tuple){{level->entry, row->name, row->shape}});
        if (part == TUPLE_NONE || !arena_grow(&dominating->work->scratch, &dominating->parts, part,
                                              &dominating->parts_capacity, sizeof *dominating->parts))
            return false;
        if (part == n_parts) {
            dominating->parts[part] = (struct entry_part){{row->name, row->shape, 0}, level->entry};
            dominating->entries[level->entry].n_parts++;
        }
        dominating->parts[part].part.us += row->us;

        level->inside = false;
        level->next++;
    }
    return true;
}

/* Copies the entries in the order of the walk, with the parts of an entry next to each other. */
static bool group_parts(const struct dominating *dominating, struct dlrm_dominating *made) {
    uint32_t n_entries = dominating->entry_keys.n, n_parts = dominating->part_keys.n;
    made->list = arena_alloc(dominating->work->arena, n_entries, sizeof *made->list);
    made->parts = arena_alloc(dominating->work->arena, n_parts, sizeof *made->parts);
    if (!made->list || !made->parts)
        return false;
    uint64_t at = 0;
    for (uint32_t entry = 0; entry < n_entries; entry++) {
        made->list[entry] = dominating->entries[entry];
        made->list[entry].first_part = at;
        at += made->list[entry].n_parts;
        made->list[entry].n_parts = 0;
    }
    for (uint32_t i = 0; i < n_parts; i++) {
        struct sutra_dlrm_dominating *entry = &made->list[dominating->parts[i].entry];
        made->parts[entry->first_part + entry->n_parts++] = dominating->parts[i].part;
    }
    return true;
}

enum sutra_status dlrm_dominating_find(struct dlrm_work *work, struct dlrm_breakdown *breakdown,
                                       struct dlrm_dominating *made, struct sutra_error *error) {
    struct arena_mark mark = arena_mark(&work->scratch);
    struct dominating dominating = {.work = work, .breakdown = breakdown};
    bool ok = true;
    for (uint64_t stream = 0; stream < breakdown->n_streams && ok; stream++)
        ok = walk_stream(&dominating, stream);
    ok = ok && group_parts(&dominating, made);
    tuples_free(&dominating.entry_keys);
    tuples_free(&dominating.part_keys);
    arena_release(&work->scratch, mark);
    return ok ? SUTRA_OK : error_memory(error);
}

/*
 * ---- Bars of the chart "dominating op breakdown" of each stream ----
 *
 * Groups dominating operators of one name (up to a '#') by descending time, without modules and DLRM's labels. Each
 * group has a bar per set of kernels: a later entry with the same kernels is skipped, regardless of shapes, and all
 * sgemm kernels of an architecture are equal. Cost: O(parts log parts).
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

/* The number of the set of kernels of an entry. STRING_NONE: out of memory. */
static uint32_t signature_of(struct charting *charting, const struct sutra_dlrm_dominating *entry) {
    const struct sutra_dlrm_part *parts = charting->dominating->parts + entry->first_part;
    const struct strings *texts = charting->work->texts;
    for (uint64_t i = 0; i < entry->n_parts; i++)
        charting->words[i] = text_compare(texts, parts[i].name, TEXT_HAS, "volta_sgemm") ? "volta_sgemm"
                             : text_compare(texts, parts[i].name, TEXT_HAS, "maxwell_sgemm")
                                 ? "maxwell_sgemm"
                                 : strings_text(texts, parts[i].name);
    qsort(charting->words, entry->n_parts, sizeof *charting->words, compare_strings);
    charting->signature.length = 0;
    for (uint64_t i = 0; i < entry->n_parts; i++)
        buffer_append(&charting->signature, charting->words[i], strlen(charting->words[i]) + 1);
    if (charting->signature.failed)
        return STRING_NONE;
    return strings_intern(&charting->signatures, charting->signature.bytes, charting->signature.length);
}

/* Shares by descending size, equal shares in the order of the parts. */
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

ORDER_BY(compare_groups, struct sutra_dlrm_group, DESCENDING(us) ASCENDING(first_variant))

static bool chart_stream(struct charting *charting, struct sutra_dlrm_stream *stream) {
    /* Gather the groups of the stream. */
    struct dlrm_work *work = charting->work;
    tuples_free(&charting->names);
    for (uint64_t i = 0; i < stream->n_dominating; i++) {
        uint32_t entry = (uint32_t)(stream->first_dominating + i), n_before = charting->names.n;
        const struct sutra_dlrm_dominating *dominating = &charting->dominating->list[entry];
        if (dominating->name == SUTRA_DLRM_NONE || text_compare(work->texts, dominating->name, TEXT_HAS, "DLRM ") ||
            text_compare(work->texts, dominating->name, TEXT_HAS, "module"))
            continue;
        uint32_t name = dlrm_group_name(work, dominating->name);
        uint32_t group = name == STRING_NONE ? TUPLE_NONE : tuples_number(&charting->names, (struct tuple){{name}});
        if (group == TUPLE_NONE)
            return false;
        if (group == n_before) {
            charting->groups[group] = (struct sutra_dlrm_group){.name = name};
            charting->first[group] = entry;
        } else {
            charting->next[charting->last[group]] = entry + 1;
        }
        charting->last[group] = entry;
        charting->groups[group].us += dominating->us;
        charting->groups[group].n_all_variants++;
        charting->groups[group].first_variant = group; /* its number, until the groups are sorted */
    }
    uint32_t n = charting->names.n;
    qsort(charting->groups, n, sizeof *charting->groups, compare_groups);
    tuples_free(&charting->variants);
    stream->first_group = charting->n_groups;
    stream->n_groups = n;
    for (uint32_t i = 0; i < n; i++) {
        /* Sort them, and add a bar for each set of kernels. */
        const struct sutra_dlrm_dominating *list = charting->dominating->list;
        uint64_t number = charting->groups[i].first_variant;
        charting->groups[i].first_variant = charting->n_variants;
        for (uint32_t entry = charting->first[number] + 1; entry; entry = charting->next[entry - 1]) {
            uint32_t signature = signature_of(charting, &list[entry - 1]), n_variants = charting->variants.n;
            uint32_t variant = signature == STRING_NONE
                                   ? TUPLE_NONE
                                   : tuples_number(&charting->variants, (struct tuple){{(value_key)number, signature}});
            if (variant == TUPLE_NONE || (variant == n_variants && !add_variant(charting, &list[entry - 1])))
                return false;
        }
        charting->groups[i].n_variants = charting->n_variants - charting->groups[i].first_variant;
        charting->made->groups[charting->n_groups++] = charting->groups[i];
    }
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
    *chart = (struct dlrm_chart){.groups = arena_alloc(arena, n_entries, sizeof *chart->groups),
                                 .variants = arena_alloc(arena, n_entries, sizeof *chart->variants),
                                 .shares = arena_alloc(arena, n_parts, sizeof *chart->shares)};
    struct charting charting = {.work = work,
                                .dominating = dominating,
                                .made = chart,
                                .next = arena_zeros(scratch, n_entries, sizeof *charting.next),
                                .last = arena_alloc(scratch, n_entries, sizeof *charting.last),
                                .first = arena_alloc(scratch, n_entries, sizeof *charting.first),
                                .groups = arena_alloc(scratch, n_entries, sizeof *charting.groups),
                                .words = arena_alloc(scratch, n_parts, sizeof *charting.words)};
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
