/*
 * frames.c - which frame an end closes, and which frame is around a beginning; in come the tokens of all threads, out
 * goes a token for each. The open frames of a thread are a stack; one pass.
 */
#include <stdlib.h>

#include "base/error.h"
#include "match/cpu_steps.h"

static void match_thread(const struct frame_tokens *tokens, row_t begin, row_t end, row_t *open, row_t *partner) {
    row_t n_open = 0;
    for (row_t i = begin; i < end; i++) {
        partner[i] = n_open ? open[n_open - 1] : ROW_NONE;
        if (tokens->begins[i])
            open[n_open++] = i;
        else if (n_open)
            n_open--;
    }
}

enum sutra_status cpu_match_frames(void *pool, struct match_frames_step *step, struct sutra_error *error) {
    (void)pool;
    const struct frame_tokens *tokens = step->tokens;
    row_t *open = malloc(((size_t)tokens->n + 1) * sizeof *open);
    if (!open)
        return error_memory(error);
    for (uint32_t t = 0; t < tokens->n_threads; t++)
        match_thread(tokens, tokens->thread_start[t], tokens->thread_start[t + 1], open, step->partner);
    free(open);
    return SUTRA_OK;
}
