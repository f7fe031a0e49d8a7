/*
 * links.c - joins rows of the CPU with rows of the GPU by correlation: each gets the last one of the other side.
 *
 * The engine joins the keys of the two sides, both ways.
 */
#include <stdlib.h>

#include "base/error.h"
#include "critical_path/path_search.h"

/* One side: rows that have a correlation, and their keys. */
struct side {
    value_key *keys;
    row_t *rows, *found;
    row_t n;
};

static bool side_alloc(struct side *side, row_t n) {
    side->keys = malloc(((size_t)n + 1) * sizeof *side->keys);
    side->rows = malloc(((size_t)n + 1) * sizeof *side->rows);
    side->found = malloc(((size_t)n + 1) * sizeof *side->found);
    return side->keys && side->rows && side->found;
}

static void side_free(struct side *side) {
    free(side->keys);
    free(side->rows);
    free(side->found);
}

static enum sutra_status gather(struct path_search *search, struct side *cpu, struct side *gpu) {
    for (row_t i = 0; i < search->n_full; i++) {
        row_t event = search->full[i];
        value_key key = search->events->correlation[event];
        search->link[event] = ROW_NONE;
        if (!key_is_integer(key) && !search->rules.extended)
            return stop_crash(search, "event %u: its correlation is no integer", event);
        if (key == -1 || key == KEY_NULL || key == KEY_UNHASHABLE)
            continue;
        struct side *side = search->state[event] & ROW_GPU ? gpu : cpu;
        side->keys[side->n] = key;
        side->rows[side->n++] = event;
        /* A correlation without a partner counts as row 0 in the reference, unless it is below 0. */
        if (key >= 0 && !search->rules.extended)
            search->link[event] = 0;
    }
    return SUTRA_OK;
}

static enum sutra_status join(struct path_search *search, const struct side *from, const struct side *to) {
    const struct engine *engine = &search->context->engine;
    struct join_step step = {to->keys, to->n, from->keys, from->n, from->found};
    enum sutra_status status = engine->join(engine->state, &step, search->error);
    for (row_t i = 0; i < from->n && !status; i++)
        if (from->found[i] != ROW_NONE)
            search->link[from->rows[i]] = to->rows[from->found[i]];
    return status;
}

enum sutra_status links_find(struct path_search *search) {
    struct side cpu = {0}, gpu = {0};
    enum sutra_status status = SUTRA_OK;
    search->link = malloc(((size_t)search->events->n + 1) * sizeof *search->link);
    if (!side_alloc(&cpu, search->n_full) || !side_alloc(&gpu, search->n_full) || !search->link)
        status = error_memory(search->error);
    if (!status)
        status = gather(search, &cpu, &gpu);
    if (!status && !search->outcome)
        status = join(search, &cpu, &gpu);
    if (!status && !search->outcome)
        status = join(search, &gpu, &cpu);
    side_free(&cpu);
    side_free(&gpu);
    return status;
}
