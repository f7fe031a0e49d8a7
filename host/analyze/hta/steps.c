/*
 * steps.c - the profiler's steps: how long each took, and what the GPU did of what it launched, whenever that was.
 *
 *     host      [ step 10 ....... ][ step 11 ....... ]
 *     kernels        [10]  [10][10]  [10] [11] [11]  [11]        busy: time in which one of the step's kernels runs
 *
 * A step's kernels may run while the next step is on the host, so busy times of steps can overlap and exceed the step.
 * O(n), and the engine's merging of intervals.
 */
#include "analyze/hta/hta.h"
#include "base/error.h"
#include "columns/hash_tables.h"

/* Sets of kernels whose time in each step is measured. */
enum { WITH_ALL, WITH_COMPUTE, WITH_COMMUNICATION, WITH_BOTH, N_SETS };

struct steps {
    const struct hta_input *input;
    struct tuples numbers;
    row_t *event; /* of each step: its first row */
    uint32_t n;
    struct step_work {
        uint64_t n_kernels;
        int64_t ns[N_SETS], sum_ns;
    } * work;
};

static enum sutra_status find_steps(struct steps *steps, struct arena *arena, struct sutra_error *error) {
    const struct hta_rows *rows = &steps->input->rows;
    steps->event = arena_take(arena, rows->n_steps, sizeof *steps->event);
    if (!steps->event)
        return error_memory(error);
    for (row_t i = 0; i < rows->n_steps; i++) {
        row_t event = rows->steps[i];
        int64_t number = steps->input->iterations.of_name[rows->events->name[event]];
        if (number == ITERATION_NONE || !(rows->state[event] & HTA_KEPT) ||
            !(category_roles(rows->events, rows->roles, event) & CATEGORY_ANNOTATION))
            continue;
        uint32_t step = tuples_number(&steps->numbers, (struct tuple){{number}});
        if (step == TUPLE_NONE)
            return error_memory(error);
        if (step == steps->n)
            steps->event[steps->n++] = event;
    }
    steps->work = arena_zeros(arena, steps->n, sizeof *steps->work);
    return arena_status(arena, error);
}

static bool is_in_set(enum kernel_type type, int set) {
    bool compute = type == KERNEL_COMPUTATION, communication = type == KERNEL_COMMUNICATION;
    return set == WITH_ALL || (compute && set != WITH_COMMUNICATION) || (communication && set != WITH_COMPUTE);
}

/* Merges the kernels of a set, in the order of their starts. */
static enum sutra_status measure_set(struct steps *steps, int set, const uint32_t *step_of, struct arena *arena,
                                     struct sutra_error *error) {
    const struct hta_kernels *kernels = &steps->input->kernels;
    struct arena_mark mark = arena_mark(arena);
    int64_t *start = arena_take(arena, kernels->n, sizeof *start), *end = arena_take(arena, kernels->n, sizeof *end);
    uint32_t *segment = arena_take(arena, kernels->n, sizeof *segment);
    enum sutra_status status = arena_status(arena, error);
    struct merged merged = {0};
    row_t n = 0;
    for (row_t i = 0; i < kernels->n && !status; i++) {
        if (step_of[i] == TUPLE_NONE || !is_in_set((enum kernel_type)kernels->type[i], set))
            continue;
        start[n] = kernels->start[i];
        end[n] = kernels->end[i];
        segment[n++] = step_of[i];
    }
    struct merge_intervals_step step = {start, end, segment, n, steps->n, &merged};
    if (!status)
        status = steps->input->engine->merge_intervals(steps->input->engine->state, &step, error);
    for (uint32_t s = 0; s < steps->n && !status; s++)
        steps->work[s].ns[set] = (int64_t)cpu_merged_length(&merged, s);
    merged_free(&merged);
    arena_release(arena, mark);
    return status;
}

static enum sutra_status measure(struct steps *steps, struct arena *arena, struct sutra_error *error) {
    const struct hta_kernels *kernels = &steps->input->kernels;
    uint32_t *step_of = arena_take(arena, kernels->n, sizeof *step_of);
    enum sutra_status status = arena_status(arena, error);
    for (row_t i = 0; i < kernels->n && !status; i++) {
        bool work = steps->input->rows.state[kernels->event[i]] & HTA_WORK;
        int64_t number = hta_iteration(steps->input, kernels->event[i]);
        step_of[i] = work ? tuples_find(&steps->numbers, (struct tuple){{number}}) : TUPLE_NONE;
        if (step_of[i] == TUPLE_NONE)
            continue;
        steps->work[step_of[i]].n_kernels++;
        steps->work[step_of[i]].sum_ns += kernels->end[i] - kernels->start[i];
    }
    for (int set = 0; set < N_SETS && !status; set++)
        status = measure_set(steps, set, step_of, arena, error);
    return status;
}

static void add_rows(const struct steps *steps, struct sutra_hta *hta) {
    const struct hta_rows *rows = &steps->input->rows;
    struct sutra_table *table = hta_table_begin(hta, SUTRA_HTA_STEPS);
    for (uint32_t s = 0; s < steps->n; s++) {
        const struct step_work *work = &steps->work[s];
        table_integer(table, hta->options.rank);
        table_integer(table, steps->numbers.list[s].part[0]);
        table_number(table, us_of(rows->start[steps->event[s]]));
        table_number(table, us_of(rows->dur[steps->event[s]]));
        table_integer(table, (int64_t)work->n_kernels);
        table_number(table, us_of(work->sum_ns));
        table_number(table, us_of(work->ns[WITH_ALL]));
        table_number(table, us_of(work->ns[WITH_COMPUTE]));
        table_number(table, us_of(work->ns[WITH_COMMUNICATION]));
        table_number(table, us_of(work->ns[WITH_BOTH] - work->ns[WITH_COMPUTE]));
    }
}

enum sutra_status hta_steps(const struct hta_input *input, struct arena *arena, struct sutra_hta *hta,
                            struct sutra_error *error) {
    struct steps steps = {.input = input};
    bool wanted = input->rows.n_steps && !input->options.compat; /* the reference has a list in its place */
    enum sutra_status status = wanted ? find_steps(&steps, arena, error) : SUTRA_OK;
    if (!status && steps.n)
        status = measure(&steps, arena, error);
    if (!status && steps.n)
        add_rows(&steps, hta);
    else
        hta->reasons[SUTRA_HTA_STEPS] = "no ProfilerStep annotation: call profiler.step() after each training step";
    tuples_free(&steps.numbers);
    return status;
}
