/*
 * hta_calls.c - launches by the name of their call, whatever it is: of kernels, copies, graphs; CUDA's runtime and
 * driver, HIP. A table of ours, since the reference's own lists lack cuLaunchKernelEx, cudaGraphLaunch and most of HIP.
 *
 * A call is an event without a stream that is the last one with the correlation of some kernel. Its delay is that of
 * its first kernel. O(n) and a sort of the delays.
 */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "analyze/hta/hta.h"
#include "analyze/hta/hta_rules.h"
#include "base/error.h"

/* What is known of the calls of one name. */
struct call_name {
    uint64_t n_calls, n_kernels, n_short;
    wide_t cpu, gpu;
};

struct calls {
    struct call_name *names; /* by string */
    int64_t *first;          /* by event: the start of its first kernel */
    bool *called;            /* by event: it has a kernel */
    row_t n;
    uint32_t *groups; /* of each call: its name */
    int64_t *delays;
    struct description *descriptions; /* of delays, by string */
};

static void calls_free(struct calls *calls) {
    free(calls->names);
    free(calls->first);
    free(calls->called);
    free(calls->groups);
    free(calls->delays);
    free(calls->descriptions);
}

static enum sutra_status calls_init(struct calls *calls, const struct hta_rows *rows, row_t n_kernels,
                                    struct sutra_error *error) {
    size_t n_strings = (size_t)rows->strings->n + 1, n_events = (size_t)rows->events->n + 1;
    calls->names = calloc(n_strings, sizeof *calls->names);
    calls->first = malloc(n_events * sizeof *calls->first);
    calls->called = calloc(n_events, sizeof *calls->called);
    calls->groups = malloc(((size_t)n_kernels + 1) * sizeof *calls->groups);
    calls->delays = malloc(((size_t)n_kernels + 1) * sizeof *calls->delays);
    calls->descriptions = malloc(n_strings * sizeof *calls->descriptions);
    bool ok = calls->names && calls->first && calls->called && calls->groups && calls->delays && calls->descriptions;
    return ok ? SUTRA_OK : error_memory(error);
}

/* The call that launched a kernel, or ROW_NONE. */
static row_t call_of(const struct hta_rows *rows, row_t kernel) {
    row_t call = rows->link[kernel];
    bool linked = rows->state[kernel] & ROW_WORK && call != ROW_NONE && rows->state[call] & ROW_KEPT &&
                  !(rows->state[call] & (ROW_STREAM | ROW_GPU)) && is_correlation(rows->events->correlation[call]) &&
                  rows->events->correlation[call] == rows->events->correlation[kernel];
    return linked ? call : ROW_NONE;
}

static void add_kernel(struct calls *calls, const struct hta_rows *rows, row_t kernel) {
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

static void add_calls(struct calls *calls, const struct hta_rows *rows) {
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

static void add_row(struct sutra_hta *hta, const struct calls *calls, uint32_t string) {
    const struct call_name *name = &calls->names[string];
    struct sutra_table *table = &hta->tables[SUTRA_HTA_LAUNCH_CALLS];
    table_integer(table, hta->options.rank);
    table_text(table, strings_text(hta->rows.strings, string), strings_length(hta->rows.strings, string));
    table_integer(table, (int64_t)name->n_calls);
    table_integer(table, (int64_t)name->n_kernels);
    table_number(table, us_of_wide(name->cpu));
    table_number(table, us_of_wide(name->gpu));
    table_integer(table, (int64_t)name->n_short);
    table_real(table, calls->descriptions[string].mean);
    table_real(table, calls->descriptions[string].q50);
    table_real(table, calls->descriptions[string].max);
    hta->summary.n_launches += name->n_calls;
    hta->summary.n_short += name->n_short;
    hta->summary.launch_us += us_of_wide(name->cpu);
}

/* The median of all delays together. */
static enum sutra_status find_median(struct sutra_hta *hta, struct calls *calls, struct sutra_error *error) {
    struct description all;
    memset(calls->groups, 0, (size_t)calls->n * sizeof *calls->groups);
    enum sutra_status status =
        describe_integers(&hta->context->engine, calls->groups, calls->delays, calls->n, 1, NS_PER_US, &all, error);
    if (!status)
        hta->summary.delay_median_us = all.q50;
    return status;
}

enum sutra_status hta_calls(struct sutra_hta *hta, struct sutra_error *error) {
    const struct hta_rows *rows = &hta->rows;
    struct calls calls = {0};
    enum sutra_status status = calls_init(&calls, rows, rows->n, error);
    for (row_t i = 0; i < hta->kernels.n && !status; i++)
        add_kernel(&calls, rows, hta->kernels.event[i]);
    if (!status) {
        add_calls(&calls, rows);
        status = describe_integers(&hta->context->engine, calls.groups, calls.delays, calls.n, rows->strings->n,
                                   NS_PER_US, calls.descriptions, error);
    }
    if (!status)
        hta_table_begin(hta, SUTRA_HTA_LAUNCH_CALLS);
    for (uint32_t string = 0; string < rows->strings->n && !status; string++)
        if (calls.names[string].n_calls > 0)
            add_row(hta, &calls, string);
    if (!status)
        status = find_median(hta, &calls, error);
    calls_free(&calls);
    return status;
}
