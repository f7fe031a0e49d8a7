/*
 * dlrm_dominating.c - the operators that dominate a stream: time of first occurrences by operator, wherever they stand.
 *
 * In come the breakdown's rows; out goes a list for each stream, the total first and then labels and operators as the
 * walk first meets them: from the top down, at each level by falling time, into first occurrences. What an entry
 * consists of is added up over all places of it. Walked with a stack of LEVELS_MAX and a few more levels, no recursion;
 * O(rows).
 */
#include "analyze/dlrm/dlrm.h"

#include <stdlib.h>

#include "base/error.h"

/* A level of the walk: rows [first, first + n), by time, of which `next` comes next. */
struct dominating_level {
    row_t first, n, next;
    uint32_t entry;
    bool inside; /* what is below the next row was walked */
};

struct dominating {
    struct sutra_dlrm *dlrm;
    struct tuples entries, parts; /* (stream, name, shape) and (entry, name, shape) */
    uint64_t entries_capacity, parts_capacity;
    struct sutra_dlrm_part *list; /* parts as they come */
    uint64_t *entry;              /* of each */
};

/* The entry of a name and shape, with `us` more. TUPLE_NONE: out of memory. */
static uint32_t add_entry(struct dominating *dominating, uint64_t stream, uint32_t name, uint32_t shape, double us) {
    struct sutra_dlrm *dlrm = dominating->dlrm;
    uint32_t n = dominating->entries.n;
    uint32_t entry = tuples_number(&dominating->entries, (struct tuple){{(value_key)stream, name, shape}});
    if (entry == TUPLE_NONE ||
        !column_grow(&dlrm->dominating, entry, &dominating->entries_capacity, sizeof *dlrm->dominating))
        return TUPLE_NONE;
    if (entry == n) {
        dlrm->dominating[entry] = (struct sutra_dlrm_dominating){.name = name, .shape = shape};
        dlrm->streams[stream].n_dominating++;
    }
    dlrm->dominating[entry].us += us;
    return entry;
}

static bool add_part(struct dominating *dominating, uint32_t entry, const struct sutra_dlrm_row *row) {
    uint32_t n = dominating->parts.n;
    uint32_t part = tuples_number(&dominating->parts, (struct tuple){{entry, row->name, row->shape}});
    uint64_t capacity = dominating->parts_capacity;
    if (part == TUPLE_NONE || !column_grow(&dominating->list, part, &capacity, sizeof *dominating->list) ||
        !column_grow(&dominating->entry, part, &dominating->parts_capacity, sizeof *dominating->entry))
        return false;
    if (part == n) {
        dominating->list[part] = (struct sutra_dlrm_part){row->name, row->shape, 0};
        dominating->entry[part] = entry;
        dominating->dlrm->dominating[entry].n_parts++;
    }
    dominating->list[part].us += row->us;
    return true;
}

static bool walk_stream(struct dominating *dominating, uint64_t stream) {
    struct sutra_dlrm *dlrm = dominating->dlrm;
    const struct sutra_dlrm_stream *top = &dlrm->streams[stream];
    struct dominating_level levels[LEVELS_MAX + 4] = {{top->first_row, top->n_rows, 0, 0, false}};
    unsigned depth = 1;
    dlrm->streams[stream].first_dominating = dominating->entries.n;
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
        const struct sutra_dlrm_row *row = &dlrm->rows[dlrm->by_time[level->first + level->next]];
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

/* Parts of an entry together, as they came. */
static enum sutra_status place_parts(struct dominating *dominating, struct sutra_error *error) {
    struct sutra_dlrm *dlrm = dominating->dlrm;
    uint32_t n = dominating->parts.n;
    dlrm->parts = column_new(n, sizeof *dlrm->parts);
    if (!dlrm->parts)
        return error_memory(error);
    uint64_t at = 0;
    for (uint32_t entry = 0; entry < dominating->entries.n; entry++) {
        dlrm->dominating[entry].first_part = at;
        at += dlrm->dominating[entry].n_parts;
        dlrm->dominating[entry].n_parts = 0;
    }
    for (uint32_t part = 0; part < n; part++) {
        struct sutra_dlrm_dominating *entry = &dlrm->dominating[dominating->entry[part]];
        dlrm->parts[entry->first_part + entry->n_parts++] = dominating->list[part];
    }
    return SUTRA_OK;
}

enum sutra_status dlrm_dominating_find(struct sutra_dlrm *dlrm, struct sutra_error *error) {
    struct dominating dominating = {.dlrm = dlrm};
    bool ok = true;
    for (uint64_t stream = 0; stream < dlrm->report.n_streams && ok; stream++)
        ok = walk_stream(&dominating, stream);
    enum sutra_status status = ok ? place_parts(&dominating, error) : error_memory(error);
    tuples_free(&dominating.entries);
    tuples_free(&dominating.parts);
    free(dominating.list);
    free(dominating.entry);
    return status;
}
