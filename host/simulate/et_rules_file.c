/*
 * et_rules_file.c - what ASTRA-sim needs of a file as a whole: its frame, its ids, its dependencies.
 */
#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "simulate/et_check.h"
#include "text/digits.h"

void et_found_add(struct et_found *found, uint64_t id) {
    if (found->n_ids < FOUND_IDS)
        found->ids[found->n_ids++] = id;
    found->count++;
}

__attribute__((format(printf, 2, 3))) static void found_once(struct et_found *found, const char *format, ...) {
    va_list arguments;
    va_start(arguments, format);
    vsnprintf(found->detail, sizeof found->detail, format, arguments);
    va_end(arguments);
    found->count = 1;
}

/* ---- The frame ---- */

static void found_damage(const struct et_file *file, struct et_found *found) {
    if (file->damage.offset == SUTRA_NO_OFFSET)
        found_once(found, "%s", file->damage.message);
    else
        found_once(found, "byte %" PRIu64 ": %s", file->damage.offset, file->damage.message);
}

void et_rule_first_message(const struct et_checking *checking, struct et_found *found) {
    const struct et_file *file = checking->file;
    if (file->has_metadata)
        return;
    if (file->damage.status)
        found_damage(file, found);
    else
        found_once(found, "the file is empty");
}

void et_rule_whole(const struct et_checking *checking, struct et_found *found) {
    const struct et_file *file = checking->file;
    if (file->has_metadata && file->damage.status)
        found_damage(file, found);
    else if (file->cut_at != ET_NOWHERE)
        found_once(found, "the message at byte %" PRIu64 " is truncated", file->cut_at);
    else if (file->empty_at != ET_NOWHERE)
        found_once(found, "the message at byte %" PRIu64 " is empty", file->empty_at);
}

void et_rule_no_nodes(const struct et_checking *checking, struct et_found *found) {
    if (checking->nodes->n == 0)
        found_once(found, "%s", "");
}

int64_t et_rank_of(const char *path, size_t *prefix) {
    size_t length = strlen(path), digits = 0;
    int64_t rank = 0;
    if (length < 3 || strcmp(path + length - 3, ".et") != 0)
        return RANK_UNKNOWN;
    length -= 3;
    while (digits < length && is_digit(path[length - digits - 1]))
        digits++;
    if (digits == 0 || digits > 9 || length <= digits + 1 || path[length - digits - 1] != '.')
        return RANK_UNKNOWN;
    for (size_t i = length - digits; i < length; i++)
        rank = 10 * rank + (path[i] - '0');
    *prefix = length - digits - 1;
    return rank;
}

void et_rule_name(const struct et_checking *checking, struct et_found *found) {
    if (checking->rank == RANK_UNKNOWN)
        found_once(found, "%s", "");
}

/* ---- Ids and dependencies ---- */

void et_rule_same_ids(const struct et_checking *checking, struct et_found *found) {
    for (row_t i = 0; i < checking->graph.n_again; i++)
        et_found_add(found, checking->nodes->id[checking->graph.again[i]]);
}

bool et_rule_absent(const struct et_checking *checking, row_t row) {
    const struct et_lists *up = &checking->graph.up;
    for (uint64_t i = up->first[row]; i < up->first[row + 1]; i++)
        if (up->rows[i] == ROW_NONE)
            return true;
    return false;
}

/* The same node twice in one list; lists are short but for hostile ones, so the search is given up at some point. */
static bool has_repetition(const struct et_ids *list, row_t row) {
    uint64_t begin = list->first[row], end = list->first[row + 1];
    for (uint64_t i = begin + 1; i < end; i++)
        for (uint64_t k = i; k > begin && i - k < 64; k--)
            if (list->ids[k - 1] == list->ids[i])
                return true;
    return false;
}

bool et_rule_repeated(const struct et_checking *checking, row_t row) {
    return has_repetition(&checking->nodes->ctrl, row) || has_repetition(&checking->nodes->data, row);
}

bool et_rule_later_parent(const struct et_checking *checking, row_t row) {
    const struct et_lists *up = &checking->graph.up;
    for (uint64_t i = up->first[row]; i < up->first[row + 1]; i++)
        if (up->rows[i] != ROW_NONE && up->rows[i] > row)
            return true;
    return false;
}

/* A row above `row` that is not in the order either; every such row has one. */
static row_t unordered_above(const struct et_graph *graph, const bool *is_ordered, row_t row) {
    for (uint64_t i = graph->up.first[row]; i < graph->up.first[row + 1]; i++)
        if (graph->up.rows[i] != ROW_NONE && !is_ordered[graph->up.rows[i]])
            return graph->up.rows[i];
    return row;
}

/* Tells the ids of a cycle, found by going up for as many steps as there are nodes. */
static void tell_cycle(const struct et_checking *checking, const bool *is_ordered, struct et_found *found) {
    const struct et_graph *graph = &checking->graph;
    row_t at = 0;
    while (is_ordered[at])
        at++;
    for (row_t step = 0; step < graph->n; step++)
        at = unordered_above(graph, is_ordered, at);
    row_t begin = at;
    do {
        et_found_add(found, checking->nodes->id[at]);
        at = unordered_above(graph, is_ordered, at);
    } while (at != begin);
    snprintf(found->detail, sizeof found->detail, "the cycle has %" PRIu64 " nodes", found->count);
}

void et_rule_cycle(const struct et_checking *checking, struct et_found *found) {
    const struct et_graph *graph = &checking->graph;
    if (graph->n_order == graph->n)
        return;
    struct arena_mark mark = arena_mark(checking->arena);
    bool *is_ordered = arena_zeros(checking->arena, graph->n, sizeof *is_ordered);
    if (is_ordered) {
        for (row_t i = 0; i < graph->n_order; i++)
            is_ordered[graph->order[i]] = true;
        tell_cycle(checking, is_ordered, found);
    }
    arena_release(checking->arena, mark);
    found->count = graph->n - graph->n_order;
}

void et_rule_kernels_unordered(const struct et_checking *checking, struct et_found *found) {
    const struct et_nodes *nodes = checking->nodes;
    const struct et_lists *down = &checking->graph.down;
    uint64_t n = 0;
    for (row_t row = 0; row < nodes->n; row++) {
        if (!et_is_gpu(nodes, row))
            continue;
        n++;
        if (down->first[row] != down->first[row + 1])
            return;
    }
    found->count = n > 1 ? n : 0;
}

void et_rule_puzzling_groups(const struct et_checking *checking, struct et_found *found) {
    for (row_t i = 0; i < checking->n_puzzling && i < FOUND_IDS; i++)
        found->ids[found->n_ids++] = checking->puzzling[i];
    found->count = checking->n_puzzling;
}
