/*
 * hta_sequences.c - which kernels calls of an operator launch, in the order in which they run, and how often the same.
 *
 *     thread    [ aten::linear                ]  [ aten::linear                ]
 *                  [ aten::addmm   launch ]         [ aten::addmm   launch ]
 *     kernels                [gemm][add]                      [gemm][add]        aten::linear|gemm|add: twice
 *
 * Rows of a thread nest by their times. An operator's calls are the outermost rows whose name has the text that is
 * looked for; all kernels of launches within are theirs. Those with too few kernels are left out. O(n log n).
 *
 * In the reference's way the calls are only those of the least depth of all threads, where the backward thread hangs
 * below the forward thread's annotation of backward, or its step, and there are none where a row has such a name that
 * is in no thread. It stops at durations below 0, which all traces with nanoseconds have; here they are 0.
 */
#include <stdlib.h>
#include <string.h>

#include "analyze/hta/hta.h"
#include "analyze/hta/hta_patterns.h"
#include "base/error.h"
#include "columns/tuples.h"

/* Sums of a pattern. */
enum { KERNELS, CALLS };

#define DEPTH_NONE (-1)

struct sequences {
    const struct hta_input *input;
    uint8_t *wanted; /* of each string: it has the text */

    row_t n; /* rows of threads, by thread, start, and falling duration */
    row_t *event;
    struct tuples threads;
    row_t *first;     /* of each thread, and the end */
    uint32_t forward; /* threads that the reference joins, or TUPLE_NONE */
    uint32_t backward;

    row_t *stack;
    int64_t *ends;  /* of the rows of each thread, rising, where the reference is followed */
    int32_t *depth; /* of each event in a thread, where the reference is followed; else of none */
    row_t *root;    /* of each event: the call that it is in, or ROW_NONE */
};

static bool compat(const struct sequences *sequences) {
    return sequences->input->options.compat;
}

static int64_t end_of(const struct sequences *sequences, row_t event) {
    int64_t dur = sequences->input->rows.dur[event];
    return sequences->input->rows.start[event] + (dur > 0 ? dur : 0);
}

static const char *name_of(const struct sequences *sequences, row_t event) {
    const struct hta_rows *rows = &sequences->input->rows;
    return strings_text(rows->strings, rows->events->name[event]);
}

static bool is_wanted(const struct sequences *sequences, row_t event) {
    return sequences->wanted[sequences->input->rows.events->name[event]];
}

/* ---- Rows of threads, in order ---- */

/* The reference takes no thread with the number 0, which is a GPU's. */
static bool is_in_thread(const struct sequences *sequences, row_t event) {
    const struct hta_rows *rows = &sequences->input->rows;
    if (rows->state[event] & HTA_STREAM)
        return false;
    return !compat(sequences) || (rows->events->pid[event] != 0 && rows->events->tid[event] != 0);
}

static enum sutra_status sort_by(const struct sequences *sequences, uint64_t *keys, row_t *order,
                                 struct sutra_error *error) {
    const struct engine *engine = sequences->input->engine;
    return engine->sort_keys(engine->state, &(struct sort_keys_step){keys, order, sequences->n}, error);
}

static enum sutra_status sort_rows(struct sequences *sequences, struct arena *arena, struct sutra_error *error) {
    const struct hta_rows *rows = &sequences->input->rows;
    uint64_t *keys = arena_take(arena, sequences->n, sizeof *keys);
    enum sutra_status status = arena_status(arena, error);
    for (row_t i = 0; i < sequences->n && !status; i++)
        keys[i] = integer_sort_key(-(end_of(sequences, sequences->event[i]) - rows->start[sequences->event[i]]));
    if (!status)
        status = sort_by(sequences, keys, sequences->event, error);
    for (row_t i = 0; i < sequences->n && !status; i++)
        keys[i] = integer_sort_key(rows->start[sequences->event[i]]);
    if (!status)
        status = sort_by(sequences, keys, sequences->event, error);
    for (row_t i = 0; i < sequences->n && !status; i++) {
        row_t event = sequences->event[i];
        keys[i] =
            tuples_number(&sequences->threads, (struct tuple){{rows->events->pid[event], rows->events->tid[event]}});
        if (keys[i] == TUPLE_NONE)
            status = error_memory(error);
    }
    if (!status)
        status = sort_by(sequences, keys, sequences->event, error);
    sequences->first = arena_zeros(arena, (size_t)sequences->threads.n + 1, sizeof *sequences->first);
    if (status || !sequences->first)
        return status ? status : error_memory(error);
    for (row_t i = 0; i < sequences->n; i++)
        sequences->first[keys[i] + 1]++;
    for (uint32_t t = 0; t < sequences->threads.n; t++)
        sequences->first[t + 1] += sequences->first[t];
    return SUTRA_OK;
}

static int compare_ends(const void *left, const void *right) {
    int64_t a = *(const int64_t *)left, b = *(const int64_t *)right;
    return (a > b) - (a < b);
}

static enum sutra_status sort_ends(struct sequences *sequences, struct arena *arena, struct sutra_error *error) {
    sequences->ends = arena_take(arena, sequences->n, sizeof *sequences->ends);
    if (!sequences->ends)
        return error_memory(error);
    for (row_t i = 0; i < sequences->n; i++)
        sequences->ends[i] = end_of(sequences, sequences->event[i]);
    for (uint32_t t = 0; t < sequences->threads.n; t++)
        qsort(sequences->ends + sequences->first[t], sequences->first[t + 1] - sequences->first[t],
              sizeof *sequences->ends, compare_ends);
    return SUTRA_OK;
}

/* ---- Forward and backward ---- */

static bool thread_has(const struct sequences *sequences, uint32_t thread, const uint8_t *names) {
    for (row_t i = sequences->first[thread]; i < sequences->first[thread + 1]; i++)
        if (names[sequences->input->rows.events->name[sequences->event[i]]])
            return true;
    return false;
}

/* A thread with steps is one of forward, any other with names of autograd one of backward. Only where there is one of
 * each does the reference join them. */
static void find_only_threads(struct sequences *sequences, const uint8_t *steps, const uint8_t *autograd) {
    uint32_t n_forward = 0, n_backward = 0;
    for (uint32_t thread = 0; thread < sequences->threads.n; thread++) {
        if (thread_has(sequences, thread, steps)) {
            sequences->forward = thread;
            n_forward++;
        } else if (thread_has(sequences, thread, autograd)) {
            sequences->backward = thread;
            n_backward++;
        }
    }
    if (n_forward != 1 || n_backward != 1)
        sequences->forward = sequences->backward = TUPLE_NONE;
}

static enum sutra_status find_sides(struct sequences *sequences, struct arena *arena, struct sutra_error *error) {
    const struct strings *strings = sequences->input->rows.strings;
    uint8_t *steps = arena_take(arena, strings->n, 1), *autograd = arena_take(arena, strings->n, 1);
    if (arena->failed)
        return error_memory(error);
    for (uint32_t string = 0; string < strings->n; string++) {
        steps[string] = text_compare(strings, string, TEXT_BEGINS, STEP_NAME "#");
        autograd[string] = text_compare(strings, string, TEXT_HAS, "autograd::");
    }
    find_only_threads(sequences, steps, autograd);
    return SUTRA_OK;
}

/* Rows of the forward thread that rows of the backward thread hang below: those of backward, or steps. */
struct backward_anchors {
    row_t n, *event;
};

static void find_anchors(const struct sequences *sequences, const char *begin, struct backward_anchors *anchors) {
    for (row_t i = sequences->first[sequences->forward]; i < sequences->first[sequences->forward + 1]; i++)
        if (strncmp(name_of(sequences, sequences->event[i]), begin, strlen(begin)) == 0)
            anchors->event[anchors->n++] = sequences->event[i];
}

/* The last anchor that begins no later than a row, if the row lies in it; else ROW_NONE. */
static row_t anchor_of(const struct sequences *sequences, const struct backward_anchors *anchors, row_t event) {
    const int64_t *start = sequences->input->rows.start;
    row_t low = 0, high = anchors->n;
    while (low < high) {
        row_t middle = low + (high - low) / 2;
        if (start[anchors->event[middle]] <= start[event])
            low = middle + 1;
        else
            high = middle;
    }
    bool in = low > 0 && end_of(sequences, event) <= end_of(sequences, anchors->event[low - 1]);
    return in ? anchors->event[low - 1] : ROW_NONE;
}

/* ---- Nesting ---- */

/* Whether what ends at a moment is over when a row begins: what takes no time lies in what it touches. */
static bool is_over(const struct sequences *sequences, int64_t end, row_t event) {
    int64_t start = sequences->input->rows.start[event];
    return end < start || (end == start && end_of(sequences, event) > start);
}

/* How many rows of the stack remain when a row begins. In the reference's way each row that ends takes away the last of
 * the stack, whichever that is; `ended` counts those that have. */
static row_t unwind(const struct sequences *sequences, row_t n, row_t event, row_t *ended) {
    if (compat(sequences)) {
        for (; n > 0 && is_over(sequences, sequences->ends[*ended], event); n--)
            ++*ended;
        return n;
    }
    while (n > 0 && is_over(sequences, end_of(sequences, sequences->stack[n - 1]), event))
        n--;
    return n;
}

/* Visits the rows of a thread with the row around each, or ROW_NONE. */
static void visit_thread(struct sequences *sequences, uint32_t thread, const struct backward_anchors *anchors,
                         void (*visit)(struct sequences *sequences, row_t event, row_t above, void *arg), void *arg) {
    row_t *stack = sequences->stack, n = 0, ended = sequences->first[thread];
    for (row_t i = sequences->first[thread]; i < sequences->first[thread + 1]; i++) {
        row_t event = sequences->event[i];
        n = unwind(sequences, n, event, &ended);
        row_t above = n > 0 ? stack[n - 1] : ROW_NONE;
        if (n == 0 && anchors)
            above = anchor_of(sequences, anchors, event);
        visit(sequences, event, above, arg);
        stack[n++] = event;
    }
}

/* All threads, the backward thread last. */
static void visit_all(struct sequences *sequences, const struct backward_anchors *anchors,
                      void (*visit)(struct sequences *sequences, row_t event, row_t above, void *arg), void *arg) {
    for (uint32_t thread = 0; thread < sequences->threads.n; thread++)
        if (thread != sequences->backward)
            visit_thread(sequences, thread, NULL, visit, arg);
    if (sequences->backward != TUPLE_NONE)
        visit_thread(sequences, sequences->backward, anchors, visit, arg);
}

static void visit_depth(struct sequences *sequences, row_t event, row_t above, void *arg) {
    int32_t *least = arg;
    int32_t depth = above == ROW_NONE ? 0 : sequences->depth[above] + 1;
    sequences->depth[event] = depth;
    if (is_wanted(sequences, event) && depth < *least)
        *least = depth;
}

/* The calls: rows of the least depth, or those without a call around them. */
static void visit_root(struct sequences *sequences, row_t event, row_t above, void *arg) {
    const int32_t *least = arg;
    row_t root = above == ROW_NONE ? ROW_NONE : sequences->root[above];
    bool begins = is_wanted(sequences, event) && root == ROW_NONE && (!least || sequences->depth[event] == *least);
    sequences->root[event] = begins ? event : root;
}

/* The depth of a kernel is that of its launch and one more; what is in no thread has none. */
static void lower_by_others(const struct sequences *sequences, int32_t *least) {
    const struct hta_rows *rows = &sequences->input->rows;
    for (row_t i = 0; i < rows->n; i++) {
        row_t event = rows->list[i], link = rows->link[event];
        if (is_in_thread(sequences, event) || !is_wanted(sequences, event))
            continue;
        bool launched = rows->stream[event] > 0 && link != ROW_NONE && link != 0;
        int32_t depth = launched && sequences->depth[link] != DEPTH_NONE ? sequences->depth[link] + 1 : DEPTH_NONE;
        *least = depth < *least ? depth : *least;
    }
}

static enum sutra_status find_roots(struct sequences *sequences, struct arena *arena, struct sutra_error *error) {
    const struct hta_rows *rows = &sequences->input->rows;
    size_t n = rows->events->n;
    struct backward_anchors anchors = {0, arena_take(arena, sequences->n, sizeof *anchors.event)};
    int32_t least = INT32_MAX;
    sequences->stack = arena_take(arena, sequences->n, sizeof *sequences->stack);
    sequences->root = arena_take(arena, n, sizeof *sequences->root);
    sequences->depth = arena_take(arena, compat(sequences) ? n : 0, sizeof *sequences->depth);
    if (arena->failed)
        return error_memory(error);
    memset(sequences->root, 0xff, n * sizeof *sequences->root);
    if (!compat(sequences)) {
        visit_all(sequences, NULL, visit_root, NULL);
        return SUTRA_OK;
    }
    memset(sequences->depth, 0xff, n * sizeof *sequences->depth);
    if (sequences->forward != TUPLE_NONE)
        find_anchors(sequences, "## backward ##", &anchors);
    if (sequences->forward != TUPLE_NONE && anchors.n == 0)
        find_anchors(sequences, STEP_NAME "#", &anchors);
    visit_all(sequences, &anchors, visit_depth, &least);
    lower_by_others(sequences, &least);
    if (least >= 0)
        visit_all(sequences, &anchors, visit_root, &least);
    return SUTRA_OK;
}

/* ---- Kernels of calls ---- */

/* Kernels with their calls, by call and start. */
struct call_kernels {
    row_t n;
    row_t *kernel;
};

static row_t root_of_kernel(const struct sequences *sequences, row_t event) {
    const struct hta_rows *rows = &sequences->input->rows;
    row_t link = rows->link[event];
    bool on_stream = rows->stream[event] >= (compat(sequences) ? 1 : 0);
    return on_stream && link != ROW_NONE && link != 0 ? sequences->root[link] : ROW_NONE;
}

static enum sutra_status gather_kernels(const struct sequences *sequences, struct call_kernels *kernels,
                                        struct arena *arena, struct sutra_error *error) {
    const struct hta_kernels *all = &sequences->input->kernels;
    const struct engine *engine = sequences->input->engine;
    uint64_t *keys = arena_take(arena, all->n, sizeof *keys);
    kernels->kernel = arena_take(arena, all->n, sizeof *kernels->kernel);
    if (arena->failed)
        return error_memory(error);
    for (row_t i = 0; i < all->n; i++) { /* by start; those of one start as in the file */
        row_t root = root_of_kernel(sequences, all->event[i]);
        if (root == ROW_NONE)
            continue;
        keys[kernels->n] = root;
        kernels->kernel[kernels->n++] = all->event[i];
    }
    return engine->sort_keys(engine->state, &(struct sort_keys_step){keys, kernels->kernel, kernels->n}, error);
}

/* Takes the call of kernels[first..end). */
static bool take_call(const struct sequences *sequences, struct patterns *patterns, const row_t *kernel, row_t n,
                      uint32_t *names, struct arena *arena) {
    const struct hta_rows *rows = &sequences->input->rows;
    row_t root = root_of_kernel(sequences, kernel[0]);
    int64_t ns = 0;
    names[0] = rows->events->name[root];
    for (row_t i = 0; i < n; i++) {
        names[1 + i] = rows->events->name[kernel[i]];
        ns += end_of(sequences, kernel[i]) - rows->start[kernel[i]];
    }
    struct pattern *pattern = patterns_take(patterns, names, 1 + (size_t)n, arena);
    if (!pattern)
        return false;
    pattern->ns[KERNELS] += ns;
    pattern->ns[CALLS] += end_of(sequences, root) - rows->start[root];
    return true;
}

static enum sutra_status take_calls(const struct sequences *sequences, struct patterns *patterns, struct arena *arena,
                                    struct sutra_error *error) {
    struct call_kernels kernels = {0};
    enum sutra_status status = gather_kernels(sequences, &kernels, arena, error);
    uint32_t *names = arena_take(arena, (size_t)kernels.n + 1, sizeof *names);
    bool ok = names != NULL;
    for (row_t first = 0, end; first < kernels.n && ok && !status; first = end) {
        row_t root = root_of_kernel(sequences, kernels.kernel[first]);
        for (end = first + 1; end < kernels.n && root_of_kernel(sequences, kernels.kernel[end]) == root;)
            end++;
        if (end - first >= sequences->input->options.sequence_kernels)
            ok = take_call(sequences, patterns, kernels.kernel + first, end - first, names, arena);
    }
    return status || ok ? status : error_memory(error);
}

static enum sutra_status add_rows(const struct sequences *sequences, struct patterns *patterns, struct arena *arena,
                                  struct sutra_hta *hta, struct sutra_error *error) {
    if (!patterns_sort(patterns, sequences->input->rows.strings, "|", 1, "|", arena))
        return error_memory(error);
    if (patterns->keys.n == 0) {
        hta->reasons[SUTRA_HTA_SEQUENCES] = "no operator of that name launches so many kernels";
        return SUTRA_OK;
    }
    struct sutra_table *table = hta_table_begin(hta, SUTRA_HTA_SEQUENCES);
    for (uint32_t i = 0; i < patterns->keys.n; i++) {
        const struct pattern *pattern = &patterns->list[patterns->order[i]];
        table_text(table, patterns->texts.bytes + pattern->text, pattern->length);
        table_integer(table, (int64_t)pattern->n);
        table_number(table, us_of(pattern->ns[KERNELS]));
        table_number(table, us_of(pattern->ns[CALLS]));
    }
    return SUTRA_OK;
}

/* ---- All of it ---- */

static enum sutra_status gather_rows(struct sequences *sequences, struct arena *arena, struct sutra_error *error) {
    const struct hta_rows *rows = &sequences->input->rows;
    sequences->wanted = arena_take(arena, rows->strings->n, sizeof *sequences->wanted);
    sequences->event = arena_take(arena, rows->n, sizeof *sequences->event);
    if (arena->failed)
        return error_memory(error);
    for (uint32_t string = 0; string < rows->strings->n; string++)
        sequences->wanted[string] =
            text_compare(rows->strings, string, TEXT_HAS, sequences->input->options.sequences_of);
    for (row_t i = 0; i < rows->n; i++)
        if (is_in_thread(sequences, rows->list[i]))
            sequences->event[sequences->n++] = rows->list[i];
    return sort_rows(sequences, arena, error);
}

static enum sutra_status make_table(struct sequences *sequences, struct patterns *patterns, struct arena *arena,
                                    struct sutra_hta *hta, struct sutra_error *error) {
    enum sutra_status status = gather_rows(sequences, arena, error);
    if (!status && compat(sequences))
        status = find_sides(sequences, arena, error);
    if (!status && compat(sequences))
        status = sort_ends(sequences, arena, error);
    if (!status)
        status = find_roots(sequences, arena, error);
    if (!status)
        status = take_calls(sequences, patterns, arena, error);
    return status ? status : add_rows(sequences, patterns, arena, hta, error);
}

enum sutra_status hta_sequences(const struct hta_input *input, struct arena *arena, struct sutra_hta *hta,
                                struct sutra_error *error) {
    struct sequences sequences = {.input = input, .forward = TUPLE_NONE, .backward = TUPLE_NONE};
    struct patterns patterns;
    enum sutra_status status =
        patterns_init(&patterns) ? make_table(&sequences, &patterns, arena, hta, error) : error_memory(error);
    tuples_free(&sequences.threads);
    patterns_free(&patterns);
    return status;
}
