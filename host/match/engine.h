/*
 * engine.h - what can do the steps of match/steps.h. Two engines do them, one on CPU threads and one in CUDA; the rule
 * for a single element is in rules.h, shared by both, so that their results are the same bits.
 */
#ifndef MATCH_ENGINE_H
#define MATCH_ENGINE_H

#include "base/pool.h"
#include "match/steps.h"
#include "sutra/error.h"

struct engine {
    const char *name;
    void *state;
    bool concurrent; /* event_parents and tensor_groups may run at once, as tasks of the pool */

    /* Until the next load (or NULL instead of a table) the columns of `ops` stay what they are, so an engine may keep
     * what it makes of them; a step on another table is fine, too. */
    void (*load)(void *state, const struct cpu_ops *ops);

#define STEP_FIELD(name, what, pieces)                                                                                 \
    enum sutra_status (*name)(void *state, struct name##_step *step, struct sutra_error *error);
    STEPS(STEP_FIELD)
#undef STEP_FIELD
};

/* The engine that runs on the pool's threads; it lives as long as the pool and needs no freeing. */
struct engine engine_cpu(struct pool *pool);

#endif
