/*
 * dlrm_dominating.c - the operators that dominate a stream: time of first occurrences by operator, wherever they stand.
 *
 * In come the breakdown's rows; out goes a list for each stream, the total first and then labels and operators as the
 * walk first meets them: from the top down, at each level by falling time, into first occurrences. What an entry
 * consists of is added up over all places of it. Walked with a stack of LEVELS_MAX and a few more levels, no recursion;
 * O(rows).
 */
#include "analyze/dlrm/dlrm.h"
#include "base/error.h"

/* A level of the walk: rows [first, first + n), by time, of which `next` comes next. */
struct dominating_level {
    row_t first, n, next;
    uint32_t entry;
    bool inside; /* what is below the next row was walked */
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
    struct entry_part *parts;            /* as they come */
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

static bool add_part(struct dominating *dominating, uint32_t entry, const struct sutra_dlrm_row *row) {
    uint32_t n = dominating->part_keys.n;
    uint32_t part = tuples_number(&dominating->part_keys, (struct tuple){{entry, row->name, row->shape}});
    if (part == TUPLE_NONE || !arena_grow(&dominating->work->scratch, &dominating->parts, part,
                                          &dominating->parts_capacity, sizeof *dominating->parts))
        return false;
    if (part == n) {
        dominating->parts[part] = (struct entry_part){{row->name, row->shape, 0}, entry};
        dominating->entries[entry].n_parts++;
    }
    dominating->parts[part].part.us += row->us;
    return true;
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
        if (!add_part(dominating, level->entry, row))
            return false;
        level->inside = false;
        level->next++;
    }
    return true;
}

/* Entries, and parts of an entry together, as they came. */
static bool place_parts(const struct dominating *dominating, struct dlrm_dominating *made) {
    uint32_t n_entries = dominating->entry_keys.n, n_parts = dominating->part_keys.n;
    made->list = arena_take(dominating->work->arena, n_entries, sizeof *made->list);
    made->parts = arena_take(dominating->work->arena, n_parts, sizeof *made->parts);
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
    ok = ok && place_parts(&dominating, made);
    tuples_free(&dominating.entry_keys);
    tuples_free(&dominating.part_keys);
    arena_release(&work->scratch, mark);
    return ok ? SUTRA_OK : error_memory(error);
}
