/*
 * thread_pieces.cu - see thread_pieces.h. Pieces are halved until they fit, so there are O(log n) tries more, each with
 * a pass over all operators.
 */
#include "cuda/thread_pieces.h"

#include "cuda/gpu.h"

bool piece_gather(struct arena *arena, struct thread_piece *piece, const struct cpu_ops *ops, uint32_t n_threads) {
    row_t n = 0;
    for (row_t row = 0; row < ops->n; row++)
        n += piece->number[ops->thread[row]] != THREAD_OUT;
    struct number_column ts = room_for_numbers(arena, n), dur = room_for_numbers(arena, n);
    uint32_t *thread = room_for<uint32_t>(arena, n);
    value_key *external = room_for<value_key>(arena, n);
    uint8_t *coalesced = room_for<uint8_t>(arena, n);
    piece->rows = room_for<row_t>(arena, n);
    piece->ops = {n, n_threads, ts, dur, thread, external, coalesced};
    if (arena->failed)
        return false;
    n = 0;
    for (row_t row = 0; row < ops->n; row++) {
        if (piece->number[ops->thread[row]] == THREAD_OUT)
            continue;
        piece->rows[n] = row;
        number_put(ts, n, number_at(ops->ts, row));
        number_put(dur, n, number_at(ops->dur, row));
        thread[n] = piece->number[ops->thread[row]];
        external[n] = ops->external[row];
        coalesced[n++] = ops->coalesced[row];
    }
    return true;
}

static enum gpu_outcome run_threads(struct thread_cut *cut, uint32_t begin, uint32_t end, bool unknown_threads) {
    struct arena_mark mark = arena_mark(&cut->arena);
    struct thread_piece piece = {};
    piece.unknown_threads = unknown_threads;
    piece.number = room_for<uint32_t>(&cut->arena, cut->ops->n_threads);
    for (uint32_t t = 0; t < cut->ops->n_threads && piece.number; t++)
        piece.number[t] = t >= begin && t < end ? t - begin : THREAD_OUT;
    enum gpu_outcome outcome = GPU_NO_MEMORY;
    if (piece.number && piece_gather(&cut->arena, &piece, cut->ops, end - begin))
        outcome = cut->run(cut, &piece);
    arena_release(&cut->arena, mark);
    return outcome;
}

enum gpu_outcome cut_by_threads(struct thread_cut *cut) {
    enum gpu_outcome outcome = GPU_TOO_SMALL;
    uint32_t n = cut->ops->n_threads, width = n / 2;
    for (uint32_t begin = 0; begin < n && width;) {
        uint32_t end = n - begin > width ? begin + width : n;
        outcome = run_threads(cut, begin, end, false);
        if (outcome == GPU_TOO_SMALL)
            width = (end - begin) / 2;
        else if (outcome == GPU_DONE)
            begin = end;
        else
            break;
    }
    return outcome;
}

enum gpu_outcome cut_unknown_threads(struct thread_cut *cut) {
    return run_threads(cut, 0, 0, true);
}
