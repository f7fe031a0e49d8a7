/*
 * autograd.c - autograd's numbers move up: an operator that hands a node to the engine takes the numbers of the
 * backward operator that it runs.
 */
#include <string.h>

#include "base/arena.h"
#include "columns/row.h"
#include "sutra/tree.h"

bool sutra_autograd_evaluates(const char *name, size_t length) {
    static const char prefix[] = "autograd::engine::evaluate_function: ";
    return length >= sizeof prefix - 1 && memcmp(name, prefix, sizeof prefix - 1) == 0;
}

enum sutra_status sutra_autograd_plumb(uint64_t n, uint32_t n_threads, const uint32_t *thread, const uint8_t *scope,
                                       const uint8_t *evaluates, int64_t *sequence, int64_t *forward_tid,
                                       struct sutra_error *error) {
    struct arena scratch = {0};
    uint64_t *last = arena_zeros(&scratch, n_threads, sizeof *last); /* the thread's operator before, plus one */
    enum sutra_status status = arena_status(&scratch, error);
    for (uint64_t i = 0; i < n && !status; i++) {
        uint64_t before = last[thread[i]];
        last[thread[i]] = i + 1;
        if (!before-- || scope[i] != SUTRA_SCOPE_BACKWARD || scope[before] != SUTRA_SCOPE_FUNCTION ||
            !evaluates[before])
            continue;
        sequence[before] = sequence[i];
        forward_tid[before] = forward_tid[i];
    }
    arena_free(&scratch);
    return status;
}
