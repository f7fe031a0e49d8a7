/*
 * thread_pieces.h - divide a table of operators between threads: each piece has as many threads as fit into memory,
 * with their operators gathered into a table of its own, on which the step runs.
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

#define THREAD_OUT UINT32_MAX /* number of a thread outside of the piece */

struct thread_piece {
    struct cpu_ops ops;
    row_t *rows;          /* by row of the piece: row of the whole table */
    uint32_t *number;     /* by thread of the whole table: its number in the piece, or THREAD_OUT */
    bool unknown_threads; /* threads without operators belong to this piece too */
};

/* Gathers the operators of the n_threads threads that have a number. Returns false if out of memory. */
bool piece_gather(struct arena *arena, struct thread_piece *piece, const struct cpu_ops *ops, uint32_t n_threads);

/* A step that is divided between threads. */
struct thread_cut {
    struct gpu *gpu;
    const struct cpu_ops *ops; /* of the whole table */
    enum gpu_outcome (*run)(struct thread_cut *cut, const struct thread_piece *piece);
    void *step; /* the whole step, for run() */
    struct arena arena;
};

/* Runs the step in pieces: half of the threads first, then as many as fitted before. */
enum gpu_outcome cut_by_threads(struct thread_cut *cut);

/* Runs the step for threads without operators, which run() may know. */
enum gpu_outcome cut_unknown_threads(struct thread_cut *cut);

#endif
