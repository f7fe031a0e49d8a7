/*
 * exclusive_pieces.cu - exclusive durations of some of the threads: of those that fit the GPU together, piece by piece,
 * and, by the CPU, of those that the GPU leaves. In come pieces of the table, out go results at the rows of the whole.
 */
#include <cstdio>

#include "cuda/exclusive.h"
#include "cuda/room.h"
#include "cuda/steps.h"
#include "cuda/thread_pieces.h"

extern "C" {
#include "match/cpu_steps.h"
}

static void put_results(const struct thread_piece *piece, const struct exclusive_durations_step *from,
                        const struct exclusive_durations_step *to) {
    struct exclusive_anomalies *sum = to->anomalies;
    for (row_t i = 0; i < piece->ops.n; i++)
        number_put(to->exclusive, piece->rows[i], number_at(from->exclusive, i));
    row_t first = from->anomalies->first_replaced;
    if (first != ROW_NONE && piece->rows[first] < sum->first_replaced)
        sum->first_replaced = piece->rows[first];
    sum->n_rounded += from->anomalies->n_rounded;
    sum->n_replaced += from->anomalies->n_replaced;
    sum->n_looks += from->anomalies->n_looks;
}

/* ---- By the CPU ---- */

static void note_left(struct gpu *gpu, uint32_t n_threads) {
    snprintf(gpu->remarks.note, sizeof gpu->remarks.note,
             "exclusive durations on %u of %u threads by the CPU: their operators overlap too far", gpu->remarks.n_left,
             n_threads);
}

static bool do_threads(struct arena *arena, struct pool *pool, struct exclusive_durations_step *step,
                       struct thread_piece *piece, uint32_t n_threads) {
    if (!piece_gather(arena, piece, step->ops, n_threads))
        return false;
    struct exclusive_anomalies anomalies;
    struct exclusive_durations_step part = {&piece->ops, room_for_numbers(arena, piece->ops.n), &anomalies};
    if (arena->failed || cpu_exclusive_durations(pool, &part, NULL))
        return false;
    put_results(piece, &part, step);
    return true;
}

void exclusive_do_left(struct gpu *gpu, struct exclusive_durations_step *step, const uint8_t *left) {
    struct arena arena = {};
    struct thread_piece piece = {};
    uint32_t n_left = 0;
    piece.number = room_for<uint32_t>(&arena, step->ops->n_threads);
    for (uint32_t t = 0; t < step->ops->n_threads && piece.number; t++)
        piece.number[t] = left[t] ? n_left++ : THREAD_OUT;
    if (!piece.number || (n_left && !do_threads(&arena, gpu->pool, step, &piece, n_left)))
        gpu_end(gpu, GPU_NO_MEMORY);
    gpu->remarks.n_left += n_left;
    if (n_left)
        note_left(gpu, step->ops->n_threads);
    arena_free(&arena);
}

/* ---- In pieces ---- */

static enum gpu_outcome run_piece(struct thread_cut *cut, const struct thread_piece *piece) {
    struct exclusive_anomalies anomalies;
    struct exclusive_durations_step part = {&piece->ops, room_for_numbers(&cut->arena, piece->ops.n), &anomalies};
    if (cut->arena.failed)
        return GPU_NO_MEMORY;
    enum gpu_outcome outcome = gpu_run<gpu_exclusive_durations>(cut->gpu, &part);
    if (outcome == GPU_DONE)
        put_results(piece, &part, static_cast<const struct exclusive_durations_step *>(cut->step));
    return outcome;
}

enum gpu_outcome pieces_exclusive_durations(struct gpu *gpu, struct exclusive_durations_step *step) {
    struct thread_cut cut = {gpu, step->ops, run_piece, step, {}};
    *step->anomalies = {0, 0, ROW_NONE, 0};
    enum gpu_outcome outcome = cut_by_threads(&cut);
    if (gpu->remarks.n_left)
        note_left(gpu, step->ops->n_threads);
    arena_free(&cut.arena);
    return outcome;
}
