/*
 * hta_steps.c - the profiler's steps: the step of each row, and the GPU's busy time in each step.
 *
 *     host      [ step 10 ....... ][ step 11 ....... ]
 *     kernels        [10]  [10][10]  [10] [11] [11]  [11]        busy: time in which one of the step's kernels runs
 *
 * A step's kernels may run while the next step is on the host, so busy times of steps can overlap and exceed the step.
 * Cost: O(s log s) for s steps, O(log s) for each row, and the engine's merge of intervals.
 */
#include <stdlib.h>
#include <string.h>

#include "analyze/compat/hta/hta.h"
#include "base/error.h"
#include "base/shared.h"
#include "columns/hash_tables.h"
#include "columns/rows.h"
#include "facts/profiler_steps.h"

/*
 * ---- The step of each row ----
 *
 * Events named ProfilerStep and a number define the steps. A host row is in the step that it starts in, a kernel in
 * the step of its launch.
 *
 *     steps in the file     #10 [------------)   #11 [----------)
 *     intervals             10               |none|11           | none
 *
 * Where steps overlap, the last of them in the file counts. In HTA any event with such a name is a step, including
 * Kineto's copies on the GPU, and rows on stream 0 are in no step; in sutra only user annotations are steps.
 */

struct step_intervals {
    struct step_interval {
        int64_t from, number; /* from a time on, the step's number or ITERATION_NONE */
    } * list;
    row_t n;
    row_t n_started; /* at the last time that was searched; rows are mostly ordered by time */
};

static int64_t end_of(const struct hta_rows *rows, row_t event) {
    return rows->start[event] + rows->dur[event];
}

struct step_start {
    int64_t start;
    row_t index; /* in the list of steps */
};

ORDER_BY(compare_starts, struct step_start, ASCENDING(start))

static bool is_later_in_file(const void *none, row_t a, row_t b) {
    (void)none;
    return a > b;
}

/* Walks all starts and ends; the heap contains the steps that have started, the last in the file first. */
static enum sutra_status find_intervals(const struct hta_rows *rows, const int64_t *of_name, const row_t *steps,
                                        row_t n, struct arena *arena, struct step_intervals *intervals,
                                        struct sutra_error *error) {
    struct step_start *starts = arena_alloc(arena, n, sizeof *starts);
    struct row_heap heap = {.rows = arena_alloc(arena, n, sizeof *heap.rows)};
    int64_t *times = arena_alloc(arena, n, 2 * sizeof *times);
    row_t n_started = 0;
    intervals->list = arena_alloc(arena, n, 2 * sizeof *intervals->list);
    TRY(arena_status(arena, error));
    for (row_t i = 0; i < n; i++) {
        starts[i] = (struct step_start){rows->start[steps[i]], i};
        times[2 * i] = rows->start[steps[i]];
        times[2 * i + 1] = end_of(rows, steps[i]);
    }
    qsort(starts, n, sizeof *starts, compare_starts);
    qsort(times, 2 * (size_t)n, sizeof *times, compare_int64s);
    for (size_t i = 0; i < 2 * (size_t)n; i++) {
        for (; n_started < n && starts[n_started].start <= times[i]; n_started++)
            row_heap_push(&heap, starts[n_started].index, is_later_in_file, NULL);
        while (heap.n && end_of(rows, steps[heap.rows[0]]) <= times[i])
            row_heap_pop(&heap, is_later_in_file, NULL);
        int64_t number = heap.n ? of_name[rows->events->name[steps[heap.rows[0]]]] : ITERATION_NONE;
        intervals->list[intervals->n++] = (struct step_interval){times[i], number};
    }
    return SUTRA_OK;
}

/* The step at a time. */
static int64_t step_at(struct step_intervals *intervals, int64_t at) {
    row_t n = intervals->n_started;
    bool same = (n == 0 || intervals->list[n - 1].from <= at) && (n == intervals->n || intervals->list[n].from > at);
    if (!same) {
        struct bisection search = {0, intervals->n};
        while (search.low < search.high)
            bisect(&search, intervals->list[bisect_middle(search)].from <= at);
        intervals->n_started = search.low;
    }
    return intervals->n_started ? intervals->list[intervals->n_started - 1].number : ITERATION_NONE;
}

static int64_t step_of_row(const struct hta_rows *rows, const struct sutra_hta_options *options,
                           struct step_intervals *intervals, row_t event) {
    int64_t stream = rows->stream[event];
    bool triton = options->hta_version == SUTRA_HTA_VERSION_0_6 && stream == 0 &&
                  category_roles(rows->events, rows->roles, event) & CATEGORY_CPU_OP;
    if (stream < 0 || triton)
        return step_at(intervals, rows->start[event]);
    if (stream == 0 && options->compat)
        return ITERATION_NAN;
    row_t link = rows->link[event];
    return link != ROW_NONE && link != 0 ? step_at(intervals, rows->start[link]) : ITERATION_NONE;
}

enum sutra_status hta_iterations_make(const struct hta_rows *rows, const struct sutra_hta_options *options,
                                      struct arena *arena, struct hta_iterations *iterations,
                                      struct sutra_error *error) {
    struct step_intervals intervals = {0};
    row_t n = 0;
    if (rows->n_steps == 0)
        return SUTRA_OK;
    iterations->of_name = arena_alloc(arena, rows->strings->n, sizeof *iterations->of_name);
    iterations->of_event = arena_alloc(arena, rows->events->n, sizeof *iterations->of_event);
    struct arena_mark mark = arena_mark(arena);
    row_t *steps = arena_alloc(arena, rows->n_steps, sizeof *steps);
    TRY(arena_status(arena, error));
    for (uint32_t string = 0; string < rows->strings->n; string++) {
        const char *text = strings_text(rows->strings, string);
        const char *digits = profiler_step_number(text, strings_length(rows->strings, string), STEPS_HTA);
        long long number = digits ? strtoll(digits, NULL, 10) : ITERATION_NONE;
        iterations->of_name[string] = number > INT32_MAX ? ITERATION_NONE : number;
    }
    for (row_t i = 0; i < rows->n_steps; i++)
        if (options->compat || category_roles(rows->events, rows->roles, rows->steps[i]) & CATEGORY_ANNOTATION)
            steps[n++] = rows->steps[i];
    enum sutra_status status = find_intervals(rows, iterations->of_name, steps, n, arena, &intervals, error);
    for (row_t i = 0; i < rows->n && !status; i++)
        iterations->of_event[rows->list[i]] = (int32_t)step_of_row(rows, options, &intervals, rows->list[i]);
    arena_release(arena, mark);
    return status;
}

/* ---- The table of steps ---- */

/* Sets of kernels whose time in each step is measured. */
enum { WITH_ALL, WITH_COMPUTE, WITH_COMMUNICATION, WITH_BOTH, N_SETS };

struct step_totals {
    uint64_t n_kernels;
    int64_t ns[N_SETS], sum_ns;
};

/* Measures the merged time of a set's kernels in each step. */
static enum sutra_status measure_set(const struct hta_input *input, int set, const uint32_t *step_of, uint32_t n_steps,
                                     struct step_totals *totals, struct arena *arena, struct sutra_error *error) {
    const struct hta_kernels *kernels = &input->kernels;
    struct arena_mark mark = arena_mark(arena);
    int64_t *start = arena_alloc(arena, kernels->n, sizeof *start), *end = arena_alloc(arena, kernels->n, sizeof *end);
    uint32_t *step = arena_alloc(arena, kernels->n, sizeof *step);
    row_t n = 0;
    TRY(arena_status(arena, error));
    for (row_t i = 0; i < kernels->n; i++) {
        bool compute = kernels->type[i] == KERNEL_COMPUTATION && set != WITH_COMMUNICATION;
        bool communication = kernels->type[i] == KERNEL_COMMUNICATION && set != WITH_COMPUTE;
        if (step_of[i] == TUPLE_NONE || !(set == WITH_ALL || compute || communication))
            continue;
        start[n] = kernels->start[i];
        end[n] = kernels->end[i];
        step[n++] = step_of[i];
    }
    struct merged merged = {0};
    struct merge_intervals_step merge = {start, end, step, n, n_steps, &merged};
    enum sutra_status status = input->engine->merge_intervals(input->engine->state, &merge, error);
    for (uint32_t s = 0; s < n_steps && !status; s++)
        totals[s].ns[set] = (int64_t)cpu_merged_length(&merged, s);
    merged_free(&merged);
    arena_release(arena, mark);
    return status;
}

/* numbers: of the steps. */
static enum sutra_status make_table(const struct hta_input *input, struct tuples *numbers, struct arena *arena,
                                    struct sutra_hta *hta, struct sutra_error *error) {
    const struct hta_rows *rows = &input->rows;
    const struct hta_kernels *kernels = &input->kernels;
    row_t *first = arena_alloc(arena, rows->n_steps, sizeof *first); /* by step: its first row */
    uint32_t *step_of = arena_alloc(arena, kernels->n, sizeof *step_of), n = 0;
    TRY(arena_status(arena, error));
    for (row_t i = 0; i < rows->n_steps; i++) {
        row_t event = rows->steps[i];
        int64_t number = input->iterations.of_name[rows->events->name[event]];
        if (number == ITERATION_NONE || !(rows->state[event] & HTA_KEPT) ||
            !(category_roles(rows->events, rows->roles, event) & CATEGORY_ANNOTATION))
            continue;
        uint32_t step = tuples_number(numbers, (struct tuple){{number}});
        TRY_ALLOC(step != TUPLE_NONE, error);
        if (step == n)
            first[n++] = event;
    }
    if (n == 0)
        return SUTRA_OK;

    struct step_totals *totals = arena_zeros(arena, n, sizeof *totals);
    TRY(arena_status(arena, error));
    for (row_t i = 0; i < kernels->n; i++) {
        bool is_work = rows->state[kernels->event[i]] & HTA_WORK;
        int64_t number = hta_iteration(input, kernels->event[i]);
        step_of[i] = is_work ? tuples_find(numbers, (struct tuple){{number}}) : TUPLE_NONE;
        if (step_of[i] == TUPLE_NONE)
            continue;
        totals[step_of[i]].n_kernels++;
        totals[step_of[i]].sum_ns += kernels->end[i] - kernels->start[i];
    }
    for (int set = 0; set < N_SETS; set++)
        TRY(measure_set(input, set, step_of, n, totals, arena, error));

    struct sutra_table *table = result_table_begin(&hta->result, SUTRA_HTA_STEPS);
    for (uint32_t s = 0; s < n; s++) {
        table_integer(table, hta->options.rank);
        table_integer(table, numbers->list[s].part[0]);
        table_number(table, us_of(rows->start[first[s]]));
        table_number(table, us_of(rows->dur[first[s]]));
        table_integer(table, (int64_t)totals[s].n_kernels);
        table_number(table, us_of(totals[s].sum_ns));
        table_number(table, us_of(totals[s].ns[WITH_ALL]));
        table_number(table, us_of(totals[s].ns[WITH_COMPUTE]));
        table_number(table, us_of(totals[s].ns[WITH_COMMUNICATION]));
        table_number(table, us_of(totals[s].ns[WITH_BOTH] - totals[s].ns[WITH_COMPUTE]));
    }
    return SUTRA_OK;
}

enum sutra_status hta_steps(const struct hta_input *input, struct arena *arena, struct sutra_hta *hta,
                            struct sutra_error *error) {
    struct tuples numbers = {0};
    enum sutra_status status = SUTRA_OK;
    if (input->rows.n_steps && !input->options.compat) /* HTA has no table but a list of steps */
        status = make_table(input, &numbers, arena, hta, error);
    if (!hta->result.made[SUTRA_HTA_STEPS])
        hta->result.reasons[SUTRA_HTA_STEPS] =
            "no ProfilerStep annotation: call profiler.step() after each training step";
    tuples_free(&numbers);
    return status;
}
