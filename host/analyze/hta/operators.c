/*
 * operators.c - which kernels each operator of ATen launches, how often, and how long it takes until then.
 *
 *     aten::addmm   [.....launch....launch.....]      delay of the launch: from the operator's start to the first
 *     kernels                   [ gemm ] [ add ]      launch's; of the runtime: from that start to its kernel's
 *
 * A launch is of the innermost operator of its thread around it. Operators with the same name and the same kernels, in
 * the order of their launches, are one row. Launches of kernels without one are left out. O(n log n).
 *
 * The reference takes the operator of any thread that began last, and stops at a launch that has no kernel or several.
 */
#include <string.h>

#include "analyze/hta/hta.h"
#include "analyze/hta/kernels.h"
#include "analyze/hta/sequences.h"
#include "base/error.h"
#include "base/shared.h"
#include "columns/hash_tables.h"

/* Sums of a pattern. */
enum { LAUNCH_DELAY, RUNTIME_DELAY };

/* Roles of names that this metric gives itself. */
enum { NAME_OPERATOR = 1, NAME_LAUNCHES = 2 };

/* Operators by thread and start, inner ones behind outer ones; in the reference's way all are of one thread, and of
 * those with equal starts the first of the table stands last. */
struct operators {
    const struct hta_input *input;
    uint8_t *roles; /* of each string */
    row_t n;
    row_t *event;
    struct tuples threads;
    row_t *first; /* of each thread, and the end */
    struct end_tree ends;
};

/* Launches with their operators and kernels, in the order of the table. */
struct operator_launches {
    row_t n;
    row_t *launch, *caller, *kernel; /* events; the caller is the operator */
    uint32_t *call;                  /* number of the operator's call */
    uint32_t n_calls;
};

/* ---- Names ---- */

static bool begins(const char *name, const char *word) {
    return strncmp(name, word, strlen(word)) == 0;
}

/* `cuda.*LaunchKernel`, where a dot is no line end, cuLaunchKernel and runFunction; those of HIP only in our way. */
static bool launches(const char *name, bool compat) {
    const char *rest = begins(name, "cuda") ? name + 4 : !compat && begins(name, "hip") ? name + 3 : NULL;
    const char *found = rest ? strstr(rest, "LaunchKernel") : NULL;
    bool any = rest && !compat && begins(name, "hip") && strstr(rest, "Launch");
    return any || (found && !memchr(rest, '\n', (size_t)(found - rest))) || begins(name, "cuLaunchKernel") ||
           begins(name, "runFunction");
}

static enum sutra_status give_roles(struct operators *operators, struct arena *arena, struct sutra_error *error) {
    const struct strings *strings = operators->input->rows.strings;
    operators->roles = arena_take(arena, strings->n, sizeof *operators->roles);
    if (!operators->roles)
        return error_memory(error);
    for (uint32_t string = 0; string < strings->n; string++) {
        const char *name = strings_text(strings, string);
        operators->roles[string] = (uint8_t)((begins(name, "aten::") ? NAME_OPERATOR : 0) |
                                             (launches(name, operators->input->options.compat) ? NAME_LAUNCHES : 0));
    }
    return SUTRA_OK;
}

static bool has_role(const struct operators *operators, row_t event, uint8_t role) {
    return operators->roles[operators->input->rows.events->name[event]] & role;
}

/* ---- Operators in order ---- */

static struct tuple thread_of(const struct operators *operators, row_t event) {
    const struct device_events *events = operators->input->rows.events;
    if (operators->input->options.compat)
        return (struct tuple){{0}};
    return (struct tuple){{events->pid[event], events->tid[event]}};
}

static int64_t end_of(const struct operators *operators, row_t event) {
    return operators->input->rows.start[event] + operators->input->rows.dur[event];
}

/* The list backwards, for sorts that leave equal ones as they are. */
static void reverse(row_t *list, row_t n) {
    for (row_t i = 0; i < n / 2; i++) {
        row_t other = list[n - 1 - i];
        list[n - 1 - i] = list[i];
        list[i] = other;
    }
}

static enum sutra_status sort_by(const struct operators *operators, uint64_t *keys, struct sutra_error *error) {
    const struct engine *engine = operators->input->engine;
    return engine->sort_keys(engine->state, &(struct sort_keys_step){keys, operators->event, operators->n}, error);
}

/* By start; those of one start by falling duration, or backwards as they stand in the table. */
static enum sutra_status sort_operators(struct operators *operators, uint64_t *keys, struct sutra_error *error) {
    const struct hta_rows *rows = &operators->input->rows;
    enum sutra_status status = SUTRA_OK;
    if (operators->input->options.compat)
        reverse(operators->event, operators->n);
    for (row_t i = 0; i < operators->n; i++)
        keys[i] = integer_sort_key(-rows->dur[operators->event[i]]);
    if (!operators->input->options.compat)
        status = sort_by(operators, keys, error);
    for (row_t i = 0; i < operators->n; i++)
        keys[i] = integer_sort_key(rows->start[operators->event[i]]);
    return status ? status : sort_by(operators, keys, error);
}

/* And all that by thread. */
static enum sutra_status sort_threads(struct operators *operators, uint64_t *keys, struct arena *arena,
                                      struct sutra_error *error) {
    for (row_t i = 0; i < operators->n; i++) {
        keys[i] = tuples_number(&operators->threads, thread_of(operators, operators->event[i]));
        if (keys[i] == TUPLE_NONE)
            return error_memory(error);
    }
    operators->first = arena_zeros(arena, (size_t)operators->threads.n + 1, sizeof *operators->first);
    if (!operators->first)
        return error_memory(error);
    for (row_t i = 0; i < operators->n; i++)
        operators->first[keys[i] + 1]++;
    for (uint32_t t = 0; t < operators->threads.n; t++)
        operators->first[t + 1] += operators->first[t];
    return sort_by(operators, keys, error);
}

static enum sutra_status gather_operators(struct operators *operators, struct arena *arena, struct sutra_error *error) {
    const struct hta_rows *rows = &operators->input->rows;
    operators->event = arena_take(arena, rows->n, sizeof *operators->event);
    uint64_t *keys = arena_take(arena, rows->n, sizeof *keys);
    int64_t *ends = arena_take(arena, rows->n, sizeof *ends);
    if (arena->failed)
        return error_memory(error);
    for (row_t i = 0; i < rows->n; i++)
        if (has_role(operators, rows->list[i], NAME_OPERATOR))
            operators->event[operators->n++] = rows->list[i];
    enum sutra_status status = sort_operators(operators, keys, error);
    if (!status)
        status = sort_threads(operators, keys, arena, error);
    for (row_t i = 0; i < operators->n && !status; i++)
        ends[i] = end_of(operators, operators->event[i]);
    if (!status && !end_tree_make(&operators->ends, arena, ends, operators->n))
        status = error_memory(error);
    return status;
}

/* The operator around a launch, or ROW_NONE. */
static row_t operator_around(const struct operators *operators, row_t launch) {
    const struct hta_rows *rows = &operators->input->rows;
    uint32_t thread = tuples_find(&operators->threads, thread_of(operators, launch));
    if (thread == TUPLE_NONE)
        return ROW_NONE;
    row_t first = operators->first[thread];
    struct bisection at = {first, operators->first[thread + 1]};
    while (at.low < at.high)
        bisect(&at, rows->start[operators->event[bisect_middle(at)]] <= rows->start[launch]);
    row_t found = end_tree_last(&operators->ends, at.low, end_of(operators, launch));
    return found == ROW_NONE || found < first ? ROW_NONE : operators->event[found];
}

/* ---- Launches ---- */

/* Each event's kernels: how many rows with a stream are linked to it, and the last of them. */
static void count_kernels(const struct hta_rows *rows, row_t *n_kernels, row_t *kernel) {
    for (row_t i = 0; i < rows->n; i++) {
        row_t event = rows->list[i], link = rows->link[event];
        if (!(rows->state[event] & HTA_STREAM) || link == ROW_NONE)
            continue;
        n_kernels[link]++;
        kernel[link] = event;
    }
}

static enum sutra_status gather_launches(const struct operators *operators, struct operator_launches *found,
                                         struct arena *arena, row_t *stopped_at, struct sutra_error *error) {
    const struct hta_rows *rows = &operators->input->rows;
    row_t *n_kernels = arena_zeros(arena, rows->events->n, sizeof *n_kernels);
    row_t *kernel = arena_take(arena, rows->events->n, sizeof *kernel);
    found->launch = arena_take(arena, rows->n, sizeof *found->launch);
    found->caller = arena_take(arena, rows->n, sizeof *found->caller);
    found->kernel = arena_take(arena, rows->n, sizeof *found->kernel);
    if (arena->failed)
        return error_memory(error);
    count_kernels(rows, n_kernels, kernel);
    for (row_t i = 0; i < rows->n; i++) {
        row_t launch = rows->list[i];
        if (!has_role(operators, launch, NAME_LAUNCHES) ||
            (n_kernels[launch] == 0 && !operators->input->options.compat))
            continue;
        row_t around = operator_around(operators, launch);
        if (around == ROW_NONE)
            continue;
        if (n_kernels[launch] != 1 && operators->input->options.compat && *stopped_at == ROW_NONE)
            *stopped_at = launch;
        found->launch[found->n] = launch;
        found->caller[found->n] = around;
        found->kernel[found->n++] = kernel[launch];
    }
    return SUTRA_OK;
}

/* Numbers the calls of operators, which the reference knows by thread, name and start. */
static enum sutra_status number_calls(const struct operators *operators, struct operator_launches *found,
                                      struct arena *arena, struct sutra_error *error) {
    const struct hta_rows *rows = &operators->input->rows;
    struct tuples calls = {0};
    bool compat = operators->input->options.compat, ok = true;
    found->call = arena_take(arena, found->n, sizeof *found->call);
    for (row_t i = 0; i < found->n && found->call && ok; i++) {
        row_t event = found->caller[i];
        struct tuple tuple = {{event}};
        if (compat)
            tuple = (struct tuple){{rows->events->tid[event], rows->events->name[event], rows->start[event]}};
        found->call[i] = tuples_number(&calls, tuple);
        ok = found->call[i] != TUPLE_NONE;
    }
    found->n_calls = calls.n;
    tuples_free(&calls);
    return found->call && ok ? SUTRA_OK : error_memory(error);
}

/* ---- Patterns ---- */

/* Takes a call: launches order[first..end). */
static bool take_call(struct patterns *patterns, const struct hta_rows *rows, const struct operator_launches *found,
                      const row_t *order, row_t first, row_t end, uint32_t *names, struct arena *arena) {
    row_t launch = found->launch[order[first]], caller = found->caller[order[first]];
    names[0] = rows->events->name[caller];
    for (row_t i = first; i < end; i++)
        names[1 + i - first] = rows->events->name[found->kernel[order[i]]];
    struct pattern *pattern = patterns_take(patterns, names, 1 + (size_t)end - first, arena);
    if (!pattern)
        return false;
    pattern->ns[LAUNCH_DELAY] += rows->start[launch] - rows->start[caller];
    pattern->ns[RUNTIME_DELAY] += rows->start[found->kernel[order[first]]] - rows->start[launch];
    return true;
}

/* Deals the launches out to their calls, each of which keeps their order. */
static void deal(const struct operator_launches *found, row_t *first, row_t *order) {
    for (row_t i = 0; i < found->n; i++)
        first[found->call[i] + 1]++;
    for (uint32_t call = 0; call < found->n_calls; call++)
        first[call + 1] += first[call];
    for (row_t i = 0; i < found->n; i++)
        order[first[found->call[i]]++] = i; /* then first[] has the ends */
}

static enum sutra_status take_calls(struct patterns *patterns, const struct hta_rows *rows,
                                    const struct operator_launches *found, struct arena *arena,
                                    struct sutra_error *error) {
    row_t *ends = arena_zeros(arena, (size_t)found->n_calls + 1, sizeof *ends);
    row_t *order = arena_take(arena, found->n, sizeof *order);
    uint32_t *names = arena_take(arena, (size_t)found->n + 1, sizeof *names);
    bool ok = !arena->failed;
    if (ok)
        deal(found, ends, order);
    for (uint32_t call = 0; call < found->n_calls && ok; call++)
        ok = take_call(patterns, rows, found, order, call ? ends[call - 1] : 0, ends[call], names, arena);
    return ok ? SUTRA_OK : error_memory(error);
}

static enum sutra_status add_rows(struct patterns *patterns, const struct strings *strings, struct arena *arena,
                                  struct sutra_hta *hta, struct sutra_error *error) {
    if (!patterns_sort(patterns, strings, "", 1, " -> ", arena))
        return error_memory(error);
    struct sutra_table *table = hta_table_begin(hta, SUTRA_HTA_OPERATORS);
    for (uint32_t i = 0; i < patterns->keys.n; i++) {
        const struct pattern *pattern = &patterns->list[patterns->order[i]];
        size_t n_name = strings_length(strings, pattern->name) + 1;
        table_string(table, strings, pattern->name);
        table_text(table, patterns->texts.bytes + pattern->text + n_name, pattern->length - n_name);
        table_integer(table, (int64_t)pattern->n);
        table_real(table, rounded_to(us_of(pattern->ns[LAUNCH_DELAY]) / (double)pattern->n, 3));
        table_real(table, rounded_to(us_of(pattern->ns[RUNTIME_DELAY]) / (double)pattern->n, 3));
    }
    return SUTRA_OK;
}

/* ---- All of it ---- */

static enum sutra_status make_table(struct operators *operators, struct patterns *patterns, struct arena *arena,
                                    struct sutra_hta *hta, struct sutra_error *error) {
    const struct hta_rows *rows = &operators->input->rows;
    struct operator_launches found = {0};
    row_t stopped_at = ROW_NONE;
    enum sutra_status status = give_roles(operators, arena, error);
    if (!status)
        status = gather_operators(operators, arena, error);
    if (!status)
        status = gather_launches(operators, &found, arena, &stopped_at, error);
    if (status)
        return status;
    if (stopped_at != ROW_NONE || found.n == 0) {
        hta->reasons[SUTRA_HTA_OPERATORS] =
            found.n ? "a launch in an operator has no kernel or several kernels: HTA fails here"
                    : "no ATen operator launches a kernel";
        return SUTRA_OK;
    }
    status = number_calls(operators, &found, arena, error);
    if (!status)
        status = take_calls(patterns, rows, &found, arena, error);
    return status ? status : add_rows(patterns, rows->strings, arena, hta, error);
}

enum sutra_status hta_operators(const struct hta_input *input, struct arena *arena, struct sutra_hta *hta,
                                struct sutra_error *error) {
    struct operators operators = {.input = input};
    struct patterns patterns;
    enum sutra_status status =
        patterns_init(&patterns) ? make_table(&operators, &patterns, arena, hta, error) : error_memory(error);
    tuples_free(&operators.threads);
    patterns_free(&patterns);
    return status;
}
