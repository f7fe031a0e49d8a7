/*
 * engine_cpu.c - the table of the CPU engine: the functions of cpu_steps.h on the pool that is the engine's state.
 */
#include "match/cpu_steps.h"
#include "match/engine.h"

/* The columns are where they are needed. */
static void load(void *state, const struct cpu_ops *ops) {
    (void)state;
    (void)ops;
}

struct engine engine_cpu(struct pool *pool) {
#define STEP_ENTRY(name, what, pieces) .name = cpu_##name,
    return (struct engine){.name = "cpu", .state = pool, .concurrent = true, .load = load, STEPS(STEP_ENTRY)};
#undef STEP_ENTRY
}
