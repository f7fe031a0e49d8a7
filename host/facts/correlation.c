/*
 * correlation.c - the engine joins the correlations of the two sides, both ways.
 */
#include "facts/correlation.h"

/* Events of one side, and their correlations. */
struct side {
    row_t n;
    row_t *event, *found;
    value_key *keys;
};

static struct side side_take(struct arena *arena, row_t n) {
    return (struct side){.event = arena_take(arena, n, sizeof(row_t)),
                         .found = arena_take(arena, n, sizeof(row_t)),
                         .keys = arena_take(arena, n, sizeof(value_key))};
}

static void side_add(struct side *side, row_t event, value_key key) {
    side->event[side->n] = event;
    side->keys[side->n++] = key;
}

static enum sutra_status join(const struct engine *engine, const struct side *from, const struct side *to,
                              row_t *partner, struct sutra_error *error) {
    struct join_step step = {to->keys, to->n, from->keys, from->n, from->found};
    enum sutra_status status = engine->join(engine->state, &step, error);
    for (row_t i = 0; i < from->n && !status; i++)
        if (from->found[i] != ROW_NONE)
            partner[from->event[i]] = to->event[from->found[i]];
    return status;
}

enum sutra_status correlation_partners(const struct device_events *events, const row_t *rows, row_t n,
                                       const uint8_t *state, uint8_t gpu, const struct engine *engine,
                                       struct arena *scratch, row_t *partner, struct sutra_error *error) {
    struct arena_mark mark = arena_mark(scratch);
    struct side sides[2] = {side_take(scratch, n), side_take(scratch, n)}; /* the CPU's, the GPU's */
    enum sutra_status status = arena_status(scratch, error);
    for (row_t i = 0; i < n && !status; i++) {
        value_key key = events->correlation[rows[i]];
        if (is_correlation(key))
            side_add(&sides[(state[rows[i]] & gpu) != 0], rows[i], key);
    }
    if (!status)
        status = join(engine, &sides[0], &sides[1], partner, error);
    if (!status)
        status = join(engine, &sides[1], &sides[0], partner, error);
    arena_release(scratch, mark);
    return status;
}
