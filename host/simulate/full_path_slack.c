/*
 * full_path_slack.c - nodes are told apart by what they stand for; names are brought together by sorting.
 */
#include "simulate/full_path_slack.h"

#include <math.h>
#include <stdlib.h>

#include "base/error.h"
#include "simulate/timeline_stages.h"

/* Slack below this is none: durations are whole microseconds, and nodes without one take a nanosecond. */
#define LEAST_SLACK_US 0.1

/* Operators first, then kernels. */
static void begin_slacks(struct sutra_full_path *path, const struct timeline_input *input) {
    const struct timeline_ops *ops = &input->ops;
    const struct timeline_kernels *kernels = &input->kernels;
    const struct device_events *events = &path->trace->events;
    for (row_t op = 0; op < ops->n; op++)
        path->slacks[op] = (struct sutra_full_slack){
            .event = (row_t)ops->id[op], .kind = SUTRA_FULL_OPERATOR, .us = ops->end[op] - ops->start[op]};
    for (row_t k = 0; k < kernels->n; k++)
        path->slacks[ops->n + k] = (struct sutra_full_slack){.event = (row_t)kernels->id[k],
                                                             .kind = full_path_kernel_kind(kernels->traits[k]),
                                                             .us = kernels->end[k] - kernels->start[k]};
    for (uint64_t i = 0; i < path->n_slacks; i++) {
        path->slacks[i].slack_us = INFINITY;
        path->slacks[i].name = strings_text(&path->trace->strings, events->name[path->slacks[i].event]);
    }
}

static void lower(struct sutra_full_slack *slack, uint64_t slack_ns) {
    slack->slack_us = fmin(slack->slack_us, (double)slack_ns / 1000);
}

/* A node of the processor: its own operator, and what ran in its time. */
static void lower_ops(struct sutra_full_path *path, const struct timeline_nodes *nodes, row_t node,
                      const struct op_spans *spans, uint64_t slack_ns) {
    const double start = nodes->start[node], end = start + (double)nodes->duration_us[node];
    if (nodes->of[node] != ROW_NONE)
        lower(&path->slacks[nodes->of[node]], slack_ns);
    row_t span = times_up_to(spans->start, spans->n, start);
    for (span -= span > 0; span < spans->n && spans->start[span] < end; span++)
        if (spans->op[span] != ROW_NONE)
            lower(&path->slacks[spans->op[span]], slack_ns);
}

static int compare_events(const void *left, const void *right) {
    const struct sutra_full_slack *a = left, *b = right;
    return (a->event > b->event) - (a->event < b->event);
}

/* ---- Names ---- */

struct named_slack {
    enum sutra_full_kind kind;
    uint32_t name;
    const struct sutra_full_slack *slack;
};

static int compare_named(const void *left, const void *right) {
    const struct named_slack *a = left, *b = right;
    if (a->kind != b->kind)
        return a->kind < b->kind ? -1 : 1;
    if (a->name != b->name)
        return a->name < b->name ? -1 : 1;
    return (a->slack > b->slack) - (a->slack < b->slack);
}

/* The longest first, of equal ones by event. */
static int compare_names(const void *left, const void *right) {
    const struct sutra_full_slack_name *a = left, *b = right;
    if (a->us != b->us)
        return a->us > b->us ? -1 : 1;
    return (a->first_event > b->first_event) - (a->first_event < b->first_event);
}

static void add_to_name(struct sutra_full_slack_name *name, const struct sutra_full_slack *slack) {
    name->n++;
    name->us += slack->us;
    name->least_us = fmin(name->least_us, slack->slack_us);
    name->most_us = fmax(name->most_us, slack->slack_us);
}

static enum sutra_status sum_names(struct sutra_full_path *path, struct sutra_error *error) {
    const uint64_t n = path->n_slacks;
    struct arena scratch = {0};
    struct named_slack *sorted = arena_take(&scratch, n, sizeof *sorted);
    path->slack_names = arena_take(&path->arena, n, sizeof *path->slack_names);
    if (!sorted || !path->slack_names) {
        arena_free(&scratch);
        return error_memory(error);
    }
    uint64_t n_sorted = 0;
    for (uint64_t i = 0; i < n; i++)
        if (path->slacks[i].slack_us >= LEAST_SLACK_US)
            sorted[n_sorted++] = (struct named_slack){
                path->slacks[i].kind, path->trace->events.name[path->slacks[i].event], &path->slacks[i]};
    if (n_sorted)
        qsort(sorted, n_sorted, sizeof *sorted, compare_named);
    for (uint64_t i = 0; i < n_sorted; i++) {
        const struct sutra_full_slack *slack = sorted[i].slack;
        if (i == 0 || sorted[i].kind != sorted[i - 1].kind || sorted[i].name != sorted[i - 1].name)
            path->slack_names[path->n_slack_names++] = (struct sutra_full_slack_name){
                .kind = slack->kind, .name = slack->name, .least_us = INFINITY, .first_event = slack->event};
        add_to_name(&path->slack_names[path->n_slack_names - 1], slack);
    }
    if (n_sorted)
        qsort(path->slack_names, path->n_slack_names, sizeof *path->slack_names, compare_names);
    arena_free(&scratch);
    return SUTRA_OK;
}

enum sutra_status full_path_find_slacks(struct sutra_full_path *path, const struct timeline_input *input,
                                        const struct timeline_nodes *nodes, const struct op_spans *spans,
                                        const uint64_t *slack_ns, struct sutra_error *error) {
    path->n_slacks = (uint64_t)input->ops.n + input->kernels.n;
    path->slacks = arena_take(&path->arena, path->n_slacks, sizeof *path->slacks);
    if (!path->slacks)
        return error_memory(error);
    begin_slacks(path, input);
    for (row_t node = 0; node < nodes->n; node++) {
        if (nodes->role[node] == NODE_KERNEL)
            lower(&path->slacks[input->ops.n + nodes->of[node]], slack_ns[node]);
        else
            lower_ops(path, nodes, node, spans, slack_ns[node]);
    }
    if (path->n_slacks)
        qsort(path->slacks, path->n_slacks, sizeof *path->slacks, compare_events);
    enum sutra_status status = sum_names(path, error);
    path->report.slacks = path->slacks;
    path->report.n_slacks = path->n_slacks;
    path->report.slack_names = path->slack_names;
    path->report.n_slack_names = path->n_slack_names;
    return status;
}
