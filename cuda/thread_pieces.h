/*
 * thread_pieces.h - a table of operators cut between its threads: threads are taken together as far as they fit, their
 * operators gathered to a table of their own, and the step is done on that.
 *
 *     whole   row      0   1   2   3   4   5           piece of threads 1 and 2   row    0   1   2   3
 *             thread   0   1   0   2   1   0                                      rows   1   3   4
 *                                                                                 thread 0   1   0
 */
#ifndef CUDA_THREAD_PIECES_H
#define CUDA_THREAD_PIECES_H

#include "cuda/gpu.h"

extern "C" {
#include "base/arena.h"
}

#define THREAD_OUT UINT32_MAX /* the number of a thread that is not in a piece */

struct thread_piece {
    struct cpu_ops ops;
    row_t *rows;          /* by row here: the row of the whole */
    uint32_t *number;     /* by thread of the whole: its number here, or THREAD_OUT */
    bool unknown_threads; /* threads that have no operators belong here, too */
};

/* Gathers the operators of the threads that have a number; those are n_threads. false: out of memory. */
bool piece_gather(struct arena *arena, struct thread_piece *piece, const struct cpu_ops *ops, uint32_t n_threads);

/* A step that is cut between threads. */
struct thread_cut {
    struct gpu *gpu;
    const struct cpu_ops *ops; /* of the whole */
    enum gpu_outcome (*run)(struct thread_cut *cut, const struct thread_piece *piece);
    void *step; /* the whole, for run() */
    struct arena arena;
};

/* Half of the threads at first, then as many as have fitted. */
enum gpu_outcome cut_by_threads(struct thread_cut *cut);

/* The threads that have no operators, which run() may know of. */
enum gpu_outcome cut_unknown_threads(struct thread_cut *cut);

#endif
