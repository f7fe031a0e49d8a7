/*
 * launches.c - each launch with its kernel: how long the call took, how long the kernel, and how long the kernel
 * waited after the call.
 *
 * A correlation counts if a call of the reference's list has it (or any call at all, if that is asked for); then each
 * event without a stream that has the correlation is paired with each kernel that has it, in the order of the table. An
 * event without a correlation is never a launch. O(n) and the pairs; where repeated correlations give far more pairs
 * than events, an event is paired with one kernel only.
 */
#include <math.h>
#include <string.h>

#include "analyze/hta/hta.h"
#include "base/error.h"

/*
 * Launches by the name of their call, whatever it is: of kernels, copies, graphs; CUDA's runtime and
 * driver, HIP. A table of ours, since the reference's own lists lack cuLaunchKernelEx, cudaGraphLaunch and most of HIP.
 *
 * A call is an event without a stream that is the last one with the correlation of some kernel. Its delay is that of
 * its first kernel. O(n) and a sort of the delays.
 */

/* What is known of the calls of one name. */
struct call_name {
    uint64_t n_calls, n_kernels, n_short;
    wide_t cpu, gpu;
};

struct named_calls {
    struct call_name *names; /* by string */
    int64_t *first;          /* by event: the start of its first kernel */
    bool *called;            /* by event: it has a kernel */
    row_t n;
    uint32_t *groups; /* of each call: its name */
    int64_t *delays;
};

/* The call that launched a kernel, or ROW_NONE. */
static row_t call_of(const struct hta_rows *rows, row_t kernel) {
    row_t call = rows->link[kernel];
    bool linked = rows->state[kernel] & HTA_WORK && call != ROW_NONE && rows->state[call] & HTA_KEPT &&
                  !(rows->state[call] & (HTA_STREAM | HTA_GPU)) && is_correlation(rows->events->correlation[call]) &&
                  rows->events->correlation[call] == rows->events->correlation[kernel];
    return linked ? call : ROW_NONE;
}

static void add_kernel(struct named_calls *calls, const struct hta_rows *rows, row_t kernel) {
    row_t call = call_of(rows, kernel);
    if (call == ROW_NONE)
        return;
    struct call_name *name = &calls->names[rows->events->name[call]];
    name->n_kernels++;
    name->n_short += rows->dur[kernel] < rows->dur[call];
    name->gpu += rows->dur[kernel];
    if (!calls->called[call] || rows->start[kernel] < calls->first[call])
        calls->first[call] = rows->start[kernel];
    calls->called[call] = true;
}

static void add_calls(struct named_calls *calls, const struct hta_rows *rows) {
    for (row_t i = 0; i < rows->n; i++) {
        row_t event = rows->list[i];
        if (!calls->called[event])
            continue;
        struct call_name *name = &calls->names[rows->events->name[event]];
        name->n_calls++;
        name->cpu += rows->dur[event];
        calls->groups[calls->n] = rows->events->name[event];
        calls->delays[calls->n++] = launch_delay_of(rows->start[event], rows->dur[event], calls->first[event]);
    }
}

static void add_row(struct sutra_hta *hta, const struct hta_rows *rows, uint32_t string, const struct call_name *name,
                    const struct description *delays) {
    const struct strings *strings = rows->strings;
    bool is_listed = hta->options.all_launches || rows->roles[string].name & NAME_LAUNCH;
    struct sutra_table *table = &hta->tables[SUTRA_HTA_LAUNCH_CALLS];
    table_integer(table, hta->options.rank);
    table_text(table, strings_text(strings, string), strings_length(strings, string));
    table_integer(table, (int64_t)name->n_calls);
    table_integer(table, (int64_t)name->n_kernels);
    table_number(table, us_of_wide(name->cpu));
    table_number(table, us_of_wide(name->gpu));
    table_integer(table, (int64_t)name->n_short);
    table_real(table, delays->mean);
    table_real(table, delays->q50);
    table_real(table, delays->max);
    hta->summary.n_launches += name->n_calls;
    hta->summary.n_short += name->n_short;
    hta->summary.n_unlisted += is_listed ? 0 : name->n_kernels;
    hta->summary.launch_us += us_of_wide(name->cpu);
}

/* Delays by the names of the calls, a row each, and then the median of all together. */
static enum sutra_status describe_delays(const struct hta_input *input, struct named_calls *calls, struct arena *arena,
                                         struct sutra_hta *hta, struct sutra_error *error) {
    const struct strings *strings = input->rows.strings;
    struct description all, *delays = arena_take(arena, strings->n, sizeof *delays);
    enum sutra_status status = arena->failed ? error_memory(error)
                                             : describe_integers(input->engine, arena, calls->groups, calls->delays,
                                                                 calls->n, strings->n, NS_PER_US, delays, error);
    if (status)
        return status;
    hta_table_begin(hta, SUTRA_HTA_LAUNCH_CALLS);
    for (uint32_t string = 0; string < strings->n; string++)
        if (calls->names[string].n_calls > 0)
            add_row(hta, &input->rows, string, &calls->names[string], &delays[string]);
    memset(calls->groups, 0, (size_t)calls->n * sizeof *calls->groups);
    status = describe_integers(input->engine, arena, calls->groups, calls->delays, calls->n, 1, NS_PER_US, &all, error);
    if (!status)
        hta->summary.delay_median_us = all.q50;
    return status;
}

enum sutra_status hta_calls(const struct hta_input *input, struct arena *arena, struct sutra_hta *hta,
                            struct sutra_error *error) {
    const struct hta_rows *rows = &input->rows;
    struct named_calls calls = {.names = arena_zeros(arena, rows->strings->n, sizeof *calls.names),
                                .first = arena_take(arena, rows->events->n, sizeof *calls.first),
                                .called = arena_zeros(arena, rows->events->n, sizeof *calls.called),
                                .groups = arena_take(arena, rows->n, sizeof *calls.groups),
                                .delays = arena_take(arena, rows->n, sizeof *calls.delays)};
    if (arena->failed)
        return error_memory(error);
    for (row_t i = 0; i < input->kernels.n; i++)
        add_kernel(&calls, rows, input->kernels.event[i]);
    add_calls(&calls, rows);
    return describe_delays(input, &calls, arena, hta, error);
}

/* Most pairs: so many, and more for each event of the trace. */
#define PAIRS_MOST      1000000
#define PAIRS_PER_EVENT 4

/* Events without a stream that have a correlation, and the groups of kernels with the same. */
struct paired_calls {
    row_t n;
    row_t *event, *group;
    bool *counts; /* of each group: a call of the list has the correlation */
};

/* Whether a call counts whose correlation the kernels of the group have. */
static bool is_launch(const struct hta_input *input, row_t event, row_t group) {
    const struct hta_rows *rows = &input->rows;
    row_t kernel = input->correlated.event[input->correlated.first[group]];
    if (input->options.all_launches)
        return !(rows->state[event] & HTA_STREAM) && rows->state[kernel] & HTA_WORK;
    uint32_t roles = name_roles(rows->events, rows->roles, event);
    return roles &
           (input->options.no_memory_launches ? NAME_LAUNCH & ~(NAME_LAUNCH_COPY | NAME_LAUNCH_SET) : NAME_LAUNCH);
}

/* Takes all rows that have a correlation, then keeps those without a stream. */
static enum sutra_status find_calls(const struct hta_input *input, value_key *keys, struct paired_calls *calls,
                                    struct sutra_error *error) {
    const struct hta_rows *rows = &input->rows;
    for (row_t i = 0; i < rows->n; i++) {
        row_t event = rows->list[i];
        if (!is_correlation(rows->events->correlation[event]))
            continue;
        calls->event[calls->n] = event;
        keys[calls->n++] = rows->events->correlation[event];
    }
    enum sutra_status status = hta_correlated_find(input, keys, calls->n, calls->group, error);
    row_t n = 0;
    for (row_t i = 0; i < calls->n && !status; i++) {
        row_t event = calls->event[i], group = calls->group[i];
        if (group == ROW_NONE)
            continue;
        calls->counts[group] |= is_launch(input, event, group);
        calls->event[n] = event;
        calls->group[n] = group;
        n += !(rows->state[event] & HTA_STREAM);
    }
    calls->n = n;
    return status;
}

static uint64_t count_pairs(const struct paired_calls *calls, const struct hta_correlated *correlated) {
    uint64_t n = 0;
    for (row_t i = 0; i < calls->n; i++)
        if (calls->counts[calls->group[i]])
            n += correlated->first[calls->group[i] + 1] - correlated->first[calls->group[i]];
    return n;
}

/* ---- Launches worth a look ---- */

/* Kernels that are shorter than the call, which is no long one; long calls; long delays. */
enum { SHORT_KERNELS, LONG_CALLS, LONG_DELAYS, N_KINDS };

/* Stretches of microseconds: [0, 1), [1, 2), [2, 4), [4, 8) and so on. */
#define N_STRETCHES 50

#define LONG_CALL_NS  (50 * NS_PER_US)
#define LONG_DELAY_NS (100 * NS_PER_US)

struct launch_histogram {
    uint64_t n[N_KINDS][N_STRETCHES];
    int64_t ns[N_KINDS][N_STRETCHES];
};

static void count_value(struct launch_histogram *histogram, int kind, int64_t ns) {
    int stretch = 0;
    for (int64_t us = ns / NS_PER_US; us > 0 && stretch < N_STRETCHES - 1; us /= 2)
        stretch++;
    histogram->n[kind][stretch]++;
    histogram->ns[kind][stretch] += ns;
}

static void count_launch(struct launch_histogram *histogram, int64_t call_ns, int64_t kernel_ns, int64_t delay_ns) {
    if (call_ns <= LONG_CALL_NS && kernel_ns < call_ns)
        count_value(histogram, SHORT_KERNELS, call_ns);
    if (call_ns > LONG_CALL_NS)
        count_value(histogram, LONG_CALLS, call_ns);
    if (delay_ns > LONG_DELAY_NS)
        count_value(histogram, LONG_DELAYS, delay_ns);
}

static void add_histogram(struct sutra_hta *hta, const struct launch_histogram *histogram) {
    static const char *const kinds[N_KINDS] = {"short_gpu_kernels", "runtime_outliers", "launch_delay_outliers"};
    struct sutra_table *table = hta_table_begin(hta, SUTRA_HTA_LAUNCH_HISTOGRAM);
    for (int kind = 0; kind < N_KINDS; kind++)
        for (int stretch = 0; stretch < N_STRETCHES; stretch++) {
            if (histogram->n[kind][stretch] == 0)
                continue;
            table_integer(table, hta->options.rank);
            table_text(table, kinds[kind], strlen(kinds[kind]));
            table_integer(table, stretch ? (int64_t)1 << (stretch - 1) : 0);
            table_integer(table, (int64_t)1 << stretch);
            table_integer(table, (int64_t)histogram->n[kind][stretch]);
            table_number(table, us_of(histogram->ns[kind][stretch]));
        }
}

/* ---- All launches ---- */

/* `table` NULL: only counts it. */
static void add_pair(const struct hta_rows *rows, struct sutra_table *table, row_t call, row_t kernel,
                     struct launch_histogram *histogram) {
    int64_t delay = launch_delay_of(rows->start[call], rows->dur[call], rows->start[kernel]);
    count_launch(histogram, rows->dur[call], rows->dur[kernel], delay);
    if (!table)
        return;
    table_integer(table, column_key(rows->events->correlation[call]));
    table_number(table, us_of(rows->dur[call]));
    table_number(table, us_of(rows->dur[kernel]));
    table_number(table, us_of(delay));
}

static void add_pairs(const struct hta_input *input, const struct paired_calls *calls, struct sutra_hta *hta) {
    const struct hta_correlated *correlated = &input->correlated;
    struct sutra_table *table = hta->options.only_joined ? NULL : hta_table_begin(hta, SUTRA_HTA_LAUNCHES);
    struct launch_histogram histogram = {0};
    bool once = count_pairs(calls, correlated) > (uint64_t)input->rows.events->n * PAIRS_PER_EVENT + PAIRS_MOST;
    if (once)
        hta->warnings[1] = "many launches and kernels share a correlation: each launch is paired with one kernel";
    for (row_t i = 0; i < calls->n; i++) {
        row_t group = calls->group[i];
        row_t first = correlated->first[group], end = correlated->first[group + 1];
        if (!calls->counts[group])
            continue;
        for (row_t k = first; k < (once ? first + 1 : end); k++)
            add_pair(&input->rows, table, calls->event[i], correlated->event[k], &histogram);
    }
    add_histogram(hta, &histogram);
}

enum sutra_status hta_launches(const struct hta_input *input, struct arena *arena, struct sutra_hta *hta,
                               struct sutra_error *error) {
    row_t n = input->rows.n;
    struct paired_calls calls = {.event = arena_take(arena, n, sizeof *calls.event),
                                 .group = arena_take(arena, n, sizeof *calls.group),
                                 .counts = arena_zeros(arena, input->correlated.n, sizeof *calls.counts)};
    value_key *keys = arena_take(arena, n, sizeof *keys);
    enum sutra_status status = arena->failed ? error_memory(error) : find_calls(input, keys, &calls, error);
    if (!status)
        add_pairs(input, &calls, hta);
    return status;
}
