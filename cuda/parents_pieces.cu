/*
 * parents_pieces.cu - parents of GPU operators where not all threads fit the GPU together: each piece of the table is
 * asked what is asked of its threads. In come all operators, markers and questions, out goes a row of the whole for each
 * question.
 */
#include "cuda/room.h"
#include "cuda/steps.h"
#include "cuda/thread_pieces.h"

/* What is asked of a piece. */
struct piece_questions {
    struct op_markers markers;
    struct parent_queries queries;
    row_t *query;  /* by question here: of the whole */
    row_t *parent; /* answers */
};

static uint32_t number_in(const struct thread_piece *piece, const struct cpu_ops *ops, uint32_t thread) {
    if (thread < ops->n_threads)
        return piece->number[thread];
    return piece->unknown_threads ? thread : THREAD_OUT;
}

/* All markers, as if they stood between the piece's operators. */
static bool gather_markers(struct arena *arena, struct piece_questions *asked, const struct thread_piece *piece,
                           const struct parents_step *whole) {
    row_t row = 0, *before = room_for<row_t>(arena, whole->markers->n);
    asked->markers = *whole->markers;
    asked->markers.before = before;
    asked->markers.thread = number_in(piece, whole->ops, whole->markers->thread);
    for (row_t k = 0; k < whole->markers->n && before; k++) {
        while (row < piece->ops.n && piece->rows[row] < whole->markers->before[k])
            row++;
        before[k] = row;
    }
    return before != NULL;
}

static bool gather_queries(struct arena *arena, struct piece_questions *asked, const struct thread_piece *piece,
                           const struct parents_step *whole) {
    const struct parent_queries *queries = whole->queries;
    row_t n = 0;
    struct number_column launch_ts = room_for_numbers(arena, queries->n);
    uint32_t *thread = room_for<uint32_t>(arena, queries->n);
    value_key *external = room_for<value_key>(arena, queries->n);
    uint8_t *nccl = room_for<uint8_t>(arena, queries->n);
    asked->query = room_for<row_t>(arena, queries->n);
    asked->parent = room_for<row_t>(arena, queries->n);
    for (row_t i = 0; i < queries->n && !arena->failed; i++) {
        uint32_t number = number_in(piece, whole->ops, queries->thread[i]);
        if (number == THREAD_OUT)
            continue;
        asked->query[n] = i;
        number_put(launch_ts, n, number_at(queries->launch_ts, i));
        thread[n] = number;
        external[n] = queries->external[i];
        nccl[n++] = queries->nccl[i];
    }
    asked->queries = {n, launch_ts, thread, external, nccl};
    return !arena->failed;
}

static void put_answers(const struct piece_questions *asked, const struct thread_piece *piece,
                        const struct parents_step *whole) {
    for (row_t i = 0; i < asked->queries.n; i++) {
        row_t parent = asked->parent[i];
        if (parent != ROW_NONE)
            parent = parent < piece->ops.n ? piece->rows[parent] : whole->ops->n + (parent - piece->ops.n);
        whole->parent[asked->query[i]] = parent;
    }
}

static enum gpu_outcome run_piece(struct thread_cut *cut, const struct thread_piece *piece) {
    const struct parents_step *whole = static_cast<const struct parents_step *>(cut->step);
    struct piece_questions asked;
    if (!gather_markers(&cut->arena, &asked, piece, whole) || !gather_queries(&cut->arena, &asked, piece, whole))
        return GPU_NO_MEMORY;
    struct parents_step part = {&piece->ops, &asked.markers, &asked.queries, asked.parent};
    enum gpu_outcome outcome = gpu_run<gpu_parents>(cut->gpu, &part);
    if (outcome == GPU_DONE)
        put_answers(&asked, piece, whole);
    return outcome;
}

/* Markers may stand on a thread that has no operators. */
enum gpu_outcome pieces_parents(struct gpu *gpu, struct parents_step *step) {
    struct thread_cut cut = {gpu, step->ops, run_piece, step, {}};
    for (row_t i = 0; i < step->queries->n; i++)
        step->parent[i] = ROW_NONE;
    enum gpu_outcome outcome = cut_by_threads(&cut);
    if (outcome == GPU_DONE)
        outcome = cut_unknown_threads(&cut);
    arena_free(&cut.arena);
    return outcome;
}
