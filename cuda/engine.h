/*
 * engine.h - inside of the CUDA engine: its state, and how steps on tables that are too large for the device are cut
 * into pieces.
 */
#ifndef CUDA_ENGINE_H
#define CUDA_ENGINE_H

#include "cuda/engine_cuda.h"
#include "cuda/steps.h"

#include <cstdlib>

struct cuda_engine {
    struct gpu gpu;
    struct gpu_table table;       /* of the last step that had one */
    const struct cpu_ops *loaded; /* whose columns stay what they are from step to step; NULL: nobody's */
    struct cuda_engine_options options;
    bool broken; /* CUDA failed: nothing more is asked of it */
};

/* Fills *engine with the steps on a GPU that is open; `made` is its state. */
void engine_cuda_fill(struct cuda_engine *made, struct engine *engine);

/* Do a step (the same structure as the step's own) by pieces that fit, after it did not fit as a whole. *outcome is
 * what gpu_run() would say. Sorts and the order between threads are cut anywhere, the others between threads, so
 * GPU_TOO_SMALL then means that the operators of one thread are too many. SUTRA_SYSTEM: the host's memory has run out.
 */
typedef enum sutra_status step_in_pieces(struct gpu *gpu, void *step, enum gpu_outcome *outcome,
                                         struct sutra_error *error);
step_in_pieces pieces_sort_numbers, pieces_sort_keys, pieces_exclusive, pieces_thread_order, pieces_parents;

/* Does the threads of step->left on the CPU. */
enum sutra_status pieces_left(struct pool *pool, const struct cpu_ops *ops, struct exclusive_step *step,
                              struct sutra_error *error);

/* Zeroed host memory for n elements, at least one; NULL: none left. */
template <class T> T *host_new(uint64_t n) {
    return static_cast<T *>(calloc(n + 1, sizeof(T)));
}

#endif
