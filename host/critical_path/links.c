/*
 * links.c - joins rows of the CPU with rows of the GPU by correlation: each gets the last one of the other side.
 *
 * Two indexes over the keys of the two sides and a look-up for each row: O(n).
 */
#include <stdlib.h>

#include "base/error.h"
#include "critical_path/analysis.h"
#include "match/key_index.h"

/* One side: rows that have a correlation, and their keys. */
struct side {
    value_key *keys;
    row_t *rows;
    row_t n;
    struct key_index index;
};

static bool side_alloc(struct side *side, row_t n) {
    side->keys = malloc(((size_t)n + 1) * sizeof *side->keys);
    side->rows = malloc(((size_t)n + 1) * sizeof *side->rows);
    return side->keys && side->rows;
}

static void side_free(struct side *side) {
    free(side->keys);
    free(side->rows);
    key_index_free(&side->index);
}

static enum sutra_status gather(struct analysis *analysis, struct side *cpu, struct side *gpu) {
    for (row_t i = 0; i < analysis->n_full; i++) {
        row_t event = analysis->full[i];
        value_key key = analysis->events->correlation[event];
        analysis->link[event] = ROW_NONE;
        if (!key_is_integer(key) && !analysis->rules.extended)
            return stop_crash(analysis, "event %u: its correlation is no integer", event);
        if (key == -1 || key == KEY_NULL || key == KEY_UNHASHABLE)
            continue;
        struct side *side = analysis->state[event] & ROW_GPU ? gpu : cpu;
        side->keys[side->n] = key;
        side->rows[side->n++] = event;
        /* A correlation without a partner counts as row 0 in the reference, unless it is below 0. */
        if (key >= 0 && !analysis->rules.extended)
            analysis->link[event] = 0;
    }
    return SUTRA_OK;
}

static void join(struct analysis *analysis, const struct side *from, const struct side *to) {
    for (row_t i = 0; i < from->n; i++) {
        row_t found = key_index_find(&to->index, from->keys[i]);
        if (found != ROW_NONE)
            analysis->link[from->rows[i]] = to->rows[found];
    }
}

enum sutra_status links_find(struct analysis *analysis) {
    const struct engine *engine = &analysis->context->engine;
    struct side cpu = {0}, gpu = {0};
    enum sutra_status status = SUTRA_OK;
    analysis->link = malloc(((size_t)analysis->events->n + 1) * sizeof *analysis->link);
    if (!side_alloc(&cpu, analysis->n_full) || !side_alloc(&gpu, analysis->n_full) || !analysis->link)
        status = error_memory(analysis->error);
    if (!status)
        status = gather(analysis, &cpu, &gpu);
    if (!status && !analysis->outcome)
        status = key_index_build(&cpu.index, engine, cpu.keys, cpu.n, KEY_LAST, NULL, analysis->error);
    if (!status && !analysis->outcome)
        status = key_index_build(&gpu.index, engine, gpu.keys, gpu.n, KEY_LAST, NULL, analysis->error);
    if (!status && !analysis->outcome) {
        join(analysis, &cpu, &gpu);
        join(analysis, &gpu, &cpu);
    }
    side_free(&cpu);
    side_free(&gpu);
    return status;
}
