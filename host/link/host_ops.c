/*
 * host_ops.c - lists the host operators (link.h): sorts nodes by id and finds the descendants of the root.
 *
 *     nodes of the file     7 1 3 3 9          by id     1 | 3 3 | 7 | 9
 *     units                                              0 |  1  | 2 | 3
 *     parents               7 -> 3, 3 -> 1, 9 -> 9       from 1: 0, 1 and 2 are reached, 3 is not
 *
 * Ids that are not 64-bit integers are sorted by their digits. Cost: a sort by id; O(n) to find the descendants, since
 * each walk upwards ends at a unit that an earlier walk has visited.
 */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/error.h"
#include "base/memory.h"
#include "link/link.h"
#include "text/numbers.h"

/* Id of the root node. */
#define ROOT_ID 1

/* A node id that may be any number: the digits of its whole part, and the double itself if it is one. */
struct wide_id {
    const char *digits; /* with a '-' before them; not terminated by 0 */
    size_t length;
    bool is_double;
    double value;
    row_t row;
};

/* The fraction of a double; all of an infinity. */
static double fraction(const struct wide_id *id) {
    if (!id->is_double)
        return 0;
    return isfinite(id->value) ? id->value - trunc(id->value) : id->value;
}

/* By whole part, fraction and row. */
static int compare_wide(const void *left, const void *right) {
    const struct wide_id *a = left, *b = right;
    double fa = fraction(a), fb = fraction(b);
    int order = 0;
    if (!isinf(fa) && !isinf(fb)) {
        bool a_below = *a->digits == '-', b_below = *b->digits == '-';
        if (a_below != b_below)
            return a_below ? -1 : 1;
        order = a->length != b->length ? (a->length < b->length ? -1 : 1) : memcmp(a->digits, b->digits, a->length);
        order = a_below ? -order : order;
    }
    if (order == 0)
        order = (fa > fb) - (fa < fb);
    return order ? order : (a->row > b->row) - (a->row < b->row);
}

/* Sorts ids that include fractions or integers beyond 64 bits. */
static enum sutra_status sort_wide(struct host_ops *ops, const struct sutra_host_trace *trace, struct arena *arena,
                                   struct sutra_error *error) {
    const struct source *source = &trace->document.source;
    struct wide_id *ids = arena_alloc(arena, ops->n_nodes, sizeof *ids);
    size_t *start = arena_alloc(arena, ops->n_nodes, sizeof *start); /* of the digits in the buffer, which may move */
    struct buffer digits = {0};
    for (row_t i = 0; i < ops->n_nodes && ids && start; i++) {
        struct wide_id *id = &ids[i];
        struct json_span place = {0};
        struct json_walker walker = walk_from(source, trace->nodes.text[i]);
        for (bool more = walk_object(&walker); more; more = walk_member_end(&walker)) {
            struct json_span key = walk_key(&walker), value = walk_value(&walker);
            if (place_is(source, key, "id"))
                place = value;
        }
        const char *text = source->bytes + place.at;
        *id = (struct wide_id){.row = i};
        enum number_form form = number_scan(text, &id->length);
        if (form == NUMBER_FORM_INTEGER && !(id->length == 2 && text[0] == '-' && text[1] == '0')) {
            id->digits = text;
            start[i] = SIZE_MAX;
            continue;
        }
        id->is_double = form == NUMBER_FORM_REAL;
        id->value = form == NUMBER_FORM_REAL ? double_parse(text, id->length) : text[0] == 't';

        /* The digits of the whole part; doubles have up to 309. */
        start[i] = digits.length;
        char *to = buffer_reserve(&digits, 320);
        if (to) {
            double whole = trunc(id->value) + 0.0; /* no -0 */
            digits.length += (size_t)snprintf(to, 320, "%.0f", isfinite(whole) ? whole : 0);
        }
        id->length = digits.length - start[i];
    }
    bool ok = ids && start && !digits.failed;
    for (row_t i = 0; i < ops->n_nodes && ok; i++)
        if (start[i] != SIZE_MAX)
            ids[i].digits = digits.bytes + start[i];
    if (ok)
        qsort(ids, ops->n_nodes, sizeof *ids, compare_wide);
    for (row_t i = 0; i < ops->n_nodes && ok; i++)
        ops->node[i] = ids[i].row;
    buffer_free(&digits);
    return ok ? SUTRA_OK : error_memory(error);
}

enum op_reach { REACH_UNKNOWN, REACH_YES, REACH_NO, REACH_WALKING };

static enum sutra_status find_reachable(struct host_ops *ops, const struct sutra_host_trace *trace, struct arena *arena,
                                        struct sutra_error *error) {
    struct arena_mark mark = arena_mark(arena);
    row_t *parent = arena_alloc(arena, ops->n_units, sizeof *parent);
    row_t *path = arena_alloc(arena, ops->n_units, sizeof *path);
    row_t root = key_index_find(&ops->ids, ROOT_ID);
    TRY(arena_status(arena, error));
    for (row_t unit = 0; unit < ops->n_units; unit++)
        parent[unit] = key_index_find(&ops->ids, trace->nodes.parent[unit_node(ops, unit)]);
    if (root == ROW_NONE) {
        memset(ops->reachable, REACH_YES, ops->n_units); /* all are host operators, as reported after reading */
    } else {
        ops->reachable[root] = REACH_YES;
        for (row_t start = 0; start < ops->n_units; start++) {
            /* Walk up to a unit whose answer is known, then set the answer along the path. */
            row_t unit = start, n = 0;
            while (unit != ROW_NONE && ops->reachable[unit] == REACH_UNKNOWN) {
                ops->reachable[unit] = REACH_WALKING;
                path[n++] = unit;
                unit = parent[unit];
            }
            /* Without a parent, or in a cycle, the root is not an ancestor. */
            uint8_t answer = unit != ROW_NONE && ops->reachable[unit] == REACH_YES ? REACH_YES : REACH_NO;
            while (n > 0)
                ops->reachable[path[--n]] = answer;
        }
        for (row_t unit = 0; unit < ops->n_units; unit++)
            ops->reachable[unit] = ops->reachable[unit] == REACH_YES;
    }
    arena_release(arena, mark);
    return SUTRA_OK;
}

enum sutra_status host_ops_build(struct host_ops *ops, struct sutra_context *context,
                                 const struct sutra_host_trace *trace, struct arena *arena, struct sutra_error *error) {
    *ops = (struct host_ops){.n_nodes = trace->nodes.n};
    ops->node = arena_alloc(arena, ops->n_nodes, sizeof *ops->node);
    ops->unit_start = arena_alloc(arena, (size_t)ops->n_nodes + 1, sizeof *ops->unit_start);
    ops->reachable = arena_zeros(arena, ops->n_nodes, 1);
    struct arena_mark mark = arena_mark(arena);
    uint64_t *keys = arena_alloc(arena, ops->n_nodes, sizeof *keys);
    value_key *ids = arena_alloc(arena, ops->n_nodes, sizeof *ids);
    TRY(arena_status(arena, error));

    /* Sort the nodes by id. Runs of equal ids become units, which are then found by id. */
    bool wide = false;
    for (row_t i = 0; i < ops->n_nodes; i++) {
        wide |= !key_is_integer(trace->nodes.id[i]);
        keys[i] = integer_sort_key(trace->nodes.id[i]);
        ops->node[i] = i;
    }
    struct sort_keys_step sort = {keys, ops->node, ops->n_nodes};
    TRY(wide ? sort_wide(ops, trace, arena, error) : context->engine.sort_keys(context->engine.state, &sort, error));
    for (row_t i = 0; i < ops->n_nodes; i++) {
        value_key id = trace->nodes.id[ops->node[i]];
        if (i > 0 && id == ids[ops->n_units - 1])
            continue;
        ids[ops->n_units] = id;
        ops->unit_start[ops->n_units++] = i;
    }
    ops->unit_start[ops->n_units] = ops->n_nodes;
    TRY(key_index_build(&ops->ids, &context->engine, ids, ops->n_units, KEY_FIRST, NULL, error));
    arena_release(arena, mark);
    return find_reachable(ops, trace, arena, error);
}

void host_ops_free(struct host_ops *ops) {
    key_index_free(&ops->ids);
    *ops = (struct host_ops){0};
}
