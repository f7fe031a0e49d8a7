/*
 * hta_launches.c - durations of launch calls and of their kernels, and launch delays.
 *
 *     hta_calls()     totals by the name of the call
 *     hta_launches()  HTA's table of launches, and a histogram of unusual ones
 */
#include <math.h>
#include <string.h>

#include "analyze/compat/hta/hta.h"
#include "base/error.h"

/*
 * ---- Launches by the name of their call ----
 *
 * Of kernels, memcpys and graphs; of CUDA's runtime and driver, and HIP. HTA has no such table: its lists lack
 * cuLaunchKernelEx, cudaGraphLaunch and most of HIP.
 *
 * A call is an event without a stream that is the last one with the correlation of some kernel. Its delay is the delay
 * of its first kernel. O(n) and a sort of the delays.
 */

/* Totals of the calls of one name. */
struct call_name {
    uint64_t n_calls, n_kernels, n_short;
    wide_t cpu, gpu;
};

/* The call that launched a kernel, or ROW_NONE. */
static row_t call_of(const struct hta_rows *rows, row_t kernel) {
    row_t call = rows->link[kernel];
    bool linked = rows->state[kernel] & HTA_WORK && call != ROW_NONE && rows->state[call] & HTA_KEPT &&
                  !(rows->state[call] & (HTA_STREAM | HTA_GPU)) && is_correlation(rows->events->correlation[call]) &&
                  rows->events->correlation[call] == rows->events->correlation[kernel];
    return linked ? call : ROW_NONE;
}

static void add_row(struct sutra_hta *hta, const struct hta_rows *rows, uint32_t string, const struct call_name *name,
                    const struct description *delays) {
    const struct strings *strings = rows->strings;
    bool is_listed = hta->options.all_launches || rows->roles[string].name & NAME_LAUNCH;
    struct sutra_table *table = &hta->result.tables[SUTRA_HTA_LAUNCH_CALLS];
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

enum sutra_status hta_calls(const struct hta_input *input, struct arena *arena, struct sutra_hta *hta,
                            struct sutra_error *error) {
    const struct hta_rows *rows = &input->rows;
    const struct strings *strings = rows->strings;
    struct call_name *names = arena_zeros(arena, strings->n, sizeof *names);
    int64_t *first = arena_alloc(arena, rows->events->n, sizeof *first); /* by call: the start of its first kernel */
    bool *called = arena_zeros(arena, rows->events->n, sizeof *called);  /* by event: it has a kernel */
    uint32_t *groups = arena_alloc(arena, rows->n, sizeof *groups);      /* of each call: its name */
    int64_t *delays = arena_alloc(arena, rows->n, sizeof *delays);
    struct description all, *of_names = arena_alloc(arena, strings->n, sizeof *of_names);
    row_t n = 0;
    TRY(arena_status(arena, error));
    for (row_t i = 0; i < input->kernels.n; i++) {
        row_t kernel = input->kernels.event[i], call = call_of(rows, kernel);
        if (call == ROW_NONE)
            continue;
        struct call_name *name = &names[rows->events->name[call]];
        name->n_kernels++;
        name->n_short += rows->dur[kernel] < rows->dur[call];
        name->gpu += rows->dur[kernel];
        if (!called[call] || rows->start[kernel] < first[call])
            first[call] = rows->start[kernel];
        called[call] = true;
    }
    for (row_t i = 0; i < rows->n; i++) {
        row_t event = rows->list[i];
        if (!called[event])
            continue;
        struct call_name *name = &names[rows->events->name[event]];
        name->n_calls++;
        name->cpu += rows->dur[event];
        groups[n] = rows->events->name[event];
        delays[n++] = launch_delay_of(rows->start[event], rows->dur[event], first[event]);
    }

    /* delays by name, a row each, and then the median of all calls */
    TRY(describe_integers(input->engine, arena, groups, delays, n, strings->n, NS_PER_US, of_names, error));
    result_table_begin(&hta->result, SUTRA_HTA_LAUNCH_CALLS);
    for (uint32_t string = 0; string < strings->n; string++)
        if (names[string].n_calls > 0)
            add_row(hta, rows, string, &names[string], &of_names[string]);
    memset(groups, 0, (size_t)n * sizeof *groups);
    TRY(describe_integers(input->engine, arena, groups, delays, n, 1, NS_PER_US, &all, error));
    hta->summary.delay_median_us = all.q50;
    return SUTRA_OK;
}

/*
 * ---- HTA's table of launches ----
 *
 * A correlation counts if a call of HTA's list has it (with all_launches: any call). Each event without a stream that
 * has the correlation is paired with each kernel that has it, in the order of the table. An event without a correlation
 * is no launch. O(n) and the pairs; if repeated correlations make far more pairs than events, an event is paired with
 * one kernel only.
 */

/* Limit of pairs: MAX_PAIRS, plus a number for each event of the trace. */
#define MAX_PAIRS       1000000
#define PAIRS_PER_EVENT 4

/* ---- The histogram of unusual launches ---- */

/* Kernels that are shorter than their call, unless the call is long; long calls; long delays. */
enum { SHORT_KERNELS, LONG_CALLS, LONG_DELAYS, N_KINDS };

/* Bins of microseconds: [0, 1), [1, 2), [2, 4), [4, 8) and so on. */
#define N_BINS 50

#define LONG_CALL_NS  (50 * NS_PER_US)
#define LONG_DELAY_NS (100 * NS_PER_US)

struct launch_histogram {
    uint64_t n[N_KINDS][N_BINS];
    int64_t ns[N_KINDS][N_BINS];
};

static void count_value(struct launch_histogram *histogram, int kind, int64_t ns) {
    int bin = 0;
    for (int64_t us = ns / NS_PER_US; us > 0 && bin < N_BINS - 1; us /= 2)
        bin++;
    histogram->n[kind][bin]++;
    histogram->ns[kind][bin] += ns;
}

static void add_histogram(struct sutra_hta *hta, const struct launch_histogram *histogram) {
    static const char *const kinds[N_KINDS] = {"short_gpu_kernels", "runtime_outliers", "launch_delay_outliers"};
    struct sutra_table *table = result_table_begin(&hta->result, SUTRA_HTA_LAUNCH_HISTOGRAM);
    for (int kind = 0; kind < N_KINDS; kind++)
        for (int bin = 0; bin < N_BINS; bin++) {
            if (histogram->n[kind][bin] == 0)
                continue;
            table_integer(table, hta->options.rank);
            table_words(table, kinds[kind]);
            table_integer(table, bin ? (int64_t)1 << (bin - 1) : 0);
            table_integer(table, (int64_t)1 << bin);
            table_integer(table, (int64_t)histogram->n[kind][bin]);
            table_number(table, us_of(histogram->ns[kind][bin]));
        }
}

/* ---- All launches ---- */

/* `table` NULL: only counts the pair. */
static void add_pair(const struct hta_rows *rows, struct sutra_table *table, row_t call, row_t kernel,
                     struct launch_histogram *histogram) {
    int64_t call_ns = rows->dur[call], kernel_ns = rows->dur[kernel];
    int64_t delay = launch_delay_of(rows->start[call], rows->dur[call], rows->start[kernel]);
    if (call_ns <= LONG_CALL_NS && kernel_ns < call_ns)
        count_value(histogram, SHORT_KERNELS, call_ns);
    if (call_ns > LONG_CALL_NS)
        count_value(histogram, LONG_CALLS, call_ns);
    if (delay > LONG_DELAY_NS)
        count_value(histogram, LONG_DELAYS, delay);
    if (!table)
        return;
    table_integer(table, column_key(rows->events->correlation[call]));
    table_number(table, us_of(call_ns));
    table_number(table, us_of(kernel_ns));
    table_number(table, us_of(delay));
}

enum sutra_status hta_launches(const struct hta_input *input, struct arena *arena, struct sutra_hta *hta,
                               struct sutra_error *error) {
    const struct hta_correlated *correlated = &input->correlated;
    const struct hta_rows *rows = &input->rows;
    row_t *event = arena_alloc(arena, rows->n, sizeof *event), n = 0, n_calls = 0;
    row_t *group = arena_alloc(arena, rows->n, sizeof *group); /* of kernels with the same correlation */
    bool *counts =
        arena_zeros(arena, correlated->n, sizeof *counts); /* by group: a call of the list has the correlation */
    value_key *keys = arena_alloc(arena, rows->n, sizeof *keys);
    uint64_t n_pairs = 0;
    uint32_t launch_roles = NAME_LAUNCH;
    if (input->options.no_memory_launches)
        launch_roles &= ~(uint32_t)(NAME_LAUNCH_COPY | NAME_LAUNCH_SET);
    TRY(arena_status(arena, error));

    /* collect all rows that have a correlation, then keep those without a stream */
    for (row_t i = 0; i < rows->n; i++) {
        value_key correlation = rows->events->correlation[rows->list[i]];
        if (!is_correlation(correlation))
            continue;
        event[n] = rows->list[i];
        keys[n++] = correlation;
    }
    TRY(hta_correlated_find(input, keys, n, group, error));
    for (row_t i = 0; i < n; i++) {
        row_t of = group[i], call = event[i];
        if (of == ROW_NONE)
            continue;
        if (input->options.all_launches)
            counts[of] |=
                !(rows->state[call] & HTA_STREAM) && rows->state[correlated->event[correlated->first[of]]] & HTA_WORK;
        else
            counts[of] |= (name_roles(rows->events, rows->roles, call) & launch_roles) != 0;
        event[n_calls] = call;
        group[n_calls] = of;
        n_calls += !(rows->state[call] & HTA_STREAM);
    }
    for (row_t i = 0; i < n_calls; i++)
        if (counts[group[i]])
            n_pairs += correlated->first[group[i] + 1] - correlated->first[group[i]];
    bool once = n_pairs > (uint64_t)rows->events->n * PAIRS_PER_EVENT + MAX_PAIRS;
    struct sutra_table *table = hta->options.only_joined ? NULL : result_table_begin(&hta->result, SUTRA_HTA_LAUNCHES);
    struct launch_histogram histogram = {0};
    if (once)
        hta->warnings[1] = "many launches and kernels share a correlation: each launch is paired with one kernel";
    for (row_t i = 0; i < n_calls; i++) {
        row_t first = correlated->first[group[i]], end = correlated->first[group[i] + 1];
        if (!counts[group[i]])
            continue;
        for (row_t k = first; k < (once ? first + 1 : end); k++)
            add_pair(rows, table, event[i], correlated->event[k], &histogram);
    }
    add_histogram(hta, &histogram);
    return SUTRA_OK;
}
