/*
 * order_pieces.cu - the order between threads where not all operators fit the GPU: the table is taken in parts of
 * neighbouring rows, and each carries on where the last one ended. In come the operators, out goes a row for each.
 */
#include "cuda/room.h"
#include "cuda/steps.h"
#include "cuda/thread_order.h"

#define LEAST_ROWS 256 /* parts are not made of fewer */

static void carry_begin(struct arena *arena, struct order_carry *carry, uint32_t n_threads) {
    carry->n_rows = 0;
    carry->begun.latest = carry->begun.under = start_choice_none();
    carry->ts = room_for_numbers(arena, n_threads);
    carry->dur = room_for_numbers(arena, n_threads);
    carry->before = room_for<row_t>(arena, n_threads);
    carry->seen = room_for<uint8_t>(arena, n_threads);
}

/* What the next part must know of rows [begin, end), whose answers are there. */
static void carry_on(struct order_carry *carry, const struct thread_order_step *step, row_t begin, row_t end) {
    for (row_t row = begin; row < end; row++) {
        uint32_t thread = step->ops->thread[row];
        number_put(carry->ts, thread, number_at(step->ops->ts, row));
        number_put(carry->dur, thread, number_at(step->ops->dur, row));
        carry->before[thread] = step->before[row];
        carry->seen[thread] = 1;
    }
    carry->n_rows = end;
}

/* The end of a part of about n rows: operators that begin together stay together. */
static row_t part_end(const struct cpu_ops *ops, row_t begin, row_t n) {
    row_t end = ops->n - begin > n ? begin + n : ops->n;
    while (end < ops->n && !number_below(number_at(ops->ts, end - 1), number_at(ops->ts, end)))
        end++;
    return end;
}

static enum gpu_outcome run_part(struct gpu *gpu, const struct thread_order_step *whole, struct order_carry *carry,
                                 row_t begin, row_t end) {
    struct cpu_ops ops = *whole->ops;
    ops.n = end - begin;
    ops.ts = {ops.ts.bits + begin, ops.ts.kind + begin};
    ops.dur = {ops.dur.bits + begin, ops.dur.kind + begin};
    ops.thread += begin;
    struct order_part part = {{&ops, whole->gap, whole->before + begin}, carry};
    return gpu_run<gpu_order_part>(gpu, &part);
}

enum gpu_outcome pieces_thread_order(struct gpu *gpu, struct thread_order_step *step) {
    const struct cpu_ops *ops = step->ops;
    struct arena arena = {};
    struct order_carry carry;
    carry_begin(&arena, &carry, ops->n_threads);
    enum gpu_outcome outcome = arena.failed ? GPU_NO_MEMORY : GPU_TOO_SMALL;
    row_t n = arena.failed ? 0 : ops->n, piece = n / 2;
    for (row_t begin = 0; begin < n && piece >= LEAST_ROWS;) {
        row_t end = part_end(ops, begin, piece);
        outcome = run_part(gpu, step, &carry, begin, end);
        if (outcome == GPU_TOO_SMALL) {
            piece /= 2;
            continue;
        }
        if (outcome != GPU_DONE)
            break;
        carry_on(&carry, step, begin, end);
        begin = end;
    }
    arena_free(&arena);
    return outcome;
}
