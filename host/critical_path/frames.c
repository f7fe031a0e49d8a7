/*
 * frames.c - nesting: which frame ends where. In come the rows of all threads, sorted; out go the beginnings and ends
 * of operators, in order.
 *
 * As in the reference an end closes whatever frame is the innermost. So only the number of ends before each beginning
 * counts, and ends are tokens without an owner until the engine has matched them:
 *
 *     rows     [ a        [ b ]     ]          c begins and ends at once: its end comes before its beginning
 *                             [ c ]
 *     tokens   (  (  )  )  ...
 *
 * At each moment come first the ends up to then, then one end for each row of no length, then the beginnings. Behind
 * the last one all that is open ends. Matching is done twice: all frames, then those that are operators. Cost: a sort
 * of the ends, and what the engine takes.
 */
#include "critical_path/frames.h"

#include <math.h>

#include "base/error.h"

/* Tokens before they are matched. */
struct tokens {
    struct frame_tokens table;
    row_t *thread_start;
    uint8_t *begins;
    row_t *event; /* of beginnings; of ends, once they are matched */
    row_t *partner;
};

static struct tokens tokens_take(struct arena *arena, uint64_t n, uint32_t n_threads) {
    struct tokens tokens = {.thread_start = arena_zeros(arena, (size_t)n_threads + 1, sizeof *tokens.thread_start),
                            .begins = arena_take(arena, n, 1),
                            .event = arena_take(arena, n, sizeof *tokens.event),
                            .partner = arena_take(arena, n, sizeof *tokens.partner)};
    tokens.table = (struct frame_tokens){0, n_threads, tokens.thread_start, tokens.begins};
    return tokens;
}

static void put_token(struct tokens *tokens, row_t event, bool begins) {
    tokens->begins[tokens->table.n] = begins;
    tokens->event[tokens->table.n++] = event;
}

static void put_ends(struct tokens *tokens, row_t n) {
    while (n-- > 0)
        put_token(tokens, ROW_NONE, false);
}

/* Microseconds that a frame is open: the reference cuts off fractions. */
static int64_t frame_length(const struct path_rows *rows, row_t event) {
    return (int64_t)fmin(fmax(rows->dur[event], 0), (double)NUMBER_INTEGER_LIMIT);
}

/* ---- Ends ---- */

/* The times at which frames of some length end, by thread and time. */
struct ends {
    uint64_t *time;
    row_t *begin; /* which of the rows ends there */
    row_t n;
};

static enum sutra_status sort_ends(struct path_work *work, const struct path_rows *rows, const row_t *row,
                                   const uint32_t *thread, row_t n, struct ends *ends) {
    uint64_t *keys = arena_take(&work->scratch, n, sizeof *keys);
    ends->time = arena_take(&work->scratch, n, sizeof *ends->time);
    ends->begin = arena_take(&work->scratch, n, sizeof *ends->begin);
    enum sutra_status status = work_taken(work);
    for (row_t i = 0; i < n && !status; i++)
        if (frame_length(rows, row[i]) > 0) {
            keys[ends->n] = (uint64_t)(rows->ts[row[i]] + frame_length(rows, row[i]));
            ends->begin[ends->n++] = i;
        }
    if (!status)
        status = work_sort(work, keys, ends->begin, ends->n);
    for (row_t i = 0; i < ends->n && !status; i++)
        keys[i] = thread[ends->begin[i]];
    if (!status)
        status = work_sort(work, keys, ends->begin, ends->n);
    for (row_t i = 0; i < ends->n && !status; i++)
        ends->time[i] = (uint64_t)(rows->ts[row[ends->begin[i]]] + frame_length(rows, row[ends->begin[i]]));
    return status;
}

/* ---- Tokens ---- */

/* Rows and ends of all threads, and how far they have been gone through. */
struct merge {
    const struct path_rows *rows;
    const row_t *row;
    const uint32_t *thread;
    row_t n;
    const struct ends *ends;
    row_t next_row, next_end;
};

/* The ends up to a moment on a thread; `all`: whatever the moment. */
static row_t count_ends(struct merge *merge, uint32_t thread, uint64_t moment, bool all) {
    const struct ends *ends = merge->ends;
    row_t first = merge->next_end;
    while (merge->next_end < ends->n && merge->thread[ends->begin[merge->next_end]] == thread &&
           (all || ends->time[merge->next_end] <= moment))
        merge->next_end++;
    return merge->next_end - first;
}

/* The tokens of the rows that begin together; returns how many of them have no length. */
static row_t put_moment(struct merge *merge, struct tokens *tokens) {
    const struct path_rows *rows = merge->rows;
    row_t begin = merge->next_row, end = begin, n_empty = 0;
    uint32_t thread = merge->thread[begin];
    int64_t now = rows->ts[merge->row[begin]];
    for (; end < merge->n && merge->thread[end] == thread && rows->ts[merge->row[end]] == now; end++)
        n_empty += frame_length(rows, merge->row[end]) == 0;
    put_ends(tokens, count_ends(merge, thread, (uint64_t)now, false));
    put_ends(tokens, n_empty);
    for (row_t i = begin; i < end; i++)
        put_token(tokens, merge->row[i], true);
    merge->next_row = end;
    return n_empty;
}

/* An end that closed nothing leaves a frame open: such are no more than the rows of no length. */
static void put_thread(struct merge *merge, struct tokens *tokens) {
    uint32_t thread = merge->thread[merge->next_row];
    row_t n_empty = 0;
    while (merge->next_row < merge->n && merge->thread[merge->next_row] == thread)
        n_empty += put_moment(merge, tokens);
    put_ends(tokens, count_ends(merge, thread, 0, true));
    put_ends(tokens, n_empty);
}

static uint32_t count_threads(const uint32_t *thread, row_t n) {
    uint32_t n_threads = 0;
    for (row_t i = 0; i < n; i++)
        n_threads += i == 0 || thread[i] != thread[i - 1];
    return n_threads;
}

static enum sutra_status put_tokens(struct path_work *work, const struct path_rows *rows, const row_t *row,
                                    const uint32_t *thread, row_t n, struct tokens *tokens) {
    struct ends ends = {0};
    struct merge merge = {rows, row, thread, n, &ends, 0, 0};
    if (n > ROW_LIMIT / 3)
        return error_set(work->error, SUTRA_DATA, "more than %u events on threads: cut the trace", ROW_LIMIT / 3);
    *tokens = tokens_take(&work->scratch, 3 * (uint64_t)n, count_threads(thread, n));
    enum sutra_status status = sort_ends(work, rows, row, thread, n, &ends);
    for (uint32_t t = 0; t < tokens->table.n_threads && !status; t++) {
        put_thread(&merge, tokens);
        tokens->thread_start[t + 1] = tokens->table.n;
    }
    return status;
}

/* ---- Operators ---- */

/* Gives each end the event that it closes. */
static void name_ends(struct tokens *tokens) {
    for (row_t i = 0; i < tokens->table.n; i++)
        if (!tokens->begins[i])
            tokens->event[i] = tokens->partner[i] == ROW_NONE ? ROW_NONE : tokens->event[tokens->partner[i]];
}

static void keep_operators(const struct path_work *work, const struct path_rows *rows, struct tokens *tokens) {
    row_t n = 0, i = 0;
    for (uint32_t t = 0; t < tokens->table.n_threads; t++) {
        for (; i < tokens->thread_start[t + 1]; i++) {
            if (tokens->event[i] == ROW_NONE || !is_operator(work, rows, tokens->event[i]))
                continue;
            tokens->begins[n] = tokens->begins[i];
            tokens->event[n++] = tokens->event[i];
        }
        tokens->thread_start[t + 1] = n;
    }
    tokens->table.n = n;
}

/* Turns partners into the operators around: of a beginning the one that it is matched with, of an end that of its
 * beginning, which is done by then. */
static void put_above(struct tokens *tokens) {
    for (row_t i = 0; i < tokens->table.n; i++) {
        row_t partner = tokens->partner[i];
        if (!tokens->begins[i])
            tokens->partner[i] = tokens->partner[partner];
        else if (partner != ROW_NONE)
            tokens->partner[i] = tokens->event[partner];
    }
}

enum sutra_status frames_find(struct path_work *work, const struct path_rows *rows, const row_t *row,
                              const uint32_t *thread, row_t n, struct frames *frames) {
    const struct engine *engine = work->engine;
    struct tokens tokens = {0};
    enum sutra_status status = put_tokens(work, rows, row, thread, n, &tokens);
    struct match_frames_step step = {&tokens.table, tokens.partner};
    if (!status)
        status = engine->match_frames(engine->state, &step, work->error);
    if (!status) {
        name_ends(&tokens);
        keep_operators(work, rows, &tokens);
        status = engine->match_frames(engine->state, &step, work->error);
    }
    if (!status)
        put_above(&tokens);
    *frames = (struct frames){tokens.table.n, tokens.table.n_threads, tokens.thread_start,
                              tokens.begins,  tokens.event,           tokens.partner};
    return status;
}
