/*
 * engine.cu - the table of the CUDA engine: each step of match/steps.h on the GPU, and what is done where the GPU
 * cannot do it. A table that is too large is cut into pieces; what even so does not fit, or fails, is done by the CPU
 * engine with a warning, or is an error where the caller wants the GPU and nothing else.
 */
#include <cstdio>
#include <cstring>

#include "cuda/engine.h"
#include "cuda/table.h"

extern "C" {
#include "base/error.h"
#include "match/steps.h"
}

const char *const cuda_phase_names[CUDA_PHASES] = PHASE_NAMES;

/* How a step is done: functions of its struct. */
struct step_ways {
    const char *what;
    enum gpu_outcome (*on_gpu)(struct gpu *gpu, void *step);
    enum gpu_outcome (*in_pieces)(struct gpu *gpu, void *step); /* NULL: it is not cut */
    enum sutra_status (*on_cpu)(void *pool, void *step, struct sutra_error *error);
};

/* Why the GPU has not done a step. */
static void explain(const struct gpu *gpu, const char *what, enum gpu_outcome outcome, char *text, size_t size) {
    uint64_t bytes = gpu->memory[GPU_TABLE].most + gpu->memory[GPU_SCRATCH].most;
    if (outcome == GPU_TOO_SMALL)
        snprintf(text, size, "%s: %.3f MB are needed on the GPU, which has %.3f MB for it", what, (double)bytes * 1e-6,
                 (double)gpu->limit * 1e-6);
    else
        snprintf(text, size, "%s: the GPU failed: %s", what, gpu->failure);
}

/* Whether the CPU may do what the GPU has not done; else the error. */
static enum sutra_status judge(struct cuda_engine *engine, const char *what, enum gpu_outcome outcome,
                               struct sutra_error *error) {
    char text[400];
    if (outcome == GPU_NO_MEMORY)
        return error_memory(error);
    if (outcome == GPU_LEFT)
        return SUTRA_OK;
    engine->broken |= outcome == GPU_FAILED;
    explain(&engine->gpu, what, outcome, text, sizeof text);
    table_drop(&engine->gpu);
    if (!engine->options.may_fall_back)
        return error_set(error, SUTRA_SYSTEM, "%s; --device auto or cpu computes on the CPU", text);
    snprintf(text + strlen(text), sizeof text - strlen(text), "; the CPU does it");
    engine->options.warn(engine->options.arg, text);
    if (engine->gpu.remarks.overwriting)
        return error_set(error, SUTRA_SYSTEM,
                         "the GPU failed while its results were copied: try again with --device cpu");
    return SUTRA_OK;
}

static enum gpu_outcome run_on_gpu(struct gpu *gpu, const struct step_ways *ways, void *step) {
    gpu->remarks = {};
    enum gpu_outcome outcome = ways->on_gpu(gpu, step);
    return outcome == GPU_TOO_SMALL && ways->in_pieces ? ways->in_pieces(gpu, step) : outcome;
}

/* Once CUDA has failed, all is the CPU's where it may be, without more warnings. */
static enum sutra_status run(struct cuda_engine *engine, const struct step_ways *ways, void *step,
                             struct sutra_error *error) {
    struct gpu *gpu = &engine->gpu;
    if (engine->broken && engine->options.may_fall_back)
        return ways->on_cpu(gpu->pool, step, error);
    enum gpu_outcome outcome = engine->broken ? GPU_FAILED : run_on_gpu(gpu, ways, step);
    if (gpu->remarks.note[0] && (outcome == GPU_DONE || outcome == GPU_LEFT))
        engine->options.note(engine->options.arg, gpu->remarks.note);
    if (outcome == GPU_DONE)
        return SUTRA_OK;
    enum sutra_status status = judge(engine, ways->what, outcome, error);
    return status ? status : ways->on_cpu(gpu->pool, step, error);
}

/* ---- The list ---- */

template <class Step, auto on_gpu> static enum gpu_outcome as_whole(struct gpu *gpu, void *step) {
    return gpu_run<on_gpu>(gpu, static_cast<Step *>(step));
}

template <class Step, auto in_pieces> static enum gpu_outcome as_pieces(struct gpu *gpu, void *step) {
    return in_pieces(gpu, static_cast<Step *>(step));
}

template <class Step, auto on_cpu> static enum sutra_status by_cpu(void *pool, void *step, struct sutra_error *error) {
    return on_cpu(pool, static_cast<Step *>(step), error);
}

#define WHOLE(name) NULL
#define CUT(name)   as_pieces<struct name##_step, pieces_##name>
#define RUN_STEP(name, what, pieces)                                                                                   \
    static enum sutra_status name(void *state, struct name##_step *step, struct sutra_error *error) {                  \
        static const struct step_ways ways = {what, as_whole<struct name##_step, gpu_##name>, pieces(name),            \
                                              by_cpu<struct name##_step, cpu_##name>};                                 \
        return run(static_cast<struct cuda_engine *>(state), &ways, step, error);                                      \
    }
STEPS(RUN_STEP)

static void load(void *state, const struct cpu_ops *ops) {
    struct gpu *gpu = &static_cast<struct cuda_engine *>(state)->gpu;
    gpu->loaded = ops;
    table_drop(gpu);
}

void engine_cuda_fill(struct cuda_engine *made, struct engine *engine) {
    *engine = {};
    engine->name = "cuda";
    engine->state = made;
    engine->load = load;
#define FILL_STEP(name, what, pieces) engine->name = name;
    STEPS(FILL_STEP)
}
