/*
 * engine.cu - the table of the CUDA engine: each step of match/steps.h on the GPU, with fallbacks. A table that is too
 * large is divided into pieces. If the pieces do not fit either, or the GPU fails, the CPU engine does the step with a
 * warning; it is an error if the caller requires the GPU.
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

/* The functions of a step. */
struct step_functions {
    const char *what;
    enum gpu_outcome (*on_gpu)(struct gpu *gpu, void *step);
    enum gpu_outcome (*in_pieces)(struct gpu *gpu, void *step); /* NULL: not divisible */
    enum sutra_status (*on_cpu)(void *pool, void *step, struct sutra_error *error);
};

/* Whether the CPU may do a step that the GPU has not done; else the error. */
static enum sutra_status check_fallback(struct cuda_engine *engine, const char *what, enum gpu_outcome outcome,
                                        struct sutra_error *error) {
    const struct gpu *gpu = &engine->gpu;
    char text[400];
    TRY_ALLOC(outcome != GPU_NO_MEMORY, error);
    if (outcome == GPU_LEFT)
        return SUTRA_OK;
    engine->broken |= outcome == GPU_FAILED;
    uint64_t bytes = gpu->memory[GPU_TABLE].most + gpu->memory[GPU_SCRATCH].most;
    if (outcome == GPU_TOO_SMALL)
        snprintf(text, sizeof text, "%s: %.3f MB are needed on the GPU, which has %.3f MB for it", what,
                 (double)bytes * 1e-6, (double)gpu->limit * 1e-6);
    else
        snprintf(text, sizeof text, "%s: the GPU failed: %s", what, gpu->failure);
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

/* After a CUDA failure the CPU does all further steps without warnings, if it may. */
static enum sutra_status run(struct cuda_engine *engine, const struct step_functions *functions, void *step,
                             struct sutra_error *error) {
    struct gpu *gpu = &engine->gpu;
    if (engine->broken && engine->options.may_fall_back)
        return functions->on_cpu(gpu->pool, step, error);
    enum gpu_outcome outcome = GPU_FAILED;
    if (!engine->broken) {
        gpu->remarks = {};
        outcome = functions->on_gpu(gpu, step);
        if (outcome == GPU_TOO_SMALL && functions->in_pieces)
            outcome = functions->in_pieces(gpu, step);
    }
    if (gpu->remarks.note[0] && (outcome == GPU_DONE || outcome == GPU_LEFT))
        engine->options.note(engine->options.arg, gpu->remarks.note);
    if (outcome == GPU_DONE) {
        gpu->counts.n_steps++;
        return SUTRA_OK;
    }
    enum sutra_status status = check_fallback(engine, functions->what, outcome, error);
    return status ? status : functions->on_cpu(gpu->pool, step, error);
}

void cuda_engine_serve(struct engine *engine, struct pool *pool, const struct cuda_engine_options *options) {
    struct cuda_engine *made = static_cast<struct cuda_engine *>(engine->state);
    const struct cuda_engine_options opened = made->options;
    made->gpu.pool = pool;
    made->options = *options;
    made->options.device = opened.device;
    made->options.memory = opened.memory;
}

/* ---- Memory of other programs ---- */

#define BUFFER_ALIGNMENT 256

enum sutra_status cuda_buffers_copy(struct engine *engine, struct cuda_buffer *buffers, size_t n, void **memory,
                                    struct sutra_error *error) {
    struct gpu *gpu = &static_cast<struct cuda_engine *>(engine->state)->gpu;
    uint8_t *base = NULL;
    uint64_t bytes = 0;
    for (size_t i = 0; i < n; i++)
        bytes += (buffers[i].bytes + BUFFER_ALIGNMENT - 1) / BUFFER_ALIGNMENT * BUFFER_ALIGNMENT;
    gpu->failed = false;
    gpu->verdict = GPU_DONE;
    gpu->taking = GPU_SCRATCH;
    device_begin(gpu);
    if (!gpu->failed && !device_allocate(gpu, &base, bytes + BUFFER_ALIGNMENT) && !gpu->failed)
        return error_set(error, SUTRA_SYSTEM,
                         "copying columns: %.3f MB are needed on the GPU, which has less free memory",
                         (double)bytes * 1e-6);
    uint8_t *to = base;
    for (size_t i = 0; i < n && !gpu->failed; i++) {
        buffers[i].to = to;
        gpu_copy_up(gpu, to, buffers[i].from, buffers[i].bytes);
        to += (buffers[i].bytes + BUFFER_ALIGNMENT - 1) / BUFFER_ALIGNMENT * BUFFER_ALIGNMENT;
    }
    gpu_ready(gpu);
    device_wait(gpu);
    if (gpu->failed) {
        device_free(gpu, base);
        return error_set(error, SUTRA_SYSTEM, "copying columns: the GPU failed: %s", gpu->failure);
    }
    *memory = base;
    return SUTRA_OK;
}

void cuda_memory_free(void *memory) {
    device_free(NULL, static_cast<uint8_t *>(memory));
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
        static const struct step_functions functions = {what, as_whole<struct name##_step, gpu_##name>, pieces(name),  \
                                                        by_cpu<struct name##_step, cpu_##name>};                       \
        return run(static_cast<struct cuda_engine *>(state), &functions, step, error);                                 \
    }
STEPS(RUN_STEP)

static void load(void *state, const struct cpu_ops *ops) {
    struct gpu *gpu = &static_cast<struct cuda_engine *>(state)->gpu;
    gpu->loaded = ops;
    table_drop(gpu);
}

void cuda_engine_counts(const struct engine *engine, struct cuda_engine_counts *counts) {
    *counts = static_cast<const struct cuda_engine *>(engine->state)->gpu.counts;
}

void engine_cuda_fill(struct cuda_engine *made, struct engine *engine) {
    made->gpu.columns = made->options.columns;
    *engine = {};
    engine->name = "cuda";
    engine->state = made;
    engine->load = load;
#define FILL_STEP(name, what, pieces) engine->name = name;
    STEPS(FILL_STEP)
}
