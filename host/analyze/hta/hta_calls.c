/*
 * hta_calls.c - launches by the name of their call, whatever it is: of kernels, copies, graphs; CUDA's runtime and
 * driver, HIP. A table of ours, since the reference's own lists lack cuLaunchKernelEx, cudaGraphLaunch and most of HIP.
 *
 * A call is an event without a stream that is the last one with the correlation of some kernel. Its delay is that of
 * its first kernel. O(n) and a sort of the delays.
 */
#include <math.h>
#include <string.h>

#include "analyze/hta/hta.h"
#include "analyze/hta/hta_rules.h"
#include "base/error.h"

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
