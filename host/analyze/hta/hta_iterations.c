/*
 * hta_iterations.c - which profiler step each row is in: events named ProfilerStep and a number give the numbers; a row
 * of the host is in the step that it begins in, a kernel in that of its launch.
 *
 *     steps in the file     #10 [------------)   #11 [----------)
 *     stretches             10               |none|11           | none
 *
 * Where steps overlap, the last of them in the file counts. In the reference's way any event with such a name is a
 * step, also the copies that Kineto puts on the GPU, and what is on stream 0 is in none; in ours only annotations of
 * the user are. O(s log s) for steps, O(log s) for each row.
 */
#include <stdlib.h>
#include <string.h>

#include "analyze/hta/hta.h"
#include "base/bisect.h"
#include "base/error.h"
#include "base/order.h"
#include "columns/row_heap.h"

/* From when on which step it is. */
struct step_stretch {
    int64_t from, number;
};

struct step_stretches {
    struct step_stretch *list;
    row_t n;
    row_t found; /* how many had begun at the moment that was asked for last: rows mostly stand by time */
};

/* The number behind "ProfilerStep", white space, "#" and white space. */
static int64_t number_of_name(const char *name, size_t length) {
    static const char space[] = " \t\n\r\f\v";
    if (length < strlen(STEP_NAME) || memcmp(name, STEP_NAME, strlen(STEP_NAME)) != 0)
        return ITERATION_NONE;
    const char *at = name + strlen(STEP_NAME);
    at += strspn(at, space);
    if (*at++ != '#')
        return ITERATION_NONE;
    at += strspn(at, space);
    char *end;
    long long number = *at >= '0' && *at <= '9' ? strtoll(at, &end, 10) : ITERATION_NONE;
    return number > INT32_MAX ? ITERATION_NONE : number;
}

/* ---- Stretches ---- */

struct step_bounds {
    const struct hta_rows *rows;
    const row_t *steps;
};

static int64_t end_of(const struct hta_rows *rows, row_t event) {
    return rows->start[event] + rows->dur[event];
}

static int compare_starts(const void *left, const void *right, void *arg) {
    const struct step_bounds *bounds = arg;
    int64_t a = bounds->rows->start[bounds->steps[*(const row_t *)left]];
    int64_t b = bounds->rows->start[bounds->steps[*(const row_t *)right]];
    return (a > b) - (a < b);
}

static bool stands_later(const void *none, row_t a, row_t b) {
    (void)none;
    return a > b;
}

/* Goes through all starts and ends; the heap has the steps that have begun, the last in the file first. */
static enum sutra_status find_stretches(const struct hta_rows *rows, const int64_t *of_name, const row_t *steps,
                                        row_t n, struct arena *arena, struct step_stretches *stretches,
                                        struct sutra_error *error) {
    struct step_bounds bounds = {rows, steps};
    row_t *order = arena_take(arena, n, sizeof *order), begun = 0;
    struct row_heap heap = {.rows = arena_take(arena, n, sizeof *heap.rows)};
    int64_t *times = arena_take(arena, n, 2 * sizeof *times);
    stretches->list = arena_take(arena, n, 2 * sizeof *stretches->list);
    if (arena->failed)
        return error_memory(error);
    for (row_t i = 0; i < n; i++) {
        order[i] = i;
        times[2 * i] = rows->start[steps[i]];
        times[2 * i + 1] = end_of(rows, steps[i]);
    }
    qsort_r(order, n, sizeof *order, compare_starts, &bounds);
    qsort(times, 2 * (size_t)n, sizeof *times, compare_int64s);
    for (size_t i = 0; i < 2 * (size_t)n; i++) {
        for (; begun < n && rows->start[steps[order[begun]]] <= times[i]; begun++)
            row_heap_push(&heap, order[begun], stands_later, NULL);
        while (heap.n && end_of(rows, steps[heap.rows[0]]) <= times[i])
            row_heap_pop(&heap, stands_later, NULL);
        int64_t number = heap.n ? of_name[rows->events->name[steps[heap.rows[0]]]] : ITERATION_NONE;
        stretches->list[stretches->n++] = (struct step_stretch){times[i], number};
    }
    return SUTRA_OK;
}

/* Whether so many stretches have begun at a moment, and no more. */
static bool have_begun(const struct step_stretches *stretches, row_t n, int64_t at) {
    return (n == 0 || stretches->list[n - 1].from <= at) && (n == stretches->n || stretches->list[n].from > at);
}

/* The last stretch that has begun at a moment. */
static int64_t number_at_moment(struct step_stretches *stretches, int64_t at) {
    if (!have_begun(stretches, stretches->found, at)) {
        struct bisection search = {0, stretches->n};
        while (search.low < search.high)
            bisect(&search, stretches->list[bisect_middle(search)].from <= at);
        stretches->found = search.low;
    }
    return stretches->found ? stretches->list[stretches->found - 1].number : ITERATION_NONE;
}

/* ---- Rows ---- */

static int64_t number_of_row(const struct hta_rows *rows, const struct sutra_hta_options *options,
                             struct step_stretches *stretches, row_t event) {
    int64_t stream = rows->stream[event];
    bool triton = options->hta_version == SUTRA_HTA_VERSION_0_6 && stream == 0 &&
                  category_roles(rows->events, rows->roles, event) & CATEGORY_CPU_OP;
    if (stream < 0 || triton)
        return number_at_moment(stretches, rows->start[event]);
    if (stream == 0 && options->compat)
        return ITERATION_NAN;
    row_t link = rows->link[event];
    return link != ROW_NONE && link != 0 ? number_at_moment(stretches, rows->start[link]) : ITERATION_NONE;
}

enum sutra_status hta_iterations_make(const struct hta_rows *rows, const struct sutra_hta_options *options,
                                      struct arena *arena, struct hta_iterations *iterations,
                                      struct sutra_error *error) {
    struct step_stretches stretches = {0};
    row_t n = 0;
    if (rows->n_steps == 0)
        return SUTRA_OK;
    iterations->of_name = arena_take(arena, rows->strings->n, sizeof *iterations->of_name);
    iterations->of_event = arena_take(arena, rows->events->n, sizeof *iterations->of_event);
    struct arena_mark mark = arena_mark(arena);
    row_t *steps = arena_take(arena, rows->n_steps, sizeof *steps);
    if (arena->failed)
        return error_memory(error);
    for (uint32_t string = 0; string < rows->strings->n; string++)
        iterations->of_name[string] =
            number_of_name(strings_text(rows->strings, string), strings_length(rows->strings, string));
    for (row_t i = 0; i < rows->n_steps; i++)
        if (options->compat || category_roles(rows->events, rows->roles, rows->steps[i]) & CATEGORY_ANNOTATION)
            steps[n++] = rows->steps[i];
    enum sutra_status status = find_stretches(rows, iterations->of_name, steps, n, arena, &stretches, error);
    for (row_t i = 0; i < rows->n && !status; i++)
        iterations->of_event[rows->list[i]] = (int32_t)number_of_row(rows, options, &stretches, rows->list[i]);
    arena_release(arena, mark);
    return status;
}
